//! The base tree against a `BTreeMap`, a bad disk, and flipped bits.

mod changed;
mod damage;
mod disk;
mod format;
mod model;
mod pins;
mod sealed;

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;

use keel_base::Lsn;
use keel_base::env::Disk;

use super::*;
use disk::{Dice, TestDisk};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn path() -> &'static Path {
    Path::new("base")
}

fn dynamic(disk: &Arc<TestDisk>) -> Arc<dyn Disk> {
    disk.clone()
}

fn create(disk: &Arc<TestDisk>, cache: &Arc<PageCache>) -> BaseTree {
    let options = BaseOptions { guid: *b"an evenkeel base", ..BaseOptions::default() };
    BaseTree::create(&dynamic(disk), path(), cache, &options).expect("creates")
}

fn open(disk: &Arc<TestDisk>, cache: &Arc<PageCache>) -> Result<BaseTree> {
    BaseTree::open(&dynamic(disk), path(), cache, &BaseOptions::default())
}

/// All rows by a scan.
fn rows(root: &Arc<BaseRoot>) -> Result<Model> {
    let mut cursor = root.scan(Bound::Unbounded, Bound::Unbounded, Direction::Forward);
    let mut rows = Model::new();
    while let Some((key, row)) = cursor.next()? {
        assert!(rows.insert(key.to_vec(), row.to_vec()).is_none(), "a key comes once");
    }
    Ok(rows)
}

fn assert_sound(tree: &BaseTree) {
    let mut seen = 0;
    let report = tree
        .check(
            &mut |_, _| {
                seen += 1;
                ControlFlow::Continue(())
            },
            &mut |_, _| {},
        )
        .expect("checks");
    assert_eq!(report.findings, vec![]);
    assert_eq!(report.rows, tree.root().stats().rows);
    assert_eq!(report.rows, seen);
}

fn numbered(n: u64) -> Vec<u8> {
    [&[0, 0, 0, 7][..], &n.to_be_bytes()].concat()
}

#[test]
fn an_empty_tree_answers() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(1 << 20));
    let tree = create(&disk, &cache);
    assert!(tree.root().get(b"x").expect("reads").is_none());
    assert!(rows(&tree.root()).expect("scans").is_empty());
    assert_sound(&tree);
    drop(tree);
    let tree = open(&disk, &cache).expect("opens");
    assert_eq!(tree.guid(), *b"an evenkeel base");
    assert_eq!(tree.root().stats().height, 0);
}

#[test]
fn a_bulk_load_fills_its_leaves_and_chunks_move_the_right_lsns() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(64 << 20));
    let tree = create(&disk, &cache);
    let n = 50_000;
    let row = [7u8; 150];
    let seen = parking_lot::Mutex::new(Vec::new());
    let throttle = Observer(|| {
        let root = tree.root();
        seen.lock().push((root.checkpoint_lsn(), root.highest_lsn(), root.stats().rows));
    });
    let options = MergeOptions {
        checkpoint_lsn: Lsn(10),
        highest_lsn: Lsn(20),
        chunk_bytes: 1 << 20,
        throttle: &throttle,
        meta: Some(b"meta"),
        ..MergeOptions::at(Lsn(0))
    };
    let report = tree.merge((0..n).map(|i| (numbered(i), Change::Put(&row[..]))), &options).expect("merges");
    assert_eq!(report.changes, n);
    assert!(report.chunks >= 7, "{report:?}");
    let seen = seen.into_inner();
    let middle = seen[seen.len() / 2];
    assert_eq!((middle.0, middle.1), (Lsn(0), Lsn(20)), "only the last chunk moves the checkpoint");
    assert!(middle.2 > 0 && middle.2 < n);
    let root = tree.root();
    assert_eq!((root.checkpoint_lsn(), root.highest_lsn(), root.meta()), (Lsn(10), Lsn(20), &b"meta"[..]));
    let bytes = root.stats().used_pages * PAGE_SIZE as u64;
    assert!(bytes < n * (150 + 10 + 4) * 100 / 85, "{bytes} bytes: leaves are about nine tenths full");
    assert_eq!(&root.get(&numbered(n / 2)).expect("reads").expect("is there")[..], &row);
    assert!(root.contains(&numbered(0)).expect("reads"));
    assert!(!root.contains(&numbered(n)).expect("reads"));
    assert_sound(&tree);
    let count = root.approximate_count(Bound::Included(&numbered(1000)), Bound::Excluded(&numbered(11_000)));
    assert_eq!(count.expect("counts"), 10_000);
    let pages = root.approximate_leaf_pages(&numbered(0), None).expect("counts");
    assert!(pages.abs_diff(root.stats().used_pages) < 20);
}

