//! CREATE, ALTER and DROP AVAILABILITY GROUP, and ALTER DATABASE … SET HADR: checked, then asked for.

use super::command::{Caller, GroupChange, HadrCommand};
use super::config::{AvailabilityMode, ClusterType, Containment, EndpointState, GroupSpec, ReplicaSpec};
use super::contained::{ContainedGroup, system_databases};
use super::state::{GroupState, HadrState, JoinState, Role, SyncState};
use super::{Guid, Hadr, ReplicaChange, build, check, distributed, errors};
use crate::catalog::fold;
use crate::engine::MASTER;
use crate::run::Runner;
use keel_parser::ast::{self, AvailabilityGroupAction as Action};
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// The replication side; 35221 on an instance that stands alone.
    pub(crate) fn hadr(&self) -> Result<Arc<dyn Hadr>> {
        self.info.engine.hadr().cloned().ok_or_else(errors::feature_off)
    }

    fn caller(&self) -> Caller {
        let context = self.info.shared.context.lock();
        let agent = context.get("external_cluster").and_then(|(v, _)| match v {
            Value::Variant(v) => v.1.as_str().map(str::to_owned),
            v => v.as_str().map(str::to_owned),
        });
        Caller {
            login: self.info.login().to_string(),
            external_cluster: agent.is_some_and(|v| v.eq_ignore_ascii_case("yes")),
        }
    }

    pub(super) fn ask(&mut self, hadr: &dyn Hadr, command: HadrCommand) -> Result<()> {
        match hadr.execute(&self.caller(), command) {
            // Messages that only inform have the form of errors.
            Err(e) if e.severity <= 10 => {
                self.report(&e);
                Ok(())
            }
            other => other,
        }
    }

    /// Error 47143 in the context of a contained group, for what only the instance has.
    pub(crate) fn of_the_instance(&self, statement: &str) -> Result<()> {
        match self.info.context() {
            Some(group) => Err(errors::not_in_context(statement, &group.name)),
            None => Ok(()),
        }
    }

    /// What all statements about groups need.
    fn group_ddl(&self, statement: &str) -> Result<Arc<dyn Hadr>> {
        self.of_the_instance(statement)?;
        if self.info.current_database().id != MASTER {
            return Err(errors::not_in_master());
        }
        let hadr = self.hadr()?;
        if self.info.transaction.borrow().count > 0 {
            return Err(crate::errors::not_in_user_transaction(statement));
        }
        Ok(hadr)
    }

    /// CREATE, ALTER, DROP AVAILABILITY GROUP
    pub(crate) fn availability_group(&mut self, s: &ast::AvailabilityGroupStatement) -> Result<()> {
        let name = s.name.text.as_str();
        let statement = match s.action {
            Action::Create { .. } => "CREATE AVAILABILITY GROUP",
            Action::Drop => "DROP AVAILABILITY GROUP",
            _ => "ALTER AVAILABILITY GROUP",
        };
        let hadr = self.group_ddl(statement)?;
        let state = hadr.state();
        match &s.action {
            Action::Create { .. } if !self.info.may_alter_group(None) => {
                return Err(crate::errors::no_permission(""));
            }
            Action::Create { .. } => {}
            Action::Drop => self.may_alter_group(&state, "drop", name)?,
            _ => self.may_alter_group(&state, "alter", name)?,
        }
        if matches!(s.action, Action::Create { .. } | Action::Join { .. }) {
            self.info.engine.begin_group_health();
        }
        if let Some(command) = distributed::command(&state, name, &s.action)? {
            if matches!(s.action, Action::Create { .. } | Action::JoinDistributed(_)) {
                self.warn_without_endpoint()?;
            }
            return self.ask(&*hadr, command);
        }
        match &s.action {
            Action::Create { options, databases, replicas, listener, .. } => {
                let spec = build::group(name, options, databases, replicas, listener.as_ref())?;
                self.check_new_group(&state, &spec)?;
                match spec.contained {
                    Some(how) => self.create_contained(&*hadr, spec, how),
                    None => self.ask(&*hadr, HadrCommand::CreateGroup(Box::new(spec))),
                }
            }
            Action::Drop => {
                // One that was dropped here alone is not shown, and may be dropped again.
                let group = state.group(name).map_or_else(|| name.to_owned(), |g| g.spec.name.clone());
                self.ask(&*hadr, HadrCommand::DropGroup { group })
            }
            action => match self.group_change(&state, name, action)? {
                Some(change) => {
                    let group = state.group(name).map_or_else(|| name.to_owned(), |g| g.spec.name.clone());
                    self.ask(&*hadr, HadrCommand::AlterGroup { group, change })
                }
                None => Ok(()),
            },
        }
    }

    /// Error 15151 for who may not change the group; whether it exists is not told either.
    pub(crate) fn may_alter_group(&self, state: &HadrState, verb: &str, name: &str) -> Result<()> {
        if self.info.may_alter_group(state.group(name).map(|g| g.id)) {
            return Ok(());
        }
        Err(crate::errors::cannot_alter_principal(verb, "availability group", name))
    }

    fn check_new_group(&mut self, state: &HadrState, spec: &GroupSpec) -> Result<()> {
        let engine = &self.info.engine;
        check::new_group(spec, &engine.options().server_name)?;
        if state.group(&spec.name).is_some() {
            return Err(errors::group_exists(&spec.name));
        }
        for database in &spec.databases {
            check::name_of_member(&spec.name, database)?;
            check::database(engine, state, &spec.name, database)?;
        }
        if let Some(how) = spec.contained {
            check::system_databases(engine, state, &spec.name, how)?;
        }
        self.warn_without_endpoint()
    }

    /// Makes the group's own `master` and `msdb`, and with them the group; neither stays without the other.
    fn create_contained(&mut self, hadr: &dyn Hadr, mut spec: GroupSpec, how: Containment) -> Result<()> {
        let engine = Arc::clone(&self.info.engine);
        let own = ContainedGroup::new([0; 16], &spec.name);
        if how == Containment::New {
            engine.make_system_databases(&own)?;
        }
        spec.databases.splice(..0, [own.master.to_string(), own.msdb.to_string()]);
        let done = self.ask(hadr, HadrCommand::CreateGroup(Box::new(spec)));
        // Nobody answered in time, and the group may be there all the same, or be made yet.
        let unanswered = done.as_ref().is_err_and(|e| e.number == errors::UNANSWERED);
        if done.is_err() && !unanswered && how == Containment::New {
            engine.drop_system_databases(&own);
        }
        done
    }

    /// A database that was made in the context of a contained group belongs to it, or is not made: nobody there would see it.
    pub(crate) fn put_into_context(&mut self, database: &str) -> Result<()> {
        let Some(group) = self.info.context().map(|group| group.name.to_string()) else { return Ok(()) };
        let change = GroupChange::AddDatabases(vec![database.to_owned()]);
        let hadr = self.hadr()?;
        let added = check::name_of_member(&group, database)
            .and_then(|()| self.ask(&*hadr, HadrCommand::AlterGroup { group, change }));
        if added.as_ref().is_err_and(|e| e.number != errors::UNANSWERED) {
            // The refusal is what counts; a database that stays all the same can be dropped by name.
            let _ = self.info.engine.drop_database(database);
        }
        added
    }

    /// A group without a started endpoint works once there is one; the product says so too.
    fn warn_without_endpoint(&mut self) -> Result<()> {
        let started = self.info.engine.endpoints()?.iter().any(|e| e.state == EndpointState::Started);
        if !started {
            self.report(&errors::no_mirroring_endpoint());
        }
        Ok(())
    }

    /// What an action changes, once it is allowed; `None` when it already is so.
    fn group_change(
        &mut self,
        state: &HadrState,
        name: &str,
        action: &Action,
    ) -> Result<Option<GroupChange>> {
        let engine = Arc::clone(&self.info.engine);
        Ok(Some(match action {
            Action::Set(options) => return self.set_option(state, name, options),
            Action::AddDatabase(databases) => {
                check::primary(state, name)?;
                let databases: Vec<String> = databases.iter().map(|d| d.text.to_string()).collect();
                for (i, database) in databases.iter().enumerate() {
                    if databases[..i].iter().any(|d| fold(d) == fold(database)) {
                        return Err(errors::database_twice(database));
                    }
                    check::name_of_member(name, database)?;
                    check::database(&engine, state, name, database)?;
                }
                GroupChange::AddDatabases(databases)
            }
            Action::RemoveDatabase(databases) => {
                let group = check::primary(state, name)?;
                let databases: Vec<String> = databases.iter().map(|d| d.text.to_string()).collect();
                let contained = group.contained();
                for database in &databases {
                    if contained.as_ref().is_some_and(|own| own.role_of(database).is_some()) {
                        return Err(errors::remove_system_database(database));
                    }
                    group.database(database).ok_or_else(|| errors::database_not_in_group(database, name))?;
                }
                GroupChange::RemoveDatabases(databases)
            }
            Action::AddReplica(replicas) => {
                GroupChange::AddReplicas(new_replicas(check::primary(state, name)?, replicas)?)
            }
            Action::ModifyReplica(replica) => return modify_replica(check::primary(state, name)?, replica),
            Action::RemoveReplica(server) => {
                let group = check::primary(state, name)?;
                let replica =
                    group.replica(server).ok_or_else(|| errors::replica_not_in_group(server, name))?;
                if replica.is_local {
                    return Err(errors::remove_local_replica(server, name));
                }
                GroupChange::RemoveReplica(replica.spec.server.clone())
            }
            Action::Join { cluster_type, rebuilds } => {
                if state
                    .group(name)
                    .and_then(GroupState::local)
                    .is_some_and(|r| r.join != JoinState::NotJoined)
                {
                    return Err(errors::replica_exists(name));
                }
                if *rebuilds {
                    self.remove_old_system_databases(state, name)?;
                }
                let word = cluster_type.as_deref().unwrap_or("WSFC");
                GroupChange::Join {
                    cluster_type: ClusterType::parse(word)
                        .ok_or_else(|| errors::cluster_type_mismatch(name))?,
                }
            }
            Action::GrantCreateAnyDatabase | Action::DenyCreateAnyDatabase => {
                let group = check::member(state, name)?;
                if group
                    .local()
                    .is_some_and(|r| r.spec.availability_mode == AvailabilityMode::ConfigurationOnly)
                {
                    return Err(errors::configuration_only_grant(name));
                }
                GroupChange::CreateAnyDatabase(matches!(action, Action::GrantCreateAnyDatabase))
            }
            Action::Failover => {
                self.check_failover(check::member(state, name)?)?;
                GroupChange::Failover
            }
            Action::ForceFailoverAllowDataLoss => {
                let group = check::member(state, name)?;
                self.check_target(group)?;
                GroupChange::ForceFailover
            }
            Action::Offline => {
                // A cluster manager's agent sends a secondary off line too.
                if check::member(state, name)?.spec.cluster_type != ClusterType::External {
                    check::primary(state, name)?;
                }
                GroupChange::Offline
            }
            Action::AddListener(listener) => {
                let group = check::primary(state, name)?;
                if let Some(first) = group.listeners.first() {
                    return Err(errors::second_listener(name, &first.spec.dns_name));
                }
                GroupChange::AddListener(build::listener(listener)?)
            }
            Action::ModifyListener { name: dns, change } => {
                let group = check::primary(state, name)?;
                let found = listener(group, dns)?;
                let change = build::listener_change(change)?;
                if matches!(change, super::ListenerChange::AddIp(_)) && found.spec.dhcp.is_some() {
                    return Err(errors::listener_dhcp(dns));
                }
                if let super::ListenerChange::Port(port) = change
                    && port == found.spec.port
                {
                    return Err(errors::listener_has_port(dns, name, port));
                }
                GroupChange::ModifyListener { dns_name: found.spec.dns_name.clone(), change }
            }
            Action::RestartListener(dns) => GroupChange::RestartListener(
                listener(check::primary(state, name)?, dns)?.spec.dns_name.clone(),
            ),
            Action::RemoveListener(dns) => GroupChange::RemoveListener(
                listener(check::primary(state, name)?, dns)?.spec.dns_name.clone(),
            ),
            Action::Create { .. }
            | Action::Drop
            | Action::JoinDistributed(_)
            | Action::ModifyDistributed(_) => {
                unreachable!("went another way")
            }
        }))
    }

    /// REBUILD_SYSTEM_DATABASES: what an earlier group of the name has left here goes, and is seeded from the primary.
    fn remove_old_system_databases(&self, state: &HadrState, group: &str) -> Result<()> {
        let engine = &self.info.engine;
        let left = |name: &String| {
            let entry = engine.database(name);
            entry.is_some_and(|e| e.picture().settings().system.is_some()) && state.group_of(name).is_none()
        };
        system_databases(group)
            .iter()
            .filter(|name| left(name))
            .try_for_each(|name| engine.drop_database(name))
    }

    /// `None`: the group or the agent has it so already.
    fn set_option(
        &mut self,
        state: &HadrState,
        name: &str,
        options: &[ast::Opt],
    ) -> Result<Option<GroupChange>> {
        let group = check::member(state, name)?;
        // One option per statement.
        let [option] = options else {
            let near = options.get(1).map_or(")", |o| o.name.as_str());
            return Err(keel_types::SqlError::new(102, 15, 1, format!("Incorrect syntax near '{near}'.")));
        };
        let change = build::group_option(option)?;
        let managed = group.spec.cluster_type == ClusterType::External;
        if matches!(change, GroupChange::RoleSecondary) {
            // Also where a deposed primary is resolving, and where a replica waits for its manager's word.
            let refused = group.role == Role::Secondary && !managed;
            return if refused { Err(errors::not_primary(name)) } else { Ok(Some(change)) };
        }
        if let GroupChange::WriteLeaseValidity(seconds) = &change
            && managed
        {
            // The agent renews the lease wherever it is about to promote, and on the primary every few seconds.
            let now = group.spec.write_lease_seconds.ok_or_else(|| errors::external_lease_off(name))?;
            let changes = now != *seconds && group.role == Role::Primary;
            return Ok(Some(change).filter(|_| changes));
        }
        check::primary(state, name)?;
        match &change {
            GroupChange::RequiredSynchronizedSecondaries(n) => {
                check::required_secondaries(*n, group.replicas.len())?;
            }
            GroupChange::WriteLeaseValidity(_) => return Err(errors::write_lease_needs_external()),
            _ => {}
        }
        Ok(Some(change))
    }

    /// Error 47104 where a cluster manager moves the roles, for whoever is not its agent.
    pub(crate) fn leaves_it_to_the_manager(&self, group: &GroupState) -> Result<()> {
        let managed = group.spec.cluster_type == ClusterType::External;
        if managed && !self.caller().external_cluster {
            return Err(errors::use_cluster_tools(&group.spec.name));
        }
        Ok(())
    }

    fn check_target(&self, group: &GroupState) -> Result<()> {
        let name = &group.spec.name;
        if group.role == Role::Primary {
            return Err(errors::already_primary(name));
        }
        self.leaves_it_to_the_manager(group)?;
        if group.local().is_some_and(|r| r.spec.availability_mode == AvailabilityMode::ConfigurationOnly) {
            return Err(errors::configuration_only_primary(&self.info.engine.options().server_name));
        }
        Ok(())
    }

    /// FAILOVER loses nothing: every database here must be recorded as synchronized.
    fn check_failover(&self, group: &GroupState) -> Result<()> {
        let name = &group.spec.name;
        self.check_target(group)?;
        if group.spec.cluster_type == ClusterType::None {
            return Err(errors::none_supports_force(name));
        }
        let Some(local) = group.local() else { return Err(errors::not_ready(name)) };
        let ready = group.databases.iter().all(|d| {
            local.database(d.id).is_some_and(|c| c.joined && c.failover_ready && c.suspended.is_none())
        });
        if local.spec.availability_mode != AvailabilityMode::Synchronous || !ready {
            return Err(errors::not_ready(name));
        }
        Ok(())
    }

    /// ALTER DATABASE … SET HADR …
    pub(crate) fn set_hadr(&mut self, database: &str, action: &ast::HadrAction) -> Result<()> {
        let hadr = self.hadr()?;
        if self.info.transaction.borrow().count > 0 {
            return Err(crate::errors::not_in_user_transaction("ALTER DATABASE"));
        }
        let state = hadr.state();
        let database =
            self.info.engine.database(database).map_or_else(|| database.to_owned(), |e| e.name().to_string());
        let member = state.group_of(&database);
        // Who may alter the group moves and stops its copies; who may alter the database was let through before.
        let group = match action {
            ast::HadrAction::Join { group } => state.group(&group.text),
            _ => member.map(|(group, _)| group),
        };
        if !self.info.may_alter_group(group.map(|g| g.id)) && !self.may_alter_database(&database) {
            return Err(crate::errors::cannot_alter_database(database));
        }
        let command = match action {
            ast::HadrAction::Join { .. }
                if state.mirroring_of(&database).is_some() || state.expected_of(&database).is_some() =>
            {
                return Err(errors::operation_refused(&database));
            }
            ast::HadrAction::Join { group } => {
                let group = check::member(&state, &group.text)?;
                check_join(group, &database)?;
                HadrCommand::JoinDatabase { database, group: group.spec.name.clone() }
            }
            ast::HadrAction::Off => {
                let (group, _) = member.ok_or_else(|| errors::not_joined("OFF", &database))?;
                if group.writes() {
                    return Err(errors::join_on_primary(&database, &group.spec.name));
                }
                HadrCommand::LeaveDatabase { database }
            }
            ast::HadrAction::Suspend => {
                member.ok_or_else(|| errors::suspend_refused("SUSPEND", &database))?;
                HadrCommand::Suspend { database }
            }
            ast::HadrAction::Resume => {
                member.ok_or_else(|| errors::suspend_refused("RESUME", &database))?;
                HadrCommand::Resume { database }
            }
        };
        self.ask(&*hadr, command)
    }

    /// What may not be done to a database while it is a member: 957, 3752, 1468.
    pub(crate) fn not_a_member(
        &self,
        database: &str,
        error: impl FnOnce(&str) -> Box<keel_types::SqlError>,
    ) -> Result<()> {
        let Some(hadr) = self.info.engine.hadr() else { return Ok(()) };
        let state = hadr.state();
        if state.mirroring_of(database).is_some() {
            return Err(error(database));
        }
        match state.group_of(database) {
            Some((group, member)) if !self.has_left(group, member.id, database) => Err(error(database)),
            _ => Ok(()),
        }
    }

    /// Whether the copy here waits for log, after SET HADR OFF: it is none of the group's any more.
    fn has_left(&self, group: &GroupState, member: Guid, database: &str) -> bool {
        let joined = group.local().and_then(|r| r.database(member)).is_some_and(|copy| copy.joined);
        let restoring = self.info.engine.database(database).is_some_and(|entry| entry.is_restoring());
        !group.writes() && !joined && restoring
    }
}

