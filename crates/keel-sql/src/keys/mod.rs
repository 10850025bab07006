//! Keys and certificates of a database, and what is encrypted and signed with them; credentials.
//!
//! ```text
//! service master key ─► master key ─► private keys ─► symmetric keys ─► cells
//!   (service.keel)        ▲ passwords    ▲ passwords      ▲ passwords, other symmetric keys
//! ```
//!
//! Every arrow is a sealed copy: a key is stored once for everything that opens it, and never as it is. All of them are rows of the
//! database's catalog ([`definition`]): made in the session's transaction, in the log, on every copy and in every backup. What another
//! instance cannot open is the master key alone: it is sealed for the service master keys of those instances that were told to.
//!
//! What a session has opened (`open::OpenKeys`) is in its memory until it is closed or the session ends, whatever the transaction
//! becomes and whoever the session impersonates.
//!
//! | module | owns |
//! | --- | --- |
//! | [`definition`] | what is stored |
//! | [`rsa`] | asymmetric encryption, signatures, certificates |
//! | `open` | what a session has open, and how a key is opened |
//! | `permission` | who sees and may do what |
//! | `master`, `certificate`, `asymmetric`, `symmetric`, `credential` | the statements |
//! | `principal` | logins and users of certificates and keys |
//! | `signature` | signed modules |
//! | `files` | files of certificates and keys |
//! | `functions` | the functions |
//! | [`errors`] | the product's numbers and texts |
//!
//! Values are [`keel_types::cell`]s. Deliberately absent: key managers (`PROVIDER`), temporary symmetric keys.

mod asymmetric;
mod certificate;
pub(crate) mod credential;
pub mod definition;
pub mod errors;
mod files;
pub(crate) mod functions;
mod master;
mod open;
mod permission;
pub(crate) mod principal;
pub mod rsa;
pub(crate) mod signature;
mod symmetric;

pub use definition::{
    AsymmetricKeyDef, CertificateDef, CredentialDef, MASTER_KEY_ID, MASTER_KEY_NAME, MasterKeyDef,
    PrivateKey, Protection, SealedBy, SealedKey, SymmetricKeyDef, key_thumbprint,
};
pub(crate) use open::{OpenKey, OpenKeys};
pub(crate) use permission::{securable, shown};

use crate::catalog::{DBO_USER, PrincipalDef, SecurableRef};
use crate::engine::DatabaseEntry;
use crate::run::Runner;
use keel_parser::ast::{self, DropClass, KeyStatement};
use keel_types::SqlError;
use keel_types::error::Result;
use std::sync::Arc;

const CERTIFICATE: &str = "certificate";
const ASYMMETRIC_KEY: &str = "asymmetric key";
const SYMMETRIC_KEY: &str = "symmetric key";
const MASTER_KEY: &str = "master key";

// What messages say that something in use cannot be.
const DROPPED: &str = "dropped";
const STRIPPED: &str = "left without its private key";
const LOCKED: &str = "given a password of its own";

/// Whether a statement changes no database: what it opens, closes and writes is the session's, or a file.
pub(crate) fn changes_nothing(s: &KeyStatement) -> bool {
    use ast::MasterKey as M;
    matches!(
        s,
        KeyStatement::MasterKey(M::Open { .. } | M::Close | M::Backup { .. })
            | KeyStatement::OpenSymmetricKey { .. }
            | KeyStatement::CloseSymmetricKey(_)
            | KeyStatement::CloseAllSymmetricKeys
    )
}

/// Whether a statement takes the catalog's lock by itself: making an RSA key, or a key of a password, takes long, and nobody has to wait
/// for that.
pub(crate) fn locks_by_itself(s: &KeyStatement) -> bool {
    matches!(
        s,
        KeyStatement::CreateCertificate(_)
            | KeyStatement::CreateAsymmetricKey(_)
            | KeyStatement::CreateSymmetricKey(_)
    )
}

/// Whether DROP is of a key or certificate.
pub(crate) fn drops(class: &DropClass) -> bool {
    matches!(
        class,
        DropClass::Certificate
            | DropClass::MasterKey
            | DropClass::AsymmetricKey
            | DropClass::SymmetricKey
            | DropClass::ColumnMasterKey
            | DropClass::ColumnEncryptionKey
    )
}

