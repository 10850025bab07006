//! # keel-redo: what the log's bytes mean, and how they become rows again
//!
//! The only crate that knows both the record format and the store. Encoding a change ([`record`]) and applying it
//! ([`apply`]) stand side by side.
//!
//! ## Model
//! A transaction's changes are **row records** (tree, key, put row | patch columns | delete). They travel in **groups**;
//! one group is one append of the log, so it arrives whole or not at all. A small transaction is a single group, whose end
//! is the commit LSN. A transaction too large for its buffer sends *parts* early under a stream id; a later *commit* or
//! *abort* group decides about them all, a *rollback* group voids those after a savepoint. A *prepare* group says that all parts are
//! there and that somebody outside decides: such a stream is in doubt, not void, when its writer is gone.
//!
//! ```text
//!   ┌ group ──────────────────────────┐┌ part of stream 7 ───┐┌ group ───┐┌ commit of stream 7 ┐
//!   │header│put│patch│patch│delete│put││header│put│put│put │ ││header│put││header│put│patch     │
//!   └─────────────────────────────────┘└─────────────────────┘└──────────┘└────────────────────┘
//! ```
//!
//! ## Redo
//! W lanes each walk every group and apply the records whose key hash falls to them; a record header carries hash and
//! length, so passing over one costs a few nanoseconds. Nobody hands out work. A lane that needs the next chunk of the
//! log fetches it from the [`Source`] for all. Parts of a stream are remembered and applied when the commit group comes.
//! Recovery ([`replay`]) and the secondary, which never comes to an end ([`Applier`] driven by a [`RedoPool`]), are the same
//! code.
//!
//! ## Invariants
//! * Records of one key are applied by one lane, in log order.
//! * The applied position is that of the slowest lane: everything before it is in the store.
//! * Applying the same log twice leaves the same rows (a patch names columns, not bytes).
//! * Nothing is ever undone: what has no commit in the log is not applied.
//!
//! ## Deliberately absent
//! Other places that chunks may come from (a backup is another [`Source`]), who waits for the applied position, replicas.

pub mod apply;
pub mod pool;
pub mod record;
pub mod source;
pub mod target;

pub use apply::{
    ALONE_BYTES, Applied, Applier, Chunk, RedoError, RedoOptions, Source, Turn, Undecided, replay,
};
pub use pool::{IdleWaits, RedoPool, Task};
pub use record::{Change, Group, GroupKind, RecordBuffer, RowRecord, prepare_group};
pub use source::LogSource;
pub use target::Target;

#[cfg(test)]
mod tests;
