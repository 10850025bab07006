//! Plans that the Query Store forces: each that a query has ever had is made again, whatever the planner would decide by itself.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open, server, ship, store, value, well};
use keel_base::Epoch;
use keel_base::env::sim::{SimDisk, Tear};
use keel_node::Isolation;
use keel_sql::{Engine, Session};
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

const TABLES: &str = "
    ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 4;
    CREATE TABLE customer (id int NOT NULL CONSTRAINT c_id PRIMARY KEY, town varchar(20) NOT NULL, kind int NOT NULL);
    CREATE INDEX c_town ON customer (town);
    CREATE INDEX c_kind ON customer (kind) INCLUDE (town);
    CREATE TABLE orders (id int NOT NULL CONSTRAINT o_id PRIMARY KEY, customer int NOT NULL, day int NOT NULL, total int NOT NULL);
    CREATE INDEX o_customer ON orders (customer);
    CREATE INDEX o_day ON orders (day) INCLUDE (customer, total);
    CREATE TABLE line (order_id int NOT NULL, n int NOT NULL, item int NOT NULL, CONSTRAINT l_id PRIMARY KEY (order_id, n));
    CREATE INDEX l_item ON line (item);
    CREATE TABLE pile (item int NOT NULL, weight int NOT NULL);
    INSERT customer SELECT value, CONCAT('t', value % 7), value % 3 FROM GENERATE_SERIES(1, 60);
    INSERT orders SELECT value, 1 + value % 60, value % 40, value FROM GENERATE_SERIES(1, 400);
    INSERT line SELECT value, n, (value + n) % 25 FROM GENERATE_SERIES(1, 400) CROSS JOIN (VALUES (1), (2)) v (n);
    INSERT pile SELECT value % 25, value FROM GENERATE_SERIES(1, 100)";

/// With the view and the procedure that some of them are about.
const MODULES: [&str; 2] = [
    "CREATE VIEW towns AS SELECT c.town, o.total, o.day FROM customer c JOIN orders o ON o.customer = c.id",
    "CREATE PROCEDURE by_town @town varchar(20) AS SELECT COUNT(*) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.town = @town",
];

const QUERIES: [&str; 22] = [
    "SELECT COUNT(*) FROM orders WHERE day = 3 AND customer = 5",
    "SELECT total FROM orders WHERE customer = 5 ORDER BY day",
    "SELECT COUNT(*) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.town = 't3'",
    "SELECT COUNT(*) FROM customer c JOIN orders o ON o.customer = c.id JOIN line l ON l.order_id = o.id WHERE l.item = 4 AND c.kind = 1",
    "SELECT COUNT(*) FROM customer c, orders o, line l, pile p WHERE o.customer = c.id AND l.order_id = o.id AND p.item = l.item AND p.weight < 30",
    "SELECT c.id, o.id FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.day = 3 WHERE c.kind = 2",
    "SELECT c.id FROM customer c FULL JOIN orders o ON o.customer = c.id WHERE o.day = 3",
    "SELECT c.id FROM customer c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer = c.id AND o.day = 7)",
    "SELECT c.id FROM customer c JOIN orders o ON o.customer = c.id WHERE o.id IN (SELECT order_id FROM line WHERE item = 4)",
    "SELECT c.id FROM customer c WHERE c.id NOT IN (SELECT customer FROM orders WHERE day > 5)",
    "SELECT c.id FROM customer c WHERE NOT EXISTS (SELECT * FROM orders o JOIN line l ON l.order_id = o.id WHERE o.customer = c.id AND l.item = 3)",
    "SELECT town, COUNT(*) FROM customer GROUP BY town",
    "SELECT c.town, SUM(o.total) FROM customer c JOIN orders o ON o.customer = c.id GROUP BY c.town",
    "SELECT DISTINCT customer FROM orders WHERE day < 20",
    "SELECT d.customer, c.town FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) d JOIN customer c ON c.id = d.customer WHERE d.n > 5",
    "SELECT c.town, (SELECT MAX(o.total) FROM orders o JOIN line l ON l.order_id = o.id WHERE o.customer = c.id) FROM customer c",
    "SELECT customer FROM orders WHERE day = 1 UNION SELECT c.id FROM customer c JOIN orders o ON o.customer = c.id WHERE c.kind = 0",
    "SELECT TOP 5 o.id, c.town FROM orders o JOIN customer c ON c.id = o.customer ORDER BY o.day DESC",
    "SELECT c.id, x.id FROM customer c CROSS APPLY (SELECT TOP 1 o.id FROM orders o WHERE o.customer = c.id ORDER BY o.day) x",
    "SELECT town, SUM(total) FROM towns WHERE day < 9 GROUP BY town",
    "UPDATE o SET total = total + 1 FROM orders o JOIN customer c ON c.id = o.customer WHERE c.town = 't2'",
    "DELETE l FROM line l JOIN pile p ON p.item = l.item WHERE p.weight < 0",
];

