//! [`Msg`]: what machines say to each other. Every message may be lost, repeated or late: each is either news that is
//! compared with what is known ([`Stamp`]), or names the attempt it belongs to ([`SessionId`]), and whoever waits for an
//! answer asks again on a later tick.

use crate::cluster::Pulse;
use crate::config::{GroupConfig, GroupRecord, Stamp};
use crate::distributed::DistributedBeat;
use crate::event::{CommandError, CopyPositions, Fitness, LogFacts};
use crate::ids::{GroupDatabaseId, GroupId, ReplicaId, SessionId};
use crate::store::StoreMsg;
use keel_base::{Epoch, Lsn};
use serde::{Deserialize, Serialize};

/// A control message between two instances.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Msg {
    /// Sent on connecting and every heartbeat: what the sender knows of every group it shares with the receiver.
    Beat(Vec<GroupBeat>),
    /// Primary → an instance that was added but has not joined: here is the group.
    Invite(Box<GroupConfig>),
    /// The invited instance was told to JOIN.
    Join {
        /// The group.
        group: GroupId,
        /// As which of its replicas.
        replica: ReplicaId,
    },
    /// A newer configuration than the receiver showed.
    Config(Box<GroupConfig>),
    /// The receiver is no member of this group any more, as of this stamp.
    Removed {
        /// The group.
        group: GroupId,
        /// Stamp of the configuration without the receiver.
        stamp: Stamp,
    },
    /// Secondary → primary: I want to follow you for this database.
    Follow {
        /// The group.
        group: GroupId,
        /// The database.
        database: GroupDatabaseId,
        /// Configuration the follower holds; the primary answers only if the epochs agree.
        stamp: Stamp,
        /// This attempt.
        session: SessionId,
        /// The follower's log.
        facts: LogFacts,
    },
    /// Primary → secondary: cut at `from` if you are past it, then receive from there.
    Start {
        /// The database.
        database: GroupDatabaseId,
        /// The attempt answered.
        session: SessionId,
        /// Where the two logs part, or where the follower's ends.
        from: Lsn,
        /// The commit point at this moment.
        agreed: Lsn,
        /// For a forwarder, which others follow in turn: the epochs of the log from `from` on, with where each begins.
        later: Vec<(Epoch, Lsn)>,
    },
    /// Primary → secondary: you cannot follow me.
    Refuse {
        /// The database.
        database: GroupDatabaseId,
        /// The attempt answered.
        session: SessionId,
        /// Why.
        reason: RefuseReason,
    },
    /// Secondary → primary: I stand at the agreed place, send.
    Ready {
        /// The database.
        database: GroupDatabaseId,
        /// The attempt.
        session: SessionId,
        /// Where the follower stands: where `Start` said.
        from: Lsn,
        /// What of that it has redone.
        applied: Lsn,
    },
    /// Secondary → primary: I stopped receiving (suspended, failed).
    Stopped {
        /// The database.
        database: GroupDatabaseId,
        /// The attempt.
        session: SessionId,
    },
    /// Secondary → primary: I have no copy of this database, or none that could follow, and may make one. It is sent one as soon as nobody
    /// counts on what it had; until then it asks again.
    WantSeed {
        /// The group.
        group: GroupId,
        /// The database.
        database: GroupDatabaseId,
        /// Epoch of the follower.
        stamp: Stamp,
    },
    /// Member → primary: DROP AVAILABILITY GROUP was given here.
    Drop {
        /// The group.
        group: GroupId,
    },
    /// Secondary → primary: an operator wants me to take over without loss.
    TakeOver {
        /// The group.
        group: GroupId,
        /// Configuration the asker holds.
        stamp: Stamp,
    },
    /// Primary → secondary: no, because.
    TakeOverRefused {
        /// The group.
        group: GroupId,
        /// Why.
        error: CommandError,
    },
    /// Member → member of a cluster: a sign of life.
    Pulse(Pulse),
    /// Member → member of a cluster: about the store.
    Store(StoreMsg),
    /// An instance of one member of a distributed group → one of the other.
    Distributed(Box<DistributedBeat>),
}

/// Why a primary will not feed a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefuseReason {
    /// The primary has suspended the database.
    Suspended,
    /// The histories have nothing in common, or what must be cut is already in the follower's base tree: the copy must be
    /// seeded anew.
    NoCommonPoint,
    /// The primary no longer has the log at the place where the follower stands: the copy must be seeded anew.
    LogGone,
    /// The primary's own copy is not usable; or, of a session in which blocks were sent, its log could not be read.
    NotAvailable,
}

/// One group in a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupBeat {
    /// The group.
    pub group: GroupId,
    /// The sender's durable configuration.
    pub stamp: Stamp,
    /// The sender is primary and on line in the stamp's epoch.
    pub primary: bool,
    /// The sender is about to be.
    pub taking: bool,
    /// Whether the sender should lead.
    pub fitness: Fitness,
    /// From a primary: what it sends to the receiver.
    pub sending: Vec<SendingBeat>,
    /// From a secondary: where its copies stand.
    pub standing: Vec<StandingBeat>,
    /// From a member of a cluster's group that does not lead: its logs.
    pub logs: Vec<LogBeat>,
}

/// Where a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogBeat {
    /// The database.
    pub database: GroupDatabaseId,
    /// The epoch of its last block.
    pub epoch: Epoch,
    /// Its hardened end.
    pub end: Lsn,
    /// The highest commit point known there.
    pub agreed: Lsn,
    /// Redone up to there.
    pub applied: Lsn,
    /// Bytes a second redone while there was enough to do; 0 when that is not known.
    pub redo_rate: u64,
}

/// A primary's view of one copy it feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendingBeat {
    /// The database.
    pub database: GroupDatabaseId,
    /// The attempt it is sending to.
    pub session: SessionId,
    /// The commit point.
    pub agreed: Lsn,
}

/// A secondary's view of one of its copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandingBeat {
    /// The database.
    pub database: GroupDatabaseId,
    /// The attempt it is receiving from.
    pub session: SessionId,
    /// Where it stands.
    pub positions: CopyPositions,
}

/// A message or record that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("not a readable {what}: {source}")]
pub struct DecodeError {
    what: &'static str,
    source: postcard::Error,
}

impl DecodeError {
    pub(crate) fn new(what: &'static str, source: postcard::Error) -> DecodeError {
        DecodeError { what, source }
    }
}

impl Msg {
    /// Bytes for the wire (postcard).
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self)
            .expect("writing to a vector cannot fail and every type here has a fixed shape")
    }

    /// Reads what [`Msg::encode`] wrote. The bytes come from a peer and are not trusted.
    pub fn decode(bytes: &[u8]) -> Result<Msg, DecodeError> {
        postcard::from_bytes(bytes).map_err(|source| DecodeError { what: "control message", source })
    }
}

impl GroupRecord {
    /// Bytes for the file (postcard); the caller adds length, version and checksum.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self)
            .expect("writing to a vector cannot fail and every type here has a fixed shape")
    }

    /// Reads what [`GroupRecord::encode`] wrote.
    pub fn decode(bytes: &[u8]) -> Result<GroupRecord, DecodeError> {
        postcard::from_bytes(bytes).map_err(|source| DecodeError { what: "group record", source })
    }
}
