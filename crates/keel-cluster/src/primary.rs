//! The primary's side: feeding followers, the synchronized set, and the commit gate.
//!
//! # The gate
//! The commit point of a database is the least of: the local hardened end, and what each member of the synchronized set has
//! acknowledged as hardened *in this epoch*. A member counts as long as any configuration that may be durable names it
//! ([`Group::recorded`]): so a secondary is waited for from before its membership can be read anywhere until after
//! its removal is durable, and whoever finds it in the set after this primary is gone finds every acknowledged commit on it.

use crate::action::{Action, LeaveReason, LogEvent};
use crate::config::{SESSION_TIMEOUT_DEFAULT_S, SeedingMode, Stamp};
use crate::event::{CopyPositions, LogFacts, SendFailure};
use crate::group::{Asker, Database, Effect, Group, Role};
use crate::history::common_end;
use crate::ids::{GroupDatabaseId, InstanceId, ReplicaId, SessionId};
use crate::message::{GroupBeat, Msg, RefuseReason};
use crate::node::Cx;
use crate::recovery_queue::send_limit;
use crate::secondary::Stage;
use crate::status::{SeedState, SeedStatus};
use crate::timing::{JOIN_GAP_MAX, JOIN_LAG_BYTES_MAX, RETRY_AFTER};
use keel_base::{Epoch, Lsn};
use std::collections::BTreeSet;
use std::time::Duration;

/// One attempt of a follower, as the primary sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Session {
    /// None.
    #[default]
    None,
    /// `Start` was sent.
    Started(SessionId),
    /// It is ready at `from`, which the local log has not hardened yet.
    Waiting(SessionId, Lsn),
    /// Blocks are being sent.
    Sending(SessionId),
}

/// A secondary's copy, as the primary of this epoch sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follower {
    pub(crate) session: Session,
    /// Where it stands. `hardened` is what it acknowledged in this epoch; nothing before its first `Ready`.
    pub(crate) positions: CopyPositions,
    /// Blocks that begin before this may be sent to it.
    pub(crate) limit: Lsn,
    /// When the session began.
    pub(crate) since: Duration,
    /// When `hardened` last moved, or there was nothing to harden.
    pub(crate) progress_at: Duration,
    /// Commits wait for it though it is not in the set yet, since this time.
    pub(crate) gating: Option<Duration>,
    /// It failed to close the gap; it has to be this far before it is tried again.
    pub(crate) gate_after: Duration,
    /// Sending a copy of the database to it.
    pub(crate) seeding: Option<SeedStatus>,
}

impl Follower {
    fn new(now: Duration) -> Follower {
        Follower { since: now, progress_at: now, ..Follower::default() }
    }

    pub(crate) fn sending_session(&self) -> Option<SessionId> {
        match self.session {
            Session::Sending(session) | Session::Waiting(session, _) => Some(session),
            Session::None | Session::Started(_) => None,
        }
    }
}

/// A planned failover on the primary.
#[derive(Clone, Debug)]
pub(crate) struct Handover {
    pub(crate) asker: InstanceId,
    /// Who shall be primary; `None`: nobody (OFFLINE).
    pub(crate) target: Option<ReplicaId>,
    pub(crate) command: Option<crate::ids::CommandId>,
    pub(crate) since: Duration,
    /// Where each database's log ended when appends had stopped.
    pub(crate) ends: Option<Vec<(GroupDatabaseId, Lsn)>>,
    /// It is the role of a distributed group that is given up, and this replica goes on leading its own.
    pub(crate) distributed: bool,
}

impl Group {
    /// Everything a primary on line does of itself.
    pub(crate) fn settle_primary(&mut self, cx: &mut Cx<'_>) {
        self.forget_strangers(cx);
        for id in self.members() {
            if self.config.forwards() {
                self.drive_feed(cx, id);
            }
            self.drive_followers(cx, id);
            self.agree(cx, id);
            self.slow_writers(cx, id);
        }
        self.drive_handover(cx);
    }

    /// Stops feeding replicas that left the group or keep no data.
    fn forget_strangers(&mut self, cx: &mut Cx<'_>) {
        let guest = self.guest();
        let is_guest = |r: ReplicaId| guest.is_some_and(|guest| guest.0 == r);
        for (id, db) in &mut self.databases {
            let strangers: Vec<ReplicaId> = db
                .followers
                .keys()
                .filter(|r| !is_guest(**r) && !self.config.replica(**r).is_some_and(|r| r.keeps_data()))
                .copied()
                .collect();
            for replica in strangers {
                let follower = db.followers.remove(&replica).expect("listed just now");
                let peer = self.store.durable.instance_of(replica);
                if let (true, Some(peer)) = (follower.session != Session::None, peer) {
                    cx.push(Action::StopSending { peer, database: *id });
                }
            }
        }
    }

