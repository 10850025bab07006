//! The signals that ask a process to stop.

/// SIGTERM and SIGINT, blocked in all threads and waited for in one.
#[derive(Clone, Copy)]
pub struct Signals(libc::sigset_t);

impl Signals {
    /// Before any thread is made, so that all of them leave the signals to whoever waits.
    pub fn block() -> Signals {
        // SAFETY: a zeroed set is a valid argument of sigemptyset, which initialises it; the other calls take pointers to
        // that set only.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGTERM);
            libc::sigaddset(&mut set, libc::SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            Signals(set)
        }
    }

    /// Whether one of them comes before so much time is over; it is taken.
    pub fn comes_within(&self, time: std::time::Duration) -> bool {
        let seconds = libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX);
        let limit = libc::timespec { tv_sec: seconds, tv_nsec: time.subsec_nanos().into() };
        // SAFETY: the set is initialised, the limit is read only, and no details are asked for.
        unsafe { libc::sigtimedwait(&self.0, std::ptr::null_mut(), &limit) > 0 }
    }

    /// Returns when one of them came.
    pub fn wait(&self) {
        let mut signal = 0;
        // SAFETY: the set is initialised and `signal` is writable.
        unsafe { libc::sigwait(&self.0, &mut signal) };
    }
}
