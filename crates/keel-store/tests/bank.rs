//! Threads move money between accounts under row locks while others add it up under snapshots, checkpoints run, and
//! accounts are closed and opened again. Every snapshot must show the same total, and the newest state at the end too; by
//! the index over balances as well, whose keys move with every transfer, so that whole leaves of it come and go.

#![allow(clippy::unwrap_used)]

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use keel_base::env::Disk;
use keel_base::env::sim::SimDisk;
use keel_base::{DatabaseId, Lsn, TreeId, TxnId};
use keel_store::base::{BaseOptions, BaseTree, PageCache};
use keel_store::lock::{
    CancelToken, LockError, LockManager, LockOwner, Mode, OwnerDescription, Resource, Wait,
};
use keel_store::row::{RowBuilder, column};
use keel_store::{CheckpointOptions, Direction, MemoryAccount, ReadMode, Store, Traces, WriteSet};
use parking_lot::Mutex;

const DB: DatabaseId = DatabaseId(5);
const ACCOUNTS: TreeId = TreeId(3);
/// Grows with every transfer, one key per transfer, so that leaves are made and evicted all the time.
const HISTORY: TreeId = TreeId(4);
/// An index: balance and account, without a row.
const BALANCES: TreeId = TreeId(5);
const NUMBER: u32 = 300;
const START: i64 = 1000;

fn key(account: u32) -> [u8; 12] {
    let mut key = [0xAB; 12];
    key[8..].copy_from_slice(&account.to_be_bytes());
    key
}

fn balance_key(balance: i64, account: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&balance.to_be_bytes());
    key[8..].copy_from_slice(&account.to_be_bytes());
    key
}

fn row(balance: i64) -> Vec<u8> {
    RowBuilder::build(&[Some(&balance.to_le_bytes()), Some(b"padding")])
}

fn balance(row: &[u8]) -> i64 {
    i64::from_le_bytes(column(row, 0).unwrap().try_into().unwrap())
}

struct Bank {
    store: Arc<Store>,
    locks: Arc<LockManager>,
    /// The log: stamping and "hardening" happen in this order.
    log: Mutex<u64>,
    transactions: AtomicU64,
    /// How often each reader has added up, and how much has left the delta.
    sums: [AtomicUsize; 2],
    evicted: AtomicUsize,
    stop: AtomicBool,
}

/// Whoever fails stops the others: they would wait for it.
struct Failing<'a>(&'a Bank);

