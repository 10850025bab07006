//! One version of one row, and the chain it hangs in.
//!
//! A version is a single allocation: a header and the row's (or patch's) bytes behind it. It is counted by
//! reference, so a reader keeps a row without copying it ([`RowRef`]) however long it likes.
//!
//! ```text
//! entry.head ──► version (newest) ──older──► version ──older──► … ──► null, then the base tree
//!                 stamp                       stamp
//! ```
//!
//! * **Stamp**: either the final commit LSN or a pointer to the writing transaction's [`TxnStatus`]. One store into
//!   that status commits every version of the transaction at once; the write set replaces the pointers by the LSN
//!   afterwards, when nobody waits for it.
//! * **Reclamation**: the chain owns one reference to each of its versions. Unlinking hands that reference to the
//!   epoch collector, so whoever walks a chain under a guard may follow every pointer it meets. Outside a guard
//!   only the bytes of a version may be touched, never its stamp or its `older` link.
//! * **Patches are cumulative**: a patch version holds every column that changed since the base row, because a new
//!   patch is composed with the patch under it and folded into a row when there is one. So dropping any version
//!   never breaks another. Eviction may leave a [`VersionKind::InBase`] in place of a version; a patch over it
//!   begins anew, with the columns that changed since.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use keel_base::Lsn;

use crate::base;
use crate::delta::heap_bytes;
use crate::txn::TxnStatus;

/// What a version does to the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum VersionKind {
    /// The row is these bytes, and the base had none under the key when the entry was made.
    Insert,
    /// The row is these bytes.
    Put,
    /// The row is the base row with this patch applied.
    Patch,
    /// The row is gone.
    Delete,
    /// The row is gone, and the base had none either.
    Gone,
    /// The row is whatever the reader's base root holds: all that eviction left of a change that is in every root
    /// it is looked for in.
    InBase,
}

impl VersionKind {
    /// Whether it says that there is a row. What only the base knows counts as none.
    #[inline]
    pub(crate) fn is_alive(self) -> bool {
        matches!(self, VersionKind::Insert | VersionKind::Put | VersionKind::Patch)
    }
}

/// The header of a version; the bytes follow it in memory.
#[repr(C)]
pub(crate) struct Version {
    refs: AtomicU32,
    kind: VersionKind,
    len: u32,
    /// Place in the writer's undo list; read only while the version is that writer's uncommitted one.
    pub(crate) undo_index: u32,
    /// `lsn << 1`, or `address of TxnStatus | 1`.
    stamp: AtomicU64,
    /// Written under the entry's lock, read under an epoch guard.
    pub(crate) older: AtomicPtr<Version>,
}

/// A stamp as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stamp {
    /// Committed at this LSN.
    Committed(Lsn),
    /// The transaction with this status is open.
    Open(*const TxnStatus),
    /// Rolled back; about to be unlinked.
    Aborted,
}

impl Version {
    fn layout(len: usize) -> Layout {
        let size = size_of::<Version>() + len;
        Layout::from_size_align(size, align_of::<Version>()).expect("a row is smaller than 4 GB")
    }

    /// Bytes that a version with `len` bytes of data takes, for accounting.
    pub(crate) fn footprint(&self) -> usize {
        heap_bytes(size_of::<Version>() + self.len as usize)
    }

    #[inline]
    pub(crate) fn kind(&self) -> VersionKind {
        self.kind
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `new` allocated `len` initialised bytes right behind the header, and they live as long as it.
        unsafe {
            let data = std::ptr::from_ref(self).add(1).cast::<u8>();
            std::slice::from_raw_parts(data, self.len as usize)
        }
    }

    /// The stamp, resolved through the transaction's status. Call under an epoch guard taken before the version
    /// was reached: the status is freed by the epoch collector.
    #[inline]
    pub(crate) fn stamp(&self) -> Stamp {
        let raw = self.stamp.load(Ordering::Acquire);
        if raw & 1 == 0 {
            return Stamp::Committed(Lsn(raw >> 1));
        }
        let status: *const TxnStatus = std::ptr::with_exposed_provenance((raw & !1) as usize);
        // SAFETY: the write set keeps the status until all its versions are stamped with an LSN or unlinked, and
        // then leaves it to the epoch collector; the caller's guard is older than our load.
        let state = unsafe { (*status).commit_lsn.load(Ordering::Acquire) };
        match state {
            TxnStatus::OPEN => Stamp::Open(status),
            TxnStatus::ABORTED => Stamp::Aborted,
            lsn => Stamp::Committed(Lsn(lsn)),
        }
    }

    /// Replaces the status pointer by the commit LSN.
    #[inline]
    pub(crate) fn settle(&self, lsn: Lsn) {
        self.stamp.store(lsn.0 << 1, Ordering::Release);
    }
}

