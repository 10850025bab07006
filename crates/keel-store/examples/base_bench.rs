//! Measures the base tree on a real disk: load, point reads, seeks, scans, merges.
//!
//! `cargo run --release --example base_bench -- <empty directory> [million rows] [cache MB] [parts]`
//!
//! The data are those of the measurements the design rests on: two fifths of the rows have 200-300 bytes under 12-byte
//! keys, the rest 100-160 bytes under 20-byte keys; a random merge changes a tenth of them, a clustered merge adds
//! 25,000 rows at the end of each of 20 ranges.

use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use keel_base::Lsn;
use keel_base::env::Disk;
use keel_base::env::real::RealDisk;
use keel_store::base::{BaseOptions, BaseTree, Change, Direction, MergeOptions, PageCache};

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }
}

/// Shape of the data: `a` rows of the first kind, `b` of the second, in 20 ranges.
#[derive(Clone, Copy)]
struct Shape {
    a: u64,
    b: u64,
}

const RANGES: u64 = 20;

impl Shape {
    fn rows(self) -> u64 {
        self.a + self.b
    }

    fn key(self, n: u64, out: &mut Vec<u8>) {
        out.clear();
        if n < self.a {
            out.extend_from_slice(&1u32.to_be_bytes());
            out.extend_from_slice(&n.to_be_bytes());
        } else {
            let n = n - self.a;
            let per_range = self.b / RANGES;
            self.range_key(n / per_range, n % per_range, out);
        }
    }

    fn range_key(self, range: u64, n: u64, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&2u32.to_be_bytes());
        out.extend_from_slice(&range.to_be_bytes());
        out.extend_from_slice(&n.to_be_bytes());
    }
}

/// Seconds this thread has had a core: what a measurement beside other work can still compare.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

const NOISE: usize = 4096;

fn row(noise: &[u8], a: bool, n: u64) -> &[u8] {
    let mut rng = Rng(n);
    let len = if a { 200 + rng.below(101) } else { 100 + rng.below(61) } as usize;
    let at = rng.below((NOISE - len) as u64) as usize;
    &noise[at..at + len]
}

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().expect("a directory"));
    let millions: f64 = args.next().map_or(5.0, |m| m.parse().expect("a number"));
    let cache_mb: usize = args.next().map_or(2048, |m| m.parse().expect("a number"));
    let parts = args.next().unwrap_or_else(|| "reads,merges,concurrent".into());
    let rows = (millions * 1e6) as u64;
    let shape = Shape { a: rows * 2 / 5, b: (rows * 3 / 5) / RANGES * RANGES };
    let noise: Vec<u8> = {
        let mut rng = Rng(1);
        (0..NOISE).map(|_| rng.next() as u8).collect()
    };
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let path = dir.join("base_bench.keel");
    let _ = disk.remove(&path);
    let cache = PageCache::new(cache_mb << 20);
    let tree = BaseTree::create(&disk, &path, &cache, &BaseOptions::default()).expect("creates");
    let bench = Bench { tree, cache, shape, noise };
    bench.load();
    let wanted = |part: &str| parts.contains(part);
    if wanted("reads") {
        bench.reads("fresh");
    }
    if wanted("merges") {
        (1..=5).for_each(|round| bench.random_merge(round));
        bench.clustered_merge();
    }
    if wanted("reads") {
        bench.reads("aged");
    }
    if wanted("concurrent") {
        bench.concurrent();
    }
    let now = Instant::now();
    let report =
        bench.tree.check(&mut |_, _| std::ops::ControlFlow::Continue(()), &mut |_, _| {}).expect("checks");
    println!(
        "check                 {:>8.2} s, {} pages, {} findings",
        now.elapsed().as_secs_f64(),
        report.pages,
        report.findings_total
    );
    drop(bench);
    let now = Instant::now();
    let tree = BaseTree::open(&disk, &path, &PageCache::new(cache_mb << 20), &BaseOptions::default());
    println!("open                  {:>8.2} ms", now.elapsed().as_secs_f64() * 1e3);
    drop(tree.expect("opens"));
    disk.remove(&path).expect("removes");
}

struct Bench {
    tree: BaseTree,
    cache: Arc<PageCache>,
    shape: Shape,
    noise: Vec<u8>,
}

impl Bench {
    fn load(&self) {
        let Shape { a, .. } = self.shape;
        let now = Instant::now();
        let changes = (0..self.shape.rows()).map(|n| {
            let mut key = Vec::with_capacity(20);
            self.shape.key(n, &mut key);
            (key, Change::Put(row(&self.noise, n < a, n)))
        });
        let cpu = cpu_seconds();
        let report = self.tree.merge(changes, &MergeOptions::at(Lsn(1))).expect("loads");
        let seconds = now.elapsed().as_secs_f64();
        println!(
            "load on CPU           {:>8.2} M rows/s",
            self.shape.rows() as f64 / (cpu_seconds() - cpu) / 1e6
        );
        let stats = self.tree.root().stats();
        println!(
            "load                  {:>8.2} M rows/s, {} chunks, {} MB, height {}",
            self.shape.rows() as f64 / seconds / 1e6,
            report.chunks,
            stats.used_pages * 8 / 1024,
            stats.height
        );
    }

