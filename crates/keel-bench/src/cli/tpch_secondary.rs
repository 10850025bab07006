//! `keel bench tpch --secondary`.

use super::Run;
use crate::fleet::Mode;
use crate::report::{Better, Plot, Report, Table, number};
use crate::tpcc;
use crate::tproch::{self, Throughput};
use crate::tproch_secondary::{self, Outcome, Sample};
use anyhow::Result;
use clap::Args;
use keel_workload::tpcc::Scale;
use keel_workload::tproch::metrics::{geometric_mean, throughput_at_size};
use serde::Serialize;
use std::time::Duration;

/// What goes on at the primary while the secondary is read.
#[derive(Args, Serialize)]
pub struct Oltp {
    /// With --secondary: TPROC-C users at the primary
    #[arg(long, value_name = "N", default_value_t = 20, requires = "secondary", value_parser = clap::value_parser!(u64).range(1..))]
    users: u64,
    /// With --secondary: mean time a user thinks, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 40, requires = "secondary")]
    think_ms: u64,
    /// With --secondary: warehouses
    #[arg(long, default_value_t = 4, requires = "secondary", value_parser = clap::value_parser!(i64).range(1..))]
    warehouses: i64,
    /// With --secondary: items and customers are the specification's divided by this
    #[arg(long, default_value_t = 10, requires = "secondary", value_parser = clap::value_parser!(i64).range(1..=1_000))]
    shrink: i64,
    /// With --secondary: measured seconds of users without streams, before and after
    #[arg(long, default_value_t = 30, requires = "secondary", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// With --secondary: seconds before measuring users
    #[arg(long, default_value_t = 5, requires = "secondary")]
    warm_up: u64,
    /// With --secondary: the primary does not wait for it
    #[arg(long, requires = "secondary")]
    asynchronous: bool,
}

const REDO: &str = "redo queue, most";

impl Oltp {
    /// Runs it and adds what it gave to the report.
    pub(super) fn run(
        &self,
        run: &Run<'_>,
        dss: tproch::Settings,
        options: &[&str],
        mut report: Report,
    ) -> Result<()> {
        let mode = if self.asynchronous { Mode::Asynchronous } else { Mode::Synchronous };
        let settings = tproch_secondary::Settings { dss, oltp: self.settings(dss.seed), mode };
        let outcome = run.on_scratch("tpch-secondary", |dir| {
            tproch_secondary::run(run.keel, dir, settings, options, &run.progress)
        })?;
        for (what, violations) in &outcome.checks {
            report.check(what, violations);
        }
        let factor = dss.scale.factor;
        figures(&mut report, &outcome, factor);
        report.tables.extend([streams(&outcome, factor), users(&outcome)]);
        report.plots.extend([queues(&outcome.samples), pace(&outcome.samples), queries(&outcome)]);
        report
            .notes
            .push("Derived from TPC-H and TPC-C; not comparable with their published results.".into());
        run.finish(report)
    }

    fn settings(&self, seed: u64) -> tpcc::Settings {
        let full = Scale::full(self.warehouses);
        let scale =
            Scale { items: full.items / self.shrink, customers: full.customers / self.shrink, ..full };
        tpcc::Settings {
            scale,
            clients: self.users,
            warm_up: Duration::from_secs(self.warm_up),
            duration: Duration::from_secs(self.seconds),
            transactions: None,
            fresh_rows: true,
            think: Duration::from_millis(self.think_ms),
            seed,
        }
    }
}

fn at_size(of: &Throughput, factor: f64) -> f64 {
    throughput_at_size(of.streams.len() as u32, of.seconds, factor)
}

/// The most of a queue while streams read.
fn most(samples: &[Sample], value: fn(&Sample) -> i64) -> f64 {
    samples.iter().filter(|s| s.streams).map(value).max().unwrap_or(0) as f64
}

