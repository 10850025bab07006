//! One key of a delta tree and the head of its version chain.
//!
//! Readers walk the chain under an epoch guard and take no lock. Everything that changes links holds the entry's
//! lock, one byte. An entry whose head is [`dead`] has been evicted: readers treat it as absent (the base has the
//! row), writers look the key up again.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

use crossbeam_epoch::Guard;
use keel_base::{Lsn, TxnId};
use parking_lot::Mutex;

use super::evict::Eviction;
use super::memory::heap_bytes;
use crate::snapshot::{PruneView, Registry};
use crate::txn::TxnStatus;
use crate::version::{NewStamp, Stamp, Version, VersionKind, VersionRef};

/// The key's bytes follow the header in the same allocation.
#[repr(C)]
pub(crate) struct Entry {
    head: AtomicPtr<Version>,
    /// Held while links of the chain change. Holds the floor of the view that the chain was last pruned by: pruning
    /// again by the same view would find nothing.
    lock: Mutex<Lsn>,
    key_len: u32,
}

/// Head of an evicted entry.
fn dead() -> *mut Version {
    std::ptr::without_provenance_mut(align_of::<Version>())
}

/// Which versions a reader takes.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// Newest commit LSN to see; [`Lsn::MAX`] for the newest there is.
    pub(crate) lsn: Lsn,
    /// The reader's own transaction, or null.
    pub(crate) own: *const TxnStatus,
    /// Sees what others have not committed.
    pub(crate) dirty: bool,
}

/// What a chain shows under a [`Rule`].
pub(crate) struct Seen<'g> {
    /// The version; `None` means that the base decides.
    pub(crate) version: Option<&'g Version>,
    /// Commit LSN of `version`, or of the change of which the delta knows only that the base has it. Zero when there
    /// is neither, or it is not committed.
    pub(crate) lsn: Lsn,
    /// Another transaction's undecided version lies above.
    pub(crate) blocked_by: Option<TxnId>,
}

/// Why a version was not pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushError {
    /// The entry was evicted; look the key up again.
    Dead,
    /// Another transaction's undecided version is on top.
    Undecided(TxnId),
    /// The caller does not want to write over what is there.
    Refused,
}

impl Entry {
    fn layout(key_len: usize) -> Layout {
        Layout::from_size_align(size_of::<Entry>() + key_len, align_of::<Entry>()).expect("keys are short")
    }

    /// A new entry without versions.
    pub(crate) fn allocate(key: &[u8]) -> NonNull<Entry> {
        let layout = Entry::layout(key.len());
        // SAFETY: the layout is not zero-sized; header and key are written before anyone sees the pointer.
        unsafe {
            let Some(header) = NonNull::new(alloc(layout).cast::<Entry>()) else {
                handle_alloc_error(layout)
            };
            header.write(Entry {
                head: AtomicPtr::new(std::ptr::null_mut()),
                lock: Mutex::new(Lsn::ZERO),
                key_len: u32::try_from(key.len()).expect("keys are short"),
            });
            std::ptr::copy_nonoverlapping(key.as_ptr(), header.add(1).cast::<u8>().as_ptr(), key.len());
            header
        }
    }

    /// Frees an entry and its chain.
    ///
    /// # Safety
    /// Nobody can reach the entry any more; called once.
    pub(crate) unsafe fn free(entry: NonNull<Entry>) {
        // SAFETY: by the caller's promise we own the entry and the chain's references.
        unsafe {
            let mut at = entry.as_ref().head.load(Ordering::Acquire);
            while !at.is_null() && at != dead() {
                let version = VersionRef::from_raw(at);
                at = version.older.load(Ordering::Acquire);
            }
            let layout = Entry::layout(entry.as_ref().key_len as usize);
            dealloc(entry.as_ptr().cast(), layout);
        }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        // SAFETY: `allocate` wrote `key_len` bytes right behind the header.
        unsafe {
            let data = std::ptr::from_ref(self).add(1).cast::<u8>();
            std::slice::from_raw_parts(data, self.key_len as usize)
        }
    }

    /// Bytes of the entry without its versions, with what the map needs for it.
    pub(crate) fn footprint(&self) -> usize {
        heap_bytes(size_of::<Entry>() + self.key_len as usize) + MAP_BYTES_PER_ENTRY
    }

    /// Asks the cache for the newest version.
    #[inline]
    pub(crate) fn prefetch_head(&self) {
        crate::delta::prefetch(self.head.load(Ordering::Relaxed));
    }