    // ---- the commit gate --------------------------------------------------------------------------------------------

    /// Moves the commit point as far as the gate allows.
    pub(crate) fn agree(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        if !self.is_primary() || !self.promise_is_durable() {
            return;
        }
        if self.config.forwards() {
            return self.agree_forwarded(cx, database);
        }
        let Some(limit) = self.gate(database) else { return };
        let Some(db) = self.databases.get_mut(&database) else { return };
        if limit > db.agreed {
            db.agreed = limit;
            let epoch_start = db.epoch_start;
            cx.push(Action::Agree { database, lsn: limit });
            self.record_commit(cx, limit, epoch_start);
        }
    }

    /// How far the commit point may be, or `None` when it may not move at all.
    pub(crate) fn gate(&self, database: GroupDatabaseId) -> Option<Lsn> {
        let db = self.databases.get(&database).filter(|d| d.open && !d.opening)?;
        if self.required_missing(database).is_some() {
            return None;
        }
        Some(self.held_by_others(database, db).min(db.hardened))
    }

    /// How far the others let the commit point be; no limit where nobody is waited for. Asked for at every block: it allocates
    /// nothing.
    fn held_by_others(&self, database: GroupDatabaseId, db: &Database) -> Lsn {
        let acknowledged = |r: ReplicaId| db.followers.get(&r).map_or(Lsn::ZERO, |f| f.positions.hardened);
        let members = self.recorded(database).map(acknowledged);
        let entering = db.followers.values().filter(|f| f.gating.is_some()).map(|f| f.positions.hardened);
        members.chain(entering).fold(Lsn::MAX, Lsn::min)
    }

    /// Whether the commit point stands where others hold it, so that more of the own log hardened moves nothing: not it, and
    /// no session that waits for the own log.
    pub(crate) fn waits_for_others(&self, database: GroupDatabaseId) -> bool {
        let leads = self.is_primary() && !self.config.forwards();
        let Some(db) = self.databases.get(&database).filter(|d| d.open && leads) else {
            return false;
        };
        let waiting = |f: &Follower| matches!(f.session, Session::Waiting(..));
        self.held_by_others(database, db) <= db.agreed && !db.followers.values().any(waiting)
    }

    /// (have, need) when REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT is not met.
    pub(crate) fn required_missing(&self, database: GroupDatabaseId) -> Option<(u8, u8)> {
        let need = self.config.options.required_synchronized_secondaries;
        let guest = self.guest().map(|guest| guest.0);
        let wants_guest = self.config.distributed.as_ref().is_some_and(|d| !d.forwards() && d.required > 0);
        if need == 0 && !wants_guest {
            return None;
        }
        let db = self.databases.get(&database)?;
        let durable = self.store.durable.database(database);
        let now = self.config.database(database);
        let counts = |r: &&ReplicaId| {
            **r != self.me
                && now.is_some_and(|d| d.synchronized.contains(r))
                && db.followers.get(r).is_some_and(|f| f.sending_session().is_some())
        };
        let members = || durable.into_iter().flat_map(|d| &d.synchronized).filter(counts);
        if wants_guest && !members().any(|r| Some(*r) == guest) {
            return Some((0, 1));
        }
        let have = members().filter(|r| Some(**r) != guest).count();
        let have = u8::try_from(have).unwrap_or(u8::MAX);
        (have < need).then_some((have, need))
    }

    /// Members the commit point waits for at this moment.
    pub(crate) fn waited_for(&self, database: GroupDatabaseId) -> Vec<ReplicaId> {
        let Some(db) = self.databases.get(&database) else { return Vec::new() };
        let mut members: BTreeSet<ReplicaId> = self.recorded(database).collect();
        members.extend(db.followers.iter().filter(|(_, f)| f.gating.is_some()).map(|(r, _)| *r));
        members
            .into_iter()
            .filter(|r| db.followers.get(r).map_or(Lsn::ZERO, |f| f.positions.hardened) < db.hardened)
            .collect()
    }

