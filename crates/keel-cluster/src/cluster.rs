//! [`Cluster`]: this instance's part in its cluster: who is heard, who has a vote, who comes and goes.
//!
//! # Hearing
//! Members send each other a [`Pulse`] every tenth of a second and whenever it changes: whether they hear the receiver, and
//! whom they have lost. A member is **lost** to another when its connection closed, when nothing came from it for
//! [`ClusterOptions::silence`], or when it says itself that it does not hear the other: a link that is cut in one direction
//! is of no use in the other. A member is lost to the *cluster* when those to whom it is lost hold a majority of the votes.
//! So one cut link never deposes anybody, and a process that died is known dead as soon as everybody has seen its sockets
//! close.
//!
//! A primary that hears no majority breaks its connections to all that are silent. If it is only deaf, the others learn so at once:
//! its words would wait behind others that nobody confirms.
//!
//! After a pause of this process its own judgement begins anew: what it did not hear while it slept says nothing.
//!
//! # Votes
//! The leader of the store gives votes so that their number is odd: with an even number of instances, a witness votes, or,
//! without one, one vote is withheld, never that of an instance that leads a group. Of two instances without a witness
//! therefore only the primary's votes: the other may die, and a planned failover takes the vote along. Who was not heard for
//! [`ClusterOptions::vote_after`] loses its vote until it is back, so that one failure after the other can be survived down
//! to the last instance; that is agreed by vote like everything else. A vote goes only to a number that its instance shows in its
//! pulses: one that lost its disk is near by all accounts, and would never vote.
//!
//! Who has the only vote by its disk asks the others before it elects itself (`alone`).
//!
//! # Leases
//! Who has not heard a majority of the votes for [`ClusterOptions::lease`], counted from the last sign of life, leads nothing
//! any more: it stops serving reads. Writes do not depend on it.

mod alone;
mod vacancy;
mod votes;

use crate::action::{Action, LogEntry, LogEvent};
use crate::event::CommandError;
use crate::ids::{ClusterId, CommandId, GroupId, InstanceId};
use crate::message::Msg;
use crate::node::{Identity, Peer};
use crate::status::{ClusterStatus, MemberStatus, QuorumState};
use crate::store::{
    Change, Contents, Forgotten, Output, Replicator, StoreMember, StoreMsg, StoreRecord, Vote,
};
use crate::timing::{ClusterOptions, PULSE_EVERY, RETRY_AFTER, TICK_EVERY, WISH_MAX};
use alone::Inquiry;
use keel_base::env::sim::SplitMix;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use uuid::Uuid;
use vacancy::Vacancy;

/// A sign of life between members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// The sender hears the receiver.
    pub hears: bool,
    /// Members the sender has lost.
    pub lost: Vec<InstanceId>,
    /// The sender's cluster, its generation, and the sender's number there.
    pub cluster: Option<(ClusterId, u64, u64)>,
}

/// The last pulse of a peer.
#[derive(Clone, Debug)]
pub(crate) struct Pulsed {
    at: Duration,
    pulse: Pulse,
}

/// A configuration on its way into the store.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    pub(crate) change: Change,
}

/// What an operator wants of the membership.
struct Wish {
    command: CommandId,
    what: WishFor,
    deadline: Duration,
}

#[derive(Clone)]
enum WishFor {
    Member { instance: InstanceId, url: String, witness: bool },
    NoMember(InstanceId),
}

