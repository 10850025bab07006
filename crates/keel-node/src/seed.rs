//! Seeding: making a copy of a database on another replica, from the database itself.
//!
//! ```text
//!   SeedSource                                            SeedSink
//!   a base root, held          chunks by key range        base tree of the copy
//!   ├─ stream 0  ────────────────────────────────────►    ├─ rows of stream 0 …
//!   ├─ stream 1  ────────────────────────────────────►    ├─ rows of stream 1 …
//!   log from the redo start, held  ── as any secondary ─► log, empty, that begins there
//! ```
//! The source holds one root of the base tree and the log from that root's redo start on; both stay as they are while the
//! database goes on. A [chunk](SeedSource::chunk) is a run of rows of one stream in key order. The sink merges each into
//! its base tree at once, so what it has is on its disk: after a break it says where each stream stands
//! ([`SeedSink::position`]), and the source, which keeps nothing about its readers, goes on from there.
//!
//! That is so for one picture only: in another one, of a later checkpoint or from another source, rows that are there already may be
//! newer, and the streams may have their borders elsewhere. So the copy keeps what it was told of its picture in `seed.keel` until it
//! is whole, a file that is replaced as a whole, of magic `KEELSED1` and version 1 whose body is the [message](SeedInfo::encode).
//!
//! The rows may be newer than the checkpoint that the copy is labelled with (never newer than what was agreed), so the copy
//! shows nothing until its log has caught up with them ([`Database::is_readable`]).
//!
//! # A chunk
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 4 | magic | `KSC1` |
//! | 4 | 4 | stream | number of the stream |
//! | 8 | 4 | flags | bit 0: the stream's last |
//! | 12 | 4 | rows | |
//! | 16 | 4 | checksum | CRC32C of bytes 0..16 and of everything from 20 on |
//! | 20 | 4 | after length | |
//! | 24 | a | after | the key that the rows come after; empty at the start of the stream |
//! | 24+a | | rows | each: key length (4), row length (4), key, row; keys with their tree id |
//!
//! All numbers are little-endian.

use crate::bytes::{Bytes, length};
use crate::control::Control;
use crate::database::{Database, DbOptions, data_path, decode_meta, encode_meta, log_dir, wipe};
use crate::error::DbError;
use crate::instance::Instance;
use crate::keys::DatabaseKeys;
use crate::marker::Marker;
use crate::whole_file::Kind;
use keel_base::env::Env;
use keel_base::{DatabaseId, Epoch, Lsn};
use keel_log::{Log, LogOptions};
use keel_store::Direction;
use keel_store::base::{BaseOptions, BaseRoot, BaseTree, Change, MergeOptions, NoThrottle};
use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: u32 = u32::from_le_bytes(*b"KSC1");
const CHECKSUM_AT: usize = 16;
const HEADER_BYTES: usize = 20;
const FLAG_LAST: u32 = 1;
/// Bytes of pages after which the sink publishes within a chunk.
const MERGE_BYTES: usize = 16 << 20;
/// What a copy in the making keeps of its picture. One with more is made anew after a break.
const FILE: Kind = Kind { magic: b"KEELSED1", version: 1, bytes_max: 256 << 10 };
const UNFINISHED: &str = "seed.new";

/// The files that say what picture a copy in the making is of: the one that counts, and what it is called before it is whole.
pub(crate) fn paths(dir: &Path) -> [PathBuf; 2] {
    [dir.join("seed.keel"), dir.join(UNFINISHED)]
}

/// What picture the copy in the making in `dir` is of; nothing when that is not known.
fn picture_in(env: &Env, dir: &Path) -> Result<Vec<u8>, DbError> {
    let [path, _] = paths(dir);
    Ok(if env.disk.exists(&path) { FILE.read(env, &path)?.unwrap_or_default() } else { Vec::new() })
}

/// What a copy must know before the first row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedInfo {
    /// Identity of the database; copies share it.
    pub family: [u8; 16],
    /// Identity of its log.
    pub log_id: u32,
    /// Microseconds since 1970 UTC.
    pub created_micros: i64,
    /// The rows are complete up to here.
    pub checkpoint: Lsn,
    /// And may be as new as this.
    pub highest: Lsn,
    /// Where redo of the copy begins.
    pub redo_start: Lsn,
    /// Where its log begins: the border of a block.
    pub log_start: Lsn,
    /// The checksum that its first block must name.
    pub log_previous: u32,
    /// Epoch of the log there.
    pub epoch: Epoch,
    /// About how many rows there are.
    pub rows: u64,
    /// About how many bytes they take.
    pub bytes: u64,
    /// Where streams begin, ascending, all but the first; there is one more stream than borders.
    pub borders: Vec<Vec<u8>>,
    /// The [keys](crate::KeyRing) of an encrypted database, sealed, in their stored form; empty of one that never was.
    pub keys: Vec<u8>,
}

