//! Transactions over several databases, and a power cut wherever it may come: all of them have it, or none. And who may be in a database.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open};
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::{Engine, Session, SessionOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn run(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

/// Two databases and master, each with a row.
fn image() -> Arc<SimDisk> {
    let disk = SimDisk::new();
    let mut session = connect(&open(&disk));
    for database in ["master", "shop", "bank"] {
        let made = if database == "master" { String::new() } else { format!("CREATE DATABASE {database};") };
        let said = run(
            &mut session,
            &format!("{made} CREATE TABLE {database}.dbo.t (n int PRIMARY KEY, s varchar(max))"),
        );
        assert!(!said.contains("Msg"), "{said}");
    }
    drop(session);
    disk.crash(Tear::KeepAll)
}

/// The numbers in each database.
fn found(session: &mut Session, databases: &[&str]) -> Vec<String> {
    let read = |database: &&str| {
        let said = run(session, &format!("SELECT COUNT(*) AS n, CHECKSUM_AGG(n) AS c FROM {database}.dbo.t"));
        assert!(!said.contains("Msg"), "{said}");
        said
    };
    databases.iter().map(read).collect()
}

/// `n` inserts into each of the databases in one transaction.
fn transfer(databases: &[&str], n: i32, bytes: u32) -> String {
    let insert = |database: &&str| format!("INSERT {database}.dbo.t VALUES ({n}, REPLICATE('x', {bytes}));");
    let inserts: String = databases.iter().map(insert).collect();
    format!("BEGIN TRAN; {inserts} COMMIT; PRINT 'acknowledged'")
}

/// What happens at an operation of the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Cut,
    Fails,
}

fn cut_everywhere(databases: &[&str], bytes: u32) {
    [Fault::Cut, Fault::Fails].into_iter().for_each(|fault| everywhere(fault, databases, bytes));
}

fn everywhere(fault: Fault, databases: &[&str], bytes: u32) {
    let image = image();
    let (mut none, mut both) = (0, 0);
    for step in 0.. {
        let disk = image.crash(Tear::KeepAll);
        let engine = open(&disk);
        let mut session = connect(&engine);
        run(&mut session, &transfer(databases, 1, bytes));
        match fault {
            Fault::Cut => disk.cut_power_at(step),
            Fault::Fails => disk.fail_nth(step + 1),
        }
        let said = run(&mut session, &transfer(databases, 2, bytes));
        let through = if fault == Fault::Cut { !disk.power_is_cut() } else { disk.fault_pending() };
        disk.heal();
        drop((session, engine));
        for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(step)] {
            let disk = disk.crash(tear);
            // A second cut right behind the recovery changes nothing.
            drop(connect(&open(&disk)));
            let mut session = connect(&open(&disk.crash(Tear::LoseAll)));
            let found = found(&mut session, databases);
            assert!(
                found.iter().all(|rows| *rows == found[0]),
                "{fault:?} {step} {tear:?} {said}: {found:?}"
            );
            let has = found[0].contains("2 | 3");
            assert!(has || !said.contains("acknowledged"), "{fault:?} {step} {tear:?} {said}: {found:?}");
            *(if has { &mut both } else { &mut none }) += 1;
            // What is locked by nobody can be written.
            let more = run(&mut session, &format!("SET LOCK_TIMEOUT 0; {}", transfer(databases, 3, 10)));
            assert!(more.contains("acknowledged"), "{step} {tear:?}: {more}");
        }
        if through {
            break;
        }
    }
    assert!(none > 0 && both > 0, "{none} {both}");
}

#[test]
fn two_databases_have_it_or_none_has() {
    cut_everywhere(&["shop", "bank"], 10);
}

#[test]
fn master_and_others_have_it_or_none_has() {
    cut_everywhere(&["master", "shop", "bank"], 10);
}

/// More than one part of each is in the log before it is prepared.
#[test]
fn large_ones_likewise() {
    cut_everywhere(&["bank", "shop"], 3_000_000);
}

/// One that fails in the second database is in neither, and locks nothing.
#[test]
fn what_cannot_be_prepared_is_rolled_back() {
    let image = image();
    let disk = image.crash(Tear::KeepAll);
    let mut session = connect(&open(&disk));
    let said = run(
        &mut session,
        "SET XACT_ABORT ON; BEGIN TRAN; INSERT shop.dbo.t VALUES (1, ''); INSERT bank.dbo.t VALUES (1, ''), (1, ''); COMMIT",
    );
    assert!(said.contains("2627"), "{said}");
    let said = run(&mut session, &transfer(&["shop", "bank"], 1, 1));
    assert!(said.contains("acknowledged"), "{said}");
    drop(session);
    let mut session = connect(&open(&disk.crash(Tear::LoseAll)));
    let found = found(&mut session, &["shop", "bank"]);
    assert!(found.iter().all(|rows| rows.contains("1 | 1")), "{found:?}");
}

