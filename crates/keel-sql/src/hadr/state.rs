//! How groups stand, as this instance knows it: everything the views show.
//!
//! A primary knows all replicas and databases of its groups; a secondary knows its own, and what configuration says of
//! the others. Positions of remote copies are as of their last message. Times are local time in ticks of 100 ns since
//! 0001-01-01 ([`crate::Engine::now_local`]), or UTC where the name says so.

use super::Guid;
use super::config::{GroupSpec, ListenerSpec, ReplicaSpec, shown};

shown! {
    /// Role of a replica.
    Role {
        /// Neither: starting, without a primary, or deciding.
        Resolving = 0, "RESOLVING";
        /// Commits happen here.
        Primary = 1, "PRIMARY";
        /// Follows a primary.
        Secondary = 2, "SECONDARY";
    }
}

shown! {
    /// Operational state of the local replica.
    OperationalState {
        /// A failover command runs here.
        PendingFailover = 0, "PENDING_FAILOVER";
        /// Becoming primary.
        Pending = 1, "PENDING";
        /// Works.
        Online = 2, "ONLINE";
        /// The group has no primary.
        Offline = 3, "OFFLINE";
        /// Group data cannot be read or written.
        Failed = 4, "FAILED";
        /// No quorum.
        FailedNoQuorum = 5, "FAILED_NO_QUORUM";
    }
}

shown! {
    /// Synchronization health.
    Health {
        /// Something does not move.
        NotHealthy = 0, "NOT_HEALTHY";
        /// Moves, but is not where it is configured to be.
        PartiallyHealthy = 1, "PARTIALLY_HEALTHY";
        /// As configured.
        Healthy = 2, "HEALTHY";
    }
}

shown! {
    /// State of one of a listener's addresses.
    ListenerCondition {
        /// Not one of this machine's.
        Offline = 0, "OFFLINE";
        /// Takes connections.
        Online = 1, "ONLINE";
        /// Will be opened soon.
        OnlinePending = 2, "ONLINE_PENDING";
        /// Cannot be opened.
        Failed = 3, "FAILED";
    }
}

shown! {
    /// What becomes of connections to a listener on this node.
    ListenerWay {
        /// Served: the primary is here.
        Served = 0, "SERVED";
        /// Their bytes are forwarded to the primary.
        Forwarded = 1, "FORWARDED";
        /// They get a routing token to the primary.
        Routed = 2, "ROUTED";
        /// They wait for a primary.
        Held = 3, "HELD";
    }
}

shown! {
    /// Data movement of a database copy.
    SyncState {
        /// Nothing moves.
        NotSynchronizing = 0, "NOT SYNCHRONIZING";
        /// Log flows.
        Synchronizing = 1, "SYNCHRONIZING";
        /// Hardened to the end of the log, and recorded so.
        Synchronized = 2, "SYNCHRONIZED";
        /// Undoes what the new primary does not have.
        Reverting = 3, "REVERTING";
        /// Receives the log it needs before it may be used.
        Initializing = 4, "INITIALIZING";
    }
}

shown! {
    /// Why a copy is suspended.
    SuspendReason {
        /// SET HADR SUSPEND.
        User = 0, "SUSPEND_FROM_USER";
        /// A failover was forced elsewhere.
        Partner = 1, "SUSPEND_FROM_PARTNER";
        /// Redo failed.
        Redo = 2, "SUSPEND_FROM_REDO";
        /// The primary could not read its log.
        Capture = 3, "SUSPEND_FROM_CAPTURE";
        /// The copy could not write its log.
        Apply = 4, "SUSPEND_FROM_APPLY";
        /// Was suspended before the restart.
        Restart = 5, "SUSPEND_FROM_RESTART";
        /// Undo of redo failed.
        Undo = 6, "SUSPEND_FROM_UNDO";
        /// The logs do not fit.
        Revalidation = 7, "SUSPEND_FROM_REVALIDATION";
        /// No common point.
        XrfUpdate = 8, "SUSPEND_FROM_XRF_UPDATE";
    }
}

shown! {
    /// Whether a replica has joined.
    JoinState {
        /// Not yet.
        NotJoined = 0, "NOT_JOINED";
        /// As an instance of its own.
        Standalone = 1, "JOINED_STANDALONE_INSTANCE";
        /// As a failover cluster instance.
        FailoverCluster = 2, "JOINED_FAILOVER_CLUSTER_INSTANCE";
    }
}

/// Everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HadrState {
    /// `SERVERPROPERTY('HadrManagerStatus')`: 0 pending, 1 running, 2 failed.
    pub manager_status: u8,
    /// Groups this instance is a member of.
    pub groups: Vec<GroupState>,
    /// Distributed groups that one of them is a member of.
    pub distributed: Vec<super::distributed::DistributedState>,
    /// Mirroring sessions that this instance is a partner or the witness of.
    pub mirroring: Vec<super::mirroring::Mirroring>,
    /// Mirroring sessions that it is to be the mirror of, before they begin.
    pub expected: Vec<super::mirroring::Expected>,
    /// Connections of the endpoint, one for each instance it is connected to.
    pub connections: Vec<EndpointConnection>,
    /// Seeding, running and past, on both sides; newest last.
    pub seeding: Vec<SeedingAttempt>,
    /// Seeding that runs now.
    pub physical_seeding: Vec<PhysicalSeeding>,
    /// Totals for `sys.dm_os_wait_stats`, by HADR_* name.
    pub waits: Vec<WaitTotal>,
    /// Threads that serve groups (Active Hadr Threads).
    pub threads: u32,
}

/// The connection to another instance, which everything between the two goes over.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointConnection {
    /// The other instance's id.
    pub instance: Guid,
    /// Its address.
    pub address: Option<std::net::IpAddr>,
    /// Traffic since the start.
    pub traffic: ReplicaCounters,
}

/// One group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupState {
    /// `group_id`
    pub id: Guid,
    /// Configuration; its `replicas` and `databases` are empty, see the lists here.
    pub spec: GroupSpec,
    /// Version of the configuration (`sequence_number`).
    pub sequence: u64,
    /// Epoch of the current primary.
    pub epoch: u64,
    /// Server name of the current primary, if one is known.
    pub primary: Option<String>,
    /// Role here.
    pub role: Role,
    /// It takes its databases' log from the other member of a distributed group: its primary is the forwarder, and writes nothing.
    pub forwards: bool,
    /// Replicas in configured order.
    pub replicas: Vec<ReplicaState>,
    /// Databases in configured order.
    pub databases: Vec<GroupDatabase>,
    /// Listeners.
    pub listeners: Vec<ListenerState>,
    /// CREATE ANY DATABASE is granted here.
    pub may_create_databases: bool,
    /// Since when a change of configuration is not yet durable everywhere, UTC.
    pub configuration_pending_since_utc: Option<i64>,
}

/// A listener.
#[derive(Clone, Debug, PartialEq)]
pub struct ListenerState {
    /// `listener_id`
    pub id: Guid,
    /// Name and addresses.
    pub spec: ListenerSpec,
    /// Where it is to listen on this node, and how that fares.
    pub sockets: Vec<ListenerSocket>,
    /// What becomes of connections here.
    pub way: ListenerWay,
    /// The primary that they are sent to.
    pub sent_to: Option<String>,
}

/// One address that a listener has on this node.
#[derive(Clone, Debug, PartialEq)]
pub struct ListenerSocket {
    /// Address and port.
    pub address: std::net::SocketAddr,
    /// How it fares.
    pub condition: ListenerCondition,
    /// Since when it listens, local time.
    pub since: Option<i64>,
    /// Why it does not.
    pub error: Option<String>,
}

impl ListenerState {
    /// How one of its IP addresses fares here.
    #[must_use]
    pub fn condition(&self, address: &str) -> ListenerCondition {
        let Ok(ip) = address.parse::<std::net::IpAddr>() else { return ListenerCondition::Offline };
        let socket = self.sockets.iter().find(|s| s.address.ip() == ip);
        socket.map_or(ListenerCondition::Offline, |s| s.condition)
    }
}

/// A database of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupDatabase {
    /// `group_database_id`
    pub id: Guid,
    /// Name.
    pub name: String,
}

/// A replica.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaState {
    /// `replica_id`
    pub id: Guid,
    /// Configuration.
    pub spec: ReplicaSpec,
    /// This instance's.
    pub is_local: bool,
    /// Role, as far as known here: a secondary knows its own and the primary's.
    pub role: Option<Role>,
    /// Local only.
    pub operational: Option<OperationalState>,
    /// `None` where this instance does not know (another secondary, seen from a secondary).
    pub connected: Option<bool>,
    /// The last failure to connect.
    pub last_connect_error: Option<ConnectError>,
    /// Joined.
    pub join: JoinState,
    /// When it became part of the group, local replica only.
    pub created: Option<i64>,
    /// When its options last changed, local replica only.
    pub modified: Option<i64>,
    /// Database copies known here.
    pub databases: Vec<DatabaseReplicaState>,
    /// Traffic between this instance and it.
    pub counters: ReplicaCounters,
}

