//! [`World`]: instances, disks, links and time, and the loop that lets things happen in order.
//!
//! # What is modelled
//! * Time is a number of microseconds; whatever happens is an entry in one queue. Chances grow from the plan's seed.
//! * A link keeps order within a connection, unless the plan is lossy; what is sent over a cut direction is gone, and
//!   nobody is told. A connection breaks when an operation says so, when an instance stops (its peers are told, or not),
//!   or when a machine gives up on it.
//! * A disk is [`SimDisk`](keel_base::env::sim::SimDisk): torn and lost unsynced writes at a power cut, also in the midst of an operation; one
//!   operation that fails; slow; full.
//! * A stopped process keeps nothing but its disk. A paused one finds its mail when it goes on.

use crate::check::Checker;
use crate::instance::Instance;
use crate::plan::{Op, Plan};
use keel_base::Lsn;
use keel_base::env::sim::SplitMix;
use keel_cluster::{CommandId, CopyPositions, Event, GroupDatabaseId, GroupId, SessionId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use uuid::Uuid;

/// Virtual time, microseconds.
pub(crate) type Micros = u64;
pub(crate) const MS: Micros = 1000;

/// What goes over a link.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    Control(Vec<u8>),
    Block { database: GroupDatabaseId, session: SessionId, bytes: Vec<u8>, agreed: Lsn },
    Commit { database: GroupDatabaseId, session: SessionId, agreed: Lsn },
    Ack { database: GroupDatabaseId, session: SessionId, positions: CopyPositions },
    Image { database: GroupDatabaseId, image: crate::engine::Image },
}

/// Something that will happen.
#[derive(Clone, Debug)]
pub(crate) enum What {
    Op(usize),
    /// Ticks of one instance's machine.
    Tick,
    /// Connections, restarts by the operator when the faults have stopped.
    Care,
    Deliver {
        from: usize,
        connection: u64,
        frame: Frame,
    },
    /// The other side has broken the connection.
    Reset {
        from: usize,
        connection: u64,
    },
    Tell(Box<Event>),
    Flush(usize),
    Flushed(usize, Lsn),
    Persist(u64, Vec<u8>),
    PersistStore(u64, Vec<u8>),
    /// An operator (or a supervisor) starts an instance.
    Start,
    /// A pause ends.
    Wake,
    /// A piece of background work of the instance's databases.
    Work,
    SeedNow {
        peer: usize,
        database: GroupDatabaseId,
    },
}

struct Entry {
    at: Micros,
    order: u64,
    instance: usize,
    life: u64,
    what: What,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Counters of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Commits acknowledged.
    pub acknowledged: u64,
    /// Of them, lost to forced failovers or removed databases.
    pub excused: u64,
    /// Epochs started.
    pub epochs: u64,
    /// Events handled.
    pub events: u64,
    /// Virtual milliseconds from the end of the faults until the group was whole.
    pub healed_ms: u64,
    /// How often each rare thing happened: proof that the worlds reach it.
    pub probes: std::collections::BTreeMap<&'static str, u64>,
}

