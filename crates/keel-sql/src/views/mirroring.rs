//! Database mirroring: sessions, on partners and on witnesses, the endpoint's connections, and the counters.

use super::counters::Kind::{self, PerSecond, Raw};
use super::hadr::{LSN, N128, N256, guid, state};
use super::{
    BIG, BIT, Column, DATE, DESC, GUID, INT, NAME, NULL, SMALL, SystemView, TINY, ViewContext, bit, int,
    text, view,
};
use crate::hadr::state::EndpointConnection;
use crate::hadr::{DatabaseReplicaState, Expected, Mirroring, Partner, lsn};
use keel_types::Value;

type Rows = Vec<Vec<Value>>;
type Row = fn(&str, &str, &str, u64, Kind) -> Vec<Value>;

#[rustfmt::skip]
const MIRRORING: &[Column] = &[
    ("database_id", INT), ("mirroring_guid", GUID), ("mirroring_state", TINY), ("mirroring_state_desc", DESC),
    ("mirroring_role", TINY), ("mirroring_role_desc", DESC), ("mirroring_role_sequence", INT),
    ("mirroring_safety_level", TINY), ("mirroring_safety_level_desc", DESC), ("mirroring_safety_sequence", INT),
    ("mirroring_partner_name", N128), ("mirroring_partner_instance", N128), ("mirroring_witness_name", N128),
    ("mirroring_witness_state", TINY), ("mirroring_witness_state_desc", DESC), ("mirroring_failover_lsn", LSN),
    ("mirroring_connection_timeout", INT), ("mirroring_redo_queue", INT), ("mirroring_redo_queue_type", DESC),
    ("mirroring_end_of_log_lsn", LSN), ("mirroring_replication_lsn", LSN),
];

#[rustfmt::skip]
const WITNESS: &[Column] = &[
    ("database_name", NAME), ("principal_server_name", NAME), ("mirror_server_name", NAME), ("safety_level", TINY),
    ("safety_level_desc", DESC), ("safety_sequence_number", INT), ("role_sequence_number", INT), ("mirroring_guid", GUID),
    ("family_guid", GUID), ("is_suspended", BIT), ("is_suspended_sequence_number", INT), ("partner_sync_state", TINY),
    ("partner_sync_state_desc", DESC),
];

#[rustfmt::skip]
const CONNECTION: &[Column] = &[
    ("connection_id", GUID), ("transport_stream_id", GUID), ("state", SMALL), ("state_desc", DESC), ("connect_time", DATE),
    ("login_time", DATE), ("authentication_method", N128), ("principal_name", N128), ("remote_user_name", N128),
    ("last_activity_time", DATE), ("is_accept", BIT), ("login_state", SMALL), ("login_state_desc", DESC),
    ("peer_certificate_id", INT), ("encryption_algorithm", SMALL), ("encryption_algorithm_desc", DESC),
    ("receives_posted", SMALL), ("is_receive_flow_controlled", BIT), ("sends_posted", SMALL), ("is_send_flow_controlled", BIT),
    ("total_bytes_sent", BIG), ("total_bytes_received", BIG), ("total_fragments_sent", BIG), ("total_fragments_received", BIG),
    ("total_sends", BIG), ("total_receives", BIG), ("peer_arbitration_id", GUID), ("address", N256),
];

pub(super) static VIEWS: &[SystemView] = &[
    view("database_mirroring", MIRRORING, |cx| {
        let state = state(cx);
        let row = |d: &std::sync::Arc<crate::engine::DatabaseEntry>| {
            let mut row = vec![int(d.id.0)];
            match (state.mirroring_of(&d.name()), state.expected_of(&d.name())) {
                (Some(session), _) => partner_row(session, &mut row),
                (None, Some(expected)) => expected_row(expected, &mut row),
                (None, None) => {}
            }
            row.resize(MIRRORING.len(), NULL);
            row
        };
        cx.engine.databases().iter().map(row).collect()
    }),
    view("database_mirroring_witnesses", WITNESS, |cx| {
        state(cx).mirroring.iter().filter(|session| session.is_witness).map(witness_row).collect()
    }),
    view("dm_db_mirroring_connections", CONNECTION, |cx| {
        state(cx).connections.iter().map(connection).collect()
    }),
];

fn safety(full: bool) -> [Value; 2] {
    if full { [int(2), text("FULL")] } else { [int(1), text("OFF")] }
}

fn partner_row(session: &Mirroring, row: &mut Vec<Value>) {
    let condition = session.condition();
    let role = session.shown_role().map_or([NULL, NULL], |role| [int(role.number()), text(role.word())]);
    row.extend([guid(session.id), int(condition.number()), text(condition.word())]);
    row.extend(role);
    row.push(int(i64::try_from(session.role_sequence).unwrap_or(i64::MAX)));
    row.extend(safety(session.safety_full));
    row.push(int(i64::try_from(session.sequence).unwrap_or(i64::MAX)));
    let name = |partner: Option<&Partner>| partner.map_or(NULL, |p| text(p.url.as_str()));
    row.push(name(session.partner.as_ref()));
    row.push(session.partner.as_ref().map_or(NULL, |p| text(p.server.as_str())));
    let (witness, desc) = match &session.witness {
        None => (0, "UNKNOWN"),
        Some(witness) if witness.connected => (1, "CONNECTED"),
        Some(_) => (2, "DISCONNECTED"),
    };
    row.push(session.witness.as_ref().map_or_else(|| text(""), |p| text(p.url.as_str())));
    row.extend([int(witness), text(desc)]);
    let own = session.local.as_ref();
    // Before this everything is hardened on both partners: where a new principal begins.
    let failover = own.and_then(|copy| copy.positions.agreed).map_or(NULL, |(at, _)| lsn::value(at));
    let end = own.and_then(|copy| copy.positions.end_of_log).map_or(NULL, lsn::value);
    row.extend([failover.clone(), int(session.timeout_seconds)]);
    let bound = own.map_or(0, |copy| copy.redo_queue_max_bytes >> 20);
    row.extend(match bound {
        0 => [NULL, text("UNLIMITED")],
        megabytes => [int(i64::try_from(megabytes).unwrap_or(i64::MAX)), text("LIMITED")],
    });
    row.extend([end, failover]);
}

