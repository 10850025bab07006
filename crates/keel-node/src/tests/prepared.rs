//! Prepared transactions: neither lost nor decided by themselves, whatever happens to the process and its power.

use super::*;
use crate::backup::{BackupOptions, back_up, complete, restore, sets};
use crate::{LogReuseWait, TxnError};
use keel_base::env::sim::{SplitMix, Tear};
use keel_base::env::{Disk as _, OpenMode};
use std::collections::BTreeSet;
use std::time::Duration;

/// Prepares a transaction that writes rows under `keys`, and leaves it. It is durable when this returns.
pub(super) fn prepare(db: &Arc<Database>, name: &str, keys: &[&[u8]]) -> Result<u64, TxnError> {
    let mut txn = db.begin(Isolation::ReadCommitted);
    txn.lock_table(77, crate::LockMode::IntentExclusive)?;
    for key in keys {
        txn.lock_row(TREE, key, crate::LockMode::Exclusive)?;
        match txn.get_latest(TREE, key)? {
            Some(_) => txn.update(TREE, key, &simple(name), None)?,
            None => txn.insert(TREE, key, &simple(name))?,
        }
    }
    let durable = txn.prepare(name.as_bytes())?;
    durable.wait()?;
    Ok(txn.leave().unwrap())
}

/// The names of the transactions in doubt.
pub(super) fn doubted(db: &Arc<Database>) -> BTreeSet<String> {
    db.in_doubt().iter().map(|d| String::from_utf8(d.name.to_vec()).unwrap()).collect()
}

pub(super) fn number_of(db: &Arc<Database>, name: &str) -> u64 {
    db.in_doubt().iter().find(|d| &*d.name == name.as_bytes()).unwrap().stream
}

/// Whether somebody who would write the row has to wait.
pub(super) fn is_locked(db: &Arc<Database>, key: &[u8]) -> bool {
    let mut txn = db.begin(Isolation::ReadCommitted);
    txn.set_lock_timeout(Some(Duration::ZERO));
    matches!(txn.lock_row(TREE, key, crate::LockMode::Update), Err(TxnError::LockTimeout))
}

fn all_of(db: &Arc<Database>) -> Model {
    everything(&mut db.begin(Isolation::ReadCommitted), &[TREE])
}

#[test]
fn it_is_there_after_every_restart_until_it_is_decided() {
    for commit in [false, true] {
        let disk = SimDisk::new();
        let db = create(&disk, 1).unwrap();
        put(&db, b"a", "old");
        prepare(&db, "gtrid", &[b"a", b"new"]).unwrap();
        put(&db, b"b", "later");
        db.checkpoint().unwrap();
        assert_eq!(db.log_reuse_wait(), LogReuseWait::ActiveTransaction);
        let mut disk = disk.crash(Tear::LoseAll);
        let mut db = open(&disk, 2).unwrap();
        for seed in 3..6 {
            assert_eq!(doubted(&db), BTreeSet::from(["gtrid".to_owned()]));
            assert_eq!((all_of(&db).len(), is_locked(&db, b"a"), is_locked(&db, b"new")), (2, true, true));
            assert!(!is_locked(&db, b"b"));
            let mut ddl = db.begin(Isolation::ReadCommitted);
            assert!(
                !ddl.try_lock_table(77, crate::LockMode::SchemaModification).unwrap(),
                "its table is locked"
            );
            drop(ddl);
            put(&db, b"b", "again");
            if seed == 4 {
                db.close().unwrap();
            } else {
                db.checkpoint().unwrap();
            }
            assert!(db.positions().truncated <= db.positions().redo_start);
            disk = disk.crash(Tear::LoseAll);
            db = open(&disk, seed).unwrap();
        }
        let stream = number_of(&db, "gtrid");
        let decided =
            if commit { db.commit_prepared(stream).unwrap() } else { db.rollback_prepared(stream).unwrap() };
        decided.unwrap().wait().unwrap();
        assert!(db.commit_prepared(stream).unwrap().is_none(), "nobody decides twice");
        for checkpoint in [false, true] {
            if checkpoint {
                db.checkpoint().unwrap();
                assert_eq!(db.log_reuse_wait(), LogReuseWait::Nothing);
            }
            let again = open(&disk.crash(Tear::LoseAll), 9).unwrap();
            for db in [&db, &again] {
                let rows = all_of(db);
                assert_eq!((rows.len(), doubted(db).len()), (if commit { 3 } else { 2 }, 0));
                assert_eq!(value_of(&rows[&(TREE.0, b"a".to_vec())]), if commit { "gtrid" } else { "old" });
                assert!(!is_locked(db, b"a") && !is_locked(db, b"new"));
            }
        }
    }
}

