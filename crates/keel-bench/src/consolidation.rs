//! Databases added step by step on one server, each with its users: does each keep what it had alone?

pub mod pools;

use crate::counters::{FileLoad, Load, Snapshot};
use crate::process::processor_time;
use crate::progress::Progress;
use crate::target::Server;
use crate::tpcc::{self, Settings, think};
use anyhow::{Result, anyhow};
use keel_workload::hist::Histogram;
use keel_workload::tpcc::run::{Ledger, Terminal, Totals};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// One database with its rows.
pub struct Place {
    name: String,
    server: Box<dyn Server + Send>,
    told: Vec<Ledger>,
}

/// What the users of one database got.
#[derive(Clone)]
pub struct Users {
    /// Transactions a second.
    pub per_second: f64,
    /// Latency of all transactions.
    pub latency: Histogram,
    /// Transactions that were run again because they were victims.
    pub retries: u64,
}

/// One step: so many databases at once.
pub struct Step {
    /// Each database.
    pub users: Vec<Users>,
    /// What the server says it did.
    pub load: Load,
    /// What was done with each file.
    pub files: Vec<FileLoad>,
    /// Processors that the users took, on this machine.
    pub driver: f64,
    /// Processors that each pool of the resource governor took, where there are other pools than the product's two.
    pub pools: Vec<(String, f64)>,
}

impl Step {
    /// Transactions a second of all databases.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.users.iter().map(|users| users.per_second).sum()
    }

    /// Latency of all databases' transactions.
    #[must_use]
    pub fn latency(&self) -> Histogram {
        let mut all = Histogram::default();
        self.users.iter().for_each(|users| all.merge(&users.latency));
        all
    }

    /// Reads and writes of all files, by the second.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.load.data_reads + self.load.data_writes + self.load.log_writes
    }
}

impl Place {
    /// Makes a database of this name and loads it.
    ///
    /// # Errors
    /// What the server says.
    pub fn build(server: &dyn Server, name: &str, settings: Settings, loaders: usize) -> Result<Place> {
        let server = server.database(name)?;
        tpcc::build(&*server, settings, loaders)?;
        // All begin alike: what was just loaded is in the data file.
        server.connect()?.execute("CHECKPOINT")?;
        Ok(Place { name: name.to_owned(), server, told: Vec::new() })
    }

    /// Has users come with the database's own login from now on.
    ///
    /// # Errors
    /// When the server has no logins.
    pub fn use_login(&mut self, server: &dyn Server) -> Result<()> {
        self.server = pools::of_login(server, &self.name)?;
        Ok(())
    }

    /// What is not there of what users were told, and what breaks consistency.
    ///
    /// # Errors
    /// What the server says.
    pub fn check(&self, settings: Settings) -> Result<Vec<String>> {
        let violations = tpcc::check_copy(&mut *self.server.connect()?, &self.told, settings)?;
        Ok(violations.into_iter().map(|text| format!("{}: {text}", self.name)).collect())
    }
}

/// Tells the users of a step what to do.
#[derive(Default)]
struct Signals {
    measuring: AtomicBool,
    stop: AtomicBool,
}

