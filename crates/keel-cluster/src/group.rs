//! [`Group`]: one group on one instance: its configuration and how that becomes durable, its role, and the frame in which
//! the other modules work ([`crate::primary`], [`crate::secondary`], [`crate::failover`], [`crate::command`],
//! [`crate::spread`]).

use crate::action::{Action, FenceReason, LogEvent};
use crate::automatic::{Says, Suspicion};
use crate::config::{
    AvailabilityMode, EPOCH_STEP, GroupConfig, GroupRecord, LocalDatabase, LocalState, Replica, Stamp,
    SuspendReason,
};
use crate::distributed::{Distributed, Partner};
use crate::event::{Command, CommandError, Fitness, LogFacts};
use crate::external::Told;

use crate::ids::{CommandId, GroupDatabaseId, InstanceId, ReplicaId, SessionId};
use crate::message::LogBeat;
use crate::node::Cx;
use crate::primary::{Follower, Handover};
use crate::ranking::RedoPace;
use crate::secondary::{Feed, Stage, TakeOver};
use crate::status::{FailoverRecord, PrimaryPlace, SeedState};
use keel_base::{Epoch, Lsn};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// What this instance is in the group.
#[derive(Debug)]
pub(crate) enum Role {
    /// Nobody in particular: just started, or the group has no primary.
    Resolving {
        /// Since when.
        since: Duration,
    },
    /// On the way to primary: first the configuration that says so becomes durable, then the engine opens the databases.
    Promoting {
        /// Waiting for this revision, then for the engine.
        revision: u64,
        /// The engine was told.
        opening: bool,
    },
    /// Primary and on line.
    Primary {
        /// A planned failover under way.
        handover: Option<Handover>,
    },
    /// The primary gave the role up and waits for that to be durable. It acknowledges nothing.
    Renouncing {
        /// Waiting for this revision.
        revision: u64,
    },
    /// The engine makes the databases a secondary's.
    Demoting,
    /// Secondary.
    Secondary,
}

impl Role {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Role::Resolving { .. } => "RESOLVING_NORMAL",
            Role::Promoting { .. } => "PRIMARY_PENDING",
            Role::Primary { .. } => "PRIMARY_NORMAL",
            Role::Renouncing { .. } => "RESOLVING_PENDING_FAILOVER",
            Role::Demoting => "SECONDARY_PENDING",
            Role::Secondary => "SECONDARY_NORMAL",
        }
    }
}

/// One database of the group on this instance.
#[derive(Debug, Default)]
pub(crate) struct Database {
    /// The local copy is open and its log is known.
    pub(crate) open: bool,
    /// This instance has started, or was told to join it, at this time, and may yet find a copy: no other is asked for.
    pub(crate) awaited: Option<Duration>,
    /// It was open when it was told to leave the group, and is let go when that is durable.
    pub(crate) leaving: bool,
    /// Since this instance opened it, a primary has accepted the log, or it has led with it. Until then the log may have
    /// lost something on its disk, and only a comparison with the other members' tells.
    pub(crate) proven: bool,
    /// The epoch of the log's last block.
    pub(crate) tail: Epoch,
    /// The log's epochs, as of the last promotion or inspection.
    pub(crate) history: Vec<(Epoch, Lsn)>,
    /// Local hardened end.
    pub(crate) hardened: Lsn,
    /// The end of what is in the base tree, when the log was looked at last.
    pub(crate) base: Lsn,
    /// Redone up to.
    pub(crate) applied: Lsn,
    /// How fast, while there is enough to do.
    pub(crate) pace: RedoPace,
    /// The commit point known here.
    pub(crate) agreed: Lsn,
    /// What was agreed and hardened here before this instance opened it.
    pub(crate) reached: Lsn,
    /// On a forwarder: the commit point of the global primary, as it said last.
    pub(crate) source_agreed: Lsn,
    /// On a forwarder: what it has acknowledged to the global primary in this session.
    pub(crate) acknowledged: Lsn,
    /// On a forwarder: how far the global primary may count on this group, as far as this session goes: all of the log it began with,
    /// which this replica or one before it may have acknowledged, and what was acknowledged since.
    pub(crate) vouched: Lsn,
    /// On a new forwarder: the engine was asked for the epochs of the log, some of which came while this replica followed.
    pub(crate) survey: Option<SessionId>,
    /// Who asked to follow before it answered.
    pub(crate) askers: Vec<Asker>,
    /// How far redo was allowed to go (secondaries).
    pub(crate) apply_to: Lsn,
    /// Where this primary's epoch begins.
    pub(crate) epoch_start: Lsn,
    /// The engine was asked to open it for writing and has not answered (a primary's late databases).
    pub(crate) opening: bool,
    /// On a primary: how long writers wait, because a member has much to redo.
    pub(crate) writers_wait: Duration,
    /// On a primary: the others' copies.
    pub(crate) followers: BTreeMap<ReplicaId, Follower>,
    /// On a secondary: where its blocks come from.
    pub(crate) feed: Feed,
}

