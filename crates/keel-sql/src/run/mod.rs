//! The interpreter: runs programs, decides what an error means, tells the client.
//!
//! ```text
//!   Runner::run(program, frame)
//!     loop: step ── ok ──► next instruction
//!             └─ error ──► handler in this frame?  ──► CATCH block
//!                          handler further out?    ──► leave this frame with the error (Halt::Raised)
//!                          neither                 ──► report; by the error's reach: next statement, end of this
//!                                                       program, or end of the batch with the transaction rolled back
//! ```
//!
//! A [`Runner`] borrows the session for one request. Functions and triggers get runners of their own that borrow the
//! outer statement's transactions; only triggers begin and end them.

mod ahead;
mod api_cursor;
mod call;
mod compile;
mod compile_only;
mod cursor;
mod cursor_query;
mod definitions;
mod fresh;
mod instead;
mod live_cursor;
mod needs;
mod query;
mod raise;
mod reach;
mod result_sets;
mod rpc;
mod select_into;
mod showplan;
mod step;
mod target;
mod transaction;
mod walking;

pub use api_cursor::{OpenCursor, Opened, bad_handle};
pub use call::{Argument, Returned, parse_error, procedure_name};
pub use instead::Instead;
pub(crate) use instead::{select_from, source_of};
pub use query::{Capture, Later, column_meta};
pub use raise::Template;
pub use rpc::{call_by_name, called, run_rpc};
pub(crate) use showplan::plan_document;
pub use showplan::{Plans, cached_document};
pub use step::use_database;
pub(crate) use target::direct as direct_target;
pub use transaction::{Savepoint, commit_publishing, commit_work};

use crate::errors;
use crate::program::{Op, Program, Slot, Unit};
use crate::session::info::{Info, Pending};
use crate::session::options::Switches;
use crate::session::scope::{FrameTables, Scope};
use crate::session::txns::TxnSet;
use crate::sink::{DoneInfo, DoneKind, ResultSink};
use keel_parser::ast;
use keel_query::growing::Growing;
use keel_query::{ExecCtx, Transactions};
use keel_types::datetime::language::Dates;
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use reach::{Origin, Reach};
use std::sync::Arc;

/// Deepest nesting of procedures, functions and triggers (error 217).
pub const NEST_LEVEL_MAX: u32 = 32;

/// Why a program ended before its end.
#[derive(Debug)]
pub enum Halt {
    /// An error that an outer frame's TRY block, or the statement that invoked a function, has to deal with.
    Raised(Box<SqlError>),
    /// The batch is over; everything has been reported.
    Batch,
}

/// The transactions a runner works in.
pub enum Txns<'a> {
    /// The session's: transactions may be begun and ended.
    Own(&'a mut TxnSet),
    /// Those of the statement that called this function or trigger.
    Lent(&'a mut dyn Transactions),
}

impl Txns<'_> {
    fn as_dyn(&mut self) -> &mut dyn Transactions {
        match self {
            Txns::Own(set) => *set,
            Txns::Lent(lent) => *lent,
        }
    }
}

/// One activation of a program.
pub struct Frame {
    /// Scalar variables. Those that grow are behind while an instruction runs that reads none of them.
    pub vars: Vec<Value>,
    growing: Growing,
    /// Table variables, made when first used.
    pub tables: FrameTables,
    /// Cursor variables: ids of cursors.
    pub cursors: Vec<Option<u64>>,
    /// Table variables that belong to the caller (table-valued parameters).
    pub borrowed_tables: usize,
    /// What a procedure's status is that says nothing of it.
    pub status: i32,
    /// What a scalar function returns.
    pub result: Value,
    /// Nesting level.
    pub level: u32,
    handlers: smallvec::SmallVec<[Handler; 2]>,
}

struct Handler {
    catch: u32,
    /// In its CATCH block: errors go further out.
    catching: bool,
}

