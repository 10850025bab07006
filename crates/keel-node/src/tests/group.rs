//! Two and three copies of a database, fed by hand: roles, the commit gate, redo under readers, cuts, holders of log.

use super::*;
use crate::{Commit, LogReuseWait, Role, SeedInfo, SeedSink, SeedSource, TxnError};
use keel_base::env::sim::{SplitMix, Tear};
use keel_base::{Epoch, Lsn};
use std::time::Duration;

mod behind;
mod delayed;
mod held;
mod prepared;
mod resumed;

const LONG: Duration = Duration::from_secs(60);
const TREES: [TreeId; 2] = [TreeId(10), TreeId(11)];

fn threaded(disk: &Arc<SimDisk>, seed: u64, redo_workers: usize) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: 64 << 20,
        stream_bytes: 600,
        automatic_checkpoints: false,
        redo_workers,
        ..InstanceOptions::default()
    };
    Instance::new(env(disk, seed), options)
}

fn reopen(disk: &Arc<SimDisk>, seed: u64) -> Arc<Database> {
    let instance = threaded(disk, seed, seed as usize % 3);
    Database::open(&instance, DatabaseId(5), Path::new(DIR), &db_options(), &mut |_| ()).unwrap()
}

/// A primary and a copy of it, both in a group in epoch 1; the copy began from the same files.
pub(super) fn pair(redo_workers: usize) -> (Arc<Database>, Arc<Database>, Arc<SimDisk>) {
    let disk = SimDisk::new();
    let primary = create(&disk, 1).unwrap();
    put(&primary, b"first", "row");
    primary.enter_group(Epoch(1)).unwrap();
    let copy = disk.crash(Tear::KeepAll);
    let instance = threaded(&copy, 2, redo_workers);
    let secondary =
        Database::open(&instance, DatabaseId(5), Path::new(DIR), &db_options(), &mut |_| ()).unwrap();
    assert_eq!(secondary.role(), Role::Resolving);
    secondary.demote().unwrap();
    let start = secondary.hardened();
    secondary.apply_up_to(start).unwrap();
    assert!(secondary.wait_applied(start, LONG));
    (primary, secondary, copy)
}

/// Sends `to` what it lacks of `from`'s hardened log, in the session of `epoch`; hardens it.
pub(super) fn send(from: &Database, to: &Database, epoch: u64) -> Lsn {
    let log = from.log().unwrap();
    let at = to.log().unwrap().appended();
    assert_eq!(
        log.checksum_before(at).unwrap(),
        Some(to.log().unwrap().last_checksum()),
        "the logs have parted"
    );
    let mut scanner = log.scan(at).unwrap();
    while let Some(block) = scanner.next().unwrap() {
        to.receive(Epoch(epoch), block.bytes).unwrap();
    }
    to.harden().unwrap()
}

fn all_of(db: &Arc<Database>) -> Model {
    everything(&mut db.begin(Isolation::ReadCommitted), &TREES)
}

pub(super) fn write(db: &Arc<Database>, key: &[u8], value: &str) -> Commit {
    let mut txn = db.begin(Isolation::ReadCommitted);
    if txn.get_latest(TREE, key).unwrap().is_some() {
        txn.update(TREE, key, &simple(value), None).unwrap();
    } else {
        txn.insert(TREE, key, &simple(value)).unwrap();
    }
    txn.commit().unwrap()
}

#[test]
fn a_secondary_shows_what_was_agreed_and_no_more() {
    let (primary, secondary, _) = pair(2);
    let first = write(&primary, b"a", "1");
    let agreed = first.lsn();
    first.wait().unwrap();
    write(&primary, b"b", "2").wait().unwrap();
    let end = send(&primary, &secondary, 1);
    assert_eq!(secondary.positions().hardened, end);
    assert_eq!(all_of(&secondary).len(), 1, "received is not applied");
    secondary.apply_up_to(agreed).unwrap();
    assert!(secondary.wait_applied(agreed, LONG));
    assert!(!secondary.wait_applied(end, Duration::ZERO));
    assert_eq!(all_of(&secondary).len(), 2);
    let mut old = secondary.begin(Isolation::Snapshot);
    let view = old.statement_snapshot();
    secondary.apply_up_to(end).unwrap();
    assert!(secondary.wait_applied(end, LONG));
    assert_eq!(all_of(&secondary), all_of(&primary));
    assert!(old.get(&view, TREE, b"b").unwrap().is_none());
    let mut txn = secondary.begin(Isolation::Serializable);
    assert!(matches!(txn.insert(TREE, b"c", &simple("3")), Err(TxnError::RoleChanged(_))));
    assert!(txn.get(&txn_view(&secondary), TREE, b"a").unwrap().is_some());
}

