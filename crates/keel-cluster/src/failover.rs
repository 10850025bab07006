//! Changing roles: taking one up again after a restart, handing over, forcing, giving up.
//!
//! Every way to become primary goes through one gate: a configuration of a new epoch that names this replica becomes durable
//! here *before* the engine may open the databases for writing.

use crate::action::{Action, FenceReason, LogEvent};
use crate::cluster::GENERATION_SHIFT;
use crate::config::{GroupConfig, Stamp};
use crate::event::{CommandError, LogFacts};
use crate::group::{Effect, Group, Role};
use crate::ids::{CommandId, GroupDatabaseId, InstanceId, ReplicaId};
use crate::message::Msg;
use crate::node::Cx;
use crate::primary::Handover;
use crate::status::FailoverKind;
use crate::timing::HANDOVER_MAX;
use keel_base::{Epoch, Lsn};
use std::collections::BTreeSet;

/// What a new primary writes into the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The synchronized sets hold: nothing acknowledged can be missing here, and nobody else can take the role but by force.
    KeepSets,
    /// The synchronized sets hold, but any other member may take the role as well: each must promise the epoch before it can
    /// be taken out of a set.
    Confirm,
    /// Only this replica is known to hold what it holds; the others wait for RESUME.
    Force,
    /// The primary is lost: of the synchronized sets, this replica and these go on.
    Survivors(BTreeSet<ReplicaId>),
}

impl Group {
    // ---- becoming primary -------------------------------------------------------------------------------------------

    /// The creator of a group takes the role as soon as the group is durable.
    pub(crate) fn take_first_role(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        let revision = self.touch();
        self.told_to_lead();
        self.promotion_commands.push(command);
        self.set_role(cx, Role::Promoting { revision, opening: false });
        self.settle(cx);
    }

    /// Resolving: take the role back when the configuration says it is this replica's and nobody can know better; follow
    /// when another one has it.
    pub(crate) fn settle_resolving(&mut self, cx: &mut Cx<'_>) {
        if self.config.primary == Some(self.me) {
            self.yielding = self.clustered() && self.has_longer_rival(cx);
            if self.needs_no_word() && self.may_resume(cx) {
                self.claim_role(cx, Claim::KeepSets);
            }
        } else if self.live_primary(cx).is_some() && !self.waits_for_word() {
            let databases = self.databases.keys().copied().collect();
            self.set_role(cx, Role::Demoting);
            cx.push(Action::Demote { group: self.config.id, databases });
        }
    }

    /// A restarted primary waits until it has heard from every member that could have been made primary meanwhile: from all,
    /// or, after a session time-out, from those that could without loss.
    fn may_resume(&self, cx: &Cx<'_>) -> bool {
        let Role::Resolving { since } = self.role else { return false };
        if self.clustered() {
            return self.may_resume_clustered(cx);
        }
        if !self.is_durable() || self.store.retry_at.is_some() || !self.databases_ready(cx) {
            return false;
        }
        if self.has_short_log() || self.left_to_others() {
            return false;
        }
        if self.shown.values().any(|s| s.epoch > self.config.stamp.epoch) {
            return false;
        }
        let mut others = self.config.replicas.iter().filter(|r| r.id != self.me && r.joined());
        if others.all(|r| self.heard.contains(&r.id)) {
            return true;
        }
        let waited = cx.now.saturating_sub(since) >= self.my_session_timeout();
        waited && self.candidates().iter().all(|r| self.heard.contains(r))
    }

    /// The other members of any synchronized set.
    fn candidates(&self) -> BTreeSet<ReplicaId> {
        let members = self.config.databases.iter().flat_map(|d| d.synchronized.iter().copied());
        // The other member of a distributed group takes the role only by an operator's word.
        members.filter(|r| *r != self.me && self.config.replica(*r).is_some()).collect()
    }

