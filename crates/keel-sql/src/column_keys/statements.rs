//! CREATE, ALTER and DROP of the keys of columns.

use super::errors::{self, empty_value, no_key};
use super::{
    COLUMN_ENCRYPTION_KEY, COLUMN_MASTER_KEY, ColumnEncryptionKeyDef, ColumnKeyValueDef, ColumnMasterKeyDef,
    VALUE_ALGORITHM, VALUES_MAX,
};
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, SecurableRef, object_class};
use crate::engine::DatabaseEntry;
use crate::run::Runner;
use keel_parser::ast::{ColumnKeyValue, Ident, Opt, option_text};
use keel_types::error::Result;
use std::sync::Arc;

const ALTER_MASTER_KEYS: &str = "ALTER ANY COLUMN MASTER KEY";
const ALTER_KEYS: &str = "ALTER ANY COLUMN ENCRYPTION KEY";

impl Runner<'_> {
    fn may_alter_column_keys(&self, entry: &Arc<DatabaseEntry>, permission: &str) -> Result<()> {
        let may = self.info.may(entry, permission, SecurableRef::Database);
        if may { Ok(()) } else { Err(crate::errors::no_permission("")) }
    }

    pub(crate) fn create_column_master_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &Ident,
        options: &[Opt],
    ) -> Result<()> {
        self.may_alter_column_keys(entry, ALTER_MASTER_KEYS)?;
        let known = ["KEY_STORE_PROVIDER_NAME", "KEY_PATH"];
        if let Some(other) = options.iter().find(|o| !known.contains(&o.name.as_str())) {
            return Err(match other.name.as_str() {
                "ENCLAVE_COMPUTATIONS" => crate::errors::not_supported("ENCLAVE_COMPUTATIONS"),
                other => keel_query::errors::syntax_near(other),
            });
        }
        let text =
            |name: &str| option_text(options, name).ok_or_else(|| keel_query::errors::syntax_near(")"));
        let (provider, path) = (text(known[0])?, text(known[1])?);
        if provider.is_empty() {
            return Err(empty_value("key store provider name"));
        }
        if path.is_empty() {
            return Err(empty_value("key path"));
        }
        let picture = self.info.picture(entry);
        if picture.column_master_key_named(&name.text).is_some() {
            return Err(errors::key_exists(&name.text));
        }
        let id = picture.column_master_keys().map(|k| k.id).max().unwrap_or(0) + 1;
        let key = ColumnMasterKeyDef {
            id,
            name: name.text.to_string(),
            provider: provider.to_owned(),
            path: path.to_owned(),
            created: self.info.engine.now_local(),
        };
        self.put(entry, CatalogObject::ColumnMasterKey(Arc::new(key)))
    }

    pub(crate) fn create_column_encryption_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &Ident,
        values: &[ColumnKeyValue],
    ) -> Result<()> {
        self.may_alter_column_keys(entry, ALTER_KEYS)?;
        let picture = self.info.picture(entry);
        if picture.column_encryption_key_named(&name.text).is_some() {
            return Err(errors::key_exists(&name.text));
        }
        let mut kept = Vec::new();
        for value in values {
            self.add_column_key_value(entry, &mut kept, value)?;
        }
        let now = self.info.engine.now_local();
        let id = picture.column_encryption_keys().map(|k| k.id).max().unwrap_or(0) + 1;
        let name = name.text.to_string();
        let key = ColumnEncryptionKeyDef { id, name, values: kept, created: now, modified: now };
        self.put(entry, CatalogObject::ColumnEncryptionKey(Arc::new(key)))
    }

    fn add_column_key_value(
        &self,
        entry: &Arc<DatabaseEntry>,
        kept: &mut Vec<ColumnKeyValueDef>,
        value: &ColumnKeyValue,
    ) -> Result<()> {
        let master = self.column_master_key(entry, &value.master)?;
        let algorithm = value.algorithm.as_deref().unwrap_or("");
        if !algorithm.eq_ignore_ascii_case(VALUE_ALGORITHM) {
            return Err(errors::no_algorithm(algorithm));
        }
        let encrypted = value.encrypted.as_deref().unwrap_or_default();
        if encrypted.is_empty() {
            return Err(empty_value("encrypted value"));
        }
        if kept.iter().any(|v| v.master == master.id) {
            return Err(errors::value_there(&master.name));
        }
        if kept.len() == VALUES_MAX {
            return Err(errors::too_many_values());
        }
        let (algorithm, encrypted) = (VALUE_ALGORITHM.to_owned(), encrypted.to_vec());
        kept.push(ColumnKeyValueDef { master: master.id, algorithm, encrypted });
        Ok(())
    }

    fn column_master_key(&self, entry: &Arc<DatabaseEntry>, name: &Ident) -> Result<Arc<ColumnMasterKeyDef>> {
        let found = self.info.picture(entry).column_master_key_named(&name.text).cloned();
        found.ok_or_else(|| no_key(COLUMN_MASTER_KEY, &name.text))
    }

    pub(crate) fn alter_column_encryption_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &Ident,
        add: bool,
        value: &ColumnKeyValue,
    ) -> Result<()> {
        let missing = || no_key(COLUMN_ENCRYPTION_KEY, &name.text);
        self.may_alter_column_keys(entry, ALTER_KEYS).map_err(|_| missing())?;
        let found = self.info.picture(entry).column_encryption_key_named(&name.text).cloned();
        let mut key = (*found.ok_or_else(missing)?).clone();
        if add {
            self.add_column_key_value(entry, &mut key.values, value)?;
        } else {
            let master = self.column_master_key(entry, &value.master)?;
            let at = key.values.iter().position(|v| v.master == master.id);
            let at = at.ok_or_else(|| errors::no_value(&master.name))?;
            if key.values.len() == 1 {
                return Err(errors::last_value());
            }
            key.values.remove(at);
        }
        key.modified = self.info.engine.now_local().max(key.modified + 1);
        self.put(entry, CatalogObject::ColumnEncryptionKey(Arc::new(key)))
    }

    pub(crate) fn drop_column_master_key(&mut self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<()> {
        let missing = || no_key(COLUMN_MASTER_KEY, name);
        self.may_alter_column_keys(entry, ALTER_MASTER_KEYS).map_err(|_| missing())?;
        let picture = self.info.picture(entry);
        let key = picture.column_master_key_named(name).ok_or_else(missing)?;
        let mut keys = picture.column_encryption_keys();
        if let Some(user) = keys.find(|k| k.values.iter().any(|v| v.master == key.id)) {
            return Err(errors::master_key_in_use(&key.name, &user.name));
        }
        let key = CatalogKey { class: object_class::COLUMN_MASTER_KEY, id: key.id };
        self.change(entry, CatalogOp::Remove(key))
    }

    pub(crate) fn drop_column_encryption_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
    ) -> Result<()> {
        let missing = || no_key(COLUMN_ENCRYPTION_KEY, name);
        self.may_alter_column_keys(entry, ALTER_KEYS).map_err(|_| missing())?;
        let picture = self.info.picture(entry);
        let key = picture.column_encryption_key_named(name).ok_or_else(missing)?;
        for table in picture.stored() {
            let uses =
                |c: &&keel_query::catalog::ColumnDef| c.ty.scheme().is_some_and(|s| s.key.id == key.id);
            if let Some(column) = table.columns.iter().find(uses) {
                return Err(errors::key_in_use(&key.name, &table.name, &column.name));
            }
        }
        let key = CatalogKey { class: object_class::COLUMN_ENCRYPTION_KEY, id: key.id };
        self.change(entry, CatalogOp::Remove(key))
    }
}
