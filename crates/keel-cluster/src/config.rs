//! [`GroupConfig`]: what all members of a group must agree on, and [`GroupRecord`]: that plus what one member keeps for itself.
//!
//! Option names, defaults and ranges are the product's (`CREATE AVAILABILITY GROUP`). Ranges that depend only on the
//! statement are checked where it is parsed; what depends on the group's state is checked by the machine.

use crate::databases::Databases;
use crate::distributed::Distributed;
use crate::ids::{GroupDatabaseId, GroupId, InstanceId, ReplicaId};
use keel_base::Epoch;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// `AVAILABILITY_MODE` of a replica. No default: the statement must say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AvailabilityMode {
    /// Catalog value 1: commits wait for this replica while it is in the synchronized set.
    Synchronous,
    /// Catalog value 0: commits never wait for it.
    Asynchronous,
    /// Catalog value 4: keeps the configuration, no databases.
    ConfigurationOnly,
}

/// `FAILOVER_MODE` of a replica. No default: the statement must say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailoverMode {
    /// Catalog value 0.
    Automatic,
    /// Catalog value 1.
    Manual,
    /// Catalog value 2.
    External,
}

/// `SEEDING_MODE` of a replica.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeedingMode {
    /// Catalog value 0: the primary sends the database over.
    Automatic,
    /// Catalog value 1, the default: somebody restores a backup and joins it.
    #[default]
    Manual,
}

/// `SECONDARY_ROLE (ALLOW_CONNECTIONS = …)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SecondaryConnections {
    /// Catalog value 0, the default.
    #[default]
    No,
    /// Catalog value 1: sessions that said they only read.
    ReadOnly,
    /// Catalog value 2: every session, for reading.
    All,
}

/// `PRIMARY_ROLE (ALLOW_CONNECTIONS = …)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PrimaryConnections {
    /// Catalog value 2, the default.
    #[default]
    All,
    /// Catalog value 3: not sessions that said they only read.
    ReadWrite,
}

/// Every option of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaOptions {
    /// `ENDPOINT_URL`, as typed: `TCP://host:port`.
    pub endpoint_url: String,
    /// `AVAILABILITY_MODE`.
    pub availability_mode: AvailabilityMode,
    /// `FAILOVER_MODE`.
    pub failover_mode: FailoverMode,
    /// `SEEDING_MODE`.
    pub seeding_mode: SeedingMode,
    /// `BACKUP_PRIORITY`, 0 (never) ..= 100, default 50.
    pub backup_priority: u8,
    /// `SESSION_TIMEOUT` in seconds, at least 5, default 10.
    pub session_timeout_s: u32,
    /// `SECONDARY_ROLE (ALLOW_CONNECTIONS)`.
    pub secondary_connections: SecondaryConnections,
    /// `SECONDARY_ROLE (READ_ONLY_ROUTING_URL)`.
    pub read_only_routing_url: Option<String>,
    /// `PRIMARY_ROLE (ALLOW_CONNECTIONS)`.
    pub primary_connections: PrimaryConnections,
    /// `PRIMARY_ROLE (READ_ONLY_ROUTING_LIST)`: server names in order; those of one inner list take turns. Empty = NONE.
    pub read_only_routing_list: Vec<Vec<String>>,
    /// `PRIMARY_ROLE (READ_WRITE_ROUTING_URL)`.
    pub read_write_routing_url: Option<String>,
}

/// Default of `SESSION_TIMEOUT`, seconds.
pub const SESSION_TIMEOUT_DEFAULT_S: u32 = 10;
/// Default of `BACKUP_PRIORITY`.
pub const BACKUP_PRIORITY_DEFAULT: u8 = 50;
/// Default of `HEALTH_CHECK_TIMEOUT`, milliseconds.
pub const HEALTH_CHECK_TIMEOUT_DEFAULT_MS: u32 = 30_000;
/// Default of `FAILURE_CONDITION_LEVEL`.
pub const FAILURE_CONDITION_LEVEL_DEFAULT: u8 = 3;

