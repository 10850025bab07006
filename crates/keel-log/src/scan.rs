//! Reading hardened blocks in order, from any position still held.

use crate::block::{self, BLOCK_BYTES_MAX, Header, Invalid, SECTOR_BYTES};
use crate::error::LogError;
use crate::log::Log;
use crate::segment::{SEGMENT_HEADER_BYTES, Segment, TAIL_BYTES_MIN};
use keel_base::Lsn;
use std::io;
use std::ops::Range;
use std::sync::Arc;

const WINDOW_BYTES: usize = 512 << 10;
const _: () = assert!(WINDOW_BYTES > 2 * BLOCK_BYTES_MAX);

/// A stretch of one segment in memory, read ahead of the blocks taken from it.
#[derive(Default)]
pub(crate) struct Window {
    bytes: Vec<u8>,
    /// File offset of `bytes[0]`.
    at: u64,
}

impl Window {
    /// Forgets what was read: another segment, or the file may have changed.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
    }

    fn range(&self, offset: u64, len: usize) -> Option<Range<usize>> {
        let start = usize::try_from(offset.checked_sub(self.at)?).ok()?;
        let end = start.checked_add(len)?;
        (end <= self.bytes.len()).then_some(start..end)
    }

    fn load(&mut self, segment: &Segment, offset: u64) -> io::Result<()> {
        self.bytes.resize(WINDOW_BYTES, 0);
        self.at = offset;
        let n = segment.file.read_at(&mut self.bytes, offset)?;
        self.bytes.truncate(n);
        Ok(())
    }

    /// The block at `offset`, checked.
    pub(crate) fn block(&mut self, segment: &Segment, offset: u64) -> io::Result<Result<Header, Invalid>> {
        if self.range(offset, SECTOR_BYTES).is_none() {
            self.load(segment, offset)?;
        }
        let Some(head) = self.range(offset, SECTOR_BYTES) else { return Ok(Err(Invalid::Short)) };
        let header = match block::decode_header(&self.bytes[head]) {
            Ok(header) => header,
            Err(invalid) => return Ok(Err(invalid)),
        };
        if self.range(offset, header.stored_bytes()).is_none() {
            self.load(segment, offset)?;
        }
        let Some(whole) = self.range(offset, header.stored_bytes()) else { return Ok(Err(Invalid::Short)) };
        Ok(block::decode(&self.bytes[whole]))
    }

    /// The bytes of a block that [`Window::block`] has just found: header and payload.
    pub(crate) fn stored(&self, offset: u64, header: &Header) -> &[u8] {
        let len = block::HEADER_BYTES + header.payload_len as usize;
        let range = self.range(offset, len).expect("the block was loaded just now");
        &self.bytes[range]
    }
}

/// A block lent by a [`Scanner`].
#[derive(Clone, Copy, Debug)]
pub struct ScannedBlock<'a> {
    /// The decoded header.
    pub header: Header,
    /// Header and payload as stored.
    pub bytes: &'a [u8],
}

impl<'a> ScannedBlock<'a> {
    /// The payload.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[block::HEADER_BYTES..]
    }
}

/// Walks the hardened blocks of a log. At the end it can be asked again later.
pub struct Scanner {
    log: Log,
    segment: Arc<Segment>,
    sequence: u64,
    /// File offset of the next block.
    offset: u64,
    /// Its first LSN.
    next_lsn: Lsn,
    /// Checksum of the block before it; unknown after a start in the middle of a segment.
    previous: Option<u32>,
    window: Window,
}

impl Scanner {
    pub(crate) fn new(log: Log, from: Lsn) -> Result<Scanner, LogError> {
        let start = log.truncated();
        let (segment, sequence, next_lsn, offset) = {
            let directory = log.shared.directory.lock();
            let Some(index) = directory.live.iter().rposition(|s| s.first_lsn <= from) else {
                return Err(LogError::Truncated { wanted: from, start });
            };
            let live = &directory.live[index];
            let mark = live.marks[..live.marks.partition_point(|m| m.0 <= from)].last();
            let (lsn, offset) = mark.copied().unwrap_or((live.first_lsn, SEGMENT_HEADER_BYTES as u64));
            (Arc::clone(&live.segment), live.sequence, lsn, offset)
        };
        let mut scanner =
            Scanner { log, segment, sequence, offset, next_lsn, previous: None, window: Window::default() };
        // Step over the blocks that end before the wanted position.
        while scanner.next_lsn < from {
            let (offset, lsn, previous) = (scanner.offset, scanner.next_lsn, scanner.previous);
            let sequence = scanner.sequence;
            match scanner.next()? {
                Some(block) if block.header.end_lsn() <= from => {}
                Some(_) => {
                    assert!(
                        scanner.sequence == sequence,
                        "the directory names the segment that holds a position"
                    );
                    (scanner.offset, scanner.next_lsn, scanner.previous) = (offset, lsn, previous);
                    break;
                }
                None => break,
            }
        }
        Ok(scanner)
    }

    /// Position of the next block's first byte.
    pub fn position(&self) -> Lsn {
        self.next_lsn
    }

    /// The next hardened block; `None` when there is none yet.
    #[allow(clippy::should_implement_trait)] // lends its block
    pub fn next(&mut self) -> Result<Option<ScannedBlock<'_>>, LogError> {
        if self.next_lsn >= self.log.hardened() {
            return Ok(None);
        }
        if self.segment.size - self.offset < TAIL_BYTES_MIN {
            self.enter_next_segment()?;
        }
        let offset = self.offset;
        let header = match self.window.block(&self.segment, offset)? {
            Ok(header) if self.fits(&header) => header,
            // What was read ahead may be older than the block: look at the file again before judging.
            _ => {
                self.window.clear();
                match self.window.block(&self.segment, offset)? {
                    Ok(header) if self.fits(&header) => header,
                    Ok(_) => return Err(self.lost("another block is in its place")),
                    Err(invalid) => return Err(self.lost(&format!("not a valid block ({invalid:?})"))),
                }
            }
        };
        self.offset += header.stored_bytes() as u64;
        self.next_lsn = header.end_lsn();
        self.previous = Some(header.checksum);
        Ok(Some(ScannedBlock { header, bytes: self.window.stored(offset, &header) }))
    }

    fn fits(&self, header: &Header) -> bool {
        header.log_id == self.log.log_id()
            && header.first_lsn == self.next_lsn
            && self.previous.is_none_or(|previous| previous == header.previous)
    }

    fn enter_next_segment(&mut self) -> Result<(), LogError> {
        let next = {
            let directory = self.log.shared.directory.lock();
            let found = directory.live.iter().find(|s| s.sequence == self.sequence + 1);
            found.map(|s| (Arc::clone(&s.segment), s.first_lsn))
        };
        match next {
            Some((segment, first_lsn)) if first_lsn == self.next_lsn => {
                self.segment = segment;
                self.sequence += 1;
                self.offset = SEGMENT_HEADER_BYTES as u64;
                self.window.clear();
                Ok(())
            }
            _ => Err(self.lost("the segment that follows is missing")),
        }
    }

    fn lost(&self, what: &str) -> LogError {
        let start = self.log.truncated();
        if self.next_lsn < start {
            return LogError::Truncated { wanted: self.next_lsn, start };
        }
        LogError::corrupt(self.next_lsn, format!("{what}, file {}", self.segment.path.display()))
    }
}
