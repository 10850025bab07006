//! What each isolation level shows and prevents.

use super::*;
use crate::{LockMode, TxnError};
use keel_store::store::StoreError;
use std::time::Duration;

const NOW: Option<Duration> = Some(Duration::ZERO);

fn get(txn: &mut Transaction, key: &[u8]) -> Option<String> {
    let view = txn.statement_snapshot();
    txn.get(&view, TREE, key).unwrap().map(|row| value_of(&row))
}

#[test]
fn read_committed_sees_each_statement_and_snapshot_one_point() {
    let db = fresh();
    put(&db, b"k", "1");
    let mut committed = db.begin(Isolation::ReadCommitted);
    let mut snapshot = db.begin(Isolation::Snapshot);
    let mut dirty = db.begin(Isolation::ReadUncommitted);
    assert_eq!(get(&mut snapshot, b"k").unwrap(), "1");
    let mut writer = db.begin(Isolation::ReadCommitted);
    writer.update(TREE, b"k", &simple("2"), None).unwrap();
    assert_eq!(get(&mut committed, b"k").unwrap(), "1");
    assert_eq!(get(&mut dirty, b"k").unwrap(), "2");
    assert_eq!(get(&mut writer, b"k").unwrap(), "2");
    writer.commit().unwrap().wait().unwrap();
    assert_eq!(get(&mut committed, b"k").unwrap(), "2");
    assert_eq!(get(&mut snapshot, b"k").unwrap(), "1");
}

#[test]
fn snapshots_see_only_what_is_hardened_but_writers_see_what_is_committed() {
    let db = fresh();
    put(&db, b"k", "1");
    let mut writer = db.begin(Isolation::ReadCommitted);
    writer.update(TREE, b"k", &simple("2"), None).unwrap();
    let commit = writer.commit().unwrap();
    let mut reader = db.begin(Isolation::ReadCommitted);
    assert_eq!(get(&mut reader, b"k").unwrap(), "1");
    let mut next = db.begin(Isolation::ReadCommitted);
    next.lock_row(TREE, b"k", LockMode::Exclusive).unwrap();
    assert_eq!(value_of(&next.get_latest(TREE, b"k").unwrap().unwrap()), "2");
    // What it has observed it goes on seeing, and its reply waits for it.
    assert_eq!(get(&mut next, b"k").unwrap(), "2");
    assert!(db.hardened() < commit.lsn());
    let ended = next.commit().unwrap();
    assert_eq!(ended.lsn(), commit.lsn());
    ended.wait().unwrap();
    assert!(db.hardened() >= commit.lsn());
    assert_eq!(get(&mut reader, b"k").unwrap(), "2");
    commit.wait().unwrap();
}

#[test]
fn who_finds_nothing_has_seen_the_delete() {
    let db = fresh();
    put(&db, b"a", "1");
    put(&db, b"z", "1");
    let mut deleter = db.begin(Isolation::ReadCommitted);
    deleter.delete(TREE, b"a").unwrap();
    deleter.update(TREE, b"z", &simple("2"), None).unwrap();
    let commit = deleter.commit().unwrap();
    let mut next = db.begin(Isolation::ReadCommitted);
    let ahead_of = Bound::Excluded(&b"b"[..]);
    let mut cursor = next.scan_latest(TREE, Bound::Unbounded, ahead_of, Direction::Forward).unwrap();
    assert!(cursor.next().unwrap().is_none());
    // What it decides now it decides with everything of that commit.
    assert_eq!(get(&mut next, b"a"), None);
    assert_eq!(get(&mut next, b"z").unwrap(), "2");
    assert!(db.hardened() < commit.lsn());
    commit.wait().unwrap();
}

#[test]
fn snapshot_writers_conflict_with_newer_commits() {
    let db = fresh();
    put(&db, b"k", "1");
    let mut a = db.begin(Isolation::Snapshot);
    assert_eq!(get(&mut a, b"k").unwrap(), "1");
    put(&db, b"k", "2");
    assert!(matches!(a.update(TREE, b"k", &simple("3"), None), Err(TxnError::SnapshotConflict)));
    assert!(matches!(a.delete(TREE, b"k"), Err(TxnError::SnapshotConflict)));
    a.rollback();
    put(&db, b"k", "4");
}

