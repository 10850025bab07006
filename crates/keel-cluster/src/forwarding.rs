//! A group as a member of a distributed availability group: what its primary says to the other group's, and what it does when it is
//! the **forwarder**.
//!
//! A forwarder leads its group: it keeps the configuration, the synchronized set and the secondaries. It writes no log of its own.
//! It follows the global primary as any secondary follows a primary (module `secondary`), and is followed as any primary is (module
//! `primary`). Three things are different:
//!
//! * *The epoch of blocks* is the source's, not the group's. A new one is a new epoch of this group as well, whose durable
//!   configuration holds it ([`Distributed::source_epoch`]): so every member has promised it before it takes blocks of it.
//! * *What it acknowledges* to the global primary is what its own synchronized set has hardened, so that a local failover lacks
//!   nothing that the global primary counts on. The commit point here is never beyond that, so that no member has redone what another
//!   one would have to get first.
//! * *To the source* it is one follower under the identity of its group ([`DistributedMember::id`](crate::DistributedMember::id)),
//!   whichever instance it is: it is in the synchronized set when the mode says so, and never a candidate for the role.
//!
//! Roles change by [`Distributed::turn`]. Planned: the source drains, waits until the forwarder has everything, and names nobody; the
//! other side then takes the next turn. Forced: the other side just takes it. A source that meets a greater turn gives way, and all of
//! its copies wait for RESUME, because nobody knows what they have that the new source lacks. A new source leads in an epoch above all
//! that the other side has led in: its logs take no older one.

use crate::action::{Action, FenceReason, LogEvent};
use crate::config::{GroupConfig, GroupDatabase, Stamp};
use crate::databases::Databases;
use crate::distributed::{Distributed, DistributedBeat, MemberEndpoint, Partner, SECOND_SIDE};
use crate::event::{Command, CommandError, LogFacts};
use crate::failover::Claim;
use crate::group::{Database, Effect, Group, Role};
use crate::ids::{CommandId, GroupDatabaseId, InstanceId, ReplicaId, SessionId};
use crate::message::{GroupBeat, Msg, SendingBeat, StandingBeat};
use crate::node::Cx;
use crate::primary::Handover;
use crate::secondary::Stage;
use keel_base::{Epoch, Lsn};
use std::collections::BTreeSet;
use std::time::Duration;

/// Silence of the other group's primary for so long ends the connection, as with the default SESSION_TIMEOUT.
const SILENCE_MAX: Duration = Duration::from_secs(crate::config::SESSION_TIMEOUT_DEFAULT_S as u64);

impl Group {
    /// This replica leads a group that takes its log from another one.
    pub(crate) fn is_forwarder(&self) -> bool {
        self.config.forwards() && matches!(self.role, Role::Primary { .. })
    }

    /// On the source: the other group as a follower, and who it is now if that is known.
    pub(crate) fn guest(&self) -> Option<(ReplicaId, Option<InstanceId>)> {
        let d = self.config.distributed.as_ref().filter(|d| !d.forwards())?;
        Some((d.other()?.id, self.partner.as_ref().map(|p| p.instance)))
    }

    /// The follower that an instance is: a replica, or the forwarder.
    pub(crate) fn follower_replica(&self, peer: InstanceId) -> Option<ReplicaId> {
        if let Some(replica) = self.config.replica_of(peer) {
            return Some(replica.id).filter(|_| replica.keeps_data());
        }
        self.guest().filter(|guest| guest.1 == Some(peer)).map(|guest| guest.0)
    }

    /// The way back.
    pub(crate) fn peer_of(&self, replica: ReplicaId) -> Option<InstanceId> {
        match self.guest() {
            Some((guest, instance)) if guest == replica => instance,
            _ => self.config.instance_of(replica),
        }
    }

    pub(crate) fn is_guest(&self, replica: ReplicaId) -> bool {
        self.guest().is_some_and(|guest| guest.0 == replica)
    }

