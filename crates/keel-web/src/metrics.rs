//! `/metrics`: the exposition format of Prometheus, from the system views.
//!
//! Two tables say all of it: [`COUNTERS`] takes performance counters by their name, [`QUERIES`] the columns of other views. The
//! table in `docs/monitoring.md` is made of them, and a test compares.
//!
//! Names: `keel_`, then what it is, then the unit (seconds, bytes), then `_total` for what only grows. What is NULL in the view is
//! absent here.

use std::collections::BTreeMap;
use std::fmt::Write;

use keel_types::{SqlError, Value};
use prometheus::proto::{Counter, Gauge, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{Encoder, TextEncoder};

use crate::json;
use crate::sql::Asker;

/// Media type of the text.
pub const CONTENT_TYPE: &str = prometheus::TEXT_FORMAT;

/// Grows until the instance restarts, or goes up and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
}

use Kind::{Counter as C, Gauge as G};

/// A metric and what it means.
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub kind: Kind,
    /// One sentence.
    pub help: &'static str,
}

const fn def(name: &'static str, kind: Kind, help: &'static str) -> Definition {
    Definition { name, kind, help }
}

/// What an instance of a performance counter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// There is one, for the server.
    Server,
    /// One for each database.
    Database,
    /// One for each group and remote replica (`group:server`).
    Replica,
}

impl Instances {
    fn labels(self) -> &'static [&'static str] {
        match self {
            Instances::Server => &[],
            Instances::Database => &["database"],
            Instances::Replica => &["group", "replica"],
        }
    }
}

/// A performance counter that is shown.
pub struct FromCounter {
    object: &'static str,
    counter: &'static str,
    instances: Instances,
    /// What the counter's unit is in the metric's.
    scale: f64,
    definition: Definition,
}

const fn counter(
    (object, counter): (&'static str, &'static str),
    instances: Instances,
    scale: f64,
    definition: Definition,
) -> FromCounter {
    FromCounter { object, counter, instances, scale, definition }
}

const MS: f64 = 0.001;
const US: f64 = 0.000_001;
const KB: f64 = 1024.0;

use Instances::{Database as D, Replica as R, Server as S};

