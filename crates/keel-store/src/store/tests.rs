//! The store against a model: histories of random operations, with many snapshots, several open transactions,
//! savepoints, scans that rest, checkpoints and evictions, must show exactly what a list of maps shows, and keep in
//! memory no more than somebody needs.

mod progress;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use keel_base::env::Disk;
use keel_base::env::sim::SimDisk;
use keel_base::{Lsn, TreeId, TxnId};
use proptest::prelude::*;

use crate::base::{BaseOptions, BaseTree, Direction, PageCache, Throttle};
use crate::row::{PatchBuilder, RowBuilder, patch};
use crate::store::{ReadMode, Store, StoreError};
use crate::{BaseGap, Change, CheckpointOptions, Cursor, Mark, MemoryAccount, Snapshot, Traces, WriteSet};

mod redo;
mod scans;

const TREE: TreeId = TreeId(7);
const KEYS: u8 = 10;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
/// `None` = deleted.
type Changes = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

pub(crate) fn new_store() -> (Arc<Store>, Arc<MemoryAccount>) {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new());
    let path = Path::new("/db/base");
    disk.create_dir_all(Path::new("/db")).unwrap();
    let cache = PageCache::new(1 << 20);
    let base = BaseTree::create(&disk, path, &cache, &BaseOptions::default()).unwrap();
    let memory = MemoryAccount::new();
    (Store::new(base, &memory), memory)
}

fn row(a: u8, b: u8) -> Vec<u8> {
    RowBuilder::build(&[Some(&[a]), Some(&[b, b]), None])
}

fn key(index: u8) -> Vec<u8> {
    // Some keys are prefixes of others, some are longer than a node's inline part would be.
    match index % KEYS {
        0 => vec![],
        1 => vec![1],
        2 => vec![1, 0],
        3 => vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        4 => vec![1, 0, 0, 0, 0, 0, 0, 0, 0, 2],
        other => vec![other; other as usize * 4],
    }
}

struct Open {
    set: WriteSet,
    /// What it has changed.
    own: Changes,
    marks: Vec<(Mark, Changes)>,
}

struct Held {
    snapshot: Snapshot,
    rows: Rows,
    writer: bool,
}

/// A scan that was begun and rests.
struct Resting {
    cursor: Cursor,
    direction: Direction,
    /// What it must show, if of a snapshot; else what was committed when it began.
    rows: Rows,
    of_snapshot: bool,
    /// Keys that were changed since, in a scan of the newest versions.
    changed: BTreeSet<Vec<u8>>,
    found: Rows,
    last: Option<Vec<u8>>,
}

impl Resting {
    /// Goes on for up to `steps` rows; true at the end.
    fn walk(&mut self, steps: usize) -> bool {
        for _ in 0..steps {
            if !self.cursor.advance().unwrap() {
                return true;
            }
            let at = self.cursor.key().to_vec();
            let ordered = self.last.as_ref().is_none_or(|last| match self.direction {
                Direction::Forward => *last < at,
                Direction::Reverse => *last > at,
            });
            assert!(ordered, "{:?} after {:?}", at, self.last);
            if self.cursor.has_row() {
                self.found.insert(at.clone(), self.cursor.row().to_vec());
            }
            self.last = Some(at);
        }
        false
    }

    /// Walks to the end and checks what was shown.
    fn finish(mut self) {
        while !self.walk(1) {}
        let unchanged = |rows: &Rows| -> Rows {
            rows.iter()
                .filter(|(k, _)| !self.changed.contains(*k))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect()
        };
        assert!(!self.of_snapshot || self.changed.is_empty());
        assert_eq!(unchanged(&self.found), unchanged(&self.rows));
    }
}

