//! A patch: the columns that an update changed, by ordinal, as the log and the delta hold them.
//!
//! ```text
//! offset   size      content
//! 0        2         column count of the row after the update, u16 little-endian
//! 2        ...       entries by ascending ordinal:
//!                      varint ordinal minus the ordinal before it (the first: the ordinal itself)
//!                      varint 0 = NULL, else length + 1, then that many bytes
//! ```
//!
//! A varint holds seven bits per byte, low bits first, at most five bytes.
//!
//! Patches name columns, not byte offsets, so that applying one over a row that already contains it (or something
//! newer) changes nothing that matters: redo may see a base row from after the patch. They compose: [`compose`]
//! of an older and a newer patch has the effect of both.

use super::{FLAG_WIDE, HEADER_LEN, Row, damaged};

/// A borrowed, well-formed patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch<'a> {
    bytes: &'a [u8],
}

impl<'a> Patch<'a> {
    /// Reads a patch from outside; `None` when it is malformed.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Patch<'a>> {
        let columns = u32::from(u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?]));
        let mut rest = &bytes[2..];
        let mut floor = 0u32;
        while !rest.is_empty() {
            let ordinal = floor.checked_add(take_varint(&mut rest)?)?;
            if ordinal >= columns {
                return None;
            }
            let len = take_varint(&mut rest)?.saturating_sub(1) as usize;
            rest = rest.get(len..)?;
            floor = ordinal + 1;
        }
        Some(Patch { bytes })
    }

    /// Wraps bytes that a [`PatchBuilder`] made or [`Patch::parse`] accepted before.
    #[must_use]
    pub fn from_trusted(bytes: &'a [u8]) -> Patch<'a> {
        debug_assert!(Patch::parse(bytes).is_some());
        Patch { bytes }
    }

    /// The encoded form.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Column count of the row after the update.
    #[must_use]
    pub fn columns(&self) -> usize {
        u16::from_le_bytes([self.bytes[0], self.bytes[1]]) as usize
    }

    /// The changed columns by ascending ordinal.
    #[must_use]
    pub fn entries(&self) -> Entries<'a> {
        Entries { rest: &self.bytes[2..], floor: 0 }
    }
}

/// Iterator over a patch's (ordinal, new value).
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: &'a [u8],
    floor: u32,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (usize, Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        let ordinal = self.floor + take_varint(&mut self.rest)?;
        self.floor = ordinal + 1;
        let tag = take_varint(&mut self.rest)?;
        let value = tag.checked_sub(1).map(|len| {
            let (value, rest) = self.rest.split_at(len as usize);
            self.rest = rest;
            value
        });
        Some((ordinal as usize, value))
    }
}

/// Builds patches in a buffer that is reused.
#[derive(Debug, Default)]
pub struct PatchBuilder {
    bytes: Vec<u8>,
    floor: u32,
}

impl PatchBuilder {
    /// An empty builder; call [`PatchBuilder::clear`] first.
    #[must_use]
    pub fn new() -> PatchBuilder {
        PatchBuilder::default()
    }

    /// Starts a patch for a row that has `columns` columns afterwards.
    pub fn clear(&mut self, columns: usize) {
        let columns = u16::try_from(columns).expect("a row has at most 65,535 columns");
        self.bytes.clear();
        self.bytes.extend_from_slice(&columns.to_le_bytes());
        self.floor = 0;
    }

    /// Sets a column; ordinals must ascend.
    ///
    /// # Panics
    /// When `ordinal` is not greater than the one before.
    pub fn set(&mut self, ordinal: usize, value: Option<&[u8]>) {
        let ordinal = ordinal as u32;
        assert!(ordinal >= self.floor, "patch entries ascend by ordinal");
        let skipped = ordinal - self.floor;
        self.floor = ordinal + 1;
        let len =
            value.map_or(0, |value| u32::try_from(value.len()).expect("a column is smaller than 4 GB") + 1);
        if skipped < 0x80 && len < 0x80 {
            self.bytes.extend_from_slice(&[skipped as u8, len as u8]);
        } else {
            put_varint(&mut self.bytes, skipped);
            put_varint(&mut self.bytes, len);
        }
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    /// The patch built so far.
    #[must_use]
    pub fn finish(&self) -> Patch<'_> {
        Patch::from_trusted(&self.bytes)
    }
}

/// The difference that turns `old` into `new`, into `into`.
pub fn diff<'b>(old: &[u8], new: &[u8], into: &'b mut PatchBuilder) -> Patch<'b> {
    let (old, new) = (Row::new(old), Row::new(new));
    into.clear(new.count());
    for index in 0..new.count() {
        let value = new.column(index);
        if index >= old.count() || old.column(index) != value {
            into.set(index, value);
        }
    }
    into.finish()
}