/// This instance's part in its cluster.
pub(crate) struct Cluster {
    pub(crate) options: ClusterOptions,
    pub(crate) store: Option<Replicator>,
    /// Instances that have a vote, as far as known here.
    voters: Vec<InstanceId>,
    /// Members' numbers seen in messages, for when the contents do not say yet.
    numbers: BTreeMap<u64, InstanceId>,
    /// When each instance was last heard (and heard this one), also of those that are gone.
    heard: BTreeMap<InstanceId, Duration>,
    /// Instances asked to take part: when, and what they answered.
    asked: BTreeMap<InstanceId, (Duration, Option<u64>)>,
    wishes: Vec<Wish>,
    ticked: Duration,
    pulsed: Duration,
    /// The lost members as last said.
    said: BTreeSet<InstanceId>,
    /// The store's leader is lost, and another one is being elected.
    vacancy: Option<Vacancy>,
    /// From a start until somebody leads: what is asked before the only vote elects itself.
    inquiry: Option<Inquiry>,
    /// The number of a leader from whom nothing is taken, once that was said.
    refused: Option<u64>,
    /// The record could not be written; again at this time.
    retry_at: Option<Duration>,
    revision: u64,
    /// When the last sign of life of a majority of the votes came.
    quorate_at: Duration,
    /// When this process started.
    started: Duration,
}

impl Cluster {
    pub(crate) fn new(record: Option<&StoreRecord>, options: ClusterOptions, now: Duration) -> Cluster {
        let mut cluster = Cluster {
            options,
            store: record.and_then(|r| Replicator::restart(r, 0)),
            voters: Vec::new(),
            numbers: BTreeMap::new(),
            heard: BTreeMap::new(),
            asked: BTreeMap::new(),
            wishes: Vec::new(),
            ticked: now,
            pulsed: Duration::ZERO,
            said: BTreeSet::new(),
            vacancy: None,
            inquiry: record.map(|_| Inquiry::default()),
            refused: None,
            retry_at: None,
            revision: 0,
            quorate_at: now,
            started: now,
        };
        cluster.note_members();
        cluster
    }

    // ---- looking ----------------------------------------------------------------------------------------------------

    pub(crate) fn contents(&self) -> Option<&Contents> {
        self.store.as_ref().and_then(|s| s.contents.as_ref())
    }

    pub(crate) fn generation(&self) -> u64 {
        self.store.as_ref().map_or(0, |s| s.generation)
    }

    /// What pulses say this instance belongs to.
    fn membership(&self) -> Option<(ClusterId, u64, u64)> {
        self.store.as_ref().map(|s| (s.cluster, s.generation, s.number))
    }

    /// The peer belongs to another cluster than this instance.
    pub(crate) fn is_stranger(&self, peer: &Peer) -> bool {
        let theirs = peer.pulsed.as_ref().and_then(|p| p.pulse.cluster);
        match (self.membership(), theirs) {
            (Some(mine), Some(theirs)) => mine.0 != theirs.0 && !self.is_dissolvable(),
            _ => false,
        }
    }

    /// A cluster of this instance alone that leads nothing: it can be given up for another.
    fn is_dissolvable(&self) -> bool {
        self.contents().is_some_and(|c| c.members.len() <= 1 && c.groups.values().all(|g| g.dropped))
    }

    /// Hears the peer, and the peer hears this instance.
    pub(crate) fn hears(&self, peers: &BTreeMap<InstanceId, Peer>, peer: InstanceId, now: Duration) -> bool {
        peers.get(&peer).is_some_and(|p| {
            !self.is_silent(p, now) && p.pulsed.as_ref().is_none_or(|pulsed| pulsed.pulse.hears)
        })
    }

    /// Nothing came from the peer for so long that it is lost.
    pub(crate) fn is_silent(&self, peer: &Peer, now: Duration) -> bool {
        now.saturating_sub(peer.sign) >= self.options.silence
    }

    /// Whether those for whom `holds` is true have a majority of the votes.
    fn majority(&self, holds: impl Fn(InstanceId) -> bool) -> bool {
        let with = self.voters.iter().filter(|v| holds(**v)).count();
        with * 2 > self.voters.len()
    }

    /// A majority of the votes is heard now.
    pub(crate) fn is_quorate(&self, cx: &Sight<'_>) -> bool {
        self.majority(|v| v == cx.me || self.hears(cx.peers, v, cx.now))
    }

