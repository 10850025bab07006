//! Database mirroring: what its statements become, and what the views show of its sessions.

use std::sync::Arc;
use std::time::Duration;

use keel_cluster::{
    AvailabilityMode, Command, CommandError, GroupConfig, GroupDatabaseId, GroupStatus, InstanceId,
    OperationalState, Replica, ReplicaOptions, RoleStatus,
};
use keel_group::{
    CommandFailure, ConnectError, ExpectedPartner, Movement, PartnerAnswer, Session, SessionFailure, Side,
};
use keel_sql::engine::DatabaseEntry;
use keel_sql::hadr::mirroring::{Change, TIMEOUT_DEFAULT_SECONDS};
use keel_sql::hadr::{Expected, Mirroring, Partner, build, errors};
use keel_types::error::Result;

use super::states::{Picture, replica_counters};
use super::{Replication, convert};

/// How long a command may take: a force that waits for redo.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A session as it stands, for the statements.
struct Found {
    config: GroupConfig,
    /// The one database of it.
    database: GroupDatabaseId,
    /// This instance's replica.
    own: Replica,
    /// The other partner's.
    partner: Replica,
    leads: bool,
}

impl Found {
    fn witness(&self) -> Option<&Replica> {
        self.config.replicas.iter().find(|replica| !replica.keeps_data())
    }

    /// The same session with this instance as the principal and another witness.
    fn with_witness(&self, entry: &DatabaseEntry, witness: Option<Side>) -> Session {
        Session {
            database: entry.name().to_string(),
            store: Arc::clone(&entry.store),
            safety_full: is_full(&self.config),
            timeout_s: self.own.options.session_timeout_s,
            principal: side(&self.own),
            mirror: side(&self.partner),
            witness,
        }
    }
}

fn side(replica: &Replica) -> Side {
    Side {
        name: replica.server_name.clone(),
        url: replica.options.endpoint_url.clone(),
        clients: replica.options.read_write_routing_url.clone(),
    }
}

/// SAFETY FULL: both partners wait for each other.
fn is_full(config: &GroupConfig) -> bool {
    config.replicas.iter().filter(|r| r.keeps_data()).all(Replica::is_synchronous)
}

/// Where clients reach the machine of an endpoint.
fn clients(endpoint: &str, port: Option<u16>) -> Option<String> {
    let (host, _) = build::tcp_url(endpoint)?;
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    port.map(|port| format!("TCP://{host}:{port}"))
}

impl Replication {
    /// Carries out SET PARTNER and SET WITNESS.
    pub(super) fn mirror(&self, database: &str, change: Change) -> Result<()> {
        match change {
            Change::BecomeMirror(url) => self.become_mirror(database, &url),
            Change::BecomePrincipal(url) => self.become_principal(database, &url),
            Change::Failover => self.fail_over(database),
            Change::ForceService => self.force_service(database),
            Change::Off => self.end_mirroring(database),
            Change::Suspend => self.move_session(database, Movement::Suspend),
            Change::Resume => self.move_session(database, Movement::Resume),
            Change::Safety(full) => self.modify_partners(database, |options, witnessed| {
                (options.availability_mode, options.failover_mode) = keel_group::modes(full, witnessed);
            }),
            Change::Timeout(seconds) => {
                self.modify_partners(database, |options, _| options.session_timeout_s = seconds)
            }
            Change::Witness(url) => self.set_witness(database, url.as_deref()),
        }
    }

    fn entry(&self, database: &str) -> Result<Arc<DatabaseEntry>> {
        self.engine()?.database(database).ok_or_else(|| errors::mirroring_off(database))
    }

