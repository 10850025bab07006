-- A classifier is a scalar function of master: schema-bound, without parameters, returning sysname.
create function dbo.classify() returns sysname with schemabinding as
begin
  return case host_name() when 'night' then N'nightly' when 'odd' then N'nobody''s' when 'inner' then N'internal' else null end
end
GO
create function dbo.not_bound() returns sysname as begin return N'nightly' end
GO
create function dbo.asks(@a int) returns sysname with schemabinding as begin return N'nightly' end
GO
create function dbo.of_int() returns int with schemabinding as begin return 1 end
GO
create procedure dbo.no_function as select 1
GO
create schema side
GO
create function side.fails() returns sysname with schemabinding as begin declare @i int = 1 / (case when original_login() = 'sa' then 0 else 1 end); return N'nightly' end
GO
create resource pool reports
create workload group nightly using reports
alter resource governor with (classifier_function = dbo.not_bound)
alter resource governor with (classifier_function = dbo.asks)
alter resource governor with (classifier_function = dbo.of_int)
alter resource governor with (classifier_function = dbo.no_function)
alter resource governor with (classifier_function = dbo.nowhere)
alter resource governor with (classifier_function = nowhere.classify)
GO
create database elsewhere
GO
-- It is looked for in master, whatever database is in use.
use elsewhere
GO
create function dbo.here_only() returns sysname with schemabinding as begin return N'nightly' end
GO
alter resource governor with (classifier_function = dbo.here_only)
alter resource governor with (classifier_function = dbo.classify)
GO
use master
GO
select object_name(classifier_function_id) from sys.resource_governor_configuration
select classifier_function_id, is_reconfiguration_pending from sys.dm_resource_governor_configuration
GO
-- session night:
-- Nothing is in force yet.
select g.name from sys.dm_exec_sessions as s join sys.dm_resource_governor_workload_groups as g on g.group_id = s.group_id where s.session_id = @@spid
GO
-- session main:
alter resource governor reconfigure
select object_name(classifier_function_id) from sys.dm_resource_governor_configuration
GO
-- session night:
-- Who is there stays where it is.
select g.name from sys.dm_exec_sessions as s join sys.dm_resource_governor_workload_groups as g on g.group_id = s.group_id where s.session_id = @@spid
GO
-- session odd:
-- A name of no group, the internal one's and NULL mean the default group.
select s.group_id, r.group_id from sys.dm_exec_sessions as s join sys.dm_exec_requests as r on r.session_id = s.session_id where s.session_id = @@spid
GO
-- session inner:
select s.group_id, r.group_id from sys.dm_exec_sessions as s join sys.dm_exec_requests as r on r.session_id = s.session_id where s.session_id = @@spid
GO
-- session day:
select s.group_id, r.group_id from sys.dm_exec_sessions as s join sys.dm_exec_requests as r on r.session_id = s.session_id where s.session_id = @@spid
GO
-- session main:
-- The classifier cannot be altered or dropped.
drop function dbo.classify
GO
alter function dbo.classify() returns sysname with schemabinding as begin return N'nightly' end
GO
alter resource governor with (classifier_function = null)
drop function dbo.classify
GO
alter resource governor reconfigure
drop function dbo.classify
GO
-- One that fails keeps nobody out.
alter resource governor with (classifier_function = side.fails)
alter resource governor reconfigure
GO
-- session late:
select group_id from sys.dm_exec_sessions where session_id = @@spid
GO
-- session main:
alter resource governor with (classifier_function = null)
alter resource governor reconfigure
GO
create function dbo.by_role() returns sysname with schemabinding as
begin
  if is_srvrolemember('sysadmin') = 1 and suser_name() = 'sa' and app_name() = 'script' and original_db_name() = '' and connectionproperty('net_transport') = 'TCP' return N'nightly'
  return N'default'
end
GO
alter resource governor with (classifier_function = dbo.by_role)
alter resource governor reconfigure
GO
-- session roles:
select g.name, p.name from sys.dm_exec_sessions as s join sys.dm_resource_governor_workload_groups as g on g.group_id = s.group_id join sys.dm_resource_governor_resource_pools as p on p.pool_id = g.pool_id where s.session_id = @@spid
GO
-- session main:
-- A group with sessions in it cannot go, or move to another pool.
drop workload group nightly
alter resource governor reconfigure
GO
select is_reconfiguration_pending from sys.dm_resource_governor_configuration
create workload group nightly using [default]
alter resource governor reconfigure
GO
