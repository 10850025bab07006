//! Load, run and check TPROC-C on one server.

use crate::target::Server;
use anyhow::{Result, anyhow};
use keel_workload::hist::Histogram;
use keel_workload::tpcc::run::{KINDS, Ledger, Terminal, Totals};
use keel_workload::tpcc::{Scale, check, load};
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
    pub per_second: Vec<u64>,
    /// Each terminal's acknowledged work, whole run.
    pub ledgers: Vec<Ledger>,
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
        let n = self.per_second.len().max(1) as f64;
        let mean = self.per_second.iter().sum::<u64>() as f64 / n;
        self.per_second.iter().min().map_or(0.0, |m| *m as f64 / mean.max(1.0))
    }

    /// A table of counts and latencies.
    #[must_use]
    pub fn report(&self) -> String {
        let mut out = format!(
            "{:<14}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
            "transaction", "count", "mean ms", "p50 ms", "p99 ms", "max ms"
        );
        let ms = |us: u64| format!("{:.2}", us as f64 / 1000.0);
        for (i, kind) in KINDS.iter().enumerate() {
            let h: &Histogram = &self.totals.latency[i];
            out += &format!(
                "{:<14}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
                kind.name(),
                h.count(),
                ms(h.mean_us()),
                ms(h.quantile_us(0.5)),
                ms(h.quantile_us(0.99)),
                ms(h.max_us())
            );
        }
        out + &format!(
            "NOPM {:.0}; retries {}; slowest second / mean {:.2}",
            self.nopm(),
            self.totals.retries,
            self.steadiness()
        )
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

/// Runs the mix, then checks consistency and the ledger.
///
/// # Errors
/// What the server says; a refused transaction that was not asked for ends the run.
pub fn run(server: &dyn Server, settings: Settings) -> Result<Outcome> {
    let (measuring, stop) = (AtomicBool::new(settings.transactions.is_some()), AtomicBool::new(false));
    let begun = AtomicU64::new(0);
    let limit = settings.transactions.unwrap_or(u64::MAX);
    let total_seconds = settings.duration.as_secs() as usize;
    let buckets: Vec<AtomicU64> = (0..total_seconds).map(|_| AtomicU64::new(0)).collect();
    let epoch = Instant::now();
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
                    }
                    Ok((terminal.totals, terminal.ledger))
                })
            })
            .collect();
        if settings.transactions.is_none() {
            std::thread::sleep(settings.warm_up);
            measuring.store(true, Ordering::Relaxed);
            std::thread::sleep(settings.duration);
            stop.store(true, Ordering::Relaxed);
        }
        handles.into_iter().map(|h| h.join().map_err(|_| anyhow!("a terminal panicked"))?).collect()
    })?;
    let seconds = match settings.transactions {
        None => settings.duration.as_secs_f64(),
        Some(_) => epoch.elapsed().as_secs_f64(),
    };
    let mut totals = Totals::default();
    results.iter().for_each(|(t, _)| totals.merge(t));
    let ledgers: Vec<Ledger> = results.into_iter().map(|(_, l)| l).collect();
    let mut connection = server.connect()?;
    let mut violations = check::consistency(&mut *connection)?;
    if settings.fresh_rows {
        violations.extend(check::ledger(&mut *connection, &ledgers, settings.scale.customers)?);
    }
    let per_second = buckets.into_iter().map(AtomicU64::into_inner).collect();
    Ok(Outcome { totals, seconds, per_second, ledgers, violations })
}
