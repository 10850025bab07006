//! Branches of transactions that a manager decides about, as the JDBC driver works with them: calls over one session, work over others.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open};
use keel_base::env::sim::{SimDisk, Tear};
use keel_sql::{Engine, Session, TransactionRequest};
use std::sync::Arc;

const NO_FLAGS: i64 = 0;
const JOIN: i64 = 0x0020_0000;
const SUSPEND: i64 = 0x0200_0000;
const SUCCESS: i64 = 0x0400_0000;
const RESUME: i64 = 0x0800_0000;
const FAIL: i64 = 0x2000_0000;
const ONE_PHASE: i64 = 0x4000_0000;

fn run(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

/// What a query's single value is.
fn value(session: &mut Session, sql: &str) -> String {
    let said = run(session, sql);
    said.lines().nth(2).unwrap_or(&said).trim().trim_matches('|').trim().to_owned()
}

/// An instance, the manager's session, and one that works.
struct World {
    disk: Arc<SimDisk>,
    engine: Arc<Engine>,
    manager: Session,
    worker: Session,
}

impl World {
    fn new() -> World {
        let disk = SimDisk::new();
        let engine = open(&disk);
        let (mut manager, worker) = (connect(&engine), connect(&engine));
        for database in ["shop", "bank"] {
            let made = format!(
                "CREATE DATABASE {database}; CREATE TABLE {database}.dbo.t (n int PRIMARY KEY, s varchar(20));
                 INSERT {database}.dbo.t VALUES (1, 'one')"
            );
            let said = run(&mut manager, &made);
            assert!(!said.contains("Msg"), "{said}");
        }
        World { disk, engine, manager, worker }
    }

    /// The power fails, and comes back.
    fn restart(self) -> World {
        let World { disk, engine, manager, worker } = self;
        std::mem::forget((manager, worker));
        drop(engine);
        let disk = disk.crash(Tear::LoseAll);
        let engine = open(&disk);
        let (manager, worker) = (connect(&engine), connect(&engine));
        World { disk, engine, manager, worker }
    }

    /// Calls a verb on the branch with this number; its status, and what `out` says besides.
    fn call(&mut self, verb: &str, number: u8, between: &str, out: &str) -> (String, String) {
        let format = if verb == "recover" { "" } else { ", 7" };
        let named = if verb == "recover" { String::new() } else { format!("0x{number:02X}, 0xBB, ") };
        let batch = format!(
            "SET NOCOUNT ON; DECLARE @s int, @t varchar(8000), @o varbinary(8000), @v varchar(8000), @u varbinary(8000);
             EXEC master..xp_sqljdbc_xa_{verb} @s OUTPUT, @t OUTPUT, {named}{between}{format}{out};
             SELECT CONCAT(@s, ' ', CONVERT(varchar(max), @o, 2)) AS x"
        );
        let said = value(&mut self.manager, &batch);
        let (status, more) = said.split_once(' ').unwrap_or((&said, ""));
        (status.to_owned(), more.to_owned())
    }

    fn start(&mut self, number: u8, flags: i64) -> (String, Vec<u8>) {
        let about = ", @v OUTPUT, 16, 0, 0x00, 64, 64, 0, @u OUTPUT";
        let (status, cookie) = self.call("start", number, &format!("{flags}, @o OUTPUT, 0"), about);
        let bytes = (0..cookie.len() / 2).map(|i| u8::from_str_radix(&cookie[2 * i..2 * i + 2], 16).unwrap());
        (status, bytes.collect())
    }

    fn end(&mut self, number: u8, flags: i64) -> String {
        self.call("end", number, &flags.to_string(), ", @o OUTPUT").0
    }

    fn commit(&mut self, number: u8, flags: i64) -> String {
        self.call("commit", number, &flags.to_string(), "").0
    }

    fn plain(&mut self, verb: &str, number: u8) -> String {
        let batch = format!(
            "SET NOCOUNT ON; DECLARE @s int, @t varchar(8000);
             EXEC master..xp_sqljdbc_xa_{verb} @s OUTPUT, @t OUTPUT, 0x{number:02X}, 0xBB, 7; SELECT @s AS x"
        );
        value(&mut self.manager, &batch)
    }

    fn recovered(&mut self) -> String {
        self.call("recover", 0, "0x1000000, @o OUTPUT", "").1
    }

    /// Works in a branch: takes it up, runs a batch, leaves it.
    fn work(&mut self, cookie: &[u8], batch: &str) -> String {
        enlist(&mut self.worker, cookie);
        let said = run(&mut self.worker, batch);
        enlist(&mut self.worker, &[]);
        said
    }

    /// A branch that is ready to be prepared.
    fn ended(&mut self, number: u8, batch: &str) {
        let (status, cookie) = self.start(number, NO_FLAGS);
        assert_eq!(status, "0");
        let said = self.work(&cookie, batch);
        assert!(!said.contains("Msg"), "{said}");
        assert_eq!(self.end(number, SUCCESS), "0");
    }

    fn count(&mut self, database: &str) -> String {
        value(&mut self.manager, &format!("SELECT COUNT(*) AS n FROM {database}.dbo.t"))
    }
}

fn enlist(session: &mut Session, cookie: &[u8]) -> String {
    let mut sink = Sink::default();
    session.transaction_request(TransactionRequest::Propagate { cookie: cookie.to_vec() }, &mut sink);
    sink.0.finish()
}

const BOTH: &str = "INSERT shop.dbo.t VALUES (2, 'two'); UPDATE bank.dbo.t SET s = 'new' WHERE n = 1";

#[test]
fn a_prepared_branch_is_there_after_every_restart_until_it_is_decided() {
    for verb in ["commit", "rollback"] {
        let mut w = World::new();
        w.ended(1, BOTH);
        assert_eq!(w.plain("prepare", 1), "0");
        assert_eq!(w.plain("prepare", 1), "-6", "it is prepared");
        for _ in 0..2 {
            w = w.restart();
            assert_eq!(w.recovered(), "0700000001 01 01 BB".replace(' ', ""));
            assert_eq!((w.count("shop"), w.count("bank")), ("1".into(), "1".into()));
            let locked = run(&mut w.worker, "SET LOCK_TIMEOUT 0; UPDATE bank.dbo.t SET s = 'x' WHERE n = 1");
            assert!(locked.contains("1222"), "{locked}");
            let ddl = run(&mut w.worker, "SET LOCK_TIMEOUT 0; USE shop; DROP TABLE dbo.t; USE master");
            assert!(ddl.contains("1222"), "{ddl}");
            let orphans = "SELECT COUNT(DISTINCT request_owner_guid) AS n FROM sys.dm_tran_locks WHERE request_session_id = -2";
            assert_eq!(value(&mut w.manager, orphans), "1");
            let state = "SELECT CONCAT(transaction_type, ' ', transaction_state, ' ', dtc_state) AS x FROM sys.dm_tran_active_transactions WHERE transaction_uow IS NOT NULL";
            assert_eq!(value(&mut w.manager, state), "4 5 2");
        }
        let status = if verb == "commit" { w.commit(1, NO_FLAGS) } else { w.plain("rollback", 1) };
        assert_eq!(status, "0");
        assert_eq!(w.commit(1, NO_FLAGS), "-4", "once");
        w = w.restart();
        assert_eq!(w.recovered(), "");
        assert_eq!(w.count("shop"), if verb == "commit" { "2" } else { "1" });
        let written = value(&mut w.manager, "SELECT s FROM bank.dbo.t");
        assert_eq!(written, if verb == "commit" { "new" } else { "one" });
    }
}

#[test]
fn what_is_not_prepared_never_was_after_a_restart() {
    let mut w = World::new();
    w.ended(1, BOTH);
    w = w.restart();
    assert_eq!(
        (w.recovered(), w.plain("rollback", 1), w.count("shop")),
        (String::new(), "-4".into(), "1".into())
    );
}

#[test]
fn one_phase_read_only_and_rollback() {
    let mut w = World::new();
    w.ended(1, BOTH);
    assert_eq!((w.commit(1, ONE_PHASE), w.count("shop")), ("0".into(), "2".into()));
    w.ended(2, "SELECT * FROM shop.dbo.t");
    assert_eq!((w.plain("prepare", 2), w.commit(2, NO_FLAGS)), ("3".into(), "-4".into()));
    w.ended(3, "DELETE shop.dbo.t");
    assert_eq!((w.plain("rollback", 3), w.count("shop")), ("0".into(), "2".into()));
    w.ended(4, "CREATE TABLE shop.dbo.made (n int); INSERT shop.dbo.made VALUES (5)");
    assert_eq!(w.commit(4, ONE_PHASE), "0");
    assert_eq!(value(&mut w.manager, "SELECT n FROM shop.dbo.made"), "5");
    assert_eq!(w.plain("forget", 4), "-4");
}

#[test]
fn a_branch_is_suspended_resumed_and_joined() {
    let mut w = World::new();
    let (_, cookie) = w.start(1, NO_FLAGS);
    w.work(&cookie, "INSERT shop.dbo.t VALUES (2, 'two')");
    assert_eq!(w.start(1, NO_FLAGS).0, "-8");
    assert_eq!(w.start(9, JOIN).0, "-4");
    assert_eq!(w.end(1, SUSPEND), "0");
    assert_eq!((w.plain("prepare", 1), w.start(1, JOIN).0), ("-6".into(), "-6".into()));
    let refused = enlist(&mut w.worker, &cookie);
    assert!(refused.contains("3910"), "{refused}");
    assert_eq!(w.start(1, RESUME).0, "0");
    // Another session goes on with it, and sees what was done.
    let mut other = connect(&w.engine);
    enlist(&mut other, &cookie);
    assert_eq!(value(&mut other, "SELECT COUNT(*) AS n FROM shop.dbo.t"), "2");
    assert!(enlist(&mut w.worker, &cookie).contains("3910"));
    run(&mut other, "INSERT shop.dbo.t VALUES (3, 'three')");
    assert_eq!(w.plain("rollback", 1), "-6", "somebody works in it");
    enlist(&mut other, &[]);
    assert_eq!(w.end(1, SUCCESS), "0");
    let (status, again) = w.start(1, JOIN);
    assert_eq!((status.as_str(), again == cookie), ("0", true));
    w.work(&cookie, "INSERT shop.dbo.t VALUES (4, 'four')");
    assert_eq!(w.end(1, SUCCESS), "0");
    assert_eq!(
        (w.plain("prepare", 1), w.commit(1, NO_FLAGS), w.count("shop")),
        ("0".into(), "0".into(), "4".into())
    );
}

#[test]
fn its_session_can_neither_commit_it_nor_go_on_after_it_was_rolled_back() {
    let mut w = World::new();
    let (_, cookie) = w.start(1, NO_FLAGS);
    enlist(&mut w.worker, &cookie);
    let said = run(&mut w.worker, "INSERT shop.dbo.t VALUES (2, 'two'); COMMIT");
    assert!(said.contains("8519"), "{said}");
    let inner = run(&mut w.worker, "BEGIN TRAN; COMMIT; SELECT @@TRANCOUNT AS n");
    assert!(inner.contains("1\n") && !inner.contains("Msg"), "{inner}");
    run(&mut w.worker, "ROLLBACK");
    let said = run(&mut w.worker, "SELECT 1 AS n");
    assert!(said.contains("8525"), "{said}");
    assert_eq!(w.end(1, SUCCESS), "0");
    enlist(&mut w.worker, &[]);
    assert_eq!(value(&mut w.worker, "SELECT @@TRANCOUNT AS n"), "0");
    assert_eq!((w.plain("prepare", 1), w.count("shop")), ("100".into(), "1".into()));
    // Whose session ends in the middle, and who says that it failed.
    let (_, cookie) = w.start(2, NO_FLAGS);
    let mut other = connect(&w.engine);
    enlist(&mut other, &cookie);
    run(&mut other, "INSERT shop.dbo.t VALUES (2, 'two')");
    drop(other);
    assert_eq!((w.plain("rollback", 2), w.count("shop")), ("0".into(), "1".into()));
    let (_, cookie) = w.start(3, NO_FLAGS);
    w.work(&cookie, "INSERT shop.dbo.t VALUES (2, 'two')");
    assert_eq!(
        (w.end(3, FAIL), w.plain("prepare", 3), w.count("shop")),
        ("0".into(), "100".into(), "1".into())
    );
    assert!(enlist(&mut w.worker, b"nobody").contains("8504"));
}

#[test]
fn a_reset_connection_leaves_it_and_a_later_one_goes_on() {
    let mut w = World::new();
    let (_, cookie) = w.start(1, NO_FLAGS);
    enlist(&mut w.worker, &cookie);
    run(&mut w.worker, "INSERT shop.dbo.t VALUES (2, 'two')");
    w.worker.reset(false, &mut Sink::default());
    assert_eq!(value(&mut w.worker, "SELECT @@TRANCOUNT AS n"), "0");
    assert_eq!(w.end(1, SUCCESS), "0");
    assert_eq!((w.commit(1, ONE_PHASE), w.count("shop")), ("0".into(), "2".into()));
}

#[test]
fn kill_decides_what_nobody_else_does() {
    for commit in [true, false] {
        let mut w = World::new();
        let uow = |w: &mut World| {
            let asked = "SELECT CONVERT(char(36), transaction_uow) AS u FROM sys.dm_tran_active_transactions WHERE transaction_uow IS NOT NULL";
            value(&mut w.manager, asked)
        };
        w.ended(1, BOTH);
        let name = uow(&mut w);
        let said = run(&mut w.worker, &format!("KILL '{name}' WITH COMMIT"));
        assert!(said.contains("6118"), "{said}");
        assert_eq!(w.plain("prepare", 1), "0");
        w = w.restart();
        assert_eq!(uow(&mut w), name);
        let said = run(&mut w.worker, &format!("KILL '{name}'"));
        assert!(said.contains("6113"), "{said}");
        let said =
            run(&mut w.worker, &format!("KILL '{name}' WITH {}", if commit { "COMMIT" } else { "ROLLBACK" }));
        assert!(!said.contains("Msg"), "{said}");
        let said = run(&mut w.worker, &format!("KILL '{name}' WITH COMMIT"));
        assert!(said.contains("6110"), "{said}");
        assert_eq!(
            (w.commit(1, NO_FLAGS), w.count("shop").as_str()),
            ("-4".into(), if commit { "2" } else { "1" })
        );
    }
    let mut w = World::new();
    w.ended(1, BOTH);
    let name = "SELECT CONVERT(char(36), transaction_uow) AS u FROM sys.dm_tran_active_transactions WHERE transaction_type = 4";
    let name = value(&mut w.manager, name);
    let said = run(&mut w.worker, &format!("KILL '{name}'"));
    assert!(!said.contains("Msg"), "{said}");
    assert_eq!(w.plain("prepare", 1), "100");
}

/// The catalog, too, is as the branch has left it, and others see it as soon as it is decided.
#[test]
fn definitions_go_with_a_prepared_branch() {
    let mut w = World::new();
    w.ended(1, "CREATE TABLE shop.dbo.made (n int PRIMARY KEY); INSERT shop.dbo.made VALUES (5)");
    assert_eq!(w.plain("prepare", 1), "0");
    w = w.restart();
    assert!(run(&mut w.manager, "SELECT n FROM shop.dbo.made").contains("208"));
    assert_eq!(w.commit(1, NO_FLAGS), "0");
    assert_eq!(value(&mut w.manager, "SELECT n FROM shop.dbo.made"), "5");
    let said = run(
        &mut w.manager,
        "USE shop; CREATE TABLE dbo.more (n int); INSERT dbo.more VALUES (1); USE master",
    );
    assert!(!said.contains("Msg"), "{said}");
    assert_eq!(value(&mut w.manager, "SELECT n FROM shop.dbo.made"), "5");
}

/// Changes that are tracked are numbered in the order of commits, which is not known yet.
#[test]
fn tracked_changes_cannot_wait_for_a_decision() {
    let mut w = World::new();
    let said = run(
        &mut w.manager,
        "ALTER DATABASE shop SET CHANGE_TRACKING = ON; ALTER TABLE shop.dbo.t ENABLE CHANGE_TRACKING",
    );
    assert!(!said.contains("Msg"), "{said}");
    w.ended(1, BOTH);
    assert_eq!((w.plain("prepare", 1), w.count("shop")), ("100".into(), "1".into()));
    w.ended(2, "INSERT shop.dbo.t VALUES (2, 'two')");
    assert_eq!((w.commit(2, ONE_PHASE), w.count("shop")), ("0".into(), "2".into()));
}

/// Nobody works in it, and nobody else would end it.
#[test]
fn a_branch_that_rests_is_thrown_out_of_a_database_and_one_that_is_prepared_is_named() {
    let mut w = World::new();
    let single =
        "ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE; ALTER DATABASE shop SET MULTI_USER";
    let (_, cookie) = w.start(1, NO_FLAGS);
    w.work(&cookie, BOTH);
    let said = run(&mut w.manager, single);
    assert!(!said.contains("Msg"), "{said}");
    assert_eq!((w.plain("rollback", 1), w.count("shop")), ("0".into(), "1".into()));
    w.ended(2, "INSERT bank.dbo.t VALUES (2, 'two')");
    let said = run(&mut w.manager, single);
    assert!(!said.contains("Msg"), "{said}");
    assert_eq!((w.commit(2, ONE_PHASE), w.count("bank")), ("0".into(), "2".into()), "it was elsewhere");
    w.ended(3, "INSERT shop.dbo.t VALUES (3, 'three')");
    assert_eq!(w.plain("prepare", 3), "0");
    let said = run(&mut w.manager, "ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE");
    assert!(["6113", "5061", "5069"].iter().all(|n| said.contains(&format!("Msg {n}"))), "{said}");
    assert_eq!((w.commit(3, NO_FLAGS), w.count("shop")), ("0".into(), "2".into()));
    let said = run(&mut w.manager, single);
    assert!(!said.contains("Msg"), "{said}");
}
