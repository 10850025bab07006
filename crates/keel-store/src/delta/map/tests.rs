//! The map against `BTreeMap`, and many threads against each other.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crossbeam_epoch as epoch;
use proptest::prelude::*;

use super::*;

fn walk(map: &Map, bounds: (Bound<&[u8]>, Bound<&[u8]>), reverse: bool, batch: usize) -> Vec<Vec<u8>> {
    let guard = epoch::pin();
    let mut found: Vec<Vec<u8>> = Vec::new();
    let (mut lower, mut upper) = (bounds.0.map(<[u8]>::to_vec), bounds.1.map(<[u8]>::to_vec));
    loop {
        let mut out = Vec::new();
        let slice = |b: &'_ Bound<Vec<u8>>| -> Bound<Vec<u8>> { b.clone() };
        let (low, high) = (slice(&lower), slice(&upper));
        let more = map.batch(
            low.as_ref().map(Vec::as_slice),
            high.as_ref().map(Vec::as_slice),
            reverse,
            batch,
            &mut out,
            &guard,
        );
        found.extend(out.iter().map(|entry| entry.key().to_vec()));
        match out.last() {
            Some(last) if more => {
                let behind = Bound::Excluded(last.key().to_vec());
                if reverse { upper = behind } else { lower = behind }
            }
            _ => return found,
        }
    }
}

