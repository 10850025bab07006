//! Change data capture where many write at the same time: the promise of its LSNs. Bulk loads, and old changes.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, server, value, well};
use keel_base::env::sim::{SimClock, SimDisk, env};
use keel_base::env::{Disk, Env, OpenMode};
use keel_sql::Session;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const CAPTURED: &str = "CREATE DATABASE shop; ALTER DATABASE shop SET ALLOW_SNAPSHOT_ISOLATION ON";
const TABLES: &str = "USE shop; EXEC sys.sp_cdc_enable_db;
    CREATE TABLE t (id int PRIMARY KEY, a int); CREATE TABLE u (id int PRIMARY KEY, a int);
    EXEC sys.sp_cdc_enable_table 'dbo', 't', @role_name = NULL; EXEC sys.sp_cdc_enable_table 'dbo', 'u', @role_name = NULL;
    CREATE TABLE m (id int PRIMARY KEY, a int)";

const WRITERS: usize = 4;
const TRANSACTIONS: usize = 120;

/// Into so many parts what is written is cut: see [`write`].
const PARTS: usize = 5;

/// Changes rows of its own in `t` and `u`: nobody waits for another writer, and commits are in any order. Who reads is waited for
/// after each part: it has found something new as many times as there are parts before.
fn write(session: &mut Session, writer: usize, found: &AtomicUsize) {
    well(session, "USE shop");
    for n in 0..TRANSACTIONS {
        while found.load(Ordering::SeqCst) < n * PARTS / TRANSACTIONS {
            std::thread::yield_now();
        }
        let (id, other) = (writer * 1000 + n % 20, writer * 1000 + (n * 7) % 20);
        let text = format!(
            "BEGIN TRANSACTION;
             UPDATE t SET a = {n} WHERE id = {id};
             IF @@ROWCOUNT = 0 INSERT t VALUES ({id}, {n});
             IF {n} % 3 = 0 DELETE t WHERE id = {other};
             INSERT u VALUES ({}, {n});
             IF {n} % 7 = 0 ROLLBACK ELSE COMMIT;",
            writer * 1000 + n
        );
        well(session, &text);
    }
}

/// What a reader has seen: the greatest LSN, and how many rows of both change tables were at or below it.
const SEEN: &str = "DECLARE @max binary(10) = sys.fn_cdc_get_max_lsn();
    SELECT CONCAT(CONVERT(varchar(22), @max, 1), ' ', (SELECT COUNT(*) FROM cdc.dbo_t_CT WHERE __$start_lsn <= @max), ' ',
        (SELECT COUNT(*) FROM cdc.dbo_u_CT WHERE __$start_lsn <= @max)) AS seen";

/// Brings the copy `m` of `t` up to date, from the LSN after the one that was seen before; the answer is the greatest now.
fn sync(session: &mut Session, from: &str) -> String {
    value(
        session,
        &format!(
            "DECLARE @from binary(10) = {from}, @to binary(10) = sys.fn_cdc_get_max_lsn();
             IF @from <= @to
             BEGIN
                 DECLARE @changed TABLE (id int PRIMARY KEY, op int, a int);
                 INSERT @changed SELECT id, __$operation, a FROM cdc.fn_cdc_get_net_changes_dbo_t(@from, @to, N'all');
                 DELETE m FROM m JOIN @changed AS c ON c.id = m.id;
                 INSERT m SELECT id, a FROM @changed WHERE op <> 1;
             END;
             SELECT CONVERT(varchar(22), CASE WHEN @from <= @to THEN sys.fn_cdc_increment_lsn(@to) ELSE @from END, 1) AS next_"
        ),
    )
    .lines()
    .last()
    .unwrap()
    .to_owned()
}