struct World {
    store: Arc<Store>,
    committed: Rows,
    /// When each key changed last.
    changed_at: BTreeMap<Vec<u8>, Lsn>,
    /// Traces of changes may be gone.
    forgetful: bool,
    snapshots: Vec<Held>,
    resting: Vec<Resting>,
    open: BTreeMap<u8, Open>,
    locks: BTreeMap<Vec<u8>, u8>,
    lsn: u64,
    gap: BaseGap,
    /// States since the stable LSN, oldest first.
    unstable: Vec<(Lsn, Rows)>,
    stable: Rows,
    transactions: u64,
}

impl World {
    fn new() -> World {
        World {
            store: new_store().0,
            committed: Rows::new(),
            changed_at: BTreeMap::new(),
            forgetful: false,
            snapshots: Vec::new(),
            resting: Vec::new(),
            open: BTreeMap::new(),
            locks: BTreeMap::new(),
            lsn: 0,
            gap: BaseGap::new(TREE),
            unstable: Vec::new(),
            stable: Rows::new(),
            transactions: 0,
        }
    }

    fn next_lsn(&mut self) -> Lsn {
        self.lsn += 10;
        Lsn(self.lsn)
    }

    fn committed_at(&mut self, lsn: Lsn) {
        self.unstable.push((lsn, self.committed.clone()));
    }

    fn step(&mut self, op: u8, who: u8, what: u8) {
        let (who, at) = (who % 3, key(what));
        match op % 20 {
            0..=4 => self.write(who, &at, op, what),
            5 => self.savepoint(who, what),
            6 => self.rollback_to(who, what),
            7 => self.commit(who),
            8 => self.rollback(who),
            9 => self.advance(what),
            10 => {
                let writer = what.is_multiple_of(2);
                let snapshot = if writer {
                    self.store.snapshot_of_writer(Lsn::ZERO)
                } else {
                    self.store.snapshot(Lsn::ZERO)
                };
                self.snapshots.push(Held { snapshot, rows: self.stable.clone(), writer });
            }
            11 if !self.snapshots.is_empty() => {
                let index = what as usize % self.snapshots.len();
                self.snapshots.swap_remove(index);
            }
            12 => {
                self.store.begin_checkpoint().run(&CheckpointOptions::default()).unwrap();
            }
            13 => {
                self.store.evict(Traces::Keep);
            }
            14 | 15 => self.redo_patch(&at, what),
            16 => {
                self.forgetful = true;
                self.store.evict(Traces::Forget);
            }
            17 => self.begin_scan(what),
            18 if !self.resting.is_empty() => {
                let index = what as usize % self.resting.len();
                if self.resting[index].walk(1 + who as usize) {
                    self.resting.swap_remove(index).finish();
                }
            }
            19 if !self.resting.is_empty() => {
                let index = what as usize % self.resting.len();
                self.resting.swap_remove(index).finish();
            }
            _ => {}
        }
    }

    fn begin_scan(&mut self, what: u8) {
        let direction = if what.is_multiple_of(2) { Direction::Forward } else { Direction::Reverse };
        let held = self.snapshots.get(what as usize / 4 % (self.snapshots.len() + 1));
        let mode = held.map_or(ReadMode::Latest, |held| ReadMode::Snapshot(&held.snapshot));
        let all = (Bound::Unbounded, Bound::Unbounded);
        self.resting.push(Resting {
            cursor: self.store.scan(mode, None, TREE, all, direction),
            direction,
            rows: held.map_or(&self.committed, |held| &held.rows).clone(),
            of_snapshot: held.is_some(),
            changed: BTreeSet::new(),
            found: Rows::new(),
            last: None,
        });
    }

    fn changed(&mut self, at: &[u8], lsn: Lsn) {
        self.changed_at.insert(at.to_vec(), lsn);
        for scan in self.resting.iter_mut().filter(|scan| !scan.of_snapshot) {
            scan.changed.insert(at.to_vec());
        }
    }

