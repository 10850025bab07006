//! The ordered map from key to [`Entry`] of one tree: a B+tree whose readers take no locks.
//!
//! * **Descent** couples versions: a child's version is read, then the parent's is validated, so a reader that
//!   arrives at a leaf came by links that all held. Any doubt starts again at the root.
//! * **Insertion** locks the leaf only. A full node met on the way down is split first, under its own lock and its
//!   parent's, which then has room.
//! * **Removal** happens in sweeps (eviction, one at a time per store): a leaf is compacted under its lock; an empty
//!   one is unlinked together with the inner nodes above that lead nowhere else. If somebody is in the way, it stays
//!   until the next sweep. Node ranges only ever grow by that, and a prefix is checked on every visit, so a node may
//!   meet keys that it was not made for.
//! * **Searches ahead** ([`Search`]) are descents that take turns. What they find is a hint, which insertion validates as it
//!   would a descent of its own.
//! * **Walking** goes leaf by leaf, each found by a descent to the separator met beside the last one. What is before that separator is
//!   done with, also where the next leaf, which may be the last one again, has grown by it.
//!
//! Entries, separators and nodes that leave the tree go to the epoch collector.

mod ahead;
mod node;

use std::ops::Bound;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crossbeam_epoch::Guard;
use crossbeam_utils::CachePadded;

use super::entry::Entry;
pub(crate) use ahead::{Place, Search};
use node::{Attempt, Locked, Node, Restart, SearchKey};

/// Key order over entries.
pub(crate) struct Map {
    root: AtomicPtr<Node>,
    /// Number of entries. On a line of its own: who inserts writes here, and everybody reads the root.
    len: CachePadded<AtomicUsize>,
}

/// One step of a descent.
struct Step<'g> {
    node: &'g Node,
    version: u64,
    /// Child taken; unused in a leaf.
    index: usize,
}

/// Where a walk continues.
enum Fence<'g> {
    /// At this separator.
    At(&'g [u8]),
    /// Nowhere: that was the last leaf.
    End,
}

/// Where the rest of a range is, when a leaf has been read.
enum Rest<'g> {
    /// The range ends in the leaf.
    Nothing,
    /// In the leaf, of which no more was wanted.
    InLeaf,
    /// From this separator on.
    Behind(&'g [u8]),
}

/// Where a walk looks for its next leaf.
#[derive(Clone, Copy)]
enum Seek<'k> {
    First,
    Last,
    /// The leaf that `key` belongs to.
    To(&'k [u8]),
    /// The leaf of the keys just below `key`.
    Before(&'k [u8]),
}

impl<'k> Seek<'k> {
    /// Where the range begins in walking order.
    fn first(lower: Bound<&'k [u8]>, upper: Bound<&'k [u8]>, reverse: bool) -> Seek<'k> {
        match if reverse { upper } else { lower } {
            Bound::Unbounded if reverse => Seek::Last,
            Bound::Unbounded => Seek::First,
            Bound::Excluded(key) if reverse => Seek::Before(key),
            Bound::Included(key) | Bound::Excluded(key) => Seek::To(key),
        }
    }
}

impl Map {
    pub(crate) fn new() -> Map {
        Map { root: AtomicPtr::new(Node::new_leaf()), len: CachePadded::new(AtomicUsize::new(0)) }
    }