/// From `sys.dm_os_performance_counters`.
#[rustfmt::skip]
pub static COUNTERS: &[FromCounter] = &[
    counter(("SQL Statistics", "Batch Requests/sec"), S, 1.0, def("keel_batch_requests_total", C, "Batches and remote procedure calls received.")),
    counter(("SQL Statistics", "SQL Compilations/sec"), S, 1.0, def("keel_compilations_total", C, "Batches and modules compiled.")),
    counter(("General Statistics", "User Connections"), S, 1.0, def("keel_connections", G, "Sessions there are.")),
    counter(("General Statistics", "Logins/sec"), S, 1.0, def("keel_logins_total", C, "Sessions begun.")),
    counter(("General Statistics", "Processes blocked"), S, 1.0, def("keel_sessions_blocked", G, "Sessions that wait for a lock.")),
    counter(("Buffer Manager", "Page lookups/sec"), S, 1.0, def("keel_page_lookups_total", C, "Pages asked of the page cache.")),
    counter(("Buffer Manager", "Page reads/sec"), S, 1.0, def("keel_page_reads_total", C, "Pages read from data files.")),
    counter(("Buffer Manager", "Checkpoint pages/sec"), S, 1.0, def("keel_checkpoint_pages_total", C, "Pages written by checkpoints.")),
    counter(("Memory Manager", "Total Server Memory (KB)"), S, KB, def("keel_memory_used_bytes", G, "Memory of row versions and page cache.")),
    counter(("Memory Manager", "Target Server Memory (KB)"), S, KB, def("keel_memory_limit_bytes", G, "What they may take (max server memory).")),
    counter(("Transactions", "Version Store Size (KB)"), S, KB, def("keel_version_store_bytes", G, "Memory of row versions since the last checkpoint.")),
    counter(("Locks", "Lock Waits/sec"), S, 1.0, def("keel_lock_waits_total", C, "Lock requests that had to wait.")),
    counter(("Locks", "Lock Wait Time (ms)"), S, MS, def("keel_lock_wait_seconds_total", C, "Time they waited.")),
    counter(("Locks", "Lock Timeouts/sec"), S, 1.0, def("keel_lock_timeouts_total", C, "Lock requests that gave up.")),
    counter(("Locks", "Number of Deadlocks/sec"), S, 1.0, def("keel_deadlocks_total", C, "Deadlocks, each with a victim (1205).")),
    counter(("Databases", "Transactions/sec"), D, 1.0, def("keel_transactions_total", C, "Transactions begun.")),
    counter(("Databases", "Write Transactions/sec"), D, 1.0, def("keel_write_transactions_total", C, "Transactions committed that changed something.")),
    counter(("Databases", "Active Transactions"), D, 1.0, def("keel_transactions_open", G, "Transactions open.")),
    counter(("Databases", "Data File(s) Size (KB)"), D, KB, def("keel_data_file_bytes", G, "Size of the data file.")),
    counter(("Databases", "Log File(s) Size (KB)"), D, KB, def("keel_log_file_bytes", G, "Size of the log's files.")),
    counter(("Databases", "Log File(s) Used Size (KB)"), D, KB, def("keel_log_used_bytes", G, "Log that cannot be reused yet.")),
    counter(("Databases", "Log Flushes/sec"), D, 1.0, def("keel_log_flushes_total", C, "Blocks of log hardened.")),
    counter(("Databases", "Log Bytes Flushed/sec"), D, 1.0, def("keel_log_flushed_bytes_total", C, "Log hardened.")),
    counter(("Databases", "Log Flush Write Time (ms)"), D, MS, def("keel_log_flush_seconds_total", C, "Time that writing and syncing it took.")),
    counter(("Databases", "Log Flush Waits/sec"), D, 1.0, def("keel_log_waits_total", C, "Commits that waited for the log.")),
    counter(("Databases", "Log Flush Wait Time"), D, MS, def("keel_log_wait_seconds_total", C, "Time they waited.")),
    counter(("Database Replica", "Mirrored Write Transactions/sec"), D, 1.0, def("keel_synchronous_commits_total", C, "Commits that waited for secondaries.")),
    counter(("Database Replica", "Transaction Delay"), D, MS, def("keel_synchronous_commit_seconds_total", C, "Time they waited for them.")),
    counter(("Database Replica", "Log Bytes Received/sec"), D, 1.0, def("keel_log_received_bytes_total", C, "Log received from the primary.")),
    counter(("Database Replica", "Redone Bytes/sec"), D, 1.0, def("keel_redone_bytes_total", C, "Log redone.")),
    counter(("Database Replica", "Redones/sec"), D, 1.0, def("keel_redone_records_total", C, "Log records redone.")),
    counter(("Database Replica", "Log Bytes Compressed/sec"), D, 1.0, def("keel_log_compressed_bytes_total", C, "Log that was compressed before it was sent.")),
    counter(("Availability Replica", "Bytes Sent to Replica/sec"), R, 1.0, def("keel_replica_sent_bytes_total", C, "Sent to a replica, before compression.")),
    counter(("Availability Replica", "Bytes Sent to Transport/sec"), R, 1.0, def("keel_replica_wire_sent_bytes_total", C, "Sent to a replica, as it went over the network.")),
    counter(("Availability Replica", "Bytes Received from Replica/sec"), R, 1.0, def("keel_replica_received_bytes_total", C, "Received from a replica.")),
    counter(("Availability Replica", "Flow Control/sec"), R, 1.0, def("keel_replica_flow_controls_total", C, "Times that sending had to pause for a replica's credit.")),
    counter(("Availability Replica", "Flow Control Time (ms/sec)"), R, MS, def("keel_replica_flow_control_seconds_total", C, "Time of those pauses.")),
];

/// A text whose rows are labels, then values.
pub struct FromQuery {
    text: &'static str,
    /// The first columns.
    labels: &'static [&'static str],
    /// The columns after them, each with what its unit is in the metric's.
    values: &'static [(f64, Definition)],
}

const COPY: &[&str] = &["group", "database", "replica"];

