//! An availability group over three processes, made by the script an administrator would run, and used by clients.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, KEEL, PASSWORD, free_port, keel};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/groups/three_replicas.sql");

struct Group {
    dir: PathBuf,
    nodes: Vec<Instance>,
}

impl Group {
    fn new(test: &str) -> Group {
        let dir = std::env::temp_dir().join(format!("keel-groups-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let nodes = (1..=3).map(|n| Instance::new(&dir, n)).collect();
        Group { dir, nodes }
    }

    fn script(&self) -> Output {
        let mut variables = vec![
            format!("Password={PASSWORD}"),
            format!("CertDir={}", self.dir.display()),
            "Group=ag1".to_owned(),
            "Database=shop".to_owned(),
        ];
        for (i, node) in self.nodes.iter().enumerate() {
            let n = i + 1;
            variables.push(format!("Server{n}={}", node.server()));
            variables.push(format!("Name{n}={}", node.name));
            variables.push(format!("Url{n}=TCP://{}:{}", node.ip, node.endpoint));
            variables.push(format!("Port{n}={}", node.endpoint));
            variables.push(format!("Route{n}=TCP://{}:{}", node.ip, node.port));
        }
        let mut arguments = vec!["-i", SCRIPT];
        for variable in &variables {
            arguments.extend(["-v", variable]);
        }
        self.nodes[0].sql(&arguments)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.nodes.clear();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[test]
fn a_script_makes_the_group_and_clients_use_it() {
    let mut group = Group::new("script");
    // One of the others has a database of its own: the copy there has another id than the primary's.
    group.nodes[1].run("CREATE DATABASE own");
    group.nodes[1]
        .run("CREATE TABLE own.dbo.orders (customer nvarchar(50)); INSERT own.dbo.orders VALUES (N'mine')");
    let made = group.script();
    let said = String::from_utf8_lossy(&made.stdout).into_owned() + &String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}\n{}\n{}", group.nodes[0].log(), group.nodes[1].log());
    assert!(said.contains("The availability group is ready."), "{said}");
    assert!(said.contains("refused with 3906"), "{said}");
    // Everything looks before it makes: a second run finds it all.
    let again = group.script();
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stdout));

    let [one, two, three] = &mut group.nodes[..] else { unreachable!("three were made") };
    // Read-only intent is sent to a secondary, in turns.
    let read_only = |node: &Instance| {
        let output = node.sql(&[
            "-K",
            "ReadOnly",
            "-d",
            "shop",
            "--csv",
            "-h",
            "-1",
            "-Q",
            "SET NOCOUNT ON; SELECT @@SERVERNAME",
        ]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let mut readers = [read_only(one), read_only(one)];
    readers.sort();
    assert_eq!(readers, ["NODE2", "NODE3"]);
    // Without intent the third takes nobody.
    let refused = three.sql(&["-d", "shop", "-Q", "SELECT 1"]);
    let refused =
        String::from_utf8_lossy(&refused.stdout).into_owned() + &String::from_utf8_lossy(&refused.stderr);
    assert!(refused.contains("978"), "{refused}");
    // A client's own write, read elsewhere.
    let lsn = one.value(
        "USE shop; INSERT dbo.orders (customer, amount) VALUES (N'me', 1); SELECT sys.fn_keel_commit_lsn()",
    );
    let lsn = lsn.lines().last().unwrap_or_default().to_owned();
    let seen = two.value(&format!(
        "USE shop; DECLARE @late int; EXEC @late = sys.sp_keel_wait_for_lsn @lsn = {lsn}; \
         SELECT CONCAT(@late, ' ', COUNT(*)) FROM dbo.orders WHERE customer = N'me'"
    ));
    assert!(seen.ends_with("0 1"), "{seen:?} for {lsn}");

    // Backups of the primary and of a secondary, and what is in the latter.
    let (full, log) = (group.dir.join("shop.bak"), group.dir.join("shop.trn"));
    let (full, log) = (full.display(), log.display());
    one.run(&format!("BACKUP DATABASE shop TO DISK = N'{full}'; BACKUP LOG shop TO DISK = N'{log}'"));
    two.run("BACKUP DATABASE shop TO DISK = N'shop.bak' WITH COPY_ONLY");
    two.run("RESTORE DATABASE copied FROM DISK = N'shop.bak'");
    assert_eq!(two.value("SELECT COUNT(*) FROM copied.dbo.orders WHERE customer = N'me'"), "1");

    // A planned failover: the second takes over, the first follows.
    two.run("ALTER AVAILABILITY GROUP ag1 FAILOVER");
    two.until("SELECT sys.fn_hadr_is_primary_replica('shop')", "1");
    two.run("INSERT shop.dbo.orders (customer, amount) VALUES (N'after failover', 2)");
    assert_eq!(two.value("SELECT customer FROM own.dbo.orders"), "mine");
    one.until("SELECT sys.fn_hadr_is_primary_replica('shop')", "0");
    two.until(
        "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2",
        "3",
    );

    // The log backups go on where those of the old primary ended, on whatever replica; a copy is made of them by hand.
    three.run(&format!("BACKUP LOG shop TO DISK = N'{log}'"));
    two.run("INSERT shop.dbo.orders (customer, amount) VALUES (N'in the third', 3)");
    two.run(&format!("BACKUP LOG shop TO DISK = N'{log}'"));
    let overlaps = "SELECT COUNT(*) FROM msdb.dbo.backupset a JOIN sys.database_recovery_status r ON r.last_log_backup_lsn = a.last_lsn";
    assert_eq!(two.value(overlaps), "1", "the newest is the primary's");
    two.run("ALTER AVAILABILITY GROUP ag1 MODIFY REPLICA ON N'NODE3' WITH (SEEDING_MODE = MANUAL)");
    three.run("ALTER DATABASE shop SET HADR OFF");
    assert_eq!(three.value("SELECT state_desc FROM sys.databases WHERE name = 'shop'"), "RESTORING");
    three.run("DROP DATABASE shop");
    three.run(&format!(
        "RESTORE DATABASE shop FROM DISK = N'{full}' WITH NORECOVERY;
         RESTORE LOG shop FROM DISK = N'{log}' WITH FILE = 1, NORECOVERY;
         RESTORE LOG shop FROM DISK = N'{log}' WITH FILE = 2, NORECOVERY;
         RESTORE LOG shop FROM DISK = N'{log}' WITH FILE = 3, NORECOVERY"
    ));
    two.run("INSERT shop.dbo.orders (customer, amount) VALUES (N'in no backup', 3)");
    three.run("ALTER DATABASE shop SET HADR AVAILABILITY GROUP = ag1");
    two.until(
        "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2",
        "3",
    );

    // The primary dies; the third is forced, and nothing that was committed is lost.
    two.kill();
    three.run("ALTER AVAILABILITY GROUP ag1 FORCE_FAILOVER_ALLOW_DATA_LOSS");
    three.until("SELECT sys.fn_hadr_is_primary_replica('shop')", "1");
    assert_eq!(
        three.value(
            "SELECT COUNT(*) FROM shop.dbo.orders WHERE customer IN (N'me', N'after failover', N'in the third', N'in no backup')"
        ),
        "4"
    );
    two.start();
    for node in [&*one, &*two] {
        node.until("SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE is_local = 1 AND is_suspended = 1", "1");
        node.run("ALTER DATABASE shop SET HADR RESUME");
    }
    three.until(
        "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2",
        "3",
    );

    group.nodes.iter_mut().for_each(Instance::stop);
}

/// 41142; and what SET HADR OFF let go follows with the log that it has when it is joined again.
#[test]
fn a_secondary_without_a_database_does_not_take_the_role_until_it_is_joined() {
    const SYNCHRONIZED: &str =
        "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2";
    const FAILOVER: &str = "ALTER AVAILABILITY GROUP ag1 FAILOVER";
    const OFF: &str = "ALTER DATABASE shop SET HADR OFF";
    const JOIN: &str = "ALTER DATABASE shop SET HADR AVAILABILITY GROUP = ag1";
    const SEEDINGS: &str = "SELECT COUNT(*) FROM sys.dm_hadr_automatic_seeding";
    let refused = |node: &Instance, text: &str| {
        let output = node.sql(&["-Q", text]);
        assert!(!output.status.success(), "{text} on {} went well", node.name);
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let mut group = Group::new("left");
    let made = group.script();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
    let [one, two, _] = &group.nodes[..] else { unreachable!("three were made") };
    one.until(SYNCHRONIZED, "3");
    let seedings = two.value(SEEDINGS);

    two.run(OFF);
    assert!(refused(two, FAILOVER).contains("41142"), "{}", two.log());
    assert!(refused(one, OFF).contains("35240"));
    one.until(SYNCHRONIZED, "2");
    one.run("INSERT shop.dbo.orders (customer, amount) VALUES (N'meanwhile', 1)");
    assert!(refused(two, FAILOVER).contains("41142"));
    two.run(JOIN);
    one.until(SYNCHRONIZED, "3");
    // At once.
    two.run(OFF);
    two.run(JOIN);
    one.run("INSERT shop.dbo.orders (customer, amount) VALUES (N'just then', 1)");
    one.until(SYNCHRONIZED, "3");
    assert_eq!(two.value(SEEDINGS), seedings, "no copy was made anew");

    // Suspended it is no target either.
    two.run("ALTER DATABASE shop SET HADR SUSPEND");
    assert!(refused(two, FAILOVER).contains("41142"));
    two.run("ALTER DATABASE shop SET HADR RESUME");
    one.until(SYNCHRONIZED, "3");
    two.run(FAILOVER);
    two.until("SELECT sys.fn_hadr_is_primary_replica('shop')", "1");
    let both = "SELECT COUNT(*) FROM shop.dbo.orders WHERE customer IN (N'meanwhile', N'just then')";
    assert_eq!(two.value(both), "2");

    group.nodes.iter_mut().for_each(Instance::stop);
}

#[test]
fn three_commands_make_a_group() {
    let mut group = Group::new("commands");
    let [one, two, three] = &group.nodes[..] else { unreachable!("three were made") };

    let said = keel(&["init", "--endpoint", &one.endpoint()], one);
    let token = said.lines().find(|l| l.starts_with("keel://")).unwrap().trim().to_owned();
    for node in [two, three] {
        let said = keel(&["join", &token, "--endpoint", &node.endpoint()], node);
        assert!(said.contains("knows and trusts NODE1"), "{said}");
    }
    one.run("CREATE DATABASE shop");
    one.run("CREATE TABLE shop.dbo.t (a int PRIMARY KEY); INSERT shop.dbo.t VALUES (42)");
    let members = [two.server(), three.server()];
    let said = keel(
        &["group", "create", "ag2", "--database", "shop", "--member", &members[0], "--member", &members[1]],
        one,
    );
    assert!(said.contains("Availability group ag2 is made; NODE1 is its primary."), "{said}");
    assert!(said.contains("2 of 2 copies are synchronized."), "{said}");
    for node in [two, three] {
        node.until("SELECT a FROM shop.dbo.t", "42");
    }

    // Who does not join is named.
    one.run("CREATE DATABASE late");
    let said = keel(&["group", "create", "ag3", "--database", "late", "--wait", "0"], one);
    assert!(said.contains("NODE2, late: NOT SYNCHRONIZING; replica "), "{said}");
    assert!(said.contains("NODE3, late: NOT SYNCHRONIZING; replica "), "{said}");
    one.run("DROP AVAILABILITY GROUP ag3");
    // A copy that cannot be made says why and is not waited for to the end.
    two.run("CREATE DATABASE taken");
    one.run("CREATE DATABASE taken");
    let mut arguments = vec!["group", "create", "ag4", "--database", "taken", "--wait", "3600"];
    members.iter().for_each(|member| arguments.extend(["--member", member]));
    let said = keel(&arguments, one);
    assert!(said.contains("A seeding failed and is tried again. NODE2, taken: "), "{said}");
    assert!(said.contains("1 of 2 copies are synchronized."), "{said}");
    assert!(said.contains("NODE2, taken: NOT SYNCHRONIZING; replica CONNECTED; seeding "), "{said}");
    one.run("DROP AVAILABILITY GROUP ag4");

    // One port, whichever node answers.
    let port = free_port();
    one.run(&format!(
        "ALTER AVAILABILITY GROUP ag2 ADD LISTENER N'shop-listener' (WITH DISTRIBUTED_NETWORK_NAME, PORT = {port})"
    ));
    let of_listener = "SELECT state_desc FROM sys.dm_keel_listeners";
    [one, two, three].into_iter().for_each(|node| node.until(of_listener, "ONLINE"));
    let way = "SELECT way_desc + ISNULL(' to ' + primary_replica, '') FROM sys.dm_keel_listeners";
    one.until(way, "SERVED");
    two.until(way, "FORWARDED to NODE1");
    for node in [one, two, three] {
        assert_eq!(node.value_at(port, "SELECT @@SERVERNAME"), "NODE1");
    }
    // How well the instance is, for whoever monitors it.
    let health = one.value("EXEC sys.sp_server_diagnostics");
    let states: Vec<String> =
        health.lines().map(|l| l.split(',').skip(1).take(4).collect::<Vec<_>>().join(",")).collect();
    let clean = |name: &str| format!("instance,{name},1,clean");
    assert_eq!(
        states[..4],
        ["system", "resource", "query_processing", "io_subsystem"].map(clean),
        "{health}"
    );
    assert_eq!(states[5], "Always On:AvailabilityGroup,ag2,1,clean", "{health}");

    // A job of the coming primary's that waits for the change of role.
    two.run(
        "USE msdb; EXEC sp_add_job N'told'; EXEC sp_add_jobstep @job_name = N'told', @step_name = N's', @command = N'PRINT 1';
         EXEC sp_add_jobserver @job_name = N'told'; EXEC sp_add_alert N'a role', @message_id = 1480, @job_name = N'told';
         EXEC sp_add_alert N'a mark', @severity = 17",
    );
    // The agent knows of both when it has counted one.
    two.until(
        "BEGIN TRY RAISERROR ('a mark', 17, 1) WITH LOG END TRY BEGIN CATCH END CATCH;
         SELECT IIF(occurrence_count > 0, 'heard', 'not yet') FROM msdb.dbo.sysalerts WHERE name = 'a mark'",
        "heard",
    );

    // A transaction and who waits for its locks are cut off when the primary moves, and the next connection is at the new one.
    let sessions = "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE database_id = DB_ID('shop')";
    let hold = "SET XACT_ABORT ON; BEGIN TRAN; UPDATE shop.dbo.t SET a = 43; WAITFOR DELAY '00:05:00'";
    let begin = |text: &str, running: &str| {
        let (server, mut command) = (format!("{},{port}", one.ip), Command::new(KEEL));
        command.args(["sql", "-S", &server, "-P", PASSWORD, "-C", "-b", "-Q", &format!("USE shop; {text}")]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        one.until(sessions, running);
        child
    };
    // One after the other, so that it is the second that waits.
    let began = [begin(hold, "1"), begin("UPDATE shop.dbo.t SET a = 44", "2")];
    two.run("ALTER AVAILABILITY GROUP ag2 FAILOVER");
    for mut child in began {
        assert!(!child.wait().unwrap().success(), "it was cut off");
    }
    for node in [one, two, three] {
        let answer = node.value_at(port, "SELECT CONCAT(@@SERVERNAME, a) FROM shop.dbo.t");
        // Who became primary, and why, if it is not the one that was asked to.
        let failovers = "SELECT STRING_AGG(CONCAT(began_utc, ' ', kind, ' ', from_replica, ' ', summary), '; ') FROM sys.dm_keel_failovers";
        assert_eq!(answer, "NODE242", "{:?}", [one, two, three].map(|n| n.value(failovers)));
    }
    two.until("SELECT TOP 1 run_status FROM msdb.dbo.sysjobhistory WHERE step_id = 0", "1");
    let told =
        "SELECT TOP 1 'told' FROM sys.fn_xe_file_target_read_file('AlwaysOn_health*.xel', NULL, NULL, NULL)
        WHERE object_name = 'availability_replica_state_change' AND event_data LIKE '%PRIMARY%'";
    for node in [one, two] {
        node.until(told, "told");
    }

    // A user of the database itself is there after the primary has moved, with what was granted and the password.
    let allow = "EXEC sp_configure 'contained database authentication', 1; RECONFIGURE";
    [one, two, three].into_iter().for_each(|node| node.run(allow));
    two.run("ALTER DATABASE shop SET CONTAINMENT = PARTIAL");
    two.run("USE shop; CREATE USER clerk WITH PASSWORD = 'Clerk-1'; GRANT SELECT ON dbo.t TO clerk");
    three.until("SELECT COUNT(*) FROM shop.sys.database_principals WHERE name = 'clerk'", "1");
    three.run("ALTER AVAILABILITY GROUP ag2 FAILOVER");
    let clerk = |server: &str| {
        let asked =
            ["sql", "-S", server, "-U", "clerk", "-P", "Clerk-1", "-d", "shop", "-C", "--csv", "-h", "-1"];
        let query = "SET NOCOUNT ON; SELECT CONCAT(@@SERVERNAME, USER_NAME(), a) FROM dbo.t";
        let output = Command::new(KEEL).args(asked).args(["-Q", query]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    assert_eq!(clerk(&format!("{},{port}", one.ip)), "NODE3clerk42");
    // On a readable secondary, too, as soon as it follows the new primary.
    two.until("SELECT CONCAT(@@SERVERNAME, a) FROM shop.dbo.t", "NODE242");
    assert_eq!(clerk(&two.server()), "NODE2clerk42");
    group.nodes.iter_mut().for_each(Instance::stop);
}