    /// The entry under `key`.
    #[inline]
    pub(crate) fn get<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<&'g Entry> {
        let key = SearchKey::new(key);
        loop {
            if let Ok(found) = self.try_get(&key, guard) {
                return found;
            }
        }
    }

    #[inline]
    fn try_get<'g>(&self, key: &SearchKey<'_>, guard: &'g Guard) -> Attempt<Option<&'g Entry>> {
        let (mut node, mut version) = self.enter(guard)?;
        while !node.is_leaf() {
            (node, version) = descend(node, version, node.upper_bound(key), guard)?;
        }
        let (index, found) = node.lower_bound(key);
        let entry = if found { node.key(index) } else { std::ptr::null_mut() };
        node.validate(version)?;
        // SAFETY: in the tree when validated, so freed after the guard.
        Ok(unsafe { entry.as_ref() })
    }

    /// A search for `key` that takes turns with others.
    pub(crate) fn search<'k, 'g>(&self, key: &'k [u8], guard: &'g Guard) -> Search<'k, 'g> {
        Search::new(self, key, guard)
    }

    /// The entry under `key`, and whether it was just made. `place` is what an earlier search for it has found.
    pub(crate) fn get_or_insert<'g>(
        &self,
        key: &[u8],
        place: Place<'g>,
        guard: &'g Guard,
    ) -> (&'g Entry, bool) {
        let key = SearchKey::new(key);
        let mut made = None;
        let mut attempt = match place {
            Place::Entry(entry) => return (entry, false),
            // A full one is split by a descent, which knows the parent.
            Place::Leaf(at) => self.try_leaf(&key, &mut made, (at.node, at.version), |_| Restart),
            Place::Unknown => self.try_insert(&key, &mut made, guard),
        };
        loop {
            if let Ok((entry, inserted)) = attempt {
                if let (Some(unused), false) = (made, inserted) {
                    // SAFETY: made here and never put into the tree.
                    unsafe { Entry::free(unused) };
                }
                return (entry, inserted);
            }
            attempt = self.try_insert(&key, &mut made, guard);
        }
    }

    fn try_insert<'g>(
        &self,
        key: &SearchKey<'_>,
        made: &mut Option<NonNull<Entry>>,
        guard: &'g Guard,
    ) -> Attempt<(&'g Entry, bool)> {
        let (mut node, mut version) = self.enter(guard)?;
        let mut parent = None;
        while !node.is_leaf() {
            let index = node.upper_bound(key);
            if node.is_full() {
                return Err(self.split(parent, (node, version), index));
            }
            parent = Some((node, version));
            (node, version) = descend(node, version, index, guard)?;
        }
        self.try_leaf(key, made, (node, version), |index| self.split(parent, (node, version), index))
    }

    /// The same in the leaf that the key belongs to as of a version. `full` is told where it would go if there were room.
    fn try_leaf<'g>(
        &self,
        key: &SearchKey<'_>,
        made: &mut Option<NonNull<Entry>>,
        (node, version): (&'g Node, u64),
        full: impl FnOnce(usize) -> Restart,
    ) -> Attempt<(&'g Entry, bool)> {
        let (index, found) = node.lower_bound(key);
        if found {
            let entry = node.key(index);
            node.validate(version)?;
            // SAFETY: in the tree when validated, so freed after the guard.
            return Ok((unsafe { &*entry }, false));
        }
        if node.is_full() {
            return Err(full(index));
        }
        let entry = *made.get_or_insert_with(|| Entry::allocate(key.bytes));
        let locked = node.lock(version)?;
        locked.insert_entry(key, index, entry.as_ptr());
        self.len.fetch_add(1, Ordering::Relaxed);
        // SAFETY: in the tree now.
        Ok((unsafe { entry.as_ref() }, true))
    }

    /// Splits a full node if it still is as it was read; the descent begins again in any case.
    fn split(&self, parent: Option<(&Node, u64)>, (node, version): (&Node, u64), at: usize) -> Restart {
        let attempt = || -> Attempt<()> {
            let parent = parent.map(|(parent, version)| parent.lock(version)).transpose()?;
            let node = node.lock(version)?;
            if !node.is_full() {
                return Err(Restart);
            }
            match parent {
                Some(parent) => {
                    let (separator, right) = node.split(at);
                    parent.insert_child(separator, right);
                }
                None => self.split_root(&node, at)?,
            }
            Ok(())
        };
        let _ = attempt();
        Restart
    }

    fn split_root(&self, node: &Locked<'_>, at: usize) -> Attempt<()> {
        let address = std::ptr::from_ref::<Node>(node).cast_mut();
        if self.root.load(Ordering::Acquire) != address {
            return Err(Restart);
        }
        let (separator, right) = node.split(at);
        let root = Node::new_inner(node.level() + 1, address);
        // SAFETY: just made, seen by nobody.
        let new_root = unsafe { &*root };
        new_root.lock(0)?.insert_child(separator, right);
        self.root.store(root, Ordering::Release);
        Ok(())
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
        guard: &'g Guard,
    ) -> bool {
        let mut range = (lower, upper);
        let full = out.len() + max;
        loop {
            let more = self.next_leaf(&mut range, reverse, full - out.len(), out, guard);
            if out.len() == full || !more {
                return more;
            }
        }
    }

    /// Takes what the first leaf of the range has of it, at most `max`. True when there may be more: behind that leaf, where the range
    /// begins from then on, or in it.
    ///
    /// It is not enough to look for the next leaf there: the one just read may have been given the keys of an empty one beside it by
    /// then, so that the walk comes to it again.
    fn next_leaf<'k, 'g: 'k>(
        &self,
        range: &mut (Bound<&'k [u8]>, Bound<&'k [u8]>),
        reverse: bool,
        max: usize,
        out: &mut Vec<&'g Entry>,
        guard: &'g Guard,
    ) -> bool {
        let before = out.len();
        let rest = loop {
            match self.try_collect(*range, reverse, max, out, guard) {
                Ok(rest) => break rest,
                Err(Restart) => out.truncate(before),
            }
        };
        match rest {
            Rest::Behind(fence) if reverse => range.1 = Bound::Excluded(fence),
            Rest::Behind(fence) => range.0 = Bound::Included(fence),
            Rest::InLeaf => {}
            Rest::Nothing => return false,
        }
        true
    }

    /// Takes what the first leaf of the range has of it, and tells where the rest of the range is.
    fn try_collect<'g>(
        &self,
        range: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        max: usize,
        out: &mut Vec<&'g Entry>,
        guard: &'g Guard,
    ) -> Attempt<Rest<'g>> {
        let found = self.find_leaf(Seek::first(range.0, range.1, reverse), reverse, guard)?;
        collect(found, range, reverse, max, out)
    }

    /// A leaf, its version, and the separator beside it in walking order.
    fn find_leaf<'g>(
        &self,
        seek: Seek<'_>,
        reverse: bool,
        guard: &'g Guard,
    ) -> Attempt<(&'g Node, u64, Fence<'g>)> {
        let (mut node, mut version) = self.enter(guard)?;
        let mut fence = Fence::End;
        while !node.is_leaf() {
            let index = match seek {
                Seek::First => 0,
                Seek::Last => node.count(),
                Seek::To(key) => node.upper_bound(&SearchKey::new(key)),
                Seek::Before(key) => node.lower_bound(&SearchKey::new(key)).0,
            };
            let beside =
                if reverse { index.checked_sub(1) } else { Some(index).filter(|i| *i < node.count()) };
            if let Some(beside) = beside {
                let separator = node.key(beside);
                node.validate(version)?;
                // SAFETY: in the tree when validated, so freed after the guard.
                fence = Fence::At(unsafe { (*separator).key() });
            }
            (node, version) = descend(node, version, index, guard)?;
        }
        Ok((node, version, fence))
    }

    /// Visits all entries in order and removes those for which `remove` says so. `remove` runs under the lock of the
    /// leaf and must not come back here.
    pub(crate) fn sweep(&self, remove: &mut dyn FnMut(&Entry, &Guard) -> bool) {
        self.sweep_resting(remove, &|| ());
    }

    /// The same; `between` runs between leaves, where nobody waits for the sweep.
    pub(crate) fn sweep_resting(&self, remove: &mut dyn FnMut(&Entry, &Guard) -> bool, between: &dyn Fn()) {
        let mut next: Option<Vec<u8>> = None;
        loop {
            // A guard per leaf, so that a long sweep does not hold up the collector.
            let guard = crossbeam_epoch::pin();
            let seek = next.as_deref().map_or(Seek::First, Seek::To);
            let Ok(fence) = self.try_sweep_leaf(seek, remove, &guard) else { continue };
            // A sweep retires more than the collector would free by itself at this rate of guards.
            guard.flush();
            match fence {
                Fence::At(key) => next = Some(key.to_vec()),
                Fence::End => return,
            }
            drop(guard);
            between();
        }
    }

    fn try_sweep_leaf<'g>(
        &self,
        seek: Seek<'_>,
        remove: &mut dyn FnMut(&Entry, &Guard) -> bool,
        guard: &'g Guard,
    ) -> Attempt<Fence<'g>> {
        let (leaf, version, fence) = self.find_leaf(seek, false, guard)?;
        if leaf.count() > 0 {
            let locked = leaf.lock(version)?;
            locked.retain(|entry| {
                // SAFETY: in the tree, and the leaf is locked.
                let gone = remove(unsafe { &*entry }, guard);
                if gone {
                    self.len.fetch_sub(1, Ordering::Relaxed);
                    // SAFETY: leaves the tree here, once.
                    unsafe { retire_entry(entry, guard) };
                }
                !gone
            });
        }
        if leaf.count() == 0 {
            // Not now if somebody is in the way.
            let _ = self.unlink_empty(seek, guard);
        }
        Ok(fence)
    }

    /// Unlinks the empty leaf that `seek` leads to, with the inner nodes above it that have no other child.
    fn unlink_empty(&self, seek: Seek<'_>, guard: &Guard) -> Attempt<()> {
        let mut path = Vec::with_capacity(8);
        let (mut node, mut version) = self.enter(guard)?;
        while !node.is_leaf() {
            let index = match seek {
                Seek::To(key) => node.upper_bound(&SearchKey::new(key)),
                _ => 0,
            };
            path.push(Step { node, version, index });
            (node, version) = descend(node, version, index, guard)?;
        }
        path.push(Step { node, version, index: 0 });
        if node.count() != 0 {
            return Err(Restart);
        }
        // The lowest node on the way that has another child keeps its place.
        let stem = path[..path.len() - 1].iter().rposition(|step| step.node.count() > 0).ok_or(Restart)?;
        let stem_locked = path[stem].node.lock(path[stem].version)?;
        let mut gone = Vec::with_capacity(path.len());
        for step in &path[stem + 1..] {
            gone.push(step.node.lock(step.version)?);
        }
        let separator = stem_locked.remove_child(path[stem].index);
        // SAFETY: separator and nodes leave the tree here, once.
        unsafe {
            retire_entry(separator, guard);
            for locked in gone {
                let address = std::ptr::from_ref::<Node>(&locked).cast_mut() as usize;
                locked.make_obsolete();
                guard.defer_unchecked(move || Node::free(address as *mut Node));
            }
        }
        Ok(())
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed)
    }

    /// Rough number of entries in a range, from the positions of its ends on the way down.
    pub(crate) fn estimate(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, guard: &Guard) -> usize {
        let position = |bound: Bound<&[u8]>, unbounded: f64| match bound {
            Bound::Unbounded => unbounded,
            Bound::Included(key) | Bound::Excluded(key) => {
                let key = SearchKey::new(key);
                loop {
                    if let Ok(position) = self.try_position(&key, guard) {
                        return position;
                    }
                }
            }
        };
        let share = (position(upper, 1.0) - position(lower, 0.0)).max(0.0);
        (share * self.len() as f64) as usize
    }

    /// Ascending keys that cut a range into parts of about equal size: at least `parts` of them where it has as many leaves. None where
    /// the range ends before it begins.
    pub(crate) fn separators(
        &self,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        parts: usize,
        guard: &Guard,
    ) -> Vec<Vec<u8>> {
        loop {
            if let Ok(mut found) = self.try_separators((lower, upper), parts, guard) {
                found.sort_unstable();
                found.dedup();
                return found.into_iter().map(<[u8]>::to_vec).collect();
            }
        }
    }

    /// Those of one level of inner nodes after the other, until there are enough.
    fn try_separators<'g>(
        &self,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        parts: usize,
        guard: &'g Guard,
    ) -> Attempt<Vec<&'g [u8]>> {
        let mut level = vec![self.enter(guard)?];
        let mut found = Vec::new();
        while found.len() + 1 < parts && level.first().is_some_and(|(node, _)| !node.is_leaf()) {
            let mut below = Vec::new();
            for (node, version) in level {
                let child_of = |bound, unbounded| match bound {
                    Bound::Unbounded => unbounded,
                    Bound::Included(key) | Bound::Excluded(key) => node.upper_bound(&SearchKey::new(key)),
                };
                let (first, last) = (child_of(lower, 0), child_of(upper, node.count()));
                let separators: Vec<_> = (first..last).map(|index| node.key(index)).collect();
                node.validate(version)?;
                // SAFETY: in the tree when validated, so freed after the guard.
                found.extend(separators.into_iter().map(|separator| unsafe { (*separator).key() }));
                for index in first..=last {
                    below.push(descend(node, version, index, guard)?);
                }
            }
            level = below;
        }
        Ok(found)
    }

    fn try_position(&self, key: &SearchKey<'_>, guard: &Guard) -> Attempt<f64> {
        let (mut node, mut version) = self.enter(guard)?;
        let (mut position, mut width) = (0.0, 1.0);
        while !node.is_leaf() {
            let index = node.upper_bound(key);
            width /= (node.count() + 1) as f64;
            position += width * index as f64;
            (node, version) = descend(node, version, index, guard)?;
        }
        let share = node.lower_bound(key).0 as f64 / node.count().max(1) as f64;
        node.validate(version)?;
        Ok(position + width * share)
    }

    #[inline]
    fn enter<'g>(&self, _guard: &'g Guard) -> Attempt<(&'g Node, u64)> {
        let root = self.root.load(Ordering::Acquire);
        // SAFETY: a node that was the root stays in the tree, or goes to the collector after the guard.
        let node = unsafe { &*root };
        let version = node.read_version()?;
        if self.root.load(Ordering::Acquire) == root { Ok((node, version)) } else { Err(Restart) }
    }
}

