//! Parts of what all threads would otherwise share: memory that goes to and fro between processors costs more than the
//! work done in it.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Parts that threads are spread over.
pub const PARTS: usize = 8;

/// The part of the calling thread: less than [`PARTS`], its own as long as there are not more threads than parts.
#[inline]
#[must_use]
pub fn part_of_thread() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed) % PARTS;
    }
    NUMBER.with(|number| *number)
}
