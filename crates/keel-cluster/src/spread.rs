//! How a configuration gets to the other replicas, and what a group does with one that comes from another.

use crate::action::{Action, FenceReason, LogEvent};
use crate::automatic::Says;
use crate::config::{EPOCH_STEP, GroupConfig, GroupDatabase, Replica, Stamp, SuspendReason};
use crate::event::{CommandError, Fitness};
use crate::group::{Database, Effect, Group, Role};
use crate::ids::{CommandId, GroupDatabaseId, InstanceId};
use crate::message::{GroupBeat, LogBeat, Msg, SendingBeat, StandingBeat};
use crate::node::Cx;
use crate::status::FailoverKind;
use crate::timing::RESUME_WITHIN;
use std::time::Duration;

impl Group {
    // ---- spreading the configuration --------------------------------------------------------------------------------

    /// The primary shows a new durable configuration to every connected member that has not got it.
    pub(crate) fn spread(&mut self, cx: &mut Cx<'_>) {
        let durable = &self.store.durable;
        let author = durable.primary == Some(self.me)
            || durable.dropped
            || matches!(self.role, Role::Renouncing { .. } | Role::Primary { .. });
        if !author {
            return;
        }
        for replica in &durable.replicas {
            let Some(peer) = replica.instance.filter(|i| *i != cx.me.instance) else { continue };
            if self.shown.get(&replica.id).is_none_or(|shown| *shown < durable.stamp) && cx.connected(peer) {
                cx.out.push(Action::Send { peer, msg: Msg::Config(Box::new(durable.clone())) });
            }
        }
    }

    /// What a heartbeat says to this peer.
    pub(crate) fn beat_for(&self, peer: InstanceId, now: Duration) -> Option<GroupBeat> {
        if self.local.gone {
            return None;
        }
        let theirs = self.store.durable.replica_of(peer).or(self.config.replica_of(peer))?.id;
        let mut beat = GroupBeat {
            group: self.config.id,
            stamp: self.store.durable.stamp,
            primary: self.is_primary() && self.promise_is_durable(),
            taking: self.is_taking(now),
            fitness: self.fitness.clone(),
            sending: Vec::new(),
            standing: Vec::new(),
            logs: Vec::new(),
        };
        for (&database, db) in &self.databases {
            if db.open && self.clustered() && !self.role.leads() {
                let (epoch, end) = (db.tail, db.hardened);
                let agreed = if db.is_short() { db.reached } else { db.agreed };
                let (applied, redo_rate) = (db.applied, db.pace.rate());
                beat.logs.push(LogBeat { database, epoch, end, agreed, applied, redo_rate });
            }
            if beat.primary
                && let Some(follower) = db.followers.get(&theirs)
                && let Some(session) = follower.sending_session()
            {
                beat.sending.push(SendingBeat { database, session, agreed: db.agreed });
            }
            if self.config.primary == Some(theirs)
                && let Some(session) = db.feed.receiving_session()
            {
                let positions = self.positions(db);
                beat.standing.push(StandingBeat { database, session, positions });
            }
        }
        Some(beat)
    }

    /// This replica is on its way to the role that is its own.
    pub(crate) fn is_taking(&self, now: Duration) -> bool {
        match self.role {
            Role::Promoting { .. } | Role::Renouncing { .. } => true,
            Role::Resolving { .. } => {
                self.config.primary == Some(self.me)
                    && self.fitness == Fitness::Fit
                    && !self.yielding
                    && !self.has_short_log()
                    && now.saturating_sub(self.role_since) < RESUME_WITHIN
            }
            Role::Primary { .. } => !self.promise_is_durable(),
            Role::Demoting | Role::Secondary => false,
        }
    }

    /// A primary offers the group to a replica that has not joined, or has joined and lost it.
    pub(crate) fn invite(&mut self, cx: &mut Cx<'_>, peer: InstanceId, name: &str) {
        if !self.is_primary() || !self.promise_is_durable() {
            return;
        }
        let lost = |r: &Replica| r.instance == Some(peer) && !self.shown.contains_key(&r.id);
        let wanted = |r: &Replica| !r.joined() && r.server_name.eq_ignore_ascii_case(name);
        if self.store.durable.replicas.iter().any(|r| wanted(r) || lost(r)) {
            let msg = Msg::Invite(Box::new(self.store.durable.clone()));
            cx.send(peer, msg);
        }
    }

