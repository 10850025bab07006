//! [`Contents`]: the state machine of the store.

use crate::config::{GroupConfig, Stamp};
use crate::ids::{ClusterId, GroupId, InstanceId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A member of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreMember {
    /// Which instance it is.
    pub instance: InstanceId,
    /// Its server name.
    pub name: String,
    /// Its endpoint, as the shell knows it.
    pub url: String,
    /// Its number in the votes; another one after its disk was lost.
    pub number: u64,
    /// It only votes: no groups, no databases.
    pub witness: bool,
}

/// Everything the cluster agrees on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The cluster.
    pub cluster: ClusterId,
    /// Counts forced quorums.
    pub generation: u64,
    /// Members by instance.
    pub members: BTreeMap<InstanceId, StoreMember>,
    /// The configuration of each group.
    pub groups: BTreeMap<GroupId, GroupConfig>,
    /// Groups whose configuration may be older than what was lost with a quorum: only a forced failover makes it count.
    pub untrusted: BTreeSet<GroupId>,
    /// Chained over every change, in order: equal wherever the same was applied.
    pub digest: u64,
}

/// A change of the contents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Change {
    /// A group's configuration, made from the one with this stamp.
    Write { from: Stamp, forced: bool, config: Box<GroupConfig> },
    /// A member comes, or comes again under another number.
    Put(StoreMember),
    /// A member goes.
    Remove(InstanceId),
}

impl Contents {
    pub(crate) fn new(cluster: ClusterId, first: StoreMember) -> Contents {
        Contents {
            cluster,
            generation: 0,
            members: BTreeMap::from([(first.instance, first)]),
            groups: BTreeMap::new(),
            untrusted: BTreeSet::new(),
            digest: 0,
        }
    }

    /// The stamp stored for a group; the default when there is none.
    pub fn stamp(&self, group: GroupId) -> Stamp {
        self.groups.get(&group).map(|c| c.stamp).unwrap_or_default()
    }

    /// There is another group of the name of this one. A mirroring session has no name that users know.
    pub(crate) fn has_another_named(&self, config: &GroupConfig) -> bool {
        let named = |c: &GroupConfig| !c.dropped && !c.options.cluster_type.is_mirroring();
        let is_other = |c: &GroupConfig| c.id != config.id && c.name.eq_ignore_ascii_case(&config.name);
        named(config) && self.groups.values().any(|c| named(c) && is_other(c))
    }

    /// The member with this number.
    pub fn member_numbered(&self, number: u64) -> Option<&StoreMember> {
        self.members.values().find(|m| m.number == number)
    }

    /// Applies a change; returns the group it changed, if any. The same on every member.
    pub(crate) fn apply(&mut self, bytes: &[u8]) -> Option<GroupId> {
        self.digest = chain(self.digest, bytes);
        match postcard::from_bytes(bytes).ok()? {
            Change::Write { from, forced, config } => self.write(from, forced, *config),
            Change::Put(member) => {
                self.members.insert(member.instance, member);
                None
            }
            Change::Remove(instance) => {
                self.members.remove(&instance);
                None
            }
        }
    }

    fn write(&mut self, from: Stamp, forced: bool, config: GroupConfig) -> Option<GroupId> {
        let group = config.id;
        let in_question = self.untrusted.contains(&group);
        // Who forced the quorum may have known less than who forces the failover.
        let follows = self.stamp(group) == from || in_question && forced && self.stamp(group) < from;
        // Names do not change, so that a group which is here stays.
        let taken = !self.groups.contains_key(&group) && self.has_another_named(&config);
        let refused = !follows || config.stamp <= from || in_question && !forced && !config.dropped || taken;
        if refused {
            return None;
        }
        self.untrusted.remove(&group);
        self.groups.insert(group, config);
        Some(group)
    }
}

