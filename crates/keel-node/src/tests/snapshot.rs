//! Database snapshots: what they show, what they keep, and whatever the disk does to them.

use super::group::{pair, send, write};
use super::*;
use crate::{Algorithm, EncryptionState, Role, SnapshotInfo};
use keel_base::Epoch;
use keel_base::env::Disk as _;
use keel_base::env::sim::{SplitMix, Tear};
use keel_store::base::MergeOptions;
use std::collections::BTreeSet;
use std::time::Duration;

const SNAPSHOT: DatabaseId = DatabaseId(50);

fn all_of(db: &Arc<Database>) -> Model {
    everything(&mut db.begin(Isolation::ReadCommitted), &[TREE])
}

fn shown(db: &Arc<Database>, number: u64) -> Model {
    all_of(&db.open_snapshot(SNAPSHOT, number).unwrap())
}

fn info(db: &Database, number: u64) -> SnapshotInfo {
    db.snapshots().into_iter().find(|s| s.number == number).unwrap()
}

/// Every page is in use, free, or kept for a snapshot.
fn assert_nothing_lost(db: &Database) {
    let base = db.store().base();
    // A publication without a reader gives back what the one before it has freed.
    let highest = base.root().highest_lsn();
    base.drop_tree(TreeId(999), &MergeOptions::at(highest)).unwrap();
    let stats = base.root().stats();
    assert_eq!(stats.used_pages + base.free_pages() + base.held_pages(), stats.file_pages);
}

/// Many rows, so that there are many pages.
fn fill(db: &Arc<Database>, round: u32) {
    let mut txn = db.begin(Isolation::ReadCommitted);
    for n in 0..400u32 {
        let key = n.to_be_bytes();
        let value = simple(&format!("{round} {}", "x".repeat(200)));
        match txn.get_latest(TREE, &key).unwrap() {
            Some(_) => txn.update(TREE, &key, &value, None).unwrap(),
            None => txn.insert(TREE, &key, &value).unwrap(),
        }
    }
    txn.commit().unwrap().wait().unwrap();
}

#[test]
fn a_snapshot_shows_what_was_committed_and_nothing_of_what_ran() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    put(&db, b"a", "1");
    let mut runs = db.begin(Isolation::ReadCommitted);
    runs.insert(TREE, b"running", &simple(&"long".repeat(300))).unwrap();
    runs.insert(TREE, b"running on", &simple("2")).unwrap();
    let before = all_of(&db);
    let number = db.take_snapshot().unwrap();
    assert_eq!(shown(&db, number), before);
    runs.commit().unwrap().wait().unwrap();
    put(&db, b"a", "2");
    db.checkpoint().unwrap();
    let snapshot = db.open_snapshot(SNAPSHOT, number).unwrap();
    assert_eq!(all_of(&snapshot), before);
    assert!(snapshot.is_snapshot() && !db.is_snapshot());
    assert!(snapshot.check().unwrap().is_clean() && db.check().unwrap().is_clean());
    for isolation in [Isolation::ReadUncommitted, Isolation::RepeatableRead, Isolation::Serializable] {
        assert_eq!(everything(&mut snapshot.begin(isolation), &[TREE]), before);
    }
    let mut txn = snapshot.begin(Isolation::ReadCommitted);
    let refused = txn.insert(TREE, b"new", &simple("3"));
    assert!(matches!(refused, Err(crate::TxnError::RoleChanged(_))), "{refused:?}");
    drop(txn);
    assert!(matches!(snapshot.take_snapshot(), Err(DbError::Role(_))));
    assert!(matches!(snapshot.revert(number, &[]), Err(DbError::Role(_))));
    snapshot.checkpoint().unwrap();
    snapshot.close().unwrap();
    // It is there after a power cut, and after a clean end.
    let again = open(&disk.crash(Tear::LoseAll), 2).unwrap();
    assert_eq!(shown(&again, number), before);
    assert!(info(&again, number).created_micros > 0);
    db.close().unwrap();
    let again = open(&disk.crash(Tear::LoseAll), 3).unwrap();
    assert_eq!(shown(&again, number), before);
}

