//! Rewriting the part of the tree that changes touch: one chunk of a merge, or the removal of a key range.
//!
//! The walk goes down from the root, left to right, once. A child whose key range no change falls into is taken
//! over as it is; a touched one is replaced by the pages its new contents make, however many (none included).
//! Contents of neighbours are joined when deletions leave too little. Where nothing is left of a leaf, the next one is written
//! anew, which then covers its range too: a leaf that is kept has kept its range's rows. Each level hands its list of children to the
//! level above, and a list too long for one root makes the tree higher.
//!
//! ```text
//! rewrite(level 2) ── for each child: untouched ──► entry kept
//!                          │ touched
//!                          ▼
//!                     rewrite(level 1) ── for each leaf: untouched ──► entry kept
//!                          │                    │ touched: old rows + changes ──► LeafSink ──► new leaves
//!                          ▼                    ▼
//!                     entries of new inner pages ◄── entries of new leaves
//! ```

use std::sync::Arc;

use super::file::PageFile;
use super::frame::PagePin;
use super::leaf_sink::{LeafSink, read_leaf};
use super::options::{Change, FoldFn, Folded};
use super::page::{BODY, Entry, LEAF_CELL, Overflow, Page, PageRef, Rows, inner_size};
use super::writer::ChunkWriter;
use super::{BaseError, KEY_BYTES_MAX, PAGE_SIZE, Result};

/// Inner pages that shrank below this are joined with a neighbour.
const UNDERFULL: usize = PAGE_SIZE / 3;
/// Bytes an inner page is filled to when one page does not suffice.
const FILL: usize = PAGE_SIZE * 9 / 10;

/// Bytes by which equal shares are exceeded rather than leave a few entries for one more page.
const SLACK: usize = 256;

/// A tree's root as the superblock names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeRoot {
    pub at: PageRef,
    /// Levels, leaves included.
    pub height: u32,
    pub rows: Rows,
}

/// How an edit concerns the key range of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    Not,
    Part,
    /// Everything under it goes.
    Whole,
}

/// What is done to the tree.
pub(super) trait Edit {
    /// Whether keys from `lower` on, below `upper`, are concerned. Asked in ascending order.
    fn touch(&mut self, lower: &[u8], upper: Option<&[u8]>, out: &ChunkWriter<'_>) -> Touch;

    /// The same of a leaf that is there, for an edit that looks at pages and not at keys alone.
    fn touch_leaf(&mut self, leaf: &Entry, upper: Option<&[u8]>, out: &ChunkWriter<'_>) -> Touch {
        self.touch(&leaf.key, upper, out)
    }

    /// Moves the rows of an old leaf (none in an empty tree) and whatever is new below `upper` into the sink.
    fn leaf(
        &mut self,
        old: Option<(&PagePin, bool)>,
        upper: Option<&[u8]>,
        sink: &mut LeafSink,
        out: &mut ChunkWriter<'_>,
        leaves: &mut Vec<Entry>,
    ) -> Result<()>;
}

/// Applies an edit to a whole tree.
pub(super) fn rewrite_tree(
    root: TreeRoot,
    edit: &mut dyn Edit,
    out: &mut ChunkWriter<'_>,
) -> Result<TreeRoot> {
    let mut level = root.height.saturating_sub(1);
    let children = if root.at.is_none() {
        Vec::new()
    } else {
        vec![Entry { key: Default::default(), child: root.at, rows: root.rows }]
    };
    let mut rewrite = Rewrite { edit, out, sink: LeafSink::default() };
    let mut entries = rewrite.children(level, children, None)?;
    while entries.len() > 1 {
        level += 1;
        let mut above = Vec::new();
        rewrite.write_inner(level, entries, &mut above)?;
        entries = above;
    }
    let Some(top) = entries.pop() else { return Ok(TreeRoot::default()) };
    let (mut at, rows) = (top.child, top.rows);
    while level > 0 {
        let page = rewrite.read_inner(at, level)?;
        if page.len() > 1 {
            break;
        }
        rewrite.out.free(at);
        at = page.child(0);
        level -= 1;
    }
    Ok(TreeRoot { at, height: level + 1, rows })
}

struct Rewrite<'r, 'w> {
    edit: &'r mut dyn Edit,
    out: &'r mut ChunkWriter<'w>,
    sink: LeafSink,
}

impl Rewrite<'_, '_> {
    /// New entries for the children of one node (pages of `level`), whose key range ends at `upper`.
    fn children(&mut self, level: u32, old: Vec<Entry>, upper: Option<&[u8]>) -> Result<Vec<Entry>> {
        if level == 0 { self.leaves(old, upper) } else { self.inner_children(level, old, upper) }
    }