    /// When the last sign of life came from as many as make, with this instance, a majority of the votes; none when too few are
    /// heard.
    fn last_quorate(&self, cx: &Sight<'_>) -> Option<Duration> {
        let sign = |v: &InstanceId| match *v == cx.me {
            true => Some(cx.now),
            false => cx.peers.get(v).filter(|_| self.hears(cx.peers, *v, cx.now)).map(|p| p.sign),
        };
        let mut signs: Vec<Duration> = self.voters.iter().filter_map(sign).collect();
        signs.sort_unstable_by_key(|at| Reverse(*at));
        signs.get(self.voters.len() / 2).copied()
    }

    /// The instance is lost to a majority of the votes.
    pub(crate) fn is_lost(&self, cx: &Sight<'_>, instance: InstanceId) -> bool {
        let fresh = self.options.silence * 2;
        self.majority(|v| {
            if v == cx.me {
                return instance != cx.me && !self.hears(cx.peers, instance, cx.now);
            }
            v != instance
                && cx.peers.get(&v).and_then(|p| p.pulsed.as_ref()).is_some_and(|pulsed| {
                    cx.now.saturating_sub(pulsed.at) < fresh && pulsed.pulse.lost.contains(&instance)
                })
        })
    }

    /// A majority of the votes was heard within the lease.
    pub(crate) fn holds_lease(&self, now: Duration) -> bool {
        now.saturating_sub(self.quorate_at) < self.options.lease
    }

    /// A majority of the votes was heard so lately that none of it has missed this instance yet, and nobody has been elected.
    pub(crate) fn leads_for_certain(&self, now: Duration) -> bool {
        now.saturating_sub(self.quorate_at) < self.options.silence / 2
    }

    pub(crate) fn status(
        &self,
        me: &Identity,
        peers: &BTreeMap<InstanceId, Peer>,
        now: Duration,
    ) -> Option<ClusterStatus> {
        let store = self.store.as_ref()?;
        let contents = store.contents.as_ref()?;
        let members = contents.members.values().map(|m| {
            let local = m.instance == me.instance;
            MemberStatus {
                member: m.clone(),
                local,
                vote: self.voters.contains(&m.instance),
                connected: local || peers.contains_key(&m.instance),
                heard: local || self.hears(peers, m.instance, now),
                leads: m.number == store.leader(),
            }
        });
        let sight = Sight { me: me.instance, peers, now };
        let quorum = match (self.is_quorate(&sight) && store.leader() != 0, contents.untrusted.is_empty()) {
            (false, _) => QuorumState::Lost,
            (true, false) => QuorumState::Forced,
            (true, true) => QuorumState::Normal,
        };
        Some(ClusterStatus {
            cluster: store.cluster,
            generation: store.generation,
            members: members.collect(),
            quorum,
            holds_lease: self.holds_lease(now),
            waits_for_disk: store.waits_for_disk(),
            applied: store.applied(),
            digest: contents.digest,
        })
    }

    // ---- hearing ----------------------------------------------------------------------------------------------------

    /// Something came from the peer.
    pub(crate) fn heard(&mut self, peer: InstanceId, state: &Peer, now: Duration) {
        if state.pulsed.as_ref().is_none_or(|p| p.pulse.hears) {
            self.heard.insert(peer, now);
        }
    }

    /// A pulse came. True when it says something new.
    pub(crate) fn pulse_from(&mut self, state: &mut Peer, pulse: Pulse, now: Duration) -> bool {
        let news = state.pulsed.as_ref().is_none_or(|before| before.pulse != pulse);
        state.pulsed = Some(Pulsed { at: now, pulse });
        news
    }

    fn lost_members(&self, cx: &Sight<'_>) -> BTreeSet<InstanceId> {
        let Some(contents) = self.contents() else { return BTreeSet::new() };
        let others = contents.members.keys().copied().filter(|m| *m != cx.me);
        others.filter(|m| !self.hears(cx.peers, *m, cx.now)).collect()
    }

