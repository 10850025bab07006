//! The logical checksum: replicas at the same LSN hold the same rows.

use crate::database::Database;
use crate::error::DbError;
use crate::read::{ReadView, View};
use keel_base::TreeId;
use keel_store::{Direction, ReadMode};
use std::collections::BTreeMap;
use std::ops::Bound;

/// What the rows of one tree come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeChecksum {
    /// Number of rows.
    pub rows: u64,
    /// CRC32C over keys and rows in key order in the high half, sum of the rows' own checksums in the low half.
    pub sum: u64,
}

impl Database {
    /// Checksums of the rows that `view` shows, by tree; trees without rows are left out. Equal on all replicas for views at
    /// the same position, whatever was checkpointed where. Reads everything.
    ///
    /// # Errors
    /// [`DbError::Invalid`] when the view is not a snapshot.
    pub fn logical_checksum(&self, view: &ReadView) -> Result<BTreeMap<TreeId, TreeChecksum>, DbError> {
        let View::Snapshot(snapshot) = &view.0 else {
            return Err(DbError::Invalid("a logical checksum needs a snapshot".into()));
        };
        let mut sums = BTreeMap::new();
        for tree in self.store().trees(snapshot)? {
            let unbounded = (Bound::Unbounded, Bound::Unbounded);
            let mode = ReadMode::Snapshot(snapshot);
            let mut cursor = self.store().scan(mode, None, tree, unbounded, Direction::Forward);
            let mut checksum = TreeChecksum::default();
            let (mut ordered, mut summed) = (0, 0u32);
            while let Some((key, row)) = cursor.next()? {
                let length = u32::try_from(key.len()).expect("keys are short").to_le_bytes();
                let one = crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(&length), key), &row);
                ordered = crc32c::crc32c_append(ordered, &one.to_le_bytes());
                summed = summed.wrapping_add(one);
                checksum.rows += 1;
            }
            if checksum.rows > 0 {
                checksum.sum = u64::from(ordered) << 32 | u64::from(summed);
                sums.insert(tree, checksum);
            }
        }
        Ok(sums)
    }
}
