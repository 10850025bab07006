//! A checkpoint: the delta's committed state as of one LSN, merged into the base tree while everybody goes on.
//!
//! ```text
//! begin: a snapshot at the stable LSN C (pins the versions) ─► drop trees dropped at or below C
//!   ─► changes: per tree, per key in order, the newest version at or below C, in batches ─► base.merge
//!   ─► the root of C is published ─► the snapshot goes ─► evict
//! ```
//!
//! Undecided versions and versions above C are passed over; so are versions that the base has already (at or below
//! the checkpoint LSN of its present root), which an old snapshot keeps in memory. A run that fails may be repeated.
//!
//! How far it is, it says as work, not as keys: a key that has its page for itself costs a page, one of many that were added
//! side by side a fraction. What the keys of a tree cost in the last checkpoint is what they are expected to cost in this one.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_epoch as epoch;
use keel_base::{Lsn, TreeId};
use parking_lot::MutexGuard;

use crate::base::{self, Folded, MergeOptions, MergeReport, NoThrottle, PAGE_SIZE, Throttle};
use crate::delta::evict::{EvictReport, Traces};
use crate::delta::{Rule, TreeDelta};
use crate::row::patch::{self, Patch};
use crate::snapshot::Snapshot;
use crate::store::{BaseKey, Result, Shown, Store, base_key};
use crate::version::VersionRef;

/// Keys resolved under one guard.
const BATCH_KEYS: usize = 256;
/// Work of a changed key that is merged, beside what is written, as bytes written.
const KEY_WORK: u64 = 512;

/// How a checkpoint writes.
#[derive(Clone, Copy)]
pub struct CheckpointOptions<'a> {
    /// New opaque metadata for the superblock; `None` keeps the old.
    pub meta: Option<&'a [u8]>,
    /// A chunk is published after about this many bytes of new pages.
    pub chunk_bytes: usize,
    /// Paces writes.
    pub throttle: &'a dyn Throttle,
}

impl Default for CheckpointOptions<'_> {
    fn default() -> Self {
        CheckpointOptions { meta: None, chunk_bytes: 16 << 20, throttle: &NoThrottle }
    }
}

/// What a checkpoint did.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckpointReport {
    /// The checkpoint LSN now in the base.
    pub lsn: Lsn,
    /// What the merge did, dropped trees included.
    pub merge: MergeReport,
    /// What left the delta.
    pub evicted: EvictReport,
}

/// A checkpoint that has its LSN and has not run yet. One at a time per store.
pub struct Checkpoint<'s> {
    store: &'s Store,
    snapshot: Snapshot,
    _only: MutexGuard<'s, ()>,
}

impl<'s> Checkpoint<'s> {
    pub(crate) fn begin(store: &'s Store) -> Checkpoint<'s> {
        let only = store.checkpointing.lock();
        Checkpoint { store, snapshot: store.snapshot(Lsn::ZERO), _only: only }
    }

    /// The LSN that the base will stand at.
    #[must_use]
    pub fn lsn(&self) -> Lsn {
        self.snapshot.lsn()
    }

    /// Merges, publishes, evicts.
    pub fn run(self, options: &CheckpointOptions<'_>) -> Result<CheckpointReport> {
        let lsn = self.lsn();
        let fold = |_key: &[u8], old: Option<&[u8]>, patch: &[u8], new: &mut Vec<u8>| {
            // No row to patch: a replay of something older than what the base holds, decided by a later record.
            let Some(old) = old else { return Folded::Gone };
            match patch::try_apply(old, &Patch::from_trusted(patch), new) {
                Some(()) => Folded::Row,
                None => Folded::Damaged,
            }
        };
        let counted = Counted { inner: options.throttle, written: AtomicU64::new(0) };
        let merge = MergeOptions {
            checkpoint_lsn: lsn,
            highest_lsn: lsn,
            meta: options.meta,
            chunk_bytes: options.chunk_bytes,
            throttle: &counted,
            fold: Some(&fold),
        };
        let mut report = CheckpointReport { lsn, ..CheckpointReport::default() };
        let due: Vec<_> = self.store.dropped.lock().iter().copied().filter(|(_, at)| *at <= lsn).collect();
        for (tree, _) in &due {
            add(&mut report.merge, &self.store.base.drop_tree(*tree, &merge)?);
        }
        add(&mut report.merge, &self.store.base.merge(self.changes(&due, &counted), &merge)?);
        self.store.dropped.lock().retain(|dropped| !due.contains(dropped));
        self.store.bytes_per_key.lock().retain(|tree, _| due.iter().all(|(id, _)| id != tree));
        let store = self.store;
        // Its own snapshot would hold back the eviction.
        drop(self.snapshot);
        report.evicted = store.evict_paced(Traces::Keep, options.throttle);
        Ok(report)
    }

    /// The changes since the present root, in base key order, but for those of trees that are gone.
    fn changes<'t>(&'t self, gone: &[(TreeId, Lsn)], throttle: &'t Counted<'t>) -> Changes<'t> {
        let mut trees = self.store.directory.all();
        trees.retain(|tree| gone.iter().all(|(id, _)| *id != tree.id()));
        let trees: VecDeque<_> = trees.into_iter().map(|tree| (self.store.work_of(&tree), tree)).collect();
        Changes {
            store: self.store,
            work: trees.iter().map(|(work, _)| work).sum(),
            finished: 0,
            visited: 0,
            written: 0,
            throttle,
            trees,
            resume: None,
            ready: VecDeque::new(),
            lsn: self.lsn(),
            merged: self.store.base.root().checkpoint_lsn(),
        }
    }
}