    /// Tells the others who is heard, when it is time or has changed.
    pub(crate) fn pulse(&mut self, cx: &Sight<'_>, out: &mut Vec<Action>) {
        if self.store.is_none() {
            return;
        }
        let lost = self.lost_members(cx);
        if cx.now.saturating_sub(self.pulsed) < PULSE_EVERY && lost == self.said {
            return;
        }
        self.pulsed = cx.now;
        self.said = lost;
        for peer in cx.peers.keys() {
            self.pulse_to(cx, *peer, out);
        }
    }

    pub(crate) fn pulse_to(&self, cx: &Sight<'_>, peer: InstanceId, out: &mut Vec<Action>) {
        let Some(state) = cx.peers.get(&peer).filter(|_| self.store.is_some()) else { return };
        let hears = !self.is_silent(state, cx.now);
        let lost = self.said.iter().copied().filter(|l| *l != peer).collect();
        let pulse = Pulse { hears, lost, cluster: self.membership() };
        out.push(Action::Send { peer, msg: Msg::Pulse(pulse) });
    }

    // ---- time -------------------------------------------------------------------------------------------------------

    /// Lets time pass. Returns how long this process did nothing at all.
    pub(crate) fn tick(&mut self, cx: &Sight<'_>, out: &mut Vec<Action>) {
        self.quorate_at = self.quorate_at.max(self.last_quorate(cx).unwrap_or_default());
        if self.retry_at.is_some_and(|at| cx.now >= at) {
            self.retry_at = None;
            if let Some(store) = &mut self.store {
                store.record_again();
            }
        }
        let missed = cx.now.saturating_sub(self.ticked).as_millis() / TICK_EVERY.as_millis();
        let ticks = u32::try_from(missed).unwrap_or(u32::MAX);
        self.ticked = if ticks > TICKS_MAX { cx.now } else { self.ticked + TICK_EVERY * ticks };
        let waits = self.waits_for_answers(cx, out);
        if let Some(store) = &mut self.store {
            (0..ticks.min(TICKS_MAX)).for_each(|_| store.tick(waits));
        }
        self.replace_lost_leader(cx);
        self.enlist(cx, out);
        self.settle_votes(cx);
        self.expire_wishes(cx, out);
    }

    // ---- membership -------------------------------------------------------------------------------------------------

    /// Begins a cluster of this instance alone.
    pub(crate) fn form(&mut self, me: &Identity, url: String, random: &mut SplitMix) {
        let id = ClusterId(Uuid::from_u64_pair(random.next(), random.next()));
        let number = random.next().max(1);
        let instance = me.instance;
        let name = me.server_name.clone();
        let contents = Contents::new(id, StoreMember { instance, name, url, number, witness: false });
        self.begin(Replicator::found(contents, number, self.revision));
    }

    fn begin(&mut self, store: Replicator) {
        self.revision = self.revision.max(self.store.as_ref().map_or(0, Replicator::revision));
        self.store = Some(store);
        self.asked.clear();
        self.numbers.clear();
        self.vacancy = None;
        self.inquiry = None;
        self.note_members();
    }

    /// A quorum is forced: this instance's vote alone counts, in a new generation.
    pub(crate) fn force(&mut self, me: &Identity, known: Vec<crate::GroupConfig>, random: &mut SplitMix) {
        let number = random.next().max(1);
        let name = me.server_name.clone();
        let mine = StoreMember { instance: me.instance, name, url: String::new(), number, witness: false };
        let begun = known.iter().map(|c| c.stamp.epoch.0 >> GENERATION_SHIFT).max().unwrap_or(0);
        let mut contents = match self.store.as_ref().and_then(Replicator::everything) {
            Some(contents) => contents,
            None => {
                let id = ClusterId(Uuid::from_u64_pair(random.next(), random.next()));
                Contents::new(id, mine.clone())
            }
        };
        for config in known {
            // What this instance has on disk was agreed once.
            if contents.stamp(config.id) < config.stamp {
                contents.groups.insert(config.id, config);
            }
        }
        contents.generation = contents.generation.max(begun) + 1;
        let url = contents.members.get(&me.instance).map(|m| m.url.clone()).unwrap_or_default();
        contents.members = BTreeMap::from([(me.instance, StoreMember { url, ..mine })]);
        contents.untrusted = contents.groups.values().filter(|g| !g.dropped).map(|g| g.id).collect();
        // Above those of records that are still on their way to the disk: that they are there says nothing of the new ones.
        let revision = self.revision.max(self.store.as_ref().map_or(0, Replicator::revision));
        self.begin(Replicator::found(contents, number, revision));
    }

