//! What a transaction has changed of what is watched.

use super::Reason;
use keel_base::DatabaseId;
use keel_query::catalog::ObjectId;
use keel_query::context::DmlAction;
use smallvec::SmallVec;

/// Tables of a transaction that are remembered; in one that changes more all are taken to be changed.
const TABLES_MAX: usize = 64;

/// A table that was changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed {
    pub database: DatabaseId,
    /// `None` for any.
    pub table: Option<ObjectId>,
    /// The newest subscription that there was before the first change.
    pub seen: u64,
    /// The last change.
    pub action: DmlAction,
}

/// A subscription that is to be told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fired {
    pub database: DatabaseId,
    pub watch: u64,
    pub reason: Reason,
    /// Savepoints of the transaction before it.
    pub marked: u64,
}

/// The changes of a transaction.
#[derive(Debug, Default)]
pub struct Changes {
    tables: SmallVec<[Changed; 4]>,
    /// To be told.
    pub(crate) fired: SmallVec<[Fired; 1]>,
    /// Told, in the transaction itself.
    pub(crate) told: SmallVec<[(DatabaseId, u64); 1]>,
}

impl Changes {
    /// A table is about to be changed.
    #[inline]
    pub(crate) fn note(&mut self, database: DatabaseId, table: ObjectId, seen: u64, action: DmlAction) {
        match self.tables.iter_mut().find(|t| t.database == database && t.table.is_none_or(|t| t == table)) {
            Some(known) => known.action = action,
            None => self.add(database, table, seen, action),
        }
    }

    fn add(&mut self, database: DatabaseId, table: ObjectId, seen: u64, action: DmlAction) {
        if self.tables.len() < TABLES_MAX {
            self.tables.push(Changed { database, table: Some(table), seen, action });
            return;
        }
        let first = self.tables.iter().filter(|t| t.database == database).map(|t| t.seen).min();
        self.tables.retain(|t| t.database != database);
        let seen = first.map_or(seen, |first| first.min(seen));
        self.tables.push(Changed { database, table: None, seen, action });
    }

    /// The tables that were changed.
    pub(crate) fn tables(&self) -> &[Changed] {
        &self.tables
    }

    /// A subscription is to be told; what it was told first counts.
    pub(crate) fn fire(&mut self, fired: Fired) {
        if !self.fired.iter().any(|f| f.database == fired.database && f.watch == fired.watch) {
            self.fired.push(fired);
        }
    }

    /// What came behind a savepoint was undone.
    pub(crate) fn rollback_to(&mut self, mark: u64) {
        self.fired.retain(|fired| fired.marked < mark);
    }

    /// Whether it has changed nothing that could be watched.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.fired.is_empty() && self.told.is_empty()
    }
}
