//! `keel bench consolidation`.

use super::target::{Target, add_ratios};
use super::{Run, Size, settings};
use crate::consolidation::{Place, Step, pools, step};
use crate::counters::Holds;
use crate::report::{Better, Plot, Report, Table, median, number, papers};
use crate::tpcc;
use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use std::time::Duration;

/// Databases added step by step on one server, each with TPROC-C users who think: what each loses to its neighbours
///
/// All databases are loaded first. Step n runs the users of the first n of them at once; linearity is what a database has there
/// beside what the first had alone. Reads and writes come from `sys.dm_io_virtual_file_stats`, the rest from the server's counters.
#[derive(Args, Serialize)]
pub struct Consolidation {
    /// Databases, added one a step
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    databases: u32,
    /// Users of each database
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..))]
    users: u64,
    /// Mean time a user thinks between an answer and the next transaction, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 40)]
    think_ms: u64,
    /// Warehouses of each database
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(i64).range(1..))]
    warehouses: i64,
    /// As of `tpcc`
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(i64).range(1..=1_000))]
    shrink: i64,
    /// Measured seconds of each step
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Seconds before measuring each step
    #[arg(long, default_value_t = 5)]
    warm_up: u64,
    /// Connections that load
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    loaders: u32,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A login, a resource pool with an equal share of the processors and a workload group for each database
    #[arg(long, conflicts_with = "server")]
    pools: bool,
    #[command(flatten)]
    #[serde(flatten)]
    target: Target,
}

const TOTAL: &str = "transactions";
const EACH: &str = "per database / the first alone";

impl Consolidation {
    /// Runs it.
    pub(super) fn run(mut self, run: &Run<'_>) -> Result<()> {
        let names = self.target.databases_or("consolidation", self.databases);
        ensure!(
            !self.target.has_postgres(),
            "only a server with the product's views can be asked for its files' latency"
        );
        let mut report = Report::new("consolidation", "Databases added step by step", settings(&self)?);
        let mut sides: Vec<Side> = Vec::new();
        for _ in 0..self.target.repeat {
            for (i, one) in self.target.all().into_iter().enumerate() {
                let target = self.target.start(run, one, &mut report)?;
                if sides.len() <= i {
                    sides.push(Side { name: target.server.name(), runs: Vec::new() });
                }
                let mut places = Vec::new();
                for (name, n) in names.iter().zip(0..) {
                    run.progress.share(&format!("loading {name}"), n, self.databases.into());
                    let loaders = self.loaders as usize;
                    places.push(Place::build(&*target.server, name, self.settings(), loaders)?);
                }
                if self.pools {
                    pools::set_up(&*target.server, &names)?;
                    places.iter_mut().try_for_each(|place| place.use_login(&*target.server))?;
                }
                let mut steps = Vec::new();
                for n in 1..=places.len() {
                    let settings = self.settings();
                    steps.push(step(&*target.server, &mut places[..n], settings, n as u64, &run.progress)?);
                }
                for place in &places {
                    let what = "consistency conditions and the users' ledger hold in every database";
                    report.check(what, &place.check(self.settings())?);
                }
                sides[i].runs.push(steps);
            }
        }
        self.report(run, report, &sides)
    }

    fn settings(&self) -> tpcc::Settings {
        let size = Size { warehouses: self.warehouses, shrink: self.shrink, seed: self.seed };
        tpcc::Settings {
            think: Duration::from_millis(self.think_ms),
            ..size.settings(self.users, self.warm_up, self.seconds)
        }
    }

    fn report(&self, run: &Run<'_>, mut report: Report, sides: &[Side]) -> Result<()> {
        for side in sides {
            side.figures(&mut report);
            report.tables.extend([side.steps(), side.server(), side.files()]);
        }
        add_ratios(&mut report, &[(TOTAL, None), (EACH, None)]);
        let ours = |at: usize, value: &dyn Fn(&Step) -> f64| {
            let side = sides.first().filter(|_| at < self.databases as usize);
            side.map_or_else(String::new, |side| number(side.median(at, value)))
        };
        let last = self.databases as usize - 1;
        let loss = sides.first().map_or(f64::NAN, |side| (1.0 - side.each(last)) * 100.0);
        let latency = |holds, reads| move |step: &Step| mean_latency(step, holds, reads);
        let texts = [
            ours(0, &Step::per_second),
            ours(5, &Step::per_second),
            format!("{} ({} databases)", number(loss), self.databases),
            ours(0, &|step| step.load.batches),
            ours(5, &|step| step.load.batches),
            ours(last, &latency(Holds::Data, true)),
            ours(last, &latency(Holds::Data, false)),
            ours(last, &latency(Holds::Log, false)),
        ];
        report.tables.push(papers::beside(&papers::CONSOLIDATED, &texts));
        report.plots.extend(plots(self, sides));
        run.finish(report)
    }
}

