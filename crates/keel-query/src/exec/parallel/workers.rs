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
    /// Threads that are promised to somebody and not made yet.
    unmade: usize,
    threads: Vec<JoinHandle<()>>,
    ends: bool,
}

/// Workers that are promised to a statement. Those that it has not started are others' again when this goes.
pub(crate) struct Promised {
    workers: Arc<Workers>,
    idle: usize,
    unmade: usize,
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

    /// Whether none could be promised now.
    pub(crate) fn are_busy(&self) -> bool {
        let queue = self.state.queue.lock();
        queue.idle == 0 && queue.threads.len() + queue.unmade >= self.most
    }

    /// Promises so many workers, or as many as there are.
    pub(crate) fn promise(self: &Arc<Workers>, wanted: usize) -> Promised {
        let mut queue = self.state.queue.lock();
        let idle = queue.idle.min(wanted);
        let may_be_made = self.most.saturating_sub(queue.threads.len() + queue.unmade);
        let unmade = may_be_made.min(wanted - idle);
        queue.idle -= idle;
        queue.unmade += unmade;
        Promised { workers: Arc::clone(self), idle, unmade }
    }
}

impl Promised {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.idle + self.unmade
    }

    /// Has one of them do this at once; false when there is none, or none can be made.
    pub fn start(&mut self, job: Job) -> bool {
        let Workers { state, stack_bytes, .. } = &*self.workers;
        let mut queue = state.queue.lock();
        if self.idle > 0 {
            self.idle -= 1;
            queue.jobs.push_back(job);
            state.wake.notify_one();
            return true;
        }
        if self.unmade == 0 {
            return false;
        }
        self.unmade -= 1;
        queue.unmade -= 1;
        let number = queue.threads.len() + 1;
        let builder = Builder::new().name(format!("parallel-{number}")).stack_size(*stack_bytes);
        let state = Arc::clone(state);
        let thread = builder.spawn(move || state.work(job));
        let made = thread.is_ok();
        queue.threads.extend(thread);
        made
    }
}

impl Drop for Promised {
    fn drop(&mut self) {
        let mut queue = self.workers.state.queue.lock();
        queue.idle += self.idle;
        queue.unmade -= self.unmade;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn who_is_promised_to_one_is_not_promised_to_another() {
        let clock = keel_base::env::sim::env(&keel_base::env::sim::SimDisk::new(), 1).clock;
        let workers = Workers::new(3, 1 << 20, clock);
        let mut first = workers.promise(2);
        let second = workers.promise(2);
        assert_eq!((first.count(), second.count(), workers.promise(1).count()), (2, 1, 0));
        assert_eq!(workers.in_use(), (0, 0), "none is made before it has something to do");
        drop(second);

        let (sender, done) = channel();
        let job = || -> Job {
            let sender = sender.clone();
            Box::new(move || Box::new(move || sender.send(()).expect("the test listens")))
        };
        assert!(first.start(job()) && first.start(job()) && !first.start(job()));
        drop(first);
        done.iter().take(2).for_each(drop);
        assert_eq!(workers.in_use(), (2, 0));

        let all = workers.promise(9);
        assert_eq!((all.count(), workers.in_use()), (3, (2, 2)), "two that wait and one that may be made");
        drop(all);
        assert_eq!((workers.in_use(), workers.promise(9).count()), ((2, 0), 3));
    }
}
