-- A copy that is read between two parts of its restore is read as before after a power cut, and takes the next part.
create database shop
GO
create table shop.dbo.orders (n int primary key)
insert shop.dbo.orders values (1)
backup database shop to disk = 'shop.bak' with init
insert shop.dbo.orders values (2)
backup log shop to disk = 'shop.trn'
alter table shop.dbo.orders add extra int default 7 with values
insert shop.dbo.orders (n) values (3)
backup log shop to disk = 'shop.trn'
restore database copy from disk = 'shop.bak' with standby = 'copy.tuf'
restore log copy from disk = 'shop.trn' with standby = 'copy.tuf'
select * from copy.dbo.orders order by n
-- restart:
select * from copy.dbo.orders order by n
select state_desc, is_in_standby from sys.databases where name = 'copy'
GO
insert copy.dbo.orders values (9)
GO
restore log copy from disk = 'shop.trn' with file = 2, standby = 'copy.tuf'
select * from copy.dbo.orders order by n
-- restart:
select * from copy.dbo.orders order by n
restore database copy with recovery
insert copy.dbo.orders (n) values (4)
select * from copy.dbo.orders order by n
-- restart:
select * from copy.dbo.orders order by n
select state_desc, is_in_standby from sys.databases where name = 'copy'
