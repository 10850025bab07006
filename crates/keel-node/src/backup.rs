//! Backups: a database in a file, from which it can be made again.
//!
//! A **full backup** is a [seeding](crate::SeedSource) whose other side is a file: rows of a base root, then the log from that root's
//! redo start to a position that is hardened, and agreed on in a group. Restoring is the receiving side, then redo. The database
//! goes on meanwhile; what was committed before the backup ended is in it.
//!
//! A **log backup** is the log alone, from where an earlier backup ended. Its blocks are the database's own, byte for byte, so a copy that
//! is being restored takes them as a secondary takes its primary's, and a log backup made by any member of a group continues those of the others.
//! Restoring to a point in time ends in the middle of a block: that one is sealed anew, with what came before the point.
//!
//! A **differential backup** is what was written since a full one ended (module `differential`), then log as in a full one. It is
//! laid over a copy that the full one was restored to.
//!
//! # The file
//! A file holds **backup sets**, one behind the other; a set is a run of frames. Numbers are little-endian.
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 4 | magic | `KBK1` |
//! | 4 | 1 | kind | 1 begin, 2 rows, 3 log, 4 end, 5 begin of a log backup, 6 of a differential one, 7 changes |
//! | 5 | 1 | flags | bit 0: the payload is compressed (LZ4 block); bit 1: then encrypted (AES-GCM, the tag behind it) |
//! | 6 | 2 | | 0 |
//! | 8 | 4 | stored | bytes of the payload as stored |
//! | 12 | 4 | bytes | of the payload, decompressed |
//! | 16 | 4 | payload checksum | CRC32C of the payload as stored |
//! | 20 | 4 | header checksum | CRC32C of bytes 0..20 |
//! | 24 | stored | payload | |
//!
//! *Begin* is what a copy must know first ([`SeedInfo`]); of a log backup, the database's identity (16), the epoch at its end (8), and where
//! it begins (8), which is where an append does; of a differential one, the set that it refers to (16), where that ends (8), the checksum of
//! the block there (4), how many epochs are known (4), each with its number and where it begins (16), and what a copy must know. *Rows* are the seeding's chunks, *log* one block each, in order, without a
//! gap. *End* is the position behind the last block (8), bytes of rows and log before compression (8), and the label: what whoever
//! asked for the backup says of it, in a form of its own. A set without an end is none: its backup was cut short.

mod cipher;
mod differential;
mod frames;
mod only;
mod read;
mod stop;
mod stripes;

pub use cipher::{Cipher, SetKey};
pub use differential::{Base, DifferentialInfo};
pub use only::only_set;
pub use read::{Rolled, complete, restore, restore_differential, restore_log, verify};
pub use stop::{IsRow, StopAt};
pub use stripes::{FAMILIES_MAX, Family, Striped};

use crate::database::Database;
use crate::error::DbError;
use crate::seed::{SeedInfo, SeedSource};
use frames::{Head, Kind, Reader, Writer, damaged};
use keel_base::env::File;
use keel_base::{Epoch, Lsn};
use keel_log::Log;
use keel_log::block::{FLAG_UNFINISHED, Header};
use std::sync::Arc;

/// Rows of one frame, about.
const CHUNK_BYTES: usize = 1 << 20;

/// How far a backup, a restore or a verification is. Called between frames; an error ends it.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> Result<(), DbError>;

/// What a backup set is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Rows, and the log since them.
    Full(SeedInfo),
    /// Log alone.
    Log(LogInfo),
    /// What has changed since a full one, and the log since then.
    Differential(DifferentialInfo),
}

impl Content {
    /// What a copy must know that is made of it; nothing is made of log alone.
    pub fn seed(&self) -> Option<&SeedInfo> {
        match self {
            Content::Full(info) => Some(info),
            Content::Differential(info) => Some(&info.seed),
            Content::Log(_) => None,
        }
    }
}

/// What a log backup begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogInfo {
    /// Identity of the database; its copies share it.
    pub family: [u8; 16],
    /// Epoch of the log when it was made.
    pub epoch: Epoch,
    /// Where it begins.
    pub first: Lsn,
}

