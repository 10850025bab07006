//! Full-text search over real processes: a population that is killed goes on, secondaries answer searches, and the next primary indexes.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

mod common;

use common::{Instance, cluster, keel};

/// Documents of the index.
const ITEMS: &str = "SELECT OBJECTPROPERTYEX(OBJECT_ID('shop.dbo.t'), 'TableFulltextItemCount')";

fn count(condition: &str) -> String {
    format!("SELECT COUNT(*) FROM shop.dbo.t WHERE CONTAINS(x, '{condition}')")
}

/// Rows with a word that all have, their own number, and one that every hundredth has.
fn rows(numbers: std::ops::RangeInclusive<i32>) -> String {
    let (first, last) = numbers.into_inner();
    format!(
        "INSERT shop.dbo.t SELECT value, CONCAT('common n', value, IIF(value % 100 = 0, ' rare', '')) FROM GENERATE_SERIES({first}, {last})"
    )
}

fn index(node: &Instance) {
    node.run(
        "USE shop; CREATE FULLTEXT CATALOG c AS DEFAULT; CREATE FULLTEXT INDEX ON dbo.t (x) KEY INDEX pk_t",
    );
}

#[test]
fn a_killed_population_goes_on() {
    let (dir, mut nodes) = cluster("full-text-killed", 1);
    let node = &mut nodes[0];
    node.run("CREATE DATABASE shop");
    node.run("USE shop; CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, x varchar(100))");
    node.run(&rows(1..=60_000));
    index(node);
    // Whenever it dies, what is in the index is in it once, and the rest follows.
    for _ in 0..4 {
        let before: u64 = node.value(&format!("USE shop; {ITEMS}")).parse().unwrap();
        let more = format!(
            "SELECT IIF(CONVERT(int, OBJECTPROPERTYEX(OBJECT_ID('dbo.t'), 'TableFulltextItemCount')) > {before} OR FULLTEXTCATALOGPROPERTY('c', 'PopulateStatus') = 0, 1, 0)"
        );
        node.until(&format!("USE shop; {more}"), "1");
        node.kill();
        node.start();
    }
    node.run("INSERT shop.dbo.t VALUES (70000, 'common late')");
    node.until("USE shop; SELECT FULLTEXTCATALOGPROPERTY('c', 'PopulateStatus')", "0");
    node.until(&count("late"), "1");
    assert_eq!(node.value(&count("common")), "60001");
    assert_eq!(node.value(&count("rare")), "600");
    assert_eq!(node.value(&format!("USE shop; {ITEMS}")), "60001");
    let words = "USE shop; SELECT document_count FROM sys.dm_fts_index_keywords(DB_ID(), OBJECT_ID('dbo.t')) WHERE display_term = 'common'";
    assert_eq!(node.value(words), "60001");
    nodes.clear();
    let _ = std::fs::remove_dir_all(dir);
}

#[test]
fn secondaries_answer_and_the_next_primary_goes_on() {
    let (dir, nodes) = cluster("full-text-group", 3);
    {
        let [one, two, three] = &nodes[..] else { unreachable!("three were made") };
        one.run("CREATE DATABASE shop");
        let members = [two.server(), three.server()];
        let made =
            ["group", "create", "ag", "--database", "shop", "--member", &members[0], "--member", &members[1]];
        keel(&made, one);
        one.run("USE shop; CREATE TABLE dbo.t (id int NOT NULL CONSTRAINT pk_t PRIMARY KEY, x varchar(100))");
        one.run(&rows(1..=1000));
        index(one);
        for node in [one, two, three] {
            node.until(&count("common"), "1000");
            node.until(&count("rare AND NOT n100"), "9");
        }
        // Rows that wait go with the database: the next primary indexes them.
        one.run("ALTER FULLTEXT INDEX ON shop.dbo.t SET CHANGE_TRACKING MANUAL");
        one.run(&rows(1001..=1100));
        one.run("UPDATE shop.dbo.t SET x = 'changed' WHERE id <= 10");
        assert_eq!(one.value(&count("common")), "1000");
        two.run("ALTER AVAILABILITY GROUP ag FAILOVER");
        let primary = "SELECT CONCAT(role_desc, ' ', synchronization_health_desc) FROM sys.dm_hadr_availability_replica_states WHERE is_local = 1";
        two.until(primary, "PRIMARY HEALTHY");
        two.run("ALTER FULLTEXT INDEX ON shop.dbo.t SET CHANGE_TRACKING AUTO");
        for node in [one, two, three] {
            node.until(&count("common"), "1090");
            node.until(&count("changed"), "10");
        }
        // A secondary shows how the index stands, and changes nothing of it.
        three.until("USE shop; SELECT FULLTEXTCATALOGPROPERTY('c', 'PopulateStatus')", "0");
        assert_eq!(three.value(&format!("USE shop; {ITEMS}")), "1100");
        let refused = three.sql(&["-Q", "ALTER FULLTEXT INDEX ON shop.dbo.t START FULL POPULATION"]);
        let said =
            String::from_utf8_lossy(&refused.stdout).into_owned() + &String::from_utf8_lossy(&refused.stderr);
        assert!(said.contains("3906"), "{said}");
    }
    drop(nodes);
    let _ = std::fs::remove_dir_all(dir);
}
