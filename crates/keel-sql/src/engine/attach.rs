//! Databases that leave the instance with their files, and those that come with theirs: `sp_detach_db`, CREATE DATABASE … FOR ATTACH.
//!
//! ```text
//!   detach: nobody is in ─► its row of master goes ─► checkpoint, closed ─► a note that its log is not needed
//!   attach: what lies there is looked at ─► the log, if it is gone and not needed ─► recovery ─► the note goes ─► its own settings
//!           ─► a row of master
//! ```
//! A database is one directory: its files stay where they are, and are used where they are. So a crash leaves it detached with all its
//! log, which the next attempt recovers, or attached. The row of master has the directory's name when it is in the data directory,
//! its path otherwise.

use super::server::{StoredDatabase, forget_database, store_database, stored_databases};
use super::{DatabaseEntry, Engine, FIRST_USER_DATABASE};
use crate::catalog::{CatalogObject, DatabaseSettings};
use crate::errors;
use crate::host::real;
use crate::map::db_error;
use keel_base::DatabaseId;
use keel_node::detached::{self, Found};
use keel_node::{Database, DbOptions, Role};
use keel_types::SqlError;
use keel_types::error::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type E = Box<SqlError>;

errors::error_functions! {
    /// Somebody is in it.
    detach_in_use(name) = 3703, 16, 2, "Cannot detach the database '{name}' because it is currently in use.";
    /// It is a snapshot.
    detach_snapshot() = 3706, 16, 2, "Cannot detach a database snapshot.";
    /// It could not be opened.
    detach_unopened() = 3707, 16, 2, "Cannot detach a suspect or recovery pending database. It must be repaired or dropped.";
    /// One of the instance's own.
    detach_system() = 7940, 16, 1, "System databases master, model, msdb, and tempdb cannot be detached.";
    /// The file is not there, or somebody has it.
    unable_to_open_file(path, code, why) = 5120, 16, 101, "Unable to open the physical file \"{path}\". Operating system error {code}: \"{code}({why})\".";
    /// The directory is not there.
    no_directory(path) = 5133, 16, 1, "Directory lookup for the file \"{path}\" failed with the operating system error 3(The system cannot find the path specified.).";
    /// Not a name of a file.
    bad_file_name(path) = 5105, 16, 2, "A file activation error occurred. The physical file name '{path}' may be incorrect. Diagnose and correct additional errors, and retry the operation.";
    /// The file is another one.
    not_primary_file(path) = 5171, 16, 1, "{path} is not a primary database file.";
    /// The log belongs to another data file.
    files_do_not_match() = 5173, 16, 1, "One or more files do not match the primary file of the database. If you are attempting to attach a database, retry the operation with the correct files. If this is an existing database, the file may be corrupted and should be restored from a backup.";
    /// The machines of a failover cluster instance do not share it.
    not_shared(path) = 5184, 16, 2, "Cannot use file '{path}' for clustered server. Only formatted files on which the cluster resource of the server has a dependency can be used. Either the disk resource containing the file is not present in the cluster group or the cluster resource of the Sql Server does not have a dependency on it.";
    /// The form of a later release. The product's severity is 20, which would end the session.
    newer_version(name, version, known) = 948, 16, 1, "The database '{name}' cannot be opened because it is version {version}. This server supports version {known} and earlier. A downgrade path is not supported.";
    /// A log that is not there.
    log_missing(path) = 5111, 10, 1, "File activation failure. The physical file name \"{path}\" may be incorrect.";
    /// And is needed.
    log_is_needed() = 5113, 10, 1, "The log cannot be rebuilt because there were open transactions/users when the database was shutdown, no checkpoint occurred to the database, or the database was read-only. This error could occur if the transaction log file was manually deleted or lost due to a hardware or environment failure.";
    /// What CREATE DATABASE … FOR ATTACH says last.
    could_not_attach(name) = 1813, 16, 2, "Could not open new database '{name}'. CREATE DATABASE is aborted.";
}

/// Why a database was not attached: what is said before the last error, and that.
pub struct NotAttached {
    /// What went wrong, when the error does not say it.
    pub said: Vec<E>,
    /// The error of the statement.
    pub error: E,
}

impl From<E> for NotAttached {
    fn from(error: E) -> NotAttached {
        NotAttached { said: Vec::new(), error }
    }
}

