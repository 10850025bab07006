//! Databases between two instances: detached from one, not yet attached to another.
//!
//! Detaching leaves the files as they are. When all of the log is in the data file by then, a note says so, `<dir>/detached.keel`: with it
//! the log is not needed any more, and [`rebuild_log`] makes an empty one that goes on where it ended. The note goes before anything
//! is written to the log again, so it never speaks of a log that has more.
//!
//! It is a small file that is replaced as a whole, of magic `KEELDET1` and version 1:
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 20 | 8 | end | of the log, and of what the data file has |
//! | 28 | 8 | epoch | of the log |
//! | 36 | 1 | flags | bit 0: the log is being made anew, what is there of it is nothing |
//! | 37 | 7 | reserved | 0 |
//!
//! All numbers are little-endian.

use crate::bytes::Bytes;
use crate::control::{self, Control};
use crate::database::{Database, DbOptions, data_path, log_dir, log_options};
use crate::error::DbError;
use crate::instance::Instance;
use crate::keys::DatabaseKeys;
use crate::marker;
use crate::whole_file::Kind;
use keel_base::env::Env;
use keel_base::{Epoch, Lsn};
use keel_log::segment::is_segment;
use keel_log::{Log, LogOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const FILE: Kind = Kind { magic: b"KEELDET1", version: 1, bytes_max: 64 };
const FLAG_REBUILDING: u8 = 1;

/// What a directory holds that somebody wants to attach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No database.
    Nothing,
    /// One of another release, in a form that this one does not know.
    OtherVersion {
        /// Its form.
        version: u32,
        /// The newest that is known.
        known: u32,
    },
    /// A copy of an availability group's: its log may have what the group has not agreed on.
    OfGroup,
    /// A database that is whole.
    Whole,
    /// A database without its log.
    WithoutLog {
        /// All of it is in the data file: it can be made anew.
        can_be_rebuilt: bool,
    },
}

struct Note {
    end: Lsn,
    epoch: Epoch,
    rebuilding: bool,
}

/// Where the note lies.
pub(crate) fn path(dir: &Path) -> PathBuf {
    dir.join("detached.keel")
}

impl Note {
    fn write(&self, env: &Env, dir: &Path) -> Result<(), DbError> {
        let mut body = self.end.0.to_le_bytes().to_vec();
        body.extend_from_slice(&self.epoch.0.to_le_bytes());
        body.extend_from_slice(&[if self.rebuilding { FLAG_REBUILDING } else { 0 }, 0, 0, 0, 0, 0, 0, 0]);
        FILE.write(env, dir, "detached.new", &path(dir), &body)
    }

    /// `None` when there is none, or a damaged one: then nobody knows whether the log is needed, so it is.
    fn read(env: &Env, dir: &Path) -> Result<Option<Note>, DbError> {
        if !env.disk.exists(&path(dir)) {
            return Ok(None);
        }
        let body = FILE.read(env, &path(dir))?;
        Ok(body.and_then(|body| {
            let mut rest = Bytes(&body);
            let (end, epoch) = (Lsn(rest.u64()?), Epoch(rest.u64()?));
            let [flags, 0, 0, 0, 0, 0, 0, 0] = *rest.take(8)?.first_chunk()? else { return None };
            Some(Note { end, epoch, rebuilding: flags & FLAG_REBUILDING != 0 })
        }))
    }

    fn remove(env: &Env, dir: &Path) -> Result<(), DbError> {
        if env.disk.exists(&path(dir)) {
            env.disk.remove(&path(dir))?;
            env.disk.sync_dir(dir)?;
        }
        Ok(())
    }
}

/// Says of a closed database that its log is not needed, if that is so. Whoever detaches it has taken it off his list before.
///
/// # Errors
/// When it cannot be written. The database is whole all the same.
pub fn note(database: &Database) -> Result<(), DbError> {
    let Some(log) = database.log() else { return Ok(()) };
    let at = database.positions();
    if database.is_closed() && at.redo_start == at.hardened && at.checkpoint == at.hardened {
        let note = Note { end: at.hardened, epoch: log.epoch(), rebuilding: false };
        note.write(database.instance().env(), database.dir())?;
    }
    Ok(())
}