fn add(sum: &mut MergeReport, part: &MergeReport) {
    sum.changes += part.changes;
    sum.chunks += part.chunks;
    sum.pages_written += part.pages_written;
    sum.pages_freed += part.pages_freed;
}

/// A throttle that counts what it lets through.
struct Counted<'t> {
    inner: &'t dyn Throttle,
    written: AtomicU64,
}

impl Throttle for Counted<'_> {
    fn pace(&self, bytes: u64) -> bool {
        self.written.fetch_add(bytes, Ordering::Relaxed);
        self.inner.pace(bytes)
    }
    fn gone_through(&self, done: u64, of: u64) {
        self.inner.gone_through(done, of);
    }
    fn breathe(&self) {
        self.inner.breathe();
    }
}

impl Store {
    /// What merging a tree's changes is expected to take, as bytes written.
    fn work_of(&self, tree: &TreeDelta) -> u64 {
        let keys = tree.len() as u64;
        let known = self.bytes_per_key.lock().get(&tree.id()).copied();
        let bytes =
            known.map_or_else(|| self.bytes_at_first(tree.id(), keys), |each| (keys as f64 * each) as u64);
        keys * KEY_WORK + bytes
    }

    /// For a tree that no checkpoint has merged yet: as if its keys were spread over all its pages.
    fn bytes_at_first(&self, tree: TreeId, keys: u64) -> u64 {
        let (from, to) = (tree.0.to_be_bytes(), tree.0.wrapping_add(1).to_be_bytes());
        // A page that cannot be read shows when it is merged.
        let leaves = self.base.root().approximate_leaf_pages(&from, Some(&to)).unwrap_or(0) as f64;
        let pages = leaves * (1.0 - (-(keys as f64) / leaves.max(1.0)).exp());
        pages as u64 * PAGE_SIZE as u64
    }
}

/// Iterator over the newest committed versions up to an LSN, all trees in order.
struct Changes<'t> {
    store: &'t Store,
    throttle: &'t Counted<'t>,
    /// Of all trees, when it began.
    work: u64,
    /// Of the trees that are done, when it began.
    finished: u64,
    /// Entries visited in the first of `trees`.
    visited: u64,
    /// Bytes written before the first of `trees`.
    written: u64,
    /// What is left, with the work of each when it began: keys that come while it runs must not pass for work done.
    trees: VecDeque<(u64, Arc<TreeDelta>)>,
    /// Last key visited in the first of `trees`.
    resume: Option<Vec<u8>>,
    ready: VecDeque<(BaseKey, base::Change<VersionRef>)>,
    lsn: Lsn,
    /// The base has everything up to here.
    merged: Lsn,
}

impl Changes<'_> {
    /// Fills `ready`; false at the end.
    fn refill(&mut self) -> bool {
        while let Some((work, tree)) = self.trees.front().cloned() {
            let more = self.visit(&tree);
            let share = self.visited as f64 / (tree.len() as u64).max(self.visited).max(1) as f64;
            let within = if more { (work as f64 * share) as u64 } else { work };
            self.throttle.gone_through(self.finished + within, self.work);
            if !more {
                self.remember(tree.id());
                self.trees.pop_front();
                self.finished += work;
                (self.visited, self.resume) = (0, None);
            }
            if !self.ready.is_empty() {
                return true;
            }
        }
        false
    }

    /// The first of `trees` is done: what its keys have cost.
    fn remember(&mut self, tree: TreeId) {
        let written = self.throttle.written.load(Ordering::Relaxed);
        if self.visited >= BATCH_KEYS as u64 {
            let each = (written - self.written) as f64 / self.visited as f64;
            self.store.bytes_per_key.lock().insert(tree, each);
        }
        self.written = written;
    }

    /// One batch of a tree; false when it was the last.
    fn visit(&mut self, tree: &TreeDelta) -> bool {
        let guard = epoch::pin();
        let lower = self.resume.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut entries = Vec::with_capacity(BATCH_KEYS);
        let more = tree.batch((lower, Bound::Unbounded), false, BATCH_KEYS, &mut entries, &guard);
        let rule = Rule { lsn: self.lsn, own: std::ptr::null(), dirty: false };
        for entry in &entries {
            let seen = entry.read(rule, &guard);
            let Some(version) = seen.version else { continue };
            if seen.lsn <= self.merged {
                continue;
            }
            let change = match Shown::of(version) {
                Shown::Row(row) => base::Change::Put(row),
                Shown::Patch(patch) => base::Change::Fold(patch),
                Shown::Nothing => base::Change::Delete,
            };
            self.ready.push_back((base_key(tree.id(), entry.key()), change));
        }
        self.visited += entries.len() as u64;
        self.resume = entries.last().map(|entry| entry.key().to_vec());
        more && self.resume.is_some()
    }
}

impl Iterator for Changes<'_> {
    type Item = (BaseKey, base::Change<VersionRef>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() && !self.refill() {
            return None;
        }
        self.ready.pop_front()
    }
}