    /// Of the forwarder: the global primary, when it is connected, leads, and everything agrees on which epoch's blocks are taken.
    fn source(&self, cx: &Cx<'_>) -> Option<&Partner> {
        let d = self.config.distributed.as_ref().filter(|_| self.is_forwarder())?;
        let other = d.other()?.id;
        let partner = self.partner.as_ref().filter(|p| cx.connected(p.instance))?;
        let agreed = d.primary == Some(other) && partner.turn == d.turn;
        (agreed && partner.stamp.epoch == d.source_epoch && d.source_epoch > d.own_epoch).then_some(partner)
    }

    /// Where this copy's blocks come from: the instance, its group and the configuration to name to it.
    pub(crate) fn feeder(&self, cx: &Cx<'_>) -> Option<(InstanceId, crate::ids::GroupId, Stamp)> {
        if self.is_forwarder() {
            return self.source(cx).map(|p| (p.instance, p.group, p.stamp));
        }
        Some((self.live_primary(cx)?, self.config.id, self.store.durable.stamp))
    }

    /// Who is told that this copy does not receive any more.
    pub(crate) fn feeding_peer(&self) -> Option<InstanceId> {
        match self.config.forwards() && self.config.primary == Some(self.me) {
            true => self.partner.as_ref().map(|p| p.instance),
            false => self.config.primary_instance(),
        }
    }

    pub(crate) fn partner_timeout(&self, peer: InstanceId) -> Option<Duration> {
        self.partner.as_ref().filter(|p| p.instance == peer).map(|_| SILENCE_MAX)
    }

    // ---- the forwarder ----------------------------------------------------------------------------------------------

    /// What a follower must have to be in the synchronized set: all that was ever acknowledged, to clients or to the global primary. Of what
    /// was acknowledged before a primary began it knows only that it has all of it. A forwarder whose own copy is new may be followed
    /// before its log has come as far as its base tree; a copy made of it is none to lead with until it has.
    pub(crate) fn least_of_members(&self, db: &Database) -> Lsn {
        match self.config.forwards() {
            false => db.agreed.max(db.epoch_start),
            true if db.feed.receiving_session().is_some() => db.agreed.max(db.vouched).max(db.base),
            true => db.agreed.max(db.hardened).max(db.base),
        }
    }

    /// What a forwarder acknowledges moved, or what the source has agreed on.
    pub(crate) fn agree_forwarded(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        let Some(gate) = self.gate(database) else { return };
        let Some(db) = self.databases.get_mut(&database) else { return };
        let receives = db.feed.receiving_session().is_some();
        if receives && gate > db.acknowledged {
            db.acknowledged = gate;
            db.vouched = db.vouched.max(gate);
            cx.push(Action::AckUpTo { database, lsn: gate });
        }
        db.agreed = db.agreed.max(db.source_agreed.min(gate));
        if receives && db.agreed > db.apply_to {
            db.apply_to = db.agreed;
            cx.push(Action::ApplyUpTo { database, lsn: db.agreed });
        }
    }

    /// A forwarder's databases are the source's: what is new there is new here, what is not there any more goes.
    fn take_databases(&mut self, theirs: &[(GroupDatabaseId, String, u32)]) {
        let mut changed = false;
        for (id, name, log_id) in theirs {
            let taken = |d: &GroupDatabase| d.id == *id || d.name.eq_ignore_ascii_case(name);
            if self.config.databases.iter().any(taken) {
                continue;
            }
            let database = GroupDatabase::new(*id, name.clone(), *log_id);
            let synchronized = BTreeSet::from([self.me]);
            self.config.databases.push(GroupDatabase { synchronized, ..database });
            self.databases.entry(*id).or_default();
            changed = true;
        }
        let gone: Vec<GroupDatabaseId> = self
            .config
            .databases
            .iter()
            .map(|d| d.id)
            .filter(|d| !theirs.iter().any(|t| t.0 == *d))
            .collect();
        if changed || !gone.is_empty() {
            self.config.databases.retain(|d| !gone.contains(&d.id));
            let revision = self.touch_config();
            gone.iter().for_each(|id| {
                self.local.databases.remove(id);
                self.when_durable(revision, Effect::Release(*id, false));
            });
        }
    }

