//! Redo that never ends: whatever the batches and the threads, the same rows as a replay at once, and an applied point
//! behind which nothing is missing.

use super::*;
use crate::{Applier, IdleWaits, RedoPool, Task};
use keel_base::Epoch;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A model that checks at every report that nothing up to there is missing and nothing dropped too early.
struct Checked {
    model: Model,
    /// Commit positions and their number of changes, ascending.
    commits: Vec<(u64, usize)>,
    applied: AtomicU64,
    watched: Mutex<Vec<Lsn>>,
    streams: Mutex<BTreeMap<u64, Lsn>>,
}

impl Checked {
    fn new(expected: &History) -> Checked {
        let mut commits: BTreeMap<u64, usize> = BTreeMap::new();
        for (lsn, _) in expected.values().flatten() {
            *commits.entry(*lsn).or_default() += 1;
        }
        Checked {
            model: Model::default(),
            commits: commits.into_iter().collect(),
            applied: AtomicU64::new(0),
            watched: Mutex::default(),
            streams: Mutex::default(),
        }
    }
}

impl Target for Arc<Checked> {
    fn apply(&self, lsn: Lsn, record: &RowRecord<'_>) -> Result<(), StoreError> {
        assert!(lsn.0 > self.applied.load(Ordering::SeqCst), "a change behind the applied point");
        self.model.apply(lsn, record)
    }

    fn drop_tree(&self, tree: TreeId, lsn: Lsn) {
        assert!(lsn.0 > self.applied.load(Ordering::SeqCst), "a drop behind the applied point");
        self.model.drop_tree(tree, lsn);
    }

    fn applied(&self, to: Lsn, watched: &[Lsn]) {
        let before = self.applied.swap(to.0, Ordering::SeqCst);
        assert!(watched.iter().all(|at| before < at.0 && *at <= to), "told with the step that passes it");
        assert!(watched.is_sorted_by(|a, b| a < b));
        assert!(before < to.0);
        let wanted: usize = self.commits.iter().filter(|c| c.0 <= to.0).map(|c| c.1).sum();
        let rows = self.model.rows.lock();
        let found = rows.values().flatten().filter(|change| change.0 <= to.0).count();
        assert_eq!(found, wanted, "a commit before the applied point is torn");
        self.watched.lock().extend(watched);
    }

    fn stream_opened(&self, stream: u64, first: Lsn) {
        assert!(self.streams.lock().insert(stream, first).is_none());
    }

    fn stream_closed(&self, stream: u64, _: Option<Lsn>) {
        self.streams.lock().remove(&stream);
    }
}

fn task(
    log: &Log,
    target: &Arc<Checked>,
    lanes: usize,
    alone_bytes: usize,
    limit: &Arc<AtomicU64>,
) -> Arc<Task> {
    let source = LogSource::new(log, Lsn::ZERO).unwrap().up_to(Arc::clone(limit));
    let watched = Some(TreeId(2));
    let options = RedoOptions { workers: lanes, skip_until: Lsn::ZERO, watched, alone_bytes };
    Task::new(Applier::new(Box::new(source), Box::new(Arc::clone(target)), &options))
}

#[test]
fn any_batches_on_any_threads_apply_the_same() {
    for seed in 0..7 {
        let mut writers: Vec<Writer> = (0..3).map(|n| Writer::new(seed * 10 + n)).collect();
        for writer in &mut writers {
            for _ in 0..250 {
                writer.step();
                if writer.dice.below(9) == 0 {
                    writer.log.flush().unwrap();
                }
            }
            writer.log.flush().unwrap();
        }
        let threads = [0, 1, 3][seed as usize % 3];
        let pool = RedoPool::new(threads);
        let alone_bytes = [0, 3000][usize::from(seed >= 3)];
        let followers: Vec<_> = writers
            .iter()
            .map(|writer| {
                let target = Arc::new(Checked::new(&writer.expected));
                let limit = Arc::new(AtomicU64::new(0));
                let task = task(&writer.log, &target, 1 + seed as usize % 4, alone_bytes, &limit);
                (writer, target, limit, task)
            })
            .collect();
        let mut dice = SplitMix(seed);
        loop {
            let mut all = true;
            for (writer, _, limit, task) in &followers {
                let end = writer.log.hardened().0;
                let next = end.min(limit.load(Ordering::Acquire) + dice.below(40_000));
                limit.store(next, Ordering::Release);
                all &= next == end;
                if dice.below(3) == 0 {
                    pool.work_here(task, 1);
                }
                pool.poke(task);
            }
            if all {
                break;
            }
        }
        for (writer, target, _, task) in &followers {
            // Helps, and waits for whoever else is at it.
            task.applier().drain().unwrap();
            assert_eq!(task.applier().applied(), writer.log.hardened());
            assert_eq!(*target.model.rows.lock(), writer.expected, "seed {seed}");
            assert_eq!(target.applied.load(Ordering::SeqCst), writer.log.hardened().0);
            let open: Vec<u64> = target.streams.lock().keys().copied().collect();
            let undecided: Vec<u64> = task.applier().undecided().iter().map(|u| u.stream).collect();
            assert_eq!(open, undecided);
            assert_eq!(task.applier().held_bytes() > 0, !open.is_empty(), "bytes of undecided streams only");
            let touched = writer.expected.keys().any(|key| key.0 == 2);
            assert_eq!(!target.watched.lock().is_empty(), touched);
        }
    }
}