    pub(crate) fn hardened(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId, lsn: Lsn) {
        let primary = self.is_primary();
        let forwards = self.config.forwards();
        let epoch = self.config.log_epoch();
        let Some(db) = self.databases.get_mut(&database).filter(|d| d.open) else { return };
        if lsn <= db.hardened {
            return;
        }
        let idle = db.agreed >= db.hardened;
        db.hardened = lsn;
        if primary && forwards {
            db.tail = epoch;
        } else if primary {
            // It has written what it hardens.
            db.applied = lsn;
        } else {
            if db.feed.receiving_session().is_some() {
                db.tail = epoch;
            }
            self.apply(cx, database);
            return;
        }
        for follower in db.followers.values_mut().filter(|_| idle) {
            follower.progress_at = cx.now;
        }
        self.start_waiting_sessions(cx, database);
        self.agree(cx, database);
        self.drive_handover(cx);
    }

    // ---- the synchronized set ---------------------------------------------------------------------------------------

    /// Lets followers into the synchronized set and takes them out.
    fn drive_followers(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        let guest = self.guest().map(|guest| guest.0);
        for replica in self.config.replicas.iter().map(|r| r.id).chain(guest).collect::<Vec<_>>() {
            if replica != self.me {
                self.drive_follower(cx, database, replica);
            }
        }
    }

    fn drive_follower(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId, replica: ReplicaId) {
        let synchronous = self.both_synchronous(replica);
        let member = self.config.database(database).is_some_and(|d| d.synchronized.contains(&replica));
        let timeout = self.patience_with(cx, replica);
        let lost = self.is_long_lost(cx, replica);
        let role_since = self.role_since;
        let least = self.databases.get(&database).map_or(Lsn::ZERO, |db| self.least_of_members(db));
        let Some(db) = self.databases.get_mut(&database) else { return };
        let hardened = db.hardened;
        let Some(follower) = db.followers.get_mut(&replica) else {
            if member && (!synchronous || lost || cx.now.saturating_sub(role_since) >= timeout) {
                let reason = if synchronous { LeaveReason::Disconnected } else { LeaveReason::Configured };
                self.leave(cx, database, replica, reason);
            }
            return;
        };
        let sending = matches!(follower.session, Session::Sending(_));
        if follower.positions.hardened >= hardened && sending {
            follower.progress_at = cx.now;
        }
        if member {
            let silent = cx.now.saturating_sub(follower.progress_at) >= timeout;
            if !synchronous {
                self.leave(cx, database, replica, LeaveReason::Configured);
            } else if lost {
                follower.gate_after = cx.now + RETRY_AFTER;
                self.leave(cx, database, replica, LeaveReason::Disconnected);
            } else if silent {
                let reason = match sending {
                    true if follower.is_limited() => LeaveReason::Behind,
                    true => LeaveReason::Stalled,
                    false => LeaveReason::Stopped,
                };
                follower.gate_after = cx.now + RETRY_AFTER;
                self.leave(cx, database, replica, reason);
            }
            return;
        }
        if !sending || !synchronous || lost {
            follower.gating = None;
            return;
        }
        match follower.gating {
            None => {
                let near = follower.positions.hardened.advance(JOIN_LAG_BYTES_MAX) >= hardened;
                if near && cx.now >= follower.gate_after && !follower.is_limited() {
                    follower.gating = Some(cx.now);
                }
            }
            Some(since) if cx.now.saturating_sub(since) >= JOIN_GAP_MAX => {
                follower.gating = None;
                follower.gate_after = cx.now + RETRY_AFTER;
            }
            Some(_) => {}
        }
        if follower.gating.is_some() && follower.positions.hardened >= least {
            self.enter(database, replica);
        }
    }

    /// How long a member may hold commits up; shorter in a cluster, which does not need a person's patience.
    fn patience_with(&self, cx: &Cx<'_>, replica: ReplicaId) -> Duration {
        let session = self.session_timeout_of(replica);
        if self.clustered() && !self.is_guest(replica) { session.min(cx.options().stall) } else { session }
    }

    /// In a cluster: this replica was not heard for so long that commits should not wait for it.
    fn is_long_lost(&self, cx: &Cx<'_>, replica: ReplicaId) -> bool {
        let Some(peer) = self.config.instance_of(replica).filter(|_| self.clustered()) else { return false };
        if cx.hears(peer) {
            return false;
        }
        let since = cx.peers.get(&peer).map_or(self.role_since, |p| p.sign);
        cx.now.saturating_sub(since) >= cx.options().drop_after
    }

