//! Replay against a model: whatever the number of workers, each key sees the same changes in the same order.

mod continuous;

use crate::record::{Change, GroupKind, RecordBuffer, RowRecord};
use crate::{LogSource, RedoError, RedoOptions, Target, replay};
use keel_base::env::sim::{SimDisk, SplitMix, env};
use keel_base::{Lsn, TreeId};
use keel_log::{Log, LogOptions};
use keel_store::StoreError;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;

type Key = (u32, Vec<u8>);
/// What happened to each key: commit position and a readable form of the change.
type History = BTreeMap<Key, Vec<(u64, String)>>;

#[derive(Default)]
struct Model {
    rows: Mutex<History>,
    drops: Mutex<Vec<(TreeId, Lsn)>>,
}

fn readable(change: Change<'_>) -> String {
    match change {
        Change::Put(row) => format!("put {row:?}"),
        Change::Patch(patch) => format!("patch {patch:?}"),
        Change::Delete => "delete".into(),
        Change::DropTree => "drop".into(),
    }
}

impl Target for Model {
    fn apply(&self, lsn: Lsn, record: &RowRecord<'_>) -> Result<(), StoreError> {
        let mut rows = self.rows.lock();
        let history = rows.entry((record.tree.0, record.key.to_vec())).or_default();
        assert!(history.last().is_none_or(|last| last.0 <= lsn.0), "in ascending order per key");
        history.push((lsn.0, readable(record.change)));
        Ok(())
    }

    fn drop_tree(&self, tree: TreeId, lsn: Lsn) {
        self.drops.lock().push((tree, lsn));
    }
}

struct Stream {
    id: u64,
    changes: Vec<(Key, String)>,
}

/// Writes random transactions, whole and streamed, into a log; returns what should come of it.
struct Writer {
    log: Log,
    dice: SplitMix,
    buffer: RecordBuffer,
    expected: History,
    open: Vec<Stream>,
    next_stream: u64,
}

impl Writer {
    fn new(seed: u64) -> Writer {
        let log = Log::create(&env(&SimDisk::new(), seed), Path::new("log"), LogOptions::default()).unwrap();
        Writer {
            log,
            dice: SplitMix(seed),
            buffer: RecordBuffer::new(),
            expected: History::new(),
            open: Vec::new(),
            next_stream: 1,
        }
    }

    fn fill(&mut self) -> Vec<(Key, String)> {
        let mut changes = Vec::new();
        for _ in 0..self.dice.below(6) {
            let tree = 1 + self.dice.below(2) as u32;
            let key = vec![self.dice.below(12) as u8; 1 + self.dice.below(3) as usize];
            let body = vec![self.dice.next() as u8; self.dice.below(3000) as usize];
            let change = match self.dice.below(3) {
                0 => Change::Put(&body),
                1 => Change::Patch(&body),
                _ => Change::Delete,
            };
            self.buffer.add(TreeId(tree), &key, change);
            changes.push(((tree, key), readable(change)));
        }
        changes
    }

    fn append(&mut self, kind: GroupKind, stream: u64, argument: i64) -> Lsn {
        let end = self.log.append(self.buffer.seal(kind, stream, argument), |_| ()).unwrap();
        self.buffer.clear(1 << 16);
        end
    }

    fn commit(&mut self, lsn: Lsn, changes: Vec<(Key, String)>) {
        for (key, change) in changes {
            self.expected.entry(key).or_default().push((lsn.0, change));
        }
    }

    fn step(&mut self) {
        let which = self.dice.below(self.open.len() as u64) as usize;
        match self.dice.below(10) {
            0..4 => {
                let changes = self.fill();
                let lsn = self.append(GroupKind::Whole, 0, 0);
                self.commit(lsn, changes);
            }
            4 => {
                let id = self.next_stream;
                self.next_stream += 1;
                let changes = self.fill();
                self.append(GroupKind::Part, id, 0);
                self.open.push(Stream { id, changes });
            }
            5 | 6 if !self.open.is_empty() => {
                let changes = self.fill();
                self.append(GroupKind::Part, self.open[which].id, 0);
                self.open[which].changes.extend(changes);
            }
            7 if !self.open.is_empty() => {
                let keep = self.dice.below(self.open[which].changes.len() as u64 + 1);
                self.append(GroupKind::Rollback, self.open[which].id, keep as i64);
                self.open[which].changes.truncate(keep as usize);
            }
            8 if !self.open.is_empty() => {
                let mut stream = self.open.remove(which);
                let last = self.fill();
                stream.changes.extend(last);
                let lsn = self.append(GroupKind::Commit, stream.id, 0);
                self.commit(lsn, stream.changes);
            }
            9 if !self.open.is_empty() => {
                let stream = self.open.remove(which);
                self.append(GroupKind::Abort, stream.id, 0);
            }
            _ => {
                self.append(GroupKind::Note, 0, 0);
            }
        }
    }
}

