//! The store's transactions of a session: one per database its open transaction has touched.

mod commit;
mod work;

pub(super) use commit::wait;
pub use work::{Vote, Work};

use super::log_mark::LogMark;
use super::points::Points;
use crate::catalog::{CatalogObject, CatalogOp, object_class};
use crate::engine::{DatabaseEntry, Engine, OpenTransaction, SessionShared, TABLE_VARIABLES, TEMPDB, Visit};
use crate::errors;
use crate::linked::Links;
use crate::map::txn_error;
use crate::notify::Reason;
use crate::notify::changes::Fired;
use keel_base::DatabaseId;
use keel_node::{Agent, Commit, Isolation, Mark, ReadView, Role, Transaction, TxnError};
use keel_query::catalog::{ChangeTrees, ObjectId};
use keel_query::context::DmlAction;
use keel_query::watch::Watch;
use keel_query::{IsolationLevel, Stamp, Transactions};
use keel_types::error::Result;
use smallvec::SmallVec;
use std::sync::Arc;
use std::time::Duration;

/// Transactions begun so far.
pub struct TxnSet {
    engine: Arc<Engine>,
    session: u32,
    shared: Arc<SessionShared>,
    isolation: IsolationLevel,
    lock_timeout_ms: i32,
    deadlock_priority: i8,
    open: Vec<Open>,
    points: Arc<Points>,
    /// Connections to other servers, and parts of the transaction there.
    links: Arc<Links>,
    /// WITH MARK.
    log_mark: Option<LogMark>,
    /// COMMIT … WITH (DELAYED_DURABILITY = ON).
    asked_to_delay: bool,
    /// Statements that change rows and are not done, outermost first.
    statements: Vec<Statement>,
    /// What the statement that is about to run sees.
    views: Views,
    /// Queues of Service Broker that it has sent to or received from.
    pub broker: crate::broker::Touched,
    /// What it has changed of what others watch.
    pub changes: crate::notify::changes::Changes,
}

/// Views with which a statement begins, one of each database and level at most; without one, of the session's.
pub type Views = SmallVec<[(DatabaseId, Option<Isolation>, ReadView); 1]>;

struct Statement {
    /// Savepoints taken before it.
    marked: u64,
    /// A trigger has undone or committed what it did.
    over: bool,
}

struct Open {
    database: DatabaseId,
    entry: Arc<DatabaseEntry>,
    /// Catalog version when it began: a SNAPSHOT transaction may not see a later one (3961).
    version: u64,
    txn: Transaction,
    /// Once it has tracked or captured changes.
    changes: Option<Changes>,
    _counted: OpenTransaction,
    /// As others see it; none of one that no session works in.
    visit: Option<Visit>,
}

/// Tracked and captured changes of a transaction in a database. Where it gets its place among others' is looked up before its own changes
/// of the catalog are published, behind which nobody looks into the catalog until they are hardened.
#[derive(Clone, Copy)]
struct Changes {
    /// Its number among those with such changes.
    transaction: u64,
    /// How many it has.
    count: u64,
    /// Where it gets its version, when it has tracked ones.
    tracked: Option<ChangeTrees>,
    /// Where it gets its number, when it has captured ones.
    captured: Option<crate::capture::Begun>,
    /// It has rows that are to be indexed once it has committed.
    queued: bool,
}

impl Changes {
    /// Whether it waits for a place among others'.
    fn awaits_place(&self) -> bool {
        self.tracked.is_some() || self.captured.is_some()
    }
}

/// A savepoint over all databases. A database first touched after it is rolled back to its beginning.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Its number.
    number: u64,
    places: Vec<(DatabaseId, Mark)>,
}

impl Open {
    /// Gives the transaction its place in the log, and among those with such changes when it has some.
    fn commit(mut self, now_utc: i64) -> std::result::Result<Commit, TxnError> {
        if !self.awaits_place() {
            return self.txn.commit();
        }
        let entry = Arc::clone(&self.entry);
        let _order = entry.change_order.lock();
        self.give_place(now_utc)?;
        self.txn.commit()
    }

