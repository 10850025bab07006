//! How groups, replicas and database copies stand now.
//!
//! A primary shows everything it knows; a secondary its own rows.

use super::hadr::{LSN, N128, N256, guid, state};
use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, NAME, NULL, SystemView, TINY, ViewContext, bit, date, int, text,
    view,
};
use crate::hadr::{
    DatabaseReplicaState, GroupDatabase, GroupState, HadrState, ReplicaState, Role, health, lsn,
};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

#[rustfmt::skip]
const REPLICA_STATE: &[Column] = &[
    ("replica_id", GUID), ("group_id", GUID), ("is_local", BIT), ("role", TINY), ("role_desc", DESC),
    ("operational_state", TINY), ("operational_state_desc", DESC), ("connected_state", TINY), ("connected_state_desc", DESC),
    ("recovery_health", TINY), ("recovery_health_desc", DESC), ("synchronization_health", TINY),
    ("synchronization_health_desc", DESC), ("last_connect_error_number", INT),
    ("last_connect_error_description", SqlType::NVarChar(Length::Limited(1024))), ("last_connect_error_timestamp", DATE),
    ("write_lease_remaining_ticks", BIG), ("current_configuration_commit_start_time_utc", DATE), ("is_internal", BIT),
];

#[rustfmt::skip]
const DATABASE_STATE: &[Column] = &[
    ("database_id", INT), ("group_id", GUID), ("replica_id", GUID), ("group_database_id", GUID), ("is_local", BIT),
    ("is_primary_replica", BIT), ("synchronization_state", TINY), ("synchronization_state_desc", DESC),
    ("is_commit_participant", BIT), ("synchronization_health", TINY), ("synchronization_health_desc", DESC),
    ("database_state", TINY), ("database_state_desc", DESC), ("is_suspended", BIT), ("suspend_reason", TINY),
    ("suspend_reason_desc", DESC), ("recovery_lsn", LSN), ("truncation_lsn", LSN), ("last_sent_lsn", LSN),
    ("last_sent_time", DATE), ("last_received_lsn", LSN), ("last_received_time", DATE), ("last_hardened_lsn", LSN),
    ("last_hardened_time", DATE), ("last_redone_lsn", LSN), ("last_redone_time", DATE), ("log_send_queue_size", BIG),
    ("log_send_rate", BIG), ("redo_queue_size", BIG), ("redo_rate", BIG), ("filestream_send_rate", BIG),
    ("end_of_log_lsn", LSN), ("last_commit_lsn", LSN), ("last_commit_time", DATE), ("low_water_mark_for_ghosts", BIG),
    ("secondary_lag_seconds", BIG), ("quorum_commit_lsn", LSN), ("quorum_commit_time", DATE),
];

#[rustfmt::skip]
const SEEDING: &[Column] = &[
    ("start_time", DATE), ("completion_time", DATE), ("ag_id", GUID), ("ag_db_id", GUID), ("ag_remote_replica_id", GUID),
    ("operation_id", GUID), ("is_source", BIT), ("current_state", DESC), ("performed_seeding", BIT), ("failure_state", INT),
    ("failure_state_desc", DESC), ("error_code", INT), ("number_of_attempts", INT),
];

#[rustfmt::skip]
const PHYSICAL_SEEDING: &[Column] = &[
    ("local_physical_seeding_id", GUID), ("remote_physical_seeding_id", GUID), ("local_database_id", INT),
    ("local_database_name", N128), ("remote_machine_name", N256), ("role_desc", N256), ("internal_state_desc", N256),
    ("transfer_rate_bytes_per_second", BIG), ("transferred_size_bytes", BIG), ("database_size_bytes", BIG),
    ("start_time_utc", DATE), ("end_time_utc", DATE), ("estimate_time_complete_utc", DATE),
    ("total_disk_io_wait_time_ms", BIG), ("total_network_wait_time_ms", BIG), ("failure_code", INT),
    ("failure_message", N256), ("failure_time_utc", DATE), ("is_compression_enabled", BIT),
];

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("dm_hadr_availability_group_states", &[
        ("group_id", GUID), ("primary_replica", NAME), ("primary_recovery_health", TINY), ("primary_recovery_health_desc", DESC),
        ("secondary_recovery_health", TINY), ("secondary_recovery_health_desc", DESC), ("synchronization_health", TINY),
        ("synchronization_health_desc", DESC),
    ], group_states),
    view("dm_hadr_availability_replica_states", REPLICA_STATE, replica_states),
    view("dm_hadr_database_replica_states", DATABASE_STATE, database_states),
    view("dm_hadr_database_replica_cluster_states", &[
        ("replica_id", GUID), ("group_database_id", GUID), ("database_name", NAME), ("is_failover_ready", BIT),
        ("is_pending_secondary_suspend", BIT), ("is_database_joined", BIT), ("recovery_lsn", LSN), ("truncation_lsn", LSN),
    ], database_cluster_states),
    // Pages are not repaired from replicas; a damaged base tree is rebuilt by seeding.
    view("dm_hadr_auto_page_repair", &[
        ("database_id", INT), ("file_id", INT), ("page_id", BIG), ("error_type", INT), ("page_status", INT),
        ("modification_time", DATE),
    ], |_| Vec::new()),
    // Threads serve all groups together: how many there are is in dm_os_performance_counters.
    view("dm_hadr_ag_threads", &[
        ("group_id", GUID), ("name", NAME), ("num_databases", INT), ("num_capture_threads", INT), ("num_redo_threads", INT),
        ("num_parallel_redo_threads", INT), ("num_hadr_threads", INT),
    ], |cx| {
        let row = |g: &GroupState| {
            let mut row = vec![guid(g.id), text(g.spec.name.as_str()), int(g.databases.len() as i64)];
            row.extend([NULL, NULL, NULL, NULL]);
            row
        };
        state(cx).groups.iter().map(row).collect()
    }),
    view("dm_hadr_automatic_seeding", SEEDING, seeding),
    view("dm_hadr_physical_seeding_stats", PHYSICAL_SEEDING, physical_seeding),
];

