//! Differential backups: laid over what the full one was restored to they make the database again, whatever has happened between.

use super::*;
use crate::backup::{
    BackupOptions, BackupSet, Base, Content, Rolled, Written, back_up, back_up_differential, back_up_log,
    complete, restore, restore_differential, restore_log, sets, verify,
};
use keel_base::Lsn;
use keel_base::env::sim::Tear;
use keel_base::env::{Disk as _, File, OpenMode};

/// The rows of the trees that there are: nobody looks into one that was dropped.
fn all_of(db: &Arc<Database>, dropped: u32) -> Model {
    everything(&mut db.begin(Isolation::ReadCommitted), &[TREE, TreeId(TREE.0 + dropped + 1)])
}

/// A small generator, so that a failing case is its seed.
struct Dice {
    state: u64,
    /// Trees that were dropped.
    dropped: u32,
}

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % n
    }
}

/// A database with a file of backups.
struct World {
    disk: Arc<SimDisk>,
    db: Arc<Database>,
    file: Arc<dyn File>,
    base: Base,
    /// Where the next log backup begins.
    next: Lsn,
    dice: Dice,
    openings: u64,
}

impl World {
    fn new(seed: u64) -> World {
        let disk = SimDisk::new();
        let db = create(&disk, 1).unwrap();
        // On a disk of its own.
        let file = SimDisk::new().open(Path::new("a.bak"), OpenMode::Create).unwrap();
        let (base, dice) = (Base::default(), Dice { state: seed, dropped: 0 });
        World { disk, db, file, base, next: Lsn::ZERO, dice, openings: 1 }
    }

    fn full(&mut self) {
        let at = self.file.len().unwrap();
        let (mut base, mut border) = (Base::default(), Lsn::ZERO);
        let db = Arc::clone(&self.db);
        let mut label = |w: &Written| {
            base = Base { set: [9; 16], last: w.last, checksum: w.checksum };
            border = w.border;
            Vec::new()
        };
        let (dice, file) = (&mut self.dice, &*self.file);
        // Work goes on between the rows and the end.
        let mut during = |_, _| {
            work(&db, dice);
            Ok(())
        };
        back_up(&db, file, at, BackupOptions { compress: true, key: None }, &mut label, &mut during).unwrap();
        self.base = base;
        if self.next == Lsn::ZERO {
            // Log backups go on with the chain that there is.
            self.next = border;
        }
        self.db.set_backed_up(self.next);
        self.db.set_differential_base(base.last);
        put(&self.db, b"noted", "the full backup");
    }

    fn differential(&mut self) -> u64 {
        let at = self.file.len().unwrap();
        let db = Arc::clone(&self.db);
        let dice = &mut self.dice;
        let mut during = |_, _| {
            work(&db, dice);
            Ok(())
        };
        let (to, options) = ((&*self.file, at), BackupOptions { compress: false, key: None });
        back_up_differential(&db, to, &self.base, options, &mut |_| Vec::new(), &mut during).unwrap() - at
    }

    fn log(&mut self) {
        let (at, first) = (self.file.len().unwrap(), self.next);
        let mut label = |w: &Written| {
            self.next = w.border;
            Vec::new()
        };
        let (to, options) = ((&*self.file, at), BackupOptions { compress: true, key: None });
        back_up_log(&self.db, to, first, options, &mut label, &mut |_, _| Ok(())).unwrap();
        self.db.set_backed_up(self.next);
    }

    fn work(&mut self) {
        for _ in 0..1 + self.dice.below(6) {
            match self.dice.below(12) {
                0..3 => self.db.checkpoint().unwrap(),
                3 => self.reopen(false),
                4 => self.reopen(true),
                _ => work(&self.db, &mut self.dice),
            }
        }
    }

    fn reopen(&mut self, crash: bool) {
        if crash {
            self.disk = self.disk.crash(Tear::LoseAll);
        } else {
            self.db.close().unwrap();
        }
        self.openings += 1;
        self.db = open(&self.disk, self.openings).unwrap();
        self.db.set_backed_up(self.next);
        self.db.set_differential_base(self.base.last);
    }