const HINTS: [&str; 7] = [
    "LOOP JOIN",
    "HASH JOIN",
    "FORCE ORDER",
    "HASH GROUP",
    "ORDER GROUP, LOOP JOIN",
    "FORCE ORDER, HASH JOIN, HASH GROUP",
    "USE HINT(''ENABLE_PARALLEL_PLAN_PREFERENCE'')",
];

/// A database with tables, whose store captures all.
fn shop(engine: &Arc<Engine>) -> Session {
    let mut session = connect(engine);
    well(&mut session, "CREATE DATABASE shop");
    well(&mut session, "USE shop");
    well(&mut session, TABLES);
    MODULES.iter().for_each(|module| {
        well(&mut session, module);
    });
    well(&mut session, "ALTER DATABASE shop SET QUERY_STORE = ON (QUERY_CAPTURE_MODE = ALL)");
    session
}

fn query_id(session: &mut Session, query: &str) -> String {
    let text = query.replace('\'', "''");
    let sql = format!(
        "SELECT q.query_id FROM sys.query_store_query q JOIN sys.query_store_query_text t
            ON t.query_text_id = q.query_text_id WHERE t.query_sql_text = N'{text}'"
    );
    value(session, &sql)
}

fn plans(session: &mut Session, query: &str) -> Vec<String> {
    let sql = format!("SELECT plan_id FROM sys.query_store_plan WHERE query_id = {query} ORDER BY plan_id");
    let said = well(session, &sql);
    let lines = said.lines().skip(2).take_while(|line| !line.starts_with('('));
    lines.map(|line| line.trim().to_owned()).collect()
}

/// How often a plan ran, and whether it could not be forced.
fn ran(session: &mut Session, plan: &str) -> (u32, String) {
    let sql = format!(
        "SELECT COALESCE(SUM(count_executions), 0) FROM sys.query_store_runtime_stats WHERE plan_id = {plan}"
    );
    let times = value(session, &sql).parse().unwrap();
    let sql = format!(
        "SELECT CONCAT(is_forced_plan, ' ', plan_forcing_type_desc, ' ', force_failure_count, ' ', last_force_failure_reason_desc)
            FROM sys.query_store_plan WHERE plan_id = {plan}"
    );
    (times, value(session, &sql))
}

