//! `min server memory`: what the process holds on to.
//!
//! Memory that a process has freed goes back to the system a second later, and what it takes again has to be found and cleared
//! again, 2 MB at a time. On a machine of its own that is a tenth of a millisecond each; a guest whose host takes back what is free
//! waits for milliseconds, and a new primary, which takes the memory of all its new sessions at once, for a tenth of a second
//! (docs/profiles.md). As long as the process has no more than the least that it is promised, nothing goes back, and half of that
//! is taken when the server starts, in the background; the other half is for the page cache, whose memory comes with the pages.

use std::hint::black_box;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::allocator::keep_what_is_freed;

/// How often the process' size is looked at: as long as freed memory waits before it goes back.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Sizes of the blocks in which memory is taken ahead. The allocator keeps memory for small, for larger and for large blocks apart; of
/// the large ones there is one: verifying a password takes as much.
const SMALL: usize = 8 << 10;
const LARGER: usize = 32 << 10;
const LARGE: usize = 8 << 20;

/// Keeps the promise. Over when dropped.
pub struct Least {
    thread: Option<JoinHandle<()>>,
    /// Ends the thread when it is dropped.
    running: Option<Sender<()>>,
}

impl Least {
    /// Holds on to so many bytes, which may change, and takes half of what it is now.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn hold(bytes: impl Fn() -> usize + Send + 'static) -> std::io::Result<Least> {
        let (running, ended) = channel();
        let thread = std::thread::Builder::new().name("memory".into()).spawn(move || run(&bytes, &ended))?;
        Ok(Least { thread: Some(thread), running: Some(running) })
    }
}

impl Drop for Least {
    fn drop(&mut self) {
        self.running = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to say.
            let _ = thread.join();
        }
    }
}

fn run(bytes: &dyn Fn() -> usize, ended: &Receiver<()>) {
    be_last();
    let mut keeping = false;
    let mut keep = |keep: bool| {
        // What the environment says of it stays where nothing is to be kept.
        if keep != std::mem::replace(&mut keeping, keep) {
            keep_what_is_freed(keep);
        }
    };
    let first = bytes();
    if first > 0 {
        keep(true);
        take_ahead(first / 2, ended);
    }
    while ended.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        let bytes = bytes();
        keep(bytes > 0 && resident_bytes().is_none_or(|now| now < bytes));
    }
}

/// Whatever else wants a processor goes before this thread.
fn be_last() {
    // SAFETY: it changes the calling thread's priority; refused, it runs with its own.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

/// Takes so much from the system, and one large block, and leaves it to the allocator: three quarters for small blocks, the rest for
/// larger ones.
fn take_ahead(bytes: usize, ended: &Receiver<()>) {
    let mut taken: Vec<Vec<u8>> = Vec::with_capacity(bytes / SMALL);
    for (size, share) in [(SMALL, bytes / 4 * 3), (LARGER, bytes / 4), (LARGE, LARGE)] {
        for _ in 0..share / size {
            // Memory that nobody has written to is not there yet.
            taken.push(black_box(vec![1; size]));
            if ended.try_recv() == Err(TryRecvError::Disconnected) {
                return;
            }
        }
    }
}

fn resident_bytes() -> Option<usize> {
    let pages = procfs::process::Process::myself().ok()?.statm().ok()?.resident;
    usize::try_from(pages * procfs::page_size()).ok()
}
