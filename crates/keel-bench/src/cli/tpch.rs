//! `keel bench tpch`.

use super::target::{Opened, Target, add_ratios};
use super::tpch_secondary::Oltp;
use super::{Run, settings};
use crate::counters::Load;
use crate::report::{Better, Plot, Report, Table, median, number, papers};
use crate::target::Server;
use crate::tpcc;
use crate::tproch::{Answers, Loaded, Outcome, Place, Settings};
use anyhow::{Result, anyhow, ensure};
use clap::Args;
use keel_workload::tproch::metrics::geometric_mean;
use keel_workload::tproch::queries::QUESTIONS;
use keel_workload::tproch::refresh::PAIRS_MAX;
use keel_workload::tproch::{FACTOR_MAX, FACTOR_MIN, Scale};
use serde::Serialize;

/// TPROC-H: 22 decision-support queries, one stream and then several, with refreshes; derived from TPC-H
///
/// Not comparable with published results. The power test is one stream with a refresh before and after it, the throughput test
/// several streams at once with refreshes beside them; both are run in one database, then in several at once. Row counts and sums
/// are checked afterwards, and that streams with the same parameters are told the same. With two targets, both are loaded with
/// the same rows, then asked the same and compared.
#[derive(Args, Serialize)]
pub struct Tpch {
    /// Scale factor; fractions are allowed. 1 is 8.7 million rows
    #[arg(long, default_value_t = 1.0, value_parser = factor)]
    scale: f64,
    /// Streams of the throughput test in each database [default: what the specification asks for at this scale]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    streams: Option<u32>,
    /// Databases: the tests run in one, then in two at once, up to so many
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    databases: u32,
    /// Random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Connections that load
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    loaders: u32,
    /// Keep the rows of an earlier run with the same scale and seed (with --server)
    #[arg(long, requires = "server")]
    no_build: bool,
    /// Streams read a secondary of a group of two while TPROC-C users work at the primary
    #[arg(long, conflicts_with_all = ["on", "server", "databases", "repeat"])]
    secondary: bool,
    #[command(flatten)]
    #[serde(flatten)]
    oltp: Oltp,
    #[command(flatten)]
    #[serde(flatten)]
    target: Target,
}

/// A scale factor.
pub(super) fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (FACTOR_MIN..=FACTOR_MAX).contains(&factor) => Ok(factor),
        _ => Err(format!("a number from {FACTOR_MIN} to {FACTOR_MAX} is needed")),
    }
}

const COMPOSITE: &str = "queries/h × size";
const POWER: &str = "power × size";
const THROUGHPUT: &str = "throughput × size";
const MEAN: &str = "geometric mean of the power test";
const LOAD: &str = "load";
const INDEXES: &str = "indexes, keys and statistics";
const PROCESSORS: &str = "server's processors in the throughput test";
const QUERY: &str = "query, power test";

impl Tpch {
    /// Runs it.
    pub(super) fn run(mut self, run: &Run<'_>) -> Result<()> {
        let names = self.target.databases_or("tproch", self.databases);
        let scale = Scale { factor: self.scale };
        let streams = *self.streams.get_or_insert(scale.streams_min());
        let asked = Settings { scale, seed: self.seed, streams, loaders: self.loaders as usize };
        self.enough_orders(asked)?;
        if self.secondary {
            let report = run.report("tpch", "TPROC-H on a secondary, TPROC-C at its primary", &self)?;
            return self.oltp.run(run, asked, &self.target.options(), report);
        }
        let mut report = Report::new("tpch", "TPROC-H, derived from TPC-H", settings(&self)?);
        let mut sides: Vec<Side> = Vec::new();
        for _ in 0..self.target.repeat {
            let mut answers = Answers::new();
            let mut opened = Vec::new();
            for (i, one) in self.target.all().into_iter().enumerate() {
                let target = self.target.start(run, one, &mut report)?;
                if sides.len() <= i {
                    sides.push(Side::new(target.server.name(), self.databases as usize));
                }
                let places = sides[i].build(&self, run, &target, &names, asked)?;
                opened.push((target, places));
            }
            for (side, (_, places)) in sides.iter_mut().zip(&opened) {
                side.agree(run, places, &mut answers, &mut report)?;
            }
            for databases in 1..=self.databases as usize {
                for (side, (target, places)) in sides.iter_mut().zip(&opened) {
                    side.measure(run, &*target.server, &places[..databases])?;
                }
            }
            for (side, (_, places)) in sides.iter().zip(&opened) {
                side.check(run, places, &mut report)?;
            }
        }
        self.report(run, report, &sides)
    }

