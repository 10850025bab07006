//! The state of one execution that expressions and operators share: [`Cx`].

mod helping;

pub(crate) use helping::{Common, Report, Views};

use crate::context::{Arithmetic, ExecCtx, FunctionInvoker, SessionInfo, Transactions, TriggerInvoker};
use crate::dml::indexed_view::ViewDelta;
use crate::errors::{self, Result};
use crate::exec::Operator;
use crate::exec::access::decode_into;
use crate::exec::error::txn_error;
use crate::exec::io::IoCounters;
use crate::exec::node::Decode;
use crate::exec::parallel::Together;
use crate::exec::shared::SharedRows;
use crate::memory::MemoryShare;
use crate::work::WorkSpace;
use keel_base::DatabaseId;
use keel_node::{Isolation, ReadView, Transaction};
use keel_types::Value;
use smallvec::SmallVec;
use std::sync::Arc;

/// Rows between two looks at the cancel flag.
const CANCEL_INTERVAL: u32 = 512;
/// Bytes one statement may hold where there is no [`WorkSpace`].
pub const STATEMENT_MEMORY_MAX: usize = 1 << 30;

/// The rows of a recursive CTE's previous round.
pub type WorkRows = Arc<Vec<Vec<Value>>>;

/// State of one execution.
pub struct Cx<'a> {
    /// The frame.
    pub slots: Vec<Value>,
    /// Variables and parameters.
    pub vars: &'a mut [Value],
    /// Transactions by database.
    pub txns: &'a mut dyn Transactions,
    /// Session state.
    pub session: &'a dyn SessionInfo,
    /// User-defined functions.
    pub functions: &'a dyn FunctionInvoker,
    /// Triggers.
    pub triggers: Option<&'a dyn TriggerInvoker>,
    /// Subqueries of expressions, by their number in the plan; taken out while one runs.
    pub subqueries: Vec<Option<Box<SubqueryState>>>,
    /// Bytes of rows and of the pages on the way to them that were read.
    pub bytes_read: u64,
    /// Of these, what the session has been told while the statement runs.
    bytes_told: u64,
    /// An aggregate skipped a NULL (warning 8153).
    pub saw_null: bool,
    /// Clustered key of the row the target access stands on (single-table UPDATE and DELETE).
    pub target_key: Vec<u8>,
    /// That row's newest version, locked.
    pub target_row: Option<keel_node::RowRef>,
    /// The row of which expressions decode columns themselves.
    pub late_row: Option<keel_node::RowRef>,
    views: SmallVec<[(DatabaseId, Option<Isolation>, ReadView); 1]>,
    /// Results of calls that are made once for all rows, by the address of the call.
    once: SmallVec<[(usize, Value); 1]>,
    until_cancel_check: u32,
    memory: usize,
    /// Bytes taken from the instance's pool.
    granted: usize,
    rare: Option<Box<Rare>>,
}

/// What few executions have: apart, so that it costs the others one word.
#[derive(Default)]
pub struct Rare {
    /// Work tables of recursive CTEs by id.
    pub work: Vec<WorkRows>,
    /// Rows of shared parts of the plan by their number, those that have been computed.
    pub shared: Vec<Option<SharedRows>>,
    /// Counters of SET STATISTICS IO, when it is on.
    pub io: Option<IoCounters>,
    /// Messages to hand to the client at the end (8153, 3604), without duplicates.
    pub messages: Vec<errors::Error>,
    /// What the session's resource pool has for the statement, once it has asked for memory.
    share: Option<Arc<MemoryShare>>,
    /// It did not have all that the statement wanted.
    refused: bool,
    /// What the statement does to indexed views and has not written yet.
    pub views: Vec<ViewDelta>,
    /// Of a plan with parallel parts.
    pub(crate) together: Option<Box<Together>>,
}

impl Drop for Cx<'_> {
    fn drop(&mut self) {
        let untold = self.bytes_read - self.bytes_told;
        if untold > 0 {
            self.session.note_reads(untold.div_ceil(crate::exec::io::PAGE_BYTES));
        }
        if self.granted > 0 || self.rare.is_some() {
            self.give_back();
        }
    }
}

/// A subquery of an expression while the statement runs.
pub struct SubqueryState {
    /// Its operators.
    pub root: Box<dyn Operator>,
    /// Slot of its value.
    pub result_slot: usize,
    /// What came out lately, with the values of the outer slots that it came out for.
    pub answers: Vec<(Vec<Value>, Value)>,
    /// How many of these are kept.
    pub kept: usize,
    /// Which of them is the next to give way.
    pub oldest: usize,
}

impl<'a> Cx<'a> {
    /// The memory that it was granted is others' again. A helper's is its session's.
    #[cold]
    fn give_back(&mut self) {
        if self.helps() {
            return;
        }
        self.end_sharing();
        let rare = self.rare.as_deref();
        let share = rare.and_then(|rare| rare.share.as_deref());
        if self.granted > 0
            && let Some(work) = self.session.work_space()
        {
            work.release(self.granted, share);
        }
        if let Some(share) = share {
            share.note(self.granted, rare.is_some_and(|rare| rare.refused));
        }
    }

