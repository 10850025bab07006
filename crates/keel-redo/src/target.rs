//! [`Target`]: where rows go.
//!
//! The records of a commit come several at a time, so that a target that waits for memory at each of them can wait for all of
//! them at once ([`keel_store::Store::apply_all`]).

use crate::record::{Change, RowRecord};
use keel_base::{Lsn, TreeId};
use keel_store::{Store, StoreError};
use smallvec::SmallVec;

/// Records of one commit that are handed to the target together, at most.
pub const TOGETHER_MAX: usize = 16;

/// Where rows go.
pub trait Target: Send + Sync {
    /// Applies a committed change. Called in ascending order per key.
    fn apply(&self, lsn: Lsn, record: &RowRecord<'_>) -> Result<(), StoreError>;
    /// Applies several changes of one commit in order. An error comes with how many were applied before it.
    fn apply_all(&self, lsn: Lsn, records: &[RowRecord<'_>]) -> Result<(), (usize, StoreError)> {
        let each = |(n, record)| self.apply(lsn, record).map_err(|error| (n, error));
        records.iter().enumerate().try_for_each(each)
    }
    /// A tree was dropped by the commit at `lsn`. Called when all rows up to there are applied.
    fn drop_tree(&self, tree: TreeId, lsn: Lsn);
    /// Everything before `to` is applied. Called in ascending order, one call at a time. `watched` are the
    /// commits since the last call that changed the [watched](crate::RedoOptions::watched) tree, ascending.
    fn applied(&self, to: Lsn, watched: &[Lsn]) {
        let _ = (to, watched);
    }
    /// The first part of a streaming transaction was met at `first`. Called before [`Target::applied`] passes it.
    fn stream_opened(&self, stream: u64, first: Lsn) {
        let _ = (stream, first);
    }
    /// All of a streaming transaction is there, and somebody outside decides, who calls it `name`. Called before [`Target::applied`] passes it.
    fn stream_prepared(&self, stream: u64, name: &[u8]) {
        let _ = (stream, name);
    }
    /// A streaming transaction was committed at `end`, or aborted; `end` is there when it was prepared, too. Called before [`Target::applied`] passes it.
    fn stream_closed(&self, stream: u64, end: Option<Lsn>) {
        let _ = (stream, end);
    }
}

impl<T: Target + ?Sized> Target for &T {
    fn apply(&self, lsn: Lsn, record: &RowRecord<'_>) -> Result<(), StoreError> {
        (**self).apply(lsn, record)
    }
    fn apply_all(&self, lsn: Lsn, records: &[RowRecord<'_>]) -> Result<(), (usize, StoreError)> {
        (**self).apply_all(lsn, records)
    }
    fn drop_tree(&self, tree: TreeId, lsn: Lsn) {
        (**self).drop_tree(tree, lsn);
    }
    fn applied(&self, to: Lsn, watched: &[Lsn]) {
        (**self).applied(to, watched);
    }
    fn stream_opened(&self, stream: u64, first: Lsn) {
        (**self).stream_opened(stream, first);
    }
    fn stream_prepared(&self, stream: u64, name: &[u8]) {
        (**self).stream_prepared(stream, name);
    }
    fn stream_closed(&self, stream: u64, end: Option<Lsn>) {
        (**self).stream_closed(stream, end);
    }
}

impl Target for Store {
    fn apply(&self, lsn: Lsn, record: &RowRecord<'_>) -> Result<(), StoreError> {
        match change_of(record) {
            Some(change) => Store::apply(self, lsn, record.tree, record.key, change),
            None => Ok(()),
        }
    }

    fn apply_all(&self, lsn: Lsn, records: &[RowRecord<'_>]) -> Result<(), (usize, StoreError)> {
        let mut done = 0;
        for some in records.chunks(TOGETHER_MAX) {
            // What drops a tree is told elsewhere, and is not among them.
            let changes = some.iter().filter_map(|r| Some((r.tree, r.key, change_of(r)?)));
            let changes: SmallVec<[_; TOGETHER_MAX]> = changes.collect();
            Store::apply_all(self, lsn, &changes).map_err(|(n, error)| (done + n, error))?;
            done += some.len();
        }
        Ok(())
    }

    fn drop_tree(&self, tree: TreeId, lsn: Lsn) {
        Store::drop_tree(self, tree, lsn);
    }
}

fn change_of<'a>(record: &RowRecord<'a>) -> Option<keel_store::Change<'a>> {
    Some(match record.change {
        Change::Put(row) => keel_store::Change::Put(row),
        Change::Patch(patch) => keel_store::Change::Patch(keel_store::row::Patch::from_trusted(patch)),
        Change::Delete => keel_store::Change::Delete,
        Change::DropTree => return None,
    })
}
