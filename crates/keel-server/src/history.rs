//! The thread that has old versions of rows ([`keel_sql::history_cleanup`]) and old changes ([`keel_sql::change_cleanup`],
//! [`keel_sql::capture`]) removed, now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Result;
use keel_sql::Engine;
use parking_lot::{Condvar, Mutex};

use crate::errorlog::ErrorLog;

/// How long it rests. What is too old is not shown meanwhile: it only takes room.
const REST: Duration = Duration::from_secs(600);

#[derive(Default)]
struct State {
    stopping: AtomicBool,
    asleep: Mutex<()>,
    wake: Condvar,
}

/// See the module.
pub struct HistoryCleaner {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl HistoryCleaner {
    /// Starts the thread; it rests first.
    pub fn start(engine: &Arc<Engine>, log: &Arc<ErrorLog>) -> Result<HistoryCleaner> {
        let state = Arc::new(State::default());
        let (engine, log, its) = (Arc::clone(engine), Arc::clone(log), Arc::clone(&state));
        let thread = std::thread::Builder::new().name("history cleaner".into());
        let thread = thread.spawn(move || its.run(&engine, &log))?;
        Ok(HistoryCleaner { state, thread: Some(thread) })
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

    fn run(&self, engine: &Arc<Engine>, log: &ErrorLog) {
        loop {
            {
                let mut asleep = self.asleep.lock();
                if !self.is_stopping() {
                    self.wake.wait_for(&mut asleep, REST);
                }
            }
            if self.is_stopping() {
                return;
            }
            if let Err(e) = keel_sql::history_cleanup::clean(engine, &|| self.is_stopping()) {
                let text =
                    format!("Old versions of rows were not removed: error {}, {}", e.number, e.message);
                log.entry("History", &text);
            }
            if let Err(e) = keel_sql::change_cleanup::clean(engine, &|| self.is_stopping()) {
                let text =
                    format!("Old changes of tables were not removed: error {}, {}", e.number, e.message);
                log.entry("History", &text);
            }
            if let Err(e) = keel_sql::capture::clean(engine, &|| self.is_stopping()) {
                let text =
                    format!("Old captured changes were not removed: error {}, {}", e.number, e.message);
                log.entry("History", &text);
            }
        }
    }
}
