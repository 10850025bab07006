//! What the instance itself keeps in master: its databases and configuration; how rows of master are read and written.

use super::{ConfigurationValue, DatabaseEntry, Engine, MASTER, MSDB, Restoring};
use crate::catalog::{CatalogKey, SYSTEM_TREE, object_class};
use crate::config;
use crate::errors;
use crate::map::txn_error;
use keel_node::{Direction, Isolation};
use keel_store::row;
use keel_types::error::Result;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::Bound;
use std::sync::Arc;

/// A database as master remembers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredDatabase {
    /// `database_id`.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Directory below the data directory.
    pub directory: String,
    /// Takes nothing but log, and is not open to anybody.
    #[serde(default)]
    pub restoring: bool,
    /// Takes log, and can be read meanwhile.
    #[serde(default)]
    pub standby: bool,
    /// It is a snapshot of another one, and has no directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<super::StoredSnapshot>,
}

impl StoredDatabase {
    /// One that waits for no log.
    pub(super) fn new(id: u32, name: &str, directory: String) -> StoredDatabase {
        StoredDatabase {
            id,
            name: name.to_owned(),
            directory,
            restoring: false,
            standby: false,
            snapshot: None,
        }
    }

    /// Whether it waits for more log.
    pub(super) fn waits(&self) -> Restoring {
        match (self.restoring, self.standby) {
            (true, _) => Restoring::Closed,
            (false, true) => Restoring::Standby,
            (false, false) => Restoring::No,
        }
    }
}

fn read_class<T: DeserializeOwned>(master: &DatabaseEntry, class: u8) -> Result<Vec<T>> {
    master.store.wait_for_term_start();
    let mut txn = if master.is_copy() {
        master.store.begin_reader(&master.store.read_point())
    } else {
        master.store.begin(Isolation::ReadCommitted)
    };
    let view = txn.statement_snapshot();
    let (low, high) = ([class], [class + 1]);
    let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
    let mut cursor = txn
        .scan(&view, SYSTEM_TREE, bounds.0, bounds.1, Direction::Forward)
        .map_err(|e| txn_error(e, "master", 0))?;
    let mut out = Vec::new();
    while let Some((_, bytes)) = cursor.next().map_err(|e| txn_error(e, "master", 0))? {
        let json = row::column(&bytes, 0).unwrap_or_default();
        out.push(serde_json::from_slice(json).map_err(errors::catalog_corrupt)?);
    }
    Ok(out)
}

fn write_row<T: Serialize>(master: &DatabaseEntry, key: CatalogKey, value: Option<&T>) -> Result<()> {
    write_rows(master, [(key, value.map(stored))])
}

/// The stored form of a row.
fn stored<T: Serialize>(value: &T) -> Vec<u8> {
    let json = serde_json::to_vec(value).expect("plain structures become JSON");
    row::RowBuilder::build(&[Some(&json)])
}

/// Writes rows, or with `None` deletes them, in one transaction.
fn write_rows<const N: usize>(
    master: &DatabaseEntry,
    rows: [(CatalogKey, Option<Vec<u8>>); N],
) -> Result<()> {
    let fail = |e| txn_error(e, "master", 0);
    let mut txn = master.store.begin(Isolation::ReadCommitted);
    for (key, row) in rows {
        let written = match row {
            Some(row) => txn.put_index(SYSTEM_TREE, &key.bytes(), &row),
            None => txn.delete_index(SYSTEM_TREE, &key.bytes()),
        };
        written.map_err(fail)?;
    }
    txn.commit().and_then(keel_node::Commit::wait).map_err(fail)
}

impl DatabaseEntry {
    /// All rows of a class of a master's own objects, by id.
    pub(crate) fn own_rows<T: DeserializeOwned>(&self, class: u8) -> Result<Vec<T>> {
        read_class(self, class)
    }

    /// Writes, or with `None` deletes, a row of a master's own objects. Error 3906 on a copy.
    pub(crate) fn put_own_row<T: Serialize>(&self, class: u8, id: i32, value: Option<&T>) -> Result<()> {
        if self.is_read_only() {
            return Err(errors::database_read_only(self.name()));
        }
        write_row(self, CatalogKey { class, id }, value)
    }
}

