-- A name is locked once more each time, and free when every asking was taken back.
-- session a:
declare @r int
exec @r = sp_getapplock @Resource = 'job', @LockMode = 'Shared', @LockOwner = 'Session'
select @r as r, applock_mode('public', 'job', 'Session') as m, applock_mode('public', 'job', 'Transaction') as t
exec sp_getapplock 'job', 'Exclusive', 'Session'
select applock_mode('public', 'job', 'Session') as m, applock_mode('public', 'Job', 'Session') as other_case
select resource_type, resource_description, request_mode, request_status, request_reference_count as n, request_owner_type
from sys.dm_tran_locks where resource_type = 'APPLICATION'
GO
-- session b:
declare @r int
select applock_test('public', 'job', 'Shared', 'Session') as test
exec @r = sp_getapplock 'job', 'Shared', 'Session', 0
select @r as r
-- Another database's names are others, and so are those of another principal.
use tempdb
exec @r = sp_getapplock 'job', 'Shared', 'Session', 0
select @r as r
exec sp_releaseapplock 'job', 'Session'
use master
exec @r = sp_getapplock 'job', 'Shared', 'Session', 0, 'dbo'
select @r as r
exec sp_releaseapplock @Resource = 'job', @LockOwner = 'Session', @DbPrincipal = 'dbo'
GO
-- It waits until the last asking is taken back.
-- session b waits:
declare @r int
exec @r = sp_getapplock 'job', 'Update', 'Session'
select @r as r, applock_mode('public', 'job', 'Session') as m
-- session a:
exec sp_releaseapplock 'job', 'Session'
select applock_mode('public', 'job', 'Session') as m
exec sp_releaseapplock 'job', 'Session'
GO
-- session b resumes:
-- session a:
select applock_test('public', 'job', 'Shared', 'Session') as s, applock_test('public', 'job', 'Update', 'Session') as u
GO
-- session b:
exec sp_releaseapplock 'job', 'Session'
exec sp_releaseapplock 'job', 'Session'
GO
-- The transaction's end with it, and the session's stay.
-- session a:
begin tran
exec sp_getapplock 'one', 'IntentExclusive'
exec sp_getapplock 'one', 'Shared'
exec sp_getapplock 'two', 'Exclusive', 'Session'
select applock_mode('public', 'one', 'Transaction') as one, applock_mode('public', 'two', 'Session') as two
rollback
select applock_mode('public', 'one', 'Transaction') as one, applock_mode('public', 'two', 'Session') as two
exec sp_releaseapplock 'two', 'Session'
GO
-- A deadlock over a row and a name is found; the victim is told so and keeps its transaction.
create table t (a int primary key)
insert t values (1)
GO
-- session a:
begin tran
exec sp_getapplock 'job', 'Exclusive'
GO
-- session b:
begin tran
delete t
GO
-- session a waits:
delete t
-- session b:
set deadlock_priority low
declare @r int
exec @r = sp_getapplock 'job', 'Exclusive'
select @r as r, @@trancount as n
rollback
GO
-- session a resumes:
-- session a:
rollback
GO
-- What is wrong is named.
exec sp_getapplock 'job', 'Exclusive'
exec sp_getapplock 'job', 'Mine', 'Session'
exec sp_getapplock 'job', 'Shared', 'Mine'
exec sp_getapplock 'job', 'Shared', 'Session', -2
exec sp_getapplock 'job', 'Shared', 'Session', 0, 'nobody'
exec sp_getapplock '', 'Shared', 'Session'
GO
select applock_test('public', 'job', 'Shared', 'Mine') as test
GO
