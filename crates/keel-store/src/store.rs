//! The store of one database: the delta over the base tree.
//!
//! ```text
//! get/scan ─► delta: newest version that the reader may see ──none──► base root of the reader
//! write    ─► delta: a version under the transaction's status
//! checkpoint ─► changes up to LSN C in key order ─► base.merge ─► new root ─► evict what all find in the base
//! ```
//!
//! # Who must do what
//! * A **writer** holds the key's exclusive lock from before it looks until its transaction is decided. The store
//!   refuses to put a version over another transaction's undecided one ([`StoreError::Undecided`]).
//! * The **engine** stamps commits inside the log's reservation and then advances the stable LSN
//!   ([`Store::advance_stable`]) as the log hardens; snapshots are taken at the stable LSN or above.
//! * **Readers of the newest version** ([`Store::get_latest`]) get its commit LSN, which may not be hardened yet;
//!   the engine delays their answer until it is.
//!
//! Deliberately absent: isolation levels, the log, key encoding. Truncating or rebuilding a table is a new tree id
//! and a [`Store::drop_tree`] of the old one, once decided: nothing is emptied in place.

use std::ops::Bound;
use std::sync::Arc;

use crossbeam_epoch as epoch;
use hashbrown::HashMap;
use keel_base::{Lsn, TreeId, TxnId};
use parking_lot::Mutex;
use smallvec::SmallVec;
use thiserror::Error;

use crate::base::{self, BaseError, BaseRoot, BaseTree, Direction, NoThrottle, Throttle};
use crate::checkpoint::Checkpoint;
use crate::delta::evict::{EvictReport, Eviction, Traces};
use crate::delta::{Change, Directory, MemoryAccount, Place, Rule, Search, TreeDelta, WriteError};
use crate::gap::BaseGap;
use crate::key_bytes;
use crate::row::patch::{self, Patch};
use crate::scan::{Cursor, TREE_PREFIX};
use crate::snapshot::{Registry, Snapshot};
use crate::txn::WriteSet;
use crate::version::{RowRef, Version, VersionKind, VersionRef};

/// Keys that are looked for at once: more than memory is fetched at once for one thread gains nothing.
const SEARCHES_MAX: usize = 16;

/// An error of the store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A row is under this key already.
    #[error("a row with this key exists")]
    Duplicate,
    /// Another transaction's undecided version is on top: the caller does not hold the lock that it should.
    #[error("transaction {} has an undecided version of this row", .0.0)]
    Undecided(TxnId),
    /// The base tree failed.
    #[error(transparent)]
    Base(#[from] BaseError),
}

impl From<WriteError> for StoreError {
    fn from(error: WriteError) -> StoreError {
        match error {
            WriteError::Undecided(by) => StoreError::Undecided(by),
            WriteError::Exists => StoreError::Duplicate,
        }
    }
}

/// Result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// Which versions a scan shows. The reader's own versions are shown in every mode.
#[derive(Clone, Copy)]
pub enum ReadMode<'a> {
    /// Commits up to the snapshot.
    Snapshot(&'a Snapshot),
    /// The newest committed version of each row; rows with another transaction's undecided version are flagged.
    Latest,
    /// The newest version, committed or not.
    Dirty,
}

/// The newest committed or own state of a key.
#[derive(Debug)]
pub struct Latest {
    /// The row; `None` when there is none.
    pub row: Option<RowRef>,
    /// When its newest version committed; zero when that is the reader's own or lies in the base.
    pub lsn: Lsn,
    /// Another transaction has an undecided version of the row.
    pub blocked_by: Option<TxnId>,
}

/// Rounds of collection after an eviction: two epochs have to pass before the last retired memory is free.
const COLLECTIONS_AFTER_EVICTION: usize = 64;

/// Key of the base tree: tree id, big-endian, then the key.
pub(crate) type BaseKey = SmallVec<[u8; 64]>;

#[inline]
pub(crate) fn base_key(tree: TreeId, key: &[u8]) -> BaseKey {
    let mut full = BaseKey::new();
    key_bytes::append(&mut full, &tree.0.to_be_bytes());
    key_bytes::append(&mut full, key);
    full
}