impl NotAttached {
    fn because(said: Vec<E>, name: &str) -> NotAttached {
        NotAttached { said, error: could_not_attach(name) }
    }

    /// Without its certificate, the error is that; everything else is why.
    fn of(error: E, name: &str) -> NotAttached {
        if error.number == 33111 { error.into() } else { NotAttached::because(vec![error], name) }
    }
}

/// What is to be attached.
pub struct Attach<'a> {
    /// Its new name.
    pub name: &'a str,
    /// Its data file, as `sys.database_files` showed it.
    pub data: &'a str,
    /// The other files that the statement names: its log.
    pub others: &'a [&'a str],
}

impl Engine {
    /// `sp_detach_db`: the database is forgotten, its files stay. Says where they are.
    ///
    /// # Errors
    /// 3703, 3706, 3707, 3709, 7940, 15010; those of writing master.
    pub fn detach_database(&self, name: &str) -> Result<PathBuf> {
        let _admin = self.admin.lock();
        let Some(entry) = self.database(name) else {
            let waits = self.is_name_taken(name);
            return Err(if waits { detach_unopened() } else { errors::no_default_database(name) });
        };
        if entry.id.0 < FIRST_USER_DATABASE {
            return Err(detach_system());
        }
        if entry.snapshot().is_some() {
            return Err(detach_snapshot());
        }
        if entry.is_restoring() {
            return Err(errors::restoring(entry.name()));
        }
        self.has_no_snapshots(entry.id, "DETACH")?;
        if !self.is_left_alone(&entry) || entry.store.role() != Role::Standalone {
            return Err(detach_in_use(name));
        }
        forget_database(&self.master(), entry.id.0)?;
        self.forget_entry(&entry);
        if let Some(hadr) = self.hadr() {
            hadr.database_dropped(name);
        }
        let (dir, log) = (entry.store.dir().to_path_buf(), &self.options.log);
        let closed = entry.close().and_then(|()| detached::note(&entry.store).map_err(|e| db_error(e, name)));
        if let Err(e) = closed {
            // Its log has all of it.
            log.write(&format!("Database '{name}' was detached without a checkpoint. {}", e.message));
        }
        log.write(&format!("Database '{name}' is detached. Its files are in {}.", dir.display()));
        Ok(dir)
    }

    /// CREATE DATABASE … FOR ATTACH: makes the files somebody names a database of the instance, with what `settle` makes of its settings.
    ///
    /// # Errors
    /// 1801, 1813 behind what went wrong, 5105, 5120, 5133, 5171, 5173, 5184, 33111; those of writing master. The files are as they were, or with their log
    /// recovered.
    pub fn attach_database(
        &self,
        attach: &Attach<'_>,
        settle: impl FnOnce(&mut DatabaseSettings),
    ) -> std::result::Result<Arc<DatabaseEntry>, NotAttached> {
        let _admin = self.admin.lock();
        let name = attach.name;
        if self.is_name_taken(name) {
            return Err(errors::database_exists(name).into());
        }
        let dir = self.directory_to_attach(attach)?;
        self.look_at(&dir, attach)?;
        let id = DatabaseId(self.free_id());
        let store = Database::open(&self.instance, id, &dir, &DbOptions::default(), &mut |_| {})
            .map_err(|e| NotAttached::of(db_error(e, name), name))?;
        // Nothing has been written to its log yet.
        let taken = detached::take(&self.options.env, &dir).map_err(|e| db_error(e, name));
        let made = taken.and_then(|()| self.take_in(name, id, &store, settle));
        if made.is_err() {
            // It stays what it was: the files of a detached database.
            let _ = store.close();
        }
        made.map_err(|e| NotAttached::of(e, name))
    }

    /// A database that is open becomes one of the instance's.
    fn take_in(
        &self,
        name: &str,
        id: DatabaseId,
        store: &Arc<Database>,
        settle: impl FnOnce(&mut DatabaseSettings),
    ) -> Result<Arc<DatabaseEntry>> {
        let entry = DatabaseEntry::load(id, name, Arc::clone(store))?;
        // Those of the instance that it comes from are nobody's here.
        for left in store.snapshots() {
            store.drop_snapshot(left.number).map_err(|e| db_error(e, name))?;
        }
        let mut settings = (**entry.picture().settings()).clone();
        settle(&mut settings);
        entry.put_now(CatalogObject::Settings(Arc::new(settings)))?;
        let stored = StoredDatabase::new(id.0, name, self.stored_directory(store.dir()));
        store_database(&self.master(), &stored)?;
        self.add(&entry);
        self.encrypt_work();
        self.resolve_in_doubt();
        self.follow_query_stores();
        self.options.log.write(&format!("Starting up database '{name}'."));
        Ok(entry)
    }

