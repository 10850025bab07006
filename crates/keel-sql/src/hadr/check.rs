//! The product's rules about groups, before anything is done: pure functions of a specification and of what is there.

use super::config::{
    AvailabilityMode, ClusterType, Containment, FailoverMode, GroupSpec, ReplicaSpec, SecondaryConnections,
};
use super::state::{GroupState, HadrState, Role};
use super::{contained, errors};
use crate::catalog::fold;
use crate::engine::{DatabaseEntry, Engine, MSDB};
use keel_types::error::Result;

/// Replicas of a group, configuration-only ones not counted.
pub const REPLICAS_MAX: usize = 9;
/// Synchronous replicas of a group, the primary included.
const SYNCHRONOUS_MAX: usize = 5;
/// Replicas that fail over by themselves, the primary included.
const AUTOMATIC_MAX: usize = 5;

fn same(a: &str, b: &str) -> bool {
    fold(a) == fold(b)
}

/// A whole group as CREATE wants it. `local` is `@@SERVERNAME`.
pub fn new_group(spec: &GroupSpec, local: &str) -> Result<()> {
    for (i, replica) in spec.replicas.iter().enumerate() {
        if spec.replicas[..i].iter().any(|r| same(&r.server, &replica.server)) {
            return Err(errors::server_twice(&replica.server));
        }
    }
    for (i, database) in spec.databases.iter().enumerate() {
        if spec.databases[..i].iter().any(|d| same(d, database)) {
            return Err(errors::database_twice(database));
        }
    }
    let data = spec.replicas.iter().filter(|r| r.availability_mode != AvailabilityMode::ConfigurationOnly);
    if data.count() > REPLICAS_MAX {
        return Err(errors::too_many_replicas(spec.replicas.len(), REPLICAS_MAX));
    }
    let Some(own) = spec.replicas.iter().find(|r| same(&r.server, local)) else {
        return Err(errors::local_server_missing());
    };
    if own.availability_mode == AvailabilityMode::ConfigurationOnly {
        return Err(errors::configuration_only_primary(&own.server));
    }
    if spec.write_lease_seconds.is_some() && spec.cluster_type != ClusterType::External {
        return Err(errors::write_lease_needs_external());
    }
    if spec.basic && spec.contained.is_some() {
        return Err(errors::contained_basic());
    }
    if spec.basic {
        let reads = spec.replicas.iter().any(|r| r.secondary_connections != SecondaryConnections::No);
        if spec.databases.len() > 1 || spec.replicas.len() > 2 || reads {
            return Err(errors::basic_limits());
        }
    }
    replicas(&spec.replicas, spec, "CREATE AVAILABILITY GROUP")
}

/// Replicas together: modes, limits, routing lists.
pub fn replicas(replicas: &[ReplicaSpec], group: &GroupSpec, operation: &str) -> Result<()> {
    for replica in replicas {
        one_replica(replica, group.cluster_type)?;
    }
    let synchronous = replicas.iter().filter(|r| r.availability_mode == AvailabilityMode::Synchronous);
    let synchronous = synchronous.count();
    if synchronous > SYNCHRONOUS_MAX {
        return Err(errors::too_many_synchronous(operation, SYNCHRONOUS_MAX, &group.name));
    }
    if replicas.iter().filter(|r| r.failover_mode == FailoverMode::Automatic).count() > AUTOMATIC_MAX {
        return Err(errors::too_many_automatic(operation, AUTOMATIC_MAX, &group.name));
    }
    let configuration_only =
        replicas.iter().filter(|r| r.availability_mode == AvailabilityMode::ConfigurationOnly).count();
    if configuration_only > 1 {
        return Err(errors::second_configuration_only(&group.name));
    }
    if configuration_only == 1 && (synchronous != 2 || group.required_synchronized_secondaries != 0) {
        return Err(errors::configuration_only_required(&group.name));
    }
    required_secondaries(group.required_synchronized_secondaries, replicas.len())?;
    for replica in replicas {
        routing_list(&replica.server, &replica.read_only_routing_list, replicas, &group.name)?;
    }
    Ok(())
}

/// REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT against the number of replicas.
pub fn required_secondaries(required: u32, replicas: usize) -> Result<()> {
    let most = replicas.saturating_sub(1);
    if usize::try_from(required).unwrap_or(usize::MAX) > most {
        return Err(errors::bad_required_secondaries(required, most));
    }
    Ok(())
}