/// Changes that are tracked have their version, whoever decides about the transaction.
#[test]
fn tracked_changes_are_numbered_wherever_power_is_cut() {
    let image = image();
    let disk = image.crash(Tear::KeepAll);
    let mut session = connect(&open(&disk));
    let said = run(
        &mut session,
        "ALTER DATABASE shop SET CHANGE_TRACKING = ON; ALTER TABLE shop.dbo.t ENABLE CHANGE_TRACKING;
         ALTER DATABASE bank SET CHANGE_TRACKING = ON; ALTER TABLE bank.dbo.t ENABLE CHANGE_TRACKING",
    );
    assert!(!said.contains("Msg"), "{said}");
    drop(session);
    let image = disk.crash(Tear::KeepAll);
    let mut seen = 0;
    for step in 0.. {
        let disk = image.crash(Tear::KeepAll);
        let engine = open(&disk);
        let mut session = connect(&engine);
        disk.cut_power_at(step);
        run(&mut session, &transfer(&["shop", "bank"], 2, 10));
        let through = !disk.power_is_cut();
        drop((session, engine));
        let mut session = connect(&open(&disk.crash(Tear::Random(step))));
        let mut counts = |what: &str| -> Vec<String> {
            let mut of = |database: &str| {
                run(
                    &mut session,
                    &format!(
                        "USE {database}; SELECT COUNT(*) AS n, CHANGE_TRACKING_CURRENT_VERSION() AS v FROM {what}"
                    ),
                )
            };
            vec![of("shop"), of("bank")]
        };
        let (rows, changes) = (counts("dbo.t"), counts("CHANGETABLE(CHANGES dbo.t, 0) AS c"));
        for (rows, changes) in rows.iter().zip(&changes) {
            let has = rows.contains("1 | 1");
            assert!(
                has == changes.contains("1 | 1") && (has || rows.contains("0 | 0")),
                "{step}: {rows} {changes}"
            );
            seen += u32::from(has);
        }
        if through {
            break;
        }
    }
    assert!(seen > 0);
}

/// RESTRICTED_USER asks those to leave whom it will not let in.
#[test]
fn who_is_not_let_in_any_more_has_to_leave() {
    let engine = open(&SimDisk::new());
    let mut sa = connect(&engine);
    let said = run(
        &mut sa,
        "CREATE DATABASE shop; CREATE LOGIN bob WITH PASSWORD = 'Pa55word'; CREATE LOGIN ann WITH PASSWORD = 'Pa55word'",
    );
    assert!(!said.contains("Msg"), "{said}");
    run(&mut sa, "USE shop");
    let said = run(
        &mut sa,
        "CREATE USER bob FOR LOGIN bob; CREATE USER ann FOR LOGIN ann; ALTER ROLE db_owner ADD MEMBER ann; USE master",
    );
    assert!(!said.contains("Msg"), "{said}");
    let come = |login: &str| {
        let options = SessionOptions {
            login: login.to_owned(),
            database: "shop".to_owned(),
            ansi_defaults: true,
            ..SessionOptions::default()
        };
        engine.session(options)
    };
    let (ann, bob) = (come("ann").unwrap(), come("bob").unwrap());
    let restrict = "ALTER DATABASE shop SET RESTRICTED_USER WITH NO_WAIT";
    let said = run(&mut sa, restrict);
    assert!(said.contains("Msg 5070") && said.contains("Msg 5069"), "{said}");
    drop(bob);
    let said = run(&mut sa, restrict);
    assert!(!said.contains("Msg"), "{said}");
    assert!(come("bob").is_err());
    drop((ann, come("ann").unwrap()));
}

fn well(session: &mut Session, sql: &str) -> String {
    let said = run(session, sql);
    assert!(!said.contains("Msg"), "{sql}: {said}");
    said
}

/// A server with two databases, and a session of its administrator.
fn two_databases() -> (Arc<Engine>, Session) {
    let engine = open(&SimDisk::new());
    let mut sa = connect(&engine);
    well(&mut sa, "CREATE DATABASE shop; CREATE DATABASE bank; CREATE TABLE shop.dbo.t (n int)");
    (engine, sa)
}

/// Tries until what is said has something in it.
fn until(session: &mut Session, sql: &str, has: &str) {
    while !run(session, sql).contains(has) {
        std::thread::yield_now();
    }
}

