//! What clients see while machines fail, judged afterwards; see `keel_bench::histories`. `keel-bench histories` runs the same for
//! longer and with partitions.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use keel_bench::histories::{Fault, Settings, run};
use keel_workload::history::lists::Isolation;
use std::path::Path;
use std::time::Duration;

#[test]
fn nothing_is_lost_torn_or_out_of_order_while_machines_fail() {
    let dir = std::env::temp_dir().join(format!("keel-histories-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let settings = Settings {
        time: Duration::from_secs(8),
        seed: 5,
        clients: 2,
        faults: vec![Fault::Kill, Fault::Kill, Fault::PauseSecondary, Fault::Planned],
        isolation: Isolation::Serializable,
        stale_reads: Duration::from_secs(1),
        apart: false,
    };
    let outcome = run(Path::new(env!("CARGO_BIN_EXE_keel")), &dir, &settings).unwrap();
    eprintln!("{}", outcome.report());
    assert!(outcome.violations.is_empty(), "{}\n{}", outcome.report(), outcome.violations.join("\n"));
    assert!(outcome.counts.lists[0] > 0 && outcome.counts.registers[0] > 0 && outcome.counts.transfers > 0);
    std::fs::remove_dir_all(&dir).unwrap();
}
