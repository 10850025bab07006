//! BEGIN, COMMIT, ROLLBACK, SAVE, and what the end of a statement does to the transaction.

use super::reach::Reach;
use super::{Frame, Runner, Txns};
use crate::catalog::{CatalogOp, Overlay, object_class};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::program::NameSource;
use crate::session::info::Info;
use crate::session::log_mark::LogMark;
use crate::session::options::Switches;
use crate::session::temp::TempSnapshot;
use crate::session::txns::{Marks, TxnSet};
use crate::sink::{EnvChange, command};
use keel_types::SqlError;
use keel_types::error::Result;
use smol_str::SmolStr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A named savepoint, with all that a rollback to it undoes.
#[derive(Clone, Debug)]
pub struct Savepoint {
    name: SmolStr,
    marks: Marks,
    overlays: Vec<(keel_base::DatabaseId, usize)>,
    temp: TempSnapshot,
    /// Ends of transactions seen before it: none is gone back to beyond one.
    ended: u64,
    /// Identity columns that were restarted before it.
    restarts: usize,
}

impl Runner<'_> {
    fn transaction_name(&self, frame: &Frame, name: Option<&NameSource>) -> SmolStr {
        match name {
            None => SmolStr::default(),
            Some(NameSource::Literal(n)) => n.clone(),
            Some(NameSource::Slot(s)) => frame.vars[*s as usize].as_str().unwrap_or("").into(),
        }
    }

    pub(super) fn begin(
        &mut self,
        frame: &Frame,
        name: Option<&NameSource>,
        mark: Option<&SmolStr>,
        distributed: bool,
    ) -> Result<()> {
        let name = self.transaction_name(frame, name);
        self.begin_named(name.clone())?;
        if distributed {
            // Every server that it could reach is this one: what makes it distributed is its name.
            self.info.shared.uow.lock().get_or_insert_with(|| self.info.engine.new_uow());
        }
        if let Some(description) = mark
            && let Some(set) = self.own_txns()
            && !set.mark_in_log(LogMark { name: name.to_string(), description: description.to_string() })
        {
            self.report(&errors::marked_already());
        }
        self.succeed_in_transaction();
        self.done(None, command::BEGIN_TRANSACTION);
        Ok(())
    }

    fn succeed_in_transaction(&mut self) {
        self.info.error.set(0);
        self.info.row_count.set(0);
    }

    /// BEGIN TRANSACTION from a statement, a transaction manager request or implicit transactions.
    pub fn begin_named(&mut self, name: SmolStr) -> Result<()> {
        let stamp = self.info.engine.stamp();
        let mut state = self.info.transaction.borrow_mut();
        if state.count == 0 {
            self.info.shared.transaction_name.lock().clone_from(&name);
            state.name.clone_from(&name);
            state.descriptor = stamp;
            state.doomed = false;
            state.of_statement = false;
            let descriptor = state.descriptor;
            state.count = 1;
            drop(state);
            // What an expression outside a transaction left open must not become part of this one.
            if let Some(set) = self.own_txns() {
                set.rollback();
            }
            self.info.shared.transaction_id.store(descriptor, Ordering::Relaxed);
            self.info.shared.transaction_began.store(self.info.engine.now_local(), Ordering::Relaxed);
            self.note_count();
            self.info.transaction_marked(0, &name);
            self.sink.env_change(EnvChange::BeginTransaction(descriptor));
        } else {
            state.count += 1;
            drop(state);
            self.note_count();
        }
        Ok(())
    }

    /// Ends what an expression outside a transaction left open, so that it keeps no database in use.
    pub(crate) fn let_go(&mut self) {
        if self.info.transaction.borrow().count == 0
            && let Some(set) = self.own_txns()
        {
            set.end_reading();
        }
    }

    fn note_count(&self) {
        let count = self.info.transaction.borrow().count;
        self.info.shared.transactions.store(count, Ordering::Relaxed);
    }

    /// Begins a transaction before a statement that needs one, when IMPLICIT_TRANSACTIONS is on.
    pub(crate) fn begin_implicit(&mut self) -> Result<()> {
        if self.info.on(Switches::IMPLICIT) && self.info.transaction.borrow().count == 0 && !self.raise_all {
            self.begin_named(SmolStr::default())?;
        }
        Ok(())
    }

    /// `delayed`: WITH (DELAYED_DURABILITY = ON), of which only the outermost COMMIT is asked.
    pub(super) fn commit_op(&mut self, _: &Frame, _: Option<&NameSource>, delayed: bool) -> Result<()> {
        self.commit_one(delayed)?;
        self.succeed_in_transaction();
        self.done(None, command::COMMIT);
        Ok(())
    }

    /// COMMIT TRANSACTION; `delayed` says whether it may be answered before it is durable.
    pub fn commit_one(&mut self, delayed: bool) -> Result<()> {
        let (count, doomed, descriptor) = {
            let state = self.info.transaction.borrow();
            (state.count, state.doomed, state.descriptor)
        };
        if count == 0 {
            return Err(errors::commit_without_begin());
        }
        if doomed {
            return Err(errors::transaction_doomed());
        }
        if count > 1 {
            self.info.transaction.borrow_mut().count -= 1;
            self.note_count();
            return Ok(());
        }
        if self.info.enlisted.borrow().is_some() {
            return Err(crate::distributed::errors::commit_by_client());
        }
        self.tell_of_changes()?;
        let info = self.info;
        let Some(set) = self.own_txns() else {
            return Err(errors::not_supported("COMMIT inside a function"));
        };
        set.ask_to_delay(delayed);
        let name = info.transaction.borrow().name.clone();
        let mut done = commit_work(info, set);
        if done.is_ok() && info.holds_transaction_app_locks() {
            done = info.settle();
        }
        info.transaction_marked(if done.is_ok() { 1 } else { 2 }, &name);
        let was_told = self.transaction_over();
        let change = match done {
            Ok(()) => EnvChange::CommitTransaction(descriptor),
            Err(_) => EnvChange::RollbackTransaction(descriptor),
        };
        if was_told {
            self.sink.env_change(change);
        }
        done
    }

    /// Says whether the client knows of the transaction.
    fn transaction_over(&mut self) -> bool {
        let was_told = {
            let mut state = self.info.transaction.borrow_mut();
            let was_told = state.count > 0 && !state.of_statement;
            state.count = 0;
            state.doomed = false;
            state.of_statement = false;
            state.name = SmolStr::default();
            was_told
        };
        self.info.savepoints.borrow_mut().clear();
        self.info.identity_restarts.borrow_mut().clear();
        self.info.end_transaction_app_locks();
        self.note_count();
        if self.info.enlisted.borrow().is_none() {
            *self.info.shared.uow.lock() = None;
        }
        was_told
    }

    /// The open transaction goes on without this session.
    pub fn leave_transaction(&mut self) {
        self.transaction_over();
    }

    pub(super) fn rollback_op(&mut self, frame: &Frame, name: Option<&NameSource>) -> Result<()> {
        let name = self.transaction_name(frame, name);
        self.rollback_named(&name)?;
        self.succeed_in_transaction();
        self.done(None, command::ROLLBACK);
        Ok(())
    }

    /// ROLLBACK TRANSACTION, whole or to a savepoint.
    pub fn rollback_named(&mut self, name: &str) -> Result<()> {
        if self.capturing {
            return Err(errors::rollback_in_insert_exec());
        }
        let (count, doomed, outer) = {
            let state = self.info.transaction.borrow();
            (state.count, state.doomed, state.name.clone())
        };
        if count == 0 {
            return Err(errors::rollback_without_begin());
        }
        // Names of transactions and savepoints tell upper from lower case, whatever the collation.
        if name.is_empty() || *name == *outer {
            self.rollback_everything();
            return Ok(());
        }
        let found = {
            let savepoints = self.info.savepoints.borrow();
            savepoints.iter().rposition(|s| s.name == *name)
        };
        let Some(at) = found else { return Err(errors::no_such_transaction(name)) };
        if doomed {
            return Err(errors::doomed_savepoint());
        }
        let savepoint = {
            let mut savepoints = self.info.savepoints.borrow_mut();
            savepoints.truncate(at + 1);
            savepoints[at].clone()
        };
        self.rollback_to(&savepoint)
    }

    pub(super) fn save(&mut self, frame: &Frame, name: &NameSource) -> Result<()> {
        let name = self.transaction_name(frame, Some(name));
        self.save_named(name)?;
        self.succeed_in_transaction();
        self.done(None, command::OTHER);
        Ok(())
    }

    /// SAVE TRANSACTION
    pub fn save_named(&mut self, name: SmolStr) -> Result<()> {
        {
            let state = self.info.transaction.borrow();
            if state.count == 0 {
                return Err(errors::save_without_transaction());
            }
            if state.doomed {
                return Err(errors::doomed_savepoint());
            }
        }
        if self.info.links.has_branches() {
            return Err(crate::linked::errors::save_in_distributed());
        }
        self.info.transaction_marked(3, &name);
        if let Some(savepoint) = self.savepoint(name) {
            self.info.savepoints.borrow_mut().push(savepoint);
        }
        Ok(())
    }

    /// A place to come back to: rows, catalog and temporary tables. `None` inside functions.
    pub fn savepoint(&mut self, name: SmolStr) -> Option<Savepoint> {
        let info = self.info;
        Some(Savepoint {
            name,
            marks: self.own_txns()?.mark(),
            overlays: info.overlays.borrow().iter().map(|(e, o)| (e.id, o.len())).collect(),
            temp: info.temp.borrow().snapshot(),
            ended: info.transactions_ended.get(),
            restarts: info.identity_restarts.borrow().len(),
        })
    }

    /// Goes back to it. Nothing is left to go back to when a trigger has ended the transaction meanwhile.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        if savepoint.ended != self.info.transactions_ended.get() {
            return Ok(());
        }
        if let Some(set) = self.own_txns() {
            set.rollback_to(&savepoint.marks)?;
        }
        for (entry, overlay) in self.info.overlays.borrow_mut().iter_mut() {
            let len = savepoint.overlays.iter().find(|(d, _)| *d == entry.id).map_or(0, |(_, len)| *len);
            overlay.truncate(len, &entry.picture(), self.info.engine.stamp());
        }
        self.info.temp.borrow_mut().restore(savepoint.temp.clone());
        self.info.undo_identity_restarts(savepoint.restarts)
    }

    /// Rolls back whatever is open, whatever its nesting.
    pub fn rollback_everything(&mut self) {
        let descriptor = self.info.transaction.borrow().descriptor;
        let ended = self.info.transactions_ended.get();
        let Some(set) = self.own_txns() else { return };
        set.rollback();
        // The statement's table variables keep what they have.
        let _ = set.end_statement();
        self.info.transactions_ended.set(ended + 1);
        self.info.forget_catalog_changes();
        // It fails only when the log takes no more, and then nothing is committed any more.
        drop(self.info.undo_identity_restarts(0));
        if let Some(temp) = self.info.temp_at_begin.borrow_mut().take() {
            self.info.temp.borrow_mut().restore(temp);
        }
        let name = self.info.transaction.borrow().name.clone();
        if let Some(branch) = &*self.info.enlisted.borrow() {
            branch.doom(self.info.engine.now_utc(), false);
        }
        if self.transaction_over() {
            self.info.transaction_marked(2, &name);
            self.sink.env_change(EnvChange::RollbackTransaction(descriptor));
        }
    }

    /// A statement went well: outside a transaction its work is committed.
    pub(crate) fn statement_succeeded(&mut self) -> Result<()> {
        let (info, lent) = (self.info, matches!(self.txns, Txns::Lent(_)));
        let count = info.transaction.borrow().count;
        if lent && count > 0 {
            return Ok(());
        }
        if count == 0 {
            self.tell_of_changes()?;
        }
        let Some(set) = self.own_txns() else { return Ok(()) };
        set.end_statement()?;
        if count == 0 {
            commit_work(info, set)?;
        }
        Ok(())
    }

    /// A statement failed: outside a transaction its work is undone; inside, the transaction may be doomed.
    pub(super) fn statement_failed(&mut self, reach: Reach, e: &SqlError) {
        let count = self.info.transaction.borrow().count;
        let dooms = matches!(reach, Reach::Transaction | Reach::Session);
        let (info, lent) = (self.info, matches!(self.txns, Txns::Lent(_)));
        let Some(set) = self.own_txns() else { return };
        if lent && count > 0 {
            info.transaction.borrow_mut().doomed |= dooms;
            return;
        }
        // The table variables of a failed statement were restored by its plan.
        let _ = set.end_statement();
        if count == 0 {
            set.rollback();
            info.forget_catalog_changes();
            return;
        }
        if dooms {
            info.transaction.borrow_mut().doomed = true;
            if e.number == 1205 {
                // The others of the deadlock go on at once; nothing can be committed any more anyway.
                set.rollback();
                info.forget_catalog_changes();
            }
        }
    }

    /// Refuses writes in a doomed transaction.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.info.transaction.borrow().doomed && (self.in_trigger || !self.raise_all) {
            return Err(errors::transaction_doomed());
        }
        Ok(())
    }
}

