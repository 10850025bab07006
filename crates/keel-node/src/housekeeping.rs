//! The background threads of an instance: one for checkpoints, one for log segments made ahead of need, one that encrypts, one that
//! makes log durable for which nobody waits yet.
//!
//! Each sleeps until somebody asks. A database has at most one request pending with each, so a queue is bounded by the
//! number of databases. A thread is started by its first request and ends with the instance. A checkpoint may take
//! minutes, a commit cannot wait that long for a segment, nor for a flush: so there are several.
//!
//! Of an instance that is worked [by hand](crate::InstanceOptions::by_hand) no thread is started: what was asked for waits
//! in the same queues.

use crate::database::Database;
use crate::error::DbError;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock, Weak};

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
    running: bool,
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

    /// Asks for the chore to be done for a database. Several askings while one is pending are one.
    pub(crate) fn ask(self: &Arc<Self>, database: &Weak<Database>) {
        let mut state = self.state.lock();
        let pending = state.queue.iter().any(|db| db.ptr_eq(database));
        if pending || state.stopped {
            return;
        }
        state.queue.push_back(Weak::clone(database));
        if !state.running && !self.by_hand {
            let own = Arc::clone(self);
            let started =
                std::thread::Builder::new().name(self.chore.thread().into()).spawn(move || own.run());
            // Without a thread the request stays queued; the next asking tries again.
            state.running = started.is_ok();
        }
        self.asked.notify_one();
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
        loop {
            let database = {
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
            self.attend_to(&database);
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
