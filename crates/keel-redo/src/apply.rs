//! Replay: W lanes walk the same chunks of the log and apply each its share.
//!
//! ```text
//!              ┌─► lane 0 (hash % W = 0) ─┐
//!   Source ──► │   window of chunks       │ ──► Target, and the applied point: the hindmost lane's
//!              └─► lane 1 (hash % W = 1) ─┘
//! ```
//!
//! The window holds the chunks between the slowest and the fastest lane, at most [`WINDOW_CHUNKS_MAX`]. Whoever is
//! first to need the next chunk fetches it (outside the lock); the others find it there. The last lane out of a chunk
//! lets it go, unless a stream's part lies in it: then it stays until the stream is decided.
//!
//! An [`Applier`] never blocks on another lane: [`Applier::work`] does one chunk of one lane, or says that there is
//! nothing to do now. So any threads can drive any number of appliers ([`crate::pool`]); [`replay`] gives each lane a thread
//! and stops at the end of the source.
//!
//! A chunk of a few records is not worth waking anybody: whoever fetched it takes it through all lanes
//! ([`RedoOptions::alone_bytes`]), as far as nobody else is at work in them.
//!
//! Lanes meet only in the **applied point**. Before it moves, the trees dropped up to there are reported, and the target
//! is told which commits changed a watched tree (the catalog); so whoever reads at the applied point finds everything of the
//! past and nothing of the future.

use crate::record::{Change, Group, GroupKind, RowRecord};
use crate::target::{TOGETHER_MAX, Target};
use hashbrown::HashMap;
use keel_base::{Lsn, TreeId};
use keel_log::LogError;
use keel_store::StoreError;
use parking_lot::{Condvar, Mutex, MutexGuard};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Chunks that the fastest worker may be ahead of the slowest.
pub const WINDOW_CHUNKS_MAX: usize = 16;

/// A run of whole groups.
#[derive(Debug)]
pub struct Chunk {
    /// Position of the first byte.
    pub first_lsn: Lsn,
    /// The groups.
    pub bytes: Vec<u8>,
}

impl Chunk {
    /// Position behind the last byte.
    pub fn end(&self) -> Lsn {
        self.first_lsn.advance(self.bytes.len() as u64)
    }
}

/// Where the log to replay comes from.
pub trait Source: Send {
    /// The next chunk in order; `None` when there is none yet. May be asked again.
    fn next(&mut self) -> Result<Option<Chunk>, RedoError>;
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
    /// An earlier error stopped it.
    #[error("stopped before: {what}")]
    Stopped {
        /// That error.
        what: String,
    },
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
    /// Number of lanes, at least 1.
    pub workers: usize,
    /// Commits at or before this are in the target already.
    pub skip_until: Lsn,
    /// The tree whose changes are announced with the applied point.
    pub watched: Option<TreeId>,
    /// A chunk of no more bytes than this is applied for all lanes by the thread that fetched it.
    pub alone_bytes: usize,
}

/// [`RedoOptions::alone_bytes`] unless there is a reason for another: applying so much takes about as long as it takes a
/// thread to wake.
pub const ALONE_BYTES: usize = 32 << 10;

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

/// Replays everything `source` has. `progress` is called with the position that all lanes have reached.
pub fn replay(
    source: &mut dyn Source,
    target: &dyn Target,
    options: &RedoOptions,
    progress: &mut dyn FnMut(Lsn),
) -> Result<Applied, RedoError> {
    let applier = Applier::new(Box::new(source), Box::new(target), options);
    applier.run_to_end(progress)?;
    Ok(applier.totals())
}

impl<S: Source + ?Sized> Source for &mut S {
    fn next(&mut self) -> Result<Option<Chunk>, RedoError> {
        (**self).next()
    }
}

/// What [`Applier::work`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// One chunk.
    Worked,
    /// Another lane must move first; the number is for [`Applier::wait_change`].
    Wait(u64),
    /// The source has nothing more now.
    Idle,
    /// An error stopped the applier: [`Applier::error`].
    Failed,
}

