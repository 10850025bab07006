//! Encrypted files: what is in them, what is found damaged, and turning one into the other.

use keel_base::cipher::{Algorithm, DataKey, Keychain};
use keel_base::env::sim::SimRandom;
use proptest::prelude::{ProptestConfig, any, prop_assert, proptest};

use super::super::rewrite::Rewritten;
use super::*;

const MARKER: &[u8] = b"a marker nobody else writes";

fn keys(opening: u32) -> Arc<Keychain> {
    let keys = Keychain::default();
    keys.set_file([9; 16], opening);
    let random = SimRandom::new(11);
    for number in 1..=2 {
        keys.add(number, DataKey::new(Algorithm::Aes256, &random));
    }
    Arc::new(keys)
}

fn with(keys: &Arc<Keychain>) -> BaseOptions {
    BaseOptions { guid: *b"an evenkeel base", keys: Arc::clone(keys), ..BaseOptions::default() }
}

fn open_with(disk: &Arc<TestDisk>, cache: &Arc<PageCache>, keys: &Arc<Keychain>) -> Result<BaseTree> {
    BaseTree::open(&dynamic(disk), path(), cache, &with(keys))
}

fn markers(disk: &TestDisk) -> usize {
    disk.bytes(path()).windows(MARKER.len()).filter(|w| *w == MARKER).count()
}

/// Rows that hold the marker: small ones, large ones.
fn marked(rng: &mut Dice, n: u64) -> Model {
    let row = |i: u64| match i % 29 {
        0 => MARKER.repeat(1000 + i as usize % 700),
        _ => [MARKER, &i.to_le_bytes().repeat(1 + i as usize % 30)].concat(),
    };
    (0..n).map(|i| (numbered(rng.below(1 << 20)), row(i))).collect()
}

fn merge(tree: &BaseTree, rows: &Model, lsn: u64) {
    tree.merge(rows.iter().map(|(key, row)| (key, Change::Put(row))), &MergeOptions::at(Lsn(lsn)))
        .expect("merges");
}

/// Writes everything anew, in small chunks.
fn rewrite(tree: &BaseTree, before: u64) -> Result<()> {
    let mut from = Vec::new();
    while let Rewritten::To(next) = tree.rewrite_older(before, from, 200_000, &options::NoThrottle)? {
        from = next;
    }
    Ok(())
}

fn wipe(tree: &BaseTree, before: u64) -> Result<()> {
    let mut from = Some(0);
    while let Some(next) = from {
        from = tree.wipe_free(before, next, &options::NoThrottle)?;
    }
    Ok(())
}

#[test]
fn a_file_is_turned_while_readers_and_merges_go_on_and_back() {
    let mut rng = Dice(3);
    let (disk, cache, keys) = (TestDisk::new(), PageCache::new(1 << 20), keys(1));
    let tree = BaseTree::create(&dynamic(&disk), path(), &cache, &with(&keys)).expect("creates");
    let mut model = marked(&mut rng, 4_000);
    merge(&tree, &model, 1);
    let again = marked(&mut rng, 1_000);
    merge(&tree, &again, 2);
    model.extend(again);
    assert!(markers(&disk) > 1_000);
    let reader = tree.root();
    let before_it = model.clone();
    let generation = tree.use_key(1).expect("turns");
    let more = marked(&mut rng, 500);
    merge(&tree, &more, 3);
    model.extend(more);
    rewrite(&tree, generation).expect("rewrites");
    let end = tree.generation();
    assert!(rows(&reader).expect("reads the old root") == before_it);
    assert!(matches!(wipe(&tree, end), Err(BaseError::Cancelled)), "the old pages are still read");
    drop(reader);
    wipe(&tree, end).expect("wipes");
    assert_eq!(markers(&disk), 0);
    assert!(rows(&tree.root()).expect("reads") == model);
    assert_sound(&tree);
    keys.set_no_plain_pages(true);
    drop(tree);
    let tree = open_with(&disk, &cache, &super::sealed::keys(2)).expect("opens");
    assert!(!tree.space_was_rebuilt());
    assert!(rows(&tree.root()).expect("reads") == model);
    let generation = tree.use_key(2).expect("another key");
    rewrite(&tree, generation).expect("rewrites");
    drop(tree);
    let second = Keychain::default();
    second.set_file([9; 16], 7);
    second.add(2, DataKey::clone(&keys.key(2).unwrap()));
    second.set_no_plain_pages(true);
    let tree = open_with(&disk, &cache, &Arc::new(second)).expect("opens with the new key alone");
    assert!(rows(&tree.root()).expect("reads") == model);
    assert_sound(&tree);
    drop(tree);
    let keys = super::sealed::keys(3);
    let tree = open_with(&disk, &cache, &keys).expect("opens");
    let generation = tree.use_key(0).expect("plain again");
    rewrite(&tree, generation).expect("rewrites");
    drop(tree);
    let tree = open(&disk, &cache).expect("opens without keys");
    assert!(rows(&tree.root()).expect("reads") == model);
    assert_sound(&tree);
}

/// A small encrypted tree, and its file.
fn sample() -> (Model, Vec<u8>) {
    let (model, plain) = damage::sample();
    let (disk, cache, keys) = (TestDisk::with_file(path(), plain), PageCache::new(1 << 20), keys(1));
    let tree = open_with(&disk, &cache, &keys).expect("opens");
    let generation = tree.use_key(1).expect("turns");
    rewrite(&tree, generation).expect("rewrites");
    wipe(&tree, tree.generation()).expect("wipes");
    (model, disk.bytes(path()))
}

