-- MERGE fires the triggers of each of its actions once, with that action's rows; @@IDENTITY sees what triggers insert,
-- SCOPE_IDENTITY() does not.
create table t (id int primary key, v varchar(10));
create table fired (n int identity primary key, what varchar(10), ins int, del int, rows int)
GO
create trigger tr on t after insert, update, delete as
insert fired (what, ins, del, rows)
select case when i.n > 0 and d.n > 0 then 'update' when i.n > 0 then 'insert' when d.n > 0 then 'delete' else 'nothing' end, i.n, d.n, 0
from (select count(*) n from inserted) i cross join (select count(*) n from deleted) d
GO
insert t values (1, 'one'), (2, 'two')
GO
merge t using (values (1, 'ONE'), (3, 'three')) s (id, v) on t.id = s.id
when matched then update set v = s.v
when not matched then insert values (s.id, s.v)
when not matched by source then delete;
select what, ins, del from fired order by n
GO
-- A statement that meets no row fires too.
delete fired; update t set v = 'x' where id = 99;
select what, ins, del from fired
GO
create table a (id int identity (1, 1), v int); create table b (id int identity (100, 1), seen int)
GO
create trigger tra on a after insert as insert b (seen) values (@@identity)
GO
insert a (v) values (5);
select @@identity as [identity], scope_identity() as [scope], ident_current('a') as a, ident_current('b') as b;
select seen from b
GO
