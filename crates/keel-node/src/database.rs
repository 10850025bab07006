//! [`Database`]: one log with one store, in one directory.
//!
//! ```text
//! <dir>/control.keel      who it is; written last when the database is made
//! <dir>/data.keel         the base tree
//! <dir>/log/NNNNN.vlf     the log (not in a volatile database)
//! <dir>/group.keel        it belongs to an availability group
//! <dir>/keys.keel         it is encrypted, or was
//! <dir>/snapshot-N.keel   a snapshot of it
//! <dir>/seed.keel         it is a copy in the making
//! ```
//!
//! The base tree's metadata holds the **redo start**:
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 0 | 4 | version, 1 |
//! | 4 | 4 | log id |
//! | 8 | 8 | redo start: where replay must begin to see every record of streams open at the checkpoint |
//!
//! and behind it which roots there were before.

use crate::control::{self, Control};
use crate::detached;
use crate::error::{DbError, TxnError};
use crate::follower::{Follower, Gauged, Rows, Stream};
use crate::gate::Gate;
use crate::instance::Instance;
use crate::keys::DatabaseKeys;
use crate::marker::{self, Marker};
use crate::prepared::Prepared;
use crate::read::ReadPoint;
use crate::retention::Holders;
use crate::role::{Role, Roles};
use crate::schedule::Schedule;
use crate::snapshot::{self, Snapshots};
use crate::transaction::{Isolation, Transaction};
use keel_base::{DatabaseId, Lsn};
use keel_log::segment::is_segment;
use keel_log::{Log, LogError, LogOptions, LogStats, OpenFrom};
use keel_redo::{Applier, LogSource, RedoOptions, Task};
use keel_store::base::{BaseOptions, BaseTree};
use keel_store::{Store, TxnStatus};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Whether a database survives a restart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Every acknowledged commit survives.
    #[default]
    Durable,
    /// Nothing does (tempdb): no log, files are wiped when opened.
    Volatile,
}

/// How a database is made or opened.
#[derive(Clone, Debug, Default)]
pub struct DbOptions {
    /// Whether it survives a restart.
    pub durability: Durability,
    /// Sizes and limits of its log; the identity is the database's own.
    pub log: LogOptions,
}

/// How far an opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Log bytes replayed.
    pub done_bytes: u64,
    /// Log bytes to replay.
    pub total_bytes: u64,
}

/// Figures of a database for monitoring.
#[derive(Clone, Copy, Debug, Default)]
pub struct DbStats {
    /// Transactions committed that wrote something.
    pub commits: u64,
    /// Transactions rolled back that had written something.
    pub rollbacks: u64,
    /// Checkpoints that merged something.
    pub checkpoints: u64,
    /// Pages written by checkpoints, also by the one that runs.
    pub checkpoint_pages: u64,
    /// Time they took, in nanoseconds.
    pub checkpoint_nanos: u64,
    /// Bytes of row versions in memory.
    pub delta_bytes: u64,
    /// Bytes of log kept in memory by redo for transactions that are not decided.
    pub redo_held_bytes: u64,
    /// Pages of the data file.
    pub data_pages: u64,
    /// Free pages of the data file.
    pub data_pages_free: u64,
    /// Pages of the data file that are kept for snapshots alone.
    pub data_pages_held: u64,
    /// Bytes of the log's files.
    pub log_file_bytes: u64,
    /// Bytes of log that cannot be given back yet.
    pub log_used_bytes: u64,
    /// Counters of the log.
    pub log: LogStats,
}

/// The positions of a database at one moment. A volatile database has only the last three, all equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DbPositions {
    /// Nothing of the log before this is kept.
    pub truncated: Lsn,
    /// Where a replay would begin.
    pub redo_start: Lsn,
    /// Everything before this is in the base tree.
    pub checkpoint: Lsn,
    /// Everything before this survives a power cut.
    pub hardened: Lsn,
    /// Everything before this was handed to the operating system.
    pub written: Lsn,
    /// Everything before this has its place in the log.
    pub appended: Lsn,
}

impl DbPositions {
    /// The order that always holds.
    ///
    /// # Panics
    /// If it does not.
    pub fn assert_ordered(&self) {
        assert!(self.truncated <= self.redo_start, "log that a replay needs was given back: {self:?}");
        assert!(self.redo_start <= self.checkpoint, "a replay would begin behind the checkpoint: {self:?}");
        assert!(self.checkpoint <= self.hardened, "the base tree is ahead of the hardened log: {self:?}");
        assert!(self.hardened <= self.written, "hardened passed written: {self:?}");
        assert!(self.written <= self.appended, "written passed appended: {self:?}");
    }
}

