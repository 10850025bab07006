//! Operations per second of the store and the lock manager, one and two threads.
//!
//! `cargo run --release -p keel-store --example store_bench [millions of rows] [filter]`

use std::hint::black_box;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use keel_base::env::Disk;
use keel_base::env::sim::{SimDisk, SplitMix};
use keel_base::{DatabaseId, Lsn, TreeId, TxnId};
use keel_store::base::{BaseOptions, BaseTree, PageCache};
use keel_store::lock::{CancelToken, LockManager, LockOwner, Mode, OwnerDescription, Resource, Wait};
use keel_store::{CheckpointOptions, Direction, MemoryAccount, ReadMode, Store, WriteSet};

const TREE: TreeId = TreeId(100);
const ROW_BYTES: usize = 120;

struct Bench {
    store: Arc<Store>,
    locks: Arc<LockManager>,
    lsn: AtomicU64,
    rows: u64,
}

/// Keys as a table of four integers has them: 16 bytes, long shared prefixes.
fn key(index: u64) -> [u8; 16] {
    let mut key = [0x80; 16];
    key[1..4].copy_from_slice(&((index / 300_000) as u32).to_be_bytes()[1..]);
    key[5..8].copy_from_slice(&((index / 30_000 % 10) as u32).to_be_bytes()[1..]);
    key[9..12].copy_from_slice(&((index / 10 % 3000) as u32).to_be_bytes()[1..]);
    key[13..].copy_from_slice(&((index % 10) as u32).to_be_bytes()[1..]);
    key
}

impl Bench {
    fn new(rows: u64) -> Bench {
        let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
        disk.create_dir_all(Path::new("/db")).expect("memory");
        let cache = PageCache::new(1 << 30);
        let base =
            BaseTree::create(&disk, Path::new("/db/base"), &cache, &BaseOptions::default()).expect("memory");
        let store = Store::new(base, &MemoryAccount::new());
        Bench { store, locks: LockManager::new(), lsn: AtomicU64::new(0), rows }
    }

    fn commit(&self, set: WriteSet) {
        let lsn = Lsn(self.lsn.fetch_add(64, Ordering::Relaxed) + 64);
        set.status().commit_at(lsn);
        set.commit();
        self.store.advance_stable(lsn);
    }

    fn fill(&self) {
        let row = [7u8; ROW_BYTES];
        let mut index = 0;
        while index < self.rows {
            let mut set = WriteSet::new(TxnId(1));
            for _ in 0..1000 {
                self.store.put(&mut set, TREE, &key(index), &row).expect("no conflict");
                index += 1;
            }
            self.commit(set);
        }
    }

    /// Runs `work` on `threads` threads for half a second each and prints the rate. `work` returns the operations done.
    fn run(
        &self,
        name: &str,
        threads: u64,
        work: impl Fn(&Bench, &LockOwner, &mut SplitMix, u64) -> u64 + Sync,
    ) {
        if std::env::args().nth(2).is_some_and(|filter| !name.contains(&filter)) {
            return;
        }
        let (total, cpu) = (AtomicU64::new(0), AtomicU64::new(0));
        let time = Duration::from_millis(500);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (work, total, cpu) = (&work, &total, &cpu);
                scope.spawn(move || {
                    let context = Arc::new(OwnerDescription::default());
                    let owner = LockOwner::new(&self.locks, thread, context, CancelToken::new());
                    let mut random = SplitMix(thread + 1);
                    let start = Instant::now();
                    let start_cpu = cpu_nanos();
                    let mut done = 0;
                    while start.elapsed() < time {
                        for _ in 0..16 {
                            done += work(self, &owner, &mut random, thread);
                        }
                    }
                    total.fetch_add(done, Ordering::Relaxed);
                    cpu.fetch_add(cpu_nanos() - start_cpu, Ordering::Relaxed);
                });
            }
        });
        let total = total.load(Ordering::Relaxed);
        let rate = total as f64 / time.as_secs_f64() / 1e3;
        let cpu = cpu.load(Ordering::Relaxed) / total;
        println!("{name:34} {threads} thread(s) {rate:9.0} k/s {cpu:7} ns of cpu each");
    }
}

/// Time this thread has run, so that a busy machine spoils the rate but not this.
fn cpu_nanos() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or(0)
}

