//! Stretches of keys in which nobody finds a row any more: what a queue leaves behind.
//!
//! Rows come in at one end of a queue and go at the other. Until the next checkpoint the key of each row that went
//! stays in the delta, and whoever asks for the first row passes them all. So a scan of the newest versions that met
//! nothing but dead keys before its first row leaves a note here, and later scans begin behind them.
//!
//! ```text
//! keys:    1† 2† 3† 4† 5  6  7        noted: [1, 5), nothing alive in it at or after the newest of these deletes
//! ```
//!
//! * A key is **dead** when its newest version is a committed delete. A scan of the newest versions sees for every key
//!   either what the delta has or what is in the newest base, so keys that it did not meet have no row at all.
//! * A reader may skip a stretch if it sees all its deletes: those met, and those that an eviction had taken before the walk, which
//!   are in the newest base by then and so at or below its checkpoint.
//! * Stretches lie apart: one that reaches another takes it in. So there is one at most for a birth to end.
//! * A row that is **born** (written where none was alive) says so after its version is in the chain and before its
//!   transaction can commit: it is counted, and a stretch around it ends before it. A scan notes a stretch only if
//!   nothing was born since it began. Between the two somebody always sees the other: the note is announced before the
//!   births are looked at, and the birth is counted before the announcement is.
//!
//! Rows never come alive otherwise, but when commits are taken back: then everything is forgotten, as it is when an
//! eviction takes the dead keys out.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use keel_base::Lsn;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::key_bytes;

/// Dead keys that make a new stretch worth a note; one that is known grows by single keys.
const KEYS_MIN: usize = if cfg!(test) { 2 } else { 32 };
/// Stretches kept for one tree; at the limit it starts anew.
const STRETCHES_MAX: usize = 4096;

type Key = SmallVec<[u8; 32]>;

/// The stretches of one tree.
#[derive(Default)]
pub(crate) struct DeadKeys {
    /// Whether a note is, or is just being, made.
    any: AtomicBool,
    /// Rows born so far. On a line of its own: writers write here.
    births: CachePadded<AtomicU64>,
    /// By first key.
    stretches: Mutex<BTreeMap<Key, Stretch>>,
}

struct Stretch {
    /// The first key behind it.
    end: Key,
    /// No delete in it is newer.
    newest: Lsn,
}

/// What a scan of the newest versions has met so far.
pub(crate) struct Walk {
    /// Where it began.
    from: Key,
    births: u64,
    keys: usize,
    newest: Lsn,
    /// The first key met that is not dead.
    alive: Option<Key>,
    /// The last dead one before it.
    last: Key,
}

impl DeadKeys {
    /// A walk that begins at `lower`; `None` where nothing is to be noted.
    pub(crate) fn walk(&self, lower: Bound<&[u8]>) -> Option<Walk> {
        let births = self.births.load(Ordering::SeqCst);
        let from = first_key(lower)?;
        Some(Walk { from, births, keys: 0, newest: Lsn::ZERO, alive: None, last: Key::new() })
    }