/// What keeps log space from being used again (`sys.databases.log_reuse_wait_desc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogReuseWait {
    /// Nothing.
    Nothing,
    /// No checkpoint since.
    Checkpoint,
    /// The full recovery model wants a log backup first.
    LogBackup,
    /// A transaction that streams is open.
    ActiveTransaction,
    /// Another replica has not got it yet.
    AvailabilityReplica,
}

/// One database. Shared by `Arc`.
// Apart from the counts of its references, which all sessions write to.
#[repr(align(128))]
pub struct Database {
    id: DatabaseId,
    pub(crate) dir: PathBuf,
    pub(crate) instance: Arc<Instance>,
    pub(crate) weak: Weak<Database>,
    pub(crate) control: Control,
    pub(crate) keys: Arc<DatabaseKeys>,
    pub(crate) store: Arc<Store>,
    /// `None` in a volatile database.
    pub(crate) log: Option<Log>,
    /// Last commit of a volatile database; the lock makes stamp and publication one step.
    volatile: Mutex<u64>,
    pub(crate) checkpoint: AtomicU64,
    pub(crate) redo_start: AtomicU64,
    /// Log before this is in a backup; `Lsn::MAX` under the simple recovery model, where none is needed.
    backed_up: AtomicU64,
    /// Where the full backup ended that differential ones refer to; 0 for none.
    pub(crate) differential_base: AtomicU64,
    pub(crate) role: AtomicU8,
    pub(crate) roles: Roles,
    pub(crate) gate: Gate,
    pub(crate) follower: Arc<Follower>,
    pub(crate) holders: Holders,
    next_stream: AtomicU64,
    /// Held shared from the append of a commit that drops trees until the store knows of it, so that no checkpoint takes
    /// an LSN in between and forgets the drop.
    pub(crate) dropping: RwLock<()>,
    pub(crate) checkpoint_asked: AtomicBool,
    /// A flush that nobody waits for is asked for.
    pub(crate) flush_asked: AtomicBool,
    /// How many wait for the one that runs.
    pub(crate) checkpoints_waited_for: AtomicU32,
    pub(crate) schedule: Schedule,
    pub(crate) closed: AtomicBool,
    /// Held while its files are turned.
    pub(crate) turning: Mutex<()>,
    pub(crate) snapshots: Snapshots,
    /// It is one itself.
    of_snapshot: bool,
    pub(crate) counters: Counters,
    /// Transactions that are prepared and have no session, by stream.
    pub(crate) prepared: Mutex<BTreeMap<u64, Prepared>>,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) commits: AtomicU64,
    pub(crate) rollbacks: AtomicU64,
    pub(crate) checkpoints: AtomicU64,
    pub(crate) checkpoint_pages: AtomicU64,
    pub(crate) checkpoint_nanos: AtomicU64,
}

const META_VERSION: u32 = 1;
/// Between two parts of a log segment that is made ahead of need: 64 MB in parts of half a megabyte then take five seconds.
const PROVISION_REST: std::time::Duration = std::time::Duration::from_millis(40);
pub(crate) const META_BYTES: usize = 16;

pub(crate) fn encode_meta(log_id: u32, redo_start: Lsn) -> [u8; META_BYTES] {
    let mut meta = [0; META_BYTES];
    meta[0..4].copy_from_slice(&META_VERSION.to_le_bytes());
    meta[4..8].copy_from_slice(&log_id.to_le_bytes());
    meta[8..16].copy_from_slice(&redo_start.0.to_le_bytes());
    meta
}

/// The redo start; the checkpoint itself when the base was never checkpointed.
pub(crate) fn decode_meta(meta: &[u8], log_id: u32, checkpoint: Lsn) -> Option<Lsn> {
    if meta.is_empty() {
        return Some(checkpoint);
    }
    let version = u32::from_le_bytes(meta.get(0..4)?.try_into().ok()?);
    let owner = u32::from_le_bytes(meta.get(4..8)?.try_into().ok()?);
    let redo_start = Lsn(u64::from_le_bytes(meta.get(8..16)?.try_into().ok()?));
    (version == META_VERSION && owner == log_id && redo_start <= checkpoint).then_some(redo_start)
}

