//! What of the errors that clients are told stands in the error log, and starts the jobs of alerts.
#![allow(clippy::unwrap_used)]

use crate::common::{Sink, connect};
use keel_base::env::real::RealClock;
use keel_base::env::sim::{SimDisk, env};
use keel_sql::{Engine, EngineOptions, InstanceOptions, PasswordHasher, ServerLog};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl ServerLog for Lines {
    fn write(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

struct NoPasswords;

impl PasswordHasher for NoPasswords {
    fn hash(&self, _: &str) -> Vec<u8> {
        Vec::new()
    }
    fn knows(&self, _: &[u8]) -> bool {
        false
    }
    fn verify(&self, _: &str, _: &[u8]) -> bool {
        false
    }
    fn seal(&self, _: &[u8], _: &str) -> Vec<u8> {
        Vec::new()
    }
    fn open(&self, _: &[u8], _: &str) -> Option<Vec<u8>> {
        None
    }
}

fn open(disk: &Arc<SimDisk>, log: &Arc<Lines>) -> Arc<Engine> {
    let options = EngineOptions {
        data_dir: "/data".into(),
        env: keel_base::env::Env { clock: Arc::new(RealClock::new()), ..env(disk, 7) },
        server_name: "EVENKEEL".to_owned(),
        collation: None,
        instance: InstanceOptions { memory_bytes: 32 << 20, ..InstanceOptions::default() },
        hasher: Arc::new(NoPasswords),
        processors: std::num::NonZero::new(1).expect("one is not zero"),
        session_stack_bytes: 16 << 20,
        log: Arc::clone(log) as _,
    };
    Engine::open(options).unwrap()
}

#[test]
fn errors_for_want_of_memory_are_logged_and_others_are_not() {
    let log = Arc::new(Lines::default());
    let engine = open(&SimDisk::new(), &log);
    engine.agent().listen(true);
    let mut session = connect(&engine);
    let mut run = |sql: &str| {
        let mut sink = Sink::default();
        session.execute_batch(sql, &mut sink);
        sink.0.finish()
    };
    assert!(run("SELECT 1 / 0; RAISERROR ('own', 18, 1)").contains("Msg 8134"));
    assert!(log.0.lock().unwrap().iter().all(|line| !line.contains("Severity")));
    let whole =
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY value) OVER () FROM GENERATE_SERIES(1, 3000000)";
    assert!(run(whole).contains("Msg 701"));
    assert!(log.0.lock().unwrap().iter().any(|line| line.starts_with("Error: 701, Severity: 17")));
    let heard = engine.agent().take(Duration::ZERO).events;
    assert_eq!(heard.iter().map(|e| (e.number, e.database.as_str())).collect::<Vec<_>>(), [(701, "master")]);
}

/// Nobody waits for commits with delayed durability, so nobody else hears of it.
#[test]
fn a_log_that_fails_behind_answered_commits_is_logged() {
    let (disk, log) = (SimDisk::new(), Arc::new(Lines::default()));
    let engine = open(&disk, &log);
    let mut session = connect(&engine);
    crate::common::well(&mut session, "CREATE DATABASE d");
    crate::common::well(&mut session, "CREATE TABLE d.dbo.t (a int)");
    crate::common::well(&mut session, "ALTER DATABASE d SET DELAYED_DURABILITY = FORCED");
    disk.cut_power_at(1);
    crate::common::run(&mut session, "INSERT d.dbo.t VALUES (1)");
    let is_there = || log.0.lock().unwrap().iter().any(|line| line.starts_with("Error: 9001, Severity: 21"));
    while !is_there() {
        std::thread::yield_now();
    }
    let said = crate::common::run(&mut session, "SELECT COUNT(*) FROM d.dbo.t");
    assert!(
        said.contains("| 0") || said.contains("\n0"),
        "what a restart does not find is shown to nobody: {said}"
    );
}
