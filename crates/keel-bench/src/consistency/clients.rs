//! What everybody who works on the tables needs: sessions with the primary, random choices, and a place for what was seen.

use super::backups::Backups;
use super::tables::ACCOUNTS;
use super::{DATABASE, Settings};
use crate::fleet::number;
use crate::ledger::Clients;
use keel_workload::{CallError, Connection};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Errors that say that rows or indexes are not what they should be: nothing here gives reason for one.
const NEVER: [u32; 14] = [547, 601, 605, 823, 824, 825, 2601, 2627, 3624, 8646, 8951, 8990, 8992, 13535];

/// What was done, by name.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// All that work.
pub(super) struct Crew<'a> {
    pub(super) clients: &'a Clients,
    pub(super) backups: Backups,
    seed: u64,
    counts: Mutex<Counts>,
    errors: Mutex<BTreeMap<String, u64>>,
}

/// One of them, in a session.
pub(super) struct Worker<'a> {
    pub(super) session: &'a mut dyn Connection,
    pub(super) dice: &'a mut fastrand::Rng,
}

/// What one does, again and again.
pub(super) type Job = fn(&Crew<'_>, &mut Worker<'_>) -> Result<(), CallError>;

impl Worker<'_> {
    /// One of several words.
    pub(super) fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        self.dice.choice(words).copied().unwrap_or_default()
    }

    pub(super) fn below(&mut self, n: i64) -> i64 {
        self.dice.i64(0..n)
    }

    /// What begins a transaction in this isolation level.
    pub(super) fn begin(&mut self, level: &str) -> String {
        format!(
            "SET XACT_ABORT ON; SET NOCOUNT ON; SET LOCK_TIMEOUT 5000; SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRANSACTION; "
        )
    }

    /// What ends one, mostly for good.
    pub(super) fn end(&mut self) -> &'static str {
        if self.dice.u8(0..4) == 0 { "ROLLBACK" } else { "COMMIT" }
    }
}

impl<'a> Crew<'a> {
    pub(super) fn new(clients: &'a Clients, backups: Backups, settings: &Settings) -> Crew<'a> {
        Crew { clients, backups, seed: settings.seed, counts: Mutex::default(), errors: Mutex::default() }
    }

    /// A worker's random choices: the same for the same number and seed.
    pub(super) fn dice(&self, number: u64) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.seed ^ (number << 32))
    }

    /// Does a job on the primary until all are told to stop.
    pub(super) fn work(&self, number: u64, name: &'static str, job: Job) {
        let mut dice = self.dice(number);
        self.clients.work(|session| {
            let done = job(self, &mut Worker { session, dice: &mut dice });
            let refused = matches!(done, Err(CallError::Refused(_)));
            self.goes_on(name, session, done) && (!refused || leads(session))
        });
    }

    /// The same on one instance, whatever it is; readers only.
    pub(super) fn read(&self, node: usize, number: u64, name: &'static str, job: Job) {
        let mut dice = self.dice(number);
        while self.clients.running() {
            if let Ok(mut session) = self.clients.session(node) {
                let mut on = true;
                while on && self.clients.running() {
                    let done = job(self, &mut Worker { session: &mut session, dice: &mut dice });
                    on = self.goes_on(name, &mut session, done);
                }
            }
            std::thread::sleep(crate::ledger::PAUSE);
        }
    }

    /// Statements that are whole or not there, stopped by their client at any moment; what it has of them it commits.
    pub(super) fn cancel(&self, number: u64) {
        let mut dice = self.dice(number);
        while self.clients.running() {
            if let Ok(mut session) = self.clients.session_with_primary() {
                // It may be with who is the primary no more.
                for _ in 0..50 {
                    std::thread::sleep(std::time::Duration::from_millis(dice.u64(0..100)));
                    let _working = self.clients.working();
                    let sql = cancelled(&mut Worker { session: &mut session, dice: &mut dice });
                    let after = std::time::Duration::from_micros(1 << dice.u64(4..17));
                    let done = session
                        .cancel(&sql, after)
                        .and_then(|()| session.execute("IF @@TRANCOUNT > 0 COMMIT"));
                    if !self.goes_on("statements stopped", &mut session, done) || !self.clients.running() {
                        break;
                    }
                }
            }
            std::thread::sleep(crate::ledger::PAUSE);
        }
    }

    /// Notes what came of a job. Whether its session is still of use.
    pub(super) fn goes_on(
        &self,
        name: &'static str,
        session: &mut dyn Connection,
        done: Result<(), CallError>,
    ) -> bool {
        let error = match done {
            Ok(()) => {
                *locked(&self.counts).entry(name).or_default() += 1;
                return true;
            }
            Err(CallError::Lost(_)) => return false,
            Err(CallError::Retry(text) | CallError::Refused(text)) => text,
        };
        let number = number_of(&error);
        *locked(&self.errors)
            .entry(number.map_or_else(|| error.clone(), |n| format!("error {n}")))
            .or_default() += 1;
        if number.is_some_and(|number| NEVER.contains(&number)) {
            self.violation(&format!("{name} was told: {error}"));
        }
        session.execute("IF @@TRANCOUNT > 0 ROLLBACK").is_ok()
    }

    pub(super) fn violation(&self, what: &str) {
        self.clients.violation(format!("{what} (seed {})", self.seed));
    }

    /// What was done, and which errors came.
    pub(super) fn into_counts(self) -> (Counts, BTreeMap<String, u64>) {
        let inner = |counts| Mutex::into_inner(counts).unwrap_or_else(PoisonError::into_inner);
        (inner(self.counts), Mutex::into_inner(self.errors).unwrap_or_else(PoisonError::into_inner))
    }
}

/// Whether a session is with who may change the database.
pub(super) fn leads(session: &mut dyn Connection) -> bool {
    let sql = format!("SELECT CONVERT(int, ISNULL(sys.fn_hadr_is_primary_replica('{DATABASE}'), 1))");
    number(session, &sql).is_ok_and(|n| n == Some(1))
}

/// What is stopped: each statement keeps the sum of all accounts.
fn cancelled(w: &mut Worker<'_>) -> String {
    let (from, abort) = (w.below(ACCOUNTS), w.pick(&["ON", "OFF"]));
    let begin = w.begin("READ COMMITTED");
    let statement = match w.below(12) {
        0 => "UPDATE dbo.accounts SET flag = 1 - flag, branch = (branch + 1) % 40".into(),
        1 => format!("UPDATE dbo.accounts SET branch = (branch + 3) % 40 WHERE id BETWEEN {from} AND {from} + 200"),
        4..8 => format!(
            "UPDATE a SET balance = a.balance + s.d FROM dbo.accounts a JOIN (SELECT id, IIF(COUNT(*) OVER () % 2 = 1, 0, IIF(ROW_NUMBER() OVER (ORDER BY id) % 2 = \
             0, 1, -1)) AS d FROM dbo.accounts WITH (UPDLOCK, HOLDLOCK) WHERE id BETWEEN {from} AND {from} + 99) s ON s.id = a.id"
        ),
        _ => "SELECT a.note FROM dbo.accounts a WITH (REPEATABLEREAD) JOIN dbo.accounts b ON b.code = a.code ORDER BY a.balance".into(),
    };
    format!("{begin}SET XACT_ABORT {abort}; {statement}")
}

pub(super) fn number_of(error: &str) -> Option<u32> {
    error.strip_prefix("Msg ")?.split(',').next()?.parse().ok()
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