/// Takes what a leaf has of a range, given its version and the separator beside it; tells where the rest of the range is.
fn collect<'g>(
    (leaf, version, fence): (&'g Node, u64, Fence<'g>),
    (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
    reverse: bool,
    max: usize,
    out: &mut Vec<&'g Entry>,
) -> Attempt<Rest<'g>> {
    let count = leaf.count();
    let first = match lower {
        Bound::Unbounded => 0,
        Bound::Included(key) => leaf.lower_bound(&SearchKey::new(key)).0,
        Bound::Excluded(key) => leaf.upper_bound(&SearchKey::new(key)),
    };
    let end = match upper {
        Bound::Unbounded => count,
        Bound::Included(key) => leaf.upper_bound(&SearchKey::new(key)),
        Bound::Excluded(key) => leaf.lower_bound(&SearchKey::new(key)).0,
    };
    let in_range = end.saturating_sub(first);
    for step in 0..in_range.min(max) {
        let entry = leaf.key(if reverse { end - 1 - step } else { first + step });
        if entry.is_null() {
            return Err(Restart);
        }
        // SAFETY: was in the tree after the guard was taken; used only after validation.
        out.push(unsafe { &*entry });
    }
    leaf.validate(version)?;
    // The range ends here when the leaf holds keys past its far end.
    let ends_here = if reverse { first > 0 } else { end < count };
    let fence = match fence {
        _ if in_range > max => return Ok(Rest::InLeaf),
        Fence::At(key) if !ends_here => key,
        _ => return Ok(Rest::Nothing),
    };
    // A separator of a node further up may be older than the leaf, which has grown past it since.
    let past = |entry: &&Entry| (entry.key() < fence) == reverse;
    if in_range > 0 && out.last().is_some_and(past) { Err(Restart) } else { Ok(Rest::Behind(fence)) }
}

