//! Backups: a database in a file, from which it can be made again.
//!
//! A backup is a [seeding](crate::SeedSource) whose other side is a file: rows of a base root, then the log from that root's
//! redo start to a position that is hardened, and agreed on in a group. Restoring is the receiving side, then redo. The database
//! goes on meanwhile; what was committed before the backup ended is in it.
//!
//! # The file
//! A file holds **backup sets**, one behind the other; a set is a run of frames. Numbers are little-endian.
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 4 | magic | `KBK1` |
//! | 4 | 1 | kind | 1 begin, 2 rows, 3 log, 4 end |
//! | 5 | 1 | flags | bit 0: the payload is compressed (LZ4 block) |
//! | 6 | 2 | | 0 |
//! | 8 | 4 | stored | bytes of the payload as stored |
//! | 12 | 4 | bytes | of the payload, decompressed |
//! | 16 | 4 | payload checksum | CRC32C of the payload as stored |
//! | 20 | 4 | header checksum | CRC32C of bytes 0..20 |
//! | 24 | stored | payload | |
//!
//! *Begin* is what a copy must know first ([`SeedInfo`]). *Rows* are the seeding's chunks, *log* one block each, in order, without a
//! gap. *End* is the position behind the last block (8), bytes of rows and log before compression (8), and the label: what whoever
//! asked for the backup says of it, in a form of its own. A set without an end is none: its backup was cut short.

use crate::database::{Database, DbOptions};
use crate::error::DbError;
use crate::instance::Instance;
use crate::seed::{SeedInfo, SeedSink, SeedSource};
use keel_base::env::File;
use keel_base::{DatabaseId, Epoch, Lsn};
use keel_log::block;
use std::io;
use std::path::Path;
use std::sync::Arc;

const MAGIC: u32 = u32::from_le_bytes(*b"KBK1");
const HEADER_BYTES: usize = 24;
const COMPRESSED: u8 = 1;
/// Rows of one frame, about.
const CHUNK_BYTES: usize = 1 << 20;
/// No frame is larger: a chunk may end with one row of the largest size.
const FRAME_BYTES_MAX: usize = 1 << 30;
/// A byte that is compressed never stands for more.
const RATIO_MAX: usize = 255;
/// What is searched at a time for the end of a set behind damage.
const SEARCH_BYTES: usize = 1 << 20;
/// What is written before the disk is asked for it: a backup must not leave a mountain to a committer's sync.
const SYNC_EVERY_BYTES: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Begin = 1,
    Rows = 2,
    Log = 3,
    End = 4,
}

const KINDS: [Kind; 4] = [Kind::Begin, Kind::Rows, Kind::Log, Kind::End];

fn damaged(what: impl Into<Arc<str>>) -> DbError {
    DbError::Corrupt(what.into())
}

/// How far a backup, a restore or a verification is. Called between frames; an error ends it.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> Result<(), DbError>;

/// What a backup set has, as its frames say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupSet {
    /// Where it begins in the file.
    pub at: u64,
    /// Where it ends there.
    pub end: u64,
    /// The picture of the rows.
    pub info: SeedInfo,
    /// Everything before this is in it.
    pub last: Lsn,
    /// Bytes of rows and log, not compressed.
    pub bytes: u64,
    /// What whoever made it says of it.
    pub label: Vec<u8>,
}

/// What a label can say that is known at the end only.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Where the rows are complete.
    pub checkpoint: Lsn,
    /// Where the log in it begins.
    pub first: Lsn,
    /// Where it ends.
    pub last: Lsn,
    /// Bytes of rows and log, not compressed.
    pub bytes: u64,
    /// Bytes in the file so far.
    pub stored: u64,
    /// Identity of the database; its copies share it.
    pub family: [u8; 16],
}

/// How a backup is written.
#[derive(Clone, Copy, Debug)]
pub struct BackupOptions {
    /// Frames are compressed where that makes them smaller.
    pub compress: bool,
}

struct Writer<'a> {
    file: &'a dyn File,
    at: u64,
    synced: u64,
    bytes: u64,
    compress: bool,
}