impl Database {
    pub(crate) fn set_facts(&mut self, facts: LogFacts) {
        self.open = true;
        self.tail = facts.history.last().map_or(Epoch(0), |h| h.0);
        self.history = facts.history;
        self.hardened = facts.end;
        self.agreed = facts.agreed.min(facts.end);
        self.base = facts.floor;
        self.reached = self.reached.max(facts.reached);
        self.apply_to = self.agreed;
    }

    /// It can be led with: a copy that was just made has in its base tree what its log has still to receive, and one that makes room
    /// for another is as good as gone.
    pub(crate) fn is_whole(&self) -> bool {
        self.open && self.hardened >= self.base && !matches!(self.feed.stage, Stage::Seeding(_))
    }

    /// The log lacks what it once held, and no primary has accepted it since.
    pub(crate) fn is_short(&self) -> bool {
        self.open && !self.proven && self.hardened < self.reached
    }
}

/// A copy that wants to follow.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    pub(crate) peer: InstanceId,
    pub(crate) stamp: Stamp,
    pub(crate) session: SessionId,
    pub(crate) facts: LogFacts,
}

/// Something that may happen only when a revision is durable.
#[derive(Debug)]
pub(crate) enum Effect {
    Reply(CommandId, Result<(), CommandError>),
    Log(Option<GroupDatabaseId>, LogEvent),
    Release(GroupDatabaseId, bool),
}

/// A configuration on its way to the disk: only what the commit gate needs of it.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) revision: u64,
    pub(crate) config: GroupConfig,
}

/// How the record becomes durable.
#[derive(Debug)]
pub(crate) struct Store {
    /// Number of the newest record in memory.
    pub(crate) revision: u64,
    /// The newest record in memory has not been handed out.
    dirty: bool,
    /// Handed out and not known to be durable.
    pub(crate) in_flight: VecDeque<InFlight>,
    /// The newest revision that was given to the disk.
    pub(crate) written: u64,
    /// The newest configuration known to be in the cluster's store; without meaning outside a cluster.
    pub(crate) settled: GroupConfig,
    /// Offered to the store and not known to be taken over: its stamp, and when.
    pub(crate) proposed: Option<(Stamp, Duration)>,
    /// The newest configuration known to be durable.
    pub(crate) durable: GroupConfig,
    pub(crate) durable_revision: u64,
    /// The last attempt failed; try again at this time.
    pub(crate) retry_at: Option<Duration>,
}

