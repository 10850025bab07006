//! A group of three under mixed load while everything that may happen to it does: replicas killed, stopped and continued,
//! restarted, suspended; planned and forced failovers. What may never be broken is looked at from outside: the [ledger](crate::ledger),
//! the replicas' rows and [what follows from them](crate::derived); and whoever reads, wherever, sees whole transactions.

use crate::command;
use crate::derived;
use crate::fleet::{Fleet, Mode, number, until};
use crate::ledger::{Clients, PAUSE, is_primary};
use crate::progress::Progress;
use anyhow::{Context, Result};
use keel_workload::{CallError, Cell, Connection};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const DATABASE: &str = "soak";
const REPLICAS: usize = 3;
/// Rows that the large transactions change.
const LARGE_ROWS: i64 = 20_000;
/// Faults between two comparisons of the replicas.
const FAULTS_PER_CHECK: u64 = 3;

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long faults go on.
    pub time: Duration,
    /// Of all random choices.
    pub seed: u64,
    /// Sessions that keep a ledger.
    pub clients: u64,
}

/// What a run gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Commits acknowledged to the clients that keep a ledger.
    pub acknowledged: u64,
    /// Commits whose fate they were not told.
    pub in_doubt: u64,
    /// Reads that compared two tables in one snapshot.
    pub reads: u64,
    /// Schema changes, truncations, loads and large transactions done.
    pub shapes: u64,
    /// Comparisons of all replicas.
    pub checks: u64,
    /// Faults by name.
    pub faults: BTreeMap<&'static str, u64>,
    /// Broken invariants; empty is well.
    pub violations: Vec<String>,
}

/// Schema changes, truncations, loads, large transactions kept and taken back.
fn reshape(clients: &Clients, done: &AtomicU64) {
    let mut round = 0u64;
    clients.work(|connection| {
        round += 1;
        let answer = match round % 5 {
            0 => connection.execute(&format!(
                "DROP TABLE IF EXISTS dbo.shape; CREATE TABLE dbo.shape (a int NOT NULL PRIMARY KEY, b varchar(50)); \
                 INSERT dbo.shape SELECT TOP (300) id, CONCAT('row ', id, ' of {round}') FROM dbo.large; \
                 CREATE INDEX shape_b ON dbo.shape (b)"
            )),
            1 => connection.execute("ALTER TABLE dbo.shape ADD c int NULL"),
            2 => {
                let mut rows =
                    (1..=3_000).map(|id| vec![Cell::Int(id), Cell::Text(format!("loaded in {round}, {id}"))]);
                connection.bulk("loaded", &["id", "label"], &mut rows).map(|_| ())
            }
            3 => connection.execute("UPDATE dbo.large SET n = n + 1"),
            _ => connection.execute(
                "TRUNCATE TABLE dbo.loaded; BEGIN TRANSACTION; UPDATE dbo.large SET n = -1; ROLLBACK",
            ),
        };
        if answer.is_ok() {
            done.fetch_add(1, Ordering::Relaxed);
        }
        // What a failover left half way is made anew; only a primary is of use.
        !matches!(answer, Err(CallError::Lost(_))) && is_primary(connection, DATABASE)
    });
}

/// A reader of one instance: two tables that every transaction changes together, and what follows from rows, each in one snapshot.
fn watch(clients: &Clients, node: usize, reads: &AtomicU64) {
    while clients.running() {
        if let Ok(mut session) = clients.session(node) {
            let ledger = "SELECT (SELECT SUM(n) FROM dbo.hot) - (SELECT COUNT(*) FROM dbo.ledger)";
            let torn = [("a snapshot was torn", ledger)];
            for (what, sql) in torn.into_iter().chain(derived::SNAPSHOTS).cycle() {
                match number(&mut session, sql) {
                    Ok(Some(0)) => drop(reads.fetch_add(1, Ordering::Relaxed)),
                    Ok(difference) => {
                        clients.violation(format!("on NODE{} {what}: {difference:?}", node + 1));
                    }
                    Err(_) => break,
                }
                if !clients.running() {
                    break;
                }
            }
        }
        std::thread::sleep(PAUSE);
    }
}

