//! What synchronous secondaries cost: throughput and processor time per transaction stand-alone, with one and with two, at
//! several numbers of clients, in one run.
//!
//! There are three primaries, each with its secondaries and its rows: one has none, one has one, one has two. They are made
//! once and then measured by turns, in slices of seconds; who is not measured does nothing and costs nothing. Ratios are
//! between slices of one round, which lie beside each other: on a machine whose speed drifts, or that others share, a ratio
//! between measurements that are minutes apart says more about the machine. Rounds begin with another primary each time.
//! All begin behind a checkpoint: making a copy takes one, and reading rows costs more behind it than before.
//!
//! The primary that is measured has the machine's first core to itself; its secondaries and the driver share the others.
//! What a figure is worth is shown beside it ([`Limit`]): where the secondaries' and the driver's cores were the limit, the
//! throughput says little about the primary. What the primary does in a second of its own processor time does not depend on
//! that, nor does processor time per transaction.

use crate::fleet::{Fleet, Mode, number};
use crate::process::{cores, on_core, processor_time, stay_from_core, waits};
use crate::progress::Progress;
use crate::report::median;
use crate::target::Server;
use crate::tpcc;
use anyhow::{Context, Result, anyhow};
use keel_workload::hist::Histogram;
use keel_workload::tpcc::run::{Ledger, Terminal};
use keel_workload::{Connection, Dialect};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Workload {
    /// TPROC-C's mix: half of the work is reading.
    Tpcc,
    /// One row of a hundred bytes by a prepared statement: as little work per commit as SQL allows.
    Insert,
}

/// How to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Data, seed, warm-up and measured time; its number of clients is not used.
    pub load: tpcc::Settings,
    /// Numbers of clients.
    pub clients: Vec<u64>,
    /// What they do.
    pub workload: Workload,
    /// Rounds over all of it.
    pub rounds: usize,
}

/// One server with its secondaries.
pub trait Side: Server {
    /// Adds one synchronous secondary and waits until commits wait for it.
    ///
    /// # Errors
    /// What the servers say.
    fn add_secondary(&mut self) -> Result<()>;
    /// Processes of the primary, and of each secondary there is.
    ///
    /// # Errors
    /// When one is gone.
    fn processes(&self) -> Result<Vec<Vec<u32>>>;
}

/// Evenkeel's side.
pub struct Keels {
    fleet: Fleet,
    secondaries: usize,
}

impl Keels {
    /// A primary on its core, and instances for so many secondaries, below `dir`.
    ///
    /// # Errors
    /// When one does not start.
    pub fn start(binary: &Path, dir: &Path, secondaries: usize, options: &[&str]) -> Result<Keels> {
        let mut launches = Fleet::launches(binary, dir, 1 + secondaries, options)?;
        launches[0].before = on_core(0);
        Ok(Keels { fleet: Fleet::start(launches, "tpcc")?, secondaries: 0 })
    }
}

impl Server for Keels {
    fn name(&self) -> String {
        self.fleet.name()
    }

    fn connect(&self) -> Result<Box<dyn Connection + Send>> {
        self.fleet.connect()
    }
}

impl Side for Keels {
    fn add_secondary(&mut self) -> Result<()> {
        if self.secondaries == 0 {
            self.fleet.create_group()?;
        }
        self.secondaries += 1;
        self.fleet.add_replica(self.secondaries, Mode::Synchronous)?;
        self.fleet.wait_settled(0, self.secondaries, Mode::Synchronous)
    }

    fn processes(&self) -> Result<Vec<Vec<u32>>> {
        let pids = self.fleet.pids()?;
        Ok(pids.into_iter().take(1 + self.secondaries).map(|pid| vec![pid]).collect())
    }
}

/// One measurement.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Transactions a second.
    pub per_second: f64,
    /// Processor time per transaction: the primary's, and of all secondaries together; microseconds.
    pub primary_us: f64,
    /// See `primary_us`.
    pub secondaries_us: f64,
    /// The driver's.
    pub driver_us: f64,
    /// Times that a thread of the primary waited, per transaction.
    pub primary_waits: f64,
    /// The same of all secondaries' threads.
    pub secondaries_waits: f64,
    /// The primary's processor time as a share of one core's.
    pub primary_busy: f64,
    /// The secondaries' and the driver's, as a share of all other cores'.
    pub others_busy: f64,
    /// Latency, microseconds.
    pub p50_us: u64,
    /// Latency, microseconds.
    pub p99_us: u64,
}

