-- The Hermitage anomaly table. Two rows, two transactions, every level.
create table test (id int primary key, value int)
insert test values (1, 10), (2, 20)
GO
-- G0, dirty write, prevented at every level: the second writer waits.
-- session a:
set transaction isolation level read uncommitted; begin tran; update test set value = 11 where id = 1
-- session b waits:
set transaction isolation level read uncommitted; begin tran; update test set value = 12 where id = 1
-- session a:
update test set value = 21 where id = 2; commit
-- session b resumes:
-- session b:
update test set value = 22 where id = 2; commit; select * from test order by id
GO
-- G1a, aborted read: READ UNCOMMITTED sees it, READ COMMITTED does not.
-- session a:
update test set value = id * 10; begin tran; update test set value = 101 where id = 1
-- session b:
set transaction isolation level read committed; select value as committed from test where id = 1
-- session a:
rollback
-- session b:
select value as committed from test where id = 1
GO
-- G1c, circular information flow, does not happen at READ COMMITTED.
-- session a:
set transaction isolation level read committed; begin tran; update test set value = 11 where id = 1
-- session b:
begin tran; update test set value = 22 where id = 2
-- session a:
select value as a_sees from test where id = 2
-- session b:
select value as b_sees from test where id = 1
-- session a:
commit
-- session b:
commit; update test set value = id * 10
GO
-- OTV: after the first commit both of its writes are seen, not one.
-- session a:
begin tran; update test set value = 11 where id = 1; update test set value = 19 where id = 2
-- session b waits:
begin tran; update test set value = 12 where id = 1
-- session a:
commit
-- session b resumes:
-- session c:
select * from test order by id
-- session b:
update test set value = 18 where id = 2
-- session c:
select * from test order by id
-- session b:
commit
-- session c:
select * from test order by id; update test set value = id * 10
GO
-- P4, lost update, at SNAPSHOT: the second writer fails.
-- session a:
set transaction isolation level snapshot; begin tran; select value from test where id = 1
-- session b:
set transaction isolation level snapshot; begin tran; select value from test where id = 1
-- session a:
update test set value = 11 where id = 1
-- session b waits:
update test set value = 11 where id = 1
-- session a:
commit
-- session b resumes:
-- session b:
select @@trancount as n
-- session a:
update test set value = id * 10
GO
-- P4 at REPEATABLE READ: both hold shared locks, one is the victim.
-- session a:
set transaction isolation level repeatable read; set deadlock_priority high; begin tran; select value from test where id = 1
-- session b:
set transaction isolation level repeatable read; set deadlock_priority low; begin tran; select value from test where id = 1
-- session a waits:
update test set value = 11 where id = 1
-- session b:
update test set value = 12 where id = 1
-- session a resumes:
-- session a:
commit; select value from test where id = 1; update test set value = id * 10
-- session b:
select @@trancount as n
GO
-- G-single, read skew: READ COMMITTED shows it, SNAPSHOT does not.
-- session a:
set transaction isolation level snapshot; begin tran; select value from test where id = 1
-- session b:
set transaction isolation level read committed; update test set value = 12 where id = 1; update test set value = 18 where id = 2
-- session a:
select value from test where id = 2; commit; select * from test order by id; update test set value = id * 10
GO
-- G2-item, write skew: SNAPSHOT allows it.
-- session a:
set transaction isolation level snapshot; begin tran; select * from test where id in (1, 2) order by id
-- session b:
set transaction isolation level snapshot; begin tran; select * from test where id in (1, 2) order by id
-- session a:
update test set value = 11 where id = 1; commit
-- session b:
update test set value = 21 where id = 2; commit
select * from test order by id; update test set value = id * 10
GO
-- G2, phantoms: SERIALIZABLE makes the inserter wait.
-- session a:
set transaction isolation level serializable; begin tran; select * from test where value % 3 = 0
-- session b waits:
insert test values (3, 30)
-- session a:
select count(*) as still_none from test where value % 3 = 0; commit
-- session b resumes:
-- session b:
select * from test order by id; delete test where id = 3
GO
-- Readers do not wait for writers at READ COMMITTED, and writers not for readers.
-- session a:
set transaction isolation level read committed; begin tran; update test set value = 99 where id = 1
-- session b:
set transaction isolation level read committed; select value from test where id = 1; select value as dirty from test with (nolock) where id = 1
-- session b waits:
select value from test with (updlock) where id = 1
-- session a:
rollback
-- session b resumes:
