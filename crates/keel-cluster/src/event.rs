//! What goes into the machine: [`Event`], and among them the operator's [`Command`]s.

use crate::config::{
    ClusterType, GroupConfig, GroupDatabase, GroupOptions, Listener, Replica, ReplicaOptions,
};
use crate::distributed::{Distributed, DistributedMember};
use crate::ids::{CommandId, GroupDatabaseId, GroupId, InstanceId, ReplicaId, SessionId};
use crate::message::Msg;
use keel_base::{Epoch, Lsn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What is known of a copy's log at one moment, while nothing is being written to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFacts {
    /// Every epoch with blocks in the log's life and the LSN at which it begins, ascending in both. An epoch that wrote
    /// nothing may be absent.
    pub history: Vec<(Epoch, Lsn)>,
    /// Hardened end.
    pub end: Lsn,
    /// The highest commit point known here.
    pub agreed: Lsn,
    /// The lowest position the log can be cut at: nothing before it may be taken back (it is in the base tree). Of a copy that was just
    /// made it may lie behind the end: the log up to it has to come before the copy can be led with.
    pub floor: Lsn,
    /// What this copy had hardened and knew to be agreed at some time before, as far as that was noted outside the log; zero
    /// when nothing was. A log that ends before it has lost something.
    pub reached: Lsn,
}

/// Where a secondary's copy stands. `applied ≤ hardened ≤ received`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyPositions {
    /// Everything before this has arrived.
    pub received: Lsn,
    /// Everything before this survives a power cut.
    pub hardened: Lsn,
    /// Everything before this is redone.
    pub applied: Lsn,
}

/// Why a primary's sender gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendFailure {
    /// The log at the wanted position is gone: the copy must be seeded anew.
    LogGone,
    /// No block begins at the wanted position: the two logs are not of one history.
    NoBlock,
    /// The log could not be read (suspend reason 3).
    ReadFailed,
}

/// Why a secondary's receiver gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveFailure {
    /// A block did not begin where the log ends; nothing is wrong with the log. The machine asks again.
    Gap,
    /// A block began where the log ends but did not chain to its last block (suspend reason 7).
    Mismatch,
    /// The block could not be written: disk full, I/O error (suspend reason 4). Tried again with back-off.
    WriteFailed,
    /// Redo failed (suspend reason 2).
    RedoFailed,
}

/// A mirroring session whose mirror this instance is to be: its copy waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExpectedSession {
    /// Identity of the database's log.
    pub log_id: u32,
    /// Who is to be the principal.
    pub principal: InstanceId,
}

