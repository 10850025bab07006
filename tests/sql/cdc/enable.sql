-- Change data capture: enabling and disabling.
create database shop
GO
use shop
GO
-- Nothing works before the database is enabled.
exec sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'item', @role_name = null
GO
exec sys.sp_cdc_help_change_data_capture
GO
select sys.fn_cdc_get_max_lsn()
GO
exec sys.sp_cdc_enable_db
GO
exec sys.sp_cdc_enable_db
GO
select name, is_cdc_enabled from sys.databases where name in ('shop', 'master')
select s.name, p.name as owner from sys.schemas s join sys.database_principals p on p.principal_id = s.principal_id where s.name = 'cdc'
select name, type, is_ms_shipped from sys.objects where schema_id = schema_id('cdc') order by name
select object_name(object_id) as of_table, name from sys.columns where object_schema_name(object_id) = 'cdc' order by object_name(object_id), column_id
GO
use master
exec sys.sp_cdc_enable_db
GO
use shop
create table dbo.item (id int not null constraint pk_item primary key, name nvarchar(30) null, price decimal(9, 2) null, twice as id * 2, stamp rowversion)
create table dbo.keyless (a int null, b varchar(10) null)
create table dbo.keyed (a int not null, b int null, c int not null)
create unique index by_a on dbo.keyed (a)
create unique index by_b on dbo.keyed (b)
create index by_c on dbo.keyed (c)
GO
exec sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'item'
GO
exec sys.sp_cdc_enable_table N'dbo', N'nothing', @role_name = null
GO
exec sys.sp_cdc_enable_table N'', N'item', @role_name = null
GO
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = N''
GO
exec sys.sp_cdc_enable_table N'cdc', N'change_tables', @role_name = null
GO
exec sys.sp_cdc_enable_table N'dbo', N'keyless', @role_name = null, @supports_net_changes = 1
GO
exec sys.sp_cdc_enable_table N'dbo', N'keyed', @role_name = null, @supports_net_changes = 1, @index_name = N'by_nothing'
GO
exec sys.sp_cdc_enable_table N'dbo', N'keyed', @role_name = null, @supports_net_changes = 1, @index_name = N'by_c'
GO
exec sys.sp_cdc_enable_table N'dbo', N'keyed', @role_name = null, @supports_net_changes = 1, @index_name = N'by_b'
GO
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null, @captured_column_list = N'id, nothing'
GO
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null, @captured_column_list = N'name'
GO
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null, @captured_column_list = N'id, [name'
GO
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null, @filegroup_name = N'FAST'
GO
declare @long sysname = replicate('x', 101)
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null, @capture_instance = @long
GO
exec sys.sp_cdc_enable_table @source_schema = N'dbo', @source_name = N'item', @role_name = N'readers'
GO
exec sys.sp_cdc_enable_table N'dbo', N'item', @role_name = null
GO
exec sys.sp_cdc_enable_table N'dbo', N'item', N'item_2', @role_name = null, @captured_column_list = N'[id], price', @supports_net_changes = 0
GO
exec sys.sp_cdc_enable_table N'dbo', N'item', N'item_3', @role_name = null
GO
exec sys.sp_cdc_enable_table N'dbo', N'keyed', @role_name = null, @supports_net_changes = 1, @index_name = N'by_a', @allow_partition_switch = 0
GO
select name, is_tracked_by_cdc from sys.tables where schema_id = 1 order by name
select capture_instance, object_name(object_id) as change_table, object_name(source_object_id) as source, supports_net_changes, role_name, index_name,
    filegroup_name, partition_switch, case when start_lsn > 0x00 then 1 end as started
from cdc.change_tables order by capture_instance
select object_name(object_id) as change_table, column_name, column_id, column_type, column_ordinal, is_computed from cdc.captured_columns order by 1, column_ordinal
select object_name(object_id) as change_table, column_name, index_ordinal, column_id from cdc.index_columns order by 1, index_ordinal
select c.name, type_name(c.user_type_id) as type, c.max_length, c.is_nullable from sys.columns c where c.object_id = object_id('cdc.dbo_item_CT') order by c.column_id
select name from sys.database_principals where type = 'R' and is_fixed_role = 0 order by name
select name, type from sys.objects where schema_id = schema_id('cdc') and type = 'IF' order by name
GO
create table #help (source_schema sysname, source_table sysname, capture_instance sysname, object_id int, source_object_id int, start_lsn binary(10),
    end_lsn binary(10), supports_net_changes bit, has_drop_pending bit, role_name sysname null, index_name sysname null, filegroup_name sysname null,
    create_date datetime, index_column_list nvarchar(max), captured_column_list nvarchar(max))
insert #help exec sys.sp_cdc_help_change_data_capture
select source_schema, source_table, capture_instance, supports_net_changes, role_name, index_name, index_column_list, captured_column_list from #help
delete #help
insert #help exec shop.sys.sp_cdc_help_change_data_capture @source_schema = N'dbo', @source_name = N'keyed'
select capture_instance from #help
GO
exec sys.sp_cdc_help_change_data_capture @source_schema = N'dbo'
GO
exec sys.sp_cdc_help_change_data_capture @source_schema = N'dbo', @source_name = N'nothing'
GO
exec sys.sp_cdc_get_captured_columns N'dbo_item'
GO
exec sys.sp_cdc_get_captured_columns N'nothing'
GO
exec sys.sp_cdc_get_source_columns N'dbo', N'item'
GO
exec sys.sp_cdc_disable_table N'dbo', N'item', N'nothing'
GO
exec sys.sp_cdc_disable_table N'dbo', N'keyless', N'all'
GO
exec sys.sp_cdc_disable_table N'dbo', N'item', N'item_2'
GO
select capture_instance from cdc.change_tables order by capture_instance
select name from sys.objects where schema_id = schema_id('cdc') and name like '%item%' order by name
GO
exec sys.sp_cdc_disable_table N'dbo', N'item', N'all'
GO
select capture_instance from cdc.change_tables order by capture_instance
select name, is_tracked_by_cdc from sys.tables where schema_id = 1 order by name
GO
exec sys.sp_cdc_disable_db
GO
select is_cdc_enabled from sys.databases where name = 'shop'
select count(*) from sys.objects where schema_id = schema_id('cdc')
select schema_id('cdc'), user_id('cdc')
select name, is_tracked_by_cdc from sys.tables where schema_id = 1 order by name
GO
-- A schema of that name is in the way.
create schema cdc
GO
exec sys.sp_cdc_enable_db
GO
drop schema cdc
GO
exec sys.sp_cdc_enable_db
GO
select is_cdc_enabled from sys.databases where name = 'shop'
GO
