create procedure sys.sp_cdc_enable_db
as
exec sys.sp_keel_cdc_enable_db
GO
create procedure sys.sp_cdc_disable_db
as
exec sys.sp_keel_cdc_disable_db
GO
create procedure sys.sp_cdc_enable_table @source_schema sysname, @source_name sysname, @capture_instance sysname = null,
    @supports_net_changes bit = null, @role_name sysname, @index_name sysname = null,
    @captured_column_list nvarchar(max) = null, @filegroup_name sysname = null, @allow_partition_switch bit = null
as
exec sys.sp_keel_cdc_enable_table @source_schema, @source_name, @capture_instance, @supports_net_changes, @role_name,
    @index_name, @captured_column_list, @filegroup_name, @allow_partition_switch
GO
create procedure sys.sp_cdc_disable_table @source_schema sysname, @source_name sysname, @capture_instance sysname
as
exec sys.sp_keel_cdc_disable_table @source_schema, @source_name, @capture_instance
GO
create procedure sys.sp_cdc_add_job @job_type nvarchar(20), @start_job bit = 1, @maxtrans int = null, @maxscans int = null,
    @continuous bit = null, @pollinginterval bigint = null, @retention bigint = null, @threshold bigint = null,
    @check_for_logreader bit = 0
as
exec sys.sp_keel_cdc_job N'add', @job_type, @maxtrans, @maxscans, @continuous, @pollinginterval, @retention, @threshold
if @start_job = 0 and @job_type = N'capture' exec sys.sp_keel_cdc_run N'stop', N'capture'
GO
create procedure sys.sp_cdc_change_job @job_type nvarchar(20) = N'capture', @maxtrans int = null, @maxscans int = null,
    @continuous bit = null, @pollinginterval bigint = null, @retention bigint = null, @threshold bigint = null
as
exec sys.sp_keel_cdc_job N'change', @job_type, @maxtrans, @maxscans, @continuous, @pollinginterval, @retention, @threshold
GO
create procedure sys.sp_cdc_drop_job @job_type nvarchar(20)
as
exec sys.sp_keel_cdc_job N'drop', @job_type
GO
create procedure sys.sp_cdc_start_job @job_type nvarchar(20) = N'capture'
as
exec sys.sp_keel_cdc_run N'start', @job_type
GO
create procedure sys.sp_cdc_stop_job @job_type nvarchar(20) = N'capture'
as
exec sys.sp_keel_cdc_run N'stop', @job_type
GO
create procedure sys.sp_cdc_help_jobs
as
set nocount on
exec sys.sp_keel_cdc_check
if @@error <> 0 return 1
select job_id, job_type, convert(sysname, N'cdc.' + db_name() + N'_' + job_type) as job_name, maxtrans, maxscans, continuous,
    pollinginterval, retention, threshold
from msdb.dbo.cdc_jobs where database_id = db_id()
order by job_type
GO
create procedure sys.sp_cdc_help_change_data_capture @source_schema sysname = null, @source_name sysname = null
as
set nocount on
exec sys.sp_keel_cdc_check
if @@error <> 0 return 1
if (nullif(@source_schema, N'') is null and nullif(@source_name, N'') is not null)
    or (nullif(@source_schema, N'') is not null and nullif(@source_name, N'') is null)
    raiserror(22972, 16, 1)
else if nullif(@source_name, N'') is not null
    and object_id(quotename(@source_schema) + N'.' + quotename(@source_name), N'U') is null
    raiserror(22931, 16, 1, @source_schema, @source_name)
else
    select convert(sysname, object_schema_name(c.source_object_id)) as source_schema,
        convert(sysname, object_name(c.source_object_id)) as source_table, c.capture_instance, c.object_id, c.source_object_id,
        c.start_lsn, c.end_lsn, c.supports_net_changes, c.has_drop_pending, c.role_name, c.index_name, c.filegroup_name,
        c.create_date,
        (select string_agg(convert(nvarchar(max), quotename(i.column_name)), N', ') within group (order by i.index_ordinal)
        from cdc.index_columns i where i.object_id = c.object_id) as index_column_list,
        (select string_agg(convert(nvarchar(max), quotename(k.column_name)), N', ') within group (order by k.column_ordinal)
        from cdc.captured_columns k where k.object_id = c.object_id) as captured_column_list
    from cdc.change_tables c
    where sys.fn_cdc_may_read(c.object_id) = 1 and (nullif(@source_name, N'') is null
        or c.source_object_id = object_id(quotename(@source_schema) + N'.' + quotename(@source_name), N'U'))
    order by 1, 2, c.create_date, c.object_id
