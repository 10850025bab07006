//! What the pages show: one text over the system views for each part.
//!
//! The names of the columns are the keys of the JSON that the page reads; times are ISO 8601 in UTC, sizes are in the unit that
//! the column's name ends with.

/// A part of the state.
pub struct Part {
    /// Its key.
    pub name: &'static str,
    /// What it reads.
    pub text: &'static str,
}

const fn part(name: &'static str, text: &'static str) -> Part {
    Part { name, text }
}

/// All parts of the state, in the order in which they are read.
pub static STATE: &[Part] = &[
    part(
        "server",
        "SELECT @@SERVERNAME AS name, CONVERT(nvarchar(40), SERVERPROPERTY('ProductVersion')) AS version,
            DATEDIFF_BIG(second, sqlserver_start_time, SYSDATETIME()) AS up_s, cpu_count
         FROM sys.dm_os_sys_info",
    ),
    part(
        "counters",
        "SELECT RTRIM(object_name) AS object, RTRIM(counter_name) AS counter, cntr_value AS value
         FROM sys.dm_os_performance_counters
         WHERE instance_name IN (N'', N'_Total') AND counter_name IN (N'User Connections', N'Total Server Memory (KB)',
            N'Target Server Memory (KB)', N'Version Store Size (KB)', N'Processes blocked', N'Active Transactions')",
    ),
    part(
        "groups",
        "SELECT g.name, g.cluster_type_desc AS cluster_type, s.primary_replica AS leader,
            s.synchronization_health_desc AS health, g.required_synchronized_secondaries_to_commit AS required,
            (SELECT TOP 1 r.role_desc FROM sys.dm_hadr_availability_replica_states AS r
             WHERE r.group_id = g.group_id AND r.is_local = 1) AS role
         FROM sys.availability_groups AS g
         LEFT JOIN sys.dm_hadr_availability_group_states AS s ON s.group_id = g.group_id
         ORDER BY g.name",
    ),
    part(
        "replicas",
        "SELECT g.name AS group_name, r.replica_server_name AS server, s.role_desc AS role, s.is_local,
            s.connected_state_desc AS connected, s.operational_state_desc AS operational,
            s.synchronization_health_desc AS health, r.availability_mode_desc AS availability_mode,
            r.failover_mode_desc AS failover_mode, r.secondary_role_allow_connections_desc AS readable,
            r.endpoint_url, s.last_connect_error_description AS connect_error
         FROM sys.availability_replicas AS r
         JOIN sys.availability_groups AS g ON g.group_id = r.group_id
         LEFT JOIN sys.dm_hadr_availability_replica_states AS s ON s.replica_id = r.replica_id
         ORDER BY g.name, r.replica_server_name",
    ),
    part(
        "copies",
        "SELECT TOP 1000 g.name AS group_name, c.database_name, r.replica_server_name AS server, d.is_local,
            d.is_primary_replica AS is_primary, d.synchronization_state_desc AS sync_state,
            d.synchronization_health_desc AS health, d.database_state_desc AS state, d.is_suspended,
            d.suspend_reason_desc AS suspend_reason, d.is_commit_participant AS is_waited_for,
            s.is_failover_ready, d.log_send_queue_size AS send_queue_kb, d.log_send_rate AS send_rate_kb,
            d.redo_queue_size AS redo_queue_kb, d.redo_rate AS redo_rate_kb, d.secondary_lag_seconds AS lag_s
         FROM sys.dm_hadr_database_replica_states AS d
         JOIN sys.availability_groups AS g ON g.group_id = d.group_id
         JOIN sys.availability_replicas AS r ON r.replica_id = d.replica_id
         JOIN sys.availability_databases_cluster AS c ON c.group_database_id = d.group_database_id
         LEFT JOIN sys.dm_hadr_database_replica_cluster_states AS s
            ON s.replica_id = d.replica_id AND s.group_database_id = d.group_database_id
         ORDER BY CASE d.synchronization_health WHEN 2 THEN d.is_suspended ELSE 1 END DESC, g.name, c.database_name,
            r.replica_server_name",
    ),
    part(
        "participants",
        "SELECT TOP 1000 group_name, database_name, replica_server_name AS server, is_waited_for, bytes_behind,
            synchronized_secondaries, required_synchronized_secondaries, commits_are_blocked
         FROM sys.dm_keel_commit_participants ORDER BY commits_are_blocked DESC, group_name, database_name",
    ),
    part(
        "estimates",
        "SELECT TOP 1000 group_name, database_name, replica_server_name AS server, is_automatic, estimated_rto_ms AS rto_ms,
            estimated_rpo_bytes AS rpo_bytes, estimated_rpo_seconds AS rpo_s
         FROM sys.dm_keel_failover_estimates ORDER BY is_automatic, group_name, database_name",
    ),
    part(
        "cluster",
        "SELECT cluster_name, generation, quorum_state_desc AS quorum, votes, votes_heard, votes_needed, leader, holds_lease,
            member_name AS member, member_type_desc AS kind, endpoint_url, is_local, is_up, has_vote, round_trip_us,
            product_version AS version, product_warning
         FROM sys.dm_keel_cluster ORDER BY member_name",
    ),
    part(
        "failovers",
        "SELECT TOP 20 CONVERT(nvarchar(23), began_utc, 126) + N'Z' AS began, group_name, from_replica, to_replica, kind, cause,
            last_heard_ms_before, suspected_ms, polled_ms, claimed_ms, decided_ms, redone_ms, opened_ms, first_commit_ms, summary
         FROM sys.dm_keel_failovers ORDER BY began_utc DESC",
    ),
    part(
        "listeners",
        "SELECT group_name, dns_name, ip_address, port, way_desc AS way, state_desc AS state, primary_replica AS leader, error
         FROM sys.dm_keel_listeners ORDER BY group_name, dns_name, ip_address",
    ),
    part(
        "events",
        "SELECT TOP 20 CONVERT(nvarchar(23), time_utc, 126) + N'Z' AS time, event_name AS event, group_name,
            replica_server_name AS server, database_name, message
         FROM sys.dm_keel_health_log ORDER BY time_utc DESC",
    ),
    part(
        "databases",
        "SELECT TOP 1000 d.name, d.state_desc AS state, d.recovery_model_desc AS recovery_model, d.log_reuse_wait_desc AS log_reuse_wait,
            CASE WHEN d.replica_id IS NULL THEN 0 ELSE 1 END AS in_group,
            MAX(CASE WHEN p.counter_name = N'Data File(s) Size (KB)' THEN p.cntr_value END) AS data_kb,
            MAX(CASE WHEN p.counter_name = N'Log File(s) Used Size (KB)' THEN p.cntr_value END) AS log_kb
         FROM sys.databases AS d
         LEFT JOIN sys.dm_os_performance_counters AS p ON p.instance_name = d.name
            AND p.counter_name IN (N'Data File(s) Size (KB)', N'Log File(s) Used Size (KB)')
         GROUP BY d.name, d.state, d.state_desc, d.recovery_model_desc, d.log_reuse_wait_desc, d.replica_id
         ORDER BY CASE d.state WHEN 0 THEN 1 ELSE 0 END, d.name",
    ),
    part(
        "sessions",
        "SELECT TOP 50 s.session_id AS id, s.login_name AS login, s.host_name AS host, s.program_name AS program,
            DB_NAME(r.database_id) AS database_name, CASE WHEN r.session_id IS NULL THEN s.status ELSE r.status END AS status,
            r.command, r.wait_type, r.blocking_session_id AS blocked_by, s.cpu_time AS cpu_ms, s.logical_reads
         FROM sys.dm_exec_sessions AS s LEFT JOIN sys.dm_exec_requests AS r ON r.session_id = s.session_id
         WHERE s.session_id <> @@SPID
         ORDER BY CASE WHEN r.session_id IS NULL THEN 1 ELSE 0 END, s.cpu_time DESC, s.session_id",
    ),
    // Without the waits of threads that have nothing to do.
    part(
        "waits",
        "SELECT TOP 10 wait_type, waiting_tasks_count AS waits, wait_time_ms, max_wait_time_ms
         FROM sys.dm_os_wait_stats
         WHERE waiting_tasks_count > 0 AND wait_type NOT IN (N'HADR_TIMER_TASK', N'HADR_WORK_QUEUE', N'HADR_LOGCAPTURE_WAIT', N'PARALLEL_REDO_WORKER_WAIT_WORK')
         ORDER BY wait_time_ms DESC, waiting_tasks_count DESC",
    ),
];

