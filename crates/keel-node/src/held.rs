//! [`HeldRedo`]: redo by the thread that takes the log in.
//!
//! A block of a few transactions is applied in less time than it takes to wake a thread for it. So who receives holds redo
//! back while it hardens and acknowledges, and applies what is due by itself afterwards, if that is little.

use crate::database::Database;
use std::sync::atomic::Ordering;

/// Log that the receiving thread applies by itself at most: some tens of small transactions, a fraction of a millisecond, in
/// which a block that comes meanwhile waits.
const HERE_BYTES: u64 = 16 << 10;
/// Chunks in which that may come.
const HERE_CHUNKS: usize = 4;

/// No redo thread is woken for this database as long as it lives, whoever asks. Letting it go wakes them if there is anything
/// to apply.
pub struct HeldRedo<'a> {
    database: &'a Database,
}

impl Database {
    /// Holds the waking of redo threads back, for a moment in which no disk and no peer but the own log is waited for.
    pub fn hold_redo(&self) -> HeldRedo<'_> {
        self.roles.redo_held.fetch_add(1, Ordering::SeqCst);
        HeldRedo { database: self }
    }

    /// Log that may be applied and is not.
    fn redo_due(&self) -> u64 {
        let limit = self.follower.limit.load(Ordering::SeqCst);
        limit.min(self.hardened().0).saturating_sub(self.follower.applied().0)
    }
}

impl HeldRedo<'_> {
    /// Applies what is due on the calling thread if it is little. What is left then is left to the redo threads.
    pub fn work(self) {
        if !(1..=HERE_BYTES).contains(&self.database.redo_due()) {
            return;
        }
        let task = self.database.roles.redo.lock().clone();
        if let Some(task) = task {
            self.database.instance().redo.work_here(&task, HERE_CHUNKS);
        }
    }
}

impl Drop for HeldRedo<'_> {
    fn drop(&mut self) {
        self.database.roles.redo_held.fetch_sub(1, Ordering::SeqCst);
        // Looked at last: who found redo held has moved the limit before.
        if self.database.redo_due() > 0 {
            self.database.poke_redo();
        }
    }
}
