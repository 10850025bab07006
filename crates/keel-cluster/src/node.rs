//! [`Node`]: the machine of one instance. It owns the connections' state and the groups, and hands each event to the group
//! it concerns.

use crate::action::{Action, LogEntry, LogEvent};
use crate::cluster::{Cluster, Drained, Proposal, Pulse, Pulsed, Sight};
use crate::config::{AvailabilityMode, ClusterType, GroupConfig, GroupRecord};
use crate::distributed::Distributed;
use crate::event::{Command, CommandError, Event, ExpectedSession, Fitness};
use crate::group::Group;
use crate::ids::{CommandId, GroupDatabaseId, GroupId, InstanceId, SessionId};
use crate::message::Msg;
use crate::status::{ClusterStatus, GroupStatus, PrimaryPlace};
use crate::store::StoreRecord;
use crate::timing::{BEAT_EVERY, ClusterOptions, TICK_EVERY};
use keel_base::Lsn;
use keel_base::env::sim::SplitMix;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Who this instance is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its identity.
    pub instance: InstanceId,
    /// Its server name: what replicas are found by.
    pub server_name: String,
}

/// What is known of another instance.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) last_heard: Duration,
    last_beat: Duration,
    /// When it connected.
    pub(crate) since: Duration,
    /// As `last_heard`, but what this process slept through does not count against the peer.
    pub(crate) sign: Duration,
    /// The last pulse it sent.
    pub(crate) pulsed: Option<Pulsed>,
}

/// What every part of the machine may touch while it handles one event.
pub(crate) struct Cx<'a> {
    pub(crate) now: Duration,
    pub(crate) me: &'a Identity,
    pub(crate) peers: &'a BTreeMap<InstanceId, Peer>,
    pub(crate) cluster: &'a Cluster,
    pub(crate) proposals: &'a mut Vec<Proposal>,
    pub(crate) out: &'a mut Vec<Action>,
    random: &'a mut SplitMix,
}

/// The frame for one group's work; the machine's other parts stay readable.
macro_rules! cx {
    ($node:ident, $out:expr) => {
        Cx {
            now: $node.now,
            me: &$node.me,
            peers: &$node.peers,
            cluster: &$node.cluster,
            proposals: &mut $node.proposals,
            out: $out,
            random: &mut $node.random,
        }
    };
}

/// What this instance sees of the others.
macro_rules! sight {
    ($node:ident) => {
        Sight { me: $node.me.instance, peers: &$node.peers, now: $node.now }
    };
}

mod invitations;

use invitations::Offer;

impl Cx<'_> {
    pub(crate) fn connected(&self, peer: InstanceId) -> bool {
        self.peers.contains_key(&peer)
    }

    /// Hears the peer, and is heard by it.
    pub(crate) fn hears(&self, peer: InstanceId) -> bool {
        self.cluster.hears(self.peers, peer, self.now)
    }

    pub(crate) fn sight(&self) -> Sight<'_> {
        Sight { me: self.me.instance, peers: self.peers, now: self.now }
    }

    pub(crate) fn options(&self) -> &ClusterOptions {
        &self.cluster.options
    }

    pub(crate) fn send(&mut self, peer: InstanceId, msg: Msg) {
        if self.connected(peer) {
            self.out.push(Action::Send { peer, msg });
        }
    }

    pub(crate) fn push(&mut self, action: Action) {
        self.out.push(action);
    }

    pub(crate) fn session(&mut self) -> SessionId {
        SessionId(self.random.next())
    }

    pub(crate) fn reply(&mut self, command: CommandId, result: Result<(), CommandError>) {
        self.out.push(Action::Reply { command, result });
    }

    pub(crate) fn log(&mut self, group: GroupId, database: Option<GroupDatabaseId>, what: LogEvent) {
        self.out.push(Action::Log(LogEntry { group: Some(group), database, what }));
    }
}

