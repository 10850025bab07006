-- What administrators' scripts look into although there is nothing: views over features that are not here have their columns.
create database shop
GO
use shop
GO
select is_enabled from sys.resource_governor_configuration
GO
select count(*) as grants from sys.dm_exec_query_memory_grants where queue_id is null and ideal_memory_kb > 0
select count(*) as profiles from sys.dm_exec_query_profiles
select count(*) as segments from sys.column_store_segments s join sys.column_store_dictionaries d on d.hobt_id = s.hobt_id
select count(*) as backups from msdb.dbo.backupset where database_guid is not null and is_copy_only = 0
GO
-- Processors, memory and plans are there.
select n.node_state_desc, case when n.cpu_count = i.cpu_count then 'all processors' end as processors
from sys.dm_os_nodes n cross join sys.dm_os_sys_info i
select memory_node_id from sys.dm_os_memory_nodes where pages_kb >= 0
select name, type from sys.dm_os_memory_cache_counters where entries_count >= entries_in_use_count order by name
GO
create table t (id int primary key)
GO
-- Columns of views, by their names.
create view v as select id, convert(nvarchar(20), id) as name from t
GO
select col_length('v', 'name') as own, col_length('sys.dm_os_sys_info', 'cpu_count') as system,
    col_length('sys.dm_os_sys_info', 'nonsense') as unknown
select columnproperty(object_id('v'), 'name', 'ColumnId') as own, columnproperty(object_id('v'), 'name', 'CharMaxLen') as length,
    columnproperty(object_id('sys.dm_os_nodes'), 'node_id', 'ColumnId') as system
select fileproperty('shop', 'IsPrimaryFile') as data, fileproperty('shop_log', 'IsLogFile') as log,
    fileproperty('shop', 'IsReadOnly') as read_only, fileproperty('nonsense', 'IsLogFile') as unknown,
    case when fileproperty('shop', 'SpaceUsed') >= 0 then 'counted' end as pages
GO
-- A query store that holds nothing is cleared, too.
alter database shop set query_store clear all
GO
-- A module may read its own text.
create procedure own_text as
select t.text from sys.dm_exec_requests r cross apply sys.dm_exec_sql_text(r.sql_handle) t where r.session_id = @@spid
GO
exec own_text
GO
