//! What holds while many sessions change everything at once, and a kill comes between; see `keel_bench::consistency`. `keel bench
//! consistency` runs the same for longer, with a group as well.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use keel_bench::consistency::{Settings, run};
use keel_bench::progress::Progress;
use std::path::Path;
use std::time::Duration;

#[test]
fn every_way_to_the_rows_gives_the_same_while_everything_changes() {
    let dir = std::env::temp_dir().join(format!("keel-consistency-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let settings = Settings { time: Duration::from_secs(8), seed: 11, clients: 1, memory: 160, group: false };
    let outcome = run(Path::new(env!("CARGO_BIN_EXE_keel")), &dir, &settings, &Progress::new()).unwrap();
    eprintln!("{outcome:?}");
    assert!(outcome.violations.is_empty(), "seed {}:\n{}", settings.seed, outcome.violations.join("\n"));
    assert!(outcome.rounds > 0 && outcome.acknowledged > 0);
    for what in ["transfers", "invariants looked at", "changes by owners", "checkpoints"] {
        assert!(outcome.done.get(what).is_some_and(|n| *n > 0), "no {what}: {outcome:?}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
