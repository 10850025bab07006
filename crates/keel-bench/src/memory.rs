//! A database larger than memory: the server's resident memory under load, and under one very large transaction.

use crate::process::Watch;
use crate::progress::Progress;
use crate::target::Server;
use crate::tds::Keel;
use anyhow::{Result, anyhow, ensure};
use keel_workload::{CallError, Cell, Connection};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// `max server memory`, MB.
    pub memory_mb: u64,
    /// Rows' bytes, MB; indexes and page overhead come on top.
    pub database_mb: u64,
    /// Rows that the one large transaction changes; all there are, if fewer.
    pub large_rows: u64,
    /// Sessions of the mix.
    pub clients: u64,
    /// The mix alone.
    pub duration: Duration,
    /// Of all random choices.
    pub seed: u64,
}

/// What each phase gave.
#[derive(Debug)]
pub struct Outcome {
    /// Rows loaded.
    pub rows: u64,
    /// Name, seconds, operations per second and peak resident bytes of each phase.
    pub phases: Vec<Phase>,
    /// The error of the large transaction, if it was refused.
    pub refused: Option<String>,
    /// Broken invariants; empty is well.
    pub violations: Vec<String>,
}

/// One part of the run.
#[derive(Debug)]
pub struct Phase {
    /// What was done.
    pub name: &'static str,
    /// How long.
    pub seconds: f64,
    /// Operations of the mix per second (rows, in the load).
    pub per_second: f64,
    /// The most resident memory seen, bytes.
    pub peak_bytes: u64,
}

impl Outcome {
    /// The most resident memory of all phases as a share of `max server memory`.
    #[must_use]
    pub fn peak_share(&self, settings: &Settings) -> f64 {
        let peak = self.phases.iter().map(|phase| phase.peak_bytes).max().unwrap_or(0);
        peak as f64 / (settings.memory_mb << 20) as f64
    }
}

/// Bytes of a row's filler; with key, counter and row header a row takes about [`ROW_BYTES`].
const FILLER_BYTES: usize = 400;
const ROW_BYTES: u64 = 430;
/// Rows of one bulk load, which is one transaction.
const LOAD_ROWS: u64 = 20_000;
/// Updates among a hundred operations of the mix.
const UPDATES_PERCENT: u32 = 20;

const SCHEMA: [&str; 3] = [
    "CREATE TABLE big (id int NOT NULL PRIMARY KEY, n int NOT NULL, filler varchar(400) NOT NULL)",
    "CREATE PROCEDURE look @id int AS SELECT n, filler FROM big WHERE id = @id",
    "CREATE PROCEDURE touch @id int AS UPDATE big SET n = n + 1 WHERE id = @id",
];

/// Runs all phases on a server of our own below `data`.
///
/// # Errors
/// When the server refuses what it should not; the large transaction may be refused.
pub fn run(
    binary: &Path,
    data: &Path,
    settings: Settings,
    more: &[&str],
    progress: &Progress,
) -> Result<Outcome> {
    let memory = settings.memory_mb.to_string();
    let options: Vec<&str> = ["--max-server-memory", &memory].iter().chain(more).copied().collect();
    let keel = Keel::start(binary, data, &options)?;
    keel.address().create_database()?;
    let watch = Watch::new(keel.pid());
    std::thread::scope(|scope| {
        scope.spawn(|| watch.run());
        let outcome = phases(&keel, settings, &watch, progress);
        watch.stop();
        outcome
    })
}

