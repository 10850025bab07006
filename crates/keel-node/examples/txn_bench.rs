//! What the transaction path costs, on the real disk: point operations on one thread, then a mix shaped like TPC-C's new
//! order from several.
//!
//! `cargo run --release -p keel-node --example txn_bench -- [DIR] [SECONDS]`, or with `DIR recover` only the recovery of a
//! database that an earlier run was told to `keep`.
#![allow(missing_docs)]

use keel_base::env::Env;
use keel_base::{DatabaseId, TreeId};
use keel_node::{Database, DbOptions, Instance, InstanceOptions, Isolation, LockMode, Transaction};
use keel_store::row::{PatchBuilder, RowBuilder};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const STOCK: TreeId = TreeId(10);
const LINES: TreeId = TreeId(11);
const ROWS: u32 = 200_000;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = args.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let word = |w: &str| args.iter().any(|a| a == w);
    let (keep, only_recover) = (word("keep"), word("recover"));
    let dir =
        if keep || only_recover { dir } else { dir.join(format!("keel-txn-bench-{}", std::process::id())) };
    let seconds: u64 = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(3);
    let options = InstanceOptions { memory_bytes: 4 << 30, ..InstanceOptions::default() };
    let instance = Instance::new(Env::real(), options);
    if only_recover {
        return recover(&instance, &dir);
    }
    let db = Database::create(&instance, DatabaseId(5), &dir, &DbOptions::default()).expect("a new database");
    load(&db);
    points(&db);
    for threads in [1, 2, 4, 8] {
        new_orders(&db, threads, Duration::from_secs(seconds));
    }
    recover(&instance, &dir);
    if !keep {
        std::fs::remove_dir_all(&dir).expect("the files go");
    }
}

fn row(quantity: u64) -> Vec<u8> {
    let columns: Vec<[u8; 8]> = (0..12).map(|column| (quantity + column).to_le_bytes()).collect();
    let columns: Vec<Option<&[u8]>> = columns.iter().map(|c| Some(&c[..])).collect();
    RowBuilder::build(&columns)
}

fn wide_row(quantity: u64) -> Vec<u8> {
    RowBuilder::build(&[Some(&quantity.to_le_bytes()), Some(&[7; 250]), Some(&[1; 8]), Some(&[2; 8])])
}

fn load(db: &Arc<Database>) {
    let began = Instant::now();
    let mut txn = db.begin(Isolation::ReadCommitted);
    for n in 0..ROWS {
        txn.insert(STOCK, &n.to_be_bytes(), &wide_row(u64::from(n))).expect("a new key");
    }
    txn.commit().and_then(keel_node::Commit::wait).expect("committed");
    let took = began.elapsed();
    println!("load: {:.2} us per row", took.as_secs_f64() * 1e6 / f64::from(ROWS));
    let began = Instant::now();
    db.checkpoint().expect("merged");
    println!("checkpoint of it: {:?}", began.elapsed());
}

fn per(what: &str, count: u32, mut each: impl FnMut(u32)) {
    let began = Instant::now();
    for n in 0..count {
        each(n);
    }
    println!("{what}: {:.0} ns", began.elapsed().as_nanos() as f64 / f64::from(count));
}

fn scattered(n: u32) -> [u8; 4] {
    (n.wrapping_mul(2_654_435_761) % ROWS).to_be_bytes()
}

fn points(db: &Arc<Database>) {
    const N: u32 = 200_000;
    let mut txn = db.begin(Isolation::ReadCommitted);
    let view = txn.statement_snapshot();
    per("get from the base tree", N, |n| {
        txn.get(&view, STOCK, &scattered(n)).expect("read").expect("there");
    });
    per("statement snapshot", N, |_| drop(txn.statement_snapshot()));
    per("begin and end, reading once", N, |n| {
        let mut txn = db.begin(Isolation::ReadCommitted);
        let view = txn.statement_snapshot();
        txn.get(&view, STOCK, &scattered(n)).expect("read").expect("there");
        txn.commit().and_then(keel_node::Commit::wait).expect("ended");
    });
    per("lock, get_latest, update with patch", N, |n| {
        update(&mut txn, &scattered(n));
    });
    per("get own from the delta", N, |n| {
        txn.get(&view, STOCK, &scattered(n)).expect("read").expect("there");
    });
    let small = row(1);
    per("insert", N, |n| txn.insert(LINES, &n.to_be_bytes(), &small).expect("new"));
    let began = Instant::now();
    txn.commit().and_then(keel_node::Commit::wait).expect("committed");
    println!("commit of {} changes: {:?}", 2 * N, began.elapsed());
    let mut txn = db.begin(Isolation::ReadCommitted);
    let view = txn.statement_snapshot();
    per("get from the delta", N, |n| {
        txn.get(&view, STOCK, &scattered(n)).expect("read").expect("there");
    });
}

