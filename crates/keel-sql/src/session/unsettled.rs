//! Commits of a request that have their place in the log and are not waited for yet.
//!
//! ```text
//! INSERT … │ INSERT … │ INSERT … │ SELECT … │ end        what a session does
//!   commit     commit     commit                            each has its place in the log, in this order
//!              └─ the log writer makes them durable ──►     meanwhile
//!                                        settle ─┘          before the first byte of an answer
//! ```
//! A commit must be durable when somebody can know of it. The client learns of all that a request has done when bytes of its answer
//! leave; other sessions' snapshots see it when it is durable. So a session goes on behind a commit, what follows reads what it wrote
//! ([`keel_node::Transaction::follow`]), and it **settles**, waits for all of them at once, before
//!
//! * anything is sent, and at the end of the request ([`crate::Session::settle`]);
//! * it does what others may see sooner than a snapshot would: a commit in another database, administration, system procedures, asking
//!   another server, giving an application lock back; and before it reads what has no snapshots, the system's views;
//! * more than [`BYTES_MAX`] of log are behind it, so that who commits a row does not wait for the log of who commits many.
//!
//! A commit that more than rows depends on (of definitions, of several databases, with a mark, of tracked or captured changes) is waited
//! for where it stands. When settling fails, what became of the commits is known to the log alone: the session ends, and nothing that it
//! says of them has been sent.

use super::txns;
use crate::engine::DatabaseEntry;
use crate::map::txn_error;
use keel_base::DatabaseId;
use keel_node::{Commit, Role, Transaction};
use keel_types::SqlError;
use keel_types::error::Result;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Log of a session that is not durable, at most, before it waits: some flushes' worth.
const BYTES_MAX: u64 = 256 << 10;

/// See the module. Only the session's own thread settles; the rest is for any.
#[derive(Default)]
pub struct Unsettled {
    /// Whether there is anything below.
    any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The last commit; those before it are in the same log before it.
    last: Option<(Commit, Arc<DatabaseEntry>)>,
    /// It is being made durable.
    asked: bool,
    /// What became of the commits is not known.
    failed: Option<Box<SqlError>>,
}

impl std::fmt::Debug for Unsettled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unsettled").field("any", &self.any).finish_non_exhaustive()
    }
}

impl Unsettled {
    /// Whether anything is to be settled.
    #[inline]
    #[must_use]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Whether a commit of another database is.
    pub(super) fn any_besides(&self, database: DatabaseId) -> bool {
        self.any() && self.state.lock().last.as_ref().is_some_and(|(_, entry)| entry.id != database)
    }

    /// Takes a commit, behind those of the same database; waits when there is too much.
    ///
    /// # Errors
    /// Those of [`Unsettled::settle`].
    pub(super) fn take(&self, commit: Commit, entry: Arc<DatabaseEntry>, session: u32) -> Result<()> {
        if self.any_besides(entry.id) {
            self.settle(session)?;
        }
        let much = commit.bytes_left() > BYTES_MAX;
        {
            let mut state = self.state.lock();
            if state.last.as_ref().is_some_and(|(last, _)| last.lsn() >= commit.lsn()) {
                return Ok(());
            }
            if let Some((_, entry)) = state.last.replace((commit, entry))
                && entry.store.role() == Role::Primary
            {
                entry.note_group_commit(Duration::ZERO);
            }
            state.asked = false;
        }
        self.any.store(true, Ordering::Relaxed);
        if much { self.settle(session) } else { Ok(()) }
    }

    /// A transaction that begins in a database reads what the session has committed there.
    ///
    /// # Errors
    /// Those of [`Unsettled::settle`], when the database has changed its role since.
    pub(super) fn show(&self, database: DatabaseId, txn: &Transaction, session: u32) -> Result<()> {
        if !self.any() {
            return Ok(());
        }
        self.settle_soon();
        let follows = match &self.state.lock().last {
            Some((commit, entry)) if entry.id == database => txn.follow(commit),
            _ => true,
        };
        if follows { Ok(()) } else { self.settle(session) }
    }

    /// The session goes on working, as it does when it looks into tables again, waits, or goes round a loop: others should not have to
    /// wait for its answer to see what it has committed.
    #[inline]
    pub(crate) fn settle_soon(&self) {
        if self.any() {
            self.ask();
        }
    }

    #[cold]
    fn ask(&self) {
        let mut state = self.state.lock();
        if !state.asked
            && let Some((commit, _)) = &state.last
        {
            commit.make_durable_soon();
            state.asked = true;
        }
    }

    /// Waits until everything is durable, here and where a group wants it. On the session's own thread.
    ///
    /// # Errors
    /// What became of the commits is not known; from then on always the same.
    pub fn settle(&self, session: u32) -> Result<()> {
        if !self.any() {
            return Ok(());
        }
        let last = {
            let mut state = self.state.lock();
            if let Some(e) = &state.failed {
                return Err(e.clone());
            }
            state.last.take()
        };
        if let Some((commit, entry)) = last
            && let Err(e) = txns::wait(commit, &entry)
        {
            let e = txn_error(e, &entry.name(), session);
            self.state.lock().failed = Some(e.clone());
            return Err(e);
        }
        self.any.store(false, Ordering::Relaxed);
        Ok(())
    }
}
