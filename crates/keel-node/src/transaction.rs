//! [`Transaction`]: the only way to rows.
//!
//! What each isolation level does:
//!
//! | level | reads | locks kept |
//! | --- | --- | --- |
//! | read uncommitted | newest version, whoever wrote it | rows written |
//! | read committed | snapshot of the statement | rows written |
//! | snapshot | snapshot of the transaction; writing what another changed since is an error | rows written |
//! | repeatable read | newest committed version under a shared lock | rows read and written |
//! | serializable | the same, and the ranges looked through | rows and ranges read, rows written |
//!
//! Every write takes the row's exclusive lock, puts a version under the transaction's status into the delta and a record
//! into the redo buffer, in this order. Entries of secondary indexes are guarded by the lock of their row; they only ask
//! whether a serializable reader holds their range.

mod agent;
mod beside;
mod commit;
mod load;
mod locked;

use crate::control::micros;
use crate::database::Database;
use crate::error::TxnError;
use crate::locks::{Agent, txn_resource};
use crate::pressure::Verdict;
use crate::read::{Cursor, Direction, Locking, Observed, ReadView, View};
use keel_base::{Lsn, TreeId, TxnId};
use keel_redo::record::BufferMark;
use keel_redo::{Change as Record, GroupKind, RecordBuffer};
use keel_store::lock::{LockOwner, Mode, Resource, Wait};
use keel_store::row::Patch;
use keel_store::store::Latest;
use keel_store::{BaseGap, Change, ReadMode, RowRef, Snapshot, StoreError, WriteSet};
use smallvec::SmallVec;
use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use crate::locks::LockMode;
pub use commit::Commit;
pub use load::Loading;
use locked::LockedRow;

/// Writes between two looks at the memory in use.
const WRITES_PER_LOOK: u32 = 64;
/// What a write costs beside its version: its place in the undo list, which grows by doubling.
const UNDO_BYTES: u64 = 48;
/// The same with a lock of the row.
const LOCKED_BYTES: u64 = 256;
/// Rows longer than this are kept as patches in memory when the patch is much shorter.
const PATCH_ROW_BYTES_MIN: usize = 2048;
/// Trees whose gaps in the base are remembered.
const GAPS_MAX: usize = 8;

/// Isolation level of a transaction; statements may lock more by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Dirty reads: the newest version whoever wrote it.
    ReadUncommitted,
    /// Row versions as of the statement.
    #[default]
    ReadCommitted,
    /// Shared locks on rows read, kept to the end.
    RepeatableRead,
    /// Range locks, kept to the end.
    Serializable,
    /// Row versions as of the transaction; writing what another changed since is error 3960.
    Snapshot,
}

/// A place in a transaction to roll back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    store: keel_store::Mark,
    /// Redo records of the transaction before it, sent early or not.
    records: u64,
    buffer: BufferMark,
    drops: usize,
}

/// A transaction whose first records are in the log already.
struct Stream {
    id: u64,
    /// Records sent and not rolled back.
    records: u64,
}

/// A transaction of one database. Dropping it rolls it back.
pub struct Transaction {
    db: Arc<Database>,
    id: TxnId,
    isolation: Isolation,
    agent: Option<Agent>,
    wait: Wait,
    deadlock_priority: i32,
    /// Made when the first lock is asked for.
    owner: OnceLock<Arc<LockOwner>>,
    /// Made by the first write or savepoint.
    set: Option<WriteSet>,
    buffer: RecordBuffer,
    stream: Option<Stream>,
    /// What who decides calls it, once everything it has written is in the log with a prepare group behind it.
    prepared: Option<Arc<[u8]>>,
    dropped_trees: Vec<TreeId>,
    /// Under SNAPSHOT: what all statements read.
    snapshot: Option<Snapshot>,
    observed: Arc<Observed>,
    writes: u32,
    /// Bytes charged to the instance for locks and undo.
    charged: u64,
    log_bytes: u64,
    /// Whether it holds the lock that stands for itself.
    announced: bool,
    /// The term of the database in which it began; 0 where nothing may be written.
    term: u64,
    /// The row locked last for update or exclusively, which nearly always is the one read again and written next.
    locked: LockedRow,
    /// Tables locked, in which modes: so that the statements after the first ask nobody.
    tables: SmallVec<[(u32, LockMode); 8]>,
    /// Trees of tables that it has locked instead of their rows, with the strongest lock that a row needs no more.
    escalated: Vec<(TreeId, Mode)>,
    /// Where the base has no rows, of the trees that got rows last.
    gaps: Vec<BaseGap>,
}