    pub(crate) fn beat_from(&mut self, cx: &mut Cx<'_>, peer: InstanceId, beat: GroupBeat) {
        if self.local.gone {
            // A mirror has ended the session while its principal could not be told.
            if self.config.options.cluster_type.is_mirroring() && self.config.primary_instance() == Some(peer)
            {
                cx.send(peer, Msg::Drop { group: self.config.id });
            }
            return;
        }
        self.epoch_seen = self.epoch_seen.max(beat.stamp.epoch);
        let mine = self.store.durable.stamp;
        let Some(replica) = self.store.durable.replica_of(peer).map(|r| r.id) else {
            if mine > beat.stamp && self.is_durable() {
                cx.send(peer, Msg::Removed { group: self.config.id, stamp: mine });
            }
            return;
        };
        let before = self.shown.insert(replica, beat.stamp);
        if beat.stamp < mine {
            cx.send(peer, Msg::Config(Box::new(self.store.durable.clone())));
        } else if beat.stamp > mine && before != Some(beat.stamp) {
            // It will answer with what this one lacks.
            cx.out
                .extend(self.beat_for(peer, cx.now).map(|b| Action::Send { peer, msg: Msg::Beat(vec![b]) }));
        }
        if !self.exists() {
            return;
        }
        self.heard.insert(replica);
        self.last_heard.insert(replica, cx.now);
        if self.config.primary_instance() == Some(peer) {
            let fitness = beat.fitness.clone();
            let (epoch, now) = (beat.stamp.epoch, (self.config.stamp.epoch, cx.now));
            let before = self.says.as_ref().filter(|s| s.peer == peer && s.taken_for.0 == now.0);
            let taken_for = before.map_or(now, |s| s.taken_for);
            self.says =
                Some(Says { peer, leads: beat.primary, taking: beat.taking, fitness, epoch, taken_for });
        }
        self.logs.insert(replica, beat.logs.iter().map(|log| (log.database, *log)).collect());
        self.theirs.insert(replica, beat.fitness.clone());
        if beat.primary {
            if self.claim.is_none_or(|(_, epoch)| epoch <= beat.stamp.epoch) {
                self.claim = Some((peer, beat.stamp.epoch));
            }
        } else if self.claim.is_some_and(|(claimant, _)| claimant == peer) {
            self.claim = None;
        }
        self.confirm(replica, beat.stamp);
        self.feed_beat(cx, peer, &beat);
        self.follower_beat(cx, replica, &beat);
        self.settle(cx);
    }

    pub(crate) fn peer_connected(&mut self, cx: &mut Cx<'_>, peer: InstanceId) {
        if let Some(replica) = self.config.replica_of(peer).map(|r| r.id) {
            self.shown.remove(&replica);
            cx.log(self.config.id, None, LogEvent::ReplicaConnected(replica));
        }
    }

    pub(crate) fn peer_disconnected(&mut self, cx: &mut Cx<'_>, peer: InstanceId, timed_out: bool) {
        if self.partner.as_ref().is_some_and(|p| p.instance == peer) {
            self.partner_left(cx, peer);
            self.settle(cx);
        }
        if self.claim.is_some_and(|(claimant, _)| claimant == peer) {
            self.claim = None;
        }
        if self.says.as_ref().is_some_and(|s| s.peer == peer) {
            self.says = None;
        }
        let Some(replica) = self.config.replica_of(peer).map(|r| r.id) else { return };
        self.shown.remove(&replica);
        self.logs.remove(&replica);
        self.theirs.remove(&replica);
        cx.log(self.config.id, None, LogEvent::ReplicaDisconnected { replica, timed_out });
        self.follower_disconnected(cx, replica);
        self.settle(cx);
    }

    // ---- taking over a configuration --------------------------------------------------------------------------------

    pub(crate) fn record_joined(&mut self, cx: &mut Cx<'_>) {
        self.touch();
        self.consider_suspensions(cx);
        self.settle(cx);
    }

    /// JOIN of a group whose record is here already.
    pub(crate) fn rejoin(&mut self, cx: &mut Cx<'_>, command: CommandId) {
        self.come_back(cx);
        self.reply_when_durable(command, Ok(()));
    }

