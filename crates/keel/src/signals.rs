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

    /// Returns when one of them came.
    pub fn wait(&self) {
        let mut signal = 0;
        // SAFETY: the set is initialised and `signal` is writable.
        unsafe { libc::sigwait(&self.0, &mut signal) };
    }
}