    /// Where a scan from `lower` may begin instead, for a reader that sees commits up to `lsn`; and the newest delete that it passes over so.
    pub(crate) fn skip(&self, lower: Bound<&[u8]>, lsn: Lsn) -> Option<(Key, Lsn)> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        let from = first_key(lower)?;
        let stretches = self.stretches.lock();
        let (_, stretch) = stretches.range::<[u8], _>(up_to(&from)).next_back()?;
        (from < stretch.end && stretch.newest <= lsn).then(|| (stretch.end.clone(), stretch.newest))
    }

    /// A row is where none was alive: its version has just been put into the chain.
    #[inline]
    pub(crate) fn born(&self, key: &[u8]) {
        self.births.fetch_add(1, Ordering::SeqCst);
        if self.any.load(Ordering::SeqCst) {
            self.cut(key);
        }
    }

    #[cold]
    fn cut(&self, key: &[u8]) {
        let mut stretches = self.stretches.lock();
        let Some((from, stretch)) = stretches.range_mut::<[u8], _>(up_to(key)).next_back() else { return };
        if key >= &stretch.end[..] {
            return;
        }
        if from[..] == *key {
            stretches.remove(key);
        } else {
            stretch.end = Key::from_slice(key);
        }
    }

    /// Everything may be different now.
    pub(crate) fn forget(&self) {
        self.births.fetch_add(1, Ordering::SeqCst);
        self.stretches.lock().clear();
    }

    /// Ends a walk: its first row is under `row`, or there is none in its range. No delete that was evicted before is newer than `evicted`.
    pub(crate) fn note(&self, walk: Walk, row: Option<&[u8]>, evicted: Lsn) {
        let Some(end) = walk.end(row) else { return };
        let mut stretches = self.stretches.lock();
        self.any.store(true, Ordering::SeqCst);
        if self.births.load(Ordering::SeqCst) != walk.births {
            return;
        }
        let before = stretches.range::<[u8], _>(up_to(&walk.from)).next_back();
        let known = before.filter(|(_, before)| before.end >= walk.from);
        if known.is_none() && walk.keys < KEYS_MIN || known.is_some_and(|(_, known)| known.end >= end) {
            return;
        }
        let from = known.map_or(walk.from, |(from, _)| from.clone());
        let mut stretch = Stretch { end, newest: walk.newest.max(evicted) };
        take_in(&mut stretches, &from, &mut stretch);
        if stretches.len() == STRETCHES_MAX {
            stretches.clear();
        }
        stretches.insert(from, stretch);
    }
}

/// Joins a stretch that begins at `from` with those that it reaches, which go.
fn take_in(stretches: &mut BTreeMap<Key, Stretch>, from: &Key, stretch: &mut Stretch) {
    while let Some((key, other)) = stretches.range(from.clone()..=stretch.end.clone()).next_back() {
        if other.end > stretch.end {
            stretch.end = other.end.clone();
        }
        stretch.newest = stretch.newest.max(other.newest);
        let key = key.clone();
        stretches.remove(&key);
    }
}

impl Walk {
    /// The next key of the delta, with the commit of its delete if it is dead.
    #[inline]
    pub(crate) fn meet(&mut self, key: &[u8], dead: Option<Lsn>) {
        if self.alive.is_some() {
            return;
        }
        match dead {
            Some(lsn) => {
                self.keys += 1;
                self.newest = self.newest.max(lsn);
                key_bytes::assign(&mut self.last, key);
            }
            None => self.alive = Some(Key::from_slice(key)),
        }
    }

    /// Where the stretch ends; `None` when it is empty.
    fn end(&self, row: Option<&[u8]>) -> Option<Key> {
        if self.keys == 0 {
            return None;
        }
        let end = match (self.alive.as_deref(), row) {
            (Some(alive), Some(row)) => Key::from_slice(alive.min(row)),
            (Some(key), None) | (None, Some(key)) => Key::from_slice(key),
            (None, None) => successor(&self.last),
        };
        (end > self.from).then_some(end)
    }
}

/// The stretches that begin at `key` or before.
fn up_to(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Unbounded, Bound::Included(key))
}

/// The least key of a range that begins at `lower`.
fn first_key(lower: Bound<&[u8]>) -> Option<Key> {
    match lower {
        Bound::Unbounded => None,
        Bound::Included(key) => Some(Key::from_slice(key)),
        Bound::Excluded(key) => Some(successor(key)),
    }
}