fn check_join(group: &GroupState, database: &str) -> Result<()> {
    let name = &group.spec.name;
    let member = group.database(database).ok_or_else(|| errors::join_unknown_database(database, name))?;
    let copy = group.local().and_then(|r| r.database(member.id));
    // A primary that leads without the database, because it was taken out before, takes it back.
    if group.writes() && copy.is_none_or(|c| c.joined) {
        return Err(errors::join_on_primary(database, name));
    }
    if copy.is_some_and(|c| c.joined && c.sync != SyncState::NotSynchronizing) {
        return Err(errors::already_joined(name));
    }
    Ok(())
}

fn listener<'a>(group: &'a GroupState, dns: &str) -> Result<&'a super::state::ListenerState> {
    let found = group.listeners.iter().find(|l| fold(&l.spec.dns_name) == fold(dns));
    found.ok_or_else(|| errors::no_listener(dns, &group.spec.name))
}

fn specs(group: &GroupState) -> Vec<ReplicaSpec> {
    group.replicas.iter().map(|r| r.spec.clone()).collect()
}

fn new_replicas(group: &GroupState, written: &[ast::ReplicaSpec]) -> Result<Vec<ReplicaSpec>> {
    let name = &group.spec.name;
    let mut all = specs(group);
    for replica in written {
        if group.replica(&replica.name).is_some() {
            return Err(errors::replica_in_group(&replica.name, name));
        }
        let spec = build::replica(replica, &group.spec)?;
        if all.iter().any(|r| fold(&r.server) == fold(&spec.server)) {
            return Err(errors::server_twice(&spec.server));
        }
        all.push(spec);
    }
    let data = all.iter().filter(|r| r.availability_mode != AvailabilityMode::ConfigurationOnly).count();
    if data > check::REPLICAS_MAX {
        return Err(errors::too_many_replicas_add(written.len(), name, check::REPLICAS_MAX));
    }
    check::replicas(&all, &group.spec, "ALTER AVAILABILITY GROUP ADD REPLICA")?;
    Ok(all.split_off(group.replicas.len()))
}

