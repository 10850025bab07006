-- Endpoints and certificates.
select name, endpoint_id, type_desc, state_desc from sys.endpoints
GO
create certificate host_a with subject = 'host a'
GO
create master key encryption by password = 'Pass word 1'
create certificate host_a with subject = 'host a', start_date = '20260101', expiry_date = '20300101'
select name, pvt_key_encryption_type_desc, subject, start_date, expiry_date from sys.certificates
GO
create certificate host_a with subject = 'again'
GO
backup certificate host_a to file = '/host_a.cer' with private key (file = '/host_a.pvk', encryption by password = 'secret')
GO
backup certificate host_a to file = '/host_a.cer'
GO
create certificate host_b from file = '/host_a.cer' with private key (file = '/host_a.pvk', decryption by password = 'wrong')
GO
create certificate host_b from file = '/nowhere.cer'
GO
create endpoint hadr_endpoint state = started as tcp (listener_port = 5022, listener_ip = all)
  for database_mirroring (authentication = certificate nobody, encryption = required algorithm aes, role = all)
GO
create endpoint hadr_endpoint as tcp (listener_port = 0) for database_mirroring (role = all)
GO
create endpoint hadr_endpoint as tcp (listener_port = 5022) for database_mirroring (encryption = disabled, role = all)
GO
create endpoint web as tcp (listener_port = 80) for tsql ()
GO
create endpoint hadr_endpoint state = started as tcp (listener_port = 1) for database_mirroring (role = all)
select count(*) as endpoints from sys.database_mirroring_endpoints
GO
create endpoint hadr_endpoint state = stopped as tcp (listener_port = 5022, listener_ip = (10.0.0.1))
  for database_mirroring (authentication = certificate host_a, encryption = required algorithm aes, role = partner)
GO
create endpoint second as tcp (listener_port = 5023) for database_mirroring (role = all)
GO
alter endpoint hadr_endpoint state = started for database_mirroring (role = all)
select name, state_desc, role_desc, connection_auth_desc, encryption_algorithm_desc, is_encryption_enabled from sys.database_mirroring_endpoints
select name, port, ip_address from sys.tcp_endpoints
GO
drop certificate host_a
GO
create login partner with password = N'Part-ner-1'
GO
grant connect on endpoint::nowhere to partner
GO
grant select on endpoint::hadr_endpoint to partner
GO
grant connect on endpoint::hadr_endpoint to partner
deny alter on endpoint::hadr_endpoint to partner
select class_desc, permission_name, state_desc from sys.server_permissions where class = 105 order by permission_name
GO
revoke alter on endpoint::hadr_endpoint from partner
select class_desc, type, permission_name, state_desc from sys.server_permissions where class = 105
GO
drop login partner
GO
drop endpoint nobody
GO
-- A group of three, one of them asynchronous, one list with a balanced set.
create database sales
create database stock
GO
create availability group [ag 1] with (automated_backup_preference = secondary, failure_condition_level = 2, required_synchronized_secondaries_to_commit = 1)
for database sales
replica on
  N'EVENKEEL' with (endpoint_url = N'TCP://n1:5022', availability_mode = synchronous_commit, failover_mode = automatic, seeding_mode = automatic,
    secondary_role (allow_connections = read_only, read_only_routing_url = N'TCP://n1:1433')),
  N'N2' with (endpoint_url = N'TCP://n2:5022', availability_mode = synchronous_commit, failover_mode = automatic, seeding_mode = automatic,
    secondary_role (allow_connections = read_only, read_only_routing_url = N'TCP://n2:1433')),
  N'N3' with (endpoint_url = N'TCP://n3:5022', availability_mode = asynchronous_commit, failover_mode = manual,
    secondary_role (allow_connections = all, read_only_routing_url = N'TCP://n3:1433'), session_timeout = 15, backup_priority = 70)
