//! One database of the instance: its store, its published catalog, its counters.

mod published;

use super::Restoring;
use super::history::History;
use crate::catalog::{
    CatalogKey, CatalogObject, CatalogOp, DatabaseSettings, DifferentialBase, FIRST_USER_OBJECT,
    FIRST_USER_TREE, LogChain, Picture, SYSTEM_TREE, decode, encode, object_class,
};
use crate::errors;
use crate::map::{db_error, txn_error};
use arc_swap::ArcSwap;
use hashbrown::HashMap;
use keel_base::{DatabaseId, Lsn, TreeId};
use keel_node::{Database, Direction, Isolation, ReadPoint, Role, Transaction, TxnError};
use keel_query::catalog::ObjectId;
use keel_store::row;
use keel_types::error::Result;
use parking_lot::{Condvar, Mutex, RwLock};
use std::hash::{BuildHasher as _, Hasher as _};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Identity values and the like are reserved in the log this many at a time; a crash loses at most so many numbers.
const RESERVE: i64 = 1000;

/// A database of the instance.
pub struct DatabaseEntry {
    /// Id.
    pub id: DatabaseId,
    /// Log and store.
    pub store: Arc<Database>,
    name: RwLock<Arc<str>>,
    pub(super) picture: ArcSwap<Picture>,
    version: AtomicU64,
    /// The highest version that a picture ever had.
    versions: AtomicU64,
    /// What redo changes on a copy.
    history: Arc<History>,
    fingerprints: foldhash::fast::RandomState,
    /// Between publication and hardening of a DDL commit nobody may compile against the new picture.
    pending: Mutex<u32>,
    settled: Condvar,
    next_object: AtomicI32,
    next_tree: AtomicU32,
    counters: RwLock<HashMap<(u8, i32), Arc<Counter>, foldhash::fast::RandomState>>,
    /// Those of tables and sequences that are no more, whose rows are still there.
    gone_counters: Mutex<Vec<(u8, i32)>>,
    row_ids: RwLock<HashMap<TreeId, Arc<AtomicU64>, foldhash::fast::RandomState>>,
    rowversion: AtomicU64,
    /// What its indexes were used for.
    pub usage: keel_query::usage::UsageCounters,
    /// Sessions whose current database this is.
    pub users: AtomicU32,
    /// Transactions begun since it was opened.
    pub transactions: AtomicU64,
    /// Transactions that are open.
    pub open_transactions: AtomicU32,
    /// The session that changes its state, 0 when none does.
    pub(super) changed_by: AtomicU32,
    dropped: AtomicBool,
    pub(super) restoring: AtomicU8,
    /// Commits made as a group's primary, how long their sessions waited, and the longest wait, nanoseconds.
    group_commits: [AtomicU64; 3],
    refreshing: Mutex<()>,
    /// Logins, of a master.
    pub(super) login_book: super::logins::LoginBook,
    /// What jobs do and are asked to do, of an msdb.
    agent: Arc<crate::agent::Board>,
    settings_changing: Mutex<()>,
    /// Held while a backup of the log is made: each begins where the one before ended.
    pub(crate) log_backups: Mutex<()>,
    /// Held by who commits tracked or captured changes, from taking a version or number until the log has the commit: they are in the
    /// order of commits.
    pub(crate) change_order: Mutex<()>,
    /// Held while old changes are removed, to the end of the transaction.
    pub(crate) change_cleaning: Mutex<()>,
    /// What telling captured changes needs to remember.
    pub(crate) capture: crate::capture::State,
    /// What its Query Store needs.
    pub(crate) query_store: crate::query_store::State,
    /// What the crawl of full-text indexes needs.
    pub(crate) full_text: crate::full_text::State,
    /// The role in which the catalog was last read.
    role_seen: AtomicU8,
    /// Of what it is a snapshot, if it is one.
    snapshot: Option<super::StoredSnapshot>,
}

/// What the system tree holds at a point.
struct Stored {
    at: Lsn,
    /// Of the rows that are objects: equal objects have equal ones.
    fingerprint: u64,
    objects: Vec<(u8, Vec<u8>)>,
    counters: HashMap<(u8, i32), Arc<Counter>, foldhash::fast::RandomState>,
}

