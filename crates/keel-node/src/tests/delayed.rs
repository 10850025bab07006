//! Commits with delayed durability of a database that stands alone: what a log that fails does to them, and that nobody else's disk is waited
//! for.

use super::*;
use crate::{Commit, TxnError};
use keel_base::Lsn;
use parking_lot::{Condvar, Mutex};

fn by_hand(disk: &Arc<SimDisk>) -> Arc<Database> {
    let options =
        InstanceOptions { by_hand: true, automatic_checkpoints: false, ..InstanceOptions::default() };
    let instance = Instance::new(env(disk, 1), options);
    Database::create(&instance, DatabaseId(5), Path::new(DIR), &db_options()).unwrap()
}

fn insert(db: &Arc<Database>, key: &[u8]) -> Commit {
    let mut txn = db.begin(Isolation::ReadCommitted);
    txn.insert(TREE, key, &simple("1")).unwrap();
    txn.commit().unwrap()
}

fn rows(db: &Arc<Database>) -> usize {
    everything(&mut db.begin(Isolation::ReadCommitted), &[TREE]).len()
}

#[test]
fn once_the_log_has_failed_nothing_is_shown_that_may_be_lost() {
    let disk = SimDisk::new();
    let db = by_hand(&disk);
    let failures = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&failures);
    db.instance().on_failed_flush(Box::new(move |db, error| heard.lock().push((db.id(), error.to_string()))));
    insert(&db, b"safe").wait().unwrap();
    insert(&db, b"told").delay().unwrap();
    assert_eq!(rows(&db), 2);
    let mut locking = db.begin(Isolation::Serializable);
    assert!(locking.get_latest(TREE, b"told").unwrap().is_some());
    let late = insert(&db, b"late");
    disk.fail_nth(1);
    while db.instance().work_queued(0) {}
    assert_eq!(failures.lock().len(), 1, "{:?}", failures.lock());
    assert_eq!(failures.lock()[0].0, DatabaseId(5));
    assert_eq!((rows(&db), db.told()), (1, Lsn::ZERO), "readers that come see what a restart may find");
    let seen = locking.commit().unwrap().wait();
    assert!(matches!(seen, Err(TxnError::Poisoned(_))), "who has read it under locks is told: {seen:?}");
    assert!(late.delay().is_err(), "who has not been answered is told");
    assert_eq!(rows(&db), 1);
}

#[test]
fn a_row_that_a_load_is_told_of_is_waited_for() {
    let db = by_hand(&SimDisk::new());
    let kept = insert(&db, b"there");
    let mut txn = db.begin(Isolation::ReadCommitted);
    txn.lock_table(7, crate::LockMode::Exclusive).unwrap();
    let mut loading = crate::Loading::new(TREE);
    assert!(matches!(txn.load(&mut loading, b"there", &simple("2")), Err(TxnError::Duplicate)));
    assert!(db.hardened() < kept.lsn());
    txn.commit().unwrap().wait().unwrap();
    assert!(db.hardened() >= kept.lsn());
}

#[test]
fn who_settles_a_view_waits_for_what_was_told_and_no_further() {
    let db = by_hand(&SimDisk::new());
    let number = insert(&db, b"number");
    let end = number.lsn();
    insert(&db, b"told").delay().unwrap();
    let mut reader = db.begin(Isolation::ReadCommitted);
    let view = reader.statement_snapshot();
    assert!(reader.get(&view, TREE, b"number").unwrap().is_some(), "it comes before what was told");
    assert!(db.hardened() < end);
    reader.settle(&view).unwrap();
    assert!(db.hardened() >= end);
    insert(&db, b"later").delay().unwrap();
    let told = db.told();
    reader.settle(&view).unwrap();
    assert!(db.hardened() < told, "it shows nothing of that");
    number.wait().unwrap();
}

/// Holds up whoever comes until it is opened.
#[derive(Default)]
struct Barrier(Mutex<(bool, bool)>, Condvar);

impl Barrier {
    fn pass(&self) {
        let mut state = self.0.lock();
        state.1 = true;
        while !state.0 {
            self.1.wait(&mut state);
        }
    }

    fn is_met(&self) -> bool {
        self.0.lock().1
    }

    fn open(&self) {
        self.0.lock().0 = true;
        self.1.notify_all();
    }
}

#[test]
fn nobody_waits_for_the_disk_of_another_database() {
    let disk = SimDisk::new();
    let instance = instance(&disk, 1);
    let [stalled, other] = [(5, DIR), (6, "data/db6")]
        .map(|(id, dir)| Database::create(&instance, DatabaseId(id), Path::new(dir), &db_options()).unwrap());
    let barrier = Arc::new(Barrier::default());
    let held = Arc::clone(&barrier);
    stalled.log().unwrap().set_hardened_hook(Some(Arc::new(move |_| held.pass())));
    insert(&stalled, b"1").delay().unwrap();
    while !barrier.is_met() {
        std::thread::yield_now();
    }
    // However often it is asked for, it takes one thread.
    let last = insert(&stalled, b"2");
    let end = last.lsn();
    last.delay().unwrap();
    for key in [b"a", b"b", b"c"] {
        let commit = insert(&other, key);
        let lsn = commit.lsn();
        commit.delay().unwrap();
        while other.hardened() < lsn {
            std::thread::yield_now();
        }
    }
    assert!(stalled.hardened() < end);
    barrier.open();
    while stalled.hardened() < end {
        std::thread::yield_now();
    }
}
