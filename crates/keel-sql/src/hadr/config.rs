//! What groups, replicas, listeners and endpoints are configured to be: the options of their statements, with the
//! product's defaults and the numbers its views show.

use super::Guid;
use serde::{Deserialize, Serialize};

/// An enumeration with the number and the word that views show.
macro_rules! shown {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $number:literal, $word:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// The number in views.
            #[must_use]
            pub fn number(self) -> u8 {
                match self { $($name::$variant => $number,)* }
            }
            /// The word in views and statements.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
            /// From the word of a statement, upper case.
            #[must_use]
            pub fn parse(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use shown;

shown! {
    /// AUTOMATED_BACKUP_PREFERENCE
    BackupPreference {
        /// Only the primary.
        Primary = 0, "PRIMARY";
        /// Never the primary.
        SecondaryOnly = 1, "SECONDARY_ONLY";
        /// The primary only when no secondary is there.
        Secondary = 2, "SECONDARY";
        /// Any.
        None = 3, "NONE";
    }
}

shown! {
    /// CLUSTER_TYPE
    ClusterType {
        /// The group's own consensus.
        Wsfc = 0, "WSFC";
        /// An external cluster manager decides.
        External = 1, "EXTERNAL";
        /// Nobody decides but the administrator.
        None = 2, "NONE";
    }
}

shown! {
    /// AVAILABILITY_MODE
    AvailabilityMode {
        /// Commits do not wait for it.
        Asynchronous = 0, "ASYNCHRONOUS_COMMIT";
        /// Commits wait until it has hardened them.
        Synchronous = 1, "SYNCHRONOUS_COMMIT";
        /// Keeps configuration only.
        ConfigurationOnly = 4, "CONFIGURATION_ONLY";
    }
}

shown! {
    /// FAILOVER_MODE
    FailoverMode {
        /// By the group itself.
        Automatic = 0, "AUTOMATIC";
        /// By statement.
        Manual = 1, "MANUAL";
        /// By an external cluster manager.
        External = 2, "EXTERNAL";
    }
}

shown! {
    /// SEEDING_MODE
    SeedingMode {
        /// Databases are copied through the endpoint.
        Automatic = 0, "AUTOMATIC";
        /// Databases are restored by hand.
        Manual = 1, "MANUAL";
    }
}

shown! {
    /// SECONDARY_ROLE (ALLOW_CONNECTIONS)
    SecondaryConnections {
        /// Nobody reads.
        No = 0, "NO";
        /// Clients that declare read-only intent.
        ReadOnly = 1, "READ_ONLY";
        /// Everybody, for reading.
        All = 2, "ALL";
    }
}

shown! {
    /// PRIMARY_ROLE (ALLOW_CONNECTIONS)
    PrimaryConnections {
        /// Everybody.
        All = 2, "ALL";
        /// Clients without read-only intent.
        ReadWrite = 3, "READ_WRITE";
    }
}

shown! {
    /// STATE of an endpoint.
    EndpointState {
        /// Listens and answers.
        Started = 0, "STARTED";
        /// Does not listen.
        Stopped = 1, "STOPPED";
        /// Listens and refuses.
        Disabled = 2, "DISABLED";
    }
}

shown! {
    /// ROLE of a mirroring endpoint.
    EndpointRole {
        /// Data replicas.
        Partner = 1, "PARTNER";
        /// Configuration-only replicas.
        Witness = 2, "WITNESS";
        /// Both.
        All = 3, "ALL";
    }
}

/// How a contained group gets its system databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Containment {
    /// They are made.
    New,
    /// REUSE_SYSTEM_DATABASES: those that an earlier group of the name has left.
    Reuse,
}

/// A whole group as CREATE AVAILABILITY GROUP describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSpec {
    /// Name.
    pub name: String,
    /// CLUSTER_TYPE.
    pub cluster_type: ClusterType,
    /// AUTOMATED_BACKUP_PREFERENCE.
    pub backup_preference: BackupPreference,
    /// FAILURE_CONDITION_LEVEL, 1 to 5.
    pub failure_condition_level: u8,
    /// HEALTH_CHECK_TIMEOUT, milliseconds.
    pub health_check_timeout_ms: u32,
    /// DB_FAILOVER.
    pub db_failover: bool,
    /// DTC_SUPPORT = PER_DB.
    #[serde(default)]
    pub dtc_per_database: bool,
    /// BASIC.
    pub basic: bool,
    /// CONTAINED.
    pub contained: Option<Containment>,
    /// REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT.
    pub required_synchronized_secondaries: u32,
    /// WRITE_LEASE_VALIDITY, seconds; EXTERNAL only.
    pub write_lease_seconds: Option<u32>,
    /// CLUSTER_CONNECTION_OPTIONS.
    pub cluster_connection_options: Option<String>,
    /// Replicas in the order written; the local instance is one of them.
    pub replicas: Vec<ReplicaSpec>,
    /// Databases in the order written.
    pub databases: Vec<String>,
    /// LISTENER.
    pub listener: Option<ListenerSpec>,
}

