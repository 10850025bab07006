//! Every fuzz target over its seeds, those of bytes over mutations of them too, the same in every run. The seeds of text are the
//! golden scripts: mutations of them would be others with every script, so they run only when asked for.
//! `KEEL_FUZZ_ROUNDS=n` runs n mutations of each seed, `KEEL_FUZZ_SEED=n` others of them.

use keel_base::env::sim::SplitMix;
use keel_fuzz::{TARGETS, mutate};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Runs a target over its seeds (at most `seeds_max`, spread evenly) and `rounds` mutations of each.
fn check(name: &str, seeds_max: usize, rounds: u64) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("the target exists");
    let seeds = (target.seeds)();
    let rounds = number("KEEL_FUZZ_ROUNDS").unwrap_or(rounds);
    let mut random = SplitMix(number("KEEL_FUZZ_SEED").unwrap_or(1));
    let every = if number("KEEL_FUZZ_ROUNDS").is_some() { 1 } else { seeds.len().div_ceil(seeds_max).max(1) };
    let mut found = Vec::new();
    for seed in seeds.iter().step_by(every) {
        run(target.run, seed, &mut found);
        for _ in 0..rounds {
            let input = if target.is_text {
                mutate::text(&String::from_utf8_lossy(seed), &mut random).into_bytes()
            } else {
                let mut input = seed.clone();
                mutate::bytes(&mut input, &mut random);
                input
            };
            run(target.run, &input, &mut found);
        }
    }
    assert!(found.is_empty(), "{} findings, the first:\n{}", found.len(), found.join("\n----\n"));
}

fn run(target: fn(&[u8]), input: &[u8], found: &mut Vec<String>) {
    if catch_unwind(AssertUnwindSafe(|| target(input))).is_err() && found.len() < 20 {
        found.push(String::from_utf8(input.to_vec()).unwrap_or_else(|_| format!("{input:?}")));
    }
}

#[test]
fn tds_requests() {
    check("tds_requests", 100, 500);
}

#[test]
fn tds_responses() {
    check("tds_responses", 100, 500);
}

#[test]
fn peers() {
    check("peers", 100, 500);
}

#[test]
fn shapes() {
    check("shapes", 100, 500);
}

#[test]
fn schemas() {
    check("schemas", 200, 2_000);
}

#[test]
fn xml() {
    check("xml", 100, 500);
}

#[test]
fn files() {
    check("files", 30, 1);
}

#[test]
fn parse() {
    check("parse", 300, 0);
}

#[test]
fn execute() {
    check("execute", 40, 0);
}
