//! The row that a transaction has locked last.
//!
//! Nearly always it is the one that is read again and written next: who knows it asks neither the lock manager nor the store.

use keel_base::TreeId;
use keel_store::RowRef;

/// A row known to be locked so that nobody else can write it.
#[derive(Default)]
pub(super) struct LockedRow {
    /// `None` until there is one.
    pub(super) tree: Option<TreeId>,
    pub(super) key: Vec<u8>,
    /// Exclusively, not only for update.
    pub(super) exclusive: bool,
    /// Its newest version, if it was read under the update lock and the transaction has written nothing since.
    pub(super) row: Option<RowRef>,
}

impl LockedRow {
    #[inline]
    pub(super) fn is(&self, tree: TreeId, key: &[u8]) -> bool {
        self.tree == Some(tree) && self.key == key
    }

    #[inline]
    pub(super) fn is_exclusive(&self, tree: TreeId, key: &[u8]) -> bool {
        self.exclusive && self.is(tree, key)
    }

    pub(super) fn set(&mut self, tree: TreeId, key: &[u8], exclusive: bool) {
        if self.is(tree, key) {
            self.exclusive |= exclusive;
            return;
        }
        self.tree = Some(tree);
        self.exclusive = exclusive;
        self.row = None;
        self.key.clear();
        self.key.extend_from_slice(key);
    }
}
