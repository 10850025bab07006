//! Where the base tree has no rows: so that rows added in key order ask it once and not one by one.
//!
//! A [`BaseGap`] is a range of keys under which one root of the base has nothing, and the generation of that root. Who
//! asks once only has the key looked up; the second question finds the gap around its key. It holds nothing up: when another root has been published, it looks again. It is asked after the delta was found to have
//! no version of the key: what eviction took from there before is in the root that is the newest now.

use std::ops::Bound;

use keel_base::TreeId;

use crate::base::{BaseError, BaseTree, Direction};
use crate::scan::{TREE_PREFIX, base_bounds};
use crate::store::{base_key, bound_slice};

/// Answers whether the base has a row, for keys that mostly come in order.
pub struct BaseGap {
    tree: TreeId,
    /// Whether anything has been asked yet.
    asked: bool,
    /// Of the root that was looked at; `None` before the first look.
    generation: Option<u64>,
    /// The gap: from here on …
    from: Vec<u8>,
    /// … to before this key, or to the tree's end.
    to: Option<Vec<u8>>,
}

impl BaseGap {
    /// For one tree; looks at nothing yet.
    #[must_use]
    pub fn new(tree: TreeId) -> BaseGap {
        BaseGap { tree, asked: false, generation: None, from: Vec::new(), to: None }
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> TreeId {
        self.tree
    }

    /// Whether the newest root of the base has a row under `key`.
    pub(crate) fn base_has(&mut self, base: &BaseTree, key: &[u8]) -> Result<bool, BaseError> {
        let inside = key >= &self.from[..] && self.to.as_ref().is_none_or(|to| key < &to[..]);
        if inside && self.generation == Some(base.generation()) {
            return Ok(false);
        }
        if !std::mem::replace(&mut self.asked, true) {
            return base.root_now().contains(&base_key(self.tree, key));
        }
        self.look(base, key)
    }

    /// Finds the first row from `key` on: the gap ends there.
    fn look(&mut self, base: &BaseTree, key: &[u8]) -> Result<bool, BaseError> {
        let root = base.root();
        let (lower, upper) = base_bounds(self.tree, (Bound::Included(key), Bound::Unbounded));
        let mut next = root.scan(bound_slice(&lower), bound_slice(&upper), Direction::Forward).keys_only();
        let found = next.advance()?;
        if found && next.key() == &base_key(self.tree, key)[..] {
            return Ok(true);
        }
        self.generation = Some(root.generation());
        self.from.clear();
        self.from.extend_from_slice(key);
        self.to = found.then(|| next.key()[TREE_PREFIX..].to_vec());
        Ok(false)
    }
}
