//! How often a program ran and what that cost: the rows of `sys.dm_exec_query_stats`.
//!
//! Elapsed time is measured from entry to exit, calls included. Processor time is measured once per request and shared out
//! to the programs that ran in it by the time each took.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// What one run cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunCost {
    /// When it began, local ticks.
    pub began: i64,
    /// µs from entry to exit.
    pub elapsed_us: u64,
    /// Rows returned to the client.
    pub rows: u64,
    /// Pages' worth of rows read.
    pub logical_reads: u64,
    /// Pages read from disk.
    pub reads: u64,
    /// Rows written.
    pub writes: u64,
    /// Most threads that a statement of it had.
    pub degree: u64,
}

/// A total with the last, the least and the largest share of it.
#[derive(Debug)]
pub struct Total {
    /// Sum.
    pub total: AtomicU64,
    /// Last.
    pub last: AtomicU64,
    /// Least.
    pub min: AtomicU64,
    /// Largest.
    pub max: AtomicU64,
}

impl Default for Total {
    fn default() -> Total {
        Total { total: 0.into(), last: 0.into(), min: u64::MAX.into(), max: 0.into() }
    }
}

impl Total {
    /// Adds a share.
    pub fn add(&self, n: u64) {
        self.total.fetch_add(n, Ordering::Relaxed);
        self.last.store(n, Ordering::Relaxed);
        if n < self.min.load(Ordering::Relaxed) {
            self.min.fetch_min(n, Ordering::Relaxed);
        }
        if n > self.max.load(Ordering::Relaxed) {
            self.max.fetch_max(n, Ordering::Relaxed);
        }
    }

    /// Total, last, least, largest.
    #[must_use]
    pub fn get(&self) -> [i64; 4] {
        let total = self.total.load(Ordering::Relaxed);
        let least = self.min.load(Ordering::Relaxed);
        let least = if least == u64::MAX { 0 } else { least };
        let (last, most) = (self.last.load(Ordering::Relaxed), self.max.load(Ordering::Relaxed));
        [total, last, least, most].map(|n| i64::try_from(n).unwrap_or(i64::MAX))
    }
}

/// Statistics of a program.
#[derive(Debug, Default)]
pub struct RunStats {
    /// When it was compiled, local ticks; 0 until it first runs.
    pub created: AtomicI64,
    /// When it began last, local ticks.
    pub last: AtomicI64,
    /// Runs so far.
    pub executions: AtomicU64,
    /// Statements compiled again.
    pub recompilations: AtomicU64,
    /// µs of processor time.
    pub cpu_us: Total,
    /// µs from entry to exit.
    pub elapsed_us: Total,
    /// Pages' worth of rows read.
    pub logical_reads: Total,
    /// Pages read from disk.
    pub reads: Total,
    /// Rows written.
    pub writes: Total,
    /// Rows returned.
    pub rows: Total,
    /// Most threads that a statement of it had.
    pub degree: Total,
}

impl RunStats {
    /// Counts a run.
    pub fn count(&self, cost: &RunCost) {
        if self.executions.fetch_add(1, Ordering::Relaxed) == 0 {
            self.created.store(cost.began, Ordering::Relaxed);
        }
        self.last.store(cost.began, Ordering::Relaxed);
        self.elapsed_us.add(cost.elapsed_us);
        self.rows.add(cost.rows);
        self.degree.add(cost.degree);
        self.logical_reads.add(cost.logical_reads);
        if cost.reads > 0 {
            self.reads.add(cost.reads);
        }
        if cost.writes > 0 {
            self.writes.add(cost.writes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up() {
        let stats = RunStats::default();
        assert_eq!(stats.elapsed_us.get(), [0; 4]);
        for (began, elapsed_us) in [(100, 7), (200, 3), (300, 5)] {
            stats.count(&RunCost { began, elapsed_us, rows: 1, ..RunCost::default() });
        }
        assert_eq!(stats.elapsed_us.get(), [15, 5, 3, 7]);
        assert_eq!(stats.rows.get(), [3, 1, 1, 1]);
        assert_eq!(stats.created.load(Ordering::Relaxed), 100);
        assert_eq!(stats.last.load(Ordering::Relaxed), 300);
        assert_eq!(stats.executions.load(Ordering::Relaxed), 3);
    }
}