impl LogInfo {
    fn encode(&self) -> Vec<u8> {
        [&self.family[..], &self.epoch.0.to_le_bytes(), &self.first.0.to_le_bytes()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<LogInfo> {
        let (family, rest) = bytes.split_first_chunk::<16>()?;
        let (epoch, rest) = rest.split_first_chunk::<8>()?;
        let first: &[u8; 8] = rest.try_into().ok()?;
        let (epoch, first) = (Epoch(u64::from_le_bytes(*epoch)), Lsn(u64::from_le_bytes(*first)));
        Some(LogInfo { family: *family, epoch, first })
    }
}

/// What a backup set has, as its frames say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSet {
    /// Where it begins in the file.
    pub at: u64,
    /// Where it ends there.
    pub end: u64,
    /// What it is a backup of.
    pub content: Content,
    /// Everything before this is in it.
    pub last: Lsn,
    /// Bytes of rows and log, not compressed.
    pub bytes: u64,
    /// What whoever made it says of it.
    pub label: Vec<u8>,
    /// Its key, put here by whoever can unwrap it: an encrypted set is not read without.
    pub key: Option<SetKey>,
}

impl BackupSet {
    /// Where the log in it begins.
    pub fn first(&self) -> Lsn {
        match &self.content {
            Content::Full(info) => info.log_start,
            Content::Log(info) => info.first,
            Content::Differential(info) => info.seed.log_start,
        }
    }

    /// Identity of the database.
    pub fn family(&self) -> [u8; 16] {
        match &self.content {
            Content::Full(info) => info.family,
            Content::Log(info) => info.family,
            Content::Differential(info) => info.seed.family,
        }
    }
}

/// What a label can say that is known at the end only.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Where the rows are complete; of a log backup, where it begins.
    pub checkpoint: Lsn,
    /// Where the log in it begins.
    pub first: Lsn,
    /// Where it ends.
    pub last: Lsn,
    /// The last position in it at which no append is under way: where the next log backup begins.
    pub border: Lsn,
    /// Checksum of the log's block that ends at `last`.
    pub checksum: u32,
    /// Bytes of rows and log, not compressed.
    pub bytes: u64,
    /// Bytes in the file so far.
    pub stored: u64,
    /// Identity of the database; its copies share it.
    pub family: [u8; 16],
}

/// How a backup is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackupOptions<'a> {
    /// Frames are compressed where that makes them smaller.
    pub compress: bool,
    /// What it is encrypted with, if it is. The label has to say how the key is found again.
    pub key: Option<&'a SetKey>,
}

/// Writes a full backup of `db` behind the offset `at` of `file`; returns where it ends. The file must be cut there by the caller
/// when this fails. `label` is asked for at the end.
///
/// # Errors
/// [`DbError::Io`] of the file, what reading the database gives, and what `progress` returns.
pub fn back_up(
    db: &Arc<Database>,
    file: &dyn File,
    at: u64,
    options: BackupOptions<'_>,
    label: &mut dyn FnMut(&Written) -> Vec<u8>,
    progress: Progress<'_>,
) -> Result<u64, DbError> {
    let source = SeedSource::open(db, &format!("backup {at} {:p}", std::ptr::from_ref(file)), 1)?;
    let info = source.info().clone();
    let mut out = Writer::at(file, at, options);
    out.frame(Kind::Begin, &info.encode())?;
    let mut after = Vec::new();
    loop {
        let (chunk, goes_on) = source.chunk(0, &after, CHUNK_BYTES)?;
        out.bytes += chunk.len() as u64;
        out.frame(Kind::Rows, &chunk)?;
        progress(out.bytes.min(info.bytes), info.bytes.max(1))?;
        match goes_on {
            Some(key) => after = key,
            None => break,
        }
    }
    end_with_log(db, &info, out, at, label, progress)
}

