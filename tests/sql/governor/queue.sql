-- GROUP_MAX_REQUESTS: one request of the group at a time, the others wait for their turn.
create function dbo.classify() returns sysname with schemabinding as
begin
  return case when host_name() like 'clerk%' then N'clerks' end
end
GO
create table t (id int primary key, n int)
insert t values (1, 0)
create workload group clerks with (group_max_requests = 1)
alter resource governor with (classifier_function = dbo.classify)
alter resource governor reconfigure
GO
begin transaction
update t set n = 1 where id = 1
GO
-- session clerk1 waits:
-- This one runs, and waits for a lock.
update t set n += 10 where id = 1
GO
-- session clerk2 waits:
select 'second' as [clerk 2]
GO
-- session clerk3 waits:
select 'third' as [clerk 3]
GO
-- session main:
select active_request_count, queued_request_count, total_queued_request_count, blocked_task_count from sys.dm_resource_governor_workload_groups where name = 'clerks'
select count(*) as requests, max(r.status) as status, max(r.wait_type) as wait_type, max(g.name) as name from sys.dm_exec_requests as r join sys.dm_resource_governor_workload_groups as g on g.group_id = r.group_id where r.wait_type = 'RESMGR_THROTTLED'
select count(*) as tasks from sys.dm_os_waiting_tasks where wait_type = 'RESMGR_THROTTLED' and blocking_session_id is null
GO
commit
GO
-- session clerk1 resumes:
-- session clerk2 resumes:
-- session clerk3 resumes:
-- session main:
select active_request_count, queued_request_count, total_queued_request_count, blocked_task_count, total_lock_wait_count from sys.dm_resource_governor_workload_groups where name = 'clerks'
select waiting_tasks_count from sys.dm_os_wait_stats where wait_type = 'RESMGR_THROTTLED'
GO
-- Who has a transaction open does not wait: others may wait for its locks.
begin transaction
update t set n = 2 where id = 1
GO
-- session clerk2:
begin transaction
insert t values (2, 0)
GO
-- session clerk1 waits:
update t set n += 10 where id = 1
GO
-- session clerk2:
commit
select 'done' as [clerk 2] where @@trancount = 0
GO
-- session main:
rollback
GO
-- session clerk1 resumes:
-- session main:
begin transaction
update t set n = 3 where id = 1
GO
-- session clerk1 waits:
update t set n += 10 where id = 1
GO
-- session clerk2 waits:
-- KILL takes it out of the queue.
select 'never' as [clerk 2]
GO
-- session main:
declare @kill nvarchar(50) = (select concat('kill ', session_id) from sys.dm_exec_requests where wait_type = 'RESMGR_THROTTLED')
exec (@kill)
GO
-- session clerk2 resumes:
-- session clerk3 waits:
select 'at last' as [clerk 3]
GO
-- session main:
rollback
GO
-- session clerk1 resumes:
-- session clerk3 resumes:
-- session main:
-- A higher limit lets in who waits.
begin transaction
update t set n = 4 where id = 1
GO
-- session clerk1 waits:
update t set n += 10 where id = 1
GO
-- session clerk3 waits:
select 'let in' as [clerk 3]
GO
-- session other:
alter workload group clerks with (group_max_requests = 2)
alter resource governor reconfigure
GO
-- session clerk3 resumes:
-- session main:
rollback
GO
-- session clerk1 resumes:
-- session main:
alter resource governor reset statistics
select total_request_count, total_queued_request_count, total_lock_wait_count, max_request_cpu_time_ms from sys.dm_resource_governor_workload_groups where name = 'clerks'
GO
