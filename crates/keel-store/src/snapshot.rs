//! Who reads what: the registry of snapshots, and what pruning and eviction may therefore take away.
//!
//! A [`Snapshot`] is (LSN, base root, slot). Its slot tells two parties what they must keep:
//!
//! * **pruning** (writers, on push) drops versions that no snapshot can see. It works with a `PruneView`: the
//!   *stable* LSN `F` read first, then the LSNs of all slots.
//! * **eviction** (after a checkpoint) takes what the base covers. It works with a `Coverage`: for each reader the
//!   interval between the checkpoint LSN of its root and its own LSN, which only the delta can show it.
//!
//! **Registration is a store, then two loads.** A creator claims a slot as *pending* (a full barrier) and only then
//! loads the stable LSN and the current root. A scanner loads the stable LSN (or publishes the root) before it scans
//! the slots (a full barrier between). If the scan misses the claim, it came before it, so the creator loads a stable
//! LSN and a root at least as new as the scanner's: its snapshot is at or above `F`, and its root covers what is
//! evicted. If the scan sees *pending*, it gives up this once. No verification loop, no lock.
//!
//! A prune view stays valid for ever, it only becomes less sharp: snapshots that came after it are at or above its
//! `F`, snapshots that went are needlessly kept. So it is cached and refreshed now and then. The same holds for a
//! coverage: who came after it has a root that is at least as new as the one it speaks of.
//!
//! A snapshot of a transaction that may write must learn whether a row changed after it. Such a snapshot is
//! registered as a *writer's*, and eviction leaves a trace of each change past the oldest of them, or notes how far
//! the changes went whose traces it gave up.
//!
//! **Stable** is a lower bound of every future snapshot's LSN. The engine advances it as the log hardens.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};

use crossbeam_epoch::{Atomic, Guard, Owned};
use keel_base::Lsn;
use parking_lot::Mutex;

use crate::base::{BaseRoot, BaseTree};

/// Slot states other than an LSN. LSNs stay below 2^62.
const FREE: u64 = u64::MAX;
const PENDING: u64 = u64::MAX - 1;
/// A reader of the newest versions: holds its root, needs no old version.
const ROOT_ONLY: u64 = u64::MAX - 2;

/// Slots in the first block; each further block doubles.
const FIRST_BLOCK_SLOTS: usize = 64;
/// 64 × 2^16 slots: more than there can be sessions.
const BLOCKS_MAX: usize = 16;

#[repr(align(64))]
struct Slot {
    /// FREE, PENDING, ROOT_ONLY or the snapshot's LSN. Owner writes, scanners read.
    lsn: AtomicU64,
    /// Checkpoint LSN of the root held; valid while `lsn` is neither FREE nor PENDING.
    root_lsn: AtomicU64,
    /// Whether the snapshot's transaction may write; valid as `root_lsn` is.
    writer: AtomicBool,
}

/// What writers may prune by.
#[derive(Debug)]
pub(crate) struct PruneView {
    /// Every snapshot not in `snapshots` is at or above this.
    pub(crate) floor: Lsn,
    /// LSNs below `floor` that are in use, ascending.
    pub(crate) snapshots: Vec<Lsn>,
}

impl PruneView {
    /// Whether some snapshot lies in `[from, below)`.
    pub(crate) fn any_in(&self, from: Lsn, below: Lsn) -> bool {
        let at = self.snapshots.partition_point(|s| *s < from);
        self.snapshots.get(at).is_some_and(|s| *s < below)
    }
}

/// What eviction may take: the changes that every reader there is, or will be, finds in its base root.
#[derive(Debug)]
pub(crate) struct Coverage {
    /// Checkpoint LSN of the newest root: nothing above it is in any base.
    published: Lsn,
    /// What some reader finds in the delta only: above the first LSN (its root's), up to the second (its own).
    /// Ascending, apart from each other.
    gaps: Vec<(Lsn, Lsn)>,
    /// What nobody sees at all may go as well.
    pub(crate) view: PruneView,
    /// The oldest snapshot whose transaction may write; [`Lsn::MAX`] when there is none.
    pub(crate) oldest_writer: Lsn,
}

