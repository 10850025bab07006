create function sys.fn_cdc_get_max_lsn () returns binary(10)
as
begin
return (select max(start_lsn) from cdc.lsn_time_mapping with (readcommitted))
end
GO
create function sys.fn_cdc_get_min_lsn (@capture_instance sysname) returns binary(10)
as
begin
return isnull((select start_lsn from cdc.change_tables with (readcommitted) where capture_instance = @capture_instance
    and sys.fn_cdc_may_read(object_id) = 1), 0x00000000000000000000)
end
GO
create function sys.fn_cdc_increment_lsn (@lsn_value binary(10)) returns binary(10)
as
begin
if @lsn_value is null return null
declare @high bigint = convert(bigint, substring(@lsn_value, 1, 5)), @low bigint = convert(bigint, substring(@lsn_value, 6, 5)) + 1
if @low > 0xFFFFFFFFFF select @high = @high + 1, @low = 0
return convert(binary(5), @high) + convert(binary(5), @low)
end
GO
create function sys.fn_cdc_decrement_lsn (@lsn_value binary(10)) returns binary(10)
as
begin
if @lsn_value is null return null
declare @high bigint = convert(bigint, substring(@lsn_value, 1, 5)), @low bigint = convert(bigint, substring(@lsn_value, 6, 5)) - 1
if @low < 0 select @high = @high - 1, @low = 1099511627775
return convert(binary(5), @high) + convert(binary(5), @low)
end
GO
create function sys.fn_cdc_map_lsn_to_time (@lsn_value binary(10)) returns datetime
as
begin
return (select tran_end_time from cdc.lsn_time_mapping with (readcommitted) where start_lsn = @lsn_value)
end
GO
create function sys.fn_cdc_map_time_to_lsn (@relational_operator nvarchar(30), @tracking_time datetime) returns binary(10)
as
begin
declare @operator nvarchar(30) = lower(rtrim(ltrim(@relational_operator)))
if @operator = N'largest less than'
    return (select max(start_lsn) from cdc.lsn_time_mapping with (readcommitted) where tran_end_time < @tracking_time)
if @operator = N'largest less than or equal'
    return (select max(start_lsn) from cdc.lsn_time_mapping with (readcommitted) where tran_end_time <= @tracking_time)
if @operator = N'smallest greater than'
    return (select min(start_lsn) from cdc.lsn_time_mapping with (readcommitted) where tran_end_time > @tracking_time)
if @operator = N'smallest greater than or equal'
    return (select min(start_lsn) from cdc.lsn_time_mapping with (readcommitted) where tran_end_time >= @tracking_time)
return null
end
GO
create function sys.fn_cdc_get_column_ordinal (@capture_instance sysname, @column_name sysname) returns int
as
begin
return (select k.column_ordinal from cdc.captured_columns k with (readcommitted)
    join cdc.change_tables c with (readcommitted) on c.object_id = k.object_id
    where c.capture_instance = @capture_instance and k.column_name = @column_name and sys.fn_cdc_may_read(c.object_id) = 1)
end
GO
create function sys.fn_cdc_is_bit_set (@position int, @update_mask varbinary(128)) returns bit
as
begin
declare @byte int = datalength(@update_mask) - (@position - 1) / 8
if @position is null or @update_mask is null or @position < 1 or @byte < 1 return 0
if convert(int, substring(@update_mask, @byte, 1)) & power(2, (@position - 1) % 8) = 0 return 0
return 1
end
GO
create function sys.fn_cdc_has_column_changed (@capture_instance sysname, @column_name sysname, @update_mask varbinary(128))
returns bit
as
begin
declare @ordinal int = sys.fn_cdc_get_column_ordinal(@capture_instance, @column_name)
if @ordinal is null return null
return sys.fn_cdc_is_bit_set(@ordinal, @update_mask)
end
GO
create function sys.fn_cdc_may_read (@change_table int) returns bit
as
begin
declare @source int, @role sysname, @missing int = 0
select @source = source_object_id, @role = role_name from cdc.change_tables with (readcommitted) where object_id = @change_table
if @source is null return 0
if is_member(N'db_owner') = 1 return 1
if @role is not null and isnull(is_member(@role), 0) = 0 return 0
declare @table nvarchar(600) = quotename(object_schema_name(@source)) + N'.' + quotename(object_name(@source))
-- Who has no permission on the table at all does not see its name.
if @table is null return 0
if has_perms_by_name(@table, N'OBJECT', N'SELECT') = 1 return 1
select @missing = count(*) from cdc.captured_columns k with (readcommitted)
    join sys.columns s on s.object_id = @source and s.column_id = k.column_id
    where k.object_id = @change_table
        and isnull(has_perms_by_name(@table, N'OBJECT', N'SELECT', s.name, N'COLUMN'), 0) = 0
if @missing > 0 return 0
return 1
end
GO
create function sys.fn_cdc_check_parameters (@capture_instance sysname, @from_lsn binary(10), @to_lsn binary(10),
    @row_filter_option nvarchar(30), @net_changes bit) returns bit
as
begin
declare @min binary(10), @max binary(10), @id int
select @id = object_id, @min = start_lsn from cdc.change_tables with (readcommitted) where capture_instance = @capture_instance
if sys.fn_cdc_may_read(@id) = 0 return sys.fn_keel_cdc_refuse(229, @net_changes, @capture_instance)
set @max = sys.fn_cdc_get_max_lsn()
if @from_lsn is null or @to_lsn is null or @min is null or @max is null or @from_lsn < @min or @to_lsn > @max
    or @from_lsn > @to_lsn or @row_filter_option is null
    or @net_changes = 0 and @row_filter_option not in (N'all', N'all update old')
    or @net_changes = 1 and @row_filter_option not in (N'all', N'all with mask', N'all with merge')
    return sys.fn_keel_cdc_refuse(313, @net_changes, @capture_instance)
return 1
end
