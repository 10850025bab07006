//! Two thousand short worlds, and every script of a bug that was found.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use keel_sim::{Plan, run, shrink};
use std::collections::BTreeSet;
use std::path::Path;

/// Milliseconds of virtual time before the faults stop.
const LENGTH: u64 = 6_000;

/// What a thousand worlds must reach, or they prove little.
const REACHED: [&str; 16] = [
    "power lost",
    "session timed out",
    "log cut",
    "gap in the blocks",
    "entered the set",
    "left the set: disconnected",
    "left the set: stopped",
    "left the set: stalled",
    "left the set: configured",
    "role given up",
    "handover called off",
    "forced, synchronized",
    "forced, not synchronized",
    "fenced by a newer epoch",
    "suspended by a forced failover",
    "record not written",
];

fn seeds(from: u64, count: u64) {
    let mut reached = BTreeSet::new();
    for seed in from..from + count {
        let plan = Plan::grow(seed, LENGTH);
        match run(&plan) {
            Ok(summary) => reached.extend(summary.probes.into_keys()),
            Err(error) => {
                let (small, why) = shrink(&plan, 300);
                panic!("seed {seed}: {error}\nshrunk to a script that fails with: {why}\n{small}");
            }
        }
    }
    let missed: Vec<&str> = REACHED.into_iter().filter(|name| !reached.contains(name)).collect();
    assert!(missed.is_empty(), "no world reached: {missed:?}");
}

// Halves, so that two cores share them.
#[test]
fn a_thousand_worlds_keep_the_promises() {
    seeds(1, 1000);
}

#[test]
fn another_thousand_worlds_keep_the_promises() {
    seeds(1001, 1000);
}

#[test]
fn what_was_found_once_stays_found() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> = std::fs::read_dir(scripts).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let plan = Plan::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        if let Err(error) = run(&plan) {
            panic!("{}: {error}", path.display());
        }
    }
}

#[test]
fn a_world_is_the_same_every_time() {
    let plan = Plan::grow(7, LENGTH);
    assert_eq!(run(&plan), run(&plan));
}

#[test]
fn a_plan_survives_its_text() {
    for seed in 1..50 {
        let plan = Plan::grow(seed, LENGTH);
        assert_eq!(Plan::parse(&plan.to_string()), Ok(plan));
    }
}
