//! Log backups: the chain, points in time, and what does not belong to it.

use super::*;
use crate::backup::{
    BackupOptions, BackupSet, Content, Rolled, StopAt, Written, back_up, back_up_log, complete, restore,
    restore_log, sets, verify,
};
use crate::role::Role;
use keel_base::Lsn;
use keel_base::env::sim::{SimClock, Tear};
use keel_base::env::{Disk as _, Env, File, OpenMode};

const TREES: [TreeId; 2] = [TREE, TreeId(11)];
const BEGAN: u64 = 1_700_000_000_000_000_000;

fn all_of(db: &Arc<Database>) -> Model {
    everything(&mut db.begin(Isolation::ReadCommitted), &TREES)
}

/// A database, its clock, and a file with a backup of it.
struct Chain {
    clock: Arc<SimClock>,
    db: Arc<Database>,
    file: Arc<dyn File>,
    /// Where the next log backup begins.
    next: Lsn,
}

impl Chain {
    fn new() -> Chain {
        let (disk, clock) = (SimDisk::new(), SimClock::starting_at(BEGAN));
        let env = Env { clock: Arc::clone(&clock) as _, ..env(&disk, 1) };
        let options =
            InstanceOptions { stream_bytes: 600, automatic_checkpoints: false, ..Default::default() };
        let instance = Instance::new(env, options);
        let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &db_options()).unwrap();
        disk.create_dir_all(Path::new("backup")).unwrap();
        let file = disk.open(Path::new("backup/a.bak"), OpenMode::Create).unwrap();
        let mut chain = Chain { clock, db, file, next: Lsn::ZERO };
        (0..50u8).for_each(|n| put(&chain.db, &[n], "before"));
        let mut border = Lsn::ZERO;
        let mut label = |w: &Written| {
            border = w.border;
            chain.db.set_backed_up(w.border);
            Vec::new()
        };
        let options = BackupOptions { compress: true, key: None };
        back_up(&chain.db, &*chain.file, 0, options, &mut label, &mut |_, _| Ok(())).unwrap();
        chain.next = border;
        chain
    }

    /// A log backup behind what is in the file.
    fn back_up_log(&mut self) {
        let (at, first) = (self.file.len().unwrap(), self.next);
        let mut label = |w: &Written| {
            self.next = w.border;
            Vec::new()
        };
        let (to, options) = ((&*self.file, at), BackupOptions { compress: false, key: None });
        back_up_log(&self.db, to, first, options, &mut label, &mut |_, _| Ok(())).unwrap();
        self.db.set_backed_up(self.next);
    }

    /// Microseconds since 1970, now; everything after this is later.
    fn now(&self) -> i64 {
        use keel_base::env::Clock as _;
        let now = self.clock.unix_nanos() / 1000;
        self.clock.advance(std::time::Duration::from_millis(10));
        i64::try_from(now).unwrap()
    }

    fn sets(&self) -> Vec<BackupSet> {
        let sets = sets(&*self.file).unwrap().whole;
        sets.iter().for_each(|set| verify(&*self.file, set, &mut |_, _| Ok(())).unwrap());
        sets
    }

    /// The full backup, restored on a disk of its own.
    fn restored(&self, disk: &Arc<SimDisk>) -> Arc<Database> {
        let set = &self.sets()[0];
        let place = (DatabaseId(9), Path::new("data/db9"));
        let from = (&*self.file, set);
        restore(&instance(disk, 3), place, from, set.family(), &db_options(), &mut |_, _| Ok(())).unwrap()
    }

    fn roll(&self, db: &Arc<Database>, set: &BackupSet, stop: Option<i64>) -> Rolled {
        let rolled = restore_log(db, (&*self.file, set), stop.map(StopAt::Time), &mut |_, _| Ok(())).unwrap();
        assert_eq!(db.role(), Role::Resolving);
        rolled
    }
}

/// A transaction whose records go into the log before its end does.
fn large(db: &Arc<Database>, tag: &str) -> Transaction {
    let mut txn = db.begin(Isolation::ReadCommitted);
    for n in 0..200u8 {
        txn.insert(TREES[1], &[tag.as_bytes(), &[n]].concat(), &simple(tag)).unwrap();
    }
    txn
}

#[test]
fn a_chain_of_log_backups_brings_a_copy_to_the_end() {
    let mut chain = Chain::new();
    let open = large(&chain.db, "over two backups");
    for round in 0..3u8 {
        put(&chain.db, &[200 + round], "between");
        chain.db.checkpoint().unwrap();
        chain.back_up_log();
    }
    open.commit().unwrap().wait().unwrap();
    // Larger than a block.
    put(&chain.db, b"huge", &"h".repeat(200_000));
    chain.back_up_log();
    // Nothing new.
    chain.back_up_log();
    let (sets, disk) = (chain.sets(), SimDisk::new());
    assert!(sets[1..].windows(2).all(|two| two[0].last == two[1].first()));
    let mut copy = chain.restored(&disk);
    for set in &sets[1..] {
        assert!(matches!(set.content, Content::Log(_)));
        assert_eq!(chain.roll(&copy, set, None), Rolled::All);
        assert_eq!(copy.hardened(), copy.hardened().max(set.last));
    }
    // Once more does no harm, and a restart loses nothing.
    assert_eq!(chain.roll(&copy, &sets[2], None), Rolled::All);
    drop(copy);
    let disk = disk.crash(Tear::LoseAll);
    copy =
        Database::open(&instance(&disk, 4), DatabaseId(9), Path::new("data/db9"), &db_options(), &mut |_| ())
            .unwrap();
    complete(&copy).unwrap();
    assert!(all_of(&chain.db) == all_of(&copy));
    put(&copy, b"goes", "on");
}

