//! What can go wrong below the base tree's seam, sorted by what the caller does next.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// An error of the base tree.
#[derive(Debug, Error)]
pub enum BaseError {
    /// A page is not what the tree says it must be (error 824): the page needs repair from a replica or a backup.
    #[error("page {page} of '{}' is damaged: {reason}", file.display())]
    Corrupt {
        /// The database's base file.
        file: PathBuf,
        /// Page number in the file; byte offset is this times [`PAGE_SIZE`](super::PAGE_SIZE).
        page: u32,
        /// Which check failed.
        reason: &'static str,
    },
    /// The operating system failed a read, write or sync (error 823).
    #[error("{operation} of '{}' at page {page} failed: {source}", file.display())]
    Io {
        /// The database's base file.
        file: PathBuf,
        /// First page of the request; 0 for requests about the whole file.
        page: u32,
        /// What was asked: `read`, `write`, `sync`, …
        operation: &'static str,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The file is not a base tree, or neither superblock is whole.
    #[error("'{}' is not a base file: {reason}", file.display())]
    NotABaseFile {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// An earlier write or sync left the disk's state unknown: no merge is accepted before the file is opened again.
    #[error("'{}' refuses writes after an earlier failure; it must be opened again", file.display())]
    Poisoned {
        /// The file.
        file: PathBuf,
    },
    /// A page is encrypted with a key that is not open here.
    #[error("'{}' is encrypted with key {number}, which is not open", file.display())]
    Locked {
        /// The file.
        file: PathBuf,
        /// Number of the key.
        number: u8,
    },
    /// The throttle asked to stop. What earlier chunks published stays; the merge may be run again from the start.
    #[error("the merge was cancelled")]
    Cancelled,
    /// A key or value is larger than the format allows, or keys came out of order: a mistake of the caller.
    #[error("merge input rejected: {0}")]
    Input(&'static str),
}

/// Result of a base tree operation.
pub type Result<T> = std::result::Result<T, BaseError>;