/// One group on one instance.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) config: GroupConfig,
    pub(crate) local: LocalState,
    pub(crate) me: ReplicaId,
    pub(crate) role: Role,
    pub(crate) store: Store,
    pub(crate) databases: BTreeMap<GroupDatabaseId, Database>,
    /// Configuration each member has shown since it connected.
    pub(crate) shown: BTreeMap<ReplicaId, Stamp>,
    /// Members heard since this instance started.
    pub(crate) heard: BTreeSet<ReplicaId>,
    /// Who said it is primary and on line, and in which epoch, since it connected.
    pub(crate) claim: Option<(InstanceId, Epoch)>,
    /// The highest epoch seen in any message.
    pub(crate) epoch_seen: Epoch,
    /// An operator wants this secondary to take over.
    pub(crate) take_over: Option<TakeOver>,
    /// Commands to be answered when the promotion under way is through.
    pub(crate) promotion_commands: Vec<CommandId>,
    /// Commands that only a primary carries out, given while this instance becomes one.
    pub(crate) awaiting_primary: Vec<(CommandId, Command)>,
    /// Since when (a role change) silence of members counts.
    pub(crate) role_since: Duration,
    /// Members were last heard at.
    pub(crate) last_heard: BTreeMap<ReplicaId, Duration>,
    /// What the primary said last of itself.
    pub(crate) says: Option<Says>,
    /// Where the members' logs end, as they said since they connected.
    pub(crate) logs: BTreeMap<ReplicaId, BTreeMap<GroupDatabaseId, LogBeat>>,
    /// The role is this replica's, but another one's log is longer than its own, which a restart has put in question.
    pub(crate) yielding: bool,
    /// The primary seems lost.
    pub(crate) suspicion: Option<Suspicion>,
    /// The role is not claimed (again) before this time.
    pub(crate) claim_after: Duration,
    /// An operator forces this role: the next claim says so.
    pub(crate) forcing: bool,
    /// The epoch that this replica began by force.
    pub(crate) forced_epoch: Option<Epoch>,
    /// What a cluster manager has said since this instance started.
    pub(crate) told: Told,
    /// Whether this instance should lead.
    pub(crate) fitness: Fitness,
    /// The same of the members, as they said last since they connected.
    pub(crate) theirs: BTreeMap<ReplicaId, Fitness>,
    /// An automatic failover was held back until this time.
    pub(crate) held_back: Option<Duration>,
    /// Where the shell was last told that the primary is.
    place_told: PrimaryPlace,
    /// Failovers to this replica.
    pub(crate) failovers: Vec<FailoverRecord>,
    pub(crate) effects: Vec<(u64, Effect)>,
    pub(crate) forgotten: bool,
    /// The primary of the other member of a distributed group.
    pub(crate) partner: Option<Partner>,
    /// The engine takes blocks in all open databases: nothing has made it stop since it was told to.
    pub(crate) follows: bool,
}

impl Group {
    fn new(config: GroupConfig, me: ReplicaId, local: LocalState, now: Duration) -> Group {
        let databases = config.databases.iter().map(|d| (d.id, Database::default())).collect();
        let store = Store {
            revision: 0,
            dirty: false,
            in_flight: VecDeque::new(),
            written: 0,
            settled: config.clone(),
            proposed: None,
            durable: config.clone(),
            durable_revision: 0,
            retry_at: None,
        };
        let epoch_seen = config.stamp.epoch;
        Group {
            config,
            local,
            me,
            role: Role::Resolving { since: now },
            store,
            databases,
            shown: BTreeMap::new(),
            heard: BTreeSet::new(),
            claim: None,
            epoch_seen,
            take_over: None,
            promotion_commands: Vec::new(),
            awaiting_primary: Vec::new(),
            role_since: now,
            last_heard: BTreeMap::new(),
            says: None,
            logs: BTreeMap::new(),
            yielding: false,
            suspicion: None,
            claim_after: now,
            forcing: false,
            forced_epoch: None,
            told: Told::default(),
            fitness: Fitness::Fit,
            theirs: BTreeMap::new(),
            held_back: None,
            place_told: PrimaryPlace::Unknown,
            failovers: Vec::new(),
            effects: Vec::new(),
            forgotten: false,
            partner: None,
            follows: false,
        }
    }

    /// From the durable record. Whatever it was, it begins resolving.
    pub(crate) fn restart(record: GroupRecord, now: Duration) -> Group {
        let mut group = Group::new(record.config, record.me, record.local, now);
        for database in group.databases.values_mut() {
            database.awaited = Some(now);
        }
        for database in group.local.databases.values_mut() {
            if database.suspended == Some(SuspendReason::User) {
                database.suspended = Some(SuspendReason::Restart);
            }
        }
        group
    }

