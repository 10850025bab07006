//! The secondary's side: following the primary, one attempt at a time and per database.
//!
//! ```text
//!   Idle ──Inspect──► Inspecting ──Follow──► Asking ──Start──► Cutting ──► Receiving
//!     ▲                                        │ no answer        (only when its log goes past the common point)
//!     └────────── failure, refusal, silence ◄──┴──────────────────────────────┘
//! ```
//! A copy follows only a primary that is connected, has said it is on line in the epoch known here, and only after that
//! epoch is in the durable record: from then on this instance takes blocks of no older one.
//!
//! # A copy that is made anew
//! What was acknowledged with the old one may be on few others, so two things are waited for, whatever messages are lost:
//! ```text
//!   secondary                                               primary
//!   Parting: keeps what it has ──WantSeed──► counts nothing of it any more, and takes it out of the set
//!   the record does not name it: Seeding ──WantSeed──► no configuration that may be durable names it: Seed
//! ```
//! And none is asked for where one may yet be opened: after a start and after JOIN, until it is, or there is word that there is none.

use crate::action::{Action, LogEvent};
use crate::config::{SeedingMode, Stamp, SuspendReason};
use crate::event::{CommandError, CopyPositions, LogFacts, ReceiveFailure};
use crate::group::{Database, Group, Role};
use crate::ids::{CommandId, GroupDatabaseId, GroupId, InstanceId, SessionId};
use crate::message::{GroupBeat, Msg, RefuseReason};
use crate::node::Cx;
use crate::status::{SeedState, SeedStatus};
use crate::timing::{
    ASK_READY_AFTER, BACKOFF_FIRST, BACKOFF_MAX, GAP_FIRST, GAP_MAX, GAPS_TOLD, RETRY_AFTER, STARVED_AFTER,
    TAKE_OVER_MAX,
};
use keel_base::{Epoch, Lsn};
use std::time::Duration;

/// Stage of the present attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No attempt.
    #[default]
    Idle,
    /// The engine was asked about the log.
    Inspecting(SessionId),
    /// The primary was asked.
    Asking(SessionId, Duration),
    /// The engine cuts the log.
    Cutting { session: SessionId, at: Lsn, agreed: Lsn },
    /// Blocks are taken. The time: when the primary last confirmed it is sending.
    Receiving(SessionId, Duration),
    /// There is no copy that could follow, and the record counts on the one there was: the primary was told so, and asked to take it
    /// out of the set. The time: when that was.
    Parting(Duration),
    /// A copy is being taken. The time: when it last moved.
    Seeding(Duration),
}

/// Where a copy's blocks come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feed {
    pub(crate) stage: Stage,
    /// Not before this time.
    pub(crate) retry_at: Duration,
    /// How often in a row it failed.
    pub(crate) failures: u32,
    /// Where blocks did not follow on the log last, and how often in a row.
    pub(crate) gaps: (Lsn, u32),
    /// How far the log was hardened and redone here when either last moved, and when that was.
    pub(crate) moved: ([Lsn; 2], Duration),
    /// The primary's last refusal.
    pub(crate) refused: Option<RefuseReason>,
    /// A failure that is tried again without an operator.
    pub(crate) trouble: Option<SuspendReason>,
    /// The copy cannot follow and is to be replaced.
    pub(crate) reseed: bool,
    /// Seeding of this copy.
    pub(crate) seeding: Option<SeedStatus>,
}

impl Feed {
    pub(crate) fn session(&self) -> Option<SessionId> {
        match self.stage {
            Stage::Idle | Stage::Parting(_) | Stage::Seeding(_) => None,
            Stage::Inspecting(s) | Stage::Asking(s, _) | Stage::Receiving(s, _) => Some(s),
            Stage::Cutting { session, .. } => Some(session),
        }
    }

    pub(crate) fn receiving_session(&self) -> Option<SessionId> {
        match self.stage {
            Stage::Receiving(session, _) => Some(session),
            _ => None,
        }
    }