fn base_options(durable: bool, control: &Control, keys: &DatabaseKeys) -> BaseOptions {
    BaseOptions { durable, guid: control.family, keys: Arc::clone(&keys.chain) }
}

pub(crate) fn data_path(dir: &Path) -> PathBuf {
    dir.join("data.keel")
}

pub(crate) fn log_dir(dir: &Path) -> PathBuf {
    dir.join("log")
}

/// What a database is put together from.
struct Parts {
    control: Control,
    keys: Arc<DatabaseKeys>,
    log: Option<Log>,
    follower: Arc<Follower>,
    /// Of a member of a group.
    redo: Option<Arc<Task>>,
    redo_start: Lsn,
    snapshots: Snapshots,
    of_snapshot: bool,
}

impl Parts {
    /// Of one that has nothing but its rows.
    fn new(control: Control, keys: Arc<DatabaseKeys>, follower: Arc<Follower>) -> Parts {
        let (redo_start, snapshots) = (Lsn::ZERO, Snapshots::default());
        Parts { control, keys, log: None, follower, redo: None, redo_start, snapshots, of_snapshot: false }
    }
}

pub(crate) fn log_options(
    instance: &Instance,
    options: &DbOptions,
    control: &Control,
    keys: &DatabaseKeys,
) -> LogOptions {
    LogOptions { log_id: control.log_id, keys: Arc::clone(&keys.chain), ..instance.log_options(&options.log) }
}

/// Redo of what the follower's limit allows, from the last checkpoint on.
pub(crate) fn recovery(
    instance: &Instance,
    log: &Log,
    follower: &Arc<Follower>,
    redo_start: Lsn,
    checkpoint: Lsn,
) -> Result<Applier<'static>, DbError> {
    let source = LogSource::new(log, redo_start)?.up_to(Arc::clone(&follower.limit));
    let source = Gauged { log: source, follower: Arc::clone(follower) };
    let workers = instance.options().redo_workers.max(1);
    let options = RedoOptions {
        workers,
        skip_until: checkpoint,
        watched: Some(crate::follower::CATALOG_TREE),
        alone_bytes: instance.options().redo_alone_bytes,
    };
    Ok(Applier::new(Box::new(source), Box::new(Rows(Arc::clone(follower))), &options))
}

impl Database {
    /// Makes a new, empty database in `dir`. What an earlier creation left half-made there is replaced.
    pub fn create(
        instance: &Arc<Instance>,
        id: DatabaseId,
        dir: &Path,
        options: &DbOptions,
    ) -> Result<Arc<Database>, DbError> {
        let env = instance.env();
        if options.durability == Durability::Volatile {
            return Database::open_volatile(instance, id, dir);
        }
        if env.disk.exists(&control::path(dir)) {
            return Err(DbError::Invalid(format!("{} holds a database", dir.display()).into()));
        }
        wipe(env, dir)?;
        env.disk.create_dir_all(&log_dir(dir))?;
        let (control, keys) = (Control::new(env), DatabaseKeys::none(instance, dir, true));
        let base_options = base_options(true, &control, &keys);
        let base = BaseTree::create(&env.disk, &data_path(dir), &instance.cache, &base_options)?;
        let log_options = log_options(instance, options, &control, &keys);
        let log = Log::create(env, &log_dir(dir), log_options)?;
        env.disk.sync_dir(dir)?;
        control.write(env, dir)?;
        if let Some(parent) = dir.parent() {
            env.disk.sync_dir(parent)?;
        }
        let follower = Follower::new(&Store::new(base, &instance.memory), Lsn::ZERO);
        let parts = Parts { log: Some(log), ..Parts::new(control, keys, follower) };
        let database = Database::assemble(instance, id, dir, parts);
        database.positions().assert_ordered();
        Ok(database)
    }

