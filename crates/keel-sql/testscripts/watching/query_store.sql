-- The Query Store: options, what is recorded of statements, procedures, and that it is still there after a crash.
create database shop
GO
use shop
GO
select is_query_store_on from sys.databases where name = 'shop'
select desired_state_desc, actual_state_desc, query_capture_mode_desc, flush_interval_seconds as flush, interval_length_minutes as length,
    max_storage_size_mb as mb, stale_query_threshold_days as days, max_plans_per_query as plans, size_based_cleanup_mode_desc as by_size,
    wait_stats_capture_mode_desc as waits from sys.database_query_store_options
GO
-- Off, it records nothing.
create table item (id int primary key, price int not null, name nvarchar(20) not null)
insert item values (1, 10, N'cup'), (2, 20, N'plate'), (3, 30, N'spoon')
GO
select count(*) as queries from sys.query_store_query
GO
alter database shop set query_store = on (operation_mode = read_write, query_capture_mode = all, data_flush_interval_seconds = 60,
    interval_length_minutes = 15, max_storage_size_mb = 100, cleanup_policy = (stale_query_threshold_days = 7),
    size_based_cleanup_mode = off, max_plans_per_query = 10, wait_stats_capture_mode = off)
GO
select is_query_store_on from sys.databases where name = 'shop'
select desired_state_desc, actual_state_desc, query_capture_mode_desc, flush_interval_seconds as flush, interval_length_minutes as length,
    max_storage_size_mb as mb, stale_query_threshold_days as days, max_plans_per_query as plans, size_based_cleanup_mode_desc as by_size,
    wait_stats_capture_mode_desc as waits, capture_policy_execution_count as policy from sys.database_query_store_options
GO
-- Statements of a module are told apart.
create procedure dear @least int as
set nocount on
declare @found int
select @found = count(*) from item where price >= @least
if @found = 0 return 1
update item set price = price + 1 where price >= @least
select id, name from item where price >= @least order by id
GO
exec dear 20
exec dear 30
exec dear 1000
GO
create view seen as
select q.query_id, isnull(object_name(q.object_id), '') as module, t.query_sql_text as text, s.execution_type_desc as ended,
    s.count_executions as times, s.avg_rowcount as rows_avg, s.max_rowcount as rows_max, s.avg_dop as dop
from sys.query_store_query_text t join sys.query_store_query q on q.query_text_id = t.query_text_id
join sys.query_store_plan p on p.query_id = q.query_id join sys.query_store_runtime_stats s on s.plan_id = p.plan_id
where t.query_sql_text not like '%query[_]store%' and t.query_sql_text not like '%from seen%'
GO
select module, text, ended, times, rows_avg, rows_max, dop from seen order by query_id
GO
-- Texts of batches, with their parameters where they have some; what reads nothing is not recorded.
alter database current set query_store clear
GO
select 1 as nothing
select name from item where id = 1
select name from item where id = 2
exec sp_executesql N'select name from item where id = @id', N'@id int', @id = 3
select id into copied from item where id > 1
GO
select module, text, ended, times, rows_avg from seen order by query_id
select count(distinct query_hash) as shapes, count(*) as queries, max(query_parameterization_type_desc) as by_whom
from sys.query_store_query q join sys.query_store_query_text t on t.query_text_id = q.query_text_id where t.query_sql_text like '%name from item%'
GO
-- What failed is counted by itself.
create procedure fails @n int as select 10 / @n as ratio from item where id = 1
GO
exec fails 2
GO
exec fails 0
GO
select text, ended, times, rows_avg from seen where module = 'fails' order by ended desc
GO
-- Figures fit together, and plans have documents and hashes.
select case when s.min_duration <= s.avg_duration and s.avg_duration <= s.max_duration and s.stdev_duration >= 0 then 'fits' end as duration,
    case when s.avg_cpu_time <= s.avg_duration + 1 then 'fits' end as cpu, s.last_rowcount as rows, s.avg_logical_io_writes as writes,
    case when s.avg_logical_io_reads >= 1 then 'some' end as reads,
    case when s.first_execution_time <= s.last_execution_time and s.last_execution_time <= sysdatetimeoffset() then 'fits' end as times
