//! When a database's next checkpoint is due, and how fast one goes that nobody waits for.
//!
//! A checkpoint costs processor and disk. One that bursts and then rests makes commits slow and fast by turns, so one
//! that nobody waits for is spread: it has to be done by the time the next is due, and how near that is, is looked at
//! again and again. A [`Plan`] compares two shares:
//!
//! ```text
//! done:  work done                      of what there was (keys and pages, as the last checkpoint met them)
//! due:   the greatest of   log written since it began      of the log after which the next one comes
//!                          growth of the deltas since      of what fits before writers are slowed
//!                          time since                      of the longest a checkpoint may take
//! ```
//!
//! A load that fills memory and log in seconds so drives its checkpoint to the disk's speed, and when it ends the rest
//! of the checkpoint gives way to whatever comes next.

use keel_base::Lsn;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Part of the way to the next checkpoint, or to the soft mark, that may be used up.
const SPREAD: f64 = 0.8;
/// The longest that a checkpoint is spread over. Log since before it began is kept that long.
const LONGEST: Duration = Duration::from_secs(240);
/// Bytes a second that are written in any case: a small checkpoint is not worth waiting for.
const SLOWEST: u64 = 4 << 20;
/// Bytes that are written at once in any case.
const AT_ONCE: u64 = 4 << 20;

/// Pause after the first failure; each further one doubles it.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// How often it doubles at most: to about a minute.
const PAUSE_DOUBLINGS: u32 = 6;

/// What is remembered from one checkpoint to the next.
pub(crate) struct Schedule {
    /// Where the checkpoint stands that runs, or ran last.
    begun: AtomicU64,
    /// Failures since the last that did not fail.
    failures: AtomicU32,
    /// Not before, on the monotonic clock.
    next_nanos: AtomicU64,
}

impl Schedule {
    /// For a database whose last checkpoint stands at `checkpoint`.
    pub(crate) fn new(checkpoint: Lsn) -> Schedule {
        Schedule {
            begun: AtomicU64::new(checkpoint.0),
            failures: AtomicU32::new(0),
            next_nanos: AtomicU64::new(0),
        }
    }

    /// Bytes of log up to `end` that no checkpoint has taken in hand.
    #[inline]
    pub(crate) fn log_since(&self, end: Lsn) -> u64 {
        end.0.saturating_sub(self.begun.load(Ordering::Acquire))
    }

    /// A checkpoint at `lsn` begins.
    pub(crate) fn begin(&self, lsn: Lsn) {
        self.begun.fetch_max(lsn.0, Ordering::Relaxed);
    }

    /// It failed: the last is still the one at `checkpoint`, and the next waits longer after each failure.
    pub(crate) fn fail(&self, checkpoint: Lsn, now: Duration) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).min(PAUSE_DOUBLINGS);
        let next = now + PAUSE_MIN * (1 << failures);
        self.next_nanos.store(u64::try_from(next.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        // The pause first: from here on the log asks for a checkpoint again.
        self.begun.store(checkpoint.0, Ordering::Release);
    }

    /// It is done.
    pub(crate) fn finish(&self) {
        self.failures.store(0, Ordering::Relaxed);
        self.next_nanos.store(0, Ordering::Relaxed);
    }

    /// Whether one in the background may begin, or the pause after a failure is not over.
    pub(crate) fn may_begin(&self, now: Duration) -> bool {
        now.as_nanos() >= u128::from(self.next_nanos.load(Ordering::Relaxed))
    }
}

/// What a checkpoint's speed is judged by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Circumstances {
    /// Time since it began.
    pub(crate) elapsed: Duration,
    /// Bytes of log since it began.
    pub(crate) log: u64,
    /// Deltas of all databases, in bytes.
    pub(crate) deltas: u64,
    /// Checkpoints of other databases that wait for this one.
    pub(crate) waiting: u32,
}

/// How a checkpoint is spread, made when it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Bytes of log after which the next is due.
    pub(crate) log: u64,
    /// Deltas of all databases when it began.
    pub(crate) deltas: u64,
    /// Where writers are slowed.
    pub(crate) soft: u64,
}

