//! `keel bench`: the command line of all measurements. Each subcommand runs one of them, shows its tables, and writes a
//! [`Report`]; one that finds lost or torn work fails.
//!
//! What can be set is what its argument struct holds: the report takes its settings from there by serialization, so
//! that nothing that can be set is missing in it.

mod compare;
mod consistency;
mod consolidation;
mod failover;
mod group;
mod histories;
mod point;
mod single;
mod sizing;
mod target;
mod tpcc;
mod tpch;
mod tpch_secondary;

pub use sizing::Sizing;

use crate::progress::Progress;
use crate::report::Report;
use crate::tpcc as tprocc;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use keel_workload::tpcc::Scale;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Measure Evenkeel, and others beside it; every run leaves a report
///
/// Servers are started for the occasion, in a temporary directory, on free ports of the loopback address, and removed
/// afterwards. The report is one HTML page that loads nothing, with the same as JSON and CSV beside it: figures,
/// plots, what must hold, the machine, versions, all settings and a hash over them.
#[derive(Args)]
pub struct Bench {
    #[command(subcommand)]
    command: Command,
    /// Directory for reports; made when missing
    #[arg(long, value_name = "DIR", default_value = "bench-reports", global = true)]
    report: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    Tpcc(tpcc::Tpcc),
    Tpch(tpch::Tpch),
    Consolidation(consolidation::Consolidation),
    Point(point::Point),
    Checkpoint(single::Checkpoint),
    Memory(single::Memory),
    Recovery(single::Recovery),
    Crash(single::Crash),
    SyncCost(group::SyncCost),
    Redo(group::Redo),
    Seeding(group::Seeding),
    Compression(group::Compression),
    Failover(failover::Failover),
    Soak(group::Soak),
    Histories(histories::Histories),
    Consistency(consistency::Consistency),
    Compare(compare::Compare),
}

impl Bench {
    /// Runs it and prints what it gave. `keel` is the program whose `serve` is measured.
    ///
    /// # Errors
    /// What could not be done; work that a server lost or tore.
    pub fn run(self, keel: &Path) -> Result<()> {
        let run = Run { keel, reports: &self.report, progress: Progress::new(), began: Instant::now() };
        match self.command {
            Command::Tpcc(c) => c.run(&run),
            Command::Tpch(c) => c.run(&run),
            Command::Consolidation(c) => c.run(&run),
            Command::Point(c) => c.run(&run),
            Command::Checkpoint(c) => c.run(&run),
            Command::Memory(c) => c.run(&run),
            Command::Recovery(c) => c.run(&run),
            Command::Crash(c) => c.run(&run),
            Command::SyncCost(c) => c.run(&run),
            Command::Redo(c) => c.run(&run),
            Command::Seeding(c) => c.run(&run),
            Command::Compression(c) => c.run(&run),
            Command::Failover(c) => c.run(&run),
            Command::Soak(c) => c.run(&run),
            Command::Histories(c) => c.run(&run),
            Command::Consistency(c) => c.run(&run),
            Command::Compare(c) => c.run(&run),
        }
    }
}

/// What every subcommand needs.
struct Run<'a> {
    keel: &'a Path,
    reports: &'a Path,
    progress: Progress,
    began: Instant,
}

impl Run<'_> {
    /// Shows and writes a report.
    ///
    /// # Errors
    /// When it cannot be written, or something does not hold that must.
    fn finish(&self, mut report: Report) -> Result<()> {
        report.finish(self.began);
        self.progress.line(&report.text());
        let written = report.write(self.reports)?;
        self.progress.line(&format!("report: {}", written.html.display()));
        let violations: Vec<&str> = report.violations().collect();
        match violations[..] {
            [] => Ok(()),
            [one] => bail!("what must hold does not: {one}"),
            [first, ..] => bail!("what must hold does not, {} times, first: {first}", violations.len()),
        }
    }

    /// A report on servers that are all this program's.
    ///
    /// # Errors
    /// When it does not say its version.
    fn report(&self, what: &str, title: &str, arguments: &impl Serialize) -> Result<Report> {
        let mut report = Report::new(what, title, settings(arguments)?);
        let version = crate::command(&[&self.keel.display().to_string(), "--version"])?;
        report.versions.insert("Evenkeel".into(), version.trim().to_owned());
        Ok(report)
    }

    /// Runs on an empty scratch directory and removes it afterwards.
    fn on_scratch<T>(&self, name: &str, run: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
        let data = scratch(name);
        let outcome = run(&data);
        let _ = std::fs::remove_dir_all(&data);
        outcome
    }
}

/// A directory that goes with this process.
fn scratch(name: &str) -> PathBuf {
    let data = std::env::temp_dir().join(format!("keel-bench-{}-{name}", std::process::id()));
    crate::broom::remove_afterwards(&data);
    data
}

/// How much data, and which random choices.
#[derive(Args, Clone, Copy, Serialize)]
struct Size {
    /// Warehouses
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(i64).range(1..))]
    warehouses: i64,
    /// Items and customers are the specification's divided by this, for quick runs: 1 is full size
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..=1_000))]
    shrink: i64,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Size {
    fn settings(self, clients: u64, warm_up: u64, seconds: u64) -> tprocc::Settings {
        let full = Scale::full(self.warehouses);
        let scale =
            Scale { items: full.items / self.shrink, customers: full.customers / self.shrink, ..full };
        tprocc::Settings {
            scale,
            clients,
            warm_up: Duration::from_secs(warm_up),
            duration: Duration::from_secs(seconds),
            transactions: None,
            fresh_rows: true,
            think: Duration::ZERO,
            seed: self.seed,
        }
    }
}

fn split(options: &str) -> Vec<&str> {
    options.split_whitespace().collect()
}

/// Everything an argument struct holds, by name.
fn settings(of: &impl Serialize) -> Result<BTreeMap<String, String>> {
    let value = serde_json::to_value(of).context("settings as JSON")?;
    let serde_json::Value::Object(fields) = value else { return Ok(BTreeMap::new()) };
    Ok(fields.into_iter().map(|(name, value)| (name, plain(&value))).collect())
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "–".into(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_taken_from_the_arguments() {
        #[derive(Serialize)]
        struct All {
            #[serde(flatten)]
            size: Size,
            clients: Vec<u64>,
            transactions: Option<u64>,
            encrypt: bool,
        }
        let size = Size { warehouses: 4, shrink: 10, seed: 1 };
        let all = settings(&All { size, clients: vec![1, 8], transactions: None, encrypt: true }).unwrap();
        let found: Vec<String> = all.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let expected =
            ["clients=1, 8", "encrypt=true", "seed=1", "shrink=10", "transactions=–", "warehouses=4"];
        assert_eq!(found, expected);
    }
}