pub(super) fn stored_databases(master: &DatabaseEntry) -> Result<Vec<StoredDatabase>> {
    read_class(master, object_class::DATABASE)
}

pub(super) fn store_database(master: &DatabaseEntry, database: &StoredDatabase) -> Result<()> {
    write_row(master, key_of_database(database.id), Some(database))
}

pub(super) fn forget_database(master: &DatabaseEntry, id: u32) -> Result<()> {
    write_row::<StoredDatabase>(master, key_of_database(id), None)
}

fn key_of_database(id: u32) -> CatalogKey {
    CatalogKey { class: object_class::DATABASE, id: id as i32 }
}

/// A directory that is nobody's, as master remembers it (see `places`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StoredPlace {
    /// The id of the database that is made there, or was.
    pub id: u32,
    /// Directory, as that of a database.
    pub directory: String,
}

pub(super) fn stored_places(master: &DatabaseEntry) -> Result<Vec<StoredPlace>> {
    read_class(master, object_class::PLACE)
}

pub(super) fn store_place(master: &DatabaseEntry, place: &StoredPlace) -> Result<()> {
    write_row(master, key_of_place(place.id), Some(place))
}

pub(super) fn forget_place(master: &DatabaseEntry, id: u32) -> Result<()> {
    write_row::<StoredPlace>(master, key_of_place(id), None)
}

/// What was made at a place is a database of the instance from now on.
pub(super) fn adopt_place(master: &DatabaseEntry, database: &StoredDatabase) -> Result<()> {
    write_rows(
        master,
        [(key_of_database(database.id), Some(stored(database))), (key_of_place(database.id), None)],
    )
}

/// A database is none of the instance's any more, and its directory nobody's.
pub(super) fn give_up_database(master: &DatabaseEntry, place: &StoredPlace) -> Result<()> {
    write_rows(master, [(key_of_database(place.id), None), (key_of_place(place.id), Some(stored(place)))])
}

fn key_of_place(id: u32) -> CatalogKey {
    CatalogKey { class: object_class::PLACE, id: id as i32 }
}

#[derive(Serialize, Deserialize)]
struct StoredConfiguration {
    id: i32,
    configured: i64,
}

impl Engine {
    /// All rows of a class of master's own objects, by id.
    pub(crate) fn master_rows<T: DeserializeOwned>(&self, class: u8) -> Result<Vec<T>> {
        self.master().own_rows(class)
    }

    /// The highest id of a class of master's own objects.
    pub(crate) fn last_master_row(&self, class: u8) -> Result<Option<i32>> {
        let master = self.master();
        let mut txn = master.store.begin(Isolation::ReadCommitted);
        let view = txn.statement_snapshot();
        let (low, high) = ([class], [class + 1]);
        let fail = |e| txn_error(e, "master", 0);
        let mut cursor = txn
            .scan(
                &view,
                SYSTEM_TREE,
                Bound::Included(&low[..]),
                Bound::Excluded(&high[..]),
                Direction::Reverse,
            )
            .map_err(fail)?;
        let last = cursor.next().map_err(fail)?;
        Ok(last.and_then(|(key, _)| CatalogKey::parse(key)).map(|key| key.id))
    }

    /// Writes, or with `None` deletes, a row of master's own objects.
    pub(crate) fn put_master_row<T: Serialize>(&self, class: u8, id: i32, value: Option<&T>) -> Result<()> {
        self.master().put_own_row(class, id, value)
    }

    /// `msdb`.
    #[must_use]
    pub fn msdb(&self) -> Arc<DatabaseEntry> {
        self.database_by_id(MSDB).expect("msdb is always open")
    }

    /// What the instance's own jobs do and are asked to do.
    #[must_use]
    pub fn agent(&self) -> Arc<crate::agent::Board> {
        Arc::clone(self.msdb().agent())
    }

    /// `master`.
    #[must_use]
    pub fn master(&self) -> Arc<DatabaseEntry> {
        self.database_by_id(MASTER).expect("master is always open")
    }

