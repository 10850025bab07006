//! Always Encrypted: columns whose values the server never sees.
//!
//! ```text
//! column master key ─► column encryption key ─► values of columns
//!   (clients' stores)     (catalog, encrypted)    (rows, encrypted)
//! ```
//!
//! Clients encrypt what they send and decrypt what they are given. The server keeps which key and which way a column has, in its type
//! ([`keel_types::ty::encrypted`]), and tells clients:
//!
//! 1. `sp_describe_parameter_encryption` (`describe`): which parameters of a text must be encrypted, and with which keys;
//! 2. parameters come as ciphertexts, each with its key's number and the type of its plaintext;
//! 3. results have the keys of their columns in front, and each encrypted column says its own.
//!
//! Variables and parameters of procedures are declared with the types of plaintexts. Which of them hold ciphertexts follows from where
//! they stand (`deduce`), for whole texts at once; a text that puts a plaintext where a ciphertext must be is refused (206, 402, 33299).
//!
//! | module | owns |
//! | --- | --- |
//! | [`definition`] | what is stored |
//! | `statements` | the keys' statements |
//! | `column` | ENCRYPTED WITH |
//! | `deduce` | which variables are encrypted |
//! | `describe` | `sp_describe_parameter_encryption` |
//! | [`errors`] | the product's numbers and texts |
//!
//! Deliberately absent: enclaves.

pub(crate) mod column;
pub(crate) mod deduce;
pub mod definition;
pub(crate) mod describe;
pub mod errors;
mod statements;

pub use definition::{
    ColumnEncryptionKeyDef, ColumnKeyValueDef, ColumnMasterKeyDef, VALUE_ALGORITHM, VALUES_MAX,
};

pub(crate) const COLUMN_MASTER_KEY: &str = "column master key";
pub(crate) const COLUMN_ENCRYPTION_KEY: &str = "column encryption key";
