-- What a secondary, and a resolving replica, let clients do.
create database sales
GO
create availability group ag for database sales
replica on
  N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual),
  N'N2' with (endpoint_url = N'TCP://n2:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
use sales
use master
GO
alter availability group ag set (role = secondary)
select sys.fn_hadr_is_primary_replica('sales') as is_primary, databasepropertyex('sales', 'Updateability') as updateability
GO
-- ALLOW_CONNECTIONS = NO.
use sales
GO
-- Most statements want the primary.
alter availability group ag modify replica on N'EVENKEEL' with (secondary_role (allow_connections = all))
GO
alter availability group ag add database sales
GO
alter availability group ag set (role = secondary)
GO
-- Back, open to readers with intent, and away again.
alter availability group ag failover
alter availability group ag modify replica on N'EVENKEEL' with (secondary_role (allow_connections = read_only))
alter availability group ag set (role = secondary)
GO
use sales
GO
alter availability group ag force_failover_allow_data_loss
alter availability group ag modify replica on N'EVENKEEL' with (secondary_role (allow_connections = all))
alter availability group ag set (role = secondary)
GO
use sales
use master
GO
-- A suspended copy is closed to readers, and no target.
alter database sales set hadr suspend
GO
use sales
GO
alter availability group ag failover
GO
alter database sales set hadr resume
alter availability group ag failover
GO
-- Resolving.
alter availability group ag offline
GO
use sales
GO
select role_desc, synchronization_health_desc from sys.dm_hadr_availability_replica_states where is_local = 1
GO
-- CLUSTER_TYPE = NONE fails over by force only; EXTERNAL by its manager.
drop availability group ag
create availability group ag with (cluster_type = none)
for replica on
  N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual),
  N'N2' with (endpoint_url = N'TCP://n2:5022', availability_mode = synchronous_commit, failover_mode = manual)
alter availability group ag set (role = secondary)
GO
alter availability group ag failover
GO
drop availability group ag
create availability group ag with (cluster_type = external)
for replica on
  N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = external),
  N'N2' with (endpoint_url = N'TCP://n2:5022', availability_mode = synchronous_commit, failover_mode = external)
alter availability group ag set (role = secondary)
GO
alter availability group ag failover
GO
-- What its agent sends to a secondary: off line, and then to follow, twice perhaps. A lease is nothing that a group has by itself.
alter availability group ag offline
select role_desc from sys.dm_hadr_availability_replica_states where is_local = 1
alter availability group ag set (role = secondary)
alter availability group ag set (role = secondary)
select role_desc from sys.dm_hadr_availability_replica_states where is_local = 1
GO
alter availability group ag set (write_lease_validity = 30)
GO
exec sp_keel_failover @group = N'ag'
GO
exec sp_set_session_context N'external_cluster', N'yes'
alter availability group ag failover
select sys.fn_hadr_is_primary_replica('sales') as outside, role_desc from sys.dm_hadr_availability_replica_states where is_local = 1
