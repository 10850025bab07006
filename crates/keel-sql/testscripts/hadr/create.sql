-- CREATE AVAILABILITY GROUP: what is refused, with the product's numbers.
create database sales
GO
create database notes
GO
use sales
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
use master
GO
begin tran
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
if @@trancount > 0 rollback
GO
-- A replica's own options.
create availability group ag for replica on N'EVENKEEL' with (availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', failover_mode = manual)
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit)
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = asynchronous_commit, failover_mode = automatic)
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual, session_timeout = 4)
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual, backup_priority = 101)
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual, secondary_role (read_only_routing_url = N'n1:1433'))
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = sometimes)
GO
-- Replicas together.
create availability group ag for replica on
  N'N2' with (endpoint_url = N'TCP://n2:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for replica on
  N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual),
  N'evenkeel' with (endpoint_url = N'TCP://n2:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for replica on
  N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual, primary_role (read_only_routing_list = (N'N2'))),
  N'N2' with (endpoint_url = N'TCP://n2:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for replica on
  N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual, primary_role (read_only_routing_list = (N'N3')))
GO
-- Cluster types.
create availability group ag with (cluster_type = none) for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = automatic)
GO
create availability group ag with (cluster_type = external) for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = external)
GO
create availability group ag with (write_lease_validity = 20) for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
-- Group options.
create availability group ag with (failure_condition_level = 6) for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag with (health_check_timeout = 100) for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag with (required_synchronized_secondaries_to_commit = 1) for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag with (dtc_support = per_server) for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
-- Databases.
create availability group ag for database nowhere replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for database msdb replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for database sales, Sales replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
alter database notes set recovery simple
GO
create availability group ag for database notes replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
alter database notes set recovery full
GO
alter database notes set read_only
GO
create availability group ag for database notes replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
alter database notes set read_write
GO
-- The group; without an endpoint it is made, with a word about it.
create availability group ag for database sales replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group ag for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group other for database sales replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
-- What a member database may not.
drop database sales
GO
alter database sales modify name = sold
GO
alter database sales set recovery simple
GO
alter database sales set partner off
GO
drop availability group ag
GO
drop availability group ag
GO
drop database sales
