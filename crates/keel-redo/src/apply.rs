//! Replay: W workers walk the same chunks of the log and apply each its share.
//!
//! ```text
//!              ┌─► worker 0 (hash % W = 0) ─┐
//!   Source ──► │   window of chunks         │ ──► Target
//!              └─► worker 1 (hash % W = 1) ─┘
//! ```
//!
//! The window holds the chunks between the slowest and the fastest worker, at most [`WINDOW_CHUNKS_MAX`]. Whoever is
//! first to need the next chunk fetches it (outside the lock); the others find it there. The last worker out of a chunk
//! lets it go, unless a stream's part lies in it: then it stays until the stream is decided.
//!
//! Trees that were dropped are dropped at the end, when no worker can touch them any more.

use crate::record::{Change, Group, GroupKind, RowRecord};
use hashbrown::HashMap;
use keel_base::{Lsn, TreeId};
use keel_log::block::FLAG_UNFINISHED;
use keel_log::{Log, LogError, Scanner};
use keel_store::{Store, StoreError};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Chunks that the fastest worker may be ahead of the slowest.
pub const WINDOW_CHUNKS_MAX: usize = 16;
/// A chunk is ended at the first chance after this many bytes.
const CHUNK_BYTES: usize = 256 << 10;

/// A run of whole groups.
#[derive(Debug)]
pub struct Chunk {
    /// Position of the first byte.
    pub first_lsn: Lsn,
    /// The groups.
    pub bytes: Vec<u8>,
}

/// Where the log to replay comes from.
pub trait Source: Send {
    /// The next chunk in order; `None` at the end.
    fn next(&mut self) -> Result<Option<Chunk>, RedoError>;
}

/// Where rows go.
pub trait Target: Sync {
    /// Applies a committed change. Called in ascending order per key.
    fn apply(&self, lsn: Lsn, record: &RowRecord<'_>) -> Result<(), StoreError>;
    /// A tree was dropped by the commit at `lsn`. Called when all rows are applied.
    fn drop_tree(&self, tree: TreeId, lsn: Lsn);
}

impl Target for Store {
    fn apply(&self, lsn: Lsn, record: &RowRecord<'_>) -> Result<(), StoreError> {
        let change = match record.change {
            Change::Put(row) => keel_store::Change::Put(row),
            Change::Patch(patch) => keel_store::Change::Patch(keel_store::row::Patch::from_trusted(patch)),
            Change::Delete => keel_store::Change::Delete,
            Change::DropTree => return Ok(()),
        };
        Store::apply(self, lsn, record.tree, record.key, change)
    }

    fn drop_tree(&self, tree: TreeId, lsn: Lsn) {
        Store::drop_tree(self, tree, lsn);
    }
}

/// Why a replay stopped.
#[derive(Debug, thiserror::Error)]
pub enum RedoError {
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store refused a change.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A valid block holds something that is no group.
    #[error("no valid record at log position {at}")]
    Damaged {
        /// Where.
        at: Lsn,
    },
}

/// How to replay.
#[derive(Clone, Copy, Debug)]
pub struct RedoOptions {
    /// Number of workers, at least 1.
    pub workers: usize,
    /// Commits at or before this are in the target already.
    pub skip_until: Lsn,
}

/// What a replay has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Position after the last group.
    pub end: Lsn,
    /// Position of the last commit.
    pub last_commit: Lsn,
    /// Committed transactions applied.
    pub commits: u64,
    /// Row records applied.
    pub records: u64,
    /// Log bytes walked.
    pub bytes: u64,
    /// Streams that had neither committed nor aborted: they never happened.
    pub undecided: u64,
}

/// Reads the hardened end of a log, from `from` on (which begins a group).
pub struct LogSource {
    scanner: Scanner,
    from: Lsn,
}

impl LogSource {
    /// A source that starts at `from`.
    pub fn new(log: &Log, from: Lsn) -> Result<LogSource, LogError> {
        Ok(LogSource { scanner: log.scan(from)?, from })
    }
}