struct PendingJoin {
    name: String,
    cluster_type: Option<ClusterType>,
    command: CommandId,
    deadline: Duration,
}

/// All groups of one instance. Events in, actions out; see the crate's chapter.
pub struct Node {
    me: Identity,
    now: Duration,
    random: SplitMix,
    peers: BTreeMap<InstanceId, Peer>,
    groups: BTreeMap<GroupId, Group>,
    /// Groups whose primary wants this instance: the newest offer of each.
    offers: BTreeMap<GroupId, Offer>,
    joins: Vec<PendingJoin>,
    /// Mirroring sessions that this instance is to be the mirror of, as soon as their principal offers them.
    expected: BTreeSet<ExpectedSession>,
    cluster: Cluster,
    /// Configurations that groups want in the store.
    proposals: Vec<Proposal>,
    /// Last tick, to notice when this process slept.
    ticked: Duration,
    /// Whether this instance should lead any group at all.
    fitness: Fitness,
}

impl Node {
    /// A machine at start-up, from the durable records of its groups and of its cluster's store. Everything begins resolving;
    /// `seed` must differ from start to start (session numbers grow from it); `now` is monotonic time.
    pub fn new(
        me: Identity,
        records: Vec<GroupRecord>,
        store: Option<&StoreRecord>,
        seed: u64,
        now: Duration,
    ) -> Node {
        let groups = records.into_iter().map(|r| (r.config.id, Group::restart(r, now))).collect();
        Node {
            me,
            now,
            random: SplitMix(seed),
            peers: BTreeMap::new(),
            groups,
            offers: BTreeMap::new(),
            joins: Vec::new(),
            expected: BTreeSet::new(),
            cluster: Cluster::new(store, ClusterOptions::default(), now),
            proposals: Vec::new(),
            ticked: now,
            fitness: Fitness::Fit,
        }
    }

    /// Sets the time-outs; before the first step.
    #[must_use]
    pub fn with_options(mut self, options: ClusterOptions) -> Node {
        self.cluster.options = options;
        self
    }

    /// Who this is.
    pub fn identity(&self) -> &Identity {
        &self.me
    }

    /// Handles one event at time `now` (never earlier than in the call before).
    pub fn step(&mut self, now: Duration, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        self.now = self.now.max(now);
        self.handle(event, &mut out);
        self.pump(&mut out);
        out
    }

    /// Lets time pass: heartbeats, time-outs, retries. To be called every [`TICK_EVERY`](crate::TICK_EVERY) or so.
    pub fn tick(&mut self, now: Duration) -> Vec<Action> {
        let mut out = Vec::new();
        self.now = self.now.max(now);
        self.wake();
        self.expire_peers(&mut out);
        self.expire_joins(&mut out);
        self.cluster.tick(&sight!(self), &mut out);
        for group in self.groups.values_mut() {
            group.retry(&mut cx!(self, &mut out));
            group.tick_being_dropped(&mut cx!(self, &mut out));
        }
        self.each_group(&mut out, |group, cx| group.tick(cx));
        self.beat(&mut out);
        self.cluster.pulse(&sight!(self), &mut out);
        self.pump(&mut out);
        out
    }

    /// This process may have slept: what the others said meanwhile is still to be read.
    fn wake(&mut self) {
        let slept = self.now.saturating_sub(self.ticked);
        self.ticked = self.now;
        if slept > TICK_EVERY * 3 {
            self.peers.values_mut().for_each(|p| p.sign = (p.sign + slept).min(self.now));
        }
    }

    /// The cluster this instance belongs to.
    pub fn cluster_status(&self) -> Option<ClusterStatus> {
        self.cluster.status(&self.me, &self.peers, self.now)
    }

    /// Names and endpoints of the cluster's other members: to connect to, beside the groups' replicas.
    pub fn cluster_members(&self) -> impl Iterator<Item = &crate::store::StoreMember> {
        let me = self.me.instance;
        self.cluster.contents().into_iter().flat_map(|c| c.members.values()).filter(move |m| m.instance != me)
    }