    fn found(&self, database: &str) -> Result<Found> {
        let of_name = |g: &GroupStatus| {
            let mut databases = g.config.databases.iter();
            g.config.options.cluster_type.is_mirroring()
                && databases.any(|d| d.name.eq_ignore_ascii_case(database))
        };
        let found = self.groups.state().groups.into_iter().filter(of_name).find_map(|g| {
            let own = g.config.replica(g.me).filter(|own| own.keeps_data())?.clone();
            let partner = g.config.replicas.iter().find(|r| r.id != g.me && r.keeps_data())?.clone();
            let database = g.config.databases.first()?.id;
            Some(Found { database, own, partner, leads: g.role == RoleStatus::Primary, config: g.config })
        });
        found.ok_or_else(|| errors::mirroring_off(database))
    }

    /// Who is at an endpoint, and that it is somebody else.
    fn meet(&self, url: &str) -> Result<(InstanceId, String)> {
        let (instance, name) = self.groups.meet(url).map_err(|e| self.unreachable(url, &e))?;
        if instance.0 == self.groups.instance_id() {
            return Err(errors::partner_is_local());
        }
        Ok((instance, name))
    }

    /// The error does not say why; the log does.
    fn unreachable(&self, url: &str, error: &ConnectError) -> Box<keel_types::SqlError> {
        self.host.log.entry("Mirroring", &format!("There is no way to '{url}': {error}."));
        errors::partner_unreachable(url)
    }

    fn become_mirror(&self, database: &str, url: &str) -> Result<()> {
        let entry = self.entry(database)?;
        let log = entry.store.log().ok_or_else(|| errors::not_restoring(database))?;
        let (principal, server_name) = self.meet(url)?;
        self.groups.register_database(&entry.name(), &entry.store);
        let expected = ExpectedPartner {
            database: entry.name().to_string(),
            log_id: log.log_id(),
            principal: principal.0,
            server_name,
            url: url.to_owned(),
            instead_of: None,
        };
        self.groups.expect_partner(expected).map_err(|_| errors::mirroring_busy())
    }

    fn become_principal(&self, database: &str, url: &str) -> Result<()> {
        let entry = self.entry(database)?;
        let log = entry.store.log().ok_or_else(|| errors::not_full_recovery(database))?;
        let (mirror, name) = self.meet(url)?;
        let answer = self.groups.ask_partner(mirror, database, log.log_id());
        let (named, client_port) = match answer {
            None => return Err(errors::partner_not_told(name)),
            Some(PartnerAnswer::NotExpected) => return Err(errors::mirroring_off_there(database)),
            Some(PartnerAnswer::Unrelated) => return Err(errors::mirror_unrelated(database)),
            Some(PartnerAnswer::Ready { named, client_port }) => (named, client_port),
        };
        let session = Session {
            database: entry.name().to_string(),
            store: Arc::clone(&entry.store),
            safety_full: true,
            timeout_s: TIMEOUT_DEFAULT_SECONDS,
            principal: Side {
                name: self.groups.server_name().to_owned(),
                clients: clients(&named, self.groups.client_port()),
                url: named,
            },
            mirror: Side { name, clients: clients(url, client_port), url: url.to_owned() },
            witness: None,
        };
        self.groups.begin_session(&session).map_err(|e| not_begun(database, e))
    }

    fn fail_over(&self, database: &str) -> Result<()> {
        let found = self.found(database)?;
        let to = &found.partner.server_name;
        self.groups.fail_over_to(found.config.id, to, false).map_err(|e| refused(database, to, &e))
    }

    fn force_service(&self, database: &str) -> Result<()> {
        let found = self.found(database)?;
        let force = Command::ForceFailover { group: found.config.id };
        self.groups.command(force, TIMEOUT).map_err(|e| match e {
            CommandFailure::Refused(CommandError::NotSynchronized) => errors::cannot_force_service(database),
            e => refused(database, &found.partner.server_name, &e),
        })
    }