impl Coverage {
    /// Whether all who see the change committed at `lsn`, and no later change of its row, have it in their root.
    pub(crate) fn has(&self, lsn: Lsn) -> bool {
        let after = self.gaps.partition_point(|(_, upto)| *upto < lsn);
        lsn <= self.published && self.gaps.get(after).is_none_or(|(from, _)| lsn <= *from)
    }

    fn new(published: Lsn, mut gaps: Vec<(Lsn, Lsn)>, view: PruneView, oldest_writer: Lsn) -> Coverage {
        gaps.sort_unstable();
        gaps.dedup_by(|(from, upto), (_, before)| {
            let joined = *from <= *before;
            if joined {
                *before = (*before).max(*upto);
            }
            joined
        });
        Coverage { published, gaps, view, oldest_writer }
    }
}

/// All snapshots of one store.
// Apart from the counts of its references, which all sessions write to.
#[repr(align(128))]
pub(crate) struct Registry {
    stable: AtomicU64,
    /// Highest LSN of a change that was evicted without the trace which a writer's snapshot wanted.
    forgotten: AtomicU64,
    blocks: [AtomicPtr<Slot>; BLOCKS_MAX],
    /// Slots ever handed out are below this.
    high_water: AtomicUsize,
    view: Atomic<PruneView>,
    refreshing: Mutex<()>,
}

impl Registry {
    pub(crate) fn new(stable: Lsn) -> Registry {
        let registry = Registry {
            stable: AtomicU64::new(stable.0),
            forgotten: AtomicU64::new(0),
            blocks: [const { AtomicPtr::new(std::ptr::null_mut()) }; BLOCKS_MAX],
            high_water: AtomicUsize::new(0),
            view: Atomic::new(PruneView { floor: stable, snapshots: Vec::new() }),
            refreshing: Mutex::new(()),
        };
        registry.block(0);
        registry
    }

    /// The stable LSN.
    pub(crate) fn stable(&self) -> Lsn {
        Lsn(self.stable.load(Ordering::SeqCst))
    }

    /// Raises the stable LSN; never lowers it.
    pub(crate) fn advance(&self, lsn: Lsn) {
        if self.stable.load(Ordering::Relaxed) < lsn.0 {
            self.stable.fetch_max(lsn.0, Ordering::SeqCst);
        }
    }

    /// No change above this was evicted without the trace that some writer's snapshot wanted.
    pub(crate) fn forgotten(&self) -> Lsn {
        Lsn(self.forgotten.load(Ordering::SeqCst))
    }

    /// Notes that a change is evicted without a trace; before it is.
    pub(crate) fn forget(&self, lsn: Lsn) {
        self.forgotten.fetch_max(lsn.0, Ordering::SeqCst);
    }

    /// Takes the stable LSN back to `lsn`. Only while there is no snapshot and no version above that.
    pub(crate) fn reset(&self, lsn: Lsn) {
        let _refreshing = self.refreshing.lock();
        self.stable.store(lsn.0, Ordering::SeqCst);
        let guard = crossbeam_epoch::pin();
        let fresh = Owned::new(PruneView { floor: lsn, snapshots: Vec::new() });
        let old = self.view.swap(fresh, Ordering::AcqRel, &guard);
        // SAFETY: just replaced.
        unsafe { guard.defer_destroy(old) };
    }

    /// Registers a snapshot at the stable LSN, or at `at_least` when that is higher, on the current root of `base`.
    pub(crate) fn register(self: &Arc<Self>, base: &BaseTree, at_least: Lsn, writer: bool) -> Snapshot {
        let slot = self.claim();
        // The root first: what it holds was stable before it was published, so the LSN loaded after is above that.
        let root = base.root_now();
        let lsn = self.stable().max(at_least);
        slot.root_lsn.store(root.checkpoint_lsn().0, Ordering::Relaxed);
        slot.writer.store(writer, Ordering::Relaxed);
        slot.lsn.store(lsn.0, Ordering::Release);
        assert!(root.highest_lsn() <= lsn, "a snapshot is never older than a row of its root");
        let pin = Pin { registry: self.clone(), slot: std::ptr::from_ref(slot), root };
        Snapshot(Arc::new(Registered { pin, lsn }))
    }