/// Applies a patch to a row; the new row replaces the contents of `into`. Columns between those that change are copied
/// together.
///
/// # Panics
/// With [`Damaged`](keel_base::panics::Damaged) when the row is.
pub fn apply(row: &[u8], patch: &Patch<'_>, into: &mut Vec<u8>) {
    if try_apply(row, patch, into).is_none() {
        damaged(row);
    }
}

/// Applies a patch to a row, as [`apply`] does; `None` when the row is damaged.
#[must_use]
pub fn try_apply(row: &[u8], patch: &Patch<'_>, into: &mut Vec<u8>) -> Option<()> {
    let row = Row::parse(row)?;
    let count = row.count().max(patch.columns());
    let mut new = Rewrite::begin(into, row, count, data_len(row, patch)?)?;
    let mut next = 0;
    for (ordinal, value) in patch.entries() {
        new.keep(next, ordinal)?;
        new.put(ordinal, value);
        next = ordinal + 1;
    }
    new.keep(next, count)
}

/// Bytes of the columns after the patch; more than that while even those make a narrow row.
fn data_len(row: Row<'_>, patch: &Patch<'_>) -> Option<usize> {
    let before = row.bytes.len().checked_sub(row.data_start())?;
    let most = before + patch.bytes.len();
    if most <= usize::from(u16::MAX) {
        return Some(most);
    }
    patch.entries().try_fold(before, |len, (ordinal, value)| {
        let old = if ordinal < row.count { row.stored(ordinal)? } else { None };
        (len + value.map_or(0, <[u8]>::len)).checked_sub(old.map_or(0, <[u8]>::len))
    })
}

/// A row that is written from an old one, column after column.
struct Rewrite<'a> {
    into: &'a mut Vec<u8>,
    old: Row<'a>,
    ends_start: usize,
    data_start: usize,
    wide: bool,
}

impl<'a> Rewrite<'a> {
    /// For `count` columns, no fewer than the old row has, with `data_len` bytes together.
    fn begin(into: &'a mut Vec<u8>, old: Row<'a>, count: usize, data_len: usize) -> Option<Rewrite<'a>> {
        let wide = data_len > usize::from(u16::MAX);
        let ends_start = HEADER_LEN + count.div_ceil(8);
        let data_start = ends_start + count * if wide { 4 } else { 2 };
        into.clear();
        into.reserve(data_start + data_len);
        if wide || old.wide || count != old.count {
            into.push(if wide { FLAG_WIDE } else { 0 });
            into.extend_from_slice(&(count as u16).to_le_bytes());
            into.extend_from_slice(old.bytes.get(HEADER_LEN..old.offsets_start)?);
            into.resize(data_start, 0);
        } else {
            // Most end offsets stay what they are.
            into.extend_from_slice(old.bytes.get(..data_start)?);
        }
        Some(Rewrite { into, old, ends_start, data_start, wide })
    }

    /// The columns from `from` to before `to` stay as they are; those that the old row does not have are NULL.
    fn keep(&mut self, from: usize, to: usize) -> Option<()> {
        let stored = to.min(self.old.count);
        if from < stored {
            let start = if from == 0 { 0 } else { self.old.end_offset(from - 1)? };
            let data = self.old.data_start();
            let moved = (self.into.len() - self.data_start) as isize - start as isize;
            let end = self.old.end_offset(stored - 1)?;
            self.into.extend_from_slice(self.old.bytes.get(data + start..data + end)?);
            if self.wide || self.old.wide || self.data_start != data {
                for index in from..stored {
                    self.set_end(index, self.old.end_offset(index)?.checked_add_signed(moved)?);
                }
            } else if moved != 0 {
                self.move_ends(from, stored, moved as u16);
            }
        }
        for index in from.max(stored)..to {
            self.put(index, None);
        }
        Some(())
    }

    /// Moves end offsets of two bytes, which are the old row's, by so many bytes (modulo 2^16, as a negative number is meant).
    fn move_ends(&mut self, from: usize, to: usize, moved: u16) {
        let ends = &mut self.into[self.ends_start + 2 * from..self.ends_start + 2 * to];
        for end in ends.chunks_exact_mut(2) {
            let new = u16::from_le_bytes([end[0], end[1]]).wrapping_add(moved);
            end.copy_from_slice(&new.to_le_bytes());
        }
    }

    fn put(&mut self, index: usize, value: Option<&[u8]>) {
        let (byte, bit) = (HEADER_LEN + index / 8, 1 << (index % 8));
        match value {
            None => self.into[byte] |= bit,
            Some(value) => {
                self.into[byte] &= !bit;
                self.into.extend_from_slice(value);
            }
        }
        self.set_end(index, self.into.len() - self.data_start);
    }

    #[inline]
    fn set_end(&mut self, index: usize, end: usize) {
        if self.wide {
            let at = self.ends_start + index * 4;
            self.into[at..at + 4].copy_from_slice(&(end as u32).to_le_bytes());
        } else {
            let at = self.ends_start + index * 2;
            self.into[at..at + 2].copy_from_slice(&(end as u16).to_le_bytes());
        }
    }
}

