//! Database snapshots of an instance: databases over the pages of others.
//!
//! ```text
//!   create: the source keeps its state ([`keel_node::snapshot`]) ─► a row of master ─► a database that is read
//!   start:  sources are opened ─► their snapshots ─► states that no row of master names are given back
//!   drop:   the row goes ─► the source gives the state back
//!   revert: nobody is in ─► the source's files are as they were ─► it is opened again, and so is the snapshot
//! ```
//! So a crash leaves a snapshot with its row or, until the next start, a state that nobody sees.

use super::server::{StoredDatabase, forget_database, store_database};
use super::{DatabaseEntry, Engine, Restoring};
use crate::catalog::{CatalogKey, CatalogObject, DatabaseSettings, SYSTEM_TREE, encode};
use crate::errors;
use crate::map::db_error;
use keel_base::DatabaseId;
use keel_node::{Database, DbError, DbOptions, SnapshotInfo};
use keel_store::row;
use keel_types::SqlError;
use keel_types::error::Result;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

type E = Box<SqlError>;

/// A database snapshot as master remembers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredSnapshot {
    /// `database_id` of its source.
    pub source: u32,
    /// Its number in the source.
    pub number: u64,
    /// When it was taken, local ticks.
    pub created: i64,
    /// The logical name of its file: that of the source's.
    pub file: String,
    /// What FILENAME said. Nothing is written there.
    pub path: String,
}

errors::error_functions! {
    /// The source goes, or is replaced.
    refers_to_it(verb, snapshot) = 3709, 16, 2, "Cannot {verb} the database while the database snapshot \"{snapshot}\" refers to it. Drop that database first.";
    /// What is asked for does not fit, or is not all there is.
    cannot_revert() = 3137, 16, 1, "Database cannot be reverted. Either the primary or the snapshot names are improperly specified, all other snapshots have not been dropped, or there are missing files.";
    /// Somebody is in it.
    not_alone() = 3101, 16, 1, "Exclusive access could not be obtained because the database is in use.";
    /// ALTER DATABASE of one.
    not_of_a_snapshot() = 5093, 16, 1, "The operation cannot be performed on a database snapshot.";
    /// The source's copy is not all of one age.
    not_started() = 1823, 16, 2, "A database snapshot cannot be created because it failed to start.";
}

/// Settings of a snapshot: those of its source then, as far as they are not its own.
fn own_settings(of_source: &DatabaseSettings, created: i64) -> DatabaseSettings {
    DatabaseSettings {
        read_only: true,
        allow_snapshot: true,
        offline: false,
        user_access: "MULTI_USER".to_owned(),
        recovery: "SIMPLE".to_owned(),
        log_chain: None,
        differential_base: None,
        created,
        ..of_source.clone()
    }
}

impl Engine {
    /// A version that no picture of a database has had: what is opened anew must not pass for what was cached.
    fn fresh_version(&self) -> u64 {
        self.stamp() << 32 | 1
    }

    /// CREATE DATABASE … AS SNAPSHOT OF. The source's state is kept before others are made to wait.
    ///
    /// # Errors
    /// 1801, 1823, and those of a checkpoint.
    pub fn create_snapshot(
        &self,
        name: &str,
        source: &Arc<DatabaseEntry>,
        path: &str,
    ) -> Result<Arc<DatabaseEntry>> {
        if self.is_name_taken(name) {
            return Err(errors::database_exists(name));
        }
        if source.store.writing_term().is_some() {
            source.save_counters()?;
        }
        let number = source.store.take_snapshot().map_err(|e| match e {
            DbError::Role(_) => not_started(),
            e => db_error(e, &source.name()),
        })?;
        let made = self.make_snapshot(name, source, number, path);
        if made.is_err() {
            // Whatever is left of it is found at the next start.
            let _ = source.store.drop_snapshot(number);
        }
        made
    }

    fn make_snapshot(
        &self,
        name: &str,
        source: &Arc<DatabaseEntry>,
        number: u64,
        path: &str,
    ) -> Result<Arc<DatabaseEntry>> {
        let _admin = self.admin.lock();
        if self.is_name_taken(name) {
            return Err(errors::database_exists(name));
        }
        if source.is_dropped() {
            return Err(errors::no_database(source.name()));
        }
        let snapshot = StoredSnapshot {
            source: source.id.0,
            number,
            created: self.now_local(),
            file: source.file_name().to_string(),
            path: path.to_owned(),
        };
        let id = self.free_id();
        let entry = self.open_over(DatabaseId(id), name, source, &snapshot)?;
        let mut stored = StoredDatabase::new(id, name, String::new());
        stored.snapshot = Some(snapshot);
        store_database(&self.master(), &stored)?;
        self.add(&entry);
        Ok(entry)
    }

