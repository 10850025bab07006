//! A group of real processes under load while something happens to one of them, or to the network between them. Afterwards
//! every acknowledged commit is there, and all replicas hold the same rows.
//!
//! What needs root (namespaces, small and slow disks) is skipped with a line when there is none.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use std::path::{Path, PathBuf};

use keel_bench::command;
use keel_bench::fleet::{Fleet, Mode, until};
use keel_bench::ledger::Clients;
use keel_bench::tds::Launch;
use keel_bench::thin_link::Namespace;
use keel_workload::Connection;

const KEEL: &str = env!("CARGO_BIN_EXE_keel");
const DATABASE: &str = "shop";
const CLIENTS: u64 = 3;
/// The product's least.
const SESSION_TIMEOUT_SECONDS: u32 = 5;

/// A group of two with clients. The first is its primary.
struct World {
    fleet: Fleet,
    clients: Clients,
    _dir: Scratch,
}

/// A directory of this test's own; everything mounted below it goes with it.
struct Scratch {
    dir: PathBuf,
    mounts: Vec<PathBuf>,
}

impl Scratch {
    fn new(test: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("keel-faults-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        Scratch { dir, mounts: Vec::new() }
    }

    fn launches(&self) -> Vec<Launch> {
        Fleet::launches(Path::new(KEEL), &self.dir, 2, &["--max-server-memory", "192"]).unwrap()
    }

    /// A disk of so many megabytes in place of an instance's data directory.
    fn small_disk(&mut self, launch: &Launch, megabytes: u32) {
        std::fs::create_dir_all(&launch.data).unwrap();
        let size = format!("size={megabytes}m");
        command(&["mount", "-t", "tmpfs", "-o", &size, "tmpfs", launch.data.to_str().unwrap()]).unwrap();
        self.mounts.push(launch.data.clone());
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for mount in &self.mounts {
            let _ = command(&["umount", "-l", mount.to_str().unwrap()]);
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl World {
    fn new(test: &str) -> World {
        let dir = Scratch::new(test);
        let launches = dir.launches();
        World::of(dir, launches)
    }

    fn of(dir: Scratch, launches: Vec<Launch>) -> World {
        let mut fleet = Fleet::start(launches, DATABASE).unwrap();
        fleet.session_timeout_seconds = SESSION_TIMEOUT_SECONDS;
        let clients = Clients::new(&fleet, CLIENTS).unwrap();
        fleet.create_group().unwrap();
        fleet.add_replica(1, Mode::Synchronous).unwrap();
        fleet.wait_settled(0, 1, Mode::Synchronous).unwrap();
        World { fleet, clients, _dir: dir }
    }

    /// Runs `part` under load, then lets the group become healthy, and looks.
    fn under_load(mut self, part: impl FnOnce(&mut Fleet, &Clients)) {
        std::thread::scope(|scope| {
            let clients = &self.clients;
            for client in 0..clients.count() {
                scope.spawn(move || clients.keep_ledger(client));
            }
            // The clients end even if it fails.
            let _stop = Stop(clients);
            more_commits(clients);
            part(&mut self.fleet, clients);
            self.fleet.wait_settled(0, 1, Mode::Synchronous).unwrap();
            more_commits(clients);
            clients.check(&self.fleet, 0, |_| Ok(())).unwrap();
        });
        assert_eq!(self.clients.violations(), Vec::<String>::new());
    }
}

struct Stop<'a>(&'a Clients);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Returns when some more have been acknowledged.
fn more_commits(clients: &Clients) {
    let enough = clients.acknowledged() + 20;
    until("commits are acknowledged", || Ok(clients.acknowledged() >= enough)).unwrap();
}

/// How many copies the primary waits for.
fn waited_for(fleet: &Fleet) -> i64 {
    let sql = "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE is_local = 0 AND is_commit_participant = 1";
    fleet.nodes[0].number(sql).unwrap().unwrap()
}

fn signal(fleet: &Fleet, node: usize, signal: &str) {
    command(&["kill", signal, &fleet.nodes[node].keel().unwrap().pid().to_string()]).unwrap();
}

fn is_root(test: &str) -> bool {
    // SAFETY: asks for a number, and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        eprintln!("{test}: skipped, it needs root");
    }
    root
}

#[test]
fn a_stopped_secondary_is_left_behind_and_catches_up() {
    World::new("stopped").under_load(|fleet, clients| {
        signal(fleet, 1, "-STOP");
        // Nobody is told anything until the session time-out; then the secondary is out of the set, and work goes on.
        until("the silent secondary is no longer waited for", || Ok(waited_for(fleet) == 0)).unwrap();
        more_commits(clients);
        signal(fleet, 1, "-CONT");
    });
}

#[test]
fn a_secondary_is_killed_restarted_suspended_and_resumed_under_load() {
    World::new("restarted").under_load(|fleet, clients| {
        for _ in 0..2 {
            fleet.nodes[1].kill();
            more_commits(clients);
            fleet.nodes[1].start().unwrap();
            fleet.wait_settled(0, 1, Mode::Synchronous).unwrap();
        }
        fleet.nodes[1].run("ALTER DATABASE shop SET HADR SUSPEND").unwrap();
        more_commits(clients);
        fleet.nodes[1].run("ALTER DATABASE shop SET HADR RESUME").unwrap();
        fleet.wait_settled(0, 1, Mode::Synchronous).unwrap();
        fleet.nodes[0].run("ALTER DATABASE shop SET HADR SUSPEND").unwrap();
        more_commits(clients);
        fleet.nodes[0].run("ALTER DATABASE shop SET HADR RESUME").unwrap();
    });
}

#[test]
fn a_cut_and_a_thin_link_cost_time_and_nothing_else() {
    if !is_root("a_cut_and_a_thin_link_cost_time_and_nothing_else") {
        return;
    }
    let namespace = Namespace::new().unwrap();
    let dir = Scratch::new("link");
    let mut launches = dir.launches();
    launches[0].host = namespace.near_address();
    launches[1].host = namespace.far_address();
    launches[1].before = namespace.before();
    World::of(dir, launches).under_load(|fleet, clients| {
        namespace.limit("2mbit").unwrap();
        more_commits(clients);
        namespace.limit("10gbit").unwrap();
        namespace.cut(true).unwrap();
        until("the secondary behind the cut is no longer waited for", || Ok(waited_for(fleet) == 0)).unwrap();
        more_commits(clients);
        namespace.cut(false).unwrap();
    });
}

/// Fills a disk but for a few kilobytes.
fn fill(dir: &Path) -> PathBuf {
    let path = dir.join("filler");
    let mut file = std::fs::File::create(&path).unwrap();
    let block = vec![0; 4096];
    while std::io::Write::write_all(&mut file, &block).is_ok() {}
    path
}

#[test]
fn a_secondary_with_a_full_disk_is_left_behind() {
    if !is_root("a_secondary_with_a_full_disk_is_left_behind") {
        return;
    }
    let mut dir = Scratch::new("full-secondary");
    let launches = dir.launches();
    dir.small_disk(&launches[1], 400);
    World::of(dir, launches).under_load(|fleet, clients| {
        let filler = fill(&fleet.nodes[1].launch.data);
        write_until(fleet, || waited_for(fleet) == 0);
        more_commits(clients);
        std::fs::remove_file(filler).unwrap();
        // A log whose write failed is not trusted before it was read again.
        fleet.nodes[1].kill();
        fleet.nodes[1].start().unwrap();
    });
}

#[test]
fn a_primary_with_a_full_disk_acknowledges_nothing_it_cannot_keep() {
    if !is_root("a_primary_with_a_full_disk_acknowledges_nothing_it_cannot_keep") {
        return;
    }
    let mut dir = Scratch::new("full-primary");
    let launches = dir.launches();
    dir.small_disk(&launches[0], 400);
    World::of(dir, launches).under_load(|fleet, clients| {
        let filler = fill(&fleet.nodes[0].launch.data);
        let doubts = clients.in_doubt();
        write_until(fleet, || clients.in_doubt() > doubts);
        std::fs::remove_file(filler).unwrap();
        fleet.nodes[0].kill();
        fleet.nodes[0].start().unwrap();
        until("the primary leads again", || Ok(leads(fleet, 0))).unwrap();
    });
}

fn leads(fleet: &Fleet, node: usize) -> bool {
    let session = fleet.nodes[node].session("master");
    session.is_ok_and(|mut session| keel_bench::ledger::is_primary(&mut session, DATABASE))
}

/// Writes large rows on the primary until it is so, whatever it answers.
fn write_until(fleet: &Fleet, is_so: impl Fn() -> bool) {
    let table = "IF OBJECT_ID(N'dbo.ballast') IS NULL CREATE TABLE dbo.ballast (id int IDENTITY PRIMARY KEY, b varchar(max))";
    fleet.nodes[0].session(DATABASE).unwrap().execute(table).unwrap();
    until("the disk is full", || {
        if let Ok(mut session) = fleet.nodes[0].session(DATABASE) {
            let _ =
                session.execute("INSERT dbo.ballast VALUES (REPLICATE(CONVERT(varchar(max), 'x'), 1000000))");
        }
        Ok(is_so())
    })
    .unwrap();
}

#[test]
fn a_replica_too_far_behind_is_seeded_anew() {
    World::new("retention").under_load(|fleet, clients| {
        fleet.nodes[0].run("EXEC sp_configure 'replica log retention (MB)', 1; RECONFIGURE").unwrap();
        let seedings = "SELECT COUNT(*) FROM sys.dm_hadr_physical_seeding_stats";
        let before = fleet.nodes[0].number(seedings).unwrap();
        fleet.nodes[1].kill();
        let given_up = "SELECT COUNT(*) FROM sys.dm_keel_health_log WHERE message LIKE 'The log that NODE2 still needs%'";
        write_until(fleet, || {
            fleet.nodes[0].session(DATABASE).unwrap().execute("CHECKPOINT").unwrap();
            fleet.nodes[0].number(given_up).unwrap() == Some(1)
        });
        more_commits(clients);
        fleet.nodes[1].start().unwrap();
        fleet.wait_settled(0, 1, Mode::Synchronous).unwrap();
        assert!(fleet.nodes[0].number(seedings).unwrap() > before);
    });
}

/// A cgroup that holds its processes to a slow disk. Removed when dropped.
struct SlowDisk(PathBuf);

impl SlowDisk {
    /// Bytes a second for writes to the disk that `data` is on; `None` when this system cannot do that.
    fn new(data: &Path, bytes_per_second: u32) -> Option<SlowDisk> {
        let device = command(&["findmnt", "-n", "-o", "MAJ:MIN", "--target", data.to_str()?]).ok()?;
        let group = PathBuf::from(format!("/sys/fs/cgroup/blkio/keel-faults-{}", std::process::id()));
        std::fs::create_dir(&group).ok()?;
        let slow = SlowDisk(group);
        let limit = format!("{} {bytes_per_second}", device.trim());
        std::fs::write(slow.0.join("blkio.throttle.write_bps_device"), limit).ok()?;
        Some(slow)
    }

    fn take_in(&self, pid: u32) {
        std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let everybody = std::fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
        for pid in everybody.lines() {
            let _ = std::fs::write("/sys/fs/cgroup/blkio/cgroup.procs", pid);
        }
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_slow_disk_slows_and_breaks_nothing() {
    if !is_root("a_slow_disk_slows_and_breaks_nothing") {
        return;
    }
    let world = World::new("slow");
    let Some(slow) = SlowDisk::new(&world.fleet.nodes[1].launch.data, 256 << 10) else {
        return eprintln!("a_slow_disk_slows_and_breaks_nothing: skipped, no cgroup that throttles disks");
    };
    world.under_load(|fleet, clients| {
        slow.take_in(fleet.nodes[1].keel().unwrap().pid());
        more_commits(clients);
        drop(slow);
    });
}