/// The world.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) now: Micros,
    order: u64,
    queue: BinaryHeap<Reverse<Entry>>,
    pub(crate) instances: Vec<Instance>,
    /// `cut[a][b]`: nothing gets from a to b.
    pub(crate) cut: Vec<Vec<bool>>,
    /// When the last frame from a to b arrives: order within a link.
    last_arrival: Vec<Vec<Micros>>,
    connections: u64,
    pub(crate) dice: SplitMix,
    /// Chances of what only real databases do, so that the others are the same in both kinds of world.
    pub(crate) real_dice: SplitMix,
    wall_dice: SplitMix,
    pub(crate) check: Checker,
    pub(crate) numbers: u64,
    pub(crate) commands: u64,
    /// Identity of each database's present membership.
    pub(crate) database_ids: Vec<GroupDatabaseId>,
    /// The faults have stopped; since when.
    pub(crate) healing: Option<Micros>,
    /// Everything was as it should be when last looked at.
    pub(crate) whole: bool,
    /// Something has happened that is more than is survived: what comes of it is not looked at.
    pub(crate) unjudged: bool,
    pub(crate) summary: Summary,
    pub(crate) trace: Option<Vec<String>>,
    pub(crate) leaderless_since: [Option<Micros>; 2],
    /// Rounds of care with a primary since the faults stopped.
    pub(crate) rounds: u64,
    /// Something was written since the faults stopped.
    pub(crate) wrote_since: bool,
    /// What happened, in a form to be kept; ends with the faults.
    pub(crate) story: Option<Vec<String>>,
    /// Commands whose answer belongs to the story.
    pub(crate) ordered: std::collections::BTreeSet<CommandId>,
    /// The votes as last told.
    pub(crate) votes: String,
    /// The newest configuration that any member of the cluster knows to be agreed; of each side.
    pub(crate) agreed: [Option<keel_cluster::GroupConfig>; 2],
    /// The witness was asked for last at.
    pub(crate) witness_asked: Micros,
    /// It was removed from the cluster by hand, and is not asked for.
    pub(crate) witness_dismissed: bool,
    /// What goes between the sides takes so much more.
    pub(crate) far: Micros,
    /// The turn of the roles between the sides, since when nobody has had them, and what operators made of it.
    pub(crate) vacancy: crate::pair::Vacancy,
    pub(crate) manager: crate::manager::Manager,
    /// Groups that operators have made since, in order, whether that was refused or not.
    pub(crate) groups_made: Vec<GroupId>,
    /// A group was dropped or made by the plan.
    pub(crate) remade: bool,
    /// The operator has told somebody to lead, last.
    pub(crate) told_to_lead: Option<CommandId>,
    /// When the operator last looked after that.
    pub(crate) cared: Micros,
}

/// The group of each side; most worlds have the first alone.
pub(crate) const GROUPS: [GroupId; 2] = [GroupId(Uuid::from_u128(0xA6)), GroupId(Uuid::from_u128(0xB6))];
const TICK: Micros = 100 * MS;
/// Instances of a cluster notice things sooner.
const TICK_CLUSTER: Micros = 50 * MS;
const CARE: Micros = 200 * MS;
/// After the faults have stopped the group must be whole within this much virtual time.
const HEAL_MAX: Micros = 180_000 * MS;