#[test]
fn repeatable_reads_hold_writers_off() {
    let db = fresh();
    put(&db, b"k", "1");
    for isolation in [Isolation::RepeatableRead, Isolation::Serializable] {
        let mut reader = db.begin(isolation);
        assert_eq!(get(&mut reader, b"k").unwrap(), "1");
        let mut writer = db.begin(Isolation::ReadCommitted);
        writer.set_lock_timeout(NOW);
        assert!(matches!(writer.update(TREE, b"k", &simple("2"), None), Err(TxnError::LockTimeout)));
        reader.commit().unwrap().wait().unwrap();
        writer.update(TREE, b"k", &simple("2"), None).unwrap();
        let mut blocked = db.begin(isolation);
        blocked.set_lock_timeout(NOW);
        let view = blocked.statement_snapshot();
        assert!(matches!(blocked.get(&view, TREE, b"k"), Err(TxnError::LockTimeout)));
    }
}

#[test]
fn serializable_ranges_hold_inserts_off_and_others_do_not() {
    let db = fresh();
    put(&db, b"b", "1");
    put(&db, b"z", "1");
    let bounds = (Bound::Included(&b"a"[..]), Bound::Excluded(&b"m"[..]));
    for (isolation, blocks) in [(Isolation::RepeatableRead, false), (Isolation::Serializable, true)] {
        let mut reader = db.begin(isolation);
        let view = reader.statement_snapshot();
        let mut cursor = reader.scan(&view, TREE, bounds.0, bounds.1, Direction::Forward).unwrap();
        let mut rows = 0;
        while cursor.next().unwrap().is_some() {
            rows += 1;
        }
        assert_eq!(rows, 1);
        let mut writer = db.begin(Isolation::ReadCommitted);
        writer.set_lock_timeout(NOW);
        let inserted = writer.insert(TREE, b"c", &simple("1"));
        assert_eq!(matches!(inserted, Err(TxnError::LockTimeout)), blocks);
        assert_eq!(inserted.is_ok(), !blocks);
        let entry = writer.put_index(TREE, b"d", &simple("1"));
        assert_eq!(entry.is_ok(), !blocks);
        writer.insert(TREE, b"n", &simple("1")).unwrap();
        writer.rollback();
    }
}

