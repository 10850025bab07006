//! What master keeps for availability groups: endpoints, certificates, the master key.

use super::config::{EndpointAddress, EndpointRole, EndpointSpec, EndpointState};
use crate::catalog::{PermissionState, SecurableRef, fold, object_class};
use crate::engine::{Engine, MASTER};
use keel_types::error::Result;
use serde::{Deserialize, Serialize};

/// `endpoint_id` of the first endpoint made by statement; the ones before are the system's.
pub const FIRST_ENDPOINT: i32 = 65_536;

/// An endpoint FOR DATABASE_MIRRORING.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredEndpoint {
    /// `endpoint_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// `principal_id` of the owner.
    pub owner: i32,
    /// STATE.
    pub state: EndpointState,
    /// LISTENER_PORT.
    pub port: u16,
    /// LISTENER_IP.
    pub address: EndpointAddress,
    /// AUTHENTICATION: methods in the order tried.
    pub authentication: Vec<Method>,
    /// ENCRYPTION = SUPPORTED; otherwise REQUIRED.
    pub encryption_supported: bool,
    /// ALGORITHM as written, AES or RC4; shown, while TLS 1.3 chooses its own.
    pub algorithms: Vec<String>,
    /// ROLE.
    pub role: EndpointRole,
}

/// An authentication method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// WINDOWS, with NTLM, KERBEROS or NEGOTIATE.
    Windows(String),
    /// CERTIFICATE, by name.
    Certificate(String),
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredCertificate {
    /// `certificate_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// AUTHORIZATION: a user of master; empty for dbo.
    pub owner: String,
    /// DER.
    pub certificate: Vec<u8>,
    /// PKCS#8 DER, when the private key is here and opens.
    pub key: Option<Vec<u8>>,
    /// As it is stored, sealed with the master key or the service master key; never in one that is in use.
    #[serde(default)]
    pub sealed_key: Option<Vec<u8>>,
    /// The key came with a password of its own, not the master key's.
    pub own_password: bool,
    /// When the key was last written to a file, local ticks; 0 for never.
    #[serde(default)]
    pub key_backed_up: i64,
}

/// CREATE MASTER KEY: that there is one, and what its password is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredMasterKey {
    /// Always 1: one per database, and only master has one.
    pub id: i32,
    /// Hash of its password.
    pub password_hash: Vec<u8>,
    /// The key, sealed with the service master key; `None` of one from before there were keys.
    #[serde(default)]
    pub sealed: Option<Vec<u8>>,
    /// The key, sealed with its password.
    #[serde(default)]
    pub by_password: Option<Vec<u8>>,
}

fn next_id(used: impl Iterator<Item = i32>, first: i32) -> i32 {
    used.max().map_or(first, |n| n + 1)
}

impl Engine {
    /// Endpoints made by statement.
    pub fn endpoints(&self) -> Result<Vec<StoredEndpoint>> {
        self.master_rows(object_class::ENDPOINT)
    }

    /// Adds or replaces an endpoint; id 0 gets the next free one.
    pub fn put_endpoint(&self, mut endpoint: StoredEndpoint) -> Result<StoredEndpoint> {
        if endpoint.id == 0 {
            endpoint.id = next_id(self.endpoints()?.iter().map(|e| e.id), FIRST_ENDPOINT);
        }
        self.put_master_row(object_class::ENDPOINT, endpoint.id, Some(&endpoint))?;
        Ok(endpoint)
    }

    /// DROP ENDPOINT, with everything granted on it: the next endpoint may get its number.
    pub fn drop_endpoint(&self, id: i32) -> Result<()> {
        let on = SecurableRef::Endpoint(id);
        for login in self.logins()?.iter().filter(|login| login.permissions.iter().any(|p| p.on == on)) {
            self.master().change_login(login, |login| login.permissions.retain(|p| p.on != on))?;
        }
        self.put_master_row::<StoredEndpoint>(object_class::ENDPOINT, id, None)
    }

