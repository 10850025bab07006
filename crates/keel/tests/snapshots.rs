//! Database snapshots over real processes: killed while they are made, dropped and gone back to; on the copies of a group.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::ledger::{Dir, Ledger};
use common::{Instance, KEEL, PASSWORD, cluster, keel};
use std::process::{Child, Command, Stdio};

/// How many rows there are, and which.
fn content(node: &Instance, database: &str) -> String {
    node.value(&format!(
        "SELECT CONCAT(COUNT(*), ' ', MIN(n), ' ', MAX(n), ' ', SUM(n)) FROM {database}.dbo.ledger"
    ))
}

fn create(name: &str) -> String {
    format!("CREATE DATABASE {name} ON (NAME = shop, FILENAME = '/{name}.ss') AS SNAPSHOT OF shop")
}

fn snapshots(node: &Instance) -> String {
    node.value(
        "SELECT STRING_AGG(name, ' ') WITHIN GROUP (ORDER BY name) FROM sys.databases WHERE source_database_id IS NOT NULL",
    )
}

/// A batch ends with this error.
fn refused(node: &Instance, batch: &str, number: &str) {
    let output = node.sql(&["-Q", batch]);
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains(&format!("Msg {number},")), "{batch}: {said}");
}

/// A client that runs a batch, whatever comes of it.
fn client(node: &Instance, batch: &str) -> Child {
    let mut command = Command::new(KEEL);
    command.args(["sql", "-S", &node.server(), "-P", PASSWORD, "-C", "-b", "-Q", batch]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn checked(node: &Instance, database: &str) {
    let output = node.sql(&["-Q", &format!("DBCC CHECKDB ({database}) WITH NO_INFOMSGS")]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && !said.contains("Msg"), "{said}");
}

/// One instance with a database of some thousand pages.
fn shop(dir: &Dir) -> Instance {
    let node = Instance::new(&dir.0, 1);
    node.run("CREATE DATABASE shop");
    node.run("CREATE TABLE shop.dbo.ledger (n bigint PRIMARY KEY)");
    node.run("CREATE TABLE shop.dbo.filler (n int PRIMARY KEY, pad nvarchar(400))");
    node.run("INSERT shop.dbo.filler SELECT value, REPLICATE(N'x', 400) FROM GENERATE_SERIES(1, 5000)");
    node
}

#[test]
fn snapshots_taken_under_load_are_whole_or_not_there_after_a_kill() {
    let dir = Dir::new("snapshots-load");
    let mut nodes = [shop(&dir)];
    let mut kept: Vec<(String, String)> = Vec::new();
    let mut acknowledged = std::collections::BTreeSet::new();
    for round in 0..4 {
        let ledger = Ledger::start(&nodes);
        ledger.more(20);
        let (before, whole) = (content(&nodes[0], "shop"), format!("whole{round}"));
        nodes[0].run(&create(&whole));
        let shown = content(&nodes[0], &whole);
        let count = |content: &str| content.split(' ').next().and_then(|n| n.parse::<u64>().ok()).unwrap();
        assert!(count(&shown) >= count(&before), "{before} was there before {shown}");
        kept.push((whole, shown));
        ledger.more(20);
        nodes[0].run("UPDATE shop.dbo.filler SET pad = REPLICATE(N'y', 400); CHECKPOINT");
        // One is being made, and another dropped, when the process is killed.
        let mut creating = client(&nodes[0], &create(&format!("half{round}")));
        let dropped = (round == 2).then(|| kept.remove(0));
        let mut dropping =
            dropped.as_ref().map(|(name, _)| client(&nodes[0], &format!("DROP DATABASE {name}")));
        ledger.more(1 + round);
        nodes[0].kill();
        let _ = (creating.wait(), dropping.as_mut().map(Child::wait));
        acknowledged.extend(ledger.stop("killed"));
        nodes[0].start();
        let found = nodes[0].value("SELECT n FROM shop.dbo.ledger");
        let found: std::collections::BTreeSet<u64> =
            found.lines().filter_map(|n| n.trim().parse().ok()).collect();
        assert!(acknowledged.is_subset(&found), "what was acknowledged is there");
        for (name, shown) in &kept {
            assert_eq!(content(&nodes[0], name), *shown, "{name}\n{}", nodes[0].log());
            checked(&nodes[0], name);
        }
        checked(&nodes[0], "shop");
        for name in snapshots(&nodes[0]).split(' ').filter(|name| name.starts_with("half")) {
            assert_ne!(content(&nodes[0], name), "", "it is whole");
            nodes[0].run(&format!("DROP DATABASE {name}"));
        }
        if let Some((name, _)) = dropped.filter(|(name, _)| snapshots(&nodes[0]).contains(name.as_str())) {
            nodes[0].run(&format!("DROP DATABASE {name}"));
        }
        // The next client begins with the first number again.
        nodes[0].run("DELETE shop.dbo.ledger");
        acknowledged.clear();
    }
    nodes[0].stop();
    nodes[0].start();
    for (name, shown) in &kept {
        assert_eq!(content(&nodes[0], name), *shown);
        nodes[0].run(&format!("DROP DATABASE {name}"));
    }
    assert_eq!(snapshots(&nodes[0]), "");
    refused(&nodes[0], "SELECT * FROM whole3.dbo.ledger", "208");
}

#[test]
fn a_database_is_wholly_reverted_or_not_at_all_when_the_process_is_killed() {
    let dir = Dir::new("snapshots-revert");
    let mut node = shop(&dir);
    node.run("INSERT shop.dbo.ledger SELECT value FROM GENERATE_SERIES(1, 100)");
    node.run(&create("good"));
    let (good, bad) = (content(&node, "shop"), "0");
    let spoil = "DELETE shop.dbo.ledger; UPDATE shop.dbo.filler SET pad = N''; ALTER TABLE shop.dbo.ledger ADD wrong int";
    for round in 0..10 {
        node.run(spoil);
        if round % 2 == 0 {
            node.run("USE shop; CHECKPOINT");
        }
        let said = |node: &Instance| node.log().matches("Reverting database 'shop'").count();
        let before = said(&node);
        let mut reverting = client(&node, "RESTORE DATABASE shop FROM DATABASE_SNAPSHOT = 'good'");
        if round > 1 {
            // It has begun; from there on each round waits a little longer.
            while said(&node) == before {
                assert!(reverting.try_wait().unwrap().is_none_or(|ended| ended.success()), "{}", node.log());
            }
            (0..(round - 2) * 400).for_each(|_| drop(node.log()));
        }
        if round > 0 {
            node.kill();
        }
        let done = reverting.wait().unwrap().success();
        if round > 0 {
            node.start();
        }
        let found = content(&node, "shop");
        let columns = node
            .value("SELECT COUNT(*) FROM shop.sys.columns WHERE object_id = OBJECT_ID('shop.dbo.ledger')");
        let pads = node.value("SELECT MAX(LEN(pad)) FROM shop.dbo.filler");
        let before = (found.as_str(), columns.as_str(), pads.as_str()) == (bad, "2", "0");
        let after = (found.as_str(), columns.as_str(), pads.as_str()) == (good.as_str(), "1", "400");
        assert!(before || after, "{found:?} {columns} {pads}");
        assert!(after || !done, "it was acknowledged");
        eprintln!("round {round}: {}", if after { "reverted" } else { "as it was" });
        assert_eq!(content(&node, "good"), good);
        checked(&node, "shop");
        // Somebody is in it, and has to go.
        let mut guest = client(
            &node,
            "USE shop; BEGIN TRANSACTION; INSERT dbo.ledger (n) VALUES (-1); WAITFOR DELAY '00:10:00'",
        );
        node.until("SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE DB_NAME(database_id) = 'shop' AND open_transaction_count > 0", "1");
        refused(&node, "RESTORE DATABASE shop FROM DATABASE_SNAPSHOT = 'good'", "3101");
        node.run("ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE; RESTORE DATABASE shop FROM DATABASE_SNAPSHOT = 'good'");
        assert!(!guest.wait().unwrap().success());
        assert_eq!(content(&node, "shop"), good);
    }
    node.logs("Reverting database 'shop' to the point in time of database snapshot 'good'");
}

#[test]
fn copies_of_a_group_have_snapshots_of_their_own() {
    let (dir, mut nodes) = cluster("snapshots-group", 3);
    nodes[0].run("CREATE DATABASE shop");
    nodes[0].run("CREATE TABLE shop.dbo.ledger (n bigint PRIMARY KEY); INSERT shop.dbo.ledger VALUES (1)");
    nodes[0].run(&create("alone"));
    let members: Vec<String> = nodes[1..].iter().map(Instance::server).collect();
    let mut arguments = vec!["group", "create", "ag", "--database", "shop"];
    members.iter().for_each(|m| arguments.extend(["--member", m]));
    keel(&arguments, &nodes[0]);
    let ready =
        "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_cluster_states WHERE is_failover_ready = 1";
    nodes[0].until(ready, "3");
    assert_eq!(content(&nodes[0], "alone"), "1 1 1 1", "a database with a snapshot was added");
    // The second can be read, the third cannot: its snapshot can all the same.
    for (name, connections) in [("NODE2", "ALL"), ("NODE3", "NO")] {
        nodes[0].run(&format!(
            "ALTER AVAILABILITY GROUP ag MODIFY REPLICA ON N'{name}' WITH (SECONDARY_ROLE (ALLOW_CONNECTIONS = {connections}))"
        ));
    }
    nodes[0].run("INSERT shop.dbo.ledger VALUES (2)");
    nodes[1].until("SELECT COUNT(*) FROM shop.dbo.ledger", "2");
    let applied = "SELECT CASE WHEN last_redone_lsn = last_hardened_lsn THEN 1 ELSE 0 END FROM sys.dm_hadr_database_replica_states WHERE is_local = 1";
    nodes[2].until(applied, "1");
    for (node, name) in nodes.iter().zip(["one", "two", "three"]) {
        node.run(&create(name));
        refused(node, &format!("RESTORE DATABASE shop FROM DATABASE_SNAPSHOT = '{name}'"), "3104");
    }
    refused(&nodes[2], "SELECT * FROM shop.dbo.ledger", "976");
    nodes[0].run("INSERT shop.dbo.ledger VALUES (3); ALTER TABLE shop.dbo.ledger ADD more int");
    nodes[0].run("USE shop; CHECKPOINT");
    let all_as_they_were = |nodes: &[Instance]| {
        for (node, name) in nodes.iter().zip(["one", "two", "three"]) {
            assert_eq!(content(node, name), "2 1 2 3", "{name}\n{}", node.log());
            assert_eq!(
                node.value(&format!("SELECT COUNT(*) FROM {name}.sys.columns WHERE name = 'more'")),
                "0"
            );
            refused(node, &format!("INSERT {name}.dbo.ledger VALUES (9)"), "3906");
            checked(node, name);
        }
    };
    all_as_they_were(&nodes);
    // There and back again, and a kill.
    nodes[1].run("ALTER AVAILABILITY GROUP ag FAILOVER");
    nodes[1].until("SELECT sys.fn_hadr_is_primary_replica('shop')", "1");
    nodes[1].run("INSERT shop.dbo.ledger (n) VALUES (4); USE shop; CHECKPOINT");
    nodes[1].until(ready, "3");
    all_as_they_were(&nodes);
    nodes[1].kill();
    let primary = |nodes: &[Instance]| {
        let leads = |at: &usize| nodes[*at].value("SELECT sys.fn_hadr_is_primary_replica('shop')") == "1";
        (0..300).find_map(|_| [0, 2].into_iter().find(leads)).expect("somebody takes over")
    };
    let leader = primary(&nodes);
    nodes[leader].run("INSERT shop.dbo.ledger (n) VALUES (5); USE shop; CHECKPOINT");
    nodes[1].start();
    nodes[leader].until(ready, "3");
    all_as_they_were(&nodes);
    refused(&nodes[leader], "DROP DATABASE shop", "3752");
    // A copy that is made anew loses its snapshots, and says so: that of another database of this name, which it cannot follow.
    nodes[leader].run("ALTER AVAILABILITY GROUP ag REMOVE DATABASE shop");
    nodes[1].until("SELECT state_desc FROM sys.databases WHERE name = 'shop'", "RESTORING");
    refused(&nodes[1], "DROP DATABASE shop", "3709");
    assert_eq!(content(&nodes[1], "two"), "2 1 2 3");
    let own = if leader == 0 { "one" } else { "three" };
    nodes[leader].run(&format!("DROP DATABASE IF EXISTS alone, {own}, shop; CREATE DATABASE shop"));
    nodes[leader]
        .run("BACKUP DATABASE shop TO DISK = 'shop.bak'; ALTER AVAILABILITY GROUP ag ADD DATABASE shop");
    nodes[leader].until(ready, "3");
    nodes[1].logs(
        "Database snapshot 'two' is dropped: the copy of database 'shop' that it was taken of is made anew.",
    );
    assert_eq!(snapshots(&nodes[1]), "");
    drop(nodes);
    let _ = std::fs::remove_dir_all(&dir);
}