listener N'ag-listener' (with ip ((N'10.0.0.9', N'255.255.255.0')), port = 1433)
GO
alter availability group [ag 1] modify replica on N'EVENKEEL' with (primary_role (read_only_routing_list = ((N'N2', N'N3'), N'EVENKEEL')))
GO
select g.name, g.failure_condition_level, g.automated_backup_preference_desc, g.cluster_type_desc, g.required_synchronized_secondaries_to_commit as rsstc, g.sequence_number
from sys.availability_groups g
select r.replica_server_name, r.endpoint_url, r.availability_mode_desc, r.failover_mode_desc, r.seeding_mode_desc, r.session_timeout, r.secondary_role_allow_connections_desc as secondary, r.backup_priority, r.read_only_routing_url
from sys.availability_replicas r
select r.replica_server_name, l.routing_priority, t.replica_server_name as target
from sys.availability_read_only_routing_lists l
join sys.availability_replicas r on r.replica_id = l.replica_id join sys.availability_replicas t on t.replica_id = l.read_only_replica_id
select dns_name, port, ip_configuration_string_from_cluster from sys.availability_group_listeners
select ip_address, network_subnet_ip, network_subnet_prefix_length, state_desc from sys.availability_group_listener_ip_addresses
GO
-- Validation as scripts do it: catalog views and states together.
select ag.name, ar.replica_server_name, rs.role_desc, rs.connected_state_desc, rs.operational_state_desc, rs.synchronization_health_desc, cs.join_state_desc
from sys.availability_groups ag
join sys.availability_replicas ar on ar.group_id = ag.group_id
join sys.dm_hadr_availability_replica_states rs on rs.replica_id = ar.replica_id
join sys.dm_hadr_availability_replica_cluster_states cs on cs.replica_id = ar.replica_id
order by ar.replica_server_name
select adc.database_name, ar.replica_server_name, drs.is_primary_replica, drs.synchronization_state_desc, drs.synchronization_health_desc, drs.database_state_desc, drs.is_suspended, drs.last_hardened_lsn, drs.redo_queue_size
from sys.dm_hadr_database_replica_states drs
join sys.availability_databases_cluster adc on adc.group_database_id = drs.group_database_id
join sys.availability_replicas ar on ar.replica_id = drs.replica_id
order by ar.replica_server_name
select primary_replica, primary_recovery_health_desc, secondary_recovery_health_desc, synchronization_health_desc from sys.dm_hadr_availability_group_states
select d.name, r.replica_server_name from sys.databases d join sys.availability_replicas r on r.replica_id = d.replica_id
select database_name, replica_server_name, is_waited_for, bytes_behind, synchronized_secondaries, required_synchronized_secondaries, commits_are_blocked, recovery_queue_bytes, recovery_queue_max_bytes, writers_wait_us from sys.dm_keel_commit_participants
select counter_name, instance_name, cntr_value from sys.dm_os_performance_counters where object_name like '%Database Replica%' and counter_name like 'Log Send Queue%'
GO
select sys.fn_hadr_is_primary_replica('sales') as p, sys.fn_hadr_is_primary_replica('stock') as outside, sys.fn_hadr_backup_is_preferred_replica('sales') as backup_here, master.sys.fn_hadr_backup_is_preferred_replica('stock') as backup_outside
select serverproperty('IsHadrEnabled') as enabled, serverproperty('HadrManagerStatus') as status, databasepropertyex('sales', 'Updateability') as updateability
GO
-- SET, one option at a time.
alter availability group [ag 1] set (health_check_timeout = 20000, db_failover = on)
GO
alter availability group [ag 1] set (db_failover = on)
GO
alter availability group [ag 1] set (dtc_support = per_db)
select name, dtc_support from sys.availability_groups
GO
alter availability group [ag 1] set (dtc_support = none)
select name, dtc_support from sys.availability_groups
GO
alter availability group [ag 1] set (required_synchronized_secondaries_to_commit = 3)
GO
alter availability group nowhere set (db_failover = on)
GO
-- Databases.
alter availability group [ag 1] add database stock
alter availability group [ag 1] add database stock
GO
alter availability group [ag 1] remove database stock
alter availability group [ag 1] remove database stock
GO
-- Replicas.
alter availability group [ag 1] add replica on N'N2' with (endpoint_url = N'TCP://n2:5022', availability_mode = synchronous_commit, failover_mode = manual)
GO
alter availability group [ag 1] add replica on N'N4' with (endpoint_url = N'TCP://n4:5022', availability_mode = synchronous_commit, failover_mode = manual)
select replica_server_name, join_state_desc from sys.dm_hadr_availability_replica_cluster_states where join_state = 0
alter availability group [ag 1] remove replica on N'N4'
alter availability group [ag 1] remove replica on N'N4'
GO
alter availability group [ag 1] remove replica on N'EVENKEEL'
GO
alter availability group [ag 1] modify replica on N'N9' with (session_timeout = 20)
GO
alter availability group [ag 1] modify replica on N'N3' with (session_timeout = 15)
alter availability group [ag 1] modify replica on N'N3' with (failover_mode = automatic)
GO
alter availability group [ag 1] modify replica on N'N2' with (availability_mode = asynchronous_commit)
GO
alter availability group [ag 1] modify replica on N'N2' with (session_timeout = 20, backup_priority = 10)
GO
-- Listeners.
alter availability group [ag 1] add listener N'second' (with ip ((N'10.0.0.8', N'255.255.255.0')))
GO
alter availability group [ag 1] modify listener N'ag-listener' (port = 70000)
GO
alter availability group [ag 1] modify listener N'ag-listener' (port = 1433)
GO
alter availability group [ag 1] modify listener N'ag-listener' (add ip (N'10.1.0.9', N'255.255.0.0'))
alter availability group [ag 1] modify listener N'ag-listener' (port = 1434)
select dns_name, port, ip_configuration_string_from_cluster from sys.availability_group_listeners
select ip_address, state_desc from sys.availability_group_listener_ip_addresses
select group_name, dns_name, way_desc, primary_replica, ip_address, state_desc, error from sys.dm_keel_listeners
alter availability group [ag 1] restart listener N'ag-listener'
select ip_address, is_ipv4, type_desc, state_desc from sys.dm_tcp_listener_states
alter availability group [ag 1] remove listener N'ag-listener'
alter availability group [ag 1] restart listener N'ag-listener'
GO
-- Suspend and resume.
alter database stock set hadr suspend
GO
alter database sales set hadr suspend
select synchronization_state_desc, is_suspended, suspend_reason_desc from sys.dm_hadr_database_replica_states where is_local = 1
alter database sales set hadr resume
GO
alter database sales set hadr off
GO
-- Failover where the primary is, and JOIN where the replica is.
alter availability group [ag 1] failover
GO
alter availability group [ag 1] join
GO
alter availability group elsewhere join with (cluster_type = wsfc)
GO
alter availability group [ag 1] grant create any database
GO
select event_name, group_name, error_number from sys.dm_keel_health_log
GO
-- Join tokens.
exec sp_keel_invite @url = N'n1:5022'
GO
exec sp_keel_invite @url = N'TCP://n1:5022', @hours = 2
exec sp_keel_join @token = N'token for me', @url = N'TCP://n1:5022'
exec sp_keel_join N'nonsense', N'TCP://n1:5022'
select * from sys.dm_keel_members