    fn write(&mut self, who: u8, at: &[u8], op: u8, what: u8) {
        if self.locks.get(at).is_some_and(|holder| *holder != who) {
            let open = self.open.get_mut(&who);
            if let Some(open) = open {
                let refused = self.store.put(&mut open.set, TREE, at, &row(0, 0));
                // The lock may outlive the version it guarded (savepoint rolled back).
                if refused.is_ok() {
                    open.own.insert(at.to_vec(), Some(row(0, 0)));
                    self.locks.insert(at.to_vec(), who);
                } else {
                    assert!(matches!(refused, Err(StoreError::Undecided(_))));
                }
            }
            return;
        }
        self.transactions += 1;
        let id = TxnId(self.transactions);
        let fresh = || Open { set: WriteSet::new(id), own: BTreeMap::new(), marks: Vec::new() };
        let open = self.open.entry(who).or_insert_with(fresh);
        self.locks.insert(at.to_vec(), who);
        let now = open.own.get(at).cloned().unwrap_or_else(|| self.committed.get(at).cloned());
        let value = row(what, op);
        match op % 5 {
            0 | 1 => {
                // A gap kept over all that happens says the same as a new look.
                let inserted = if op.is_multiple_of(5) {
                    self.store.insert(&mut open.set, TREE, at, &value)
                } else {
                    self.store.insert_new(&mut open.set, &mut self.gap, at, &value).map(|_| ())
                };
                assert_eq!(inserted.is_err(), now.is_some());
                if inserted.is_ok() {
                    open.own.insert(at.to_vec(), Some(value));
                }
            }
            2 | 3 => {
                self.store.put(&mut open.set, TREE, at, &value).unwrap();
                open.own.insert(at.to_vec(), Some(value));
            }
            _ => {
                self.store.delete(&mut open.set, TREE, at).unwrap();
                open.own.insert(at.to_vec(), None);
            }
        }
    }

    fn savepoint(&mut self, who: u8, what: u8) {
        if let Some(open) = self.open.get_mut(&who) {
            if what.is_multiple_of(3)
                && let Some((mark, _)) = open.marks.pop()
            {
                open.set.release(mark);
            } else {
                open.marks.push((open.set.savepoint(), open.own.clone()));
            }
        }
    }

    fn rollback_to(&mut self, who: u8, what: u8) {
        if let Some(open) = self.open.get_mut(&who)
            && !open.marks.is_empty()
        {
            let index = what as usize % open.marks.len();
            let (mark, own) = open.marks[index].clone();
            open.set.rollback_to(mark);
            open.own = own;
            open.marks.truncate(index + 1);
        }
    }

    fn commit(&mut self, who: u8) {
        let Some(open) = self.open.remove(&who) else { return };
        let lsn = self.next_lsn();
        open.set.status().commit_at(lsn);
        open.set.commit();
        for (at, value) in open.own {
            self.changed(&at, lsn);
            match value {
                Some(value) => self.committed.insert(at, value),
                None => self.committed.remove(&at),
            };
        }
        self.locks.retain(|_, holder| *holder != who);
        self.committed_at(lsn);
    }

    fn rollback(&mut self, who: u8) {
        if let Some(open) = self.open.remove(&who) {
            open.set.rollback();
            self.locks.retain(|_, holder| *holder != who);
        }
    }

    fn advance(&mut self, what: u8) {
        let count = 1 + what as usize % 3;
        for (lsn, rows) in self.unstable.drain(..count.min(self.unstable.len())) {
            self.store.advance_stable(lsn);
            self.stable = rows;
        }
    }

    fn redo_patch(&mut self, at: &[u8], what: u8) {
        if self.locks.contains_key(at) {
            return;
        }
        let Some(old) = self.committed.get(at).cloned() else { return };
        let new = RowBuilder::build(&[Some(&[what]), crate::row::column(&old, 1), Some(b"patched")]);
        let mut builder = PatchBuilder::new();
        let change = patch::diff(&old, &new, &mut builder);
        let lsn = self.next_lsn();
        self.store.apply(lsn, TREE, at, Change::Patch(change)).unwrap();
        self.committed.insert(at.to_vec(), new);
        self.changed(at, lsn);
        self.committed_at(lsn);
    }

