//! A group of a cluster and the store: a configuration counts when the store has it, and only then is it written down here.
//!
//! ```text
//!   change ─► in flight ─► Proposal ─► … agreed ─► Persist ─► Persisted ─► effects, promises, the next change
//!                              └── overruled by another one, or no majority in time: taken back
//! ```
//! One change is on its way at a time; what changes meanwhile goes with the next. So the record on disk never holds
//! anything that was not agreed, and what other members are shown is what everybody will find.

use crate::action::{Action, FenceReason, LogEvent};
use crate::cluster::{Cluster, Proposal, Sight};
use crate::config::{FailoverMode, GroupConfig, GroupRecord, Replica, Stamp};
use crate::event::{CommandError, Fitness};
use crate::group::{Effect, Group, Role};
use crate::ids::{GroupDatabaseId, ReplicaId};
use crate::message::Msg;
use crate::node::Cx;
use crate::store::Change;
use crate::timing::{PROPOSE_AGAIN, RETRY_AFTER};
use keel_base::Lsn;

impl Group {
    /// Its configuration is kept by the cluster's store.
    pub(crate) fn clustered(&self) -> bool {
        self.config.options.cluster_type.is_by_vote()
    }

    /// What this instance knows to be agreed on a group of a cluster, for a forced quorum: also that it was dropped, but nothing of a
    /// group that was given up here alone.
    pub(crate) fn known_agreed(&self) -> Option<&GroupConfig> {
        let settled = &self.store.settled;
        let given_up = self.local.gone && !settled.dropped;
        (self.clustered() && !given_up && settled.stamp != Stamp::default()).then_some(settled)
    }

    /// Writes down what may be, and offers the store what it has not got.
    pub(crate) fn write_out(&mut self, cx: &mut Cx<'_>) {
        let limit = self.clustered().then_some(self.store.settled.stamp);
        let written = self.store.written;
        let mut newest = self.store.in_flight.iter().rev();
        let due = newest.find(|f| limit.is_none_or(|limit| f.config.stamp <= limit));
        if let Some(due) = due.filter(|f| f.revision > written) {
            let revision = due.revision;
            let record = GroupRecord { me: self.me, config: due.config.clone(), local: self.local.clone() };
            self.store.written = revision;
            cx.push(Action::Persist { group: self.config.id, revision, record: Box::new(record) });
        }
        if limit.is_some() && self.store.proposed.is_none() {
            self.propose(cx);
        }
    }

    fn propose(&mut self, cx: &mut Cx<'_>) {
        let from = self.store.settled.stamp;
        let Some(newest) = self.store.in_flight.back().filter(|f| f.config.stamp > from) else { return };
        let config = Box::new(newest.config.clone());
        self.store.proposed = Some((config.stamp, cx.now));
        let forced = self.forced_epoch == Some(config.stamp.epoch);
        cx.proposals.push(Proposal { change: Change::Write { from, forced, config } });
    }

    /// Offers again what may have been lost on its way.
    pub(crate) fn propose_again(&mut self, cx: &mut Cx<'_>) {
        let Some((stamp, _)) = self.store.proposed else { return };
        let from = self.store.settled.stamp;
        let same = self.store.in_flight.iter().find(|f| f.config.stamp == stamp);
        let Some(config) = same.map(|f| Box::new(f.config.clone())) else { return };
        self.store.proposed = Some((stamp, cx.now));
        let forced = self.forced_epoch == Some(stamp.epoch);
        cx.proposals.push(Proposal { change: Change::Write { from, forced, config } });
    }

    /// The cluster has agreed on this configuration.
    pub(crate) fn store_applied(&mut self, cx: &mut Cx<'_>, config: GroupConfig) {
        if !self.clustered() || config.stamp <= self.store.settled.stamp {
            return;
        }
        self.epoch_seen = self.epoch_seen.max(config.stamp.epoch);
        let being_dropped = self.is_being_dropped();
        let before = std::mem::replace(&mut self.store.settled, config.clone());
        let offered = self.store.proposed.is_some_and(|(stamp, _)| stamp == config.stamp);
        if offered && self.store.in_flight.iter().any(|f| f.config == config) {
            self.store.proposed = None;
            self.write_out(cx);
            self.settle(cx);
            return;
        }
        if being_dropped {
            self.keep_databases(cx, &before, FenceReason::NewerEpoch);
        } else if !self.exists() {
            self.hear_while_gone(cx, config);
            return;
        }
        if self.store.in_flight.iter().any(|f| f.config.stamp > before.stamp) {
            // Somebody was faster.
            self.config = before;
            self.take_back_changes(cx, FenceReason::NewerEpoch);
        }
        if config.replica(self.me).is_none_or(|r| r.instance != Some(cx.me.instance)) {
            self.removed(cx, config.stamp);
        } else if config.stamp > self.config.stamp {
            self.adopt(cx, config);
        }
    }