    // ---- beats ------------------------------------------------------------------------------------------------------

    /// What this instance tells one that is not of its group.
    pub(crate) fn distributed_beat(&self, peer: InstanceId) -> Option<Msg> {
        let d = self.config.distributed.as_ref()?;
        if !self.exists()
            || self.store.durable.distributed.is_none()
            || self.config.replica_of(peer).is_some()
        {
            return None;
        }
        let leads = self.is_primary() && self.promise_is_durable();
        let source = leads && !d.forwards();
        let databases = self.config.databases.iter().filter(|_| source);
        let endpoints = self.config.replicas.iter().filter_map(|r| {
            let url = r.options.endpoint_url.clone();
            Some(MemberEndpoint { instance: r.instance?, name: r.server_name.clone(), url })
        });
        Some(Msg::Distributed(Box::new(DistributedBeat {
            distributed: d.id,
            name: d.name.clone(),
            bound: d.bound,
            members: d.members.iter().map(|m| (m.id, m.group.clone())).collect(),
            sender: d.mine,
            turn: d.turn,
            primary: d.primary,
            own_epoch: if d.forwards() { d.own_epoch } else { self.config.stamp.epoch },
            group: self.config.id,
            stamp: self.store.durable.stamp,
            leads,
            endpoints: endpoints.collect(),
            databases: databases.map(|d| (d.id, d.name.clone(), d.log_id)).collect(),
            beat: self.sessions_with(peer, leads),
        })))
    }

    fn sessions_with(&self, peer: InstanceId, leads: bool) -> GroupBeat {
        let partner = self.partner.as_ref().filter(|p| p.instance == peer && leads);
        let stamp = match partner.filter(|_| self.config.forwards()) {
            Some(source) => source.stamp,
            None => self.store.durable.stamp,
        };
        let mut beat = GroupBeat {
            group: self.config.id,
            stamp,
            primary: leads,
            taking: false,
            fitness: crate::event::Fitness::Fit,
            sending: Vec::new(),
            standing: Vec::new(),
            logs: Vec::new(),
        };
        if partner.is_none() {
            return beat;
        }
        let guest = self.guest().map(|guest| guest.0);
        for (&database, db) in &self.databases {
            let follower = guest.and_then(|guest| db.followers.get(&guest));
            if let Some(session) = follower.and_then(|f| f.sending_session()) {
                beat.sending.push(SendingBeat { database, session, agreed: db.agreed });
            }
            if let Some(session) = db.feed.receiving_session().filter(|_| guest.is_none()) {
                let positions = self.positions(db);
                beat.standing.push(StandingBeat { database, session, positions });
            }
        }
        beat
    }

    /// An instance of the other member speaks.
    pub(crate) fn distributed_from(&mut self, cx: &mut Cx<'_>, peer: InstanceId, msg: DistributedBeat) {
        let Some(d) = self.config.distributed.as_ref().filter(|d| d.is_meant(&msg)) else { return };
        let knows_me = d.bound && msg.bound && msg.sender == d.mine;
        if !self.exists() || knows_me || self.config.replica_of(peer).is_some() {
            return;
        }
        if !self.is_primary() || !self.promise_is_durable() {
            // Says who else there is: one of them leads.
            if msg.leads
                && let Some(answer) = self.distributed_beat(peer)
            {
                cx.send(peer, answer);
            }
            return;
        }
        self.bind(&msg);
        let d = self.config.distributed.as_mut().expect("looked at above");
        if d.endpoints != msg.endpoints {
            d.endpoints.clone_from(&msg.endpoints);
            self.touch_config();
        }
        let bound = self.config.distributed.as_ref().is_some_and(|d| d.bound) && msg.bound;
        if bound && msg.leads {
            self.partner_speaks(cx, peer, &msg);
        }
        self.settle(cx);
    }

