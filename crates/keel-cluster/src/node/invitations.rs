//! How this instance comes to be a member of a group: invited and joined by name, or, of a mirroring session, expecting it.

use super::{Node, PendingJoin};
use crate::action::Action;
use crate::config::{ClusterType, GroupConfig, Replica};
use crate::event::{CommandError, ExpectedSession};
use crate::group::Group;
use crate::ids::{CommandId, GroupId, InstanceId};
use crate::message::Msg;
use crate::timing::{JOIN_WAIT_MAX, OFFER_LASTS};
use std::time::Duration;

/// A group whose primary wants this instance. It is said again with every heartbeat, until it is taken up or the group is no more.
pub(super) struct Offer {
    peer: InstanceId,
    pub(super) config: GroupConfig,
    at: Duration,
}

impl Offer {
    fn is_named(&self, name: &str) -> bool {
        self.config.name.eq_ignore_ascii_case(name)
    }
}

impl Node {
    pub(super) fn invited(&mut self, peer: InstanceId, config: GroupConfig, out: &mut Vec<Action>) {
        let Some(mine) = config.replica_named(&self.me.server_name) else { return };
        if mine.instance == Some(self.me.instance) {
            // It had joined, and lost the record before that was durable: the group still counts on it. Or the inviter
            // was removed here, did not know it, and was made primary by force: the newer epoch wins.
            self.config_from(peer, config, out);
            return;
        }
        if mine.joined() || self.groups.get(&config.id).is_some_and(|g| g.exists()) {
            return;
        }
        if config.options.cluster_type.is_mirroring() {
            if self.takes_part(peer, &config, mine) {
                out.push(Action::Send { peer, msg: Msg::Join { group: config.id, replica: mine.id } });
            }
            return;
        }
        self.refuse_other_types(&config, out);
        let asked = self.joins.iter().any(|j| j.name.eq_ignore_ascii_case(&config.name));
        if asked {
            out.push(Action::Send { peer, msg: Msg::Join { group: config.id, replica: mine.id } });
        }
        self.offers.insert(config.id, Offer { peer, config, at: self.now });
    }

    /// Whether to enter a mirroring session that was offered: as its mirror if the session is expected, as its witness always. An
    /// offer comes again until it is taken up, so nothing need be remembered.
    pub(super) fn takes_part(&self, peer: InstanceId, config: &GroupConfig, mine: &Replica) -> bool {
        if config.options.cluster_type.is_by_vote()
            && self.peers.get(&peer).is_some_and(|p| self.cluster.is_stranger(p))
        {
            return false;
        }
        let expected = |log_id: u32| self.expected.contains(&ExpectedSession { log_id, principal: peer });
        !mine.keeps_data() || config.databases.iter().all(|d| expected(d.log_id))
    }

    pub(super) fn config_from(&mut self, peer: InstanceId, config: GroupConfig, out: &mut Vec<Action>) {
        let id = config.id;
        let joining = self.joins.iter().any(|j| j.name.eq_ignore_ascii_case(&config.name));
        match self.groups.get(&id) {
            Some(group) if group.exists() || group.is_being_dropped() || joining => {
                self.for_group(id, out, |g, cx| g.config_from(cx, peer, config));
                // Who was removed as one replica may have joined as another, in a life that its disk knows nothing of: it is invited again.
                self.groups.retain(|_, g| !g.forgotten());
            }
            Some(_) => return,
            None => {
                let config = self.as_agreed(config);
                let mine = config.replica_of(self.me.instance).map(|r| r.id).filter(|_| !config.dropped);
                let Some(mine) = mine else { return };
                self.groups.insert(id, Group::joined(config, mine, self.now));
                self.for_group(id, out, |g, cx| g.record_joined(cx));
            }
        }
        self.offers.remove(&id);
        self.answer_joins(id, out);
    }

    /// Of a group that has no record here: what this peer says, or what the cluster has agreed on since. Who says it may have led long
    /// ago, and this instance may have been taken out, or the group dropped.
    fn as_agreed(&self, said: GroupConfig) -> GroupConfig {
        let by_vote = said.options.cluster_type.is_by_vote();
        let agreed = self.cluster.contents().and_then(|c| c.groups.get(&said.id)).filter(|_| by_vote);
        agreed.filter(|agreed| agreed.stamp > said.stamp).cloned().unwrap_or(said)
    }