fn figures(report: &mut Report, outcome: &Outcome, factor: f64) {
    let mut add = |name: &str, case: &str, unit: &str, better, value: f64| {
        report.figure(name, "Evenkeel", case, unit, better, &[value]);
    };
    let size = "queries/h × size";
    add("throughput × size", "without users", size, Better::Higher, at_size(&outcome.quiet, factor));
    add("throughput × size", "beside users", size, Better::Higher, at_size(&outcome.busy, factor));
    let [before, beside, after] = outcome.transactions;
    add("transactions", "before the streams", "1/s", Better::Higher, before);
    add("transactions", "beside the streams", "1/s", Better::Higher, beside);
    add("transactions", "after the streams", "1/s", Better::Higher, after);
    let alone = f64::midpoint(before, after);
    add("transactions beside streams / without", "", "", Better::Higher, beside / alone);
    add(REDO, "beside the streams", "KB", Better::Lower, most(&outcome.samples, |s| s.redo_queue_kb));
    add(
        "send queue, most",
        "beside the streams",
        "KB",
        Better::Lower,
        most(&outcome.samples, |s| s.send_queue_kb),
    );
    let rate = outcome.loaded.rows as f64 / outcome.loaded.seconds;
    add("load", "", "rows/s", Better::Higher, rate);
}

fn streams(outcome: &Outcome, factor: f64) -> Table {
    let columns = [
        "",
        "streams",
        "seconds",
        "throughput × size",
        "geometric mean s",
        "queries again",
        "refreshes again",
    ];
    let mut table = Table::new("Streams on the secondary", &columns).note(
        "Throughput is queries an hour × scale factor. Refreshes are written at the primary meanwhile.",
    );
    for (name, of) in [("without users", &outcome.quiet), ("beside users", &outcome.busy)] {
        let all = of.streams.iter().flat_map(|told| told.seconds);
        table.row([
            name.to_owned(),
            of.streams.len().to_string(),
            number(of.seconds),
            number(at_size(of, factor)),
            number(geometric_mean(all)),
            of.streams.iter().map(|told| told.retries).sum::<u64>().to_string(),
            of.retries.to_string(),
        ]);
    }
    table
}

fn users(outcome: &Outcome) -> Table {
    let mut table =
        Table::new("Users at the primary", &["", "transactions/s", "beside the mean without streams"]);
    let [before, beside, after] = outcome.transactions;
    let alone = f64::midpoint(before, after);
    for (name, rate) in [("before the streams", before), ("beside the streams", beside), ("after", after)] {
        table.row([name.to_owned(), number(rate), format!("{:.3}", rate / alone)]);
    }
    table
}

fn queues(samples: &[Sample]) -> Plot {
    let axis = samples.iter().map(|s| s.second).collect();
    let mut plot = Plot::new("Queues", "second", "KB", axis);
    let while_streams = |wanted: bool, value: fn(&Sample) -> i64| {
        samples.iter().map(move |s| if s.streams == wanted { value(s) as f64 } else { f64::NAN })
    };
    plot.add("to redo, without streams", while_streams(false, |s| s.redo_queue_kb));
    plot.add("to redo, while streams read", while_streams(true, |s| s.redo_queue_kb));
    plot.add("to send", samples.iter().map(|s| s.send_queue_kb as f64));
    plot
}

/// Transactions a second, over about a second each.
fn pace(samples: &[Sample]) -> Plot {
    let mut looks: Vec<&Sample> = Vec::new();
    for sample in samples {
        if looks.last().is_none_or(|last| sample.second - last.second >= 1.0) {
            looks.push(sample);
        }
    }
    let rate = |pair: &[&Sample]| {
        (pair[1].transactions - pair[0].transactions) as f64 / (pair[1].second - pair[0].second)
    };
    let pairs: Vec<&[&Sample]> = looks.windows(2).collect();
    let mut plot = Plot::new(
        "Transactions at the primary",
        "second",
        "1/s",
        pairs.iter().map(|p| p[1].second).collect(),
    );
    for (name, wanted) in [("without streams", false), ("while streams read", true)] {
        let values = pairs.iter().map(|p| if p[1].streams == wanted { rate(p) } else { f64::NAN });
        plot.add(name, values);
    }
    plot
}

fn queries(outcome: &Outcome) -> Plot {
    let numbers = (1..=22).map(f64::from).collect();
    let mut plot = Plot::new("Seconds of each query, mean of the streams", "query", "s", numbers);
    for (name, of) in [("without users", &outcome.quiet), ("beside users", &outcome.busy)] {
        let mean = |query: usize| {
            let all = of.streams.iter().map(|told| told.seconds[query]);
            all.sum::<f64>() / of.streams.len() as f64
        };
        plot.add(name, (0..22).map(mean));
    }
    plot
}
