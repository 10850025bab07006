//! [`Group::status`]: the picture of one group.

use crate::config::AvailabilityMode;
use crate::group::{Database, Group, Role};
use crate::ids::{GroupDatabaseId, InstanceId, ReplicaId};
use crate::primary::{Follower, Session};
use crate::secondary::Stage;
use crate::status::{
    Blocked, CopyStatus, DatabaseStatus, GroupStatus, Health, OperationalState, PrimaryPlace, ReplicaStatus,
    RoleStatus, SynchronizationState,
};
use crate::timing::ClusterOptions;
use std::time::Duration;

impl Group {
    pub(crate) fn status(
        &self,
        connected: &dyn Fn(InstanceId) -> bool,
        options: &ClusterOptions,
        now: Duration,
    ) -> GroupStatus {
        let databases: Vec<DatabaseStatus> =
            self.members().into_iter().map(|id| self.database_status(id, &self.databases[&id])).collect();
        let replicas: Vec<ReplicaStatus> =
            self.config.replicas.iter().map(|r| self.replica_status(r.id, &databases, connected)).collect();
        let health = Health::of_group(replicas.iter().filter_map(|r| r.health));
        GroupStatus {
            config: self.config.clone(),
            durable: self.store.durable.stamp,
            me: self.me,
            role: self.role_status(),
            operational: self.operational_state(),
            databases,
            replicas,
            health,
            failovers: self.failovers.clone(),
            held_back: self.held_back_until(options, now),
            failovers_lately: self.config.failovers_lately,
            unfit: self.fitness.reason().map(str::to_owned),
            partner: self.partner.clone(),
        }
    }

    pub(crate) fn primary_place(&self) -> PrimaryPlace {
        let known = self.claim.filter(|(_, epoch)| *epoch >= self.config.stamp.epoch);
        match known.and_then(|(instance, _)| self.config.replica_of(instance)) {
            _ if self.is_primary() => PrimaryPlace::Here,
            _ if self.is_opening() => PrimaryPlace::Opening,
            Some(replica) => PrimaryPlace::There(replica.id),
            None => PrimaryPlace::Unknown,
        }
    }

    fn role_status(&self) -> RoleStatus {
        match self.role {
            Role::Primary { .. } => RoleStatus::Primary,
            Role::Secondary => RoleStatus::Secondary,
            Role::Resolving { .. } | Role::Promoting { .. } | Role::Renouncing { .. } | Role::Demoting => {
                RoleStatus::Resolving
            }
        }
    }

    fn operational_state(&self) -> OperationalState {
        match self.role {
            _ if self.store.retry_at.is_some() => OperationalState::Failed,
            Role::Primary { .. } | Role::Secondary => OperationalState::Online,
            Role::Promoting { .. } => OperationalState::PendingFailover,
            Role::Renouncing { .. } | Role::Demoting => OperationalState::Pending,
            Role::Resolving { .. } => OperationalState::Offline,
        }
    }

    fn replica_status(
        &self,
        replica: ReplicaId,
        databases: &[DatabaseStatus],
        connected: &dyn Fn(InstanceId) -> bool,
    ) -> ReplicaStatus {
        let config = self.config.replica(replica);
        let instance = config.and_then(|r| r.instance);
        let local = replica == self.me;
        let mode = config.map_or(AvailabilityMode::Asynchronous, |r| r.options.availability_mode);
        let connected = local || instance.is_some_and(connected);
        let role = if local {
            self.role_status()
        } else if self.config.primary == Some(replica) && self.claim.is_some_and(|c| Some(c.0) == instance) {
            RoleStatus::Primary
        } else if self.is_primary() && connected {
            RoleStatus::Secondary
        } else {
            RoleStatus::Resolving
        };
        let health = match (local, self.is_primary()) {
            (true, _) => {
                Some(Health::of_replica(databases.iter().map(|d| Health::of_database(mode, d.state))))
            }
            (false, true) if mode == AvailabilityMode::ConfigurationOnly => {
                Some(if connected { Health::Healthy } else { Health::NotHealthy })
            }
            (false, true) => Some(Health::of_replica(databases.iter().map(|d| {
                let copy = d.copies.iter().find(|c| c.replica == replica);
                Health::of_database(mode, copy.map(|c| c.state).unwrap_or_default())
            }))),
            (false, false) => None,
        };
        let stamp = if local { Some(self.store.durable.stamp) } else { self.shown.get(&replica).copied() };
        ReplicaStatus { replica, instance, local, role, connected, stamp, health }
    }