    fn check(&self, bounds: (Bound<Vec<u8>>, Bound<Vec<u8>>)) {
        for Held { snapshot, rows, writer } in &self.snapshots {
            self.check_view(ReadMode::Snapshot(snapshot), None, rows, &bounds);
            for index in 0..KEYS {
                let found = self.store.get(snapshot, None, TREE, &key(index)).unwrap();
                assert_eq!(found.as_deref(), rows.get(&key(index)).map(|v| &v[..]));
            }
            for at in (0..KEYS).map(key).filter(|at| *writer && !self.locks.contains_key(at)) {
                let changed = self.changed_at.get(&at).is_some_and(|lsn| *lsn > snapshot.lsn());
                let told = self.store.changed_since(snapshot, None, TREE, &at).unwrap();
                let never_there = !rows.contains_key(&at) && !self.committed.contains_key(&at);
                let excused = self.forgetful && (told || never_there);
                assert!(told == changed || excused, "{at:?} told {told} is {changed}");
            }
        }
        self.check_memory();
        self.check_view(ReadMode::Latest, None, &self.committed, &bounds);
        for open in self.open.values() {
            let mut rows = self.committed.clone();
            for (at, value) in &open.own {
                match value {
                    Some(value) => rows.insert(at.clone(), value.clone()),
                    None => rows.remove(at),
                };
            }
            self.check_view(ReadMode::Latest, Some(&open.set), &rows, &bounds);
            for index in 0..KEYS {
                let found = self.store.get_latest(Some(&open.set), TREE, &key(index)).unwrap();
                assert_eq!(found.row.as_deref(), rows.get(&key(index)).map(|v| &v[..]));
            }
        }
    }

    /// After an eviction no more is in memory than somebody looks for: the old version of each row that changed
    /// between a reader's root and the reader, and one more at most per reader to tell them apart; for the rest a
    /// trace, if somebody may ask; and what is not in the base yet.
    fn check_memory(&self) {
        self.store.evict(if self.forgetful { Traces::Forget } else { Traces::Keep });
        let published = self.store.base().root().checkpoint_lsn();
        let scans = self.resting.iter().filter(|scan| scan.of_snapshot).count();
        let readers = self.snapshots.len() + scans;
        let traced = !self.forgetful && self.snapshots.iter().any(|held| held.writer);
        let guard = crossbeam_epoch::pin();
        for index in 0..KEYS {
            let at = key(index);
            let in_base = self.changed_at.get(&at).is_none_or(|lsn| *lsn <= published);
            let chain = self.store.tree(TREE).chain_len(&at, &guard);
            let open = self.open.values().map(|open| open.set.len()).sum::<usize>();
            let unstable = self.unstable.len() + 1;
            assert!(chain <= 2 * readers + open + unstable, "{chain} versions of {at:?}");
            if in_base && readers == 0 && !traced && !self.locks.contains_key(&at) {
                assert_eq!(chain, 0, "{at:?} is in the base, and nobody holds it");
            }
        }
    }

    fn check_view(
        &self,
        mode: ReadMode<'_>,
        own: Option<&WriteSet>,
        rows: &Rows,
        bounds: &(Bound<Vec<u8>>, Bound<Vec<u8>>),
    ) {
        let borrowed = (bounds.0.as_ref().map(Vec::as_slice), bounds.1.as_ref().map(Vec::as_slice));
        for direction in [Direction::Forward, Direction::Reverse] {
            let mut expected: Vec<_> =
                rows.range::<[u8], _>(borrowed).map(|(k, v)| (k.clone(), v.clone())).collect();
            if direction == Direction::Reverse {
                expected.reverse();
            }
            let mut cursor = self.store.scan(mode, own, TREE, borrowed, direction);
            let mut found = Vec::new();
            while cursor.advance().unwrap() {
                if cursor.has_row() {
                    found.push((cursor.key().to_vec(), cursor.row().to_vec()));
                    assert_eq!(cursor.row_ref().as_deref(), Some(cursor.row()));
                } else {
                    assert!(cursor.blocked());
                }
            }
            assert_eq!(found, expected);
        }
    }
}