    /// A group this instance has just become a member of; nothing is durable yet.
    pub(crate) fn joined(config: GroupConfig, me: ReplicaId, now: Duration) -> Group {
        // A mirror that cannot follow any more is made anew without further ado; its principal is the only one who could ask.
        let may_create_databases = config.options.cluster_type.is_mirroring();
        let local = LocalState { may_create_databases, ..LocalState::default() };
        let mut group = Group::new(config, me, local, now);
        group.store.durable.stamp = Stamp::default();
        group.store.durable.primary = None;
        group
    }

    pub(crate) fn create(
        mut config: GroupConfig,
        me: ReplicaId,
        instance: InstanceId,
        log_epoch: Epoch,
        now: Duration,
    ) -> Group {
        config.give_ordinals();
        let mine = config.replica_mut(me).expect("the caller found the replica in this configuration");
        mine.instance = Some(instance);
        let epoch = GroupConfig::next_epoch(log_epoch, mine.ordinal);
        config.stamp = Stamp { epoch, version: 1 };
        config.primary = Some(me);
        for database in &mut config.databases {
            database.synchronized = BTreeSet::from([me]);
            database.awaiting_resume.clear();
        }
        let mut group = Group::joined(config, me, now);
        group.store.settled.stamp = Stamp::default();
        group.local.may_create_databases = true;
        group
    }

    /// It is a group for everybody but the machine itself: neither dropped nor given up.
    pub(crate) fn exists(&self) -> bool {
        !self.local.gone && !self.config.dropped && !self.forgotten
    }

    pub(crate) fn forgotten(&self) -> bool {
        self.forgotten
    }

    pub(crate) fn has_database(&self, database: GroupDatabaseId) -> bool {
        self.databases.contains_key(&database)
    }

    /// The databases of the group; one that was just removed stays in the map until that is durable.
    pub(crate) fn members(&self) -> Vec<GroupDatabaseId> {
        self.databases.keys().copied().filter(|id| self.config.database(*id).is_some()).collect()
    }

    pub(crate) fn my_replica(&self) -> Option<&Replica> {
        self.config.replica(self.me)
    }

    pub(crate) fn is_primary(&self) -> bool {
        matches!(self.role, Role::Primary { .. })
    }

    pub(crate) fn is_opening(&self) -> bool {
        matches!(self.role, Role::Promoting { opening: true, .. })
    }

    /// The primary, if it is connected and has said that it is on line in the epoch known here.
    pub(crate) fn live_primary(&self, cx: &Cx<'_>) -> Option<InstanceId> {
        let (peer, epoch) = self.claim?;
        let right = epoch == self.config.stamp.epoch && self.config.primary_instance() == Some(peer);
        (right && cx.connected(peer)).then_some(peer)
    }

    /// Silence of this peer longer than this ends its connection; `None` when it is no member.
    pub(crate) fn session_timeout(&self, peer: InstanceId) -> Option<Duration> {
        if !self.exists() {
            return None;
        }
        // The secondary's own value counts on both ends of its connection to the primary.
        let Some(theirs) = self.config.replica_of(peer) else { return self.partner_timeout(peer) };
        let replica = if self.config.primary == Some(theirs.id) { self.my_replica()? } else { theirs };
        Some(Duration::from_secs(u64::from(replica.options.session_timeout_s)))
    }

    pub(crate) fn local_database(&mut self, database: GroupDatabaseId) -> &mut LocalDatabase {
        self.local.databases.entry(database).or_default()
    }

    pub(crate) fn suspended(&self, database: GroupDatabaseId) -> Option<SuspendReason> {
        self.local.databases.get(&database).and_then(|d| d.suspended)
    }

    pub(crate) fn set_role(&mut self, cx: &mut Cx<'_>, role: Role) {
        let (from, to) = (self.role.name(), role.name());
        self.role = role;
        self.role_since = cx.now;
        if from != to {
            let epoch = self.config.stamp.epoch;
            cx.log(self.config.id, None, LogEvent::RoleChanged { from, to, epoch });
        }
    }

    // ---- durability -------------------------------------------------------------------------------------------------

    /// The record changed: it will be handed out at the end of this step. Returns its revision.
    pub(crate) fn touch(&mut self) -> u64 {
        if !self.store.dirty {
            self.store.dirty = true;
            self.store.revision += 1;
        }
        self.store.revision
    }

