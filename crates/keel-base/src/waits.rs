//! What the calling thread has waited for: for `sys.dm_exec_session_wait_stats` and the lock waits of an index.
//!
//! A session has one thread. It [adopts](SessionWaits::adopt) the session's totals when it begins; whatever then makes the
//! thread wait (a lock, the log, a page) says so by [`note`], without knowing whose thread it is. Threads that belong to no
//! session note nothing. Totals of the instance are kept where the waits are, not here.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};

/// Waits of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSum {
    /// The product's name of it.
    pub wait_type: &'static str,
    /// How many.
    pub count: u64,
    /// Their time together, nanoseconds.
    pub nanos: u64,
    /// The longest, nanoseconds.
    pub nanos_max: u64,
}

/// Waits of one session by type. Its thread writes them, views read them.
#[derive(Debug, Default)]
pub struct SessionWaits(Mutex<Vec<WaitSum>>);

/// Waits for locks of rows and their time together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockWaits {
    /// How many.
    pub count: u64,
    /// Nanoseconds.
    pub nanos: u64,
}

thread_local! {
    static OWN: RefCell<Option<Arc<SessionWaits>>> = const { RefCell::new(None) };
    static LOCKS: Cell<LockWaits> = const { Cell::new(LockWaits { count: 0, nanos: 0 }) };
    /// Whether waits are listed one by one.
    static FOLLOWS: Cell<bool> = const { Cell::new(false) };
    static LIST: RefCell<Vec<(&'static str, u64)>> = const { RefCell::new(Vec::new()) };
    /// How many are listed: a look at it is cheap.
    static LISTED: Cell<usize> = const { Cell::new(0) };
}

/// Waits that are listed one by one; further ones of the same statement only count in the session's totals.
const LIST_MAX: usize = 10_000;

impl SessionWaits {
    /// From now on the calling thread's waits are this session's; those of another that it had before no longer are.
    pub fn adopt(self: &Arc<Self>) {
        OWN.with(|own| *own.borrow_mut() = Some(Arc::clone(self)));
    }

    /// The totals, in the order in which they came up.
    #[must_use]
    pub fn totals(&self) -> Vec<WaitSum> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins anew: another login has the connection.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn add(&self, wait_type: &'static str, nanos: u64) {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sums.iter_mut().find(|sum| sum.wait_type == wait_type) {
            Some(sum) => {
                sum.count += 1;
                sum.nanos += nanos;
                sum.nanos_max = sum.nanos_max.max(nanos);
            }
            None => sums.push(WaitSum { wait_type, count: 1, nanos, nanos_max: nanos }),
        }
    }
}

/// The calling thread has waited so many nanoseconds.
pub fn note(wait_type: &'static str, nanos: u64) {
    OWN.with(|own| {
        if let Some(own) = &*own.borrow() {
            own.add(wait_type, nanos);
        }
    });
    if FOLLOWS.get() && LISTED.get() < LIST_MAX {
        LIST.with(|list| list.borrow_mut().push((wait_type, nanos)));
        LISTED.set(LISTED.get() + 1);
    }
}

/// From now on the calling thread's waits are listed one by one, or no longer; the list is empty then.
pub fn follow(on: bool) {
    FOLLOWS.set(on);
    if LISTED.replace(0) > 0 {
        LIST.with(|list| list.borrow_mut().clear());
    }
}

/// How many waits the list has.
#[must_use]
pub fn followed() -> usize {
    LISTED.get()
}

/// Calls with the type and the nanoseconds of every wait of the list from a place on.
pub fn each_followed(from: usize, mut each: impl FnMut(&'static str, u64)) {
    LIST.with(|list| list.borrow().iter().skip(from).for_each(|(wait_type, nanos)| each(wait_type, *nanos)));
}

/// The calling thread has waited for a lock.
pub fn note_lock(wait_type: &'static str, nanos: u64) {
    let LockWaits { count, nanos: before } = LOCKS.get();
    LOCKS.set(LockWaits { count: count + 1, nanos: before + nanos });
    note(wait_type, nanos);
}

/// Waits of the calling thread for locks since it began.
#[must_use]
pub fn lock_waits() -> LockWaits {
    LOCKS.get()
}

impl std::ops::AddAssign for LockWaits {
    fn add_assign(&mut self, more: LockWaits) {
        self.count += more.count;
        self.nanos += more.nanos;
    }
}

impl std::ops::Sub for LockWaits {
    type Output = LockWaits;
    /// Waits since an earlier look by the same thread.
    fn sub(self, earlier: LockWaits) -> LockWaits {
        LockWaits { count: self.count - earlier.count, nanos: self.nanos - earlier.nanos }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_those_of_the_session_that_has_the_thread() {
        let (first, second) = (Arc::new(SessionWaits::default()), Arc::new(SessionWaits::default()));
        note("WRITELOG", 1);
        first.adopt();
        note("WRITELOG", 5);
        note("LCK_M_X", 2);
        note("WRITELOG", 3);
        second.adopt();
        note("WRITELOG", 9);
        let sum = |wait_type, count, nanos, nanos_max| WaitSum { wait_type, count, nanos, nanos_max };
        assert_eq!(first.totals(), [sum("WRITELOG", 2, 8, 5), sum("LCK_M_X", 1, 2, 2)]);
        assert_eq!(second.totals(), [sum("WRITELOG", 1, 9, 9)]);
        first.clear();
        assert_eq!(first.totals(), []);
    }

    #[test]
    fn waits_are_listed_while_somebody_follows() {
        note("LCK_M_X", 1);
        follow(true);
        note("LCK_M_S", 2);
        let from = followed();
        note("WRITELOG", 3);
        let mut listed = Vec::new();
        each_followed(from, |wait_type, nanos| listed.push((wait_type, nanos)));
        assert_eq!(listed, [("WRITELOG", 3)]);
        follow(false);
        note("WRITELOG", 4);
        assert_eq!(followed(), 0);
    }

    #[test]
    fn lock_waits_add_up_for_the_thread() {
        let before = lock_waits();
        note_lock("LCK_M_X", 7);
        note_lock("LCK_M_S", 2);
        assert_eq!(lock_waits() - before, LockWaits { count: 2, nanos: 9 });
    }
}
