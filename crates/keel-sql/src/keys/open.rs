//! What a session has open, and how a key is opened.
//!
//! A master key opens by itself where the instance's service master key does; else the session opens it with a password, for itself. Private keys
//! hang on it, or on a password that comes with every use.

use super::definition::{MasterKeyDef, PrivateKey, Protection, SealedBy, SymmetricKeyDef};
use super::{ASYMMETRIC_KEY, AsymmetricKeyDef, CERTIFICATE, CertificateDef, errors, key_thumbprint, rsa};
use crate::engine::{DatabaseEntry, thumbprint};
use crate::session::info::Info;
use keel_base::DatabaseId;
use keel_base::cipher::open_secret;
use keel_types::SqlError;
use keel_types::cell::Cipher;
use keel_types::error::Result;
use std::sync::Arc;

/// A symmetric key that is open.
#[derive(Clone)]
pub(crate) struct OpenKey {
    /// Its database.
    pub database: DatabaseId,
    /// `symmetric_key_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// `key_guid`
    pub guid: [u8; 16],
    /// When it was made: another one may come to have its name, id and guid.
    pub created: i64,
    /// Its algorithm.
    pub cipher: Cipher,
    /// The key itself.
    pub key: Vec<u8>,
    /// Since when, local ticks.
    pub since: i64,
}

/// Which key the last DECRYPTBYKEYAUTOCERT opened, and with what: whatever of it changes, it is opened again.
#[derive(PartialEq)]
struct Automatic {
    database: DatabaseId,
    key: Arc<SymmetricKeyDef>,
    by: SealedBy,
    private: PrivateKey,
    password: Option<String>,
    master: Option<Arc<MasterKeyDef>>,
}

/// The keys that a session has open.
#[derive(Default)]
pub(crate) struct OpenKeys {
    /// Master keys opened with a password: database, guid, key.
    masters: Vec<(DatabaseId, [u8; 16], Vec<u8>)>,
    symmetric: Vec<OpenKey>,
    /// For the rows to come: a private key is slow.
    automatic: Option<(Automatic, Cipher, Vec<u8>)>,
}

impl OpenKeys {
    /// A master key is open from here on.
    pub fn open_master(&mut self, database: DatabaseId, guid: [u8; 16], key: Vec<u8>) {
        self.close_master(database);
        self.masters.push((database, guid, key));
    }

    /// Whether it was open.
    pub fn close_master(&mut self, database: DatabaseId) -> bool {
        let before = self.masters.len();
        self.masters.retain(|(d, ..)| *d != database);
        self.automatic = None;
        self.masters.len() < before
    }

    /// A symmetric key is open from here on.
    pub fn open(&mut self, key: OpenKey) {
        self.close(key.database, &key.guid);
        self.symmetric.push(key);
    }

    /// Whether it was open.
    pub fn close(&mut self, database: DatabaseId, guid: &[u8; 16]) -> bool {
        let before = self.symmetric.len();
        self.symmetric.retain(|k| (k.database, k.guid) != (database, *guid));
        self.symmetric.len() < before
    }

    /// CLOSE ALL SYMMETRIC KEYS
    pub fn close_all(&mut self) {
        self.symmetric.clear();
        self.automatic = None;
    }

    /// All of them, in the order in which they were opened.
    pub fn all(&self) -> &[OpenKey] {
        &self.symmetric
    }

    /// The session is another's from here on.
    pub fn forget(&mut self) {
        *self = OpenKeys::default();
    }
}

/// Whose private key it is, and how it is kept.
pub(super) struct Private<'k> {
    pub kind: &'static str,
    pub stored: &'k PrivateKey,
}

impl OpenKey {
    /// Whether it is the key of this definition, and not one from before that had its guid.
    fn is(&self, key: &SymmetricKeyDef) -> bool {
        (self.guid, self.id, self.created) == (key.guid, key.id, key.created)
    }
}

impl Info {
    /// The open key with this guid: the current database's before another's. One that was dropped is closed.
    pub(super) fn open_key(&self, guid: &[u8; 16]) -> Option<OpenKey> {
        let current = self.current_database().id;
        let open = self.open_keys.borrow();
        let stands = |k: &&OpenKey| {
            let entry = self.engine.database_by_id(k.database);
            entry.is_some_and(|e| self.picture(&e).symmetric_key_of(guid).is_some_and(|key| k.is(key)))
        };
        let of_guid = open.symmetric.iter().filter(|k| k.guid == *guid).filter(stands);
        of_guid.min_by_key(|k| k.database != current).cloned()
    }

    /// The bytes of a symmetric key of a database that the session has open.
    pub(super) fn open_bytes(&self, entry: &DatabaseEntry, key: &SymmetricKeyDef) -> Option<Vec<u8>> {
        let open = self.open_keys.borrow();
        open.symmetric.iter().find(|k| k.database == entry.id && k.is(key)).map(|k| k.key.clone())
    }

    /// The master key, opened with the service master key or by the session.
    pub(super) fn opened_master_key(&self, entry: &DatabaseEntry, stored: &MasterKeyDef) -> Option<Vec<u8>> {
        let open = self.open_keys.borrow();
        let own = open.masters.iter().find(|(d, guid, _)| *d == entry.id && *guid == stored.guid);
        own.map(|(.., key)| key.clone()).or_else(|| self.engine.master_key_bytes(stored))
    }

