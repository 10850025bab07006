-- What the agent's procedures do not take, and with which errors they say so.
use msdb
GO
exec sp_add_job N'one', @job_id = 'AAAAAAAA-0000-0000-0000-000000000001'
exec sp_add_job N'one'
exec sp_add_job N' '
exec sp_add_job N'two', @enabled = 2
exec sp_add_job N'two', @category_name = N'no such'
exec sp_add_job N'two', @owner_login_name = N'nobody'
exec sp_add_job N'two', @notify_email_operator_name = N'nobody'
exec sp_add_job N'two', @delete_level = 9
GO
exec sp_start_job N'nothing'
exec sp_start_job @job_id = '00000000-0000-0000-0000-000000000001'
exec sp_start_job
exec sp_start_job N'one', @job_id = '00000000-0000-0000-0000-000000000001'
declare @id uniqueidentifier = 'AAAAAAAA-0000-0000-0000-000000000002'
exec sp_add_job N'without a server', @job_id = @id
exec sp_start_job N'without a server'
exec sp_stop_job N'without a server'
exec sp_delete_jobserver @job_name = N'one', @server_name = N'(local)'
exec sp_add_jobserver @job_name = N'one', @server_name = N'elsewhere'
exec sp_add_jobserver @job_name = N'one'
exec sp_add_jobserver @job_name = N'one', @server_name = N'(local)'
exec sp_stop_job @job_id = @id
GO
exec sp_add_jobstep @job_name = N'one', @step_name = N's', @subsystem = N'CMDEXEC', @command = N'ls'
exec sp_add_jobstep @job_name = N'one', @step_name = N's', @step_id = 5
exec sp_add_jobstep @job_name = N'one', @step_name = N's', @on_success_action = 5
exec sp_add_jobstep @job_name = N'one', @step_name = N's', @on_success_action = 4
exec sp_add_jobstep @job_name = N'one', @step_name = N's', @on_fail_action = 4, @on_fail_step_id = 0
exec sp_add_jobstep @job_name = N'one', @step_name = N's', @retry_attempts = -1
exec sp_add_jobstep @job_name = N'one', @step_name = N's', @proxy_name = N'p'
exec sp_add_jobstep @job_name = N'one', @step_name = N's'
exec sp_add_jobstep @job_name = N'one', @step_name = N'S'
exec sp_update_jobstep @job_name = N'one', @step_id = 7, @command = N''
exec sp_delete_jobstep @job_name = N'one', @step_id = 7
GO
-- Steps that are put between others and taken away: what names them follows.
exec sp_add_jobstep @job_name = N'one', @step_name = N'last', @on_fail_action = 4, @on_fail_step_id = 1
exec sp_add_jobstep @job_name = N'one', @step_name = N'new', @step_id = 1, @on_success_action = 4, @on_success_step_id = 3
select step_id, step_name, on_success_action, on_success_step_id, on_fail_action, on_fail_step_id from sysjobsteps order by step_id
exec sp_delete_jobstep @job_name = N'one', @step_id = 2
select step_id, step_name, on_success_action, on_success_step_id, on_fail_action, on_fail_step_id from sysjobsteps order by step_id
exec sp_delete_jobstep @job_name = N'one', @step_id = 0
select count(*) as steps from sysjobsteps
GO
exec sp_update_job @job_name = N'one', @new_name = N'without a server'
exec sp_update_job @job_name = N'one', @new_name = N'renamed', @enabled = 0, @description = N'other'
exec sp_help_job @job_name = N'one'
select name, enabled, description, version_number from sysjobs where name = 'renamed'
GO
exec sp_set_sqlagent_properties @jobhistory_max_rows = 1
exec sp_help_jobhistory @mode = 'SHORT'
exec sp_help_category @class = 'THING'
exec sp_add_category @class = 'JOB', @type = 'LOCAL', @name = N'Database Maintenance'
exec sp_delete_category @class = 'JOB', @name = N'Database Maintenance'
exec sp_add_category @class = 'JOB', @type = 'LOCAL', @name = N'ours'
exec sp_update_job @job_name = N'renamed', @category_name = N'ours'
exec sp_delete_category @class = 'JOB', @name = N'ours'
select category_id from sysjobs where name = 'renamed'
GO
exec sp_add_operator N'dba', @email_address = N'dba@example.com'
exec sp_add_operator N'DBA'
exec sp_update_job @job_name = N'renamed', @notify_email_operator_name = N'dba', @notify_level_email = 2
exec sp_help_operator_jobs N'dba'
exec sp_delete_operator N'dba'
select notify_email_operator_id from sysjobs where name = 'renamed'
GO
-- What came with the server, and that a person's own things are not that.
create table mine (a int)
select name, is_ms_shipped from sys.tables where name in ('mine', 'sysjobs') order by name
select count(*) as roles from sys.database_principals where name like 'SQLAgent%Role'
select servicename, status_desc from sys.dm_server_services
exec sp_enum_sqlagent_subsystems
GO
-- What tools ask for.
exec sp_help_category @type = 'LOCAL', @name = N'Database Maintenance', @suffix = 1
exec sp_get_sqlagent_properties
exec sp_help_proxy
select count(*) as jobs from msdb.dbo.sysjobs_view j join msdb.dbo.sysjobschedules s on s.job_id = j.job_id
join msdb.dbo.sysschedules c on c.schedule_id = s.schedule_id
GO