/// One patch with the effect of `older` followed by `newer`.
pub fn compose<'b>(older: &Patch<'_>, newer: &Patch<'_>, into: &'b mut PatchBuilder) -> Patch<'b> {
    into.clear(older.columns().max(newer.columns()));
    let mut olds = older.entries().peekable();
    for (ordinal, value) in newer.entries() {
        while let Some((kept, kept_value)) = olds.next_if(|(o, _)| *o < ordinal) {
            into.set(kept, kept_value);
        }
        olds.next_if(|(o, _)| *o == ordinal);
        into.set(ordinal, value);
    }
    for (kept, kept_value) in olds {
        into.set(kept, kept_value);
    }
    into.finish()
}

fn put_varint(into: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        into.push(value as u8 | 0x80);
        value >>= 7;
    }
    into.push(value as u8);
}

#[inline]
fn take_varint(from: &mut &[u8]) -> Option<u32> {
    let (&first, rest) = from.split_first()?;
    if first < 0x80 {
        *from = rest;
        return Some(u32::from(first));
    }
    take_long_varint(from)
}

fn take_long_varint(from: &mut &[u8]) -> Option<u32> {
    let mut value = 0u64;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::RowBuilder;
    use super::*;
    use proptest::prelude::*;

    type Columns = Vec<Option<Vec<u8>>>;

    fn columns(len: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Columns> {
        prop::collection::vec(prop::option::of(prop::collection::vec(0u8..4, 0..3)), len)
    }

    fn build(columns: &Columns) -> Vec<u8> {
        RowBuilder::build(&columns.iter().map(|c| c.as_deref()).collect::<Vec<_>>())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn diff_then_apply_gives_the_new_row(old in columns(0..12), added in columns(0..3), changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(prop::collection::vec(any::<u8>(), 0..200))), 0..4)) {
            let mut new = old.clone();
            new.extend(added);
            for (index, value) in changes {
                if !new.is_empty() {
                    let at = index.index(new.len());
                    new[at] = value;
                }
            }
            let (old, new) = (build(&old), build(&new));
            let mut builder = PatchBuilder::new();
            let patch = diff(&old, &new, &mut builder);
            prop_assert!(Patch::parse(patch.as_bytes()).is_some());
            let mut out = Vec::new();
            apply(&old, &patch, &mut out);
            prop_assert_eq!(&out, &new);
            apply(&new, &patch, &mut out);
            prop_assert_eq!(&out, &new, "replaying over the newer row changes nothing");
        }

        #[test]
        fn rows_become_wide_and_narrow_again(small in columns(1..12), at in any::<prop::sample::Index>()) {
            let mut large = small.clone();
            large[at.index(small.len())] = Some(vec![7; 70_000]);
            let (small, large) = (build(&small), build(&large));
            for (old, new) in [(&small, &large), (&large, &small)] {
                let mut builder = PatchBuilder::new();
                let mut out = Vec::new();
                apply(old, &diff(old, new, &mut builder), &mut out);
                prop_assert!(&out == new);
            }
        }

        #[test]
        fn composition_is_application_in_order(a in columns(6), b in columns(6), c in columns(6)) {
            let (a, b, c) = (build(&a), build(&b), build(&c));
            let (mut first, mut second, mut both) = (PatchBuilder::new(), PatchBuilder::new(), PatchBuilder::new());
            let older = diff(&a, &b, &mut first);
            let newer = diff(&b, &c, &mut second);
            let patch = compose(&older, &newer, &mut both);
            let mut out = Vec::new();
            apply(&a, &patch, &mut out);
            prop_assert_eq!(out, c);
        }

        #[test]
        fn parse_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..32)) {
            if let Some(patch) = Patch::parse(&bytes) {
                let _ = patch.entries().count();
            }
        }
    }
}