    /// The master key of a database. Errors 15581, 33094.
    pub(super) fn master_key_of(&self, entry: &Arc<DatabaseEntry>) -> Result<Vec<u8>> {
        let stored = self.picture(entry).master_key().cloned().ok_or_else(errors::no_master_key)?;
        self.opened_master_key(entry, &stored).ok_or_else(|| self.master_key_closed())
    }

    /// Why a master key that is there is closed: nobody has opened it (15581), or the service master key cannot be read (33094).
    pub(super) fn master_key_closed(&self) -> Box<SqlError> {
        self.engine.check_service_key().err().unwrap_or_else(errors::no_master_key)
    }

    /// A private key.
    ///
    /// # Errors
    /// 15556 for one that is not here, and for another password; 15334 where the password is not said, 15397 where there is none; 15581,
    /// 33094 and 15466 where the master key is closed, or is not the one that it is sealed with.
    pub(super) fn open_private_key(
        &self,
        entry: &Arc<DatabaseEntry>,
        private: &Private<'_>,
        password: Option<&str>,
    ) -> Result<Vec<u8>> {
        let Private { kind, stored } = private;
        match stored.protection() {
            Protection::Absent => Err(errors::cannot_use(kind)),
            Protection::Password => {
                let password = password.ok_or_else(|| errors::password_needed(kind))?;
                let sealed = stored.by_password.as_deref().unwrap_or_default();
                let hasher = &self.engine.options().hasher;
                hasher.open(sealed, password).ok_or_else(|| errors::cannot_use(kind))
            }
            Protection::MasterKey if password.is_some_and(|p| !p.is_empty()) => {
                Err(errors::no_password(kind))
            }
            Protection::MasterKey => {
                let sealed = stored.by_master_key.as_deref().unwrap_or_default();
                // Of old times, when there need not have been a master key.
                if let Some(key) = self.engine.open_with_service_key(sealed) {
                    return Ok(key);
                }
                open_secret(sealed, &self.master_key_of(entry)?).ok_or_else(errors::decryption_failed)
            }
        }
    }

    /// The private key of a certificate.
    pub(super) fn certificate_key(
        &self,
        entry: &Arc<DatabaseEntry>,
        certificate: &CertificateDef,
        password: Option<&str>,
    ) -> Result<Vec<u8>> {
        if let Some(key) = &certificate.key {
            return Ok(key.clone());
        }
        let stored = certificate.private();
        self.open_private_key(entry, &Private { kind: CERTIFICATE, stored: &stored }, password)
    }

    /// The private half of an asymmetric key.
    pub(super) fn asymmetric_private(
        &self,
        entry: &Arc<DatabaseEntry>,
        key: &AsymmetricKeyDef,
        password: Option<&str>,
    ) -> Result<Vec<u8>> {
        self.open_private_key(entry, &Private { kind: ASYMMETRIC_KEY, stored: &key.private }, password)
    }

    /// A symmetric key that is sealed with a certificate or an asymmetric key. Errors 15313, 15466.
    pub(super) fn unseal(&self, key: &SymmetricKeyDef, by: &SealedBy, private: &[u8]) -> Result<Vec<u8>> {
        let sealed = key.sealed.iter().find(|s| s.by == *by).ok_or_else(errors::other_decryptor)?;
        let random = &*self.engine.options().env.random;
        rsa::decrypt(private, &sealed.key, random).ok_or_else(errors::decryption_failed)
    }

    /// The key that a value is encrypted with, opened for this value alone: by a certificate or an asymmetric key, whose private key is
    /// `kept` as it is and opened by `open`. The last one is remembered.
    pub(super) fn open_automatically(
        &self,
        entry: &Arc<DatabaseEntry>,
        guid: [u8; 16],
        by: SealedBy,
        kept: PrivateKey,
        password: Option<&str>,
        open: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<Option<(Cipher, Vec<u8>)>> {
        let picture = self.picture(entry);
        let Some(key) = picture.symmetric_key_of(&guid) else { return Ok(None) };
        let which = Automatic {
            database: entry.id,
            key: Arc::clone(key),
            by,
            private: kept,
            password: password.map(str::to_owned),
            master: picture.master_key().cloned(),
        };
        let known = |(last, cipher, bytes): &(Automatic, Cipher, Vec<u8>)| {
            (*last == which).then(|| (*cipher, bytes.clone()))
        };
        if let Some(found) = self.open_keys.borrow().automatic.as_ref().and_then(known) {
            return Ok(Some(found));
        }
        if !key.sealed.iter().any(|s| s.by == which.by) {
            return Ok(None);
        }
        let bytes = self.unseal(key, &which.by, &open()?)?;
        self.open_keys.borrow_mut().automatic = Some((which, key.cipher, bytes.clone()));
        Ok(Some((key.cipher, bytes)))
    }
}

/// What a symmetric key sealed with a certificate says.
pub(super) fn by_certificate(certificate: &CertificateDef) -> SealedBy {
    SealedBy::Certificate(thumbprint(&certificate.certificate))
}

/// The same of an asymmetric key.
pub(super) fn by_asymmetric_key(key: &AsymmetricKeyDef) -> SealedBy {
    SealedBy::AsymmetricKey(key_thumbprint(&key.public))
}