impl Runner<'_> {
    /// A statement about keys.
    pub(crate) fn key_statement(&mut self, s: &KeyStatement) -> Result<()> {
        let entry = self.info.current_database();
        if !changes_nothing(s) {
            refuse_read_only(&entry)?;
        }
        match s {
            KeyStatement::MasterKey(key) => self.master_key(&entry, key),
            KeyStatement::CreateCertificate(c) => self.create_certificate(&entry, c),
            KeyStatement::AlterCertificate { name, change } => {
                self.alter_certificate(&entry, &name.text, change)
            }
            KeyStatement::BackupCertificate(b) => self.backup_certificate(&entry, b),
            KeyStatement::CreateAsymmetricKey(c) => self.create_asymmetric_key(&entry, c),
            KeyStatement::AlterAsymmetricKey { name, change } => {
                self.alter_asymmetric_key(&entry, &name.text, change)
            }
            KeyStatement::CreateSymmetricKey(c) => self.create_symmetric_key(&entry, c),
            KeyStatement::AlterSymmetricKey { name, add, by } => {
                self.alter_symmetric_key(&entry, &name.text, *add, by)
            }
            KeyStatement::OpenSymmetricKey { name, by } => self.open_symmetric_key(&entry, &name.text, by),
            KeyStatement::CloseSymmetricKey(name) => self.close_symmetric_key(&entry, &name.text),
            KeyStatement::CreateColumnMasterKey { name, options } => {
                self.create_column_master_key(&entry, name, options)
            }
            KeyStatement::CreateColumnEncryptionKey { name, values } => {
                self.create_column_encryption_key(&entry, name, values)
            }
            KeyStatement::AlterColumnEncryptionKey { name, add, value } => {
                self.alter_column_encryption_key(&entry, name, *add, value)
            }
            KeyStatement::Signature(s) => self.sign_module(&entry, s),
            KeyStatement::CloseAllSymmetricKeys => {
                self.info.open_keys.borrow_mut().close_all();
                Ok(())
            }
        }
    }

    /// DROP of keys and certificates.
    pub(crate) fn drop_keys(&mut self, d: &ast::Drop) -> Result<()> {
        let entry = self.info.current_database();
        refuse_read_only(&entry)?;
        if d.class == DropClass::MasterKey {
            return self.drop_master_key(&entry);
        }
        for name in &d.names {
            let name = name.name.text.as_str();
            match d.class {
                DropClass::Certificate => self.drop_certificate(&entry, name, d.if_exists)?,
                DropClass::AsymmetricKey => self.drop_asymmetric_key(&entry, name, d.if_exists)?,
                DropClass::ColumnMasterKey => self.drop_column_master_key(&entry, name)?,
                DropClass::ColumnEncryptionKey => self.drop_column_encryption_key(&entry, name)?,
                _ => self.drop_symmetric_key(&entry, name, d.if_exists)?,
            }
        }
        Ok(())
    }

    /// `principal_id` of whom a new key belongs to: AUTHORIZATION, or the caller.
    fn key_owner(&self, entry: &Arc<DatabaseEntry>, named: Option<&ast::Ident>) -> Result<i32> {
        let Some(named) = named else {
            return Ok(self.info.token_in(entry).map_or(DBO_USER, |t| t.user));
        };
        let found = self.info.picture(entry).principal_named(&named.text);
        let found = found.filter(|p| self.may_give_to(entry, p));
        found
            .map(|p| p.principal_id)
            .ok_or_else(|| crate::errors::cannot_alter_principal("find", "user", named))
    }

    /// Whether the caller may make somebody an owner: himself, a role that he is in, whom he may run as, a role that he may alter. What
    /// dbo owns is trusted ([`crate::Engine::endpoint_spec`]): only who controls the database gives to him.
    fn may_give_to(&self, entry: &Arc<DatabaseEntry>, to: &PrincipalDef) -> bool {
        let id = to.principal_id;
        let permission = if to.is_user() { "IMPERSONATE" } else { "ALTER" };
        self.info.token_in(entry).is_some_and(|token| token.is(id))
            || match id {
                DBO_USER => self.info.may(entry, "CONTROL", SecurableRef::Database),
                _ => self.info.may(entry, permission, SecurableRef::Principal(id)),
            }
    }
}

/// Error 3906 on what takes no changes.
fn refuse_read_only(entry: &DatabaseEntry) -> Result<()> {
    if entry.is_read_only() { Err(crate::errors::database_read_only(entry.name())) } else { Ok(()) }
}

/// The number of a new one: behind the highest of its kind.
fn next_id(used: impl Iterator<Item = i32>) -> i32 {
    used.max().map_or(definition::FIRST_KEY, |n| n + 1)
}

/// What the product does not say of a statement that is not taken here.
fn refused(what: &str) -> Box<SqlError> {
    crate::errors::not_supported(what)
}