impl SeedInfo {
    /// Number of streams, at least 1.
    pub fn streams(&self) -> usize {
        self.borders.len() + 1
    }

    fn lower(&self, stream: usize) -> Bound<&[u8]> {
        match stream.checked_sub(1).and_then(|border| self.borders.get(border)) {
            Some(border) => Bound::Included(border),
            None => Bound::Unbounded,
        }
    }

    fn upper(&self, stream: usize) -> Bound<&[u8]> {
        self.borders.get(stream).map_or(Bound::Unbounded, |border| Bound::Excluded(border))
    }

    /// The message form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&self.family);
        out.extend_from_slice(&self.log_id.to_le_bytes());
        out.extend_from_slice(&self.log_previous.to_le_bytes());
        out.extend_from_slice(&self.created_micros.to_le_bytes());
        let positions = [self.checkpoint, self.highest, self.redo_start, self.log_start].map(|lsn| lsn.0);
        for word in positions.into_iter().chain([self.epoch.0, self.rows, self.bytes]) {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&length(self.borders.len()).to_le_bytes());
        for border in &self.borders {
            out.extend_from_slice(&length(border.len()).to_le_bytes());
            out.extend_from_slice(border);
        }
        // Behind everything else: one that was never encrypted looks as it always did.
        out.extend_from_slice(&self.keys);
        out
    }

    /// Reads the message form; `None` when it is not one.
    pub fn decode(bytes: &[u8]) -> Option<SeedInfo> {
        let mut rest = Bytes(bytes);
        let family = rest.take(16)?.try_into().ok()?;
        let (log_id, log_previous) = (rest.u32()?, rest.u32()?);
        let created_micros = i64::from_le_bytes(rest.take(8)?.try_into().ok()?);
        let [checkpoint, highest, redo_start, log_start] =
            [rest.u64()?, rest.u64()?, rest.u64()?, rest.u64()?].map(Lsn);
        let (epoch, rows, bytes) = (Epoch(rest.u64()?), rest.u64()?, rest.u64()?);
        let count = rest.u32()?;
        let mut borders: Vec<Vec<u8>> = Vec::new();
        for _ in 0..count {
            let length = rest.u32()? as usize;
            borders.push(rest.take(length)?.to_vec());
        }
        let ordered = log_start <= redo_start && redo_start <= checkpoint && checkpoint <= highest;
        let keys = rest.0.to_vec();
        let whole = borders.is_sorted() && (keys.is_empty() || crate::keys::is_stored_ring(&keys));
        (ordered && whole).then_some(SeedInfo {
            family,
            log_id,
            created_micros,
            checkpoint,
            highest,
            redo_start,
            log_start,
            log_previous,
            epoch,
            rows,
            bytes,
            borders,
            keys,
        })
    }
}

/// The giving side. Holds a picture of the database, and its log, until dropped. Shared freely among senders.
pub struct SeedSource {
    held: Held,
    root: Arc<BaseRoot>,
    info: SeedInfo,
}

/// The log of a database, held for one picture as long as it lives: a second picture for the same purpose, and an attempt
/// that failed, have their own.
struct Held {
    db: Arc<Database>,
    name: String,
}

impl Held {
    fn from_redo_start(db: &Arc<Database>, purpose: &str) -> Result<Held, DbError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let held = Held { db: Arc::clone(db), name: format!("{purpose} {number}") };
        let mut from = db.positions().redo_start;
        while !db.hold_log(&held.name, from) {
            // Another checkpoint has given that log back meanwhile: then there is a newer place to begin at.
            db.release_log(&held.name);
            let newer = db.positions().redo_start;
            if newer == from {
                return Err(not_kept());
            }
            from = newer;
        }
        Ok(held)
    }

    fn go_on_from(&self, from: Lsn) -> Result<(), DbError> {
        if self.db.hold_log(&self.name, from) { Ok(()) } else { Err(not_kept()) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.db.release_log(&self.name);
    }
}

