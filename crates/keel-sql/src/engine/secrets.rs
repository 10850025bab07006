//! The chain that private keys hang on, from the instance's end: the service master key, and what it opens by itself.
//!
//! ```text
//! <data>/service.keel ─► master keys of databases ─► private keys of certificates ─► keys of databases (those in master), cells
//!          │          └► secrets of its credentials
//!          └► passwords of linked servers, secrets of the instance's credentials
//! ```
//!
//! The service master key is 32 random bytes in a file of its own, readable by the server's user alone: `KEELSMK1`, the key,
//! and CRC32C of both, little-endian. Whoever copies the data directory without it has sealed keys. The rest of the chain is in [`crate::keys`].

use super::Engine;
use crate::catalog::{CatalogKey, CatalogObject, CatalogOp, fold, object_class};
use crate::hadr::{Caller, HadrCommand};
use crate::keys::{CertificateDef, MasterKeyDef};
use keel_base::cipher::{open_secret, seal_secret};
use keel_base::env::OpenMode;
use keel_types::SqlError;
use keel_types::error::Result;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

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

    /// Error 33094 where the service master key is there and cannot be read.
    pub(crate) fn check_service_key(&self) -> Result<()> {
        self.known_service_key().map(drop).map_err(|e| failed(&e))
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

    /// A secret sealed with the service master key.
    pub(crate) fn seal_with_service_key(&self, secret: &[u8]) -> Result<Vec<u8>> {
        Ok(seal_secret(secret, &self.own_service_key()?, &*self.options.env.random))
    }

    /// The way back; `None` when it is sealed with something else.
    pub(crate) fn open_with_service_key(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        // A file that cannot be read opens nothing: what hangs on it says so.
        open_secret(sealed, &self.known_service_key().ok().flatten()?)
    }

    /// A master key, where the service master key opens it.
    pub(crate) fn master_key_bytes(&self, stored: &MasterKeyDef) -> Option<Vec<u8>> {
        stored.by_service_keys().find_map(|sealed| self.open_with_service_key(sealed))
    }

    /// Certificates of master as they are used: with their private keys, as far as those open by themselves.
    fn opened_certificates(&self, mut all: Vec<CertificateDef>) -> Vec<CertificateDef> {
        if all.iter().all(|c| c.sealed_key.is_none()) {
            return all;
        }
        let master = self.master().picture().master_key().and_then(|stored| self.master_key_bytes(stored));
        for certificate in &mut all {
            let Some(sealed) = certificate.sealed_key.take() else { continue };
            let with_master = master.as_deref().and_then(|master| open_secret(&sealed, master));
            // Of old times, when there need not have been a master key.
            certificate.key = with_master.or_else(|| self.open_with_service_key(&sealed));
        }
        all
    }

    /// Certificates of master, with their private keys.
    ///
    /// # Errors
    /// None by now.
    pub fn certificates(&self) -> Result<Vec<CertificateDef>> {
        let stored = self.master().picture().certificates().map(|c| (**c).clone()).collect();
        Ok(self.opened_certificates(stored))
    }

    /// The certificate of that name in master.
    ///
    /// # Errors
    /// None by now.
    pub fn certificate(&self, name: &str) -> Result<Option<CertificateDef>> {
        Ok(self.certificates()?.into_iter().find(|c| fold(&c.name) == fold(name)))
    }

    /// A password of a linked server or a credential's secret as it is kept: sealed with the service master key.
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

    /// Takes a certificate out of master whatever hangs on it, as one that was lost.
    ///
    /// # Errors
    /// Those of writing master.
    pub fn drop_certificate(&self, id: i32) -> Result<()> {
        let key = CatalogKey { class: object_class::CERTIFICATE, id };
        self.master().change_now(CatalogOp::Remove(key))
    }

    /// Private keys of an instance that kept them as they are.
    pub(super) fn seal_private_keys(&self) -> Result<()> {
        let master = self.master();
        for certificate in master.picture().certificates() {
            let Some(key) = &certificate.key else { continue };
            let sealed_key = Some(self.seal_with_service_key(key)?);
            let sealed = CertificateDef { key: None, sealed_key, ..(**certificate).clone() };
            master.put_now(CatalogObject::Certificate(Arc::new(sealed)))?;
        }
        Ok(())
    }

    /// Certificates of master have changed: what waited for one goes on, and the endpoint knows whom it trusts.
    pub fn certificates_changed(&self) {
        self.unlock_databases();
        let told = self.endpoint_spec().and_then(|spec| {
            let (Some(hadr), Some(spec)) = (self.hadr(), spec) else { return Ok(()) };
            let caller = Caller { login: String::new(), external_cluster: false };
            hadr.execute(&caller, HadrCommand::SetEndpoint(Box::new(spec)))
        });
        if let Err(e) = told {
            self.options.log.write(&format!("The endpoint was not told of its certificates. {e}"));
        }
    }
}
