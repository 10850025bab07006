//! Queries and data changes: compiling on demand, running, telling the client.

use super::showplan::{Statement, Watch};
use super::{Frame, Halt, Runner, Txns};
use crate::errors;
use crate::program::captured::CAPTURED_ROWS;
use crate::program::{
    Call, Compiled, CompiledCode, Dependencies, InUse, Need, Program, Standing, Unit, UnitSource,
};
use crate::session::info::{Info, Pending, RowSet};
use crate::session::options::Switches;
use crate::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed, command};
use keel_base::DatabaseId;
use keel_parser::ast::{self, StatementKind};
use keel_query::RowSink;
use keel_query::scope::VirtualColumn;
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Compiled statements over temporary tables kept per session; at the limit it starts anew.
const PRIVATE_UNITS_MAX: usize = 1_000;

/// Whether a query reads rows of anything: one that does not (`SELECT 1`) begins no transaction by itself.
fn reads_rows(query: &Unit) -> bool {
    fn reads(body: &ast::QueryBody) -> bool {
        match body {
            ast::QueryBody::Set { terms, .. } => terms.iter().any(reads),
            ast::QueryBody::Select(s) => {
                let asks = |item: &ast::SelectItem| match item {
                    ast::SelectItem::Expr { expr, .. } => expr.has_query(),
                    ast::SelectItem::Assign { value, .. } => value.has_query(),
                    ast::SelectItem::Star { .. } => false,
                };
                let filters = s.filter.as_ref().is_some_and(ast::Expr::has_query);
                !s.from.is_empty() || filters || s.items.iter().any(asks)
            }
        }
    }
    match &query.source {
        UnitSource::Statement(ast::Statement { kind: StatementKind::Select(s), .. }) => reads(&s.query.body),
        _ => true,
    }
}

