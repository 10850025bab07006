//! What the product does not show: who commits wait for, where their time goes, log kept for salvage, the health log.

use super::hadr::{LSN, N128, N256, guid, state};
use super::{
    BIG, BIT, DATE, DESC, GUID, INT, NAME, NULL, SystemView, TEXT, TINY, ViewContext, bit, date, int, text,
    view,
};
use crate::hadr::{CommitLatency, Role, SyncState, lsn};
use keel_types::{SqlType, Value};

type Rows = Vec<Vec<Value>>;

#[rustfmt::skip]
pub(super) static VIEWS: &[SystemView] = &[
    view("dm_keel_commit_participants", &[
        ("group_id", GUID), ("group_name", NAME), ("database_name", NAME), ("replica_server_name", N256),
        ("is_waited_for", BIT), ("last_hardened_lsn", LSN), ("bytes_behind", BIG), ("synchronized_secondaries", INT),
        ("required_synchronized_secondaries", INT), ("commits_are_blocked", BIT), ("agreed_lsn", LSN),
        ("recovery_queue_bytes", BIG), ("recovery_queue_max_bytes", BIG), ("writers_wait_us", BIG),
    ], participants),
    view("dm_keel_commit_latency", &[
        ("group_id", GUID), ("database_name", NAME), ("replica_server_name", N256), ("blocks", BIG),
        ("average_local_flush_us", SqlType::Float), ("average_send_queue_us", SqlType::Float),
        ("average_network_us", SqlType::Float), ("average_remote_flush_us", SqlType::Float),
    ], latency),
    view("dm_keel_divergent_log", &[
        ("group_id", GUID), ("database_name", NAME), ("from_lsn", LSN), ("to_lsn", LSN), ("size_bytes", BIG),
    ], divergent),
    view("dm_keel_members", &[("server_name", N256), ("endpoint_url", N256)], |cx| {
        let members = cx.engine.hadr().map(|h| h.members()).unwrap_or_default();
        members.into_iter().map(|(name, url)| vec![text(name), text(url)]).collect()
    }),
    view("dm_keel_listeners", &[
        ("group_id", GUID), ("group_name", NAME), ("dns_name", NAME), ("port", INT), ("way", TINY), ("way_desc", DESC),
        ("primary_replica", N256), ("ip_address", N128), ("state", TINY), ("state_desc", DESC), ("start_time", DATE),
        ("error", TEXT),
    ], listeners),
    view("dm_keel_health_log", &[
        ("time_utc", DATE), ("event_name", N128), ("group_name", NAME), ("replica_server_name", N256),
        ("database_name", NAME), ("error_number", INT), ("message", TEXT),
    ], health_log),
];

/// Every address a listener is to have on this node, how it fares, and what becomes of connections.
fn listeners(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for g in &state(cx).groups {
        for l in &g.listeners {
            for s in &l.sockets {
                let mut row = vec![guid(g.id), text(g.spec.name.as_str()), text(l.spec.dns_name.as_str())];
                row.extend([int(s.address.port()), int(l.way.number()), text(l.way.word())]);
                row.extend([l.sent_to.as_deref().map_or(NULL, text), text(s.address.ip().to_string())]);
                row.extend([int(s.condition.number()), text(s.condition.word())]);
                row.extend([s.since.map_or(NULL, date), s.error.as_deref().map_or(NULL, text)]);
                rows.push(row);
            }
        }
    }
    rows
}

/// On a primary: every secondary copy, whether commits wait for it, and whether too few are synchronized for any commit.
fn participants(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for g in state(cx).all_groups().filter(|g| g.role == Role::Primary) {
        for d in &g.databases {
            let copies =
                || g.replicas.iter().filter(|r| !r.is_local).filter_map(|r| Some((r, r.database(d.id)?)));
            let synchronized = copies().filter(|(_, c)| c.sync == SyncState::Synchronized).count();
            let required = g.spec.required_synchronized_secondaries;
            let own = g.local().and_then(|r| r.database(d.id)).map(|c| c.positions).unwrap_or_default();
            for (r, copy) in copies() {
                let hardened = copy.positions.hardened.map(|h| h.0);
                let behind = own.end_of_log.zip(hardened).map(|(end, at)| end.saturating_sub(at));
                let mut row = vec![guid(g.id), text(g.spec.name.as_str()), text(d.name.as_str())];
                row.extend([text(r.spec.server.as_str()), bit(copy.commit_participant)]);
                row.extend([hardened.map_or(NULL, lsn::value), behind.map_or(NULL, |b| int(b as i64))]);
                row.extend([int(synchronized as i64), int(required), bit(synchronized < required as usize)]);
                row.push(own.agreed.map_or(NULL, |a| lsn::value(a.0)));
                row.push(copy.redo_queue_bytes.map_or(NULL, |b| int(b as i64)));
                row.push(
                    Some(copy.redo_queue_max_bytes).filter(|max| *max > 0).map_or(NULL, |b| int(b as i64)),
                );
                row.push(int(copy.writers_wait_micros as i64));
                rows.push(row);
            }
        }
    }
    rows
}

fn latency(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for g in state(cx).all_groups() {
        for r in &g.replicas {
            for copy in &r.databases {
                let Some(CommitLatency {
                    blocks,
                    local_flush_micros,
                    queue_micros,
                    network_micros,
                    remote_flush_micros,
                }) = copy.latency
                else {
                    continue;
                };
                let Some(d) = g.databases.iter().find(|d| d.id == copy.database) else { continue };
                let average = |total: u64| match blocks {
                    0 => NULL,
                    n => Value::Float(total as f64 / n as f64),
                };
                let mut row = vec![guid(g.id), text(d.name.as_str()), text(r.spec.server.as_str())];
                row.extend([int(blocks as i64), average(local_flush_micros), average(queue_micros)]);
                row.extend([average(network_micros), average(remote_flush_micros)]);
                rows.push(row);
            }
        }
    }
    rows
}

fn divergent(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for g in &state(cx).groups {
        for copy in g.local().map(|r| &r.databases[..]).unwrap_or_default() {
            let named = g.databases.iter().find(|d| d.id == copy.database);
            if let (Some((from, to)), Some(d)) = (copy.divergent, named) {
                let mut row = vec![guid(g.id), text(d.name.as_str()), lsn::value(from), lsn::value(to)];
                row.push(int(to.saturating_sub(from) as i64));
                rows.push(row);
            }
        }
    }
    rows
}

fn health_log(cx: &ViewContext<'_>) -> Rows {
    let events = cx.engine.hadr().map(|h| h.health_log()).unwrap_or_default();
    let optional = |s: &Option<String>| s.as_deref().map_or(NULL, text);
    let row = |e: &crate::hadr::HealthEvent| {
        let mut row = vec![date(e.time_utc), text(e.name.as_str()), optional(&e.group), optional(&e.replica)];
        row.extend([optional(&e.database), int(e.number), text(e.text.as_str())]);
        row
    };
    events.iter().map(row).collect()
}