    /// A group that has joined takes over the identities of the group that the distributed one was created on.
    fn bind(&mut self, msg: &DistributedBeat) {
        let Some(d) = self.config.distributed.as_mut().filter(|d| !d.bound && msg.bound) else { return };
        let own = usize::from(d.side());
        let Some((mine, _)) = msg.members.get(own).filter(|own| own.0 != msg.sender) else { return };
        d.mine = *mine;
        for (member, (id, _)) in d.members.iter_mut().zip(&msg.members) {
            member.id = *id;
        }
        (d.id, d.turn, d.primary, d.bound) = (msg.distributed, msg.turn, msg.primary, true);
        self.touch_config();
    }

    fn partner_speaks(&mut self, cx: &mut Cx<'_>, peer: InstanceId, msg: &DistributedBeat) {
        let before = self.partner.as_ref();
        // Of two that both say they lead, the one with the newer configuration does.
        if before.is_some_and(|b| b.instance != peer && cx.connected(b.instance) && b.stamp > msg.stamp) {
            return;
        }
        if let Some(other) = before.map(|b| b.instance).filter(|b| *b != peer) {
            self.partner_left(cx, other);
        }
        let fresh = Partner { instance: peer, group: msg.group, stamp: msg.stamp, turn: msg.turn };
        let news = self.partner.replace(fresh).is_none_or(|before| before.instance != peer);
        let Some(d) = &self.config.distributed else { return };
        if let Some(other) = d.other().map(|m| m.id).filter(|_| news) {
            cx.log(self.config.id, None, LogEvent::ReplicaConnected(other));
        }
        let Some(d) = &self.config.distributed else { return };
        let (turn, forwards) = (d.turn, d.forwards());
        match (msg.turn > turn, msg.primary) {
            (true, None) if !forwards => self.outbid(msg.turn),
            (true, primary) => return self.follow_turn(cx, msg, primary),
            (false, _) => {}
        }
        if !forwards {
            if msg.own_epoch >= self.config.stamp.epoch && self.is_primary() {
                // Its logs have promised that epoch, and take no blocks of mine.
                return self.lead_above(cx, msg.own_epoch);
            }
            if let Some((guest, _)) = self.guest().filter(|_| msg.turn == turn) {
                self.follower_beat(cx, guest, &msg.beat);
            }
            return;
        }
        self.source_speaks(cx, msg);
    }

    /// The other group's primary speaks to a forwarder: as the source, if both have the same turn.
    fn source_speaks(&mut self, cx: &mut Cx<'_>, msg: &DistributedBeat) {
        let Some(d) = self.config.distributed.as_mut() else { return };
        let from_source =
            msg.turn == d.turn && d.primary == Some(msg.sender) && msg.primary == Some(msg.sender);
        if !from_source {
            return;
        }
        if msg.stamp.epoch > d.source_epoch {
            d.source_epoch = msg.stamp.epoch;
            self.claim_role(cx, Claim::KeepSets);
            return;
        }
        if msg.stamp.epoch == d.source_epoch {
            self.take_databases(&msg.databases);
            for sending in &msg.beat.sending {
                self.announced(cx, sending.database, sending.session, sending.agreed);
            }
        }
    }

    /// The other side gave the role up once, before this side took it by force.
    fn outbid(&mut self, turn: u64) {
        if let Some(d) = self.config.distributed.as_mut() {
            d.turn = d.next_turn(turn);
            self.touch_config();
        }
    }

