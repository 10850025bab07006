//! Crash at any operation: exactly the acknowledged commits survive, and perhaps some that were in doubt.

use super::*;
use crate::{Commit, LogReuseWait, control};
use keel_base::env::Disk;
use keel_base::env::sim::{SplitMix, Tear};
use keel_store::row::PatchBuilder;
use keel_store::row::patch::diff;

const TREES: [TreeId; 2] = [TreeId(10), TreeId(11)];

/// Every state that a prefix of the appended commits leads to, and how many of them are acknowledged.
struct Ledger {
    states: Vec<Model>,
    acknowledged: usize,
}

struct Worker {
    db: Arc<Database>,
    dice: SplitMix,
    ledger: Ledger,
    waiting: Vec<(usize, Commit)>,
}

impl Worker {
    /// One transaction; `None` when something failed, as it may on this disk.
    fn step(&mut self) -> Option<()> {
        let mut model = self.ledger.states.last().unwrap().clone();
        let mut txn = self.db.begin(Isolation::ReadCommitted);
        let long = self.dice.below(5) == 0;
        for _ in 0..if long { 40 } else { self.dice.below(6) } {
            let before = model.clone();
            let mark = txn.savepoint();
            for _ in 0..self.dice.below(4) {
                change(&mut txn, &mut self.dice, &mut model).ok()?;
            }
            if self.dice.below(5) == 0 {
                txn.rollback_to(mark).ok()?;
                model = before;
            } else {
                txn.release(mark);
            }
        }
        if self.dice.below(6) == 0 {
            txn.rollback();
            return Some(());
        }
        let writes = txn.has_writes();
        let commit = txn.commit().ok()?;
        if writes {
            self.ledger.states.push(model);
        }
        self.waiting.push((self.ledger.states.len() - 1, commit));
        if self.dice.coin() {
            for (state, commit) in self.waiting.drain(..) {
                commit.wait().ok()?;
                self.ledger.acknowledged = self.ledger.acknowledged.max(state);
            }
        }
        if self.dice.below(4) == 0 {
            self.db.checkpoint().ok()?;
        }
        Some(())
    }
}

fn change(txn: &mut Transaction, dice: &mut SplitMix, model: &mut Model) -> Result<(), crate::TxnError> {
    let tree = TREES[dice.below(2) as usize];
    let key = vec![dice.below(8) as u8; 1 + dice.below(2) as usize];
    let part = [dice.next() as u8; 30];
    let old = txn.get_latest(tree, &key)?;
    let expected = model.get(&(tree.0, key.clone()));
    assert_eq!(old.as_deref(), expected.map(Vec::as_slice), "a transaction sees what it wrote");
    match old {
        None => {
            let new = row([&part[..dice.below(30) as usize], b"b", b"c"]);
            txn.insert(tree, &key, &new)?;
            model.insert((tree.0, key), new);
        }
        Some(_) if dice.below(3) == 0 => {
            txn.delete(tree, &key)?;
            model.remove(&(tree.0, key));
        }
        Some(old) => {
            let mut columns = [0, 1, 2].map(|i| keel_store::row::column(&old, i).unwrap().to_vec());
            columns[dice.below(3) as usize] = part[..dice.below(30) as usize].to_vec();
            let new = row([&columns[0], &columns[1], &columns[2]]);
            let mut builder = PatchBuilder::new();
            let patch = diff(&old, &new, &mut builder);
            txn.update(tree, &key, &new, dice.coin().then_some(patch))?;
            model.insert((tree.0, key), new);
        }
    }
    Ok(())
}

fn work(disk: &Arc<SimDisk>, seed: u64, steps: usize) -> Ledger {
    let ledger = Ledger { states: vec![Model::new()], acknowledged: 0 };
    let Ok(db) = create(disk, seed) else { return ledger };
    let mut worker = Worker { db, dice: SplitMix(seed), ledger, waiting: Vec::new() };
    for _ in 0..steps {
        if worker.step().is_none() {
            break;
        }
    }
    worker.ledger
}