    /// Generation, position and digest of the last decision applied here: where the first two are equal, so is the third.
    pub fn store_position(&self) -> Option<(u64, u64, u64)> {
        let store = self.cluster.store.as_ref()?;
        Some((store.generation, store.applied(), store.contents.as_ref()?.digest))
    }

    /// The configuration of each group as the cluster has agreed on it, as far as it is known here.
    pub fn agreed_configs(&self) -> impl Iterator<Item = &GroupConfig> {
        self.cluster.contents().into_iter().flat_map(|c| c.groups.values())
    }

    /// The same with what this member has of the store's log beyond that: it may be agreed already without anybody knowing,
    /// or still be.
    pub fn foreseen_configs(&self) -> Vec<GroupConfig> {
        let foreseen = self.cluster.store.as_ref().and_then(|store| store.everything());
        foreseen.map_or_else(Vec::new, |contents| contents.groups.into_values().collect())
    }

    /// A change of who has a vote is in this member's log of the store and not known to be agreed: it still may be.
    pub fn votes_are_undecided(&self) -> bool {
        self.cluster.store.as_ref().is_some_and(|store| store.votes_are_undecided())
    }

    /// Lets the store work until nothing moves any more, and hands the groups what was agreed.
    fn pump(&mut self, out: &mut Vec<Action>) {
        loop {
            for proposal in std::mem::take(&mut self.proposals) {
                if let Some(store) = &mut self.cluster.store {
                    store.propose(&proposal.change);
                }
            }
            let Drained { groups, leader, busy } = self.cluster.drain(&sight!(self), out);
            for group in groups {
                self.store_applied(group, out);
                self.refuse_second_of_name(out);
            }
            if leader {
                self.each_group(out, |group, cx| group.propose_again(cx));
            }
            if !busy && self.proposals.is_empty() {
                return;
            }
        }
    }

    /// The stored configuration of a group changed.
    fn store_applied(&mut self, group: GroupId, out: &mut Vec<Action>) {
        let Some(config) = self.cluster.contents().and_then(|c| c.groups.get(&group)).cloned() else {
            return;
        };
        if self.groups.contains_key(&group) {
            self.for_group(group, out, |g, cx| g.store_applied(cx, config));
            self.groups.retain(|_, g| !g.forgotten());
            return;
        }
        let Some(mine) = config.replica_of(self.me.instance).map(|r| r.id).filter(|_| !config.dropped) else {
            return;
        };
        self.groups.insert(group, Group::joined(config, mine, self.now));
        self.for_group(group, out, |g, cx| g.record_joined(cx));
        self.offers.remove(&group);
        self.answer_joins(group, out);
    }

    /// The groups, with everything the views show.
    pub fn status(&self) -> Vec<GroupStatus> {
        let connected = |i: InstanceId| self.peers.contains_key(&i);
        let options = &self.cluster.options;
        self.groups.values().filter(|g| g.exists()).map(|g| g.status(&connected, options, self.now)).collect()
    }

    /// The newest configurations of the groups there are: names and endpoints to connect to.
    pub fn configs(&self) -> impl Iterator<Item = &GroupConfig> {
        self.groups.values().filter(|g| g.exists()).map(|g| &g.config)
    }

    /// Whether a group's database was taken out of it on this instance ([`Command::LeaveDatabase`]): a copy that is here is not for the
    /// group until [`Command::JoinDatabase`].
    pub fn has_left(&self, group: GroupId, database: GroupDatabaseId) -> bool {
        self.groups.get(&group).is_some_and(|group| group.has_left(database))
    }

    /// The groups there are, with the place of each one's primary: for whoever asks many times a second.
    pub fn primaries(&self) -> impl Iterator<Item = (&GroupConfig, PrimaryPlace)> {
        self.groups.values().filter(|g| g.exists()).map(|g| (&g.config, g.primary_place()))
    }

