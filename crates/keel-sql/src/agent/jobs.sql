-- Jobs, their steps and their servers. What is refused, and with which number, is the product's.
create or alter procedure dbo.sp_verify_job_identifiers
    @name_of_name_parameter sysname, @name_of_id_parameter sysname, @job_name sysname output, @job_id uniqueidentifier output,
    @sqlagent_starting_test varchar(7) = 'TEST', @owner_sid varbinary(85) = null output
as
set nocount on
declare @shown varchar(36) = convert(varchar(36), @job_id)
set @job_name = nullif(rtrim(@job_name), N'')
if (@job_name is null and @job_id is null) or (@job_name is not null and @job_id is not null)
begin
    raiserror (14294, -1, -1, @name_of_id_parameter, @name_of_name_parameter)
    return 1
end
if @job_id is not null
begin
    select @job_name = name, @owner_sid = owner_sid from dbo.sysjobs_view where job_id = @job_id
    if @job_name is null
    begin
        raiserror (14262, -1, -1, '@job_id', @shown)
        return 1
    end
end
else
begin
    select @job_id = job_id, @owner_sid = owner_sid from dbo.sysjobs_view where name = @job_name
    if @job_id is null
    begin
        raiserror (14262, -1, -1, '@job_name', @job_name)
        return 1
    end
end
return 0
GO
-- Who may change a job: its owner and administrators; operators may also start, stop, enable and disable.
create or alter procedure dbo.sp_verify_job_owner @owner_sid varbinary(85), @operators bit = 0
as
if @owner_sid = suser_sid() or is_srvrolemember('sysadmin') = 1
    or (@operators = 1 and is_member('SQLAgentOperatorRole') = 1) return 0
raiserror (14525, -1, -1)
return 1
GO
-- A number is one of a set, or error 14266 says which there are.
create or alter procedure dbo.sp_verify_agent_number @name sysname, @value int, @lowest int, @highest int
as
declare @valid nvarchar(40) = concat(@lowest, N'..', @highest)
if @value between @lowest and @highest return 0
raiserror (14266, -1, -1, @name, @valid)
return 1
GO
create or alter procedure dbo.sp_verify_agent_operator @name sysname, @parameter sysname, @id int output
as
set @id = 0
set @name = nullif(rtrim(@name), N'')
if @name is null return 0
select @id = id from dbo.sysoperators where name = @name
if @id <> 0 return 0
raiserror (14262, -1, -1, @parameter, @name)
return 1
GO
create or alter procedure dbo.sp_add_job
    @job_name sysname, @enabled tinyint = 1, @description nvarchar(512) = null, @start_step_id int = 1,
    @category_name sysname = null, @category_id int = null, @owner_login_name sysname = null,
    @notify_level_eventlog int = 2, @notify_level_email int = 0, @notify_level_netsend int = 0, @notify_level_page int = 0,
    @notify_email_operator_name sysname = null, @notify_netsend_operator_name sysname = null,
    @notify_page_operator_name sysname = null, @delete_level int = 0, @job_id uniqueidentifier = null output,
    @originating_server sysname = null
as
set nocount on
declare @owner_sid varbinary(85), @email int, @netsend int, @page int, @failed int
set @job_name = nullif(ltrim(rtrim(@job_name)), N'')
if @job_name is null
begin
    raiserror (14263, -1, -1, '@job_name')
    return 1
end
if exists (select 1 from dbo.sysjobs where name = @job_name)
begin
    raiserror (14261, -1, -1, '@job_name', @job_name)
    return 1
end
if exists (select 1 from dbo.sysjobs where job_id = @job_id)
begin
    declare @shown varchar(36) = convert(varchar(36), @job_id)
    raiserror (14261, -1, -1, '@job_id', @shown)
    return 1
end
set @owner_login_name = isnull(nullif(rtrim(@owner_login_name), N''), suser_sname())
set @owner_sid = suser_sid(@owner_login_name)
if @owner_sid is null
begin
    raiserror (14234, -1, -1, '@owner_login_name', 'sp_helplogins')
    return 1
end
if @owner_sid <> suser_sid() and is_srvrolemember('sysadmin') = 0
begin
    raiserror (14242, -1, -1)
    return 1
end
if @category_id is null
    select @category_id = category_id from dbo.syscategories
    where category_class = 1 and name = isnull(@category_name, N'[Uncategorized (Local)]')