fn txn_view(db: &Arc<Database>) -> crate::ReadView {
    db.begin(Isolation::Snapshot).statement_snapshot()
}

#[test]
fn a_commit_waits_for_the_others_and_is_not_seen_before() {
    let (primary, _, _) = pair(0);
    primary.set_waiting(true).unwrap();
    let before = all_of(&primary);
    let commit = write(&primary, b"k", "v");
    let lsn = commit.lsn();
    let waiter = std::thread::spawn(move || commit.wait());
    while primary.commits_waiting() == 0 || primary.hardened() < lsn {
        std::thread::yield_now();
    }
    assert_eq!(all_of(&primary), before);
    // A writer sees it under the lock, and waits as long.
    let mut next = primary.begin(Isolation::ReadCommitted);
    assert!(next.get_latest(TREE, b"k").unwrap().is_some());
    let next = next.commit().unwrap();
    assert_eq!(next.lsn(), lsn);
    primary.advance_agreed(Lsn(lsn.0 - 1));
    assert_eq!(primary.commits_waiting(), 1);
    primary.advance_agreed(lsn);
    waiter.join().unwrap().unwrap();
    next.wait().unwrap();
    assert_eq!(all_of(&primary).len(), before.len() + 1);
    assert_eq!(primary.agreed(), lsn);
    let doubtful = write(&primary, b"k", "w");
    let waiter = std::thread::spawn(move || doubtful.wait());
    while primary.commits_waiting() == 0 {
        std::thread::yield_now();
    }
    let mut open = primary.begin(Isolation::ReadCommitted);
    open.insert(TREE, b"open", &simple("x")).unwrap();
    primary.fence("told to");
    assert!(matches!(waiter.join().unwrap(), Err(TxnError::InDoubt(_))));
    assert!(matches!(open.commit(), Err(TxnError::RoleChanged(_))));
    assert_eq!(primary.role(), Role::Resolving);
    assert!(matches!(write_refused(&primary), TxnError::RoleChanged(_)));
    assert_eq!(primary.agreed(), lsn);
}

fn write_refused(db: &Arc<Database>) -> TxnError {
    db.begin(Isolation::ReadCommitted).insert(TREE, b"refused", &simple("x")).unwrap_err()
}

#[test]
fn roles_change_in_place_and_what_was_not_agreed_is_taken_back() {
    let (a, b, disk_b) = pair(0);
    a.set_waiting(true).unwrap();
    let agreed = write(&a, b"k", "agreed");
    let agreed_lsn = agreed.lsn();
    a.log().unwrap().flush().unwrap();
    send(&a, &b, 1);
    a.advance_agreed(agreed_lsn);
    agreed.wait().unwrap();
    // Not agreed: a later commit, a drop, and two transactions that never end.
    let lost = write(&a, b"k", "lost");
    let mut drops = a.begin(Isolation::ReadCommitted);
    drops.drop_tree(TREE).unwrap();
    let drops = drops.commit().unwrap();
    let mut idle = a.begin(Isolation::ReadCommitted);
    idle.insert(TREE, b"idle", &simple("x")).unwrap();
    let mut streaming = a.begin(Isolation::ReadCommitted);
    for n in 0..40u8 {
        streaming.insert(TREES[1], &[n], &simple("stream")).unwrap();
    }
    a.log().unwrap().flush().unwrap();
    a.fence("the others went on without it");
    assert!(matches!(lost.wait(), Err(TxnError::InDoubt(_))));
    assert!(matches!(drops.wait(), Err(TxnError::InDoubt(_))));
    // The other takes over.
    let parted = b.promote(Epoch(2)).unwrap();
    b.set_waiting(false).unwrap();
    write(&b, b"k", "new").wait().unwrap();
    write(&b, b"idle", "new").wait().unwrap();
    let end = b.log().unwrap().flush().unwrap();
    // The old one comes back as a secondary.
    a.demote().unwrap();
    a.cut(parted).unwrap();
    assert_eq!(a.positions().hardened, parted);
    assert_eq!(send(&b, &a, 2), end);
    a.apply_up_to(end).unwrap();
    assert!(a.wait_applied(end, LONG));
    assert_eq!(all_of(&a), all_of(&b));
    assert_eq!(value_of(&all_of(&a)[&(TREE.0, b"k".to_vec())]), "new");
    a.checkpoint().unwrap();
    assert!(matches!(idle.commit(), Err(TxnError::RoleChanged(_))));
    drop(streaming);
    // And takes over again.
    assert_eq!(a.promote(Epoch(3)).unwrap(), end);
    a.set_waiting(false).unwrap();
    write(&a, b"idle", "again").wait().unwrap();
    assert_eq!(a.log().unwrap().epochs().last().unwrap().0, Epoch(3));
    // Both survive a restart: the one that was cut off resolving, with what is agreed.
    let found = reopen(&disk_b.crash(Tear::LoseAll), 9);
    assert_eq!(found.role(), Role::Resolving);
    found.leave_group().unwrap();
    assert_eq!(all_of(&found), all_of(&b));
    put(&found, b"alone", "again");
}

