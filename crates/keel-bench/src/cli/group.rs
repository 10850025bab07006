//! The measurements of an availability group: `keel bench sync-cost`, `redo`, `seeding`, `compression`, `soak`.

use super::target::Kind;
use super::{Run, Size, split};
use crate::report::{Better, Plot, Report, Table, count, number, papers};
use crate::sync_cost::{self, Figure, Limit, Outcome, STAGES, Workload};
use crate::{catch_up, seeding, soak, thin_link};
use anyhow::Result;
use clap::Args;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Stand-alone beside one and two synchronous secondaries: throughput and processor time per transaction
///
/// The primary has the machine's first core to itself. Three primaries, with no, one and two secondaries, are measured by turns
/// in short slices; ratios are between slices of one round, and their spread over the rounds shows what they are worth.
#[derive(Args, Serialize)]
pub struct SyncCost {
    /// What to run it on, in turn
    #[arg(long = "on", value_enum, default_values_t = [Kind::Keel])]
    on: Vec<Kind>,
    /// What the clients do
    #[arg(long, value_enum, default_value_t = Workload::Tpcc)]
    workload: Workload,
    /// Numbers of clients
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16, 64])]
    clients: Vec<u64>,
    /// Warehouses
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(i64).range(1..))]
    warehouses: i64,
    /// As of `tpcc`
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(i64).range(1..=1_000))]
    shrink: i64,
    /// Measured seconds of each slice
    #[arg(long, default_value_t = 2)]
    seconds: u64,
    /// Seconds before measuring each
    #[arg(long, default_value_t = 1)]
    warm_up: u64,
    /// Rounds over all of it
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// More options for `keel serve`, separated by spaces
    #[arg(
        long,
        value_name = "OPTIONS",
        allow_hyphen_values = true,
        default_value = "--max-server-memory 2048"
    )]
    serve_options: String,
}

impl SyncCost {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("sync-cost", "What synchronous secondaries cost", &self)?;
        let size = Size { warehouses: self.warehouses, shrink: self.shrink, seed: self.seed };
        let load = size.settings(0, self.warm_up, self.seconds);
        let settings = sync_cost::Settings {
            load,
            clients: self.clients.clone(),
            workload: self.workload,
            rounds: self.rounds.max(1),
        };
        let mut best = f64::NAN;
        for kind in &self.on {
            let (name, outcome) = run.on_scratch("sync-cost", |dir| {
                let mut name = String::new();
                let mut make = |secondaries: usize| {
                    let dir = dir.join(secondaries.to_string());
                    std::fs::create_dir_all(&dir)?;
                    let side = self.side(run, *kind, &dir, secondaries)?;
                    name = side.name();
                    report.versions.insert(side.name(), crate::target::version(&*side)?);
                    Ok(side)
                };
                let outcome = sync_cost::run(&mut make, &settings, &run.progress)?;
                Ok((name, outcome))
            })?;
            if *kind == Kind::Keel {
                let ratios = (0..self.clients.len()).map(|c| outcome.ratio(1, c));
                best = ratios.into_iter().next_back().map_or(f64::NAN, |r| crate::report::median(&r));
            }
            report.check("everything acknowledged is there, nothing else", &outcome.violations);
            figures(&mut report, &name, &outcome);
            report.tables.push(table(&name, &outcome));
            report.plots.push(plot(&name, &outcome));
        }
        let busy = "–: see waits per transaction".to_owned();
        report.tables.push(papers::beside(&papers::SYNC_COST, &[number(best), number(best), busy]));
        if crate::process::cores() < 2 {
            report.notes.push("The machine has one core: the primary shared it with everything else.".into());
        }
        run.finish(report)
    }

    fn side(
        &self,
        run: &Run<'_>,
        kind: Kind,
        dir: &Path,
        secondaries: usize,
    ) -> Result<Box<dyn sync_cost::Side>> {
        match kind {
            Kind::Keel => {
                let options = split(&self.serve_options);
                Ok(Box::new(sync_cost::Keels::start(run.keel, dir, secondaries, &options)?))
            }
            Kind::Postgres => replicated_postgres(dir),
        }
    }
}

