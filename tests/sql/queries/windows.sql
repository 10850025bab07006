-- Window functions and frames.
create table t (g char(1), n int)
insert t values ('a', 1), ('a', 2), ('a', 2), ('b', 5), ('b', 7)
GO
select g, n, row_number() over (partition by g order by n) as rn, rank() over (partition by g order by n) as r, dense_rank() over (partition by g order by n) as d, ntile(2) over (order by n) as nt from t order by g, n, rn
GO
select g, n, sum(n) over (partition by g) as total, sum(n) over (partition by g order by n) as running, sum(n) over (partition by g order by n rows between 1 preceding and current row) as two from t order by g, n, two
GO
select g, n, lag(n) over (partition by g order by n) as lg, lead(n, 1, -1) over (partition by g order by n) as ld, first_value(n) over (partition by g order by n) as f, last_value(n) over (partition by g order by n rows between unbounded preceding and unbounded following) as l from t order by g, n, lg
GO
select g, count(*) as c, sum(count(*)) over () as all_rows from t group by g order by g
GO
select n, percent_rank() over (order by n) as pr, cume_dist() over (order by n) as cd from t order by n
GO
select g, n from t where row_number() over (order by n) = 1
GO
select row_number() over (partition by g) as r from t
GO
select top (2) with ties n from t order by n desc
select n from t order by n offset 1 rows fetch next 2 rows only
select n from t order by n desc offset 3 rows
GO
drop table t
