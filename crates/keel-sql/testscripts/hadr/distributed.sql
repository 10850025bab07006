-- Distributed availability groups: what is refused, and what views show of the two sides.
create database shop
GO
create availability group ag1 for database shop replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
-- DISTRIBUTED stands alone, and must be said.
create availability group dag with (distributed, db_failover = on) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group dag availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group dag with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group dag with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
-- Options of the members.
create availability group dag with (distributed) availability group on N'ag1' with (listener_url = N'http://ag1', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group dag with (distributed) availability group on N'ag1' with (availability_mode = synchronous_commit, failover_mode = manual), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group dag with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', failover_mode = manual), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group dag with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group dag with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = automatic, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group ag9 for replica on N'EVENKEEL' with (listener_url = N'TCP://n1:5022')
GO
-- Which group is here, and of which kind.
create availability group dag with (distributed) availability group on N'x' with (listener_url = N'TCP://x:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'y' with (listener_url = N'TCP://y:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group ag1 with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
alter availability group dag modify availability group on N'ag1' with (seeding_mode = manual)
GO
alter availability group ag1 modify availability group on N'ag1' with (seeding_mode = manual)
GO
create availability group small with (basic) for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group dag with (distributed) availability group on N'small' with (listener_url = N'TCP://s:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
drop availability group small
create availability group own with (contained) for replica on N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
create availability group dag with (distributed) availability group on N'own' with (listener_url = N'TCP://o:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
alter availability group dag join availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
-- The global primary.
create availability group dag with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group dag with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
create availability group dag2 with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
select name, is_distributed, required_synchronized_secondaries_to_commit from sys.availability_groups where is_contained = 0 order by name
select g.name, r.replica_server_name, r.endpoint_url, r.availability_mode_desc, r.failover_mode_desc, r.seeding_mode_desc
from sys.availability_replicas r join sys.availability_groups g on g.group_id = r.group_id where g.is_distributed = 1 order by 2
select g.name, s.is_local, s.role_desc from sys.dm_hadr_availability_replica_states s join sys.availability_groups g on g.group_id = s.group_id
where g.is_distributed = 1 and s.is_local = 1
select r.replica_server_name from sys.availability_groups g join sys.availability_replicas m on m.group_id = g.group_id
cross apply sys.fn_hadr_distributed_ag_replica(g.group_id, m.replica_id) f join sys.availability_replicas r on r.replica_id = f.replica_id
where g.is_distributed = 1
select d.database_name from sys.availability_groups g join sys.availability_databases_cluster d on d.group_id = g.group_id
cross apply sys.fn_hadr_distributed_ag_database_replica(g.group_id, d.group_database_id) f where g.is_distributed = 1
GO
alter availability group dag modify availability group on N'ag2' with (availability_mode = asynchronous_commit), N'ag3' with (seeding_mode = manual)
GO
alter availability group dag set (required_synchronized_secondaries_to_commit = 1)
GO
alter availability group dag modify availability group on N'ag2' with (availability_mode = asynchronous_commit)
GO
alter availability group dag set (required_synchronized_secondaries_to_commit = 2)
GO
alter availability group dag set (db_failover = on)
GO
alter availability group dag add database shop
GO
alter availability group dag failover
GO
alter availability group dag force_failover_allow_data_loss
GO
select databasepropertyex('shop', 'Updateability'), sys.fn_hadr_is_primary_replica('shop')
GO
alter availability group dag set (role = secondary)
GO
alter availability group dag set (role = secondary)
GO
-- Its databases are those of a secondary from here on.
select databasepropertyex('shop', 'Updateability'), sys.fn_hadr_is_primary_replica('shop')
GO
use shop
GO
create availability group dag2 with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
use master
GO
create availability group dag2 with (distributed) availability group on N'ag1' with (listener_url = N'TCP://ag1:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic), N'ag2' with (listener_url = N'TCP://ag2:5022', availability_mode = synchronous_commit, failover_mode = manual, seeding_mode = automatic)
GO
alter availability group dag force_failover_allow_data_loss
GO
drop availability group dag
GO
select name from sys.availability_groups where is_distributed = 1
GO
