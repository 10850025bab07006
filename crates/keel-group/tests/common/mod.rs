//! Three instances in one process, over loopback: what the tests of groups share.

use keel_base::env::sim::{SimDisk, SimRandom, Tear};
use keel_base::env::{Env, real};
use keel_base::{DatabaseId, TreeId};
use keel_cluster::{
    AvailabilityMode, ClusterType, Command, CopyStatus, DatabaseStatus, FailoverMode, GroupConfig,
    GroupDatabase, GroupDatabaseId, GroupId, GroupOptions, GroupStatus, LogEntry, Replica, ReplicaId,
    ReplicaOptions, RoleStatus, SeedingMode, SynchronizationState,
};
use keel_group::{EndpointConfig, Groups, GroupsOptions, Host, Place, RoleChange};
use keel_node::{Database, DbOptions, Direction, Instance, InstanceOptions, Isolation, TxnError};
use keel_store::row::RowBuilder;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use uuid::Uuid;

pub const TREE: TreeId = TreeId(10);
pub const DB: &str = "Shop";
const DIR: &str = "data/shop";
pub const GROUP: GroupId = GroupId(Uuid::from_u128(0xA6));
pub const DATABASE: GroupDatabaseId = GroupDatabaseId(Uuid::from_u128(0xDB));
const LONG: Duration = Duration::from_secs(120);

/// Waits for a condition; fails with `what` when it does not come.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "this did not happen: {what}");
        thread::park_timeout(Duration::from_millis(2));
    }
}

pub fn env(disk: &Arc<SimDisk>, seed: u64) -> Env {
    Env {
        disk: Arc::new(Arc::clone(disk)),
        clock: Arc::new(real::RealClock::new()),
        random: Arc::new(SimRandom::new(seed)),
    }
}

/// What a host can do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It panics when it is asked for a place.
    NoPlace,
    /// It cannot write down that it has a seeded database.
    NotNoted,
    /// It panics when it is told that the process is alive.
    NotAlive,
}

/// Remembers what it was told, and makes room for seeded databases.
pub struct TestHost {
    name: String,
    pub lines: Mutex<Vec<String>>,
    pub changes: Mutex<Vec<RoleChange>>,
    pub seeded: Mutex<BTreeMap<String, Arc<Database>>>,
    /// What it does wrong the next time, once.
    pub trouble: Mutex<Option<Trouble>>,
    instance: Arc<Instance>,
    next: Mutex<u32>,
}

impl TestHost {
    fn line(&self, line: String) {
        if std::env::var_os("KEEL_TEST_LOG").is_some() {
            let since = self.instance.env().clock.now();
            eprintln!("{since:>12.3?} {}: {line}", self.name);
        }
        self.lines.lock().push(line);
    }

    /// Whether it is to do this wrong now.
    fn is_in(&self, trouble: Trouble) -> bool {
        self.trouble.lock().take_if(|told| *told == trouble).is_some()
    }
}

impl Host for TestHost {
    fn role_changed(&self, change: &RoleChange) {
        self.line(format!("{} is {:?}, usable {}", change.name, change.role, change.usable));
        self.changes.lock().push(change.clone());
    }

    fn log(&self, entry: &LogEntry) {
        self.line(format!("{:?}", entry.what));
    }

    fn note(&self, _database: Option<GroupDatabaseId>, text: &str) {
        self.line(text.to_owned());
    }

    fn alive(&self, _peers: usize) {
        assert!(!self.is_in(Trouble::NotAlive), "it was told to");
    }

    fn place(&self, name: &str) -> Result<Place, String> {
        assert!(!self.is_in(Trouble::NoPlace), "it was told to");
        let mut next = self.next.lock();
        *next += 1;
        Ok(Place {
            instance: Arc::clone(&self.instance),
            id: DatabaseId(*next),
            dir: PathBuf::from(format!("data/{}-{next}", name.to_lowercase())),
            options: DbOptions::default(),
        })
    }

    fn seeded(&self, name: &str, _place: &Place, database: &Arc<Database>) -> Result<(), String> {
        if self.is_in(Trouble::NotNoted) {
            return Err("the disk is full".into());
        }
        self.seeded.lock().insert(name.to_owned(), Arc::clone(database));
        Ok(())
    }

    fn seeding_ended(&self, name: &str, _place: &Place) {
        self.line(format!("seeding of {name} was given up"));
    }
}