/// Runs the settings' number of users in each of these databases; `step` makes their random choices others.
///
/// # Errors
/// What the server says.
pub fn step(
    server: &dyn Server,
    places: &mut [Place],
    settings: Settings,
    step: u64,
    progress: &Progress,
) -> Result<Step> {
    let signals = Signals::default();
    let what = format!("{} databases, {} users each", places.len(), settings.clients);
    std::thread::scope(|scope| {
        let handles: Vec<Vec<_>> = (0..)
            .zip(&*places)
            .map(|(number, place): (u64, &Place)| {
                let seed = settings.seed ^ step << 40 ^ number << 48;
                let settings = Settings { seed, ..settings };
                (0..settings.clients)
                    .map(|n| {
                        let (server, signals) = (&*place.server, &signals);
                        scope.spawn(move || user(server, n, settings, signals))
                    })
                    .collect()
            })
            .collect();
        let measured = measure(server, settings, &what, &signals, progress);
        signals.stop.store(true, Ordering::Relaxed);
        let mut users = Vec::new();
        let mut told = Vec::new();
        let seconds = settings.duration.as_secs_f64();
        for of_place in handles {
            let (mut totals, mut ledgers) = (Totals::default(), Vec::new());
            for handle in of_place {
                let (one, ledger) = handle.join().map_err(|_| anyhow!("a user panicked"))??;
                totals.merge(&one);
                ledgers.push(ledger);
            }
            let mut latency = Histogram::default();
            totals.latency.iter().for_each(|kind| latency.merge(kind));
            let per_second = totals.done.iter().sum::<u64>() as f64 / seconds;
            users.push(Users { per_second, latency, retries: totals.retries });
            told.push(ledgers);
        }
        let Measured { load, files, driver, pools } = measured?;
        Ok((Step { users, load, files, driver, pools }, told))
    })
    .map(|(step, told)| {
        places.iter_mut().zip(told).for_each(|(place, told)| place.told.extend(told));
        step
    })
}

/// What was seen of the server and of this process.
struct Measured {
    load: Load,
    files: Vec<FileLoad>,
    driver: f64,
    pools: Vec<(String, f64)>,
}

/// Warms up, then measures between two looks at the server.
fn measure(
    server: &dyn Server,
    settings: Settings,
    what: &str,
    signals: &Signals,
    progress: &Progress,
) -> Result<Measured> {
    let mut connection = server.connect()?;
    progress.wait(&format!("{what}: warming up"), settings.warm_up);
    let (before, pools_before) = (Snapshot::of(&mut *connection)?, pools::used(&mut *connection)?);
    let (began, used) = (Instant::now(), processor_time(std::process::id()).unwrap_or_default());
    signals.measuring.store(true, Ordering::Relaxed);
    progress.wait(&format!("{what}: measuring"), settings.duration);
    signals.measuring.store(false, Ordering::Relaxed);
    let (after, pools_after) = (Snapshot::of(&mut *connection)?, pools::used(&mut *connection)?);
    let seconds = began.elapsed().max(Duration::from_millis(1)).as_secs_f64();
    let driver = processor_time(std::process::id()).unwrap_or_default().saturating_sub(used);
    let of_users = pools_after.iter().filter(|(name, _)| !["internal", "default"].contains(&name.as_str()));
    let pools = of_users.map(|(name, used)| {
        let before = pools_before.get(name).copied().unwrap_or_default();
        (name.clone(), used.saturating_sub(before).as_secs_f64() / seconds)
    });
    Ok(Measured {
        load: after.since(&before)?,
        files: after.files_since(&before),
        driver: driver.as_secs_f64() / seconds,
        pools: pools.collect(),
    })
}

/// One user: transactions with time to think, until told to stop. What was done while it was measured, and all it was told.
fn user(server: &dyn Server, number: u64, settings: Settings, signals: &Signals) -> Result<(Totals, Ledger)> {
    let mut connection = server.connect()?;
    let mut terminal = Terminal::new(number, settings.scale, settings.seed);
    let mut measured = Totals::default();
    let mut begun = false;
    while !signals.stop.load(Ordering::Relaxed) {
        let measuring = signals.measuring.load(Ordering::Relaxed);
        match (begun, measuring) {
            (false, true) => terminal.totals = Totals::default(),
            (true, false) => measured = std::mem::take(&mut terminal.totals),
            _ => {}
        }
        begun = measuring;
        terminal.step(&mut *connection)?;
        think(terminal.think_time(settings.think), &signals.stop);
    }
    if begun {
        measured = std::mem::take(&mut terminal.totals);
    }
    Ok((measured, terminal.ledger))
}