    /// Whether blocks have been lost, as it seems: with the log hardened and redone as far as `at`, no more comes of what is agreed on
    /// up to `wanted`, and nothing is redone. (All that is hardened may not be: the end of an append may be among what is missing.)
    fn is_starved(&mut self, at: [Lsn; 2], wanted: Lsn, now: Duration) -> bool {
        if self.moved.0 != at || wanted <= at[0] {
            self.moved = (at, now);
        }
        now.saturating_sub(self.moved.1) >= STARVED_AFTER
    }

    fn back_off(&mut self, now: Duration) {
        let pause = BACKOFF_FIRST * 2u32.saturating_pow(self.failures.min(10));
        self.failures += 1;
        self.retry_at = now + pause.min(BACKOFF_MAX);
    }

    /// The primary could not read its log behind `at`, and may the next time. It is asked again ever more seldom.
    fn capture_failed(&mut self, at: Lsn, now: Duration) {
        self.trouble = Some(SuspendReason::Capture);
        self.failures = self.gap(at, now);
        self.back_off(now);
    }

    /// Blocks did not follow on the log, which is hardened up to `at`. The first time it is asked again at once: a message
    /// was lost. Returns how often that has happened there.
    fn gap(&mut self, at: Lsn, now: Duration) -> u32 {
        let before = if self.gaps.0 == at { self.gaps.1 } else { 0 };
        self.gaps = (at, before.saturating_add(1));
        if before > 0 {
            self.retry_at = now + (GAP_FIRST * 2u32.saturating_pow((before - 1).min(10))).min(GAP_MAX);
        }
        self.gaps.1
    }
}

/// A takeover an operator asked for here.
#[derive(Clone, Debug)]
pub(crate) struct TakeOver {
    pub(crate) command: Option<CommandId>,
    /// FORCE: when the primary does not hand over, take.
    pub(crate) force: bool,
    pub(crate) deadline: Duration,
    /// When the primary was asked last.
    pub(crate) asked_at: Duration,
}

impl Group {
    pub(crate) fn settle_secondary(&mut self, cx: &mut Cx<'_>) {
        if self.config.primary.is_none() || self.config.primary == Some(self.me) {
            self.set_role(cx, Role::Resolving { since: cx.now });
            self.settle(cx);
            return;
        }
        for id in self.members() {
            self.drive_feed(cx, id);
        }
        self.ask_take_over(cx);
    }

    pub(crate) fn positions(&self, db: &Database) -> CopyPositions {
        let hardened = if self.is_forwarder() { db.acknowledged } else { db.hardened };
        CopyPositions { received: db.hardened, hardened, applied: db.applied.min(db.hardened) }
    }

    // ---- the feed ---------------------------------------------------------------------------------------------------

    /// The primary this copy should follow now, if it should.
    fn wanted_feed(&self, cx: &Cx<'_>, database: GroupDatabaseId) -> Option<(InstanceId, GroupId, Stamp)> {
        let feeder = self.feeder(cx)?;
        let keeps = self.my_replica().is_some_and(|r| r.keeps_data());
        let local = self.local.databases.get(&database);
        let free = local.is_none_or(|l| l.suspended.is_none() && !l.left);
        let follows = matches!(self.role, Role::Secondary) || self.is_forwarder();
        (keeps && free && self.promise_is_durable() && follows).then_some(feeder)
    }

