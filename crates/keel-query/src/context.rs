//! What a running plan may ask of its surroundings: [`ExecCtx`] and the traits in it.
//!
//! The session layer owns transactions, variables and settings; a plan borrows them for one execution. Statement
//! atomicity is the plan's (savepoint), transaction boundaries are the session's.

use crate::bind::mask::MaskSource;
use crate::catalog::{ObjectId, TableDef};
use crate::errors::{Error, Result};
use crate::memory::MemoryShare;
use keel_base::DatabaseId;
use keel_node::{Isolation, ReadView, Transaction};
use keel_types::Value;
use keel_types::datetime::language::Dates;
use std::sync::Arc;

/// What wants to know in which order transactions have committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// CHANGE_TRACKING: the transaction gets a version (see [`crate::changes`]).
    Tracked,
    /// Change data capture: it gets a place in the order (see [`crate::capture`]).
    Captured,
    /// Full-text search: the number is all it needs (see [`crate::full_text`]).
    Queued,
}

/// The transactions a statement works in, one per database it touches.
pub trait Transactions {
    /// The open transaction of `database`, begun on first use (in the isolation level and mode of the session).
    fn transaction(&mut self, database: DatabaseId) -> Result<&mut Transaction>;

    /// An error when a statement may not use these objects: others have changed them since a transaction began for which
    /// that matters. Asked before a compiled statement runs, by functions and triggers too.
    fn check_unchanged(&self, objects: &[(DatabaseId, ObjectId)]) -> Result<()> {
        let _ = objects;
        Ok(())
    }

    /// The view with which the next statement begins, or that of tables for which it asks for another level, where one was made before, to
    /// compare with it what the statement was compiled against.
    fn first_view(&mut self, database: DatabaseId, level: Option<Isolation>) -> Option<ReadView> {
        let _ = (database, level);
        None
    }

    /// Numbers for a change that is written down: its transaction's, which no other of the database ever has, and its own in it. A
    /// transaction that has asked for some gets its place among the others when it commits.
    fn change_stamp(&mut self, database: DatabaseId, stamp: Stamp) -> Result<(u64, u64)> {
        let _ = (database, stamp);
        Err(crate::errors::not_supported("change tracking"))
    }

    /// Who wants to be told of changed rows of a table ([`crate::watch`]); asked by each statement that is about to change some.
    fn watches(
        &mut self,
        database: DatabaseId,
        table: ObjectId,
        action: DmlAction,
    ) -> Option<Vec<Arc<crate::watch::Watch>>> {
        let _ = (database, table, action);
        None
    }

    /// A statement has changed rows that a watch reads, by its number.
    fn noticed(&mut self, database: DatabaseId, watch: u64, action: DmlAction) {
        let _ = (database, watch, action);
    }

    /// A statement has taken its savepoints.
    fn statement_begins(&mut self) {}

    /// It is done with them. True when they are there no more: a trigger has ended the transaction, or has rolled it back to a
    /// savepoint from before the statement.
    fn statement_ends(&mut self) -> bool {
        false
    }

    /// The session layer's own type behind this trait, for triggers, which may end transactions.
    fn as_any_mut(&mut self) -> Option<&mut dyn std::any::Any> {
        None
    }
}

/// Isolation level of the statement (SET TRANSACTION ISOLATION LEVEL); table hints override it per table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IsolationLevel {
    /// Dirty reads.
    ReadUncommitted,
    /// Row versions as of the statement.
    #[default]
    ReadCommitted,
    /// Shared row locks to the end of the transaction.
    RepeatableRead,
    /// Range locks to the end of the transaction.
    Serializable,
    /// Row versions as of the transaction.
    Snapshot,
}