impl Transaction {
    pub(crate) fn new(db: Arc<Database>, isolation: Isolation) -> Transaction {
        let id = db.instance().next_txn();
        let term = db.gate.term();
        Transaction {
            db,
            id,
            isolation,
            agent: None,
            wait: Wait::Forever,
            deadlock_priority: 0,
            owner: OnceLock::new(),
            set: None,
            buffer: RecordBuffer::new(),
            stream: None,
            prepared: None,
            dropped_trees: Vec::new(),
            snapshot: None,
            observed: Arc::default(),
            writes: 0,
            charged: 0,
            log_bytes: 0,
            announced: false,
            term,
            locked: LockedRow::default(),
            tables: SmallVec::new(),
            escalated: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// One that only reads, always at `snapshot`.
    pub(crate) fn reader(db: Arc<Database>, snapshot: Snapshot) -> Transaction {
        let mut txn = Transaction::new(db, Isolation::Snapshot);
        txn.term = 0;
        txn.snapshot = Some(snapshot);
        txn
    }

    /// Its id.
    pub fn id(&self) -> TxnId {
        self.id
    }

    /// Its database.
    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    /// Its isolation level.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// Changes the isolation level for later statements (SET TRANSACTION ISOLATION LEVEL).
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.isolation = isolation;
    }

    /// Whether something was written.
    pub fn has_writes(&self) -> bool {
        self.set.as_ref().is_some_and(|set| !set.is_empty())
            || self.stream.is_some()
            || !self.dropped_trees.is_empty()
    }

    /// Redo bytes so far (`database_transaction_log_bytes_used`).
    pub fn log_bytes(&self) -> u64 {
        self.log_bytes
    }

    /// Its locks, for resources that have no method here (application locks, metadata).
    pub fn lock_owner(&self) -> &Arc<LockOwner> {
        self.owner.get_or_init(|| {
            let agent = self.agent.clone().unwrap_or_else(|| Agent::anonymous(self.id));
            let owner = LockOwner::new(self.db.instance().locks(), agent.id, agent.context, agent.cancel);
            owner.set_deadlock_priority(self.deadlock_priority);
            Arc::new(owner)
        })
    }

    /// Whether all of it reads as of one point, whatever is asked for: where this instance does not write the database.
    #[must_use]
    #[inline]
    pub fn reads_a_point(&self) -> bool {
        self.term == 0
    }

    /// What a statement starting now reads. Under SNAPSHOT always the same point.
    pub fn statement_snapshot(&mut self) -> ReadView {
        self.view_as(self.isolation)
    }

    /// The same for a statement or table that asks for another isolation level than the transaction's (table hints).
    /// On a replica that is not the primary it is the transaction's snapshot whatever was asked for: redo takes no locks.
    pub fn view_as(&mut self, isolation: Isolation) -> ReadView {
        if self.term == 0 {
            return ReadView(View::Snapshot(self.own_snapshot()));
        }
        ReadView(match isolation {
            Isolation::ReadUncommitted => View::Dirty,
            Isolation::ReadCommitted => {
                let at_least = self.observed_and_stable();
                View::Snapshot(self.db.store().snapshot(at_least))
            }
            Isolation::Snapshot => View::Snapshot(self.own_snapshot()),
            Isolation::RepeatableRead => View::Locked { ranges: false },
            Isolation::Serializable => View::Locked { ranges: true },
        })
    }

    /// Where a snapshot must be at least; what may be seen is stable after this, but for what was told before.
    fn observed_and_stable(&self) -> Lsn {
        self.db.advance_visible();
        self.observed.get().max(self.db.told())
    }

    fn own_snapshot(&mut self) -> Snapshot {
        if self.snapshot.is_none() {
            let at_least = self.observed_and_stable();
            let store = self.db.store();
            let writes = self.term != 0;
            self.snapshot =
                Some(if writes { store.snapshot_of_writer(at_least) } else { store.snapshot(at_least) });
        }
        self.snapshot.clone().expect("made just now")
    }

    /// The row under `key` in `view`.
    #[inline]
    pub fn get(&self, view: &ReadView, tree: TreeId, key: &[u8]) -> Result<Option<RowRef>, TxnError> {
        match &view.0 {
            View::Snapshot(snapshot) => Ok(self.db.store().get(snapshot, self.set.as_ref(), tree, key)?),
            View::Dirty => Ok(self.db.store().get_dirty(self.set.as_ref(), tree, key)?),
            View::Locked { .. } => {
                // The key's lock guards it whether the row exists or not, so no range is needed.
                self.lock_key(tree, key, Mode::S)?;
                Ok(self.latest(tree, key)?.row)
            }
        }
    }

    /// The rows of a range in `view`, own writes included.
    pub fn scan(
        &self,
        view: &ReadView,
        tree: TreeId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Result<Cursor, TxnError> {
        let (mode, locking) = match &view.0 {
            View::Snapshot(snapshot) => (ReadMode::Snapshot(snapshot), None),
            View::Dirty => (ReadMode::Dirty, None),
            View::Locked { ranges } => {
                if *ranges {
                    self.lock_interval(tree, (lower, upper), Mode::RangeSS)?;
                }
                (ReadMode::Latest, Some(self.locking(tree, Some(Mode::S))))
            }
        };
        let inner = self.db.store().scan(mode, self.set.as_ref(), tree, (lower, upper), direction);
        Ok(Cursor { inner, locking })
    }

    /// Like [`Transaction::get`], but the newest version that is committed or own: for use under a lock.
    #[inline]
    pub fn get_latest(&mut self, tree: TreeId, key: &[u8]) -> Result<Option<RowRef>, TxnError> {
        let locked = self.locked.is(tree, key);
        if locked && self.locked.row.is_some() {
            return Ok(self.locked.row.clone());
        }
        let row = self.latest(tree, key)?.row;
        // Who locks a row for update mostly comes back to change it.
        if locked && !self.locked.exclusive {
            self.locked.row.clone_from(&row);
        }
        Ok(row)
    }

    /// Like [`Transaction::scan`], over the newest versions that are committed or own: finds what to update or delete.
    /// Rows that other transactions are changing are waited for. The caller locks each row that qualifies, reads it again
    /// with [`Transaction::get_latest`] and checks its condition again; for SERIALIZABLE it locks the range before.
    pub fn scan_latest(
        &mut self,
        tree: TreeId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        direction: Direction,
    ) -> Result<Cursor, TxnError> {
        let inner =
            self.db.store().scan(ReadMode::Latest, self.set.as_ref(), tree, (lower, upper), direction);
        Ok(Cursor { inner, locking: Some(self.locking(tree, None)) })
    }

    fn locking(&self, tree: TreeId, keep: Option<Mode>) -> Locking {
        Locking {
            owner: Arc::clone(self.lock_owner()),
            store: Arc::clone(self.db.store()),
            observed: Arc::clone(&self.observed),
            own: self.set.as_ref().map(|_| self.id),
            database: self.db.id(),
            tree,
            wait: self.wait,
            keep,
            skip: false,
        }
    }

    fn latest(&self, tree: TreeId, key: &[u8]) -> Result<Latest, TxnError> {
        let latest = self.db.store().get_latest(self.set.as_ref(), tree, key)?;
        self.observed.note(latest.lsn);
        Ok(latest)
    }

    #[inline]
    fn lock_key(&self, tree: TreeId, key: &[u8], mode: Mode) -> Result<(), TxnError> {
        if self.is_escalated(tree, mode) {
            return Ok(());
        }
        self.lock_owner().lock(&Resource::Key(self.db.id(), tree, key), mode, self.wait)?;
        Ok(())
    }

    fn lock_interval(
        &self,
        tree: TreeId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        mode: Mode,
    ) -> Result<(), TxnError> {
        self.lock_owner().lock_range(self.db.id(), tree, bounds, mode, self.wait)?;
        Ok(())
    }

    /// Locks a row to the end of the transaction.
    pub fn lock_row(&mut self, tree: TreeId, key: &[u8], mode: LockMode) -> Result<(), TxnError> {
        self.lock_key(tree, key, mode.into())?;
        if matches!(mode, LockMode::Exclusive | LockMode::Update) {
            self.locked.set(tree, key, mode == LockMode::Exclusive);
        }
        Ok(())
    }

    /// Locks a row to the end of the transaction if nobody is in the way; false otherwise (READPAST).
    pub fn try_lock_row(&mut self, tree: TreeId, key: &[u8], mode: LockMode) -> Result<bool, TxnError> {
        let wait = std::mem::replace(&mut self.wait, Wait::NO);
        let locked = self.lock_key(tree, key, mode.into());
        self.wait = wait;
        match locked {
            Ok(()) => Ok(true),
            Err(TxnError::LockTimeout) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Gives a row lock back before the end (a scanned row that did not qualify). Each call takes back one
    /// [`Transaction::lock_row`]; the caller must not have written the row.
    pub fn unlock_row(&mut self, tree: TreeId, key: &[u8]) {
        if self.locked.is(tree, key) {
            self.locked = LockedRow { key: std::mem::take(&mut self.locked.key), ..LockedRow::default() };
        }
        if let Some(owner) = self.owner.get() {
            owner.unlock(&Resource::Key(self.db.id(), tree, key));
        }
    }

    /// Locks a table to the end of the transaction.
    pub fn lock_table(&mut self, object: u32, mode: LockMode) -> Result<(), TxnError> {
        if !self.holds_table(object, mode) {
            self.lock_owner().lock(&Resource::Object(self.db.id(), object), mode.into(), self.wait)?;
            self.tables.push((object, mode));
        }
        Ok(())
    }

    /// Whether it has locked a table in this mode already; false may also mean: in a stronger one.
    #[inline]
    pub fn holds_table(&self, object: u32, mode: LockMode) -> bool {
        self.tables.contains(&(object, mode))
    }

    /// Locks a key range against writes by others (serializable), to the end of the transaction. The mode is shared, or
    /// stronger for exclusive use of the range.
    pub fn lock_range(
        &mut self,
        tree: TreeId,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        mode: LockMode,
    ) -> Result<(), TxnError> {
        let mode = match mode {
            LockMode::Exclusive => Mode::RangeXX,
            LockMode::Update => Mode::RangeSU,
            _ => Mode::RangeSS,
        };
        self.lock_interval(tree, (lower, upper), mode)
    }

    /// Adds a row; [`TxnError::Duplicate`] when the key exists. Locks it.
    pub fn insert(&mut self, tree: TreeId, key: &[u8], row: &[u8]) -> Result<(), TxnError> {
        self.before_write(LOCKED_BYTES)?;
        self.lock_key(tree, key, Mode::X)?;
        self.look_ahead(tree, key)?;
        self.locked.row = None;
        let (id, at) = (self.id, self.gap_of(tree));
        let set = self.set.get_or_insert_with(|| WriteSet::new(id));
        match self.db.store().insert_new(set, &mut self.gaps[at], key, row) {
            Ok(over) => self.observed.note(over),
            Err(StoreError::Duplicate) => {
                // Who is told of the row must have waited for its commit.
                self.latest(tree, key)?;
                return Err(TxnError::Duplicate);
            }
            Err(e) => return Err(e.into()),
        }
        self.record(tree, key, Record::Put(row))?;
        self.check_range(tree, key)
    }

    /// What is remembered of the base's gaps in a tree that gets rows, as an index into `gaps`.
    fn gap_of(&mut self, tree: TreeId) -> usize {
        if let Some(at) = self.gaps.iter().position(|gap| gap.tree() == tree) {
            return at;
        }
        if self.gaps.len() == GAPS_MAX {
            self.gaps.remove(0);
        }
        self.gaps.push(BaseGap::new(tree));
        self.gaps.len() - 1
    }

    /// Replaces a row that the caller has read under a lock. `patch` says which columns differ from that; only they are
    /// logged. Locks the row.
    pub fn update(
        &mut self,
        tree: TreeId,
        key: &[u8],
        new_row: &[u8],
        patch: Option<Patch<'_>>,
    ) -> Result<(), TxnError> {
        self.before_write(LOCKED_BYTES)?;
        if !self.locked.is_exclusive(tree, key) {
            self.lock_key(tree, key, Mode::X)?;
        }
        self.check_conflict(tree, key)?;
        match patch {
            Some(patch) if patch.as_bytes().len() < new_row.len() => {
                let short =
                    patch.as_bytes().len() * 8 < new_row.len() && new_row.len() >= PATCH_ROW_BYTES_MIN;
                let change = if short { Change::Patch(patch) } else { Change::Put(new_row) };
                self.write(tree, key, change, Record::Patch(patch.as_bytes()))
            }
            _ => self.write(tree, key, Change::Put(new_row), Record::Put(new_row)),
        }
    }

    /// Removes a row that the caller has read under a lock. Locks it.
    pub fn delete(&mut self, tree: TreeId, key: &[u8]) -> Result<(), TxnError> {
        self.before_write(LOCKED_BYTES)?;
        if !self.locked.is_exclusive(tree, key) {
            self.lock_key(tree, key, Mode::X)?;
        }
        self.check_conflict(tree, key)?;
        self.write(tree, key, Change::Delete, Record::Delete)
    }

    /// Writes an entry of a secondary index, which the base row's lock guards; takes no lock, checks nothing.
    pub fn put_index(&mut self, tree: TreeId, key: &[u8], row: &[u8]) -> Result<(), TxnError> {
        self.before_write(UNDO_BYTES)?;
        self.announce()?;
        self.write(tree, key, Change::Put(row), Record::Put(row))
    }

    /// Removes an entry of a secondary index; takes no lock, checks nothing.
    pub fn delete_index(&mut self, tree: TreeId, key: &[u8]) -> Result<(), TxnError> {
        self.before_write(UNDO_BYTES)?;
        self.announce()?;
        self.write(tree, key, Change::Delete, Record::Delete)
    }

    /// Drops a whole tree (DROP, TRUNCATE) when the transaction commits. Its id must never be used again, and nobody may
    /// be reading or writing it: the caller holds the schema lock.
    pub fn drop_tree(&mut self, tree: TreeId) -> Result<(), TxnError> {
        self.before_write(UNDO_BYTES)?;
        self.dropped_trees.push(tree);
        if self.db.log().is_some() {
            self.buffer.add(tree, &[], Record::DropTree);
        }
        Ok(())
    }

    /// Under SNAPSHOT a row that another transaction changed after the snapshot must not be written.
    fn check_conflict(&mut self, tree: TreeId, key: &[u8]) -> Result<(), TxnError> {
        if self.isolation != Isolation::Snapshot {
            return Ok(());
        }
        let snapshot = self.own_snapshot();
        if self.db.store().changed_since(&snapshot, self.set.as_ref(), tree, key)? {
            return Err(TxnError::SnapshotConflict);
        }
        Ok(())
    }

    /// Says of a row that is read under a lock, because what is written depends on it: under SNAPSHOT another transaction must
    /// not have changed it after the snapshot.
    pub fn depend_on_row(&mut self, tree: TreeId, key: &[u8]) -> Result<(), TxnError> {
        self.check_conflict(tree, key)
    }

    /// Takes the lock that stands for this transaction, so that readers of its index entries can wait for it.
    fn announce(&mut self) -> Result<(), TxnError> {
        if !self.announced {
            let id = self.id.0.to_be_bytes();
            self.lock_owner().lock(&txn_resource(self.db.id(), &id), Mode::X, self.wait)?;
            self.announced = true;
        }
        Ok(())
    }

    #[inline]
    fn before_write(&mut self, overhead_bytes: u64) -> Result<(), TxnError> {
        if self.writes.is_multiple_of(WRITES_PER_LOOK) {
            self.look_at_memory(overhead_bytes)?;
        }
        self.writes = self.writes.wrapping_add(1);
        Ok(())
    }

    #[cold]
    fn look_at_memory(&mut self, overhead_bytes: u64) -> Result<(), TxnError> {
        if self.db.is_closed() {
            return Err(TxnError::Poisoned("the database is closed".into()));
        }
        if self.term == 0 || self.term != self.db.gate.term() {
            return Err(TxnError::RoleChanged("the database cannot be written here (any more)".into()));
        }
        if self.writes > 0 {
            // Rows without locks of their own are those that are written by the thousand.
            let by_thousands = self.escalated.iter().any(|(_, mode)| *mode == Mode::X);
            let overhead_bytes = if by_thousands { UNDO_BYTES } else { overhead_bytes };
            let bytes = u64::from(WRITES_PER_LOOK) * overhead_bytes;
            self.db.instance().charge(bytes);
            self.charged += bytes;
        }
        let own = self.charged + self.set.as_ref().map_or(0, WriteSet::bytes_written);
        let memory = match self.db.instance().judge_memory(own) {
            Verdict::Free | Verdict::Checkpoint => Duration::ZERO,
            Verdict::Delay(time) => time,
            Verdict::Refuse => return Err(TxnError::OutOfMemory),
        };
        let time = self.db.writers_wait().max(memory);
        if !time.is_zero() {
            std::thread::sleep(time);
        }
        Ok(())
    }

    fn set(&mut self) -> &mut WriteSet {
        let id = self.id;
        self.set.get_or_insert_with(|| WriteSet::new(id))
    }

    #[inline]
    fn write(
        &mut self,
        tree: TreeId,
        key: &[u8],
        change: Change<'_>,
        record: Record<'_>,
    ) -> Result<(), TxnError> {
        self.look_ahead(tree, key)?;
        self.locked.row = None;
        let id = self.id;
        let set = self.set.get_or_insert_with(|| WriteSet::new(id));
        self.db.store().write(set, tree, key, change)?;
        self.record(tree, key, record)?;
        self.check_range(tree, key)
    }

    /// Waits for whoever is known to hold a range over `key`, before its version is written.
    #[inline]
    fn look_ahead(&self, tree: TreeId, key: &[u8]) -> Result<(), TxnError> {
        let owner = self.owner.get().expect("every write has taken a lock before");
        owner.look_ahead(self.db.id(), tree, key, self.wait)?;
        Ok(())
    }

    /// Waits for whoever holds a range over `key`, after its version was written: a range taken later sees the version.
    #[inline]
    fn check_range(&self, tree: TreeId, key: &[u8]) -> Result<(), TxnError> {
        let owner = self.owner.get().expect("every write has taken a lock before");
        owner.check_write(self.db.id(), tree, key, self.wait)?;
        Ok(())
    }

    /// Adds a redo record. Nothing else may fail between a version and its record: one that stays in the set must have it.
    #[inline]
    fn record(&mut self, tree: TreeId, key: &[u8], record: Record<'_>) -> Result<(), TxnError> {
        if self.db.log().is_none() {
            return Ok(());
        }
        let before = self.buffer.len();
        self.buffer.add(tree, key, record);
        self.log_bytes += (self.buffer.len() - before) as u64;
        if let Some(owner) = self.owner.get() {
            owner.set_log_used(self.log_bytes);
        }
        if self.buffer.len() > self.db.instance().options().stream_bytes {
            self.send_part()?;
        }
        Ok(())
    }

    /// Sends the records gathered so far to the log, under a stream id.
    fn send_part(&mut self) -> Result<(), TxnError> {
        let Some(log) = self.db.log() else { return Ok(()) };
        let stream = self.stream.get_or_insert_with(|| Stream { id: self.db.begin_stream(), records: 0 });
        let end = log.append_in(self.term, self.buffer.seal(GroupKind::Part, stream.id, 0), |_| ())?;
        stream.records += u64::from(self.buffer.records());
        self.buffer.clear(self.db.instance().options().stream_bytes * 2);
        self.db.note_appended(end);
        Ok(())
    }

    /// A place to roll back to.
    pub fn savepoint(&mut self) -> Mark {
        let sent = self.stream.as_ref().map_or(0, |stream| stream.records);
        Mark {
            records: sent + u64::from(self.buffer.records()),
            buffer: self.buffer.mark(),
            drops: self.dropped_trees.len(),
            store: self.set().savepoint(),
        }
    }

    /// Says that nobody will roll back to `mark` any more; saves memory, changes nothing else.
    pub fn release(&mut self, mark: Mark) {
        self.set().release(mark.store);
    }

    /// Undoes everything written after `mark`. Locks stay.
    pub fn rollback_to(&mut self, mark: Mark) -> Result<(), TxnError> {
        self.locked.row = None;
        self.set().rollback_to(mark.store);
        self.dropped_trees.truncate(mark.drops);
        let sent = self.stream.as_ref().map_or(0, |stream| stream.records);
        if mark.records >= sent {
            self.buffer.truncate(self.place_of(mark, sent));
            return Ok(());
        }
        self.buffer.clear(self.db.instance().options().stream_bytes * 2);
        if let (Some(log), Some(stream)) = (self.db.log(), &mut self.stream) {
            let keep = i64::try_from(mark.records).expect("fewer than 2^63 records");
            log.append_in(self.term, self.buffer.seal(GroupKind::Rollback, stream.id, keep), |_| ())?;
            self.buffer.clear(self.db.instance().options().stream_bytes * 2);
            stream.records = mark.records;
        }
        Ok(())
    }

    /// Where in the buffer a mark lies that is not before what was sent. When the buffer was sent right at the mark, it is
    /// the buffer's start.
    fn place_of(&self, mark: Mark, sent: u64) -> BufferMark {
        if mark.records == sent { BufferMark::START } else { mark.buffer }
    }

    /// Undoes everything and ends the transaction.
    pub fn rollback(mut self) {
        self.abort();
    }

    fn abort(&mut self) {
        if self.has_writes() {
            self.db.counters.rollbacks.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(set) = self.set.take() {
            set.rollback();
        }
        if let (Some(log), Some(stream)) = (self.db.log(), self.stream.take()) {
            self.buffer.clear(0);
            // Without this record, or without log, the stream has no commit either way.
            let ended = log.append_in(self.term, self.buffer.seal(GroupKind::Abort, stream.id, 0), |_| ());
            // One that is prepared is there until the log says otherwise.
            if self.prepared.is_none() {
                self.db.end_stream(stream.id, None);
            } else if let Ok(end) = ended {
                self.db.end_stream(stream.id, Some(end));
            }
        }
        self.dropped_trees.clear();
        if let Some(owner) = self.owner.get() {
            owner.release_all();
        }
    }

    /// Gives the transaction its place in the log, makes its writes visible to other writers and releases its locks.
    /// It is durable, and may be acknowledged, only after [`Commit::wait`]. After an error nothing was committed; one that is prepared is
    /// in doubt then.
    pub fn commit(mut self) -> Result<Commit, TxnError> {
        let lsn = if self.has_writes() {
            match self.append_commit() {
                Ok(lsn) => lsn,
                // One that is prepared has been decided about: it is in doubt here. Others the drop rolls back.
                Err(e) => {
                    self.leave();
                    return Err(e);
                }
            }
        } else {
            // What was told needs to be waited for by nobody.
            Some(self.observed.get()).filter(|seen| *seen > self.db.told()).unwrap_or_default()
        };
        if let Some(owner) = self.owner.get() {
            owner.release_all();
        }
        if let Some(set) = self.set.take().filter(|set| !set.is_empty()) {
            set.commit();
        }
        self.stream = None;
        self.dropped_trees.clear();
        Ok(Commit { db: Arc::clone(&self.db), lsn, term: self.term })
    }

    fn append_commit(&mut self) -> Result<Lsn, TxnError> {
        if self.db.is_closed() {
            return Err(TxnError::Poisoned("the database is closed".into()));
        }
        self.set();
        let set = self.set.as_ref().expect("made just now");
        let status = set.status();
        let dropping = (!self.dropped_trees.is_empty()).then(|| self.db.block_checkpoints());
        let lsn = match self.db.log() {
            None => self.db.commit_volatile(status),
            Some(log) => {
                let (kind, stream) = match &self.stream {
                    Some(stream) => (GroupKind::Commit, stream.id),
                    None => (GroupKind::Whole, 0),
                };
                let group = self.buffer.seal(kind, stream, micros(self.db.instance().env()));
                let lsn = log.append_in(self.term, group, |lsn| status.commit_at(lsn))?;
                self.db.note_appended(lsn);
                lsn
            }
        };
        for tree in &self.dropped_trees {
            self.db.store().drop_tree(*tree, lsn);
        }
        drop(dropping);
        if let Some(stream) = &self.stream {
            self.db.end_stream(stream.id, Some(lsn));
        }
        self.db.counters.commits.fetch_add(1, Ordering::Relaxed);
        Ok(lsn)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.abort();
        if self.charged > 0 {
            self.db.instance().discharge(self.charged);
        }
    }
}