/// From other views.
#[rustfmt::skip]
pub static QUERIES: &[FromQuery] = &[
    FromQuery {
        text: "SELECT @@SERVERNAME, CONVERT(nvarchar(40), SERVERPROPERTY('ProductVersion')), 1",
        labels: &["server", "version"],
        values: &[(1.0, def("keel_info", G, "Always 1; the labels say who this is."))],
    },
    FromQuery {
        text: "SELECT DATEDIFF_BIG(second, sqlserver_start_time, SYSDATETIME()) FROM sys.dm_os_sys_info",
        labels: &[],
        values: &[(1.0, def("keel_up_seconds", G, "Time since the instance started."))],
    },
    FromQuery {
        text: "SELECT name, CASE state WHEN 0 THEN 1 ELSE 0 END FROM sys.databases",
        labels: &["database"],
        values: &[(1.0, def("keel_database_online", G, "1 if the database can be used here."))],
    },
    FromQuery {
        text: "SELECT DB_NAME(database_id), CASE file_id WHEN 2 THEN N'log' ELSE N'data' END, num_of_reads, num_of_bytes_read,
                io_stall_read_ms, num_of_writes, num_of_bytes_written, io_stall_write_ms
             FROM sys.dm_io_virtual_file_stats(NULL, NULL)",
        labels: &["database", "file"],
        values: &[
            (1.0, def("keel_file_reads_total", C, "Reads of a database's files.")),
            (1.0, def("keel_file_read_bytes_total", C, "Bytes read.")),
            (MS, def("keel_file_read_seconds_total", C, "Time of the reads.")),
            (1.0, def("keel_file_writes_total", C, "Writes of a database's files.")),
            (1.0, def("keel_file_written_bytes_total", C, "Bytes written.")),
            (MS, def("keel_file_write_seconds_total", C, "Time of the writes.")),
        ],
    },
    FromQuery {
        text: "SELECT wait_type, waiting_tasks_count, wait_time_ms FROM sys.dm_os_wait_stats WHERE waiting_tasks_count > 0",
        labels: &["type"],
        values: &[
            (1.0, def("keel_waits_total", C, "Waits of a type (sys.dm_os_wait_stats).")),
            (MS, def("keel_wait_seconds_total", C, "Time of those waits.")),
        ],
    },
    FromQuery {
        text: "SELECT g.name, r.replica_server_name, CASE s.role_desc WHEN N'PRIMARY' THEN 1 ELSE 0 END, s.connected_state,
                s.synchronization_health
             FROM sys.dm_hadr_availability_replica_states AS s
             JOIN sys.availability_groups AS g ON g.group_id = s.group_id
             JOIN sys.availability_replicas AS r ON r.replica_id = s.replica_id",
        labels: &["group", "replica"],
        values: &[
            (1.0, def("keel_replica_primary", G, "1 if the replica is the primary of its group.")),
            (1.0, def("keel_replica_connected", G, "1 if it is connected.")),
            (1.0, def("keel_replica_health", G, "0 not healthy, 1 partially, 2 healthy.")),
        ],
    },
    FromQuery {
        text: "SELECT g.name, c.database_name, r.replica_server_name, d.synchronization_state, d.synchronization_health,
                d.is_suspended, d.is_commit_participant, s.is_failover_ready, d.log_send_queue_size, d.log_send_rate,
                d.redo_queue_size, d.redo_rate, d.secondary_lag_seconds
             FROM sys.dm_hadr_database_replica_states AS d
             JOIN sys.availability_groups AS g ON g.group_id = d.group_id
             JOIN sys.availability_replicas AS r ON r.replica_id = d.replica_id
             JOIN sys.availability_databases_cluster AS c ON c.group_database_id = d.group_database_id
             LEFT JOIN sys.dm_hadr_database_replica_cluster_states AS s
                ON s.replica_id = d.replica_id AND s.group_database_id = d.group_database_id",
        labels: COPY,
        values: &[
            (1.0, def("keel_copy_synchronization_state", G, "0 not synchronizing, 1 synchronizing, 2 synchronized, 3 reverting, 4 initializing.")),
            (1.0, def("keel_copy_health", G, "0 not healthy, 1 partially, 2 healthy.")),
            (1.0, def("keel_copy_suspended", G, "1 if data movement is suspended.")),
            (1.0, def("keel_copy_commit_participant", G, "1 if commits wait for this copy.")),
            (1.0, def("keel_copy_failover_ready", G, "1 if a failover to it loses nothing.")),
            (KB, def("keel_copy_send_queue_bytes", G, "Log the primary has not sent to it.")),
            (KB, def("keel_copy_send_bytes_per_second", G, "Rate at which it is sent.")),
            (KB, def("keel_copy_redo_queue_bytes", G, "Log that it has and has not redone.")),
            (KB, def("keel_copy_redo_bytes_per_second", G, "Rate at which it is redone.")),
            (1.0, def("keel_copy_lag_seconds", G, "How old what readers see there is.")),
        ],
    },
    FromQuery {
        text: "SELECT group_name, database_name, replica_server_name, bytes_behind, commits_are_blocked
             FROM sys.dm_keel_commit_participants",
        labels: COPY,
        values: &[
            (1.0, def("keel_copy_unhardened_bytes", G, "Log of the primary that it has not hardened.")),
            (1.0, def("keel_commits_blocked", G, "1 if too few copies are synchronized for any commit.")),
        ],
    },
    FromQuery {
        text: "SELECT g.name, l.database_name, l.replica_server_name, l.blocks, l.blocks * l.average_local_flush_us,
                l.blocks * l.average_send_queue_us, l.blocks * l.average_network_us, l.blocks * l.average_remote_flush_us
             FROM sys.dm_keel_commit_latency AS l JOIN sys.availability_groups AS g ON g.group_id = l.group_id",
        labels: COPY,
        values: &[
            (1.0, def("keel_commit_blocks_total", C, "Blocks of log that a secondary hardened; what the next four are divided by.")),
            (US, def("keel_commit_local_flush_seconds_total", C, "Time of these blocks in the primary's own flush.")),
            (US, def("keel_commit_send_queue_seconds_total", C, "Time of these blocks before they were sent.")),
            (US, def("keel_commit_network_seconds_total", C, "Time of these blocks on the network, both ways.")),
            (US, def("keel_commit_remote_flush_seconds_total", C, "Time of these blocks in the secondary's flush.")),
        ],
    },
    FromQuery {
        text: "SELECT group_name, database_name, replica_server_name, is_automatic, estimated_rto_ms, estimated_rpo_bytes,
                estimated_rpo_seconds FROM sys.dm_keel_failover_estimates",
        labels: COPY,
        values: &[
            (1.0, def("keel_failover_automatic", G, "1 if the copy would take over by itself if the primary were lost now.")),
            (MS, def("keel_failover_rto_seconds", G, "How long the database would be away then (estimate).")),
            (1.0, def("keel_failover_rpo_bytes", G, "Log that would be missing there (estimate).")),
            (1.0, def("keel_failover_rpo_seconds", G, "The same as time (estimate).")),
        ],
    },
    FromQuery {
        text: "SELECT group_name, COUNT_BIG(*) FROM sys.dm_keel_failovers GROUP BY group_name",
        labels: &["group"],
        values: &[(1.0, def("keel_failovers_total", C, "Failovers to this instance."))],
    },
    FromQuery {
        text: "SELECT TOP 1 votes, votes_heard, votes_needed, generation FROM sys.dm_keel_cluster",
        labels: &[],
        values: &[
            (1.0, def("keel_cluster_votes", G, "Votes in the cluster.")),
            (1.0, def("keel_cluster_votes_heard", G, "Votes that this instance hears.")),
            (1.0, def("keel_cluster_votes_needed", G, "Votes needed for a majority.")),
            (1.0, def("keel_cluster_generation", G, "Goes up with each forced quorum.")),
        ],
    },
    FromQuery {
        text: "SELECT member_name, is_up, has_vote, round_trip_us FROM sys.dm_keel_cluster",
        labels: &["member"],
        values: &[
            (1.0, def("keel_member_up", G, "1 if the member is heard.")),
            (1.0, def("keel_member_vote", G, "1 if it has a vote.")),
            (US, def("keel_member_round_trip_seconds", G, "Time of a heartbeat there and back.")),
        ],
    },
];