    fn leaves(&mut self, old: Vec<Entry>, upper: Option<&[u8]>) -> Result<Vec<Entry>> {
        let mut new = Vec::with_capacity(old.len());
        if old.is_empty() && self.edit.touch(&[], None, self.out) != Touch::Not {
            self.sink.begin(&[]);
            self.edit.leaf(None, upper, &mut self.sink, self.out, &mut new)?;
        }
        for (index, entry) in old.iter().enumerate() {
            let end = old.get(index + 1).map(|next| &next.key[..]).or(upper);
            let touch = self.edit.touch_leaf(entry, end, self.out);
            if touch == Touch::Whole {
                self.free_tree(entry, 0)?;
                self.sink.begin(&entry.key);
                continue;
            }
            if touch == Touch::Not && !self.sink.wants_neighbour() {
                self.sink.finish(self.out, &mut new)?;
                new.push(entry.clone());
                continue;
            }
            let (page, cached) = read_leaf(self.out, entry.child)?;
            self.out.free(entry.child);
            self.sink.begin(&entry.key);
            if touch == Touch::Part {
                self.edit.leaf(Some((&page, cached)), end, &mut self.sink, self.out, &mut new)?;
            } else {
                let source = self.sink.source(&page, cached);
                self.sink.keep(source, 0..page.len());
            }
            if !self.sink.wants_neighbour() {
                self.sink.finish(self.out, &mut new)?;
            }
        }
        if self.sink.wants_neighbour()
            && let Some(left) = new.pop()
        {
            let (page, cached) = read_leaf(self.out, left.child)?;
            self.out.free(left.child);
            self.sink.absorb_left(&page, cached, &left.key);
        }
        self.sink.finish(self.out, &mut new)?;
        Ok(new)
    }

    fn inner_children(&mut self, level: u32, old: Vec<Entry>, upper: Option<&[u8]>) -> Result<Vec<Entry>> {
        let mut new = Vec::with_capacity(old.len());
        let mut pending: Vec<Entry> = Vec::new();
        let mut shrunk = false;
        for (index, entry) in old.iter().enumerate() {
            let end = old.get(index + 1).map(|next| &next.key[..]).or(upper);
            let touch = self.edit.touch(&entry.key, end, self.out);
            if touch == Touch::Whole {
                self.free_tree(entry, level)?;
                self.sink.begin(&entry.key);
                continue;
            }
            let wanting = shrunk && !pending.is_empty() && inner_size(&pending) < UNDERFULL;
            let covers = self.sink.has_vanished();
            if touch == Touch::Not && !wanting && !covers {
                self.write_inner(level, std::mem::take(&mut pending), &mut new)?;
                shrunk = false;
                new.push(entry.clone());
                continue;
            }
            let page = self.read_inner(entry.child, level)?;
            self.out.free(entry.child);
            let mut contents = entries_of(&page, &entry.key);
            if touch == Touch::Part || covers {
                let before = contents.len();
                contents = self.children(level - 1, contents, end)?;
                shrunk |= contents.len() < before;
            }
            pending.append(&mut contents);
            if !shrunk || pending.is_empty() || inner_size(&pending) >= UNDERFULL {
                self.write_inner(level, std::mem::take(&mut pending), &mut new)?;
                shrunk = false;
            }
        }
        if !pending.is_empty()
            && let Some(left) = new.pop()
        {
            let page = self.read_inner(left.child, level)?;
            self.out.free(left.child);
            let mut joined = entries_of(&page, &left.key);
            joined.append(&mut pending);
            pending = joined;
        }
        self.write_inner(level, pending, &mut new)?;
        Ok(new)
    }

