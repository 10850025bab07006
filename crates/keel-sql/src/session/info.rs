//! What a session knows besides its transactions: options, counters, names, errors being handled.
//!
//! Everything is behind cells, because plans ask while statements run (`SessionInfo`) and functions and triggers run
//! statements of their own inside. One thread at a time; nothing here is ever shared between threads.

use super::options::{SetOptions, Switches};
use super::points::Points;
use super::temp::TempTables;
use crate::catalog::{CatalogOp, Overlay, Picture};
use crate::cursor::Cursors;
use crate::engine::{DatabaseEntry, Engine, SessionShared, TABLE_VARIABLES, TEMPDB};
use crate::errors;
use crate::functions;
use crate::linked::Links;
use crate::program::{Compiled, ModuleIdentity, Program};
use keel_base::{DatabaseId, TreeId};
use keel_parser::ast;
use keel_query::bind::mask::MaskSource;
use keel_query::catalog::{Catalog, ColumnDef, ObjectId, TableDef};
use keel_query::context::Arithmetic;
use keel_query::{IsolationLevel, SessionInfo};
use keel_types::datetime::language::Dates;
use keel_types::error::Result;
use keel_types::functions::RandState;
use keel_types::{SqlError, Value};
use smol_str::SmolStr;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Table variables handed to functions that are remembered before those that went are forgotten.
const LENT_TABLES_KEPT: usize = 64;
/// Trace flags under which no statement asks for a table's lock instead of those of its rows.
const NO_ESCALATION: [i32; 2] = [1211, 1224];

/// Rows that a later statement selects from: the output of INSERT … EXEC's procedure, of a trigger's statement, of a
/// client's bulk load.
#[derive(Clone, Debug, Default)]
pub struct RowSet {
    /// Columns.
    pub columns: Vec<keel_query::scope::VirtualColumn>,
    /// Rows; taken by the first reader when `once`.
    pub rows: Arc<Vec<Vec<Value>>>,
}

/// `inserted` and `deleted` of a trigger being run.
#[derive(Clone, Debug)]
pub struct TriggerRows {
    /// The table.
    pub table: Arc<TableDef>,
    /// New rows.
    pub inserted: Arc<Vec<Vec<Value>>>,
    /// Old rows.
    pub deleted: Arc<Vec<Vec<Value>>>,
    /// `column_id`s that UPDATE assigned.
    pub updated: Vec<i32>,
}

/// A trigger being run.
#[derive(Clone, Debug)]
pub struct RunningTrigger {
    /// Where it lives.
    pub database: DatabaseId,
    /// The trigger.
    pub trigger: ObjectId,
    /// What it runs for.
    pub occasion: Occasion,
}

/// What a trigger runs for.
#[derive(Clone, Debug)]
pub enum Occasion {
    /// Rows have been changed.
    After(TriggerRows),
    /// Rows would be changed.
    InsteadOf(TriggerRows),
    /// A definition has been changed, or somebody logs in: what EVENTDATA() says.
    Event(Value),
}

impl Occasion {
    /// `inserted` and `deleted`; events have none.
    #[must_use]
    pub fn rows(&self) -> Option<&TriggerRows> {
        match self {
            Occasion::After(rows) | Occasion::InsteadOf(rows) => Some(rows),
            Occasion::Event(_) => None,
        }
    }
}

/// Something for the client that has to wait for its statement.
#[derive(Clone, Debug)]
pub enum Pending {
    /// An error or information.
    Message(SqlError),
    /// A result set begins.
    Columns(Vec<crate::sink::ColumnMeta>),
    /// A row of it.
    Row(Vec<Value>),
    /// A statement is complete.
    Done(crate::sink::DoneInfo),
    /// A transaction began or ended.
    Change(crate::sink::EnvChange),
}