fn some_bounds(low: u8, high: u8) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let end = |v: u8| match v % 3 {
        0 => Bound::Unbounded,
        1 => Bound::Included(key(v / 3)),
        _ => Bound::Excluded(key(v / 3)),
    };
    let (lower, upper) = (end(low), end(high));
    let value = |b: &Bound<Vec<u8>>| match b {
        Bound::Unbounded => None,
        Bound::Included(k) | Bound::Excluded(k) => Some(k.clone()),
    };
    match (value(&lower), value(&upper)) {
        (Some(a), Some(b)) if a >= b => (lower, Bound::Unbounded),
        _ => (lower, upper),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn histories_match_the_model(ops in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..150)) {
        let mut world = World::new();
        for (index, (op, who, what)) in ops.iter().enumerate() {
            world.step(*op, *who, *what);
            if index % 8 == 7 {
                world.check(some_bounds(*who, what.wrapping_mul(31)));
            }
        }
        world.check((Bound::Unbounded, Bound::Unbounded));
        // With nobody left, a checkpoint takes everything out of memory.
        world.snapshots.clear();
        world.resting.drain(..).for_each(Resting::finish);
        world.open.clear();
        world.advance(2);
        while !world.unstable.is_empty() {
            world.advance(2);
        }
        world.store.begin_checkpoint().run(&CheckpointOptions::default()).unwrap();
        prop_assert_eq!(world.store.delta_keys(), 0);
        prop_assert_eq!(world.store.delta_bytes(), 0);
        world.check((Bound::Unbounded, Bound::Unbounded));
    }
}

fn commit(store: &Store, set: WriteSet, lsn: u64) {
    set.status().commit_at(Lsn(lsn));
    set.commit();
    store.advance_stable(Lsn(lsn));
}

#[test]
fn a_range_is_cut_into_parts_of_about_equal_size_wherever_its_rows_are() {
    let (store, _) = new_store();
    let put = |lsn: u64, keys: std::ops::Range<u32>| {
        let mut set = WriteSet::new(TxnId(lsn));
        for tree in [TreeId(6), TREE, TreeId(8)] {
            keys.clone().for_each(|n| store.put(&mut set, tree, &n.to_be_bytes(), &row(1, 2)).unwrap());
        }
        commit(&store, set, lsn);
    };
    let check = |keys: u32| {
        for (low, high) in
            [(keys - 1, keys / 8), (keys / 2, keys / 2), (keys / 2 + 1, keys / 2), (keys * 2, keys)]
        {
            let (low, high) = (low.to_be_bytes(), high.to_be_bytes());
            for high in [Bound::Included(&high[..]), Bound::Excluded(&high[..])] {
                let cuts = store.split_points(TREE, (Bound::Included(&low[..]), high), 16).unwrap();
                assert!(cuts.is_empty(), "nothing is between {low:?} and {high:?}");
            }
        }
        let (low, high) = ((keys / 8).to_be_bytes(), (keys - 1).to_be_bytes());
        let all = (Bound::Unbounded, Bound::Unbounded);
        let some = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        for (bounds, from, to) in [(all, 0, keys), (some, keys / 8, keys - 1)] {
            let cuts = store.split_points(TREE, bounds, 16).unwrap();
            assert!(cuts.len() < 16 && cuts.len() > 6, "{}", cuts.len());
            let mut ends: Vec<u32> =
                cuts.iter().map(|cut| (from..to).find(|n| n.to_be_bytes()[..] >= cut[..]).unwrap()).collect();
            assert!(ends.is_sorted(), "{ends:?}");
            ends.push(to);
            let mut before = from;
            for end in ends {
                assert!(end > before, "no part is empty");
                assert!(end - before < (to - from) / 4, "{before} to {end} of {from} to {to}");
                before = end;
            }
        }
    };
    put(10, 0..4000);
    check(4000);
    checkpoint(&store);
    store.evict(Traces::Keep);
    check(4000);
    put(20, 4000..8000);
    check(8000);
    assert!(store.split_points(TreeId(9), (Bound::Unbounded, Bound::Unbounded), 16).unwrap().is_empty());
}