#[test]
fn a_long_one_keeps_what_it_rolled_back_out_and_its_dropped_trees() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    let other = TreeId(11);
    let mut txn = db.begin(Isolation::ReadCommitted);
    txn.insert(other, b"gone", &simple("x")).unwrap();
    txn.commit().unwrap().wait().unwrap();
    let mut txn = db.begin(Isolation::ReadCommitted);
    for n in 0..40u8 {
        txn.insert(TREE, &[n], &simple("kept")).unwrap();
    }
    let mark = txn.savepoint();
    for n in 40..90u8 {
        txn.insert(TREE, &[n], &simple("void")).unwrap();
    }
    txn.rollback_to(mark).unwrap();
    txn.drop_tree(other).unwrap();
    assert!(txn.changes_catalog());
    txn.prepare(b"long").unwrap().wait().unwrap();
    // Its session ends the way of a killed process.
    std::mem::forget(txn);
    let again = open(&disk.crash(Tear::LoseAll), 2).unwrap();
    assert!(!is_locked(&again, &[60]) && is_locked(&again, &[39]));
    again.commit_prepared(number_of(&again, "long")).unwrap().unwrap().wait().unwrap();
    again.checkpoint().unwrap();
    assert_eq!(everything(&mut again.begin(Isolation::ReadCommitted), &[TREE, other]).len(), 40);
}

/// One that its session rolls back, or commits, after it was prepared is decided by that.
#[test]
fn its_session_may_decide_itself() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    for (key, commit) in [(b"c", true), (b"r", false)] {
        let mut txn = db.begin(Isolation::ReadCommitted);
        txn.insert(TREE, key, &simple("v")).unwrap();
        txn.prepare(b"own").unwrap().wait().unwrap();
        if commit {
            txn.commit().unwrap().wait().unwrap();
        } else {
            txn.rollback();
            db.log().unwrap().flush().unwrap();
        }
    }
    let again = open(&disk.crash(Tear::LoseAll), 2).unwrap();
    assert_eq!((all_of(&again).len(), doubted(&again).len()), (1, 0));
}

#[test]
fn backups_and_restores_carry_it() {
    let disk = SimDisk::new();
    let db = create(&disk, 1).unwrap();
    put(&db, b"a", "old");
    prepare(&db, "gtrid", &[b"a"]).unwrap();
    db.checkpoint().unwrap();
    put(&db, b"b", "later");
    disk.create_dir_all(Path::new("backup")).unwrap();
    let file = disk.open(Path::new("backup/a.bak"), OpenMode::Create).unwrap();
    let asked = BackupOptions { compress: false, key: None };
    back_up(&db, file.as_ref(), 0, asked, &mut |_| Vec::new(), &mut |_, _| Ok(())).unwrap();
    let whole = sets(file.as_ref()).unwrap().whole;
    let place = (DatabaseId(9), Path::new("data/db9"));
    let from = (file.as_ref(), &whole[0]);
    let made = restore(&instance(&disk, 5), place, from, [7; 16], &db_options(), &mut |_, _| Ok(())).unwrap();
    complete(&made).unwrap();
    assert_eq!(doubted(&made), doubted(&db));
    assert!(is_locked(&made, b"a"));
    made.commit_prepared(number_of(&made, "gtrid")).unwrap().unwrap().wait().unwrap();
    assert_eq!(value_of(&all_of(&made)[&(TREE.0, b"a".to_vec())]), "gtrid");
    assert_eq!(value_of(&all_of(&db)[&(TREE.0, b"a".to_vec())]), "old");
}

/// What outsiders know: rows, and who is in doubt with which keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outside {
    rows: Model,
    doubt: BTreeMap<String, Vec<Vec<u8>>>,
}

struct World {
    db: Arc<Database>,
    dice: SplitMix,
    /// What is so for sure, and what it becomes when the step under way counts.
    now: Outside,
    next: Outside,
    names: u32,
}

