//! A group over three instances: commits, reads, failovers, breaks.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Cluster, DATABASE, DB, GROUP, Node, Setup, Trouble, put, until};
use keel_base::env::sim::SimDisk;
use keel_cluster::{AvailabilityMode, Command, RoleStatus, SuspendReason};
use keel_group::{GroupsOptions, SeedingOutcome, SeedingState};
use keel_node::TxnError;
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

fn writes(role: keel_node::Role) -> bool {
    matches!(role, keel_node::Role::Primary | keel_node::Role::Standalone)
}

/// Sessions that insert numbers until told to stop, and remember what was acknowledged.
struct Load {
    stopping: Arc<AtomicBool>,
    next: Arc<AtomicU32>,
    threads: Vec<thread::JoinHandle<BTreeSet<u32>>>,
}

impl Load {
    /// On whoever is primary at the moment.
    fn start(nodes: &[Node], sessions: usize) -> Load {
        let stopping = Arc::new(AtomicBool::new(false));
        let next = Arc::new(AtomicU32::new(1_000_000));
        let databases: Vec<_> = nodes.iter().map(Node::db).collect();
        let threads = (0..sessions)
            .map(|_| {
                let (stopping, next, databases) =
                    (Arc::clone(&stopping), Arc::clone(&next), databases.clone());
                thread::spawn(move || {
                    let mut acknowledged = BTreeSet::new();
                    while !stopping.load(Ordering::Acquire) {
                        let Some(db) = databases.iter().find(|db| writes(db.role())) else {
                            thread::yield_now();
                            continue;
                        };
                        let key = next.fetch_add(1, Ordering::Relaxed);
                        match put(db, key, "load") {
                            Ok(()) => drop(acknowledged.insert(key)),
                            Err(TxnError::InDoubt(_) | TxnError::RoleChanged(_)) => {}
                            Err(other) => panic!("a session failed: {other}"),
                        }
                    }
                    acknowledged
                })
            })
            .collect();
        Load { stopping, next, threads }
    }

    /// Waits until this many more were tried.
    fn run_for(&self, count: u32) {
        let from = self.next.load(Ordering::Relaxed);
        until("the load goes on", || self.next.load(Ordering::Relaxed) >= from + count);
    }

    fn stop(self) -> BTreeSet<u32> {
        self.stopping.store(true, Ordering::Release);
        self.threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
    }
}

fn assert_holds(node: &Node, acknowledged: &BTreeSet<u32>) {
    let rows = node.rows();
    let lost: Vec<_> = acknowledged.iter().filter(|key| !rows.contains_key(&key.to_be_bytes()[..])).collect();
    assert!(lost.is_empty(), "{} has lost {} acknowledged commits: {lost:?}", node.name, lost.len());
}

#[test]
fn what_the_primary_commits_the_others_hold() {
    let cluster = Cluster::with_group(&Setup::default());
    until("both are synchronized", || cluster.nodes[0].all_synchronized(2));
    for key in 1000..1100 {
        cluster.nodes[0].put(key, "after").unwrap();
    }
    cluster.assert_equal();
    assert_eq!(cluster.nodes[2].rows().len(), 120);
    let state = cluster.nodes[0].groups.state();
    assert!(state.peers.iter().all(|p| p.connected && p.counters.sent_bytes > 0));
    assert!(state.copies[0].sending.iter().all(|s| s.counters.measured > 0 && s.counters.network_nanos > 0));
}

#[test]
fn a_planned_failover_under_load_loses_nothing_and_goes_back() {
    let cluster = Cluster::with_group(&Setup::default());
    until("both are synchronized", || cluster.nodes[0].all_synchronized(2));
    let load = Load::start(&cluster.nodes, 4);
    load.run_for(200);
    cluster.nodes[1].command(Command::Failover { group: GROUP });
    until("the others follow the new primary", || cluster.nodes[1].all_synchronized(2));
    load.run_for(200);
    assert_eq!(cluster.nodes[0].role(), RoleStatus::Secondary);
    cluster.nodes[0].command(Command::Failover { group: GROUP });
    until("the others follow the old primary again", || cluster.nodes[0].all_synchronized(2));
    load.run_for(200);
    let acknowledged = load.stop();
    cluster.assert_equal();
    assert_holds(&cluster.nodes[2], &acknowledged);
}

