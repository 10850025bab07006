-- Schedules, and which jobs they start.
create or alter procedure dbo.sp_verify_schedule_identifiers
    @name_of_name_parameter sysname, @name_of_id_parameter sysname, @schedule_name sysname output, @schedule_id int output,
    @owner_sid varbinary(85) output, @orig_server_id int output, @job_id_filter uniqueidentifier = null
as
set nocount on
declare @shown nvarchar(10) = convert(nvarchar(10), @schedule_id), @found int
set @schedule_name = nullif(rtrim(@schedule_name), N'')
set @orig_server_id = 0
if (@schedule_name is null and @schedule_id is null) or (@schedule_name is not null and @schedule_id is not null)
begin
    raiserror (14373, -1, -1, @name_of_id_parameter, @name_of_name_parameter)
    return 1
end
if @schedule_id is not null
begin
    select @schedule_name = name, @owner_sid = owner_sid from dbo.sysschedules_localserver_view where schedule_id = @schedule_id
    if @schedule_name is null
    begin
        raiserror (14262, -1, -1, @name_of_id_parameter, @shown)
        return 1
    end
    return 0
end
select @schedule_id = min(schedule_id), @found = count(*) from dbo.sysschedules_localserver_view v
where name = @schedule_name and (@job_id_filter is null or exists (select 1 from dbo.sysjobschedules s
    where s.schedule_id = v.schedule_id and s.job_id = @job_id_filter))
if @found = 0
begin
    raiserror (14262, -1, -1, @name_of_name_parameter, @schedule_name)
    return 1
end
if @found > 1
begin
    raiserror (14371, -1, -1, @schedule_name, @name_of_id_parameter, @name_of_name_parameter)
    return 1
end
select @owner_sid = owner_sid from dbo.sysschedules where schedule_id = @schedule_id
return 0
GO
-- Looks at the values of a schedule and gives those that were left out the ones that they mean.
create or alter procedure dbo.sp_verify_schedule
    @schedule_id int, @name sysname output, @enabled int output, @freq_type int output, @freq_interval int output,
    @freq_subday_type int output, @freq_subday_interval int output, @freq_relative_interval int output,
    @freq_recurrence_factor int output, @active_start_date int output, @active_start_time int output,
    @active_end_date int output, @active_end_time int output, @owner_sid varbinary(85)
as
set nocount on
declare @failed int, @today int = convert(int, convert(char(8), getdate(), 112))
select @name = nullif(ltrim(rtrim(@name)), N''), @freq_subday_type = isnull(nullif(@freq_subday_type, 0), 1)
if isnull(@active_start_date, 0) = 0 set @active_start_date = @today
if isnull(@active_end_date, 0) = 0 set @active_end_date = 99991231
if @name is null
begin
    raiserror (14263, -1, -1, '@name')
    return 1
end
exec @failed = dbo.sp_verify_agent_number '@enabled', @enabled, 0, 1
if @failed <> 0 return 1
if @freq_type not in (1, 4, 8, 16, 32, 64, 128)
begin
    raiserror (14266, -1, -1, '@freq_type', '1, 4, 8, 16, 32, 64, 128')
    return 1
end
if @freq_type in (64, 128)
    select @freq_interval = 0, @freq_subday_type = 0, @freq_subday_interval = 0, @freq_relative_interval = 0, @freq_recurrence_factor = 0
