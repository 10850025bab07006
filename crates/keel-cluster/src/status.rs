//! What the views show: a picture of everything the machine knows, in plain data, and the product's health roll-up of it.

use crate::config::{AvailabilityMode, GroupConfig, Stamp, SuspendReason};
use crate::distributed::Partner;
use crate::event::CopyPositions;
use crate::ids::{ClusterId, GroupDatabaseId, GroupId, InstanceId, ReplicaId};
use crate::message::RefuseReason;
use crate::store::StoreMember;
use keel_base::{Epoch, Lsn};
use std::iter::Sum;
use std::time::Duration;

/// `role` of a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoleStatus {
    /// 0.
    #[default]
    Resolving,
    /// 1.
    Primary,
    /// 2.
    Secondary,
}

impl RoleStatus {
    /// The catalog's text.
    pub fn description(self) -> &'static str {
        match self {
            RoleStatus::Resolving => "RESOLVING",
            RoleStatus::Primary => "PRIMARY",
            RoleStatus::Secondary => "SECONDARY",
        }
    }
}

/// `operational_state` of the local replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationalState {
    /// 0: a failover is being carried out here.
    PendingFailover,
    /// 1: taking or giving up a role.
    Pending,
    /// 2: in its role.
    Online,
    /// 3: the group has no primary that is known here.
    Offline,
    /// 4: the configuration cannot be made durable.
    Failed,
}

/// `synchronization_state` of a database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SynchronizationState {
    /// 0.
    #[default]
    NotSynchronizing,
    /// 1.
    Synchronizing,
    /// 2.
    Synchronized,
    /// 3: the log is being cut back.
    Reverting,
    /// 4: the copy is being seeded.
    Initializing,
}

impl SynchronizationState {
    /// The catalog's text.
    pub fn description(self) -> &'static str {
        match self {
            SynchronizationState::NotSynchronizing => "NOT SYNCHRONIZING",
            SynchronizationState::Synchronizing => "SYNCHRONIZING",
            SynchronizationState::Synchronized => "SYNCHRONIZED",
            SynchronizationState::Reverting => "REVERTING",
            SynchronizationState::Initializing => "INITIALIZING",
        }
    }
}

/// `synchronization_health`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// 0.
    #[default]
    NotHealthy,
    /// 1.
    PartiallyHealthy,
    /// 2.
    Healthy,
}

impl Health {
    /// The catalog's text.
    pub fn description(self) -> &'static str {
        match self {
            Health::NotHealthy => "NOT_HEALTHY",
            Health::PartiallyHealthy => "PARTIALLY_HEALTHY",
            Health::Healthy => "HEALTHY",
        }
    }

    /// A database's: from its state and its replica's mode.
    pub fn of_database(mode: AvailabilityMode, state: SynchronizationState) -> Health {
        match (mode, state) {
            (_, SynchronizationState::NotSynchronizing) => Health::NotHealthy,
            (AvailabilityMode::Asynchronous, SynchronizationState::Synchronizing) => Health::Healthy,
            (_, SynchronizationState::Synchronized) => Health::Healthy,
            _ => Health::PartiallyHealthy,
        }
    }

    /// A replica's: the worst of its databases.
    pub fn of_replica(databases: impl IntoIterator<Item = Health>) -> Health {
        databases.into_iter().min().unwrap_or(Health::Healthy)
    }

    /// A group's: all, some or none of its replicas healthy.
    pub fn of_group(replicas: impl IntoIterator<Item = Health>) -> Health {
        let (mut healthy, mut others) = (false, false);
        for replica in replicas {
            if replica == Health::Healthy { healthy = true } else { others = true }
        }
        match (healthy, others) {
            (true, false) => Health::Healthy,
            (true, true) => Health::PartiallyHealthy,
            _ => Health::NotHealthy,
        }
    }
}

/// Seeding of one copy, as one side sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeedStatus {
    /// Where it is.
    pub state: SeedState,
    /// Bytes moved in this attempt.
    pub done: u64,
    /// Bytes to move, estimated.
    pub total: u64,
    /// Attempts so far, the present one included.
    pub attempts: u32,
}

/// State of a seeding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedState {
    /// Wanted, not begun.
    Pending,
    /// Under way.
    Seeding,
    /// The copy is whole.
    Completed,
    /// Ended early; it will be tried again.
    Failed,
}

