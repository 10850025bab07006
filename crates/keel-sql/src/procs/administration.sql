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
create procedure sys.sp_estimate_data_compression_savings @schema_name sysname, @object_name sysname, @index_id int, @partition_number int,
    @data_compression nvarchar(60), @xml_compression bit = null
as
set nocount on
declare @id int = object_id(quotename(isnull(@schema_name, schema_name())) + N'.' + quotename(@object_name)), @db sysname = db_name()
if @id is null
begin
    raiserror(15009, 16, 1, @object_name, @db)
    return 1
end
if @data_compression is not null and upper(@data_compression) not in ('NONE', 'ROW', 'PAGE', 'COLUMNSTORE', 'COLUMNSTORE_ARCHIVE')
begin
    raiserror(15021, 16, 1, '@data_compression')
    return 1
end
-- What is stored is not compressed by rows or pages, whatever the setting: it would stay as it is.
select convert(sysname, @object_name) as object_name, object_schema_name(@id) as schema_name, p.index_id, p.partition_number,
    convert(bigint, s.used_page_count * 8) as [size_with_current_compression_setting(KB)],
    convert(bigint, s.used_page_count * 8) as [size_with_requested_compression_setting(KB)],
    convert(bigint, s.used_page_count * 8) as [sample_size_with_current_compression_setting(KB)],
    convert(bigint, s.used_page_count * 8) as [sample_size_with_requested_compression_setting(KB)]
from sys.partitions p join sys.dm_db_partition_stats s on s.partition_id = p.partition_id
where p.object_id = @id and (@index_id is null or p.index_id = @index_id) and (@partition_number is null or p.partition_number = @partition_number)
order by 3, 4
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
