//! Postings: in which documents a word occurs, and where; and the chunks in which they are stored.
//!
//! A chunk is a run of postings of one word in one column, in the order of their documents. It is a postcard of a vector: the difference
//! to the document before (of the first, to the chunk's own first document, which is 0), then the differences of positions. So small
//! numbers take one byte, and most are small.

use serde::{Deserialize, Serialize};

/// A document's number.
pub type Document = u64;

/// One document that has a word, and the positions of the word in it, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Posting {
    /// The document.
    pub document: Document,
    /// Positions from 1 on.
    pub positions: Vec<u32>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    document: u64,
    positions: Vec<u32>,
}

/// The stored form of postings, which are in the order of their documents.
#[must_use]
pub fn encode(postings: &[Posting]) -> Vec<u8> {
    let mut last = postings.first().map_or(0, |p| p.document);
    let stored: Vec<Stored> = postings
        .iter()
        .map(|posting| {
            let document = posting.document.saturating_sub(last);
            last = posting.document;
            let mut before = 0;
            let difference = |position: &u32| {
                let difference = position.saturating_sub(before);
                before = *position;
                difference
            };
            Stored { document, positions: posting.positions.iter().map(difference).collect() }
        })
        .collect();
    postcard::to_allocvec(&stored).unwrap_or_else(|e| unreachable!("a vector takes whatever is written: {e}"))
}

/// The way back, for a chunk whose first document is `first`; `None` for what nobody has written.
#[must_use]
pub fn decode(first: Document, chunk: &[u8]) -> Option<Vec<Posting>> {
    let stored: Vec<Stored> = postcard::from_bytes(chunk).ok()?;
    let mut document = first;
    stored
        .into_iter()
        .map(|stored| {
            document = document.checked_add(stored.document)?;
            let mut position = 0_u32;
            let mut positions = stored.positions;
            for each in &mut positions {
                position = position.checked_add(*each)?;
                *each = position;
            }
            Some(Posting { document, positions })
        })
        .collect()
}

/// The postings of several lists as one: documents in order, positions of the same document together.
#[must_use]
pub fn union(lists: Vec<Vec<Posting>>) -> Vec<Posting> {
    let mut lists = lists;
    if lists.len() == 1 {
        return lists.pop().unwrap_or_default();
    }
    let mut all: Vec<Posting> = lists.into_iter().flatten().collect();
    all.sort_by_key(|posting| posting.document);
    let mut merged: Vec<Posting> = Vec::with_capacity(all.len());
    for posting in all {
        match merged.last_mut() {
            Some(last) if last.document == posting.document => {
                last.positions.extend(posting.positions);
                last.positions.sort_unstable();
                last.positions.dedup();
            }
            _ => merged.push(posting),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn postings() -> impl Strategy<Value = Vec<Posting>> {
        let positions = prop::collection::btree_set(1..u32::MAX, 0..6);
        prop::collection::btree_map(1..u64::MAX, positions, 0..20).prop_map(|all| {
            let posting = |(document, positions): (u64, std::collections::BTreeSet<u32>)| Posting {
                document,
                positions: positions.into_iter().collect(),
            };
            all.into_iter().map(posting).collect()
        })
    }

    proptest! {
        #[test]
        fn chunks_come_back(postings in postings()) {
            let first = postings.first().map_or(0, |p| p.document);
            prop_assert_eq!(decode(first, &encode(&postings)), Some(postings));
        }

        #[test]
        fn any_bytes_are_taken(first in any::<u64>(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(first, &bytes);
        }
    }

    #[test]
    fn unions() {
        let p = |document, positions: &[u32]| Posting { document, positions: positions.to_vec() };
        let merged = union(vec![vec![p(1, &[2]), p(3, &[1])], vec![p(1, &[1, 2]), p(2, &[5])]]);
        assert_eq!(merged, [p(1, &[1, 2]), p(2, &[5]), p(3, &[1])]);
    }
}