    fn open_over(
        &self,
        id: DatabaseId,
        name: &str,
        source: &DatabaseEntry,
        snapshot: &StoredSnapshot,
    ) -> Result<Arc<DatabaseEntry>> {
        let store = source.store.open_snapshot(id, snapshot.number).map_err(|e| db_error(e, name))?;
        let own = |settings: &DatabaseSettings| own_settings(settings, snapshot.created);
        DatabaseEntry::load_snapshot(id, name, store, self.fresh_version(), snapshot, own)
    }

    /// Opens one that master remembers.
    ///
    /// # Errors
    /// The source's, when that is not open; those of opening.
    pub(super) fn open_stored_snapshot(
        &self,
        stored: &StoredDatabase,
        snapshot: &StoredSnapshot,
    ) -> Result<Arc<DatabaseEntry>> {
        let source = DatabaseId(snapshot.source);
        if let Some(unopened) = self.unopened().into_iter().find(|u| u.id == source) {
            return Err(unopened.error);
        }
        let entry = self.database_by_id(source).ok_or_else(|| errors::no_database(source.0))?;
        self.open_over(DatabaseId(stored.id), &stored.name, &entry, snapshot)
    }

    /// Gives back what a creation or a drop that was killed has left: states that no database is over. When all are opened.
    pub(super) fn sweep_snapshots(&self, databases: &[StoredDatabase]) {
        for entry in self.databases() {
            let is_known = |number: u64| {
                let mut snapshots = databases.iter().filter_map(|d| d.snapshot.as_ref());
                snapshots.any(|s| s.source == entry.id.0 && s.number == number)
            };
            for left in entry.store.snapshots().iter().filter(|s| !is_known(s.number)) {
                let text = match entry.store.drop_snapshot(left.number) {
                    Ok(()) => "is removed".to_owned(),
                    Err(e) => format!("cannot be removed: {e}"),
                };
                self.options.log.write(&format!(
                    "A snapshot of database '{}' that was not finished, or not dropped to the end, {text}.",
                    entry.name()
                ));
            }
        }
    }

    /// Names of the snapshots of a database, those that could not be opened included.
    #[must_use]
    pub fn snapshots_of(&self, source: DatabaseId) -> Vec<String> {
        let open = self.databases().into_iter();
        let open = open.filter(|e| e.snapshot().is_some_and(|s| s.source == source.0));
        let mut names: Vec<String> = open.map(|e| e.name().to_string()).collect();
        let of_it = |u: &super::Unopened| u.snapshot().is_some_and(|s| s.source == source.0);
        names.extend(self.unopened().into_iter().filter(|u| of_it(u)).map(|u| u.name));
        names
    }

    /// Error 3709 while a database has snapshots; `verb` says what is refused.
    ///
    /// # Errors
    /// That.
    pub(crate) fn has_no_snapshots(&self, source: DatabaseId, verb: &str) -> Result<()> {
        match self.snapshots_of(source).first() {
            Some(name) => Err(refers_to_it(verb, name)),
            None => Ok(()),
        }
    }

    /// What the source knows of a snapshot.
    #[must_use]
    pub fn snapshot_info(&self, snapshot: &StoredSnapshot) -> Option<SnapshotInfo> {
        let source = self.database_by_id(DatabaseId(snapshot.source))?;
        source.store.snapshots().into_iter().find(|s| s.number == snapshot.number)
    }

    /// DROP DATABASE of a snapshot; with the lock of who makes and drops databases.
    pub(super) fn drop_open_snapshot(
        &self,
        entry: &Arc<DatabaseEntry>,
        snapshot: &StoredSnapshot,
    ) -> Result<()> {
        let name = entry.name();
        if !self.is_left_alone(entry) {
            return Err(errors::database_in_use(name));
        }
        forget_database(&self.master(), entry.id.0)?;
        self.forget_entry(entry);
        let _ = entry.close();
        self.give_back(&name, snapshot);
        Ok(())
    }

    /// Takes an entry off the list.
    pub(super) fn forget_entry(&self, entry: &Arc<DatabaseEntry>) {
        let mut databases = self.databases.write();
        databases.by_name.remove(&crate::catalog::fold(&entry.name()));
        databases.by_id.remove(&entry.id);
        drop(databases);
        entry.mark_dropped();
        self.programs.forget(entry.id);
        self.statistics.forget(entry.id);
    }

    /// The source needs to keep the state no longer. The snapshot is gone from the list: what cannot be given back now is at
    /// the next start.
    pub(super) fn give_back(&self, name: &str, snapshot: &StoredSnapshot) {
        let Some(source) = self.database_by_id(DatabaseId(snapshot.source)) else { return };
        if let Err(e) = source.store.drop_snapshot(snapshot.number)
            && !matches!(e, DbError::Invalid(_))
        {
            self.options
                .log
                .write(&format!("Pages of dropped database snapshot '{name}' are still kept: {e}"));
        }
    }