fn check(disk: &Arc<SimDisk>, ledger: &Ledger, what: &str) {
    for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(1), Tear::Random(2)] {
        let after = disk.crash(tear);
        let db = match open(&after, 900) {
            Ok(db) => db,
            Err(error) => {
                assert_eq!(ledger.acknowledged, 0, "{what} {tear:?}: {error}");
                // Half-made: making it again must work.
                if matches!(error, DbError::Invalid(_)) {
                    create(&after, 901).unwrap();
                }
                continue;
            }
        };
        let found = everything(&mut db.begin(Isolation::ReadCommitted), &TREES);
        let possible = &ledger.states[ledger.acknowledged..];
        assert!(possible.contains(&found), "{what} {tear:?}: an impossible state");
        db.positions().assert_ordered();
        // It goes on, survives a crash again, and a clean end.
        put(&db, b"after", "crash");
        let mut expected = found;
        expected.insert((TREE.0, b"after".to_vec()), simple("crash"));
        let again = open(&after.crash(Tear::LoseAll), 902).unwrap();
        assert_eq!(everything(&mut again.begin(Isolation::Snapshot), &TREES), expected, "{what} {tear:?}");
        db.close().unwrap();
        let closed = open(&after.crash(Tear::LoseAll), 903).unwrap();
        assert_eq!(
            everything(&mut closed.begin(Isolation::Serializable), &TREES),
            expected,
            "{what} {tear:?}"
        );
    }
}

#[test]
fn without_faults_a_restart_finds_everything() {
    for seed in 0..20 {
        let disk = SimDisk::new();
        let ledger = work(&disk, seed, 60);
        assert!(ledger.states.len() > 20);
        check(&disk, &ledger, &format!("seed {seed}"));
    }
}

#[test]
fn the_nth_failure_loses_nothing_acknowledged() {
    for seed in 0..2 {
        for n in (1..).step_by(1 + seed as usize) {
            let disk = SimDisk::new();
            disk.fail_nth(n);
            let ledger = work(&disk, seed, 14);
            let passed = disk.fault_pending();
            disk.heal();
            check(&disk, &ledger, &format!("seed {seed} failure {n}"));
            if passed {
                break;
            }
        }
    }
}

#[test]
fn a_power_cut_at_any_operation_loses_nothing_acknowledged() {
    for seed in 100..102 {
        for n in 1.. {
            let disk = SimDisk::new();
            disk.cut_power_at(n);
            let ledger = work(&disk, seed, 14);
            check(&disk, &ledger, &format!("seed {seed} cut {n}"));
            if disk.counts().operations < n {
                break;
            }
        }
    }
}

#[test]
fn a_power_cut_during_recovery_loses_nothing() {
    let disk = SimDisk::new();
    let ledger = work(&disk, 7, 40);
    for n in 1.. {
        let during = disk.crash(Tear::Random(9));
        during.cut_power_at(n);
        let opened = open(&during, 5);
        if let Ok(db) = &opened {
            let _ = db.close();
        }
        let done = during.counts().operations < n;
        let after = open(&during.crash(Tear::Random(n)), 6).unwrap();
        let found = everything(&mut after.begin(Isolation::ReadCommitted), &TREES);
        assert!(ledger.states[ledger.acknowledged..].contains(&found), "cut {n}");
        if done {
            break;
        }
    }
}

#[test]
fn a_checkpoint_gives_log_back_and_shortens_recovery() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    let big = "x".repeat(9000);
    for n in 0..100u8 {
        put(&db, &[n], &big);
    }
    assert_eq!(db.log_reuse_wait(), LogReuseWait::Checkpoint);
    let used = db.stats().log_used_bytes;
    db.checkpoint().unwrap();
    assert_eq!(db.log_reuse_wait(), LogReuseWait::Nothing);
    assert!(db.stats().log_used_bytes < used / 4);
    let mut replayed = 0;
    let again = Database::open(
        &instance(&disk.crash(Tear::LoseAll), 2),
        DatabaseId(5),
        Path::new(DIR),
        &db_options(),
        &mut |p| replayed = p.done_bytes,
    )
    .unwrap();
    assert_eq!(replayed, 0);
    assert_eq!(everything(&mut again.begin(Isolation::ReadCommitted), &[TREE]).len(), 100);
}

#[test]
fn the_full_recovery_model_keeps_log_until_it_is_backed_up() {
    let db = fresh();
    db.set_backed_up(keel_base::Lsn::ZERO);
    for n in 0..40u8 {
        put(&db, &[n], &"y".repeat(9000));
    }
    db.checkpoint().unwrap();
    assert_eq!(db.log_reuse_wait(), LogReuseWait::LogBackup);
    assert_eq!(db.positions().truncated, keel_base::Lsn::ZERO);
    db.set_backed_up(db.hardened());
    assert!(db.positions().truncated > keel_base::Lsn::ZERO);
}