fn figures(report: &mut Report, name: &str, outcome: &Outcome) {
    for (c, clients) in outcome.clients.iter().enumerate() {
        for stage in [1, 2] {
            let case = format!("{}, {clients} clients", STAGES[stage]);
            let ours = name == "Evenkeel";
            let limited = outcome.limit(0, c) == Limit::Primary && outcome.limit(stage, c) == Limit::Primary;
            let goal = [0.97, 0.95][stage - 1];
            let (ratio, extra) = (outcome.ratio(stage, c), outcome.extra(stage, c));
            report.figure("throughput / stand-alone", name, &case, "", Better::Higher, &ratio).goal =
                (ours && limited).then_some(goal);
            // What the throughput would be beside stand-alone if the primary's core were the limit in both.
            let per_second = outcome.per_primary_second(stage, c);
            let what = "transactions in a second of the primary's processor / stand-alone";
            report.figure(what, name, &case, "", Better::Higher, &per_second).goal =
                (ours && !limited).then_some(goal);
            report.figure("extra processor time", name, &case, "%", Better::Lower, &extra).goal =
                ours.then_some(15.0);
        }
        let alone: Vec<f64> = outcome.rounds.iter().map(|round| round[0][c].per_second).collect();
        let case = format!("{clients} clients");
        report.figure("stand-alone", name, &case, "transactions/s", Better::Higher, &alone);
    }
}

fn table(name: &str, outcome: &Outcome) -> Table {
    let columns = [
        "",
        "clients",
        "transactions/s",
        "ratio",
        "from",
        "to",
        "limit",
        "primary's core %",
        "other cores %",
        "per second of the primary's processor",
        "ratio of that",
        "primary us",
        "secondaries us",
        "extra CPU %",
        "driver us",
        "waits/transaction, primary",
        "secondaries",
        "p50 us",
        "p99 us",
    ];
    let mut table = Table::new(&format!("{name}: cost of synchronous secondaries"), &columns).note(
        "Medians over the rounds; from and to are the least and the greatest ratio of a round. Where the \
         primary's core was not the limit, the ratio says little about the primary; what it did in a second of its own processor \
         time, and processor time per transaction, do not depend on that.",
    );
    for (c, clients) in outcome.clients.iter().enumerate() {
        for (stage, label) in STAGES.iter().enumerate() {
            let f = |value: fn(&Figure) -> f64| outcome.over_rounds(stage, c, value);
            let ratios = outcome.ratio(stage, c);
            table.row([
                (*label).to_owned(),
                clients.to_string(),
                number(f(|f| f.per_second)),
                format!("{:.3}", crate::report::median(&ratios)),
                format!("{:.3}", ratios.iter().copied().fold(f64::INFINITY, f64::min)),
                format!("{:.3}", ratios.iter().copied().fold(0.0, f64::max)),
                outcome.limit(stage, c).words().to_owned(),
                format!("{:.0}", f(|f| f.primary_busy) * 100.0),
                format!("{:.0}", f(|f| f.others_busy) * 100.0),
                number(f(Figure::per_primary_second)),
                format!("{:.3}", crate::report::median(&outcome.per_primary_second(stage, c))),
                number(f(|f| f.primary_us)),
                number(f(|f| f.secondaries_us)),
                format!("{:.1}", crate::report::median(&outcome.extra(stage, c))),
                number(f(|f| f.driver_us)),
                number(f(|f| f.primary_waits)),
                number(f(|f| f.secondaries_waits)),
                number(f(|f| f.p50_us as f64)),
                number(f(|f| f.p99_us as f64)),
            ]);
        }
    }
    table
}

fn plot(name: &str, outcome: &Outcome) -> Plot {
    let clients = outcome.clients.iter().map(|n| *n as f64).collect();
    let mut plot = Plot::new(&format!("{name}: throughput by clients"), "clients", "transactions/s", clients);
    for (stage, label) in STAGES.iter().enumerate() {
        let rates = (0..outcome.clients.len()).map(|c| outcome.over_rounds(stage, c, |f| f.per_second));
        plot.add(label, rates);
    }
    plot
}

#[cfg(feature = "postgres")]
fn replicated_postgres(dir: &Path) -> Result<Box<dyn sync_cost::Side>> {
    Ok(Box::new(crate::pg_standby::Replicated::start(dir)?))
}

#[cfg(not(feature = "postgres"))]
fn replicated_postgres(_dir: &Path) -> Result<Box<dyn sync_cost::Side>> {
    anyhow::bail!("built without PostgreSQL: cargo build --release -p keel --features postgres")
}

/// The recovery queue of a secondary under full load, and how fast a suspended one catches up
#[derive(Args, Serialize)]
pub struct Redo {
    #[command(flatten)]
    #[serde(flatten)]
    size: Size,
    /// Sessions
    #[arg(long, default_value_t = 8)]
    clients: u64,
    /// Measured seconds of each part
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// More options for `keel serve`, separated by spaces
    #[arg(
        long,
        value_name = "OPTIONS",
        allow_hyphen_values = true,
        default_value = "--max-server-memory 4096"
    )]
    serve_options: String,
}