/// One replica's options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaSpec {
    /// `@@SERVERNAME` of its instance.
    pub server: String,
    /// ENDPOINT_URL, `TCP://host:port`.
    pub endpoint_url: String,
    /// AVAILABILITY_MODE.
    pub availability_mode: AvailabilityMode,
    /// FAILOVER_MODE.
    pub failover_mode: FailoverMode,
    /// SEEDING_MODE.
    pub seeding_mode: SeedingMode,
    /// BACKUP_PRIORITY, 0 to 100; 0 excludes.
    pub backup_priority: u8,
    /// SESSION_TIMEOUT, seconds.
    pub session_timeout_seconds: u32,
    /// PRIMARY_ROLE (ALLOW_CONNECTIONS).
    pub primary_connections: PrimaryConnections,
    /// SECONDARY_ROLE (ALLOW_CONNECTIONS).
    pub secondary_connections: SecondaryConnections,
    /// SECONDARY_ROLE (READ_ONLY_ROUTING_URL).
    pub read_only_routing_url: Option<String>,
    /// PRIMARY_ROLE (READ_ONLY_ROUTING_LIST): server names, tried set by set, balanced within a set. Empty for NONE.
    pub read_only_routing_list: Vec<Vec<String>>,
    /// PRIMARY_ROLE (READ_WRITE_ROUTING_URL).
    pub read_write_routing_url: Option<String>,
}

/// A listener's name and addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerSpec {
    /// DNS name.
    pub dns_name: String,
    /// PORT; 1433 when not written.
    pub port: u16,
    /// WITH IP; empty with DHCP.
    pub addresses: Vec<ListenerIp>,
    /// WITH DHCP, and the network and mask of ON, if written.
    pub dhcp: Option<Option<(String, String)>>,
    /// WITH DISTRIBUTED_NETWORK_NAME.
    pub distributed_network_name: bool,
}

/// An address of a listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerIp {
    /// IPv4 or IPv6.
    pub address: String,
    /// IPv4 mask.
    pub mask: Option<String>,
}

/// LISTENER_IP of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndpointAddress {
    /// Every address.
    All,
    /// This one.
    Ip(String),
}

/// The endpoint of the instance, with everything its listener needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointSpec {
    /// Name.
    pub name: String,
    /// STATE.
    pub state: EndpointState,
    /// LISTENER_PORT.
    pub port: u16,
    /// LISTENER_IP.
    pub address: EndpointAddress,
    /// ROLE.
    pub role: EndpointRole,
    /// Its own certificate and key, DER; `None` without AUTHENTICATION = CERTIFICATE: the instance's own is used.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Certificates of peers that may connect, DER.
    pub trusted: Vec<Vec<u8>>,
}

/// A group's and a database's ids, as a command's target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupDatabaseId {
    /// Group.
    pub group: Guid,
    /// Database within the group.
    pub database: Guid,
}
