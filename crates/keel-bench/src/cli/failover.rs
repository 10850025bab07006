//! `keel bench failover`.

use super::{Run, Size, split};
use crate::failover::{self, Fault, Kind, Outcome, Settings};
use crate::machines::is_root;
use crate::report::{Better, Report, Table, number, papers};
use crate::writers;
use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

/// The failover matrix: how long clients of a listener wait, and what they lose, when the primary fails
///
/// Three servers with synchronous copies that heal themselves; writers with a ledger. For each run: one fault to the primary, until
/// every writer goes on; the fault is taken back, until three copies are synchronized; every acknowledged row is looked for.
/// Partitions, power-off and disk need root: the machines are network namespaces then, with file systems of their own.
#[derive(Args, Serialize)]
pub struct Failover {
    /// What is failed over
    #[arg(long = "on", value_enum, default_value_t = Kind::Keel)]
    on: Kind,
    /// What happens to the primary, one after the other
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Fault::Kill, Fault::Stop, Fault::Planned])]
    faults: Vec<Fault>,
    /// Everything that can be made to happen here
    #[arg(long, conflicts_with = "faults")]
    all: bool,
    /// A system made anew for each fault, and after a run that came to nothing, so that what a fault leaves broken does not concern the
    /// next one
    #[arg(long)]
    afresh: bool,
    /// For `upgrade`: the program that the servers run before it. Each run has a system of its own then
    #[arg(long, value_name = "KEEL")]
    from: Option<PathBuf>,
    /// Runs of each fault
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Minutes for which the group is left alone before that, to see whether it fails over for no reason; give it load
    #[arg(long, value_name = "MINUTES", default_value_t = 0.0, value_parser = minutes)]
    calm: f64,
    /// Writers with each driver
    #[arg(long, default_value_t = 4)]
    writers: usize,
    /// Pause of a writer between two rows, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 2)]
    pace_ms: u64,
    /// How long a client waits for an answer before it tries the next address, milliseconds. It is part of what is measured:
    /// a client of a silent machine learns of nothing by itself
    #[arg(long, value_name = "MS", default_value_t = 200)]
    client_timeout_ms: u64,
    /// How long a secondary stands still before `behind`, seconds. The longer, and the less memory, the farther its redo lags
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    behind_seconds: u64,
    /// Writing behind each failover, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    settle_ms: u64,
    /// A program that writes with a stock driver, such as 'tests/failover/driver.sh go'; without one, a client of our own. Given
    /// more than once: writers with each of them side by side, and a row for each
    #[arg(long, value_name = "PROGRAM")]
    driver: Vec<String>,
    /// How often each driver's writer logs in and is thrown out before the first run: an application that has run for long does neither
    /// for the first time
    #[arg(long, value_name = "N", default_value_t = 300)]
    logins_first: u32,
    /// TPROC-C terminals beside the writers, through the listener
    #[arg(long, value_name = "N", default_value_t = 0)]
    load_clients: u64,
    /// The listener has an IP address of its own, which moves with the primary, and clients know no other; else they know the
    /// address of each machine. Needs root
    #[arg(long)]
    moving_address: bool,
    /// Of that load
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..))]
    warehouses: i64,
    /// As of `tpcc`
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(i64).range(1..=1_000))]
    shrink: i64,
    /// More options for `keel serve`, separated by spaces
    #[arg(
        long,
        value_name = "OPTIONS",
        allow_hyphen_values = true,
        default_value = "--max-server-memory 512"
    )]
    serve_options: String,
    /// A setting of `[cluster]` for all members; may be given more than once
    #[arg(long, value_name = "KEY = VALUE")]
    cluster: Vec<String>,
}

impl Failover {
    /// Runs it.
    pub(super) fn run(mut self, run: &Run<'_>) -> Result<()> {
        if self.all {
            let can = |fault: &Fault| {
                (is_root() || !fault.needs_root()) && (self.on == Kind::Keel || *fault != Fault::Upgrade)
            };
            self.faults = Fault::value_variants().iter().copied().filter(can).collect();
        }
        ensure!(is_root() || !self.on.needs_root(), "{} needs root", self.on.name());
        ensure!(self.on == Kind::Keel || self.driver.is_empty(), "the drivers speak to Evenkeel only");
        ensure!(
            self.on == Kind::Keel || !self.moving_address,
            "only Evenkeel's listener has an address that moves"
        );
        ensure!(
            self.on == Kind::Keel || !self.faults.contains(&Fault::Upgrade),
            "only Evenkeel is upgraded here"
        );
        ensure!(
            self.from.is_none() || self.faults == [Fault::Upgrade],
            "--from goes with --faults upgrade alone"
        );
        ensure!(is_root() || !self.moving_address, "an address that moves needs root");
        for fault in &self.faults {
            ensure!(is_root() || !fault.needs_root(), "{} needs root", fault.name());
        }
        let mut report = run.report("failover", "Failover, as clients see it", &self)?;
        let settings = self.settings();
        let outcome = self.outcome(run, &settings)?;
        let ours = self.figures(&outcome, &mut report);
        report.check(
            "nothing acknowledged is lost; every writer goes on; the group becomes whole; no failover without a reason",
            &outcome.violations,
        );
        if let Some(calm) = &outcome.calm {
            report
                .figure(
                    "failovers without a reason",
                    "Evenkeel",
                    "",
                    "",
                    Better::Lower,
                    &[calm.failovers as f64],
                )
                .goal = Some(0.0);
            report.tables.push(left_alone(calm));
        }
        report.tables.extend([self.matrix(&outcome), papers::beside(&papers::FAILOVER, &ours)]);
        if self.load_clients > 0 {
            report
                .notes
                .push(format!("{} transactions of TPROC-C were done beside the writers.", outcome.load_done));
        }
        let behind = outcome.runs.iter().filter(|run| run.fault == Fault::Behind);
        report
            .notes
            .extend(behind.filter_map(|run| run.record.as_ref()).map(|told| format!("behind: {told}")));
        report.notes.push(format!("{} tries of writers failed and were made again.", outcome.failures));
        run.finish(report)
    }

