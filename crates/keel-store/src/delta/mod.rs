//! # The delta: every version since the last checkpoint, in memory
//!
//! ```text
//! Directory ── TreeId ──► TreeDelta ── key ──► Entry ── chain ──► versions, newest first
//! ```
//!
//! Reads take an epoch guard and no lock. A write locks one entry (one byte) for the time of a few pointer stores.
//!
//! **Pruning** happens where garbage is made: a push to a chain drops what no snapshot can see, in the middle too,
//! by a cached [`PruneView`](crate::snapshot); so a row updated a million times a second keeps a handful of
//! versions whatever old snapshot is open elsewhere.
//!
//! **Eviction** ([`evict`]) happens after a checkpoint: versions that everybody who wants them finds in the base go,
//! and entries of which nothing is left. Why readers lose nothing is told there. *Writers* lock the entry. Eviction
//! marks an empty one dead under the same lock before it leaves the map, so a writer that found it earlier sees that,
//! looks again, and gets or makes a fresh entry. *Memory*: entries, versions and statuses are freed by the epoch
//! collector.
//!
//! Deliberately absent: locks between transactions, the merge with the base (`store`), log positions' meaning.

mod dead;
mod directory;
mod entry;
pub mod evict;
mod map;
mod memory;

use std::ops::Bound;
use std::ptr::NonNull;
use std::sync::Arc;

use crossbeam_epoch::Guard;
use keel_base::{Lsn, TreeId, TxnId};

pub(crate) use dead::{DeadKeys, Walk};
pub(crate) use directory::Directory;
pub(crate) use entry::{Entry, Rule, Seen};
pub use memory::MemoryAccount;
pub(crate) use memory::heap_bytes;

use crate::row::patch::{self, Patch, PatchBuilder};
use crate::snapshot::Registry;
use crate::txn::{Undo, WriteSet};
use crate::version::{NewStamp, Version, VersionKind, VersionRef};
use entry::{PushError, Pushed};
use map::Map;
pub(crate) use map::{Place, Search};

