//! Who may use a group's database here, and where a login is sent instead.
//!
//! Pure functions of a [`HadrState`]; a database outside every group is open to all.

use super::config::{PrimaryConnections, SecondaryConnections};
use super::state::{GroupState, HadrState, OperationalState, ReplicaState, Role, SyncState};
use super::{Guid, build, errors};
use hashbrown::HashMap;
use keel_types::SqlError;
use keel_types::error::Result;
use parking_lot::Mutex;

/// What a client declared at login.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Intent {
    /// ApplicationIntent=ReadOnly.
    pub read_only: bool,
    /// It understands being sent elsewhere (TDS 7.4).
    pub can_route: bool,
}

/// Where a login goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Stays.
    Here,
    /// Is told to connect to this host and port.
    Route {
        /// Host of a routing URL, opaque to this instance.
        host: String,
        /// Port.
        port: u16,
    },
}

/// Counters that rotate balanced sets of routing lists: one per group and set.
#[derive(Default)]
pub struct Rotation(Mutex<HashMap<(Guid, usize), usize>>);

impl Rotation {
    fn next(&self, group: Guid, set: usize, members: usize) -> usize {
        let mut counters = self.0.lock();
        let counter = counters.entry((group, set)).or_insert(0);
        let turn = *counter % members.max(1);
        *counter = counter.wrapping_add(1);
        turn
    }
}

/// A login that names `database`.
pub fn login(state: &HadrState, database: &str, intent: Intent, rotation: &Rotation) -> Result<Access> {
    state.mirroring_access(database)?;
    let Some((group, member)) = state.group_of(database) else { return Ok(Access::Here) };
    match group.database_role() {
        Role::Resolving => Err(resolving(group, database)),
        Role::Primary => primary(group, member.id, database, intent, rotation),
        Role::Secondary => {
            let local = local(group, database)?;
            let all = local.spec.secondary_connections == SecondaryConnections::All;
            if all
                && !group.forwards
                && !intent.read_only
                && intent.can_route
                && let Some(url) = read_write_url(group)
            {
                return route(url, database);
            }
            secondary(local, member.id, database, intent.read_only)?;
            Ok(Access::Here)
        }
    }
}

/// `USE database`, or a statement that names it: as at login, except that nobody is sent elsewhere.
pub fn session(state: &HadrState, database: &str, read_only_intent: bool) -> Result<()> {
    state.mirroring_access(database)?;
    let Some((group, member)) = state.group_of(database) else { return Ok(()) };
    match group.database_role() {
        Role::Resolving => Err(resolving(group, database)),
        Role::Primary => {
            let refused = read_only_intent
                && local(group, database)?.spec.primary_connections == PrimaryConnections::ReadWrite;
            if refused { Err(errors::read_intent_refused(database)) } else { Ok(()) }
        }
        Role::Secondary => secondary(local(group, database)?, member.id, database, read_only_intent),
    }
}

/// Why nobody gets in: the cluster has no majority, or nothing is decided yet.
fn resolving(group: &GroupState, database: &str) -> Box<SqlError> {
    match group.local().and_then(|r| r.operational) {
        Some(OperationalState::FailedNoQuorum) => errors::no_quorum(database),
        _ => errors::resolving(database),
    }
}

fn local<'a>(group: &'a GroupState, database: &str) -> Result<&'a ReplicaState> {
    group.local().ok_or_else(|| errors::resolving(database))
}

fn route(url: &str, database: &str) -> Result<Access> {
    let (host, port) = build::tcp_url(url).ok_or_else(|| errors::no_readable_secondary(database))?;
    Ok(Access::Route { host, port })
}

fn read_write_url(group: &GroupState) -> Option<&str> {
    group.replica(group.primary.as_deref()?)?.spec.read_write_routing_url.as_deref()
}

fn secondary(local: &ReplicaState, id: Guid, database: &str, read_only_intent: bool) -> Result<()> {
    match local.spec.secondary_connections {
        SecondaryConnections::No => return Err(errors::not_accessible(database)),
        SecondaryConnections::ReadOnly if !read_only_intent => {
            return Err(errors::read_intent_required(database));
        }
        SecondaryConnections::ReadOnly | SecondaryConnections::All => {}
    }
    match local.database(id) {
        Some(copy) if copy.suspended.is_none() && copy.online == Some(true) => Ok(()),
        _ => Err(errors::not_accessible(database)),
    }
}

fn primary(
    group: &GroupState,
    id: Guid,
    database: &str,
    intent: Intent,
    rotation: &Rotation,
) -> Result<Access> {
    let local = local(group, database)?;
    if !intent.read_only {
        return Ok(Access::Here);
    }
    let here = local.spec.primary_connections == PrimaryConnections::All;
    if local.spec.read_only_routing_list.is_empty() || !intent.can_route {
        return if here { Ok(Access::Here) } else { Err(errors::read_intent_refused(database)) };
    }
    for (number, set) in local.spec.read_only_routing_list.iter().enumerate() {
        let first = if set.len() > 1 { rotation.next(group.id, number, set.len()) } else { 0 };
        for turn in 0..set.len() {
            let server = &set[(first + turn) % set.len()];
            let Some(replica) = group.replica(server) else { continue };
            if replica.is_local {
                if here {
                    return Ok(Access::Here);
                }
            } else if readable(replica, id)
                && let Some(url) = &replica.spec.read_only_routing_url
            {
                return route(url, database);
            }
        }
    }
    Err(errors::no_readable_secondary(database))
}

/// Whether a remote copy takes readers, as far as the primary knows.
fn readable(replica: &ReplicaState, id: Guid) -> bool {
    let moves = |c: &super::DatabaseReplicaState| {
        c.suspended.is_none() && matches!(c.sync, SyncState::Synchronizing | SyncState::Synchronized)
    };
    replica.connected == Some(true)
        && replica.role == Some(Role::Secondary)
        && replica.spec.secondary_connections != SecondaryConnections::No
        && replica.database(id).is_some_and(moves)
}

#[cfg(test)]
mod tests;
