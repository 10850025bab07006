-- A column that is no group's is told with its table, as FROM has it.
create table t (a int, b int)
GO
select a, b from t group by a
GO
select a, t.b from dbo.t group by a
GO
select a, b from t as x group by a
GO
select x.a, y.b from t x join dbo.t y on y.a = x.a group by x.a
GO
select x.a, t.b from t x join dbo.t on t.a = x.a group by x.a
GO
select a from t group by a having b > 1
GO
select a from t group by a order by b
GO
select a, b from (select a, b from t) d group by a
GO
with c as (select a, b from t) select a, b from c group by a
GO
select * from t group by a
GO
select a, (select max(t.b) from t u where u.a = t.b) m from t group by a
GO
declare @v table (a int, b int)
select a, b from @v group by a
GO
drop table t
GO
