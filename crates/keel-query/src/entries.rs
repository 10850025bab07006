//! Sorting the entries of an index that is built over existing rows.
//!
//! An entry is a key, whose bytes compare as the index orders them, and what is stored under it. Entries go into the
//! statement's share of the work space, and as sorted runs into a file when that is full ([`crate::work`]), so that an
//! index may be larger than memory. What is sorted are places of entries with the first eight bytes of their keys beside
//! them: most comparisons do not touch the keys themselves.
//!
//! ```text
//!   push ─► chunks of memory ── share used up ─► sorted run ─┐
//!                │                                           ├─ merge ─► next
//!                └───────────── all fit ─► sorted ───────────┘
//! ```

use crate::errors::{self, Result};
use crate::memory::MemoryShare;
use crate::work::{Grant, Merge, Record, Run, RunReader, RunWriter, WorkFile, WorkSpace};
use std::cmp::Ordering;
use std::sync::Arc;

/// Entries are kept in pieces of memory of this many bytes, or as long as one entry.
const CHUNK_BYTES: usize = 256 << 10;

/// Where an entry is.
#[derive(Clone, Copy)]
struct Place {
    /// The first eight bytes of its key, which order as a number does.
    prefix: u64,
    chunk: u32,
    at: u32,
    key: u32,
    row: u32,
}

/// Entries to be sorted.
pub struct EntrySort {
    space: Arc<WorkSpace>,
    grant: Grant,
    /// The last is being filled.
    chunks: Vec<Vec<u8>>,
    /// Emptied chunks of earlier runs.
    spare: Vec<Vec<u8>>,
    places: Vec<Place>,
    file: Option<Arc<WorkFile>>,
    runs: Vec<Run>,
}

impl EntrySort {
    /// No entries yet; `share` is what their statement's resource pool has for it.
    #[must_use]
    pub fn new(space: &Arc<WorkSpace>, share: Option<Arc<MemoryShare>>) -> EntrySort {
        EntrySort {
            space: Arc::clone(space),
            grant: space.grant(share),
            chunks: Vec::new(),
            spare: Vec::new(),
            places: Vec::new(),
            file: None,
            runs: Vec::new(),
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// A work file cannot be written.
    pub fn push(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        let bytes = key.len() + row.len();
        // Places are kept in a vector that doubles.
        if !self.grant.takes(bytes + 2 * size_of::<Place>()) {
            self.write_run()?;
            // One that is larger than the whole share is kept all the same, alone.
            self.grant.takes(bytes + 2 * size_of::<Place>());
        }
        if self.chunks.last().is_none_or(|c| c.len() + bytes > CHUNK_BYTES) {
            let empty = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_BYTES.max(bytes)));
            self.chunks.push(empty);
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let place = Place {
            prefix: prefix(key),
            chunk: number as u32,
            at: chunk.len() as u32,
            key: key.len() as u32,
            row: row.len() as u32,
        };
        chunk.extend_from_slice(key);
        chunk.extend_from_slice(row);
        self.places.push(place);
        Ok(())
    }

    /// Sorts what is in memory and writes it to a file.
    fn write_run(&mut self) -> Result<()> {
        if self.places.is_empty() {
            return Ok(());
        }
        self.sort();
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(self.space.file()?),
        };
        let mut out = RunWriter::new(file);
        for place in &self.places {
            let (key, row) = entry(&self.chunks, place);
            out.bytes(&[&place.key.to_le_bytes(), key, row])?;
        }
        self.runs.push(out.finish()?);
        self.places.clear();
        for mut chunk in self.chunks.drain(..).filter(|c| c.capacity() <= CHUNK_BYTES) {
            chunk.clear();
            self.spare.push(chunk);
        }
        self.grant.clear();
        Ok(())
    }

    fn sort(&mut self) {
        let chunks = &self.chunks;
        self.places.sort_unstable_by(|a, b| {
            a.prefix.cmp(&b.prefix).then_with(|| entry(chunks, a).0.cmp(entry(chunks, b).0))
        });
    }