/// How a new version is stamped.
#[derive(Clone, Copy)]
pub(crate) enum NewStamp {
    /// Committed already (redo).
    Committed(Lsn),
    /// Decided by this status later. The caller keeps the status alive (see [`Version::stamp`]).
    By(*const TxnStatus),
}

/// A counted reference to a version.
pub(crate) struct VersionRef(NonNull<Version>);

// SAFETY: the bytes are immutable, the header's shared fields are atomics, and the count is atomic.
unsafe impl Send for VersionRef {}
// SAFETY: as above.
unsafe impl Sync for VersionRef {}

impl VersionRef {
    /// A new version with one reference.
    pub(crate) fn new(kind: VersionKind, bytes: &[u8], stamp: NewStamp, undo_index: u32) -> VersionRef {
        let len = u32::try_from(bytes.len()).expect("a row is smaller than 4 GB");
        let raw_stamp = match stamp {
            NewStamp::Committed(lsn) => lsn.0 << 1,
            NewStamp::By(status) => status.expose_provenance() as u64 | 1,
        };
        let layout = Version::layout(bytes.len());
        // SAFETY: the layout is not zero-sized; header and bytes are written before anyone sees the pointer.
        unsafe {
            let Some(header) = NonNull::new(alloc(layout).cast::<Version>()) else {
                handle_alloc_error(layout)
            };
            header.write(Version {
                refs: AtomicU32::new(1),
                kind,
                len,
                undo_index,
                stamp: AtomicU64::new(raw_stamp),
                older: AtomicPtr::new(std::ptr::null_mut()),
            });
            let data = header.add(1).cast::<u8>().as_ptr();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
            VersionRef(header)
        }
    }

    /// Takes a further reference to a version that is reachable under the caller's guard.
    ///
    /// # Safety
    /// `version` must be kept alive by a guard or another reference during the call.
    #[inline]
    pub(crate) unsafe fn share(version: *const Version) -> VersionRef {
        // SAFETY: alive by the caller's promise.
        unsafe {
            (*version).refs.fetch_add(1, Ordering::Relaxed);
            VersionRef(NonNull::new_unchecked(version.cast_mut()))
        }
    }

    /// Gives the reference away as a raw pointer (to the chain).
    pub(crate) fn into_raw(self) -> *mut Version {
        let raw = self.0.as_ptr();
        std::mem::forget(self);
        raw
    }

    /// Takes back a reference given away by [`VersionRef::into_raw`].
    ///
    /// # Safety
    /// Each `into_raw` may be matched by one `from_raw` only.
    pub(crate) unsafe fn from_raw(raw: *mut Version) -> VersionRef {
        // SAFETY: `raw` came from a non-null reference.
        VersionRef(unsafe { NonNull::new_unchecked(raw) })
    }

    pub(crate) fn as_ptr(&self) -> *mut Version {
        self.0.as_ptr()
    }
}

impl Deref for VersionRef {
    type Target = Version;
    #[inline]
    fn deref(&self) -> &Version {
        // SAFETY: we hold a reference.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for VersionRef {
    fn clone(&self) -> Self {
        // SAFETY: `self` keeps the version alive.
        unsafe { VersionRef::share(self.0.as_ptr()) }
    }
}

impl AsRef<[u8]> for VersionRef {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Drop for VersionRef {
    #[inline]
    fn drop(&mut self) {
        if self.refs.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            let layout = Version::layout(self.len as usize);
            // SAFETY: the last reference is gone; header and bytes need no drop of their own.
            unsafe { dealloc(self.0.as_ptr().cast(), layout) }
        }
    }
}

/// A row held in memory without a copy. Dereferences to the stored bytes.
#[derive(Clone)]
pub struct RowRef(Inner);

#[derive(Clone)]
enum Inner {
    Delta(VersionRef),
    Base(base::RowRef),
    Folded(Arc<[u8]>),
}

impl RowRef {
    #[inline]
    pub(crate) fn delta(version: VersionRef) -> RowRef {
        RowRef(Inner::Delta(version))
    }

    #[inline]
    pub(crate) fn base(row: base::RowRef) -> RowRef {
        RowRef(Inner::Base(row))
    }

    /// A row that stands for itself, such as one folded from a patch.
    #[must_use]
    pub fn owned(bytes: &[u8]) -> RowRef {
        RowRef(Inner::Folded(Arc::from(bytes)))
    }
}

impl Deref for RowRef {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Inner::Delta(version) => version.bytes(),
            Inner::Base(row) => row,
            Inner::Folded(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for RowRef {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for RowRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RowRef").field(&&self[..]).finish()
    }
}