/// All that was measured of one target.
struct Side {
    name: String,
    /// By repetition, then by number of databases less one.
    runs: Vec<Vec<Step>>,
}

/// Mean latency of the reads or writes of all files of a kind, milliseconds; NaN without any.
fn mean_latency(step: &Step, holds: Holds, reads: bool) -> f64 {
    let files = step.files.iter().filter(|file| file.holds == holds);
    let (mut count, mut ms) = (0, 0.0);
    for file in files {
        let (n, mean) = if reads { (file.reads, file.read_ms) } else { (file.writes, file.write_ms) };
        if n > 0 {
            count += n;
            ms += mean * n as f64;
        }
    }
    ms / count as f64
}

impl Side {
    fn samples(&self, step: usize, value: &dyn Fn(&Step) -> f64) -> Vec<f64> {
        self.runs.iter().map(|run| value(&run[step])).collect()
    }

    fn median(&self, step: usize, value: &dyn Fn(&Step) -> f64) -> f64 {
        median(&self.samples(step, value))
    }

    fn count(&self) -> usize {
        self.runs.first().map_or(0, Vec::len)
    }

    /// What a database has in a step beside what the first had alone, run by run.
    fn each_samples(&self, step: usize) -> Vec<f64> {
        let each = |run: &Vec<Step>| run[step].per_second() / (step + 1) as f64 / run[0].per_second();
        self.runs.iter().map(each).collect()
    }

    fn each(&self, step: usize) -> f64 {
        median(&self.each_samples(step))
    }

    fn figures(&self, report: &mut Report) {
        for step in 0..self.count() {
            let case = format!("{} databases", step + 1);
            let mut add = |name: &str, unit: &str, better, value: &dyn Fn(&Step) -> f64| {
                report.figure(name, &self.name, &case, unit, better, &self.samples(step, value));
            };
            add(TOTAL, "1/s", Better::Higher, &Step::per_second);
            add("latency, p50", "ms", Better::Lower, &|s| s.latency().quantile_us(0.5) as f64 / 1e3);
            add("latency, p99", "ms", Better::Lower, &|s| s.latency().quantile_us(0.99) as f64 / 1e3);
            for (name, holds, reads) in LATENCIES {
                add(name, "ms", Better::Lower, &|s| mean_latency(s, holds, reads));
            }
            report.figure(EACH, &self.name, &case, "", Better::Higher, &self.each_samples(step));
            if let Some(run) = self.runs.last() {
                run[step].load.figures(report, &self.name, &case);
            }
        }
    }

    fn steps(&self) -> Table {
        let columns = [
            "databases",
            "transactions/s",
            "per database",
            "loss per database %",
            "p50 ms",
            "p99 ms",
            "retries",
        ];
        let mut table = Table::new(&format!("{}: databases step by step", self.name), &columns).note(
            "Medians over the runs. Loss: how much less a database does than the first did alone. Latency is of all transactions together, \
             as users see it.",
        );
        for step in 0..self.count() {
            let f = |value: &dyn Fn(&Step) -> f64| number(self.median(step, value));
            table.row([
                (step + 1).to_string(),
                f(&Step::per_second),
                f(&|s| s.per_second() / s.users.len() as f64),
                format!("{:.1}", (1.0 - self.each(step)) * 100.0),
                f(&|s| s.latency().quantile_us(0.5) as f64 / 1e3),
                f(&|s| s.latency().quantile_us(0.99) as f64 / 1e3),
                f(&|s| s.users.iter().map(|u| u.retries).sum::<u64>() as f64),
            ]);
        }
        table
    }