    fn session_timeout_of(&self, replica: ReplicaId) -> Duration {
        let own = self.config.replica(replica).map(|r| r.options.session_timeout_s);
        Duration::from_secs(u64::from(own.unwrap_or(SESSION_TIMEOUT_DEFAULT_S)))
    }

    fn enter(&mut self, database: GroupDatabaseId, replica: ReplicaId) {
        let me = self.me;
        let Some(config) = self.config.database_mut(database) else { return };
        config.synchronized.insert(replica);
        config.synchronized.insert(me);
        let revision = self.touch_config();
        self.when_durable(revision, Effect::Log(Some(database), LogEvent::Synchronized(replica)));
        // It stays waited for: from now on because the configuration in memory names it.
        if let Some(f) = self.databases.get_mut(&database).and_then(|d| d.followers.get_mut(&replica)) {
            f.gating = None;
        }
    }

    /// Takes a replica out of the synchronized set. Commits go on waiting for it until that is durable.
    pub(crate) fn leave(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        replica: ReplicaId,
        reason: LeaveReason,
    ) {
        if let Some(f) = self.databases.get_mut(&database).and_then(|d| d.followers.get_mut(&replica)) {
            f.gating = None;
            f.progress_at = cx.now;
        }
        let unconfirmed = self.config.to_confirm.contains(&replica);
        let Some(config) = self.config.database_mut(database) else { return };
        if !self.role.leads() || unconfirmed || !config.synchronized.remove(&replica) {
            return;
        }
        let revision = self.touch_config();
        let event = LogEvent::NotSynchronized { replica, reason };
        self.when_durable(revision, Effect::Log(Some(database), event));
    }

    // ---- data sessions ----------------------------------------------------------------------------------------------

    pub(crate) fn follow_from(
        &mut self,
        cx: &mut Cx<'_>,
        peer: InstanceId,
        database: GroupDatabaseId,
        stamp: Stamp,
        session: SessionId,
        facts: &LogFacts,
    ) {
        let epoch = self.config.stamp.epoch;
        if !self.is_primary() || stamp.epoch != epoch || !self.promise_is_durable() {
            return;
        }
        let Some(replica) = self.follower_replica(peer) else { return };
        self.confirm(replica, stamp);
        let forwards = self.config.forwards();
        let suspended = self.suspended(database).is_some();
        if self.config.database(database).is_none() {
            return;
        }
        let Some(db) = self.databases.get_mut(&database) else { return };
        if db.survey.is_some() && forwards {
            db.askers.retain(|asker| asker.peer != peer);
            db.askers.push(Asker { peer, stamp, session, facts: facts.clone() });
            return;
        }
        // A forwarder has written nothing itself: a follower may be ahead of it in any epoch, and what it has is compared.
        let current = if forwards { Epoch(0) } else { epoch };
        let from = match follow_point(db, current, suspended, facts) {
            Ok(from) => from,
            Err(reason) => {
                cx.send(peer, Msg::Refuse { database, session, reason });
                if reason == RefuseReason::NoCommonPoint {
                    cx.log(self.config.id, Some(database), LogEvent::NeedsSeeding(replica));
                }
                self.end_session(cx, database, replica, LeaveReason::Stopped);
                return;
            }
        };
        let agreed = db.agreed;
        let counted = if forwards { agreed.max(db.acknowledged) } else { agreed };
        let before = db.followers.entry(replica).or_insert_with(|| Follower::new(cx.now)).session;
        if matches!(before, Session::Sending(_)) {
            cx.push(Action::StopSending { peer, database });
        }
        let follower = db.followers.get_mut(&replica).expect("made just now");
        follower.session = Session::Started(session);
        follower.since = cx.now;
        // It cuts what it has behind that place, which it may have acknowledged to a forwarder that had not hardened it yet itself.
        follower.positions.hardened = follower.positions.hardened.min(from);
        if from < counted {
            // It lacks something acknowledged: it is no target until it has caught up.
            self.leave(cx, database, replica, LeaveReason::Stopped);
        }
        if let Some(config) = self.config.database_mut(database)
            && config.awaiting_resume.remove(&replica).is_some()
        {
            // It asks, so RESUME was given there.
            self.touch_config();
        }
        let later = if self.is_guest(replica) { self.epochs_from(database, from) } else { Vec::new() };
        cx.send(peer, Msg::Start { database, session, from, agreed, later });
    }

