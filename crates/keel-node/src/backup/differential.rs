//! What has changed since a full backup.
//!
//! The ranges of keys whose pages were written since ([`BaseRoot::changed_since`]), with all the rows that are in them now;
//! then the log, as in a full backup. Laid over a copy that the full backup was restored to, or that is further on the same
//! path but not further than this, they make the copy that a full backup would have made.
//!
//! **Why that is so.** The full backup and its log end at `E`. What was written after the newest root that holds nothing from
//! behind `E` is in the ranges; everywhere else no row has changed since before `E`: every change is merged by the checkpoint
//! after it, which writes the page anew, whatever the row is in the end. So outside the ranges the copy, which has everything
//! up to `E` or later, has what there is.
//!
//! # A frame of changes
//! Any number of these, one behind the other, ascending:
//!
//! | bytes | field | meaning |
//! | ---: | --- | --- |
//! | 4 + n | lower | length and bytes: the range begins here |
//! | 4 | rows | how many there are |
//! | | | each: key length (4), row length (4), key, row; of a large row that has not changed the length is `0xFFFF_FFFF` |
//! | 4 + n | upper | it ends before this; `0xFFFF_FFFF` alone: it is the last, and has no end |

use super::frames::damaged;
use crate::bytes::{Bytes, length};
use crate::database::Database;
use crate::error::DbError;
use crate::seed::{SeedInfo, SeedSink};
use keel_base::{Epoch, Lsn};
use keel_log::Log;
use keel_store::Direction;
use keel_store::base::{BaseRoot, Cursor};
use std::ops::Bound;
use std::sync::Arc;

/// Bytes of one frame, about.
const CHUNK_BYTES: usize = 1 << 20;
/// Rows that are merged into a copy at a time.
const BATCH_BYTES: usize = 16 << 20;
/// Stands for the length of what is not there.
const NONE: u32 = u32::MAX;

/// The full backup that a differential one refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Base {
    /// Its own identity.
    pub set: [u8; 16],
    /// Everything before this is in it.
    pub last: Lsn,
    /// Checksum of the log's block that ends there.
    pub checksum: u32,
}

/// What a differential backup begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferentialInfo {
    /// What it refers to.
    pub base: Base,
    /// Where epochs begin in its log, as far as that is known.
    pub epochs: Vec<(Epoch, Lsn)>,
    /// What a copy must know.
    pub seed: SeedInfo,
}

impl DifferentialInfo {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = self.base.set.to_vec();
        out.extend_from_slice(&self.base.last.0.to_le_bytes());
        out.extend_from_slice(&self.base.checksum.to_le_bytes());
        out.extend_from_slice(&length(self.epochs.len()).to_le_bytes());
        for (epoch, from) in &self.epochs {
            out.extend_from_slice(&epoch.0.to_le_bytes());
            out.extend_from_slice(&from.0.to_le_bytes());
        }
        out.extend_from_slice(&self.seed.encode());
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<DifferentialInfo> {
        let mut rest = Bytes(bytes);
        let set = rest.take(16)?.try_into().ok()?;
        let (last, checksum, count) = (Lsn(rest.u64()?), rest.u32()?, rest.u32()?);
        let mut epochs = Vec::new();
        for _ in 0..count {
            epochs.push((Epoch(rest.u64()?), Lsn(rest.u64()?)));
        }
        let seed = SeedInfo::decode(rest.0)?;
        Some(DifferentialInfo { base: Base { set, last, checksum }, epochs, seed })
    }

    /// Whether it can be laid over a database that is being restored: that has all of the base, on the same path, and nothing
    /// that is not in here.
    ///
    /// # Errors
    /// When its log cannot be read.
    pub fn fits(&self, db: &Database) -> Result<bool, DbError> {
        let Some(log) = db.log() else { return Ok(false) };
        let (end, base) = (log.flush()?, self.base.last);
        if db.control().family != self.seed.family || end < base || end > self.seed.checkpoint {
            return Ok(false);
        }
        let (own, theirs) = (log.epochs(), &self.epochs);
        let agree = |places: &[(Epoch, Lsn)], other: &[(Epoch, Lsn)]| {
            let mut between = places.iter().filter(|(_, from)| (base..end).contains(from));
            between.all(|(epoch, from)| match epoch_at(other, *from) {
                Some(there) => there == *epoch,
                // It begins later, where no older epoch can be.
                None => other.first().is_none_or(|first| *epoch <= first.0),
            })
        };
        Ok(passes(log, &self.base)? && agree(&own, theirs) && agree(theirs, &own))
    }
}

/// The epoch of a log at a position, as far as it is known.
fn epoch_at(epochs: &[(Epoch, Lsn)], at: Lsn) -> Option<Epoch> {
    epochs.iter().rev().find(|(_, from)| *from <= at).map(|(epoch, _)| *epoch)
}