    /// Each pair of refreshes deletes orders that nobody has deleted before.
    fn enough_orders(&self, asked: Settings) -> Result<()> {
        // On a secondary the throughput test is run twice, and no power test.
        let pairs =
            i64::from(self.databases) * (1 + i64::from(asked.streams)).max(2 * i64::from(asked.streams));
        let there = PAIRS_MAX.min(asked.scale.orders() / asked.scale.refreshed());
        ensure!(
            pairs <= there,
            "{} databases with {} streams need {pairs} refreshes, and there are orders for {there}",
            self.databases,
            asked.streams
        );
        Ok(())
    }

    fn report(&self, run: &Run<'_>, mut report: Report, sides: &[Side]) -> Result<()> {
        for side in sides {
            side.figures(self, &mut report);
        }
        let ratios =
            [(COMPOSITE, None), (POWER, None), (THROUGHPUT, None), (MEAN, None), (LOAD, None), (QUERY, None)];
        add_ratios(&mut report, &ratios);
        report.tables.extend([tests(self, sides), queries(sides)]);
        let ours = [0, 2].map(|at| {
            let reached = sides.first().filter(|_| at < self.databases as usize);
            reached.map_or_else(String::new, |side| number(side.total(self.scale, at, 2)))
        });
        report.tables.push(papers::beside(&papers::DECISION_SUPPORT, &ours));
        report.plots.push(by_query(sides));
        if self.databases > 1 {
            report.plots.push(by_databases(self, sides));
        }
        report.notes.push(
            "Derived from TPC-H and not comparable with its published results: nothing is audited or priced, and there are differences."
                .into(),
        );
        run.finish(report)
    }
}

/// All that was measured of one target.
struct Side {
    name: String,
    loads: Vec<Loaded>,
    /// By number of databases less one, then by repetition, then by database.
    steps: Vec<Vec<Vec<Outcome>>>,
    /// What the server says it did in the throughput tests, by number of databases less one, then by repetition.
    did: Vec<Vec<Load>>,
}

impl Side {
    fn new(name: String, databases: usize) -> Side {
        Side { name, loads: Vec::new(), steps: vec![Vec::new(); databases], did: vec![Vec::new(); databases] }
    }

