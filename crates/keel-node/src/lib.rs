//! # keel-node: databases as the SQL layers see them
//!
//! Log, store and redo put together. An [`Instance`] holds what all databases of a process share (lock manager, page cache,
//! memory account, the threads for checkpoints and log segments); a [`Database`] is one log with one store; a [`Transaction`] is the only way to
//! read and write rows.
//!
//! ## The life of a transaction
//! ```text
//! begin ─► read: snapshot at max(hardened and agreed, what it has observed)
//!       ─► write: X lock ► version in the delta under its status ► redo record in its private buffer
//!       ─► commit: seal the buffer ► log.append ── stamp: status := commit LSN (inside the append)
//!                  ► locks go ► wait(hardened ≥ commit LSN) ► gate(agreed ≥ commit LSN) ► the caller may reply
//! ```
//! * **Locks go at append, replies go at hardened.** Whoever reads a row that is committed but not hardened (a writer,
//!   under the lock) remembers the LSN in `observed` and waits for it before replying, even when it wrote nothing itself.
//! * **A large transaction streams**: when its buffer is full the records go to the log early under a stream id, and the
//!   commit group decides. Its versions are undecided in the delta all the while.
//! * **In an availability group** ([`role`]) a commit also waits for those whom its group waits for, at a gate that costs a
//!   database of its own two loads; a secondary takes the primary's blocks, and redo makes them rows for
//!   readers. Roles change in place. New copies are [seeded](seed); a [backup] is a copy in a file.
//! * **A [snapshot]** is the database as it was at a moment, over pages that are kept for it.
//! * **A volatile database** (tempdb) has no log: commits take their LSN from a counter.
//!
//! ## Positions of a database
//! `truncated ≤ redo start ≤ checkpoint ≤ hardened ≤ written ≤ appended`, checked by [`database::DbPositions::assert_ordered`]
//! after each checkpoint and opening. The *redo start* is the checkpoint, or the first record of the oldest transaction that
//! was streaming then.
//!
//! ## Memory
//! The deltas of all databases share a budget ([`pressure`]). Past the checkpoint mark the fullest database is
//! checkpointed; past the soft mark a transaction's first write waits a little, the longer the fuller; at the hard mark a
//! write fails with [`TxnError::OutOfMemory`] before anybody else is hurt.
//!
//! ## Deliberately absent
//! SQL, sessions, sockets; who is primary, who is waited for, and how blocks travel: those decide and call.

pub mod backup;
mod bytes;
pub mod check;
mod checkpoint;
pub mod checksum;
pub mod control;
pub mod database;
pub mod detached;
pub mod error;
mod follower;
mod gate;
mod held;
pub mod housekeeping;
pub mod instance;
pub mod keys;
pub mod locks;
pub mod log_records;
mod marker;
mod pace;
pub mod prepared;
pub mod pressure;
pub mod read;
pub mod retention;
pub mod role;
mod roots;
mod schedule;
pub mod seed;
pub mod snapshot;
pub mod transaction;
mod whole_file;

pub use check::DbCheck;
pub use checksum::TreeChecksum;
pub use database::{Database, DbOptions, DbPositions, DbStats, Durability, LogReuseWait, Progress};
pub use error::{DbError, TxnError};
pub use follower::{CATALOG_TREE, PositionHook};
pub use held::HeldRedo;
pub use instance::{Instance, InstanceOptions};
pub use keel_base::cipher::Algorithm;
pub use keel_log::SegmentInfo;
pub use keel_redo::IdleWaits;
pub use keel_store::RowRef;
pub use keys::{Encryption, EncryptionState, KeyRing};
pub use locks::Agent;
pub use prepared::InDoubt;
pub use read::{Cursor, Direction, ReadPoint, ReadView};
pub use retention::LogHolder;
pub use role::Role;
pub use seed::{SeedInfo, SeedSink, SeedSource};
pub use snapshot::SnapshotInfo;
pub use transaction::{Commit, Isolation, Loading, LockMode, Mark, Transaction};

#[cfg(test)]
mod tests;