/// The role of this instance in each group, and whether its copies are all synchronized and readable.
pub const ROLES: &str = "SELECT g.name, s.role_desc,
        CASE WHEN s.role_desc = N'SECONDARY' AND r.secondary_role_allow_connections_desc <> N'NO'
            AND s.synchronization_health_desc = N'HEALTHY' THEN 1 ELSE 0 END
     FROM sys.availability_groups AS g
     JOIN sys.dm_hadr_availability_replica_states AS s ON s.group_id = g.group_id AND s.is_local = 1
     JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id";

/// Counters that the plots are made of: object, name, value.
pub const SAMPLE: &str = "SELECT RTRIM(object_name), RTRIM(counter_name), cntr_value FROM sys.dm_os_performance_counters
     WHERE instance_name IN (N'', N'_Total') AND counter_name IN (N'Batch Requests/sec', N'Transactions/sec',
        N'Write Transactions/sec', N'Log Bytes Flushed/sec', N'Redone Bytes/sec', N'Log Flushes/sec',
        N'Log Flush Write Time (ms)', N'Log Flush Waits/sec', N'Log Flush Wait Time', N'Mirrored Write Transactions/sec',
        N'Transaction Delay', N'Checkpoint pages/sec')";

/// Log that is not sent and not redone, in bytes, by replica.
pub const QUEUES: &str = "SELECT r.replica_server_name, SUM(d.log_send_queue_size) * 1024, SUM(d.redo_queue_size) * 1024
     FROM sys.dm_hadr_database_replica_states AS d JOIN sys.availability_replicas AS r ON r.replica_id = d.replica_id
     WHERE d.is_primary_replica = 0 GROUP BY r.replica_server_name";

/// Where the time of a block goes that a secondary must harden: microseconds since the start, by replica.
pub const COMMIT_SPLIT: &str = "SELECT replica_server_name, SUM(blocks), SUM(blocks * average_local_flush_us),
        SUM(blocks * average_send_queue_us), SUM(blocks * average_network_us), SUM(blocks * average_remote_flush_us)
     FROM sys.dm_keel_commit_latency GROUP BY replica_server_name";
