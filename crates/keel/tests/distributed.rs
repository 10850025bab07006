//! Distributed availability groups over real processes: a group of three instances, one of two, each its own cluster.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::ledger::{Dir, Ledger};
use common::{Instance, LONG, keel};
use std::collections::BTreeSet;
use std::time::Instant;

/// Five instances: the first three have `ag1`, the last two `ag2`, and `dag` is over both.
struct World {
    nodes: Vec<Instance>,
    _dir: Dir,
}

const MODES: &str = "FAILOVER_MODE = MANUAL, SEEDING_MODE = AUTOMATIC";

impl World {
    fn new(test: &str, mode: &str) -> World {
        let dir = Dir::new(test);
        let shared = dir.0.join("shared").to_str().unwrap().to_owned();
        let witness = ["--witness-directory".to_owned(), shared];
        let with = |n: usize| Instance::with(&dir.0, n, if n > 3 { &witness } else { &[] });
        let world = World { nodes: (1..=5).map(with).collect(), _dir: dir };
        let token = world.cluster(0, &[1, 2]);
        world.cluster(3, &[4]);
        // Trust between the two clusters; neither becomes a part of the other.
        keel(&["join", &token, "--endpoint", &world.nodes[3].endpoint()], &world.nodes[3]);
        world.groups();
        let members = [("ag1", 0), ("ag2", 3)].map(|(group, node)| {
            let url = world.nodes[node].endpoint();
            format!("'{group}' WITH (LISTENER_URL = 'TCP://{url}', AVAILABILITY_MODE = {mode}, {MODES})")
        });
        let members = members.join(", ");
        world.nodes[0].run(&format!(
            "CREATE AVAILABILITY GROUP dag WITH (DISTRIBUTED) AVAILABILITY GROUP ON {members}"
        ));
        world.nodes[3].run(&format!("ALTER AVAILABILITY GROUP dag JOIN AVAILABILITY GROUP ON {members}"));
        world
    }

    fn cluster(&self, first: usize, others: &[usize]) -> String {
        let one = &self.nodes[first];
        let said = keel(&["init", "--endpoint", &one.endpoint()], one);
        let token = said.lines().find(|l| l.starts_with("keel://")).unwrap().trim().to_owned();
        for other in others {
            keel(&["join", &token, "--endpoint", &self.nodes[*other].endpoint()], &self.nodes[*other]);
        }
        let members =
            "SELECT COUNT(*) FROM sys.dm_hadr_cluster_members WHERE member_state = 1 AND member_type = 0";
        one.until(members, &(others.len() + 1).to_string());
        token
    }

    fn groups(&self) {
        let one = &self.nodes[0];
        one.run("CREATE DATABASE shop");
        one.run("CREATE TABLE shop.dbo.ledger (n bigint PRIMARY KEY)");
        let members: Vec<String> = self.nodes[1..3].iter().map(Instance::server).collect();
        let mut arguments = vec!["group", "create", "ag1", "--database", "shop"];
        members.iter().for_each(|m| arguments.extend(["--member", m]));
        keel(&arguments, one);
        let replicas = self.nodes[3..].iter().map(|node| {
            format!(
                "'{}' WITH (ENDPOINT_URL = 'TCP://{}', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = AUTOMATIC, \
                 SEEDING_MODE = AUTOMATIC, SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))",
                node.name,
                node.endpoint()
            )
        });
        let replicas = replicas.collect::<Vec<_>>().join(", ");
        self.nodes[3].run(&format!("CREATE AVAILABILITY GROUP ag2 FOR REPLICA ON {replicas}"));
        self.nodes[4].run("ALTER AVAILABILITY GROUP ag2 JOIN");
        self.nodes[4].run("ALTER AVAILABILITY GROUP ag2 GRANT CREATE ANY DATABASE");
    }

    /// Both sides synchronized, as the global primary and the forwarder have it.
    fn synchronized(&self, source: usize, forwarder: usize, first: usize, second: usize) {
        let ready = |group: &str| {
            format!(
                "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_cluster_states c JOIN sys.availability_replicas r ON r.replica_id = \
                 c.replica_id JOIN sys.availability_groups g ON g.group_id = r.group_id WHERE g.name = '{group}' AND \
                 c.is_failover_ready = 1"
            )
        };
        let (own, other) = if source < 3 { ("ag1", "ag2") } else { ("ag2", "ag1") };
        self.nodes[source].until(&ready(own), &first.to_string());
        self.nodes[forwarder].until(&ready(other), &second.to_string());
        self.nodes[source].until(&ready("dag"), "2");
    }

    fn holds(&self, node: usize, acknowledged: &BTreeSet<u64>) {
        let deadline = Instant::now() + LONG;
        loop {
            let found = self.nodes[node].value("SELECT n FROM shop.dbo.ledger");
            let found: BTreeSet<u64> = found.lines().filter_map(|line| line.trim().parse().ok()).collect();
            let lost: Vec<&u64> = acknowledged.difference(&found).collect();
            if lost.is_empty() {
                return;
            }
            let log = self.nodes[node].log();
            assert!(Instant::now() < deadline, "{node} lacks {lost:?} of {}\n{log}", acknowledged.len());
        }
    }