/// The open transaction as T-SQL sees it.
#[derive(Debug, Default)]
pub struct TransactionState {
    /// `@@TRANCOUNT`
    pub count: u32,
    /// Name of the outermost BEGIN TRANSACTION.
    pub name: SmolStr,
    /// Descriptor told to clients.
    pub descriptor: u64,
    /// Nothing but ROLLBACK is left.
    pub doomed: bool,
    /// It is a statement's own, which only its triggers see.
    pub of_statement: bool,
    /// How many of them are running, one in the other.
    pub triggers: u32,
}

/// The cursor variables of a program being run.
#[derive(Clone, Debug)]
pub struct CursorVariables {
    /// Nesting level of the program.
    pub level: u32,
    /// Folded name, and the cursor that is assigned.
    pub assigned: Vec<(SmolStr, Option<u64>)>,
}

/// An identity column that begins at its seed again, as long as the transaction is not undone.
pub struct IdentityRestart {
    /// Database of the table.
    pub entry: Arc<DatabaseEntry>,
    /// The table.
    pub table: keel_query::catalog::ObjectId,
    /// The last value that it had given.
    pub before: Option<i64>,
}

/// A picture, the principals by which somebody sees it, and what they see.
type SeenPicture = (Arc<Picture>, Vec<i32>, Arc<Picture>);

/// A view of a picture, and its columns.
type ViewColumns = (Arc<Picture>, ObjectId, Arc<[ColumnDef]>);

