-- Categories, operators, alerts and whom they tell.
create or alter procedure dbo.sp_verify_category @class varchar(8), @class_id int output
as
set @class_id = case upper(@class) when 'JOB' then 1 when 'ALERT' then 2 when 'OPERATOR' then 3 end
if @class_id is not null return 0
raiserror (14266, -1, -1, '@class', 'JOB, ALERT, OPERATOR')
return 1
GO
-- Operators, alerts and categories are administrators' business.
create or alter procedure dbo.sp_verify_agent_administrator
as
if is_srvrolemember('sysadmin') = 1 return 0
raiserror (15003, -1, -1, 'sysadmin')
return 1
GO
create or alter procedure dbo.sp_add_category @class varchar(8) = 'JOB', @type varchar(12) = 'LOCAL', @name sysname
as
set nocount on
declare @failed int, @class_id int, @kind int
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sp_verify_category @class, @class_id output
if @failed <> 0 return 1
set @kind = case when @class_id <> 1 then 3 when upper(@type) = 'LOCAL' then 1 when upper(@type) = 'MULTI-SERVER' then 2 end
if @kind is null
begin
    raiserror (14266, -1, -1, '@type', 'LOCAL, MULTI-SERVER, NONE')
    return 1
end
if exists (select 1 from dbo.syscategories where category_class = @class_id and name = @name)
begin
    raiserror (14261, -1, -1, '@name', @name)
    return 1
end
insert dbo.syscategories (category_class, category_type, name) values (@class_id, @kind, @name)
return 0
GO
create or alter procedure dbo.sp_update_category @class varchar(8), @name sysname, @new_name sysname
as
set nocount on
declare @failed int, @class_id int
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sp_verify_category @class, @class_id output
if @failed <> 0 return 1
if exists (select 1 from dbo.syscategories where category_class = @class_id and name = @new_name)
begin
    raiserror (14261, -1, -1, '@new_name', @new_name)
    return 1
end
if exists (select 1 from dbo.syscategories where category_class = @class_id and name = @name and category_id < 100)
begin
    raiserror (14276, -1, -1, @name, @class)
    return 1
end
update dbo.syscategories set name = @new_name where category_class = @class_id and name = @name
if @@rowcount = 1 return 0
raiserror (14262, -1, -1, '@name', @name)
return 1
GO
create or alter procedure dbo.sp_delete_category @class varchar(8), @name sysname
as
set nocount on
declare @failed int, @class_id int, @id int
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sp_verify_category @class, @class_id output
if @failed <> 0 return 1
select @id = category_id from dbo.syscategories where category_class = @class_id and name = @name
if @id is null
begin
    raiserror (14262, -1, -1, '@name', @name)
    return 1
end
if @id < 100
begin
    raiserror (14276, -1, -1, @name, @class)
    return 1
end
-- Who was in it has none.
if @class_id = 1 update dbo.sysjobs set category_id = 0 where category_id = @id
if @class_id = 2 update dbo.sysalerts set category_id = 98 where category_id = @id
if @class_id = 3 update dbo.sysoperators set category_id = 99 where category_id = @id
delete dbo.syscategories where category_id = @id
return 0
GO
create or alter procedure dbo.sp_help_category
    @class varchar(8) = 'JOB', @type varchar(12) = null, @name sysname = null, @suffix bit = 0
as
set nocount on
declare @failed int, @class_id int
exec @failed = dbo.sp_verify_category @class, @class_id output
if @failed <> 0 return 1
select category_id, iif(@suffix = 1, case category_type when 1 then N'LOCAL' when 2 then N'MULTI-SERVER' else N'NONE' end,
    convert(nvarchar(12), category_type)) as category_type, name
from dbo.syscategories
where category_class = @class_id and (@name is null or name = @name) and (@type is null
    or category_type = case upper(@type) when 'LOCAL' then 1 when 'MULTI-SERVER' then 2 else 3 end)
