//! Encrypted databases of an instance: who opens their keys, those that cannot be opened yet, and what else is encrypted with them.
//!
//! ```text
//! start: master ─► its certificates are known ─► tempdb ─► the others, each with its key ─► without: RECOVERY_PENDING
//! CREATE CERTIFICATE ─► what waited for it is opened; copies that stood still go on
//! ```

use super::server::{StoredDatabase, StoredPlace, forget_database, give_up_database};
use super::{Engine, TEMPDB};
use crate::keys::CertificateDef;
use keel_base::DatabaseId;
use keel_types::SqlError;
use keel_types::error::Result;
use sha1::{Digest as _, Sha1};
use std::sync::Arc;

/// A database that the instance has and could not open.
#[derive(Clone)]
pub struct Unopened {
    /// `database_id`.
    pub id: DatabaseId,
    /// Name.
    pub name: String,
    /// Why.
    pub error: Box<SqlError>,
    stored: StoredDatabase,
}

impl Unopened {
    /// Of what it is a snapshot, if it is one.
    #[must_use]
    pub fn snapshot(&self) -> Option<&super::StoredSnapshot> {
        self.stored.snapshot.as_ref()
    }
}

/// SHA-1 of a certificate, by which it is found again.
#[must_use]
pub fn thumbprint(certificate: &[u8]) -> Vec<u8> {
    Sha1::digest(certificate).to_vec()
}

impl Engine {
    /// The certificate of master with a thumbprint.
    ///
    /// # Errors
    /// Those of reading master.
    pub(crate) fn certificate_of(&self, wanted: &[u8]) -> Result<Option<CertificateDef>> {
        Ok(self.certificates()?.into_iter().find(|c| thumbprint(&c.certificate) == wanted))
    }

    /// Keys of databases are opened with what master has. Before the first of them is.
    pub(super) fn know_secrets(self: &Arc<Engine>) {
        let engine = Arc::downgrade(self);
        self.instance.set_secrets(Arc::new(move |thumbprint| {
            let engine = engine.upgrade()?;
            // A certificate that cannot be read is as good as none: the database says which one it needs.
            engine.certificate_of(thumbprint).ok()??.key
        }));
        let engine = Arc::downgrade(self);
        self.instance.on_failed_turn(Box::new(move |store, error| {
            let Some(engine) = engine.upgrade() else { return };
            let Some(entry) = engine.database_by_id(store.id()) else { return };
            let text = format!(
                "Database encryption scan for database '{}' was aborted. Reissue ALTER DB to resume the scan. {error}",
                entry.name()
            );
            engine.options.log.write(&text);
        }));
    }

    /// Databases that could not be opened, by id.
    #[must_use]
    pub fn unopened(&self) -> Vec<Unopened> {
        self.unopened.lock().clone()
    }

    /// What is said of a database that is not open: that it cannot be (945), or that there is none (911).
    #[must_use]
    pub fn not_open(&self, name: &str) -> Box<SqlError> {
        let waits =
            self.unopened.lock().iter().any(|u| crate::catalog::fold(&u.name) == crate::catalog::fold(name));
        if waits { crate::errors::inaccessible(name) } else { crate::errors::no_database(name) }
    }

    pub(super) fn note_unopened(&self, stored: StoredDatabase, error: Box<SqlError>) {
        let text = format!("Database '{}' cannot be opened. {}", stored.name, error.message);
        if error.number == 33111 {
            self.options.log.write("Error: 33111, Severity: 16, State: 3.");
        }
        self.options.log.write(&text);
        let (id, name) = (DatabaseId(stored.id), stored.name.clone());
        let mut unopened = self.unopened.lock();
        unopened.retain(|u| u.id != id);
        unopened.push(Unopened { id, name, error, stored });
        unopened.sort_by_key(|u| u.id);
    }

    /// DROP DATABASE of one that could not be opened.
    pub(super) fn drop_unopened(&self, name: &str) -> Result<()> {
        let folded = crate::catalog::fold(name);
        let waiting = self.unopened().into_iter().find(|u| crate::catalog::fold(&u.name) == folded);
        let waiting = waiting.ok_or_else(|| crate::errors::cannot_drop_missing("database", name))?;
        self.has_no_snapshots(waiting.id, "drop")?;
        let place = StoredPlace { id: waiting.id.0, directory: waiting.stored.directory.clone() };
        match waiting.snapshot() {
            Some(_) => forget_database(&self.master(), place.id)?,
            None => give_up_database(&self.master(), &place)?,
        }
        self.unopened.lock().retain(|u| u.id != waiting.id);
        if let Some(snapshot) = waiting.snapshot() {
            self.give_back(name, snapshot);
            return Ok(());
        }
        let dir = self.options.data_dir.join(&waiting.stored.directory);
        self.remove_dropped(name, place.id, &dir);
        Ok(())
    }

    /// A certificate has come: what waited for it goes on.
    pub(crate) fn unlock_databases(&self) {
        for entry in self.databases() {
            match entry.store.unlock() {
                Ok(_) => {}
                Err(e) => self.options.log.write(&format!("Database '{}': {e}", entry.name())),
            }
        }
        let mut waiting: Vec<Unopened> =
            self.unopened().into_iter().filter(|u| u.error.number == 33111).collect();
        // A snapshot is opened over its source.
        waiting.sort_by_key(|u| u.stored.snapshot.is_some());
        for waiting in waiting {
            let stored = &waiting.stored;
            // Still without its certificate: that was another one.
            let Ok(entry) = self.open_stored(stored) else { continue };
            self.unopened.lock().retain(|u| u.id != waiting.id);
            entry.note_restoring(stored.waits());
            self.add(&entry);
            self.show_standby(&entry);
            self.options.log.write(&format!("Starting up database '{}'.", waiting.name));
            if let Some(hadr) = self.hadr().filter(|_| entry.snapshot().is_none()) {
                hadr.database_opened(&entry);
            }
        }
        self.encrypt_work();
    }

    /// As soon as one database is encrypted, tempdb and the files of sorts and hash tables are.
    pub(crate) fn encrypt_work(&self) {
        let user = |id: DatabaseId| id.0 >= super::FIRST_USER_DATABASE;
        if !self.databases().iter().any(|entry| user(entry.id) && entry.store.is_encrypted()) {
            return;
        }
        self.work.encrypt(&self.options.env.random);
        if let Some(tempdb) = self.database_by_id(TEMPDB)
            && let Err(e) = tempdb.store.encrypt_volatile()
        {
            self.options.log.write(&format!("tempdb is not encrypted: {e}"));
        }
    }
}