/// Something that happened. `peer` is always the instance on the other end of an authenticated connection.
#[derive(Clone, Debug)]
pub enum Event {
    /// A control connection to `peer` is up.
    Connected {
        /// Who.
        peer: InstanceId,
        /// Its server name.
        name: String,
    },
    /// The connection is gone. Data sessions over it are dead.
    Disconnected {
        /// Who.
        peer: InstanceId,
    },
    /// Bytes of any kind arrived from `peer`; needed only when no other event tells (bulk data).
    Heard {
        /// Who.
        peer: InstanceId,
    },
    /// A control message arrived.
    Message {
        /// From whom.
        peer: InstanceId,
        /// What.
        msg: Msg,
    },
    /// A local copy of a group's database is open and quiet: at start, after seeding or a restore. Its database is in
    /// resolving mode until [`crate::Action::Promote`] or [`crate::Action::Demote`] says otherwise.
    DatabaseOpened {
        /// Which.
        database: GroupDatabaseId,
        /// Its log.
        facts: LogFacts,
    },
    /// The local copy cannot be used any more, or (after a start, or JOIN) there is none. Without this or `DatabaseOpened` an
    /// instance then waits a session time-out before it asks for a new copy.
    DatabaseClosed {
        /// Which.
        database: GroupDatabaseId,
    },
    /// The local log is hardened up to `lsn`.
    Hardened {
        /// Which.
        database: GroupDatabaseId,
        /// Everything before this survives a power cut.
        lsn: Lsn,
    },
    /// The local copy is redone up to `lsn` (secondaries).
    Applied {
        /// Which.
        database: GroupDatabaseId,
        /// Everything before this is redone.
        lsn: Lsn,
    },
    /// A secondary's acknowledgement came over the data plane.
    Acked {
        /// From whom.
        peer: InstanceId,
        /// Which database.
        database: GroupDatabaseId,
        /// The attempt it belongs to.
        session: SessionId,
        /// Where the copy stands.
        positions: CopyPositions,
    },
    /// A block or a bare commit frame carried the primary's commit point (secondaries).
    Announced {
        /// Which.
        database: GroupDatabaseId,
        /// The attempt it belongs to.
        session: SessionId,
        /// The commit point.
        agreed: Lsn,
    },
    /// Answer to [`crate::Action::Inspect`].
    Inspected {
        /// Which.
        database: GroupDatabaseId,
        /// The attempt it was asked for.
        session: SessionId,
        /// The log; nothing is written to it until the next `Receive`.
        facts: LogFacts,
    },
    /// Answer to [`crate::Action::CutLog`]: the log ends at the place and that is durable.
    LogCut {
        /// Which.
        database: GroupDatabaseId,
        /// The attempt it was asked for.
        session: SessionId,
    },
    /// [`crate::Action::Receive`] or [`crate::Action::CutLog`] failed, or a running one did. The data session is over here.
    ReceiveFailed {
        /// Which.
        database: GroupDatabaseId,
        /// The attempt.
        session: SessionId,
        /// Why.
        failure: ReceiveFailure,
    },
    /// A running [`crate::Action::StartSending`] failed.
    SendFailed {
        /// To whom.
        peer: InstanceId,
        /// Which.
        database: GroupDatabaseId,
        /// The attempt.
        session: SessionId,
        /// Why.
        failure: SendFailure,
    },
    /// The databases of a [`crate::Action::Promote`] under way have redone their log; only the failover's record asks.
    Redone {
        /// The group.
        group: GroupId,
        /// The epoch asked for.
        epoch: Epoch,
    },
    /// Answer to [`crate::Action::Promote`]. Databases that could not be opened for writing are absent.
    Promoted {
        /// The group.
        group: GroupId,
        /// The epoch asked for.
        epoch: Epoch,
        /// Each database's log, as it stands at the beginning of the epoch.
        databases: Vec<(GroupDatabaseId, LogFacts)>,
    },
    /// Answer to [`crate::Action::Demote`]: all databases take blocks and no writes.
    Demoted {
        /// The group.
        group: GroupId,
    },
    /// Answer to [`crate::Action::Drain`]: nothing will be appended until `Undrain`; what was, is hardened up to these ends.
    Drained {
        /// The group.
        group: GroupId,
        /// Appended and hardened end per database.
        ends: Vec<(GroupDatabaseId, Lsn)>,
    },
    /// The record written last for this group is durable up to this revision.
    Persisted {
        /// The group.
        group: GroupId,
        /// As in the action.
        revision: u64,
    },
    /// The record could not be written. The machine steps down if it was primary, and tries again later.
    PersistFailed {
        /// The group.
        group: GroupId,
        /// As in the action.
        revision: u64,
    },
    /// The store's record is durable up to this revision.
    StorePersisted {
        /// As in the action.
        revision: u64,
    },
    /// The store's record could not be written; the machine asks again later.
    StorePersistFailed {
        /// As in the action.
        revision: u64,
    },
    /// This instance is unfit to lead a group (`None`: any group): a disk that stalls, a starved scheduler, a failed
    /// health condition. It gives the role up if another one can take it.
    Unhealthy {
        /// The group concerned.
        group: Option<GroupId>,
        /// For the log and the failover's record.
        reason: String,
    },
    /// Nothing makes this instance unfit any more, but not for long enough to call it fit: it leads a group only when nobody
    /// does who is.
    Recovering {
        /// The group concerned.
        group: Option<GroupId>,
        /// Why it was unfit.
        reason: String,
    },
    /// It is fit again.
    Healthy {
        /// The group concerned.
        group: Option<GroupId>,
    },
    /// Seeding to or from `peer` moved on.
    SeedProgress {
        /// The other side.
        peer: InstanceId,
        /// Which.
        database: GroupDatabaseId,
        /// Bytes moved.
        done: u64,
        /// Bytes to move in all, as estimated now.
        total: u64,
    },
    /// Seeding ended on this side. On the receiving side success is also told by `DatabaseOpened`.
    SeedEnded {
        /// The other side.
        peer: InstanceId,
        /// Which.
        database: GroupDatabaseId,
        /// Whether the copy is whole.
        completed: bool,
    },
    /// The mirroring sessions that this instance is to be the mirror of, all of them; nothing is remembered over a restart.
    Expecting(BTreeSet<ExpectedSession>),
    /// An operator speaks.
    Command {
        /// Named in the answer.
        id: CommandId,
        /// What is wanted.
        command: Command,
    },
}

