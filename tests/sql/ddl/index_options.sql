-- What indexes are told about pages, locks and statistics is kept and shown.
create database shown_options
GO
use shown_options
GO
create table t(a int constraint pk primary key with (pad_index = on, fillfactor = 90, statistics_norecompute = on), b int, c int index ic with (fillfactor = 60))
create index ib on t(b) with (fillfactor = 70, pad_index = on, allow_row_locks = off, allow_page_locks = off, optimize_for_sequential_key = on)
create table h(a int)
GO
select name, fill_factor, is_padded, allow_row_locks, allow_page_locks, optimize_for_sequential_key from sys.indexes where object_id in (object_id('t'), object_id('h')) order by object_id, index_id
select name, no_recompute from sys.stats where object_id = object_id('t') order by stats_id
select indexproperty(object_id('t'), 'ib', p.value) v, p.value from string_split('IsPadIndex,IndexFillFactor,IsRowLockDisallowed,IsPageLockDisallowed,IsOptimizedForSequentialKey', ',', 1) p order by p.ordinal
GO
-- Rebuilding keeps what it does not mention.
alter index ib on t rebuild
alter index ib on t rebuild with (fillfactor = 80)
alter index pk on t set (allow_row_locks = off, statistics_norecompute = off)
select name, fill_factor, is_padded, allow_row_locks, allow_page_locks, optimize_for_sequential_key from sys.indexes where object_id = object_id('t') order by index_id
select name, no_recompute from sys.stats where object_id = object_id('t') order by stats_id
GO
alter index ib on t reorganize
GO
alter index ib on t set (allow_page_locks = on)
alter index ib on t reorganize
GO
create index ix on t(b) with (fillfactor = 0)
GO
create index ix on t(b) with (fillfactor = 101)
GO
alter index ib on t rebuild with (fillfactor = 0)
GO
-- What a request does, in the words of sys.dm_exec_requests.
declare @a int = 1
select command into #c from sys.dm_exec_requests where session_id = @@spid
insert #c select command from sys.dm_exec_requests where session_id = @@spid
if exists (select 1 from sys.dm_exec_requests where session_id = @@spid and command = 'CONDITIONAL') print 'a condition'
;with r as (select command from sys.dm_exec_requests where session_id = @@spid) update #c set command = #c.command + ', ' + r.command from r
select * from #c
GO
use master
GO
drop database shown_options
GO
