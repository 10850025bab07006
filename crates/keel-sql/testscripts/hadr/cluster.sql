-- The cluster: members, votes, networks, failovers, and what an operator can ask of it.
select * from sys.dm_hadr_cluster
select * from sys.dm_hadr_cluster_members
select * from sys.dm_hadr_cluster_networks
GO
select cluster_name, generation, quorum_state_desc, votes, votes_heard, votes_needed, leader, holds_lease, member_name,
    endpoint_url, member_type_desc, is_local, is_up, has_vote, round_trip_us from sys.dm_keel_cluster
GO
select from_replica, to_replica, kind, cause, last_heard_ms_before, suspected_ms, decided_ms, first_commit_ms, summary
    from sys.dm_keel_failovers
select * from sys.dm_keel_failover_estimates
GO
-- Measuring.
exec sp_keel_validate_cluster
GO
-- Changing.
exec sp_keel_failover @group = N'sales'
exec sp_keel_failover @group = N'sales', @to = N'N2', @force = 1
exec sp_keel_failover
GO
exec sp_keel_force_quorum
exec sp_keel_remove_node N'N2'
exec sp_keel_remove_node N'N9'
exec sp_keel_remove_node
GO
select event_name, message from sys.dm_keel_health_log
GO
-- Not for everybody.
create login guest1 with password = N'Guest-1234'
GO
execute as login = N'guest1'
GO
exec sp_keel_force_quorum
GO
revert
GO