impl Runner<'_> {
    /// The compiled form of a unit, compiled now when there is none or when what it depends on has changed.
    pub(super) fn unit<'u>(
        &mut self,
        program: &Arc<Program>,
        frame: &Frame,
        unit: &'u Unit,
    ) -> Result<InUse<'u>> {
        if !self.reads_otherwise(program)
            && let Some(compiled) = unit.newest()
            && self.is_fresh(&compiled)
        {
            match compiled.standing {
                Standing::Always => return Ok(compiled),
                Standing::While(database, version) if self.info.catalog_version(database) == version => {
                    return self.permitted(program, compiled);
                }
                _ => {}
            }
        }
        let compiled = self.find_unit(program, frame, unit)?;
        self.permitted(program, compiled)
    }

    /// A compiled form that holds still, for who may execute it.
    #[inline]
    fn permitted<'u>(&mut self, program: &Program, compiled: InUse<'u>) -> Result<InUse<'u>> {
        self.permit(program, &compiled.needs, &compiled.answered)?;
        self.txns.as_dyn().check_unchanged(&compiled.dependencies.objects)?;
        Ok(compiled)
    }

    /// Whether the session may do what takes these permissions: an error says no. Told to audits either way.
    pub(super) fn permit(&mut self, program: &Program, needs: &[Need], answered: &[Need]) -> Result<()> {
        let audited = self.info.engine.audits.any();
        let may = if self.info.unrestricted.get() { Ok(()) } else { self.authorize(program, needs) };
        if audited {
            self.info.audit_accesses(&program.identity, needs, answered, may.is_ok())?;
        }
        may
    }

    /// [`Info::authorize`]. A permission on the instance that is missing is named first (300), and then refused (297); only
    /// the latter can be caught.
    pub(super) fn authorize(&mut self, program: &Program, needs: &[Need]) -> Result<()> {
        let Err(e) = self.info.authorize(&program.identity, needs) else { return Ok(()) };
        if e.number != 300 {
            return Err(e);
        }
        if !self.is_caught() {
            self.report(&e);
        }
        Err(errors::not_permitted())
    }

    pub(super) fn find_unit<'u>(
        &mut self,
        program: &Arc<Program>,
        frame: &Frame,
        unit: &'u Unit,
    ) -> Result<InUse<'u>> {
        if self.reads_otherwise(program) {
            return Ok(InUse::Own(Arc::new(self.compile(program, frame, unit)?)));
        }
        for kept in [unit.newest(), unit.kept().map(InUse::Kept)] {
            if let Some(compiled) = kept
                && self.is_current(program, frame, &compiled.dependencies)
                && self.is_fresh(&compiled)
            {
                return Ok(compiled);
            }
        }
        let key = (program.id, std::ptr::from_ref(unit) as usize);
        let private =
            if program.id == 0 { None } else { self.info.private_units.borrow().get(&key).cloned() };
        let again = private.is_some() || unit.newest().is_some();
        if let Some(compiled) = private
            && self.is_current(program, frame, &compiled.dependencies)
            && self.is_fresh(&compiled)
        {
            return Ok(InUse::Own(compiled));
        }
        let compiled = self.compile(program, frame, unit).inspect_err(|e| {
            self.info.unresolved.set(super::ahead::is_of_names(e));
        });
        let compiled = Arc::new(compiled?);
        if (again || compiled.is_for_once()) && matches!(unit.source, UnitSource::Statement(_)) {
            unit.recompilations.fetch_add(1, Ordering::Relaxed);
            self.info.engine.programs.recompilations.fetch_add(1, Ordering::Relaxed);
        }
        if compiled.is_for_once() {
            return Ok(InUse::Own(compiled));
        }
        if compiled.dependencies.is_shareable() {
            unit.keep(Arc::clone(&compiled));
        } else if program.id != 0 {
            let mut units = self.info.private_units.borrow_mut();
            if units.len() >= PRIVATE_UNITS_MAX {
                units.clear();
            }
            units.insert(key, Arc::clone(&compiled));
        }
        Ok(InUse::Own(compiled))
    }

    /// Whether texts mean something else here than where compiled forms are kept for: behind USE and SET ANSI_NULLS, since a
    /// batch is kept as it began, and wherever NULL is an empty string.
    fn reads_otherwise(&self, program: &Program) -> bool {
        let began_elsewhere = || {
            program.identity.database != self.info.current_database().id
                || program.ansi_nulls != self.info.on(Switches::ANSI_NULLS)
        };
        !self.info.on(Switches::CONCAT_NULL) || program.identity.object_id == 0 && began_elsewhere()
    }

    /// Compiles a unit that nobody will ask for again.
    pub(super) fn unit_once(
        &mut self,
        program: &Arc<Program>,
        frame: &Frame,
        unit: &Unit,
    ) -> Result<Arc<Compiled>> {
        let compiled = self.compile(program, frame, unit)?;
        self.permit(program, &compiled.needs, &compiled.answered)?;
        self.txns.as_dyn().check_unchanged(&compiled.dependencies.objects)?;
        Ok(Arc::new(compiled))
    }

    /// Whether that is the current database, and its user's default schema there.
    fn is_at(&self, database: DatabaseId, schema: i32) -> bool {
        let entry = self.info.database.borrow();
        entry.id == database && self.info.default_schema(&entry) == schema
    }

    /// Whether the session is where its names were looked for.
    pub(super) fn is_there(&self, dependencies: &Dependencies) -> bool {
        dependencies.current.is_none_or(|(d, schema)| self.is_at(d, schema))
    }

    fn is_current(&self, program: &Program, frame: &Frame, dependencies: &Dependencies) -> bool {
        self.is_there(dependencies) && self.means_the_same(program, frame, dependencies)
    }

    /// Whether what it was compiled against is still so, wherever the session is now.
    pub(super) fn means_the_same(
        &self,
        program: &Program,
        frame: &Frame,
        dependencies: &Dependencies,
    ) -> bool {
        dependencies.context.is_none_or(|c| c == self.info.context().map(|group| group.id))
            && dependencies.remote.is_none_or(|remote| self.info.engine.linked().is_current(remote))
            && dependencies.formats.iter().all(|format| format.is_as_it_was(self.info))
            && self.has_catalogs_of(dependencies)
            && dependencies
                .temporary
                .iter()
                .all(|(name, version)| self.temporary_version(program, frame, name) == Some(*version))
    }

    /// Whether nothing was defined otherwise in the databases that something was compiled against.
    pub(super) fn has_catalogs_of(&self, dependencies: &Dependencies) -> bool {
        dependencies.catalogs.iter().all(|(d, version)| self.info.catalog_version(*d) == *version)
    }

    fn temporary_version(&self, program: &Program, frame: &Frame, name: &str) -> Option<u64> {
        if name.starts_with('@') {
            let index = program.table(name)?;
            return frame
                .tables
                .borrow()
                .get(index)?
                .as_ref()
                .map(|t| crate::session::temp::variable_version(t));
        }
        if name == CAPTURED_ROWS {
            // Captured rows differ in shape from call to call.
            return None;
        }
        self.info.temporary_version(name)
    }

    pub(crate) fn check_database_writable(&self, database: DatabaseId) -> Result<()> {
        let Some(entry) = self.info.engine.database_by_id(database) else { return Ok(()) };
        if entry.is_read_only() {
            return Err(errors::database_read_only(entry.name()));
        }
        Ok(())
    }

    pub(super) fn select(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        query: &Unit,
        assigns: bool,
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        if self.info.on(Switches::IMPLICIT) && !self.only_compiles() && reads_rows(query) {
            self.begin_implicit()?;
        }
        let compiled = match self.only_compiles() || self.info.on(Switches::FMTONLY) {
            true => self.unit(program, frame, query)?,
            false => self.locked_unit(program, frame, query)?,
        };
        self.info.record_plan(program, query, &compiled);
        let CompiledCode::Plan(plan) = &compiled.code else { unreachable!("a query compiles to a plan") };
        let shown = Statement::new(program, query, plan);
        if self.explains(&shown)? {
            return Ok(());
        }
        if self.info.watched.borrow().is_some() && !self.info.on(Switches::FMTONLY) {
            self.subscribe(program, frame, query)?;
        }
        let watch = self.watch(plan, &frame.vars)?;
        if !assigns {
            self.may_return_results()?;
            // What triggers had to say before CATCH took over is not of this result.
            self.flush_pending();
            self.sink.columns(&compiled.columns);
        }
        if self.info.on(Switches::FMTONLY) {
            self.succeed(0);
            self.done(Some(0), command::SELECT);
            return Ok(());
        }
        let run = self.run_plan(plan, frame, watch.as_ref())?;
        self.note_lacked(program, query, &compiled);
        self.statement_succeeded()?;
        self.info.error.set(0);
        self.info.row_count.set(run.rows);
        crate::engine::add(&self.info.shared.used.rows, run.rows);
        match assigns {
            true => self.done_assigning(run.rows),
            false => self.done(Some(run.rows), command::SELECT),
        }
        Ok(self.show_run(&shown, watch)?)
    }

    /// A plan has been executed: indexes that would have helped are told.
    #[inline]
    fn note_lacked(&self, program: &Arc<Program>, unit: &Unit, compiled: &Compiled) {
        if let CompiledCode::Plan(plan) = &compiled.code
            && !plan.missing().is_empty()
        {
            let plan_hash = || crate::query_store::plan_hash(&compiled.code);
            self.info.engine.note_lacked(plan.missing(), program, unit, plan_hash);
        }
    }

    /// Error 524 in a trigger, and in what it calls, where the instance does not want it to return results.
    fn may_return_results(&self) -> Result<()> {
        let forbidden =
            || self.info.engine.configuration(crate::config::NO_RESULTS_FROM_TRIGGERS).running != 0;
        if !self.info.triggers.borrow().is_empty() && forbidden() {
            return Err(errors::results_from_trigger());
        }
        Ok(())
    }

    pub(super) fn run_plan(
        &mut self,
        plan: &keel_query::Plan,
        frame: &mut Frame,
        watch: Option<&Watch>,
    ) -> Result<keel_query::RunInfo> {
        let Runner { info, txns, sink, .. } = self;
        let mut ctx = keel_query::ExecCtx {
            vars: &mut frame.vars,
            txns: match txns {
                Txns::Own(set) => *set,
                Txns::Lent(lent) => *lent,
            },
            session: *info,
            functions: &crate::modules::Functions,
            triggers: Some(&crate::triggers::Triggers),
        };
        let mut rows = Rows { sink: *sink, messages: Vec::new() };
        let run = match watch {
            None => plan.run(&mut ctx, &mut rows),
            Some(watch) => plan.run_counted(&mut ctx, &mut rows, &watch.counts),
        };
        let messages = rows.messages;
        self.leave_views();
        for message in messages {
            self.say(&message);
        }
        run
    }

    pub(super) fn dml(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        statement: &Unit,
        command: u16,
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        if !self.only_compiles() {
            self.check_writable()?;
            self.begin_implicit()?;
            if self.info.watched.borrow().is_some() {
                self.refuse_subscription()?;
            }
        }
        let compiled = self.locked_unit(program, frame, statement)?;
        self.info.record_plan(program, statement, &compiled);
        let plan = match &compiled.code {
            CompiledCode::Plan(plan) => plan,
            CompiledCode::Remote(change) => {
                if let Some(plan) = change.plan()
                    && self.explains(&Statement::new(program, statement, plan))?
                {
                    return Ok(());
                }
                let run = self.run_remote(change, &mut frame.vars)?;
                self.statement_succeeded()?;
                self.note_dml(&run);
                self.done(Some(run.rows), command);
                return Ok(());
            }
            CompiledCode::Instead(_) if self.only_compiles() => return Ok(()),
            CompiledCode::Instead(instead) => {
                let run = self.run_instead(instead, &mut frame.vars)?;
                self.statement_succeeded()?;
                self.note_dml(&run);
                self.done(Some(run.rows), command);
                return Ok(());
            }
            _ => unreachable!("a data change compiles to a plan"),
        };
        let shown = Statement::new(program, statement, plan);
        if self.explains(&shown)? {
            return Ok(());
        }
        let watch = self.watch(plan, &frame.vars)?;
        if plan.returns_rows() {
            self.sink.columns(&compiled.columns);
        }
        let run = self.run_plan(plan, frame, watch.as_ref())?;
        self.note_lacked(program, statement, &compiled);
        self.statement_succeeded()?;
        self.note_dml(&run);
        if plan.returns_rows() {
            self.done_rows(Some(run.rows), command);
        } else {
            self.done(Some(run.rows), command);
        }
        Ok(self.show_run(&shown, watch)?)
    }

    /// Whether an INSERT names a table of another server.
    fn fills_elsewhere(&self, insert: &Unit) -> bool {
        let UnitSource::Statement(s) = &insert.source else { return false };
        let StatementKind::Insert(i) = &s.kind else { return false };
        let ast::TableRef::Named(name) = &i.target.table else { return false };
        name.server.as_ref().is_some_and(|server| !self.info.is_own_server(&server.text))
    }

    fn note_dml(&mut self, run: &keel_query::RunInfo) {
        self.info.error.set(0);
        self.info.row_count.set(run.rows);
        crate::engine::add(&self.info.shared.used.writes, run.rows);
        self.info.engine.note_changes(run.rows);
        if run.identity.is_some() {
            self.info.scope_identity.set(run.identity);
        }
    }

    pub(super) fn insert_exec(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        insert: &Unit,
        call: &Call,
    ) -> std::result::Result<(), Halt> {
        self.info.begin_statement();
        self.check_writable()?;
        if self.capturing {
            return Err(errors::nested_insert_exec().into());
        }
        self.begin_implicit()?;
        // The statement is one transaction, whatever the procedure does; rows of another server's table are one there.
        let own = self.info.transaction.borrow().count == 0 && !self.fills_elsewhere(insert);
        if own {
            self.begin_named("".into())?;
        }
        let outcome = self
            .capture(program, frame, call)
            .and_then(|rows| self.insert_captured(program, frame, insert, rows).map_err(Halt::from));
        match outcome {
            Ok(run) => {
                if own {
                    self.commit_one(false)?;
                }
                self.note_dml(&run);
                self.done(Some(run.rows), command::INSERT);
                Ok(())
            }
            Err(halt) => {
                if own && self.info.transaction.borrow().count > 0 {
                    self.rollback_everything();
                }
                Err(halt)
            }
        }
    }

    fn capture(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        call: &Call,
    ) -> std::result::Result<RowSet, Halt> {
        let mut capture = Capture { outer: self.sink, columns: None, rows: Vec::new(), mismatch: false };
        let mut inner = Runner {
            info: self.info,
            txns: match &mut self.txns {
                Txns::Own(set) => Txns::Own(set),
                Txns::Lent(lent) => Txns::Lent(*lent),
            },
            sink: &mut capture,
            try_depth: self.try_depth,
            in_proc: true,
            raise_all: self.raise_all,
            capturing: true,
            in_trigger: self.in_trigger,
            line: self.line,
            anew: false,
        };
        inner.call(program, frame, call)?;
        if capture.mismatch {
            return Err(errors::insert_exec_columns().into());
        }
        let rows = capture.rows;
        // The values are converted one by one: where all are NULL, as of a constant NULL, which is an int, any type takes them.
        let is_null =
            |n: usize| rows.iter().all(|row| row.get(n).is_none_or(|value| matches!(value, Value::Null)));
        let column = |(n, c): (usize, &ColumnMeta)| {
            VirtualColumn::new(c.name.as_str(), if is_null(n) { SqlType::Null } else { c.ty })
        };
        let columns = capture.columns.as_deref().unwrap_or_default().iter().enumerate().map(column).collect();
        Ok(RowSet { columns, rows: Arc::new(rows) })
    }

    /// Runs an INSERT that selects from captured rows.
    pub fn insert_captured(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        insert: &Unit,
        rows: RowSet,
    ) -> Result<keel_query::RunInfo> {
        if rows.columns.is_empty() {
            return Ok(keel_query::RunInfo::default());
        }
        self.info.captured.borrow_mut().push(rows);
        let outcome = self.locked_unit(program, frame, insert).and_then(|compiled| match &compiled.code {
            CompiledCode::Plan(plan) => self.run_plan(plan, frame, None),
            CompiledCode::Instead(instead) => self.run_instead(instead, &mut frame.vars),
            CompiledCode::Remote(change) => self.run_remote(change, &mut frame.vars),
            _ => unreachable!("an INSERT compiles to a plan"),
        });
        self.info.captured.borrow_mut().pop();
        outcome
    }
}