/// What expressions and DML ask of the session while they run.
pub trait SessionInfo {
    /// The session layer's own type behind this trait, for the functions and virtual tables it registers with plans.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }
    /// Isolation level in force.
    fn isolation(&self) -> IsolationLevel;
    /// Session id, for messages.
    fn session_id(&self) -> u32;
    /// When the transaction began, in UTC: from then on what it writes is true. By itself a statement is a transaction.
    fn transaction_utc(&self) -> i64 {
        self.now_utc()
    }
    /// True once the client cancelled or the session was killed; asked every few hundred rows.
    fn cancelled(&self) -> bool;
    /// Asked every few hundred rows, where no page is latched: an error when the statement is to end here. The session may sleep
    /// in it when it has used more than its share of the processors.
    fn look_up(&self) -> Result<()> {
        if self.cancelled() { Err(crate::errors::cancelled()) } else { Ok(()) }
    }
    /// Whether statements that change many rows of a table may ask for its lock instead of theirs.
    fn escalates_locks(&self) -> bool {
        true
    }
    /// Value of a session function bound through [`crate::BindScope::session_function`].
    fn call(&self, id: u32, args: &[Value]) -> Result<Value>;
    /// Start of the statement, local time, 100 ns ticks since 0001-01-01 (GETDATE and friends; one value per statement).
    fn now_local(&self) -> i64;
    /// The same instant in UTC.
    fn now_utc(&self) -> i64;
    /// Local time to some milliseconds, as cheap as can be: what is kept of each use of an index.
    fn about_now_local(&self) -> i64 {
        self.now_local()
    }
    /// Whether the values of all these masked columns may be seen: UNMASK.
    fn sees(&self, columns: &[MaskSource]) -> bool {
        let _ = columns;
        true
    }
    /// RAND(): the next number of the session's sequence, reseeded when `seed` is given.
    fn rand(&self, seed: Option<i64>) -> f64;
    /// `transform noise words` of the instance.
    fn transforms_noise_words(&self) -> bool {
        false
    }
    /// SET ROWCOUNT, 0 for off.
    fn row_count_limit(&self) -> u64 {
        0
    }
    /// SET ANSI_WARNINGS: when off, text that a column has no room for is cut off in silence, and aggregates skip NULL so.
    fn ansi_warnings(&self) -> bool {
        true
    }
    /// The SET options, by name, that are not as indexed views need them; those that belong to a statement's text apart.
    fn wrong_index_options(&self) -> Vec<&'static str> {
        Vec::new()
    }
    /// SET ANSI_WARNINGS, ARITHABORT and ARITHIGNORE.
    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::Raise
    }
    /// An expression that is no part of a query has this to say (3606, 3607).
    fn notice(&self, message: &Error) {
        let _ = message;
    }
    /// A statement, or an expression with queries in it, has ended and read so many pages' worth of rows.
    fn note_reads(&self, pages: u64) {
        let _ = pages;
    }
    /// SET STATISTICS IO.
    fn statistics_io(&self) -> bool {
        false
    }
    /// Under SET STATISTICS TIME, the processor time that this thread has used.
    fn statistics_time(&self) -> Option<std::time::Duration> {
        None
    }
    /// SET DATEFORMAT and SET LANGUAGE.
    fn dates(&self) -> Dates {
        Dates::US
    }
    /// SET DATEFIRST, 1..=7.
    fn date_first(&self) -> u8 {
        7
    }
    /// Reserves `count` identity values of a table and returns the first.
    fn reserve_identity(&self, table: &TableDef, count: u64) -> Result<i64>;
    /// An explicit identity value was inserted (IDENTITY_INSERT ON): the counter must not fall behind it.
    fn note_identity(&self, table: &TableDef, value: i64);
    /// The table that SET IDENTITY_INSERT … ON names, if any.
    fn identity_insert(&self) -> Option<(DatabaseId, ObjectId)>;
    /// Working memory and files of the instance; `None` keeps everything in memory.
    fn work_space(&self) -> Option<&Arc<crate::work::WorkSpace>> {
        None
    }
    /// What the session's resource pool has of that memory for a statement; `None` where pools do not limit it.
    fn memory_share(&self) -> Option<Arc<MemoryShare>> {
        None
    }
    /// Threads that may help the statement at hand, whose MAXDOP this is; `None` where it is to run on its own thread.
    fn help(&self, max_degree: Option<u16>) -> Option<crate::exec::parallel::Help> {
        let _ = max_degree;
        None
    }
    /// So many threads, its own among them, work for its statement from now on.
    fn note_degree(&self, degree: usize) {
        let _ = degree;
    }
    /// The document of a handle that `sp_xml_preparedocument` gave.
    fn xml_document(&self, handle: i64) -> Option<crate::openxml::Prepared> {
        let _ = handle;
        None
    }
    /// A statement generated this identity value, its last (`@@IDENTITY`), or fills a table that has none; called before its triggers run.
    fn identity_generated(&self, value: Option<i64>) {
        let _ = value;
    }
    /// The next rowversion of a database.
    fn next_rowversion(&self, database: DatabaseId) -> u64;
    /// The next hidden number for a heap row id or uniquifier of a tree; `init` finds the last one in use when the
    /// counter is not in memory yet.
    fn next_row_id(
        &self,
        database: DatabaseId,
        tree: keel_base::TreeId,
        init: &mut dyn FnMut() -> Result<u64>,
    ) -> Result<u64>;
}