/// A session's state. See the module's chapter.
pub struct Info {
    /// The instance.
    pub engine: Arc<Engine>,
    /// What others may see of it.
    pub shared: Arc<SessionShared>,
    /// Where the open transaction reads in databases that are copies.
    pub points: Arc<Points>,
    /// Connections to other servers.
    pub links: Arc<Links>,
    /// SET options.
    pub options: RefCell<SetOptions>,
    /// Current database.
    pub database: RefCell<Arc<DatabaseEntry>>,
    /// The open transaction.
    pub transaction: RefCell<TransactionState>,
    /// The branch of a distributed transaction that it works in, also when that is over and it has not left.
    pub enlisted: RefCell<Option<Arc<crate::distributed::branch::Branch>>>,
    /// Transactions committed and rolled back so far, those of single statements too.
    pub transactions_ended: Cell<u64>,
    /// What the open transaction has restarted.
    pub identity_restarts: RefCell<Vec<IdentityRestart>>,
    /// `@@ROWCOUNT`
    pub row_count: Cell<u64>,
    /// `@@ERROR`
    pub error: Cell<i32>,
    /// `@@IDENTITY`
    pub identity: Cell<Option<i64>>,
    /// `SCOPE_IDENTITY()`
    pub scope_identity: Cell<Option<i64>>,
    /// `@@FETCH_STATUS`
    pub fetch_status: Cell<i32>,
    /// Modules being run, outermost first.
    pub modules: RefCell<Vec<ModuleIdentity>>,
    /// Errors being handled by CATCH blocks, outermost first.
    pub caught: RefCell<Vec<Arc<SqlError>>>,
    /// Keys that it has open.
    pub(crate) open_keys: RefCell<crate::keys::OpenKeys>,
    /// Temporary tables.
    pub temp: RefCell<TempTables>,
    /// The global temporary tables it has made, which go with it.
    pub global_tables: RefCell<Vec<ObjectId>>,
    /// Temporary tables when the open transaction first changed them.
    pub temp_at_begin: RefCell<Option<super::temp::TempSnapshot>>,
    /// SAVE TRANSACTION, oldest first.
    pub savepoints: RefCell<Vec<crate::run::Savepoint>>,
    /// Catalog changes of the open transaction.
    pub overlays: RefCell<Vec<(Arc<DatabaseEntry>, Overlay)>>,
    /// The last picture that was made for what its user sees: of which, and for which principals.
    seen: RefCell<Option<SeenPicture>>,
    /// The view whose columns the running statement has asked for last: a query over all columns asks for each of them.
    view_columns: RefCell<Option<ViewColumns>>,
    /// Rows for statements that select from captured rows, innermost last.
    pub captured: RefCell<Vec<RowSet>>,
    /// Triggers being run, innermost last.
    pub triggers: RefCell<Vec<RunningTrigger>>,
    /// What functions and triggers had to say, where no sink is at hand; flushed by the statement.
    pub pending: RefCell<Vec<Pending>>,
    /// TRY blocks that would catch an error, over all runners.
    pub try_depth: Cell<u32>,
    /// An error that left a trigger takes the batch and its transaction with it.
    pub trigger_abort: Cell<bool>,
    /// The last error is of a statement that could not be compiled when its turn came, because of a name: blocks around it in its own
    /// batch or module do not catch it.
    pub unresolved: Cell<bool>,
    /// Statements are compiled before their turn: other servers are not asked.
    pub looks_ahead: Cell<bool>,
    /// The client has been told that the session is killed.
    pub told_killed: Cell<bool>,
    /// Cursors.
    pub cursors: RefCell<Cursors>,
    /// Cursor variables of the programs being run that have any, innermost last: for CURSOR_STATUS.
    pub cursor_variables: RefCell<Vec<CursorVariables>>,
    /// Application locks.
    pub app_locks: super::app_locks::AppLocks,
    /// SET IDENTITY_INSERT
    pub identity_insert: Cell<Option<(DatabaseId, ObjectId)>>,
    /// Table variables that plans hand to functions, by the number that stands for them.
    lent: RefCell<hashbrown::HashMap<i64, std::sync::Weak<TableDef>>>,
    /// Compiled units that mention temporary tables, which other sessions could not use.
    pub private_units: RefCell<hashbrown::HashMap<(u64, usize), Arc<Compiled>>>,
    /// Prepared statements by handle.
    pub prepared: RefCell<super::prepared::Prepared>,
    /// Documents for OPENXML by handle.
    pub xml_documents: RefCell<super::xml_documents::XmlDocuments>,
    /// The name by which the client has called a procedure last, as written and as understood.
    pub last_called: RefCell<Option<(SmolStr, ast::ObjectName)>>,
    /// The text of the batch or module that called the running procedure of the system, and the call's place in it; none of a
    /// client's own call.
    pub calling: RefCell<Option<(Arc<str>, ast::Span)>>,
    /// What the client wants to be told of the results of its request.
    pub watched: RefCell<Option<crate::notify::Request>>,
    /// INSERT BULK: what follows.
    pub bulk: RefCell<Option<super::bulk::PendingBulk>>,
    /// EXECUTE AS: the login in force, innermost last.
    pub impersonated: RefCell<Vec<super::identity::Identity>>,
    /// Depth of impersonation that REVERT does not undo: what was in force when the running module began.
    pub revert_floor: Cell<usize>,
    /// Nothing is forbidden: sysadmin, and no EXECUTE AS USER.
    pub unrestricted: Cell<bool>,
    /// Who the session is in the database it asked about last.
    pub token: RefCell<Option<super::identity::CachedToken>>,
    /// What the running request uses.
    pub meter: super::usage::Meter,
    /// What Query Stores are told of its statements.
    pub(crate) recording: crate::query_store::Recording,
    /// What helpers have done for it.
    pub(super) helped: super::parallel::Helped,
    /// Its workload group, and what that has been told.
    pub governed: crate::governor::Governed,
    /// Plans that are shown when the batch is over.
    pub plans: RefCell<crate::run::Plans>,
    /// What NEXT VALUE FOR gave in the row being made.
    pub sequence_row: RefCell<crate::functions::CurrentRow>,
    now: Cell<Option<(i64, i64)>>,
    random: Cell<RandState>,
}

