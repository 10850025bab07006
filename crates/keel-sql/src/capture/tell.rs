//! Telling: whole transactions, in the order of their commits, from where statements staged them into the change tables.

use super::{ChangeTables, SCHEMA, error, lsn, lsn_text, sequence};
use crate::engine::{DatabaseEntry, Engine};
use crate::map::txn_error;
use crate::procs::{Outcome, ok};
use crate::run::{Argument, Runner};
use keel_node::{Isolation, LockMode, Role, Transaction};
use keel_query::capture::{self, ChangeTable, Ordered};
use keel_query::catalog::{Catalog as _, TableDef};
use keel_types::error::Result;
use keel_types::{SqlError, Value};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How long it waits for who changes the definition of a captured table or reads its changes under locks: then it is for the next time.
const WAIT: Duration = Duration::from_secs(5);
/// 1222: the wait was too long.
const LOCK_TIMEOUT: i32 = 1222;
/// Sessions and errors that are remembered.
const SESSIONS_MAX: usize = 32;

/// What is remembered of telling, oldest first.
#[derive(Default)]
pub(super) struct Log {
    pub sessions: VecDeque<ScanSession>,
    pub errors: VecDeque<Refused>,
    last_id: i32,
}

/// One time of telling, of those that found something.
#[derive(Clone, Debug)]
pub(crate) struct ScanSession {
    /// From 1.
    pub id: i32,
    /// Local ticks.
    pub started: i64,
    /// Local ticks.
    pub ended: i64,
    /// Numbers of the first and last transaction.
    pub first: u64,
    pub last: u64,
    /// When the last one committed, local ticks.
    pub last_time: i64,
    /// Transactions.
    pub transactions: u64,
    /// Rows of change tables.
    pub rows: u64,
}

/// An error of telling.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    /// Local ticks.
    pub at: i64,
    pub error: SqlError,
}

impl Log {
    fn note(&mut self, mut session: ScanSession) {
        self.last_id += 1;
        session.id = self.last_id;
        if self.sessions.len() == SESSIONS_MAX {
            self.sessions.pop_front();
        }
        self.sessions.push_back(session);
    }

    fn refuse(&mut self, at: i64, error: &SqlError) {
        if self.errors.len() == SESSIONS_MAX {
            self.errors.pop_front();
        }
        self.errors.push_back(Refused { at, error: error.clone() });
    }
}

