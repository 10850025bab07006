//! Clients that remember what they were told, and what may never be broken whatever happens to their servers:
//!
//! * an acknowledged commit is there, and nothing is there that nobody sent;
//! * all replicas hold the same rows at the same position (`sys.sp_keel_checksum`).
//!
//! A client whose server has gone looks for the primary among all instances.

use crate::fleet::{Fleet, number};
use crate::tds::{Address, TdsConnection};
use anyhow::{Result, anyhow, ensure};
use keel_workload::{Cell, Connection};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

/// A client whose server is gone waits so long before it looks for another.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// What one client was told.
#[derive(Default)]
struct Told {
    next: i64,
    acknowledged: BTreeSet<i64>,
    in_doubt: BTreeSet<i64>,
}

/// Clients of one database. Each of [`Clients::keep_ledger`] and the like is to be run on a thread of its own.
pub struct Clients {
    addresses: Vec<Address>,
    database: String,
    stop: AtomicBool,
    /// Read by everybody who writes, for one step; written by who compares replicas.
    quiet: RwLock<()>,
    told: Vec<Mutex<Told>>,
    acknowledged: AtomicU64,
    in_doubt: AtomicU64,
    violations: Mutex<Vec<String>>,
    /// Where the primary was seen last.
    primary: AtomicUsize,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clients {
    /// `count` clients of the group's database; makes their tables.
    ///
    /// # Errors
    /// What the primary says.
    pub fn new(fleet: &Fleet, count: u64) -> Result<Clients> {
        fleet.nodes[0].session(fleet.database())?.execute(
            "CREATE TABLE dbo.ledger (client int NOT NULL, n int NOT NULL, filler varchar(200) NOT NULL, PRIMARY KEY (client, \
             n)); CREATE TABLE dbo.hot (id int NOT NULL PRIMARY KEY, n int NOT NULL); INSERT dbo.hot VALUES (0, 0), (1, 0)",
        )?;
        let addresses = fleet.nodes.iter().map(|node| Ok(node.keel()?.address().clone()));
        Ok(Clients {
            addresses: addresses.collect::<Result<_>>()?,
            database: fleet.database().into(),
            stop: AtomicBool::new(false),
            quiet: RwLock::new(()),
            told: (0..count).map(|_| Mutex::default()).collect(),
            acknowledged: AtomicU64::new(0),
            in_doubt: AtomicU64::new(0),
            violations: Mutex::default(),
            primary: AtomicUsize::new(0),
        })
    }

    /// How many keep a ledger.
    #[must_use]
    pub fn count(&self) -> usize {
        self.told.len()
    }

    /// Commits acknowledged so far.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Commits so far whose fate the client was not told.
    #[must_use]
    pub fn in_doubt(&self) -> u64 {
        self.in_doubt.load(Ordering::Relaxed)
    }

    /// Ends all of them.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether they are to go on.
    #[must_use]
    pub fn running(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Notes that something was broken that may not be.
    pub fn violation(&self, what: String) {
        locked(&self.violations).push(what);
    }

    /// Everything that was broken so far.
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        locked(&self.violations).clone()
    }

    /// A session with one instance.
    ///
    /// # Errors
    /// When it cannot be reached or refuses.
    pub fn session(&self, node: usize) -> Result<TdsConnection> {
        self.addresses[node].session(&self.database)
    }

    /// The same, where the primary was seen last.
    ///
    /// # Errors
    /// When it cannot be reached or refuses.
    pub fn session_with_primary(&self) -> Result<TdsConnection> {
        self.session(self.primary.load(Ordering::Relaxed))
    }

    /// Held for one step by everybody who writes.
    pub(crate) fn working(&self) -> RwLockReadGuard<'_, ()> {
        self.quiet.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// A session where the primary was seen last, or with one further on, who may turn out not to be it.
    fn connect(&self, further: usize) -> Option<Box<dyn Connection>> {
        let at = (self.primary.load(Ordering::Relaxed) + further) % self.addresses.len();
        self.primary.store(at, Ordering::Relaxed);
        Some(Box::new(self.session(at).ok()?))
    }

    /// Runs `step` again and again, with a new session whenever it says that the old one is of no use.
    pub fn work(&self, mut step: impl FnMut(&mut dyn Connection) -> bool) {
        let mut further = 0;
        while self.running() {
            if let Some(mut connection) = self.connect(further) {
                while self.running() {
                    let _working = self.working();
                    if !step(&mut *connection) {
                        break;
                    }
                }
            }
            further = 1;
            std::thread::sleep(PAUSE);
        }
    }

    /// A client that remembers what it was told.
    pub fn keep_ledger(&self, client: usize) {
        self.work(|connection| {
            let n = {
                let mut told = locked(&self.told[client]);
                told.next += 1;
                told.next
            };
            let answer = connection.execute(&format!(
                "SET XACT_ABORT ON; BEGIN TRANSACTION; INSERT dbo.ledger VALUES ({client}, {n}, REPLICATE('x', {})); UPDATE \
                 dbo.hot SET n = n + 1 WHERE id = {}; COMMIT",
                n % 200,
                n % 2
            ));
            let mut told = locked(&self.told[client]);
            if answer.is_ok() {
                told.acknowledged.insert(n);
                self.acknowledged.fetch_add(1, Ordering::Relaxed);
            } else {
                // It may have happened; whoever is primary then knows.
                told.in_doubt.insert(n);
                self.in_doubt.fetch_add(1, Ordering::Relaxed);
            }
            answer.is_ok()
        });
    }

    /// With all of them still: the ledger, what `settle` looks at in a session with the primary (it returns when nothing more is
    /// written there), then the replicas beside each other. The ledger begins anew. What is broken is in [`Clients::violations`].
    ///
    /// # Errors
    /// What a server says; a copy that does not catch up.
    pub fn check(
        &self,
        fleet: &Fleet,
        primary: usize,
        settle: impl FnOnce(&mut dyn Connection) -> Result<()>,
    ) -> Result<()> {
        let _still = self.quiet.write().unwrap_or_else(PoisonError::into_inner);
        let mut session = self.session(primary)?;
        for (client, told) in self.told.iter().enumerate() {
            self.check_ledger(&mut session, client, &mut locked(told))?;
        }
        session.execute(
            "SET XACT_ABORT ON; BEGIN TRANSACTION; DELETE dbo.ledger; UPDATE dbo.hot SET n = 0; COMMIT",
        )?;
        settle(&mut session)?;
        let position = fleet.position(primary)?;
        let wanted = checksums(&mut session)?;
        ensure!(wanted.len() > 2, "the checksum covers {wanted:?}");
        for (node, other) in fleet.nodes.iter().enumerate().filter(|(node, _)| *node != primary) {
            fleet.wait_redone(node, &position)?;
            let found = checksums(&mut self.session(node)?)?;
            if found != wanted {
                self.violation(format!("{} holds {found:?}, the primary {wanted:?}", other.name));
            }
        }
        Ok(())
    }

    fn check_ledger(&self, session: &mut dyn Connection, client: usize, told: &mut Told) -> Result<()> {
        let rows = session.query(&format!("SELECT n FROM dbo.ledger WHERE client = {client}"))?;
        let there = rows.iter().filter_map(|row| match row.first() {
            Some(Cell::Int(n)) => Some(*n),
            _ => None,
        });
        let there: BTreeSet<i64> = there.collect();
        let lost: Vec<&i64> = told.acknowledged.difference(&there).collect();
        let unknown = |n: &&i64| !told.acknowledged.contains(n) && !told.in_doubt.contains(n);
        let strange: Vec<&i64> = there.iter().filter(unknown).collect();
        if !lost.is_empty() {
            self.violation(format!("client {client}: acknowledged and lost: {lost:?}"));
        }
        if !strange.is_empty() {
            self.violation(format!("client {client}: there and never sent: {strange:?}"));
        }
        told.acknowledged.clear();
        told.in_doubt.clear();
        Ok(())
    }
}

/// Table, index, tree, rows and checksum of everything in the session's database.
fn checksums(connection: &mut dyn Connection) -> Result<Vec<Vec<Cell>>> {
    connection.query("EXEC sys.sp_keel_checksum").map_err(|e| anyhow!(e))
}

/// Whether an instance is the primary of a database.
pub fn is_primary(connection: &mut dyn Connection, database: &str) -> bool {
    let sql = format!("SELECT CONVERT(int, sys.fn_hadr_is_primary_replica('{database}'))");
    number(connection, &sql).is_ok_and(|n| n == Some(1))
}
