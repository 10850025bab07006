//! Walking a key range in either direction.
//!
//! Pages have no sibling pointers (copy-on-write would have to rewrite the neighbours of every new page), so a
//! cursor keeps the path of inner pages from the root and goes up and down again at a leaf's end. The range's far
//! bound is turned into an index once per leaf; stepping inside a leaf compares nothing.

use std::ops::Bound;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Result;
use super::file::{Found, RUN_PAGES_MAX};
use super::frame::PagePin;
use super::merge::read_large;
use super::options::Direction;
use super::page::{Overflow, Page, PageRef};
use super::root::{BaseRoot, RowRef};
use crate::key_bytes;

/// Leaves fetched ahead when a scan meets one that is not cached: a request of a quarter megabyte.
const READ_AHEAD: usize = 32;
const _: () = assert!(READ_AHEAD <= RUN_PAGES_MAX as usize);

/// Rows by which the processor is told ahead what a scan will read: the time a line takes to arrive, in rows.
const ROWS_AHEAD: usize = 6;

type Key = SmallVec<[u8; 64]>;

/// Walks a range of a [`BaseRoot`], which it keeps alive.
pub struct Cursor {
    root: Arc<BaseRoot>,
    lower: Bound<Key>,
    upper: Bound<Key>,
    direction: Direction,
    /// Inner pages from the root down, each with the index of the child in use.
    path: SmallVec<[(PagePin, usize); 5]>,
    leaf: Option<PagePin>,
    /// Rows of the leaf that are still to come.
    next: usize,
    end: usize,
    state: State,
    /// The current row's key; its first `prefix_len` bytes are the leaf's prefix.
    key: Key,
    prefix_len: usize,
    row: Row,
    keys_only: bool,
    /// Large rows of this generation and before are left unread.
    large_after: Option<u64>,
    /// Leaves walked since the last seek; reading ahead pays from the second on.
    leaves: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    Within,
    After,
}

enum Row {
    None,
    Inside {
        start: usize,
        end: usize,
    },
    Large(Arc<[u8]>),
    /// A large one that is not newer than wanted.
    Old,
}

impl Cursor {
    pub(super) fn new(
        root: Arc<BaseRoot>,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Cursor {
        Cursor {
            root,
            lower: lower.map(Key::from_slice),
            upper: upper.map(Key::from_slice),
            direction,
            path: SmallVec::new(),
            leaf: None,
            next: 0,
            end: 0,
            state: State::Before,
            key: Key::new(),
            prefix_len: 0,
            row: Row::None,
            keys_only: false,
            large_after: None,
            leaves: 0,
        }
    }

    /// Leaves large rows unread; [`Cursor::row`] is then empty for them.
    #[must_use]
    pub fn keys_only(mut self) -> Cursor {
        self.keys_only = true;
        self
    }

    /// Leaves large rows unread that a root of this generation had already; [`Cursor::is_old`] tells them.
    #[must_use]
    pub fn large_after(mut self, generation: u64) -> Cursor {
        self.large_after = Some(generation);
        self
    }

    /// Whether the current row was left unread because an older root has it.
    pub fn is_old(&self) -> bool {
        matches!(self.row, Row::Old)
    }

    /// Continues at `key`: at the first row not before it (forward) or not after it (reverse), inside the range.
    pub fn seek(&mut self, key: &[u8]) {
        let key = Key::from_slice(key);
        match self.direction {
            Direction::Forward => {
                if starts_after(&self.lower, &key) {
                    self.lower = Bound::Included(key);
                }
            }
            Direction::Reverse => {
                if ends_before(&self.upper, &key) {
                    self.upper = Bound::Included(key);
                }
            }
        }
        self.state = State::Before;
    }

    /// Moves to the next row; false at the end.
    #[inline]
    pub fn advance(&mut self) -> Result<bool> {
        if self.state != State::Within && !self.start()? {
            return Ok(false);
        }
        while self.next == self.end {
            if !self.next_leaf()? {
                self.finish();
                return Ok(false);
            }
        }
        let (index, soon) = match self.direction {
            Direction::Forward => {
                self.next += 1;
                (self.next - 1, self.next + ROWS_AHEAD)
            }
            Direction::Reverse => {
                self.end -= 1;
                (self.end, self.end.wrapping_sub(ROWS_AHEAD))
            }
        };
        if let Some(leaf) = &self.leaf {
            leaf.prefetch_row(soon);
        }
        self.load(index)
    }

    #[inline]
    fn load(&mut self, index: usize) -> Result<bool> {
        let Some(leaf) = &self.leaf else { return Ok(false) };
        let (rest, value) = leaf.leaf_row(index);
        self.key.truncate(self.prefix_len);
        key_bytes::append(&mut self.key, rest);
        let start = usize::from(value.start);
        self.row = if !value.overflow {
            Row::Inside { start, end: start + usize::from(value.len) }
        } else if self.keys_only {
            Row::None
        } else if self.large_after.is_some_and(|after| self.is_large_before(leaf.value(value), after)) {
            Row::Old
        } else {
            Row::Large(read_large(&self.root.file, leaf, leaf.value(value))?)
        };
        Ok(true)
    }

    fn is_large_before(&self, descriptor: &[u8], after: u64) -> bool {
        Overflow::decode(descriptor).is_some_and(|large| !self.root.is_newer(large.generation, after))
    }

    /// Key of the current row, tree id included; empty before the first and after the last.
    #[inline]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Bytes of the current row; empty before the first and after the last.
    #[inline]
    pub fn row(&self) -> &[u8] {
        match (&self.row, &self.leaf) {
            (Row::Inside { start, end }, Some(leaf)) => &leaf.bytes()[*start..*end],
            (Row::Large(row), _) => row,
            _ => &[],
        }
    }

    /// The current row, pinned.
    pub fn row_ref(&self) -> Option<RowRef> {
        match (&self.row, &self.leaf) {
            (Row::Inside { start, end }, Some(leaf)) => Some(RowRef::inside(leaf, *start, end - start)),
            (Row::Large(row), _) => Some(RowRef::large(row.clone())),
            _ => None,
        }
    }

    /// [`Cursor::advance`] and the row it found.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        Ok(if self.advance()? { Some((self.key(), self.row())) } else { None })
    }

