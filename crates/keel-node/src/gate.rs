//! The commit gate: which commits may be acknowledged and seen.
//!
//! ```text
//! commit LSN ─► log hardened here ─► others of the synchronized set hardened it (the cap) ─► acknowledged, visible
//! ```
//! A database that stands alone, or whose group waits for nobody, has no cap, and the gate costs it two loads of words that
//! hardly ever change. Otherwise a committer sleeps until the cap reaches its LSN, and is woken exactly then.
//!
//! Each stretch of time as a writer is a **term**. Who committed in a term that is over gets the answer of that term: done,
//! if the cap had reached it, else in doubt ([`TxnError::InDoubt`]); never the answer of a later one, whose log may be
//! another at the same position.
//!
//! A commit with delayed durability goes around the gate: it is **told** at once, and seen. Snapshots are taken there or above, while
//! checkpoints, backups and other copies know of nothing that has not come through the gate. The end of a term ends that, too, and
//! so does a log that fails.

use crate::error::TxnError;
use keel_base::Lsn;
use keel_log::Sleeper;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Terms whose outcome is remembered for committers that ask late.
const PAST_TERMS_MAX: usize = 16;

/// See the module.
pub(crate) struct Gate {
    /// Commits up to here may be acknowledged once hardened; `u64::MAX` without a cap, 0 when nobody may write.
    cap: AtomicU64,
    /// The term in which commits are made; 0 when none are.
    term: AtomicU64,
    /// Commits up to here were acknowledged in this term though they may be durable nowhere; 0 when none were.
    told: Told,
    state: Mutex<State>,
}

/// On a line of its own: every delayed commit moves it, and every other reads what is beside it.
#[derive(Default)]
#[repr(align(128))]
struct Told(AtomicU64);

#[derive(Default)]
struct State {
    waiters: Vec<Waiter>,
    /// Ended terms, how far each was agreed, and why it ended.
    past: VecDeque<(u64, Lsn, Arc<str>)>,
}

struct Waiter {
    lsn: Lsn,
    sleeper: Sleeper,
}

impl State {
    /// Wakes those at or before `lsn`.
    fn wake(&mut self, lsn: Lsn) {
        self.waiters.retain(|waiter| {
            let done = waiter.lsn <= lsn;
            if done {
                waiter.sleeper.release();
            }
            !done
        });
    }
}

impl Gate {
    /// The gate of a database that stands alone (term 1), or of one that may not write (term 0).
    pub(crate) fn new(writes: bool) -> Gate {
        let (cap, term) = if writes { (u64::MAX, 1) } else { (0, 0) };
        Gate {
            cap: AtomicU64::new(cap),
            term: AtomicU64::new(term),
            told: Told::default(),
            state: Mutex::new(State::default()),
        }
    }

    /// The cap on what may be acknowledged and seen.
    #[inline]
    pub(crate) fn cap(&self) -> Lsn {
        Lsn(self.cap.load(Ordering::Acquire))
    }

    /// The term in which commits are made now; 0 when none are.
    #[inline]
    pub(crate) fn term(&self) -> u64 {
        self.term.load(Ordering::Relaxed)
    }

    /// A commit of `term` is acknowledged before it comes through here, and may be seen; false when the term is over.
    pub(crate) fn tell(&self, lsn: Lsn, term: u64) -> bool {
        let _state = self.state.lock();
        let goes_on = self.term.load(Ordering::Acquire) == term;
        if goes_on {
            self.told.0.fetch_max(lsn.0, Ordering::AcqRel);
        }
        goes_on
    }

    /// Up to where commits were told; see [`Gate::tell`].
    #[inline]
    pub(crate) fn told(&self) -> Lsn {
        Lsn(self.told.0.load(Ordering::Acquire))
    }

    /// Opens a term in which commits wait for `cap`.
    pub(crate) fn begin_term(&self, term: u64, cap: Lsn) {
        let _state = self.state.lock();
        self.cap.store(cap.0, Ordering::Release);
        self.term.store(term, Ordering::Release);
    }

    /// Moves the cap: up, or away ([`Lsn::MAX`]), or down from there.
    pub(crate) fn set_cap(&self, cap: Lsn) {
        let mut state = self.state.lock();
        if self.term.load(Ordering::Acquire) != 0 {
            self.cap.store(cap.0, Ordering::Release);
            state.wake(cap);
        }
    }

    /// Moves the cap up to `lsn`, and never down: who says so may be overtaken by another thread with more to say. `first` runs
    /// just before, and not at all when there is nothing to move. Returns whether there was.
    pub(crate) fn raise_cap(&self, lsn: Lsn, first: impl FnOnce()) -> bool {
        let mut state = self.state.lock();
        let raises = self.term.load(Ordering::Acquire) != 0 && self.cap.load(Ordering::Acquire) < lsn.0;
        if raises {
            first();
            self.cap.store(lsn.0, Ordering::Release);
            state.wake(lsn);
        }
        raises
    }

    /// Ends the term and returns how far it was agreed: the cap, or what is hardened where that is less. Who waits for
    /// more is in doubt.
    pub(crate) fn end_term(&self, hardened: &dyn Fn() -> Lsn, reason: &str) -> Lsn {
        let mut state = self.state.lock();
        let term = self.term.swap(0, Ordering::AcqRel);
        let cap = Lsn(self.cap.swap(0, Ordering::AcqRel));
        self.told.0.store(0, Ordering::Release);
        // Asked for last: whoever was answered before has seen no more than this.
        let agreed = cap.min(hardened());
        if term != 0 {
            state.past.push_back((term, agreed, Arc::from(reason)));
            if state.past.len() > PAST_TERMS_MAX {
                state.past.pop_front();
            }
        }
        state.wake(Lsn::MAX);
        agreed
    }

