//! [`Instance`]: one server process as the simulator has it: a machine ([`Node`]), engines, a disk; its life and death, and the
//! shell that hands the machine's actions to who carries them out ([`crate::copies`] where the disk has part in it).

use crate::engine::{Commit, Ends, Engine, Ground, Mode, Sender, Trouble, read_file};
use crate::world::{Frame, GROUPS, MS, Micros, What, World};
use keel_base::env::sim::{SimClock, SimDisk, SimRandom, SplitMix, Tear};
use keel_base::env::{Clock, Env};
use keel_base::{Epoch, Lsn};
use keel_cluster::{
    Action, ClusterOptions, CommandError, CommandId, Event, GroupDatabase, GroupDatabaseId, GroupId,
    GroupRecord, Identity, InstanceId, LogFacts, Msg, Node, PrimaryPlace, StoreRecord,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

pub(crate) struct Instance {
    pub(crate) identity: Identity,
    pub(crate) disk: Arc<SimDisk>,
    pub(crate) env: Env,
    clock: Arc<SimClock>,
    /// What its databases run on; in worlds with real ones.
    pub(crate) node_instance: Option<Arc<keel_node::Instance>>,
    ends: Ends,
    /// Seed of what is by chance in its databases in this life.
    chances: u64,
    /// A piece of background work is to be done soon.
    pub(crate) work_waits: bool,
    pub(crate) up: bool,
    /// Counts starts; what was scheduled for an earlier life does not happen.
    pub(crate) life: u64,
    pub(crate) node: Option<Node>,
    /// By index of the database.
    pub(crate) engines: BTreeMap<usize, Engine>,
    pub(crate) paused_until: Micros,
    /// Redo of its copies stands still.
    pub(crate) lags: bool,
    /// What came while it was paused.
    pub(crate) mail: std::collections::VecDeque<What>,
    /// How far its clock is ahead.
    pub(crate) clock_ahead: Micros,
    /// What a sync takes.
    pub(crate) sync: Micros,
    /// What its disk keeps when the power goes in the midst of an operation.
    pub(crate) tear: Option<u64>,
    /// An operation of its disk fails, or has failed; what the disk keeps when the process ends of it.
    pub(crate) failing: Option<u64>,
    /// An earlier one has failed, and the process goes on with what that left behind.
    pub(crate) struck: bool,
    /// Peer → connection.
    pub(crate) connections: BTreeMap<usize, u64>,
    /// It may write: fenced and drained primaries may not.
    pub(crate) fenced: bool,
    pub(crate) drained: bool,
    pub(crate) epoch: Epoch,
    /// The synchronized sets in the durable record, by instance.
    pub(crate) recorded: BTreeMap<GroupDatabaseId, Vec<InstanceId>>,
    /// The databases in whose set the other side's group is.
    pub(crate) mirrored: BTreeSet<GroupDatabaseId>,
    /// GRANT CREATE ANY DATABASE was given.
    pub(crate) allowed: Option<GroupId>,
    /// Copies that SET HADR OFF let go, and that are on its disk as they were.
    pub(crate) left: BTreeSet<GroupDatabaseId>,
    /// Databases that stand alone on its disk.
    pub(crate) alone: BTreeSet<GroupDatabaseId>,
    /// Copies on its disk that were let go when their group was dropped.
    pub(crate) let_go: BTreeSet<GroupDatabaseId>,
    /// Its disk was lost: what the record says it has it need not have.
    pub(crate) wiped: bool,
    /// A copy of its disk that somebody has put aside.
    aside: Option<Aside>,
    /// Its disk is one of before, and says that this instance has the only vote: it has heard of no other votes since.
    pub(crate) alone_before: bool,
    /// What the logs on a disk of before had, until they are cut or made anew.
    pub(crate) held: BTreeMap<usize, Vec<Commit>>,
    /// What each copy certainly held, as noted beside the logs; on disk.
    marks: BTreeMap<GroupDatabaseId, Lsn>,
    marked: Micros,
    /// Where clients would be sent, as of the last word of the machine.
    place: PrimaryPlace,
    pub(crate) answers: BTreeMap<CommandId, Result<(), CommandError>>,
    /// When the last record handed out is written.
    persisting_until: Micros,
    /// When the last answer of each [`Worker`] comes.
    answered_until: [Micros; 2],
    /// What was traced last of its store.
    pub(crate) store_seen: String,
    pub(crate) expecting: BTreeMap<GroupDatabaseId, usize>,
}

/// A copy of a disk.
#[derive(Clone)]
struct Aside {
    disk: Arc<SimDisk>,
    /// The marks on it.
    marks: BTreeMap<GroupDatabaseId, Lsn>,
    /// What its logs have, by index of the database.
    held: BTreeMap<usize, Vec<Commit>>,
}

/// Who does one thing after the other for an instance's machine.
#[derive(Clone, Copy)]
pub(crate) enum Worker {
    /// Writes records.
    Records,
    /// Looks at copies, cuts them, and gives them their roles.
    Copies,
}

pub(crate) fn name(i: usize) -> String {
    format!("NODE{i}")
}

pub(crate) fn instance_id(i: usize) -> InstanceId {
    InstanceId(Uuid::from_u128(0x1000 + i as u128))
}

/// Identity of the g-th membership of a database in the group.
pub(crate) fn database_id(d: usize, generation: u64) -> GroupDatabaseId {
    GroupDatabaseId(Uuid::from_u128(0xD000 + d as u128 + (u128::from(generation) << 8)))
}

pub(crate) fn index_of(id: GroupDatabaseId) -> usize {
    (id.0.as_u128() & 0xff) as usize
}

pub(crate) fn instance_index(id: InstanceId) -> usize {
    (id.0.as_u128() - 0x1000) as usize
}

pub(crate) fn database_dir(database: usize) -> PathBuf {
    PathBuf::from(format!("/data/db{database}"))
}

pub(crate) fn log_id(database: usize) -> u32 {
    77 + database as u32
}

/// Where the record of a group is.
pub(crate) fn record_path(group: GroupId) -> PathBuf {
    match GROUPS.contains(&group) {
        true => PathBuf::from("/data/group/record"),
        false => PathBuf::from(format!("/data/group/record-{}", group.0)),
    }
}

/// What copies hold is noted so often.
const MARK_EVERY: Micros = 200 * MS;
/// Room for the header at the front of a log's file.
const HEADER: u64 = 4096;
/// A process that ended of its disk's failure is started again after this.
const RESTART_AFTER: Micros = 500 * MS;
pub(crate) const STORE: &str = "/data/group/store";

fn env_of(disk: &Arc<SimDisk>, clock: &Arc<SimClock>, seed: u64) -> Env {
    Env {
        disk: Arc::new(Arc::clone(disk)),
        clock: Arc::<SimClock>::clone(clock),
        random: Arc::new(SimRandom::new(seed)),
    }
}

impl Instance {
    pub(crate) fn new(i: usize, seed: u64, ends: &Ends) -> Instance {
        let disk = SimDisk::new();
        let clock = SimClock::starting_at(1_700_000_000_000_000_000);
        let env = env_of(&disk, &clock, seed ^ (i as u64 + 1));
        Instance {
            identity: Identity { instance: instance_id(i), server_name: name(i) },
            disk,
            env,
            clock,
            node_instance: None,
            ends: Arc::clone(ends),
            chances: 0,
            work_waits: false,
            up: false,
            life: 0,
            node: None,
            engines: BTreeMap::new(),
            paused_until: 0,
            lags: false,
            mail: std::collections::VecDeque::new(),
            clock_ahead: 0,
            sync: MS,
            tear: None,
            failing: None,
            struck: false,
            connections: BTreeMap::new(),
            fenced: true,
            drained: false,
            epoch: Epoch(0),
            recorded: BTreeMap::new(),
            mirrored: BTreeSet::new(),
            allowed: None,
            left: BTreeSet::new(),
            alone: BTreeSet::new(),
            let_go: BTreeSet::new(),
            wiped: false,
            aside: None,
            alone_before: false,
            held: BTreeMap::new(),
            marks: BTreeMap::new(),
            marked: 0,
            place: PrimaryPlace::Unknown,
            answers: BTreeMap::new(),
            persisting_until: 0,
            answered_until: [0; 2],
            store_seen: String::new(),
            expecting: BTreeMap::new(),
        }
    }

    fn time(&self, now: Micros) -> Duration {
        Duration::from_micros(now + self.clock_ahead)
    }

    /// Sets the clock that its databases see.
    pub(crate) fn set_clock(&self, now: Micros) {
        self.clock.advance(self.time(now).saturating_sub(self.clock.now()));
    }

    /// Makes its wall clock say something else.
    pub(crate) fn set_wall_clock(&self, unix_nanos: u64) {
        self.clock.set_wall(unix_nanos);
    }

    /// Its disk is full, and nothing worse is under way.
    pub(crate) fn out_of_room(&self) -> bool {
        self.tear.is_none() && self.disk.is_limited()
    }

    /// What its databases stand on.
    pub(crate) fn ground(&self) -> Ground {
        Ground {
            env: self.env.clone(),
            node: self.node_instance.clone(),
            ends: Arc::clone(&self.ends),
            chances: self.chances,
        }
    }

    /// What was noted of a copy.
    pub(crate) fn mark_of(&self, database: GroupDatabaseId) -> Lsn {
        self.marks.get(&database).copied().unwrap_or_default()
    }

    /// Notes what the copies that lead or follow hold.
    fn mark(&mut self, ids: &[GroupDatabaseId]) {
        for (index, engine) in &self.engines {
            let follows = engine.mode == Mode::Secondary && engine.receiving.is_some();
            if let Some(id) = ids.get(*index).filter(|_| follows || engine.mode == Mode::Primary) {
                self.marks.insert(*id, engine.agreed().min(engine.log.hardened()));
            }
        }
    }

    pub(crate) fn remember(&mut self, record: &GroupRecord) {
        let members = |d: &GroupDatabase| {
            let members = d.synchronized.iter().filter_map(|r| record.config.instance_of(*r)).collect();
            (d.id, members)
        };
        // One database is a member of one group, and none twice.
        self.recorded.extend(record.config.databases.iter().map(members));
        let other = record.config.distributed.as_ref().and_then(|d| d.other()).map(|m| m.id);
        let mirrored =
            record.config.databases.iter().filter(|d| other.is_some_and(|o| d.synchronized.contains(&o)));
        self.mirrored = mirrored.map(|d| d.id).collect();
    }
}

/// So that the little that is written here is much.
fn options() -> ClusterOptions {
    ClusterOptions {
        redo_slack: Duration::from_millis(20),
        redo_rate_assumed: 1 << 20,
        recovery_queue_max: 32 << 10,
        ..ClusterOptions::default()
    }
}

fn place_of_primary(node: Option<&Node>) -> PrimaryPlace {
    // A group of before may be there beside the one that is led, until this instance hears that it was taken out of it.
    let mut places = node.into_iter().flat_map(Node::primaries).map(|(_, place)| place);
    places.find(|place| *place != PrimaryPlace::Unknown).unwrap_or(PrimaryPlace::Unknown)
}

impl World {
    // ---- life and death ---------------------------------------------------------------------------------------------

    /// Starts a process: opens what is on its disk.
    pub(crate) fn start(&mut self, i: usize) {
        let seed = self.dice.next();
        let now = self.now;
        let instance = &mut self.instances[i];
        instance.life += 1;
        instance.up = true;
        instance.tear = None;
        instance.failing = None;
        instance.struck = false;
        instance.fenced = true;
        instance.drained = false;
        instance.mail.clear();
        instance.place = PrimaryPlace::Unknown;
        instance.allowed = None;
        instance.recorded.clear();
        instance.expecting.clear();
        instance.connections.clear();
        instance.env = env_of(&instance.disk, &instance.clock, seed);
        instance.set_clock(now);
        let env = instance.env.clone();
        instance.work_waits = false;
        instance.chances = seed;
        if self.plan.real {
            let options = crate::real::options(&mut SplitMix(seed ^ 0x5EED));
            let node = keel_node::Instance::new(env.clone(), options);
            node.set_secrets(Arc::new(|_| Some(crate::real::SECRET.to_vec())));
            instance.node_instance = Some(node);
        }
        let ground = instance.ground();
        let mut paths: Vec<PathBuf> = self.groups_made.iter().map(|group| record_path(*group)).collect();
        paths.insert(0, record_path(GROUPS[0]));
        let read = |path: &PathBuf| read_file(env.disk.as_ref(), path);
        let records: Vec<GroupRecord> =
            paths.iter().filter_map(read).filter_map(|b| GroupRecord::decode(&b).ok()).collect();
        let time = instance.time(now);
        instance.engines.clear();
        instance.left.clear();
        instance.lags = false;
        let mut told = Vec::new();
        let mut broken = None;
        let mut opened = Vec::new();
        for record in &records {
            instance.remember(record);
            for database in &record.config.databases {
                let index = index_of(database.id);
                let gone = record.config.dropped || record.local.gone;
                if self.remade && (gone || self.database_ids[index] != database.id) {
                    continue;
                }
                if record.local.databases.get(&database.id).is_some_and(|local| local.left) {
                    instance.left.insert(database.id);
                    continue;
                }
                match Engine::open(&ground, &database_dir(index), log_id(index)) {
                    Ok(Some(engine)) => {
                        let reached = instance.marks.get(&database.id).copied().unwrap_or_default();
                        let facts = LogFacts { reached, ..engine.facts() };
                        told.push(Event::DatabaseOpened { database: database.id, facts });
                        instance.engines.insert(index, engine);
                        opened.push(index);
                    }
                    Ok(None) => {}
                    Err(_) if instance.wiped => {
                        told.push(Event::DatabaseClosed { database: database.id });
                    }
                    Err(error) => {
                        broken = Some(format!("instance {i} cannot open database {index}: {error}"))
                    }
                }
            }
        }
        if let Err(error) = instance.open_alone(&self.database_ids) {
            broken = Some(format!("instance {i}: {error}"));
        }
        let store = read_file(env.disk.as_ref(), Path::new(STORE)).and_then(|b| StoreRecord::decode(&b).ok());
        let node = Node::new(instance.identity.clone(), records, store.as_ref(), seed, time);
        let node = node.with_options(options());
        instance.node = Some(node);
        if let Some(broken) = broken {
            self.check.fail(broken);
        }
        opened.into_iter().for_each(|index| self.look(i, index));
        let offset = self.span(0, 90 * MS);
        self.at(i, offset, What::Tick);
        for event in told {
            let after = self.span(0, 30 * MS);
            self.at(i, after, What::Tell(Box::new(event)));
        }
    }

    /// The power of an instance goes.
    pub(crate) fn crash(&mut self, i: usize, keep: u64) {
        if !self.instances[i].up {
            return;
        }
        self.note(|| format!("instance {i} loses its power"));
        self.probe("power lost");
        let instance = &mut self.instances[i];
        instance.up = false;
        instance.life += 1;
        instance.node = None;
        instance.engines.clear();
        instance.node_instance = None;
        let tear = match keep % 4 {
            0 => Tear::LoseAll,
            1 => Tear::KeepAll,
            _ => Tear::Random(keep),
        };
        instance.disk = instance.disk.crash(tear);
        instance.connections.clear();
        for peer in 0..self.instances.len() {
            // A machine that loses its power says nothing; a process that dies has its sockets closed.
            if peer != i && !keep.is_multiple_of(3) && !self.cut[i][peer] {
                self.disconnect(peer, i, true);
            }
        }
    }

    /// The power goes and the disk is lost.
    pub(crate) fn wipe(&mut self, i: usize) {
        self.crash(i, 1);
        self.probe("disk lost");
        let instance = &mut self.instances[i];
        instance.disk = SimDisk::new();
        instance.recorded.clear();
        instance.marks.clear();
        instance.alone.clear();
        instance.let_go.clear();
        instance.held.clear();
        instance.alone_before = false;
        instance.wiped = true;
    }

    /// A copy is made of the disk, as it would be found after a power cut now.
    pub(crate) fn put_aside(&mut self, i: usize) {
        let indices: Vec<usize> = self.instances[i].engines.keys().copied().collect();
        let held = indices.into_iter().map(|d| (d, self.commits_of(i, d))).collect();
        let instance = &mut self.instances[i];
        let (disk, marks) = (instance.disk.crash(Tear::KeepAll), instance.marks.clone());
        instance.aside = Some(Aside { disk, marks, held });
    }

    /// The power goes, and what comes back is the disk that was put aside.
    pub(crate) fn go_back(&mut self, i: usize) {
        let Some(Aside { disk, marks, held }) = self.instances[i].aside.clone() else { return };
        self.crash(i, 1);
        self.probe("disk of before");
        let instance = &mut self.instances[i];
        instance.disk = disk.crash(Tear::KeepAll);
        instance.recorded.clear();
        instance.marks = marks;
        instance.wiped = true;
        instance.held = held;
        instance.alone_before = true;
    }

    /// The last bytes of the logs of an instance that is down are lost.
    pub(crate) fn damage(&mut self, i: usize, bytes: u64) {
        self.probe("end of a log lost");
        let disk = Arc::clone(&self.instances[i].disk);
        for database in 0..self.plan.databases {
            let log = database_dir(database).join("log");
            let mut files = keel_base::env::Disk::list(&disk, &log).unwrap_or_default();
            files.sort();
            let last = files.into_iter().rev().find_map(|f| {
                let path = if f.starts_with(&log) { f } else { log.join(f) };
                let end = disk.contents(&path)?.iter().rposition(|b| *b != 0)? as u64;
                (end > HEADER).then_some((path, end))
            });
            if let Some((path, end)) = last {
                // A header is at the front of each file; what is lost is behind it.
                (0..=bytes)
                    .filter(|back| end > back + 4096)
                    .for_each(|back| disk.flip(&path, end - back, 0xff));
            }
        }
        self.instances[i].wiped = true;
    }

    /// A disk operation failed. If the power was to go in the midst of one, this is it; if the disk was to fail, the process
    /// ends of it and is started again.
    pub(crate) fn disk_failed(&mut self, i: usize, error: &Trouble) {
        let (tear, failing) = (self.instances[i].tear, self.instances[i].failing);
        self.note(|| format!("instance {i}: {error}"));
        match (tear, failing) {
            (Some(keep), _) => self.crash(i, keep),
            (None, Some(keep)) => {
                self.probe("ended by a failure of its disk");
                self.crash(i, keep);
                self.schedule(self.now + RESTART_AFTER, i, 0, What::Start);
            }
            (None, None) => self.check.fail(format!("instance {i}: {error}")),
        }
    }

    // ---- the machine ------------------------------------------------------------------------------------------------

    pub(crate) fn tick(&mut self, i: usize) {
        let now = self.now;
        let instance = &mut self.instances[i];
        if now >= instance.marked + MARK_EVERY {
            instance.marked = now;
            instance.mark(&self.database_ids);
            self.hold_log(i);
        }
        let instance = &mut self.instances[i];
        let time = instance.time(now);
        self.tell_untold(i);
        let Some(node) = self.instances[i].node.as_mut() else { return };
        let actions = node.tick(time);
        self.perform(i, actions);
        self.check_store(i);
    }

    /// Members that have applied the same have decided the same; and who sends clients on knows where the primary is.
    fn check_store(&mut self, i: usize) {
        let instance = &self.instances[i];
        let place = place_of_primary(instance.node.as_ref());
        if instance.up && place != instance.place {
            let told = instance.place;
            self.check
                .fail(format!("instance {i} knows the primary {place:?} and its shell was told {told:?}"));
        }
        let position = self.instances[i].node.as_ref().and_then(Node::store_position);
        if let Some((generation, applied, digest)) = position {
            let side = self.side_of(i);
            if self.decides_alone_from_before(i) {
                return;
            }
            self.check.store_applied(i, (side, generation, applied), digest);
            self.tell_votes(i);
            self.trace_store(i);
            let node = self.instances[i].node.as_ref();
            let newest = node.into_iter().flat_map(Node::agreed_configs).max_by_key(|c| c.stamp);
            let known = &mut self.agreed[side];
            if let Some(newest) = newest.filter(|n| known.as_ref().is_none_or(|a| a.stamp < n.stamp)) {
                *known = Some(newest.clone());
            }
        }
    }

    /// The only vote, by a disk of before, has elected itself where nobody could tell it that others vote since: more than is survived,
    /// because nothing tells that disk from one that may. The world ends here.
    fn decides_alone_from_before(&mut self, i: usize) -> bool {
        let instance = &self.instances[i];
        let status = instance.node.as_ref().filter(|_| instance.alone_before).and_then(Node::cluster_status);
        let Some(status) = status else { return false };
        let mut voters = status.members.iter().filter(|m| m.vote);
        let alone = voters.clone().all(|m| m.local);
        let leads = alone && voters.any(|m| m.leads);
        self.instances[i].alone_before = alone;
        let ends = leads && self.instances[i].connections.is_empty();
        if ends {
            self.probe("decided alone by a disk of before");
            self.unjudged = true;
        }
        ends
    }

    /// What a primary's own log has hardened while others held the commit point: the machine hears it before anything else.
    fn tell_untold(&mut self, i: usize) {
        for (index, database) in self.database_ids.clone().into_iter().enumerate() {
            let Some(engine) = self.instances[i].engines.get_mut(&index) else { continue };
            let lsn = std::mem::take(&mut engine.untold).min(engine.log.hardened());
            if lsn > Lsn::ZERO && engine.mode == Mode::Primary {
                self.step(i, Event::Hardened { database, lsn });
            }
        }
    }

    pub(crate) fn tell(&mut self, i: usize, event: Event) {
        self.tell_untold(i);
        self.step(i, event);
    }

    fn step(&mut self, i: usize, event: Event) {
        let now = self.now;
        let tracing = self.trace.is_some();
        let said = if tracing { format!("{event:?}") } else { String::new() };
        let instance = &mut self.instances[i];
        if matches!(&event, Event::Disconnected { peer } if instance.connections.contains_key(&instance_index(*peer)))
        {
            // It was connected anew meanwhile.
            return;
        }
        let copy = |database: &GroupDatabaseId| instance.engines.contains_key(&index_of(*database));
        if matches!(&event, Event::DatabaseOpened { database, .. } if !copy(database)) {
            // It was thrown away meanwhile.
            return;
        }
        let time = instance.time(now);
        let Some(node) = instance.node.as_mut() else { return };
        let actions = node.step(time, event);
        let dull = ["Beat(", "Pulse(", "Store("].iter().any(|d| said.contains(d));
        if tracing && !(dull && actions.is_empty()) {
            self.note(|| format!("{i} < {said}"));
        }
        self.perform(i, actions);
        self.check_store(i);
    }

    fn perform(&mut self, i: usize, actions: Vec<Action>) {
        for action in actions {
            if !self.instances[i].up {
                return;
            }
            let dull = matches!(
                &action,
                Action::Send { msg: Msg::Beat(_) | Msg::Pulse(_) | Msg::Store(_), .. }
                    | Action::PersistStore { .. }
            );
            if self.trace.is_some() && !dull {
                let said = format!("{i} > {action:?}");
                self.note(|| said);
            }
            self.carry_out(i, action);
        }
    }

    /// The answer of one who does one thing after the other: after the answer to what was asked before.
    pub(crate) fn answer_in_order(
        &mut self,
        i: usize,
        worker: Worker,
        (least, most): (Micros, Micros),
        event: Event,
    ) {
        let after = self.span(least, most);
        let until = &mut self.instances[i].answered_until[worker as usize];
        let at = (self.now + after).max(*until + 1);
        *until = at;
        self.at(i, at - self.now, What::Tell(Box::new(event)));
    }

    pub(crate) fn answer(&mut self, i: usize, least: Micros, most: Micros, event: Event) {
        let after = self.span(least, most);
        self.at(i, after, What::Tell(Box::new(event)));
    }

    fn carry_out(&mut self, i: usize, action: Action) {
        self.count(&action);
        if self.story.is_some() {
            self.chronicle(i, &action);
        }
        match action {
            Action::Send { peer, msg } => self.send(i, instance_index(peer), Frame::Control(msg.encode())),
            Action::Disconnect { peer } => self.reset(i, instance_index(peer)),
            Action::Persist { revision, record, .. } => {
                self.note_claim(i, &record.config);
                let after = self.instances[i].sync;
                let done = self.now + self.span(after / 2, after + 2 * MS);
                // One after the other, in order.
                let done = done.max(self.instances[i].persisting_until + 1);
                self.instances[i].persisting_until = done;
                self.at(i, done - self.now, What::Persist(revision, record.encode()));
            }
            Action::PersistStore { revision, record } => {
                let after = self.instances[i].sync;
                let done = self.now + self.span(after / 2, after + MS);
                let done = done.max(self.instances[i].persisting_until + 1);
                self.instances[i].persisting_until = done;
                self.at(i, done - self.now, What::PersistStore(revision, record.encode()));
            }
            Action::ForgetStore => self.remove_small(i, Path::new(STORE)),
            Action::Forget { group } => self.forget(i, group),
            Action::Agree { database, lsn } => self.agree(i, database, lsn),
            Action::ApplyUpTo { database, lsn } => self.apply(i, database, lsn),
            Action::StartSending { peer, database, session, from, limit } => {
                let peer = instance_index(peer);
                if let Some(engine) = self.engine(i, database) {
                    engine.senders.insert(peer, Sender { session, next: from, limit, unfinished: true });
                    self.pump(i, database, peer);
                }
            }
            Action::SendUntil { peer, database, session, limit } => {
                let peer = instance_index(peer);
                let sender = self.engine(i, database).and_then(|e| e.senders.get_mut(&peer));
                if let Some(sender) = sender.filter(|s| s.session == session) {
                    sender.limit = limit;
                    self.pump(i, database, peer);
                }
            }
            Action::SlowWriters { .. } => {}
            Action::StopSending { peer, database } => {
                if let Some(engine) = self.engine(i, database) {
                    engine.senders.remove(&instance_index(peer));
                }
            }
            Action::Inspect { database, session } => self.inspect(i, database, session),
            Action::CutLog { database, session, at } => self.cut_log(i, database, session, at),
            Action::Receive { database, peer, session, epoch, from } => {
                if let Some(engine) = self.engine(i, database) {
                    engine.log.set_epoch(epoch);
                    let stands = engine.log.appended() == from && engine.mode == Mode::Secondary;
                    engine.applied_told = Lsn::ZERO;
                    engine.receiving = Some((instance_index(peer), session, epoch));
                    engine.ack_limit = Lsn::MAX;
                    if !stands {
                        self.check.fail(format!("instance {i} is told to receive where it does not stand"));
                    }
                }
            }
            Action::AckUpTo { database, lsn } => self.acknowledge_up_to(i, database, lsn),
            Action::StopReceiving { database } => {
                self.instances[i].expecting.remove(&database);
                if let Some(engine) = self.engine(i, database) {
                    engine.receiving = None;
                }
            }
            Action::Promote { group, epoch, databases } => self.promote(i, group, epoch, &databases, true),
            Action::PromoteDatabase { group, epoch, database } => {
                self.promote(i, group, epoch, &[database], false);
            }
            Action::Demote { group, databases } => {
                for database in databases {
                    if let Some(engine) = self.engine(i, database) {
                        let demoted = engine.content.demote();
                        engine.mode = Mode::Secondary;
                        engine.pending.clear();
                        engine.senders.clear();
                        if let Err(error) = demoted {
                            self.disk_failed(i, &error);
                        }
                        self.look(i, index_of(database));
                    }
                }
                self.answer_in_order(i, Worker::Copies, (MS, 20 * MS), Event::Demoted { group });
            }
            Action::Fence { .. } => {
                let instance = &mut self.instances[i];
                instance.fenced = true;
                let mut trouble = None;
                for engine in instance.engines.values_mut() {
                    engine.pending.clear();
                    trouble = trouble.or(engine.content.fence().err());
                }
                if let Some(error) = trouble {
                    self.disk_failed(i, &error);
                }
            }
            Action::Drain { group } => {
                self.instances[i].drained = true;
                let mut ends = Vec::new();
                for id in self.database_ids.clone() {
                    if !self.flush_now(i, index_of(id)) {
                        return;
                    }
                    if let Some(engine) = self.engine(i, id).filter(|e| e.mode == Mode::Primary) {
                        ends.push((id, engine.log.hardened()));
                    }
                }
                // What was hardened just now must be known before the ends are.
                for (database, lsn) in ends.clone() {
                    self.at(i, 0, What::Tell(Box::new(Event::Hardened { database, lsn })));
                }
                let sync = self.instances[i].sync;
                let event = Event::Drained { group, ends };
                self.answer_in_order(i, Worker::Copies, (sync, sync + 2 * MS), event);
            }
            Action::Undrain { .. } => self.instances[i].drained = false,
            Action::Release { database, writable } => self.release(i, database, writable),
            Action::Seed { peer, database } => {
                let after = self.span(20 * MS, 100 * MS);
                self.at(i, after, What::SeedNow { peer: instance_index(peer), database });
            }
            Action::ExpectSeed { peer, database } => {
                self.instances[i].expecting.insert(database, instance_index(peer));
                // What is there makes room.
                if self.instances[i].engines.remove(&index_of(database)).is_some() {
                    self.at(i, 0, What::Tell(Box::new(Event::DatabaseClosed { database })));
                }
            }
            Action::Reply { command, result } => {
                self.instances[i].answers.insert(command, result);
            }
            Action::PrimaryMoved { .. } => {
                let instance = &mut self.instances[i];
                instance.place = place_of_primary(instance.node.as_ref());
            }
            Action::Log(_) => {}
        }
    }

    pub(crate) fn engine(&mut self, i: usize, database: GroupDatabaseId) -> Option<&mut Engine> {
        let index = index_of(database);
        if self.database_ids.get(index) != Some(&database) {
            return None;
        }
        self.instances[i].engines.get_mut(&index)
    }
}