order by category_type, name
return 0
GO
create or alter procedure dbo.sp_add_operator
    @name sysname, @enabled tinyint = 1, @email_address nvarchar(100) = null, @pager_address nvarchar(100) = null,
    @weekday_pager_start_time int = 090000, @weekday_pager_end_time int = 180000, @saturday_pager_start_time int = 090000,
    @saturday_pager_end_time int = 180000, @sunday_pager_start_time int = 090000, @sunday_pager_end_time int = 180000,
    @pager_days tinyint = 0, @netsend_address nvarchar(100) = null, @category_name sysname = null
as
set nocount on
declare @failed int, @category_id int = 99
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@enabled', @enabled, 0, 1
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@pager_days', @pager_days, 0, 127
if @failed <> 0 return 1
if exists (select 1 from dbo.sysoperators where name = @name)
begin
    raiserror (14261, -1, -1, '@name', @name)
    return 1
end
if @category_name is not null
begin
    set @category_id = (select category_id from dbo.syscategories where category_class = 3 and name = @category_name)
    if @category_id is null
    begin
        raiserror (14234, -1, -1, '@category_name', 'sp_help_category')
        return 1
    end
end
insert dbo.sysoperators (name, enabled, email_address, pager_address, weekday_pager_start_time, weekday_pager_end_time,
    saturday_pager_start_time, saturday_pager_end_time, sunday_pager_start_time, sunday_pager_end_time, pager_days,
    netsend_address, category_id)
values (@name, @enabled, @email_address, @pager_address, @weekday_pager_start_time, @weekday_pager_end_time,
    @saturday_pager_start_time, @saturday_pager_end_time, @sunday_pager_start_time, @sunday_pager_end_time, @pager_days,
    @netsend_address, @category_id)
return 0
GO
create or alter procedure dbo.sp_update_operator
    @name sysname, @new_name sysname = null, @enabled tinyint = null, @email_address nvarchar(100) = null,
    @pager_address nvarchar(100) = null, @weekday_pager_start_time int = null, @weekday_pager_end_time int = null,
    @saturday_pager_start_time int = null, @saturday_pager_end_time int = null, @sunday_pager_start_time int = null,
    @sunday_pager_end_time int = null, @pager_days tinyint = null, @netsend_address nvarchar(100) = null,
    @category_name sysname = null
as
set nocount on
declare @failed int, @id int, @category_id int
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sp_verify_agent_operator @name, '@name', @id output
if @failed <> 0 return 1
if exists (select 1 from dbo.sysoperators where name = @new_name and id <> @id)
begin
    raiserror (14261, -1, -1, '@new_name', @new_name)
    return 1
end
if @category_name is not null
begin
    set @category_id = (select category_id from dbo.syscategories where category_class = 3 and name = @category_name)
    if @category_id is null
    begin
        raiserror (14234, -1, -1, '@category_name', 'sp_help_category')
        return 1
    end
end
update dbo.sysoperators set name = isnull(@new_name, name), enabled = isnull(@enabled, enabled),
    email_address = isnull(@email_address, email_address), pager_address = isnull(@pager_address, pager_address),
    weekday_pager_start_time = isnull(@weekday_pager_start_time, weekday_pager_start_time),
    weekday_pager_end_time = isnull(@weekday_pager_end_time, weekday_pager_end_time),
    saturday_pager_start_time = isnull(@saturday_pager_start_time, saturday_pager_start_time),
    saturday_pager_end_time = isnull(@saturday_pager_end_time, saturday_pager_end_time),
    sunday_pager_start_time = isnull(@sunday_pager_start_time, sunday_pager_start_time),
    sunday_pager_end_time = isnull(@sunday_pager_end_time, sunday_pager_end_time),
    pager_days = isnull(@pager_days, pager_days), netsend_address = isnull(@netsend_address, netsend_address),
    category_id = isnull(@category_id, category_id)