if not exists (select 1 from dbo.syscategories where category_class = 1 and category_id = @category_id)
begin
    raiserror (14234, -1, -1, '@category_name', 'sp_help_category')
    return 1
end
exec @failed = dbo.sp_verify_agent_number '@enabled', @enabled, 0, 1
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@notify_level_eventlog', @notify_level_eventlog, 0, 3
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@notify_level_email', @notify_level_email, 0, 3
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@notify_level_netsend', @notify_level_netsend, 0, 3
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@notify_level_page', @notify_level_page, 0, 3
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@delete_level', @delete_level, 0, 3
if @failed = 0 exec @failed = dbo.sp_verify_agent_operator @notify_email_operator_name, '@notify_email_operator_name', @email output
if @failed = 0 exec @failed = dbo.sp_verify_agent_operator @notify_netsend_operator_name, '@notify_netsend_operator_name', @netsend output
if @failed = 0 exec @failed = dbo.sp_verify_agent_operator @notify_page_operator_name, '@notify_page_operator_name', @page output
if @failed <> 0 return 1
set @job_id = isnull(@job_id, newid())
insert dbo.sysjobs values (@job_id, 0, @job_name, @enabled, isnull(@description, N'No description available.'), @start_step_id,
    @category_id, @owner_sid, @notify_level_eventlog, @notify_level_email, @notify_level_netsend, @notify_level_page,
    @email, @netsend, @page, @delete_level, getdate(), getdate(), 1)
return @@error
GO
create or alter procedure dbo.sp_update_job
    @job_id uniqueidentifier = null, @job_name sysname = null, @new_name sysname = null, @enabled tinyint = null,
    @description nvarchar(512) = null, @start_step_id int = null, @category_name sysname = null,
    @owner_login_name sysname = null, @notify_level_eventlog int = null, @notify_level_email int = null,
    @notify_level_netsend int = null, @notify_level_page int = null, @notify_email_operator_name sysname = null,
    @notify_netsend_operator_name sysname = null, @notify_page_operator_name sysname = null, @delete_level int = null,
    @automatic_post bit = 1
as
set nocount on
declare @owner_sid varbinary(85), @new_owner varbinary(85), @category_id int, @email int, @netsend int, @page int, @failed int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed <> 0 return 1
-- Operators switch jobs on and off, and change nothing else.
declare @only_switched bit = case when @enabled is not null and coalesce(@new_name, @description, @category_name, @owner_login_name,
    @notify_email_operator_name, @notify_netsend_operator_name, @notify_page_operator_name) is null
    and coalesce(@start_step_id, @notify_level_eventlog, @notify_level_email, @notify_level_netsend, @notify_level_page,
    @delete_level) is null then 1 else 0 end
exec @failed = dbo.sp_verify_job_owner @owner_sid, @only_switched
if @failed <> 0 return 1
set @new_name = nullif(ltrim(rtrim(@new_name)), N'')
if exists (select 1 from dbo.sysjobs where name = @new_name and job_id <> @job_id)
begin
    raiserror (14261, -1, -1, '@new_name', @new_name)
    return 1
end
if @owner_login_name is not null
begin
    set @new_owner = suser_sid(@owner_login_name)
    if @new_owner is null
    begin
        raiserror (14234, -1, -1, '@owner_login_name', 'sp_helplogins')
        return 1
    end
    if @new_owner <> @owner_sid and is_srvrolemember('sysadmin') = 0
    begin
        raiserror (14242, -1, -1)
        return 1
    end
end
if @category_name is not null
begin
    select @category_id = category_id from dbo.syscategories where category_class = 1 and name = @category_name
    if @category_id is null
    begin
        raiserror (14234, -1, -1, '@category_name', 'sp_help_category')
        return 1
    end
