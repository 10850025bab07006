//! [`Instance`]: what all databases of a process share.

use crate::database::Database;
use crate::housekeeping::{Chore, Housekeeper, OnFailure};
use crate::keys::{SecretOf, Secrets};
use crate::pressure::{Pressure, Verdict};
use keel_base::TxnId;
use keel_base::env::Env;
use keel_log::LogOptions;
use keel_redo::{IdleWaits, RedoPool};
use keel_store::MemoryAccount;
use keel_store::base::PageCache;
use keel_store::lock::LockManager;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// Set aside for the program itself, sessions, plans, log buffers and the like: an eighth of the memory, but no less than
/// the least (of which no more than a quarter of the memory) and no more than the most.
const UNCOUNTED_BYTES_MIN: usize = 96 << 20;
const UNCOUNTED_BYTES_MAX: usize = 128 << 20;

/// A log's unwritten bytes take no more than this part of the memory, where that is less than the log allows.
const UNWRITTEN_SHARE: usize = 64;
/// Less would make a load wait for each of its parts.
const UNWRITTEN_BYTES_MIN: usize = 1 << 20;

/// How an instance is set up.
#[derive(Clone, Debug)]
pub struct InstanceOptions {
    /// The most that [`max server memory`](Instance::memory_limit) can be: row versions and page cache together, in bytes.
    pub memory_bytes: usize,
    /// Bytes a second that checkpoints may write (`-k`); 0 = no limit.
    pub checkpoint_bytes_per_second: u64,
    /// Threads of recovery, and of redo for all databases together; 0 = redo runs on the thread that asks for it.
    pub redo_workers: usize,
    /// A stretch of log no longer than this is applied by one of them, without waking the others, bytes.
    pub redo_alone_bytes: usize,
    /// A database is checkpointed when this much log would have to be replayed (from the target recovery time).
    pub checkpoint_log_bytes: u64,
    /// A transaction's records go to the log early when there are more bytes of them than this.
    pub stream_bytes: usize,
    /// Whether checkpoints start by themselves, on a thread of the instance.
    pub automatic_checkpoints: bool,
    /// Bytes that a checkpoint writes and syncs at once; small, so that a commit's sync never waits long behind it.
    pub checkpoint_chunk_bytes: usize,
    /// No thread is started: what they would do waits for [`Instance::work_queued`]. For a simulator, where everything
    /// happens on one thread in an order that it chooses. `redo_workers` then says how many lanes redo has, at least one.
    pub by_hand: bool,
}

impl Default for InstanceOptions {
    fn default() -> Self {
        InstanceOptions {
            memory_bytes: 1 << 30,
            checkpoint_bytes_per_second: 0,
            redo_workers: 2,
            redo_alone_bytes: keel_redo::ALONE_BYTES,
            checkpoint_log_bytes: 1 << 30,
            stream_bytes: 1 << 20,
            automatic_checkpoints: true,
            checkpoint_chunk_bytes: 4 << 20,
            by_hand: false,
        }
    }
}

/// What all databases of a process share.
pub struct Instance {
    env: Env,
    options: InstanceOptions,
    locks: Arc<LockManager>,
    pub(crate) cache: Arc<PageCache>,
    pub(crate) memory: Arc<MemoryAccount>,
    /// Locks and undo lists of transactions with many writes, in bytes.
    overhead: AtomicU64,
    pub(crate) pressure: Pressure,
    pub(crate) checkpointer: Arc<Housekeeper>,
    pub(crate) provisioner: Arc<Housekeeper>,
    pub(crate) turner: Arc<Housekeeper>,
    pub(crate) log_writer: Arc<Housekeeper>,
    pub(crate) secrets: Secrets,
    pub(crate) redo: RedoPool,
    databases: Mutex<Vec<Weak<Database>>>,
    next_txn: AtomicU64,
    /// Length of log is no reason for a checkpoint.
    checkpoints_held: AtomicBool,
    /// `max server memory` as it is now, in bytes.
    memory_limit: AtomicUsize,
}

/// Row versions may take so much of the memory, and pages as much: half of what is left by everything that is not counted.
fn budget(memory_bytes: usize) -> usize {
    let least = UNCOUNTED_BYTES_MIN.min(memory_bytes / 4);
    let uncounted = (memory_bytes / 8).clamp(least, UNCOUNTED_BYTES_MAX);
    (memory_bytes - uncounted) / 2
}

impl Instance {
    /// A new instance.
    pub fn new(env: Env, options: InstanceOptions) -> Arc<Instance> {
        let budget = budget(options.memory_bytes);
        let cache = PageCache::new(budget);
        // How long pages stay is counted from here on.
        cache.page_life_expectancy(env.clock.now());
        Arc::new(Instance {
            locks: LockManager::new(),
            cache,
            memory: MemoryAccount::new(),
            overhead: AtomicU64::new(0),
            pressure: Pressure::new(budget as u64),
            checkpointer: Housekeeper::new(Chore::Checkpoint, options.by_hand),
            provisioner: Housekeeper::new(Chore::Provision, options.by_hand),
            turner: Housekeeper::new(Chore::Turn, options.by_hand),
            log_writer: Housekeeper::new(Chore::Flush, options.by_hand),
            secrets: Secrets::default(),
            redo: if options.by_hand { RedoPool::by_hand() } else { RedoPool::new(options.redo_workers) },
            databases: Mutex::new(Vec::new()),
            next_txn: AtomicU64::new(1),
            checkpoints_held: AtomicBool::new(false),
            memory_limit: AtomicUsize::new(options.memory_bytes),
            env,
            options,
        })
    }

    /// Disk, clock and random source.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// How it was set up.
    pub fn options(&self) -> &InstanceOptions {
        &self.options
    }

