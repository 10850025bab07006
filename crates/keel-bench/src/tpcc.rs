//! Load, run and check TPROC-C on one server.

use crate::counters::{Load, Snapshot};
use crate::process::processor_time;
use crate::progress::Progress;
use crate::target::Server;
use anyhow::{Result, anyhow};
use keel_workload::hist::Histogram;
use keel_workload::tpcc::run::{KINDS, Ledger, Terminal, Totals};
use keel_workload::tpcc::{Scale, check, load};
use keel_workload::{Connection, Dialect};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Data size.
    pub scale: Scale,
    /// Sessions, each a thread that sends one transaction after another.
    pub clients: u64,
    /// Not measured, first.
    pub warm_up: Duration,
    /// Measured.
    pub duration: Duration,
    /// Ends the run after this many transactions of all clients together, all measured, whatever time they take: for
    /// counts that a busy machine does not change (instructions, system calls, bytes of log).
    pub transactions: Option<u64>,
    /// The rows are as they were loaded, so that the ledger can be compared with them.
    pub fresh_rows: bool,
    /// Mean of the time a client waits between an answer and its next transaction; spread as the specification has it
    /// (section 5.2.5.4). Zero: it does not.
    pub think: Duration,
    /// Of all random choices.
    pub seed: u64,
}

/// What one run gave.
pub struct Outcome {
    /// All terminals merged, measured part only.
    pub totals: Totals,
    /// Measured seconds.
    pub seconds: f64,
    /// New orders acknowledged in each measured second.
    pub new_orders: Vec<u64>,
    /// Processor time of the server in the measured part; zero where its processes are not known.
    pub server_time: Duration,
    /// What the server says it did in the measured part, where it has the product's views.
    pub load: Option<Load>,
    /// Broken invariants; empty is well.
    pub violations: Vec<String>,
}

impl Outcome {
    /// New orders per minute.
    #[must_use]
    pub fn nopm(&self) -> f64 {
        (self.totals.done[0] - self.totals.rolled_back.min(self.totals.done[0])) as f64 * 60.0 / self.seconds
    }

    /// Slowest second's share of the mean second; 1 is perfectly even.
    #[must_use]
    pub fn steadiness(&self) -> f64 {
        let n = self.new_orders.len().max(1) as f64;
        let mean = self.new_orders.iter().sum::<u64>() as f64 / n;
        self.new_orders.iter().min().map_or(0.0, |m| *m as f64 / mean.max(1.0))
    }

    /// Transactions of all kinds in a second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        self.totals.done.iter().sum::<u64>() as f64 / self.seconds
    }

    /// Latency of all transactions.
    #[must_use]
    pub fn latency(&self) -> Histogram {
        let mut all = Histogram::default();
        self.totals.latency.iter().for_each(|h| all.merge(h));
        all
    }

    /// Processor time of the server per transaction, microseconds; 0 where it is not known.
    #[must_use]
    pub fn server_us(&self) -> f64 {
        let done: u64 = self.totals.done.iter().sum();
        self.server_time.as_secs_f64() * 1e6 / done.max(1) as f64
    }
}

/// Creates and loads the tables with `loaders` connections. Returns rows and seconds.
///
/// # Errors
/// What the server says.
pub fn build(server: &dyn Server, settings: Settings, loaders: usize) -> Result<(u64, f64)> {
    let mut first = server.connect()?;
    load::create(&mut *first)?;
    let started = Instant::now();
    let parts = Mutex::new(load::parts(settings.scale).into_iter());
    let rows = AtomicU64::new(0);
    std::thread::scope(|scope| -> Result<()> {
        let handles: Vec<_> = (0..loaders)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut connection = server.connect()?;
                    loop {
                        let part = parts.lock().map_err(|_| anyhow!("a loader panicked"))?.next();
                        let Some(part) = part else { return Ok(()) };
                        rows.fetch_add(
                            load::load(&mut *connection, &part, settings.scale, settings.seed)?,
                            Ordering::Relaxed,
                        );
                    }
                })
            })
            .collect();
        handles.into_iter().try_for_each(|h| h.join().map_err(|_| anyhow!("a loader panicked"))?)
    })?;
    let seconds = started.elapsed().as_secs_f64();
    load::finish(&mut *first, settings.scale)?;
    Ok((rows.into_inner(), seconds))
}

/// What a copy of the database lacks of what clients were told, or has too much, and what breaks consistency there.
///
/// # Errors
/// What the server says.
pub fn check_copy(
    connection: &mut dyn Connection,
    told: &[Ledger],
    settings: Settings,
) -> Result<Vec<String>> {
    let mut violations = check::consistency(connection)?;
    violations.extend(check::ledger(connection, told, settings.scale.customers)?);
    Ok(violations)
}