/// From a node to a child, both as of one moment.
#[inline]
fn descend<'g>(node: &'g Node, version: u64, index: usize, guard: &'g Guard) -> Attempt<(&'g Node, u64)> {
    let child = descend_later(node, version, index, guard)?;
    let child_version = child.read_version()?;
    node.validate(version)?;
    Ok((child, child_version))
}

/// The child, which was asked of the cache, to be looked at later.
#[inline]
fn descend_later<'g>(node: &'g Node, version: u64, index: usize, _guard: &'g Guard) -> Attempt<&'g Node> {
    let child = node.child(index);
    node.validate(version)?;
    // SAFETY: a child when validated, so freed after the guard.
    let child = unsafe { &*child };
    child.prefetch();
    Ok(child)
}

/// # Safety
/// The entry (or separator) has left the tree; called once.
unsafe fn retire_entry(entry: *mut Entry, guard: &Guard) {
    let address = entry as usize;
    // SAFETY: non-null as it was in the tree; freed after all guards that may have seen it.
    unsafe { guard.defer_unchecked(move || Entry::free(NonNull::new_unchecked(address as *mut Entry))) }
}

impl Drop for Map {
    fn drop(&mut self) {
        fn free(node: *mut Node) {
            // SAFETY: the map is unreachable, and so is everything in its tree.
            unsafe {
                for index in 0..(*node).count() {
                    Entry::free(NonNull::new_unchecked((*node).key(index)));
                }
                if !(*node).is_leaf() {
                    for index in 0..=(*node).count() {
                        free((*node).child(index));
                    }
                }
                Node::free(node);
            }
        }
        free(*self.root.get_mut());
    }
}

#[cfg(test)]
mod tests;
