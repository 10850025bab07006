//! [`RedoPool`]: the W threads of an instance that apply the logs of all its databases.
//!
//! A database adds its [`Applier`] as a [`Task`] and [pokes](RedoPool::poke) it when there is log to apply. A lane of a task
//! is in the queue at most once; a thread takes it, works it for some chunks and puts it back while there is more. So the
//! threads do not grow with the databases, no lane waits while a thread is free, and no database starves another.
//!
//! Who has log for a database in hand may apply a little of it at once ([`RedoPool::work_here`]) instead of waking a thread.
//!
//! Where everything happens on one thread in an order that is chosen ([`RedoPool::by_hand`]), the same queue is worked by
//! whoever calls [`RedoPool::work_queued`].

use crate::apply::{Applier, Turn};
use keel_base::panics;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Instant;

/// Chunks that a lane is worked for in one go.
const CHUNKS_PER_TURN: usize = 8;

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const RUNNING: u8 = 2;
/// Running, and poked since.
const AGAIN: u8 = 3;

/// An applier that a pool drives.
pub struct Task {
    applier: Applier<'static>,
    lanes: Vec<AtomicU8>,
    stopped: AtomicBool,
}

impl Task {
    /// Makes a task of an applier.
    pub fn new(applier: Applier<'static>) -> Arc<Task> {
        let lanes = (0..applier.lanes()).map(|_| AtomicU8::new(IDLE)).collect();
        Arc::new(Task { applier, lanes, stopped: AtomicBool::new(false) })
    }

    /// The applier.
    pub fn applier(&self) -> &Applier<'static> {
        &self.applier
    }

    /// Takes it from the pool, and [stops](Applier::stop) its applier. Not to be called by what the applier calls.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.applier.stop();
    }
}

/// The redo threads of an instance. Dropping it ends them.
pub struct RedoPool {
    shared: Arc<Shared>,
    threads_max: usize,
    by_hand: bool,
}

/// How often and how long a pool's threads had nothing to apply. A wait counts once it is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdleWaits {
    /// Waits.
    pub count: u64,
    /// Nanoseconds of all of them.
    pub nanos: u64,
    /// Nanoseconds of the longest.
    pub longest_nanos: u64,
}

struct Shared {
    state: Mutex<State>,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(Arc<Task>, usize)>,
    threads: usize,
    stopped: bool,
    idle: IdleWaits,
}

impl RedoPool {
    /// A pool of at most `threads` threads, [started](RedoPool::start_threads) with the first copy. Without any, whoever pokes does the work.
    pub fn new(threads: usize) -> RedoPool {
        let shared = Shared { state: Mutex::new(State::default()), asked: Condvar::new() };
        RedoPool { shared: Arc::new(shared), threads_max: threads, by_hand: false }
    }

    /// A pool without threads whose queue waits for [`RedoPool::work_queued`].
    pub fn by_hand() -> RedoPool {
        let mut pool = RedoPool::new(0);
        pool.by_hand = true;
        pool
    }

    /// How many lanes are in the queue.
    pub fn queued(&self) -> usize {
        self.shared.state.lock().queue.len()
    }

    /// What its threads waited for work so far.
    pub fn idle_waits(&self) -> IdleWaits {
        self.shared.state.lock().idle
    }

    /// Takes the `which`-th lane from the queue and works it for one chunk; false when there is none. For a pool
    /// [by hand](RedoPool::by_hand).
    pub fn work_queued(&self, which: usize) -> bool {
        let taken = self.shared.state.lock().queue.remove(which);
        if let Some((task, lane)) = &taken {
            self.shared.work(task, *lane, 1);
        }
        taken.is_some()
    }

    /// Says that there may be something to apply. Returns at once, unless the pool has no threads and is not by hand.
    pub fn poke(&self, task: &Arc<Task>) {
        if task.stopped.load(Ordering::Acquire) {
            return;
        }
        if self.threads_max == 0 && !self.by_hand {
            // An error stays with the applier, where its owner finds it.
            let _ = task.applier.drain();
            return;
        }
        self.start_threads();
        self.shared.poke_first(task);
    }

