//! Master keys: CREATE, ALTER, DROP, OPEN, CLOSE, BACKUP, RESTORE.

use super::credential::CREDENTIAL;
use super::definition::{MASTER_KEY_NAME, MasterKeyDef};
use super::{
    AsymmetricKeyDef, CERTIFICATE, CertificateDef, CredentialDef, MASTER_KEY, PrivateKey, Protection, errors,
};
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, object_class};
use crate::engine::DatabaseEntry;
use crate::run::Runner;
use keel_base::cipher::{open_secret, seal_secret};
use keel_parser::ast::MasterKey;
use keel_types::error::Result;
use std::sync::Arc;

const KEY_BYTES: usize = 32;
/// Passwords, and instances that open it by themselves, of one master key.
const COPIES_MAX: usize = 32;

impl Runner<'_> {
    pub(super) fn master_key(&mut self, entry: &Arc<DatabaseEntry>, key: &MasterKey) -> Result<()> {
        self.controls_database(entry)?;
        let stored = self.info.picture(entry).master_key().cloned();
        match key {
            MasterKey::Create { password } => {
                if stored.is_some() {
                    return Err(errors::master_key_exists());
                }
                let mut bytes = vec![0; KEY_BYTES];
                self.info.engine.options().env.random.fill(&mut bytes);
                let now = self.info.engine.now_local();
                self.put_new_master_key(entry, &bytes, password.as_deref(), now, true)
            }
            MasterKey::Open { password } => {
                let stored = stored.ok_or_else(errors::no_master_key)?;
                let key = self.master_key_by(&stored, password).ok_or_else(errors::other_decryptor)?;
                self.info.open_keys.borrow_mut().open_master(entry.id, stored.guid, key);
                Ok(())
            }
            MasterKey::Close => {
                stored.ok_or_else(errors::no_master_key)?;
                let was_open = self.info.open_keys.borrow_mut().close_master(entry.id);
                if was_open { Ok(()) } else { Err(errors::not_open(MASTER_KEY_NAME)) }
            }
            MasterKey::Regenerate { force, password } => {
                let stored = stored.ok_or_else(errors::no_master_key)?;
                let mut bytes = vec![0; KEY_BYTES];
                self.info.engine.options().env.random.fill(&mut bytes);
                self.replace_master_key(entry, &stored, &bytes, password, *force)
            }
            MasterKey::Encryption { add, password } => {
                let stored = stored.ok_or_else(errors::no_master_key)?;
                self.change_encryption(entry, &stored, *add, password.as_deref())
            }
            MasterKey::Backup { file, password } => {
                let key = self.info.master_key_of(entry)?;
                let sealed = self.info.engine.options().hasher.seal(&key, password);
                self.write_key_file(file, &sealed, true)
            }
            MasterKey::Restore { file, decryption, encryption, force } => {
                let bytes = self.read_key_file(file).ok_or_else(errors::bad_master_key_file)?;
                let hasher = &self.info.engine.options().hasher;
                let key = hasher.open(&bytes, decryption).filter(|key| key.len() == KEY_BYTES);
                let key = key.ok_or_else(errors::bad_master_key_file)?;
                let Some(stored) = stored else {
                    return self.put_new_master_key(
                        entry,
                        &key,
                        Some(encryption),
                        self.info.engine.now_local(),
                        true,
                    );
                };
                if self.info.opened_master_key(entry, &stored).as_ref() == Some(&key) {
                    self.info.say(errors::same_master_key());
                }
                self.replace_master_key(entry, &stored, &key, encryption, *force)
            }
        }
    }

    fn master_key_by(&self, stored: &MasterKeyDef, password: &str) -> Option<Vec<u8>> {
        let hasher = &self.info.engine.options().hasher;
        stored.by_passwords().find_map(|sealed| hasher.open(sealed, password))
    }

    fn put_new_master_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        key: &[u8],
        password: Option<&str>,
        created: i64,
        by_server: bool,
    ) -> Result<()> {
        let engine = &self.info.engine;
        let mut guid = [0; 16];
        engine.options().env.random.fill(&mut guid);
        let def = MasterKeyDef {
            id: 1,
            sealed: by_server.then(|| engine.seal_with_service_key(key)).transpose()?,
            sealed_elsewhere: Vec::new(),
            by_password: password.map(|password| engine.options().hasher.seal(key, password)),
            by_more_passwords: Vec::new(),
            guid,
            created,
            modified: engine.now_local(),
        };
        self.put(entry, CatalogObject::MasterKey(Arc::new(def)))
    }

    /// Another master key in the place of the one that there is: what hangs on that is sealed anew.
    fn replace_master_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        stored: &MasterKeyDef,
        key: &[u8],
        password: &str,
        force: bool,
    ) -> Result<()> {
        let old = self.info.opened_master_key(entry, stored);
        match (&old, force) {
            (None, false) => return Err(errors::master_key_closed()),
            (None, true) => self.info.say(errors::master_key_closed_ignored()),
            (Some(_), _) => {}
        }
        let picture = self.info.picture(entry);
        let old = old.as_deref();
        for certificate in picture.certificates() {
            let names = (CERTIFICATE, certificate.name.as_str());
            if let Some(private) = self.sealed_anew(&certificate.private(), old, key, force, names)? {
                let def = CertificateDef {
                    sealed_key: private.by_master_key,
                    own_password: false,
                    ..(**certificate).clone()
                };
                self.put(entry, CatalogObject::Certificate(Arc::new(def)))?;
            }
        }
        for asymmetric in picture.asymmetric_keys() {
            let names = (super::ASYMMETRIC_KEY, asymmetric.name.as_str());
            if let Some(private) = self.sealed_anew(&asymmetric.private, old, key, force, names)? {
                let def = AsymmetricKeyDef { private, ..(**asymmetric).clone() };
                self.put(entry, CatalogObject::AsymmetricKey(Arc::new(def)))?;
            }
        }
        for credential in picture.credentials() {
            let private = PrivateKey { by_master_key: credential.sealed.clone(), by_password: None };
            let names = (CREDENTIAL, credential.name.as_str());
            if let Some(private) = self.sealed_anew(&private, old, key, force, names)? {
                let def = CredentialDef { sealed: private.by_master_key, ..(**credential).clone() };
                self.put(entry, CatalogObject::Credential(Arc::new(def)))?;
            }
        }
        // DROP ENCRYPTION BY SERVICE MASTER KEY stays said.
        let by_server = stored.by_service_keys().next().is_some();
        self.put_new_master_key(entry, key, Some(password), stored.created, by_server)
    }

    /// A private key under another master key; `None` where there is nothing to do. What does not open stays as it is with FORCE.
    fn sealed_anew(
        &self,
        private: &PrivateKey,
        old: Option<&[u8]>,
        key: &[u8],
        force: bool,
        (kind, name): (&str, &str),
    ) -> Result<Option<PrivateKey>> {
        let sealed =
            private.by_master_key.as_deref().filter(|_| private.protection() == Protection::MasterKey);
        let Some(sealed) = sealed else { return Ok(None) };
        let engine = &self.info.engine;
        let opened =
            old.and_then(|old| open_secret(sealed, old)).or_else(|| engine.open_with_service_key(sealed));
        match opened {
            Some(opened) => {
                let sealed = seal_secret(&opened, key, &*engine.options().env.random);
                Ok(Some(PrivateKey { by_master_key: Some(sealed), by_password: None }))
            }
            None if force => {
                self.info.say(errors::old_master_key_ignored(kind, name));
                Ok(None)
            }
            None => Err(errors::old_master_key(kind, name)),
        }
    }

    /// ADD and DROP ENCRYPTION BY SERVICE MASTER KEY and PASSWORD.
    fn change_encryption(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        stored: &MasterKeyDef,
        add: bool,
        password: Option<&str>,
    ) -> Result<()> {
        let engine = Arc::clone(&self.info.engine);
        let key = self.info.master_key_of(entry)?;
        let mut def = MasterKeyDef { modified: engine.now_local(), ..stored.clone() };
        match (add, password) {
            (true, None) if engine.master_key_bytes(stored).is_some() => return Ok(()),
            (true, None) => {
                def.sealed_elsewhere.push(engine.seal_with_service_key(&key)?);
                let over = def.sealed_elsewhere.len().saturating_sub(COPIES_MAX);
                def.sealed_elsewhere.drain(..over);
            }
            (true, Some(password)) if self.master_key_by(stored, password).is_some() => {
                return Err(errors::encryption_there("password", MASTER_KEY_NAME));
            }
            (true, Some(_)) if stored.by_passwords().count() >= COPIES_MAX => {
                return Err(errors::encryption_there("password", MASTER_KEY_NAME));
            }
            (true, Some(password)) => {
                def.by_more_passwords.push(engine.options().hasher.seal(&key, password));
            }
            (false, None) if stored.by_passwords().next().is_none() => {
                return Err(errors::cannot_drop_encryption(MASTER_KEY, "service master key"));
            }
            (false, None) => (def.sealed, def.sealed_elsewhere) = (None, Vec::new()),
            (false, Some(password)) => self.drop_password(&mut def, password)?,
        }
        self.put(entry, CatalogObject::MasterKey(Arc::new(def)))
    }

    /// The last password cannot be dropped: where the service master key is another one nothing else opens it.
    fn drop_password(&self, def: &mut MasterKeyDef, password: &str) -> Result<()> {
        let hasher = &self.info.engine.options().hasher;
        let other = |sealed: &Vec<u8>| hasher.open(sealed, password).is_none();
        let before = def.by_passwords().count();
        let mut left: Vec<Vec<u8>> = def.by_passwords().filter(|sealed| other(sealed)).cloned().collect();
        if left.is_empty() || left.len() == before {
            return Err(errors::cannot_drop_encryption("password", MASTER_KEY_NAME));
        }
        def.by_password = Some(left.remove(0));
        def.by_more_passwords = left;
        Ok(())
    }

    pub(super) fn drop_master_key(&mut self, entry: &Arc<DatabaseEntry>) -> Result<()> {
        self.controls_database(entry)?;
        let picture = self.info.picture(entry);
        picture.master_key().ok_or_else(|| errors::not_found("drop", MASTER_KEY, entry.name()))?;
        let hangs = |private: &PrivateKey| private.protection() == Protection::MasterKey;
        if let Some(certificate) = picture.certificates().find(|c| !c.own_password && hangs(&c.private())) {
            return Err(errors::master_key_in_use(CERTIFICATE, &certificate.name));
        }
        if let Some(key) = picture.asymmetric_keys().find(|k| hangs(&k.private)) {
            return Err(errors::master_key_in_use(super::ASYMMETRIC_KEY, &key.name));
        }
        if let Some(credential) = picture.credentials().find(|c| c.sealed.is_some()) {
            return Err(errors::master_key_in_use(CREDENTIAL, &credential.name));
        }
        self.info.open_keys.borrow_mut().close_master(entry.id);
        self.change(entry, CatalogOp::Remove(CatalogKey { class: object_class::MASTER_KEY, id: 1 }))
    }
}