/// What an overflow, a division by zero or a result that is no number does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// It is the statement's error.
    #[default]
    Raise,
    /// The result is NULL, and the statement has a message at its end.
    Warn,
    /// The result is NULL.
    Ignore,
}

/// Runs user-defined functions on behalf of a plan.
pub trait FunctionInvoker {
    /// Runs a scalar function. Arguments already have the parameters' types.
    fn invoke_scalar(
        &self,
        ctx: &mut ExecCtx<'_>,
        database: DatabaseId,
        function: ObjectId,
        args: &[Value],
    ) -> Result<Value>;
}

/// A DML statement that fires triggers hands its rows over through this.
pub trait TriggerInvoker {
    /// Runs the AFTER triggers of a table. Rows hold all columns by declaration order.
    fn fire(&self, ctx: &mut ExecCtx<'_>, event: TriggerEvent<'_>) -> Result<()>;
}

/// What happened, for AFTER triggers.
#[derive(Debug)]
pub struct TriggerEvent<'a> {
    /// The table.
    pub table: &'a TableDef,
    /// INSERT, UPDATE or DELETE.
    pub action: DmlAction,
    /// Rows of the pseudo-table `inserted`.
    pub inserted: &'a [Vec<Value>],
    /// Rows of the pseudo-table `deleted`.
    pub deleted: &'a [Vec<Value>],
    /// `column_id`s assigned by UPDATE (for UPDATE() and COLUMNS_UPDATED()).
    pub updated_columns: &'a [i32],
}

/// The verb of a data change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DmlAction {
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

impl DmlAction {
    /// As messages spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DmlAction::Insert => "INSERT",
            DmlAction::Update => "UPDATE",
            DmlAction::Delete => "DELETE",
        }
    }
}

/// Everything one execution of a plan borrows.
pub struct ExecCtx<'a> {
    /// Variables and parameters by index; SELECT @a = … and UPDATE SET @a = … write them.
    pub vars: &'a mut [Value],
    /// Transactions by database.
    pub txns: &'a mut dyn Transactions,
    /// Session state.
    pub session: &'a dyn SessionInfo,
    /// User-defined functions.
    pub functions: &'a dyn FunctionInvoker,
    /// AFTER triggers; `None` where none can exist.
    pub triggers: Option<&'a dyn TriggerInvoker>,
}

/// Receives the rows of a result set.
pub trait RowSink {
    /// One row, in the order of [`crate::Plan::columns`]. An error stops the plan and becomes its error.
    fn row(&mut self, values: &[Value]) -> Result<()>;
    /// An informational message raised while rows flow (8153, 3604).
    fn message(&mut self, message: &Error) {
        let _ = message;
    }
}

/// A sink for statements that return no rows.
#[derive(Debug, Default)]
pub struct NoRows;

impl RowSink for NoRows {
    fn row(&mut self, _values: &[Value]) -> Result<()> {
        Ok(())
    }
}

/// Collects rows; for tests, cursors and INSERT … EXEC.
#[derive(Debug, Default)]
pub struct RowBuffer {
    /// The rows so far.
    pub rows: Vec<Vec<Value>>,
    bytes: usize,
    /// How many bytes they may take, and of which pool.
    limit: Option<(usize, Option<Arc<MemoryShare>>)>,
}

impl RowBuffer {
    /// One for rows that stay when the statement is over: they may take as much memory as a statement may. Error 701 beyond.
    #[must_use]
    pub fn limited(session: &dyn SessionInfo) -> RowBuffer {
        let limit = session.work_space().map(|work| {
            let share = session.memory_share();
            (work.memory_bytes_max_of(share.as_deref()), share)
        });
        RowBuffer { limit, ..RowBuffer::default() }
    }
}

impl RowSink for RowBuffer {
    fn row(&mut self, values: &[Value]) -> Result<()> {
        if let Some((most, share)) = &self.limit {
            self.bytes += crate::exec::row_bytes(values);
            if self.bytes > *most {
                return Err(crate::errors::out_of_pool(share.as_deref()));
            }
        }
        self.rows.push(values.to_vec());
        Ok(())
    }
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunInfo {
    /// Rows returned or affected (`@@ROWCOUNT`).
    pub rows: u64,
    /// The last identity value generated by INSERT (`SCOPE_IDENTITY()`).
    pub identity: Option<i64>,
}
