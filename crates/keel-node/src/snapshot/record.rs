//! The record of a database snapshot, `<dir>/snapshot-<number>.keel`: the root that is pinned for it.
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 8 | magic | `KEELSNP1` |
//! | 8 | 4 | version | 1 |
//! | 12 | 4 | length | of the body |
//! | 16 | 4 | checksum | CRC32C of bytes 0..16 and of the body |
//! | 20 | 8 | number | as in the file's name |
//! | 28 | 8 | created | microseconds since 1970 UTC |
//! | 36 | | pin | the [record](keel_store::base::Pin::record) of the pinned root, behind its length (4) |
//!
//! All numbers are little-endian. A file has its name only when it is whole; it is never changed.

use crate::bytes::{Bytes, length};
use crate::error::DbError;
use keel_base::env::{Env, OpenMode};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"KEELSNP1";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 20;
const CHECKSUM_AT: usize = 16;
/// More than any has.
const FILE_BYTES_MAX: usize = 16 << 10;
const NAME: &str = "snapshot-";
const EXTENSION: &str = ".keel";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) created_micros: i64,
    pub(crate) pin: Vec<u8>,
}

/// Where the record with a number lies.
pub(crate) fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{NAME}{number:016x}{EXTENSION}"))
}

/// Where one is written before it has its name.
fn unfinished(dir: &Path) -> PathBuf {
    dir.join("snapshot.new")
}

/// The number in the name of a record; `None` of any other file.
fn number_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let digits = name.strip_prefix(NAME)?.strip_suffix(EXTENSION)?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// Numbers of the records in a directory, ascending.
pub(crate) fn numbers(env: &Env, dir: &Path) -> Result<Vec<u64>, DbError> {
    let mut numbers: Vec<u64> = env.disk.list(dir)?.iter().filter_map(|path| number_of(path)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Removes the record with a number, durably, if it is there.
pub(crate) fn remove(env: &Env, dir: &Path, number: u64) -> Result<(), DbError> {
    let path = path(dir, number);
    if env.disk.exists(&path) {
        env.disk.remove(&path)?;
    }
    env.disk.sync_dir(dir)?;
    Ok(())
}

/// Removes all there are, and what is left of one that was being written. Durable with the directory.
pub(crate) fn remove_all(env: &Env, dir: &Path) -> Result<(), DbError> {
    for path in env.disk.list(dir)? {
        if number_of(&path).is_some() || path == unfinished(dir) {
            env.disk.remove(&path)?;
        }
    }
    Ok(())
}

impl Record {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = self.number.to_le_bytes().to_vec();
        body.extend_from_slice(&self.created_micros.to_le_bytes());
        body.extend_from_slice(&length(self.pin.len()).to_le_bytes());
        body.extend_from_slice(&self.pin);
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&length(body.len()).to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&out), &body);
        out.extend_from_slice(&checksum.to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Record> {
        let (head, body) = bytes.split_at_checked(HEADER_BYTES)?;
        let mut fields = Bytes(head);
        let known = fields.take(8)? == MAGIC && fields.u32()? == VERSION;
        if !known || fields.u32()? as usize != body.len() {
            return None;
        }
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&head[..CHECKSUM_AT]), body);
        if !cfg!(fuzzing) && fields.u32()? != checksum {
            return None;
        }
        let mut rest = Bytes(body);
        let number = rest.u64()?;
        let created_micros = i64::from_le_bytes(rest.take(8)?.try_into().ok()?);
        let pin = rest.sized()?.to_vec();
        rest.0.is_empty().then_some(Record { number, created_micros, pin })
    }

    /// Writes the file, whole or not at all, durably.
    pub(crate) fn write(&self, env: &Env, dir: &Path) -> Result<(), DbError> {
        let fresh = unfinished(dir);
        if env.disk.exists(&fresh) {
            env.disk.remove(&fresh)?;
        }
        let file = env.disk.open(&fresh, OpenMode::CreateNew)?;
        file.write_durable_at(&self.encode(), 0)?;
        file.sync_all()?;
        env.disk.rename(&fresh, &path(dir, self.number))?;
        env.disk.sync_dir(dir)?;
        Ok(())
    }

    /// Reads the file with a number; `None` when it is damaged.
    pub(crate) fn read(env: &Env, dir: &Path, number: u64) -> Result<Option<Record>, DbError> {
        let file = env.disk.open(&path(dir, number), OpenMode::Read)?;
        let mut bytes = vec![0; FILE_BYTES_MAX];
        let mut n = 0;
        while n < bytes.len() {
            match file.read_at(&mut bytes[n..], n as u64)? {
                0 => break,
                more => n += more,
            }
        }
        Ok(Record::decode(&bytes[..n]).filter(|record| record.number == number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, env};

    #[test]
    fn what_is_written_is_read_and_every_flipped_byte_noticed() {
        let disk = SimDisk::new();
        let (env, dir) = (env(&disk, 1), Path::new("db"));
        let record = Record { number: 0xfeed, created_micros: 7, pin: vec![3; 4096] };
        record.write(&env, dir).unwrap();
        assert_eq!(numbers(&env, dir).unwrap(), [0xfeed]);
        assert_eq!(Record::read(&env, dir, 0xfeed).unwrap().as_ref(), Some(&record));
        for at in 0..record.encode().len() as u64 {
            disk.flip(&path(dir, 0xfeed), at, 4);
            assert_eq!(Record::read(&env, dir, 0xfeed).unwrap(), None, "byte {at}");
            disk.flip(&path(dir, 0xfeed), at, 4);
        }
        remove(&env, dir, 0xfeed).unwrap();
        assert_eq!(numbers(&env, dir).unwrap(), []);
    }
}
