//! Small files that must be whole after a crash: identity, trust, group records.
//!
//! The first line is `KEEL1 <crc32c of the rest, 8 hex digits> <its length>`, the rest is the content: JSON where a person may
//! want to read it, bytes of another crate's making otherwise. A file is replaced by writing its successor beside it, syncing that and renaming it.

use crate::error::GroupError;
use keel_base::env::{Disk, OpenMode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

const MAGIC: &str = "KEEL1";

/// Makes a directory and whatever is missing above it, durably: what is written into it is lost with it.
pub(crate) fn make_dir(disk: &dyn Disk, dir: &Path) -> Result<(), GroupError> {
    let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && !disk.exists(dir);
    let missing: Vec<&Path> = dir.ancestors().take_while(is_missing).collect();
    disk.create_dir_all(dir)?;
    for parent in missing.iter().rev().filter_map(|dir| dir.parent()) {
        let here = parent.as_os_str().is_empty();
        disk.sync_dir(if here { Path::new(".") } else { parent })?;
    }
    Ok(())
}

/// Writes `value` to `path`, durable and whole when this returns; the directory is made when it is missing.
pub fn write<T: Serialize>(disk: &dyn Disk, path: &Path, value: &T) -> Result<(), GroupError> {
    let body = serde_json::to_vec_pretty(value).map_err(|e| GroupError::damaged(path, e.to_string()))?;
    write_bytes(disk, path, &body)
}

/// The same for bytes.
pub fn write_bytes(disk: &dyn Disk, path: &Path, body: &[u8]) -> Result<(), GroupError> {
    let mut bytes = format!("{MAGIC} {:08x} {}\n", crc32c::crc32c(body), body.len()).into_bytes();
    bytes.extend_from_slice(body);
    let dir = path.parent().ok_or_else(|| GroupError::damaged(path, "has no directory".into()))?;
    make_dir(disk, dir)?;
    let next = path.with_extension("next");
    let file = disk.open(&next, OpenMode::Create)?;
    file.set_len(0)?;
    file.write_at(&bytes, 0)?;
    file.sync_all()?;
    disk.rename(&next, path)?;
    disk.sync_dir(dir)?;
    Ok(())
}

/// Reads what [`write()`] wrote; `None` when there is no such file.
pub fn read<T: DeserializeOwned>(disk: &dyn Disk, path: &Path) -> Result<Option<T>, GroupError> {
    let Some(body) = read_bytes(disk, path)? else { return Ok(None) };
    serde_json::from_slice(&body).map(Some).map_err(|e| GroupError::damaged(path, e.to_string()))
}

/// The same for bytes.
pub fn read_bytes(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>, GroupError> {
    if !disk.exists(path) {
        return Ok(None);
    }
    let file = disk.open(path, OpenMode::Read)?;
    let length = usize::try_from(file.len()?).map_err(|_| GroupError::damaged(path, "too long".into()))?;
    let mut bytes = vec![0; length];
    let n = file.read_at(&mut bytes, 0)?;
    let body = checked(&bytes[..n]).ok_or_else(|| GroupError::damaged(path, "checksum".into()))?;
    Ok(Some(body.to_vec()))
}

fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|b| *b == b'\n')?;
    let line = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut words = line.split(' ');
    let (magic, checksum, length) = (words.next()?, words.next()?, words.next()?);
    let body = &bytes[end + 1..];
    let fits = magic == MAGIC
        && words.next().is_none()
        && length.parse() == Ok(body.len())
        && u32::from_str_radix(checksum, 16) == Ok(crc32c::crc32c(body));
    fits.then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::SimDisk;

    /// The simulated disk has no directories that could be lost: what is counted is that their parents were synced.
    #[test]
    fn a_directory_that_is_made_is_there_for_good() {
        let disk = SimDisk::new();
        let syncs = |path: &str| {
            let before = disk.counts().syncs;
            write_bytes(&disk, Path::new(path), b"x").unwrap();
            disk.counts().syncs - before
        };
        let (first, second) = (syncs("data/groups/one"), syncs("data/groups/two"));
        assert_eq!(first, second + 2, "of `data` and what it is in");
        let third = syncs("data/others/one");
        assert_eq!(third, second + 1, "of `data`");
    }

    #[test]
    fn what_is_written_is_read_and_damage_is_noticed() {
        let disk = SimDisk::new();
        let path = Path::new("groups/one.json");
        assert_eq!(read::<Vec<String>>(&disk, path).unwrap(), None);
        for value in [vec!["a".to_owned()], vec!["longer than the first".to_owned(), "b".to_owned()], vec![]]
        {
            write(&disk, path, &value).unwrap();
            assert_eq!(read::<Vec<String>>(&disk, path).unwrap(), Some(value));
        }
        let length = disk.open(path, OpenMode::Read).unwrap().len().unwrap();
        for at in 0..length {
            disk.flip(path, at, 2);
            assert!(read::<Vec<String>>(&disk, path).is_err(), "byte {at}");
            disk.flip(path, at, 2);
        }
    }
}