    /// Opens the database in `dir`, replaying what its log holds after the last checkpoint: all of it, or for a member of
    /// a group, which comes up [resolving](Role::Resolving), as much as is known to be agreed.
    pub fn open(
        instance: &Arc<Instance>,
        id: DatabaseId,
        dir: &Path,
        options: &DbOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Arc<Database>, DbError> {
        let env = instance.env();
        if options.durability == Durability::Volatile {
            return Database::open_volatile(instance, id, dir);
        }
        let control = Control::read(env, dir)?;
        let keys = DatabaseKeys::open(instance, dir)?;
        let base_options = base_options(true, &control, &keys);
        let base = BaseTree::open(&env.disk, &data_path(dir), &instance.cache, &base_options)?;
        let snapshots = Snapshots::open(env, dir, &base)?;
        let root = base.root();
        let checkpoint = root.checkpoint_lsn();
        let redo_start = decode_meta(root.meta(), control.log_id, checkpoint)
            .ok_or_else(|| DbError::Corrupt("the base tree's metadata is of another database".into()))?;
        let highest = root.highest_lsn();
        drop(root);
        let marker = Marker::read(env, dir)?;
        let grouped = marker.is_some();
        let must_reach = if marker.is_some_and(|marker| marker.seeding) { Lsn::ZERO } else { highest };
        let from = OpenFrom { must_reach, received: grouped };
        let log_options = log_options(instance, options, &control, &keys);
        let log = Log::open(env, &log_dir(dir), log_options, from)?;
        let store = Store::new(base, &instance.memory);
        keys.attach_store(&store);
        let end = if grouped { log.agreed().max(highest).min(log.hardened()) } else { log.hardened() };
        if !grouped {
            // No reader comes before the end is reached, so replaced versions need not be kept. The end of what is agreed
            // may lie inside a block, of which redo then takes nothing: there the stable point follows redo.
            store.advance_stable(end);
        }
        let follower = Follower::new(&store, end);
        let total_bytes = end.0 - redo_start.0.min(end.0);
        let mut report = |lsn: Lsn| {
            progress(Progress { done_bytes: lsn.0.saturating_sub(redo_start.0), total_bytes });
        };
        let applier = recovery(instance, &log, &follower, redo_start, checkpoint)?;
        if instance.options().by_hand {
            applier.drain()?;
        } else {
            applier.run_to_end(&mut report)?;
        }
        // Not the checkpoint: that may lie inside a group, and redo goes on between groups.
        follower.set_applied(applier.applied().max(redo_start));
        let task = Task::new(applier);
        if grouped {
            instance.redo.start_threads();
        }
        let redo = grouped.then(|| Arc::clone(&task));
        let log = Some(log);
        let parts = Parts { log, redo, redo_start, snapshots, ..Parts::new(control, keys, follower) };
        let database = Database::assemble(instance, id, dir, parts);
        if grouped {
            database.role.store(Role::Resolving.code(), Ordering::Release);
        } else {
            let prepared = database.restore_prepared(task.applier())?;
            // What is not prepared and has no decision now will never have one.
            database.follower.streams.lock().retain(|stream, _| prepared.contains(stream));
        }
        if !marker.is_some_and(|marker| marker.seeding) {
            database.positions().assert_ordered();
        }
        Ok(database)
    }

    fn open_volatile(instance: &Arc<Instance>, id: DatabaseId, dir: &Path) -> Result<Arc<Database>, DbError> {
        let env = instance.env();
        wipe(env, dir)?;
        env.disk.create_dir_all(dir)?;
        let (control, keys) = (Control::new(env), DatabaseKeys::none(instance, dir, false));
        let base_options = base_options(false, &control, &keys);
        let base = BaseTree::create(&env.disk, &data_path(dir), &instance.cache, &base_options)?;
        let follower = Follower::new(&Store::new(base, &instance.memory), Lsn::ZERO);
        Ok(Database::assemble(instance, id, dir, Parts::new(control, keys, follower)))
    }

    /// A snapshot of `source`, over a tree that takes no changes.
    pub(crate) fn over_pin(source: &Database, id: DatabaseId, store: Arc<Store>) -> Arc<Database> {
        let lsn = store.stable();
        let (keys, follower) = (Arc::clone(&source.keys), Follower::new(&store, lsn));
        let parts =
            Parts { redo_start: lsn, of_snapshot: true, ..Parts::new(source.control, keys, follower) };
        Database::assemble(&source.instance, id, &source.dir, parts)
    }

    fn assemble(instance: &Arc<Instance>, id: DatabaseId, dir: &Path, parts: Parts) -> Arc<Database> {
        let Parts { control, keys, log, follower, redo, redo_start, snapshots, of_snapshot } = parts;
        let store = Arc::clone(&follower.store);
        keys.attach_store(&store);
        let checkpoint = store.base().root().checkpoint_lsn();
        let mut stream_seed = [0; 4];
        instance.env().random.fill(&mut stream_seed);
        let database = Arc::new_cyclic(|weak| Database {
            id,
            dir: dir.to_path_buf(),
            instance: Arc::clone(instance),
            weak: Weak::clone(weak),
            control,
            keys,
            store,
            log,
            volatile: Mutex::new(0),
            checkpoint: AtomicU64::new(checkpoint.0),
            redo_start: AtomicU64::new(redo_start.0),
            backed_up: AtomicU64::new(Lsn::MAX.0),
            differential_base: AtomicU64::new(0),
            role: AtomicU8::new(Role::Standalone.code()),
            gate: Gate::new(redo.is_none() && !of_snapshot),
            roles: Roles::with(redo),
            follower,
            holders: Holders::default(),
            // Unlike those of earlier openings, whose undecided streams may still be in the log.
            next_stream: AtomicU64::new(u64::from(u32::from_le_bytes(stream_seed)) << 32 | 1),
            dropping: RwLock::new(()),
            checkpoint_asked: AtomicBool::new(false),
            flush_asked: AtomicBool::new(false),
            checkpoints_waited_for: AtomicU32::new(0),
            schedule: Schedule::new(checkpoint),
            closed: AtomicBool::new(false),
            turning: Mutex::new(()),
            snapshots,
            of_snapshot,
            counters: Counters::default(),
            prepared: Mutex::default(),
        });
        // Set once, here.
        let _ = database.follower.database.set(Weak::clone(&database.weak));
        if let Some(log) = &database.log {
            // Nothing of it is given back yet: who opened it may know that it is in no backup.
            let (weak, provisioner) = (Weak::clone(&database.weak), Arc::clone(&instance.provisioner));
            log.set_provision_hook(Arc::new(move || _ = provisioner.ask(&weak)));
        }
        instance.register(&database);
        database.keys.attach(&database.weak);
        database
    }

    /// Removes the files of a database that is closed or was never opened, durably.
    pub fn remove(instance: &Arc<Instance>, dir: &Path) -> Result<(), DbError> {
        let env = instance.env();
        wipe(env, dir)?;
        Ok(dir.parent().map_or(Ok(()), |parent| env.disk.sync_dir(parent))?)
    }

    /// Begins a transaction.
    pub fn begin(self: &Arc<Self>, isolation: Isolation) -> Transaction {
        Transaction::new(Arc::clone(self), isolation)
    }

    /// What a reader that comes now sees. As long as it is kept, so are the rows it shows.
    pub fn read_point(&self) -> ReadPoint {
        self.advance_visible();
        ReadPoint(self.store.snapshot(Lsn::ZERO))
    }

    /// Begins a transaction all statements of which read at `point`, and that can write nothing.
    pub fn begin_reader(self: &Arc<Self>, point: &ReadPoint) -> Transaction {
        Transaction::reader(Arc::clone(self), point.0.clone())
    }

    /// Its id in this instance.
    pub fn id(&self) -> DatabaseId {
        self.id
    }

    /// Where its files are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The instance it belongs to.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// Its identity, shared by all its copies.
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Its rows. For monitoring and checks; changes go through transactions.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Its log; `None` in a volatile database.
    pub fn log(&self) -> Option<&Log> {
        self.log.as_ref()
    }

    /// Whether it is a [snapshot](Database::open_snapshot): its files are its source's.
    pub fn is_snapshot(&self) -> bool {
        self.of_snapshot
    }

    /// Whether [`Database::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Everything before this survives a power cut.
    pub fn hardened(&self) -> Lsn {
        self.log.as_ref().map_or_else(|| self.store.stable(), Log::hardened)
    }

    /// All positions at about this moment.
    pub fn positions(&self) -> DbPositions {
        // Read from the hindmost to the foremost, as each only moves forward.
        let truncated = self.log.as_ref().map(Log::truncated);
        let redo_start = Lsn(self.redo_start.load(Ordering::Acquire));
        let checkpoint = Lsn(self.checkpoint.load(Ordering::Acquire));
        match &self.log {
            Some(log) => {
                let p = log.positions();
                DbPositions {
                    truncated: truncated.unwrap_or(p.truncated),
                    redo_start,
                    checkpoint,
                    hardened: p.hardened,
                    written: p.written,
                    appended: p.appended,
                }
            }
            None => {
                let end = self.store.stable();
                DbPositions {
                    truncated: redo_start,
                    redo_start,
                    checkpoint,
                    hardened: end,
                    written: end,
                    appended: end,
                }
            }
        }
    }

    /// Figures for monitoring.
    pub fn stats(&self) -> DbStats {
        let get = |a: &AtomicU64| a.load(Ordering::Relaxed);
        let base = self.store.base().root().stats();
        let held = self.store.base().held_pages();
        let positions = self.positions();
        DbStats {
            commits: get(&self.counters.commits),
            rollbacks: get(&self.counters.rollbacks),
            checkpoints: get(&self.counters.checkpoints),
            checkpoint_pages: get(&self.counters.checkpoint_pages),
            checkpoint_nanos: get(&self.counters.checkpoint_nanos),
            delta_bytes: self.store.delta_bytes(),
            redo_held_bytes: self.roles.redo.lock().as_ref().map_or(0, |task| task.applier().held_bytes()),
            data_pages: base.file_pages,
            data_pages_free: base.file_pages.saturating_sub(base.used_pages + held),
            data_pages_held: held,
            log_file_bytes: self.log.as_ref().map_or(0, Log::file_bytes),
            log_used_bytes: positions.appended.0 - positions.truncated.0.min(positions.appended.0),
            log: self.log.as_ref().map(Log::stats).unwrap_or_default(),
        }
    }

    /// Under the full recovery model log is kept until it is backed up: everything before `lsn` is. `Lsn::MAX` returns to
    /// the simple model.
    pub fn set_backed_up(&self, lsn: Lsn) {
        if self.backed_up.swap(lsn.0, Ordering::AcqRel) != lsn.0 {
            self.give_log_back();
        }
    }

    /// Gives back the log that nobody needs any more.
    pub(crate) fn give_log_back(&self) {
        if let Some(log) = &self.log {
            let redo_start = Lsn(self.redo_start.load(Ordering::Acquire));
            let own = redo_start.min(Lsn(self.backed_up.load(Ordering::Acquire)));
            self.holders.give_back(own, log.hardened(), |before| log.truncate_before(before));
        }
    }

    /// What keeps log space from being used again.
    pub fn log_reuse_wait(&self) -> LogReuseWait {
        let positions = self.positions();
        let backed_up = Lsn(self.backed_up.load(Ordering::Acquire));
        if self.holders.oldest().is_some_and(|held| held < positions.redo_start.min(backed_up)) {
            LogReuseWait::AvailabilityReplica
        } else if backed_up < positions.checkpoint {
            LogReuseWait::LogBackup
        } else if positions.redo_start < positions.checkpoint && !self.follower.streams.lock().is_empty() {
            LogReuseWait::ActiveTransaction
        } else if positions.checkpoint < positions.hardened {
            LogReuseWait::Checkpoint
        } else {
            LogReuseWait::Nothing
        }
    }

    pub(crate) fn ask_for_checkpoint(&self) {
        if self.instance.options().automatic_checkpoints
            && self.schedule.may_begin(self.instance.env().clock.now())
            && !self.checkpoint_asked.swap(true, Ordering::AcqRel)
        {
            self.instance.checkpointer.ask(&self.weak);
        }
    }

    pub(crate) fn provision(&self) -> Result<(), DbError> {
        match &self.log {
            // The directory of a closed database may belong to another one by now.
            Some(log) if !self.is_closed() => Ok(log.provision(&|| self.rest_while_provisioning())?),
            _ => Ok(()),
        }
    }

    /// Gives the disk to others for a moment; false when the database is closed.
    fn rest_while_provisioning(&self) -> bool {
        let alone = self.instance.provisioner.waiting() == 0;
        if alone && !self.instance.options().by_hand {
            std::thread::sleep(PROVISION_REST);
        }
        !self.is_closed()
    }

    /// A new stream id, known to checkpoints before its first record has a place.
    pub(crate) fn begin_stream(&self) -> u64 {
        let id = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let mut streams = self.follower.streams.lock();
        // Under the lock: a checkpoint that looks later sees it, one that looked before began before this position.
        let first = self.log.as_ref().map_or(Lsn::ZERO, Log::appended);
        streams.insert(id, Stream { first, decided: None, name: None });
        id
    }

    /// The stream committed at `end`, or was prepared and aborted there, or never happened.
    pub(crate) fn end_stream(&self, id: u64, end: Option<Lsn>) {
        let mut streams = self.follower.streams.lock();
        match (end, streams.get_mut(&id)) {
            (Some(end), Some(stream)) => stream.decided = Some(end),
            _ => {
                streams.remove(&id);
            }
        }
    }

    /// No checkpoint takes its LSN while this is held.
    pub(crate) fn block_checkpoints(&self) -> RwLockReadGuard<'_, ()> {
        self.dropping.read()
    }

