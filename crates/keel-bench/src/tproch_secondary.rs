//! Decision support on a readable secondary while order entry goes on at its primary: what the one costs the other, and whether
//! redo keeps up with both.
//!
//! A group of two has two databases. TPROC-C users work in one of them at the primary all the time; TPROC-H streams read the
//! other on the secondary, in sessions that say `ApplicationIntent=ReadOnly`, and its refreshes are written at the primary.
//! Phases: streams without users; users without streams; both; users without streams again, so that a machine that drifts
//! shows.

use crate::fleet::{Fleet, Mode, number, until};
use crate::load::{Load, during};
use crate::process::on_core;
use crate::progress::Progress;
use crate::target::Server;
use crate::tds::{Address, TdsConnection};
use crate::tpcc;
use crate::tproch::{self, Answers, Place, Throughput, answers_of, differences};
use anyhow::{Result, anyhow};
use keel_workload::{Connection, tpcc::run::Ledger};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two looks at the queues.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The database of order entry.
const OLTP: &str = "tpcc";
/// The database of decision support.
const DSS: &str = "tproch";

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Decision support.
    pub dss: tproch::Settings,
    /// Order entry: its duration is that of the phases without streams.
    pub oltp: tpcc::Settings,
    /// Whether commits wait for the secondary.
    pub mode: Mode,
}

/// One look, while users work.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Seconds since the users began.
    pub second: f64,
    /// Hardened on the secondary and not redone, of both databases, KB.
    pub redo_queue_kb: i64,
    /// Written on the primary and not sent, KB.
    pub send_queue_kb: i64,
    /// Transactions acknowledged so far.
    pub transactions: u64,
    /// Whether streams were reading.
    pub streams: bool,
}

/// What a run gave.
pub struct Outcome {
    /// Streams without users.
    pub quiet: Throughput,
    /// Streams beside users.
    pub busy: Throughput,
    /// Transactions a second: before, beside and after the streams.
    pub transactions: [f64; 3],
    /// All looks.
    pub samples: Vec<Sample>,
    /// Rows of decision support, and seconds of their load.
    pub loaded: tproch::Loaded,
    /// What is not as it must be, by what it is.
    pub checks: Vec<(&'static str, Vec<String>)>,
}

/// Makes the group and runs all phases.
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
    progress.say("making a group of two");
    let mut launches = Fleet::launches(binary, dir, 2, more)?;
    launches[0].before = on_core(0);
    launches[1].before = on_core(1);
    let mut fleet = Fleet::start(launches, OLTP)?;
    let primary = fleet.nodes[0].keel()?.address().database(DSS)?;
    let (place, loaded) = Place::build(primary, settings.dss, progress)?;
    let mut answers = Answers::new();
    let mut told_alike = place.agree(&mut answers)?;
    progress.say("loading TPROC-C");
    tpcc::build(&fleet, settings.oltp, 2)?;
    fleet.create_group()?;
    fleet.add_database(DSS)?;
    progress.say("seeding the secondary");
    fleet.add_replica(1, settings.mode)?;
    fleet.wait_settled(0, 1, settings.mode)?;
    let copy = Address { database: DSS.into(), read_only: true, ..fleet.nodes[1].keel()?.address().clone() };
    let place = place.reading(Box::new(copy.clone()));
    told_alike.extend(place.agree(&mut answers)?);
    let quiet = place.throughput(progress)?;
    let ((busy, transactions, samples), told) =
        during(&fleet, settings.oltp, 1, |load| phases(&fleet, &place, settings, load, progress))?;
    progress.say("checking both copies");
    let checks = check(&fleet, &place, &copy, settings, &told, told_alike, &samples)?;
    Ok(Outcome { quiet, busy, transactions, samples, loaded, checks })
}

type Phases = (Throughput, [f64; 3], Vec<Sample>);

/// Users alone, users and streams, users alone.
fn phases(
    fleet: &Fleet,
    place: &Place,
    settings: Settings,
    load: &Load,
    progress: &Progress,
) -> Result<Phases> {
    progress.wait("users: warming up", settings.oltp.warm_up);
    let (stop, streams) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| watch(fleet, load, &stop, &streams));
        let rate = |phase: &mut dyn FnMut() -> Result<()>| -> Result<f64> {
            let (began, before) = (Instant::now(), load.done());
            phase()?;
            Ok((load.done() - before) as f64 / began.elapsed().as_secs_f64())
        };
        let alone = || {
            rate(&mut || {
                progress.wait("users without streams", settings.oltp.duration);
                Ok(())
            })
        };
        let all = || -> Result<(Throughput, [f64; 3])> {
            let before = alone()?;
            let mut busy = None;
            streams.store(true, Ordering::Relaxed);
            let beside = rate(&mut || {
                busy = Some(place.throughput(progress)?);
                Ok(())
            });
            streams.store(false, Ordering::Relaxed);
            let busy = beside.and_then(|rate| Ok((rate, busy.ok_or_else(|| anyhow!("no streams ran"))?)))?;
            Ok((busy.1, [before, busy.0, alone()?]))
        };
        let outcome = all();
        stop.store(true, Ordering::Relaxed);
        let samples = watch.join().map_err(|_| anyhow!("the watch panicked"))?;
        let (busy, rates) = outcome?;
        Ok((busy, rates, samples?))
    })
}

