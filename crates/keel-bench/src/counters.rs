//! What a server says it did: its counters and its files' statistics, looked at twice.
//!
//! A [`Snapshot`] is one look over a session, by the views that the product has too; two make a [`Load`], whose
//! [`FIGURES`] a report keeps under names of their own, so that [`crate::sizing`] can read them back.

use crate::report::{Better, Report};
use anyhow::{Context, Result, bail, ensure};
use keel_workload::{Cell, Connection};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// One look at a server.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at: Instant,
    /// Running totals by name.
    counters: BTreeMap<String, i64>,
    processor: Duration,
    /// By database and number of the file.
    files: BTreeMap<(String, i64), FileTotals>,
    /// Databases of users.
    databases: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct FileTotals {
    reads: i64,
    read_bytes: i64,
    read_ms: i64,
    writes: i64,
    write_bytes: i64,
    write_ms: i64,
    size: i64,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Rows.
    Data,
    /// The log.
    Log,
}

/// What was done with one file between two looks.
#[derive(Clone, Debug)]
pub struct FileLoad {
    /// Its database.
    pub database: String,
    /// What is in it.
    pub holds: Holds,
    /// Reads.
    pub reads: u64,
    /// Mean time of a read, milliseconds; NaN without any.
    pub read_ms: f64,
    /// Writes.
    pub writes: u64,
    /// Mean time of a write, milliseconds; NaN without any.
    pub write_ms: f64,
}

/// What a server did in a time, by the second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    /// Transactions, as the server counts them.
    pub transactions: f64,
    /// Batches and calls of procedures.
    pub batches: f64,
    /// Bytes of log that were hardened.
    pub log_bytes: f64,
    /// Reads of data files.
    pub data_reads: f64,
    /// Writes to data files.
    pub data_writes: f64,
    /// Writes to log files.
    pub log_writes: f64,
    /// Bytes read from all files.
    pub read_bytes: f64,
    /// Bytes written to all files.
    pub write_bytes: f64,
    /// Processors in use by the server.
    pub processors: f64,
    /// Memory of the server at the end, bytes.
    pub memory_bytes: f64,
    /// Sessions at the end.
    pub sessions: f64,
    /// Databases of users.
    pub databases: f64,
    /// Bytes of their data files at the end.
    pub data_file_bytes: f64,
}

/// One field of a [`Load`], as reports name it.
pub struct LoadFigure {
    /// Name in a report.
    pub name: &'static str,
    /// Unit in a report.
    pub unit: &'static str,
    /// Its place.
    pub field: fn(&mut Load) -> &mut f64,
}

const fn figure(name: &'static str, unit: &'static str, field: fn(&mut Load) -> &mut f64) -> LoadFigure {
    LoadFigure { name, unit, field }
}

/// Every field of a [`Load`].
pub const FIGURES: [LoadFigure; 13] = [
    figure("load: transactions", "1/s", |l| &mut l.transactions),
    figure("load: batches", "1/s", |l| &mut l.batches),
    figure("load: log", "bytes/s", |l| &mut l.log_bytes),
    figure("load: data reads", "1/s", |l| &mut l.data_reads),
    figure("load: data writes", "1/s", |l| &mut l.data_writes),
    figure("load: log writes", "1/s", |l| &mut l.log_writes),
    figure("load: read", "bytes/s", |l| &mut l.read_bytes),
    figure("load: written", "bytes/s", |l| &mut l.write_bytes),
    figure("load: processors", "cores", |l| &mut l.processors),
    figure("load: memory", "bytes", |l| &mut l.memory_bytes),
    figure("load: sessions", "", |l| &mut l.sessions),
    figure("load: databases", "", |l| &mut l.databases),
    figure("load: data files", "bytes", |l| &mut l.data_file_bytes),
];

const COUNTERS: &str = "SELECT RTRIM(counter_name), cntr_value FROM sys.dm_os_performance_counters WHERE RTRIM(instance_name) IN \
     ('', '_Total') AND counter_name IN ('Transactions/sec', 'Batch Requests/sec', 'Log Bytes Flushed/sec', 'Total Server Memory (KB)', \
     'User Connections')";

const PROCESSOR: &str = "SELECT process_user_time_ms + process_kernel_time_ms FROM sys.dm_os_sys_info";

