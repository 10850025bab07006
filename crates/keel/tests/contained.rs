//! A contained availability group over three processes: logins and jobs go with the group.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, KEEL, PASSWORD, cluster, comes, free_port, keel};
use std::path::PathBuf;
use std::process::Command;

struct Group {
    dir: PathBuf,
    nodes: Vec<Instance>,
    /// The listener's port on every node.
    port: u16,
}

impl Group {
    /// Three instances, by the three commands, with a group that has `shop`.
    fn new(test: &str) -> Group {
        let (dir, nodes) = cluster(&format!("contained-{test}"), 3);
        let (first, others) = nodes.split_first().unwrap();
        first.run("CREATE DATABASE shop");
        first.run("CREATE TABLE shop.dbo.t (a int PRIMARY KEY)");
        let members: Vec<String> = others.iter().map(Instance::server).collect();
        let mut arguments = vec!["group", "create", "sales", "--contained", "--database", "shop"];
        members.iter().for_each(|member| arguments.extend(["--member", member]));
        let said = keel(&arguments, first);
        assert!(said.contains("6 of 6 copies are synchronized."), "{said}");
        let port = free_port();
        first.run(&format!(
            "ALTER AVAILABILITY GROUP sales ADD LISTENER N'sales-listener' (WITH DISTRIBUTED_NETWORK_NAME, PORT = {port})"
        ));
        let group = Group { dir, nodes, port };
        for node in 0..3 {
            let sockets = "SELECT COUNT(*) FROM sys.dm_tcp_listener_states WHERE type = 0 AND port = ";
            group.nodes[node].until(&format!("{sockets}{port} AND state = 0"), "1");
        }
        group
    }

