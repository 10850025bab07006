-- Defaults and rules are bound after a power cut, in a backup, and after their database was detached.
create database shop
GO
use shop
GO
create default zero as 0
GO
create rule positive as @value >= 0
GO
create type amount from int
exec sp_bindefault 'zero', 'amount'
exec sp_bindrule 'positive', 'amount'
create table items (id int, a amount)
use master
backup database shop to disk = 'shop.bak'
GO
-- restart:
insert shop.dbo.items (id) values (1)
insert shop.dbo.items values (2, -1)
select * from shop.dbo.items
restore database copy from disk = 'shop.bak'
insert copy.dbo.items (id) values (1)
insert copy.dbo.items values (2, -1)
select * from copy.dbo.items
GO
