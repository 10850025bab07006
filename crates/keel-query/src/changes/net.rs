//! What several changes of a row come to.
//!
//! | first change | last change | the row is told as |
//! | --- | --- | --- |
//! | any | it went | deleted |
//! | it came | another | inserted |
//! | another | another | updated |
//!
//! The version is the last change's, and so is the context; the version of creation is that of the last time it came. Which columns were
//! assigned is told of rows that were updated only, in the order in which statements assigned them, and not when one of the
//! changes may have touched any.

use super::{ChangeKind, Stored};

/// Where a change stands among all: its version, and its number in its transaction.
pub(super) type Place = (u64, u64);

/// Changes of one row so far, in whatever order they came.
#[derive(Debug)]
pub(super) struct Net {
    first: (Place, ChangeKind),
    last: (Place, ChangeKind),
    /// Of the last time the row came.
    pub creation: Option<u64>,
    /// `column_id`s, four bytes each; `None` when any may have been assigned.
    columns: Option<Vec<u8>>,
    /// Of the last change.
    pub context: Option<Vec<u8>>,
    /// The stored form of the first change, which has the key's values.
    pub stored: Vec<u8>,
}

impl Net {
    pub fn new(place: Place, change: &Stored<'_>, bytes: &[u8]) -> Net {
        Net {
            first: (place, change.kind),
            last: (place, change.kind),
            creation: (change.kind == ChangeKind::Insert).then_some(place.0),
            columns: change.columns.map(<[u8]>::to_vec),
            context: change.context.map(<[u8]>::to_vec),
            stored: bytes.to_vec(),
        }
    }

    pub fn add(&mut self, place: Place, change: &Stored<'_>, bytes: &[u8]) {
        if place < self.first.0 {
            self.first = (place, change.kind);
            self.stored = bytes.to_vec();
        }
        if place > self.last.0 {
            self.last = (place, change.kind);
            self.context = change.context.map(<[u8]>::to_vec);
        }
        if change.kind == ChangeKind::Insert {
            self.creation = self.creation.max(Some(place.0));
        }
        self.columns = match (self.columns.take(), change.columns) {
            (Some(mut before), Some(more)) => {
                for id in more.chunks_exact(4) {
                    if !before.chunks_exact(4).any(|known| known == id) {
                        before.extend_from_slice(id);
                    }
                }
                Some(before)
            }
            _ => None,
        };
    }

    /// Of the last change.
    pub fn version(&self) -> u64 {
        self.last.0.0
    }

    /// What is told.
    pub fn kind(&self) -> ChangeKind {
        match (self.first.1, self.last.1) {
            (_, ChangeKind::Delete) => ChangeKind::Delete,
            (ChangeKind::Insert, _) => ChangeKind::Insert,
            _ => ChangeKind::Update,
        }
    }

    /// SYS_CHANGE_COLUMNS: four bytes of 0, then the columns.
    pub fn mask(&self) -> Option<Vec<u8>> {
        let columns = self.columns.as_ref().filter(|_| self.kind() == ChangeKind::Update)?;
        Some([&[0; 4][..], columns].concat())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn net(changes: &[(u64, ChangeKind, Option<&[u8]>)]) -> Net {
        let mut net: Option<Net> = None;
        for (version, kind, columns) in changes {
            let change = Stored { kind: *kind, columns: *columns, context: None, key: b"k" };
            match &mut net {
                Some(net) => net.add((*version, 1), &change, b""),
                None => net = Some(Net::new((*version, 1), &change, b"")),
            }
        }
        net.unwrap()
    }

    #[test]
    fn came_and_went_is_deleted_and_went_and_came_is_updated() {
        use ChangeKind::{Delete, Insert, Update};
        let n = net(&[(2, Insert, None), (3, Delete, None)]);
        assert_eq!((n.kind(), n.version(), n.creation), (Delete, 3, Some(2)));
        let n = net(&[(2, Delete, None), (3, Insert, None)]);
        assert_eq!((n.kind(), n.version(), n.creation), (Update, 3, Some(3)));
        let n = net(&[(1, Insert, None), (2, Update, Some(&[2, 0, 0, 0]))]);
        assert_eq!((n.kind(), n.version(), n.creation, n.mask()), (Insert, 2, Some(1), None));
    }

    #[test]
    fn in_whatever_order_they_come() {
        use ChangeKind::{Delete, Insert};
        let n = net(&[(3, Insert, None), (1, Insert, None), (2, Delete, None)]);
        assert_eq!((n.kind(), n.version(), n.creation), (Insert, 3, Some(3)));
        let n = net(&[(4, Delete, None), (3, Insert, None), (2, Delete, None)]);
        assert_eq!((n.kind(), n.version(), n.creation), (Delete, 4, Some(3)));
    }

    #[test]
    fn columns_come_together_in_their_order_unless_one_change_may_be_of_any() {
        use ChangeKind::Update;
        let (b, ca): (&[u8], &[u8]) = (&[3, 0, 0, 0], &[4, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0]);
        let n = net(&[(2, Update, Some(b)), (3, Update, Some(ca))]);
        assert_eq!(n.mask().unwrap(), [0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(net(&[(2, Update, Some(b)), (3, Update, None), (4, Update, Some(b))]).mask(), None);
    }
}
