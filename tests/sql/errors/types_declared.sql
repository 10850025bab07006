-- What is wrong with the numbers behind a type's name, and of which column or variable it is said.
create table t (a int, d decimal(39))
GO
create table t (a int, d decimal(39, 2))
GO
create table t (a int, d decimal(2, 3))
GO
declare @t table (a int, d numeric(2, 3))
GO
create table t (a int, b int(4))
GO
declare @a int, @d decimal(39)
GO
declare @a int, @d decimal(2, 3)
GO
select cast(1 as decimal(39, 1))
GO
select cast(1 as decimal(2, 3))
GO
exec sp_executesql N'select @1', N'@1 decimal(39,2)', 1
GO
-- Types without an end say so.
declare @v varchar(max) = 'a'
declare @b varbinary(max) = @v
GO
declare @v nvarchar(max) = N'a', @x sql_variant
set @x = @v
GO
select sum(cast('1' as nvarchar(max)))
GO
select cast(cast(0x01 as varbinary(max)) as ntext)
GO
