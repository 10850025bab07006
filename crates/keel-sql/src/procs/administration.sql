create procedure sys.sp_renamedb @dbname sysname, @newname sysname
as
set nocount on
if db_id(@dbname) is null
begin
    raiserror(15010, 16, 1, @dbname)
    return 1
end
declare @text nvarchar(max) = N'alter database ' + quotename(@dbname) + N' modify name = ' + quotename(@newname)
exec (@text)
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
create procedure sys.sp_helpdevice @devname sysname = null
as
set nocount on
if @devname is not null and not exists (select 1 from sys.backup_devices where name = @devname)
begin
    raiserror(15012, 16, 1, @devname)
    return 1
end
select name as device_name, physical_name, convert(nvarchar(255), 'disk, backup device') as description, convert(smallint, 16) as status,
    convert(tinyint, type) as cntrltype, convert(int, 0) as size
from sys.backup_devices where @devname is null or name = @devname order by name
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
GO
create procedure sys.sp_helpsort
as
set nocount on
declare @description nvarchar(1000)
select @description = description from sys.fn_helpcollations() where name = convert(sysname, serverproperty('Collation'))
print 'Server default collation'
select @description as [Server default collation]
return 0
GO
create procedure sys.sp_createstats @indexonly char(9) = 'NO', @fullscan char(9) = 'NO', @norecompute char(12) = 'NO', @incremental char(12) = 'NO'
as
set nocount on
if is_rolemember('db_owner') = 0
begin
    raiserror(15247, 16, 1)
    return 1
end
declare @table nvarchar(600), @last nvarchar(600) = N'', @column sysname, @text nvarchar(max), @with nvarchar(100)
set @with = concat(case when upper(@fullscan) = 'FULLSCAN' then N', fullscan' end,
    case when upper(@norecompute) = 'NORECOMPUTE' then N', norecompute' end)
declare each_column cursor local static for
    select quotename(schema_name(t.schema_id)) + N'.' + quotename(t.name), c.name
    from sys.tables t join sys.columns c on c.object_id = t.object_id
    where c.is_computed = 0 and type_name(c.system_type_id) not in ('xml', 'text', 'ntext', 'image', 'geometry', 'geography')
        and c.max_length <> -1
        and not exists (select 1 from sys.stats_columns s where s.object_id = c.object_id and s.column_id = c.column_id and s.stats_column_id = 1)
        and not exists (select 1 from sys.stats s where s.object_id = c.object_id and s.name = c.name)
        and (upper(@indexonly) <> 'INDEXONLY' or exists (select 1 from sys.index_columns k where k.object_id = c.object_id and k.column_id = c.column_id))
    order by 1, c.column_id
open each_column
fetch next from each_column into @table, @column
while @@fetch_status = 0
begin
    if @table <> @last print concat(N'Table ''', @table, N''': Creating statistics for the following columns:')
    set @last = @table
    print concat(N'     ', @column)
    set @text = concat(N'create statistics ', quotename(@column), N' on ', @table, N' (', quotename(@column), N')', N' with ' + stuff(nullif(@with, N''), 1, 2, N''))
    exec (@text)
    fetch next from each_column into @table, @column
end
close each_column
deallocate each_column
print 'Statistics have been created for the listed columns of the above tables.'
return 0
GO
create procedure sys.sp_validname @name sysname, @raise_error bit = 1
as
set nocount on
if @name is null or datalength(@name) = 0 or charindex(nchar(0), @name) > 0
begin
    if @raise_error = 1 raiserror(15004, 16, 1)
    return 1
end
return 0
GO
create procedure sys.xp_sprintf @string varchar(8000) output, @format varchar(8000), @1 varchar(8000) = null, @2 varchar(8000) = null,
    @3 varchar(8000) = null, @4 varchar(8000) = null, @5 varchar(8000) = null, @6 varchar(8000) = null, @7 varchar(8000) = null,
    @8 varchar(8000) = null, @9 varchar(8000) = null, @10 varchar(8000) = null, @11 varchar(8000) = null, @12 varchar(8000) = null,
    @13 varchar(8000) = null, @14 varchar(8000) = null, @15 varchar(8000) = null, @16 varchar(8000) = null, @17 varchar(8000) = null,
    @18 varchar(8000) = null, @19 varchar(8000) = null, @20 varchar(8000) = null
as
set nocount on
set @string = formatmessage(@format, @1, @2, @3, @4, @5, @6, @7, @8, @9, @10, @11, @12, @13, @14, @15, @16, @17, @18, @19, @20)
return 0
GO
create procedure sys.sp_attach_db @dbname sysname, @filename1 nvarchar(260), @filename2 nvarchar(260) = null, @filename3 nvarchar(260) = null, @filename4 nvarchar(260) = null, @filename5 nvarchar(260) = null, @filename6 nvarchar(260) = null, @filename7 nvarchar(260) = null, @filename8 nvarchar(260) = null, @filename9 nvarchar(260) = null, @filename10 nvarchar(260) = null, @filename11 nvarchar(260) = null, @filename12 nvarchar(260) = null, @filename13 nvarchar(260) = null, @filename14 nvarchar(260) = null, @filename15 nvarchar(260) = null, @filename16 nvarchar(260) = null
as
set nocount on
declare @files nvarchar(max) = (select string_agg(concat(N'(filename = N''', replace(f, N'''', N''''''), N''')'), N', ')
    from (values (@filename1), (@filename2), (@filename3), (@filename4), (@filename5), (@filename6), (@filename7), (@filename8), (@filename9), (@filename10), (@filename11), (@filename12), (@filename13), (@filename14), (@filename15), (@filename16)) files (f) where f is not null)
declare @text nvarchar(max) = concat(N'create database ', quotename(@dbname), N' on ', @files, N' for attach')
exec (@text)
return @@error
GO
create procedure sys.sp_attach_single_file_db @dbname sysname, @physname nvarchar(260)
as
set nocount on
declare @text nvarchar(max) = concat(N'create database ', quotename(@dbname), N' on (filename = N''', replace(@physname, N'''', N''''''), N''') for attach')
exec (@text)
return @@error
