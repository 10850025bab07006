//! Many sessions change everything a database has at once, in every way there is, while others look at it: what must hold in each snapshot
//! holds in each.
//!
//! ```text
//! accounts: clustered, unique, filtered, descending, computed indexes, long values     ┐ each transaction keeps the sum of all;
//! entries: a foreign key with a cascade; branches: kept by a trigger; an indexed view  ┘ readers compare any two ways to it
//! slots: a table, a heap, a system-versioned table: each key has one owner, who finds what it has written, and nothing else
//! here, there: rows that SWITCH, TRUNCATE and loads move as a whole; parts, stage: partitions that are switched, split and merged
//! ways: functions, triggers, cursors, SELECT INTO and another database, through which the moved rows are looked for
//! ```
//!
//! Meanwhile checkpoints follow each other, memory is short, indexes are made, rebuilt and dropped, sessions are killed, statements stopped
//! and backups are taken, and the process is killed and started again; with a group, machines fail over, and readers look at
//! every copy. Between the kills all of them stand still: the owners' notes and the ledger of acknowledged commits are compared, DBCC looks
//! at every page, the copies at each other, past versions are what they were, and the backups, restored, give a database of which all this
//! is true as well.

mod backups;
mod clients;
mod jobs;
mod slots;
mod tables;
mod ways;

use crate::fleet::{Fleet, GROUP, Mode, text, until};
use crate::ledger::Clients;
use crate::progress::Progress;
use anyhow::{Context, Result};
use backups::Backups;
use clients::{Crew, Worker, leads, locked};
use slots::Owner;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const DATABASE: &str = "consistency";
/// Instances of a group.
const NODES: usize = 3;
/// Between two kills or failovers.
const ROUND: Duration = Duration::from_secs(6);

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long.
    pub time: Duration,
    /// Of all random choices.
    pub seed: u64,
    /// Sessions of each kind.
    pub clients: u64,
    /// `max server memory` of each instance, MB: little, so that much goes to disk and comes back.
    pub memory: u32,
    /// Three instances in a group instead of one.
    pub group: bool,
}

/// What a run gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was done, by name.
    pub done: BTreeMap<&'static str, u64>,
    /// Errors that sessions were given, by number.
    pub errors: BTreeMap<String, u64>,
    /// Commits of the ledger.
    pub acknowledged: u64,
    /// Kills, failovers, and times that everything was compared at rest.
    pub rounds: u64,
    /// What may not be; empty is well.
    pub violations: Vec<String>,
}

/// Runs it with servers of this binary, in a directory that is empty.
///
/// # Errors
/// When servers do not start or come back, or what they say. What was found wrong is in the outcome.
pub fn run(binary: &Path, dir: &Path, settings: &Settings, progress: &Progress) -> Result<Outcome> {
    std::fs::create_dir_all(dir)?;
    let config = dir.join("keel.toml");
    // So many failovers in a row would be held back.
    std::fs::write(&config, "[cluster]\nflap_max = 1000000\n")?;
    let (config, memory) = (config.display().to_string(), settings.memory.to_string());
    let options = ["--config", &config, "--max-server-memory", &memory];
    let nodes = if settings.group { NODES } else { 1 };
    progress.say("making the tables");
    let mut fleet = Fleet::start(Fleet::launches(binary, dir, nodes, &options)?, DATABASE)?;
    fleet.automatic = true;
    let clients = Clients::new(&fleet, settings.clients)?;
    tables::make(&mut fleet.nodes[0].session(DATABASE)?, DATABASE)?;
    ways::make(&mut fleet.nodes[0].session(DATABASE)?)?;
    let backups = Backups::new(dir.to_owned());
    backups.take(&mut fleet.nodes[0].session(DATABASE)?, false)?;
    if settings.group {
        fleet.create_group()?;
        for node in 1..NODES {
            fleet.add_replica(node, Mode::Synchronous)?;
            fleet.wait_settled(0, node, Mode::Synchronous)?;
        }
    }
    let crew = Crew::new(&clients, backups, settings);
    let owners: Vec<Mutex<Owner>> =
        (0..slots::OWNERS * slots::WAYS.len() as i64).map(|n| Mutex::new(Owner::new(n))).collect();
    let mut conductor = Conductor { fleet: &mut fleet, crew: &crew, owners: &owners, progress, rounds: 0 };
    std::thread::scope(|scope| {
        start(scope, &crew, &owners, settings, nodes);
        let conducted = conductor.conduct(settings);
        clients.stop();
        conducted
    })?;
    let rounds = conductor.rounds;
    let (done, errors) = crew.into_counts();
    Ok(Outcome {
        done,
        errors,
        acknowledged: clients.acknowledged(),
        rounds,
        violations: clients.violations(),
    })
}