/// Writers, a teller and a reader who polls the greatest LSN, in this isolation level.
fn followed(isolation: &str) {
    let engine = server();
    let mut reader = connect(&engine);
    well(&mut reader, CAPTURED);
    well(&mut reader, TABLES);
    well(&mut reader, "EXEC sys.sp_cdc_scan");
    let (left, stop) = (Arc::new(AtomicUsize::new(WRITERS)), Arc::new(AtomicBool::new(false)));
    let found = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (engine, left, found) = (Arc::clone(&engine), Arc::clone(&left), Arc::clone(&found));
            std::thread::spawn(move || {
                write(&mut connect(&engine), writer, &found);
                left.fetch_sub(1, Ordering::SeqCst);
            })
        })
        .collect();
    let teller = {
        let (engine, stop) = (Arc::clone(&engine), Arc::clone(&stop));
        std::thread::spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                engine.capture_bell.wait(Duration::from_millis(20));
                keel_sql::capture::tell_all(&engine, &|| false).unwrap();
            }
        })
    };
    let mut seen = Vec::new();
    let mut next =
        value(&mut reader, "SELECT CONVERT(varchar(22), sys.fn_cdc_get_min_lsn('dbo_t'), 1) AS next_");
    well(&mut reader, &format!("SET NOCOUNT ON; SET TRANSACTION ISOLATION LEVEL {isolation}"));
    while left.load(Ordering::SeqCst) > 0 {
        seen.push(value(&mut reader, SEEN));
        seen.dedup();
        found.store(seen.len(), Ordering::SeqCst);
        next = sync(&mut reader, &next);
    }
    writers.into_iter().for_each(|w| w.join().unwrap());
    stop.store(true, Ordering::SeqCst);
    engine.capture_bell.ring();
    teller.join().unwrap();
    well(&mut reader, "EXEC sys.sp_cdc_scan");
    sync(&mut reader, &next);
    // What was at or below an LSN when it was the greatest is all there is at or below it.
    assert!(seen.len() >= PARTS - 1, "the reader has looked while others wrote: {seen:?}");
    for line in &seen {
        let parts: Vec<&str> = line.split(' ').collect();
        let now = format!(
            "SELECT CONCAT((SELECT COUNT(*) FROM cdc.dbo_t_CT WHERE __$start_lsn <= {0}), ' ', (SELECT COUNT(*) FROM cdc.dbo_u_CT WHERE __$start_lsn <= {0})) AS now",
            parts[0]
        );
        assert_eq!(value(&mut reader, &now), format!("{} {}", parts[1], parts[2]), "{isolation} {line}");
    }
    let differ = "SELECT COUNT(*) AS n FROM ((SELECT * FROM t EXCEPT SELECT * FROM m) UNION ALL (SELECT * FROM m EXCEPT SELECT * FROM t)) AS d";
    assert_eq!(value(&mut reader, differ), "0", "{isolation}");
    // One LSN for all of a transaction, and none for one that was rolled back.
    let transactions = (WRITERS * (TRANSACTIONS - TRANSACTIONS.div_ceil(7))).to_string();
    let lsns = "SELECT COUNT(DISTINCT __$start_lsn) AS n FROM cdc.dbo_u_CT";
    assert_eq!(value(&mut reader, lsns), transactions);
    let torn = "SELECT COUNT(*) AS n FROM cdc.dbo_t_CT AS t WHERE NOT EXISTS (SELECT 1 FROM cdc.dbo_u_CT AS u WHERE u.__$start_lsn = t.__$start_lsn)";
    assert_eq!(value(&mut reader, torn), "0");
    let mapped = "SELECT COUNT(*) AS n FROM cdc.dbo_u_CT AS u JOIN cdc.lsn_time_mapping AS m ON m.start_lsn = u.__$start_lsn";
    assert_eq!(value(&mut reader, mapped), transactions);
    // A writer's transactions are in its own order.
    let swapped = "SELECT COUNT(*) AS n FROM (SELECT id, LAG(id) OVER (PARTITION BY id / 1000 ORDER BY __$start_lsn) AS before_ FROM cdc.dbo_u_CT) AS w WHERE before_ > id";
    assert_eq!(value(&mut reader, swapped), "0");
    assert_eq!(value(&mut reader, "SELECT COUNT(*) AS n FROM sys.dm_cdc_errors"), "0");
}

#[test]
fn no_row_comes_below_an_lsn_that_was_seen() {
    followed("READ COMMITTED");
}

#[test]
fn no_row_comes_below_an_lsn_that_was_seen_in_a_snapshot() {
    followed("SNAPSHOT");
}

