-- OFFSET counts with whole numbers, as TOP and FETCH do, and says so of itself
select name from sys.objects order by name offset 'x' rows
GO
select name from sys.objects order by name offset 1.5 rows fetch next 1 rows only
GO
select name from sys.objects order by name offset 1 rows fetch next 'x' rows only
GO
-- what has a name twice: two aliases, an alias and a table, two tables
create table t (a int)
GO
select 1 from t a join t a on 1 = 1
GO
select 1 from t x, t y, (select 1 as c) x
GO
select 1 from t join t T on 1 = 1
GO
select 1 from dbo.t join t t on 1 = 1
GO
select 1 from t, t
GO
-- a text has no sign
select -'1'
GO
select lag(null) over (order by a) from t
GO
select lead((null), 1, 5) over (order by a) from t
GO
select 1 where exists (select t.*)
GO
select cast(1)
GO
select 1,
  Try_Cast('a' int)
GO
create table u (a int unique unique)
GO
create table u (a varchar(9000))
GO
alter table t add b varbinary(8001)
GO
select switchoffset(sysdatetimeoffset(), '+5:00')
GO
select floor(cast(1.23 as decimal(10,2))) as f, ceiling(cast(-1.23 as numeric(38,10))) as c into z
GO
select c.name, t.name as type, c.precision, c.scale from sys.columns c join sys.types t on t.user_type_id = c.user_type_id where object_id = object_id('z')
GO
select * from z
GO
