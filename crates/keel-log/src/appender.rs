//! Appending: where the next bytes go, and the group of blocks that the next flush writes.

use crate::aligned::AlignedBytes;
use crate::block::{self, BLOCK_BYTES_MAX, HEADER_BYTES};
use crate::segment::{self, SEGMENT_HEADER_BYTES, Segment, TAIL_BYTES_MIN};
use keel_base::{Epoch, Lsn};
use std::collections::VecDeque;
use std::sync::Arc;

/// What appending needs, under one short lock.
pub(crate) struct Appender {
    pub(crate) group: Group,
    /// Where the next payload byte goes.
    pub(crate) next_lsn: Lsn,
    /// The segment in which blocks are placed now.
    pub(crate) segment: Arc<Segment>,
    /// File offset of the block being filled, or of the next one.
    pub(crate) position: u64,
    /// The block being filled, if any: always the last of the group.
    pub(crate) open: Option<OpenBlock>,
    /// Free segments, ready for use, first to be used first.
    pub(crate) spares: VecDeque<Arc<Segment>>,
    /// Segments that were given back, oldest first; their headers must be [wiped](crate::segment) before they are used.
    pub(crate) retired: VecDeque<Arc<Segment>>,
    /// Threads that wait until there is more room: nobody may rest while he makes some.
    pub(crate) waiting_for_room: usize,
    /// Sequence of `segment`.
    pub(crate) sequence: u64,
    /// The term in which local appends are taken; 0 when none are.
    pub(crate) term: u64,
    /// The last term there was.
    pub(crate) last_term: u64,
    /// Local appends wait.
    pub(crate) held: bool,
    /// Whether the last block of the group, or of the log when the group is empty, was received.
    pub(crate) receiving: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct OpenBlock {
    /// Payload bytes it can hold in all.
    capacity: usize,
}

/// The bytes that the next flush writes, in stored form but for the headers' contents.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) bytes: AlignedBytes,
    pub(crate) blocks: Vec<PlannedBlock>,
    pub(crate) extents: Vec<Extent>,
    /// Fillings in a row that needed no more than [`KEEP_BYTES`].
    small_fillings: u32,
}

/// A group's buffer that is never given back.
const KEEP_BYTES: usize = 4 << 20;
/// Small fillings after which a larger buffer is: a load fills it again and again, and fetching it anew each time, page by
/// page, costs more than everything else that is done to its log.
const SMALL_FILLINGS_MAX: u32 = 64;

pub(crate) struct PlannedBlock {
    /// Offset of its header in the group's bytes.
    pub(crate) start: usize,
    pub(crate) first_lsn: Lsn,
    pub(crate) payload_len: usize,
    pub(crate) flags: u8,
    /// Epoch and checksum of a block that came sealed from another replica.
    pub(crate) received: Option<(Epoch, u32)>,
}

/// A run of the group's bytes that goes to one place.
pub(crate) struct Extent {
    pub(crate) segment: Arc<Segment>,
    /// File offset of its first byte.
    pub(crate) offset: u64,
    /// Offset of its first byte in the group.
    pub(crate) start: usize,
    /// Set when the extent begins with the header of a segment entered here: its sequence and first LSN.
    pub(crate) enters: Option<(u64, Lsn)>,
}

impl Group {
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.small_fillings = if self.bytes.len() > KEEP_BYTES { 0 } else { self.small_fillings + 1 };
        self.bytes.clear();
        // A burst must not pin its memory for ever.
        if self.small_fillings >= SMALL_FILLINGS_MAX {
            self.small_fillings = 0;
            self.bytes.shrink_to(KEEP_BYTES);
        }
        self.blocks.clear();
        self.extents.clear();
    }
}

impl Appender {
    pub(crate) fn new(segment: Arc<Segment>, sequence: u64, position: u64, next_lsn: Lsn) -> Appender {
        Appender {
            group: Group::default(),
            next_lsn,
            segment,
            position,
            open: None,
            spares: VecDeque::new(),
            retired: VecDeque::new(),
            waiting_for_room: 0,
            sequence,
            term: 1,
            last_term: 1,
            held: false,
            receiving: false,
        }
    }

    /// Payload bytes that certainly fit into the segments at hand.
    pub(crate) fn room(&self) -> u64 {
        let here = match (self.open, self.group.blocks.last()) {
            (Some(open), Some(block)) => {
                let after = self.position + block::stored_bytes(open.capacity) as u64;
                (open.capacity - block.payload_len) as u64 + segment::room_after(after, self.segment.size)
            }
            _ => segment::room_after(self.position, self.segment.size),
        };
        let spare: u64 =
            self.spares.iter().map(|s| segment::room_after(SEGMENT_HEADER_BYTES as u64, s.size)).sum();
        here + spare
    }

