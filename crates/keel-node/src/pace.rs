//! The pace of a checkpoint's writes.
//!
//! With a limit (`-k`) they never exceed it. One that nobody waits for follows its [`Plan`] beside that. It stops
//! resting when somebody comes to wait for it (CHECKPOINT, a backup, a seeding) or the database is closed.

use crate::database::Database;
use crate::schedule::{Circumstances, Plan};
use keel_base::Lsn;
use keel_store::base::{PAGE_SIZE, Throttle};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The longest sleep between two looks at the circumstances.
const NAP_MAX: Duration = Duration::from_millis(20);

/// Work that writes nothing goes on for so long and then rests, [`RESTS`] times as long: what a checkpoint leaves to be
/// cleared away in memory is seconds of one processor, which the work beside it is not to miss all at once.
const STRETCH: Duration = Duration::from_millis(2);
const RESTS: u32 = 3;

/// Of one checkpoint.
pub(crate) struct Pace<'a> {
    database: &'a Database,
    /// None when somebody waits for it from the beginning.
    plan: Option<Plan>,
    /// On the monotonic clock.
    began: Duration,
    log_began: Lsn,
    written: AtomicU64,
    /// Bits of an `f64`.
    done: AtomicU64,
    /// When it last rested from work that writes nothing, nanoseconds on the monotonic clock.
    breathed: AtomicU64,
}

impl<'a> Pace<'a> {
    pub(crate) fn new(database: &'a Database, plan: Option<Plan>, began: Duration) -> Pace<'a> {
        Pace {
            database,
            plan,
            began,
            log_began: database.positions().appended,
            written: AtomicU64::new(0),
            done: AtomicU64::new(0f64.to_bits()),
            breathed: AtomicU64::new(0),
        }
    }

    /// Whether nobody waits for it, nor for the memory that it frees.
    fn may_rest(&self) -> bool {
        let instance = self.database.instance();
        self.plan.is_some_and(|plan| instance.delta_bytes() < plan.soft)
            && self.database.checkpoints_waited_for.load(Ordering::Relaxed) == 0
            && !self.database.is_closed()
    }

    /// How long what has been written lets the next write wait, as far as is known now.
    fn rest(&self, written: u64) -> Duration {
        let instance = self.database.instance();
        let elapsed = instance.env().clock.now().saturating_sub(self.began);
        let limit = instance.options().checkpoint_bytes_per_second;
        let limited = if limit == 0 {
            Duration::ZERO
        } else {
            Duration::from_secs_f64(written as f64 / limit as f64).saturating_sub(elapsed)
        };
        let plan = self.plan.filter(|_| self.database.checkpoints_waited_for.load(Ordering::Relaxed) == 0);
        let now = || Circumstances {
            elapsed,
            log: self.database.positions().appended.0.saturating_sub(self.log_began.0),
            deltas: instance.delta_bytes(),
            waiting: instance.checkpointer.waiting(),
        };
        let done = f64::from_bits(self.done.load(Ordering::Relaxed));
        let early = plan.is_some_and(|plan| !plan.may_go_on(done, written, now()));
        if early { limited.max(NAP_MAX) } else { limited }
    }
}

impl Throttle for Pace<'_> {
    fn pace(&self, bytes: u64) -> bool {
        // As they are written: a checkpoint takes minutes, and who watches it wants to see it.
        self.database.counters.checkpoint_pages.fetch_add(bytes / PAGE_SIZE as u64, Ordering::Relaxed);
        let written = self.written.fetch_add(bytes, Ordering::Relaxed) + bytes;
        while !self.database.is_closed() {
            let rest = self.rest(written);
            if rest.is_zero() {
                break;
            }
            std::thread::sleep(rest.min(NAP_MAX));
        }
        true
    }

    fn gone_through(&self, keys: u64, of: u64) {
        self.done.store((keys as f64 / of.max(1) as f64).to_bits(), Ordering::Relaxed);
    }

    fn breathe(&self) {
        let clock = self.database.instance().env().clock.as_ref();
        let now = clock.now();
        let nanos = |at: Duration| u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        let since = Duration::from_nanos(nanos(now).saturating_sub(self.breathed.load(Ordering::Relaxed)));
        if since < STRETCH {
            return;
        }
        // The first stretch began with work of another kind.
        if since < NAP_MAX && self.may_rest() {
            std::thread::sleep(since * RESTS);
        }
        self.breathed.store(nanos(clock.now()), Ordering::Relaxed);
    }
}
