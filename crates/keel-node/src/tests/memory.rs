//! The memory budget: checkpoints by themselves, and a refusal before it is passed.

use super::*;
use crate::TxnError;

fn small_instance(disk: &Arc<SimDisk>, automatic_checkpoints: bool) -> Arc<Instance> {
    let options = InstanceOptions {
        memory_bytes: 1 << 20,
        automatic_checkpoints,
        checkpoint_log_bytes: 100 << 10,
        ..InstanceOptions::default()
    };
    Instance::new(env(disk, 1), options)
}

#[test]
fn a_transaction_too_large_for_memory_is_refused_and_hurts_nobody() {
    let disk = SimDisk::new();
    let instance = small_instance(&disk, false);
    let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &db_options()).unwrap();
    put(&db, b"before", "1");
    let mut huge = db.begin(Isolation::ReadCommitted);
    let refused = (0u32..).find_map(|n| huge.insert(TREE, &n.to_be_bytes(), &simple(&"z".repeat(500))).err());
    assert!(matches!(refused, Some(TxnError::OutOfMemory)));
    assert!(instance.delta_bytes() < 2 << 20);
    huge.rollback();
    put(&db, b"after", "2");
    assert_eq!(everything(&mut db.begin(Isolation::ReadCommitted), &[TREE]).len(), 2);
    assert!(instance.pressure().counts().2 > 0);
}

#[test]
fn checkpoints_come_by_themselves() {
    let disk = SimDisk::new();
    let instance = small_instance(&disk, true);
    let db = Database::create(&instance, DatabaseId(5), Path::new(DIR), &db_options()).unwrap();
    let mut n = 0u32;
    while db.stats().checkpoints < 3 {
        put(&db, &n.to_be_bytes(), &"z".repeat(3000));
        n += 1;
        assert!(n < 100_000, "no checkpoint after so many commits");
    }
    let found = everything(&mut db.begin(Isolation::ReadCommitted), &[TREE]);
    assert_eq!(found.len(), n as usize);
    let used = db.stats().log_used_bytes;
    assert!(used < u64::from(n) * 3000, "the log was never truncated: {used}");
}