    pub(super) fn answer_joins(&mut self, group: GroupId, out: &mut Vec<Action>) {
        let Some(g) = self.groups.get_mut(&group).filter(|g| g.exists()) else { return };
        let name = g.config.name.clone();
        let (done, rest): (Vec<_>, Vec<_>) =
            self.joins.drain(..).partition(|j| j.name.eq_ignore_ascii_case(&name));
        self.joins = rest;
        for join in done {
            self.for_group(group, out, |g, _| g.reply_when_durable(join.command, Ok(())));
        }
    }

    pub(super) fn expire_joins(&mut self, out: &mut Vec<Action>) {
        let now = self.now;
        self.joins.retain(|join| {
            let waiting = now < join.deadline;
            if !waiting {
                out.push(Action::Reply { command: join.command, result: Err(CommandError::JoinTimedOut) });
            }
            waiting
        });
        self.offers.retain(|_, offer| now.saturating_sub(offer.at) < OFFER_LASTS);
        // An answer may have been lost: ask again.
        for (group, Offer { peer, config, .. }) in &self.offers {
            let asked = self.joins.iter().any(|j| j.name.eq_ignore_ascii_case(&config.name));
            if let Some(mine) = config.replica_named(&self.me.server_name).filter(|_| asked) {
                out.push(Action::Send { peer: *peer, msg: Msg::Join { group: *group, replica: mine.id } });
            }
        }
    }

    /// JOIN takes the group of that name that this instance has, or else the one that is offered. One that was dropped here alone it takes
    /// at once where a cluster keeps the name for it; elsewhere when somebody shows that he has it still ([`Node::takes_back`]).
    pub(super) fn join(
        &mut self,
        id: CommandId,
        name: String,
        cluster_type: Option<ClusterType>,
        out: &mut Vec<Action>,
    ) {
        let offered = self.offers.values().find(|offer| offer.is_named(&name));
        let named = self.groups.values().filter(|g| g.config.name.eq_ignore_ascii_case(&name));
        let is_meant = |g: &&Group| g.exists() || offered.is_none() && g.is_dropped_here() && g.clustered();
        let meant = named.filter(is_meant).max_by_key(|g| g.exists());
        if let Some(group) = meant.map(|g| g.config.id) {
            self.for_group(group, out, |g, cx| g.rejoin(cx, id));
            return;
        }
        if let Some(Offer { peer, config, .. }) = offered {
            let mine = config.replica_named(&self.me.server_name);
            let by_vote = config.options.cluster_type.is_by_vote();
            let refused = if by_vote && self.peers.get(peer).is_some_and(|p| self.cluster.is_stranger(p)) {
                Some(CommandError::OtherCluster)
            } else if cluster_type.is_some_and(|wanted| wanted != config.options.cluster_type) {
                Some(CommandError::ClusterTypeMismatch)
            } else {
                None
            };
            if let Some(error) = refused {
                out.push(Action::Reply { command: id, result: Err(error) });
                return;
            }
            let ask = mine.map(|mine| Msg::Join { group: config.id, replica: mine.id });
            out.extend(ask.map(|msg| Action::Send { peer: *peer, msg }));
        }
        self.joins.push(PendingJoin { name, cluster_type, command: id, deadline: self.now + JOIN_WAIT_MAX });
    }

    /// A member speaks of a group that was dropped here alone, which JOIN waits for: it is taken back, unless another of its name is offered.
    pub(super) fn takes_back(&mut self, group: GroupId, out: &mut Vec<Action>) {
        let Some(g) = self.groups.get(&group).filter(|g| g.is_dropped_here()) else { return };
        let name = &g.config.name;
        let asked = self.joins.iter().any(|j| j.name.eq_ignore_ascii_case(name));
        if asked && !self.offers.values().any(|offer| offer.is_named(name)) {
            self.for_group(group, out, Group::come_back);
            self.answer_joins(group, out);
        }
    }

    /// Answers those who wait for a group that turns out to be of another type than they said.
    pub(super) fn refuse_other_types(&mut self, config: &GroupConfig, out: &mut Vec<Action>) {
        self.joins.retain(|join| {
            let fits = !join.name.eq_ignore_ascii_case(&config.name)
                || join.cluster_type.is_none_or(|wanted| wanted == config.options.cluster_type);
            if !fits {
                let result = Err(CommandError::ClusterTypeMismatch);
                out.push(Action::Reply { command: join.command, result });
            }
            fits
        });
    }
}