fn lsn_or_null(position: Option<u64>) -> Value {
    position.map_or(NULL, lsn::value)
}

fn time_or_null(ticks: Option<i64>) -> Value {
    ticks.map_or(NULL, date)
}

/// A number and its word, or two NULLs.
fn pair(shown: Option<(u8, &'static str)>) -> [Value; 2] {
    shown.map_or([NULL, NULL], |(number, word)| [int(number), text(word)])
}

/// The replicas whose state is known here: all on the primary, else only the local one.
fn known(g: &GroupState) -> impl Iterator<Item = &ReplicaState> {
    g.replicas.iter().filter(|r| g.role == Role::Primary || r.is_local)
}

fn recovery(r: &ReplicaState) -> (u8, &'static str) {
    if health::recovered(r) { (1, "ONLINE") } else { (0, "ONLINE_IN_PROGRESS") }
}

fn group_states(cx: &ViewContext<'_>) -> Rows {
    let row = |g: &GroupState| {
        let own = g.local().map(recovery);
        let primary = g.role == Role::Primary;
        let mut row = vec![guid(g.id), g.primary.as_deref().map_or(NULL, text)];
        row.extend(pair(own.filter(|_| primary)));
        row.extend(pair(own.filter(|_| !primary)));
        let health = health::group(g);
        row.extend(pair(Some((health.number(), health.word()))));
        row
    };
    state(cx).groups_with_states().map(row).collect()
}

fn replica_states(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for g in state(cx).groups_with_states() {
        for r in known(g) {
            let role = r.role.unwrap_or(Role::Resolving);
            let mut row = vec![guid(r.id), guid(g.id), bit(r.is_local)];
            row.extend(pair(Some((role.number(), role.word()))));
            row.extend(pair(r.operational.map(|o| (o.number(), o.word()))));
            // A replica is always connected to itself.
            let connected = r.is_local || r.connected == Some(true);
            row.extend(pair(Some(if connected { (1, "CONNECTED") } else { (0, "DISCONNECTED") })));
            row.extend(pair(r.is_local.then(|| recovery(r))));
            let health = health::replica(g, r);
            row.extend(pair(Some((health.number(), health.word()))));
            match &r.last_connect_error {
                Some(e) => row.extend([int(e.number), text(e.description.as_str()), date(e.time)]),
                None => row.extend([NULL, NULL, NULL]),
            }
            row.extend([NULL, time_or_null(g.configuration_pending_since_utc), bit(false)]);
            rows.push(row);
        }
    }
    rows
}

/// Calls with every database copy known here.
fn each_copy<'a>(
    state: &'a HadrState,
    mut row: impl FnMut(&'a GroupState, &'a ReplicaState, &'a GroupDatabase, &'a DatabaseReplicaState),
) {
    for g in state.groups_with_states() {
        for r in known(g) {
            for copy in &r.databases {
                if let Some(d) = g.databases.iter().find(|d| d.id == copy.database) {
                    row(g, r, d, copy);
                }
            }
        }
    }
}