/// Writes a differential backup of `db`, as [`back_up`] does a full one: what has changed since the full backup `base` ended.
///
/// # Errors
/// Those of [`back_up`].
pub fn back_up_differential(
    db: &Arc<Database>,
    (file, at): (&dyn File, u64),
    base: &Base,
    options: BackupOptions<'_>,
    label: &mut dyn FnMut(&Written) -> Vec<u8>,
    progress: Progress<'_>,
) -> Result<u64, DbError> {
    let source = SeedSource::open(db, &format!("backup {at} {:p}", std::ptr::from_ref(file)), 1)?;
    let seed = source.info().clone();
    if seed.checkpoint < base.last {
        return Err(damaged(format!("the base tree stands at {}, before {}", seed.checkpoint, base.last)));
    }
    let since = Database::generation_before(source.root(), base.last);
    let expected = source.root().pages_since(since)? * keel_store::base::PAGE_SIZE as u64;
    let info = DifferentialInfo { base: *base, epochs: log_of(db)?.epochs(), seed };
    let mut out = Writer::at(file, at, options);
    out.frame(Kind::BeginDifferential, &info.encode())?;
    differential::changes(source.root(), since, &mut |chunk| {
        out.bytes += chunk.len() as u64;
        out.frame(Kind::Changes, chunk)?;
        progress(out.bytes.min(expected), expected.max(1))
    })?;
    end_with_log(db, &info.seed, out, at, label, progress)
}

/// The log since the rows of a set, and its end.
fn end_with_log(
    db: &Arc<Database>,
    info: &SeedInfo,
    mut out: Writer<'_>,
    at: u64,
    label: &mut dyn FnMut(&Written) -> Vec<u8>,
    progress: Progress<'_>,
) -> Result<u64, DbError> {
    let log = log_of(db)?;
    log.flush()?;
    let (mut border, mut checksum) = (info.log_start, info.log_previous);
    let last = copy_log(log, info.log_start, db.agreed().max(info.highest), &mut |block, header| {
        if header.flags & FLAG_UNFINISHED == 0 {
            border = header.end_lsn();
        }
        checksum = header.checksum;
        out.block(block)
    })?;
    if last < info.highest {
        return Err(damaged(format!("the log ends at {last}, before rows of {}", info.highest)));
    }
    let written = Written {
        checkpoint: info.checkpoint,
        first: info.log_start,
        last,
        border,
        checksum,
        bytes: out.bytes,
        stored: out.at - at,
        family: info.family,
    };
    let end = end_set(out, &written, label)?;
    progress(1, 1)?;
    Ok(end)
}

/// Writes a backup of the log from `first`, where an append begins, up to what is hardened now; in a group, agreed on. As
/// [`back_up`] else. The log from `first` on must be kept meanwhile ([`Database::set_backed_up`]).
///
/// # Errors
/// [`DbError::Corrupt`] when it is not there any more, and those of [`back_up`].
pub fn back_up_log(
    db: &Arc<Database>,
    (file, at): (&dyn File, u64),
    first: Lsn,
    options: BackupOptions<'_>,
    label: &mut dyn FnMut(&Written) -> Vec<u8>,
    progress: Progress<'_>,
) -> Result<u64, DbError> {
    let log = log_of(db)?;
    log.flush()?;
    let (agreed, family) = (db.agreed(), db.control().family);
    let mut out = Writer::at(file, at, options);
    out.frame(Kind::BeginLog, &LogInfo { family, epoch: log.epoch(), first }.encode())?;
    let (mut last, mut checksum) = (first, 0);
    // Blocks of an append whose end is not there yet: it belongs to the next log backup as a whole.
    let mut unfinished: Vec<Vec<u8>> = Vec::new();
    copy_log(log, first, agreed, &mut |block, header| {
        if header.first_lsn < first {
            return Err(damaged(format!("no block of the log begins at {first}")));
        }
        unfinished.push(block.to_vec());
        if header.flags & FLAG_UNFINISHED == 0 {
            unfinished.drain(..).try_for_each(|block| out.block(&block))?;
            (last, checksum) = (header.end_lsn(), header.checksum);
        }
        progress(header.end_lsn().0.min(agreed.0) - first.0, (agreed.0 - first.0).max(1))
    })?;
    let (bytes, stored) = (out.bytes, out.at - at);
    let written = Written { checkpoint: first, first, last, border: last, checksum, bytes, stored, family };
    let end = end_set(out, &written, label)?;
    progress(1, 1)?;
    Ok(end)
}

fn log_of(db: &Database) -> Result<&Log, DbError> {
    db.log().ok_or_else(|| DbError::Role("a volatile database has no log".into()))
}

/// Takes a block of the log, with its header.
type TakeBlock<'a> = &'a mut dyn FnMut(&[u8], &Header) -> Result<(), DbError>;