struct Observer<F>(F);

impl<F: Fn() + Sync> Throttle for Observer<F> {
    fn pace(&self, _bytes: u64) -> bool {
        (self.0)();
        true
    }
}

#[test]
fn ranges_that_grow_at_their_end_fill_their_pages() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(64 << 20));
    let tree = create(&disk, &cache);
    let key = |range: u8, n: u64| [&[0, 0, 0, 9, range][..], &n.to_be_bytes()].concat();
    let row = &[1u8; 100][..];
    for round in 0..60u64 {
        let changes = (0..10u8)
            .flat_map(|range| (round * 20..round * 20 + 20).map(move |n| (key(range, n), Change::Put(row))));
        tree.merge(changes, &MergeOptions::at(Lsn(round + 1))).expect("merges");
    }
    let rows = tree.root().stats().rows;
    assert_eq!(rows, 12_000);
    let used = tree.root().stats().used_pages * PAGE_SIZE as u64;
    assert!(used < rows * 120 * 100 / 75, "{used} bytes for {rows} rows");
    assert_sound(&tree);
}

#[test]
fn freed_space_is_reused_and_the_file_shrinks() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(64 << 20));
    let tree = create(&disk, &cache);
    let row = [1u8; 400];
    let all = || (0..20_000).map(|i| (numbered(i), Change::Put(&row[..])));
    let options = MergeOptions { chunk_bytes: 256 << 10, ..MergeOptions::at(Lsn(1)) };
    tree.merge(all(), &options).expect("merges");
    let once = tree.root().stats().file_pages;
    for _ in 0..5 {
        tree.merge(all(), &options).expect("merges");
    }
    let later = tree.root().stats().file_pages;
    assert!(later < once * 13 / 10, "{once} pages became {later}");
    let held = tree.root();
    tree.drop_tree(keel_base::TreeId(7), &MergeOptions::at(Lsn(2))).expect("drops");
    assert_eq!(tree.root().stats().rows, 0);
    assert_eq!(rows(&held).expect("an old root stays readable").len(), 20_000);
    drop(held);
    tree.merge([(b"k", Change::Put(b"v"))], &MergeOptions::at(Lsn(3))).expect("merges");
    tree.merge([(b"k", Change::Put(b"v"))], &MergeOptions::at(Lsn(3))).expect("merges");
    assert!(tree.root().stats().file_pages < 200, "{:?}", tree.root().stats());
    assert_sound(&tree);
    drop(tree);
    assert_sound(&open(&disk, &cache).expect("opens"));
}