    /// How master remembers the directory of a database.
    pub(super) fn stored_directory(&self, dir: &Path) -> String {
        dir.strip_prefix(&self.options.data_dir).unwrap_or(dir).to_string_lossy().into_owned()
    }

    /// The directory of the files that somebody names. All of a database are in one.
    fn directory_to_attach(&self, attach: &Attach<'_>) -> Result<PathBuf> {
        let (disk, data) = (&self.options.env.disk, Path::new(attach.data));
        let Some(dir) = data.parent().filter(|_| data.is_absolute()) else {
            return Err(bad_file_name(attach.data));
        };
        if !disk.exists(dir) {
            return Err(no_directory(attach.data));
        }
        if !disk.exists(data) {
            return Err(unable_to_open_file(attach.data, 2, "The system cannot find the file specified."));
        }
        let files = detached::files(dir);
        if data != files.data {
            return Err(not_primary_file(attach.data));
        }
        if let Some(other) = attach.others.iter().find(|other| Path::new(other) != files.log) {
            let there = disk.exists(Path::new(other));
            let missing = || unable_to_open_file(other, 2, "The system cannot find the file specified.");
            return Err(if there { files_do_not_match() } else { missing() });
        }
        if self.failover_cluster().is_some() && !dir.starts_with(&self.options.data_dir) {
            return Err(not_shared(attach.data));
        }
        if self.is_somebodys(dir)? {
            let why = "The process cannot access the file because it is being used by another process.";
            return Err(unable_to_open_file(attach.data, 32, why));
        }
        Ok(dir.to_path_buf())
    }

    /// Whether a directory is a database's of this instance, or of another one that has not detached it.
    fn is_somebodys(&self, dir: &Path) -> Result<bool> {
        let wanted = real(dir);
        let own = self.databases().into_iter().map(|entry| entry.store.dir().to_path_buf());
        let stored = stored_databases(&self.master())?.into_iter();
        let stored = stored.filter(|d| d.snapshot.is_none()).map(|d| self.options.data_dir.join(d.directory));
        if own.chain(stored).any(|own| real(&own) == wanted) {
            return Ok(true);
        }
        let env = &self.options.env;
        let Some(parent) = wanted.parent().filter(|parent| *parent != real(&self.options.data_dir)) else {
            return Ok(false);
        };
        let of_an_instance = env.disk.exists(&keel_node::control::path(&parent.join("master")));
        let noted = detached::is_noted(env, dir).map_err(|e| db_error(e, "master"))?;
        Ok(of_an_instance && !noted)
    }

    /// Whether what lies there can be opened. A log that is gone and not needed is made anew.
    fn look_at(&self, dir: &Path, attach: &Attach<'_>) -> std::result::Result<(), NotAttached> {
        let name = attach.name;
        let of = |e| NotAttached::of(db_error(e, name), name);
        match detached::look(&self.options.env, dir).map_err(of)? {
            Found::Whole => Ok(()),
            Found::Nothing => Err(not_primary_file(attach.data).into()),
            Found::OtherVersion { version, known } => {
                Err(NotAttached::because(vec![newer_version(name, version, known)], name))
            }
            Found::OfGroup => {
                let what = "CREATE DATABASE … FOR ATTACH of the files of a member of an availability group";
                Err(errors::not_supported(what).into())
            }
            Found::WithoutLog { can_be_rebuilt } => {
                let gone = log_missing(detached::files(dir).log.display());
                if !can_be_rebuilt {
                    return Err(NotAttached::because(vec![gone, log_is_needed()], name));
                }
                detached::rebuild_log(&self.instance, dir, &DbOptions::default()).map_err(of)?;
                self.options
                    .log
                    .write(&format!("The log of database '{name}' was made anew. {}", gone.message));
                Ok(())
            }
        }
    }
}
