-- What is not a database snapshot, or is not done with one.
create database shop
GO
create table shop.dbo.item (id int not null primary key)
GO
create database snap as snapshot of shop
GO
create database snap on (name = other, filename = '/snap.ss') as snapshot of shop
GO
create database snap on (name = shop_log, filename = '/snap.ss') as snapshot of shop
GO
create database snap on (name = shop) as snapshot of shop
GO
create database snap on (filename = '/snap.ss') as snapshot of shop
GO
create database snap on (name = shop, filename = '/snap.ss'), (name = shop, filename = '/snap2.ss') as snapshot of shop
GO
create database snap on (name = shop, filename = '/snap.ss', size = 10MB) as snapshot of shop
GO
create database snap on primary (name = shop, filename = '/snap.ss'), filegroup more (name = more, filename = '/more.ss') as snapshot of shop
GO
create database snap on (name = shop, filename = '/snap.ss') collate Latin1_General_BIN2 as snapshot of shop
GO
create database snap on (name = shop, filename = '/snap.ss') log on (name = shop_log, filename = '/log.ss') as snapshot of shop
GO
create database snap on (name = nothing, filename = '/snap.ss') as snapshot of nothing
GO
create database snap on (name = master, filename = '/snap.ss') as snapshot of master
GO
create database snap on (name = tempdev, filename = '/snap.ss') as snapshot of tempdb
GO
create database shop on (name = shop, filename = '/snap.ss') as snapshot of shop
GO
begin transaction
GO
create database snap on (name = shop, filename = '/snap.ss') as snapshot of shop
GO
rollback
GO
create database snap on (name = shop, filename = '/snap.ss') as snapshot of shop
GO
create database snap on (name = shop, filename = '/snap2.ss') as snapshot of shop
GO
create database snap2 on (name = shop, filename = '/snap.ss') as snapshot of shop
GO
create database snap2 on (name = shop, filename = '/snap2.ss') as snapshot of snap
GO
alter database snap set read_write
GO
alter database snap modify name = other
GO
alter database snap collate Latin1_General_BIN2
GO
backup database snap to disk = 'snap.bak'
GO
backup log snap to disk = 'snap.trn'
GO
backup database shop to disk = 'shop.bak' with init
restore database snap from disk = 'shop.bak' with replace
GO
restore log snap from disk = 'shop.bak'
GO
restore database snap from database_snapshot = 'snap'
GO
restore database shop from database_snapshot = 'nothing'
GO
restore database nothing from database_snapshot = 'snap'
GO
restore database master from database_snapshot = 'snap'
GO
create database other
GO
restore database other from database_snapshot = 'snap'
GO
restore database shop from database_snapshot = 'snap' with recovery
GO
use snap
GO
restore database shop from database_snapshot = 'snap'
GO
drop database snap
GO
use master
GO
alter database shop set offline
GO
create database snap2 on (name = shop, filename = '/snap2.ss') as snapshot of shop
GO
restore database shop from database_snapshot = 'snap'
GO
alter database shop set online
GO
-- Somebody else is in it.
-- session reader:
use snap
select count(*) as items from dbo.item
GO
-- session main:
drop database snap
GO
restore database shop from database_snapshot = 'snap'
GO
-- session reader:
use master
GO
-- Who does not own the database takes no snapshot of it, and nobody without permission makes a database.
-- session main:
create login anna with password = 'Passw0rd!'
create login berta with password = 'Passw0rd!'
alter server role dbcreator add member berta
GO
execute as login = 'anna'
create database theirs on (name = shop, filename = '/theirs.ss') as snapshot of shop
GO
revert
GO
execute as login = 'berta'
create database theirs on (name = shop, filename = '/theirs.ss') as snapshot of shop
GO
create database hers
GO
create database hers_before on (name = hers, filename = '/hers.ss') as snapshot of hers
GO
drop database hers_before
drop database hers
revert
GO
drop database snap
drop database shop
drop database other
GO