where id = @id
return 0
GO
create or alter procedure dbo.sp_delete_operator @name sysname, @reassign_to_operator sysname = null
as
set nocount on
declare @failed int, @id int, @heir int
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sp_verify_agent_operator @name, '@name', @id output
if @failed = 0 exec @failed = dbo.sp_verify_agent_operator @reassign_to_operator, '@reassign_to_operator', @heir output
if @failed <> 0 return 1
begin transaction
update dbo.sysnotifications set operator_id = @heir where @heir <> 0 and operator_id = @id
    and alert_id not in (select alert_id from dbo.sysnotifications where operator_id = @heir)
delete dbo.sysnotifications where operator_id = @id
update dbo.sysjobs set notify_email_operator_id = iif(notify_email_operator_id = @id, @heir, notify_email_operator_id),
    notify_netsend_operator_id = iif(notify_netsend_operator_id = @id, @heir, notify_netsend_operator_id),
    notify_page_operator_id = iif(notify_page_operator_id = @id, @heir, notify_page_operator_id)
where @id in (notify_email_operator_id, notify_netsend_operator_id, notify_page_operator_id)
delete dbo.sysoperators where id = @id
commit
exec master.dbo.xp_sqlagent_notify N'A', @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_help_operator @operator_name sysname = null, @operator_id int = null
as
set nocount on
select o.id, o.name, o.enabled, o.email_address, o.last_email_date, o.last_email_time, o.pager_address, o.last_pager_date,
    o.last_pager_time, o.weekday_pager_start_time, o.weekday_pager_end_time, o.saturday_pager_start_time,
    o.saturday_pager_end_time, o.sunday_pager_start_time, o.sunday_pager_end_time, o.pager_days, o.netsend_address,
    o.last_netsend_date, o.last_netsend_time, c.name as category_name
from dbo.sysoperators o left join dbo.syscategories c on c.category_id = o.category_id
where (@operator_name is null or o.name = @operator_name) and (@operator_id is null or o.id = @operator_id)
order by o.name
return 0
GO
create or alter procedure dbo.sp_help_operator_jobs @operator_name sysname
as
set nocount on
declare @failed int, @id int
exec @failed = dbo.sp_verify_agent_operator @operator_name, '@operator_name', @id output
if @failed <> 0 return 1
select job_id, name, iif(notify_email_operator_id = @id, notify_level_email, 0) as notify_level_email,
    iif(notify_netsend_operator_id = @id, notify_level_netsend, 0) as notify_level_netsend,
    iif(notify_page_operator_id = @id, notify_level_page, 0) as notify_level_page
from dbo.sysjobs_view
where @id in (notify_email_operator_id, notify_netsend_operator_id, notify_page_operator_id)
order by name
return 0
GO
create or alter procedure dbo.sp_verify_alert_job
    @job_name sysname output, @job_id uniqueidentifier output
as
declare @failed int
if @job_id = 0x00 or (@job_id is null and nullif(@job_name, N'') is null)
begin
    set @job_id = 0x00
    return 0
end
exec @failed = dbo.sp_verify_job_identifiers '@job_name', '@job_id', @job_name output, @job_id output, 'NO_TEST'
if @failed <> 0 return 1
if exists (select 1 from dbo.sysjobservers where job_id = @job_id) return 0
raiserror (14527, -1, -1, @job_name)
return 1
GO
create or alter procedure dbo.sp_add_alert
    @name sysname, @message_id int = 0, @severity int = 0, @enabled tinyint = 1, @delay_between_responses int = 0,
    @notification_message nvarchar(512) = null, @include_event_description_in tinyint = 5, @database_name sysname = null,
    @event_description_keyword nvarchar(100) = null, @job_id uniqueidentifier = null, @job_name sysname = null,
    @raise_snmp_trap tinyint = 0, @performance_condition nvarchar(512) = null, @category_name sysname = null,
    @wmi_namespace nvarchar(512) = null, @wmi_query nvarchar(512) = null
as
set nocount on
declare @failed int, @category_id int = 98
exec @failed = dbo.sp_verify_agent_administrator
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@enabled', @enabled, 0, 1
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@severity', @severity, 0, 25
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@include_event_description_in', @include_event_description_in, 0, 7
if @failed <> 0 return 1
if exists (select 1 from dbo.sysalerts where name = @name)
begin
    raiserror (14261, -1, -1, '@name', @name)
    return 1