/// Rows of one database. Shared by `Arc`; all methods may be called from any thread.
// Apart from the counts of its references, which all sessions write to.
#[repr(align(128))]
pub struct Store {
    pub(crate) base: BaseTree,
    pub(crate) directory: Directory,
    pub(crate) registry: Arc<Registry>,
    account: Arc<MemoryAccount>,
    /// Trees dropped at an LSN whose base rows the next checkpoint past it removes.
    pub(crate) dropped: Mutex<Vec<(TreeId, Lsn)>>,
    /// Trees dropped whose versions a snapshot may still need.
    retiring: Mutex<Vec<(TreeId, Lsn)>>,
    /// Held by the one running checkpoint.
    pub(crate) checkpointing: Mutex<()>,
    /// What the last checkpoint wrote for each changed key of a tree.
    pub(crate) bytes_per_key: Mutex<HashMap<TreeId, f64>>,
}

impl Store {
    /// A store over an opened base tree. Its bytes also count in `memory`.
    #[must_use]
    pub fn new(base: BaseTree, memory: &Arc<MemoryAccount>) -> Arc<Store> {
        let highest = base.root().highest_lsn();
        Arc::new(Store {
            base,
            directory: Directory::new(),
            registry: Arc::new(Registry::new(highest)),
            account: MemoryAccount::under(memory),
            dropped: Mutex::new(Vec::new()),
            retiring: Mutex::new(Vec::new()),
            checkpointing: Mutex::new(()),
            bytes_per_key: Mutex::default(),
        })
    }

    /// The base tree.
    #[must_use]
    pub fn base(&self) -> &BaseTree {
        &self.base
    }

    /// Bytes of the delta.
    #[must_use]
    pub fn delta_bytes(&self) -> u64 {
        self.account.bytes()
    }

    /// Number of keys in the delta; walks the trees.
    #[must_use]
    pub fn delta_keys(&self) -> usize {
        self.directory.all().iter().map(|tree| tree.len()).sum()
    }

    /// A lower bound of every future snapshot; see [`Store::advance_stable`].
    #[must_use]
    pub fn stable(&self) -> Lsn {
        self.registry.stable()
    }

    /// Says that everything up to `lsn` is stamped and hardened (a secondary: applied), so that snapshots may be
    /// taken there. Never goes back.
    pub fn advance_stable(&self, lsn: Lsn) {
        self.registry.advance(lsn);
    }

    /// A snapshot at the stable LSN, or at `at_least` when that is higher (what the transaction has observed).
    #[must_use]
    pub fn snapshot(&self, at_least: Lsn) -> Snapshot {
        self.registry.register(&self.base, at_least, false)
    }

    /// The same for a transaction that may ask [`Store::changed_since`]: while it is open, changes leave a trace.
    #[must_use]
    pub fn snapshot_of_writer(&self, at_least: Lsn) -> Snapshot {
        self.registry.register(&self.base, at_least, true)
    }

    /// Whether another transaction changed `key` after `snapshot`, which is a writer's. The caller holds the key's
    /// exclusive lock. When traces were given up for memory, a row may count as changed because one beside it was.
    pub fn changed_since(
        &self,
        snapshot: &Snapshot,
        own: Option<&WriteSet>,
        tree: TreeId,
        key: &[u8],
    ) -> Result<bool> {
        let rule = Rule { lsn: Lsn::MAX, own: status_of(own), dirty: false };
        {
            let guard = epoch::pin();
            let seen = self.directory.get(tree, &guard).and_then(|delta| delta.read(key, rule, &guard));
            // An own version has been through this when it was written.
            if let Some(seen) = seen.filter(|seen| seen.version.is_some() || seen.lsn > Lsn::ZERO) {
                return Ok(seen.lsn > snapshot.lsn());
            }
        }
        if self.registry.forgotten() <= snapshot.lsn() {
            return Ok(false);
        }
        let key = base_key(tree, key);
        Ok(!snapshot.root().shares_leaf(&self.base.root_now(), &key)?)
    }

    /// LSN of the oldest snapshot in use.
    #[must_use]
    pub fn oldest_snapshot(&self) -> Option<Lsn> {
        self.registry.oldest()
    }

    /// Number of snapshots and scans in use.
    #[must_use]
    pub fn snapshots_active(&self) -> usize {
        self.registry.active()
    }

    /// The row under `key` as of the snapshot, or as the own transaction left it.
    pub fn get(
        &self,
        snapshot: &Snapshot,
        own: Option<&WriteSet>,
        tree: TreeId,
        key: &[u8],
    ) -> Result<Option<RowRef>> {
        let rule = Rule { lsn: snapshot.lsn(), own: status_of(own), dirty: false };
        self.read(rule, snapshot.root(), tree, key)
    }

