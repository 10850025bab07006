//! The segment: a preallocated file that holds a run of blocks (the product calls it a virtual log file).
//!
//! Files are named `NNNNN.vlf` by slot. The slot says nothing about the order: a segment that was truncated is used again
//! in place, and the header written with its first new block says which place in the log it now has. A new file is
//! written full of zeros before its first use, so that a later `fdatasync` has no metadata to write.
//!
//! Before a segment is used again its header is wiped, durably, and those of older ones before it: a power cut may keep the
//! first new blocks and lose the new header beside them, and the old one would then speak for blocks that are gone. So a
//! valid header stands before the blocks it was written for, and the headers that are valid form one chain.
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 8 | magic | `KEELVLF1` |
//! | 8 | 4 | version | 1 |
//! | 12 | 4 | log id | as in the blocks |
//! | 16 | 8 | sequence | 1 for the first segment of a log, then counting |
//! | 24 | 8 | first LSN | position of the first payload byte in it |
//! | 32 | 8 | size | bytes of the file |
//! | 40 | 8 | hardened | the writer's hardened LSN when it entered the segment |
//! | 48 | 8 | epoch | the writer's |
//! | 56 | 4 | previous | checksum of the last block of the segment before |
//! | 60 | 4 | incarnation | as in the blocks |
//! | 64 | 444 | reserved | 0 |
//! | 508 | 4 | checksum | CRC32C of bytes 0..508 |
//! | 512 | | blocks | each on a multiple of 512 |
//!
//! A header that is not valid means a free segment; whether that may be is decided by [`crate::open`].

use crate::block::{BLOCK_BYTES_MAX, HEADER_BYTES, SECTOR_BYTES};
use keel_base::env::{Disk, File, OpenMode};
use keel_base::{Epoch, Lsn};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a segment's header; the first block follows.
pub const SEGMENT_HEADER_BYTES: usize = SECTOR_BYTES;
/// The smallest segment: header and two blocks of full size.
pub const SEGMENT_BYTES_MIN: u64 = (SEGMENT_HEADER_BYTES + 2 * BLOCK_BYTES_MAX) as u64;
/// Less room than this at the end of a segment is left unused.
pub const TAIL_BYTES_MIN: u64 = 4096;

const MAGIC: &[u8; 8] = b"KEELVLF1";
const VERSION: u32 = 1;
const CHECKSUM_AT: usize = SEGMENT_HEADER_BYTES - 4;
const ZERO_CHUNK_BYTES: usize = 512 << 10;

const _: () = assert!(TAIL_BYTES_MIN as usize > HEADER_BYTES);
const _: () = assert!((TAIL_BYTES_MIN as usize).is_multiple_of(SECTOR_BYTES));

/// One file of the log.
pub struct Segment {
    /// Where it is.
    pub path: PathBuf,
    /// The open file.
    pub file: Arc<dyn File>,
    /// The file once more, for writes that are durable when they return; `None` where the system cannot.
    pub direct: Option<Arc<dyn File>>,
    /// Its length in bytes.
    pub size: u64,
}

/// The place of a segment in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Which log.
    pub log_id: u32,
    /// 1, 2, 3…
    pub sequence: u64,
    /// Position of its first payload byte.
    pub first_lsn: Lsn,
    /// Bytes of the file.
    pub size: u64,
    /// What was hardened when the writer entered it.
    pub hardened: Lsn,
    /// The writer's configuration number.
    pub epoch: Epoch,
    /// Checksum of the last block before it.
    pub previous: u32,
    /// Random per opening by the writer.
    pub incarnation: u32,
}