/// Makes the group and lets faults happen to it for the settings' time.
///
/// # Errors
/// When the group does not become healthy again after a fault, or what a server says that it should not.
pub fn run(binary: &Path, dir: &Path, settings: &Settings, progress: &Progress) -> Result<Outcome> {
    progress.say("making the group");
    let launches = Fleet::launches(binary, dir, REPLICAS, &["--max-server-memory", "512"])?;
    let mut fleet = Fleet::start(launches, DATABASE)?;
    let clients = Clients::new(&fleet, settings.clients)?;
    let mut session = fleet.nodes[0].session(DATABASE)?;
    session.execute(
        "CREATE TABLE dbo.loaded (id int NOT NULL, label varchar(100) NULL); \
         CREATE TABLE dbo.large (id int NOT NULL PRIMARY KEY, n int NOT NULL)",
    )?;
    let mut rows = (1..=LARGE_ROWS).map(|id| vec![Cell::Int(id), Cell::Int(0)]);
    session.bulk("large", &["id", "n"], &mut rows)?;
    derived::make(&mut session, DATABASE)?;
    drop(session);
    fleet.create_group()?;
    for node in 1..REPLICAS {
        fleet.add_replica(node, Mode::Synchronous)?;
        fleet.wait_settled(0, node, Mode::Synchronous)?;
    }
    let (reads, shapes) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut outcome = std::thread::scope(|scope| {
        let (clients, reads, shapes) = (&clients, &reads, &shapes);
        for client in 0..clients.count() {
            scope.spawn(move || clients.keep_ledger(client));
        }
        scope.spawn(move || reshape(clients, shapes));
        scope.spawn(move || derived::work(clients, DATABASE));
        for node in 0..REPLICAS {
            scope.spawn(move || watch(clients, node, reads));
        }
        let outcome =
            Conductor { fleet: &mut fleet, clients, progress, outcome: Outcome::default() }.conduct(settings);
        clients.stop();
        outcome
    })?;
    outcome.acknowledged = clients.acknowledged();
    outcome.in_doubt = clients.in_doubt();
    outcome.reads = reads.into_inner();
    outcome.shapes = shapes.into_inner();
    outcome.violations = clients.violations();
    Ok(outcome)
}

/// What may happen.
#[derive(Clone, Copy, Debug)]
enum Fault {
    KillSecondary,
    RestartSecondary,
    StopSecondary(Duration),
    SuspendSecondary(Duration),
    Failover,
    KillPrimary,
}

impl Fault {
    fn name(self) -> &'static str {
        match self {
            Fault::KillSecondary => "secondary killed",
            Fault::RestartSecondary => "secondary restarted",
            Fault::StopSecondary(_) => "secondary stopped and continued",
            Fault::SuspendSecondary(_) => "secondary suspended and resumed",
            Fault::Failover => "planned failover",
            Fault::KillPrimary => "primary killed, failover forced",
        }
    }

    fn pick(dice: &mut Dice) -> Fault {
        let time = Duration::from_millis(300 + dice.below(12_000));
        match dice.below(6) {
            0 => Fault::KillSecondary,
            1 => Fault::RestartSecondary,
            2 => Fault::StopSecondary(time),
            3 => Fault::SuspendSecondary(time / 4),
            4 => Fault::Failover,
            _ => Fault::KillPrimary,
        }
    }
}

/// Random numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

struct Conductor<'a> {
    fleet: &'a mut Fleet,
    clients: &'a Clients,
    progress: &'a Progress,
    outcome: Outcome,
}

