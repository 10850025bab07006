//! The context of a contained availability group: what `master` and `msdb` are there, and that nothing of the instance's takes their
//! place, in statements that both use by turns.
#![allow(clippy::unwrap_used)]

use crate::common::replication::Fake;
use crate::common::{Sink, connect, server};
use keel_sql::{Engine, LoginRecord, Session, SessionOptions};
use std::sync::Arc;

const GROUP: &str = "CREATE AVAILABILITY GROUP ag WITH (CONTAINED) FOR DATABASE shop REPLICA ON N'EVENKEEL' WITH \
    (ENDPOINT_URL = N'TCP://n1:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL)";

fn run(session: &mut Session, sql: &str) -> String {
    let mut sink = Sink::default();
    session.execute_batch(sql, &mut sink);
    sink.0.finish()
}

/// What a query without a heading says.
fn value(session: &mut Session, query: &str) -> String {
    let said = run(session, &format!("SET NOCOUNT ON; {query}"));
    said.lines().nth(2).unwrap_or(&said).trim().to_owned()
}

fn change(session: &mut Session, sql: &str) {
    let said = run(session, sql);
    assert!(!said.contains("Msg ") || said.contains("Msg 35204"), "{sql}: {said}");
}

/// An instance with a contained group, and a session of sa outside its context.
fn instance() -> (Arc<Engine>, Session) {
    let engine = server();
    engine.add_login(LoginRecord::sa(b"secret".to_vec())).unwrap();
    keel_sql::agent::install(&engine).unwrap();
    engine.set_hadr(Fake::new("EVENKEEL"));
    let mut outside = connect(&engine);
    change(&mut outside, "CREATE DATABASE shop");
    change(&mut outside, GROUP);
    (engine, outside)
}

/// A session of a login in the context of who names the database.
fn inside(engine: &Arc<Engine>, login: &str, database: &str) -> Session {
    let context = engine.context(None, "shop").expect("the group is contained");
    let sysadmin = engine.login_in(Some(&context), login).expect("the group knows the login").sysadmin;
    let options = SessionOptions {
        login: login.to_owned(),
        sysadmin,
        database: database.to_owned(),
        ansi_defaults: true,
        context: Some(context),
        ..SessionOptions::default()
    };
    engine.session(options).unwrap()
}

#[test]
fn system_databases_are_the_groups() {
    let (engine, mut outside) = instance();
    let mut inside = inside(&engine, "sa", "");
    assert_eq!(
        value(&mut inside, "SELECT CONCAT(DB_NAME(), ' ', DB_ID(), ' ', DB_NAME(4))"),
        "master 1 msdb"
    );
    let databases = "SELECT STRING_AGG(CONCAT(database_id, ' ', name), ', ') WITHIN GROUP (ORDER BY database_id) FROM sys.databases";
    assert_eq!(value(&mut inside, databases), "1 master, 2 tempdb, 4 msdb, 5 shop");
    assert_eq!(
        value(&mut outside, databases),
        "1 master, 2 tempdb, 3 model, 4 msdb, 5 shop, 6 ag_master, 7 ag_msdb"
    );
    // The instance's settings are read, and not changed.
    assert_eq!(
        value(&mut inside, "SELECT COUNT(*) FROM sys.configurations WHERE name = 'max server memory (MB)'"),
        "1"
    );
    assert!(run(&mut inside, "EXEC sp_configure 'show advanced options', 1").contains("Msg 47143"));
    assert!(run(&mut inside, "ALTER AVAILABILITY GROUP ag FAILOVER").contains("Msg 47143"));
    // USE and names in three parts reach what the instance has.
    change(&mut outside, "CREATE DATABASE other");
    change(&mut inside, "USE other");
    assert_eq!(value(&mut inside, "SELECT DB_NAME()"), "other");
    change(&mut inside, "USE msdb");
    assert_eq!(value(&mut inside, "SELECT DB_NAME()"), "msdb");
}

#[test]
fn one_text_means_what_its_session_means() {
    let (engine, mut outside) = instance();
    let mut inside = inside(&engine, "sa", "shop");
    change(&mut inside, "CREATE TABLE msdb.dbo.here (a int); INSERT msdb.dbo.here VALUES (1)");
    change(&mut outside, "CREATE TABLE msdb.dbo.here (a int); INSERT msdb.dbo.here VALUES (2)");
    change(&mut outside, "USE shop");
    change(&mut outside, "CREATE SYNONYM dbo.there FOR msdb.dbo.here");
    change(&mut outside, "CREATE PROCEDURE dbo.ask AS SELECT a FROM msdb.dbo.here");
    change(
        &mut outside,
        "CREATE FUNCTION dbo.asked() RETURNS int AS BEGIN RETURN (SELECT a FROM msdb.dbo.here) END",
    );
    change(&mut outside, "CREATE VIEW dbo.seen AS SELECT a FROM msdb.dbo.here");
    for query in [
        "SELECT a FROM msdb.dbo.here",
        "SELECT a FROM dbo.there",
        "EXEC dbo.ask",
        "SELECT dbo.asked()",
        "SELECT a FROM dbo.seen",
        "EXEC sp_executesql N'SELECT a FROM msdb.dbo.here'",
    ] {
        for _ in 0..3 {
            assert_eq!(value(&mut inside, query), "1", "{query} inside");
            assert_eq!(value(&mut outside, query), "2", "{query} outside");
        }
    }
    // Procedures of master that are there in every database are those of each one's own.
    change(&mut inside, "USE master");
    change(&mut inside, "CREATE PROCEDURE dbo.sp_whose AS SELECT CONCAT('the group''s, in ', DB_NAME())");
    change(&mut outside, "USE master");
    change(&mut outside, "CREATE PROCEDURE dbo.sp_whose AS SELECT CONCAT('the instance''s, in ', DB_NAME())");
    for session in [&mut inside, &mut outside] {
        change(session, "USE shop");
    }
    for _ in 0..2 {
        assert_eq!(value(&mut inside, "EXEC sp_whose"), "the group's, in shop");
        assert_eq!(value(&mut outside, "EXEC sp_whose"), "the instance's, in shop");
    }
}

