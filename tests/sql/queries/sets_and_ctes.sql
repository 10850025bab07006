-- UNION, EXCEPT, INTERSECT, CTEs, recursion.
select 1 as a union select 1 union all select 2 order by a
GO
select n from (values (1), (2), (2), (3)) t (n) except select 2 order by n
select n from (values (1), (2), (null)) t (n) intersect select n from (values (null), (2)) u (n) order by n
GO
select 1 union select 2 intersect select 3
GO
select 1, 2 union select 1
GO
with c (n) as (select 1 union all select n + 1 from c where n < 5) select sum(n) as s from c
GO
with c as (select 1 as n union all select n + 1 from c) select max(n) from c
GO
with c as (select 0 as n union all select n + 1 from c where n < 100) select max(n) as deepest from c
GO
with c as (select 0 as n union all select n + 1 from c where n < 6) select max(n) as deepest from c option (maxrecursion 5)
GO
with c as (select 1 as n union all select n + 1 from c where n < 200) select max(n) as m from c option (maxrecursion 0)
GO
with a as (select 1 as x), b as (select x + 1 as y from a) select a.x, b.y from a, b
GO
create table tree (id int, parent int, name varchar(10))
insert tree values (1, null, 'root'), (2, 1, 'left'), (3, 1, 'right'), (4, 2, 'leaf')
GO
with walk as (select id, cast(name as varchar(100)) as path, 0 as depth from tree where parent is null union all select t.id, cast(w.path + '/' + t.name as varchar(100)), depth + 1 from tree t join walk w on w.id = t.parent) select * from walk order by path
GO
drop table tree
GO
select p.[1], p.[2] from (select k, v from (values (1, 10), (1, 5), (2, 7)) t (k, v)) s pivot (sum(v) for k in ([1], [2])) p
GO
select name, val from (select 1 as a, 2 as b) t unpivot (val for name in (a, b)) u order by name
GO
-- in a derived table that begins with a parenthesis, terms may have an order of their own
select n from ((select top 1 n from (values (1), (5), (3)) a (n) order by n desc) union (select top 1 n from (values (2), (4)) b (n) order by n)) as c order by n
GO
(select top 1 n from (values (1), (2)) a (n) order by n) union (select 3)
GO
-- INTO belongs to the first SELECT of a set operation
select 1 as n, 'a' as s into #u union all select 2, 'bcd' union select 3, null
select * from #u order by n
GO
with c as (select 2 as n union all select 4) select n into #v from c except select 4 order by n
select n into #w from #u intersect select n from #v
select (select count(*) from #v) as v, (select max(n) from #w) as w
GO
(select 5 as n into #x) union all (select 6)
select n from #x order by n
select name, max_length, is_nullable from tempdb.sys.columns where object_id = object_id('tempdb..#u') order by column_id
GO
select 1 as n union all select 2 as n into #y
GO
GO
-- What is named in ORDER BY may have a collation behind it.
select 'b' as letter union all select 'A' union all select 'a' order by letter collate Latin1_General_BIN2
select upper(v.x) + '' as letter from (values ('b'), ('A'), ('_')) v (x) order by letter collate Latin1_General_BIN2 desc
GO
-- Inside of a statement each term may have an ORDER BY that says which rows it has; one behind a term with TOP is the term's.
create table score (id int, a int, b int)
insert score values (1, 10, 3), (2, 20, 2), (3, 30, 1), (4, 5, 9)
GO
select id from (select top (1) s.id from score s order by s.a desc union all select top (1) s.id from score s order by s.b desc) x order by id
GO
with best as (select top (1) id from score order by a desc union select top (1) id from score order by b desc union select 9) select id from best order by id
GO
select case when exists (select top (1) id from score order by a except (select top (1) id from score order by b desc)) then 'differ' else 'same' end as first
GO
create view best as select top (1) id from score order by a union all (select top (1) id from score order by a desc)
GO
select id from best order by id
select count(*) as n from (select id from score union all select id from score order by id offset 3 rows) x
GO
select * from (select id from score order by id union all select id from score) x
GO
select top (1) id from score order by a union select 9