impl ReplicaOptions {
    /// The three options without a default; all others at theirs.
    pub fn new(
        endpoint_url: impl Into<String>,
        availability_mode: AvailabilityMode,
        failover_mode: FailoverMode,
    ) -> ReplicaOptions {
        ReplicaOptions {
            endpoint_url: endpoint_url.into(),
            availability_mode,
            failover_mode,
            seeding_mode: SeedingMode::default(),
            backup_priority: BACKUP_PRIORITY_DEFAULT,
            session_timeout_s: SESSION_TIMEOUT_DEFAULT_S,
            secondary_connections: SecondaryConnections::default(),
            read_only_routing_url: None,
            primary_connections: PrimaryConnections::default(),
            read_only_routing_list: Vec::new(),
            read_write_routing_url: None,
        }
    }
}

/// `AUTOMATED_BACKUP_PREFERENCE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BackupPreference {
    /// Catalog value 0.
    Primary,
    /// Catalog value 1.
    SecondaryOnly,
    /// Catalog value 2, the default.
    #[default]
    Secondary,
    /// Catalog value 3.
    None,
}

/// `CLUSTER_TYPE`: who decides about failovers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClusterType {
    /// Catalog value 0, the default: the built-in cluster.
    #[default]
    Wsfc,
    /// Catalog value 1: an external cluster manager. The built-in cluster keeps the configuration, and the manager says who leads.
    External,
    /// Catalog value 2: an operator.
    None,
    /// The group is a database mirroring session without a witness: an operator.
    Mirroring,
    /// It is one with a witness, the configuration-only replica: the built-in cluster.
    WitnessedMirroring,
}

impl ClusterType {
    /// The configuration is kept by the votes of the built-in cluster.
    pub fn is_by_vote(self) -> bool {
        matches!(self, ClusterType::Wsfc | ClusterType::External | ClusterType::WitnessedMirroring)
    }

    /// A database mirroring session: one database, a principal, a mirror, perhaps a witness. Users see no group.
    pub fn is_mirroring(self) -> bool {
        matches!(self, ClusterType::Mirroring | ClusterType::WitnessedMirroring)
    }
}

/// `DTC_SUPPORT`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DtcSupport {
    /// The default.
    #[default]
    None,
    /// One resource manager per database.
    PerDatabase,
}

/// Options of the group as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupOptions {
    /// `AUTOMATED_BACKUP_PREFERENCE`.
    pub backup_preference: BackupPreference,
    /// `FAILURE_CONDITION_LEVEL`, 1 ..= 5, default 3.
    pub failure_condition_level: u8,
    /// `HEALTH_CHECK_TIMEOUT` in milliseconds, at least 15,000, default 30,000.
    pub health_check_timeout_ms: u32,
    /// `DB_FAILOVER`, default off.
    pub db_failover: bool,
    /// `DTC_SUPPORT`.
    pub dtc_support: DtcSupport,
    /// `BASIC`, default off; fixed at creation.
    pub basic: bool,
    /// `REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT`, 0 ..= replicas − 1, default 0.
    pub required_synchronized_secondaries: u8,
    /// `CLUSTER_TYPE`; fixed at creation.
    pub cluster_type: ClusterType,
    /// `WRITE_LEASE_VALIDITY` in seconds; external clusters only.
    pub write_lease_validity_s: Option<u32>,
    /// `CLUSTER_CONNECTION_OPTIONS`, as typed.
    pub cluster_connection_options: Option<String>,
}

impl Default for GroupOptions {
    fn default() -> GroupOptions {
        GroupOptions {
            backup_preference: BackupPreference::default(),
            failure_condition_level: FAILURE_CONDITION_LEVEL_DEFAULT,
            health_check_timeout_ms: HEALTH_CHECK_TIMEOUT_DEFAULT_MS,
            db_failover: false,
            dtc_support: DtcSupport::default(),
            basic: false,
            required_synchronized_secondaries: 0,
            cluster_type: ClusterType::default(),
            write_lease_validity_s: None,
            cluster_connection_options: None,
        }
    }
}

