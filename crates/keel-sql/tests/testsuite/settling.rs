//! Commits of a request are durable before anybody can know of them, and not each by itself.
//!
//! Most of it on an instance without threads of its own: what is not waited for stays where it is, so that one can look at it.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open, open_by_hand, run, value, well};
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::Session;
use keel_sql::sink::{ColumnMeta, DoneInfo, EnvChange, ResultSink, SinkClosed};
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;

/// Looks at the instance when a row comes, which is before anything is sent, and when something is to be sent at once.
struct Watching<'a> {
    at_row: &'a mut dyn FnMut(),
    at_flush: &'a mut dyn FnMut(),
    said: Sink,
    retracted: bool,
}

impl<'a> Watching<'a> {
    fn new(at_row: &'a mut dyn FnMut(), at_flush: &'a mut dyn FnMut()) -> Watching<'a> {
        Watching { at_row, at_flush, said: Sink::default(), retracted: false }
    }
}

impl ResultSink for Watching<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.said.columns(columns);
    }
    fn row(&mut self, row: &[Value]) -> Result<(), SinkClosed> {
        (self.at_row)();
        self.said.row(row)
    }
    fn done(&mut self, done: DoneInfo) {
        self.said.done(done);
    }
    fn message(&mut self, message: &SqlError) {
        self.said.message(message);
    }
    fn return_status(&mut self, _: i32) {}
    fn output(&mut self, _: usize, _: &str, _: &SqlType, _: &Value) {}
    fn env_change(&mut self, _: EnvChange) {}
    fn flush(&mut self) {
        (self.at_flush)();
    }
    fn retract(&mut self) {
        self.retracted = true;
        self.said = Sink::default();
    }
}

/// What a batch says, with a look at the instance before its rows.
fn watched(session: &mut Session, sql: &str, mut at_row: impl FnMut()) -> String {
    let mut nothing = || ();
    let mut sink = Watching::new(&mut at_row, &mut nothing);
    session.execute_batch(sql, &mut sink);
    sink.said.0.finish()
}

fn count(session: &mut Session, table: &str) -> String {
    let said = well(session, &format!("SELECT count(*) AS n FROM {table}"));
    said.lines().find(|line| line.trim().parse::<u64>().is_ok()).unwrap_or(&said).trim().to_owned()
}

const LOOP: &str =
    "SET NOCOUNT ON DECLARE @i int = 0 WHILE @i < 100 BEGIN INSERT d.dbo.t VALUES (@i) SET @i += 1 END";

fn with_table(disk: &Arc<SimDisk>) -> (Arc<keel_sql::Engine>, Session, Session) {
    let engine = open_by_hand(disk);
    let (mut one, two) = (connect(&engine), connect(&engine));
    well(&mut one, "CREATE DATABASE d");
    well(&mut one, "CREATE TABLE d.dbo.t (a int NOT NULL PRIMARY KEY)");
    (engine, one, two)
}

#[test]
fn many_commits_of_a_batch_are_waited_for_once() {
    let disk = SimDisk::new();
    let (_engine, mut one, mut two) = with_table(&disk);
    let before = disk.counts();
    well(&mut one, LOOP);
    let after = disk.counts();
    let writes = after.writes - before.writes;
    assert!(writes < 10, "{writes} writes for 100 commits");
    // Told, and so durable and seen.
    assert_eq!(count(&mut two, "d.dbo.t"), "100");
    let again = open(&disk.crash(Tear::LoseAll));
    assert_eq!(count(&mut connect(&again), "d.dbo.t"), "100");
}

#[test]
fn a_batch_reads_what_it_has_committed_and_others_when_it_is_durable() {
    let disk = SimDisk::new();
    let (_engine, mut one, mut two) = with_table(&disk);
    for isolation in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT"] {
        well(&mut one, "ALTER DATABASE d SET ALLOW_SNAPSHOT_ISOLATION ON");
        well(&mut one, "DELETE d.dbo.t");
        let sql = format!(
            "SET TRANSACTION ISOLATION LEVEL {isolation} INSERT d.dbo.t VALUES (1) SELECT count(*) AS n FROM d.dbo.t"
        );
        let mut seen = String::new();
        let said = watched(&mut one, &sql, || seen = count(&mut two, "d.dbo.t"));
        assert!(said.contains("\n1\n") || said.contains(" 1\n"), "{isolation}: {said}");
        assert_eq!(seen, "0", "{isolation}");
        assert_eq!(count(&mut two, "d.dbo.t"), "1", "{isolation}");
    }
}

#[test]
fn the_systems_views_show_it() {
    let disk = SimDisk::new();
    let (_engine, mut one, _) = with_table(&disk);
    let said = well(
        &mut one,
        "USE d; INSERT t VALUES (1), (2), (3); SELECT SUM(rows) AS n FROM sys.partitions WHERE object_id = OBJECT_ID('t')",
    );
    assert!(said.contains('3'), "{said}");
}

