-- What tools ask before they read the default trace or managed backup: there is neither.
select count(*) as n from sys.traces where is_default = 1
select count(*) as n from sys.fn_trace_getinfo(default)
select count(*) as n from sys.fn_trace_getinfo(1)
select count(*) as n from fn_trace_geteventinfo(1)
select TextData, EventClass from sys.fn_trace_gettable(null, default)
GO
select count(*) as n from sys.fn_trace_gettable('/tmp/log.trc', default)
GO
select count(*) as n from sys.fn_no_such_function(default)
GO
select msdb.managed_backup.fn_is_master_switch_on() as is_on
select is_managed_backup_enabled from msdb.managed_backup.fn_backup_instance_config()
select count(*) as n from msdb.managed_backup.fn_backup_db_config(null)
select number_of_sql_errors, number_of_backup_loops from msdb.smart_admin.fn_get_health_status(default, default)
select count(*) as n from msdb.dbo.sysssispackages
GO
-- A scalar one takes DEFAULT too.
select sys.fn_hadr_backup_is_preferred_replica(default) as n
GO
-- A text that is NULL is no statement; a NULL without a type is no text.
declare @sql nvarchar(max)
exec sp_executesql @sql
exec sp_executesql @stmt = null
print 'goes on'
exec sp_executesql
GO
-- Connections have an id, which requests name too.
select count(*) as connections, count(distinct connection_id) as ids from sys.dm_exec_connections where session_id = @@spid
select c.net_transport, c.parent_connection_id from sys.dm_exec_requests r join sys.dm_exec_connections c on c.connection_id = r.connection_id where r.session_id = @@spid
GO