#[test]
fn a_forced_failover_suspends_the_others_until_they_are_resumed() {
    let modes = [AvailabilityMode::Asynchronous; 3];
    let cluster = Cluster::with_group(&Setup { modes, ..Setup::default() });
    let [a, b, c] = &cluster.nodes[..] else { panic!("three") };
    for key in 1..100 {
        // Asynchronous: nobody is waited for.
        a.put(1000 + key, "after").unwrap();
    }
    let end = a.db().hardened();
    until("both have everything", || [b, c].iter().all(|n| n.db().applied() >= end));
    b.command(Command::ForceFailover { group: GROUP });
    assert_eq!(b.role(), RoleStatus::Primary);
    until("the old primary has noticed", || a.role() == RoleStatus::Secondary);
    for node in [a, c] {
        let suspended = || node.database_status().and_then(|d| d.suspended);
        until("the copy is suspended", || suspended() == Some(SuspendReason::Partner));
    }
    b.put(5000, "by the new primary").unwrap();
    for node in [a, c] {
        node.command(Command::Resume { database: DATABASE });
    }
    cluster.assert_equal();
}

#[test]
fn a_suspended_copy_stands_still_and_catches_up() {
    let cluster = Cluster::with_group(&Setup::default());
    let [a, b, c] = &cluster.nodes[..] else { panic!("three") };
    until("both are synchronized", || a.all_synchronized(2));
    c.command(Command::Suspend { database: DATABASE });
    until("only one is waited for", || {
        a.database_status().is_some_and(|d| d.copies.iter().filter(|c| c.commit_participant).count() == 1)
    });
    let before = c.rows().len();
    for key in 1000..1050 {
        a.put(key, "while suspended").unwrap();
    }
    let end = a.db().hardened();
    until("the other copy goes on", || b.db().applied() >= end);
    assert_eq!(c.rows().len(), before);
    c.command(Command::Resume { database: DATABASE });
    until("it is synchronized again", || a.all_synchronized(2));
    cluster.assert_equal();
}

#[test]
fn broken_connections_are_made_again_and_nothing_is_lost() {
    let cluster = Cluster::with_group(&Setup::default());
    until("both are synchronized", || cluster.nodes[0].all_synchronized(2));
    let load = Load::start(&cluster.nodes, 3);
    for round in 0..6 {
        load.run_for(100);
        // Breaks every connection of one of the secondaries.
        let (config, _) = cluster.nodes[1 + round % 2].groups.endpoint();
        cluster.nodes[1 + round % 2].groups.break_connections();
        assert_eq!(config.state, keel_group::EndpointState::Started);
        until("it is synchronized again", || cluster.nodes[0].all_synchronized(2));
    }
    let acknowledged = load.stop();
    cluster.assert_equal();
    assert_holds(&cluster.nodes[1], &acknowledged);
    assert_holds(&cluster.nodes[2], &acknowledged);
}

#[test]
fn after_a_restart_of_all_the_group_comes_back() {
    let cluster = Cluster::with_group(&Setup::default());
    until("both are synchronized", || cluster.nodes[0].all_synchronized(2));
    for key in 1000..1020 {
        cluster.nodes[0].put(key, "before the stop").unwrap();
    }
    let agreed = cluster.nodes[0].db().agreed();
    until("the others know that it is agreed", || cluster.nodes.iter().all(|n| n.db().agreed() >= agreed));
    let ports: Vec<u16> = cluster.nodes.iter().map(|n| n.groups.endpoint().1.unwrap().port()).collect();
    let names = ["A", "B", "C"];
    let disks: Vec<_> = cluster.nodes.into_iter().map(Node::stop).collect();
    let nodes: Vec<_> = (0..3).map(|i| Node::start(names[i], &disks[i], 30 + i as u64, ports[i])).collect();
    let cluster = Cluster { nodes };
    for node in &cluster.nodes {
        node.open_database();
        assert!(node.groups.marked(DATABASE) >= agreed, "a stop in order leaves nothing that no mark covers");
    }
    // The old primary takes its role up again once it has heard that nobody else has.
    until("all are synchronized", || cluster.nodes[0].all_synchronized(2));
    cluster.nodes[0].put(2000, "after the restart").unwrap();
    cluster.assert_equal();
    assert_eq!(cluster.nodes[1].rows().len(), 41);
}

