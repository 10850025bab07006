//! Three instances of one cluster, and administrators who make groups of one name on any of them, drop them, and take replicas out and
//! in again, while processes end and links are cut: worlds grown from seeds, in virtual time. Some of the groups have databases, in
//! which nobody writes.
//!
//! At no time does the cluster have two groups of the name, nor an instance one that it knows to be dropped, or to be without it, nor
//! does a database go on alone whose group is there; and in the end all have what was agreed, and every copy that was let go was of a
//! group that is not there. What was refused for its name is not made.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use keel_base::env::sim::SplitMix;
use keel_base::{Epoch, Lsn};
use keel_cluster::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use uuid::Uuid;

const NODES: usize = 3;
/// Runs from this seed on instead of from the first.
const FIRST_SEED: &str = "KEEL_ONE_NAME_FROM";
/// Runs so many seeds.
const SEEDS: &str = "KEEL_ONE_NAME_SEEDS";

/// Worlds in which something was found, with how many databases their groups have: a group whose DROP was overtaken, and one that was
/// agreed on after its maker had given it up, and one that was dropped on an instance alone and joined again at once.
const FOUND: [(u64, usize); 3] = [(16, 0), (90_000_005, 0), (203, 2)];

fn instance(i: usize) -> InstanceId {
    InstanceId(Uuid::from_u128(100 + i as u128))
}

fn index(instance: InstanceId) -> usize {
    (instance.0.as_u128() - 100) as usize
}

#[derive(Default)]
struct Kept {
    records: BTreeMap<GroupId, GroupRecord>,
    store: Option<StoreRecord>,
}

/// What is on its way to an instance: in a life of it and, when another one said it, over a connection.
struct Due {
    to: usize,
    life: u64,
    over: Option<(usize, u64)>,
    event: Event,
}

struct World {
    nodes: Vec<Option<Node>>,
    kept: Vec<Kept>,
    lives: Vec<u64>,
    due: BTreeMap<(Duration, u64), Due>,
    /// Of each ordered pair: nothing arrives before this.
    arrived: BTreeMap<(usize, usize), Duration>,
    /// Connections that are up, by their numbers.
    links: BTreeMap<(usize, usize), u64>,
    cut: BTreeSet<(usize, usize)>,
    now: Duration,
    number: u64,
    random: SplitMix,
    replies: BTreeMap<u64, Result<(), CommandError>>,
    /// The group that each CREATE was of.
    creations: BTreeMap<u64, GroupId>,
    seed: u64,
    /// How many each new group has.
    databases: usize,
    /// The copies that each instance has given to its machine, and has not been told to let go.
    held: Vec<BTreeSet<GroupDatabaseId>>,
}

/// The log of each copy: nobody writes.
fn facts() -> LogFacts {
    LogFacts { history: vec![(Epoch(1), Lsn::ZERO)], ..LogFacts::default() }
}

fn pair(i: usize, j: usize) -> (usize, usize) {
    (i.min(j), i.max(j))
}

impl World {
    fn new(seed: u64, databases: usize) -> World {
        let mut world = World {
            nodes: (0..NODES).map(|_| None).collect(),
            kept: (0..NODES).map(|_| Kept::default()).collect(),
            lives: vec![0; NODES],
            due: BTreeMap::new(),
            arrived: BTreeMap::new(),
            links: BTreeMap::new(),
            cut: BTreeSet::new(),
            now: Duration::from_secs(1),
            number: 0,
            random: SplitMix(seed),
            replies: BTreeMap::new(),
            creations: BTreeMap::new(),
            seed,
            databases,
            held: vec![BTreeSet::new(); NODES],
        };
        (0..NODES).for_each(|i| world.start(i));
        world.create(0);
        (1..NODES).for_each(|i| world.join(i));
        world.pass(6000);
        let members = world.nodes[0].as_ref().unwrap().cluster_members().count();
        assert_eq!(members, NODES - 1, "seed {seed}: all are in one cluster");
        world
    }

    fn below(&mut self, n: u64) -> usize {
        (self.random.next() % n) as usize
    }

    // ---- processes and links ----------------------------------------------------------------------------------------

    fn start(&mut self, i: usize) {
        if self.nodes[i].is_some() {
            return;
        }
        let me = Identity { instance: instance(i), server_name: format!("N{i}") };
        let records = self.kept[i].records.values().cloned().collect();
        let seed = self.random.next();
        self.nodes[i] = Some(Node::new(me, records, self.kept[i].store.as_ref(), seed, self.now));
        self.lives[i] += 1;
        self.held[i].clear();
        (0..NODES).for_each(|j| self.connect(i, j));
    }