    pub(crate) fn ready_from(
        &mut self,
        cx: &mut Cx<'_>,
        peer: InstanceId,
        database: GroupDatabaseId,
        session: SessionId,
        from: Lsn,
        applied: Lsn,
    ) {
        // What the forwarder's own secondaries have of that it acknowledges by itself.
        let guest = self.follower_replica(peer).is_some_and(|replica| self.is_guest(replica));
        let Some(follower) = self.follower(peer, database) else { return };
        if follower.session != Session::Started(session) {
            return;
        }
        follower.session = Session::Waiting(session, from);
        let hardened = if guest { Lsn::ZERO } else { from };
        follower.positions = CopyPositions { received: from, hardened, applied: applied.min(from) };
        follower.since = cx.now;
        follower.progress_at = cx.now;
        self.start_waiting_sessions(cx, database);
        self.settle(cx);
    }

    /// Sending begins once the local log holds everything before the place: a follower may be ahead of it.
    fn start_waiting_sessions(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        let bound = cx.options().recovery_queue_max;
        let guest = self.guest();
        let Some(db) = self.databases.get_mut(&database) else { return };
        let agreed = db.agreed;
        for (replica, follower) in &mut db.followers {
            let guest = guest.filter(|guest| guest.0 == *replica).and_then(|guest| guest.1);
            if let Session::Waiting(session, from) = follower.session
                && from <= db.hardened
                && let Some(peer) = guest.or_else(|| self.config.instance_of(*replica))
            {
                follower.session = Session::Sending(session);
                let limit = send_limit(follower.positions.applied, agreed, bound);
                follower.limit = limit;
                cx.push(Action::StartSending { peer, database, session, from, limit });
            }
        }
    }

    pub(crate) fn acked(
        &mut self,
        cx: &mut Cx<'_>,
        peer: InstanceId,
        database: GroupDatabaseId,
        session: SessionId,
        positions: CopyPositions,
    ) {
        let Some(follower) = self.follower(peer, database) else { return };
        if follower.session != Session::Sending(session) {
            return;
        }
        let known = &mut follower.positions;
        if positions.hardened > known.hardened {
            follower.progress_at = cx.now;
        }
        known.received = known.received.max(positions.received);
        known.hardened = known.hardened.max(positions.hardened);
        known.applied = known.applied.max(positions.applied);
        let Some(replica) = self.follower_replica(peer) else { return };
        self.drive_follower(cx, database, replica);
        self.agree(cx, database);
        if let Some(db) = self.databases.get_mut(&database) {
            db.limit_sending(cx, peer, database, replica);
        }
        self.slow_writers(cx, database);
        self.drive_handover(cx);
    }

    fn follower(&mut self, peer: InstanceId, database: GroupDatabaseId) -> Option<&mut Follower> {
        if !self.is_primary() {
            return None;
        }
        let replica = self.follower_replica(peer)?;
        self.databases.get_mut(&database)?.followers.get_mut(&replica)
    }

    pub(crate) fn stopped_from(
        &mut self,
        cx: &mut Cx<'_>,
        peer: InstanceId,
        database: GroupDatabaseId,
        session: SessionId,
    ) {
        let Some(follower) = self.follower(peer, database) else { return };
        let (Session::Started(current) | Session::Waiting(current, _) | Session::Sending(current)) =
            follower.session
        else {
            return;
        };
        if current == session
            && let Some(replica) = self.follower_replica(peer)
        {
            self.end_session(cx, database, replica, LeaveReason::Stopped);
            self.settle(cx);
        }
    }

    pub(crate) fn send_failed(
        &mut self,
        cx: &mut Cx<'_>,
        peer: InstanceId,
        database: GroupDatabaseId,
        session: SessionId,
        failure: SendFailure,
    ) {
        let Some(follower) = self.follower(peer, database) else { return };
        if follower.sending_session() != Some(session) {
            return;
        }
        let Some(replica) = self.follower_replica(peer) else { return };
        self.end_session(cx, database, replica, LeaveReason::Stopped);
        let reason = match failure {
            SendFailure::LogGone => RefuseReason::LogGone,
            // It would ask for the same place for ever.
            SendFailure::NoBlock => RefuseReason::NoCommonPoint,
            // It may be read the next time; until then there is nothing to be had here.
            SendFailure::ReadFailed => RefuseReason::NotAvailable,
        };
        cx.send(peer, Msg::Refuse { database, session, reason });
        if failure == SendFailure::LogGone {
            cx.log(self.config.id, Some(database), LogEvent::NeedsSeeding(replica));
        }
        self.settle(cx);
    }

