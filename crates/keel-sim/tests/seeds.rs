//! More than two thousand short worlds, some with real databases, some of two groups, every script of a bug that was found, and the transcript of every rule of decision.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use keel_sim::{Plan, run, shrink};
use std::collections::BTreeSet;
use std::path::Path;

/// Milliseconds of virtual time before the faults stop.
const LENGTH: u64 = 6_000;

/// What a thousand worlds must reach, or they prove little.
const REACHED: [&str; 24] = [
    "group dropped",
    "group made anew",
    "written alone",
    "session time-out changed",
    "listeners changed",
    "copy left alone",
    "copy joined again",
    "ended by a failure of its disk",
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

/// What two hundred pairs of groups must reach.
const PAIRS_REACH: [&str; 12] = [
    "copy left alone",
    "copy joined again",
    "role given up to the other side",
    "role taken that was given up",
    "role taken by force",
    "two sides are the source",
    "suspended by a forced failover",
    "log cut",
    "failed over: closed",
    "session timed out",
    "power lost",
    "ended by a failure of its disk",
];

/// What five hundred clusters must reach.
const CLUSTERS_REACH: [&str; 38] = [
    "group dropped",
    "group made anew",
    "written alone",
    "let go, restoring",
    "session time-out changed",
    "listeners changed",
    "failover mode changed",
    "seeding mode changed",
    "database removed",
    "witness asked in again",
    "copy left alone",
    "copy joined again",
    "disk of before",
    "record older than what was acknowledged",
    "redo stood still",
    "sent no more than can be redone",
    "writers slowed",
    "left the set: behind",
    "own log heard of later",
    "ended by a failure of its disk",
    "member removed",
    "replica added",
    "quorum forced",
    "power lost",
    "everybody lost power",
    "disk lost",
    "failed over: closed",
    "failed over: silent",
    "failed over: deaf",
    "failed over: gave up",
    "role resumed",
    "quorum lost",
    "unfit to lead",
    "fenced by a newer epoch",
    "left the set: disconnected",
    "left the set: stalled",
    "log cut",
    "role given up",
];

/// What three hundred clusters with a manager from outside must reach.
const MANAGED_REACH: [&str; 10] = [
    "copy left alone",
    "copy joined again",
    "promoted by the cluster manager",
    "told to follow",
    "role given up",
    "power lost",
    "quorum lost",
    "log cut",
    "fenced by a newer epoch",
    "left the set: disconnected",
];

/// What worlds with real databases must reach beside that.
const REAL_REACH: [&str; 15] = [
    "encrypted database",
    "ended by a failure of its disk",
    "own log heard of later",
    "rows compared with the model",
    "rows merged ahead of the checkpoint",
    "snapshot read again",
    "records larger than a block",
    "stream aborted",
    "transaction that was open for long",
    "transaction ended by a change of role",
    "rows taken back",
    "log cut",
    "refused: log gone",
    "no room for a block",
    "delayed commit read before it was agreed",
];

fn real(seed: u64, length: u64) -> Plan {
    let plan =
        if seed.is_multiple_of(2) { Plan::grow(seed, length) } else { Plan::grow_cluster(seed, length) };
    plan.with_real_databases()
}

/// One world of each kind.
fn kinds(seed: u64) -> [Plan; 5] {
    let [none, cluster, external, pair] =
        [Plan::grow, Plan::grow_cluster, Plan::grow_external, Plan::grow_pair].map(|grow| grow(seed, LENGTH));
    [none, cluster, external, pair, real(seed, LENGTH)]
}

fn seeds(from: u64, count: u64, grow: fn(u64, u64) -> Plan, must_reach: &[&str]) {
    let mut reached = BTreeSet::new();
    for seed in from..from + count {
        let plan = grow(seed, LENGTH);
        match run(&plan) {
            Ok(summary) => reached.extend(summary.probes.into_keys()),
            Err(error) => {
                let (small, why) = shrink(&plan, 300);
                panic!("seed {seed}: {error}\nshrunk to a script that fails with: {why}\n{small}");
            }
        }
    }
    let missed: Vec<&&str> = must_reach.iter().filter(|name| !reached.contains(**name)).collect();
    assert!(missed.is_empty(), "no world reached: {missed:?}");
}

#[test]
fn nine_hundred_worlds_keep_the_promises() {
    seeds(1, 900, Plan::grow, &REACHED);
}

// Halves, so that two cores share them.
#[test]
fn hundreds_of_clusters_heal_themselves() {
    seeds(1, 450, Plan::grow_cluster, &CLUSTERS_REACH);
}

#[test]
fn hundreds_more_clusters_heal_themselves() {
    seeds(501, 450, Plan::grow_cluster, &CLUSTERS_REACH);
}

#[test]
fn clusters_keep_the_promises_whatever_a_manager_says() {
    seeds(1, 300, Plan::grow_external, &MANAGED_REACH);
}

#[test]
fn pairs_of_groups_keep_the_promises() {
    seeds(1, 180, Plan::grow_pair, &PAIRS_REACH);
}

#[test]
fn more_pairs_of_groups_keep_the_promises() {
    seeds(1001, 180, Plan::grow_pair, &PAIRS_REACH);
}

#[test]
fn real_databases_keep_the_promises() {
    seeds(1, 160, real, &REAL_REACH);
}

#[test]
fn more_real_databases_keep_the_promises() {
    seeds(1001, 100, real, &REAL_REACH);
}

/// No decision rests on what the wall clock says.
#[test]
fn a_world_is_the_same_whatever_its_wall_clocks_say() {
    for seed in 1..12 {
        for plan in kinds(seed) {
            let steady = Plan { walls: 0, ..plan.clone() };
            assert_ne!(plan, steady);
            assert_eq!(run(&plan), run(&steady), "{plan}");
        }
    }
}

/// Each rule of decision has a script and a transcript. `KEEL_UPDATE=1` writes the transcripts anew.
#[test]
fn every_rule_has_its_transcript() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    let mut paths: Vec<_> = std::fs::read_dir(rules).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 10);
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let (script, wanted) = text.split_once("---\n").unwrap_or((&text, ""));
        let plan = Plan::parse(script).unwrap();
        let story = match keel_sim::story(&plan) {
            Ok(lines) => lines.join("\n") + "\n",
            Err(error) => panic!("{}: {error}", path.display()),
        };
        if std::env::var_os("KEEL_UPDATE").is_some() {
            std::fs::write(&path, format!("{script}---\n{story}")).unwrap();
        } else {
            assert_eq!(story, wanted, "{}", path.display());
        }
    }
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
    for plan in kinds(7).into_iter().chain([real(8, LENGTH)]) {
        assert_eq!(run(&plan), run(&plan));
    }
}

#[test]
fn a_plan_survives_its_text() {
    for seed in 1..50 {
        for plan in kinds(seed) {
            assert_eq!(Plan::parse(&plan.to_string()), Ok(plan));
        }
    }
}