    fn end_mirroring(&self, database: &str) -> Result<()> {
        let expected = self.groups.expect_no_partner(database).map_err(|_| errors::mirroring_busy())?;
        let found = match self.found(database) {
            Err(_) if expected => return Ok(()),
            found => found?,
        };
        let server = &found.partner.server_name;
        let entry = self.entry(database)?;
        if found.leads {
            let ended = self.groups.end_session(found.config.id, &entry.store);
            return ended.map_err(|e| refused(database, server, &e));
        }
        if found.config.primary == Some(found.own.id) && self.force_service(database).is_ok() {
            // The last principal, which waited for the mirror: whoever ends the session there wants its copy to stand alone.
            let ended = self.groups.end_session(found.config.id, &entry.store);
            return ended.map_err(|e| refused(database, server, &e));
        }
        let ended = self.groups.command(Command::DropGroup { group: found.config.id }, TIMEOUT);
        ended.map_err(|e| refused(database, server, &e))?;
        self.until_left(database)
    }

    fn move_session(&self, database: &str, movement: Movement) -> Result<()> {
        let found = self.found(database)?;
        let moved =
            self.groups.move_session(found.config.id, found.database, found.partner.instance, movement);
        moved.map(|_| ()).map_err(|e| refused(database, &found.partner.server_name, &e))
    }

    /// Changes what holds for both partners: `change` is told whether there is a witness.
    fn modify_partners(&self, database: &str, change: impl Fn(&mut ReplicaOptions, bool)) -> Result<()> {
        let found = self.found(database)?;
        let witnessed = found.witness().is_some();
        for replica in [&found.own, &found.partner] {
            let mut options = replica.options.clone();
            change(&mut options, witnessed);
            if options == replica.options {
                continue;
            }
            let (group, options) = (found.config.id, Box::new(options));
            let command = Command::ModifyReplica { group, replica: replica.id, options };
            let changed = self.groups.command(command, TIMEOUT);
            changed.map_err(|e| refused(database, &found.partner.server_name, &e))?;
        }
        Ok(())
    }

    fn set_witness(&self, database: &str, url: Option<&str>) -> Result<()> {
        let found = self.found(database)?;
        let entry = self.entry(database)?;
        let now = found.witness().map(|witness| witness.options.endpoint_url.as_str());
        if now.map(str::to_lowercase) == url.map(str::to_lowercase) {
            return Ok(());
        }
        let witness = match url {
            None => None,
            Some(url) => {
                let (instance, name) = self.groups.meet(url).map_err(|e| self.unreachable(url, &e))?;
                if [&found.own, &found.partner].iter().any(|partner| partner.instance == Some(instance)) {
                    return Err(errors::witness_is_partner());
                }
                Some(Side { name, url: url.to_owned(), clients: None })
            }
        };
        let wanted = found.with_witness(&entry, witness);
        // As it was, without a witness if need be.
        let else_these = [found.witness().map(side), None].map(|witness| found.with_witness(&entry, witness));
        let replaced = self.groups.replace_session(found.config.id, &wanted, &else_these);
        replaced.map_err(|failure| match failure {
            SessionFailure::NotEntered(server) => errors::partner_not_told(server),
            _ => errors::witness_needs_all(),
        })
    }
}

fn not_begun(database: &str, failure: SessionFailure) -> Box<keel_types::SqlError> {
    match failure {
        SessionFailure::NoLog => errors::not_full_recovery(database),
        SessionFailure::NotEntered(server) => errors::partner_not_told(server),
        SessionFailure::NotFollowing => errors::mirror_not_rolled_forward(database),
        SessionFailure::NotConnected => errors::partners_not_connected(database),
        SessionFailure::Refused(_) => errors::mirroring_busy(),
    }
}

fn refused(database: &str, server: &str, failure: &CommandFailure) -> Box<keel_types::SqlError> {
    match failure {
        CommandFailure::Refused(CommandError::NotSynchronized) => errors::mirror_not_caught_up(database),
        CommandFailure::Refused(CommandError::NotSynchronousMode) => errors::safety_not_full(database),
        CommandFailure::Refused(CommandError::PrimaryNotConnected) | CommandFailure::NotConnected(_) => {
            errors::partners_not_connected(database)
        }
        CommandFailure::Refused(CommandError::NoQuorum) => errors::partner_and_witness_away(database),
        CommandFailure::Refused(CommandError::NotPrimary) => errors::principal_only(database),
        CommandFailure::Unanswered => errors::partner_not_told(server),
        CommandFailure::Refused(_) => errors::mirroring_busy(),
    }
}

