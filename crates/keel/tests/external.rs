//! A group whose roles a cluster manager decides, and what its agent (`ocf:mssql:ag`) sends: start, monitor, demote, promote.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, cluster, comes};

const ROLE: &str = "SELECT ars.role_desc FROM sys.availability_groups ag INNER JOIN sys.dm_hadr_availability_replica_states ars
    ON ars.group_id = ag.group_id AND ars.is_local = 1 WHERE ag.name = N'ag1'";
const SEQUENCE: &str = "SELECT sequence_number FROM sys.availability_groups WHERE name = N'ag1'";
const PROMOTE: &str = "EXEC sp_set_session_context @key = N'external_cluster', @value = N'yes'
    ALTER AVAILABILITY GROUP [ag1] FAILOVER";
const LEASE: &str = "ALTER AVAILABILITY GROUP [ag1] SET (WRITE_LEASE_VALIDITY = 42)";
const OFFLINE: &str = "ALTER AVAILABILITY GROUP [ag1] OFFLINE";
const SECONDARY: &str = "ALTER AVAILABILITY GROUP [ag1] SET (ROLE = SECONDARY)";
const SYNCHRONIZED: &str =
    "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2";

/// What a statement that fails says.
fn refused(node: &Instance, text: &str) -> String {
    let output = node.sql(&["-Q", text]);
    assert!(!output.status.success(), "{text} on {} went well", node.name);
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn make_group(nodes: &[Instance]) {
    let replica = |node: &Instance| {
        let (name, url) = (&node.name, node.endpoint());
        format!(
            "N'{name}' WITH (ENDPOINT_URL = N'TCP://{url}', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, \
             FAILOVER_MODE = EXTERNAL, SEEDING_MODE = AUTOMATIC, SECONDARY_ROLE (ALLOW_CONNECTIONS = READ_ONLY))"
        )
    };
    let replicas: Vec<String> = nodes.iter().map(replica).collect();
    nodes[0].run("CREATE DATABASE shop");
    nodes[0].run("CREATE TABLE shop.dbo.t (a int PRIMARY KEY)");
    nodes[0].run(&format!(
        "CREATE AVAILABILITY GROUP [ag1] WITH (DB_FAILOVER = ON, CLUSTER_TYPE = EXTERNAL) FOR DATABASE shop REPLICA ON {}",
        replicas.join(", ")
    ));
    for node in &nodes[1..] {
        node.run("ALTER AVAILABILITY GROUP [ag1] JOIN WITH (CLUSTER_TYPE = EXTERNAL)");
        node.run("ALTER AVAILABILITY GROUP [ag1] GRANT CREATE ANY DATABASE");
    }
    nodes[0].until(SYNCHRONIZED, "3");
}

/// What the agent does on the others behind a promotion: it sends them off line, and its monitor tells them to follow.
fn follow(primary: &Instance, node: &Instance) {
    node.until(ROLE, "SECONDARY");
    node.run(OFFLINE);
    node.until(ROLE, "RESOLVING");
    assert_eq!(node.value(ROLE), "RESOLVING", "it was told to follow nobody");
    node.run(SECONDARY);
    node.until(ROLE, "SECONDARY");
    primary.until(
        &format!(
            "SELECT ars.synchronization_health_desc FROM sys.dm_hadr_availability_replica_states ars JOIN sys.availability_replicas ar
             ON ar.replica_id = ars.replica_id WHERE ar.replica_server_name = N'{}'",
            node.name
        ),
        "HEALTHY",
    );
}

/// Promotes whichever member takes the role, as a manager does that tries one after the other. 41142 comes from one that was not in
/// the set, and as long as its log, which a restart has put in question, has not been compared with the others'.
fn promoted<'a>(members: &[&'a Instance]) -> &'a Instance {
    let promote = format!("BEGIN TRY {PROMOTE} END TRY BEGIN CATCH PRINT ERROR_NUMBER() END CATCH; {ROLE}");
    comes(|| members.iter().copied().find(|node| node.value(&promote) == "PRIMARY")).unwrap_or_else(|| {
        panic!("nobody leads: {}", members.iter().map(|node| node.log()).collect::<String>())
    })
}

#[test]
fn a_cluster_managers_agent_moves_the_role() {
    let (dir, mut nodes) = cluster("external", 3);
    make_group(&nodes);
    let [one, two, three] = &mut nodes[..] else { unreachable!("three were made") };
    one.run("INSERT shop.dbo.t VALUES (1)");

    // Only the manager fails over, and the group was made without a lease.
    assert!(refused(two, "ALTER AVAILABILITY GROUP [ag1] FAILOVER").contains("47104"));
    assert!(refused(two, LEASE).contains("47116"));
    // What the monitor asks on the primary.
    one.run(
        "DECLARE @num_ags INT;
         SELECT @num_ags = COUNT(*) FROM sys.availability_groups WHERE name = N'ag1' AND required_synchronized_secondaries_to_commit = 1;
         IF @num_ags = 0 ALTER AVAILABILITY GROUP [ag1] SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1);",
    );
    let newest = one.value(SEQUENCE);
    assert!(newest.parse::<i64>().is_ok_and(|n| n > 0), "{newest:?}");
    for node in [&two, &three] {
        node.until(SEQUENCE, &newest);
    }

    // Planned: demote here, promote there.
    one.run(OFFLINE);
    one.until(ROLE, "RESOLVING");
    two.run(PROMOTE);
    two.until(ROLE, "PRIMARY");
    for node in [&*one, &*three] {
        follow(two, node);
    }
    two.run("INSERT shop.dbo.t VALUES (2)");

    // The primary dies: nobody takes its place before he is told to.
    two.kill();
    for node in [&*one, &*three] {
        node.until(
            "SELECT member_state_desc FROM sys.dm_hadr_cluster_members WHERE member_name = N'NODE2'",
            "DOWN",
        );
        assert_ne!(node.value(ROLE), "PRIMARY");
    }
    three.run(PROMOTE);
    three.until(ROLE, "PRIMARY");
    assert_eq!(three.value("SELECT COUNT(*) FROM shop.dbo.t"), "2");
    follow(three, one);
    three.run("INSERT shop.dbo.t VALUES (3)");

    // The old primary starts as a secondary.
    two.start();
    follow(three, two);
    let said = two.value("USE shop; SELECT COUNT(*) FROM dbo.t");
    assert!(said.starts_with("Msg 978,"), "without read-only intent it takes nobody: {said}");

    // All start anew: nobody leads before he is told to, and a majority is enough.
    [&mut *one, &mut *two, &mut *three].into_iter().for_each(Instance::kill);
    [&mut *two, &mut *three].into_iter().for_each(Instance::start);
    for node in [&*two, &*three] {
        node.until("SELECT COUNT(*) FROM sys.dm_hadr_cluster_members WHERE member_state = 1", "2");
        assert_eq!(node.value(ROLE), "RESOLVING", "{}", node.log());
    }
    let primary = promoted(&[two, three]);
    assert_eq!(primary.value("SELECT COUNT(*) FROM shop.dbo.t"), "3");
    nodes.iter_mut().for_each(Instance::kill);
    let _ = std::fs::remove_dir_all(&dir);
}