/// Cores count as the limit when they were at least this busy: a machine's other work takes the rest.
pub const BUSY: f64 = 0.9;

/// What kept a measurement from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The primary's core.
    Primary,
    /// The cores of secondaries and driver.
    Others,
    /// No core: each client waited for its answers, and there were too few of them to keep anybody busy.
    Waiting,
}

impl Limit {
    /// By how busy the primary's core and the others were.
    #[must_use]
    pub fn of(primary_busy: f64, others_busy: f64) -> Limit {
        match (primary_busy >= BUSY, others_busy >= BUSY) {
            (true, _) => Limit::Primary,
            (false, true) => Limit::Others,
            (false, false) => Limit::Waiting,
        }
    }

    /// In the report.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Limit::Primary => "primary's core",
            Limit::Others => "secondaries' and driver's core",
            Limit::Waiting => "waiting for answers",
        }
    }
}

impl Figure {
    /// Transactions in a second of the primary's processor time.
    #[must_use]
    pub fn per_primary_second(&self) -> f64 {
        1e6 / self.primary_us
    }
}

/// All measurements: by number of secondaries, then by number of clients.
pub struct Outcome {
    /// Numbers of clients.
    pub clients: Vec<u64>,
    /// For each round, the stages.
    pub rounds: Vec<Vec<Vec<Figure>>>,
    /// What the primaries lack at the end of what clients were told, and what breaks consistency there; empty is well.
    pub violations: Vec<String>,
}

/// What each stage is; its place is its number of secondaries.
pub const STAGES: [&str; 3] = ["stand-alone", "one secondary", "two secondaries"];

/// One primary with what its clients were told.
struct Place {
    side: Box<dyn Side>,
    next: AtomicI64,
    told: Mutex<Vec<Told>>,
}

/// Makes all primaries with their rows and secondaries, then measures them by turns.
///
/// # Errors
/// What the servers say.
pub fn run(
    make: &mut dyn FnMut(usize) -> Result<Box<dyn Side>>,
    settings: &Settings,
    progress: &Progress,
) -> Result<Outcome> {
    stay_from_core(1)?;
    let mut places = Vec::new();
    for (secondaries, name) in STAGES.iter().enumerate() {
        let mut side = make(secondaries)?;
        progress.say(&format!("{}, {name}: loading", side.name()));
        match settings.workload {
            Workload::Tpcc => drop(tpcc::build(&*side, settings.load, 2)?),
            Workload::Insert => side.connect()?.execute(
                "CREATE TABLE cost (id int NOT NULL PRIMARY KEY, client int NOT NULL, filler varchar(100) NOT NULL)",
            )?,
        }
        for _ in 0..secondaries {
            side.add_secondary()?;
        }
        // A copy is made from a checkpoint, after which rows are read from the tree instead of from memory, as they are
        // sooner or later on every server: else the stand-alone one alone is spared that.
        side.connect()?.execute("CHECKPOINT")?;
        places.push(Place { side, next: AtomicI64::new(1), told: Mutex::default() });
    }
    let mut rounds = Vec::new();
    for round in 0..settings.rounds {
        let mut stages: Vec<Vec<Figure>> = vec![Vec::new(); STAGES.len()];
        for (c, clients) in settings.clients.iter().enumerate() {
            for turn in 0..STAGES.len() {
                let stage = (turn + round + c) % STAGES.len();
                let (place, name) = (&places[stage], STAGES[stage]);
                let what = format!(
                    "{}: round {} of {}, {name}, {clients} clients",
                    place.side.name(),
                    round + 1,
                    settings.rounds
                );
                let figure = measure(place, settings, *clients, &|time| progress.wait(&what, time));
                stages[stage].push(figure.context(what.clone())?);
            }
        }
        rounds.push(stages);
    }
    let mut violations = Vec::new();
    for (place, name) in places.into_iter().zip(STAGES) {
        let told = place.told.into_inner().unwrap_or_else(PoisonError::into_inner);
        let wrong = check(&mut *place.side.connect()?, settings, told)?;
        violations.extend(wrong.into_iter().map(|text| format!("{name}: {text}")));
    }
    Ok(Outcome { clients: settings.clients.clone(), rounds, violations })
}

/// What one client does again and again.
enum Client {
    Tpcc(Box<Terminal>),
    /// The statement's handle, the client's number, and rows acknowledged.
    Insert(u64, i64, i64),
}

/// What a client was told.
enum Told {
    Tpcc(Box<Ledger>),
    Inserted(i64),
}

