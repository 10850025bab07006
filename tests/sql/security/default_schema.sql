-- DEFAULT_SCHEMA: names without a schema are looked for there first, then in dbo, and what is made without one is made there.
create database shop
create login north with password = 'North-Pass-1'
create login south with password = 'South-Pass-1'
GO
use shop
GO
create schema n
GO
create schema s
GO
create user north with default_schema = n
create user south with default_schema = s
create table dbo.orders (place varchar(10))
create table n.orders (place varchar(10))
create table dbo.shared (place varchar(10))
insert dbo.orders values ('dbo')
insert n.orders values ('north')
insert dbo.shared values ('shared')
grant select, insert on schema::n to north
grant select, insert on schema::dbo to north, south
grant create table, create view, create procedure to north
grant alter, control on schema::n to north
GO
create type dbo.amount from int
create type n.amount from varchar(10)
GO
create procedure dbo.ask as select place from orders
GO
grant execute on dbo.ask to north
GO
select place from orders
select schema_name() as s, schema_id() as i
GO
execute as user = 'north'
GO
select place from orders
select place from shared
select schema_name() as s, iif(object_id('orders') = object_id('n.orders'), 1, 0) as own
exec ask
declare @a amount = 'text'
select @a as a
create table made (a int)
insert made values (1)
select schema_name(schema_id) as s, name from sys.tables where name = 'made'
exec ('select place from orders')
exec sp_executesql N'select place from orders'
insert orders values ('more')
select count(*) as n from orders
GO
create procedure mine as select place from orders
GO
exec mine
select schema_name(schema_id) as s from sys.procedures where name = 'mine'
GO
alter table made add b int
create index ib on made (b)
truncate table made
select name from sys.columns where object_id = object_id('n.made')
drop table made
drop procedure mine
GO
revert
GO
execute as user = 'south'
GO
select place from orders
GO
revert
GO
-- The same text by one and by the other, in one batch too.
execute as user = 'north'
select count(*) as n from orders
revert
select count(*) as n from orders
execute as user = 'south'
select count(*) as n from orders
revert
GO
alter user south with default_schema = n
GO
execute as user = 'south'
GO
select place from orders
GO
revert
GO
alter user south with default_schema = nowhere
GO
execute as user = 'south'
GO
select place from orders
GO
-- Users change their own, and nobody else's.
alter user south with default_schema = n
GO
select place from orders
GO
alter user north with default_schema = s
GO
alter user south with default_schema = s, name = west
GO
revert
use master
drop database shop
