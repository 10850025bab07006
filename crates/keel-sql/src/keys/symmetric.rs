//! Symmetric keys: CREATE, ALTER, DROP, OPEN, CLOSE.
//!
//! With KEY_SOURCE the key, and with IDENTITY_VALUE its guid, is made from a text: the same on every server, so that what one encrypts another one
//! decrypts. Both are the beginning of a SHA-256 of the text in UTF-16; the product's own way is not described.

use super::open::{OpenKey, by_asymmetric_key, by_certificate};
use super::{
    ASYMMETRIC_KEY, CERTIFICATE, DROPPED, SYMMETRIC_KEY, SealedBy, SealedKey, SymmetricKeyDef, errors,
    next_id, refused, rsa,
};
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, SecurableRef, object_class};
use crate::engine::DatabaseEntry;
use crate::run::Runner;
use keel_base::cipher::{open_secret, seal_secret};
use keel_parser::ast::{self, Protector, option_text};
use keel_types::cell::Cipher;
use keel_types::error::Result;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;

/// Encryptions of one symmetric key.
const COPIES_MAX: usize = 32;

fn digest(text: &str) -> Vec<u8> {
    let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    Sha256::digest(bytes).to_vec()
}

/// What a protector is called in messages: kind and name.
fn words(by: &Protector) -> (&'static str, &str) {
    match by {
        // It has no name, and is not shown.
        Protector::Password(_) => ("password", "******"),
        Protector::Certificate(name, _) => (CERTIFICATE, &name.text),
        Protector::AsymmetricKey(name, _) => (ASYMMETRIC_KEY, &name.text),
        Protector::SymmetricKey(name) => (SYMMETRIC_KEY, &name.text),
    }
}

