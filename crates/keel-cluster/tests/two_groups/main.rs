//! Two groups of three instances, each in a cluster of its own, and a distributed group over them: kills and changes of roles grown
//! from seeds, in virtual time. What was acknowledged is on both sides in the end, and no copy is ever cut below what it has redone.
//! This is their world; the stories are in `cases`.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use keel_base::env::sim::SplitMix;
use keel_base::{Epoch, Lsn};
use keel_cluster::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use uuid::Uuid;

mod cases;

const NODES: usize = 6;
const DATABASE: GroupDatabaseId = GroupDatabaseId(Uuid::from_u128(9));
/// Runs one seed instead of all.
const ONE_SEED: &str = "KEEL_TWO_GROUPS_SEED";

fn instance(i: usize) -> InstanceId {
    InstanceId(Uuid::from_u128(100 + i as u128))
}

fn index(instance: InstanceId) -> usize {
    (instance.0.as_u128() - 100) as usize
}

fn group(side: usize) -> GroupId {
    GroupId(Uuid::from_u128(1 + side as u128))
}

/// A block of one record; its LSN is its place.
type Block = (Epoch, u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Resolving,
    Secondary,
    Primary(Epoch),
}

#[derive(Clone)]
struct Engine {
    log: Vec<Block>,
    mode: Mode,
    held: bool,
    agreed: Lsn,
    applied: Lsn,
    /// Of a new copy: where its base tree stands, which its log may have still to come to.
    base: Lsn,
    ack_limit: Lsn,
    receiving: Option<(usize, SessionId, Epoch)>,
    senders: BTreeMap<usize, (SessionId, usize, Lsn)>,
    waiting: BTreeMap<usize, u64>,
}