end
if @performance_condition is not null or @wmi_query is not null
begin
    raiserror (40517, 16, 1, N'An alert on a performance condition or a WMI query')
    return 1
end
-- One of the two says what it waits for.
if (@message_id = 0 and @severity = 0) or (@message_id <> 0 and @severity <> 0)
begin
    raiserror (14500, -1, -1)
    return 1
end
if @message_id <> 0 and exists (select 1 from dbo.sysalerts where message_id = @message_id
    and isnull(database_name, N'') = isnull(@database_name, N'')
    and isnull(event_description_keyword, N'') = isnull(@event_description_keyword, N''))
    or @severity <> 0 and exists (select 1 from dbo.sysalerts where severity = @severity
    and isnull(database_name, N'') = isnull(@database_name, N'')
    and isnull(event_description_keyword, N'') = isnull(@event_description_keyword, N''))
begin
    declare @same sysname = (select top 1 name from dbo.sysalerts where (message_id = @message_id and @message_id <> 0)
        or (severity = @severity and @severity <> 0))
    raiserror (14501, -1, -1, @same)
    return 1
end
if @database_name is not null and db_id(@database_name) is null
begin
    raiserror (15010, -1, -1, @database_name)
    return 1
end
if @category_name is not null
begin
    set @category_id = (select category_id from dbo.syscategories where category_class = 2 and name = @category_name)
    if @category_id is null
    begin
        raiserror (14234, -1, -1, '@category_name', 'sp_help_category')
        return 1
    end
end
exec @failed = dbo.sp_verify_alert_job @job_name output, @job_id output
if @failed <> 0 return 1
insert dbo.sysalerts (name, event_source, event_category_id, event_id, message_id, severity, enabled, delay_between_responses,
    notification_message, include_event_description, database_name, event_description_keyword, job_id, has_notification, flags,
    category_id)
values (@name, N'MSSQLSERVER', null, null, @message_id, @severity, @enabled, @delay_between_responses, @notification_message,
    @include_event_description_in, @database_name, @event_description_keyword, @job_id, 0, 0, @category_id)
exec master.dbo.xp_sqlagent_notify N'A', @action_type = N'I'
return 0
GO
create or alter procedure dbo.sp_update_alert
    @name sysname, @new_name sysname = null, @enabled tinyint = null, @message_id int = null, @severity int = null,
    @delay_between_responses int = null, @notification_message nvarchar(512) = null,
    @include_event_description_in tinyint = null, @database_name sysname = null, @event_description_keyword nvarchar(100) = null,
    @job_id uniqueidentifier = null, @job_name sysname = null, @occurrence_count int = null, @count_reset_date int = null,
    @count_reset_time int = null, @last_occurrence_date int = null, @last_occurrence_time int = null,
    @last_response_date int = null, @last_response_time int = null, @raise_snmp_trap tinyint = null,
    @performance_condition nvarchar(512) = null, @category_name sysname = null, @wmi_namespace nvarchar(512) = null,
    @wmi_query nvarchar(512) = null
as
set nocount on
declare @failed int, @category_id int
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
if not exists (select 1 from dbo.sysalerts where name = @name)
begin
    raiserror (14262, -1, -1, '@name', @name)
    return 1
end
if @new_name <> @name and exists (select 1 from dbo.sysalerts where name = @new_name)
begin
    raiserror (14261, -1, -1, '@new_name', @new_name)
    return 1
end
if @category_name is not null
begin
    set @category_id = (select category_id from dbo.syscategories where category_class = 2 and name = @category_name)
    if @category_id is null
    begin
        raiserror (14234, -1, -1, '@category_name', 'sp_help_category')
        return 1
    end