#[test]
fn a_stream_that_is_open_at_a_checkpoint_survives_it() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    put(&db, b"small", "before");
    let mut long = db.begin(Isolation::ReadCommitted);
    for n in 0..50u8 {
        long.insert(TREE, &[n], &simple("long")).unwrap();
    }
    put(&db, b"other", "between");
    db.checkpoint().unwrap();
    assert_eq!(db.log_reuse_wait(), LogReuseWait::ActiveTransaction);
    for n in 50..60u8 {
        long.insert(TREE, &[n], &simple("long")).unwrap();
    }
    let undecided = open(&disk.crash(Tear::KeepAll), 2).unwrap();
    assert_eq!(everything(&mut undecided.begin(Isolation::ReadCommitted), &[TREE]).len(), 2);
    long.commit().unwrap().wait().unwrap();
    let decided = open(&disk.crash(Tear::LoseAll), 3).unwrap();
    assert_eq!(everything(&mut decided.begin(Isolation::ReadCommitted), &[TREE]).len(), 62);
    db.checkpoint().unwrap();
    assert_eq!(db.log_reuse_wait(), LogReuseWait::Nothing);
    let merged = open(&disk.crash(Tear::LoseAll), 4).unwrap();
    assert_eq!(everything(&mut merged.begin(Isolation::ReadCommitted), &[TREE]).len(), 62);
}

#[test]
fn a_dropped_tree_stays_dropped() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    put(&db, b"k", "v");
    db.checkpoint().unwrap();
    put(&db, b"l", "w");
    let mut undone = db.begin(Isolation::ReadCommitted);
    undone.drop_tree(TREE).unwrap();
    undone.rollback();
    assert_eq!(everything(&mut db.begin(Isolation::ReadCommitted), &[TREE]).len(), 2);
    let mut txn = db.begin(Isolation::ReadCommitted);
    txn.drop_tree(TREE).unwrap();
    txn.insert(TREES[1], b"new", &simple("n")).unwrap();
    txn.commit().unwrap().wait().unwrap();
    for checkpoint in [false, true] {
        if checkpoint {
            db.checkpoint().unwrap();
        }
        let again = open(&disk.crash(Tear::LoseAll), 2).unwrap();
        again.checkpoint().unwrap();
        let found = everything(&mut again.begin(Isolation::ReadCommitted), &TREES);
        assert_eq!(found.len(), 1, "after checkpoint: {checkpoint}");
    }
}

#[test]
fn tempdb_is_empty_after_a_restart() {
    let disk = SimDisk::new();
    let volatile = DbOptions { durability: Durability::Volatile, ..DbOptions::default() };
    let instance = instance(&disk, 1);
    let path = Path::new("data/tempdb");
    let db = Database::create(&instance, DatabaseId(2), path, &volatile).unwrap();
    put(&db, b"k", "v");
    db.checkpoint().unwrap();
    put(&db, b"l", "w");
    assert_eq!(everything(&mut db.begin(Isolation::ReadCommitted), &[TREE]).len(), 2);
    assert!(!disk.exists(&path.join("log")));
    let again = Database::open(&instance, DatabaseId(2), path, &volatile, &mut |_| ()).unwrap();
    assert!(everything(&mut again.begin(Isolation::ReadCommitted), &[TREE]).is_empty());
}

#[test]
fn any_number_of_redo_workers_recovers_the_same() {
    let disk = SimDisk::new();
    let ledger = work(&disk, 21, 80);
    for redo_workers in 1..5 {
        let options =
            InstanceOptions { redo_workers, automatic_checkpoints: false, ..InstanceOptions::default() };
        let after = disk.crash(Tear::KeepAll);
        let instance = Instance::new(env(&after, 3), options);
        let db =
            Database::open(&instance, DatabaseId(5), Path::new(DIR), &db_options(), &mut |_| ()).unwrap();
        let found = everything(&mut db.begin(Isolation::ReadCommitted), &TREES);
        assert_eq!(Some(&found), ledger.states.last(), "{redo_workers} workers");
    }
}