GO
create procedure sys.sp_cdc_get_captured_columns @capture_instance sysname
as
set nocount on
exec sys.sp_keel_cdc_check
if @@error <> 0 return 1
if not exists (select 1 from cdc.change_tables where capture_instance = @capture_instance and sys.fn_cdc_may_read(object_id) = 1)
    raiserror(22981, 16, 1)
else
    select convert(sysname, object_schema_name(c.source_object_id)) as source_schema,
        convert(sysname, object_name(c.source_object_id)) as source_table, c.capture_instance, k.column_name, k.column_id,
        convert(int, k.column_ordinal) as ordinal_position, k.column_type as data_type,
        convert(int, columnproperty(c.object_id, k.column_name, 'charmaxlen')) as character_maximum_length,
        convert(tinyint, case when k.column_type in (N'float', N'real') or s.scale > 0 or s.precision > 0 and k.column_type
            in (N'tinyint', N'smallint', N'int', N'bigint', N'decimal', N'numeric', N'money', N'smallmoney') then s.precision end)
            as numeric_precision,
        convert(smallint, case when k.column_type in (N'float', N'real') then 2 when k.column_type
            in (N'tinyint', N'smallint', N'int', N'bigint', N'decimal', N'numeric', N'money', N'smallmoney') then 10 end)
            as numeric_precision_radix,
        convert(int, case when k.column_type
            in (N'tinyint', N'smallint', N'int', N'bigint', N'decimal', N'numeric', N'money', N'smallmoney') then s.scale end)
            as numeric_scale,
        convert(smallint, case when k.column_type in (N'date', N'smalldatetime') then 0 when k.column_type = N'datetime' then 3
            when k.column_type in (N'time', N'datetime2', N'datetimeoffset') then s.scale end) as datetime_precision
    from cdc.change_tables c
    join cdc.captured_columns k on k.object_id = c.object_id
    left join sys.columns s on s.object_id = c.object_id and s.name = k.column_name
    where c.capture_instance = @capture_instance
    order by k.column_ordinal
GO
create procedure sys.sp_cdc_get_source_columns @source_schema sysname, @source_name sysname
as
set nocount on
exec sys.sp_keel_cdc_check
if @@error <> 0 return 1
declare @id int = object_id(quotename(@source_schema) + N'.' + quotename(@source_name), N'U')
if @id is null
    raiserror(22931, 16, 1, @source_schema, @source_name)
else
    select c.name as column_name, c.column_id, convert(sysname, type_name(c.system_type_id)) as data_type,
        convert(int, columnproperty(c.object_id, c.name, 'charmaxlen')) as character_maximum_length,
        case when type_name(c.system_type_id) in (N'tinyint', N'smallint', N'int', N'bigint', N'decimal', N'numeric', N'money',
            N'smallmoney', N'float', N'real') then c.precision end as numeric_precision,
        convert(smallint, case when type_name(c.system_type_id) in (N'float', N'real') then 2 when type_name(c.system_type_id)
            in (N'tinyint', N'smallint', N'int', N'bigint', N'decimal', N'numeric', N'money', N'smallmoney') then 10 end)
            as numeric_precision_radix,
        convert(int, case when type_name(c.system_type_id) in (N'tinyint', N'smallint', N'int', N'bigint', N'decimal', N'numeric',
            N'money', N'smallmoney') then c.scale end) as numeric_scale,
        convert(smallint, case when type_name(c.system_type_id) in (N'date', N'smalldatetime') then 0
            when type_name(c.system_type_id) = N'datetime' then 3
            when type_name(c.system_type_id) in (N'time', N'datetime2', N'datetimeoffset') then c.scale end) as datetime_precision
    from sys.columns c where c.object_id = @id order by c.column_id