    /// Whether a majority of the votes was heard so lately (half of [`ClusterOptions::silence`] before `now`) that nobody can have taken the
    /// place of a primary here for want of news.
    pub fn leads_for_certain(&self, now: Duration) -> bool {
        self.cluster.leads_for_certain(now)
    }

    /// Whether [`Event::Hardened`] for this database, which this instance leads, may wait until something else happens: others hold
    /// the commit point where it is, so news of the own log does not move it. Holds until the next step.
    pub fn waits_for_others(&self, database: GroupDatabaseId) -> bool {
        let mut groups = self.groups.values().filter(|g| g.exists() && g.has_database(database));
        groups.next().is_some_and(|g| g.waits_for_others(database))
    }

    /// For a primary whose own flush of this database's log, up to `end`, goes on: whether every replica that could take over has
    /// hardened all of it, so that a failover would help. False when automatic failovers are being held back.
    pub fn is_outrun(&self, database: GroupDatabaseId, end: Lsn) -> bool {
        let mut groups = self.groups.values().filter(|g| g.exists() && g.has_database(database));
        groups.any(|g| g.is_outrun(&sight!(self), &self.cluster, database, end))
    }

    /// The forwarders of distributed groups whose source leads here: who, in which mode, and the group.
    pub fn forwarders(&self) -> impl Iterator<Item = (InstanceId, AvailabilityMode, &GroupConfig)> {
        self.groups.values().filter(|g| g.exists() && g.is_primary()).filter_map(|g| {
            let mode = match g.config.distributed.as_ref()?.is_synchronous() {
                true => AvailabilityMode::Synchronous,
                false => AvailabilityMode::Asynchronous,
            };
            Some((g.guest()?.1?, mode, &g.config))
        })
    }

    /// Distributed groups of groups that are led here and whose other member's primary is not connected: to be looked for.
    pub fn partners_wanted(&self) -> impl Iterator<Item = &Distributed> {
        let alone = self.groups.values().filter(|g| g.exists() && g.is_primary() && g.partner.is_none());
        alone.filter_map(|g| g.config.distributed.as_ref())
    }

    /// The group of this name that was dropped here alone, because the cluster could not be reached: DROP can be given again.
    pub fn dropped_here(&self, name: &str) -> Option<GroupId> {
        let mut gone = self.groups.values().filter(|g| g.is_gone_here_alone());
        gone.find(|g| g.config.name.eq_ignore_ascii_case(name)).map(|g| g.config.id)
    }

    /// Names of groups this instance has been invited to and not joined.
    pub fn invitations(&self) -> impl Iterator<Item = &str> {
        self.offers.values().map(|offer| offer.config.name.as_str())
    }

