-- Types without an order: no ORDER BY, GROUP BY, DISTINCT, UNION, no key of an index.
create table t (a int, x xml, o text, v varchar(max), g geography, p geometry)
go
select a from t order by x
go
select a from t order by o
go
select a from t order by g
go
select count(*) from t group by p
go
select count(*) from t group by x
go
select distinct a, g from t
go
select x from t union select x from t
go
select o from t union all select o from t
go
select a, row_number() over (partition by o order by a) from t
go
select row_number() over (order by x) from t
go
select a from t where g = g
go
select max(x) from t
go
create index i on t(x)
go
create index i on t(v)
go
create index i on t(a) include (v)
go
create table u (v nvarchar(max) primary key)
go
create table u (a int, v varbinary(max), unique (a, v))
go
alter table t add constraint k unique (o)
go
drop table t
