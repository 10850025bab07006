//! What redo does to a database: [`Follower`] is shared by the database and the lanes that apply its log.
//!
//! Readers of a secondary take their snapshots at the store's stable point. It follows the applied point, but never past
//! what the group has agreed on; before it moves over changes of the catalog, the [hook](Follower::on_catalog) is told of
//! each, so that whoever keeps pictures of the schema knows which of them belongs to a snapshot.

use crate::database::Database;
use crate::role::Role;
use keel_base::{Lsn, TreeId};
use keel_log::LogError;
use keel_redo::{Chunk, LogSource, RedoError, RowRecord, Source, Target};
use keel_store::{Store, StoreError};
use parking_lot::{Condvar, Mutex, RwLock};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// The tree whose changes are announced: the catalog of every database.
pub const CATALOG_TREE: TreeId = TreeId(1);

/// Called with a position, from redo threads and from changes of role: it must neither wait for redo nor change a role.
pub type PositionHook = Arc<dyn Fn(Lsn) + Send + Sync>;

/// A streaming transaction, as checkpoints see it.
pub(crate) struct Stream {
    /// A position at or before its first record.
    pub(crate) first: Lsn,
    /// Where its commit ends, or the abort of one that was prepared, once it has one.
    pub(crate) decided: Option<Lsn>,
    /// What who decides calls it, when redo has met it prepared.
    pub(crate) name: Option<Arc<[u8]>>,
}

/// See the module.
pub(crate) struct Follower {
    pub(crate) store: Arc<Store>,
    /// What the group has agreed on, as far as this replica was told.
    pub(crate) agreed: AtomicU64,
    /// Log up to here may be applied.
    pub(crate) limit: Arc<AtomicU64>,
    /// Keyed by stream id.
    pub(crate) streams: Mutex<HashMap<u64, Stream>>,
    /// Redo goes on whatever memory it takes: a promotion waits for it.
    pub(crate) hurry: AtomicBool,
    pub(crate) database: OnceLock<Weak<Database>>,
    pub(crate) on_applied: RwLock<Option<PositionHook>>,
    pub(crate) on_catalog: RwLock<Option<PositionHook>>,
    applied: Mutex<Lsn>,
    moved: Condvar,
}

impl Follower {
    pub(crate) fn new(store: &Arc<Store>, agreed: Lsn) -> Arc<Follower> {
        Arc::new(Follower {
            store: Arc::clone(store),
            agreed: AtomicU64::new(agreed.0),
            limit: Arc::new(AtomicU64::new(agreed.0)),
            streams: Mutex::new(HashMap::new()),
            hurry: AtomicBool::new(false),
            database: OnceLock::new(),
            on_applied: RwLock::new(None),
            on_catalog: RwLock::new(None),
            applied: Mutex::new(Lsn::ZERO),
            moved: Condvar::new(),
        })
    }

    pub(crate) fn agreed(&self) -> Lsn {
        Lsn(self.agreed.load(Ordering::Acquire))
    }

    /// How far the log is in the store.
    pub(crate) fn applied(&self) -> Lsn {
        *self.applied.lock()
    }

    /// Lets readers see everything up to `to`, as far as it is agreed on. The catalog was changed at `changes`.
    pub(crate) fn show(&self, to: Lsn, changes: &[Lsn]) {
        // Held until the point has moved: who sets a hook knows that changes before it can be seen by then.
        let hook = self.on_catalog.read();
        if let Some(hook) = &*hook {
            changes.iter().for_each(|at| hook(*at));
        }
        self.store.advance_stable(to.min(self.agreed()));
    }

    /// The catalog is changed by a commit at `lsn`, which nobody sees yet.
    pub(crate) fn note_catalog(&self, lsn: Lsn) {
        if let Some(hook) = &*self.on_catalog.read() {
            hook(lsn);
        }
    }

    /// The catalog is not what the hook was told of so far: the role is another, or what readers have seen was cut off. Who
    /// sees everything before `at` sees it whole.
    pub(crate) fn forget_catalog(&self, at: Lsn) {
        if let Some(hook) = &*self.on_catalog.read() {
            hook(Lsn::ZERO);
            hook(at);
        }
    }

    /// Redo has come to `lsn`.
    fn note_applied(&self, lsn: Lsn) {
        let mut applied = self.applied.lock();
        *applied = lsn.max(*applied);
        self.moved.notify_all();
    }

    /// Sets the applied point where redo does not: when it begins, and when it is taken back.
    pub(crate) fn set_applied(&self, lsn: Lsn) {
        *self.applied.lock() = lsn;
        self.moved.notify_all();
    }

