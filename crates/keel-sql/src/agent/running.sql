-- Starting and stopping, what ran and what came of it.
create or alter procedure dbo.sp_start_job
    @job_name sysname = null, @job_id uniqueidentifier = null, @error_flag int = 1, @server_name sysname = null,
    @step_name sysname = null, @output_flag int = 1
as
set nocount on
declare @owner_sid varbinary(85), @failed int, @shown varchar(36)
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid, 1
if @failed <> 0 return 1
if not exists (select 1 from dbo.sysjobservers where job_id = @job_id)
begin
    set @shown = convert(varchar(36), @job_id)
    raiserror (14256, -1, -1, @job_name, @shown)
    return 1
end
if @step_name is not null and not exists (select 1 from dbo.sysjobsteps where job_id = @job_id and step_name = @step_name)
begin
    raiserror (14262, -1, -1, '@step_name', @step_name)
    return 1
end
exec @failed = master.dbo.xp_sqlagent_notify N'J', @job_id, @action_type = N'S', @step_name = @step_name
if @failed = 0 and @output_flag = 1 raiserror (14243, 0, 1, @job_name)
return @failed
GO
create or alter procedure dbo.sp_stop_job
    @job_name sysname = null, @job_id uniqueidentifier = null, @originating_server sysname = null, @server_name sysname = null
as
set nocount on
declare @owner_sid varbinary(85), @failed int, @shown varchar(36)
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid, 1
if @failed <> 0 return 1
if not exists (select 1 from dbo.sysjobservers where job_id = @job_id)
begin
    set @shown = convert(varchar(36), @job_id)
    raiserror (14257, -1, -1, @job_name, @shown)
    return 1
end
exec @failed = master.dbo.xp_sqlagent_notify N'J', @job_id, @action_type = N'C'
if @failed = 0 raiserror (14254, 0, 1, @job_name)
return @failed
GO
create or alter procedure dbo.sp_sqlagent_log_jobhistory
    @job_id uniqueidentifier, @step_id int, @sql_message_id int = 0, @sql_severity int = 0, @message nvarchar(4000) = null,
    @run_status int, @run_date int, @run_time int, @run_duration int, @operator_id_emailed int = 0, @operator_id_netsent int = 0,
    @operator_id_paged int = 0, @retries_attempted int, @server sysname = null, @session_id int = 0
as
set nocount on
declare @step_name sysname = N'(Job outcome)', @instance_id int
if @step_id <> 0
begin
    select @step_name = step_name from dbo.sysjobsteps where job_id = @job_id and step_id = @step_id
    update dbo.sysjobsteps set last_run_outcome = @run_status, last_run_duration = @run_duration, last_run_retries = @retries_attempted,
        last_run_date = @run_date, last_run_time = @run_time
    where job_id = @job_id and step_id = @step_id
    update dbo.sysjobactivity set last_executed_step_id = @step_id, last_executed_step_date = getdate()
    where session_id = @session_id and job_id = @job_id
end
if not exists (select 1 from dbo.sysjobs where job_id = @job_id) return 0
insert dbo.sysjobhistory values (@job_id, @step_id, @step_name, @sql_message_id, @sql_severity, @message, @run_status, @run_date,
    @run_time, @run_duration, @operator_id_emailed, @operator_id_netsent, @operator_id_paged, @retries_attempted,
    isnull(@server, convert(sysname, serverproperty('ServerName'))))
set @instance_id = scope_identity()
if @step_id <> 0 return 0
update dbo.sysjobservers set last_run_outcome = @run_status, last_outcome_message = @message, last_run_date = @run_date,
    last_run_time = @run_time, last_run_duration = @run_duration
where job_id = @job_id
update dbo.sysjobactivity set stop_execution_date = getdate(), job_history_id = @instance_id
where session_id = @session_id and job_id = @job_id
exec dbo.sp_jobhistory_row_limiter @job_id
return 0
GO
create or alter procedure dbo.sp_jobhistory_row_limiter @job_id uniqueidentifier
as
set nocount on
declare @all int, @each int, @rows int
select @all = jobhistory_max_rows, @each = jobhistory_max_rows_per_job from dbo.keel_agent_properties
if @all < 1 return 0
select @rows = count(*) - @each from dbo.sysjobhistory where job_id = @job_id
if @rows > 0
    delete dbo.sysjobhistory where job_id = @job_id and instance_id in
        (select top (@rows) instance_id from dbo.sysjobhistory where job_id = @job_id order by instance_id)
