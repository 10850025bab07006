//! Availability groups and endpoints.
//!
//! Option names and words are checked by whoever executes; here only a duplicate within one list is a syntax error,
//! as in the product.

use super::Parser;
use crate::ast::{
    AvailabilityGroupAction, AvailabilityGroupStatement, EndpointAuthentication, EndpointEncryption,
    EndpointPayload, EndpointStatement, ListenerAddress, ListenerChange, ListenerIp, ListenerSpec, Opt,
    OptValue, ReplicaOption, ReplicaSpec, RoleOption,
};
use crate::error::Result;
use crate::keyword::Kw;
use crate::lexer::Tok;
use smol_str::SmolStr;

type Action = AvailabilityGroupAction;

impl Parser<'_> {
    // ---- CREATE ----

    /// Behind CREATE AVAILABILITY GROUP.
    pub(super) fn create_availability_group(&mut self) -> Result<AvailabilityGroupStatement> {
        let name = self.ident()?;
        let options = if self.eat_kw(Kw::WITH) { self.distinct_options()? } else { Vec::new() };
        let (mut databases, mut replicas, mut listener, mut members) =
            (Vec::new(), Vec::new(), None, Vec::new());
        if self.eat_words(&["AVAILABILITY", "GROUP"]) {
            self.expect_kw(Kw::ON)?;
            members = self.list(Self::replica)?;
        } else {
            self.expect_kw(Kw::FOR)?;
            if self.eat_kw(Kw::DATABASE) {
                databases = self.list(Self::ident)?;
            }
            self.expect_words(&["REPLICA", "ON"])?;
            replicas = self.list(Self::replica)?;
            if self.eat_word("LISTENER") {
                listener = Some(self.listener()?);
            }
        }
        let action = Action::Create { options, databases, replicas, listener, members };
        Ok(AvailabilityGroupStatement { name, action })
    }

    fn distinct_options(&mut self) -> Result<Vec<Opt>> {
        self.parenthesized(|p| {
            let mut options: Vec<Opt> = Vec::new();
            loop {
                let at = p.at;
                let option = p.option()?;
                if options.iter().any(|o| o.name == option.name) {
                    return Err(p.unexpected_at(at));
                }
                options.push(option);
                if !p.eat(Tok::Comma) {
                    return Ok(options);
                }
            }
        })
    }

    /// `'server' WITH ( option, … )`
    fn replica(&mut self) -> Result<ReplicaSpec> {
        let start = self.span();
        let name = self.string()?;
        self.expect_kw(Kw::WITH)?;
        let options = self.parenthesized_list(Self::replica_option)?;
        Ok(ReplicaSpec { name, options, span: self.since(start) })
    }

    fn replica_option(&mut self) -> Result<ReplicaOption> {
        if self.eat_word("SECONDARY_ROLE") {
            return Ok(ReplicaOption::SecondaryRole(self.role_options()?));
        }
        if self.eat_word("PRIMARY_ROLE") {
            return Ok(ReplicaOption::PrimaryRole(self.role_options()?));
        }
        Ok(ReplicaOption::Plain(self.option()?))
    }

    /// `( option [,] … )`: the commas are optional.
    fn role_options(&mut self) -> Result<Vec<RoleOption>> {
        self.eat(Tok::Eq);
        self.parenthesized(|p| {
            let mut options = Vec::new();
            while p.tok() != Tok::RParen {
                if p.eat_word("READ_ONLY_ROUTING_LIST") {
                    p.expect(Tok::Eq)?;
                    options.push(RoleOption::RoutingList(p.routing_list()?));
                } else {
                    options.push(RoleOption::Plain(p.option()?));
                }
                p.eat(Tok::Comma);
            }
            Ok(options)
        })
    }

    /// `NONE`, or `( 'a', ('b', 'c') )`; bare names are accepted as well as strings.
    fn routing_list(&mut self) -> Result<Option<Vec<Vec<SmolStr>>>> {
        if self.eat_word("NONE") {
            return Ok(None);
        }
        let list = self.parenthesized_list(|p| {
            if p.tok() == Tok::LParen {
                return p.parenthesized_list(Self::server_name);
            }
            Ok(vec![p.server_name()?])
        })?;
        Ok(Some(list))
    }

    fn server_name(&mut self) -> Result<SmolStr> {
        Ok(self.ident_or_string()?.text)
    }

    // ---- listeners ----

    /// `'dns' ( WITH DHCP … | WITH IP (…) [, PORT = n] )`
    fn listener(&mut self) -> Result<ListenerSpec> {
        let name = self.string()?;
        self.expect(Tok::LParen)?;
        self.expect_kw(Kw::WITH)?;
        let address = match self.one_of(&["DHCP", "IP", "DISTRIBUTED_NETWORK_NAME"]) {
            Some("DHCP") => {
                let on = self.eat_kw(Kw::ON);
                ListenerAddress::Dhcp(if on { Some(self.parenthesized(Self::subnet)?) } else { None })
            }
            Some("IP") => ListenerAddress::Ip(self.parenthesized_list(Self::listener_ip)?),
            Some(_) => ListenerAddress::DistributedNetworkName,
            None => return Err(self.unexpected()),
        };
        let mut port = None;
        if self.eat(Tok::Comma) {
            self.expect_word("PORT")?;
            self.expect(Tok::Eq)?;
            port = Some(self.bigint()?);
        }
        self.expect(Tok::RParen)?;
        Ok(ListenerSpec { name, address, port })
    }

    fn subnet(&mut self) -> Result<(SmolStr, SmolStr)> {
        let net = self.string()?;
        self.expect(Tok::Comma)?;
        Ok((net, self.string()?))
    }

    fn listener_ip(&mut self) -> Result<ListenerIp> {
        self.parenthesized(|p| {
            let address = p.string()?;
            let mask = if p.eat(Tok::Comma) { Some(p.string()?) } else { None };
            Ok(ListenerIp { address, mask })
        })
    }

    // ---- ALTER ----

    /// Behind ALTER AVAILABILITY GROUP.
    pub(super) fn alter_availability_group(&mut self) -> Result<AvailabilityGroupStatement> {
        let name = self.ident()?;
        let at = self.at;
        let action = match self.upper_word()?.as_str() {
            "SET" => Action::Set(self.distinct_options()?),
            "ADD" => self.group_add()?,
            "REMOVE" => self.group_remove()?,
            "MODIFY" => self.group_modify()?,
            "JOIN" => self.group_join()?,
            "GRANT" => {
                self.expect_words(&["CREATE", "ANY", "DATABASE"])?;
                Action::GrantCreateAnyDatabase
            }
            "DENY" => {
                self.expect_words(&["CREATE", "ANY", "DATABASE"])?;
                Action::DenyCreateAnyDatabase
            }
            "FAILOVER" => Action::Failover,
            "FORCE_FAILOVER_ALLOW_DATA_LOSS" => Action::ForceFailoverAllowDataLoss,
            "RESTART" => {
                self.expect_word("LISTENER")?;
                Action::RestartListener(self.string()?)
            }
            "OFFLINE" => Action::Offline,
            _ => return Err(self.unexpected_at(at)),
        };
        Ok(AvailabilityGroupStatement { name, action })
    }

    fn group_add(&mut self) -> Result<Action> {
        if self.eat_kw(Kw::DATABASE) {
            return Ok(Action::AddDatabase(self.list(Self::ident)?));
        }
        if self.eat_words(&["REPLICA", "ON"]) {
            return Ok(Action::AddReplica(self.list(Self::replica)?));
        }
        self.expect_word("LISTENER")?;
        Ok(Action::AddListener(self.listener()?))
    }

    fn group_remove(&mut self) -> Result<Action> {
        if self.eat_kw(Kw::DATABASE) {
            return Ok(Action::RemoveDatabase(self.list(Self::ident)?));
        }
        if self.eat_words(&["REPLICA", "ON"]) {
            return Ok(Action::RemoveReplica(self.string()?));
        }
        self.expect_word("LISTENER")?;
        Ok(Action::RemoveListener(self.string()?))
    }

    fn group_modify(&mut self) -> Result<Action> {
        if self.eat_words(&["REPLICA", "ON"]) {
            return Ok(Action::ModifyReplica(self.replica()?));
        }
        if self.eat_words(&["AVAILABILITY", "GROUP", "ON"]) {
            return Ok(Action::ModifyDistributed(self.list(Self::replica)?));
        }
        self.expect_word("LISTENER")?;
        let name = self.string()?;
        let change = self.parenthesized(Self::listener_change)?;
        Ok(Action::ModifyListener { name, change })
    }

    fn listener_change(&mut self) -> Result<ListenerChange> {
        if self.eat_words(&["ADD", "IP"]) {
            return Ok(ListenerChange::AddIp(self.listener_ip()?));
        }
        if self.eat_words(&["REMOVE", "IP"]) {
            return Ok(ListenerChange::RemoveIp(self.listener_ip()?));
        }
        self.expect_word("PORT")?;
        self.expect(Tok::Eq)?;
        Ok(ListenerChange::Port(self.bigint()?))
    }

    fn group_join(&mut self) -> Result<Action> {
        if self.eat_words(&["AVAILABILITY", "GROUP", "ON"]) {
            return Ok(Action::JoinDistributed(self.list(Self::replica)?));
        }
        let mut cluster_type = None;
        if self.eat_kw(Kw::WITH) {
            self.expect(Tok::LParen)?;
            let mut rebuilds = false;
            loop {
                if self.eat_word("REBUILD_SYSTEM_DATABASES") {
                    rebuilds = true;
                } else {
                    self.expect_word("CLUSTER_TYPE")?;
                    self.expect(Tok::Eq)?;
                    cluster_type = Some(self.upper_word()?);
                }
                if !self.eat(Tok::Comma) {
                    break;
                }
            }
            self.expect(Tok::RParen)?;
            return Ok(Action::Join { cluster_type, rebuilds });
        }
        Ok(Action::Join { cluster_type, rebuilds: false })
    }

    // ---- endpoints ----

    /// Behind CREATE or ALTER ENDPOINT.
    pub(super) fn endpoint(&mut self, create: bool) -> Result<EndpointStatement> {
        let name = self.any_word()?;
        let mut endpoint = EndpointStatement {
            create,
            name,
            authorization: None,
            state: None,
            transport: None,
            payload: None,
        };
        if self.eat_kw(Kw::AUTHORIZATION) {
            endpoint.authorization = Some(self.any_word()?);
        }
        if self.eat_word("STATE") {
            self.expect(Tok::Eq)?;
            endpoint.state = Some(self.upper_word()?);
        }
        if self.eat_kw(Kw::AS) {
            let protocol = self.upper_word()?;
            endpoint.transport = Some((protocol, self.parenthesized_list(Self::endpoint_option)?));
        }
        if self.eat_kw(Kw::FOR) {
            endpoint.payload = Some(self.endpoint_payload()?);
        }
        Ok(endpoint)
    }

    /// `LISTENER_PORT = n`, `LISTENER_IP = ALL | (1.2.3.4) | ('::1')`: an address arrives as a string.
    fn endpoint_option(&mut self) -> Result<Opt> {
        if !(self.at_word("LISTENER_IP") && self.tok_ahead(1) == Tok::Eq && self.tok_ahead(2) == Tok::LParen)
        {
            return self.option();
        }
        let start = self.span();
        self.at += 3;
        let inside = self.span();
        let text = if self.at_string() {
            self.string()?
        } else {
            while !matches!(self.tok(), Tok::RParen | Tok::Eof) {
                self.bump();
            }
            SmolStr::new(self.since(inside).text(self.text).trim())
        };
        self.expect(Tok::RParen)?;
        let value = OptValue::String(text);
        Ok(Opt { name: SmolStr::new_static("LISTENER_IP"), value, span: self.since(start) })
    }

    fn endpoint_payload(&mut self) -> Result<EndpointPayload> {
        let kind = self.upper_word()?;
        let mut payload = EndpointPayload {
            kind,
            authentication: Vec::new(),
            encryption: None,
            role: None,
            other: Vec::new(),
        };
        self.expect(Tok::LParen)?;
        while !self.eat(Tok::RParen) {
            if self.eat_word("AUTHENTICATION") {
                self.expect(Tok::Eq)?;
                payload.authentication = self.endpoint_authentication()?;
            } else if self.eat_word("ENCRYPTION") {
                self.expect(Tok::Eq)?;
                payload.encryption = Some(self.endpoint_encryption()?);
            } else if self.eat_word("ROLE") {
                self.expect(Tok::Eq)?;
                payload.role = Some(self.upper_word()?);
            } else {
                payload.other.push(self.option()?);
            }
            self.eat(Tok::Comma);
        }
        Ok(payload)
    }

    /// One or two methods, in the order they are tried.
    fn endpoint_authentication(&mut self) -> Result<Vec<EndpointAuthentication>> {
        let mut methods = Vec::new();
        loop {
            if self.eat_word("WINDOWS") {
                let package = self.one_of(&["NTLM", "KERBEROS", "NEGOTIATE"]).map(SmolStr::new_static);
                methods.push(EndpointAuthentication::Windows(package));
            } else if self.eat_word("CERTIFICATE") {
                methods.push(EndpointAuthentication::Certificate(self.ident()?));
            } else if methods.is_empty() {
                return Err(self.unexpected());
            } else {
                return Ok(methods);
            }
        }
    }

    fn endpoint_encryption(&mut self) -> Result<EndpointEncryption> {
        let Some(mode) = self.one_of(&["DISABLED", "SUPPORTED", "REQUIRED"]) else {
            return Err(self.unexpected());
        };
        let mut algorithms = Vec::new();
        if self.eat_word("ALGORITHM") {
            while let Some(algorithm) = self.one_of(&["AES", "RC4"]) {
                algorithms.push(SmolStr::new_static(algorithm));
            }
            if algorithms.is_empty() {
                return Err(self.unexpected());
            }
        }
        Ok(EndpointEncryption { mode: SmolStr::new_static(mode), algorithms })
    }
}