#[test]
fn a_hot_row_keeps_few_versions_even_under_an_old_snapshot() {
    let (store, _) = new_store();
    let update = |lsn: u64| {
        let mut set = WriteSet::new(TxnId(lsn));
        store.put(&mut set, TREE, b"k", &row(lsn as u8, 0)).unwrap();
        commit(&store, set, lsn);
    };
    update(1);
    let old = store.snapshot(Lsn::ZERO);
    (2..1000).for_each(update);
    let guard = crossbeam_epoch::pin();
    let chain = store.tree(TREE).chain_len(b"k", &guard);
    assert!(chain <= 4, "{chain} versions");
    assert_eq!(store.get(&old, None, TREE, b"k").unwrap().as_deref(), Some(&row(1, 0)[..]));
}

const ROWS: u32 = 200;

fn update_all(store: &Store, lsn: u64, fill: u8) {
    let mut set = WriteSet::new(TxnId(lsn));
    let wide = RowBuilder::build(&[Some(&[fill; 400])]);
    (0..ROWS).for_each(|n| store.put(&mut set, TREE, &n.to_be_bytes(), &wide).unwrap());
    commit(store, set, lsn);
}

fn checkpoint(store: &Store) {
    store.begin_checkpoint().run(&CheckpointOptions::default()).unwrap();
}

/// What a row takes in memory as an old version, with its key and a mark over it.
const OLD_ROW_BYTES: u64 = 600;
const TRACE_BYTES: u64 = 150;

#[test]
fn an_idle_snapshot_holds_one_old_version_of_a_row_however_often_it_changes() {
    let (store, memory) = new_store();
    update_all(&store, 10, 0);
    checkpoint(&store);
    update_all(&store, 20, 1);
    let held = store.snapshot_of_writer(Lsn::ZERO);
    for round in 2..30u8 {
        update_all(&store, u64::from(round) * 10 + 20, round);
        checkpoint(&store);
        assert!(memory.bytes() <= u64::from(ROWS) * (OLD_ROW_BYTES + TRACE_BYTES), "{}", memory.bytes());
    }
    for n in 0..ROWS {
        let old = store.get(&held, None, TREE, &n.to_be_bytes()).unwrap().unwrap();
        assert_eq!(crate::row::column(&old, 0), Some(&[1; 400][..]));
        let new = store.get_latest(None, TREE, &n.to_be_bytes()).unwrap().row.unwrap();
        assert_eq!(crate::row::column(&new, 0), Some(&[29; 400][..]));
    }
    assert_eq!(store.scan_len(ReadMode::Snapshot(&held)), ROWS as usize);
    drop(held);
    store.evict(Traces::Keep);
    assert_eq!(memory.bytes(), 0);
}

/// Changes a row whenever the checkpoint pauses.
struct Restless<'s> {
    store: &'s Store,
    lsn: AtomicU64,
}

impl Throttle for Restless<'_> {
    fn pace(&self, _bytes: u64) -> bool {
        true
    }
    fn breathe(&self) {
        assert!(!crossbeam_epoch::is_pinned(), "what is cleared away could not be freed before all of it is");
        let lsn = self.lsn.fetch_add(10, Ordering::Relaxed);
        let mut set = WriteSet::new(TxnId(lsn));
        let n = (lsn as u32 * 7) % ROWS;
        self.store.put(&mut set, TREE, &n.to_be_bytes(), &row(9, 9)).unwrap();
        commit(self.store, set, lsn);
    }
}