    /// Whether who shows this certificate may connect to the endpoint: its owner is dbo of master, or a user whose login has
    /// CONNECT there.
    fn may_connect(&self, certificate: &StoredCertificate, endpoint: &StoredEndpoint) -> Result<bool> {
        if certificate.owner.is_empty() || fold(&certificate.owner) == "dbo" {
            return Ok(true);
        }
        let master = self.database_by_id(MASTER).expect("master is always open");
        let picture = master.picture();
        let Some(sid) = picture.principal_named(&certificate.owner).and_then(|user| user.sid.clone()) else {
            return Ok(false);
        };
        let logins = self.logins()?;
        let Some(login) = logins.of_sid(&sid).filter(|login| !login.disabled) else { return Ok(false) };
        let on = SecurableRef::Endpoint(endpoint.id);
        let held = logins.permissions_of(login);
        let has = |name: &str, on: SecurableRef, denied: bool| {
            let mut permissions = held.iter();
            permissions.any(|p| p.on == on && p.name == name && (p.state == PermissionState::Deny) == denied)
        };
        let controls = has("CONTROL SERVER", SecurableRef::Server, false) || has("CONTROL", on, false);
        let granted = controls || has("CONNECT", on, false) || login.principal_id == endpoint.owner;
        Ok(login.sysadmin || granted && !has("CONNECT", on, true))
    }

    /// Certificates of master.
    pub fn certificates(&self) -> Result<Vec<StoredCertificate>> {
        self.opened_certificates(self.stored_certificates()?)
    }

    /// The same as they are stored.
    pub(crate) fn stored_certificates(&self) -> Result<Vec<StoredCertificate>> {
        self.master_rows(object_class::CERTIFICATE)
    }

    /// The certificate of that name.
    pub fn certificate(&self, name: &str) -> Result<Option<StoredCertificate>> {
        Ok(self.certificates()?.into_iter().find(|c| fold(&c.name) == fold(name)))
    }

    /// Adds a certificate; id 0 gets the next free one.
    pub fn put_certificate(&self, mut certificate: StoredCertificate) -> Result<()> {
        if certificate.id == 0 {
            certificate.id = next_id(self.stored_certificates()?.iter().map(|c| c.id), 256);
        }
        let certificate = self.sealed_certificate(certificate)?;
        self.put_master_row(object_class::CERTIFICATE, certificate.id, Some(&certificate))
    }

    /// DROP CERTIFICATE
    pub fn drop_certificate(&self, id: i32) -> Result<()> {
        self.put_master_row::<StoredCertificate>(object_class::CERTIFICATE, id, None)
    }

    /// The master key of master.
    pub fn master_key(&self) -> Result<Option<StoredMasterKey>> {
        Ok(self.master_rows(object_class::MASTER_KEY)?.pop())
    }

    /// CREATE, ALTER and DROP MASTER KEY.
    pub fn put_master_key(&self, key: Option<&StoredMasterKey>) -> Result<()> {
        self.put_master_row(object_class::MASTER_KEY, 1, key)
    }

    /// The endpoint with its certificates, as the replication side needs it; `None` without one. Called at start-up and
    /// after every change of an endpoint, a certificate, or a permission on an endpoint.
    pub fn endpoint_spec(&self) -> Result<Option<EndpointSpec>> {
        let Some(endpoint) = self.endpoints()?.pop() else { return Ok(None) };
        let certificates = self.certificates()?;
        let mut trusted = Vec::new();
        for certificate in &certificates {
            if self.may_connect(certificate, &endpoint)? {
                trusted.push(certificate.certificate.clone());
            }
        }
        let named = endpoint.authentication.iter().find_map(|m| match m {
            Method::Certificate(name) => certificates.iter().find(|c| fold(&c.name) == fold(name)),
            Method::Windows(_) => None,
        });
        let identity = named.and_then(|c| Some((c.certificate.clone(), c.key.clone()?)));
        Ok(Some(EndpointSpec {
            name: endpoint.name,
            state: endpoint.state,
            port: endpoint.port,
            address: endpoint.address,
            role: endpoint.role,
            trusted: if named.is_some() { trusted } else { Vec::new() },
            identity,
        }))
    }
}
