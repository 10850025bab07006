-- sp_rename of sequences and synonyms.
create sequence numbers start with 5
create table t (id int default next value for numbers, a int)
create synonym s for t
create table taken (a int)
GO
exec sp_rename 'numbers', 'digits'
exec sp_rename '[dbo].[s]', 'other'
select name, type from sys.objects where type in ('SO', 'SN') order by name
select next value for digits n
select count(*) n from other
select object_id('numbers') a, object_id('s') b
GO
select next value for numbers
GO
exec sp_rename 'digits', 'taken'
GO
exec sp_rename 'other', 'taken', 'OBJECT'
GO
-- The old names are free, and a transaction takes the new ones back.
create sequence numbers
begin tran
exec sp_rename 'digits', 'figures'
rollback
select name from sys.sequences order by name
drop sequence numbers
drop synonym other
drop table t, taken
drop sequence digits
GO
-- A name may become itself in other letters.
create table Kept (Ab int constraint Pk primary key)
create sequence Numbers
create synonym Alias for Kept
GO
create view Shown as select 1 x
GO
exec sp_rename 'Kept', 'kept'
exec sp_rename 'kept.Ab', 'AB', 'COLUMN'
exec sp_rename 'Pk', 'pk', 'OBJECT'
exec sp_rename 'Numbers', 'numbers'
exec sp_rename 'Alias', 'alias'
exec sp_rename 'Shown', 'shown'
select name from sys.objects where name in ('kept', 'pk', 'numbers', 'alias', 'shown') order by name
select ab from kept
select next value for numbers n
GO
exec sp_rename 'kept', 'PK'
GO
drop view shown
drop synonym alias
drop sequence numbers
drop table kept
GO
-- Types that users made: columns and parameters keep them, text that names them does not follow.
create type dbo.Money2 from decimal(10, 2) not null
create type dbo.Ids as table (id int primary key)
create type taken from int
GO
create schema other
GO
create type other.Money2 from int
GO
create table priced (id int, price Money2)
GO
create procedure show_price @p Money2 as select @p as price
GO
create procedure count_ids @ids dbo.Ids readonly as select count(*) n from @ids
GO
exec sp_rename 'dbo.Money2', 'amount', 'USERDATATYPE'
GO
select name, schema_name(schema_id) as in_schema, is_nullable from sys.types where is_user_defined = 1 order by name
select c.name, type_name(c.user_type_id) as type from sys.columns c where object_id = object_id('priced') order by column_id
select type_id('Money2') as old, case when type_id('amount') > 256 then 1 end as new
insert priced values (1, 2.345)
declare @a amount = 1.005
select price, @a as a from priced
GO
declare @a Money2
GO
-- Without a kind a name may be of a type.
exec sp_rename 'Ids', 'numbers'
GO
declare @n dbo.numbers
insert @n values (1), (2)
select count(*) n from @n
select name from sys.table_types
GO
exec sp_rename 'amount', 'TAKEN', 'userdatatype'
GO
exec sp_rename 'other.Money2', 'amount', 'userdatatype'
exec sp_rename 'amount', 'Amount', 'userdatatype'
select name, schema_name(schema_id) as in_schema from sys.types where name = 'amount' order by schema_id
GO
exec sp_rename 'nowhere', 'x', 'USERDATATYPE'
GO
exec sp_rename 'int', 'x', 'USERDATATYPE'
GO
exec sp_rename 'priced', 'x', 'USERDATATYPE'
GO
-- What is bound to its declaration keeps a type's name.
create function doubled(@a amount) returns int with schemabinding as begin return @a * 2 end
GO
exec sp_rename 'amount', 'sum', 'USERDATATYPE'
GO
drop function doubled
begin tran
exec sp_rename 'amount', 'sum', 'USERDATATYPE'
select type_name(type_id('sum')) as n
rollback
select type_id('sum') as s
GO
drop procedure show_price, count_ids
drop table priced
drop type amount
drop type other.amount
drop type numbers
drop type taken
drop schema other
GO
-- Statistics.
create table counted (a int, b int)
create index by_a on counted (a)
create statistics of_b on counted (b)
exec sp_rename 'counted.of_b', 'b_values', 'STATISTICS'
select name from sys.stats where object_id = object_id('counted') order by name
GO
exec sp_rename 'counted.b_values', 'by_a', 'STATISTICS'
GO
exec sp_rename 'counted.of_b', 'x', 'STATISTICS'
GO
drop statistics counted.b_values
drop table counted
