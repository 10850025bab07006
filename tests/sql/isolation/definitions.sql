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
create table parent (i int primary key, k int not null)
create unique index ux on parent (k)
insert parent values (1, 1), (2, 2)
create table child (k int references parent (k))
GO
-- session a:
begin transaction; create unique index ux on parent (k desc) with (drop_existing = on); delete parent where k = 2; insert parent values (3, 3)
-- session b waits:
insert child values (2)
-- session c waits:
insert child values (3)
-- session a:
commit
-- session b resumes:
-- session c resumes:
-- Expressions and conditions, too.
-- session a:
begin transaction; truncate table t
-- session b waits:
declare @n int = (select count(*) from t with (serializable)); select @n n
-- session c waits:
if exists (select * from t with (updlock, holdlock)) select 'there' t else select 'gone' t
-- session a:
commit
-- session b resumes:
-- session c resumes:
-- session main:
select k from child
GO
-- A new key looks for what it refers to in the index that is there once its table is locked, if it is.
create table late (k int); insert late values (3)
GO
-- session a:
begin transaction; create unique index ux on parent (k desc) with (drop_existing = on); insert parent values (4, 4)
-- session b waits:
alter table late add constraint fk_late foreign key (k) references parent (k)
-- session a:
commit
-- session b resumes:
select count(*) n from sys.foreign_keys where name = 'fk_late'
-- session main:
create table brief (k int primary key); insert brief values (3)
create table after_brief (k int)
GO
-- session a:
begin transaction; drop table brief
-- session b waits:
alter table after_brief add constraint fk_brief foreign key (k) references brief (k)
-- session a:
commit
-- session b resumes:
select count(*) n from sys.foreign_keys where name = 'fk_brief'
GO