    /// The other side has seen, or taken, a newer turn.
    fn follow_turn(&mut self, cx: &mut Cx<'_>, msg: &DistributedBeat, primary: Option<ReplicaId>) {
        let was_source = !self.config.forwards();
        let epoch = self.config.stamp.epoch;
        let Some(d) = self.config.distributed.as_mut() else { return };
        d.turn = msg.turn;
        d.primary = primary.filter(|p| *p != d.mine);
        if was_source {
            d.own_epoch = epoch;
        }
        if primary == Some(msg.sender) {
            d.source_epoch = d.source_epoch.max(msg.stamp.epoch);
        }
        if was_source {
            self.fence(cx, FenceReason::NewerEpoch);
            self.call_off_handover(cx, CommandError::NotPrimary);
            let next = GroupConfig::next_epoch(epoch, 0);
            self.await_resume(next);
        }
        self.claim_role(cx, Claim::KeepSets);
        self.consider_suspensions(cx);
    }

    /// Somebody else has become the source without this group's leave: its copies may hold what that one lacks.
    fn await_resume(&mut self, epoch: Epoch) {
        let replicas: Vec<ReplicaId> =
            self.config.replicas.iter().filter(|r| r.keeps_data()).map(|r| r.id).collect();
        for database in &mut self.config.databases {
            database.awaiting_resume = replicas.iter().map(|r| (*r, epoch)).collect();
            database.synchronized.retain(|r| replicas.contains(r));
        }
    }

    /// The other group's primary is gone, or is another one.
    pub(crate) fn partner_left(&mut self, cx: &mut Cx<'_>, peer: InstanceId) {
        if self.partner.as_ref().is_none_or(|p| p.instance != peer) {
            return;
        }
        if let Some((guest, _)) = self.guest() {
            self.follower_disconnected(cx, guest);
        } else if self.is_forwarder() {
            for id in self.databases.keys().copied().collect::<Vec<_>>() {
                self.stop_feed(cx, id);
            }
        }
        self.partner = None;
        let other = self.config.distributed.as_ref().and_then(|d| d.other()).map(|m| m.id);
        if let Some(replica) = other.filter(|_| self.is_primary()) {
            let event = LogEvent::ReplicaDisconnected { replica, timed_out: false };
            cx.log(self.config.id, None, event);
        }
    }

    // ---- commands ---------------------------------------------------------------------------------------------------

    pub(crate) fn distributed_command(&mut self, cx: &mut Cx<'_>, id: CommandId, command: Command) {
        if !self.is_primary() {
            return cx.reply(id, Err(CommandError::NotPrimary));
        }
        match command {
            Command::SetUpDistributed { distributed, .. } => self.set_up_distributed(cx, id, *distributed),
            Command::ModifyDistributed { members, required, .. } => {
                let result = self.modify_distributed(&members, required);
                self.answer(cx, id, result);
            }
            Command::DropDistributed { .. } => self.drop_distributed(cx, id),
            Command::YieldDistributed { .. } => self.yield_distributed(cx, id),
            Command::ForceDistributed { .. } => self.force_distributed(cx, id),
            _ => unreachable!("are not about distributed groups"),
        }
    }

    fn set_up_distributed(&mut self, cx: &mut Cx<'_>, id: CommandId, distributed: Distributed) {
        if self.config.distributed.is_some() {
            return cx.reply(id, Err(CommandError::InDistributed));
        }
        if distributed.forwards() && !self.config.databases.is_empty() {
            return cx.reply(id, Err(CommandError::HasDatabases));
        }
        let second = distributed.side() == 1;
        let sided = |ordinal: u8| if second { ordinal | SECOND_SIDE } else { ordinal & !SECOND_SIDE };
        let apart = self.config.replicas.iter().all(|r| sided(r.ordinal) == r.ordinal);
        for replica in &mut self.config.replicas {
            replica.ordinal = sided(replica.ordinal);
        }
        self.config.ordinal_max = sided(self.config.ordinal_max);
        let forwards = distributed.forwards();
        self.config.distributed = Some(distributed);
        if forwards || !apart {
            // Under the new ordinal, so that no epoch is begun under the old one any more.
            self.promotion_commands.push(id);
            self.call_off_handover(cx, CommandError::Busy);
            self.claim_role(cx, Claim::KeepSets);
        } else {
            self.touch_config();
            self.reply_when_durable(id, Ok(()));
        }
    }