/// Whether a database was detached in `dir`, and nothing has opened it since.
///
/// # Errors
/// Those of the disk.
pub fn is_noted(env: &Env, dir: &Path) -> Result<bool, DbError> {
    Ok(Note::read(env, dir)?.is_some())
}

/// The files of a database.
pub struct Files {
    /// Its data.
    pub data: PathBuf,
    /// The directory of its log.
    pub log: PathBuf,
}

/// The files of the database in `dir`, whether they are there or not.
#[must_use]
pub fn files(dir: &Path) -> Files {
    Files { data: data_path(dir), log: log_dir(dir) }
}

/// What is in `dir`.
///
/// # Errors
/// Those of the disk.
pub fn look(env: &Env, dir: &Path) -> Result<Found, DbError> {
    let Some(version) = control::version(env, dir)? else { return Ok(Found::Nothing) };
    if version != control::VERSION {
        return Ok(Found::OtherVersion { version, known: control::VERSION });
    }
    if !env.disk.exists(&data_path(dir)) {
        return Ok(Found::Nothing);
    }
    if env.disk.exists(&marker::path(dir)) {
        return Ok(Found::OfGroup);
    }
    let note = Note::read(env, dir)?;
    let there = has_log(env, dir)? && !note.as_ref().is_some_and(|note| note.rebuilding);
    Ok(if there { Found::Whole } else { Found::WithoutLog { can_be_rebuilt: note.is_some() } })
}

fn has_log(env: &Env, dir: &Path) -> Result<bool, DbError> {
    let log = log_dir(dir);
    Ok(env.disk.exists(&log) && env.disk.list(&log)?.iter().any(|path| is_segment(path)))
}

/// Makes the log of a database anew that was detached when it was not needed.
///
/// # Errors
/// [`DbError::Role`] when it is needed; [`DbError::Locked`]; those of the disk. It can be tried again.
pub fn rebuild_log(instance: &Arc<Instance>, dir: &Path, options: &DbOptions) -> Result<(), DbError> {
    let env = instance.env();
    let note = Note::read(env, dir)?.ok_or_else(|| DbError::Role("the log is needed".into()))?;
    let (control, keys) = (Control::read(env, dir)?, DatabaseKeys::open(instance, dir)?);
    let note = Note { rebuilding: true, ..note };
    note.write(env, dir)?;
    let log = log_dir(dir);
    if env.disk.exists(&log) {
        for segment in env.disk.list(&log)?.iter().filter(|path| is_segment(path)) {
            env.disk.remove(segment)?;
        }
    }
    let options = log_options(instance, options, &control, &keys);
    Log::create(env, &log, LogOptions { epoch: note.epoch, first_lsn: note.end, ..options })?;
    env.disk.sync_dir(dir)?;
    Note::remove(env, dir)
}

/// The database in `dir` is somebody's again: what was noted of its log is true no longer.
///
/// # Errors
/// Those of the disk. Then it must not be opened.
pub fn take(env: &Env, dir: &Path) -> Result<(), DbError> {
    Note::remove(env, dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, env};

    #[test]
    fn a_note_is_read_as_it_was_written_and_a_damaged_one_is_none() {
        let disk = SimDisk::new();
        let (env, dir) = (env(&disk, 1), Path::new("db"));
        assert!(Note::read(&env, dir).unwrap().is_none());
        Note { end: Lsn(77), epoch: Epoch(3), rebuilding: true }.write(&env, dir).unwrap();
        let note = Note::read(&env, dir).unwrap().unwrap();
        assert_eq!((note.end, note.epoch, note.rebuilding), (Lsn(77), Epoch(3), true));
        for at in 0..44 {
            disk.flip(&path(dir), at, 4);
            assert!(Note::read(&env, dir).unwrap().is_none(), "byte {at}");
            disk.flip(&path(dir), at, 4);
        }
        Note::remove(&env, dir).unwrap();
        assert!(!is_noted(&env, dir).unwrap());
    }
}
