//! Point selects by several clients for a while.

use crate::progress::Progress;
use crate::target::Server;
use anyhow::{Result, anyhow};
use keel_workload::hist::Histogram;
use keel_workload::point::{Reader, setup};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a run gave.
pub struct Outcome {
    /// Latencies of the measured selects.
    pub latency: Histogram,
    /// Measured seconds.
    pub seconds: f64,
}

impl Outcome {
    /// Selects in a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.latency.count() as f64 / self.seconds
    }
}

/// Fills a table of `rows` rows and reads it with `clients` sessions.
///
/// # Errors
/// What the server says; a wrong row ends the run.
pub fn run(
    server: &dyn Server,
    rows: i64,
    clients: u64,
    warm_up: Duration,
    duration: Duration,
    progress: &Progress,
) -> Result<Outcome> {
    let name = server.name();
    progress.say(&format!("{name}: filling a table"));
    setup(&mut *server.connect()?, rows)?;
    let (measuring, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..clients)
            .map(|n| {
                let (measuring, stop) = (&measuring, &stop);
                scope.spawn(move || -> Result<Histogram> {
                    let mut connection = server.connect()?;
                    let mut reader = Reader::new(&mut *connection, rows, n)?;
                    let mut latency = Histogram::default();
                    while !stop.load(Ordering::Relaxed) {
                        let started = Instant::now();
                        reader.step(&mut *connection)?;
                        if measuring.load(Ordering::Relaxed) {
                            latency.record(started.elapsed().as_micros() as u64);
                        }
                    }
                    Ok(latency)
                })
            })
            .collect();
        progress.wait(&format!("{name}: warming up"), warm_up);
        measuring.store(true, Ordering::Relaxed);
        let started = Instant::now();
        progress.wait(&format!("{name}: point selects"), duration);
        stop.store(true, Ordering::Relaxed);
        let seconds = started.elapsed().as_secs_f64();
        let mut latency = Histogram::default();
        for handle in handles {
            latency.merge(&handle.join().map_err(|_| anyhow!("a client panicked"))??);
        }
        Ok(Outcome { latency, seconds })
    })
}
