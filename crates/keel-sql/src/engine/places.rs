//! Directories that are nobody's: of databases that are being made, and of those that have been dropped.
//!
//! ```text
//! master:   place ──► database ──► place ──► nothing
//! disk:     … made …  complete     … removed …
//! ```
//!
//! A database that is restored or seeded has a row in master before its directory is made. With the commit that makes it one of the
//! instance's the row goes; with the commit that drops it the row comes, and goes again when the files have. So whatever moment the
//! process ends, the next start knows what is left, and takes away what is nobody's. A directory that it does not know so is left alone as
//! soon as a database in it was ever complete: somebody has detached it, or put it there to attach it.

use super::server::{self, StoredPlace};
use super::{Engine, StoredDatabase};
use keel_types::error::Result;
use std::path::{Path, PathBuf};

impl Engine {
    /// At the start: removes the directories that a restore, a seeding or a DROP DATABASE which was killed has left.
    pub(super) fn sweep(&self, databases: &[StoredDatabase]) {
        if let Err(e) = self.sweep_places(databases) {
            let text =
                format!("What is left of databases that were being made or dropped stays: {}", e.message);
            self.options.log.write(&text);
        }
        self.sweep_unfinished(databases);
    }

    fn sweep_places(&self, databases: &[StoredDatabase]) -> Result<()> {
        let master = self.master();
        for place in server::stored_places(&master)? {
            let dir = self.options.data_dir.join(&place.directory);
            let is_left = databases.iter().all(|database| database.directory != place.directory)
                && self.options.env.disk.exists(&dir);
            if is_left
                && !self.take_away(
                    &dir,
                    "it is of a database that was being made or dropped when the instance ended",
                )
            {
                continue;
            }
            server::forget_place(&master, place.id)?;
        }
        Ok(())
    }

    /// Directories of databases that were never complete, and are nobody's.
    fn sweep_unfinished(&self, databases: &[StoredDatabase]) {
        let disk = &self.options.env.disk;
        let is_left = |dir: &PathBuf| {
            let name = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            is_directory_of_database(name)
                && !databases.iter().any(|database| database.directory == name)
                && !disk.exists(&keel_node::control::path(dir))
        };
        for dir in disk.list(&self.options.data_dir).unwrap_or_default().iter().filter(|dir| is_left(dir)) {
            self.take_away(dir, "a database was to be made there, and was not finished");
        }
    }

    /// Removes a directory and says so; false when it could not be.
    fn take_away(&self, dir: &Path, why: &str) -> bool {
        let removed = self.remove_dir(dir);
        let (shown, is_gone) = (dir.display(), removed.is_ok());
        self.options.log.write(&match removed {
            Ok(()) => format!("{shown} is removed: {why}."),
            Err(e) => format!("{shown} is to be removed ({why}), and cannot be: {e}"),
        });
        is_gone
    }

    /// Says in master that a directory is nobody's, before anything is in it.
    pub(super) fn note_place(&self, id: u32, directory: &str) -> Result<()> {
        let place = StoredPlace { id, directory: directory.to_owned() };
        server::store_place(&self.master(), &place)
    }

    /// Removes the files of a database that master has given up, and then says that they are gone. Files that cannot be removed are only
    /// disk space, and tried again at the next start.
    pub(super) fn remove_dropped(&self, name: &str, id: u32, dir: &Path) {
        match self.remove_dir(dir) {
            Ok(()) => self.forget_place(id),
            Err(e) => {
                self.options
                    .log
                    .write(&format!("Files of dropped database '{name}' could not be removed: {e}"));
            }
        }
    }

    /// What was at a place is gone. That it is forgotten later is no harm.
    pub(super) fn forget_place(&self, id: u32) {
        let _ = server::forget_place(&self.master(), id);
    }
}

/// Whether a name is one that [`Engine`] gives to the directories of databases: `db5-8df4a3afe1d2fca`.
fn is_directory_of_database(name: &str) -> bool {
    let parts = name.strip_prefix("db").and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(id, made)| {
        let digits = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
        digits && made.len() > 8 && made.bytes().all(|b| b.is_ascii_hexdigit())
    })
}