    fn modify_distributed(
        &mut self,
        members: &[crate::distributed::DistributedMember],
        required: u8,
    ) -> Result<(), CommandError> {
        let d = self.config.distributed.as_mut().ok_or(CommandError::NoSuchGroup)?;
        if required > 1 {
            return Err(CommandError::TooManyRequired);
        }
        d.required = required;
        for member in &mut d.members {
            if let Some(wanted) = members.iter().find(|m| m.group.eq_ignore_ascii_case(&member.group)) {
                member.listener_url.clone_from(&wanted.listener_url);
                member.availability_mode = wanted.availability_mode;
                member.seeding_mode = wanted.seeding_mode;
            }
        }
        self.touch_config();
        Ok(())
    }

    fn drop_distributed(&mut self, cx: &mut Cx<'_>, id: CommandId) {
        if let Some(partner) = self.partner.as_ref().map(|p| p.instance) {
            self.partner_left(cx, partner);
        }
        let guest = self.guest().map(|guest| guest.0);
        let Some(d) = self.config.distributed.take() else {
            return cx.reply(id, Err(CommandError::NoSuchGroup));
        };
        let forwarded =
            if d.forwards() { std::mem::take(&mut self.config.databases) } else { Databases::new() };
        for database in &mut self.config.databases {
            database.synchronized.retain(|r| Some(*r) != guest);
        }
        for database in &forwarded {
            self.stop_feeding(cx, database.id, None);
            self.local.databases.remove(&database.id);
        }
        let revision = self.touch_config();
        forwarded.iter().for_each(|d| self.when_durable(revision, Effect::Release(d.id, false)));
        self.when_durable(revision, Effect::Reply(id, Ok(())));
    }

    /// The forwarder has everything that was ever acknowledged, by the record of it.
    fn guest_is_ready(&self) -> bool {
        let Some((guest, Some(_))) = self.guest() else { return false };
        let feeding = |db: &Database| db.followers.get(&guest).is_some_and(|f| f.sending_session().is_some());
        self.config.is_failover_ready(guest)
            && self.store.durable.is_failover_ready(guest)
            && self.members().iter().all(|id| feeding(&self.databases[id]))
    }

    fn yield_distributed(&mut self, cx: &mut Cx<'_>, id: CommandId) {
        match self.role {
            _ if self.config.forwards() => cx.reply(id, Err(CommandError::NotPrimary)),
            Role::Primary { handover: None } if !self.guest_is_ready() => {
                cx.reply(id, Err(CommandError::NotSynchronized));
            }
            Role::Primary { handover: None } => {
                let handover = Handover {
                    asker: cx.me.instance,
                    target: None,
                    command: Some(id),
                    since: cx.now,
                    ends: None,
                    distributed: true,
                };
                self.role = Role::Primary { handover: Some(handover) };
                cx.push(Action::Drain { group: self.config.id });
            }
            _ => cx.reply(id, Err(CommandError::Busy)),
        }
    }

    /// The source has drained: once the forwarder holds everything up to the ends, nobody is the source.
    pub(crate) fn drive_yield(&mut self, cx: &mut Cx<'_>) {
        let Role::Primary { handover: Some(handover) } = &self.role else { return };
        let (Some(ends), command) = (&handover.ends, handover.command) else { return };
        let Some((guest, _)) = self.guest() else { return };
        let complete = ends.iter().all(|(id, end)| {
            self.databases.get(id).is_none_or(|db| {
                let has = db.followers.get(&guest).is_some_and(|f| f.positions.hardened >= *end);
                db.agreed >= *end && has
            })
        });
        if !complete || !self.guest_is_ready() {
            return;
        }
        self.fence(cx, FenceReason::GaveUp);
        self.role = Role::Primary { handover: None };
        let epoch = self.config.stamp.epoch;
        if let Some(d) = self.config.distributed.as_mut() {
            d.turn = d.next_turn(d.turn);
            d.primary = None;
            d.own_epoch = epoch;
        }
        self.promotion_commands.extend(command);
        self.claim_role(cx, Claim::KeepSets);
        for database in &mut self.config.databases {
            database.synchronized.remove(&guest);
        }
    }

