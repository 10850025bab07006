//! `WITH ENCRYPTION (ALGORITHM = …, SERVER CERTIFICATE = …)`, and the way back.
//!
//! The set's key lies in its label, sealed with the certificate's private key: whoever restores needs the certificate with that key in
//! their own master, and finds it by its thumbprint.

use super::errors;
use super::media::Labelled;
use super::options::Options;
use crate::engine::DatabaseEntry;
use crate::hadr::errors as hadr_errors;
use crate::run::Runner;
use keel_node::EncryptionState;
use keel_node::backup::{Cipher, SetKey};
use keel_parser::ast::{Opt, OptValue};
use keel_types::error::Result;
use serde::{Deserialize, Serialize};

/// What is asked for.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// As the statement names it.
    algorithm: String,
    certificate: String,
}

/// What a label says of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Encryption {
    /// As the statement named it.
    pub algorithm: String,
    /// The certificate's.
    pub thumbprint: Vec<u8>,
    /// The set's key, sealed.
    key: Vec<u8>,
    /// Nobody has asked for it: the database is encrypted, and with what its own key is sealed with.
    #[serde(default)]
    pub by_database: bool,
}

/// A thumbprint as messages show it.
fn shown(thumbprint: &[u8]) -> String {
    thumbprint.iter().fold(String::from("0x"), |hex, b| hex + &format!("{b:02X}"))
}

/// The product's names. GCM takes keys of two lengths: the longer one where the product has one of 192 bits.
fn cipher_of(algorithm: &str) -> Option<Cipher> {
    match algorithm {
        "AES_128" => Some(Cipher::Aes128),
        "AES_192" | "AES_256" => Some(Cipher::Aes256),
        _ => None,
    }
}

impl Wanted {
    /// Of `( ALGORITHM = …, SERVER CERTIFICATE = … )`.
    pub(super) fn of(value: &OptValue) -> Result<Wanted> {
        let OptValue::List(options) = value else { return Err(errors::no_option("ENCRYPTION", "BACKUP")) };
        let named = |name: &str| options.iter().find(|option: &&Opt| option.name == name)?.value.text();
        if options.iter().any(|option| option.name == "SERVER ASYMMETRIC") {
            return Err(crate::errors::not_supported("BACKUP WITH ENCRYPTION (SERVER ASYMMETRIC KEY = …)"));
        }
        let (Some(algorithm), Some(certificate)) = (named("ALGORITHM"), named("SERVER CERTIFICATE")) else {
            return Err(errors::no_option("ENCRYPTION", "BACKUP"));
        };
        let algorithm = algorithm.to_ascii_uppercase();
        if cipher_of(&algorithm).is_none() {
            let what = format!("BACKUP WITH ENCRYPTION (ALGORITHM = {algorithm})");
            return Err(crate::errors::not_supported(what));
        }
        Ok(Wanted { algorithm, certificate: certificate.to_owned() })
    }
}

impl Runner<'_> {
    /// A key for a set, and what its label says of it.
    pub(super) fn new_set_key(
        &self,
        entry: &DatabaseEntry,
        options: &Options,
    ) -> Result<Option<(SetKey, Encryption)>> {
        let Some(wanted) = &options.encryption else { return self.set_key_of_database(entry) };
        let (engine, name) = (&self.info.engine, wanted.certificate.as_str());
        let certificate = engine.certificate(name)?.ok_or_else(|| hadr_errors::no_certificate(name))?;
        let Some(secret) = &certificate.key else { return Err(errors::no_private_key(name)) };
        let random = &*engine.options().env.random;
        let cipher = cipher_of(&wanted.algorithm).ok_or_else(|| errors::no_option("ALGORITHM", "BACKUP"))?;
        let key = SetKey::new(cipher, random);
        let (algorithm, wrapped) = (wanted.algorithm.clone(), key.wrap(secret, random));
        let thumbprint = crate::engine::thumbprint(&certificate.certificate);
        Ok(Some((key, Encryption { algorithm, thumbprint, key: wrapped, by_database: false })))
    }

    /// What is in the files of an encrypted database is in no backup as it is: the set is encrypted for the same certificate.
    fn set_key_of_database(&self, entry: &DatabaseEntry) -> Result<Option<(SetKey, Encryption)>> {
        let encryption = entry.store.encryption().filter(|e| e.state != EncryptionState::Unencrypted);
        let Some(sealed) = encryption.and_then(|e| e.ring.key().cloned()) else { return Ok(None) };
        let engine = &self.info.engine;
        let certificate = engine.certificate_of(&sealed.thumbprint)?;
        let certificate = certificate.ok_or_else(|| errors::no_certificate_of(shown(&sealed.thumbprint)))?;
        let secret = certificate.key.ok_or_else(|| errors::no_private_key(&certificate.name))?;
        let algorithm = format!("AES_{}", 8 * sealed.algorithm.key_bytes());
        let random = &*engine.options().env.random;
        let cipher = cipher_of(&algorithm).ok_or_else(|| errors::no_option("ALGORITHM", "BACKUP"))?;
        let key = SetKey::new(cipher, random);
        let wrapped = key.wrap(&secret, random);
        let thumbprint = sealed.thumbprint;
        Ok(Some((key, Encryption { algorithm, thumbprint, key: wrapped, by_database: true })))
    }

    /// Gives an encrypted set its key, so that it can be read.
    ///
    /// # Errors
    /// 33111 without the certificate, 33101 without its private key, 3189 when the two do not fit.
    pub(super) fn unlock(&self, found: &mut Labelled) -> Result<()> {
        let Some(encryption) = &found.label.encryption else { return Ok(()) };
        let engine = &self.info.engine;
        let is_it = |der: &[u8]| crate::engine::thumbprint(der) == encryption.thumbprint;
        let certificate = engine.certificates()?.into_iter().find(|c| is_it(&c.certificate));
        let certificate =
            certificate.ok_or_else(|| errors::no_certificate_of(shown(&encryption.thumbprint)))?;
        let secret = certificate.key.ok_or_else(|| errors::no_private_key(&certificate.name))?;
        let cipher = cipher_of(&encryption.algorithm);
        let key = cipher.and_then(|cipher| SetKey::unwrap(cipher, &encryption.key, &secret));
        found.set.key = Some(key.ok_or_else(|| errors::damaged("the key of the backup does not open"))?);
        Ok(())
    }
}
