//! When a database's next checkpoint is due, and how fast it writes.
//!
//! A checkpoint costs processor and disk. One that bursts and then rests makes commits slow and fast by turns, so one
//! that nobody waits for is spread over most of the time until the next will be due, taken to be as long as the time
//! since the last began. How much it will write is told by what the last one wrote for its delta.
//!
//! ```text
//! began ──────── interval ────────► due: begins ──── spread ────► ends     next due
//!                delta grows                    the next delta grows meanwhile
//! ```
//!
//! Meanwhile the next delta grows beside the one being merged: the spread ends before both together reach the soft
//! mark of the memory, where writers are slowed.

use keel_base::Lsn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Most of the interval that a checkpoint is spread over; the rest is room for what the estimate missed.
const SPREAD_MAX: f64 = 0.9;
/// Least of it, however near memory is to the soft mark.
const SPREAD_MIN: f64 = 0.2;
/// Part of the way to the soft mark that may be used up.
const SOFT_SHARE: f64 = 0.8;
/// Bytes of pages per byte of delta that are expected before anything is known: a changed row costs a page at worst.
const WRITTEN_AT_FIRST: f64 = 16.0;
/// An interval shorter than this says nothing.
const INTERVAL_MIN: Duration = Duration::from_millis(1);

/// What a rate is chosen by, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circumstances {
    /// Delta of this database.
    pub(crate) delta: u64,
    /// Deltas of all databases.
    pub(crate) all_deltas: u64,
    /// Where writers are slowed.
    pub(crate) soft: u64,
    /// The base tree.
    pub(crate) base: u64,
}

/// What is remembered from one checkpoint to the next.
pub(crate) struct Schedule {
    /// Where the checkpoint stands that runs, or ran last.
    begun: AtomicU64,
    /// When it began, on the monotonic clock.
    began_nanos: AtomicU64,
    /// Bits of an `f64`: bytes of pages written per byte of delta.
    written_per_byte: AtomicU64,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Schedule {
    /// For a database opened at `now` whose last checkpoint stands at `checkpoint`.
    pub(crate) fn new(checkpoint: Lsn, now: Duration) -> Schedule {
        Schedule {
            begun: AtomicU64::new(checkpoint.0),
            began_nanos: AtomicU64::new(nanos(now)),
            written_per_byte: AtomicU64::new(WRITTEN_AT_FIRST.to_bits()),
        }
    }

    /// Bytes of log up to `end` that no checkpoint has taken in hand.
    #[inline]
    pub(crate) fn log_since(&self, end: Lsn) -> u64 {
        end.0.saturating_sub(self.begun.load(Ordering::Relaxed))
    }

    /// A checkpoint at `lsn` begins; returns the time since the one before began.
    pub(crate) fn begin(&self, lsn: Lsn, now: Duration) -> Duration {
        self.begun.fetch_max(lsn.0, Ordering::Relaxed);
        let last = Duration::from_nanos(self.began_nanos.swap(nanos(now), Ordering::Relaxed));
        now.saturating_sub(last)
    }

    /// It merged a delta of so many bytes, and wrote so many.
    pub(crate) fn finish(&self, delta: u64, written: u64) {
        if delta > 0 {
            let ratio = written as f64 / delta as f64;
            self.written_per_byte.store(ratio.to_bits(), Ordering::Relaxed);
        }
    }

    /// It failed: the last is still the one at `checkpoint`.
    pub(crate) fn fail(&self, checkpoint: Lsn) {
        self.begun.store(checkpoint.0, Ordering::Relaxed);
    }

    /// Bytes a second for a checkpoint in the background, given the time between this one's beginning and the last's.
    pub(crate) fn rate(&self, interval: Duration, now: Circumstances) -> u64 {
        let ratio = f64::from_bits(self.written_per_byte.load(Ordering::Relaxed));
        // At worst every page is written anew.
        let written = (now.delta as f64 * ratio).min((now.base + now.delta) as f64);
        let room = now.soft.saturating_sub(now.all_deltas) as f64 / now.delta.max(1) as f64;
        let spread = (room * SOFT_SHARE).clamp(SPREAD_MIN, SPREAD_MAX);
        let seconds = interval.max(INTERVAL_MIN).as_secs_f64() * spread;
        (written / seconds).max(1.0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn far_from_full(delta: u64) -> Circumstances {
        Circumstances { delta, all_deltas: delta, soft: 1000 * MB, base: 1000 * MB }
    }

    #[test]
    fn log_that_a_running_checkpoint_takes_does_not_ask_for_another() {
        let schedule = Schedule::new(Lsn(100), Duration::ZERO);
        assert_eq!(schedule.log_since(Lsn(150)), 50);
        assert_eq!(schedule.begin(Lsn(140), Duration::from_secs(7)), Duration::from_secs(7));
        assert_eq!(schedule.log_since(Lsn(150)), 10);
        schedule.fail(Lsn(100));
        assert_eq!(schedule.log_since(Lsn(150)), 50);
    }

    #[test]
    fn what_the_last_one_wrote_is_spread_over_the_interval() {
        let schedule = Schedule::new(Lsn(0), Duration::ZERO);
        let ten_seconds = Duration::from_secs(10);
        assert_eq!(schedule.rate(ten_seconds, far_from_full(9 * MB)), 16 * MB);
        schedule.finish(9 * MB, 18 * MB);
        assert_eq!(schedule.rate(ten_seconds, far_from_full(9 * MB)), 2 * MB);
        // Never more than the file and the delta.
        schedule.finish(MB, 1000 * MB);
        let small = Circumstances { base: 9 * MB, ..far_from_full(9 * MB) };
        assert_eq!(schedule.rate(ten_seconds, small), 2 * MB);
    }

    #[test]
    fn it_ends_before_the_next_delta_fills_the_memory() {
        let schedule = Schedule::new(Lsn(0), Duration::ZERO);
        schedule.finish(MB, MB);
        let ten_seconds = Duration::from_secs(10);
        let full =
            |all: u64| Circumstances { delta: 100 * MB, all_deltas: all, soft: 200 * MB, base: 1000 * MB };
        // As much again fits before the soft mark: 8 of 10 seconds.
        assert_eq!(schedule.rate(ten_seconds, full(100 * MB)), 100 * MB / 8);
        assert_eq!(schedule.rate(ten_seconds, full(150 * MB)), 100 * MB / 4);
        assert_eq!(schedule.rate(ten_seconds, full(300 * MB)), 100 * MB / 2);
    }
}
