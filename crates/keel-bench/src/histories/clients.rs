//! The clients, and what they note.

use super::{DATABASE, Settings};
use crate::fleet::Fleet;
use crate::tds::{Address, TdsConnection};
use anyhow::Result;
use keel_workload::history::lists::{Isolation, Step, Transaction};
use keel_workload::history::registers::{Operation, What};
use keel_workload::history::{Outcome, bank::Look};
use keel_workload::{CallError, Cell, Connection};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// Accounts there are.
pub(super) const ACCOUNTS: usize = 8;
/// What they hold together.
pub(super) const TOTAL: i64 = 800;
const LISTS: i64 = 1000;
const REGISTERS: i64 = 2000;
/// Lists that are appended to at the same time: few, so that transactions meet.
const LISTS_AT_ONCE: i64 = 4;
/// Transactions for which the same lists are used.
const TRANSACTIONS_PER_LISTS: i64 = 150;
const OPERATIONS_PER_REGISTER: i64 = 40;
/// Who gets no answer for so long goes elsewhere.
const PATIENCE: Duration = Duration::from_millis(1500);
/// A client whose server is gone waits so long.
const PAUSE: Duration = Duration::from_millis(20);

/// How much was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transactions on lists: committed, refused, not known.
    pub lists: [u64; 3],
    /// Operations on registers: the same.
    pub registers: [u64; 3],
    /// Snapshots of accounts.
    pub looks: u64,
    /// Transfers acknowledged.
    pub transfers: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ok, fail, info] = self.lists;
        write!(f, "{ok} transactions on lists committed, {fail} refused, {info} not known; ")?;
        let [ok, fail, info] = self.registers;
        write!(f, "{ok} operations on registers done, {fail} refused, {info} not known; ")?;
        write!(f, "{} transfers, {} snapshots of accounts", self.transfers, self.looks)
    }
}

/// Everything that clients saw.
#[derive(Default)]
pub(super) struct History {
    pub(super) lists: Vec<Transaction>,
    pub(super) registers: BTreeMap<i64, Vec<Operation>>,
    pub(super) looks: Vec<Look>,
    transfers: u64,
}

impl History {
    pub(super) fn counts(&self) -> Counts {
        let place = |outcome: Outcome| match outcome {
            Outcome::Ok => 0,
            Outcome::Fail => 1,
            Outcome::Info => 2,
        };
        let mut counts =
            Counts { looks: self.looks.len() as u64, transfers: self.transfers, ..Counts::default() };
        self.lists.iter().for_each(|t| counts.lists[place(t.outcome)] += 1);
        self.registers.values().flatten().for_each(|o| counts.registers[place(o.outcome)] += 1);
        counts
    }
}

/// Makes the tables.
pub(super) fn set_up(session: &mut dyn Connection) -> Result<()> {
    session.execute(&format!(
        "CREATE TABLE dbo.lists (k int NOT NULL PRIMARY KEY, v varchar(7000) NOT NULL); \
         CREATE TABLE dbo.registers (k int NOT NULL PRIMARY KEY, v int NOT NULL); \
         CREATE TABLE dbo.accounts (k int NOT NULL PRIMARY KEY, balance int NOT NULL); \
         DECLARE @n int = 0; \
         WHILE @n < {REGISTERS} BEGIN \
            IF @n < {LISTS} INSERT dbo.lists VALUES (@n, ''); \
            INSERT dbo.registers VALUES (@n, 0); \
            IF @n < {ACCOUNTS} INSERT dbo.accounts VALUES (@n, {}); \
            SET @n += 1; END",
        TOTAL / ACCOUNTS as i64
    ))?;
    session.execute(&format!("ALTER DATABASE [{DATABASE}] SET ALLOW_SNAPSHOT_ISOLATION ON"))?;
    Ok(())
}

/// A list's key and numbers, from a row of both.
pub(super) fn list_of(row: &[Cell]) -> Option<(i64, Vec<i64>)> {
    match row {
        [Cell::Int(k), Cell::Text(v)] => Some((*k, numbers(v)?)),
        _ => None,
    }
}

fn numbers(text: &str) -> Option<Vec<i64>> {
    text.split(',').filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect()
}

/// What clients note, and where they find their servers.
pub(super) struct Notes {
    /// The listener's address on each node.
    listener: Vec<Address>,
    /// Each node's own, and its name.
    nodes: Vec<(String, Address)>,
    isolation: Isolation,
    stale_reads: Duration,
    seed: u64,
    began: Instant,
    stop: AtomicBool,
    /// Numbers that are appended and written, each once.
    next: AtomicI64,
    transactions: AtomicI64,
    operations: AtomicI64,
    transfers: AtomicU64,
    history: Mutex<History>,
}

