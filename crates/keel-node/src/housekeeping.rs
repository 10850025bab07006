//! The one background thread of an instance: checkpoints, and log segments made ahead of need.
//!
//! It sleeps until somebody asks. Each database has at most one request of each kind pending, so the queue is bounded by
//! the number of databases. The thread is started by the first request and ends with the instance.

use crate::database::Database;
use keel_store::base::PAGE_SIZE;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Merge the delta into the base tree and truncate the log.
    Checkpoint,
    /// Make the next log segment.
    Provision,
}

/// The queue between those who ask and the thread.
pub struct Housekeeper {
    state: Mutex<State>,
    asked: Condvar,
    failures: AtomicU64,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(Weak<Database>, Chore)>,
    running: bool,
    stopped: bool,
}

impl Housekeeper {
    pub(crate) fn new() -> Arc<Housekeeper> {
        Arc::new(Housekeeper {
            state: Mutex::new(State::default()),
            asked: Condvar::new(),
            failures: AtomicU64::new(0),
        })
    }

    /// Asks for a chore. Several askings while one is pending are one.
    pub(crate) fn ask(self: &Arc<Self>, database: &Weak<Database>, chore: Chore) {
        let mut state = self.state.lock();
        let pending = state.queue.iter().any(|(db, c)| *c == chore && db.ptr_eq(database));
        if pending || state.stopped {
            return;
        }
        state.queue.push_back((Weak::clone(database), chore));
        if !state.running {
            let own = Arc::clone(self);
            let started =
                std::thread::Builder::new().name("keel-housekeeping".into()).spawn(move || own.run());
            // Without a thread the request stays queued; the next asking tries again.
            state.running = started.is_ok();
        }
        self.asked.notify_one();
    }

    /// Chores that failed. Failures are retried when somebody asks again; a poisoned log refuses commits by itself.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        state.stopped = true;
        state.queue.clear();
        self.asked.notify_all();
    }

    fn run(&self) {
        keel_base::env::real::run_in_background();
        loop {
            let (database, chore) = {
                let mut state = self.state.lock();
                loop {
                    if state.stopped {
                        return;
                    }
                    if let Some(next) = state.queue.pop_front() {
                        break next;
                    }
                    self.asked.wait(&mut state);
                }
            };
            let Some(database) = database.upgrade() else { continue };
            let done = match chore {
                Chore::Checkpoint => database.checkpoint_in_background(),
                Chore::Provision => database.provision(),
            };
            if done.is_err() {
                self.failures.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Paces a checkpoint's writes.
///
/// With a limit (`-k`) they never exceed it. Without one, a checkpoint that nobody waits for is spread over the time
/// until the next will be due; when memory runs short it stops holding back.
pub(crate) struct Pace<'a> {
    pub(crate) database: &'a Database,
    /// 0 = as fast as the disk takes it.
    pub(crate) bytes_per_second: u64,
    /// Whether the rate may be given up when memory runs short.
    pub(crate) yields: bool,
    pub(crate) began: Duration,
    pub(crate) written: AtomicU64,
}

/// The longest sleep between two looks at the circumstances.
const NAP_MAX: Duration = Duration::from_millis(50);

impl keel_store::base::Throttle for Pace<'_> {
    fn pace(&self, bytes: u64) -> bool {
        // As they are written: a checkpoint takes minutes, and who watches it wants to see it.
        self.database.counters.checkpoint_pages.fetch_add(bytes / PAGE_SIZE as u64, Ordering::Relaxed);
        let written = self.written.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if self.bytes_per_second == 0 {
            return true;
        }
        let instance = self.database.instance();
        let due = self.began + Duration::from_secs_f64(written as f64 / self.bytes_per_second as f64);
        loop {
            let hurry = self.yields && instance.delta_bytes() > instance.pressure().soft_bytes;
            let early = due.saturating_sub(instance.env().clock.now());
            if early.is_zero() || hurry || self.database.is_closed() {
                return true;
            }
            std::thread::sleep(early.min(NAP_MAX));
        }
    }
}
