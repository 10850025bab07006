//! Golden scripts: SQL in, transcript out.
mod common;

#[test]
fn basics() {
    common::golden("basics");
}

#[test]
fn queries() {
    common::golden("queries");
}

#[test]
fn changes() {
    common::golden("changes");
}

#[test]
fn plans() {
    common::golden("plans");
}

#[test]
fn texts() {
    common::golden("texts");
}

#[test]
fn locking() {
    common::golden("locking");
}

#[test]
fn shared() {
    common::golden("shared");
}

#[test]
fn star() {
    common::golden("star");
}