    /// The entries in the order of their keys; of equal keys in no particular order.
    ///
    /// # Errors
    /// A work file cannot be written or read.
    pub fn finish(mut self) -> Result<SortedEntries> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(SortedEntries(Sorted::Memory(self, 0)));
        }
        self.write_run()?;
        let runs = std::mem::take(&mut self.runs);
        let merge = Merge::new(&self.space, runs, &by_key)?;
        Ok(SortedEntries(Sorted::Files(merge, Entry::default())))
    }
}

/// Entries in the order of their keys.
pub struct SortedEntries(Sorted);

enum Sorted {
    /// Memory held them all; the number of the next.
    Memory(EntrySort, usize),
    /// It did not; the last that was read.
    Files(Merge<Entry>, Entry),
}

impl SortedEntries {
    /// Key and row of the next entry, `None` after the last.
    ///
    /// # Errors
    /// A work file cannot be read.
    #[allow(clippy::should_implement_trait, clippy::type_complexity)] // lends a pair
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match &mut self.0 {
            Sorted::Memory(sort, next) => {
                let place = sort.places.get(*next);
                *next += 1;
                Ok(place.map(|place| entry(&sort.chunks, place)))
            }
            Sorted::Files(merge, head) => {
                let found = merge.next(head, &by_key)?;
                Ok(found.then(|| head.bytes.split_at(head.key)))
            }
        }
    }
}

/// An entry of a run.
#[derive(Default)]
struct Entry {
    /// The key and behind it the row.
    bytes: Vec<u8>,
    /// Length of the key.
    key: usize,
}

impl Record for Entry {
    fn read(&mut self, from: &mut RunReader) -> Result<bool> {
        let Some(record) = from.next_bytes()? else { return Ok(false) };
        let cut_short = || errors::work_file_failed("an entry is cut short");
        let (length, bytes) = record.split_first_chunk().ok_or_else(cut_short)?;
        self.key = u32::from_le_bytes(*length) as usize;
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        if self.key <= bytes.len() { Ok(true) } else { Err(cut_short()) }
    }

    fn write(&self, to: &mut RunWriter) -> Result<()> {
        to.bytes(&[&(self.key as u32).to_le_bytes(), &self.bytes])
    }
}

fn by_key(a: &Entry, b: &Entry) -> Ordering {
    a.bytes[..a.key].cmp(&b.bytes[..b.key])
}

/// The first eight bytes, shorter keys filled up with zeros: a smaller prefix is a smaller key.
fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = key.len().min(8);
    first[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(first)
}

fn entry<'c>(chunks: &'c [Vec<u8>], place: &Place) -> (&'c [u8], &'c [u8]) {
    let bytes = &chunks[place.chunk as usize][place.at as usize..];
    let (key, rest) = bytes.split_at(place.key as usize);
    (key, &rest[..place.row as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, env};
    use proptest::prelude::*;
    use std::path::Path;

    proptest! {
        #[test]
        fn entries_come_back_sorted_whatever_memory_there_is(
            entries in prop::collection::vec((prop::collection::vec(0u8..4, 0..12), prop::collection::vec(any::<u8>(), 0..90)), 0..400),
            memory in 64usize..40_000,
        ) {
            let disk = env(&SimDisk::new(), 1).disk;
            let space = WorkSpace::with_grant(disk, Path::new("/work"), memory, memory, memory).unwrap();
            let mut sort = EntrySort::new(&space, None);
            for (key, row) in &entries {
                sort.push(key, row).unwrap();
            }
            let mut sorted = sort.finish().unwrap();
            let mut found = Vec::new();
            while let Some((key, row)) = sorted.next().unwrap() {
                found.push((key.to_vec(), row.to_vec()));
            }
            prop_assert!(found.is_sorted_by(|a, b| a.0 <= b.0));
            let mut expected = entries;
            expected.sort();
            found.sort();
            prop_assert_eq!(found, expected);
            drop(sorted);
            prop_assert_eq!(space.used_bytes(), 0);
        }
    }
}