impl Source for LogSource {
    fn next(&mut self) -> Result<Option<Chunk>, RedoError> {
        let mut chunk: Option<Chunk> = None;
        while let Some(block) = self.scanner.next()? {
            let skip = self.from.0.saturating_sub(block.header.first_lsn.0);
            let first_lsn = block.header.first_lsn.max(self.from);
            let payload = usize::try_from(skip).ok().and_then(|skip| block.payload().get(skip..));
            let payload = payload.ok_or(RedoError::Damaged { at: first_lsn })?;
            let chunk = chunk
                .get_or_insert_with(|| Chunk { first_lsn, bytes: Vec::with_capacity(CHUNK_BYTES * 5 / 4) });
            chunk.bytes.extend_from_slice(payload);
            if chunk.bytes.len() >= CHUNK_BYTES && block.header.flags & FLAG_UNFINISHED == 0 {
                break;
            }
        }
        Ok(chunk.filter(|c| !c.bytes.is_empty()))
    }
}

/// Replays everything `source` has. `progress` is called with the position that has been walked by one worker.
pub fn replay(
    source: &mut dyn Source,
    target: &dyn Target,
    options: &RedoOptions,
    progress: &mut dyn FnMut(Lsn),
) -> Result<Applied, RedoError> {
    assert!(options.workers >= 1, "somebody has to do the work");
    let feed = Feed::new(source, options.workers);
    let results: Vec<Result<Worker<'_>, RedoError>> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..options.workers)
            .map(|number| {
                let feed = &feed;
                scope.spawn(move || Worker::new(number, target, options).run(feed, &mut |_| ()))
            })
            .collect();
        let own = Worker::new(0, target, options).run(&feed, progress);
        let joined =
            others.into_iter().map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(own).chain(joined).collect()
    });
    let mut total = Applied::default();
    let mut drops = Vec::new();
    for (number, result) in results.into_iter().enumerate() {
        let worker = result?;
        if number == 0 {
            total = worker.applied;
            total.undecided = worker.streams.len() as u64;
        } else {
            assert!(total.end == worker.applied.end, "all workers walk the whole log");
            total.records += worker.applied.records;
        }
        drops.extend(worker.drops);
    }
    feed.into_error().map_or(Ok(()), Err)?;
    for (tree, lsn) in drops {
        target.drop_tree(tree, lsn);
    }
    Ok(total)
}

/// The window of chunks that the workers share.
struct Feed<'s> {
    state: Mutex<FeedState>,
    arrived: Condvar,
    source: Mutex<&'s mut dyn Source>,
}

struct FeedState {
    window: VecDeque<Arc<Chunk>>,
    /// Index of `window[0]`.
    first: usize,
    /// The chunk each worker needs next.
    needs: Vec<usize>,
    fetching: bool,
    ended: bool,
    error: Option<RedoError>,
}

impl<'s> Feed<'s> {
    fn new(source: &'s mut dyn Source, workers: usize) -> Feed<'s> {
        let state = FeedState {
            window: VecDeque::new(),
            first: 0,
            needs: vec![0; workers],
            fetching: false,
            ended: false,
            error: None,
        };
        Feed { state: Mutex::new(state), arrived: Condvar::new(), source: Mutex::new(source) }
    }

    fn into_error(self) -> Option<RedoError> {
        self.state.into_inner().error
    }

    /// Stops everybody.
    fn stop(&self) {
        self.state.lock().ended = true;
        self.arrived.notify_all();
    }

    fn get(&self, worker: usize, index: usize) -> Option<Arc<Chunk>> {
        let mut state = self.state.lock();
        state.needs[worker] = index;
        let slowest = state.needs.iter().copied().min().unwrap_or(index);
        if state.first < slowest {
            while state.first < slowest {
                state.window.pop_front();
                state.first += 1;
            }
            self.arrived.notify_all();
        }
        loop {
            if let Some(chunk) = state.window.get(index - state.first) {
                return Some(Arc::clone(chunk));
            }
            if state.ended {
                return None;
            }
            if state.fetching || state.window.len() >= WINDOW_CHUNKS_MAX {
                self.arrived.wait(&mut state);
                continue;
            }
            state.fetching = true;
            drop(state);
            let fetched = self.source.lock().next();
            state = self.state.lock();
            state.fetching = false;
            match fetched {
                Ok(Some(chunk)) => state.window.push_back(Arc::new(chunk)),
                Ok(None) => state.ended = true,
                Err(error) => {
                    state.error = Some(error);
                    state.ended = true;
                }
            }
            self.arrived.notify_all();
        }
    }
}

/// One worker's view of a streaming transaction: where its parts are.
type Parts = Vec<Part>;

struct Part {
    chunk: Arc<Chunk>,
    range: Range<usize>,
    /// Records that were not rolled back.
    keep: u32,
}

struct Worker<'t> {
    number: usize,
    target: &'t dyn Target,
    options: RedoOptions,
    streams: HashMap<u64, Parts>,
    drops: Vec<(TreeId, Lsn)>,
    applied: Applied,
}