    fn build(
        &mut self,
        bench: &Tpch,
        run: &Run<'_>,
        target: &Opened,
        names: &[String],
        asked: Settings,
    ) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        for name in names {
            let server = target.server.database(name)?;
            if bench.no_build {
                places.push(Place::found(server, asked)?);
                continue;
            }
            let (place, loaded) = Place::build(server, asked, &run.progress)?;
            self.loads.push(loaded);
            places.push(place);
        }
        Ok(places)
    }

    fn agree(
        &self,
        run: &Run<'_>,
        places: &[Place],
        answers: &mut Answers,
        report: &mut Report,
    ) -> Result<()> {
        for place in places {
            run.progress.say(&format!("{}: the same questions on several connections", self.name));
            let what =
                "streams with the same parameters are told the same, in every database and by every server";
            report.check(what, &place.agree(answers)?);
        }
        Ok(())
    }

    /// Both tests in all these databases at once: in each the power test, and when all are through, the throughput test.
    fn measure(&mut self, run: &Run<'_>, server: &dyn Server, places: &[Place]) -> Result<()> {
        let powers = at_once(places, |place| place.power(&run.progress))?;
        let before = tpcc::look(server)?;
        let throughputs = at_once(places, |place| place.throughput(&run.progress))?;
        if let Some((before, after)) = before.zip(tpcc::look(server)?) {
            self.did[places.len() - 1].push(after.since(&before)?);
        }
        let both = powers.into_iter().zip(throughputs);
        let outcomes = both.map(|(power, throughput)| Outcome { power, throughput }).collect();
        self.steps[places.len() - 1].push(outcomes);
        Ok(())
    }

    fn check(&self, run: &Run<'_>, places: &[Place], report: &mut Report) -> Result<()> {
        for place in places {
            run.progress.say(&format!("{}: checking", self.name));
            let what = "every table has the rows and the sum that loading and refreshes must leave, and rows belong together";
            report.check(what, &place.check()?);
        }
        Ok(())
    }

    /// A figure of a step, of all databases together, for each repetition.
    fn samples(&self, factor: f64, step: usize, which: usize) -> Vec<f64> {
        let total = |outcomes: &Vec<Outcome>| outcomes.iter().map(|o| o.at_size(factor)[which]).sum();
        self.steps[step].iter().map(total).collect()
    }

    fn total(&self, factor: f64, step: usize, which: usize) -> f64 {
        median(&self.samples(factor, step, which))
    }

    /// Seconds of a query in the power test with one database.
    fn query(&self, query: usize) -> Vec<f64> {
        self.steps[0].iter().flatten().map(|outcome| outcome.power.queries[query]).collect()
    }

    /// Its mean seconds in the streams of the throughput test with one database.
    fn query_in_streams(&self, query: usize) -> f64 {
        let all = self.steps[0].iter().flatten().flat_map(|outcome| &outcome.throughput.streams);
        let seconds: Vec<f64> = all.map(|told| told.seconds[query]).collect();
        seconds.iter().sum::<f64>() / seconds.len() as f64
    }

    fn figures(&self, bench: &Tpch, report: &mut Report) {
        let mut add = |name: &str, case: &str, unit: &str, better, samples: &[f64]| {
            report.figure(name, &self.name, case, unit, better, samples);
        };
        let of_loads = |value: fn(&Loaded) -> f64| self.loads.iter().map(value).collect::<Vec<f64>>();
        if !self.loads.is_empty() {
            add(LOAD, "", "rows/s", Better::Higher, &of_loads(|l| l.rows as f64 / l.seconds));
            add(INDEXES, "", "s", Better::Lower, &of_loads(|l| l.index_seconds));
        }
        for step in 0..self.steps.len() {
            let case = format!("{} databases", step + 1);
            for (which, name) in [POWER, THROUGHPUT, COMPOSITE].into_iter().enumerate() {
                add(name, &case, "queries/h × size", Better::Higher, &self.samples(bench.scale, step, which));
            }
            let means: Vec<f64> =
                self.steps[step].iter().flatten().map(|o| o.power.geometric_mean()).collect();
            add(MEAN, &case, "s", Better::Lower, &means);
            let each = |load: &Load| load.processors;
            add(
                PROCESSORS,
                &case,
                "cores",
                Better::Lower,
                &self.did[step].iter().map(each).collect::<Vec<_>>(),
            );
        }
        self.figures_of_queries(report);
        for (step, did) in self.did.iter().enumerate() {
            if let Some(load) = did.last() {
                load.figures(report, &self.name, &format!("{} databases", step + 1));
            }
        }
    }

    fn figures_of_queries(&self, report: &mut Report) {
        let mut add = |name: &str, case: &str, unit: &str, better, samples: &[f64]| {
            report.figure(name, &self.name, case, unit, better, samples);
        };
        for (query, question) in QUESTIONS.iter().enumerate() {
            let case = format!("{:02} {}", query + 1, question.name);
            add(QUERY, &case, "s", Better::Lower, &self.query(query));
        }
        for (which, name) in ["refresh that inserts", "refresh that deletes"].into_iter().enumerate() {
            let seconds: Vec<f64> =
                self.steps[0].iter().flatten().map(|o| o.power.refreshes[which]).collect();
            add(name, "", "s", Better::Lower, &seconds);
        }
    }
}