impl Redo {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("redo", "Redo on a secondary under full load", &self)?;
        let settings = self.size.settings(self.clients, 2.min(self.seconds), self.seconds);
        let options = split(&self.serve_options);
        let outcome =
            run.on_scratch("redo", |dir| catch_up::run(run.keel, dir, settings, &options, &run.progress))?;
        let queue = |share: f64| outcome.queue_kb(share) as f64;
        let seconds = outcome.samples.last().map_or(f64::NAN, |s| s.second);
        let done = outcome.samples.last().map_or(0, |s| s.transactions) as f64;
        let log = outcome.log_bytes as f64 / 1e6;
        let mut table = Table::new("Redo", &["what", "value", "unit"]);
        let mut row =
            |what: &str, value: f64, unit: &str| table.row([what.to_owned(), number(value), unit.to_owned()]);
        row("full load", done / seconds, "transactions/s");
        row("recovery queue, median", queue(0.5), "KB");
        row("recovery queue, p99", queue(0.99), "KB");
        row("recovery queue, most", queue(1.0), "KB");
        row("log made while suspended", log, "MB");
        row("made by one core", log / outcome.made_in.as_secs_f64(), "MB/s");
        row("caught up", log / outcome.caught_up_in.as_secs_f64(), "MB/s");
        row(
            "redone per second of the secondary's processor time",
            log / outcome.redone_in.as_secs_f64(),
            "MB/s",
        );
        report.figure("recovery queue, p99", "Evenkeel", "", "KB", Better::Lower, &[queue(0.99)]);
        let name = "catching up / one core's rate of making log";
        report.figure(name, "Evenkeel", "", "", Better::Higher, &[outcome.ratio()]).goal = Some(5.0);
        let ours = [
            format!("{:.1} times what one core makes", outcome.ratio()),
            format!("{} KB at most", number(queue(1.0))),
            format!("{:.2} s for {seconds:.0} s of load", outcome.caught_up_in.as_secs_f64()),
        ];
        report.tables.extend([table, papers::beside(&papers::REDO, &ours)]);
        let axis = outcome.samples.iter().map(|s| s.second).collect();
        let mut plot = Plot::new("Queues under full load", "second", "KB", axis);
        plot.add("recovery queue", outcome.samples.iter().map(|s| s.recovery_queue_kb as f64));
        plot.add("send queue", outcome.samples.iter().map(|s| s.send_queue_kb as f64));
        report.plots.push(plot);
        report.check("the secondary holds everything acknowledged, and is consistent", &outcome.violations);
        run.finish(report)
    }
}

/// What automatic seeding takes from the primary's throughput
#[derive(Args, Serialize)]
pub struct Seeding {
    #[command(flatten)]
    #[serde(flatten)]
    size: Size,
    /// Sessions
    #[arg(long, default_value_t = 8)]
    clients: u64,
    /// Measured seconds before and after each copy is made
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Copies made
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    /// More options for `keel serve`, separated by spaces
    #[arg(
        long,
        value_name = "OPTIONS",
        allow_hyphen_values = true,
        default_value = "--max-server-memory 4096"
    )]
    serve_options: String,
}

impl Seeding {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("seeding", "Automatic seeding under full load", &self)?;
        let settings = self.size.settings(self.clients, 2.min(self.seconds), self.seconds);
        let options = split(&self.serve_options);
        let (rounds, violations) = run.on_scratch("seeding", |dir| {
            seeding::run(run.keel, dir, settings, self.repeat, &options, &run.progress)
        })?;
        let columns =
            ["copy", "transactions/s without", "while it is made", "lost %", "MB", "seconds", "MB/s"];
        let mut table = Table::new("Seeding", &columns);
        for (n, r) in rounds.iter().enumerate() {
            let mb = r.bytes as f64 / 1e6;
            let values = [r.without, r.with, r.loss() * 100.0, mb, r.seconds, mb / r.seconds];
            table.row(std::iter::once((n + 1).to_string()).chain(values.map(number)));
        }
        let losses: Vec<f64> = rounds.iter().map(|r| r.loss() * 100.0).collect();
        let rates: Vec<f64> = rounds.iter().map(|r| r.bytes as f64 / 1e6 / r.seconds).collect();
        report
            .figure("throughput lost while a copy is made", "Evenkeel", "", "%", Better::Lower, &losses)
            .goal = Some(10.0);
        report.check("everything acknowledged is there, nothing else", &violations);
        report.figure("seeding", "Evenkeel", "", "MB/s", Better::Higher, &rates);
        report.tables.push(table);
        run.finish(report)
    }
}

