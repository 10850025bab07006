//! Waits of sessions that this layer counts itself: for a turn in a workload group, in WAITFOR, for a message.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The wait of WAITFOR DELAY and TIME.
pub(crate) const WAITFOR: &str = "WAITFOR";

/// How often one kind of wait has been, and for how long, since the instance was started.
#[derive(Debug, Default)]
pub struct Waits {
    count: AtomicU64,
    nanos: AtomicU64,
    nanos_max: AtomicU64,
}

impl Waits {
    /// One is over, of the calling thread's session, for which it counts as well.
    pub(crate) fn note(&self, wait_type: &'static str, waited: Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        keel_base::waits::note(wait_type, nanos);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.nanos_max.fetch_max(nanos, Ordering::Relaxed);
    }

    /// How often, all their nanoseconds, and those of the longest.
    #[must_use]
    pub fn totals(&self) -> [u64; 3] {
        [&self.count, &self.nanos, &self.nanos_max].map(|n| n.load(Ordering::Relaxed))
    }
}