const FILES: &str = "SELECT COALESCE(DB_NAME(database_id), ''), file_id, num_of_reads, num_of_bytes_read, io_stall_read_ms, num_of_writes, \
     num_of_bytes_written, io_stall_write_ms, size_on_disk_bytes FROM sys.dm_io_virtual_file_stats(NULL, NULL) WHERE database_id > 4";

/// Number of a log file.
const LOG_FILE: i64 = 2;

impl Snapshot {
    /// Looks now.
    ///
    /// # Errors
    /// What the server says; a view that is not as it should be.
    pub fn of(connection: &mut dyn Connection) -> Result<Snapshot> {
        let mut counters = BTreeMap::new();
        for row in connection.query(COUNTERS)? {
            match &row[..] {
                [Cell::Text(name), Cell::Int(value)] => counters.insert(name.trim().to_owned(), *value),
                other => bail!("a counter is {other:?}"),
            };
        }
        let processor = match connection.query(PROCESSOR)?.first().map(Vec::as_slice) {
            Some([Cell::Int(ms)]) => Duration::from_millis(u64::try_from(*ms)?),
            other => bail!("the processor time is {other:?}"),
        };
        let mut files = BTreeMap::new();
        for row in connection.query(FILES)? {
            let (name, numbers) = row.split_first().context("an empty row of file statistics")?;
            let Cell::Text(name) = name else { bail!("a database's name is {name:?}") };
            let numbers = numbers.iter().map(|cell| if let Cell::Int(n) = cell { *n } else { 0 });
            let [file, reads, read_bytes, read_ms, writes, write_bytes, write_ms, size] =
                numbers.collect::<Vec<_>>()[..]
            else {
                bail!("file statistics are {row:?}")
            };
            let totals = FileTotals { reads, read_bytes, read_ms, writes, write_bytes, write_ms, size };
            files.insert((name.clone(), file), totals);
        }
        let databases = files.keys().filter(|(_, file)| *file == LOG_FILE).count() as u32;
        Ok(Snapshot { at: Instant::now(), counters, processor, files, databases })
    }

    fn counter(&self, name: &str) -> Result<i64> {
        self.counters.get(name).copied().with_context(|| format!("the server has no counter {name}"))
    }

    /// What was done between an earlier look and this one.
    ///
    /// # Errors
    /// No time between them; a server that was started in between; a counter that is not there.
    pub fn since(&self, before: &Snapshot) -> Result<Load> {
        let seconds = self.at.duration_since(before.at).as_secs_f64();
        ensure!(seconds > 0.0, "no time lies between two looks at the counters");
        let grown = |name: &str| -> Result<f64> {
            let (from, to) = (before.counter(name)?, self.counter(name)?);
            ensure!(to >= from, "{name} went from {from} to {to}: the server was started in between");
            Ok((to - from) as f64 / seconds)
        };
        let files = |of: Option<Holds>, value: fn(&FileTotals) -> i64| -> f64 {
            let all = self.files.iter().filter(|((_, file), _)| of.is_none_or(|of| of == holds(*file)));
            let grown = |(key, now): (&(String, i64), &FileTotals)| {
                value(now) - before.files.get(key).map_or(0, value)
            };
            all.map(grown).sum::<i64>() as f64 / seconds
        };
        let sizes = self.files.iter().filter(|((_, file), _)| holds(*file) == Holds::Data);
        Ok(Load {
            transactions: grown("Transactions/sec")?,
            batches: grown("Batch Requests/sec")?,
            log_bytes: grown("Log Bytes Flushed/sec")?,
            data_reads: files(Some(Holds::Data), |f| f.reads),
            data_writes: files(Some(Holds::Data), |f| f.writes),
            log_writes: files(Some(Holds::Log), |f| f.writes),
            read_bytes: files(None, |f| f.read_bytes),
            write_bytes: files(None, |f| f.write_bytes),
            processors: self.processor.saturating_sub(before.processor).as_secs_f64() / seconds,
            memory_bytes: self.counter("Total Server Memory (KB)")? as f64 * 1024.0,
            sessions: self.counter("User Connections")? as f64,
            databases: self.databases.into(),
            data_file_bytes: sizes.map(|(_, f)| f.size).sum::<i64>() as f64,
        })
    }

