//! CREATE, ALTER and DROP ENDPOINT. An endpoint is a row of master; the replication side is told of every change.

use super::config::{EndpointAddress, EndpointRole, EndpointState};
use super::store::{Method, StoredEndpoint};
use super::{HadrCommand, command::Caller, errors};
use crate::catalog::fold;
use crate::engine::MASTER;
use crate::run::Runner;
use keel_parser::ast::{self, EndpointAuthentication};
use keel_types::SqlError;
use keel_types::error::Result;

impl Runner<'_> {
    fn endpoint_ddl(&self, statement: &str) -> Result<()> {
        self.of_the_instance(statement)?;
        if self.info.transaction.borrow().count > 0 {
            return Err(crate::errors::not_in_user_transaction(statement));
        }
        self.sysadmin()
    }

    /// Tells the replication side what the endpoint and its certificates are now.
    pub(crate) fn endpoint_changed(&self) -> Result<()> {
        let Some(hadr) = self.info.engine.hadr() else { return Ok(()) };
        let command = match self.info.engine.endpoint_spec()? {
            Some(spec) => HadrCommand::SetEndpoint(Box::new(spec)),
            None => HadrCommand::DropEndpoint,
        };
        hadr.execute(&Caller { login: self.info.login().to_string(), external_cluster: false }, command)
    }

    /// CREATE ENDPOINT, ALTER ENDPOINT
    pub(crate) fn endpoint(&mut self, s: &ast::EndpointStatement) -> Result<()> {
        self.endpoint_ddl(if s.create { "CREATE ENDPOINT" } else { "ALTER ENDPOINT" })?;
        // Nobody drops or changes its certificates meanwhile.
        if let Some(master) = self.info.engine.database_by_id(MASTER) {
            self.lock_catalog(&master)?;
        }
        let existing = self.info.engine.endpoints()?;
        let name = s.name.text.as_str();
        let found = existing.iter().find(|e| fold(&e.name) == fold(name)).cloned();
        let before = found.clone();
        let mut endpoint = match (s.create, found) {
            (true, Some(_)) => return Err(errors::endpoint_exists(name)),
            (false, None) => return Err(errors::no_endpoint(name)),
            (false, Some(endpoint)) => endpoint,
            (true, None) => StoredEndpoint {
                id: 0,
                name: name.to_owned(),
                owner: 1,
                state: EndpointState::Stopped,
                port: 0,
                address: EndpointAddress::All,
                authentication: vec![Method::Windows("NEGOTIATE".to_owned())],
                encryption_supported: false,
                algorithms: vec!["AES".to_owned()],
                role: EndpointRole::Partner,
            },
        };
        self.describe(&mut endpoint, s)?;
        if s.create && !existing.is_empty() {
            return Err(errors::second_endpoint());
        }
        let stored = self.info.engine.put_endpoint(endpoint)?;
        if let Err(e) = self.endpoint_changed() {
            // An endpoint that cannot listen is not made; one that was there stays what it was.
            match before {
                Some(before) => drop(self.info.engine.put_endpoint(before)?),
                None => self.info.engine.drop_endpoint(stored.id)?,
            }
            return Err(e);
        }
        Ok(())
    }

    fn describe(&self, endpoint: &mut StoredEndpoint, s: &ast::EndpointStatement) -> Result<()> {
        if let Some(login) = &s.authorization {
            let owner = self.info.engine.login(&login.text);
            let text = || {
                format!(
                    "Cannot find the login '{}', because it does not exist or you do not have permission.",
                    login.text
                )
            };
            endpoint.owner = owner.ok_or_else(|| SqlError::new(15151, 16, 1, text()))?.principal_id;
        }
        if let Some(state) = &s.state {
            endpoint.state = EndpointState::parse(state).ok_or_else(|| syntax(state))?;
        }
        if let Some((protocol, options)) = &s.transport {
            if protocol != "TCP" {
                return Err(errors::endpoint_payload(protocol));
            }
            for option in options {
                match option.name.as_str() {
                    "LISTENER_PORT" => {
                        let port = option.value.number().unwrap_or(0);
                        let usable = u16::try_from(port).ok().filter(|p| *p > 0);
                        endpoint.port = usable.ok_or_else(|| errors::bad_endpoint_port(port))?;
                    }
                    "LISTENER_IP" => endpoint.address = address(option.value.text().unwrap_or("ALL"))?,
                    other => return Err(syntax(other)),
                }
            }
        }
        match &s.payload {
            Some(payload) => self.describe_payload(endpoint, payload)?,
            None if s.create => return Err(errors::endpoint_payload("TSQL")),
            None => {}
        }
        if endpoint.port == 0 {
            return Err(errors::endpoint_port_missing());
        }
        Ok(())
    }

    fn describe_payload(&self, endpoint: &mut StoredEndpoint, p: &ast::EndpointPayload) -> Result<()> {
        if p.kind != "DATABASE_MIRRORING" && p.kind != "DATA_MIRRORING" {
            return Err(errors::endpoint_payload(&p.kind));
        }
        if let Some(other) = p.other.first() {
            return Err(syntax(&other.name));
        }
        if !p.authentication.is_empty() {
            endpoint.authentication = p.authentication.iter().map(method).collect();
            for method in &endpoint.authentication {
                let Method::Certificate(name) = method else { continue };
                let found = self.info.engine.certificate(name)?;
                let certificate = found.ok_or_else(|| errors::no_certificate(name))?;
                if certificate.key.is_none() {
                    return Err(errors::certificate_without_key(name));
                }
            }
        }
        if let Some(encryption) = &p.encryption {
            match encryption.mode.as_str() {
                "DISABLED" => return Err(errors::endpoint_unencrypted()),
                mode => endpoint.encryption_supported = mode == "SUPPORTED",
            }
            if !encryption.algorithms.is_empty() {
                endpoint.algorithms = encryption.algorithms.iter().map(ToString::to_string).collect();
            }
        }
        if let Some(role) = &p.role {
            endpoint.role = EndpointRole::parse(role).ok_or_else(|| syntax(role))?;
        }
        Ok(())
    }

    /// DROP ENDPOINT
    pub(crate) fn drop_endpoints(&mut self, d: &ast::Drop) -> Result<()> {
        self.endpoint_ddl("DROP ENDPOINT")?;
        for name in &d.names {
            let name = &name.name.text;
            let found = self.info.engine.endpoints()?.into_iter().find(|e| fold(&e.name) == fold(name));
            match found {
                Some(endpoint) => self.info.engine.drop_endpoint(endpoint.id)?,
                None if d.if_exists => continue,
                None => return Err(errors::no_endpoint(name)),
            }
            self.endpoint_changed()?;
        }
        Ok(())
    }
}

fn syntax(near: &str) -> Box<SqlError> {
    SqlError::new(102, 15, 1, format!("Incorrect syntax near '{near}'."))
}

fn address(text: &str) -> Result<EndpointAddress> {
    if text.eq_ignore_ascii_case("ALL") {
        return Ok(EndpointAddress::All);
    }
    match text.parse::<std::net::IpAddr>() {
        Ok(ip) => Ok(EndpointAddress::Ip(ip.to_string())),
        Err(_) => Err(syntax(text)),
    }
}

fn method(written: &EndpointAuthentication) -> Method {
    match written {
        EndpointAuthentication::Windows(package) => {
            Method::Windows(package.as_ref().map_or("NEGOTIATE", |p| p.as_str()).to_owned())
        }
        EndpointAuthentication::Certificate(name) => Method::Certificate(name.text.to_string()),
    }
}