#[test]
fn what_it_takes_is_what_has_changed_and_comes_back() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    fill(&db, 0);
    let first = db.take_snapshot().unwrap();
    assert_eq!(info(&db, first).held_bytes, 0, "nothing is copied");
    put(&db, b"\0\0\0\x07", "one row");
    db.checkpoint().unwrap();
    let (one, used) = (info(&db, first).held_bytes, db.store().base().root().stats().used_pages * 8192);
    assert!(one > 0 && one < used / 2, "{one} bytes of {used} for one row");
    for round in 1..6 {
        fill(&db, round);
        db.checkpoint().unwrap();
    }
    let second = db.take_snapshot().unwrap();
    let held = info(&db, first).held_bytes;
    assert!(held > used / 2, "{held} bytes of {used} when all rows have changed");
    assert_eq!(db.stats().data_pages_held * 8192, held);
    assert_nothing_lost(&db);
    let reader = db.open_snapshot(SNAPSHOT, first).unwrap();
    db.drop_snapshot(first).unwrap();
    assert!(matches!(db.drop_snapshot(first), Err(DbError::Invalid(_))));
    fill(&db, 7);
    db.checkpoint().unwrap();
    assert_eq!(all_of(&reader).len(), 400, "who reads it reads to the end");
    drop(reader);
    db.checkpoint().unwrap();
    fill(&db, 8);
    db.checkpoint().unwrap();
    assert_eq!(db.snapshots().len(), 1);
    db.drop_snapshot(second).unwrap();
    fill(&db, 9);
    db.checkpoint().unwrap();
    assert_eq!(db.stats().data_pages_held, 0);
    assert_nothing_lost(&db);
}

#[test]
fn a_reverted_database_goes_on_from_the_snapshot() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    fill(&db, 0);
    let before = all_of(&db);
    let number = db.take_snapshot().unwrap();
    fill(&db, 1);
    put(&db, b"later", "row");
    let other = db.take_snapshot().unwrap();
    assert!(matches!(db.revert(number, &[]), Err(DbError::Role(_))), "there is another");
    put(&db, b"still", "writes");
    db.drop_snapshot(other).unwrap();
    let mut stays_open = db.begin(Isolation::ReadCommitted);
    stays_open.insert(TREE, b"open", &simple("transaction")).unwrap();
    let on_top = (TREE, b"on top".to_vec(), simple("of it"));
    db.revert(number, std::slice::from_ref(&on_top)).unwrap();
    let ended = stays_open.commit().and_then(crate::Commit::wait);
    assert!(ended.is_err(), "nobody writes any more");
    assert!(db.take_snapshot().is_err());
    let _ = db.checkpoint();
    let mut expected = before.clone();
    expected.insert((TREE.0, on_top.1), on_top.2);
    for tear in [Tear::LoseAll, Tear::KeepAll] {
        let after = disk.crash(tear);
        let db = open(&after, 2).unwrap();
        assert_eq!(all_of(&db), expected);
        assert_eq!(shown(&db, number), before, "the snapshot stays");
        put(&db, b"new", "life");
        assert_eq!(Database::generation_before(&db.store().base().root(), keel_base::Lsn(1)), 0);
        db.checkpoint().unwrap();
        let again = open(&after.crash(Tear::LoseAll), 3).unwrap();
        assert_eq!(all_of(&again).len(), 402);
        again.drop_snapshot(number).unwrap();
        fill(&again, 5);
        again.checkpoint().unwrap();
        assert_nothing_lost(&again);
        assert!(again.check().unwrap().is_clean());
    }
}

/// What may be found after a crash.
#[derive(Default)]
struct Ledger {
    /// Of the database itself: the acknowledged state, and what was in doubt.
    possible: Vec<Model>,
    /// Snapshots that were acknowledged.
    snapshots: BTreeMap<u64, Model>,
    /// Of them those that were being dropped.
    leaving: BTreeSet<u64>,
    /// What one that was being taken must show.
    coming: Option<Model>,
}

struct Worker {
    disk: Arc<SimDisk>,
    db: Arc<Database>,
    dice: SplitMix,
    ledger: Ledger,
}

impl Worker {
    fn now(&self) -> Model {
        self.ledger.possible[0].clone()
    }

    fn put(&mut self) -> Option<()> {
        let mut next = self.now();
        let mut txn = self.db.begin(Isolation::ReadCommitted);
        for _ in 0..1 + self.dice.below(8) {
            let (key, value) =
                (vec![self.dice.below(40) as u8], simple(&"y".repeat(self.dice.below(900) as usize)));
            match next.insert((TREE.0, key.clone()), value.clone()) {
                Some(_) => txn.update(TREE, &key, &value, None).ok()?,
                None => txn.insert(TREE, &key, &value).ok()?,
            }
        }
        self.ledger.possible.push(next.clone());
        txn.commit().ok()?.wait().ok()?;
        self.ledger.possible = vec![next];
        Some(())
    }

