//! # The base tree: rows as of the checkpoint, in one copy-on-write B+tree file per database
//!
//! ```text
//!            superblock 0   superblock 1          two, written in turn; the newest whole one counts
//!                  └──────┬──────┘
//!                       root                      BaseRoot: what a reader holds
//!                 ┌───────┼───────┐
//!               inner   inner   inner             separators, child, rows under it
//!              ┌──┼──┐    …       …
//!            leaf leaf leaf ──► overflow pages    rows; those too large for a page in pages of their own
//! ```
//!
//! All indexes of a database live in one tree under the key `TreeId (4 bytes, big-endian) ++ key`. Readers take the
//! newest [`BaseRoot`] and keep it as long as they like: no page it reaches is changed or reused while it lives, so
//! reading needs no locks and never waits. One merger at a time applies changes sorted by key
//! ([`BaseTree::merge`]), in chunks. A chunk
//!
//! 1. rewrites the leaves its changes touch, and the inner pages above them, to free places of the file, in large
//!    sequential writes (module `merge`, `leaf_sink`, `writer`),
//! 2. writes the part of the space map that changed, likewise to new places (`space`), and syncs,
//! 3. writes the superblock whose turn it is and syncs (`tree`, `superblock`),
//! 4. hands the new root to readers. Pages it no longer reaches are reused once no older root is held.
//!
//! Invariants:
//!
//! * A crash at any point leaves the newest or the previous superblock, and every page it reaches, as written.
//! * Every page carries a checksum, its own id, its file's tag and the generation that wrote it, and whoever points
//!   at it says which generation it expects: damage, misdirected and lost writes are errors, never wrong rows.
//!   Bytes from the disk are never trusted for indexing before they are verified; nothing here panics on them.
//! * Every chunk moves `highest_lsn`, only the last one moves `checkpoint_lsn`.
//! * A published page is never written again before it is free.
//! * After a failed sync nothing is guessed: the tree reads on and refuses merges until it is opened again.
//!
//! Deliberately absent: locks and transactions (the delta's), undo (a base tree never holds what could be taken
//! back), sibling pointers (copy-on-write would have to rewrite the neighbours), compaction of inner fragmentation
//! (leaves are rewritten whole anyway), and any knowledge of what is in a row. Byte-level formats are specified in
//! the modules that own them: `page`, `superblock`, `space`.

mod cache;
mod changed;
mod check;
mod cursor;
mod error;
mod file;
mod frame;
mod leaf_sink;
mod merge;
mod options;
mod page;
mod pin;
mod rebuild;
mod rewrite;
mod root;
mod sealed;
mod space;
mod superblock;
mod tree;
mod writer;

#[cfg(test)]
mod tests;

pub use cache::{CacheStats, CachedPage, PageCache, thread_misses};
pub use changed::{Changed, ChangedRange};
pub use check::{CheckFinding, CheckReport, CheckRow};
pub use cursor::Cursor;
pub use error::{BaseError, Result};
pub use file::{ThreadReads, thread_reads};
pub use options::{
    BaseOptions, BaseStats, Change, Direction, FoldFn, Folded, IoStats, MergeOptions, MergeReport,
    NoThrottle, Throttle,
};
pub use pin::Pin;
pub use rewrite::Rewritten;
pub use root::{BaseRoot, RowRef};
pub use tree::BaseTree;

/// Bytes of a page, the unit of reading, writing and checksumming.
pub const PAGE_SIZE: usize = 8192;
/// Longest key, the tree id included.
pub const KEY_BYTES_MAX: usize = 2052;
/// Largest opaque metadata blob kept in the superblock.
pub const META_BYTES_MAX: usize = 2048;