select @rows = count(*) - @all from dbo.sysjobhistory
if @rows > 0
    delete dbo.sysjobhistory where instance_id in (select top (@rows) instance_id from dbo.sysjobhistory order by instance_id)
return 0
GO
create or alter procedure dbo.sp_purge_jobhistory
    @job_name sysname = null, @job_id uniqueidentifier = null, @oldest_date datetime = null
as
set nocount on
declare @owner_sid varbinary(85), @failed int, @rows int, @date int, @time int
if @job_name is not null or @job_id is not null
begin
    exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
    if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid, 1
    if @failed <> 0 return 1
end
else if is_srvrolemember('sysadmin') = 0 and is_member('SQLAgentOperatorRole') = 0
begin
    raiserror (15003, -1, -1, 'SQLAgentOperatorRole')
    return 1
end
set @date = convert(int, convert(char(8), @oldest_date, 112))
set @time = datepart(hour, @oldest_date) * 10000 + datepart(minute, @oldest_date) * 100 + datepart(second, @oldest_date)
delete dbo.sysjobhistory where (@job_id is null or job_id = @job_id)
    and (@oldest_date is null or run_date < @date or (run_date = @date and run_time < @time))
set @rows = @@rowcount
raiserror (14226, 0, 1, @rows)
return 0
GO
create or alter procedure dbo.sp_help_jobhistory
    @job_id uniqueidentifier = null, @job_name sysname = null, @step_id int = null, @sql_message_id int = null,
    @sql_severity int = null, @start_run_date int = null, @end_run_date int = null, @start_run_time int = null,
    @end_run_time int = null, @minimum_run_duration int = null, @run_status int = null, @minimum_retries int = null,
    @oldest_first int = 0, @server sysname = null, @mode varchar(7) = 'SUMMARY'
as
set nocount on
declare @failed int
if @job_id is not null or @job_name is not null
begin
    exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'NO_TEST'
    if @failed <> 0 return 1
end
if upper(@mode) not in ('SUMMARY', 'FULL', 'SEM')
begin
    raiserror (14266, -1, -1, '@mode', 'SUMMARY, FULL, SEM')
    return 1
end
select h.instance_id, h.job_id, j.name as job_name, h.step_id, h.step_name, h.sql_message_id, h.sql_severity, h.message,
    h.run_status, h.run_date, h.run_time, h.run_duration, e.name as operator_emailed, n.name as operator_netsent,
    p.name as operator_paged, h.retries_attempted, h.server
into #found
from dbo.sysjobhistory h join dbo.sysjobs_view j on j.job_id = h.job_id
    left join dbo.sysoperators e on e.id = h.operator_id_emailed
    left join dbo.sysoperators n on n.id = h.operator_id_netsent
    left join dbo.sysoperators p on p.id = h.operator_id_paged
where (@job_id is null or h.job_id = @job_id) and (@step_id is null or h.step_id = @step_id)
    and (@sql_message_id is null or h.sql_message_id = @sql_message_id)
    and (@sql_severity is null or h.sql_severity = @sql_severity)
    and (@start_run_date is null or h.run_date >= @start_run_date) and (@end_run_date is null or h.run_date <= @end_run_date)
    and (@start_run_time is null or h.run_time >= @start_run_time) and (@end_run_time is null or h.run_time <= @end_run_time)
    and (@minimum_run_duration is null or h.run_duration >= @minimum_run_duration)
    and (@run_status is null or h.run_status = @run_status)
    and (@minimum_retries is null or h.retries_attempted >= @minimum_retries) and (@server is null or h.server = @server)