    /// The members or votes have changed.
    pub(crate) fn note_members(&mut self) {
        let Some(store) = &mut self.store else {
            self.voters.clear();
            return;
        };
        let numbers = store.voters();
        let Some(contents) = &store.contents else { return };
        let instances = numbers.iter().filter_map(|n| contents.member_numbered(*n));
        let mut voters: Vec<(bool, InstanceId)> = instances.map(|m| (m.witness, m.instance)).collect();
        // Instances stand for election before witnesses do.
        voters.sort_unstable();
        let rank = voters
            .iter()
            .position(|(_, i)| contents.members.get(i).is_some_and(|m| m.number == store.number));
        self.voters = voters.into_iter().map(|(_, i)| i).collect();
        store.set_rank(rank.unwrap_or(self.voters.len()));
    }

    pub(crate) fn instance_numbered(&self, number: u64) -> Option<InstanceId> {
        let known = self.contents().and_then(|c| c.member_numbered(number)).map(|m| m.instance);
        known.or_else(|| self.numbers.get(&number).copied())
    }

    /// The leader asks in who belongs to a group of the cluster, or came back without its record. Who is asked into a new
    /// generation gives up the older one, so the new one is on disk before.
    fn enlist(&mut self, cx: &Sight<'_>, out: &mut Vec<Action>) {
        let Some(store) = self.store.as_ref().filter(|s| s.is_kept()) else { return };
        let Some(contents) = store.contents.as_ref() else { return };
        let mut wanted: BTreeMap<InstanceId, (String, bool)> = BTreeMap::new();
        if store.leads() {
            for replica in contents.groups.values().filter(|g| !g.dropped).flat_map(|g| &g.replicas) {
                if let Some(instance) = replica.instance {
                    wanted.insert(instance, (replica.options.endpoint_url.clone(), false));
                }
            }
            let members = contents.members.values();
            wanted.extend(members.map(|m| (m.instance, (m.url.clone(), m.witness))));
            for wish in &self.wishes {
                if let WishFor::NoMember(instance) = wish.what {
                    wanted.remove(&instance);
                }
            }
        }
        for wish in &self.wishes {
            if let WishFor::Member { instance, url, witness } = &wish.what {
                wanted.insert(*instance, (url.clone(), *witness));
            }
        }
        wanted.remove(&cx.me);
        for (instance, (url, witness)) in wanted {
            self.enlist_one(cx, instance, url, witness, out);
        }
    }

    fn enlist_one(
        &mut self,
        cx: &Sight<'_>,
        instance: InstanceId,
        url: String,
        witness: bool,
        out: &mut Vec<Action>,
    ) {
        let (Some(store), Some(peer)) = (self.store.as_mut(), cx.peers.get(&instance)) else { return };
        let Some(contents) = store.contents.as_ref() else { return };
        let (cluster, generation) = (store.cluster, store.generation);
        let known = contents.members.get(&instance).map(|m| m.number);
        let shown = peer.pulsed.as_ref().and_then(|p| p.pulse.cluster);
        let settled = known.is_some_and(|n| shown == Some((cluster, generation, n)) && store.takes_part(n));
        if settled {
            self.asked.remove(&instance);
            return;
        }
        let answer = match self.asked.get(&instance) {
            Some((at, answer)) if cx.now.saturating_sub(*at) < RETRY_AFTER => *answer,
            // It has just connected; its pulse is on the way.
            None if cx.now.saturating_sub(peer.since) < self.options.silence => return,
            _ => {
                self.asked.insert(instance, (cx.now, None));
                let msg = Msg::Store(StoreMsg::Enlist { cluster, generation });
                out.push(Action::Send { peer: instance, msg });
                return;
            }
        };
        let Some(number) = answer else { return };
        if store.is_changing() {
            return;
        }
        match known {
            Some(old) if old != number && store.takes_part(old) => {
                store.propose_vote(old, Vote::Gone, Some(&Change::Remove(instance)));
            }
            Some(old) if old == number && store.takes_part(number) => {}
            _ => {
                let name = peer.name.clone();
                let member = StoreMember { instance, name, url, number, witness };
                store.propose_vote(number, Vote::Without, Some(&Change::Put(member)));
            }
        }
    }

