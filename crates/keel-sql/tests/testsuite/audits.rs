//! Audits whose files cannot be written, or are cut off.
#![allow(clippy::unwrap_used)]

use crate::common::{connect, open, open_in, open_logging, run, well};
use keel_base::env::sim::{SimClock, SimDisk, Tear, env};
use keel_base::env::{Disk, Env};
use keel_sql::events::file::Files;
use keel_sql::{ServerLog, Session};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// An error log; its file cannot be written to once it is full.
#[derive(Default)]
struct Lines(Mutex<String>, AtomicBool);

impl ServerLog for Lines {
    fn write(&self, text: &str) {
        let mut all = self.0.lock();
        all.push_str(text);
        all.push('\n');
    }
    fn record(&self, line: &str) -> std::io::Result<()> {
        if self.1.load(Ordering::Relaxed) {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.write(line);
        Ok(())
    }
}

/// An audit of the inserts into `t`, with these options.
fn audited(session: &mut Session, options: &str) {
    well(session, "create table t (id int primary key)");
    well(session, &format!("create server audit trail to file (filepath = '/audit/') with ({options})"));
    well(
        session,
        "create server audit specification s for server audit trail add (schema_object_access_group), add (schema_object_change_group) with (state = on)",
    );
    well(session, "alter server audit trail with (state = on)");
}

const RECORDED: &str =
    "select count(*) as n from sys.fn_get_audit_file('/audit/*', default, default) where action_id = 'IN'";

#[test]
fn a_statement_that_cannot_be_recorded_fails_where_that_is_asked_for() {
    let disk = SimDisk::new();
    let lines = Arc::new(Lines::default());
    let engine = open_logging(&disk, lines.clone());
    let mut session = connect(&engine);
    audited(&mut session, "queue_delay = 0, on_failure = fail_operation");
    well(&mut session, "insert t values (1)");
    for statement in
        ["insert t values (2)", "create table u (id int)", "drop table t", "exec ('insert t values (3)')"]
    {
        disk.fail_nth(1);
        let said = run(&mut session, statement);
        assert!(said.contains("Msg 33239"), "{statement}: {said}");
        assert!(!disk.fault_pending());
    }
    well(&mut session, "insert t values (4)");
    assert!(well(&mut session, "select id from t").contains("1\n4"), "nothing else has happened");
    assert!(run(&mut session, "select * from u").contains("Msg 208"));
    assert!(well(&mut session, RECORDED).contains("\n2\n"));
    let told = lines.0.lock().clone();
    assert_eq!(told.matches("SQL Server Audit could not write to file").count(), 1, "{told}");
}

#[test]
fn a_record_that_is_lost_stops_nobody_who_does_not_mind() {
    let disk = SimDisk::new();
    let lines = Arc::new(Lines::default());
    let engine = open_logging(&disk, lines.clone());
    let mut session = connect(&engine);
    audited(&mut session, "queue_delay = 0");
    disk.fail_nth(1);
    well(&mut session, "insert t values (1)");
    assert!(!disk.fault_pending());
    assert!(well(&mut session, "select status_desc from sys.dm_server_audit_status").contains("FAILED"));
    well(&mut session, "insert t values (2)");
    assert!(well(&mut session, "select status_desc from sys.dm_server_audit_status").contains("STARTED"));
    assert!(well(&mut session, RECORDED).contains("\n1\n"));
    assert!(lines.0.lock().contains("Error: 33202, Severity: 17, State: 1."));
}

#[test]
fn the_server_stops_where_that_is_asked_for() {
    let disk = SimDisk::new();
    let lines = Arc::new(Lines::default());
    let engine = open_logging(&disk, lines.clone());
    let stopped = Arc::new(AtomicU32::new(0));
    let stops = Arc::clone(&stopped);
    engine.on_shutdown(Box::new(move |no_wait| {
        assert!(no_wait);
        stops.fetch_add(1, Ordering::Relaxed);
    }));
    let mut session = connect(&engine);
    audited(&mut session, "queue_delay = 0, on_failure = shutdown");
    disk.fail_nth(1);
    assert!(run(&mut session, "insert t values (1)").contains("Msg 33239"));
    assert_eq!(stopped.load(Ordering::Relaxed), 1);
    assert!(lines.0.lock().contains("The server was stopped because SQL Server Audit 'trail'"));
    assert!(well(&mut session, "select count(*) as n from t").contains("\n0\n"));
}

#[test]
fn what_a_power_cut_leaves_is_read_and_the_rest_is_passed_over() {
    for seed in 0..24 {
        let disk = SimDisk::new();
        let engine = open(&disk);
        let mut session = connect(&engine);
        audited(&mut session, "queue_delay = 0");
        well(&mut session, "insert t values (1), (2)");
        well(
            &mut session,
            "create server audit lazy to file (filepath = '/lazy/', maxsize = 2 MB) with (queue_delay = 2000000000)",
        );
        well(
            &mut session,
            "create server audit specification l for server audit lazy add (schema_object_access_group) with (state = on)",
        );
        well(&mut session, "alter server audit lazy with (state = on)");
        for n in 3..20 {
            well(&mut session, &format!("insert t values ({n})"));
        }
        let tear = match seed {
            0 => Tear::LoseAll,
            1 => Tear::KeepAll,
            seed => Tear::Random(seed),
        };
        let after = disk.crash(tear);
        drop(session);
        let engine = open(&after);
        let mut session = connect(&engine);
        assert!(well(&mut session, RECORDED).contains("\n18\n"), "{tear:?}");
        let said =
            run(&mut session, "select count(*) as n from sys.fn_get_audit_file('/lazy/*', default, default)");
        assert!(!said.contains("Msg 33201") && said.contains("(1 row)"), "{tear:?}: {said}");
        if tear == Tear::KeepAll {
            assert!(said.contains("\n19\n"), "{said}");
        }
    }
}

#[test]
fn files_roll_over_and_the_oldest_go() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = connect(&engine);
    well(
        &mut session,
        "create server audit trail to file (filepath = '/audit/', maxsize = 2 MB, max_rollover_files = 2, reserve_disk_space = on)",
    );
    well(
        &mut session,
        "create server audit specification s for server audit trail add (user_defined_audit_group) with (state = on)",
    );
    well(&mut session, "alter server audit trail with (state = on)");
    let much = "declare @n int = 0, @text nvarchar(4000) = replicate(N'x', 4000)
        while @n < 3000 begin set @n += 1 exec sp_audit_write @n, 1, @text end";
    well(&mut session, much);
    let files = "select count(distinct file_name) as files, max(user_defined_event_id) as last_ from sys.fn_get_audit_file('/audit/*', default, default)";
    let said = well(&mut session, files);
    assert!(said.contains("3     | 3000"), "{said}");
}

