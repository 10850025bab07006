//! What can go wrong with a log, sorted by what the caller does next.

use keel_base::Lsn;
use std::io;
use std::sync::Arc;

/// A log call that did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A write or sync failed earlier. Commits that were waiting are in doubt; open the log again to find out.
    #[error("the log was stopped by a failed write: {reason}")]
    Poisoned {
        /// The first failure.
        reason: Arc<str>,
    },
    /// No room for this append; nothing was appended. Truncating the log or growing the disk helps.
    #[error("no space in the log for {wanted} bytes: {source}")]
    Full {
        /// Payload bytes that did not fit.
        wanted: usize,
        /// Why the log could not grow.
        source: io::Error,
    },
    /// The position lies before what the log still holds.
    #[error("log position {wanted} is before the start of the log at {start}")]
    Truncated {
        /// Where the caller wanted to read.
        wanted: Lsn,
        /// The first position still held.
        start: Lsn,
    },
    /// The log holds something that no crash explains.
    #[error("the log is damaged at position {at}: {what}")]
    Corrupt {
        /// The first position that cannot be read.
        at: Lsn,
        /// What is wrong there.
        what: String,
    },
    /// A block is encrypted with a key that is not open here. It can be read once the key is.
    #[error("the log at position {at} is encrypted with key {number}, which is not open")]
    Locked {
        /// The block's position.
        at: Lsn,
        /// Number of the key.
        number: u8,
    },
    /// This replica does not write the log now (or no longer in the term in which the caller began).
    #[error("this replica is not the writer of the log")]
    NotWriter,
    /// A block that does not go on where the log ends, or that may not be taken any more. Nothing was appended.
    #[error("the block does not continue the log at position {at}: {what}")]
    NotNext {
        /// Where the log ends.
        at: Lsn,
        /// What does not fit.
        what: String,
    },
    /// Reading or preparing files failed.
    #[error("log file: {0}")]
    Io(#[from] io::Error),
}

impl LogError {
    pub(crate) fn corrupt(at: Lsn, what: impl Into<String>) -> LogError {
        LogError::Corrupt { at, what: what.into() }
    }
}
