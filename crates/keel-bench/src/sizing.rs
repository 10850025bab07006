//! What a machine must have for a load, out of a smaller load that was measured: each need with its formula and the figures that
//! went into it.
//!
//! Everything is linear: work per transaction is what it was when it was measured. That holds while rows that are asked for
//! stay in memory as they did; a database that outgrows it reads more.

use crate::counters::Load;
use anyhow::{Result, ensure};

/// What the machine is to do, and how full it may be.
#[derive(Clone, Debug)]
pub struct Aim {
    /// Transactions a second, counted as the measured ones were; `None` for as many as were measured.
    pub transactions: Option<f64>,
    /// Databases; `None` for as many as were measured.
    pub databases: Option<f64>,
    /// Sessions; `None` for as many more as there are more transactions.
    pub sessions: Option<f64>,
    /// Secondaries that the log goes to.
    pub secondaries: f64,
    /// How much more work and data there will be, percent.
    pub growth_percent: f64,
    /// How long log backups are kept, hours.
    pub retention_hours: f64,
    /// Time between two log backups, minutes.
    pub log_backup_minutes: f64,
    /// Full backups that are kept.
    pub full_backups: f64,
    /// How busy processors may be, percent.
    pub processor_percent: f64,
    /// How busy a network link may be, percent.
    pub link_percent: f64,
    /// Space to be kept free beside data and log, percent of them.
    pub free_percent: f64,
    /// Writes that one write becomes on the disks: 1 alone, 2 mirrored, 4 with distributed parity.
    pub write_penalty: f64,
    /// What one disk does, reads and writes a second.
    pub disk_iops: Option<f64>,
    /// What one disk moves, MB a second.
    pub disk_mb: Option<f64>,
}

/// A session's thread with its stack and buffers, as sizing guides count it, bytes.
const SESSION_BYTES: f64 = 2.0 * MIB;
/// What the system keeps of a machine's memory at least, bytes.
const SYSTEM_BYTES: f64 = 1024.0 * MIB;
const MIB: f64 = 1_048_576.0;

/// One need.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Of what: `processors`, `disks`…
    pub group: &'static str,
    /// What.
    pub what: &'static str,
    /// How much.
    pub value: f64,
    /// Of which unit.
    pub unit: &'static str,
    /// How it comes about, with the figures that went in.
    pub formula: String,
}

/// Collects needs of one group after another.
#[derive(Default)]
struct Needs(Vec<Need>);

impl Needs {
    fn add(
        &mut self,
        group: &'static str,
        what: &'static str,
        value: f64,
        unit: &'static str,
        formula: String,
    ) -> f64 {
        self.0.push(Need { group, what, value, unit, formula });
        value
    }
}

/// All needs, in the order in which a reader wants them.
///
/// # Errors
/// When nothing was measured that could be made larger, or an aim cannot be meant.
pub fn needs(load: &Load, aim: &Aim) -> Result<Vec<Need>> {
    let Scaled { work, data } = scaled(load, aim)?;
    let mut needs = Needs::default();
    processors(&mut needs, load, aim, work);
    disks(&mut needs, load, aim, work);
    let (log_file, log_kept) = log(&mut needs, load, aim, work);
    network(&mut needs, load, aim, work);
    memory(&mut needs, load, aim, work, data);
    space(&mut needs, load, aim, data, [log_file, log_kept]);
    Ok(needs.0)
}

/// How much more there is than was measured.
struct Scaled {
    work: f64,
    data: f64,
}

fn scaled(load: &Load, aim: &Aim) -> Result<Scaled> {
    ensure!(
        load.transactions > 0.0,
        "no transaction was measured: what one costs is not known (a server that does nothing, or an interval that is too short)"
    );
    ensure!(load.databases >= 1.0, "no database of users was there when it was measured");
    let growth = 1.0 + aim.growth_percent / 100.0;
    let work = aim.transactions.unwrap_or(load.transactions) / load.transactions * growth;
    let data = aim.databases.unwrap_or(load.databases) / load.databases * growth;
    for (name, value) in [("transactions", work), ("databases", data)] {
        ensure!(value.is_finite() && value > 0.0, "{name} asked for are none");
    }
    Ok(Scaled { work, data })
}

fn processors(needs: &mut Needs, load: &Load, aim: &Aim, work: f64) {
    let busy = load.processors * work;
    let cores = (busy / (aim.processor_percent / 100.0)).ceil().max(1.0);
    let per = load.processors / load.transactions * 1e6;
    needs.add(
        "processors",
        "cores",
        cores,
        "",
        format!(
            "{:.3} in use × {work:.3} / {} % busy at most, whole ones; a transaction took {per:.0} µs",
            load.processors, aim.processor_percent
        ),
    );
}

