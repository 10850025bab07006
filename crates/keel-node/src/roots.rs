//! Which roots the base tree has had: what a differential backup is told apart by.
//!
//! A backup that ended at a position has everything that was committed before it. What has changed since is what was written
//! after the newest root that holds nothing from behind that position: its **generation** is looked up here. Every copy of a
//! database has a tree of its own, and its own generations; the position means the same for all of them.
//!
//! The history is kept with the base tree itself, behind its metadata, so whatever root is opened knows its own past. A
//! checkpoint adds the root that it replaces:
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 16 + 16 i | 8 | generation |
//! | 24 + 16 i | 8 | no row in it is newer than this |
//!
//! in ascending order. It stays short: old roots are thinned out. One that is missing makes a backup larger, not wrong.

use crate::database::{Database, META_BYTES};
use keel_base::Lsn;
use keel_store::base::{BaseRoot, META_BYTES_MAX};
use std::sync::atomic::Ordering;

const ENTRY_BYTES: usize = 16;
/// Roots that are remembered at most.
const ROOTS_MAX: usize = 96;
/// Of them the newest, which are never thinned out.
const RECENT: usize = 48;

const _: () =
    assert!(META_BYTES + ROOTS_MAX * ENTRY_BYTES <= META_BYTES_MAX, "the history fits the superblock");

/// A root of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Past {
    generation: u64,
    highest: Lsn,
}

/// The roots of a base tree, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roots(Vec<Past>);

impl Roots {
    /// Those that the metadata of a root tells of.
    pub(crate) fn decode(meta: &[u8]) -> Roots {
        let words = meta.get(META_BYTES..).unwrap_or_default().as_chunks::<8>().0;
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        let past = |[generation, highest]: &[[u8; 8]; 2]| Past {
            generation: word(generation),
            highest: Lsn(word(highest)),
        };
        Roots(words.as_chunks::<2>().0.iter().map(past).collect())
    }

    /// Writes them behind the metadata.
    pub(crate) fn encode(&self, meta: &mut Vec<u8>) {
        for past in &self.0 {
            meta.extend_from_slice(&past.generation.to_le_bytes());
            meta.extend_from_slice(&past.highest.0.to_le_bytes());
        }
    }

    /// Adds a root that is about to be replaced. The one that backups refer to which ended at `wanted` stays.
    pub(crate) fn add(&mut self, root: &BaseRoot, wanted: Lsn) {
        let past = Past { generation: root.generation(), highest: root.highest_lsn() };
        self.0.retain(|other| other.generation < past.generation && other.highest < past.highest);
        self.0.push(past);
        if self.0.len() > ROOTS_MAX {
            let keep = self.find(wanted).map(|past| past.generation);
            let old = self.0.len() - RECENT;
            let mut at = 0;
            self.0.retain(|past| {
                at += 1;
                at > old || at % 2 == 0 || Some(past.generation) == keep
            });
        }
    }

    /// The newest one that holds nothing from behind a position.
    fn find(&self, end: Lsn) -> Option<&Past> {
        self.0.iter().rev().find(|past| past.highest <= end)
    }
}

impl Database {
    /// The generation after which everything was written to the base tree that `root` has from behind `end`; 0 when none is
    /// known, and all of it may be.
    pub fn generation_before(root: &BaseRoot, end: Lsn) -> u64 {
        if root.highest_lsn() <= end {
            return root.generation();
        }
        Roots::decode(root.meta()).find(end).map_or(0, |past| past.generation)
    }

    /// Pages of the data file that were written since a backup that ended at `end`, or its changes after it; an upper bound.
    pub fn pages_since(&self, end: Lsn) -> Result<u64, crate::DbError> {
        let root = self.store().base().root();
        Ok(root.pages_since(Database::generation_before(&root, end))?)
    }

    /// The backup that differential ones refer to ended there; [`Lsn::ZERO`] for none.
    pub fn set_differential_base(&self, end: Lsn) {
        self.differential_base.store(end.0, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(of: &[(u64, u64)]) -> Roots {
        Roots(
            of.iter()
                .map(|(generation, highest)| Past { generation: *generation, highest: Lsn(*highest) })
                .collect(),
        )
    }

    #[test]
    fn the_newest_root_that_holds_nothing_newer_is_found() {
        let some = roots(&[(3, 10), (7, 20), (9, 35)]);
        let found = |end| some.find(Lsn(end)).map(|past| past.generation);
        assert_eq!([9, 10, 19, 20, 34, 99].map(found), [None, Some(3), Some(3), Some(7), Some(7), Some(9)]);
        let mut meta = vec![1; META_BYTES];
        some.encode(&mut meta);
        assert_eq!(Roots::decode(&meta), some);
        assert_eq!(Roots::decode(&meta[..META_BYTES]), Roots::default());
        assert_eq!(Roots::decode(b"short"), Roots::default());
    }
}
