//! `keel bench tpcc`.

use super::target::{Target, add_ratios};
use super::{Run, Size, settings};
use crate::report::{Better, Plot, Report, Table, count, number, papers};
use crate::target::Server;
use crate::tpcc::{self, Outcome, Settings};
use anyhow::Result;
use clap::Args;
use keel_workload::tpcc::run::{KINDS, Ledger};
use serde::Serialize;
use std::time::Duration;

/// TPROC-C through stored procedures: load, run with users added step by step, check
///
/// Five transactions in the specification's mix. After the runs the specification's consistency conditions and the
/// clients' ledger are checked. With two targets, both are loaded, then run in turn and compared.
#[derive(Args, Serialize)]
pub struct Tpcc {
    #[command(flatten)]
    #[serde(flatten)]
    size: Size,
    /// Numbers of users, one step each, on the same rows
    #[arg(long, value_delimiter = ',', default_values_t = [8])]
    clients: Vec<u64>,
    /// Mean time a user thinks between an answer and the next transaction, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0)]
    think_ms: u64,
    /// Measured seconds of each step
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Seconds before measuring each step
    #[arg(long, default_value_t = 5)]
    warm_up: u64,
    /// Instead of for a time, run this many transactions in each step; without warm-up
    #[arg(long, value_name = "N")]
    transactions: Option<u64>,
    /// Keep the rows of an earlier run (with --server)
    #[arg(long, requires = "server")]
    no_build: bool,
    /// Rounds on the same rows; in each, all steps of one target follow those of the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Connections that load
    #[arg(long, value_name = "N", default_value_t = 2)]
    loaders: usize,
    #[command(flatten)]
    #[serde(flatten)]
    target: Target,
}

const NOPM: &str = "new orders per minute";
const LOAD: &str = "load";
const P50: &str = "new order, p50";

impl Tpcc {
    /// Runs it.
    pub(super) fn run(self, run: &Run<'_>) -> Result<()> {
        let mut report = Report::new("tpcc", "TPROC-C, users step by step", settings(&self)?);
        let mut sides: Vec<Side> = Vec::new();
        for _ in 0..self.target.repeat {
            let mut opened = Vec::new();
            for (i, one) in self.target.all().into_iter().enumerate() {
                let target = self.target.start(run, one, &mut report)?;
                if sides.len() <= i {
                    sides.push(Side::new(target.server.name(), self.clients.len()));
                }
                sides[i].load(&self, run, &*target.server)?;
                opened.push(target);
            }
            for round in 0..self.rounds {
                for (side, target) in sides.iter_mut().zip(&opened) {
                    side.measure(&self, run, &*target.server, round, &mut report)?;
                }
            }
        }
        for side in &sides {
            side.figures(&self, &mut report);
        }
        add_ratios(&mut report, &[(NOPM, Some(4.0)), (P50, None), (LOAD, Some(2.0))]);
        let best = number(sides.first().map_or(f64::NAN, Side::best));
        let ours = if self.think_ms == 0 { [best, String::new()] } else { [String::new(), best] };
        report.tables.extend([steps(&self, &sides), transactions(&self, &sides)]);
        report.tables.push(papers::beside(&papers::STEPPED_USERS, &ours));
        report.plots.extend(by_users(&self, &sides));
        report.plots.extend(over_time(&self, &sides));
        run.finish(report)
    }

    fn settings(&self, clients: u64, slice: usize) -> Settings {
        Settings {
            transactions: self.transactions,
            fresh_rows: !self.no_build,
            think: Duration::from_millis(self.think_ms),
            seed: self.size.seed ^ (slice as u64) << 40,
            ..self.size.settings(clients, self.warm_up, self.seconds)
        }
    }
}

/// All that was measured of one target.
struct Side {
    name: String,
    /// Rows a second of each load.
    loads: Vec<f64>,
    /// What clients were told since the last load.
    told: Vec<Ledger>,
    /// By step, then by round.
    steps: Vec<Vec<Outcome>>,
}

impl Side {
    fn new(name: String, steps: usize) -> Side {
        Side { name, loads: Vec::new(), told: Vec::new(), steps: (0..steps).map(|_| Vec::new()).collect() }
    }

    fn load(&mut self, bench: &Tpcc, run: &Run<'_>, server: &dyn Server) -> Result<()> {
        self.told.clear();
        if !bench.no_build {
            run.progress.say(&format!("{}: loading {} warehouses", self.name, bench.size.warehouses));
            let (rows, took) = tpcc::build(server, bench.settings(0, 0), bench.loaders)?;
            self.loads.push(rows as f64 / took);
        }
        Ok(())
    }

    fn measure(
        &mut self,
        bench: &Tpcc,
        run: &Run<'_>,
        server: &dyn Server,
        round: u32,
        report: &mut Report,
    ) -> Result<()> {
        let what = if bench.no_build {
            "consistency conditions 1 to 4"
        } else {
            "consistency conditions 1 to 4, and the clients' ledger: what was acknowledged is there, and nothing else"
        };
        for (step, clients) in bench.clients.iter().enumerate() {
            let settings = bench.settings(*clients, step + round as usize * bench.clients.len());
            let outcome = tpcc::run_after(server, settings, &mut self.told, &run.progress)?;
            report.check(what, &outcome.violations);
            self.steps[step].push(outcome);
        }
        Ok(())
    }

    fn of(&self, step: usize, value: impl Fn(&Outcome) -> f64) -> Vec<f64> {
        self.steps[step].iter().map(value).collect()
    }