impl Info {
    /// A fresh session's. `points` and `links` are those of its transactions.
    pub fn new(
        engine: Arc<Engine>,
        shared: Arc<SessionShared>,
        points: Arc<Points>,
        links: Arc<Links>,
        database: Arc<DatabaseEntry>,
    ) -> Info {
        let options = shared.initial.clone();
        let sysadmin = shared.login.sysadmin && shared.login.user.is_none();
        let governed = crate::governor::Governed::new(shared.group());
        let mut seed = [0; 8];
        engine.options().env.random.fill(&mut seed);
        shared.database.store(database.id.0, Ordering::Relaxed);
        database.users.fetch_add(1, Ordering::AcqRel);
        Info {
            engine,
            shared,
            points,
            links,
            options: RefCell::new(options),
            database: RefCell::new(database),
            transaction: RefCell::default(),
            enlisted: RefCell::default(),
            transactions_ended: Cell::new(0),
            identity_restarts: RefCell::default(),
            row_count: Cell::new(0),
            error: Cell::new(0),
            identity: Cell::new(None),
            scope_identity: Cell::new(None),
            fetch_status: Cell::new(0),
            modules: RefCell::default(),
            caught: RefCell::default(),
            open_keys: RefCell::default(),
            temp: RefCell::default(),
            global_tables: RefCell::default(),
            temp_at_begin: RefCell::default(),
            savepoints: RefCell::default(),
            overlays: RefCell::default(),
            seen: RefCell::default(),
            view_columns: RefCell::default(),
            captured: RefCell::default(),
            triggers: RefCell::default(),
            pending: RefCell::default(),
            try_depth: Cell::new(0),
            trigger_abort: Cell::new(false),
            unresolved: Cell::new(false),
            looks_ahead: Cell::new(false),
            told_killed: Cell::new(false),
            cursors: RefCell::default(),
            cursor_variables: RefCell::default(),
            app_locks: super::app_locks::AppLocks::default(),
            identity_insert: Cell::new(None),
            lent: RefCell::default(),
            private_units: RefCell::default(),
            prepared: RefCell::default(),
            xml_documents: RefCell::default(),
            last_called: RefCell::default(),
            calling: RefCell::default(),
            watched: RefCell::default(),
            bulk: RefCell::default(),
            impersonated: RefCell::default(),
            revert_floor: Cell::new(0),
            unrestricted: Cell::new(sysadmin),
            token: RefCell::default(),
            meter: super::usage::Meter::default(),
            recording: crate::query_store::Recording::default(),
            helped: super::parallel::Helped::default(),
            governed,
            plans: RefCell::default(),
            sequence_row: RefCell::default(),
            now: Cell::new(None),
            random: Cell::new(RandState::anywhere(u64::from_le_bytes(seed))),
        }
    }

