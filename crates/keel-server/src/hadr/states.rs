//! What the views show, from a picture of the groups.

use keel_cluster::{
    CopyStatus, DatabaseStatus, GroupStatus, InstanceId, OperationalState, QuorumState, ReplicaStatus,
    RoleStatus, SuspendReason, SynchronizationState,
};
use keel_group::state::{CopyState, PeerState};
use keel_group::{GroupsState, SeedingOutcome, SeedingState};
use keel_sql::Engine;
use keel_sql::hadr::state::DatabaseCounters;
use keel_sql::hadr::{
    self, CommitLatency, ConnectError, DatabaseReplicaState, EndpointConnection, GroupDatabase, GroupState,
    HadrState, JoinState, PhysicalSeeding, Positions, ReplicaCounters, ReplicaState, Role, SeedingAttempt,
    SyncState, WaitTotal,
};

use super::samples::Samples;
use super::{Replication, convert};
use crate::listener::Doors;
use std::sync::Arc;

/// Ticks of 100 ns from 0001-01-01 to 1970-01-01.
const UNIX_EPOCH_TICKS: i128 = 621_355_968_000_000_000;

/// Everything.
pub(super) fn state(replication: &Replication) -> HadrState {
    let seen = replication.groups.state();
    let engine = replication.engine.upgrade();
    let doors = replication.doors.get();
    let no_quorum = replication.groups.cluster().is_some_and(|c| c.quorum == QuorumState::Lost);
    let (samples, engine) = (&replication.samples, engine.as_deref());
    let recovery_queue_max = replication.groups.cluster_options().recovery_queue_max;
    let picture = Picture { seen: &seen, samples, engine, doors, recovery_queue_max, no_quorum };
    let sessions = seen.groups.iter().filter(|g| !g.config.dropped && is_mirroring(g));
    let groups = seen.groups.iter().filter(|g| !g.config.dropped && !is_mirroring(g));
    HadrState {
        manager_status: 1,
        groups: groups.map(|g| picture.group(g)).collect(),
        distributed: seen.groups.iter().filter_map(|g| picture.distributed(g)).collect(),
        mirroring: sessions.filter_map(|g| picture.mirroring(g)).collect(),
        expected: super::mirroring::expected(replication, &picture),
        connections: seen.peers.iter().filter(|p| p.connected).map(connection).collect(),
        seeding: picture.seeding(),
        physical_seeding: picture.physical_seeding(),
        waits: picture.waits(),
        threads: u32::try_from(seen.threads).unwrap_or(u32::MAX),
    }
}

/// The group is a mirroring session's: views about groups do not show it.
pub(super) fn is_mirroring(g: &GroupStatus) -> bool {
    g.config.options.cluster_type.is_mirroring()
}

fn connection(peer: &PeerState) -> EndpointConnection {
    EndpointConnection {
        instance: convert::guid(peer.instance.0),
        address: peer.address,
        traffic: replica_counters(peer),
    }
}

/// Whom a seeding is between: the local group's status, and the other side as the views name it.
struct Sides<'a> {
    status: &'a GroupStatus,
    /// The group, or the distributed one when the other side belongs to its other member.
    group: keel_cluster::GroupId,
    remote: keel_cluster::ReplicaId,
    name: &'a str,
}

pub(super) struct Picture<'a> {
    pub(super) seen: &'a GroupsState,
    samples: &'a Samples,
    engine: Option<&'a Engine>,
    doors: Option<&'a Arc<Doors>>,
    /// The bound on recovery queues; 0 for none.
    recovery_queue_max: u64,
    /// This instance is in a cluster and hears no majority of it.
    pub(super) no_quorum: bool,
}

pub(super) fn role(role: RoleStatus) -> Role {
    match role {
        RoleStatus::Resolving => Role::Resolving,
        RoleStatus::Primary => Role::Primary,
        RoleStatus::Secondary => Role::Secondary,
    }
}

fn operational(state: OperationalState) -> hadr::OperationalState {
    match state {
        OperationalState::PendingFailover => hadr::OperationalState::PendingFailover,
        OperationalState::Pending => hadr::OperationalState::Pending,
        OperationalState::Online => hadr::OperationalState::Online,
        OperationalState::Offline => hadr::OperationalState::Offline,
        OperationalState::Failed => hadr::OperationalState::Failed,
    }
}

fn sync(state: SynchronizationState) -> SyncState {
    match state {
        SynchronizationState::NotSynchronizing => SyncState::NotSynchronizing,
        SynchronizationState::Synchronizing => SyncState::Synchronizing,
        SynchronizationState::Synchronized => SyncState::Synchronized,
        SynchronizationState::Reverting => SyncState::Reverting,
        SynchronizationState::Initializing => SyncState::Initializing,
    }
}

