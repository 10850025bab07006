//! [`LogSource`]: the hardened part of a log as chunks of whole groups, up to a limit that may move.
//!
//! Blocks may end inside a group. What is not whole yet is kept until the rest comes; when instead a block begins a new
//! append ([`keel_log::voids_unfinished`]), the writer of the beginning is gone and those bytes are void.

use crate::apply::{Chunk, RedoError, Source};
use crate::record::GROUP_HEADER_BYTES;
use keel_base::Lsn;
use keel_log::block::FLAG_UNFINISHED;
use keel_log::{Log, LogError, Scanner, voids_unfinished};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A chunk is ended at the first chance after this many bytes.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads the hardened part of a log, from `from` on (which begins a group).
pub struct LogSource {
    scanner: Scanner,
    from: Lsn,
    limit: Option<Arc<AtomicU64>>,
    /// Bytes read and not handed out, of which `whole` are whole groups.
    bytes: Vec<u8>,
    first_lsn: Lsn,
    whole: usize,
    /// Flags of the last block.
    flags: u8,
}

impl LogSource {
    /// A source that starts at `from`.
    pub fn new(log: &Log, from: Lsn) -> Result<LogSource, LogError> {
        Ok(LogSource {
            scanner: log.scan(from)?.taking(),
            from,
            limit: None,
            bytes: Vec::new(),
            first_lsn: from,
            whole: 0,
            flags: 0,
        })
    }

    /// The same, showing only blocks that end at or before `limit`, which may grow.
    #[must_use]
    pub fn up_to(mut self, limit: Arc<AtomicU64>) -> LogSource {
        self.limit = Some(limit);
        self
    }

    /// The whole groups gathered so far.
    fn hand_out(&mut self) -> Option<Chunk> {
        if self.whole == 0 {
            return None;
        }
        let rest = self.bytes.split_off(self.whole);
        let bytes = std::mem::replace(&mut self.bytes, rest);
        let chunk = Chunk { first_lsn: self.first_lsn, bytes };
        self.first_lsn = chunk.end();
        self.whole = 0;
        Some(chunk)
    }
}

impl Source for LogSource {
    fn next(&mut self) -> Result<Option<Chunk>, RedoError> {
        if let Some(limit) = &self.limit {
            self.scanner.set_limit(Lsn(limit.load(Ordering::Acquire)));
        }
        while self.whole < CHUNK_BYTES {
            let ahead = self.scanner.ahead();
            let block = match self.scanner.next_open() {
                // What comes before it can be applied.
                Err(LogError::Locked { .. }) if self.whole > 0 => break,
                block => block?,
            };
            let Some(block) = block else { break };
            let (header, skip) = (block.header, self.from.0.saturating_sub(block.header.first_lsn.0));
            let first_lsn = header.first_lsn.max(self.from);
            let payload = usize::try_from(skip).ok().and_then(|skip| block.payload().get(skip..));
            let payload = payload.ok_or(RedoError::Damaged { at: first_lsn })?;
            if self.bytes.capacity() == 0 {
                let ahead = usize::try_from(ahead).unwrap_or(usize::MAX);
                self.bytes.reserve(ahead.clamp(payload.len(), CHUNK_BYTES * 5 / 4));
            }
            let void = voids_unfinished(self.flags, header.flags) && self.whole < self.bytes.len();
            self.flags = header.flags;
            if void {
                self.bytes.truncate(self.whole);
                let payload = payload.to_vec();
                let before = self.hand_out();
                self.bytes = payload;
                self.first_lsn = first_lsn;
                self.whole = whole_groups(&self.bytes, 0, header.flags);
                if before.is_some() {
                    return Ok(before);
                }
                continue;
            }
            if self.bytes.is_empty() {
                self.first_lsn = first_lsn;
            }
            self.bytes.extend_from_slice(payload);
            self.whole = whole_groups(&self.bytes, self.whole, header.flags);
        }
        Ok(self.hand_out())
    }
}

/// How many of `bytes`, of which the first `whole` are whole groups, are. A block that does not end inside an append ends
/// with a group: if it does not look so, whoever applies it finds the damage.
fn whole_groups(bytes: &[u8], whole: usize, flags: u8) -> usize {
    if flags & FLAG_UNFINISHED == 0 {
        return bytes.len();
    }
    let mut at = whole;
    while let Some(length) = bytes.get(at + 8..at + 12) {
        let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]) as usize;
        if length < GROUP_HEADER_BYTES || length > bytes.len() - at {
            break;
        }
        at += length;
    }
    at
}
