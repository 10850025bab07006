-- UPDATE and DELETE with joins, TOP, OUTPUT and variables.
create table t (id int primary key, a int, b varchar(10))
create table s (id int, a int)
insert t values (1, 10, 'x'), (2, 20, 'y'), (3, 30, 'z'), (4, 40, 'w')
insert s values (1, 100), (3, 300)
GO
update t set a += 1, b = upper(b) where id < 3
select * from t order by id
GO
update t set a = s.a output deleted.id, deleted.a as old, inserted.a as new from t join s on s.id = t.id
GO
declare @v int = 0, @w int
update t set @v = a = a + 5 where id = 2
select @v as v, (select a from t where id = 2) as a
update t set @w = a where id = 4
select @w as w
GO
-- Both sides see the old row.
create table sw (a int, b int)
insert sw values (1, 2)
update sw set a = b, b = a
select * from sw
GO
update x set a = 0 from t as x where x.id = 4
select a from t where id = 4
GO
-- Keys move without tripping over each other.
update t set id = id + 1
select id from t order by id
GO
update t set id = 5
GO
update top (1) t set b = 'top'
select count(*) as n from t where b = 'top'
GO
delete from t output deleted.* where id = 2
GO
delete t from t join s on s.id + 1 = t.id
select id from t order by id
GO
delete top (1) from t
select @@rowcount as n
GO
with c as (select top (1) * from t order by id desc) delete from c
select count(*) as n from t
GO
update nope set a = 1
GO
update t set nope = 1
GO
drop table t, s, sw
