//! What differs between a root and an older one, found without the older one.
//!
//! A page that a root reaches carries the generation that wrote it, and its parent names it. A page that is no younger than an
//! older root was reached by that root too: pages are not changed, and one that a root has let go never comes back under
//! the generation it had. So whatever hangs below a child that is old enough is as it was, and is passed over unread.
//!
//! ```text
//!   since 7:          root 9
//!             ┌─────────┼─────────┐
//!           inner 4   inner 9   inner 7          4 and 7 are passed over
//!                   ┌───┼───┐
//!                 leaf  leaf  leaf
//!                  3     9     6                 from the bound of the second to that of the third
//! ```
//!
//! What is between two leaves that were kept has not changed either, because a leaf that takes over the range of one that
//! vanished is written anew (module `merge`). Only behind the last row of the tree nothing says so: that end always counts
//! as changed.

use std::sync::Arc;

use super::Result;
use super::frame::PagePin;
use super::options::Direction;
use super::page::{BODY, Overflow};
use super::root::BaseRoot;
use std::ops::Bound;

/// A range of keys whose rows may have changed: from `lower` on, below `upper`; to the end without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRange {
    /// The first key that may be in it.
    pub lower: Vec<u8>,
    /// The first one behind it.
    pub upper: Option<Vec<u8>>,
}

/// Walks the ranges of a root that may differ from one of its predecessors, in order of keys.
pub struct Changed {
    root: Arc<BaseRoot>,
    since: u64,
    /// Inner pages from the root down: the page, its level, its lower bound, the next child.
    path: Vec<(PagePin, u32, Vec<u8>, usize)>,
    begun: bool,
    ended: bool,
}

/// A child met on the way, or a whole subtree.
struct Met {
    lower: Vec<u8>,
    changed: bool,
}

impl Changed {
    pub(super) fn new(root: Arc<BaseRoot>, since: u64) -> Changed {
        Changed { root, since, path: Vec::new(), begun: false, ended: false }
    }

    /// The next range. The last one has no end.
    pub fn next_range(&mut self) -> Result<Option<ChangedRange>> {
        if self.ended {
            return Ok(None);
        }
        let mut lower: Option<Vec<u8>> = None;
        while let Some(met) = self.next_met()? {
            match (&lower, met.changed) {
                (None, true) => lower = Some(met.lower),
                (Some(_), false) => {
                    return Ok(lower.map(|lower| ChangedRange { lower, upper: Some(met.lower) }));
                }
                _ => {}
            }
        }
        self.ended = true;
        let lower = match lower {
            Some(lower) => lower,
            None => self.behind_the_last()?,
        };
        Ok(Some(ChangedRange { lower, upper: None }))
    }

    /// The least key behind all rows.
    fn behind_the_last(&self) -> Result<Vec<u8>> {
        let mut cursor = self.root.scan(Bound::Unbounded, Bound::Unbounded, Direction::Reverse).keys_only();
        let last = cursor.next()?.map(|(key, _)| key.to_vec());
        Ok(last.map_or_else(Vec::new, |mut key| {
            key.push(0);
            key
        }))
    }

    /// The next leaf that is new, or page that is not.
    fn next_met(&mut self) -> Result<Option<Met>> {
        if !self.begun {
            self.begun = true;
            let Some(page) = self.root.page.clone() else { return Ok(None) };
            let changed = self.root.is_newer(page.reference().generation, self.since);
            if !changed || self.root.tree.height == 1 {
                return Ok(Some(Met { lower: Vec::new(), changed }));
            }
            self.path.push((page, self.root.tree.height - 1, Vec::new(), 0));
        }
        loop {
            let Some((page, level, bound, next)) = self.path.last_mut() else { return Ok(None) };
            let (index, level) = (*next, *level);
            if index == page.len() {
                self.path.pop();
                continue;
            }
            *next += 1;
            let lower =
                if index == 0 { bound.clone() } else { [page.prefix(), page.separator_rest(index)].concat() };
            let child = page.child(index);
            let changed = self.root.is_newer(child.generation, self.since);
            if !changed || level == 1 {
                return Ok(Some(Met { lower, changed }));
            }
            let (page, _) = self.root.file.tree_page_in_passing(child, level - 1)?;
            self.path.push((page, level - 1, lower, 0));
        }
    }
}

impl BaseRoot {
    /// The ranges that may differ from the root of an earlier generation of the same tree; 0 for all there is.
    pub fn changed_since(self: &Arc<Self>, generation: u64) -> Changed {
        Changed::new(Arc::clone(self), generation)
    }

    /// Whether a page was written after a generation, given the low half of its own.
    pub(super) fn is_newer(&self, low: u32, since: u64) -> bool {
        // A page that is older than four billion publications passes for a younger one, never the other way round.
        let age = u64::from((self.generation as u32).wrapping_sub(low));
        self.generation.saturating_sub(age) > since
    }

    /// Pages written after a generation, those of large rows included.
    pub fn pages_since(&self, generation: u64) -> Result<u64> {
        let Some(page) = &self.page else { return Ok(0) };
        if !self.is_newer(page.reference().generation, generation) {
            return Ok(0);
        }
        let level = self.tree.height - 1;
        Ok(1 + self.pages_below(page, level, self.tree.rows.overflow, generation)?)
    }

    fn pages_below(&self, page: &PagePin, level: u32, overflow: bool, since: u64) -> Result<u64> {
        if level == 0 {
            return Ok(if overflow { self.large_pages(page, since) } else { 0 });
        }
        let mut pages = 0;
        for index in 0..page.len() {
            let (child, overflow) = (page.child(index), page.child_rows(index).overflow);
            if !self.is_newer(child.generation, since) {
                continue;
            }
            pages += 1;
            if level > 1 || overflow {
                let (below, _) = self.file.tree_page_in_passing(child, level - 1)?;
                pages += self.pages_below(&below, level - 1, overflow, since)?;
            }
        }
        Ok(pages)
    }

    fn large_pages(&self, leaf: &PagePin, since: u64) -> u64 {
        let pages = |index| {
            let (_, value) = leaf.leaf_row(index);
            let large = value.overflow.then(|| Overflow::decode(leaf.value(value))).flatten();
            large
                .filter(|large| self.is_newer(large.generation, since))
                .map_or(0, |l| l.len.div_ceil(BODY as u64))
        };
        (0..leaf.len()).map(pages).sum()
    }
}
