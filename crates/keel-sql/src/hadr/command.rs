//! What statements ask of the replication side, checked as far as one instance can check it.

use super::config::{EndpointSpec, GroupSpec, ListenerIp, ListenerSpec, ReplicaSpec};

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// Login.
    pub login: String,
    /// `SESSION_CONTEXT(N'external_cluster')` is `yes`: a cluster manager's agent.
    pub external_cluster: bool,
}

/// One statement's request. Group and server names are as typed; they compare without case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HadrCommand {
    /// CREATE AVAILABILITY GROUP: this instance becomes the primary.
    CreateGroup(Box<GroupSpec>),
    /// DROP AVAILABILITY GROUP. On a primary the databases stay here, writable.
    DropGroup {
        /// Group.
        group: String,
    },
    /// ALTER AVAILABILITY GROUP …
    AlterGroup {
        /// Group.
        group: String,
        /// What changes.
        change: GroupChange,
    },
    /// ALTER DATABASE … SET HADR AVAILABILITY GROUP = …
    JoinDatabase {
        /// Database.
        database: String,
        /// Group.
        group: String,
    },
    /// ALTER DATABASE … SET HADR OFF
    LeaveDatabase {
        /// Database.
        database: String,
    },
    /// ALTER DATABASE … SET HADR SUSPEND
    Suspend {
        /// Database.
        database: String,
    },
    /// ALTER DATABASE … SET HADR RESUME
    Resume {
        /// Database.
        database: String,
    },
    /// The mirroring endpoint is there, or has changed, or what it trusts has.
    SetEndpoint(Box<EndpointSpec>),
    /// There is no mirroring endpoint any more.
    DropEndpoint,
    /// ALTER DATABASE … SET PARTNER, SET WITNESS
    Mirror {
        /// Database.
        database: String,
        /// What is to be done.
        change: super::mirroring::Change,
    },
    /// About a distributed group.
    Distributed {
        /// Its name.
        name: String,
        /// The local group that is, or becomes, a member of it.
        local: String,
        /// What is to be done.
        change: super::distributed::DistributedChange,
    },
    /// About the cluster the groups live in.
    Cluster(super::cluster::ClusterChange),
}

/// An action of ALTER AVAILABILITY GROUP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupChange {
    /// SET (AUTOMATED_BACKUP_PREFERENCE = …)
    BackupPreference(super::BackupPreference),
    /// SET (FAILURE_CONDITION_LEVEL = …)
    FailureConditionLevel(u8),
    /// SET (HEALTH_CHECK_TIMEOUT = …), milliseconds
    HealthCheckTimeout(u32),
    /// SET (DB_FAILOVER = …)
    DbFailover(bool),
    /// SET (DTC_SUPPORT = …): PER_DB
    DtcSupport(bool),
    /// SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = …)
    RequiredSynchronizedSecondaries(u32),
    /// SET (WRITE_LEASE_VALIDITY = …), seconds
    WriteLeaseValidity(u32),
    /// SET (CLUSTER_CONNECTION_OPTIONS = …)
    ClusterConnectionOptions(String),
    /// SET (ROLE = SECONDARY)
    RoleSecondary,
    /// ADD DATABASE
    AddDatabases(Vec<String>),
    /// REMOVE DATABASE
    RemoveDatabases(Vec<String>),
    /// ADD REPLICA ON
    AddReplicas(Vec<ReplicaSpec>),
    /// MODIFY REPLICA ON
    ModifyReplica {
        /// Server.
        server: String,
        /// The one option.
        change: ReplicaChange,
    },
    /// REMOVE REPLICA ON
    RemoveReplica(String),
    /// JOIN
    Join {
        /// WITH (CLUSTER_TYPE = …); WSFC when not written.
        cluster_type: super::ClusterType,
    },
    /// GRANT (true) or DENY (false) CREATE ANY DATABASE
    CreateAnyDatabase(bool),
    /// FAILOVER
    Failover,
    /// FORCE_FAILOVER_ALLOW_DATA_LOSS
    ForceFailover,
    /// OFFLINE
    Offline,
    /// ADD LISTENER
    AddListener(ListenerSpec),
    /// MODIFY LISTENER
    ModifyListener {
        /// DNS name.
        dns_name: String,
        /// What changes.
        change: ListenerChange,
    },
    /// RESTART LISTENER
    RestartListener(String),
    /// REMOVE LISTENER
    RemoveListener(String),
}

/// The one option of MODIFY REPLICA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicaChange {
    /// ENDPOINT_URL
    EndpointUrl(String),
    /// AVAILABILITY_MODE
    AvailabilityMode(super::AvailabilityMode),
    /// FAILOVER_MODE
    FailoverMode(super::FailoverMode),
    /// SEEDING_MODE; AUTOMATIC set again is also the retry
    SeedingMode(super::SeedingMode),
    /// BACKUP_PRIORITY
    BackupPriority(u8),
    /// SESSION_TIMEOUT, seconds
    SessionTimeout(u32),
    /// PRIMARY_ROLE (ALLOW_CONNECTIONS)
    PrimaryConnections(super::PrimaryConnections),
    /// SECONDARY_ROLE (ALLOW_CONNECTIONS)
    SecondaryConnections(super::SecondaryConnections),
    /// SECONDARY_ROLE (READ_ONLY_ROUTING_URL); `None` takes it away
    ReadOnlyRoutingUrl(Option<String>),
    /// PRIMARY_ROLE (READ_ONLY_ROUTING_LIST); empty for NONE
    ReadOnlyRoutingList(Vec<Vec<String>>),
    /// PRIMARY_ROLE (READ_WRITE_ROUTING_URL); `None` takes it away
    ReadWriteRoutingUrl(Option<String>),
}

/// A change of MODIFY LISTENER.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenerChange {
    /// ADD IP
    AddIp(ListenerIp),
    /// REMOVE IP
    RemoveIp(ListenerIp),
    /// PORT
    Port(u16),
}