    /// Returns when a commit of `term` at `lsn`, hardened here, may be acknowledged.
    #[inline]
    pub(crate) fn wait(&self, lsn: Lsn, term: u64) -> Result<(), TxnError> {
        if self.lets(lsn, term) {
            return Ok(());
        }
        self.wait_for_cap(lsn, term)
    }

    /// Whether that would return at once.
    #[inline]
    pub(crate) fn lets(&self, lsn: Lsn, term: u64) -> bool {
        // The term last: what was agreed in a later one says nothing about this commit.
        self.cap.load(Ordering::Acquire) >= lsn.0 && self.term.load(Ordering::Acquire) == term
    }

    #[cold]
    fn wait_for_cap(&self, lsn: Lsn, term: u64) -> Result<(), TxnError> {
        loop {
            let sleeper = Sleeper::this_thread();
            {
                let mut state = self.state.lock();
                if self.term.load(Ordering::Acquire) != term {
                    return self.outcome(&state, lsn, term);
                }
                if self.cap.load(Ordering::Acquire) >= lsn.0 {
                    return Ok(());
                }
                state.waiters.push(Waiter { lsn, sleeper: sleeper.clone() });
            }
            sleeper.wait_released();
        }
    }

    /// For a committer of `term` that has not waited for its log yet: what releases it here once its commit at `lsn` is agreed
    /// or the term is over, so that it need not sleep twice. `None` when nothing is to be waited for here now.
    /// [`Gate::wait`] says afterwards how it ended.
    #[inline]
    pub(crate) fn enlist(&self, lsn: Lsn, term: u64) -> Option<Sleeper> {
        if self.cap.load(Ordering::Acquire) >= lsn.0 {
            return None;
        }
        let mut state = self.state.lock();
        if self.term.load(Ordering::Acquire) != term || self.cap.load(Ordering::Acquire) >= lsn.0 {
            return None;
        }
        let sleeper = Sleeper::this_thread();
        state.waiters.push(Waiter { lsn, sleeper: sleeper.clone() });
        Some(sleeper)
    }

    /// Takes back an [enlisting](Gate::enlist) whose log failed: nobody releases it afterwards.
    pub(crate) fn forget(&self, sleeper: &Sleeper) {
        self.state.lock().waiters.retain(|waiter| !waiter.sleeper.is(sleeper));
    }

    /// The outcome of a commit whose log is gone or somebody else's.
    pub(crate) fn outcome_of(&self, lsn: Lsn, term: u64) -> Result<(), TxnError> {
        self.outcome(&self.state.lock(), lsn, term)
    }

    fn outcome(&self, state: &State, lsn: Lsn, term: u64) -> Result<(), TxnError> {
        match state.past.iter().find(|past| past.0 == term) {
            Some((_, agreed, _)) if lsn <= *agreed => Ok(()),
            Some((_, _, reason)) => Err(TxnError::InDoubt(Arc::clone(reason))),
            None => Err(TxnError::InDoubt("the replica has changed its role".into())),
        }
    }

    /// Commits that wait now.
    pub(crate) fn waiting(&self) -> usize {
        self.state.lock().waiters.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn who_comes_late_moves_nothing_back() {
        let gate = Gate::new(true);
        gate.set_cap(Lsn(100));
        assert!(gate.raise_cap(Lsn(150), || ()));
        assert!(!gate.raise_cap(Lsn(120), || panic!("it has been passed")));
        assert_eq!(gate.cap(), Lsn(150));
        gate.set_cap(Lsn::MAX);
        assert!(!gate.raise_cap(Lsn(200), || panic!("nobody is waited for any more")));
        gate.end_term(&|| Lsn(500), "fenced");
        assert!(!gate.raise_cap(Lsn(200), || panic!("nobody writes any more")));
    }

    #[test]
    fn what_was_told_ends_with_its_term() {
        let gate = Gate::new(true);
        assert!(gate.tell(Lsn(100), 1));
        assert!(gate.tell(Lsn(80), 1));
        assert_eq!(gate.told(), Lsn(100));
        gate.end_term(&|| Lsn(50), "fenced");
        assert!(!gate.tell(Lsn(110), 1));
        assert_eq!(gate.told(), Lsn::ZERO);
        gate.begin_term(2, Lsn(50));
        assert!(!gate.tell(Lsn(110), 1));
        assert_eq!(gate.told(), Lsn::ZERO, "it was another term's");
        assert!(gate.tell(Lsn(60), 2));
        assert_eq!(gate.told(), Lsn(60));
    }

    #[test]
    fn each_term_answers_for_itself() {
        let gate = Gate::new(true);
        gate.wait(Lsn(50), 1).unwrap();
        gate.set_cap(Lsn(100));
        thread::scope(|scope| {
            let done = scope.spawn(|| gate.wait(Lsn(120), 1));
            let doubtful = scope.spawn(|| gate.wait(Lsn(200), 1));
            while gate.waiting() < 2 {
                thread::yield_now();
            }
            gate.set_cap(Lsn(130));
            done.join().unwrap().unwrap();
            assert_eq!(gate.end_term(&|| Lsn(500), "fenced"), Lsn(130));
            assert!(matches!(doubtful.join().unwrap(), Err(TxnError::InDoubt(_))));
        });
        gate.begin_term(7, Lsn(300));
        gate.wait(Lsn(125), 1).unwrap();
        assert!(matches!(gate.wait(Lsn(200), 1), Err(TxnError::InDoubt(_))));
        gate.wait(Lsn(250), 7).unwrap();
    }
}