fn database_states(cx: &ViewContext<'_>) -> Rows {
    let state = state(cx);
    let mut rows = Vec::new();
    each_copy(&state, |g, r, d, copy| {
        let Some(entry) = cx.engine.database(&d.name) else { return };
        let is_primary = r.role == Some(Role::Primary);
        let mut row = vec![int(entry.id.0), guid(g.id), guid(r.id), guid(d.id), bit(r.is_local)];
        row.extend([bit(is_primary), int(copy.sync.number()), text(copy.sync.word())]);
        row.push(bit(copy.commit_participant));
        let health = health::database(r.spec.availability_mode, copy);
        row.extend(pair(Some((health.number(), health.word()))));
        let database_state = match copy.online {
            Some(true) => Some((0, "ONLINE")),
            Some(false) => Some((2, "RECOVERING")),
            None => None,
        };
        row.extend(pair(database_state.filter(|_| r.is_local)));
        row.push(bit(copy.suspended.is_some()));
        row.extend(pair(copy.suspended.map(|s| (s.number(), s.word()))));
        row.extend(positions(copy, is_primary));
        rows.push(row);
    });
    rows
}

fn positions(copy: &DatabaseReplicaState, is_primary: bool) -> Vec<Value> {
    let p = &copy.positions;
    let at = |o: Option<(u64, Option<i64>)>| [lsn_or_null(o.map(|o| o.0)), time_or_null(o.and_then(|o| o.1))];
    let secondary = |v: Value| if is_primary { NULL } else { v };
    let kb = |bytes: u64| int((bytes / 1024) as i64);
    let queue = |bytes: Option<u64>| secondary(bytes.map_or(NULL, kb));
    let mut row = vec![lsn_or_null(p.recovery), lsn_or_null(p.truncation)];
    row.extend(at(p.sent));
    row.extend(at(p.received));
    row.extend(at(p.hardened));
    row.extend(at(p.redone));
    row.extend([queue(copy.send_queue_bytes), secondary(kb(copy.send_rate_bytes))]);
    row.extend([queue(copy.redo_queue_bytes), secondary(kb(copy.redo_rate_bytes))]);
    row.extend([secondary(int(0)), lsn_or_null(p.end_of_log)]);
    row.extend(at(p.last_commit));
    row.extend([int(0), copy.lag_seconds.map_or(NULL, |s| int(s as i64))]);
    row.extend(at(p.agreed));
    row
}

fn database_cluster_states(cx: &ViewContext<'_>) -> Rows {
    let state = state(cx);
    let mut rows = Vec::new();
    for g in state.groups_with_states() {
        for r in known(g) {
            for d in &g.databases {
                let copy = r.database(d.id);
                let position = |f: fn(&DatabaseReplicaState) -> Option<u64>| lsn_or_null(copy.and_then(f));
                let ready = copy.is_some_and(|c| c.failover_ready);
                let joined = copy.is_some_and(|c| c.joined);
                let mut row = vec![guid(r.id), guid(d.id), text(d.name.as_str()), bit(ready), bit(false)];
                row.push(bit(joined));
                row.push(if g.role == Role::Primary { position(|c| c.positions.recovery) } else { NULL });
                row.push(position(|c| c.positions.truncation));
                rows.push(row);
            }
        }
    }
    rows
}

/// One "cluster" per instance: its groups' members. It has a name once there is a group.
fn seeding(cx: &ViewContext<'_>) -> Rows {
    let row = |s: &crate::hadr::SeedingAttempt| {
        let mut row = vec![date(s.start), time_or_null(s.completion), guid(s.group), guid(s.database)];
        row.extend([guid(s.remote_replica), guid(s.operation), bit(s.is_source), text(s.current_state)]);
        row.push(bit(s.performed));
        match &s.failure {
            Some((number, words)) => row.extend([int(*number), text(words.as_str())]),
            None => row.extend([NULL, NULL]),
        }
        row.extend([s.error_code.map_or(NULL, int), int(s.attempts)]);
        row
    };
    state(cx).seeding.iter().map(row).collect()
}

fn physical_seeding(cx: &ViewContext<'_>) -> Rows {
    let row = |s: &crate::hadr::PhysicalSeeding| {
        let id = cx.engine.database(&s.database).map_or(NULL, |e| int(e.id.0));
        let big = |n: u64| int(i64::try_from(n).unwrap_or(i64::MAX));
        let mut row = vec![guid(s.local_id), guid(s.remote_id), id, text(s.database.as_str())];
        row.push(text(s.remote_machine.as_str()));
        row.push(text(if s.is_source { "Source" } else { "Destination" }));
        row.extend([text(s.internal_state), big(s.bytes_per_second), big(s.transferred_bytes)]);
        row.extend([big(s.database_bytes), date(s.start_utc), time_or_null(s.end_utc)]);
        row.extend([time_or_null(s.estimate_utc), big(s.disk_wait_ms), big(s.network_wait_ms)]);
        match &s.failure {
            Some((number, words)) => row.extend([int(*number), text(words.as_str())]),
            None => row.extend([NULL, NULL]),
        }
        row.extend([time_or_null(s.failure_time_utc), bit(s.compressed)]);
        row
    };
    state(cx).physical_seeding.iter().map(row).collect()
}
