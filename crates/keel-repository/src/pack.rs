//! Packs: chunks one behind the other in a file.
//!
//! # A pack, by byte (numbers are little-endian)
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | | records | of a chunk each: its hash (32), bytes as stored (4), bytes (4), and the bytes, LZ4-compressed when they are fewer |
//! | index | 44 each | index | of each record: hash (32), where it begins (4), bytes as stored (4), bytes (4) |
//! | end − 20 | 4 | index offset | where the index begins |
//! | end − 16 | 4 | records | how many there are |
//! | end − 12 | 4 | index checksum | CRC32C of the index |
//! | end − 8 | 4 | footer checksum | CRC32C of the twelve bytes before |
//! | end − 4 | 4 | magic | `KRP1` |
//!
//! The index says nothing that the records do not: when it is damaged they are walked.

use crate::{Bytes, ChunkId, PackName, damaged};
use keel_base::env::{Disk, File, OpenMode};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8; 4] = b"KRP1";
const RECORD_HEADER_BYTES: usize = 40;
const ENTRY_BYTES: usize = 44;
const FOOTER_BYTES: usize = 20;
/// A pack that has as much is ended.
pub(crate) const PACK_BYTES: u32 = 32 << 20;
/// No chunk has more, however a pack claims it.
pub(crate) const CHUNK_BYTES_MAX: usize = 256 << 10;

/// What an index says of a record.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub id: ChunkId,
    pub offset: u32,
    pub stored: u32,
    pub bytes: u32,
}

impl Entry {
    /// Bytes that it takes in the pack.
    pub fn record_bytes(&self) -> u64 {
        RECORD_HEADER_BYTES as u64 + u64::from(self.stored)
    }
}

pub(crate) fn directory(root: &Path) -> PathBuf {
    root.join("packs")
}

fn file_name(name: &PackName, extension: &str) -> String {
    let digits: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits}.{extension}")
}

/// Where a pack lies that has its name.
pub(crate) fn path_of(root: &Path, name: &PackName) -> PathBuf {
    directory(root).join(file_name(name, "pack"))
}

/// A pack's name from its path; `None` when it is none, or has not ended.
pub(crate) fn name_of(path: &Path) -> Option<PackName> {
    let digits = path.file_name()?.to_str()?.strip_suffix(".pack")?;
    let byte = |n: usize| u8::from_str_radix(digits.get(2 * n..2 * n + 2)?, 16).ok();
    let mut name = [0; 16];
    for (n, place) in name.iter_mut().enumerate() {
        *place = byte(n)?;
    }
    (digits.len() == 32).then_some(name)
}

/// Whether a path is that of a pack that was being written when its writer ended.
pub(crate) fn is_unfinished(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "unfinished")
}

/// A pack that is being written.
pub(crate) struct PackWriter {
    pub name: PackName,
    pub file: Arc<dyn File>,
    unfinished: PathBuf,
    at: u32,
    entries: Vec<Entry>,
}

impl PackWriter {
    pub fn create(disk: &dyn Disk, root: &Path, name: PackName) -> io::Result<PackWriter> {
        let unfinished = directory(root).join(file_name(&name, "unfinished"));
        let file = disk.open(&unfinished, OpenMode::CreateNew)?;
        Ok(PackWriter { name, file, unfinished, at: 0, entries: Vec::new() })
    }

    /// Puts a chunk behind the others.
    pub fn add(&mut self, id: ChunkId, bytes: &[u8]) -> io::Result<Entry> {
        let compressed = lz4_flex::block::compress(bytes);
        let stored = if compressed.len() < bytes.len() { &compressed } else { bytes };
        let entry = Entry { id, offset: self.at, stored: length(stored.len())?, bytes: length(bytes.len())? };
        let mut record = Vec::with_capacity(RECORD_HEADER_BYTES + stored.len());
        record.extend_from_slice(&id.0);
        record.extend_from_slice(&entry.stored.to_le_bytes());
        record.extend_from_slice(&entry.bytes.to_le_bytes());
        record.extend_from_slice(stored);
        self.file.write_at(&record, u64::from(self.at))?;
        self.at += length(record.len())?;
        self.entries.push(entry);
        Ok(entry)
    }

    /// Whether it should be ended.
    pub fn is_full(&self) -> bool {
        self.at >= PACK_BYTES
    }

    /// Ends it: it is on the disk afterwards, with its name. Returns what is in it.
    pub fn finish(self, disk: &dyn Disk, root: &Path) -> io::Result<Vec<Entry>> {
        let mut end = Vec::with_capacity(self.entries.len() * ENTRY_BYTES + FOOTER_BYTES);
        for entry in &self.entries {
            end.extend_from_slice(&entry.id.0);
            for number in [entry.offset, entry.stored, entry.bytes] {
                end.extend_from_slice(&number.to_le_bytes());
            }
        }
        let checksum = crc32c::crc32c(&end);
        let footer_at = end.len();
        for number in [self.at, length(self.entries.len())?, checksum] {
            end.extend_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&end[footer_at..]);
        end.extend_from_slice(&checksum.to_le_bytes());
        end.extend_from_slice(MAGIC);
        self.file.write_at(&end, u64::from(self.at))?;
        self.file.sync_all()?;
        disk.rename(&self.unfinished, &path_of(root, &self.name))?;
        disk.sync_dir(&directory(root))?;
        Ok(self.entries)
    }