/// A stream that the log so far leaves undecided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// Its id.
    pub stream: u64,
    /// When it is prepared: since when, in microseconds since 1970 UTC, and what it is called. Only somebody outside can tell what
    /// becomes of it; the others never happened.
    pub prepared: Option<(i64, Vec<u8>)>,
}

/// Applies a log to a target, by lanes. See the module.
pub struct Applier<'t> {
    source: Mutex<Box<dyn Source + 't>>,
    target: Box<dyn Target + 't>,
    options: RedoOptions,
    lanes: Vec<Mutex<Lane>>,
    feed: Mutex<Feed>,
    changed: Condvar,
    /// Bytes of streams that are not decided, which stay in memory until they are.
    held: AtomicU64,
}

/// The window of chunks that the lanes share, and how far each has come.
struct Feed {
    window: VecDeque<Arc<Chunk>>,
    /// Index of `window[0]`.
    first: usize,
    /// The chunk each lane needs next.
    needs: Vec<usize>,
    /// Position each lane has reached.
    ends: Vec<Lsn>,
    fetching: bool,
    stopped: bool,
    /// Counts everything that another lane may wait for.
    changes: u64,
    /// Why the applier stopped, in words, and the error itself until somebody took it.
    failed: Option<String>,
    error: Option<RedoError>,
    /// Trees dropped and watched trees changed behind the applied point.
    drops: Vec<(TreeId, Lsn)>,
    watched: Vec<Lsn>,
    /// Whether a lane is reporting to the target.
    reporting: bool,
    applied: Lsn,
}

impl Feed {
    fn fail(&mut self, error: RedoError) {
        if self.failed.is_none() {
            self.failed = Some(error.to_string());
            self.error = Some(error);
        }
    }
}