    fn read_inner(&mut self, at: PageRef, level: u32) -> Result<PagePin> {
        self.out.settle(at)?;
        Ok(self.out.file.tree_page_in_passing(at, level)?.0)
    }

    /// Writes entries as pages of `level`: one if they fit, else as few as leave room in each, of equal size.
    fn write_inner(&mut self, level: u32, entries: Vec<Entry>, above: &mut Vec<Entry>) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let size = inner_size(&entries);
        let pages = if size <= PAGE_SIZE { 1 } else { size.div_ceil(FILL) };
        let share = size.div_ceil(pages);
        let mut rest = &entries[..];
        while !rest.is_empty() {
            let count = fitting(rest, if pages == 1 { PAGE_SIZE } else { (share + SLACK).min(PAGE_SIZE) });
            let (page, after) = rest.split_at(count);
            let child = self.out.inner(level, page)?;
            let mut rows = Rows::default();
            page.iter().for_each(|entry| rows.add(entry.rows));
            above.push(Entry { key: page[0].key.clone(), child, rows });
            rest = after;
        }
        Ok(())
    }

    /// Frees every page under an entry. Leaves are only read when rows under them have pages of their own.
    fn free_tree(&mut self, entry: &Entry, level: u32) -> Result<()> {
        self.out.free(entry.child);
        if level == 0 && entry.rows.overflow {
            let (page, _) = read_leaf(self.out, entry.child)?;
            for index in 0..page.len() {
                free_row(&page, index, self.out)?;
            }
        }
        if level == 1 && !entry.rows.overflow {
            let page = self.read_inner(entry.child, 1)?;
            (0..page.len()).for_each(|index| self.out.free(page.child(index)));
        } else if level > 0 {
            let page = self.read_inner(entry.child, level)?;
            for child in entries_of(&page, &entry.key) {
                self.free_tree(&child, level - 1)?;
            }
        }
        Ok(())
    }
}

/// How many entries from the front fit a page of `limit` bytes; two at least (they always fit), or the only one.
fn fitting(entries: &[Entry], limit: usize) -> usize {
    let mut count = entries.len().min(2);
    let mut sum: usize = entries[..count].iter().skip(1).map(|e| e.key.len()).sum();
    while let Some(next) = entries.get(count) {
        sum += next.key.len();
        let shared = super::page::common_prefix(&entries[1].key, &next.key);
        let size =
            super::page::INNER_FIXED + super::page::INNER_ENTRY * (count + 1) + sum - shared * (count - 1);
        if size > limit {
            break;
        }
        count += 1;
    }
    // A last page with a single child is legal but wasteful; take it along when the page has room.
    if entries.len() - count == 1 && inner_size(entries) <= PAGE_SIZE { entries.len() } else { count }
}

/// The children of an inner page; the first one's bound is the page's own.
pub(super) fn entries_of(page: &Page, lower: &[u8]) -> Vec<Entry> {
    let prefix = page.prefix();
    let entry = |index| {
        let mut key = smallvec::SmallVec::new();
        if index == 0 {
            key.extend_from_slice(lower);
        } else {
            key.extend_from_slice(prefix);
            key.extend_from_slice(page.separator_rest(index));
        }
        Entry { key, child: page.child(index), rows: page.child_rows(index) }
    };
    (0..page.len()).map(entry).collect()
}

/// Frees the overflow pages of a leaf row, if it has any.
fn free_row(page: &Page, index: usize, out: &mut ChunkWriter<'_>) -> Result<()> {
    let (_, value) = page.leaf_row(index);
    if value.overflow {
        let overflow = Overflow::decode(page.value(value))
            .ok_or_else(|| out.file.corrupt(page.id(), "an overflow descriptor is malformed"))?;
        out.free_overflow(&overflow);
    }
    Ok(())
}