    /// Commits in a volatile database: the next number is the commit LSN, visible at once.
    pub(crate) fn commit_volatile(&self, status: &TxnStatus) -> Lsn {
        let mut last = self.volatile.lock();
        *last += 1;
        let lsn = Lsn(*last);
        status.commit_at(lsn);
        self.store.advance_stable(lsn);
        lsn
    }

    /// Looks whether the log since the checkpoint has become long enough for another.
    #[inline]
    pub(crate) fn note_appended(&self, end: Lsn) {
        if self.log_is_long(end) && !self.checkpoint_asked.load(Ordering::Relaxed) {
            self.ask_for_checkpoint();
        }
    }

    /// Returns when a commit of `term` at `lsn` survives a power cut, and in a group whatever the group promises, and lets
    /// snapshots see it.
    pub(crate) fn wait_committed(&self, lsn: Lsn, term: u64) -> Result<(), TxnError> {
        if let Some(log) = &self.log {
            let waited = match self.gate.enlist(lsn, term) {
                None => log.wait_hardened(lsn),
                Some(sleeper) => {
                    let waited = log.wait_hardened_and_released(lsn, &sleeper);
                    if waited.is_err() {
                        self.gate.forget(&sleeper);
                    }
                    waited
                }
            };
            match waited {
                Ok(()) => self.gate.wait(lsn, term)?,
                // The position was cut off, so the term is over.
                Err(LogError::NotWriter) => return self.gate.outcome_of(lsn, term),
                Err(error) => return Err(error.into()),
            }
            self.advance_visible();
        }
        Ok(())
    }