    /// What a batch says to a login that comes by the listener of a node.
    fn ask(&self, node: usize, (login, password): (&str, &str), batch: &str) -> String {
        let server = format!("{},{}", self.nodes[node].ip, self.port);
        ask(&server, (login, password), &[], batch)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.nodes.clear();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn ask(server: &str, (login, password): (&str, &str), more: &[&str], batch: &str) -> String {
    let mut command = Command::new(KEEL);
    let batch = format!("SET NOCOUNT ON; {batch}");
    command.args(["sql", "-S", server, "-U", login, "-P", password, "-C", "-W", "--csv", "-h", "-1"]);
    let output = command.args(more).args(["-Q", &batch]).output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    said.trim().to_owned()
}

const BOSS: (&str, &str) = ("sa", PASSWORD);
const APP: (&str, &str) = ("app", "App-Pass-1");

/// How often the job has run, by the rows it leaves.
fn runs(group: &Group, wanted: &str) {
    let rows = "SELECT COUNT(*) FROM shop.dbo.t WHERE a >= 100";
    if comes(|| (group.ask(0, BOSS, rows) == wanted).then_some(())).is_none() {
        let history =
            group.ask(0, BOSS, "SELECT step_id, run_status, server, message FROM msdb.dbo.sysjobhistory");
        panic!("the job has not run {wanted} times: {history}");
    }
}

#[test]
fn logins_and_jobs_go_with_the_group() {
    let mut group = Group::new("failover");
    let said = group.ask(
        2,
        BOSS,
        "CREATE LOGIN app WITH PASSWORD = 'App-Pass-1', DEFAULT_DATABASE = shop;
         EXEC ('USE shop; CREATE USER app FOR LOGIN app; ALTER ROLE db_datareader ADD MEMBER app; ALTER ROLE db_datawriter ADD MEMBER app');
         EXEC msdb.dbo.sp_add_job @job_name = N'fill';
         EXEC msdb.dbo.sp_add_jobstep @job_name = N'fill', @step_name = N'one', @database_name = N'shop',
             @command = N'INSERT dbo.t SELECT ISNULL(MAX(a), 99) + 1 FROM dbo.t WHERE a >= 100';
         EXEC msdb.dbo.sp_add_jobserver @job_name = N'fill'",
    );
    assert_eq!(said, "");
    // Only there: the instances know neither.
    assert_eq!(group.nodes[0].value("SELECT COUNT(*) FROM sys.sql_logins WHERE name = 'app'"), "0");
    assert_eq!(group.nodes[0].value("SELECT COUNT(*) FROM msdb.dbo.sysjobs"), "0");
    assert!(ask(&group.nodes[0].server(), APP, &[], "SELECT 1").contains("Login failed"));
    // By the listener, and by naming a database of the group.
    let who = "SELECT CONCAT(@@SERVERNAME, ' ', SUSER_SNAME(), ' ', DB_NAME())";
    assert_eq!(group.ask(1, APP, who), "NODE1 app shop");
    assert_eq!(ask(&group.nodes[0].server(), APP, &["-d", "shop"], who), "NODE1 app shop");
    let by_secondary = ask(&group.nodes[1].server(), APP, &["-d", "shop"], who);
    assert_eq!(by_secondary, "NODE2 app shop");
    assert_eq!(group.ask(0, BOSS, "EXEC msdb.dbo.sp_start_job N'fill'"), "Job 'fill' started successfully.");
    runs(&group, "1");
    let elsewhere =
        ask(&group.nodes[1].server(), BOSS, &["-d", "shop"], "EXEC msdb.dbo.sp_start_job N'fill'");
    assert!(elsewhere.contains("Msg 47149"), "{elsewhere}");
    let elsewhere = ask(&group.nodes[1].server(), BOSS, &["-d", "shop"], "ALTER LOGIN app DISABLE");
    assert!(elsewhere.contains("Msg 3906"), "{elsewhere}");

    // A planned failover, and one that nobody planned.
    group.nodes[1].run("ALTER AVAILABILITY GROUP sales FAILOVER");
    assert_eq!(group.ask(0, APP, who), "NODE2 app shop");
    group.nodes[1].logs("The jobs of availability group 'sales' run here.");
    group.ask(0, BOSS, "EXEC msdb.dbo.sp_start_job N'fill'");
    runs(&group, "2");
    assert_eq!(group.ask(2, BOSS, "ALTER LOGIN app WITH PASSWORD = 'App-Pass-2'"), "");
    group.nodes[1].kill();
    let now = group.ask(0, ("app", "App-Pass-2"), who);
    assert!(now == "NODE1 app shop" || now == "NODE3 app shop", "{now}");
    let primary = if now.starts_with("NODE1") { 0 } else { 2 };
    // The second time there, if it is the first.
    let jobs_again = if primary == 0 { 2 } else { 1 };
    let wanted = "The jobs of availability group 'sales' run here.";
    let serves = || (group.nodes[primary].log().matches(wanted).count() >= jobs_again).then_some(());
    comes(serves).expect("jobs run where the primary is");
    group.ask(0, BOSS, "EXEC msdb.dbo.sp_start_job N'fill'");
    runs(&group, "3");
    // The history is of all three runs, wherever they ran.
    let history = "SELECT COUNT(*) FROM msdb.dbo.sysjobhistory WHERE step_id = 0 AND run_status = 1";
    comes(|| (group.ask(0, BOSS, history) == "3").then_some(())).expect("no run is missing in the history");
    // Who comes back has what changed meanwhile.
    group.nodes[1].start();
    let with_new = ("app", "App-Pass-2");
    let server = group.nodes[1].server();
    group.nodes[primary].until(
        "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2",
        "9",
    );
    assert_eq!(ask(&server, with_new, &["-d", "shop"], who), "NODE2 app shop");
    assert!(ask(&server, APP, &["-d", "shop"], who).contains("Login failed"));
}

#[test]
fn system_databases_outlive_their_group() {
    let group = Group::new("reuse");
    assert_eq!(group.ask(0, BOSS, "CREATE LOGIN app WITH PASSWORD = 'App-Pass-1'"), "");
    let [one, two, three] = &group.nodes[..] else { unreachable!("three were made") };
    one.run("ALTER AVAILABILITY GROUP sales REMOVE REPLICA ON N'NODE3'");
    one.run("DROP AVAILABILITY GROUP sales");
    let replica = |node: &Instance| {
        format!(
            "N'{}' WITH (ENDPOINT_URL = N'TCP://{}', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = AUTOMATIC, \
             SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))",
            node.name,
            node.endpoint()
        )
    };
    let create = |options: &str| {
        let replicas = [one, two, three].map(replica).join(", ");
        format!("CREATE AVAILABILITY GROUP sales WITH ({options}) FOR DATABASE shop REPLICA ON {replicas}")
    };
    let refused = one.sql(&["-Q", &create("CONTAINED")]);
    assert!(String::from_utf8_lossy(&refused.stdout).contains("Msg 47126"), "{refused:?}");
    one.run(&create("CONTAINED, REUSE_SYSTEM_DATABASES"));
    // Seeding is manual, and what is the group's own comes in any case; their old copies of it go first. That of the shop is taken again.
    for node in [two, three] {
        node.run("ALTER AVAILABILITY GROUP sales JOIN WITH (CLUSTER_TYPE = WSFC, REBUILD_SYSTEM_DATABASES)");
    }
    one.until(
        "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE synchronization_state = 2 AND is_local = 0",
        "6",
    );
    let who = "SELECT CONCAT(SUSER_SNAME(), ' ', DB_NAME())";
    assert_eq!(ask(&two.server(), APP, &["-d", "sales_master"], who), "app master");
}
