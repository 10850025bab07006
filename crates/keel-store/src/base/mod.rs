//! # The base tree: rows as of the checkpoint, in one copy-on-write B+tree file per database
//!
//! (chapter follows with the implementation)

mod api;
mod error;

pub use api::*;
pub use error::{BaseError, Result};

/// Bytes of a page, the unit of reading, writing and checksumming.
pub const PAGE_SIZE: usize = 8192;
/// Longest key, the tree id included.
pub const KEY_BYTES_MAX: usize = 2052;
/// Largest opaque metadata blob kept in the superblock.
pub const META_BYTES_MAX: usize = 2048;
