//! A transaction as the store sees it: a status that decides for all its versions at once, and a write set.
//!
//! ```text
//! begin ──► write … write ──► status.commit_at(lsn)  (inside the log's reservation: all versions commit here)
//!                        │        └─► WriteSet::commit: versions get the LSN itself, the status is let go
//!                        └──► WriteSet::rollback: versions are unlinked
//! ```
//!
//! The **undo list** holds one item per version written, in order. Rolling back to a [`Mark`] unlinks what was
//! written after it, newest first, which restores the exact earlier chains. A row written again while no live mark
//! lies between the two writes replaces its version in place, so a loop over one row does not grow a chain.
//!
//! Dropping a write set settles it by its status: committed stays, everything else is rolled back.
//!
//! Deliberately absent: log records (the engine's), locks (the lock manager's), isolation rules (the engine's).

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch as epoch;
use keel_base::{Lsn, TreeId, TxnId};

use crate::delta::{Entry, TreeDelta};
use crate::version::VersionRef;

/// The one word that decides about all versions of a transaction.
#[derive(Debug)]
pub struct TxnStatus {
    id: TxnId,
    /// [`TxnStatus::OPEN`], [`TxnStatus::ABORTED`] or the commit LSN. Written once, by the owner.
    pub(crate) commit_lsn: AtomicU64,
}

impl TxnStatus {
    pub(crate) const OPEN: u64 = 0;
    pub(crate) const ABORTED: u64 = u64::MAX;

    /// A new open transaction.
    #[must_use]
    pub fn new(id: TxnId) -> Arc<TxnStatus> {
        Arc::new(TxnStatus { id, commit_lsn: AtomicU64::new(TxnStatus::OPEN) })
    }

    /// The transaction.
    #[must_use]
    pub fn id(&self) -> TxnId {
        self.id
    }

    /// Commits: from here on every version of the transaction is as of `lsn`. To be called inside the log's
    /// reservation, before the commit record can become hardened.
    ///
    /// # Panics
    /// When the transaction was decided before, or `lsn` is no possible commit position.
    pub fn commit_at(&self, lsn: Lsn) {
        assert!(lsn.0 != TxnStatus::OPEN && lsn.0 < 1 << 62, "not a commit position: {lsn}");
        let decided =
            self.commit_lsn.compare_exchange(TxnStatus::OPEN, lsn.0, Ordering::AcqRel, Ordering::Acquire);
        assert!(decided.is_ok(), "a transaction is decided once");
    }

    /// Aborts; later calls and calls after a commit have no effect.
    pub fn abort(&self) {
        let _ = self.commit_lsn.compare_exchange(
            TxnStatus::OPEN,
            TxnStatus::ABORTED,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
    }

    /// The commit LSN once committed.
    #[must_use]
    pub fn committed(&self) -> Option<Lsn> {
        match self.commit_lsn.load(Ordering::Acquire) {
            TxnStatus::OPEN | TxnStatus::ABORTED => None,
            lsn => Some(Lsn(lsn)),
        }
    }

    /// Whether neither committed nor aborted.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.commit_lsn.load(Ordering::Acquire) == TxnStatus::OPEN
    }
}

/// A place in a transaction to which it can be rolled back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(usize);

/// One version written. The entry stays linked as long as it holds an undecided version.
pub(crate) struct Undo {
    pub(crate) entry: NonNull<Entry>,
    pub(crate) version: VersionRef,
    /// Index into [`WriteSet::trees`].
    pub(crate) tree: u32,
}

/// The versions one transaction has written, and their common status.
pub struct WriteSet {
    status: Arc<TxnStatus>,
    pub(crate) undo: Vec<Undo>,
    /// Trees written to; keeps them (and so the entries) alive. Short, searched linearly.
    pub(crate) trees: Vec<Arc<TreeDelta>>,
    /// Live marks, ascending, with the number of times each was taken.
    marks: Vec<(usize, u32)>,
    bytes_written: u64,
}

// SAFETY: the raw entry pointers stay valid as described at `Undo`, whatever thread holds the set.
unsafe impl Send for WriteSet {}
// SAFETY: shared access reads only.
unsafe impl Sync for WriteSet {}

/// Changes of a transaction of ordinary size, and trees that it changes, so that the lists of them are allocated once.
const UNDO_FIRST: usize = 16;
const TREES_FIRST: usize = 8;

