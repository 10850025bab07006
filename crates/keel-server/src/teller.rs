//! The threads that follow commits: one that has captured changes told ([`keel_sql::capture`]), one that has changed rows indexed
//! ([`keel_sql::full_text`]), and two for which nobody rings: one gathers what statements cost
//! ([`keel_sql::query_store`]), one makes durable what audits have recorded ([`keel_sql::audit`]). Each works every second, and at a ring.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use keel_sql::Engine;
use keel_sql::capture::Bell;
use keel_types::SqlError;

use crate::errorlog::ErrorLog;

/// How long it waits for a ring. Who has become primary finds what waits within this time.
const REST: Duration = Duration::from_secs(1);
/// How long the same failure is not said again.
const AGAIN: Duration = Duration::from_secs(60 * 60);
/// So many different ones are said in that time.
const SAID_MAX: usize = 1000;
/// How long its end is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What such a thread does.
pub struct Chore {
    thread: &'static str,
    bell: fn(&Engine) -> &Bell,
    /// Does what waits, or some of it and rings again; says what went wrong.
    work: fn(&Arc<Engine>, &dyn Fn() -> bool) -> Vec<SqlError>,
    /// Who says in the error log what went wrong, and what that was.
    source: &'static str,
    failed: &'static str,
}

/// Tells captured changes.
pub static TELLING: Chore = Chore {
    thread: "change teller",
    bell: |engine| &engine.capture_bell,
    work: |engine, stopping| {
        keel_sql::capture::tell_all(engine, stopping).err().map(|e| *e).into_iter().collect()
    },
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

/// Gathers what statements cost, for Query Stores.
pub static GATHERING: Chore = Chore {
    thread: "query gatherer",
    bell: |engine| &engine.query_store_bell,
    work: |engine, stopping| keel_sql::query_store::rounds(engine, stopping),
    source: "Query Store",
    failed: "The Query Store was not written",
};

/// Makes durable what audits have recorded.
pub static SETTLING: Chore = Chore {
    thread: "audit settler",
    bell: |engine| &engine.audit_bell,
    work: |engine, _| engine.settle_due_audits(),
    source: "Server",
    failed: "Records of audits may be lost",
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
    let mut said = Said::default();
    while !stopping() {
        (chore.bell)(engine).wait(REST);
        let failed = guarded(|| (chore.work)(engine, &stopping));
        for text in failed.into_iter().map(|what| format!("{}: {what}", chore.failed)) {
            if said.is_new(&text, Instant::now()) {
                log.entry(chore.source, &text);
            }
        }
    }
}

/// Does work, and puts what went wrong in words. A panic is one of these things, and not the end of the thread.
fn guarded(work: impl FnOnce() -> Vec<SqlError>) -> Vec<String> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(failed) => failed.iter().map(|e| format!("error {}, {}", e.number, e.message)).collect(),
        Err(panic) => {
            vec![format!("a system assertion check has failed: {}", keel_base::panics::text(&*panic))]
        }
    }
}

/// What was said, and when: the same every second is said once an hour.
#[derive(Default)]
struct Said(HashMap<String, Instant>);

impl Said {
    /// Whether a text is to be said at a time.
    fn is_new(&mut self, text: &str, now: Instant) -> bool {
        self.0.retain(|_, said| now.saturating_duration_since(*said) < AGAIN);
        let new = self.0.len() < SAID_MAX && !self.0.contains_key(text);
        if new {
            self.0.insert(text.to_owned(), now);
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_said() {
        assert_eq!(guarded(|| panic!("no {}", "way")), ["a system assertion check has failed: no way"]);
        let failed = || vec![*SqlError::new(824, 24, 2, "torn"), *SqlError::new(1222, 16, 45, "late")];
        assert_eq!(guarded(failed), ["error 824, torn", "error 1222, late"]);
        assert!(guarded(Vec::new).is_empty());
    }

    #[test]
    fn the_same_is_said_once_an_hour() {
        let (mut said, start) = (Said::default(), Instant::now());
        let mut at = |text: &str, seconds: u64| said.is_new(text, start + Duration::from_secs(seconds));
        assert!(at("one", 0));
        assert!(at("other", 1));
        assert!(!at("one", 2) && !at("other", 3599));
        assert!(at("one", 3600));
        assert!(!at("other", 3600) && at("other", 3601));
    }
}
