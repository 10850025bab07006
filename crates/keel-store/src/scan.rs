//! A scan: the delta's entries and the base's rows of one range, merged in key order.
//!
//! The delta side works in batches. A batch is read under one guard and resolved at once to what the scan shows:
//! keys are copied, versions are held by reference; then the guard goes, and the next batch seeks again behind the
//! last key. So a cursor may rest for minutes without holding up the epoch collector, and entries may come and go
//! between batches:
//!
//! * an entry **inserted** behind the position is met by a later batch, before it by none: the scan shows that key as
//!   of when it passed;
//! * an entry **evicted** between batches is in the base under the scan's root.
//!
//! Keys whose rows are gone for everybody are passed over where that is known, see `delta::dead`.
//!
//! The base side is a cursor on that root, opened when the first row is asked for. Which root that is:
//!
//! * under a **snapshot** the snapshot's, which eviction heeds as long as the snapshot lives;
//! * for the **newest versions** the newest one when a batch is read. It is registered while the batch is read, so
//!   what the batch lacks is in it; after that the batch and the root belong together, and the scan may rest without
//!   holding anything back. If the next batch finds another root, the base side goes on there, behind the last key
//!   of the delta that was passed (the base's keys before it have been shown by then).

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use crossbeam_epoch as epoch;
use keel_base::{Lsn, TreeId};
use smallvec::SmallVec;

use crate::base::{self, Direction};
use crate::delta::{Rule, TreeDelta, Walk, prefetch};
use crate::snapshot::Snapshot;
use crate::store::{BaseKey, ReadMode, Result, Shown, Store, base_key, bound_slice, fold};
use crate::txn::TxnStatus;
use crate::version::{RowRef, VersionRef};

/// Delta keys of the first batch; later ones double up to [`BATCH_KEYS_MAX`]. A short scan pays for few.
const BATCH_KEYS_FIRST: usize = if cfg!(test) { 2 } else { 16 };
const BATCH_KEYS_MAX: usize = 256;
/// A bound; most fit without an allocation.
type ScanKey = SmallVec<[u8; 32]>;
/// Bytes of the tree id before each base key.
pub(crate) const TREE_PREFIX: usize = size_of::<TreeId>();

/// The base's bounds for a range of one tree.
pub(crate) fn base_bounds(
    tree: TreeId,
    (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
) -> (Bound<BaseKey>, Bound<BaseKey>) {
    let lower = match lower {
        Bound::Unbounded => Bound::Included(base_key(tree, &[])),
        bound => bound.map(|key| base_key(tree, key)),
    };
    let upper = match upper {
        Bound::Unbounded => match tree.0.checked_add(1) {
            Some(next) => Bound::Excluded(base_key(TreeId(next), &[])),
            None => Bound::Unbounded,
        },
        bound => bound.map(|key| base_key(tree, key)),
    };
    (lower, upper)
}

/// Where the scan's root comes from.
enum Source {
    /// From the snapshot, which is held.
    Snapshot(Snapshot),
    /// From the store, anew with each batch; taken out while it is asked.
    Newest(Option<Arc<Store>>),
}

/// One key of the delta that matters to the scan.
struct Item {
    /// Where its key ends in [`Batch::keys`]; it begins where the one before ends.
    key_end: usize,
    /// `None`: the base decides (met only when `blocked`).
    shown: Option<Shown>,
    blocked: bool,
}

#[derive(Default)]
struct Batch {
    keys: Vec<u8>,
    items: Vec<Item>,
    /// Next item to look at.
    at: usize,
}

impl Batch {
    fn key(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.items[index - 1].key_end };
        &self.keys[start..self.items[index].key_end]
    }
}

/// Where the current row is.
enum Current {
    None,
    /// In the delta: index into the batch, and the version.
    Delta(usize, VersionRef),
    /// The base cursor's row.
    Base,
    /// A patch over the base cursor's row.
    Folded(RowRef),
    /// No committed row, but another transaction's undecided version: index into the batch.
    Undecided(usize),
}

/// Walks a range of the store in key order.
pub struct Cursor {
    delta: Arc<TreeDelta>,
    rule: Rule,
    /// Keeps `rule.own` alive.
    _own: Option<Arc<TxnStatus>>,
    source: Source,
    direction: Direction,
    lower: Bound<ScanKey>,
    upper: Bound<ScanKey>,
    /// The delta has been read up to here.
    read_to: Option<ScanKey>,
    batch: Batch,
    batch_keys: usize,
    delta_done: bool,
    /// The root that the batch goes with, in a scan of the newest versions; `None` before the first.
    root: Option<Arc<base::BaseRoot>>,
    /// On that root, or the snapshot's.
    base: Option<base::Cursor>,
    base_valid: bool,
    /// The base row has been shown (or hidden): move on before looking again.
    base_used: bool,
    current: Current,
    blocked: bool,
    /// See [`Cursor::newest`].
    newest: Lsn,
    /// Until the first row: what was met before it. Only of ascending scans of the newest versions.
    walk: Option<Walk>,
}

