//! A statement's request becomes commands to the cluster's machine; what it refuses gets the product's numbers.

use std::time::{Duration, Instant};

use keel_base::Epoch;
use keel_cluster::{
    Command, CommandError, GroupConfig, GroupDatabase, GroupDatabaseId, GroupId, GroupStatus, Replica,
    ReplicaId, RoleStatus,
};
use keel_group::CommandFailure;
use keel_sql::hadr::cluster::ClusterChange;
use keel_sql::hadr::{
    GroupChange, GroupSpec, HadrCommand, ListenerChange, ListenerSpec, ReplicaChange, build, errors,
};
use keel_types::SqlError;
use keel_types::error::Result;
use uuid::Uuid;

use super::{Replication, convert};

/// How long a command may take: a failover that waits for redo, a join that waits for a configuration.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How often whoever waits for a change of role looks.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Whom a refusal is about.
#[derive(Clone, Copy)]
pub(super) struct About<'a> {
    pub(super) group: &'a str,
    pub(super) server: &'a str,
    pub(super) database: &'a str,
}

impl<'a> About<'a> {
    fn group(group: &'a str) -> About<'a> {
        About { group, server: "", database: "" }
    }
}

impl Replication {
    /// Carries out a statement's request.
    pub(super) fn carry_out(&self, command: HadrCommand) -> Result<()> {
        match command {
            HadrCommand::CreateGroup(spec) => self.create_group(&spec),
            HadrCommand::DropGroup { group } => {
                let dropped_here = |error| self.groups.dropped_here(&group).ok_or(error);
                let id = self.config(&group).map(|config| config.id).or_else(dropped_here)?;
                self.give(Command::DropGroup { group: id }, About::group(&group))
            }
            HadrCommand::AlterGroup { group, change } => self.alter_group(&group, change),
            HadrCommand::JoinDatabase { database, group } => {
                self.on_database(&database, &group, |database| Command::JoinDatabase { database })
            }
            HadrCommand::LeaveDatabase { database } => {
                self.on_database(&database, "", |database| Command::LeaveDatabase { database })?;
                self.until_left(&database)
            }
            HadrCommand::Suspend { database } => {
                self.on_database(&database, "", |database| Command::Suspend { database })
            }
            HadrCommand::Resume { database } => {
                self.on_database(&database, "", |database| Command::Resume { database })
            }
            HadrCommand::SetEndpoint(spec) => self.set_endpoint(&spec),
            HadrCommand::DropEndpoint => self.drop_endpoint(),
            HadrCommand::Mirror { database, change } => self.mirror(&database, change),
            HadrCommand::Distributed { name, local, change } => self.distributed(&name, &local, change),
            HadrCommand::Cluster(change) => self.change_cluster(change),
        }
    }

    fn change_cluster(&self, change: ClusterChange) -> Result<()> {
        match change {
            ClusterChange::FailOver { group, to, force } => {
                let id = self.config(&group)?.id;
                let to = to.unwrap_or_else(|| self.groups.server_name().to_owned());
                let about = About { server: &to, ..About::group(&group) };
                self.groups.fail_over_to(id, &to, force).map_err(|e| refusal(&e, about))
            }
            ClusterChange::ForceQuorum => self.give(Command::ForceQuorum, About::group("")),
            ClusterChange::RemoveNode { name } => {
                let about = About { server: &name, ..About::group("") };
                self.groups.remove_member(&name).map_err(|e| refusal(&e, about))
            }
        }
    }

    /// Makes this instance the first member of a cluster, unless it is in one.
    pub(super) fn form_cluster(&self, url: &str) -> Result<()> {
        self.groups.form_cluster(url).map_err(|e| refusal(&e, About::group("")))
    }

    pub(super) fn give(&self, command: Command, about: About<'_>) -> Result<()> {
        self.groups.command(command, TIMEOUT).map_err(|e| refusal(&e, about))
    }

    /// A group's configuration by name; those of mirroring sessions have none that could be said.
    pub(super) fn config(&self, group: &str) -> Result<GroupConfig> {
        let groups = self.groups.state().groups.into_iter();
        let found = groups.filter(|g| !super::states::is_mirroring(g)).map(|g| g.config);
        found.into_iter().find(|c| c.name.eq_ignore_ascii_case(group)).ok_or_else(|| errors::no_group(group))
    }

