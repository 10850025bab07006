//! Each anomaly, planted and found; and histories in which nothing is wrong.

use super::*;
use Step::{Append, Read};

fn ok(steps: Vec<Step>) -> Transaction {
    Transaction { steps, outcome: Outcome::Ok }
}

fn read(list: i64, seen: &[i64]) -> Step {
    Read(list, Some(seen.to_vec()))
}

fn kinds(history: &[Transaction], last: &[(i64, &[i64])]) -> Vec<Kind> {
    let last = last.iter().map(|(list, numbers)| (*list, numbers.to_vec())).collect();
    let mut kinds: Vec<Kind> = check(history, &last).into_iter().map(|a| a.kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn a_serial_history_is_fine() {
    let history = [
        ok(vec![Append(1, 1), Append(1, 2), read(1, &[1, 2])]),
        ok(vec![read(1, &[1, 2]), Append(2, 3)]),
        Transaction { steps: vec![Append(1, 4)], outcome: Outcome::Fail },
        Transaction { steps: vec![Append(2, 5)], outcome: Outcome::Info },
        ok(vec![read(2, &[3, 5]), read(1, &[1, 2])]),
    ];
    assert_eq!(kinds(&history, &[(1, &[1, 2]), (2, &[3, 5])]), []);
}

#[test]
fn what_a_transaction_read_counts_when_it_has_committed() {
    let read_then_lost = |outcome| {
        [
            Transaction { steps: vec![Append(1, 1)], outcome: Outcome::Info },
            Transaction { steps: vec![read(1, &[1])], outcome },
            ok(vec![Append(1, 2)]),
        ]
    };
    assert_eq!(kinds(&read_then_lost(Outcome::Info), &[(1, &[2])]), []);
    assert_eq!(kinds(&read_then_lost(Outcome::Ok), &[(1, &[2])]), [Kind::Parted]);
}

#[test]
fn a_lost_append_is_found() {
    let history = [ok(vec![Append(1, 1)]), ok(vec![Append(1, 2)])];
    assert_eq!(kinds(&history, &[(1, &[1])]), [Kind::Lost]);
    let unknown = [Transaction { steps: vec![Append(1, 1)], outcome: Outcome::Info }];
    assert_eq!(kinds(&unknown, &[(1, &[])]), []);
}

#[test]
fn phantoms_and_doubles_are_found() {
    let history = [ok(vec![Append(1, 1)])];
    assert_eq!(kinds(&history, &[(1, &[1, 7])]), [Kind::Phantom]);
    assert_eq!(kinds(&history, &[(1, &[1, 1])]), [Kind::Doubled]);
}

#[test]
fn lists_that_part_are_found() {
    let history = [ok(vec![Append(1, 1)]), ok(vec![Append(1, 2)]), ok(vec![read(1, &[2])])];
    assert!(kinds(&history, &[(1, &[1, 2])]).contains(&Kind::Parted));
}

#[test]
fn a_transaction_sees_what_it_has_appended() {
    let history = [ok(vec![Append(1, 1), read(1, &[])])];
    assert_eq!(kinds(&history, &[(1, &[1])]), [Kind::Internal]);
}

#[test]
fn aborted_and_intermediate_reads_are_found() {
    let aborted =
        [Transaction { steps: vec![Append(1, 1)], outcome: Outcome::Fail }, ok(vec![read(1, &[1])])];
    assert!(kinds(&aborted, &[(1, &[])]).contains(&Kind::G1a));
    let intermediate = [ok(vec![Append(1, 1), Append(1, 2)]), ok(vec![read(1, &[1])])];
    assert!(kinds(&intermediate, &[(1, &[1, 2])]).contains(&Kind::G1b));
}

#[test]
fn dirty_writes_are_found() {
    let history = [ok(vec![Append(1, 1), Append(2, 1)]), ok(vec![Append(1, 2), Append(2, 2)])];
    assert_eq!(kinds(&history, &[(1, &[1, 2]), (2, &[2, 1])]), [Kind::G0]);
}

#[test]
fn circular_information_is_found() {
    let history = [ok(vec![Append(1, 1), read(2, &[2])]), ok(vec![Append(2, 2), read(1, &[1])])];
    assert_eq!(kinds(&history, &[(1, &[1]), (2, &[2])]), [Kind::G1c]);
}

#[test]
fn a_torn_snapshot_is_one_antidependency() {
    let history = [ok(vec![Append(1, 1), Append(2, 2)]), ok(vec![read(1, &[1]), read(2, &[])])];
    assert_eq!(kinds(&history, &[(1, &[1]), (2, &[2])]), [Kind::GSingle]);
    assert!(Kind::GSingle.is_allowed(Isolation::ReadCommitted));
    assert!(!Kind::GSingle.is_allowed(Isolation::Snapshot));
}

#[test]
fn write_skew_is_two() {
    let history = [ok(vec![read(1, &[]), Append(2, 2)]), ok(vec![read(2, &[]), Append(1, 1)])];
    assert_eq!(kinds(&history, &[(1, &[1]), (2, &[2])]), [Kind::G2]);
    assert!(Kind::G2.is_allowed(Isolation::Snapshot));
    assert!(!Kind::G2.is_allowed(Isolation::Serializable));
}

#[test]
fn lost_updates_are_found_at_snapshot() {
    let history = [ok(vec![read(1, &[]), Append(1, 1)]), ok(vec![read(1, &[]), Append(1, 2)])];
    assert_eq!(kinds(&history, &[(1, &[1, 2])]), [Kind::GSingle]);
}