#[test]
fn a_stopped_endpoint_is_a_lost_replica() {
    let cluster = Cluster::with_group(&Setup::default());
    let [a, _, c] = &cluster.nodes[..] else { panic!("three") };
    until("both are synchronized", || a.all_synchronized(2));
    let (config, _) = c.groups.endpoint();
    let stopped = keel_group::EndpointConfig { state: keel_group::EndpointState::Stopped, ..config.clone() };
    c.groups.set_endpoint(stopped).unwrap();
    a.put(1000, "without C").unwrap();
    until("A says why", || a.groups.last_connect_error("C").is_some());
    let disabled =
        keel_group::EndpointConfig { state: keel_group::EndpointState::Disabled, ..config.clone() };
    c.groups.set_endpoint(disabled).unwrap();
    a.put(1001, "without C").unwrap();
    c.groups.set_endpoint(config).unwrap();
    until("it is synchronized again", || a.all_synchronized(2));
    cluster.assert_equal();
}

fn seeded_setup(rows: u32) -> Setup {
    Setup { seeding: keel_cluster::SeedingMode::Automatic, rows, ..Setup::default() }
}

#[test]
fn copies_are_seeded_under_load_and_follow() {
    let cluster = Cluster::start(&seeded_setup(3000));
    let load = Load::start(&cluster.nodes[..1], 3);
    load.run_for(100);
    cluster.make_group(&seeded_setup(3000));
    until("both are seeded and synchronized", || cluster.nodes[0].all_synchronized(2));
    load.run_for(200);
    let acknowledged = load.stop();
    cluster.assert_equal();
    assert_holds(&cluster.nodes[1], &acknowledged);
    let seedings = cluster.nodes[1].groups.state().seedings;
    assert!(seedings.iter().any(|s| !s.is_source && s.outcome == SeedingOutcome::Completed));
    let sources = cluster.nodes[0].groups.state().seedings;
    until("the source knows that both are done", || {
        let done = |s: &&SeedingState| s.outcome == SeedingOutcome::Completed;
        cluster.nodes[0].groups.state().seedings.iter().filter(done).count() == 2
    });
    assert!(sources.iter().all(|s| s.is_source && s.total_bytes > 0));
    cluster.nodes[1].command(Command::Failover { group: GROUP });
    until("a seeded copy leads", || cluster.nodes[1].all_synchronized(2));
    cluster.nodes[1].put(77, "by a seeded copy").unwrap_err();
    cluster.nodes[1].put(70_000, "by a seeded copy").unwrap();
    cluster.assert_equal();
}

#[test]
fn a_seeding_that_is_broken_off_goes_on() {
    let setup = seeded_setup(20_000);
    let cluster = Cluster::start(&setup);
    cluster.nodes[0].groups.set_seeding_rate(200_000);
    cluster.make_group(&setup);
    let running =
        |node: &Node| node.groups.state().seedings.into_iter().find(|s| s.outcome == SeedingOutcome::Running);
    for _ in 0..3 {
        until("it is under way", || running(&cluster.nodes[1]).is_some_and(|s| s.done_bytes > 30_000));
        cluster.nodes[1].groups.break_connections();
    }
    cluster.nodes[0].groups.set_seeding_rate(0);
    until("both are seeded and synchronized", || cluster.nodes[0].all_synchronized(2));
    cluster.assert_equal();
}