#[test]
fn readers_under_locks_keep_nobody_from_writing() {
    let engine = server();
    let (mut reader, mut writer) = (connect(&engine), connect(&engine));
    well(&mut reader, CAPTURED);
    well(&mut reader, TABLES);
    well(&mut reader, "EXEC sys.sp_cdc_scan");
    let read = "SELECT COUNT(*) AS n FROM cdc.fn_cdc_get_all_changes_dbo_t(sys.fn_cdc_get_min_lsn('dbo_t'), sys.fn_cdc_get_max_lsn(), N'all')";
    well(&mut reader, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; BEGIN TRANSACTION");
    assert_eq!(value(&mut reader, read), "0");
    well(&mut writer, "USE shop; SET LOCK_TIMEOUT 1000; INSERT t VALUES (1, 1); EXEC sys.sp_cdc_scan");
    assert_eq!(value(&mut reader, read), "1");
    well(&mut reader, "COMMIT");
}

#[test]
fn several_databases_commit_together() {
    let engine = server();
    let mut session = connect(&engine);
    well(&mut session, CAPTURED);
    well(&mut session, TABLES);
    well(&mut session, "CREATE DATABASE other; USE other");
    well(&mut session, &TABLES.replace("USE shop;", ""));
    well(
        &mut session,
        "BEGIN TRANSACTION; INSERT shop.dbo.t VALUES (1, 1); INSERT other.dbo.t VALUES (1, 1); COMMIT;
         EXEC shop.sys.sp_cdc_scan; EXEC other.sys.sp_cdc_scan",
    );
    for database in ["shop", "other"] {
        let told = format!(
            "SELECT COUNT(*) AS n FROM {database}.cdc.dbo_t_CT WHERE __$start_lsn <= {database}.sys.fn_cdc_get_max_lsn()"
        );
        assert_eq!(value(&mut session, &told), "1");
    }
}

#[test]
fn bulk_loads_are_captured() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    disk.create_dir_all(Path::new("/in")).unwrap();
    disk.open(Path::new("/in/a.txt"), OpenMode::Create).unwrap().write_at(b"1\t10\n2\t20\n", 0).unwrap();
    let mut session = connect(&engine);
    well(&mut session, CAPTURED);
    well(&mut session, TABLES);
    well(
        &mut session,
        "BULK INSERT t FROM '/in/a.txt' WITH (TABLOCK); BULK INSERT u FROM '/in/a.txt'; EXEC sys.sp_cdc_scan",
    );
    let told = "SELECT STRING_AGG(CONCAT(__$operation, ':', id, ':', a), ' ') WITHIN GROUP (ORDER BY __$seqval) AS told FROM cdc.dbo_t_CT";
    assert_eq!(value(&mut session, told), "2:1:10 2:2:20");
    assert_eq!(value(&mut session, &told.replace("_t_", "_u_")), "2:1:10 2:2:20");
}

#[test]
fn the_thread_removes_what_is_older_than_the_retention() {
    let clock = SimClock::starting_at(1_700_000_000_000_000_000);
    let engine = crate::common::open_in(Env { clock: Arc::clone(&clock) as _, ..env(&SimDisk::new(), 7) });
    let mut session = connect(&engine);
    well(&mut session, CAPTURED);
    well(&mut session, TABLES);
    well(
        &mut session,
        "EXEC sys.sp_cdc_change_job 'cleanup', @retention = 60; INSERT t VALUES (1, 1); EXEC sys.sp_cdc_scan",
    );
    clock.advance(Duration::from_secs(40 * 60));
    well(&mut session, "INSERT t VALUES (2, 2); EXEC sys.sp_cdc_scan");
    let kept = "SELECT STRING_AGG(id, ' ') WITHIN GROUP (ORDER BY id) AS kept FROM cdc.dbo_t_CT";
    keel_sql::capture::clean(&engine, &|| false).unwrap();
    assert_eq!(value(&mut session, kept), "1 2");
    clock.advance(Duration::from_secs(70 * 60));
    well(&mut session, "INSERT t VALUES (3, 3); EXEC sys.sp_cdc_scan");
    keel_sql::capture::clean(&engine, &|| false).unwrap();
    // The last transaction that is too old is the new low end, and stays.
    assert_eq!(value(&mut session, kept), "2 3");
    well(
        &mut session,
        "SELECT * FROM cdc.fn_cdc_get_all_changes_dbo_t(sys.fn_cdc_get_min_lsn('dbo_t'), sys.fn_cdc_get_max_lsn(), N'all')",
    );
}

/// Readers look for new instances between the LSNs of two looks, and not all of them count the upper end in (Debezium does not): an
/// instance's start is none that was told.
#[test]
fn an_instance_begins_between_what_is_told() {
    let engine = server();
    let mut session = connect(&engine);
    well(&mut session, CAPTURED);
    well(&mut session, TABLES);
    well(&mut session, "INSERT t VALUES (1, 1); EXEC sys.sp_cdc_scan");
    for n in 2..6 {
        let seen = value(&mut session, "SELECT CONVERT(varchar(22), sys.fn_cdc_get_max_lsn(), 1)");
        let enable = format!(
            "EXEC sys.sp_cdc_enable_table 'dbo', 't', @capture_instance = 't_{n}', @role_name = NULL"
        );
        well(&mut session, &format!("{enable}; EXEC sys.sp_cdc_scan"));
        let between = format!(
            "SELECT COUNT(*) FROM cdc.change_tables WHERE capture_instance = 't_{n}' AND start_lsn > {seen}
                 AND start_lsn < sys.fn_cdc_get_max_lsn()"
        );
        assert_eq!(value(&mut session, &between), "1");
        well(&mut session, &format!("EXEC sys.sp_cdc_disable_table 'dbo', 't', 't_{n}'"));
    }
}
