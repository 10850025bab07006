//! Random merges against a `BTreeMap`: snapshots held across them, reopening, crashes, failing calls.

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

use super::*;

/// A key out of few enough that updates and deletes meet rows; some are long and share long prefixes.
fn key(rng: &mut Dice, spread: u64) -> Vec<u8> {
    let n = rng.below(spread);
    let mut key = (1 + (n % 3) as u32).to_be_bytes().to_vec();
    match n % 17 {
        0 => key.extend(std::iter::repeat_n(b'p', 1000 + (n % 1000) as usize)),
        1..4 => key.extend_from_slice(b"common prefix of some length/"),
        _ => {}
    }
    key.extend_from_slice(format!("{n:06}").as_bytes());
    key
}

fn row(rng: &mut Dice) -> Vec<u8> {
    let len = match rng.below(40) {
        0 => rng.below(60_000),
        1 => 7000 + rng.below(3000),
        2..5 => rng.below(2000),
        _ => rng.below(200),
    };
    let fill = rng.next() as u8;
    (0..len).map(|i| fill.wrapping_add(i as u8)).collect()
}

pub fn changes(rng: &mut Dice, count: u64, spread: u64) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
    let deletes = [1, 5, 9][rng.below(3) as usize];
    let (from, width) = (rng.below(spread), 1 + rng.below(spread));
    let dense = rng.below(3) == 0;
    (0..count)
        .map(|i| {
            let mut key = key(rng, spread);
            if dense {
                key = [&2u32.to_be_bytes()[..], format!("{:06}", from + i % width).as_bytes()].concat();
            }
            let change = if rng.below(10) < deletes { None } else { Some(row(rng)) };
            (key, change)
        })
        .collect()
}

pub fn apply(model: &mut Model, changes: &BTreeMap<Vec<u8>, Option<Vec<u8>>>) {
    for (key, change) in changes {
        match change {
            Some(row) => model.insert(key.clone(), row.clone()),
            None => model.remove(key),
        };
    }
}

pub fn merge(
    tree: &BaseTree,
    changes: &BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    lsn: u64,
    chunk_bytes: usize,
) -> Result<MergeReport> {
    let input = changes.iter().map(|(key, row)| (key, Change::from(row.as_ref())));
    tree.merge(input, &MergeOptions { chunk_bytes, ..MergeOptions::at(Lsn(lsn)) })
}