    /// The copies that an instance's groups name and its machine does not have are given to it: they were restored, or are on its disk.
    fn bind(&mut self, i: usize) {
        let groups = self.nodes[i].as_ref().map(Node::status).unwrap_or_default();
        for database in groups.iter().flat_map(|g| &g.databases).filter(|d| !d.open).map(|d| d.database) {
            if self.held[i].insert(database) {
                self.soon(i, Event::DatabaseOpened { database, facts: facts() });
            }
        }
    }

    /// A copy is let go: the machine has it no more. A group that was given up when it was made and is agreed on in the same step has its
    /// databases again later.
    fn release(&mut self, i: usize, database: GroupDatabaseId) {
        self.held[i].remove(&database);
        let groups = self.nodes[i].as_ref().map(Node::status).unwrap_or_default();
        let has = groups.iter().flat_map(|g| &g.databases).any(|d| d.database == database && d.open);
        let (seed, now) = (self.seed, self.now);
        assert!(!has, "seed {seed}, {now:?}: instance {i} lets a database go and has it");
    }

    fn connect(&mut self, i: usize, j: usize) {
        let link = pair(i, j);
        let up = self.nodes[i].is_some() && self.nodes[j].is_some();
        if i == j || !up || self.cut.contains(&link) || self.links.contains_key(&link) {
            return;
        }
        self.number += 1;
        self.links.insert(link, self.number);
        for (a, b) in [(i, j), (j, i)] {
            self.send(a, b, Event::Connected { peer: instance(a), name: format!("N{a}") });
        }
    }

    fn disconnect(&mut self, i: usize, j: usize) {
        if self.links.remove(&pair(i, j)).is_some() {
            self.soon(i, Event::Disconnected { peer: instance(j) });
            self.soon(j, Event::Disconnected { peer: instance(i) });
        }
    }

    fn kill(&mut self, i: usize) {
        self.nodes[i] = None;
        self.lives[i] += 1;
        (0..NODES).for_each(|j| self.disconnect(i, j));
    }

    /// Something for `to` that goes over the connection from `from`, in order.
    fn send(&mut self, from: usize, to: usize, event: Event) {
        let Some(number) = self.links.get(&pair(from, to)).copied() else { return };
        let delay = Duration::from_micros(200 + self.random.next() % 20_000);
        let earliest = self.arrived.get(&(from, to)).copied().unwrap_or_default();
        let at = (self.now + delay).max(earliest);
        self.arrived.insert((from, to), at);
        self.later(to, at, Some((from, number)), event);
    }

    fn later(&mut self, to: usize, at: Duration, over: Option<(usize, u64)>, event: Event) {
        self.number += 1;
        self.due.insert((at, self.number), Due { to, life: self.lives[to], over, event });
    }

    fn soon(&mut self, to: usize, event: Event) {
        let at = self.now + Duration::from_micros(500 + self.random.next() % 3000);
        self.later(to, at, None, event);
    }

    /// Lets milliseconds pass.
    fn pass(&mut self, millis: u64) {
        for _ in 0..millis / 50 {
            let end = self.now + Duration::from_millis(50);
            while self.due.first_key_value().is_some_and(|(key, _)| key.0 <= end) {
                let ((at, _), due) = self.due.pop_first().unwrap();
                self.now = at;
                let Due { to, life, over, event } = due;
                let is_up =
                    over.is_none_or(|(from, number)| self.links.get(&pair(from, to)) == Some(&number));
                if is_up && self.lives[to] == life {
                    self.step(to, event);
                }
            }
            self.now = end;
            for i in 0..NODES {
                let actions = self.nodes[i].as_mut().map(|node| node.tick(end)).unwrap_or_default();
                self.act(i, actions);
                self.bind(i);
            }
        }
    }

    fn step(&mut self, i: usize, event: Event) {
        let Some(node) = &mut self.nodes[i] else { return };
        let actions = node.step(self.now, event);
        self.act(i, actions);
    }