    /// Registers a reader of the newest versions, for the time of one look into the delta: meanwhile nothing that
    /// the root lacks is evicted.
    pub(crate) fn pin_root(&self, base: &BaseTree) -> RootPin<'_> {
        let slot = self.claim();
        let root = base.root_now();
        slot.root_lsn.store(root.checkpoint_lsn().0, Ordering::Relaxed);
        slot.writer.store(false, Ordering::Relaxed);
        slot.lsn.store(ROOT_ONLY, Ordering::Release);
        RootPin { slot, root }
    }

    /// A view for pruning, as sharp as the stable LSN allows unless somebody is just making a new one.
    pub(crate) fn prune_view<'g>(&self, guard: &'g Guard) -> &'g PruneView {
        // SAFETY: never null, and replaced views go to the collector.
        let view = unsafe { self.view.load(Ordering::Acquire, guard).deref() };
        if view.floor == self.stable() {
            return view;
        }
        let Some(_refreshing) = self.refreshing.try_lock() else { return view };
        let Some(fresh) = self.scan_for_pruning() else { return view };
        let old = self.view.swap(Owned::new(fresh), Ordering::AcqRel, guard);
        // SAFETY: just replaced.
        unsafe { guard.defer_destroy(old) };
        // SAFETY: as above.
        unsafe { self.view.load(Ordering::Acquire, guard).deref() }
    }

    pub(crate) fn scan_for_pruning(&self) -> Option<PruneView> {
        let floor = self.stable();
        fence(Ordering::SeqCst);
        let mut snapshots = Vec::new();
        for slot in self.slots() {
            match slot.lsn.load(Ordering::SeqCst) {
                FREE | ROOT_ONLY => {}
                PENDING => return None,
                lsn if lsn < floor.0 => snapshots.push(Lsn(lsn)),
                _ => {}
            }
        }
        snapshots.sort_unstable();
        snapshots.dedup();
        Some(PruneView { floor, snapshots })
    }

    /// What eviction may take, given that `published` is the newest root's checkpoint LSN. `None` when somebody is
    /// just registering: try later.
    pub(crate) fn coverage(&self, published: Lsn) -> Option<Coverage> {
        let floor = self.stable();
        fence(Ordering::SeqCst);
        let (mut gaps, mut snapshots, mut oldest_writer) = (Vec::new(), Vec::new(), Lsn::MAX);
        for slot in self.slots() {
            let lsn = match slot.lsn.load(Ordering::SeqCst) {
                FREE => continue,
                PENDING => return None,
                ROOT_ONLY => Lsn::MAX,
                lsn => Lsn(lsn),
            };
            let root = Lsn(slot.root_lsn.load(Ordering::Acquire));
            if root < lsn {
                gaps.push((root, lsn));
            }
            if lsn < floor {
                snapshots.push(lsn);
            }
            if slot.writer.load(Ordering::Relaxed) {
                oldest_writer = oldest_writer.min(lsn);
            }
        }
        snapshots.sort_unstable();
        snapshots.dedup();
        Some(Coverage::new(published, gaps, PruneView { floor, snapshots }, oldest_writer))
    }

    /// LSN of the oldest registered snapshot, for monitoring.
    pub(crate) fn oldest(&self) -> Option<Lsn> {
        self.slots().map(|slot| slot.lsn.load(Ordering::SeqCst)).filter(|lsn| *lsn < ROOT_ONLY).min().map(Lsn)
    }

    /// Number of snapshots and root readers, for monitoring.
    pub(crate) fn active(&self) -> usize {
        self.slots().filter(|slot| slot.lsn.load(Ordering::Relaxed) != FREE).count()
    }

    fn claim(&self) -> &Slot {
        let hint = LAST_SLOT.get();
        let mut index = if hint == usize::MAX { next_thread_hint() } else { hint };
        let mut tried = 0;
        loop {
            let slot = self.slot(index);
            let claimed = slot.lsn.load(Ordering::Relaxed) == FREE
                && slot.lsn.compare_exchange(FREE, PENDING, Ordering::SeqCst, Ordering::Relaxed).is_ok();
            if claimed {
                LAST_SLOT.set(index);
                if self.high_water.load(Ordering::Relaxed) <= index {
                    // Before the barrier below, so that a scan that misses the slot came before our loads.
                    self.high_water.fetch_max(index + 1, Ordering::SeqCst);
                }
                fence(Ordering::SeqCst);
                return slot;
            }
            tried += 1;
            // Look through what is in use from the start, then one further.
            index = if tried == 1 { 0 } else { index + 1 };
        }
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        (0..self.high_water.load(Ordering::SeqCst)).map(|index| self.slot(index))
    }

    fn slot(&self, index: usize) -> &Slot {
        let block = (index / FIRST_BLOCK_SLOTS + 1).ilog2() as usize;
        let first = ((1 << block) - 1) * FIRST_BLOCK_SLOTS;
        // SAFETY: block `k` holds FIRST_BLOCK_SLOTS << k slots and `index` falls into it by construction.
        unsafe { &*self.block(block).add(index - first) }
    }

    fn block(&self, block: usize) -> *const Slot {
        let known = self.blocks[block].load(Ordering::Acquire);
        if !known.is_null() {
            return known;
        }
        let len = FIRST_BLOCK_SLOTS << block;
        let free = || Slot {
            lsn: AtomicU64::new(FREE),
            root_lsn: AtomicU64::new(0),
            writer: AtomicBool::new(false),
        };
        let fresh: Box<[Slot]> = (0..len).map(|_| free()).collect();
        let fresh = Box::into_raw(fresh);
        let raced = self.blocks[block].compare_exchange(
            std::ptr::null_mut(),
            fresh.cast::<Slot>(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        match raced {
            Ok(_) => fresh.cast::<Slot>(),
            Err(winner) => {
                // SAFETY: nobody else has seen `fresh`.
                drop(unsafe { Box::from_raw(fresh) });
                winner
            }
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        // SAFETY: nobody else has the registry, and the view is never null.
        drop(unsafe { std::mem::replace(&mut self.view, Atomic::null()).into_owned() });
        for (block, pointer) in self.blocks.iter_mut().enumerate() {
            let pointer = *pointer.get_mut();
            if !pointer.is_null() {
                let slots = std::ptr::slice_from_raw_parts_mut(pointer, FIRST_BLOCK_SLOTS << block);
                // SAFETY: made from a box of this length in `block`; pins hold the registry, so none is left.
                drop(unsafe { Box::from_raw(slots) });
            }
        }
    }
}

thread_local! {
    /// The slot this thread used last; usually free again and in its cache.
    static LAST_SLOT: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) };
}