    /// What was done with each file between an earlier look and this one.
    #[must_use]
    pub fn files_since(&self, before: &Snapshot) -> Vec<FileLoad> {
        let load = |((database, file), now): (&(String, i64), &FileTotals)| {
            let then = before.files.get(&(database.clone(), *file)).copied().unwrap_or_default();
            let (reads, writes) = (now.reads - then.reads, now.writes - then.writes);
            FileLoad {
                database: database.clone(),
                holds: holds(*file),
                reads: reads.max(0) as u64,
                read_ms: (now.read_ms - then.read_ms) as f64 / reads as f64,
                writes: writes.max(0) as u64,
                write_ms: (now.write_ms - then.write_ms) as f64 / writes as f64,
            }
        };
        self.files.iter().map(load).collect()
    }
}

fn holds(file: i64) -> Holds {
    if file == LOG_FILE { Holds::Log } else { Holds::Data }
}

impl Load {
    /// Writes it into a report, for one target and case.
    pub fn figures(&self, report: &mut Report, target: &str, case: &str) {
        let mut load = self.clone();
        for figure in &FIGURES {
            let value = *(figure.field)(&mut load);
            report.figure(figure.name, target, case, figure.unit, Better::Lower, &[value]);
        }
    }

    /// All that a report has, with target and case.
    #[must_use]
    pub fn of_report(report: &Report) -> Vec<(String, String, Load)> {
        let mut found: Vec<(String, String, Load)> = Vec::new();
        for (place, figure) in FIGURES.iter().enumerate() {
            for there in report.figures.iter().filter(|there| there.name == figure.name) {
                if place == 0 {
                    found.push((there.target.clone(), there.case.clone(), Load::default()));
                }
                let same = |(target, case, _): &&mut (String, String, Load)| {
                    *target == there.target && *case == there.case
                };
                if let Some((_, _, load)) = found.iter_mut().find(same) {
                    *(figure.field)(load) = there.median();
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(seconds: u64, n: i64) -> Snapshot {
        let epoch = Instant::now();
        let names = [
            "Transactions/sec",
            "Batch Requests/sec",
            "Log Bytes Flushed/sec",
            "Total Server Memory (KB)",
            "User Connections",
        ];
        let file = FileTotals {
            reads: n,
            read_bytes: 8 * n,
            read_ms: 2 * n,
            writes: 3 * n,
            write_bytes: 24 * n,
            write_ms: n,
            size: 1 << 20,
        };
        Snapshot {
            at: epoch + Duration::from_secs(seconds),
            counters: names.iter().map(|name| ((*name).to_owned(), 100 * n)).collect(),
            processor: Duration::from_secs(n as u64),
            files: [(("a".to_owned(), 1), file), (("a".to_owned(), 2), file)].into(),
            databases: 1,
        }
    }

    #[test]
    fn a_load_is_what_grew_by_the_second() {
        let before = snapshot(0, 0);
        let after = Snapshot { at: before.at + Duration::from_secs(10), ..snapshot(0, 20) };
        let load = after.since(&before).unwrap();
        assert_eq!((load.transactions, load.log_bytes, load.processors), (200.0, 200.0, 2.0));
        assert_eq!((load.data_reads, load.data_writes, load.log_writes), (2.0, 6.0, 6.0));
        assert_eq!((load.read_bytes, load.write_bytes), (32.0, 96.0), "of data and log together");
        assert_eq!((load.data_file_bytes, load.databases), (1_048_576.0, 1.0));
        let files = after.files_since(&before);
        assert_eq!((files[0].holds, files[1].holds), (Holds::Data, Holds::Log));
        assert_eq!((files[0].read_ms, files[0].writes), (2.0, 60));
        assert!(before.since(&after).is_err(), "counters do not go back");
    }

    #[test]
    fn a_report_keeps_every_field_of_each_case() {
        let mut report = Report::new("tpcc", "", BTreeMap::new());
        let mut load = Load::default();
        for (n, figure) in FIGURES.iter().enumerate() {
            *(figure.field)(&mut load) = n as f64 + 0.5;
        }
        load.figures(&mut report, "Evenkeel", "8 users");
        let twice = Load { transactions: 9.0, ..load.clone() };
        twice.figures(&mut report, "Evenkeel", "16 users");
        let found = Load::of_report(&report);
        assert_eq!(found[0], ("Evenkeel".into(), "8 users".into(), load));
        assert_eq!(found[1], ("Evenkeel".into(), "16 users".into(), twice));
    }
}
