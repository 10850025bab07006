//! What comes out of the machine: [`Action`]s for the shell to carry out, in order.

use crate::config::GroupRecord;
use crate::config::SuspendReason;
use crate::event::CommandError;
use crate::ids::{CommandId, GroupDatabaseId, GroupId, InstanceId, ReplicaId, SessionId};
use crate::message::Msg;
use crate::status::{FailoverRecord, RedoLeft};
use crate::store::StoreRecord;
use keel_base::{Epoch, Lsn};
use std::time::Duration;

/// Something to do. Actions of one step are carried out in order; those that name an answering event may be carried out by
/// another thread, all others are done before the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a control message, ahead of bulk data. Drop it when not connected.
    Send {
        /// To whom.
        peer: InstanceId,
        /// What.
        msg: Msg,
    },
    /// The peer was silent too long: break the connection so that the peer is told without waiting for data that nobody
    /// confirms (and connect again). [`crate::Event::Disconnected`] is not needed.
    Disconnect {
        /// Who.
        peer: InstanceId,
    },
    /// Write the record durably and atomically; then [`crate::Event::Persisted`]. Never write an older one over a newer one;
    /// one that was not begun may be left out when a newer one is there.
    Persist {
        /// The group.
        group: GroupId,
        /// Number of this record; grows.
        revision: u64,
        /// What to write.
        record: Box<GroupRecord>,
    },
    /// Write the store's record durably and atomically; then [`crate::Event::StorePersisted`], or
    /// [`crate::Event::StorePersistFailed`]. Never write an older one over a newer one; one that was not begun may be left
    /// out when a newer one is there. Messages wait for it: it should go before everything else.
    PersistStore {
        /// Number of this record; grows.
        revision: u64,
        /// What to write.
        record: Box<StoreRecord>,
    },
    /// This instance belongs to no cluster any more: remove the store's record.
    ForgetStore,
    /// This instance is no member any more: remove the durable record. The databases were released before.
    Forget {
        /// The group.
        group: GroupId,
    },
    /// The commit point moved (primary): `advance_agreed`, and announce it to the secondaries when the line is idle.
    Agree {
        /// Which.
        database: GroupDatabaseId,
        /// Everything before this is in every log that counts.
        lsn: Lsn,
    },
    /// Redo up to here, as far as it has arrived (secondary).
    ApplyUpTo {
        /// Which.
        database: GroupDatabaseId,
        /// The commit point, never past the local hardened end.
        lsn: Lsn,
    },
    /// Begin to send blocks to a secondary, from `from` on, each frame tagged with the session. Ends a previous session.
    StartSending {
        /// To whom.
        peer: InstanceId,
        /// Which.
        database: GroupDatabaseId,
        /// The attempt.
        session: SessionId,
        /// First position to send: a block boundary.
        from: Lsn,
        /// As in [`Action::SendUntil`].
        limit: Lsn,
    },
    /// Of a session under way: no block that begins here or later is sent until more is allowed, but for the rest of what was
    /// appended at once and begun before it. [`Lsn::MAX`]: no limit.
    SendUntil {
        /// To whom.
        peer: InstanceId,
        /// Which.
        database: GroupDatabaseId,
        /// The session it holds for.
        session: SessionId,
        /// Where it ends.
        limit: Lsn,
    },
    /// Writers of a database wait so long before each transaction's first write: a member has much to redo.
    SlowWriters {
        /// Which.
        database: GroupDatabaseId,
        /// Zero: not any more.
        time: Duration,
    },
    /// Stop sending.
    StopSending {
        /// To whom.
        peer: InstanceId,
        /// Which.
        database: GroupDatabaseId,
    },
    /// Look at the quiet log of a copy: [`crate::Event::Inspected`].
    Inspect {
        /// Which.
        database: GroupDatabaseId,
        /// For which attempt.
        session: SessionId,
    },
    /// Cut the log: [`crate::Event::LogCut`]. What is cut off is kept aside for salvage when `keep` says so.
    CutLog {
        /// Which.
        database: GroupDatabaseId,
        /// For which attempt.
        session: SessionId,
        /// The new end: a block boundary, at or after the floor.
        at: Lsn,
    },
    /// Take blocks of this session from this peer from now on, and of no other; refuse older epochs.
    Receive {
        /// Which.
        database: GroupDatabaseId,
        /// From whom.
        peer: InstanceId,
        /// The attempt.
        session: SessionId,
        /// The primary's epoch.
        epoch: Epoch,
        /// Where the next block begins: the log's end.
        from: Lsn,
    },
    /// Of a copy whose blocks go on to other copies, from the next acknowledgement until the next [`Action::Receive`]: acknowledge
    /// nothing beyond this as hardened; and acknowledge now. The others may lack what lies behind it.
    AckUpTo {
        /// Which.
        database: GroupDatabaseId,
        /// Everything before this is hardened wherever it is waited for.
        lsn: Lsn,
    },
    /// Take no more blocks. What arrived may still be hardened, but no acknowledgement is sent after this.
    StopReceiving {
        /// Which.
        database: GroupDatabaseId,
    },
    /// Make every database of the group writable in this epoch: redo to the log's end, switch the epoch, hold commits until
    /// [`Action::Agree`]. Then [`crate::Event::Promoted`].
    Promote {
        /// The group.
        group: GroupId,
        /// The epoch.
        epoch: Epoch,
        /// Which databases.
        databases: Vec<GroupDatabaseId>,
    },
    /// A database joined the group of a primary that is already on line: as [`Action::Promote`], for it alone. Answered by
    /// [`crate::Event::Promoted`] with it alone.
    PromoteDatabase {
        /// The group.
        group: GroupId,
        /// The epoch.
        epoch: Epoch,
        /// Which.
        database: GroupDatabaseId,
    },
    /// Make every database of the group a secondary's: no writes, sessions that wrote fail, blocks are taken. From any
    /// state. Then [`crate::Event::Demoted`].
    Demote {
        /// The group.
        group: GroupId,
        /// Which databases.
        databases: Vec<GroupDatabaseId>,
    },
    /// At once: no commit of this group is acknowledged from now on (waiters fail: in doubt), no write begins.
    Fence {
        /// The group.
        group: GroupId,
        /// Why, for the error log.
        reason: FenceReason,
    },
    /// Hold back new appends in all databases of the group; when what was appended is hardened: [`crate::Event::Drained`].
    /// Open transactions are not waited for.
    Drain {
        /// The group.
        group: GroupId,
    },
    /// The handover was called off: let appends go on.
    Undrain {
        /// The group.
        group: GroupId,
    },
    /// These databases are in no group any more. `writable`: they go on as standalone databases (the primary's copies after
    /// a drop or removal); otherwise they are left as after a restore without recovery.
    Release {
        /// Which.
        database: GroupDatabaseId,
        /// Whether they go on on line.
        writable: bool,
    },
    /// Send a copy of the database to the peer; [`crate::Event::SeedEnded`] in the end.
    Seed {
        /// To whom.
        peer: InstanceId,
        /// Which.
        database: GroupDatabaseId,
    },
    /// Take a copy from the peer; [`crate::Event::DatabaseOpened`] or [`crate::Event::SeedEnded`] in the end. An older local
    /// copy is replaced.
    ExpectSeed {
        /// From whom.
        peer: InstanceId,
        /// Which.
        database: GroupDatabaseId,
    },
    /// The command is done, or cannot be.
    Reply {
        /// Which.
        command: CommandId,
        /// How it went.
        result: Result<(), CommandError>,
    },
    /// For the health log and the error log.
    Log(LogEntry),
    /// Another instance is the group's primary now, as far as is known here, or none: whoever sends clients there looks again
    /// ([`crate::Node::primaries`]).
    PrimaryMoved {
        /// The group.
        group: GroupId,
    },
}

