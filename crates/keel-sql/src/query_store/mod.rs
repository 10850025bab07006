//! # Query Store: which queries ran, by which plans, and what that cost
//!
//! ```text
//!   statement ─► Ran ──(end of the request)──► Slot of its session ──(once a second, or who looks)──► Memory ──(flush)──► tree of the database
//!                                                                                                        └──► views ◄─────────┘
//! ```
//!
//! A session keeps a `Slot` for each statement and plan that it has run, which nobody else writes to: what an execution
//! costs is two looks at the clock, one look into a map of the session's own and one entry of a list. When the request ends, or the list is
//! full, the entries are added up in their slots, each with its share of the processor time, which is measured once for all of them. Whoever
//! gathers takes the sums out of all slots and puts them where they belong in the database's `Memory`: there
//! texts, queries and plans get their numbers, and new rows wait until they are written. The rows are in a tree of the database,
//! so backups, restarts and replicas have them.
//!
//! | file | owns |
//! | --- | --- |
//! | `settings` | the options, and which state follows from them |
//! | `record` | what a session notes: the only part that statements run through |
//! | `identity` | what tells queries and plans apart: text, hashes, context |
//! | `rows` | what is stored, as keys and values of the tree |
//! | `memory` | the rows that are yet to be written over those that are, numbers, what counts as captured |
//! | `gather` | from sessions to databases |
//! | `flush` | from memory to the tree, and what is removed from there |
//! | `advice` | what a query is compiled by: hints, or a plan that is forced |
//! | `procs` | the procedures |
//!
//! Invariants: numbers are never given twice, but after a crash, which takes those that were not written, and CLEAR; a row refers only to rows
//! that are there; a database whose store is off costs a statement one look at a flag.
//!
//! Deliberately absent: plans that force themselves, and what learns from how they did.

mod advice;
mod flush;
mod gather;
mod identity;
mod memory;
mod procs;
mod record;
mod rows;
mod settings;

pub(crate) use advice::{forced, hinted, parse_hints, with_hints};
pub use flush::rounds;
pub(crate) use flush::{clear, flush_all, write_out};
pub(crate) use gather::{gather, gather_if_free};
pub(crate) use identity::{
    CATEGORIES, plan_hash, query_hash, shape_hash, statement_handle, with_declarations,
};
pub(crate) use procs::{
    sp_query_store_clear_hints, sp_query_store_clear_message_queues, sp_query_store_consistency_check,
    sp_query_store_flush_db, sp_query_store_force_plan, sp_query_store_remove_plan,
    sp_query_store_remove_query, sp_query_store_reset_exec_stats, sp_query_store_set_hints,
    sp_query_store_unforce_plan,
};
pub(crate) use record::{Figure, StatementBegun, figure};
pub use record::{Recorded, Recording};
pub(crate) use rows::{
    ContextRow, ForcedRow, HintRow, IntervalRow, PlanRow, QueryRow, RuntimeRow, Stored, TextRow, WaitRow,
    read_documents, read_rows,
};
pub(crate) use settings::{ActualState, DEFAULT_POLICY, actual_state};
pub use settings::{CaptureMode, CapturePolicy, QueryStoreSettings, Wanted};

use crate::engine::DatabaseEntry;
use hashbrown::HashMap;
use keel_base::TreeId;
use keel_node::Role;
use memory::Memory;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a database's store needs in memory.
#[derive(Default)]
pub(crate) struct State {
    /// Statements of this database are recorded. Written by [`State::follow`].
    captures: AtomicBool,
    /// Bytes of all rows, as they were counted last; 0 before that.
    bytes: AtomicU64,
    memory: Mutex<Memory>,
    /// Held while rows are written.
    flushing: Mutex<()>,
    turns: flush::Turns,
    /// Hints and forced plans of queries, by what tells these apart: what compiling looks into.
    advice: advice::Advice,
}

impl State {
    /// Whether statements are recorded.
    #[inline]
    pub(crate) fn captures(&self) -> bool {
        self.captures.load(Ordering::Relaxed)
    }

    /// The settings, the role or the room have become others. Says whether statements are recorded.
    pub(crate) fn follow(&self, entry: &DatabaseEntry) -> bool {
        let captures = matches!(actual_state(entry), ActualState::ReadWrite);
        self.captures.store(captures, Ordering::Relaxed);
        captures
    }

    /// Another writes the database now, or this one does again: what was in memory is not what is stored.
    pub(crate) fn role_changed(&self) {
        *self.memory.lock() = Memory::default();
        self.bytes.store(0, Ordering::Relaxed);
        self.advice.forget();
    }

    /// Whether it has as much as it may have: nothing is recorded until there is room.
    fn is_full(&self, settings: &QueryStoreSettings) -> bool {
        self.bytes.load(Ordering::Relaxed) > settings.bytes_max()
    }
}

/// Bytes of all rows of a database's store.
pub(crate) fn bytes(entry: &DatabaseEntry) -> keel_types::error::Result<u64> {
    if is_written(entry) {
        return Ok(loaded(entry)?.bytes());
    }
    rows::stored_bytes(entry)
}

/// The tree of a database's store, once it has one. Looking may find that the role has changed, which locks the memory: asked for
/// before that is locked, here and wherever else a picture is wanted.
fn tree_of(entry: &DatabaseEntry) -> Option<TreeId> {
    entry.picture().settings().query_store.as_ref().and_then(|s| s.tree)
}

/// The memory of a database's store, which knows what is stored. No picture may be asked for while it is held: see [`tree_of`].
fn loaded(entry: &DatabaseEntry) -> keel_types::error::Result<MutexGuard<'_, Memory>> {
    let tree = tree_of(entry);
    let mut memory = entry.query_store.memory.lock();
    memory.load(entry, tree)?;
    Ok(memory)
}

/// Whether the database is written here.
pub(crate) fn is_written(entry: &DatabaseEntry) -> bool {
    let picture = entry.picture();
    let settings = picture.settings();
    let writes = matches!(entry.store.role(), Role::Standalone | Role::Primary);
    writes && !settings.read_only && !settings.offline && !entry.is_restoring() && entry.snapshot().is_none()
}

/// Maps with keys that clients have a part in.
type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