/// Whether a log is, where a backup ended, the one that the backup was made from; as far as it still has that place.
fn passes(log: &Log, base: &Base) -> Result<bool, DbError> {
    if base.last < log.truncated() {
        return Ok(true);
    }
    Ok(log.checksum_before(base.last)? == Some(base.checksum))
}

/// Hands over what `root` has that changed after a generation, in frames.
pub(super) fn changes(
    root: &Arc<BaseRoot>,
    since: u64,
    take: &mut dyn FnMut(&[u8]) -> Result<(), DbError>,
) -> Result<(), DbError> {
    let mut ranges = root.changed_since(since);
    let mut out = Vec::with_capacity(CHUNK_BYTES + CHUNK_BYTES / 4);
    while let Some(range) = ranges.next_range()? {
        let upper = range.upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let lower = Bound::Included(&range.lower[..]);
        let mut cursor = root.scan(lower, upper, Direction::Forward).large_after(since);
        let (mut count_at, mut rows) = (begin_piece(&mut out, &range.lower), 0);
        while cursor.advance()? {
            put_row(&mut out, &cursor);
            rows += 1;
            if out.len() >= CHUNK_BYTES {
                // The rest of the range is a piece of its own, behind this row.
                let behind = [cursor.key(), &[0]].concat();
                end_piece(&mut out, (count_at, rows), Some(&behind));
                take(&out)?;
                out.clear();
                (count_at, rows) = (begin_piece(&mut out, &behind), 0);
            }
        }
        end_piece(&mut out, (count_at, rows), range.upper.as_deref());
        if out.len() >= CHUNK_BYTES {
            take(&out)?;
            out.clear();
        }
    }
    take(&out)
}

/// Returns where the number of rows is to stand.
fn begin_piece(out: &mut Vec<u8>, lower: &[u8]) -> usize {
    out.extend_from_slice(&length(lower.len()).to_le_bytes());
    out.extend_from_slice(lower);
    out.extend_from_slice(&[0; 4]);
    out.len() - 4
}

fn put_row(out: &mut Vec<u8>, cursor: &Cursor) {
    out.extend_from_slice(&length(cursor.key().len()).to_le_bytes());
    let stored = if cursor.is_old() { NONE } else { length(cursor.row().len()) };
    out.extend_from_slice(&stored.to_le_bytes());
    out.extend_from_slice(cursor.key());
    out.extend_from_slice(cursor.row());
}

fn end_piece(out: &mut Vec<u8>, (count_at, rows): (usize, u32), upper: Option<&[u8]>) {
    out[count_at..count_at + 4].copy_from_slice(&rows.to_le_bytes());
    match upper {
        Some(upper) => {
            out.extend_from_slice(&length(upper.len()).to_le_bytes());
            out.extend_from_slice(upper);
        }
        None => out.extend_from_slice(&NONE.to_le_bytes()),
    }
}

/// A key with its row; without one, the row is what it was.
type Changed<'a> = (&'a [u8], Option<&'a [u8]>);

/// A range with what is in it now.
struct Piece<'a> {
    lower: &'a [u8],
    rows: Vec<Changed<'a>>,
    upper: Option<&'a [u8]>,
}

/// The pieces of a frame; `None` when it is none. `after` is where the frame before ended, and becomes where this one does:
/// `None` is the end of all keys.
fn pieces<'a>(bytes: &'a [u8], after: &mut Option<Vec<u8>>) -> Option<Vec<Piece<'a>>> {
    let (mut rest, mut found) = (Bytes(bytes), Vec::new());
    while !rest.0.is_empty() {
        let lower = rest.sized()?;
        if lower < after.as_deref()? {
            return None;
        }
        let count = rest.u32()?;
        let mut rows: Vec<Changed<'a>> = Vec::new();
        for _ in 0..count {
            let (key_length, row_length) = (rest.u32()?, rest.u32()?);
            let key = rest.take(key_length as usize)?;
            let row = if row_length == NONE { None } else { Some(rest.take(row_length as usize)?) };
            if key < lower || rows.last().is_some_and(|last| key <= last.0) {
                return None;
            }
            rows.push((key, row));
        }
        let upper_length = rest.u32()?;
        let upper = if upper_length == NONE { None } else { Some(rest.take(upper_length as usize)?) };
        let inside = |key: &[u8]| upper.is_none_or(|upper| key < upper);
        if rows.last().is_some_and(|last| !inside(last.0)) || upper.is_some_and(|upper| upper < lower) {
            return None;
        }
        *after = upper.map(<[u8]>::to_vec);
        found.push(Piece { lower, rows, upper });
    }
    Some(found)
}

/// Follows the frames of changes without doing anything with them.
pub(super) struct Followed(Option<Vec<u8>>);

impl Followed {
    pub(super) fn new() -> Followed {
        Followed(Some(Vec::new()))
    }

    /// Whether it is a frame of changes, and its ranges come behind those before.
    pub(super) fn follow(&mut self, bytes: &[u8]) -> bool {
        pieces(bytes, &mut self.0).is_some()
    }