pub struct Node {
    pub name: String,
    pub disk: Arc<SimDisk>,
    pub instance: Arc<Instance>,
    pub host: Arc<TestHost>,
    pub groups: Groups,
    pub url: String,
    db: Mutex<Option<Arc<Database>>>,
}

impl Node {
    /// Starts an instance over what its disk holds.
    pub fn start(name: &str, disk: &Arc<SimDisk>, seed: u64, port: u16) -> Node {
        Node::start_with(GroupsOptions::new(name), disk, seed, port)
    }

    /// The same, set up otherwise.
    pub fn start_with(setup: GroupsOptions, disk: &Arc<SimDisk>, seed: u64, port: u16) -> Node {
        let name = setup.server_name.clone();
        let env = env(disk, seed);
        let options = InstanceOptions { memory_bytes: 64 << 20, ..InstanceOptions::default() };
        let instance = Instance::new(env.clone(), options);
        let host = Arc::new(TestHost {
            name: name.clone(),
            lines: Mutex::default(),
            changes: Mutex::default(),
            seeded: Mutex::default(),
            trouble: Mutex::default(),
            instance: Arc::clone(&instance),
            next: Mutex::new(100),
        });
        let groups = Groups::open(&env, Path::new("groups"), setup, Arc::clone(&host) as _).unwrap();
        let local = Some("127.0.0.1".parse().unwrap());
        let address = groups.set_endpoint(EndpointConfig::started(local, port)).unwrap().unwrap();
        let url = format!("TCP://127.0.0.1:{}", address.port());
        groups.set_endpoint_url(&url);
        Node { name, disk: Arc::clone(disk), instance, host, groups, url, db: Mutex::default() }
    }

    /// Opens the database that the disk holds and makes it known.
    pub fn open_database(&self) -> Arc<Database> {
        let options = DbOptions::default();
        let db =
            Database::open(&self.instance, DatabaseId(5), Path::new(DIR), &options, &mut |_| ()).unwrap();
        self.adopt(&db);
        db
    }

    pub fn adopt(&self, db: &Arc<Database>) {
        *self.db.lock() = Some(Arc::clone(db));
        self.groups.register_database(DB, db);
    }

    pub fn db(&self) -> Arc<Database> {
        let own = self.db.lock().clone();
        own.or_else(|| self.host.seeded.lock().get(DB).cloned()).expect("the instance has the database")
    }

    pub fn status(&self) -> Option<GroupStatus> {
        self.groups.state().groups.into_iter().find(|g| g.config.id == GROUP)
    }

    pub fn role(&self) -> RoleStatus {
        self.status().map(|g| g.role).unwrap_or_default()
    }

    pub fn database_status(&self) -> Option<DatabaseStatus> {
        self.status()?.databases.into_iter().find(|d| d.database == DATABASE)
    }

    /// Everybody else is synchronized and takes this primary's log, as it sees them.
    pub fn all_synchronized(&self, others: usize) -> bool {
        self.role() == RoleStatus::Primary
            && self.database_status().is_some_and(|d| {
                let whole =
                    |c: &&CopyStatus| c.state == SynchronizationState::Synchronized && c.commit_participant;
                d.copies.iter().filter(whole).count() == others
            })
    }

    pub fn command(&self, command: Command) {
        let what = format!("{command:?}");
        if let Err(error) = self.groups.command(command, LONG) {
            panic!("{} refused {}: {error}", self.name, &what[..what.len().min(80)]);
        }
    }

    pub fn put(&self, key: u32, value: &str) -> Result<(), TxnError> {
        put(&self.db(), key, value)
    }

    pub fn rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        rows(&self.db())
    }

    pub fn stop(self) -> Arc<SimDisk> {
        self.groups.stop();
        let db = self.db.lock().take();
        if let Some(db) = db {
            db.close().unwrap();
        }
        Arc::clone(&self.disk)
    }
}

pub fn put(db: &Arc<Database>, key: u32, value: &str) -> Result<(), TxnError> {
    let row = RowBuilder::build(&[Some(value.as_bytes()), Some(b"second")]);
    let mut txn = db.begin(Isolation::ReadCommitted);
    txn.insert(TREE, &key.to_be_bytes(), &row)?;
    txn.commit()?.wait()
}

pub fn rows(db: &Arc<Database>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut txn = db.begin(Isolation::Snapshot);
    let view = txn.statement_snapshot();
    let mut cursor = txn.scan(&view, TREE, Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
    let mut found = BTreeMap::new();
    while let Some((key, row)) = cursor.next().unwrap() {
        found.insert(key.to_vec(), row.to_vec());
    }
    found
}

/// How the group is made.
#[derive(Clone, Copy)]
pub struct Setup {
    pub modes: [AvailabilityMode; 3],
    pub seeding: SeedingMode,
    /// Rows before the group exists.
    pub rows: u32,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { modes: [AvailabilityMode::Synchronous; 3], seeding: SeedingMode::Manual, rows: 20 }
    }
}

