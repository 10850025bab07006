//! The Query Store of a database that has copies, and where many run statements at the same time.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open, server, ship, store, value, well};
use keel_base::Epoch;
use keel_base::env::Env;
use keel_base::env::sim::{SimClock, SimDisk, Tear, env};
use keel_sql::{Engine, Session};
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);
const ON: &str = "ALTER DATABASE shop SET QUERY_STORE = ON (QUERY_CAPTURE_MODE = ALL)";
const SETUP: &str = "CREATE TABLE item (id int PRIMARY KEY, price int); INSERT item VALUES (1, 10), (2, 20)";
/// How often statements with some text have run.
const RAN: &str = "SELECT SUM(s.count_executions) FROM sys.query_store_runtime_stats s
    JOIN sys.query_store_plan p ON p.plan_id = s.plan_id JOIN sys.query_store_query q ON q.query_id = p.query_id
    JOIN sys.query_store_query_text t ON t.query_text_id = q.query_text_id WHERE t.query_sql_text LIKE '%price FROM item%'
    AND t.query_sql_text NOT LIKE '%query_store%'";

fn in_shop(engine: &Arc<Engine>) -> Session {
    let mut session = connect(engine);
    well(&mut session, "USE shop");
    session
}

/// A secondary shows what the primary has written, records nothing itself and refuses changes; as the next primary it goes on counting.
#[test]
fn a_secondary_shows_the_primarys_store() {
    let disk = SimDisk::new();
    let primary = open(&disk);
    well(&mut connect(&primary), "CREATE DATABASE shop");
    let mut writer = in_shop(&primary);
    well(&mut writer, ON);
    well(&mut writer, SETUP);
    store(&primary).enter_group(Epoch(1)).unwrap();
    let secondary = open(&disk.crash(Tear::KeepAll));
    let copy = store(&secondary);
    copy.demote().unwrap();
    let end = copy.hardened();
    copy.apply_up_to(end).unwrap();
    assert!(copy.wait_applied(end, LONG));

    for _ in 0..3 {
        well(&mut writer, "SELECT price FROM item WHERE id IN (1)");
    }
    well(&mut writer, "EXEC sp_query_store_flush_db");
    well(&mut writer, "SELECT price FROM item WHERE id IN (1)");
    assert_eq!(value(&mut writer, RAN), "4");
    ship(&primary, &secondary, 1);
    let mut reader = in_shop(&secondary);
    well(&mut reader, "SELECT price FROM item WHERE id IN (1)");
    assert_eq!(value(&mut reader, RAN), "3");
    let state = "SELECT CONCAT(desired_state_desc, ' ', actual_state_desc, ' ', readonly_reason) FROM sys.database_query_store_options";
    assert_eq!(value(&mut reader, state), "READ_WRITE READ_ONLY 8");
    let mut refused = Sink::default();
    reader.execute_batch("EXEC sp_query_store_flush_db", &mut refused);
    assert!(refused.0.finish().contains("Msg 12446"));

    store(&primary).fence("roles change");
    copy.promote(Epoch(2)).unwrap();
    // Nobody of a group is here whose answers commits could wait for.
    copy.set_waiting(false).unwrap();
    let mut writer = in_shop(&secondary);
    secondary.follow_query_stores();
    assert_eq!(value(&mut writer, state), "READ_WRITE READ_WRITE 0");
    well(&mut writer, "SELECT price FROM item WHERE id IN (1)");
    assert_eq!(value(&mut writer, RAN), "4");
}

/// What many sessions run is counted to the last execution, whoever looks meanwhile, and whichever sessions are gone.
#[test]
fn nothing_is_lost_or_counted_twice() {
    const SESSIONS: usize = 4;
    const TIMES: usize = 300;
    let engine = server();
    well(&mut connect(&engine), "CREATE DATABASE shop");
    let mut looker = in_shop(&engine);
    well(&mut looker, ON);
    well(&mut looker, SETUP);
    well(&mut looker, "CREATE PROCEDURE look @id int AS SELECT price FROM item WHERE id = @id");
    let sessions: Vec<_> = (0..SESSIONS)
        .map(|_| {
            let engine = Arc::clone(&engine);
            std::thread::spawn(move || {
                let mut session = in_shop(&engine);
                for n in 0..TIMES {
                    // More texts than a session remembers.
                    well(
                        &mut session,
                        &format!("EXEC look {}; SELECT price FROM item WHERE id = {n}", n % 3),
                    );
                }
            })
        })
        .collect();
    while sessions.iter().any(|s| !s.is_finished()) {
        well(&mut looker, RAN);
        well(&mut looker, "EXEC sp_query_store_flush_db");
    }
    sessions.into_iter().for_each(|s| s.join().unwrap());
    assert_eq!(value(&mut looker, RAN), (SESSIONS * TIMES * 2).to_string());
    assert!(keel_sql::query_store::rounds(&engine, &|| false).is_empty());
    assert_eq!(value(&mut looker, RAN), (SESSIONS * TIMES * 2).to_string());
}

