//! Logins and users of certificates and asymmetric keys.
//!
//! Nobody comes as one, and nobody becomes one. What was granted to them is what modules may that the certificate or key has signed
//! (`signature`). Certificate and principal belong together by a security identifier that is made of the certificate: a copy of it in
//! another database has the same users and the same login.

use super::{ASYMMETRIC_KEY, CERTIFICATE, errors};
use crate::catalog::SecurableRef;
use crate::engine::{DatabaseEntry, thumbprint};
use crate::run::Runner;
use keel_types::error::Result;
use std::sync::Arc;

/// How security identifiers of those begin: revision, how many numbers, authority.
const HEAD: [u8; 8] = [1, 6, 0, 0, 0, 0, 0, 9];

/// What a login or user is mapped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapped {
    /// A certificate.
    Certificate,
    /// An asymmetric key.
    AsymmetricKey,
}

impl Mapped {
    /// What whoever has this security identifier is mapped to.
    #[must_use]
    pub fn of(sid: &[u8]) -> Option<Mapped> {
        match sid.strip_prefix(&HEAD)?.first()? {
            1 => Some(Mapped::Certificate),
            2 => Some(Mapped::AsymmetricKey),
            _ => None,
        }
    }

    /// What functions call `certificate` or `asymmetric key`.
    pub(crate) fn named(kind: &str) -> Option<Mapped> {
        let all = [Mapped::Certificate, Mapped::AsymmetricKey];
        all.into_iter().find(|mapped| kind.trim().eq_ignore_ascii_case(mapped.kind()))
    }

    /// The security identifier of whoever is mapped to what has this SHA-1: a certificate's, or a public key's.
    pub(crate) fn sid(self, digest: &[u8]) -> Vec<u8> {
        [&HEAD[..], &self.number().to_le_bytes(), digest].concat()
    }

    /// The same as text.
    pub(crate) fn string_sid(self, digest: &[u8]) -> String {
        let parts = digest.chunks_exact(4).filter_map(|part| part.first_chunk::<4>());
        let head = format!("S-1-9-{}", self.number());
        parts.fold(head, |text, part| format!("{text}-{}", u32::from_le_bytes(*part)))
    }

    fn number(self) -> u32 {
        match self {
            Mapped::Certificate => 1,
            Mapped::AsymmetricKey => 2,
        }
    }

    /// As messages call it.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Mapped::Certificate => CERTIFICATE,
            Mapped::AsymmetricKey => ASYMMETRIC_KEY,
        }
    }
}

impl Runner<'_> {
    /// The security identifier of a principal that a certificate or key of a database is to have.
    ///
    /// # Errors
    /// 15151 when there is none of that name that the session sees.
    pub(crate) fn sid_of_mapped(
        &self,
        entry: &Arc<DatabaseEntry>,
        to: Mapped,
        name: &str,
    ) -> Result<Vec<u8>> {
        let picture = self.info.picture(entry);
        let found = match to {
            Mapped::Certificate => picture
                .certificate_named(name)
                .map(|c| (SecurableRef::Certificate(c.id), thumbprint(&c.certificate))),
            Mapped::AsymmetricKey => picture
                .asymmetric_key_named(name)
                .map(|k| (SecurableRef::AsymmetricKey(k.id), thumbprint(&k.public))),
        };
        let found = found.filter(|(on, _)| self.info.sees_key(entry, *on));
        let (_, digest) = found.ok_or_else(|| errors::not_found("find", to.kind(), name))?;
        Ok(to.sid(&digest))
    }

    /// Error 15352 for a certificate or key that a user is mapped to, or, in master, a login.
    pub(super) fn refuse_mapped(
        &self,
        entry: &Arc<DatabaseEntry>,
        to: Mapped,
        of: &[u8],
        verb: &str,
    ) -> Result<()> {
        let sid = to.sid(&thumbprint(of));
        let picture = self.info.picture(entry);
        let user = picture.stored_principals().any(|p| p.sid.as_deref() == Some(&sid));
        let login = self.info.master()?.id == entry.id && self.info.logins()?.of_sid(&sid).is_some();
        if user || login { Err(errors::in_use(to.kind(), verb)) } else { Ok(()) }
    }
}
