-- What sessions and programs have used.
create table t (id int primary key, v int)
GO
create procedure p @n int as
begin
  insert t select value, value from generate_series(@n, @n + 9)
  select count(*) as n from t
end
GO
exec p 1
exec p 11
GO
exec sp_executesql N'select v from t where id < @x', N'@x int', 4
GO
select writes as w, row_count as rows, case when logical_reads > 0 then 'some' else 'none' end as r,
  case when cpu_time >= 0 and total_elapsed_time >= 0 then 'counted' end as c
from sys.dm_exec_sessions where session_id = @@spid
select writes as w, case when total_elapsed_time >= 0 then 'counted' end as c from sys.dm_exec_requests where session_id = @@spid
GO
select object_name(object_id) as name, execution_count as n, total_logical_writes as w, case when total_elapsed_time >= max_elapsed_time and max_elapsed_time >= min_elapsed_time then 'adds up' end as t
from sys.dm_exec_procedure_stats
select execution_count as n, total_rows as r, last_rows as lr, x.text
from sys.dm_exec_query_stats as s cross apply sys.dm_exec_sql_text(s.sql_handle) as x where x.text like '(@x int)select v%'
select usecounts as n, objtype, x.text from sys.dm_exec_cached_plans as c cross apply sys.dm_exec_sql_text(c.plan_handle) as x where x.text like '%@x%' and x.text not like '%cached_plans%' order by objtype
select event_type from sys.dm_exec_input_buffer(@@spid, null) where event_info like 'select object_name%'
GO
