//! The record of a database snapshot, `<dir>/snapshot-<number>.keel`: the root that is pinned for it.
//!
//! It is a [whole file](crate::whole_file) of magic `KEELSNP1` and version 1:
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 20 | 8 | number | as in the file's name |
//! | 28 | 8 | created | microseconds since 1970 UTC |
//! | 36 | | pin | the [record](keel_store::base::Pin::record) of the pinned root, behind its length (4) |
//!
//! All numbers are little-endian. A file has its name only when it is whole; it is never changed.

use crate::bytes::{Bytes, length};
use crate::error::DbError;
use crate::whole_file::Kind;
use keel_base::env::Env;
use std::path::{Path, PathBuf};

/// Larger than any is.
const FILE: Kind = Kind { magic: b"KEELSNP1", version: 1, bytes_max: 16 << 10 };
/// What one is called before it has its name.
const UNFINISHED: &str = "snapshot.new";
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
        if number_of(&path).is_some() || path == dir.join(UNFINISHED) {
            env.disk.remove(&path)?;
        }
    }
    Ok(())
}

impl Record {
    fn body(&self) -> Vec<u8> {
        let mut body = self.number.to_le_bytes().to_vec();
        body.extend_from_slice(&self.created_micros.to_le_bytes());
        body.extend_from_slice(&length(self.pin.len()).to_le_bytes());
        body.extend_from_slice(&self.pin);
        body
    }

    fn of_body(body: &[u8]) -> Option<Record> {
        let mut rest = Bytes(body);
        let number = rest.u64()?;
        let created_micros = i64::from_le_bytes(rest.take(8)?.try_into().ok()?);
        let pin = rest.sized()?.to_vec();
        rest.0.is_empty().then_some(Record { number, created_micros, pin })
    }

    /// Writes the file, whole or not at all, durably.
    pub(crate) fn write(&self, env: &Env, dir: &Path) -> Result<(), DbError> {
        FILE.write(env, dir, UNFINISHED, &path(dir, self.number), &self.body())
    }

    /// Reads the file with a number; `None` when it is damaged.
    pub(crate) fn read(env: &Env, dir: &Path, number: u64) -> Result<Option<Record>, DbError> {
        let record = FILE.read(env, &path(dir, number))?.and_then(|body| Record::of_body(&body));
        Ok(record.filter(|record| record.number == number))
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
        let length = disk.contents(&path(dir, 0xfeed)).unwrap().len() as u64;
        for at in 0..length {
            disk.flip(&path(dir, 0xfeed), at, 4);
            assert_eq!(Record::read(&env, dir, 0xfeed).unwrap(), None, "byte {at}");
            disk.flip(&path(dir, 0xfeed), at, 4);
        }
        remove(&env, dir, 0xfeed).unwrap();
        assert_eq!(numbers(&env, dir).unwrap(), []);
    }
}