fn phases(keel: &Keel, settings: Settings, watch: &Watch, progress: &Progress) -> Result<Outcome> {
    let rows = (settings.database_mb << 20) / ROW_BYTES;
    let mut session = keel.connect()?;
    SCHEMA.iter().try_for_each(|sql| session.execute(sql))?;
    progress.say(&format!("loading {rows} rows"));
    let began = Instant::now();
    load(&mut *session, rows)?;
    let mut done = Vec::new();
    done.push(phase("load", began, rows, watch));
    let touched = AtomicU64::new(0);
    let began = Instant::now();
    let (operations, ()) = mix(keel, settings, 1..=rows, &touched, || {
        progress.wait("point reads and updates", settings.duration);
        Ok(())
    })?;
    done.push(phase("mix", began, operations, watch));
    // What the large transaction does not lock, if anything; else the mix only reads.
    let large = settings.large_rows.min(rows);
    progress.say(&format!("one transaction of {large} rows"));
    let began = Instant::now();
    let (operations, refused) = mix(keel, settings, large + 1..=rows, &touched, || {
        match session.execute(&format!("UPDATE big SET n = n + 1 WHERE id <= {large}")) {
            Ok(()) => Ok(None),
            Err(CallError::Refused(text) | CallError::Retry(text)) => Ok(Some(text)),
            Err(lost) => Err(lost.into()),
        }
    })?;
    done.push(phase("large update", began, operations, watch));
    let touched = touched.into_inner();
    let expected = touched + if refused.is_none() { large } else { 0 };
    let violations = check(&mut *session, rows, expected)?;
    Ok(Outcome { rows, phases: done, refused, violations })
}

fn phase(name: &'static str, began: Instant, count: u64, watch: &Watch) -> Phase {
    let seconds = began.elapsed().as_secs_f64();
    Phase { name, seconds, per_second: count as f64 / seconds, peak_bytes: watch.take_peak() }
}

fn load(session: &mut dyn Connection, rows: u64) -> Result<()> {
    let filler = Cell::Text("f".repeat(FILLER_BYTES));
    let mut next = 1;
    while next <= rows {
        let end = (next + LOAD_ROWS).min(rows + 1);
        let mut cells = (next..end).map(|id| vec![Cell::Int(id as i64), Cell::Int(0), filler.clone()]);
        session.bulk("big", &["id", "n", "filler"], &mut cells)?;
        next = end;
    }
    Ok(())
}

/// Runs point reads over all rows and updates of `writable` ones on the settings' sessions, while `meanwhile` runs.
/// Counts updates in `touched`.
fn mix<T>(
    keel: &Keel,
    settings: Settings,
    writable: std::ops::RangeInclusive<u64>,
    touched: &AtomicU64,
    meanwhile: impl FnOnce() -> Result<T>,
) -> Result<(u64, T)> {
    let (stop, operations) = (AtomicBool::new(false), AtomicU64::new(0));
    let all = writable.end().to_owned();
    let outcome = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..settings.clients)
            .map(|n| {
                let (stop, operations, writable) = (&stop, &operations, &writable);
                scope.spawn(move || -> Result<()> {
                    let mut connection = keel.connect()?;
                    let mut state = settings.seed.wrapping_add(n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    while !stop.load(Ordering::Relaxed) {
                        let update = random(&mut state) % 100 < u64::from(UPDATES_PERCENT);
                        if update && !writable.is_empty() {
                            let id = pick(&mut state, writable);
                            connection.call("touch", &[Cell::Int(id)])?;
                            touched.fetch_add(1, Ordering::Relaxed);
                        } else {
                            let id = pick(&mut state, &(1..=all));
                            let row = connection.call("look", &[Cell::Int(id)])?;
                            ensure!(row.is_some(), "row {id} is not there");
                        }
                        operations.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        let outcome = meanwhile();
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().map_err(|_| anyhow!("a client panicked"))??;
        }
        outcome
    })?;
    Ok((operations.into_inner(), outcome))
}

fn random(state: &mut u64) -> u64 {
    // Marsaglia's xorshift.
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn pick(state: &mut u64, range: &std::ops::RangeInclusive<u64>) -> i64 {
    (range.start() + random(state) % (range.end() - range.start() + 1)) as i64
}

fn check(session: &mut dyn Connection, rows: u64, updates: u64) -> Result<Vec<String>> {
    let found = session.query("SELECT COUNT(*), SUM(CAST(n AS bigint)) FROM big")?;
    let expected = vec![vec![Cell::Int(rows as i64), Cell::Int(updates as i64)]];
    let wrong = (found != expected).then(|| format!("rows and updates: {found:?}, not {expected:?}"));
    Ok(wrong.into_iter().collect())
}