impl<'t> Worker<'t> {
    fn new(number: usize, target: &'t dyn Target, options: &RedoOptions) -> Worker<'t> {
        Worker {
            number,
            target,
            options: *options,
            streams: HashMap::new(),
            drops: Vec::new(),
            applied: Applied::default(),
        }
    }

    fn run(mut self, feed: &Feed<'_>, progress: &mut dyn FnMut(Lsn)) -> Result<Worker<'t>, RedoError> {
        let mut index = 0;
        while let Some(chunk) = feed.get(self.number, index) {
            if let Err(error) = self.walk(&chunk) {
                feed.stop();
                return Err(error);
            }
            progress(self.applied.end);
            index += 1;
        }
        Ok(self)
    }

    fn walk(&mut self, chunk: &Arc<Chunk>) -> Result<(), RedoError> {
        let mut at = 0;
        while at < chunk.bytes.len() {
            let lsn = chunk.first_lsn.advance(at as u64);
            let group = Group::decode(&chunk.bytes[at..]).ok_or(RedoError::Damaged { at: lsn })?;
            let end = at + group.bytes.len();
            self.take(&group, chunk, at..end, chunk.first_lsn.advance(end as u64))?;
            at = end;
        }
        self.applied.end = chunk.first_lsn.advance(chunk.bytes.len() as u64);
        self.applied.bytes += chunk.bytes.len() as u64;
        Ok(())
    }

    fn take(
        &mut self,
        group: &Group<'_>,
        chunk: &Arc<Chunk>,
        range: Range<usize>,
        end: Lsn,
    ) -> Result<(), RedoError> {
        let wanted = end > self.options.skip_until;
        match group.kind {
            GroupKind::Note => {}
            GroupKind::Part => {
                let part = Part { chunk: Arc::clone(chunk), range, keep: group.records };
                self.streams.entry(group.stream).or_default().push(part);
            }
            GroupKind::Rollback => {
                if let Some(parts) = self.streams.get_mut(&group.stream) {
                    keep_first(parts, u64::try_from(group.argument).unwrap_or(0));
                }
            }
            GroupKind::Abort => {
                self.streams.remove(&group.stream);
            }
            GroupKind::Whole if wanted => {
                self.apply(group, end, u32::MAX)?;
                self.committed(end);
            }
            GroupKind::Commit => {
                let parts = self.streams.remove(&group.stream).unwrap_or_default();
                if wanted {
                    for part in parts {
                        let at = part.chunk.first_lsn.advance(part.range.start as u64);
                        let bytes = part.chunk.bytes.get(part.range).unwrap_or_default();
                        let early = Group::decode(bytes).ok_or(RedoError::Damaged { at })?;
                        self.apply(&early, end, part.keep)?;
                    }
                    self.apply(group, end, u32::MAX)?;
                    self.committed(end);
                }
            }
            GroupKind::Whole => {}
        }
        Ok(())
    }

    fn committed(&mut self, end: Lsn) {
        self.applied.commits += 1;
        self.applied.last_commit = end;
    }

    fn apply(&mut self, group: &Group<'_>, lsn: Lsn, keep: u32) -> Result<(), RedoError> {
        let (target, drops) = (self.target, &mut self.drops);
        let mut count = 0;
        let walked = group.for_each_of(self.number, self.options.workers, |number, record| {
            if number >= keep {
                return Ok(());
            }
            count += 1;
            if record.change == Change::DropTree {
                drops.push((record.tree, lsn));
                return Ok(());
            }
            target.apply(lsn, &record)
        });
        self.applied.records += count;
        walked.ok_or(RedoError::Damaged { at: lsn })?.map_err(RedoError::Store)
    }
}

/// Voids all but the first `keep` records of a stream.
fn keep_first(parts: &mut Parts, keep: u64) {
    let mut left = keep;
    for part in parts.iter_mut() {
        part.keep = part.keep.min(u32::try_from(left).unwrap_or(u32::MAX));
        left -= u64::from(part.keep);
    }
    parts.retain(|part| part.keep > 0);
}