/// An address of a listener.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListenerAddress {
    /// IPv4 or IPv6 address as typed.
    pub address: String,
    /// IPv4 mask as typed.
    pub mask: Option<String>,
}

/// `LISTENER 'dns' (…)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// Name clients use.
    pub dns_name: String,
    /// `PORT`, default 1433.
    pub port: u16,
    /// `WITH DHCP`.
    pub dhcp: bool,
    /// `WITH IP`, or the network of `WITH DHCP ON`.
    pub addresses: Vec<ListenerAddress>,
}

/// One replica of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    /// Its identity in the group.
    pub id: ReplicaId,
    /// Which instance it is; known once it has joined.
    pub instance: Option<InstanceId>,
    /// Server name as typed; compared without regard to case.
    pub server_name: String,
    /// Small number, unique in the group, never 0: part of every epoch this replica starts. Given by the machine.
    pub ordinal: u8,
    /// Its options.
    pub options: ReplicaOptions,
}

impl Replica {
    /// A replica that has not joined, with its ordinal still to be given.
    pub fn new(id: ReplicaId, server_name: impl Into<String>, options: ReplicaOptions) -> Replica {
        Replica { id, instance: None, server_name: server_name.into(), ordinal: 0, options }
    }

    /// Whether it is a member that has joined.
    pub fn joined(&self) -> bool {
        self.instance.is_some()
    }

    /// Whether it keeps copies of the databases.
    pub fn keeps_data(&self) -> bool {
        self.options.availability_mode != AvailabilityMode::ConfigurationOnly
    }

    /// Whether it may be waited for.
    pub fn is_synchronous(&self) -> bool {
        self.options.availability_mode == AvailabilityMode::Synchronous
    }
}

/// One database of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupDatabase {
    /// Its identity in the group.
    pub id: GroupDatabaseId,
    /// Its name on every replica.
    pub name: String,
    /// Identity of its log, the same in all copies of the database.
    pub log_id: u32,
    /// The **synchronized set**: replicas whose log certainly holds every commit that was ever acknowledged. The primary is
    /// always one of them.
    pub synchronized: BTreeSet<ReplicaId>,
    /// Replicas whose copy may have parted from the primary's at a forced failover: each waits for RESUME as the consent
    /// to cut it. The value is the epoch of that failover.
    pub awaiting_resume: BTreeMap<ReplicaId, Epoch>,
}

impl GroupDatabase {
    /// A database that is only on the primary so far.
    pub fn new(id: GroupDatabaseId, name: impl Into<String>, log_id: u32) -> GroupDatabase {
        GroupDatabase {
            id,
            name: name.into(),
            log_id,
            synchronized: BTreeSet::new(),
            awaiting_resume: BTreeMap::new(),
        }
    }
}

/// Which of two configurations is newer: the greater one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Epoch of the configuration.
    pub epoch: Epoch,
    /// Its version; grows with each change, also across epochs. The product's `sequence_number`.
    pub version: u64,
}

/// What all members agree on. Written by the primary only (a new primary's first act is to write one); everybody keeps the
/// newest it has seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupConfig {
    /// Identity.
    pub id: GroupId,
    /// Name.
    pub name: String,
    /// Which configuration this is.
    pub stamp: Stamp,
    /// The epoch out of which this one was made; a handed-over primary takes it over only from there.
    pub parent: Epoch,
    /// The replica that may write in this epoch, if any.
    pub primary: Option<ReplicaId>,
    /// Automatic failovers since the group was last led long enough, or by an operator's word: the more, the longer the next
    /// one waits. Here rather than in anybody's memory, because those who die and come back forget.
    pub failovers_lately: u32,
    /// Members of the synchronized sets that have not promised this epoch yet, when it was begun without the last primary
    /// and somebody else might have begun one too. They cannot be taken out of the sets: two such primaries never both
    /// acknowledge anything.
    pub to_confirm: BTreeSet<ReplicaId>,
    /// Options.
    pub options: GroupOptions,
    /// All replicas, in the order they were added.
    pub replicas: Vec<Replica>,
    /// All databases, in the order they were added.
    pub databases: Databases,
    /// Listeners; kept here, acted on by the shell.
    pub listeners: Vec<Listener>,
    /// The greatest ordinal ever given.
    pub ordinal_max: u8,
    /// The group was dropped; kept so that members that were away learn it.
    pub dropped: bool,
    /// The distributed availability group that this one is a member of.
    pub distributed: Option<Distributed>,
}