/// Commits all databases of the session: catalog changes are published with it.
pub fn commit_work(info: &Info, set: &mut TxnSet) -> Result<()> {
    let overlays = std::mem::take(&mut *info.overlays.borrow_mut());
    let done = commit_publishing(overlays, set, true);
    info.temp_at_begin.borrow_mut().take();
    info.transactions_ended.set(info.transactions_ended.get() + 1);
    done
}

/// Commits all databases of a set, and publishes the catalog changes that go with it. `later`: the session [settles](crate::Session::settle)
/// what need not be durable at once.
pub fn commit_publishing(
    overlays: Vec<(Arc<DatabaseEntry>, Overlay)>,
    set: &mut TxnSet,
    later: bool,
) -> Result<()> {
    let mut published = Vec::new();
    let mut certified = false;
    for (entry, overlay) in overlays {
        if overlay.is_empty() {
            continue;
        }
        let ops: Vec<CatalogOp> = overlay.into_ops();
        set.watch_definitions(&entry, &ops);
        if entry.id == crate::engine::TEMPDB {
            set.engine().note_shared_tempdb();
        }
        entry.publish(&ops);
        certified |= entry.id == crate::engine::MASTER && ops.iter().any(is_of_certificates);
        published.push(entry);
    }
    let done = set.commit(later && published.is_empty());
    for entry in published {
        entry.settle();
    }
    if certified && done.is_ok() {
        set.engine().certificates_changed();
    }
    done
}

/// Whether a change of master is one of what endpoints show and databases are sealed with.
fn is_of_certificates(op: &CatalogOp) -> bool {
    let key = match op {
        CatalogOp::Put(object) => object.key(),
        CatalogOp::Remove(key) => *key,
    };
    matches!(key.class, object_class::CERTIFICATE | object_class::MASTER_KEY)
}
