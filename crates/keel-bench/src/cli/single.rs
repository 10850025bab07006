//! The measurements of one Evenkeel: `keel bench checkpoint`, `memory`, `recovery`, `crash`.

use super::{Run, Size, split};
use crate::report::{Better, Plot, Table, count, number, papers};
use crate::steady::{self, Outcome, Second};
use crate::{crash, memory, recovery};
use anyhow::Result;
use clap::Args;
use serde::Serialize;
use std::time::Duration;

/// Bytes of a page that a checkpoint writes.
const PAGE_BYTES: f64 = 8192.0;

/// TPROC-C with checkpoints, second by second, throttled and not: the slowest second beside the mean
#[derive(Args, Serialize)]
pub struct Checkpoint {
    #[command(flatten)]
    #[serde(flatten)]
    size: Size,
    /// Sessions
    #[arg(long, default_value_t = 8)]
    clients: u64,
    /// What checkpoints may write, MB per second (`keel serve -k`); 0: no limit. A run for each
    #[arg(long, value_name = "MBPS", value_delimiter = ',', default_values_t = [0, 20])]
    throttle: Vec<u32>,
    /// Measured seconds of each
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// Seconds before measuring
    #[arg(long, default_value_t = 10)]
    warm_up: u64,
    /// More options for `keel serve`, separated by spaces
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_value = "")]
    serve_options: String,
}

impl Checkpoint {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("checkpoint", "Checkpoints, throttled and not", &self)?;
        let columns = [
            "checkpoints",
            "new orders/s",
            "slowest second",
            "slowest / mean",
            "seconds below 0.9",
            "checkpoints wrote MB/s",
            "log MB/s",
            "memory MB",
        ];
        let mut table = Table::new("Pace under checkpoints", &columns);
        let axis = || (1..=self.seconds).map(|s| s as f64).collect::<Vec<_>>();
        let mut pace = Plot::new("New orders", "second", "new orders/s", axis());
        let mut pages = Plot::new("Written by checkpoints", "second", "MB/s", axis());
        let mut ours = [String::new(), String::new()];
        for throttle in &self.throttle {
            let case = match throttle {
                0 => "not throttled".to_owned(),
                mb => format!("at most {mb} MB/s"),
            };
            let outcome = self.one(run, *throttle)?;
            report.check("consistency conditions 1 to 4, and the clients' ledger", &outcome.tpcc.violations);
            let mean = mean(&outcome, |s| s.new_orders as f64);
            let slowest = outcome.seconds.iter().map(|s| s.new_orders).min().unwrap_or(0) as f64;
            let written = |s: &Second| s.checkpoint_pages as f64 * PAGE_BYTES / 1e6;
            table.row([
                case.clone(),
                number(mean),
                number(slowest),
                number(slowest / mean),
                outcome.seconds.iter().filter(|s| (s.new_orders as f64) < 0.9 * mean).count().to_string(),
                number(self::mean(&outcome, written)),
                number(self::mean(&outcome, |s| s.log_bytes as f64 / 1e6)),
                count(outcome.seconds.iter().map(|s| s.resident_bytes >> 20).max().unwrap_or(0)),
            ]);
            report.figure("new orders", "Evenkeel", &case, "1/s", Better::Higher, &[mean]);
            let ratio = [slowest / mean];
            report.figure("slowest second / mean", "Evenkeel", &case, "", Better::Higher, &ratio).goal =
                Some(0.9);
            ours[usize::from(*throttle > 0)] = format!("{slowest} / {mean:.0} = {:.2}", slowest / mean);
            pace.add(&case, outcome.seconds.iter().map(|s| s.new_orders as f64));
            pages.add(&case, outcome.seconds.iter().map(written));
        }
        report.tables.extend([table, papers::beside(&papers::CHECKPOINTS, &ours)]);
        report.plots.extend([pace, pages]);
        run.finish(report)
    }

    fn one(&self, run: &Run<'_>, throttle: u32) -> Result<Outcome> {
        let settings = self.size.settings(self.clients, self.warm_up, self.seconds);
        let limit = throttle.to_string();
        let mut options = split(&self.serve_options);
        if throttle > 0 {
            options.extend(["-k", &limit]);
        }
        run.on_scratch("checkpoint", |data| steady::run(run.keel, data, settings, &options, &run.progress))
    }
}

fn mean(outcome: &Outcome, value: impl Fn(&Second) -> f64) -> f64 {
    outcome.seconds.iter().map(value).sum::<f64>() / outcome.seconds.len().max(1) as f64
}

/// A database larger than memory: point reads and updates, then one very large transaction
#[derive(Args, Serialize)]
pub struct Memory {
    /// `max server memory`, MB
    #[arg(long, default_value_t = 512)]
    memory: u64,
    /// Bytes of rows, MB
    #[arg(long, default_value_t = 4096)]
    database: u64,
    /// Divides both, and nothing else
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    shrink: u64,
    /// Rows that one transaction changes at the end
    #[arg(long, default_value_t = 2_000_000)]
    large_rows: u64,
    /// Sessions
    #[arg(long, default_value_t = 4)]
    clients: u64,
    /// Seconds of point reads and updates
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// More options for `keel serve`, separated by spaces
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_value = "")]
    serve_options: String,
}