declare @turn int = iif(@oldest_first = 1, 1, -1)
if upper(@mode) = 'FULL' select * from #found order by @turn * instance_id
else if upper(@mode) = 'SEM'
    select step_id, step_name, message, run_status, run_date, run_time, operator_emailed, operator_netsent, operator_paged
    from #found order by @turn * instance_id
else
    select job_id, job_name, run_status, run_date, run_time, run_duration, operator_emailed, operator_netsent, operator_paged,
        retries_attempted, server
    from #found where step_id = 0 order by @turn * instance_id
return 0
GO
create or alter procedure dbo.sp_help_jobactivity
    @job_id uniqueidentifier = null, @job_name sysname = null, @session_id int = null
as
set nocount on
declare @failed int
if @job_id is not null or @job_name is not null
begin
    exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'NO_TEST'
    if @failed <> 0 return 1
end
set @session_id = isnull(@session_id, (select max(session_id) from dbo.syssessions))
select a.session_id, a.job_id, j.name as job_name, a.run_requested_date, a.run_requested_source, a.queued_date,
    a.start_execution_date, a.last_executed_step_id, a.last_executed_step_date, a.stop_execution_date, a.next_scheduled_run_date,
    a.job_history_id, h.message, h.run_status, h.operator_id_emailed, h.operator_id_netsent, h.operator_id_paged
from dbo.sysjobactivity a join dbo.sysjobs_view j on j.job_id = a.job_id
    left join dbo.sysjobhistory h on h.instance_id = a.job_history_id
where a.session_id = @session_id and (@job_id is null or a.job_id = @job_id)
order by j.name
return 0
GO
create or alter procedure dbo.sp_help_jobcount @schedule_name sysname = null, @schedule_id int = null
as
set nocount on
declare @failed int, @owner_sid varbinary(85), @server int
exec @failed = dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name output, @schedule_id output,
    @owner_sid output, @server output
if @failed <> 0 return 1
select count(*) as JobCount from dbo.sysjobschedules where schedule_id = @schedule_id
return 0
GO
create or alter procedure dbo.sp_help_jobsteplog
    @job_id uniqueidentifier = null, @job_name sysname = null, @step_id int = null, @step_name sysname = null
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'NO_TEST'
if @failed <> 0 return 1
select j.job_id, j.name as job_name, s.step_id, s.step_name, s.step_uid, l.date_created, l.date_modified, l.log_size, l.log
from dbo.sysjobs_view j join dbo.sysjobsteps s on s.job_id = j.job_id join dbo.sysjobstepslogs l on l.step_uid = s.step_uid
where j.job_id = @job_id and (@step_id is null or s.step_id = @step_id) and (@step_name is null or s.step_name = @step_name)
order by s.step_id
return 0
GO
create or alter procedure dbo.sp_delete_jobsteplog
    @job_id uniqueidentifier = null, @job_name sysname = null, @step_id int = null, @step_name sysname = null,
    @older_than datetime = null, @larger_than int = null
as
set nocount on
declare @owner_sid varbinary(85), @failed int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
delete l from dbo.sysjobstepslogs l join dbo.sysjobsteps s on s.step_uid = l.step_uid
where s.job_id = @job_id and (@step_id is null or s.step_id = @step_id) and (@step_name is null or s.step_name = @step_name)
    and (@older_than is null or l.date_modified < @older_than) and (@larger_than is null or l.log_size > @larger_than)
return 0
GO
-- The output of a step that is to be kept in a table: flags 8 replace, 16 append.
create or alter procedure dbo.sp_write_sysjobstep_log @job_id uniqueidentifier, @step_id int, @log_text nvarchar(max), @append_to_last int = 0
as
set nocount on
declare @uid uniqueidentifier = (select step_uid from dbo.sysjobsteps where job_id = @job_id and step_id = @step_id)
if @uid is null return 0
update dbo.sysjobstepslogs set log = iif(@append_to_last = 1, log, N'') + @log_text, date_modified = getdate(),
    log_size = datalength(iif(@append_to_last = 1, log, N'') + @log_text)