#[test]
fn a_log_tail_that_was_never_applied_is_cut_without_touching_rows() {
    let (a, b, disk_b) = pair(0);
    a.set_waiting(true).unwrap();
    let agreed = write(&a, b"k", "agreed").lsn();
    a.log().unwrap().flush().unwrap();
    a.advance_agreed(agreed);
    let parted = a.log().unwrap().hardened();
    let tail = write(&a, b"k", "tail").lsn();
    a.log().unwrap().flush().unwrap();
    send(&a, &b, 1);
    b.apply_up_to(agreed).unwrap();
    // It is killed, and comes up knowing what the last header said.
    drop(b);
    let b = reopen(&disk_b.crash(Tear::LoseAll), 4);
    assert_eq!((b.positions().hardened, b.agreed()), (tail, agreed));
    assert_eq!(value_of(&all_of(&b)[&(TREE.0, b"k".to_vec())]), "agreed");
    b.demote().unwrap();
    b.cut(parted).unwrap();
    let again = reopen(&disk_b, 5);
    assert!(again.positions().hardened <= tail);
    assert_eq!(b.promote(Epoch(2)).unwrap(), parted);
    assert_eq!(value_of(&all_of(&b)[&(TREE.0, b"k".to_vec())]), "agreed");
}

#[test]
fn streams_that_the_old_primary_left_open_are_aborted_by_the_next() {
    let (a, b, _) = pair(0);
    let mut streaming = a.begin(Isolation::ReadCommitted);
    for n in 0..40u8 {
        streaming.insert(TREE, &[n], &simple("stream")).unwrap();
    }
    let end = a.log().unwrap().flush().unwrap();
    send(&a, &b, 1);
    b.apply_up_to(end).unwrap();
    b.checkpoint().unwrap();
    assert_eq!(b.log_reuse_wait(), LogReuseWait::ActiveTransaction);
    assert!(b.positions().redo_start < b.positions().checkpoint);
    a.demote().unwrap();
    b.promote(Epoch(2)).unwrap();
    b.set_waiting(false).unwrap();
    let end = b.log().unwrap().flush().unwrap();
    b.checkpoint().unwrap();
    assert_eq!(b.positions().redo_start, b.positions().checkpoint);
    send(&b, &a, 2);
    a.apply_up_to(end).unwrap();
    drop(streaming);
    a.checkpoint().unwrap();
    assert_eq!(all_of(&a).len(), 1);
    assert_eq!(a.positions().redo_start, a.positions().checkpoint);
}

#[test]
fn a_group_may_end_inside_an_append_whose_writer_is_gone() {
    let (a, b, disk_b) = pair(0);
    let mut large = a.begin(Isolation::ReadCommitted);
    for n in 0..30u8 {
        // Under the stream's limit each time, but together more than a block.
        large.insert(TREE, &[n], &simple(&"x".repeat(400))).unwrap();
    }
    let mut wide = a.begin(Isolation::ReadCommitted);
    wide.insert(TREES[1], b"wide", &simple(&"y".repeat(200_000))).unwrap();
    wide.commit().unwrap().wait().unwrap();
    let at = b.log().unwrap().appended();
    let mut scanner = a.log().unwrap().scan(at).unwrap();
    let mut received = at;
    while let Some(block) = scanner.next().unwrap() {
        if block.header.flags & keel_log::block::FLAG_UNFINISHED == 0 && received > at {
            break;
        }
        received = b.receive(Epoch(1), block.bytes).unwrap();
    }
    b.harden().unwrap();
    b.apply_up_to(received).unwrap();
    assert!(b.applied() < received);
    drop(b);
    let disk_b = disk_b.crash(Tear::LoseAll);
    let b = reopen(&disk_b, 3);
    assert_eq!(b.positions().hardened, received, "what was acknowledged block by block is kept");
    b.promote(Epoch(2)).unwrap();
    b.set_waiting(false).unwrap();
    write(&b, b"next", "one").wait().unwrap();
    assert_eq!(all_of(&b).len(), 2);
    a.demote().unwrap();
    a.fence("test");
    let c = reopen(&disk_b.crash(Tear::LoseAll), 6);
    c.leave_group().unwrap();
    assert_eq!(all_of(&c), all_of(&b));
    assert_eq!(c.check().unwrap().problems(), [""; 0]);
    drop(large);
}