#[test]
fn a_record_that_may_wait_is_durable_when_its_time_has_come() {
    let disk = SimDisk::new();
    let clock = SimClock::starting_at(1_700_000_000_000_000_000);
    let engine = open_in(Env { clock: Arc::clone(&clock) as _, ..env(&disk, 7) });
    let mut session = connect(&engine);
    audited(&mut session, "queue_delay = 1000");
    well(&mut session, "insert t values (1)");
    let there = |disk: &Arc<SimDisk>| {
        let engine = open(&disk.crash(Tear::LoseAll));
        well(&mut connect(&engine), RECORDED).contains("\n1\n")
    };
    assert!(engine.settle_due_audits().is_empty());
    assert!(!there(&disk), "it may wait");
    clock.advance(Duration::from_millis(1500));
    assert!(engine.settle_due_audits().is_empty());
    assert!(there(&disk));
}

#[test]
fn a_file_that_cannot_be_begun_does_not_stay() {
    let begun = |n: u64| {
        let disk = SimDisk::new();
        let path = std::path::Path::new("/audit/trail.sqlaudit");
        let mut files = Files::new(Arc::new(Arc::clone(&disk)), path, 1 << 20, 0).for_audit(1, true);
        disk.fail_nth(n);
        let failed = files.begin(1).is_err();
        let left = disk.list(std::path::Path::new("/audit")).map_or(0, |all| all.len());
        assert_eq!(left, usize::from(!failed), "operation {n}");
        if failed {
            files.begin(2).unwrap();
        }
        !failed
    };
    assert!((1..20).any(begun));
}

#[test]
fn passwords_within_statements_are_not_recorded() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = connect(&engine);
    audited(&mut session, "queue_delay = 0");
    for (n, value) in [
        "encryptbypassphrase('Hush1', 'x')",
        "'exec (''create login l with password = ''''Hush1'''''')'",
        "N'create symmetric key k with key_source = ''Hush1'''",
    ]
    .iter()
    .enumerate()
    {
        well(&mut session, &format!("insert t values ({n} + 0 * datalength({value})) -- not sp_password"));
    }
    let told = well(
        &mut session,
        "select statement from sys.fn_get_audit_file('/audit/*', default, default) where action_id = 'IN'",
    );
    assert!(!told.contains("Hush1") && told.matches("******").count() == 3, "{told}");
    assert_eq!(told.to_lowercase().matches("insert t values").count(), 3, "{told}");
}

#[test]
fn what_cannot_be_made_durable_later_is_told_to_the_next() {
    for (options, number) in [("on_failure = fail_operation", "Msg 33239"), ("on_failure = shutdown", "")] {
        let disk = SimDisk::new();
        let clock = SimClock::starting_at(1_700_000_000_000_000_000);
        let engine = open_in(Env { clock: Arc::clone(&clock) as _, ..env(&disk, 7) });
        let stopped = Arc::new(AtomicU32::new(0));
        let stops = Arc::clone(&stopped);
        engine.on_shutdown(Box::new(move |_| {
            stops.fetch_add(1, Ordering::Relaxed);
        }));
        let mut session = connect(&engine);
        audited(&mut session, &format!("queue_delay = 1000, {options}"));
        well(&mut session, "insert t values (1)");
        clock.advance(Duration::from_millis(1500));
        disk.fail_nth(1);
        assert_eq!(engine.settle_due_audits().len(), 1);
        assert!(well(&mut session, "select status_desc from sys.dm_server_audit_status").contains("FAILED"));
        assert_eq!(stopped.load(Ordering::Relaxed), u32::from(number.is_empty()));
        assert!(run(&mut session, "insert t values (2)").contains("Msg 33239"), "{options}");
    }
}

