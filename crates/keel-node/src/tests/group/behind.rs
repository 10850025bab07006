//! A copy that has received more log than its memory holds rows, as after it stood still under load.

use super::*;
use keel_base::env::sim::SimDisk;

/// The rows of a copy's log that its memory has no room for.
const ROWS: u32 = 1000;

#[test]
fn a_copy_that_was_far_behind_serves_writers_as_soon_as_it_is_promoted() {
    let disk = SimDisk::new();
    let primary = create(&disk, 1).unwrap();
    primary.enter_group(Epoch(1)).unwrap();
    let options = InstanceOptions {
        memory_bytes: 1 << 20,
        automatic_checkpoints: false,
        ..threaded(&disk, 1, 2).options().clone()
    };
    let copy = Instance::new(env(&disk.crash(Tear::KeepAll), 2), options);
    let secondary = Database::open(&copy, DatabaseId(5), Path::new(DIR), &db_options(), &mut |_| ()).unwrap();
    secondary.demote().unwrap();
    for n in 0..ROWS {
        write(&primary, &n.to_be_bytes(), &"z".repeat(3000)).wait().unwrap();
    }
    let end = send(&primary, &secondary, 1);
    secondary.apply_up_to(end).unwrap();
    secondary.promote(Epoch(2)).unwrap();
    secondary.set_waiting(false).unwrap();
    let hard = copy.pressure().hard_bytes();
    assert!(copy.delta_bytes() > 2 * hard, "redo went on whatever memory it took");
    write(&secondary, b"after", "the failover").wait().unwrap();
    assert_eq!(copy.pressure().counts().2, 0, "nobody was refused");
    secondary.checkpoint().unwrap();
    assert!(copy.delta_bytes() < hard);
    write(&secondary, b"later", "with the memory given back").wait().unwrap();
    assert_eq!(all_of(&secondary).len(), ROWS as usize + 2);
    // The loan is over: the marks are where they were.
    let mut huge = secondary.begin(Isolation::ReadCommitted);
    let refused =
        (0u32..).find_map(|n| huge.insert(TREES[1], &n.to_be_bytes(), &simple(&"z".repeat(500))).err());
    assert!(matches!(refused, Some(TxnError::OutOfMemory)));
    assert!(copy.delta_bytes() <= hard + (1 << 16));
}