/// A failed attempt to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectError {
    /// Number: 35201, 35206, …
    pub number: i32,
    /// What happened.
    pub description: String,
    /// When.
    pub time: i64,
}

/// One copy of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseReplicaState {
    /// `group_database_id`
    pub database: Guid,
    /// Joined: a copy exists and follows.
    pub joined: bool,
    /// Data movement.
    pub sync: SyncState,
    /// Recorded as synchronized in the configuration: a failover to it loses nothing.
    pub failover_ready: bool,
    /// Commits wait for it now.
    pub commit_participant: bool,
    /// Suspended, and why.
    pub suspended: Option<SuspendReason>,
    /// Usable, as `sys.databases.state` counts; local copies only.
    pub online: Option<bool>,
    /// Positions.
    pub positions: Positions,
    /// Log bytes not yet sent to it.
    pub send_queue_bytes: Option<u64>,
    /// Bytes sent per second, over the last active period.
    pub send_rate_bytes: u64,
    /// Log bytes hardened there and not redone.
    pub redo_queue_bytes: Option<u64>,
    /// What the queue may be, 0 for no bound.
    pub redo_queue_max_bytes: u64,
    /// What writers of the database wait here before each transaction, because a copy has much to redo; microseconds.
    pub writers_wait_micros: u64,
    /// Bytes redone per second, over the last active period.
    pub redo_rate_bytes: u64,
    /// Seconds it is behind the primary.
    pub lag_seconds: Option<u64>,
    /// Totals.
    pub counters: DatabaseCounters,
    /// How long commits took on the way through it; on the primary.
    pub latency: Option<CommitLatency>,
    /// Log of an earlier line kept for salvage after a forced failover: from, to.
    pub divergent: Option<(u64, u64)>,
}

/// Positions in the log and when they were reached. Positions are bytes of log before them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// Where the current line of the log began.
    pub recovery: Option<u64>,
    /// Log before it may be reused.
    pub truncation: Option<u64>,
    /// Sent to it; on the primary.
    pub sent: Option<(u64, Option<i64>)>,
    /// Received.
    pub received: Option<(u64, Option<i64>)>,
    /// Hardened.
    pub hardened: Option<(u64, Option<i64>)>,
    /// Redone.
    pub redone: Option<(u64, Option<i64>)>,
    /// End of the log.
    pub end_of_log: Option<u64>,
    /// Last commit.
    pub last_commit: Option<(u64, Option<i64>)>,
    /// The group's agreed commit point.
    pub agreed: Option<(u64, Option<i64>)>,
}

/// Totals of a database copy since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseCounters {
    /// Commits that waited for a secondary.
    pub mirrored_commits: u64,
    /// Their delays together, microseconds.
    pub commit_delay_micros: u64,
    /// Log bytes received.
    pub received_bytes: u64,
    /// Log bytes redone.
    pub redone_bytes: u64,
    /// Records redone.
    pub redone_records: u64,
    /// Blocks compressed.
    pub compressions: u64,
    /// Bytes before compression.
    pub compressed_from_bytes: u64,
    /// Bytes after compression.
    pub compressed_to_bytes: u64,
    /// Compressed blocks sent to more than one secondary.
    pub compression_cache_hits: u64,
    /// Blocks decompressed.
    pub decompressions: u64,
    /// Bytes after decompression.
    pub decompressed_bytes: u64,
    /// Times sending stopped for lack of credit.
    pub flow_controls: u64,
    /// Time without credit, microseconds.
    pub flow_control_micros: u64,
}

/// Traffic with a replica since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplicaCounters {
    /// Bytes given to the connection.
    pub sent_bytes: u64,
    /// Bytes taken from the connection.
    pub received_bytes: u64,
    /// Messages sent.
    pub sends: u64,
    /// Messages received.
    pub receives: u64,
    /// Bytes on the wire.
    pub wire_sent_bytes: u64,
    /// Writes to the socket.
    pub wire_sends: u64,
    /// Times sending stopped for lack of credit.
    pub flow_controls: u64,
    /// Time without credit, microseconds.
    pub flow_control_micros: u64,
    /// Messages sent again after a break.
    pub resent: u64,
}

/// Where the time of commits went, over all blocks acknowledged since the start. Microseconds, totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitLatency {
    /// Blocks measured.
    pub blocks: u64,
    /// Write and sync here.
    pub local_flush_micros: u64,
    /// From the block being complete to its last byte being sent.
    pub queue_micros: u64,
    /// Both ways on the wire, and the reader's hand-over.
    pub network_micros: u64,
    /// Write and sync there.
    pub remote_flush_micros: u64,
}