/// The least key greater than `key`.
fn successor(key: &[u8]) -> Key {
    let mut next = Key::from_slice(key);
    next.push(0);
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(dead: &DeadKeys, from: &[u8], keys: impl IntoIterator<Item = u8>, row: Option<&[u8]>) {
        let mut walk = dead.walk(Bound::Included(from)).unwrap();
        keys.into_iter().for_each(|key| walk.meet(&[key], Some(Lsn(u64::from(key)))));
        dead.note(walk, row, Lsn::ZERO);
    }

    fn skipped(dead: &DeadKeys, from: &[u8], lsn: u64) -> Option<Vec<u8>> {
        dead.skip(Bound::Included(from), Lsn(lsn)).map(|(key, _)| key.to_vec())
    }

    #[test]
    fn who_sees_all_deletes_begins_behind_them() {
        let dead = DeadKeys::default();
        walked(&dead, &[0], 1..=40, Some(&[41]));
        assert_eq!(skipped(&dead, &[0], 40), Some(vec![41]));
        assert_eq!(skipped(&dead, &[7], 99), Some(vec![41]));
        assert_eq!(skipped(&dead, &[0], 39), None);
        assert_eq!(skipped(&dead, &[41], 99), None);
        let passed = dead.skip(Bound::Included(&[7]), Lsn::MAX).unwrap();
        assert_eq!(passed.1, Lsn(40), "who passes over them has seen the newest delete");
    }

    #[test]
    fn a_known_stretch_grows_by_single_keys_and_a_new_one_needs_many() {
        let dead = DeadKeys::default();
        walked(&dead, &[0], 1..=1, Some(&[2]));
        assert_eq!(skipped(&dead, &[0], 99), None);
        walked(&dead, &[0], 1..=40, Some(&[41]));
        walked(&dead, &[41], 41..=41, Some(&[42]));
        assert_eq!(skipped(&dead, &[0], 40), None);
        assert_eq!(skipped(&dead, &[0], 41), Some(vec![42]));
    }

    #[test]
    fn a_birth_ends_the_stretch_before_it_and_spoils_walks_under_way() {
        let dead = DeadKeys::default();
        walked(&dead, &[0], 1..=40, None);
        assert_eq!(skipped(&dead, &[0], 99), Some(vec![40, 0]));
        dead.born(&[20]);
        assert_eq!(skipped(&dead, &[0], 99), Some(vec![20]));
        assert_eq!(skipped(&dead, &[20], 99), None);
        let mut walk = dead.walk(Bound::Included(&[20])).unwrap();
        (20..60).for_each(|key| walk.meet(&[key], Some(Lsn(1))));
        dead.born(&[100]);
        dead.note(walk, None, Lsn::ZERO);
        assert_eq!(skipped(&dead, &[20], 99), None);
        dead.forget();
        assert_eq!(skipped(&dead, &[0], 99), None);
    }

    #[test]
    fn a_birth_ends_every_stretch_that_its_key_was_in() {
        let dead = DeadKeys::default();
        walked(&dead, &[10], 10..=40, Some(&[41]));
        walked(&dead, &[50], 50..=60, Some(&[61]));
        walked(&dead, &[0], 1..=50, Some(&[55]));
        assert_eq!(skipped(&dead, &[0], 60), Some(vec![61]), "they are one");
        dead.born(&[20]);
        assert_eq!(skipped(&dead, &[0], 60), Some(vec![20]));
        assert_eq!(skipped(&dead, &[20], 60), None);
    }

    #[test]
    fn deletes_that_were_evicted_before_count_too() {
        let dead = DeadKeys::default();
        let mut walk = dead.walk(Bound::Included(&[0])).unwrap();
        (1..=40).for_each(|key| walk.meet(&[key], Some(Lsn(1))));
        dead.note(walk, None, Lsn(50));
        assert_eq!(skipped(&dead, &[0], 49), None);
        assert_eq!(skipped(&dead, &[0], 50), Some(vec![40, 0]));
    }

    #[test]
    fn a_key_that_is_not_dead_ends_it_whatever_comes_first() {
        let dead = DeadKeys::default();
        let mut walk = dead.walk(Bound::Excluded(&[0])).unwrap();
        (1..=40).for_each(|key| walk.meet(&[key], Some(Lsn(1))));
        walk.meet(&[41], None);
        walk.meet(&[42], Some(Lsn(1)));
        dead.note(walk, Some(&[50]), Lsn::ZERO);
        assert_eq!(skipped(&dead, &[1], 1), Some(vec![41]));
    }
}
