-- What a session has waited for, and where rows were waited for.
create table t (id int primary key, v int)
insert t values (1, 1)
GO
-- session a:
begin tran
update t set v = 2
-- session b waits:
update t set v = 3
-- session a:
commit
-- session b resumes:
-- session b:
waitfor delay '00:00:00.01'
GO
select wait_type, waiting_tasks_count as n, case when wait_time_ms >= max_wait_time_ms then 'adds up' end as t
from sys.dm_exec_session_wait_stats where session_id = @@spid and wait_type in ('LCK_M_U', 'LCK_M_X', 'WAITFOR') order by wait_type
select case when waiting_tasks_count > 0 then 'counted' end as c from sys.dm_os_wait_stats where wait_type = 'WAITFOR'
GO
-- session a:
-- It has waited for nobody.
select wait_type from sys.dm_exec_session_wait_stats where session_id = @@spid and wait_type in ('LCK_M_U', 'LCK_M_X', 'WAITFOR')
select index_id as id, row_lock_count as locks, row_lock_wait_count as n, case when row_lock_wait_in_ms >= 0 then 'some' end as ms from sys.dm_db_index_operational_stats(db_id(), object_id('t'), 1, 1)
GO
