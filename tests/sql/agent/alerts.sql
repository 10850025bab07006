-- Alerts: which error starts which job, and how often.
use msdb
GO
create procedure dbo.settle as
declare @till datetime = dateadd(minute, 1, getdate())
while exists (select 1 from sys.dm_keel_agent_jobs) and getdate() < @till waitfor delay '00:00:00.010'
GO
exec sp_add_job N'of a word'
exec sp_add_jobstep @job_name = N'of a word', @step_name = N's', @command = N'print 1'
exec sp_add_jobserver @job_name = N'of a word'
exec sp_add_job N'of tempdb'
exec sp_add_jobstep @job_name = N'of tempdb', @step_name = N's', @command = N'print 1'
exec sp_add_jobserver @job_name = N'of tempdb'
exec sp_add_job N'answer'
exec sp_add_jobstep @job_name = N'answer', @step_name = N's', @command = N'print 1'
exec sp_add_alert N'a', @severity = 17, @job_name = N'answer'
exec sp_add_jobserver @job_name = N'answer'
exec sp_add_alert N'a'
exec sp_add_alert N'a', @severity = 17, @message_id = 50001
exec sp_add_alert N'a', @severity = 26
exec sp_add_alert N'a', @severity = 17, @database_name = N'nowhere'
exec sp_add_alert N'a', @performance_condition = N'SQLServer:Locks|Lock Waits/sec||>|1'
exec sp_add_alert N'a', @severity = 17, @job_name = N'answer'
exec sp_add_alert N'a', @severity = 18
exec sp_add_alert N'b', @severity = 17
exec sp_add_alert N'of tempdb', @severity = 17, @database_name = N'tempdb', @job_name = N'of tempdb', @delay_between_responses = 3600
exec sp_add_alert N'marks', @message_id = 50001
exec sp_addmessage 50001, 10, N'a mark'
exec sp_add_alert N'of a word', @severity = 16, @event_description_keyword = N'fire', @job_name = N'of a word'
GO
-- The agent has read them when it counts one.
declare @till datetime = dateadd(minute, 1, getdate())
while not exists (select 1 from sysalerts where name = 'a' and occurrence_count > 0) and getdate() < @till
begin
    begin try raiserror ('something', 17, 1) with log end try begin catch end catch
    waitfor delay '00:00:00.010'
end
-- Events are taken in their order: what was raised before the mark has been counted.
raiserror (50001, 10, 1) with log
while not exists (select 1 from sysalerts where name = 'marks' and occurrence_count = 1) and getdate() < @till waitfor delay '00:00:00.010'
exec settle
update sysalerts set occurrence_count = 0
delete sysjobhistory
GO
raiserror ('something', 17, 1) with log
GO
raiserror ('something else', 16, 1) with log
GO
raiserror ('where there is Fire', 16, 1) with log
GO
raiserror ('not logged, and nobody hears of it: fire', 16, 1)
GO
use tempdb
GO
raiserror ('here', 17, 1) with log
raiserror ('here', 17, 1) with log
GO
use msdb
GO
declare @till datetime = dateadd(minute, 1, getdate())
raiserror (50001, 10, 1) with log
while not exists (select 1 from sysalerts where name = 'marks' and occurrence_count = 1) and getdate() < @till waitfor delay '00:00:00.010'
exec settle
select name, occurrence_count, iif(last_response_date > 0, 1, 0) as answered from sysalerts order by id
select j.name, h.run_status, h.message from sysjobhistory h join sysjobs j on j.job_id = h.job_id where step_id = 0 order by j.name
GO
exec sp_add_operator N'dba', @email_address = N'dba@example.com'
exec sp_add_notification N'a', N'dba', 1
exec sp_add_notification N'a', N'dba', 1
exec sp_add_notification N'no such', N'dba', 1
exec sp_help_notification 'ALERTS', N'a', 'ALL', 7
exec sp_update_notification N'a', N'dba', 3
exec sp_delete_notification N'a', N'dba'
exec sp_delete_notification N'a', N'dba'
exec sp_update_alert N'a', @enabled = 0, @new_name = N'b'
select name, enabled, severity from sysalerts order by id
exec sp_delete_job @job_name = N'answer'
select name, iif(job_id = 0x00, 'nothing', 'its job') as starts from sysalerts order by id
exec sp_delete_alert N'b'
exec sp_delete_alert N'b'
GO