// SAFETY: `rule.own` is compared, and dereferenced by nobody; everything else is Send.
unsafe impl Send for Cursor {}

impl Cursor {
    pub(crate) fn new(
        store: &Arc<Store>,
        delta: Arc<TreeDelta>,
        mode: ReadMode<'_>,
        own: Option<Arc<TxnStatus>>,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        direction: Direction,
    ) -> Cursor {
        let (source, lsn) = match mode {
            ReadMode::Snapshot(snapshot) => (Source::Snapshot(snapshot.clone()), snapshot.lsn()),
            ReadMode::Latest | ReadMode::Dirty => (Source::Newest(Some(store.clone())), Lsn::MAX),
        };
        let own_pointer = own.as_ref().map_or(std::ptr::null(), Arc::as_ptr);
        let mut lower = bounds.0.map(ScanKey::from_slice);
        let mut walk = None;
        let mut newest = Lsn::ZERO;
        if direction == Direction::Forward {
            if let Some((behind, deleted)) = delta.dead().skip(bounds.0, lsn) {
                lower = Bound::Included(ScanKey::from_slice(&behind));
                newest = deleted;
            }
            if lsn == Lsn::MAX {
                walk = delta.dead().walk(bound_slice(&lower));
            }
        }
        Cursor {
            delta,
            rule: Rule { lsn, own: own_pointer, dirty: matches!(mode, ReadMode::Dirty) },
            _own: own,
            source,
            direction,
            lower,
            upper: bounds.1.map(ScanKey::from_slice),
            read_to: None,
            batch: Batch::default(),
            batch_keys: BATCH_KEYS_FIRST,
            delta_done: false,
            root: None,
            base: None,
            base_valid: false,
            base_used: false,
            current: Current::None,
            blocked: false,
            newest,
            walk,
        }
    }

    /// Moves to the next row; false at the end.
    pub fn advance(&mut self) -> Result<bool> {
        let found = self.find_next()?;
        if let Some(walk) = self.walk.take() {
            let evicted = self.root.as_ref().map_or(Lsn::ZERO, |root| root.checkpoint_lsn());
            self.delta.dead().note(walk, found.then(|| self.key()), evicted);
        }
        Ok(found)
    }

    fn find_next(&mut self) -> Result<bool> {
        self.current = Current::None;
        self.blocked = false;
        loop {
            if self.base_used {
                self.base_used = false;
                self.base_valid = self.base.as_mut().expect("its row was used").advance()?;
            }
            while self.batch.at == self.batch.items.len() && !self.delta_done {
                self.refill()?;
            }
            let order = match (self.batch.at < self.batch.items.len(), self.base_valid) {
                (false, false) => return Ok(false),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (true, true) => self.compare(),
            };
            if self.step(order) {
                return Ok(true);
            }
        }
    }