impl Frame {
    /// A frame with all variables NULL.
    #[must_use]
    pub fn new(program: &Program, level: u32) -> Frame {
        Frame {
            vars: vec![Value::Null; program.variables.len()],
            growing: Growing::default(),
            tables: FrameTables::default(),
            cursors: vec![None; program.cursors.len()],
            borrowed_tables: 0,
            status: 0,
            result: Value::Null,
            level,
            handlers: smallvec::SmallVec::new(),
        }
    }
    /// Sets a variable to a value that already has its type.
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.growing.forget(slot as usize);
        self.vars[slot as usize] = value;
    }
    /// Gives all variables their values.
    #[inline]
    fn settle(&mut self) {
        if !self.growing.is_empty() {
            self.growing.settle(&mut self.vars);
        }
    }
    /// Gives these variables their values.
    #[inline]
    fn settle_read(&mut self, reads: &[usize]) {
        if !self.growing.is_empty() {
            self.growing.settle_read(&mut self.vars, reads);
        }
    }
}

/// Runs programs for one request, function or trigger.
pub struct Runner<'a> {
    /// The session.
    pub info: &'a Info,
    /// Its transactions.
    pub txns: Txns<'a>,
    /// The client.
    pub sink: &'a mut dyn ResultSink,
    /// TRY blocks that would catch an error, over all frames of this runner.
    try_depth: u32,
    /// Statements are a procedure's or a remote call's: their tokens say so.
    in_proc: bool,
    /// Every error is the caller's (functions, triggers).
    raise_all: bool,
    /// Inside INSERT … EXEC.
    capturing: bool,
    /// Runs a trigger.
    in_trigger: bool,
    /// Line of the running statement.
    line: u32,
    /// EXECUTE … WITH RECOMPILE: what is called next is compiled for that call.
    anew: bool,
}

/// Where a program goes on after an instruction, or after its error.
enum Next {
    Following,
    Jump(u32),
    Return(i32),
}

impl<'a> Runner<'a> {
    /// For a client's request.
    pub fn new(info: &'a Info, txns: &'a mut TxnSet, sink: &'a mut dyn ResultSink) -> Runner<'a> {
        Runner {
            info,
            txns: Txns::Own(txns),
            sink,
            try_depth: 0,
            in_proc: false,
            raise_all: false,
            capturing: false,
            in_trigger: false,
            line: 0,
            anew: false,
        }
    }

    /// For a function or trigger inside a statement.
    pub fn nested(
        info: &'a Info,
        txns: &'a mut dyn Transactions,
        sink: &'a mut dyn ResultSink,
    ) -> Runner<'a> {
        Runner {
            info,
            txns: Txns::Lent(txns),
            sink,
            try_depth: 0,
            in_proc: true,
            raise_all: true,
            capturing: false,
            in_trigger: info.module().is_some_and(|m| m.kind == crate::program::ProgramKind::Trigger),
            line: 0,
            anew: false,
        }
    }

    /// How the session reads and writes dates.
    pub(super) fn dates(&self) -> Dates {
        self.info.options.borrow().dates
    }

    /// The transactions, for who may begin and end them: everybody but functions.
    pub(crate) fn own_txns(&mut self) -> Option<&mut TxnSet> {
        match &mut self.txns {
            Txns::Own(set) => Some(set),
            Txns::Lent(lent) if self.in_trigger => TxnSet::behind(*lent),
            Txns::Lent(_) => None,
        }
    }

    /// The transactions, for who makes and leaves the views of a statement: everybody.
    fn viewed_txns(&mut self) -> Option<&mut TxnSet> {
        match &mut self.txns {
            Txns::Own(set) => Some(set),
            Txns::Lent(lent) => TxnSet::behind(*lent),
        }
    }

