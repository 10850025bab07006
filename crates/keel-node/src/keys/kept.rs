//! The key file of a database, `<dir>/keys.keel`: its [key ring](super::KeyRing), and how far its files are as that wants
//! them. A database that was never encrypted has none.
//!
//! It is a [whole file](crate::whole_file) of magic `KEELDEK1` and version 1:
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 20 | 16 | salt | of the keys of this copy's pages, random |
//! | 36 | 8 | before | pages of older generations are to be written anew; the highest number: all of them |
//! | 44 | 1 | from | number of the key that pages had before; 0 for none |
//! | 45 | 1 | flags | bit 0: all pages are as they should be; bit 1: so are the log's segments |
//! | 46 | 2 | reserved | 0 |
//! | 48 | 8 | at | position behind the announcement in the log |
//! | 56 | | ring | behind its length (4) |
//! | | | previous | the ring before, behind its length, which is 0 for none |
//!
//! All numbers are little-endian. The file is replaced as a whole. It holds keys in sealed form alone.

use super::ring::KeyRing;
use crate::bytes::{Bytes, length};
use crate::error::DbError;
use crate::whole_file::Kind;
use keel_base::Lsn;
use keel_base::cipher::SALT_BYTES;
use keel_base::env::Env;
use std::path::{Path, PathBuf};

/// Larger than any is.
const FILE: Kind = Kind { magic: b"KEELDEK1", version: 1, bytes_max: 64 << 10 };
const FLAG_PAGES: u8 = 1;
const FLAG_LOG: u8 = 2;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) salt: [u8; SALT_BYTES],
    pub(crate) before: u64,
    pub(crate) from: u8,
    pub(crate) pages_done: bool,
    pub(crate) log_done: bool,
    pub(crate) at: Lsn,
    pub(crate) ring: KeyRing,
    pub(crate) previous: Option<KeyRing>,
}

/// Where it lies.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("keys.keel")
}

impl Kept {
    /// Of a copy that has nothing in another form than its ring says.
    pub(crate) fn fresh(env: &Env, ring: KeyRing, at: Lsn) -> Kept {
        let mut salt = [0; SALT_BYTES];
        env.random.fill(&mut salt);
        Kept { salt, before: 0, from: 0, pages_done: true, log_done: true, at, ring, previous: None }
    }

    /// The same copy under another ring: when that wants other pages, all are to be written anew.
    pub(crate) fn under(&self, ring: KeyRing, at: Lsn) -> Kept {
        let mut kept = Kept { at, previous: Some(self.ring.clone()), ..self.clone() };
        if ring.goal() != self.ring.goal() {
            kept.before = u64::MAX;
            kept.from = self.ring.goal();
            kept.pages_done = false;
            kept.log_done = ring.goal() == 0;
        }
        kept.ring = ring;
        kept
    }

    fn body(&self) -> Vec<u8> {
        let mut body = self.salt.to_vec();
        body.extend_from_slice(&self.before.to_le_bytes());
        let pages = if self.pages_done { FLAG_PAGES } else { 0 };
        let log = if self.log_done { FLAG_LOG } else { 0 };
        body.extend_from_slice(&[self.from, pages | log, 0, 0]);
        body.extend_from_slice(&self.at.0.to_le_bytes());
        let previous = self.previous.as_ref().map(KeyRing::encode).unwrap_or_default();
        for ring in [self.ring.encode(), previous] {
            body.extend_from_slice(&length(ring.len()).to_le_bytes());
            body.extend_from_slice(&ring);
        }
        body
    }

    fn of_body(body: &[u8]) -> Option<Kept> {
        let mut rest = Bytes(body);
        let salt = rest.take(SALT_BYTES)?.try_into().ok()?;
        let before = rest.u64()?;
        let [from, flags, 0, 0] = *rest.take(4)?.first_chunk()? else { return None };
        let at = Lsn(rest.u64()?);
        let ring = KeyRing::decode(rest.sized()?)?;
        let previous = match rest.sized()? {
            [] => None,
            previous => Some(KeyRing::decode(previous)?),
        };
        rest.0.is_empty().then_some(Kept {
            salt,
            before,
            from,
            pages_done: flags & FLAG_PAGES != 0,
            log_done: flags & FLAG_LOG != 0,
            at,
            ring,
            previous,
        })
    }

    /// Writes the file, whole or not at all, durably.
    pub(crate) fn write(&self, env: &Env, dir: &Path) -> Result<(), DbError> {
        FILE.write(env, dir, "keys.new", &path(dir), &self.body())
    }

    /// Reads the file; `None` when the database was never encrypted.
    pub(crate) fn read(env: &Env, dir: &Path) -> Result<Option<Kept>, DbError> {
        let path = path(dir);
        if !env.disk.exists(&path) {
            return Ok(None);
        }
        let kept = FILE.read(env, &path)?.and_then(|body| Kept::of_body(&body));
        kept.map(Some).ok_or_else(|| DbError::Corrupt(format!("{} is damaged", path.display()).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::cipher::Algorithm;
    use keel_base::env::OpenMode;
    use keel_base::env::sim::{SimDisk, env};

    #[test]
    fn what_is_written_is_read_and_every_flipped_byte_noticed() {
        let disk = SimDisk::new();
        let (env, dir) = (env(&disk, 1), Path::new("db"));
        assert_eq!(Kept::read(&env, dir).unwrap(), None);
        let mut ring = KeyRing::default();
        ring.add(Algorithm::Aes256, &[1; 20], b"secret", &*env.random);
        let kept = Kept::fresh(&env, ring.clone(), Lsn(9));
        kept.write(&env, dir).unwrap();
        assert_eq!(Kept::read(&env, dir).unwrap().as_ref(), Some(&kept));
        ring.on = true;
        let turned = kept.under(ring, Lsn(12));
        assert!(!turned.pages_done && !turned.log_done && turned.previous.as_ref() == Some(&kept.ring));
        turned.write(&env, dir).unwrap();
        assert_eq!(Kept::read(&env, dir).unwrap(), Some(turned));
        let length = env.disk.open(&path(dir), OpenMode::Read).unwrap().len().unwrap();
        for at in 0..length {
            disk.flip(&path(dir), at, 4);
            assert!(Kept::read(&env, dir).is_err(), "byte {at}");
            disk.flip(&path(dir), at, 4);
        }
    }
}