    /// Lets snapshots see what may be seen: what is hardened, in a group also agreed. On a replica that is not the
    /// primary redo does that.
    #[inline]
    pub(crate) fn advance_visible(&self) {
        if let Some(log) = &self.log {
            // In this order: who loses its role in between has agreed to no less.
            let hardened = log.hardened();
            self.store.advance_stable(hardened.min(self.gate.cap()));
        }
    }

    /// Checkpoints and closes: later commits that write fail.
    pub fn close(&self) -> Result<(), DbError> {
        self.closed.store(true, Ordering::Release);
        self.stop_redo();
        if let Some(log) = &self.log {
            log.wait_for_provisioning();
            log.flush()?;
            self.checkpoint()?;
        }
        self.forget_prepared();
        Ok(())
    }
}

/// Removes a database's files, and its directories if nothing else is in them. The control file goes first, for good: without it
/// the rest is no database, and with it none of the rest may be missing.
pub(crate) fn wipe(env: &keel_base::env::Env, dir: &Path) -> Result<(), DbError> {
    let disk = env.disk.as_ref();
    if !disk.exists(dir) {
        return Ok(());
    }
    // Before the control file: what is not a database any more has none either.
    snapshot::remove_all(env, dir)?;
    if disk.exists(&control::path(dir)) {
        disk.remove(&control::path(dir))?;
        disk.sync_dir(dir)?;
    }
    let unfinished =
        [control::unfinished(dir), marker::unfinished(dir)].into_iter().chain(crate::seed::paths(dir));
    let whole = [data_path(dir), marker::path(dir), detached::path(dir), crate::keys::path(dir)];
    for file in unfinished.chain(whole) {
        if disk.exists(&file) {
            disk.remove(&file)?;
        }
    }
    let log = log_dir(dir);
    if disk.exists(&log) {
        for segment in disk.list(&log)?.iter().filter(|path| is_segment(path)) {
            disk.remove(segment)?;
        }
        disk.sync_dir(&log)?;
    }
    disk.sync_dir(dir)?;
    for empty in [log.as_path(), dir] {
        if disk.exists(empty) && disk.list(empty)?.is_empty() {
            disk.remove_dir_all(empty)?;
        }
    }
    Ok(())
}