else
begin
    if @freq_subday_type not in (1, 2, 4, 8)
    begin
        raiserror (14266, -1, -1, '@freq_subday_type', '1, 2, 4, 8')
        return 1
    end
    if @freq_subday_type = 1 set @freq_subday_interval = 0
    else
    begin
        declare @least int = iif(@freq_subday_type = 2, 10, 1)
        exec @failed = dbo.sp_verify_agent_number '@freq_subday_interval', @freq_subday_interval, @least, 100
        if @failed <> 0 return 1
    end
    if @freq_type = 4 exec @failed = dbo.sp_verify_agent_number '@freq_interval', @freq_interval, 1, 366
    if @freq_type = 8 exec @failed = dbo.sp_verify_agent_number '@freq_interval', @freq_interval, 1, 127
    if @freq_type = 16 exec @failed = dbo.sp_verify_agent_number '@freq_interval', @freq_interval, 1, 31
    if @freq_type = 32 exec @failed = dbo.sp_verify_agent_number '@freq_interval', @freq_interval, 1, 10
    if @failed <> 0 return 1
    if @freq_type = 32 and @freq_relative_interval not in (1, 2, 4, 8, 16)
    begin
        raiserror (14266, -1, -1, '@freq_relative_interval', '1, 2, 4, 8, 16')
        return 1
    end
    if @freq_type in (8, 16, 32) exec @failed = dbo.sp_verify_agent_number '@freq_recurrence_factor', @freq_recurrence_factor, 1, 99
    if @failed <> 0 return 1
    if @freq_type = 1 set @freq_interval = 0
    if @freq_type <> 32 set @freq_relative_interval = 0
    if @freq_type in (1, 4) set @freq_recurrence_factor = 0
end
if try_convert(date, convert(char(8), @active_start_date), 112) is null or @active_start_date < 19900101
begin
    raiserror (14266, -1, -1, '@active_start_date', '19900101..99991231')
    return 1
end
if try_convert(date, convert(char(8), @active_end_date), 112) is null
begin
    raiserror (14266, -1, -1, '@active_end_date', '19900101..99991231')
    return 1
end
if @active_end_date < @active_start_date
begin
    raiserror (14288, -1, -1, '@active_end_date', '@active_start_date')
    return 1
end
if @active_start_time not between 0 and 235959 or @active_start_time % 10000 > 5959 or @active_start_time % 100 > 59
begin
    raiserror (14266, -1, -1, '@active_start_time', '000000..235959')
    return 1
end
if @active_end_time not between 0 and 235959 or @active_end_time % 10000 > 5959 or @active_end_time % 100 > 59
begin
    raiserror (14266, -1, -1, '@active_end_time', '000000..235959')
    return 1
end
return 0
GO
create or alter procedure dbo.sp_add_schedule
    @schedule_name sysname, @enabled tinyint = 1, @freq_type int = 0, @freq_interval int = 0, @freq_subday_type int = 0,
    @freq_subday_interval int = 0, @freq_relative_interval int = 0, @freq_recurrence_factor int = 0,
    @active_start_date int = null, @active_end_date int = 99991231, @active_start_time int = 000000,
    @active_end_time int = 235959, @owner_login_name sysname = null, @schedule_uid uniqueidentifier = null output,
    @schedule_id int = null output, @originating_server sysname = null
as
set nocount on
declare @failed int, @owner_sid varbinary(85), @on int = @enabled
set @owner_login_name = isnull(nullif(rtrim(@owner_login_name), N''), suser_sname())
set @owner_sid = suser_sid(@owner_login_name)
if @owner_sid is null
begin
    raiserror (14234, -1, -1, '@owner_login_name', 'sp_helplogins')
    return 1
end
if @owner_sid <> suser_sid() and is_srvrolemember('sysadmin') = 0
begin
    raiserror (14366, -1, -1)
    return 1
end
exec @failed = dbo.sp_verify_schedule null, @schedule_name output, @on output, @freq_type output, @freq_interval output,
    @freq_subday_type output, @freq_subday_interval output, @freq_relative_interval output, @freq_recurrence_factor output,
    @active_start_date output, @active_start_time output, @active_end_date output, @active_end_time output, @owner_sid
if @failed <> 0 return 1
set @schedule_uid = isnull(@schedule_uid, newid())
insert dbo.sysschedules (schedule_uid, originating_server_id, name, owner_sid, enabled, freq_type, freq_interval, freq_subday_type,
    freq_subday_interval, freq_relative_interval, freq_recurrence_factor, active_start_date, active_end_date,
    active_start_time, active_end_time)
