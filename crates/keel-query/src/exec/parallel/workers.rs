//! The threads that help sessions: a bounded pool of the instance.
//!
//! Nobody waits for a worker: who finds none idle, and the pool full, does the work alone. Threads are made when they are first
//! wanted and then stay.

use keel_base::env::Clock;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// What a worker is to do. It must come to an end by itself once nobody wants its result. What it returns tells that it is done, and
/// is called when the worker is there for others again.
pub(crate) type Job = Box<dyn FnOnce() -> Box<dyn FnOnce()> + Send>;

/// The pool.
pub struct Workers {
    state: Arc<State>,
    most: usize,
    stack_bytes: usize,
    clock: Arc<dyn Clock>,
    waits: [AtomicU64; 3],
}

#[derive(Default)]
struct State {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Threads that wait and are promised to nobody.
    idle: usize,
    threads: Vec<JoinHandle<()>>,
    ends: bool,
}

impl Workers {
    /// A pool of at most so many threads, each with a stack as sessions have: they evaluate the same expressions. `clock` tells the
    /// processor time that each has used.
    #[must_use]
    pub fn new(most: usize, stack_bytes: usize, clock: Arc<dyn Clock>) -> Arc<Workers> {
        Arc::new(Workers { state: Arc::default(), most, stack_bytes, clock, waits: Default::default() })
    }

    /// How many there may be.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }

    /// Threads that have been made, and how many of them have something to do.
    #[must_use]
    pub fn in_use(&self) -> (usize, usize) {
        let queue = self.state.queue.lock();
        (queue.threads.len(), queue.threads.len() - queue.idle)
    }

    /// How often sessions have waited for their helpers, how long together and at most, nanoseconds (`CXPACKET`).
    #[must_use]
    pub fn waits(&self) -> [u64; 3] {
        self.waits.each_ref().map(|n| n.load(Ordering::Relaxed))
    }

    /// The calling session's thread has waited for its helpers since then.
    pub(crate) fn note_wait(&self, since: Duration) {
        let waited = self.clock.now().saturating_sub(since);
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        let [count, all, most] = &self.waits;
        count.fetch_add(1, Ordering::Relaxed);
        all.fetch_add(nanos, Ordering::Relaxed);
        most.fetch_max(nanos, Ordering::Relaxed);
        keel_base::waits::note("CXPACKET", nanos);
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Has a worker do this at once; false when there is none.
    pub(crate) fn start(&self, job: Job) -> bool {
        let mut queue = self.state.queue.lock();
        if queue.idle > 0 {
            queue.idle -= 1;
            queue.jobs.push_back(job);
            self.state.wake.notify_one();
            return true;
        }
        let number = queue.threads.len() + 1;
        if number > self.most {
            return false;
        }
        let state = Arc::clone(&self.state);
        let builder = Builder::new().name(format!("parallel-{number}")).stack_size(self.stack_bytes);
        let thread = builder.spawn(move || state.work(job));
        let made = thread.is_ok();
        queue.threads.extend(thread);
        made
    }
}

impl State {
    /// A thread's life.
    fn work(&self, first: Job) {
        let mut job = first;
        loop {
            // After a panic whoever waits for the result finds that nobody will send it.
            let tell = catch_unwind(AssertUnwindSafe(job));
            self.queue.lock().idle += 1;
            if let Ok(tell) = tell {
                tell();
            }
            let mut queue = self.queue.lock();
            job = loop {
                if queue.ends {
                    return;
                }
                match queue.jobs.pop_front() {
                    Some(job) => break job,
                    None => self.wake.wait(&mut queue),
                }
            };
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let threads = {
            let mut queue = self.state.queue.lock();
            queue.ends = true;
            std::mem::take(&mut queue.threads)
        };
        self.state.wake.notify_all();
        for thread in threads {
            // A panic was caught and is its job's.
            let _ = thread.join();
        }
    }
}