/// Whether an instance should lead a group, by its own account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fitness {
    /// Nothing speaks against it.
    #[default]
    Fit,
    /// What made it unfit has just passed: it does when nobody else can.
    Recovering(String),
    /// It should not.
    Unfit(String),
}

impl Fitness {
    /// Why it is not fit.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Fitness::Fit => None,
            Fitness::Recovering(reason) | Fitness::Unfit(reason) => Some(reason),
        }
    }

    /// It should not lead.
    #[must_use]
    pub fn is_unfit(&self) -> bool {
        matches!(self, Fitness::Unfit(_))
    }
}

/// What an operator can ask of one instance.
#[derive(Clone, Debug)]
pub enum Command {
    /// CREATE AVAILABILITY GROUP: the local server must be one of the replicas and becomes primary.
    CreateGroup {
        /// Made with [`GroupConfig::new`], replicas and databases filled in.
        config: Box<GroupConfig>,
        /// The newest epoch in any of the databases' logs.
        log_epoch: Epoch,
    },
    /// DROP AVAILABILITY GROUP.
    DropGroup {
        /// The group.
        group: GroupId,
    },
    /// ALTER AVAILABILITY GROUP … JOIN: answered when this instance is a member, or after the time-out.
    Join {
        /// Name of the group.
        name: String,
        /// WITH (CLUSTER_TYPE = …): what the group must be of; `None` for anything.
        cluster_type: Option<ClusterType>,
    },
    /// ADD REPLICA ON.
    AddReplica {
        /// The group.
        group: GroupId,
        /// Made with [`Replica::new`].
        replica: Box<Replica>,
    },
    /// REMOVE REPLICA ON.
    RemoveReplica {
        /// The group.
        group: GroupId,
        /// Which.
        replica: ReplicaId,
    },
    /// MODIFY REPLICA ON … WITH.
    ModifyReplica {
        /// The group.
        group: GroupId,
        /// Which.
        replica: ReplicaId,
        /// All options, with the one that changes changed.
        options: Box<ReplicaOptions>,
    },
    /// SET (…).
    SetOptions {
        /// The group.
        group: GroupId,
        /// All options, with the one that changes changed.
        options: Box<GroupOptions>,
    },
    /// ADD/MODIFY/REMOVE LISTENER.
    SetListeners {
        /// The group.
        group: GroupId,
        /// All listeners, as they shall be.
        listeners: Vec<Listener>,
    },
    /// ADD DATABASE. [`Event::DatabaseOpened`] follows from the shell when it has put the database into resolving mode.
    AddDatabase {
        /// The group.
        group: GroupId,
        /// Made with [`GroupDatabase::new`].
        database: Box<GroupDatabase>,
        /// The newest epoch in its log.
        log_epoch: Epoch,
    },
    /// REMOVE DATABASE.
    RemoveDatabase {
        /// Which.
        database: GroupDatabaseId,
    },
    /// ALTER DATABASE … SET HADR OFF, on a secondary.
    LeaveDatabase {
        /// Which.
        database: GroupDatabaseId,
    },
    /// ALTER DATABASE … SET HADR AVAILABILITY GROUP, on a secondary: undoes [`Command::LeaveDatabase`], and is the consent
    /// to follow. [`Event::DatabaseOpened`] tells the copy's log, or [`Event::DatabaseClosed`] that there is none.
    JoinDatabase {
        /// Which.
        database: GroupDatabaseId,
    },
    /// ALTER DATABASE … SET HADR SUSPEND: on a secondary its copy, on the primary all.
    Suspend {
        /// Which.
        database: GroupDatabaseId,
    },
    /// ALTER DATABASE … SET HADR RESUME: same scope; after a forced failover the consent to cut a divergent tail.
    Resume {
        /// Which.
        database: GroupDatabaseId,
    },
    /// CREATE AVAILABILITY GROUP … WITH (DISTRIBUTED), or JOIN AVAILABILITY GROUP ON, on the primary of a member group.
    SetUpDistributed {
        /// The member group.
        group: GroupId,
        /// What it is to be; not [`Distributed::bound`] for a group that joins.
        distributed: Box<Distributed>,
    },
    /// MODIFY AVAILABILITY GROUP ON, and SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT) of a distributed group: members' options as
    /// they shall be.
    ModifyDistributed {
        /// The member group.
        group: GroupId,
        /// URLs and modes; identities and roles are not changed.
        members: Vec<DistributedMember>,
        /// As in [`Distributed::required`].
        required: u8,
    },
    /// DROP of a distributed group, on the primary of a member group. The copies of one that forwards are left restoring.
    DropDistributed {
        /// The member group.
        group: GroupId,
    },
    /// SET (ROLE = SECONDARY) of a distributed group, on the global primary: when the forwarder has everything, the role is given up.
    YieldDistributed {
        /// The member group.
        group: GroupId,
    },
    /// FORCE_FAILOVER_ALLOW_DATA_LOSS of a distributed group, on the primary of the group that shall be the source.
    ForceDistributed {
        /// The member group.
        group: GroupId,
    },
    /// FAILOVER, given to the target. Answered when it is primary, or when the primary refused. Given to a resolving
    /// instance that the configuration names as primary, it resumes that role without waiting for the others.
    Failover {
        /// The group.
        group: GroupId,
    },
    /// FORCE_FAILOVER_ALLOW_DATA_LOSS, given to the target. Answered when it is primary.
    ForceFailover {
        /// The group.
        group: GroupId,
    },
    /// SET (ROLE = SECONDARY) or OFFLINE, on the primary: it drains and gives the role up; nobody has it. On a secondary whose role a
    /// cluster manager decides: it follows nobody before it is told to.
    Offline {
        /// The group.
        group: GroupId,
    },
    /// SET (ROLE = SECONDARY) where a cluster manager decides and this is not the primary: it follows whoever leads.
    Follow {
        /// The group.
        group: GroupId,
    },
    /// Begins a cluster of this instance alone. CREATE AVAILABILITY GROUP does so by itself.
    FormCluster {
        /// This instance's endpoint, for others to see.
        url: String,
    },
    /// Makes a connected instance a member of the cluster. Replicas of a group become members by themselves.
    AddMember {
        /// Which.
        instance: InstanceId,
        /// Its endpoint.
        url: String,
        /// It only votes.
        witness: bool,
    },
    /// Removes a member that hosts no replica from the cluster; it need not be there.
    RemoveMember {
        /// Which.
        instance: InstanceId,
    },
    /// Makes this instance's vote alone count, in a new generation of the cluster, because the others are gone. What they
    /// agreed on without this instance is lost. Its groups then need FORCE_FAILOVER_ALLOW_DATA_LOSS.
    ForceQuorum,
    /// GRANT or DENY CREATE ANY DATABASE.
    AllowCreate {
        /// The group.
        group: GroupId,
        /// GRANT.
        allowed: bool,
    },
}