    fn create_group(&self, spec: &GroupSpec) -> Result<()> {
        let id = GroupId(Uuid::new_v4());
        let mut config = GroupConfig::new(id, spec.name.clone(), convert::to_options(spec));
        for replica in &spec.replicas {
            let options = convert::to_replica(replica);
            config.replicas.push(Replica::new(ReplicaId(Uuid::new_v4()), replica.server.clone(), options));
        }
        config.listeners = spec.listener.iter().map(convert::to_listener).collect();
        let mut newest = Epoch(0);
        for name in &spec.databases {
            let (database, epoch) = self.new_database(name)?;
            config.databases.push(database);
            newest = newest.max(epoch);
        }
        if let Some(own) = config.replica_named(self.groups.server_name()) {
            self.groups.set_endpoint_url(&own.options.endpoint_url);
        }
        let command = Command::CreateGroup { config: Box::new(config), log_epoch: newest };
        self.give(command, About::group(&spec.name))?;
        if spec.listener.is_some() { self.listener_settled(id) } else { Ok(()) }
    }

    /// A local database as a member to be, known to the groups, and the newest epoch of its log.
    fn new_database(&self, name: &str) -> Result<(GroupDatabase, Epoch)> {
        let engine = self.engine()?;
        let entry = engine.database(name).ok_or_else(|| errors::no_database(name))?;
        let log = entry.store.log().ok_or_else(|| errors::system_database(name))?;
        let id = GroupDatabaseId(Uuid::new_v4());
        let database = GroupDatabase::new(id, entry.name().to_string(), log.log_id());
        self.groups.register_database(&entry.name(), &entry.store);
        Ok((database, log.epoch()))
    }

    fn on_database(
        &self,
        name: &str,
        group: &str,
        command: impl FnOnce(GroupDatabaseId) -> Command,
    ) -> Result<()> {
        let configs = self.groups.state().groups.into_iter().map(|g| g.config);
        let found = configs.into_iter().find_map(|c| {
            let id = c.databases.iter().find(|d| d.name.eq_ignore_ascii_case(name))?.id;
            Some((c.name.clone(), id))
        });
        let (group, id) = found.ok_or_else(|| errors::join_unknown_database(name, group))?;
        if let Some(entry) = self.engine()?.database(name) {
            self.groups.register_database(&entry.name(), &entry.store);
        }
        self.give(command(id), About { group: &group, server: "", database: name })
    }

