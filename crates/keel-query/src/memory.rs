//! Working memory shared out between resource pools.
//!
//! A statement of a workload group takes from the instance's working memory ([`WorkSpace`](crate::WorkSpace)) what three limits allow:
//! its own (a percentage of its pool's), its pool's maximum, and that the minima of the other pools stay free. What a pool takes
//! within its minimum nobody else can have; beyond it all pools share what the minima leave.
//!
//! Nobody waits: who is refused writes to files.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// So many percent of some bytes.
fn percent_of(bytes: usize, percent: f64) -> usize {
    (bytes as f64 * percent / 100.0) as usize
}

/// The working memory of a resource pool.
#[derive(Debug)]
pub struct MemoryPool {
    /// Its name, for error 701.
    pub name: String,
    min_percent: AtomicU32,
    max_percent: AtomicU32,
    used_bytes: AtomicUsize,
    statements: AtomicUsize,
    grants: AtomicU64,
    out_of_memory: AtomicU64,
}

impl MemoryPool {
    /// One that limits nothing.
    #[must_use]
    pub fn new(name: &str) -> Arc<MemoryPool> {
        Arc::new(MemoryPool {
            name: name.to_owned(),
            min_percent: AtomicU32::new(0),
            max_percent: AtomicU32::new(100),
            used_bytes: AtomicUsize::new(0),
            statements: AtomicUsize::new(0),
            grants: AtomicU64::new(0),
            out_of_memory: AtomicU64::new(0),
        })
    }

    /// Sets what it is guaranteed and may have at most, in percent of all working memory.
    pub fn limit(&self, min_percent: u32, max_percent: u32) {
        self.min_percent.store(min_percent, Relaxed);
        self.max_percent.store(max_percent, Relaxed);
    }

    /// What it may have of so many bytes.
    #[must_use]
    pub fn max_of(&self, bytes: usize) -> usize {
        percent_of(bytes, self.max_percent.load(Relaxed).into())
    }

    fn min_of(&self, bytes: usize) -> usize {
        percent_of(bytes, self.min_percent.load(Relaxed).into())
    }

    /// What it has now.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Relaxed)
    }

    /// Statements that have some.
    #[must_use]
    pub fn statements(&self) -> usize {
        self.statements.load(Relaxed)
    }

    /// Statements that have got some so far.
    #[must_use]
    pub fn grants(&self) -> u64 {
        self.grants.load(Relaxed)
    }

    /// Statements that ended with error 701.
    #[must_use]
    pub fn out_of_memory(&self) -> u64 {
        self.out_of_memory.load(Relaxed)
    }

    /// A statement ends with error 701.
    pub(crate) fn note_out_of_memory(&self) {
        self.out_of_memory.fetch_add(1, Relaxed);
    }
}

/// What statements of a workload group may take of their pool, and what they took.
#[derive(Debug)]
pub struct MemoryShare {
    /// The pool.
    pub pool: Arc<MemoryPool>,
    /// Percent of the pool's maximum that one statement may have, as bits of an `f64`.
    percent: AtomicU64,
    reduced: AtomicU64,
    largest_bytes: AtomicUsize,
}

impl MemoryShare {
    /// Of a group whose statements may have all.
    #[must_use]
    pub fn new(pool: &Arc<MemoryPool>) -> Arc<MemoryShare> {
        Arc::new(MemoryShare {
            pool: Arc::clone(pool),
            percent: AtomicU64::new(100f64.to_bits()),
            reduced: AtomicU64::new(0),
            largest_bytes: AtomicUsize::new(0),
        })
    }

    /// Sets how many percent of the pool's maximum one statement may have.
    pub fn limit(&self, percent: f64) {
        self.percent.store(percent.to_bits(), Relaxed);
    }

    /// What one statement may have where there are so many bytes in all.
    #[must_use]
    pub fn statement_bytes(&self, all: usize) -> usize {
        percent_of(self.pool.max_of(all), f64::from_bits(self.percent.load(Relaxed)))
    }

    /// Statements that were refused some.
    #[must_use]
    pub fn reduced(&self) -> u64 {
        self.reduced.load(Relaxed)
    }

