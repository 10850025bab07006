//! Names of things: instances, groups, replicas, databases, data sessions, commands. All are made by the caller except
//! sessions, which the machine draws from its own generator.

use serde::{Deserialize, Serialize};
use std::fmt;
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub Uuid);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // The last digits are enough to tell them apart in a transcript.
                write!(f, concat!(stringify!($name), "(…{:04x})"), self.0.as_u128() & 0xffff)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

uuid_id! {
    /// One installation of the server: made with its data directory, kept as long as that lives. A wiped disk is another
    /// instance, whatever its name.
    InstanceId
}
uuid_id! {
    /// A cluster: the instances and witnesses that share one store.
    ClusterId
}
uuid_id! {
    /// An availability group (`group_id`).
    GroupId
}
uuid_id! {
    /// An instance's membership of one group (`replica_id`); given when the replica is added, before its instance is known.
    ReplicaId
}
uuid_id! {
    /// A database of a group (`group_database_id`), the same on all replicas.
    GroupDatabaseId
}

/// One attempt of one secondary to follow one primary for one database. Every frame of the data plane carries it, so that
/// nothing late from an earlier attempt is mistaken for news. Unique in practice: drawn at random by the follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub u64);

/// Joins a command with its answer; chosen by the caller, unique on its instance until answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);
