//! The stored form of a row: what every tree (delta, base, log) holds as the value under a key.
//!
//! ```text
//! offset              size            content
//! 0                   1               flags: bit 0 = wide (offsets are u32), other bits 0
//! 1                   2               column count n, u16 little-endian
//! 3                   ceil(n/8)       null bitmap, bit i of byte i/8 set = column i is NULL
//! 3+ceil(n/8)         2n or 4n        end offset of each column relative to the start of the data, little-endian
//! ...                 -               data: the columns' bytes one after the other
//! ```
//!
//! Validity: offsets never decrease, the last one equals the length of the data, a NULL column is empty, unused
//! bitmap bits are 0. [`validate`] checks all of that; the readers trust it, because rows come from our own
//! checksummed blocks and pages. One that is led out of the row by what it reads panics with
//! [`Damaged`]: the request fails that reads the row, and nobody else.
//!
//! A row may hold fewer columns than its table has now (columns added later): the caller compares with [`count`]
//! and supplies the default. Column bytes are opaque here; their encoding belongs to the type system.
//!
//! Deliberately absent: types, keys, compression. Patches (the columns that an update changed) are in [`patch`].

pub mod patch;

pub use patch::{Patch, PatchBuilder};

use keel_base::panics::Damaged;

/// Set in the flags byte when end offsets take four bytes instead of two.
const FLAG_WIDE: u8 = 1;
/// Bytes before the null bitmap.
const HEADER_LEN: usize = 3;
/// Largest number of columns a row can have.
pub const COLUMNS_MAX: usize = u16::MAX as usize;

/// A parsed row header, for decoding several columns of one row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    bytes: &'a [u8],
    count: usize,
    offsets_start: usize,
    wide: bool,
}

impl<'a> Row<'a> {
    /// Looks at a stored row.
    ///
    /// # Panics
    /// With [`Damaged`] when `bytes` is shorter than a header: not a row.
    #[inline]
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Row<'a> {
        Row::parse(bytes).unwrap_or_else(|| damaged(bytes))
    }

    /// Looks at what may be none; only its header is read.
    #[inline]
    fn parse(bytes: &'a [u8]) -> Option<Row<'a>> {
        let [flags, low, high] = *bytes.first_chunk()?;
        let count = u16::from_le_bytes([low, high]) as usize;
        Some(Row {
            bytes,
            count,
            offsets_start: HEADER_LEN + count.div_ceil(8),
            wide: flags & FLAG_WIDE != 0,
        })
    }

    /// Number of columns stored.
    #[inline]
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes of column `index`; `None` for NULL and for columns beyond [`Row::count`].
    ///
    /// # Panics
    /// With [`Damaged`] when the column would lie outside of the row.
    #[inline]
    #[must_use]
    pub fn column(&self, index: usize) -> Option<&'a [u8]> {
        if index >= self.count {
            return None;
        }
        self.stored(index).unwrap_or_else(|| damaged(self.bytes))
    }

    /// The bytes of a column that there is, `None` within for NULL; `None` when it lies outside of the row.
    #[inline]
    fn stored(&self, index: usize) -> Option<Option<&'a [u8]>> {
        if self.bytes.get(HEADER_LEN + index / 8)? & (1 << (index % 8)) != 0 {
            return Some(None);
        }
        let data = self.data_start();
        let (start, end) = if self.wide {
            (if index == 0 { 0 } else { self.end_offset(index - 1)? }, self.end_offset(index)?)
        } else {
            // Both offsets in one look; what stands before the first is none.
            let at = self.offsets_start + index * 2;
            let pair = u32::from_le_bytes(*self.bytes.get(at - 2..)?.first_chunk()?);
            (if index == 0 { 0 } else { pair as usize & 0xffff }, (pair >> 16) as usize)
        };
        self.bytes.get(data + start..data + end).map(Some)
    }

    /// All columns in order.
    pub fn columns(self) -> impl Iterator<Item = Option<&'a [u8]>> {
        (0..self.count).map(move |index| self.column(index))
    }

    #[inline]
    fn data_start(&self) -> usize {
        self.offsets_start + self.count * if self.wide { 4 } else { 2 }
    }

    /// Where a column ends in the data; `None` when the row ends before it says so.
    #[inline]
    fn end_offset(&self, index: usize) -> Option<usize> {
        if self.wide {
            let at = self.offsets_start + index * 4;
            self.bytes.get(at..)?.first_chunk().map(|end| u32::from_le_bytes(*end) as usize)
        } else {
            let at = self.offsets_start + index * 2;
            self.bytes.get(at..)?.first_chunk().map(|end| usize::from(u16::from_le_bytes(*end)))
        }
    }
}

/// Ends the request that came upon a row whose columns cannot be found.
#[cold]
#[inline(never)]
pub(crate) fn damaged(bytes: &[u8]) -> ! {
    let what = format!("a row of {} bytes does not hold the columns that it says", bytes.len());
    std::panic::panic_any(Damaged(what))
}

/// Number of columns in a stored row.
#[inline]
#[must_use]
pub fn count(row: &[u8]) -> usize {
    Row::new(row).count()
}