    /// A message about the store came. True when this instance has given its part in the store up.
    pub(crate) fn message(
        &mut self,
        cx: &Sight<'_>,
        peer: InstanceId,
        msg: StoreMsg,
        random: &mut SplitMix,
        out: &mut Vec<Action>,
    ) -> bool {
        match msg {
            StoreMsg::Enlist { cluster, generation } => {
                let raft = self.take_part(cluster, generation, random);
                let msg = Msg::Store(StoreMsg::Enlisted { cluster, generation, raft });
                out.push(Action::Send { peer, msg });
            }
            StoreMsg::Enlisted { cluster, generation, raft } => {
                let current = self.membership().is_some_and(|m| (m.0, m.1) == (cluster, generation));
                if let Some(asked) = self.asked.get_mut(&peer).filter(|_| current) {
                    asked.1 = raft;
                }
                if raft.is_none() && current {
                    self.end_wishes(peer, CommandError::OtherCluster, out);
                }
                self.enlist(cx, out);
            }
            StoreMsg::Raft { cluster, generation, message } => {
                if self.membership().is_some_and(|m| (m.0, m.1) == (cluster, generation)) {
                    return self.vote_message(cx, peer, &message, random, out);
                }
            }
            StoreMsg::Dismissed { cluster, generation } => {
                let mine = self.membership().is_some_and(|m| m.0 == cluster && m.1 <= generation);
                if mine {
                    self.leave(out);
                }
            }
        }
        false
    }

    /// A message of the protocol came. True when it showed that this instance has forgotten what it acknowledged: its old number is
    /// given up, which the leader learns from the next pulse, and it is asked in again.
    fn vote_message(
        &mut self,
        cx: &Sight<'_>,
        peer: InstanceId,
        message: &[u8],
        random: &mut SplitMix,
        out: &mut Vec<Action>,
    ) -> bool {
        let Some(store) = self.store.as_ref() else { return false };
        let Some(from) = store.sender_of(message) else { return false };
        let known = store.contents.as_ref().and_then(|c| c.member_numbered(from));
        if known.is_some_and(|m| m.instance != peer) {
            return false;
        }
        self.numbers.insert(from, peer);
        self.note_answer(peer, message);
        let Some(store) = self.store.as_mut() else { return false };
        let log = |what| Action::Log(LogEntry { group: None, database: None, what });
        match store.step(message) {
            Forgotten::Nothing => false,
            Forgotten::Here => {
                out.push(log(LogEvent::OldRecord));
                let number = random.next().max(1);
                let blank = Replicator::blank(store.cluster, store.generation, number, store.revision());
                self.voters.clear();
                self.begin(blank);
                true
            }
            Forgotten::There => {
                if self.refused != Some(from) {
                    self.refused = Some(from);
                    let name = cx.peers.get(&peer).map(|p| p.name.clone()).unwrap_or_default();
                    out.push(log(LogEvent::OldLeader(name)));
                }
                false
            }
        }
    }

    /// This instance takes no part in any cluster any more.
    fn leave(&mut self, out: &mut Vec<Action>) {
        if let Some(store) = self.store.take() {
            self.revision = self.revision.max(store.revision());
            out.push(Action::ForgetStore);
        }
        self.voters.clear();
        self.said.clear();
    }