end
if @job_id is not null or @job_name is not null exec @failed = dbo.sp_verify_alert_job @job_name output, @job_id output
if @failed <> 0 return 1
update dbo.sysalerts set name = isnull(@new_name, name), enabled = isnull(@enabled, enabled),
    message_id = case when @message_id is not null then @message_id when isnull(@severity, 0) <> 0 then 0 else message_id end,
    severity = case when @severity is not null then @severity when isnull(@message_id, 0) <> 0 then 0 else severity end,
    delay_between_responses = isnull(@delay_between_responses, delay_between_responses),
    notification_message = nullif(isnull(@notification_message, notification_message), N''),
    include_event_description = isnull(@include_event_description_in, include_event_description),
    database_name = nullif(isnull(@database_name, database_name), N''),
    event_description_keyword = nullif(isnull(@event_description_keyword, event_description_keyword), N''),
    job_id = isnull(@job_id, job_id), occurrence_count = isnull(@occurrence_count, occurrence_count),
    count_reset_date = isnull(@count_reset_date, count_reset_date), count_reset_time = isnull(@count_reset_time, count_reset_time),
    category_id = isnull(@category_id, category_id)
where name = @name
exec master.dbo.xp_sqlagent_notify N'A', @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_delete_alert @name sysname
as
set nocount on
declare @failed int, @id int
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
select @id = id from dbo.sysalerts where name = @name
if @id is null
begin
    raiserror (14262, -1, -1, '@name', @name)
    return 1
end
delete dbo.sysnotifications where alert_id = @id
delete dbo.sysalerts where id = @id
exec master.dbo.xp_sqlagent_notify N'A', @action_type = N'D'
return 0
GO
create or alter procedure dbo.sp_help_alert
    @alert_name sysname = null, @order_by sysname = N'name', @alert_id int = null, @category_name sysname = null,
    @legacy_format bit = 0
as
set nocount on
select a.id, a.name, a.event_source, a.event_category_id, a.event_id, a.message_id, a.severity, a.enabled,
    a.delay_between_responses, a.last_occurrence_date, a.last_occurrence_time, a.last_response_date, a.last_response_time,
    a.notification_message, a.include_event_description, a.database_name, a.event_description_keyword, a.occurrence_count,
    a.count_reset_date, a.count_reset_time, a.job_id, j.name as job_name, a.has_notification, a.flags, a.performance_condition,
    c.name as category_name, convert(nvarchar(max), null) as wmi_namespace, convert(nvarchar(max), null) as wmi_query, 1 as type
from dbo.sysalerts a left join dbo.sysjobs_view j on j.job_id = a.job_id
    left join dbo.syscategories c on c.category_id = a.category_id
where (@alert_name is null or a.name = @alert_name) and (@alert_id is null or a.id = @alert_id)
    and (@category_name is null or c.name = @category_name)
order by a.name
return 0
GO
create or alter procedure dbo.sp_verify_notification
    @alert_name sysname, @operator_name sysname, @alert_id int output, @operator_id int output
as
declare @failed int
exec @failed = dbo.sp_verify_agent_administrator
if @failed <> 0 return 1
select @alert_id = id from dbo.sysalerts where name = @alert_name
if @alert_id is null
begin
    raiserror (14262, -1, -1, '@alert_name', @alert_name)
    return 1
end
exec @failed = dbo.sp_verify_agent_operator @operator_name, '@operator_name', @operator_id output
return @failed
GO
create or alter procedure dbo.sp_add_notification @alert_name sysname, @operator_name sysname, @notification_method tinyint
as
set nocount on
declare @failed int, @alert_id int, @operator_id int
exec @failed = dbo.sp_verify_notification @alert_name, @operator_name, @alert_id output, @operator_id output
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@notification_method', @notification_method, 1, 7
if @failed <> 0 return 1
if exists (select 1 from dbo.sysnotifications where alert_id = @alert_id and operator_id = @operator_id)
begin
    raiserror (14261, -1, -1, '@operator_name', @operator_name)
    return 1