    /// The instance among those at `among` whose group it leads, once there is one.
    fn leader(&self, group: &str, among: &[usize]) -> usize {
        let leads = format!(
            "SELECT COUNT(*) FROM sys.dm_hadr_availability_replica_states s JOIN sys.availability_groups g ON g.group_id = s.group_id \
             WHERE g.name = '{group}' AND s.is_local = 1 AND s.role_desc = 'PRIMARY'"
        );
        let deadline = Instant::now() + LONG;
        while Instant::now() < deadline {
            if let Some(found) = among.iter().find(|at| self.nodes[**at].value(&leads) == "1") {
                return *found;
            }
        }
        let logs: Vec<String> = self.nodes.iter().map(Instance::log).collect();
        panic!("nobody leads {group}\n{}", logs.join("\n----\n"));
    }
}

const WRITERS: std::ops::Range<usize> = 0..3;

#[test]
fn kills_on_both_sides_lose_nothing() {
    let mut world = World::new("dag-kills", "SYNCHRONOUS_COMMIT");
    world.synchronized(0, 3, 3, 2);
    let refused = world.nodes[3].sql(&["-Q", "INSERT shop.dbo.ledger VALUES (-1)"]);
    assert!(String::from_utf8_lossy(&refused.stdout).contains("Msg 3906"), "{refused:?}");
    let ledger = Ledger::start(&world.nodes[WRITERS]);
    ledger.more(50);
    // The forwarder dies: the other instance of its group goes on, from where the global primary counts on it.
    world.nodes[3].kill();
    ledger.more(50);
    assert_eq!(world.leader("ag2", &[4]), 4);
    world.nodes[3].start();
    world.synchronized(0, 4, 3, 2);
    // The global primary dies: the forwarder finds the next one.
    world.nodes[0].kill();
    ledger.more(50);
    let next = world.leader("ag1", &[1, 2]);
    world.nodes[0].start();
    world.synchronized(next, 4, 3, 2);
    ledger.more(20);
    let acknowledged = ledger.stop("kills on both sides");
    (0..5).filter(|n| *n == next || *n > 2).for_each(|node| world.holds(node, &acknowledged));
}

const FORCE: &str = "ALTER AVAILABILITY GROUP dag FORCE_FAILOVER_ALLOW_DATA_LOSS";

#[test]
fn roles_change_by_plan_without_loss_and_by_force_with_a_cut() {
    let mut world = World::new("dag-roles", "SYNCHRONOUS_COMMIT");
    world.synchronized(0, 3, 3, 2);
    let ledger = Ledger::start(&world.nodes);
    ledger.more(50);
    let refused = world.nodes[3].sql(&["-Q", "ALTER AVAILABILITY GROUP dag FAILOVER"]);
    assert!(String::from_utf8_lossy(&refused.stdout).contains("Msg 19504"), "{refused:?}");
    world.nodes[0].run("ALTER AVAILABILITY GROUP dag SET (ROLE = SECONDARY)");
    world.nodes[3].run(FORCE);
    ledger.more(50);
    world.synchronized(3, 0, 2, 3);
    ledger.more(20);
    let acknowledged = ledger.stop("a planned change of roles");
    (0..5).filter(|n| !(1..3).contains(n)).for_each(|node| world.holds(node, &acknowledged));

    // The first site is lost, and the other one goes on alone until it is lost as well.
    (0..3).for_each(|n| world.nodes[n].kill());
    world.nodes[3].until("INSERT shop.dbo.ledger VALUES (900001); SELECT 1", "1");
    (3..5).for_each(|n| world.nodes[n].kill());
    (0..3).for_each(|n| world.nodes[n].start());
    let source = world.leader("ag1", &[0, 1, 2]);
    world.nodes[source].run(FORCE);
    world.nodes[source].run("INSERT shop.dbo.ledger VALUES (900002)");
    (3..5).for_each(|n| world.nodes[n].start());
    let forwarder = world.leader("ag2", &[3, 4]);
    let suspended =
        "SELECT MIN(CAST(is_suspended AS int)) FROM sys.dm_hadr_database_replica_states WHERE is_local = 1";
    (3..5).for_each(|n| world.nodes[n].until(suspended, "1"));
    // Refused while the group is taking up the turn of the other side.
    world.nodes[forwarder].until("ALTER DATABASE shop SET HADR RESUME; SELECT 1", "1");
    world.synchronized(source, forwarder, 3, 2);
    for node in [source, 3, 4] {
        world.nodes[node].until("SELECT MAX(n) FROM shop.dbo.ledger", "900002");
        assert_eq!(world.nodes[node].value("SELECT COUNT(*) FROM shop.dbo.ledger WHERE n = 900001"), "0");
    }
}
