-- What is counted is counted, and what is set is shown, to others too.
create table t (a int constraint pk_t primary key, b int)
insert t select value, value % 7 from generate_series(1, 1000)
checkpoint
select iif(@@total_write > 0, 1, 0) as writes, @@timeticks as us, @@packet_errors as errors
select file_id('master') as data, file_id('master_log') as log, file_id('other') as other,
  filegroup_id('primary') as fg, filegroup_id('other') as other_fg
GO
select stats_date(object_id('t'), 1) as before_anybody_asked
GO
select count(*) as n from t where b = 3 and a < 500
select iif(stats_date(object_id('t'), 1) > '20200101', 1, 0) as sampled, stats_date(object_id('t'), 99) as none
GO
create procedure p @a decimal(9, 2), @b nvarchar(20) output as select @b = @a
GO
select columnproperty(object_id('p'), '@a', 'Precision') as p, columnproperty(object_id('p'), '@a', 'Scale') as s,
  columnproperty(object_id('p'), '@b', 'IsOutParam') as o, columnproperty(object_id('p'), '@b', 'charmaxlen') as c,
  columnproperty(object_id('p'), '@c', 'Scale') as none
GO
-- session a:
set transaction isolation level serializable
set lock_timeout 1500
set dateformat dmy
set datefirst 1
set deadlock_priority high
set arithabort on
set concat_null_yields_null off
set textsize 1000
GO
select 1 / 0 as fails
GO
-- session b:
select transaction_isolation_level, lock_timeout, date_format, date_first, deadlock_priority, arithabort, ansi_nulls,
  concat_null_yields_null, text_size, language, prev_error, row_count
from sys.dm_exec_sessions where session_id <> @@spid and lock_timeout <> -1
GO
-- A procedure's settings end with it.
-- session a:
exec('set lock_timeout 7 set arithabort off')
GO
-- session b:
select lock_timeout, arithabort from sys.dm_exec_sessions where session_id <> @@spid and lock_timeout <> -1
GO
-- session a:
select transaction_isolation_level, lock_timeout, date_format, date_first, deadlock_priority, arithabort, text_size, prev_error, nest_level
from sys.dm_exec_requests where session_id = @@spid
GO
-- Open transactions by database, with the log they have written; the machine as the kernel sees it.
-- session a:
begin tran nightly
insert t select value, 0 from generate_series(2001, 2010)
create table #own (a int)
insert #own values (1)
GO
-- session b:
select name, transaction_state from sys.dm_tran_active_transactions
select db_name(database_id) as db, database_transaction_type as ty, database_transaction_state as st,
  iif(database_transaction_log_bytes_used > 100, 'some', 'none') as log
from sys.dm_tran_database_transactions order by database_id
GO
-- session a:
rollback
GO
-- session b:
select count(*) as n from sys.dm_tran_database_transactions
select iif(physical_memory_kb > 100000 and committed_kb > 1000 and process_user_time_ms >= 0, 'seen', 'wrong') as machine from sys.dm_os_sys_info
select iif(available_physical_memory_kb < total_physical_memory_kb, 'seen', 'wrong') as memory from sys.dm_os_sys_memory
select iif(physical_memory_in_use_kb > 1000 and page_fault_count > 100, 'seen', 'wrong') as process from sys.dm_os_process_memory
select iif(min(current_workers_count) > 0 and sum(current_tasks_count) > 0, 'seen', 'wrong') as schedulers from sys.dm_os_schedulers
GO