/// What others see at once comes behind what was committed before it.
#[test]
fn what_is_seen_at_once_waits_for_what_came_before() {
    for (prepare, act, sign) in [
        ("CREATE TABLE ##flag (a int)", "INSERT ##flag VALUES (1)", "SELECT count(*) AS n FROM ##flag"),
        ("CREATE DATABASE e", "CREATE TABLE e.dbo.flag (a int)", "SELECT count(*) AS n FROM e.sys.tables"),
        (
            "EXEC sp_getapplock 'l', 'Exclusive', 'Session'",
            "EXEC sp_releaseapplock 'l', 'Session'",
            "SELECT APPLOCK_TEST('public', 'l', 'Exclusive', 'Session') AS n",
        ),
        (
            "BEGIN TRAN; EXEC sp_getapplock 'l', 'Exclusive'; INSERT d.dbo.t VALUES (7)",
            "COMMIT",
            "SELECT APPLOCK_TEST('public', 'l', 'Exclusive', 'Session') AS n",
        ),
    ] {
        let disk = SimDisk::new();
        let (_engine, mut one, mut two) = with_table(&disk);
        well(&mut one, prepare);
        let rows = if prepare.starts_with("BEGIN") { "1" } else { "2" };
        let insert = if rows == "1" { "" } else { "INSERT d.dbo.t VALUES (1) INSERT d.dbo.t VALUES (2)" };
        let mut seen = (String::new(), String::new());
        watched(&mut one, &format!("{insert} {act} SELECT 1"), || {
            seen = (well(&mut two, sign), count(&mut two, "d.dbo.t"));
        });
        assert!(seen.0.contains('1'), "{act}: {}", seen.0);
        assert_eq!(seen.1, rows, "{act}");
    }
}

/// A commit in one database is not seen before one that the same session made in another before it.
#[test]
fn databases_keep_the_order_of_a_session() {
    let disk = SimDisk::new();
    let (_engine, mut one, mut two) = with_table(&disk);
    well(&mut one, "CREATE DATABASE e");
    well(&mut one, "CREATE TABLE e.dbo.u (a int)");
    let mut seen = String::new();
    watched(&mut one, "INSERT d.dbo.t VALUES (1) INSERT e.dbo.u VALUES (1) SELECT 1", || {
        seen = count(&mut two, "d.dbo.t");
    });
    assert_eq!(seen, "1");
}

/// While the batch goes on, others see what it has committed: by the thread that makes it durable.
#[test]
fn others_need_not_wait_for_the_end_of_the_batch() {
    let engine = open(&SimDisk::new());
    let (mut one, mut two) = (connect(&engine), connect(&engine));
    well(&mut one, "CREATE DATABASE d");
    well(&mut one, "CREATE TABLE d.dbo.t (a int)");
    let stop = one.cancel_handle();
    std::thread::scope(|scope| {
        scope.spawn(|| run(&mut one, "INSERT d.dbo.t VALUES (1) WAITFOR DELAY '01:00:00'"));
        while count(&mut two, "d.dbo.t") != "1" {
            std::thread::yield_now();
        }
        stop.cancel();
    });
}

/// Each message that was sent at once tells of commits that a power cut leaves.
#[test]
fn what_was_told_in_the_middle_of_a_batch_survives() {
    let disk = SimDisk::new();
    let (_engine, mut one, _) = with_table(&disk);
    let handle = one.cancel_handle();
    let mut images = Vec::new();
    let mut at_flush = || {
        assert!(handle.settle());
        images.push(disk.crash(Tear::LoseAll));
    };
    let mut nothing = || ();
    let mut sink = Watching::new(&mut nothing, &mut at_flush);
    let sql = "DECLARE @i int = 0 WHILE @i < 30 BEGIN INSERT d.dbo.t VALUES (@i) SET @i += 1 IF @i % 10 = 0 RAISERROR ('%d', 0, 1, @i) WITH NOWAIT END";
    one.execute_batch(sql, &mut sink);
    drop(sink);
    assert_eq!(images.len(), 3);
    for (told, image) in (1..).map(|n| n * 10).zip(&images) {
        let again = open(image);
        assert_eq!(count(&mut connect(&again), "d.dbo.t"), told.to_string());
    }
}

/// When it cannot be made durable nothing is said of it but the error, and the session ends.
#[test]
fn what_failed_to_become_durable_is_not_told() {
    let disk = SimDisk::new();
    let (_engine, mut one, _) = with_table(&disk);
    disk.fail_nth(1);
    let (mut nothing, mut nothing_either) = (|| (), || ());
    let mut sink = Watching::new(&mut nothing, &mut nothing_either);
    one.execute_batch("INSERT d.dbo.t VALUES (1) INSERT d.dbo.t VALUES (2)", &mut sink);
    assert!(sink.retracted);
    let said = sink.said.0.finish();
    assert!(said.contains("Msg ") && !said.contains("rows affected"), "{said}");
    assert!(one.is_ended());
    disk.heal();
    let again = open(&disk.crash(Tear::LoseAll));
    assert_eq!(count(&mut connect(&again), "d.dbo.t"), "0");
}

/// Neither is that the session was killed meanwhile without an error: the client would take the empty answer for a success.
#[test]
fn who_is_killed_is_told_of_what_failed_to_become_durable() {
    let disk = SimDisk::new();
    let (_engine, mut one, mut two) = with_table(&disk);
    let session = value(&mut one, "SELECT @@SPID");
    let mut kill = || {
        well(&mut two, &format!("KILL {session}"));
        disk.fail_nth(1);
    };
    let mut nothing = || ();
    let mut sink = Watching::new(&mut kill, &mut nothing);
    one.execute_batch("INSERT d.dbo.t VALUES (1) SELECT 1", &mut sink);
    assert!(sink.retracted);
    let said = sink.said.0.finish();
    assert!(said.contains("Msg ") && !said.contains("rows affected"), "{said}");
    assert!(one.is_ended());
}