    /// The most that one statement had.
    #[must_use]
    pub fn largest_bytes(&self) -> usize {
        self.largest_bytes.load(Relaxed)
    }

    /// A statement ends that had so much, and may have been refused more.
    pub(crate) fn note(&self, bytes: usize, refused: bool) {
        self.largest_bytes.fetch_max(bytes, Relaxed);
        self.reduced.fetch_add(refused.into(), Relaxed);
    }
}

/// The pools in force.
#[derive(Debug, Default)]
pub(crate) struct Pools(Mutex<Vec<Arc<MemoryPool>>>);

impl Pools {
    /// Puts pools in force.
    pub fn set(&self, pools: Vec<Arc<MemoryPool>>) {
        *self.0.lock() = pools;
    }

    /// Takes `step` bytes more for a statement that has `has`, of `all`, of which `used` are taken by whomever.
    pub fn take(&self, share: &MemoryShare, step: usize, has: usize, all: usize, used: &AtomicUsize) -> bool {
        let pool = &share.pool;
        if has + step > share.statement_bytes(all) {
            return false;
        }
        let pools = self.0.lock();
        let own = pool.used_bytes();
        if own + step > pool.max_of(all) || used.load(Relaxed) + step > all {
            return false;
        }
        // What others are guaranteed and have not taken stays free.
        let others = pools.iter().filter(|p| !Arc::ptr_eq(p, pool));
        let kept: usize = others.map(|p| p.min_of(all).saturating_sub(p.used_bytes())).sum();
        let within = own + step <= pool.min_of(all);
        if !within && used.load(Relaxed) + step + kept > all {
            return false;
        }
        pool.used_bytes.fetch_add(step, Relaxed);
        used.fetch_add(step, Relaxed);
        if has == 0 {
            pool.statements.fetch_add(1, Relaxed);
            pool.grants.fetch_add(1, Relaxed);
        }
        true
    }

    /// Gives back what a statement had, if it had any.
    pub fn give_back(&self, share: &MemoryShare, bytes: usize, used: &AtomicUsize) {
        if bytes == 0 {
            return;
        }
        let _pools = self.0.lock();
        share.pool.used_bytes.fetch_sub(bytes, Relaxed);
        share.pool.statements.fetch_sub(1, Relaxed);
        used.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world(limits: &[(u32, u32)]) -> (Pools, Vec<Arc<MemoryShare>>, AtomicUsize) {
        let pool = |(min, max): &(u32, u32)| {
            let pool = MemoryPool::new("p");
            pool.limit(*min, *max);
            pool
        };
        let made: Vec<_> = limits.iter().map(pool).collect();
        let shares = made.iter().map(MemoryShare::new).collect();
        let pools = Pools::default();
        pools.set(made);
        (pools, shares, AtomicUsize::new(0))
    }

    #[test]
    fn a_pool_keeps_to_its_maximum_and_a_statement_to_its_share() {
        let (pools, shares, used) = world(&[(0, 50)]);
        shares[0].limit(40.0);
        assert!(pools.take(&shares[0], 20, 0, 100, &used));
        assert!(!pools.take(&shares[0], 1, 20, 100, &used), "one statement has its share");
        assert!(pools.take(&shares[0], 20, 0, 100, &used), "another one has its own");
        assert!(!pools.take(&shares[0], 20, 0, 100, &used), "the pool has all it may");
        assert_eq!((shares[0].pool.used_bytes(), shares[0].pool.statements()), (40, 2));
        pools.give_back(&shares[0], 20, &used);
        assert!(pools.take(&shares[0], 20, 0, 100, &used));
    }

    #[test]
    fn a_minimum_is_kept_for_its_pool() {
        let (pools, shares, used) = world(&[(30, 100), (0, 100)]);
        assert!(pools.take(&shares[1], 70, 0, 100, &used));
        assert!(!pools.take(&shares[1], 1, 70, 100, &used));
        assert!(pools.take(&shares[0], 30, 0, 100, &used));
        assert!(!pools.take(&shares[0], 1, 30, 100, &used));
        pools.give_back(&shares[1], 70, &used);
        assert!(pools.take(&shares[0], 70, 30, 100, &used), "beyond its minimum it takes what is free");
        assert_eq!(used.load(Relaxed), 100);
    }
}