    /// As [`Group::touch`], for a change of the shared configuration by its primary.
    pub(crate) fn touch_config(&mut self) -> u64 {
        if !self.store.dirty || self.config.stamp <= self.newest_handed_out() {
            self.config.stamp.version += 1;
        }
        self.touch()
    }

    fn newest_handed_out(&self) -> Stamp {
        let here = self.store.in_flight.back().map_or(self.store.durable.stamp, |f| f.config.stamp);
        if self.clustered() { here.max(self.store.settled.stamp) } else { here }
    }

    /// Runs `effect` when `revision` is durable.
    pub(crate) fn when_durable(&mut self, revision: u64, effect: Effect) {
        self.effects.push((revision, effect));
    }

    /// The engine acknowledges and takes nothing from here on.
    pub(crate) fn fence(&mut self, cx: &mut Cx<'_>, reason: FenceReason) {
        self.follows = false;
        cx.push(Action::Fence { group: self.config.id, reason });
    }

    /// Answers a command when everything up to now is durable.
    pub(crate) fn reply_when_durable(&mut self, command: CommandId, result: Result<(), CommandError>) {
        let revision = if self.is_durable() { self.touch() } else { self.store.revision };
        self.when_durable(revision, Effect::Reply(command, result));
    }

    pub(crate) fn is_durable(&self) -> bool {
        !self.store.dirty && self.store.durable_revision == self.store.revision
    }

    /// Whether the durable record carries the epoch held in memory: the promise to obey no older one.
    pub(crate) fn promise_is_durable(&self) -> bool {
        self.store.durable.stamp.epoch == self.config.stamp.epoch
    }

    /// Ends a step: hands the record out if it changed.
    pub(crate) fn finish(&mut self, cx: &mut Cx<'_>) {
        let place = if self.exists() { self.primary_place() } else { PrimaryPlace::Unknown };
        if std::mem::replace(&mut self.place_told, place) != place {
            cx.push(Action::PrimaryMoved { group: self.config.id });
        }
        if self.forgotten {
            return;
        }
        if self.store.dirty {
            self.hand_out(cx);
        }
        self.assert_ordered();
    }

    fn hand_out(&mut self, cx: &mut Cx<'_>) {
        self.store.dirty = false;
        let revision = self.store.revision;
        self.store.in_flight.push_back(InFlight { revision, config: self.config.clone() });
        self.write_out(cx);
    }

    /// What was to happen once changes are durable does not, but for what the configuration that counts says without them: a copy that
    /// has no place in it is let go.
    pub(crate) fn clear_effects(&mut self) {
        let clustered = self.clustered();
        let config = if clustered { &self.store.settled } else { &self.config };
        let (gone, local) = (config.dropped || self.local.gone, &self.local.databases);
        let leaves = |id| gone || config.database(id).is_none() || local.get(&id).is_some_and(|d| d.left);
        self.effects.retain(|(_, effect)| matches!(effect, Effect::Release(id, _) if leaves(*id)));
    }

    /// The group was never made: its databases stand alone as before.
    pub(crate) fn forget(&mut self, cx: &mut Cx<'_>) {
        for database in std::mem::take(&mut self.databases).into_keys() {
            cx.push(Action::Release { database, writable: true });
        }
        cx.push(Action::Forget { group: self.config.id });
        self.forgotten = true;
    }

    pub(crate) fn persisted(&mut self, cx: &mut Cx<'_>, revision: u64) {
        while self.store.in_flight.front().is_some_and(|f| f.revision <= revision) {
            let done = self.store.in_flight.pop_front().expect("looked at just now");
            self.store.durable = done.config;
            self.store.durable_revision = done.revision;
        }
        self.store.retry_at = None;
        let (due, rest): (Vec<_>, Vec<_>) =
            self.effects.drain(..).partition(|(r, _)| *r <= self.store.durable_revision);
        self.effects = rest;
        for (_, effect) in due {
            match effect {
                Effect::Reply(command, result) => cx.reply(command, result),
                Effect::Log(database, what) => cx.log(self.config.id, database, what),
                Effect::Release(database, writable) => {
                    if let Some(db) = self.databases.get_mut(&database) {
                        db.leaving = false;
                    }
                    if !self.exists() || self.config.database(database).is_none() {
                        self.databases.remove(&database);
                    }
                    cx.push(Action::Release { database, writable });
                }
            }
        }
        self.spread(cx);
        self.settle(cx);
    }

