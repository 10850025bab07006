//! What a database keeps of its keys: rows of its catalog, with every secret sealed.

use keel_parser::ast::CredentialOptions;
use keel_types::cell::Cipher;
use serde::{Deserialize, Serialize};

/// `symmetric_key_id` of a database's master key.
pub const MASTER_KEY_ID: i32 = 101;
/// What the catalog calls a database's master key.
pub const MASTER_KEY_NAME: &str = "##MS_DatabaseMasterKey##";
/// The first id of a key or certificate that somebody made.
pub const FIRST_KEY: i32 = 256;

/// The master key of a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MasterKeyDef {
    /// Always 1: there is one in a database.
    pub id: i32,
    /// The key, sealed with the service master key of the instance that made it; `None` after DROP ENCRYPTION BY SERVICE MASTER KEY, and
    /// of one from before there were keys.
    #[serde(default)]
    pub sealed: Option<Vec<u8>>,
    /// The key, sealed with the service master keys of other instances.
    #[serde(default)]
    pub sealed_elsewhere: Vec<Vec<u8>>,
    /// The key, sealed with its password.
    #[serde(default)]
    pub by_password: Option<Vec<u8>>,
    /// The key, sealed with further passwords.
    #[serde(default)]
    pub by_more_passwords: Vec<Vec<u8>>,
    /// `key_guid`: another one with every regeneration.
    #[serde(default)]
    pub guid: [u8; 16],
    /// Create date, local ticks.
    #[serde(default)]
    pub created: i64,
    /// Last change, local ticks.
    #[serde(default)]
    pub modified: i64,
}

impl MasterKeyDef {
    /// Its forms that service master keys open.
    pub fn by_service_keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.sealed.iter().chain(&self.sealed_elsewhere)
    }

    /// Its forms that passwords open.
    pub fn by_passwords(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.by_password.iter().chain(&self.by_more_passwords)
    }
}

/// How a private key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// It is not here.
    Absent,
    /// By the database's master key.
    MasterKey,
    /// By a password of its own.
    Password,
}

impl Protection {
    /// `pvt_key_encryption_type` and its description.
    #[must_use]
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Protection::Absent => ("NA", "NO_PRIVATE_KEY"),
            Protection::MasterKey => ("MK", "ENCRYPTED_BY_MASTER_KEY"),
            Protection::Password => ("PW", "ENCRYPTED_BY_PASSWORD"),
        }
    }
}

/// A private key as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PrivateKey {
    /// Sealed with the database's master key; of a certificate of old times, with the service master key.
    pub by_master_key: Option<Vec<u8>>,
    /// Sealed with a password of its own.
    pub by_password: Option<Vec<u8>>,
}

impl PrivateKey {
    /// How it is kept.
    #[must_use]
    pub fn protection(&self) -> Protection {
        match (&self.by_password, &self.by_master_key) {
            (Some(_), _) => Protection::Password,
            (None, Some(_)) => Protection::MasterKey,
            (None, None) => Protection::Absent,
        }
    }
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CertificateDef {
    /// `certificate_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// AUTHORIZATION as it was kept before principals were numbered: a user of master; empty for dbo.
    pub owner: String,
    /// `principal_id` of the owner; 0 where `owner` says it.
    #[serde(default)]
    pub principal: i32,
    /// DER.
    pub certificate: Vec<u8>,
    /// PKCS#8 DER, when the private key is here and opens: of one in use, and of old ones that were not sealed.
    pub key: Option<Vec<u8>>,
    /// As it is stored, sealed with the master key or the service master key; never in one that is in use.
    #[serde(default)]
    pub sealed_key: Option<Vec<u8>>,
    /// As it is stored, sealed with a password of its own.
    #[serde(default)]
    pub by_password: Option<Vec<u8>>,
    /// It was made with a password of its own when those were not kept; the key is sealed with the service master key.
    #[serde(default)]
    pub own_password: bool,
    /// When the key was last written to a file, local ticks; 0 for never.
    #[serde(default)]
    pub key_backed_up: i64,
    /// ACTIVE FOR BEGIN_DIALOG is off.
    #[serde(default)]
    pub inactive: bool,
}

impl CertificateDef {
    /// Its private key as it is stored.
    #[must_use]
    pub fn private(&self) -> PrivateKey {
        PrivateKey { by_master_key: self.sealed_key.clone(), by_password: self.by_password.clone() }
    }
}

/// An asymmetric key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AsymmetricKeyDef {
    /// `asymmetric_key_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// `principal_id` of the owner.
    pub principal: i32,
    /// SubjectPublicKeyInfo, DER.
    pub public: Vec<u8>,
    /// Its other half.
    pub private: PrivateKey,
}

/// A symmetric key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SymmetricKeyDef {
    /// `symmetric_key_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// `principal_id` of the owner.
    pub principal: i32,
    /// `key_guid`, by which encrypted values say what they are encrypted with.
    pub guid: [u8; 16],
    /// ALGORITHM.
    pub cipher: Cipher,
    /// The key, once for everything that opens it.
    pub sealed: Vec<SealedKey>,
    /// Create date, local ticks.
    pub created: i64,
    /// Last change, local ticks.
    pub modified: i64,
}

/// A credential, of the instance or of a database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CredentialDef {
    /// `credential_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// `principal_id` of the owner; 0 for one of the instance.
    pub principal: i32,
    /// IDENTITY
    pub identity: String,
    /// SECRET, sealed with the service master key, or the database's.
    pub sealed: Option<Vec<u8>>,
    /// Create date, local ticks.
    pub created: i64,
    /// Last change, local ticks.
    pub modified: i64,
}

impl CredentialDef {
    /// A new one, to be told the rest.
    pub(super) fn new(id: i32, name: &str) -> CredentialDef {
        let (name, identity) = (name.to_owned(), String::new());
        CredentialDef { id, name, principal: 0, identity, sealed: None, created: 0, modified: 0 }
    }

    /// As a statement makes it at a time: a secret that is not said is gone.
    pub(super) fn with(self, options: &CredentialOptions, sealed: Option<Vec<u8>>, now: i64) -> Self {
        let created = if self.created == 0 { now } else { self.created };
        CredentialDef { identity: options.identity.to_string(), sealed, created, modified: now, ..self }
    }
}

/// A symmetric key sealed with something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SealedKey {
    /// With what.
    pub by: SealedBy,
    /// The key.
    pub key: Vec<u8>,
}

/// What a symmetric key is sealed with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SealedBy {
    /// A password.
    Password,
    /// The certificate with this thumbprint.
    Certificate(Vec<u8>),
    /// The asymmetric key with this thumbprint.
    AsymmetricKey(Vec<u8>),
    /// The symmetric key with this guid.
    SymmetricKey([u8; 16]),
}

/// `thumbprint` of an asymmetric key: eight bytes of the SHA-1 of the public one.
#[must_use]
pub fn key_thumbprint(public: &[u8]) -> Vec<u8> {
    let digest = crate::engine::thumbprint(public);
    digest.into_iter().rev().take(8).collect()
}