/// Metrics of one name, as they come in.
struct Family {
    definition: &'static Definition,
    metrics: Vec<Metric>,
}

/// Families by place in the two tables.
#[derive(Default)]
struct Families(BTreeMap<(usize, usize), Family>);

impl Families {
    fn add(
        &mut self,
        at: (usize, usize),
        definition: &'static Definition,
        labels: &[(&str, &str)],
        value: f64,
    ) {
        let pair = |(name, value): &(&str, &str)| {
            let mut pair = LabelPair::default();
            pair.set_name((*name).to_owned());
            pair.set_value((*value).to_owned());
            pair
        };
        let mut metric = Metric::from_label(labels.iter().map(pair).collect());
        match definition.kind {
            Kind::Counter => {
                let mut counter = Counter::default();
                counter.set_value(value);
                metric.set_counter(counter);
            }
            Kind::Gauge => {
                let mut gauge = Gauge::default();
                gauge.set_value(value);
                metric.set_gauge(gauge);
            }
        }
        let family = self.0.entry(at).or_insert_with(|| Family { definition, metrics: Vec::new() });
        family.metrics.push(metric);
    }

    fn encode(self) -> String {
        let families: Vec<MetricFamily> = self
            .0
            .into_values()
            .map(|family| {
                let mut out = MetricFamily::default();
                out.set_name(family.definition.name.to_owned());
                out.set_help(family.definition.help.to_owned());
                out.set_field_type(match family.definition.kind {
                    Kind::Counter => MetricType::COUNTER,
                    Kind::Gauge => MetricType::GAUGE,
                });
                out.set_metric(family.metrics);
                out
            })
            .collect();
        let mut text = Vec::new();
        TextEncoder::new().encode(&families, &mut text).expect("every family has a name and metrics");
        String::from_utf8(text).expect("it was made of strings")
    }
}