    /// Nobody has the role, this copy is whole, and every other candidate is connected and knows of nothing newer.
    fn may_take_vacant_role(&self, cx: &Cx<'_>) -> bool {
        if self.has_short_log() {
            return false;
        }
        if self.clustered() {
            // The store refuses all but one who try.
            return self.config.primary.is_none()
                && self.config.is_failover_ready(self.me)
                && self.is_durable()
                && cx.cluster.is_quorate(&cx.sight());
        }
        let stamp = self.config.stamp;
        let agrees = |r: &ReplicaId| {
            let connected = self.config.instance_of(*r).is_some_and(|i| cx.connected(i));
            connected && self.shown.get(r).is_some_and(|shown| *shown == stamp)
        };
        self.config.primary.is_none()
            && self.config.is_failover_ready(self.me)
            && self.is_durable()
            && self.candidates().iter().all(agrees)
    }

    pub(crate) fn my_session_timeout(&self) -> std::time::Duration {
        let seconds = self.my_replica().map_or(0, |r| r.options.session_timeout_s);
        std::time::Duration::from_secs(u64::from(seconds))
    }

    /// All local copies that should be open are, or were waited for long enough.
    fn databases_ready(&self, cx: &Cx<'_>) -> bool {
        !self.lacks_copies() || cx.now.saturating_sub(self.role_since) >= self.my_session_timeout()
    }

    /// A database of the group has no whole copy here, and not because an operator took it out.
    pub(crate) fn lacks_copies(&self) -> bool {
        self.members().iter().any(|id| !self.databases[id].is_whole() && !self.has_left(*id))
    }

    /// SET HADR OFF was given here.
    pub(crate) fn has_left(&self, database: GroupDatabaseId) -> bool {
        self.local.databases.get(&database).is_some_and(|d| d.left)
    }

    /// SET HADR OFF took out here what other members of the set have. A forwarder may do without.
    pub(crate) fn left_to_others(&self) -> bool {
        let left = self.config.databases.iter().filter(|d| self.has_left(d.id));
        let mut members = left.flat_map(|d| &d.synchronized);
        !self.config.forwards() && members.any(|replica| *replica != self.me)
    }

    /// An epoch above all that this replica knows of, which nobody else begins.
    pub(crate) fn next_epoch(&self, cx: &Cx<'_>) -> Epoch {
        let ordinal = self.my_replica().map_or(0, |r| r.ordinal);
        let generation = Epoch(cx.cluster.generation() << GENERATION_SHIFT);
        let least = if self.clustered() { generation } else { Epoch(0) };
        // Blocks of another group's epochs may be in the logs.
        let least = least.max(self.newest_log_epoch());
        GroupConfig::next_epoch(self.config.stamp.epoch.max(self.epoch_seen).max(least), ordinal)
    }

    /// Writes the configuration of a new epoch with this replica as primary.
    pub(crate) fn claim_role(&mut self, cx: &mut Cx<'_>, claim: Claim) {
        if self.my_replica().is_none() {
            return;
        }
        let old = self.config.stamp;
        let from = self.config.primary;
        let epoch = self.next_epoch(cx);
        if std::mem::take(&mut self.forcing) || claim == Claim::Force {
            self.forced_epoch = Some(epoch);
        }
        let me = self.me;
        let synchronized = self.config.is_failover_ready(me);
        let others: Vec<ReplicaId> =
            self.config.replicas.iter().filter(|r| r.id != me && r.keeps_data()).map(|r| r.id).collect();
        let forwards = self.config.forwards();
        let guest = self.config.distributed.as_ref().and_then(|d| d.other()).map(|m| m.id);
        for database in &mut self.config.databases {
            if !forwards {
                database.awaiting_resume.remove(&me);
            }
            if claim == Claim::Force {
                database.synchronized = BTreeSet::from([me]);
                database.awaiting_resume = others.iter().map(|r| (*r, epoch)).collect();
            }
            if let Claim::Survivors(survivors) = &claim {
                database.synchronized.retain(|r| *r == me || Some(*r) == guest || survivors.contains(r));
            }
        }
        match &claim {
            Claim::Confirm if !self.clustered() => self.config.to_confirm = self.candidates(),
            Claim::Confirm | Claim::Force | Claim::Survivors(_) => self.config.to_confirm.clear(),
            Claim::KeepSets => {}
        }
        match &claim {
            Claim::Survivors(_) => self.config.failovers_lately += 1,
            Claim::Confirm | Claim::Force => self.config.failovers_lately = 0,
            Claim::KeepSets => {}
        }
        self.config.parent = old.epoch;
        self.config.stamp = Stamp { epoch, version: old.version + 1 };
        self.config.primary = Some(me);
        for id in self.databases.keys().copied().collect::<Vec<_>>() {
            self.stop_feed(cx, id);
        }
        self.stop_feeding_all(cx);
        self.claim = None;
        let kind = match &claim {
            Claim::KeepSets => FailoverKind::Resumed,
            Claim::Confirm => FailoverKind::Planned,
            Claim::Force => FailoverKind::Forced,
            Claim::Survivors(_) => FailoverKind::Automatic,
        };
        self.begin_record(cx, from, kind);
        let revision = self.touch();
        if claim == Claim::Force {
            let event = LogEvent::Forced { epoch, synchronized };
            self.when_durable(revision, Effect::Log(None, event));
        }
        self.set_role(cx, Role::Promoting { revision, opening: false });
    }

