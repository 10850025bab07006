-- Who waits for the lock of a table that is being defined otherwise reads it as it is then.
create table t (k int primary key, v int, index iv (v))
insert t select value, 1 from generate_series(1, 5)
create table s (n int); insert s values (0)
GO
-- session a:
begin transaction; truncate table t; insert t select value, 1 from generate_series(1, 7)
GO
-- session b waits:
select count(*) n from t with (serializable)
-- session c waits:
set transaction isolation level repeatable read; select count(*) n from t
-- session d waits:
update s set n = (select count(*) from t with (index(iv), updlock)); select n from s
-- session a:
commit
-- session b resumes:
-- session c resumes:
-- session d resumes:
-- An index that is made anew is another tree: what a foreign key refers to is looked up there.
create table parent (k int primary key); insert parent values (1), (2)
create table child (k int references parent)
GO
-- session a:
begin transaction; alter index all on parent rebuild; delete parent where k = 2
-- session b waits:
insert child values (2)
-- session a:
commit
-- session b resumes:
select count(*) n from child
GO