    /// Asked in: the number under which this instance takes part, or none when it belongs elsewhere.
    fn take_part(&mut self, cluster: ClusterId, generation: u64, random: &mut SplitMix) -> Option<u64> {
        let ours = self.store.as_ref().map(|s| (s.cluster == cluster, s.generation, s.number));
        match ours {
            Some((true, mine, number)) if mine == generation => return Some(number),
            Some((true, mine, _)) if mine > generation => return None,
            Some((false, ..)) if !self.is_dissolvable() => return None,
            _ => {}
        }
        let number = random.next().max(1);
        let revision = self.revision.max(self.store.as_ref().map_or(0, Replicator::revision));
        self.begin(Replicator::blank(cluster, generation, number, revision));
        Some(number)
    }

    /// Somebody says it is a member and is not: it was removed while it was away.
    pub(crate) fn dismiss_stranger(&self, peer: InstanceId, pulse: &Pulse, out: &mut Vec<Action>) {
        let (Some(store), Some((cluster, generation, number))) = (self.store.as_ref(), pulse.cluster) else {
            return;
        };
        let Some(contents) = store.contents.as_ref().filter(|_| store.leads()) else { return };
        let wanted = contents.groups.values().any(|g| !g.dropped && g.replica_of(peer).is_some());
        let asked = self.asked.contains_key(&peer);
        if (cluster, generation) == (store.cluster, store.generation)
            && !contents.members.contains_key(&peer)
            && !store.takes_part(number)
            && !wanted
            && !asked
        {
            out.push(Action::Send { peer, msg: Msg::Store(StoreMsg::Dismissed { cluster, generation }) });
        }
    }

    // ---- operators --------------------------------------------------------------------------------------------------

    pub(crate) fn add_member(
        &mut self,
        cx: &Sight<'_>,
        command: CommandId,
        (instance, url, witness): (InstanceId, String, bool),
    ) -> Result<(), CommandError> {
        let contents = self.contents().ok_or(CommandError::NoCluster)?;
        if contents.members.contains_key(&instance) {
            return Err(CommandError::MemberExists);
        }
        if !cx.peers.contains_key(&instance) {
            return Err(CommandError::MemberNotConnected);
        }
        let what = WishFor::Member { instance, url, witness };
        self.wishes.push(Wish { command, what, deadline: cx.now + WISH_MAX });
        Ok(())
    }

    pub(crate) fn remove_member(
        &mut self,
        cx: &Sight<'_>,
        command: CommandId,
        instance: InstanceId,
    ) -> Result<(), CommandError> {
        let contents = self.contents().ok_or(CommandError::NoCluster)?;
        let member = contents.members.get(&instance).ok_or(CommandError::NoSuchMember)?;
        let hosts = contents.groups.values().any(|g| !g.dropped && g.replica_of(member.instance).is_some());
        if hosts {
            return Err(CommandError::MemberHasReplicas);
        }
        if contents.members.len() == 1 {
            return Err(CommandError::LastMember);
        }
        let what = WishFor::NoMember(instance);
        self.wishes.push(Wish { command, what, deadline: cx.now + WISH_MAX });
        Ok(())
    }

    fn removal(&self) -> Option<InstanceId> {
        self.wishes.iter().find_map(|w| match w.what {
            WishFor::NoMember(instance) => Some(instance),
            WishFor::Member { .. } => None,
        })
    }

    /// Not while those that are left could not decide: the wish waits for them, and then comes to nothing.
    fn carry_out_removal(&mut self, cx: &Sight<'_>, instance: InstanceId) {
        let Some(member) = self.contents().and_then(|c| c.members.get(&instance)).cloned() else { return };
        if !self.can_decide_without(cx, member.number) {
            return;
        }
        let Some(store) = self.store.as_mut() else { return };
        if store.takes_part(member.number) && !store.is_changing() {
            store.propose_vote(member.number, Vote::Gone, Some(&Change::Remove(instance)));
        }
    }

