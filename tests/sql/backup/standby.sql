-- Log shipping by hand: a copy that is read between one RESTORE LOG … WITH STANDBY and the next.
create database shop
GO
use shop
create table orders (n int primary key, note nvarchar(20))
insert orders values (1, N'one')
GO
use master
backup database shop to disk = 'shop.bak' with init
insert shop.dbo.orders values (2, N'two')
backup log shop to disk = 'shop.trn'
alter table shop.dbo.orders add extra int default 7 with values
insert shop.dbo.orders (n) values (3)
backup log shop to disk = 'shop.trn'
create table shop.dbo.later (a int)
insert shop.dbo.later values (9)
backup log shop to disk = 'shop.trn'
GO
restore database copy from disk = 'shop.bak' with standby = 'copy.tuf', norecovery
GO
restore database copy from disk = 'shop.bak' with standby = ''
GO
restore database copy from disk = 'shop.bak' with standby = 'copy.tuf', stats = 50
select name, state_desc, is_in_standby, is_read_only from sys.databases where name = 'copy'
select databasepropertyex('copy', 'Status') as status, databasepropertyex('copy', 'IsInStandBy') as standby,
  databasepropertyex('copy', 'Updateability') as updateability
select * from copy.dbo.orders order by n
GO
-- It can be read only.
insert copy.dbo.orders values (20, N'no')
GO
create table copy.dbo.mine (a int)
GO
truncate table copy.dbo.orders
GO
alter table copy.dbo.orders add more int
GO
drop table copy.dbo.orders
GO
create index by_note on copy.dbo.orders (note)
GO
alter database copy set recovery simple
GO
alter database copy modify name = other
GO
alter database copy set offline
GO
backup database copy to disk = 'copy.bak'
GO
backup log copy to disk = 'copy.trn'
GO
use copy
select count(*) as n from orders
create table #kept (a int)
insert #kept select n from orders
select * from #kept
GO
-- Nobody may be in it when more log comes.
restore log copy from disk = 'shop.trn' with standby = 'copy.tuf'
GO
use master
restore log copy from disk = 'shop.trn' with file = 2, standby = 'copy.tuf'
GO
restore log copy from disk = 'shop.trn' with file = 1, standby = 'copy.tuf'
select * from copy.dbo.orders order by n
GO
-- A set that does not fit leaves it as it was.
restore log copy from disk = 'shop.trn' with file = 3, standby = 'copy.tuf'
GO
select * from copy.dbo.orders order by n
GO
restore log copy from disk = 'shop.trn' with file = 2, norecovery
GO
select * from copy.dbo.orders
GO
alter database copy modify name = other
GO
-- And back, without a device: what is there is shown.
restore database copy with standby = 'copy.tuf'
select * from copy.dbo.orders order by n
GO
restore log copy from disk = 'shop.trn' with file = 3, standby = 'copy.tuf'
select * from copy.dbo.later
select restore_type, recovery from msdb.dbo.restorehistory where destination_database_name = 'copy' order by restore_history_id
GO
restore database copy with recovery
insert copy.dbo.orders (n) values (30)
select n, extra from copy.dbo.orders order by n
select state_desc, is_in_standby, is_read_only from sys.databases where name = 'copy'
GO
restore database copy with standby = 'copy.tuf'
GO
-- A differential backup over a copy that is read.
backup database shop to disk = 'shop.bak' with init
insert shop.dbo.orders (n) values (4)
backup database shop to disk = 'shop.dif' with differential, init
restore database copy from disk = 'shop.bak' with standby = 'copy.tuf', replace
restore database copy from disk = 'shop.dif' with standby = 'copy.tuf'
select n from copy.dbo.orders order by n
GO
-- The other way round: the tail of the log leaves the old one readable, and the copy goes on.
backup log shop to disk = 'tail.trn' with init, standby = 'shop.tuf'
select n from shop.dbo.orders order by n
select state_desc, is_in_standby from sys.databases where name = 'shop'
restore log copy from disk = 'tail.trn' with recovery
insert copy.dbo.orders (n) values (5)
backup log copy to disk = 'copy.trn' with init
restore log shop from disk = 'copy.trn' with standby = 'shop.tuf'
select n from shop.dbo.orders order by n
GO
insert shop.dbo.orders (n) values (6)
GO
drop database shop
drop database copy
