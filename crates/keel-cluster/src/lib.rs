//! # keel-cluster: who may write, who is waited for, who follows whom
//!
//! All decisions of availability groups, and nothing else. One [`Node`] per instance takes [`Event`]s and the time and
//! answers with [`Action`]s.

pub mod action;
mod command;
pub mod config;
pub mod event;
mod failover;
mod group;
mod history;
pub mod ids;
pub mod message;
mod node;
mod primary;
mod secondary;
pub mod status;
mod timing;
mod view;

pub use action::{Action, FenceReason, LeaveReason, LogEntry, LogEvent};
pub use config::{
    AvailabilityMode, BackupPreference, ClusterType, DtcSupport, FailoverMode, GroupConfig, GroupDatabase,
    GroupOptions, GroupRecord, Listener, ListenerAddress, LocalDatabase, LocalState, PrimaryConnections,
    Replica, ReplicaOptions, SecondaryConnections, SeedingMode, Stamp, SuspendReason,
};
pub use event::{Command, CommandError, CopyPositions, Event, LogFacts, ReceiveFailure, SendFailure};
pub use ids::{CommandId, GroupDatabaseId, GroupId, InstanceId, ReplicaId, SessionId};
pub use message::{DecodeError, Msg, RefuseReason};
pub use node::{Identity, Node};
pub use status::{
    Blocked, CopyStatus, DatabaseStatus, GroupStatus, Health, OperationalState, ReplicaStatus, RoleStatus,
    SeedState, SeedStatus, SynchronizationState,
};
pub use timing::TICK_EVERY;