    fn median(&self, step: usize, value: impl Fn(&Outcome) -> f64) -> f64 {
        crate::report::median(&self.of(step, value))
    }

    /// The most transactions a second of all steps.
    fn best(&self) -> f64 {
        (0..self.steps.len()).map(|step| self.median(step, Outcome::per_second)).fold(0.0, f64::max)
    }

    fn figures(&self, bench: &Tpcc, report: &mut Report) {
        if !self.loads.is_empty() {
            report.figure(LOAD, &self.name, "", "rows/s", Better::Higher, &self.loads);
        }
        for (step, clients) in bench.clients.iter().enumerate() {
            let case = format!("{clients} users");
            let mut add = |name: &str, unit: &str, better: Better, value: &dyn Fn(&Outcome) -> f64| {
                report.figure(name, &self.name, &case, unit, better, &self.of(step, value));
            };
            add(NOPM, "1/min", Better::Higher, &Outcome::nopm);
            add("transactions", "1/s", Better::Higher, &Outcome::per_second);
            for (at, kind) in KINDS.iter().enumerate() {
                for (quantile, name) in [(0.5, "p50"), (0.99, "p99")] {
                    let latency = move |o: &Outcome| o.totals.latency[at].quantile_us(quantile) as f64 / 1e3;
                    add(&format!("{}, {name}", kind.name()), "ms", Better::Lower, &latency);
                }
            }
            if self.steps[step].iter().all(|o| o.server_us() > 0.0) {
                add("processor time of the server", "us/transaction", Better::Lower, &Outcome::server_us);
            }
            if bench.transactions.is_none() {
                add("slowest second / mean", "", Better::Higher, &Outcome::steadiness);
            }
            if let Some(load) = self.steps[step].last().and_then(|outcome| outcome.load.as_ref()) {
                load.figures(report, &self.name, &case);
            }
        }
    }
}

/// Laid out as the consolidation guide's stepped test: a line for each step.
fn steps(bench: &Tpcc, sides: &[Side]) -> Table {
    let columns = [
        "",
        "users",
        "transactions/s",
        "new orders/min",
        "p50 ms",
        "p99 ms",
        "server us/transaction",
        "retries",
        "slowest second / mean",
    ];
    let mut table = Table::new("Users step by step", &columns)
        .note("Medians over the runs. Latency is of all five transactions together, as the client sees it.");
    for side in sides {
        for (step, clients) in bench.clients.iter().enumerate() {
            let f = |value: &dyn Fn(&Outcome) -> f64| number(side.median(step, value));
            let known =
                |there: bool, value: &dyn Fn(&Outcome) -> f64| if there { f(value) } else { "–".into() };
            table.row([
                side.name.clone(),
                clients.to_string(),
                f(&Outcome::per_second),
                f(&Outcome::nopm),
                f(&|o| o.latency().quantile_us(0.5) as f64 / 1e3),
                f(&|o| o.latency().quantile_us(0.99) as f64 / 1e3),
                known(side.median(step, Outcome::server_us) > 0.0, &Outcome::server_us),
                f(&|o| o.totals.retries as f64),
                known(bench.transactions.is_none(), &Outcome::steadiness),
            ]);
        }
    }
    table
}

fn transactions(bench: &Tpcc, sides: &[Side]) -> Table {
    let columns = ["", "users", "transaction", "count", "mean ms", "p50 ms", "p99 ms", "max ms"];
    let mut table = Table::new("Transactions", &columns).note("Of the last run of each.");
    for side in sides {
        for (step, clients) in bench.clients.iter().enumerate() {
            let Some(outcome) = side.steps[step].last() else { continue };
            for (kind, latency) in KINDS.iter().zip(&outcome.totals.latency) {
                let ms = |us: u64| number(us as f64 / 1e3);
                table.row([
                    side.name.clone(),
                    clients.to_string(),
                    kind.name().to_owned(),
                    count(latency.count()),
                    ms(latency.mean_us()),
                    ms(latency.quantile_us(0.5)),
                    ms(latency.quantile_us(0.99)),
                    ms(latency.max_us()),
                ]);
            }
        }
    }
    table
}

fn by_users(bench: &Tpcc, sides: &[Side]) -> Vec<Plot> {
    if bench.clients.len() < 2 {
        return Vec::new();
    }
    let users: Vec<f64> = bench.clients.iter().map(|n| *n as f64).collect();
    let plot = |title: &str, unit: &str, value: &dyn Fn(&Outcome) -> f64| {
        let mut plot = Plot::new(title, "users", unit, users.clone());
        for side in sides {
            plot.add(&side.name, (0..users.len()).map(|step| side.median(step, value)));
        }
        plot
    };
    vec![
        plot("Throughput by users", "transactions/s", &Outcome::per_second),
        plot("Latency by users, p99", "ms", &|o| o.latency().quantile_us(0.99) as f64 / 1e3),
    ]
}

/// The last run of each, second by second.
fn over_time(bench: &Tpcc, sides: &[Side]) -> Option<Plot> {
    if bench.transactions.is_some() || bench.seconds < 2 {
        return None;
    }
    let seconds = (1..=bench.seconds).map(|s| s as f64).collect();
    let mut plot = Plot::new("New orders over time", "second", "new orders/s", seconds);
    for side in sides {
        for (step, clients) in bench.clients.iter().enumerate() {
            let counts = side.steps[step].last().into_iter().flat_map(|o| &o.new_orders);
            plot.add(&format!("{}, {clients} users", side.name), counts.map(|n| *n as f64));
        }
    }
    Some(plot)
}