/// Whatever goes wrong at the target, the attempt is over, and another one succeeds.
fn assert_seeded_in_spite_of(trouble: Trouble, why: &str) {
    let setup = seeded_setup(100);
    let cluster = Cluster::start(&setup);
    *cluster.nodes[1].host.trouble.lock() = Some(trouble);
    cluster.make_group(&setup);
    until("all are synchronized", || cluster.nodes[0].all_synchronized(2));
    assert!(cluster.nodes[1].host.trouble.lock().is_none(), "it has happened");
    assert!(cluster.nodes[1].host.seeded.lock().contains_key(DB), "the host knows the copy that follows");
    let lines = cluster.nodes[1].host.lines.lock().clone();
    assert!(lines.iter().any(|line| line.contains(why)), "{lines:?}");
    cluster.assert_equal();
}

/// What it acknowledged would be gone with the next restart.
#[test]
fn a_copy_that_the_host_cannot_write_down_is_none() {
    assert_seeded_in_spite_of(Trouble::NotNoted, "the disk is full");
}

#[test]
fn an_attempt_that_panics_is_over() {
    assert_seeded_in_spite_of(Trouble::NoPlace, "a system assertion check has failed: it was told to");
}

/// Half of an instance, whose other half goes on giving signs of life, would hold the others up.
#[test]
fn a_panic_in_a_thread_that_all_depends_on_ends_the_process() {
    const CHILD: &str = "KEEL_TEST_ENDS_PROCESS";
    if std::env::var_os(CHILD).is_some() {
        let node = Node::start("A", &SimDisk::new(), 11, 0);
        *node.host.trouble.lock() = Some(Trouble::NotAlive);
        until("it has happened", || node.host.trouble.lock().is_none());
        // Waits for the thread.
        node.stop();
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "a_panic_in_a_thread_that_all_depends_on_ends_the_process"]).env(CHILD, "1");
    let ended = child.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    assert_eq!(ended.signal(), Some(libc::SIGABRT), "{ended}");
}

#[test]
fn a_seeding_ends_when_its_copy_is_suspended_and_goes_on_when_it_is_resumed() {
    let setup = seeded_setup(20_000);
    let cluster = Cluster::start(&setup);
    let [a, b, _] = &cluster.nodes[..] else { panic!("three") };
    a.groups.set_seeding_rate(20_000);
    cluster.make_group(&setup);
    let is = |wanted: &dyn Fn(&SeedingState) -> bool| b.groups.state().seedings.iter().any(wanted);
    until("it is under way", || is(&|s| s.outcome == SeedingOutcome::Running && s.done_bytes > 0));
    b.command(Command::Suspend { database: DATABASE });
    let stopped = SeedingOutcome::Failed("it was stopped".into());
    until("nobody writes to half a copy any more", || is(&|s| s.outcome == stopped));
    a.groups.set_seeding_rate(0);
    b.command(Command::Resume { database: DATABASE });
    until("both are seeded and synchronized", || a.all_synchronized(2));
    cluster.assert_equal();
}

/// Opening a picture takes a checkpoint, in which the target may change its mind.
#[test]
fn a_copy_that_is_suspended_and_resumed_while_its_picture_is_made_is_seeded() {
    let cluster = Cluster::start(&seeded_setup(20));
    let [a, b, c] = &cluster.nodes[..] else { panic!("three") };
    let db = a.db();
    // One at a time: until this is let go no other begins.
    let checkpoint = db.store().begin_checkpoint();
    cluster.make_group(&seeded_setup(20));
    let attempts = |node: &Node| node.groups.state().seedings.len();
    until("both ask for a picture", || attempts(b) == 1 && attempts(c) == 1);
    b.command(Command::Suspend { database: DATABASE });
    b.command(Command::Resume { database: DATABASE });
    until("it asks again", || attempts(b) == 2);
    c.command(Command::Suspend { database: DATABASE });
    drop(checkpoint);
    let stopped = SeedingOutcome::Failed("it was stopped".into());
    until("the source hears that one does not want it any more", || {
        a.groups.state().seedings.iter().any(|s| s.outcome == stopped)
    });
    c.command(Command::Resume { database: DATABASE });
    until("both are seeded and synchronized", || a.all_synchronized(2));
    cluster.assert_equal();
}