#[test]
fn what_a_checkpoint_left_is_cleared_away_with_pauses_in_which_others_work() {
    let (store, memory) = new_store();
    update_all(&store, 10, 1);
    let restless = Restless { store: &store, lsn: AtomicU64::new(20) };
    let options = CheckpointOptions { throttle: &restless, ..CheckpointOptions::default() };
    let report = store.begin_checkpoint().run(&options).unwrap();
    let changed = (restless.lsn.load(Ordering::Relaxed) - 20) / 10;
    assert!(changed > 1, "{changed} pauses");
    assert!(report.evicted.evicted + report.evicted.held >= ROWS as usize);
    assert_eq!(store.scan_len(ReadMode::Latest), ROWS as usize);
    checkpoint(&store);
    assert_eq!(memory.bytes(), 0);
}

#[test]
fn a_snapshot_whose_root_has_its_rows_holds_traces_and_no_rows() {
    let (store, memory) = new_store();
    update_all(&store, 10, 0);
    checkpoint(&store);
    let reader = store.snapshot(Lsn::ZERO);
    let writer = store.snapshot_of_writer(Lsn::ZERO);
    update_all(&store, 20, 1);
    checkpoint(&store);
    assert!(memory.bytes() > 0 && memory.bytes() <= u64::from(ROWS) * TRACE_BYTES, "{}", memory.bytes());
    assert!(store.changed_since(&writer, None, TREE, &7u32.to_be_bytes()).unwrap());
    assert!(!store.changed_since(&writer, None, TREE, b"elsewhere").unwrap());
    store.evict(Traces::Forget);
    assert_eq!(memory.bytes(), 0);
    assert!(store.changed_since(&writer, None, TREE, &7u32.to_be_bytes()).unwrap(), "its page has changed");
    let old = store.get(&reader, None, TREE, &7u32.to_be_bytes()).unwrap().unwrap();
    assert_eq!(crate::row::column(&old, 0), Some(&[0; 400][..]));
}

impl Store {
    fn scan_len(self: &Arc<Store>, mode: ReadMode<'_>) -> usize {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut cursor = self.scan(mode, None, TREE, all, Direction::Forward);
        let mut rows = 0;
        while cursor.advance().unwrap() {
            rows += 1;
        }
        rows
    }
}

#[test]
fn writing_a_row_twice_in_one_transaction_keeps_one_version() {
    let (store, _) = new_store();
    let mut set = WriteSet::new(TxnId(1));
    for round in 0..100 {
        store.put(&mut set, TREE, b"k", &row(round, 0)).unwrap();
    }
    assert_eq!(set.len(), 1);
    let mark = set.savepoint();
    store.put(&mut set, TREE, b"k", &row(200, 0)).unwrap();
    store.put(&mut set, TREE, b"k", &row(201, 0)).unwrap();
    assert_eq!(set.len(), 2);
    set.rollback_to(mark);
    let latest = store.get_latest(Some(&set), TREE, b"k").unwrap();
    assert_eq!(latest.row.as_deref(), Some(&row(99, 0)[..]));
}

#[test]
fn dropped_write_sets_settle_by_their_status() {
    let (store, _) = new_store();
    let mut set = WriteSet::new(TxnId(1));
    store.put(&mut set, TREE, b"a", &row(1, 1)).unwrap();
    set.status().commit_at(Lsn(5));
    drop(set);
    let mut set = WriteSet::new(TxnId(2));
    store.put(&mut set, TREE, b"b", &row(1, 1)).unwrap();
    drop(set);
    assert!(store.get_latest(None, TREE, b"a").unwrap().row.is_some());
    assert!(store.get_latest(None, TREE, b"b").unwrap().row.is_none());
}

