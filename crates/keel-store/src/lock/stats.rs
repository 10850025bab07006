//! How often and how long requests waited, per mode, for `sys.dm_os_wait_stats`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Mode;

#[derive(Default)]
struct Counter {
    waits: AtomicU64,
    nanos: AtomicU64,
    nanos_max: AtomicU64,
}

/// Counters of one lock manager since its start.
#[derive(Default)]
pub(super) struct Stats {
    waits: [Counter; Mode::ALL.len()],
    pub(super) deadlocks: AtomicU64,
    pub(super) timeouts: AtomicU64,
}

/// Waits for locks of one mode.
#[derive(Clone, Copy, Debug)]
pub struct WaitStat {
    /// The mode asked for.
    pub mode: Mode,
    /// Number of waits.
    pub waits: u64,
    /// Their total length.
    pub total: Duration,
    /// The longest.
    pub longest: Duration,
}

impl Stats {
    pub(super) fn note(&self, mode: Mode, waited: Duration) {
        let counter = &self.waits[mode as usize];
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        counter.waits.fetch_add(1, Ordering::Relaxed);
        counter.nanos.fetch_add(nanos, Ordering::Relaxed);
        counter.nanos_max.fetch_max(nanos, Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> Vec<WaitStat> {
        let read = |mode: &Mode| {
            let counter = &self.waits[*mode as usize];
            WaitStat {
                mode: *mode,
                waits: counter.waits.load(Ordering::Relaxed),
                total: Duration::from_nanos(counter.nanos.load(Ordering::Relaxed)),
                longest: Duration::from_nanos(counter.nanos_max.load(Ordering::Relaxed)),
            }
        };
        Mode::ALL.iter().map(read).collect()
    }
}