impl World {
    /// One step; `None` when it failed, as it may on this disk.
    fn step(&mut self) -> Option<()> {
        self.next = self.now.clone();
        match self.dice.below(6) {
            0 | 1 => self.prepare(),
            2 => self.decide(),
            3 => self.db.checkpoint().ok(),
            _ => self.write(),
        }?;
        self.now = self.next.clone();
        Some(())
    }

    fn free_key(&mut self) -> Option<Vec<u8>> {
        let key = vec![self.dice.below(9) as u8];
        let taken = self.now.doubt.values().any(|keys| keys.contains(&key));
        assert_eq!(is_locked(&self.db, &key), taken, "key {key:?}");
        (!taken).then_some(key)
    }

    fn write(&mut self) -> Option<()> {
        let Some(key) = self.free_key() else { return Some(()) };
        let value = simple(&self.dice.below(1000).to_string());
        let mut txn = self.db.begin(Isolation::ReadCommitted);
        match txn.get_latest(TREE, &key).ok()? {
            Some(_) => txn.update(TREE, &key, &value, None).ok()?,
            None => txn.insert(TREE, &key, &value).ok()?,
        }
        self.next.rows.insert((TREE.0, key), value);
        txn.commit().ok()?.wait().ok()
    }

    fn prepare(&mut self) -> Option<()> {
        let keys: Vec<Vec<u8>> = (0..3).filter_map(|_| self.free_key()).collect();
        if keys.is_empty() {
            return Some(());
        }
        self.names += 1;
        let name = self.names.to_string();
        self.next.doubt.insert(name.clone(), keys.clone());
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        prepare(&self.db, &name, &keys).ok().map(|_| ())
    }

    fn decide(&mut self) -> Option<()> {
        let count = self.now.doubt.len() as u64;
        if count == 0 {
            return Some(());
        }
        let at = self.dice.below(count) as usize;
        let (name, keys) = self.now.doubt.iter().nth(at).map(|(n, k)| (n.clone(), k.clone()))?;
        let stream = number_of(&self.db, &name);
        self.next.doubt.remove(&name);
        let decided = if self.dice.coin() {
            self.next.rows.extend(keys.into_iter().map(|key| ((TREE.0, key), simple(&name))));
            self.db.commit_prepared(stream)
        } else {
            self.db.rollback_prepared(stream)
        };
        decided.ok()?.expect("it is in doubt").wait().ok()
    }

    /// Finds in which of the two states the database is.
    fn settle(&mut self, db: Arc<Database>, what: &str) {
        let found = Outside {
            rows: all_of(&db),
            doubt: db
                .in_doubt()
                .iter()
                .map(|d| String::from_utf8(d.name.to_vec()).unwrap())
                .map(|name| (name.clone(), self.next.doubt.get(&name).or(self.now.doubt.get(&name)).cloned()))
                .map(|(name, keys)| (name, keys.unwrap_or_default()))
                .collect(),
        };
        assert!(
            found == self.now || found == self.next,
            "{what}: {found:?}\n{:?}\n{:?}",
            self.now,
            self.next
        );
        for keys in found.doubt.values() {
            assert!(keys.iter().all(|key| is_locked(&db, key)), "{what}: a lock is lost");
        }
        (self.now, self.db) = (found, db);
    }
}

/// Power cuts one after the other, at any operation: what outsiders know is never contradicted.
#[test]
fn power_cuts_neither_lose_it_nor_decide_it() {
    for seed in 0..60 {
        let mut disk = SimDisk::new();
        let (db, dice) = (create(&disk, seed).unwrap(), SplitMix(seed));
        let (now, next) = (Outside::default(), Outside::default());
        let mut world = World { db, dice, now, next, names: 0 };
        for life in 0..6 {
            disk.cut_power_at(disk.counts().operations + 3 + world.dice.below(60));
            for _ in 0..30 {
                if world.step().is_none() {
                    break;
                }
            }
            let tear = [Tear::LoseAll, Tear::KeepAll, Tear::Random(seed)][world.dice.below(3) as usize];
            disk = disk.crash(tear);
            let db = open(&disk, 1000 + seed * 10 + life).unwrap();
            world.settle(db, &format!("seed {seed} life {life}"));
        }
    }
}
