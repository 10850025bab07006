//! Transactions over several databases of the instance: decided by the log of the first that was written to.
//!
//! ```text
//!   first database  ───────────────────────── row and commit ──hardened──┐     (the row goes)
//!   second …        … prepare ──hardened──┬─►                            ├─► commit
//!   third …         … prepare ──hardened──┘                              └─► commit
//! ```
//!
//! All but the first get what they have into their logs, hardened (in a group: agreed on) and prepared. The first commits, with a row that
//! names the transaction: once that is hardened it is committed, whatever happens; before, it never was. Whoever has it in doubt looks for the
//! row, in whichever copy of the first database can be written here; while none can, it waits. When all have been told the row is removed.
//!
//! Databases that stand alone take part, and those of availability groups with DTC_SUPPORT = PER_DB. Those of other groups commit by
//! themselves, as in the product.

use super::{Decider, Doubt, Name, Uow, uow_text};
use crate::config::IN_DOUBT_RESOLUTION;
use crate::engine::{DatabaseEntry, Engine};
use crate::map::txn_error;
use keel_base::TreeId;
use keel_node::{Direction, Isolation, Transaction};
use keel_store::row::{self, RowBuilder};
use keel_types::error::Result;
use std::ops::Bound;
use std::sync::Arc;

/// Where a database keeps the decisions that it has made: unit of work → families of the others.
const DECISIONS: TreeId = TreeId(2);

/// A transaction over several databases whose session is deciding; until it is dropped nobody else decides about it.
pub(crate) struct Deciding {
    engine: Arc<Engine>,
    uow: Uow,
    /// The family of the database that decides.
    decider: [u8; 16],
    /// Those of the others.
    others: Vec<[u8; 16]>,
}

impl Deciding {
    /// Its unit of work, and the family of the database that decides.
    pub(crate) fn decided_by(&self) -> (Uow, [u8; 16]) {
        (self.uow, self.decider)
    }

    /// What the logs of the others call it.
    pub(crate) fn name(&self) -> Name {
        Name { uow: self.uow, decider: Decider::Database(self.decider) }
    }

    /// Another database has been prepared.
    pub(crate) fn add(&mut self, entry: &DatabaseEntry) {
        self.others.push(entry.store.control().family);
    }

    /// Makes the decision part of the first database's transaction: with its commit, it is made.
    pub(crate) fn write(&self, txn: &mut Transaction, name: &str) -> Result<()> {
        let json = serde_json::to_vec(&self.others).expect("plain structures become JSON");
        let row = RowBuilder::build(&[Some(&json)]);
        txn.put_index(DECISIONS, &self.uow, &row).map_err(|e| txn_error(e, name, 0))
    }

    /// A branch at another server has still to be told: the decision stays until it is.
    pub(crate) fn keep(self, first: &DatabaseEntry) {
        self.engine.distributed.swept.lock().remove(&first.id);
    }

    /// All databases have been told. Nobody waits for this to be durable: a decision that nobody asks for does no harm.
    pub(crate) fn forget(self, first: &DatabaseEntry) {
        forget(first, &self.uow);
    }
}

impl Drop for Deciding {
    fn drop(&mut self) {
        self.engine.distributed.deciding.lock().remove(&self.uow);
    }
}

/// Whether what a database has in its log now stays there, whatever happens.
fn nothing_is_lost(entry: &DatabaseEntry) -> bool {
    let appended = entry.store.positions().appended;
    let flushed = entry.store.log().is_some_and(|log| log.flush().is_ok());
    entry.store.writing_term().is_some() && flushed && entry.store.agreed() >= appended
}

fn forget(entry: &DatabaseEntry, uow: &Uow) {
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    if txn.delete_index(DECISIONS, uow).is_ok() {
        // If it is not, it is when this copy is looked through again.
        let _ = txn.commit();
    }
}

/// What has become of a transaction, for whoever is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is committed.
    Committed,
    /// It never was, and never will be.
    Never,
    /// Nobody who knows can be asked here now.
    NotKnown,
}

/// What a database that decides says.
enum Answer {
    Committed,
    /// It is not, and never will be.
    Never,
    /// No copy of it can be asked here now.
    Elsewhere,
    /// There is no copy of it here.
    Unknown,
}

impl Engine {
    /// A session begins to decide about a transaction over several databases, of which `first` decides; `uow` is what it is called
    /// already, if it is.
    pub(crate) fn begin_deciding(self: &Arc<Engine>, first: &DatabaseEntry, uow: Option<Uow>) -> Deciding {
        let (uow, decider) = (uow.unwrap_or_else(|| self.new_uow()), first.store.control().family);
        self.distributed.deciding.lock().insert(uow);
        Deciding { engine: Arc::clone(self), uow, decider, others: Vec::new() }
    }

    pub(crate) fn is_deciding(&self, uow: &Uow) -> bool {
        self.distributed.deciding.lock().contains(uow)
    }

    /// Whether a database of an availability group takes part in transactions over several databases.
    pub(crate) fn has_dtc_support(&self, entry: &DatabaseEntry) -> bool {
        let Some(hadr) = self.hadr() else { return false };
        let name = entry.name();
        let state = hadr.state();
        let mut groups = state.groups.iter().filter(|group| group.spec.dtc_per_database);
        groups.any(|group| group.databases.iter().any(|d| d.name.eq_ignore_ascii_case(&name)))
    }

