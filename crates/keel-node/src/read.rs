//! What transactions read through: [`ReadView`] and [`Cursor`].

use crate::error::TxnError;
use crate::locks::txn_resource;
use keel_base::{DatabaseId, Lsn, TreeId, TxnId};
use keel_store::lock::{Granted, LockOwner, Mode, Resource, Wait};
use keel_store::{RowRef, Snapshot, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use keel_store::Direction;

/// What a statement reads. Made by [`crate::Transaction::statement_snapshot`].
#[derive(Clone)]
pub struct ReadView(pub(crate) View);

/// A point of a database's history that is read. Made by [`crate::Database::read_point`]; copies share it.
#[derive(Clone)]
pub struct ReadPoint(pub(crate) Snapshot);

impl ReadPoint {
    /// Its position: every commit up to there is seen, no later one.
    #[must_use]
    pub fn lsn(&self) -> Lsn {
        self.0.lsn()
    }
}

#[derive(Clone)]
pub(crate) enum View {
    /// Every commit up to the snapshot's LSN.
    Snapshot(Snapshot),
    /// The newest committed version, under a shared lock kept to the end; of ranges too when serializable.
    Locked {
        /// Whether ranges are locked against inserts.
        ranges: bool,
    },
    /// The newest version, whoever wrote it.
    Dirty,
}

/// The newest commit LSN that a transaction has read. Shared with its cursors.
#[derive(Debug, Default)]
pub(crate) struct Observed(AtomicU64);

impl Observed {
    #[inline]
    pub(crate) fn note(&self, lsn: Lsn) {
        if lsn.0 > self.0.load(Ordering::Relaxed) {
            self.0.fetch_max(lsn.0, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> Lsn {
        Lsn(self.0.load(Ordering::Relaxed))
    }
}

/// How a cursor over newest versions deals with rows that others are changing.
pub(crate) struct Locking {
    pub(crate) owner: Arc<LockOwner>,
    pub(crate) store: Arc<Store>,
    pub(crate) observed: Arc<Observed>,
    pub(crate) own: Option<TxnId>,
    pub(crate) database: DatabaseId,
    pub(crate) tree: TreeId,
    pub(crate) wait: Wait,
    /// The lock kept on every row; without it only rows that others are changing are waited for.
    pub(crate) keep: Option<Mode>,
    /// Rows that others have locked are passed over instead of waited for (READPAST).
    pub(crate) skip: bool,
}

impl Locking {
    /// Whether the cursor's row must be looked at again under a lock.
    fn wanted(&self, inner: &keel_store::Cursor) -> bool {
        self.keep.is_some() || inner.blocked()
    }

    /// The newest state of `key`, when no other transaction is changing it. `None` for "look at the cursor's own row".
    fn settle(&self, key: &[u8]) -> Result<Settled, TxnError> {
        let resource = Resource::Key(self.database, self.tree, key);
        let granted = self.owner.lock(&resource, self.keep.unwrap_or(Mode::U), self.wait)?;
        let settled = self.read(key)?;
        if self.keep.is_none() && granted == Granted::New {
            self.owner.unlock(&resource);
        }
        Ok(settled)
    }

    fn read(&self, key: &[u8]) -> Result<Settled, TxnError> {
        loop {
            let latest = self.store.get_latest(None, self.tree, key)?;
            self.observed.note(latest.lsn);
            match latest.blocked_by {
                None => return Ok(latest.row.map_or(Settled::Gone, Settled::Row)),
                Some(txn) if Some(txn) == self.own => return Ok(Settled::Own),
                // A key without a lock of its own: wait for the writer instead.
                Some(txn) => wait_for(&self.owner, self.database, txn, self.wait)?,
            }
        }
    }
}

/// Waits until `txn` is decided.
pub(crate) fn wait_for(
    owner: &LockOwner,
    database: DatabaseId,
    txn: TxnId,
    wait: Wait,
) -> Result<(), TxnError> {
    let id = txn.0.to_be_bytes();
    let resource = txn_resource(database, &id);
    if owner.lock(&resource, Mode::S, wait)? == Granted::New {
        owner.unlock(&resource);
    }
    Ok(())
}

enum Settled {
    Row(RowRef),
    Gone,
    /// The reader's own version is on top; the cursor shows it.
    Own,
}

/// Walks keys and rows of a range. Keys are without the tree id.
pub struct Cursor {
    pub(crate) inner: keel_store::Cursor,
    /// Set for cursors over newest versions.
    pub(crate) locking: Option<Locking>,
}

impl Cursor {
    /// The same cursor, passing over rows that others have locked (READPAST).
    #[must_use]
    pub fn skipping_locked(mut self) -> Cursor {
        if let Some(locking) = &mut self.locking {
            locking.skip = true;
            locking.wait = Wait::NO;
        }
        self
    }

    /// The next row, or `None` at the end.
    #[allow(clippy::should_implement_trait)] // lends its key
    #[inline]
    pub fn next(&mut self) -> Result<Option<(&[u8], RowRef)>, TxnError> {
        if self.locking.is_none() {
            return Ok(self.inner.next()?);
        }
        self.next_locking()
    }

    fn next_locking(&mut self) -> Result<Option<(&[u8], RowRef)>, TxnError> {
        loop {
            let found = self.inner.advance()?;
            if let Some(locking) = &self.locking {
                locking.observed.note(self.inner.newest());
            }
            if !found {
                return Ok(None);
            }
            let row = match &self.locking {
                Some(locking) if locking.wanted(&self.inner) => match locking.settle(self.inner.key()) {
                    Ok(Settled::Row(row)) => Some(row),
                    Ok(Settled::Gone) => None,
                    Ok(Settled::Own) => self.inner.row_ref(),
                    Err(TxnError::LockTimeout) if locking.skip => None,
                    Err(e) => return Err(e),
                },
                _ => self.inner.row_ref(),
            };
            if let Some(row) = row {
                return Ok(Some((self.inner.key(), row)));
            }
        }
    }

    /// The next row of a cursor over a snapshot, lent until the next call; nothing is copied or counted.
    /// Over newest versions use [`Cursor::next`].
    ///
    /// # Panics
    /// If the cursor takes locks.
    #[allow(clippy::type_complexity)] // a pair, as the pair it is
    #[inline]
    pub fn next_lent(&mut self) -> Result<Option<(&[u8], &[u8])>, TxnError> {
        assert!(self.locking.is_none(), "rows read under locks are not lent");
        loop {
            if !self.inner.advance()? {
                return Ok(None);
            }
            if self.inner.has_row() {
                return Ok(Some((self.inner.key(), self.inner.row())));
            }
        }
    }

    /// Whether [`Cursor::next_lent`] may be used.
    pub fn lends(&self) -> bool {
        self.locking.is_none()
    }
}
