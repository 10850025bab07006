//! [`Transaction`]: the only way to rows.
//!
//! For now without isolation; the interface is final, the body is not.

use crate::database::Database;
use crate::error::TxnError;
use keel_base::{Lsn, TreeId, TxnId};
use keel_store::row::Patch;
use std::collections::VecDeque;
use std::ops::{Bound, Deref};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use keel_store::base::Direction;

/// Isolation level of a transaction; statements may lock more by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Dirty reads: the newest version whoever wrote it.
    ReadUncommitted,
    /// Row versions as of the statement.
    #[default]
    ReadCommitted,
    /// Shared locks on rows read, kept to the end.
    RepeatableRead,
    /// Range locks, kept to the end.
    Serializable,
    /// Row versions as of the transaction; writing what another changed since is error 3960.
    Snapshot,
}

/// Lock modes as the product names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Intent shared.
    IntentShared,
    /// Intent exclusive.
    IntentExclusive,
    /// Shared.
    Shared,
    /// Update.
    Update,
    /// Shared with intent exclusive.
    SharedIntentExclusive,
    /// Exclusive.
    Exclusive,
    /// Schema stability.
    SchemaStability,
    /// Schema modification.
    SchemaModification,
}

/// A row's bytes, shared, not copied.
#[derive(Clone, Debug)]
pub struct RowRef(Arc<[u8]>);