#[test]
fn readers_of_a_secondary_see_prefixes_while_redo_runs_and_trees_go() {
    for seed in 0..4 {
        let (a, b, _) = pair(3);
        put(&a, b"sum", "0");
        let pictures = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let sink = Arc::clone(&pictures);
        b.set_catalog_hook(Some(Arc::new(move |lsn| sink.lock().push(lsn))));
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2).map(|_| scope.spawn(|| read_prefixes(&b, &stop))).collect();
            let mut dice = SplitMix(seed);
            for n in 1..=150u32 {
                // Every transaction counts in two rows, in different trees: one without the other is torn.
                let mut txn = a.begin(Isolation::ReadCommitted);
                let text = n.to_string();
                txn.lock_row(TREE, b"sum", crate::LockMode::Exclusive).unwrap();
                txn.update(TREE, b"sum", &simple(&text), None).unwrap();
                txn.put_index(TREES[1], &n.to_be_bytes(), &simple(&text)).unwrap();
                let side = TreeId(20 + n);
                txn.put_index(side, b"side", &simple(&text)).unwrap();
                if n > 3 {
                    txn.drop_tree(TreeId(20 + n - 3)).unwrap();
                }
                if n % 10 == 0 {
                    txn.put_index(crate::CATALOG_TREE, b"object", &simple(&text)).unwrap();
                }
                txn.commit().unwrap().wait().unwrap();
                if dice.below(3) == 0 {
                    let end = send(&a, &b, 1);
                    b.apply_up_to(end).unwrap();
                }
                if dice.below(20) == 0 {
                    b.checkpoint().unwrap();
                }
            }
            let end = send(&a, &b, 1);
            b.apply_up_to(end).unwrap();
            assert!(b.wait_applied(end, LONG));
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            for reader in readers {
                assert!(reader.join().unwrap() > 0);
            }
        });
        assert_eq!(all_of(&a), all_of(&b));
        let sums = |db: &Arc<Database>| db.logical_checksum(&txn_view(db)).unwrap();
        assert_eq!(sums(&a), sums(&b));
        a.checkpoint().unwrap();
        b.checkpoint().unwrap();
        assert_eq!(sums(&a), sums(&b));
        assert!(sums(&a).len() >= 5);
        assert!(!pictures.lock().is_empty());
        write(&a, b"more", "rows").wait().unwrap();
        assert_ne!(sums(&a), sums(&b));
    }
}

fn read_prefixes(db: &Arc<Database>, stop: &std::sync::atomic::AtomicBool) -> u64 {
    let mut looks = 0;
    let mut last = 0;
    while !stop.load(std::sync::atomic::Ordering::Relaxed) || looks == 0 {
        let mut txn = db.begin(Isolation::ReadCommitted);
        let view = txn.statement_snapshot();
        let sum: u32 = txn.get(&view, TREE, b"sum").unwrap().map_or(0, |row| value_of(&row).parse().unwrap());
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = txn.scan(&view, TREES[1], lower, upper, Direction::Forward).unwrap();
        let mut count = 0;
        while cursor.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(sum, count, "a torn transaction");
        assert!(sum >= last, "back in time");
        for side in sum.saturating_sub(2).max(1)..=sum {
            let row = txn.get(&view, TreeId(20 + side), b"side").unwrap();
            assert!(row.is_some(), "the tree of {side} was taken away from a reader at {sum}");
        }
        last = sum;
        looks += 1;
    }
    looks
}