    /// Ends the block being filled: pads it and moves the position behind it.
    pub(crate) fn close_block(&mut self, unfinished: bool) {
        if self.open.take().is_none() {
            return;
        }
        let block = self.group.blocks.last_mut().expect("an open block is in the group");
        if unfinished {
            block.flags |= block::FLAG_UNFINISHED;
        }
        let stored = block::stored_bytes(block.payload_len);
        self.group.bytes.extend_to(block.start + stored);
        self.position += stored as u64;
    }

    fn open_block(&mut self, continues: bool) {
        assert!(self.open.is_none(), "one block is filled at a time");
        self.place(TAIL_BYTES_MIN);
        let rest = usize::try_from(self.segment.size - self.position).unwrap_or(usize::MAX);
        let start = self.group.bytes.len();
        self.group.bytes.extend_from_slice(&[0; HEADER_BYTES]);
        let flags = if continues { block::FLAG_CONTINUES } else { 0 };
        let first_lsn = self.next_lsn;
        self.group.blocks.push(PlannedBlock { start, first_lsn, payload_len: 0, flags, received: None });
        self.open = Some(OpenBlock { capacity: rest.min(BLOCK_BYTES_MAX) - HEADER_BYTES });
    }

    /// Makes sure that `bytes` of the present segment are free, or enters the next, and that the group says where its
    /// next byte goes.
    pub(crate) fn place(&mut self, bytes: u64) {
        if self.segment.size - self.position < bytes.max(TAIL_BYTES_MIN) {
            self.enter_next_segment();
        } else if self.group.extents.is_empty() {
            let start = self.group.bytes.len();
            let (segment, offset) = (Arc::clone(&self.segment), self.position);
            self.group.extents.push(Extent { segment, offset, start, enters: None });
        }
    }

    fn enter_next_segment(&mut self) {
        self.segment = self.spares.pop_front().expect("room was made sure of before the copy");
        self.sequence += 1;
        let start = self.group.bytes.len();
        self.group.bytes.extend_from_slice(&[0; SEGMENT_HEADER_BYTES]);
        self.group.extents.push(Extent {
            segment: Arc::clone(&self.segment),
            offset: 0,
            start,
            enters: Some((self.sequence, self.next_lsn)),
        });
        self.position = SEGMENT_HEADER_BYTES as u64;
    }

    /// Copies an append that announces keys into a block of its own.
    pub(crate) fn copy_keys(&mut self, bytes: &[u8]) {
        self.close_block(false);
        self.copy(bytes);
        self.close_block(false);
        let block = self.group.blocks.last_mut().expect("it was filled just now");
        assert!(block.payload_len == bytes.len(), "an announcement of keys fits into any block");
        block.flags |= block::FLAG_KEYS;
    }

    /// Goes on in the next segment, whatever room there is here.
    pub(crate) fn leave_segment(&mut self) {
        self.close_block(false);
        self.position = self.segment.size;
    }

    pub(crate) fn copy(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.open.is_none() {
                self.open_block(rest.len() < bytes.len());
            }
            let open = self.open.expect("opened just now");
            let block = self.group.blocks.last_mut().expect("an open block is in the group");
            let n = rest.len().min(open.capacity - block.payload_len);
            self.group.bytes.extend_from_slice(&rest[..n]);
            block.payload_len += n;
            let full = block.payload_len == open.capacity;
            self.next_lsn = self.next_lsn.advance(n as u64);
            rest = &rest[n..];
            if full {
                self.close_block(!rest.is_empty());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_keeps_its_buffer_and_a_burst_gives_it_back() {
        let mut group = Group::default();
        let fill = |group: &mut Group, bytes: usize| {
            group.bytes.extend_to(bytes);
            group.clear();
        };
        fill(&mut group, 2 * KEEP_BYTES);
        (1..SMALL_FILLINGS_MAX).for_each(|_| fill(&mut group, 100));
        fill(&mut group, 2 * KEEP_BYTES);
        (1..SMALL_FILLINGS_MAX).for_each(|_| fill(&mut group, 100));
        assert!(group.bytes.capacity() > KEEP_BYTES);
        fill(&mut group, 100);
        assert_eq!(group.bytes.capacity(), 0);
    }
}