fn update(txn: &mut Transaction, key: &[u8]) {
    txn.lock_row(STOCK, key, LockMode::Update).expect("locked");
    let old = txn.get_latest(STOCK, key).expect("read").expect("there");
    let quantity = u64::from_le_bytes(
        keel_store::row::column(&old, 0).and_then(|c| c.try_into().ok()).expect("eight bytes"),
    );
    let mut builder = PatchBuilder::new();
    builder.clear(4);
    builder.set(0, Some(&(quantity + 1).to_le_bytes()));
    let patch = builder.finish();
    let mut new = Vec::with_capacity(old.len());
    keel_store::row::patch::apply(&old, &patch, &mut new);
    txn.update(STOCK, key, &new, Some(patch)).expect("updated");
}

fn new_orders(db: &Arc<Database>, threads: usize, time: Duration) {
    let stop = AtomicBool::new(false);
    let busy = AtomicU64::new(0);
    let next = AtomicU64::new((threads as u64) << 40);
    let before = db.stats();
    let began = Instant::now();
    let mut times: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let (stop, busy, next) = (&stop, &busy, &next);
                scope.spawn(move || order_until(db, worker, stop, busy, next))
            })
            .collect();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().flat_map(|w| w.join().expect("a worker ends")).collect()
    });
    let took = began.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize] as f64 / 1000.0;
    let after = db.stats();
    println!(
        "{threads} threads: {:7.0} orders/s  before the wait {:5.1} us  p50 {:6.1} p99 {:7.1} max {:8.1} us  \
         {:.0} log bytes each, {:.1} per flush, {} checkpoints",
        times.len() as f64 / took,
        busy.load(Ordering::Relaxed) as f64 / 1000.0 / times.len() as f64,
        at(0.5),
        at(0.99),
        at(1.0),
        (after.log.bytes_appended - before.log.bytes_appended) as f64 / times.len() as f64,
        (after.log.appends - before.log.appends) as f64 / (after.log.flushes - before.log.flushes) as f64,
        after.checkpoints - before.checkpoints,
    );
}

/// Ten stock rows read and updated, twelve rows inserted.
fn order_until(
    db: &Arc<Database>,
    worker: usize,
    stop: &AtomicBool,
    busy: &AtomicU64,
    next: &AtomicU64,
) -> Vec<u64> {
    let mut times = Vec::new();
    let line = row(5);
    let mut seed = worker as u32 * 7919 + 13;
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let mut txn = db.begin(Isolation::ReadCommitted);
        let mut keys: Vec<[u8; 4]> = (0..10)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                scattered(seed)
            })
            .collect();
        keys.sort_unstable();
        for key in &keys {
            let view = txn.statement_snapshot();
            txn.get(&view, STOCK, key).expect("read");
            update(&mut txn, key);
        }
        let order = next.fetch_add(1, Ordering::Relaxed);
        for n in 0..12u8 {
            let mut key = [0; 9];
            key[..8].copy_from_slice(&order.to_be_bytes());
            key[8] = n;
            txn.insert(LINES, &key, &line).expect("new");
        }
        let commit = txn.commit().expect("appended");
        busy.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        commit.wait().expect("hardened");
        times.push(began.elapsed().as_nanos() as u64);
    }
    times
}

fn recover(instance: &Arc<Instance>, dir: &std::path::Path) {
    let began = Instant::now();
    let mut total = 0;
    let db =
        Database::open(instance, DatabaseId(6), dir, &DbOptions::default(), &mut |p| total = p.total_bytes)
            .expect("recovered");
    let took = began.elapsed();
    println!(
        "recovery of {:.1} MB of log in {took:?}: {:.0} MB/s (delta {:.1} MB)",
        total as f64 / 1e6,
        total as f64 / 1e6 / took.as_secs_f64(),
        db.stats().delta_bytes as f64 / 1e6,
    );
}