/// FNV-1a over the bytes, begun with what came before. It tells members apart that disagree by a fault, not by intent.
fn chain(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ClusterType, GroupOptions};
    use keel_base::Epoch;
    use uuid::Uuid;

    fn contents() -> Contents {
        let instance = InstanceId(Uuid::from_u128(1));
        let member =
            StoreMember { instance, name: "A".into(), url: String::new(), number: 1, witness: false };
        Contents::new(ClusterId(Uuid::from_u128(9)), member)
    }

    fn write(from: u64, to: u64, forced: bool) -> Vec<u8> {
        let mut config = GroupConfig::new(GroupId(Uuid::from_u128(5)), "ag", GroupOptions::default());
        config.stamp = Stamp { epoch: Epoch(to), version: to };
        let from = Stamp { epoch: Epoch(from), version: from };
        postcard::to_stdvec(&Change::Write { from, forced, config: Box::new(config) }).unwrap()
    }

    #[test]
    fn of_two_writes_from_the_same_place_one_wins() {
        let mut contents = contents();
        assert!(contents.apply(&write(0, 1, false)).is_some());
        assert!(contents.apply(&write(1, 2, false)).is_some());
        assert!(contents.apply(&write(1, 3, false)).is_none());
        assert!(contents.apply(&write(1, 2, false)).is_none(), "said twice, done once");
        assert_eq!(contents.stamp(GroupId(Uuid::from_u128(5))).version, 2);
    }

    #[test]
    fn after_a_forced_quorum_only_force_writes() {
        let mut contents = contents();
        contents.apply(&write(0, 1, false));
        contents.untrusted.insert(GroupId(Uuid::from_u128(5)));
        assert!(contents.apply(&write(1, 2, false)).is_none());
        assert!(contents.apply(&write(1, 3, true)).is_some());
        assert!(contents.apply(&write(3, 4, false)).is_some());
    }

    #[test]
    fn after_a_forced_quorum_force_may_know_more_than_the_store() {
        let mut contents = contents();
        contents.apply(&write(0, 1, false));
        assert!(contents.apply(&write(2, 3, true)).is_none(), "nobody has forced a quorum");
        contents.untrusted.insert(GroupId(Uuid::from_u128(5)));
        assert!(contents.apply(&write(2, 3, false)).is_none());
        assert!(contents.apply(&write(0, 3, true)).is_none(), "what is known is older");
        assert!(contents.apply(&write(2, 3, true)).is_some());
    }

    fn create(number: u128, name: &str, cluster_type: ClusterType) -> Vec<u8> {
        let options = GroupOptions { cluster_type, ..GroupOptions::default() };
        let mut config = GroupConfig::new(GroupId(Uuid::from_u128(number)), name, options);
        config.stamp = Stamp { epoch: Epoch(1), version: 1 };
        postcard::to_stdvec(&Change::Write {
            from: Stamp::default(),
            forced: false,
            config: Box::new(config),
        })
        .unwrap()
    }

    #[test]
    fn of_two_groups_of_one_name_the_first_one_stays_until_it_is_dropped() {
        let mut contents = contents();
        contents.apply(&write(0, 1, false));
        assert!(contents.apply(&create(6, "AG", ClusterType::Wsfc)).is_none());
        assert!(contents.apply(&create(7, "AG", ClusterType::External)).is_none());
        assert!(contents.apply(&create(8, "ag2", ClusterType::Wsfc)).is_some());
        assert!(contents.apply(&write(1, 2, false)).is_some(), "it is not in its own way");
        contents.groups.get_mut(&GroupId(Uuid::from_u128(5))).unwrap().dropped = true;
        assert!(contents.apply(&create(6, "AG", ClusterType::Wsfc)).is_some());
    }

    #[test]
    fn mirroring_sessions_of_databases_of_one_name_do_not_meet() {
        let mut contents = contents();
        for number in [6, 7] {
            let made = contents.apply(&create(number, "mirroring of db", ClusterType::WitnessedMirroring));
            assert!(made.is_some());
        }
        assert!(contents.apply(&create(8, "mirroring of db", ClusterType::Wsfc)).is_some());
    }

    #[test]
    fn the_digest_tells_orders_apart() {
        let (mut one, mut two) = (contents(), contents());
        one.apply(&write(0, 1, false));
        one.apply(&write(0, 2, false));
        two.apply(&write(0, 2, false));
        two.apply(&write(0, 1, false));
        assert_ne!(one.digest, two.digest);
    }
}
