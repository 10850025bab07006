//! Rows on their way into new leaves: collected in key order, cut into pages, written.
//!
//! The sink holds descriptors; a row that stays is copied once, from the old page to the new. It is filled with
//! the rows of one old leaf (or of neighbours, when leaves merge) and the changes that fall into its key range,
//! however many. Where it is cut:
//!
//! * what fits one page stays one page;
//! * a long stream is cut at [`FILL`], leaving room for rows that grow;
//! * a leaf that overflowed because of rows appended behind its last one, or a burst at one place, is cut so that
//!   the next burst continues in a page of its own: ranges that only grow at their end fill their pages;
//! * any other leaf is halved.

use super::frame::PagePin;
use super::page::{self, Entry, HEADER, LEAF_CELL, LeafCell, PageRef, Rows, common_prefix};
use super::writer::{ChunkWriter, Heat};
use super::{PAGE_SIZE, Result};

/// Bytes a page of a long stream is filled to: nine tenths.
const FILL: usize = PAGE_SIZE * 9 / 10;
/// Leaves that shrank below this are joined with a neighbour.
const UNDERFULL: usize = PAGE_SIZE / 3;
/// Bytes collected before full pages are written.
const SPILL: usize = 32 * PAGE_SIZE;
/// A stream keeps this much back, so that its last pages can be balanced.
const KEEP: usize = 3 * PAGE_SIZE;
/// A burst of at least this many inserted rows in a row is taken for the growing end of a range.
const BURST_MIN: usize = 3;

/// Source number of values that the sink holds itself.
const OWN: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Cell {
    key_at: u32,
    key_len: u16,
    value_len: u16,
    value_at: u32,
    source: u32,
    overflow: bool,
    inserted: bool,
}

impl Cell {
    fn size(&self) -> usize {
        LEAF_CELL + usize::from(self.key_len) + usize::from(self.value_len)
    }
}

/// Collected rows.
#[derive(Default)]
pub(super) struct LeafSink {
    keys: Vec<u8>,
    values: Vec<u8>,
    pages: Vec<PagePin>,
    cells: Vec<Cell>,
    /// Sum of cell sizes, without what prefixes save.
    bytes: usize,
    /// Smallest key that may be in the first leaf written next.
    lower: Vec<u8>,
    warm: bool,
    /// A range was begun that no leaf has been written for.
    open: bool,
    /// Whether the key range holds fewer bytes than before.
    pub shrunk: bool,
}

impl LeafSink {
    /// Whether rows are held that should be joined with a neighbour's, or a range is left to it.
    pub fn wants_neighbour(&self) -> bool {
        self.has_vanished() || self.shrunk && self.bytes < UNDERFULL && !self.cells.is_empty()
    }

    /// Nothing is left in the range that was begun. The leaf that is to cover it is written anew, though its rows stay: a leaf
    /// that is as old as it was says that nothing in its range has changed ([`super::changed`]).
    pub fn has_vanished(&self) -> bool {
        self.open && self.cells.is_empty()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Says which key range the following rows come from; only the first range since the last `finish` counts.
    pub fn begin(&mut self, lower: &[u8]) {
        if !self.open {
            self.lower.clear();
            self.lower.extend_from_slice(lower);
            self.open = true;
        }
    }

    /// Names an old page whose rows will be pushed; `cached` when sessions use it.
    pub fn source(&mut self, page: &PagePin, cached: bool) -> u32 {
        self.warm |= cached;
        self.pages.push(page.clone());
        self.pages.len() as u32 - 1
    }

    /// Keeps rows `range` of a source.
    pub fn keep(&mut self, source: u32, range: std::ops::Range<usize>) {
        let LeafSink { keys, pages, cells, bytes, .. } = self;
        let page = &pages[source as usize];
        let prefix = page.prefix();
        for index in range {
            let (rest, value) = page.leaf_row(index);
            let key_at = keys.len() as u32;
            keys.extend_from_slice(prefix);
            keys.extend_from_slice(rest);
            let cell = Cell {
                key_at,
                key_len: (prefix.len() + rest.len()) as u16,
                value_len: value.len,
                value_at: u32::from(value.start),
                source,
                overflow: value.overflow,
                inserted: false,
            };
            *bytes += cell.size();
            cells.push(cell);
        }
    }

    /// Adds a new row, or an overflow descriptor; `inserted` when its key is new.
    pub fn put(&mut self, key: &[u8], value: &[u8], overflow: bool, inserted: bool) {
        let cell = Cell {
            key_at: self.keys.len() as u32,
            key_len: key.len() as u16,
            value_len: value.len() as u16,
            value_at: self.values.len() as u32,
            source: OWN,
            overflow,
            inserted,
        };
        self.keys.extend_from_slice(key);
        self.values.extend_from_slice(value);
        self.bytes += cell.size();
        self.cells.push(cell);
    }

    /// Puts the rows of the left neighbour before what is held.
    pub fn absorb_left(&mut self, page: &PagePin, cached: bool, lower: &[u8]) {
        let right = std::mem::take(&mut self.cells);
        let source = self.source(page, cached);
        self.lower.clear();
        self.lower.extend_from_slice(lower);
        self.keep(source, 0..page.len());
        self.cells.extend_from_slice(&right);
    }

    /// Writes full pages of a long stream and keeps the rest.
    pub fn spill(&mut self, out: &mut ChunkWriter<'_>, leaves: &mut Vec<Entry>) -> Result<()> {
        if self.bytes < SPILL {
            return Ok(());
        }
        let mut from = 0;
        while self.bytes > KEEP {
            let end = self.fitting(from, FILL);
            if end == self.cells.len() {
                break;
            }
            self.write(from, end, out, leaves)?;
            from = end;
        }
        self.compact(from);
        Ok(())
    }

    /// Writes everything and starts anew.
    pub fn finish(&mut self, out: &mut ChunkWriter<'_>, leaves: &mut Vec<Entry>) -> Result<()> {
        let mut from = 0;
        while from < self.cells.len() {
            let end = self.cut(from);
            self.write(from, end, out, leaves)?;
            from = end;
        }
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
        self.pages.clear();
        self.cells.clear();
        (self.bytes, self.warm, self.shrunk) = (0, false, false);
    }

    fn key(&self, index: usize) -> &[u8] {
        let cell = &self.cells[index];
        &self.keys[cell.key_at as usize..][..usize::from(cell.key_len)]
    }

    fn leaf_cell(&self, index: usize) -> LeafCell<'_> {
        let cell = &self.cells[index];
        let bytes = match cell.source {
            OWN => &self.values[..],
            source => &self.pages[source as usize].bytes()[..],
        };
        let value = &bytes[cell.value_at as usize..][..usize::from(cell.value_len)];
        LeafCell { key: self.key(index), value, overflow: cell.overflow }
    }

