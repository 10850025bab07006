//! The memory budget: checkpoints by themselves, and a refusal before it is passed.

use super::*;
use crate::TxnError;
use keel_base::env::Env;
use keel_base::env::sim::SimClock;
use parking_lot::Mutex;
use std::time::Duration;

fn small_instance(disk: &Arc<SimDisk>, automatic_checkpoints: bool) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: 1 << 20,
        automatic_checkpoints,
        checkpoint_log_bytes: 100 << 10,
        ..InstanceOptions::default()
    };
    Instance::new(env(disk, 1), options)
}

#[test]
fn a_transaction_too_large_for_memory_is_refused_and_hurts_nobody() {
    let disk = SimDisk::new();
    let instance = small_instance(&disk, false);
    let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &db_options()).unwrap();
    put(&db, b"before", "1");
    let mut huge = db.begin(Isolation::ReadCommitted);
    let refused = (0u32..).find_map(|n| huge.insert(TREE, &n.to_be_bytes(), &simple(&"z".repeat(500))).err());
    assert!(matches!(refused, Some(TxnError::OutOfMemory)));
    assert!(instance.delta_bytes() < 2 << 20);
    huge.rollback();
    put(&db, b"after", "2");
    assert_eq!(everything(&mut db.begin(Isolation::ReadCommitted), &[TREE]).len(), 2);
    assert!(instance.pressure().counts().2 > 0);
}

#[test]
fn checkpoints_come_by_themselves() {
    let disk = SimDisk::new();
    let instance = small_instance(&disk, true);
    let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &db_options()).unwrap();
    let mut n = 0u32;
    while db.stats().checkpoints < 3 {
        put(&db, &n.to_be_bytes(), &"z".repeat(3000));
        n += 1;
        assert!(n < 100_000, "no checkpoint after so many commits");
    }
    let found = everything(&mut db.begin(Isolation::ReadCommitted), &[TREE]);
    assert_eq!(found.len(), n as usize);
    let used = db.stats().log_used_bytes;
    assert!(used < u64::from(n) * 3000, "the log was never truncated: {used}");
}

/// A database whose clock stands still, with a checkpoint in the background that has done what it may at once.
fn with_a_resting_checkpoint() -> Arc<Database> {
    let disk = SimDisk::new();
    let options = InstanceOptions {
        memory_bytes: 256 << 20,
        checkpoint_log_bytes: 12 << 20,
        ..InstanceOptions::default()
    };
    let instance = Instance::new(env(&disk, 1), options);
    let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &DbOptions::default()).unwrap();
    let value = "z".repeat(6000);
    let mut n = 0u32;
    while db.positions().appended.0 <= 12 << 20 {
        put(&db, &n.to_be_bytes(), &value);
        n += 1;
    }
    while db.stats().checkpoint_pages < 4 << 20 >> 13 {
        std::thread::yield_now();
    }
    assert_eq!(db.stats().checkpoints, 0);
    db
}

#[test]
fn a_checkpoint_rests_until_log_is_written_and_then_goes_on() {
    let db = with_a_resting_checkpoint();
    let mut n = 1u32 << 20;
    while db.stats().checkpoints == 0 {
        put(&db, &n.to_be_bytes(), &"z".repeat(3000));
        n += 1;
        assert!(n < 2 << 20, "the checkpoint does not end");
    }
}

#[test]
fn a_resting_checkpoint_is_done_at_once_when_somebody_waits() {
    let db = with_a_resting_checkpoint();
    db.checkpoint().unwrap();
    // It may have found the work done by the other, which counts itself last of all.
    while db.stats().checkpoints == 0 {
        std::thread::yield_now();
    }
    let closing = with_a_resting_checkpoint();
    closing.close().unwrap();
}

#[test]
fn who_asks_for_the_first_time_hears_that_pages_have_stayed_since_the_start() {
    let clock = SimClock::starting_at(0);
    let environment = Env { clock: Arc::clone(&clock) as _, ..env(&SimDisk::new(), 1) };
    let instance = Instance::new(environment, InstanceOptions::default());
    clock.advance(Duration::from_secs(300));
    assert_eq!(instance.page_cache().page_life_expectancy(instance.env().clock.now()), 300);
}

#[test]
fn a_checkpoint_that_fails_is_told_of_and_tried_again() {
    a_checkpoint_fails(&|| ());
}

/// The thread of checkpoints is every database's.
#[test]
fn after_a_panic_in_a_checkpoint_there_are_others() {
    a_checkpoint_fails(&|| panic!("it was told to"));
}

