create procedure sys.xp_fixeddrives @kind int = 0
as
-- Kinds 1 to 3 are remote, removable and optical drives.
select convert(nvarchar(512), fixed_drive_path) as drive, convert(int, free_space_in_bytes / 1048576) as [MB free]
from sys.dm_os_enumerate_fixed_drives where @kind = 0
GO
create procedure sys.xp_fileexist @filename nvarchar(512), @file_exists int = null output
as
declare @exists int, @directory int, @parent int
select @exists = file_exists, @directory = file_is_a_directory, @parent = parent_directory_exists
from sys.dm_os_file_exists(@filename)
set @file_exists = @exists
select convert(tinyint, @exists) as [File Exists], convert(tinyint, @directory) as [File is a Directory],
    convert(tinyint, @parent) as [Parent Directory Exists]
GO
create procedure sys.xp_dirtree @directory nvarchar(512), @depth int = 0, @file int = 0
as
-- The tree in the order of a walk: each directory is followed by what is in it.
declare @found table (at nvarchar(3000) collate Latin1_General_BIN2, path nvarchar(512), name nvarchar(512), level int,
    directory bit, walked bit)
declare @path nvarchar(512) = @directory, @level int = 0, @at nvarchar(3000) = N''
while @path is not null
begin
    insert @found
    select @at + N'/' + file_or_directory_name, full_filesystem_path, file_or_directory_name, @level + 1, is_directory, 0
    from sys.dm_os_enumerate_filesystem(@path, N'*') where is_directory = 1 or @file <> 0
    update @found set walked = 1 where path = @path
    set @path = null
    select top 1 @path = path, @level = level, @at = at from @found
    where directory = 1 and walked = 0 and (@depth = 0 or level < @depth) order by at
end
if @file = 0
    select name as subdirectory, level as depth from @found order by at
else
    select name as subdirectory, level as depth, 1 - convert(int, directory) as [file] from @found order by at
GO
create procedure sys.xp_subdirs @directory nvarchar(512)
as
select file_or_directory_name as subdirectory from sys.dm_os_enumerate_filesystem(@directory, N'*')
where is_directory = 1 order by 1
GO
create procedure sys.xp_get_tape_devices
as
select top 0 convert(nvarchar(512), null) as [Tape Device]
GO
create procedure sys.xp_availablemedia @kind int = 15
as
select convert(nvarchar(512), fixed_drive_path) as name, convert(int, free_space_in_bytes % 4294967296 - 2147483648) as [low free],
    convert(int, free_space_in_bytes / 4294967296) as [high free], convert(tinyint, 2) as [media type]
from sys.dm_os_enumerate_fixed_drives where @kind & 2 = 2
GO
create procedure sys.xp_enum_oledb_providers
as
select top 0 convert(nvarchar(255), null) as [Provider Name], convert(nvarchar(255), null) as [Parse Name],
    convert(nvarchar(255), null) as [Provider Description]
GO
create procedure sys.sp_enum_oledb_providers
as
exec sys.xp_enum_oledb_providers
GO
create procedure sys.xp_enumgroups @domain sysname = null
as
select top 0 convert(sysname, null) as [group], convert(nvarchar(256), null) as comment
GO
create procedure sys.xp_sqlagent_proxy_account @action nvarchar(10), @domain sysname = null, @user sysname = null,
    @password sysname = null
as
select top 0 convert(sysname, null) as domain, convert(sysname, null) as username
GO
create procedure sys.sp_db_vardecimal_storage_format @dbname sysname = null, @vardecimal_storage_format varchar(3) = null
as
select convert(sysname, name) as [Database Name], convert(varchar(3), 'ON') as [Vardecimal State] from sys.databases
where @dbname is null or name = @dbname
GO
create procedure sys.sp_helpsrvrolemember @srvrolename sysname = null
as
select r.name as ServerRole, m.name as MemberName, m.sid as MemberSID
from sys.server_role_members x join sys.server_principals r on r.principal_id = x.role_principal_id
    join sys.server_principals m on m.principal_id = x.member_principal_id