values (@schedule_uid, 0, @schedule_name, @owner_sid, @enabled, @freq_type, @freq_interval, @freq_subday_type, @freq_subday_interval,
    @freq_relative_interval, @freq_recurrence_factor, @active_start_date, @active_end_date, @active_start_time, @active_end_time)
set @schedule_id = scope_identity()
return 0
GO
create or alter procedure dbo.sp_update_schedule
    @schedule_id int = null, @name sysname = null, @new_name sysname = null, @enabled tinyint = null, @freq_type int = null,
    @freq_interval int = null, @freq_subday_type int = null, @freq_subday_interval int = null,
    @freq_relative_interval int = null, @freq_recurrence_factor int = null, @active_start_date int = null,
    @active_end_date int = null, @active_start_time int = null, @active_end_time int = null,
    @owner_login_name sysname = null, @automatic_post bit = 1
as
set nocount on
declare @failed int, @owner_sid varbinary(85), @new_owner varbinary(85), @server int, @on int, @as_named sysname
exec @failed = dbo.sp_verify_schedule_identifiers '@name', '@schedule_id', @name output, @schedule_id output, @owner_sid output, @server output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
set @new_owner = iif(@owner_login_name is null, @owner_sid, suser_sid(@owner_login_name))
if @new_owner is null
begin
    raiserror (14234, -1, -1, '@owner_login_name', 'sp_helplogins')
    return 1
end
if @new_owner <> @owner_sid and is_srvrolemember('sysadmin') = 0
begin
    raiserror (14366, -1, -1)
    return 1
end
select @as_named = isnull(@new_name, name), @on = isnull(@enabled, enabled), @freq_type = isnull(@freq_type, freq_type),
    @freq_interval = isnull(@freq_interval, freq_interval), @freq_subday_type = isnull(@freq_subday_type, freq_subday_type),
    @freq_subday_interval = isnull(@freq_subday_interval, freq_subday_interval),
    @freq_relative_interval = isnull(@freq_relative_interval, freq_relative_interval),
    @freq_recurrence_factor = isnull(@freq_recurrence_factor, freq_recurrence_factor),
    @active_start_date = isnull(@active_start_date, active_start_date), @active_end_date = isnull(@active_end_date, active_end_date),
    @active_start_time = isnull(@active_start_time, active_start_time), @active_end_time = isnull(@active_end_time, active_end_time)
from dbo.sysschedules where schedule_id = @schedule_id
exec @failed = dbo.sp_verify_schedule @schedule_id, @as_named output, @on output, @freq_type output, @freq_interval output,
    @freq_subday_type output, @freq_subday_interval output, @freq_relative_interval output, @freq_recurrence_factor output,
    @active_start_date output, @active_start_time output, @active_end_date output, @active_end_time output, @owner_sid
if @failed <> 0 return 1
update dbo.sysschedules set name = @as_named, owner_sid = @new_owner, enabled = @on, freq_type = @freq_type,
    freq_interval = @freq_interval, freq_subday_type = @freq_subday_type, freq_subday_interval = @freq_subday_interval,
    freq_relative_interval = @freq_relative_interval, freq_recurrence_factor = @freq_recurrence_factor,
    active_start_date = @active_start_date, active_end_date = @active_end_date, active_start_time = @active_start_time,
    active_end_time = @active_end_time, date_modified = getdate(), version_number = version_number + 1
where schedule_id = @schedule_id
exec master.dbo.xp_sqlagent_notify N'S', null, @schedule_id, @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_delete_schedule
    @schedule_id int = null, @schedule_name sysname = null, @force_delete bit = 0, @automatic_post bit = 1
as
set nocount on
declare @failed int, @owner_sid varbinary(85), @server int
exec @failed = dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name output, @schedule_id output,
    @owner_sid output, @server output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
if @force_delete = 0 and exists (select 1 from dbo.sysjobschedules where schedule_id = @schedule_id)
begin
    raiserror (14372, -1, -1)
    return 1
