//! The marker of a database that belongs to an availability group: `<dir>/group.keel`.
//!
//! While it is there, the log may have been received, so what lies behind its end is no damage; and the database does not
//! come up by itself: it opens resolving, with the log replayed only as far as it is known to be agreed.
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 8 | magic | `KEELGRP1` |
//! | 8 | 4 | version | 1 |
//! | 12 | 4 | flags | bit 0: the base tree was seeded and the log has not caught up with it yet |
//! | 16 | 492 | reserved | 0 |
//! | 508 | 4 | checksum | CRC32C of bytes 0..508 |
//!
//! All numbers are little-endian.

use crate::error::DbError;
use keel_base::env::{Env, OpenMode};
use std::path::{Path, PathBuf};

const BYTES: usize = 512;
const CHECKSUM_AT: usize = BYTES - 4;
const MAGIC: &[u8; 8] = b"KEELGRP1";
const VERSION: u32 = 1;
const FLAG_SEEDING: u32 = 1;

/// What the marker says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    /// The base tree may hold rows of log that has not arrived yet.
    pub(crate) seeding: bool,
}

/// Where it lies.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("group.keel")
}

/// What it is called before it is whole.
pub(crate) fn unfinished(dir: &Path) -> PathBuf {
    dir.join("group.new")
}

impl Marker {
    /// Writes it, whole or not at all, durably.
    pub(crate) fn write(self, env: &Env, dir: &Path) -> Result<(), DbError> {
        let mut out = [0; BYTES];
        out[0..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&(if self.seeding { FLAG_SEEDING } else { 0 }).to_le_bytes());
        let checksum = crc32c::crc32c(&out[..CHECKSUM_AT]);
        out[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        let fresh = unfinished(dir);
        let file = env.disk.open(&fresh, OpenMode::Create)?;
        file.write_durable_at(&out, 0)?;
        file.sync_all()?;
        env.disk.rename(&fresh, &path(dir))?;
        env.disk.sync_dir(dir)?;
        Ok(())
    }

    /// Reads it; `None` when the database belongs to no group.
    pub(crate) fn read(env: &Env, dir: &Path) -> Result<Option<Marker>, DbError> {
        let path = path(dir);
        if !env.disk.exists(&path) {
            return Ok(None);
        }
        let mut bytes = [0; BYTES];
        let n = env.disk.open(&path, OpenMode::Read)?.read_at(&mut bytes, 0)?;
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let known = n == BYTES && &bytes[..8] == MAGIC && u32_at(8) == VERSION;
        if !known || u32_at(CHECKSUM_AT) != crc32c::crc32c(&bytes[..CHECKSUM_AT]) {
            return Err(DbError::Corrupt(format!("{} is damaged", path.display()).into()));
        }
        Ok(Some(Marker { seeding: u32_at(12) & FLAG_SEEDING != 0 }))
    }

    /// Removes it, durably.
    pub(crate) fn remove(env: &Env, dir: &Path) -> Result<(), DbError> {
        if env.disk.exists(&path(dir)) {
            env.disk.remove(&path(dir))?;
            env.disk.sync_dir(dir)?;
        }
        Ok(())
    }
}