    /// Changes SET options, and what others see of them.
    pub fn change_options(&self, change: impl FnOnce(&mut SetOptions)) {
        let mut options = self.options.borrow_mut();
        change(&mut options);
        self.shared.options.lock().clone_from(&options);
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn on(&self, switch: Switches) -> bool {
        self.options.borrow().on(switch)
    }

    /// The session behind what a plan is executed with.
    pub(crate) fn of(session: &dyn keel_query::SessionInfo) -> &Info {
        session.as_any().and_then(|any| any.downcast_ref()).expect("plans run with this layer's session")
    }

    /// Keeps a message until the statement can send it.
    #[allow(clippy::boxed_local, reason = "errors are made boxed")]
    pub fn say(&self, message: Box<SqlError>) {
        // CATCH is told of a statement's last error only, and the client of none.
        if message.severity > 10 && self.try_depth.get() > 0 {
            return;
        }
        self.pending.borrow_mut().push(Pending::Message(*message));
    }

    /// Whether that is the name of this server.
    #[must_use]
    pub fn is_own_server(&self, name: &str) -> bool {
        self.engine.options().server_name.eq_ignore_ascii_case(name)
    }

    /// Begins a statement: times are read anew, and so are columns of views.
    pub fn begin_statement(&self) {
        self.now.set(None);
        self.view_columns.take();
    }

    /// The columns of a view as `make` finds them, once for those who ask for the same view again.
    pub fn columns_of_view(
        &self,
        picture: Arc<Picture>,
        view: ObjectId,
        make: impl FnOnce() -> Vec<ColumnDef>,
    ) -> Arc<[ColumnDef]> {
        if let Some((of, id, columns)) = &*self.view_columns.borrow()
            && Arc::ptr_eq(of, &picture)
            && *id == view
        {
            return Arc::clone(columns);
        }
        let columns: Arc<[ColumnDef]> = make().into();
        *self.view_columns.borrow_mut() = Some((picture, view, Arc::clone(&columns)));
        columns
    }

    fn times(&self) -> (i64, i64) {
        if let Some(times) = self.now.get() {
            return times;
        }
        let utc = self.engine.now_utc();
        let times = (utc + i64::from(crate::clock::offset_minutes()) * crate::clock::TICKS_PER_MINUTE, utc);
        self.now.set(Some(times));
        times
    }

    /// A number that stands for a table variable as long as there is one.
    pub fn lend_table(&self, table: &Arc<TableDef>) -> Value {
        let mut lent = self.lent.borrow_mut();
        if lent.len() >= LENT_TABLES_KEPT {
            lent.retain(|_, table| table.strong_count() > 0);
        }
        // Of a table variable it is negative, and nobody else's.
        let number = i64::from(table.object_id);
        lent.insert(number, Arc::downgrade(table));
        Value::Int(number)
    }

    /// The table variable that a number stands for.
    #[must_use]
    pub fn lent_table(&self, number: &Value) -> Option<Arc<TableDef>> {
        self.lent.borrow().get(&number.as_int()?)?.upgrade()
    }

    /// The current database.
    #[must_use]
    pub fn current_database(&self) -> Arc<DatabaseEntry> {
        Arc::clone(&self.database.borrow())
    }

    /// A database as the session's transaction sees its catalog.
    #[must_use]
    pub fn picture(&self, entry: &Arc<DatabaseEntry>) -> Arc<Picture> {
        let mut overlays = self.overlays.borrow_mut();
        match overlays.iter_mut().find(|(e, o)| e.id == entry.id && !o.is_empty()) {
            Some((_, overlay)) => Arc::clone(overlay.picture(&entry.picture(), self.engine.stamp())),
            None => self.points.picture(entry).unwrap_or_else(|| entry.picture()),
        }
    }

    /// The same as the session's user may know of it: objects on which they have a permission.
    #[must_use]
    pub fn seen_picture(&self, entry: &Arc<DatabaseEntry>) -> Arc<Picture> {
        let picture = self.picture(entry);
        if entry.id == TEMPDB || self.unrestricted.get() || self.may_on_server("VIEW ANY DEFINITION") {
            return picture;
        }
        let token = self.token_in(entry);
        if token.as_ref().is_some_and(|token| picture.shows_all(token)) {
            return picture;
        }
        let ids = token.as_ref().map(|token| token.ids.clone()).unwrap_or_default();
        let mut seen = self.seen.borrow_mut();
        match &*seen {
            Some((of, by, picture_seen)) if Arc::ptr_eq(of, &picture) && *by == ids => {
                Arc::clone(picture_seen)
            }
            _ => {
                let made = Arc::new(picture.seen_by(token.as_deref()));
                *seen = Some((picture, ids, Arc::clone(&made)));
                made
            }
        }
    }

    /// The version of the temporary table that a name stands for. Those of all sessions have that of the catalog they are in.
    #[must_use]
    pub fn temporary_version(&self, name: &str) -> Option<u64> {
        if name.starts_with("##") {
            return Some(self.catalog_version(TEMPDB));
        }
        self.temp.borrow().version(name)
    }

    /// The version of [`Info::picture`] without making it.
    #[must_use]
    #[inline]
    pub fn catalog_version(&self, database: DatabaseId) -> u64 {
        let overlays = self.overlays.borrow();
        if let Some((entry, overlay)) = overlays.iter().find(|(e, o)| e.id == database && !o.is_empty()) {
            if overlay.is_based_on(entry.version()) {
                return overlay.current().version();
            }
            return 0;
        }
        drop(overlays);
        self.published_version(database)
    }

    /// The same without what its own transaction has changed.
    #[must_use]
    #[inline]
    pub fn published_version(&self, database: DatabaseId) -> u64 {
        let current = self.database.borrow();
        let version = |e: &Arc<DatabaseEntry>| self.points.version(e).unwrap_or_else(|| e.version());
        if current.id == database {
            return version(&current);
        }
        self.engine.database_by_id(database).map_or(0, |e| version(&e))
    }

    /// Changes the catalog within the open transaction. The rows of the system tree are the caller's.
    pub fn change_catalog(&self, entry: &Arc<DatabaseEntry>, op: CatalogOp) {
        let mut overlays = self.overlays.borrow_mut();
        let at = overlays.iter().position(|(e, _)| e.id == entry.id).unwrap_or_else(|| {
            overlays.push((Arc::clone(entry), Overlay::new(&entry.picture())));
            overlays.len() - 1
        });
        let overlay = &mut overlays[at].1;
        overlay.picture(&entry.picture(), self.engine.stamp());
        overlay.apply(op, self.engine.stamp());
    }

    /// An identity column's last value is this one from now on, or there has been none (TRUNCATE TABLE, a new column). Undone with the open transaction.
    pub fn restart_identity(
        &self,
        entry: &Arc<DatabaseEntry>,
        table: keel_query::catalog::ObjectId,
        last: Option<i64>,
    ) -> Result<()> {
        if self.transaction.borrow().count > 0 {
            let before = entry.current_identity(table);
            let restart = IdentityRestart { entry: Arc::clone(entry), table, before };
            self.identity_restarts.borrow_mut().push(restart);
        }
        entry.reset_identity(table, last)
    }

    /// The restarts but for the first ones are undone, from the last.
    pub fn undo_identity_restarts(&self, keep: usize) -> Result<()> {
        let mut restarts = self.identity_restarts.borrow_mut();
        while restarts.len() > keep
            && let Some(last) = restarts.pop()
        {
            last.entry.reset_identity(last.table, last.before)?;
        }
        Ok(())
    }

    /// Forgets uncommitted catalog changes.
    pub fn forget_catalog_changes(&self) {
        self.overlays.borrow_mut().clear();
    }

    /// The innermost module, if any.
    #[must_use]
    pub fn module(&self) -> Option<ModuleIdentity> {
        self.modules.borrow().last().cloned()
    }

    /// `@@NESTLEVEL`
    #[must_use]
    pub fn nest_level(&self) -> u32 {
        self.modules.borrow().len() as u32
    }

    /// A program with cursor variables begins. Says whether it has any.
    pub fn show_cursors(&self, program: &Program, level: u32) -> bool {
        if program.cursors.is_empty() {
            return false;
        }
        let assigned = program.cursors.iter().map(|name| (name.clone(), None)).collect();
        self.cursor_variables.borrow_mut().push(CursorVariables { level, assigned });
        true
    }

    /// A cursor variable of the innermost program that has any gets a cursor, or none.
    pub fn assign_cursor(&self, index: usize, id: Option<u64>) {
        if let Some(variables) = self.cursor_variables.borrow_mut().last_mut() {
            variables.assigned[index].1 = id;
        }
    }

    /// The name of a cursor variable of the innermost program that has any.
    #[must_use]
    pub fn cursor_variable_name(&self, index: usize) -> SmolStr {
        let variables = self.cursor_variables.borrow();
        variables.last().map(|v| v.assigned[index].0.clone()).unwrap_or_default()
    }

    /// Whether some cursor variable of the programs being run has this cursor.
    #[must_use]
    pub fn is_assigned(&self, id: u64) -> bool {
        let variables = self.cursor_variables.borrow();
        variables.iter().any(|v| v.assigned.iter().any(|(_, assigned)| *assigned == Some(id)))
    }

    /// What is assigned to a cursor variable of the program being run; `None` when it has none of that folded name.
    #[must_use]
    pub fn cursor_variable(&self, name: &str) -> Option<Option<u64>> {
        let variables = self.cursor_variables.borrow();
        let own = variables.last().filter(|v| v.level == self.nest_level())?;
        own.assigned.iter().find(|(n, _)| n == name).map(|(_, id)| *id)
    }

    /// The login in force.
    #[must_use]
    pub fn login(&self) -> SmolStr {
        self.identity_now().login
    }

    /// A table by id, temporary ones included.
    #[must_use]
    pub fn table_by_id(&self, database: DatabaseId, id: ObjectId) -> Option<Arc<TableDef>> {
        if database == TEMPDB
            && let Some(t) = self.temp.borrow().by_id(id)
        {
            return Some(Arc::clone(t));
        }
        let entry = self.engine.database_by_id(database)?;
        self.picture(&entry).table_by_id(id)
    }

    fn entry(&self, database: DatabaseId) -> Result<Arc<DatabaseEntry>> {
        let current = self.database.borrow();
        if current.id == database {
            return Ok(Arc::clone(&current));
        }
        drop(current);
        self.engine.database_by_id(database).ok_or_else(|| errors::no_database(database.0))
    }
}

impl Info {
    /// Whether an error of severity 20 or more, KILL or the end of the database's role here has ended the session.
    pub fn is_killed(&self) -> bool {
        self.shared.killed.load(Ordering::Acquire)
    }

