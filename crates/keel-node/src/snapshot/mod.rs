//! Database snapshots: the whole database as it was at one moment, kept on disk until it is dropped.
//!
//! ```text
//!   take:   checkpoint ─► the root is pinned in memory ─► snapshot-N.keel, durable
//!   open:   every record pins its root before anything is published
//!   drop:   snapshot-N.keel goes, durably ─► the pin goes ─► pages that nobody else has are free
//!   revert: the pinned root is published as the newest one, at the end of the log
//! ```
//! A snapshot is a [pinned root](keel_store::base::Pin) of the base tree: nothing is copied, and what it takes are the pages
//! that the database has changed since. A checkpoint comes first, so it holds everything that was committed and seen when it
//! was asked for, and nothing of transactions that ran. In a group it is what this copy had applied, and never more than what
//! was agreed on, so no failover and no cut of the log touches it; a copy that is seeded anew loses its snapshots with its
//! files.
//!
//! [`Database::open_snapshot`] gives a database of its own over the pinned root: without a log, with the pages and the
//! keys of its source, and nobody writes to it.
//!
//! Whatever moment the process ends, there is a whole snapshot or none: the record has its name only when it is whole, and
//! its pages are not written to while it may be there. A record, or a map, that is damaged costs the snapshot, never the
//! database: it is listed with a [reason](SnapshotInfo::damaged) and can be dropped.

mod record;

pub(crate) use record::remove_all;

use crate::control::micros;
use crate::database::{Database, encode_meta};
use crate::error::DbError;
use crate::role::Role;
use keel_base::env::Env;
use keel_base::{DatabaseId, Lsn, TreeId};
use keel_store::Store;
use keel_store::base::{BaseError, BaseTree, PAGE_SIZE, Pin};
use parking_lot::Mutex;
use record::Record;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Checkpoints that are made for one snapshot: the second when another checkpoint had begun after the first.
const CHECKPOINTS_MAX: usize = 3;

/// What monitoring is told of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// Its number in the database.
    pub number: u64,
    /// When it was taken, microseconds since 1970 UTC; 0 when its record is damaged.
    pub created_micros: i64,
    /// Every commit up to there is in it, no later one.
    pub lsn: Lsn,
    /// Bytes of the data file that are kept for it and that the database itself does not have any more. What several
    /// snapshots need counts for each of them.
    pub held_bytes: u64,
    /// Why it cannot be opened, if so.
    pub damaged: Option<String>,
}

/// A snapshot that a database has.
struct Kept {
    created_micros: i64,
    pin: Result<Pin, String>,
}

/// The snapshots of a database, by number.
#[derive(Default)]
pub(crate) struct Snapshots(Mutex<BTreeMap<u64, Kept>>);

impl Snapshots {
    /// Pins what the records in a directory say. Before anything is published by `base`.
    pub(crate) fn open(env: &Env, dir: &Path, base: &BaseTree) -> Result<Snapshots, DbError> {
        let mut snapshots = BTreeMap::new();
        for number in record::numbers(env, dir)? {
            let Some(record) = Record::read(env, dir, number)? else {
                let pin = Err("its record is damaged".to_owned());
                snapshots.insert(number, Kept { created_micros: 0, pin });
                continue;
            };
            let pin = match base.restore_pin(&record.pin) {
                Ok(pin) => Ok(pin),
                Err(error @ (BaseError::Io { .. } | BaseError::Poisoned { .. })) => return Err(error.into()),
                Err(error) => Err(error.to_string()),
            };
            snapshots.insert(number, Kept { created_micros: record.created_micros, pin });
        }
        Ok(Snapshots(Mutex::new(snapshots)))
    }
}

fn missing(number: u64) -> DbError {
    DbError::Invalid(format!("there is no snapshot {number:016x}").into())
}

impl Database {
    /// Takes a snapshot of everything that is committed, on a copy of a group of what is applied; its number. It costs a
    /// checkpoint, whatever the size of the database.
    ///
    /// # Errors
    /// [`DbError::Role`] in a volatile database, in a snapshot, and on a copy that cannot show a whole state yet; those of a
    /// checkpoint. Nothing is left of it, unless the disk failed: then its record may be found after a restart.
    pub fn take_snapshot(&self) -> Result<u64, DbError> {
        if self.log().is_none() {
            return Err(DbError::Role("only a database with a log has snapshots".into()));
        }
        let pin = self.pin_newest()?;
        let env = self.instance().env();
        let mut number = [0; 8];
        env.random.fill(&mut number);
        let number = u64::from_le_bytes(number);
        let record = Record { number, created_micros: micros(env), pin: pin.record() };
        let mut snapshots = self.snapshots.0.lock();
        if self.is_closed() {
            return Err(DbError::Role("the database is closed".into()));
        }
        let created_micros = record.created_micros;
        match record.write(env, self.dir()) {
            Ok(()) => {
                snapshots.insert(number, Kept { created_micros, pin: Ok(pin) });
                Ok(number)
            }
            Err(error) => {
                // Where it is not certain that the record has gone, its pages stay as they are until a restart tells.
                if record::remove(env, self.dir(), number).is_ok() {
                    self.store().base().unpin(pin);
                }
                Err(error)
            }
        }
    }