/// Processor time of a server so far.
fn used(server: &dyn Server) -> Duration {
    server.pids().iter().filter_map(|pid| processor_time(*pid).ok()).sum()
}

/// Looks at a server's counters, if it is of a kind that has them.
pub(crate) fn look(server: &dyn Server) -> Result<Option<Snapshot>> {
    let mut connection = server.connect()?;
    match connection.dialect() {
        Dialect::TransactSql => Ok(Some(Snapshot::of(&mut *connection)?)),
        Dialect::Postgres => Ok(None),
    }
}

/// Runs the mix, then checks consistency and the ledger.
///
/// # Errors
/// What the server says; a refused transaction that was not asked for ends the run.
pub fn run(server: &dyn Server, settings: Settings, progress: &Progress) -> Result<Outcome> {
    run_after(server, settings, &mut Vec::new(), progress)
}

/// As [`run`], after other runs on the same rows: `told` holds what their clients were told, and gets what this one's are.
///
/// # Errors
/// As [`run`].
pub fn run_after(
    server: &dyn Server,
    settings: Settings,
    told: &mut Vec<Ledger>,
    progress: &Progress,
) -> Result<Outcome> {
    let (measuring, stop) = (AtomicBool::new(settings.transactions.is_some()), AtomicBool::new(false));
    let begun = AtomicU64::new(0);
    let limit = settings.transactions.unwrap_or(u64::MAX);
    let total_seconds = settings.duration.as_secs() as usize;
    let buckets: Vec<AtomicU64> = (0..total_seconds).map(|_| AtomicU64::new(0)).collect();
    let (name, clients) = (server.name(), format!("{} clients", settings.clients));
    let epoch = Instant::now();
    let (mut server_time, mut load) = (Duration::ZERO, None);
    let results = std::thread::scope(|scope| -> Result<Vec<(Totals, Ledger)>> {
        let handles: Vec<_> = (0..settings.clients)
            .map(|n| {
                let (measuring, stop, begun, buckets) = (&measuring, &stop, &begun, &buckets);
                scope.spawn(move || -> Result<(Totals, Ledger)> {
                    let mut connection = server.connect()?;
                    let mut terminal = Terminal::new(n, settings.scale, settings.seed);
                    let mut counted = false;
                    while !stop.load(Ordering::Relaxed) && begun.fetch_add(1, Ordering::Relaxed) < limit {
                        if !counted && measuring.load(Ordering::Relaxed) {
                            terminal.totals = Totals::default();
                            counted = true;
                        }
                        let kind = terminal.step(&mut *connection)?;
                        let at = epoch.elapsed().saturating_sub(settings.warm_up).as_secs() as usize;
                        if counted && kind == KINDS[0] && at < buckets.len() {
                            buckets[at].fetch_add(1, Ordering::Relaxed);
                        }
                        think(terminal.think_time(settings.think), stop);
                    }
                    Ok((terminal.totals, terminal.ledger))
                })
            })
            .collect();
        if settings.transactions.is_none() {
            progress.wait(&format!("{name}, {clients}: warming up"), settings.warm_up);
            let (before, counted) = (used(server), look(server)?);
            measuring.store(true, Ordering::Relaxed);
            progress.wait(&format!("{name}, {clients}: measuring"), settings.duration);
            server_time = used(server).saturating_sub(before);
            load = look(server)?.zip(counted).map(|(after, before)| after.since(&before)).transpose()?;
            stop.store(true, Ordering::Relaxed);
        } else {
            progress.say(&format!("{name}, {clients}: {limit} transactions"));
        }
        handles.into_iter().map(|h| h.join().map_err(|_| anyhow!("a terminal panicked"))?).collect()
    })?;
    let seconds = match settings.transactions {
        None => settings.duration.as_secs_f64(),
        Some(_) => epoch.elapsed().as_secs_f64(),
    };
    let mut totals = Totals::default();
    results.iter().for_each(|(t, _)| totals.merge(t));
    told.extend(results.into_iter().map(|(_, ledger)| ledger));
    progress.say(&format!("{name}: checking consistency and the clients' ledger"));
    let mut connection = server.connect()?;
    let mut violations = check::consistency(&mut *connection)?;
    if settings.fresh_rows {
        violations.extend(check::ledger(&mut *connection, told, settings.scale.customers)?);
    }
    let new_orders = buckets.into_iter().map(AtomicU64::into_inner).collect();
    Ok(Outcome { totals, seconds, new_orders, server_time, load, violations })
}

/// How long a thinking client may overlook that it is to stop.
const THOUGHT: Duration = Duration::from_millis(50);

/// Waits so long, or until told to stop.
pub(crate) fn think(time: Duration, stop: &AtomicBool) {
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(left.min(THOUGHT));
    }
}
