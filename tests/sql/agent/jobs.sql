-- Jobs, and what comes of running them.
use msdb
GO
create procedure dbo.settle as
declare @till datetime = dateadd(minute, 1, getdate())
while exists (select 1 from sys.dm_keel_agent_jobs) and getdate() < @till waitfor delay '00:00:00.010'
GO
create view dbo.told as
select j.name, h.step_id, h.step_name, h.run_status, h.sql_message_id, h.sql_severity, h.retries_attempted, h.message, h.instance_id
from sysjobhistory h join sysjobs j on j.job_id = h.job_id
GO
declare @id uniqueidentifier
exec sp_add_job @job_name = N'nightly', @description = N'What is done at night', @category_name = N'Database Maintenance', @job_id = @id output
exec sp_add_jobstep @job_id = @id, @step_name = N'first', @command = N'print ''of $(ESCAPE_SQUOTE(JOBNAME)), step $(ESCAPE_NONE(STEPID)): $(ESCAPE_SQUOTE(STEPNAME))''
GO
print "quotes are strings, and GO cuts"', @on_success_action = 3
exec sp_add_jobstep @job_id = @id, @step_name = N'second', @command = N'select name from sys.databases where database_id < 3', @database_name = N'tempdb', @flags = 4
exec sp_add_jobserver @job_id = @id
exec sp_start_job N'nightly'
exec settle
GO
select step_id, step_name, run_status, message from told where name = 'nightly' order by instance_id
select step_id, last_run_outcome, last_run_retries from sysjobsteps order by step_id
select last_run_outcome, last_outcome_message from sysjobservers
select run_requested_source, last_executed_step_id, iif(stop_execution_date is null, 0, 1) as ended from sysjobactivity
GO
-- A step that fails: tried again, its first error is its last statement, and where the job goes on.
declare @id uniqueidentifier
exec sp_add_job @job_name = N'fails', @job_id = @id output
exec sp_add_jobstep @job_id = @id, @step_name = N'try', @command = N'print ''before''; select 1 / 0; print ''behind''; raiserror (''again'', 16, 1)', @retry_attempts = 1, @on_fail_action = 4, @on_fail_step_id = 3
exec sp_add_jobstep @job_id = @id, @step_name = N'passed over', @command = N'print ''never'''
exec sp_add_jobstep @job_id = @id, @step_name = N'make good', @command = N'begin try select 1 / 0 end try begin catch print error_message() end catch'
exec sp_add_jobserver @job_id = @id
exec sp_start_job N'fails'
exec settle
GO
select step_id, step_name, run_status, sql_message_id, sql_severity, retries_attempted, message from told where name = 'fails' order by instance_id
GO
-- From a step on; a database that is not there; a job without a step.
exec sp_start_job N'fails', @step_name = N'passed over'
exec settle
select step_id, run_status, message from told where name = 'fails' and instance_id > (select min(instance_id) from told where name = 'fails' and step_id = 0) order by instance_id
exec sp_update_jobstep @job_name = N'fails', @step_id = 2, @database_name = N'nowhere'
exec sp_start_job N'fails', @step_name = N'passed over', @output_flag = 0
exec settle
select top 2 step_id, run_status, message from told where name = 'fails' order by instance_id desc
exec sp_add_job N'empty'
exec sp_add_jobserver @job_name = N'empty'
exec sp_start_job N'empty'
exec settle
select step_id, run_status, message from told where name = 'empty'
GO
-- One at a time; stopped by somebody; deleted while it runs.
exec sp_add_job N'long', @job_id = 'AAAAAAAA-0000-0000-0000-000000000000'
exec sp_add_jobstep @job_name = N'long', @step_name = N'wait', @command = N'waitfor delay ''01:00:00'''
exec sp_add_jobserver @job_name = N'long'
exec sp_start_job N'long'
GO
declare @till datetime = dateadd(minute, 1, getdate())
declare @id uniqueidentifier = 'AAAAAAAA-0000-0000-0000-000000000001'
exec sp_add_job N'long too', @job_id = @id
exec sp_add_jobstep @job_id = @id, @step_name = N'wait', @command = N'waitfor delay ''01:00:00'''
exec sp_add_jobserver @job_id = @id
exec sp_start_job @job_id = @id
exec sp_start_job @job_id = @id
while 2 > (select count(*) from sys.dm_keel_agent_jobs where state = 1 and step_id = 1) and getdate() < @till waitfor delay '00:00:00.010'
select state_desc, step_id, step_name, retry_attempt from sys.dm_keel_agent_jobs where job_id = @id
select program_name, login_name from sys.dm_exec_sessions where program_name like '%01 : Step%'
exec sp_stop_job N'long'
exec sp_delete_job @job_id = @id
exec settle
select step_id, run_status, message from told where name like 'long%' order by instance_id
exec sp_stop_job N'long'
GO
-- Stopped by what it does itself: nothing of the step is executed behind that.
create table master.dbo.behind (n int)
exec sp_add_job N'stops itself'
exec sp_add_jobstep @job_name = N'stops itself', @step_name = N'stop', @command = N'exec msdb.dbo.sp_stop_job N''stops itself''
go
insert master.dbo.behind values (1)'
exec sp_add_jobserver @job_name = N'stops itself'
exec sp_start_job N'stops itself'
exec settle
select step_id, run_status from told where name = 'stops itself' order by instance_id
select count(*) as behind from master.dbo.behind
GO
-- What a job leaves: a table with its output, and with delete_level nothing.
declare @till datetime = dateadd(minute, 1, getdate())
declare @id uniqueidentifier
exec sp_add_job @job_name = N'once', @delete_level = 1, @job_id = @id output
exec sp_add_jobstep @job_id = @id, @step_name = N'gone', @command = N'print ''done'''
exec sp_add_jobserver @job_id = @id
exec sp_start_job N'once'
exec settle
while exists (select 1 from sysjobs where name = 'once') and getdate() < @till waitfor delay '00:00:00.010'
exec sp_add_job @job_name = N'logged'
exec sp_add_jobstep @job_name = N'logged', @step_name = N'log', @command = N'select cast(1.50 as money) as price, newid() - null as nothing', @flags = 8
exec sp_update_jobstep @job_name = N'logged', @step_id = 1, @command = N'select cast(1.50 as money) as price, cast(null as int) as nothing', @flags = 16
exec sp_add_jobserver @job_name = N'logged'
exec sp_start_job N'logged'
exec settle
exec sp_start_job N'logged'
exec settle
select log, log_size from sysjobstepslogs
GO
-- How much history is kept.
exec sp_set_sqlagent_properties @jobhistory_max_rows = 10, @jobhistory_max_rows_per_job = 3
exec sp_start_job N'logged'
exec settle
select count(*) as of_it from told where name = 'logged'
select iif(count(*) <= 10, 'few', 'many') as rows from told
exec sp_purge_jobhistory @job_name = N'logged'
select count(*) as of_it from told where name = 'logged'
GO
-- It is an owner's: a login that is no administrator.
create login clerk with password = 'Clerk-Keel-1'
create user clerk for login clerk
alter role SQLAgentUserRole add member clerk
GO
execute as login = 'clerk'
exec sp_add_job N'of the clerk'
exec sp_add_jobstep @job_name = N'of the clerk', @step_name = N'who', @command = N'print suser_sname() + '' '' + user_name() + '' '' + db_name()', @database_name = N'msdb'
exec sp_add_jobserver @job_name = N'of the clerk'
exec sp_start_job N'of the clerk'
select name from sysjobs_view
exec sp_start_job N'logged'
exec sp_update_job @job_name = N'of the clerk', @owner_login_name = N'sa'
exec sp_add_jobstep @job_name = N'of the clerk', @step_name = N'as another', @database_user_name = N'dbo', @command = N'print 1'
exec sp_add_jobstep @job_name = N'of the clerk', @step_name = N'to a file', @output_file_name = N'/tmp/x', @command = N'print 1'
exec sp_add_operator N'me'
exec master.dbo.xp_sqlagent_notify N'J', null, @action_type = N'U'
GO
revert
exec settle
select step_id, run_status, message from told where name = 'of the clerk' order by instance_id
GO
-- Who is a reader of jobs in a database of his own is none here.
create database his
GO
use his
create user clerk for login clerk
alter role db_owner add member clerk
create role SQLAgentReaderRole
alter role SQLAgentReaderRole add member clerk
GO
execute as login = 'clerk'
select name from msdb.dbo.sysjobs_view
revert
GO
use msdb
alter role SQLAgentReaderRole add member clerk
execute as login = 'clerk'
select iif(count(*) > 1, 'all', 'own') as seen from sysjobs_view
revert
GO