    /// Numbers its tracked and captured changes, once. Under [`DatabaseEntry::change_order`], until the log has the commit.
    fn give_place(&mut self, now_utc: i64) -> std::result::Result<(), TxnError> {
        let Some(changes) = self.changes.take() else { return Ok(()) };
        let transaction = changes.transaction;
        if let Some(trees) = changes.tracked {
            keel_query::changes::give_version(&mut self.txn, trees, transaction, now_utc)?;
        }
        match changes.captured {
            Some(begun) => {
                begun.put_in_order(&self.entry, &mut self.txn, (transaction, changes.count), now_utc)
            }
            None => Ok(()),
        }
    }

    /// Whether it has tracked or captured changes.
    fn awaits_place(&self) -> bool {
        self.changes.is_some_and(|changes| changes.awaits_place())
    }

    /// Whether it has rows that are to be indexed once it has committed.
    fn queues(&self) -> bool {
        self.changes.is_some_and(|changes| changes.queued)
    }

    /// Whether it has changes that are to be told once it has committed.
    fn captures(&self) -> bool {
        self.changes.is_some_and(|changes| changes.captured.is_some())
    }
}

impl TxnSet {
    /// None begun.
    #[must_use]
    pub fn new(engine: Arc<Engine>, shared: Arc<SessionShared>) -> TxnSet {
        TxnSet {
            engine,
            session: shared.id,
            shared,
            isolation: IsolationLevel::ReadCommitted,
            lock_timeout_ms: -1,
            deadlock_priority: 0,
            open: Vec::new(),
            points: Arc::default(),
            links: Arc::default(),
            log_mark: None,
            asked_to_delay: false,
            statements: Vec::new(),
            views: Views::new(),
            broker: crate::broker::Touched::default(),
            changes: crate::notify::changes::Changes::default(),
        }
    }

    /// Marks the transaction in the log of every database that it changes. Says whether it is: one that is marked stays as it is.
    pub fn mark_in_log(&mut self, mark: LogMark) -> bool {
        let first = self.log_mark.is_none();
        self.log_mark.get_or_insert(mark);
        first
    }

    /// The next commit says whether it may be answered before it is durable.
    pub fn ask_to_delay(&mut self, delay: bool) {
        self.asked_to_delay = delay;
    }

    /// Where it reads in databases that are copies.
    #[must_use]
    pub fn points(&self) -> &Arc<Points> {
        &self.points
    }

    /// Its connections to other servers.
    #[must_use]
    pub fn links(&self) -> &Arc<Links> {
        &self.links
    }

    /// Settings for the transactions open and to come.
    pub fn configure(&mut self, isolation: IsolationLevel, lock_timeout_ms: i32, deadlock_priority: i8) {
        self.isolation = isolation;
        self.lock_timeout_ms = lock_timeout_ms;
        self.deadlock_priority = deadlock_priority;
        for open in &mut self.open {
            apply(&mut open.txn, isolation, lock_timeout_ms, deadlock_priority);
        }
    }