// ---- what the views show ----

/// A session that this instance is to be the mirror of.
pub(super) fn expected(replication: &Replication, picture: &Picture<'_>) -> Vec<Expected> {
    let show = |partner: ExpectedPartner| Expected {
        database: partner.database,
        principal: Partner {
            connected: picture.seen.peers.iter().any(|p| p.instance.0 == partner.principal && p.connected),
            server: partner.server_name,
            url: partner.url,
            clients: None,
        },
    };
    replication.groups.expected_partners().into_iter().map(show).collect()
}

impl Picture<'_> {
    /// A session, from its group.
    pub(super) fn mirroring(&self, g: &GroupStatus) -> Option<Mirroring> {
        let config = &g.config;
        let database = config.databases.first()?;
        let own = config.replica(g.me)?;
        let keeps_data = |r: &&Replica| r.options.availability_mode != AvailabilityMode::ConfigurationOnly;
        let partner = config.replicas.iter().filter(keeps_data).find(|r| r.id != g.me && own.keeps_data());
        let witness = config.replicas.iter().find(|r| r.id != g.me && !r.keeps_data());
        let status = g.databases.iter().find(|d| d.database == database.id);
        let remote = |replica: &Replica| {
            let status = status?;
            let copy = status.copies.iter().find(|c| c.replica == replica.id)?;
            Some(self.remote_copy(replica, status, copy))
        };
        let traffic = partner.and_then(|r| self.peer(r.instance?)).map(replica_counters);
        let resolving = g.role == RoleStatus::Resolving;
        let by_vote = config.options.cluster_type.is_by_vote();
        let named = |r: Option<&Replica>| r.map(|r| r.server_name.clone());
        let mut data = config.replicas.iter().filter(keeps_data);
        Some(Mirroring {
            id: convert::guid(config.id.0),
            database: database.name.clone(),
            is_witness: !own.keeps_data(),
            role: super::states::role(g.role),
            was_principal: resolving && config.primary == Some(g.me),
            no_quorum: resolving && by_vote && self.no_quorum,
            pending_failover: g.operational == OperationalState::PendingFailover,
            both_synchronized: data.clone().all(|r| database.synchronized.contains(&r.id)),
            safety_full: is_full(config),
            timeout_seconds: own.options.session_timeout_s,
            role_sequence: config.stamp.epoch.0 / keel_cluster::config::EPOCH_STEP,
            sequence: config.stamp.version,
            principal: named(config.primary.and_then(|p| config.replica(p))),
            mirror: named(data.find(|r| config.primary != Some(r.id))),
            own_url: own.options.endpoint_url.clone(),
            partner: partner.map(|r| shown(g, r)),
            witness: witness.filter(|_| own.keeps_data()).map(|r| shown(g, r)),
            local: status.filter(|_| own.keeps_data()).map(|d| self.local_copy(g, d)),
            remote: partner.filter(|_| g.role == RoleStatus::Primary).and_then(remote),
            traffic: traffic.unwrap_or_default(),
        })
    }
}

/// Another member: connected when it shows the session's configuration. One that has ended the session for itself does not.
fn shown(g: &GroupStatus, replica: &Replica) -> Partner {
    let status = g.replicas.iter().find(|s| s.replica == replica.id);
    Partner {
        server: replica.server_name.clone(),
        url: replica.options.endpoint_url.clone(),
        clients: replica.options.read_write_routing_url.as_deref().and_then(build::tcp_url),
        connected: status.is_some_and(|s| s.connected && s.stamp.is_some()),
    }
}