impl Notes {
    pub(super) fn new(fleet: &Fleet, port: u16, settings: &Settings) -> Result<Notes> {
        let mut nodes = Vec::new();
        for node in &fleet.nodes {
            nodes.push((node.name.clone(), node.keel()?.address().clone()));
        }
        let listener = fleet.nodes.iter().zip(&nodes).map(|(node, (_, own))| Address {
            address: format!("{}:{port}", node.launch.host),
            ..own.clone()
        });
        Ok(Notes {
            listener: listener.collect(),
            nodes,
            isolation: settings.isolation,
            stale_reads: settings.stale_reads,
            seed: settings.seed,
            began: Instant::now(),
            stop: AtomicBool::new(false),
            next: AtomicI64::new(1),
            transactions: AtomicI64::new(0),
            operations: AtomicI64::new(0),
            transfers: AtomicU64::new(0),
            history: Mutex::default(),
        })
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(super) fn into_history(self) -> History {
        let mut history = self.history.into_inner().unwrap_or_else(PoisonError::into_inner);
        history.transfers = self.transfers.into_inner();
        history
    }

    /// Starts the clients: so many of each kind, and one reader for each node.
    pub(super) fn start<'a>(&'a self, scope: &'a Scope<'a, '_>, clients: u64) {
        for n in 0..clients {
            scope.spawn(move || self.serve(n, Notes::transact));
            scope.spawn(move || self.serve(n + 100, Notes::operate));
            scope.spawn(move || self.serve(n + 200, Notes::transfer));
        }
        for node in 0..self.nodes.len() {
            scope.spawn(move || self.look(node));
        }
    }

