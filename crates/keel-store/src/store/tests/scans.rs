//! What scans show while rows are deleted, evicted and written into another root.

use super::*;

#[test]
fn a_scan_of_the_newest_rows_that_rests_holds_nothing() {
    let (store, memory) = new_store();
    update_all(&store, 10, 0);
    checkpoint(&store);
    update_all(&store, 20, 1);
    let all = (Bound::Unbounded, Bound::Unbounded);
    let mut cursor = store.scan(ReadMode::Latest, None, TREE, all, Direction::Forward);
    assert!(cursor.advance().unwrap());
    checkpoint(&store);
    assert_eq!(memory.bytes(), 0);
    let mut seen = 1;
    while cursor.advance().unwrap() {
        assert_eq!(crate::row::column(cursor.row(), 0), Some(&[1; 400][..]));
        seen += 1;
    }
    assert_eq!(seen, ROWS);
}

/// Deleted after the snapshot and evicted, between rows that were deleted before it and are held for its sake.
#[test]
fn a_snapshot_sees_a_row_between_dead_ones_that_was_deleted_after_it() {
    let (store, _) = new_store();
    let write = |lsn: u64, change: &dyn Fn(&mut WriteSet, u8)| {
        let mut set = WriteSet::new(TxnId(lsn));
        (0..9).for_each(|n| change(&mut set, n));
        commit(&store, set, lsn);
    };
    write(10, &|set, n| store.put(set, TREE, &[n], &row(n, 0)).unwrap());
    checkpoint(&store);
    let delete = |set: &mut WriteSet, n: u8| store.delete(set, TREE, &[n]).unwrap();
    write(20, &|set, n| {
        if n != 4 {
            delete(set, n)
        }
    });
    let snapshot = store.snapshot(Lsn::ZERO);
    write(30, &|set, n| {
        if n == 4 {
            delete(set, n)
        }
    });
    checkpoint(&store);
    let first = |mode| {
        let bounds = (Bound::Included(&[0][..]), Bound::Unbounded);
        let mut cursor = store.scan(mode, None, TREE, bounds, Direction::Forward);
        cursor.advance().unwrap().then(|| cursor.key().to_vec())
    };
    assert_eq!(first(ReadMode::Latest), None);
    assert_eq!(first(ReadMode::Snapshot(&snapshot)), Some(vec![4]));
}

/// Rows of the delta, then keys of which only traces are left, while another root is published.
#[test]
fn a_scan_of_the_newest_rows_shows_none_twice_when_a_batch_was_empty() {
    for direction in [Direction::Forward, Direction::Reverse] {
        let (store, _) = new_store();
        update_all(&store, 10, 0);
        checkpoint(&store);
        let _writer = store.snapshot_of_writer(Lsn::ZERO);
        update_all(&store, 20, 1);
        checkpoint(&store);
        let mut set = WriteSet::new(TxnId(30));
        let ends = [0, ROWS - 1];
        ends.iter().for_each(|n| store.put(&mut set, TREE, &n.to_be_bytes(), &row(1, 1)).unwrap());
        commit(&store, set, 30);
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = store.scan(ReadMode::Latest, None, TREE, all, direction);
        let mut keys = Vec::new();
        assert!(cursor.advance().unwrap());
        keys.push(cursor.key().to_vec());
        // As the next step does it, when the batch that it reads has nothing to show.
        cursor.refill().unwrap();
        checkpoint(&store);
        while cursor.advance().unwrap() {
            keys.push(cursor.key().to_vec());
        }
        assert_eq!(keys.len(), ROWS as usize);
        assert!(keys.is_sorted_by(|a, b| (a < b) == (direction == Direction::Forward)));
    }
}