    /// Leads already, but an epoch beside its own was started: goes on above it.
    pub(crate) fn lead_above(&mut self, cx: &mut Cx<'_>, other: Epoch) {
        self.epoch_seen = self.epoch_seen.max(other);
        self.call_off_handover(cx, CommandError::Busy);
        self.claim_role(cx, Claim::KeepSets);
    }

    pub(crate) fn settle_promoting(&mut self, cx: &mut Cx<'_>, revision: u64, opening: bool) {
        let forwards = self.config.forwards();
        if opening || self.store.durable_revision < revision || !(forwards || self.databases_ready(cx)) {
            return;
        }
        self.role = Role::Promoting { revision, opening: true };
        self.record_decided(cx.now);
        if forwards {
            match std::mem::replace(&mut self.follows, true) {
                true => self.lead_forwarding(cx),
                false => {
                    let databases = self.databases.keys().copied().collect();
                    cx.push(Action::Demote { group: self.config.id, databases });
                }
            }
            return;
        }
        self.follows = false;
        let epoch = self.config.stamp.epoch;
        let mut databases = Vec::new();
        for id in self.members() {
            let Some(db) = self.databases.get_mut(&id) else { continue };
            // What is not whole is closed from here on: a primary takes no blocks that could make it so. A role is taken with such
            // a copy only where nobody else in the set has a whole one, or (without a store) nobody came in time. Nor is there a
            // way from here to a secondary that would have to go on with it: the others are refused by a closed database and
            // leave the set, so the next primary is one by force, and after that a copy that is not whole is made anew, as is
            // one that is closed.
            db.open = db.is_whole();
            if db.open {
                db.opening = true;
                databases.push(id);
            }
        }
        cx.push(Action::Promote { group: self.config.id, epoch, databases });
    }

    pub(crate) fn promoted(
        &mut self,
        cx: &mut Cx<'_>,
        epoch: Epoch,
        databases: Vec<(GroupDatabaseId, LogFacts)>,
    ) {
        if epoch != self.config.stamp.epoch {
            return;
        }
        let promoting = matches!(self.role, Role::Promoting { opening: true, .. });
        if !promoting && !self.is_primary() {
            return;
        }
        if promoting {
            for db in self.databases.values_mut().filter(|d| d.opening) {
                db.open = false;
                db.opening = false;
            }
        }
        for (id, facts) in databases {
            let Some(db) = self.databases.get_mut(&id) else { continue };
            db.set_facts(facts);
            db.proven = true;
            db.opening = false;
            db.applied = db.hardened;
            db.epoch_start = db.hardened;
            if db.history.last().is_none_or(|(last, _)| *last < epoch) {
                // The epoch has no block yet, but this is where it begins.
                db.history.push((epoch, db.hardened));
            }
        }
        if promoting {
            self.lead(cx);
        }
        for id in self.members() {
            self.open_late_database(cx, id);
        }
        self.settle(cx);
    }