    /// `max server memory` as it is now: row versions and page cache together, in bytes.
    pub fn memory_limit(&self) -> usize {
        self.memory_limit.load(Ordering::Relaxed)
    }

    /// Changes it, to no more than [what the instance was made with](InstanceOptions::memory_bytes). The page cache gives back at once what it
    /// has too much; row versions go with the next checkpoints, for which writers wait no longer than they would have. Buffers of logs that
    /// are open stay as they are.
    pub fn limit_memory(&self, bytes: usize) {
        let bytes = bytes.min(self.options.memory_bytes);
        if self.memory_limit.swap(bytes, Ordering::Relaxed) == bytes {
            return;
        }
        let budget = budget(bytes);
        self.cache.set_capacity(budget);
        self.pressure.set_budget(budget as u64, self.delta_bytes());
        self.judge_memory(0);
    }

    /// A log's options, its buffers in proportion to the memory.
    pub(crate) fn log_options(&self, options: &LogOptions) -> LogOptions {
        let share = (self.memory_limit() / UNWRITTEN_SHARE).max(UNWRITTEN_BYTES_MIN);
        LogOptions { unwritten_bytes_max: options.unwritten_bytes_max.min(share), ..options.clone() }
    }

    /// Sets who is told, on the thread of checkpoints, of those in the background that fail; the first one set stays. Such a
    /// checkpoint is tried again after a pause, if it is still wanted then.
    pub fn on_failed_checkpoint(&self, tell: OnFailure) {
        self.checkpointer.on_failure(tell);
    }

    /// Sets who is told, on its thread, of encryption scans that fail; the first one set stays.
    pub fn on_failed_turn(&self, tell: OnFailure) {
        self.turner.on_failure(tell);
    }

    /// Sets who is told, on its thread, of flushes that fail and for which nobody waits; the first one set stays. Commits with
    /// [delayed durability](crate::Commit::delay) may be lost then.
    pub fn on_failed_flush(&self, tell: OnFailure) {
        self.log_writer.on_failure(tell);
    }

    /// Sets who knows the secrets of certificates, by their thumbprints. Databases that are encrypted do not open before.
    pub fn set_secrets(&self, secret_of: SecretOf) {
        self.secrets.set(secret_of);
    }

    /// Whether checkpoints are held off however long the log gets (trace flag 3505). Those that are asked for, or that
    /// memory needs, still come.
    pub fn hold_checkpoints(&self, hold: bool) {
        self.checkpoints_held.store(hold, Ordering::Relaxed);
    }

    pub(crate) fn checkpoints_held(&self) -> bool {
        self.checkpoints_held.load(Ordering::Relaxed)
    }

    /// All locks.
    pub fn locks(&self) -> &Arc<LockManager> {
        &self.locks
    }

    /// Row versions in memory, with the locks and undo lists of large transactions, in bytes, over all databases.
    pub fn delta_bytes(&self) -> u64 {
        self.memory.bytes() + self.overhead.load(Ordering::Relaxed)
    }

    /// Counts what a large transaction holds beside its versions.
    pub(crate) fn charge(&self, bytes: u64) {
        self.overhead.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Takes back what was charged.
    pub(crate) fn discharge(&self, bytes: u64) {
        self.overhead.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The memory marks and their counters.
    pub fn pressure(&self) -> &Pressure {
        &self.pressure
    }

    /// The page cache of all databases.
    pub fn page_cache(&self) -> &Arc<PageCache> {
        &self.cache
    }

    /// The databases that are open.
    pub fn databases(&self) -> Vec<Arc<Database>> {
        self.databases.lock().iter().filter_map(Weak::upgrade).filter(|db| !db.is_closed()).collect()
    }

    /// What the redo threads of all databases waited for work.
    pub fn redo_idle_waits(&self) -> IdleWaits {
        self.redo.idle_waits()
    }

    /// Of an instance that is worked [by hand](InstanceOptions::by_hand): how many pieces of background work wait (lanes of
    /// redo, checkpoints, log segments to be made, files to be turned, flushes that nobody waits for).
    pub fn work_waiting(&self) -> usize {
        let chores: u32 = self.chores().map(|chore| chore.waiting()).iter().sum();
        self.redo.queued() + chores as usize
    }

    /// Does the `which`-th of the [pieces](Instance::work_waiting) of background work; false when there are not so many. How
    /// it ended is seen where a thread's work would be seen.
    pub fn work_queued(&self, which: usize) -> bool {
        let lanes = self.redo.queued();
        if which < lanes {
            return self.redo.work_queued(which);
        }
        let mut left = which - lanes;
        for chore in self.chores() {
            let waiting = chore.waiting() as usize;
            if left < waiting {
                return chore.work_queued();
            }
            left -= waiting;
        }
        false
    }

    fn chores(&self) -> [&Arc<Housekeeper>; 4] {
        [&self.checkpointer, &self.provisioner, &self.turner, &self.log_writer]
    }

    pub(crate) fn register(&self, database: &Arc<Database>) {
        let mut databases = self.databases.lock();
        databases.retain(|db| db.strong_count() > 0);
        databases.push(Arc::downgrade(database));
    }

    pub(crate) fn next_txn(&self) -> TxnId {
        TxnId(self.next_txn.fetch_add(1, Ordering::Relaxed))
    }

    /// Looks at the memory in use; asks for a checkpoint of the fullest database when it is time.
    pub(crate) fn judge_memory(&self, own: u64) -> Verdict {
        let verdict = self.pressure.judge(self.delta_bytes(), own);
        if verdict != Verdict::Free {
            let fullest = self.databases().into_iter().max_by_key(|db| db.store().delta_bytes());
            if let Some(db) = fullest {
                db.ask_for_checkpoint();
            }
        }
        verdict
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.chores().iter().for_each(|chore| chore.stop());
    }
}