    /// The instance.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Whether nothing is open besides table variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.points.any() && self.open.iter().all(|o| o.database == TABLE_VARIABLES)
    }

    /// Whether something was written.
    #[must_use]
    pub fn has_writes(&self) -> bool {
        self.open.iter().any(|o| o.database != TABLE_VARIABLES && o.txn.has_writes())
    }

    /// Whether it has a transaction open in a database.
    #[must_use]
    pub fn is_in(&self, database: DatabaseId) -> bool {
        self.open.iter().any(|o| o.database == database)
    }

    /// The session, as its locks name it.
    fn agent(&self) -> Agent {
        Agent {
            id: u64::from(self.session),
            context: Arc::clone(&self.shared) as _,
            cancel: Arc::clone(&self.shared.cancel),
        }
    }

    fn begin(&mut self, database: DatabaseId) -> Result<usize> {
        let Some(entry) = self.engine.database_by_id(database) else {
            return Err(errors::no_database(database.0));
        };
        if entry.is_restoring() {
            return Err(errors::restoring(entry.name()));
        }
        if matches!(entry.store.role(), Role::Secondary | Role::Resolving)
            && let Some(hadr) = self.engine.hadr()
        {
            let intent = self.shared.login.read_only_intent;
            crate::hadr::access::session(&hadr.state(), &entry.name(), intent)?;
        }
        let visit = match database {
            TABLE_VARIABLES => None,
            _ => Some(self.engine.visit(&entry, &self.shared)?),
        };
        entry.store.wait_for_term_start();
        let point = self.points.read_point(&entry).filter(|_| database != TABLE_VARIABLES);
        let version = entry.version();
        // On a secondary everything reads a snapshot anyway, and allows it.
        let snapshot = self.isolation == IsolationLevel::Snapshot
            && database != TABLE_VARIABLES
            && point.is_none()
            && entry.store.role() != Role::Secondary;
        if snapshot && database != TEMPDB && !entry.picture().settings().allow_snapshot {
            return Err(errors::snapshot_not_allowed(entry.name()));
        }
        let level = if database == TABLE_VARIABLES { IsolationLevel::ReadCommitted } else { self.isolation };
        let mut txn = match &point {
            Some(point) => entry.store.begin_reader(point),
            None => entry.store.begin(node_isolation(level)),
        };
        self.shared.unsettled.show(database, &txn, self.session)?;
        txn.set_agent(self.agent());
        apply(&mut txn, level, self.lock_timeout_ms, self.deadlock_priority);
        let counted = entry.count_transaction();
        self.open.push(Open { database, entry, version, txn, changes: None, _counted: counted, visit });
        Ok(self.open.len() - 1)
    }

    /// A savepoint.
    pub fn mark(&mut self) -> Marks {
        let places = self.open.iter_mut().map(|o| (o.database, o.txn.savepoint())).collect();
        Marks { number: self.links.mark(), places }
    }

    /// Undoes what was written after a savepoint; table variables keep theirs.
    pub fn rollback_to(&mut self, marks: &Marks) -> Result<()> {
        for statement in self.statements.iter_mut().filter(|s| s.marked >= marks.number) {
            statement.over = true;
        }
        self.links.rollback_to(marks.number);
        self.changes.rollback_to(marks.number);
        let mut index = 0;
        while index < self.open.len() {
            let open = &mut self.open[index];
            if open.database == TABLE_VARIABLES {
                index += 1;
                continue;
            }
            match marks.places.iter().find(|(d, _)| *d == open.database) {
                Some((_, mark)) => {
                    let name = open.entry.name();
                    open.txn.rollback_to(*mark).map_err(|e| txn_error(e, &name, self.session))?;
                    index += 1;
                }
                None => self.open.remove(index).txn.rollback(),
            }
        }
        Ok(())
    }

    /// Undoes everything; table variables keep theirs.
    pub fn rollback(&mut self) {
        self.end_statements();
        self.log_mark = None;
        self.asked_to_delay = false;
        self.links.rollback();
        for index in (0..self.open.len()).rev() {
            if self.open[index].database != TABLE_VARIABLES {
                self.open.swap_remove(index).txn.rollback();
            }
        }
        self.points.retain(|_| false);
        self.changes = crate::notify::changes::Changes::default();
        self.tell_broker(false);
    }

    /// Those hear of its end who wait for messages, or for the conversations that it had locked.
    pub fn tell_broker(&mut self, committed: bool) {
        if self.broker.any() {
            let touched = std::mem::take(&mut self.broker);
            self.engine.end_conversing(touched, committed);
        }
    }

    /// Tables are defined otherwise with its commit: those are told who watch them.
    pub(crate) fn watch_definitions(&mut self, entry: &DatabaseEntry, ops: &[CatalogOp]) {
        if !self.engine.subscriptions.any() {
            return;
        }
        for op in ops {
            let (table, columns) = match op {
                CatalogOp::Put(CatalogObject::Table(t)) => (t.object_id, Some(&*t.columns)),
                CatalogOp::Remove(key) if key.class == object_class::TABLE => (key.id, None),
                _ => continue,
            };
            for (watch, reason) in self.engine.subscriptions.defined(entry.id, table, columns) {
                self.fire(entry.id, watch, reason);
            }
        }
    }

    /// All rows of a table are others.
    pub(crate) fn rows_replaced(&mut self, database: DatabaseId, table: ObjectId, reason: Reason) {
        for watch in self.watches(database, table, DmlAction::Update).into_iter().flatten() {
            self.fire(database, watch.id, reason);
        }
    }

    /// Somebody who watches is to be told when it commits.
    pub(crate) fn fire(&mut self, database: DatabaseId, watch: u64, reason: Reason) {
        self.changes.fire(Fired { database, watch, reason, marked: self.links.marks() });
    }

    /// Ends transactions that have only read.
    pub fn end_reading(&mut self) {
        for index in (0..self.open.len()).rev() {
            let open = &self.open[index];
            if open.database != TABLE_VARIABLES && !open.txn.has_writes() {
                self.open.swap_remove(index).txn.rollback();
            }
        }
    }

    /// What the statements under way did is decided.
    fn end_statements(&mut self) {
        self.statements.iter_mut().for_each(|s| s.over = true);
    }

    /// Lets go of the points at which nothing was read yet: what is looked up next is as of then.
    pub fn release_unread(&mut self) {
        self.points.retain(|database| self.open.iter().any(|o| o.database == database));
    }

    /// The set behind what a statement has, of those that a session has.
    pub fn behind(txns: &mut dyn Transactions) -> Option<&mut TxnSet> {
        txns.as_any_mut()?.downcast_mut()
    }

    /// Makes the view of a database with which the next statement begins, or that of tables for which it asks for another level, where it
    /// reads row versions.
    pub fn make_view(&mut self, database: DatabaseId, level: Option<Isolation>) -> Result<()> {
        if self.views.iter().any(|(of, at, _)| *of == database && *at == level) {
            return Ok(());
        }
        let txn = self.transaction(database)?;
        let own = txn.isolation();
        let view = match level {
            None if matches!(own, Isolation::ReadCommitted | Isolation::Snapshot) => txn.statement_snapshot(),
            Some(level) if level != own => txn.view_as(level),
            _ => return Ok(()),
        };
        self.views.push((database, level, view));
        Ok(())
    }

    /// The statement is over that they were made for.
    #[inline]
    pub fn leave_views(&mut self) {
        self.views.clear();
    }

    /// Puts the views of a statement aside while it calls others, or gives them back to it.
    pub fn exchange_views(&mut self, views: Views) -> Views {
        std::mem::replace(&mut self.views, views)
    }

    /// Ends the table variables' transaction of a statement: they keep what it wrote, or what it had before it failed.
    pub fn end_statement(&mut self) -> Result<()> {
        self.leave_views();
        let Some(index) = self.open.iter().position(|o| o.database == TABLE_VARIABLES) else { return Ok(()) };
        let open = self.open.swap_remove(index);
        let fail = |e| txn_error(e, "tempdb", self.session);
        open.txn.commit().and_then(keel_node::Commit::wait).map_err(fail)
    }
}

