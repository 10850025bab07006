//! DELAYED_DURABILITY: commits that are answered, and seen, before they are durable. A crash takes some of the last ones away, never one before
//! another that stays, and never one that was fully durable.
//!
//! Most of it on an instance without threads of its own: what is not waited for stays where it is, so that one can look at it.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open, open_by_hand, run, well};
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::{Engine, Session, TransactionRequest};
use std::sync::Arc;

/// The first line that is numbers only.
fn numbers(session: &mut Session, query: &str) -> Vec<u64> {
    let said = well(session, query);
    let parsed =
        |line: &str| line.split('|').map(|cell| cell.trim().parse().ok()).collect::<Option<Vec<u64>>>();
    said.lines().find_map(parsed).unwrap_or_else(|| panic!("{said}"))
}

fn count(session: &mut Session) -> u64 {
    numbers(session, "SELECT COUNT(*) AS n FROM d.dbo.t")[0]
}

/// Rows that a power cut now would leave.
fn left(disk: &Arc<SimDisk>) -> u64 {
    count(&mut connect(&open(&disk.crash(Tear::LoseAll))))
}

/// A database with a table, and two sessions.
fn with_table(disk: &Arc<SimDisk>, setting: &str) -> (Arc<Engine>, Session, Session) {
    let engine = open_by_hand(disk);
    let (mut one, two) = (connect(&engine), connect(&engine));
    well(&mut one, "CREATE DATABASE d");
    well(&mut one, "CREATE TABLE d.dbo.t (a int NOT NULL PRIMARY KEY)");
    well(
        &mut one,
        &format!("ALTER DATABASE d SET DELAYED_DURABILITY = {setting}, ALLOW_SNAPSHOT_ISOLATION ON"),
    );
    (engine, one, two)
}

const DELAYED: &str = "BEGIN TRAN; INSERT d.dbo.t VALUES ({}); COMMIT WITH (DELAYED_DURABILITY = ON)";
const FULL: &str = "BEGIN TRAN; INSERT d.dbo.t VALUES ({}); COMMIT WITH (DELAYED_DURABILITY = OFF)";
const PLAIN: &str = "INSERT d.dbo.t VALUES ({})";

fn of(statement: &str, n: u64) -> String {
    statement.replace("{}", &n.to_string())
}

#[test]
fn who_asks_is_answered_before() {
    for (setting, statement, delayed) in [
        ("DISABLED", DELAYED, false),
        ("DISABLED", PLAIN, false),
        ("ALLOWED", PLAIN, false),
        ("ALLOWED", FULL, false),
        ("ALLOWED", DELAYED, true),
        ("FORCED", DELAYED, true),
        ("FORCED", FULL, true),
        ("FORCED", PLAIN, true),
    ] {
        let disk = SimDisk::new();
        let (_engine, mut one, _) = with_table(&disk, setting);
        well(&mut one, &of(statement, 1));
        assert_eq!(left(&disk), u64::from(!delayed), "{setting} {statement}");
    }
}

/// Whoever was told of it finds it, and so does everybody else.
#[test]
fn it_is_seen_at_once_and_durable_soon() {
    let disk = SimDisk::new();
    let (engine, mut one, mut two) = with_table(&disk, "ALLOWED");
    let mut tellers = 0;
    for isolation in ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "SNAPSHOT"] {
        tellers += 1;
        well(&mut one, &of(DELAYED, tellers));
        for session in [&mut one, &mut two] {
            well(session, &format!("SET TRANSACTION ISOLATION LEVEL {isolation}"));
            assert_eq!(count(session), tellers, "{isolation}");
        }
        well(&mut one, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    }
    assert_eq!(left(&disk), 0, "who only reads waits for nothing");
    while engine.instance().work_waiting() > 0 {
        engine.instance().work_queued(0);
    }
    assert_eq!(left(&disk), tellers);
}

#[test]
fn what_is_fully_durable_takes_all_before_it_along() {
    for act in [
        of(PLAIN, 10),
        "USE d; EXEC sys.sp_flush_log".to_owned(),
        "USE d; BEGIN TRAN; INSERT t VALUES (10); COMMIT".to_owned(),
        "CREATE TABLE d.dbo.u (a int)".to_owned(),
    ] {
        let disk = SimDisk::new();
        let (_engine, mut one, mut two) = with_table(&disk, "ALLOWED");
        (1..4).for_each(|n| _ = well(&mut one, &of(DELAYED, n)));
        assert_eq!(left(&disk), 0);
        well(&mut two, &act);
        assert_eq!(left(&disk), count(&mut two), "{act}");
    }
}