/// Asks the cache for the line at `place`, which will be read soon.
#[inline]
pub(crate) fn prefetch<T>(place: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and accepts any address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Keys looked at exactly when a range is estimated.
const SAMPLE_KEYS: usize = 128;

/// A change to one key.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// A row that was not there before.
    Insert(&'a [u8]),
    /// A row, whether it was there before or not.
    Put(&'a [u8]),
    /// Changed columns of a row that is there, perhaps only in the base.
    Patch(Patch<'a>),
    /// No row any more.
    Delete,
}

/// Why a change was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteError {
    /// Another transaction's undecided version is on top: the caller holds no lock of the key's.
    Undecided(TxnId),
    /// A row is there already.
    Exists,
}

/// The versions of one tree.
// Apart from the counts of its references, which all sessions write to.
#[repr(align(128))]
pub(crate) struct TreeDelta {
    id: TreeId,
    map: Map,
    dead: DeadKeys,
    account: Arc<MemoryAccount>,
}

impl TreeDelta {
    pub(crate) fn new(id: TreeId, account: Arc<MemoryAccount>) -> TreeDelta {
        TreeDelta { id, map: Map::new(), dead: DeadKeys::default(), account }
    }

    pub(crate) fn id(&self) -> TreeId {
        self.id
    }

    /// Where no row is alive any more.
    #[inline]
    pub(crate) fn dead(&self) -> &DeadKeys {
        &self.dead
    }

    /// What `rule` shows of `key`, or `None` when the delta has no entry.
    #[inline]
    pub(crate) fn read<'g>(&self, key: &[u8], rule: Rule, guard: &'g Guard) -> Option<Seen<'g>> {
        self.map.get(key, guard).map(|entry| entry.read(rule, guard))
    }

    /// See [`Map::batch`].
    pub(crate) fn batch<'g>(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        max: usize,
        out: &mut Vec<&'g Entry>,
        guard: &'g Guard,
    ) -> bool {
        self.map.batch(bounds.0, bounds.1, reverse, max, out, guard)
    }

    /// Pushes an undecided version of the write set's transaction. `tree` is this tree's index in the set.
    pub(crate) fn write(
        &self,
        set: &mut WriteSet,
        tree: u32,
        key: &[u8],
        change: Change<'_>,
        registry: &Registry,
        guard: &Guard,
    ) -> Result<(), WriteError> {
        self.write_if(set, tree, key, change, registry, guard, |_| true)
    }

    /// Adds a row unless there is one, here or in the base: `base_has` is asked when the base decides, after the delta
    /// was found to have nothing. Gives the LSN of the delete that it goes over, or zero.
    #[allow(clippy::too_many_arguments, reason = "a write and what the base has")]
    pub(crate) fn write_new(
        &self,
        set: &mut WriteSet,
        tree: u32,
        key: &[u8],
        row: &[u8],
        mut base_has: impl FnMut() -> bool,
        registry: &Registry,
        guard: &Guard,
    ) -> Result<Lsn, WriteError> {
        let mut over = Lsn::ZERO;
        self.write_if(set, tree, key, Change::Insert(row), registry, guard, |top| {
            let Some(top) = top else { return !base_has() };
            if let crate::version::Stamp::Committed(lsn) = top.stamp() {
                over = lsn;
            }
            match top.kind() {
                VersionKind::Delete | VersionKind::Gone => true,
                VersionKind::InBase => !base_has(),
                VersionKind::Insert | VersionKind::Put | VersionKind::Patch => false,
            }
        })?;
        Ok(over)
    }

    #[allow(clippy::too_many_arguments, reason = "a write and its condition")]
    #[inline]
    fn write_if(
        &self,
        set: &mut WriteSet,
        tree: u32,
        key: &[u8],
        change: Change<'_>,
        registry: &Registry,
        guard: &Guard,
        mut admit: impl FnMut(Option<&Version>) -> bool,
    ) -> Result<(), WriteError> {
        let own = Arc::as_ptr(set.status());
        let undo_index = u32::try_from(set.undo.len()).expect("fewer than 2^32 changes per transaction");
        let floor = set.replace_floor();
        let mut written = None;
        let entry = self.push(key, Place::Unknown, own, registry, guard, |top| {
            if !admit(top) {
                return None;
            }
            // Undecided on top means our own; a version of ours from before the last mark must stay for its rollback.
            let ours = top.filter(|top| matches!(top.stamp(), crate::version::Stamp::Open(_)));
            let replaced = ours.map(|top| top.undo_index).filter(|index| *index as usize >= floor);
            let index = replaced.unwrap_or(undo_index);
            let version = build(change, top, NewStamp::By(own), index);
            written = Some((version.clone(), replaced));
            Some(Pushed { version, replace: replaced.is_some() })
        })?;
        let (version, replaced) = written.expect("push calls make on success");
        set.note_written(version.footprint());
        match replaced {
            Some(index) => set.undo[index as usize].version = version,
            None => set.undo.push(Undo { entry: NonNull::from(entry), version, tree }),
        }
        Ok(())
    }

    /// A search for a key that is applied to soon.
    pub(crate) fn search<'k, 'g>(&self, key: &'k [u8], guard: &'g Guard) -> Search<'k, 'g> {
        self.map.search(key, guard)
    }

    /// Pushes a version that is committed already. Nothing happens when the key has a newer one. `place` is what a search
    /// for the key has found.
    pub(crate) fn apply<'g>(
        &self,
        key: &[u8],
        place: Place<'g>,
        lsn: Lsn,
        change: Change<'_>,
        registry: &Registry,
        guard: &'g Guard,
    ) -> Result<(), WriteError> {
        let pushed = self.push(key, place, std::ptr::null(), registry, guard, |top| {
            let newest = match top.map(Version::stamp) {
                Some(crate::version::Stamp::Committed(at)) => at,
                _ => Lsn::ZERO,
            };
            let version = || build(change, top, NewStamp::Committed(lsn), 0);
            (newest <= lsn).then(|| Pushed { version: version(), replace: newest == lsn })
        });
        match pushed {
            // A newer version refuses this one.
            Ok(_) | Err(WriteError::Exists) => Ok(()),
            Err(undecided) => Err(undecided),
        }
    }

    fn push<'g>(
        &self,
        key: &[u8],
        mut place: Place<'g>,
        own: *const crate::txn::TxnStatus,
        registry: &Registry,
        guard: &'g Guard,
        mut make: impl FnMut(Option<&Version>) -> Option<Pushed>,
    ) -> Result<&'g Entry, WriteError> {
        loop {
            let (entry, fresh) = self.map.get_or_insert(key, place, guard);
            // A dead entry is found no second time.
            place = Place::Unknown;
            let mut born = false;
            let pushed = entry.push(own, guard, registry, |top| {
                let pushed = make(top)?;
                born = pushed.version.kind().is_alive() && !top.is_some_and(|top| top.kind().is_alive());
                Some(pushed)
            });
            match pushed {
                Ok(bytes) => {
                    if born {
                        self.dead.born(key);
                    }
                    let own_bytes = if fresh { entry.footprint() as isize } else { 0 };
                    self.account.add(bytes + own_bytes);
                    return Ok(entry);
                }
                Err(why) => {
                    if fresh {
                        // It stays without a version until it is evicted, or was evicted already: who takes it out
                        // discounts it.
                        self.account.add(entry.footprint() as isize);
                    }
                    match why {
                        PushError::Undecided(by) => return Err(WriteError::Undecided(by)),
                        PushError::Refused => return Err(WriteError::Exists),
                        PushError::Dead => {}
                    }
                    // The evictor holds the entry between mark and removal; it needs our core.
                    std::thread::yield_now();
                }
            }
        }
    }

    /// Takes back an undecided version.
    pub(crate) fn unlink(&self, entry: &Entry, version: &VersionRef, guard: &Guard) {
        let freed = entry.unlink(version.as_ptr(), guard);
        self.account.add(-(freed as isize));
    }

    /// Unlinks the versions committed after `lsn`; returns how many.
    pub(crate) fn take_back(&self, lsn: Lsn) -> usize {
        let mut gone = 0;
        self.map.sweep(&mut |entry, guard| {
            let (versions, bytes) = entry.take_back(lsn, guard);
            self.account.add(-(bytes as isize));
            gone += versions;
            false
        });
        // Afterwards: a scan under way may still have met deletes that are gone now.
        self.dead.forget();
        gone
    }

    /// Aborts the transaction that has an undecided version on `key`.
    pub(crate) fn abandon(&self, key: &[u8], guard: &Guard) {
        if let Some(entry) = self.map.get(key, guard) {
            entry.abandon(guard);
        }
    }

    /// Number of keys with versions.
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// See [`Map::separators`].
    pub(crate) fn separators(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        parts: usize,
        guard: &Guard,
    ) -> Vec<Vec<u8>> {
        self.map.separators(bounds, parts, guard)
    }

    /// Rough number of rows that the delta adds to the base in a range; negative when it takes some away.
    pub(crate) fn estimate_net(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        in_base: &dyn Fn(&[u8]) -> bool,
        guard: &Guard,
    ) -> i64 {
        let mut sample = Vec::with_capacity(SAMPLE_KEYS);
        let more = self.map.batch(bounds.0, bounds.1, false, SAMPLE_KEYS, &mut sample, guard);
        let rule = Rule { lsn: Lsn::MAX, own: std::ptr::null(), dirty: true };
        let weight = |entry: &&Entry| match entry.read(rule, guard).version.map(Version::kind) {
            // Also rows that were put without a look at what was there: by the build of an index, or by redo.
            Some(VersionKind::Insert | VersionKind::Put) => i64::from(!in_base(entry.key())),
            Some(VersionKind::Delete) => -i64::from(in_base(entry.key())),
            _ => 0,
        };
        let net: i64 = sample.iter().map(weight).sum();
        if !more || sample.is_empty() {
            return net;
        }
        let keys = self.map.estimate(bounds.0, bounds.1, guard).max(sample.len());
        (net as f64 * keys as f64 / sample.len() as f64) as i64
    }

    /// Takes the bytes of a dropped tree out of the account. Writers that still hold it only make it drift.
    pub(crate) fn forget(&self) {
        self.map.sweep(&mut |entry, guard| {
            let Some(bytes) = entry.clear(guard) else { return false };
            self.account.add(-(bytes as isize));
            true
        });
    }

    #[cfg(test)]
    pub(crate) fn chain_len(&self, key: &[u8], guard: &Guard) -> usize {
        self.map.get(key, guard).map_or(0, |entry| entry.chain_len(guard))
    }
}