fn compare_ranges(root: &Arc<BaseRoot>, model: &Model, rng: &mut Dice, spread: u64) {
    for _ in 0..8 {
        let (a, b) = (key(rng, spread), key(rng, spread));
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        let bound = |which: u64, key| match which {
            0 => Bound::Unbounded,
            1 => Bound::Excluded(key),
            _ => Bound::Included(key),
        };
        let (lower, upper) = (bound(rng.below(4), &a[..]), bound(rng.below(4), &b[..]));
        if a == b && lower == Bound::Excluded(&a[..]) && upper == Bound::Excluded(&a[..]) {
            continue;
        }
        let expected: Vec<_> = model.range::<[u8], _>((lower, upper)).collect();
        let collect = |direction| {
            let mut cursor = root.scan(lower, upper, direction);
            let mut found = Vec::new();
            while cursor.advance().expect("scans") {
                let row = cursor.row_ref().expect("is on a row");
                assert_eq!(&row[..], cursor.row());
                found.push((cursor.key().to_vec(), cursor.row().to_vec()));
            }
            found
        };
        let forward = collect(Direction::Forward);
        assert!(forward.iter().map(|(k, v)| (k, v)).eq(expected.iter().copied()));
        let mut reverse = collect(Direction::Reverse);
        reverse.reverse();
        assert!(forward == reverse);
        let count = root.approximate_count(lower, upper).expect("counts");
        assert!(count.abs_diff(expected.len() as u64) < 800, "{count} for {}", expected.len());
        if let Some((key, row)) = expected.get(expected.len() / 2) {
            assert_eq!(root.get(key).expect("reads").as_deref(), Some(&row[..]));
            let mut cursor = root.scan(lower, upper, Direction::Forward);
            cursor.seek(key);
            assert_eq!(cursor.next().expect("seeks"), Some((&key[..], &row[..])));
            let mut cursor = root.scan(lower, upper, Direction::Reverse);
            cursor.seek(key);
            assert_eq!(cursor.next().expect("seeks"), Some((&key[..], &row[..])));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn random_merges_agree_with_a_map(seed in any::<u64>()) {
        let mut rng = Dice(seed);
        let disk = TestDisk::new();
        let cache = PageCache::new(if rng.below(2) == 0 { 0 } else { 16 << 20 });
        let mut tree = create(&disk, &cache);
        let (mut model, mut held) = (Model::new(), Vec::new());
        let spread = [50, 2_000, 20_000][rng.below(3) as usize];
        for round in 1..=12u64 {
            if rng.below(10) == 0 {
                let tree_id = 1 + rng.below(4) as u32;
                tree.drop_tree(keel_base::TreeId(tree_id), &MergeOptions::at(Lsn(round))).expect("drops");
                model.retain(|key, _| !key.starts_with(&tree_id.to_be_bytes()));
            } else {
                let most = [1, 20, 500, 4_000][rng.below(4) as usize];
                let count = 1 + rng.below(most);
                let changes = changes(&mut rng, count, spread);
                apply(&mut model, &changes);
                let chunk_bytes = [1, 100_000, 1 << 30][rng.below(3) as usize];
                merge(&tree, &changes, round, chunk_bytes).expect("merges");
            }
            let root = tree.root();
            prop_assert_eq!(root.stats().rows, model.len() as u64);
            compare_ranges(&root, &model, &mut rng, spread);
            if rng.below(3) == 0 {
                held.push((root, model.clone()));
            }
            if held.len() > 2 || rng.below(4) == 0 {
                held.pop();
            }
            if rng.below(4) == 0 {
                held.clear();
                drop(tree);
                tree = open(&disk, &cache).expect("opens");
            }
            assert_sound(&tree);
            prop_assert!(rows(&tree.root()).expect("scans") == model);
            for (root, model) in &held {
                prop_assert!(rows(root).expect("scans an old root") == *model);
            }
        }
    }

    #[test]
    fn a_crash_anywhere_leaves_a_published_root(seed in any::<u64>()) {
        let mut rng = Dice(seed);
        let (disk, cache) = (TestDisk::new(), PageCache::new(4 << 20));
        let tree = create(&disk, &cache);
        let mut model = Model::new();
        for round in 1..=4 {
            let changes = changes(&mut rng, 1 + round * 100, 2_000);
            apply(&mut model, &changes);
            merge(&tree, &changes, round, 1 << 30).expect("merges");
        }
        let changes = changes(&mut rng, 300, 2_000);
        let mut after = model.clone();
        apply(&mut after, &changes);
        for stop in 0.. {
            let copy = TestDisk::with_file(path(), disk.bytes(path()));
            let victim = open(&copy, &cache).expect("opens");
            copy.fail_after(stop);
            let outcome = merge(&victim, &changes, 9, 1 << 30);
            if let Err(error) = &outcome {
                prop_assert!(matches!(error, BaseError::Io { .. }), "{}", error);
                prop_assert!(rows(&victim.root()).expect("the old root stays readable") == model);
                assert_sound(&victim);
            }
            for _ in 0..3 {
                let tree = open(&copy.crashed(&mut rng), &cache).expect("opens after a crash");
                let found = rows(&tree.root()).expect("scans");
                let is_new = tree.root().checkpoint_lsn() == Lsn(9);
                let expected = if is_new { &after } else { &model };
                prop_assert!(found == *expected);
                prop_assert!(is_new || outcome.is_err(), "an acknowledged merge is there");
                assert_sound(&tree);
            }
            copy.heal();
            match merge(&victim, &changes, 9, 1 << 30) {
                Ok(_) => {
                    prop_assert!(rows(&victim.root()).expect("scans") == after);
                    assert_sound(&victim);
                }
                Err(error) => prop_assert!(matches!(error, BaseError::Poisoned { .. }), "{}", error),
            }
            if outcome.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn a_crash_between_chunks_keeps_the_old_checkpoint_lsn() {
    let mut rng = Dice(5);
    let (disk, cache) = (TestDisk::new(), PageCache::new(4 << 20));
    let tree = create(&disk, &cache);
    let first = changes(&mut rng, 3_000, 20_000);
    merge(&tree, &first, 5, 1 << 30).expect("merges");
    let second = changes(&mut rng, 3_000, 20_000);
    disk.fail_after(12);
    merge(&tree, &second, 8, 100_000).expect_err("fails");
    let reopened = open(&disk.crashed(&mut rng), &cache).expect("opens");
    let root = reopened.root();
    assert_eq!((root.checkpoint_lsn(), root.highest_lsn()), (Lsn(5), Lsn(8)));
    merge(&reopened, &second, 8, 100_000).expect("the same merge again");
    let mut model = Model::new();
    apply(&mut model, &first);
    apply(&mut model, &second);
    assert!(rows(&reopened.root()).expect("scans") == model);
    assert_sound(&reopened);
}

#[test]
fn readers_go_on_while_merges_run() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(2 << 20));
    let tree = create(&disk, &cache);
    let put =
        |round: u64| (0..3_000u64).map(move |i| (numbered(i), Change::Put(round.to_be_bytes().repeat(12))));
    tree.merge(put(0), &MergeOptions::at(Lsn(1))).expect("merges");
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let root = tree.root();
                    let all = rows(&root).expect("scans");
                    assert_eq!(all.len(), 3_000);
                    let first = all.values().next().expect("has rows");
                    assert!(all.values().all(|row| row == first), "a root is one round, whole");
                }
            });
        }
        for round in 1..40 {
            tree.merge(put(round), &MergeOptions { chunk_bytes: 1 << 30, ..MergeOptions::at(Lsn(round)) })
                .expect("merges");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_sound(&tree);
}