    /// Waits until what the session has committed is durable ([`super::Unsettled::settle`]).
    #[inline]
    pub fn settle(&self) -> Result<()> {
        self.shared.unsettled.settle(self.shared.id)
    }
}

impl Drop for Info {
    fn drop(&mut self) {
        self.database.borrow().users.fetch_sub(1, Ordering::AcqRel);
        self.leave_group();
        self.engine.sessions.remove(self.shared.id);
    }
}

impl SessionInfo for Info {
    fn sees(&self, columns: &[MaskSource]) -> bool {
        columns.iter().all(|c| self.sees_column(c))
    }
    fn isolation(&self) -> IsolationLevel {
        self.options.borrow().isolation
    }
    fn session_id(&self) -> u32 {
        self.shared.id
    }
    fn cancelled(&self) -> bool {
        self.shared.cancel.is_cancelled()
    }
    fn look_up(&self) -> Result<()> {
        if self.cancelled() {
            return Err(errors::cancelled());
        }
        self.tell_usage();
        if self.is_governed() { self.look_at_usage() } else { Ok(()) }
    }
    fn escalates_locks(&self) -> bool {
        !self.engine.trace_flags().iter().any(|flag| NO_ESCALATION.contains(flag))
    }
    fn call(&self, id: u32, args: &[Value]) -> Result<Value> {
        functions::call(self, id, args)
    }
    fn now_local(&self) -> i64 {
        self.times().0
    }
    fn now_utc(&self) -> i64 {
        self.times().1
    }
    fn transaction_utc(&self) -> i64 {
        if self.transaction.borrow().count == 0 {
            return self.now_utc();
        }
        let began = self.shared.transaction_began.load(Ordering::Relaxed);
        began - i64::from(crate::clock::offset_minutes()) * crate::clock::TICKS_PER_MINUTE
    }
    fn about_now_local(&self) -> i64 {
        crate::clock::unix_to_local_ticks(self.engine.options().env.clock.unix_nanos_about())
    }
    fn rand(&self, seed: Option<i64>) -> f64 {
        let mut state = seed.map_or(self.random.get(), RandState::seeded);
        let number = state.next_number();
        self.random.set(state);
        number
    }
    fn transforms_noise_words(&self) -> bool {
        self.engine.configuration(crate::config::TRANSFORM_NOISE_WORDS).running == 1
    }
    fn notice(&self, message: &Box<SqlError>) {
        self.say(message.clone());
    }
    fn note_reads(&self, pages: u64) {
        crate::engine::add(&self.shared.used.logical_reads, pages);
    }
    fn statistics_io(&self) -> bool {
        self.options.borrow().on(super::options::Switches::STATISTICS_IO)
    }
    fn statistics_time(&self) -> Option<std::time::Duration> {
        let asked = self.options.borrow().on(super::options::Switches::STATISTICS_TIME);
        asked.then(|| self.cpu())
    }
    fn row_count_limit(&self) -> u64 {
        self.options.borrow().row_count
    }
    fn ansi_warnings(&self) -> bool {
        self.options.borrow().on(Switches::ANSI_WARNINGS)
    }
    fn arithmetic(&self) -> Arithmetic {
        let options = self.options.borrow();
        match () {
            () if options.on(Switches::ANSI_WARNINGS) || options.on(Switches::ARITHABORT) => {
                Arithmetic::Raise
            }
            () if options.on(Switches::ARITHIGNORE) => Arithmetic::Ignore,
            () => Arithmetic::Warn,
        }
    }
    fn wrong_index_options(&self) -> Vec<&'static str> {
        let options = self.options.borrow();
        // With ANSI_WARNINGS on, ARITHABORT is as if it were.
        let aborts = options.on(Switches::ARITHABORT) || options.on(Switches::ANSI_WARNINGS);
        let right = [
            ("CONCAT_NULL_YIELDS_NULL", options.on(Switches::CONCAT_NULL)),
            ("ANSI_WARNINGS", options.on(Switches::ANSI_WARNINGS)),
            ("ANSI_PADDING", options.on(Switches::ANSI_PADDING)),
            ("ARITHABORT", aborts),
            ("NUMERIC_ROUNDABORT", !options.on(Switches::NUMERIC_ROUNDABORT)),
        ];
        right.into_iter().filter(|(_, right)| !right).map(|(name, _)| name).collect()
    }
    fn dates(&self) -> Dates {
        self.options.borrow().dates
    }
    fn date_first(&self) -> u8 {
        self.options.borrow().date_first
    }
    fn reserve_identity(&self, table: &TableDef, count: u64) -> Result<i64> {
        let (seed, increment) = identity_of(table);
        self.entry(table.database)?.reserve_identity(table.object_id, seed, increment, count)
    }
    fn note_identity(&self, table: &TableDef, value: i64) {
        let (_, increment) = identity_of(table);
        if let Ok(entry) = self.entry(table.database) {
            // A log that takes no more refuses the statement's own commit too.
            let _ = entry.note_identity(table.object_id, increment, value);
        }
    }
    fn work_space(&self) -> Option<&Arc<keel_query::WorkSpace>> {
        Some(self.engine.work_space())
    }
    fn memory_share(&self) -> Option<Arc<keel_query::MemoryShare>> {
        self.governed_memory()
    }
    fn help(&self, max_degree: Option<u16>) -> Option<keel_query::exec::parallel::Help> {
        self.helpers(max_degree)
    }
    fn note_degree(&self, degree: usize) {
        self.note_threads(degree);
    }
    fn xml_document(&self, handle: i64) -> Option<keel_query::openxml::Prepared> {
        self.xml_documents.borrow().get(handle)
    }
    fn identity_generated(&self, value: Option<i64>) {
        self.identity.set(value);
    }
    fn identity_insert(&self) -> Option<(DatabaseId, ObjectId)> {
        self.identity_insert.get()
    }
    fn next_rowversion(&self, database: DatabaseId) -> u64 {
        self.entry(database).map_or(0, |e| e.next_rowversion())
    }
    fn next_row_id(
        &self,
        database: DatabaseId,
        tree: TreeId,
        init: &mut dyn FnMut() -> Result<u64>,
    ) -> Result<u64> {
        let database = if database == TABLE_VARIABLES { TEMPDB } else { database };
        self.entry(database)?.next_row_id(tree, init)
    }
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

fn identity_of(table: &TableDef) -> (i64, i64) {
    table.columns.iter().find_map(|c| c.identity).unwrap_or((1, 1))
}