    /// A copy is to be made anew, and its snapshots go with its files: says so in the error log.
    ///
    /// # Errors
    /// 3702 while somebody reads one.
    pub(super) fn drop_snapshots_of(&self, source: &Arc<DatabaseEntry>) -> Result<()> {
        for name in self.snapshots_of(source.id) {
            if let Some(entry) = self.database(&name) {
                self.end_sessions_in(entry.id);
            }
            self.drop_database(&name)?;
            self.options.log.write(&format!(
                "Database snapshot '{name}' is dropped: the copy of database '{}' that it was taken of is made anew.",
                source.name()
            ));
        }
        Ok(())
    }

    /// RESTORE DATABASE … FROM DATABASE_SNAPSHOT. Neither can be used meanwhile.
    ///
    /// # Errors
    /// 3101 while somebody is in one of them, 3137 with other snapshots; those of the disk.
    pub fn revert(&self, source: &Arc<DatabaseEntry>, snapshot: &Arc<DatabaseEntry>) -> Result<()> {
        let _admin = self.admin.lock();
        let both = [source, snapshot];
        let Some(stored) = snapshot.snapshot().filter(|_| both.iter().all(|entry| !entry.is_dropped()))
        else {
            return Err(cannot_revert());
        };
        // Nobody comes in from here on.
        both.iter().for_each(|entry| entry.note_restoring(Restoring::Closed));
        let alone = both.iter().all(|entry| self.is_left_alone(entry));
        let reverted = if alone { self.go_back(source, snapshot, stored) } else { Err(not_alone()) };
        if !source.store.is_closed() {
            both.iter().for_each(|entry| entry.note_restoring(Restoring::No));
            return reverted;
        }
        self.open_again(source, snapshot, stored)?;
        reverted
    }

    fn go_back(
        &self,
        source: &Arc<DatabaseEntry>,
        snapshot: &Arc<DatabaseEntry>,
        stored: &StoredSnapshot,
    ) -> Result<()> {
        let (name, from) = (source.name(), snapshot.name());
        // What backups could go on from is behind the state that it goes back to.
        let settings =
            DatabaseSettings { log_chain: None, differential_base: None, ..snapshot.settings_below()? };
        let object = CatalogObject::Settings(Arc::new(settings));
        let (key, json): (CatalogKey, _) = (object.key(), encode(&object));
        let row = (SYSTEM_TREE, key.bytes().to_vec(), row::RowBuilder::build(&[Some(&json)]));
        let lsn = snapshot.store.hardened();
        self.options.log.write(&format!(
            "Reverting database '{name}' to the point in time of database snapshot '{from}' with split point LSN {} (0x{:016x}). \
             This is an informational message only. No user action is required.",
            crate::hadr::lsn::to_number(lsn.0),
            lsn.0
        ));
        source.store.revert(stored.number, &[row]).map_err(|e| match e {
            DbError::Role(_) | DbError::Invalid(_) => cannot_revert(),
            e => db_error(e, &name),
        })
    }

    /// Opens what a revert has closed, as it is now: as it was before, when that has failed.
    fn open_again(
        &self,
        source: &Arc<DatabaseEntry>,
        snapshot: &Arc<DatabaseEntry>,
        stored: &StoredSnapshot,
    ) -> Result<()> {
        let (name, dir) = (source.name(), source.store.dir().to_path_buf());
        let directory = dir.file_name().and_then(|n| n.to_str()).unwrap_or_default().to_owned();
        [source, snapshot].into_iter().for_each(|entry| self.forget_entry(entry));
        let options = DbOptions::default();
        let opened = Database::open(&self.instance, source.id, &dir, &options, &mut |_| {})
            .map_err(|e| db_error(e, &name))
            .and_then(|store| DatabaseEntry::load_at(source.id, &name, store, self.fresh_version()));
        let mut of_it = StoredDatabase::new(snapshot.id.0, &snapshot.name(), String::new());
        of_it.snapshot = Some(stored.clone());
        let fresh = match opened {
            Ok(fresh) => fresh,
            Err(e) => {
                self.note_unopened(StoredDatabase::new(source.id.0, &name, directory), e.clone());
                self.note_unopened(of_it, e.clone());
                return Err(e);
            }
        };
        self.add(&fresh);
        if let Some(hadr) = self.hadr() {
            hadr.database_dropped(&name);
            hadr.database_opened(&fresh);
        }
        match self.open_over(snapshot.id, &snapshot.name(), &fresh, stored) {
            Ok(entry) => self.add(&entry),
            Err(e) => self.note_unopened(of_it, e),
        }
        Ok(())
    }
}