    fn outcome(&self, run: &Run<'_>, settings: &Settings) -> Result<Outcome> {
        let measure = |settings: &Settings| {
            run.on_scratch("failover", |dir| failover::run(run.keel, dir, settings, &run.progress))
        };
        if self.from.is_some() {
            let mut all = Outcome::default();
            for _ in 0..settings.runs {
                all.join(measure(&Settings { runs: 1, ..settings.clone() })?);
            }
            return Ok(all);
        }
        if !self.afresh {
            return measure(settings);
        }
        let mut all = Outcome::default();
        let mut calm = settings.calm;
        for fault in &settings.faults {
            let mut left = settings.runs;
            // At least once: no runs may be asked for, and only that it is left alone.
            loop {
                match measure(&Settings { faults: vec![*fault], runs: left, calm, ..settings.clone() }) {
                    Ok(outcome) => {
                        left = outcome.left_out;
                        all.join(outcome);
                    }
                    Err(error) if all.runs.is_empty() => return Err(error),
                    // What the runs gave is not lost with it.
                    Err(error) => {
                        all.violations.push(format!("{}: not made anew: {error:#}", fault.name()));
                        left = 0;
                    }
                }
                calm = Duration::ZERO;
                if left == 0 {
                    break;
                }
            }
        }
        Ok(all)
    }

    fn settings(&self) -> Settings {
        let size = Size { warehouses: self.warehouses, shrink: self.shrink, seed: 1 };
        Settings {
            kind: self.on,
            faults: self.faults.clone(),
            runs: self.runs,
            afresh: self.afresh,
            calm: Duration::from_secs_f64(self.calm * 60.0),
            writers: writers::Settings {
                count: self.writers.max(1),
                pace: Duration::from_millis(self.pace_ms),
                timeout: Duration::from_millis(self.client_timeout_ms.max(1)),
                programs: self.driver.clone(),
                logins_first: self.logins_first,
            },
            behind: Duration::from_secs(self.behind_seconds),
            settle: Duration::from_millis(self.settle_ms),
            load: size.settings(self.load_clients, 0, 0),
            moving_address: self.moving_address,
            from: self.from.clone(),
            options: split(&self.serve_options).into_iter().map(str::to_owned).collect(),
            cluster: self.cluster.clone(),
        }
    }

    /// Each driver's name, and which of all writers are with it.
    fn drivers(&self) -> Vec<(String, Range<usize>)> {
        let name = |driver: &String| driver.split_whitespace().last().unwrap_or(driver).to_owned();
        let mut names: Vec<String> = self.driver.iter().map(name).collect();
        if names.is_empty() {
            names.push("our own".into());
        }
        let count = self.writers.max(1);
        names.into_iter().enumerate().map(|(n, name)| (name, n * count..(n + 1) * count)).collect()
    }

    /// Adds each fault's figures; returns what stands beside the papers'.
    fn figures(&self, outcome: &Outcome, report: &mut Report) -> [String; 4] {
        for fault in &self.faults {
            for (driver, writers) in self.drivers() {
                let gaps = of(outcome, *fault, |run| slowest(&run.gaps_ms, &writers));
                self.gaps(*fault, &driver, &gaps, report);
            }
        }
        let median = |fault: Fault| {
            let gaps = of(outcome, fault, failover::Run::gap_ms);
            (!gaps.is_empty()).then(|| format!("{} s", number(quantile(&gaps, 0.5) / 1e3)))
        };
        let killed = || median(Fault::Kill).map(|shown| format!("{shown} (killed)"));
        let primary = median(Fault::Partition).or_else(killed).unwrap_or_default();
        let planned = median(Fault::Upgrade).or_else(|| median(Fault::Planned)).unwrap_or_default();
        [String::new(), String::new(), primary, planned]
    }

