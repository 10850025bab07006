//! Change data capture in an availability group: its LSNs go on across failovers, and its change tables are read on secondaries.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, comes, keel};
use std::path::PathBuf;

struct Group {
    dir: PathBuf,
    nodes: Vec<Instance>,
}

impl Group {
    fn new() -> Group {
        let dir = std::env::temp_dir().join(format!("keel-capture-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let nodes: Vec<Instance> = (1..=3).map(|n| Instance::new(&dir, n)).collect();
        let group = Group { dir, nodes };
        let [one, two, three] = &group.nodes[..] else { unreachable!("three were made") };
        let said = keel(&["init", "--endpoint", &one.endpoint()], one);
        let token = said.lines().find(|l| l.starts_with("keel://")).unwrap().trim().to_owned();
        for node in [two, three] {
            keel(&["join", &token, "--endpoint", &node.endpoint()], node);
        }
        one.run("CREATE DATABASE shop");
        let members = [two.server(), three.server()];
        let made =
            ["group", "create", "ag", "--database", "shop", "--member", &members[0], "--member", &members[1]];
        keel(&made, one);
        group
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.nodes.clear();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Ids that were told, in the order of LSNs; those of a transaction by their sequence.
const TOLD: &str = "SELECT STRING_AGG(CONVERT(varchar(max), id), ' ') WITHIN GROUP (ORDER BY __$start_lsn, __$seqval) FROM shop.cdc.dbo_t_CT";

fn ids(numbers: std::ops::RangeInclusive<i32>) -> String {
    numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
}

/// Adds rows, one in a transaction.
fn write(node: &Instance, numbers: std::ops::RangeInclusive<i32>) {
    let (first, last) = numbers.into_inner();
    node.run(&format!(
        "USE shop; SET NOCOUNT ON; DECLARE @n int = {first}; WHILE @n <= {last} BEGIN INSERT dbo.t VALUES (@n); SET @n += 1 END"
    ));
}

#[test]
fn lsns_go_on_across_failovers() {
    let mut group = Group::new();
    let primary = "SELECT CONCAT(role_desc, ' ', synchronization_health_desc) FROM sys.dm_hadr_availability_replica_states WHERE is_local = 1";
    {
        let [one, two, three] = &group.nodes[..] else { unreachable!("three were made") };
        one.run(
            "USE shop; EXEC sys.sp_cdc_enable_db; CREATE TABLE dbo.t (id int PRIMARY KEY);
             EXEC sys.sp_cdc_enable_table 'dbo', 't', @role_name = NULL; EXEC sys.sp_cdc_change_job 'cleanup', @retention = 77",
        );
        write(one, 1..=50);
        for node in [one, two, three] {
            node.until(TOLD, &ids(1..=50));
        }
        // What was not told goes with the database: the next primary tells it.
        one.run("USE shop; EXEC sys.sp_cdc_stop_job 'capture'");
        write(one, 51..=60);
        assert_eq!(one.value(TOLD), ids(1..=50));
        two.run("ALTER AVAILABILITY GROUP ag FAILOVER");
        two.until(primary, "PRIMARY HEALTHY");
        write(two, 61..=100);
        for node in [one, two, three] {
            node.until(TOLD, &ids(1..=100));
        }
        // A readable secondary has the functions and the settings, too.
        let told = "DECLARE @from binary(10) = shop.sys.fn_cdc_get_min_lsn('dbo_t'), @to binary(10) = shop.sys.fn_cdc_get_max_lsn();
            SELECT COUNT(*) FROM shop.cdc.fn_cdc_get_all_changes_dbo_t(@from, @to, N'all')";
        three.until(told, "100");
        three.until("SELECT retention FROM msdb.dbo.cdc_jobs WHERE job_type = 'cleanup'", "77");
        one.until("SELECT is_cdc_enabled FROM sys.databases WHERE name = 'shop'", "1");
    }
    // Power goes: who takes over has all that was acknowledged.
    write(&group.nodes[1], 101..=150);
    group.nodes[1].kill();
    let (one, three) = (&group.nodes[0], &group.nodes[2]);
    let leads = || [one, three].into_iter().find(|n| n.value(primary).starts_with("PRIMARY"));
    let now = comes(leads).unwrap_or_else(|| panic!("nobody took over:\n{}\n{}", one.log(), three.log()));
    write(now, 151..=200);
    now.until(TOLD, &ids(1..=200));
    let other = if std::ptr::eq(now, one) { three } else { one };
    other.until(TOLD, &ids(1..=200));
    let doubled = "SELECT COUNT(*) - COUNT(DISTINCT __$start_lsn) FROM shop.cdc.dbo_t_CT";
    assert_eq!(now.value(doubled), "0");
}
