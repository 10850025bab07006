-- Counters move when something happens.
create database shop
GO
use shop
GO
create table t (id int primary key)
select rtrim(counter_name) as counter, cntr_value into #before from sys.dm_os_performance_counters
where object_name = 'SQLServer:Databases' and instance_name = 'shop'
GO
insert t values (1)
GO
insert t values (2)
GO
select rtrim(a.counter_name) as counter, a.cntr_value - b.cntr_value as happened
from sys.dm_os_performance_counters a join #before b on b.counter = a.counter_name
where a.object_name = 'SQLServer:Databases' and a.instance_name = 'shop' and a.counter_name in ('Write Transactions/sec', 'Log Flushes/sec')
order by 1
GO
select counter_name, cntr_type, len(object_name) as l, datalength(counter_name) as b from sys.dm_os_performance_counters
where counter_name = 'Batch Requests/sec'
GO
select distinct rtrim(object_name) as object from sys.dm_os_performance_counters order by 1
GO
select wait_type from sys.dm_os_wait_stats where wait_type in ('WRITELOG', 'LCK_M_X') order by 1
GO
begin tran
insert t values (3)
select resource_type, request_mode, request_status from sys.dm_tran_locks where request_session_id = @@spid and resource_type <> 'DATABASE' order by 1, 2
select count(*) as n from sys.dm_tran_session_transactions where session_id = @@spid
select transaction_type, transaction_state from sys.dm_tran_active_transactions
rollback
GO
select file_id, case when num_of_writes > 0 then 1 else 0 end as written from sys.dm_io_virtual_file_stats(db_id('shop'), null)
select count(*) as n from sys.dm_io_virtual_file_stats(db_id(), 2)
GO
select count(*) as n from sys.dm_exec_sessions where session_id = @@spid
exec sp_who
GO
-- A plan's attributes say of which database and module it is.
create procedure planned as select 1 as a
GO
exec planned
GO
select a.attribute, case a.attribute when 'dbid' then db_name(cast(a.value as int)) else object_name(cast(a.value as int)) end as of_what
from sys.dm_exec_procedure_stats p cross apply sys.dm_exec_plan_attributes(p.plan_handle) a
where p.object_id = object_id('planned') order by a.attribute
GO
select name, denylogin, hasaccess, isntname, sysadmin, dbcreator, language from sys.syslogins
GO
