-- There is an internal and a default pool, and a group of each name in it. Nothing is governed at first.
select * from sys.resource_governor_configuration
select * from sys.resource_governor_resource_pools
select group_id, name, importance, request_max_memory_grant_percent, request_max_cpu_time_sec, request_memory_grant_timeout_sec, max_dop, group_max_requests, pool_id, request_max_memory_grant_percent_numeric from sys.resource_governor_workload_groups
select * from sys.dm_resource_governor_configuration
GO
-- Options that are left out have their defaults.
create resource pool reports with (max_cpu_percent = 50, cap_cpu_percent = 60, min_memory_percent = 10, max_memory_percent = 40, max_iops_per_volume = 500)
create resource pool orders
create workload group nightly with (importance = low, request_max_memory_grant_percent = 50, request_max_cpu_time_sec = 100, request_memory_grant_timeout_sec = 30, max_dop = 2, group_max_requests = 3) using reports
create workload group tellers with (importance = high) using orders
create workload group others
select * from sys.resource_governor_resource_pools where pool_id >= 256
select group_id, name, importance, request_max_memory_grant_percent, request_max_cpu_time_sec, request_memory_grant_timeout_sec, max_dop, group_max_requests, pool_id, request_max_memory_grant_percent_numeric from sys.resource_governor_workload_groups where group_id >= 256
GO
-- Until RECONFIGURE all of it is pending.
select name from sys.dm_resource_governor_resource_pools
select is_enabled from sys.resource_governor_configuration
select is_reconfiguration_pending from sys.dm_resource_governor_configuration
GO
alter resource governor reconfigure
select pool_id, name, min_cpu_percent, max_cpu_percent, min_memory_percent, max_memory_percent, cap_cpu_percent, min_iops_per_volume, max_iops_per_volume from sys.dm_resource_governor_resource_pools
select group_id, name, pool_id, importance, request_max_memory_grant_percent, request_max_cpu_time_sec, group_max_requests, max_dop, effective_max_dop from sys.dm_resource_governor_workload_groups
select is_enabled from sys.resource_governor_configuration
select is_reconfiguration_pending from sys.dm_resource_governor_configuration
GO
-- ALTER changes what it names.
alter resource pool reports with (cap_cpu_percent = 55)
alter workload group nightly with (max_dop = 4) using orders
alter workload group others using reports
alter resource pool [default] with (max_cpu_percent = 90)
select pool_id, name, max_cpu_percent, cap_cpu_percent from sys.resource_governor_resource_pools
select name, max_dop, group_max_requests, pool_id from sys.resource_governor_workload_groups where group_id >= 256
select name, max_cpu_percent, cap_cpu_percent from sys.dm_resource_governor_resource_pools
GO
-- A scheduler is one of the server's; a mask shows which.
alter resource pool orders with (affinity scheduler = (0))
select * from sys.resource_governor_resource_pool_affinity
select count(*) from sys.dm_resource_governor_resource_pool_affinity
alter resource governor reconfigure
select * from sys.dm_resource_governor_resource_pool_affinity
alter resource pool orders with (affinity scheduler = (0 to 5000))
alter resource pool orders with (affinity numanode = (1))
alter resource pool orders with (affinity scheduler = auto)
select count(*) from sys.resource_governor_resource_pool_affinity
GO
-- What a definition has to obey.
create resource pool reports
create resource pool [default]
create resource pool [#short]
create resource pool p with (max_cpu_percent = 0)
create resource pool p with (min_cpu_percent = 50, max_cpu_percent = 40)
create resource pool p with (min_memory_percent = 50, max_memory_percent = 40)
create resource pool p with (min_cpu_percent = 50, cap_cpu_percent = 40)
create resource pool p with (min_iops_per_volume = 50, max_iops_per_volume = 40)
create resource pool p with (min_cpu_percent = 60)
create resource pool q with (min_cpu_percent = 41)
alter resource pool reports with (min_memory_percent = 40)
create resource pool q with (min_memory_percent = 61)
drop resource pool p
GO
create workload group nightly
create workload group g using nowhere
create workload group g using internal
create workload group [##g]
create workload group g with (max_dop = 65)
create workload group g with (request_max_memory_grant_percent = 101)
create workload group g with (group_max_requests = -1)
create workload group g using [default], external other
GO
alter resource pool internal with (max_cpu_percent = 50)
alter resource pool nowhere with (max_cpu_percent = 50)
alter workload group internal with (importance = high)
alter workload group nowhere with (importance = high)
alter workload group nightly
alter workload group [default] using reports
alter workload group nightly using internal
GO
drop resource pool reports
drop resource pool internal
drop resource pool [default]
drop resource pool nowhere
drop workload group internal
drop workload group [default]
drop workload group nowhere
GO
-- Not in a transaction.
begin transaction
create resource pool p
GO
alter resource governor reconfigure
GO
rollback
GO
-- 64 pools at most.
declare @i int = 5, @t nvarchar(100)
while @i <= 64 begin set @t = concat('create resource pool p', @i); exec (@t); set @i += 1 end
create resource pool one_too_many
GO
-- Who does not control the server may read, and change nothing.
create login clerk with password = 'x'
execute as login = 'clerk'
create resource pool p
alter workload group nightly with (max_dop = 1)
alter resource governor reconfigure
select name from sys.resource_governor_workload_groups where group_id = 256
revert
GO
-- Groups go before their pool.
drop workload group nightly
drop workload group tellers
drop resource pool orders
alter resource governor reconfigure
select name from sys.dm_resource_governor_workload_groups
GO
-- Disabled, nothing is limited; what is defined stays.
alter resource governor disable
select is_enabled from sys.resource_governor_configuration
select name, max_cpu_percent, cap_cpu_percent, max_memory_percent from sys.dm_resource_governor_resource_pools where pool_id <= 256
select name, max_cpu_percent, cap_cpu_percent, max_memory_percent from sys.resource_governor_resource_pools where pool_id <= 256
GO
alter resource governor reconfigure
select name, max_cpu_percent, cap_cpu_percent, max_memory_percent from sys.dm_resource_governor_resource_pools where pool_id <= 256
GO
alter resource governor with (max_outstanding_io_per_volume = 20)
select max_outstanding_io_per_volume from sys.resource_governor_configuration
alter resource governor with (max_outstanding_io_per_volume = 101)
alter resource governor with (max_outstanding_io_per_volume = default)
select max_outstanding_io_per_volume from sys.resource_governor_configuration
GO
-- External pools are not there.
create external resource pool e with (max_cpu_percent = 50)
GO
-- Triggers of the server hear of all of it.
create table master.dbo.heard (id int identity, what nvarchar(200))
GO
create trigger hear on all server for ddl_resource_governor_events as
insert master.dbo.heard (what) select concat(eventdata().value('(/EVENT_INSTANCE/EventType)[1]', 'sysname'), ' ', eventdata().value('(/EVENT_INSTANCE/ObjectName)[1]', 'sysname'))
GO
drop resource pool p64
create resource pool again
alter workload group others with (max_dop = 1)
alter resource governor reconfigure
select what from heard order by id
drop trigger hear on all server
