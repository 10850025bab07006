//! Credentials: who one is elsewhere, and the secret that proves it.
//!
//! Those of the instance are rows of master, as linked servers are, and no transaction undoes what is done to them; secrets are sealed
//! with the service master key. Those of a database are a part of its catalog, sealed with its master key.

use super::definition::CredentialDef;
use super::errors;
use super::next_id;
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, SecurableRef, fold, object_class};
use crate::engine::{DatabaseEntry, Engine};
use crate::run::Runner;
use keel_base::cipher::seal_secret;
use keel_parser::ast::{CredentialAction, CredentialOptions, CredentialStatement};
use keel_types::error::Result;
use std::sync::Arc;

/// What messages call one, of either kind.
pub(super) const CREDENTIAL: &str = "credential";
/// What may be done to those of the instance.
pub(crate) const ALTER_ANY: &str = "ALTER ANY CREDENTIAL";

impl Engine {
    /// The instance's credentials.
    ///
    /// # Errors
    /// When master cannot be read.
    pub(crate) fn credentials(&self) -> Result<Vec<CredentialDef>> {
        self.master_rows(object_class::CREDENTIAL)
    }

    /// The instance's credential of that name.
    ///
    /// # Errors
    /// When master cannot be read.
    pub(crate) fn credential(&self, name: &str) -> Result<Option<CredentialDef>> {
        Ok(self.credentials()?.into_iter().find(|c| fold(&c.name) == fold(name)))
    }

    /// The secret of one of the instance's; an empty one where it has none.
    ///
    /// # Errors
    /// 33094 when the service master key is another one by now.
    pub(crate) fn credential_secret(&self, credential: &CredentialDef) -> Result<String> {
        self.open_password(credential.sealed.as_deref())
    }
}

impl Runner<'_> {
    /// CREATE, ALTER and DROP CREDENTIAL. False for one of a database, which is the transaction's business.
    pub(crate) fn credential_of_the_instance(&mut self, s: &CredentialStatement) -> Result<bool> {
        if s.scoped {
            return Ok(false);
        }
        self.of_the_instance("CREDENTIAL")?;
        let (name, may) = (s.name.text.as_str(), self.info.may_on_server(ALTER_ANY));
        let engine = Arc::clone(&self.info.engine);
        let _changing = engine.credentials_changing.lock();
        let found = engine.credential(name)?.filter(|_| may);
        match &s.action {
            CredentialAction::Create(_) if !may => return Err(crate::errors::no_permission("")),
            CredentialAction::Create(_) if found.is_some() => return Err(errors::credential_exists(name)),
            CredentialAction::Create(options) => {
                let id = next_id(engine.credentials()?.iter().map(|c| c.id));
                let new = self.server_credential(CredentialDef::new(id, name), options)?;
                engine.put_master_row(object_class::CREDENTIAL, id, Some(&new))?;
            }
            CredentialAction::Alter(options) => {
                let found = found.ok_or_else(|| errors::not_found("alter", CREDENTIAL, name))?;
                let changed = self.server_credential(found, options)?;
                engine.put_master_row(object_class::CREDENTIAL, changed.id, Some(&changed))?;
            }
            CredentialAction::Drop { if_exists } => {
                let Some(found) = found else {
                    let missing = || errors::not_found("drop", CREDENTIAL, name);
                    return if *if_exists && may { Ok(true) } else { Err(missing()) };
                };
                // Its number may be another's by and by.
                for login in self.info.logins()?.iter().filter(|l| l.credentials.contains(&found.id)) {
                    self.info
                        .master()?
                        .change_login(login, |l| l.credentials.retain(|id| *id != found.id))?;
                }
                engine.put_master_row::<CredentialDef>(object_class::CREDENTIAL, found.id, None)?;
            }
        }
        Ok(true)
    }

    fn server_credential(&self, def: CredentialDef, options: &CredentialOptions) -> Result<CredentialDef> {
        if options.provider.is_some() {
            return Err(super::refused("CREDENTIAL … FOR CRYPTOGRAPHIC PROVIDER"));
        }
        let engine = &self.info.engine;
        let sealed = options.secret.as_ref().map(|secret| engine.seal_password(secret)).transpose()?;
        Ok(def.with(options, sealed, engine.now_local()))
    }

    /// CREATE, ALTER and DROP DATABASE SCOPED CREDENTIAL.
    pub(crate) fn credential_of_the_database(&mut self, s: &CredentialStatement) -> Result<()> {
        let entry = self.info.current_database();
        super::refuse_read_only(&entry)?;
        let (name, may) = (s.name.text.as_str(), self.info.may(&entry, "CONTROL", SecurableRef::Database));
        let picture = self.info.picture(&entry);
        let found = picture.credential_named(name).filter(|_| may);
        match &s.action {
            CredentialAction::Create(_) if !may => Err(crate::errors::no_permission("")),
            CredentialAction::Create(_) if found.is_some() => Err(errors::credential_exists(name)),
            CredentialAction::Create(options) => {
                let id = next_id(picture.credentials().map(|c| c.id));
                let principal = self.key_owner(&entry, None)?;
                let new = CredentialDef { principal, ..CredentialDef::new(id, name) };
                self.put_credential(&entry, new, options)
            }
            CredentialAction::Alter(options) => {
                let found = found.ok_or_else(|| errors::not_found("alter", CREDENTIAL, name))?;
                self.put_credential(&entry, (**found).clone(), options)
            }
            CredentialAction::Drop { if_exists } => match found {
                Some(found) => {
                    let key = CatalogKey { class: object_class::SCOPED_CREDENTIAL, id: found.id };
                    self.change(&entry, CatalogOp::Remove(key))
                }
                None if *if_exists && may => Ok(()),
                None => Err(errors::not_found("drop", CREDENTIAL, name)),
            },
        }
    }

    fn put_credential(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        def: CredentialDef,
        options: &CredentialOptions,
    ) -> Result<()> {
        let engine = Arc::clone(&self.info.engine);
        let sealed = match &options.secret {
            Some(secret) => {
                let master = self.info.master_key_of(entry)?;
                Some(seal_secret(secret.as_bytes(), &master, &*engine.options().env.random))
            }
            None => None,
        };
        let def = def.with(options, sealed, engine.now_local());
        self.put(entry, CatalogObject::Credential(Arc::new(def)))
    }

    /// The number of a credential that a login is to have or lose. Error 15151.
    pub(crate) fn credential_for_login(&self, name: &str) -> Result<i32> {
        let found = self.info.engine.credential(name)?;
        let found = found.filter(|_| self.info.may_on_server(ALTER_ANY));
        found.map(|c| c.id).ok_or_else(|| errors::not_found("find", CREDENTIAL, name))
    }
}
