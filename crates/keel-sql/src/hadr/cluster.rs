//! The cluster that groups with `CLUSTER_TYPE = WSFC` live in, as SQL sees it: who is a member and has a vote, whether there is
//! a quorum, which failovers there were; and what can be asked of it.

use super::Guid;
use super::config::shown;

shown! {
    /// `quorum_type` of `sys.dm_hadr_cluster`.
    QuorumType {
        /// A majority of the nodes.
        Nodes = 0, "NODE_MAJORITY";
        /// A majority of the nodes and a witness that only votes.
        NodesAndWitness = 2, "NODE_AND_FILE_SHARE_MAJORITY";
    }
}

shown! {
    /// `quorum_state` of `sys.dm_hadr_cluster`.
    QuorumState {
        /// A majority is not heard.
        Unknown = 0, "UNKNOWN_QUORUM_STATE";
        /// A majority agrees.
        Normal = 1, "NORMAL_QUORUM";
        /// An operator has forced it.
        Forced = 2, "FORCED_QUORUM";
    }
}

shown! {
    /// `member_type` of `sys.dm_hadr_cluster_members`.
    MemberType {
        /// An instance.
        Node = 0, "CLUSTER_NODE";
        /// A witness: a vote and nothing else.
        Witness = 2, "FILE_SHARE_WITNESS";
    }
}

/// The cluster as this instance knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterState {
    /// Its identity.
    pub id: Guid,
    /// What people call it: after the first group made in it.
    pub name: String,
    /// How many times a quorum was forced, and one.
    pub generation: u64,
    /// Who has votes.
    pub quorum_type: QuorumType,
    /// Whether there is a quorum.
    pub quorum: QuorumState,
    /// Who takes the cluster's decisions down at the moment, if known.
    pub leader: Option<String>,
    /// Silence after which a primary is suspected, milliseconds.
    pub detection_ms: u64,
    /// A majority was heard within the lease: this instance may lead.
    pub holds_lease: bool,
    /// All members, this one first.
    pub members: Vec<ClusterMember>,
}

/// A member of the cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterMember {
    /// Server name.
    pub name: String,
    /// Where its endpoint is, `TCP://host:port`.
    pub endpoint_url: String,
    /// What it is.
    pub kind: MemberType,
    /// It is this instance.
    pub is_local: bool,
    /// It is heard here.
    pub up: bool,
    /// It has a vote at the moment.
    pub vote: bool,
    /// The last round trip from here, microseconds.
    pub round_trip_us: Option<u64>,
    /// Which version of the product it runs; `None` while it is not connected, or does not tell.
    pub product_version: Option<String>,
    /// How that stands to this instance's, in words; `None` where it is the same, or is not known.
    pub product_warning: Option<String>,
    /// The networks it is reached over from here.
    pub networks: Vec<ClusterNetwork>,
}

/// A network of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterNetwork {
    /// Its own address.
    pub subnet: String,
    /// IPv4 mask.
    pub mask: Option<String>,
    /// Bits that name the network.
    pub prefix: u8,
    /// IPv4 rather than IPv6.
    pub is_ipv4: bool,
}

/// A failover and its steps. Times are microseconds since `began`; `None` for a step that there was not, or that is to come.
#[derive(Clone, Debug, PartialEq)]
pub struct FailoverRecord {
    /// When its cause was noticed, UTC.
    pub began_utc: i64,
    /// Group.
    pub group: String,
    /// Primary before.
    pub from: Option<String>,
    /// Primary after.
    pub to: String,
    /// AUTOMATIC, PLANNED, FORCED, RESUMED.
    pub kind: &'static str,
    /// Why, in words.
    pub cause: String,
    /// The old primary was last heard this long before.
    pub last_heard_us: Option<u64>,
    /// Steps by name, in order.
    pub steps: Vec<(&'static str, Option<u64>)>,
    /// The whole story in one line.
    pub text: String,
}

/// What an operator can ask of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterChange {
    /// Another replica, or this one, is to be primary of a group.
    FailOver {
        /// Group.
        group: String,
        /// Server name; this instance without.
        to: Option<String>,
        /// Even if something is lost.
        force: bool,
    },
    /// This instance goes on without a majority.
    ForceQuorum,
    /// A member goes for good.
    RemoveNode {
        /// Server name.
        name: String,
    },
}

/// A row of the report about what a cluster stands on. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterCheck {
    /// Who measured, or was looked at.
    pub member: String,
    /// What was looked at.
    pub check: &'static str,
    /// The other side of a round trip.
    pub other: Option<String>,
    /// Samples, half of them, 99 of 100, the slowest.
    pub measured: Option<[u64; 4]>,
    /// OK, WARNING or FAILED.
    pub verdict: &'static str,
    /// What it means.
    pub text: String,
}

/// A report about what a cluster stands on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterReport {
    /// Its lines.
    pub checks: Vec<ClusterCheck>,
    /// Where it was written down, on the instance's machine.
    pub file: Option<String>,
}