where @srvrolename is null or r.name = @srvrolename
order by 1, 2
GO
create procedure sys.sp_get_sqlagent_properties
as
select top 0 convert(int, null) as auto_start, convert(sysname, null) as msx_server_name, convert(int, null) as sqlagent_type,
    convert(nvarchar(255), null) as startup_account, convert(int, null) as sqlserver_restart,
    convert(int, null) as jobhistory_max_rows, convert(int, null) as jobhistory_max_rows_per_job,
    convert(nvarchar(255), null) as errorlog_file, convert(int, null) as errorlogging_level,
    convert(nvarchar(30), null) as error_recipient, convert(int, null) as monitor_autostart,
    convert(sysname, null) as local_host_server, convert(int, null) as job_shutdown_timeout,
    convert(varbinary(64), null) as cmdexec_account, convert(int, null) as regular_connections,
    convert(sysname, null) as host_login_name, convert(varbinary(512), null) as host_login_password,
    convert(int, null) as login_timeout, convert(int, null) as idle_cpu_percent, convert(int, null) as idle_cpu_duration,
    convert(int, null) as oem_errorlog, convert(int, null) as sysadmin_only, convert(nvarchar(64), null) as email_profile,
    convert(int, null) as email_save_in_sent_folder, convert(int, null) as cpu_poller_enabled,
    convert(int, null) as alert_replace_runtime_tokens
GO
create procedure sys.sp_msx_get_account
as
select top 0 convert(int, null) as msx_connection, convert(int, null) as msx_credential_id,
    convert(nvarchar(300), null) as msx_credential_name, convert(nvarchar(300), null) as msx_login_name
GO
create procedure sys.sp_help_category @class varchar(8) = 'JOB', @type varchar(12) = null, @name sysname = null, @suffix bit = 0
as
select category_id, category_type, name from msdb.dbo.syscategories where name = @name or @name is null
GO
create procedure sys.sp_help_operator @operator_name sysname = null, @operator_id int = null
as
select id, name, enabled, email_address, last_email_date, last_email_time, pager_address, last_pager_date, last_pager_time,
    weekday_pager_start_time, weekday_pager_end_time, saturday_pager_start_time, saturday_pager_end_time,
    sunday_pager_start_time, sunday_pager_end_time, pager_days, netsend_address, last_netsend_date, last_netsend_time,
    convert(sysname, null) as category_name
from msdb.dbo.sysoperators
GO
create procedure sys.sp_help_operator_jobs @operator_name sysname
as
select top 0 job_id, name, notify_level_email, notify_level_netsend, notify_level_page from msdb.dbo.sysjobs
GO
create procedure sys.sp_help_alert @alert_name sysname = null, @order_by sysname = N'name', @alert_id int = null,
    @category_name sysname = null, @legacy_format bit = 0
as
select id, name, event_source, event_category_id, event_id, message_id, severity, enabled, delay_between_responses,
    last_occurrence_date, last_occurrence_time, last_response_date, last_response_time, notification_message,
    include_event_description, database_name, event_description_keyword, occurrence_count, count_reset_date, count_reset_time,
    job_id, convert(sysname, null) as job_name, has_notification, flags, performance_condition,
    convert(sysname, null) as category_name, convert(nvarchar(max), null) as wmi_namespace,
    convert(nvarchar(max), null) as wmi_query, convert(int, null) as type
from msdb.dbo.sysalerts
GO
create procedure sys.sp_help_notification @object_type char(9), @name sysname, @enum_type char(10), @notification_method tinyint,
    @target_name sysname = null
as
select top 0 convert(int, null) as operator_id, convert(sysname, null) as operator_name, convert(int, null) as use_email,
    convert(int, null) as use_pager, convert(int, null) as use_netsend, convert(int, null) as has_email,
    convert(int, null) as has_pager, convert(int, null) as has_netsend
GO
create procedure sys.sp_help_proxy @proxy_id int = null, @proxy_name sysname = null, @subsystem_name sysname = null,
    @name nvarchar(256) = null
as
select proxy_id, name, convert(sysname, null) as credential_identity, enabled, description, user_sid, credential_id,
    convert(int, null) as credential_identity_exists
from msdb.dbo.sysproxies
GO
create procedure sys.sp_enum_login_for_proxy @name nvarchar(256) = null, @proxy_id int = null, @proxy_name sysname = null
as
select top 0 convert(int, null) as proxy_id, convert(sysname, null) as proxy_name, convert(int, null) as flags,
    convert(sysname, null) as name, convert(varbinary(85), null) as sid, convert(int, null) as principal_id
