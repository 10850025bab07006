//! Options of the group, its replicas and its listeners, as operators change them.

use crate::instance::{instance_index, name};
use crate::plan::Op;
use crate::world::World;
use keel_cluster::config::Listener;
use keel_cluster::{
    AvailabilityMode, Command, FailoverMode, GroupConfig, GroupId, GroupOptions, SeedingMode,
};

impl World {
    /// MODIFY REPLICA of one of its options; where that is refused, nothing.
    pub(crate) fn modify_replica(&mut self, leader: usize, config: &GroupConfig, i: usize, op: Op) {
        let Some(replica) = config.replica_named(&name(i)) else { return };
        let mut options = replica.options.clone();
        let by_itself = self.plan.cluster && !self.plan.external;
        match op {
            Op::Mode(_, 0) => {
                options.availability_mode = AvailabilityMode::Asynchronous;
                // Automatic failover is for synchronous replicas: both are changed.
                if by_itself {
                    options.failover_mode = FailoverMode::Manual;
                }
            }
            Op::Mode(..) => options.availability_mode = AvailabilityMode::Synchronous,
            Op::Automatic(_, on) if by_itself => {
                options.failover_mode = match on {
                    1 if replica.is_synchronous() => FailoverMode::Automatic,
                    _ => FailoverMode::Manual,
                };
                self.probe("failover mode changed");
            }
            Op::Seeding(_, on) => {
                options.seeding_mode = if on == 1 { SeedingMode::Automatic } else { SeedingMode::Manual };
                self.probe("seeding mode changed");
            }
            Op::Timeout(_, seconds) => {
                options.session_timeout_s = seconds.into();
                self.probe("session time-out changed");
            }
            _ => return,
        }
        let (group, replica, options) = (config.id, replica.id, Box::new(options));
        self.order(leader, Command::ModifyReplica { group, replica, options });
    }

    /// What would keep a group from becoming whole by itself is as it was in the beginning.
    pub(crate) fn restore_options(&mut self, leader: usize, config: &GroupConfig) {
        if config.options.required_synchronized_secondaries > 0 {
            self.require(leader, config, 0);
        }
        for replica in &config.replicas {
            let Some(i) = replica.instance.map(instance_index) else { continue };
            if replica.options.seeding_mode != SeedingMode::Automatic {
                self.modify_replica(leader, config, i, Op::Seeding(i, 1));
            }
        }
    }

    /// REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT.
    pub(crate) fn require(&mut self, leader: usize, config: &GroupConfig, count: u8) {
        let options = GroupOptions { required_synchronized_secondaries: count, ..config.options.clone() };
        let (group, options) = (self.group_of(leader), Box::new(options));
        self.order(leader, Command::SetOptions { group, options });
    }

    /// The listeners that the group has from now on.
    pub(crate) fn set_listeners(&mut self, leader: usize, group: GroupId, count: u8) {
        self.probe("listeners changed");
        let listener = |n: u8| Listener {
            dns_name: format!("listener{n}"),
            port: 1433 + u16::from(n),
            dhcp: true,
            addresses: Vec::new(),
        };
        self.order(leader, Command::SetListeners { group, listeners: (0..count).map(listener).collect() });
    }
}