    fn handle(&mut self, event: Event, out: &mut Vec<Action>) {
        match event {
            Event::Connected { peer, name } => self.connected(peer, name, out),
            Event::Disconnected { peer } => self.disconnected(peer, false, out),
            Event::Heard { peer } => self.heard(peer),
            Event::Message { peer, msg } => {
                self.heard(peer);
                self.message(peer, msg, out);
            }
            Event::Acked { peer, database, session, positions } => {
                self.heard(peer);
                self.for_database(database, out, |g, cx| {
                    g.acked(cx, peer, database, session, positions);
                });
            }
            Event::Hardened { database, lsn } => {
                self.for_database(database, out, |g, cx| g.hardened(cx, database, lsn));
            }
            Event::Applied { database, lsn } => {
                self.for_database(database, out, |g, cx| g.applied(cx.now, database, lsn));
            }
            Event::Announced { database, session, agreed } => {
                self.for_database(database, out, |g, cx| g.announced(cx, database, session, agreed));
            }
            Event::Redone { group, epoch } => {
                self.for_group(group, out, |g, cx| g.record_redone(cx.now, epoch))
            }
            Event::Promoted { group, epoch, databases } => {
                self.for_group(group, out, |g, cx| g.promoted(cx, epoch, databases));
            }
            Event::Demoted { group } => self.for_group(group, out, |g, cx| g.demoted(cx)),
            Event::Drained { group, ends } => self.for_group(group, out, |g, cx| g.drained(cx, ends)),
            Event::Persisted { group, revision } => {
                self.for_group(group, out, |g, cx| g.persisted(cx, revision));
                self.groups.retain(|_, g| !g.forgotten());
            }
            Event::PersistFailed { group, revision } => {
                self.for_group(group, out, |g, cx| g.persist_failed(cx, revision));
                self.groups.retain(|_, g| !g.forgotten());
            }
            Event::StorePersisted { revision } => self.cluster.persisted(revision),
            Event::StorePersistFailed { revision } => self.cluster.persist_failed(revision, self.now),
            Event::Unhealthy { group, reason } => self.health(group, Fitness::Unfit(reason), out),
            Event::Recovering { group, reason } => self.health(group, Fitness::Recovering(reason), out),
            Event::Healthy { group } => self.health(group, Fitness::Fit, out),
            Event::Expecting(sessions) => self.expected = sessions,
            Event::Command { id, command } => self.command(id, command, out),
            Event::DatabaseOpened { database, facts } => {
                self.for_database(database, out, |g, cx| g.database_opened(cx, database, facts));
            }
            Event::DatabaseClosed { database } => {
                self.for_database(database, out, |g, cx| g.database_closed(cx, database));
            }
            Event::Inspected { database, session, facts } => {
                self.for_database(database, out, |g, cx| g.inspected(cx, database, session, facts));
            }
            Event::LogCut { database, session } => {
                self.for_database(database, out, |g, cx| g.log_cut(cx, database, session));
            }
            Event::ReceiveFailed { database, session, failure } => {
                self.for_database(database, out, |g, cx| g.receive_failed(cx, database, session, failure));
            }
            Event::SendFailed { peer, database, session, failure } => {
                self.for_database(database, out, |g, cx| g.send_failed(cx, peer, database, session, failure));
            }
            Event::SeedProgress { peer, database, done, total } => {
                self.for_database(database, out, |g, cx| g.seed_progress(cx, peer, database, done, total));
            }
            Event::SeedEnded { peer, database, completed } => {
                self.for_database(database, out, |g, cx| g.seed_ended(cx, peer, database, completed));
            }
        }
    }

    fn heard(&mut self, peer: InstanceId) {
        let now = self.now;
        if let Some(state) = self.peers.get_mut(&peer) {
            state.last_heard = now;
            state.sign = now;
            self.cluster.heard(peer, state, now);
        }
    }

    fn health(&mut self, group: Option<GroupId>, fitness: Fitness, out: &mut Vec<Action>) {
        if group.is_none() {
            self.fitness = fitness.clone();
        }
        let of_all = if fitness == Fitness::Fit { self.fitness.clone() } else { fitness };
        self.each_group(out, |g, cx| {
            if group.is_none_or(|id| id == g.config.id) {
                g.set_fitness(cx, of_all.clone());
            }
        });
    }

    fn connected(&mut self, peer: InstanceId, name: String, out: &mut Vec<Action>) {
        if self.peers.contains_key(&peer) {
            self.disconnected(peer, false, out);
        }
        let now = self.now;
        let state = Peer { name, last_heard: now, last_beat: now, since: now, sign: now, pulsed: None };
        self.peers.insert(peer, state);
        self.each_group(out, |group, cx| group.peer_connected(cx, peer));
        self.cluster.pulse_to(&sight!(self), peer, out);
        self.beat_to(peer, out);
    }