    /// The newest committed or own state of `key`. Exact when the caller holds the key's lock.
    pub fn get_latest(&self, own: Option<&WriteSet>, tree: TreeId, key: &[u8]) -> Result<Latest> {
        let rule = Rule { lsn: Lsn::MAX, own: status_of(own), dirty: false };
        let (mut lsn, mut blocked_by) = (Lsn::ZERO, None);
        {
            let guard = epoch::pin();
            let seen = self.directory.get(tree, &guard).and_then(|delta| delta.read(key, rule, &guard));
            if let Some(seen) = seen {
                (lsn, blocked_by) = (seen.lsn, seen.blocked_by);
                match seen.version.map(Shown::of) {
                    Some(Shown::Row(version)) => {
                        return Ok(Latest { row: Some(RowRef::delta(version)), lsn, blocked_by });
                    }
                    Some(Shown::Nothing) => return Ok(Latest { row: None, lsn, blocked_by }),
                    // A patch fits only a root registered before the chain is read.
                    Some(Shown::Patch(_)) => {
                        drop(guard);
                        let pin = self.registry.pin_root(&self.base);
                        let row = self.read(rule, pin.root(), tree, key)?;
                        return Ok(Latest { row, lsn, blocked_by });
                    }
                    None => {}
                }
            }
        }
        // The root is loaded after the delta was found empty: it has whatever was evicted before.
        let row = self.base.root_now().get(&base_key(tree, key))?.map(RowRef::base);
        Ok(Latest { row, lsn, blocked_by })
    }

    /// The newest version of `key`, committed or not.
    pub fn get_dirty(&self, own: Option<&WriteSet>, tree: TreeId, key: &[u8]) -> Result<Option<RowRef>> {
        let pin = self.registry.pin_root(&self.base);
        let rule = Rule { lsn: Lsn::MAX, own: status_of(own), dirty: true };
        self.read(rule, pin.root(), tree, key)
    }

    /// A cursor before the first row of the range, in the direction given.
    #[must_use]
    pub fn scan(
        self: &Arc<Self>,
        mode: ReadMode<'_>,
        own: Option<&WriteSet>,
        tree: TreeId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
    ) -> Cursor {
        let delta = self.tree(tree);
        let own = own.map(|set| set.status().clone());
        Cursor::new(self, delta, mode, own, bounds, direction)
    }

    /// Adds a row that must not exist. The caller holds the key's exclusive lock.
    pub fn insert(&self, set: &mut WriteSet, tree: TreeId, key: &[u8], row: &[u8]) -> Result<()> {
        if self.get_latest(Some(set), tree, key)?.row.is_some() {
            return Err(StoreError::Duplicate);
        }
        self.write(set, tree, key, Change::Insert(row))
    }

    /// Sets a row, whether there was one or not. The caller holds the lock that guards the key.
    pub fn put(&self, set: &mut WriteSet, tree: TreeId, key: &[u8], row: &[u8]) -> Result<()> {
        self.write(set, tree, key, Change::Put(row))
    }

    /// Removes a row. The caller holds the lock that guards the key.
    pub fn delete(&self, set: &mut WriteSet, tree: TreeId, key: &[u8]) -> Result<()> {
        self.write(set, tree, key, Change::Delete)
    }

    /// Writes any change under the transaction's status. The caller holds the lock that guards the key.
    pub fn write(&self, set: &mut WriteSet, tree: TreeId, key: &[u8], change: Change<'_>) -> Result<()> {
        let guard = epoch::pin();
        let (delta, index) = self.tree_of(set, tree);
        // SAFETY: `set.trees` only grows while the set lives, and holds a reference to the tree.
        unsafe { &*delta }.write(set, index, key, change, &self.registry, &guard)?;
        Ok(())
    }

    /// Adds a row that must not exist, for loads whose keys have no locks of their own: the caller's table lock keeps
    /// everybody away but other loads. [`StoreError::Undecided`] names the load that has just written the same key; wait
    /// for it and ask again. Gives the LSN of the delete that the row goes over, or zero.
    pub fn insert_new(&self, set: &mut WriteSet, gap: &mut BaseGap, key: &[u8], row: &[u8]) -> Result<Lsn> {
        let guard = epoch::pin();
        let (delta, index) = self.tree_of(set, gap.tree());
        let mut failed = None;
        let base_has = || {
            gap.base_has(&self.base, key).unwrap_or_else(|e| {
                failed = Some(e);
                true
            })
        };
        // SAFETY: as in `write`.
        let written = unsafe { &*delta }.write_new(set, index, key, row, base_has, &self.registry, &guard);
        match failed {
            Some(e) => Err(e.into()),
            None => Ok(written?),
        }
    }