    /// Decides about what is in doubt and can be decided about: [`Engine::settle_distributed`].
    pub(crate) fn resolve_in_doubt(&self) {
        for doubt in self.in_doubt() {
            let Decider::Database(family) = doubt.name.decider else { continue };
            if self.is_deciding(&doubt.name.uow) {
                continue;
            }
            let commit = match self.fate(&family, &doubt.name.uow) {
                Fate::Committed => true,
                Fate::Never => false,
                Fate::NotKnown => continue,
            };
            self.settle(&doubt, commit);
        }
        self.sweep_decisions();
    }

    fn settle(&self, doubt: &Doubt, commit: bool) {
        let done = if commit { "committed" } else { "rolled back" };
        let (name, uow) = (doubt.entry.name(), uow_text(&doubt.name.uow));
        let text = match doubt.decide(commit) {
            Ok(()) => format!("Transaction {uow} over several databases is {done} in database '{name}'."),
            Err(e) => format!("Transaction {uow} cannot be {done} in database '{name}': {}", e.message),
        };
        self.options().log.write(&text);
    }

    /// What the database of a family has decided about a transaction, for branches of it at other servers.
    pub(crate) fn fate(&self, family: &[u8; 16], uow: &Uow) -> Fate {
        match self.ask(family, uow) {
            Ok(Answer::Committed) => Fate::Committed,
            Ok(Answer::Never) => Fate::Never,
            Ok(Answer::Unknown) => match self.configuration(IN_DOUBT_RESOLUTION).running {
                1 => Fate::Committed,
                2 => Fate::Never,
                _ => Fate::NotKnown,
            },
            Ok(Answer::Elsewhere) | Err(_) => Fate::NotKnown,
        }
    }

    /// The copies of a database that are here, snapshots left out.
    fn copies_of(&self, family: &[u8; 16]) -> Vec<Arc<DatabaseEntry>> {
        let mut all = self.databases();
        all.retain(|e| e.store.control().family == *family && e.snapshot().is_none());
        all
    }

    /// Asks the copies of a database that can be written here whether a transaction is committed.
    fn ask(&self, family: &[u8; 16], uow: &Uow) -> Result<Answer> {
        let mut answer = Answer::Unknown;
        for entry in self.copies_of(family) {
            // What it has appended must stay, or it may have decided without anybody knowing yet.
            if entry.is_restoring() || !nothing_is_lost(&entry) {
                answer = Answer::Elsewhere;
                continue;
            }
            let mut txn = entry.store.begin(Isolation::ReadCommitted);
            let view = txn.statement_snapshot();
            let fail = |e| txn_error(e, &entry.name(), 0);
            if txn.get(&view, DECISIONS, uow).map_err(fail)?.is_some() {
                return Ok(Answer::Committed);
            }
            // It may have ceased to be the one that decides before it was read.
            let writes = entry.store.writing_term().is_some();
            answer = if writes && !matches!(answer, Answer::Elsewhere) {
                Answer::Never
            } else {
                Answer::Elsewhere
            };
        }
        Ok(answer)
    }

    /// Removes decisions that everybody has been told of: those that a crash or a failover has left.
    fn sweep_decisions(&self) {
        for entry in self.databases() {
            let Some(term) = entry.store.writing_term().filter(|_| !entry.is_restoring()) else { continue };
            if self.distributed.swept.lock().get(&entry.id) == Some(&term) {
                continue;
            }
            if let Ok(true) = self.sweep_decisions_of(&entry) {
                self.distributed.swept.lock().insert(entry.id, term);
            }
        }
    }

    /// Whether none is left that somebody may still ask for.
    fn sweep_decisions_of(&self, entry: &Arc<DatabaseEntry>) -> Result<bool> {
        let fail = |e| txn_error(e, &entry.name(), 0);
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        let view = txn.statement_snapshot();
        let (mut told, mut all) = (Vec::new(), true);
        let mut cursor = txn
            .scan(&view, DECISIONS, Bound::Unbounded, Bound::Unbounded, Direction::Forward)
            .map_err(fail)?;
        while let Some((key, bytes)) = cursor.next().map_err(fail)? {
            let Ok(uow) = Uow::try_from(key) else { continue };
            let others: Vec<[u8; 16]> =
                serde_json::from_slice(row::column(&bytes, 0).unwrap_or_default()).unwrap_or_default();
            let told_here = others.iter().all(|family| self.has_been_told(family, &uow));
            if !self.is_deciding(&uow) && told_here && !self.has_pending_branch(&uow)? {
                told.push(uow);
            } else {
                all = false;
            }
        }
        drop(cursor);
        txn.rollback();
        told.iter().for_each(|uow| forget(entry, uow));
        Ok(all)
    }

    /// Whether a database is here, can be written, and does not have a transaction in doubt.
    fn has_been_told(&self, family: &[u8; 16], uow: &Uow) -> bool {
        let copies = self.copies_of(family);
        let doubted = |e: &Arc<DatabaseEntry>| {
            e.store.in_doubt().iter().any(|d| Name::decode(&d.name).is_some_and(|name| name.uow == *uow))
        };
        !copies.is_empty() && copies.iter().all(|e| !doubted(e) && nothing_is_lost(e))
    }
}
