//! Commits with delayed durability in a group: told and seen before anybody has agreed to them, and gone when nobody did.

use super::*;

#[test]
fn what_was_told_and_not_agreed_is_seen_and_goes_with_a_failover() {
    let (primary, secondary, _) = pair(2);
    let agreed = primary.set_waiting(true).unwrap();
    let before = all_of(&primary);
    write(&primary, b"told", "1").delay().unwrap();
    assert_eq!(all_of(&primary).len(), before.len() + 1, "every reader sees it");
    let mut locking = primary.begin(Isolation::Serializable);
    assert!(locking.get_latest(TREE, b"told").unwrap().is_some());
    locking.commit().unwrap().wait().unwrap();
    // Files and other copies know nothing of it.
    primary.checkpoint().unwrap();
    assert!(primary.floor() <= agreed && primary.agreed() == agreed);
    assert_eq!(primary.commits_waiting(), 0);

    secondary.promote(Epoch(2)).unwrap();
    secondary.set_waiting(false).unwrap();
    let mut reading = primary.begin(Isolation::Snapshot);
    let view = reading.statement_snapshot();
    primary.promise(Epoch(2)).unwrap();
    assert_eq!(all_of(&primary), before, "it is seen no more, before it is cut off");
    assert!(reading.get(&view, TREE, b"told").unwrap().is_some(), "but by who reads");
    reading.rollback();
    primary.demote().unwrap();
    primary.cut(agreed).unwrap();
    write(&secondary, b"other", "2").wait().unwrap();
    let end = send(&secondary, &primary, 2);
    assert_eq!(all_of(&primary), before, "received is not applied");
    primary.apply_up_to(end).unwrap();
    assert!(primary.wait_applied(end, LONG));
    assert_eq!(all_of(&primary), all_of(&secondary));
    assert!(!all_of(&primary).iter().any(|(key, _)| format!("{key:?}").contains("told")));
}

#[test]
fn who_waits_for_the_group_waits_for_what_was_told_before() {
    let (primary, secondary, _) = pair(2);
    primary.set_waiting(true).unwrap();
    write(&primary, b"told", "1").delay().unwrap();
    let full = write(&primary, b"full", "2");
    let end = full.lsn();
    let waiter = std::thread::spawn(move || full.wait());
    while primary.commits_waiting() == 0 || primary.hardened() < end {
        std::thread::yield_now();
    }
    assert_eq!(send(&primary, &secondary, 1), end);
    primary.advance_agreed(end);
    waiter.join().unwrap().unwrap();
    primary.settle_commits().unwrap();
    secondary.apply_up_to(end).unwrap();
    assert!(secondary.wait_applied(end, LONG));
    assert_eq!(all_of(&secondary), all_of(&primary));
}