    /// The group is one of this instance's again, if it was dropped here alone.
    pub(crate) fn come_back(&mut self, cx: &mut Cx<'_>) {
        if std::mem::take(&mut self.local.gone) {
            self.touch();
            self.keep_copies(cx.now);
            let settled = self.store.settled.clone();
            if self.clustered() && settled.stamp > self.config.stamp {
                self.adopt(cx, settled);
            }
        }
        self.settle(cx);
    }

    /// The group is here again after it was dropped here alone: what was not let go yet stays, and the other copies are awaited.
    pub(crate) fn keep_copies(&mut self, now: Duration) {
        let (config, local) = (&self.config, &self.local.databases);
        let stays =
            |id| config.database(id).is_some() && !local.get(&id).is_some_and(|database| database.left);
        self.effects.retain(|(_, e)| !matches!(e, Effect::Release(id, _) if stays(*id)));
        for database in &config.databases {
            let awaited = || Database { awaited: Some(now), ..Database::default() };
            self.databases.entry(database.id).or_insert_with(awaited);
        }
    }

    pub(crate) fn config_from(&mut self, cx: &mut Cx<'_>, peer: InstanceId, config: GroupConfig) {
        self.epoch_seen = self.epoch_seen.max(config.stamp.epoch);
        if let Some(replica) = config.replica_of(peer) {
            let shown = self.shown.entry(replica.id).or_default();
            *shown = (*shown).max(config.stamp);
        }
        if self.clustered() && config.options.cluster_type == self.config.options.cluster_type {
            self.store_applied(cx, config);
            return;
        }
        if config.stamp <= self.config.stamp {
            return;
        }
        if config.replica(self.me).is_none_or(|r| r.instance != Some(cx.me.instance)) {
            self.removed(cx, config.stamp);
            return;
        }
        let leading = matches!(self.role, Role::Primary { .. } | Role::Promoting { .. });
        if leading && config.primary == Some(self.me) {
            // Somebody handed the role to this replica in an epoch beside the one it already leads. What it has
            // acknowledged since is in its own synchronized set only, so it keeps its own configuration, above that epoch.
            self.lead_above(cx, config.stamp.epoch);
            return;
        }
        self.adopt(cx, config);
    }

    pub(crate) fn adopt(&mut self, cx: &mut Cx<'_>, config: GroupConfig) {
        // Not an epoch that this replica began and has forgotten with its disk: it would begin it again.
        let ordinal = config.stamp.epoch.0 % EPOCH_STEP;
        let own = config.replica(self.me).is_some_and(|r| u64::from(r.ordinal) == ordinal);
        // Nor, in a cluster, one that was handed over to it in a life before, which its disk may have forgotten: who has not followed since
        // it started takes the role as one that had it, in an epoch above.
        let followed = match self.role {
            Role::Secondary | Role::Demoting => true,
            Role::Resolving { .. } => self.follows || !self.clustered(),
            _ => false,
        };
        let handed_over =
            config.primary == Some(self.me) && config.parent == self.config.stamp.epoch && !own && followed;
        let new_epoch = config.stamp.epoch != self.config.stamp.epoch;
        let new_primary = config.primary != self.config.primary;
        let gone: Vec<GroupDatabase> =
            self.config.databases.iter().filter(|d| config.database(d.id).is_none()).cloned().collect();
        if new_epoch || new_primary || config.dropped {
            self.step_down(cx, FenceReason::NewerEpoch);
        }
        if new_epoch {
            self.says = None;
            self.suspicion = None;
        }
        let primary_before = self.config.primary;
        self.config = config;
        let revision = self.touch();
        self.local.gone &= self.config.dropped;
        for database in gone {
            self.stop_feed(cx, database.id);
            self.local.databases.remove(&database.id);
            self.when_durable(revision, Effect::Release(database.id, false));
        }
        if self.config.dropped {
            for id in self.databases.keys().copied().collect::<Vec<_>>() {
                self.when_durable(revision, Effect::Release(id, false));
            }
            self.set_role(cx, Role::Resolving { since: cx.now });
            return;
        }
        for id in self.config.databases.iter().map(|d| d.id).collect::<Vec<_>>() {
            self.databases.entry(id).or_default();
        }
        // What is in the group (again) is not let go; but for what was told to leave it here.
        let (config, own) = (&self.config, &self.local.databases);
        let stays = |id| config.database(id).is_some() && !own.get(&id).is_some_and(|local| local.left);
        self.effects.retain(|(_, e)| !matches!(e, Effect::Release(id, _) if stays(*id)));
        self.consider_suspensions(cx);
        // What was taken out here meanwhile its last primary still has.
        if handed_over && !self.left_to_others() {
            self.begin_record(cx, primary_before, FailoverKind::Planned);
            self.set_role(cx, Role::Promoting { revision, opening: false });
        }
        self.settle(cx);
    }