    /// Runs a program to its end and gives its return status.
    pub fn run(&mut self, program: &Arc<Program>, frame: &mut Frame) -> std::result::Result<i32, Halt> {
        let tries = self.try_depth;
        let all_tries = self.info.try_depth.get();
        let line = self.line;
        let caught = self.info.caught.borrow().len();
        let has_cursors = self.info.show_cursors(program, frame.level);
        let before = self.info.shared.current.enter(program);
        let watched = self.info.module_starting(program, &before);
        let outcome = self.interpret(program, frame);
        frame.settle();
        self.info.module_completed(program, watched);
        self.info.shared.current.leave(before);
        if has_cursors {
            self.info.cursor_variables.borrow_mut().pop();
        }
        self.try_depth = tries;
        self.info.try_depth.set(all_tries);
        self.line = line;
        self.info.caught.borrow_mut().truncate(caught);
        outcome
    }

    fn interpret(&mut self, program: &Arc<Program>, frame: &mut Frame) -> std::result::Result<i32, Halt> {
        let mut pc = 0u32;
        loop {
            // Where everything is passed over, so is the RETURN at the end.
            let Some(instruction) = program.code.get(pc as usize) else { return Ok(0) };
            self.line = instruction.line;
            self.info.shared.current.step(pc);
            self.info.unresolved.set(false);
            let watched = self.info.engine.events.wants_statements();
            let began = if watched { self.info.statement_starting(program, instruction) } else { None };
            let stats = instruction.stats.as_deref();
            let entered =
                if stats.is_some() { self.info.enter_statement(program, &instruction.op) } else { None };
            let stepped = self.step(program, frame, &instruction.op);
            if let (Some(stats), Some(entered)) = (stats, entered) {
                self.info.leave_statement(&instruction.op, stats, entered, &stepped);
            }
            let next = match stepped {
                Err(Halt::Raised(e)) => {
                    let e = errors::located(e, instruction.line, program.identity.name.as_deref());
                    self.handle(frame, e, &instruction.op)
                }
                next => next,
            };
            if watched {
                self.info.statement_completed(program, instruction, began);
            }
            match next? {
                Next::Following => pc += 1,
                Next::Jump(to) => {
                    if to <= pc {
                        self.info.shared.unsettled.settle_soon();
                    }
                    pc = to;
                }
                Next::Return(status) => return Ok(status),
            }
        }
    }

    /// Decides what an error does. See the module's picture.
    fn handle(&mut self, frame: &mut Frame, e: Box<SqlError>, op: &Op) -> std::result::Result<Next, Halt> {
        let origin = match op {
            Op::RaisError(_) => Origin::RaisError,
            Op::Throw(_) => Origin::Throw,
            _ => Origin::Statement,
        };
        let aborts = self.info.trigger_abort.take() || self.info.on(Switches::XACT_ABORT);
        let reach = Reach::of(&e, aborts, origin);
        self.info.error.set(e.number);
        self.info.row_count.set(0);
        if self.info.cancelled() || reach == Reach::Session {
            return self.end_batch(e, reach);
        }
        if self.info.unresolved.take() && matches!(op, Op::Select { .. } | Op::Dml { .. }) {
            self.leave_handlers(frame, 0);
        }
        if self.raise_all && !self.catches(frame) {
            if origin == Origin::RaisError && self.in_trigger && self.info.try_depth.get() == 0 {
                self.report(&e);
                return Ok(Next::Following);
            }
            self.info.trigger_abort.set(self.in_trigger && reach == Reach::Transaction);
            return Err(Halt::Raised(e));
        }
        if self.try_depth > 0 && e.severity < 20 {
            // RAISERROR ends nothing by itself, but with XACT_ABORT a transaction whose error is caught is lost.
            let dooms = origin == Origin::RaisError && e.severity > 10 && self.info.on(Switches::XACT_ABORT);
            self.statement_failed(if dooms { Reach::Transaction } else { reach }, &e);
            while let Some(handler) = frame.handlers.last_mut() {
                if handler.catching {
                    frame.handlers.pop();
                    self.info.caught.borrow_mut().pop();
                    continue;
                }
                handler.catching = true;
                let catch = handler.catch;
                self.leave_try();
                self.info.error_reported(&e, true, false);
                self.info.caught.borrow_mut().push(Arc::from(e));
                return Ok(Next::Jump(catch));
            }
            return Err(Halt::Raised(e));
        }
        match reach {
            Reach::Batch | Reach::Transaction | Reach::Session => self.end_batch(e, reach),
            Reach::Statement => {
                // Ten less its severity: what the procedure answers if it says nothing else.
                frame.status = 10 - i32::from(e.severity);
                self.report(&e);
                let changes = matches!(op, Op::Dml { .. } | Op::SelectInto(_) | Op::InsertExec { .. });
                if changes && UNDOING.contains(&e.number) {
                    self.report(&errors::statement_terminated(e.line, e.procedure.as_deref()));
                }
                self.statement_failed(reach, &e);
                self.done_error();
                Ok(Next::Following)
            }
            Reach::Program => {
                self.report(&e);
                self.statement_failed(reach, &e);
                self.done_error();
                if frame.level <= 1 && !self.in_proc {
                    return Err(Halt::Batch);
                }
                Ok(Next::Return(failure_status(&e)))
            }
        }
    }

