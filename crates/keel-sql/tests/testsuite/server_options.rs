//! Options of `sp_configure` that act on what comes after them: memory, and the sessions that begin.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect, open_with};
use keel_base::env::sim::SimDisk;
use keel_sql::{Engine, SessionOptions};
use std::sync::Arc;

const MB: usize = 1 << 20;

fn run(engine: &Arc<Engine>, sql: &str) -> String {
    let mut sink = Sink::default();
    connect(engine).execute_batch(sql, &mut sink);
    sink.0.finish()
}

#[test]
fn max_server_memory_acts_at_once_and_after_a_restart() {
    let disk = SimDisk::new();
    let engine = open_with(&disk, 600 * MB);
    let capacity = |engine: &Arc<Engine>| engine.instance().page_cache().stats().capacity_bytes;
    let (whole, hard) = (capacity(&engine), engine.instance().pressure().hard_bytes());
    assert_eq!(engine.instance().memory_limit(), 600 * MB);
    run(
        &engine,
        "exec sp_configure 'show advanced options', 1; reconfigure; exec sp_configure 'max server memory', 300",
    );
    assert_eq!(engine.instance().memory_limit(), 600 * MB, "before RECONFIGURE");
    run(&engine, "reconfigure");
    assert_eq!(engine.instance().memory_limit(), 300 * MB);
    assert!(capacity(&engine) < whole && engine.instance().pressure().hard_bytes() < hard);
    drop(engine);

    let engine = open_with(&disk, 600 * MB);
    assert_eq!(engine.instance().memory_limit(), 300 * MB, "it is remembered");
    let told = run(&engine, "exec sp_configure 'min server memory', 301; reconfigure");
    assert!(told.contains("5831"), "{told}");
    run(&engine, "exec sp_configure 'min server memory', 200; reconfigure");
    assert_eq!(engine.min_server_memory(), 200 * MB);
    run(&engine, "exec sp_configure 'max server memory', 2147483647; reconfigure");
    assert_eq!(engine.instance().memory_limit(), 600 * MB, "no more than it was started with");
    assert_eq!(capacity(&engine), whole);
}

#[test]
fn sessions_begin_with_their_logins_language_and_the_instances_options() {
    let engine = open_with(&SimDisk::new(), 64 * MB);
    run(
        &engine,
        "create login anna with password = 'Secret-Pass-1', default_language = Deutsch; exec sp_configure 'user options', 16896; reconfigure",
    );
    let ask = |language: &str| {
        let options = SessionOptions {
            login: "anna".to_owned(),
            database: "master".to_owned(),
            language: language.to_owned(),
            ansi_defaults: true,
            ..SessionOptions::default()
        };
        let mut sink = Sink::default();
        let mut session = engine.session(options).unwrap();
        // 16896: NOCOUNT and XACT_ABORT.
        let sql = "select @@language as l, cast('13.12.2026' as datetime) as d, @@options & 16896 as o";
        session.execute_batch(sql, &mut sink);
        session.execute_batch("set language French; set xact_abort off", &mut Sink::default());
        session.reset(false, &mut Sink::default());
        let mut again = Sink::default();
        session.execute_batch(sql, &mut again);
        assert_eq!(sink.0.finish(), again.0.finish(), "and begins so again when it is reset");
        let mut sink = Sink::default();
        session.execute_batch(sql, &mut sink);
        sink.0.finish()
    };
    assert!(ask("").contains("Deutsch | Dec 13 2026"), "{}", ask(""));
    assert!(ask("British").contains("British | Dec 13 2026"), "{}", ask("British"));
    assert!(ask("").contains("16896"), "{}", ask(""));
}

#[test]
fn the_monitor_tells_what_was_since_the_start_and_since_it_was_asked_before() {
    let mut session = connect(&crate::common::server());
    let first = crate::common::run(&mut session, "EXEC sp_monitor");
    for column in ["last_run", "seconds", "cpu_busy", "packets_received", "connections"] {
        assert!(first.contains(column), "{column}: {first}");
    }
    assert!(first.contains("1(1)"), "a connection: {first}");
    let second = crate::common::run(&mut session, "EXEC sp_monitor");
    assert!(second.contains("1(0)"), "none since: {second}");
}