fn not_kept() -> DbError {
    DbError::Role("the log to begin with is not kept".into())
}

impl SeedSource {
    /// Takes a picture of `db` as of a new checkpoint, for at most `streams` streams. The log is
    /// [held](Database::hold_log) while the source lives, under a name of its own that begins with `holder`; whoever sends
    /// the log afterwards holds it under another name before that.
    pub fn open(db: &Arc<Database>, holder: &str, streams: usize) -> Result<SeedSource, DbError> {
        let log = db.log().ok_or_else(|| DbError::Role("a volatile database has no copies".into()))?;
        db.checkpoint()?;
        let held = Held::from_redo_start(db, holder)?;
        let root = db.store().base().root();
        let (control, checkpoint) = (db.control(), root.checkpoint_lsn());
        let redo_start = decode_meta(root.meta(), control.log_id, checkpoint)
            .ok_or_else(|| DbError::Corrupt("the base tree's metadata is of another database".into()))?;
        let log_start = log.block_start(redo_start)?;
        let log_previous = log
            .checksum_before(log_start)?
            .ok_or_else(|| DbError::Corrupt(format!("no block of the log begins at {log_start}").into()))?;
        held.go_on_from(log_start)?;
        let epoch = log.epochs().into_iter().rev().find(|epoch| epoch.1 <= log_start);
        let stats = root.stats();
        let info = SeedInfo {
            family: control.family,
            log_id: control.log_id,
            created_micros: control.created_micros,
            checkpoint,
            highest: root.highest_lsn(),
            redo_start,
            log_start,
            log_previous,
            epoch: epoch.map_or(Epoch(0), |epoch| epoch.0),
            rows: stats.rows,
            bytes: stats.used_pages * keel_store::base::PAGE_SIZE as u64,
            borders: root.split_points(streams.max(1)),
            keys: db.keys.stored(),
        };
        Ok(SeedSource { held, root, info })
    }

    /// Whether it is a picture of this copy of a database.
    pub fn is_of(&self, db: &Arc<Database>) -> bool {
        Arc::ptr_eq(&self.held.db, db)
    }

    /// The picture itself.
    pub(crate) fn root(&self) -> &Arc<BaseRoot> {
        &self.root
    }

    /// What the copy must know first.
    pub fn info(&self) -> &SeedInfo {
        &self.info
    }

    /// The next chunk of a stream: rows after the key `after` (empty for the first), half of `bytes_max` bytes of them at least and about
    /// as many at most; and its last key, after which the stream goes on. At the end of the stream there is none; the chunk is marked as the
    /// last, and may be empty. In between a chunk ends where a key says so, so that rows that came or went leave the chunks after them as
    /// they were in an earlier backup.
    ///
    /// # Errors
    /// When a page cannot be read.
    pub fn chunk(
        &self,
        stream: usize,
        after: &[u8],
        bytes_max: usize,
    ) -> Result<(Vec<u8>, Option<Vec<u8>>), DbError> {
        let lower = if after.is_empty() { self.info.lower(stream) } else { Bound::Excluded(after) };
        let mut cursor = self.root.scan(lower, self.info.upper(stream), Direction::Forward);
        let mut out = Vec::with_capacity(bytes_max + bytes_max / 4);
        out.resize(HEADER_BYTES, 0);
        out.extend_from_slice(&length(after.len()).to_le_bytes());
        out.extend_from_slice(after);
        let (mut rows, mut flags, mut goes_on_after) = (0u32, FLAG_LAST, None);
        while let Some((key, row)) = cursor.next()? {
            out.extend_from_slice(&length(key.len()).to_le_bytes());
            out.extend_from_slice(&length(row.len()).to_le_bytes());
            out.extend_from_slice(key);
            out.extend_from_slice(row);
            rows += 1;
            if out.len() >= bytes_max || (out.len() >= bytes_max / 2 && ends_here(key, row, bytes_max / 8)) {
                flags = 0;
                goes_on_after = Some(key.to_vec());
                break;
            }
        }
        out[0..4].copy_from_slice(&MAGIC.to_le_bytes());
        out[4..8].copy_from_slice(&u32::try_from(stream).unwrap_or(u32::MAX).to_le_bytes());
        out[8..12].copy_from_slice(&flags.to_le_bytes());
        out[12..16].copy_from_slice(&rows.to_le_bytes());
        let checksum = checksum_of(&out);
        out[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
        Ok((out, goes_on_after))
    }
}

/// Whether a chunk may end with a row, by its key alone: once in about so many bytes of rows.
fn ends_here(key: &[u8], row: &[u8], every_bytes: usize) -> bool {
    let odds = u64::from(u32::MAX) * (key.len() + row.len() + 8) as u64 / every_bytes.max(1) as u64;
    u64::from(crc32c::crc32c(key)) < odds
}

fn checksum_of(chunk: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&chunk[..CHECKSUM_AT]), &chunk[HEADER_BYTES..])
}

