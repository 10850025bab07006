//! [`Distributed`]: what one group's configuration says of the distributed availability group it is a member of.
//!
//! ```text
//!   clients ─► global primary ══ log, in its own epochs ══► forwarder ══ the same blocks ══► its secondaries
//!              (primary of the first group)                 (primary of the second)
//! ```
//! A distributed group is no group of its own here: it has no replicas, no votes and no record. Each of the two groups keeps its
//! own view of it in its own configuration, in its own way (by vote in a cluster, by its members without one), and the primaries of
//! the two tell each other what they have ([`DistributedBeat`]). Which group is the source is a number that only grows
//! ([`Distributed::turn`]): who sees a greater one follows it.

use crate::config::{AvailabilityMode, SeedingMode, Stamp};
use crate::ids::{GroupDatabaseId, GroupId, InstanceId, ReplicaId};
use crate::message::GroupBeat;
use keel_base::Epoch;
use serde::{Deserialize, Serialize};

/// Ordinals of the replicas of the second group lie from here on, those of the first below: no epoch of one side is ever begun on the
/// other.
pub(crate) const SECOND_SIDE: u8 = 128;

/// `'ag' WITH (LISTENER_URL, AVAILABILITY_MODE, FAILOVER_MODE = MANUAL, SEEDING_MODE)`: one of the two groups.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistributedMember {
    /// Identity of the group as a member; the same on both sides once they have met.
    pub id: ReplicaId,
    /// Name of the availability group.
    pub group: String,
    /// `LISTENER_URL`, as typed: where the endpoint of its primary, or of any of its instances, is reached.
    pub listener_url: String,
    /// `AVAILABILITY_MODE`; commits on the global primary wait when both members are synchronous.
    pub availability_mode: AvailabilityMode,
    /// `SEEDING_MODE`: whether the global primary makes the copies of this member.
    pub seeding_mode: SeedingMode,
}

/// Where an instance of the other group is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberEndpoint {
    /// Who.
    pub instance: InstanceId,
    /// Its server name.
    pub name: String,
    /// Its endpoint.
    pub url: String,
}

/// A distributed availability group as one of its two member groups keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distributed {
    /// Identity; a group that has joined takes over that of the other when they meet.
    pub id: GroupId,
    /// Name.
    pub name: String,
    /// The identities are those of the group that it was created on.
    pub bound: bool,
    /// Grows with each change of roles; odd and even numbers belong to the two sides, so no two changes have the same.
    pub turn: u64,
    /// The member whose primary is the global primary; `None` between giving the role up and the next taking it.
    pub primary: Option<ReplicaId>,
    /// The member that this group is.
    pub mine: ReplicaId,
    /// Both, in the order they were written.
    pub members: Vec<DistributedMember>,
    /// `REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT`, 0 or 1.
    pub required: u8,
    /// Instances of the other group, as its primary said last.
    pub endpoints: Vec<MemberEndpoint>,
    /// While this group forwards: the epoch of the global primary whose blocks its members take, and of no older one.
    pub source_epoch: Epoch,
    /// The last epoch in which this group was the source: its logs may hold blocks of it and take none of older ones.
    pub own_epoch: Epoch,
}

impl Distributed {
    /// This group takes its databases' log from the other one, or waits for whom to take it from.
    #[must_use]
    pub fn forwards(&self) -> bool {
        self.primary != Some(self.mine)
    }

    /// The member that this group is not.
    #[must_use]
    pub fn other(&self) -> Option<&DistributedMember> {
        self.members.iter().find(|m| m.id != self.mine)
    }

    /// The member that this group is.
    #[must_use]
    pub fn own(&self) -> Option<&DistributedMember> {
        self.members.iter().find(|m| m.id == self.mine)
    }

    /// Both members are synchronous: the global primary's commits wait for the forwarder.
    #[must_use]
    pub fn is_synchronous(&self) -> bool {
        self.members.iter().all(|m| m.availability_mode == AvailabilityMode::Synchronous)
    }

    /// Which of the two this group is: 0 or 1.
    pub(crate) fn side(&self) -> u8 {
        u8::from(self.members.first().is_some_and(|first| first.id != self.mine))
    }

    /// The first number of this side after `after`.
    pub(crate) fn next_turn(&self, after: u64) -> u64 {
        (after / 2 + 1) * 2 + u64::from(self.side())
    }

    /// It is the distributed group that a beat is about: by identity, or by its names while one of the two has not met the other.
    pub(crate) fn is_meant(&self, beat: &DistributedBeat) -> bool {
        let same_names = || {
            self.name.eq_ignore_ascii_case(&beat.name)
                && self.members.len() == beat.members.len()
                && self
                    .members
                    .iter()
                    .zip(&beat.members)
                    .all(|(m, (_, name))| m.group.eq_ignore_ascii_case(name))
        };
        match self.bound && beat.bound {
            true => self.id == beat.distributed,
            false => same_names(),
        }
    }
}

/// What an instance of one member group tells one of the other: on connecting and with every heartbeat when it leads, and in answer
/// when it does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistributedBeat {
    /// Identity of the distributed group as the sender has it.
    pub distributed: GroupId,
    /// Its name.
    pub name: String,
    /// As in [`Distributed::bound`].
    pub bound: bool,
    /// Its members: identity and name, in their order.
    pub members: Vec<(ReplicaId, String)>,
    /// The member that the sender belongs to.
    pub sender: ReplicaId,
    /// As in [`Distributed::turn`].
    pub turn: u64,
    /// As in [`Distributed::primary`].
    pub primary: Option<ReplicaId>,
    /// As in [`Distributed::own_epoch`]; of the source the epoch it leads in.
    pub own_epoch: Epoch,
    /// The sender's own group.
    pub group: GroupId,
    /// The durable configuration of that.
    pub stamp: Stamp,
    /// The sender is its primary and on line.
    pub leads: bool,
    /// Instances of that group.
    pub endpoints: Vec<MemberEndpoint>,
    /// From the source: the databases, with name and identity of the log.
    pub databases: Vec<(GroupDatabaseId, String, u32)>,
    /// What the two believe of the data sessions between them, in the epoch of the source.
    pub beat: GroupBeat,
}

/// The primary of the other group, as it told last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partner {
    /// Who.
    pub instance: InstanceId,
    /// Its group.
    pub group: GroupId,
    /// Its configuration.
    pub stamp: Stamp,
    /// What it has of the roles.
    pub turn: u64,
}
