//! How long recovery takes: TPROC-C for a time with checkpoints held off, kill -9, start again.

use crate::crash::load_until_killed;
use crate::progress::Progress;
use crate::target::Server;
use crate::tds::Keel;
use crate::tpcc::{self, Settings};
use anyhow::{Context, Result};
use keel_workload::tpcc::check;
use keel_workload::{Cell, Connection};
use std::path::Path;
use std::time::Instant;

/// Holds checkpoints off.
const NO_CHECKPOINTS: [&str; 2] = ["-T", "3505"];

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// Seconds under load before the kill.
    pub run_seconds: f64,
    /// Transactions acknowledged in them.
    pub acknowledged: u64,
    /// Log that had to be replayed, bytes.
    pub log_bytes: u64,
    /// From start to ready for connections.
    pub recovery_seconds: f64,
    /// The same with nothing to recover: a start of the process on the same files.
    pub start_seconds: f64,
    /// Broken invariants; empty is well.
    pub violations: Vec<String>,
}

/// Builds a database below `data`, runs the mix for the settings' time, kills the server, and times its return.
///
/// # Errors
/// When the server does not come back, or refuses what it should not.
pub fn run(
    binary: &Path,
    data: &Path,
    settings: Settings,
    more: &[&str],
    progress: &Progress,
) -> Result<Outcome> {
    progress.say("loading");
    let options: Vec<&str> = NO_CHECKPOINTS.iter().chain(more).copied().collect();
    let mut keel = Keel::start(binary, data, &options)?;
    keel.address().create_database()?;
    tpcc::build(&keel, settings, 2)?;
    keel.connect()?.execute("CHECKPOINT")?;
    progress.say(&format!("{} s of TPROC-C, then kill -9", settings.duration.as_secs()));
    let began = Instant::now();
    let (ledgers, acknowledged) =
        load_until_killed(&mut keel, settings, 0, |_| began.elapsed() >= settings.duration)?;
    let run_seconds = began.elapsed().as_secs_f64();
    progress.say("recovering, and looking for everything acknowledged");
    let started = Instant::now();
    keel = Keel::start(binary, data, &options).context("starting after the kill")?;
    let recovery_seconds = started.elapsed().as_secs_f64();
    let mut connection = keel.connect()?;
    let log_bytes = log_bytes(&mut *connection)?;
    let mut violations = check::consistency(&mut *connection)?;
    violations.extend(check::ledger(&mut *connection, &ledgers, settings.scale.customers)?);
    connection.execute("CHECKPOINT")?;
    drop(connection);
    keel.kill();
    let started = Instant::now();
    drop(Keel::start(binary, data, &options).context("starting with nothing to recover")?);
    let start_seconds = started.elapsed().as_secs_f64();
    Ok(Outcome { run_seconds, acknowledged, log_bytes, recovery_seconds, start_seconds, violations })
}

/// Log of the connection's database since its last checkpoint.
fn log_bytes(connection: &mut dyn Connection) -> Result<u64> {
    let rows = connection.query("SELECT used_log_space_in_bytes FROM sys.dm_db_log_space_usage")?;
    match rows.first().and_then(|row| row.first()) {
        Some(Cell::Int(bytes)) => Ok(u64::try_from(*bytes).unwrap_or(0)),
        other => anyhow::bail!("the view of log space shows {other:?}"),
    }
}