    /// A group that was dropped here alone is dropped by the cluster, or goes on without this instance: JOIN does not find it any more.
    fn hear_while_gone(&mut self, cx: &mut Cx<'_>, config: GroupConfig) {
        if config.replica_of(cx.me.instance).is_none_or(|r| r.id != self.me) {
            self.removed(cx, config.stamp);
        } else if config.dropped && config.stamp > self.config.stamp {
            self.config = config;
            self.touch();
        }
    }

    /// Takes back whatever the store has not taken over: it may still do so, and is then obeyed like anybody's word.
    pub(crate) fn take_back_changes(&mut self, cx: &mut Cx<'_>, reason: FenceReason) {
        if let Role::Primary { handover: Some(handover) } = &mut self.role
            && let Some(command) = handover.command.take()
        {
            cx.reply(command, Err(CommandError::Failed));
        }
        if self.leads_or_gives_up() {
            self.step_down(cx, reason);
        }
        for command in self.take_commands() {
            cx.reply(command, Err(CommandError::Failed));
        }
        self.forget_changes();
    }

    /// The effects and records of changes that were not agreed.
    pub(crate) fn forget_changes(&mut self) {
        self.clear_effects();
        self.store.in_flight.clear();
        self.store.proposed = None;
        self.touch();
    }

    /// Leads no longer, of its own accord: what is not agreed is taken back, the others are told at once.
    pub(crate) fn fall_back(&mut self, cx: &mut Cx<'_>, reason: FenceReason) {
        self.take_back_changes(cx, reason);
        if self.store.settled.stamp == Stamp::default() {
            // The group was never made.
            self.forget(cx);
            return;
        }
        self.config = self.store.settled.clone();
        self.claim_after = cx.now + RETRY_AFTER / 2;
        self.beat_all(cx);
    }

    /// Its primary has dropped it here, and that is not known to be agreed.
    pub(crate) fn is_being_dropped(&self) -> bool {
        let here = self.config.dropped && !self.local.gone && !self.forgotten;
        here && self.clustered() && !self.store.settled.dropped
    }

    /// The group is not dropped after all: what it has in `config` is not let go, and takes no writes for now.
    fn keep_databases(&mut self, cx: &mut Cx<'_>, config: &GroupConfig, reason: FenceReason) {
        self.effects.retain(|(_, e)| !matches!(e, Effect::Release(id, _) if config.database(*id).is_some()));
        self.fence(cx, reason);
    }

    /// What time does to a group that is being dropped: it is offered again, or, when no majority is heard, taken back.
    pub(crate) fn tick_being_dropped(&mut self, cx: &mut Cx<'_>) {
        if !self.is_being_dropped() {
            return;
        }
        if !cx.cluster.holds_lease(cx.now) {
            let settled = self.store.settled.clone();
            self.keep_databases(cx, &settled, FenceReason::LostQuorum);
            self.fall_back(cx, FenceReason::LostQuorum);
            if self.exists() {
                self.keep_copies(cx.now);
            }
        } else if self.store.proposed.is_some_and(|(_, at)| cx.now.saturating_sub(at) >= PROPOSE_AGAIN) {
            self.propose_again(cx);
        }
        self.finish(cx);
    }

    /// It was dropped here while the cluster could not be reached, which has it still as far as is known.
    pub(crate) fn is_gone_here_alone(&self) -> bool {
        self.is_dropped_here() && self.is_dropped_by_vote() && !self.store.settled.dropped
    }

    /// It was dropped here, and nobody has said that it was dropped elsewhere.
    pub(crate) fn is_dropped_here(&self) -> bool {
        self.local.gone && !self.config.dropped && !self.forgotten
    }

    /// It is offered to the cluster as a new group, and not known to be agreed.
    pub(crate) fn is_being_made(&self) -> bool {
        self.exists() && self.clustered() && self.store.settled.stamp == Stamp::default()
    }

    /// The cluster has another group of the name of this one, which is being made: it takes no second one. What was offered may still come
    /// when that one is dropped; so this one is offered as dropped, and whoever makes it is told once that is agreed.
    pub(crate) fn name_is_taken(&mut self, cx: &mut Cx<'_>) {
        let commands = std::mem::take(&mut self.promotion_commands);
        self.take_back_changes(cx, FenceReason::Removed);
        self.config.dropped = true;
        self.config.stamp.version += 1;
        let revision = self.touch();
        self.let_go(revision, true);
        for command in commands {
            self.when_durable(revision, Effect::Reply(command, Err(CommandError::GroupExists)));
        }
    }

    /// Tells the members at once what heartbeats say.
    fn beat_all(&self, cx: &mut Cx<'_>) {
        for peer in self.config.replicas.iter().filter_map(|r| r.instance) {
            if let Some(beat) = self.beat_for(peer, cx.now).filter(|_| peer != cx.me.instance) {
                cx.send(peer, Msg::Beat(vec![beat]));
            }
        }
    }

