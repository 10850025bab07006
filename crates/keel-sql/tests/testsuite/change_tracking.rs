//! Change tracking where many write at the same time, bulk loads, and old changes.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, server, value, well};
use keel_base::env::sim::{SimClock, SimDisk, env};
use keel_base::env::{Disk, Env, OpenMode};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const DATABASE: &str = "CREATE DATABASE ct; ALTER DATABASE ct SET CHANGE_TRACKING = ON; ALTER DATABASE ct SET ALLOW_SNAPSHOT_ISOLATION ON";

/// Brings a copy `m` of `t` up to date, from the version that `s` knows.
const SYNC: &str = "
    DECLARE @last bigint = (SELECT v FROM s), @now bigint = CHANGE_TRACKING_CURRENT_VERSION();
    IF @last < CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID('t')) RAISERROR ('all of it is to be read again', 16, 1);
    DECLARE @changed TABLE (id int PRIMARY KEY, a int);
    INSERT @changed SELECT c.id, t.a FROM CHANGETABLE(CHANGES t, @last) AS c LEFT JOIN t ON t.id = c.id;
    DELETE m FROM m JOIN @changed AS c ON c.id = m.id;
    INSERT m SELECT id, a FROM @changed WHERE a IS NOT NULL;
    UPDATE s SET v = @now;";

/// Writers change rows of `t` in transactions of one to three statements while a reader follows them.
fn followed(isolation: &str) {
    const WRITERS: usize = 4;
    const TRANSACTIONS: usize = 120;
    let engine = server();
    let mut reader = connect(&engine);
    well(&mut reader, DATABASE);
    well(
        &mut reader,
        "USE ct; CREATE TABLE t (id int PRIMARY KEY, a int); ALTER TABLE t ENABLE CHANGE_TRACKING;
         CREATE TABLE m (id int PRIMARY KEY, a int); CREATE TABLE s (v bigint); INSERT s VALUES (0)",
    );
    let left = Arc::new(AtomicUsize::new(WRITERS));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (engine, left) = (Arc::clone(&engine), Arc::clone(&left));
            std::thread::spawn(move || {
                let mut session = connect(&engine);
                well(&mut session, "USE ct");
                for n in 0..TRANSACTIONS {
                    // Rows of its own: nobody waits, and commits are in any order.
                    let id = writer * 1000 + n % 20;
                    let text = format!(
                        "BEGIN TRANSACTION;
                         UPDATE t SET a = {n} WHERE id = {id};
                         IF @@ROWCOUNT = 0 INSERT t VALUES ({id}, {n});
                         IF {n} % 3 = 0 DELETE t WHERE id = {};
                         IF {n} % 7 = 0 ROLLBACK ELSE COMMIT;",
                        writer * 1000 + (n * 7) % 20
                    );
                    well(&mut session, &text);
                }
                left.fetch_sub(1, Ordering::SeqCst);
            })
        })
        .collect();
    let sync = format!("SET TRANSACTION ISOLATION LEVEL {isolation}; BEGIN TRANSACTION; {SYNC} COMMIT");
    loop {
        let last = left.load(Ordering::SeqCst) == 0;
        well(&mut reader, &sync);
        if last {
            break;
        }
    }
    writers.into_iter().for_each(|w| w.join().unwrap());
    let differ = "SELECT COUNT(*) AS n FROM ((SELECT * FROM t EXCEPT SELECT * FROM m) UNION ALL (SELECT * FROM m EXCEPT SELECT * FROM t)) AS d";
    assert_eq!(value(&mut reader, differ), "0", "{isolation}");
    let rolled_back = TRANSACTIONS.div_ceil(7);
    let versions = (WRITERS * (TRANSACTIONS - rolled_back)).to_string();
    assert_eq!(value(&mut reader, "SELECT CHANGE_TRACKING_CURRENT_VERSION() AS v"), versions);
    let dense = "SELECT MAX(commit_ts) - COUNT(DISTINCT commit_ts) AS gaps FROM sys.dm_tran_commit_table";
    assert_eq!(value(&mut reader, dense), "0");
}

#[test]
fn who_follows_in_snapshots_misses_nothing() {
    followed("SNAPSHOT");
}

#[test]
fn one_statement_sees_versions_and_changes_of_one_moment() {
    let (engine, stop) = (server(), Arc::new(AtomicBool::new(false)));
    let mut reader = connect(&engine);
    well(&mut reader, DATABASE);
    well(
        &mut reader,
        "USE ct; CREATE TABLE t (id int PRIMARY KEY, a int); ALTER TABLE t ENABLE CHANGE_TRACKING; INSERT t VALUES (1, 1)",
    );
    let writer = {
        let (engine, stop) = (Arc::clone(&engine), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut session = connect(&engine);
            well(&mut session, "USE ct");
            for _ in 0..2000 {
                well(&mut session, "UPDATE t SET a = a + 1");
            }
            stop.store(true, Ordering::SeqCst);
        })
    };
    // Each change of the row is a version: the three must agree.
    let seen = "SELECT COUNT(*) AS torn FROM CHANGETABLE(CHANGES t, 0) AS c JOIN t ON t.id = c.id
                WHERE c.SYS_CHANGE_VERSION <> t.a OR CHANGE_TRACKING_CURRENT_VERSION() <> t.a";
    while !stop.load(Ordering::SeqCst) {
        assert_eq!(value(&mut reader, seen), "0");
    }
    writer.join().unwrap();
}

#[test]
fn who_asks_for_the_version_first_misses_nothing() {
    followed("READ COMMITTED");
}

