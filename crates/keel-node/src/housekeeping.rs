//! The background threads of an instance: one for checkpoints, one for log segments made ahead of need, one that encrypts, and those
//! that make log durable for which nobody waits yet.
//!
//! Each sleeps until somebody asks. A database has at most one request pending with each, so a queue is bounded by the
//! number of databases. A thread is started by its first request and ends with the instance. A checkpoint may take
//! minutes, a commit cannot wait that long for a segment, nor for a flush: so there are several. Of flushes a disk that stalls must hold up
//! only its own: a database that finds all of their threads at work gets another, which ends when there was nothing for it to do for a while.
//!
//! Of an instance that is worked [by hand](crate::InstanceOptions::by_hand) no thread is started: what was asked for waits
//! in the same queues.

use crate::database::Database;
use crate::error::DbError;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// How long a thread that is one of several waits for something to do.
const LINGER: Duration = Duration::from_secs(10);

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Merge the delta into the base tree and truncate the log.
    Checkpoint,
    /// Make the next log segment.
    Provision,
    /// Turn files into the form that the database's keys want.
    Turn,
    /// Make the log durable.
    Flush,
}

impl Chore {
    fn thread(self) -> &'static str {
        match self {
            Chore::Checkpoint => "keel-checkpoint",
            Chore::Provision => "keel-provision",
            Chore::Turn => "keel-encrypt",
            Chore::Flush => "keel-log-writer",
        }
    }

    /// Whether no database waits for another's.
    fn each_by_itself(self) -> bool {
        self == Chore::Flush
    }
}

/// Is told of a chore that failed.
pub type OnFailure = Box<dyn Fn(&Database, &DbError) + Send + Sync>;

/// The queue between those who ask for a chore and the thread that does it.
pub struct Housekeeper {
    chore: Chore,
    by_hand: bool,
    state: Mutex<State>,
    asked: Condvar,
    on_failure: OnceLock<OnFailure>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Weak<Database>>,
    threads: usize,
    /// Those of them that have nothing to do.
    idle: usize,
    stopped: bool,
}

impl Housekeeper {
    pub(crate) fn new(chore: Chore, by_hand: bool) -> Arc<Housekeeper> {
        Arc::new(Housekeeper {
            chore,
            by_hand,
            state: Mutex::new(State::default()),
            asked: Condvar::new(),
            on_failure: OnceLock::new(),
        })
    }

    /// Asks for the chore to be done for a database. Several askings while one is pending are one. False when there is no thread that
    /// would do it: it stays queued until somebody asks again, or does it.
    pub(crate) fn ask(self: &Arc<Self>, database: &Weak<Database>) -> bool {
        let mut state = self.state.lock();
        let pending = state.queue.iter().any(|db| db.ptr_eq(database));
        if state.stopped || pending && state.threads > 0 {
            return true;
        }
        if !pending {
            state.queue.push_back(Weak::clone(database));
        }
        let another = state.threads == 0 || self.chore.each_by_itself() && state.idle < state.queue.len();
        if another && !self.by_hand {
            let own = Arc::clone(self);
            let started =
                std::thread::Builder::new().name(self.chore.thread().into()).spawn(move || own.run());
            state.threads += usize::from(started.is_ok());
        }
        self.asked.notify_one();
        state.threads > 0 || self.by_hand
    }

    /// Sets who is told of chores that fail; the first one set stays. A chore that failed is done again when somebody asks.
    pub(crate) fn on_failure(&self, tell: OnFailure) {
        let _ = self.on_failure.set(tell);
    }

    /// How many databases wait for their turn.
    pub(crate) fn waiting(&self) -> u32 {
        u32::try_from(self.state.lock().queue.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn stop(&self) {
        let mut state = self.state.lock();
        state.stopped = true;
        state.queue.clear();
        self.asked.notify_all();
    }

    fn run(&self) {
        if matches!(self.chore, Chore::Checkpoint | Chore::Turn) {
            keel_base::env::real::run_in_background();
        }
        while let Some(database) = self.next() {
            // A panic, which has been reported, is the end of this chore and not of the thread, which is every database's.
            let _ = catch_unwind(AssertUnwindSafe(|| self.attend_to(&database)));
        }
    }

    /// Waits for a request; `None` when the thread is to end.
    fn next(&self) -> Option<Weak<Database>> {
        let mut state = self.state.lock();
        let mut in_vain = false;
        loop {
            if state.stopped {
                return None;
            }
            if let Some(next) = state.queue.pop_front() {
                return Some(next);
            }
            if in_vain && state.threads > 1 {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            in_vain = if state.threads > 1 {
                self.asked.wait_for(&mut state, LINGER).timed_out()
            } else {
                self.asked.wait(&mut state);
                false
            };
            state.idle -= 1;
        }
    }

    /// Does the chore for the database that has waited longest; false when there is none.
    pub(crate) fn work_queued(&self) -> bool {
        let next = self.state.lock().queue.pop_front();
        if let Some(database) = &next {
            self.attend_to(database);
        }
        next.is_some()
    }

    fn attend_to(&self, database: &Weak<Database>) {
        let Some(database) = database.upgrade() else { return };
        let done = match self.chore {
            Chore::Checkpoint => database.checkpoint_in_background(),
            Chore::Provision => database.provision(),
            Chore::Turn => database.turn_in_background(),
            Chore::Flush => database.flush_in_background(),
        };
        if let (Err(error), Some(tell)) = (done, self.on_failure.get()) {
            tell(&database, &error);
        }
    }
}
