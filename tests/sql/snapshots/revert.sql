-- Going back to a database snapshot: everything after it is gone.
create database shop
GO
use shop
create table dbo.item (id int identity primary key, name nvarchar(40))
create sequence dbo.numbers start with 1
insert dbo.item values (N'bolt'), (N'nut')
declare @n int = next value for dbo.numbers
create user anna without login
grant select on dbo.item to anna
GO
use master
backup database shop to disk = 'shop.bak' with init
backup log shop to disk = 'shop.trn' with init
GO
create database before on (name = shop, filename = '/before.ss') as snapshot of shop
GO
-- The risky script.
use shop
drop table dbo.item
create table dbo.item (id int, wrong int)
insert dbo.item values (1, 1)
create table dbo.more (a int)
GO
drop user anna
alter database shop set recovery simple
GO
use master
create database later on (name = shop, filename = '/later.ss') as snapshot of shop
GO
restore database shop from database_snapshot = 'before'
GO
drop database later
restore database shop from database_snapshot = 'before'
GO
select * from shop.dbo.item order by id
select * from before.dbo.item order by id
select name from shop.sys.tables
select name, recovery_model_desc, state_desc, is_read_only from sys.databases where name in ('shop', 'before') order by name
use shop
execute as user = 'anna'
select count(*) as items from dbo.item
revert
GO
select destination_database_name, restore_type, backup_set_id from msdb.dbo.restorehistory
GO
-- It goes on as it would have then.
insert dbo.item values (N'screw')
select id, name from dbo.item order by id
select next value for dbo.numbers as number
GO
use master
backup log shop to disk = 'shop.trn'
GO
backup database shop to disk = 'shop.bak' with differential
GO
backup database shop to disk = 'shop.bak' with init
backup log shop to disk = 'shop.trn' with init
insert shop.dbo.item values (N'washer')
backup database shop to disk = 'shop.bak' with differential
backup log shop to disk = 'shop.trn'
GO
dbcc checkdb (shop) with no_infomsgs
dbcc checkdb (before) with no_infomsgs
GO
-- Once more, to the same moment; not while somebody is in it.
-- session other:
use shop
GO
-- session main:
restore database shop from database_snapshot = 'before'
GO
-- session other:
use master
begin transaction
select count(*) as items from shop.dbo.item
GO
-- session main:
restore database shop from database_snapshot = 'before'
GO
-- session other:
rollback
GO
-- session main:
restore database shop from database_snapshot = 'before'
select * from shop.dbo.item order by id
GO
drop database before
insert shop.dbo.item values (N'last')
select * from shop.dbo.item order by id
drop database shop
GO
