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
create procedure sys.sp_msx_get_account
as
select top 0 convert(int, null) as msx_connection, convert(int, null) as msx_credential_id,
    convert(nvarchar(300), null) as msx_credential_name, convert(nvarchar(300), null) as msx_login_name
GO
create procedure sys.sp_enum_login_for_proxy @name nvarchar(256) = null, @proxy_id int = null, @proxy_name sysname = null
as
select top 0 convert(int, null) as proxy_id, convert(sysname, null) as proxy_name, convert(int, null) as flags,
    convert(sysname, null) as name, convert(varbinary(85), null) as sid, convert(int, null) as principal_id
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
-- Nobody is told of alerts: there is no mail.
select cast(null as nvarchar(255)) as FailSafeOperator, 0 as NotificationMethod, cast(null as nvarchar(255)) as ForwardingServer,
    0 as ForwardingSeverity, cast(null as nvarchar(255)) as PagerToTemplate, cast(null as nvarchar(255)) as PagerCCTemplate,
    cast(null as nvarchar(255)) as PagerSubjectTemplate, 0 as PagerSendSubjectOnly, 0 as ForwardAlways
GO
create procedure sys.xp_sqlagent_enum_jobs @is_sysadmin int, @job_owner sysname, @job_id uniqueidentifier = null
as
select j.job_id as [Job ID], isnull(s.last_run_date, 0) as [Last Run Date], isnull(s.last_run_time, 0) as [Last Run Time],
    isnull(x.next_run_date, 0) as [Next Run Date], isnull(x.next_run_time, 0) as [Next Run Time],
    isnull(x.schedule_id, 0) as [Next Run Schedule ID], 0 as [Requested To Run], 0 as [Request Source],
    convert(sysname, null) as [Request Source ID], iif(a.job_id is null, 0, 1) as [Running], isnull(a.step_id, 0) as [Current Step],
    isnull(a.retry_attempt, 0) as [Current Retry Attempt], isnull(a.state, 4) as [State]
from msdb.dbo.sysjobs_view j left join msdb.dbo.sysjobservers s on s.job_id = j.job_id
    left join sys.dm_keel_agent_jobs a on a.job_id = j.job_id
    outer apply (select top 1 t.next_run_date, t.next_run_time, t.schedule_id from msdb.dbo.sysjobschedules t
        where t.job_id = j.job_id and t.next_run_date > 0 order by t.next_run_date, t.next_run_time) x
where (@is_sysadmin = 1 or j.owner_sid = suser_sid(@job_owner)) and (@job_id is null or j.job_id = @job_id)
GO
create procedure sys.sp_sqljdbc_xa_install
as
-- The procedures are built in; what the product's installation adds besides is who may call them.
if is_srvrolemember('sysadmin') = 0 begin raiserror(15247, -1, -1); return 1 end
if not exists (select * from master.sys.database_principals where name = 'SqlJDBCXAUser' and type = 'R')
    exec master.sys.sp_executesql N'create role [SqlJDBCXAUser]'
return 0
GO
create procedure sys.sp_sqljdbc_xa_uninstall
as
if is_srvrolemember('sysadmin') = 0 begin raiserror(15247, -1, -1); return 1 end
if exists (select * from master.sys.database_principals where name = 'SqlJDBCXAUser' and type = 'R')
    exec master.sys.sp_executesql N'drop role [SqlJDBCXAUser]'
return 0