#[test]
fn a_serializable_reader_waits_for_entries_that_are_being_written() {
    let db = fresh();
    let mut writer = db.begin(Isolation::ReadCommitted);
    writer.put_index(TREE, b"entry", &simple("1")).unwrap();
    let mut reader = db.begin(Isolation::Serializable);
    reader.set_lock_timeout(NOW);
    let view = reader.statement_snapshot();
    let mut cursor =
        reader.scan(&view, TREE, Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
    assert!(matches!(cursor.next(), Err(TxnError::LockTimeout)));
    writer.commit().unwrap().wait().unwrap();
    let mut cursor =
        reader.scan(&view, TREE, Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
    assert!(cursor.next().unwrap().is_some());
}

#[test]
fn update_searches_wait_for_rows_that_are_being_changed() {
    let db = fresh();
    put(&db, b"k", "1");
    let mut writer = db.begin(Isolation::ReadCommitted);
    writer.insert(TREE, b"new", &simple("1")).unwrap();
    let mut searcher = db.begin(Isolation::ReadCommitted);
    searcher.set_lock_timeout(NOW);
    let mut cursor =
        searcher.scan_latest(TREE, Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
    assert_eq!(cursor.next().unwrap().unwrap().0, b"k");
    assert!(matches!(cursor.next(), Err(TxnError::LockTimeout)));
    writer.rollback();
    let mut cursor =
        searcher.scan_latest(TREE, Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
    assert!(cursor.next().unwrap().is_some());
    assert!(cursor.next().unwrap().is_none());
    assert_eq!(searcher.lock_owner().held_count(), 0);
}

#[test]
fn duplicate_keys_are_refused_and_the_transaction_goes_on() {
    let db = fresh();
    put(&db, b"k", "1");
    let mut txn = db.begin(Isolation::ReadCommitted);
    assert!(matches!(txn.insert(TREE, b"k", &simple("2")), Err(TxnError::Duplicate)));
    txn.delete(TREE, b"k").unwrap();
    txn.insert(TREE, b"k", &simple("3")).unwrap();
    txn.commit().unwrap().wait().unwrap();
    assert_eq!(get(&mut db.begin(Isolation::ReadCommitted), b"k").unwrap(), "3");
}

#[test]
fn a_deadlock_has_one_victim() {
    let db = fresh();
    put(&db, b"a", "0");
    put(&db, b"b", "0");
    let barrier = std::sync::Barrier::new(2);
    let run = |first: &'static [u8], second: &'static [u8]| {
        let mut txn = db.begin(Isolation::ReadCommitted);
        txn.update(TREE, first, &simple("x"), None).unwrap();
        barrier.wait();
        match txn.update(TREE, second, &simple("x"), None) {
            Ok(()) => {
                txn.commit().unwrap().wait().unwrap();
                true
            }
            Err(TxnError::Deadlock) => false,
            Err(other) => panic!("{other}"),
        }
    };
    let survivors = std::thread::scope(|scope| {
        let a = scope.spawn(|| run(b"a", b"b"));
        let b = scope.spawn(|| run(b"b", b"a"));
        usize::from(a.join().unwrap()) + usize::from(b.join().unwrap())
    });
    assert_eq!(survivors, 1);
}

#[test]
fn an_index_entry_written_by_two_at_once_is_reported_not_lost() {
    let db = fresh();
    let mut a = db.begin(Isolation::ReadCommitted);
    let mut b = db.begin(Isolation::ReadCommitted);
    a.put_index(TREE, b"same", &simple("a")).unwrap();
    assert!(matches!(b.put_index(TREE, b"same", &simple("b")), Err(TxnError::Corrupt(_))));
    let _ = StoreError::Duplicate;
}

/// Transfers between accounts from several threads; the sum never changes for any reader.
#[test]
fn money_is_neither_made_nor_lost() {
    let db = fresh();
    for n in 0..6u8 {
        put(&db, &[n], "100");
    }
    let transfer = |seed: u64| {
        let mut dice = keel_base::env::sim::SplitMix(seed);
        let mut done = 0;
        while done < 60 {
            let (from, to) = (dice.below(6) as u8, dice.below(6) as u8);
            if from == to {
                continue;
            }
            let mut txn = db.begin(Isolation::ReadCommitted);
            let mut shift = |key: u8, by: i64| -> Result<(), TxnError> {
                txn.lock_row(TREE, &[key], LockMode::Exclusive)?;
                let old: i64 = value_of(&txn.get_latest(TREE, &[key])?.unwrap()).parse().unwrap();
                txn.update(TREE, &[key], &simple(&(old + by).to_string()), None)
            };
            match shift(from, -1).and_then(|()| shift(to, 1)) {
                Ok(()) => {
                    txn.commit().unwrap().wait().unwrap();
                    done += 1;
                }
                Err(TxnError::Deadlock) => txn.rollback(),
                Err(other) => panic!("{other}"),
            }
        }
    };
    std::thread::scope(|scope| {
        for seed in 0..3 {
            scope.spawn(move || transfer(seed));
        }
        scope.spawn(|| {
            for _ in 0..50 {
                let rows = everything(&mut db.begin(Isolation::ReadCommitted), &[TREE]);
                let sum: i64 = rows.values().map(|row| value_of(row).parse::<i64>().unwrap()).sum();
                assert_eq!(sum, 600);
                db.checkpoint().unwrap();
            }
        });
    });
}