fn disks(needs: &mut Needs, load: &Load, aim: &Aim, work: f64) {
    let writes = load.data_writes + load.log_writes;
    let reads = needs.add(
        "disks",
        "data reads",
        load.data_reads * work,
        "/s",
        format!("{:.1} measured × {work:.3}", load.data_reads),
    );
    needs.add(
        "disks",
        "data writes",
        load.data_writes * work,
        "/s",
        match load.data_writes {
            0.0 => "none measured: no checkpoint fell into that time".to_owned(),
            writes => format!("{writes:.1} measured × {work:.3}"),
        },
    );
    needs.add(
        "disks",
        "log writes",
        load.log_writes * work,
        "/s",
        format!(
            "{:.1} measured × {work:.3}; each is as large as commits that wait together",
            load.log_writes
        ),
    );
    let iops = needs.add(
        "disks",
        "IOPS of the disks",
        reads + writes * work * aim.write_penalty,
        "/s",
        format!(
            "reads + {} × ({:.1} + {:.1}) × {work:.3}",
            aim.write_penalty, load.data_writes, load.log_writes
        ),
    );
    let moved = needs.add(
        "disks",
        "throughput of the disks",
        (load.read_bytes + load.write_bytes * aim.write_penalty) * work / 1e6,
        "MB/s",
        format!(
            "({:.2} MB/s read + {} × {:.2} MB/s written) × {work:.3}",
            load.read_bytes / 1e6,
            aim.write_penalty,
            load.write_bytes / 1e6
        ),
    );
    for (what, each, all, unit) in [
        ("disks for the IOPS", aim.disk_iops, iops, "IOPS"),
        ("disks for the throughput", aim.disk_mb, moved, "MB/s"),
    ] {
        if let Some(each) = each {
            let formula = format!("{all:.1} {unit} / {each} {unit} of one, whole ones");
            needs.add("disks", what, (all / each).ceil().max(1.0), "", formula);
        }
    }
}

/// Bytes of the log file, and of log backups that are kept.
fn log(needs: &mut Needs, load: &Load, aim: &Aim, work: f64) -> (f64, f64) {
    let rate = load.log_bytes * work;
    let per = load.log_bytes / load.transactions;
    needs.add(
        "log",
        "log",
        rate / 1e6,
        "MB/s",
        format!("{:.3} MB/s measured × {work:.3}; a transaction made {per:.0} bytes", load.log_bytes / 1e6),
    );
    needs.add(
        "log",
        "log of a day",
        rate * 86_400.0 / 1e9,
        "GB",
        format!("{:.3} MB/s × 86,400 s", rate / 1e6),
    );
    let file = rate * aim.log_backup_minutes * 60.0 * 2.0;
    needs.add(
        "log",
        "log file",
        file / 1e9,
        "GB",
        format!(
            "{:.3} MB/s × {} min between log backups × 2, as one may come late",
            rate / 1e6,
            aim.log_backup_minutes
        ),
    );
    let kept = rate * aim.retention_hours * 3_600.0;
    needs.add(
        "log",
        "log backups that are kept",
        kept / 1e9,
        "GB",
        format!("{:.3} MB/s × {} h, not compressed", rate / 1e6, aim.retention_hours),
    );
    (file, kept)
}

fn network(needs: &mut Needs, load: &Load, aim: &Aim, work: f64) {
    let bits = load.log_bytes * work * 8.0 / 1e6;
    let link = bits / (aim.link_percent / 100.0);
    needs.add(
        "network",
        "link of each secondary",
        if aim.secondaries > 0.0 { link } else { 0.0 },
        "Mbit/s",
        format!(
            "{:.3} MB/s of log × 8 / {} % busy at most, not compressed",
            load.log_bytes * work / 1e6,
            aim.link_percent
        ),
    );
    needs.add(
        "network",
        "of the primary, to all",
        link * aim.secondaries,
        "Mbit/s",
        format!("{link:.2} Mbit/s × {} secondaries", aim.secondaries),
    );
}

fn memory(needs: &mut Needs, load: &Load, aim: &Aim, work: f64, data: f64) {
    let sessions = aim.sessions.unwrap_or(load.sessions * work).ceil();
    let more = (sessions - load.sessions).max(0.0);
    let server = needs.add(
        "memory",
        "of the server",
        (load.memory_bytes * data.max(1.0) + more * SESSION_BYTES) / 1e9,
        "GB",
        format!(
            "{:.2} GB measured × {:.3} for databases and growth + {more} more sessions × 2 MiB",
            load.memory_bytes / 1e9,
            data.max(1.0)
        ),
    );
    let system = (server * 1e9 / 8.0).max(SYSTEM_BYTES) / 1e9;
    needs.add(
        "memory",
        "of the machine",
        server + system,
        "GB",
        format!("{server:.2} GB + an eighth for the system, at least 1 GiB"),
    );
}

