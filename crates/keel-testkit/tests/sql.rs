//! The golden scripts of SQL, area by area.

use keel_testkit::{golden, sql};
use std::path::Path;

fn area(name: &str) {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql").join(name);
    golden::check(&scripts, sql::run_script);
}

#[test]
fn types() {
    area("types");
}

#[test]
fn xml() {
    area("xml");
}

#[test]
fn ddl() {
    area("ddl");
}

#[test]
fn dml() {
    area("dml");
}

#[test]
fn queries() {
    area("queries");
}

#[test]
fn procedural() {
    area("procedural");
}

#[test]
fn errors() {
    area("errors");
}

#[test]
fn builtins() {
    area("builtins");
}

#[test]
fn audit() {
    area("audit");
}

#[test]
fn snapshots() {
    area("snapshots");
}

#[test]
fn isolation() {
    area("isolation");
}

#[test]
fn governor() {
    area("governor");
}

#[test]
fn restart() {
    area("restart");
}

#[test]
fn security() {
    area("security");
}

#[test]
fn backup() {
    area("backup");
}

#[test]
fn broker() {
    area("broker");
}

#[test]
fn agent() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql/agent");
    golden::check(&scripts, sql::run_script_with_agent);
}

#[test]
fn events() {
    area("events");
}

#[test]
fn cdc() {
    area("cdc");
}

#[test]
fn full_text() {
    area("full_text");
}