fn one_replica(replica: &ReplicaSpec, cluster: ClusterType) -> Result<()> {
    let server = &replica.server;
    if replica.availability_mode == AvailabilityMode::ConfigurationOnly {
        return match cluster {
            ClusterType::Wsfc => Err(errors::configuration_only_needs_external(server)),
            _ => Ok(()),
        };
    }
    match (cluster, replica.failover_mode) {
        (ClusterType::Wsfc, FailoverMode::External) => Err(errors::wsfc_needs_automatic_or_manual(server)),
        (ClusterType::External, FailoverMode::Automatic | FailoverMode::Manual) => {
            Err(errors::external_needs_external(server))
        }
        (ClusterType::None, FailoverMode::Automatic | FailoverMode::External) => {
            Err(errors::none_needs_manual(server))
        }
        (_, FailoverMode::Automatic) if replica.availability_mode == AvailabilityMode::Asynchronous => {
            Err(errors::automatic_needs_synchronous(server))
        }
        _ => Ok(()),
    }
}

/// A routing list against the group's replicas.
fn routing_list(owner: &str, list: &[Vec<String>], replicas: &[ReplicaSpec], group: &str) -> Result<()> {
    let mut seen: Vec<&String> = Vec::new();
    for server in list.iter().flatten() {
        if seen.iter().any(|s| same(s, server)) {
            return Err(errors::routing_twice(server, owner));
        }
        seen.push(server);
        match replicas.iter().find(|r| same(&r.server, server)) {
            None => return Err(errors::routing_unknown(server, owner, group)),
            Some(r) if r.read_only_routing_url.is_none() => {
                return Err(errors::routing_without_url(server, owner));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

/// The group of that name, if this instance is a member.
pub fn member<'a>(state: &'a HadrState, group: &str) -> Result<&'a GroupState> {
    state.group(group).ok_or_else(|| errors::no_group(group))
}

/// The group of that name, if its primary is here.
pub fn primary<'a>(state: &'a HadrState, group: &str) -> Result<&'a GroupState> {
    let found = member(state, group)?;
    if found.role == Role::Primary { Ok(found) } else { Err(errors::not_primary(group)) }
}

/// Error 47136 for a database by whose name the group would become contained.
pub fn name_of_member(group: &str, database: &str) -> Result<()> {
    if contained::system_databases(group).iter().any(|own| same(own, database)) {
        return Err(errors::name_of_system_database(database, group));
    }
    Ok(())
}

/// Whether the system databases of a group that is to be contained can be made, or are there to be used again.
pub fn system_databases(engine: &Engine, state: &HadrState, group: &str, how: Containment) -> Result<()> {
    for name in contained::system_databases(group) {
        let entry = engine.database(&name);
        match how {
            Containment::New if entry.is_some() => return Err(errors::system_database_exists(name)),
            Containment::New => {}
            Containment::Reuse => {
                let own = entry.filter(|entry| entry.picture().settings().system.is_some());
                own.ok_or_else(|| errors::no_system_database(&name))?;
                database(engine, state, group, &name)?;
            }
        }
    }
    Ok(())
}

/// Whether a database may become a member of a group.
pub fn database(engine: &Engine, state: &HadrState, group: &str, name: &str) -> Result<()> {
    let Some(entry) = engine.database(name) else { return Err(errors::no_database(name)) };
    if entry.id.0 <= MSDB.0 {
        return Err(errors::system_database(name));
    }
    match state.group_of(name) {
        Some((other, _)) if same(&other.spec.name, group) => {
            return Err(errors::database_in_group(name, group));
        }
        Some(_) => return Err(errors::in_other_group(name, group)),
        None => {}
    }
    if state.mirroring_of(name).is_some() || state.expected_of(name).is_some() {
        return Err(errors::operation_refused(name));
    }
    settings(&entry)
}

/// What its settings have to do with it.
pub fn settings(entry: &DatabaseEntry) -> Result<()> {
    let picture = entry.picture();
    let (settings, name) = (picture.settings(), entry.name());
    if settings.offline {
        return Err(errors::database_not_online(name));
    }
    if settings.read_only {
        return Err(errors::database_is_read_only(name));
    }
    if settings.recovery != "FULL" {
        return Err(errors::not_full_recovery(name));
    }
    if settings.flags.get("AUTO_CLOSE").copied().unwrap_or(false) {
        return Err(errors::auto_close(name));
    }
    if settings.user_access == "SINGLE_USER" {
        return Err(errors::single_user(name));
    }
    Ok(())
}