    /// Whether the last range is through.
    pub(super) fn is_through(&self) -> bool {
        self.0.is_none()
    }
}

/// Lays changes over the rows that a database has, into a copy that is being made.
pub(super) struct Overlay<'s> {
    old: Cursor,
    /// The cursor is on a row that is to be looked at yet.
    on_row: bool,
    after: Option<Vec<u8>>,
    sink: &'s SeedSink,
    batch: Vec<(Vec<u8>, Vec<u8>)>,
    batch_bytes: usize,
    rows: u64,
}

impl<'s> Overlay<'s> {
    pub(super) fn new(old: &Arc<BaseRoot>, sink: &'s SeedSink) -> Result<Overlay<'s>, DbError> {
        let mut old = old.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
        let on_row = old.advance()?;
        let (after, batch) = (Some(Vec::new()), Vec::new());
        Ok(Overlay { old, on_row, after, sink, batch, batch_bytes: 0, rows: 0 })
    }

    /// Takes the next frame of changes.
    pub(super) fn apply(&mut self, bytes: &[u8]) -> Result<(), DbError> {
        let pieces = pieces(bytes, &mut self.after);
        let pieces = pieces.ok_or_else(|| damaged("changes in the backup are damaged or out of place"))?;
        for piece in pieces {
            self.keep_before(piece.lower)?;
            for (key, row) in piece.rows {
                match row {
                    Some(row) => self.put(key.to_vec(), row.to_vec())?,
                    None => self.keep_one(key)?,
                }
            }
            while self.on_row && piece.upper.is_none_or(|upper| self.old.key() < upper) {
                self.on_row = self.old.advance()?;
            }
        }
        Ok(())
    }

    /// Takes over the rows before a key.
    fn keep_before(&mut self, key: &[u8]) -> Result<(), DbError> {
        while self.on_row && self.old.key() < key {
            self.put(self.old.key().to_vec(), self.old.row().to_vec())?;
            self.on_row = self.old.advance()?;
        }
        Ok(())
    }

    /// Takes over one row, which must be there.
    fn keep_one(&mut self, key: &[u8]) -> Result<(), DbError> {
        while self.on_row && self.old.key() < key {
            self.on_row = self.old.advance()?;
        }
        if !self.on_row || self.old.key() != key {
            return Err(damaged("a row that the backup refers to is not there"));
        }
        self.put(key.to_vec(), self.old.row().to_vec())
    }

    fn put(&mut self, key: Vec<u8>, row: Vec<u8>) -> Result<(), DbError> {
        self.batch_bytes += key.len() + row.len();
        self.batch.push((key, row));
        self.rows += 1;
        if self.batch_bytes >= BATCH_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), DbError> {
        self.batch_bytes = 0;
        self.sink.put(&std::mem::take(&mut self.batch))
    }

    /// Everything is through; `rows` is how many there must be.
    pub(super) fn finish(mut self, rows: u64) -> Result<(), DbError> {
        if self.after.is_some() {
            return Err(damaged("changes of the backup are missing"));
        }
        self.write()?;
        if self.rows != rows {
            let found = self.rows;
            return Err(damaged(format!("{found} rows where the backup was made of {rows}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a range begins, its keys, where it ends.
    type Range<'a> = (&'a [u8], &'a [&'a [u8]], Option<&'a [u8]>);

    #[test]
    fn a_frame_whose_ranges_or_keys_are_out_of_order_is_none() {
        let frame = |ranges: &[Range<'_>]| {
            let mut out = Vec::new();
            for (lower, keys, upper) in ranges {
                let at = begin_piece(&mut out, lower);
                for key in *keys {
                    out.extend_from_slice(&length(key.len()).to_le_bytes());
                    out.extend_from_slice(&1u32.to_le_bytes());
                    out.extend_from_slice(key);
                    out.push(b'r');
                }
                end_piece(&mut out, (at, length(keys.len())), *upper);
            }
            out
        };
        let good = frame(&[(b"", &[b"a", b"b"], Some(b"c")), (b"c", &[], Some(b"d")), (b"e", &[b"f"], None)]);
        let mut followed = Followed::new();
        assert!(followed.follow(&good) && followed.is_through());
        assert!(!followed.follow(&good), "nothing comes behind the end");
        for bad in [
            frame(&[(b"b", &[b"a"], None)]),
            frame(&[(b"", &[b"b", b"a"], None)]),
            frame(&[(b"", &[b"a", b"a"], None)]),
            frame(&[(b"", &[b"c"], Some(b"c"))]),
            frame(&[(b"b", &[], Some(b"a"))]),
            frame(&[(b"b", &[], Some(b"c")), (b"a", &[], None)]),
            good[..good.len() - 1].to_vec(),
        ] {
            assert!(!Followed::new().follow(&bad), "{bad:?}");
        }
    }
}
