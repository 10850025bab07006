//! How this instance comes to be a member of a group: invited and joined by name, or, of a mirroring session, expecting it.

use super::{Node, PendingJoin};
use crate::action::Action;
use crate::config::{ClusterType, GroupConfig, Replica};
use crate::event::{CommandError, ExpectedSession};
use crate::group::Group;
use crate::ids::{CommandId, GroupId, InstanceId};
use crate::message::Msg;
use crate::timing::JOIN_WAIT_MAX;

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
        self.offers.insert(config.id, (peer, config));
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
        // An answer may have been lost: ask again.
        for (group, (peer, config)) in &self.offers {
            let asked = self.joins.iter().any(|j| j.name.eq_ignore_ascii_case(&config.name));
            if let Some(mine) = config.replica_named(&self.me.server_name).filter(|_| asked) {
                out.push(Action::Send { peer: *peer, msg: Msg::Join { group: *group, replica: mine.id } });
            }
        }
    }

    pub(super) fn join(
        &mut self,
        id: CommandId,
        name: String,
        cluster_type: Option<ClusterType>,
        out: &mut Vec<Action>,
    ) {
        let member =
            self.groups.iter().find(|(_, g)| g.config.name.eq_ignore_ascii_case(&name) && !g.config.dropped);
        if let Some((group, _)) = member {
            let group = *group;
            self.for_group(group, out, |g, cx| g.rejoin(cx, id));
            return;
        }
        let offered = self.offers.iter().find(|(_, (_, c))| c.name.eq_ignore_ascii_case(&name));
        if let Some((_, (peer, config))) = offered
            && config.options.cluster_type.is_by_vote()
            && self.peers.get(peer).is_some_and(|p| self.cluster.is_stranger(p))
        {
            out.push(Action::Reply { command: id, result: Err(CommandError::OtherCluster) });
            return;
        }
        if let Some((group, (peer, config))) = offered
            && let Some(mine) = config.replica_named(&self.me.server_name)
        {
            if cluster_type.is_some_and(|wanted| wanted != config.options.cluster_type) {
                out.push(Action::Reply { command: id, result: Err(CommandError::ClusterTypeMismatch) });
                return;
            }
            out.push(Action::Send { peer: *peer, msg: Msg::Join { group: *group, replica: mine.id } });
        }
        self.joins.push(PendingJoin { name, cluster_type, command: id, deadline: self.now + JOIN_WAIT_MAX });
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