    fn enter_try(&mut self) {
        self.try_depth += 1;
        self.info.try_depth.set(self.info.try_depth.get() + 1);
    }

    fn leave_try(&mut self) {
        self.try_depth -= 1;
        self.info.try_depth.set(self.info.try_depth.get().saturating_sub(1));
    }

    fn catches(&self, frame: &Frame) -> bool {
        frame.handlers.iter().any(|h| !h.catching)
    }

    /// Reports an error that ends the batch; the transaction goes with it.
    fn end_batch(&mut self, e: Box<SqlError>, reach: Reach) -> std::result::Result<Next, Halt> {
        if self.raise_all {
            return Err(Halt::Raised(e));
        }
        let cancelled = self.info.cancelled();
        if reach == Reach::Session && !cancelled {
            self.info.shared.killed.store(true, std::sync::atomic::Ordering::Release);
        }
        if !cancelled {
            self.report(&e);
        }
        let told = self.tell_killed();
        let keeps = cancelled && !self.info.on(Switches::XACT_ABORT) || reach == Reach::Batch;
        if keeps && self.info.transaction.borrow().count > 0 {
            self.statement_failed(Reach::Statement, &e);
        } else {
            self.rollback_everything();
        }
        if !cancelled || told {
            self.done_error();
        }
        Err(Halt::Batch)
    }

    /// Says that the session is killed, if it is and nobody has said so. An error has to come before the DONE of what it ended:
    /// Microsoft's JDBC driver reads a call up to that DONE, and takes one without an error for a success.
    fn tell_killed(&mut self) -> bool {
        let tells = self.info.cancelled() && self.info.is_killed() && !self.info.told_killed.replace(true);
        if tells {
            self.report(&errors::killed());
        }
        tells
    }

    /// Whether an error will be caught, or is the caller's: then nothing of it is told beforehand.
    pub(crate) fn is_caught(&self) -> bool {
        self.raise_all || self.info.try_depth.get() > 0
    }

    /// Sends an error or message to the client; one without a place gets that of the running statement.
    pub fn report(&mut self, e: &SqlError) {
        self.flush_pending();
        self.say(e);
    }

    pub(super) fn say(&mut self, e: &SqlError) {
        self.info.engine.errors.note(e.severity);
        let logged = self.log_grave(e);
        self.info.error_reported(e, false, logged);
        if e.line > 0 {
            self.sink.message(e);
            return;
        }
        let mut e = e.clone();
        e.line = self.line.max(1);
        e.procedure = e.procedure.or_else(|| self.info.module().and_then(|m| m.name).map(|n| n.to_string()));
        self.sink.message(&e);
    }

