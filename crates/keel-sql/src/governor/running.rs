//! Pools and groups in force: their limits, who is in them, and what was counted.
//!
//! Sessions count for themselves ([`Counts`]), so that nothing is shared between threads while requests run. A group's figures are
//! those of the sessions in it and what those that have left had counted.

use super::definition::{GroupDef, PoolDef};
use super::wait::Queue;
use keel_query::{MemoryPool, MemoryShare};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// What a session counts while it is in a group. Its own thread writes, views read.
#[derive(Default)]
pub struct Counts {
    /// Requests that have ended.
    pub requests: AtomicU64,
    /// Processor time, µs.
    pub cpu_us: AtomicU64,
    /// That of the request that took most.
    pub request_cpu_us_max: AtomicU64,
    /// Time slept because the group or its pool had used its share, µs.
    pub delayed_us: AtomicU64,
    /// How often.
    pub delays: AtomicU64,
    /// Waits for locks.
    pub lock_waits: AtomicU64,
    /// Their time, µs.
    pub lock_wait_us: AtomicU64,
    /// Reads of data files.
    pub reads: AtomicU64,
    /// Their bytes.
    pub read_bytes: AtomicU64,
    /// Their time, µs.
    pub read_us: AtomicU64,
    /// Plans made.
    pub compilations: AtomicU64,
}

/// Figures of a group or a pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Requests that have ended.
    pub requests: u64,
    /// Processor time, µs.
    pub cpu_us: u64,
    /// That of the request that took most.
    pub request_cpu_us_max: u64,
    /// Time that sessions were made to sleep, µs.
    pub delayed_us: u64,
    /// How often.
    pub delays: u64,
    /// Waits for locks.
    pub lock_waits: u64,
    /// Their time, µs.
    pub lock_wait_us: u64,
    /// Reads of data files.
    pub reads: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Their time, µs.
    pub read_us: u64,
    /// Plans made.
    pub compilations: u64,
    /// Requests that had to queue.
    pub queued: u64,
    /// Requests that have used more processor time than they may.
    pub violations: u64,
}

impl Figures {
    fn each(&mut self) -> [&mut u64; 12] {
        [
            &mut self.requests,
            &mut self.cpu_us,
            &mut self.delayed_us,
            &mut self.delays,
            &mut self.lock_waits,
            &mut self.lock_wait_us,
            &mut self.reads,
            &mut self.read_bytes,
            &mut self.read_us,
            &mut self.compilations,
            &mut self.queued,
            &mut self.violations,
        ]
    }

    /// Adds those of another.
    pub fn add(&mut self, mut other: Figures) {
        self.request_cpu_us_max = self.request_cpu_us_max.max(other.request_cpu_us_max);
        self.each().into_iter().zip(other.each()).for_each(|(sum, n)| *sum += *n);
    }

    /// What came since an earlier look.
    fn since(mut self, mut before: Figures) -> Figures {
        self.each().into_iter().zip(before.each()).for_each(|(now, n)| *now = now.saturating_sub(*n));
        self
    }
}

impl Counts {
    fn figures(&self) -> Figures {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Figures {
            requests: of(&self.requests),
            cpu_us: of(&self.cpu_us),
            request_cpu_us_max: of(&self.request_cpu_us_max),
            delayed_us: of(&self.delayed_us),
            delays: of(&self.delays),
            lock_waits: of(&self.lock_waits),
            lock_wait_us: of(&self.lock_wait_us),
            reads: of(&self.reads),
            read_bytes: of(&self.read_bytes),
            read_us: of(&self.read_us),
            compilations: of(&self.compilations),
            queued: 0,
            violations: 0,
        }
    }

    fn clear(&self) {
        let all = [
            &self.requests,
            &self.cpu_us,
            &self.request_cpu_us_max,
            &self.delayed_us,
            &self.delays,
            &self.lock_waits,
            &self.lock_wait_us,
            &self.reads,
            &self.read_bytes,
            &self.read_us,
            &self.compilations,
        ];
        all.iter().for_each(|counter| counter.store(0, Ordering::Relaxed));
    }
}

/// A resource pool in force.
pub struct Pool {
    /// `pool_id`
    pub id: i32,
    /// Name.
    pub name: String,
    def: RwLock<PoolDef>,
    /// Since when it is counted, local ticks.
    started: AtomicI64,
    /// Changes with the schedulers it keeps to; 0 as long as it never had any.
    pinned: AtomicU64,
    /// Its working memory.
    pub memory: Arc<MemoryPool>,
}

impl Pool {
    pub(super) fn new(def: PoolDef, now: i64) -> Pool {
        Pool {
            id: def.id,
            name: def.name.clone(),
            started: now.into(),
            pinned: AtomicU64::new(u64::from(def.schedulers.is_some())),
            memory: MemoryPool::new(&def.name),
            def: RwLock::new(def),
        }
    }

