-- Pools, groups, the classifier and the governor's state are in master.
create function dbo.classify() returns sysname with schemabinding as begin return case host_name() when 'night' then N'nightly' end end
GO
create resource pool reports with (cap_cpu_percent = 60)
create workload group nightly with (importance = high, group_max_requests = 5) using reports
alter resource pool [default] with (max_memory_percent = 80)
alter resource governor with (classifier_function = dbo.classify)
alter resource governor reconfigure
alter resource pool reports with (cap_cpu_percent = 70)
create workload group later using reports
GO
-- restart:
-- What was defined when the instance went down is in force.
select name, cap_cpu_percent, max_memory_percent from sys.dm_resource_governor_resource_pools
select name, importance, group_max_requests, pool_id from sys.dm_resource_governor_workload_groups
select object_name(classifier_function_id), is_enabled from sys.resource_governor_configuration
select is_reconfiguration_pending from sys.dm_resource_governor_configuration
GO
-- session night:
select g.name from sys.dm_exec_sessions as s join sys.dm_resource_governor_workload_groups as g on g.group_id = s.group_id where s.session_id = @@spid
GO
-- session main:
alter resource governor disable
GO
-- restart:
select name, cap_cpu_percent, max_memory_percent from sys.dm_resource_governor_resource_pools
select name, cap_cpu_percent, max_memory_percent from sys.resource_governor_resource_pools
select is_enabled from sys.resource_governor_configuration
GO