/// Looks at the queues until told to stop.
fn watch(fleet: &Fleet, load: &Load, stop: &AtomicBool, streams: &AtomicBool) -> Result<Vec<Sample>> {
    let (mut primary, mut secondary) = (fleet.nodes[0].session("master")?, fleet.nodes[1].session("master")?);
    let (began, before) = (Instant::now(), load.done());
    let mut samples = Vec::new();
    loop {
        samples.push(Sample {
            second: began.elapsed().as_secs_f64(),
            redo_queue_kb: queue(&mut secondary, "redo_queue_size", 1)?,
            send_queue_kb: queue(&mut primary, "log_send_queue_size", 0)?,
            transactions: load.done() - before,
            streams: streams.load(Ordering::Relaxed),
        });
        if stop.load(Ordering::Relaxed) {
            return Ok(samples);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A queue of the local copies (1) or the remote ones (0), of all databases, KB.
fn queue(session: &mut TdsConnection, column: &str, local: u8) -> Result<i64> {
    let sql = format!(
        "SELECT COALESCE(SUM({column}), 0) FROM sys.dm_hadr_database_replica_states WHERE is_local = {local}"
    );
    Ok(number(session, &sql)?.unwrap_or(0))
}

/// What a redo queue may grow by from the first half of the looks to the second, beside being twice as long, KB: work
/// comes in bursts.
const BURST_KB: i64 = 16 << 10;

/// Whether the queue stays: the most of its second half is not far beyond the most of its first.
fn bounded(samples: &[Sample]) -> Vec<String> {
    let queues: Vec<i64> = samples.iter().filter(|s| s.streams).map(|s| s.redo_queue_kb).collect();
    let (first, second) = queues.split_at(queues.len() / 2);
    let most = |of: &[i64]| of.iter().copied().max().unwrap_or(0);
    let (first, second) = (most(first), most(second));
    let grows = second > 2 * first + BURST_KB;
    grows
        .then(|| format!("at most {first} KB in the first half, {second} KB in the second"))
        .into_iter()
        .collect()
}

fn check(
    fleet: &Fleet,
    place: &Place,
    copy: &Address,
    settings: Settings,
    told: &[Ledger],
    mut told_alike: Vec<String>,
    samples: &[Sample],
) -> Result<Vec<(&'static str, Vec<String>)>> {
    let primary = fleet.nodes[0].keel()?.address();
    for database in [OLTP, DSS] {
        caught_up(&mut primary.session(database)?, &mut fleet.nodes[1].session(database)?)?;
    }
    let here = answers_of(&Address { database: DSS.into(), ..primary.clone() }, settings.dss, 0)?;
    let there = answers_of(copy, settings.dss, 0)?;
    told_alike.extend(differences(&here, &there, "the secondary after all refreshes"));
    let ledger = tpcc::check_copy(&mut fleet.nodes[1].session(OLTP)?, told, settings.oltp)?;
    Ok(vec![
        ("streams with the same parameters are told the same by both copies", told_alike),
        (
            "every table has the rows and the sum that loading and refreshes must leave, and rows belong together",
            place.check()?,
        ),
        ("the secondary holds what TPROC-C users were told, and nothing else", ledger),
        ("the redo queue does not grow while streams read", bounded(samples)),
    ])
}

/// Waits until a copy shows a row that is written now.
fn caught_up(primary: &mut TdsConnection, secondary: &mut TdsConnection) -> Result<()> {
    primary.execute(
        "DROP TABLE IF EXISTS dbo.keel_bench_last; CREATE TABLE dbo.keel_bench_last (n int NOT NULL)",
    )?;
    let sql = "SELECT COUNT(*) FROM sys.tables WHERE name = 'keel_bench_last'";
    until("the secondary has all that was committed", || Ok(number(secondary, sql)? == Some(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_that_grows_is_found_and_a_burst_is_not() {
        let samples = |queues: &[i64]| -> Vec<Sample> {
            let sample = |(n, kb): (usize, &i64)| Sample {
                second: n as f64,
                redo_queue_kb: *kb,
                send_queue_kb: 0,
                transactions: 0,
                streams: true,
            };
            queues.iter().enumerate().map(sample).collect()
        };
        assert!(bounded(&samples(&[0, 900, 10, 1_500, 0, 12_000])).is_empty());
        assert_eq!(bounded(&samples(&[0, 10_000, 20_000, 60_000])).len(), 1);
        assert!(bounded(&[]).is_empty());
    }
}
