-- Forms that old scripts are full of.
create table #fruit (id int not null, name varchar(10) not null)
insert #fruit values (3, 'cherry'), (1, 'apple'), (2, 'banana'), (4, 'apple')
GO
-- Hints before the alias, without WITH.
select a.name from #fruit (nolock) a join #fruit (nolock) as b on a.id = b.id where b.id = 1
GO
-- EXISTS (SELECT *) over nothing.
if exists (select * where 1 = 1) print 'yes'
if not exists (select * where 1 = 0) print 'no'
GO
-- * over nothing is an error elsewhere.
select * where 1 = 1
GO
-- IDENTITY numbers the rows of SELECT INTO in their order.
select identity(int, 10, 5) as n, name into #numbered from #fruit order by name, id
select n, name from #numbered order by n
insert #numbered (name) values ('date')
select n, name from #numbered where name = 'date'
GO
select name, identity(decimal(10, 0), 1, -1) as n into #down from #fruit
select c.name, t.name as type, c.precision, c.is_identity, c.is_nullable from tempdb.sys.columns c
join tempdb.sys.types t on t.user_type_id = c.user_type_id where c.object_id = object_id('tempdb..#down') order by c.column_id
GO
select identity(int, 1, 1) as n from #fruit
GO
select identity(int, 1, 1) as n, n as m into #two from #numbered
GO
select identity(varchar(10), 1, 1) as n, name into #wrong from #fruit
GO
-- What EXEC puts between strings is a string.
declare @i int = 5, @d date = '2024-02-29'
exec ('select ' + @i + ' as five, ''' + @d + ''' as leap')
GO
-- A grouped expression inside a subquery reads the group.
select upper(a.name) as name, (select count(*) from #fruit b where upper(b.name) = upper(a.name)) as same
from #fruit a group by upper(a.name) order by 1
GO
select upper(a.name) as name, (select count(*) from #fruit b where b.name = a.name) as same
from #fruit a group by upper(a.name)
GO
-- A date part is the same by each of its names.
select datepart(year, d) as y, count(*) as n from (values (cast('2024-01-05' as date)), ('2024-03-01')) v (d)
group by datepart(yy, d)
GO
GO
-- A variable's name may begin with two signs; those of the server are not variables.
declare @@own int = 2, @@more varchar(5) = 'x'
set @@own = @@own + @@trancount
select @@own as own, @@more as more
exec ('select ''' + @@more + ''' as more')
exec sp_executesql N'select @@n as n', N'@@n int', 3
select @@nobodys as n
GO
declare @@rowcount int
GO
-- HOLDLOCK needs no parentheses, INDEX needs WITH.
select count(*) as n from #fruit holdlock
select count(*) as n from #fruit a holdlock, (select 1 as one) b
GO
select * from #fruit (index (1))
GO
;sp_executesql N'select 1 as one'
GO
-- Words that only the list of reserved ones has are names.
create table #load (disk int, dump int, load int, securityaudit int)
insert #load (disk, load) values (1, 2)
select l.disk, l.load, dump from #load l
GO
select f.order from #fruit f
GO
exec ('select ' + cast(1 as varchar(5)))
