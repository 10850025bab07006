//! More data than memory: inserts and updates under a small budget, second by second.
//!
//! `cargo run --release -p keel-node --example soak -- [DIR] [MEMORY_MB] [DATA_MB] [SECONDS]`
#![allow(missing_docs)]

use keel_base::env::Env;
use keel_base::{DatabaseId, TreeId};
use keel_node::{Commit, Database, DbOptions, Instance, InstanceOptions, Isolation, LockMode, TxnError};
use keel_store::row::RowBuilder;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const TREE: TreeId = TreeId(10);
const ROW_BYTES: usize = 300;
const THREADS: u64 = 4;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number = |at: usize, or: u64| args.get(at).and_then(|s| s.parse().ok()).unwrap_or(or);
    let dir = args.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = dir.join(format!("keel-soak-{}", std::process::id()));
    let (memory_mb, data_mb, seconds) = (number(2, 64), number(3, 400), number(4, 30));
    let options = InstanceOptions { memory_bytes: (memory_mb << 20) as usize, ..InstanceOptions::default() };
    let instance = Instance::new(Env::real(), options);
    let db = Database::create(&instance, DatabaseId(5), &dir, &DbOptions::default()).expect("a new database");
    let rows = (data_mb << 20) / ROW_BYTES as u64;
    let done = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let (db, done, stop) = (&db, &done, &stop);
        let loaders: Vec<_> =
            (0..THREADS).map(|worker| scope.spawn(move || load(db, worker, rows / THREADS, done))).collect();
        let watcher = scope.spawn(|| watch(db, done, stop));
        for loader in loaders {
            loader.join().expect("the loader ends");
        }
        println!("loaded {rows} rows in {:?}", began.elapsed());
        let updaters: Vec<_> =
            (0..THREADS).map(|worker| scope.spawn(move || update(db, worker, rows, done, stop))).collect();
        std::thread::sleep(Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
        for updater in updaters {
            updater.join().expect("the updater ends");
        }
        watcher.join().expect("the watcher ends");
    });
    let (delays, delay_nanos, refusals) = instance.pressure().counts();
    println!("{delays} delays of {:.1} ms in all, {refusals} refusals", delay_nanos as f64 / 1e6);
    std::fs::remove_dir_all(&dir).expect("the files go");
}

fn row(value: u64) -> Vec<u8> {
    RowBuilder::build(&[Some(&value.to_le_bytes()), Some(&[7; ROW_BYTES - 30])])
}

fn key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

fn load(db: &Arc<Database>, worker: u64, rows: u64, done: &AtomicU64) {
    let mut n = 0;
    while n < rows {
        let mut txn = db.begin(Isolation::ReadCommitted);
        let batch =
            (n..(n + 200).min(rows)).try_for_each(|i| txn.insert(TREE, &key(worker * rows + i), &row(i)));
        match batch.and_then(|()| txn.commit()).and_then(Commit::wait) {
            Ok(()) => {
                n += 200;
                done.fetch_add(200, Ordering::Relaxed);
            }
            Err(TxnError::OutOfMemory) => std::thread::sleep(Duration::from_millis(10)),
            Err(other) => panic!("{other}"),
        }
    }
}

fn update(db: &Arc<Database>, worker: u64, rows: u64, done: &AtomicU64, stop: &AtomicBool) {
    let mut seed = worker;
    while !stop.load(Ordering::Relaxed) {
        let mut txn = db.begin(Isolation::ReadCommitted);
        let mut keys: Vec<u64> = (0..10)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) % rows
            })
            .collect();
        keys.sort_unstable();
        keys.dedup();
        let changed = keys.iter().try_for_each(|n| {
            txn.lock_row(TREE, &key(*n), LockMode::Exclusive)?;
            if txn.get_latest(TREE, &key(*n))?.is_some() {
                txn.update(TREE, &key(*n), &row(seed), None)?;
            }
            Ok(())
        });
        match changed.and_then(|()| txn.commit()).and_then(Commit::wait) {
            Ok(()) => {
                done.fetch_add(keys.len() as u64, Ordering::Relaxed);
            }
            Err(TxnError::OutOfMemory) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

fn resident_mb() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    (statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096) >> 20
}

fn watch(db: &Arc<Database>, done: &AtomicU64, stop: &AtomicBool) {
    let mut last = 0;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(1));
        let now = done.load(Ordering::Relaxed);
        let stats = db.stats();
        println!(
            "{:7} rows/s  delta {:4} MB  resident {:4} MB  data {:4} MB ({:4} free)  log {:4} of {:4} MB  {} checkpoints",
            now - last,
            stats.delta_bytes >> 20,
            resident_mb(),
            (stats.data_pages * 8192) >> 20,
            (stats.data_pages_free * 8192) >> 20,
            stats.log_used_bytes >> 20,
            stats.log_file_bytes >> 20,
            stats.checkpoints,
        );
        last = now;
    }
}
