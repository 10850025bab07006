//! From [`TreeId`] to [`TreeDelta`] in four dependent loads, without a lock.
//!
//! A radix tree with one byte of the id per level. Nodes are made when first needed and stay until the directory
//! goes: they are small, and ids are given out in sequence. Trees themselves come and go; a removed one is freed by
//! the epoch collector when its last holder has let go.

use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use crossbeam_epoch::Guard;
use keel_base::TreeId;
use parking_lot::Mutex;

use super::TreeDelta;

/// One level; the pointers of the last level are trees, of the others nodes.
struct Node([AtomicPtr<()>; 256]);

impl Node {
    fn allocate() -> *mut Node {
        Box::into_raw(Box::new(Node([const { AtomicPtr::new(null_mut()) }; 256])))
    }
}

/// All delta trees of a store.
pub(crate) struct Directory {
    root: *mut Node,
    /// Held while trees are added or removed.
    changing: Mutex<()>,
}

// SAFETY: nodes are shared through atomics and freed with the directory only.
unsafe impl Send for Directory {}
// SAFETY: as above.
unsafe impl Sync for Directory {}

impl Directory {
    pub(crate) fn new() -> Directory {
        Directory { root: Node::allocate(), changing: Mutex::new(()) }
    }

    #[inline]
    pub(crate) fn get<'g>(&self, id: TreeId, _guard: &'g Guard) -> Option<&'g TreeDelta> {
        let slot = self.slot(id)?;
        // SAFETY: the last level holds trees; a removed one outlives the guard.
        unsafe { slot.load(Ordering::Acquire).cast::<TreeDelta>().as_ref() }
    }

    pub(crate) fn get_arc(&self, id: TreeId, guard: &Guard) -> Option<Arc<TreeDelta>> {
        let tree: *const TreeDelta = self.get(id, guard)?;
        // SAFETY: the pointer came from an Arc whose reference is dropped after the guard at the earliest.
        unsafe {
            Arc::increment_strong_count(tree);
            Some(Arc::from_raw(tree))
        }
    }

    pub(crate) fn get_or_insert(
        &self,
        id: TreeId,
        guard: &Guard,
        make: impl FnOnce() -> Arc<TreeDelta>,
    ) -> Arc<TreeDelta> {
        if let Some(tree) = self.get_arc(id, guard) {
            return tree;
        }
        let _changing = self.changing.lock();
        if let Some(tree) = self.get_arc(id, guard) {
            return tree;
        }
        let tree = make();
        let mut node = self.root;
        for byte in &id.0.to_be_bytes()[..3] {
            // SAFETY: nodes live as long as the directory.
            let link = unsafe { &(&(*node).0)[usize::from(*byte)] };
            let next = link.load(Ordering::Acquire);
            node = if next.is_null() {
                let fresh = Node::allocate();
                link.store(fresh.cast(), Ordering::Release);
                fresh
            } else {
                next.cast()
            };
        }
        // SAFETY: as above.
        let slot = unsafe { &(&(*node).0)[(id.0 & 0xff) as usize] };
        slot.store(Arc::into_raw(tree.clone()).cast_mut().cast(), Ordering::Release);
        tree
    }

    /// Takes a tree out; its memory goes when the last reader and writer have finished with it.
    pub(crate) fn remove(&self, id: TreeId, guard: &Guard) -> Option<Arc<TreeDelta>> {
        let _changing = self.changing.lock();
        let slot = self.slot(id)?;
        let raw = slot.swap(null_mut(), Ordering::AcqRel).cast::<TreeDelta>().cast_const();
        if raw.is_null() {
            return None;
        }
        // SAFETY: the directory's reference is now ours.
        let tree = unsafe { Arc::from_raw(raw) };
        let kept = tree.clone();
        guard.defer(move || drop(kept));
        Some(tree)
    }

    /// All trees by ascending id. Leaves no guard behind: who goes through them may take long, and memory that is retired
    /// meanwhile is not freed before its guard is gone.
    pub(crate) fn all(&self) -> Vec<Arc<TreeDelta>> {
        let guard = crossbeam_epoch::pin();
        let mut found = Vec::new();
        self.visit(self.root, 0, 0, &mut |id| found.extend(self.get_arc(TreeId(id), &guard)));
        found
    }

    fn visit(&self, node: *mut Node, level: u32, prefix: u32, found: &mut dyn FnMut(u32)) {
        for byte in 0..256u32 {
            // SAFETY: nodes live as long as the directory.
            let next = unsafe { (&(*node).0)[byte as usize].load(Ordering::Acquire) };
            if !next.is_null() {
                let id = prefix << 8 | byte;
                if level == 3 { found(id) } else { self.visit(next.cast(), level + 1, id, found) }
            }
        }
    }

    #[inline]
    fn slot(&self, id: TreeId) -> Option<&AtomicPtr<()>> {
        let bytes = id.0.to_be_bytes();
        let mut node = self.root;
        for byte in &bytes[..3] {
            // SAFETY: nodes live as long as the directory.
            node = unsafe { (&(*node).0)[usize::from(*byte)].load(Ordering::Acquire).cast() };
            if node.is_null() {
                return None;
            }
        }
        // SAFETY: as above.
        Some(unsafe { &(&(*node).0)[usize::from(bytes[3])] })
    }

    fn free(node: *mut Node, level: u32) {
        // SAFETY: called from drop only: nobody else has access.
        let node = unsafe { Box::from_raw(node) };
        for link in &node.0 {
            let next = link.load(Ordering::Acquire);
            if next.is_null() {
                continue;
            }
            if level == 3 {
                // SAFETY: the directory's reference.
                drop(unsafe { Arc::from_raw(next.cast::<TreeDelta>().cast_const()) });
            } else {
                Directory::free(next.cast(), level + 1);
            }
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        Directory::free(self.root, 0);
    }
}