    fn database_status(&self, id: GroupDatabaseId, db: &Database) -> DatabaseStatus {
        let primary = self.is_primary();
        let local = self.local.databases.get(&id);
        let others = self.config.replicas.iter().filter(|r| r.id != self.me && r.keeps_data()).map(|r| r.id);
        let others = others.chain(self.guest().map(|guest| guest.0));
        let copies = others.filter(|_| primary).map(|r| self.copy_status(id, db, r)).collect();
        let blocked = self
            .required_missing(id)
            .filter(|_| primary)
            .map(|(have, need)| Blocked::RequiredSecondaries { have, need });
        DatabaseStatus {
            database: id,
            open: db.open,
            state: self.local_state(id, db),
            suspended: local.and_then(|l| l.suspended).or(db.feed.trouble),
            left: local.is_some_and(|l| l.left),
            refused: db.feed.refused,
            hardened: db.hardened,
            agreed: db.agreed,
            applied: if primary && !self.config.forwards() { db.hardened } else { db.applied },
            epoch_start: db.epoch_start,
            waited_for: if primary { self.waited_for(id) } else { Vec::new() },
            writers_wait: db.writers_wait,
            blocked,
            seeding: db.feed.seeding,
            copies,
        }
    }

    fn local_state(&self, id: GroupDatabaseId, db: &Database) -> SynchronizationState {
        let synchronous =
            self.my_replica().is_some_and(|r| r.options.availability_mode == AvailabilityMode::Synchronous);
        if self.is_primary() && !self.config.forwards() {
            return match (db.open && !db.opening, self.suspended(id), synchronous) {
                (false, ..) | (_, Some(_), _) => SynchronizationState::NotSynchronizing,
                (_, _, true) => SynchronizationState::Synchronized,
                (_, _, false) => SynchronizationState::Synchronizing,
            };
        }
        match db.feed.stage {
            // As a primary in its own group; what the global primary has recorded that shows.
            Stage::Receiving(..) if self.is_forwarder() && synchronous => SynchronizationState::Synchronized,
            Stage::Receiving(..) if self.is_forwarder() => SynchronizationState::Synchronizing,
            Stage::Receiving(..) => {
                let durable = self.store.durable.database(id);
                let member = durable.is_some_and(|d| d.synchronized.contains(&self.me));
                if member { SynchronizationState::Synchronized } else { SynchronizationState::Synchronizing }
            }
            Stage::Cutting { .. } => SynchronizationState::Reverting,
            Stage::Seeding(_) => SynchronizationState::Initializing,
            Stage::Idle | Stage::Parting(_) | Stage::Inspecting(_) | Stage::Asking(..) => {
                SynchronizationState::NotSynchronizing
            }
        }
    }

    fn copy_status(&self, id: GroupDatabaseId, db: &Database, replica: ReplicaId) -> CopyStatus {
        let nobody = Follower::default();
        let follower = db.followers.get(&replica).unwrap_or(&nobody);
        let sending = matches!(follower.session, Session::Sending(_));
        let config = self.config.database(id);
        let recorded = self.store.durable.database(id).is_some_and(|d| d.synchronized.contains(&replica));
        let member = config.is_some_and(|d| d.synchronized.contains(&replica));
        let state = match (sending, recorded && member) {
            (true, true) => SynchronizationState::Synchronized,
            (true, false) => SynchronizationState::Synchronizing,
            (false, _) => SynchronizationState::NotSynchronizing,
        };
        CopyStatus {
            replica,
            state,
            failover_ready: recorded && member,
            commit_participant: self.recorded(id).any(|r| r == replica) || follower.gating.is_some(),
            awaiting_resume: config.is_some_and(|d| d.awaiting_resume.contains_key(&replica)),
            sending,
            positions: follower.positions,
            seeding: follower.seeding,
        }
    }
}