impl Engine {
    fn new(log: Vec<Block>) -> Engine {
        Engine {
            log,
            mode: Mode::Resolving,
            held: false,
            agreed: Lsn::ZERO,
            applied: Lsn::ZERO,
            base: Lsn::ZERO,
            ack_limit: Lsn::MAX,
            receiving: None,
            senders: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    fn end(&self) -> Lsn {
        Lsn(self.log.len() as u64)
    }

    fn facts(&self) -> LogFacts {
        let mut history: Vec<(Epoch, Lsn)> = Vec::new();
        for (at, (epoch, _)) in self.log.iter().enumerate() {
            if history.last().is_none_or(|last| last.0 < *epoch) {
                history.push((*epoch, Lsn(at as u64)));
            }
        }
        // Whatever is redone may be in the base tree.
        let floor = self.applied.max(self.base);
        LogFacts { history, end: self.end(), agreed: self.agreed, floor, reached: Lsn::ZERO }
    }
}

/// A block on its way.
struct Sent {
    from: usize,
    session: SessionId,
    at: usize,
    before: Option<Block>,
    block: Block,
    agreed: Lsn,
}

enum What {
    Event(Event),
    Data(Sent),
    Copy(usize, Engine),
}

#[derive(Default)]
struct Kept {
    record: Option<GroupRecord>,
    store: Option<StoreRecord>,
}

struct World {
    nodes: Vec<Option<Node>>,
    engines: Vec<Option<Engine>>,
    kept: Vec<Kept>,
    due: BTreeMap<(Duration, u64), (usize, u64, What)>,
    /// Of each ordered pair: nothing arrives before this.
    arrived: BTreeMap<(usize, usize), Duration>,
    lives: Vec<u64>,
    now: Duration,
    number: u64,
    random: SplitMix,
    next: u64,
    acknowledged: BTreeSet<u64>,
    replies: BTreeMap<u64, Result<(), CommandError>>,
    /// Clients keep off this side.
    closed: Option<usize>,
    seed: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let mut world = World {
            nodes: (0..NODES).map(|_| None).collect(),
            engines: vec![None; NODES],
            kept: (0..NODES).map(|_| Kept::default()).collect(),
            due: BTreeMap::new(),
            arrived: BTreeMap::new(),
            lives: vec![0; NODES],
            now: Duration::from_secs(1),
            number: 0,
            random: SplitMix(seed),
            next: 1,
            acknowledged: BTreeSet::new(),
            replies: BTreeMap::new(),
            closed: None,
            seed,
        };
        (0..NODES).for_each(|i| world.start(i));
        world.engines[0] = Some(Engine::new(vec![(Epoch(1), 0)]));
        (0..2).for_each(|side| world.create(side));
        world.pass(4000);
        for (side, joins) in [(0, false), (1, true)] {
            let distributed = distributed(side, joins);
            world.command(side * 3, Command::SetUpDistributed { group: group(side), distributed });
        }
        world
    }

    fn create(&mut self, side: usize) {
        let mut config = GroupConfig::new(group(side), format!("ag{side}"), GroupOptions::default());
        let members = side * 3..side * 3 + 3;
        for i in members.clone() {
            let url = format!("TCP://n{i}:5022");
            let options = ReplicaOptions {
                seeding_mode: SeedingMode::Automatic,
                ..ReplicaOptions::new(url, AvailabilityMode::Synchronous, FailoverMode::Automatic)
            };
            let id = ReplicaId(Uuid::from_u128(200 + i as u128));
            config.replicas.push(Replica::new(id, format!("N{i}"), options));
        }
        if side == 0 {
            config.databases.push(GroupDatabase::new(DATABASE, "db", 7));
        }
        self.command(side * 3, Command::CreateGroup { config: Box::new(config), log_epoch: Epoch(1) });
        self.opened(side * 3);
        for i in members.clone().skip(1) {
            self.command(i, Command::Join { name: format!("ag{side}"), cluster_type: None });
        }
        self.pass(3000);
        for i in members {
            self.command(i, Command::AllowCreate { group: group(side), allowed: true });
        }
    }

    fn command(&mut self, i: usize, command: Command) -> u64 {
        self.number += 1;
        let id = self.number;
        self.step(i, Event::Command { id: CommandId(id), command });
        id
    }

    /// What a member answers within two seconds.
    fn answer(&mut self, i: usize, command: Command) -> Option<Result<(), CommandError>> {
        let id = self.command(i, command);
        self.pass(2000);
        self.replies.remove(&id)
    }

    fn opened(&mut self, i: usize) {
        if let Some(engine) = &self.engines[i] {
            let facts = engine.facts();
            self.step(i, Event::DatabaseOpened { database: DATABASE, facts });
        }
    }

    fn start(&mut self, i: usize) {
        let me = Identity { instance: instance(i), server_name: format!("N{i}") };
        let kept = &self.kept[i];
        let records = kept.record.clone().into_iter().collect();
        let seed = self.random.next();
        self.nodes[i] = Some(Node::new(me, records, kept.store.as_ref(), seed, self.now));
        self.lives[i] += 1;
        if let Some(engine) = &mut self.engines[i] {
            let (agreed, applied, base) = (engine.agreed, engine.applied, engine.base);
            *engine = Engine { agreed, applied, base, ..Engine::new(engine.log.clone()) };
        }
        for j in (0..NODES).filter(|j| *j != i) {
            if self.nodes[j].is_some() {
                for (a, b) in [(i, j), (j, i)] {
                    let connected = Event::Connected { peer: instance(a), name: format!("N{a}") };
                    self.send(a, b, What::Event(connected));
                }
            }
        }
        if self.kept[i].record.is_some() {
            self.opened(i);
        }
    }

    fn kill(&mut self, i: usize) {
        self.nodes[i] = None;
        for j in (0..NODES).filter(|j| *j != i) {
            if let Some(engine) = &mut self.engines[j] {
                engine.senders.remove(&i);
            }
            self.send(i, j, What::Event(Event::Disconnected { peer: instance(i) }));
        }
    }

    /// Something for `to` that goes over the connection from `from`, in order.
    fn send(&mut self, from: usize, to: usize, what: What) {
        let delay = Duration::from_micros(200 + self.random.next() % 3000);
        let earliest = self.arrived.get(&(from, to)).copied().unwrap_or_default();
        let at = (self.now + delay).max(earliest);
        self.arrived.insert((from, to), at);
        self.later(to, at, what);
    }

    fn later(&mut self, to: usize, at: Duration, what: What) {
        self.number += 1;
        self.due.insert((at, self.number), (to, self.lives[to], what));
    }

    fn soon(&mut self, to: usize, event: Event) {
        self.later(to, self.now + Duration::from_millis(1), What::Event(event));
    }

    /// Lets milliseconds pass.
    fn pass(&mut self, millis: u64) {
        for _ in 0..millis / 10 {
            let end = self.now + Duration::from_millis(10);
            while self.due.first_key_value().is_some_and(|(key, _)| key.0 <= end) {
                self.next();
            }
            self.now = end;
            for i in 0..NODES {
                let actions = self.nodes[i].as_mut().map(|node| node.tick(end)).unwrap_or_default();
                actions.into_iter().for_each(|action| self.act(i, action));
                self.write(i);
            }
        }
    }

    /// What is due next happens.
    fn next(&mut self) {
        let Some(((at, _), (to, life, what))) = self.due.pop_first() else { return self.pass(10) };
        self.now = self.now.max(at);
        if self.lives[to] == life && self.nodes[to].is_some() {
            self.happen(to, what);
        }
    }

    fn step(&mut self, i: usize, event: Event) {
        let Some(node) = &mut self.nodes[i] else { return };
        let actions = node.step(self.now, event);
        actions.into_iter().for_each(|action| self.act(i, action));
    }

    fn happen(&mut self, i: usize, what: What) {
        match what {
            What::Event(event) => self.step(i, event),
            What::Copy(from, engine) => {
                self.engines[i] = Some(engine);
                self.opened(i);
                self.step(i, Event::SeedEnded { peer: instance(from), database: DATABASE, completed: true });
            }
            What::Data(sent) => self.take(i, sent),
        }
    }

    fn take(&mut self, i: usize, sent: Sent) {
        let (seed, session) = (self.seed, sent.session);
        let Some(engine) = &mut self.engines[i] else { return };
        let Some((peer, current, epoch)) = engine.receiving else { return };
        if (peer, current) != (sent.from, session) {
            return;
        }
        let newest = engine.log.last().map_or(Epoch(0), |b| b.0);
        let follows = sent.at == engine.log.len();
        assert!(
            !follows || engine.log.last().copied() == sent.before,
            "seed {seed}: copies differ at one place"
        );
        if !follows || sent.block.0 > epoch || sent.block.0 < newest {
            engine.receiving = None;
            let failure = ReceiveFailure::Gap;
            return self.step(i, Event::ReceiveFailed { database: DATABASE, session, failure });
        }
        engine.log.push(sent.block);
        let lsn = engine.end();
        self.acknowledge(i);
        self.step(i, Event::Hardened { database: DATABASE, lsn });
        self.step(i, Event::Announced { database: DATABASE, session, agreed: sent.agreed });
        self.pump(i);
    }

    fn acknowledge(&mut self, i: usize) {
        let Some(engine) = &self.engines[i] else { return };
        let Some((peer, session, _)) = engine.receiving else { return };
        let hardened = engine.end().min(engine.ack_limit);
        let positions = CopyPositions { received: engine.end(), hardened, applied: engine.applied };
        let event = Event::Acked { peer: instance(i), database: DATABASE, session, positions };
        self.send(i, peer, What::Event(event));
    }

    /// A client writes wherever writes are taken.
    fn write(&mut self, i: usize) {
        let Some(engine) = self.engines[i].as_mut().filter(|e| !e.held) else { return };
        let Mode::Primary(epoch) = engine.mode else { return };
        let closed = self.closed == Some(i / 3);
        if closed || self.nodes[i].is_none() || !self.random.next().is_multiple_of(3) {
            return;
        }
        engine.log.push((epoch, self.next));
        engine.waiting.insert(engine.log.len(), self.next);
        self.next += 1;
        let lsn = engine.end();
        self.pump(i);
        self.step(i, Event::Hardened { database: DATABASE, lsn });
    }

    fn pump(&mut self, i: usize) {
        let Some(engine) = &mut self.engines[i] else { return };
        let mut out = Vec::new();
        for (peer, (session, next, limit)) in &mut engine.senders {
            while *next < engine.log.len() && Lsn(*next as u64) < *limit {
                let before = next.checked_sub(1).map(|at| engine.log[at]);
                let (block, agreed) = (engine.log[*next], engine.agreed);
                out.push((*peer, Sent { from: i, session: *session, at: *next, before, block, agreed }));
                *next += 1;
            }
        }
        out.into_iter().for_each(|(peer, sent)| self.send(i, peer, What::Data(sent)));
    }

    fn act(&mut self, i: usize, action: Action) {
        match action {
            Action::Send { peer, msg } => {
                let msg = Msg::decode(&msg.encode()).unwrap();
                self.send(i, index(peer), What::Event(Event::Message { peer: instance(i), msg }));
            }
            Action::Persist { group, revision, record } => {
                self.kept[i].record = Some(*record);
                self.soon(i, Event::Persisted { group, revision });
            }
            Action::PersistStore { revision, record } => {
                self.kept[i].store = Some(*record);
                self.soon(i, Event::StorePersisted { revision });
            }
            Action::Reply { command, result } => {
                self.replies.insert(command.0, result);
            }
            Action::Promote { group, epoch, .. } | Action::PromoteDatabase { group, epoch, .. } => {
                self.promote(i, group, epoch);
            }
            Action::Demote { group, .. } => {
                if let Some(engine) = &mut self.engines[i] {
                    (engine.mode, engine.held) = (Mode::Secondary, false);
                    engine.waiting.clear();
                }
                self.soon(i, Event::Demoted { group });
            }
            Action::Drain { group } => {
                let Some(engine) = &mut self.engines[i] else { return };
                engine.held = true;
                let ends = vec![(DATABASE, engine.end())];
                self.soon(i, Event::Drained { group, ends });
            }
            action => self.act_on_copy(i, action),
        }
    }

    fn promote(&mut self, i: usize, group: GroupId, epoch: Epoch) {
        let mut databases = Vec::new();
        if let Some(engine) = &mut self.engines[i] {
            assert!(engine.log.last().is_none_or(|last| last.0 < epoch), "seed {}: an old epoch", self.seed);
            (engine.mode, engine.held) = (Mode::Primary(epoch), false);
            engine.waiting.clear();
            databases.push((DATABASE, engine.facts()));
        }
        self.soon(i, Event::Promoted { group, epoch, databases });
    }

    fn act_on_copy(&mut self, i: usize, action: Action) {
        let seed = self.seed;
        let Some(engine) = &mut self.engines[i] else { return };
        match action {
            Action::Agree { lsn, .. } => {
                engine.agreed = engine.agreed.max(lsn);
                engine.applied = engine.applied.max(lsn);
                let later = engine.waiting.split_off(&(lsn.0 as usize + 1));
                let done = std::mem::replace(&mut engine.waiting, later);
                self.acknowledged.extend(done.into_values());
            }
            Action::ApplyUpTo { lsn, .. } => {
                engine.agreed = engine.agreed.max(lsn);
                engine.applied = engine.applied.max(lsn);
                let lsn = engine.applied;
                self.soon(i, Event::Applied { database: DATABASE, lsn });
            }
            Action::Seed { peer, .. } => {
                let (agreed, base) = (engine.agreed, engine.base);
                let copy = Engine { agreed, base, ..Engine::new(engine.log.clone()) };
                self.send(i, index(peer), What::Copy(i, copy));
                self.soon(i, Event::SeedEnded { peer, database: DATABASE, completed: true });
            }
            Action::StartSending { peer, session, from, limit, .. } => {
                engine.senders.insert(index(peer), (session, from.0 as usize, limit));
                self.pump(i);
            }
            Action::SendUntil { peer, limit, .. } => {
                if let Some(sender) = engine.senders.get_mut(&index(peer)) {
                    sender.2 = limit;
                }
                self.pump(i);
            }
            Action::StopSending { peer, .. } => {
                engine.senders.remove(&index(peer));
            }
            Action::Inspect { session, .. } => {
                let facts = engine.facts();
                self.soon(i, Event::Inspected { database: DATABASE, session, facts });
            }
            Action::CutLog { session, at, .. } => {
                assert!(
                    at >= engine.applied,
                    "seed {seed}: {i} is cut at {at}, redone to {}",
                    engine.applied
                );
                engine.log.truncate(at.0 as usize);
                self.soon(i, Event::LogCut { database: DATABASE, session });
            }
            Action::Receive { peer, session, epoch, from, .. } => {
                assert_eq!(engine.end(), from, "seed {seed}: {i} does not stand there");
                engine.receiving = Some((index(peer), session, epoch));
                engine.ack_limit = Lsn::MAX;
            }
            Action::AckUpTo { lsn, .. } => {
                engine.ack_limit = lsn;
                self.acknowledge(i);
            }
            Action::StopReceiving { .. } => engine.receiving = None,
            Action::Fence { .. } => {
                engine.mode = Mode::Resolving;
                engine.waiting.clear();
            }
            Action::Undrain { .. } => engine.held = false,
            // Nothing here is slow, silent or dropped.
            _ => {}
        }
    }

    // ---- from outside -----------------------------------------------------------------------------------------------

    fn leader(&self, side: usize) -> Option<usize> {
        (side * 3..side * 3 + 3).find(|i| {
            let status = self.nodes[*i].as_ref().map(Node::status).unwrap_or_default();
            status.iter().any(|g| g.role == RoleStatus::Primary)
        })
    }

    fn source(&self) -> Option<usize> {
        let writes =
            |i: &usize| self.engines[*i].as_ref().is_some_and(|e| matches!(e.mode, Mode::Primary(_)));
        (0..NODES).filter(writes).find(|i| self.nodes[*i].is_some())
    }

    /// Everybody is synchronized, here and there.
    fn is_healthy(&self) -> bool {
        let Some(source) = self.source() else { return false };
        let Some(forwarder) = self.leader(1 - source / 3) else { return false };
        let ready = |i: usize, copies: usize| {
            let status = self.nodes[i].as_ref().map(Node::status).unwrap_or_default();
            let all =
                |d: &DatabaseStatus| d.copies.len() == copies && d.copies.iter().all(|c| c.failover_ready);
            status.iter().all(|g| g.databases.len() == 1 && g.databases.iter().all(all))
        };
        ready(source, 3) && ready(forwarder, 2)
    }

    fn until_healthy(&mut self, what: &str) {
        for _ in 0..600 {
            if self.is_healthy() {
                return;
            }
            self.pass(100);
        }
        let engine = |i: usize| self.engines[i].as_ref().map(|e| (e.mode, e.end(), e.agreed, e.receiving));
        let states: Vec<_> =
            (0..NODES).map(|i| (i, engine(i), self.nodes[i].as_ref().map(Node::status))).collect();
        panic!("seed {}: not healthy after {what}\n{states:#?}", self.seed);
    }

    /// Holds writes and checks that every copy has everything.
    fn check(&mut self, what: &str) {
        self.until_healthy(what);
        self.engines.iter_mut().flatten().for_each(|engine| engine.held = true);
        self.pass(2000);
        let source = self.engines[self.source().unwrap()].clone().unwrap();
        let held: BTreeSet<u64> = source.log.iter().map(|b| b.1).collect();
        let lost: Vec<_> = self.acknowledged.difference(&held).collect();
        assert!(lost.is_empty(), "seed {}: lost {lost:?} after {what}", self.seed);
        for (i, engine) in self.engines.iter().enumerate() {
            let log = &engine.as_ref().unwrap().log;
            assert_eq!(log, &source.log, "seed {}: the log of {i} after {what}", self.seed);
        }
        self.engines.iter_mut().flatten().for_each(|engine| engine.held = false);
    }

    /// The planned way: the source gives the role up, the forwarder takes it.
    fn change_roles(&mut self) {
        let Some(source) = self.source() else { return };
        let yields = self.command(source, Command::YieldDistributed { group: group(source / 3) });
        self.pass(3000);
        if self.replies.get(&yields) != Some(&Ok(())) {
            return;
        }
        self.force(1 - source / 3);
    }
}

impl World {
    /// One side goes on alone until it is lost, the other one is made the source by force and goes on, and the first comes back.
    fn disaster(&mut self) {
        let lost = self.source().unwrap() / 3;
        let survivors = (1 - lost) * 3..(1 - lost) * 3 + 3;
        survivors.clone().for_each(|i| self.kill(i));
        self.pass(1500);
        (lost * 3..lost * 3 + 3).for_each(|i| self.kill(i));
        survivors.for_each(|i| self.start(i));
        self.force(1 - lost);
        // What only the lost side had acknowledged is lost: that is what force says.
        let source = self.engines[self.source().unwrap()].as_ref().unwrap();
        let held: BTreeSet<u64> = source.log.iter().map(|b| b.1).collect();
        self.acknowledged.retain(|n| held.contains(n));
        let alone = self.random.next() % 1500;
        self.pass(alone);
        // It writes where it comes back, until the two meet.
        self.closed = Some(lost);
        (lost * 3..lost * 3 + 3).for_each(|i| self.start(i));
        self.pass(3000);
        assert!(!self.is_healthy(), "seed {}: nobody waited for RESUME", self.seed);
        for _ in 0..100 {
            if self.is_healthy() {
                self.closed = None;
                return;
            }
            for i in lost * 3..lost * 3 + 3 {
                self.command(i, Command::Resume { database: DATABASE });
            }
            self.pass(3000);
        }
    }