impl Memory {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("memory", "A database larger than memory", &self)?;
        let settings = memory::Settings {
            memory_mb: self.memory / self.shrink,
            database_mb: self.database / self.shrink,
            large_rows: self.large_rows,
            clients: self.clients,
            duration: Duration::from_secs(self.seconds),
            seed: self.seed,
        };
        let options = split(&self.serve_options);
        let outcome =
            run.on_scratch("memory", |data| memory::run(run.keel, data, settings, &options, &run.progress))?;
        let mut table = Table::new("Phases", &["", "seconds", "per second", "peak memory MB"]).note(&format!(
            "{} MB of rows ({} rows) under max server memory {} MB. The load counts rows, the others point reads and updates.",
            settings.database_mb, outcome.rows, settings.memory_mb
        ));
        for phase in &outcome.phases {
            let peak = count(phase.peak_bytes >> 20);
            table.row([phase.name.into(), number(phase.seconds), number(phase.per_second), peak]);
            report.figure(phase.name, "Evenkeel", "", "1/s", Better::Higher, &[phase.per_second]);
        }
        let large = settings.large_rows.min(outcome.rows);
        report.notes.push(match &outcome.refused {
            None => format!("One transaction changed {large} rows."),
            Some(error) => format!("The transaction of {large} rows was refused: {error}"),
        });
        let peak = [outcome.peak_share(&settings)];
        report.figure("peak resident / max server memory", "Evenkeel", "", "", Better::Lower, &peak).goal =
            Some(1.15);
        report.check("rows and acknowledged updates", &outcome.violations);
        report.tables.push(table);
        run.finish(report)
    }
}

/// TPROC-C with checkpoints held off, kill -9, restart: seconds of recovery per second of load
#[derive(Args, Serialize)]
pub struct Recovery {
    #[command(flatten)]
    #[serde(flatten)]
    size: Size,
    /// Sessions
    #[arg(long, default_value_t = 8)]
    clients: u64,
    /// Seconds before the kill
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// More options for `keel serve`, separated by spaces
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, default_value = "")]
    serve_options: String,
}

impl Recovery {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("recovery", "Recovery after kill -9", &self)?;
        let settings = self.size.settings(self.clients, 0, self.seconds);
        let options = split(&self.serve_options);
        let outcome = run.on_scratch("recovery", |data| {
            recovery::run(run.keel, data, settings, &options, &run.progress)
        })?;
        let mut table = Table::new("Recovery", &["what", "value"]);
        table.row(["under load, s".to_owned(), number(outcome.run_seconds)]);
        table.row(["transactions acknowledged".to_owned(), count(outcome.acknowledged)]);
        table.row(["log to replay, MB".to_owned(), number(outcome.log_bytes as f64 / 1e6)]);
        table.row(["from start to ready, s".to_owned(), number(outcome.recovery_seconds)]);
        table.row(["the same with nothing to recover, s".to_owned(), number(outcome.start_seconds)]);
        let share = [outcome.recovery_seconds / outcome.run_seconds];
        report.figure("recovery / load", "Evenkeel", "", "", Better::Lower, &share).goal = Some(0.1);
        let rate = [outcome.log_bytes as f64 / 1e6 / outcome.recovery_seconds];
        report.figure("log replayed", "Evenkeel", "", "MB/s", Better::Higher, &rate);
        report.check("everything acknowledged is there, nothing else", &outcome.violations);
        report.tables.push(table);
        run.finish(report)
    }
}

/// Kill -9 under TPROC-C load, restart, and look for every acknowledged transaction; again and again
#[derive(Args, Serialize)]
pub struct Crash {
    #[command(flatten)]
    #[serde(flatten)]
    size: Size,
    /// Sessions
    #[arg(long, default_value_t = 8)]
    clients: u64,
    /// Kills
    #[arg(long, default_value_t = 10)]
    rounds: u32,
}

impl Crash {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("crash", "Kill -9 under load", &self)?;
        let settings = self.size.settings(self.clients, 0, 0);
        let outcome = run.on_scratch("crash", |data| {
            crash::run(run.keel, data, settings, self.rounds, &[], &run.progress)
        })?;
        let mut table = Table::new("Kills", &["what", "value"]);
        let slowest = outcome.restart_seconds.iter().copied().fold(0.0, f64::max);
        table.row(["kills".to_owned(), outcome.rounds.to_string()]);
        table.row(["transactions acknowledged".to_owned(), count(outcome.acknowledged)]);
        table.row(["slowest restart, s".to_owned(), number(slowest)]);
        report.figure("restart", "Evenkeel", "", "s", Better::Lower, &outcome.restart_seconds);
        report.check("everything acknowledged is there, nothing else", &outcome.violations);
        report.tables.push(table);
        run.finish(report)
    }
}
