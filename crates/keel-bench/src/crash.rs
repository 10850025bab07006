//! Kill -9 under load, again and again: start, run TPROC-C, kill in the middle, start, ask for every acknowledged
//! transaction. The ledger is the clients'.

use crate::progress::Progress;
use crate::target::Server;
use crate::tds::Keel;
use crate::tpcc::{self, Settings};
use anyhow::{Context, Result, anyhow};
use keel_workload::tpcc::check;
use keel_workload::tpcc::run::{Ledger, Terminal};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a run of crash rounds gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Rounds done.
    pub rounds: u32,
    /// Transactions acknowledged over all rounds.
    pub acknowledged: u64,
    /// From start to ready for connections after each kill, seconds.
    pub restart_seconds: Vec<f64>,
    /// Broken invariants; empty is well.
    pub violations: Vec<String>,
}

/// Builds a database below `data`, then kills the server `rounds` times, each after a different amount of work.
///
/// # Errors
/// When the server does not come back, or refuses what it should not.
pub fn run(
    binary: &Path,
    data: &Path,
    settings: Settings,
    rounds: u32,
    more: &[&str],
    progress: &Progress,
) -> Result<Outcome> {
    progress.say("loading");
    let mut keel = Keel::start(binary, data, more)?;
    keel.address().create_database()?;
    tpcc::build(&keel, settings, 2)?;
    let mut outcome = Outcome::default();
    let mut ledgers: Vec<Ledger> = Vec::new();
    for round in 0..rounds {
        progress.say(&format!("kill {} of {rounds}", round + 1));
        let transactions = 200 + 977 * u64::from(round) % 4_000;
        let (told, count) =
            load_until_killed(&mut keel, settings, u64::from(round), |done| done >= transactions)?;
        outcome.acknowledged += count;
        ledgers.extend(told);
        let started = Instant::now();
        keel = Keel::start(binary, data, more).with_context(|| format!("starting after kill {round}"))?;
        outcome.restart_seconds.push(started.elapsed().as_secs_f64());
        let mut connection = keel.connect()?;
        outcome.violations.extend(check::consistency(&mut *connection)?);
        outcome.violations.extend(check::ledger(&mut *connection, &ledgers, settings.scale.customers)?);
        outcome.rounds += 1;
        if !outcome.violations.is_empty() {
            break;
        }
    }
    Ok(outcome)
}

/// Terminals run until their connection is cut by the kill, which comes when `enough` says so of the transactions
/// acknowledged in all. Returns what each was told, and that number.
pub(crate) fn load_until_killed(
    keel: &mut Keel,
    settings: Settings,
    round: u64,
    enough: impl Fn(u64) -> bool,
) -> Result<(Vec<Ledger>, u64)> {
    let done = AtomicU64::new(0);
    let address = keel.address().clone();
    let ledgers = std::thread::scope(|scope| -> Result<Vec<Ledger>> {
        let handles: Vec<_> = (0..settings.clients)
            .map(|n| {
                let (done, address) = (&done, &address);
                scope.spawn(move || -> Result<Ledger> {
                    let mut connection = address.connect()?;
                    let mut terminal = Terminal::new(n, settings.scale, settings.seed ^ (round << 8));
                    loop {
                        match terminal.step(&mut *connection) {
                            Ok(_) => done.fetch_add(1, Ordering::Relaxed),
                            Err(keel_workload::CallError::Lost(_)) => return Ok(terminal.ledger),
                            Err(error) => return Err(error.into()),
                        };
                    }
                })
            })
            .collect();
        while !enough(done.load(Ordering::Relaxed)) && !handles.iter().any(|h| h.is_finished()) {
            std::thread::sleep(Duration::from_micros(200));
        }
        keel.kill();
        handles.into_iter().map(|h| h.join().map_err(|_| anyhow!("a terminal panicked"))?).collect()
    })?;
    Ok((ledgers, done.into_inner()))
}
