//! Clusters that heal themselves, over real processes: nobody gives a command after the group is made.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::ledger::{Dir, Ledger};
use common::{Instance, KEEL, LONG, PASSWORD, free_port, keel};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

struct Cluster {
    nodes: Vec<Instance>,
    /// Of the first instance.
    token: String,
    dir: Dir,
}

impl Cluster {
    /// Instances in one cluster, with a group `ag` over a database `shop` that the first one leads, synchronized.
    fn new(test: &str, nodes: usize) -> Cluster {
        Cluster::with(Dir::new(test), nodes, &[])
    }

    fn with(dir: Dir, nodes: usize, more: &[String]) -> Cluster {
        let nodes: Vec<Instance> = (1..=nodes).map(|n| Instance::with(&dir.0, n, more)).collect();
        let said = keel(&["init", "--endpoint", &nodes[0].endpoint()], &nodes[0]);
        let token = said.lines().find(|l| l.starts_with("keel://")).unwrap().trim().to_owned();
        for node in &nodes[1..] {
            keel(&["join", &token, "--endpoint", &node.endpoint()], node);
        }
        let cluster = Cluster { nodes, token, dir };
        let wanted = cluster.nodes.len().to_string();
        for node in &cluster.nodes {
            node.until(
                "SELECT COUNT(*) FROM sys.dm_hadr_cluster_members WHERE member_state = 1 AND member_type = 0",
                &wanted,
            );
        }
        cluster
    }

    fn with_group(self) -> Cluster {
        let one = &self.nodes[0];
        one.run("CREATE DATABASE shop");
        one.run("CREATE TABLE shop.dbo.ledger (n bigint PRIMARY KEY)");
        let members: Vec<String> = self.nodes[1..].iter().map(Instance::server).collect();
        let mut arguments = vec!["group", "create", "ag", "--database", "shop"];
        members.iter().for_each(|m| arguments.extend(["--member", m]));
        keel(&arguments, one);
        self.all_synchronized(one);
        self
    }

    fn all_synchronized(&self, primary: &Instance) {
        primary.until(
            "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_cluster_states WHERE is_failover_ready = 1",
            &self.nodes.len().to_string(),
        );
    }

    /// The instance that leads, once there is one among those at `among`.
    fn primary(&self, among: &[usize]) -> usize {
        let deadline = Instant::now() + LONG;
        while Instant::now() < deadline {
            for at in among {
                if self.nodes[*at].value(IS_PRIMARY) == "1" {
                    return *at;
                }
            }
        }
        let logs: Vec<String> = self.nodes.iter().map(Instance::log).collect();
        panic!("nobody took over\n{}", logs.join("\n----\n"));
    }

    fn holds(&self, node: &Instance, acknowledged: &BTreeSet<u64>) {
        let deadline = Instant::now() + LONG;
        loop {
            let found = node.value("SELECT n FROM shop.dbo.ledger");
            let found: BTreeSet<u64> = found.lines().filter_map(|line| line.trim().parse().ok()).collect();
            let lost: Vec<&u64> = acknowledged.difference(&found).collect();
            if lost.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "{} lacks {lost:?} of {}", node.name, acknowledged.len());
        }
    }
}

const IS_PRIMARY: &str = "SELECT sys.fn_hadr_is_primary_replica('shop')";

#[test]
fn a_killed_primary_is_replaced_and_comes_back() {
    let mut cluster = Cluster::new("kill", 3).with_group();
    let ledger = Ledger::start(&cluster.nodes);
    ledger.more(50);
    cluster.nodes[0].kill();
    ledger.more(50);
    let second = cluster.primary(&[1, 2]);
    cluster.nodes[0].start();
    cluster.all_synchronized(&cluster.nodes[second]);
    ledger.more(50);
    let acknowledged = ledger.stop("kill -9");
    for node in &cluster.nodes {
        cluster.holds(node, &acknowledged);
    }
    let leader = &cluster.nodes[second];
    let story =
        leader.value("SELECT CONCAT(kind, ' ', from_replica, ' ', to_replica) FROM sys.dm_keel_failovers");
    eprintln!("{}", leader.value("SELECT summary FROM sys.dm_keel_failovers"));
    assert!(story.contains(&format!("AUTOMATIC NODE1 {}", leader.name)), "{story}");
    leader.logs("Failover of availability group 'ag'");
    let said = keel(&["cluster", "status"], leader);
    assert!(said.contains("3 of 3 votes are heard") && said.contains("NORMAL_QUORUM"), "{said}");
}