#[test]
fn holders_keep_log_until_they_lag_too_far() {
    let db = fresh();
    db.enter_group(Epoch(1)).unwrap();
    let start = db.hardened();
    assert!(db.hold_log("replica", start));
    for n in 0..40u8 {
        put(&db, &[n], &"y".repeat(9000));
    }
    db.checkpoint().unwrap();
    assert_eq!(db.log_reuse_wait(), LogReuseWait::AvailabilityReplica);
    assert_eq!(db.positions().truncated, Lsn::ZERO);
    let middle = db.hardened();
    assert!(db.hold_log("replica", middle));
    let truncated = db.positions().truncated;
    assert!(truncated > start);
    db.set_log_retention(100_000);
    assert!(db.hold_log("replica", middle));
    for n in 0..40u8 {
        put(&db, &[n], &"z".repeat(9000));
    }
    db.checkpoint().unwrap();
    assert!(db.log_holders()[0].lost, "{:?}", db.log_holders());
    assert!(db.positions().truncated > middle);
    assert!(!db.hold_log("replica", db.hardened()), "a gap cannot be held");
    db.release_log("replica");
    assert!(db.hold_log("replica", db.hardened()));
    assert_eq!(db.log_reuse_wait(), LogReuseWait::Nothing);
}

/// An attempt that began anew, or beside another, must neither take the log from the other nor fail with it.
#[test]
fn each_picture_holds_log_of_its_own() {
    let db = fresh();
    db.enter_group(Epoch(1)).unwrap();
    put(&db, b"a", "1");
    let first = SeedSource::open(&db, "seed b", 1).unwrap();
    let second = SeedSource::open(&db, "seed b", 1).unwrap();
    drop(first);
    let from = second.info().log_start;
    for n in 0..80u8 {
        put(&db, &[n], &"y".repeat(9000));
    }
    db.checkpoint().unwrap();
    assert!(db.positions().redo_start > from && db.positions().truncated <= from, "{:?}", db.positions());
    drop(second);
    assert!(db.log_holders().is_empty() && db.positions().truncated > from, "{:?}", db.positions());
}