/// Why commits of a database are held up now, beyond the ordinary wait for acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT asks for more than there are.
    RequiredSecondaries {
        /// In the synchronized set and receiving.
        have: u8,
        /// Asked for.
        need: u8,
    },
}

/// One database of the group as this instance sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseStatus {
    /// Which.
    pub database: GroupDatabaseId,
    /// A local copy is open.
    pub open: bool,
    /// State of the local copy.
    pub state: SynchronizationState,
    /// Why data does not move into (on the primary: out of) the local copy.
    pub suspended: Option<SuspendReason>,
    /// SET HADR OFF was given here.
    pub left: bool,
    /// What the primary answered last, when it was no.
    pub refused: Option<RefuseReason>,
    /// Local hardened end.
    pub hardened: Lsn,
    /// The commit point known here.
    pub agreed: Lsn,
    /// Redone up to (secondaries).
    pub applied: Lsn,
    /// Where this primary's epoch begins (`recovery_lsn`).
    pub epoch_start: Lsn,
    /// Replicas whose acknowledgement commits wait for at this moment.
    pub waited_for: Vec<ReplicaId>,
    /// On a primary: what writers wait before each transaction, because a copy has much to redo.
    pub writers_wait: Duration,
    /// What else holds commits up.
    pub blocked: Option<Blocked>,
    /// Seeding of the local copy.
    pub seeding: Option<SeedStatus>,
    /// On a primary: the copies of the others.
    pub copies: Vec<CopyStatus>,
}

/// A secondary's copy as the primary sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyStatus {
    /// Whose.
    pub replica: ReplicaId,
    /// Its state.
    pub state: SynchronizationState,
    /// Recorded durably as holding every acknowledged commit.
    pub failover_ready: bool,
    /// Commits wait for it.
    pub commit_participant: bool,
    /// It is to be suspended after a forced failover, or is.
    pub awaiting_resume: bool,
    /// Blocks are being sent to it.
    pub sending: bool,
    /// Where it stands, as last reported.
    pub positions: CopyPositions,
    /// Seeding from here.
    pub seeding: Option<SeedStatus>,
}

/// One replica as this instance sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaStatus {
    /// Which.
    pub replica: ReplicaId,
    /// Its instance, when it has joined.
    pub instance: Option<InstanceId>,
    /// It is this instance.
    pub local: bool,
    /// Its role as known here.
    pub role: RoleStatus,
    /// A connection to it is up (always for the local one).
    pub connected: bool,
    /// The configuration it was last seen with.
    pub stamp: Option<Stamp>,
    /// Roll-up of its databases; `None` where this instance cannot know.
    pub health: Option<Health>,
}

/// Where a group's primary is, as far as this instance knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimaryPlace {
    /// Here, and on line.
    Here,
    /// Here in a moment: the decision is durable, and the engine opens the databases.
    Opening,
    /// This replica is connected and says that it is the primary.
    There(ReplicaId),
    /// Nobody connected says so.
    Unknown,
}

/// One group as this instance sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupStatus {
    /// The newest configuration known here.
    pub config: GroupConfig,
    /// The configuration durable here.
    pub durable: Stamp,
    /// Which replica this instance is.
    pub me: ReplicaId,
    /// Its role.
    pub role: RoleStatus,
    /// Its operational state.
    pub operational: OperationalState,
    /// The databases.
    pub databases: Vec<DatabaseStatus>,
    /// The replicas.
    pub replicas: Vec<ReplicaStatus>,
    /// Roll-up; on a secondary, of what it knows.
    pub health: Health,
    /// The failovers this instance has carried out since it started, oldest first; the last few.
    pub failovers: Vec<FailoverRecord>,
    /// An automatic failover is held back until this time of the machine's clock, because there were too many.
    pub held_back: Option<Duration>,
    /// Automatic failovers that count for that.
    pub failovers_lately: u32,
    /// Why this instance is not fit to lead, or was not until just now.
    pub unfit: Option<String>,
    /// On a primary: that of the other member of the distributed group, when it is connected.
    pub partner: Option<Partner>,
}

/// Why a failover was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverKind {
    /// The cluster found the primary lost, or the primary gave up by itself.
    Automatic,
    /// An operator asked for it; nothing was lost.
    Planned,
    /// An operator forced it.
    Forced,
    /// The same replica took the role up again.
    Resumed,
}