#[test]
fn without_its_key_or_with_another_the_file_does_not_open() {
    let (_, bytes) = sample();
    let (disk, cache) = (TestDisk::with_file(path(), bytes), PageCache::new(1 << 20));
    assert!(matches!(open(&disk, &cache), Err(BaseError::Locked { number: 1, .. })));
    let wrong = Keychain::default();
    wrong.set_file([9; 16], 1);
    wrong.add(1, DataKey::new(Algorithm::Aes256, &SimRandom::new(99)));
    assert!(matches!(open_with(&disk, &cache, &Arc::new(wrong)), Err(BaseError::Corrupt { .. })));
    let other_file = Keychain::default();
    other_file.set_file([8; 16], 1);
    other_file.add(1, DataKey::clone(&keys(1).key(1).unwrap()));
    assert!(matches!(open_with(&disk, &cache, &Arc::new(other_file)), Err(BaseError::Corrupt { .. })));
}

/// Reads everything; panics if a wrong row comes back.
fn reads_right(bytes: Vec<u8>, model: &Model) -> bool {
    let keys = keys(2);
    keys.set_no_plain_pages(true);
    let (disk, cache) = (TestDisk::with_file(path(), bytes), PageCache::new(1 << 20));
    let Ok(tree) = open_with(&disk, &cache, &keys) else { return false };
    let root = tree.root();
    if root.stats().rows == 0 {
        return true;
    }
    model.iter().all(|(key, row)| match root.get(key) {
        Ok(found) => {
            assert_eq!(found.as_deref(), Some(&row[..]));
            true
        }
        Err(_) => false,
    })
}

#[test]
fn every_flipped_byte_of_a_page_in_use_is_noticed() {
    let (model, good) = sample();
    assert!(reads_right(good.clone(), &model));
    let pages = good.len() / PAGE_SIZE;
    let mut noticed = 0;
    for page in 2..pages {
        let regions = [0, 4, 5, 6, 8, 15, 23, 24, 26, 31, 32, 500, 4000, PAGE_SIZE - 1];
        let found: Vec<bool> = regions
            .iter()
            .map(|at| {
                let mut bad = good.clone();
                bad[page * PAGE_SIZE + at] ^= 4;
                !reads_right(bad, &model)
            })
            .collect();
        // Free pages, and the space map, which is made anew, are nobody's loss.
        assert!(found.iter().all(|f| *f) || found.iter().all(|f| !f), "page {page}: {found:?}");
        noticed += usize::from(found[0]);
    }
    assert!(noticed >= 6, "{noticed} pages in use");
}

#[test]
fn pages_cannot_change_places_nor_be_plain_again() {
    let (model, good) = sample();
    let (_, plain) = damage::sample();
    let used = |page: usize| {
        let mut bad = good.clone();
        bad[page * PAGE_SIZE] ^= 1;
        !reads_right(bad, &model)
    };
    let in_use: Vec<usize> = (2..good.len() / PAGE_SIZE).filter(|page| used(*page)).collect();
    let at = |page: usize| page * PAGE_SIZE..(page + 1) * PAGE_SIZE;
    for pair in in_use.windows(2) {
        let mut swapped = good.clone();
        let (one, two) = (good[at(pair[0])].to_vec(), good[at(pair[1])].to_vec());
        swapped[at(pair[0])].copy_from_slice(&two);
        swapped[at(pair[1])].copy_from_slice(&one);
        assert!(!reads_right(swapped, &model), "pages {pair:?}");
    }
    let mut forged = good.clone();
    let donor = (2..plain.len() / PAGE_SIZE).find(|page| plain[page * PAGE_SIZE + 4] == 1).unwrap();
    forged[at(in_use[0])].copy_from_slice(&plain[at(donor)]);
    assert!(!reads_right(forged, &model));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_crash_anywhere_in_a_rewriting_leaves_all_rows_and_it_goes_on(seed in any::<u64>()) {
        let mut rng = Dice(seed);
        let (disk, cache) = (TestDisk::new(), PageCache::new(4 << 20));
        let tree = create(&disk, &cache);
        let model = marked(&mut rng, 400);
        merge(&tree, &model, 1);
        drop(tree);
        for stop in 0.. {
            let copy = TestDisk::with_file(path(), disk.bytes(path()));
            let victim = open_with(&copy, &cache, &keys(rng.next() as u32)).expect("opens");
            copy.fail_after(stop);
            let generation = victim.use_key(1).expect("turns");
            let outcome = rewrite(&victim, generation).and_then(|()| wipe(&victim, victim.generation()));
            prop_assert!(rows(&victim.root()).expect("what is published stays readable") == model);
            let after = copy.crashed(&mut rng);
            let keys = keys(rng.next() as u32);
            let again = open_with(&after, &cache, &keys).expect("opens after a crash");
            prop_assert!(rows(&again.root()).expect("scans") == model);
            // As whoever remembers it says: pages from the same generation on are encrypted.
            keys.set_page_key(1);
            rewrite(&again, generation).expect("goes on");
            wipe(&again, again.generation()).expect("wipes");
            prop_assert!(markers(&after) == 0);
            prop_assert!(rows(&again.root()).expect("scans") == model);
            assert_sound(&again);
            if outcome.is_ok() {
                break;
            }
        }
    }
}