    fn force_distributed(&mut self, cx: &mut Cx<'_>, id: CommandId) {
        if !self.config.forwards() {
            return cx.reply(id, Err(CommandError::IsPrimary));
        }
        if self.lacks_copies()
            || self.databases.values().any(|db| matches!(db.feed.stage, Stage::Cutting { .. }))
        {
            return cx.reply(id, Err(CommandError::NotSynchronized));
        }
        let Some(d) = self.config.distributed.as_mut() else { return };
        if !d.bound {
            return cx.reply(id, Err(CommandError::NotAMember));
        }
        if d.primary.is_some() && self.config.databases.is_empty() {
            // It does not know yet what the other side has, and would make that give up all of its databases.
            return cx.reply(id, Err(CommandError::NotSynchronized));
        }
        let seen = d.turn.max(self.partner.as_ref().map_or(0, |p| p.turn));
        d.turn = d.next_turn(seen);
        d.primary = Some(d.mine);
        for database in &mut self.config.databases {
            database.awaiting_resume.clear();
        }
        self.local.databases.values_mut().for_each(|local| local.suspended = None);
        self.call_off_handover(cx, CommandError::Busy);
        self.promotion_commands.push(id);
        self.claim_role(cx, Claim::KeepSets);
        let epoch = self.config.stamp.epoch;
        cx.log(self.config.id, None, LogEvent::Forced { epoch, synchronized: true });
    }

    /// The newest epoch that any log here may hold or have promised.
    pub(crate) fn newest_log_epoch(&self) -> Epoch {
        let tails = self.databases.values().map(|db| db.tail).max().unwrap_or_default();
        let d = self.config.distributed.as_ref();
        tails.max(d.map_or(Epoch(0), |d| d.source_epoch.max(d.own_epoch)))
    }

    /// What this replica took in as a secondary holds epochs that nobody told the machine of; where its followers part from it is
    /// said when they are known.
    pub(crate) fn survey_logs(&mut self, cx: &mut Cx<'_>) {
        for (&database, db) in &mut self.databases {
            db.askers.clear();
            db.survey = db.open.then(|| cx.session());
            if let Some(session) = db.survey {
                cx.push(Action::Inspect { database, session });
            }
        }
    }

    /// The engine's answer to that; false when it is another one.
    pub(crate) fn surveyed(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        session: SessionId,
        facts: &LogFacts,
    ) -> bool {
        let Some(db) = self.databases.get_mut(&database).filter(|db| db.survey == Some(session)) else {
            return false;
        };
        db.survey = None;
        db.history.clone_from(&facts.history);
        for asker in std::mem::take(&mut db.askers) {
            self.follow_from(cx, asker.peer, database, asker.stamp, asker.session, &asker.facts);
        }
        true
    }

    /// The epochs of this log from `from` on, for a forwarder that is to be followed.
    pub(crate) fn epochs_from(&self, database: GroupDatabaseId, from: Lsn) -> Vec<(Epoch, Lsn)> {
        let Some(db) = self.databases.get(&database) else { return Vec::new() };
        let first = db.history.iter().rposition(|h| h.1 <= from).unwrap_or(0);
        db.history.iter().skip(first).map(|h| (h.0, h.1.max(from))).collect()
    }

    /// What the global primary said of the epochs behind the log's end.
    pub(crate) fn learn_epochs(&mut self, database: GroupDatabaseId, from: Lsn, later: &[(Epoch, Lsn)]) {
        let Some(db) = self.databases.get_mut(&database) else { return };
        db.history.retain(|h| h.1 < from);
        for (epoch, lsn) in later {
            if db.history.last().is_none_or(|last| last.0 < *epoch) {
                db.history.push((*epoch, *lsn));
            }
        }
    }
}