/// Sets all of them to work, each on a thread of its own.
fn start<'a>(
    scope: &'a std::thread::Scope<'a, '_>,
    crew: &'a Crew<'_>,
    owners: &'a [Mutex<Owner>],
    settings: &Settings,
    nodes: usize,
) {
    let mut numbers = 1..;
    let mut number = || numbers.next().unwrap_or_default();
    for client in 0..settings.clients as usize {
        scope.spawn(move || crew.clients.keep_ledger(client));
        for (name, job) in jobs::WRITERS {
            let number = number();
            scope.spawn(move || crew.work(number, name, job));
        }
        for node in 0..nodes {
            let (one, two) = (number(), number());
            scope.spawn(move || crew.read(node, one, "invariants looked at", jobs::look));
            scope.spawn(move || crew.read(node, two, "rows read again", jobs::read_again));
        }
        let (one, two) = (number(), number());
        scope.spawn(move || crew.work(one, "queues looked through", slots::consume));
        scope.spawn(move || crew.work(two, "moved rows looked for", ways::ask));
    }
    for owner in owners {
        let mut dice = crew.dice(number());
        scope.spawn(move || {
            crew.clients.work(|session| {
                let done = locked(owner).step(crew, &mut Worker { session, dice: &mut dice });
                crew.goes_on("changes by owners", session, done)
            });
        });
    }
    let canceller = number();
    scope.spawn(move || crew.cancel(canceller));
    for (name, job) in jobs::DISTURBERS {
        let number = number();
        scope.spawn(move || crew.work(number, name, job));
    }
}

/// What happens to the instances, and who compares in between.
struct Conductor<'a> {
    fleet: &'a mut Fleet,
    crew: &'a Crew<'a>,
    owners: &'a [Mutex<Owner>],
    progress: &'a Progress,
    rounds: u64,
}

impl Conductor<'_> {
    fn conduct(&mut self, settings: &Settings) -> Result<()> {
        let (began, mut dice) = (Instant::now(), self.crew.dice(0));
        while began.elapsed() < settings.time && self.crew.clients.violations().is_empty() {
            std::thread::sleep(ROUND.min(settings.time));
            let primary = self.wait_whole()?;
            let victim = dice.usize(0..self.fleet.nodes.len());
            self.progress.say(&format!("round {}", self.rounds + 1));
            match dice.u8(0..4) {
                0 => {}
                1 if settings.group => {
                    // Refused when it leads already, or something else is under way.
                    let _ =
                        self.fleet.nodes[victim].run(&format!("ALTER AVAILABILITY GROUP {GROUP} FAILOVER"));
                }
                _ => {
                    let victim = if dice.bool() { primary } else { victim };
                    self.fleet.nodes[victim].kill();
                    self.fleet.nodes[victim].start()?;
                }
            }
            let primary = self.wait_whole()?;
            self.compare(primary, &mut dice)?;
            self.rounds += 1;
        }
        Ok(())
    }

    /// Waits until there is a primary with which every copy is synchronized, and says who that is.
    fn wait_whole(&self) -> Result<usize> {
        let all = self.fleet.nodes.len() as i64;
        let sql = "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2";
        let mut leader = None;
        until("all instances are there", || {
            leader = (0..self.fleet.nodes.len()).find(|n| {
                self.fleet.nodes[*n].session(DATABASE).is_ok_and(|mut session| leads(&mut session))
            });
            let synchronized = leader.and_then(|leader| self.fleet.nodes[leader].number(sql).ok().flatten());
            Ok(leader.is_some() && (all == 1 || synchronized == Some(all)))
        })?;
        leader.context("a primary")
    }

    /// With all of them still: the ledger, the owners' notes, the invariants, the past, the copies, and a copy from the backups.
    fn compare(&mut self, primary: usize, dice: &mut fastrand::Rng) -> Result<()> {
        let (crew, owners) = (self.crew, self.owners);
        crew.clients.check(self.fleet, primary, |session| {
            owners.iter().try_for_each(|owner| locked(owner).check(crew, session))?;
            tables::at_rest(session)?.iter().for_each(|broken| crew.violation(broken));
            for then in crew.backups.note(session)? {
                let rows = text(session, &backups::rows(&format!("FOR SYSTEM_TIME AS OF '{}'", then.utc)))?;
                if rows != then.rows {
                    crew.violation(&format!(
                        "at {} slots2 was {}, as of then it is {rows}",
                        then.utc, then.rows
                    ));
                }
            }
            crew.backups.restore(session, dice)?.iter().for_each(|broken| crew.violation(broken));
            Ok(())
        })
    }
}
