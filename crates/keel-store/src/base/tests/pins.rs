//! Pinned roots against a model: random merges, pins, drops, reverts and reopenings; crashes at every write.

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

use super::model::{apply, changes, merge};
use super::*;

/// A pin with what it must show, and the record that a caller would keep.
struct Kept {
    pin: Pin,
    record: Vec<u8>,
    model: Model,
}

impl Kept {
    fn of(tree: &BaseTree, model: &Model) -> Kept {
        let pin = tree.pin().expect("pins").expect("no merge is half way");
        Kept { record: pin.record(), pin, model: model.clone() }
    }

    fn assert_shown(&self) {
        assert!(rows(self.pin.root()).expect("scans a pinned root") == self.model);
        let tree = self.pin.tree();
        assert_sound(&tree);
        assert!(tree.merge([(numbered(1), Change::Put(b"x"))], &MergeOptions::at(Lsn(99))).is_err());
    }
}

/// Every page is in use, free, or kept for a pin: nothing is lost.
fn assert_nothing_lost(tree: &BaseTree) {
    let root = tree.root();
    let (stats, free, held) = (root.stats(), tree.free_pages(), tree.held_pages());
    assert_eq!(stats.used_pages + free + held, stats.file_pages, "{stats:?}, {free} free, {held} held");
}

fn reopen(disk: &Arc<TestDisk>, cache: &Arc<PageCache>, kept: &mut [Kept]) -> BaseTree {
    let tree = open(disk, cache).expect("opens");
    for kept in kept {
        kept.pin = tree.restore_pin(&kept.record).expect("is there");
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn pins_show_what_was_whatever_happens(seed in any::<u64>()) {
        let mut rng = Dice(seed);
        let disk = TestDisk::new();
        let cache = PageCache::new(if rng.below(2) == 0 { 0 } else { 8 << 20 });
        let mut tree = create(&disk, &cache);
        let (mut model, mut kept): (Model, Vec<Kept>) = (Model::new(), Vec::new());
        let spread = [50, 2_000, 20_000][rng.below(3) as usize];
        for round in 1..=20u64 {
            match rng.below(10) {
                0..5 => {
                    let most = [20, 500, 3_000][rng.below(3) as usize];
                    let count = 1 + rng.below(most);
                    let changes = changes(&mut rng, count, spread);
                    apply(&mut model, &changes);
                    merge(&tree, &changes, round, [1, 100_000, 1 << 30][rng.below(3) as usize]).expect("merges");
                }
                5 | 6 if kept.len() < 4 => kept.push(Kept::of(&tree, &model)),
                7 if !kept.is_empty() => {
                    let gone = kept.swap_remove(rng.below(kept.len() as u64) as usize);
                    let read = (rng.below(2) == 0).then(|| Arc::clone(gone.pin.root()));
                    tree.unpin(gone.pin);
                    if let Some(root) = read {
                        let changes = changes(&mut rng, 300, spread);
                        apply(&mut model, &changes);
                        merge(&tree, &changes, round, 100_000).expect("merges");
                        prop_assert!(rows(&root).expect("is read to the end") == gone.model);
                    }
                }
                8 if !kept.is_empty() => {
                    let to = rng.below(kept.len() as u64) as usize;
                    let put = (rng.below(2) == 0).then(|| (numbered(7), b"on top".to_vec()));
                    let put: Vec<_> = put.into_iter().collect();
                    tree.revert(&kept[to].pin, Lsn(round), b"reverted", &put).expect("reverts");
                    model = kept[to].model.clone();
                    model.extend(put);
                    prop_assert!(tree.merge([(numbered(1), Change::Put(b"x"))], &MergeOptions::at(Lsn(99))).is_err());
                    prop_assert_eq!(tree.root().highest_lsn(), Lsn(round));
                    tree = reopen(&disk, &cache, &mut kept);
                    prop_assert!(tree.root().meta() == b"reverted");
                }
                _ => tree = reopen(&disk, &cache, &mut kept),
            }
            assert_sound(&tree);
            prop_assert!(rows(&tree.root()).expect("scans") == model);
            kept.iter().for_each(Kept::assert_shown);
        }
        kept.drain(..).for_each(|kept| tree.unpin(kept.pin));
        merge(&tree, &BTreeMap::new(), 99, 1 << 30).expect("merges");
        // What the last publication has freed is given back with it.
        assert_nothing_lost(&tree);
        prop_assert_eq!(tree.held_pages(), 0);
        assert_sound(&tree);
    }

    #[test]
    fn a_crash_in_a_revert_leaves_the_tree_wholly_before_or_wholly_after(seed in any::<u64>()) {
        let mut rng = Dice(seed);
        let (disk, cache) = (TestDisk::new(), PageCache::new(4 << 20));
        let tree = create(&disk, &cache);
        let mut model = Model::new();
        let mut step = |tree: &BaseTree, model: &mut Model, round| {
            let changes = changes(&mut rng, 300, 2_000);
            apply(model, &changes);
            merge(tree, &changes, round, 50_000).expect("merges");
        };
        step(&tree, &mut model, 1);
        let kept = Kept::of(&tree, &model);
        step(&tree, &mut model, 2);
        step(&tree, &mut model, 3);
        let top = (numbered(5), b"top".to_vec());
        let mut after = kept.model.clone();
        after.insert(top.0.clone(), top.1.clone());
        for stop in 0.. {
            let copy = TestDisk::with_file(path(), disk.bytes(path()));
            let victim = open(&copy, &cache).expect("opens");
            let pin = victim.restore_pin(&kept.record).expect("is there");
            copy.fail_after(stop);
            let outcome = victim.revert(&pin, Lsn(9), b"", std::slice::from_ref(&top));
            for _ in 0..3 {
                let tree = open(&copy.crashed(&mut rng), &cache).expect("opens after a crash");
                let pin = tree.restore_pin(&kept.record).expect("is there");
                let is_new = tree.root().checkpoint_lsn() == Lsn(9);
                let expected = if is_new { &after } else { &model };
                prop_assert!(rows(&tree.root()).expect("scans") == *expected);
                prop_assert!(is_new || outcome.is_err(), "an acknowledged revert is there");
                prop_assert!(rows(pin.root()).expect("scans") == kept.model);
                assert_sound(&tree);
                assert_sound(&pin.tree());
            }
            if outcome.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn pages_of_a_pin_come_back_when_it_goes_and_not_before() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(4 << 20));
    let tree = create(&disk, &cache);
    let put =
        |round: u64| (0..5_000u64).map(move |i| (numbered(i), Change::Put(round.to_be_bytes().repeat(12))));
    tree.merge(put(0), &MergeOptions::at(Lsn(1))).expect("merges");
    let before = tree.root().stats().used_pages;
    let pin = tree.pin().expect("pins").expect("whole");
    assert_eq!((pin.held_pages(), tree.held_pages()), (0, 0), "nothing is copied");
    for round in 2..30 {
        tree.merge(put(round), &MergeOptions::at(Lsn(round))).expect("merges");
    }
    let held = pin.held_pages();
    assert!(held > before / 2 && held <= before, "{held} of {before} pages");
    assert_eq!(tree.held_pages(), held);
    let pages = tree.root().stats().file_pages;
    assert!(pages < 5 * before, "{pages} pages: what neither the pin nor the tree has is used again");
    let second = tree.pin().expect("pins").expect("whole");
    assert_eq!(second.held_pages(), 0);
    tree.unpin(pin);
    assert_eq!(tree.held_pages(), 0);
    tree.unpin(second);
    assert_nothing_lost(&tree);
}

#[test]
fn the_free_end_of_a_file_is_cut_when_no_pin_is_in_it() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(4 << 20));
    let tree = create(&disk, &cache);
    let small = (0..50u64).map(|i| (numbered(i), Change::Put([1u8; 100])));
    tree.merge(small, &MergeOptions::at(Lsn(1))).expect("merges");
    let large =
        (0..20_000u64).map(|i| ([&[0, 0, 0, 9][..], &i.to_be_bytes()].concat(), Change::Put([2u8; 100])));
    tree.merge(large, &MergeOptions::at(Lsn(2))).expect("merges");
    let pin = tree.pin().expect("pins").expect("whole");
    let shown = rows(pin.root()).expect("scans");
    let pages = tree.root().stats().file_pages;
    let shrink = || {
        for _ in 0..3 {
            tree.drop_tree(keel_base::TreeId(9), &MergeOptions::at(Lsn(3))).expect("drops");
        }
        tree.root().stats().file_pages
    };
    assert!(shrink() >= pages, "the pin has it");
    assert!(rows(pin.root()).expect("scans") == shown);
    tree.unpin(pin);
    assert!(shrink() < pages / 4, "{} of {pages} pages", tree.root().stats().file_pages);
    assert_sound(&tree);
}

