create procedure sys.sp_renamedb @dbname sysname, @newname sysname
as
declare @sql nvarchar(max) = N'alter database ' + quotename(@dbname) + N' modify name = ' + quotename(@newname)
exec sp_executesql @sql
return @@error
GO
create procedure sys.sp_sqlexec @p1 nvarchar(max)
as
exec (@p1)
GO
create procedure sys.sp_MS_marksystemobject @objname nvarchar(517), @namespace varchar(20) = null
as
-- Scripts mark what they install in master. Procedures there are found from every database by their names anyway.
if object_id(@objname) is null
begin
    raiserror(15165, -1, -1, @objname)
    return 1
end
return 0
GO
create procedure sys.sp_change_users_login @Action varchar(10), @UserNamePattern sysname = null, @LoginName sysname = null,
    @Password sysname = null
as
declare @what nvarchar(10) = upper(@Action), @sql nvarchar(max), @made int = 0, @linked int = 0
if is_member('db_owner') = 0
begin
    raiserror(15247, -1, -1)
    return 1
end
if @what not in ('REPORT', 'UPDATE_ONE', 'AUTO_FIX')
begin
    raiserror(15286, -1, -1, @Action)
    return 1
end
if @what = 'REPORT'
begin
    select name as UserName, sid as UserSID from sys.database_principals
    where type = 'S' and authentication_type = 1 and principal_id > 4 and suser_sname(sid) is null order by name
    return 0
end
if not exists (select * from sys.database_principals where name = @UserNamePattern and type = 'S')
begin
    raiserror(15291, -1, -1, 'User', @UserNamePattern)
    return 1
end
set @LoginName = iif(@what = 'AUTO_FIX', @UserNamePattern, @LoginName)
if suser_id(@LoginName) is null
begin
    if @what = 'UPDATE_ONE' or @Password is null
    begin
        raiserror(15291, -1, -1, 'Login', @LoginName)
        return 1
    end
    raiserror(15293, -1, -1, @UserNamePattern)
    set @sql = N'create login ' + quotename(@LoginName) + N' with password = ' + quotename(@Password, '''')
    exec sp_executesql @sql
    if @@error <> 0 return 1
    set @made = 1
end
else if @what = 'AUTO_FIX'
begin
    raiserror(15292, -1, -1, @UserNamePattern)
    set @linked = 1
end
set @sql = N'alter user ' + quotename(@UserNamePattern) + N' with login = ' + quotename(@LoginName)
exec sp_executesql @sql
if @@error <> 0 return 1
if @what = 'AUTO_FIX'
begin
    raiserror(15295, -1, -1, @linked)
    raiserror(15294, -1, -1, @made)
end
return 0
GO
create procedure sys.sp_addapprole @rolename sysname, @password sysname
as
declare @sql nvarchar(max) = N'create application role ' + quotename(@rolename) + N' with password = ' + quotename(@password, '''')
exec sp_executesql @sql
return @@error
GO
create procedure sys.sp_approlepassword @rolename sysname, @newpwd sysname
as
declare @sql nvarchar(max) = N'alter application role ' + quotename(@rolename) + N' with password = ' + quotename(@newpwd, '''')
exec sp_executesql @sql
return @@error
GO
create procedure sys.sp_dropapprole @rolename sysname
as
declare @sql nvarchar(max) = N'drop application role ' + quotename(@rolename)
exec sp_executesql @sql
return @@error
GO
create procedure sys.sp_helpdevice @devname sysname = null
as
if @devname is not null and not exists (select * from sys.backup_devices where name = @devname)
begin
    raiserror(15012, -1, -1, @devname)
    return 1
end
select name as device_name, physical_name, type_desc as description, convert(int, type) as status, convert(smallint, type) as cntrltype, convert(int, 0) as size
from sys.backup_devices where @devname is null or name = @devname
return 0
GO
create procedure sys.sp_estimate_data_compression_savings @schema_name sysname, @object_name sysname, @index_id int,
    @partition_number int, @data_compression nvarchar(60), @xml_compression bit = null
as
-- Data is stored in one way whatever the setting: what is there is what there would be.
declare @id int = object_id(quotename(isnull(@schema_name, schema_name())) + N'.' + quotename(@object_name))
if not exists (select * from sys.objects where object_id = @id and type in ('U', 'V'))
begin
    raiserror(15001, -1, -1, @object_name)
    return 1
end
if @data_compression not in ('NONE', 'ROW', 'PAGE', 'COLUMNSTORE', 'COLUMNSTORE_ARCHIVE')
begin
    raiserror(15600, -1, -1, 'sys.sp_estimate_data_compression_savings')
    return 1
end
select o.name as object_name, schema_name(o.schema_id) as schema_name, s.index_id, s.partition_number,
    s.used_page_count * 8 as [size_with_current_compression_setting(KB)],
    s.used_page_count * 8 as [size_with_requested_compression_setting(KB)],
    s.used_page_count * 8 as [sample_size_with_current_compression_setting(KB)],
    s.used_page_count * 8 as [sample_size_with_requested_compression_setting(KB)]
from sys.dm_db_partition_stats s join sys.objects o on o.object_id = s.object_id
where o.object_id = @id and (@index_id is null or s.index_id = @index_id)
    and (@partition_number is null or s.partition_number = @partition_number)
order by s.index_id, s.partition_number
return 0
GO
create procedure sys.xp_cmdshell @command varchar(8000), @no_output varchar(10) = null
as
-- This server starts no programs: as the product's does before somebody turns that on.
raiserror(15281, 16, 1, 'sys.xp_cmdshell', 'xp_cmdshell', 'xp_cmdshell', 'xp_cmdshell', 'xp_cmdshell')
return 1
GO
create procedure sys.sp_OACreate @progid nvarchar(4000), @objecttoken int = null output, @context int = null
as
raiserror(15281, 16, 1, 'sys.sp_OACreate', 'Ole Automation Procedures', 'Ole Automation Procedures', 'Ole Automation Procedures', 'Ole Automation Procedures')
return 1
GO
create procedure sys.sp_send_dbmail @profile_name sysname = null, @recipients varchar(max) = null,
    @copy_recipients varchar(max) = null, @blind_copy_recipients varchar(max) = null, @subject nvarchar(255) = null,
    @body nvarchar(max) = null, @body_format varchar(20) = null, @importance varchar(6) = 'NORMAL',
    @sensitivity varchar(12) = 'NORMAL', @file_attachments nvarchar(max) = null, @query nvarchar(max) = null,
    @execute_query_database sysname = null, @attach_query_result_as_file bit = 0, @query_attachment_filename nvarchar(260) = null,
    @query_result_header bit = 1, @query_result_width int = 256, @query_result_separator varchar(1) = ' ',
    @exclude_query_output bit = 0, @append_query_error bit = 0, @query_no_truncate bit = 0, @query_result_no_padding bit = 0,
    @mailitem_id int = null output, @from_address varchar(max) = null, @reply_to varchar(max) = null
as
raiserror(15281, 16, 1, 'dbo.sp_send_dbmail', 'Database Mail XPs', 'Database Mail XPs', 'Database Mail XPs', 'Database Mail XPs')
return 1
GO
create procedure sys.sp_cycle_errorlog
as
dbcc errorlog
return @@error
GO
create procedure sys.sp_cycle_agent_errorlog
as
-- What jobs say is in the server's own error log.
if is_srvrolemember('sysadmin') = 0
begin
    raiserror(15247, -1, -1)
    return 1
end
return 0
