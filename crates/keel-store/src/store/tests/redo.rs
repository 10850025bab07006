//! Changes that are committed already.

use super::*;

fn shows(store: &Store, key: &[u8]) -> Option<Vec<u8>> {
    store.get_latest(None, TREE, key).unwrap().row.map(|row| row[..].to_vec())
}

#[test]
fn changes_applied_together_are_applied_in_order_and_stop_at_an_undecided_one() {
    let (store, _) = new_store();
    let mut open = WriteSet::new(TxnId(4));
    store.put(&mut open, TREE, b"open", &row(0, 0)).unwrap();
    let keys: Vec<Vec<u8>> = (0..40u8).map(|n| vec![n / 2]).collect();
    let rows: Vec<Vec<u8>> = (0..40).map(|n| row(1, n)).collect();
    let mut changes: Vec<_> =
        keys.iter().zip(&rows).map(|(key, row)| (TREE, &key[..], Change::Put(row))).collect();
    changes.insert(33, (TREE, b"open", Change::Delete));
    assert!(matches!(store.apply_all(Lsn(8), &changes), Err((33, StoreError::Undecided(_)))));
    // Each key comes twice, and the second counts.
    assert_eq!(shows(&store, &[15]), Some(row(1, 31)));
    assert_eq!(shows(&store, &[16]), Some(row(1, 32)));
    assert_eq!(shows(&store, &[17]), None);
    store.abandon(TREE, b"open");
    store.apply_all(Lsn(8), &changes[33..]).unwrap();
    drop(open);
    assert_eq!(shows(&store, &[19]), Some(row(1, 39)));
    assert_eq!(shows(&store, b"open"), None);
    // What is newer stays.
    store
        .apply_all(Lsn(7), &[(TREE, &[19], Change::Delete), (TreeId(8), b"new tree", Change::Delete)])
        .unwrap();
    assert_eq!(shows(&store, &[19]), Some(row(1, 39)));
}