    /// Nobody will ask for it.
    pub fn abandon(self, disk: &dyn Disk) {
        // What cannot be removed now is removed by the next prune.
        let _ = disk.remove(&self.unfinished);
    }
}

fn length(n: usize) -> io::Result<u32> {
    u32::try_from(n).map_err(|_| io::Error::other("a pack is too large"))
}

/// What a pack has in it, and whether its index said so: when that is damaged, the records do, as far as they can be followed.
pub(crate) fn entries(file: &dyn File) -> io::Result<(Vec<Entry>, bool)> {
    match index(file)? {
        Some(entries) => Ok((entries, true)),
        None => Ok((walk(file)?, false)),
    }
}

fn index(file: &dyn File) -> io::Result<Option<Vec<Entry>>> {
    let length = file.len()?;
    let mut footer = [0; FOOTER_BYTES];
    let Some(footer_at) = length.checked_sub(FOOTER_BYTES as u64) else { return Ok(None) };
    if file.read_at(&mut footer, footer_at)? != FOOTER_BYTES {
        return Ok(None);
    }
    let Some((at, count, checksum)) = decode_footer(&footer) else { return Ok(None) };
    let bytes = count as usize * ENTRY_BYTES;
    if u64::from(at) + bytes as u64 != footer_at {
        return Ok(None);
    }
    let mut index = vec![0; bytes];
    if file.read_at(&mut index, at.into())? != bytes || !(cfg!(fuzzing) || crc32c::crc32c(&index) == checksum)
    {
        return Ok(None);
    }
    Ok(index.chunks_exact(ENTRY_BYTES).map(decode_entry).collect())
}

fn decode_footer(footer: &[u8; FOOTER_BYTES]) -> Option<(u32, u32, u32)> {
    let mut rest = Bytes(footer);
    let (at, count, index, own) = (rest.u32()?, rest.u32()?, rest.u32()?, rest.u32()?);
    let whole = cfg!(fuzzing) || own == crc32c::crc32c(&footer[..12]);
    (whole && rest.take()? == *MAGIC).then_some((at, count, index))
}

fn decode_entry(bytes: &[u8]) -> Option<Entry> {
    let mut rest = Bytes(bytes);
    Some(Entry { id: ChunkId(rest.take()?), offset: rest.u32()?, stored: rest.u32()?, bytes: rest.u32()? })
}

/// The records one behind the other, up to the first that cannot be one.
fn walk(file: &dyn File) -> io::Result<Vec<Entry>> {
    let (mut at, mut entries, length) = (0_u32, Vec::new(), file.len()?);
    loop {
        let mut header = [0; RECORD_HEADER_BYTES];
        if file.read_at(&mut header, at.into())? != RECORD_HEADER_BYTES {
            return Ok(entries);
        }
        let mut rest = Bytes(&header);
        let (Some(id), Some(stored), Some(bytes)) = (rest.take(), rest.u32(), rest.u32()) else {
            return Ok(entries);
        };
        let entry = Entry { id: ChunkId(id), offset: at, stored, bytes };
        let end = u64::from(at) + entry.record_bytes();
        if !is_sane(&entry) || end > length || read(file, &entry).is_err() {
            return Ok(entries);
        }
        let Ok(next) = u32::try_from(end) else { return Ok(entries) };
        entries.push(entry);
        at = next;
    }
}

fn is_sane(entry: &Entry) -> bool {
    let (stored, bytes) = (entry.stored as usize, entry.bytes as usize);
    bytes > 0 && bytes <= CHUNK_BYTES_MAX && stored > 0 && stored <= bytes
}

/// The bytes of a chunk; they have its hash.
///
/// # Errors
/// `InvalidData` when it is not there, or damaged.
pub(crate) fn read(file: &dyn File, entry: &Entry) -> io::Result<Vec<u8>> {
    let broken = || damaged(format!("a chunk at byte {} of a pack is damaged or not there", entry.offset));
    if !is_sane(entry) {
        return Err(broken());
    }
    let mut stored = vec![0; entry.stored as usize];
    let at = u64::from(entry.offset) + RECORD_HEADER_BYTES as u64;
    if file.read_at(&mut stored, at)? != stored.len() {
        return Err(broken());
    }
    let bytes = if entry.stored == entry.bytes {
        stored
    } else {
        lz4_flex::block::decompress(&stored, entry.bytes as usize).map_err(|_| broken())?
    };
    if ChunkId::of(&bytes) == entry.id { Ok(bytes) } else { Err(broken()) }
}