    fn sets(&self) -> Vec<BackupSet> {
        let sets = sets(&*self.file).unwrap().whole;
        sets.iter().for_each(|set| verify(&*self.file, set, &mut |_, _| Ok(())).unwrap());
        sets
    }

    /// A full backup, restored on a disk.
    fn restored(&self, disk: &Arc<SimDisk>, set: &BackupSet) -> Arc<Database> {
        let (instance, place) = (instance(disk, 90), (DatabaseId(8), Path::new("data/db8")));
        let family = set.family();
        let progress = &mut |_, _| Ok(());
        restore(&instance, place, (&*self.file, set), family, &db_options(), progress).unwrap()
    }

    fn laid_over(&self, old: &Arc<Database>, set: &BackupSet) -> Result<Arc<Database>, DbError> {
        let Content::Differential(info) = &set.content else { panic!("{set:?}") };
        assert!(info.fits(old).unwrap());
        let id = old.id().0 + 1;
        let dir = format!("data/db{id}");
        let place = (DatabaseId(id), Path::new(&dir));
        let from = (&*self.file, set);
        restore_differential(old.instance(), place, old, from, &db_options(), &mut |_, _| Ok(()))
    }
}

/// A few transactions: single rows, many, large ones, whole trees.
fn work(db: &Arc<Database>, dice: &mut Dice) {
    let mut txn = db.begin(Isolation::ReadCommitted);
    if dice.below(12) == 0 {
        // No other tree ever has its number.
        dice.dropped += 1;
        txn.drop_tree(TreeId(TREE.0 + dice.dropped)).unwrap();
        txn.commit().unwrap().wait().unwrap();
        return;
    }
    let (from, many) = (dice.below(3000), [1, 3, 40, 400][dice.below(4) as usize]);
    let deletes = dice.below(3) == 0;
    for n in from..from + many {
        let tree = if dice.below(2) == 0 { TREE } else { TreeId(TREE.0 + dice.dropped + 1) };
        let key = (n as u16).to_be_bytes();
        let there = txn.get_latest(tree, &key).unwrap().is_some();
        if deletes || dice.below(5) == 0 {
            if there {
                txn.delete(tree, &key).unwrap();
            }
        } else {
            let size = [10, 100, 300, 9000][dice.below(4) as usize / if many > 40 { 2 } else { 1 }];
            let row = simple(&char::from(b'a' + dice.below(26) as u8).to_string().repeat(size));
            if there {
                txn.update(tree, &key, &row, None).unwrap();
            } else {
                txn.insert(tree, &key, &row).unwrap();
            }
        }
    }
    if dice.below(10) > 0 {
        txn.commit().unwrap().wait().unwrap();
    }
}

#[test]
fn the_chain_makes_the_database_again_whatever_has_happened() {
    for seed in 0..if cfg!(debug_assertions) { 12 } else { 40 } {
        let mut world = World::new(seed);
        (0..8).for_each(|_| world.work());
        world.full();
        let rounds = 1 + world.dice.below(3);
        for _ in 0..rounds {
            world.work();
            world.differential();
        }
        world.work();
        world.log();
        let dropped = world.dice.dropped;
        let expected = all_of(&world.db, dropped);
        let sets = world.sets();
        let disk = SimDisk::new();
        let mut copy = world.restored(&disk, &sets[0]);
        let which = 1 + world.dice.below(rounds) as usize;
        if world.dice.below(2) == 0 {
            drop(copy);
            let disk = disk.crash(Tear::LoseAll);
            let place = Path::new("data/db8");
            let again = instance(&disk, 91);
            copy = Database::open(&again, DatabaseId(8), place, &db_options(), &mut |_| ()).unwrap();
        }
        if which > 1 && world.dice.below(2) == 0 {
            // An earlier one first.
            copy = world.laid_over(&copy, &sets[1]).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        }
        let copy = world.laid_over(&copy, &sets[which]).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let last = sets.last().unwrap();
        let rolled = restore_log(&copy, (&*world.file, last), None, &mut |_, _| Ok(())).unwrap();
        assert_eq!(rolled, Rolled::All);
        complete(&copy).unwrap();
        let found = all_of(&copy, dropped);
        let differ = expected.iter().filter(|(key, row)| found.get(*key) != Some(*row)).count();
        assert!(
            found == expected,
            "seed {seed}: {} rows of {}, {differ} missing",
            found.len(),
            expected.len()
        );
        let checked = copy.check().unwrap();
        assert!(checked.log.is_none(), "seed {seed}");
    }
}