#[test]
fn restoring_stops_before_the_first_transaction_that_was_later() {
    let mut chain = Chain::new();
    let mut points = Vec::new();
    for n in 0..6u8 {
        put(&chain.db, &[100 + n], "a point");
        if n == 2 {
            put(&chain.db, b"huge", &"h".repeat(150_000));
        }
        if n == 4 {
            large(&chain.db, "streamed").commit().unwrap().wait().unwrap();
        }
        points.push((chain.now(), all_of(&chain.db)));
    }
    // Two in one block.
    let mut two = [b"one", b"two"].map(|key| {
        let mut txn = chain.db.begin(Isolation::ReadCommitted);
        txn.insert(TREE, key, &simple("in one block")).unwrap();
        Some(txn)
    });
    let first = two[0].take().unwrap().commit().unwrap();
    let within = chain.now();
    let second = two[1].take().unwrap().commit().unwrap();
    first.wait().unwrap();
    second.wait().unwrap();
    let mut expected = all_of(&chain.db);
    points.push((chain.now(), expected.clone()));
    expected.remove(&(TREE.0, b"two".to_vec()));
    points.push((within, expected));
    let undecided = large(&chain.db, "too late");
    put(&chain.db, &[100], "the accident");
    chain.back_up_log();
    drop(undecided);
    let log = chain.sets().remove(1);
    for (at, expected) in points {
        let copy = chain.restored(&SimDisk::new());
        assert_eq!(chain.roll(&copy, &log, Some(at)), Rolled::Stopped);
        // It is there; and within a block no part of the original's log follows.
        assert_eq!(chain.roll(&copy, &log, Some(at)), Rolled::Stopped);
        let rest = chain.roll(&copy, &log, Some(chain.now()));
        assert!(rest == Rolled::OtherPath || rest == Rolled::All && at != within, "{rest:?}");
        let copy = chain.restored(&SimDisk::new());
        assert_eq!(chain.roll(&copy, &log, Some(at)), Rolled::Stopped);
        complete(&copy).unwrap();
        assert!(expected == all_of(&copy));
        assert!(copy.check().unwrap().log.is_none());
    }
    let copy = chain.restored(&SimDisk::new());
    assert_eq!(chain.roll(&copy, &log, Some(chain.now())), Rolled::All, "the point is in a later backup");
    assert_eq!(chain.roll(&copy, &log, Some(0)), Rolled::TooLate);
    complete(&copy).unwrap();
    assert!(all_of(&chain.db) == all_of(&copy));
}

#[test]
fn the_log_of_another_history_is_refused() {
    let mut chain = Chain::new();
    let full = chain.sets().remove(0);
    // Another history of the same database: restored, and written to.
    let (disk, clock) = (SimDisk::new(), SimClock::starting_at(BEGAN));
    let other = chain.restored(&disk);
    complete(&other).unwrap();
    put(&other, b"other", "history");
    disk.create_dir_all(Path::new("backup")).unwrap();
    let file = disk.open(Path::new("backup/b.bak"), OpenMode::Create).unwrap();
    let mut of_other = Chain { clock, db: other, file, next: full.last };
    of_other.back_up_log();
    put(&chain.db, b"this", "history");
    chain.back_up_log();
    let (copy, sets) = (chain.restored(&SimDisk::new()), chain.sets());
    assert_eq!(chain.roll(&copy, &sets[1], None), Rolled::All);
    assert_eq!(of_other.roll(&copy, &of_other.sets()[0], None), Rolled::OtherPath);
    complete(&copy).unwrap();
    assert!(all_of(&chain.db) == all_of(&copy));
}

#[test]
fn log_that_is_gone_cannot_be_backed_up() {
    let chain = Chain::new();
    for n in 0..100u8 {
        put(&chain.db, &[n], &"x".repeat(20_000));
    }
    chain.db.set_backed_up(Lsn::MAX);
    chain.db.checkpoint().unwrap();
    let (options, label) = (BackupOptions { compress: false, key: None }, &mut |_: &Written| Vec::new());
    let to = (&*chain.file, chain.file.len().unwrap());
    let gone = back_up_log(&chain.db, to, chain.next, options, label, &mut |_, _| Ok(()));
    assert!(matches!(gone, Err(DbError::Corrupt(_))), "{gone:?}");
}

#[test]
fn power_that_fails_while_log_is_restored_costs_only_what_is_restored_again() {
    let mut chain = Chain::new();
    for n in 0..30u8 {
        put(&chain.db, &[n], &"x".repeat(9_000));
    }
    chain.back_up_log();
    let (log, expected) = (chain.sets().remove(1), all_of(&chain.db));
    let place = (DatabaseId(9), Path::new("data/db9"));
    for cut in (1..).step_by(3) {
        let disk = SimDisk::new();
        let copy = chain.restored(&disk);
        disk.cut_power_at(cut);
        let rolled = restore_log(&copy, (&*chain.file, &log), None, &mut |_, _| Ok(()));
        let whole = rolled.is_ok() && !disk.power_is_cut();
        drop(copy);
        let disk = disk.crash(Tear::LoseAll);
        let copy = Database::open(&instance(&disk, 4), place.0, place.1, &db_options(), &mut |_| ()).unwrap();
        assert_eq!(copy.role(), Role::Resolving, "cut at {cut}");
        assert_eq!(chain.roll(&copy, &log, None), Rolled::All, "cut at {cut}");
        complete(&copy).unwrap();
        assert!(expected == all_of(&copy), "cut at {cut}");
        if whole {
            return;
        }
    }
}