    /// What `rule` shows of this key.
    #[inline]
    pub(crate) fn read<'g>(&self, rule: Rule, _guard: &'g Guard) -> Seen<'g> {
        let mut blocked_by = None;
        let mut at = self.head.load(Ordering::Acquire);
        if at == dead() {
            at = std::ptr::null_mut();
        }
        // SAFETY: linked versions live as long as the guard.
        while let Some(version) = unsafe { at.as_ref::<'g>() } {
            match version.stamp() {
                Stamp::Committed(lsn) if lsn <= rule.lsn => {
                    let here = version.kind() != VersionKind::InBase;
                    return Seen { version: here.then_some(version), lsn, blocked_by };
                }
                Stamp::Open(status) if status == rule.own || rule.dirty => {
                    return Seen { version: Some(version), lsn: Lsn::ZERO, blocked_by };
                }
                Stamp::Open(status) => {
                    // SAFETY: as in `Version::stamp`.
                    blocked_by = blocked_by.or(Some(unsafe { (*status).id() }));
                }
                Stamp::Committed(_) | Stamp::Aborted => {}
            }
            at = version.older.load(Ordering::Acquire);
        }
        Seen { version: None, lsn: Lsn::ZERO, blocked_by }
    }

    /// When the row was deleted, if its newest version is a committed delete.
    #[inline]
    pub(crate) fn deleted(&self, _guard: &Guard) -> Option<Lsn> {
        let head = self.head.load(Ordering::Acquire);
        if head == dead() {
            return None;
        }
        // SAFETY: linked versions live as long as the guard.
        let newest = unsafe { head.as_ref() }?;
        match (newest.kind(), newest.stamp()) {
            (VersionKind::Delete | VersionKind::Gone, Stamp::Committed(lsn)) => Some(lsn),
            _ => None,
        }
    }

    /// Pushes a version that `make` builds from the newest one that is not `own`-replaceable.
    ///
    /// `make` gets the version on top (undecided only when `own` wrote it); `None` of it refuses. With `replace` the top
    /// version, which must be `own`'s, leaves the chain. Returns the change in bytes.
    pub(crate) fn push(
        &self,
        own: *const TxnStatus,
        guard: &Guard,
        registry: &Registry,
        make: impl FnOnce(Option<&Version>) -> Option<Pushed>,
    ) -> Result<isize, PushError> {
        let mut pruned_by = self.lock.lock();
        let head = self.head.load(Ordering::Acquire);
        if head == dead() {
            return Err(PushError::Dead);
        }
        // SAFETY: linked versions live as long as the guard.
        let top = self.skip_aborted(unsafe { head.as_ref() });
        if let Some(Stamp::Open(status)) = top.map(Version::stamp)
            && status != own
        {
            // SAFETY: as in `Version::stamp`.
            return Err(PushError::Undecided(unsafe { (*status).id() }));
        }
        let pushed = make(top).ok_or(PushError::Refused)?;
        // Redo may find what an abandoned transaction has left above.
        let on_top = top.is_some_and(|top| std::ptr::eq(top, head));
        let replace = pushed.replace && (on_top || !own.is_null());
        let mut bytes = 0;
        let below = match top {
            Some(top) if replace => {
                bytes -= top.footprint() as isize;
                top.older.load(Ordering::Acquire)
            }
            _ => head,
        };
        bytes += pushed.version.footprint() as isize;
        pushed.version.older.store(below, Ordering::Release);
        self.head.store(pushed.version.into_raw(), Ordering::Release);
        if replace {
            assert!(on_top, "only the head is replaced");
            // SAFETY: `head` has just been unlinked, under the lock.
            unsafe { retire(head, guard) };
        }
        let two_below = top.is_some_and(|top| !top.older.load(Ordering::Relaxed).is_null());
        if two_below {
            let view = registry.prune_view(guard);
            if *pruned_by != view.floor {
                *pruned_by = view.floor;
                bytes -= self.prune(view, guard) as isize;
            }
        }
        Ok(bytes)
    }

    /// An aborted version is only seen between its transaction's decision and its unlinking.
    fn skip_aborted<'a>(&self, mut top: Option<&'a Version>) -> Option<&'a Version> {
        while let Some(version) = top
            && version.stamp() == Stamp::Aborted
        {
            // SAFETY: called under lock and guard.
            top = unsafe { version.older.load(Ordering::Acquire).as_ref() };
        }
        top
    }

    /// Takes `version` out of the chain; false when it is not there. Returns the bytes freed.
    pub(crate) fn unlink(&self, version: *mut Version, guard: &Guard) -> usize {
        let _lock = self.lock.lock();
        let mut link = &self.head;
        loop {
            let at = link.load(Ordering::Acquire);
            // SAFETY: linked versions live as long as the guard; an entry with a live version is not dead.
            let Some(found) = (unsafe { at.as_ref() }) else { return 0 };
            if at == version {
                let bytes = found.footprint();
                link.store(found.older.load(Ordering::Acquire), Ordering::Release);
                // SAFETY: just unlinked, under the lock.
                unsafe { retire(at, guard) };
                return bytes;
            }
            link = &found.older;
        }
    }

    /// Drops the versions that no snapshot can see. Under the lock. Returns the bytes freed.
    ///
    /// Kept are: what is undecided, what is above the floor, the newest at or below it, and each older one that
    /// some snapshot in use falls on.
    fn prune(&self, view: &PruneView, guard: &Guard) -> usize {
        let mut freed = 0;
        let mut link = &self.head;
        let mut newer: Option<Lsn> = None;
        // SAFETY: linked versions live as long as the guard.
        while let Some(version) = unsafe { link.load(Ordering::Acquire).as_ref() } {
            let Stamp::Committed(lsn) = version.stamp() else {
                link = &version.older;
                continue;
            };
            let keep = match newer {
                None => true,
                // Of one transaction's versions of a row only the newest is ever seen.
                Some(above) if lsn >= above => false,
                Some(above) => above > view.floor || view.any_in(lsn, above),
            };
            if keep {
                newer = Some(lsn);
                link = &version.older;
                continue;
            }
            freed += version.footprint();
            let gone = link.load(Ordering::Acquire);
            link.store(version.older.load(Ordering::Acquire), Ordering::Release);
            // SAFETY: just unlinked, under the lock.
            unsafe { retire(gone, guard) };
        }
        freed
    }

    /// Lets go of what the base shows to everybody who wants it (see [`evict`](super::evict)). Under no circumstances
    /// does this touch an undecided version. The caller removes the entry from the map when it is dead.
    pub(crate) fn evict(&self, eviction: &Eviction<'_>, guard: &Guard) -> Evicted {
        let _lock = self.lock.lock();
        let mut freed = self.prune(&eviction.coverage.view, guard);
        // Where the versions begin that are in the base, down to the oldest; and the newest committed of all.
        let (mut tail, mut newest) = (None, None);
        let mut link = &self.head;
        // SAFETY: linked versions live as long as the guard.
        while let Some(version) = unsafe { link.load(Ordering::Acquire).as_ref() } {
            let committed = match version.stamp() {
                Stamp::Committed(lsn) => Some(lsn),
                _ => None,
            };
            newest = newest.or(committed);
            tail = match committed.filter(|lsn| eviction.coverage.has(*lsn)) {
                Some(lsn) => tail.or(Some((link, lsn))),
                None => None,
            };
            link = &version.older;
        }
        let tail_link = tail.map(|(link, _)| link);
        freed += self.empty_above(tail_link, eviction, guard);
        if let Some((link, lsn)) = tail {
            let traced = newest == Some(lsn) && eviction.wants_trace(lsn);
            freed += if traced { cut_behind(link, lsn, guard) } else { cut(link, guard) };
        }
        let dead = self.head.load(Ordering::Acquire).is_null();
        if dead {
            self.head.store(self::dead(), Ordering::Release);
            freed += self.footprint();
        }
        Evicted { freed, dead, held: newest.is_some() && tail_link.is_none() }
    }

    /// Replaces each version above `tail` that is in the base by a mark that says so. Under the lock.
    fn empty_above(
        &self,
        tail: Option<&AtomicPtr<Version>>,
        eviction: &Eviction<'_>,
        guard: &Guard,
    ) -> usize {
        let mut freed = 0;
        let mut link = &self.head;
        while !tail.is_some_and(|tail| std::ptr::eq(tail, link)) {
            // SAFETY: linked versions live as long as the guard.
            let Some(version) = (unsafe { link.load(Ordering::Acquire).as_ref() }) else { break };
            if let Stamp::Committed(lsn) = version.stamp()
                && eviction.coverage.has(lsn)
            {
                freed += empty(link, lsn, version.older.load(Ordering::Acquire), guard);
            }
            // SAFETY: as above; it may be another one now.
            let Some(version) = (unsafe { link.load(Ordering::Acquire).as_ref() }) else { break };
            link = &version.older;
        }
        freed
    }

    /// Takes the entry out with all its versions, whoever reads them; false when one of them is undecided.
    /// Returns the bytes freed.
    pub(crate) fn clear(&self, guard: &Guard) -> Option<usize> {
        let _lock = self.lock.lock();
        // SAFETY: linked versions live as long as the guard.
        let top = unsafe { self.head.load(Ordering::Acquire).as_ref() };
        if top.is_some_and(|top| !matches!(top.stamp(), Stamp::Committed(_))) {
            return None;
        }
        let versions = cut(&self.head, guard);
        self.head.store(dead(), Ordering::Release);
        Some(versions + self.footprint())
    }

    /// Unlinks the versions committed after `lsn`; returns how many, and their bytes.
    pub(crate) fn take_back(&self, lsn: Lsn, guard: &Guard) -> (usize, usize) {
        let _lock = self.lock.lock();
        let (mut versions, mut bytes) = (0, 0);
        let mut link = &self.head;
        if link.load(Ordering::Acquire) == dead() {
            return (0, 0);
        }
        // SAFETY: linked versions live as long as the guard.
        while let Some(version) = unsafe { link.load(Ordering::Acquire).as_ref() } {
            if !matches!(version.stamp(), Stamp::Committed(at) if at > lsn) {
                link = &version.older;
                continue;
            }
            versions += 1;
            bytes += version.footprint();
            let gone = link.load(Ordering::Acquire);
            link.store(version.older.load(Ordering::Acquire), Ordering::Release);
            // SAFETY: just unlinked, under the lock.
            unsafe { retire(gone, guard) };
        }
        (versions, bytes)
    }

    /// Aborts the transaction that has an undecided version here, if any; its owner unlinks the version later.
    pub(crate) fn abandon(&self, _guard: &Guard) {
        let _lock = self.lock.lock();
        let mut at = self.head.load(Ordering::Acquire);
        if at == dead() {
            return;
        }
        // SAFETY: linked versions live as long as the guard.
        while let Some(version) = unsafe { at.as_ref() } {
            if let Stamp::Open(status) = version.stamp() {
                // SAFETY: as in `Version::stamp`.
                unsafe { (*status).abort() };
            }
            at = version.older.load(Ordering::Acquire);
        }
    }

    /// Number of versions, newest and undecided included.
    #[cfg(test)]
    pub(crate) fn chain_len(&self, _guard: &Guard) -> usize {
        let mut len = 0;
        let mut at = self.head.load(Ordering::Acquire);
        // SAFETY: linked versions live as long as the guard.
        while let Some(version) = unsafe { at.as_ref() } {
            len += 1;
            at = version.older.load(Ordering::Acquire);
        }
        len
    }
}