    fn act(&mut self, i: usize, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send { peer, msg } => {
                    self.send(i, index(peer), Event::Message { peer: instance(i), msg });
                }
                Action::Disconnect { peer } => {
                    self.disconnect(i, index(peer));
                    self.connect(i, index(peer));
                }
                Action::Persist { group, revision, record } => {
                    self.kept[i].records.insert(group, *record);
                    self.soon(i, Event::Persisted { group, revision });
                }
                Action::Forget { group } => drop(self.kept[i].records.remove(&group)),
                Action::PersistStore { revision, record } => {
                    self.kept[i].store = Some(*record);
                    self.soon(i, Event::StorePersisted { revision });
                }
                Action::ForgetStore => self.kept[i].store = None,
                Action::Reply { command, result } => drop(self.replies.insert(command.0, result)),
                Action::Promote { group, epoch, databases } => {
                    let held = databases.into_iter().filter(|d| self.held[i].contains(d));
                    let databases = held.map(|d| (d, facts())).collect();
                    self.soon(i, Event::Promoted { group, epoch, databases });
                }
                Action::PromoteDatabase { group, epoch, database } => {
                    self.soon(i, Event::Promoted { group, epoch, databases: vec![(database, facts())] });
                }
                Action::Demote { group, .. } => self.soon(i, Event::Demoted { group }),
                Action::Drain { group } => {
                    let ends = self.held[i].iter().map(|d| (*d, Lsn::ZERO)).collect();
                    self.soon(i, Event::Drained { group, ends });
                }
                Action::Inspect { database, session } => {
                    self.soon(i, Event::Inspected { database, session, facts: facts() });
                }
                Action::CutLog { database, session, .. } => {
                    self.soon(i, Event::LogCut { database, session });
                }
                Action::Release { database, .. } => self.release(i, database),
                _ => {}
            }
        }
        self.look(i);
    }

    // ---- administrators ---------------------------------------------------------------------------------------------

    fn command(&mut self, i: usize, command: Command) {
        self.number += 1;
        let id = CommandId(self.number);
        self.step(i, Event::Command { id, command });
    }

    fn replica(&mut self, i: usize) -> Replica {
        self.number += 1;
        let (mode, failover) = (AvailabilityMode::Synchronous, FailoverMode::Automatic);
        let options = ReplicaOptions::new(format!("TCP://n{i}:5022"), mode, failover);
        Replica::new(ReplicaId(Uuid::from_u128(0x1_0000 + u128::from(self.number))), format!("N{i}"), options)
    }

    fn create(&mut self, i: usize) {
        self.number += 1;
        let id = GroupId(Uuid::from_u128(0x1_0000 + u128::from(self.number)));
        let name = ["ag", "AG"][self.below(2)];
        let mut config = GroupConfig::new(id, name, GroupOptions::default());
        config.replicas = (0..NODES).map(|j| self.replica(j)).collect();
        let mut opened = Vec::new();
        for d in (0..self.databases).filter(|_| self.nodes[i].is_some()) {
            self.number += 1;
            let database = GroupDatabaseId(Uuid::from_u128(0x1_0000 + u128::from(self.number)));
            config.databases.push(GroupDatabase::new(database, format!("db{d}"), 7 + d as u32));
            opened.push(database);
        }
        self.creations.insert(self.number + 1, id);
        self.command(i, Command::CreateGroup { config: Box::new(config), log_epoch: Epoch(1) });
        for database in opened {
            // Who was refused at once has not given them to anybody.
            if self.nodes[i].iter().flat_map(Node::status).any(|g| g.config.id == id) {
                self.held[i].insert(database);
                self.soon(i, Event::DatabaseOpened { database, facts: facts() });
            }
        }
    }

    fn join(&mut self, i: usize) {
        self.command(i, Command::Join { name: "ag".into(), cluster_type: None });
    }

    /// DROP on an instance, whatever its role is; or once more, where it could not reach the cluster.
    fn drop_here(&mut self, i: usize) {
        let Some(node) = &self.nodes[i] else { return };
        let shown = node.status().first().map(|g| g.config.id);
        if let Some(group) = shown.or(node.dropped_here("ag")) {
            self.command(i, Command::DropGroup { group });
        }
    }

    /// Somebody who leads a group, and the group.
    fn led(&self) -> Option<(usize, GroupConfig)> {
        (0..NODES).find_map(|i| {
            let groups = self.nodes[i].as_ref()?.status();
            groups.into_iter().find(|g| g.role == RoleStatus::Primary).map(|g| (i, g.config))
        })
    }

    fn administer(&mut self) {
        let (i, j) = (self.below(NODES as u64), self.below(NODES as u64));
        let led = self.led();
        // The worlds that were found first know one thing less.
        let kinds = if self.databases > 0 { 13 } else { 12 };
        match (self.below(kinds), led) {
            (0..=2, Some((leader, config))) => {
                self.command(leader, Command::DropGroup { group: config.id });
            }
            (3, Some((leader, config))) => {
                if let Some(replica) = config.replica_named(&format!("N{i}")).map(|r| r.id) {
                    self.command(leader, Command::RemoveReplica { group: config.id, replica });
                }
            }
            (4, Some((leader, config))) => {
                let replica = Box::new(self.replica(i));
                self.command(leader, Command::AddReplica { group: config.id, replica });
                self.join(i);
            }
            (5, Some((_, config))) => self.command(i, Command::Failover { group: config.id }),
            (6, _) => self.join(i),
            (7, _) => self.kill(i),
            (8, _) => (0..NODES).for_each(|i| self.start(i)),
            (9, _) if i != j => {
                self.cut.insert(pair(i, j));
                self.disconnect(i, j);
            }
            (10, _) => self.heal(),
            (12, _) => self.drop_here(i),
            _ => {
                self.create(i);
                if j != i {
                    self.create(j);
                }
                (0..NODES).for_each(|i| self.join(i));
            }
        }
    }

    fn heal(&mut self) {
        self.cut.clear();
        (0..NODES).for_each(|i| (0..NODES).for_each(|j| self.connect(i, j)));
    }

    // ---- what must hold ---------------------------------------------------------------------------------------------

    fn look(&self, i: usize) {
        let Some(node) = &self.nodes[i] else { return };
        let (seed, now) = (self.seed, self.now);
        let of_name = node.agreed_configs().filter(|g| !g.dropped).count();
        assert!(of_name <= 1, "seed {seed}, {now:?}: instance {i} knows {of_name} groups of the name");
        let is_refused = |command: &u64| self.replies.get(command) == Some(&Err(CommandError::GroupExists));
        let refused =
            self.creations.iter().filter(|(command, _)| is_refused(command)).map(|(_, group)| *group);
        let refused: BTreeSet<GroupId> = refused.collect();
        let made = node.agreed_configs().find(|g| !g.dropped && refused.contains(&g.id)).map(|g| g.id);
        assert_eq!(made, None, "seed {seed}, {now:?}: a group was refused and made");
        for group in node.status() {
            let agreed = node.agreed_configs().find(|a| a.id == group.config.id);
            let gone = |a: &GroupConfig| a.dropped || a.replica_of(instance(i)).is_none();
            let wrong = agreed.is_some_and(|a| a.stamp > group.config.stamp && gone(a));
            assert!(
                !wrong,
                "seed {seed}, {now:?}: instance {i} has a group that was dropped or is without it"
            );
        }
    }

    /// All is whole, and time passes: everybody has what was agreed. Returns how many creations were refused for their name.
    fn end(mut self) -> usize {
        (0..NODES).for_each(|i| self.start(i));
        self.heal();
        self.pass(30_000);
        let again = |node: &Node| node.dropped_here("ag").is_some();
        for i in 0..NODES {
            if self.nodes[i].as_ref().is_some_and(again) {
                self.drop_here(i);
                self.pass(5000);
            }
        }
        let seed = self.seed;
        let positions: Vec<_> = self.nodes.iter().flatten().map(Node::store_position).collect();
        assert!(positions.windows(2).all(|two| two[0] == two[1]), "seed {seed}: {positions:?}");
        for (i, node) in self.nodes.iter().flatten().enumerate() {
            let mine = |g: &&GroupConfig| !g.dropped && g.replica_of(instance(i)).is_some();
            let agreed: Vec<_> = node.agreed_configs().filter(mine).map(|g| (g.id, g.stamp)).collect();
            let known: Vec<_> = node.status().iter().map(|g| (g.config.id, g.config.stamp)).collect();
            assert_eq!(known, agreed, "seed {seed}: instance {i}");
            let here: BTreeSet<_> =
                node.status().iter().flat_map(|g| &g.databases).map(|d| d.database).collect();
            assert_eq!(self.held[i], here, "seed {seed}: copies of instance {i}");
            assert!(node.status().iter().flat_map(|g| &g.databases).all(|d| d.open), "seed {seed}");
        }
        self.replies.values().filter(|reply| **reply == Err(CommandError::GroupExists)).count()
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn a_name_belongs_to_one_group_at_a_time() {
    let (first, seeds) = (number(FIRST_SEED, 1), number(SEEDS, 60));
    let mut refused = 0;
    let grown = (first..first + seeds).map(|seed| (seed, seed as usize % 3));
    for (seed, databases) in grown.chain(FOUND) {
        let mut world = World::new(seed, databases);
        for _ in 0..30 {
            world.administer();
            let pause = 50 * (1 + world.below(30) as u64);
            world.pass(pause);
        }
        refused += world.end();
    }
    assert!(refused > 0, "nobody wanted a name that was taken");
}