/// Drain time and bytes of a send queue over thin links, with and without compression; as root
#[derive(Args, Serialize)]
pub struct Compression {
    /// The links, as `tc` writes rates
    #[arg(long, value_delimiter = ',', default_values_t = ["10mbit".to_owned(), "100mbit".to_owned()])]
    rate: Vec<String>,
    /// Log in the queue, MB
    #[arg(long, default_value_t = 12)]
    queue: u64,
    /// Rounds
    #[arg(long, default_value_t = 2)]
    repeat: usize,
    /// As of `tpcc`
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(i64).range(1..=1_000))]
    shrink: i64,
}

impl Compression {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("compression", "The log over thin links, compressed and not", &self)?;
        let load = Size { warehouses: 1, shrink: self.shrink, seed: 1 }.settings(4, 0, 0);
        let (drains, violations) = run.on_scratch("compression", |dir| {
            thin_link::run(run.keel, dir, load, &self.rate, self.queue, self.repeat, &run.progress)
        })?;
        let columns = ["link", "blocks", "queue MB", "drained in s", "MB on the wire", "saved %", "log Mb/s"];
        let mut table = Table::new("Drain of a send queue", &columns)
            .note("Bytes are counted at the interface: headers, TLS and everything else is in them.");
        for d in &drains {
            let (queue, wire) = (d.queue_bytes as f64 / 1e6, d.wire_bytes as f64 / 1e6);
            let blocks = if d.compressed { "compressed" } else { "as they are" };
            let values = [queue, d.seconds, wire, d.saved() * 100.0, queue * 8.0 / d.seconds];
            table.row([d.rate.clone(), blocks.to_owned()].into_iter().chain(values.map(number)));
        }
        report.check("the far copy holds everything acknowledged, and is consistent", &violations);
        let mut ours = [String::new(), String::new()];
        for rate in &self.rate {
            let of = |compressed: bool, value: fn(&thin_link::Drain) -> f64| -> Vec<f64> {
                drains.iter().filter(|d| d.rate == *rate && d.compressed == compressed).map(value).collect()
            };
            let faster: Vec<f64> = of(false, |d| d.seconds / d.queue_bytes as f64)
                .iter()
                .zip(of(true, |d| d.seconds / d.queue_bytes as f64))
                .map(|(plain, compressed)| plain / compressed)
                .collect();
            let saved: Vec<f64> = of(true, |d| d.saved() * 100.0);
            if ours[0].is_empty() {
                ours = [
                    format!("{:.0} % (TPROC-C)", crate::report::median(&saved)),
                    format!("{:.1} times shorter over {rate}", crate::report::median(&faster)),
                ];
            }
            report.figure("bytes saved", "Evenkeel", rate, "%", Better::Higher, &saved);
            report.figure(
                "drain time as they are / compressed",
                "Evenkeel",
                rate,
                "",
                Better::Higher,
                &faster,
            );
        }
        report.tables.extend([table, papers::beside(&papers::COMPRESSION, &ours)]);
        run.finish(report)
    }
}

/// A group of three under mixed load while replicas are killed, stopped, suspended and failed over
///
/// No acknowledged commit may be lost, all replicas must hold the same rows, and whoever reads, wherever, sees whole
/// transactions.
#[derive(Args, Serialize)]
pub struct Soak {
    /// Minutes
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Random seed: of the faults and of the load
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Sessions that insert and remember what was acknowledged
    #[arg(long, default_value_t = 4)]
    clients: u64,
}

impl Soak {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = run.report("soak", "A group under faults", &self)?;
        let time = Duration::from_secs_f64(self.minutes * 60.0);
        let settings = soak::Settings { time, seed: self.seed, clients: self.clients };
        let outcome = run.on_scratch("soak", |dir| soak::run(run.keel, dir, &settings, &run.progress))?;
        let mut table = Table::new("What happened", &["what", "times"]);
        let counts = [
            ("commits acknowledged", outcome.acknowledged),
            ("commits in doubt", outcome.in_doubt),
            ("reads that compared rows with what follows from them", outcome.reads),
            ("schema changes, truncations, loads, large transactions", outcome.shapes),
            ("comparisons of all replicas", outcome.checks),
        ];
        for (what, times) in counts.into_iter().chain(outcome.faults.iter().map(|(f, n)| (*f, *n))) {
            table.row([what.to_owned(), count(times)]);
        }
        let what = "nothing acknowledged is lost, nothing else is there, replicas are the same, no snapshot is torn, what follows from rows agrees \
             with them";
        report.check(what, &outcome.violations);
        let faults = [outcome.faults.values().sum::<u64>() as f64];
        report.figure("faults survived", "Evenkeel", "", "", Better::Higher, &faults);
        report.figure(
            "commits acknowledged",
            "Evenkeel",
            "",
            "",
            Better::Higher,
            &[outcome.acknowledged as f64],
        );
        report.tables.push(table);
        run.finish(report)
    }
}
