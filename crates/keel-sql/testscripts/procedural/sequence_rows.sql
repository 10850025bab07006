-- NEXT VALUE FOR gives one value to all that ask for it in a row.
create sequence s as int start with 1
create sequence other as bigint start with 100 increment by 10
GO
select next value for s as a, next value for s as b, next value for other as c
select next value for s as a, next value for s + 0 as b, next value for dbo.s as c
GO
create table t (id int default (next value for s), twin int default (next value for s), label varchar(20))
GO
insert t (label) values ('defaults')
insert t (label) values ('first'), ('second')
insert t values (next value for s, next value for s, 'values')
insert t (id, label) values (next value for s, 'value and default')
insert t values (next value for s, next value for s, 'one'), (next value for s, next value for s, 'two')
insert t (id, twin, label) select next value for s, next value for s, label + '!' from t where label in ('first', 'second')
select id, twin, label from t order by id
GO
update t set id = next value for s, twin = next value for s
select count(distinct id) as ids, sum(case when id = twin then 1 else 0 end) as twins from t
GO
declare @a int, @b int
select @a = next value for s, @b = next value for s
select @b - @a as d
set @a = next value for s
set @b = next value for s
select @b - @a as d
GO
declare @n int = 0, @seen table (n int)
while @n < 3
begin
  insert @seen values (next value for s)
  set @n += 1
end
select count(distinct n) as n from @seen
GO
-- Rows of two branches are two rows.
create table target (id int primary key, a int, b int)
insert target values (1, 0, 0)
merge target as t using (values (1), (2), (3)) as v (id) on t.id = v.id
when matched then update set a = next value for s, b = next value for s
when not matched then insert values (v.id, next value for s, next value for s);
select count(distinct a) as n, sum(case when a = b then 1 else 0 end) as same from target
GO
-- Where not every row would ask.
select case when 1 = 1 then next value for s end
GO
select isnull(next value for s, 1)
GO
select coalesce(null, next value for s)
GO
select iif(1 = 1, next value for s, 0)
GO
select nullif(next value for s, 0)
GO
select choose(1, next value for s)
GO
select id from t where id = next value for s
GO
select id from t order by next value for s
GO