    fn step(&mut self) -> Option<()> {
        match self.dice.below(10) {
            0..4 => self.put(),
            4 => self.db.checkpoint().ok(),
            5 | 6 => {
                self.ledger.coming = Some(self.now());
                let number = self.db.take_snapshot().ok()?;
                let model = self.ledger.coming.take()?;
                self.ledger.snapshots.insert(number, model);
                Some(())
            }
            7 => {
                let Some(number) = self.ledger.snapshots.keys().next().copied() else { return Some(()) };
                self.ledger.leaving.insert(number);
                self.db.drop_snapshot(number).ok()?;
                self.ledger.snapshots.remove(&number);
                Some(())
            }
            8 if self.ledger.snapshots.len() == 1 => {
                let (number, model) = self.ledger.snapshots.iter().next().map(|(n, m)| (*n, m.clone()))?;
                self.ledger.possible.push(model.clone());
                self.db.revert(number, &[]).ok()?;
                self.ledger.possible = vec![model];
                self.reopen()
            }
            _ => {
                self.db.close().ok()?;
                self.reopen()
            }
        }
    }

    fn reopen(&mut self) -> Option<()> {
        self.db = open(&self.disk, self.dice.next()).ok()?;
        Some(())
    }
}

fn work(disk: &Arc<SimDisk>, seed: u64, steps: usize) -> Option<Ledger> {
    let db = create(disk, seed).ok()?;
    let ledger = Ledger { possible: vec![Model::new()], ..Ledger::default() };
    let mut worker = Worker { disk: Arc::clone(disk), db, dice: SplitMix(seed), ledger };
    for _ in 0..steps {
        if worker.step().is_none() {
            break;
        }
    }
    Some(worker.ledger)
}

fn check(disk: &Arc<SimDisk>, ledger: &Ledger, what: &str) {
    for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(1), Tear::Random(2)] {
        let after = disk.crash(tear);
        let db = open(&after, 900).unwrap_or_else(|error| panic!("{what} {tear:?}: {error}"));
        let found = all_of(&db);
        assert!(ledger.possible.contains(&found), "{what} {tear:?}: an impossible state");
        let there = db.snapshots();
        for number in ledger.snapshots.keys().filter(|number| !ledger.leaving.contains(number)) {
            assert!(there.iter().any(|s| s.number == *number), "{what} {tear:?}: a snapshot is lost");
        }
        let expected = |s: &SnapshotInfo| {
            assert_eq!(s.damaged, None, "{what} {tear:?}");
            let known = ledger.snapshots.get(&s.number).or(ledger.coming.as_ref());
            known.unwrap_or_else(|| panic!("{what} {tear:?}: a snapshot nobody took")).clone()
        };
        let expected: Vec<(u64, Model)> = there.iter().map(|s| (s.number, expected(s))).collect();
        fill(&db, 3);
        db.checkpoint().unwrap();
        fill(&db, 4);
        db.close().unwrap();
        let db = open(&after.crash(Tear::LoseAll), 901).unwrap();
        for (number, model) in &expected {
            assert_eq!(shown(&db, *number), *model, "{what} {tear:?}");
            assert!(db.open_snapshot(SNAPSHOT, *number).unwrap().check().unwrap().is_clean());
        }
        expected.iter().for_each(|(number, _)| db.drop_snapshot(*number).unwrap());
        fill(&db, 5);
        db.checkpoint().unwrap();
        assert!(db.check().unwrap().is_clean(), "{what} {tear:?}");
        assert_nothing_lost(&db);
    }
}

#[test]
fn whatever_is_done_snapshots_stay_as_they_were() {
    for seed in 0..40 {
        let disk = SimDisk::new();
        let ledger = work(&disk, seed, 60).unwrap();
        check(&disk, &ledger, &format!("seed {seed}"));
    }
}

#[test]
fn the_nth_failure_leaves_whole_snapshots() {
    for seed in [3, 11] {
        for n in 1.. {
            let disk = SimDisk::new();
            disk.fail_nth(n);
            let ledger = work(&disk, seed, 14);
            let passed = disk.fault_pending();
            disk.heal();
            if let Some(ledger) = ledger {
                check(&disk, &ledger, &format!("seed {seed} failure {n}"));
            }
            if passed {
                break;
            }
        }
    }
}

#[test]
fn a_power_cut_at_any_operation_leaves_whole_snapshots() {
    for seed in [103, 111] {
        for n in 1.. {
            let disk = SimDisk::new();
            disk.cut_power_at(n);
            if let Some(ledger) = work(&disk, seed, 14) {
                check(&disk, &ledger, &format!("seed {seed} cut {n}"));
            }
            if disk.counts().operations < n {
                break;
            }
        }
    }
}