#[test]
fn logins_are_the_groups() {
    let (engine, mut outside) = instance();
    let mut boss = inside(&engine, "sa", "shop");
    change(&mut boss, "CREATE LOGIN app WITH PASSWORD = 'App-Pass-1', DEFAULT_DATABASE = shop");
    change(&mut boss, "CREATE USER app FOR LOGIN app; USE master; GRANT VIEW SERVER STATE TO app; USE shop");
    let known = "SELECT COUNT(*) FROM master.sys.sql_logins WHERE name = 'app'";
    assert_eq!((value(&mut boss, known), value(&mut outside, known)), ("1".to_owned(), "0".to_owned()));
    assert!(engine.login("app").is_none());
    // One of the same name elsewhere is somebody else.
    change(
        &mut outside,
        "CREATE LOGIN app WITH PASSWORD = 'Other-Pass-1'; ALTER SERVER ROLE sysadmin ADD MEMBER app",
    );
    let mut app = inside(&engine, "app", "");
    assert_eq!(
        value(&mut app, "SELECT CONCAT(DB_NAME(), ' ', SUSER_SNAME(), ' ', USER_NAME())"),
        "shop app app"
    );
    assert_eq!(value(&mut app, "SELECT IS_SRVROLEMEMBER('sysadmin')"), "0");
    assert_eq!(value(&mut app, "SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE')"), "1");
    assert!(run(&mut app, "CREATE TABLE t (a int)").contains("Msg 262"));
    change(&mut outside, "CREATE DATABASE other");
    assert!(run(&mut app, "USE other").contains("Msg 916"));
    // Everybody may be in his own msdb, and nobody in another's.
    change(&mut app, "USE msdb");
    change(
        &mut outside,
        "CREATE LOGIN stranger WITH PASSWORD = 'Other-Pass-1'; EXECUTE AS LOGIN = 'stranger'",
    );
    for closed in ["ag_msdb", "model"] {
        assert!(run(&mut outside, &format!("USE {closed}")).contains("Msg 916"), "{closed}");
    }
    change(&mut outside, "REVERT");
    change(&mut boss, "EXECUTE AS LOGIN = 'app'");
    assert_eq!(value(&mut boss, "SELECT SUSER_SNAME()"), "app");
    change(&mut boss, "REVERT; DROP USER app; DROP LOGIN app");
    assert!(engine.login("app").is_some());
    let context = engine.context(None, "SHOP");
    assert!(engine.login_in(context.as_ref(), "app").is_none());
}

#[test]
fn what_is_made_in_the_context_belongs_to_the_group() {
    let (engine, mut outside) = instance();
    let mut boss = inside(&engine, "sa", "");
    change(&mut boss, "CREATE DATABASE more");
    assert_eq!(
        value(
            &mut boss,
            "SELECT COUNT(*) FROM sys.databases WHERE name = 'more' AND group_database_id IS NOT NULL"
        ),
        "1"
    );
    change(&mut boss, "BACKUP DATABASE more TO DISK = N'more.bak'");
    let noted = "SELECT COUNT(*) FROM msdb.dbo.backupset WHERE database_name = 'more'";
    assert_eq!((value(&mut boss, noted), value(&mut outside, noted)), ("1".to_owned(), "0".to_owned()));
    let sessions = "SELECT COUNT(*) FROM sys.dm_exec_sessions s JOIN sys.availability_groups g ON g.group_id = s.contained_availability_group_id";
    assert_eq!(value(&mut outside, sessions), "1");
}

/// Audits are the instance's: none is made in the context, and those that there are record what is done there, by its logins.
#[test]
fn audits_of_the_instance_record_what_is_done_in_the_context() {
    let (engine, mut outside) = instance();
    change(&mut outside, "CREATE SERVER AUDIT trail TO FILE (FILEPATH = '/audit/')");
    change(
        &mut outside,
        "CREATE SERVER AUDIT SPECIFICATION s FOR SERVER AUDIT trail ADD (SERVER_PRINCIPAL_CHANGE_GROUP), ADD (SCHEMA_OBJECT_CHANGE_GROUP) WITH (STATE = ON)",
    );
    change(&mut outside, "ALTER SERVER AUDIT trail WITH (STATE = ON)");
    let mut boss = inside(&engine, "sa", "");
    assert!(run(&mut boss, "CREATE SERVER AUDIT own TO FILE (FILEPATH = '/own/')").contains("Msg 47143"));
    change(&mut boss, "CREATE LOGIN clerk WITH PASSWORD = 'A-password-1'");
    change(&mut boss, "USE shop; CREATE TABLE dbo.item (id int)");
    let recorded = "SELECT STRING_AGG(CONCAT(RTRIM(action_id), ' ', RTRIM(class_type), ' ', object_name), ', ') FROM sys.fn_get_audit_file('/audit/*', DEFAULT, DEFAULT) WHERE action_id <> 'AUSC'";
    assert_eq!(value(&mut outside, recorded), "CR SL clerk, CR U item");
}