from sys.query_store_runtime_stats s join sys.query_store_plan p on p.plan_id = s.plan_id join seen on seen.query_id = p.query_id
where seen.text like '%name from item where id = 1'
select distinct convert(xml, p.query_plan).value('declare namespace s="http://schemas.microsoft.com/sqlserver/2004/07/showplan";
    (//s:StmtSimple/@StatementText)[1]', 'nvarchar(60)') as statement, case when convert(xml, p.query_plan).value(
    'declare namespace s="http://schemas.microsoft.com/sqlserver/2004/07/showplan"; (//s:StmtSimple/@QueryPlanHash)[1]', 'nvarchar(20)')
    = convert(varchar(20), p.query_plan_hash, 1) then 'the same' end as hash, p.is_forced_plan, p.is_parallel_plan, p.count_compiles
from sys.query_store_plan p join seen on seen.query_id = p.query_id where seen.text like '%name from item where id = 1'
select datediff(minute, start_time, end_time) as minutes from sys.query_store_runtime_stats_interval
select convert(int, set_options) & 0x20 as ansi_nulls, date_format, date_first from sys.query_context_settings where context_settings_id = 1
GO
-- What has been written is there after a crash, and numbers go on.
exec sp_query_store_flush_db
-- restart:
-- session main:
use shop
GO
select actual_state_desc from sys.database_query_store_options
select text, sum(times) as times from seen where module = 'fails' or text like '%name from item where id = 2' group by text order by text
GO
exec fails 5
GO
select text, ended, times from seen where module = 'fails' order by ended desc
GO
-- Procedures.
exec sp_query_store_remove_query 1000
exec sp_query_store_remove_plan 1000
exec sp_query_store_reset_exec_stats 1000
exec sp_query_store_reset_exec_stats
exec sp_query_store_set_hints 1000, N'option (maxdop 1)'
exec sp_query_store_clear_hints 1000
exec sp_query_store_force_plan 1000, 1
exec sp_query_store_consistency_check
GO
declare @query bigint = (select max(query_id) from seen where module = 'fails'), @plan bigint
select @plan = max(plan_id) from sys.query_store_plan where query_id = @query
exec sp_query_store_force_plan @query, 1000
exec sp_query_store_force_plan @query, @plan
exec sp_query_store_unforce_plan @query, @plan
exec sp_query_store_reset_exec_stats @plan
select count(*) as statistics_left from sys.query_store_runtime_stats where plan_id = @plan
exec sp_query_store_remove_plan @plan
select count(*) as plans_left from sys.query_store_plan where query_id = @query
exec sp_query_store_remove_query @query
select count(*) as queries_left from sys.query_store_query where query_id = @query
GO
-- Hints take the place of those that the query has.
create procedure deep as
with n as (select 1 as i union all select i + 1 from n where i < 150) select count(*) as counted from n join item on item.id = 1
GO
exec deep
GO
select left(text, 20) as text, ended, times from seen where module = 'deep'
declare @query bigint = (select query_id from seen where module = 'deep')
exec sp_query_store_set_hints @query, N'OPTION (MAXRECURSION 200)'
select query_id - @query as of_query, query_hint_text, query_hint_failure_count, source_desc from sys.query_store_query_hints
exec sp_query_store_remove_query @query
GO
exec deep
GO
declare @query bigint = (select min(query_id) from seen where module = 'deep')
exec sp_query_store_set_hints @query, N'option (nonsense)'
GO
declare @query bigint = (select min(query_id) from seen where module = 'deep')
exec sp_query_store_set_hints @query, N'option (optimize for (@x = 1))'
exec sp_query_store_set_hints @query, N'option (table hint (item, nolock))'
exec sp_query_store_clear_hints @query
select count(*) as hints_left from sys.query_store_query_hints
GO
exec deep
GO
-- Options that are not: nothing of them is kept.
alter database shop set query_store (interval_length_minutes = 7)
alter database shop set query_store (data_flush_interval_seconds = 59)
alter database shop set query_store = on (max_plans_per_query = 5, max_plans_per_query = 6)
alter database shop set query_store = on (query_capture_mode = custom, query_capture_policy = (execution_count = 0))
alter database shop set query_store = on (query_capture_policy = (stale_capture_policy_threshold = 8 days))
GO
alter database shop set query_store = on (operation_mode = bogus)
GO
alter database shop set query_store = on (stale_query_threshold_days = 3)
GO
alter database shop set query_store = on, query_store = off
alter database master set query_store = on
alter database tempdb set query_store clear
select interval_length_minutes as length, flush_interval_seconds as flush, max_plans_per_query as plans from sys.database_query_store_options
GO
-- Capture by what queries cost: two executions are not enough for three.
alter database shop set query_store (query_capture_mode = custom, query_capture_policy = (execution_count = 3,
    total_compile_cpu_time_ms = 100000, total_execution_cpu_time_ms = 100000, stale_capture_policy_threshold = 2 days))
alter database shop set query_store clear all
select query_capture_mode_desc as mode, capture_policy_execution_count as executions, capture_policy_stale_threshold_hours as hours
from sys.database_query_store_options
GO
exec dear 30
exec dear 30
GO
select module, times from seen
exec dear 30
select distinct module, times from seen
GO
-- A list by itself does not switch it on; reading goes on while it is off.
alter database shop set query_store = off
alter database shop set query_store (operation_mode = read_write)
exec dear 30
select desired_state_desc, actual_state_desc from sys.database_query_store_options
select distinct module, times from seen
exec sp_query_store_force_plan 1, 1
exec sp_query_store_consistency_check
alter database shop set query_store = on (operation_mode = read_only)
exec dear 30
select desired_state_desc, actual_state_desc, readonly_reason from sys.database_query_store_options
select distinct module, times from seen
GO
-- A store that is full reads only, until there is room.
alter database shop set query_store = on (operation_mode = read_write, query_capture_mode = all, max_storage_size_mb = 0)
GO
exec dear 30
GO
select count(*) as asked from seen
select desired_state_desc, actual_state_desc, readonly_reason from sys.database_query_store_options
alter database shop set query_store (max_storage_size_mb = 100)
alter database shop set query_store clear
select actual_state_desc, readonly_reason from sys.database_query_store_options
GO
-- Waits by category: one session waits for another's lock.
alter database shop set query_store (wait_stats_capture_mode = on)
begin transaction
update item set price = 1 where id = 1
GO
-- session other:
use shop
GO
-- session other waits:
update item set price = 2 where id = 1
-- session main:
commit
-- session other resumes:
-- session main:
select w.wait_category_desc, w.execution_type_desc, case when w.max_query_wait_time_ms <= w.total_query_wait_time_ms then 'fits' end as times
from sys.query_store_wait_stats w join sys.query_store_plan p on p.plan_id = w.plan_id join sys.query_store_query q on q.query_id = p.query_id
join sys.query_store_query_text t on t.query_text_id = q.query_text_id where t.query_sql_text like '%_price_=@1 %'
GO
-- Triggers and functions have statements of their own.
create trigger changed on item after update as
set nocount on
update copied set id = id where id in (select id from deleted)
GO
create function prices (@least int) returns int as begin return (select count(*) from item where price >= @least) end
GO
create function listed (@least int) returns @ids table (id int) as begin insert @ids select id from item where price >= @least return end
GO
update item set price = 12 where id = 2
select sum(id) as ids from listed(5)
GO
select module, text, times from seen where module in ('changed', 'listed') order by module
GO
-- Who may look, and who may change.
create user ann without login
grant select on item to ann
GO
execute as user = 'ann'
select count(*) from sys.query_store_query
exec sp_query_store_flush_db
revert
GO
grant view database state to ann
execute as user = 'ann'
select case when count(*) > 0 then 'sees' end as ann from sys.query_store_query
exec sp_query_store_flush_db
revert
GO
-- What model has, new databases begin with, each with a store of its own.
alter database model set query_store = on (query_capture_mode = all)
create database other
GO
use other
create table t (id int)
insert t values (1)
select count(*) as own from sys.query_store_query_text where query_sql_text like 'insert t%'
select count(*) as others from sys.query_store_query_text where query_sql_text like '%item%'
GO
alter database model set query_store = off
GO