    pub(crate) fn drive_feed(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        let Some((primary, group, stamp)) = self.wanted_feed(cx, database) else {
            self.stop_feed(cx, database);
            return;
        };
        // Who joins a contained group takes its system databases with it.
        let may_seed = self.config.is_system_database(database)
            || self.local.may_create_databases && self.seeding_mode() == Some(SeedingMode::Automatic);
        let (role_since, patience) = (self.role_since, self.my_session_timeout());
        // A forwarder is always in the set of its own group; the source sees to it that it does not count on what is replaced.
        let counted = !self.is_forwarder() && self.counts_on(database, self.me);
        let Some(db) = self.databases.get_mut(&database) else { return };
        let comes_yet =
            db.awaited.is_some_and(|since| cx.now.saturating_sub(since.max(role_since)) < patience);
        let wanted = db.agreed.max(db.source_agreed);
        let starved = db.feed.is_starved([db.hardened, db.applied], wanted, cx.now);
        match db.feed.stage {
            Stage::Idle if cx.now < db.feed.retry_at => {}
            Stage::Idle if db.open && !db.feed.reseed => {
                let session = cx.session();
                db.feed.stage = Stage::Inspecting(session);
                cx.push(Action::Inspect { database, session });
            }
            Stage::Idle if !may_seed || comes_yet => {}
            Stage::Idle if counted => {
                db.feed.stage = Stage::Parting(cx.now);
                cx.send(primary, Msg::WantSeed { group, database, stamp });
            }
            Stage::Idle => {
                let attempts = db.feed.seeding.map_or(0, |s| s.attempts) + 1;
                let fresh = SeedStatus { state: SeedState::Pending, done: 0, total: 0, attempts };
                db.feed.seeding = Some(fresh);
                db.feed.stage = Stage::Seeding(cx.now);
                cx.push(Action::ExpectSeed { peer: primary, database });
                cx.send(primary, Msg::WantSeed { group, database, stamp });
            }
            Stage::Parting(_) if !counted => {
                db.feed.stage = Stage::Idle;
                self.drive_feed(cx, database);
            }
            Stage::Parting(since) if cx.now.saturating_sub(since) >= RETRY_AFTER => {
                db.feed.stage = Stage::Parting(cx.now);
                cx.send(primary, Msg::WantSeed { group, database, stamp });
            }
            Stage::Asking(_, since) if cx.now.saturating_sub(since) >= RETRY_AFTER => {
                db.feed.stage = Stage::Idle;
                self.drive_feed(cx, database);
            }
            Stage::Receiving(_, confirmed) if cx.now.saturating_sub(confirmed) >= RETRY_AFTER * 2 => {
                self.stop_feed(cx, database);
            }
            Stage::Receiving(..) if starved => self.stop_feed(cx, database),
            Stage::Seeding(moved) if cx.now.saturating_sub(moved) >= RETRY_AFTER * 2 => {
                db.feed.stage = Stage::Seeding(cx.now);
                cx.send(primary, Msg::WantSeed { group, database, stamp });
            }
            _ => {}
        }
    }

    /// Whether whoever this copy follows makes it.
    fn seeding_mode(&self) -> Option<SeedingMode> {
        match self.config.distributed.as_ref().filter(|_| self.is_forwarder()) {
            Some(d) => d.own().map(|m| m.seeding_mode),
            None => self.my_replica().map(|r| r.options.seeding_mode),
        }
    }

    /// Ends the present attempt, whatever its stage, and tells the primary.
    pub(crate) fn stop_feed(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        let primary = self.feeding_peer();
        let Some(db) = self.databases.get_mut(&database) else { return };
        if db.feed.stage == Stage::Idle {
            return;
        }
        let session = db.feed.session();
        db.feed.stage = Stage::Idle;
        if let Some(seeding) = db.feed.seeding.as_mut().filter(|s| s.state != SeedState::Completed) {
            seeding.state = SeedState::Failed;
        }
        cx.push(Action::StopReceiving { database });
        if let (Some(session), Some(primary)) = (session, primary) {
            cx.send(primary, Msg::Stopped { database, session });
        }
    }