    fn gets(&self, seed: u64, count: u64, new_root_each: bool) -> f64 {
        let (mut rng, mut key, mut bytes) = (Rng(seed), Vec::new(), 0);
        let now = cpu_seconds();
        let mut root = self.tree.root();
        for _ in 0..count {
            if new_root_each {
                root = self.tree.root();
            }
            self.shape.key(rng.below(self.shape.rows()), &mut key);
            bytes += root.get(&key).expect("reads").expect("is there").len();
        }
        assert!(bytes > 0);
        count as f64 / (cpu_seconds() - now) / 1e3
    }

    fn reads(&self, age: &str) {
        self.gets(1, self.shape.rows(), false);
        println!("{age:<6}get 1T           {:>8.0} k/s", self.gets(2, 2_000_000, false));
        println!("{age:<6}get, new root    {:>8.0} k/s", self.gets(3, 1_000_000, true));
        let both: f64 = std::thread::scope(|scope| {
            let threads = [4, 5].map(|seed| scope.spawn(move || self.gets(seed, 2_000_000, false)));
            threads.into_iter().map(|thread| thread.join().expect("joins")).sum()
        });
        println!("{age:<6}get 2T           {both:>8.0} k/s");
        self.seeks(age);
        for direction in [Direction::Forward, Direction::Reverse] {
            let now = cpu_seconds();
            let root = self.tree.root();
            let mut cursor = root.scan(Bound::Unbounded, Bound::Unbounded, direction);
            let (mut rows, mut bytes) = (0u64, 0);
            while let Some((key, row)) = cursor.next().expect("scans") {
                rows += 1;
                bytes += key.len() + row.len();
            }
            let rate = rows as f64 / (cpu_seconds() - now) / 1e6;
            println!("{age:<6}scan {direction:<12?}{rate:>8.1} M rows/s ({} MB)", bytes >> 20);
        }
        println!("{age:<6}cache            {:?}", self.cache.stats());
    }

    fn seeks(&self, age: &str) {
        let (mut rng, mut key, root) = (Rng(6), Vec::new(), self.tree.root());
        let now = cpu_seconds();
        let count = 500_000;
        let mut bytes = 0;
        for _ in 0..count {
            self.shape.key(rng.below(self.shape.rows()), &mut key);
            let mut cursor = root.scan(Bound::Included(&key), Bound::Unbounded, Direction::Forward);
            for _ in 0..10 + rng.below(6) {
                let Some((_, row)) = cursor.next().expect("scans") else { break };
                bytes += row.len();
            }
        }
        assert!(bytes > 0);
        let rate = f64::from(count) / (cpu_seconds() - now) / 1e3;
        println!("{age:<6}seek + 10..15    {rate:>8.0} k/s");
    }

    fn random_merge(&self, round: u64) {
        let mut rng = Rng(100 + round);
        let mut numbers: Vec<u64> =
            (0..self.shape.rows() / 10).map(|_| rng.below(self.shape.rows())).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let changes: Vec<_> = numbers
            .iter()
            .map(|&n| {
                let mut key = Vec::new();
                self.shape.key(n, &mut key);
                (key, Change::Put(row(&self.noise, n < self.shape.a, n)))
            })
            .collect();
        self.report("merge random", changes, round);
    }

    fn clustered_merge(&self) {
        let per_range = self.shape.b / RANGES;
        let mut changes = Vec::new();
        for range in 0..RANGES {
            for n in 0..self.shape.rows() / 200 {
                let mut key = Vec::new();
                self.shape.range_key(range, per_range + n, &mut key);
                changes.push((key, Change::Put(row(&self.noise, false, n))));
            }
        }
        self.report("merge clustered", changes, 99);
    }

    fn report(&self, name: &str, changes: Vec<(Vec<u8>, Change<&[u8]>)>, lsn: u64) {
        let count = changes.len();
        let (now, cpu) = (Instant::now(), cpu_seconds());
        let report = self.tree.merge(changes, &MergeOptions::at(Lsn(lsn))).expect("merges");
        let cpu = cpu_seconds() - cpu;
        let stats = self.tree.root().stats();
        println!(
            "{name:<18}    {:>8.2} s, CPU {cpu:.2} s, {count} changes, {} MB written, {} chunks, file {} MB of which used {} MB",
            now.elapsed().as_secs_f64(),
            report.pages_written * 8 / 1024,
            report.chunks,
            stats.file_pages * 8 / 1024,
            stats.used_pages * 8 / 1024
        );
    }

    /// Point reads on one core while a random merge runs on the other.
    fn concurrent(&self) {
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let (mut rng, mut key, mut times) = (Rng(7), Vec::new(), Vec::new());
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    self.shape.key(rng.below(self.shape.rows()), &mut key);
                    let now = Instant::now();
                    let root = self.tree.root();
                    assert!(root.get(&key).expect("reads").is_some());
                    times.push(now.elapsed().as_nanos() as u64);
                }
                times
            });
            self.random_merge(50);
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            let mut times = reader.join().expect("joins");
            times.sort_unstable();
            let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] as f64 / 1e3;
            println!(
                "reader during merge   p50 {:.1} p99 {:.1} p99.9 {:.1} max {:.0} us",
                at(0.5),
                at(0.99),
                at(0.999),
                at(1.0)
            );
        });
    }
}
