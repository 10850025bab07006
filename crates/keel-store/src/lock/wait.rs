//! Waiting: the cell a blocked thread sleeps on, and the token by which a session is told to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::deadlock::DeadlockGraph;

/// How long a request may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until granted, chosen as a deadlock victim, or cancelled.
    Forever,
    /// At most this long (`SET LOCK_TIMEOUT`); zero does not wait at all.
    AtMost(Duration),
}

impl Wait {
    /// Fails at once when the lock is taken (`NOWAIT`).
    pub const NO: Wait = Wait::AtMost(Duration::ZERO);
}

/// How a wait stands.
#[derive(Clone, Debug)]
pub(super) enum WaitState {
    /// Not waiting.
    Idle,
    Waiting,
    Granted,
    Victim(Arc<DeadlockGraph>),
    Cancelled,
}

/// Where one owner's thread sleeps. The state goes from `Waiting` to something else exactly once, by whoever comes
/// first: the granter (under the shard's lock), the deadlock detector, the canceller, or the sleeper itself on
/// time-out (under the shard's lock).
pub(super) struct WaitCell {
    state: Mutex<WaitState>,
    changed: Condvar,
    /// Copy of "not waiting any more" that the sleeper spins on before it sleeps.
    settled: AtomicBool,
}

/// Rounds of looking before sleeping. Locks are held for microseconds (they go when the commit is appended), and
/// a sleep and wake-up cost more than that.
const SPIN_ROUNDS: usize = 60;

impl WaitCell {
    pub(super) fn new() -> WaitCell {
        WaitCell {
            state: Mutex::new(WaitState::Idle),
            changed: Condvar::new(),
            settled: AtomicBool::new(false),
        }
    }

    /// Before the request is queued.
    pub(super) fn begin(&self) {
        self.settled.store(false, Ordering::Relaxed);
        *self.state.lock() = WaitState::Waiting;
    }

    /// Ends the wait with `outcome`; false when it has ended already.
    pub(super) fn settle(&self, outcome: WaitState) -> bool {
        let mut state = self.state.lock();
        if !matches!(*state, WaitState::Waiting) {
            return false;
        }
        *state = outcome;
        self.settled.store(true, Ordering::Release);
        self.changed.notify_one();
        true
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(*self.state.lock(), WaitState::Waiting)
    }

    /// Sleeps until settled or the time is over; the state afterwards.
    pub(super) fn sleep(&self, wait: Wait) -> WaitState {
        for round in 0..SPIN_ROUNDS {
            if self.settled.load(Ordering::Acquire) {
                break;
            }
            if round % 16 == 15 { std::thread::yield_now() } else { std::hint::spin_loop() }
        }
        let deadline = match wait {
            Wait::Forever => None,
            // A time beyond the clock's range is for ever.
            Wait::AtMost(limit) => Instant::now().checked_add(limit),
        };
        let mut state = self.state.lock();
        while matches!(*state, WaitState::Waiting) {
            match deadline {
                None => self.changed.wait(&mut state),
                Some(deadline) => {
                    if self.changed.wait_until(&mut state, deadline).timed_out() {
                        break;
                    }
                }
            }
        }
        state.clone()
    }

    /// After the wait: back to idle, telling how it ended.
    pub(super) fn finish(&self) -> WaitState {
        std::mem::replace(&mut *self.state.lock(), WaitState::Idle)
    }
}

/// Tells one session to stop what it is doing (attention, KILL). Shared by everything that session waits on.
#[derive(Default)]
pub struct CancelToken {
    cancelled: AtomicBool,
    /// The cell its thread sleeps on now.
    sleeping: Mutex<Option<Arc<dyn Cancel>>>,
}

/// Something a thread sleeps on that a [`CancelToken`] can wake.
pub trait Cancel: Send + Sync {
    /// Wakes the sleeper; it looks at the token and gives up.
    fn wake_cancelled(&self);
}

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Arc<CancelToken> {
        Arc::default()
    }

    /// Cancels, and wakes the session if it sleeps.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        if let Some(sleeper) = &*self.sleeping.lock() {
            sleeper.wake_cancelled();
        }
    }

    /// Makes the token good for the next request.
    pub fn reset(&self) {
        self.cancelled.store(false, Ordering::SeqCst);
    }

    /// Whether [`CancelToken::cancel`] was called since the last reset.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Announces what the session's thread is about to sleep on; `None` afterwards. False when it is cancelled
    /// already and should not sleep.
    pub fn sleep_on(&self, sleeper: Option<Arc<dyn Cancel>>) -> bool {
        let mut sleeping = self.sleeping.lock();
        *sleeping = sleeper;
        !self.cancelled.load(Ordering::SeqCst)
    }
}