impl SegmentHeader {
    /// Writes the header into the first [`SEGMENT_HEADER_BYTES`] of `out`.
    pub fn encode(&self, out: &mut [u8]) {
        let out = &mut out[..SEGMENT_HEADER_BYTES];
        out.fill(0);
        out[0..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&self.log_id.to_le_bytes());
        out[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        out[24..32].copy_from_slice(&self.first_lsn.0.to_le_bytes());
        out[32..40].copy_from_slice(&self.size.to_le_bytes());
        out[40..48].copy_from_slice(&self.hardened.0.to_le_bytes());
        out[48..56].copy_from_slice(&self.epoch.0.to_le_bytes());
        out[56..60].copy_from_slice(&self.previous.to_le_bytes());
        out[60..64].copy_from_slice(&self.incarnation.to_le_bytes());
        let checksum = crc32c::crc32c(&out[..CHECKSUM_AT]);
        out[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Decodes a header; `None` when the bytes are not one.
    pub fn decode(bytes: &[u8]) -> Option<SegmentHeader> {
        let bytes = bytes.get(..SEGMENT_HEADER_BYTES)?;
        let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let u64_at = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let known = &bytes[0..8] == MAGIC && u32_at(8)? == VERSION;
        let whole = cfg!(fuzzing) || u32_at(CHECKSUM_AT)? == crc32c::crc32c(&bytes[..CHECKSUM_AT]);
        if !known || !whole {
            return None;
        }
        Some(SegmentHeader {
            log_id: u32_at(12)?,
            sequence: u64_at(16)?,
            first_lsn: Lsn(u64_at(24)?),
            size: u64_at(32)?,
            hardened: Lsn(u64_at(40)?),
            epoch: Epoch(u64_at(48)?),
            previous: u32_at(56)?,
            incarnation: u32_at(60)?,
        })
    }
}

/// The path of slot `slot`.
pub fn path_of(dir: &Path, slot: u32) -> PathBuf {
    dir.join(format!("{slot:05}.vlf"))
}

/// Whether a path is named like a segment.
pub fn is_segment(path: &Path) -> bool {
    slot_of(path).is_some()
}

/// The slot of a path, if it is a segment's.
pub fn slot_of(path: &Path) -> Option<u32> {
    if path.extension()? != "vlf" {
        return None;
    }
    path.file_stem()?.to_str()?.parse().ok()
}

impl Segment {
    /// Makes a new file of `size` zero bytes, safe on disk with its directory entry. A half-made file is removed. `between`
    /// is told how many of them are written, again and again, and may rest, or give up with an error.
    pub fn create(
        disk: &dyn Disk,
        dir: &Path,
        slot: u32,
        size: u64,
        between: &mut dyn FnMut(u64) -> io::Result<()>,
    ) -> io::Result<Arc<Segment>> {
        let path = path_of(dir, slot);
        let file = disk.open(&path, OpenMode::CreateNew)?;
        let filled = Segment::fill(file.as_ref(), size, between).and_then(|()| disk.sync_dir(dir));
        if let Err(error) = filled {
            // Best effort: what stays behind has no header and counts as a free segment at the next opening.
            let _ = disk.remove(&path);
            return Err(error);
        }
        let direct = disk.open_direct(&path)?;
        Ok(Arc::new(Segment { path, file, direct, size }))
    }

    fn fill(file: &dyn File, size: u64, between: &mut dyn FnMut(u64) -> io::Result<()>) -> io::Result<()> {
        file.allocate(size)?;
        let zeros = vec![0; ZERO_CHUNK_BYTES.min(usize::try_from(size).unwrap_or(ZERO_CHUNK_BYTES))];
        let mut at = 0;
        while at < size {
            let n = zeros.len().min(usize::try_from(size - at).unwrap_or(zeros.len()));
            // Synced chunk by chunk, so that a committer's sync never queues behind the whole file.
            file.write_durable_at(&zeros[..n], at)?;
            at += n as u64;
            between(at)?;
        }
        file.sync_all()
    }

    /// Opens a file that exists.
    pub fn open(disk: &dyn Disk, path: &Path) -> io::Result<Arc<Segment>> {
        let file = disk.open(path, OpenMode::ReadWrite)?;
        let size = file.len()? / SECTOR_BYTES as u64 * SECTOR_BYTES as u64;
        let direct = disk.open_direct(path)?;
        Ok(Arc::new(Segment { path: path.to_path_buf(), file, direct, size }))
    }

    /// Makes the segment a free one, durably.
    pub(crate) fn wipe_header(&self) -> io::Result<()> {
        self.file.write_durable_at(&[0; SEGMENT_HEADER_BYTES], 0)
    }

    /// Makes the segment a free one full of zeros, durably: the header goes first.
    pub(crate) fn zero(&self) -> io::Result<()> {
        self.wipe_header()?;
        let zeros = vec![0; ZERO_CHUNK_BYTES];
        let mut at = 0;
        while at < self.size {
            let n = zeros.len().min(usize::try_from(self.size - at).unwrap_or(zeros.len()));
            self.file.write_durable_at(&zeros[..n], at)?;
            at += n as u64;
        }
        Ok(())
    }

    /// Reads the header; `None` when the segment is free.
    pub fn header(&self) -> io::Result<Option<SegmentHeader>> {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        let n = self.file.read_at(&mut bytes, 0)?;
        Ok(SegmentHeader::decode(&bytes[..n]))
    }
}

/// Payload bytes that fit between `from` and the end of a segment of `size` bytes when a new block starts at `from`.
pub fn room_after(from: u64, size: u64) -> u64 {
    let rest = size.saturating_sub(from);
    if rest < TAIL_BYTES_MIN {
        return 0;
    }
    let whole = rest / BLOCK_BYTES_MAX as u64;
    let tail = rest % BLOCK_BYTES_MAX as u64;
    let in_tail = if tail < TAIL_BYTES_MIN { 0 } else { tail - HEADER_BYTES as u64 };
    whole * (BLOCK_BYTES_MAX - HEADER_BYTES) as u64 + in_tail
}
