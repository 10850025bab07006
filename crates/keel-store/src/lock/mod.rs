//! # The lock manager: who may touch what, for all databases of an instance
//!
//! ```text
//! LockOwner (transaction) ──lock(resource, mode, wait)──► shard ─► head: grants | queue
//!     held: places                                            │ blocked
//!     objects: cached                                         ▼
//!                                      wait-for graph walk ─► sleep ─► granted · timeout · victim · cancelled
//! ```
//!
//! * **Fast path**: hash, one shard mutex, one head made in the shard's slab; release by place, without hashing.
//!   Object and database locks held are remembered by the owner, so asking again touches nothing shared.
//! * **Fairness**: a request waits when it conflicts with what others hold or with anybody who waits before it.
//!   Conversions come before newcomers and pass those that wait for what the converter holds.
//! * **Ranges** (serializable): intervals over the keys of a tree, existing or not. Readers register theirs before
//!   they read; every write asks whether its key lies in one, which costs a load while there are none.
//! * **Deadlocks** are found when the last member blocks ([`deadlock`]); nobody polls.
//! * Lock order inside: waits → one shard → one cell. No foreign code runs under them, except
//!   [`OwnerContext::describe`] under the first.
//!
//! Readers of row versions take no locks here at all. Deliberately absent: when to escalate (who has the table's lock instead
//! gives its keys back, [`LockOwner::release_keys`]), isolation levels (the engine's), lock partitioning beyond the shards.

pub mod deadlock;
mod mode;
mod owner;
mod range;
mod resource;
mod stats;
mod table;
#[cfg(test)]
mod tests;
mod wait;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crossbeam_utils::CachePadded;
use parking_lot::{Mutex, RwLock};
use thiserror::Error;

pub use deadlock::{DeadlockGraph, DeadlockProcess, DeadlockResource, DeadlockRole};
pub use mode::Mode;
pub use owner::{Granted, LockMark, LockOwner, OwnerContext, OwnerDescription};
pub use range::Interval;
pub use resource::{OwnedResource, Resource};
pub use stats::WaitStat;
pub use wait::{Cancel, CancelToken, Wait};

use owner::OwnerShared;
use stats::Stats;
use table::Shard;

/// Why a lock was not granted.
#[derive(Clone, Debug, Error)]
pub enum LockError {
    /// The time allowed is over (error 1222).
    #[error("lock request time out period exceeded")]
    Timeout,
    /// Chosen as the victim of a deadlock (error 1205): roll back.
    #[error("chosen as the deadlock victim")]
    Deadlock(Arc<DeadlockGraph>),
    /// The session was told to stop.
    #[error("cancelled while waiting for a lock")]
    Cancelled,
}

/// How a request of `sys.dm_tran_locks` stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStatus {
    /// Held.
    Grant,
    /// Queued.
    Wait,
    /// Held in a weaker mode, queued for this one.
    Convert,
}

/// One row of `sys.dm_tran_locks`.
#[derive(Clone, Debug)]
pub struct LockInfo {
    /// What is locked.
    pub resource: OwnedResource,
    /// The mode held or wanted.
    pub mode: Mode,
    /// Held or wanted.
    pub status: RequestStatus,
    /// Number of askings.
    pub count: u32,
    /// The session.
    pub agent: u64,
    /// The owner's number.
    pub owner: u64,
    /// Log bytes that the owner has written ([`LockOwner::set_log_used`]).
    pub log_used: u64,
}

/// A session that waits for a lock (`sys.dm_exec_requests`, `sys.dm_os_waiting_tasks`).
#[derive(Clone, Debug)]
pub struct WaitInfo {
    /// The session.
    pub agent: u64,
    /// What it waits for.
    pub resource: OwnedResource,
    /// The mode it wants.
    pub mode: Mode,
    /// Since when.
    pub waited: Duration,
    /// The sessions in its way.
    pub blocked_by: Vec<u64>,
}

/// Where a session waits.
struct WaitPlace {
    owner: Arc<OwnerShared>,
    shard: usize,
    head: u32,
    wait_id: u64,
    since: Instant,
}

/// Told about each deadlock, after the victim has been woken.
pub type DeadlockReport = dyn Fn(&Arc<DeadlockGraph>) + Send + Sync;

const SHARDS: usize = 128;