/// The bytes of one column; `None` for NULL and for columns beyond [`count`].
#[inline]
#[must_use]
pub fn column(row: &[u8], index: usize) -> Option<&[u8]> {
    Row::new(row).column(index)
}

/// Whether `bytes` is a well-formed row; the check for bytes from outside.
#[must_use]
pub fn validate(bytes: &[u8]) -> bool {
    let Some(row) = Row::parse(bytes).filter(|_| bytes[0] & !FLAG_WIDE == 0) else { return false };
    let data_start = row.data_start();
    if bytes.len() < data_start {
        return false;
    }
    let data_len = bytes.len() - data_start;
    let mut previous = 0;
    for index in 0..row.count {
        let Some(end) = row.end_offset(index) else { return false };
        let is_null = bytes[HEADER_LEN + index / 8] & (1 << (index % 8)) != 0;
        if end < previous || end > data_len || (is_null && end != previous) {
            return false;
        }
        previous = end;
    }
    let used_bits = row.count % 8;
    let spare_bits_clear = used_bits == 0 || bytes[row.offsets_start - 1] >> used_bits == 0;
    previous == data_len && spare_bits_clear
}

/// Builds stored rows in a buffer that is reused from row to row. Columns go to their final place at once; only a row
/// that turns out to be wide is moved.
#[derive(Debug, Default)]
pub struct RowBuilder {
    /// The row under construction, its end offsets zero as far as columns are not pushed yet.
    row: Vec<u8>,
    count: usize,
    pushed: usize,
    wide: bool,
}

impl RowBuilder {
    /// An empty builder; call [`RowBuilder::clear`] before the first push.
    #[must_use]
    pub fn new() -> RowBuilder {
        RowBuilder::default()
    }

    /// Starts a row of `count` columns.
    ///
    /// # Panics
    /// When `count` is more than [`COLUMNS_MAX`].
    pub fn clear(&mut self, count: usize) {
        assert!(count <= COLUMNS_MAX, "a row has at most {COLUMNS_MAX} columns");
        (self.count, self.pushed, self.wide) = (count, 0, false);
        self.row.clear();
        self.row.resize(self.data_start(), 0);
        self.row[1..HEADER_LEN].copy_from_slice(&(count as u16).to_le_bytes());
    }

    /// Adds the next column: its bytes, or `None` for NULL.
    #[inline]
    pub fn push(&mut self, column: Option<&[u8]>) {
        match column {
            Some(bytes) => self.push_with(|data| data.extend_from_slice(bytes)),
            None => self.push_null(),
        }
    }

    /// Adds NULL.
    #[inline]
    pub fn push_null(&mut self) {
        let index = self.pushed;
        self.end_column();
        self.row[HEADER_LEN + index / 8] |= 1 << (index % 8);
    }