    /// Sends what functions and triggers had to say.
    pub fn flush_pending(&mut self) {
        if self.info.pending.borrow().is_empty() {
            return;
        }
        let pending = std::mem::take(&mut *self.info.pending.borrow_mut());
        for event in pending {
            match event {
                Pending::Message(e) => self.say(&e),
                Pending::Columns(columns) => self.sink.columns(&columns),
                // A closed sink shows at the statement's own rows.
                Pending::Row(row) => drop(self.sink.row(&row)),
                Pending::Done(done) => self.sink.done(done),
                Pending::Change(change) => self.sink.env_change(change),
            }
        }
    }

    /// A statement is complete. NOCOUNT keeps those of procedures to itself, and takes the count out of a batch's: JDBC tells the
    /// statements of its batches apart by them.
    fn done(&mut self, count: Option<u64>, command: u16) {
        let told = command == crate::sink::command::SELECT || !self.in_proc;
        if told || !self.info.on(Switches::NOCOUNT) {
            self.done_rows(count, command);
        } else {
            self.flush_pending();
        }
    }

    /// The end of a statement that gave rows, whose result needs one under NOCOUNT too: what comes behind it is not of it.
    fn done_rows(&mut self, count: Option<u64>, command: u16) {
        self.flush_pending();
        let count = count.filter(|_| !self.info.on(Switches::NOCOUNT));
        let done = self.done_info(count, command, false);
        self.sink.done(done);
    }

    /// Variables have got the values of so many rows. Drivers find the end of a procedure's results by such counts, and pass them over
    /// otherwise.
    fn done_assigning(&mut self, rows: u64) {
        if self.in_proc && self.info.on(Switches::NOCOUNT) {
            self.flush_pending();
        } else {
            self.done_rows(Some(rows), crate::sink::command::SELECT);
        }
    }

    /// A statement without a count is complete: there is a token for each, also for conditions, but for a batch's SET of variables
    /// (MS-TDS 2.2.7.6 and 2.2.7.7).
    fn succeed_plainly(&mut self) {
        self.succeed(0);
        self.done(None, crate::sink::command::OTHER);
    }

    fn done_info(&self, count: Option<u64>, command: u16, error: bool) -> DoneInfo {
        DoneInfo {
            kind: if self.in_proc { DoneKind::InProc } else { DoneKind::Done },
            count,
            command,
            error,
            in_transaction: self.info.transaction.borrow().count > 0,
            attention: false,
        }
    }

    fn done_error(&mut self) {
        let done = self.done_info(None, crate::sink::command::OTHER, true);
        self.sink.done(done);
    }

    /// A request that produced nothing else still ends with a token.
    pub fn final_done(&mut self, error: bool) {
        self.flush_pending();
        let mut done = self.done_info(None, crate::sink::command::OTHER, error);
        done.kind = DoneKind::Done;
        self.sink.done(done);
    }

    /// A statement outside the instruction loop is complete.
    pub fn done_statement(&mut self, count: Option<u64>, command: u16) {
        self.done(count, command);
    }

    /// The batch is over: its global cursors stay, its local ones and its table variables go.
    pub fn end_of_batch(&mut self, frame: &Frame) {
        self.info.cursors.borrow_mut().end_batch();
        let tables: Vec<_> = frame.tables.borrow().iter().flatten().cloned().collect();
        for table in tables {
            self.drop_storage(&table);
        }
        if let Txns::Own(set) = &mut self.txns
            && self.info.transaction.borrow().count == 0
        {
            set.rollback();
        }
    }

    /// The isolation level of a transaction manager request.
    pub fn set_isolation_by_number(&mut self, level: u8) {
        use keel_query::IsolationLevel as L;
        let level = match level {
            1 => L::ReadUncommitted,
            2 => L::ReadCommitted,
            3 => L::RepeatableRead,
            4 => L::Serializable,
            5 => L::Snapshot,
            _ => return,
        };
        self.info.change_options(|options| options.isolation = level);
        self.configure_txns();
    }

