//! Reading hardened blocks in order, from any position still held.

use crate::block::{self, BLOCK_BYTES_MAX, Header, Invalid, SECTOR_BYTES};
use crate::error::LogError;
use crate::log::Log;
use crate::recent::{Found, RecentBlock};
use crate::segment::{SEGMENT_HEADER_BYTES, Segment, TAIL_BYTES_MIN};
use keel_base::Lsn;
use keel_base::cipher::{BlockSealer, BlockWriter};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    /// Header and payload, as stored or [opened](Scanner::next_open).
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
    /// [`Log::cut`]s seen.
    cuts: u64,
    /// Blocks that end behind this are not shown yet.
    limit: Lsn,
    /// Received blocks come from memory while they are there, and are let go.
    takes: bool,
    /// The last block that did.
    taken: Option<RecentBlock>,
    /// The last block that was decrypted, and what decrypts those of its writer.
    opened: Vec<u8>,
    sealer: Option<(BlockWriter, BlockSealer)>,
}

/// Where the bytes of the block lie that a [`Scanner`] has just gone past.
enum Passed {
    /// At an offset of the file, in the window.
    Window(u64),
    /// In memory.
    Taken,
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
        let cuts = log.shared.cuts.load(Ordering::Acquire);
        let mut scanner = Scanner {
            log,
            segment,
            sequence,
            offset,
            next_lsn,
            previous: None,
            window: Window::default(),
            cuts,
            limit: Lsn::MAX,
            takes: false,
            taken: None,
            opened: Vec::new(),
            sealer: None,
        };
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

    /// The same scanner, for the one who follows a copy closely: received blocks come from memory while they are there, and
    /// are let go as it passes them. A second one of the same log reads the files.
    #[must_use]
    pub fn taking(mut self) -> Scanner {
        self.takes = true;
        self
    }

    /// Payload bytes that [`Scanner::next`] can show now.
    pub fn ahead(&self) -> u64 {
        self.log.hardened().min(self.limit).0.saturating_sub(self.next_lsn.0)
    }

    /// The segment in which the last block lay, its sequence, and the file offset behind that block.
    pub(crate) fn place(&self) -> (&Arc<Segment>, u64, u64) {
        (&self.segment, self.sequence, self.offset)
    }

    /// Position of the next block's first byte.
    pub fn position(&self) -> Lsn {
        self.next_lsn
    }

    /// From now on blocks that end behind `limit` are kept back.
    pub fn set_limit(&mut self, limit: Lsn) {
        self.limit = limit;
    }

