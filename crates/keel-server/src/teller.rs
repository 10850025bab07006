//! The threads that follow commits: one that has captured changes told ([`keel_sql::capture`]), one that has changed rows indexed
//! ([`keel_sql::full_text`]). Each works when a commit rings, and every second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use keel_sql::Engine;
use keel_sql::capture::Bell;
use keel_types::error::Result as SqlResult;

use crate::errorlog::ErrorLog;

/// How long it waits for a ring. Who has become primary finds what waits within this time.
const REST: Duration = Duration::from_secs(1);
/// How long its end is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What such a thread does.
pub struct Chore {
    thread: &'static str,
    bell: fn(&Engine) -> &Bell,
    /// Does all that waits.
    work: fn(&Arc<Engine>, &dyn Fn() -> bool) -> SqlResult<()>,
    /// Who says in the error log what went wrong, and what that was.
    source: &'static str,
    failed: &'static str,
}

/// Tells captured changes.
pub static TELLING: Chore = Chore {
    thread: "change teller",
    bell: |engine| &engine.capture_bell,
    work: |engine, stopping| keel_sql::capture::tell_all(engine, stopping),
    source: "Capture",
    failed: "Captured changes were not told",
};

/// Indexes rows for full-text search.
pub static CRAWLING: Chore = Chore {
    thread: "text crawler",
    bell: |engine| &engine.full_text_bell,
    work: |engine, stopping| keel_sql::full_text::crawl_all(engine, stopping),
    source: "Full-text",
    failed: "Changed rows were not indexed",
};

/// See the module.
pub struct Teller {
    engine: Arc<Engine>,
    chore: &'static Chore,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Teller {
    /// Starts the thread.
    pub fn start(chore: &'static Chore, engine: &Arc<Engine>, log: &Arc<ErrorLog>) -> Result<Teller> {
        let stopping = Arc::new(AtomicBool::new(false));
        let (engine, its, log, stop) =
            (Arc::clone(engine), Arc::clone(engine), Arc::clone(log), Arc::clone(&stopping));
        let thread = std::thread::Builder::new().name(chore.thread.into());
        let thread = thread.spawn(move || run(chore, &its, &log, &stop))?;
        Ok(Teller { engine, chore, stopping, thread: Some(thread) })
    }

    /// Ends it and waits until it has ended, or until it is clear that it waits for others: for replicas that do not answer.
    pub fn stop(mut self) {
        self.stopping.store(true, Ordering::Release);
        (self.chore.bell)(&self.engine).ring();
        let Some(thread) = self.thread.take() else { return };
        let since = Instant::now();
        while !thread.is_finished() && since.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        if thread.is_finished() {
            // It says in the log what goes wrong.
            let _ = thread.join();
        }
    }
}

fn run(chore: &Chore, engine: &Arc<Engine>, log: &ErrorLog, stopping: &AtomicBool) {
    let stopping = || stopping.load(Ordering::Acquire);
    let mut said = 0;
    while !stopping() {
        (chore.bell)(engine).wait(REST);
        match (chore.work)(engine, &stopping) {
            // The same every second is said once.
            Err(e) if e.number != said => {
                said = e.number;
                let text = format!("{}: error {}, {}", chore.failed, e.number, e.message);
                log.entry(chore.source, &text);
            }
            Err(_) => {}
            Ok(()) => said = 0,
        }
    }
}
