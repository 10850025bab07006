-- A statement that adds many rows asks for the table's lock instead of theirs, when nobody else is in the table.
create table t (a int primary key, b int)
GO
-- session a:
begin tran
insert t select value, 0 from generate_series(1, 4000)
select resource_type, request_mode, count(*) as locks from sys.dm_tran_locks where request_session_id = @@spid and resource_type in ('KEY', 'OBJECT') group by resource_type, request_mode order by resource_type
GO
insert t select value, 0 from generate_series(4001, 20000)
select resource_type, request_mode, count(*) as locks from sys.dm_tran_locks where request_session_id = @@spid and resource_type in ('KEY', 'OBJECT') group by resource_type, request_mode order by resource_type
GO
-- It is not had while somebody else changes the table, and is asked for again.
rollback
GO
-- session b:
begin tran
insert t values (-1, 0)
GO
-- session a:
begin tran
insert t select value, 0 from generate_series(1, 12000)
select resource_type, request_mode, count(*) as locks from sys.dm_tran_locks where request_session_id = @@spid and resource_type in ('KEY', 'OBJECT') group by resource_type, request_mode order by resource_type
GO
rollback
GO
-- session b:
rollback
GO
-- Who has it keeps others out. What they read without locks is as of before.
-- session a:
begin tran
insert t select value, 0 from generate_series(1, 12000)
GO
-- session b:
set lock_timeout 0
insert t values (-1, 0)
GO
select count(*) as n from t
select count(*) as n from t with (holdlock)
GO
-- session a:
rollback
GO
-- A duplicate among them takes all back.
insert t select value % 15000, 0 from generate_series(0, 20000)
GO
select count(*) as n from t
GO
-- Not where the table says otherwise.
alter table t set (lock_escalation = disable)
select lock_escalation, lock_escalation_desc from sys.tables where name = 't'
begin tran
insert t select value, 0 from generate_series(1, 12000)
select resource_type, request_mode, count(*) as locks from sys.dm_tran_locks where request_session_id = @@spid and resource_type in ('KEY', 'OBJECT') group by resource_type, request_mode order by resource_type
rollback
alter table t set (lock_escalation = never)
GO
alter table t set (lock_escalation = auto)
select lock_escalation, lock_escalation_desc from sys.tables where name = 't'
GO
-- So as many rows as this fit into the memory of a small instance, 64 MB; with locks of their own they do not.
insert t select value, 0 from generate_series(1, 120000)
GO
truncate table t
GO
checkpoint
GO
alter table t set (lock_escalation = disable)
insert t select value, 0 from generate_series(1, 120000)
GO
select count(*) as n from t
GO