/// An audit of the inserts into `t` TO APPLICATION_LOG.
fn audited_in_the_error_log(session: &mut Session, options: &str) {
    well(session, "create table t (id int primary key)");
    well(session, &format!("create server audit loud to application_log with ({options})"));
    well(
        session,
        "create server audit specification s for server audit loud add (schema_object_access_group) with (state = on)",
    );
    well(session, "alter server audit loud with (state = on)");
}

#[test]
fn a_statement_forges_no_lines_of_the_error_log() {
    let lines = Arc::new(Lines::default());
    let engine = open_logging(&SimDisk::new(), lines.clone());
    let mut session = connect(&engine);
    audited_in_the_error_log(&mut session, "queue_delay = 0");
    let before = lines.0.lock().lines().count();
    well(&mut session, "insert t\r\n/* 2026-01-01 Server Audit event: \u{1b}[2A\u{2028} */ values (1)");
    let told = lines.0.lock().clone();
    assert_eq!(told.lines().count(), before + 1, "{told}");
    let last = told.lines().last().unwrap();
    assert!(last.contains("insert t\\r\\n/*") && last.contains("\\u{1b}[2A\\u{2028}"), "{last}");
}

#[test]
fn an_error_log_that_cannot_be_written_fails_what_is_audited_in_it() {
    let lines = Arc::new(Lines::default());
    let engine = open_logging(&SimDisk::new(), lines.clone());
    let mut session = connect(&engine);
    audited_in_the_error_log(&mut session, "on_failure = fail_operation");
    lines.1.store(true, Ordering::Relaxed);
    assert!(run(&mut session, "insert t values (1)").contains("Msg 33239"));
    assert!(well(&mut session, "select status_desc from sys.dm_server_audit_status").contains("FAILED"));
    lines.1.store(false, Ordering::Relaxed);
    well(&mut session, "insert t values (2)");
    assert!(lines.0.lock().contains("SQL Server Audit could not write to file 'errorlog'."));
}

#[test]
fn an_audit_that_cannot_be_written_to_can_be_switched_off() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = connect(&engine);
    well(
        &mut session,
        "create server audit trail to file (filepath = '/audit/') with (queue_delay = 0, on_failure = fail_operation)",
    );
    well(
        &mut session,
        "create server audit specification s for server audit trail add (audit_change_group) with (state = on)",
    );
    well(&mut session, "alter server audit trail with (state = on)");
    disk.fail_nth(1);
    let refused = run(&mut session, "alter server audit specification s with (state = off)");
    assert!(refused.contains("Msg 33239"), "{refused}");
    disk.fail_nth(1);
    well(&mut session, "alter server audit trail with (state = off)");
    assert!(!disk.fault_pending());
    well(&mut session, "drop server audit trail");
}

/// Two audits record at the same time, each what its own specifications and its WHERE let in, and one goes on without the other.
#[test]
fn two_audits_record_side_by_side() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    let mut session = connect(&engine);
    audited(&mut session, "queue_delay = 0");
    well(
        &mut session,
        "create server audit other to file (filepath = '/other/') with (queue_delay = 0, on_failure = fail_operation) where action_id <> 'SL'",
    );
    well(
        &mut session,
        "create database audit specification d for server audit other add (insert, select on dbo.t by public) with (state = on)",
    );
    well(&mut session, "alter server audit other with (state = on)");
    well(&mut session, "insert t values (1)");
    well(&mut session, "select id from t");
    let recorded = |session: &mut Session, path: &str| {
        let query = format!(
            "select string_agg(rtrim(action_id), ' ') as told from sys.fn_get_audit_file('{path}*', default, default) where action_id <> 'AUSC'"
        );
        well(session, &query).lines().nth(2).unwrap().trim().to_owned()
    };
    assert_eq!(recorded(&mut session, "/audit/"), "IN SL");
    assert_eq!(recorded(&mut session, "/other/"), "IN");
    // What one cannot record is in the other all the same, and does not happen.
    disk.fail_nth(3);
    assert!(run(&mut session, "insert t values (2)").contains("Msg 33239"));
    assert_eq!(recorded(&mut session, "/audit/"), "IN SL IN");
    well(&mut session, "alter server audit trail with (state = off)");
    well(&mut session, "insert t values (3)");
    assert_eq!(recorded(&mut session, "/audit/"), "IN SL IN");
    assert_eq!(recorded(&mut session, "/other/"), "IN IN");
    assert!(well(&mut session, "select id from t").contains("1\n3\n"));
}