    /// Where redo must begin that has come to `at` and holds no part of any stream: where the first one begins that is not decided
    /// before that.
    pub(crate) fn streams_begin(&self, at: Lsn) -> Lsn {
        let streams = self.streams.lock();
        let open = streams.values().filter(|stream| stream.decided.is_none_or(|end| end > at));
        open.map(|stream| stream.first).min().map_or(at, |first| first.min(at))
    }

    /// The log ends at `at` now: what began later is gone, what was decided later is not.
    pub(crate) fn cut_streams(&self, at: Lsn) {
        let mut streams = self.streams.lock();
        streams.retain(|_, stream| stream.first < at);
        streams.values_mut().filter(|s| s.decided.is_some_and(|end| end > at)).for_each(|s| s.decided = None);
    }

    /// Waits until `lsn` is applied; false when the time is over first.
    pub(crate) fn wait_applied(&self, lsn: Lsn, timeout: Duration) -> bool {
        let mut applied = self.applied.lock();
        let condition = |applied: &mut Lsn| *applied < lsn;
        !self.moved.wait_while_for(&mut applied, condition, timeout).timed_out() || *applied >= lsn
    }
}

/// The follower as what redo applies to.
pub(crate) struct Rows(pub(crate) Arc<Follower>);

impl Target for Rows {
    fn apply(&self, lsn: Lsn, record: &RowRecord<'_>) -> Result<(), StoreError> {
        loop {
            match Target::apply(self.0.store.as_ref(), lsn, record) {
                // Left by a transaction from before the replica gave up its role: it can never commit.
                Err(StoreError::Undecided(_)) => self.0.store.abandon(record.tree, record.key),
                done => return done,
            }
        }
    }

    fn apply_all(&self, lsn: Lsn, records: &[RowRecord<'_>]) -> Result<(), (usize, StoreError)> {
        let mut done = 0;
        loop {
            match Target::apply_all(self.0.store.as_ref(), lsn, &records[done..]) {
                // As above: it and what comes behind it is tried again.
                Err((n, StoreError::Undecided(_))) => {
                    done += n;
                    self.0.store.abandon(records[done].tree, records[done].key);
                }
                Err((n, error)) => return Err((done + n, error)),
                Ok(()) => return Ok(()),
            }
        }
    }

    fn drop_tree(&self, tree: TreeId, lsn: Lsn) {
        self.0.store.drop_tree(tree, lsn);
    }

    fn applied(&self, to: Lsn, watched: &[Lsn]) {
        self.0.show(to, watched);
        self.0.note_applied(to);
        let hook = self.0.on_applied.read().clone();
        if let Some(hook) = hook {
            hook(to);
        }
        if let Some(database) = self.0.database.get().and_then(Weak::upgrade) {
            database.note_appended(to);
            let instance = database.instance();
            if instance.delta_bytes() > instance.pressure().checkpoint_bytes() {
                database.ask_for_checkpoint();
            }
        }
    }

    fn stream_opened(&self, stream: u64, first: Lsn) {
        self.0.streams.lock().insert(stream, Stream { first, decided: None, name: None });
    }

    fn stream_prepared(&self, stream: u64, name: &[u8]) {
        if let Some(stream) = self.0.streams.lock().get_mut(&stream) {
            stream.name = crate::prepared::own_name(name);
        }
    }

    fn stream_closed(&self, stream: u64, end: Option<Lsn>) {
        let mut streams = self.0.streams.lock();
        match (end, streams.get_mut(&stream)) {
            (Some(end), Some(stream)) => stream.decided = Some(end),
            _ => {
                streams.remove(&stream);
            }
        }
    }
}

/// The log as redo's source; dry while the row versions in memory are at their limit, until a checkpoint has run.
pub(crate) struct Gauged {
    pub(crate) log: LogSource,
    pub(crate) follower: Arc<Follower>,
}

impl Source for Gauged {
    fn next(&mut self) -> Result<Option<Chunk>, RedoError> {
        if let Some(database) = self.follower.database.get().and_then(Weak::upgrade) {
            let instance = database.instance();
            if self.follower.hurry.load(Ordering::Acquire) {
                // Writers of other databases are not to suffer for it.
                instance.pressure().lend(instance.delta_bytes());
                return self.log.next();
            }
            // Before it is readable no checkpoint would help.
            if instance.delta_bytes() >= instance.pressure().hard_bytes() && database.is_readable() {
                database.ask_for_checkpoint();
                return Ok(None);
            }
            return match self.log.next() {
                // It stands still until the certificate is here; who must have all of it, hurries.
                Err(RedoError::Log(LogError::Locked { .. })) if database.role() == Role::Secondary => {
                    Ok(None)
                }
                next => next,
            };
        }
        self.log.next()
    }
}
