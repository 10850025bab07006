//! Frames: how a backup lies in its file, by byte. See [`backup`](super).

use super::BackupOptions;
use super::cipher::SetKey;
use crate::error::DbError;
use keel_base::env::File;
use std::io;
use std::sync::Arc;

const MAGIC: u32 = u32::from_le_bytes(*b"KBK1");
const HEADER_BYTES: usize = 24;
const COMPRESSED: u8 = 1;
const ENCRYPTED: u8 = 2;
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
pub(super) enum Kind {
    Begin = 1,
    Rows = 2,
    Log = 3,
    End = 4,
    BeginLog = 5,
    BeginDifferential = 6,
    Changes = 7,
}

const KINDS: [Kind; 7] =
    [Kind::Begin, Kind::Rows, Kind::Log, Kind::End, Kind::BeginLog, Kind::BeginDifferential, Kind::Changes];

impl Kind {
    /// Whether it has rows, changes or log in it.
    fn is_content(self) -> bool {
        matches!(self, Kind::Rows | Kind::Log | Kind::Changes)
    }
}

pub(super) fn damaged(what: impl Into<Arc<str>>) -> DbError {
    DbError::Corrupt(what.into())
}

pub(super) struct Writer<'a> {
    file: &'a dyn File,
    pub(super) at: u64,
    synced: u64,
    /// Of rows, changes and log so far, not compressed.
    pub(super) bytes: u64,
    options: BackupOptions<'a>,
    /// Frames of the set so far.
    number: u64,
}

impl<'a> Writer<'a> {
    /// A block of the log.
    pub(super) fn block(&mut self, block: &[u8]) -> Result<(), DbError> {
        self.bytes += block.len() as u64;
        Ok(self.frame(Kind::Log, block)?)
    }

    /// Everything is on the disk afterwards.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    pub(super) fn at(file: &'a dyn File, at: u64, options: BackupOptions<'a>) -> Writer<'a> {
        Writer { file, at, synced: at, bytes: 0, options, number: 0 }
    }

    pub(super) fn frame(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let compress = self.options.compress && kind != Kind::End;
        let compressed = compress.then(|| lz4_flex::block::compress(payload));
        let smaller = compressed.filter(|small| small.len() < payload.len());
        let mut flags = if smaller.is_some() { COMPRESSED } else { 0 };
        let key = self.options.key.filter(|_| kind.is_content());
        let sealed = match key {
            None => smaller,
            Some(key) => {
                flags |= ENCRYPTED;
                let mut bytes = smaller.unwrap_or_else(|| payload.to_vec());
                key.seal(self.number, kind, &mut bytes)?;
                Some(bytes)
            }
        };
        self.number += 1;
        let stored = sealed.as_deref().unwrap_or(payload);
        let mut frame = Vec::with_capacity(HEADER_BYTES + stored.len());
        frame.extend_from_slice(&MAGIC.to_le_bytes());
        frame.extend_from_slice(&[kind as u8, flags, 0, 0]);
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

pub(super) struct Head {
    pub(super) kind: Kind,
    compressed: bool,
    encrypted: bool,
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
        let (compressed, encrypted) = (bytes[5] & COMPRESSED != 0, bytes[5] & ENCRYPTED != 0);
        (u32_at(0) == MAGIC && whole && sane).then_some(Head {
            kind,
            compressed,
            encrypted,
            stored,
            bytes: raw,
            checksum: u32_at(16),
        })
    }
}

/// Reads frames one after the other.
pub(super) struct Reader<'a> {
    file: &'a dyn File,
    pub(super) at: u64,
    /// Of the file.
    pub(super) length: u64,
    key: Option<&'a SetKey>,
    /// Frames read, of the set to be read with the key.
    number: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn at(file: &'a dyn File, at: u64, key: Option<&'a SetKey>) -> io::Result<Reader<'a>> {
        Ok(Reader { file, at, length: file.len()?, key, number: 0 })
    }

    /// As [`File::read_at`]. A file that knows what is to be in it may find it damaged.
    fn read(&self, bytes: &mut [u8], at: u64) -> Result<usize, DbError> {
        self.file.read_at(bytes, at).map_err(|e| match e.kind() {
            io::ErrorKind::InvalidData => damaged(e.to_string()),
            _ => e.into(),
        })
    }

    /// The next header; `None` at the end of the file.
    pub(super) fn head(&mut self) -> Result<Option<Head>, DbError> {
        let mut bytes = [0; HEADER_BYTES];
        let n = self.read(&mut bytes, self.at)?;
        if n == 0 {
            return Ok(None);
        }
        let head = Head::decode(&bytes).filter(|_| n == HEADER_BYTES);
        let none = || damaged(format!("no frame of a backup begins at byte {} of the file", self.at));
        let head = head.ok_or_else(none)?;
        self.at += HEADER_BYTES as u64;
        self.number += 1;
        Ok(Some(head))
    }

    /// Whether a set ends somewhere behind this place, which is then damage and not what a backup left that was cut short.
    pub(super) fn a_set_ends_later(&self) -> Result<bool, DbError> {
        let mut window = vec![0; SEARCH_BYTES];
        let mut at = self.at;
        while at < self.length {
            let n = self.read(&mut window, at)?;
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

    /// Where the frame begins that the file ends with, as far as that is not larger than what is searched at a time.
    pub(super) fn last_frame(&self) -> Result<Option<u64>, DbError> {
        let from = self.length.saturating_sub(SEARCH_BYTES as u64);
        let mut window = vec![0; (self.length - from) as usize];
        let n = self.read(&mut window, from)?;
        let ends_it = |at: &usize| {
            let header =
                window.get(*at..*at + HEADER_BYTES).and_then(|b| <&[u8; HEADER_BYTES]>::try_from(b).ok());
            header.and_then(Head::decode).is_some_and(|head| at + HEADER_BYTES + head.stored == n)
        };
        Ok((0..n).rev().find(ends_it).map(|at| from + at as u64))
    }

    pub(super) fn payload(&mut self, head: &Head) -> Result<Vec<u8>, DbError> {
        let broken = || damaged(format!("the frame before byte {} of the file is damaged", self.at));
        if self.at + head.stored as u64 > self.length {
            return Err(broken());
        }
        let mut stored = vec![0; head.stored];
        let n = self.read(&mut stored, self.at)?;
        let whole = cfg!(fuzzing) || crc32c::crc32c(&stored) == head.checksum;
        if n < head.stored || !whole {
            return Err(broken());
        }
        if head.encrypted {
            let key = self.key.ok_or_else(|| damaged("the backup is encrypted, and its key is not known"))?;
            stored = key.open(self.number - 1, head.kind, stored).ok_or_else(broken)?;
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

    pub(super) fn skip(&mut self, head: &Head) {
        self.at += head.stored as u64;
    }
}