impl Transactions for TxnSet {
    fn transaction(&mut self, database: DatabaseId) -> Result<&mut Transaction> {
        let index = match self.open.iter().position(|o| o.database == database) {
            Some(index) => index,
            None => self.begin(database)?,
        };
        Ok(&mut self.open[index].txn)
    }

    fn first_view(&mut self, database: DatabaseId, level: Option<Isolation>) -> Option<ReadView> {
        let at = self.views.iter().position(|(of, at, _)| *of == database && *at == level)?;
        Some(self.views.swap_remove(at).2)
    }

    fn change_stamp(&mut self, database: DatabaseId, stamp: Stamp) -> Result<(u64, u64)> {
        self.transaction(database)?;
        let open = self.open.iter_mut().find(|o| o.database == database);
        let open = open.ok_or_else(|| errors::no_database(database.0))?;
        let changes = match &mut open.changes {
            Some(changes) => changes,
            none => {
                let transaction = open.entry.next_change_transaction()?;
                none.insert(Changes { transaction, count: 0, tracked: None, captured: None, queued: false })
            }
        };
        match stamp {
            Stamp::Tracked if changes.tracked.is_none() => {
                let trees = open.entry.picture().settings().change_trees;
                changes.tracked =
                    Some(trees.ok_or_else(|| errors::not_supported("A change without versions"))?);
            }
            Stamp::Captured if changes.captured.is_none() => {
                let begun = crate::capture::Begun::now(&open.entry, self.engine.now_utc());
                changes.captured =
                    Some(begun.ok_or_else(|| errors::not_supported("A change without order"))?);
            }
            Stamp::Queued => changes.queued = true,
            _ => {}
        }
        changes.count += 1;
        Ok((changes.transaction, changes.count))
    }