    pub(super) fn load_configuration(&self, master: &DatabaseEntry) -> Result<()> {
        self.messages.load(read_class(master, object_class::USER_MESSAGE)?);
        let mut values = self.configuration.write();
        for option in config::OPTIONS {
            let default = ConfigurationValue { configured: option.default, running: option.default };
            values.insert(option.id, default);
        }
        for stored in read_class::<StoredConfiguration>(master, object_class::CONFIGURATION)? {
            let value = ConfigurationValue { configured: stored.configured, running: stored.configured };
            values.insert(stored.id, value);
        }
        Ok(())
    }

    /// A configuration value.
    #[must_use]
    pub fn configuration(&self, id: i32) -> ConfigurationValue {
        self.configuration
            .read()
            .get(&id)
            .copied()
            .unwrap_or(ConfigurationValue { configured: 0, running: 0 })
    }

    /// LCID of full-text columns that name no language.
    #[must_use]
    pub fn full_text_language(&self) -> i32 {
        let lcid = self.configuration(config::FULL_TEXT_LANGUAGE).running;
        i32::try_from(lcid).unwrap_or(keel_text::language::ENGLISH)
    }

    /// `sp_configure name, value`
    pub fn configure(&self, option: &config::ConfigurationOption, value: i64) -> Result<()> {
        if value < option.minimum && value != option.default || value > option.maximum {
            return Err(errors::configuration_range(value, option.name));
        }
        let key = CatalogKey { class: object_class::CONFIGURATION, id: option.id };
        write_row(&self.master(), key, Some(&StoredConfiguration { id: option.id, configured: value }))?;
        self.configuration.write().entry(option.id).and_modify(|v| v.configured = value);
        Ok(())
    }

    /// RECONFIGURE
    ///
    /// # Errors
    /// 5831 when the memory that is kept were more than there may be.
    pub fn reconfigure(&self) -> Result<()> {
        let configured = |id| self.configuration(id).configured;
        let (least, most) = (configured(config::MIN_SERVER_MEMORY), configured(config::MAX_SERVER_MEMORY));
        if least > most {
            return Err(errors::memory_bounds(least, most));
        }
        let parallel =
            || [config::MAX_DEGREE, config::COST_THRESHOLD].map(|id| self.configuration(id).running);
        let parallel_before = parallel();
        let mut values = self.configuration.write();
        for option in config::OPTIONS.iter().filter(|o| o.dynamic) {
            values.entry(option.id).and_modify(|v| v.running = v.configured);
        }
        drop(values);
        if parallel() != parallel_before {
            // Whether a statement is parallel was decided when it was compiled.
            self.programs.clear();
        }
        self.limit_memory();
        self.databases().iter().for_each(|entry| self.limit_log(entry));
        Ok(())
    }

    /// Makes `max server memory` what is configured, which is no more than what the instance was started with.
    pub(super) fn limit_memory(&self) {
        let limit = bytes_of(self.configuration(config::MAX_SERVER_MEMORY).running);
        let before = self.instance.memory_limit();
        self.instance.limit_memory(limit);
        let now = self.instance.memory_limit();
        if now != before {
            self.work.set_memory(now);
            self.programs.set_memory(now);
            self.options.log.write(&format!("Max server memory is {} MB.", now >> 20));
        }
    }

    /// `min server memory` in bytes, not more than there may be: what the process should keep once it has it.
    #[must_use]
    pub fn min_server_memory(&self) -> usize {
        bytes_of(self.configuration(config::MIN_SERVER_MEMORY).running).min(self.instance.memory_limit())
    }

    /// Sets how much log a database keeps for a replica.
    pub(super) fn limit_log(&self, entry: &DatabaseEntry) {
        let megabytes = self.configuration(config::REPLICA_LOG_RETENTION).running;
        let bytes = match u64::try_from(megabytes) {
            Ok(megabytes) if megabytes > 0 => megabytes << 20,
            _ => u64::MAX,
        };
        entry.store.set_log_retention(bytes);
    }
}

/// Bytes of so many megabytes.
fn bytes_of(megabytes: i64) -> usize {
    usize::try_from(megabytes).unwrap_or(0).saturating_mul(1 << 20)
}