impl Runner<'_> {
    /// Hands messages that were taken from a queue to the SELECT or INSERT of their RECEIVE; says how many rows that were.
    pub(crate) fn over_captured(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        unit: &Unit,
        rows: RowSet,
        returns: bool,
    ) -> Result<u64> {
        self.info.captured.borrow_mut().push(rows);
        let outcome = self.locked_unit(program, frame, unit).and_then(|compiled| {
            let CompiledCode::Plan(plan) = &compiled.code else { unreachable!("a query compiles to a plan") };
            if returns {
                self.may_return_results()?;
                self.sink.columns(&compiled.columns);
            }
            self.run_plan(plan, frame, None)
        });
        self.info.captured.borrow_mut().pop();
        outcome.map(|run| run.rows)
    }
}

impl Dependencies {
    /// Whether other sessions can use what was compiled against these.
    #[must_use]
    pub fn is_shareable(&self) -> bool {
        self.temporary.is_empty() && self.catalogs.iter().all(|(_, version)| version >> 63 == 0)
    }
}

/// The client's view of a column.
#[must_use]
pub fn column_meta(c: &keel_query::ColumnMeta) -> ColumnMeta {
    ColumnMeta {
        name: c.name.as_str().into(),
        ty: c.ty,
        collation: c.collation,
        nullable: c.nullable,
        updatable: c.updatable,
        identity: c.identity,
        computed: c.computed,
    }
}