#[test]
fn an_append_whose_writer_went_away_in_the_middle_is_void() {
    for cut in 1..4 {
        let mut writer = Writer::new(7);
        for _ in 0..20 {
            writer.step();
        }
        let whole = writer.log.flush().unwrap();
        let expected = writer.expected.clone();
        // One append over several blocks, of which a follower gets some.
        writer.buffer.add(TreeId(1), b"big", Change::Put(&vec![7; 300_000]));
        writer.append(GroupKind::Whole, 0, 0);
        writer.log.flush().unwrap();
        let disk = SimDisk::new();
        let follower = Log::create(&env(&disk, 1), Path::new("log"), LogOptions::default()).unwrap();
        follower.end_term();
        let mut scanner = writer.log.scan(Lsn::ZERO).unwrap();
        let mut left = cut;
        while left > 0 {
            let block = scanner.next().unwrap().unwrap();
            follower.append_block(Epoch(1), block.bytes).unwrap();
            left -= u32::from(block.header.end_lsn() > whole);
        }
        follower.flush().unwrap();
        let target = Arc::new(Checked::new(&expected));
        let limit = Arc::new(AtomicU64::new(u64::MAX));
        let task = task(&follower, &target, 2, 0, &limit);
        task.applier().drain().unwrap();
        assert_eq!(*target.model.rows.lock(), expected);
        assert!(task.applier().applied() <= follower.hardened());
        follower.start_term(Epoch(2)).unwrap();
        let mut next = RecordBuffer::new();
        next.add(TreeId(1), b"next", Change::Delete);
        let lsn = follower.append(next.seal(GroupKind::Whole, 0, 0), |_| ()).unwrap();
        follower.flush().unwrap();
        let mut expected = expected;
        expected.insert((1, b"next".to_vec()), vec![(lsn.0, "delete".to_owned())]);
        let fresh = Arc::new(Checked::new(&expected));
        let at_once = super::continuous::task(&follower, &fresh, 3, 500, &limit);
        at_once.applier().drain().unwrap();
        assert_eq!(*fresh.model.rows.lock(), expected);
        assert_eq!(at_once.applier().applied(), lsn);
    }
}

#[test]
fn what_threads_wait_for_work_is_counted() {
    let writer = Writer::new(1);
    writer.log.flush().unwrap();
    let target = Arc::new(Checked::new(&History::new()));
    let task = task(&writer.log, &target, 1, 0, &Arc::new(AtomicU64::new(u64::MAX)));
    let pool = RedoPool::new(1);
    assert_eq!(pool.idle_waits(), IdleWaits::default());
    while pool.idle_waits().count < 3 {
        pool.poke(&task);
        std::thread::yield_now();
    }
    let waits = pool.idle_waits();
    assert!(0 < waits.longest_nanos && waits.longest_nanos <= waits.nanos, "{waits:?}");
}

#[test]
fn an_error_stops_every_lane_and_is_kept() {
    let writer = Writer::new(1);
    writer.log.append(&[0xEE; 100], |_| ()).unwrap();
    writer.log.flush().unwrap();
    let target = Arc::new(Checked::new(&History::new()));
    let task = task(&writer.log, &target, 3, 0, &Arc::new(AtomicU64::new(u64::MAX)));
    let pool = RedoPool::new(0);
    pool.poke(&task);
    assert!(task.applier().error().is_some());
    assert!(task.applier().drain().is_err());
}

/// A target whose first change panics.
struct Panicking(AtomicU64);

impl Target for Arc<Panicking> {
    fn apply(&self, _: Lsn, _: &RowRecord<'_>) -> Result<(), StoreError> {
        assert!(self.0.fetch_add(1, Ordering::SeqCst) > 0, "it was told to");
        Ok(())
    }

    fn drop_tree(&self, _: TreeId, _: Lsn) {}
}

#[test]
fn a_panic_stops_its_own_applier_and_no_other() {
    let mut writer = Writer::new(7);
    (0..20).for_each(|_| writer.step());
    writer.log.flush().unwrap();
    let target = Arc::new(Panicking(AtomicU64::new(0)));
    let task = || {
        let source = LogSource::new(&writer.log, Lsn::ZERO).unwrap();
        let options = RedoOptions { workers: 1, skip_until: Lsn::ZERO, watched: None, alone_bytes: 0 };
        Task::new(Applier::new(Box::new(source), Box::new(Arc::clone(&target)), &options))
    };
    let pool = RedoPool::new(1);
    let (panicking, other) = (task(), task());
    pool.poke(&panicking);
    while panicking.applier().error().is_none() {
        std::thread::yield_now();
    }
    assert!(panicking.applier().drain().is_err());
    while other.applier().applied() < writer.log.hardened() {
        pool.poke(&other);
        std::thread::yield_now();
    }
}