GO
create procedure sys.sp_enum_sqlagent_subsystems
as
select subsystem, convert(nvarchar(80), null) as description, subsystem_dll, agent_exe, start_entry_point, event_entry_point,
    stop_entry_point, max_worker_threads, subsystem_id
from msdb.dbo.syssubsystems
GO
create procedure sys.sp_help_jobserver @job_id uniqueidentifier = null, @job_name sysname = null,
    @show_last_run_details tinyint = 0
as
select top 0 convert(int, null) as server_id, convert(sysname, null) as server_name, convert(datetime, null) as enlist_date,
    convert(datetime, null) as last_poll_date, convert(int, null) as last_run_date, convert(int, null) as last_run_time,
    convert(int, null) as last_run_duration, convert(tinyint, null) as last_run_outcome,
    convert(nvarchar(4000), null) as last_outcome_message
GO
create procedure sys.sp_help_jobhistory @job_id uniqueidentifier = null, @job_name sysname = null, @step_id int = null,
    @mode varchar(7) = 'SUMMARY'
as
select h.instance_id, h.job_id, j.name as job_name, h.step_id, h.step_name, h.sql_message_id, h.sql_severity, h.message,
    h.run_status, h.run_date, h.run_time, h.run_duration, convert(sysname, null) as operator_emailed,
    convert(sysname, null) as operator_netsent, convert(sysname, null) as operator_paged, h.retries_attempted, h.server
from msdb.dbo.sysjobhistory h join msdb.dbo.sysjobs j on j.job_id = h.job_id
GO
create procedure sys.sp_help_schedule @schedule_id int = null, @schedule_name sysname = null, @attached_schedules_only bit = 0,
    @include_description bit = 0
as
select schedule_id, schedule_uid, name as schedule_name, enabled, freq_type, freq_interval, freq_subday_type,
    freq_subday_interval, freq_relative_interval, freq_recurrence_factor, active_start_date, active_end_date,
    active_start_time, active_end_time, date_created, convert(nvarchar(4000), null) as schedule_description,
    convert(int, null) as job_count
from msdb.dbo.sysschedules
GO
create procedure sys.sp_help_targetserver @server_name sysname = null
as
select top 0 convert(int, null) as server_id, convert(sysname, null) as server_name, convert(nvarchar(200), null) as location,
    convert(int, null) as time_zone_adjustment, convert(datetime, null) as enlist_date, convert(datetime, null) as last_poll_date,
    convert(int, null) as status, convert(int, null) as unread_instructions, convert(datetime, null) as local_time,
    convert(nvarchar(100), null) as enlisted_by_nt_user, convert(int, null) as poll_interval
GO
create procedure sys.sp_help_targetservergroup @name sysname = null
as
select top 0 convert(int, null) as servergroup_id, convert(sysname, null) as name
GO
create procedure sys.sysmail_help_configure_sp @parameter_name nvarchar(256) = null
as
select top 0 convert(nvarchar(256), null) as paramname, convert(nvarchar(256), null) as paramvalue,
    convert(nvarchar(256), null) as description
GO
create procedure sys.sysmail_help_account_sp @account_id int = null, @account_name sysname = null
as
select top 0 convert(int, null) as account_id, convert(sysname, null) as name, convert(nvarchar(256), null) as description,
    convert(nvarchar(128), null) as email_address, convert(nvarchar(128), null) as display_name,
    convert(nvarchar(128), null) as replyto_address, convert(sysname, null) as servertype, convert(sysname, null) as servername,
    convert(int, null) as port, convert(nvarchar(128), null) as username, convert(bit, null) as use_default_credentials,
    convert(bit, null) as enable_ssl
GO
create procedure sys.sysmail_help_profile_sp @profile_id int = null, @profile_name sysname = null
as
select profile_id, name, description from msdb.dbo.sysmail_profile
GO
create procedure sys.sp_MSgetalertinfo @includeaddresses bit = 0 as
-- Nobody is told of alerts: there is no agent that would raise them.
select cast(null as nvarchar(255)) as FailSafeOperator, 0 as NotificationMethod, cast(null as nvarchar(255)) as ForwardingServer,
    0 as ForwardingSeverity, cast(null as nvarchar(255)) as PagerToTemplate, cast(null as nvarchar(255)) as PagerCCTemplate,
    cast(null as nvarchar(255)) as PagerSubjectTemplate, 0 as PagerSendSubjectOnly, 0 as ForwardAlways