#[test]
fn a_full_disk_stops_writers_and_a_checkpoint_lets_them_go_on() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    for n in 0..20u8 {
        put(&db, &[n], "small");
    }
    disk.set_capacity(disk.used() + 400_000);
    let big = simple(&"x".repeat(8000));
    let mut done = 0;
    let refused = loop {
        let mut txn = db.begin(Isolation::ReadCommitted);
        let wrote = match txn.get_latest(TREE, b"big").unwrap() {
            None => txn.insert(TREE, b"big", &big),
            Some(_) => txn.update(TREE, b"big", &big, None),
        };
        match wrote.and_then(|()| txn.commit()).and_then(Commit::wait) {
            Ok(()) => done += 1,
            Err(error) => break error,
        }
        assert!(done < 10_000, "the disk never fills");
    };
    assert!(matches!(refused, crate::TxnError::LogFull(_)), "{refused}");
    let rows = everything(&mut db.begin(Isolation::ReadCommitted), &[TREE]);
    assert_eq!(rows.len(), 21);
    db.checkpoint().unwrap();
    put(&db, b"again", "works");
    let again = open(&disk.crash(Tear::LoseAll), 2).unwrap();
    assert_eq!(everything(&mut again.begin(Isolation::ReadCommitted), &[TREE]).len(), 22);
}

#[test]
fn a_flipped_byte_in_any_file_is_an_error_or_harmless() {
    let disk = SimDisk::new();
    let ledger = work(&disk, 31, 30);
    let expected = ledger.states.last().unwrap();
    let whole = disk.crash(Tear::KeepAll);
    open(&whole, 1).unwrap().close().unwrap();
    for path in files(&whole) {
        let len = whole.contents(&path).unwrap().len() as u64;
        for at in (0..len).step_by(usize::try_from(len / 150 + 1).unwrap()) {
            let bad = whole.crash(Tear::KeepAll);
            bad.flip(&path, at, 0x20);
            let Ok(db) = open(&bad, 2) else { continue };
            let mut txn = db.begin(Isolation::ReadCommitted);
            let view = txn.statement_snapshot();
            let mut found = Model::new();
            let mut failed = false;
            for tree in TREES {
                let mut cursor =
                    txn.scan(&view, tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward).unwrap();
                loop {
                    match cursor.next() {
                        Ok(Some((key, row))) => found.insert((tree.0, key.to_vec()), row.to_vec()),
                        Ok(None) => break,
                        Err(_) => {
                            failed = true;
                            break;
                        }
                    };
                }
            }
            assert!(failed || found == *expected, "{} at {at}: wrong rows without an error", path.display());
        }
    }
}

fn files(disk: &Arc<SimDisk>) -> Vec<std::path::PathBuf> {
    let dir = Path::new(DIR);
    let mut files = disk.list(&dir.join("log")).unwrap();
    files.extend([dir.join("data.keel"), dir.join("control.keel")]);
    files
}

/// Threads that each count in a row of their own and all in one hot row; a power cut in the middle of it. What is found
/// must be a prefix: the hot row counts exactly the transactions whose own rows are there.
#[test]
fn a_power_cut_under_concurrent_commits_leaves_a_prefix() {
    for seed in 0..12u64 {
        let disk = SimDisk::new();
        let db = create(&disk, seed).unwrap();
        put(&db, b"hot", "0");
        for worker in 0..4u8 {
            put(&db, &[worker], "0");
        }
        disk.cut_power_at(20 + seed * 17);
        let acknowledged: Vec<(u64, u64)> = std::thread::scope(|scope| {
            let db = &db;
            let workers: Vec<_> =
                (0..4u8).map(|worker| scope.spawn(move || count_until_cut(db, worker))).collect();
            workers.into_iter().map(|w| w.join().unwrap()).collect()
        });
        for tear in [Tear::LoseAll, Tear::KeepAll, Tear::Random(seed)] {
            let after = open(&disk.crash(tear), 50).unwrap();
            let rows = everything(&mut after.begin(Isolation::ReadCommitted), &[TREE]);
            let number = |key: &[u8]| value_of(&rows[&(TREE.0, key.to_vec())]).parse::<u64>().unwrap();
            let sum: u64 = (0..4u8).map(|worker| number(&[worker])).sum();
            assert_eq!(number(b"hot"), sum, "seed {seed} {tear:?}");
            for (worker, (least, most)) in acknowledged.iter().enumerate() {
                let found = number(&[worker as u8]);
                assert!(
                    (*least..=*most).contains(&found),
                    "seed {seed} {tear:?}: {found} of {least}..{most}"
                );
            }
        }
    }
}

/// Counts until something fails; returns what was acknowledged and what was appended.
fn count_until_cut(db: &Arc<Database>, worker: u8) -> (u64, u64) {
    let (mut acknowledged, mut appended) = (0, 0);
    loop {
        let mut txn = db.begin(Isolation::ReadCommitted);
        let mut increment = |key: &[u8]| -> Result<(), crate::TxnError> {
            txn.lock_row(TREE, key, crate::LockMode::Exclusive)?;
            let old: u64 = value_of(&txn.get_latest(TREE, key)?.unwrap()).parse().unwrap();
            txn.update(TREE, key, &simple(&(old + 1).to_string()), None)
        };
        if increment(&[worker]).and_then(|()| increment(b"hot")).is_err() {
            return (acknowledged, appended);
        }
        let Ok(commit) = txn.commit() else { return (acknowledged, appended) };
        appended += 1;
        if commit.wait().is_err() {
            return (acknowledged, appended);
        }
        acknowledged = appended;
    }
}