    /// Applies some of what there is on the calling thread, up to so many chunks: for whoever would otherwise wake a thread
    /// for a few records. True when everything there was is applied; else the threads go on, once they are
    /// [poked](RedoPool::poke).
    pub fn work_here(&self, task: &Arc<Task>, chunks: usize) -> bool {
        for _ in 0..chunks {
            if task.stopped.load(Ordering::Acquire) {
                return true;
            }
            match task.applier.work(0, &|| self.shared.poke(task, Some(0))) {
                Turn::Worked => {}
                Turn::Idle | Turn::Failed => return true,
                Turn::Wait(_) => return false,
            }
        }
        false
    }

    /// Starts the threads. Called when there is a first copy to redo, so that how many threads there are says nothing about
    /// how much there was to do.
    pub fn start_threads(&self) {
        let mut state = self.shared.state.lock();
        while state.threads < self.threads_max {
            let shared = Arc::clone(&self.shared);
            let named = std::thread::Builder::new().name(format!("keel-redo-{}", state.threads));
            if named.spawn(move || shared.run()).is_err() {
                // The next poke tries again; the threads there are do the work meanwhile.
                return;
            }
            state.threads += 1;
        }
    }
}

impl Drop for RedoPool {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        state.stopped = true;
        state.queue.clear();
        self.shared.asked.notify_all();
    }
}

impl IdleWaits {
    fn waited(&mut self, nanos: u64) {
        self.count += 1;
        self.nanos = self.nanos.saturating_add(nanos);
        self.longest_nanos = self.longest_nanos.max(nanos);
    }
}

impl Shared {
    /// Queues the lanes of a task, but for one that says so itself.
    fn poke(&self, task: &Arc<Task>, but: Option<usize>) {
        for (lane, state) in task.lanes.iter().enumerate().filter(|(lane, _)| Some(*lane) != but) {
            let next = |now| match now {
                IDLE => Some(QUEUED),
                RUNNING => Some(AGAIN),
                _ => None,
            };
            if state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE) {
                self.enqueue(task, lane);
            }
        }
    }

    /// Queues the first lane, which wakes the others when there is enough for them, and lets those that run look again: one
    /// of them may just have found nothing.
    fn poke_first(&self, task: &Arc<Task>) {
        for (lane, state) in task.lanes.iter().enumerate() {
            let next = |now| match now {
                IDLE if lane == 0 => Some(QUEUED),
                RUNNING => Some(AGAIN),
                _ => None,
            };
            if state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next) == Ok(IDLE) {
                self.enqueue(task, lane);
            }
        }
    }

    fn enqueue(&self, task: &Arc<Task>, lane: usize) {
        let mut state = self.state.lock();
        if !state.stopped {
            state.queue.push_back((Arc::clone(task), lane));
            self.asked.notify_one();
        }
    }

    fn run(&self) {
        loop {
            let (task, lane) = {
                let mut state = self.state.lock();
                loop {
                    if state.stopped {
                        return;
                    }
                    if let Some(next) = state.queue.pop_front() {
                        break next;
                    }
                    let began = Instant::now();
                    self.asked.wait(&mut state);
                    state.idle.waited(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
                }
            };
            // A panic stops the applier, as an error does, and not the thread, which is every database's.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.work(&task, lane, CHUNKS_PER_TURN))) {
                task.applier.fail(panics::text(&*panic));
            }
        }
    }

    fn work(&self, task: &Arc<Task>, lane: usize, chunks: usize) {
        task.lanes[lane].store(RUNNING, Ordering::Release);
        let mut more = true;
        for _ in 0..chunks {
            if task.stopped.load(Ordering::Acquire) {
                more = false;
                break;
            }
            match task.applier.work(lane, &|| self.poke(task, Some(lane))) {
                Turn::Worked => {}
                Turn::Wait(_) | Turn::Idle | Turn::Failed => {
                    more = false;
                    break;
                }
            }
        }
        let idle = !more
            && task.lanes[lane].compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !idle {
            task.lanes[lane].store(QUEUED, Ordering::Release);
            self.enqueue(task, lane);
        }
    }
}
