//! Commit latency and throughput of the log alone, on the real disk.
//!
//! `cargo run --release -p keel-log --example commit_bench -- [DIR] [SECONDS] [BYTES]`
#![allow(missing_docs)]

use keel_base::env::Env;
use keel_log::{Log, LogOptions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let dir = args.get(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let seconds: u64 = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(3);
    let bytes: usize = args.get(3).and_then(|s| s.parse().ok()).unwrap_or(2048);
    println!("{bytes} bytes per commit, {seconds} s each");
    for threads in [1usize, 2, 4, 8, 16] {
        let dir = dir.join(format!("keel-log-bench-{}-{threads}", std::process::id()));
        let options = LogOptions { segment_bytes: 64 << 20, ..LogOptions::default() };
        let log = Log::create(&Env::real(), &dir, options).expect("the log is made");
        run(&log, threads, Duration::from_secs(seconds), bytes);
        std::fs::remove_dir_all(&dir).expect("the log is removed");
    }
}

fn run(log: &Log, threads: usize, time: Duration, bytes: usize) {
    let stop = AtomicBool::new(false);
    let began = Instant::now();
    let mut times: Vec<u64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| commit_until(log, &stop, bytes))).collect();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        workers.into_iter().flat_map(|w| w.join().expect("a worker ends")).collect()
    });
    let took = began.elapsed().as_secs_f64();
    times.sort_unstable();
    let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize] as f64 / 1000.0;
    let stats = log.stats();
    println!(
        "{threads:2} threads: {:8.0} commits/s  p50 {:6.1} p99 {:6.1} max {:8.1} us  {:.2} commits/flush  {:.1} us/flush",
        times.len() as f64 / took,
        at(0.5),
        at(0.99),
        at(1.0),
        stats.appends as f64 / stats.flushes as f64,
        stats.flush_nanos as f64 / stats.flushes as f64 / 1000.0,
    );
}

fn commit_until(log: &Log, stop: &AtomicBool, bytes: usize) -> Vec<u64> {
    let record = vec![7u8; bytes];
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let lsn = log.append(&record, |_| ()).expect("the log takes it");
        log.wait_hardened(lsn).expect("the log hardens");
        times.push(began.elapsed().as_nanos() as u64);
        if times.len() % 1000 == 0 {
            log.truncate_before(lsn);
        }
    }
    times
}
