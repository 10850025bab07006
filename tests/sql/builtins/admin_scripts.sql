-- What scripts for administrators ask and call: row versions, who the session is, columns that newer releases added, and procedures of older ones.
create database shop
go
use shop
create table t (id int primary key)
insert t values (1), (2)
go
-- Row versions are in memory: there is a row for each database.
select count(*) as rows from sys.dm_tran_version_store_space_usage where database_id = db_id() and reserved_page_count >= 0 and reserved_space_kb >= 0
alter database shop set allow_snapshot_isolation on
go
set transaction isolation level snapshot
begin transaction
select count(*) as rows from t
select is_snapshot, commit_sequence_num, first_snapshot_sequence_num, elapsed_time_seconds / 60 as minutes,
  case when a.transaction_id = s.transaction_id then 'own' end as [transaction]
from sys.dm_tran_active_snapshot_database_transactions a join sys.dm_tran_session_transactions s on s.session_id = a.session_id where a.session_id = @@spid
commit
set transaction isolation level read committed
select count(*) as open_transactions from sys.dm_tran_active_snapshot_database_transactions where session_id = @@spid
go
select page_resource, page_server_reads from sys.dm_exec_requests r outer apply sys.fn_PageResCracker(r.page_resource) where session_id = @@spid
select count(*) as clerks from sys.dm_os_memory_clerks where awe_allocated_kb + shared_memory_committed_kb + pages_kb >= 0 and page_size_in_bytes > 0
select persisted_sample_percent from sys.dm_db_stats_properties(object_id('t'), 1)
select count(*) as actions from sys.dm_xe_objects where object_type = 'action' and name in ('query_hash_signed', 'query_plan_hash_signed')
go
-- Who the session is, on the server and in the database.
create login joe with password = 'It''s a Passw0rd!'
create user joe for login joe
create role clerks
create role readers
alter role readers add member clerks
alter role clerks add member joe
alter server role dbcreator add member joe
go
execute as login = 'joe'
select name, type, usage from sys.login_token order by name
select name, type, usage, case when principal_id = user_id(name) then 'it' end as number from sys.user_token order by name
revert
execute as user = 'joe'
select count(*) as logins from sys.login_token
select name from sys.user_token order by name
revert
select class from sys.securable_classes where class_desc in ('DATABASE', 'OBJECT', 'SCHEMA', 'LOGIN') order by class
go
-- A login is made anew: its user is an orphan, until it is told whose it is.
drop login joe
create login joe with password = 'It''s a Passw0rd!'
create table #lost (name sysname, sid varbinary(85))
insert #lost exec sp_change_users_login 'Report'
select name from #lost
go
exec sp_change_users_login 'Auto_Fix', 'joe'
exec sp_change_users_login 'Report'
go
exec sp_change_users_login 'Update_One', 'joe', 'jim'
exec sp_change_users_login 'Nonsense'
drop login joe
go
exec sp_change_users_login 'Auto_Fix', 'joe', null, 'An0ther one!'
select count(*) as found from sys.server_principals where name = 'joe' and sid = suser_sid('joe')
go
exec sp_addapprole 'payroll', 'It''s a Passw0rd!'
exec sp_approlepassword 'payroll', 'An0ther one!'
select name, type from sys.database_principals where name = 'payroll'
exec sp_dropapprole 'payroll'
go
-- Data is stored in one way, whatever its compression is called.
exec sp_estimate_data_compression_savings 'dbo', 't', null, null, 'PAGE'
exec sp_estimate_data_compression_savings 'dbo', 'nothing', null, null, 'PAGE'
exec sp_estimate_data_compression_savings 'dbo', 't', null, null, 'ZIP'
go
create procedure sp_tool as select 1 as one
go
exec sys.sp_MS_marksystemobject 'sp_tool'
exec sp_MS_marksystemobject 'dbo.nothing'
exec sp_helpdevice
exec sp_helpdevice 'tape1'
go
exec xp_cmdshell 'dir'
declare @object int
exec sp_OACreate 'Scripting.FileSystemObject', @object out
go
exec xp_instance_regwrite N'HKEY_LOCAL_MACHINE', N'Software\Microsoft\MSSQLServer\MSSQLServer', N'NumErrorLogs', REG_DWORD, 12
exec sp_cycle_errorlog
exec msdb.dbo.sp_cycle_agent_errorlog
go
execute as login = 'joe'
exec sp_cycle_errorlog
revert
go
use master
exec sp_renamedb 'shop', 'store'
select name from sys.databases where name in ('shop', 'store')
go
-- The plan of what INSERT … EXEC runs goes to the client, not into the table.
use store
create table counted (n int)
create table t2 (id int)
go
set statistics profile on
insert counted exec ('select count(*) from t2')
set statistics profile off
select n from counted
go
use master
drop database store
drop login joe
go
-- sp_monitor is for administrators.
create user watcher without login
execute as user = 'watcher'
exec sp_monitor
revert
drop user watcher
GO
-- What the registry has.
exec xp_instance_regenumvalues N'HKEY_LOCAL_MACHINE', N'Software\Microsoft\MSSQLServer\MSSQLServer\SuperSocketNetLib\Np'
exec xp_instance_regenumvalues N'HKEY_LOCAL_MACHINE', N'Software\Nothing'
GO
