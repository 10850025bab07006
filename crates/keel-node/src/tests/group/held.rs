//! Redo by the thread that takes the log in.

use super::*;

/// A secondary whose redo threads do nothing by themselves, and its primary.
fn by_hand() -> (Arc<Database>, Arc<Database>) {
    let disk = SimDisk::new();
    let primary = create(&disk, 1).unwrap();
    primary.enter_group(Epoch(1)).unwrap();
    let options = InstanceOptions { by_hand: true, redo_workers: 2, ..InstanceOptions::default() };
    let instance = Instance::new(env(&disk.crash(Tear::KeepAll), 2), options);
    let secondary =
        Database::open(&instance, DatabaseId(5), Path::new(DIR), &db_options(), &mut |_| ()).unwrap();
    secondary.demote().unwrap();
    (primary, secondary)
}

/// Sends what there is while redo is held, and lets it go by `release`.
fn take_in(from: &Database, to: &Database, release: impl FnOnce(crate::HeldRedo<'_>)) -> Lsn {
    let held = to.hold_redo();
    let end = send(from, to, 1);
    to.apply_up_to(end).unwrap();
    assert_eq!(to.instance().work_waiting(), 0, "nobody is woken while it is held");
    assert!(to.applied() < end);
    release(held);
    end
}

#[test]
fn a_little_is_applied_by_who_takes_it_in() {
    let (primary, secondary) = by_hand();
    for n in 0..20 {
        write(&primary, format!("key {n}").as_bytes(), "value").wait().unwrap();
        let end = take_in(&primary, &secondary, |held| held.work());
        assert_eq!((secondary.applied(), secondary.instance().work_waiting()), (end, 0));
    }
    assert_eq!(all_of(&secondary), all_of(&primary));
}

#[test]
fn more_is_left_to_the_threads_and_so_is_what_is_only_let_go() {
    let (primary, secondary) = by_hand();
    for (work, bytes) in [(true, 40_000), (false, 10)] {
        write(&primary, b"key", &"v".repeat(bytes)).wait().unwrap();
        let end = take_in(&primary, &secondary, |held| if work { held.work() } else { drop(held) });
        assert!(secondary.applied() < end);
        assert!(secondary.instance().work_waiting() > 0);
        while secondary.instance().work_queued(0) {}
        assert_eq!(secondary.applied(), end);
    }
}