fn spread(seed: u32, shape: u8) -> Vec<u8> {
    match shape % 5 {
        // Random, ascending, long shared prefix, prefixes of each other, zero bytes at the end.
        0 => seed.wrapping_mul(0x9E37_79B1).to_be_bytes().to_vec(),
        1 => seed.to_be_bytes().to_vec(),
        2 => [&[7; 30][..], &(seed % 500).to_be_bytes()].concat(),
        3 => vec![b'x'; (seed % 60) as usize],
        _ => [&[1, 2][..], &vec![0; (seed % 40) as usize]].concat(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn behaves_like_a_btree(
        ops in prop::collection::vec((0u8..12, 0u8..5, 0u32..3000), 1..300),
        batch in 1usize..100,
    ) {
        let map = Map::new();
        let mut model = BTreeSet::new();
        let mut ascending = 0;
        for (op, shape, seed) in ops {
            let guard = epoch::pin();
            match op {
                0 => {
                    let out = seed % 7;
                    let goes = |key: &[u8]| out == 0 || key.iter().map(|b| u32::from(*b)).sum::<u32>() % 7 < out;
                    map.sweep(&mut |entry, _| goes(entry.key()));
                    model.retain(|key: &Vec<u8>| !goes(key));
                }
                1 | 2 => {
                    // A run, so that nodes split and prefixes form.
                    for _ in 0..100 {
                        ascending += 1;
                        let key = [&[9, 9, 9][..], &(ascending * (u32::from(shape) + 1)).to_be_bytes()].concat();
                        let fresh = map.get_or_insert(&key, Place::Unknown, &guard).1;
                        prop_assert_eq!(fresh, model.insert(key));
                    }
                }
                _ => {
                    let key = spread(seed, shape);
                    prop_assert_eq!(map.get(&key, &guard).is_some(), model.contains(&key));
                    let (entry, fresh) = map.get_or_insert(&key, Place::Unknown, &guard);
                    prop_assert_eq!(entry.key(), &key[..]);
                    prop_assert_eq!(fresh, model.insert(key.clone()));
                    prop_assert!(map.get(&key, &guard).is_some());
                }
            }
            prop_assert_eq!(map.len(), model.len());
        }
        let all = (Bound::Unbounded, Bound::Unbounded);
        let expected: Vec<_> = model.iter().cloned().collect();
        prop_assert_eq!(walk(&map, all, false, batch), expected.clone());
        let mut backwards = expected.clone();
        backwards.reverse();
        prop_assert_eq!(walk(&map, all, true, batch), backwards);
        for (index, low) in expected.iter().enumerate().step_by(17) {
            let high = &expected[(index + batch).min(expected.len() - 1)];
            for bounds in [
                (Bound::Included(&low[..]), Bound::Included(&high[..])),
                (Bound::Excluded(&low[..]), Bound::Unbounded),
                (Bound::Unbounded, Bound::Excluded(&high[..])),
            ] {
                let expected: Vec<_> = model.range::<[u8], _>(bounds).cloned().collect();
                prop_assert_eq!(walk(&map, bounds, false, batch), expected.clone());
                let backwards: Vec<_> = expected.into_iter().rev().collect();
                prop_assert_eq!(walk(&map, bounds, true, batch), backwards);
            }
        }
        map.sweep(&mut |_, _| true);
        prop_assert_eq!(map.len(), 0);
        prop_assert!(walk(&map, all, false, batch).is_empty());
    }
}

#[test]
fn an_emptied_map_gives_its_nodes_back() {
    let map = Map::new();
    let guard = epoch::pin();
    for round in 0..4u32 {
        for key in 0..20_000u32 {
            map.get_or_insert(&(round * 20_000 + key).to_be_bytes(), Place::Unknown, &guard);
        }
        map.sweep(&mut |_, _| true);
        assert_eq!(map.len(), 0);
        let mut leaves = 1;
        let mut seek = map.find_leaf(Seek::First, false, &guard).unwrap().2;
        while let Fence::At(key) = seek {
            leaves += 1;
            seek = map.find_leaf(Seek::To(key), false, &guard).unwrap().2;
        }
        assert_eq!(leaves, 1);
    }
}

/// Between two leaves of a walk everything ahead of it goes, and the leaf just read is given the range of those.
#[test]
fn a_walk_does_not_come_back_to_a_leaf_that_has_grown() {
    for reverse in [false, true] {
        let map = Map::new();
        let guard = epoch::pin();
        for key in 0..1000u32 {
            map.get_or_insert(&key.to_be_bytes(), Place::Unknown, &guard);
        }
        let (mut range, mut out) = ((Bound::Unbounded, Bound::Unbounded), Vec::new());
        assert!(map.next_leaf(&mut range, reverse, usize::MAX, &mut out, &guard));
        let last = out.last().unwrap().key().to_vec();
        let ahead = |key: &[u8]| if reverse { key < &last[..] } else { key > &last[..] };
        map.sweep(&mut |entry, _| ahead(entry.key()));
        while map.next_leaf(&mut range, reverse, usize::MAX, &mut out, &guard) {}
        let keys: Vec<_> = out.iter().map(|entry| entry.key()).collect();
        assert!(keys.is_sorted_by(|a, b| if reverse { a > b } else { a < b }), "{keys:?}");
        assert_eq!(keys.len(), map.len());
    }
}

/// What was beside a leaf when its parent's parent was looked at, need not be when the leaf is.
#[test]
fn a_leaf_that_has_grown_past_the_separator_beside_it_is_looked_for_again() {
    let map = Map::new();
    let guard = epoch::pin();
    for key in 0..9 {
        map.get_or_insert(&[key], Place::Unknown, &guard);
    }
    for (reverse, right) in [(false, 9), (true, 0)] {
        for fence in 0..=9 {
            let (leaf, version, _) = map.find_leaf(Seek::First, reverse, &guard).ok().unwrap();
            let (all, key) = ((Bound::Unbounded, Bound::Unbounded), [fence]);
            let fence = Fence::At(if right == fence { &[right][..] } else { &key });
            let read = collect((leaf, version, fence), all, reverse, usize::MAX, &mut Vec::new());
            assert_eq!(read.is_ok(), key == [right], "{key:?}, reverse: {reverse}");
        }
    }
}

/// Each thread owns the keys of its residue: what it has inserted and not swept must be found, by itself at any time
/// and by walks of the others.
#[test]
fn threads_insert_sweep_and_walk_at_once() {
    const KEYS: u32 = 4000;
    let map = Map::new();
    let stop = AtomicBool::new(false);
    let walks = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..2u32 {
            let (map, stop) = (&map, &stop);
            scope.spawn(move || {
                let key = |index: u32| {
                    let mixed = index.wrapping_mul(2_654_435_761) % KEYS;
                    [&[5; 10][..], &(mixed / 100).to_be_bytes(), &(mixed % 100 * 2 + thread).to_be_bytes()]
                        .concat()
                };
                for index in 0..KEYS {
                    let guard = epoch::pin();
                    map.get_or_insert(&key(index), Place::Unknown, &guard);
                    assert!(map.get(&key(index / 2), &guard).is_some());
                }
                stop.store(true, Ordering::SeqCst);
            });
        }
        let (map, stop, walks) = (&map, &stop, &walks);
        scope.spawn(move || {
            while !stop.load(Ordering::SeqCst) {
                let found = walk(
                    map,
                    (Bound::Unbounded, Bound::Unbounded),
                    walks.load(Ordering::Relaxed) % 2 == 0,
                    33,
                );
                let sorted = found
                    .windows(2)
                    .all(|w| if walks.load(Ordering::Relaxed) % 2 == 0 { w[0] > w[1] } else { w[0] < w[1] });
                assert!(sorted);
                walks.fetch_add(1, Ordering::Relaxed);
            }
        });
        // Garbage of its own that comes and goes between the others' keys.
        scope.spawn(move || {
            let mut round = 0u32;
            while !stop.load(Ordering::SeqCst) {
                round += 1;
                let guard = epoch::pin();
                for index in 0..50 {
                    let place = (round * 7 + index) % 40;
                    map.get_or_insert(
                        &[&[5; 10][..], &place.to_be_bytes(), &[9, 9, 9, 9, index as u8]].concat(),
                        Place::Unknown,
                        &guard,
                    );
                }
                drop(guard);
                map.sweep(&mut |entry, _| entry.key().len() == 19);
            }
        });
    });
    map.sweep(&mut |entry, _| entry.key().len() == 19);
    let guard = epoch::pin();
    let found = walk(&map, (Bound::Unbounded, Bound::Unbounded), false, 100);
    assert_eq!(found.len(), map.len());
    let distinct: BTreeSet<_> = (0..KEYS).map(|index| index.wrapping_mul(2_654_435_761) % KEYS).collect();
    assert_eq!(found.len(), distinct.len() * 2);
    assert!(found.iter().all(|key| map.get(key, &guard).is_some()));
}

