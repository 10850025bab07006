-- ORDER BY of a set operation may name a column with a table of the first query; NULL has no type until another query gives it one.
create table a (x int, y int); create table b (x int, z int)
insert a values (2, 20), (1, 10); insert b values (3, 30)
go
select x from a union select x from b order by a.x
select x from dbo.a union select z from b order by dbo.a.x desc
select p.* from a p union all select * from b order by p.y desc
select * from a join b on a.x < b.x union select 1, 2, 3, 4 order by z
go
select x from a union select x from b order by b.x
go
select x from a union select x from b order by a.y
go
select null as v union select null union select 'text'
select null as v union all select null union all select getdate() where 1 = 0 union all select '20200101'
select null as v union all select null
go
-- TOP takes a query in its one pair of parentheses; names may begin with the dots of what is left out.
select top (select min(x) from a) y from a order by y
select count(*) as n from ..a
exec ..sp_tablecollations_100 '.[a]'
insert a (.x, a.y) values (4, 40)
select y from a where x = 4
go
-- A column that is called something else in the list may be named as it was written there, without its table.
select p.x as c1, p.y as c2 from a p union select x, z from b order by y desc