/// Whether a chunk is its stream's last; `None` when it is none, or damaged.
pub(crate) fn is_last_chunk(bytes: &[u8]) -> Option<bool> {
    Chunk::decode(bytes).map(|chunk| chunk.last)
}

type Row<'a> = (&'a [u8], Change<&'a [u8]>);

/// A decoded chunk.
struct Chunk<'a> {
    stream: usize,
    last: bool,
    after: &'a [u8],
    rows: Vec<Row<'a>>,
}

impl<'a> Chunk<'a> {
    /// `None` when the bytes are no chunk or were damaged on their way.
    fn decode(bytes: &'a [u8]) -> Option<Chunk<'a>> {
        let mut rest = Bytes(bytes);
        let (magic, stream, flags, count, checksum) =
            (rest.u32()?, rest.u32()?, rest.u32()?, rest.u32()?, rest.u32()?);
        if magic != MAGIC || flags & !FLAG_LAST != 0 || checksum != checksum_of(bytes) {
            return None;
        }
        let length = rest.u32()? as usize;
        let after = rest.take(length)?;
        let mut rows: Vec<Row<'_>> = Vec::new();
        for _ in 0..count {
            let (key, row) = (rest.u32()? as usize, rest.u32()? as usize);
            let (key, row) = (rest.take(key)?, rest.take(row)?);
            let before = rows.last().map_or(after, |last| last.0);
            if key <= before {
                return None;
            }
            rows.push((key, Change::Put(row)));
        }
        let whole = rest.0.is_empty();
        whole.then_some(Chunk { stream: stream as usize, last: flags & FLAG_LAST != 0, after, rows })
    }
}

/// The receiving side: a database under construction in its directory.
pub struct SeedSink {
    instance: Arc<Instance>,
    id: DatabaseId,
    dir: PathBuf,
    info: SeedInfo,
    base: BaseTree,
}

impl SeedSink {
    /// Begins a copy in `dir`, or goes on with one of the same picture that was broken off there. What else is left of a
    /// database there is replaced; a complete database is not touched ([`DbError::Invalid`]).
    pub fn create(
        instance: &Arc<Instance>,
        id: DatabaseId,
        dir: &Path,
        info: &SeedInfo,
    ) -> Result<SeedSink, DbError> {
        let env = instance.env();
        if env.disk.exists(&crate::control::path(dir)) {
            return Err(DbError::Invalid(format!("{} holds a database", dir.display()).into()));
        }
        let options = |keys: &DatabaseKeys| BaseOptions {
            durable: true,
            guid: info.family,
            keys: Arc::clone(&keys.chain),
        };
        let sink = |base| SeedSink {
            instance: Arc::clone(instance),
            id,
            dir: dir.to_path_buf(),
            info: info.clone(),
            base,
        };
        let path = data_path(dir);
        if env.disk.exists(&path)
            && picture_in(env, dir)? == info.encode()
            && let Ok(keys) = DatabaseKeys::open(instance, dir)
            && keys.stored() == info.keys
            && let Ok(base) = BaseTree::open(&env.disk, &path, &instance.cache, &options(&keys))
        {
            return Ok(sink(base));
        }
        wipe(env, dir)?;
        env.disk.create_dir_all(&log_dir(dir))?;
        let keys = DatabaseKeys::adopt(instance, dir, &info.keys, info.log_start)?;
        let base = BaseTree::create(&env.disk, &path, &instance.cache, &options(&keys))?;
        env.disk.sync_dir(dir)?;
        let sink = sink(base);
        sink.merge(Vec::new())?;
        // Last: whoever finds it finds a tree that has nothing of another picture.
        let [picture, _] = paths(dir);
        FILE.write(env, dir, UNFINISHED, &picture, &info.encode())?;
        Ok(sink)
    }

