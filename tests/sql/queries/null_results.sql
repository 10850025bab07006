-- What can be NULL says so: with ARITHABORT and ANSI_WARNINGS off a computation that fails is NULL.
create table #kinds (name sysname, is_nullable bit)
declare @q nvarchar(max) = N'select 1 + 1 as plus, cast(5 as tinyint) as conv, count(*) as n, len(''a'') as l, abs(-1) as a, 7 as seven, isnull(1/0, 2) as i, row_number() over (order by (select 1)) as r, convert(int, ''5'', null) as s, getdate() as d from (values (1)) v (x)'
insert #kinds select name, is_nullable from sys.dm_exec_describe_first_result_set(@q, null, 0)
select name, is_nullable from #kinds
GO
set ansi_warnings off
set arithabort off
select 1/0 as a, 5%0 as b, 2147483647+1 as c, cast(300 as tinyint) as d, log(0) as e, sqrt(-1) as f, abs(cast(-2147483648 as int)) as g, isnull(1/0, 2/0) as h
select 1/0 as x, space(-1) as y into #t
select x, y from #t
GO
set ansi_warnings on
set arithabort on
declare @s int
select convert(int, '42', null) as none, convert(datetime, '20200101', @s) as nowhen, convert(int, 7, null) as nonumber
GO
create table one (id tinyint identity(255, 1), v int)
create table two (id int identity(2147483647, 1), v int)
create table three (id bigint identity(9223372036854775807, 1), v int)
create table four (id decimal(3, 0) identity(999, 1), v int)
create table five (id smallint identity(-32768, -1), v int)
insert one (v) values (1) insert two (v) values (1) insert three (v) values (1) insert four (v) values (1) insert five (v) values (1)
GO
insert one (v) values (2)
GO
insert two (v) values (2)
GO
insert three (v) values (2)
GO
insert four (v) values (2)
GO
insert five (v) values (2)
GO
select one.id, two.id, three.id, four.id, five.id from one, two, three, four, five
GO