/// What more than rows of one database depends on waits, whatever it asks for.
#[test]
fn some_are_fully_durable_in_any_case() {
    let end = "COMMIT WITH (DELAYED_DURABILITY = ON)";
    for act in [
        format!("BEGIN TRAN; INSERT d.dbo.t VALUES (1); INSERT e.dbo.t VALUES (1); {end}"),
        format!("BEGIN TRAN m WITH MARK; INSERT d.dbo.t VALUES (1); {end}"),
        format!("USE d; BEGIN TRAN; INSERT d.dbo.t VALUES (1); CREATE TABLE u (a int); {end}"),
        format!("BEGIN TRAN; INSERT d.dbo.t VALUES (1); INSERT d.dbo.tracked VALUES (1); {end}"),
    ] {
        let disk = SimDisk::new();
        let (_engine, mut one, _) = with_table(&disk, "FORCED");
        well(&mut one, "CREATE DATABASE e");
        well(&mut one, "CREATE TABLE e.dbo.t (a int); ALTER DATABASE d SET CHANGE_TRACKING = ON");
        well(&mut one, "CREATE TABLE d.dbo.tracked (a int PRIMARY KEY)");
        well(&mut one, "ALTER TABLE d.dbo.tracked ENABLE CHANGE_TRACKING");
        well(&mut one, &act);
        assert_eq!(left(&disk), 1, "{act}");
    }
}

/// After a crash no version is given again that somebody has been told, so who asks for one waits for what it has seen.
#[test]
fn versions_of_tracked_changes_are_durable_when_they_are_told() {
    let versions = [
        "CHANGE_TRACKING_CURRENT_VERSION() AS n",
        "SYS_CHANGE_VERSION AS n FROM CHANGETABLE (CHANGES tracked, 0) AS c",
        "SYS_CHANGE_VERSION AS n FROM CHANGETABLE (VERSION tracked, (a), (1)) AS c",
        "MAX(commit_ts) AS n FROM sys.dm_tran_commit_table",
    ];
    for asked_for in versions {
        let disk = SimDisk::new();
        let (_engine, mut one, mut two) = with_table(&disk, "FORCED");
        well(&mut one, "ALTER DATABASE d SET CHANGE_TRACKING = ON; USE d");
        well(
            &mut one,
            "CREATE TABLE tracked (a int PRIMARY KEY); ALTER TABLE tracked ENABLE CHANGE_TRACKING",
        );
        well(&mut one, "INSERT tracked VALUES (1)");
        well(&mut two, &of(PLAIN, 1));
        assert_eq!(left(&disk), 0);
        assert_eq!(numbers(&mut one, &format!("SELECT {asked_for}")), [1]);
        assert_eq!(left(&disk), 1, "{asked_for}");
    }
}

/// COMMIT says it, and only the outermost; the next transaction has to say it again.
#[test]
fn it_is_asked_for_transaction_by_transaction() {
    let disk = SimDisk::new();
    let (_engine, mut one, _) = with_table(&disk, "ALLOWED");
    well(
        &mut one,
        "BEGIN TRAN; BEGIN TRAN; INSERT d.dbo.t VALUES (1); COMMIT WITH (DELAYED_DURABILITY = ON); COMMIT",
    );
    assert_eq!(left(&disk), 1);
    let said = run(&mut one, "COMMIT WITH (DELAYED_DURABILITY = ON)");
    assert!(said.contains("3902"), "{said}");
    well(&mut one, &of(PLAIN, 2));
    assert_eq!(left(&disk), 2);
    well(
        &mut one,
        "BEGIN TRAN; BEGIN TRAN; INSERT d.dbo.t VALUES (5); COMMIT WITH (DELAYED_DURABILITY = ON)",
    );
    let commit = TransactionRequest::Commit { name: String::new(), begin_next: None };
    one.transaction_request(commit, &mut Sink::default());
    assert_eq!(left(&disk), 3, "nobody has asked for it");
    well(
        &mut one,
        "BEGIN TRAN; INSERT d.dbo.t VALUES (3); COMMIT WITH (DELAYED_DURABILITY = ON); INSERT d.dbo.t VALUES (4)",
    );
    assert_eq!(left(&disk), 5);
}

/// Wherever the power is cut: what is left is 1, 2, … to some number, and all that were fully durable are among them.
#[test]
fn a_power_cut_takes_the_last_ones() {
    let fresh = SimDisk::new();
    drop(with_table(&fresh, "ALLOWED"));
    let image = fresh.crash(Tear::KeepAll);
    let (mut lost, mut kept) = (0, 0);
    for step in 0.. {
        let disk = image.crash(Tear::KeepAll);
        let engine = open(&disk);
        let mut one = connect(&engine);
        disk.cut_power_at(step);
        let (mut told, mut durable) = (0, 0);
        for n in 1..=40 {
            let full = n % 7 == 0;
            let said = run(&mut one, &of(if full { FULL } else { DELAYED }, n));
            if said.contains("Msg ") {
                break;
            }
            told = n;
            durable = if full { n } else { durable };
        }
        let through = !disk.power_is_cut();
        drop((one, engine));
        for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(step)] {
            let again = open(&disk.crash(tear));
            let found =
                numbers(&mut connect(&again), "SELECT COUNT(*) AS n, ISNULL(MAX(a), 0) AS last FROM d.dbo.t");
            assert_eq!(found[0], found[1], "{step} {tear:?}: a hole");
            assert!(found[0] >= durable, "{step} {tear:?}: {found:?}, {durable} were durable");
            lost += u64::from(found[0] < told);
            kept += u64::from(found[0] >= told);
        }
        if through {
            break;
        }
    }
    assert!(lost > 0 && kept > 0, "{lost} {kept}");
}
