-- WITH SCHEMABINDING keeps what a view or function names from being dropped or altered.
create table t (a int not null, b int, c varchar(10))
GO
create function dbo.twice (@x int) returns int with schemabinding as begin return @x * 2 end
GO
create view v with schemabinding as select a, dbo.twice(b) b2 from dbo.t
GO
create view w with schemabinding as select a from dbo.v
GO
create function dbo.f (@x int) returns int with schemabinding as
begin
  declare @n int
  select @n = count(*) from dbo.t where b = @x
  return @n
end
GO
create function dbo.g (@x int) returns table with schemabinding as return select c from dbo.t where a = @x
GO
drop table dbo.t
GO
drop view v
GO
drop function dbo.twice
GO
alter function dbo.twice (@x int) returns int as begin return @x * 3 end
GO
alter table t drop column a
GO
alter table t drop column b
GO
alter table t alter column b bigint
GO
alter table t alter column c varchar(20)
GO
alter table t alter column b int not null
GO
exec sp_rename 't', 't2'
GO
exec sp_rename 't.c', 'c2', 'COLUMN'
GO
exec sp_rename 'v', 'v2'
GO
-- What nothing is bound to can go, and what is added disturbs nobody.
alter table t add d int
GO
alter table t drop column d
GO
truncate table t
GO
select object_name(object_id) name, is_schema_bound from sys.sql_modules order by name
select object_name(referencing_id) name, is_schema_bound_reference from sys.sql_expression_dependencies order by name
GO
-- Names are in two parts, and columns are named.
create view x with schemabinding as select a from t
GO
create view x with schemabinding as select t.a from dbo.t t, t u
GO
create view x with schemabinding as select * from dbo.t
GO
create view x with schemabinding as select t.*, 1 n from dbo.t
GO
create view x with schemabinding as select count(*) n, max(a * b) m from dbo.t
GO
create view plain as select a from dbo.t
GO
create view y with schemabinding as select a from dbo.plain
GO
create function dbo.h () returns int with schemabinding as begin return (select max(a) from t) end
GO
create view y with schemabinding as with k as (select a from dbo.t) select a from k
GO
-- An ALTER without it lets go.
alter view w as select a from dbo.v
GO
alter view v as select a from dbo.t
GO
drop view x, y, plain, w, v
drop function dbo.f, dbo.g, dbo.twice
drop table t
GO
