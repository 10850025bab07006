//! Sleeping so that an attention or KILL ends it, and the queue of a group whose requests are limited.

use keel_store::lock::{Cancel, CancelToken};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    None,
    Go,
    Cancelled,
}

/// What one thread sleeps on.
struct Rest {
    call: Mutex<Call>,
    called: Condvar,
}

impl Rest {
    fn new() -> Arc<Rest> {
        Arc::new(Rest { call: Mutex::new(Call::None), called: Condvar::new() })
    }

    fn wake(&self, call: Call) {
        let mut now = self.call.lock();
        if *now == Call::None {
            *now = call;
        }
        self.called.notify_all();
    }

    /// Until somebody calls.
    fn wait(&self) -> Call {
        let mut call = self.call.lock();
        while *call == Call::None {
            self.called.wait(&mut call);
        }
        *call
    }
}

impl Cancel for Rest {
    fn wake_cancelled(&self) {
        self.wake(Call::Cancelled);
    }
}

/// Between two looks whether the reason to sleep still holds.
const LOOK: Duration = Duration::from_millis(100);

/// Sleeps so long, or until the session is cancelled or `holds` says no.
pub fn sleep(cancel: &CancelToken, so_long: Duration, holds: impl Fn() -> bool) {
    let end = Instant::now() + so_long;
    let rest = Rest::new();
    if cancel.sleep_on(Some(Arc::clone(&rest) as Arc<dyn Cancel>)) {
        let mut call = rest.call.lock();
        while *call == Call::None && holds() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            rest.called.wait_for(&mut call, left.min(LOOK));
        }
    }
    cancel.sleep_on(None);
}

/// GROUP_MAX_REQUESTS: who runs, and who waits for their turn.
#[derive(Default)]
pub struct Queue(Mutex<Queued>);

#[derive(Default)]
struct Queued {
    /// 0: as many as come.
    max: usize,
    running: usize,
    waiting: VecDeque<Arc<Rest>>,
}

impl Queued {
    fn is_full(&self) -> bool {
        self.max > 0 && self.running >= self.max
    }

    /// Calls those for whom there is room.
    fn call(&mut self) {
        while !self.is_full()
            && let Some(next) = self.waiting.pop_front()
        {
            self.running += 1;
            next.wake(Call::Go);
        }
    }
}

impl Queue {
    /// Sets how many may run at once; 0 for any number.
    pub fn set_max(&self, max: usize) {
        let mut queued = self.0.lock();
        queued.max = max;
        queued.call();
    }

    /// Begins a request without asking for room: one that others may be waiting for.
    pub fn enter_at_once(&self) {
        self.0.lock().running += 1;
    }

    /// Begins a request if there is room.
    #[must_use]
    pub fn try_enter(&self) -> bool {
        let mut queued = self.0.lock();
        let room = !queued.is_full() && queued.waiting.is_empty();
        queued.running += usize::from(room);
        room
    }

    /// Begins a request when its turn comes. False when the session is cancelled first.
    #[must_use]
    pub fn enter(&self, cancel: &CancelToken) -> bool {
        let rest = Rest::new();
        {
            let mut queued = self.0.lock();
            queued.waiting.push_back(Arc::clone(&rest));
            queued.call();
        }
        if !cancel.sleep_on(Some(Arc::clone(&rest) as Arc<dyn Cancel>)) {
            rest.wake(Call::Cancelled);
        }
        rest.wait();
        cancel.sleep_on(None);
        let mut queued = self.0.lock();
        let at = queued.waiting.iter().position(|r| Arc::ptr_eq(r, &rest));
        if let Some(at) = at {
            queued.waiting.remove(at);
            return false;
        }
        // Called, whether or not it was cancelled at the same moment: it has its place, and gives it back as any other.
        true
    }

    /// Ends a request.
    pub fn leave(&self) {
        let mut queued = self.0.lock();
        queued.running = queued.running.saturating_sub(1);
        queued.call();
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.lock().waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets others run until `done`.
    fn until(done: impl Fn() -> bool) {
        while !done() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn requests_wait_for_their_turn_in_order() {
        let queue = Arc::new(Queue::default());
        queue.set_max(1);
        assert!(queue.try_enter() && !queue.try_enter());
        let order = Arc::new(Mutex::new(Vec::new()));
        let threads: Vec<_> = (0..3)
            .map(|i| {
                let (its, order) = (Arc::clone(&queue), Arc::clone(&order));
                let thread = std::thread::spawn(move || {
                    assert!(its.enter(&CancelToken::new()));
                    order.lock().push(i);
                    its.leave();
                });
                until(|| queue.waiting() == i + 1);
                thread
            })
            .collect();
        queue.leave();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(*order.lock(), [0, 1, 2]);
    }

    #[test]
    fn a_cancelled_request_leaves_the_queue() {
        let queue = Arc::new(Queue::default());
        queue.set_max(1);
        assert!(queue.try_enter());
        let cancel = CancelToken::new();
        let thread = {
            let (queue, cancel) = (Arc::clone(&queue), Arc::clone(&cancel));
            std::thread::spawn(move || queue.enter(&cancel))
        };
        until(|| queue.waiting() == 1);
        cancel.cancel();
        assert!(!thread.join().unwrap());
        assert_eq!(queue.waiting(), 0);
        queue.leave();
        assert!(queue.try_enter());
    }

    #[test]
    fn a_higher_limit_calls_those_that_wait() {
        let queue = Arc::new(Queue::default());
        queue.set_max(1);
        assert!(queue.try_enter());
        let thread = {
            let queue = Arc::clone(&queue);
            std::thread::spawn(move || queue.enter(&CancelToken::new()))
        };
        until(|| queue.waiting() == 1);
        queue.set_max(0);
        assert!(thread.join().unwrap());
    }

    #[test]
    fn a_cancel_ends_a_sleep() {
        let cancel = CancelToken::new();
        cancel.cancel();
        sleep(&cancel, Duration::from_secs(3600), || true);
        sleep(&CancelToken::new(), Duration::from_secs(3600), || false);
    }
}
