//! Whether redo keeps up: the recovery queue of a synchronous secondary under full load, then how fast a secondary that was
//! suspended catches up, beside how fast one core of the primary made that log.
//!
//! Catching up is all of it: reading the log on the primary, sending, hardening and redoing it on the secondary.

use crate::fleet::{Fleet, Mode};
use crate::load::during;
use crate::process::{on_core, processor_time};
use crate::progress::Progress;
use crate::tpcc::{self, Settings};
use anyhow::Result;
use keel_workload::{Cell, Connection};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two looks at the queue.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The queues at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Seconds since measuring began.
    pub second: f64,
    /// Hardened on the secondary and not redone, KB.
    pub recovery_queue_kb: u64,
    /// Written on the primary and not sent, KB.
    pub send_queue_kb: u64,
    /// Transactions acknowledged so far.
    pub transactions: u64,
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// The queues under full load.
    pub samples: Vec<Sample>,
    /// Log written while the secondary was suspended, bytes.
    pub log_bytes: u64,
    /// Processor time that the primary used for it.
    pub made_in: Duration,
    /// From RESUME until all of it was redone.
    pub caught_up_in: Duration,
    /// Processor time that the secondary used for that.
    pub redone_in: Duration,
    /// What the secondary does not hold of what clients were told at its end, and what breaks consistency there; empty is well.
    pub violations: Vec<String>,
}

/// Loads a group of two, runs the mix for the settings' time with both in lockstep, then as long with the secondary suspended,
/// and lets it catch up.
///
/// # Errors
/// What the servers say.
pub fn run(
    binary: &Path,
    dir: &Path,
    settings: Settings,
    more: &[&str],
    progress: &Progress,
) -> Result<Outcome> {
    progress.say("making a group of two, and loading");
    let mut launches = Fleet::launches(binary, dir, 2, more)?;
    launches[0].before = on_core(0);
    launches[1].before = on_core(1);
    let fleet = Fleet::start(launches, "tpcc")?;
    tpcc::build(&fleet, settings, 2)?;
    fleet.create_group()?;
    fleet.add_replica(1, Mode::Synchronous)?;
    fleet.wait_settled(0, 1, Mode::Synchronous)?;
    progress.say("full load in lockstep");
    let (samples, mut told) = during(&fleet, settings, 1, |load| {
        std::thread::sleep(settings.warm_up);
        let mut sessions = [fleet.nodes[0].session("master")?, fleet.nodes[1].session("master")?];
        let (began, before) = (Instant::now(), load.done());
        let mut samples = Vec::new();
        while began.elapsed() < settings.duration {
            let [primary, secondary] = &mut sessions;
            samples.push(Sample {
                second: began.elapsed().as_secs_f64(),
                recovery_queue_kb: queue(secondary, "redo_queue_size", 1)?,
                send_queue_kb: queue(primary, "log_send_queue_size", 0)?,
                transactions: load.done() - before,
            });
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(samples)
    })?;
    let (primary, secondary) = (fleet.nodes[0].keel()?.pid(), fleet.nodes[1].keel()?.pid());
    fleet.nodes[1].run("ALTER DATABASE tpcc SET HADR SUSPEND")?;
    progress.say("full load with the secondary suspended");
    let ((log_bytes, made_in), more_told) = during(&fleet, settings, 2, |_| {
        std::thread::sleep(settings.warm_up);
        let (log, time) = (fleet.nodes[0].counter("Log Bytes Flushed/sec")?, processor_time(primary)?);
        std::thread::sleep(settings.duration);
        let made_in = processor_time(primary)?.saturating_sub(time);
        Ok((fleet.nodes[0].counter("Log Bytes Flushed/sec")? - log, made_in))
    })?;
    told.extend(more_told);
    let behind = queue(&mut fleet.nodes[0].session("master")?, "log_send_queue_size", 0)? << 10;
    let end = fleet.position(0)?;
    progress.say("catching up");
    let (began, before) = (Instant::now(), processor_time(secondary)?);
    fleet.nodes[1].run("ALTER DATABASE tpcc SET HADR RESUME")?;
    fleet.wait_redone(1, &end)?;
    let caught_up_in = began.elapsed();
    let redone_in = processor_time(secondary)?.saturating_sub(before);
    let violations = tpcc::check_copy(&mut fleet.nodes[1].session("tpcc")?, &told, settings)?;
    // What the warm-up wrote has to be caught up with too.
    let share = behind.max(log_bytes) as f64 / log_bytes.max(1) as f64;
    Ok(Outcome {
        samples,
        log_bytes: behind.max(log_bytes),
        made_in: made_in.mul_f64(share),
        caught_up_in,
        redone_in,
        violations,
    })
}

/// A queue of the local (1) or the remote copy (0), KB.
fn queue(connection: &mut dyn Connection, column: &str, local: u8) -> Result<u64> {
    let sql = format!(
        "SELECT COALESCE(MAX({column}), 0) FROM sys.dm_hadr_database_replica_states WHERE is_local = {local}"
    );
    let rows = connection.query(&sql)?;
    match rows.first().and_then(|row| row.first()) {
        Some(Cell::Int(kb)) => Ok(u64::try_from(*kb).unwrap_or(0)),
        other => anyhow::bail!("{column} is {other:?}"),
    }
}

impl Outcome {
    /// Log bytes a second of catching up over log bytes a second of one of the primary's cores.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.made_in.as_secs_f64() / self.caught_up_in.as_secs_f64()
    }

    /// The recovery queue that a share of the looks did not exceed, KB; 0 when nothing was measured.
    #[must_use]
    pub fn queue_kb(&self, share: f64) -> u64 {
        let mut queues: Vec<u64> = self.samples.iter().map(|s| s.recovery_queue_kb).collect();
        queues.sort_unstable();
        queues.get((queues.len().saturating_sub(1) as f64 * share) as usize).copied().unwrap_or(0)
    }
}