    /// Returns when a copy that was told to leave its group has left it: the next statement may drop it. A worker of the groups is on it.
    pub(super) fn until_left(&self, name: &str) -> Result<()> {
        let Some(entry) = self.engine()?.database(name) else { return Ok(()) };
        let end = Instant::now() + TIMEOUT;
        while !entry.is_restoring() && !entry.is_dropped() {
            if Instant::now() > end {
                return Err(refusal(
                    &CommandFailure::Unanswered,
                    About { database: name, ..About::group("") },
                ));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn alter_group(&self, group: &str, change: GroupChange) -> Result<()> {
        if let GroupChange::Join { cluster_type } = change {
            let cluster_type = Some(convert::to_cluster_type(cluster_type));
            return self.give(Command::Join { name: group.to_owned(), cluster_type }, About::group(group));
        }
        let config = self.config(group)?;
        let (id, about) = (config.id, About::group(group));
        match change {
            GroupChange::Join { .. } => unreachable!("went its own way"),
            GroupChange::RoleSecondary if !self.gives_up(&config) => {
                self.give(Command::Follow { group: id }, about)
            }
            GroupChange::RoleSecondary | GroupChange::Offline => {
                self.give(Command::Offline { group: id }, about)
            }
            GroupChange::Failover => self.give(Command::Failover { group: id }, about),
            GroupChange::ForceFailover => self.give(Command::ForceFailover { group: id }, about),
            GroupChange::CreateAnyDatabase(allowed) => {
                self.give(Command::AllowCreate { group: id, allowed }, about)
            }
            GroupChange::AddDatabases(names) => names.iter().try_for_each(|name| {
                let (database, log_epoch) = self.new_database(name)?;
                let command = Command::AddDatabase { group: id, database: Box::new(database), log_epoch };
                self.give(command, About { database: name, ..about })
            }),
            GroupChange::RemoveDatabases(names) => names.iter().try_for_each(|name| {
                let found = config.databases.iter().find(|d| d.name.eq_ignore_ascii_case(name));
                let database = found.ok_or_else(|| errors::database_not_in_group(name, group))?.id;
                self.give(Command::RemoveDatabase { database }, About { database: name, ..about })
            }),
            GroupChange::AddReplicas(specs) => specs.iter().try_for_each(|spec| {
                let options = convert::to_replica(spec);
                let replica = Replica::new(ReplicaId(Uuid::new_v4()), spec.server.clone(), options);
                let command = Command::AddReplica { group: id, replica: Box::new(replica) };
                self.give(command, About { server: &spec.server, ..about })
            }),
            GroupChange::RemoveReplica(server) => {
                let replica = named(&config, &server)?.id;
                let command = Command::RemoveReplica { group: id, replica };
                self.give(command, About { server: &server, ..about })
            }
            GroupChange::ModifyReplica { server, change } => self.modify_replica(&config, &server, change),
            GroupChange::AddListener(_)
            | GroupChange::ModifyListener { .. }
            | GroupChange::RemoveListener(_)
            | GroupChange::RestartListener(_) => self.change_listener(&config, change),
            option => self.set_option(&config, option),
        }
    }

    /// Whether SET (ROLE = SECONDARY) takes a role away here; else it tells a replica that waited for its cluster manager to follow.
    fn gives_up(&self, config: &GroupConfig) -> bool {
        let managed = config.options.cluster_type == keel_cluster::ClusterType::External;
        let groups = self.groups.state().groups;
        let leads = |g: &GroupStatus| g.config.id == config.id && g.role == RoleStatus::Primary;
        !managed || groups.iter().any(leads)
    }

    fn set_option(&self, config: &GroupConfig, change: GroupChange) -> Result<()> {
        let mut options = config.options.clone();
        match change {
            GroupChange::BackupPreference(v) => options.backup_preference = convert::to_preference(v),
            GroupChange::FailureConditionLevel(v) => options.failure_condition_level = v,
            GroupChange::HealthCheckTimeout(v) => options.health_check_timeout_ms = v,
            GroupChange::DbFailover(v) => options.db_failover = v,
            GroupChange::DtcSupport(v) => options.dtc_support = convert::to_dtc(v),
            GroupChange::RequiredSynchronizedSecondaries(v) => {
                options.required_synchronized_secondaries = convert::required(v);
            }
            GroupChange::WriteLeaseValidity(v) => options.write_lease_validity_s = Some(v),
            GroupChange::ClusterConnectionOptions(v) => options.cluster_connection_options = Some(v),
            _ => unreachable!("is not an option of SET"),
        }
        let command = Command::SetOptions { group: config.id, options: Box::new(options) };
        self.give(command, About::group(&config.name))
    }

    fn modify_replica(&self, config: &GroupConfig, server: &str, change: ReplicaChange) -> Result<()> {
        let replica = named(config, server)?;
        let mut spec = convert::from_replica(replica);
        build::apply(&mut spec, change);
        let options = Box::new(convert::to_replica(&spec));
        let command = Command::ModifyReplica { group: config.id, replica: replica.id, options };
        self.give(command, About { server, ..About::group(&config.name) })
    }

    fn change_listener(&self, config: &GroupConfig, change: GroupChange) -> Result<()> {
        let mut listeners: Vec<_> = config.listeners.iter().map(convert::from_listener).collect();
        let at = |listeners: &[ListenerSpec], name: &str| {
            let at = listeners.iter().position(|l| l.dns_name.eq_ignore_ascii_case(name));
            at.ok_or_else(|| errors::no_listener(name, &config.name))
        };
        match change {
            GroupChange::AddListener(spec) => listeners.push(spec),
            GroupChange::RemoveListener(name) => {
                let at = at(&listeners, &name)?;
                listeners.remove(at);
            }
            GroupChange::ModifyListener { dns_name, change } => {
                let at = at(&listeners, &dns_name)?;
                modify_listener(&mut listeners[at], change)?;
            }
            GroupChange::RestartListener(name) => {
                at(&listeners, &name)?;
                return self.restart_listener(config.id);
            }
            _ => unreachable!("is not about a listener"),
        }
        let listeners = listeners.iter().map(convert::to_listener).collect();
        let command = Command::SetListeners { group: config.id, listeners };
        self.give(command, About::group(&config.name))?;
        self.listener_settled(config.id)
    }
}

fn modify_listener(listener: &mut ListenerSpec, change: ListenerChange) -> Result<()> {
    let addresses = &mut listener.addresses;
    match change {
        ListenerChange::AddIp(ip) if addresses.contains(&ip) => {
            return Err(errors::listener_ip_twice(ip.address));
        }
        ListenerChange::AddIp(ip) => addresses.push(ip),
        ListenerChange::RemoveIp(ip) => {
            let before = addresses.len();
            addresses.retain(|a| a.address != ip.address);
            if addresses.len() == before {
                return Err(errors::bad_listener_ip(ip.address));
            }
        }
        ListenerChange::Port(new) => listener.port = new,
    }
    Ok(())
}

fn named<'a>(config: &'a GroupConfig, server: &str) -> Result<&'a Replica> {
    config.replica_named(server).ok_or_else(|| errors::no_replica(server, &config.name))
}

/// The product's error for a refusal.
fn refusal(failure: &CommandFailure, about: About<'_>) -> Box<SqlError> {
    let About { group, server, database } = about;
    let refused = match failure {
        CommandFailure::Refused(refused) => refused,
        CommandFailure::NotConnected(_) => return errors::no_connection_to(server),
        CommandFailure::Unanswered => return errors::unanswered(group),
    };
    match refused {
        CommandError::NoSuchGroup => errors::no_group(group),
        CommandError::DropIncomplete => errors::drop_incomplete(group),
        CommandError::GroupExists => errors::group_exists(group),
        CommandError::NotPrimary if !database.is_empty() => errors::database_primary_only(database),
        CommandError::NotPrimary => errors::not_primary(group),
        CommandError::IsPrimary if !database.is_empty() => errors::join_on_primary(database, group),
        CommandError::IsPrimary => errors::already_primary(group),
        CommandError::LocalServerMissing => errors::local_server_missing(),
        CommandError::ReplicaExists => errors::replica_in_group(server, group),
        CommandError::NoSuchReplica => errors::replica_not_in_group(server, group),
        CommandError::CannotRemovePrimary => errors::remove_local_replica(server, group),
        CommandError::DatabaseExists => errors::database_in_group(database, group),
        CommandError::NoSuchDatabase => errors::database_not_in_group(database, group),
        CommandError::NotSynchronized | CommandError::NotSynchronousMode => errors::not_ready(group),
        CommandError::PrimaryNotConnected => errors::primary_not_active(),
        CommandError::ClusterTypeMismatch => errors::cluster_type_mismatch(group),
        CommandError::JoinTimedOut => errors::join_timeout(group),
        CommandError::NotAMember => errors::no_group_to_join(group),
        CommandError::Busy => errors::failover_pending(group),
        CommandError::TooManyRequired => errors::synchronized_secondaries_required(group),
        CommandError::ForcedQuorum => errors::forced_quorum(group),
        CommandError::NoCluster => errors::no_cluster(),
        CommandError::NoSuchMember => errors::no_cluster_node(server),
        CommandError::ClusterExists
        | CommandError::OtherCluster
        | CommandError::MemberExists
        | CommandError::MemberNotConnected
        | CommandError::MemberHasReplicas
        | CommandError::LastMember
        | CommandError::ClusterTimedOut => errors::cluster_change_refused(refused),
        CommandError::InDistributed => errors::distributed_on_same(group),
        CommandError::HasDatabases => errors::distributed_not_empty(group, server),
        CommandError::ConfigurationOnly => errors::configuration_only_primary(server),
        CommandError::NoQuorum => errors::no_cluster_quorum(group),
        CommandError::FailoverTimedOut | CommandError::Failed => errors::failover_failed(group),
    }
}