/// Whoever comes back to a database has not left it.
#[test]
fn who_is_elsewhere_for_a_while_is_a_user_still() {
    let (engine, mut sa) = two_databases();
    for batch in [
        "EXEC('USE tempdb; WAITFOR DELAY ''01:00''')",
        "EXEC tempdb.sys.sp_executesql N'WAITFOR DELAY ''01:00'''",
    ] {
        let mut other = connect(&engine);
        well(&mut other, "USE shop");
        let there = format!(
            "SELECT DB_NAME(database_id) AS d FROM sys.dm_exec_sessions WHERE session_id = {}",
            other.id()
        );
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || run(&mut other, batch));
            until(&mut sa, &there, "tempdb");
            let said = run(&mut sa, "ALTER DATABASE shop SET SINGLE_USER WITH NO_WAIT");
            let said = said + &run(&mut sa, "ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE");
            let ended = waiting.join().unwrap();
            assert!(said.contains("Msg 5070") && said.contains("100%"), "{batch}: {said}");
            assert!(ended.contains("Msg 596"), "{batch}: {ended}");
        });
        well(&mut sa, "ALTER DATABASE shop SET MULTI_USER");
    }
}

/// Nothing else ends the wait of those who wait for each other over databases.
#[test]
fn who_waits_for_a_database_gives_up_as_for_a_lock() {
    let (engine, mut sa) = two_databases();
    let mut user = connect(&engine);
    well(&mut user, "USE shop");
    let said = run(&mut sa, "SET LOCK_TIMEOUT 30; ALTER DATABASE shop SET READ_ONLY");
    assert!(said.contains("Msg 5061") && said.contains("Msg 5069"), "{said}");
    let mut changes = connect(&engine);
    std::thread::scope(|scope| {
        let changed = scope.spawn(move || run(&mut changes, "ALTER DATABASE shop SET READ_ONLY"));
        until(&mut sa, "SET LOCK_TIMEOUT 0; USE shop; USE master", "Msg 1222");
        for act in ["USE shop", "SELECT * FROM shop.dbo.t", "EXEC shop.sys.sp_executesql N'SELECT 1 AS n'"] {
            let said = run(&mut sa, act);
            assert!(said.contains("Msg 1222"), "{act}: {said}");
        }
        drop(user);
        let changed = changed.join().unwrap();
        assert!(!changed.contains("Msg"), "{changed}");
    });
    well(&mut sa, "ALTER DATABASE shop SET READ_WRITE");
}

#[test]
fn two_who_wait_for_each_other_to_leave_do_not_wait_for_ever() {
    let (engine, _) = two_databases();
    let alter = |from: &str, what: &str| {
        let mut session = connect(&engine);
        well(&mut session, &format!("USE {from}"));
        let statement = format!("ALTER DATABASE {what} SET READ_ONLY");
        move || run(&mut session, &statement)
    };
    let (one, two) = (alter("shop", "bank"), alter("bank", "shop"));
    std::thread::scope(|scope| {
        let both = [scope.spawn(one), scope.spawn(two)].map(|session| session.join().unwrap());
        assert!(both.iter().any(|said| said.contains("Msg 5061")), "{both:?}");
    });
}

/// A login that is refused is in the database for a moment.
#[test]
fn the_one_user_is_not_disturbed_by_those_who_are_refused() {
    let (engine, mut user) = two_databases();
    well(&mut user, "USE shop; ALTER DATABASE shop SET SINGLE_USER");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    assert!(engine.session(of_shop()).is_err());
                }
            });
        }
        let said: String = (0..10)
            .map(|n| format!("ALTER DATABASE shop SET RECOVERY {}", ["FULL", "SIMPLE"][n % 2]))
            .map(|alter| run(&mut user, &alter))
            .collect();
        over.store(true, Ordering::Relaxed);
        assert!(!said.contains("Msg"), "{said}");
    });
}

fn of_shop() -> SessionOptions {
    SessionOptions {
        login: "sa".to_owned(),
        sysadmin: true,
        database: "shop".to_owned(),
        ..SessionOptions::default()
    }
}

/// Whoever has a connection from the pool is where he wants to be, or has none.
#[test]
fn a_connection_that_cannot_go_back_to_its_database_ends() {
    let (engine, mut sa) = two_databases();
    let mut pooled = engine.session(of_shop()).unwrap();
    well(&mut pooled, "USE bank");
    let mut sink = Sink::default();
    pooled.reset(false, &mut sink);
    assert_eq!((pooled.database(), pooled.is_ended()), ("shop", false));
    well(&mut pooled, "USE bank");
    well(&mut sa, "USE shop; ALTER DATABASE shop SET SINGLE_USER");
    pooled.reset(false, &mut sink);
    assert!(pooled.is_ended());
    assert!(sink.0.finish().contains("Msg 924"));
}

/// What a session has looked up before its statement keeps nobody out, least of all itself.
#[test]
fn the_tail_is_backed_up_behind_a_look_into_the_database() {
    let (_engine, mut sa) = two_databases();
    well(&mut sa, "ALTER DATABASE shop SET RECOVERY FULL; BACKUP DATABASE shop TO DISK = 'shop.bak'");
    well(
        &mut sa,
        "IF NOT EXISTS (SELECT * FROM shop.dbo.t) BACKUP LOG shop TO DISK = 'tail.trn' WITH NORECOVERY",
    );
    assert!(run(&mut sa, "USE shop").contains("Msg 927"));
}
