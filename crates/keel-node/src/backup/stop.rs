//! The point in time at which restoring ends.

use super::frames::damaged;
use crate::error::DbError;
use keel_base::Lsn;
use keel_log::block::{self, FLAG_CONTINUES, FLAG_UNFINISHED, HEADER_BYTES, Header};
use keel_log::voids_unfinished;
use keel_redo::{Group, GroupKind};

/// Looks for the first transaction that was committed after a time, block by block.
pub(super) struct Search {
    after_micros: i64,
    /// Of an append that is not whole yet.
    bytes: Vec<u8>,
    /// Where they begin; `None` before the first append.
    at: Option<Lsn>,
    /// Of the last block.
    flags: u8,
}

impl Search {
    /// `micros` since 1970 UTC.
    pub(super) fn after(micros: i64) -> Search {
        Search { after_micros: micros, bytes: Vec::new(), at: None, flags: 0 }
    }

    /// Looks at the next block. Returns where the records that commit that transaction begin.
    pub(super) fn look(&mut self, header: &Header, payload: &[u8]) -> Result<Option<Lsn>, DbError> {
        let begins = header.flags & FLAG_CONTINUES == 0;
        let mut at = match self.at {
            Some(at) if !voids_unfinished(self.flags, header.flags) => at,
            // The beginning of that append is elsewhere.
            None if !begins => return Ok(None),
            _ => {
                self.bytes.clear();
                header.first_lsn
            }
        };
        self.flags = header.flags;
        self.bytes.extend_from_slice(payload);
        let mut rest = &self.bytes[..];
        while !rest.is_empty() {
            let Some(group) = Group::decode(rest) else {
                if header.flags & FLAG_UNFINISHED != 0 {
                    break;
                }
                return Err(damaged("the log in the backup is damaged"));
            };
            let commits = matches!(group.kind, GroupKind::Whole | GroupKind::Commit);
            if commits && group.argument > self.after_micros {
                return Ok(Some(at));
            }
            at = at.advance(group.bytes.len() as u64);
            rest = &rest[group.bytes.len()..];
        }
        let kept = self.bytes.len() - rest.len();
        self.bytes.drain(..kept);
        self.at = Some(at);
        Ok(None)
    }
}

/// The part of a block before `at`, as a block.
pub(super) fn cut(block: &[u8], header: Header, at: Lsn) -> Vec<u8> {
    let payload_len = u32::try_from(at.0 - header.first_lsn.0).expect("it lies in the block");
    let mut part = block[..HEADER_BYTES + payload_len as usize].to_vec();
    let flags = header.flags & !FLAG_UNFINISHED;
    let hardened = header.hardened.min(at);
    block::seal(&mut part, &Header { payload_len, flags, hardened, ..header });
    part
}