#[test]
fn commits_after_the_stable_point_can_be_taken_back_and_open_ones_abandoned() {
    let (store, _) = new_store();
    for (txn, key, lsn) in [(1, b"a", 5), (2, b"a", 7), (3, b"b", 8)] {
        let mut set = WriteSet::new(TxnId(txn));
        store.put(&mut set, TREE, key, &row(1, txn as u8)).unwrap();
        set.status().commit_at(Lsn(lsn));
        set.commit();
    }
    store.advance_stable(Lsn(6));
    let before = store.get(&store.snapshot(Lsn::ZERO), None, TREE, b"a").unwrap().unwrap();
    let mut open = WriteSet::new(TxnId(4));
    store.put(&mut open, TREE, b"c", &row(1, 4)).unwrap();
    store.drop_tree(TREE, Lsn(9));
    assert_eq!(store.take_back(Lsn(6)), 2);
    let latest = store.get_latest(None, TREE, b"a").unwrap();
    assert_eq!((latest.row.unwrap()[..].to_vec(), latest.lsn), (before[..].to_vec(), Lsn(5)));
    assert!(store.get_latest(None, TREE, b"b").unwrap().row.is_none());
    // Another history goes on from there, over what an old transaction left open.
    let put = |lsn: u64, key: &[u8]| store.apply(Lsn(lsn), TREE, key, Change::Put(&row(2, 9)));
    put(7, b"b").unwrap();
    assert!(matches!(put(8, b"c"), Err(StoreError::Undecided(_))));
    store.abandon(TREE, b"c");
    put(8, b"c").unwrap();
    drop(open);
    store.advance_stable(Lsn(20));
    store.begin_checkpoint().run(&CheckpointOptions::default()).unwrap();
    assert_eq!(store.base().root().stats().rows, 3, "the drop was taken back too");
}

#[test]
fn a_dropped_tree_stays_for_its_readers_and_leaves_the_base_with_the_next_checkpoint() {
    let (store, memory) = new_store();
    let mut set = WriteSet::new(TxnId(1));
    store.put(&mut set, TREE, b"a", &row(1, 1)).unwrap();
    commit(&store, set, 5);
    store.begin_checkpoint().run(&CheckpointOptions::default()).unwrap();
    let mut set = WriteSet::new(TxnId(2));
    store.put(&mut set, TREE, b"b", &row(1, 1)).unwrap();
    commit(&store, set, 6);
    let reader = store.snapshot(Lsn::ZERO);
    store.drop_tree(TREE, Lsn(8));
    store.begin_checkpoint().run(&CheckpointOptions::default()).unwrap();
    assert_eq!(store.base().root().stats().rows, 2, "the drop is later than the checkpoint");
    store.advance_stable(Lsn(8));
    store.begin_checkpoint().run(&CheckpointOptions::default()).unwrap();
    assert_eq!(store.base().root().stats().rows, 0);
    for key in [b"a", b"b"] {
        assert!(store.get(&reader, None, TREE, key).unwrap().is_some(), "a snapshot from before the drop");
    }
    drop(reader);
    store.evict(Traces::Keep);
    assert_eq!(memory.bytes(), 0);
}

#[test]
fn the_latest_read_tells_who_is_in_the_way() {
    let (store, _) = new_store();
    let mut set = WriteSet::new(TxnId(9));
    store.put(&mut set, TREE, b"a", &row(1, 1)).unwrap();
    let latest = store.get_latest(None, TREE, b"a").unwrap();
    assert!(latest.row.is_none());
    assert_eq!(latest.blocked_by, Some(TxnId(9)));
    let mut cursor =
        store.scan(ReadMode::Latest, None, TREE, (Bound::Unbounded, Bound::Unbounded), Direction::Forward);
    assert!(cursor.advance().unwrap());
    assert_eq!(cursor.key(), b"a");
    assert!(cursor.blocked() && !cursor.has_row());
    assert_eq!(store.get_dirty(None, TREE, b"a").unwrap().as_deref(), Some(&row(1, 1)[..]));
}