    fn finish(&mut self) {
        self.state = State::After;
        self.path.clear();
        self.leaf = None;
        self.key.clear();
        self.prefix_len = 0;
        self.row = Row::None;
    }

    /// Finds the first leaf of the walk; false when there is nothing to walk.
    fn start(&mut self) -> Result<bool> {
        let root = self.root.clone();
        let Some(page) = (if self.state == State::Before { root.page.clone() } else { None }) else {
            self.finish();
            return Ok(false);
        };
        self.path.clear();
        self.leaves = 0;
        self.state = State::Within;
        self.descend(page, root.tree.height - 1, true)?;
        Ok(true)
    }

    /// Goes down to a leaf from a page of `level`: towards the near bound, or along the edge of the subtree.
    fn descend(&mut self, mut page: PagePin, mut level: u32, to_bound: bool) -> Result<()> {
        while level > 0 {
            let near = match self.direction {
                Direction::Forward => &self.lower,
                Direction::Reverse => &self.upper,
            };
            let index = match (near, self.direction) {
                (Bound::Included(key) | Bound::Excluded(key), _) if to_bound => page.child_index(key),
                (_, Direction::Forward) => 0,
                (_, Direction::Reverse) => page.len() - 1,
            };
            level -= 1;
            let child = page.child(index);
            if level == 0 {
                self.read_ahead(&page, index);
            }
            let next = if level == 0 {
                self.root.file.tree_page(child, 0)?
            } else {
                match self.root.file.inner_child(&page, index, level + 1)? {
                    Found::Kept(child) => child.clone(),
                    Found::Own(child) => child,
                }
            };
            self.path.push((page, index));
            page = next;
        }
        self.enter(page);
        Ok(())
    }

    /// Makes `leaf` the current one and finds which of its rows are in the range.
    fn enter(&mut self, leaf: PagePin) {
        self.next = match &self.lower {
            Bound::Unbounded => 0,
            Bound::Included(key) => leaf.find(key).unwrap_or_else(|i| i),
            Bound::Excluded(key) => leaf.find(key).map_or_else(|i| i, |i| i + 1),
        };
        let end = match &self.upper {
            Bound::Unbounded => leaf.len(),
            Bound::Included(key) => leaf.find(key).map_or_else(|i| i, |i| i + 1),
            Bound::Excluded(key) => leaf.find(key).unwrap_or_else(|i| i),
        };
        self.end = end.max(self.next);
        key_bytes::assign(&mut self.key, leaf.prefix());
        self.prefix_len = self.key.len();
        self.leaves += 1;
        self.leaf = Some(leaf);
    }

    /// Goes on to the leaf after the current one; false at the end of the range.
    fn next_leaf(&mut self) -> Result<bool> {
        if self.is_past_far_bound() {
            return Ok(false);
        }
        while let Some((page, index)) = self.path.pop() {
            let next = match self.direction {
                Direction::Forward if index + 1 < page.len() => index + 1,
                Direction::Reverse if index > 0 => index - 1,
                _ => continue,
            };
            let level = page.level() - 1;
            let child = page.child(next);
            if level == 0 {
                self.read_ahead(&page, next);
            }
            self.path.push((page, next));
            let page = self.root.file.tree_page(child, level)?;
            self.descend(page, level, false)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether the current leaf already reaches beyond the far end of the range.
    fn is_past_far_bound(&self) -> bool {
        let Some(leaf) = &self.leaf else { return true };
        match self.direction {
            Direction::Forward => self.end < leaf.len(),
            Direction::Reverse => self.next > 0,
        }
    }

    /// When a leaf is missing from the cache and its successors lie behind it in the file, fetches them together.
    fn read_ahead(&self, parent: &Page, index: usize) {
        if self.leaves == 0 || self.root.file.is_cached(parent.child(index)) {
            return;
        }
        let mut run: SmallVec<[PageRef; READ_AHEAD]> = SmallVec::new();
        run.push(parent.child(index));
        let neighbour = |step: usize| match self.direction {
            Direction::Forward => Some(index + step).filter(|&i| i < parent.len()),
            Direction::Reverse => index.checked_sub(step),
        };
        for step in 1..READ_AHEAD {
            let Some(at) = neighbour(step).map(|i| parent.child(i)) else { break };
            let expected = match self.direction {
                Direction::Forward => run[0].page.checked_add(step as u32),
                Direction::Reverse => run[0].page.checked_sub(step as u32),
            };
            if expected != Some(at.page) {
                break;
            }
            run.push(at);
        }
        if self.direction == Direction::Reverse {
            run.reverse();
        }
        if run.len() > 1 {
            self.root.file.read_ahead(&run);
        }
    }
}

fn starts_after(lower: &Bound<Key>, key: &Key) -> bool {
    match lower {
        Bound::Unbounded => true,
        Bound::Included(bound) | Bound::Excluded(bound) => key > bound,
    }
}

fn ends_before(upper: &Bound<Key>, key: &Key) -> bool {
    match upper {
        Bound::Unbounded => true,
        Bound::Included(bound) | Bound::Excluded(bound) => key < bound,
    }
}