    /// The current row's key; empty before the first row and after the last.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        match &self.current {
            Current::None => &[],
            Current::Delta(index, _) | Current::Undecided(index) => self.batch.key(*index),
            Current::Base | Current::Folded(_) => self.base_key(),
        }
    }

    /// The current row's bytes; empty when there is none (see [`Cursor::has_row`]).
    #[must_use]
    pub fn row(&self) -> &[u8] {
        match &self.current {
            Current::None | Current::Undecided(_) => &[],
            Current::Delta(_, version) => version.bytes(),
            Current::Base => self.base.as_ref().map_or(&[], base::Cursor::row),
            Current::Folded(row) => row,
        }
    }

    /// The current row, held in memory beyond the cursor.
    #[must_use]
    pub fn row_ref(&self) -> Option<RowRef> {
        match &self.current {
            Current::None | Current::Undecided(_) => None,
            Current::Delta(_, version) => Some(RowRef::delta(version.clone())),
            Current::Base => self.base.as_ref().and_then(base::Cursor::row_ref).map(RowRef::base),
            Current::Folded(row) => Some(row.clone()),
        }
    }

    /// Whether a committed (or own) row is here. False only in [`ReadMode::Latest`] on a key that exists only in
    /// another transaction's undecided version; [`Cursor::blocked`] is then true.
    #[must_use]
    pub fn has_row(&self) -> bool {
        !matches!(self.current, Current::None | Current::Undecided(_))
    }

    /// Whether another transaction has an undecided version of the current key: lock it and read it again.
    #[must_use]
    pub fn blocked(&self) -> bool {
        self.blocked
    }

    /// The newest commit among what was looked at so far, and perhaps some way ahead; those of rows that are gone count, too: who finds
    /// nothing has seen the delete.
    #[must_use]
    pub fn newest(&self) -> Lsn {
        self.newest
    }

    /// [`Cursor::advance`] and the row it found, for modes other than [`ReadMode::Latest`].
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(&[u8], RowRef)>> {
        while self.advance()? {
            if let Some(row) = self.row_ref() {
                return Ok(Some((self.key(), row)));
            }
        }
        Ok(None)
    }

    /// Decides about the smaller key in walking order; true when there is a row to show.
    fn step(&mut self, order: Ordering) -> bool {
        if order == Ordering::Greater {
            self.current = Current::Base;
            self.base_used = true;
            return true;
        }
        let index = self.batch.at;
        self.batch.at += 1;
        let item = &mut self.batch.items[index];
        let base_here = order == Ordering::Equal;
        self.base_used = base_here;
        self.blocked = item.blocked;
        self.current = match item.shown.take() {
            Some(Shown::Row(version)) => Current::Delta(index, version),
            Some(Shown::Patch(patch)) if base_here => {
                let row =
                    self.base.as_ref().and_then(base::Cursor::row_ref).expect("the base is on this key");
                Current::Folded(fold(&row, &patch))
            }
            None if base_here => Current::Base,
            _ if self.blocked => Current::Undecided(index),
            _ => return false,
        };
        true
    }

    /// Lets go of the batch, which has been passed: what is to come lies behind its last item, on whatever root. Batches without items may
    /// follow, so the range remembers it.
    fn leave_batch(&mut self) {
        let Some(last) = self.batch.items.len().checked_sub(1) else { return };
        let behind = Bound::Excluded(ScanKey::from_slice(self.batch.key(last)));
        if self.direction == Direction::Reverse {
            self.upper = behind
        } else {
            self.lower = behind
        }
        self.batch.keys.clear();
        self.batch.items.clear();
        self.batch.at = 0;
    }

    /// Puts the base side on `root`, at what is left of the range.
    fn open_base(&mut self, root: &Arc<base::BaseRoot>) -> Result<()> {
        let bounds = (bound_slice(&self.lower), bound_slice(&self.upper));
        let (lower, upper) = base_bounds(self.delta.id(), bounds);
        let mut base = root.scan(bound_slice(&lower), bound_slice(&upper), self.direction);
        self.base_valid = base.advance()?;
        self.base = Some(base);
        Ok(())
    }

    fn base_key(&self) -> &[u8] {
        self.base.as_ref().map_or(&[], |base| &base.key()[TREE_PREFIX..])
    }

    /// The delta's next key against the base's, in walking order.
    fn compare(&self) -> Ordering {
        let order = self.batch.key(self.batch.at).cmp(self.base_key());
        if self.direction == Direction::Reverse { order.reverse() } else { order }
    }

    /// Reads the next batch, and the root that goes with it if that is another one.
    pub(crate) fn refill(&mut self) -> Result<()> {
        self.leave_batch();
        let store = match &mut self.source {
            Source::Snapshot(snapshot) => {
                if self.base.is_none() {
                    let root = snapshot.root().clone();
                    self.open_base(&root)?;
                }
                self.read_batch();
                return Ok(());
            }
            Source::Newest(store) => store.take().expect("put back after each batch"),
        };
        let pin = store.registry.pin_root(&store.base);
        let read = self.read_on(pin.root());
        drop(pin);
        self.source = Source::Newest(Some(store));
        read
    }

    fn read_on(&mut self, root: &Arc<base::BaseRoot>) -> Result<()> {
        if self.root.as_ref().is_none_or(|known| !Arc::ptr_eq(known, root)) {
            self.open_base(root)?;
            self.root = Some(root.clone());
        }
        self.read_batch();
        Ok(())
    }

    fn read_batch(&mut self) {
        let guard = epoch::pin();
        let reverse = self.direction == Direction::Reverse;
        let read_to = self.read_to.as_deref().map(Bound::Excluded);
        let bounds = match (read_to, reverse) {
            (Some(behind), false) => (behind, bound_slice(&self.upper)),
            (Some(behind), true) => (bound_slice(&self.lower), behind),
            (None, _) => (bound_slice(&self.lower), bound_slice(&self.upper)),
        };
        let mut entries = Vec::with_capacity(self.batch_keys);
        let more = self.delta.batch(bounds, reverse, self.batch_keys, &mut entries, &guard);
        // Three passes, so that the cache misses of one batch overlap.
        entries.iter().for_each(|entry| prefetch(*entry));
        entries.iter().for_each(|entry| entry.prefetch_head());
        self.batch.items.reserve(entries.len());
        self.batch.keys.reserve(entries.first().map_or(0, |entry| entry.key().len() + 8) * entries.len());
        for entry in &entries {
            if let Some(walk) = &mut self.walk {
                walk.meet(entry.key(), entry.deleted(&guard));
            }
            let seen = entry.read(self.rule, &guard);
            self.newest = self.newest.max(seen.lsn);
            let blocked = seen.blocked_by.is_some() && self.rule.lsn == Lsn::MAX;
            if seen.version.is_none() && !blocked {
                continue;
            }
            self.batch.keys.extend_from_slice(entry.key());
            let key_end = self.batch.keys.len();
            self.batch.items.push(Item { key_end, shown: seen.version.map(Shown::of), blocked });
        }
        match entries.last() {
            Some(last) if more => self.read_to = Some(ScanKey::from_slice(last.key())),
            _ => self.delta_done = true,
        }
        self.batch_keys = (self.batch_keys * 2).min(BATCH_KEYS_MAX);
    }
}