#[test]
fn bulk_loads_are_tracked() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    disk.create_dir_all(Path::new("/in")).unwrap();
    disk.open(Path::new("/in/a.txt"), OpenMode::Create).unwrap().write_at(b"1\tone\n2\ttwo\n", 0).unwrap();
    let mut session = connect(&engine);
    well(&mut session, DATABASE);
    well(
        &mut session,
        "USE ct; CREATE TABLE t (id int, s varchar(10), PRIMARY KEY NONCLUSTERED (s, id)); ALTER TABLE t ENABLE CHANGE_TRACKING",
    );
    well(&mut session, "BULK INSERT t FROM '/in/a.txt'");
    let seen = "SELECT STRING_AGG(CONCAT(s, id, SYS_CHANGE_OPERATION, SYS_CHANGE_VERSION), ' ') AS seen FROM CHANGETABLE(CHANGES t, 0) AS c";
    assert_eq!(value(&mut session, seen), "one1I1 two2I1");
    well(&mut session, "BULK INSERT t FROM '/in/a.txt' WITH (TABLOCK, FIRSTROW = 3)");
}

/// An instance whose clock is set by hand.
fn timed() -> (Arc<keel_sql::Engine>, Arc<SimClock>) {
    let clock = SimClock::starting_at(1_700_000_000_000_000_000);
    let engine = crate::common::open_in(Env { clock: Arc::clone(&clock) as _, ..env(&SimDisk::new(), 7) });
    (engine, clock)
}

#[test]
fn what_is_older_than_the_retention_goes_and_versions_go_on() {
    let (engine, clock) = timed();
    let mut session = connect(&engine);
    well(&mut session, DATABASE);
    well(
        &mut session,
        "ALTER DATABASE ct SET CHANGE_TRACKING (CHANGE_RETENTION = 1 HOURS); USE ct;
         CREATE TABLE t (id int PRIMARY KEY, a int); ALTER TABLE t ENABLE CHANGE_TRACKING;
         INSERT t VALUES (1, 1); INSERT t VALUES (2, 2); UPDATE t SET a = 3 WHERE id = 1",
    );
    clock.advance(Duration::from_secs(50 * 60));
    well(&mut session, "INSERT t VALUES (3, 3)");
    let state = "SELECT CONCAT(CHANGE_TRACKING_CURRENT_VERSION(), ' ', CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID('t')), ' ',
        (SELECT STRING_AGG(CONCAT(id, SYS_CHANGE_OPERATION, SYS_CHANGE_VERSION), ' ') FROM CHANGETABLE(CHANGES t, 0) AS c)) AS state";
    keel_sql::change_cleanup::clean(&engine, &|| false).unwrap();
    assert_eq!(value(&mut session, state), "4 0 1I3 2I2 3I4", "all of it is young");
    clock.advance(Duration::from_secs(20 * 60));
    well(&mut session, "ALTER DATABASE ct SET CHANGE_TRACKING (AUTO_CLEANUP = OFF)");
    keel_sql::change_cleanup::clean(&engine, &|| false).unwrap();
    assert_eq!(value(&mut session, state), "4 0 1I3 2I2 3I4", "not asked for");
    well(&mut session, "ALTER DATABASE ct SET CHANGE_TRACKING (AUTO_CLEANUP = ON)");
    keel_sql::change_cleanup::clean(&engine, &|| false).unwrap();
    assert_eq!(value(&mut session, state), "4 3 3I4");
    let rows = "SELECT CONCAT(MAX(CASE WHEN id = 1 THEN v.SYS_CHANGE_VERSION END), '-', MAX(CASE WHEN id = 3 THEN v.SYS_CHANGE_VERSION END)) AS v
        FROM (VALUES (1), (3)) AS k (k) CROSS APPLY CHANGETABLE(VERSION t, (id), (k.k)) AS v";
    assert_eq!(value(&mut session, rows), "-4");
    clock.advance(Duration::from_secs(60 * 60));
    well(&mut session, "EXEC sp_flush_CT_internal_table_on_demand");
    assert_eq!(value(&mut session, state), "4 4");
    well(&mut session, "DELETE t WHERE id = 1");
    assert_eq!(value(&mut session, state), "5 4 1D5");
}

#[test]
fn cleaning_waits_for_who_changes_the_table_s_definition() {
    let (engine, clock) = timed();
    let mut session = connect(&engine);
    well(&mut session, DATABASE);
    well(
        &mut session,
        "ALTER DATABASE ct SET CHANGE_TRACKING (CHANGE_RETENTION = 1 MINUTES); USE ct;
         CREATE TABLE t (id int PRIMARY KEY); ALTER TABLE t ENABLE CHANGE_TRACKING; INSERT t VALUES (1)",
    );
    clock.advance(Duration::from_secs(120));
    well(&mut session, "BEGIN TRANSACTION; TRUNCATE TABLE t");
    let done = Arc::new(AtomicBool::new(false));
    let cleaner = {
        let (engine, done) = (Arc::clone(&engine), Arc::clone(&done));
        std::thread::spawn(move || {
            keel_sql::change_cleanup::clean(&engine, &|| false).unwrap();
            done.store(true, Ordering::SeqCst);
        })
    };
    while engine.instance().locks().waiting().is_empty() {
        assert!(!done.load(Ordering::SeqCst), "it did not wait");
        std::thread::yield_now();
    }
    well(&mut session, "COMMIT; INSERT t VALUES (2)");
    cleaner.join().unwrap();
    let state = "SELECT CONCAT(CHANGE_TRACKING_MIN_VALID_VERSION(OBJECT_ID('t')), ' ', COUNT(*)) AS state FROM CHANGETABLE(CHANGES t, 0) AS c";
    assert_eq!(value(&mut session, state), "2 1");
}
