-- MERGE: three branches, OUTPUT, and the row that matches twice.
create table tgt (id int primary key, v varchar(10))
insert tgt values (1, 'one'), (2, 'two'), (3, 'three')
GO
merge tgt as t using (values (2, 'TWO'), (4, 'FOUR')) as s (id, v) on t.id = s.id
when matched then update set v = s.v
when not matched then insert (id, v) values (s.id, s.v)
when not matched by source and t.id > 2 then delete
output $action, deleted.id as old_id, inserted.id as new_id;
select * from tgt order by id
GO
merge tgt as t using (values (1, 'a'), (1, 'b')) as s (id, v) on t.id = s.id when matched then update set v = s.v;
GO
merge tgt as t using (values (1, 'a')) as s (id, v) on t.id = s.id when matched and t.v = 'nope' then delete when matched then update set v = s.v;
select @@rowcount as n
GO
merge tgt using tgt as s on 1 = 1 when matched then delete
GO
drop table tgt
-- OUTPUT: the side that a row does not have is NULL, whatever its columns allow.
create table stock (id int not null primary key, n int not null)
insert stock values (1, 1), (3, 3)
merge stock as t using (values (1, 10), (2, 20)) as s (id, n) on t.id = s.id
when matched then update set n = s.n
when not matched then insert values (s.id, s.n)
when not matched by source then delete
output $action, inserted.id as i, deleted.id as d, s.n as s, isnull(deleted.n, -1) as was;
drop table stock
GO
-- Source and target have names of their own.
create table merge_names(a int)
GO
merge merge_names using merge_names on 1 = 1 when matched then delete;
GO
merge merge_names t using (values (1)) t(a) on 1 = 1 when matched then delete;
GO
merge dbo.merge_names using dbo.merge_names m on 1 = 1 when matched then delete;
GO
drop table merge_names
GO
