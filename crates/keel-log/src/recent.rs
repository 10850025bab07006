//! [`Recent`]: received blocks that were hardened lately, still in memory for whoever applies them.
//!
//! A copy that follows reads its log right behind the flush. The files would be the wrong place for that: they are written
//! past the system's cache, so each look would go to the disk, and fetch a whole window of it for the one new block. So the
//! flush leaves here what it has hardened, and the one scanner that [takes](crate::Scanner::taking) lets go of what it
//! passes. When nobody takes, or the taker is behind, the oldest blocks go first, and the files have them.

use crate::block::Header;
use crate::segment::Segment;
use keel_base::Lsn;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Stored bytes of one log that wait here at most: some blocks of full size, and little beside what applying them takes.
pub(crate) const RECENT_BYTES_MAX: usize = 512 << 10;

/// A block as it was stored, and where.
pub(crate) struct RecentBlock {
    pub(crate) header: Header,
    /// Header and payload, without padding.
    pub(crate) bytes: Vec<u8>,
    pub(crate) segment: Arc<Segment>,
    /// Sequence of the segment.
    pub(crate) sequence: u64,
    /// File offset of the block.
    pub(crate) offset: u64,
}

/// What is known of a position.
pub(crate) enum Found {
    /// The block that begins there.
    Block(RecentBlock),
    /// That block ends behind the limit.
    Behind,
    /// Nothing.
    Missing,
}

/// See the module. Its lock is taken last.
#[derive(Default)]
pub(crate) struct Recent {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// In log order; there may be holes.
    blocks: VecDeque<RecentBlock>,
    bytes: usize,
}

impl Kept {
    fn pop(&mut self) -> Option<RecentBlock> {
        let block = self.blocks.pop_front()?;
        self.bytes -= block.bytes.len();
        Some(block)
    }
}

impl Recent {
    /// Keeps a block that has just been hardened.
    pub(crate) fn push(&self, block: RecentBlock) {
        let mut kept = self.kept.lock();
        kept.bytes += block.bytes.len();
        kept.blocks.push_back(block);
        while kept.bytes > RECENT_BYTES_MAX {
            kept.pop();
        }
    }

    /// The block that begins at `at`, if it ends at or before `limit`: then it is let go, as is everything before `at`.
    pub(crate) fn take(&self, at: Lsn, limit: Lsn) -> Found {
        let mut kept = self.kept.lock();
        while kept.blocks.front().is_some_and(|block| block.header.first_lsn < at) {
            kept.pop();
        }
        match kept.blocks.front().map(|block| block.header) {
            Some(first) if first.first_lsn == at && first.end_lsn() > limit => Found::Behind,
            Some(first) if first.first_lsn == at => kept.pop().map_or(Found::Missing, Found::Block),
            _ => Found::Missing,
        }
    }

    /// Lets everything go.
    pub(crate) fn clear(&self) {
        *self.kept.lock() = Kept::default();
    }
}