#[test]
fn any_number_of_workers_applies_the_same() {
    for seed in 0..12 {
        let mut writer = Writer::new(seed);
        for _ in 0..300 {
            writer.step();
        }
        writer.log.flush().unwrap();
        for workers in [1, 2, 5] {
            let model = Model::default();
            let mut source = LogSource::new(&writer.log, Lsn::ZERO).unwrap();
            let options = RedoOptions { workers, skip_until: Lsn::ZERO, watched: None, alone_bytes: 0 };
            let mut seen = Lsn::ZERO;
            let applied = replay(&mut source, &model, &options, &mut |lsn| {
                assert!(lsn > seen);
                seen = lsn;
            })
            .unwrap();
            assert_eq!(*model.rows.lock(), writer.expected, "seed {seed}, {workers} workers");
            assert_eq!(applied.end, writer.log.hardened());
            assert_eq!(applied.undecided, writer.open.len() as u64);
            assert_eq!(applied.records, writer.expected.values().map(|h| h.len() as u64).sum::<u64>());
        }
    }
}

#[test]
fn commits_before_the_checkpoint_are_passed_over_but_their_streams_are_followed() {
    let mut writer = Writer::new(99);
    for _ in 0..100 {
        writer.step();
    }
    let checkpoint = writer.log.appended();
    for _ in 0..100 {
        writer.step();
    }
    writer.log.flush().unwrap();
    let mut expected = writer.expected.clone();
    for history in expected.values_mut() {
        history.retain(|(lsn, _)| *lsn > checkpoint.0);
    }
    expected.retain(|_, history| !history.is_empty());
    let model = Model::default();
    let mut source = LogSource::new(&writer.log, Lsn::ZERO).unwrap();
    let options = RedoOptions { workers: 3, skip_until: checkpoint, watched: None, alone_bytes: 0 };
    replay(&mut source, &model, &options, &mut |_| ()).unwrap();
    assert_eq!(*model.rows.lock(), expected);
}

#[test]
fn a_replay_may_start_at_any_group() {
    let mut writer = Writer::new(5);
    for _ in 0..50 {
        let changes = writer.fill();
        let lsn = writer.append(GroupKind::Whole, 0, 0);
        writer.commit(lsn, changes);
    }
    let middle = writer.log.appended();
    let changes = writer.fill();
    let lsn = writer.append(GroupKind::Whole, 0, 0);
    writer.log.flush().unwrap();
    let model = Model::default();
    let mut source = LogSource::new(&writer.log, middle).unwrap();
    let options = RedoOptions { workers: 2, skip_until: Lsn::ZERO, watched: None, alone_bytes: 0 };
    let applied = replay(&mut source, &model, &options, &mut |_| ()).unwrap();
    assert_eq!((applied.commits, applied.last_commit), (1, lsn));
    let found: usize = model.rows.lock().values().map(Vec::len).sum();
    assert_eq!(found, changes.len());
}

#[test]
fn dropped_trees_are_dropped_at_the_end() {
    let mut writer = Writer::new(1);
    writer.buffer.add(TreeId(7), b"", Change::DropTree);
    let lsn = writer.append(GroupKind::Whole, 0, 0);
    writer.log.flush().unwrap();
    let model = Model::default();
    let mut source = LogSource::new(&writer.log, Lsn::ZERO).unwrap();
    replay(
        &mut source,
        &model,
        &RedoOptions { workers: 4, skip_until: Lsn::ZERO, watched: None, alone_bytes: 0 },
        &mut |_| (),
    )
    .unwrap();
    assert_eq!(*model.drops.lock(), [(TreeId(7), lsn)]);
    assert!(model.rows.lock().is_empty());
}

#[test]
fn bytes_that_are_no_group_are_damage() {
    let writer = Writer::new(1);
    let end = writer.log.append(&[0xEE; 100], |_| ()).unwrap();
    writer.log.wait_hardened(end).unwrap();
    let mut source = LogSource::new(&writer.log, Lsn::ZERO).unwrap();
    let options = RedoOptions { workers: 3, skip_until: Lsn::ZERO, watched: None, alone_bytes: 0 };
    let failed = replay(&mut source, &Model::default(), &options, &mut |_| ());
    assert!(matches!(failed, Err(RedoError::Damaged { at: Lsn(0) })), "{failed:?}");
}
