//! What automatic seeding takes from the primary: throughput before, while, and after a copy is made of the database that the
//! clients work in.

use crate::fleet::{Fleet, Mode, number};
use crate::load::during;
use crate::process::{on_core, stay_from_core};
use crate::progress::Progress;
use crate::tds::TdsConnection;
use crate::tpcc::{self, Settings};
use anyhow::{Context, Result, ensure};
use keel_workload::Connection;
use keel_workload::tpcc::run::Ledger;
use std::path::Path;
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// One copy made.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Transactions a second before, and after, together.
    pub without: f64,
    /// Transactions a second while the copy was made.
    pub with: f64,
    /// How long it took.
    pub seconds: f64,
    /// Bytes of the database.
    pub bytes: u64,
}

impl Round {
    /// Throughput that was lost, as a share.
    #[must_use]
    pub fn loss(&self) -> f64 {
        1.0 - self.with / self.without
    }
}

/// Loads, then makes a copy `rounds` times under the settings' clients. Returns them, and what is not on the primary at the end
/// that clients were told; empty is well.
///
/// # Errors
/// What the servers say.
pub fn run(
    binary: &Path,
    dir: &Path,
    settings: Settings,
    rounds: usize,
    more: &[&str],
    progress: &Progress,
) -> Result<(Vec<Round>, Vec<String>)> {
    progress.say("starting, and loading");
    stay_from_core(1)?;
    let mut launches = Fleet::launches(binary, dir, 2, more)?;
    launches[0].before = on_core(0);
    let fleet = Fleet::start(launches, "tpcc")?;
    tpcc::build(&fleet, settings, 2)?;
    fleet.nodes[0].session("tpcc")?.execute("CHECKPOINT")?;
    let (mut made, mut told) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        progress.say(&format!("copy {} of {rounds}", round + 1));
        made.push(one(&fleet, settings, round as u64, &mut told)?);
    }
    let violations = tpcc::check_copy(&mut fleet.nodes[0].session("tpcc")?, &told, settings)?;
    Ok((made, violations))
}

fn one(fleet: &Fleet, settings: Settings, seed: u64, told: &mut Vec<Ledger>) -> Result<Round> {
    fleet.create_group()?;
    let (round, ledgers) = during(fleet, settings, seed, |load| {
        let rate = |time: Duration| {
            let (began, before) = (Instant::now(), load.done());
            std::thread::sleep(time);
            (load.done() - before) as f64 / began.elapsed().as_secs_f64()
        };
        std::thread::sleep(settings.warm_up);
        let before = rate(settings.duration);
        let mut seen = Seedings { session: fleet.nodes[0].session("master")? };
        let newest = seen.newest()?;
        // Asynchronous, so that no commit waits for the copy once it is there.
        fleet.add_replica(1, Mode::Asynchronous)?;
        let asked = Instant::now();
        while seen.newest()? == newest {
            ensure!(asked.elapsed() < Duration::from_secs(60), "no seeding has begun");
            std::thread::sleep(LOOK_EVERY);
        }
        let (began, before_seeding) = (Instant::now(), load.done());
        while seen.of_newest("CASE internal_state_desc WHEN 'ReadingAndSendingData' THEN 1 ELSE 0 END")? == 1
        {
            std::thread::sleep(LOOK_EVERY);
        }
        let (seconds, done) = (began.elapsed().as_secs_f64(), load.done() - before_seeding);
        ensure!(seen.of_newest("COALESCE(failure_code, 0)")? == 0, "the seeding has failed");
        let bytes = u64::try_from(seen.of_newest("database_size_bytes")?)?;
        fleet.wait_settled(0, 1, Mode::Asynchronous)?;
        let after = rate(settings.duration);
        Ok(Round { without: (before + after) / 2.0, with: done as f64 / seconds, seconds, bytes })
    })?;
    told.extend(ledgers);
    fleet.drop_group()?;
    Ok(round)
}

/// The primary's view of the copies that it makes.
struct Seedings {
    session: TdsConnection,
}

impl Seedings {
    /// A number that differs from seeding to seeding: when the newest began; 0 for none.
    fn newest(&mut self) -> Result<i64> {
        let sql = "SELECT DATEDIFF_BIG(microsecond, '2020-01-01', MAX(start_time_utc)) FROM \
                   sys.dm_hadr_physical_seeding_stats WHERE role_desc = 'Source'";
        Ok(number(&mut self.session, sql)?.unwrap_or(0))
    }

    fn of_newest(&mut self, what: &str) -> Result<i64> {
        let sql = format!(
            "SELECT TOP (1) {what} FROM sys.dm_hadr_physical_seeding_stats WHERE role_desc = 'Source' ORDER BY \
             start_time_utc DESC"
        );
        number(&mut self.session, &sql)?.context("a seeding is shown")
    }
}