    /// The role is taken: whoever asked is answered, whoever follows is told.
    fn lead(&mut self, cx: &mut Cx<'_>) {
        self.set_role(cx, Role::Primary { handover: None });
        self.record_opened(cx);
        let asked = self.take_over.take().and_then(|t| t.command);
        for command in std::mem::take(&mut self.promotion_commands).into_iter().chain(asked) {
            cx.reply(command, Ok(()));
        }
        for peer in self.config.replicas.iter().filter_map(|r| r.instance).collect::<Vec<_>>() {
            // Tell at once who leads; do not make the members wait for the next heartbeat.
            if let Some(beat) = self.beat_for(peer, cx.now).filter(|_| peer != cx.me.instance) {
                cx.send(peer, Msg::Beat(vec![beat]));
            }
        }
        for peer in cx.peers.keys().copied().collect::<Vec<_>>() {
            if let Some(beat) = self.distributed_beat(peer) {
                cx.send(peer, beat);
            }
        }
        for (id, command) in std::mem::take(&mut self.awaiting_primary) {
            self.command(cx, id, command);
        }
    }

    /// The engine takes blocks: the group is led, and what comes is passed on.
    fn lead_forwarding(&mut self, cx: &mut Cx<'_>) {
        self.survey_logs(cx);
        self.lead(cx);
        self.settle(cx);
    }

    /// A database whose copy came to be open after this replica had become primary.
    pub(crate) fn open_late_database(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        let (group, epoch) = (self.config.id, self.config.stamp.epoch);
        let Some(db) = self.databases.get_mut(&database) else { return };
        let begun = db.history.last().is_some_and(|(last, _)| *last >= epoch);
        if db.is_whole() && !db.is_short() && !db.opening && !begun {
            db.opening = true;
            cx.push(Action::PromoteDatabase { group, epoch, database });
        }
    }

    pub(crate) fn demoted(&mut self, cx: &mut Cx<'_>) {
        match self.role {
            Role::Demoting => {
                self.follows = true;
                self.set_role(cx, Role::Secondary);
                self.settle(cx);
            }
            Role::Promoting { opening: true, .. } if self.config.forwards() => self.lead_forwarding(cx),
            _ => {}
        }
    }

    // ---- commands to the target -------------------------------------------------------------------------------------

    pub(crate) fn failover(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        if let Some(answer) = self.failover_refusal() {
            cx.reply(command, answer);
            return;
        }
        if self.is_primary() {
            cx.reply(command, Ok(()));
            return;
        }
        if self.clustered() && !cx.cluster.is_quorate(&cx.sight()) {
            cx.reply(command, Err(CommandError::NoQuorum));
            return;
        }
        if self.clustered() && !self.is_trusted(cx) {
            cx.reply(command, Err(CommandError::ForcedQuorum));
            return;
        }
        // The record may still count on a copy that was lost with its disk, or that was taken out here unheard.
        // Or its disk is an older one, and another member shows what it lacks.
        if self.has_short_log() || !self.others_lack_them_too() || self.is_behind_others(cx) {
            cx.reply(command, Err(CommandError::NotSynchronized));
            return;
        }
        if self.config.primary == Some(self.me) {
            self.take(cx, command, Claim::KeepSets);
            return;
        }
        if !self.config.is_failover_ready(self.me) {
            cx.reply(command, Err(CommandError::NotSynchronized));
            return;
        }
        match self.config.primary {
            None if self.may_take_vacant_role(cx) => self.take(cx, command, Claim::Confirm),
            None => cx.reply(command, Err(CommandError::PrimaryNotConnected)),
            Some(primary) if !self.both_synchronous(primary) => {
                cx.reply(command, Err(CommandError::NotSynchronousMode));
            }
            Some(primary) if self.live_primary(cx).is_none() => match self.claim_of_the_lost(cx, primary) {
                Ok(claim) => self.take(cx, command, claim),
                Err(error) => cx.reply(command, Err(error)),
            },
            Some(_) if self.waits_for_word() => cx.reply(command, Err(CommandError::NotSynchronized)),
            Some(_) => {
                self.told_to_lead();
                self.begin_take_over(cx, command, false);
            }
        }
    }

