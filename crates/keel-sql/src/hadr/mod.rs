//! Availability groups as SQL sees them.
//!
//! ```text
//!   CREATE AVAILABILITY GROUP …  ──checks──► HadrCommand ──► dyn Hadr ──► the server's replication
//!   sys.dm_hadr_…, logins, USE   ◄────────── HadrState   ◄──┘
//! ```
//!
//! The engine may hold one [`Hadr`] ([`crate::Engine::set_hadr`]): the replication side as plain data. Statements become a
//! [`HadrCommand`] once everything that the instance can know has been checked; views, access rules and routing are
//! computed from a [`HadrState`]. Without a `Hadr` the instance stands alone: `SERVERPROPERTY('IsHadrEnabled')` is 0 and
//! every statement of this family is refused with 35221.
//!
//! | module | owns |
//! | --- | --- |
//! | [`config`] | what a group, a replica, a listener, an endpoint is configured to be |
//! | [`state`] | what they are now |
//! | [`cluster`] | the cluster the groups live in, and what can be asked of it |
//! | [`command`] | what can be asked of a group |
//! | [`build`], [`check`] | statements' options, and the product's rules about them |
//! | `group`, `endpoint` | the statements |
//! | [`contained`] | contained groups: what `master` and `msdb` are to those in a group's context |
//! | [`distributed`] | distributed groups: which statement is allowed when, what they ask for |
//! | [`store`] | endpoints in master |
//! | [`access`] | who may use a group's database, and read-only routing |
//! | [`mirroring`], `partner` | database mirroring: what sessions are, which statement is allowed when; the statements |
//! | [`health`] | roll-up of synchronization health |
//! | [`errors`] | the product's numbers and texts |
//! | [`lsn`] | positions in the product's decimal form |
//!
//! Deliberately absent: who decides (roles, epochs, the synchronized set), sockets, files, threads.

pub mod access;
pub mod build;
pub mod check;
pub mod cluster;
pub mod command;
pub mod config;
pub mod contained;
pub mod distributed;
mod endpoint;
pub mod errors;
mod group;
pub mod health;
pub mod lsn;
pub mod mirroring;
mod partner;
pub mod state;
pub mod store;

pub use access::{Access, Intent, Rotation};
pub use command::{Caller, GroupChange, HadrCommand, ListenerChange, ReplicaChange};
pub use config::{
    AvailabilityMode, BackupPreference, ClusterType, EndpointAddress, EndpointRole, EndpointSpec,
    EndpointState, FailoverMode, GroupSpec, ListenerIp, ListenerSpec, PrimaryConnections, ReplicaSpec,
    SecondaryConnections, SeedingMode,
};
pub use contained::ContainedGroup;
pub use distributed::{DistributedChange, DistributedMember, DistributedState};
pub use mirroring::{Expected, Mirroring, Partner};
pub use state::{
    CommitLatency, ConnectError, DatabaseReplicaState, EndpointConnection, GroupDatabase, GroupState,
    HadrState, Health, HealthEvent, JoinState, ListenerCondition, ListenerSocket, ListenerState, ListenerWay,
    OperationalState, PhysicalSeeding, Positions, ReplicaCounters, ReplicaState, Role, SeedingAttempt,
    SuspendReason, SyncState, WaitTotal,
};

use keel_base::Lsn;
use keel_types::error::Result;
use std::sync::Arc;

/// A `uniqueidentifier`, in the byte order of [`keel_types::Value::Guid`].
pub type Guid = [u8; 16];

/// The replication side of an instance. Called by session threads; every method may be called at any time.
pub trait Hadr: Send + Sync {
    /// Does what a statement asked for, or refuses with the product's error. Returns once the request is accepted
    /// (FAILOVER, SUSPEND, RESUME) or done (everything else); errors are in the form clients get them.
    fn execute(&self, caller: &Caller, command: HadrCommand) -> Result<()>;

    /// How things stand. Cheap enough to be asked at every login.
    fn state(&self) -> Arc<HadrState>;

    /// Has the primary of a database note that its log before `until` was in a backup made here at a time (local ticks). False when it
    /// cannot be reached or could not.
    fn log_backed_up(&self, database: &str, until: Lsn, at: i64) -> bool;

    /// The newest entries of the health log, oldest first.
    fn health_log(&self) -> Vec<HealthEvent>;

    /// The cluster that this instance is a member of, if it is one.
    fn cluster(&self) -> Option<cluster::ClusterState>;

    /// The newest failovers of this instance's groups, oldest first.
    fn failovers(&self) -> Vec<cluster::FailoverRecord>;

    /// Measures disks and networks of all members. Takes some seconds.
    fn validate_cluster(&self) -> Result<cluster::ClusterReport>;

    /// This instance, and those that it and they trust through join tokens: server name and endpoint URL.
    fn members(&self) -> Vec<(String, String)>;

    /// Makes a join token for other instances, good for `hours`. `url` is where this instance's endpoint is reached.
    fn invite(&self, url: &str, hours: u32) -> Result<String>;

    /// Uses a join token: this instance and those that its issuer knows trust each other from now on.
    fn use_invitation(&self, token: &str, url: &str) -> Result<()>;

    /// The global trace flags are these now (1462, 9592 and 9567 are about compression).
    fn trace_flags(&self, flags: &[i32]);

    /// A database was dropped here; it was in no group.
    fn database_dropped(&self, name: &str);

    /// A database that could not be opened at the start is open now.
    fn database_opened(&self, _entry: &Arc<crate::engine::DatabaseEntry>) {}
}