impl Deref for RowRef {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// What a statement reads: every commit up to one LSN, and the transaction's own writes.
pub struct ReadView {
    _private: (),
}

/// A place in a transaction to roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(usize);

/// Walks keys and rows of a range. Keys are without the tree id.
pub struct Cursor {
    rows: VecDeque<(Vec<u8>, RowRef)>,
    at: Vec<u8>,
}

impl Cursor {
    /// The next row, or `None` at the end.
    #[allow(clippy::should_implement_trait)] // lends its key
    pub fn next(&mut self) -> Result<Option<(&[u8], RowRef)>, TxnError> {
        Ok(self.rows.pop_front().map(|(key, row)| {
            self.at = key;
            (&self.at[..], row)
        }))
    }
}

/// A transaction of one database. Dropping it rolls it back.
pub struct Transaction {
    db: Arc<Database>,
    id: TxnId,
    isolation: Isolation,
    undo: Vec<((u32, Vec<u8>), Option<RowRef>)>,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Transaction {
    pub(crate) fn new(db: Arc<Database>, isolation: Isolation) -> Transaction {
        let id = TxnId(NEXT_ID.fetch_add(1, Ordering::Relaxed));
        Transaction { db, id, isolation, undo: Vec::new() }
    }

    /// Its id.
    pub fn id(&self) -> TxnId {
        self.id
    }

    /// Its database.
    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Changes the isolation level for later statements (SET TRANSACTION ISOLATION LEVEL).
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// How long to wait for locks; `None` = for ever (SET LOCK_TIMEOUT).
    pub fn set_lock_timeout(&mut self, _timeout: Option<Duration>) {}

    /// SET DEADLOCK_PRIORITY, -10..=10.
    pub fn set_deadlock_priority(&mut self, _priority: i8) {}

    /// Whether something was written.
    pub fn has_writes(&self) -> bool {
        !self.undo.is_empty()
    }

    /// What a statement starting now reads. Under SNAPSHOT always the same point.
    pub fn statement_snapshot(&mut self) -> ReadView {
        ReadView { _private: () }
    }

    /// The row under `key` in `view`.
    pub fn get(&self, _view: &ReadView, tree: TreeId, key: &[u8]) -> Result<Option<RowRef>, TxnError> {
        Ok(self.db.rows.lock().get(&(tree.0, key.to_vec())).cloned())
    }

    /// The rows of a range in `view`, own writes included.
    pub fn scan(
        &self,
        _view: &ReadView,
        tree: TreeId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Result<Cursor, TxnError> {
        let rows = self.db.rows.lock();
        let empty = |b: Bound<&[u8]>, above: bool| match b {
            Bound::Included(k) => Bound::Included((tree.0, k.to_vec())),
            Bound::Excluded(k) => Bound::Excluded((tree.0, k.to_vec())),
            Bound::Unbounded if above => Bound::Excluded((tree.0 + 1, Vec::new())),
            Bound::Unbounded => Bound::Included((tree.0, Vec::new())),
        };
        let range = (empty(lower, false), empty(upper, true));
        let mut found: VecDeque<_> =
            rows.range(range).map(|((_, k), row)| (k.clone(), row.clone())).collect();
        if direction == Direction::Reverse {
            found.make_contiguous().reverse();
        }
        Ok(Cursor { rows: found, at: Vec::new() })
    }

    /// Like [`Transaction::get`], but the newest version that is committed or own: for use under a lock.
    pub fn get_latest(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<RowRef>, TxnError> {
        self.get(&ReadView { _private: () }, tree, key)
    }

    /// Like [`Transaction::scan`], over the newest versions that are committed or own: finds what to update or delete.
    /// The caller locks each row, reads it again with [`Transaction::get_latest`] and checks its condition again.
    pub fn scan_latest(
        &mut self,
        tree: TreeId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Result<Cursor, TxnError> {
        self.scan(&ReadView { _private: () }, tree, lower, upper, direction)
    }

    /// Locks a row to the end of the transaction.
    pub fn lock_row(&mut self, _tree: TreeId, _key: &[u8], _mode: LockMode) -> Result<(), TxnError> {
        Ok(())
    }

    /// Gives a row lock back before the end (a scanned row that did not qualify), unless the row was written.
    pub fn unlock_row(&mut self, _tree: TreeId, _key: &[u8]) {}

    /// Locks a table to the end of the transaction.
    pub fn lock_table(&mut self, _object: u32, _mode: LockMode) -> Result<(), TxnError> {
        Ok(())
    }

    /// Locks a key range against inserts by others (serializable), to the end of the transaction.
    pub fn lock_range(
        &mut self,
        _tree: TreeId,
        _lower: Bound<&[u8]>,
        _upper: Bound<&[u8]>,
        _mode: LockMode,
    ) -> Result<(), TxnError> {
        Ok(())
    }

    fn write(&mut self, tree: TreeId, key: &[u8], row: Option<&[u8]>) {
        let at = (tree.0, key.to_vec());
        let mut rows = self.db.rows.lock();
        let old = match row {
            Some(row) => rows.insert(at.clone(), RowRef(Arc::from(row))),
            None => rows.remove(&at),
        };
        self.undo.push((at, old));
    }

    /// Adds a row; [`TxnError::Duplicate`] when the key exists. Locks it.
    pub fn insert(&mut self, tree: TreeId, key: &[u8], row: &[u8]) -> Result<(), TxnError> {
        if self.db.rows.lock().contains_key(&(tree.0, key.to_vec())) {
            return Err(TxnError::Duplicate);
        }
        self.write(tree, key, Some(row));
        Ok(())
    }

    /// Replaces a row. `patch` says which columns differ from the newest version; only they are logged. Locks the row.
    pub fn update(
        &mut self,
        tree: TreeId,
        key: &[u8],
        new_row: &[u8],
        _patch: Option<Patch<'_>>,
    ) -> Result<(), TxnError> {
        if !self.db.rows.lock().contains_key(&(tree.0, key.to_vec())) {
            return Err(TxnError::NotFound);
        }
        self.write(tree, key, Some(new_row));
        Ok(())
    }

    /// Removes a row. Locks it.
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<(), TxnError> {
        if !self.db.rows.lock().contains_key(&(tree.0, key.to_vec())) {
            return Err(TxnError::NotFound);
        }
        self.write(tree, key, None);
        Ok(())
    }

    /// Writes an entry of a secondary index, which the base row's lock guards; takes no lock, checks nothing.
    pub fn put_index(&mut self, tree: TreeId, key: &[u8], row: &[u8]) -> Result<(), TxnError> {
        self.write(tree, key, Some(row));
        Ok(())
    }

    /// Removes an entry of a secondary index; takes no lock, checks nothing.
    pub fn delete_index(&mut self, tree: TreeId, key: &[u8]) -> Result<(), TxnError> {
        self.write(tree, key, None);
        Ok(())
    }

    /// A place to roll back to.
    pub fn savepoint(&mut self) -> Mark {
        Mark(self.undo.len())
    }

    /// Says that nobody will roll back to `mark` any more; saves memory, changes nothing else.
    pub fn release(&mut self, _mark: Mark) {}

    /// Undoes everything written after `mark`. Locks stay.
    pub fn rollback_to(&mut self, mark: Mark) -> Result<(), TxnError> {
        let mut rows = self.db.rows.lock();
        for (key, old) in self.undo.drain(mark.0..).rev() {
            match old {
                Some(row) => rows.insert(key, row),
                None => rows.remove(&key),
            };
        }
        Ok(())
    }

    /// Undoes everything and ends the transaction.
    pub fn rollback(mut self) {
        // In memory nothing can fail.
        let _ = self.rollback_to(Mark(0));
    }

    /// Gives the transaction its place in the log, makes its writes visible to other writers and releases its locks.
    /// It is durable, and may be acknowledged, only after [`Commit::wait`].
    pub fn commit(mut self) -> Result<Commit, TxnError> {
        self.undo.clear();
        Ok(Commit { lsn: Lsn::ZERO })
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let _ = self.rollback_to(Mark(0));
    }
}

/// A commit that has its place in the log but may not be durable yet.
#[must_use = "a commit may be acknowledged only after wait()"]
pub struct Commit {
    lsn: Lsn,
}

impl Commit {
    /// Its position; for a transaction that only read, the newest commit it has seen.
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// Returns when it is durable.
    pub fn wait(self) -> Result<(), TxnError> {
        Ok(())
    }
}