#[test]
fn every_plan_that_a_query_had_can_be_forced() {
    let mut session = shop(&server());
    let (mut all, mut parallel, mut failed) = (0, 0, Vec::new());
    for query in QUERIES {
        well(&mut session, query);
        let id = query_id(&mut session, query);
        for hint in HINTS {
            well(&mut session, &format!("EXEC sp_query_store_set_hints {id}, N'OPTION ({hint})'"));
            well(&mut session, query);
        }
        well(&mut session, &format!("EXEC sp_query_store_clear_hints {id}"));
        for plan in plans(&mut session, &id) {
            all += 1;
            let sql = format!("SELECT is_parallel_plan FROM sys.query_store_plan WHERE plan_id = {plan}");
            parallel += u32::from(value(&mut session, &sql) == "1");
            let (before, _) = ran(&mut session, &plan);
            well(&mut session, &format!("EXEC sp_query_store_force_plan {id}, {plan}"));
            well(&mut session, query);
            let now = ran(&mut session, &plan);
            if now != (before + 1, "1 MANUAL 0 NONE".to_owned()) {
                let sql = format!("SELECT query_plan FROM sys.query_store_plan WHERE plan_id = {plan}");
                let plan = value(&mut session, &sql);
                failed.push(format!("{query}\n{now:?} after {before}\n{plan}\n"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(all > 2 * QUERIES.len() && parallel > 5, "{all} plans, {parallel} of them parallel");
}

const JOINED: &str = "SELECT COUNT(*) FROM customer c JOIN orders o ON o.customer = c.id WHERE c.town = 't3'";

/// The plan that the planner would not make, which is forced: its number, and its query's.
fn force_other(session: &mut Session) -> (String, String) {
    well(session, JOINED);
    let id = query_id(session, JOINED);
    for hint in ["LOOP JOIN", "HASH JOIN, FORCE ORDER"] {
        well(session, &format!("EXEC sp_query_store_set_hints {id}, N'OPTION ({hint})'"));
        well(session, JOINED);
    }
    well(session, &format!("EXEC sp_query_store_clear_hints {id}"));
    let [own, .., other] = &plans(session, &id)[..] else { panic!("there are two plans at least") };
    well(session, JOINED);
    assert_ne!(own, other);
    well(session, &format!("EXEC sp_query_store_force_plan {id}, {other}"));
    (id, other.clone())
}

/// What is forced is durable when the procedure returns, and so are the directions of the plan.
#[test]
fn a_plan_is_forced_after_a_crash_too() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = shop(&engine);
    let (_, plan) = force_other(&mut session);
    let engine = open(&disk.crash(Tear::LoseAll));
    let mut session = connect(&engine);
    well(&mut session, "USE shop");
    let (before, said) = ran(&mut session, &plan);
    assert_eq!(said, "1 MANUAL 0 NONE");
    well(&mut session, JOINED);
    assert_eq!(ran(&mut session, &plan), (before + 1, said));
}

/// A secondary compiles to the plan that the primary forces, also what it has compiled before, and makes its own again when that is over.
#[test]
fn a_plan_of_the_primary_is_forced_on_a_secondary() {
    let is_told = |session: &mut Session| {
        well(session, JOINED);
        let sql = "SELECT COUNT(*) FROM sys.dm_exec_cached_plans p CROSS APPLY sys.dm_exec_query_plan(p.plan_handle) d
            WHERE CAST(d.query_plan AS nvarchar(max)) LIKE '%UsePlan=\"true\"%'";
        value(session, sql) == "1"
    };
    let round = |engine: &Arc<Engine>| assert!(keel_sql::query_store::rounds(engine, &|| false).is_empty());
    let disk = SimDisk::new();
    let primary = open(&disk);
    let mut writer = shop(&primary);
    store(&primary).enter_group(Epoch(1)).unwrap();
    let secondary = open(&disk.crash(Tear::KeepAll));
    let copy = store(&secondary);
    copy.demote().unwrap();
    copy.apply_up_to(copy.hardened()).unwrap();
    assert!(copy.wait_applied(copy.hardened(), LONG));
    let mut reader = connect(&secondary);
    well(&mut reader, "USE shop");
    assert!(!is_told(&mut reader));
    round(&secondary);

    let (query, plan) = force_other(&mut writer);
    ship(&primary, &secondary, 1);
    round(&secondary);
    assert!(is_told(&mut reader));
    let sql = format!("SELECT is_forced_plan FROM sys.query_store_plan WHERE plan_id = {plan}");
    assert_eq!(value(&mut reader, &sql), "1");
    well(&mut writer, &format!("EXEC sp_query_store_unforce_plan {query}, {plan}"));
    ship(&primary, &secondary, 1);
    round(&secondary);
    assert!(!is_told(&mut reader));
}

/// A plan that was captured when directions were not kept is refused until it has run again.
#[test]
fn a_plan_without_directions_has_to_run_first() {
    const DIRECTIONS: u8 = 10;
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = shop(&engine);
    well(&mut session, JOINED);
    let id = query_id(&mut session, JOINED);
    let plan = plans(&mut session, &id).remove(0);
    well(&mut session, "EXEC sp_query_store_flush_db");
    let entry = engine.database("shop").unwrap();
    let tree = entry.picture().settings().query_store.as_ref().and_then(|s| s.tree).unwrap();
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    let mut key = vec![DIRECTIONS];
    key.extend(plan.parse::<u64>().unwrap().to_be_bytes());
    txn.delete_index(tree, &key).unwrap();
    txn.commit().unwrap().wait().unwrap();

    let engine = open(&disk.crash(Tear::LoseAll));
    let mut session = connect(&engine);
    well(&mut session, "USE shop");
    let force = format!("EXEC sp_query_store_force_plan {id}, {plan}");
    let mut refused = Sink::default();
    session.execute_batch(&force, &mut refused);
    let said = refused.0.finish();
    assert!(said.contains("Msg 40517"), "{said}");
    well(&mut session, JOINED);
    well(&mut session, &force);
    assert_eq!(ran(&mut session, &plan).1, "1 MANUAL 0 NONE");
}

/// A database with another name has the same plans.
#[test]
fn a_plan_stays_forced_in_a_database_that_is_renamed() {
    let engine = server();
    let mut session = shop(&engine);
    let (_, plan) = force_other(&mut session);
    well(&mut session, "USE master; ALTER DATABASE shop MODIFY NAME = market; USE market");
    well(&mut session, JOINED);
    assert_eq!(ran(&mut session, &plan).1, "1 MANUAL 0 NONE");
    let told =
        "SELECT COUNT(*) FROM sys.dm_exec_cached_plans p CROSS APPLY sys.dm_exec_query_plan(p.plan_handle) d
        WHERE CAST(d.query_plan AS nvarchar(max)) LIKE '%UsePlan=\"true\"%[market]%'";
    assert_eq!(value(&mut session, told), "1");
}