    pub(crate) fn inspected(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        session: SessionId,
        facts: LogFacts,
    ) {
        if self.surveyed(cx, database, session, &facts) {
            return;
        }
        let Some((primary, group, stamp)) = self.feeder(cx) else { return };
        let Some(db) = self.databases.get_mut(&database) else { return };
        if db.feed.stage != Stage::Inspecting(session) {
            return;
        }
        db.set_facts(facts.clone());
        db.feed.stage = Stage::Asking(session, cx.now);
        // What the base tree of a new copy has behind its log is there to come, not to be cut.
        let facts = LogFacts { floor: facts.floor.min(facts.end), ..facts };
        cx.send(primary, Msg::Follow { group, database, stamp, session, facts });
    }

    pub(crate) fn start_from(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        session: SessionId,
        from: Lsn,
        agreed: Lsn,
        later: &[(Epoch, Lsn)],
    ) {
        let Some(db) = self.databases.get_mut(&database) else { return };
        if !matches!(db.feed.stage, Stage::Asking(s, _) if s == session) || from > db.hardened {
            return;
        }
        db.feed.refused = None;
        let whole = from == db.hardened;
        if self.is_forwarder() {
            self.learn_epochs(database, from, later);
            if !whole {
                // Nobody follows a log that is being cut, and of what is to come instead nobody has anything.
                self.stop_counting(cx, database, from);
            }
        }
        let Some(db) = self.databases.get_mut(&database) else { return };
        if whole {
            self.receive(cx, database, session, from, agreed);
            return;
        }
        db.feed.stage = Stage::Cutting { session, at: from, agreed };
        let end = db.hardened;
        cx.log(self.config.id, Some(database), LogEvent::LogCut { at: from, from: end });
        cx.push(Action::CutLog { database, session, at: from });
    }

    pub(crate) fn log_cut(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId, session: SessionId) {
        let Some(db) = self.databases.get_mut(&database) else { return };
        match db.feed.stage {
            Stage::Cutting { session: current, at, agreed } if current == session => {
                db.hardened = at;
                db.agreed = db.agreed.min(at);
                db.apply_to = db.apply_to.min(at);
                db.applied = db.applied.min(at);
                self.receive(cx, database, session, at, agreed);
            }
            _ => {}
        }
    }