#[test]
fn a_validation_measures_every_disk_and_every_way() {
    let cluster = Cluster::start(&Setup::default());
    let checks = cluster.nodes[1].groups.validate();
    let names: Vec<&str> = checks.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["B", "A", "C"]);
    for check in &checks {
        let measured = check.measured.as_ref().unwrap_or_else(|| panic!("{}: {:?}", check.name, check.error));
        assert!(
            measured.log_write.is_some_and(|l| l.samples > 0 && l.p50_us <= l.p99_us && l.p99_us <= l.max_us)
        );
        let mut ways: Vec<&str> = measured.round_trips.iter().map(|r| r.to.as_str()).collect();
        ways.sort_unstable();
        let others: Vec<&str> = ["A", "B", "C"].into_iter().filter(|n| *n != check.name).collect();
        assert_eq!(ways, others, "as seen from {}", check.name);
        assert!(measured.round_trips.iter().all(|r| r.latency.is_some_and(|l| l.samples > 0) && r.lost == 0));
    }
}

#[test]
fn nobody_joins_under_the_name_of_a_member_that_is_there() {
    let a = Node::start("A", &SimDisk::new(), 1, 0);
    let b = Node::start("a", &SimDisk::new(), 2, 0);
    let c = Node::start("C", &SimDisk::new(), 3, 0);
    let second = Node::start("C", &SimDisk::new(), 4, 0);
    let token = a.groups.invite(Duration::from_secs(600)).unwrap();
    let refused = b.groups.join(&token).unwrap_err().to_string();
    assert!(refused.contains("an instance named 'a' is a member already"), "{refused}");
    c.groups.join(&token).unwrap();
    until("they are connected", || a.groups.state().peers.iter().any(|p| p.connected));
    let refused = second.groups.join(&token).unwrap_err().to_string();
    assert!(refused.contains("an instance named 'C' is a member already"), "{refused}");
    drop(c);
    until("it has gone", || a.groups.state().peers.iter().all(|p| !p.connected));
    second.groups.join(&token).unwrap();
}

#[test]
fn members_tell_what_they_run_and_who_is_behind_is_named() {
    let newer = GroupsOptions { product: "9.1.0".into(), ..GroupsOptions::new("A") };
    let a = Node::start_with(newer, &SimDisk::new(), 1, 0);
    let b = Node::start("B", &SimDisk::new(), 2, 0);
    let token = a.groups.invite(Duration::from_secs(600)).unwrap();
    b.groups.join(&token).unwrap();
    let sees = |node: &Node, version: &str| {
        node.groups.state().peers.iter().any(|p| p.connected && p.product.as_deref() == Some(version))
    };
    let own = env!("CARGO_PKG_VERSION");
    until("each knows what the other runs", || sees(&a, own) && sees(&b, "9.1.0"));
    let told = |node: &Node, what: &str| node.host.lines.lock().iter().any(|line| line.contains(what));
    let behind = format!("B runs Evenkeel {own}, which is behind the 9.1.0 of this instance");
    let ahead = format!("A runs Evenkeel 9.1.0, which is ahead of the {own} of this instance");
    // It is known a moment before it is told.
    until("each has told it", || told(&a, &behind) && told(&b, &ahead));
}

#[test]
fn a_failover_can_be_asked_for_anywhere() {
    let cluster = Cluster::with_group(&Setup::default());
    until("both are synchronized", || cluster.nodes[0].all_synchronized(2));
    let [a, b, c] = &cluster.nodes[..] else { panic!("three") };
    // The target goes by its own record.
    let knows = |node: &Node| {
        let members = node.status().and_then(|g| Some(g.config.database(DATABASE)?.synchronized.len()));
        members == Some(3)
    };
    until("it is known everywhere", || cluster.nodes.iter().all(knows));
    a.groups.fail_over_to(GROUP, "C", false).unwrap();
    assert_eq!(c.role(), RoleStatus::Primary);
    until("the others follow", || c.all_synchronized(2) && cluster.nodes.iter().all(knows));
    b.groups.fail_over_to(GROUP, "b", false).unwrap();
    assert_eq!(b.role(), RoleStatus::Primary);
    let nobody = b.groups.fail_over_to(GROUP, "D", false);
    assert_eq!(nobody, Err(keel_group::CommandFailure::NotConnected("D".into())));
}