    pub(crate) fn persist_failed(&mut self, cx: &mut Cx<'_>, revision: u64) {
        if revision <= self.store.durable_revision || revision < self.store.written {
            // A later attempt, which holds all that this one held, decides.
            return;
        }
        self.store.retry_at = Some(cx.now + crate::timing::RETRY_AFTER);
        for command in self.take_commands() {
            cx.reply(command, Err(CommandError::Failed));
        }
        if !self.role.leads() {
            return;
        }
        self.fence(cx, FenceReason::CannotPersist);
        // A forwarder takes blocks itself.
        for id in self.databases.keys().copied().collect::<Vec<_>>() {
            self.stop_feed(cx, id);
        }
        self.stop_feeding_all(cx);
        self.take_back(cx);
        self.set_role(cx, Role::Resolving { since: cx.now });
    }

    /// What could not be made durable is not: whoever asked for it was told so, and it must not take effect later. The
    /// number of an epoch is used up all the same, because the record may be on disk.
    fn take_back(&mut self, cx: &mut Cx<'_>) {
        if self.clustered() {
            self.epoch_seen = self.epoch_seen.max(self.config.stamp.epoch);
            self.config = self.store.settled.clone();
            self.forget_changes();
            if self.config.stamp == Stamp::default() {
                self.forget(cx);
            }
            return;
        }
        let ordinal = self.my_replica().map_or(0, |r| r.ordinal);
        if self.config.stamp.epoch.0 % EPOCH_STEP != u64::from(ordinal) {
            if !self.is_primary() {
                // The role was handed over, and nobody else has it: the attempt goes on.
                self.clear_effects();
                return;
            }
        } else if self.config.parent == Epoch(0) && self.store.durable.stamp == Stamp::default() {
            // The group was never made.
            self.forget(cx);
            return;
        }
        self.epoch_seen = self.epoch_seen.max(self.config.stamp.epoch);
        self.config = self.store.durable.clone();
        self.clear_effects();
        self.touch();
    }

    pub(crate) fn take_commands(&mut self) -> Vec<CommandId> {
        let mut commands = std::mem::take(&mut self.promotion_commands);
        commands.extend(self.take_over.take().and_then(|t| t.command));
        commands.extend(self.awaiting_primary.drain(..).map(|(id, _)| id));
        self.effects.retain(|(_, effect)| match effect {
            Effect::Reply(command, _) => {
                commands.push(*command);
                false
            }
            _ => true,
        });
        commands
    }

    // ---- the frame --------------------------------------------------------------------------------------------------

    /// Tries again to make the record durable; also of a group that does not exist any more, so that this is durable.
    pub(crate) fn retry(&mut self, cx: &mut Cx<'_>) {
        if self.store.retry_at.is_some_and(|at| cx.now >= at) {
            self.store.retry_at = None;
            self.touch();
            self.finish(cx);
        }
    }

    pub(crate) fn tick(&mut self, cx: &mut Cx<'_>) {
        self.expire_take_over(cx);
        self.expire_handover(cx);
        self.tick_clustered(cx);
        self.settle(cx);
    }

    /// Brings everything that follows from the present state about. Called after every change; does nothing twice.
    pub(crate) fn settle(&mut self, cx: &mut Cx<'_>) {
        if !self.exists() {
            return;
        }
        match self.role {
            Role::Resolving { .. } => self.settle_resolving(cx),
            Role::Promoting { revision, opening } => self.settle_promoting(cx, revision, opening),
            Role::Primary { .. } => self.settle_primary(cx),
            Role::Renouncing { revision } => self.settle_renouncing(cx, revision),
            Role::Demoting => {}
            Role::Secondary => self.settle_secondary(cx),
        }
        if !self.role.leads() {
            self.consider_failover(cx);
        }
    }