    pub(crate) fn force_failover(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        if let Some(answer) = self.failover_refusal() {
            cx.reply(command, answer);
        } else if self.config.is_failover_ready(self.me)
            && self.live_primary(cx).is_some()
            && !self.waits_for_word()
        {
            // The primary is well and this copy is whole: no need to lose anything.
            self.told_to_lead();
            self.begin_take_over(cx, command, true);
        } else if self.lacks_copies() {
            // There is nothing here to lead with; a copy that is known to be bad can be taken out with SET HADR OFF first.
            cx.reply(command, Err(CommandError::NotSynchronized));
        } else if self.clustered() && !cx.cluster.is_quorate(&cx.sight()) {
            cx.reply(command, Err(CommandError::NoQuorum));
        } else {
            self.force(cx, command);
        }
    }

    /// The answer when there is nothing to do, or it cannot be done now.
    fn failover_refusal(&self) -> Option<Result<(), CommandError>> {
        if !self.my_replica().is_some_and(|r| r.keeps_data()) {
            return Some(Err(CommandError::ConfigurationOnly));
        }
        match self.role {
            Role::Primary { .. } if self.config.to_confirm.is_empty() => Some(Ok(())),
            Role::Primary { .. } => None,
            Role::Promoting { .. } | Role::Renouncing { .. } => Some(Err(CommandError::Busy)),
            Role::Resolving { .. } | Role::Demoting | Role::Secondary => {
                self.take_over.is_some().then_some(Err(CommandError::Busy))
            }
        }
    }

    /// Takes the role whatever the primary says. Nothing is lost, and nobody suspended, when this replica is the last primary
    /// itself, or when that one gave the role up and all who have what it acknowledged agree. After a forced quorum who was that is
    /// not known: others may have led since, and have what this replica lacks.
    pub(crate) fn force(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        self.forcing = true;
        let claim = if self.is_primary() || self.clustered() && self.is_in_question(cx) {
            // A primary that is told so waits for promises that do not come.
            Claim::Force
        } else if self.config.primary == Some(self.me) {
            Claim::KeepSets
        } else if self.may_take_vacant_role(cx) {
            Claim::Confirm
        } else {
            Claim::Force
        };
        self.take(cx, command, claim);
    }

    fn take(&mut self, cx: &mut Cx<'_>, command: CommandId, claim: Claim) {
        self.told_to_lead();
        self.promotion_commands.push(command);
        self.claim_role(cx, claim);
        self.settle(cx);
    }

    // ---- handing over -----------------------------------------------------------------------------------------------

    pub(crate) fn take_over_from(&mut self, cx: &mut Cx<'_>, peer: InstanceId, stamp: Stamp) {
        let group = self.config.id;
        let target = self.config.replica_of(peer).map(|r| r.id);
        let error = match (&self.role, target) {
            (Role::Primary { handover: Some(h) }, _) if h.asker == peer => return,
            (Role::Primary { handover: Some(_) }, _) => CommandError::Busy,
            (Role::Primary { .. }, Some(target)) if stamp.epoch == self.config.stamp.epoch => {
                if !self.both_synchronous(target) {
                    CommandError::NotSynchronousMode
                } else if !self.is_ready_target(target) {
                    CommandError::NotSynchronized
                } else {
                    self.drain(cx, peer, Some(target), None);
                    return;
                }
            }
            // It has given the role up: the configuration says to whom.
            (Role::Renouncing { .. }, _) => return,
            _ => CommandError::NotPrimary,
        };
        cx.send(peer, Msg::TakeOverRefused { group, error });
    }

    /// A member that has this epoch on disk, in the recorded set of every database, and receiving.
    fn is_ready_target(&self, target: ReplicaId) -> bool {
        let feeding = |db: &crate::group::Database| {
            db.followers.get(&target).is_some_and(|f| f.sending_session().is_some())
        };
        let promised = self.shown.get(&target).is_some_and(|s| s.epoch == self.config.stamp.epoch);
        promised
            && self.both_synchronous(target)
            && self.config.is_failover_ready(target)
            && self.store.durable.is_failover_ready(target)
            && self.members().iter().all(|id| feeding(&self.databases[id]))
    }

    pub(crate) fn offline(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        match self.role {
            Role::Primary { handover: None } => self.drain(cx, cx.me.instance, None, Some(command)),
            Role::Primary { .. } | Role::Promoting { .. } => cx.reply(command, Err(CommandError::Busy)),
            _ => self.go_offline(cx, command),
        }
    }

