-- Defaults and rules that are objects of their own, as scripts of old databases make and bind them.
create database shop
GO
use shop
GO
create default zero as 0
GO
create rule positive as @value >= 0 and @value < 1000
GO
create rule dbo.phone as @x like '[0-9][0-9][0-9]-%' or @x = '@x'
GO
create default dbo.today as convert(date, '2026-03-01')
GO
create table items (id int primary key, amount int null, price money not null, tel varchar(20) null, day date, made int identity)
exec sp_bindefault 'zero', 'items.amount'
exec sp_bindefault 'dbo.today', 'dbo.items.day'
exec sp_bindrule 'positive', 'items.amount'
exec sp_bindrule @rulename = N'[dbo].[positive]', @objname = N'[dbo].[items].[price]'
exec sp_bindrule 'phone', 'items.tel'
insert items (id, price) values (1, 5)
insert items (id, amount, price, tel) values (2, null, 7, '123-45')
insert items (id, price, tel) values (3, 7, '@x')
select * from items
GO
-- What the rules forbid.
insert items (id, price) values (4, -1)
GO
insert items (id, amount, price) values (4, 1000, 1)
GO
update items set tel = 'none' where id = 1
GO
update items set amount = amount - 1 where id = 1
GO
update items set id = 10 where id = 1
insert items values (5, default, 1, null, default)
begin try
  insert items (id, price) select 6, -5
end try
begin catch
  select error_number() as number, error_severity() as severity, error_state() as state, error_message() as text
end catch
merge items t using (values (2, -3)) s (id, price) on t.id = s.id when matched then update set price = s.price;
select id, amount, price, tel, day from items order by id
GO
-- The catalog.
select name, type, type_desc, parent_object_id, schema_name(schema_id) as s from sys.objects where type in ('D', 'R') order by name
select c.name, object_name(c.default_object_id) as bound_default, object_name(c.rule_object_id) as bound_rule
from sys.columns c where object_id = object_id('items') order by column_id
select name, xtype from sysobjects where type in ('D', 'R') order by name
select name, object_name(cdefault) as d, object_name(domain) as r from syscolumns where id = object_id('items') order by colid
select object_name(object_id) as name, definition from sys.sql_modules order by 1
select count(*) as constraints from sys.default_constraints
select object_definition(object_id('zero')) as text, objectproperty(object_id('zero'), 'IsDefault') as d,
  objectproperty(object_id('positive'), 'IsRule') as r, objectproperty(object_id('zero'), 'IsDefaultCnst') as c
exec sp_helptext 'positive'
GO
-- Alias types hand on what is bound to them.
create type amount from int not null
exec sp_bindefault 'zero', 'amount'
create table one (id int, a amount, b amount default 7)
exec sp_bindrule 'positive', 'dbo.amount'
create table two (id int, a amount)
insert one (id) values (1)
insert two (id) values (1)
insert two values (2, -1)
select * from one
select * from two
select name, object_name(default_object_id) as d, object_name(rule_object_id) as r from sys.types where is_user_defined = 1
exec sp_unbindrule 'amount', 'futureonly'
create table three (id int, a amount)
insert three values (1, -1)
insert one (id, a) values (2, -1)
exec sp_unbindefault 'amount'
insert three (id) values (2)
select object_name(object_id) as t, name, object_name(default_object_id) as d, object_name(rule_object_id) as r
from sys.columns where user_type_id = type_id('amount') and object_id > 0 and name = 'a' order by 1, 2
GO
-- Refusals.
create default other as @x
GO
create default other as (select 1)
GO
create rule other as 1 = 1
GO
create rule other as @a > @b
GO
create rule other as @a > price
GO
create default zero as 1
GO
create default tempdb.dbo.d as 1
GO
select 1
create rule other as @a > 1
GO
exec sp_bindefault 'positive', 'items.amount'
exec sp_bindrule 'nothing', 'items.amount'
exec sp_bindefault 'zero', 'items.nothing'
exec sp_bindefault 'zero', 'int'
exec sp_bindefault 'zero', 'items.made'
exec sp_bindefault 'zero', 'one.b'
exec sp_bindefault 'zero', 'amount', 'now'
exec sp_bindrule 'positive', 'amount', 'now'
exec sp_bindefault 'zero'
exec sp_unbindefault 'items.price'
exec sp_unbindrule 'items.id'
exec sp_unbindefault 'amount'
exec sp_unbindrule 'amount'
create table large (a varchar(max), b rowversion, c as 1)
exec sp_bindefault 'zero', 'large.a'
exec sp_bindrule 'positive', 'large.b'
exec sp_bindrule 'positive', 'large.c'
GO
drop default zero
GO
drop rule positive
GO
drop rule zero
GO
drop default nothing
GO
drop rule if exists nothing
drop default if exists nothing
alter table items drop column tel
GO
alter table items add default 5 for amount
GO
-- Undone by a rollback, renamed, dropped.
begin tran
exec sp_unbindrule 'items.amount'
rollback
insert items (id, amount, price) values (20, -1, 1)
GO
exec sp_rename 'zero', 'nought'
exec sp_unbindefault 'items.amount'
exec sp_unbindefault 'one.a'
exec sp_unbindefault 'two.a'
exec sp_unbindefault 'three.a'
drop default nought
insert items (id, price) values (21, 1)
select id, amount from items where id = 21
GO
-- Who may.
create user reader without login
grant insert, select on items to reader
execute as user = 'reader'
exec sp_unbindrule 'items.amount'
insert items (id, amount, price) values (30, -1, 1)
revert
GO
execute as user = 'reader'
GO
create rule mine as @x > 1
GO
revert
GO
grant create rule to reader
grant alter on schema::dbo to reader
execute as user = 'reader'
GO
create rule mine as @x > 1
GO
drop rule mine
revert
GO