    fn server(&self) -> Table {
        let columns = [
            "databases",
            "batches/s",
            "IOPS",
            "per database",
            "log MB/s",
            "server's processors",
            "users' processors",
        ];
        let mut table = Table::new(&format!("{}: what the server did", self.name), &columns)
            .note("By its own counters. Processors in cores, of the server, and of the users beside it on this machine.");
        for step in 0..self.count() {
            let f = |value: &dyn Fn(&Step) -> f64| self.median(step, value);
            table.row([
                (step + 1).to_string(),
                number(f(&|s| s.load.batches)),
                number(f(&Step::iops)),
                number(f(&|s| s.iops() / s.users.len() as f64)),
                number(f(&|s| s.load.log_bytes / 1e6)),
                format!("{:.2}", f(&|s| s.load.processors)),
                format!("{:.2}", f(&|s| s.driver)),
            ]);
        }
        table
    }

    /// Of the last step of the last run.
    fn files(&self) -> Table {
        let columns = ["database", "file", "reads", "mean ms", "writes", "mean ms"];
        let mut table = Table::new(&format!("{}: files in the last step", self.name), &columns)
            .note("Out of sys.dm_io_virtual_file_stats, which counts whole milliseconds of waiting. A write of the log includes its sync.");
        let last = self.runs.last().and_then(|run| run.last());
        for file in last.into_iter().flat_map(|step| &step.files) {
            table.row([
                file.database.clone(),
                if file.holds == Holds::Log { "log" } else { "data" }.to_owned(),
                file.reads.to_string(),
                number(file.read_ms),
                file.writes.to_string(),
                number(file.write_ms),
            ]);
        }
        table
    }
}

/// Name, of which files, and whether reads.
const LATENCIES: [(&str, Holds, bool); 3] = [
    ("data reads, mean", Holds::Data, true),
    ("data writes, mean", Holds::Data, false),
    ("log writes, mean", Holds::Log, false),
];

fn plots(bench: &Consolidation, sides: &[Side]) -> Vec<Plot> {
    let steps = bench.databases as usize;
    let axis: Vec<f64> = (1..=steps).map(|n| n as f64).collect();
    let new = |title: &str, unit: &str| Plot::new(title, "databases", unit, axis.clone());
    let curve = |side: &Side, value: &dyn Fn(&Step) -> f64| -> Vec<f64> {
        (0..steps).map(|step| side.median(step, value)).collect()
    };
    let mut throughput = new("Throughput of all databases", "transactions/s");
    let mut each = new("Throughput of each database", "transactions/s");
    let mut latency = new("Latency as users see it", "ms");
    let mut files = new("Latency of files, mean", "ms");
    let mut processors = new("Processors", "cores");
    let mut iops = new("Reads and writes of all files", "1/s");
    for side in sides {
        let named =
            |what: &str| if sides.len() == 1 { what.to_owned() } else { format!("{}, {what}", side.name) };
        let measured = curve(side, &Step::per_second);
        let alone = measured.first().copied().unwrap_or(f64::NAN);
        throughput.add(&named("measured"), measured);
        throughput.add(&named("the first alone × databases"), axis.iter().map(|n| n * alone));
        for database in 0..steps {
            let of = |step: &Step| step.users.get(database).map_or(f64::NAN, |users| users.per_second);
            each.add(&named(&format!("database {}", database + 1)), curve(side, &of));
        }
        latency.add(&named("p50"), curve(side, &|s| s.latency().quantile_us(0.5) as f64 / 1e3));
        latency.add(&named("p99"), curve(side, &|s| s.latency().quantile_us(0.99) as f64 / 1e3));
        for (name, holds, reads) in LATENCIES {
            let values = curve(side, &|s| mean_latency(s, holds, reads));
            if values.iter().any(|value| value.is_finite()) {
                files.add(&named(name), values);
            }
        }
        processors.add(&named("server"), curve(side, &|s| s.load.processors));
        processors.add(&named("users"), curve(side, &|s| s.driver));
        let pools = side.runs.last().and_then(|run| run.last()).map_or(&[][..], |step| &step.pools);
        for (n, (name, _)) in pools.iter().enumerate() {
            let of = |s: &Step| s.pools.get(n).map_or(f64::NAN, |(_, cores)| *cores);
            processors.add(&named(&format!("pool {name}")), curve(side, &of));
        }
        iops.add(&named("all files"), curve(side, &Step::iops));
    }
    vec![throughput, each, latency, files, iops, processors]
}
