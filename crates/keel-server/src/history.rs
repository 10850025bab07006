//! Threads that come round now and then: one that has old versions of rows ([`keel_sql::history_cleanup`]) and old changes
//! ([`keel_sql::change_cleanup`], [`keel_sql::capture`]) removed, one that has distributed transactions decided
//! ([`keel_sql::distributed`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use keel_sql::Engine;
use parking_lot::{Condvar, Mutex};

use crate::errorlog::ErrorLog;

/// How long the cleaner rests. What is too old is not shown meanwhile: it only takes room.
const CLEANING_REST: Duration = Duration::from_secs(600);
/// How long who decides rests: rows of what is in doubt are locked meanwhile.
const DECIDING_REST: Duration = Duration::from_millis(500);

#[derive(Default)]
struct State {
    stopping: AtomicBool,
    asleep: Mutex<()>,
    wake: Condvar,
}

/// A thread that comes round. See the module.
pub struct Rounds {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl Rounds {
    /// The thread that removes what is too old; it rests first.
    pub fn cleaning(engine: &Arc<Engine>, log: &Arc<ErrorLog>) -> Result<Rounds> {
        let (engine, log) = (Arc::clone(engine), Arc::clone(log));
        Rounds::start("history cleaner", CLEANING_REST, move |state| clean(&engine, &log, state))
    }

    /// The thread that has distributed transactions decided.
    pub fn deciding(engine: &Arc<Engine>) -> Result<Rounds> {
        let engine = Arc::clone(engine);
        Rounds::start("transaction resolver", DECIDING_REST, move |_| engine.settle_distributed())
    }

    /// The thread that tells other servers what has become of transactions they have a part of: in a thread of its own, because one that is
    /// silent keeps it waiting.
    pub fn telling(engine: &Arc<Engine>) -> Result<Rounds> {
        let engine = Arc::clone(engine);
        Rounds::start("branch resolver", DECIDING_REST, move |_| engine.settle_remote_branches())
    }

    fn start(name: &str, rest: Duration, round: impl Fn(&State) + Send + 'static) -> Result<Rounds> {
        let state = Arc::new(State::default());
        let its = Arc::clone(&state);
        let thread = std::thread::Builder::new().name(name.into());
        let thread = thread.spawn(move || {
            while its.rest(rest) {
                round(&its);
            }
        })?;
        Ok(Rounds { state, thread: Some(thread) })
    }

    /// Ends it and waits until it has ended.
    pub fn stop(mut self) {
        self.state.stopping.store(true, Ordering::Release);
        drop(self.state.asleep.lock());
        self.state.wake.notify_all();
        if let Some(thread) = self.thread.take() {
            // It says in the log what goes wrong.
            let _ = thread.join();
        }
    }
}

impl State {
    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Rests; false when it is to end.
    fn rest(&self, time: Duration) -> bool {
        let mut asleep = self.asleep.lock();
        if !self.is_stopping() {
            self.wake.wait_for(&mut asleep, time);
        }
        !self.is_stopping()
    }
}

fn clean(engine: &Arc<Engine>, log: &ErrorLog, state: &State) {
    let stopping = || state.is_stopping();
    let told = |what: &str, done: keel_types::error::Result<()>| {
        if let Err(e) = done {
            let text = format!("Old {what} were not removed: error {}, {}", e.number, e.message);
            log.entry("History", &text);
        }
    };
    told("versions of rows", keel_sql::history_cleanup::clean(engine, &stopping).map(|_| ()));
    told("changes of tables", keel_sql::change_cleanup::clean(engine, &stopping).map(|_| ()));
    told("captured changes", keel_sql::capture::clean(engine, &stopping).map(|_| ()));
}