    /// The next hardened block as it is stored; `None` when there is none yet.
    #[allow(clippy::should_implement_trait)] // lends its block
    pub fn next(&mut self) -> Result<Option<ScannedBlock<'_>>, LogError> {
        Ok(self.advance()?.map(|(header, passed)| self.lend(header, passed)))
    }

    /// The next hardened block with its payload decrypted, as whoever applies it needs it; `None` when there is none yet. Keys
    /// that the log announces are [learnt](keel_base::cipher::Keychain::announce) on the way.
    ///
    /// # Errors
    /// [`LogError::Locked`] without its key: the scanner stays before the block. [`LogError::Corrupt`] when it is not what was sealed.
    pub fn next_open(&mut self) -> Result<Option<ScannedBlock<'_>>, LogError> {
        let before = (Arc::clone(&self.segment), self.sequence, self.offset, self.next_lsn, self.previous);
        let Some((header, passed)) = self.advance()? else { return Ok(None) };
        if header.key() == 0 {
            let block = self.lend(header, passed);
            if header.flags & block::FLAG_KEYS != 0 {
                self.log.keys().announce(block.payload(), header.end_lsn())?;
            }
            return Ok(Some(block));
        }
        let writer = header.writer();
        if self.sealer.as_ref().is_none_or(|known| known.0 != writer) {
            self.sealer = self.log.keys().block_sealer(writer).map(|sealer| (writer, sealer));
        }
        let mut opened = std::mem::take(&mut self.opened);
        opened.clear();
        opened.extend_from_slice(self.lend(header, passed).bytes);
        self.opened = opened;
        let Some((_, sealer)) = &self.sealer else {
            (self.segment, self.sequence, self.offset, self.next_lsn, self.previous) = before;
            self.window.clear();
            return Err(LogError::Locked { at: header.first_lsn, number: writer.key });
        };
        if !block::open(&mut self.opened, &header, sealer) {
            return Err(LogError::corrupt(header.first_lsn, "an encrypted block is not what was sealed"));
        }
        Ok(Some(ScannedBlock { header, bytes: &self.opened }))
    }

    fn lend(&self, header: Header, passed: Passed) -> ScannedBlock<'_> {
        let bytes = match (passed, &self.taken) {
            (Passed::Window(offset), _) => self.window.stored(offset, &header),
            (Passed::Taken, Some(block)) => &block.bytes,
            (Passed::Taken, None) => unreachable!("what was taken is kept until the next is"),
        };
        ScannedBlock { header, bytes }
    }

    /// Goes past the next hardened block.
    fn advance(&mut self) -> Result<Option<(Header, Passed)>, LogError> {
        if self.next_lsn >= self.log.hardened().min(self.limit) {
            return Ok(None);
        }
        if self.takes {
            match self.log.shared.recent.take(self.next_lsn, self.limit) {
                Found::Block(block) => return Ok(Some((self.pass(block), Passed::Taken))),
                Found::Behind => return Ok(None),
                Found::Missing => {}
            }
        }
        let cuts = self.log.shared.cuts.load(Ordering::Acquire);
        if cuts != self.cuts {
            self.cuts = cuts;
            self.window.clear();
        }
        if self.segment.size - self.offset < TAIL_BYTES_MIN && !self.enter_next_segment() {
            return Err(self.lost("the segment that follows is missing"));
        }
        let header = match self.look()? {
            Ok(header) => header,
            // A received block that did not fit went into the next segment.
            Err(what) => match self.enter_next_segment() {
                true => self.look()?.map_err(|what| self.lost(&what))?,
                false => return Err(self.lost(&what)),
            },
        };
        if header.end_lsn() > self.limit {
            return Ok(None);
        }
        let offset = self.offset;
        self.offset += header.stored_bytes() as u64;
        self.next_lsn = header.end_lsn();
        self.previous = Some(header.checksum);
        Ok(Some((header, Passed::Window(offset))))
    }

    /// Goes past a block that came from memory, and keeps it to be lent.
    fn pass(&mut self, block: RecentBlock) -> Header {
        if block.sequence != self.sequence {
            self.segment = Arc::clone(&block.segment);
            self.sequence = block.sequence;
            self.window.clear();
        }
        self.offset = block.offset + block.header.stored_bytes() as u64;
        self.next_lsn = block.header.end_lsn();
        self.previous = Some(block.header.checksum);
        self.taken.insert(block).header
    }

    /// The header of the next block if it lies here, else what lies here.
    fn look(&mut self) -> Result<Result<Header, String>, LogError> {
        if let Ok(header) = self.window.block(&self.segment, self.offset)?
            && self.fits(&header)
        {
            return Ok(Ok(header));
        }
        // What was read ahead may be older than the block: look at the file again before judging.
        self.window.clear();
        Ok(match self.window.block(&self.segment, self.offset)? {
            Ok(header) if self.fits(&header) => Ok(header),
            Ok(_) => Err("another block is in its place".into()),
            Err(invalid) => Err(format!("not a valid block ({invalid:?})")),
        })
    }

    fn fits(&self, header: &Header) -> bool {
        header.log_id == self.log.log_id()
            && header.first_lsn == self.next_lsn
            && self.previous.is_none_or(|previous| previous == header.previous)
    }

    /// Goes to the segment that begins with the next block; false when there is none.
    fn enter_next_segment(&mut self) -> bool {
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
                true
            }
            _ => false,
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