impl Plan {
    /// Share of the work that should be done; more than 1 when it should be over.
    pub(crate) fn due(&self, now: Circumstances) -> f64 {
        let share = |used: u64, of: u64| used as f64 / (of.max(1) as f64 * SPREAD);
        let room = self.soft.saturating_sub(self.deltas);
        let time = now.elapsed.as_secs_f64() * f64::from(1 + now.waiting) / LONGEST.as_secs_f64();
        let memory = if room == 0 { 1.0 } else { share(now.deltas.saturating_sub(self.deltas), room) };
        time.max(memory).max(share(now.log, self.log))
    }

    /// Whether a checkpoint that has done a share of its work and written so many bytes may go on.
    pub(crate) fn may_go_on(&self, done: f64, written: u64, now: Circumstances) -> bool {
        let free = AT_ONCE + (SLOWEST as f64 * now.elapsed.as_secs_f64()) as u64;
        written <= free || now.deltas >= self.soft || done.min(1.0) <= self.due(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;
    const PLAN: Plan = Plan { log: 1000 * MB, deltas: 100 * MB, soft: 200 * MB };
    const BEGUN: Circumstances =
        Circumstances { elapsed: Duration::ZERO, log: 0, deltas: 100 * MB, waiting: 0 };

    #[test]
    fn log_that_a_running_checkpoint_takes_does_not_ask_for_another() {
        let schedule = Schedule::new(Lsn(100));
        assert_eq!(schedule.log_since(Lsn(150)), 50);
        schedule.begin(Lsn(140));
        assert_eq!(schedule.log_since(Lsn(150)), 10);
        schedule.fail(Lsn(100), Duration::ZERO);
        assert_eq!(schedule.log_since(Lsn(150)), 50);
    }

    #[test]
    fn failures_make_the_pauses_longer_until_one_succeeds() {
        let schedule = Schedule::new(Lsn(0));
        let seconds = Duration::from_secs;
        assert!(schedule.may_begin(seconds(0)));
        schedule.fail(Lsn(0), seconds(10));
        assert!(!schedule.may_begin(seconds(10)) && schedule.may_begin(seconds(11)));
        schedule.fail(Lsn(0), seconds(11));
        assert!(!schedule.may_begin(seconds(12)) && schedule.may_begin(seconds(13)));
        (0..40).for_each(|_| schedule.fail(Lsn(0), seconds(20)));
        assert!(!schedule.may_begin(seconds(83)) && schedule.may_begin(seconds(84)));
        schedule.finish();
        assert!(schedule.may_begin(seconds(20)));
    }

    #[test]
    fn whatever_runs_out_first_drives_it() {
        let due = |now: Circumstances| (PLAN.due(now) * 1000.0).round();
        assert_eq!(due(BEGUN), 0.0);
        assert_eq!(due(Circumstances { log: 400 * MB, ..BEGUN }), 500.0);
        assert_eq!(due(Circumstances { log: 400 * MB, deltas: 160 * MB, ..BEGUN }), 750.0);
        assert_eq!(due(Circumstances { elapsed: LONGEST / 4, deltas: 110 * MB, ..BEGUN }), 250.0);
        assert_eq!(due(Circumstances { elapsed: LONGEST / 4, waiting: 2, ..BEGUN }), 750.0);
        // Eviction elsewhere made room.
        assert_eq!(due(Circumstances { deltas: 10 * MB, ..BEGUN }), 0.0);
    }

    #[test]
    fn it_rests_until_its_share_is_due() {
        let quiet = Circumstances { elapsed: Duration::from_secs(10), ..BEGUN };
        assert!(PLAN.may_go_on(0.01, 500 * MB, quiet));
        assert!(!PLAN.may_go_on(0.9, 500 * MB, quiet));
        assert!(PLAN.may_go_on(0.9, 500 * MB, Circumstances { log: 900 * MB, ..quiet }));
        // Past the soft mark nothing holds it back, and a small one is done at once.
        assert!(PLAN.may_go_on(0.9, 500 * MB, Circumstances { deltas: 200 * MB, ..quiet }));
        assert!(PLAN.may_go_on(0.9, 40 * MB, quiet));
        assert!(PLAN.may_go_on(1.0, 3 * MB, BEGUN));
        assert!(Plan { deltas: 300 * MB, ..PLAN }.may_go_on(0.9, 500 * MB, BEGUN));
    }

    #[test]
    fn more_keys_than_at_the_beginning_are_no_reason_to_wait_longer() {
        let late = Circumstances { elapsed: LONGEST, ..BEGUN };
        assert!(PLAN.may_go_on(1.3, 5000 * MB, late));
    }
}