    pub(crate) fn database_opened(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId, facts: LogFacts) {
        if self.has_left(database) {
            // It was told to leave while it was being opened.
            cx.push(Action::Release { database, writable: false });
            return;
        }
        // A copy that was still being taken must not replace this one later.
        self.stop_feed(cx, database);
        // Whoever followed the copy that was here before may stand in another history: nothing of that counts in this one.
        self.stop_counting(cx, database, Lsn::ZERO);
        let Some(db) = self.databases.get_mut(&database) else { return };
        db.reached = facts.reached;
        // A copy that is opened is redone as far as it knows to be agreed.
        db.applied = facts.agreed.min(facts.end);
        db.pace = RedoPace::default();
        db.set_facts(facts);
        db.awaited = None;
        db.proven = false;
        db.survey = None;
        db.feed = Feed { seeding: db.feed.seeding, ..Feed::default() };
        if let Some(seeding) = db.feed.seeding.as_mut() {
            seeding.state = SeedState::Completed;
        }
        if db.is_short() {
            let what = LogEvent::LogShort { end: db.hardened, reached: db.reached };
            cx.log(self.config.id, Some(database), what);
        }
        match self.role {
            Role::Primary { .. } if !self.config.forwards() => self.open_late_database(cx, database),
            Role::Promoting { .. } if !self.config.forwards() => {}
            // What is being demoted was told without it.
            Role::Secondary | Role::Demoting | Role::Primary { .. } | Role::Promoting { .. } => {
                cx.push(Action::Demote { group: self.config.id, databases: vec![database] });
            }
            _ => {}
        }
        self.settle(cx);
    }

    pub(crate) fn database_closed(&mut self, cx: &mut Cx<'_>, database: GroupDatabaseId) {
        let db = self.databases.get(&database);
        // An old copy that makes room for the one that is being taken does not end that attempt.
        if !db.is_some_and(|db| matches!(db.feed.stage, Stage::Seeding(_))) {
            self.stop_feed(cx, database);
        }
        self.stop_feeding(cx, database, None);
        if let Some(db) = self.databases.get_mut(&database) {
            db.open = false;
            db.opening = false;
            db.leaving = false;
            db.awaited = None;
        }
        self.settle(cx);
    }

    /// The synchronized sets that count for the commit gate: of everything that may be the durable configuration.
    /// Some are named more than once.
    pub(crate) fn recorded(&self, database: GroupDatabaseId) -> impl Iterator<Item = ReplicaId> {
        self.named_in_sets(database).filter(|r| *r != self.me)
    }

    /// Some configuration that may be the durable one, here or in the store, counts on the replica's copy.
    pub(crate) fn counts_on(&self, database: GroupDatabaseId, replica: ReplicaId) -> bool {
        self.named_in_sets(database).any(|r| r == replica)
    }

    fn named_in_sets(&self, database: GroupDatabaseId) -> impl Iterator<Item = ReplicaId> {
        let configs =
            self.store.in_flight.iter().map(|f| &f.config).chain([&self.store.durable, &self.config]);
        let settled = self.clustered().then_some(&self.store.settled);
        configs
            .chain(settled)
            .filter_map(move |c| c.database(database))
            .flat_map(|d| d.synchronized.iter().copied())
    }

    pub(crate) fn both_synchronous(&self, replica: ReplicaId) -> bool {
        if self.is_guest(replica) {
            return self.config.distributed.as_ref().is_some_and(Distributed::is_synchronous);
        }
        let synchronous = |r: Option<&Replica>| {
            r.is_some_and(|r| r.options.availability_mode == AvailabilityMode::Synchronous)
        };
        synchronous(self.my_replica()) && synchronous(self.config.replica(replica))
    }

    /// What must hold between any two steps.
    fn assert_ordered(&self) {
        assert!(
            self.store.durable.stamp <= self.config.stamp,
            "the durable configuration is newer than the known one"
        );
        for db in self.databases.values().filter(|d| d.open) {
            if self.is_primary() && !self.config.forwards() {
                assert!(db.agreed <= db.hardened, "the commit point passed the local hardened end");
            } else {
                assert!(db.apply_to <= db.hardened, "redo was allowed past the hardened end");
            }
        }
    }
}