impl World {
    pub(crate) fn new(plan: Plan, trace: bool) -> World {
        let n = plan.instances + usize::from(plan.witness);
        let ends = crate::engine::Ends::default();
        let mut world = World {
            now: 0,
            order: 0,
            queue: BinaryHeap::new(),
            instances: (0..n).map(|i| Instance::new(i, plan.chances, &ends)).collect(),
            cut: vec![vec![false; n]; n],
            last_arrival: vec![vec![0; n]; n],
            connections: 0,
            dice: SplitMix(plan.chances),
            real_dice: SplitMix(plan.chances ^ 0x4EA1),
            wall_dice: SplitMix(plan.walls),
            check: Checker::default(),
            numbers: 0,
            commands: 0,
            database_ids: (0..plan.databases).map(|d| crate::instance::database_id(d, 0)).collect(),
            healing: None,
            whole: false,
            unjudged: false,
            summary: Summary::default(),
            trace: trace.then(Vec::new),
            leaderless_since: [None, None],
            rounds: 0,
            wrote_since: false,
            story: None,
            ordered: Default::default(),
            votes: String::new(),
            agreed: [None, None],
            witness_asked: 0,
            witness_dismissed: false,
            far: 0,
            vacancy: crate::pair::Vacancy::default(),
            manager: crate::manager::Manager::default(),
            groups_made: Vec::new(),
            remade: false,
            told_to_lead: None,
            cared: 0,
            plan,
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for i in 0..self.instances.len() {
            self.start(i);
            self.at(i, i as u64 * 7 * MS, What::Tick);
        }
        for side in 0..self.sides() {
            self.create_group(side);
        }
        self.at(0, 0, What::Care);
        let times: Vec<u64> = self.plan.ops.iter().map(|(at, _)| *at).collect();
        for (index, at) in times.into_iter().enumerate() {
            self.schedule(at * MS, 0, 0, What::Op(index));
        }
    }

    /// Runs to the end. The error says what was wrong.
    pub(crate) fn run(&mut self) -> Result<Summary, String> {
        let faults_end = self.plan.ops.last().map_or(0, |(at, _)| *at) * MS + 200 * MS;
        while let Some(Reverse(entry)) = self.queue.pop() {
            self.now = entry.at;
            self.summary.events += 1;
            if self.healing.is_none() && self.now >= faults_end {
                self.stop_faults();
            }
            self.happen(entry);
            self.after_event();
            if self.whole {
                self.final_check();
            }
            if let Some(violation) = &self.check.violation {
                return Err(violation.clone());
            }
            if self.whole || self.unjudged {
                return Ok(self.finish());
            }
            if self.healing.is_some_and(|since| self.now - since > HEAL_MAX) {
                return Err(format!("not whole again: {}", self.describe()));
            }
        }
        Err("the world came to rest".into())
    }

    fn finish(&self) -> Summary {
        let mut summary = self.summary.clone();
        summary.acknowledged = self.check.ledger.len() as u64;
        summary.excused = self.check.ledger.iter().filter(|e| e.excused).count() as u64;
        summary.epochs = self.check.epochs.len() as u64;
        summary.healed_ms = self.healing.map_or(0, |since| (self.now - since) / MS);
        summary
    }

    pub(crate) fn schedule(&mut self, at: Micros, instance: usize, life: u64, what: What) {
        self.order += 1;
        self.queue.push(Reverse(Entry { at, order: self.order, instance, life, what }));
    }

    /// Lets something happen at an instance after a while, unless it stops before.
    pub(crate) fn at(&mut self, instance: usize, after: Micros, what: What) {
        let life = self.instances[instance].life;
        self.schedule(self.now + after, instance, life, what);
    }

    /// A chance between two numbers of microseconds.
    pub(crate) fn span(&mut self, least: Micros, most: Micros) -> Micros {
        least + self.dice.below(most - least + 1)
    }

    /// A power cut that somebody did not report has happened all the same; and background work that was asked for is done.
    fn after_event(&mut self) {
        if !self.plan.real {
            return;
        }
        for i in 0..self.instances.len() {
            if let Some(keep) = self.instances[i].tear
                && self.instances[i].disk.power_is_cut()
            {
                self.crash(i, keep);
            }
            self.want_work(i);
        }
    }

    fn happen(&mut self, entry: Entry) {
        let i = entry.instance;
        self.instances[i].set_clock(self.now);
        match entry.what {
            What::Op(index) => {
                let op = self.plan.ops[index].1;
                if self.healing.is_none() || matches!(op, Op::Write(..)) {
                    self.note(|| format!("== {op}"));
                    let told = self.check.ledger.len();
                    self.tell_story(|| format!("== {op} ({told} acknowledged so far)"));
                    self.operate(op);
                }
            }
            What::Care => {
                self.care();
                self.schedule(self.now + CARE, 0, 0, What::Care);
            }
            What::Start => {
                let failed = self.instances[i].failing.is_some();
                if !self.instances[i].up && (self.healing.is_none() || failed) {
                    self.start(i);
                }
            }
            What::Tick if entry.life != self.instances[i].life => {}
            What::Tick => {
                self.at(i, if self.plan.cluster { TICK_CLUSTER } else { TICK }, What::Tick);
                self.turn_wall_clock(i);
                if self.instances[i].paused_until <= self.now {
                    self.tick(i);
                    self.tell_applied(i);
                }
            }
            what if entry.life != self.instances[i].life || !self.instances[i].up => drop(what),
            What::Wake => self.wake(i),
            what if self.instances[i].paused_until > self.now || !self.instances[i].mail.is_empty() => {
                // Found in order when it goes on.
                if self.instances[i].mail.is_empty() {
                    let at = self.instances[i].paused_until;
                    self.schedule(at, i, entry.life, What::Wake);
                }
                self.instances[i].mail.push_back(what);
            }
            what => self.act(i, what),
        }
    }

    /// Wall clocks say now this, now that, between 1970 and 2100.
    fn turn_wall_clock(&mut self, i: usize) {
        if self.plan.walls != 0 && self.wall_dice.below(3) == 0 {
            let unix_nanos = self.wall_dice.below(4_100_000_000_000_000_000);
            self.instances[i].set_wall_clock(unix_nanos);
        }
    }

    /// A paused instance goes on, or sleeps on because it was paused again.
    fn wake(&mut self, i: usize) {
        let until = self.instances[i].paused_until;
        if until > self.now {
            let life = self.instances[i].life;
            self.schedule(until, i, life, What::Wake);
            return;
        }
        let life = self.instances[i].life;
        for what in std::mem::take(&mut self.instances[i].mail) {
            if self.instances[i].up && self.instances[i].life == life {
                self.act(i, what);
            }
        }
    }

    fn act(&mut self, i: usize, what: What) {
        match what {
            What::Deliver { from, connection, frame } => {
                if self.instances[i].connections.get(&from) == Some(&connection) {
                    self.received(i, from, frame);
                }
            }
            What::Reset { from, connection } => {
                if self.instances[i].connections.get(&from) == Some(&connection) {
                    self.disconnect(i, from, true);
                }
            }
            What::Tell(event) => self.tell(i, *event),
            What::Flush(database) => self.flush(i, database),
            What::Flushed(database, lsn) => self.flushed(i, database, lsn),
            What::Persist(revision, bytes) => self.persist(i, revision, &bytes),
            What::PersistStore(revision, bytes) => self.persist_store(i, revision, &bytes),
            What::SeedNow { peer, database } => self.seed(i, peer, database),
            What::Work => self.work(i),
            What::Op(_) | What::Tick | What::Care | What::Wake | What::Start => {}
        }
    }

    // ---- links ------------------------------------------------------------------------------------------------------

    pub(crate) fn send(&mut self, from: usize, to: usize, frame: Frame) {
        let Some(connection) = self.instances[from].connections.get(&to).copied() else { return };
        let copies = match self.dice.below(1000) {
            n if n < self.plan.lossy && self.healing.is_none() => self.dice.below(3),
            _ => 1,
        };
        for _ in 0..copies {
            let mut at = self.now + self.span(100, 2000) + self.way(from, to);
            let late = self.healing.is_none() && self.dice.below(1000) < self.plan.lossy;
            if late {
                at += self.span(0, 300 * MS);
            } else {
                at = at.max(self.last_arrival[from][to] + 1);
                self.last_arrival[from][to] = at;
            }
            if !self.cut[from][to] {
                let life = self.instances[to].life;
                let what = What::Deliver { from, connection, frame: frame.clone() };
                self.schedule(at, to, life, what);
            }
        }
    }

    /// Breaks a connection: whatever is on its way arrives before the other side is told.
    pub(crate) fn reset(&mut self, from: usize, to: usize) {
        let Some(connection) = self.instances[from].connections.remove(&to) else { return };
        let at = (self.now + self.span(100, 2000)).max(self.last_arrival[from][to] + 1);
        if !self.cut[from][to] {
            self.schedule(at, to, self.instances[to].life, What::Reset { from, connection });
        }
    }

    fn connected(&self, a: usize, b: usize) -> bool {
        let one = self.instances[a].connections.get(&b);
        one.is_some() && one == self.instances[b].connections.get(&a)
    }

    pub(crate) fn connect_all(&mut self) {
        for a in 0..self.instances.len() {
            for b in a + 1..self.instances.len() {
                let able = |w: &World, i: usize| w.instances[i].up && w.instances[i].paused_until <= w.now;
                let open = !self.cut[a][b] && !self.cut[b][a];
                if open && able(self, a) && able(self, b) && !self.connected(a, b) {
                    self.connections += 1;
                    let connection = self.connections;
                    for (me, other) in [(a, b), (b, a)] {
                        self.instances[me].connections.insert(other, connection);
                        let (peer, name) =
                            (self.instances[other].identity.instance, crate::instance::name(other));
                        self.tell(me, Event::Connected { peer, name });
                    }
                }
            }
        }
    }

    /// One side's end of a connection goes; the machine is told when `tell` says so.
    pub(crate) fn disconnect(&mut self, i: usize, peer: usize, tell: bool) {
        if self.instances[i].connections.remove(&peer).is_some() && tell && self.instances[i].up {
            let peer = self.instances[peer].identity.instance;
            let after = self.span(0, 20 * MS);
            self.at(i, after, What::Tell(Box::new(Event::Disconnected { peer })));
        }
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>9.3} {}", self.now as f64 / 1000.0, line()));
        }
    }

    /// A line of the story.
    pub(crate) fn tell_story(&mut self, line: impl FnOnce() -> String) {
        let now = self.now / MS;
        if self.healing.is_none()
            && let Some(story) = &mut self.story
        {
            story.push(format!("{now:>6} {}", line()));
        }
    }

    /// Something rare happened.
    pub(crate) fn probe(&mut self, name: &'static str) {
        *self.summary.probes.entry(name).or_default() += 1;
    }

    pub(crate) fn next_command(&mut self) -> CommandId {
        self.commands += 1;
        CommandId(self.commands)
    }
}