/// A row of `sys.dm_hadr_automatic_seeding`.
#[derive(Clone, Debug, PartialEq)]
pub struct SeedingAttempt {
    /// Start.
    pub start: i64,
    /// End.
    pub completion: Option<i64>,
    /// Group.
    pub group: Guid,
    /// Database.
    pub database: Guid,
    /// The other side.
    pub remote_replica: Guid,
    /// The attempt.
    pub operation: Guid,
    /// This instance sends.
    pub is_source: bool,
    /// PENDING, CHECK_IF_SEEDING_NEEDED, SEEDING, COMPLETED, FAILED.
    pub current_state: &'static str,
    /// Rows were copied.
    pub performed: bool,
    /// Failure: the product's number and words.
    pub failure: Option<(i32, String)>,
    /// Error number of the failure.
    pub error_code: Option<i32>,
    /// Attempts so far.
    pub attempts: u32,
}

/// A row of `sys.dm_hadr_physical_seeding_stats`.
#[derive(Clone, Debug, PartialEq)]
pub struct PhysicalSeeding {
    /// The attempt, here.
    pub local_id: Guid,
    /// The attempt, there.
    pub remote_id: Guid,
    /// Database.
    pub database: String,
    /// The other instance.
    pub remote_machine: String,
    /// This instance sends.
    pub is_source: bool,
    /// What it does.
    pub internal_state: &'static str,
    /// Over the last active period.
    pub bytes_per_second: u64,
    /// So far.
    pub transferred_bytes: u64,
    /// In all, estimated at the start.
    pub database_bytes: u64,
    /// UTC.
    pub start_utc: i64,
    /// UTC.
    pub end_utc: Option<i64>,
    /// UTC, from rate and size.
    pub estimate_utc: Option<i64>,
    /// Time spent reading or writing, milliseconds.
    pub disk_wait_ms: u64,
    /// Time spent waiting for the network, milliseconds.
    pub network_wait_ms: u64,
    /// Failure.
    pub failure: Option<(i32, String)>,
    /// When it failed, UTC.
    pub failure_time_utc: Option<i64>,
    /// Chunks are compressed.
    pub compressed: bool,
}

/// A wait type's totals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitTotal {
    /// HADR_SYNC_COMMIT and its like.
    pub name: &'static str,
    /// Waits.
    pub count: u64,
    /// Nanoseconds.
    pub total_nanos: u64,
    /// Nanoseconds.
    pub longest_nanos: u64,
}

/// An entry of the AlwaysOn health log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthEvent {
    /// When, UTC.
    pub time_utc: i64,
    /// `availability_replica_state_change` and its like.
    pub name: String,
    /// Group, if it concerns one.
    pub group: Option<String>,
    /// Replica, if it concerns one.
    pub replica: Option<String>,
    /// Database, if it concerns one.
    pub database: Option<String>,
    /// The product's error number, 0 for none.
    pub number: i32,
    /// What happened, one line.
    pub text: String,
}

/// Whether two server, group or database names are the same.
fn same(a: &str, b: &str) -> bool {
    crate::catalog::fold(a) == crate::catalog::fold(b)
}

impl HadrState {
    /// The group of that name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&GroupState> {
        self.groups.iter().find(|g| same(&g.spec.name, name))
    }

    /// The group a database belongs to, with its entry there.
    #[must_use]
    pub fn group_of(&self, database: &str) -> Option<(&GroupState, &GroupDatabase)> {
        self.groups.iter().find_map(|g| Some((g, g.database(database)?)))
    }
}

impl GroupState {
    /// A database by name.
    #[must_use]
    pub fn database(&self, name: &str) -> Option<&GroupDatabase> {
        self.databases.iter().find(|d| same(&d.name, name))
    }

    /// Its databases are written here.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.role == Role::Primary && !self.forwards
    }

    /// What its databases are here: those of a forwarder are a secondary's.
    #[must_use]
    pub fn database_role(&self) -> Role {
        match self.role {
            Role::Primary if self.forwards => Role::Secondary,
            role => role,
        }
    }

    /// A replica by server name.
    #[must_use]
    pub fn replica(&self, server: &str) -> Option<&ReplicaState> {
        self.replicas.iter().find(|r| same(&r.spec.server, server))
    }

    /// This instance's replica.
    #[must_use]
    pub fn local(&self) -> Option<&ReplicaState> {
        self.replicas.iter().find(|r| r.is_local)
    }
}

impl ReplicaState {
    /// Its copy of a database.
    #[must_use]
    pub fn database(&self, id: Guid) -> Option<&DatabaseReplicaState> {
        self.databases.iter().find(|d| d.database == id)
    }
}