#[test]
fn a_check_finds_what_is_flipped_while_the_database_is_open() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    for n in 0..200u8 {
        put(&db, &[n], &"v".repeat(100));
    }
    db.checkpoint().unwrap();
    put(&db, b"later", "in the log");
    let clean = db.check().unwrap();
    assert!(clean.is_clean(), "{clean:?}");
    assert_eq!((clean.base.rows, clean.log_groups), (200, 1));
    let path = Path::new(DIR).join("data.keel");
    let len = disk.contents(&path).unwrap().len() as u64;
    let mut noticed = 0;
    for at in (0..len).step_by(2048) {
        disk.flip(&path, at, 1);
        noticed += usize::from(!db.check().map_or(true, |found| found.is_clean()));
        disk.flip(&path, at, 1);
    }
    assert!(noticed > 0);
    let log = disk.list(&Path::new(DIR).join("log")).unwrap().pop().unwrap();
    let bytes = disk.contents(&log).unwrap();
    let at = bytes.windows(10).position(|w| w == b"in the log").unwrap();
    disk.flip(&log, at as u64, 1);
    assert!(!db.check().unwrap().is_clean());
}

#[test]
fn creating_and_removing_leaves_strange_files_alone() {
    let disk = SimDisk::new();
    let strange = Path::new(DIR).join("precious.txt");
    disk.open(&strange, keel_base::env::OpenMode::Create).unwrap().write_at(b"mine", 0).unwrap();
    let db = create(&disk, 1).unwrap();
    put(&db, b"k", "v");
    db.close().unwrap();
    Database::remove(db.instance(), Path::new(DIR)).unwrap();
    assert_eq!(disk.contents(&strange).unwrap(), b"mine");
    assert_eq!(disk.list(Path::new(DIR)).unwrap(), [strange]);
    create(&disk, 2).unwrap();
}

#[test]
fn a_database_that_was_half_made_is_none_and_can_be_made_again() {
    let control = control::path(Path::new(DIR));
    for seed in 0..16 {
        for cut_at in 1.. {
            let disk = SimDisk::new();
            disk.cut_power_at(cut_at);
            let made = create(&disk, 1).is_ok();
            let found = disk.crash(Tear::Random(seed));
            match found.exists(&control) {
                true => drop(open(&found, 2).unwrap()),
                false => drop(create(&found, 2).unwrap()),
            }
            if made {
                break;
            }
        }
    }
}

#[test]
fn a_database_that_was_removed_does_not_come_back_and_half_of_one_is_none() {
    for seed in 0..4 {
        for cut_at in 1.. {
            let disk = SimDisk::new();
            let db = create(&disk, 1).unwrap();
            put(&db, b"k", "v");
            db.close().unwrap();
            let instance = Arc::clone(db.instance());
            drop(db);
            disk.cut_power_at(cut_at);
            let removed = Database::remove(&instance, Path::new(DIR)).is_ok();
            let found = disk.crash(Tear::Random(seed));
            if found.exists(&control::path(Path::new(DIR))) {
                assert!(!removed, "cut at {cut_at}, seed {seed}: it is back");
                open(&found, 2).unwrap();
            }
            if removed {
                assert!(!found.exists(Path::new(DIR)), "seed {seed}: files are left");
                break;
            }
        }
    }
}

#[test]
fn a_checkpoints_pages_are_counted_as_they_are_written() {
    // Of the checkpoints that fail at their n-th operation, the later ones have written pages.
    let counted = (1..).map_while(|n| {
        let disk = SimDisk::new();
        let db = create(&disk, 1).unwrap();
        (0..50_u32).for_each(|key| put(&db, &key.to_be_bytes(), "value"));
        disk.fail_nth(n);
        let failed = db.checkpoint().is_err();
        disk.heal();
        failed.then(|| (db.stats().checkpoints, db.stats().checkpoint_pages))
    });
    let counted: Vec<(u64, u64)> = counted.collect();
    assert!(counted.iter().any(|(whole, pages)| *whole == 0 && *pages > 0), "{counted:?}");
}