/// A batch of many commits is not told of each, but what it is told of in between is on the others.
#[test]
fn a_batch_in_the_middle_of_which_its_primary_dies_was_told_the_truth() {
    let mut cluster = Cluster::new("batch", 3).with_group();
    let batch = "SET NOCOUNT ON; DECLARE @n bigint = 1; WHILE 1 = 1 BEGIN INSERT shop.dbo.ledger VALUES (@n); \
                 IF @n % 100 = 0 RAISERROR ('%I64d', 0, 1, @n) WITH NOWAIT; SET @n += 1 END";
    let mut client = Command::new(KEEL);
    client.args(["sql", "-S", &cluster.nodes[0].server(), "-P", PASSWORD, "-C", "-b", "-Q", batch]);
    let mut client = client.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let told = BufReader::new(client.stdout.take().unwrap()).lines();
    let mut last = 0_u64;
    for line in told.map_while(Result::ok) {
        if let Ok(n) = line.trim().parse() {
            last = n;
        }
        if last == 2_000 {
            cluster.nodes[0].kill();
        }
    }
    client.wait().unwrap();
    assert!(last >= 2_000, "{last}");
    let second = cluster.primary(&[1, 2]);
    cluster.nodes[0].start();
    cluster.all_synchronized(&cluster.nodes[second]);
    let acknowledged = (1..=last).collect();
    for node in &cluster.nodes {
        cluster.holds(node, &acknowledged);
    }
}

#[test]
fn a_primary_that_stands_still_is_replaced_and_follows() {
    let cluster = Cluster::new("stop", 3).with_group();
    let ledger = Ledger::start(&cluster.nodes);
    ledger.more(50);
    cluster.nodes[0].signal(libc::SIGSTOP);
    let second = cluster.primary(&[1, 2]);
    ledger.more(50);
    cluster.nodes[0].signal(libc::SIGCONT);
    cluster.nodes[0].until(IS_PRIMARY, "0");
    cluster.all_synchronized(&cluster.nodes[second]);
    ledger.more(50);
    let acknowledged = ledger.stop("SIGSTOP");
    eprintln!("{}", cluster.nodes[second].value("SELECT summary FROM sys.dm_keel_failovers"));
    for node in &cluster.nodes {
        cluster.holds(node, &acknowledged);
    }
}

/// A witness as a process, killed at the end of the test.
struct Witness(Child);