    /// Pins a root that has all of a checkpoint made now.
    fn pin_newest(&self) -> Result<Pin, DbError> {
        for _ in 0..CHECKPOINTS_MAX {
            self.checkpoint()?;
            if let Some(pin) = self.store().pin_base()? {
                return Ok(pin);
            }
        }
        Err(DbError::Role("the rows on this copy are not all of the same age yet".into()))
    }

    /// Its snapshots, by number.
    #[must_use]
    pub fn snapshots(&self) -> Vec<SnapshotInfo> {
        let snapshots = self.snapshots.0.lock();
        let info = |(number, kept): (&u64, &Kept)| {
            let pin = kept.pin.as_ref();
            SnapshotInfo {
                number: *number,
                created_micros: kept.created_micros,
                lsn: pin.map_or(Lsn::ZERO, Pin::lsn),
                held_bytes: pin.map_or(0, Pin::held_pages) * PAGE_SIZE as u64,
                damaged: pin.err().cloned(),
            }
        };
        snapshots.iter().map(info).collect()
    }

    /// Opens a snapshot as a database of its own, which can be read and nothing else. It shares the data file and the page
    /// cache with this one, and does not keep it open.
    ///
    /// # Errors
    /// [`DbError::Invalid`] when there is none with this number, [`DbError::Corrupt`] when it is damaged.
    pub fn open_snapshot(&self, id: DatabaseId, number: u64) -> Result<Arc<Database>, DbError> {
        let snapshots = self.snapshots.0.lock();
        let kept = snapshots.get(&number).ok_or_else(|| missing(number))?;
        let pin = kept
            .pin
            .as_ref()
            .map_err(|reason| DbError::Corrupt(format!("the snapshot cannot be read: {reason}").into()))?;
        let store = Store::new(pin.tree(), &self.instance().memory);
        Ok(Database::over_pin(self, id, store))
    }

    /// Drops a snapshot. What is open of it can be read until it is let go; then its pages are free.
    ///
    /// # Errors
    /// [`DbError::Invalid`] when there is none with this number; those of the disk: then it is there still.
    pub fn drop_snapshot(&self, number: u64) -> Result<(), DbError> {
        let mut snapshots = self.snapshots.0.lock();
        if self.is_closed() {
            return Err(DbError::Role("the database is closed".into()));
        }
        if !snapshots.contains_key(&number) {
            return Err(missing(number));
        }
        record::remove(self.instance().env(), self.dir(), number)?;
        let kept = snapshots.remove(&number);
        drop(snapshots);
        if let Some(Kept { pin: Ok(pin), .. }) = kept {
            self.store().base().unpin(pin);
        }
        // Turning the files may have waited for its pages.
        self.keys.turn_again();
        Ok(())
    }

    /// Makes a snapshot's state that of the database, with a few rows put on top of it, and closes the database: it must
    /// be opened again. Everything that was committed since is gone, and so is what a differential or log backup could be
    /// based on. The snapshot stays. Nobody may be using the database.
    ///
    /// # Errors
    /// [`DbError::Role`] in a group, in a snapshot, with prepared transactions or with another snapshot: nothing has
    /// changed then. After an error of the disk the database is closed, and is after opening as it was before or as it
    /// was to be.
    pub fn revert(&self, number: u64, rows: &[(TreeId, Vec<u8>, Vec<u8>)]) -> Result<(), DbError> {
        let log = self.log().filter(|_| self.role() == Role::Standalone);
        let log = log.ok_or_else(|| DbError::Role("the database is in a group".into()))?;
        let snapshots = self.snapshots.0.lock();
        let kept = snapshots.get(&number).ok_or_else(|| missing(number))?;
        let pin = kept.pin.as_ref().map_err(|reason| DbError::Corrupt(reason.as_str().into()))?;
        if snapshots.len() > 1 {
            return Err(DbError::Role("it has other snapshots".into()));
        }
        if !self.prepared.lock().is_empty() {
            return Err(DbError::Role("transactions are prepared that somebody else decides about".into()));
        }
        self.end_all_work();
        let end = log.flush()?;
        let rows: Vec<(Vec<u8>, Vec<u8>)> = rows
            .iter()
            .map(|(tree, key, row)| ([&tree.0.to_be_bytes()[..], key].concat(), row.clone()))
            .collect();
        let meta = encode_meta(self.control().log_id, end);
        self.store().revert(pin, end, &meta, &rows)?;
        Ok(())
    }

    /// No thread works on its files any more, and none will.
    fn end_all_work(&self) {
        self.closed.store(true, Ordering::Release);
        self.stop_redo();
        if let Some(log) = self.log() {
            log.end_term();
            log.wait_for_provisioning();
        }
        // Who turns files looks whether it is closed between two chunks.
        drop(self.turning.lock());
    }
}