    fn drain(
        &mut self,
        cx: &mut Cx<'_>,
        asker: InstanceId,
        target: Option<ReplicaId>,
        command: Option<CommandId>,
    ) {
        let handover = Handover { asker, target, command, since: cx.now, ends: None, distributed: false };
        self.role = Role::Primary { handover: Some(handover) };
        cx.push(Action::Drain { group: self.config.id });
    }

    pub(crate) fn drained(&mut self, cx: &mut Cx<'_>, ends: Vec<(GroupDatabaseId, Lsn)>) {
        if let Role::Primary { handover: Some(handover) } = &mut self.role {
            handover.ends = Some(ends);
            self.settle(cx);
        }
    }

    /// Hands over once everything appended is agreed, and so in the target's log.
    pub(crate) fn drive_handover(&mut self, cx: &mut Cx<'_>) {
        let Role::Primary { handover: Some(handover) } = &self.role else { return };
        let Some(ends) = &handover.ends else { return };
        let (target, command) = (handover.target, handover.command);
        if handover.distributed {
            return self.drive_yield(cx);
        }
        let forwards = self.config.forwards();
        let complete = ends.iter().all(|(id, end)| {
            self.databases.get(id).is_none_or(|db| {
                let has = |r: ReplicaId| db.followers.get(&r).is_some_and(|f| f.positions.hardened >= *end);
                // What a forwarder passes on is agreed elsewhere.
                (forwards || db.agreed >= *end) && target.is_none_or(has)
            })
        });
        if complete && target.is_none_or(|t| self.is_ready_target(t)) {
            self.renounce(cx, target, command);
        }
    }

    /// The point of no return: from here on this replica acknowledges nothing, and the configuration names the successor.
    fn renounce(&mut self, cx: &mut Cx<'_>, target: Option<ReplicaId>, command: Option<CommandId>) {
        let Some(ordinal) = self.my_replica().map(|r| r.ordinal) else { return };
        self.told_to_give_up();
        self.fence(cx, FenceReason::GaveUp);
        for id in self.databases.keys().copied().collect::<Vec<_>>() {
            self.stop_feed(cx, id);
        }
        self.stop_feeding_all(cx);
        let old = self.config.stamp;
        let epoch = match target {
            Some(_) => GroupConfig::next_epoch(old.epoch.max(self.epoch_seen), ordinal),
            None => old.epoch,
        };
        self.config.parent = old.epoch;
        self.config.stamp = Stamp { epoch, version: old.version + 1 };
        self.config.primary = target;
        self.config.failovers_lately = 0;
        let revision = self.touch();
        if let Some(command) = command {
            self.when_durable(revision, Effect::Reply(command, Ok(())));
        }
        self.set_role(cx, Role::Renouncing { revision });
    }

    pub(crate) fn settle_renouncing(&mut self, cx: &mut Cx<'_>, revision: u64) {
        if self.store.durable_revision >= revision {
            let databases = self.databases.keys().copied().collect();
            self.set_role(cx, Role::Demoting);
            cx.push(Action::Demote { group: self.config.id, databases });
        }
    }

    pub(crate) fn expire_handover(&mut self, cx: &mut Cx<'_>) {
        let Role::Primary { handover: Some(handover) } = &self.role else { return };
        if cx.now.saturating_sub(handover.since) < HANDOVER_MAX {
            return;
        }
        match (handover.target, handover.ends.is_some()) {
            // Somebody wants this replica out of the role; what is not agreed stays in doubt.
            (None, true) if !handover.distributed => {
                let command = handover.command;
                self.renounce(cx, None, command);
            }
            _ => self.call_off_handover(cx, CommandError::FailoverTimedOut),
        }
    }

    /// Writes go on here.
    pub(crate) fn call_off_handover(&mut self, cx: &mut Cx<'_>, error: CommandError) {
        let Role::Primary { handover } = &mut self.role else { return };
        let Some(handover) = handover.take() else { return };
        cx.push(Action::Undrain { group: self.config.id });
        match handover.command {
            Some(command) => cx.reply(command, Err(error)),
            None => cx.send(handover.asker, Msg::TakeOverRefused { group: self.config.id, error }),
        }
    }
}
