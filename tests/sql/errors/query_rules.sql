-- Queries that the product refuses although something could be made of them.
create table #t(a int, b int, s varchar(10))
insert #t values (1, 0, 'x'), (2, 0, 'y'), (3, 1, 'zz')
go
-- ORDER BY: positions, constants, variables.
select a from #t order by -1
go
select a from #t order by a, 2 - 1
go
select a from #t order by coalesce(null, 1)
go
declare @v int = 1; select a from #t order by @v
go
declare @v int = 1; select a from #t order by @v + a desc
select a from #t order by upper('x'), (1) desc
go
select sum(a) over (order by 1) from #t
go
select row_number() over (order by 'x') from #t
go
select row_number() over (order by (select null)), row_number() over (order by 1/0) from #t
go
-- Frames.
select sum(a) over (partition by b rows unbounded preceding) from #t
go
select sum(a) over (rows unbounded preceding) from #t
go
select a, count(*) over (partition by b rows between unbounded preceding and current row) from #t order by a
go
select sum(a) over (order by a range 1 preceding) from #t
go
select sum(a) over (order by a rows between 1 following and 1 preceding) from #t
go
select lag(a) over (order by a rows unbounded preceding) from #t
go
-- Named windows.
select row_number() over w from #t window w as (order by a), w as (order by b)
go
select row_number() over (w) from #t window w as (order by a)
go
select row_number() over w from #t window w as (partition by b)
go
select row_number() over w from #t window w as (order by a rows unbounded preceding)
go
select sum(a) over (w order by a) from #t window w as (order by b)
go
select sum(a) over w from #t window w as (w order by a)
go
select sum(a) over w from #t window w as (v), v as (w)
go
select percentile_cont(0.5) within group (order by a) over w from #t window w as (order by a)
go
select sum(a) over w from #t window w as (partition by b rows unbounded preceding)
go
select a, sum(a) over (v rows unbounded preceding) from #t window w as (partition by b), v as (w order by a) order by a
go
select percentile_cont(1.5) within group (order by a) over () from #t
go
-- TOP, OFFSET, FETCH.
select top (1.5) a from #t
go
select top (null) a from #t
go
select top 1 a from #t order by a offset 0 rows
go
select a from #t order by a offset 0 rows fetch next 0 rows only
go
declare @n int = 0; select a from #t order by a offset 0 rows fetch next @n rows only
go
select a from #t order by a fetch next 1 rows only
go
-- Aggregates of nothing.
select count(null) from #t
go
select max(null) over () from #t
go
select string_agg(null, ',') from #t
go
select string_agg(cast('a' as varbinary(3)), ',') from #t
go
select iif(1 = 1, null, null)
go
select 1 as ''
go
select '' = 1
go
-- Common table expressions.
with c as (select 1 a), c as (select 2 a) select * from c
go
with c as (select 1 a union all select a + 1 from c where a < 3 union all select 5) select * from c
go
with c as (select 1 a union all select x.a + 1 from c x join c y on x.a = y.a) select * from c
go
with c as (select 1 a union all select distinct a + 1 from c where a < 3) select * from c
go
with c as (select 1 a union all select top (1) a + 1 from c where a < 3) select * from c
go
with c as (select 1 a union all select c.a + 1 from c left join #t on #t.a = c.a where c.a < 3) select * from c
go
with c as (select 1 a union all select max(a) + 1 from c where a < 3) select * from c
go
with g as (select distinct max(a) as m from #t), c as (select 1 a union all select a + 1 from c join g on c.a < g.m) select * from c
go
-- PIVOT and UNPIVOT.
select * from #t pivot (count(*) for s in (x)) p
go
select * from #t pivot (sum(a) for s in (x, X)) p
go
select * from (select a, cast(b as bigint) b from #t) q unpivot (v for n in (a, b)) u
go
-- Hints.
select * from #t with (nolock, updlock)
go
update #t with (nolock) set a = a
go
delete #t with (index(0))
go
select * from #t with (index(7))
go
select 1 option (banana)
go
-- Functions that give tables.
select * from string_split('a,b', ',', 2)
go
declare @o int = 1; select * from string_split('a,b', ',', @o)
go
select * from generate_series(1, cast(5 as bigint))
go
select * from generate_series(1e0, 2e0)
go
select * from generate_series(1, 5, 0)
go
select * from generate_series(1)
go
