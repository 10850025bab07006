//! A published root: the immutable picture that readers hold.

use std::ops::{Bound, Deref};
use std::sync::Arc;

use keel_base::Lsn;

use super::Result;
use super::cursor::Cursor;
use super::file::{Found, PageFile};
use super::frame::PagePin;
use super::merge::{TreeRoot, read_large};
use super::options::{BaseStats, Direction};
use super::page::Page;
use super::superblock::Superblock;

/// A row pinned in memory. Dereferences to its bytes.
#[derive(Clone)]
pub struct RowRef(Pinned);

#[derive(Clone)]
enum Pinned {
    Inside { page: PagePin, start: u16, len: u16 },
    Large(Arc<[u8]>),
}

impl Deref for RowRef {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Pinned::Inside { page, start, len } => &page.bytes()[usize::from(*start)..][..usize::from(*len)],
            Pinned::Large(row) => row,
        }
    }
}

impl std::fmt::Debug for RowRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowRef({} bytes)", self.len())
    }
}

impl RowRef {
    /// Row `index` of a leaf.
    pub(super) fn of_leaf(file: &PageFile, page: &PagePin, index: usize) -> Result<RowRef> {
        let (_, value) = page.leaf_row(index);
        if value.overflow {
            return Ok(RowRef::large(read_large(file, page, page.value(value))?));
        }
        Ok(RowRef(Pinned::Inside { page: page.clone(), start: value.start, len: value.len }))
    }

    /// Bytes of a page that the caller found to be a row.
    pub(super) fn inside(page: &PagePin, start: usize, len: usize) -> RowRef {
        RowRef(Pinned::Inside { page: page.clone(), start: start as u16, len: len as u16 })
    }

    pub(super) fn large(row: Arc<[u8]>) -> RowRef {
        RowRef(Pinned::Large(row))
    }
}

/// An immutable picture of the whole tree. While it lives, none of its pages is reused.
// Apart from the counts of its references, which all sessions write to.
#[repr(align(128))]
pub struct BaseRoot {
    pub(super) file: Arc<PageFile>,
    pub(super) tree: TreeRoot,
    /// The root page itself; none in an empty tree.
    pub(super) page: Option<PagePin>,
    pub(super) generation: u64,
    checkpoint_lsn: Lsn,
    highest_lsn: Lsn,
    meta: Vec<u8>,
    file_pages: u32,
    used_pages: u32,
}

impl BaseRoot {
    /// The root a superblock names; reads the root page.
    pub(super) fn new(file: &Arc<PageFile>, superblock: &Superblock) -> Result<BaseRoot> {
        let tree = TreeRoot { at: superblock.root, height: superblock.height, rows: superblock.rows };
        let page = if tree.at.is_none() {
            None
        } else {
            Some(file.tree_page(tree.at, tree.height.saturating_sub(1))?)
        };
        Ok(BaseRoot {
            file: file.clone(),
            tree,
            page,
            generation: superblock.generation,
            checkpoint_lsn: superblock.checkpoint_lsn,
            highest_lsn: superblock.highest_lsn,
            meta: superblock.meta.clone(),
            file_pages: superblock.pages,
            used_pages: superblock.used_pages,
        })
    }