    fn merge(&self, rows: Vec<Row<'_>>) -> Result<(), DbError> {
        let label = label(&self.info);
        let options = MergeOptions {
            checkpoint_lsn: self.info.checkpoint,
            highest_lsn: self.info.highest,
            meta: Some(&label),
            chunk_bytes: MERGE_BYTES,
            throttle: &NoThrottle,
            fold: None,
        };
        self.base.merge(rows, &options)?;
        Ok(())
    }

    /// Takes rows that come behind those that are there, in order.
    pub(crate) fn put(&self, rows: &[(Vec<u8>, Vec<u8>)]) -> Result<(), DbError> {
        self.merge(rows.iter().map(|(key, row)| (&key[..], Change::Put(&row[..]))).collect())
    }

    /// The last key that a stream has brought; empty when none.
    pub fn position(&self, stream: usize) -> Result<Vec<u8>, DbError> {
        let root = self.base.root();
        let mut cursor = root.scan(self.info.lower(stream), self.info.upper(stream), Direction::Reverse);
        Ok(cursor.next()?.map_or_else(Vec::new, |(key, _)| key.to_vec()))
    }

    /// Takes chunks; they are on disk when this returns, with one publication of the base tree for all of them. Returns how
    /// many were their stream's last. Streams may come side by side, the chunks of one in order; one that was taken
    /// before is taken again without harm.
    ///
    /// # Errors
    /// [`DbError::Corrupt`] when one is damaged or leaves a gap; nothing is taken then.
    pub fn apply(&self, chunks: &[impl AsRef<[u8]>]) -> Result<usize, DbError> {
        let damaged = || DbError::Corrupt("a seeding chunk is damaged or out of place".into());
        let streams = self.info.streams();
        // Streams ascend as their keys do: what they bring is in order when it is sorted by stream.
        let mut rows: Vec<Vec<Row<'_>>> = vec![Vec::new(); streams];
        let mut last = 0;
        for chunk in chunks {
            let chunk =
                Chunk::decode(chunk.as_ref()).filter(|chunk| chunk.stream < streams).ok_or_else(damaged)?;
            let taken = &mut rows[chunk.stream];
            let reached = match taken.last() {
                Some(row) => row.0.to_vec(),
                None => self.position(chunk.stream)?,
            };
            let (lower, upper) = (self.info.lower(chunk.stream), self.info.upper(chunk.stream));
            let inside = |key: &[u8]| (lower, upper).contains(key);
            if chunk.after > &reached[..] || !chunk.rows.iter().all(|row| inside(row.0)) {
                return Err(damaged());
            }
            taken.extend(chunk.rows.into_iter().filter(|row| row.0 > &reached[..]));
            last += usize::from(chunk.last);
        }
        let rows: Vec<Row<'_>> = rows.into_iter().flatten().collect();
        if !rows.is_empty() {
            self.merge(rows)?;
        }
        Ok(last)
    }

    /// Completes the copy when all streams are through, and opens it: [resolving](crate::Role::Resolving), with an empty
    /// log that begins where the source's redo does.
    pub fn finish(self, options: &DbOptions) -> Result<Arc<Database>, DbError> {
        let SeedSink { instance, id, dir, info, base } = self;
        drop(base);
        let env = instance.env();
        let log_options = LogOptions {
            log_id: info.log_id,
            epoch: info.epoch,
            first_lsn: info.log_start,
            first_previous: Some(info.log_previous),
            ..instance.log_options(&options.log)
        };
        // A log of an attempt that was cut short here has nothing in it.
        let log = log_dir(&dir);
        if env.disk.exists(&log) {
            for segment in env.disk.list(&log)?.iter().filter(|path| keel_log::segment::is_segment(path)) {
                env.disk.remove(segment)?;
            }
        }
        Log::create(env, &log, log_options)?;
        Marker { seeding: true }.write(env, &dir)?;
        let control =
            Control { log_id: info.log_id, family: info.family, created_micros: info.created_micros };
        control.write(env, &dir)?;
        if let Some(parent) = dir.parent() {
            env.disk.sync_dir(parent)?;
        }
        // Of no use any more, and no harm if it stays.
        let [picture, _] = paths(&dir);
        env.disk.remove(&picture)?;
        Database::open(&instance, id, &dir, options, &mut |_| ())
    }
}

/// The metadata of the copy's base tree.
fn label(info: &SeedInfo) -> [u8; crate::database::META_BYTES] {
    encode_meta(info.log_id, info.redo_start)
}
