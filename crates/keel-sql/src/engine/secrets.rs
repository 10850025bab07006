//! The chain that private keys hang on: the service master key of the instance, the master key of master, certificates' keys.
//!
//! ```text
//! <data>/service.keel ─► the master key (and: its password ─► the master key) ─► private keys of certificates ─► keys of databases
//!                     └► passwords of linked servers
//! ```
//!
//! The service master key is 32 random bytes in a file of its own, readable by the server's user alone: `KEELSMK1`, the key,
//! and CRC32C of both, little-endian. Whoever copies the data directory without it has sealed keys. A certificate whose key came with a password of
//! its own hangs on the service master key, as does one that was there before the master key was.

use super::Engine;
use crate::hadr::store::{StoredCertificate, StoredMasterKey};
use keel_base::cipher::{open_secret, seal_secret};
use keel_base::env::OpenMode;
use keel_types::SqlError;
use keel_types::error::Result;
use std::io;
use std::path::PathBuf;

const FILE: &str = "service.keel";
const MAGIC: &[u8; 8] = b"KEELSMK1";
const KEY_BYTES: usize = 32;

/// The service master key.
pub(super) type ServiceKey = [u8; KEY_BYTES];

fn failed(error: &io::Error) -> Box<SqlError> {
    let text = format!("An error occurred during the service master key decryption. {error}");
    SqlError::new(33094, 16, 1, text)
}

impl Engine {
    fn service_key_path(&self) -> PathBuf {
        self.options.data_dir.join(FILE)
    }

    /// The service master key, if there is one.
    fn known_service_key(&self) -> io::Result<Option<ServiceKey>> {
        let mut known = self.service_key.lock();
        let disk = &self.options.env.disk;
        let path = self.service_key_path();
        if known.is_none() && disk.exists(&path) {
            let mut bytes = [0; MAGIC.len() + KEY_BYTES + 4];
            let n = disk.open(&path, OpenMode::Read)?.read_at(&mut bytes, 0)?;
            let (body, checksum) = bytes.split_at(MAGIC.len() + KEY_BYTES);
            let whole =
                n == bytes.len() && body.starts_with(MAGIC) && crc32c::crc32c(body).to_le_bytes() == checksum;
            let key = body[MAGIC.len()..].first_chunk().filter(|_| whole).copied();
            *known = Some(key.ok_or_else(|| io::Error::other(format!("{} is damaged", path.display())))?);
        }
        Ok(*known)
    }

    /// The service master key; made when first asked for.
    fn own_service_key(&self) -> Result<ServiceKey> {
        if let Some(key) = self.known_service_key().map_err(|e| failed(&e))? {
            return Ok(key);
        }
        let mut known = self.service_key.lock();
        if let Some(key) = *known {
            return Ok(key);
        }
        let (disk, path) = (&self.options.env.disk, self.service_key_path());
        let mut key = [0; KEY_BYTES];
        self.options.env.random.fill(&mut key);
        let mut bytes = [&MAGIC[..], &key].concat();
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        // Whole or not at all: half a key would open nothing, and be in the way of another.
        let new = path.with_extension("new");
        let write = || -> io::Result<()> {
            if disk.exists(&new) {
                disk.remove(&new)?;
            }
            let file = disk.open(&new, OpenMode::CreateNew)?;
            disk.make_private(&new)?;
            file.write_durable_at(&bytes, 0)?;
            file.sync_all()?;
            disk.rename(&new, &path)?;
            disk.sync_dir(&self.options.data_dir)
        };
        write().map_err(|e| failed(&e))?;
        *known = Some(key);
        Ok(key)
    }

    /// What a new master key is kept as; `by_password` is for the day when the service master key is another one.
    pub(crate) fn new_master_key(
        &self,
        hash: Vec<u8>,
        by_password: &dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Result<StoredMasterKey> {
        let mut key = [0; KEY_BYTES];
        let random = &*self.options.env.random;
        random.fill(&mut key);
        let sealed = seal_secret(&key, &self.own_service_key()?, random);
        Ok(StoredMasterKey {
            id: 1,
            password_hash: hash,
            sealed: Some(sealed),
            by_password: Some(by_password(&key)),
        })
    }

    /// The same master key, opened with its password, sealed with the service master key that there is now.
    pub(crate) fn seal_master_key(&self, stored: StoredMasterKey, key: &[u8]) -> Result<StoredMasterKey> {
        let sealed = seal_secret(key, &self.own_service_key()?, &*self.options.env.random);
        Ok(StoredMasterKey { sealed: Some(sealed), ..stored })
    }

    /// Whether the master key opens with the service master key.
    pub(crate) fn opens_master_key(&self, stored: &StoredMasterKey) -> bool {
        stored.sealed.is_none() || self.master_key_bytes(stored).is_some()
    }

    fn master_key_bytes(&self, stored: &StoredMasterKey) -> Option<Vec<u8>> {
        // A file that cannot be read opens nothing: what hangs on it says so.
        let service = self.known_service_key().ok().flatten()?;
        open_secret(stored.sealed.as_deref()?, &service)
    }

    /// A certificate as it is stored: its private key sealed.
    pub(crate) fn sealed_certificate(&self, certificate: StoredCertificate) -> Result<StoredCertificate> {
        let Some(key) = &certificate.key else { return Ok(certificate) };
        let master = self.master_key()?.filter(|_| !certificate.own_password);
        let secret = match master.and_then(|stored| self.master_key_bytes(&stored)) {
            Some(master) => master,
            None => self.own_service_key()?.to_vec(),
        };
        let sealed = seal_secret(key, &secret, &*self.options.env.random);
        Ok(StoredCertificate { key: None, sealed_key: Some(sealed), ..certificate })
    }

    /// Certificates as they are used: with their private keys, as far as those open.
    pub(crate) fn opened_certificates(
        &self,
        mut all: Vec<StoredCertificate>,
    ) -> Result<Vec<StoredCertificate>> {
        if all.iter().all(|c| c.sealed_key.is_none()) {
            return Ok(all);
        }
        let service = self.known_service_key().ok().flatten();
        let master = self.master_key()?.and_then(|stored| self.master_key_bytes(&stored));
        for certificate in &mut all {
            let Some(sealed) = certificate.sealed_key.take() else { continue };
            let with_master = master.as_deref().and_then(|master| open_secret(&sealed, master));
            let with_service = || service.as_ref().and_then(|service| open_secret(&sealed, service));
            certificate.key = with_master.or_else(with_service);
        }
        Ok(all)
    }

    /// A password of a linked server as it is kept: sealed with the service master key.
    pub(crate) fn seal_password(&self, password: &str) -> Result<Vec<u8>> {
        Ok(seal_secret(password.as_bytes(), &self.own_service_key()?, &*self.options.env.random))
    }

    /// The password again; none is an empty one. Error 33094 when the service master key is another one by now.
    pub(crate) fn open_password(&self, sealed: Option<&[u8]>) -> Result<String> {
        let Some(sealed) = sealed else { return Ok(String::new()) };
        let bytes = open_secret(sealed, &self.own_service_key()?);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.ok_or_else(|| {
            failed(&io::Error::other("The service master key is not the one that it was sealed with."))
        })
    }

    /// Private keys of an instance that kept them as they are.
    pub(super) fn seal_private_keys(&self) -> Result<()> {
        for certificate in self.stored_certificates()?.into_iter().filter(|c| c.key.is_some()) {
            self.put_certificate(certificate)?;
        }
        Ok(())
    }
}