/// The whole text.
pub fn read(asker: &mut Asker) -> Result<String, SqlError> {
    let mut families = Families::default();
    read_counters(asker, &mut families)?;
    for (i, query) in QUERIES.iter().enumerate() {
        for row in asker.ask(query.text)?.rows {
            let (labels, values) = row.split_at_checked(query.labels.len()).unwrap_or_default();
            let labels: Vec<String> = labels.iter().map(json::text).collect();
            let labels: Vec<(&str, &str)> =
                query.labels.iter().zip(&labels).map(|(name, value)| (*name, value.as_str())).collect();
            for (j, ((scale, definition), value)) in query.values.iter().zip(values).enumerate() {
                if let Some(value) = json::number(value) {
                    families.add((1 + i, j), definition, &labels, value * scale);
                }
            }
        }
    }
    Ok(families.encode())
}

fn read_counters(asker: &mut Asker, families: &mut Families) -> Result<(), SqlError> {
    let table = asker.ask(
        "SELECT RTRIM(object_name), RTRIM(counter_name), RTRIM(instance_name), cntr_value FROM sys.dm_os_performance_counters",
    )?;
    for row in table.rows {
        let [Value::Str(object), Value::Str(name), instance, value] = &row[..] else { continue };
        let object = object.trim_start_matches("SQLServer:");
        let known = COUNTERS.iter().position(|c| (c.object, c.counter) == (object, name.as_str()));
        let (Some(at), Some(value)) = (known, json::number(value)) else { continue };
        let shown = &COUNTERS[at];
        let instance = json::text(instance);
        let instances: Vec<&str> = match shown.instances {
            Instances::Server => Vec::new(),
            _ if instance == "_Total" => continue,
            Instances::Database => vec![&instance],
            Instances::Replica => match instance.rsplit_once(':') {
                Some((group, server)) => vec![group, server],
                None => continue,
            },
        };
        let labels: Vec<(&str, &str)> = shown.instances.labels().iter().copied().zip(instances).collect();
        families.add((0, at), &shown.definition, &labels, value * shown.scale);
    }
    Ok(())
}

/// The table of all metrics, for the documentation.
#[must_use]
pub fn documentation() -> String {
    let mut text = String::from("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n");
    let mut line = |definition: &Definition, labels: &[&str]| {
        let kind = if definition.kind == Kind::Counter { "counter" } else { "gauge" };
        let labels: Vec<String> = labels.iter().map(|l| format!("`{l}`")).collect();
        let _ =
            writeln!(text, "| `{}` | {kind} | {} | {} |", definition.name, labels.join(" "), definition.help);
    };
    COUNTERS.iter().for_each(|c| line(&c.definition, c.instances.labels()));
    for query in QUERIES {
        query.values.iter().for_each(|(_, definition)| line(definition, query.labels));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_follow_the_rules() {
        let mut names: Vec<&Definition> = COUNTERS.iter().map(|c| &c.definition).collect();
        names.extend(QUERIES.iter().flat_map(|q| q.values.iter().map(|(_, d)| d)));
        for d in &names {
            let legal = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(d.name.starts_with("keel_") && d.name.chars().all(legal), "{}", d.name);
            assert_eq!(d.kind == Kind::Counter, d.name.ends_with("_total"), "{}", d.name);
        }
        let count = names.len();
        let names: std::collections::BTreeSet<&str> = names.iter().map(|d| d.name).collect();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn hostile_labels_stay_labels() {
        let mut families = Families::default();
        let name = "a\"} 1\nkeel_evil 2\\ <script>";
        families.add((0, 0), &COUNTERS[15].definition, &[("database", name)], 3.0);
        let text = families.encode();
        let wanted = r#"{database="a\"} 1\nkeel_evil 2\\ <script>"} 3"#;
        assert!(text.lines().any(|l| l == format!("keel_transactions_total{wanted}")), "{text}");
        assert_eq!(text.lines().count(), 3);
    }
}
