//! # keel-log: one database's write-ahead log
//!
//! Everything a database acknowledges is first in its log. This crate owns blocks of bytes and their order; what the
//! bytes mean is `keel-redo`'s affair.
//!
//! ## Model
//! The log is one endless string of bytes. An [`Lsn`](keel_base::Lsn) counts the *payload* bytes before it, so it does
//! not depend on how the string is cut. The string is cut into **blocks** ([`block`]: header, payload, at most 60 KB,
//! padded to sectors), blocks lie in preallocated **segments** ([`segment`]: the product's VLFs). One *append* is a run of
//! bytes that becomes durable as a whole or not at all; it may fill part of a block or span several.
//!
//! ```text
//!   segment 00001.vlf                           00002.vlf
//!   ┌──────┬───────┬─────────┬───────┬ ─ ─ ┐    ┌──────┬───────┬ ─ ─ ─ ─ ─
//!   │header│ block │  block  │ block │ 0 0 │    │header│ block │ 0 0 0 0 0
//!   └──────┴───┬───┴────┬────┴───┬───┴ ─ ─ ┘    └──────┴───┬───┴ ─ ─ ─ ─ ─
//!              └─ crc ──►└─ crc ─►└───────── crc ──────────►   each block holds the checksum of the one before
//! ```
//!
//! ## Protocol of a commit
//! 1. [`Log::append`]: under one short lock the bytes get their LSNs, `stamp(end)` runs, the bytes are copied into the
//!    group that is forming. The end LSN is the commit LSN.
//! 2. [`Log::wait_hardened`]: the first waiter becomes the **leader**. It takes the whole group, seals the blocks (chain,
//!    checksum), shows them to the [tap](Log::set_tap), writes, syncs, publishes the hardened LSN. Meanwhile the next group
//!    forms. Afterwards it wakes exactly those whose LSN is hardened, and one of the others as the next leader.
//!    There is no timer and no log thread.
//!
//! ## Two ways to grow
//! A log has one writer among its copies. The writer appends bytes and seals blocks ([`Log::start_term`]); every other copy stores
//! the writer's blocks as they are ([`Log::append_block`]), so that all copies agree on every position
//! whatever their segments. A copy that went another way is [cut](Log::cut) back to the last common block; which one that
//! is, the table of [epochs](Log::epochs) and the checksums tell.
//!
//! ## Positions
//! `truncated ≤ hardened ≤ written ≤ appended`, all counted in LSNs, checked by [`Positions::assert_ordered`] after each
//! flush and truncation. Not implied: that `truncated` falls on a segment border, or that anything ≤ written survives.
//!
//! ## Rules
//! * After a failed write or sync the log is **poisoned**: the commit is in doubt, every later call fails with
//!   [`LogError::Poisoned`], opening the log again decides.
//! * Opening finds the end by following the chain. What lies behind the last good block is a torn tail only if nothing
//!   there claims that more had been hardened; otherwise it is [`LogError::Corrupt`], never a silent cut ([`open`]).
//! * A block names the epoch of its writer. A copy takes blocks only from who speaks for the newest epoch that it has
//!   promised; a writer that lost its term appends nothing more ([`LogError::NotWriter`]).
//! * An append is refused with [`LogError::Full`] *before* it gets an LSN when its space is not certain.
//!
//! ## Deliberately absent
//! Rows, transactions, replicas, recovery, and any thread: a caller that wants segments made ahead of need calls
//! [`Log::provision`] when the [hook](Log::set_provision_hook) asks.

mod aligned;
mod appender;
pub mod block;
mod cut;
mod error;
mod flush;
mod follow;
mod log;
pub mod open;
mod recent;
mod room;
pub mod scan;
mod scrub;
pub mod segment;

pub use error::LogError;
pub use flush::Sleeper;
pub use follow::voids_unfinished;
pub use log::{
    ANNOUNCEMENT_BYTES_MAX, HardenedHook, Log, LogOptions, LogStats, Positions, SealedBlock, SegmentInfo, Tap,
};
pub use open::OpenFrom;
pub use scan::Scanner;

#[cfg(test)]
mod tests;