    /// The row under `key` (tree id included).
    pub fn get(&self, key: &[u8]) -> Result<Option<RowRef>> {
        let Some(leaf) = self.leaf_of(key)? else { return Ok(None) };
        match leaf.find(key) {
            Ok(index) => RowRef::of_leaf(&self.file, &leaf, index).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Whether the page that `key` belongs to is the same one in `other`: no row on it differs.
    pub fn shares_leaf(&self, other: &BaseRoot, key: &[u8]) -> Result<bool> {
        let leaf = |root: &BaseRoot| Ok(root.leaf_of(key)?.map(|leaf| leaf.reference()));
        Ok(self.generation == other.generation || leaf(self)? == leaf(other)?)
    }

    /// Whether a row is under `key`.
    pub fn contains(&self, key: &[u8]) -> Result<bool> {
        Ok(self.leaf_of(key)?.is_some_and(|leaf| leaf.find(key).is_ok()))
    }

    fn leaf_of(&self, key: &[u8]) -> Result<Option<PagePin>> {
        let Some(mut page) = self.page.as_ref() else { return Ok(None) };
        let mut level = self.tree.height - 1;
        if level == 0 {
            return Ok(Some(page.clone()));
        }
        while level > 1 {
            match self.file.inner_child(page, page.child_index(key), level)? {
                Found::Kept(child) => page = child,
                Found::Own(child) => return self.leaf_below(child, level - 1, key).map(Some),
            }
            level -= 1;
        }
        self.file.tree_page(page.child(page.child_index(key)), 0).map(Some)
    }

    /// The rest of a search below a page that its parent does not keep.
    fn leaf_below(&self, mut page: PagePin, mut level: u32, key: &[u8]) -> Result<PagePin> {
        while level > 0 {
            level -= 1;
            page = self.file.tree_page(page.child(page.child_index(key)), level)?;
        }
        Ok(page)
    }

    /// A cursor before the first row of the range.
    pub fn scan(self: &Arc<Self>, lower: Bound<&[u8]>, upper: Bound<&[u8]>, direction: Direction) -> Cursor {
        Cursor::new(self.clone(), lower, upper, direction)
    }

    /// Number of rows in the range, exact but for the two leaves at its ends, which are only looked into when they
    /// are cached.
    pub fn approximate_count(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<u64> {
        let from = match lower {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.rows_before(key, false)?,
            Bound::Excluded(key) => self.rows_before(key, true)?,
        };
        let to = match upper {
            Bound::Unbounded => self.tree.rows.count,
            Bound::Included(key) => self.rows_before(key, true)?,
            Bound::Excluded(key) => self.rows_before(key, false)?,
        };
        Ok(to.saturating_sub(from))
    }

    fn rows_before(&self, key: &[u8], inclusive: bool) -> Result<u64> {
        let Some(root) = &self.page else { return Ok(0) };
        let (mut page, mut level, mut rows) = (root.clone(), self.tree.height - 1, 0);
        while level > 0 {
            let index = page.child_index(key);
            rows += (0..index).map(|i| page.child_rows(i).count).sum::<u64>();
            level -= 1;
            let child = page.child(index);
            if level == 0 && !self.file.is_cached(child) {
                return Ok(rows + page.child_rows(index).count / 2);
            }
            page = self.file.tree_page(child, level)?;
        }
        Ok(rows
            + match page.find(key) {
                Ok(index) => index + usize::from(inclusive),
                Err(index) => index,
            } as u64)
    }

    /// Up to `parts - 1` ascending keys that cut the tree into parts of about equal size; fewer when it is small.
    pub fn split_points(&self, parts: usize) -> Vec<Vec<u8>> {
        let Some(page) = self.page.as_ref().filter(|_| self.tree.height > 1) else { return Vec::new() };
        let parts = parts.min(page.len());
        let separator = |index: usize| [page.prefix(), page.separator_rest(index)].concat();
        (1..parts).map(|part| separator(part * page.len() / parts)).collect()
    }

    /// Ascending keys that cut a range into parts of about equal size: at least `parts` of them where the range has as many leaves, and
    /// many more where one level of inner pages knows more. Leaves are not read.
    pub fn separators(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>, parts: usize) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        let Some(root) = &self.page else { return Ok(found) };
        for depth in 0..self.tree.height.saturating_sub(1) {
            found.clear();
            self.separators_under(root, (lower, upper), depth, &mut found)?;
            if found.len() + 1 >= parts {
                break;
            }
        }
        Ok(found)
    }

    fn separators_under(
        &self,
        page: &Page,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        depth: u32,
        found: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        let child_of = |bound, unbounded| match bound {
            Bound::Unbounded => unbounded,
            Bound::Included(key) | Bound::Excluded(key) => page.child_index(key),
        };
        let first = child_of(lower, 0);
        for index in first..=child_of(upper, page.len() - 1) {
            if index > first {
                found.push([page.prefix(), page.separator_rest(index)].concat());
            }
            if depth > 0 {
                let child = self.file.tree_page(page.child(index), page.level() - 1)?;
                self.separators_under(&child, (lower, upper), depth - 1, found)?;
            }
        }
        Ok(())
    }

    /// Number of leaf pages in the range, for costing scans and reporting table sizes. Overflow pages are not
    /// counted.
    pub fn approximate_leaf_pages(&self, lower: &[u8], upper: Option<&[u8]>) -> Result<u64> {
        let Some(root) = &self.page else { return Ok(0) };
        if self.tree.height == 1 {
            return Ok(1);
        }
        self.leaf_pages_under(root, self.tree.height - 1, lower, upper)
    }

    fn leaf_pages_under(&self, page: &Page, level: u32, lower: &[u8], upper: Option<&[u8]>) -> Result<u64> {
        let first = page.child_index(lower);
        let last = upper.map_or(page.len() - 1, |upper| page.child_index(upper));
        if level == 1 {
            return Ok((last.saturating_sub(first) + 1) as u64);
        }
        let mut pages = 0;
        for index in first..=last {
            let child = self.file.tree_page(page.child(index), level - 1)?;
            pages += self.leaf_pages_under(&child, level - 1, lower, upper)?;
        }
        Ok(pages)
    }

    /// The checkpoint LSN: every change before it is in this root.
    pub fn checkpoint_lsn(&self) -> Lsn {
        self.checkpoint_lsn
    }

    /// No row of this root is newer than this.
    pub fn highest_lsn(&self) -> Lsn {
        self.highest_lsn
    }

    /// The opaque metadata of the layer above.
    pub fn meta(&self) -> &[u8] {
        &self.meta
    }

    /// Number of this publication; grows by one with each.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Shape and size.
    pub fn stats(&self) -> BaseStats {
        BaseStats {
            rows: self.tree.rows.count,
            height: self.tree.height,
            file_pages: u64::from(self.file_pages),
            used_pages: u64::from(self.used_pages),
        }
    }
}