/// Sorted changes, consumed chunk by chunk.
pub(super) struct Changes<'a, I, K, V> {
    input: I,
    next: Option<(K, Change<V>)>,
    fold: Option<&'a FoldFn<'a>>,
    /// Pages after which the chunk takes no further changes.
    chunk_pages: u64,
    pub consumed: u64,
    folded: Vec<u8>,
    descriptor: Vec<u8>,
}

impl<'a, I, K, V> Changes<'a, I, K, V>
where
    I: Iterator<Item = (K, Change<V>)>,
    K: AsRef<[u8]>,
    V: AsRef<[u8]>,
{
    pub fn new(mut input: I, fold: Option<&'a FoldFn<'a>>, chunk_bytes: usize) -> Self {
        let next = input.next();
        let chunk_pages = (chunk_bytes / PAGE_SIZE).max(1) as u64;
        let (folded, descriptor) = (Vec::new(), Vec::new());
        Changes { input, next, fold, chunk_pages, consumed: 0, folded, descriptor }
    }

    /// Whether every change has been consumed.
    pub fn is_exhausted(&self) -> bool {
        self.next.is_none()
    }

    /// The next change below `upper`, unless the chunk is full.
    fn peek(&self, upper: Option<&[u8]>, pages_written: u64) -> Option<&(K, Change<V>)> {
        let next = self.next.as_ref()?;
        let below = upper.is_none_or(|upper| next.0.as_ref() < upper);
        (below && pages_written < self.chunk_pages).then_some(next)
    }

    fn take(&mut self) -> Result<Option<(K, Change<V>)>> {
        let taken = std::mem::replace(&mut self.next, self.input.next());
        self.consumed += 1;
        if let (Some((key, _)), Some((next, _))) = (&taken, &self.next)
            && key.as_ref() >= next.as_ref()
        {
            return Err(BaseError::Input("keys are not in strictly ascending order"));
        }
        Ok(taken)
    }

    /// Applies one change. `old` is the row it finds.
    fn apply(
        &mut self,
        key: &[u8],
        change: &Change<V>,
        old: Option<(&Page, usize)>,
        sink: &mut LeafSink,
        out: &mut ChunkWriter<'_>,
    ) -> Result<()> {
        if key.len() > KEY_BYTES_MAX {
            return Err(BaseError::Input("a key is longer than the format allows"));
        }
        let inserted = old.is_none();
        match change {
            Change::Put(row) => put(key, row.as_ref(), inserted, &mut self.descriptor, sink, out)?,
            Change::Delete => {}
            Change::Fold(patch) => {
                let fold = self.fold.ok_or(BaseError::Input("a Fold without a fold function"))?;
                self.folded.clear();
                let row = match old {
                    Some((page, index)) => Some(row_bytes(page, index, out)?),
                    None => None,
                };
                match fold(key, row.as_deref(), patch.as_ref(), &mut self.folded) {
                    Folded::Row => put(key, &self.folded, inserted, &mut self.descriptor, sink, out)?,
                    Folded::Gone => {}
                    Folded::Damaged => {
                        let page = old.map_or(0, |(page, _)| page.id());
                        return Err(out.file.corrupt(page, "a row does not hold the columns that it says"));
                    }
                }
            }
        }
        match old {
            Some((page, index)) => free_row(page, index, out),
            None => Ok(()),
        }
    }
}

fn put(
    key: &[u8],
    row: &[u8],
    inserted: bool,
    descriptor: &mut Vec<u8>,
    sink: &mut LeafSink,
    out: &mut ChunkWriter<'_>,
) -> Result<()> {
    if LEAF_CELL + key.len() + row.len() <= BODY {
        sink.put(key, row, false, inserted);
    } else {
        descriptor.clear();
        out.overflow(row)?.encode(descriptor);
        sink.put(key, descriptor, true, inserted);
    }
    Ok(())
}

/// An old row's bytes, wherever they are.
fn row_bytes<'p>(
    page: &'p Page,
    index: usize,
    out: &mut ChunkWriter<'_>,
) -> Result<std::borrow::Cow<'p, [u8]>> {
    let (_, value) = page.leaf_row(index);
    let bytes = page.value(value);
    if !value.overflow {
        return Ok(bytes.into());
    }
    Ok(read_large(out.file, page, bytes)?.to_vec().into())
}