    fn disconnected(&mut self, peer: InstanceId, timed_out: bool, out: &mut Vec<Action>) {
        if self.peers.remove(&peer).is_some() {
            self.cluster.pulse(&sight!(self), out);
            self.cluster.replace_lost_leader(&sight!(self));
            self.each_group(out, |group, cx| group.peer_disconnected(cx, peer, timed_out));
        }
    }

    fn message(&mut self, peer: InstanceId, msg: Msg, out: &mut Vec<Action>) {
        if !self.peers.contains_key(&peer) {
            return;
        }
        match msg {
            Msg::Beat(beats) => {
                for beat in beats {
                    self.takes_back(beat.group, out);
                    self.for_group(beat.group, out, |g, cx| g.beat_from(cx, peer, beat));
                }
            }
            Msg::Invite(config) => self.invited(peer, *config, out),
            Msg::Config(config) => self.config_from(peer, *config, out),
            Msg::Removed { group, stamp } => {
                self.for_group(group, out, |g, cx| g.removed(cx, stamp));
                self.groups.retain(|_, g| !g.forgotten());
            }
            Msg::Join { group, replica } => {
                self.for_group(group, out, |g, cx| g.join_from(cx, peer, replica))
            }
            Msg::Drop { group } => self.for_group(group, out, |g, cx| g.drop_from(cx, peer)),
            Msg::Follow { group, database, stamp, session, facts } => {
                self.for_group(group, out, |g, cx| g.follow_from(cx, peer, database, stamp, session, &facts));
            }
            Msg::Start { database, session, from, agreed, later } => {
                self.for_database(database, out, |g, cx| {
                    g.start_from(cx, database, session, from, agreed, &later)
                });
            }
            Msg::Refuse { database, session, reason } => {
                self.for_database(database, out, |g, cx| g.refused(cx, database, session, reason));
            }
            Msg::Ready { database, session, from, applied } => {
                self.for_database(database, out, |g, cx| {
                    g.ready_from(cx, peer, database, session, from, applied)
                });
            }
            Msg::Stopped { database, session } => {
                self.for_database(database, out, |g, cx| g.stopped_from(cx, peer, database, session));
            }
            Msg::WantSeed { group, database, stamp } => {
                self.for_group(group, out, |g, cx| g.seed_wanted(cx, peer, database, stamp));
            }
            Msg::TakeOver { group, stamp } => {
                self.for_group(group, out, |g, cx| g.take_over_from(cx, peer, stamp));
            }
            Msg::TakeOverRefused { group, error } => {
                self.for_group(group, out, |g, cx| g.take_over_refused(cx, peer, error));
            }
            Msg::Distributed(beat) => {
                let meant = |g: &&Group| g.config.distributed.as_ref().is_some_and(|d| d.is_meant(&beat));
                if let Some(group) = self.groups.values().find(meant).map(|g| g.config.id) {
                    self.for_group(group, out, |g, cx| g.distributed_from(cx, peer, *beat));
                }
            }
            Msg::Pulse(pulse) => self.pulse_from(peer, pulse, out),
            Msg::Store(msg) => {
                if self.cluster.message(&sight!(self), peer, msg, &mut self.random, out) {
                    self.each_group(out, Group::doubt);
                }
            }
        }
    }

    fn pulse_from(&mut self, peer: InstanceId, pulse: Pulse, out: &mut Vec<Action>) {
        let Some(state) = self.peers.get_mut(&peer) else { return };
        self.cluster.dismiss_stranger(peer, &pulse, out);
        if self.cluster.pulse_from(state, pulse, self.now) {
            self.cluster.replace_lost_leader(&sight!(self));
            self.each_group(out, |group, cx| group.settle(cx));
        }
    }

