//! How fast redo is beside the writing of the same log: one thread runs transactions of ten row changes each, then one
//! thread applies their log to a copy. Everything is in memory, so that disks have no say, and what counts is the time
//! that the thread was on a processor (Linux), so that a busy machine has none either.
//!
//! `cargo run --release -p keel-node --example redo_bench [transactions]`

use keel_base::env::sim::{SimDisk, SplitMix, Tear, env};
use keel_base::{DatabaseId, Epoch, TreeId};
use keel_node::{Database, DbOptions, Instance, InstanceOptions, Isolation};
use keel_store::row::PatchBuilder;
use keel_store::row::RowBuilder;
use keel_store::row::patch::diff;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DIR: &str = "db";
const TREE: TreeId = TreeId(10);
const ROWS: u64 = 100_000;
const CHANGES: u64 = 10;
const ROW_BYTES: usize = 200;

fn instance(disk: &Arc<SimDisk>) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: 8 << 30,
        automatic_checkpoints: false,
        redo_workers: 0,
        ..InstanceOptions::default()
    };
    Instance::new(env(disk, 1), options)
}

fn row(n: u64, filler: u8) -> Vec<u8> {
    RowBuilder::build(&[Some(&n.to_le_bytes()), Some(&[filler; ROW_BYTES]), Some(b"end")])
}

fn transaction(db: &Arc<Database>, dice: &mut SplitMix, patch: &mut PatchBuilder) {
    let mut txn = db.begin(Isolation::ReadCommitted);
    let mut keys: Vec<u64> = (0..CHANGES).map(|_| dice.below(ROWS)).collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        let key = key.to_be_bytes();
        txn.lock_row(TREE, &key, keel_node::LockMode::Exclusive).expect("nobody else is there");
        let old = txn.get_latest(TREE, &key).expect("in memory");
        match old {
            None => txn.insert(TREE, &key, &row(dice.next(), 1)).expect("in memory"),
            Some(old) => {
                let new = row(dice.next(), old[20]);
                let patch = diff(&old, &new, patch);
                txn.update(TREE, &key, &new, Some(patch)).expect("in memory");
            }
        }
    }
    let commit = txn.commit().expect("the log has room");
    // As a group commit does: one flush for many.
    if commit.lsn().0.is_multiple_of(64) {
        commit.wait().expect("in memory");
    }
}

/// Time that this thread has been on a processor.
fn on_processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts this");
    let nanos = stat.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    Duration::from_nanos(nanos)
}

fn rate(bytes: u64, took: Duration) -> f64 {
    bytes as f64 / took.as_secs_f64() / 1e6
}

fn main() {
    let transactions = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(100_000u64);
    let disk = SimDisk::new();
    let primary = Database::create(&instance(&disk), DatabaseId(5), Path::new(DIR), &DbOptions::default())
        .expect("an empty disk");
    primary.enter_group(Epoch(1)).expect("it stands alone");
    let start = disk.crash(Tear::KeepAll);
    let (mut dice, mut patch) = (SplitMix(1), PatchBuilder::new());
    let began = on_processor();
    for _ in 0..transactions {
        transaction(&primary, &mut dice, &mut patch);
    }
    let wrote = on_processor() - began;
    let log = primary.log().expect("durable");
    let end = log.flush().expect("in memory");
    println!("log written by one thread: {:.0} MB/s ({:.1} MB)", rate(end.0, wrote), end.0 as f64 / 1e6);
    let disk = start.crash(Tear::KeepAll);
    let copy = instance(&disk);
    let copy = Database::open(&copy, DatabaseId(5), Path::new(DIR), &DbOptions::default(), &mut |_| ())
        .expect("a whole copy");
    copy.demote().expect("it is in the group");
    let mut scanner = log.scan(copy.log().expect("durable").appended()).expect("all log is kept");
    while let Some(block) = scanner.next().expect("in memory") {
        copy.receive(Epoch(1), block.bytes).expect("the next block");
    }
    copy.harden().expect("in memory");
    let began = on_processor();
    copy.apply_up_to(end).expect("it follows");
    let took = on_processor() - began;
    assert!(copy.applied() == end, "without redo threads it is done on this one");
    println!(
        "applied by one thread: {:.0} MB/s, {:.1} x",
        rate(end.0, took),
        rate(end.0, took) / rate(end.0, wrote)
    );
}