/// A clean end writes what was in memory.
#[test]
fn a_clean_end_writes_what_was_in_memory() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    well(&mut connect(&engine), "CREATE DATABASE shop");
    let mut session = in_shop(&engine);
    well(&mut session, ON);
    well(&mut session, SETUP);
    well(&mut session, "SELECT price FROM item WHERE id IN (1)");
    drop(session);
    engine.shutdown();
    drop(engine);
    let engine = open(&disk.crash(Tear::LoseAll));
    assert_eq!(value(&mut in_shop(&engine), RAN), "1");
}

/// An instance whose clock is set by hand.
fn timed(disk: &Arc<SimDisk>, clock: &Arc<SimClock>) -> Arc<Engine> {
    crate::common::open_in(Env { clock: Arc::clone(clock) as _, ..env(disk, 7) })
}

fn round(engine: &Arc<Engine>) {
    let failed = keel_sql::query_store::rounds(engine, &|| false);
    assert!(failed.is_empty(), "{failed:?}");
}

const HOUR: Duration = Duration::from_secs(3600);

/// Executions are counted in the interval that they end in; what is due is written; what has not run for long goes, and so do old intervals.
#[test]
fn intervals_end_and_what_is_old_goes() {
    let (disk, clock) = (SimDisk::new(), SimClock::starting_at(1_700_000_000_000_000_000));
    let engine = timed(&disk, &clock);
    well(&mut connect(&engine), "CREATE DATABASE shop");
    let mut session = in_shop(&engine);
    well(&mut session, ON);
    well(
        &mut session,
        "ALTER DATABASE shop SET QUERY_STORE (CLEANUP_POLICY = (STALE_QUERY_THRESHOLD_DAYS = 2))",
    );
    well(&mut session, SETUP);
    let intervals = "SELECT COUNT(*) FROM sys.query_store_runtime_stats_interval";
    well(&mut session, "SELECT price FROM item WHERE id IN (1); SELECT price FROM item WHERE id IN (2)");
    round(&engine);
    clock.advance(HOUR);
    well(&mut session, "SELECT price FROM item WHERE id IN (2)");
    assert_eq!((value(&mut session, RAN), value(&mut session, intervals)), ("3".to_owned(), "2".to_owned()));
    // The interval of flushing is over.
    round(&engine);
    let after_crash = timed(&disk.crash(Tear::LoseAll), &clock);
    assert_eq!(value(&mut in_shop(&after_crash), RAN), "3");

    clock.advance(47 * HOUR);
    well(&mut session, "SELECT price FROM item WHERE id IN (2)");
    round(&engine);
    assert_eq!(value(&mut session, RAN), "4", "all of it is young");
    clock.advance(2 * HOUR);
    round(&engine);
    assert_eq!(value(&mut session, RAN), "1", "the query that has run lately keeps what is not too old");
    let kept =
        "SELECT COUNT(*) FROM sys.query_store_query_text WHERE query_sql_text LIKE 'SELECT price FROM item%'";
    assert_eq!(value(&mut session, kept), "1");
}

/// A store that has as much as it may have records nothing, until there is room again.
#[test]
fn a_full_store_makes_room() {
    let (disk, clock) = (SimDisk::new(), SimClock::starting_at(1_700_000_000_000_000_000));
    let engine = timed(&disk, &clock);
    well(&mut connect(&engine), "CREATE DATABASE shop");
    let mut session = in_shop(&engine);
    well(&mut session, ON);
    well(&mut session, "ALTER DATABASE shop SET QUERY_STORE (MAX_STORAGE_SIZE_MB = 1)");
    well(&mut session, SETUP);
    round(&engine);
    let state = "SELECT CONCAT(actual_state_desc, ' ', readonly_reason, ' ', current_storage_size_mb) FROM sys.database_query_store_options";
    let long = "x".repeat(2000);
    for n in 0..400 {
        well(&mut session, &format!("SELECT price FROM item WHERE id = {n} AND '{long}' <> '{n}'"));
    }
    round(&engine);
    assert!(value(&mut session, state).starts_with("READ_ONLY 65536 "));
    let counted = value(&mut session, RAN);
    well(&mut session, "SELECT price FROM item WHERE id IN (1)");
    assert_eq!(value(&mut session, RAN), counted);
    clock.advance(HOUR);
    round(&engine);
    assert_eq!(value(&mut session, state), "READ_WRITE 0 1");
    let left: u32 = value(&mut session, RAN).parse().unwrap();
    assert!(left > 0 && left < 400, "{left} of them are left");
    well(&mut session, "SELECT price FROM item WHERE id IN (1)");
    assert_eq!(value(&mut session, RAN), (left + 1).to_string());
}