    fn watches(
        &mut self,
        database: DatabaseId,
        table: ObjectId,
        action: DmlAction,
    ) -> Option<Vec<Arc<Watch>>> {
        if !crate::notify::is_watchable(database) {
            return None;
        }
        let subscriptions = &self.engine.subscriptions;
        self.changes.note(database, table, subscriptions.latest(), action);
        if subscriptions.any() { subscriptions.of_table(database, table) } else { None }
    }

    fn noticed(&mut self, database: DatabaseId, watch: u64, action: DmlAction) {
        self.fire(database, watch, Reason::of(action));
    }

    fn statement_begins(&mut self) {
        self.statements.push(Statement { marked: self.links.marks(), over: false });
    }

    fn statement_ends(&mut self) -> bool {
        self.statements.pop().is_some_and(|s| s.over)
    }

    fn as_any_mut(&mut self) -> Option<&mut dyn std::any::Any> {
        Some(self)
    }

    /// Error 3961 when a SNAPSHOT transaction names an object that others' DDL has changed since it began: what is known
    /// of objects has no versions.
    fn check_unchanged(&self, objects: &[(DatabaseId, ObjectId)]) -> Result<()> {
        if self.isolation != IsolationLevel::Snapshot {
            return Ok(());
        }
        for open in self.open.iter().filter(|o| !o.entry.is_copy() && o.entry.version() != o.version) {
            let picture = open.entry.picture();
            let changed = |id| picture.changed_at(id).is_some_and(|version| version > open.version);
            if objects.iter().any(|(database, id)| *database == open.database && changed(*id)) {
                return Err(errors::snapshot_metadata(open.entry.name()));
            }
        }
        Ok(())
    }
}

fn apply(txn: &mut Transaction, isolation: IsolationLevel, lock_timeout_ms: i32, deadlock_priority: i8) {
    txn.set_isolation(node_isolation(isolation));
    txn.set_lock_timeout(u64::try_from(lock_timeout_ms).ok().map(Duration::from_millis));
    txn.set_deadlock_priority(deadlock_priority);
}

fn node_isolation(level: IsolationLevel) -> Isolation {
    match level {
        IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
        IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
        IsolationLevel::RepeatableRead => Isolation::RepeatableRead,
        IsolationLevel::Serializable => Isolation::Serializable,
        IsolationLevel::Snapshot => Isolation::Snapshot,
    }
}