where step_uid = @uid
if @@rowcount = 0 insert dbo.sysjobstepslogs (log, log_size, step_uid) values (@log_text, datalength(@log_text), @uid)
return 0
GO
create or alter procedure dbo.sp_set_sqlagent_properties
    @auto_start int = null, @sqlserver_restart int = null, @jobhistory_max_rows int = null, @jobhistory_max_rows_per_job int = null,
    @errorlog_file nvarchar(255) = null, @errorlogging_level int = null, @error_recipient nvarchar(30) = null,
    @monitor_autostart int = null, @local_host_server sysname = null, @job_shutdown_timeout int = null,
    @cmdexec_account varbinary(64) = null, @regular_connections int = null, @host_login_name sysname = null,
    @host_login_password varbinary(512) = null, @login_timeout int = null, @idle_cpu_percent int = null, @idle_cpu_duration int = null,
    @oem_errorlog int = null, @email_profile nvarchar(64) = null, @email_save_in_sent_folder int = null,
    @cpu_poller_enabled int = null, @alert_replace_runtime_tokens int = null, @use_databasemail int = null, @databasemail_profile sysname = null
as
set nocount on
if is_srvrolemember('sysadmin') = 0
begin
    raiserror (15003, -1, -1, 'sysadmin')
    return 1
end
select @jobhistory_max_rows = isnull(@jobhistory_max_rows, jobhistory_max_rows),
    @jobhistory_max_rows_per_job = isnull(@jobhistory_max_rows_per_job, jobhistory_max_rows_per_job)
from dbo.keel_agent_properties
declare @failed int
if @jobhistory_max_rows <> -1
begin
    exec @failed = dbo.sp_verify_agent_number '@jobhistory_max_rows', @jobhistory_max_rows, 2, 999999
    if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@jobhistory_max_rows_per_job', @jobhistory_max_rows_per_job, 2, @jobhistory_max_rows
    if @failed <> 0 return 1
end
update dbo.keel_agent_properties set jobhistory_max_rows = @jobhistory_max_rows, jobhistory_max_rows_per_job = @jobhistory_max_rows_per_job,
    use_databasemail = isnull(@use_databasemail, use_databasemail), databasemail_profile = isnull(@databasemail_profile, databasemail_profile)
return 0
GO
create or alter procedure dbo.sp_get_sqlagent_properties
as
set nocount on
select 1 as auto_start, convert(sysname, null) as msx_server_name, 1 as sqlagent_type, convert(nvarchar(255), null) as startup_account,
    0 as sqlserver_restart, jobhistory_max_rows, jobhistory_max_rows_per_job, convert(nvarchar(255), null) as errorlog_file,
    3 as errorlogging_level, convert(nvarchar(30), null) as error_recipient, 0 as monitor_autostart,
    convert(sysname, null) as local_host_server, 15 as job_shutdown_timeout, convert(varbinary(64), null) as cmdexec_account,
    0 as regular_connections, convert(sysname, null) as host_login_name, convert(varbinary(512), null) as host_login_password,
    30 as login_timeout, 10 as idle_cpu_percent, 600 as idle_cpu_duration, 0 as oem_errorlog, convert(int, null) as sysadmin_only,
    convert(nvarchar(64), null) as email_profile, 0 as email_save_in_sent_folder, 0 as cpu_poller_enabled,
    0 as alert_replace_runtime_tokens, convert(int, use_databasemail) as use_databasemail, databasemail_profile
from dbo.keel_agent_properties
GO
grant execute on dbo.sp_start_job to SQLAgentUserRole;
grant execute on dbo.sp_stop_job to SQLAgentUserRole;
grant execute on dbo.sp_purge_jobhistory to SQLAgentUserRole;
grant execute on dbo.sp_help_jobhistory to SQLAgentUserRole;
grant execute on dbo.sp_help_jobactivity to SQLAgentUserRole;
grant execute on dbo.sp_help_jobcount to SQLAgentReaderRole;
grant execute on dbo.sp_help_jobsteplog to SQLAgentUserRole;
grant execute on dbo.sp_delete_jobsteplog to SQLAgentUserRole;
grant execute on dbo.sp_get_sqlagent_properties to SQLAgentUserRole