/// `then` is called on its thread.
fn a_checkpoint_fails(then: &'static (dyn Fn() + Sync)) {
    let disk = SimDisk::new();
    let clock = SimClock::starting_at(0);
    let environment = Env { clock: Arc::clone(&clock) as _, ..env(&disk, 1) };
    let options = InstanceOptions {
        memory_bytes: 64 << 20,
        checkpoint_log_bytes: 1 << 20,
        ..InstanceOptions::default()
    };
    let instance = Instance::new(environment, options);
    let told = Arc::new(Mutex::new(Vec::new()));
    let telling = Arc::clone(&told);
    instance.on_failed_checkpoint(Box::new(move |db, error| {
        telling.lock().push((db.id(), error.to_string()));
        then();
    }));
    // The log has its room already, the data file has not.
    let log = LogOptions { segment_bytes: 16 << 20, ..LogOptions::default() };
    let db_options = DbOptions { durability: Durability::Durable, log };
    let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &db_options).unwrap();
    put(&db, b"first", "1");
    disk.set_capacity(disk.used());
    let megabytes = |range: std::ops::Range<u32>| {
        range.for_each(|n| put(&db, &n.to_be_bytes(), &"z".repeat(6000)));
    };
    megabytes(0..200);
    while told.lock().is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(told.lock()[0].0, DatabaseId(5));
    assert!(told.lock()[0].1.contains("space"), "{}", told.lock()[0].1);
    megabytes(200..400);
    assert_eq!((told.lock().len(), db.stats().checkpoints), (1, 0), "it pauses after a failure");
    db.checkpoint_in_background().expect("one asked for before the failure pauses as well");
    disk.set_capacity(u64::MAX);
    clock.advance(Duration::from_secs(1));
    put(&db, b"again", "1");
    while db.stats().checkpoints == 0 {
        std::thread::yield_now();
    }
}

/// Rounds of changes and new rows while `open` is held; writers must not be refused, and memory must not fill.
fn writers_go_on_beside(open: impl FnOnce(&Arc<Database>) -> Box<dyn std::any::Any>) {
    let disk = SimDisk::new();
    let instance = small_instance(&disk, false);
    let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &db_options()).unwrap();
    let key = |n: u32| n.to_be_bytes();
    (0..100).for_each(|n| put(&db, &key(n), &"a".repeat(1000)));
    let held = open(&db);
    for round in 0..60u32 {
        (0..100)
            .for_each(|n| put(&db, &key(n * (round % 2) * round), &format!("{round}{}", "z".repeat(1000))));
        db.checkpoint().unwrap();
    }
    assert_eq!(instance.pressure().counts().2, 0, "a writer was refused");
    db.checkpoint().unwrap();
    assert!(instance.delta_bytes() < instance.pressure().soft_bytes(), "{} bytes", instance.delta_bytes());
    drop(held);
    db.checkpoint().unwrap();
    assert_eq!(instance.delta_bytes(), 0);
}

#[test]
fn an_idle_snapshot_transaction_does_not_fill_the_memory() {
    writers_go_on_beside(|db| {
        let mut idle = db.begin(Isolation::Snapshot);
        assert_eq!(everything(&mut idle, &[TREE]).len(), 100);
        Box::new(idle)
    });
}

#[test]
fn a_statement_that_reads_for_long_does_not_fill_the_memory() {
    writers_go_on_beside(|db| {
        let mut reading = db.begin(Isolation::ReadCommitted);
        let view = reading.statement_snapshot();
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = reading.scan(&view, TREE, all.0, all.1, Direction::Forward).unwrap();
        assert!(cursor.next().unwrap().is_some());
        Box::new((cursor, reading))
    });
}

#[test]
fn a_search_for_rows_to_update_that_rests_does_not_fill_the_memory() {
    writers_go_on_beside(|db| {
        let mut updating = db.begin(Isolation::ReadCommitted);
        let mut cursor =
            updating.scan_latest(TREE, Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
        assert!(cursor.next().unwrap().is_some());
        Box::new((cursor, updating))
    });
}

#[test]
fn snapshot_conflicts_are_found_across_checkpoints() {
    let disk = SimDisk::new();
    let instance = small_instance(&disk, false);
    let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &db_options()).unwrap();
    put(&db, b"changed", "1");
    put(&db, b"same", "1");
    db.checkpoint().unwrap();
    let mut old = db.begin(Isolation::Snapshot);
    assert_eq!(everything(&mut old, &[TREE]).len(), 2);
    put(&db, b"changed", "1");
    db.checkpoint().unwrap();
    old.update(TREE, b"same", &simple("2"), None).unwrap();
    let refused = old.update(TREE, b"changed", &simple("2"), None);
    assert!(matches!(refused, Err(TxnError::SnapshotConflict)));
}
