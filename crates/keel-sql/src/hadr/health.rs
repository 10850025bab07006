//! Synchronization health, rolled up from database to replica to group as the product does.

use super::config::AvailabilityMode;
use super::state::{DatabaseReplicaState, GroupState, Health, ReplicaState, Role, SyncState};

/// Of one copy, against what its replica is configured to be.
#[must_use]
pub fn database(mode: AvailabilityMode, copy: &DatabaseReplicaState) -> Health {
    match (mode, copy.sync) {
        (_, SyncState::NotSynchronizing) => Health::NotHealthy,
        (_, SyncState::Synchronized) => Health::Healthy,
        (AvailabilityMode::Asynchronous, SyncState::Synchronizing) => Health::Healthy,
        _ => Health::PartiallyHealthy,
    }
}

/// Of a replica: its worst database; one that is missing or a broken connection counts as the worst there is.
#[must_use]
pub fn replica(group: &GroupState, replica: &ReplicaState) -> Health {
    if replica.spec.availability_mode == AvailabilityMode::ConfigurationOnly {
        return if replica.connected == Some(false) { Health::NotHealthy } else { Health::Healthy };
    }
    if replica.role == Some(Role::Resolving) || (!replica.is_local && replica.connected != Some(true)) {
        return Health::NotHealthy;
    }
    let of = |id| match replica.database(id) {
        Some(copy) if copy.joined => database(replica.spec.availability_mode, copy),
        _ => Health::NotHealthy,
    };
    group.databases.iter().map(|d| of(d.id)).min_by_key(|h| h.number()).unwrap_or(Health::Healthy)
}

/// Of a group: all replicas healthy, some, or none. A secondary knows only itself and says so.
#[must_use]
pub fn group(group: &GroupState) -> Health {
    let known = |r: &&ReplicaState| group.role == Role::Primary || r.is_local;
    let of: Vec<Health> = group.replicas.iter().filter(known).map(|r| replica(group, r)).collect();
    if of.iter().all(|h| *h == Health::Healthy) {
        Health::Healthy
    } else if of.iter().all(|h| *h == Health::NotHealthy) {
        Health::NotHealthy
    } else {
        Health::PartiallyHealthy
    }
}

/// Whether every joined copy here is usable (`recovery_health` ONLINE).
#[must_use]
pub fn recovered(replica: &ReplicaState) -> bool {
    replica.databases.iter().filter(|d| d.joined).all(|d| d.online == Some(true))
}
