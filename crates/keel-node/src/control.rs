//! The control file of a database: who it is. Written once, when the database is complete; a directory without it is the
//! remains of a creation that was cut short. So it has its name only when it is whole itself.
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 8 | magic | `KEELCTL1` |
//! | 8 | 4 | version | 1 |
//! | 12 | 4 | log id | of its log |
//! | 16 | 16 | family | random; the same for all replicas and restored copies |
//! | 32 | 8 | created | microseconds since 1970 UTC |
//! | 40 | 468 | reserved | 0 |
//! | 508 | 4 | checksum | CRC32C of bytes 0..508 |
//!
//! All numbers are little-endian.

use crate::error::DbError;
use keel_base::env::{Env, OpenMode};
use std::path::{Path, PathBuf};

const BYTES: usize = 512;
const CHECKSUM_AT: usize = BYTES - 4;
const MAGIC: &[u8; 8] = b"KEELCTL1";
/// The form of databases that this release knows.
pub(crate) const VERSION: u32 = 1;

/// Who a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// Of its log.
    pub log_id: u32,
    /// Shared by all copies.
    pub family: [u8; 16],
    /// Microseconds since 1970 UTC.
    pub created_micros: i64,
}

/// Where the control file of a database lies.
pub fn path(dir: &Path) -> PathBuf {
    dir.join("control.keel")
}

/// The version in the control file; `None` where there is none.
pub(crate) fn version(env: &Env, dir: &Path) -> Result<Option<u32>, DbError> {
    let path = path(dir);
    if !env.disk.exists(&path) {
        return Ok(None);
    }
    let mut head = [0; 12];
    let n = env.disk.open(&path, OpenMode::Read)?.read_at(&mut head, 0)?;
    let known = n == head.len() && &head[..8] == MAGIC;
    Ok(known.then(|| u32::from_le_bytes([head[8], head[9], head[10], head[11]])))
}

/// What it is called before it is whole.
pub(crate) fn unfinished(dir: &Path) -> PathBuf {
    dir.join("control.new")
}

impl Control {
    /// A new identity.
    pub fn new(env: &Env) -> Control {
        let mut family = [0; 16];
        env.random.fill(&mut family);
        let log_id = u32::from_le_bytes([family[0], family[1], family[2], family[3]]);
        Control { log_id, family, created_micros: micros(env) }
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut out = [0; BYTES];
        out[0..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&self.log_id.to_le_bytes());
        out[16..32].copy_from_slice(&self.family);
        out[32..40].copy_from_slice(&self.created_micros.to_le_bytes());
        let checksum = crc32c::crc32c(&out[..CHECKSUM_AT]);
        out[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    fn decode(bytes: &[u8]) -> Option<Control> {
        let bytes = bytes.get(..BYTES)?;
        let u32_at = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let known = &bytes[..8] == MAGIC && u32_at(8)? == VERSION;
        if !known || u32_at(CHECKSUM_AT)? != crc32c::crc32c(&bytes[..CHECKSUM_AT]) {
            return None;
        }
        Some(Control {
            log_id: u32_at(12)?,
            family: bytes.get(16..32)?.try_into().ok()?,
            created_micros: i64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?),
        })
    }

    /// Writes the file, whole or not at all, and makes it and its directory durable. There must be none.
    pub fn write(&self, env: &Env, dir: &Path) -> Result<(), DbError> {
        let unfinished = unfinished(dir);
        let file = env.disk.open(&unfinished, OpenMode::Create)?;
        file.write_durable_at(&self.encode(), 0)?;
        file.sync_all()?;
        env.disk.rename(&unfinished, &path(dir))?;
        env.disk.sync_dir(dir)?;
        Ok(())
    }

    /// Reads the file.
    pub fn read(env: &Env, dir: &Path) -> Result<Control, DbError> {
        let path = path(dir);
        if !env.disk.exists(&path) {
            return Err(DbError::Invalid(format!("no database in {}", dir.display()).into()));
        }
        let file = env.disk.open(&path, OpenMode::Read)?;
        let mut bytes = [0; BYTES];
        let n = file.read_at(&mut bytes, 0)?;
        Control::decode(&bytes[..n])
            .ok_or_else(|| DbError::Corrupt(format!("{} is damaged", path.display()).into()))
    }
}

/// The wall clock in microseconds.
pub(crate) fn micros(env: &Env) -> i64 {
    i64::try_from(env.clock.unix_nanos() / 1000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, env};

    #[test]
    fn what_is_written_is_read_and_every_flipped_byte_noticed() {
        let disk = SimDisk::new();
        let env = env(&disk, 1);
        let dir = Path::new("db");
        let control = Control::new(&env);
        control.write(&env, dir).unwrap();
        assert_eq!(Control::read(&env, dir).unwrap(), control);
        for at in 0..BYTES as u64 {
            disk.flip(&path(dir), at, 4);
            assert!(Control::read(&env, dir).is_err(), "byte {at}");
            disk.flip(&path(dir), at, 4);
        }
    }
}