end
if @enabled is not null exec @failed = dbo.sp_verify_agent_number '@enabled', @enabled, 0, 1
if @failed = 0 and @notify_level_eventlog is not null exec @failed = dbo.sp_verify_agent_number '@notify_level_eventlog', @notify_level_eventlog, 0, 3
if @failed = 0 and @notify_level_email is not null exec @failed = dbo.sp_verify_agent_number '@notify_level_email', @notify_level_email, 0, 3
if @failed = 0 and @notify_level_netsend is not null exec @failed = dbo.sp_verify_agent_number '@notify_level_netsend', @notify_level_netsend, 0, 3
if @failed = 0 and @notify_level_page is not null exec @failed = dbo.sp_verify_agent_number '@notify_level_page', @notify_level_page, 0, 3
if @failed = 0 and @delete_level is not null exec @failed = dbo.sp_verify_agent_number '@delete_level', @delete_level, 0, 3
if @failed = 0 exec @failed = dbo.sp_verify_agent_operator @notify_email_operator_name, '@notify_email_operator_name', @email output
if @failed = 0 exec @failed = dbo.sp_verify_agent_operator @notify_netsend_operator_name, '@notify_netsend_operator_name', @netsend output
if @failed = 0 exec @failed = dbo.sp_verify_agent_operator @notify_page_operator_name, '@notify_page_operator_name', @page output
if @failed <> 0 return 1
update dbo.sysjobs set name = isnull(@new_name, name), enabled = isnull(@enabled, enabled),
    description = isnull(@description, description), start_step_id = isnull(@start_step_id, start_step_id),
    category_id = isnull(@category_id, category_id), owner_sid = isnull(@new_owner, owner_sid),
    notify_level_eventlog = isnull(@notify_level_eventlog, notify_level_eventlog),
    notify_level_email = isnull(@notify_level_email, notify_level_email),
    notify_level_netsend = isnull(@notify_level_netsend, notify_level_netsend),
    notify_level_page = isnull(@notify_level_page, notify_level_page),
    notify_email_operator_id = iif(@notify_email_operator_name is null, notify_email_operator_id, @email),
    notify_netsend_operator_id = iif(@notify_netsend_operator_name is null, notify_netsend_operator_id, @netsend),
    notify_page_operator_id = iif(@notify_page_operator_name is null, notify_page_operator_id, @page),
    delete_level = isnull(@delete_level, delete_level), date_modified = getdate(), version_number = version_number + 1
where job_id = @job_id
exec master.dbo.xp_sqlagent_notify N'J', @job_id, @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_delete_job
    @job_id uniqueidentifier = null, @job_name sysname = null, @originating_server sysname = null, @delete_history bit = 1,
    @delete_unused_schedule bit = 1
as
set nocount on
declare @owner_sid varbinary(85), @failed int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
-- A job that runs is stopped.
exec master.dbo.xp_sqlagent_notify N'J', @job_id, @action_type = N'D'
declare @schedules table (schedule_id int)
insert @schedules select schedule_id from dbo.sysjobschedules where job_id = @job_id
begin transaction
update dbo.sysalerts set job_id = 0x00 where job_id = @job_id
delete dbo.sysjobs where job_id = @job_id
if @delete_history = 1 delete dbo.sysjobhistory where job_id = @job_id
if @delete_unused_schedule = 1
    delete dbo.sysschedules where schedule_id in (select schedule_id from @schedules)
        and schedule_id not in (select schedule_id from dbo.sysjobschedules where schedule_id is not null)
commit
return 0
GO
-- What sp_add_jobstep and sp_update_jobstep ask of a step's values.
create or alter procedure dbo.sp_verify_jobstep
    @job_id uniqueidentifier, @step_id int, @step_name sysname, @subsystem nvarchar(40), @on_success_action int,
    @on_success_step_id int, @on_fail_action int, @on_fail_step_id int, @database_name sysname, @database_user_name sysname,
    @retry_attempts int, @retry_interval int, @flags int, @proxy_id int, @proxy_name sysname, @is_new bit
as
declare @failed int, @number nvarchar(10) = convert(nvarchar(10), @step_id)
if not exists (select 1 from dbo.syssubsystems where subsystem = @subsystem)
begin
    raiserror (14234, -1, -1, '@subsystem', 'sp_enum_sqlagent_subsystems')
    return 1
end
if exists (select 1 from dbo.sysjobsteps where job_id = @job_id and step_name = @step_name and (step_id <> @step_id or @is_new = 1))
begin
    raiserror (14261, -1, -1, '@step_name', @step_name)
    return 1
end
exec @failed = dbo.sp_verify_agent_number '@on_success_action', @on_success_action, 1, 4
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@on_fail_action', @on_fail_action, 1, 4
if @failed <> 0 return 1
if @on_success_action = 4 and (@on_success_step_id < 1 or @on_success_step_id = @step_id)
begin
    raiserror (14235, -1, -1, '@on_success_step_id', @number)
    return 1