/// All locks of an instance.
// Apart from the counts of its references, which all sessions write to.
#[repr(align(128))]
pub struct LockManager {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    hasher: foldhash::fast::RandomState,
    /// Sessions that wait. Also serialises deadlock detection.
    waits: Mutex<deadlock::Waits>,
    /// Range requests that owners hold or wait for; writers skip the range check at zero.
    ranges: AtomicUsize,
    stats: Stats,
    /// Written by every transaction, while the rest is read by every lock.
    owners: CachePadded<AtomicU64>,
    on_deadlock: RwLock<Option<Box<DeadlockReport>>>,
}

impl LockManager {
    /// A manager without locks.
    #[must_use]
    pub fn new() -> Arc<LockManager> {
        Arc::new(LockManager {
            shards: (0..SHARDS).map(|_| CachePadded::default()).collect(),
            hasher: foldhash::fast::RandomState::default(),
            waits: Mutex::default(),
            ranges: AtomicUsize::new(0),
            stats: Stats::default(),
            owners: CachePadded::new(AtomicU64::new(0)),
            on_deadlock: RwLock::new(None),
        })
    }

    /// Sets what is told about deadlocks. Called on the thread of a session that blocks; it must not take locks here.
    pub fn on_deadlock(&self, report: Box<DeadlockReport>) {
        *self.on_deadlock.write() = Some(report);
    }

    /// Everything held and wanted now. Shards are visited one after the other, so the list is no single moment's.
    #[must_use]
    pub fn locks(&self) -> Vec<LockInfo> {
        let mut locks = Vec::new();
        for shard in &self.shards {
            for head in shard.lock().heads() {
                let info = |owner: &OwnerShared, mode, status, count| LockInfo {
                    resource: head.resource.clone(),
                    mode,
                    status,
                    count,
                    agent: owner.agent(),
                    owner: owner.id,
                    log_used: owner.log_used.load(Ordering::Relaxed),
                };
                let grants =
                    head.granted.iter().map(|g| info(&g.owner, g.mode, RequestStatus::Grant, g.count));
                locks.extend(grants);
                locks.extend(head.waiters().map(|w| {
                    let status = if w.converts { RequestStatus::Convert } else { RequestStatus::Wait };
                    info(&w.owner, w.mode, status, 1)
                }));
            }
        }
        locks
    }

    /// The sessions that wait now.
    #[must_use]
    pub fn waiting(&self) -> Vec<WaitInfo> {
        let waits = self.waits.lock();
        let info = |(agent, place): (&u64, &WaitPlace)| {
            let blocked_by = self.blockers(place).iter().map(|owner| owner.agent()).collect();
            let shard = self.shards[place.shard].lock();
            let head = shard.heads_at(place.head)?;
            let waiter = head.waiters().find(|w| w.wait_id == place.wait_id && w.owner.agent() == *agent)?;
            let waited = place.since.elapsed();
            Some(WaitInfo {
                agent: *agent,
                resource: head.resource.clone(),
                mode: waiter.mode,
                waited,
                blocked_by,
            })
        };
        waits.iter().filter_map(info).collect()
    }

    /// Waits by mode since the start.
    #[must_use]
    pub fn wait_stats(&self) -> Vec<WaitStat> {
        self.stats.read()
    }

    /// Requests since the start, those answered from what the owner already held left out.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().requests).sum()
    }

    /// Deadlocks resolved since the start.
    #[must_use]
    pub fn deadlocks(&self) -> u64 {
        self.stats.deadlocks.load(Ordering::Relaxed)
    }

    /// Requests that timed out since the start.
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        self.stats.timeouts.load(Ordering::Relaxed)
    }

    #[inline]
    fn locate(&self, resource: &Resource<'_>) -> (usize, u64) {
        let hash = resource.hash_with(&self.hasher);
        // The table inside a shard uses the top and the low bits.
        ((hash >> 32) as usize % SHARDS, hash)
    }

    fn next_owner(&self) -> u64 {
        self.owners.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn note_waiting(&self, place: WaitPlace) {
        self.waits.lock().insert(place.owner.agent(), place);
    }

    fn note_done(&self, agent: u64, wait_id: u64) {
        let mut waits = self.waits.lock();
        if waits.get(&agent).is_some_and(|place| place.wait_id == wait_id) {
            waits.remove(&agent);
        }
    }
}