/// Why a command cannot be carried out. The product's number is in each line; the text is made where SQL is spoken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CommandError {
    /// 41044: no such group here.
    #[error("no such availability group")]
    NoSuchGroup,
    /// 41042: a group of that name or identity is already here.
    #[error("the availability group already exists")]
    GroupExists,
    /// 41140, or 35251 for a database: only the primary can do it.
    #[error("the local replica is not the primary")]
    NotPrimary,
    /// 35240: only a secondary can do it.
    #[error("the local replica is the primary")]
    IsPrimary,
    /// 35237: the local server is not among the replicas.
    #[error("the local server is not one of the replicas")]
    LocalServerMissing,
    /// 35282: the replica is already there.
    #[error("the replica already exists")]
    ReplicaExists,
    /// 35283: no such replica.
    #[error("no such replica")]
    NoSuchReplica,
    /// 35284: the primary's own replica cannot be removed.
    #[error("the primary replica cannot be removed")]
    CannotRemovePrimary,
    /// 35280: the database is already in the group.
    #[error("the database is already in the group")]
    DatabaseExists,
    /// 35281, 35242: the database is not in the group.
    #[error("the database is not in an availability group here")]
    NoSuchDatabase,
    /// 41142: the target is not synchronized, or not ready in some database (for a forced failover: has no copy of it).
    #[error("the replica is not ready for a failover without loss")]
    NotSynchronized,
    /// 41122: the target is not in synchronous-commit mode (or the primary is not).
    #[error("both replicas must be in synchronous-commit mode")]
    NotSynchronousMode,
    /// 35250: the primary is not connected.
    #[error("the connection to the primary is not active")]
    PrimaryNotConnected,
    /// 47106: no configuration arrived in time.
    #[error("the configuration of the group could not be had in time")]
    JoinTimedOut,
    /// 47100: the group is of another CLUSTER_TYPE than the JOIN said.
    #[error("the group is of another cluster type")]
    ClusterTypeMismatch,
    /// 41158: this instance was removed or never added.
    #[error("the local instance is not a replica of the group")]
    NotAMember,
    /// 41138: the group is busy with another operation.
    #[error("another operation on the group is in progress")]
    Busy,
    /// 41116 (transient): the failover was given up; the primary goes on.
    #[error("the failover did not finish in time and was called off")]
    FailoverTimedOut,
    /// 41131: the configuration could not be made durable, or the role could not be taken.
    #[error("the operation failed on the local instance")]
    Failed,
    /// 19530: REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT is more than there are synchronous secondaries.
    #[error("more synchronized secondaries are required than there are")]
    TooManyRequired,
    /// 41125: after a forced quorum only a forced failover makes the group's configuration count.
    #[error("the cluster's quorum was forced; only a forced failover is possible")]
    ForcedQuorum,
    /// 41131: no majority of the cluster's votes is heard.
    #[error("the cluster has no quorum")]
    NoQuorum,
    /// This instance belongs to no cluster.
    #[error("the instance is not a member of a cluster")]
    NoCluster,
    /// This instance belongs to a cluster already.
    #[error("the instance is a member of a cluster already")]
    ClusterExists,
    /// The other instance belongs to another cluster.
    #[error("the instance is a member of another cluster")]
    OtherCluster,
    /// It is a member already.
    #[error("the instance is a member of the cluster already")]
    MemberExists,
    /// It is no member.
    #[error("the instance is not a member of the cluster")]
    NoSuchMember,
    /// It must be connected to become a member.
    #[error("the instance is not connected")]
    MemberNotConnected,
    /// It hosts replicas: those are removed first.
    #[error("the instance hosts replicas of availability groups")]
    MemberHasReplicas,
    /// The last member stays.
    #[error("the last member of a cluster cannot be removed")]
    LastMember,
    /// No majority agreed in time; it may still happen.
    #[error("the cluster did not agree in time")]
    ClusterTimedOut,
    /// The group is a member of a distributed group already.
    #[error("the availability group is a member of a distributed availability group already")]
    InDistributed,
    /// 19511: a group that joins a distributed one must have no databases.
    #[error("the availability group has databases of its own")]
    HasDatabases,
    /// 47109, 47111…: a configuration-only replica cannot do this.
    #[error("a configuration-only replica cannot do this")]
    ConfigurationOnly,
    /// 41108: the group is gone here; the cluster has it still, because no majority of its votes is heard.
    #[error("the availability group was removed here, and could not be removed from the cluster")]
    DropIncomplete,
}