    fn command(&mut self, id: CommandId, command: Command, out: &mut Vec<Action>) {
        match command {
            Command::CreateGroup { config, log_epoch } => self.create_group(id, *config, log_epoch, out),
            Command::Join { name, cluster_type } => self.join(id, name, cluster_type, out),
            Command::FormCluster { .. }
            | Command::AddMember { .. }
            | Command::RemoveMember { .. }
            | Command::ForceQuorum => self.cluster_command(id, command, out),
            other => {
                let target = Group::target_of(&other);
                // DROP that could not reach the cluster is given again.
                let drops = matches!(other, Command::DropGroup { .. });
                let found = self.groups.iter().find(|(key, g)| {
                    (g.exists() || drops && g.is_gone_here_alone())
                        && match target {
                            Ok(group) => **key == group,
                            Err(database) => g.config.database(database).is_some(),
                        }
                });
                match found.map(|(key, _)| *key) {
                    Some(group) => {
                        self.for_group(group, out, |g, cx| g.command(cx, id, other));
                        self.groups.retain(|_, g| !g.forgotten());
                    }
                    None => {
                        let error = match target {
                            Ok(_) => CommandError::NoSuchGroup,
                            Err(_) => CommandError::NoSuchDatabase,
                        };
                        out.push(Action::Reply { command: id, result: Err(error) });
                    }
                }
            }
        }
    }

    fn cluster_command(&mut self, id: CommandId, command: Command, out: &mut Vec<Action>) {
        let result = match command {
            Command::FormCluster { .. } if self.cluster.store.is_some() => Err(CommandError::ClusterExists),
            Command::FormCluster { url } => {
                self.cluster.form(&self.me, url, &mut self.random);
                out.push(Action::Reply { command: id, result: Ok(()) });
                Ok(())
            }
            Command::AddMember { instance, url, witness } => {
                self.cluster.add_member(&sight!(self), id, (instance, url, witness))
            }
            Command::RemoveMember { instance } => self.cluster.remove_member(&sight!(self), id, instance),
            _ => {
                self.each_group(out, Group::doubt);
                let known = self.groups.values().filter_map(Group::known_agreed).cloned().collect();
                self.cluster.force(&self.me, known, &mut self.random);
                let changed: Vec<GroupId> = self.groups.keys().copied().collect();
                changed.into_iter().for_each(|group| self.store_applied(group, out));
                out.push(Action::Reply { command: id, result: Ok(()) });
                Ok(())
            }
        };
        if let Err(error) = result {
            out.push(Action::Reply { command: id, result: Err(error) });
        }
    }

    fn create_group(
        &mut self,
        id: CommandId,
        config: GroupConfig,
        log_epoch: keel_base::Epoch,
        out: &mut Vec<Action>,
    ) {
        let by_vote = config.options.cluster_type.is_by_vote();
        let here = self.groups.values().any(|g| {
            g.config.id == config.id || g.exists() && g.config.name.eq_ignore_ascii_case(&config.name)
        });
        let in_cluster = by_vote && self.cluster.contents().is_some_and(|c| c.has_another_named(&config));
        let mine = config.replica_named(&self.me.server_name).map(|r| (r.id, r.keeps_data()));
        let error = match mine {
            _ if here || in_cluster => CommandError::GroupExists,
            None => CommandError::LocalServerMissing,
            Some((_, false)) => CommandError::ConfigurationOnly,
            Some((mine, true)) => {
                let group = config.id;
                if by_vote && self.cluster.store.is_none() {
                    let url = config.replica(mine).map(|r| r.options.endpoint_url.clone());
                    self.cluster.form(&self.me, url.unwrap_or_default(), &mut self.random);
                }
                let created = Group::create(config, mine, self.me.instance, log_epoch, self.now);
                self.groups.insert(group, created);
                self.for_group(group, out, |g, cx| g.take_first_role(cx, id));
                return;
            }
        };
        out.push(Action::Reply { command: id, result: Err(error) });
    }