impl Stored {
    fn read(
        store: &Arc<Database>,
        name: &str,
        point: &ReadPoint,
        fingerprints: &foldhash::fast::RandomState,
    ) -> Result<Stored> {
        let (mut objects, mut counters) = (Vec::new(), HashMap::default());
        let mut hasher = fingerprints.build_hasher();
        let mut txn = store.begin_reader(point);
        let view = txn.statement_snapshot();
        let mut cursor = txn
            .scan(&view, SYSTEM_TREE, Bound::Unbounded, Bound::Unbounded, Direction::Forward)
            .map_err(|e| txn_error(e, name, 0))?;
        while let Some((key, bytes)) = cursor.next().map_err(|e| txn_error(e, name, 0))? {
            let (class, id) = parse_key(key)?;
            let json = row::column(&bytes, 0).unwrap_or_default();
            if class == object_class::LOG_MARK {
                continue;
            }
            if class == object_class::COUNTER || class == object_class::SEQUENCE_VALUE {
                let reserved = json.try_into().map(i64::from_le_bytes).unwrap_or(0);
                let state = CounterState { last: Some(reserved), reserved };
                counters.insert((class, id), Arc::new(Counter { state: Mutex::new(state) }));
            } else {
                hasher.write(key);
                hasher.write_usize(json.len());
                hasher.write(json);
                objects.push((class, json.to_vec()));
            }
        }
        drop(cursor);
        txn.rollback();
        Ok(Stored { at: point.lsn(), fingerprint: hasher.finish(), objects, counters })
    }

    fn picture(&self, id: DatabaseId, name: &str, version: u64) -> Result<Picture> {
        let mut picture = Picture::empty(id).named_database(name);
        for (class, json) in &self.objects {
            if let Some(object) = decode(*class, json).map_err(errors::catalog_corrupt)? {
                picture.put(object);
            }
        }
        Ok(picture.at_version(version))
    }

    fn last(&self, counter: i32) -> Option<i64> {
        self.counters.get(&(object_class::COUNTER, counter)).and_then(|c| c.state.lock().last)
    }

    fn next_tree(&self, picture: &Picture) -> u32 {
        let next = picture.max_tree().max(FIRST_USER_TREE) + 1;
        self.last(TREE_COUNTER).map_or(next, |used| next.max(used as u32 + 1))
    }

    fn rowversion(&self) -> u64 {
        self.last(ROWVERSION_COUNTER).unwrap_or(2000) as u64
    }
}

/// A transaction counted as open.
pub struct OpenTransaction(Arc<DatabaseEntry>);

