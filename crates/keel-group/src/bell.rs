//! [`Bell`]: wakes one thread that has nothing to do.

use parking_lot::{Condvar, Mutex};
use std::time::Duration;

/// Rung by anybody, waited for by one thread. A ring while nobody waits is remembered; several count as one.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    condvar: Condvar,
}

impl Bell {
    /// Wakes the waiting thread, now or as soon as it waits.
    pub(crate) fn ring(&self) {
        let mut rung = self.rung.lock();
        if !*rung {
            *rung = true;
            self.condvar.notify_one();
        }
    }

    /// Returns after a ring.
    pub(crate) fn wait(&self) {
        let mut rung = self.rung.lock();
        while !*rung {
            self.condvar.wait(&mut rung);
        }
        *rung = false;
    }

    /// Returns after a ring or when the time is over.
    pub(crate) fn wait_for(&self, time: Duration) {
        let mut rung = self.rung.lock();
        if !*rung {
            self.condvar.wait_for(&mut rung, time);
        }
        *rung = false;
    }
}
