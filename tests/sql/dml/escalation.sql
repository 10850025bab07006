-- A statement that changes many rows asks for the table's lock instead of theirs, when nobody else is in the table, and gives theirs back.
create table t (a int primary key, b int, c int, index i (b), unique (c))
insert t select value, 0, value from generate_series(1, 20000)
create table u (a int primary key, b int)
insert u values (1, 1)
GO
create procedure locks as
select resource_type, request_mode, count(*) as locks from sys.dm_tran_locks
where request_session_id = @@spid and resource_type in ('KEY', 'OBJECT') group by resource_type, request_mode order by resource_type, request_mode
GO
create procedure escalations as
select index_lock_promotion_attempt_count as asked, index_lock_promotion_count as had
from sys.dm_db_index_operational_stats(db_id(), object_id('t'), 1, null)
GO
exec escalations
-- session a:
begin tran
update t set b = 1 where a <= 4000
exec locks
update t set b = 1
exec locks
GO
-- Later statements of the transaction lock no rows of the table, and those of others.
update t set b = 2 where a = 7
update u set b = 2
exec locks
exec escalations
GO
-- Who has it keeps others out; those who read versions see what was.
-- session b:
set lock_timeout 0
update t set b = 9 where a = 20000
GO
select count(*) as n from t with (repeatableread)
GO
select min(b) as b, max(b) as b from t
GO
-- session a:
rollback
select min(b) as b, max(b) as b from t
exec locks
GO
-- Rows are found first where the change is not made at once, and locks of rows go when the table's is had.
begin tran
update t set a = a + 1, c = c + 1
exec locks
rollback
GO
begin tran
delete t where b = 0
exec locks
rollback
GO
begin tran
merge t using (select value as v from generate_series(10001, 30000)) s on t.a = s.v
when matched then update set b = 3 when not matched then insert values (v, 3, v);
exec locks
rollback
GO
-- Rows that do not qualify are passed by without locks as well.
begin tran
delete t where a % 2 = 0
update t set b = 5 where a % 3 = 0 and c < 100
exec locks
rollback
select count(*) as n, sum(b) as b from t
GO
-- A reader that keeps its locks is in the way, and so is who changes another row: the rows are locked one by one.
-- session b:
begin tran
select b from t with (repeatableread) where a = 20000
GO
-- session a:
begin tran
update t set b = 4 where a <= 12000
exec locks
exec escalations
rollback
GO
-- session b:
rollback
begin tran
update t set c = -1 where a = 20000
GO
-- session a:
begin tran
update t set b = 4 where a <= 12000
exec locks
rollback
GO
-- session b:
rollback
set transaction isolation level serializable
begin tran
select count(*) as n from t where a > 19990
GO
-- session a:
begin tran
update t set b = 4 where a <= 12000
exec locks
rollback
GO
-- session b:
rollback
GO
-- Not where the table or a trace flag says otherwise.
-- session a:
alter table t set (lock_escalation = disable)
begin tran
update t set b = 4 where a <= 12000
exec locks
rollback
alter table t set (lock_escalation = table)
GO
dbcc traceon (1211, -1)
begin tran
update t set b = 4 where a <= 12000
exec locks
rollback
dbcc traceoff (1211, -1)
dbcc traceon (1224, -1)
begin tran
delete t where a <= 12000
exec locks
rollback
dbcc traceoff (1224, -1)
GO
-- A savepoint takes changes back, not the lock.
begin tran
update t set b = 1 where a = 1
save tran s
update t set b = 2
rollback tran s
exec locks
select sum(b) as b from t
update t set b = 3 where a = 2
commit
select sum(b) as b from t
exec escalations
GO
GO
-- Reads that keep their locks ask for it shared: others read on, and change nothing.
-- session a:
begin tran
select count(b) as n from t with (repeatableread) where c <= 12000
exec locks
exec escalations
GO
-- session b:
select count(*) as n from t with (repeatableread) where a = 20000
update t set c = -1 where a = 20000
GO
-- session a:
update t set b = 5 where a = 1
exec locks
rollback
GO
-- What was changed before stays locked by itself.
begin tran
update t set b = 5 where a = 1
select count(*) as n from t with (holdlock) where a <= 12000
exec locks
rollback
begin tran
select count(*) as n from t with (holdlock, tablock)
exec locks
rollback
begin tran
select count(*) as n from generate_series(1, 6000) g inner loop join t with (repeatableread) on t.a = g.value
exec locks
rollback
GO
-- Rows that are locked for a change: exclusively, and the change needs no more locks.
set transaction isolation level serializable
begin tran
select count(*) as n from t with (updlock) where a <= 6000
exec locks
update t set b = 6 where a = 2
exec locks
rollback
set transaction isolation level read committed
GO
-- Who changes another row is in the way.
-- session b:
begin tran
update t set c = -1 where a = 20000
GO
-- session a:
begin tran
select count(*) as n from t with (repeatableread) where a <= 12000
exec locks
exec escalations
rollback
GO
-- session b:
rollback
GO
-- session a:
alter table t set (lock_escalation = disable)
begin tran
select count(*) as n from t with (repeatableread) where a <= 12000
exec locks
rollback