    /// Its limits.
    #[must_use]
    pub fn def(&self) -> PoolDef {
        self.def.read().clone()
    }

    /// `statistics_start_time`
    #[must_use]
    pub fn started(&self) -> i64 {
        self.started.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, def: PoolDef) {
        let mut now = self.def.write();
        if now.schedulers != def.schedulers {
            self.pinned.fetch_add(1, Ordering::Relaxed);
        }
        *now = def;
    }

    pub(super) fn reset(&self, now: i64) {
        self.started.store(now, Ordering::Relaxed);
    }

    /// Which setting of its schedulers is in force; 0 as long as there never was one.
    #[must_use]
    pub fn pinned(&self) -> u64 {
        self.pinned.load(Ordering::Relaxed)
    }
}

/// What those that have left a group counted, and where the figures stood when they were reset.
#[derive(Default)]
struct Totals {
    left: Figures,
    before: Figures,
}

/// A workload group in force.
pub struct Group {
    /// `group_id`
    pub id: i32,
    /// Name.
    pub name: String,
    /// Its pool.
    pub pool: Arc<Pool>,
    def: RwLock<GroupDef>,
    started: AtomicI64,
    totals: Mutex<Totals>,
    /// Something is done about its requests. What every request and every few hundred rows ask.
    acts: AtomicBool,
    /// Its place at the pacer, and one; 0 when it is not paced.
    place: AtomicUsize,
    /// GROUP_MAX_REQUESTS
    pub queue: Queue,
    /// What its statements may take of the pool's memory.
    pub memory: Arc<MemoryShare>,
}

impl Group {
    pub(super) fn new(def: GroupDef, pool: Arc<Pool>, now: i64) -> Group {
        Group {
            id: def.id,
            name: def.name.clone(),
            memory: MemoryShare::new(&pool.memory),
            pool,
            started: now.into(),
            def: RwLock::new(def),
            totals: Mutex::default(),
            acts: AtomicBool::new(false),
            place: AtomicUsize::new(0),
            queue: Queue::default(),
        }
    }

    /// Its limits.
    #[must_use]
    pub fn def(&self) -> GroupDef {
        self.def.read().clone()
    }

    /// `statistics_start_time`
    #[must_use]
    pub fn started(&self) -> i64 {
        self.started.load(Ordering::Relaxed)
    }

    /// Puts limits in force; `place` is its place at the pacer, when it is paced.
    pub(super) fn set(&self, def: GroupDef, place: Option<usize>) {
        let acts =
            place.is_some() || def.max_requests > 0 || def.max_cpu_seconds > 0 || self.pool.pinned() > 0;
        self.queue.set_max(usize::try_from(def.max_requests).unwrap_or(0));
        self.memory.limit(def.max_grant_percent);
        self.place.store(place.map_or(0, |place| place + 1), Ordering::Relaxed);
        *self.def.write() = def;
        self.acts.store(acts, Ordering::Relaxed);
    }

    /// Whether anything is done about its requests.
    #[inline]
    #[must_use]
    pub fn acts(&self) -> bool {
        self.acts.load(Ordering::Relaxed)
    }

    /// Its place at the pacer.
    #[must_use]
    pub fn place(&self) -> Option<usize> {
        self.place.load(Ordering::Relaxed).checked_sub(1)
    }

    /// A session leaves it, or ends.
    pub fn leave(&self, counts: &Counts) {
        let mut totals = self.totals.lock();
        totals.left.add(counts.figures());
        counts.clear();
    }

    /// A request had to queue.
    pub fn note_queued(&self) {
        self.totals.lock().left.queued += 1;
    }

    /// A request has used more processor time than it may.
    pub fn note_violation(&self) {
        self.totals.lock().left.violations += 1;
    }

    /// What it has used since its figures were reset; `members` are the counts of the sessions in it.
    pub fn figures<'c>(&self, members: impl Iterator<Item = &'c Counts>) -> Figures {
        let totals = self.totals.lock();
        let mut all = totals.left;
        members.for_each(|counts| all.add(counts.figures()));
        all.since(totals.before)
    }

    /// RESET STATISTICS
    pub(super) fn reset<'c>(&self, members: impl Iterator<Item = &'c Counts>, now: i64) {
        let mut totals = self.totals.lock();
        totals.left.request_cpu_us_max = 0;
        let mut all = totals.left;
        for counts in members {
            counts.request_cpu_us_max.store(0, Ordering::Relaxed);
            all.add(counts.figures());
        }
        totals.before = all;
        self.started.store(now, Ordering::Relaxed);
    }
}