#[test]
fn a_damaged_record_costs_the_snapshot_and_nothing_else() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    fill(&db, 0);
    let number = db.take_snapshot().unwrap();
    fill(&db, 1);
    db.close().unwrap();
    let record = disk.list(Path::new(DIR)).unwrap();
    let record = record.iter().find(|path| path.to_string_lossy().contains("snapshot-")).unwrap();
    disk.flip(record, 100, 4);
    let db = open(&disk, 2).unwrap();
    assert!(info(&db, number).damaged.is_some());
    assert!(matches!(db.open_snapshot(SNAPSHOT, number), Err(DbError::Corrupt(_))));
    assert!(matches!(db.revert(number, &[]), Err(DbError::Corrupt(_))));
    fill(&db, 2);
    db.drop_snapshot(number).unwrap();
    assert_eq!(db.snapshots(), []);
    assert_eq!(open(&disk.crash(Tear::LoseAll), 3).unwrap().snapshots(), []);
}

#[test]
fn snapshots_of_both_copies_outlive_a_failover_and_a_cut() {
    let (primary, secondary, disk) = pair(2);
    let first = primary.take_snapshot().unwrap();
    let end = send(&primary, &secondary, 1);
    secondary.apply_up_to(end).unwrap();
    assert!(secondary.wait_applied(end, Duration::from_secs(60)));
    let seen = all_of(&secondary);
    let here = secondary.take_snapshot().unwrap();
    assert!(matches!(secondary.revert(here, &[]), Err(DbError::Role(_))), "not in a group");
    // What is not agreed on is in no snapshot, so that it can be cut off.
    let _ = primary.set_waiting(true).unwrap();
    let lost = write(&primary, b"lost", "soon");
    primary.log().unwrap().flush().unwrap();
    let before = all_of(&primary);
    let not_agreed = primary.take_snapshot().unwrap();
    assert_eq!(shown(&primary, not_agreed), before);
    assert!(!before.contains_key(&(TREE.0, b"lost".to_vec())));
    primary.promise(Epoch(2)).unwrap();
    assert!(lost.wait().is_err());
    let begins = secondary.promote(Epoch(2)).unwrap();
    secondary.advance_agreed(begins);
    let term = secondary.set_waiting(false).unwrap();
    assert!(term >= end);
    write(&secondary, b"won", "2").wait().unwrap();
    primary.demote().unwrap();
    primary.cut(end).unwrap();
    let now = send(&secondary, &primary, 2);
    primary.apply_up_to(now).unwrap();
    assert!(primary.wait_applied(now, Duration::from_secs(60)));
    assert_eq!(all_of(&primary), all_of(&secondary));
    assert_eq!(primary.role(), Role::Secondary);
    for (db, number) in [(&primary, first), (&primary, not_agreed), (&secondary, here)] {
        db.checkpoint().unwrap();
        assert_eq!(shown(db, number), seen);
    }
    let again = open(&disk.crash(Tear::LoseAll), 9).unwrap();
    assert_eq!(shown(&again, here), seen);
}

#[test]
fn a_scan_ends_when_the_snapshot_from_before_is_dropped() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    db.instance().set_secrets(Arc::new(|_| Some(b"secret".to_vec())));
    fill(&db, 0);
    let before = all_of(&db);
    let plain = db.take_snapshot().unwrap();
    let random = Arc::clone(&db.instance().env().random);
    db.change_keys::<crate::TxnError>(|ring| {
        ring.add(Algorithm::Aes256, b"thumbprint", b"secret", &*random);
        ring.on = true;
        Ok(())
    })
    .unwrap();
    let state = || db.encryption().map(|e| e.state);
    let rewritten =
        || !db.store().base().is_pinned_before(0) && db.encryption().is_some_and(|e| e.percent >= 100.0);
    while !rewritten() {
        std::thread::yield_now();
    }
    assert_eq!(state(), Some(EncryptionState::Encrypting), "plain pages are kept");
    assert_eq!(shown(&db, plain), before);
    let sealed = db.take_snapshot().unwrap();
    fill(&db, 1);
    db.drop_snapshot(plain).unwrap();
    while state() != Some(EncryptionState::Encrypted) {
        std::thread::yield_now();
    }
    assert_eq!(shown(&db, sealed), before);
    assert!(db.open_snapshot(SNAPSHOT, sealed).unwrap().is_encrypted());
    db.close().unwrap();
    assert!(matches!(open(&disk, 2), Err(DbError::Locked(_))));
    let instance = instance(&disk, 3);
    instance.set_secrets(Arc::new(|_| Some(b"secret".to_vec())));
    let db = Database::open(&instance, DatabaseId(5), Path::new(DIR), &db_options(), &mut |_| ()).unwrap();
    assert_eq!(shown(&db, sealed), before);
}