fn check(connection: &mut dyn Connection, settings: &Settings, told: Vec<Told>) -> Result<Vec<String>> {
    let (mut ledgers, mut inserted) = (Vec::new(), 0);
    for told in told {
        match told {
            Told::Tpcc(ledger) => ledgers.push(*ledger),
            Told::Inserted(rows) => inserted += rows,
        }
    }
    match settings.workload {
        Workload::Tpcc => tpcc::check_copy(connection, &ledgers, settings.load),
        Workload::Insert => {
            let there = number(connection, "SELECT COUNT(*) FROM cost")?.unwrap_or(0);
            let wrong = there != inserted;
            Ok(wrong
                .then(|| format!("{there} rows are there, {inserted} were acknowledged"))
                .into_iter()
                .collect())
        }
    }
}

impl Client {
    fn new(settings: &Settings, connection: &mut dyn Connection, n: u64, seed: u64) -> Result<Client> {
        Ok(match settings.workload {
            Workload::Tpcc => Client::Tpcc(Box::new(Terminal::new(n, settings.load.scale, seed))),
            Workload::Insert => {
                let places = match connection.dialect() {
                    Dialect::TransactSql => "@p1, @p2",
                    Dialect::Postgres => "$1, $2",
                };
                let filler = "a hundred bytes ".repeat(6);
                let sql = format!("INSERT INTO cost VALUES ({places}, '{filler}')");
                Client::Insert(connection.prepare(&sql, 2)?, n as i64, 0)
            }
        })
    }

    fn step(&mut self, connection: &mut dyn Connection, next: &AtomicI64) -> Result<()> {
        match self {
            Client::Tpcc(terminal) => drop(terminal.step(connection)?),
            Client::Insert(handle, n, acknowledged) => {
                drop(connection.run(*handle, &[next.fetch_add(1, Ordering::Relaxed), *n])?);
                *acknowledged += 1;
            }
        }
        Ok(())
    }

    fn told(self) -> Told {
        match self {
            Client::Tpcc(terminal) => Told::Tpcc(Box::new(terminal.ledger)),
            Client::Insert(_, _, acknowledged) => Told::Inserted(acknowledged),
        }
    }
}

/// Processor time and waits so far.
struct Used {
    primary: Duration,
    secondaries: Duration,
    driver: Duration,
    waits: u64,
    secondaries_waits: u64,
}

fn used(side: &dyn Side) -> Result<Used> {
    let processes = side.processes()?;
    // A server of many processes ends some now and then; what they used is not seen any more.
    let total = |pids: &[u32]| pids.iter().filter_map(|pid| processor_time(*pid).ok()).sum::<Duration>();
    let (primary, secondaries) = processes.split_first().context("there is a primary")?;
    Ok(Used {
        primary: total(primary),
        secondaries: secondaries.iter().map(|pids| total(pids)).sum(),
        driver: processor_time(std::process::id())?,
        waits: primary.iter().map(|pid| waits(*pid)).sum(),
        secondaries_waits: secondaries.iter().flatten().map(|pid| waits(*pid)).sum(),
    })
}

fn measure(place: &Place, settings: &Settings, clients: u64, wait: &dyn Fn(Duration)) -> Result<Figure> {
    let (side, next, told) = (&*place.side, &place.next, &place.told);
    let (measuring, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let seed = settings.load.seed ^ (next.fetch_add(1, Ordering::Relaxed) as u64) << 8;
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..clients)
            .map(|n| {
                let (measuring, stop) = (&measuring, &stop);
                scope.spawn(move || -> Result<Histogram> {
                    let mut connection = side.connect()?;
                    let mut client = Client::new(settings, &mut *connection, n, seed)?;
                    let mut latency = Histogram::default();
                    while !stop.load(Ordering::Relaxed) {
                        let started = Instant::now();
                        client.step(&mut *connection, next)?;
                        if measuring.load(Ordering::Relaxed) {
                            latency.record(started.elapsed().as_micros() as u64);
                        }
                    }
                    told.lock().unwrap_or_else(PoisonError::into_inner).push(client.told());
                    Ok(latency)
                })
            })
            .collect();
        wait(settings.load.warm_up);
        let before = used(side)?;
        let began = Instant::now();
        measuring.store(true, Ordering::Relaxed);
        wait(settings.load.duration);
        measuring.store(false, Ordering::Relaxed);
        let seconds = began.elapsed().as_secs_f64();
        let after = used(side)?;
        stop.store(true, Ordering::Relaxed);
        let mut latency = Histogram::default();
        for handle in handles {
            latency.merge(&handle.join().map_err(|_| anyhow!("a client panicked"))??);
        }
        let done = latency.count().max(1) as f64;
        let us = |from: Duration, to: Duration| to.saturating_sub(from).as_micros() as f64 / done;
        Ok(Figure {
            per_second: latency.count() as f64 / seconds,
            primary_us: us(before.primary, after.primary),
            secondaries_us: us(before.secondaries, after.secondaries),
            driver_us: us(before.driver, after.driver),
            primary_waits: after.waits.saturating_sub(before.waits) as f64 / done,
            secondaries_waits: after.secondaries_waits.saturating_sub(before.secondaries_waits) as f64 / done,
            primary_busy: after.primary.saturating_sub(before.primary).as_secs_f64() / seconds,
            others_busy: (after.secondaries + after.driver)
                .saturating_sub(before.secondaries + before.driver)
                .as_secs_f64()
                / seconds
                / cores().saturating_sub(1).max(1) as f64,
            p50_us: latency.quantile_us(0.5),
            p99_us: latency.quantile_us(0.99),
        })
    })
}