end
delete dbo.sysjobschedules where schedule_id = @schedule_id
delete dbo.sysschedules where schedule_id = @schedule_id
exec master.dbo.xp_sqlagent_notify N'S', null, @schedule_id, @action_type = N'D'
return 0
GO
create or alter procedure dbo.sp_attach_schedule
    @job_id uniqueidentifier = null, @job_name sysname = null, @schedule_id int = null, @schedule_name sysname = null,
    @automatic_post bit = 1
as
set nocount on
declare @failed int, @owner_sid varbinary(85), @schedule_owner varbinary(85), @server int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name output,
    @schedule_id output, @schedule_owner output, @server output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
if @schedule_owner <> @owner_sid and is_srvrolemember('sysadmin') = 0
begin
    raiserror (14377, -1, -1)
    return 1
end
if not exists (select 1 from dbo.sysjobschedules where job_id = @job_id and schedule_id = @schedule_id)
begin
    insert dbo.sysjobschedules (schedule_id, job_id) values (@schedule_id, @job_id)
    exec master.dbo.xp_sqlagent_notify N'S', @job_id, @schedule_id, @action_type = N'I'
end
return 0
GO
create or alter procedure dbo.sp_detach_schedule
    @job_id uniqueidentifier = null, @job_name sysname = null, @schedule_id int = null, @schedule_name sysname = null,
    @delete_unused_schedule bit = 0, @automatic_post bit = 1
as
set nocount on
declare @failed int, @owner_sid varbinary(85), @schedule_owner varbinary(85), @server int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name output,
    @schedule_id output, @schedule_owner output, @server output, @job_id
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
delete dbo.sysjobschedules where job_id = @job_id and schedule_id = @schedule_id
if @@rowcount = 0
begin
    raiserror (14374, -1, -1, @schedule_name, @job_name)
    return 1
end
if @delete_unused_schedule = 1 and not exists (select 1 from dbo.sysjobschedules where schedule_id = @schedule_id)
    delete dbo.sysschedules where schedule_id = @schedule_id
exec master.dbo.xp_sqlagent_notify N'S', @job_id, @schedule_id, @action_type = N'D'
return 0
GO
create or alter procedure dbo.sp_add_jobschedule
    @job_id uniqueidentifier = null, @job_name sysname = null, @name sysname, @enabled tinyint = 1, @freq_type int = 1,
    @freq_interval int = 0, @freq_subday_type int = 0, @freq_subday_interval int = 0, @freq_relative_interval int = 0,
    @freq_recurrence_factor int = 0, @active_start_date int = null, @active_end_date int = 99991231,
    @active_start_time int = 000000, @active_end_time int = 235959, @schedule_id int = null output, @automatic_post bit = 1,
    @schedule_uid uniqueidentifier = null output
as
set nocount on
declare @failed int, @owner_sid varbinary(85)
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_job_owner @owner_sid
if @failed <> 0 return 1
declare @owner sysname = suser_sname(@owner_sid)
exec @failed = dbo.sp_add_schedule @name, @enabled, @freq_type, @freq_interval, @freq_subday_type, @freq_subday_interval,
    @freq_relative_interval, @freq_recurrence_factor, @active_start_date, @active_end_date, @active_start_time, @active_end_time,
    @owner, @schedule_uid output, @schedule_id output
if @failed <> 0 return 1
exec @failed = dbo.sp_attach_schedule @job_id = @job_id, @schedule_id = @schedule_id
return @failed
GO
create or alter procedure dbo.sp_update_jobschedule
    @job_id uniqueidentifier = null, @job_name sysname = null, @name sysname, @new_name sysname = null, @enabled tinyint = null,
    @freq_type int = null, @freq_interval int = null, @freq_subday_type int = null, @freq_subday_interval int = null,
    @freq_relative_interval int = null, @freq_recurrence_factor int = null, @active_start_date int = null,
    @active_end_date int = null, @active_start_time int = null, @active_end_time int = null, @automatic_post bit = 1
as
set nocount on
declare @failed int, @owner_sid varbinary(85), @server int, @schedule_id int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'TEST', @owner_sid output
if @failed = 0 exec @failed = dbo.sp_verify_schedule_identifiers '@name', '@schedule_id', @name output, @schedule_id output,
    @owner_sid output, @server output, @job_id