    /// The delta of a tree that a write set writes to, with its index there.
    fn tree_of(&self, set: &mut WriteSet, tree: TreeId) -> (*const TreeDelta, u32) {
        let index = match set.find_tree(tree) {
            Some(index) => index,
            None => {
                set.trees.push(self.tree(tree));
                set.trees.len() as u32 - 1
            }
        };
        (Arc::as_ptr(&set.trees[index as usize]), index)
    }

    /// Applies a change that is committed at `lsn` (redo). Per key in ascending order; older than what is there: nothing.
    pub fn apply(&self, lsn: Lsn, tree: TreeId, key: &[u8], change: Change<'_>) -> Result<()> {
        let guard = epoch::pin();
        match self.directory.get(tree, &guard) {
            Some(delta) => delta.apply(key, Place::Unknown, lsn, change, &self.registry, &guard)?,
            None => self.tree(tree).apply(key, Place::Unknown, lsn, change, &self.registry, &guard)?,
        }
        Ok(())
    }

    /// The same for several changes in order, faster by looking for their keys at once. After an error, which comes with
    /// how many were applied, the others have not been looked at.
    pub fn apply_all(
        &self,
        lsn: Lsn,
        changes: &[(TreeId, &[u8], Change<'_>)],
    ) -> std::result::Result<(), (usize, StoreError)> {
        let guard = epoch::pin();
        for (n, some) in changes.chunks(SEARCHES_MAX).enumerate() {
            let mut ahead: SmallVec<[Option<(&TreeDelta, Search<'_, '_>)>; SEARCHES_MAX]> = some
                .iter()
                .map(|(tree, key, _)| {
                    let delta = self.directory.get(*tree, &guard)?;
                    Some((delta, delta.search(key, &guard)))
                })
                .collect();
            while ahead.iter_mut().flatten().fold(false, |any, (_, search)| search.step(&guard) | any) {}
            for (at, ((tree, key, change), ahead)) in some.iter().zip(&ahead).enumerate() {
                let applied = match ahead {
                    Some((delta, search)) => delta
                        .apply(key, search.place(), lsn, *change, &self.registry, &guard)
                        .map_err(StoreError::from),
                    None => self.apply(lsn, *tree, key, *change),
                };
                applied.map_err(|error| (n * SEARCHES_MAX + at, error))?;
            }
        }
        Ok(())
    }

    /// Forgets a tree as of `lsn`, the commit of what dropped it. Its rows leave memory when no snapshot from before that
    /// is in use or can come, and the base with the next checkpoint past `lsn`. Tree ids are not used again.
    pub fn drop_tree(&self, tree: TreeId, lsn: Lsn) {
        self.dropped.lock().push((tree, lsn));
        self.retiring.lock().push((tree, lsn));
        self.retire_dropped();
    }

    /// Lets go of dropped trees that nobody can read any more.
    fn retire_dropped(&self) {
        let mut retiring = self.retiring.lock();
        if retiring.is_empty() {
            return;
        }
        let Some(view) = self.registry.scan_for_pruning() else { return };
        let guard = epoch::pin();
        retiring.retain(|(tree, at)| {
            let needed = view.floor < *at || view.snapshots.first().is_some_and(|oldest| oldest < at);
            if !needed && let Some(delta) = self.directory.remove(*tree, &guard) {
                delta.forget();
            }
            needed
        });
    }

    /// Takes back every commit after `lsn`, which must not lie before the stable LSN: no reader has seen them, and the
    /// older versions are all there. Nobody may be writing. Returns the number of versions that went.
    ///
    /// # Panics
    /// If `lsn` lies before the stable LSN.
    pub fn take_back(&self, lsn: Lsn) -> usize {
        assert!(lsn >= self.stable(), "what readers may have seen cannot be taken back");
        self.dropped.lock().retain(|(_, at)| *at <= lsn);
        self.retiring.lock().retain(|(_, at)| *at <= lsn);
        let trees = self.directory.all();
        trees.iter().map(|tree| tree.take_back(lsn)).sum()
    }

    /// Forgets everything that is not in the base, so that another history can be applied over it. Undecided versions stay.
    /// False, and nothing happens, while a snapshot is in use: it would change under its reader.
    pub fn reset(&self) -> bool {
        let _nobody_merges = self.checkpointing.lock();
        if self.registry.oldest().is_some() {
            return false;
        }
        self.dropped.lock().clear();
        self.retiring.lock().clear();
        let highest = self.base.root().highest_lsn();
        for tree in self.directory.all() {
            // Under an undecided version too.
            tree.take_back(highest);
            tree.forget();
        }
        self.registry.reset(highest);
        true
    }

    /// Aborts the transaction whose undecided version lies on `key`, on behalf of an owner that lost the right to commit.
    pub fn abandon(&self, tree: TreeId, key: &[u8]) {
        let guard = epoch::pin();
        if let Some(delta) = self.directory.get(tree, &guard) {
            delta.abandon(key, &guard);
        }
    }

    /// Every tree that may have rows in the snapshot, ascending: in its base or in memory, and not dropped before it.
    pub fn trees(&self, snapshot: &Snapshot) -> Result<Vec<TreeId>> {
        let root = snapshot.root();
        let mut found: Vec<TreeId> = self.directory.all().iter().map(|tree| tree.id()).collect();
        let mut next = Some(0u32);
        while let Some(from) = next {
            let mut cursor =
                root.scan(Bound::Included(&from.to_be_bytes()[..]), Bound::Unbounded, Direction::Forward);
            let first = cursor.next()?.and_then(|(key, _)| key.first_chunk::<4>().copied());
            let tree = first.map(u32::from_be_bytes);
            found.extend(tree.map(TreeId));
            next = tree.and_then(|tree| tree.checked_add(1));
        }
        let gone = |dropped: &[(TreeId, Lsn)], tree: TreeId| {
            dropped.iter().any(|(id, at)| *id == tree && *at <= snapshot.lsn())
        };
        let (dropped, retiring) = (self.dropped.lock().clone(), self.retiring.lock().clone());
        found.retain(|tree| !gone(&dropped, *tree) && !gone(&retiring, *tree));
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Starts a checkpoint at the stable LSN.
    pub fn begin_checkpoint(&self) -> Checkpoint<'_> {
        Checkpoint::begin(self)
    }

    /// [Pins](BaseTree::pin) the newest root while no checkpoint runs; `None` when one that failed has left it half way, or what
    /// it holds is of different ages still.
    ///
    /// # Errors
    /// Those of the base tree.
    pub fn pin_base(&self) -> Result<Option<base::Pin>> {
        let _nobody_merges = self.checkpointing.lock();
        Ok(self.base.pin()?)
    }

    /// [Makes a pinned root the newest one](BaseTree::revert). The store must not be used afterwards: its versions in memory
    /// are those of the rows that are gone, so the tree takes no more changes.
    ///
    /// # Errors
    /// Those of the base tree.
    pub fn revert(&self, pin: &base::Pin, at: Lsn, meta: &[u8], rows: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        let _nobody_merges = self.checkpointing.lock();
        Ok(self.base.revert(pin, at, meta, rows)?)
    }

    /// Evicts from the delta what everybody finds in the base. Runs after each checkpoint; to be called again when
    /// readers that held it up have gone.
    pub fn evict(&self, traces: Traces) -> EvictReport {
        self.evict_paced(traces, &NoThrottle)
    }

    /// The same, as fast as `throttle` lets it.
    pub(crate) fn evict_paced(&self, traces: Traces, throttle: &dyn Throttle) -> EvictReport {
        self.retire_dropped();
        let published = self.base.root().checkpoint_lsn();
        let Some(mut eviction) = Eviction::begin(&self.registry, published, traces) else {
            return EvictReport::default();
        };
        for tree in &self.directory.all() {
            eviction.sweep(tree, throttle);
        }
        (0..COLLECTIONS_AFTER_EVICTION).for_each(|_| epoch::pin().flush());
        eviction.report()
    }

    /// Rough number of rows in a range, for choosing plans.
    pub fn approximate_count(&self, tree: TreeId, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> Result<u64> {
        let (lower, upper) = crate::scan::base_bounds(tree, bounds);
        let root = self.base.root();
        let base = root.approximate_count(bound_slice(&lower), bound_slice(&upper))?;
        // A page that cannot be read is reported by who reads the rows.
        let in_base = |key: &[u8]| base > 0 && root.get(&base_key(tree, key)).is_ok_and(|row| row.is_some());
        let guard = epoch::pin();
        let delta =
            self.directory.get(tree, &guard).map_or(0, |delta| delta.estimate_net(bounds, &in_base, &guard));
        Ok(base.saturating_add_signed(delta))
    }

    /// Ascending keys inside a range that cut it into at most `parts` parts of about equal size; fewer when it is small.
    pub fn split_points(
        &self,
        tree: TreeId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        parts: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let (lower, upper) = crate::scan::base_bounds(tree, bounds);
        let root = self.base.root();
        let mut found = root.separators(bound_slice(&lower), bound_slice(&upper), parts)?;
        // A separator may be shorter than the tree's id where that ends what it separates.
        found.retain(|key| key.len() > TREE_PREFIX);
        found.iter_mut().for_each(|key| drop(key.drain(..TREE_PREFIX)));
        let guard = epoch::pin();
        if let Some(delta) = self.directory.get(tree, &guard) {
            found.extend(delta.separators(bounds, parts, &guard));
        }
        let inside = |key: &Vec<u8>| {
            let above = match bounds.0 {
                Bound::Included(low) | Bound::Excluded(low) => key.as_slice() > low,
                Bound::Unbounded => true,
            };
            let below = match bounds.1 {
                Bound::Included(high) | Bound::Excluded(high) => key.as_slice() < high,
                Bound::Unbounded => true,
            };
            above && below
        };
        found.retain(inside);
        found.sort_unstable();
        found.dedup();
        if found.len() < parts {
            return Ok(found);
        }
        let all = found.len();
        Ok((1..parts).map(|part| std::mem::take(&mut found[part * all / parts])).collect())
    }

    /// The delta of a tree, made when missing.
    pub(crate) fn tree(&self, tree: TreeId) -> Arc<TreeDelta> {
        let guard = epoch::pin();
        self.directory.get_or_insert(tree, &guard, || Arc::new(TreeDelta::new(tree, self.account.clone())))
    }

    fn read(&self, rule: Rule, root: &BaseRoot, tree: TreeId, key: &[u8]) -> Result<Option<RowRef>> {
        let mut folds = None;
        {
            let guard = epoch::pin();
            let seen = self.directory.get(tree, &guard).and_then(|delta| delta.read(key, rule, &guard));
            match seen.and_then(|seen| seen.version).map(Shown::of) {
                Some(Shown::Row(version)) => return Ok(Some(RowRef::delta(version))),
                Some(Shown::Nothing) => return Ok(None),
                Some(Shown::Patch(patch)) => folds = Some(patch),
                None => {}
            }
        }
        let row = root.get(&base_key(tree, key))?;
        Ok(match (row, folds) {
            (Some(row), Some(patch)) => Some(fold(&row, &patch)),
            (row, _) => row.map(RowRef::base),
        })
    }
}

/// What a version says about the row.
pub(crate) enum Shown {
    Row(VersionRef),
    Patch(VersionRef),
    Nothing,
}

impl Shown {
    /// Call under the guard under which `version` was reached.
    #[inline]
    pub(crate) fn of(version: &Version) -> Shown {
        // SAFETY: reachable under the caller's guard.
        let share = || unsafe { VersionRef::share(version) };
        match version.kind() {
            VersionKind::Insert | VersionKind::Put => Shown::Row(share()),
            VersionKind::Patch => Shown::Patch(share()),
            VersionKind::Delete | VersionKind::Gone => Shown::Nothing,
            VersionKind::InBase => unreachable!("reading a chain resolves this"),
        }
    }
}

pub(crate) fn fold(row: &base::RowRef, patch: &VersionRef) -> RowRef {
    let mut folded = Vec::new();
    patch::apply(row, &Patch::from_trusted(patch.bytes()), &mut folded);
    RowRef::owned(&folded)
}

pub(crate) fn bound_slice<T: AsRef<[u8]>>(bound: &Bound<T>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key.as_ref()),
        Bound::Excluded(key) => Bound::Excluded(key.as_ref()),
        Bound::Unbounded => Bound::Unbounded,
    }
}

fn status_of(own: Option<&WriteSet>) -> *const crate::txn::TxnStatus {
    own.map_or(std::ptr::null(), |set| Arc::as_ptr(set.status()))
}

#[cfg(test)]
mod tests;
