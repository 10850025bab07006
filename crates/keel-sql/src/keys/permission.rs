//! Who sees a key, and who may do what with it.
//!
//! ALTER ANY CERTIFICATE on the database stands for ALTER on each of them, and so do the other two. A key is seen by who has any permission on it
//! and is not denied VIEW DEFINITION: to everybody else it is not there.

use crate::catalog::{KEY_PERMISSIONS, Picture, SecurableRef, Verdict};
use crate::engine::DatabaseEntry;
use crate::errors;
use crate::run::Runner;
use crate::session::info::Info;
use keel_parser::ast;
use keel_types::error::Result;
use std::sync::Arc;

/// What a class of securables (`CERTIFICATE`, `ASYMMETRIC KEY`, `SYMMETRIC KEY`) and a name mean.
pub(crate) fn securable(picture: &Picture, class: &str, name: &str) -> Option<SecurableRef> {
    Some(match class {
        "CERTIFICATE" => SecurableRef::Certificate(picture.certificate_named(name)?.id),
        "ASYMMETRIC KEY" => SecurableRef::AsymmetricKey(picture.asymmetric_key_named(name)?.id),
        _ => SecurableRef::SymmetricKey(picture.symmetric_key_named(name)?.id),
    })
}

fn any_of(on: SecurableRef) -> &'static str {
    match on {
        SecurableRef::Certificate(_) => "ALTER ANY CERTIFICATE",
        SecurableRef::AsymmetricKey(_) => "ALTER ANY ASYMMETRIC KEY",
        _ => "ALTER ANY SYMMETRIC KEY",
    }
}

impl Info {
    /// Whether the session has a permission on a key.
    #[must_use]
    pub(crate) fn may_key(&self, entry: &Arc<DatabaseEntry>, permission: &str, on: SecurableRef) -> bool {
        match self.verdict(entry, permission, on) {
            Verdict::Allowed => true,
            Verdict::Denied => false,
            Verdict::NotGranted => {
                matches!(permission, "ALTER" | "VIEW DEFINITION")
                    && self.may(entry, any_of(on), SecurableRef::Database)
            }
        }
    }

    /// Whether the session sees a key.
    #[must_use]
    pub(crate) fn sees_key(&self, entry: &Arc<DatabaseEntry>, on: SecurableRef) -> bool {
        shown(on, |permission, on| self.verdict(entry, permission, on))
    }
}

/// Whether a key is seen by somebody of whom a verdict tells what he may.
pub(crate) fn shown(on: SecurableRef, verdict: impl Fn(&str, SecurableRef) -> Verdict) -> bool {
    let may = |permission, on| verdict(permission, on) == Verdict::Allowed;
    verdict("VIEW DEFINITION", on) != Verdict::Denied
        && (KEY_PERMISSIONS.iter().any(|permission| may(permission, on))
            || may(any_of(on), SecurableRef::Database))
}

impl Runner<'_> {
    /// Error 15247 for who may not do everything in the database.
    pub(super) fn controls_database(&self, entry: &Arc<DatabaseEntry>) -> Result<()> {
        let may = self.info.may(entry, "CONTROL", SecurableRef::Database);
        if may { Ok(()) } else { Err(errors::no_permission("")) }
    }

    /// Error 15247 for who has neither of two permissions on the database.
    pub(super) fn may_make_key(&self, entry: &Arc<DatabaseEntry>, create: &str, alter: &str) -> Result<()> {
        let may = |permission| self.info.may(entry, permission, SecurableRef::Database);
        if may(create) || may(alter) { Ok(()) } else { Err(errors::no_permission("")) }
    }

    /// Error 15151 for who has not a permission on a key.
    pub(super) fn may_key_or(
        &self,
        entry: &Arc<DatabaseEntry>,
        permission: &str,
        on: SecurableRef,
        (verb, kind, name): (&str, &str, &str),
    ) -> Result<()> {
        if self.info.may_key(entry, permission, on) {
            return Ok(());
        }
        Err(super::errors::not_found(verb, kind, name))
    }

    /// ALTER AUTHORIZATION ON a key.
    pub(crate) fn give_key(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        class: &str,
        name: &str,
        to: &ast::Ident,
    ) -> Result<()> {
        let kind = class.to_ascii_lowercase();
        let picture = self.info.picture(entry);
        let missing = || super::errors::not_found("find", &kind, name);
        let on = securable(&picture, class, name).ok_or_else(missing)?;
        self.may_key_or(entry, "TAKE OWNERSHIP", on, ("find", &kind, name))?;
        let principal = self.key_owner(entry, Some(to))?;
        match on {
            SecurableRef::Certificate(id) => {
                let found = picture.certificate(id).ok_or_else(missing)?;
                self.put_certificate(entry, super::CertificateDef { principal, ..(**found).clone() })
            }
            SecurableRef::AsymmetricKey(id) => {
                let found = picture.asymmetric_key(id).ok_or_else(missing)?;
                self.put_asymmetric_key(entry, super::AsymmetricKeyDef { principal, ..(**found).clone() })
            }
            _ => {
                let found = picture.symmetric_key_named(name).ok_or_else(missing)?;
                self.put_symmetric_key(entry, super::SymmetricKeyDef { principal, ..(**found).clone() })
            }
        }
    }
}
