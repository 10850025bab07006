//! What a synchronous secondary costs: commits a second stand-alone, with one and with two synchronous secondaries, at several
//! numbers of sessions, in one run on one machine; TLS on, all instances in this process.
//!
//! `cargo run --release -p keel-group --example sync_cost -- <directory> [seconds per figure]`
//!
//! The directory should be on the disk that matters. Each commit inserts one row of a hundred bytes. Ratios are against the
//! stand-alone figure of the same run with the same sessions.

use keel_base::env::Env;
use keel_base::{DatabaseId, TreeId};
use keel_cluster::{
    AvailabilityMode, ClusterType, Command, FailoverMode, GroupConfig, GroupDatabase, GroupDatabaseId,
    GroupId, GroupOptions, LogEntry, Replica, ReplicaId, ReplicaOptions, SeedingMode,
};
use keel_group::{EndpointConfig, Groups, GroupsOptions, Host, Place, RoleChange};
use keel_node::{Database, DbOptions, Instance, InstanceOptions, Isolation};
use keel_store::row::RowBuilder;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use uuid::Uuid;

const GROUP: GroupId = GroupId(Uuid::from_u128(1));
const WAIT: Duration = Duration::from_secs(60);

struct Seeded {
    instance: Arc<Instance>,
    dir: PathBuf,
}

impl Host for Seeded {
    fn role_changed(&self, _change: &RoleChange) {}
    fn log(&self, _entry: &LogEntry) {}
    fn note(&self, _database: Option<GroupDatabaseId>, text: &str) {
        eprintln!("note: {text}");
    }
    fn place(&self, name: &str) -> Result<Place, String> {
        let dir = self.dir.join(name);
        let instance = Arc::clone(&self.instance);
        Ok(Place { instance, id: DatabaseId(6), dir, options: DbOptions::default() })
    }
    fn seeded(&self, _name: &str, _place: &Place, _database: &Arc<Database>) -> Result<(), String> {
        Ok(())
    }
    fn seeding_ended(&self, _name: &str, _place: &Place) {}
}

struct Member {
    name: String,
    instance: Arc<Instance>,
    groups: Groups,
    url: String,
    dir: PathBuf,
}

fn start(dir: &Path, name: &str) -> Result<Member, Box<dyn Error>> {
    let dir = dir.join(name);
    std::fs::create_dir_all(&dir)?;
    let env = Env::real();
    let instance = Instance::new(env.clone(), InstanceOptions::default());
    let host = Arc::new(Seeded { instance: Arc::clone(&instance), dir: dir.clone() });
    let groups = Groups::open(&env, &dir.join("groups"), GroupsOptions::new(name), host)?;
    let local = Some("127.0.0.1".parse()?);
    let address = groups.set_endpoint(EndpointConfig::started(local, 0))?.ok_or("it listens")?;
    let url = format!("TCP://{address}");
    groups.set_endpoint_url(&url);
    Ok(Member { name: name.into(), instance, groups, url, dir })
}

/// Commits a second with so many sessions.
fn measure(db: &Arc<Database>, next: &Arc<AtomicU64>, sessions: usize, time: Duration) -> f64 {
    let stopping = Arc::new(AtomicBool::new(false));
    let commits = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let threads: Vec<_> = (0..sessions)
        .map(|_| {
            let (db, next) = (Arc::clone(db), Arc::clone(next));
            let (stopping, commits) = (Arc::clone(&stopping), Arc::clone(&commits));
            thread::spawn(move || {
                let row = RowBuilder::build(&[Some(&[7; 90]), Some(b"ten bytes.")]);
                while !stopping.load(Ordering::Relaxed) {
                    let key = next.fetch_add(1, Ordering::Relaxed).to_be_bytes();
                    let mut txn = db.begin(Isolation::ReadCommitted);
                    let done = txn.insert(TreeId(10), &key, &row).and_then(|()| txn.commit()?.wait());
                    if let Err(error) = done {
                        return eprintln!("a session ended: {error}");
                    }
                    commits.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    thread::sleep(time);
    stopping.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|t| drop(t.join()));
    commits.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64()
}

fn synchronized(member: &Member) -> usize {
    let state = member.groups.state();
    let databases = state.groups.iter().flat_map(|g| &g.databases);
    databases.flat_map(|d| &d.copies).filter(|c| c.commit_participant).count()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().ok_or("a directory is wanted")?);
    let time = Duration::from_secs_f64(args.next().map_or(Ok(3.0), |s| s.parse())?);
    let next = Arc::new(AtomicU64::new(0));
    let members = [start(&dir, "A")?, start(&dir, "B")?, start(&dir, "C")?];
    let [a, b, c] = &members;
    let db = Database::create(&a.instance, DatabaseId(5), &a.dir.join("db"), &DbOptions::default())?;
    let counts = [1, 4, 16];
    let alone = counts.map(|sessions| measure(&db, &next, sessions, time));
    for joiner in [b, c] {
        joiner.groups.join(&a.groups.invite(WAIT)?)?;
    }
    a.groups.register_database("db", &db);
    let log = db.log().ok_or("a durable database has a log")?;
    let options = GroupOptions { cluster_type: ClusterType::None, ..GroupOptions::default() };
    let mut config = GroupConfig::new(GROUP, "cost", options);
    for (i, member) in members.iter().enumerate() {
        let mut options =
            ReplicaOptions::new(member.url.clone(), AvailabilityMode::Synchronous, FailoverMode::Manual);
        options.seeding_mode = SeedingMode::Automatic;
        let id = ReplicaId(Uuid::from_u128(10 + i as u128));
        config.replicas.push(Replica::new(id, member.name.clone(), options));
    }
    let database = GroupDatabase::new(GroupDatabaseId(Uuid::from_u128(2)), "db", log.log_id());
    config.databases.push(database);
    a.groups.command(Command::CreateGroup { config: Box::new(config), log_epoch: log.epoch() }, WAIT)?;
    let mut rows = vec![("stand-alone", alone, alone)];
    for (joiner, name) in [(b, "one secondary"), (c, "two secondaries")] {
        joiner.groups.command(Command::Join { name: "cost".into(), cluster_type: None }, WAIT)?;
        joiner.groups.command(Command::AllowCreate { group: GROUP, allowed: true }, WAIT)?;
        while synchronized(a) < rows.len() {
            thread::sleep(Duration::from_millis(10));
        }
        rows.push((name, counts.map(|sessions| measure(&db, &next, sessions, time)), alone));
    }
    println!("{:<16} {}", "", counts.map(|n| format!("{n:>6} sessions")).join("  "));
    for (name, figures, alone) in rows {
        let cell = |i: usize| format!("{:>8.0} ({:.2})", figures[i], figures[i] / alone[i]);
        println!("{name:<16} {}  {}  {}", cell(0), cell(1), cell(2));
    }
    for peer in a.groups.state().peers {
        let c = peer.counters;
        println!(
            "{}: written by flush leaders {}, by the sender thread {}",
            peer.name, c.leader_writes, c.sender_writes
        );
    }
    Ok(())
}
