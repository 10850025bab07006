-- Schedules: their values, whose jobs they start, when they are due.
use msdb
GO
exec sp_add_schedule N's', @freq_type = 3
exec sp_add_schedule N's', @freq_type = 4, @freq_interval = 0
exec sp_add_schedule N's', @freq_type = 8, @freq_interval = 128, @freq_recurrence_factor = 1
exec sp_add_schedule N's', @freq_type = 8, @freq_interval = 1
exec sp_add_schedule N's', @freq_type = 16, @freq_interval = 32, @freq_recurrence_factor = 1
exec sp_add_schedule N's', @freq_type = 32, @freq_interval = 1, @freq_relative_interval = 3, @freq_recurrence_factor = 1
exec sp_add_schedule N's', @freq_type = 4, @freq_interval = 1, @freq_subday_type = 2, @freq_subday_interval = 5
exec sp_add_schedule N's', @freq_type = 4, @freq_interval = 1, @freq_subday_type = 3
exec sp_add_schedule N's', @freq_type = 1, @active_start_date = 20260230
exec sp_add_schedule N's', @freq_type = 1, @active_start_date = 20260301, @active_end_date = 20260201
exec sp_add_schedule N's', @freq_type = 1, @active_start_time = 246000
GO
exec sp_add_schedule N'days', @freq_type = 4, @freq_interval = 2, @active_start_date = 20260101, @active_start_time = 13000
exec sp_add_schedule N'weeks', @freq_type = 8, @freq_interval = 65, @freq_recurrence_factor = 2, @freq_subday_type = 8, @freq_subday_interval = 6, @active_start_date = 20260101
exec sp_add_schedule N'months', @freq_type = 16, @freq_interval = 15, @freq_recurrence_factor = 1, @active_start_date = 20260101
exec sp_add_schedule N'last Friday', @freq_type = 32, @freq_interval = 6, @freq_relative_interval = 16, @freq_recurrence_factor = 1, @active_start_date = 20260101
exec sp_add_schedule N'with the agent', @freq_type = 64
exec sp_add_schedule N'once', @freq_type = 1, @active_start_date = 20200101, @active_start_time = 120000
exec sp_add_schedule N'days', @freq_type = 1, @active_start_date = 99990101
select name, dbo.agent_schedule_words(freq_type, freq_interval, freq_subday_type, freq_subday_interval, freq_relative_interval,
    freq_recurrence_factor, active_start_date, active_start_time, active_end_time) as words
from sysschedules order by schedule_id
exec sp_delete_schedule @schedule_name = N'days'
exec sp_delete_schedule @schedule_id = 7
GO
exec sp_add_job N'a'
exec sp_add_jobstep @job_name = N'a', @step_name = N's', @command = N'print 1'
exec sp_add_jobserver @job_name = N'a'
exec sp_attach_schedule @job_name = N'a', @schedule_name = N'days'
exec sp_attach_schedule @job_name = N'a', @schedule_name = N'days'
exec sp_attach_schedule @job_name = N'a', @schedule_name = N'once'
exec sp_attach_schedule @job_name = N'a', @schedule_name = N'no such'
exec sp_add_jobschedule @job_name = N'a', @name = N'own', @freq_type = 1, @active_start_date = 99990101, @active_start_time = 93000
GO
-- The agent writes when they are due next: never again, at once, or then.
declare @till datetime = dateadd(minute, 1, getdate())
while exists (select 1 from sysjobschedules x join sysschedules s on s.schedule_id = x.schedule_id where s.name <> 'once' and x.next_run_date = 0) and getdate() < @till waitfor delay '00:00:00.010'
select s.name, iif(s.name = 'days', iif(x.next_run_date > 20260101, 1, 0), x.next_run_date) as next_run_date, x.next_run_time
from sysjobschedules x join sysschedules s on s.schedule_id = x.schedule_id order by s.schedule_id
exec sp_update_jobschedule @job_name = N'a', @name = N'own', @active_start_time = 101500
while exists (select 1 from sysjobschedules x join sysschedules s on s.schedule_id = x.schedule_id where s.name = 'own' and x.next_run_time <> 101500) and getdate() < @till waitfor delay '00:00:00.010'
exec sp_update_job @job_name = N'a', @enabled = 0
while exists (select 1 from sysjobschedules where next_run_date > 0) and getdate() < @till waitfor delay '00:00:00.010'
select count(*) as due from sysjobschedules where next_run_date > 0
GO
exec sp_delete_schedule @schedule_name = N'once'
exec sp_detach_schedule @job_name = N'a', @schedule_name = N'once'
exec sp_detach_schedule @job_name = N'a', @schedule_id = 2
exec sp_delete_schedule @schedule_name = N'once'
exec sp_delete_jobschedule @job_name = N'a', @name = N'own'
select name from sysschedules order by schedule_id
exec sp_help_jobcount @schedule_name = N'days'
exec sp_delete_job @job_name = N'a'
select name from sysschedules order by schedule_id
GO
-- A schedule that is due now starts its job.
declare @till datetime = dateadd(minute, 1, getdate())
exec sp_add_job N'soon'
exec sp_add_jobstep @job_name = N'soon', @step_name = N's', @command = N'print 1'
exec sp_add_jobserver @job_name = N'soon'
declare @at datetime = dateadd(second, 2, getdate())
declare @date int = convert(char(8), @at, 112), @time int = replace(convert(char(8), @at, 108), ':', '')
exec sp_add_jobschedule @job_name = N'soon', @name = N'in a moment', @freq_type = 1, @active_start_date = @date, @active_start_time = @time
while not exists (select 1 from sysjobhistory where step_id = 0) and getdate() < @till waitfor delay '00:00:00.010'
select run_status, stuff(message, patindex('%Schedule [0-9]%', message) + 9, 1, 'n') as message from sysjobhistory where step_id = 0
select run_requested_source from sysjobactivity
GO
-- Dates and times of the tables are numbers.
select dbo.agent_datetime(20261231, 235958) as ran, dbo.agent_datetime(null, 1) as never
select dbo.agent_datetime(20261331, 0) as wrong
GO