    /// Answers operators whose wish has come true.
    pub(crate) fn answer_wishes(&mut self, out: &mut Vec<Action>) {
        let Some(contents) = self.store.as_ref().and_then(|s| s.contents.as_ref()) else { return };
        self.wishes.retain(|wish| {
            let done = match &wish.what {
                WishFor::Member { instance, .. } => contents.members.contains_key(instance),
                WishFor::NoMember(instance) => !contents.members.contains_key(instance),
            };
            if done {
                out.push(Action::Reply { command: wish.command, result: Ok(()) });
            }
            !done
        });
    }

    fn end_wishes(&mut self, about: InstanceId, error: CommandError, out: &mut Vec<Action>) {
        self.wishes.retain(|wish| {
            let ends = matches!(&wish.what, WishFor::Member { instance, .. } if *instance == about);
            if ends {
                out.push(Action::Reply { command: wish.command, result: Err(error.clone()) });
            }
            !ends
        });
    }

    fn expire_wishes(&mut self, cx: &Sight<'_>, out: &mut Vec<Action>) {
        self.wishes.retain(|wish| {
            let waiting = cx.now < wish.deadline;
            if !waiting {
                let result = Err(CommandError::ClusterTimedOut);
                out.push(Action::Reply { command: wish.command, result });
            }
            waiting
        });
        // A removal is carried out by the leader; whoever was asked and is none hands the wish to nobody else: the vote is
        // proposed through the protocol, which finds the leader.
        if let Some(gone) = self.removal().filter(|_| self.store.as_ref().is_some_and(|s| !s.leads())) {
            self.carry_out_removal(cx, gone);
        }
    }

    // ---- the store's own work ---------------------------------------------------------------------------------------

    pub(crate) fn persisted(&mut self, revision: u64) {
        self.retry_at = None;
        if let Some(store) = &mut self.store {
            store.persisted(revision);
        }
    }

    pub(crate) fn persist_failed(&mut self, revision: u64, now: Duration) {
        if self.store.as_ref().is_some_and(|s| s.revision() == revision) {
            self.retry_at = Some(now + RETRY_AFTER);
        }
    }

    /// What the protocol wants done. Messages go out, records are written; the rest is for the caller.
    pub(crate) fn drain(&mut self, cx: &Sight<'_>, out: &mut Vec<Action>) -> Drained {
        let Some(store) = self.store.as_mut() else { return Drained::default() };
        let (cluster, generation) = (store.cluster, store.generation);
        let Output { send, record, groups, members, leader } = store.drain();
        let mut busy = !send.is_empty() || record.is_some() || members || leader;
        if members {
            self.note_members();
            self.answer_wishes(out);
        }
        for (number, message) in send {
            let Some(peer) = self.instance_numbered(number).filter(|i| cx.peers.contains_key(i)) else {
                continue;
            };
            out.push(Action::Send { peer, msg: Msg::Store(StoreMsg::Raft { cluster, generation, message }) });
        }
        if let Some((revision, record)) = record {
            out.push(Action::PersistStore { revision, record });
        }
        let removed = self.contents().is_some_and(|c| !c.members.contains_key(&cx.me));
        if removed {
            self.leave(out);
        }
        busy |= !groups.is_empty();
        Drained { groups, leader, busy }
    }
}

/// What the rest of the machine has to look at after the store has moved.
#[derive(Default)]
pub(crate) struct Drained {
    /// Groups whose stored configuration changed.
    pub(crate) groups: Vec<GroupId>,
    /// There is another leader, or none.
    pub(crate) leader: bool,
    /// Something moved at all.
    pub(crate) busy: bool,
}

/// What this instance sees of the others at one moment.
pub(crate) struct Sight<'a> {
    pub(crate) me: InstanceId,
    pub(crate) peers: &'a BTreeMap<InstanceId, Peer>,
    pub(crate) now: Duration,
}

/// Epochs of a generation begin at the generation shifted by this: a forced quorum's are above all others.
pub(crate) const GENERATION_SHIFT: u32 = 40;
/// Ticks that are made up for after a delay; more would only make everybody stand for election at once.
const TICKS_MAX: u32 = 4;