    /// Starts an execution over a frame.
    pub fn new(ctx: &'a mut ExecCtx<'_>, slots: Vec<Value>) -> Cx<'a> {
        Cx {
            slots,
            vars: &mut *ctx.vars,
            txns: &mut *ctx.txns,
            session: ctx.session,
            functions: ctx.functions,
            triggers: ctx.triggers,
            subqueries: Vec::new(),
            bytes_read: 0,
            bytes_told: 0,
            saw_null: false,
            target_key: Vec::new(),
            target_row: None,
            late_row: None,
            views: SmallVec::new(),
            once: SmallVec::new(),
            until_cancel_check: CANCEL_INTERVAL,
            memory: 0,
            granted: 0,
            rare: None,
        }
    }

    /// Whether there is anything in it to be taken apart or told. Most expressions have touched nothing: taking a context apart field by
    /// field costs more than many of them.
    #[inline]
    #[must_use]
    pub fn is_touched(&self) -> bool {
        self.bytes_read != 0
            || self.granted != 0
            || self.slots.capacity() != 0
            || self.subqueries.capacity() != 0
            || self.target_key.capacity() != 0
            || self.target_row.is_some()
            || self.late_row.is_some()
            || !self.views.is_empty()
            || self.views.spilled()
            || !self.once.is_empty()
            || self.once.spilled()
            || self.rare.is_some()
    }

    /// The result of a call that is made once for all rows.
    pub fn once(
        &mut self,
        call: usize,
        compute: impl FnOnce(&dyn SessionInfo) -> Result<Value>,
    ) -> Result<Value> {
        if let Some((_, value)) = self.once.iter().find(|(at, _)| *at == call) {
            return Ok(value.clone());
        }
        let value = compute(self.session)?;
        self.once.push((call, value.clone()));
        Ok(value)
    }

    /// No more rows come: the results of such calls go.
    #[inline]
    pub fn forget_once(&mut self) {
        if !self.once.is_empty() {
            self.once.clear();
        }
    }

    /// What few executions have.
    pub fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Whether the statement has changes of indexed views to write.
    pub(crate) fn has_view_deltas(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| !rare.views.is_empty())
    }

    /// What it knows of its parallel parts, where the plan has any.
    #[inline]
    pub(crate) fn together(&mut self) -> Option<&mut Together> {
        self.rare.as_mut()?.together.as_deref_mut()
    }

    /// Counters of SET STATISTICS IO, when it is on.
    #[inline]
    pub fn io(&mut self) -> Option<&mut IoCounters> {
        self.rare.as_mut()?.io.as_mut()
    }

    /// Whether the client may have to be told something at the end.
    #[inline]
    pub fn has_to_tell(&self) -> bool {
        self.rare.is_some() || self.saw_null
    }

    /// Takes the messages for the client.
    pub fn take_messages(&mut self) -> Vec<errors::Error> {
        self.rare.as_mut().map(|rare| std::mem::take(&mut rare.messages)).unwrap_or_default()
    }

    /// The caller's context again, for functions and triggers that run statements of their own.
    pub fn exec_ctx<T>(&mut self, vars: &mut [Value], f: impl FnOnce(&mut ExecCtx<'_>) -> T) -> T {
        let mut ctx = ExecCtx {
            vars,
            txns: &mut *self.txns,
            session: self.session,
            functions: self.functions,
            triggers: self.triggers,
        };
        f(&mut ctx)
    }

    /// Called once per row by operators that loop: error when the statement was cancelled.
    #[inline]
    pub fn tick(&mut self) -> Result<()> {
        self.until_cancel_check -= 1;
        if self.until_cancel_check == 0 { self.check_cancel() } else { Ok(()) }
    }

    #[cold]
    fn check_cancel(&mut self) -> Result<()> {
        self.until_cancel_check = CANCEL_INTERVAL;
        if !self.helps() {
            self.tell_reads();
        }
        self.session.look_up()
    }

    /// Tells of whole pages now, for who watches a long statement; the rest, never nothing, is told at the end.
    fn tell_reads(&mut self) {
        let untold = self.bytes_read - self.bytes_told;
        let pages = untold.saturating_sub(1) / crate::exec::io::PAGE_BYTES;
        if pages > 0 {
            self.session.note_reads(pages);
            self.bytes_told += pages * crate::exec::io::PAGE_BYTES;
        }
    }

    /// Decodes columns of the row that the access has kept.
    pub fn decode_late(&mut self, columns: &[Decode]) {
        if let Some(row) = &self.late_row {
            decode_into(row, columns, &mut self.slots);
        }
    }

    /// The transaction of a database.
    #[inline]
    pub fn txn(&mut self, database: DatabaseId) -> Result<&mut Transaction> {
        self.txns.transaction(database)
    }

    /// The transaction of a database and the statement's view of it, or that of another level.
    #[inline]
    pub fn view(
        &mut self,
        database: DatabaseId,
        level: Option<Isolation>,
    ) -> Result<(&mut Transaction, &ReadView)> {
        let level = match level {
            Some(level) if level != self.txns.transaction(database)?.isolation() => Some(level),
            _ => None,
        };
        let i = match self.views.iter().position(|(d, own, _)| *d == database && *own == level) {
            Some(i) => i,
            None => {
                let first = self.txns.first_view(database, level);
                let txn = self.txns.transaction(database)?;
                let view = match (first, level) {
                    (Some(first), _) => first,
                    (None, Some(level)) => txn.view_as(level),
                    (None, None) => txn.statement_snapshot(),
                };
                self.views.push((database, level, view));
                self.views.len() - 1
            }
        };
        Ok((self.txns.transaction(database)?, &self.views[i].2))
    }

    /// Accounts for memory that an operator keeps and could not keep elsewhere.
    #[inline]
    pub fn charge(&mut self, bytes: usize) -> Result<()> {
        self.memory += bytes;
        if self.memory <= self.granted { Ok(()) } else { self.beyond_grant() }
    }

    #[cold]
    fn beyond_grant(&mut self) -> Result<()> {
        let Some(work) = self.session.work_space() else {
            let held = self.held_together();
            return if held > STATEMENT_MEMORY_MAX { Err(errors::out_of_memory()) } else { Ok(()) };
        };
        self.reserve(work);
        let held = self.held_together();
        let share = self.rare.as_ref().and_then(|rare| rare.share.as_deref());
        if held > work.memory_bytes_max_of(share) { Err(errors::out_of_pool(share)) } else { Ok(()) }
    }

    /// Learns what the session's resource pool has for the statement, before any memory is taken.
    fn know_share(&mut self) {
        if self.granted == 0
            && let Some(share) = self.session.memory_share()
        {
            self.rare().share = Some(share);
        }
    }

    /// Takes more of the working memory; how much, 0 when it is refused.
    fn reserve(&mut self, work: &WorkSpace) -> usize {
        let wanted = self.memory - self.granted;
        let taken = match self.common() {
            Some(common) => {
                let share = self.rare.as_ref().and_then(|rare| rare.share.as_deref());
                common.lock().take(|has| work.reserve(wanted, has, share))
            }
            None => {
                self.know_share();
                let share = self.rare.as_ref().and_then(|rare| rare.share.as_deref());
                work.reserve(wanted, self.granted, share)
            }
        };
        self.granted += taken;
        if taken == 0
            && let Some(rare) = &mut self.rare
        {
            rare.refused = true;
        }
        taken
    }

    /// Accounts for memory that an operator keeps, `own` bytes of which it has so far; false when it should write to
    /// files instead.
    #[inline]
    pub fn fits(&mut self, bytes: usize, own: usize) -> bool {
        self.memory += bytes;
        self.memory <= self.granted || self.grow(own)
    }

    #[cold]
    fn grow(&mut self, own: usize) -> bool {
        let Some(work) = self.session.work_space() else {
            return self.held_together() <= STATEMENT_MEMORY_MAX;
        };
        let taken = self.reserve(work);
        taken > 0 || own <= work.operator_bytes()
    }

    /// Where rows go that memory does not hold.
    pub fn work_space(&self) -> Result<Arc<WorkSpace>> {
        self.session.work_space().cloned().ok_or_else(errors::out_of_memory)
    }

    /// Gives memory back.
    #[inline]
    pub fn discharge(&mut self, bytes: usize) {
        self.memory = self.memory.saturating_sub(bytes);
        if self.rare.is_some() {
            self.tell_less();
        }
    }

    /// Adds a message.
    pub fn say(&mut self, message: errors::Error) {
        self.rare().messages.push(message);
    }

    /// Adds a message once.
    pub fn warn(&mut self, message: errors::Error) {
        let messages = &mut self.rare().messages;
        if !messages.iter().any(|m| m.number == message.number) {
            messages.push(message);
        }
    }

    /// The result of arithmetic that failed: NULL and a message where the session's settings say so, or the error.
    #[cold]
    #[inline(never)]
    pub fn arithmetic(&mut self, error: errors::Error) -> Result<Value> {
        let Some(warning) = errors::arithmetic_warning(error.number) else { return Err(error) };
        match self.session.arithmetic() {
            Arithmetic::Raise => return Err(error),
            Arithmetic::Warn => self.warn(warning),
            Arithmetic::Ignore => {}
        }
        Ok(Value::Null)
    }

    /// A storage error as the product reports it.
    #[cold]
    #[must_use]
    pub fn storage_error(&self, e: &keel_node::TxnError) -> errors::Error {
        txn_error(e, self.session.session_id())
    }
}

/// Rough size of a value in memory.
#[inline]
#[must_use]
pub fn value_bytes(v: &Value) -> usize {
    size_of::<Value>()
        + match v {
            Value::Str(s) if s.is_heap_allocated() => s.len(),
            Value::Bytes(b) => b.len(),
            _ => 0,
        }
}
