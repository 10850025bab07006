-- DBCC CLONEDATABASE: the definitions of a database without its rows, read-only.
create database shop
alter database shop set trustworthy on
GO
use shop
GO
create schema stock
GO
create default zero as 0
GO
create table stock.items (id int identity primary key, name varchar(20) not null unique, amount int check (amount >= 0))
create index by_amount on stock.items (amount)
create table stock.orders (id int primary key, item int references stock.items (id), note nvarchar(max))
exec sp_bindefault 'zero', 'stock.items.amount'
insert stock.items (name) values ('one'), ('two')
insert stock.orders values (1, 1, N'a note')
GO
create view stock.names with schemabinding as select id, name from stock.items
GO
create procedure stock.add_item @name varchar(20) as insert stock.items (name) values (@name)
GO
create user keeper without login
grant select on stock.items to keeper
GO
use master
dbcc clonedatabase (shop, shop_clone)
select databasepropertyex('shop_clone', 'IsClone') as clone, databasepropertyex('shop_clone', 'IsVerifiedClone') as verified,
  databasepropertyex('shop', 'IsClone') as source
select is_read_only, is_trustworthy_on, is_broker_enabled from sys.databases where name = 'shop_clone'
select count(*) as n from shop_clone.stock.items
select o.name, o.type from shop_clone.sys.objects o where schema_name(schema_id) <> 'sys' order by 1
select i.name from shop_clone.sys.indexes i join shop_clone.sys.tables t on t.object_id = i.object_id where i.name not like '%[_][_]%' order by 1
select user_name(grantee_principal_id) as grantee, permission_name from shop_clone.sys.database_permissions where major_id > 0
insert shop_clone.stock.items (name) values ('three')
GO
-- It can be written to when somebody says so, and is then like any other.
alter database shop_clone set read_write
exec shop_clone.stock.add_item 'three'
select * from shop_clone.stock.items
select * from shop_clone.stock.names
create table shop_clone.dbo.more (a int)
insert shop_clone.dbo.more values (1)
select * from shop.stock.items
GO
-- restart:
select * from shop_clone.stock.items
select * from shop_clone.dbo.more
select databasepropertyex('shop_clone', 'IsClone') as clone
dbcc clonedatabase ('shop', 'shop_verified') with verify_clonedb, no_statistics, no_querystore, servicebroker, no_infomsgs
select databasepropertyex('shop_verified', 'IsVerifiedClone') as verified
select is_broker_enabled from sys.databases where name = 'shop_verified'
GO
-- Refusals.
dbcc clonedatabase (shop, shop_clone)
GO
dbcc clonedatabase (nothing, other)
GO
dbcc clonedatabase (master, other)
GO
dbcc clonedatabase (shop)
GO
dbcc clonedatabase (shop, other) with backup_clonedb
GO
begin tran
dbcc clonedatabase (shop, other)
rollback
GO
