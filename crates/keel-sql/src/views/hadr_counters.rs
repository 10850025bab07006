//! Performance counters of availability replicas, database replicas and groups.
//!
//! Two tables, [`REPLICA`] and [`DATABASE`]: the product's name, and what of a state it shows. What has no counterpart
//! here (undo of redo, redo blocked by readers) is zero because it cannot happen.

use super::ViewContext;
use super::counters::Kind::{self, PerSecond, Raw};
use super::hadr::state;
use crate::hadr::{DatabaseReplicaState, ReplicaCounters, Role};
use keel_types::Value;

type Rows = Vec<Vec<Value>>;
type Row = fn(&str, &str, &str, u64, Kind) -> Vec<Value>;

struct ReplicaCounter {
    name: &'static str,
    kind: Kind,
    read: fn(&ReplicaCounters) -> u64,
}

const fn r(name: &'static str, read: fn(&ReplicaCounters) -> u64) -> ReplicaCounter {
    ReplicaCounter { name, kind: PerSecond, read }
}

static REPLICA: &[ReplicaCounter] = &[
    r("Bytes Sent to Replica/sec", |c| c.sent_bytes),
    r("Sends to Replica/sec", |c| c.sends),
    r("Bytes Sent to Transport/sec", |c| c.wire_sent_bytes),
    r("Sends to Transport/sec", |c| c.wire_sends),
    r("Bytes Received from Replica/sec", |c| c.received_bytes),
    r("Receives from Replica/sec", |c| c.receives),
    r("Flow Control/sec", |c| c.flow_controls),
    r("Flow Control Time (ms/sec)", |c| c.flow_control_micros / 1000),
    r("Resent Messages/sec", |c| c.resent),
];

/// What a database's copies here and there count together: `own` is the local copy, `remote` the copies it feeds.
struct Copies<'a> {
    own: Option<&'a DatabaseReplicaState>,
    remote: Vec<&'a DatabaseReplicaState>,
}

impl Copies<'_> {
    fn own(&self, read: impl Fn(&DatabaseReplicaState) -> u64) -> u64 {
        self.own.map_or(0, read)
    }
    fn all(&self, read: impl Fn(&DatabaseReplicaState) -> u64) -> u64 {
        self.own(&read) + self.remote.iter().map(|c| read(c)).sum::<u64>()
    }
}

struct DatabaseCounter {
    name: &'static str,
    kind: Kind,
    read: fn(&Copies<'_>) -> u64,
}

const fn d(name: &'static str, kind: Kind, read: fn(&Copies<'_>) -> u64) -> DatabaseCounter {
    DatabaseCounter { name, kind, read }
}

static DATABASE: &[DatabaseCounter] = &[
    d("Mirrored Write Transactions/sec", PerSecond, |c| c.own(|c| c.counters.mirrored_commits)),
    d("Transaction Delay", PerSecond, |c| c.own(|c| c.counters.commit_delay_micros / 1000)),
    d("Database Flow Controls/sec", PerSecond, |c| c.all(|c| c.counters.flow_controls)),
    d("Database Flow Control Delay", PerSecond, |c| c.all(|c| c.counters.flow_control_micros)),
    d("Log Compressions/sec", PerSecond, |c| c.all(|c| c.counters.compressions)),
    d("Log Bytes Compressed/sec", PerSecond, |c| c.all(|c| c.counters.compressed_from_bytes)),
    d("Log Compression Cache hits/sec", PerSecond, |c| c.all(|c| c.counters.compression_cache_hits)),
    d("Log Compression Cache misses/sec", PerSecond, |c| {
        c.all(|c| c.counters.compressions.saturating_sub(c.counters.compression_cache_hits))
    }),
    d("Log Decompressions/sec", PerSecond, |c| c.own(|c| c.counters.decompressions)),
    d("Log Bytes Decompressed/sec", PerSecond, |c| c.own(|c| c.counters.decompressed_bytes)),
    d("Log Bytes Received/sec", PerSecond, |c| c.own(|c| c.counters.received_bytes)),
    d("File Bytes Received/sec", PerSecond, |_| 0),
    d("Log Send Queue", Raw, |c| c.all(|c| c.send_queue_bytes.unwrap_or(0)) / 1024),
    d("Recovery Queue", Raw, |c| c.own(|c| c.redo_queue_bytes.unwrap_or(0)) / 1024),
    d("Redone Bytes/sec", PerSecond, |c| c.own(|c| c.counters.redone_bytes)),
    d("Redones/sec", PerSecond, |c| c.own(|c| c.counters.redone_records)),
    d("Redo blocked/sec", PerSecond, |_| 0),
    d("Redo Bytes Remaining", Raw, |c| c.own(|c| c.redo_queue_bytes.unwrap_or(0)) / 1024),
    d("Log remaining for undo", Raw, |_| 0),
    d("Total Log requiring undo", Raw, |_| 0),
];

/// All rows; `row` makes one of object, counter, instance, value and kind.
pub(super) fn rows(cx: &ViewContext<'_>, row: Row) -> Rows {
    let state = state(cx);
    let mut rows = Vec::new();
    for counter in REPLICA {
        let mut total = 0;
        for g in &state.groups {
            for replica in g.replicas.iter().filter(|r| !r.is_local) {
                let value = (counter.read)(&replica.counters);
                total += value;
                let instance = format!("{}:{}", g.spec.name, replica.spec.server);
                rows.push(row("Availability Replica", counter.name, &instance, value, counter.kind));
            }
        }
        rows.push(row("Availability Replica", counter.name, "_Total", total, counter.kind));
    }
    for counter in DATABASE {
        let mut total = 0;
        for g in &state.groups {
            for member in &g.databases {
                let remote = g.replicas.iter().filter(|r| !r.is_local && g.role == Role::Primary);
                let copies = Copies {
                    own: g.local().and_then(|r| r.database(member.id)),
                    remote: remote.filter_map(|r| r.database(member.id)).collect(),
                };
                let value = (counter.read)(&copies);
                total += value;
                rows.push(row("Database Replica", counter.name, &member.name, value, counter.kind));
            }
        }
        rows.push(row("Database Replica", counter.name, "_Total", total, counter.kind));
    }
    rows.push(row("Availability Group", "Active Hadr Threads", "_Total", state.threads.into(), Raw));
    rows
}
