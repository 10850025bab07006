//! Rows under a table lock: no lock for each row that is changed, and no question to the base for each that is added.
//!
//! The table's lock, [`LockMode::BulkUpdate`] or exclusive, keeps readers and writers of single rows away. Under the
//! first several loads may run side by side; one that meets a key which another is just adding waits for that
//! transaction to be decided, as readers of index entries do.

use super::{LockMode, Record, Transaction, TxnError, UNDO_BYTES, Wait, WriteSet};
use crate::read::wait_for;
use keel_base::TreeId;
use keel_store::lock::{Mode, Resource};
use keel_store::{BaseGap, StoreError};
use smallvec::SmallVec;

/// What a load remembers about one tree between rows.
pub struct Loading(BaseGap);

impl Loading {
    /// For the rows of one tree.
    #[must_use]
    pub fn new(tree: TreeId) -> Loading {
        Loading(BaseGap::new(tree))
    }
}

impl Transaction {
    /// Locks a table to the end of the transaction if nobody is in the way; false otherwise.
    pub fn try_lock_table(&mut self, object: u32, mode: LockMode) -> Result<bool, TxnError> {
        let resource = Resource::Object(self.db.id(), object);
        match self.lock_owner().lock(&resource, mode.into(), Wait::NO).map_err(TxnError::from) {
            Ok(_) => Ok(true),
            Err(TxnError::LockTimeout) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Locks a table to the end of the transaction, exclusively or shared, if nobody else is in the way; false otherwise. The locks of rows
    /// in its trees that it stands for are given back then, and no more are taken: whoever locks a row has announced that for the table
    /// before.
    pub fn escalate(&mut self, object: u32, trees: &[TreeId], mode: LockMode) -> Result<bool, TxnError> {
        if !self.try_lock_table(object, mode)? {
            return Ok(false);
        }
        if mode == LockMode::Exclusive {
            self.announce()?;
        }
        let mode = mode.into();
        let new = |tree: &TreeId| !self.is_escalated(*tree, mode);
        let trees: SmallVec<[TreeId; 4]> = trees.iter().copied().filter(new).collect();
        if !trees.is_empty() {
            self.lock_owner().release_keys(self.db.id(), &trees, mode);
            self.escalated.extend(trees.into_iter().map(|tree| (tree, mode)));
        }
        Ok(true)
    }

    /// Whether the lock of the table stands for locks in this mode of the rows of a tree.
    #[inline]
    pub(super) fn is_escalated(&self, tree: TreeId, mode: Mode) -> bool {
        self.escalated
            .iter()
            .any(|(escalated, most)| *escalated == tree && (*most == Mode::X || *most == mode))
    }

    /// Whether a row of a tree is locked by itself in this mode, and not with its table.
    #[inline]
    #[must_use]
    pub fn locks_rows(&self, tree: TreeId, mode: LockMode) -> bool {
        !self.is_escalated(tree, mode.into())
    }

    /// Adds a row; [`TxnError::Duplicate`] when the key exists. The caller has locked the table for bulk update or
    /// exclusively.
    pub fn load(&mut self, loading: &mut Loading, key: &[u8], row: &[u8]) -> Result<(), TxnError> {
        self.before_write(UNDO_BYTES)?;
        self.announce()?;
        self.locked.row = None;
        let id = self.id;
        loop {
            let set = self.set.get_or_insert_with(|| WriteSet::new(id));
            match self.db.store().insert_new(set, &mut loading.0, key, row) {
                Ok(over) => {
                    self.observed.note(over);
                    break;
                }
                Err(StoreError::Undecided(by)) => {
                    wait_for(self.lock_owner(), self.db.id(), by, self.wait)?;
                }
                Err(StoreError::Duplicate) => {
                    // Who is told of the row must have waited for its commit.
                    self.latest(loading.0.tree(), key)?;
                    return Err(TxnError::Duplicate);
                }
                Err(e) => return Err(e.into()),
            }
        }
        self.record(loading.0.tree(), key, Record::Put(row))
    }
}