/// What an eviction did to an entry.
pub(crate) struct Evicted {
    /// Bytes.
    pub(crate) freed: usize,
    /// Nothing is left of it.
    pub(crate) dead: bool,
    /// It has versions, and none could go.
    pub(crate) held: bool,
}

/// What [`Entry::push`]'s `make` decided.
pub(crate) struct Pushed {
    pub(crate) version: VersionRef,
    /// The top version leaves the chain.
    pub(crate) replace: bool,
}

/// Estimate of the ordered map's own bytes per entry (slot, fill factor, inner nodes).
const MAP_BYTES_PER_ENTRY: usize = 32;

/// Leaves the chain's reference to the epoch collector.
///
/// # Safety
/// `version` has been unlinked by the caller, who owned the chain's reference to it.
unsafe fn retire(version: *mut Version, guard: &Guard) {
    // SAFETY: the reference is dropped once, after all guards that could have seen the link are gone.
    unsafe { guard.defer_unchecked(move || drop(VersionRef::from_raw(version))) }
}

/// Cuts the chain at `link`. Under the entry's lock. Returns the bytes freed.
fn cut(link: &AtomicPtr<Version>, guard: &Guard) -> usize {
    let mut at = link.swap(std::ptr::null_mut(), Ordering::AcqRel);
    let mut freed = 0;
    // SAFETY: linked versions live as long as the guard.
    while let Some(version) = unsafe { at.as_ref() } {
        freed += version.footprint();
        let older = version.older.load(Ordering::Acquire);
        // SAFETY: the chain no longer leads to it.
        unsafe { retire(at, guard) };
        at = older;
    }
    freed
}

/// Leaves of the chain from `link` on only that there was a change at `lsn`. Under the entry's lock.
fn cut_behind(link: &AtomicPtr<Version>, lsn: Lsn, guard: &Guard) -> usize {
    // SAFETY: linked versions live as long as the guard; the caller found one here.
    let version = unsafe { &*link.load(Ordering::Acquire) };
    cut(&version.older, guard) + empty(link, lsn, std::ptr::null_mut(), guard)
}

/// Replaces the version at `link`, committed at `lsn`, by a mark over `older`. Under the entry's lock.
fn empty(link: &AtomicPtr<Version>, lsn: Lsn, older: *mut Version, guard: &Guard) -> usize {
    let full = link.load(Ordering::Acquire);
    // SAFETY: linked versions live as long as the guard; the caller found one here.
    let version = unsafe { &*full };
    if version.bytes().is_empty() {
        return 0;
    }
    let mark = VersionRef::new(VersionKind::InBase, &[], NewStamp::Committed(lsn), 0);
    let freed = version.footprint() - mark.footprint();
    mark.older.store(older, Ordering::Release);
    link.store(mark.into_raw(), Ordering::Release);
    // SAFETY: just unlinked, under the lock.
    unsafe { retire(full, guard) };
    freed
}