    fn running(&self) -> bool {
        !self.stop.load(Ordering::Acquire)
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn note(&self, what: impl FnOnce(&mut History)) {
        what(&mut self.history.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// One client: connects, does one thing after the other, and goes to the next node when its connection is lost.
    fn serve(&self, number: u64, step: fn(&Notes, &mut TdsConnection, &mut fastrand::Rng) -> bool) {
        let mut random = fastrand::Rng::with_seed(self.seed ^ (number << 32));
        let mut node = number as usize;
        while self.running() {
            node += 1;
            let address = &self.listener[node % self.listener.len()];
            match address.session_within(DATABASE, PATIENCE) {
                Ok(mut session) => while self.running() && step(self, &mut session, &mut random) {},
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    // ---- lists ------------------------------------------------------------------------------------------------------

    /// One transaction on lists. Returns whether the connection is still good.
    fn transact(&self, session: &mut TdsConnection, random: &mut fastrand::Rng) -> bool {
        let turn = self.transactions.fetch_add(1, Ordering::Relaxed) / TRANSACTIONS_PER_LISTS;
        let mut steps: Vec<Step> = (0..random.usize(1..5))
            .map(|_| {
                let list = (turn * LISTS_AT_ONCE + random.i64(0..LISTS_AT_ONCE)) % LISTS;
                match random.bool() {
                    true => Step::Append(list, self.next.fetch_add(1, Ordering::Relaxed)),
                    false => Step::Read(list, None),
                }
            })
            .collect();
        let level = match self.isolation {
            Isolation::ReadCommitted => "READ COMMITTED",
            Isolation::Snapshot => "SNAPSHOT",
            Isolation::Serializable => "SERIALIZABLE",
        };
        let begin = format!("SET XACT_ABORT ON; SET TRANSACTION ISOLATION LEVEL {level}; BEGIN TRANSACTION");
        let done = session.execute(&begin).and_then(|()| steps.iter_mut().try_for_each(|s| take(session, s)));
        let (outcome, good) = match done {
            Ok(()) => match session.execute("COMMIT") {
                Ok(()) => (Outcome::Ok, true),
                Err(CallError::Retry(_)) => (Outcome::Fail, true),
                // Whatever it says, it may have gone through elsewhere.
                Err(_) => (Outcome::Info, false),
            },
            // COMMIT was not said, so it will never commit.
            Err(CallError::Retry(_)) => (Outcome::Fail, true),
            Err(_) => (Outcome::Fail, false),
        };
        self.note(|history| history.lists.push(Transaction { steps, outcome }));
        good
    }

    // ---- registers --------------------------------------------------------------------------------------------------

    fn operate(&self, session: &mut TdsConnection, random: &mut fastrand::Rng) -> bool {
        let register = self.operations.fetch_add(1, Ordering::Relaxed) / OPERATIONS_PER_REGISTER % REGISTERS;
        let new = || self.next.fetch_add(1, Ordering::Relaxed);
        let (mut what, sql) = match random.u8(0..4) {
            0 | 1 => (What::Read(None), format!("SELECT v FROM dbo.registers WHERE k = {register}")),
            2 => {
                let new = new();
                (What::Write(new), format!("UPDATE dbo.registers SET v = {new} WHERE k = {register}"))
            }
            _ => {
                let (old, new) = (self.last_of(register), new());
                let sql = format!(
                    "SET NOCOUNT ON; UPDATE dbo.registers SET v = {new} WHERE k = {register} AND v = {old}; SELECT @@ROWCOUNT"
                );
                (What::CompareAndSet(old, new, false), sql)
            }
        };
        let began = self.micros();
        let answer = session.query(&sql);
        let ended = self.micros();
        let seen = answer.as_ref().ok().and_then(|rows| match rows.first()?.first()? {
            Cell::Int(n) => Some(*n),
            _ => None,
        });
        let is_read = matches!(what, What::Read(_));
        match &mut what {
            What::Read(value) => *value = seen,
            What::CompareAndSet(_, _, was_set) => *was_set = seen == Some(1),
            What::Write(_) => {}
        }
        let (outcome, good) = match answer {
            Ok(_) => (Outcome::Ok, true),
            Err(CallError::Retry(_)) => (Outcome::Fail, true),
            Err(_) => (Outcome::Info, false),
        };
        let age = if is_read { self.stale_reads.as_micros() as u64 } else { 0 };
        let began = began.saturating_sub(age);
        let operation = Operation { what, began, ended, outcome };
        self.note(|history| history.registers.entry(register).or_default().push(operation));
        good
    }

    /// A value the register may hold: what was seen or written last.
    fn last_of(&self, register: i64) -> i64 {
        let history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let newest =
            history.registers.get(&register).and_then(|o| o.iter().rev().find(|o| o.outcome == Outcome::Ok));
        match newest.map(|o| o.what) {
            Some(What::Read(Some(v)) | What::Write(v) | What::CompareAndSet(_, v, true)) => v,
            Some(What::CompareAndSet(v, _, false)) => v,
            _ => 0,
        }
    }

    // ---- bank -------------------------------------------------------------------------------------------------------

    fn transfer(&self, session: &mut TdsConnection, random: &mut fastrand::Rng) -> bool {
        let accounts = ACCOUNTS as i64;
        let from = random.i64(0..accounts);
        let to = (from + random.i64(1..accounts)) % accounts;
        let amount = random.i64(1..10);
        let sql = format!(
            "SET XACT_ABORT ON; BEGIN TRANSACTION; \
             UPDATE dbo.accounts SET balance = balance - {amount} WHERE k = {from}; \
             UPDATE dbo.accounts SET balance = balance + {amount} WHERE k = {to}; COMMIT"
        );
        match session.execute(&sql) {
            Ok(()) => {
                self.transfers.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(CallError::Retry(_)) => true,
            Err(_) => false,
        }
    }

    /// Whole snapshots of accounts and lists on one node, whatever it is.
    fn look(&self, node: usize) {
        let (name, address) = &self.nodes[node];
        while self.running() {
            let Ok(mut session) = address.session_within(DATABASE, PATIENCE) else {
                std::thread::sleep(PAUSE);
                continue;
            };
            while self.running() && self.look_once(name, &mut session) {
                std::thread::sleep(PAUSE);
            }
        }
    }

    fn look_once(&self, name: &str, session: &mut TdsConnection) -> bool {
        let Ok(rows) = session.query("SELECT balance FROM dbo.accounts") else { return false };
        let balances = rows.iter().filter_map(|row| match row.first() {
            Some(Cell::Int(n)) => Some(*n),
            _ => None,
        });
        let look = Look { place: name.to_owned(), balances: balances.collect() };
        self.note(|history| history.looks.push(look));
        let turn = self.transactions.load(Ordering::Relaxed) / TRANSACTIONS_PER_LISTS;
        let first = turn * LISTS_AT_ONCE % LISTS;
        let sql = format!("SELECT k, v FROM dbo.lists WHERE k >= {first} AND k < {}", first + LISTS_AT_ONCE);
        let Ok(rows) = session.query(&sql) else { return false };
        let steps = rows.iter().filter_map(|row| list_of(row)).map(|(k, v)| Step::Read(k, Some(v))).collect();
        self.note(|history| history.lists.push(Transaction { steps, outcome: Outcome::Ok }));
        true
    }
}

/// One step of a transaction.
fn take(session: &mut TdsConnection, step: &mut Step) -> Result<(), CallError> {
    match step {
        Step::Append(list, number) => {
            session.execute(&format!("UPDATE dbo.lists SET v = v + ',{number}' WHERE k = {list}"))
        }
        Step::Read(list, seen) => {
            let rows = session.query(&format!("SELECT k, v FROM dbo.lists WHERE k = {list}"))?;
            *seen = rows.first().and_then(|row| list_of(row)).map(|(_, numbers)| numbers);
            Ok(())
        }
    }
}