/// Why an instance stops acknowledging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceReason {
    /// A newer epoch exists.
    NewerEpoch,
    /// The role was handed over or given up.
    GaveUp,
    /// The configuration could not be made durable.
    CannotPersist,
    /// The group was dropped or this replica removed.
    Removed,
    /// A majority of the cluster's votes was not heard for the lease.
    LostQuorum,
    /// The instance reported itself unfit to lead.
    Unhealthy,
}

/// A line of the health log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// The group it is about, if any.
    pub group: Option<GroupId>,
    /// The database it is about, if any.
    pub database: Option<GroupDatabaseId>,
    /// What happened.
    pub what: LogEvent,
}

/// What the health log can say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEvent {
    /// The local replica's role changed.
    RoleChanged {
        /// Role before, in the product's words.
        from: &'static str,
        /// Role now.
        to: &'static str,
        /// Epoch of the configuration.
        epoch: Epoch,
    },
    /// A replica connected.
    ReplicaConnected(ReplicaId),
    /// A replica disconnected or was silent for its session time-out.
    ReplicaDisconnected {
        /// Which.
        replica: ReplicaId,
        /// It was silent, rather than closed.
        timed_out: bool,
    },
    /// A replica is in the synchronized set, durably.
    Synchronized(ReplicaId),
    /// A replica is durably out of the synchronized set; commits no longer wait for it.
    NotSynchronized {
        /// Which.
        replica: ReplicaId,
        /// Why.
        reason: LeaveReason,
    },
    /// Data movement was suspended.
    Suspended(SuspendReason),
    /// Data movement was resumed.
    Resumed,
    /// A secondary cut its log.
    LogCut {
        /// New end.
        at: Lsn,
        /// End before.
        from: Lsn,
    },
    /// The blocks that come do not follow on this copy's log, again and again: it is asked for them ever more seldom. Said once
    /// for each place.
    Gaps {
        /// Where the log ends.
        at: Lsn,
        /// How often by now.
        times: u32,
    },
    /// A log that was just opened ends before what its copy once held: its disk has lost the rest. The replica does not lead
    /// before it has followed a primary.
    LogShort {
        /// Where it ends.
        end: Lsn,
        /// What it held, at least.
        reached: Lsn,
    },
    /// What this instance has of the cluster's store is older than what it has acknowledged: it was started from an older copy of its
    /// data directory, or its disk has lost what was synced. It takes part anew, without a vote at first.
    OldRecord,
    /// The instance of this name leads the cluster's store and lacks what was agreed before; nothing is taken from it.
    OldLeader(String),
    /// A forced failover was carried out here.
    Forced {
        /// Epoch it began.
        epoch: Epoch,
        /// This replica was recorded as holding every acknowledged commit.
        synchronized: bool,
    },
    /// A copy cannot follow and must be seeded anew.
    NeedsSeeding(ReplicaId),
    /// A failover has been carried out here, or has come to a further point of its timeline.
    Failover(Box<FailoverRecord>),
    /// An automatic failover is held back, because there were too many: milliseconds.
    FailoverHeldBack {
        /// Until it may happen.
        pause_ms: u64,
    },
    /// A planned failover was asked for here, and this copy has more to redo than clients would not notice.
    MuchToRedo(RedoLeft),
    /// The instance says that it is unfit to lead.
    Unhealthy(String),
}

/// Why a replica left the synchronized set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// Its connection closed or was silent.
    Disconnected,
    /// It stopped receiving: suspended or failed.
    Stopped,
    /// Connected, but hardened nothing for its session time-out although there was something to harden.
    Stalled,
    /// Connected, but redid nothing of a recovery queue at its bound for its session time-out.
    Behind,
    /// It is no longer in synchronous-commit mode, or removed.
    Configured,
}