    /// Adds a column that `write` appends to the row itself, without an intermediate buffer.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.row);
        self.end_column();
    }

    /// Adds all columns of a row: where each of them ends in `data`, which holds them one after the other; `None` for NULL.
    ///
    /// # Panics
    /// When there are more than announced, or some were pushed before.
    pub fn push_all(&mut self, ends: impl Iterator<Item = Option<u32>>, data: &[u8]) {
        assert_eq!(self.pushed, 0, "all columns of a row, or one after the other");
        if data.len() > usize::from(u16::MAX) {
            self.widen();
        }
        let (ends_start, mut last) = (self.ends_start(), 0u32);
        for end in ends {
            let index = self.pushed;
            assert!(index < self.count, "more columns pushed than announced");
            match end {
                Some(end) => last = end,
                None => self.row[HEADER_LEN + index / 8] |= 1 << (index % 8),
            }
            if self.wide {
                let at = ends_start + index * 4;
                self.row[at..at + 4].copy_from_slice(&last.to_le_bytes());
            } else {
                let at = ends_start + index * 2;
                self.row[at..at + 2].copy_from_slice(&(last as u16).to_le_bytes());
            }
            self.pushed += 1;
        }
        self.row.extend_from_slice(data);
    }

    /// Where the end offsets begin.
    #[inline]
    fn ends_start(&self) -> usize {
        HEADER_LEN + self.count.div_ceil(8)
    }

    #[inline]
    fn data_start(&self) -> usize {
        self.ends_start() + self.count * if self.wide { 4 } else { 2 }
    }

    #[inline]
    fn end_column(&mut self) {
        let (index, ends_start) = (self.pushed, self.ends_start());
        assert!(index < self.count, "more columns pushed than announced");
        self.pushed += 1;
        match u16::try_from(self.row.len() - ends_start - self.count * 2) {
            Ok(end) if !self.wide => {
                let at = ends_start + index * 2;
                self.row[at..at + 2].copy_from_slice(&end.to_le_bytes());
            }
            _ => self.end_wide_column(index),
        }
    }

    #[cold]
    fn end_wide_column(&mut self, index: usize) {
        if !self.wide {
            self.widen();
        }
        let end = u32::try_from(self.row.len() - self.data_start()).expect("a row is smaller than 4 GB");
        let at = self.ends_start() + index * 4;
        self.row[at..at + 4].copy_from_slice(&end.to_le_bytes());
    }

    /// Makes room for end offsets of four bytes and moves the data behind them.
    #[cold]
    fn widen(&mut self) {
        let ends_start = self.ends_start();
        let narrow = self.row[ends_start..self.data_start()].to_vec();
        let wide = narrow.chunks_exact(2).flat_map(|end| [end[0], end[1], 0, 0]);
        let data_start = self.data_start();
        self.row.splice(ends_start..data_start, wide);
        self.row[0] |= FLAG_WIDE;
        self.wide = true;
    }

    /// Completes the row.
    ///
    /// # Panics
    /// When fewer columns were pushed than announced.
    pub fn finish(&mut self) -> &[u8] {
        assert_eq!(self.pushed, self.count, "fewer columns pushed than announced");
        &self.row
    }

    /// One-call form for tests and cold paths.
    #[must_use]
    pub fn build(columns: &[Option<&[u8]>]) -> Vec<u8> {
        let mut builder = RowBuilder::new();
        builder.clear(columns.len());
        for column in columns {
            builder.push(*column);
        }
        builder.finish().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refs(columns: &[Option<Vec<u8>>]) -> Vec<Option<&[u8]>> {
        columns.iter().map(|c| c.as_deref()).collect()
    }

    #[test]
    fn layout_is_as_specified() {
        let row = RowBuilder::build(&[Some(b"ab"), None, Some(b""), Some(b"c")]);
        assert_eq!(row, [0, 4, 0, 0b0010, 2, 0, 2, 0, 2, 0, 3, 0, b'a', b'b', b'c']);
        assert_eq!(column(&row, 0), Some(&b"ab"[..]));
        assert_eq!(column(&row, 1), None);
        assert_eq!(column(&row, 2), Some(&b""[..]));
        assert_eq!(column(&row, 3), Some(&b"c"[..]));
        assert_eq!(column(&row, 4), None);
    }

    #[test]
    fn wide_rows_use_four_byte_offsets() {
        let big = vec![7u8; 70_000];
        let row = RowBuilder::build(&[Some(&big), Some(b"x"), None]);
        assert_eq!(row[0], FLAG_WIDE);
        assert!(validate(&row));
        assert_eq!(column(&row, 0), Some(&big[..]));
        assert_eq!(column(&row, 1), Some(&b"x"[..]));
        let row = RowBuilder::build(&[Some(b"first"), None, Some(&big), Some(b"x")]);
        assert!(validate(&row));
        let mut builder = RowBuilder::new();
        builder.clear(4);
        let data = [&b"first"[..], &big, b"x"].concat();
        builder.push_all([Some(5), None, Some(70_005), Some(70_006)].into_iter(), &data);
        assert_eq!(builder.finish(), row);
        assert_eq!((column(&row, 0), column(&row, 1)), (Some(&b"first"[..]), None));
        assert_eq!((column(&row, 2), column(&row, 3)), (Some(&big[..]), Some(&b"x"[..])));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn round_trip(columns in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), 0..40)) {
            let row = RowBuilder::build(&refs(&columns));
            prop_assert!(validate(&row));
            prop_assert_eq!(count(&row), columns.len());
            let mut builder = RowBuilder::new();
            builder.clear(columns.len());
            let (mut data, mut ends) = (Vec::new(), Vec::new());
            for column in &columns {
                data.extend(column.iter().flatten());
                ends.push(column.as_ref().map(|_| data.len() as u32));
            }
            builder.push_all(ends.into_iter(), &data);
            prop_assert_eq!(builder.finish(), &row[..]);
            for (index, value) in columns.iter().enumerate() {
                prop_assert_eq!(column(&row, index), value.as_deref());
            }
        }

        #[test]
        fn a_damaged_row_is_read_or_said_to_be_damaged(
            columns in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), 0..20),
            large in prop::option::of(Just(vec![7u8; 70_000])),
            cut in any::<prop::sample::Index>(),
            flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        ) {
            let mut row = RowBuilder::build(&refs(&[columns, vec![large]].concat()));
            row.truncate(cut.index(row.len() + 1));
            for (at, byte) in flips {
                if !row.is_empty() {
                    let at = at.index(row.len().min(64));
                    row[at] = byte;
                }
            }
            let mut builder = PatchBuilder::new();
            builder.clear(3);
            builder.set(1, Some(b"patched"));
            let patch = builder.finish();
            let mut patched = Vec::new();
            let read = std::panic::catch_unwind(|| (Row::new(&row).columns().count(), column(&row, 2)));
            let applied = patch::try_apply(&row, &patch, &mut patched);
            if validate(&row) {
                prop_assert!(read.is_ok() && applied.is_some() && validate(&patched));
            } else if let Err(panic) = read {
                prop_assert!(keel_base::panics::damage(&*panic).is_some());
            }
        }

        #[test]
        fn validate_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if validate(&bytes) {
                let row = Row::new(&bytes);
                let _ = row.columns().count();
            }
        }
    }
}