#[test]
fn folds_see_the_old_row() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(1 << 20));
    let tree = create(&disk, &cache);
    let big = vec![b'b'; 30_000];
    let first = [(&b"a"[..], Change::Put(&b"1"[..])), (b"big", Change::Put(&big[..]))];
    tree.merge(first, &MergeOptions::at(Lsn(1))).expect("merges");
    let fold = |key: &[u8], old: Option<&[u8]>, patch: &[u8], out: &mut Vec<u8>| {
        out.extend_from_slice(old.unwrap_or(b"none"));
        out.extend_from_slice(patch);
        match key {
            b"gone" => Folded::Gone,
            b"damaged" => Folded::Damaged,
            _ => Folded::Row,
        }
    };
    let options = MergeOptions { fold: Some(&fold), ..MergeOptions::at(Lsn(2)) };
    let changes = [&b"a"[..], b"big", b"gone", b"new"].map(|key| (key, Change::Fold(b"+p")));
    tree.merge(changes, &options).expect("merges");
    let root = tree.root();
    let get = |key: &[u8]| root.get(key).expect("reads").map(|row| row.to_vec());
    assert_eq!(get(b"a"), Some(b"1+p".to_vec()));
    assert_eq!(get(b"big").map(|row| (row.len(), row.ends_with(b"b+p"))), Some((30_002, true)));
    assert_eq!(get(b"gone"), None);
    assert_eq!(get(b"new"), Some(b"none+p".to_vec()));
    assert_sound(&tree);
    // What cannot be patched ends the merge with its page's number, and not the thread.
    tree.merge([(b"damaged", Change::Put(b"?"))], &MergeOptions::at(Lsn(3))).expect("merges");
    let options = MergeOptions { fold: Some(&fold), ..MergeOptions::at(Lsn(4)) };
    let failed = tree.merge([(b"damaged", Change::Fold(b"+p"))], &options).expect_err("is damaged");
    assert!(matches!(failed, BaseError::Corrupt { page: 2.., .. }), "{failed}");
    assert_eq!(tree.root().checkpoint_lsn(), Lsn(3));
    tree.merge([(b"damaged", Change::<&[u8]>::Delete)], &MergeOptions::at(Lsn(5))).expect("goes on");
    assert_sound(&tree);
}

#[test]
fn wrong_input_is_refused_and_harmless() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(1 << 20));
    let tree = create(&disk, &cache);
    let long = vec![0u8; KEY_BYTES_MAX + 1];
    let unsorted = [(b"b".to_vec(), Change::Put(b"1")), (b"a".to_vec(), Change::Put(b"2"))];
    for changes in
        [unsorted.to_vec(), vec![(long, Change::Put(b"1"))], vec![(b"a".to_vec(), Change::Fold(b"1"))]]
    {
        let error = tree.merge(changes, &MergeOptions::at(Lsn(1))).expect_err("is refused");
        assert!(matches!(error, BaseError::Input(_)), "{error}");
        assert_eq!(tree.root().checkpoint_lsn(), Lsn(0));
    }
    tree.merge([(b"a", Change::Put(b"1"))], &MergeOptions::at(Lsn(1))).expect("merges");
    assert_sound(&tree);
}

#[test]
fn the_cache_stays_within_its_bound_and_survives_scans() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(8 << 20));
    let tree = create(&disk, &cache);
    let row = [1u8; 1000];
    let n = 40_000;
    tree.merge((0..n).map(|i| (numbered(i), Change::Put(&row[..]))), &MergeOptions::at(Lsn(1)))
        .expect("merges");
    let hot: Vec<u64> = (0..200).map(|i| i * 100).collect();
    for _ in 0..4 {
        for &i in &hot {
            assert!(tree.root().contains(&numbered(i)).expect("reads"));
        }
    }
    for _ in 0..3 {
        assert_eq!(rows(&tree.root()).expect("scans").len() as u64, n);
    }
    let before = cache.stats();
    assert!(before.bytes <= before.capacity_bytes, "{before:?}");
    assert!(before.evictions > 1000, "{before:?}");
    for &i in &hot {
        assert!(tree.root().contains(&numbered(i)).expect("reads"));
    }
    let misses = cache.stats().misses - before.misses;
    assert!(misses < 20, "{misses} hot pages fell to a scan");
    cache.set_capacity(0);
    assert!(cache.stats().pages <= 64 * 8);
    drop(tree);
    assert_eq!(cache.stats().pages, 0, "a closed file leaves nothing behind");
}
