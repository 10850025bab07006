//! What callers say to the base tree and what it reports.

use keel_base::Lsn;
use keel_base::cipher::Keychain;
use std::sync::Arc;

/// How a base file is opened or created.
#[derive(Clone, Debug)]
pub struct BaseOptions {
    /// False for tempdb: nothing is synced, the file is worthless after a restart.
    pub durable: bool,
    /// Identity of the database; used by `create`, read back by `open`.
    pub guid: [u8; 16],
    /// The database's keys; empty while it is not encrypted.
    pub keys: Arc<Keychain>,
}

impl Default for BaseOptions {
    fn default() -> Self {
        BaseOptions { durable: true, guid: [0; 16], keys: Arc::default() }
    }
}

/// Which way a cursor walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Reverse,
}

/// One change of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<V> {
    /// The row is now this, whether it existed or not.
    Put(V),
    /// The row is gone; no error when it never was.
    Delete,
    /// The row is what [`MergeOptions::fold`] makes of the old row (if any) and these bytes.
    Fold(V),
}

impl<V> From<Option<V>> for Change<V> {
    fn from(row: Option<V>) -> Self {
        row.map_or(Change::Delete, Change::Put)
    }
}

/// Paces the bytes a merge writes.
pub trait Throttle: Sync {
    /// Called before `bytes` are written; may sleep. False stops the merge with
    /// [`BaseError::Cancelled`](super::BaseError::Cancelled).
    fn pace(&self, bytes: u64) -> bool;

    /// Told now and then how much of the work is done, of how much there was at the beginning, as bytes written.
    fn gone_through(&self, _done: u64, _of: u64) {}

    /// Called now and then in work that writes nothing, with no lock held; may sleep.
    fn breathe(&self) {}
}

/// Writes as fast as the disk takes it.
pub struct NoThrottle;

impl Throttle for NoThrottle {
    fn pace(&self, _bytes: u64) -> bool {
        true
    }
}

/// What became of a row and a [`Change::Fold`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folded {
    /// The new row.
    Row,
    /// None.
    Gone,
    /// The old row is not one: the merge fails.
    Damaged,
}

/// Makes the new row (appended to the empty vector) from key, old row and the bytes of a [`Change::Fold`].
pub type FoldFn<'a> = dyn Fn(&[u8], Option<&[u8]>, &[u8], &mut Vec<u8>) -> Folded + Sync + 'a;

/// What a merge publishes beside the rows, and how it goes about it.
#[derive(Clone, Copy)]
pub struct MergeOptions<'a> {
    /// The checkpoint LSN after the last chunk.
    pub checkpoint_lsn: Lsn,
    /// Highest LSN of any change in this merge; every chunk publishes it.
    pub highest_lsn: Lsn,
    /// New opaque metadata, published with the last chunk; `None` keeps the old.
    pub meta: Option<&'a [u8]>,
    /// A chunk is published after about this many bytes of new pages.
    pub chunk_bytes: usize,
    /// Paces writes.
    pub throttle: &'a dyn Throttle,
    /// Resolves [`Change::Fold`]; arguments are key, old row, patch, output. Without it a `Fold` is an input error.
    pub fold: Option<&'a FoldFn<'a>>,
}

impl MergeOptions<'_> {
    /// Unthrottled, 16 MB chunks, checkpoint at `lsn`.
    pub fn at(lsn: Lsn) -> MergeOptions<'static> {
        MergeOptions {
            checkpoint_lsn: lsn,
            highest_lsn: lsn,
            meta: None,
            chunk_bytes: 16 << 20,
            throttle: &NoThrottle,
            fold: None,
        }
    }
}

/// What a merge did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// Changes consumed.
    pub changes: u64,
    /// Chunks published.
    pub chunks: u64,
    /// Pages written, bookkeeping included.
    pub pages_written: u64,
    /// Pages replaced or dropped.
    pub pages_freed: u64,
}

/// Reads and writes of a base file since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoStats {
    /// Read requests.
    pub reads: u64,
    /// Bytes they asked for.
    pub read_bytes: u64,
    /// Time they took.
    pub read_nanos: u64,
    /// Write requests.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time they took, syncs left out.
    pub write_nanos: u64,
}

/// Shape of the tree under a root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BaseStats {
    /// Rows of all trees.
    pub rows: u64,
    /// Levels, leaves included; 0 when empty.
    pub height: u32,
    /// Pages of the file when this root was published, free ones included.
    pub file_pages: u64,
    /// Pages this root reaches, superblocks and space map included.
    pub used_pages: u64,
}