#[test]
fn what_has_not_changed_is_not_in_it() {
    let world = World::new(1);
    for n in 0..3000u16 {
        put(&world.db, &n.to_be_bytes(), &"r".repeat(300));
    }
    world.db.checkpoint().unwrap();
    let at = world.file.len().unwrap();
    let mut base = Base::default();
    let mut label = |w: &Written| {
        base = Base { set: [1; 16], last: w.last, checksum: w.checksum };
        Vec::new()
    };
    let options = BackupOptions { compress: false, key: None };
    let full = back_up(&world.db, &*world.file, at, options, &mut label, &mut |_, _| Ok(())).unwrap();
    put(&world.db, &7u16.to_be_bytes(), "changed");
    let to = (&*world.file, full);
    let end =
        back_up_differential(&world.db, to, &base, options, &mut |_| Vec::new(), &mut |_, _| Ok(())).unwrap();
    assert!((end - full) * 20 < full - at, "{} of {}", end - full, full - at);
    // A later checkpoint of work that is in the full backup already would have been another root.
    let root = world.db.store().base().root();
    assert!(Database::generation_before(&root, base.last) > 0);
}

#[test]
fn it_fits_only_what_has_come_from_its_base() {
    let mut world = World::new(2);
    (0..4).for_each(|_| world.work());
    world.full();
    put(&world.db, b"one", "row");
    world.log();
    world.full();
    put(&world.db, b"two", "rows");
    world.log();
    world.differential();
    put(&world.db, b"three", "rows");
    world.log();
    let sets = world.sets();
    let [first, log, second, later, differential, latest] = &sets[..] else { panic!("{sets:?}") };
    let Content::Differential(info) = &differential.content else { panic!() };
    let roll = |db: &Arc<Database>, log: &BackupSet| {
        assert_eq!(restore_log(db, (&*world.file, log), None, &mut |_, _| Ok(())).unwrap(), Rolled::All);
    };
    let copy = world.restored(&SimDisk::new(), first);
    assert!(!info.fits(&copy).unwrap(), "it is from before the base");
    roll(&copy, log);
    roll(&copy, later);
    assert!(info.fits(&copy).unwrap(), "log has brought it past the base");
    roll(&copy, latest);
    assert!(!info.fits(&copy).unwrap(), "it is further than the backup");
    let copy = world.restored(&SimDisk::new(), second);
    assert!(info.fits(&copy).unwrap());
    // It went a way of its own.
    complete(&copy).unwrap();
    put(&copy, b"another", "path");
    assert!(!info.fits(&copy).unwrap());
}

#[test]
fn damage_anywhere_is_found() {
    let mut world = World::new(3);
    (0..3).for_each(|_| world.work());
    world.full();
    world.work();
    world.differential();
    let sets_there = world.sets();
    let set = &sets_there[1];
    for at in (set.at..set.end).step_by(499).chain(set.at..set.at + 64).chain(set.end - 40..set.end) {
        let mut byte = [0];
        world.file.read_at(&mut byte, at).unwrap();
        world.file.write_at(&[byte[0] ^ 4], at).unwrap();
        let found = verify(&*world.file, set, &mut |_, _| Ok(()));
        assert!(
            matches!(found, Err(DbError::Corrupt(_))) || at + 40 > set.end || at < set.at + 24,
            "byte {at}"
        );
        let listed = sets(&*world.file).unwrap();
        assert!(found.is_err() || listed.whole.len() < 2, "byte {at}");
        world.file.write_at(&byte, at).unwrap();
    }
    verify(&*world.file, set, &mut |_, _| Ok(())).unwrap();
}
