//! Databases that come, go and change their role with availability groups.

use super::server::{adopt_place, store_database, stored_databases};
use super::{DatabaseEntry, Engine, FIRST_USER_DATABASE, Restoring};
use crate::errors;
use crate::map::db_error;
use keel_base::DatabaseId;
use keel_node::{Database, DbError, Role};
use keel_types::error::Result;
use std::path::PathBuf;
use std::sync::Arc;

/// All of its log is applied, and readers see that.
fn show(entry: &DatabaseEntry) -> std::result::Result<(), DbError> {
    if entry.store.role() == Role::Resolving {
        entry.store.apply_all()?;
        entry.store.demote()?;
    }
    Ok(())
}

impl Engine {
    /// An id that neither a database nor a seeding has.
    pub(super) fn free_id(&self) -> u32 {
        let mut used: Vec<u32> = self.databases.read().by_id.keys().map(|id| id.0).collect();
        used.extend(self.places.lock().iter());
        used.extend(self.unopened.lock().iter().map(|u| u.id.0));
        (FIRST_USER_DATABASE..).find(|id| !used.contains(id)).expect("ids do not run out")
    }

    /// Reserves an id and a directory for a database that will be seeded under this name. A copy that only waits for log
    /// (RESTORING), and a group's copy that cannot follow its primary any more, make room; any other database of that name is
    /// 1801. Called when nothing of the group uses the copy.
    pub fn reserve_place(&self, name: &str) -> Result<(DatabaseId, PathBuf)> {
        let folded = crate::catalog::fold(name);
        if let Some(waiting) = self.unopened().into_iter().find(|u| crate::catalog::fold(&u.name) == folded) {
            // It goes on as soon as it can be opened.
            return Err(waiting.error);
        }
        if let Some(entry) = self.database(name) {
            let follows = entry.restoring() == Restoring::No
                && matches!(entry.store.role(), Role::Secondary | Role::Resolving);
            if !entry.is_restoring() && !follows {
                return Err(errors::database_exists(name));
            }
            // Whoever reads it must go first; if they take their time, the seeding is tried again.
            self.drop_snapshots_of(&entry)?;
            self.end_sessions_in(entry.id);
            self.drop_database(name)?;
        }
        self.new_place()
    }

    /// Reserves an id and a directory, which is nobody's until a database is adopted there.
    pub(crate) fn new_place(&self) -> Result<(DatabaseId, PathBuf)> {
        let _admin = self.admin.lock();
        let id = self.free_id();
        let directory = format!("db{id}-{:x}", self.now_utc());
        self.note_place(id, &directory)?;
        self.places.lock().push(id);
        Ok((DatabaseId(id), self.options.data_dir.join(directory)))
    }

    /// Makes a restored database one of the instance's, in the place of one that has its name. Whatever moment the process is killed,
    /// one of the two is there: until the old one has gone the new one has a name of its own.
    pub(crate) fn put_in_place(
        &self,
        name: &str,
        id: DatabaseId,
        store: Arc<Database>,
        restoring: Restoring,
    ) -> Result<()> {
        let old = self.database(name);
        if old.is_none() && self.is_name_taken(name) {
            self.drop_database(name)?;
        }
        let first = old.as_ref().map_or_else(|| name.to_owned(), |_| format!("{name} (restored {})", id.0));
        self.adopt_database(&first, id, store)?;
        let entry = self.database_by_id(id).ok_or_else(|| errors::no_database(name))?;
        if let Some(old) = old {
            if let Err(e) = self.drop_database(&old.name()) {
                self.drop_database(&first)?;
                return Err(e);
            }
            self.rename_database(&entry, name)?;
        }
        self.set_restoring(&entry, restoring)
    }

    /// Gives a reserved id back: what was to be made there is adopted, or has been removed.
    pub fn release_place(&self, id: DatabaseId) {
        let mut places = self.places.lock();
        let before = places.len();
        places.retain(|place| *place != id.0);
        if places.len() < before && self.database_by_id(id).is_none() {
            drop(places);
            self.forget_place(id.0);
        }
    }

    /// Makes a seeded database one of the instance's, durably.
    pub fn adopt_database(&self, name: &str, id: DatabaseId, store: Arc<Database>) -> Result<()> {
        let _admin = self.admin.lock();
        if self.is_name_taken(name) {
            return Err(errors::database_exists(name));
        }
        let directory = self.stored_directory(store.dir());
        let entry = DatabaseEntry::load(id, name, store)?;
        let stored = super::StoredDatabase::new(id.0, name, directory);
        adopt_place(&self.master(), &stored)?;
        self.add(&entry);
        self.release_place(id);
        self.encrypt_work();
        Ok(())
    }

    /// Records whether a copy waits for more log, and how.
    ///
    /// # Errors
    /// Those of writing master, and of applying the log there is where the copy is to be read (STANDBY).
    pub fn set_restoring(&self, entry: &DatabaseEntry, to: Restoring) -> Result<()> {
        if entry.restoring() == to {
            return Ok(());
        }
        if to == Restoring::Standby {
            show(entry).map_err(|e| db_error(e, &entry.name()))?;
        }
        let master = self.master();
        if let Some(stored) = stored_databases(&master)?.into_iter().find(|d| d.id == entry.id.0) {
            let (restoring, standby) = (to == Restoring::Closed, to == Restoring::Standby);
            store_database(&master, &super::StoredDatabase { restoring, standby, ..stored })?;
        }
        entry.note_restoring(to);
        Ok(())
    }

    /// At the start: what is to be read while it waits for log is made readable.
    pub(super) fn show_standby(&self, entry: &DatabaseEntry) {
        if !entry.is_standby() {
            return;
        }
        if let Err(e) = show(entry) {
            // It still takes log, which tries again.
            entry.note_restoring(Restoring::Closed);
            let text = format!("Database '{}' cannot be read while it waits for log: {e}", entry.name());
            self.options.log.write(&text);
        }
    }
}