    /// Begins to take blocks at the log's end.
    fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        session: SessionId,
        from: Lsn,
        agreed: Lsn,
    ) {
        let epoch = self.config.log_epoch();
        let Some((peer, ..)) = self.feeder(cx) else {
            self.stop_feed(cx, database);
            return;
        };
        let forwards = self.is_forwarder();
        let Some(db) = self.databases.get_mut(&database) else { return };
        match forwards {
            true => db.source_agreed = agreed,
            false => db.agreed = db.agreed.max(agreed),
        }
        db.acknowledged = Lsn::ZERO;
        db.vouched = from;
        db.feed.stage = Stage::Receiving(session, cx.now);
        db.feed.moved.1 = cx.now;
        db.proven = true;
        db.feed.failures = 0;
        db.feed.trouble = None;
        cx.push(Action::Receive { database, peer, session, epoch, from });
        let applied = db.applied.min(from);
        if forwards {
            // Before the first block comes; what is acknowledged is said when the other side listens.
            cx.push(Action::AckUpTo { database, lsn: Lsn::ZERO });
        }
        cx.send(peer, Msg::Ready { database, session, from, applied });
        self.apply(cx, database);
    }

    pub(crate) fn announced(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        session: SessionId,
        agreed: Lsn,
    ) {
        let forwards = self.is_forwarder();
        let Some(db) = self.databases.get_mut(&database) else { return };
        if let Stage::Receiving(current, confirmed) = &mut db.feed.stage
            && *current == session
        {
            *confirmed = cx.now;
            match forwards {
                true => db.source_agreed = db.source_agreed.max(agreed),
                false => db.agreed = db.agreed.max(agreed),
            }
            self.apply(cx, database);
        }
    }

    /// Lets redo go as far as the commit point and the hardened end allow.
    pub(crate) fn apply(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        if self.is_forwarder() {
            return self.agree_forwarded(cx, database);
        }
        let Some(db) = self.databases.get_mut(&database) else { return };
        let limit = db.agreed.min(db.hardened);
        if limit > db.apply_to && db.feed.receiving_session().is_some() {
            db.apply_to = limit;
            cx.push(Action::ApplyUpTo { database, lsn: limit });
        }
    }

    pub(crate) fn applied(&mut self, now: Duration, database: GroupDatabaseId, lsn: Lsn) {
        if let Some(db) = self.databases.get_mut(&database) {
            db.applied = db.applied.max(lsn);
            db.pace.look(now, db.applied, db.apply_to);
        }
    }

    /// What the primary's heartbeat says about the sessions this secondary believes in.
    pub(crate) fn feed_beat(&mut self, cx: &mut Cx<'_>, peer: InstanceId, beat: &GroupBeat) {
        if self.live_primary(cx) != Some(peer) || !beat.primary {
            return;
        }
        for sending in &beat.sending {
            self.announced(cx, sending.database, sending.session, sending.agreed);
        }
    }

    pub(crate) fn refused(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        session: SessionId,
        reason: RefuseReason,
    ) {
        let Some(db) = self.databases.get_mut(&database) else { return };
        if db.feed.session() != Some(session) {
            return;
        }
        db.feed.refused = Some(reason);
        let receiving = db.feed.receiving_session().is_some();
        self.stop_feed(cx, database);
        let consented = self.config.options.cluster_type.is_mirroring()
            && self.local.databases.get(&database).is_some_and(|d| d.consented == self.config.stamp.epoch);
        let Some(db) = self.databases.get_mut(&database) else { return };
        match reason {
            RefuseReason::NotAvailable if receiving => db.feed.capture_failed(db.hardened, cx.now),
            RefuseReason::Suspended | RefuseReason::NotAvailable => db.feed.retry_at = cx.now + RETRY_AFTER,
            // Nothing of its own would be lost by replacing the copy.
            RefuseReason::LogGone => db.feed.reseed = true,
            // The operator has said already that what is only here may go.
            RefuseReason::NoCommonPoint if consented => db.feed.reseed = true,
            RefuseReason::NoCommonPoint => self.suspend(cx, database, SuspendReason::NoCommonPoint),
        }
        self.settle(cx);
    }

    pub(crate) fn receive_failed(
        &mut self,
        cx: &mut Cx<'_>,
        database: GroupDatabaseId,
        session: SessionId,
        failure: ReceiveFailure,
    ) {
        let Some(db) = self.databases.get_mut(&database) else { return };
        if db.feed.session() != Some(session) {
            return;
        }
        self.stop_feed(cx, database);
        let Some(db) = self.databases.get_mut(&database) else { return };
        match failure {
            ReceiveFailure::Gap => {
                let at = db.hardened;
                if db.feed.gap(at, cx.now) == GAPS_TOLD {
                    cx.log(self.config.id, Some(database), LogEvent::Gaps { at, times: GAPS_TOLD });
                }
            }
            ReceiveFailure::WriteFailed => {
                db.feed.trouble = Some(SuspendReason::Apply);
                db.feed.back_off(cx.now);
            }
            ReceiveFailure::Mismatch => self.suspend(cx, database, SuspendReason::Revalidation),
            ReceiveFailure::RedoFailed => self.suspend(cx, database, SuspendReason::Redo),
        }
        self.settle(cx);
    }

    // ---- seeding ----------------------------------------------------------------------------------------------------

    pub(crate) fn seed_progress(
        &mut self,
        cx: &mut Cx<'_>,
        peer: InstanceId,
        database: GroupDatabaseId,
        done: u64,
        total: u64,
    ) {
        let replica = self.follower_replica(peer);
        let primary = self.is_primary() && replica.is_some();
        let Some(db) = self.databases.get_mut(&database) else { return };
        if primary {
            let follower = replica.and_then(|r| db.followers.get_mut(&r));
            if let Some(seeding) = follower.and_then(|f| f.seeding.as_mut()) {
                (seeding.done, seeding.total) = (done, total);
            }
        } else if let Stage::Seeding(moved) = &mut db.feed.stage {
            *moved = cx.now;
            if let Some(seeding) = &mut db.feed.seeding {
                *seeding = SeedStatus { state: SeedState::Seeding, done, total, ..*seeding };
            }
        }
    }

    pub(crate) fn seed_ended(
        &mut self,
        cx: &mut Cx<'_>,
        peer: InstanceId,
        database: GroupDatabaseId,
        completed: bool,
    ) {
        let replica = self.follower_replica(peer);
        let primary = self.is_primary() && replica.is_some();
        let state = if completed { SeedState::Completed } else { SeedState::Failed };
        let Some(db) = self.databases.get_mut(&database) else { return };
        if primary {
            let follower = replica.and_then(|r| db.followers.get_mut(&r));
            if let Some(seeding) = follower.and_then(|f| f.seeding.as_mut()) {
                seeding.state = state;
            }
        } else if matches!(db.feed.stage, Stage::Seeding(_)) {
            db.feed.stage = Stage::Idle;
            if let Some(seeding) = &mut db.feed.seeding {
                seeding.state = state;
            }
            if completed { db.feed.failures = 0 } else { db.feed.back_off(cx.now) }
        }
        self.settle(cx);
    }

    // ---- takeover, asked for here -----------------------------------------------------------------------------------

    /// Asks the primary to hand over, and asks again while it has not answered.
    fn ask_take_over(&mut self, cx: &mut Cx<'_>) {
        let Some(primary) = self.live_primary(cx) else { return };
        let (group, stamp) = (self.config.id, self.config.stamp);
        if let Some(take_over) = &mut self.take_over
            && cx.now >= take_over.asked_at + RETRY_AFTER
        {
            take_over.asked_at = cx.now;
            cx.send(primary, Msg::TakeOver { group, stamp });
        }
    }

    pub(crate) fn begin_take_over(&mut self, cx: &mut Cx<'_>, command: CommandId, force: bool) {
        let Some(primary) = self.live_primary(cx) else { return };
        let redo = self.redo_left(cx, self.me);
        if redo.time > cx.options().redo_slack {
            cx.log(self.config.id, None, LogEvent::MuchToRedo(redo));
        }
        let deadline = cx.now + TAKE_OVER_MAX;
        self.take_over = Some(TakeOver { command: Some(command), force, deadline, asked_at: cx.now });
        cx.send(primary, Msg::TakeOver { group: self.config.id, stamp: self.config.stamp });
    }

    pub(crate) fn take_over_refused(&mut self, cx: &mut Cx<'_>, peer: InstanceId, error: CommandError) {
        if self.config.primary_instance() != Some(peer) {
            return;
        }
        let ready = error == CommandError::NotSynchronized && self.config.is_failover_ready(self.me);
        match &mut self.take_over {
            // A new epoch begins with its members in the set, before the first of them is being sent to: it is asked again.
            Some(take_over) if ready && !take_over.force => {
                take_over.asked_at = (cx.now + ASK_READY_AFTER).saturating_sub(RETRY_AFTER);
            }
            _ => self.end_take_over(cx, error),
        }
    }

    pub(crate) fn expire_take_over(&mut self, cx: &mut Cx<'_>) {
        if self.take_over.as_ref().is_some_and(|t| cx.now >= t.deadline) {
            self.end_take_over(cx, CommandError::FailoverTimedOut);
        }
    }

    /// The primary did not hand over: force it if that was asked for, else report.
    fn end_take_over(&mut self, cx: &mut Cx<'_>, error: CommandError) {
        if self.role.leads() {
            // It was handed over after all; the answer comes with the role.
            return;
        }
        let Some(take_over) = self.take_over.take() else { return };
        match take_over.command {
            Some(command) if take_over.force && !self.lacks_copies() => self.force(cx, command),
            Some(command) => cx.reply(command, Err(error)),
            None => {}
        }
    }
}