/// The large row a descriptor on `page` names.
pub(super) fn read_large(file: &PageFile, page: &Page, descriptor: &[u8]) -> Result<Arc<[u8]>> {
    let overflow = Overflow::decode(descriptor)
        .ok_or_else(|| file.corrupt(page.id(), "an overflow descriptor is malformed"))?;
    file.read_overflow(&overflow)
}

impl<I, K, V> Edit for Changes<'_, I, K, V>
where
    I: Iterator<Item = (K, Change<V>)>,
    K: AsRef<[u8]>,
    V: AsRef<[u8]>,
{
    fn touch(&mut self, _lower: &[u8], upper: Option<&[u8]>, out: &ChunkWriter<'_>) -> Touch {
        if self.peek(upper, out.pages_written).is_some() { Touch::Part } else { Touch::Not }
    }

    fn leaf(
        &mut self,
        old: Option<(&PagePin, bool)>,
        upper: Option<&[u8]>,
        sink: &mut LeafSink,
        out: &mut ChunkWriter<'_>,
        leaves: &mut Vec<Entry>,
    ) -> Result<()> {
        let before = sink.bytes();
        let (mut at, mut kept_bytes) = (0, 0);
        let source = old.map(|(page, cached)| (page, sink.source(page, cached)));
        if let Some((page, _)) = source {
            kept_bytes = page.row_bytes();
        }
        let mut spilled = false;
        while let Some((key, _)) = self.peek(upper, out.pages_written) {
            let mut found = None;
            if let Some((page, source)) = source
                && at < page.len()
            {
                let place = page.find(key.as_ref());
                let upto = place.unwrap_or_else(|i| i).max(at);
                sink.keep(source, at..upto);
                at = upto;
                if place.is_ok() {
                    found = Some((&**page, at));
                    at += 1;
                }
            }
            let Some((key, change)) = self.take()? else { break };
            self.apply(key.as_ref(), &change, found, sink, out)?;
            let full = sink.bytes();
            sink.spill(out, leaves)?;
            spilled |= sink.bytes() < full;
        }
        if let Some((page, source)) = source {
            sink.keep(source, at..page.len());
        }
        sink.shrunk |= !spilled && sink.bytes() - before < kept_bytes;
        Ok(())
    }
}

/// Removal of all keys from `lower` on, below `upper`.
pub(super) struct DropRange {
    pub lower: Vec<u8>,
    pub upper: Option<Vec<u8>>,
}

impl Edit for DropRange {
    fn touch(&mut self, lower: &[u8], upper: Option<&[u8]>, _out: &ChunkWriter<'_>) -> Touch {
        let starts_before_end = self.upper.as_deref().is_none_or(|end| lower < end);
        let ends_after_start = upper.is_none_or(|upper| upper > &self.lower[..]);
        if !starts_before_end || !ends_after_start {
            return Touch::Not;
        }
        let ends_inside = match (upper, self.upper.as_deref()) {
            (_, None) => true,
            (Some(upper), Some(end)) => upper <= end,
            (None, Some(_)) => false,
        };
        if lower >= &self.lower[..] && ends_inside { Touch::Whole } else { Touch::Part }
    }

    fn leaf(
        &mut self,
        old: Option<(&PagePin, bool)>,
        _upper: Option<&[u8]>,
        sink: &mut LeafSink,
        out: &mut ChunkWriter<'_>,
        _leaves: &mut Vec<Entry>,
    ) -> Result<()> {
        let Some((page, cached)) = old else { return Ok(()) };
        let first = page.find(&self.lower).unwrap_or_else(|i| i);
        let end = self.upper.as_ref().map_or(page.len(), |upper| page.find(upper).unwrap_or_else(|i| i));
        let end = end.max(first);
        for index in first..end {
            free_row(page, index, out)?;
        }
        let source = sink.source(page, cached);
        sink.keep(source, 0..first);
        sink.keep(source, end..page.len());
        sink.shrunk |= first < end;
        Ok(())
    }
}