/// Epochs are counted in steps of this; the rest is the ordinal of the replica that started the epoch, so that no two
/// replicas ever start the same one.
pub const EPOCH_STEP: u64 = 256;

impl GroupConfig {
    /// A new group: replicas and databases as given, nothing joined, no epoch. [`crate::Command::CreateGroup`] does the rest.
    pub fn new(id: GroupId, name: impl Into<String>, options: GroupOptions) -> GroupConfig {
        GroupConfig {
            id,
            name: name.into(),
            stamp: Stamp::default(),
            parent: Epoch(0),
            primary: None,
            failovers_lately: 0,
            to_confirm: BTreeSet::new(),
            options,
            replicas: Vec::new(),
            databases: Databases::new(),
            listeners: Vec::new(),
            ordinal_max: 0,
            dropped: false,
            distributed: None,
        }
    }

    /// The replica with this identity.
    pub fn replica(&self, id: ReplicaId) -> Option<&Replica> {
        self.replicas.iter().find(|r| r.id == id)
    }

    pub(crate) fn replica_mut(&mut self, id: ReplicaId) -> Option<&mut Replica> {
        self.replicas.iter_mut().find(|r| r.id == id)
    }

    /// The replica that this instance is.
    pub fn replica_of(&self, instance: InstanceId) -> Option<&Replica> {
        self.replicas.iter().find(|r| r.instance == Some(instance))
    }

    /// The replica with this server name, without regard to case.
    pub fn replica_named(&self, server_name: &str) -> Option<&Replica> {
        self.replicas.iter().find(|r| r.server_name.eq_ignore_ascii_case(server_name))
    }

    /// The instance behind a replica, when it has joined.
    pub fn instance_of(&self, id: ReplicaId) -> Option<InstanceId> {
        self.replica(id).and_then(|r| r.instance)
    }

    /// The database with this identity.
    pub fn database(&self, id: GroupDatabaseId) -> Option<&GroupDatabase> {
        self.databases.get(id)
    }

    /// Whether a database is one of the system databases of a contained group: by its name, which no other database of the group has
    /// (`keel-sql` gives the names, and sees to that).
    #[must_use]
    pub fn is_system_database(&self, id: GroupDatabaseId) -> bool {
        let lower = self.name.to_lowercase();
        let is = |name: &str| {
            let rest = name.to_lowercase();
            rest.strip_prefix(&lower).is_some_and(|rest| matches!(rest, "_master" | "_msdb"))
        };
        self.database(id).is_some_and(|database| is(&database.name))
    }

    pub(crate) fn database_mut(&mut self, id: GroupDatabaseId) -> Option<&mut GroupDatabase> {
        self.databases.get_mut(id)
    }

    /// The primary's instance.
    pub fn primary_instance(&self) -> Option<InstanceId> {
        self.primary.and_then(|p| self.instance_of(p))
    }

    /// Whether a replica is in the synchronized set of every database.
    pub fn is_failover_ready(&self, replica: ReplicaId) -> bool {
        self.databases.iter().all(|d| d.synchronized.contains(&replica))
    }

    /// The group takes its databases' log from the other member of a distributed group.
    #[must_use]
    pub fn forwards(&self) -> bool {
        self.distributed.as_ref().is_some_and(Distributed::forwards)
    }

