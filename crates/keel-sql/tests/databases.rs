//! Transactions over several databases, and a power cut wherever it may come: all of them have it, or none.
#![allow(clippy::unwrap_used)]
mod common;

use common::{Sink, connect, open};
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::{Session, SessionOptions};
use std::sync::Arc;

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
