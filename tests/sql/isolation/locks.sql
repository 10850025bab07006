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

GO
-- Table hints: NOWAIT, NOLOCK, and a table that goes while it is read.
create table h (id int primary key, v int); create table e (id int primary key)
insert h values (1, 10), (2, 20), (3, 30)
GO
-- session a:
begin tran; update h set v = 99 where id = 2; insert h values (4, 40); delete h where id = 3
-- session b:
select id, v from h with (nolock) order by id; select id, v from h order by id; select count(*) as n from h (nolock), h as c
-- session b:
update h with (nowait) set v = 1 where id = 2
-- session b:
select id from h with (nowait, updlock) where id >= 1
-- session b:
select @@lock_timeout as lt; update h with (nowait) set v = 11 where id = 1; select id from h with (nowait) where id = 2
-- session b:
set transaction isolation level read uncommitted; select id, v from h order by id; select id, v from h with (readcommitted) order by id; set transaction isolation level read committed
-- session a:
rollback
GO
drop table h; drop table e