/// Hands over the blocks from `first` up to `end`; returns where they end.
fn copy_log(log: &Log, first: Lsn, end: Lsn, take: TakeBlock<'_>) -> Result<Lsn, DbError> {
    let mut last = first;
    if last < end {
        let mut scanner = log.scan(first)?;
        while last < end {
            let Some(block) = scanner.next()? else { break };
            take(block.bytes, &block.header)?;
            last = block.header.end_lsn();
        }
    }
    Ok(last)
}

/// The end of a set; returns where that is in the file.
fn end_set(
    mut out: Writer<'_>,
    written: &Written,
    label: &mut dyn FnMut(&Written) -> Vec<u8>,
) -> Result<u64, DbError> {
    let mut end = Vec::new();
    end.extend_from_slice(&written.last.0.to_le_bytes());
    end.extend_from_slice(&written.bytes.to_le_bytes());
    end.extend_from_slice(&label(written));
    out.frame(Kind::End, &end)?;
    out.sync()?;
    Ok(out.at)
}

/// The sets that are found in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets {
    /// In order, up to the first that is not whole.
    pub whole: Vec<BackupSet>,
    /// There are others behind one that is damaged: the file must not be written to where the whole ones end.
    pub others_lie_behind_damage: bool,
}

/// The sets of a file, as far as they are whole: one that was cut short, at the end, is left out. Reads headers, and of each
/// set the first and the last frame.
///
/// # Errors
/// [`DbError::Corrupt`] when the file is no backup, or its first set is damaged or was cut short.
pub fn sets(file: &dyn File) -> Result<Sets, DbError> {
    let mut reader = Reader::at(file, 0, None)?;
    let length = reader.length;
    let mut sets = Sets::default();
    loop {
        let at = reader.at;
        match next_set(&mut reader) {
            Ok(Some((content, last, bytes, label))) => {
                sets.whole.push(BackupSet { at, end: reader.at, content, last, bytes, label, key: None });
            }
            Ok(None) if at == length => return Ok(sets),
            Ok(None) | Err(DbError::Corrupt(_)) if !sets.whole.is_empty() => {
                reader.at = at;
                sets.others_lie_behind_damage = reader.a_set_ends_later()?;
                return Ok(sets);
            }
            Ok(None) => return Err(damaged("the file holds no whole backup set")),
            Err(e) => return Err(e),
        }
    }
}

type Parts = (Content, Lsn, u64, Vec<u8>);

fn next_set(reader: &mut Reader<'_>) -> Result<Option<Parts>, DbError> {
    let Some(head) = reader.head()? else { return Ok(None) };
    let content = content_of(reader, &head)?;
    loop {
        let Some(head) = reader.head()? else { return Ok(None) };
        match head.kind {
            Kind::Begin | Kind::BeginLog | Kind::BeginDifferential => return Err(misplaced()),
            Kind::Rows | Kind::Changes | Kind::Log => reader.skip(&head),
            Kind::End => {
                let (last, bytes, label) = decode_end(&reader.payload(&head)?).ok_or_else(misplaced)?;
                return Ok(Some((content, last, bytes, label)));
            }
        }
        if reader.at > reader.length {
            return Ok(None);
        }
    }
}

fn misplaced() -> DbError {
    damaged("a frame of a backup is out of place")
}

/// What a set is that begins with a frame.
fn content_of(reader: &mut Reader<'_>, head: &Head) -> Result<Content, DbError> {
    let content = match head.kind {
        Kind::Begin => SeedInfo::decode(&reader.payload(head)?).map(Content::Full),
        Kind::BeginLog => LogInfo::decode(&reader.payload(head)?).map(Content::Log),
        Kind::BeginDifferential => {
            DifferentialInfo::decode(&reader.payload(head)?).map(Content::Differential)
        }
        Kind::Rows | Kind::Changes | Kind::Log | Kind::End => None,
    };
    content.ok_or_else(misplaced)
}

fn decode_end(payload: &[u8]) -> Option<(Lsn, u64, Vec<u8>)> {
    let (last, rest) = payload.split_first_chunk::<8>()?;
    let (bytes, label) = rest.split_first_chunk::<8>()?;
    Some((Lsn(u64::from_le_bytes(*last)), u64::from_le_bytes(*bytes), label.to_vec()))
}