/// The mirror's side of a session that its principal has not begun.
fn expected_row(expected: &Expected, row: &mut Vec<Value>) {
    row.extend([
        NULL,
        int(1),
        text("DISCONNECTED"),
        int(2),
        text("MIRROR"),
        int(0),
        int(2),
        text("FULL"),
        int(0),
    ]);
    row.extend([text(expected.principal.url.as_str()), text(expected.principal.server.as_str())]);
    row.extend([text(""), int(0), text("UNKNOWN")]);
}

fn witness_row(session: &Mirroring) -> Vec<Value> {
    let name = |server: &Option<String>| server.as_deref().map_or(NULL, text);
    let mut row = vec![text(session.database.as_str()), name(&session.principal), name(&session.mirror)];
    row.extend(safety(session.safety_full));
    row.extend([session.sequence, session.role_sequence].map(|n| int(i64::try_from(n).unwrap_or(i64::MAX))));
    row.extend([guid(session.id), guid(session.id), bit(session.is_suspended()), int(0)]);
    row.extend(if session.both_synchronized {
        [int(6), text("SYNCHRONIZED")]
    } else {
        [int(5), text("UNSYNCHRONIZED")]
    });
    row
}

fn connection(c: &EndpointConnection) -> Vec<Value> {
    let big = |n: u64| int(i64::try_from(n).unwrap_or(i64::MAX));
    let mut row = vec![guid(c.instance), NULL, int(4), text("LOGGED_IN"), NULL, NULL, text("CERTIFICATE")];
    row.extend([NULL, NULL, NULL, NULL, int(12), text("ONLINE"), NULL, int(2), text("AES")]);
    row.extend([
        NULL,
        bit(false),
        NULL,
        bit(false),
        big(c.traffic.sent_bytes),
        big(c.traffic.received_bytes),
    ]);
    row.extend([
        big(c.traffic.sends),
        big(c.traffic.receives),
        big(c.traffic.sends),
        big(c.traffic.receives),
    ]);
    row.extend([guid(c.instance), c.address.map_or(NULL, |a| text(a.to_string()))]);
    row
}

struct Counter {
    name: &'static str,
    kind: Kind,
    read: fn(&Mirroring) -> u64,
}

const fn c(name: &'static str, kind: Kind, read: fn(&Mirroring) -> u64) -> Counter {
    Counter { name, kind, read }
}

fn own(session: &Mirroring, read: impl Fn(&DatabaseReplicaState) -> u64) -> u64 {
    session.local.as_ref().map_or(0, read)
}

fn fed(session: &Mirroring, read: impl Fn(&DatabaseReplicaState) -> u64) -> u64 {
    session.remote.as_ref().map_or(0, read)
}

/// The product's counters of which there are figures.
static COUNTERS: &[Counter] = &[
    c("Bytes Received/sec", PerSecond, |s| s.traffic.received_bytes),
    c("Bytes Sent/sec", PerSecond, |s| s.traffic.sent_bytes),
    c("Log Bytes Received/sec", PerSecond, |s| own(s, |c| c.counters.received_bytes)),
    c("Log Send Flow Control Time (ms)", PerSecond, |s| fed(s, |c| c.counters.flow_control_micros / 1000)),
    c("Log Send Queue KB", Raw, |s| fed(s, |c| c.send_queue_bytes.unwrap_or(0) / 1024)),
    c("Mirrored Write Transactions/sec", PerSecond, |s| own(s, |c| c.counters.mirrored_commits)),
    c("Receives/sec", PerSecond, |s| s.traffic.receives),
    c("Redo Bytes/sec", PerSecond, |s| own(s, |c| c.counters.redone_bytes)),
    c("Redo Queue KB", Raw, |s| own(s, |c| c.redo_queue_bytes.unwrap_or(0) / 1024)),
    c("Sends/sec", PerSecond, |s| s.traffic.sends),
    c("Transaction Delay", PerSecond, |s| own(s, |c| c.counters.commit_delay_micros / 1000)),
];

/// The rows of the object Database Mirroring.
pub(super) fn counters(cx: &ViewContext<'_>, row: Row) -> Rows {
    let state = state(cx);
    let mut rows = Vec::new();
    for counter in COUNTERS {
        let mut total = 0;
        for session in state.mirroring.iter().filter(|session| !session.is_witness) {
            let value = (counter.read)(session);
            total += value;
            rows.push(row("Database Mirroring", counter.name, &session.database, value, counter.kind));
        }
        rows.push(row("Database Mirroring", counter.name, "_Total", total, counter.kind));
    }
    rows
}