impl WriteSet {
    /// The write set of a new transaction.
    #[must_use]
    pub fn new(id: TxnId) -> WriteSet {
        WriteSet::with_status(TxnStatus::new(id))
    }

    /// A (further) write set under a given status: redo workers share a streaming transaction.
    #[must_use]
    pub fn with_status(status: Arc<TxnStatus>) -> WriteSet {
        let (undo, trees) = (Vec::with_capacity(UNDO_FIRST), Vec::with_capacity(TREES_FIRST));
        WriteSet { status, undo, trees, marks: Vec::new(), bytes_written: 0 }
    }

    /// The status that decides about this set.
    #[must_use]
    pub fn status(&self) -> &Arc<TxnStatus> {
        &self.status
    }

    /// Whether nothing is written (or everything was rolled back).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.undo.is_empty()
    }

    /// Whether something was written to this tree, rolled back or not.
    #[must_use]
    pub fn has_touched(&self, tree: TreeId) -> bool {
        self.find_tree(tree).is_some()
    }

    /// Number of versions written and not rolled back.
    #[must_use]
    pub fn len(&self) -> usize {
        self.undo.len()
    }

    /// Bytes of versions written since the begin, rolled back ones included.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// Takes a savepoint. It stays live until released or rolled back past.
    pub fn savepoint(&mut self) -> Mark {
        let at = self.undo.len();
        match self.marks.last_mut() {
            Some((last, times)) if *last == at => *times += 1,
            _ => self.marks.push((at, 1)),
        }
        Mark(at)
    }

    /// Declares that nobody will roll back to this taking of `mark`, so that versions may be replaced in place.
    pub fn release(&mut self, mark: Mark) {
        if let Ok(index) = self.marks.binary_search_by_key(&mark.0, |(at, _)| *at) {
            self.marks[index].1 -= 1;
            if self.marks[index].1 == 0 {
                self.marks.remove(index);
            }
        }
    }

    /// Unlinks everything written after `mark`, which stays live.
    pub fn rollback_to(&mut self, mark: Mark) {
        self.unlink_after(mark.0);
        self.marks.retain(|(at, _)| *at <= mark.0);
    }

    /// Rolls everything back.
    pub fn rollback(mut self) {
        self.abort();
    }

    /// Completes a commit: the status must have been stamped. Versions get the LSN itself; cheap, best done while
    /// the log is being hardened.
    ///
    /// # Panics
    /// When the status is not committed.
    pub fn commit(mut self) -> Lsn {
        let lsn = self.status.committed().expect("the log stamped the status before");
        self.settle(lsn);
        lsn
    }

    /// First undo index whose version no live mark protects from being replaced in place.
    pub(crate) fn replace_floor(&self) -> usize {
        self.marks.last().map_or(0, |(at, _)| *at)
    }

    pub(crate) fn note_written(&mut self, bytes: usize) {
        self.bytes_written += bytes as u64;
    }

    /// Index of a tree already written to.
    #[inline]
    pub(crate) fn find_tree(&self, id: TreeId) -> Option<u32> {
        self.trees.iter().position(|tree| tree.id() == id).map(|index| index as u32)
    }

    fn unlink_after(&mut self, at: usize) {
        if self.undo.len() <= at {
            return;
        }
        let guard = epoch::pin();
        for undo in self.undo.drain(at..).rev() {
            // SAFETY: the entry holds an undecided version, so it has not been evicted.
            let entry = unsafe { undo.entry.as_ref() };
            self.trees[undo.tree as usize].unlink(entry, &undo.version, &guard);
        }
    }

    fn abort(&mut self) {
        self.status.abort();
        self.unlink_after(0);
        self.release_status();
    }

    fn settle(&mut self, lsn: Lsn) {
        for undo in self.undo.drain(..) {
            undo.version.settle(lsn);
        }
        self.release_status();
    }

    /// Leaves our share of the status to the epoch collector: readers may have loaded its address from a version
    /// just before the address was replaced.
    fn release_status(&self) {
        let status = self.status.clone();
        let guard = epoch::pin();
        guard.defer(move || drop(status));
    }
}

impl Drop for WriteSet {
    fn drop(&mut self) {
        if self.undo.is_empty() {
            return;
        }
        match self.status.committed() {
            Some(lsn) => self.settle(lsn),
            None => self.abort(),
        }
    }
}
