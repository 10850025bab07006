//! Databases with the definitions of another one and none of its rows: DBCC CLONEDATABASE.
//!
//! What a catalog defines is rows of the system tree, and a tree that nobody has written to is empty: so the clone has the same rows there, and
//! nothing else. What goes with rows alone (tracked and captured changes, a Query Store) it has not.

use super::server::{StoredDatabase, adopt_place};
use super::{DatabaseEntry, Engine};
use crate::catalog::{CatalogObject, CatalogOp, DatabaseSettings};
use crate::errors;
use keel_base::DatabaseId;
use keel_node::{Database, Durability};
use keel_query::catalog::TableDef;
use keel_types::error::Result;
use std::path::Path;
use std::sync::Arc;

/// The flag of a clone among a database's settings.
pub(crate) const CLONE: &str = "CLONE";
/// Of one that was checked after it was made.
pub(crate) const VERIFIED_CLONE: &str = "VERIFIED_CLONE";

/// What is done with a clone besides.
#[derive(Clone, Copy, Default)]
pub struct CloneOptions {
    /// SERVICEBROKER: it has a broker of its own that works.
    pub broker: bool,
    /// VERIFY_CLONEDB.
    pub verified: bool,
}

/// Settings of a clone: those of its source, as far as they are not of its rows.
fn own_settings(
    of_source: &DatabaseSettings,
    created: i64,
    broker: [u8; 16],
    options: CloneOptions,
) -> DatabaseSettings {
    let mut flags = of_source.flags.clone();
    for off in ["TRUSTWORTHY", "DB_CHAINING"] {
        flags.insert(off.to_owned(), false);
    }
    flags.insert(crate::broker::ENABLED.to_owned(), options.broker);
    flags.insert(CLONE.to_owned(), true);
    flags.insert(VERIFIED_CLONE.to_owned(), options.verified);
    DatabaseSettings {
        read_only: true,
        user_access: "MULTI_USER".to_owned(),
        created,
        log_chain: None,
        differential_base: None,
        file_name: None,
        change_tracking: None,
        change_trees: None,
        capture: None,
        query_store: None,
        broker_id: Some(broker),
        system: None,
        flags,
        ..of_source.clone()
    }
}

/// A definition as the clone has it.
fn cloned(object: CatalogObject) -> CatalogObject {
    match object {
        CatalogObject::Table(table) if table.change_tracking.is_some() || !table.captures.is_empty() => {
            let plain = TableDef { change_tracking: None, captures: Vec::new(), ..(*table).clone() };
            CatalogObject::Table(Arc::new(plain))
        }
        object => object,
    }
}

impl Engine {
    /// DBCC CLONEDATABASE: a database `name` with the definitions of `source`.
    ///
    /// # Errors
    /// 1801; those of reading the source and of making a database. Nothing is left then.
    pub fn clone_database(
        &self,
        source: &DatabaseEntry,
        name: &str,
        broker: [u8; 16],
        options: CloneOptions,
    ) -> Result<Arc<DatabaseEntry>> {
        let _admin = self.admin.lock();
        if self.is_name_taken(name) {
            return Err(errors::database_exists(name));
        }
        let id = self.free_id();
        let directory = format!("db{id}-{:x}", self.now_utc());
        self.note_place(id, &directory)?;
        let made = self.fill_clone(source, DatabaseId(id), name, &directory, broker, options);
        let entry = made.inspect_err(|_| self.forget_clone(&self.options.data_dir.join(&directory)))?;
        adopt_place(&self.master(), &StoredDatabase::new(id, name, directory))?;
        self.add(&entry);
        Ok(entry)
    }

    fn fill_clone(
        &self,
        source: &DatabaseEntry,
        id: DatabaseId,
        name: &str,
        directory: &str,
        broker: [u8; 16],
        options: CloneOptions,
    ) -> Result<Arc<DatabaseEntry>> {
        let objects = source.catalog_objects()?;
        let entry = self.open_or_create(id, name, directory, true, Durability::Durable)?;
        let mut ops = Vec::with_capacity(objects.len());
        for object in objects {
            ops.push(CatalogOp::Put(match object {
                CatalogObject::Settings(of_source) => {
                    let own = own_settings(&of_source, self.now_local(), broker, options);
                    CatalogObject::Settings(Arc::new(own))
                }
                object => cloned(object),
            }));
        }
        entry.change_all_now(&ops)?;
        // Opened again it knows which numbers are taken.
        entry.close()?;
        self.open_or_create(id, name, directory, false, Durability::Durable)
    }

    /// What is left of a clone that was not finished goes now, or at the next start.
    fn forget_clone(&self, dir: &Path) {
        if let Err(e) = Database::remove(&self.instance, dir) {
            self.options
                .log
                .write(&format!("{} is left of a clone that was not finished: {e}", dir.display()));
        }
    }
}