impl Conductor<'_> {
    fn conduct(mut self, settings: &Settings) -> Result<Outcome> {
        let began = Instant::now();
        let mut dice = Dice(settings.seed);
        let mut faults = 0;
        while began.elapsed() < settings.time && self.clients.violations().is_empty() {
            std::thread::sleep(Duration::from_millis(200 + dice.below(1_500)));
            let fault = Fault::pick(&mut dice);
            self.progress.say(&format!("fault {}: {}", faults + 1, fault.name()));
            self.happen(fault, &mut dice).with_context(|| format!("fault {}: {fault:?}", faults + 1))?;
            *self.outcome.faults.entry(fault.name()).or_default() += 1;
            faults += 1;
            self.become_healthy().with_context(|| format!("after {fault:?}"))?;
            if faults % FAULTS_PER_CHECK == 0 {
                self.check().with_context(|| format!("comparing after {fault:?}"))?;
            }
        }
        self.check()?;
        Ok(self.outcome)
    }

    fn primary(&self) -> Result<usize> {
        let is = |at: &usize| {
            let session = self.fleet.nodes[*at].session("master");
            session.is_ok_and(|mut session| is_primary(&mut session, DATABASE))
        };
        (0..REPLICAS).find(is).context("there is no primary")
    }

    fn happen(&mut self, fault: Fault, dice: &mut Dice) -> Result<()> {
        let primary = self.primary()?;
        let secondary = (primary + 1 + dice.below(REPLICAS as u64 - 1) as usize) % REPLICAS;
        let fleet = &mut *self.fleet;
        let pid = fleet.nodes[secondary].keel()?.pid().to_string();
        match fault {
            Fault::KillSecondary => {
                fleet.nodes[secondary].kill();
                fleet.nodes[secondary].start()
            }
            Fault::RestartSecondary => {
                command(&["kill", "-TERM", &pid])?;
                let gone = format!("/proc/{pid}/root");
                until("the instance ends when it is told to", || Ok(std::fs::read_link(&gone).is_err()))?;
                fleet.nodes[secondary].start()
            }
            Fault::StopSecondary(time) => {
                command(&["kill", "-STOP", &pid])?;
                std::thread::sleep(time);
                command(&["kill", "-CONT", &pid]).map(|_| ())
            }
            Fault::SuspendSecondary(time) => {
                fleet.nodes[secondary].run(&format!("ALTER DATABASE {DATABASE} SET HADR SUSPEND"))?;
                std::thread::sleep(time);
                fleet.nodes[secondary].run(&format!("ALTER DATABASE {DATABASE} SET HADR RESUME"))
            }
            Fault::Failover => {
                fleet.nodes[secondary].run("ALTER AVAILABILITY GROUP bench FAILOVER")?;
                until("the failover is done", || Ok(self.primary().is_ok_and(|at| at == secondary)))
            }
            Fault::KillPrimary => {
                fleet.nodes[primary].kill();
                fleet.nodes[secondary]
                    .run("ALTER AVAILABILITY GROUP bench FORCE_FAILOVER_ALLOW_DATA_LOSS")?;
                fleet.nodes[primary].start()?;
                until("the failover is done", || Ok(self.primary().is_ok_and(|at| at == secondary)))
            }
        }
    }

    /// Everybody is resumed and synchronized.
    fn become_healthy(&self) -> Result<()> {
        until("all replicas are synchronized again", || {
            let suspended = "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE is_local = 1 AND is_suspended = 1";
            for node in &self.fleet.nodes {
                if node.number(suspended).is_ok_and(|n| n == Some(1)) {
                    // Refused while it still looks for its primary; asked again.
                    let _ = node.run(&format!("ALTER DATABASE {DATABASE} SET HADR RESUME"));
                }
            }
            let Ok(primary) = self.primary() else { return Ok(false) };
            let synchronized =
                "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2";
            Ok(self.fleet.nodes[primary].number(synchronized).is_ok_and(|n| n == Some(REPLICAS as i64)))
        })
    }

    /// With all writers still: the ledger, and the replicas beside each other.
    fn check(&mut self) -> Result<()> {
        self.clients.check(self.fleet, self.primary()?, |session| derived::check(session, self.clients))?;
        self.outcome.checks += 1;
        Ok(())
    }
}