impl Outcome {
    /// Of one stage and number of clients (its place), the median over all rounds.
    #[must_use]
    pub fn over_rounds(&self, stage: usize, clients: usize, value: impl Fn(&Figure) -> f64) -> f64 {
        let values: Vec<f64> = self.rounds.iter().map(|round| value(&round[stage][clients])).collect();
        median(&values)
    }

    /// A stage's value over that of stand-alone, round by round.
    fn over_alone(&self, stage: usize, clients: usize, value: impl Fn(&Figure) -> f64) -> Vec<f64> {
        let rounds = self.rounds.iter();
        rounds.map(|round| value(&round[stage][clients]) / value(&round[0][clients])).collect()
    }

    /// What the primary does in a second of its processor time beside stand-alone, round by round.
    #[must_use]
    pub fn per_primary_second(&self, stage: usize, clients: usize) -> Vec<f64> {
        self.over_alone(stage, clients, Figure::per_primary_second)
    }

    /// What limited most of the rounds.
    #[must_use]
    pub fn limit(&self, stage: usize, clients: usize) -> Limit {
        let busy = |value: fn(&Figure) -> f64| self.over_rounds(stage, clients, value);
        Limit::of(busy(|f| f.primary_busy), busy(|f| f.others_busy))
    }

    /// Throughput beside stand-alone, round by round.
    #[must_use]
    pub fn ratio(&self, stage: usize, clients: usize) -> Vec<f64> {
        self.over_alone(stage, clients, |f| f.per_second)
    }

    /// Processor time per transaction of primary and secondaries together, above stand-alone; percent, round by round.
    #[must_use]
    pub fn extra(&self, stage: usize, clients: usize) -> Vec<f64> {
        let times = self.over_alone(stage, clients, |f| f.primary_us + f.secondaries_us);
        times.into_iter().map(|ratio| (ratio - 1.0) * 100.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_core_that_is_busy() {
        assert_eq!(Limit::of(0.97, 0.99), Limit::Primary);
        assert_eq!(Limit::of(0.5, 0.95), Limit::Others);
        assert_eq!(Limit::of(0.5, 0.5), Limit::Waiting);
    }

    #[test]
    fn what_the_primary_does_in_a_second_does_not_depend_on_who_is_slow() {
        let figure = |per_second, primary_us, others_busy| Figure {
            per_second,
            primary_us,
            secondaries_us: 0.0,
            driver_us: 0.0,
            primary_waits: 0.0,
            secondaries_waits: 0.0,
            primary_busy: per_second * primary_us / 1e6,
            others_busy,
            p50_us: 0,
            p99_us: 0,
        };
        let round = vec![
            vec![figure(5000.0, 190.0, 0.6)],
            vec![figure(2500.0, 200.0, 0.99)],
            vec![figure(2000.0, 200.0, 0.99)],
        ];
        let outcome = Outcome { clients: vec![16], rounds: vec![round], violations: Vec::new() };
        assert_eq!(outcome.limit(0, 0), Limit::Primary);
        assert_eq!(outcome.limit(1, 0), Limit::Others);
        assert!((outcome.ratio(1, 0)[0] - 0.5).abs() < 1e-9);
        assert!((outcome.per_primary_second(1, 0)[0] - 0.95).abs() < 1e-9);
    }
}
