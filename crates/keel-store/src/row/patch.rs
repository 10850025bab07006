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

use super::{Row, RowBuilder};

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
        put_varint(&mut self.bytes, ordinal - self.floor);
        self.floor = ordinal + 1;
        match value {
            None => put_varint(&mut self.bytes, 0),
            Some(value) => {
                let len = u32::try_from(value.len()).expect("a column is smaller than 4 GB");
                put_varint(&mut self.bytes, len + 1);
                self.bytes.extend_from_slice(value);
            }
        }
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

/// Applies a patch to a row; the new row replaces the contents of `into`.
pub fn apply(row: &[u8], patch: &Patch<'_>, into: &mut Vec<u8>) {
    let row = Row::new(row);
    let count = row.count().max(patch.columns());
    let mut builder = RowBuilder::new();
    builder.clear(count);
    let mut entries = patch.entries().peekable();
    for index in 0..count {
        match entries.next_if(|(ordinal, _)| *ordinal == index) {
            Some((_, value)) => builder.push(value),
            None => builder.push(row.column(index)),
        }
    }
    into.clear();
    into.extend_from_slice(builder.finish());
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