impl<'t> Applier<'t> {
    /// An applier that has done nothing yet.
    ///
    /// # Panics
    /// Without a lane nothing would ever be done.
    pub fn new(
        source: Box<dyn Source + 't>,
        target: Box<dyn Target + 't>,
        options: &RedoOptions,
    ) -> Applier<'t> {
        assert!(options.workers >= 1, "somebody has to do the work");
        let feed = Feed {
            window: VecDeque::new(),
            first: 0,
            needs: vec![0; options.workers],
            ends: vec![Lsn::ZERO; options.workers],
            fetching: false,
            stopped: false,
            changes: 0,
            failed: None,
            error: None,
            drops: Vec::new(),
            watched: Vec::new(),
            reporting: false,
            applied: Lsn::ZERO,
        };
        Applier {
            source: Mutex::new(source),
            target,
            options: *options,
            lanes: (0..options.workers).map(|number| Mutex::new(Lane::new(number))).collect(),
            feed: Mutex::new(feed),
            changed: Condvar::new(),
            held: AtomicU64::new(0),
        }
    }

    /// Bytes of log that stay in memory because the transactions they belong to are not decided.
    pub fn held_bytes(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// Takes no more chunks. When it returns, no lane is at work, and none will be.
    pub fn stop(&self) {
        {
            let mut feed = self.feed.lock();
            feed.stopped = true;
            self.note_change(&mut feed);
        }
        for lane in &self.lanes {
            drop(lane.lock());
        }
    }

    /// Stops it: whoever worked a lane has panicked, and said this.
    pub(crate) fn fail(&self, what: &str) {
        let what = format!("a system assertion check has failed: {what}");
        let mut feed = self.feed.lock();
        feed.fail(RedoError::Stopped { what });
        self.note_change(&mut feed);
    }

    /// Number of lanes.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Everything before this is applied and reported; zero before the first chunk is.
    pub fn applied(&self) -> Lsn {
        self.feed.lock().applied
    }

    /// What stopped the applier, in words.
    pub fn error(&self) -> Option<String> {
        self.feed.lock().failed.clone()
    }

    /// The streams that are not decided, ascending. Call while no lane works.
    pub fn undecided(&self) -> Vec<Undecided> {
        let lane = self.lanes[0].lock();
        let name = |stream| lane.prepared.get(stream).map(|(at, name)| (*at, name.clone()));
        let mut streams: Vec<_> =
            lane.streams.keys().map(|stream| Undecided { stream: *stream, prepared: name(stream) }).collect();
        streams.sort_unstable_by_key(|undecided| undecided.stream);
        streams
    }

    /// Calls `each` with the records of a stream that is not decided, in order, without those that were rolled back. Call while no
    /// lane works.
    pub fn records_of(
        &self,
        stream: u64,
        each: &mut dyn FnMut(&RowRecord<'_>) -> Result<(), StoreError>,
    ) -> Result<(), RedoError> {
        let lane = self.lanes[0].lock();
        for part in lane.streams.get(&stream).into_iter().flatten() {
            let at = part.chunk.first_lsn.advance(part.range.start as u64);
            let bytes = part.chunk.bytes.get(part.range.clone()).unwrap_or_default();
            let group = Group::decode(bytes).ok_or(RedoError::Damaged { at })?;
            let walked = group.for_each_of(
                0,
                1,
                |number, record| {
                    if number < part.keep { each(&record) } else { Ok(()) }
                },
            );
            walked.ok_or(RedoError::Damaged { at })?.map_err(RedoError::Store)?;
        }
        Ok(())
    }

    /// What was done so far. Call while no lane works.
    pub fn totals(&self) -> Applied {
        let mut total = Applied::default();
        for (number, lane) in self.lanes.iter().enumerate() {
            let lane = lane.lock();
            if number == 0 {
                total = Applied { undecided: lane.streams.len() as u64, ..lane.applied };
            } else {
                total.records += lane.applied.records;
            }
        }
        total
    }

    /// Lets every lane run on a thread of its own (lane 0 on the caller's) until the source has nothing more.
    pub fn run_to_end(&self, progress: &mut dyn FnMut(Lsn)) -> Result<(), RedoError> {
        std::thread::scope(|scope| {
            for lane in 1..self.lanes() {
                scope.spawn(move || self.run_lane(lane, &mut |_| ()));
            }
            self.run_lane(0, progress);
        });
        match self.feed.lock().error.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn run_lane(&self, lane: usize, progress: &mut dyn FnMut(Lsn)) {
        loop {
            match self.work(lane, &|| ()) {
                Turn::Worked => progress(self.feed.lock().ends[lane]),
                Turn::Wait(seen) => self.wait_change(seen),
                Turn::Idle | Turn::Failed => return,
            }
        }
    }

    /// Works all lanes on the caller's thread, together with whoever else does, until the source has nothing more.
    pub fn drain(&self) -> Result<(), RedoError> {
        loop {
            let mut idle = true;
            for lane in 0..self.lanes() {
                match self.work(lane, &|| ()) {
                    Turn::Worked => idle = false,
                    Turn::Wait(seen) => {
                        idle = false;
                        if lane + 1 == self.lanes() {
                            self.wait_change(seen);
                        }
                    }
                    Turn::Idle => {}
                    Turn::Failed => {
                        let mut feed = self.feed.lock();
                        let what = feed.failed.clone().unwrap_or_default();
                        return Err(feed.error.take().unwrap_or(RedoError::Stopped { what }));
                    }
                }
            }
            if idle {
                let mut feed = self.feed.lock();
                while feed.reporting {
                    self.changed.wait(&mut feed);
                }
                return Ok(());
            }
        }
    }

    /// Returns when something has changed since a [`Turn::Wait`].
    pub fn wait_change(&self, seen: u64) {
        let mut feed = self.feed.lock();
        while feed.changes == seen {
            self.changed.wait(&mut feed);
        }
    }

    /// Takes one lane one chunk further. `wake` is called when other lanes may have work now that had none.
    pub fn work(&self, number: usize, wake: &dyn Fn()) -> Turn {
        let mut lane = self.lanes[number].lock();
        let (chunk, fetched) = match self.take_chunk(number) {
            Ok(taken) => taken,
            Err(turn) => return turn,
        };
        let alone = fetched && chunk.bytes.len() <= self.options.alone_bytes;
        if fetched && !alone {
            wake();
        }
        let turn = self.walk(&mut lane, &chunk, wake);
        if alone && turn == Turn::Worked && !self.walk_others(number, wake) {
            wake();
        }
        turn
    }

    /// Takes a lane through the chunk that it needs.
    fn walk(&self, lane: &mut Lane, chunk: &Arc<Chunk>, wake: &dyn Fn()) -> Turn {
        let walked = lane.walk(chunk, &*self.target, &self.options);
        if lane.number == 0 {
            // Every lane keeps the same parts, of the same chunks.
            self.held.store(lane.held, Ordering::Relaxed);
        }
        if let Err(error) = walked {
            let mut feed = self.feed.lock();
            feed.fail(error);
            self.note_change(&mut feed);
            return Turn::Failed;
        }
        if self.finish_chunk(lane, chunk.end()) {
            wake();
        }
        Turn::Worked
    }

    /// Takes the other lanes as far as this one has come. False when somebody else is at work in one of them, or one is
    /// behind by more than is done alone.
    fn walk_others(&self, number: usize, wake: &dyn Fn()) -> bool {
        let others = self.lanes.iter().enumerate().filter(|(other, _)| *other != number);
        let mut all = true;
        for (other, lane) in others {
            let Some(mut lane) = lane.try_lock() else {
                all = false;
                continue;
            };
            while let Some(chunk) = self.chunk_in_window(other) {
                if chunk.bytes.len() > self.options.alone_bytes {
                    all = false;
                    break;
                }
                if self.walk(&mut lane, &chunk, wake) != Turn::Worked {
                    return true;
                }
            }
        }
        all
    }

    /// The chunk that a lane needs, if it was fetched already and the applier goes on.
    fn chunk_in_window(&self, number: usize) -> Option<Arc<Chunk>> {
        let feed = self.feed.lock();
        let index = feed.needs[number] - feed.first;
        feed.window.get(index).filter(|_| feed.failed.is_none() && !feed.stopped).cloned()
    }

    fn note_change(&self, feed: &mut Feed) {
        feed.changes += 1;
        self.changed.notify_all();
    }

    /// The chunk that a lane needs, and whether it was fetched for it.
    fn take_chunk(&self, number: usize) -> Result<(Arc<Chunk>, bool), Turn> {
        let mut feed = self.feed.lock();
        if feed.failed.is_some() {
            return Err(Turn::Failed);
        }
        if feed.stopped {
            return Err(Turn::Idle);
        }
        let index = feed.needs[number];
        if let Some(chunk) = feed.window.get(index - feed.first) {
            return Ok((Arc::clone(chunk), false));
        }
        if feed.fetching || feed.window.len() >= WINDOW_CHUNKS_MAX {
            return Err(Turn::Wait(feed.changes));
        }
        feed.fetching = true;
        drop(feed);
        let fetched = self.source.lock().next();
        let mut feed = self.feed.lock();
        feed.fetching = false;
        self.note_change(&mut feed);
        match fetched {
            Ok(Some(_)) if feed.stopped => Err(Turn::Idle),
            Ok(Some(chunk)) => {
                let chunk = Arc::new(chunk);
                feed.window.push_back(Arc::clone(&chunk));
                Ok((chunk, true))
            }
            Ok(None) => Err(Turn::Idle),
            Err(error) => {
                feed.fail(error);
                Err(Turn::Failed)
            }
        }
    }

    /// Lets go of what no lane needs any more and moves the applied point; true when others may go on that could not, because
    /// the window was full.
    fn finish_chunk(&self, lane: &mut Lane, end: Lsn) -> bool {
        let number = lane.number;
        let mut feed = self.feed.lock();
        feed.needs[number] += 1;
        feed.ends[number] = end;
        feed.drops.append(&mut lane.drops);
        feed.watched.append(&mut lane.watched);
        let was_full = feed.window.len() >= WINDOW_CHUNKS_MAX;
        let slowest = feed.needs.iter().copied().min().unwrap_or(feed.first);
        let moved = feed.first < slowest;
        while feed.first < slowest {
            feed.window.pop_front();
            feed.first += 1;
        }
        if moved {
            self.report(&mut feed);
            self.note_change(&mut feed);
        }
        moved && was_full
    }

    /// Tells the target how far all lanes are. One lane at a time, so that the reports are in order.
    fn report(&self, feed: &mut MutexGuard<'_, Feed>) {
        if feed.reporting {
            // Who reports looks again before it stops.
            return;
        }
        feed.reporting = true;
        loop {
            let to = feed.ends.iter().copied().min().unwrap_or(Lsn::ZERO);
            if to <= feed.applied {
                break;
            }
            let mut due = Vec::new();
            feed.drops.retain(|drop| {
                let later = drop.1 > to;
                if !later {
                    due.push(*drop);
                }
                later
            });
            // Every lane names the commits it had a part in.
            feed.watched.sort_unstable();
            feed.watched.dedup();
            let passed = feed.watched.partition_point(|lsn| *lsn <= to);
            let watched: Vec<Lsn> = feed.watched.drain(..passed).collect();
            MutexGuard::unlocked(feed, || {
                for (tree, lsn) in due {
                    self.target.drop_tree(tree, lsn);
                }
                self.target.applied(to, &watched);
            });
            feed.applied = to;
        }
        feed.reporting = false;
    }
}

/// One lane's view of a streaming transaction: where its parts are.
type Parts = Vec<Part>;

struct Part {
    chunk: Arc<Chunk>,
    range: Range<usize>,
    /// Records that were not rolled back.
    keep: u32,
}

struct Lane {
    number: usize,
    streams: HashMap<u64, Parts>,
    /// Time and name of those of them that are prepared.
    prepared: HashMap<u64, (i64, Vec<u8>)>,
    /// Bytes of all their parts.
    held: u64,
    /// Of the chunk being walked.
    drops: Vec<(TreeId, Lsn)>,
    watched: Vec<Lsn>,
    applied: Applied,
}

impl Lane {
    fn new(number: usize) -> Lane {
        let (drops, watched) = (Vec::new(), Vec::new());
        let (streams, prepared) = (HashMap::new(), HashMap::new());
        Lane { number, streams, prepared, held: 0, drops, watched, applied: Applied::default() }
    }

    fn walk(
        &mut self,
        chunk: &Arc<Chunk>,
        target: &dyn Target,
        options: &RedoOptions,
    ) -> Result<(), RedoError> {
        let mut at = 0;
        while at < chunk.bytes.len() {
            let lsn = chunk.first_lsn.advance(at as u64);
            let group = Group::decode(&chunk.bytes[at..]).ok_or(RedoError::Damaged { at: lsn })?;
            let end = at + group.bytes.len();
            self.take(&group, chunk, at..end, target, options)?;
            at = end;
        }
        self.applied.end = chunk.end();
        self.applied.bytes += chunk.bytes.len() as u64;
        Ok(())
    }

    fn take(
        &mut self,
        group: &Group<'_>,
        chunk: &Arc<Chunk>,
        range: Range<usize>,
        target: &dyn Target,
        options: &RedoOptions,
    ) -> Result<(), RedoError> {
        let first = chunk.first_lsn.advance(range.start as u64);
        let end = chunk.first_lsn.advance(range.end as u64);
        let wanted = end > options.skip_until;
        // What concerns the whole log is told once.
        let tells = self.number == 0;
        match group.kind {
            GroupKind::Note => {}
            GroupKind::Part => {
                if tells && !self.streams.contains_key(&group.stream) {
                    target.stream_opened(group.stream, first);
                }
                self.held += range.len() as u64;
                let part = Part { chunk: Arc::clone(chunk), range, keep: group.records };
                self.streams.entry(group.stream).or_default().push(part);
            }
            GroupKind::Prepare => {
                // Its parts have come before; without any there is nothing to decide about.
                if self.streams.contains_key(&group.stream) {
                    if tells {
                        target.stream_prepared(group.stream, group.name());
                    }
                    self.prepared.insert(group.stream, (group.argument, group.name().to_vec()));
                }
            }
            GroupKind::Rollback => {
                if let Some(parts) = self.streams.get_mut(&group.stream) {
                    let before = bytes_of(parts);
                    keep_first(parts, u64::try_from(group.argument).unwrap_or(0));
                    self.held -= before - bytes_of(parts);
                }
            }
            GroupKind::Abort => {
                // Where one ends that was prepared is part of its history: the log may be cut off behind it, and ends before it again.
                let prepared = self.prepared.contains_key(&group.stream);
                self.decided(group.stream);
                if tells {
                    target.stream_closed(group.stream, prepared.then_some(end));
                }
            }
            GroupKind::Whole if wanted => {
                self.apply(group, end, u32::MAX, target, options)?;
                self.committed(end);
            }
            GroupKind::Commit => {
                let parts = self.decided(group.stream);
                if tells {
                    target.stream_closed(group.stream, Some(end));
                }
                if wanted {
                    for part in parts {
                        let at = part.chunk.first_lsn.advance(part.range.start as u64);
                        let bytes = part.chunk.bytes.get(part.range).unwrap_or_default();
                        let early = Group::decode(bytes).ok_or(RedoError::Damaged { at })?;
                        self.apply(&early, end, part.keep, target, options)?;
                    }
                    self.apply(group, end, u32::MAX, target, options)?;
                    self.committed(end);
                }
            }
            GroupKind::Whole => {}
        }
        Ok(())
    }

    /// Lets go of a stream; gives its parts.
    fn decided(&mut self, stream: u64) -> Parts {
        let parts = self.streams.remove(&stream).unwrap_or_default();
        self.prepared.remove(&stream);
        self.held -= bytes_of(&parts);
        parts
    }

    fn committed(&mut self, end: Lsn) {
        self.applied.commits += 1;
        self.applied.last_commit = end;
    }

    fn apply(
        &mut self,
        group: &Group<'_>,
        lsn: Lsn,
        keep: u32,
        target: &dyn Target,
        options: &RedoOptions,
    ) -> Result<(), RedoError> {
        let (drops, watched) = (&mut self.drops, &mut self.watched);
        let mut count = 0;
        let mut together: SmallVec<[RowRecord<'_>; TOGETHER_MAX]> = SmallVec::new();
        let walked = group.for_each_of(self.number, options.workers, |number, record| {
            if number >= keep {
                return Ok(());
            }
            count += 1;
            if Some(record.tree) == options.watched && watched.last() != Some(&lsn) {
                watched.push(lsn);
            }
            if record.change == Change::DropTree {
                drops.push((record.tree, lsn));
                return Ok(());
            }
            together.push(record);
            if together.len() < TOGETHER_MAX {
                return Ok(());
            }
            let applied = target.apply_all(lsn, &together);
            together.clear();
            applied.map_err(|(_, error)| error)
        });
        walked.ok_or(RedoError::Damaged { at: lsn })?.map_err(RedoError::Store)?;
        target.apply_all(lsn, &together).map_err(|(_, error)| RedoError::Store(error))?;
        self.applied.records += count;
        Ok(())
    }
}

fn bytes_of(parts: &[Part]) -> u64 {
    parts.iter().map(|part| part.range.len() as u64).sum()
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