end
if @on_fail_action = 4 and (@on_fail_step_id < 1 or @on_fail_step_id = @step_id)
begin
    raiserror (14235, -1, -1, '@on_fail_step_id', @number)
    return 1
end
if @retry_attempts < 0 or @retry_interval < 0
begin
    declare @which sysname = iif(@retry_attempts < 0, '@retry_attempts', '@retry_interval')
    raiserror (14266, -1, -1, @which, '0..9999')
    return 1
end
-- Steps of databases that come later are let through, as in the product.
if @database_user_name is not null and is_srvrolemember('sysadmin') = 0
begin
    raiserror (14583, -1, -1)
    return 1
end
if @proxy_id is not null or @proxy_name is not null
begin
    raiserror (14517, -1, -1)
    return 1
end
return 0
GO
create or alter procedure dbo.sp_add_jobstep
    @job_id uniqueidentifier = null, @job_name sysname = null, @step_id int = null, @step_name sysname,
    @subsystem nvarchar(40) = N'TSQL', @command nvarchar(max) = null, @additional_parameters nvarchar(max) = null,
    @cmdexec_success_code int = 0, @on_success_action tinyint = 1, @on_success_step_id int = 0, @on_fail_action tinyint = 2,
    @on_fail_step_id int = 0, @server sysname = null, @database_name sysname = null, @database_user_name sysname = null,
    @retry_attempts int = 0, @retry_interval int = 0, @os_run_priority int = 0, @output_file_name nvarchar(200) = null,
    @flags int = 0, @proxy_id int = null, @proxy_name sysname = null, @step_uid uniqueidentifier = null output
as
set nocount on
declare @owner_sid varbinary(85), @last int, @failed int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
if @output_file_name is not null and is_srvrolemember('sysadmin') = 0
begin
    raiserror (14582, -1, -1)
    return 1
end
select @last = isnull(max(step_id), 0) from dbo.sysjobsteps where job_id = @job_id
set @step_id = isnull(@step_id, @last + 1)
if @step_id < 1 or @step_id > @last + 1
begin
    declare @valid nvarchar(30) = concat(N'1..', @last + 1)
    raiserror (14266, -1, -1, '@step_id', @valid)
    return 1
end
exec @failed = dbo.sp_verify_jobstep @job_id, @step_id, @step_name, @subsystem, @on_success_action, @on_success_step_id,
    @on_fail_action, @on_fail_step_id, @database_name, @database_user_name, @retry_attempts, @retry_interval, @flags, @proxy_id,
    @proxy_name, 1
if @failed <> 0 return 1
set @step_uid = isnull(@step_uid, newid())
begin transaction
update dbo.sysjobsteps set step_id = step_id + 1 where job_id = @job_id and step_id >= @step_id
update dbo.sysjobsteps set
    on_success_step_id = iif(on_success_action = 4 and on_success_step_id >= @step_id, on_success_step_id + 1, on_success_step_id),
    on_fail_step_id = iif(on_fail_action = 4 and on_fail_step_id >= @step_id, on_fail_step_id + 1, on_fail_step_id)
where job_id = @job_id and @step_id <= @last
insert dbo.sysjobsteps values (@job_id, @step_id, @step_name, upper(@subsystem), @command, @flags, @additional_parameters,
    @cmdexec_success_code, @on_success_action, @on_success_step_id, @on_fail_action, @on_fail_step_id, @server,
    isnull(@database_name, iif(upper(@subsystem) = 'TSQL', N'master', null)), @database_user_name, @retry_attempts, @retry_interval,
    @os_run_priority, @output_file_name, 0, 0, 0, 0, 0, null, @step_uid)
update dbo.sysjobs set version_number = version_number + 1, date_modified = getdate() where job_id = @job_id
commit
exec master.dbo.xp_sqlagent_notify N'J', @job_id, @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_update_jobstep
    @job_id uniqueidentifier = null, @job_name sysname = null, @step_id int, @step_name sysname = null,
    @subsystem nvarchar(40) = null, @command nvarchar(max) = null, @additional_parameters nvarchar(max) = null,
    @cmdexec_success_code int = null, @on_success_action tinyint = null, @on_success_step_id int = null,
    @on_fail_action tinyint = null, @on_fail_step_id int = null, @server sysname = null, @database_name sysname = null,
    @database_user_name sysname = null, @retry_attempts int = null, @retry_interval int = null, @os_run_priority int = null,
    @output_file_name nvarchar(200) = null, @flags int = null, @proxy_id int = null, @proxy_name sysname = null