impl Writer<'_> {
    fn frame(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let compressed = self.compress.then(|| lz4_flex::block::compress(payload));
        let smaller = compressed.as_deref().filter(|small| small.len() < payload.len());
        let stored = smaller.unwrap_or(payload);
        let mut frame = Vec::with_capacity(HEADER_BYTES + stored.len());
        frame.extend_from_slice(&MAGIC.to_le_bytes());
        frame.extend_from_slice(&[kind as u8, if smaller.is_some() { COMPRESSED } else { 0 }, 0, 0]);
        for n in [stored.len(), payload.len()] {
            let n = u32::try_from(n).map_err(|_| io::Error::other("a frame of a backup is too large"))?;
            frame.extend_from_slice(&n.to_le_bytes());
        }
        frame.extend_from_slice(&crc32c::crc32c(stored).to_le_bytes());
        frame.extend_from_slice(&crc32c::crc32c(&frame).to_le_bytes());
        frame.extend_from_slice(stored);
        self.file.write_at(&frame, self.at)?;
        self.at += frame.len() as u64;
        if self.at - self.synced >= SYNC_EVERY_BYTES {
            self.file.sync_data()?;
            self.synced = self.at;
        }
        Ok(())
    }
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
    options: BackupOptions,
    label: &mut dyn FnMut(&Written) -> Vec<u8>,
    progress: Progress<'_>,
) -> Result<u64, DbError> {
    let source = SeedSource::open(db, &format!("backup {at} {:p}", std::ptr::from_ref(file)), 1)?;
    let info = source.info().clone();
    let mut out = Writer { file, at, synced: at, bytes: 0, compress: options.compress };
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
    let last = back_up_log(db, &info, &mut out)?;
    let written = Written {
        checkpoint: info.checkpoint,
        first: info.log_start,
        last,
        bytes: out.bytes,
        stored: out.at - at,
        family: info.family,
    };
    let mut end = Vec::new();
    end.extend_from_slice(&last.0.to_le_bytes());
    end.extend_from_slice(&out.bytes.to_le_bytes());
    end.extend_from_slice(&label(&written));
    out.compress = false;
    out.frame(Kind::End, &end)?;
    file.sync_all()?;
    progress(1, 1)?;
    Ok(out.at)
}

/// The blocks up to what is hardened now; in a group, agreed on. Returns where they end.
fn back_up_log(db: &Database, info: &SeedInfo, out: &mut Writer<'_>) -> Result<Lsn, DbError> {
    let log = db.log().ok_or_else(|| DbError::Role("a volatile database has no log".into()))?;
    log.flush()?;
    let end = db.agreed().max(info.highest);
    let mut scanner = log.scan(info.log_start)?;
    let mut last = info.log_start;
    while last < end {
        let Some(block) = scanner.next()? else { break };
        out.bytes += block.bytes.len() as u64;
        out.frame(Kind::Log, block.bytes)?;
        last = block.header.end_lsn();
    }
    if last < info.highest {
        return Err(damaged(format!("the log ends at {last}, before rows of {}", info.highest)));
    }
    Ok(last)
}

struct Head {
    kind: Kind,
    compressed: bool,
    stored: usize,
    bytes: usize,
    checksum: u32,
}

impl Head {
    /// `None` when the bytes are no header.
    fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Head> {
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let kind = KINDS.into_iter().find(|kind| *kind as u8 == bytes[4])?;
        let (stored, raw) = (u32_at(8) as usize, u32_at(12) as usize);
        let whole = cfg!(fuzzing) || u32_at(20) == crc32c::crc32c(&bytes[..20]);
        let sane = stored <= FRAME_BYTES_MAX && raw <= FRAME_BYTES_MAX.min((stored + 1) * RATIO_MAX);
        let compressed = bytes[5] & COMPRESSED != 0;
        (u32_at(0) == MAGIC && whole && sane).then_some(Head {
            kind,
            compressed,
            stored,
            bytes: raw,
            checksum: u32_at(16),
        })
    }
}

/// Reads frames one after the other.
struct Reader<'a> {
    file: &'a dyn File,
    at: u64,
    /// Of the file.
    length: u64,
}

