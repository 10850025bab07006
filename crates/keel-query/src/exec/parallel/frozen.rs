//! The surroundings of a helper: the session as it was when the statement became parallel, and transactions that read beside its own.

use super::workers::Workers;
use crate::catalog::{ObjectId, TableDef};
use crate::context::{Arithmetic, ExecCtx, FunctionInvoker, IsolationLevel, SessionInfo, Transactions};
use crate::errors::{self, Result};
use crate::work::WorkSpace;
use keel_base::env::Clock;
use keel_base::{DatabaseId, TreeId};
use keel_node::Transaction;
use keel_types::Value;
use keel_types::datetime::language::Dates;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Looks at the cancel flag between two tellings of the processor time.
const TELL_INTERVAL: u32 = 32;

/// What a session knows that expressions of parallel plans may ask for. A plan that asks for more is not parallel.
#[derive(Clone)]
pub(super) struct Frozen {
    isolation: IsolationLevel,
    session_id: u32,
    now_local: i64,
    now_utc: i64,
    transaction_utc: i64,
    ansi_warnings: bool,
    arithmetic: Arithmetic,
    dates: Dates,
    date_first: u8,
    work: Option<Arc<WorkSpace>>,
    /// Nobody wants the result any more.
    stop: Arc<AtomicBool>,
    /// Processor time of all helpers, nanoseconds.
    used: Arc<AtomicU64>,
    clock: Arc<dyn Clock>,
    told: Cell<Duration>,
    looks: Cell<u32>,
}

impl Frozen {
    pub fn of(
        session: &dyn SessionInfo,
        workers: &Workers,
        used: Arc<AtomicU64>,
        stop: Arc<AtomicBool>,
    ) -> Frozen {
        Frozen {
            isolation: session.isolation(),
            session_id: session.session_id(),
            now_local: session.now_local(),
            now_utc: session.now_utc(),
            transaction_utc: session.transaction_utc(),
            ansi_warnings: session.ansi_warnings(),
            arithmetic: session.arithmetic(),
            dates: session.dates(),
            date_first: session.date_first(),
            work: session.work_space().cloned(),
            stop,
            used,
            clock: Arc::clone(workers.clock()),
            told: Cell::default(),
            looks: Cell::default(),
        }
    }

    /// The helper begins, on its own thread.
    pub fn begin(&self) {
        self.told.set(self.clock.thread_cpu());
    }

    /// Adds what the helper has used since the last time to what the session is charged for.
    pub fn tell(&self) {
        let now = self.clock.thread_cpu();
        let new = now.saturating_sub(self.told.replace(now));
        self.used.fetch_add(u64::try_from(new.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl SessionInfo for Frozen {
    fn isolation(&self) -> IsolationLevel {
        self.isolation
    }
    fn session_id(&self) -> u32 {
        self.session_id
    }
    fn transaction_utc(&self) -> i64 {
        self.transaction_utc
    }
    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    fn look_up(&self) -> Result<()> {
        self.looks.set(self.looks.get() + 1);
        if self.looks.get().is_multiple_of(TELL_INTERVAL) {
            self.tell();
        }
        if self.cancelled() { Err(errors::cancelled()) } else { Ok(()) }
    }
    fn call(&self, _: u32, _: &[Value]) -> Result<Value> {
        Err(errors::not_supported("session function"))
    }
    fn now_local(&self) -> i64 {
        self.now_local
    }
    fn now_utc(&self) -> i64 {
        self.now_utc
    }
    fn rand(&self, _: Option<i64>) -> f64 {
        unreachable!("a plan with RAND is not parallel")
    }
    fn ansi_warnings(&self) -> bool {
        self.ansi_warnings
    }
    fn arithmetic(&self) -> Arithmetic {
        self.arithmetic
    }
    fn dates(&self) -> Dates {
        self.dates
    }
    fn date_first(&self) -> u8 {
        self.date_first
    }
    fn work_space(&self) -> Option<&Arc<WorkSpace>> {
        self.work.as_ref()
    }
    fn reserve_identity(&self, _: &TableDef, _: u64) -> Result<i64> {
        Err(errors::not_supported("identity"))
    }
    fn note_identity(&self, _: &TableDef, _: i64) {}
    fn identity_insert(&self) -> Option<(DatabaseId, ObjectId)> {
        None
    }
    fn next_rowversion(&self, _: DatabaseId) -> u64 {
        0
    }
    fn next_row_id(&self, _: DatabaseId, _: TreeId, _: &mut dyn FnMut() -> Result<u64>) -> Result<u64> {
        Err(errors::not_supported("row id"))
    }
}

impl FunctionInvoker for Frozen {
    fn invoke_scalar(&self, _: &mut ExecCtx<'_>, _: DatabaseId, _: ObjectId, _: &[Value]) -> Result<Value> {
        Err(errors::not_supported("function"))
    }
}

/// A helper's transactions, by database.
pub(super) struct Readers(pub Vec<(DatabaseId, Transaction)>);

impl Transactions for Readers {
    fn transaction(&mut self, database: DatabaseId) -> Result<&mut Transaction> {
        let found = self.0.iter_mut().find(|(of, _)| *of == database);
        found.map(|(_, txn)| txn).ok_or_else(|| errors::not_supported("database"))
    }
}
