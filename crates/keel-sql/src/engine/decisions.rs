//! Transactions over several databases: decided in one place, `master`.
//!
//! ```text
//!   database a   … prepare ──hardened──┐                         ┌─► commit
//!   database b   … prepare ──hardened──┴─► row in master ──hardened──┴─► commit ──► the row goes
//! ```
//!
//! Each database that stands alone and was written to gets what it has into its log, hardened and undecided. Then a row of master
//! names all of them: once that is hardened the transaction is committed, whatever happens; before, it never was. Whoever opens a
//! database that was prepared and not told the decision looks for the row. It is removed when all have been told.
//!
//! Databases of availability groups commit by themselves, as in the product without DTC: a new primary could not ask.

use super::{DatabaseEntry, Engine, MASTER};
use crate::catalog::{CatalogKey, SYSTEM_TREE, object_class};
use crate::map::txn_error;
use keel_base::DatabaseId;
use keel_node::{Commit, Isolation, Transaction};
use keel_store::row::RowBuilder;
use keel_types::error::Result;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A transaction that is to be committed in several databases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decision {
    /// Number among those that are kept.
    id: i32,
    /// Ids of the databases, with the numbers under which their logs have it undecided.
    parts: Vec<(u32, u64)>,
}

impl Decision {
    /// A database has been prepared.
    pub(crate) fn add(&mut self, database: DatabaseId, prepared: u64) {
        self.parts.push((database.0, prepared));
    }

    /// Whether it decides about this.
    pub(super) fn covers(&self, database: DatabaseId, prepared: u64) -> bool {
        self.parts.contains(&(database.0, prepared))
    }

    fn key(&self) -> [u8; 5] {
        CatalogKey { class: object_class::DECISION, id: self.id }.bytes()
    }

    /// Makes it part of a transaction of master: with that, it is made.
    pub(crate) fn write(&self, txn: &mut Transaction) -> Result<()> {
        let json = serde_json::to_vec(self).expect("plain structures become JSON");
        let row = RowBuilder::build(&[Some(&json)]);
        txn.put_index(SYSTEM_TREE, &self.key(), &row).map_err(|e| txn_error(e, "master", 0))
    }
}

impl Engine {
    /// A decision about nothing yet.
    pub(crate) fn new_decision(&self) -> Decision {
        Decision { id: self.last_decision.fetch_add(1, Ordering::Relaxed).wrapping_add(1), parts: Vec::new() }
    }

    /// The instance has opened its databases: forgets what was kept for them. Who could not be opened may ask later.
    pub(super) fn settle_decisions(&self, stored: &[Decision]) {
        let highest = stored.iter().map(|decision| decision.id).max().unwrap_or(0);
        self.last_decision.store(highest, Ordering::Relaxed);
        let told =
            |d: &&Decision| d.parts.iter().all(|(id, _)| self.database_by_id(DatabaseId(*id)).is_some());
        stored.iter().filter(told).for_each(|decision| self.forget_decision(decision));
    }

    fn begin_in_master(&self) -> Option<Transaction> {
        let master: Arc<DatabaseEntry> = self.database_by_id(MASTER)?;
        Some(master.store.begin(Isolation::ReadCommitted))
    }

    /// Makes a decision in a transaction of its own. It is made once what is returned has been waited for.
    pub(crate) fn decide(&self, decision: &Decision) -> Result<Commit> {
        let mut txn = self.begin_in_master().expect("master is always open");
        decision.write(&mut txn)?;
        txn.commit().map_err(|e| txn_error(e, "master", 0))
    }

    /// All databases have been told. Nobody waits for this to be durable: a decision that nobody asks for does no harm.
    pub(crate) fn forget_decision(&self, decision: &Decision) {
        let Some(mut txn) = self.begin_in_master() else { return };
        if txn.delete_index(SYSTEM_TREE, &decision.key()).is_ok() {
            // If it is not, it is removed at the next start.
            let _ = txn.commit();
        }
    }
}