impl Reader<'_> {
    fn at(file: &dyn File, at: u64) -> io::Result<Reader<'_>> {
        Ok(Reader { file, at, length: file.len()? })
    }

    /// The next header; `None` at the end of the file.
    fn head(&mut self) -> Result<Option<Head>, DbError> {
        let mut bytes = [0; HEADER_BYTES];
        let n = self.file.read_at(&mut bytes, self.at)?;
        if n == 0 {
            return Ok(None);
        }
        let head = Head::decode(&bytes).filter(|_| n == HEADER_BYTES);
        let none = || damaged(format!("no frame of a backup begins at byte {} of the file", self.at));
        let head = head.ok_or_else(none)?;
        self.at += HEADER_BYTES as u64;
        Ok(Some(head))
    }

    /// Whether a set ends somewhere behind this place, which is then damage and not what a backup left that was cut short.
    fn a_set_ends_later(&self) -> Result<bool, DbError> {
        let mut window = vec![0; SEARCH_BYTES];
        let mut at = self.at;
        while at < self.length {
            let n = self.file.read_at(&mut window, at)?;
            let found = window[..n].windows(HEADER_BYTES).any(|bytes| {
                bytes.starts_with(&MAGIC.to_le_bytes())
                    && <&[u8; HEADER_BYTES]>::try_from(bytes)
                        .is_ok_and(|bytes| Head::decode(bytes).is_some_and(|head| head.kind == Kind::End))
            });
            if found || n < HEADER_BYTES {
                return Ok(found);
            }
            // The next window begins with what may be the beginning of a header.
            at += (n - (HEADER_BYTES - 1)) as u64;
        }
        Ok(false)
    }

    fn payload(&mut self, head: &Head) -> Result<Vec<u8>, DbError> {
        let broken = || damaged(format!("the frame before byte {} of the file is damaged", self.at));
        if self.at + head.stored as u64 > self.length {
            return Err(broken());
        }
        let mut stored = vec![0; head.stored];
        let n = self.file.read_at(&mut stored, self.at)?;
        let whole = cfg!(fuzzing) || crc32c::crc32c(&stored) == head.checksum;
        if n < head.stored || !whole {
            return Err(broken());
        }
        let payload = if head.compressed {
            lz4_flex::block::decompress(&stored, head.bytes).map_err(|_| broken())?
        } else {
            stored
        };
        if payload.len() != head.bytes {
            return Err(broken());
        }
        self.skip(head);
        Ok(payload)
    }

    fn skip(&mut self, head: &Head) {
        self.at += head.stored as u64;
    }
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
    let mut reader = Reader::at(file, 0)?;
    let length = reader.length;
    let mut sets = Sets::default();
    loop {
        let at = reader.at;
        match next_set(&mut reader) {
            Ok(Some((info, last, bytes, label))) => {
                sets.whole.push(BackupSet { at, end: reader.at, info, last, bytes, label });
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

type Parts = (SeedInfo, Lsn, u64, Vec<u8>);

fn next_set(reader: &mut Reader<'_>) -> Result<Option<Parts>, DbError> {
    let Some(head) = reader.head()? else { return Ok(None) };
    let misplaced = || damaged("a frame of a backup is out of place");
    if head.kind != Kind::Begin {
        return Err(misplaced());
    }
    let info = SeedInfo::decode(&reader.payload(&head)?).ok_or_else(misplaced)?;
    loop {
        let Some(head) = reader.head()? else { return Ok(None) };
        match head.kind {
            Kind::Begin => return Err(misplaced()),
            Kind::Rows | Kind::Log => reader.skip(&head),
            Kind::End => {
                let (last, bytes, label) = decode_end(&reader.payload(&head)?).ok_or_else(misplaced)?;
                return Ok(Some((info, last, bytes, label)));
            }
        }
        if reader.at > reader.length {
            return Ok(None);
        }
    }
}

fn decode_end(payload: &[u8]) -> Option<(Lsn, u64, Vec<u8>)> {
    let (last, rest) = payload.split_first_chunk::<8>()?;
    let (bytes, label) = rest.split_first_chunk::<8>()?;
    Some((Lsn(u64::from_le_bytes(*last)), u64::from_le_bytes(*bytes), label.to_vec()))
}

/// Takes a chunk of rows (true) or a block of the log.
type Take<'a> = &'a mut dyn FnMut(bool, &[u8]) -> Result<(), DbError>;

/// Hands the rows and blocks of a set over, checked.
fn walk(file: &dyn File, set: &BackupSet, take: Take<'_>, progress: Progress<'_>) -> Result<(), DbError> {
    let mut reader = Reader::at(file, set.at)?;
    while let Some(head) = reader.head()? {
        let payload = reader.payload(&head)?;
        match head.kind {
            Kind::Begin => {}
            Kind::Rows => take(true, &payload)?,
            Kind::Log => take(false, &payload)?,
            Kind::End => return progress(1, 1),
        }
        progress(reader.at - set.at, (set.end - set.at).max(1))?;
    }
    Err(damaged("the backup set has no end"))
}

/// Reads all of a set and checks it: every frame, every chunk of rows, and that the log's blocks follow each other up to its end.
///
/// # Errors
/// [`DbError::Corrupt`] when something is damaged or missing.
pub fn verify(file: &dyn File, set: &BackupSet, progress: Progress<'_>) -> Result<(), DbError> {
    let (mut next, mut previous, mut rows_end) = (set.info.log_start, set.info.log_previous, false);
    let mut take = |rows: bool, bytes: &[u8]| {
        if rows {
            rows_end = crate::seed::is_last_chunk(bytes)
                .ok_or_else(|| damaged("a chunk of rows in the backup is damaged"))?;
            return Ok(());
        }
        let header = block::decode(bytes).ok().filter(|h| h.first_lsn == next && h.previous == previous);
        let header = header.ok_or_else(|| damaged("a block of the log in the backup is damaged"))?;
        (next, previous) = (header.end_lsn(), header.checksum);
        Ok(())
    };
    walk(file, set, &mut take, progress)?;
    if !rows_end || next != set.last {
        return Err(damaged("rows or log of the backup are missing"));
    }
    Ok(())
}

/// Makes a database from a set, in a directory that holds none: [resolving](crate::Role::Resolving), with all of the set's log.
/// [`complete`] makes it one that can be written. `family` becomes its identity: the set's own for a copy that is to join the
/// others, another for a database of its own.
///
/// # Errors
/// [`DbError::Corrupt`] when the set is damaged, [`DbError::Io`]; what is there of the database then is for
/// [`Database::remove`].
pub fn restore(
    instance: &Arc<Instance>,
    (id, dir): (DatabaseId, &Path),
    (file, set): (&dyn File, &BackupSet),
    family: [u8; 16],
    options: &DbOptions,
    progress: Progress<'_>,
) -> Result<Arc<Database>, DbError> {
    let info = SeedInfo { family, ..set.info.clone() };
    let mut sink = Some(SeedSink::create(instance, id, dir, &info)?);
    let mut db: Option<Arc<Database>> = None;
    let mut take = |rows: bool, bytes: &[u8]| {
        if rows {
            let sink = sink.as_ref().ok_or_else(|| damaged("rows behind the log in a backup"))?;
            return sink.apply(bytes).map(|_| ());
        }
        if let Some(sink) = sink.take() {
            let made = sink.finish(options)?;
            made.demote()?;
            db = Some(made);
        }
        let db = db.as_ref().expect("made with the first block");
        let epoch = block::decode_header(bytes).map_or(Epoch(0), |header| header.epoch);
        db.receive(epoch.max(info.epoch), bytes).map(|_| ())
    };
    walk(file, set, &mut take, progress)?;
    // A set whose log is empty: nothing has happened since its rows.
    let db = match (db, sink) {
        (Some(db), _) => db,
        (None, Some(sink)) => {
            let made = sink.finish(options)?;
            made.demote()?;
            made
        }
        (None, None) => return Err(damaged("the backup set is empty")),
    };
    if db.harden()? != set.last {
        return Err(damaged("log of the backup is missing"));
    }
    db.apply_up_to(set.last)?;
    db.fence("restored");
    Ok(db)
}

/// Ends the restoring of a database: all of its log is applied, transactions that had not ended never happened, and from now on it
/// stands alone and can be written. Its history parts here from the one it was taken from.
pub fn complete(db: &Database) -> Result<(), DbError> {
    let log = db.log().ok_or_else(|| DbError::Role("a volatile database is not restored".into()))?;
    db.promote(Epoch(log.epoch().0 + 1))?;
    db.leave_group()
}