/// Spreads threads over the first slots.
fn next_thread_hint() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed) % FIRST_BLOCK_SLOTS
}

/// A short registration of a reader of the newest versions.
pub(crate) struct RootPin<'r> {
    slot: &'r Slot,
    root: arc_swap::Guard<Arc<BaseRoot>>,
}

impl RootPin<'_> {
    pub(crate) fn root(&self) -> &Arc<BaseRoot> {
        &self.root
    }
}

impl Drop for RootPin<'_> {
    fn drop(&mut self) {
        self.slot.lsn.store(FREE, Ordering::Release);
    }
}

/// A registered slot with the root it holds.
struct Pin {
    registry: Arc<Registry>,
    slot: *const Slot,
    root: arc_swap::Guard<Arc<BaseRoot>>,
}

// SAFETY: the slot lives in the registry's blocks, which the pin keeps; its fields are atomics.
unsafe impl Send for Pin {}
// SAFETY: as above.
unsafe impl Sync for Pin {}

impl Drop for Pin {
    fn drop(&mut self) {
        // SAFETY: see `Send`.
        unsafe { (*self.slot).lsn.store(FREE, Ordering::Release) }
        let _ = &self.registry;
    }
}

/// A consistent picture of the store: all commits up to its LSN, no other. Clones share it.
#[derive(Clone)]
pub struct Snapshot(Arc<Registered>);

struct Registered {
    pin: Pin,
    lsn: Lsn,
}

impl Snapshot {
    /// The position that this snapshot shows.
    #[must_use]
    pub fn lsn(&self) -> Lsn {
        self.0.lsn
    }

    /// The base root that belongs to it.
    #[must_use]
    pub fn root(&self) -> &Arc<BaseRoot> {
        &self.0.pin.root
    }
}
