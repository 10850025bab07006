//! What `sp_addlinkedserver` and its kin define: a row of master for each server, its logins with it.
//!
//! Definitions belong to the instance, in the context of a contained availability group too, as the service master key that seals their passwords does.

use super::errors;
use super::link::Target;
use super::provider::Address;
use crate::catalog::{fold, object_class};
use crate::engine::Engine;
use crate::session::info::Info;
use keel_types::error::Result;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A linked server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkedServer {
    /// `server_id`, from 1: 0 is the instance itself.
    pub id: i32,
    /// Name.
    pub name: String,
    /// `@srvproduct`
    pub product: String,
    /// Name of the provider.
    pub provider: String,
    /// `@datasrc`
    pub data_source: Option<String>,
    /// `@location`
    pub location: Option<String>,
    /// `@provstr`, without a password.
    pub provider_string: Option<String>,
    /// `@catalog`
    pub catalog: Option<String>,
    /// Seconds; 0 for `remote login timeout (s)`.
    pub connect_timeout: i32,
    /// Seconds; 0 for `remote query timeout (s)`.
    pub query_timeout: i32,
    /// `data access`
    pub data_access: bool,
    /// `rpc`
    pub rpc: bool,
    /// `rpc out`
    pub rpc_out: bool,
    /// `collation compatible`
    pub collation_compatible: bool,
    /// `use remote collation`
    pub use_remote_collation: bool,
    /// `collation name`
    pub collation_name: Option<String>,
    /// `lazy schema validation`
    pub lazy_schema_validation: bool,
    /// `remote proc transaction promotion`
    pub promotion: bool,
    /// `pub`, `sub`, `dist`, `dpub`, `system`: kept and shown.
    #[serde(default)]
    pub marks: Vec<String>,
    /// Local ticks.
    pub modified: i64,
    /// Who is whom there.
    pub logins: Vec<LinkedLogin>,
}

/// Who one of here is on a linked server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkedLogin {
    /// Security identifier of a login of here; `None` for all that have no line of their own.
    pub local: Option<Vec<u8>>,
    /// The name and password with which one has logged in here.
    pub uses_self: bool,
    /// Name there.
    pub remote_name: Option<String>,
    /// Password there, sealed.
    pub sealed: Option<Vec<u8>>,
    /// Local ticks.
    pub modified: i64,
}

impl LinkedLogin {
    /// What `sp_addlinkedserver` makes: everybody as who they are.
    #[must_use]
    pub fn everybody(modified: i64) -> LinkedLogin {
        LinkedLogin { local: None, uses_self: true, remote_name: None, sealed: None, modified }
    }
}

impl LinkedServer {
    /// What connections are made to.
    ///
    /// # Errors
    /// When its data source or provider string says nothing that can be connected to.
    pub fn address(&self) -> Result<Address> {
        let source = self.data_source.as_deref().unwrap_or(&self.name);
        Address::read(source, self.provider_string.as_deref().unwrap_or(""))
    }

    fn login_of(&self, sid: Option<&[u8]>) -> Option<&LinkedLogin> {
        let own = self.logins.iter().find(|l| l.local.is_some() && l.local.as_deref() == sid);
        own.or_else(|| self.logins.iter().find(|l| l.local.is_none()))
    }

    /// How long connecting may take.
    fn timeout(&self, engine: &Engine) -> Duration {
        let own = u64::try_from(self.connect_timeout).ok().filter(|s| *s > 0);
        let instance = engine.configuration(crate::config::REMOTE_LOGIN_TIMEOUT).running;
        Duration::from_secs(own.or(u64::try_from(instance).ok()).filter(|s| *s > 0).unwrap_or(NO_LIMIT_S))
    }

    /// How long a query may take; `None` for as long as it takes.
    #[must_use]
    pub fn query_limit(&self, engine: &Engine) -> Option<Duration> {
        let own = u64::try_from(self.query_timeout).ok().filter(|s| *s > 0);
        let instance = engine.configuration(crate::config::REMOTE_QUERY_TIMEOUT).running;
        own.or(u64::try_from(instance).ok()).filter(|s| *s > 0).map(Duration::from_secs)
    }