if @failed <> 0 return 1
exec @failed = dbo.sp_update_schedule @schedule_id, null, @new_name, @enabled, @freq_type, @freq_interval, @freq_subday_type,
    @freq_subday_interval, @freq_relative_interval, @freq_recurrence_factor, @active_start_date, @active_end_date,
    @active_start_time, @active_end_time
return @failed
GO
create or alter procedure dbo.sp_delete_jobschedule
    @job_id uniqueidentifier = null, @job_name sysname = null, @name sysname, @keep_schedule int = 0, @automatic_post bit = 1
as
set nocount on
declare @failed int, @drop bit = iif(@keep_schedule = 0, 1, 0)
exec @failed = dbo.sp_detach_schedule @job_id = @job_id, @job_name = @job_name, @schedule_name = @name, @delete_unused_schedule = @drop
return @failed
GO
-- In words, as tools show it.
create or alter function dbo.agent_schedule_words (@freq_type int, @freq_interval int, @freq_subday_type int, @freq_subday_interval int,
    @freq_relative_interval int, @freq_recurrence_factor int, @active_start_date int, @active_start_time int, @active_end_time int)
returns nvarchar(255) as
begin
    declare @at nvarchar(20) = convert(nvarchar(20), dbo.agent_datetime(20000101, @active_start_time), 108)
    declare @till nvarchar(20) = convert(nvarchar(20), dbo.agent_datetime(20000101, @active_end_time), 108), @days nvarchar(200)
    if @freq_type = 64 return N'Automatically when SQL Server Agent starts'
    if @freq_type = 128 return N'Whenever the CPUs become idle'
    if @freq_type = 1 return concat(N'On ', convert(nvarchar(10), dbo.agent_datetime(@active_start_date, 0), 23), N' at ', @at)
    set @days = case @freq_type
        when 4 then iif(@freq_interval = 1, N'Every day', concat(N'Every ', @freq_interval, N' days'))
        when 8 then concat(N'Every ', @freq_recurrence_factor, N' week(s) on ', stuff(concat(
            iif(@freq_interval & 1 > 0, N', Sunday', N''), iif(@freq_interval & 2 > 0, N', Monday', N''),
            iif(@freq_interval & 4 > 0, N', Tuesday', N''), iif(@freq_interval & 8 > 0, N', Wednesday', N''),
            iif(@freq_interval & 16 > 0, N', Thursday', N''), iif(@freq_interval & 32 > 0, N', Friday', N''),
            iif(@freq_interval & 64 > 0, N', Saturday', N'')), 1, 2, N''))
        when 16 then concat(N'Every ', @freq_recurrence_factor, N' month(s) on day ', @freq_interval, N' of that month')
        else concat(N'Every ', choose(log(@freq_relative_interval, 2) + 1.5, N'first', N'second', N'third', N'fourth', N'last'), N' ',
            choose(@freq_interval, N'Sunday', N'Monday', N'Tuesday', N'Wednesday', N'Thursday', N'Friday', N'Saturday', N'day',
                N'weekday', N'weekend day'), N' of every ', @freq_recurrence_factor, N' month(s)') end
    if @freq_subday_type not in (2, 4, 8) return concat(@days, N' at ', @at)
    return concat(@days, N' every ', @freq_subday_interval, case @freq_subday_type when 2 then N' second(s)' when 4 then N' minute(s)'
        else N' hour(s)' end, N' between ', @at, N' and ', @till)
end
GO
create or alter procedure dbo.sp_help_schedule
    @schedule_id int = null, @schedule_name sysname = null, @attached_schedules_only bit = 0, @include_description bit = 0
as
set nocount on
declare @failed int, @owner_sid varbinary(85), @server int
if @schedule_id is not null or @schedule_name is not null
begin
    exec @failed = dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name output, @schedule_id output,
        @owner_sid output, @server output
    if @failed <> 0 return 1
