//! What master keeps for availability groups: endpoints. Their certificates are keys of master like others: see [`crate::keys`].

use super::config::{EndpointAddress, EndpointRole, EndpointSpec, EndpointState};
use crate::catalog::{DBO_USER, PermissionState, SecurableRef, fold, object_class};
use crate::engine::Engine;
use crate::keys::CertificateDef;
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
    fn may_connect(&self, certificate: &CertificateDef, endpoint: &StoredEndpoint) -> Result<bool> {
        let picture = self.master().picture();
        let owner = picture.certificate_owner(certificate);
        if owner == DBO_USER {
            return Ok(true);
        }
        let Some(sid) = picture.principal(owner).and_then(|user| user.sid) else { return Ok(false) };
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