impl Runner<'_> {
    pub(super) fn put_symmetric_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        def: SymmetricKeyDef,
    ) -> Result<()> {
        self.put(entry, CatalogObject::SymmetricKey(Arc::new(def)))
    }

    fn symmetric_key_for(
        &self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        permission: &str,
        verb: &str,
    ) -> Result<Arc<SymmetricKeyDef>> {
        let found = self.info.picture(entry).symmetric_key_named(name).cloned();
        let found = found.ok_or_else(|| errors::not_found(verb, SYMMETRIC_KEY, name))?;
        let on = SecurableRef::SymmetricKey(found.id);
        self.may_key_or(entry, permission, on, (verb, SYMMETRIC_KEY, name))?;
        Ok(found)
    }

    pub(super) fn create_symmetric_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        c: &ast::CreateSymmetricKey,
    ) -> Result<()> {
        self.may_make_key(entry, "CREATE SYMMETRIC KEY", "ALTER ANY SYMMETRIC KEY")?;
        let name = c.name.text.as_str();
        if c.provider.is_some() {
            return Err(refused("CREATE SYMMETRIC KEY FROM PROVIDER"));
        }
        if name.starts_with('#') {
            return Err(refused("A temporary symmetric key"));
        }
        if c.by.is_empty() {
            return Err(errors::no_encryptor());
        }
        let algorithm = option_text(&c.options, "ALGORITHM").unwrap_or("").to_ascii_uppercase();
        let cipher = Cipher::named(&algorithm).ok_or_else(errors::no_algorithm)?;
        let random = Arc::clone(&self.info.engine.options().env.random);
        let mut guid = [0; 16];
        match option_text(&c.options, "IDENTITY_VALUE") {
            Some(identity) => guid.copy_from_slice(&digest(identity)[..16]),
            None => random.fill(&mut guid),
        }
        let mut key = vec![0; cipher.key_bytes()];
        match option_text(&c.options, "KEY_SOURCE") {
            Some(source) => key.copy_from_slice(&digest(source)[..cipher.key_bytes()]),
            None => random.fill(&mut key),
        }
        self.refuse_taken_symmetric_key(entry, name, &guid)?;
        let mut sealed: Vec<SealedKey> = Vec::new();
        self.add_sealed(entry, &mut sealed, &key, &c.by)?;
        self.lock_catalog(entry)?;
        self.refuse_taken_symmetric_key(entry, name, &guid)?;
        // What it is sealed with is still there.
        for (protector, sealed) in c.by.iter().zip(&sealed) {
            if self.sealed_by(entry, protector)? != sealed.by {
                let (kind, name) = words(protector);
                return Err(errors::not_found("find", kind, name));
            }
        }
        let principal = self.key_owner(entry, c.authorization.as_ref())?;
        let picture = self.info.picture(entry);
        let now = self.info.engine.now_local();
        let id = next_id(picture.symmetric_keys().map(|k| k.id));
        let name = name.to_owned();
        let def = SymmetricKeyDef { id, name, principal, guid, cipher, sealed, created: now, modified: now };
        self.put_symmetric_key(entry, def)
    }

    /// Error 15282 for a name or guid that is taken.
    fn refuse_taken_symmetric_key(
        &self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        guid: &[u8; 16],
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        let taken = picture.symmetric_key_named(name).is_some() || picture.symmetric_key_of(guid).is_some();
        if taken { Err(errors::key_exists(name)) } else { Ok(()) }
    }

    /// What a key is sealed with, as it is kept. Error 15151 for what is not there or not seen.
    fn sealed_by(&self, entry: &Arc<DatabaseEntry>, by: &Protector) -> Result<SealedBy> {
        let (kind, name) = words(by);
        let picture = self.info.picture(entry);
        let missing = || errors::not_found("find", kind, name);
        let sees = |on| if self.info.sees_key(entry, on) { Ok(()) } else { Err(missing()) };
        Ok(match by {
            Protector::Password(_) => SealedBy::Password,
            Protector::Certificate(..) => {
                let found = picture.certificate_named(name).ok_or_else(missing)?;
                sees(SecurableRef::Certificate(found.id))?;
                by_certificate(found)
            }
            Protector::AsymmetricKey(..) => {
                let found = picture.asymmetric_key_named(name).ok_or_else(missing)?;
                sees(SecurableRef::AsymmetricKey(found.id))?;
                by_asymmetric_key(found)
            }
            Protector::SymmetricKey(_) => {
                let found = picture.symmetric_key_named(name).ok_or_else(missing)?;
                sees(SecurableRef::SymmetricKey(found.id))?;
                SealedBy::SymmetricKey(found.guid)
            }
        })
    }

    /// Seals a key with everything that a statement names. Passwords of one statement are compared as texts: each that is opened takes a
    /// tenth of a second.
    fn add_sealed(
        &self,
        entry: &Arc<DatabaseEntry>,
        sealed: &mut Vec<SealedKey>,
        key: &[u8],
        by: &[Protector],
    ) -> Result<()> {
        if sealed.len() + by.len() > COPIES_MAX {
            return Err(refused(&format!("A symmetric key with more than {COPIES_MAX} encryptions")));
        }
        let before = sealed.clone();
        for (at, protector) in by.iter().enumerate() {
            let (kind, name) = words(protector);
            let added = self.sealed(entry, key, protector)?;
            let there = match protector {
                Protector::Password(password) => {
                    let hasher = &self.info.engine.options().hasher;
                    let mut same = before.iter().filter(|s| s.by == SealedBy::Password);
                    by[..at].contains(protector) || same.any(|s| hasher.open(&s.key, password).is_some())
                }
                _ => sealed.iter().any(|s| s.by == added.by),
            };
            if there {
                return Err(errors::encryption_there(kind, name));
            }
            sealed.push(added);
        }
        Ok(())
    }

    fn sealed(&self, entry: &Arc<DatabaseEntry>, key: &[u8], protector: &Protector) -> Result<SealedKey> {
        let by = self.sealed_by(entry, protector)?;
        let (kind, name) = words(protector);
        let options = self.info.engine.options();
        let random = &*options.env.random;
        let picture = self.info.picture(entry);
        let unusable = || errors::cannot_use(kind);
        let key = match protector {
            Protector::Password(password) => options.hasher.seal(key, password),
            Protector::Certificate(..) => {
                let public = picture.certificate_named(name).and_then(|c| rsa::read(&c.certificate));
                let public = public.ok_or_else(unusable)?.public;
                rsa::encrypt(&public, key, random).ok_or_else(unusable)?
            }
            Protector::AsymmetricKey(..) => {
                let found = picture.asymmetric_key_named(name).ok_or_else(unusable)?;
                rsa::encrypt(&found.public, key, random).ok_or_else(unusable)?
            }
            Protector::SymmetricKey(_) => seal_secret(key, &self.open_symmetric(entry, &by, name)?, random),
        };
        Ok(SealedKey { by, key })
    }

    /// The bytes of a symmetric key that the session has open. Error 15315.
    fn open_symmetric(&self, entry: &Arc<DatabaseEntry>, by: &SealedBy, name: &str) -> Result<Vec<u8>> {
        let SealedBy::SymmetricKey(guid) = by else { return Err(errors::not_open(name)) };
        let picture = self.info.picture(entry);
        let key = picture.symmetric_key_of(guid).and_then(|key| self.info.open_bytes(entry, key));
        key.ok_or_else(|| errors::not_open(name))
    }

    /// ADD and DROP ENCRYPTION BY. The key has to be open.
    pub(super) fn alter_symmetric_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        add: bool,
        by: &[Protector],
    ) -> Result<()> {
        let found = self.symmetric_key_for(entry, name, "ALTER", "alter")?;
        let key = self.open_symmetric(entry, &SealedBy::SymmetricKey(found.guid), name)?;
        let mut def = (*found).clone();
        if add {
            self.add_sealed(entry, &mut def.sealed, &key, by)?;
        }
        for protector in by.iter().filter(|_| !add) {
            let wanted = self.sealed_by(entry, protector)?;
            let hasher = &self.info.engine.options().hasher;
            let is_it = |s: &SealedKey| match protector {
                Protector::Password(password) => s.by == wanted && hasher.open(&s.key, password).is_some(),
                _ => s.by == wanted,
            };
            let left: Vec<SealedKey> = def.sealed.iter().filter(|s| !is_it(s)).cloned().collect();
            // The last one stays: nobody could open the key again.
            if left.len() == def.sealed.len() || left.is_empty() {
                let (kind, name) = words(protector);
                return Err(errors::cannot_drop_encryption(kind, name));
            }
            def.sealed = left;
        }
        def.modified = self.info.engine.now_local();
        self.put_symmetric_key(entry, def)
    }

    pub(super) fn drop_symmetric_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        if_exists: bool,
    ) -> Result<()> {
        let picture = self.info.picture(entry);
        if if_exists && picture.symmetric_key_named(name).is_none() {
            return Ok(());
        }
        let found = self.symmetric_key_for(entry, name, "CONTROL", "drop")?;
        let by = SealedBy::SymmetricKey(found.guid);
        if picture.symmetric_keys().any(|k| k.sealed.iter().any(|s| s.by == by)) {
            return Err(errors::in_use(SYMMETRIC_KEY, DROPPED));
        }
        self.info.open_keys.borrow_mut().close(entry.id, &found.guid);
        self.change(entry, CatalogOp::Remove(CatalogKey { class: object_class::SYMMETRIC_KEY, id: found.id }))
    }

    pub(super) fn open_symmetric_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        name: &str,
        protector: &Protector,
    ) -> Result<()> {
        let found = self.info.picture(entry).symmetric_key_named(name).cloned();
        let seen = found.filter(|k| self.info.sees_key(entry, SecurableRef::SymmetricKey(k.id)));
        let found = seen.ok_or_else(|| errors::not_found("find", SYMMETRIC_KEY, name))?;
        let key = self.opened_by(entry, &found, protector)?;
        if key.len() != found.cipher.key_bytes() {
            return Err(errors::decryption_failed());
        }
        self.info.open_keys.borrow_mut().open(OpenKey {
            database: entry.id,
            id: found.id,
            name: found.name.clone(),
            guid: found.guid,
            created: found.created,
            cipher: found.cipher,
            key,
            since: self.info.engine.now_local(),
        });
        Ok(())
    }

    /// The bytes of a key. Errors 15313 when it is sealed with something else, 15151 for what is not there or the caller has no CONTROL of.
    fn opened_by(
        &self,
        entry: &Arc<DatabaseEntry>,
        key: &SymmetricKeyDef,
        protector: &Protector,
    ) -> Result<Vec<u8>> {
        let by = self.sealed_by(entry, protector)?;
        let (kind, name) = words(protector);
        let picture = self.info.picture(entry);
        let missing = || errors::not_found("find", kind, name);
        match protector {
            Protector::Password(password) => {
                let hasher = &self.info.engine.options().hasher;
                let mut sealed = key.sealed.iter().filter(|s| s.by == by);
                sealed.find_map(|s| hasher.open(&s.key, password)).ok_or_else(errors::other_decryptor)
            }
            Protector::Certificate(_, password) => {
                let found = picture.certificate_named(name).ok_or_else(missing)?;
                let on = SecurableRef::Certificate(found.id);
                self.may_key_or(entry, "CONTROL", on, ("find", kind, name))?;
                let private = self.info.certificate_key(entry, found, password.as_deref())?;
                self.info.unseal(key, &by, &private)
            }
            Protector::AsymmetricKey(_, password) => {
                let found = picture.asymmetric_key_named(name).ok_or_else(missing)?;
                let on = SecurableRef::AsymmetricKey(found.id);
                self.may_key_or(entry, "CONTROL", on, ("find", kind, name))?;
                let private = self.info.asymmetric_private(entry, found, password.as_deref())?;
                self.info.unseal(key, &by, &private)
            }
            Protector::SymmetricKey(_) => {
                let outer = self.open_symmetric(entry, &by, name)?;
                let sealed = key.sealed.iter().find(|s| s.by == by).ok_or_else(errors::other_decryptor)?;
                open_secret(&sealed.key, &outer).ok_or_else(errors::decryption_failed)
            }
        }
    }

    pub(super) fn close_symmetric_key(&mut self, entry: &Arc<DatabaseEntry>, name: &str) -> Result<()> {
        let found = self.info.picture(entry).symmetric_key_named(name).cloned();
        let found = found.ok_or_else(|| errors::not_found("find", SYMMETRIC_KEY, name))?;
        let was_open = self.info.open_keys.borrow_mut().close(entry.id, &found.guid);
        if was_open { Ok(()) } else { Err(errors::not_open(name)) }
    }
}
