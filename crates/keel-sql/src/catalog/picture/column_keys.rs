//! The keys of a database's encrypted columns, and the types of the columns that name them.

use super::super::object_class as class;
use super::{CatalogKey, Picture, fold};
use crate::column_keys::{ColumnEncryptionKeyDef, ColumnKeyValueDef, ColumnMasterKeyDef};
use keel_query::catalog::{ObjectId, TableDef};
use keel_types::ty::encrypted::{ColumnKey, KeyValue};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All of them, apart from the rest of the picture: most databases have none.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnKeys {
    masters: BTreeMap<i32, Arc<ColumnMasterKeyDef>>,
    keys: BTreeMap<i32, Arc<ColumnEncryptionKeyDef>>,
    /// The keys as the types of columns have them.
    told: BTreeMap<i32, Arc<ColumnKey>>,
}

impl Picture {
    pub(super) fn put_column_master_key(&mut self, key: Arc<ColumnMasterKeyDef>) {
        let id = key.id;
        Arc::make_mut(&mut self.column_keys).masters.insert(id, key);
        let users: Vec<_> = self
            .column_encryption_keys()
            .filter(|k| k.values.iter().any(|v| v.master == id))
            .cloned()
            .collect();
        users.iter().for_each(|key| self.tell_column_key(key));
    }

    pub(super) fn put_column_encryption_key(&mut self, key: Arc<ColumnEncryptionKeyDef>) {
        Arc::make_mut(&mut self.column_keys).keys.insert(key.id, Arc::clone(&key));
        self.tell_column_key(&key);
    }

    pub(super) fn remove_column_key(&mut self, key: CatalogKey) {
        let keys = &*self.column_keys;
        let (master, there) = match key.class {
            class::COLUMN_MASTER_KEY => (true, keys.masters.contains_key(&key.id)),
            _ => (false, keys.keys.contains_key(&key.id)),
        };
        if !there {
            return;
        }
        let keys = Arc::make_mut(&mut self.column_keys);
        if master {
            keys.masters.remove(&key.id);
        } else {
            keys.keys.remove(&key.id);
            keys.told.remove(&key.id);
        }
    }

    /// Lets clients and the types of columns know a key as it is now.
    fn tell_column_key(&mut self, key: &ColumnEncryptionKeyDef) {
        let masters = &self.column_keys.masters;
        let value = |v: &ColumnKeyValueDef| {
            let master = masters.get(&v.master)?;
            Some(KeyValue {
                encrypted: v.encrypted.as_slice().into(),
                provider: master.provider.as_str().into(),
                path: master.path.as_str().into(),
                algorithm: v.algorithm.as_str().into(),
            })
        };
        let told = Arc::new(ColumnKey {
            database_id: self.database.0,
            database: self.database_name.clone(),
            id: key.id,
            name: key.name.as_str().into(),
            modified: key.modified,
            values: key.values.iter().filter_map(value).collect(),
        });
        told.publish();
        Arc::make_mut(&mut self.column_keys).told.insert(key.id, told);
        for id in self.encrypted_tables() {
            if let Some(mut table) = self.tables.get(&id).cloned() {
                self.current_column_keys(&mut table);
                self.tables.insert(id, table);
            }
        }
    }

    /// Tables, by id, with encrypted columns.
    pub(super) fn encrypted_tables(&self) -> Vec<ObjectId> {
        let encrypted = |t: &&Arc<TableDef>| t.columns.iter().any(|c| c.ty.is_encrypted());
        self.tables.values().filter(encrypted).map(|t| t.object_id).collect()
    }

    /// Lets a table's columns name the current versions of their keys. Those of tempdb are other databases', and stay what they are.
    pub(super) fn current_column_keys(&self, table: &mut Arc<TableDef>) {
        if !table.columns.iter().any(|c| c.ty.is_encrypted()) {
            return;
        }
        for column in &mut Arc::make_mut(table).columns {
            if let Some(scheme) = column.ty.scheme()
                && let Some(key) = self.column_keys.told.get(&scheme.key.id)
            {
                column.ty = scheme.with_key(key);
            }
        }
    }

    /// Whether there are keys of columns.
    #[must_use]
    pub fn has_column_keys(&self) -> bool {
        !self.column_keys.told.is_empty()
    }

    /// The column master keys by id.
    pub fn column_master_keys(&self) -> impl Iterator<Item = &Arc<ColumnMasterKeyDef>> {
        self.column_keys.masters.values()
    }

    /// A column master key by name.
    #[must_use]
    pub fn column_master_key_named(&self, name: &str) -> Option<&Arc<ColumnMasterKeyDef>> {
        self.column_master_keys().find(|k| fold(&k.name) == fold(name))
    }

    /// The column encryption keys by id.
    pub fn column_encryption_keys(&self) -> impl Iterator<Item = &Arc<ColumnEncryptionKeyDef>> {
        self.column_keys.keys.values()
    }

    /// A column encryption key by name.
    #[must_use]
    pub fn column_encryption_key_named(&self, name: &str) -> Option<&Arc<ColumnEncryptionKeyDef>> {
        self.column_encryption_keys().find(|k| fold(&k.name) == fold(name))
    }

    /// A column encryption key as types name it.
    #[must_use]
    pub fn told_column_key(&self, id: i32) -> Option<&Arc<ColumnKey>> {
        self.column_keys.told.get(&id)
    }

    /// Hides the keys from who may not see them.
    pub(super) fn see_column_keys(&mut self, masters: bool, keys: bool) {
        if masters && keys || self.column_keys.masters.is_empty() && self.column_keys.keys.is_empty() {
            return;
        }
        let all = Arc::make_mut(&mut self.column_keys);
        if !masters {
            all.masters.clear();
        }
        if !keys {
            all.keys.clear();
        }
    }
}