    /// A member has shown this configuration's epoch, and so promised to obey none that is older.
    pub(crate) fn confirm(&mut self, replica: ReplicaId, shown: Stamp) {
        let promised = shown.epoch >= self.config.stamp.epoch;
        if promised && self.is_primary() && self.config.to_confirm.remove(&replica) {
            self.touch_config();
        }
    }

    /// Ends a follower's session, if it has one, and takes it out of the set.
    fn end_session(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        replica: ReplicaId,
        reason: LeaveReason,
    ) {
        let peer = self.peer_of(replica);
        let follower = self.databases.get_mut(&database).and_then(|d| d.followers.get_mut(&replica));
        if let (Some(follower), Some(peer)) = (follower, peer)
            && std::mem::take(&mut follower.session) != Session::None
        {
            cx.push(Action::StopSending { peer, database });
        }
        self.leave(cx, database, replica, reason);
    }

    pub(crate) fn follower_disconnected(&mut self, cx: &mut Cx<'_>, replica: ReplicaId) {
        for id in self.databases.keys().copied().collect::<Vec<_>>() {
            let seeding = self
                .databases
                .get_mut(&id)
                .and_then(|d| d.followers.get_mut(&replica))
                .and_then(|f| f.seeding.as_mut());
            if let Some(seeding) = seeding.filter(|s| s.state == SeedState::Seeding) {
                seeding.state = SeedState::Failed;
            }
            self.end_session(cx, id, replica, LeaveReason::Disconnected);
        }
    }

    /// What a secondary's heartbeat says about the sessions the primary believes in.
    pub(crate) fn follower_beat(&mut self, cx: &mut Cx<'_>, replica: ReplicaId, beat: &GroupBeat) {
        if !self.is_primary() || beat.stamp.epoch != self.config.stamp.epoch {
            return;
        }
        let Some(peer) = self.peer_of(replica) else { return };
        for standing in &beat.standing {
            self.acked(cx, peer, standing.database, standing.session, standing.positions);
        }
        let now = cx.now;
        let stands: BTreeSet<(GroupDatabaseId, SessionId)> =
            beat.standing.iter().map(|s| (s.database, s.session)).collect();
        let dead: Vec<GroupDatabaseId> = self
            .databases
            .iter()
            .filter(|(id, db)| {
                db.followers.get(&replica).is_some_and(|f| {
                    f.sending_session().is_some_and(|session| {
                        now.saturating_sub(f.since) >= RETRY_AFTER && !stands.contains(&(**id, session))
                    })
                })
            })
            .map(|(id, _)| *id)
            .collect();
        for id in dead {
            self.end_session(cx, id, replica, LeaveReason::Stopped);
        }
    }

    /// Stops feeding one replica, or all, from one database.
    pub(crate) fn stop_feeding(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        only: Option<ReplicaId>,
    ) {
        let Some(db) = self.databases.get(&database) else { return };
        let followers: Vec<ReplicaId> =
            db.followers.keys().copied().filter(|r| only.is_none_or(|o| o == *r)).collect();
        for replica in followers {
            self.end_session(cx, database, replica, LeaveReason::Stopped);
        }
    }

    /// The log here is another one from `from` on: nobody is fed from it before he has asked again, and what he had acknowledged
    /// behind that place says nothing of this one.
    pub(crate) fn stop_counting(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId, from: Lsn) {
        self.stop_feeding(cx, database, None);
        if let Some(db) = self.databases.get_mut(&database) {
            let positions = db.followers.values_mut().map(|f| &mut f.positions);
            positions.for_each(|p| p.hardened = p.hardened.min(from));
        }
    }

    /// Forgets all followers: the role is gone. The synchronized set stays as recorded.
    pub(crate) fn stop_feeding_all(&mut self, cx: &mut Cx<'_>) {
        let guest = self.partner.as_ref().map(|p| p.instance);
        for (&database, db) in &mut self.databases {
            if !std::mem::take(&mut db.writers_wait).is_zero() {
                cx.push(Action::SlowWriters { database, time: Duration::ZERO });
            }
            for (replica, follower) in std::mem::take(&mut db.followers) {
                let peer = if self.config.replica(replica).is_some() {
                    self.config.instance_of(replica)
                } else {
                    guest
                };
                if let (true, Some(peer)) = (follower.session != Session::None, peer) {
                    cx.push(Action::StopSending { peer, database });
                }
            }
        }
    }