/// Tells what waits in every database that is written here and has a capture job. Stops early when `stopping` says so; an
/// error is kept for `sys.dm_cdc_errors` and is the answer when all others are told.
pub fn tell_all(engine: &Arc<Engine>, stopping: &dyn Fn() -> bool) -> Result<()> {
    let mut failed = None;
    for entry in engine.databases() {
        let picture = entry.picture();
        let settings = picture.settings();
        let Some(job) = settings.capture.and_then(|c| c.capture) else { continue };
        let writes = matches!(entry.store.role(), Role::Standalone | Role::Primary);
        let written = writes && !settings.read_only && !settings.offline && !entry.is_restoring();
        if !written || entry.capture.is_stopped() {
            continue;
        }
        if !job.continuous {
            // Once, then it is started again by hand.
            entry.capture.set_stopped(true);
        }
        let transactions_max = usize::try_from(job.maxtrans).unwrap_or(1).max(1);
        loop {
            if stopping() {
                return Ok(());
            }
            match tell_some(engine, &entry, transactions_max) {
                Ok(told) if told < transactions_max => break,
                Ok(_) => {}
                Err(e) if e.number == LOCK_TIMEOUT => break,
                Err(e) => {
                    entry.capture.log.lock().refuse(engine.now_local(), &e);
                    failed.get_or_insert(e);
                    break;
                }
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Tells so many transactions of a database at most, in one transaction; says how many there were.
pub(super) fn tell_some(
    engine: &Engine,
    entry: &Arc<DatabaseEntry>,
    transactions_max: usize,
) -> Result<usize> {
    let failed = |e| txn_error(e, &entry.name(), 0);
    let _telling = entry.capture.telling.lock();
    let started = engine.now_local();
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    txn.set_lock_timeout(Some(WAIT));
    let Some(tables) = ChangeTables::locked(entry, &mut txn)? else { return Ok(0) };
    let waiting = {
        let view = txn.view_as(Isolation::ReadCommitted);
        // Their numbers are told, by commits that others may see before they are durable: they must not be given again.
        txn.settle(&view).map_err(failed)?;
        let told = capture::told(&txn, &view, tables.order).map_err(failed)?;
        capture::after(&txn, &view, tables.order, told, transactions_max).map_err(failed)?
    };
    let (Some(first), Some(last)) = (waiting.first(), waiting.last()) else { return Ok(0) };
    // A change of an instance is seen only after the instance: with those that are there now none is passed over.
    if ChangeTables::of(entry).is_none_or(|now| now.instances.len() != tables.instances.len()) {
        return Ok(0);
    }
    let local = engine.now_local() - engine.now_utc();
    let mut rows = 0;
    for of in &waiting {
        rows += tables.tell(&mut txn, of, local).map_err(failed)?;
    }
    capture::forget(&mut txn, tables.order, &waiting).map_err(failed)?;
    txn.commit().and_then(keel_node::Commit::wait).map_err(failed)?;
    entry.capture.log.lock().note(ScanSession {
        id: 0,
        started,
        ended: engine.now_local(),
        first: first.number,
        last: last.number,
        last_time: last.ended + local,
        transactions: waiting.len() as u64,
        rows,
    });
    Ok(waiting.len())
}

impl ChangeTables {
    /// Those of a database, locked so that they stay what they are; `None` where changes are not captured.
    fn locked(entry: &Arc<DatabaseEntry>, txn: &mut Transaction) -> Result<Option<ChangeTables>> {
        let failed = |e| txn_error(e, &entry.name(), 0);
        let Some(before) = ChangeTables::of(entry) else { return Ok(None) };
        for table in before.all() {
            txn.lock_table(table.object_id as u32, LockMode::IntentExclusive).map_err(failed)?;
        }
        // Others may have been made meanwhile, whose changes nobody may pass over: then it is for the next time.
        let now = ChangeTables::of(entry);
        Ok(now
            .filter(|now| now.all().all(|t| txn.holds_table(t.object_id as u32, LockMode::IntentExclusive))))
    }

    fn of(entry: &DatabaseEntry) -> Option<ChangeTables> {
        let picture = entry.picture();
        let order = picture.settings().capture?.order;
        let schema = picture.schema_id(SCHEMA)?;
        let mapping = picture.table(schema, "lsn_time_mapping")?;
        let mut instances = Vec::new();
        for source in picture.tables() {
            for def in &source.captures {
                // Where somebody has taken the change table away, nothing is told.
                if let Some(table) = picture.table_by_id(def.change_table) {
                    instances.push((table, def.staged));
                }
            }
        }
        Some(ChangeTables { order, mapping, instances })
    }

    fn all(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        std::iter::once(&self.mapping).chain(self.instances.iter().map(|(table, _)| table))
    }

    /// Tells one transaction; says how many rows of change tables it has. `local` is the difference of local time and UTC.
    fn tell(
        &self,
        txn: &mut Transaction,
        of: &Ordered,
        local: i64,
    ) -> std::result::Result<u64, keel_node::TxnError> {
        let start = lsn(of.number);
        let mut rows = 0;
        for (table, staged) in &self.instances {
            let table = ChangeTable { table, staged: *staged };
            rows += table.tell(txn, of, &start, &|change| sequence(of, change))? as u64;
        }
        let id = of.transaction.to_be_bytes()[2..].into();
        let (begun, ended) = (Value::DateTime(of.begun + local), Value::DateTime(of.ended + local));
        let row = [start, begun, ended, Value::Bytes(id), lsn(of.begun_at.min(of.number))];
        capture::insert(txn, &self.mapping, &capture::stored_row(&self.mapping, &row))?;
        Ok(rows)
    }
}

/// `sp_cdc_scan @maxtrans, @maxscans, @continuous, @pollinginterval, @is_from_job`: tells what waits in the current database, by so many
/// transactions so many times at most.
pub(crate) fn sp_cdc_scan(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let info = runner.info;
    let entry = info.current_database();
    super::enable::captured_only(&entry)?;
    let wanted = |name, position, usual| crate::procs::number(args, name, position).unwrap_or(usual);
    let (transactions, scans) = (wanted("maxtrans", 0, 500), wanted("maxscans", 1, 10));
    if transactions <= 0 {
        let text = "The value specified for the parameter @maxtrans must be greater than 0.";
        return Err(error(22991, text.to_owned()).into());
    }
    if scans <= 0 {
        let text = "The value for parameter @maxscans specified for the Change Data Capture job must be greater than 0.";
        return Err(error(22970, text.to_owned()).into());
    }
    // It has a transaction of its own, which would wait for what the session's has locked.
    if info.transaction.borrow().count > 0 {
        return Err(crate::errors::not_in_transaction("sp_cdc_scan").into());
    }
    let transactions_max = usize::try_from(transactions).unwrap_or(usize::MAX);
    for _ in 0..scans {
        if info.shared.cancel.is_cancelled() || tell_some(&info.engine, &entry, transactions_max)? == 0 {
            break;
        }
    }
    ok()
}

impl ScanSession {
    /// Its first and last LSN as views show them.
    pub(crate) fn lsns(&self) -> (String, String) {
        (lsn_text(self.first), lsn_text(self.last))
    }
}