GO
create procedure sys.sp_cdc_get_ddl_history @capture_instance sysname
as
set nocount on
exec sys.sp_keel_cdc_check
if @@error <> 0 return 1
if not exists (select 1 from cdc.change_tables where capture_instance = @capture_instance and sys.fn_cdc_may_read(object_id) = 1)
    raiserror(22981, 16, 1)
else
    select convert(sysname, object_schema_name(c.source_object_id)) as source_schema,
        convert(sysname, object_name(c.source_object_id)) as source_table, c.capture_instance, h.required_column_update,
        h.ddl_command, h.ddl_lsn, h.ddl_time
    from cdc.change_tables c
    join cdc.ddl_history h on h.object_id = c.object_id
    where c.capture_instance = @capture_instance
    order by h.ddl_lsn, h.ddl_time
GO
create procedure sys.sp_cdc_cleanup_change_table @capture_instance sysname, @low_water_mark binary(10), @threshold bigint = 5000,
    @fCleanupFailed bit = 0 output
as
set nocount on
exec sys.sp_keel_cdc_check 1
if @@error <> 0 return 1
declare @id int, @min binary(10), @max binary(10), @mark nvarchar(22), @from nvarchar(22), @to nvarchar(22)
set @fCleanupFailed = 1
select @id = object_id, @min = start_lsn from cdc.change_tables where capture_instance = @capture_instance
set @max = sys.fn_cdc_get_max_lsn()
select @mark = convert(nvarchar(22), @low_water_mark, 1), @from = convert(nvarchar(22), @min, 1), @to = convert(nvarchar(22), @max, 1)
if isnull(@threshold, 0) <= 0 raiserror(22850, 16, 1)
else if @id is null begin
    declare @name sysname = db_name()
    raiserror(22920, 16, 1, @capture_instance, @name)
end
else if @low_water_mark is not null and (@low_water_mark < @min or @low_water_mark > @max)
    raiserror(22957, 16, 1, @mark, @capture_instance, @from, @to)
else if @low_water_mark is not null and not exists (select 1 from cdc.lsn_time_mapping where start_lsn = @low_water_mark)
    raiserror(22964, 16, 1, @mark)
else begin
    if @low_water_mark is not null update cdc.change_tables set start_lsn = @low_water_mark where object_id = @id
    exec sys.sp_keel_cdc_delete @threshold
    set @fCleanupFailed = 0
end
GO
create procedure sys.sp_keel_cdc_cleanup @retention bigint, @threshold bigint
as
set nocount on
exec sys.sp_keel_cdc_check 1
if @@error <> 0 return 1
declare @mark binary(10) = sys.fn_cdc_map_time_to_lsn(N'largest less than or equal', dateadd(minute, -@retention, getdate()))
update cdc.change_tables set start_lsn = @mark where start_lsn < @mark
exec sys.sp_keel_cdc_delete @threshold
GO
create procedure sys.sp_keel_cdc_delete @threshold bigint
as
set nocount on
exec sys.sp_keel_cdc_check 1
if @@error <> 0 return 1
declare @name sysname, @mark binary(10), @text nvarchar(max), @gone int
select @name = min(capture_instance) from cdc.change_tables
while @name is not null
begin
    select @mark = start_lsn, @gone = 1 from cdc.change_tables where capture_instance = @name
    set @text = N'delete top (@threshold) from cdc.' + quotename(@name + N'_CT') + N' where __$start_lsn < @mark set @gone = @@rowcount'
    while @gone > 0
        exec sp_executesql @text, N'@threshold bigint, @mark binary(10), @gone int output', @threshold, @mark, @gone output
    select @name = min(capture_instance) from cdc.change_tables where capture_instance > @name
end
select @mark = min(start_lsn), @gone = 1 from cdc.change_tables
while @gone > 0 and @mark is not null
begin
    delete top (@threshold) from cdc.lsn_time_mapping where start_lsn < @mark
    set @gone = @@rowcount
end