    // ---- seeding ----------------------------------------------------------------------------------------------------

    pub(crate) fn seed_wanted(
        &mut self,
        cx: &mut Cx<'_>,
        peer: InstanceId,
        database: GroupDatabaseId,
        stamp: Stamp,
    ) {
        let follows =
            self.is_primary() && self.promise_is_durable() && stamp.epoch == self.config.stamp.epoch;
        let Some(replica) = self.follower_replica(peer).filter(|_| follows) else { return };
        // What it has acknowledged is gone, or will be.
        let follower = self.databases.get_mut(&database).and_then(|d| d.followers.get_mut(&replica));
        if let Some(follower) = follower {
            follower.positions = CopyPositions::default();
        }
        self.end_session(cx, database, replica, LeaveReason::Stopped);
        let usable = self.config.database(database).is_some()
            && self.suspended(database).is_none()
            && !self.counts_on(database, replica);
        let guest_may = self.guest().is_none_or(|guest| guest.1 != Some(peer))
            || self
                .config
                .distributed
                .as_ref()
                .and_then(|d| d.other())
                .is_some_and(|m| m.seeding_mode == SeedingMode::Automatic);
        let Some(db) =
            self.databases.get_mut(&database).filter(|d| usable && guest_may && d.open && !d.opening)
        else {
            return;
        };
        let follower = db.followers.entry(replica).or_insert_with(|| Follower::new(cx.now));
        let before = follower.seeding;
        if before.is_some_and(|s| s.state == SeedState::Seeding) {
            return;
        }
        let attempts = before.map_or(0, |s| s.attempts) + 1;
        follower.seeding = Some(SeedStatus { state: SeedState::Seeding, done: 0, total: 0, attempts });
        if let Some(config) = self.config.database_mut(database)
            && config.awaiting_resume.remove(&replica).is_some()
        {
            self.touch_config();
        }
        cx.push(Action::Seed { peer, database });
    }
}

/// Where a follower may begin, or why it may not.
fn follow_point(db: &Database, epoch: Epoch, suspended: bool, facts: &LogFacts) -> Result<Lsn, RefuseReason> {
    if suspended {
        return Err(RefuseReason::Suspended);
    }
    let moving = matches!(db.feed.stage, Stage::Cutting { .. } | Stage::Seeding(_));
    if !db.open || db.opening || moving {
        return Err(RefuseReason::NotAvailable);
    }
    // An epoch that begins where the log ends has no block to compare.
    let theirs: Vec<(Epoch, Lsn)> = facts.history.iter().copied().filter(|h| h.1 < facts.end).collect();
    let common = common_end(&db.history, db.hardened, epoch, &theirs, facts.end);
    let first = db.history.first().map_or(db.hardened, |first| first.1);
    if common.is_none() && theirs.is_empty() && first <= facts.end && facts.end <= db.hardened {
        // A copy without a block, made by seeding.
        return if goes_on_here(db, facts) { Ok(facts.end) } else { Err(RefuseReason::NoCommonPoint) };
    }
    let from = common.ok_or_else(|| {
        if facts.end <= first { RefuseReason::LogGone } else { RefuseReason::NoCommonPoint }
    })?;
    if from < facts.floor {
        return Err(RefuseReason::NoCommonPoint);
    }
    Ok(from)
}

/// Whether a copy without a block is one of this history: it was seeded from a log that had, where its own begins, the epoch that this one has
/// there. Where another one begins just there, as after a failover, its rows must not be newer than that.
fn goes_on_here(db: &Database, facts: &LogFacts) -> bool {
    let ours = db.history.iter().rev().find(|(_, begins)| *begins <= facts.end);
    match (ours, facts.history.last()) {
        (Some((ours, begins)), Some((theirs, _))) => {
            ours == theirs || *begins == facts.end && facts.floor <= facts.end
        }
        _ => true,
    }
}

impl Role {
    /// Whether this replica writes the group's configuration.
    pub(crate) fn leads(&self) -> bool {
        matches!(self, Role::Primary { .. } | Role::Promoting { .. })
    }
}
