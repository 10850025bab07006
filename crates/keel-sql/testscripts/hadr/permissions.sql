-- Who may do what with groups, without being a sysadmin.
create database sales
create login operator with password = N'Operator-1'
create login second with password = N'Operator-2'
create login watcher with password = N'Watcher-1'
grant view server state to watcher
GO
alter database sales set recovery full
create availability group ag for database sales replica on
  N'EVENKEEL' with (endpoint_url = N'TCP://h1:5022', availability_mode = synchronous_commit, failover_mode = automatic),
  N'N2' with (endpoint_url = N'TCP://h2:5022', availability_mode = synchronous_commit, failover_mode = automatic)
GO
-- Without a permission: not even whether there is such a group.
execute as login = N'watcher'
GO
alter availability group ag set (health_check_timeout = 20000)
GO
alter availability group nothing set (health_check_timeout = 20000)
GO
drop availability group ag
GO
create availability group other for replica on N'EVENKEEL' with (endpoint_url = N'TCP://h1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
exec sp_keel_failover @group = N'ag', @to = N'N2'
GO
alter database sales set hadr suspend
GO
-- The state of the instance takes VIEW SERVER STATE.
select count(*) as n from sys.dm_keel_commit_participants
select count(*) as n from sys.dm_hadr_availability_replica_states
GO
revert
GO
execute as login = N'second'
GO
select count(*) as n from sys.dm_keel_commit_participants
GO
select count(*) as n from sys.dm_keel_failovers
select count(*) as n from sys.dm_tcp_listener_states
select count(*) as n from sys.dm_db_index_usage_stats
GO
begin try
  select count(*) as n from sys.dm_hadr_cluster
end try
begin catch
  select error_number() as n, error_message() as said
end catch
GO
-- Catalog views are everybody's.
select name from sys.availability_groups
GO
revert
GO
-- One group.
grant alter on availability group::nothing to operator
GO
grant connect on availability group::ag to operator
GO
grant alter on availability group::ag to operator
select class_desc, permission_name, state_desc from sys.server_permissions where class = 108
GO
execute as login = N'operator'
GO
alter availability group ag set (health_check_timeout = 20000)
alter database sales set hadr suspend
alter database sales set hadr resume
exec sp_keel_failover @group = N'ag', @to = N'N2'
GO
alter availability group nothing set (health_check_timeout = 20000)
GO
create availability group other for replica on N'EVENKEEL' with (endpoint_url = N'TCP://h1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
exec sp_keel_force_quorum
GO
revert
GO
-- All groups.
deny alter on availability group::ag to operator
grant alter any availability group to second
GO
execute as login = N'operator'
GO
alter availability group ag set (health_check_timeout = 30000)
GO
revert
execute as login = N'second'
GO
alter availability group ag set (health_check_timeout = 30000)
alter database sales set hadr suspend
GO
revert
select event_name, message from sys.dm_keel_health_log
GO
drop availability group ag
drop login operator
drop login second
drop login watcher
GO