    /// The transactions, whoever owns them.
    pub(crate) fn txns_dyn(&mut self) -> &mut dyn Transactions {
        self.txns.as_dyn()
    }

    /// A context over variables that belong to no frame.
    pub(crate) fn context_with<'c>(&'c mut self, vars: &'c mut [Value]) -> ExecCtx<'c> {
        self.context(vars)
    }

    /// The value of an expression that is not kept.
    pub(crate) fn eval_once(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        unit: &Unit,
    ) -> Result<Value> {
        self.eval(program, frame, unit)
    }

    /// Ends the table variables' part of a statement.
    pub(crate) fn end_table_statement(&mut self) -> Result<()> {
        match &mut self.txns {
            Txns::Own(set) => set.end_statement(),
            Txns::Lent(_) => Ok(()),
        }
    }

    /// Does something as one statement: committed outside a transaction, undone when it fails.
    pub(crate) fn in_statement<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.check_writable()?;
        self.begin_implicit()?;
        let savepoint = self.savepoint("".into());
        match work(self) {
            Ok(done) => self.statement_succeeded().map(|()| done),
            Err(e) => {
                if let Some(savepoint) = savepoint {
                    self.rollback_to(&savepoint)?;
                }
                Err(e)
            }
        }
    }

    fn scope<'s>(&'s self, program: &'s Program, frame: &'s Frame) -> Scope<'s> {
        // Nothing is assigned where statements are only looked at.
        let known = if self.only_compiles() { program.parameters.len() } else { frame.vars.len() };
        let values = frame.vars.get(..known).unwrap_or_default();
        Scope::new(self.info, program, &frame.tables).with_values(values)
    }

    fn context<'c>(&'c mut self, vars: &'c mut [Value]) -> ExecCtx<'c> {
        ExecCtx {
            vars,
            txns: self.txns.as_dyn(),
            session: self.info,
            functions: &crate::modules::Functions,
            triggers: Some(&crate::triggers::Triggers),
        }
    }
}

/// Errors that arise while rows are being changed, so that there was something to undo: the client is told (3621).
const UNDOING: [i32; 20] = [
    220, 232, 242, 512, 515, 517, 535, 547, 1222, 2601, 2627, 2628, 8115, 8134, 8152, 8672, 16_929, 16_931,
    16_947, 33_504,
];

/// The return status of a procedure that an error ended.
fn failure_status(e: &SqlError) -> i32 {
    10 - i32::from(e.severity.max(11))
}

impl From<Box<SqlError>> for Halt {
    fn from(e: Box<SqlError>) -> Halt {
        Halt::Raised(e)
    }
}

/// The value of an expression without variables, tables or a session transaction: defaults of parameters.
pub fn constant(scope: &Scope<'_>, e: &ast::Expr, ty: SqlType) -> Result<Value> {
    // A bare word is a string here: `@p varchar(10) = abc`.
    let compiled = match &e.kind {
        ast::ExprKind::Column(c) if c.qualifier.is_none() => {
            let text = ast::Literal::String { value: c.name.text.clone(), national: false };
            let literal = ast::Expr { kind: ast::ExprKind::Literal(text), span: e.span };
            keel_query::compile_expr(scope, &literal, Some(ty))?
        }
        _ => keel_query::compile_expr(scope, e, Some(ty))?,
    };
    let mut txns = TxnSet::new(Arc::clone(&scope.info.engine), Arc::clone(&scope.info.shared));
    let mut ctx = ExecCtx {
        vars: &mut [],
        txns: &mut txns,
        session: scope.info,
        functions: &crate::modules::Functions,
        triggers: None,
    };
    compiled.eval(&mut ctx)
}

use keel_query::SessionInfo as _;
