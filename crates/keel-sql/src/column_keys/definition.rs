//! What a database keeps of the keys of its encrypted columns: rows of its catalog. None of it is secret: the keys in it are encrypted
//! with master keys that only clients have.

use serde::{Deserialize, Serialize};

/// `ALGORITHM` of a value.
pub const VALUE_ALGORITHM: &str = "RSA_OAEP";
/// Values of one key: the one in use, and another while the master key is changed.
pub const VALUES_MAX: usize = 2;

/// CREATE COLUMN MASTER KEY: where clients find the key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnMasterKeyDef {
    /// `column_master_key_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// KEY_STORE_PROVIDER_NAME
    pub provider: String,
    /// KEY_PATH
    pub path: String,
    /// Create date, local ticks.
    pub created: i64,
}

/// CREATE COLUMN ENCRYPTION KEY.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnEncryptionKeyDef {
    /// `column_encryption_key_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// The key, once for every master key that opens it.
    pub values: Vec<ColumnKeyValueDef>,
    /// Create date, local ticks.
    pub created: i64,
    /// Last change, local ticks.
    pub modified: i64,
}

/// A column encryption key, encrypted with a master key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnKeyValueDef {
    /// `column_master_key_id`
    pub master: i32,
    /// ALGORITHM
    pub algorithm: String,
    /// ENCRYPTED_VALUE
    pub encrypted: Vec<u8>,
}