impl Witness {
    fn start(cluster: &Cluster) -> Witness {
        let mut command = Command::new(KEEL);
        command.args([
            "witness",
            "--quiet",
            "--listen",
            &format!("127.0.0.1:{}", free_port()),
            "--join",
            &cluster.token,
        ]);
        command.arg("--data").arg(cluster.dir.0.join("witness"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut ready = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert!(ready.starts_with("keel: the witness listens on"), "{ready}");
        Witness(child)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn two_instances_and_a_witness_survive_either() {
    let mut cluster = Cluster::new("witness", 2);
    let _witness = Witness::start(&cluster);
    cluster.nodes[0].until(
        "SELECT COUNT(*) FROM sys.dm_hadr_cluster_members WHERE member_type = 2 AND member_state = 1 AND number_of_quorum_votes = 1",
        "1",
    );
    cluster = cluster.with_group();
    let ledger = Ledger::start(&cluster.nodes);
    ledger.more(50);
    cluster.nodes[0].kill();
    ledger.more(50);
    assert_eq!(cluster.primary(&[1]), 1);
    cluster.nodes[0].start();
    cluster.all_synchronized(&cluster.nodes[1]);
    cluster.nodes[1].kill();
    ledger.more(50);
    assert_eq!(cluster.primary(&[0]), 0);
    let acknowledged = ledger.stop("two and a witness");
    cluster.holds(&cluster.nodes[0], &acknowledged);
}

#[test]
fn two_instances_and_a_witness_directory_survive_either() {
    let dir = Dir::new("witness-directory");
    let shared = dir.0.join("shared").to_str().unwrap().to_owned();
    let mut cluster = Cluster::with(dir, 2, &["--witness-directory".to_owned(), shared]);
    let witness_votes = "SELECT COUNT(*) FROM sys.dm_hadr_cluster_members WHERE member_type = 2 AND member_state = 1 AND \
                         number_of_quorum_votes = 1";
    cluster.nodes[0].until(witness_votes, "1");
    cluster = cluster.with_group();
    let ledger = Ledger::start(&cluster.nodes);
    ledger.more(50);
    for (dies, goes_on) in [(0, 1), (1, 0)] {
        // Whoever runs the witness: it goes on at the other one.
        cluster.nodes[dies].kill();
        ledger.more(50);
        assert_eq!(cluster.primary(&[goes_on]), goes_on);
        cluster.nodes[dies].start();
        cluster.nodes[goes_on].until(witness_votes, "1");
        cluster.all_synchronized(&cluster.nodes[goes_on]);
    }
    let acknowledged = ledger.stop("two and a witness directory");
    cluster.holds(&cluster.nodes[0], &acknowledged);
}

#[test]
fn after_the_death_of_all_the_group_comes_back() {
    let mut cluster = Cluster::new("all", 3).with_group();
    let ledger = Ledger::start(&cluster.nodes);
    ledger.more(50);
    cluster.nodes.iter_mut().for_each(Instance::kill);
    let acknowledged = ledger.stop("all killed");
    for at in [2, 0, 1] {
        cluster.nodes[at].start();
    }
    let leader = cluster.primary(&[0, 1, 2]);
    cluster.all_synchronized(&cluster.nodes[leader]);
    for node in &cluster.nodes {
        cluster.holds(node, &acknowledged);
    }
}

#[test]
fn a_validation_says_what_the_cluster_stands_on() {
    let cluster = Cluster::new("validate", 2);
    let one = &cluster.nodes[0];
    let said = keel(&["cluster", "validate"], one);
    assert_eq!(said.matches("log write").count(), 2, "{said}");
    assert_eq!(said.matches("round trip").count(), 2, "{said}");
    let report = std::fs::read_to_string(one.data.join("log/cluster_validation")).unwrap();
    assert!(report.contains("Cluster validation, asked for on NODE1"), "{report}");
    let said = keel(&["cluster", "remove-node", "NODE2"], one);
    assert!(said.contains("NODE2 is removed."), "{said}");
    one.until("SELECT COUNT(*) FROM sys.dm_keel_cluster", "1");
}

#[test]
fn a_quorum_is_forced_and_the_others_come_back() {
    let mut cluster = Cluster::new("force", 3).with_group();
    let ledger = Ledger::start(&cluster.nodes);
    ledger.more(50);
    cluster.nodes[0].kill();
    cluster.nodes[1].kill();
    let acknowledged = ledger.stop("two of three killed");
    let last = &cluster.nodes[2];
    // Between the two deaths it may have taken over.
    let forced = last.value(IS_PRIMARY) != "1";
    if forced {
        last.until("SELECT COUNT(*) FROM sys.dm_hadr_cluster", "0");
        let said = keel(&["cluster", "failover", "ag", "--force-quorum", "--yes"], last);
        assert!(said.contains("Warning: Only do this when the other members are gone for good"), "{said}");
        assert!(said.contains("NODE3 is the primary of ag."), "{said}");
    }
    last.run("INSERT shop.dbo.ledger VALUES (-1)");
    cluster.holds(last, &acknowledged);
    for at in [0, 1] {
        cluster.nodes[at].start();
    }
    let last = &cluster.nodes[2];
    last.until("SELECT COUNT(*) FROM sys.dm_hadr_cluster_members WHERE member_state = 1", "3");
    for node in cluster.nodes[..2].iter().filter(|_| forced) {
        let copy = "SELECT is_suspended FROM sys.dm_hadr_database_replica_states WHERE is_local = 1";
        node.until(copy, "1");
        node.run("ALTER DATABASE shop SET HADR RESUME");
    }
    cluster.all_synchronized(last);
    for node in &cluster.nodes {
        cluster.holds(node, &acknowledged);
    }
}