end
insert dbo.sysnotifications values (@alert_id, @operator_id, @notification_method)
update dbo.sysalerts set has_notification = has_notification | @notification_method where id = @alert_id
exec master.dbo.xp_sqlagent_notify N'A', @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_update_notification @alert_name sysname, @operator_name sysname, @notification_method tinyint
as
set nocount on
declare @failed int, @alert_id int, @operator_id int
exec @failed = dbo.sp_verify_notification @alert_name, @operator_name, @alert_id output, @operator_id output
if @failed = 0 exec @failed = dbo.sp_verify_agent_number '@notification_method', @notification_method, 1, 7
if @failed <> 0 return 1
update dbo.sysnotifications set notification_method = @notification_method where alert_id = @alert_id and operator_id = @operator_id
if @@rowcount = 0
begin
    raiserror (14262, -1, -1, '@operator_name', @operator_name)
    return 1
end
exec master.dbo.xp_sqlagent_notify N'A', @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_delete_notification @alert_name sysname, @operator_name sysname
as
set nocount on
declare @failed int, @alert_id int, @operator_id int
exec @failed = dbo.sp_verify_notification @alert_name, @operator_name, @alert_id output, @operator_id output
if @failed <> 0 return 1
delete dbo.sysnotifications where alert_id = @alert_id and operator_id = @operator_id
if @@rowcount = 0
begin
    raiserror (14262, -1, -1, '@operator_name', @operator_name)
    return 1
end
exec master.dbo.xp_sqlagent_notify N'A', @action_type = N'U'
return 0
GO
create or alter procedure dbo.sp_help_notification
    @object_type char(9), @name sysname, @enum_type char(10), @notification_method tinyint, @target_name sysname = null
as
set nocount on
if @object_type = 'ALERTS'
    select o.id as operator_id, o.name as operator_name, iif(n.notification_method & 1 = 0, 0, 1) as use_email,
        iif(n.notification_method & 2 = 0, 0, 1) as use_pager, iif(n.notification_method & 4 = 0, 0, 1) as use_netsend,
        iif(o.email_address is null, 0, 1) as has_email, iif(o.pager_address is null, 0, 1) as has_pager,
        iif(o.netsend_address is null, 0, 1) as has_netsend
    from dbo.sysoperators o left join dbo.sysnotifications n on n.operator_id = o.id
        and n.alert_id = (select id from dbo.sysalerts where name = @name)
    where (n.notification_method & @notification_method <> 0 or @enum_type = 'ALL') and (@target_name is null or o.name = @target_name)
    order by o.name
else
    select a.id as alert_id, a.name as alert_name, iif(n.notification_method & 1 = 0, 0, 1) as use_email,
        iif(n.notification_method & 2 = 0, 0, 1) as use_pager, iif(n.notification_method & 4 = 0, 0, 1) as use_netsend,
        iif(o.email_address is null, 0, 1) as has_email, iif(o.pager_address is null, 0, 1) as has_pager,
        iif(o.netsend_address is null, 0, 1) as has_netsend
    from dbo.sysalerts a cross join dbo.sysoperators o
        left join dbo.sysnotifications n on n.operator_id = o.id and n.alert_id = a.id
    where o.name = @name and (n.notification_method & @notification_method <> 0 or @enum_type = 'ALL')
        and (@target_name is null or a.name = @target_name)
    order by a.name
return 0
GO
create or alter procedure dbo.sp_help_proxy
    @proxy_id int = null, @proxy_name sysname = null, @subsystem_name sysname = null, @name nvarchar(256) = null
as
set nocount on
select proxy_id, name, convert(sysname, null) as credential_identity, enabled, description, user_sid, credential_id,
    convert(int, null) as credential_identity_exists
from dbo.sysproxies
GO
create or alter procedure dbo.sp_enum_sqlagent_subsystems
as
set nocount on
select subsystem, N'Transact-SQL Subsystem' as description, subsystem_dll, agent_exe, start_entry_point, event_entry_point,
    stop_entry_point, max_worker_threads, subsystem_id
from dbo.syssubsystems
GO
grant execute on dbo.sp_help_category to SQLAgentUserRole;
grant execute on dbo.sp_help_operator to SQLAgentUserRole;
grant execute on dbo.sp_help_proxy to SQLAgentUserRole;
grant execute on dbo.sp_enum_sqlagent_subsystems to SQLAgentUserRole
