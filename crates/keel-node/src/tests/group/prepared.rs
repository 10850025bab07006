//! Prepared transactions in a group: they go with the log, and are in doubt on whoever is primary.

use super::super::prepared::{doubted, is_locked, number_of, prepare};
use super::*;
use std::collections::BTreeSet;

/// Sends everything, which is agreed on then.
fn agree(from: &Arc<Database>, to: &Arc<Database>, epoch: u64) -> Lsn {
    let end = from.log().unwrap().flush().unwrap();
    send(from, to, epoch);
    from.advance_agreed(end);
    to.apply_up_to(end).unwrap();
    assert!(to.wait_applied(end, LONG));
    end
}

fn value(db: &Arc<Database>, key: &[u8]) -> Option<String> {
    all_of(db).get(&(TREE.0, key.to_vec())).map(|row| value_of(row))
}

#[test]
fn a_new_primary_has_it_in_doubt_and_so_has_the_old_one_when_it_leads_again() {
    let (a, b, disk_b) = pair(0);
    prepare(&a, "x", &[b"first", b"k"]).unwrap();
    agree(&a, &b, 1);
    assert!(doubted(&b).is_empty(), "a secondary decides nothing");
    b.checkpoint().unwrap();
    assert_eq!(b.log_reuse_wait(), LogReuseWait::ActiveTransaction);
    a.demote().unwrap();
    assert!(doubted(&a).is_empty() && !is_locked(&a, b"first"));
    b.promote(Epoch(2)).unwrap();
    b.set_waiting(false).unwrap();
    assert_eq!(doubted(&b), BTreeSet::from(["x".to_owned()]));
    assert!(is_locked(&b, b"first") && is_locked(&b, b"k"));
    write(&b, b"other", "v").wait().unwrap();
    agree(&b, &a, 2);
    a.checkpoint().unwrap();
    // Back, still in doubt; decided there.
    b.demote().unwrap();
    a.promote(Epoch(3)).unwrap();
    a.set_waiting(false).unwrap();
    assert_eq!(doubted(&a), BTreeSet::from(["x".to_owned()]));
    assert!(is_locked(&a, b"k"));
    a.commit_prepared(number_of(&a, "x")).unwrap().unwrap().wait().unwrap();
    agree(&a, &b, 3);
    assert_eq!((value(&a, b"k"), value(&b, b"k")), (Some("x".into()), Some("x".into())));
    assert_eq!(all_of(&a), all_of(&b));
    b.checkpoint().unwrap();
    assert_eq!(b.positions().redo_start, b.positions().checkpoint);
    let again = reopen(&disk_b.crash(Tear::LoseAll), 7);
    again.leave_group().unwrap();
    assert_eq!((all_of(&again), doubted(&again).len()), (all_of(&a), 0));
}

#[test]
fn its_commit_reaches_a_former_primary_that_has_forgotten_its_rows() {
    let (a, b, _) = pair(0);
    prepare(&a, "x", &[b"k"]).unwrap();
    agree(&a, &b, 1);
    a.fence("moved");
    b.promote(Epoch(2)).unwrap();
    b.set_waiting(false).unwrap();
    a.demote().unwrap();
    b.commit_prepared(number_of(&b, "x")).unwrap().unwrap().wait().unwrap();
    agree(&b, &a, 2);
    assert_eq!((value(&a, b"k"), all_of(&a)), (Some("x".into()), all_of(&b)));
}

#[test]
fn a_decision_that_nobody_agreed_on_is_cut_off_and_it_is_in_doubt_again() {
    for commit in [true, false] {
        let (a, b, _) = pair(0);
        prepare(&a, "x", &[b"k"]).unwrap();
        agree(&a, &b, 1);
        a.set_waiting(true).unwrap();
        // The decision is only in the old primary's log.
        let stream = number_of(&a, "x");
        let decided = if commit { a.commit_prepared(stream) } else { a.rollback_prepared(stream) };
        let decided = decided.unwrap().unwrap();
        a.log().unwrap().flush().unwrap();
        a.fence("the others went on");
        assert!(matches!(decided.wait(), Err(TxnError::InDoubt(_))));
        let parted = b.promote(Epoch(2)).unwrap();
        b.set_waiting(false).unwrap();
        a.demote().unwrap();
        a.cut(parted).unwrap();
        agree(&b, &a, 2);
        a.checkpoint().unwrap();
        assert_eq!(value(&a, b"k"), None);
        // It goes the other way at the new one, and everybody follows.
        let stream = number_of(&b, "x");
        let other = if commit { b.rollback_prepared(stream) } else { b.commit_prepared(stream) };
        other.unwrap().unwrap().wait().unwrap();
        agree(&b, &a, 2);
        assert_eq!(value(&a, b"k"), (!commit).then(|| "x".to_owned()));
        assert_eq!(all_of(&a), all_of(&b));
    }
}

#[test]
fn a_session_of_the_old_primary_is_not_in_the_way() {
    let (a, b, _) = pair(0);
    let mut txn = a.begin(Isolation::ReadCommitted);
    txn.insert(TREE, b"k", &simple("x")).unwrap();
    txn.prepare(b"x").unwrap().wait().unwrap();
    agree(&a, &b, 1);
    a.demote().unwrap();
    a.promote(Epoch(2)).unwrap();
    a.set_waiting(false).unwrap();
    assert_eq!(doubted(&a), BTreeSet::from(["x".to_owned()]));
    // The session ends at last: that decides nothing.
    drop(txn);
    a.checkpoint().unwrap();
    a.commit_prepared(number_of(&a, "x")).unwrap().unwrap().wait().unwrap();
    assert_eq!(value(&a, b"k"), Some("x".into()));
    let _ = b;
}

#[test]
fn a_copy_that_is_seeded_meanwhile_has_it() {
    let a = fresh();
    put(&a, b"first", "row");
    a.enter_group(Epoch(1)).unwrap();
    prepare(&a, "x", &[b"first"]).unwrap();
    a.checkpoint().unwrap();
    put(&a, b"later", "row");
    let disk = SimDisk::new();
    let instance = threaded(&disk, 4, 1);
    let source = SeedSource::open(&a, "seed b", 1).unwrap();
    let path = Path::new("copy/db9");
    let sink = SeedSink::create(&instance, DatabaseId(9), path, source.info()).unwrap();
    let (mut after, mut goes_on) = (sink.position(0).unwrap(), true);
    while goes_on {
        let (chunk, next) = source.chunk(0, &after, 4000).unwrap();
        sink.apply(&[chunk]).unwrap();
        goes_on = next.is_some();
        after = next.unwrap_or_default();
    }
    let b = sink.finish(&db_options()).unwrap();
    b.demote().unwrap();
    b.checkpoint().unwrap();
    agree(&a, &b, 1);
    a.demote().unwrap();
    b.promote(Epoch(2)).unwrap();
    b.set_waiting(false).unwrap();
    assert_eq!(doubted(&b), BTreeSet::from(["x".to_owned()]));
    b.commit_prepared(number_of(&b, "x")).unwrap().unwrap().wait().unwrap();
    assert_eq!(value(&b, b"first"), Some("x".into()));
}