fn modify_replica(group: &GroupState, written: &ast::ReplicaSpec) -> Result<Option<GroupChange>> {
    const OPERATION: &str = "ALTER AVAILABILITY GROUP MODIFY REPLICA";
    let name = &group.spec.name;
    let server = written.name.as_str();
    let replica = group.replica(server).ok_or_else(|| errors::no_replica(server, name))?;
    let mut changes = Vec::new();
    for option in &written.options {
        changes.extend(build::replica_option(option, server, name, OPERATION)?);
    }
    let change = match <[ReplicaChange; 1]>::try_from(changes) {
        Ok([change]) => change,
        // One option per statement.
        Err(_) => return Err(keel_types::SqlError::new(102, 15, 1, "Incorrect syntax near ','.")),
    };
    let only_configuration = AvailabilityMode::ConfigurationOnly;
    if replica.spec.availability_mode == only_configuration
        && !matches!(change, ReplicaChange::SessionTimeout(_))
    {
        return Err(errors::configuration_only_options(server));
    }
    if matches!(change, ReplicaChange::AvailabilityMode(mode) if mode == only_configuration) {
        return Err(errors::configuration_only_fixed(server));
    }
    if matches!(change, ReplicaChange::AvailabilityMode(AvailabilityMode::Asynchronous))
        && group.spec.required_synchronized_secondaries > 0
    {
        return Err(errors::synchronized_secondaries_required(name));
    }
    let mut all = specs(group);
    for spec in all.iter_mut().filter(|r| fold(&r.server) == fold(server)) {
        let before = spec.clone();
        build::apply(spec, change.clone());
        // SEEDING_MODE = AUTOMATIC set again is the way to retry seeding.
        if *spec == before && !matches!(change, ReplicaChange::SeedingMode(_)) {
            return Err(errors::unchanged(name));
        }
    }
    check::replicas(&all, &group.spec, OPERATION)?;
    Ok(Some(GroupChange::ModifyReplica { server: replica.spec.server.clone(), change }))
}
