-- Time-outs, NOWAIT-like settings, READPAST, table locks, application locks.
create table t (id int primary key, v int)
insert t values (1, 10), (2, 20), (3, 30)
GO
-- session a:
begin tran; update t set v = 0 where id = 2
-- session b:
set lock_timeout 0; update t set v = 1 where id = 2
-- session b:
select @@lock_timeout as lt; select id from t with (readpast, updlock) order by id
-- session a:
rollback
-- session a:
begin tran; select count(*) as n from t with (tablockx, holdlock)
-- session b:
select id from t with (updlock) where id = 1
-- session b:
set lock_timeout -1
-- session b waits:
insert t values (4, 40)
-- session a:
commit
-- session b resumes:
-- session a:
select * from t order by id
GO
begin tran; exec sp_getapplock 'res', 'Exclusive'
-- session b:
declare @rc int; begin tran; exec @rc = sp_getapplock 'res', 'Shared', 'Transaction', 0; select @rc as rc; rollback
-- session a:
commit; drop table t