#[test]
fn what_follows_a_use_or_switching_it_on_is_recorded_in_the_same_batch() {
    let engine = server();
    let mut session = connect(&engine);
    well(&mut session, "CREATE DATABASE shop");
    well(&mut in_shop(&engine), SETUP);
    well(
        &mut session,
        &format!(
            "USE shop; {ON}; SELECT price FROM item WHERE id IN (1); USE master; SELECT COUNT(*) FROM shop.dbo.item"
        ),
    );
    well(&mut session, "USE shop; SELECT price FROM item WHERE id IN (1)");
    let mut looker = in_shop(&engine);
    assert_eq!(value(&mut looker, RAN), "2");
}

#[test]
fn what_is_only_looked_at_is_not_counted_and_what_is_removed_stays_away() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    well(&mut connect(&engine), "CREATE DATABASE shop");
    let mut session = in_shop(&engine);
    well(&mut session, ON);
    well(&mut session, SETUP);
    let look = "SELECT price FROM item WHERE id IN (1)";
    well(&mut session, look);
    well(&mut session, "SET SHOWPLAN_TEXT ON");
    well(&mut session, look);
    well(&mut session, "SET SHOWPLAN_TEXT OFF");
    well(&mut session, "SET FMTONLY ON");
    well(&mut session, look);
    well(&mut session, "SET FMTONLY OFF");
    assert_eq!(value(&mut session, RAN), "1");
    well(&mut session, "EXEC sp_query_store_flush_db");
    well(&mut session, "ALTER DATABASE shop SET QUERY_STORE (OPERATION_MODE = READ_ONLY)");
    let query = "SELECT MIN(q.query_id) FROM sys.query_store_query q JOIN sys.query_store_query_text t ON t.query_text_id = q.query_text_id
        WHERE t.query_sql_text = N'SELECT price FROM item WHERE id IN (1)'";
    let id = value(&mut session, query);
    well(&mut session, &format!("EXEC sp_query_store_remove_query {id}"));
    drop(session);
    let engine = open(&disk.crash(Tear::LoseAll));
    assert_eq!(value(&mut in_shop(&engine), query), "NULL");
}

/// A secondary compiles with the hints that the primary has, also what it has compiled before.
#[test]
fn hints_of_the_primary_change_the_plans_of_a_secondary() {
    const QUERY: &str = "WITH r AS (SELECT id, 1 AS n FROM item WHERE id = 1 UNION ALL SELECT id, n + 1 FROM r WHERE n < 150) SELECT COUNT(*) FROM r";
    let runs = |session: &mut Session| {
        let mut sink = Sink::default();
        session.execute_batch(QUERY, &mut sink);
        !sink.0.finish().contains("Msg 530")
    };
    let disk = SimDisk::new();
    let primary = open(&disk);
    well(&mut connect(&primary), "CREATE DATABASE shop");
    let mut writer = in_shop(&primary);
    well(&mut writer, ON);
    well(&mut writer, SETUP);
    assert!(!runs(&mut writer), "100 levels are all");
    well(&mut writer, "EXEC sp_query_store_flush_db");
    store(&primary).enter_group(Epoch(1)).unwrap();
    let secondary = open(&disk.crash(Tear::KeepAll));
    let copy = store(&secondary);
    copy.demote().unwrap();
    copy.apply_up_to(copy.hardened()).unwrap();
    assert!(copy.wait_applied(copy.hardened(), LONG));
    let mut reader = in_shop(&secondary);
    assert!(!runs(&mut reader));
    round(&secondary);

    let hint = "DECLARE @q bigint = (SELECT q.query_id FROM sys.query_store_query q JOIN sys.query_store_query_text t
        ON t.query_text_id = q.query_text_id WHERE t.query_sql_text LIKE 'WITH r AS%');
        EXEC sp_query_store_set_hints @q, N'OPTION (MAXRECURSION 200)'";
    well(&mut writer, hint);
    ship(&primary, &secondary, 1);
    // What else is redone changes nothing of it.
    well(&mut writer, "INSERT item VALUES (3, 30)");
    ship(&primary, &secondary, 1);
    assert!(!runs(&mut reader), "a plan that is kept stays until somebody looks");
    round(&secondary);
    assert!(runs(&mut reader));
}

/// One statement under two settings is two queries.
#[test]
fn settings_tell_queries_apart() {
    let engine = server();
    well(&mut connect(&engine), "CREATE DATABASE shop");
    let mut session = in_shop(&engine);
    well(&mut session, ON);
    well(&mut session, SETUP);
    well(&mut session, "SELECT price FROM item WHERE id IN (1)");
    well(&mut session, "SET DATEFORMAT dmy");
    well(&mut session, "SELECT price FROM item WHERE id IN (1)");
    let contexts = "SELECT COUNT(DISTINCT q.context_settings_id) FROM sys.query_store_query q JOIN sys.query_store_query_text t
        ON t.query_text_id = q.query_text_id WHERE t.query_sql_text = 'SELECT price FROM item WHERE id IN (1)'";
    assert_eq!(value(&mut session, contexts), "2");
}
