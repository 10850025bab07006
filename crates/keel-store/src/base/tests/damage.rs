//! Flipped bits: every read gives the right answer or an error, and nothing panics.

use super::super::page::{Expect, Kind, Page, PageRef, verify_bytes};
use super::*;

/// A small tree with two levels, an overflow value and long keys, and its file.
pub(super) fn sample() -> (Model, Vec<u8>) {
    let (disk, cache) = (TestDisk::new(), PageCache::new(1 << 20));
    let tree = create(&disk, &cache);
    let mut model: Model = (0..120).map(|i| (numbered(i), vec![i as u8; 300])).collect();
    model.insert(numbered(50), (0..20_000).map(|i| i as u8).collect());
    model.insert([&numbered(60)[..], &[b'x'; 1500]].concat(), b"long key".to_vec());
    let changes = model.iter().map(|(key, row)| (key, Change::Put(row)));
    tree.merge(changes, &MergeOptions::at(Lsn(1))).expect("merges");
    (model, disk.bytes(path()))
}

/// Reads everything there is; panics only if a wrong row comes back.
fn read_all(bytes: Vec<u8>, model: &Model) -> bool {
    let (disk, cache) = (TestDisk::with_file(path(), bytes), PageCache::new(1 << 20));
    let Ok(tree) = open(&disk, &cache) else { return false };
    let root = tree.root();
    if root.stats().rows == 0 {
        return true; // The other superblock: the empty tree before the merge.
    }
    let mut right = true;
    for (key, row) in model {
        match root.get(key) {
            Ok(found) => assert_eq!(found.as_deref(), Some(&row[..])),
            Err(error) => {
                assert!(matches!(error, BaseError::Corrupt { .. }), "{error}");
                right = false;
            }
        }
    }
    match rows(&root) {
        Ok(found) => assert!(found == *model),
        Err(_) => right = false,
    }
    let report = tree.check(&mut |_, _| ControlFlow::Continue(()), &mut |_, _| {}).expect("checks");
    assert_eq!(
        right,
        report.findings.is_empty(),
        "the checker finds what readers meet: {:?}",
        report.findings
    );
    right
}

#[test]
fn flipped_bits_in_the_file_are_found() {
    let (model, good) = sample();
    assert!(read_all(good.clone(), &model));
    let mut rng = Dice(1);
    let mut noticed = 0;
    for _ in 0..400 {
        let mut bad = good.clone();
        let at = rng.below(bad.len() as u64) as usize;
        bad[at] ^= 1 << rng.below(8);
        noticed += u32::from(!read_all(bad, &model));
    }
    assert!(noticed > 40, "{noticed}");
}

#[test]
fn a_damaged_space_map_is_made_anew() {
    let (model, good) = sample();
    let mut damaged = 0;
    for page in 2..good.len() / PAGE_SIZE {
        let kind = good[page * PAGE_SIZE + 4];
        if kind != Kind::Bitmap as u8 && kind != Kind::Directory as u8 {
            continue;
        }
        let mut bad = good.clone();
        bad[page * PAGE_SIZE + 1000] ^= 4;
        let disk = TestDisk::with_file(path(), bad);
        let tree = open(&disk, &PageCache::new(1 << 20)).expect("opens");
        damaged += u32::from(tree.space_was_rebuilt());
        assert!(rows(&tree.root()).expect("scans") == model);
        for round in 2..5 {
            let changes = model.iter().map(|(key, row)| (key, Change::Put(row)));
            tree.merge(changes, &MergeOptions::at(Lsn(round))).expect("merges");
        }
        assert!(rows(&tree.root()).expect("scans") == model);
        assert_sound(&tree);
        drop(tree);
        assert!(!open(&disk, &PageCache::new(1 << 20)).expect("opens").space_was_rebuilt());
    }
    assert!(damaged >= 2, "both kinds of page are met");
}

#[test]
fn swapped_and_stale_pages_are_found() {
    let (model, good) = sample();
    let pages = good.len() / PAGE_SIZE;
    let mut noticed = 0;
    for (a, b) in (2..pages).flat_map(|a| (2..pages).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        let mut bad = good.clone();
        bad.copy_within(a * PAGE_SIZE..(a + 1) * PAGE_SIZE, b * PAGE_SIZE);
        noticed += u32::from(!read_all(bad, &model));
    }
    assert!(noticed > 20, "{noticed}");
}

/// Damage that the checksum does not reveal must still not lead outside the page.
#[test]
fn pages_with_a_forged_checksum_never_panic() {
    let (_, good) = sample();
    let mut rng = Dice(2);
    let pages: Vec<_> =
        good.as_chunks::<PAGE_SIZE>().0.iter().filter(|page| (1..=5).contains(&page[4])).collect();
    let probes: Vec<Vec<u8>> = (0..40).map(|i| numbered(i * 3)).chain([vec![], vec![255; 3000]]).collect();
    let mut accepted = 0;
    for round in 0..20_000 {
        let mut bytes = *pages[round % pages.len()];
        let hottest = if rng.below(2) == 0 { 700 } else { PAGE_SIZE as u64 - 4 };
        for _ in 0..1 + rng.below(3) {
            bytes[4 + rng.below(hottest) as usize] = rng.next() as u8;
        }
        let sum = crc32c::crc32c(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        accepted += u32::from(exercise(&bytes, &probes));
    }
    assert!(accepted > 1000, "{accepted} forged pages were accepted: the test reaches the searches");
}

fn exercise(bytes: &[u8; PAGE_SIZE], probes: &[Vec<u8>]) -> bool {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let at = PageRef { page: word(8), generation: word(16) };
    let level = [Some(u32::from(bytes[5])), None][usize::from(bytes[4] > 2)];
    let kind = [Kind::Overflow, Kind::Bitmap, Kind::Directory][usize::from(bytes[4].clamp(3, 5)) - 3];
    let expect = Expect { at, tag: word(12), level, kind };
    let filled: std::result::Result<_, ()> = Page::with_bytes(|page| {
        page.copy_from_slice(bytes);
        Ok(())
    });
    let page = filled.expect("fills");
    if page.verify(expect).is_err() || verify_bytes(bytes, expect).is_err() {
        return false;
    }
    match level {
        Some(0) => {
            for probe in probes {
                let _ = page.find(probe);
            }
            (0..page.len()).for_each(|i| assert!(page.value(page.leaf_row(i).1).len() < PAGE_SIZE));
            let _ = (page.row_bytes(), page.leaf_rows());
        }
        Some(_) => {
            for probe in probes {
                assert!(page.child_index(probe) < page.len());
            }
            let _ = super::super::merge::entries_of(&page, b"");
        }
        None => {}
    }
    true
}
