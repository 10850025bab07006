//! The keys, certificates and credentials of a database.

use super::super::object_class as class;
use super::{CatalogKey, Picture, fold};
use crate::catalog::SecurableRef;
use crate::keys::{AsymmetricKeyDef, CertificateDef, CredentialDef, MasterKeyDef, SymmetricKeyDef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// All of them, apart from the rest of the picture: most databases have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    pub master: Option<Arc<MasterKeyDef>>,
    pub certificates: BTreeMap<i32, Arc<CertificateDef>>,
    pub asymmetric: BTreeMap<i32, Arc<AsymmetricKeyDef>>,
    pub symmetric: BTreeMap<i32, Arc<SymmetricKeyDef>>,
    pub credentials: BTreeMap<i32, Arc<CredentialDef>>,
}

impl Picture {
    pub(super) fn remove_key(&mut self, key: CatalogKey) {
        let keys = &*self.keys;
        let there = match key.class {
            class::MASTER_KEY => keys.master.is_some(),
            class::CERTIFICATE => keys.certificates.contains_key(&key.id),
            class::ASYMMETRIC_KEY => keys.asymmetric.contains_key(&key.id),
            class::SCOPED_CREDENTIAL => keys.credentials.contains_key(&key.id),
            _ => keys.symmetric.contains_key(&key.id),
        };
        if !there {
            return;
        }
        let keys = Arc::make_mut(&mut self.keys);
        match key.class {
            class::MASTER_KEY => keys.master = None,
            class::CERTIFICATE => drop(keys.certificates.remove(&key.id)),
            class::ASYMMETRIC_KEY => drop(keys.asymmetric.remove(&key.id)),
            class::SCOPED_CREDENTIAL => drop(keys.credentials.remove(&key.id)),
            _ => drop(keys.symmetric.remove(&key.id)),
        }
    }

    /// Leaves those that somebody sees, and credentials to who controls the database.
    pub(super) fn see_keys(&mut self, controls: bool, sees: impl Fn(SecurableRef) -> bool) {
        let keys = &*self.keys;
        let none = keys.certificates.is_empty() && keys.asymmetric.is_empty() && keys.symmetric.is_empty();
        if none && (controls || keys.credentials.is_empty()) {
            return;
        }
        let keys = Arc::make_mut(&mut self.keys);
        keys.credentials.retain(|_, _| controls);
        keys.certificates.retain(|id, _| sees(SecurableRef::Certificate(*id)));
        keys.asymmetric.retain(|id, _| sees(SecurableRef::AsymmetricKey(*id)));
        keys.symmetric.retain(|id, _| sees(SecurableRef::SymmetricKey(*id)));
    }

    /// The master key.
    #[must_use]
    pub fn master_key(&self) -> Option<&Arc<MasterKeyDef>> {
        self.keys.master.as_ref()
    }

    /// The certificates by id.
    pub fn certificates(&self) -> impl Iterator<Item = &Arc<CertificateDef>> {
        self.keys.certificates.values()
    }

    /// A certificate by id.
    #[must_use]
    pub fn certificate(&self, id: i32) -> Option<&Arc<CertificateDef>> {
        self.keys.certificates.get(&id)
    }

    /// A certificate by name.
    #[must_use]
    pub fn certificate_named(&self, name: &str) -> Option<&Arc<CertificateDef>> {
        self.certificates().find(|c| fold(&c.name) == fold(name))
    }

    /// The asymmetric keys by id.
    pub fn asymmetric_keys(&self) -> impl Iterator<Item = &Arc<AsymmetricKeyDef>> {
        self.keys.asymmetric.values()
    }

    /// An asymmetric key by id.
    #[must_use]
    pub fn asymmetric_key(&self, id: i32) -> Option<&Arc<AsymmetricKeyDef>> {
        self.keys.asymmetric.get(&id)
    }

    /// An asymmetric key by name.
    #[must_use]
    pub fn asymmetric_key_named(&self, name: &str) -> Option<&Arc<AsymmetricKeyDef>> {
        self.asymmetric_keys().find(|k| fold(&k.name) == fold(name))
    }

    /// The symmetric keys by id, without the master key.
    pub fn symmetric_keys(&self) -> impl Iterator<Item = &Arc<SymmetricKeyDef>> {
        self.keys.symmetric.values()
    }

    /// A symmetric key by name.
    #[must_use]
    pub fn symmetric_key_named(&self, name: &str) -> Option<&Arc<SymmetricKeyDef>> {
        self.symmetric_keys().find(|k| fold(&k.name) == fold(name))
    }

    /// A symmetric key by guid.
    #[must_use]
    pub fn symmetric_key_of(&self, guid: &[u8; 16]) -> Option<&Arc<SymmetricKeyDef>> {
        self.symmetric_keys().find(|k| k.guid == *guid)
    }

    /// The credentials by id.
    pub fn credentials(&self) -> impl Iterator<Item = &Arc<CredentialDef>> {
        self.keys.credentials.values()
    }

    /// A credential by name.
    #[must_use]
    pub fn credential_named(&self, name: &str) -> Option<&Arc<CredentialDef>> {
        self.credentials().find(|c| fold(&c.name) == fold(name))
    }

    /// `principal_id` of a certificate's owner.
    #[must_use]
    pub fn certificate_owner(&self, certificate: &CertificateDef) -> i32 {
        if certificate.principal != 0 {
            return certificate.principal;
        }
        let named = self.principal_named(&certificate.owner).filter(|_| !certificate.owner.is_empty());
        named.map_or(crate::catalog::DBO_USER, |p| p.principal_id)
    }

    /// `principal_id` of the owner of a key or certificate.
    #[must_use]
    pub fn key_owner(&self, on: SecurableRef) -> Option<i32> {
        match on {
            SecurableRef::Certificate(id) => self.certificate(id).map(|c| self.certificate_owner(c)),
            SecurableRef::AsymmetricKey(id) => self.asymmetric_key(id).map(|k| k.principal),
            SecurableRef::SymmetricKey(id) => self.keys.symmetric.get(&id).map(|k| k.principal),
            _ => None,
        }
    }

    /// What kind of key a user owns, if any.
    #[must_use]
    pub fn owned_key(&self, principal: i32) -> Option<&'static str> {
        let certificate = self.certificates().any(|c| self.certificate_owner(c) == principal);
        let asymmetric = || self.asymmetric_keys().any(|k| k.principal == principal);
        let symmetric = || self.symmetric_keys().any(|k| k.principal == principal);
        match certificate {
            true => Some("certificate"),
            false if asymmetric() => Some("asymmetric key"),
            false => symmetric().then_some("symmetric key"),
        }
    }
}
