//! The threads of Service Broker ([`keel_sql::broker`]): one that has the turns, and one for each procedure that a queue has started.
//!
//! The first works when somebody rings, when something is due, and once a second looks whether it has become the primary of something.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use keel_sql::Engine;
use keel_sql::broker::Monitor;

use crate::errorlog::ErrorLog;

/// How long it rests at most. Who has become primary finds what waits within this time.
const REST: Duration = Duration::from_secs(1);
/// How long the end of what runs is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Who says in the error log what went wrong.
const SOURCE: &str = "Broker";

/// See the module.
pub struct Courier {
    engine: Arc<Engine>,
    stopping: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Courier {
    /// Starts the thread. `stack` is that of a session's thread, in bytes.
    pub fn start(engine: &Arc<Engine>, log: &Arc<ErrorLog>, stack: usize) -> Result<Courier> {
        let stopping = Arc::new(AtomicBool::new(false));
        let (its, log, stop) = (Arc::clone(engine), Arc::clone(log), Arc::clone(&stopping));
        let thread = std::thread::Builder::new().name("broker".into()).stack_size(stack);
        let thread = thread.spawn(move || run(&its, &log, &stop, stack))?;
        Ok(Courier { engine: Arc::clone(engine), stopping, thread })
    }

    /// Ends it and the procedures that run, and waits until they have ended, or until it is clear that they do not.
    pub fn stop(self) {
        self.stopping.store(true, Ordering::Release);
        self.engine.broker.bell.ring();
        let since = Instant::now();
        while (!self.thread.is_finished() || self.engine.broker.running() > 0) && since.elapsed() < PATIENCE {
            self.engine.broker.stop();
            std::thread::sleep(Duration::from_millis(5));
        }
        if self.thread.is_finished() {
            // It says in the log what goes wrong.
            let _ = self.thread.join();
        }
    }
}

fn run(engine: &Arc<Engine>, log: &ErrorLog, stopping: &AtomicBool, stack: usize) {
    let mut monitor = Monitor::new(engine);
    let mut said = String::new();
    loop {
        engine.broker.bell.wait(monitor.rest().map_or(REST, |rest| rest.min(REST)));
        if stopping.load(Ordering::Acquire) {
            return;
        }
        let (activations, failed) = monitor.turn();
        for activation in activations {
            let thread = std::thread::Builder::new().name("activated".into()).stack_size(stack);
            if let Err(e) = thread.spawn(move || activation.execute()) {
                log.entry(SOURCE, &format!("A procedure could not be started, for want of a thread: {e}."));
            }
        }
        for e in failed {
            let text = format!("Messages were not looked after: error {}, {}", e.number, e.message);
            // The same over and over is said once.
            if text != said {
                log.entry(SOURCE, &text);
                said = text;
            }
        }
    }
}
