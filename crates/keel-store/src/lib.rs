//! # keel-store: rows, versions, locks
//!
//! ```text
//! read:   delta (versions, newest first) ──miss──► base tree (immutable snapshot)
//! ```
//!
//! * [`row`] – the stored form of a row and of a patch, by byte.
//! * [`base`] – one copy-on-write B+tree file with the rows as of the checkpoint.
//! * [`delta`] – every version since, in memory; [`version`] is one of them, [`txn`] the set that a transaction
//!   wrote, [`snapshot`] who reads what and what may therefore go.
//! * [`store`] – delta over base: get, [`scan`], write, [`checkpoint`].
//!
//! * [`lock`] – the lock manager of an instance.
//!
//! Deliberately absent: the log (it receives and hands out changes with an LSN), SQL types, key encoding.

pub mod base;
pub mod checkpoint;
pub mod delta;
pub mod gap;
mod key_bytes;
pub mod lock;
pub mod row;
pub mod scan;
pub mod snapshot;
pub mod store;
pub mod txn;
pub mod version;

pub use base::Direction;
pub use checkpoint::{Checkpoint, CheckpointOptions, CheckpointReport};
pub use delta::evict::{EvictReport, Traces};
pub use delta::{Change, MemoryAccount};
pub use gap::BaseGap;
pub use lock::{LockError, LockManager, LockOwner};
pub use scan::Cursor;
pub use snapshot::Snapshot;
pub use store::{Latest, ReadMode, Store, StoreError};
pub use txn::{Mark, TxnStatus, WriteSet};
pub use version::RowRef;