    /// The epoch whose blocks its members take: its own, or that of the source of a distributed group. Until there is a new source, a
    /// group that was it itself passes on what it wrote then.
    #[must_use]
    pub fn log_epoch(&self) -> Epoch {
        match &self.distributed {
            Some(d) if d.forwards() => d.source_epoch.max(d.own_epoch),
            _ => self.stamp.epoch,
        }
    }

    /// The first epoch after `after` that the replica with `ordinal` may start.
    pub fn next_epoch(after: Epoch, ordinal: u8) -> Epoch {
        Epoch((after.0 / EPOCH_STEP + 1) * EPOCH_STEP + u64::from(ordinal))
    }

    pub(crate) fn give_ordinals(&mut self) {
        for at in 0..self.replicas.len() {
            if self.replicas[at].ordinal == 0 {
                let used: BTreeSet<u8> = self.replicas.iter().map(|r| r.ordinal).collect();
                let fresh = self.ordinal_max.checked_add(1);
                let free = || (1..=u8::MAX).find(|o| !used.contains(o));
                let ordinal = fresh.or_else(free).expect("a group has far fewer than 255 replicas");
                self.replicas[at].ordinal = ordinal;
                self.ordinal_max = self.ordinal_max.max(ordinal);
            }
        }
    }
}

/// `suspend_reason` of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SuspendReason {
    /// 0: SET HADR SUSPEND.
    User,
    /// 1: a forced failover elsewhere.
    Partner,
    /// 2: redo failed.
    Redo,
    /// 3: the primary could not read its log.
    Capture,
    /// 4: the secondary could not write its log.
    Apply,
    /// 5: it was suspended before the restart.
    Restart,
    /// 6: undo of redo failed.
    Undo,
    /// 7: the logs were found to disagree on reconnect.
    Revalidation,
    /// 8: no common point between the two histories, or it lies before what can be cut away.
    NoCommonPoint,
}

impl SuspendReason {
    /// The catalog's number.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The catalog's text.
    pub fn description(self) -> &'static str {
        match self {
            SuspendReason::User => "SUSPEND_FROM_USER",
            SuspendReason::Partner => "SUSPEND_FROM_PARTNER",
            SuspendReason::Redo => "SUSPEND_FROM_REDO",
            SuspendReason::Capture => "SUSPEND_FROM_CAPTURE",
            SuspendReason::Apply => "SUSPEND_FROM_APPLY",
            SuspendReason::Restart => "SUSPEND_FROM_RESTART",
            SuspendReason::Undo => "SUSPEND_FROM_UNDO",
            SuspendReason::Revalidation => "SUSPEND_FROM_REVALIDATION",
            SuspendReason::NoCommonPoint => "SUSPEND_FROM_XRF_UPDATE",
        }
    }
}

/// What one member keeps for itself about one database of the group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalDatabase {
    /// Data movement into this copy (or, on the primary, out of it) is suspended.
    pub suspended: Option<SuspendReason>,
    /// The latest forced failover after which RESUME was given here.
    pub consented: Epoch,
    /// SET HADR OFF was given here: the copy is left alone until it is joined again.
    pub left: bool,
}

/// What one member keeps for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalState {
    /// Per database; absent = default.
    pub databases: BTreeMap<GroupDatabaseId, LocalDatabase>,
    /// GRANT CREATE ANY DATABASE was given to the group here: seeded databases may be created.
    pub may_create_databases: bool,
    /// DROP AVAILABILITY GROUP was given here while the primary could not be reached: the group does not exist for this
    /// instance until it is told to JOIN again, or learns that it was removed.
    pub gone: bool,
}

/// One member's durable record of one group: read at start, written atomically and whole by [`crate::Action::Persist`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Which replica of it this instance is.
    pub me: ReplicaId,
    /// The configuration.
    pub config: GroupConfig,
    /// What concerns this member alone.
    pub local: LocalState,
}