fn reason(reason: SuspendReason) -> hadr::SuspendReason {
    match reason {
        SuspendReason::User => hadr::SuspendReason::User,
        SuspendReason::Partner => hadr::SuspendReason::Partner,
        SuspendReason::Redo => hadr::SuspendReason::Redo,
        SuspendReason::Capture => hadr::SuspendReason::Capture,
        SuspendReason::Apply => hadr::SuspendReason::Apply,
        SuspendReason::Restart => hadr::SuspendReason::Restart,
        SuspendReason::Undo => hadr::SuspendReason::Undo,
        SuspendReason::Revalidation => hadr::SuspendReason::Revalidation,
        SuspendReason::NoCommonPoint => hadr::SuspendReason::XrfUpdate,
    }
}

/// Local time in ticks, of nanoseconds since 1970 UTC.
pub(super) fn local_ticks(unix_nanos: i128) -> i64 {
    utc_ticks(unix_nanos) + i64::from(keel_sql::clock::offset_minutes()) * keel_sql::clock::TICKS_PER_MINUTE
}

impl Picture<'_> {
    pub(super) fn operational(&self, g: &GroupStatus) -> hadr::OperationalState {
        let waits = g.role == RoleStatus::Resolving && g.config.options.cluster_type.is_by_vote();
        match waits && self.no_quorum {
            true => hadr::OperationalState::FailedNoQuorum,
            false => operational(g.operational),
        }
    }

    fn group(&self, g: &GroupStatus) -> GroupState {
        let config = &g.config;
        let id = convert::guid(config.id.0);
        // One listener per group: the group's id does for it.
        let listener =
            |l: &keel_cluster::Listener| super::listeners::state(self.doors, id, convert::from_listener(l));
        let primary =
            config.primary.and_then(|p| config.replica(p)).filter(|_| g.role != RoleStatus::Resolving);
        GroupState {
            id,
            spec: convert::from_options(config),
            // What is on its way is not agreed on yet: whoever compares the numbers of several members would wait for it in vain.
            sequence: g.durable.version,
            epoch: config.stamp.epoch.0,
            primary: primary.map(|r| r.server_name.clone()),
            role: role(g.role),
            forwards: config.forwards(),
            replicas: config.replicas.iter().map(|r| self.replica(g, r)).collect(),
            databases: config
                .databases
                .iter()
                .map(|d| GroupDatabase { id: convert::guid(d.id.0), name: d.name.clone() })
                .collect(),
            listeners: config.listeners.iter().map(listener).collect(),
            may_create_databases: true,
            configuration_pending_since_utc: None,
        }
    }

    fn replica(&self, g: &GroupStatus, r: &keel_cluster::Replica) -> ReplicaState {
        let seen: Option<&ReplicaStatus> = g.replicas.iter().find(|s| s.replica == r.id);
        let local = r.id == g.me;
        let peer = r.instance.and_then(|i| self.peer(i));
        let known = g.role == RoleStatus::Primary || local;
        let error = self.seen.connect_errors.iter().find(|e| e.0.eq_ignore_ascii_case(&r.server_name));
        let databases = g.databases.iter().filter_map(|d| {
            if local {
                return Some(self.local_copy(g, d));
            }
            let copy = d.copies.iter().find(|c| c.replica == r.id)?;
            Some(self.remote_copy(r, d, copy))
        });
        ReplicaState {
            id: convert::guid(r.id.0),
            spec: convert::from_replica(r),
            is_local: local,
            role: seen.filter(|_| known).map(|s| role(s.role)),
            operational: local.then(|| self.operational(g)),
            connected: seen.filter(|_| known || g.config.primary == Some(r.id)).map(|s| s.connected),
            last_connect_error: error.map(|(_, error, when)| ConnectError {
                number: error.number(),
                description: error.to_string(),
                time: local_ticks(*when),
            }),
            join: if r.joined() { JoinState::Standalone } else { JoinState::NotJoined },
            created: None,
            modified: None,
            databases: if known { databases.collect() } else { Vec::new() },
            counters: peer.map(replica_counters).unwrap_or_default(),
        }
    }

    pub(super) fn peer(&self, instance: InstanceId) -> Option<&PeerState> {
        self.seen.peers.iter().find(|p| p.instance == instance)
    }

    fn copy(&self, id: keel_cluster::GroupDatabaseId) -> Option<&CopyState> {
        self.seen.copies.iter().find(|c| c.database == id)
    }

    pub(super) fn local_copy(&self, g: &GroupStatus, d: &DatabaseStatus) -> DatabaseReplicaState {
        let copy = self.copy(d.database);
        let primary = g.role == RoleStatus::Primary && !g.config.forwards();
        let times = self.samples.times(d.database, g.me);
        let at = |lsn: keel_base::Lsn, time: Option<i128>| Some((lsn.0, time.map(local_ticks)));
        let committed = |lsn: keel_base::Lsn| at(lsn, self.samples.committed_at(d.database, lsn.0));
        let truncated = copy.map(|c| c.truncated.0);
        let appended = copy.map_or(d.hardened, |c| c.appended);
        // Without a commit that waits for others there is nothing that could be failed over without.
        let ready = g.config.database(d.database).is_some_and(|c| c.synchronized.contains(&g.me));
        let participants = d.waited_for.len();
        let rates = self.samples.rates(d.database, g.me);
        DatabaseReplicaState {
            database: convert::guid(d.database.0),
            joined: d.open && !d.left,
            sync: sync(d.state),
            failover_ready: ready,
            commit_participant: primary && participants > 0
                || !primary && d.state == SynchronizationState::Synchronized,
            suspended: d.suspended.map(reason),
            online: Some(d.open && g.role != RoleStatus::Resolving && copy.is_none_or(|c| self.readable(c))),
            positions: Positions {
                recovery: primary.then_some(d.epoch_start.0),
                truncation: truncated,
                sent: None,
                received: if primary { None } else { at(appended, times.received) },
                hardened: at(d.hardened, times.hardened),
                redone: if primary { None } else { at(d.applied, times.applied) },
                end_of_log: Some(appended.0),
                last_commit: committed(if primary { d.agreed } else { d.applied }),
                agreed: committed(d.agreed),
            },
            send_queue_bytes: Some(0),
            send_rate_bytes: rates.send,
            redo_queue_bytes: Some(if primary { 0 } else { d.hardened.0.saturating_sub(d.applied.0) }),
            redo_queue_max_bytes: self.recovery_queue_max,
            writers_wait_micros: u64::try_from(d.writers_wait.as_micros()).unwrap_or(u64::MAX),
            redo_rate_bytes: rates.redo,
            lag_seconds: if primary { None } else { self.lag(d.database, d.applied, d.agreed) },
            counters: copy.map(|c| self.own_counters(c)).unwrap_or_default(),
            latency: None,
            divergent: (d.suspended == Some(SuspendReason::Partner) && d.hardened > d.agreed)
                .then_some((d.agreed.0, d.hardened.0)),
        }
    }

    pub(super) fn remote_copy(
        &self,
        r: &keel_cluster::Replica,
        d: &DatabaseStatus,
        c: &CopyStatus,
    ) -> DatabaseReplicaState {
        let instance = r.instance;
        let rates = self.samples.rates(d.database, r.id);
        let copy = self.copy(d.database);
        let sending = copy.and_then(|copy| copy.sending.iter().find(|s| Some(s.peer) == instance));
        let times = self.samples.times(d.database, r.id);
        let at = |lsn: keel_base::Lsn, time: Option<i128>| Some((lsn.0, time.map(local_ticks)));
        let committed = |lsn: keel_base::Lsn| at(lsn, self.samples.committed_at(d.database, lsn.0));
        let appended = copy.map_or(d.hardened, |c| c.appended);
        let p = c.positions;
        // A copy that has told nothing since this instance leads may have anything; later its last word stands.
        let heard = p.received.0 > 0;
        // What it received over an earlier connection, or from an earlier primary, need not be sent again.
        let sent = sending.map(|s| s.sent.max(p.received));
        let flush = copy.map(|c| (c.log.flush_nanos / 1000).checked_div(c.log.flushes).unwrap_or(0));
        DatabaseReplicaState {
            database: convert::guid(d.database.0),
            joined: c.sending || c.failover_ready || p.hardened.0 > 0,
            sync: sync(c.state),
            failover_ready: c.failover_ready,
            commit_participant: c.commit_participant,
            suspended: c.awaiting_resume.then_some(hadr::SuspendReason::Partner),
            online: None,
            positions: Positions {
                recovery: Some(d.epoch_start.0),
                truncation: None,
                sent: sent.and_then(|sent| at(sent, times.sent)),
                received: at(p.received, times.received),
                hardened: at(p.hardened, times.hardened),
                redone: at(p.applied, times.applied),
                end_of_log: Some(p.received.0),
                last_commit: committed(p.applied),
                agreed: committed(d.agreed),
            },
            send_queue_bytes: heard.then(|| appended.0.saturating_sub(sent.unwrap_or(p.received).0)),
            send_rate_bytes: rates.send,
            redo_queue_bytes: heard.then(|| p.hardened.0.saturating_sub(p.applied.0)),
            redo_queue_max_bytes: self.recovery_queue_max,
            writers_wait_micros: u64::try_from(d.writers_wait.as_micros()).unwrap_or(u64::MAX),
            redo_rate_bytes: rates.redo,
            lag_seconds: self.lag(d.database, p.applied, d.agreed),
            counters: sending.map(|s| sent_counters(&s.counters)).unwrap_or_default(),
            latency: sending.filter(|s| s.counters.measured > 0).map(|s| CommitLatency {
                blocks: s.counters.measured,
                local_flush_micros: flush.unwrap_or(0) * s.counters.measured,
                queue_micros: s.counters.queue_nanos / 1000,
                network_micros: s.counters.network_nanos / 1000,
                remote_flush_micros: s.counters.remote_flush_nanos / 1000,
            }),
            divergent: None,
        }
    }

    /// A seeded copy shows whole transactions only once its log has caught up with its rows.
    fn readable(&self, copy: &CopyState) -> bool {
        self.engine.and_then(|e| e.database(&copy.name)).is_none_or(|e| e.store.is_readable())
    }

    fn lag(
        &self,
        id: keel_cluster::GroupDatabaseId,
        applied: keel_base::Lsn,
        agreed: keel_base::Lsn,
    ) -> Option<u64> {
        self.samples.lag_seconds(id, applied.0, agreed.0)
    }

    fn own_counters(&self, copy: &CopyState) -> DatabaseCounters {
        let c = &copy.received;
        let entry = self.engine.and_then(|e| e.database(&copy.name));
        let [commits, nanos, _] = entry.map(|e| e.group_commits()).unwrap_or_default();
        DatabaseCounters {
            mirrored_commits: commits,
            commit_delay_micros: nanos / 1000,
            received_bytes: c.log_bytes,
            decompressions: c.decompressions,
            decompressed_bytes: c.decompressed_bytes,
            ..DatabaseCounters::default()
        }
    }

    /// Group, and the other side's replica, of a seeding; none of a mirroring session's.
    fn sides(&self, s: &SeedingState) -> Option<Sides<'_>> {
        let g = self.seen.groups.iter().find(|g| g.config.database(s.database).is_some())?;
        if is_mirroring(g) {
            return None;
        }
        if let Some(replica) = g.config.replica_of(s.peer) {
            return Some(Sides {
                status: g,
                group: g.config.id,
                remote: replica.id,
                name: &replica.server_name,
            });
        }
        let distributed = g.config.distributed.as_ref()?;
        let other = distributed.other()?;
        Some(Sides { status: g, group: distributed.id, remote: other.id, name: &other.group })
    }

    fn seeding(&self) -> Vec<SeedingAttempt> {
        let row = |s: &SeedingState| {
            let sides = self.sides(s)?;
            let mut databases = sides.status.databases.iter();
            let status = databases.find(|d| d.database == s.database).and_then(|d| {
                let of = |c: &&CopyStatus| c.replica == sides.remote;
                if s.is_source { d.copies.iter().find(of)?.seeding } else { d.seeding }
            });
            Some(SeedingAttempt {
                start: local_ticks(s.started),
                completion: s.ended.map(local_ticks),
                group: convert::guid(sides.group.0),
                database: convert::guid(s.database.0),
                remote_replica: convert::guid(sides.remote.0),
                operation: convert::guid(s.operation),
                is_source: s.is_source,
                current_state: current_state(&s.outcome),
                performed: s.done_bytes > 0,
                failure: failure(s).map(|(number, _)| (number, "Seeding".to_owned())),
                error_code: None,
                attempts: status.map_or(1, |status| status.attempts),
            })
        };
        self.seen.seedings.iter().filter_map(row).collect()
    }

    fn physical_seeding(&self) -> Vec<PhysicalSeeding> {
        let row = |s: &SeedingState| {
            let failure = failure(s);
            Some(PhysicalSeeding {
                local_id: convert::guid(s.operation),
                remote_id: convert::guid(s.operation),
                database: s.name.clone(),
                remote_machine: self.sides(s)?.name.to_owned(),
                is_source: s.is_source,
                internal_state: match (&s.outcome, s.is_source) {
                    (SeedingOutcome::Running, true) => "ReadingAndSendingData",
                    (SeedingOutcome::Running, false) => "ReceivingAndWritingData",
                    (SeedingOutcome::Completed, _) => "Success",
                    _ => "Failed",
                },
                bytes_per_second: s.bytes_per_second,
                transferred_bytes: s.done_bytes,
                database_bytes: s.total_bytes,
                start_utc: utc_ticks(s.started),
                end_utc: s.ended.map(utc_ticks),
                estimate_utc: s.estimate.map(utc_ticks),
                disk_wait_ms: s.disk_nanos / 1_000_000,
                network_wait_ms: s.network_nanos / 1_000_000,
                failure_time_utc: s.ended.filter(|_| failure.is_some()).map(utc_ticks),
                failure,
                compressed: s.wire_bytes < s.done_bytes,
            })
        };
        self.seen.seedings.iter().filter_map(row).collect()
    }

    /// The time sessions waited for their commits as a primary's (the local flush is part of it), and what the groups' own
    /// threads, redo's and commands waited for.
    fn waits(&self) -> Vec<WaitTotal> {
        let mut wait = WaitTotal { name: "HADR_SYNC_COMMIT", count: 0, total_nanos: 0, longest_nanos: 0 };
        for entry in self.engine.map(Engine::databases).unwrap_or_default() {
            let [count, nanos, longest] = entry.group_commits();
            wait.count += count;
            wait.total_nanos += nanos;
            wait.longest_nanos = wait.longest_nanos.max(longest);
        }
        let peers = || self.seen.peers.iter().map(|p| &p.counters);
        let flow = WaitTotal {
            name: "HADR_TRANSPORT_FLOW_CONTROL",
            count: peers().map(|c| c.flow_controls).sum(),
            total_nanos: peers().map(|c| c.flow_control_nanos).sum(),
            longest_nanos: 0,
        };
        let capture = WaitTotal {
            name: "HADR_LOGCAPTURE_WAIT",
            count: peers().map(|c| c.idle_waits).sum(),
            total_nanos: peers().map(|c| c.idle_nanos).sum(),
            longest_nanos: 0,
        };
        let own = |name, waits: keel_group::Waits| WaitTotal {
            name,
            count: waits.count,
            total_nanos: waits.nanos,
            longest_nanos: waits.longest_nanos,
        };
        let seen = self.seen;
        let queue = own("HADR_WORK_QUEUE", seen.work_queue);
        let redo = self.engine.map(|engine| engine.instance().redo_idle_waits()).unwrap_or_default();
        let redo = WaitTotal {
            name: "PARALLEL_REDO_WORKER_WAIT_WORK",
            count: redo.count,
            total_nanos: redo.nanos,
            longest_nanos: redo.longest_nanos,
        };
        vec![
            wait,
            flow,
            capture,
            queue,
            redo,
            own("HADR_TIMER_TASK", seen.timer),
            own("HADR_DB_COMMAND", seen.command),
        ]
    }
}

