//! How even the pace is: TPROC-C second by second, with what checkpoints write in each.

use crate::process::resident_bytes;
use crate::progress::Progress;
use crate::target::Server;
use crate::tds::Keel;
use crate::tpcc::{self, Settings};
use anyhow::{Result, anyhow};
use keel_workload::{Cell, Connection};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// One second of the measured part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Second {
    /// New orders acknowledged.
    pub new_orders: u64,
    /// Pages that checkpoints wrote.
    pub checkpoint_pages: u64,
    /// Bytes of log hardened.
    pub log_bytes: u64,
    /// The server's resident memory at its end, bytes.
    pub resident_bytes: u64,
}

/// What a run gave.
pub struct Outcome {
    /// As of a run of `tpcc`.
    pub tpcc: tpcc::Outcome,
    /// One for each measured second.
    pub seconds: Vec<Second>,
}

/// Builds a database below `data` and runs the mix.
///
/// # Errors
/// What the server says.
pub fn run(
    binary: &Path,
    data: &Path,
    settings: Settings,
    more: &[&str],
    progress: &Progress,
) -> Result<Outcome> {
    progress.say("loading");
    let keel = Keel::start(binary, data, more)?;
    keel.address().create_database()?;
    tpcc::build(&keel, settings, 2)?;
    let stop = AtomicBool::new(false);
    let (tpcc, samples) = std::thread::scope(|scope| -> Result<_> {
        let sampler = scope.spawn(|| sample(&keel, settings, &stop));
        let tpcc = tpcc::run(&keel, settings, progress);
        stop.store(true, Ordering::Relaxed);
        let samples = sampler.join().map_err(|_| anyhow!("the sampler panicked"))??;
        Ok((tpcc?, samples))
    })?;
    let seconds = tpcc
        .new_orders
        .iter()
        .zip(samples.windows(2))
        .map(|(new_orders, pair)| Second {
            new_orders: *new_orders,
            checkpoint_pages: pair[1].checkpoint_pages - pair[0].checkpoint_pages,
            log_bytes: pair[1].log_bytes - pair[0].log_bytes,
            resident_bytes: pair[1].resident_bytes,
        })
        .collect();
    Ok(Outcome { tpcc, seconds })
}

/// Counters at the end of the warm-up and after each second that follows.
fn sample(keel: &Keel, settings: Settings, stop: &AtomicBool) -> Result<Vec<Second>> {
    let mut connection = keel.connect()?;
    let began = Instant::now();
    let mut samples = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let due = settings.warm_up + SECOND * samples.len() as u32;
        std::thread::sleep(due.saturating_sub(began.elapsed()).min(SECOND));
        if began.elapsed() >= due {
            samples.push(Second {
                new_orders: 0,
                checkpoint_pages: counter(&mut *connection, "Checkpoint pages/sec", "")?,
                log_bytes: counter(&mut *connection, "Log Bytes Flushed/sec", "_Total")?,
                resident_bytes: resident_bytes(keel.pid())?,
            });
        }
    }
    Ok(samples)
}

fn counter(connection: &mut dyn Connection, name: &str, instance: &str) -> Result<u64> {
    let sql = format!(
        "SELECT cntr_value FROM sys.dm_os_performance_counters \
         WHERE counter_name = '{name}' AND instance_name = '{instance}'"
    );
    let rows = connection.query(&sql)?;
    match rows.first().and_then(|row| row.first()) {
        Some(Cell::Int(value)) => Ok(u64::try_from(*value).unwrap_or(0)),
        other => anyhow::bail!("no counter {name}: {other:?}"),
    }
}
