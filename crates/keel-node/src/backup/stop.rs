//! The point in time, or the transaction, at which restoring ends.

use super::frames::damaged;
use crate::error::DbError;
use keel_base::cipher::Keychain;
use keel_base::env::Random;
use keel_base::{Lsn, TreeId};
use keel_log::block::{self, FLAG_CONTINUES, FLAG_UNFINISHED, HEADER_BYTES, Header};
use keel_log::voids_unfinished;
use keel_redo::{Change, Group, GroupKind, RowRecord};
use std::borrow::Cow;

/// Tells a row by its tree, its key and itself.
pub type IsRow<'a> = dyn Fn(TreeId, &[u8], &[u8]) -> bool + 'a;

/// Where rolling a copy forward ends.
#[derive(Clone, Copy)]
pub enum StopAt<'a> {
    /// Before the first transaction that was committed after this, microseconds since 1970 UTC.
    Time(i64),
    /// At the first transaction whose commit is not before a position.
    Position {
        /// The position, which may be that of the commit (STOPATMARK = 'lsn:…').
        at: Lsn,
        /// Whether that transaction is taken, too.
        inclusive: bool,
    },
    /// At the first transaction that writes a row by which it is told.
    Row {
        /// Whether it is the one.
        is: &'a IsRow<'a>,
        /// Not one that was committed before this, microseconds since 1970 UTC.
        since: i64,
        /// Whether that transaction is taken, too.
        inclusive: bool,
    },
}

impl StopAt<'_> {
    /// Where to stop, if it is a transaction that takes this part of the log.
    fn stops(&self, group: &Group<'_>, begins: Lsn) -> Result<Option<Lsn>, DbError> {
        let ends = begins.advance(group.bytes.len() as u64);
        let at = |inclusive: bool| Some(if inclusive { ends } else { begins });
        Ok(match self {
            StopAt::Time(after) => (group.argument > *after).then_some(begins),
            StopAt::Position { at: position, inclusive } => at(*inclusive).filter(|_| ends >= *position),
            StopAt::Row { is, since, inclusive } => {
                let mut found = false;
                let each = |_, record: RowRecord<'_>| {
                    found |= matches!(record.change, Change::Put(row) if is(record.tree, record.key, row));
                    Ok::<(), DbError>(())
                };
                let walked = (group.argument >= *since).then(|| group.for_each_of(0, 1, each));
                if walked.is_some_and(|whole| whole.is_none()) {
                    return Err(damaged("the log in the backup is damaged"));
                }
                at(*inclusive).filter(|_| found)
            }
        })
    }
}

/// Looks for the transaction to stop at, block by block.
pub(super) struct Search<'a> {
    stop: StopAt<'a>,
    /// Of an append that is not whole yet.
    bytes: Vec<u8>,
    /// Where they begin; `None` before the first append.
    at: Option<Lsn>,
    /// Of the last block.
    flags: u8,
}

impl<'a> Search<'a> {
    pub(super) fn new(stop: StopAt<'a>) -> Search<'a> {
        Search { stop, bytes: Vec::new(), at: None, flags: 0 }
    }

    /// Looks at the next block. Returns where the log is cut off.
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
            if commits && let Some(stop) = self.stop.stops(&group, at)? {
                return Ok(Some(stop));
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

/// A block with its payload decrypted, if it is encrypted.
///
/// # Errors
/// [`DbError::Corrupt`] when its key is not there, or it is not what was sealed.
pub(super) fn opened<'b>(
    keys: &Keychain,
    header: &Header,
    stored: &'b [u8],
) -> Result<Cow<'b, [u8]>, DbError> {
    if header.key() == 0 {
        return Ok(Cow::Borrowed(stored));
    }
    let missing = || damaged(format!("the log in the backup is encrypted with key {}", header.key()));
    let sealer = keys.block_sealer(header.writer()).ok_or_else(missing)?;
    let mut bytes = stored.to_vec();
    if !block::open(&mut bytes, header, &sealer) {
        return Err(damaged("an encrypted block of the log in the backup is not what was sealed"));
    }
    Ok(Cow::Owned(bytes))
}

/// The part of a block before `at`, as a block; of an encrypted one encrypted as if by another writer, since nothing is sealed
/// twice under one nonce.
///
/// # Errors
/// Those of [`opened`].
pub(super) fn cut(
    block: &[u8],
    header: Header,
    at: Lsn,
    (keys, random): (&Keychain, &dyn Random),
) -> Result<Vec<u8>, DbError> {
    let payload_len = u32::try_from(at.0 - header.first_lsn.0).expect("it lies in the block");
    let mut part = opened(keys, &header, block)?[..HEADER_BYTES + payload_len as usize].to_vec();
    let flags = header.flags & !FLAG_UNFINISHED;
    let mut header = Header { payload_len, flags, hardened: header.hardened.min(at), ..header };
    if header.key() != 0 {
        let mut incarnation = [0; 4];
        random.fill(&mut incarnation);
        header.incarnation = u32::from_le_bytes(incarnation);
    }
    block::seal(&mut part, &header, keys.block_sealer(header.writer()).as_ref());
    Ok(part)
}
