//! `keel bench histories`.

use super::Run;
use crate::histories::{self, Fault};
use crate::report::{Better, Table, count};
use anyhow::Result;
use clap::{Args, ValueEnum};
use keel_workload::history::lists::Isolation;
use serde::Serialize;
use std::time::Duration;

/// Isolation levels.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Level {
    /// READ COMMITTED
    ReadCommitted,
    /// SNAPSHOT
    Snapshot,
    /// SERIALIZABLE
    Serializable,
}

/// A group of three while its machines fail, and what its clients saw, checked for lost writes and isolation anomalies
#[derive(Args, Serialize)]
pub struct Histories {
    /// Seconds of faults
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Random seed: of the faults and of the load
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Clients of each kind
    #[arg(long, default_value_t = 4)]
    clients: u64,
    /// Isolation level of the transactions on lists
    #[arg(long, value_enum, default_value_t = Level::Serializable)]
    isolation: Level,
    /// In network namespaces, with partitions; as root
    #[arg(long)]
    namespaces: bool,
    /// The machines' clocks jump too, by libfaketime
    #[arg(long)]
    clocks: bool,
    /// How old a read of a register may be, milliseconds: the lease
    #[arg(long, value_name = "MS", default_value_t = 700)]
    stale_reads: u64,
}

impl Histories {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("histories", "What clients saw while machines failed", &self)?;
        run.progress.say("faults, and clients that note what they see");
        let outcome = run.on_scratch("histories", |dir| histories::run(run.keel, dir, &self.settings()))?;
        let mut table = Table::new("What happened", &["what", "times"]);
        let c = &outcome.counts;
        let rows = [
            ("transactions on lists committed", c.lists[0]),
            ("refused", c.lists[1]),
            ("not known", c.lists[2]),
            ("operations on registers done", c.registers[0]),
            ("refused", c.registers[1]),
            ("not known", c.registers[2]),
            ("transfers acknowledged", c.transfers),
            ("snapshots of all accounts", c.looks),
            ("anomalies that the isolation level allows", outcome.allowed as u64),
        ];
        for (what, times) in rows.into_iter().chain(outcome.faults.iter().map(|(f, n)| (f.as_str(), *n))) {
            table.row([what.to_owned(), count(times)]);
        }
        let faults = [outcome.faults.values().sum::<u64>() as f64];
        report.figure("faults", "Evenkeel", "", "", Better::Higher, &faults);
        let what = "no write is lost or made up, no cycle the isolation level forbids, no torn snapshot";
        report.check(what, &outcome.violations);
        report.tables.push(table);
        run.finish(report)
    }

    fn settings(&self) -> histories::Settings {
        let mut faults = vec![Fault::Kill, Fault::Pause, Fault::Planned];
        if self.namespaces {
            faults.extend([Fault::Isolate, Fault::MuteIn, Fault::MuteOut]);
        }
        if self.clocks {
            faults.push(Fault::Clock);
        }
        histories::Settings {
            time: Duration::from_secs(self.seconds),
            seed: self.seed,
            clients: self.clients,
            faults,
            isolation: match self.isolation {
                Level::ReadCommitted => Isolation::ReadCommitted,
                Level::Snapshot => Isolation::Snapshot,
                Level::Serializable => Isolation::Serializable,
            },
            stale_reads: Duration::from_millis(self.stale_reads),
            apart: self.namespaces,
        }
    }
}