    /// Of two groups of one name the cluster takes the one that comes first: whoever makes the other one here is told.
    fn refuse_second_of_name(&mut self, out: &mut Vec<Action>) {
        let Some(contents) = self.cluster.contents() else { return };
        let second = |g: &&Group| g.is_being_made() && contents.has_another_named(&g.config);
        let Some(group) = self.groups.values().find(second).map(|g| g.config.id) else { return };
        self.for_group(group, out, |g, cx| g.name_is_taken(cx));
        self.groups.retain(|_, g| !g.forgotten());
    }

    /// Ends the connections to those that were silent for their session time-out; and, of a primary that hears no majority, to
    /// all that are lost: it may be deaf, and what it says then does not arrive for long, because nobody confirms what it said
    /// before. The end of a connection arrives at once, and they need not wait for its silence as well.
    fn expire_peers(&mut self, out: &mut Vec<Action>) {
        let cut_off = self.groups.values().any(|g| g.exists() && g.clustered() && g.is_primary())
            && !self.cluster.is_quorate(&sight!(self));
        let silent: Vec<InstanceId> = self
            .peers
            .iter()
            .filter(|(id, peer)| {
                let limit = self.groups.values().filter_map(|g| g.session_timeout(**id)).min();
                limit.is_some_and(|limit| self.now.saturating_sub(peer.last_heard) >= limit)
                    || cut_off && self.cluster.is_silent(peer, self.now)
            })
            .map(|(id, _)| *id)
            .collect();
        for peer in silent {
            self.cluster.pulse_to(&sight!(self), peer, out);
            out.push(Action::Disconnect { peer });
            self.disconnected(peer, true, out);
        }
    }

    fn beat(&mut self, out: &mut Vec<Action>) {
        let due: Vec<InstanceId> = self
            .peers
            .iter()
            .filter(|(_, p)| self.now.saturating_sub(p.last_beat) >= BEAT_EVERY)
            .map(|(id, _)| *id)
            .collect();
        for peer in due {
            self.beat_to(peer, out);
        }
    }

    fn beat_to(&mut self, peer: InstanceId, out: &mut Vec<Action>) {
        let beats = self.groups.values().filter_map(|g| g.beat_for(peer, self.now)).collect();
        out.push(Action::Send { peer, msg: Msg::Beat(beats) });
        let distributed =
            self.groups.values().filter(|g| g.is_primary()).filter_map(|g| g.distributed_beat(peer));
        out.extend(distributed.map(|msg| Action::Send { peer, msg }));
        let name = self.peers.get(&peer).map(|p| p.name.clone()).unwrap_or_default();
        self.each_group(out, |group, cx| group.invite(cx, peer, &name));
        let now = self.now;
        if let Some(peer) = self.peers.get_mut(&peer) {
            peer.last_beat = now;
        }
    }

    fn for_group(&mut self, group: GroupId, out: &mut Vec<Action>, f: impl FnOnce(&mut Group, &mut Cx<'_>)) {
        if let Some(g) = self.groups.get_mut(&group) {
            let mut cx = cx!(self, out);
            f(g, &mut cx);
            g.finish(&mut cx);
        }
    }

    fn for_database(
        &mut self,
        database: GroupDatabaseId,
        out: &mut Vec<Action>,
        f: impl FnOnce(&mut Group, &mut Cx<'_>),
    ) {
        let found = self.groups.iter().find(|(_, g)| g.exists() && g.has_database(database));
        if let Some(group) = found.map(|(id, _)| *id) {
            self.for_group(group, out, f);
        }
    }

    fn each_group(&mut self, out: &mut Vec<Action>, mut f: impl FnMut(&mut Group, &mut Cx<'_>)) {
        for group in self.groups.values_mut() {
            if !group.exists() {
                continue;
            }
            let mut cx = cx!(self, out);
            f(group, &mut cx);
            group.finish(&mut cx);
        }
        // One that could not be made may be agreed on yet, and is entered then like any other.
        self.groups.retain(|_, g| !g.forgotten());
    }
}