    /// A forced failover elsewhere suspends the local copy until RESUME; a RESUME given there lets it go.
    pub(crate) fn consider_suspensions(&mut self, cx: &mut Cx<'_>) {
        for database in self.config.databases.clone() {
            let local = self.local.databases.get(&database.id).cloned().unwrap_or_default();
            let forced = database.awaiting_resume.get(&self.me).copied();
            match forced {
                Some(epoch) if local.consented < epoch && local.suspended.is_none() => {
                    self.suspend(cx, database.id, SuspendReason::Partner);
                    self.give_up_unless_whole(database.id);
                }
                None if local.suspended == Some(SuspendReason::Partner) => {
                    // RESUME was given on the primary.
                    let epoch = self.config.stamp.epoch;
                    let local = self.local_database(database.id);
                    (local.suspended, local.consented) = (None, epoch);
                    self.touch();
                    self.give_up_unless_whole(database.id);
                    cx.log(self.config.id, Some(database.id), LogEvent::Resumed);
                }
                _ => {}
            }
        }
    }

    /// A new copy whose log has not come as far as its base tree when the history parts has rows of the lost one there, which no cut
    /// takes away: it is made anew.
    fn give_up_unless_whole(&mut self, database: GroupDatabaseId) {
        if let Some(db) = self.databases.get_mut(&database)
            && db.open
            && !db.is_whole()
        {
            db.feed.reseed = true;
        }
    }

    /// Suspends data movement into (or, on the primary, out of) the local copy; durable at the end of the step.
    pub(crate) fn suspend(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId, reason: SuspendReason) {
        self.local_database(database).suspended = Some(reason);
        self.touch();
        self.stop_feed(cx, database);
        self.stop_feeding(cx, database, None);
        cx.log(self.config.id, Some(database), LogEvent::Suspended(reason));
    }

    /// This instance is no member any more, as of `stamp`.
    pub(crate) fn removed(&mut self, cx: &mut Cx<'_>, stamp: Stamp) {
        if stamp <= self.config.stamp || self.forgotten {
            return;
        }
        self.step_down(cx, FenceReason::Removed);
        for id in self.databases.keys().copied().collect::<Vec<_>>() {
            cx.push(Action::Release { database: id, writable: false });
        }
        self.databases.clear();
        for command in self.take_commands() {
            cx.reply(command, Err(CommandError::NotAMember));
        }
        cx.push(Action::Forget { group: self.config.id });
        self.forgotten = true;
    }

    /// Leaves whatever role it has: nothing more is acknowledged, nothing sent or taken. What comes next is settled later.
    pub(crate) fn step_down(&mut self, cx: &mut Cx<'_>, reason: FenceReason) {
        if matches!(self.role, Role::Primary { .. } | Role::Promoting { .. }) {
            self.fence(cx, reason);
        }
        if let Role::Primary { handover: Some(handover) } = &self.role {
            let peer = handover.asker;
            let msg = Msg::TakeOverRefused { group: self.config.id, error: CommandError::NotPrimary };
            cx.send(peer, msg);
        }
        self.stop_feeding_all(cx);
        for id in self.databases.keys().copied().collect::<Vec<_>>() {
            self.stop_feed(cx, id);
        }
        for command in std::mem::take(&mut self.promotion_commands) {
            cx.reply(command, Err(CommandError::Failed));
        }
        for (command, _) in std::mem::take(&mut self.awaiting_primary) {
            cx.reply(command, Err(CommandError::NotPrimary));
        }
        let was_demoted = matches!(self.role, Role::Secondary | Role::Demoting);
        if !was_demoted {
            self.set_role(cx, Role::Resolving { since: cx.now });
        }
    }
}