#[test]
fn a_merge_that_is_half_way_cannot_be_pinned() {
    let mut rng = Dice(5);
    let (disk, cache) = (TestDisk::new(), PageCache::new(4 << 20));
    let tree = create(&disk, &cache);
    disk.fail_after(14);
    merge(&tree, &changes(&mut rng, 3_000, 20_000), 8, 100_000).expect_err("fails");
    assert!(tree.root().highest_lsn() > tree.root().checkpoint_lsn(), "chunks were published");
    assert!(tree.pin().is_ok_and(|pin| pin.is_none()));
}

#[test]
fn a_damaged_map_of_a_pin_is_made_anew_and_a_damaged_page_costs_the_pin_alone() {
    let (disk, cache) = (TestDisk::new(), PageCache::new(0));
    let tree = create(&disk, &cache);
    let put =
        |round: u64| (0..5_000u64).map(move |i| (numbered(i), Change::Put(round.to_be_bytes().repeat(12))));
    tree.merge(put(0), &MergeOptions::at(Lsn(1))).expect("merges");
    let pin = tree.pin().expect("pins").expect("whole");
    tree.merge(put(1), &MergeOptions::at(Lsn(2))).expect("merges");
    let record = pin.record();
    let damaged = |page: u32| {
        let mut bytes = disk.bytes(path());
        bytes[page as usize * PAGE_SIZE + 100] ^= 1;
        open(&TestDisk::with_file(path(), bytes), &cache).expect("opens")
    };
    let map = damaged(pin.superblock.directories[0].page);
    let restored = map.restore_pin(&record).expect("is made anew");
    map.merge(put(2), &MergeOptions::at(Lsn(3))).expect("merges");
    assert!(rows(restored.root()).expect("scans") == rows(pin.root()).expect("scans"));
    let root = damaged(pin.superblock.root.page);
    assert!(matches!(root.restore_pin(&record), Err(BaseError::Corrupt { .. })));
    root.merge(put(3), &MergeOptions::at(Lsn(3))).expect("the tree goes on");
    assert_sound(&root);
    for byte in [0, 20, 40, 4095] {
        let mut bad = record.clone();
        bad[byte] ^= 8;
        assert!(matches!(map.restore_pin(&bad), Err(BaseError::NotABaseFile { .. })));
    }
}