/// Hands a plan's rows to the client, and keeps what it says behind them.
struct Rows<'a> {
    sink: &'a mut dyn ResultSink,
    messages: Vec<SqlError>,
}

impl RowSink for Rows<'_> {
    fn row(&mut self, values: &[Value]) -> Result<()> {
        self.sink.row(values).map_err(|SinkClosed| errors::cancelled())
    }
    fn message(&mut self, message: &Box<SqlError>) {
        self.messages.push((**message).clone());
    }
}

/// Collects the rows of INSERT … EXEC; everything else passes through.
pub struct Capture<'a> {
    /// The client.
    pub outer: &'a mut dyn ResultSink,
    /// Columns of the first result set.
    pub columns: Option<Vec<ColumnMeta>>,
    /// Rows of all.
    pub rows: Vec<Vec<Value>>,
    /// A later result set had another number of columns.
    pub mismatch: bool,
}

impl ResultSink for Capture<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        match &self.columns {
            None => self.columns = Some(columns.to_vec()),
            Some(first) => self.mismatch |= first.len() != columns.len(),
        }
    }
    fn row(&mut self, row: &[Value]) -> std::result::Result<(), SinkClosed> {
        self.rows.push(row.to_vec());
        Ok(())
    }
    fn done(&mut self, _done: DoneInfo) {}
    fn message(&mut self, message: &SqlError) {
        self.outer.message(message);
    }
    fn return_status(&mut self, _status: i32) {}
    fn output(&mut self, _ordinal: usize, _name: &str, _ty: &SqlType, _value: &Value) {}
    fn beside(&mut self) -> Option<&mut dyn ResultSink> {
        Some(self.outer)
    }
    fn env_change(&mut self, change: EnvChange) {
        self.outer.env_change(change);
    }
}

