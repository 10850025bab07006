create table t (a int primary key, b int)
insert t values (1, 10), (2, 20)
GO
-- A deadlock has one victim, whose transaction is gone.
-- session a:
begin tran; update t set b = 11 where a = 1
GO
-- session b:
set deadlock_priority low
begin tran; update t set b = 21 where a = 2
GO
-- session a waits:
update t set b = 22 where a = 2
-- session b:
update t set b = 12 where a = 1
GO
select @@trancount as t
GO
-- session a resumes:
-- session a:
commit
select * from t
GO
-- In TRY the victim's transaction is doomed.
-- session a:
begin tran; update t set b = 1 where a = 1
GO
-- session b:
begin tran; update t set b = 2 where a = 2
GO
-- session a waits:
update t set b = 3 where a = 2
-- session b:
begin try
    update t set b = 4 where a = 1
end try
begin catch
    select error_number() as n, xact_state() as x, @@trancount as t
    rollback
end catch
GO
-- session a resumes:
-- session a:
rollback
GO
-- SNAPSHOT must be allowed, and conflicts
-- session a:
set transaction isolation level snapshot
select * from t
GO
alter database master set allow_snapshot_isolation on
GO
begin tran
select b from t where a = 1
GO
-- session b:
set deadlock_priority normal
update t set b = 100 where a = 1
GO
-- session a:
select b from t where a = 1
update t set b = 7 where a = 1
GO
select @@trancount as t
set transaction isolation level read committed
GO
-- REPEATABLE READ keeps what it read
-- session a:
set transaction isolation level repeatable read
begin tran
select b from t where a = 1
GO
-- session b waits:
update t set b = 5 where a = 1
-- session a:
select b from t where a = 1
commit
-- session b resumes:
-- SERIALIZABLE keeps phantoms away
-- session a:
set transaction isolation level serializable
begin tran
select count(*) as n from t where a between 5 and 10
GO
-- session b waits:
insert t values (7, 7)
-- session a:
select count(*) as n from t where a between 5 and 10
commit
-- session b resumes:
-- READ UNCOMMITTED sees everything
-- session b:
begin tran; update t set b = -1 where a = 1
GO
-- session a:
set transaction isolation level read uncommitted
select b from t where a = 1
select b from t with (readcommitted) where a = 1
GO
-- session b:
rollback
GO
-- application locks
-- session a:
begin tran
declare @r int
exec @r = sp_getapplock 'res', 'Exclusive'
select @r as r
GO
-- session b:
begin tran
declare @r int
exec @r = sp_getapplock 'res', 'Exclusive', 'Transaction', 10
select @r as r
rollback
GO
-- session a:
commit
GO