    fn force(&mut self, side: usize) {
        for _ in 0..300 {
            if let Some(leader) = self.leader(side) {
                let forces = self.command(leader, Command::ForceDistributed { group: group(side) });
                self.pass(500);
                if let Some(Ok(()) | Err(CommandError::IsPrimary)) = self.replies.get(&forces) {
                    return;
                }
            }
            self.pass(100);
        }
        panic!("seed {}: nobody takes the role", self.seed);
    }
}

fn distributed(side: usize, joins: bool) -> Box<Distributed> {
    // The identities of the side that joins are its own until it meets the other.
    let id = |n: u128| ReplicaId(Uuid::from_u128(300 + n + if joins { 10 } else { 0 }));
    let member = |n: u128| DistributedMember {
        id: id(n),
        group: format!("ag{n}"),
        listener_url: format!("TCP://n{}:5022", n * 3),
        availability_mode: AvailabilityMode::Synchronous,
        seeding_mode: SeedingMode::Automatic,
    };
    Box::new(Distributed {
        id: GroupId(Uuid::from_u128(400 + side as u128)),
        name: "dag".into(),
        bound: !joins,
        turn: 0,
        primary: Some(id(0)),
        mine: id(side as u128),
        members: vec![member(0), member(1)],
        required: 0,
        endpoints: Vec::new(),
        source_epoch: Epoch(0),
        own_epoch: Epoch(0),
    })
}