impl Drop for OpenTransaction {
    fn drop(&mut self) {
        self.0.open_transactions.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A durable counter: identity column, sequence, rowversion. Values are handed out from memory; the end of the
/// reserved block is a row of the system tree.
pub struct Counter {
    /// Last value handed out, and whether one ever was.
    state: Mutex<CounterState>,
}

#[derive(Clone, Copy, Debug)]
struct CounterState {
    last: Option<i64>,
    /// The stored row says values up to here may have been used.
    reserved: i64,
}

impl DatabaseEntry {
    /// Reads the catalog of an open database.
    pub fn load(id: DatabaseId, name: &str, store: Arc<Database>) -> Result<Arc<DatabaseEntry>> {
        DatabaseEntry::load_at(id, name, store, FIRST_VERSION)
    }

    /// The same of one whose pictures have versions from there on.
    pub(super) fn load_at(
        id: DatabaseId,
        name: &str,
        store: Arc<Database>,
        version: u64,
    ) -> Result<Arc<DatabaseEntry>> {
        DatabaseEntry::read(id, name, store, version, None).map(Arc::new)
    }

    /// The same of a database snapshot, with the settings that it has of its own.
    pub(super) fn load_snapshot(
        id: DatabaseId,
        name: &str,
        store: Arc<Database>,
        version: u64,
        snapshot: &super::StoredSnapshot,
        own: impl FnOnce(&DatabaseSettings) -> DatabaseSettings,
    ) -> Result<Arc<DatabaseEntry>> {
        let entry = DatabaseEntry::read(id, name, store, version, Some(snapshot.clone()))?;
        let mut picture = (*entry.picture.load_full()).clone();
        picture.put(CatalogObject::Settings(Arc::new(own(picture.settings()))));
        entry.picture.store(Arc::new(picture));
        Ok(Arc::new(entry))
    }

    fn read(
        id: DatabaseId,
        name: &str,
        store: Arc<Database>,
        version: u64,
        snapshot: Option<super::StoredSnapshot>,
    ) -> Result<DatabaseEntry> {
        let role = store.role();
        let (history, fingerprints) = (Arc::new(History::default()), foldhash::fast::RandomState::default());
        // Before the catalog is read, so that no change is missed.
        let noted = Arc::clone(&history);
        store.set_catalog_hook(Some(Arc::new(move |position| noted.note(position))));
        let stored = Stored::read(&store, name, &store.read_point(), &fingerprints)?;
        let picture = stored.picture(id, name, version)?;
        let entry = DatabaseEntry {
            id,
            store,
            name: RwLock::new(name.into()),
            version: AtomicU64::new(version),
            versions: AtomicU64::new(version),
            history,
            fingerprints,
            next_object: AtomicI32::new(next_object(&picture)),
            next_tree: AtomicU32::new(stored.next_tree(&picture)),
            rowversion: AtomicU64::new(stored.rowversion()),
            picture: ArcSwap::from_pointee(picture),
            pending: Mutex::new(0),
            settled: Condvar::new(),
            counters: RwLock::new(stored.counters),
            gone_counters: Mutex::default(),
            row_ids: RwLock::default(),
            usage: keel_query::usage::UsageCounters::default(),
            users: AtomicU32::new(0),
            transactions: AtomicU64::new(0),
            open_transactions: AtomicU32::new(0),
            changed_by: AtomicU32::new(0),
            dropped: AtomicBool::new(false),
            restoring: AtomicU8::new(Restoring::No as u8),
            group_commits: Default::default(),
            refreshing: Mutex::new(()),
            login_book: super::logins::LoginBook::default(),
            agent: Arc::default(),
            settings_changing: Mutex::new(()),
            log_backups: Mutex::new(()),
            change_order: Mutex::new(()),
            change_cleaning: Mutex::new(()),
            capture: crate::capture::State::default(),
            query_store: crate::query_store::State::default(),
            full_text: crate::full_text::State::default(),
            role_seen: AtomicU8::new(role as u8),
            snapshot,
        };
        entry.keep_log();
        Ok(entry)
    }

    /// Of what it is a snapshot; `None` of any other database.
    #[must_use]
    pub fn snapshot(&self) -> Option<&super::StoredSnapshot> {
        self.snapshot.as_ref()
    }

    /// The logical name of its data file; that of the log has `_log` behind it.
    #[must_use]
    pub fn file_name(&self) -> Arc<str> {
        match &self.snapshot {
            Some(snapshot) => snapshot.file.as_str().into(),
            None => self.picture().settings().file_name.as_deref().map_or_else(|| self.name(), Arc::from),
        }
    }

    /// Of a snapshot: the settings that its source had.
    pub(super) fn settings_below(&self) -> Result<DatabaseSettings> {
        let stored = Stored::read(&self.store, &self.name(), &self.store.read_point(), &self.fingerprints)?;
        Ok((**stored.picture(self.id, &self.name(), FIRST_VERSION)?.settings()).clone())
    }

    /// All that its catalog defines, as it is stored.
    pub(super) fn catalog_objects(&self) -> Result<Vec<CatalogObject>> {
        let stored = Stored::read(&self.store, &self.name(), &self.store.read_point(), &self.fingerprints)?;
        let objects = stored.objects.iter();
        let objects = objects.filter_map(|(class, json)| decode(*class, json).transpose());
        objects.collect::<std::result::Result<_, _>>().map_err(errors::catalog_corrupt)
    }

    /// The log backups so far; `None` when the next must be a full one.
    #[must_use]
    pub fn log_chain(&self) -> Option<LogChain> {
        self.log_chain_of(&self.picture())
    }

    fn log_chain_of(&self, picture: &Picture) -> Option<LogChain> {
        let settings = picture.settings();
        let chain = settings.log_chain.filter(|_| settings.recovery != "SIMPLE")?;
        (chain.family == self.store.control().family).then_some(chain)
    }

    /// Moves the chain on: the log before `until` is in a backup that was finished at a time, and all that was committed before another
    /// (0: not known), local ticks.
    pub fn note_log_backup(&self, until: Lsn, at: i64, complete: i64) -> Result<()> {
        self.change_settings(|settings| {
            // The recovery model may have become SIMPLE meanwhile, and the chain ended.
            if let Some(chain) = &mut settings.log_chain {
                let backed_up = until.0.max(chain.backed_up);
                let complete = complete.max(chain.complete);
                *chain = LogChain { backed_up, at, complete, count: chain.count + 1, ..*chain };
            }
            Ok(())
        })
    }

    /// The full backup that differential ones refer to; `None` when one must be made first.
    #[must_use]
    pub fn differential_base(&self) -> Option<DifferentialBase> {
        self.differential_base_of(&self.picture())
    }

    fn differential_base_of(&self, picture: &Picture) -> Option<DifferentialBase> {
        let base = picture.settings().differential_base?;
        (base.family == self.store.control().family).then_some(base)
    }

    /// Log that is in no backup yet is kept, once there is a chain of them; and what tells changes since the last full one.
    fn keep_log(&self) {
        let picture = self.picture.load();
        let backed_up = self.log_chain_of(&picture).map_or(Lsn::MAX, |chain| Lsn(chain.backed_up));
        self.store.set_backed_up(backed_up);
        let base = self.differential_base_of(&picture).map_or(Lsn::ZERO, |base| Lsn(base.last));
        self.store.set_differential_base(base);
    }

    /// Whether redo may change the catalog here: every transaction has the picture of its own snapshot.
    #[must_use]
    pub fn is_copy(&self) -> bool {
        self.store.role() == Role::Secondary
    }

    /// A commit as a group's primary was hardened wherever it had to be, after so long.
    pub fn note_group_commit(&self, waited: std::time::Duration) {
        let nanos = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        let [count, total, longest] = &self.group_commits;
        count.fetch_add(1, Ordering::Relaxed);
        total.fetch_add(nanos, Ordering::Relaxed);
        longest.fetch_max(nanos, Ordering::Relaxed);
    }

    /// Commits made as a group's primary, the nanoseconds their sessions waited, and the longest wait.
    #[must_use]
    pub fn group_commits(&self) -> [u64; 3] {
        [0, 1, 2].map(|i| self.group_commits[i].load(Ordering::Relaxed))
    }

    /// What the jobs of an msdb do and are asked to do.
    #[must_use]
    pub fn agent(&self) -> &Arc<crate::agent::Board> {
        &self.agent
    }

    /// Counts a transaction that begins, as open until what is returned is dropped.
    #[must_use]
    pub fn count_transaction(self: &Arc<Self>) -> OpenTransaction {
        self.transactions.fetch_add(1, Ordering::Relaxed);
        self.open_transactions.fetch_add(1, Ordering::Relaxed);
        OpenTransaction(Arc::clone(self))
    }

    /// Name.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        Arc::clone(&self.name.read())
    }

    /// ALTER DATABASE … MODIFY NAME
    pub fn rename(&self, name: &str) {
        *self.name.write() = name.into();
    }

    /// DROP DATABASE has taken it away.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }

    /// DROP DATABASE takes it away.
    pub fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::Release);
    }

    /// A new object id.
    pub fn allocate_object(&self) -> ObjectId {
        self.next_object.fetch_add(1, Ordering::Relaxed)
    }

    /// A new tree. The highest one ever given out is remembered, so that rows of a dropped tree never come back.
    pub fn allocate_tree(&self) -> Result<TreeId> {
        let tree = self.next_tree.fetch_add(1, Ordering::Relaxed);
        if self.id != super::TEMPDB {
            let counter = self.counter(object_class::COUNTER, TREE_COUNTER);
            let mut state = counter.state.lock();
            if state.last.is_none_or(|r| r < i64::from(tree)) {
                state.last = Some(i64::from(tree));
            }
            self.reserve(&mut state, object_class::COUNTER, TREE_COUNTER, i64::from(tree), 64)?;
        }
        Ok(TreeId(tree))
    }

    fn counter(&self, class: u8, id: i32) -> Arc<Counter> {
        if let Some(c) = self.counters.read().get(&(class, id)) {
            return Arc::clone(c);
        }
        let fresh =
            || Arc::new(Counter { state: Mutex::new(CounterState { last: None, reserved: i64::MIN }) });
        Arc::clone(self.counters.write().entry((class, id)).or_insert_with(fresh))
    }

    /// Writes the end of a counter's reserved block when `value` is past it, `step` further on. The row goes into the
    /// log before any transaction that uses the value can, so nobody needs to wait for it here.
    fn reserve(&self, state: &mut CounterState, class: u8, id: i32, value: i64, step: i64) -> Result<()> {
        let covered = if step < 0 { value >= state.reserved } else { value <= state.reserved };
        if self.id == super::TEMPDB || (covered && state.reserved != i64::MIN) {
            return Ok(());
        }
        state.reserved = value.saturating_add(step);
        self.write_counter(class, id, state.reserved)
    }

    fn write_counter(&self, class: u8, id: i32, value: i64) -> Result<()> {
        let name = self.name();
        let mut txn = self.store.begin(Isolation::ReadCommitted);
        put_counter(&mut txn, class, id, value).map_err(|e| txn_error(e, &name, 0))?;
        let _ = txn.commit().map_err(|e| txn_error(e, &name, 0))?;
        Ok(())
    }

    /// Reserves `count` identity values of a table and returns the first; error 8115 behind the last that a bigint has.
    pub fn reserve_identity(&self, table: ObjectId, seed: i64, increment: i64, count: u64) -> Result<i64> {
        self.advance(object_class::COUNTER, table, seed, increment, count)
    }

    fn advance(&self, class: u8, id: i32, seed: i64, increment: i64, count: u64) -> Result<i64> {
        let counter = self.counter(class, id);
        let mut state = counter.state.lock();
        let overflow = || keel_types::raise::identity_overflow(keel_types::SqlType::BigInt);
        let first = state.last.map_or(Some(seed), |last| last.checked_add(increment)).ok_or_else(overflow)?;
        let last = first.saturating_add(increment.saturating_mul(count.saturating_sub(1) as i64));
        self.reserve(&mut state, class, id, last, RESERVE.saturating_mul(increment))?;
        state.last = Some(last);
        Ok(first)
    }

    /// An explicit identity value was inserted.
    pub fn note_identity(&self, table: ObjectId, increment: i64, value: i64) -> Result<()> {
        let counter = self.counter(object_class::COUNTER, table);
        let mut state = counter.state.lock();
        let ahead = state.last.is_none_or(|last| if increment < 0 { value < last } else { value > last });
        if ahead {
            self.reserve(&mut state, object_class::COUNTER, table, value, RESERVE.saturating_mul(increment))?;
            state.last = Some(value);
        }
        Ok(())
    }

    /// IDENT_CURRENT and DBCC CHECKIDENT: the last value handed out.
    #[must_use]
    pub fn current_identity(&self, table: ObjectId) -> Option<i64> {
        self.counters.read().get(&(object_class::COUNTER, table)).and_then(|c| c.state.lock().last)
    }

    /// DBCC CHECKIDENT (RESEED), TRUNCATE TABLE (`None`: the next value is the seed again).
    pub fn reset_identity(&self, table: ObjectId, last: Option<i64>) -> Result<()> {
        let counter = self.counter(object_class::COUNTER, table);
        let mut state = counter.state.lock();
        *state = CounterState { last, reserved: i64::MIN };
        match last {
            Some(value) => self.reserve(&mut state, object_class::COUNTER, table, value, 0),
            None => Ok(()),
        }
    }

    /// The next value of a sequence that neither cycles nor is at its end; those are the caller's.
    pub fn sequence_advance(
        &self,
        sequence: ObjectId,
        start: i64,
        increment: i64,
        count: u64,
    ) -> Result<i64> {
        self.advance(object_class::SEQUENCE_VALUE, sequence, start, increment, count)
    }

    /// The last value of a sequence.
    #[must_use]
    pub fn sequence_current(&self, sequence: ObjectId) -> Option<i64> {
        self.counters.read().get(&(object_class::SEQUENCE_VALUE, sequence)).and_then(|c| c.state.lock().last)
    }

    /// ALTER SEQUENCE … RESTART: the next value is `next`.
    pub fn sequence_restart(&self, sequence: ObjectId, next: i64, increment: i64) -> Result<()> {
        let counter = self.counter(object_class::SEQUENCE_VALUE, sequence);
        let mut state = counter.state.lock();
        let last = next.saturating_sub(increment);
        *state = CounterState { last: Some(last), reserved: last };
        self.write_counter(object_class::SEQUENCE_VALUE, sequence, last)
    }

    /// The next rowversion (`@@DBTS` + 1).
    pub fn next_rowversion(&self) -> u64 {
        let value = self.rowversion.fetch_add(1, Ordering::Relaxed) + 1;
        if self.id != super::TEMPDB {
            let counter = self.counter(object_class::COUNTER, ROWVERSION_COUNTER);
            let mut state = counter.state.lock();
            // A failure to reserve also stops the transaction that wants the value, when it commits.
            let _ = self.reserve(
                &mut state,
                object_class::COUNTER,
                ROWVERSION_COUNTER,
                value as i64,
                RESERVE * 10,
            );
        }
        value
    }

    /// A number for a transaction with tracked or captured changes, which no other has or had.
    pub fn next_change_transaction(&self) -> Result<u64> {
        let number = self.advance(object_class::COUNTER, CHANGES_COUNTER, 1, 1, 1)?;
        Ok(u64::try_from(number).unwrap_or(0))
    }

    /// `@@DBTS`
    #[must_use]
    pub fn current_rowversion(&self) -> u64 {
        self.rowversion.load(Ordering::Relaxed)
    }

    /// The next hidden number for rows of a tree. `init` finds the last one in use.
    pub fn next_row_id(&self, tree: TreeId, init: &mut dyn FnMut() -> Result<u64>) -> Result<u64> {
        if let Some(next) = self.row_ids.read().get(&tree) {
            return Ok(next.fetch_add(1, Ordering::Relaxed) + 1);
        }
        let last = init()?;
        let mut ids = self.row_ids.write();
        let counter = ids.entry(tree).or_insert_with(|| Arc::new(AtomicU64::new(last)));
        Ok(counter.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Forgets a tree that is no more.
    pub fn forget_tree(&self, tree: TreeId) {
        self.row_ids.write().remove(&tree);
        self.usage.forget(tree);
    }

    /// Writes catalog changes as rows of the system tree.
    pub fn write_ops(&self, txn: &mut Transaction, ops: &[CatalogOp]) -> Result<()> {
        let name = self.name();
        for op in ops {
            match op {
                CatalogOp::Put(object) => {
                    let json = encode(object);
                    let row = row::RowBuilder::build(&[Some(&json)]);
                    txn.put_index(SYSTEM_TREE, &object.key().bytes(), &row)
                }
                CatalogOp::Remove(key) => txn.delete_index(SYSTEM_TREE, &key.bytes()),
            }
            .map_err(|e| txn_error(e, &name, 0))?;
        }
        Ok(())
    }

    /// Writes the exact values of all counters, so that a clean restart leaves no gaps, and removes those of what is no more.
    pub fn save_counters(&self) -> Result<()> {
        if self.id == super::TEMPDB || self.snapshot.is_some() {
            return Ok(());
        }
        let name = self.name();
        // One at a time, or two could wait for each other's counters.
        let mut gone = self.gone_counters.lock();
        let counters: Vec<_> = self.counters.read().iter().map(|(k, c)| (*k, Arc::clone(c))).collect();
        // Nobody else writes their rows until the transaction is over.
        let held = counters.iter().map(|(key, counter)| (*key, counter.state.lock()));
        let mut held: Vec<_> =
            held.filter(|(_, state)| state.last.is_some_and(|last| last != state.reserved)).collect();
        if gone.is_empty() && held.is_empty() {
            return Ok(());
        }
        let mut txn = self.store.begin(Isolation::ReadCommitted);
        for (class, id) in gone.drain(..) {
            let key = CatalogKey { class, id }.bytes();
            txn.delete_index(SYSTEM_TREE, &key).map_err(|e| txn_error(e, &name, 0))?;
        }
        for ((class, id), state) in &mut held {
            state.reserved = state.last.unwrap_or(state.reserved);
            put_counter(&mut txn, *class, *id, state.reserved).map_err(|e| txn_error(e, &name, 0))?;
        }
        let _ = txn.commit().map_err(|e| txn_error(e, &name, 0))?;
        Ok(())
    }

    /// Forgets the counter of a table or sequence that is no more.
    pub fn forget_counter(&self, class: u8, id: i32) {
        let known = self.counters.write().remove(&(class, id)).is_some();
        if known && self.id != super::TEMPDB {
            self.gone_counters.lock().push((class, id));
        }
    }

    /// Closes it for good: counters saved, checkpoint taken.
    pub fn close(&self) -> Result<()> {
        if matches!(self.store.role(), Role::Standalone | Role::Primary) {
            self.save_counters()?;
        }
        self.store.close().map_err(|e| db_error(e, &self.name()))
    }

    /// Changes the database's options, durably: one change after the other.
    pub fn change_settings(&self, change: impl FnOnce(&mut DatabaseSettings) -> Result<()>) -> Result<()> {
        let _changing = self.settings_changing.lock();
        let mut settings = (**self.picture().settings()).clone();
        change(&mut settings)?;
        self.put_now(CatalogObject::Settings(Arc::new(settings)))
    }

    /// Writes one object outside any session, in its own transaction.
    pub fn put_now(&self, object: CatalogObject) -> Result<()> {
        self.change_now(CatalogOp::Put(object))
    }

    /// The same of any change.
    pub(super) fn change_now(&self, op: CatalogOp) -> Result<()> {
        self.change_all_now(&[op])
    }

    /// The same of several, in one transaction.
    pub(super) fn change_all_now(&self, ops: &[CatalogOp]) -> Result<()> {
        let name = self.name();
        let mut txn = self.store.begin(Isolation::ReadCommitted);
        self.write_ops(&mut txn, ops)?;
        self.publish(ops);
        let done = txn.commit().and_then(keel_node::Commit::wait).map_err(|e| txn_error(e, &name, 0));
        self.settle();
        done
    }
}

fn put_counter(txn: &mut Transaction, class: u8, id: i32, value: i64) -> std::result::Result<(), TxnError> {
    let row = row::RowBuilder::build(&[Some(&value.to_le_bytes())]);
    txn.put_index(SYSTEM_TREE, &CatalogKey { class, id }.bytes(), &row)
}

/// Version of the picture that opening the database makes.
const FIRST_VERSION: u64 = 1;
/// Counter id of the highest tree given out.
const TREE_COUNTER: i32 = -1;
/// Counter id of the rowversion.
const ROWVERSION_COUNTER: i32 = -2;
/// Counter id of transactions with tracked changes.
const CHANGES_COUNTER: i32 = -3;

fn next_object(picture: &Picture) -> ObjectId {
    picture.max_object_id().max(FIRST_USER_OBJECT) + 1
}

fn parse_key(key: &[u8]) -> Result<(u8, i32)> {
    let parsed = CatalogKey::parse(key).map(|key| (key.class, key.id));
    parsed.ok_or_else(|| errors::catalog_corrupt("A key of the system tree has the wrong length."))
}