/// Looks for keys at once, and inserts them afterwards, when some places are stale.
fn insert_ahead(map: &Map, keys: &[Vec<u8>]) -> Vec<bool> {
    let guard = epoch::pin();
    let mut searches: Vec<Search<'_, '_>> = keys.iter().map(|key| map.search(key, &guard)).collect();
    while searches.iter_mut().fold(false, |any, search| search.step(&guard) | any) {}
    let places: Vec<Place<'_>> = searches.iter().map(Search::place).collect();
    let insert = |(key, place): (&Vec<u8>, Place<'_>)| {
        let (entry, fresh) = map.get_or_insert(key, place, &guard);
        assert_eq!(entry.key(), &key[..]);
        fresh
    };
    keys.iter().zip(places).map(insert).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn searches_ahead_change_nothing(
        batches in prop::collection::vec((0u8..5, prop::collection::vec((0u8..5, 0u32..3000), 1..16)), 1..200),
    ) {
        let map = Map::new();
        let mut model = BTreeSet::new();
        let mut ascending = 0u32;
        for (runs, batch) in batches {
            let key = |(shape, seed): (u8, u32)| {
                ascending += 1;
                let run = [&[9, 9, 9][..], &ascending.to_be_bytes()].concat();
                if shape < runs { run } else { spread(seed, shape) }
            };
            let keys: Vec<Vec<u8>> = batch.into_iter().map(key).collect();
            let expected: Vec<bool> = keys.iter().map(|key| model.insert(key.clone())).collect();
            prop_assert_eq!(insert_ahead(&map, &keys), expected);
        }
        let expected: Vec<_> = model.into_iter().collect();
        prop_assert_eq!(walk(&map, (Bound::Unbounded, Bound::Unbounded), false, 50), expected);
    }
}

/// Places go stale through others' insertions, splits and sweeps; a key is made by one thread only.
#[test]
fn searches_ahead_meet_other_threads() {
    const KEYS: u32 = 6000;
    let map = Map::new();
    let made = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let key = |index: u32| [&[5; 10][..], &index.wrapping_mul(2_654_435_761).to_be_bytes()].concat();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3u32)
            .map(|_| {
                scope.spawn(|| {
                    for first in (0..KEYS).step_by(12) {
                        let keys: Vec<Vec<u8>> = (first..first + 12).map(key).collect();
                        let fresh = insert_ahead(&map, &keys).into_iter().filter(|fresh| *fresh).count();
                        made.fetch_add(fresh, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                let own: Vec<Vec<u8>> = (0..12u8).map(|n| vec![5, n, n]).collect();
                insert_ahead(&map, &own);
                map.sweep(&mut |entry, _| entry.key().len() == 3);
            }
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        stop.store(true, Ordering::SeqCst);
    });
    map.sweep(&mut |entry, _| entry.key().len() == 3);
    assert_eq!(made.load(Ordering::Relaxed), KEYS as usize);
    assert_eq!(map.len(), KEYS as usize);
}
