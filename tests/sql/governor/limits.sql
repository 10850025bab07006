-- REQUEST_MAX_CPU_TIME_SEC only notes what takes longer, unless trace flag 2422 says to end it, and its transaction.
create function dbo.classify() returns sysname with schemabinding as
begin
  return case host_name() when 'loop' then N'short' when 'sort' then N'small' end
end
GO
create workload group short with (request_max_cpu_time_sec = 1)
create resource pool tight with (max_memory_percent = 10)
create workload group small with (request_max_memory_grant_percent = 50) using tight
alter resource governor with (classifier_function = dbo.classify)
alter resource governor reconfigure
dbcc traceon(2422, -1) with no_infomsgs
GO
-- session loop:
begin transaction
declare @i bigint = 0
while 1 = 1 set @i += 1
GO
select @@trancount as transactions
GO
-- In a query.
select count_big(*) from sys.all_columns as a cross join sys.all_columns as b cross join sys.all_columns as c
GO
-- session main:
select total_cpu_limit_violation_count, iif(max_request_cpu_time_ms >= 1000, 'more than a second', 'less') as longest from sys.dm_resource_governor_workload_groups where name = 'short'
dbcc traceoff(2422, -1) with no_infomsgs
GO
-- What a statement may take of the working memory: here 16 MB in all, a tenth of them the pool's, and half of that one statement's.
select name, max_memory_kb, target_memory_kb, used_memory_kb from sys.dm_resource_governor_resource_pools
select pool_id, target_memory_kb, granted_memory_kb, grantee_count from sys.dm_exec_query_resource_semaphores
GO
create table numbers (n int primary key, filler char(200) not null default 'x')
insert numbers (n) select value from generate_series(1, 20000)
GO
-- session sort:
-- It sorts in files what memory does not hold.
select max(place) as last from (select n, row_number() over (order by filler, n desc) as place from numbers) as s
GO
-- session main:
select total_reduced_memgrant_count, iif(max_request_grant_memory_kb between 1 and 819, 'within its share', 'more') as largest from sys.dm_resource_governor_workload_groups where name = 'small'
select total_memgrant_count, active_memgrant_count, used_memgrant_kb, out_of_memory_count from sys.dm_resource_governor_resource_pools where name = 'tight'
GO
-- session sort:
-- What cannot go to files is error 701, which names the pool.
declare @s nvarchar(max) = (select string_agg(convert(nvarchar(max), filler + filler), '') from numbers)
select len(@s) as length
GO
-- session main:
select out_of_memory_count from sys.dm_resource_governor_resource_pools where name = 'tight'
GO
-- A minimum is kept from the others.
create resource pool kept with (min_memory_percent = 60)
alter resource governor reconfigure
select name, max_memory_kb, target_memory_kb from sys.dm_resource_governor_resource_pools
GO
