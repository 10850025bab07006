//! One instruction.

use super::{Frame, Halt, Handler, Next, Runner};
use crate::engine::{DatabaseEntry, WAITFOR};
use crate::errors;
use crate::program::{CompiledCode, Op, Program, ProgramKind, SetOp, Slot, Unit};
use crate::session::info::Info;
use crate::session::options::Switches;
use crate::sink::EnvChange;
use keel_parser::ast;
use keel_query::{IsolationLevel, SessionInfo as _};
use keel_types::datetime::language::Language;
use keel_types::datetime::parse::DateOrder;
use keel_types::error::Result;
use keel_types::{SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

type Step = std::result::Result<Next, Halt>;

/// What SET TEXTSIZE 0 stands for, in bytes.
const TEXT_SIZE_DEFAULT: i32 = 4096;

impl Runner<'_> {
    /// Called once, in the loop over a program's code, and part of it: as a function of its own it costs each statement some eighty instructions.
    #[inline(always)]
    pub(super) fn step(&mut self, program: &Arc<Program>, frame: &mut Frame, op: &Op) -> Step {
        // A batch is compiled before its first statement: what that looked up holds for no statement.
        if let super::Txns::Own(set) = &mut self.txns
            && self.info.points.any()
            && self.info.transaction.borrow().count == 0
        {
            set.release_unread();
        }
        if self.passes_over(op) {
            return Ok(Next::Following);
        }
        if let Op::Statement(_) = op {
            self.info.settle()?;
        }
        if !op.reads_by_expression() {
            frame.settle();
        }
        match op {
            Op::Jump { target, depth } => {
                self.leave_handlers(frame, *depth);
                // Loops without statements that look must notice a cancel too.
                self.info.look_up()?;
                return Ok(Next::Jump(*target));
            }
            Op::JumpUnless { condition, target } => {
                self.info.begin_statement();
                let holds = self.test(program, frame, condition)?;
                self.succeed_plainly();
                return Ok(if holds { Next::Following } else { Next::Jump(*target) });
            }
            Op::EnterTry { handler } => {
                frame.handlers.push(Handler { catch: *handler, catching: false });
                self.enter_try();
            }
            // Its beginning may have been passed over.
            Op::LeaveTry => self.leave_handlers(frame, (frame.handlers.len() as u16).saturating_sub(1)),
            Op::Return(value) => return self.return_op(program, frame, value.as_ref()),
            Op::Assign { slot, value, declares } => {
                self.info.begin_statement();
                self.assign(program, frame, *slot, value)?;
                self.succeed(1);
                // A module tells of it; a batch's is not told.
                if self.in_proc && !declares {
                    self.done_assigning(1);
                }
            }
            Op::Select { query, assigns } => self.select(program, frame, query, *assigns)?,
            Op::SelectInto(select) => self.select_into(program, frame, select)?,
            Op::Dml { statement, command } => self.dml(program, frame, statement, *command)?,
            Op::InsertExec { insert, call } => self.insert_exec(program, frame, insert, call)?,
            Op::Positioned(p) => self.positioned(program, frame, p)?,
            Op::Call(call) => self.call(program, frame, call)?,
            Op::ExecText { text, run_as } => self.exec_text(program, frame, text, run_as.as_deref())?,
            Op::Print(e) => self.print(program, frame, e)?,
            Op::RaisError(r) => self.raise_error(program, frame, r)?,
            Op::Throw(t) => self.throw(program, frame, t.as_deref())?,
            Op::WaitFor(e, until) => self.wait_for(program, frame, e, *until)?,
            Op::Converse(plan) => self.converse(program, frame, plan)?,
            Op::Begin(name, mark, distributed) => {
                self.begin(frame, name.as_ref(), mark.as_ref(), *distributed)?;
            }
            Op::Commit(name, delayed) => self.commit_op(frame, name.as_ref(), *delayed)?,
            Op::Rollback(name) => self.rollback_op(frame, name.as_ref())?,
            Op::Save(name) => self.save(frame, name)?,
            Op::DeclareCursor(c) => self.declare_cursor(program, frame, c)?,
            Op::OpenCursor(c) => self.open_cursor(frame, c)?,
            Op::CloseCursor(c) => self.close_cursor(frame, c)?,
            Op::DeallocateCursor(c) => self.deallocate_cursor(frame, c)?,
            Op::Fetch(f) => self.fetch(program, frame, f)?,
            Op::CopyCursor { to, from } => self.copy_cursor(frame, *to, from)?,
            Op::Use(name) => self.use_database(name)?,
            Op::Set(set) => self.set(program, frame, set)?,
            Op::Statement(statement) => {
                self.info.begin_statement();
                self.administer(program, frame, statement)?;
            }
        }
        Ok(Next::Following)
    }

    /// A statement without rows went well.
    pub(super) fn succeed(&mut self, rows: u64) {
        self.info.error.set(0);
        self.info.row_count.set(rows);
        // An expression may have read tables; outside a transaction its snapshot ends with it.
        if let super::Txns::Own(set) = &mut self.txns
            && !set.is_empty()
            && self.info.transaction.borrow().count == 0
        {
            set.rollback();
        }
    }

    pub(super) fn leave_handlers(&mut self, frame: &mut Frame, depth: u16) {
        while frame.handlers.len() > depth as usize {
            let handler = frame.handlers.pop().expect("the length was checked");
            if handler.catching {
                self.info.caught.borrow_mut().pop();
            } else {
                self.leave_try();
            }
        }
    }

    fn return_op(&mut self, program: &Arc<Program>, frame: &mut Frame, value: Option<&Unit>) -> Step {
        self.info.begin_statement();
        let mut status = frame.status;
        if let Some(unit) = value {
            let value = self.eval(program, frame, unit)?;
            if program.identity.kind == ProgramKind::Function {
                frame.result = value;
            } else if let Value::Int(n) = value {
                status = n as i32;
            }
        }
        self.leave_handlers(frame, 0);
        Ok(Next::Return(status))
    }

    /// Gives a variable the value of an expression of its type.
    fn assign(&mut self, program: &Arc<Program>, frame: &mut Frame, slot: Slot, unit: &Unit) -> Result<()> {
        let compiled = self.locked_unit(program, frame, unit)?;
        let CompiledCode::Expr(e) = &compiled.code else {
            unreachable!("an expression compiles to an expression")
        };
        if e.appends_to(slot as usize) {
            let Frame { vars, growing, .. } = frame;
            growing.settle_others(vars, e.reads(), slot as usize);
            let appended = e.append(&mut self.context(vars), growing);
            self.leave_views();
            return appended;
        }
        frame.settle_read(e.reads());
        let value = e.eval(&mut self.context(&mut frame.vars));
        self.leave_views();
        frame.set(slot, value?);
        Ok(())
    }

    /// The value of an expression.
    pub(super) fn eval(&mut self, program: &Arc<Program>, frame: &mut Frame, unit: &Unit) -> Result<Value> {
        let compiled = self.locked_unit(program, frame, unit)?;
        match &compiled.code {
            CompiledCode::Expr(e) => {
                frame.settle_read(e.reads());
                let value = e.eval(&mut self.context(&mut frame.vars));
                self.leave_views();
                value
            }
            _ => unreachable!("an expression compiles to an expression"),
        }
    }

    /// The value of an expression, with its type.
    pub(crate) fn eval_typed(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        unit: &Unit,
    ) -> Result<(Value, SqlType)> {
        let compiled = self.locked_unit(program, frame, unit)?;
        match &compiled.code {
            CompiledCode::Expr(e) => {
                frame.settle_read(e.reads());
                let value = e.eval(&mut self.context(&mut frame.vars));
                self.leave_views();
                Ok((value?, e.ty()))
            }
            _ => unreachable!("an expression compiles to an expression"),
        }
    }

    fn test(&mut self, program: &Arc<Program>, frame: &mut Frame, unit: &Unit) -> Result<bool> {
        let compiled = self.locked_unit(program, frame, unit)?;
        match &compiled.code {
            CompiledCode::Condition(c) => {
                frame.settle_read(c.reads());
                let holds = c.test(&mut self.context(&mut frame.vars));
                self.leave_views();
                holds
            }
            _ => unreachable!("a condition compiles to a condition"),
        }
    }

    fn use_database(&mut self, name: &str) -> Result<()> {
        let old = self.info.here();
        use_database(self.info, name)?;
        self.succeed(0);
        let new = self.info.here();
        let text = format!("Changed database context to '{}'.", new.database);
        old.left_for(&new, self.sink);
        let mut message = keel_types::SqlError::new(5701, 0, 2, text);
        message.line = 1;
        self.report(&message);
        Ok(())
    }

    fn wait_for(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        unit: &Unit,
        until: bool,
    ) -> Result<()> {
        self.info.begin_statement();
        let value = self.eval(program, frame, unit)?;
        let time = crate::convert::to_time(&value).ok_or_else(|| {
            keel_types::SqlError::new(
                148,
                15,
                1,
                format!(
                    "Incorrect time syntax in time string '{}' used with WAITFOR.",
                    crate::convert::display(&value)
                ),
            )
        })?;
        let ticks = if until {
            let now = self.info.now_local().rem_euclid(864_000_000_000);
            (time - now).rem_euclid(864_000_000_000)
        } else {
            time
        };
        let clock = Arc::clone(&self.info.engine.options().env.clock);
        let began = clock.now();
        let end = began + Duration::from_nanos(ticks as u64 * 100);
        self.info.shared.unsettled.settle_soon();
        let _resting = self.info.shared.rest(WAITFOR, self.info.engine.now_local());
        loop {
            if self.info.cancelled() {
                return Err(errors::cancelled());
            }
            let now = clock.now();
            if now >= end {
                let waited = now.saturating_sub(began);
                self.info.engine.waitfor.note(WAITFOR, waited);
                break;
            }
            std::thread::sleep((end - now).min(Duration::from_millis(10)));
        }
        self.succeed_plainly();
        Ok(())
    }

    fn set(&mut self, program: &Arc<Program>, frame: &mut Frame, set: &SetOp) -> Result<()> {
        self.info.begin_statement();
        match set {
            SetOp::Switches { names, on } => {
                for name in names {
                    self.set_switch(name, *on)?;
                }
            }
            SetOp::Statistics { names, on } => {
                for name in names {
                    if let Some(switch) = Switches::by_name(name) {
                        self.info.change_options(|options| options.switches.set(switch, *on));
                    }
                }
            }
            SetOp::Isolation(level) => {
                let level = match level {
                    ast::Isolation::ReadUncommitted => IsolationLevel::ReadUncommitted,
                    ast::Isolation::ReadCommitted => IsolationLevel::ReadCommitted,
                    ast::Isolation::RepeatableRead => IsolationLevel::RepeatableRead,
                    ast::Isolation::Snapshot => IsolationLevel::Snapshot,
                    ast::Isolation::Serializable => IsolationLevel::Serializable,
                };
                self.info.change_options(|options| options.isolation = level);
                self.configure_txns();
            }
            SetOp::IdentityInsert { table, on } => self.set_identity_insert(program, frame, table, *on)?,
            SetOp::Value { name, value } => {
                let value = self.eval(program, frame, value)?;
                self.set_value(name, &value)?;
            }
        }
        self.succeed_plainly();
        Ok(())
    }

    fn set_switch(&mut self, name: &str, on: bool) -> Result<()> {
        if name == "ANSI_DEFAULTS" {
            self.info.change_options(|options| options.switches.set(Switches::ANSI_DEFAULTS, on));
            return Ok(());
        }
        let Some(switch) = Switches::by_name(name) else { return Err(errors::unknown_option(name)) };
        self.info.change_options(|options| options.switches.set(switch, on));
        Ok(())
    }

    /// Hands options that transactions know of to them.
    pub(super) fn configure_txns(&mut self) {
        let options = self.info.options.borrow();
        if let super::Txns::Own(set) = &mut self.txns {
            set.configure(options.isolation, options.lock_timeout_ms, options.deadlock_priority);
        }
    }

    fn set_value(&mut self, name: &str, value: &Value) -> Result<()> {
        let number = match value {
            Value::Int(n) => *n,
            _ => 0,
        };
        let word = value.as_str().unwrap_or("").to_ascii_lowercase();
        let invalid = || errors::option_of_set(name, crate::convert::display(value));
        let mut options = self.info.options.borrow().clone();
        match name {
            "ROWCOUNT" => options.row_count = number.max(0) as u64,
            "LOCK_TIMEOUT" => options.lock_timeout_ms = i32::try_from(number).map_err(|_| invalid())?,
            "DEADLOCK_PRIORITY" => {
                options.deadlock_priority = match word.as_str() {
                    "low" => -5,
                    "normal" => 0,
                    "high" => 5,
                    "" => i8::try_from(number).ok().filter(|n| (-10..=10).contains(n)).ok_or_else(invalid)?,
                    _ => return Err(invalid()),
                }
            }
            "DATEFORMAT" => {
                options.dates.order = DateOrder::by_name(&word).ok_or_else(|| errors::date_order(&word))?;
            }
            "DATEFIRST" => {
                options.date_first =
                    u8::try_from(number).ok().filter(|n| (1..=7).contains(n)).ok_or_else(invalid)?;
            }
            "TEXTSIZE" => {
                options.text_size = match i32::try_from(number).map_err(|_| invalid())? {
                    0 => TEXT_SIZE_DEFAULT,
                    bytes if bytes < -1 => return Err(invalid()),
                    bytes => bytes,
                }
            }
            "LANGUAGE" => {
                let name = value.as_str().unwrap_or_default();
                let language = Language::find(name).ok_or_else(|| errors::no_language(name))?;
                let old = options.dates.language;
                // The language that is set already leaves DATEFORMAT and DATEFIRST as they are.
                if old != language {
                    options.set_language(language);
                }
                let (old, new) = (old.name.to_owned(), language.name.to_owned());
                let changed = errors::language_changed(&new);
                self.sink.env_change(EnvChange::Language { old, new });
                self.report(&changed);
            }
            "CONTEXT_INFO" => {
                let bytes = value.as_bytes().unwrap_or_default();
                *self.info.shared.context_info.lock() = bytes[..bytes.len().min(128)].to_vec();
            }
            // Accepted knowingly: nothing here depends on them.
            "QUERY_GOVERNOR_COST_LIMIT" | "FIPS_FLAGGER" | "OFFSETS" => {}
            _ => return Err(errors::unknown_option(name)),
        }
        self.info.change_options(|now| *now = options);
        self.configure_txns();
        Ok(())
    }

    fn set_identity_insert(
        &mut self,
        program: &Arc<Program>,
        frame: &Frame,
        table: &ast::ObjectName,
        on: bool,
    ) -> Result<()> {
        let found = crate::ddl::find_table(&self.scope(program, frame), table);
        let table = found.ok_or_else(|| errors::no_table_for_index(table))?;
        if table.columns.iter().all(|c| c.identity.is_none()) {
            return Err(errors::no_identity_to_set(&table.name));
        }
        let wanted = (table.database, table.object_id);
        match self.info.identity_insert.get() {
            Some(current) if on && current != wanted => {
                let other = self.info.table_by_id(current.0, current.1);
                if let Some(other) = other {
                    let db = self.info.engine.database_by_id(current.0).map(|d| d.name().to_string());
                    return Err(errors::identity_insert_on(
                        &other.name,
                        db.unwrap_or_default(),
                        "dbo",
                        &table.name,
                    ));
                }
                self.info.identity_insert.set(Some(wanted));
            }
            _ if on => self.info.identity_insert.set(Some(wanted)),
            Some(current) if current == wanted => self.info.identity_insert.set(None),
            _ => {}
        }
        Ok(())
    }
}

/// Makes another database the session's current one.
pub fn use_database(info: &Info, name: &str) -> Result<()> {
    let new = info.find_database(name).ok_or_else(|| info.engine.not_open(name))?;
    if let Some(hadr) = info.engine.hadr() {
        crate::hadr::access::session(&hadr.state(), &new.name(), info.shared.login.read_only_intent)?;
    }
    new.may_be_opened()?;
    info.check_entry(&new)?;
    let old = info.current_database();
    if Arc::ptr_eq(&new, &old) {
        return Ok(());
    }
    // Until it is let in it stays where it is.
    let visit = info.engine.visit(&new, &info.shared)?;
    // It may have been waited for.
    new.may_be_opened()?;
    info.check_entry(&new)?;
    put_in(info, new);
    drop(visit);
    Ok(())
}

/// Puts the session into a database that it may be in.
pub(super) fn put_in(info: &Info, database: Arc<DatabaseEntry>) {
    database.users.fetch_add(1, Ordering::AcqRel);
    info.shared.database.store(database.id.0, Ordering::Relaxed);
    let old = info.database.replace(database);
    old.users.fetch_sub(1, Ordering::AcqRel);
}
