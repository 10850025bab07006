//! The cluster manager of worlds whose roles are decided outside (CLUSTER_TYPE = EXTERNAL). It does what Pacemaker does with the
//! agent that administrators use: it sees which processes run, whatever the links do; some time after the last primary was seen it
//! compares the versions of the configuration that the synchronous members show, and promotes one of those with the newest when a
//! majority has shown its own; then it sends the others off line and tells them to follow. It is not always right: it does not know
//! who is cut off, and plans give commands of their own.

use crate::world::{MS, Micros, World};
use keel_cluster::{Command, Replica, RoleStatus};

/// Nobody is promoted before nobody has been primary for so long, nor again before that.
const PATIENCE: Micros = 1500 * MS;

/// What it remembers.
#[derive(Debug, Default)]
pub(crate) struct Manager {
    /// Who was primary when it looked last.
    primary: Option<usize>,
    /// Nobody is, since.
    since: Option<Micros>,
    /// Promotions that were tried: of several that could be promoted each has its turn.
    tries: usize,
}

impl World {
    /// Looks at everybody and says what is to be done.
    pub(crate) fn manage(&mut self) {
        if !self.plan.external {
            return;
        }
        let answers = |w: &World, i: &usize| w.instances[*i].up && w.instances[*i].paused_until <= w.now;
        let Some(primary) = self.leader(0).filter(|i| answers(self, i)) else {
            let since = *self.manager.since.get_or_insert(self.now);
            if self.now - since >= PATIENCE {
                self.manager.since = Some(self.now);
                self.promote_one();
            }
            return;
        };
        self.manager.since = None;
        let promoted = self.manager.primary.replace(primary) != Some(primary);
        for i in (0..self.plan.instances).filter(|i| *i != primary) {
            match self.status(i).filter(|_| answers(self, &i)).map(|s| s.role) {
                Some(RoleStatus::Secondary) if promoted => {
                    let group = self.group_of(i);
                    self.order(i, Command::Offline { group });
                }
                Some(RoleStatus::Resolving) if !promoted => {
                    self.probe("told to follow");
                    self.order(i, Command::Follow { group: self.group_of(i) });
                }
                _ => {}
            }
        }
    }

    fn promote_one(&mut self) {
        let statuses = (0..self.plan.instances).filter_map(|i| Some((i, self.status(i)?)));
        let shown: Vec<_> = statuses
            .filter(|(_, s)| s.config.replica(s.me).is_some_and(Replica::is_synchronous))
            .map(|(i, s)| {
                // Who has not joined has nothing to show.
                let able = s.config.replicas.iter().filter(|r| r.is_synchronous() && r.joined());
                (s.durable.version, i, able.count())
            })
            .collect();
        let Some((newest, _, members)) = shown.iter().max().copied() else { return };
        if shown.len() < members / 2 + 1 {
            return;
        }
        let able: Vec<usize> = shown.iter().filter(|s| s.0 == newest).map(|s| s.1).collect();
        self.manager.tries += 1;
        let i = able[self.manager.tries % able.len()];
        self.probe("promoted by the cluster manager");
        self.order(i, Command::Failover { group: self.group_of(i) });
    }
}