fn main() {
    let rows =
        std::env::args().nth(1).and_then(|n| n.parse::<f64>().ok()).map_or(1_000_000, |n| (n * 1e6) as u64);
    let bench = Bench::new(rows);
    let start = Instant::now();
    bench.fill();
    let per_row = start.elapsed().as_nanos() as u64 / rows;
    println!("fill {rows} rows in order: {per_row} ns/row, {} MB of delta", bench.store.delta_bytes() >> 20);
    let row = [9u8; ROW_BYTES];
    let next = AtomicU64::new(rows);
    for threads in [1, 2] {
        bench.run("snapshot", threads, |bench, _, _, _| {
            black_box(bench.store.snapshot(Lsn::ZERO));
            1
        });
        bench.run("get, random", threads, |bench, _, random, _| {
            let snapshot = bench.store.snapshot(Lsn::ZERO);
            for _ in 0..64 {
                black_box(
                    bench.store.get(&snapshot, None, TREE, &key(random.below(bench.rows))).expect("found"),
                );
            }
            64
        });
        bench.run("get, 1000 hot rows", threads, |bench, _, random, _| {
            let snapshot = bench.store.snapshot(Lsn::ZERO);
            for _ in 0..64 {
                black_box(bench.store.get(&snapshot, None, TREE, &key(random.below(1000))).expect("found"));
            }
            64
        });
        bench.run("scan 10 rows", threads, |bench, _, random, _| {
            let snapshot = bench.store.snapshot(Lsn::ZERO);
            for _ in 0..8 {
                let from = key(random.below(bench.rows));
                let bounds = (Bound::Included(&from[..]), Bound::Unbounded);
                let mut cursor =
                    bench.store.scan(ReadMode::Snapshot(&snapshot), None, TREE, bounds, Direction::Forward);
                for _ in 0..10 {
                    black_box(cursor.advance().expect("no i/o"));
                    black_box(cursor.row());
                }
            }
            8
        });
        bench.run("lock X + release, 10 at once", threads, |_, owner, random, _| {
            for _ in 0..10 {
                let at = key(random.next());
                owner
                    .lock(&Resource::Key(DatabaseId(5), TREE, &at), Mode::X, Wait::Forever)
                    .expect("no deadlock");
            }
            owner.release_all();
            10
        });
        bench.run("lock table IX again", threads, |_, owner, _, _| {
            owner.lock(&Resource::Object(DatabaseId(5), 1), Mode::IX, Wait::Forever).expect("no deadlock");
            1
        });
        bench.run("update, random, 10 per commit", threads, |bench, owner, random, thread| {
            let mut set = WriteSet::new(TxnId(thread + 1));
            for _ in 0..10 {
                let at = key(random.below(bench.rows / 2) * 2 + thread);
                owner
                    .lock(&Resource::Key(DatabaseId(5), TREE, &at), Mode::X, Wait::Forever)
                    .expect("own rows");
                black_box(bench.store.get_latest(Some(&set), TREE, &at).expect("found"));
                bench.store.put(&mut set, TREE, &at, &row).expect("own rows");
            }
            owner.release_all();
            bench.commit(set);
            10
        });
        bench.run("update, one hot row", threads, |bench, owner, _, thread| {
            let at = key(0);
            let mut set = WriteSet::new(TxnId(thread + 1));
            owner
                .lock(&Resource::Key(DatabaseId(5), TREE, &at), Mode::X, Wait::Forever)
                .expect("no deadlock");
            black_box(bench.store.get_latest(Some(&set), TREE, &at).expect("found"));
            bench.store.put(&mut set, TREE, &at, &row).expect("locked");
            let lsn = Lsn(bench.lsn.fetch_add(64, Ordering::Relaxed) + 64);
            set.status().commit_at(lsn);
            owner.release_all();
            set.commit();
            bench.store.advance_stable(lsn);
            1
        });
        bench.run("insert, random, 10 per commit", threads, |bench, owner, random, thread| {
            let mut set = WriteSet::new(TxnId(thread + 1));
            for _ in 0..10 {
                let mut at = key(random.below(bench.rows));
                at[12..].copy_from_slice(&(random.next() as u32).to_be_bytes());
                owner
                    .lock(&Resource::Key(DatabaseId(5), TREE, &at), Mode::X, Wait::Forever)
                    .expect("no deadlock");
                // The one in a million that is there already counts as well.
                let _ = bench.store.insert(&mut set, TREE, &at, &row);
            }
            owner.release_all();
            bench.commit(set);
            10
        });
        bench.run("insert, ascending, 10 per commit", threads, |bench, owner, _, thread| {
            let mut set = WriteSet::new(TxnId(thread + 1));
            for _ in 0..10 {
                let at = key(next.fetch_add(1, Ordering::Relaxed));
                owner
                    .lock(&Resource::Key(DatabaseId(5), TREE, &at), Mode::X, Wait::Forever)
                    .expect("no deadlock");
                bench.store.insert(&mut set, TREE, &at, &row).expect("new");
            }
            owner.release_all();
            bench.commit(set);
            10
        });
    }
    if std::env::args().nth(2).is_none() {
        let start = Instant::now();
        let report = bench.store.begin_checkpoint().run(&CheckpointOptions::default()).expect("memory");
        let merged = report.merge.changes.max(1);
        println!("checkpoint: {merged} changes, {} evicted, {:?}", report.evicted.evicted, start.elapsed());
    }
}