/// The version for `change` on top of `top`: patches are folded into a row or composed with a patch.
fn build(change: Change<'_>, top: Option<&Version>, stamp: NewStamp, undo_index: u32) -> VersionRef {
    let below = top.map(Version::kind).filter(|kind| *kind != VersionKind::InBase);
    let base_has_none = matches!(below, Some(VersionKind::Insert | VersionKind::Gone));
    let row_kind = if base_has_none { VersionKind::Insert } else { VersionKind::Put };
    let patch = match change {
        Change::Insert(row) => {
            let kind = if below.is_none() { VersionKind::Insert } else { row_kind };
            return VersionRef::new(kind, row, stamp, undo_index);
        }
        Change::Put(row) => return VersionRef::new(row_kind, row, stamp, undo_index),
        Change::Delete => {
            let kind = if base_has_none { VersionKind::Gone } else { VersionKind::Delete };
            return VersionRef::new(kind, &[], stamp, undo_index);
        }
        Change::Patch(patch) => patch,
    };
    match (below, top.map(Version::bytes)) {
        (Some(VersionKind::Patch), Some(older)) => {
            let mut builder = PatchBuilder::new();
            let both = patch::compose(&Patch::from_trusted(older), &patch, &mut builder);
            VersionRef::new(VersionKind::Patch, both.as_bytes(), stamp, undo_index)
        }
        (Some(VersionKind::Insert | VersionKind::Put), Some(row)) => {
            let mut folded = Vec::new();
            patch::apply(row, &patch, &mut folded);
            VersionRef::new(row_kind, &folded, stamp, undo_index)
        }
        // A patch waits for its base row; over a deleted row it can only be a replay of something older than the base.
        _ => VersionRef::new(VersionKind::Patch, patch.as_bytes(), stamp, undo_index),
    }
}
