//! The crawl of full-text indexes, round by round: on instances whose crawling thread is the test.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, open_logging, run, server, well};
use keel_base::env::sim::SimDisk;
use keel_base::{Epoch, TreeId};
use keel_node::{Direction, Isolation};
use keel_query::full_text::FullTextTrees;
use keel_sql::full_text::crawl_all;
use keel_sql::{Engine, ServerLog, Session};
use keel_store::row::RowBuilder;
use keel_text::postings::{Posting, encode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// A database with tables of so many rows each, that say the same two words, and an empty index on each.
fn with_tables(session: &mut Session, database: &str, tables: &[&str], rows: u32) {
    well(session, &format!("CREATE DATABASE {database}"));
    well(session, &format!("USE {database}; CREATE FULLTEXT CATALOG c AS DEFAULT"));
    for table in tables {
        let made = format!(
            "CREATE TABLE dbo.{table} (id int NOT NULL CONSTRAINT pk_{table} PRIMARY KEY, x varchar(100)); \
             INSERT dbo.{table} SELECT value, 'green apple' FROM GENERATE_SERIES(1, {rows})"
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

/// Where the index of a table is kept.
fn trees(engine: &Arc<Engine>, database: &str, table: &str) -> FullTextTrees {
    let entry = engine.databases().into_iter().find(|d| &*d.name() == database).unwrap();
    let picture = entry.picture();
    let table = picture.stored().find(|t| t.name == table).unwrap();
    table.full_text.as_ref().unwrap().trees
}

/// Puts a row into a tree.
fn put(engine: &Arc<Engine>, database: &str, tree: TreeId, key: &[u8], columns: &[Option<&[u8]>]) {
    let entry = engine.databases().into_iter().find(|d| &*d.name() == database).unwrap();
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    txn.put_index(tree, key, &RowBuilder::build(columns)).unwrap();
    txn.commit().unwrap().wait().unwrap();
}

/// What cannot be read is an error, and is not written over; the other indexes go on.
#[test]
fn damage_is_told_and_holds_up_nobody() {
    let engine = server();
    let mut session = connect(&engine);
    with_tables(&mut session, "one", &["a", "b"], 10);
    well(&mut session, "USE one; EXEC sys.sp_keel_fulltext_wait");
    let of_a = trees(&engine, "one", "a");
    let key = [b"apple\0", &2_i32.to_be_bytes()[..], &1_u64.to_be_bytes()].concat();
    put(&engine, "one", of_a.postings, &key, &[Some(&[0xff; 9])]);
    let damaged = format!("tree {} of a full-text index holds what is no part of one", of_a.postings.0);
    for search in [
        "SELECT id FROM dbo.a WHERE CONTAINS(x, 'apple')",
        "SELECT id FROM dbo.a WHERE CONTAINS(x, '\"app*\"')",
        "SELECT id FROM dbo.a WHERE FREETEXT(x, 'apples')",
        "SELECT * FROM sys.dm_fts_index_keywords(DB_ID(), OBJECT_ID('dbo.a'))",
    ] {
        // It ends its session.
        let said = run(&mut connect(&engine), &format!("USE one; {search}"));
        assert!(said.contains("Msg 824") && said.contains(&damaged), "{search}: {said}");
    }
    well(&mut session, "INSERT dbo.a VALUES (11, 'green apple'); INSERT dbo.b VALUES (11, 'green apple')");
    for _ in 0..2 {
        let [failed] = &round(&engine)[..] else { panic!("one failed") };
        assert!(failed.starts_with("824 [one].[a]: ") && failed.contains(&damaged), "{failed}");
    }
    assert_eq!(["one.dbo.a", "one.dbo.b"].map(|t| items(&mut session, t)), [10, 11]);
    // The state of the crawl, too.
    let of_b = trees(&engine, "one", "b");
    put(&engine, "one", of_b.documents, &[0; 8], &[Some(b"{")]);
    let said = run(&mut connect(&engine), "SELECT id FROM one.dbo.b WHERE CONTAINS(x, 'apple')");
    assert!(said.contains("Msg 824"), "{said}");
    // An index that is made anew is whole.
    for table in ["a", "b"] {
        well(&mut session, &format!("DROP FULLTEXT INDEX ON dbo.{table}"));
        well(&mut session, &format!("CREATE FULLTEXT INDEX ON dbo.{table} (x) KEY INDEX pk_{table}"));
    }
    well(&mut session, "EXEC sys.sp_keel_fulltext_wait");
    assert_eq!(["one.dbo.a", "one.dbo.b"].map(|t| items(&mut session, t)), [11, 11]);
}

/// One transaction of a REORGANIZE does not take a whole word, however many chunks it has.
#[test]
fn a_long_list_is_reorganized_piece_by_piece() {
    let engine = server();
    let mut session = connect(&engine);
    with_tables(&mut session, "one", &["a"], 1);
    well(&mut session, "USE one; EXEC sys.sp_keel_fulltext_wait");
    let of_a = trees(&engine, "one", "a");
    // Chunks of documents that are gone.
    let entry = engine.databases().into_iter().find(|d| &*d.name() == "one").unwrap();
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    for first in 10..9010_u64 {
        let key = [b"old\0", &2_i32.to_be_bytes()[..], &first.to_be_bytes()].concat();
        let posting = Posting { document: first, positions: vec![1] };
        txn.put_index(of_a.postings, &key, &RowBuilder::build(&[Some(&encode(&[posting]))])).unwrap();
    }
    txn.commit().unwrap().wait().unwrap();
    well(&mut session, "ALTER FULLTEXT CATALOG c REORGANIZE");
    let words = "FULLTEXTCATALOGPROPERTY('c', 'UniqueKeyCount')";
    let mut left = 9003;
    for _ in 0..3 {
        assert_eq!(round(&engine), Vec::<String>::new());
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        let view = txn.view_as(Isolation::ReadCommitted);
        let all = std::ops::Bound::Unbounded;
        let mut cursor = txn.scan(&view, of_a.postings, all, all, Direction::Forward).unwrap();
        let mut chunks = 0;
        while cursor.next().unwrap().is_some() {
            chunks += 1;
        }
        assert!(chunks < left, "{chunks} of {left}");
        assert!(left - chunks <= 4000, "{chunks} of {left}");
        left = chunks;
    }
    assert_eq!(left, 2);
    assert_eq!(number(&mut session, words), 2);
}

/// Of a text that is very long the beginning is indexed, and the rest counts as unread; so do documents of other kinds. One line of the log
/// says so for all rows of a step.
#[test]
fn what_is_not_read_is_said_once_a_step() {
    let log = Arc::new(Lines::default());
    let engine = open_logging(&SimDisk::new(), Arc::clone(&log) as _);
    let mut session = connect(&engine);
    well(&mut session, "CREATE DATABASE one");
    well(&mut session, "USE one; CREATE FULLTEXT CATALOG c AS DEFAULT");
    well(
        &mut session,
        "CREATE TABLE dbo.a (id int NOT NULL CONSTRAINT pk_a PRIMARY KEY, x varchar(max), d varbinary(max), t varchar(9))",
    );
    well(
        &mut session,
        "INSERT dbo.a VALUES (1, 'first ' + REPLICATE(CONVERT(varchar(max), ' '), 67108864) + ' last', NULL, NULL); \
         INSERT dbo.a SELECT value, 'words', 0x00, '.doc' FROM GENERATE_SERIES(2, 100)",
    );
    well(&mut session, "CREATE FULLTEXT INDEX ON dbo.a (x, d TYPE COLUMN t) KEY INDEX pk_a");
    // A row as large as that is a step of its own.
    for (documents, unread, lines) in [(1, 1, 1), (100, 100, 2)] {
        assert_eq!(round(&engine), Vec::<String>::new());
        assert_eq!(items(&mut session, "one.dbo.a"), documents);
        let failed = "OBJECTPROPERTY(OBJECT_ID('dbo.a'), 'TableFulltextFailCount')";
        assert_eq!(number(&mut session, failed), unread);
        let said = log.0.lock().unwrap().iter().filter(|line| line.contains("No appropriate filter")).count();
        assert_eq!(said, lines);
    }
    let found = |session: &mut Session, word: &str| {
        number(session, &format!("(SELECT COUNT(*) FROM dbo.a WHERE CONTAINS(x, '{word}'))"))
    };
    assert_eq!((found(&mut session, "first"), found(&mut session, "last")), (1, 0));
}

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl ServerLog for Lines {
    fn write(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}
