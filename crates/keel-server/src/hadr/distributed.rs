//! Distributed availability groups: statements' requests for the machine, and what the views show.

use keel_cluster::{
    Command, Distributed, DistributedMember, FailoverMode, GroupId, GroupStatus, Replica, ReplicaId,
    ReplicaOptions, RoleStatus,
};
use keel_sql::hadr::{
    self, DistributedChange, DistributedState, GroupDatabase, GroupState, JoinState, Role, SyncState, errors,
};
use keel_types::error::Result;
use uuid::Uuid;

use super::commands::About;
use super::states::Picture;
use super::{Replication, convert};

impl Replication {
    /// Carries out a statement about a distributed group, which the local group is a member of or becomes one.
    pub(super) fn distributed(&self, name: &str, local: &str, change: DistributedChange) -> Result<()> {
        let config = self.config(local)?;
        let group = config.id;
        let about = About { group: name, server: local, database: "" };
        let yields = change == DistributedChange::RoleSecondary;
        let command = match change {
            DistributedChange::Create { members } => set_up(group, name, local, &members, false),
            DistributedChange::Join { members } => set_up(group, name, local, &members, true),
            DistributedChange::Modify { members } => {
                let required = config.distributed.map_or(0, |d| d.required);
                Command::ModifyDistributed {
                    group,
                    members: members.iter().map(to_member).collect(),
                    required,
                }
            }
            DistributedChange::Required(n) => Command::ModifyDistributed {
                group,
                members: config.distributed.map(|d| d.members).unwrap_or_default(),
                required: convert::required(n),
            },
            DistributedChange::RoleSecondary => Command::YieldDistributed { group },
            DistributedChange::ForceFailover => Command::ForceDistributed { group },
            DistributedChange::Drop => Command::DropDistributed { group },
        };
        match (self.give(command, about), yields) {
            // The error of a failover speaks of the target.
            (Err(error), true) if error.number == errors::not_ready(name).number => {
                Err(errors::forwarder_not_ready(name))
            }
            (done, _) => done,
        }
    }
}

fn to_member(member: &hadr::DistributedMember) -> DistributedMember {
    DistributedMember {
        id: ReplicaId(Uuid::new_v4()),
        group: member.group.clone(),
        listener_url: member.listener_url.clone(),
        availability_mode: convert::to_mode(member.availability_mode),
        seeding_mode: convert::to_seeding(member.seeding_mode),
    }
}

/// The identities of a group that joins are those of the other one as soon as the two meet.
fn set_up(
    group: GroupId,
    name: &str,
    local: &str,
    members: &[hadr::DistributedMember],
    joins: bool,
) -> Command {
    let members: Vec<DistributedMember> = members.iter().map(to_member).collect();
    let is_local = |m: &&DistributedMember| m.group.eq_ignore_ascii_case(local);
    let id = |found: Option<&DistributedMember>| found.map(|m| m.id);
    let mine = id(members.iter().find(is_local)).unwrap_or(ReplicaId(Uuid::nil()));
    let other = id(members.iter().find(|m| !is_local(m)));
    let distributed = Distributed {
        id: GroupId(Uuid::new_v4()),
        name: name.to_owned(),
        bound: !joins,
        turn: 0,
        primary: if joins { other } else { Some(mine) },
        mine,
        members,
        required: 0,
        endpoints: Vec::new(),
        source_epoch: keel_base::Epoch(0),
        own_epoch: keel_base::Epoch(0),
    };
    Command::SetUpDistributed { group, distributed: Box::new(distributed) }
}

impl Picture<'_> {
    /// The distributed group that a group is a member of, as the views show it.
    pub(super) fn distributed(&self, g: &GroupStatus) -> Option<DistributedState> {
        let d = g.config.distributed.as_ref()?;
        let leads = g.role == RoleStatus::Primary;
        let role = match (leads, d.primary) {
            (false, _) | (_, None) => Role::Resolving,
            (true, Some(primary)) if primary == d.mine => Role::Primary,
            (true, Some(_)) => Role::Secondary,
        };
        let mut spec = convert::from_options(&g.config);
        spec.name.clone_from(&d.name);
        spec.required_synchronized_secondaries = d.required.into();
        let primary = d.members.iter().find(|m| Some(m.id) == d.primary);
        let group = GroupState {
            id: convert::guid(d.id.0),
            spec,
            sequence: d.turn,
            epoch: g.config.log_epoch().0,
            primary: primary.map(|m| m.group.clone()),
            role,
            forwards: false,
            replicas: d.members.iter().map(|m| self.distributed_member(g, d, m, role)).collect(),
            databases: g
                .config
                .databases
                .iter()
                .map(|d| GroupDatabase { id: convert::guid(d.id.0), name: d.name.clone() })
                .collect(),
            listeners: Vec::new(),
            may_create_databases: true,
            configuration_pending_since_utc: None,
        };
        Some(DistributedState { local: g.config.name.clone(), group, leads })
    }

    fn distributed_member(
        &self,
        g: &GroupStatus,
        d: &Distributed,
        member: &DistributedMember,
        role: Role,
    ) -> hadr::ReplicaState {
        let local = member.id == d.mine;
        let instance = g.partner.as_ref().map(|p| p.instance).filter(|_| !local);
        let options = ReplicaOptions {
            seeding_mode: member.seeding_mode,
            ..ReplicaOptions::new(member.listener_url.clone(), member.availability_mode, FailoverMode::Manual)
        };
        let replica = Replica { instance, ..Replica::new(member.id, member.group.clone(), options) };
        let leads = role == Role::Primary;
        let databases = g.databases.iter().filter_map(|database| {
            if local {
                let copy = self.local_copy(g, database);
                let sync = match copy.sync {
                    // As in a group whose primary is asynchronous.
                    SyncState::Synchronized if !d.is_synchronous() => SyncState::Synchronizing,
                    sync => sync,
                };
                return Some(hadr::DatabaseReplicaState { sync, ..copy });
            }
            let copy = database.copies.iter().find(|c| c.replica == member.id).filter(|_| leads)?;
            Some(self.remote_copy(&replica, database, copy))
        });
        let peer = instance.and_then(|i| self.peer(i));
        let url = &member.listener_url;
        let mut errors = self.seen.connect_errors.iter().filter(|_| !local);
        let error = errors.find(|e| e.0.eq_ignore_ascii_case(url));
        let other_role = match role {
            Role::Primary => Some(Role::Secondary),
            Role::Secondary => Some(Role::Primary),
            Role::Resolving => None,
        };
        hadr::ReplicaState {
            id: convert::guid(member.id.0),
            spec: convert::from_replica(&replica),
            is_local: local,
            role: if local { Some(role) } else { other_role.filter(|_| instance.is_some()) },
            operational: local.then(|| self.operational(g)),
            connected: Some(local || instance.is_some()),
            last_connect_error: error.map(|(_, error, when)| hadr::ConnectError {
                number: error.number(),
                description: error.to_string(),
                time: super::states::local_ticks(*when),
            }),
            join: if d.bound { JoinState::Standalone } else { JoinState::NotJoined },
            created: None,
            modified: None,
            databases: if g.role == RoleStatus::Primary { databases.collect() } else { Vec::new() },
            counters: peer.map(super::states::replica_counters).unwrap_or_default(),
        }
    }
}