    /// Adds the figures of one fault as the writers with one driver saw it.
    fn gaps(&self, fault: Fault, driver: &str, gaps: &[f64], report: &mut Report) {
        let alone = self.driver.len() < 2;
        let scenario = if alone { fault.name().into() } else { format!("{}, {driver}", fault.name()) };
        let system = self.on.name();
        report.figure("gap of the slowest writer", system, &scenario, "ms", Better::Lower, gaps);
        // Others have goals of their own.
        let ours_only = self.on == Kind::Keel;
        let mut goal = |what: &str, share: f64, goal: f64| {
            let value = quantile(gaps, share);
            report.figure(what, system, &scenario, "ms", Better::Lower, &[value]).goal =
                ours_only.then_some(goal);
        };
        match fault {
            Fault::Planned | Fault::Upgrade => goal("gap, longest", 1.0, 100.0),
            Fault::Kill => {
                goal("gap, p50", 0.5, 100.0);
                goal("gap, p99", 0.99, 900.0);
            }
            _ => goal("gap, p99", 0.99, 900.0),
        }
    }

    fn matrix(&self, outcome: &Outcome) -> Table {
        let columns = [
            "fault",
            "driver",
            "runs",
            "gap p50 ms",
            "p99 ms",
            "longest ms",
            "fastest writer, p50 ms",
            "opened after, p50 ms",
            "on return p99 ms",
            "lost",
        ];
        let mut table = Table::new("Failover matrix", &columns).note(&format!(
            "The gap of a run is that of its slowest writer. The client's time-out of {} ms is in it. 'Opened' is the group's own \
             record. 'On return' is the gap while the failed instance comes back.",
            self.client_timeout_ms
        ));
        for fault in &self.faults {
            for (driver, writers) in self.drivers() {
                table.row(row(outcome, *fault, &driver, &writers));
            }
        }
        table
    }
}

/// One fault as the writers with one driver saw it.
fn row(outcome: &Outcome, fault: Fault, driver: &str, writers: &Range<usize>) -> [String; 10] {
    let of = |value: &dyn Fn(&failover::Run) -> f64| of(outcome, fault, value);
    let gaps = of(&|run| slowest(&run.gaps_ms, writers));
    let fastest = of(&|run| some(&run.gaps_ms, writers).fold(f64::INFINITY, f64::min));
    let opened = of(&|run| run.open_ms.map_or(f64::NAN, |ms| ms as f64));
    let on_return = of(&|run| slowest(&run.return_gaps_ms, writers));
    let lost: usize = outcome.runs.iter().filter(|run| run.fault == fault).map(|run| run.lost.len()).sum();
    [
        fault.name().to_owned(),
        driver.to_owned(),
        gaps.len().to_string(),
        number(quantile(&gaps, 0.5)),
        number(quantile(&gaps, 0.99)),
        number(quantile(&gaps, 1.0)),
        number(quantile(&fastest, 0.5)),
        number(quantile(&opened, 0.5)),
        number(quantile(&on_return, 0.99)),
        lost.to_string(),
    ]
}

/// Of those writers.
fn some(gaps_ms: &[f64], writers: &Range<usize>) -> impl Iterator<Item = f64> {
    gaps_ms.get(writers.clone()).unwrap_or_default().iter().copied()
}

fn slowest(gaps_ms: &[f64], writers: &Range<usize>) -> f64 {
    some(gaps_ms, writers).fold(0.0, f64::max)
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if (0.0..=100_000.0).contains(&minutes) => Ok(minutes),
        _ => Err("minutes from 0 to 100000".into()),
    }
}

fn left_alone(calm: &failover::Calm) -> Table {
    let mut table =
        Table::new("Left alone", &["minutes", "failovers", "longest gap of any writer, ms", "lost"]);
    table.row([
        number(calm.time.as_secs_f64() / 60.0),
        calm.failovers.to_string(),
        number(calm.gaps_ms.iter().copied().fold(0.0, f64::max)),
        calm.lost.len().to_string(),
    ]);
    table
}

fn of(outcome: &Outcome, fault: Fault, value: impl Fn(&failover::Run) -> f64) -> Vec<f64> {
    outcome.runs.iter().filter(|run| run.fault == fault).map(value).collect()
}

/// The value that a share of all does not exceed.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share).ceil() as usize;
    values.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        failover: Failover,
    }

    #[test]
    fn each_driver_has_the_gaps_of_its_own_writers() {
        let words = "x --writers 2 --faults kill --driver".split(' ');
        let line = Line::parse_from(words.chain(["tests/failover/driver.sh go", "--driver", "jdbc"]));
        let run = failover::Run {
            fault: Fault::Kill,
            gaps_ms: vec![1.0, 30.0, 400.0, 200.0],
            return_gaps_ms: vec![5.0, 6.0, 7.0, 8.0],
            lost: Vec::new(),
            healed: true,
            open_ms: Some(4),
            record: None,
        };
        let runs = vec![run];
        let outcome = Outcome { calm: None, runs, ..Outcome::default() };
        let rows: Vec<_> =
            line.failover.drivers().iter().map(|(d, w)| row(&outcome, Fault::Kill, d, w)).collect();
        assert_eq!(rows[0][..7], ["kill", "go", "1", "30.0", "30.0", "30.0", "1.00"]);
        assert_eq!(rows[1][..7], ["kill", "jdbc", "1", "400", "400", "400", "200"]);
        assert_eq!((&*rows[0][8], &*rows[1][8]), ("6.00", "8.00"));
    }
}