/// Random histories over a primary and a follower that crash, are cut, and change roles: at the end both hold the same.
#[test]
fn any_history_of_crashes_and_changes_of_role_ends_with_equal_copies() {
    let seeds = std::env::var("KEEL_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(16u64);
    for seed in 0..seeds {
        let mut dice = SplitMix(seed);
        let disks = [SimDisk::new(), SimDisk::new()];
        let first = create(&disks[0], 1).unwrap();
        put(&first, b"0", "0");
        first.enter_group(Epoch(1)).unwrap();
        first.set_waiting(true).unwrap();
        let mut disks = [Arc::clone(&disks[0]), disks[0].crash(Tear::KeepAll)];
        let mut dbs = [first, reopen(&disks[1], 2)];
        dbs[1].demote().unwrap();
        let (mut leader, mut epoch) = (0, 1);
        let mut sure = all_of(&dbs[0]);
        // Transactions that nobody ends for long: writers on the leader, readers anywhere.
        let mut idle: Vec<Transaction> = Vec::new();
        let mut side = 100u32;
        for step in 0..60u64 {
            let other = 1 - leader;
            match dice.below(12) {
                11 => {
                    // The agreed point is anywhere, even inside a commit; what is checkpointed then must be replayed well.
                    let end = send(&dbs[leader], &dbs[other], epoch);
                    let before = dbs[leader].agreed().0;
                    let part = Lsn(before + dice.below(end.0 - before + 1));
                    dbs[leader].advance_agreed(part);
                    dbs[other].apply_up_to(part).unwrap();
                    dbs[leader].checkpoint().unwrap();
                    sure = all_of(&dbs[leader]);
                }
                8 => {
                    let mut txn = dbs[leader].begin(Isolation::ReadCommitted);
                    for n in 0..1 + dice.below(40) {
                        let key = [200, step as u8, n as u8];
                        txn.put_index(TREES[1], &key, &simple("idle")).unwrap();
                    }
                    if dice.coin() {
                        drop(txn.commit().unwrap());
                    } else {
                        idle.push(txn);
                    }
                }
                9 => {
                    let mut txn = dbs[leader].begin(Isolation::ReadCommitted);
                    txn.put_index(TreeId(side + 1), b"side", &simple(&step.to_string())).unwrap();
                    txn.drop_tree(TreeId(side)).unwrap();
                    side += 1;
                    drop(txn.commit().unwrap());
                    dbs[leader].log().unwrap().flush().unwrap();
                }
                10 => {
                    if dice.coin() && !idle.is_empty() {
                        // Some commit late, after their database has changed its role or is gone.
                        let txn = idle.swap_remove(dice.below(idle.len() as u64) as usize);
                        let _ = txn.commit();
                    } else {
                        let mut reader = dbs[dice.below(2) as usize].begin(Isolation::Snapshot);
                        let _ = reader.statement_snapshot();
                        idle.push(reader);
                    }
                }
                0..4 => {
                    for _ in 0..dice.below(4) {
                        let key = [dice.below(12) as u8];
                        drop(write(&dbs[leader], &key, &step.to_string()));
                    }
                    dbs[leader].log().unwrap().flush().unwrap();
                }
                4 => {
                    let end = send(&dbs[leader], &dbs[other], epoch);
                    dbs[leader].advance_agreed(end);
                    dbs[other].apply_up_to(dbs[leader].agreed()).unwrap();
                    assert!(dbs[other].wait_applied(end, LONG));
                    sure = all_of(&dbs[leader]);
                    assert_eq!(all_of(&dbs[other]), sure, "seed {seed} step {step}");
                }
                5 => dbs[dice.below(2) as usize].checkpoint().unwrap(),
                6 => {
                    // The follower is killed and comes back.
                    let disk = disks[other].crash(Tear::Random(step));
                    dbs[other] = reopen(&disk, seed * 100 + step);
                    disks[other] = disk;
                    dbs[other].demote().unwrap();
                    rejoin(&dbs[leader], &dbs[other]);
                }
                _ => {
                    // Failover: the leader is fenced or killed, the follower takes over, the old one comes back.
                    if dice.coin() {
                        dbs[leader].fence("test");
                    } else {
                        let disk = disks[leader].crash(Tear::Random(step));
                        dbs[leader] = reopen(&disk, seed * 100 + step);
                        disks[leader] = disk;
                    }
                    epoch += 1;
                    dbs[other].promote(Epoch(epoch)).unwrap();
                    // What it holds; readers see it when the group has agreed.
                    let mut newest = dbs[other].begin(Isolation::ReadUncommitted);
                    let now = everything(&mut newest, &TREES);
                    drop(newest);
                    for (key, row) in &sure {
                        assert!(now.contains_key(key), "seed {seed} step {step}: {key:?} {row:?} is lost");
                    }
                    dbs[leader].demote().unwrap();
                    rejoin(&dbs[other], &dbs[leader]);
                    leader = other;
                }
            }
        }
        let other = 1 - leader;
        let end = send(&dbs[leader], &dbs[other], epoch);
        dbs[leader].advance_agreed(end);
        dbs[other].apply_up_to(end).unwrap();
        assert!(dbs[other].wait_applied(end, LONG));
        let sum = |db: &Arc<Database>| db.logical_checksum(&txn_view(db)).unwrap();
        assert_eq!(sum(&dbs[0]), sum(&dbs[1]), "seed {seed}");
        for db in &dbs {
            db.checkpoint().unwrap();
            assert_eq!(db.check().unwrap().problems(), [""; 0], "seed {seed}");
        }
        assert_eq!(sum(&dbs[0]), sum(&dbs[1]), "seed {seed}");
    }
}

/// Cuts `to` where its log parts from `from`'s: the smaller end of the newest epoch they have in common.
fn rejoin(from: &Database, to: &Database) {
    let (ours, theirs) = (from.log().unwrap(), to.log().unwrap());
    let end_in = |log: &keel_log::Log, epoch: Epoch| {
        let epochs = log.epochs();
        let next = epochs.iter().find(|later| later.0 > epoch);
        epochs.iter().any(|e| e.0 == epoch).then(|| next.map_or(log.appended(), |next| next.1))
    };
    ours.flush().unwrap();
    theirs.flush().unwrap();
    let common = theirs
        .epochs()
        .into_iter()
        .rev()
        .find_map(|(epoch, _)| Some(end_in(ours, epoch)?.min(end_in(theirs, epoch)?)));
    to.cut(common.unwrap_or(Lsn::ZERO)).unwrap();
}

#[test]
fn a_seeded_copy_catches_up_and_breaks_are_no_harm() {
    for (seed, parts) in [(1u64, 1usize), (2, 4)] {
        let mut dice = SplitMix(seed);
        let disk = SimDisk::new();
        let a = create(&disk, 1).unwrap();
        for n in 0..400u16 {
            put(&a, &n.to_be_bytes(), &"r".repeat(200 + usize::from(n % 7)));
        }
        a.enter_group(Epoch(3)).unwrap();
        let mut streaming = a.begin(Isolation::ReadCommitted);
        for n in 0..40u8 {
            streaming.insert(TREES[1], &[n], &simple("stream")).unwrap();
        }
        let source = SeedSource::open(&a, "seed b", parts).unwrap();
        let info = SeedInfo::decode(&source.info().encode()).unwrap();
        assert_eq!(&info, source.info());
        assert_eq!(info.streams() > 1, parts > 1);
        // The database goes on meanwhile.
        put(&a, b"during", "seeding");
        streaming.commit().unwrap().wait().unwrap();
        a.checkpoint().unwrap();
        let mut copy = SimDisk::new();
        let path = Path::new("copy/db9");
        let mut sink = SeedSink::create(&threaded(&copy, 5, 0), DatabaseId(9), path, &info).unwrap();
        for stream in 0..info.streams() {
            loop {
                if dice.below(5) == 0 {
                    // The target is killed; what it had taken is there.
                    copy = copy.crash(Tear::Random(seed));
                    sink = SeedSink::create(&threaded(&copy, 6, 0), DatabaseId(9), path, &info).unwrap();
                }
                // Some at a time, as they come while the disk is busy; and one that was taken before.
                let mut after = sink.position(stream).unwrap();
                let (mut chunks, mut goes_on_after) = (Vec::new(), Some(after.clone()));
                while goes_on_after.is_some() && chunks.len() <= dice.below(4) as usize {
                    let (chunk, next) = source.chunk(stream, &after, 4000).unwrap();
                    after = next.clone().unwrap_or_default();
                    (chunks, goes_on_after) = ([chunks, vec![chunk]].concat(), next);
                }
                let mut damaged = chunks.clone();
                let victim = damaged.last_mut().unwrap();
                let at = dice.below(victim.len() as u64) as usize;
                victim[at] ^= 1;
                assert!(matches!(sink.apply(&damaged), Err(DbError::Corrupt(_))));
                chunks.insert(0, chunks[0].clone());
                let last = sink.apply(&chunks).unwrap() > 0;
                assert_eq!(goes_on_after.is_none(), last);
                if last {
                    break;
                }
                assert_eq!(goes_on_after, Some(sink.position(stream).unwrap()));
            }
        }
        let b = sink.finish(&db_options()).unwrap();
        assert_eq!(b.role(), Role::Resolving);
        b.demote().unwrap();
        drop(source);
        b.checkpoint().unwrap();
        let end = send(&a, &b, 3);
        b.apply_up_to(end).unwrap();
        assert!(b.wait_applied(end, LONG) && b.is_readable());
        let sums = |db: &Arc<Database>| db.logical_checksum(&txn_view(db)).unwrap();
        assert_eq!(sums(&a), sums(&b));
        b.checkpoint().unwrap();
        b.positions().assert_ordered();
        let instance = threaded(&copy.crash(Tear::LoseAll), 7, 0);
        let again = Database::open(&instance, DatabaseId(9), path, &db_options(), &mut |_| ()).unwrap();
        again.demote().unwrap();
        again.apply_up_to(end).unwrap();
        assert_eq!(sums(&again), sums(&a));
        assert_eq!(again.control(), a.control());
    }
}

#[test]
fn a_forced_failover_takes_back_even_what_was_seen_but_nothing_merged() {
    let (a, b, _) = pair(0);
    for n in 0..30u8 {
        write(&a, &[n], "old").wait().unwrap();
    }
    let end = send(&a, &b, 1);
    b.apply_up_to(end).unwrap();
    // The primary goes on alone, acknowledges and shows it, and is lost with it.
    for n in 0..30u8 {
        write(&a, &[n % 7], "lost").wait().unwrap();
    }
    let mut idle = a.begin(Isolation::ReadCommitted);
    idle.update(TREE, &[3], &simple("never"), None).unwrap();
    let mut reader = a.begin(Isolation::Snapshot);
    let view = reader.statement_snapshot();
    let parted = b.promote(Epoch(2)).unwrap();
    b.set_waiting(false).unwrap();
    write(&b, &[3], "new").wait().unwrap();
    a.demote().unwrap();
    assert!(matches!(a.cut(parted), Err(DbError::Role(_))), "a reader would see its rows change");
    drop(view);
    drop(reader);
    a.cut(parted).unwrap();
    assert_eq!((a.positions().hardened, a.applied(), a.agreed()), (parted, parted, parted));
    let end = send(&b, &a, 2);
    a.apply_up_to(end).unwrap();
    assert!(a.wait_applied(end, LONG));
    assert_eq!(all_of(&a), all_of(&b));
    drop(idle);
    a.checkpoint().unwrap();
    assert_eq!(all_of(&a), all_of(&b));
    assert_eq!(a.floor(), end);
    assert!(matches!(a.cut(parted), Err(DbError::Role(_))), "what is merged stays");
}

/// A follower on a disk whose power goes at any operation: what it has hardened is there afterwards, and it catches up.
#[test]
fn a_power_cut_at_any_operation_of_a_secondary_is_no_harm() {
    let source = SimDisk::new();
    let a = create(&source, 1).unwrap();
    put(&a, b"0", "0");
    a.enter_group(Epoch(1)).unwrap();
    a.set_waiting(true).unwrap();
    let start = source.crash(Tear::KeepAll);
    let mut dice = SplitMix(3);
    for step in 0..40 {
        drop(write(&a, &[dice.below(9) as u8], &format!("{step}{}", "x".repeat(dice.below(3000) as usize))));
        if dice.coin() {
            let end = a.log().unwrap().flush().unwrap();
            a.advance_agreed(Lsn(end.0 - dice.below(200)));
        }
    }
    let end = a.log().unwrap().flush().unwrap();
    a.advance_agreed(end);
    let expected = all_of(&a);
    for n in 1.. {
        let disk = start.crash(Tear::KeepAll);
        disk.cut_power_at(n);
        let mut dice = SplitMix(n);
        let hardened = follow_until_cut(&a, &disk, &mut dice);
        let after = disk.crash(Tear::Random(n));
        let b = reopen(&after, 8);
        assert!(b.positions().hardened >= hardened, "cut {n}");
        b.positions().assert_ordered();
        b.demote().unwrap();
        rejoin(&a, &b);
        send(&a, &b, 1);
        b.apply_up_to(end).unwrap();
        assert!(b.wait_applied(end, LONG));
        assert_eq!(all_of(&b), expected, "cut {n}");
        b.checkpoint().unwrap();
        assert_eq!(all_of(&reopen(&after.crash(Tear::LoseAll), 9)), expected, "cut {n}");
        if disk.counts().operations < n {
            break;
        }
    }
}

/// Follows until something fails; returns what was hardened.
fn follow_until_cut(from: &Database, disk: &Arc<SimDisk>, dice: &mut SplitMix) -> Lsn {
    let instance = threaded(disk, 4, 0);
    let opened = Database::open(&instance, DatabaseId(5), Path::new(DIR), &db_options(), &mut |_| ());
    let Ok(db) = opened else { return Lsn::ZERO };
    let mut hardened = db.positions().hardened;
    let mut scanner = from.log().unwrap().scan(db.log().unwrap().appended()).unwrap();
    if db.demote().is_err() {
        return hardened;
    }
    while let Some(block) = scanner.next().unwrap() {
        let agreed = block.header.hardened;
        if db.receive(Epoch(1), block.bytes).is_err() {
            return hardened;
        }
        match dice.below(4) {
            0 => {}
            1 if db.checkpoint().is_err() => return hardened,
            _ => match db.harden() {
                Ok(lsn) => hardened = lsn,
                Err(_) => return hardened,
            },
        }
        if db.apply_up_to(agreed.min(hardened)).is_err() {
            return hardened;
        }
    }
    hardened
}

#[test]
fn a_checkpoint_that_begins_while_another_ends_does_not_want_log_that_was_given_back() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    let before = db.positions().redo_start;
    (0..20u8).for_each(|n| write(&db, &[n], "value").wait().unwrap());
    db.checkpoint().unwrap();
    let published = db.positions().redo_start;
    assert!(published > before);
    // Its root is out, and it has not come to tell of it.
    for told in [&db.redo_start, &db.checkpoint] {
        told.store(before.0, std::sync::atomic::Ordering::Release);
    }
    // Where appends ended is not known yet in a group that is new.
    db.enter_group(Epoch(1)).unwrap();
    db.set_waiting(true).unwrap();
    db.checkpoint().unwrap();
    assert!(db.positions().redo_start >= published);
}