/// `failure_state` and why, of an attempt that came to nothing: 15 is seeding itself; 100 and 200 say on which side.
fn failure(s: &SeedingState) -> Option<(i32, String)> {
    match &s.outcome {
        SeedingOutcome::Running | SeedingOutcome::Completed => None,
        SeedingOutcome::Failed(why) => Some((if s.is_source { 115 } else { 215 }, why.clone())),
    }
}

fn current_state(outcome: &SeedingOutcome) -> &'static str {
    match outcome {
        SeedingOutcome::Running => "SEEDING",
        SeedingOutcome::Completed => "COMPLETED",
        SeedingOutcome::Failed(_) => "FAILED",
    }
}

/// UTC in ticks, of nanoseconds since 1970.
pub(super) fn utc_ticks(unix_nanos: i128) -> i64 {
    i64::try_from(UNIX_EPOCH_TICKS + unix_nanos / 100).unwrap_or(i64::MAX)
}

pub(super) fn replica_counters(peer: &PeerState) -> ReplicaCounters {
    let c = &peer.counters;
    ReplicaCounters {
        sent_bytes: c.sent_bytes,
        received_bytes: c.received_bytes,
        sends: c.sends,
        receives: c.receives,
        wire_sent_bytes: c.wire_sent_bytes,
        wire_sends: c.sender_writes + c.leader_writes,
        flow_controls: c.flow_controls,
        flow_control_micros: c.flow_control_nanos / 1000,
        resent: c.resent,
    }
}

fn sent_counters(c: &keel_group::CopyCounters) -> DatabaseCounters {
    DatabaseCounters {
        compressions: c.compressions,
        compressed_from_bytes: c.compressed_from_bytes,
        compressed_to_bytes: c.compressed_to_bytes,
        ..DatabaseCounters::default()
    }
}