as
set nocount on
declare @owner_sid varbinary(85), @failed int, @number nvarchar(10) = convert(nvarchar(10), @step_id)
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
if not exists (select 1 from dbo.sysjobsteps where job_id = @job_id and step_id = @step_id)
begin
    raiserror (14262, -1, -1, '@step_id', @number)
    return 1
end
if @output_file_name is not null and is_srvrolemember('sysadmin') = 0
begin
    raiserror (14582, -1, -1)
    return 1
end
select @step_name = isnull(@step_name, step_name), @subsystem = isnull(@subsystem, subsystem),
    @on_success_action = isnull(@on_success_action, on_success_action),
    @on_success_step_id = isnull(@on_success_step_id, on_success_step_id),
    @on_fail_action = isnull(@on_fail_action, on_fail_action), @on_fail_step_id = isnull(@on_fail_step_id, on_fail_step_id),
    @retry_attempts = isnull(@retry_attempts, retry_attempts), @retry_interval = isnull(@retry_interval, retry_interval),
    @flags = isnull(@flags, flags)
from dbo.sysjobsteps where job_id = @job_id and step_id = @step_id
exec @failed = dbo.sp_verify_jobstep @job_id, @step_id, @step_name, @subsystem, @on_success_action, @on_success_step_id,
    @on_fail_action, @on_fail_step_id, @database_name, @database_user_name, @retry_attempts, @retry_interval, @flags, @proxy_id,
    @proxy_name, 0
if @failed <> 0 return 1
update dbo.sysjobsteps set step_name = @step_name, subsystem = upper(@subsystem), command = isnull(@command, command),
    additional_parameters = isnull(@additional_parameters, additional_parameters),
    cmdexec_success_code = isnull(@cmdexec_success_code, cmdexec_success_code), on_success_action = @on_success_action,
    on_success_step_id = @on_success_step_id, on_fail_action = @on_fail_action, on_fail_step_id = @on_fail_step_id,
    server = isnull(@server, server), database_name = isnull(@database_name, database_name),
    database_user_name = isnull(@database_user_name, database_user_name), retry_attempts = @retry_attempts,
    retry_interval = @retry_interval, os_run_priority = isnull(@os_run_priority, os_run_priority),
    output_file_name = nullif(isnull(@output_file_name, output_file_name), N''), flags = @flags
where job_id = @job_id and step_id = @step_id
update dbo.sysjobs set version_number = version_number + 1, date_modified = getdate() where job_id = @job_id
exec master.dbo.xp_sqlagent_notify N'J', @job_id, @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_delete_jobstep
    @job_id uniqueidentifier = null, @job_name sysname = null, @step_id int
as
set nocount on
declare @owner_sid varbinary(85), @failed int, @number nvarchar(10) = convert(nvarchar(10), @step_id)
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
-- 0 stands for all of them.
if @step_id <> 0 and not exists (select 1 from dbo.sysjobsteps where job_id = @job_id and step_id = @step_id)
begin
    raiserror (14262, -1, -1, '@step_id', @number)
    return 1
end
begin transaction
delete dbo.sysjobsteps where job_id = @job_id and (step_id = @step_id or @step_id = 0)
update dbo.sysjobsteps set step_id = step_id - 1 where job_id = @job_id and step_id > @step_id
-- Who went on with the one that is gone goes on with the next; numbers behind it follow.
update dbo.sysjobsteps set
    on_success_action = iif(on_success_action = 4 and on_success_step_id = @step_id, 1, on_success_action),
    on_success_step_id = case when on_success_action <> 4 or on_success_step_id < @step_id then on_success_step_id
        when on_success_step_id = @step_id then 0 else on_success_step_id - 1 end,
    on_fail_action = iif(on_fail_action = 4 and on_fail_step_id = @step_id, 2, on_fail_action),
    on_fail_step_id = case when on_fail_action <> 4 or on_fail_step_id < @step_id then on_fail_step_id
        when on_fail_step_id = @step_id then 0 else on_fail_step_id - 1 end