end
select schedule_id, schedule_uid, name as schedule_name, enabled, freq_type, freq_interval, freq_subday_type, freq_subday_interval,
    freq_relative_interval, freq_recurrence_factor, active_start_date, active_end_date, active_start_time, active_end_time,
    date_created, iif(@include_description = 1, dbo.agent_schedule_words(freq_type, freq_interval, freq_subday_type,
        freq_subday_interval, freq_relative_interval, freq_recurrence_factor, active_start_date, active_start_time,
        active_end_time), N'(Description not requested)') as schedule_description,
    (select count(*) from dbo.sysjobschedules s where s.schedule_id = v.schedule_id) as job_count
from dbo.sysschedules_localserver_view v
where (@schedule_id is null or schedule_id = @schedule_id) and (@attached_schedules_only = 0
    or exists (select 1 from dbo.sysjobschedules s where s.schedule_id = v.schedule_id))
order by schedule_id
return 0
GO
create or alter procedure dbo.sp_help_jobschedule
    @job_id uniqueidentifier = null, @job_name sysname = null, @schedule_name sysname = null, @schedule_id int = null,
    @include_description bit = 0
as
set nocount on
declare @failed int
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'NO_TEST'
if @failed <> 0 return 1
select v.schedule_id, v.name as schedule_name, v.enabled, freq_type, freq_interval, freq_subday_type, freq_subday_interval,
    freq_relative_interval, freq_recurrence_factor, active_start_date, active_end_date, active_start_time, active_end_time,
    v.date_created, iif(@include_description = 1, dbo.agent_schedule_words(freq_type, freq_interval, freq_subday_type,
        freq_subday_interval, freq_relative_interval, freq_recurrence_factor, active_start_date, active_start_time,
        active_end_time), N'(Description not requested)') as schedule_description, s.next_run_date, s.next_run_time,
    v.schedule_uid, (select count(*) from dbo.sysjobschedules t where t.schedule_id = v.schedule_id) as job_count
from dbo.sysjobschedules s join dbo.sysschedules v on v.schedule_id = s.schedule_id
where s.job_id = @job_id and (@schedule_id is null or v.schedule_id = @schedule_id)
    and (@schedule_name is null or v.name = @schedule_name)
order by v.schedule_id
return 0
GO
create or alter procedure dbo.sp_help_jobs_in_schedule @schedule_name sysname = null, @schedule_id int = null
as
set nocount on
declare @failed int, @owner_sid varbinary(85), @server int
exec @failed = dbo.sp_verify_schedule_identifiers '@schedule_name', '@schedule_id', @schedule_name output, @schedule_id output,
    @owner_sid output, @server output
if @failed <> 0 return 1
select j.job_id, j.originating_server, j.name, j.enabled, j.description, j.start_step_id, c.name as category,
    suser_sname(j.owner_sid) as owner, s.next_run_date, s.next_run_time
from dbo.sysjobschedules s join dbo.sysjobs_view j on j.job_id = s.job_id
    left join dbo.syscategories c on c.category_id = j.category_id
where s.schedule_id = @schedule_id
order by j.name
return 0
GO
grant execute on dbo.sp_add_schedule to SQLAgentUserRole;
grant execute on dbo.sp_update_schedule to SQLAgentUserRole;
grant execute on dbo.sp_delete_schedule to SQLAgentUserRole;
grant execute on dbo.sp_attach_schedule to SQLAgentUserRole;
grant execute on dbo.sp_detach_schedule to SQLAgentUserRole;
grant execute on dbo.sp_add_jobschedule to SQLAgentUserRole;
grant execute on dbo.sp_update_jobschedule to SQLAgentUserRole;
grant execute on dbo.sp_delete_jobschedule to SQLAgentUserRole;
grant execute on dbo.sp_help_schedule to SQLAgentUserRole;
grant execute on dbo.sp_help_jobschedule to SQLAgentUserRole;
grant execute on dbo.sp_help_jobs_in_schedule to SQLAgentReaderRole