    /// Where a session connects to, as who it is there.
    ///
    /// # Errors
    /// 7416 when it is nobody there, 15274 when it is not who has logged in.
    pub fn target(&self, info: &Info) -> Result<Target> {
        let address = self.address()?;
        let sid = info.login_now().map(|login| login.sid);
        let login = self.login_of(sid.as_deref()).ok_or_else(errors::no_mapping)?;
        let (user, password) = match (&login.remote_name, login.uses_self) {
            (Some(name), false) => (name.clone(), info.engine.open_password(login.sealed.as_deref())?),
            (None, false) => return Err(errors::no_mapping()),
            (_, true) => {
                let now = info.identity_now().login;
                let given = info.shared.login.password.text();
                let is_own = now.eq_ignore_ascii_case(&info.shared.login.login);
                match given {
                    Some(password) if is_own => (now.to_string(), password.to_owned()),
                    Some(_) => return Err(errors::not_trusted()),
                    None => return Err(errors::no_mapping()),
                }
            }
        };
        let database = self.catalog.clone().filter(|c| !c.is_empty()).or(address.database.clone());
        Ok(address.target(user, password, database.unwrap_or_default(), self.timeout(&info.engine)))
    }
}

/// What 0 as a time-out stands for: none, as far as a clock goes.
const NO_LIMIT_S: u64 = 24 * 60 * 60;

impl Engine {
    /// All linked servers by name.
    ///
    /// # Errors
    /// When master cannot be read.
    pub fn linked_servers(&self) -> Result<Arc<Vec<LinkedServer>>> {
        if let Some(known) = &*self.linked.known.read() {
            return Ok(Arc::clone(known));
        }
        let _changing = self.linked.changing.lock();
        self.linked_unchanging()
    }

    fn linked_unchanging(&self) -> Result<Arc<Vec<LinkedServer>>> {
        let mut all: Vec<LinkedServer> = self.master_rows(object_class::LINKED_SERVER)?;
        all.sort_by_key(|server| server.id);
        let all = Arc::new(all);
        *self.linked.known.write() = Some(Arc::clone(&all));
        Ok(all)
    }

    /// The linked server of that name.
    ///
    /// # Errors
    /// 7202 when there is none.
    pub fn linked_server(&self, name: &str) -> Result<LinkedServer> {
        let all = self.linked_servers()?;
        let found = all.iter().find(|server| fold(&server.name) == fold(name));
        found.cloned().ok_or_else(|| crate::errors::no_linked_server(name))
    }

    /// Adds one.
    ///
    /// # Errors
    /// 15028 when there is one of that name; when master cannot be written.
    pub fn add_linked_server(&self, mut server: LinkedServer) -> Result<()> {
        let _changing = self.linked.changing.lock();
        let all = self.linked_unchanging()?;
        if all.iter().any(|other| fold(&other.name) == fold(&server.name)) {
            return Err(errors::server_exists(&server.name));
        }
        server.id = all.iter().map(|other| other.id).max().unwrap_or(0) + 1;
        self.put_linked(server.id, Some(&server))
    }

    /// Changes one.
    ///
    /// # Errors
    /// 15015 when there is none of that name, those of `change`; when master cannot be written.
    pub fn change_linked_server(
        &self,
        name: &str,
        change: impl FnOnce(&mut LinkedServer) -> Result<()>,
    ) -> Result<()> {
        let _changing = self.linked.changing.lock();
        let all = self.linked_unchanging()?;
        let found = all.iter().find(|server| fold(&server.name) == fold(name));
        let mut server = found.cloned().ok_or_else(|| errors::no_server(name))?;
        change(&mut server)?;
        if all.iter().any(|other| other.id != server.id && fold(&other.name) == fold(&server.name)) {
            return Err(errors::server_exists(&server.name));
        }
        server.modified = self.now_local();
        self.put_linked(server.id, Some(&server))
    }

    /// Removes one, with its logins when `with_logins`.
    ///
    /// # Errors
    /// 15015 when there is none of that name, 15190 when it has logins that somebody made.
    pub fn drop_linked_server(&self, name: &str, with_logins: bool) -> Result<()> {
        let _changing = self.linked.changing.lock();
        let all = self.linked_unchanging()?;
        let server = all.iter().find(|server| fold(&server.name) == fold(name));
        let server = server.ok_or_else(|| errors::no_server(name))?;
        if !with_logins && !server.logins.is_empty() {
            return Err(errors::server_has_logins(&server.name));
        }
        self.put_linked(server.id, None)
    }

    /// For whoever keeps the others from changing.
    fn put_linked(&self, id: i32, server: Option<&LinkedServer>) -> Result<()> {
        let done = self.put_master_row(object_class::LINKED_SERVER, id, server);
        // Also when that failed: what there is now is read anew.
        *self.linked.known.write() = None;
        self.linked.shapes.clear();
        self.linked.version.fetch_add(1, Ordering::AcqRel);
        done
    }
}