/// Does the same with all of them at once.
fn at_once<T: Send>(places: &[Place], what: impl Fn(&Place) -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let all: Vec<_> = places.iter().map(|place| scope.spawn(|| what(place))).collect();
        all.into_iter().map(|one| one.join().map_err(|_| anyhow!("a test panicked"))?).collect()
    })
}

fn tests(bench: &Tpch, sides: &[Side]) -> Table {
    let columns = [
        "",
        "databases",
        POWER,
        THROUGHPUT,
        COMPOSITE,
        "of one, per database",
        "geometric mean s",
        "streams' seconds",
        "server's processors",
        "retries",
    ];
    let mut table = Table::new("Tests", &columns).note(
        "Queries an hour × scale factor, of all databases together; medians over the runs. Power: one stream and two refreshes; throughput: \
         the streams with refreshes beside them; the third is their geometric mean. Processors: cores that the server had in the throughput \
         test, where it says so; what it lacks of the machine's, others had.",
    );
    for side in sides {
        let alone = side.total(bench.scale, 0, 2);
        for step in 0..side.steps.len() {
            let all = || side.steps[step].iter().flatten();
            let total = side.total(bench.scale, step, 2);
            let seconds: Vec<f64> = all().map(|o| o.throughput.seconds).collect();
            let means = all().map(|o| o.power.geometric_mean());
            let retries: u64 = all()
                .map(|o| o.throughput.retries + o.throughput.streams.iter().map(|t| t.retries).sum::<u64>())
                .sum();
            table.row([
                side.name.clone(),
                (step + 1).to_string(),
                number(side.total(bench.scale, step, 0)),
                number(side.total(bench.scale, step, 1)),
                number(total),
                format!("{:.3}", total / alone / (step + 1) as f64),
                number(geometric_mean(means)),
                number(median(&seconds)),
                number(median(&side.did[step].iter().map(|load| load.processors).collect::<Vec<_>>())),
                retries.to_string(),
            ]);
        }
    }
    table
}

fn queries(sides: &[Side]) -> Table {
    let mut columns = vec!["".to_owned(), "query".to_owned()];
    for side in sides {
        columns.extend([format!("{}: power test s", side.name), "streams, mean s".to_owned()]);
    }
    if let [first, second] = sides {
        columns.push(format!("{} / {}", first.name, second.name));
    }
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = Table::new("Queries, with one database", &names);
    for (query, question) in QUESTIONS.iter().enumerate() {
        let mut row = vec![question.name.to_owned(), (query + 1).to_string()];
        for side in sides {
            row.extend([number(median(&side.query(query))), number(side.query_in_streams(query))]);
        }
        if let [first, second] = sides {
            let ratio = median(&first.query(query)) / median(&second.query(query));
            row.push(format!("{ratio:.2}"));
        }
        table.row(row);
    }
    table
}

fn by_query(sides: &[Side]) -> Plot {
    let numbers = (1..=QUESTIONS.len()).map(|n| n as f64).collect();
    let mut plot = Plot::new("Seconds of each query", "query", "s", numbers);
    for side in sides {
        let all = 0..QUESTIONS.len();
        plot.add(&format!("{}, power test", side.name), all.clone().map(|query| median(&side.query(query))));
        plot.add(&format!("{}, streams", side.name), all.map(|query| side.query_in_streams(query)));
    }
    plot
}

fn by_databases(bench: &Tpch, sides: &[Side]) -> Plot {
    let steps = bench.databases as usize;
    let axis = (1..=steps).map(|n| n as f64).collect();
    let mut plot = Plot::new("Queries by databases", "databases", COMPOSITE, axis);
    for side in sides {
        plot.add(&side.name, (0..steps).map(|step| side.total(bench.scale, step, 2)));
    }
    plot
}