    /// End of the longest run of rows from `from` on that makes a leaf of at most `limit` bytes; at least one row.
    fn fitting(&self, from: usize, limit: usize) -> usize {
        let first = self.key(from);
        let mut sum = HEADER;
        for index in from..self.cells.len() {
            sum += self.cells[index].size();
            let shared = common_prefix(first, self.key(index));
            if sum - shared * (index - from) > limit && index > from {
                return index;
            }
        }
        self.cells.len()
    }

    /// Where the page that begins with row `from` ends.
    fn cut(&self, from: usize) -> usize {
        let fits = self.fitting(from, PAGE_SIZE);
        let cells = &self.cells[from..];
        if from + cells.len() == fits {
            return fits;
        }
        let bytes: usize = cells.iter().map(Cell::size).sum();
        if bytes > KEEP {
            return self.fitting(from, FILL);
        }
        if let Some(end) = burst_end(cells) {
            let end = from + end;
            let appended = end == self.cells.len();
            return if appended || end > fits { self.fitting(from, FILL) } else { end };
        }
        let mut half = 0;
        let middle = cells.iter().position(|cell| {
            half += cell.size();
            half > bytes / 2
        });
        (from + middle.unwrap_or(1).max(1)).min(fits)
    }

    fn write(
        &mut self,
        from: usize,
        end: usize,
        out: &mut ChunkWriter<'_>,
        leaves: &mut Vec<Entry>,
    ) -> Result<()> {
        let cells = &self.cells[from..end];
        let rows = Rows { count: cells.len() as u64, overflow: cells.iter().any(|c| c.overflow) };
        let written: usize = cells.iter().map(Cell::size).sum();
        let all_new = cells.iter().all(|cell| cell.source == OWN);
        let heat = if self.warm || all_new { Heat::Warm } else { Heat::Cold };
        let child =
            out.page(heat, |bytes| page::write_leaf(bytes, end - from, |i| self.leaf_cell(from + i)))?;
        leaves.push(Entry { key: self.lower.as_slice().into(), child, rows });
        self.bytes -= written;
        self.open = end < self.cells.len();
        if end < self.cells.len() {
            let next = self.key(end);
            let len = common_prefix(self.key(end - 1), next) + 1;
            self.lower = next[..len].to_vec();
        }
        Ok(())
    }

    /// Drops the first `from` cells and the bytes nobody refers to any more.
    fn compact(&mut self, from: usize) {
        let old_keys = std::mem::take(&mut self.keys);
        let old_values = std::mem::take(&mut self.values);
        self.cells.drain(..from);
        for cell in &mut self.cells {
            let key = &old_keys[cell.key_at as usize..][..usize::from(cell.key_len)];
            cell.key_at = self.keys.len() as u32;
            self.keys.extend_from_slice(key);
            if cell.source == OWN {
                let value = &old_values[cell.value_at as usize..][..usize::from(cell.value_len)];
                cell.value_at = self.values.len() as u32;
                self.values.extend_from_slice(value);
            }
        }
    }
}

/// End of the one burst of inserted rows, if the inserted rows are one burst.
fn burst_end(cells: &[Cell]) -> Option<usize> {
    let first = cells.iter().position(|cell| cell.inserted)?;
    let len = cells[first..].iter().take_while(|cell| cell.inserted).count();
    let end = first + len;
    let single = !cells[end..].iter().any(|cell| cell.inserted);
    (single && (end == cells.len() || len >= BURST_MIN)).then_some(end)
}

/// A page to read back: one that was written by this chunk must reach the file first.
pub(super) fn read_leaf(out: &mut ChunkWriter<'_>, at: PageRef) -> Result<(PagePin, bool)> {
    out.settle(at)?;
    out.file.tree_page_in_passing(at, 0)
}
