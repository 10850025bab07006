//! Memory of the deltas: when to checkpoint, when to slow down, when to refuse.
//!
//! ```text
//! 0 ────────────── checkpoint ───────── soft ──────────── hard
//!    nothing        checkpoint the       writers wait       writes fail
//!                   fullest database     50 us … 20 ms
//! ```
//! The delay grows with the square of the way from soft to hard, so writers feel a slope and no step. It is taken before
//! a transaction's first write, when it holds no row locks that others wait for, and every so many writes after that.
//!
//! A transaction that alone takes an eighth of the budget is refused a little before the hard mark: the one that is too
//! large fails, not whoever comes next.
//!
//! A promotion applies what log is left whatever memory that takes: it may end far behind the hard mark. What redo took past
//! the soft mark is therefore **lent**: the marks for writers stand that much higher, so that the new primary serves at once
//! instead of refusing until a checkpoint is through. The loan shrinks with the memory in use and never grows by itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const DELAY_MIN: Duration = Duration::from_micros(50);
const DELAY_MAX: Duration = Duration::from_millis(20);

/// The marks, and counters of how often they were met.
#[derive(Debug)]
pub struct Pressure {
    /// Bytes that the marks are parts of.
    budget: AtomicU64,
    /// Bytes by which soft and hard are passed without a word, see the module.
    lent: AtomicU64,
    delays: AtomicU64,
    delay_nanos: AtomicU64,
    refusals: AtomicU64,
}

/// What a writer must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Free,
    /// Go on; somebody should start a checkpoint.
    Checkpoint,
    /// Wait this long first.
    Delay(Duration),
    /// Give up.
    Refuse,
}

impl Pressure {
    /// Marks for a delta budget.
    pub fn new(budget_bytes: u64) -> Pressure {
        Pressure {
            budget: AtomicU64::new(budget_bytes),
            lent: AtomicU64::new(0),
            delays: AtomicU64::new(0),
            delay_nanos: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
        }
    }

    /// Another budget. Of a smaller one the deltas may hold more than they should; what is past its soft mark with `used` bytes is
    /// [lent](Pressure::lend).
    pub fn set_budget(&self, budget_bytes: u64, used: u64) {
        self.budget.store(budget_bytes, Ordering::Relaxed);
        self.lend(used);
    }

    /// Past so many bytes a checkpoint begins. As much again fits before writers are slowed, so that it has the time of a whole
    /// interval.
    #[inline]
    pub fn checkpoint_bytes(&self) -> u64 {
        self.hard_bytes() / 5 * 2
    }

    /// Past so many bytes writers are slowed.
    #[inline]
    pub fn soft_bytes(&self) -> u64 {
        self.hard_bytes() / 4 * 3
    }

    /// Past so many bytes writes are refused.
    #[inline]
    pub fn hard_bytes(&self) -> u64 {
        self.budget.load(Ordering::Relaxed)
    }

    /// Redo that a promotion waits for has filled the deltas to `used` bytes.
    pub fn lend(&self, used: u64) {
        self.lent.fetch_max(used.saturating_sub(self.soft_bytes()), Ordering::Relaxed);
    }

    /// What of `used` bytes is lent; what was given back before is lent no more.
    #[inline]
    fn lent(&self, used: u64) -> u64 {
        let lent = self.lent.load(Ordering::Relaxed);
        if lent == 0 {
            return 0;
        }
        let over = used.saturating_sub(self.soft_bytes());
        lent.min(self.lent.fetch_min(over, Ordering::Relaxed)).min(over)
    }

    /// What a writer must do when the deltas hold `used` bytes, `own` of them its own.
    pub fn judge(&self, used: u64, own: u64) -> Verdict {
        let used = used - self.lent(used);
        let (soft, hard) = (self.soft_bytes(), self.hard_bytes());
        let large = own > hard / 8;
        let limit = if large { hard - (hard - soft) / 4 } else { hard };
        if used >= limit {
            self.refusals.fetch_add(1, Ordering::Relaxed);
            return Verdict::Refuse;
        }
        if used <= soft {
            return if used > self.checkpoint_bytes() { Verdict::Checkpoint } else { Verdict::Free };
        }
        let way = (used - soft) as f64 / (hard - soft).max(1) as f64;
        let delay = DELAY_MIN + (DELAY_MAX - DELAY_MIN).mul_f64(way * way);
        self.delays.fetch_add(1, Ordering::Relaxed);
        self.delay_nanos.fetch_add(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        Verdict::Delay(delay)
    }

    /// How often writers were delayed, for how many nanoseconds in all, and how often refused.
    pub fn counts(&self) -> (u64, u64, u64) {
        let get = |a: &AtomicU64| a.load(Ordering::Relaxed);
        (get(&self.delays), get(&self.delay_nanos), get(&self.refusals))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_has_no_step() {
        let pressure = Pressure::new(1000);
        assert_eq!(pressure.judge(400, 0), Verdict::Free);
        assert_eq!(pressure.judge(401, 0), Verdict::Checkpoint);
        let mut last = Duration::ZERO;
        for used in 751..1000 {
            let Verdict::Delay(delay) = pressure.judge(used, 125) else {
                panic!("{used} is past the soft mark")
            };
            assert!(delay >= last && delay <= DELAY_MAX);
            assert!(delay - last < Duration::from_micros(400), "a step at {used}");
            last = delay;
        }
        assert_eq!(pressure.judge(1000, 0), Verdict::Refuse);
        assert_eq!(pressure.judge(950, 126), Verdict::Refuse);
        assert_eq!(pressure.counts().2, 2);
    }

    #[test]
    fn what_a_promotion_took_is_lent_until_it_is_given_back() {
        let pressure = Pressure::new(1000);
        pressure.lend(3000);
        assert_eq!(pressure.judge(3000, 0), Verdict::Checkpoint);
        assert!(matches!(pressure.judge(3249, 0), Verdict::Delay(_)), "the slope begins there");
        assert_eq!(pressure.judge(3250, 0), Verdict::Refuse);
        assert_eq!(pressure.judge(2000, 0), Verdict::Checkpoint);
        assert_eq!(pressure.judge(2250, 0), Verdict::Refuse, "what was given back is not lent again");
        assert_eq!(pressure.judge(100, 0), Verdict::Free);
        assert_eq!(pressure.judge(1000, 0), Verdict::Refuse);
    }

    #[test]
    fn a_smaller_budget_lends_what_is_in_use() {
        let pressure = Pressure::new(1000);
        pressure.set_budget(400, 700);
        assert_eq!(pressure.judge(700, 0), Verdict::Checkpoint);
        assert_eq!(pressure.judge(800, 0), Verdict::Refuse);
        assert_eq!(pressure.judge(100, 0), Verdict::Free);
        assert_eq!(pressure.judge(400, 0), Verdict::Refuse, "from there on it is the new budget's");
        pressure.set_budget(1000, 100);
        assert_eq!(pressure.judge(400, 0), Verdict::Free);
    }
}