fn space(needs: &mut Needs, load: &Load, aim: &Aim, data: f64, [log_file, log_kept]: [f64; 2]) {
    let files = needs.add(
        "space",
        "data files",
        load.data_file_bytes * data / 1e9,
        "GB",
        format!(
            "{:.3} GB in {} databases × {data:.3} for databases and growth",
            load.data_file_bytes / 1e9,
            load.databases
        ),
    );
    let log = log_file / 1e9;
    let free = needs.add(
        "space",
        "to keep free",
        (files + log) * aim.free_percent / 100.0,
        "GB",
        format!("({files:.3} GB of data + {log:.3} GB of log) × {} %", aim.free_percent),
    );
    needs.add(
        "space",
        "of each replica",
        files + log + free,
        "GB",
        format!("{files:.3} + {log:.3} + {free:.3} GB"),
    );
    needs.add(
        "space",
        "for backups",
        files * aim.full_backups + log_kept / 1e9,
        "GB",
        format!(
            "{files:.3} GB × {} full backups + {:.3} GB of log backups, not compressed",
            aim.full_backups,
            log_kept / 1e9
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Load {
        Load {
            transactions: 1_000.0,
            batches: 1_100.0,
            log_bytes: 2e6,
            data_reads: 100.0,
            data_writes: 50.0,
            log_writes: 200.0,
            read_bytes: 4e6,
            write_bytes: 3e6,
            processors: 0.7,
            memory_bytes: 2e9,
            sessions: 50.0,
            databases: 2.0,
            data_file_bytes: 10e9,
        }
    }

    fn aim() -> Aim {
        Aim {
            transactions: None,
            databases: None,
            sessions: None,
            secondaries: 2.0,
            growth_percent: 0.0,
            retention_hours: 24.0,
            log_backup_minutes: 15.0,
            full_backups: 2.0,
            processor_percent: 70.0,
            link_percent: 70.0,
            free_percent: 20.0,
            write_penalty: 2.0,
            disk_iops: Some(500.0),
            disk_mb: Some(8.0),
        }
    }

    fn check(aim: &Aim, expected: &[(&str, &str, f64)]) {
        let needs = needs(&load(), aim).unwrap();
        for (group, what, value) in expected {
            let found = needs.iter().find(|need| (need.group, need.what) == (*group, *what)).unwrap();
            assert!((found.value - value).abs() < 1e-6 * value.max(1.0), "{found:?}, not {value}");
        }
    }

    #[test]
    fn the_measured_load_needs_what_was_measured() {
        check(
            &aim(),
            &[
                ("processors", "cores", 1.0),
                ("disks", "data reads", 100.0),
                ("disks", "IOPS of the disks", 100.0 + 2.0 * 250.0),
                ("disks", "throughput of the disks", 4.0 + 2.0 * 3.0),
                ("disks", "disks for the IOPS", 2.0),
                ("disks", "disks for the throughput", 2.0),
                ("log", "log of a day", 2e6 * 86_400.0 / 1e9),
                ("log", "log file", 2e6 * 900.0 * 2.0 / 1e9),
                ("log", "log backups that are kept", 2e6 * 86_400.0 / 1e9),
                ("network", "link of each secondary", 16.0 / 0.7),
                ("network", "of the primary, to all", 32.0 / 0.7),
                ("memory", "of the server", 2.0),
                ("memory", "of the machine", 2.0 + 1.073_741_824),
                ("space", "data files", 10.0),
                ("space", "of each replica", 13.6 * 1.2),
                ("space", "for backups", 20.0 + 172.8),
            ],
        );
    }

    #[test]
    fn work_grows_with_transactions_and_space_with_databases() {
        let aim = Aim {
            transactions: Some(4_000.0),
            databases: Some(6.0),
            growth_percent: 50.0,
            sessions: Some(150.0),
            ..aim()
        };
        check(
            &aim,
            &[
                ("processors", "cores", 6.0),
                ("disks", "data reads", 600.0),
                ("log", "log", 12.0),
                ("network", "of the primary, to all", 12.0 * 8.0 * 2.0 / 0.7),
                ("memory", "of the server", 9.0 + 100.0 * 2.0 * 1_048_576.0 / 1e9),
                ("space", "data files", 45.0),
            ],
        );
    }

    #[test]
    fn what_cannot_be_made_larger_is_refused() {
        let idle = Load { transactions: 0.0, ..load() };
        assert!(needs(&idle, &aim()).unwrap_err().to_string().contains("no transaction was measured"));
        let empty = Load { databases: 0.0, ..load() };
        assert!(needs(&empty, &aim()).unwrap_err().to_string().contains("no database of users"));
    }
}