where job_id = @job_id
update dbo.sysjobs set version_number = version_number + 1, date_modified = getdate(),
    start_step_id = iif(start_step_id > 1 and start_step_id >= @step_id and @step_id > 0, start_step_id - 1, start_step_id)
where job_id = @job_id
commit
exec master.dbo.xp_sqlagent_notify N'J', @job_id, @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_add_jobserver
    @job_id uniqueidentifier = null, @job_name sysname = null, @server_name sysname = null, @automatic_post bit = 1
as
set nocount on
declare @owner_sid varbinary(85), @failed int, @local sysname = convert(sysname, serverproperty('ServerName'))
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
if isnull(@server_name, N'(local)') not in (N'(local)', N'local', N'.', @local, @@servername)
begin
    raiserror (14234, -1, -1, '@server_name', 'sp_help_targetserver')
    return 1
end
if exists (select 1 from dbo.sysjobservers where job_id = @job_id)
begin
    raiserror (14269, -1, -1, @job_name, @local)
    return 1
end
insert dbo.sysjobservers values (@job_id, 0, 5, null, 0, 0, 0)
exec master.dbo.xp_sqlagent_notify N'J', @job_id, @action_type = N'I'
return 0
GO
create or alter procedure dbo.sp_delete_jobserver
    @job_id uniqueidentifier = null, @job_name sysname = null, @server_name sysname
as
set nocount on
declare @owner_sid varbinary(85), @failed int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
delete dbo.sysjobservers where job_id = @job_id
if @@rowcount = 0
begin
    raiserror (14270, -1, -1, @job_name, @server_name)
    return 1
end
exec master.dbo.xp_sqlagent_notify N'J', @job_id, @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_help_jobstep
    @job_id uniqueidentifier = null, @job_name sysname = null, @step_id int = null, @step_name sysname = null, @suffix bit = 0
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'NO_TEST'
if @failed <> 0 return 1
select step_id, step_name, subsystem, command, flags, cmdexec_success_code, on_success_action, on_success_step_id,
    on_fail_action, on_fail_step_id, server, database_name, database_user_name, retry_attempts, retry_interval, os_run_priority,
    output_file_name, last_run_outcome, last_run_duration, last_run_retries, last_run_date, last_run_time, proxy_id
from dbo.sysjobsteps
where job_id = @job_id and step_id = isnull(@step_id, step_id) and step_name = isnull(@step_name, step_name)
order by step_id
return 0
GO
create or alter procedure dbo.sp_help_jobserver
    @job_id uniqueidentifier = null, @job_name sysname = null, @show_last_run_details tinyint = 0
as
set nocount on
declare @failed int, @local sysname = convert(sysname, serverproperty('ServerName'))
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'NO_TEST'
if @failed <> 0 return 1
if @show_last_run_details = 1
    select server_id, @local as server_name, convert(datetime, null) as enlist_date, convert(datetime, null) as last_poll_date,
        last_run_date, last_run_time, last_run_duration, last_run_outcome, last_outcome_message
    from dbo.sysjobservers where job_id = @job_id
else
    select server_id, @local as server_name, convert(datetime, null) as enlist_date, convert(datetime, null) as last_poll_date
    from dbo.sysjobservers where job_id = @job_id
return 0
GO
create or alter procedure dbo.sp_help_job
    @job_id uniqueidentifier = null, @job_name sysname = null, @job_aspect varchar(9) = null, @job_type varchar(12) = null,
    @owner_login_name sysname = null, @subsystem nvarchar(40) = null, @category_name sysname = null, @enabled tinyint = null,
    @execution_status int = null, @date_comparator char(1) = null, @date_created datetime = null,
    @date_last_modified datetime = null, @description nvarchar(512) = null
as
set nocount on
declare @failed int
if @job_id is not null or @job_name is not null
begin
    exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'NO_TEST'
    if @failed <> 0 return 1
