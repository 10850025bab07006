//! Golden scripts: SQL in, transcript out.

#[test]
fn basics() {
    crate::common::golden("basics");
}

#[test]
fn queries() {
    crate::common::golden("queries");
}

#[test]
fn changes() {
    crate::common::golden("changes");
}

#[test]
fn plans() {
    crate::common::golden("plans");
}

#[test]
fn texts() {
    crate::common::golden("texts");
}

#[test]
fn locking() {
    crate::common::golden("locking");
}

#[test]
fn shared() {
    crate::common::golden("shared");
}

#[test]
fn star() {
    crate::common::golden("star");
}