impl FailoverKind {
    /// For views and logs.
    pub fn description(self) -> &'static str {
        match self {
            FailoverKind::Automatic => "AUTOMATIC",
            FailoverKind::Planned => "PLANNED",
            FailoverKind::Forced => "FORCED",
            FailoverKind::Resumed => "RESUMED",
        }
    }
}

/// What set an automatic failover off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailoverCause {
    /// An operator, or a restart.
    Asked,
    /// The primary's connection closed.
    Closed,
    /// Nothing was heard from the primary.
    Silent,
    /// The primary is there but hears nobody.
    Deaf,
    /// The primary is there and does not lead: unhealthy, or restarted without what it needs.
    GaveUp,
}

impl FailoverCause {
    /// For views and logs.
    pub fn description(self) -> &'static str {
        match self {
            FailoverCause::Asked => "ASKED",
            FailoverCause::Closed => "CONNECTION_CLOSED",
            FailoverCause::Silent => "SILENT",
            FailoverCause::Deaf => "ONE_WAY_LINK",
            FailoverCause::GaveUp => "GAVE_UP",
        }
    }
}

/// Log that a copy, or all copies of a replica, have and have not redone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedoLeft {
    /// Bytes.
    pub bytes: u64,
    /// How long that takes, estimated from how fast redo has been there.
    pub time: Duration,
}

impl Sum for RedoLeft {
    fn sum<I: Iterator<Item = RedoLeft>>(all: I) -> RedoLeft {
        all.fold(RedoLeft::default(), |sum, one| RedoLeft {
            bytes: sum.bytes.saturating_add(one.bytes),
            time: sum.time.saturating_add(one.time),
        })
    }
}

/// What there was to choose from when a failover began, by what the candidates had told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// What the new primary had to redo.
    pub redo: RedoLeft,
    /// Candidates that come before it in the group's order and had much more to redo.
    pub passed_over: Vec<(ReplicaId, RedoLeft)>,
    /// The other candidates.
    pub others: Vec<(ReplicaId, RedoLeft)>,
}

/// The story of one failover, as the new primary saw it. Times are of its monotonic clock; a step that has not happened
/// (yet) is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailoverRecord {
    /// The group.
    pub group: GroupId,
    /// The primary before.
    pub from: Option<ReplicaId>,
    /// The primary now.
    pub to: ReplicaId,
    /// The epoch it began.
    pub epoch: Epoch,
    /// Why.
    pub kind: FailoverKind,
    /// What set it off.
    pub cause: FailoverCause,
    /// Why the primary before gave up, in its own words.
    pub reason: Option<String>,
    /// The primary before was last heard.
    pub last_heard: Option<Duration>,
    /// It was found lost here.
    pub suspected: Option<Duration>,
    /// A majority agreed.
    pub polled: Option<Duration>,
    /// The role was claimed.
    pub claimed: Duration,
    /// The claim was agreed on and written down.
    pub decided: Option<Duration>,
    /// The databases had redone all of their log.
    pub redone: Option<Duration>,
    /// The databases were open for writing.
    pub opened: Option<Duration>,
    /// The first commit of the new epoch was agreed.
    pub first_commit: Option<Duration>,
    /// Replicas that went on in the synchronized set of every database, the new primary included.
    pub survivors: u32,
    /// Why this replica and no other.
    pub choice: Choice,
}

/// The state of a cluster's votes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumState {
    /// Not known, or lost: no majority is heard or it has no leader.
    Lost,
    /// A majority is there.
    Normal,
    /// A majority is there, after an operator forced it; groups wait for a forced failover.
    Forced,
}

/// A member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberStatus {
    /// Who.
    pub member: StoreMember,
    /// It is this instance.
    pub local: bool,
    /// It has a vote.
    pub vote: bool,
    /// A connection is up.
    pub connected: bool,
    /// It is heard, and hears this instance.
    pub heard: bool,
    /// It leads the store.
    pub leads: bool,
}

/// The cluster as this instance sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterStatus {
    /// Which.
    pub cluster: ClusterId,
    /// Counts forced quorums.
    pub generation: u64,
    /// Its members.
    pub members: Vec<MemberStatus>,
    /// Whether decisions can be made.
    pub quorum: QuorumState,
    /// A majority was heard within the lease: this instance may lead.
    pub holds_lease: bool,
    /// Something waits for this instance's disk before it can be said.
    pub waits_for_disk: bool,
    /// Position of the last decision known here.
    pub applied: u64,
    /// Chained over all decisions: equal wherever `applied` and `generation` are.
    pub digest: u64,
}