impl Drop for Failing<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Bank {
    fn open() -> Bank {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
        disk.create_dir_all(Path::new("/db")).unwrap();
        let cache = PageCache::new(1 << 20);
        let base = BaseTree::create(&disk, Path::new("/db/base"), &cache, &BaseOptions::default()).unwrap();
        let store = Store::new(base, &MemoryAccount::new());
        let bank = Bank {
            store,
            locks: LockManager::new(),
            log: Mutex::new(0),
            transactions: AtomicU64::new(0),
            sums: Default::default(),
            evicted: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        let mut set = bank.begin();
        for account in 0..NUMBER {
            bank.store.insert(&mut set, ACCOUNTS, &key(account), &row(START)).unwrap();
            bank.store.insert(&mut set, BALANCES, &balance_key(START, account), &[]).unwrap();
        }
        bank.commit(set, None);
        // The opening balances are hardened before anyone reads.
        let opened = *bank.log.lock();
        bank.store.advance_stable(Lsn(opened));
        bank
    }

    fn begin(&self) -> WriteSet {
        WriteSet::new(TxnId(self.transactions.fetch_add(1, Ordering::Relaxed) + 1))
    }

    fn commit(&self, set: WriteSet, owner: Option<&LockOwner>) {
        let lsn = {
            let mut log = self.log.lock();
            *log += 64;
            set.status().commit_at(Lsn(*log));
            *log
        };
        if let Some(owner) = owner {
            owner.release_all();
        }
        set.commit();
        // Hardened in groups: now and then everything so far.
        if lsn % 7 == 0 {
            let log = self.log.lock();
            self.store.advance_stable(Lsn(*log));
        }
    }

    /// Moves money; a balance that reaches zero closes its account.
    fn transfer(&self, owner: &LockOwner, seed: &mut u64) -> Result<(), LockError> {
        let mut next = |bound: u64| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) % bound
        };
        // A few hot accounts.
        let mut pick = || if next(2) == 0 { next(4) as u32 } else { next(u64::from(NUMBER)) as u32 };
        let (from, to) = (pick(), pick());
        if from == to {
            return Ok(());
        }
        let mut set = self.begin();
        let mark = set.savepoint();
        for account in [from, to] {
            owner.lock(&Resource::Key(DB, ACCOUNTS, &key(account)), Mode::X, Wait::Forever)?;
        }
        let read = |set: &WriteSet, account| {
            let latest = self.store.get_latest(Some(set), ACCOUNTS, &key(account)).unwrap();
            assert!(latest.blocked_by.is_none(), "we hold the lock");
            latest.row.map_or(0, |row| balance(&row))
        };
        let amount = (next(300) as i64).min(read(&set, from));
        let balances = (read(&set, from), read(&set, to));
        if next(5) == 0 {
            self.write(&mut set, from, balances.0, 77);
            self.write(&mut set, to, balances.1, 78);
            set.rollback_to(mark);
        }
        self.write(&mut set, from, balances.0, balances.0 - amount);
        self.write(&mut set, to, balances.1, balances.1 + amount);
        let id = self.transactions.fetch_add(1, Ordering::Relaxed);
        self.store.insert(&mut set, HISTORY, &id.to_be_bytes(), &row(amount)).unwrap();
        if next(10) == 0 {
            set.rollback();
            owner.release_all();
        } else {
            self.commit(set, Some(owner));
        }
        Ok(())
    }

    fn write(&self, set: &mut WriteSet, account: u32, before: i64, after: i64) {
        if before != 0 {
            self.store.delete(set, BALANCES, &balance_key(before, account)).unwrap();
        }
        if after != 0 {
            self.store.put(set, BALANCES, &balance_key(after, account), &[]).unwrap();
            self.store.put(set, ACCOUNTS, &key(account), &row(after)).unwrap();
        } else {
            self.store.delete(set, ACCOUNTS, &key(account)).unwrap();
        }
    }

    fn writer(&self, session: u64, transfers: u32) {
        let context = Arc::new(OwnerDescription::default());
        let owner = LockOwner::new(&self.locks, session, context, CancelToken::new());
        let mut seed = session;
        for n in 0..transfers {
            // The others have done something while this one works, however few processors there are.
            while n == transfers / 2 && !self.others_work() {
                thread::yield_now();
            }
            match self.transfer(&owner, &mut seed) {
                Ok(()) => {}
                // The write set has been dropped and so rolled back.
                Err(LockError::Deadlock(_)) => owner.release_all(),
                Err(other) => panic!("{other}"),
            }
        }
    }

    fn others_work(&self) -> bool {
        let stopped = self.stop.load(Ordering::Relaxed);
        stopped || self.sums.iter().chain([&self.evicted]).all(|count| count.load(Ordering::Relaxed) > 0)
    }

    fn total(&self, mode: ReadMode<'_>, direction: Direction) -> i64 {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = self.store.scan(mode, None, ACCOUNTS, all, direction);
        let mut total = 0;
        while cursor.advance().unwrap() {
            total += balance(cursor.row());
        }
        total
    }

    /// The same by the index.
    fn total_by_index(&self, mode: ReadMode<'_>, direction: Direction) -> i64 {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = self.store.scan(mode, None, BALANCES, all, direction);
        let mut total = 0;
        while cursor.advance().unwrap() {
            total += i64::from_be_bytes(cursor.key()[..8].try_into().unwrap());
        }
        total
    }

    fn reader(&self, direction: Direction, sums: &AtomicUsize) {
        let _failing = Failing(self);
        let mut old = self.store.snapshot(Lsn::ZERO);
        while !self.stop.load(Ordering::Relaxed) {
            let snapshot = self.store.snapshot(Lsn::ZERO);
            assert_eq!(self.total(ReadMode::Snapshot(&snapshot), direction), i64::from(NUMBER) * START);
            let by_index = self.total_by_index(ReadMode::Snapshot(&snapshot), direction);
            assert_eq!(by_index, i64::from(NUMBER) * START);
            let by_key = |account| self.store.get(&snapshot, None, ACCOUNTS, &key(account)).unwrap();
            let total: i64 = (0..NUMBER).filter_map(by_key).map(|row| balance(&row)).sum();
            assert_eq!(total, i64::from(NUMBER) * START);
            assert_eq!(self.total(ReadMode::Snapshot(&old), direction), i64::from(NUMBER) * START);
            if (sums.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(50) {
                old = snapshot;
            }
        }
    }

    fn checkpointer(&self) {
        let _failing = Failing(self);
        while !self.stop.load(Ordering::Relaxed) {
            let checkpoint = self.store.begin_checkpoint().run(&CheckpointOptions::default()).unwrap();
            let evicted = checkpoint.evicted.evicted + self.store.evict(Traces::Forget).evicted;
            self.evicted.fetch_add(evicted, Ordering::Relaxed);
            thread::yield_now();
        }
    }
}

#[test]
fn money_is_neither_made_nor_lost() {
    let bank = Bank::open();
    thread::scope(|scope| {
        let bank = &bank;
        let writers: Vec<_> =
            (1..3).map(|session| scope.spawn(move || bank.writer(session, 5_000))).collect();
        for (way, sums) in [Direction::Forward, Direction::Reverse].into_iter().zip(&bank.sums) {
            scope.spawn(move || bank.reader(way, sums));
        }
        scope.spawn(move || bank.checkpointer());
        let written = writers.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>();
        bank.stop.store(true, Ordering::Relaxed);
        written.into_iter().for_each(|outcome| outcome.unwrap());
    });
    assert_eq!(bank.total(ReadMode::Latest, Direction::Forward), i64::from(NUMBER) * START);
    assert_eq!(bank.total_by_index(ReadMode::Latest, Direction::Reverse), i64::from(NUMBER) * START);
    bank.store.advance_stable(Lsn(*bank.log.lock()));
    bank.store.begin_checkpoint().run(&CheckpointOptions::default()).unwrap();
    assert_eq!(bank.store.delta_keys(), 0);
    assert_eq!(bank.total(ReadMode::Latest, Direction::Reverse), i64::from(NUMBER) * START);
    assert!(bank.locks.locks().is_empty());
}