    /// A quorum is forced: nobody leads until a failover is forced too, not even who has led up to now, nor does anybody give the
    /// role up. What he knows may have been overtaken, and the store takes nothing from him before.
    pub(crate) fn doubt(&mut self, cx: &mut Cx<'_>) {
        if self.clustered() && self.leads_or_gives_up() {
            self.fall_back(cx, FenceReason::LostQuorum);
        }
    }

    /// It leads, or is on the way to that or from it.
    fn leads_or_gives_up(&self) -> bool {
        self.role.leads() || matches!(self.role, Role::Renouncing { .. })
    }

    /// A forced failover here is on its way to the store, whose agreement ends all question.
    fn is_forcing(&self) -> bool {
        matches!(self.role, Role::Promoting { .. })
            && self.forced_epoch == Some(self.config.stamp.epoch)
            && self.config.stamp > self.store.settled.stamp
    }

    /// What time does to a group of a cluster.
    pub(crate) fn tick_clustered(&mut self, cx: &mut Cx<'_>) {
        if !self.clustered() {
            return;
        }
        // Somebody else has forced a quorum, and this instance follows it now.
        if self.leads_or_gives_up() && self.is_in_question(cx) && !self.is_forcing() {
            self.doubt(cx);
        }
        if self.store.proposed.is_some_and(|(_, at)| cx.now.saturating_sub(at) >= PROPOSE_AGAIN) {
            self.propose_again(cx);
        }
        self.forget_flapping(cx);
        match self.role {
            Role::Promoting { opening: false, .. } if self.config.stamp > self.store.settled.stamp => {
                let created = self.store.settled.stamp == Stamp::default();
                let patience = cx.options().claim_max * if created { 3 } else { 1 };
                if cx.now.saturating_sub(self.role_since) >= patience {
                    self.fall_back(cx, FenceReason::LostQuorum);
                }
            }
            Role::Primary { .. } if !cx.cluster.holds_lease(cx.now) => {
                self.fall_back(cx, FenceReason::LostQuorum);
            }
            Role::Primary { .. } if self.fitness.is_unfit() && self.has_successor(cx) => {
                self.fall_back(cx, FenceReason::Unhealthy);
            }
            _ => {}
        }
    }

    /// The instance says whether it should lead.
    pub(crate) fn set_fitness(&mut self, cx: &mut Cx<'_>, fitness: Fitness) {
        if self.fitness == fitness {
            return;
        }
        if let Fitness::Unfit(reason) = &fitness
            && !self.fitness.is_unfit()
            && self.clustered()
        {
            cx.log(self.config.id, None, LogEvent::Unhealthy(reason.clone()));
        }
        self.fitness = fitness;
        if self.clustered() {
            self.beat_all(cx);
        }
        self.tick_clustered(cx);
        self.settle(cx);
    }

    /// What the replica has said of its fitness.
    pub(crate) fn fitness_of(&self, replica: ReplicaId) -> &Fitness {
        if replica == self.me { &self.fitness } else { self.theirs.get(&replica).unwrap_or(&Fitness::Fit) }
    }

    /// Another replica could take the role over at once.
    fn has_successor(&self, cx: &Cx<'_>) -> bool {
        self.config.replicas.iter().any(|r| {
            r.id != self.me
                && self.is_candidate(r)
                && !self.fitness_of(r.id).is_unfit()
                && self.store.durable.is_failover_ready(r.id)
                && r.instance.is_some_and(|i| cx.hears(i))
        })
    }

    /// Whoever could take this primary's place has hardened all that a flush up to `end` holds, and this primary has not: what
    /// holds commits up is the disk here, and elsewhere they would go on. Never said by a primary that follows on many
    /// failovers: a disk that is slow everywhere is not cured by another.
    pub(crate) fn is_outrun(
        &self,
        cx: &Sight<'_>,
        cluster: &Cluster,
        database: GroupDatabaseId,
        end: Lsn,
    ) -> bool {
        let Some(db) = self.databases.get(&database).filter(|_| self.is_primary() && self.clustered()) else {
            return false;
        };
        let heard = |r: &&Replica| r.instance.is_some_and(|i| cluster.hears(cx.peers, i, cx.now));
        let mut able =
            self.config.replicas.iter().filter(|r| r.id != self.me && self.is_candidate(r)).filter(heard);
        let has_it = |r: &Replica| db.followers.get(&r.id).is_some_and(|f| f.positions.hardened >= end);
        end > db.hardened
            && self.config.failovers_lately < cluster.options.flap_max
            && able.clone().next().is_some()
            && able.all(has_it)
    }

    /// It may take the role by itself: synchronous and AUTOMATIC, and all its databases in the set.
    pub(crate) fn is_candidate(&self, replica: &Replica) -> bool {
        replica.joined()
            && replica.is_synchronous()
            && replica.options.failover_mode == FailoverMode::Automatic
            && self.config.is_failover_ready(replica.id)
    }
}
