//! The demo as a newcomer runs it, its lines read by a program.

#![allow(clippy::unwrap_used, reason = "a test: what fails should stop it")]

use std::process::Command;

#[test]
fn the_demo_goes_on_without_its_primary_and_proves_it() {
    let data = std::env::temp_dir().join(format!("keel-demo-test-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_keel"))
        .args(["demo", "--plain", "--exit", "--seconds", "2", "--clients", "2", "--data"])
        .arg(&data)
        .env_remove("MSSQL_SA_PASSWORD")
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    for expected in ["kill -9 of the primary, NODE1", "took over; clients waited", "NODE1 follows"] {
        assert!(said.contains(expected), "no {expected:?} in {said}");
    }
    for node in ["NODE1", "NODE2", "NODE3"] {
        assert!(said.contains(&format!("{node}: all of it is there, nothing else")), "{said}");
    }
    assert!(!data.exists(), "it cleans up");
}

#[test]
fn a_directory_with_something_in_it_is_refused() {
    let data = std::env::temp_dir().join(format!("keel-demo-full-{}", std::process::id()));
    std::fs::create_dir_all(data.join("precious")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_keel"))
        .args(["demo", "--plain", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!output.status.success() && said.contains("is not empty"), "{said}");
    assert!(data.join("precious").exists(), "nothing of it is touched");
    std::fs::remove_dir_all(&data).unwrap();
}