pub struct Cluster {
    pub nodes: Vec<Node>,
}

impl Cluster {
    /// Three instances that trust each other through join tokens, the first with the database, the others with a copy of
    /// its files unless it is to be seeded.
    pub fn start(setup: &Setup) -> Cluster {
        let disk = SimDisk::new();
        make_database(&disk, setup.rows);
        let copies: Vec<Arc<SimDisk>> = match setup.seeding {
            SeedingMode::Manual => (0..2).map(|_| copy_of(&disk)).collect(),
            SeedingMode::Automatic => (0..2).map(|_| SimDisk::new()).collect(),
        };
        let mut nodes = vec![Node::start("A", &disk, 11, 0)];
        nodes[0].open_database();
        for (i, copy) in copies.iter().enumerate() {
            let node = Node::start(["B", "C"][i], copy, 12 + i as u64, 0);
            if setup.seeding == SeedingMode::Manual {
                node.open_database();
            }
            let token = nodes[0].groups.invite(Duration::from_secs(600)).unwrap();
            node.groups.join(&token).unwrap();
            nodes.push(node);
        }
        until("all three know each other", || nodes.iter().all(|n| n.groups.members().len() == 2));
        until("all three are connected", || {
            nodes.iter().all(|n| n.groups.state().peers.iter().filter(|p| p.connected).count() == 2)
        });
        Cluster { nodes }
    }

    /// The same, with a group over all three and the first as its primary.
    pub fn with_group(setup: &Setup) -> Cluster {
        let cluster = Cluster::start(setup);
        cluster.make_group(setup);
        cluster
    }

    pub fn make_group(&self, setup: &Setup) {
        let cluster = self;
        let mut config = GroupConfig::new(
            GROUP,
            "sales",
            GroupOptions { cluster_type: ClusterType::None, ..GroupOptions::default() },
        );
        for (i, node) in cluster.nodes.iter().enumerate() {
            let mut options = ReplicaOptions::new(node.url.clone(), setup.modes[i], FailoverMode::Manual);
            options.seeding_mode = setup.seeding;
            config.replicas.push(Replica::new(replica(i), node.name.clone(), options));
        }
        let log = cluster.nodes[0].db().log().unwrap().clone();
        config.databases.push(GroupDatabase::new(DATABASE, DB, log.log_id()));
        cluster.nodes[0].command(Command::CreateGroup { config: Box::new(config), log_epoch: log.epoch() });
        for node in &cluster.nodes[1..] {
            node.command(Command::Join { name: "sales".into(), cluster_type: None });
            node.command(Command::AllowCreate { group: GROUP, allowed: true });
        }
    }

    pub fn primary(&self) -> &Node {
        self.nodes.iter().find(|n| n.role() == RoleStatus::Primary).expect("there is a primary")
    }

    /// Every copy has applied what the primary has committed, and holds the same rows.
    pub fn assert_equal(&self) {
        let end = self.primary().db().hardened();
        let expected = self.primary().rows();
        for node in &self.nodes {
            until("the copy has applied everything", || node.db().applied() >= end);
            assert!(node.rows() == expected, "{} holds other rows", node.name);
        }
    }
}

pub fn replica(i: usize) -> ReplicaId {
    ReplicaId(Uuid::from_u128(0x100 + i as u128))
}

fn make_database(disk: &Arc<SimDisk>, rows: u32) {
    let instance = Instance::new(env(disk, 1), InstanceOptions::default());
    let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &DbOptions::default()).unwrap();
    (0..rows).for_each(|key| put(&db, key, "before").unwrap());
    db.close().unwrap();
}

/// As if the files had been restored: a member of a group without a role.
fn copy_of(disk: &Arc<SimDisk>) -> Arc<SimDisk> {
    let copy = disk.crash(Tear::KeepAll);
    let instance = Instance::new(env(&copy, 2), InstanceOptions::default());
    let options = DbOptions::default();
    let db = Database::open(&instance, DatabaseId(5), Path::new(DIR), &options, &mut |_| ()).unwrap();
    let epoch = db.log().unwrap().epoch();
    db.enter_group(epoch).unwrap();
    db.fence("restored");
    db.close().unwrap();
    copy
}
