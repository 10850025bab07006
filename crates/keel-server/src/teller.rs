//! The thread that has captured changes told ([`keel_sql::capture`]): when a commit rings, and every second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use keel_sql::Engine;

use crate::errorlog::ErrorLog;

/// How long it waits for a ring. Who has become primary finds what waits within this time.
const REST: Duration = Duration::from_secs(1);
/// How long its end is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// See the module.
pub struct Teller {
    engine: Arc<Engine>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Teller {
    /// Starts the thread.
    pub fn start(engine: &Arc<Engine>, log: &Arc<ErrorLog>) -> Result<Teller> {
        let stopping = Arc::new(AtomicBool::new(false));
        let (engine, its, log, stop) =
            (Arc::clone(engine), Arc::clone(engine), Arc::clone(log), Arc::clone(&stopping));
        let thread = std::thread::Builder::new().name("change teller".into());
        let thread = thread.spawn(move || run(&its, &log, &stop))?;
        Ok(Teller { engine, stopping, thread: Some(thread) })
    }

    /// Ends it and waits until it has ended, or until it is clear that it waits for others: for replicas that do not answer.
    pub fn stop(mut self) {
        self.stopping.store(true, Ordering::Release);
        self.engine.capture_bell.ring();
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

fn run(engine: &Arc<Engine>, log: &ErrorLog, stopping: &AtomicBool) {
    let stopping = || stopping.load(Ordering::Acquire);
    let mut said = 0;
    while !stopping() {
        engine.capture_bell.wait(REST);
        match keel_sql::capture::tell_all(engine, &stopping) {
            // The same every second is said once.
            Err(e) if e.number != said => {
                said = e.number;
                let text = format!("Captured changes were not told: error {}, {}", e.number, e.message);
                log.entry("Capture", &text);
            }
            Err(_) => {}
            Ok(()) => said = 0,
        }
    }
}
