-- What is read stays as it was read, and others read beside.
create table t (a int primary key, b int, c int, d int, index i (b), index j (b) include (c), unique (d))
insert t select value, value % 10, value, value from generate_series(1, 200)
GO
create procedure locks as
select resource_type, request_mode, count(*) as locks from sys.dm_tran_locks
where request_session_id = @@spid and resource_type in ('KEY', 'OBJECT') group by resource_type, request_mode order by resource_type, request_mode
GO
-- session a:
set transaction isolation level repeatable read; set lock_timeout 0
begin tran
select sum(c) as s from t where a <= 3
select count(*) as n from t with (index (i)) where b = 5 and d < 50
exec locks
GO
-- session b:
set transaction isolation level repeatable read; set lock_timeout 0
begin tran
select sum(c) as s from t where a <= 3
select count(*) as n from t with (index (i)) where b = 5 and d < 50
exec locks
GO
update t set c = 0 where a = 2
GO
-- Of rows that did not qualify nothing is kept under REPEATABLE READ.
update t set d = 1000 where a = 195
rollback
GO
-- session a:
rollback
set transaction isolation level serializable
begin tran
select sum(c) as s from t where a <= 3
select count(*) as n from t with (index (i)) where b = 5 and d > 900
exec locks
GO
-- session b:
set transaction isolation level serializable
begin tran
select sum(c) as s from t where a <= 3
select count(*) as n from t with (index (i)) where b = 5 and d > 900
rollback
GO
-- Under SERIALIZABLE a row that was looked up stays as it is, also where it did not qualify.
set transaction isolation level read committed
update t set d = 1000 where a = 195
GO
update t set b = 5 where a = 196
GO
insert t values (500, 5, 0, 500)
GO
insert t values (501, 6, 0, 501)
GO
-- session a:
select count(*) as n from t with (index (i)) where b = 5 and d > 900
rollback
GO
-- The same under hints, through EXISTS, a join, a list and a change.
set transaction isolation level read committed
begin tran
select 1 as one where exists (select * from t with (holdlock, index (i)) where b = 7 and d > 900)
GO
-- session b:
update t set d = 1000 where a = 107
GO
-- session a:
rollback
begin tran
select t.a from (values (7), (8)) v (b) inner loop join t with (serializable, index (i)) on t.b = v.b and t.d > 900
GO
-- session b:
update t set d = 1000 where a = 108
GO
-- session a:
rollback
begin tran
select a from t with (holdlock, index (j)) where b in (1, 2) and c > 900
GO
-- session b:
update t set c = 1000 where a = 101
GO
-- session a:
rollback
set transaction isolation level serializable
begin tran
update x set c = 0 from t as x with (index (i)) where b = 3 and d > 900
GO
-- session b:
update t set d = 1000 where a = 103
GO
-- session a:
rollback
-- The first of an order locks as far as it reads.
begin tran
select top 1 a from t with (index (1)) order by a
GO
-- session b:
update t set c = c where a = 2
GO
update t set c = c where a = 1
GO
insert t values (0, 0, 0, 0)
GO
-- session a:
rollback
GO
-- Two that read and then write what the other has read: one is a deadlock's victim.
begin tran
select c from t where a in (1, 2) order by a
GO
-- session b:
set transaction isolation level serializable; set lock_timeout -1
begin tran
select c from t where a in (1, 2) order by a
GO
-- session a:
set lock_timeout -1
GO
-- session b waits:
update t set c = 0 where a = 1
GO
-- session a:
set deadlock_priority low
update t set c = 0 where a = 2
GO
-- session b resumes:
-- session b:
rollback
