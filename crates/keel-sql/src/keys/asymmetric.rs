//! Asymmetric keys: CREATE, ALTER, DROP.

use super::open::by_asymmetric_key;
use super::principal::Mapped;
use super::{
    ASYMMETRIC_KEY, AsymmetricKeyDef, DROPPED, PrivateKey, Protection, STRIPPED, errors, key_thumbprint,
    next_id, refused, rsa,
};
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, SecurableRef, object_class};
use crate::engine::DatabaseEntry;
use crate::run::Runner;
use keel_parser::ast::{self, KeyChange};
use keel_types::error::Result;
use std::sync::Arc;

/// Bits by the name of the algorithm.
const ALGORITHMS: [(&str, usize); 5] =
    [("RSA_512", 512), ("RSA_1024", 1024), ("RSA_2048", 2048), ("RSA_3072", 3072), ("RSA_4096", 4096)];

impl Runner<'_> {
    pub(super) fn put_asymmetric_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        def: AsymmetricKeyDef,
    ) -> Result<()> {
        self.put(entry, CatalogObject::AsymmetricKey(Arc::new(def)))
    }

    pub(super) fn asymmetric_key_for(
        &self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        permission: &str,
        verb: &str,
    ) -> Result<Arc<AsymmetricKeyDef>> {
        let found = self.info.picture(entry).asymmetric_key_named(name).cloned();
        let found = found.ok_or_else(|| errors::not_found(verb, ASYMMETRIC_KEY, name))?;
        let on = SecurableRef::AsymmetricKey(found.id);
        self.may_key_or(entry, permission, on, (verb, ASYMMETRIC_KEY, name))?;
        Ok(found)
    }

    pub(super) fn create_asymmetric_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        c: &ast::CreateAsymmetricKey,
    ) -> Result<()> {
        self.may_make_key(entry, "CREATE ASYMMETRIC KEY", "ALTER ANY ASYMMETRIC KEY")?;
        let name = c.name.text.as_str();
        if let Some(from) = &c.from {
            return Err(refused(&format!("CREATE ASYMMETRIC KEY FROM {from}")));
        }
        self.refuse_taken_key_name(entry, name)?;
        let algorithm = c.algorithm.as_deref().unwrap_or("");
        let found = ALGORITHMS.iter().find(|(name, _)| *name == algorithm);
        let (_, bits) = found.ok_or_else(errors::no_algorithm)?;
        let random = Arc::clone(&self.info.engine.options().env.random);
        let failed = || errors::generation_failed(ASYMMETRIC_KEY);
        let pair = rsa::new_pair(*bits, &*random).ok_or_else(failed)?;
        let own = c.password.as_deref().map(|password| self.sealed_by_password(&pair.private, password));
        self.lock_catalog(entry)?;
        self.refuse_taken_key_name(entry, name)?;
        let principal = self.key_owner(entry, c.authorization.as_ref())?;
        let private = own.map_or_else(|| self.sealed_by_master_key(entry, &pair.private), Ok)?;
        let id = next_id(self.info.picture(entry).asymmetric_keys().map(|k| k.id));
        let def = AsymmetricKeyDef { id, name: name.to_owned(), principal, public: pair.public, private };
        self.put_asymmetric_key(entry, def)
    }

    fn refuse_taken_key_name(&self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<()> {
        let taken = self.info.picture(entry).asymmetric_key_named(name).is_some();
        if taken { Err(errors::asymmetric_key_exists(name)) } else { Ok(()) }
    }

    pub(super) fn alter_asymmetric_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        change: &KeyChange,
    ) -> Result<()> {
        let found = self.asymmetric_key_for(entry, name, "ALTER", "alter")?;
        let mut def = (*found).clone();
        def.private = match change {
            KeyChange::RemovePrivateKey if def.private.protection() == Protection::Absent => {
                return Err(errors::no_private_key(ASYMMETRIC_KEY));
            }
            KeyChange::RemovePrivateKey => {
                self.refuse_used_asymmetric_key(entry, &def, STRIPPED)?;
                PrivateKey::default()
            }
            KeyChange::PrivateKey(options) => {
                self.other_protection(entry, ASYMMETRIC_KEY, &def.private, options)?
            }
            KeyChange::ActiveForBeginDialog(_) | KeyChange::Attested => {
                return Err(refused("This ALTER ASYMMETRIC KEY"));
            }
        };
        self.put_asymmetric_key(entry, def)
    }

    /// Error 15352 for a key that something hangs on.
    fn refuse_used_asymmetric_key(
        &self,
        entry: &Arc<DatabaseEntry>,
        def: &AsymmetricKeyDef,
        verb: &str,
    ) -> Result<()> {
        let by = by_asymmetric_key(def);
        let used = self.info.picture(entry).symmetric_keys().any(|k| k.sealed.iter().any(|s| s.by == by));
        if used { Err(errors::in_use(ASYMMETRIC_KEY, verb)) } else { Ok(()) }
    }

    pub(super) fn drop_asymmetric_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        if_exists: bool,
    ) -> Result<()> {
        if if_exists && self.info.picture(entry).asymmetric_key_named(name).is_none() {
            return Ok(());
        }
        let found = self.asymmetric_key_for(entry, name, "CONTROL", "drop")?;
        self.refuse_used_asymmetric_key(entry, &found, DROPPED)?;
        self.refuse_signer(entry, Mapped::AsymmetricKey, &key_thumbprint(&found.public), DROPPED)?;
        self.refuse_mapped(entry, Mapped::AsymmetricKey, &found.public, DROPPED)?;
        self.change(
            entry,
            CatalogOp::Remove(CatalogKey { class: object_class::ASYMMETRIC_KEY, id: found.id }),
        )
    }
}
