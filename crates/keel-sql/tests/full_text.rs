//! The crawl of full-text indexes, round by round: on instances whose crawling thread is the test.
#![allow(clippy::unwrap_used)]
mod common;

use common::{connect, open, run, server, well};
use keel_base::Epoch;
use keel_base::env::sim::SimDisk;
use keel_sql::full_text::crawl_all;
use keel_sql::{Engine, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A database with tables of so many rows each, that say the same two words, and an empty index on each.
fn with_tables(session: &mut Session, database: &str, tables: &[&str], rows: u32) {
    well(session, &format!("CREATE DATABASE {database}"));
    well(session, &format!("USE {database}; CREATE FULLTEXT CATALOG c AS DEFAULT"));
    for table in tables {
        let made = format!(
            "CREATE TABLE dbo.{table} (id int NOT NULL CONSTRAINT pk_{table} PRIMARY KEY, x varchar(100)); \
             INSERT dbo.{table} SELECT value, 'some words' FROM GENERATE_SERIES(1, {rows})"
        );
        well(session, &made);
        well(session, &format!("CREATE FULLTEXT INDEX ON dbo.{table} (x) KEY INDEX pk_{table}"));
    }
}

fn number(session: &mut Session, expression: &str) -> u64 {
    let said = well(session, &format!("SELECT {expression} AS n"));
    said.lines().find_map(|line| line.trim().parse().ok()).unwrap_or_else(|| panic!("{said}"))
}

fn items(session: &mut Session, table: &str) -> u64 {
    let items = format!("OBJECTPROPERTYEX(OBJECT_ID('{table}'), 'TableFulltextItemCount')");
    well(session, &format!("USE {}", table.split('.').next().unwrap()));
    number(session, &format!("CONVERT(int, {items})"))
}

/// A round that has nobody to wait for.
fn round(engine: &Arc<Engine>) -> Vec<String> {
    engine.full_text_bell.ring();
    crawl_all(engine, &|| false).into_iter().map(|e| format!("{} {}", e.number, e.message)).collect()
}

#[test]
fn every_index_has_its_turn() {
    let engine = server();
    let mut session = connect(&engine);
    with_tables(&mut session, "one", &["a", "b"], 9000);
    with_tables(&mut session, "two", &["a"], 9000);
    for expected in [4000, 8000, 9000] {
        assert_eq!(round(&engine), Vec::<String>::new());
        let found = ["one.dbo.a", "one.dbo.b", "two.dbo.a"].map(|t| items(&mut session, t));
        assert_eq!(found, [expected; 3]);
    }
}

/// What a group's other members have not answered to yet is not waited for, and the index goes on when they have.
#[test]
fn who_waits_for_replicas_holds_up_nobody() {
    let engine = open(&SimDisk::new());
    let mut session = connect(&engine);
    with_tables(&mut session, "grouped", &["a", "b"], 9000);
    with_tables(&mut session, "alone", &["a"], 9000);
    well(&mut session, "USE master");
    let entry = engine.databases().into_iter().find(|d| &*d.name() == "grouped").unwrap();
    entry.store.enter_group(Epoch(1)).unwrap();
    entry.store.set_waiting(true).unwrap();
    for _ in 0..3 {
        assert_eq!(round(&engine), Vec::<String>::new());
    }
    assert_eq!(items(&mut session, "alone.dbo.a"), 9000);
    assert_eq!(["grouped.dbo.a", "grouped.dbo.b"].map(|t| items(&mut session, t)), [0; 2]);
    for expected in [4000, 8000, 9000] {
        entry.store.advance_agreed(entry.store.hardened());
        assert_eq!(["grouped.dbo.a", "grouped.dbo.b"].map(|t| items(&mut session, t)), [expected; 2]);
        assert_eq!(round(&engine), Vec::<String>::new());
    }
}

/// A table that somebody is changing loses its turn at once.
#[test]
fn a_table_that_is_locked_holds_up_nobody() {
    let engine = server();
    let mut session = connect(&engine);
    with_tables(&mut session, "one", &["a", "b"], 3000);
    let mut changing = connect(&engine);
    well(&mut changing, "USE one; BEGIN TRANSACTION; ALTER TABLE dbo.a ADD y int");
    assert_eq!(round(&engine), Vec::<String>::new());
    assert_eq!(items(&mut session, "one.dbo.b"), 3000);
    well(&mut changing, "COMMIT");
    assert_eq!(round(&engine), Vec::<String>::new());
    assert_eq!(items(&mut session, "one.dbo.a"), 3000);
}

/// `sp_keel_fulltext_wait` does what waited when it began, however much comes behind it: changed rows,
#[test]
fn who_waits_does_not_wait_for_what_comes_later() {
    let engine = server();
    let mut session = connect(&engine);
    with_tables(&mut session, "one", &["a"], 1);
    well(&mut session, "USE one; EXEC sys.sp_keel_fulltext_wait");
    wait_beside_a_writer(&engine, &mut session);
}

/// or a population, which reads the rows that there are when it begins.
#[test]
fn a_population_ends() {
    let engine = server();
    let mut session = connect(&engine);
    with_tables(&mut session, "one", &["a"], 9000);
    well(&mut session, "USE one");
    wait_beside_a_writer(&engine, &mut session);
}

fn wait_beside_a_writer(engine: &Arc<Engine>, session: &mut Session) {
    let (first, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let writer = {
        let (engine, first, stop) = (Arc::clone(engine), Arc::clone(&first), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut session = connect(&engine);
            let mut number = 10_000;
            // Faster than anybody could index.
            while !stop.load(Ordering::SeqCst) {
                run(
                    &mut session,
                    &format!(
                        "INSERT one.dbo.a SELECT value, 'later' FROM GENERATE_SERIES({number}, {number} + 19999)"
                    ),
                );
                number += 20_000;
                first.store(true, Ordering::SeqCst);
            }
        })
    };
    while !first.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    well(session, "EXEC sys.sp_keel_fulltext_wait");
    stop.store(true, Ordering::SeqCst);
    writer.join().unwrap();
    let found = number(session, "(SELECT COUNT(*) FROM dbo.a WHERE CONTAINS(x, 'later'))");
    assert!(found >= 20_000, "{found}");
}