end
set @job_aspect = isnull(@job_aspect, iif(@job_id is null, 'JOB', 'ALL'))
if @job_aspect in ('ALL', 'JOB')
    select j.job_id, j.originating_server, j.name, j.enabled, j.description, j.start_step_id, c.name as category,
        suser_sname(j.owner_sid) as owner, j.notify_level_eventlog, j.notify_level_email, j.notify_level_netsend,
        j.notify_level_page, e.name as notify_email_operator, n.name as notify_netsend_operator,
        p.name as notify_page_operator, j.delete_level, j.date_created, j.date_modified, j.version_number,
        isnull(s.last_run_date, 0) as last_run_date, isnull(s.last_run_time, 0) as last_run_time,
        convert(int, isnull(s.last_run_outcome, 5)) as last_run_outcome, isnull(x.next_run_date, 0) as next_run_date,
        isnull(x.next_run_time, 0) as next_run_time, isnull(x.schedule_id, 0) as next_run_schedule_id,
        isnull(a.state, 4) as current_execution_status,
        case when a.step_id is null then N'0 (unknown)' else concat(a.step_id, N' (', a.step_name, N')') end as current_execution_step,
        isnull(a.retry_attempt, 0) as current_retry_attempt,
        (select count(*) from dbo.sysjobsteps t where t.job_id = j.job_id) as has_step,
        (select count(*) from dbo.sysjobschedules t where t.job_id = j.job_id) as has_schedule,
        (select count(*) from dbo.sysjobservers t where t.job_id = j.job_id) as has_target,
        iif(s.job_id is null, 0, 1) as type
    from dbo.sysjobs_view j
        left join dbo.syscategories c on c.category_id = j.category_id
        left join dbo.sysoperators e on e.id = j.notify_email_operator_id
        left join dbo.sysoperators n on n.id = j.notify_netsend_operator_id
        left join dbo.sysoperators p on p.id = j.notify_page_operator_id
        left join dbo.sysjobservers s on s.job_id = j.job_id
        left join sys.dm_keel_agent_jobs a on a.job_id = j.job_id
        outer apply (select top 1 t.next_run_date, t.next_run_time, t.schedule_id from dbo.sysjobschedules t
            where t.job_id = j.job_id and t.next_run_date > 0 order by t.next_run_date, t.next_run_time) x
    where (@job_id is null or j.job_id = @job_id)
        and (@owner_login_name is null or suser_sname(j.owner_sid) = @owner_login_name)
        and (@category_name is null or c.name = @category_name) and (@enabled is null or j.enabled = @enabled)
        and (@description is null or j.description like @description)
        and (@subsystem is null or exists (select 1 from dbo.sysjobsteps t where t.job_id = j.job_id and t.subsystem = @subsystem))
        and (isnull(@execution_status, -1) = -1 or isnull(a.state, 4) = @execution_status
            or (@execution_status = 0 and isnull(a.state, 4) not in (4, 5)))
        and (@date_created is null or @date_comparator is null or (@date_comparator = '=' and j.date_created = @date_created)
            or (@date_comparator = '<' and j.date_created < @date_created) or (@date_comparator = '>' and j.date_created > @date_created))
        and (@date_last_modified is null or @date_comparator is null
            or (@date_comparator = '=' and j.date_modified = @date_last_modified)
            or (@date_comparator = '<' and j.date_modified < @date_last_modified)
            or (@date_comparator = '>' and j.date_modified > @date_last_modified))
    order by j.job_id
if @job_id is null return 0
if @job_aspect in ('ALL', 'STEPS') exec dbo.sp_help_jobstep @job_id = @job_id
if @job_aspect in ('ALL', 'SCHEDULES') exec dbo.sp_help_jobschedule @job_id = @job_id
if @job_aspect in ('ALL', 'TARGETS') exec dbo.sp_help_jobserver @job_id = @job_id, @show_last_run_details = 1
return 0
GO
grant execute on dbo.sp_add_job to SQLAgentUserRole;
grant execute on dbo.sp_update_job to SQLAgentUserRole;
grant execute on dbo.sp_delete_job to SQLAgentUserRole;
grant execute on dbo.sp_add_jobstep to SQLAgentUserRole;
grant execute on dbo.sp_update_jobstep to SQLAgentUserRole;
grant execute on dbo.sp_delete_jobstep to SQLAgentUserRole;
grant execute on dbo.sp_add_jobserver to SQLAgentUserRole;
grant execute on dbo.sp_delete_jobserver to SQLAgentUserRole;
grant execute on dbo.sp_help_jobstep to SQLAgentUserRole;
grant execute on dbo.sp_help_jobserver to SQLAgentUserRole;
grant execute on dbo.sp_help_job to SQLAgentUserRole