/// A sink for functions and triggers: what they say waits until their statement can send it.
pub struct Later<'a> {
    /// The session.
    pub info: &'a Info,
    /// Result sets and counts too, as triggers give them; functions give none.
    pub results: bool,
}

impl Later<'_> {
    fn keep(&self, event: impl FnOnce() -> Pending) {
        if self.results {
            self.info.pending.borrow_mut().push(event());
        }
    }
}

impl ResultSink for Later<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.keep(|| Pending::Columns(columns.to_vec()));
    }
    fn row(&mut self, row: &[Value]) -> std::result::Result<(), SinkClosed> {
        self.keep(|| Pending::Row(row.to_vec()));
        Ok(())
    }
    fn done(&mut self, done: DoneInfo) {
        // Of a loop there would be many. An error's end stays with it: what follows is another result.
        if done.count.is_some() || done.error {
            self.keep(|| Pending::Done(done));
        }
    }
    fn message(&mut self, message: &SqlError) {
        self.info.pending.borrow_mut().push(Pending::Message(message.clone()));
    }
    fn return_status(&mut self, _status: i32) {}
    fn output(&mut self, _ordinal: usize, _name: &str, _ty: &SqlType, _value: &Value) {}
    fn env_change(&mut self, change: EnvChange) {
        self.info.pending.borrow_mut().push(Pending::Change(change));
    }
}
