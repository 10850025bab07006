//! The ordered map from key to [`Entry`] of one tree.
//!
//! Entries are shared by address under epoch guards; the map owns them and leaves removed ones to the collector.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::ptr::NonNull;

use crossbeam_epoch::Guard;
use parking_lot::RwLock;

use super::entry::Entry;

struct Owned(NonNull<Entry>);

// SAFETY: entries are shared between threads by design.
unsafe impl Send for Owned {}
// SAFETY: as above.
unsafe impl Sync for Owned {}

impl Owned {
    fn entry(&self) -> &Entry {
        // SAFETY: owned by the map.
        unsafe { self.0.as_ref() }
    }
}

impl Borrow<[u8]> for Owned {
    fn borrow(&self) -> &[u8] {
        self.entry().key()
    }
}
impl PartialEq for Owned {
    fn eq(&self, other: &Owned) -> bool {
        self.entry().key() == other.entry().key()
    }
}
impl Eq for Owned {}
impl PartialOrd for Owned {
    fn partial_cmp(&self, other: &Owned) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Owned {
    fn cmp(&self, other: &Owned) -> std::cmp::Ordering {
        self.entry().key().cmp(other.entry().key())
    }
}

/// Key order over entries.
pub(crate) struct Map {
    entries: RwLock<BTreeMap<Owned, ()>>,
}

impl Map {
    pub(crate) fn new() -> Map {
        Map { entries: RwLock::new(BTreeMap::new()) }
    }

    /// The entry under `key`.
    pub(crate) fn get<'g>(&self, key: &[u8], _guard: &'g Guard) -> Option<&'g Entry> {
        let entries = self.entries.read();
        // SAFETY: removed entries are freed after the guard.
        entries.get_key_value(key).map(|(owned, ())| unsafe { owned.0.as_ref() })
    }

    /// The entry under `key`, and whether it was just made.
    pub(crate) fn get_or_insert<'g>(&self, key: &[u8], guard: &'g Guard) -> (&'g Entry, bool) {
        if let Some(entry) = self.get(key, guard) {
            return (entry, false);
        }
        let mut entries = self.entries.write();
        if let Some((owned, ())) = entries.get_key_value(key) {
            // SAFETY: as in `get`.
            return (unsafe { owned.0.as_ref() }, false);
        }
        let entry = Entry::allocate(key);
        entries.insert(Owned(entry), ());
        // SAFETY: as in `get`.
        (unsafe { entry.as_ref() }, true)
    }

    /// Appends up to `max` entries of the range to `out`, in ascending order, or descending when `reverse`.
    /// True when there may be more.
    pub(crate) fn batch<'g>(
        &self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        reverse: bool,
        max: usize,
        out: &mut Vec<&'g Entry>,
        _guard: &'g Guard,
    ) -> bool {
        let entries = self.entries.read();
        let mut range = entries.range::<[u8], _>((lower, upper));
        for _ in 0..max {
            let next = if reverse { range.next_back() } else { range.next() };
            let Some((owned, ())) = next else { return false };
            // SAFETY: as in `get`.
            out.push(unsafe { owned.0.as_ref() });
        }
        true
    }

    /// Visits all entries and removes those for which `remove` says so.
    pub(crate) fn sweep(&self, guard: &Guard, remove: &mut dyn FnMut(&Entry) -> bool) {
        self.entries.write().retain(|owned, ()| {
            let gone = remove(owned.entry());
            if gone {
                let entry = owned.0.as_ptr() as usize;
                // SAFETY: out of the map; freed once, after all guards that may have seen it.
                unsafe {
                    guard.defer_unchecked(move || Entry::free(NonNull::new_unchecked(entry as *mut Entry)))
                };
            }
            !gone
        });
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.entries.read().len()
    }

    /// Rough number of entries in a range.
    pub(crate) fn estimate(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> usize {
        self.entries.read().range::<[u8], _>((lower, upper)).count()
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        for (owned, ()) in std::mem::take(self.entries.get_mut()) {
            // SAFETY: the map is unreachable.
            unsafe { Entry::free(owned.0) };
        }
    }
}
