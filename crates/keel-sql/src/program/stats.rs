//! How often programs and statements ran and what that cost: the rows of `sys.dm_exec_query_stats`, `dm_exec_procedure_stats` and their kin.
//!
//! Each thread adds to a part of its own, so sessions that run the same statement do not write to the same memory; who asks adds the
//! parts up.

use keel_query::parts::{PARTS, part_of_thread};
use parking_lot::Mutex;
use std::sync::OnceLock;

/// What one run cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunCost {
    /// When it began, local ticks.
    pub began: i64,
    /// ns from entry to exit, calls included.
    pub elapsed_nanos: u64,
    /// ns of processor time.
    pub cpu_nanos: u64,
    /// Rows returned to the client; of a statement those that it changed, too.
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Total {
    /// Sum.
    pub total: u64,
    /// Last.
    pub last: u64,
    /// Least.
    pub min: u64,
    /// Largest.
    pub max: u64,
}

impl Total {
    /// Adds a share; `before` are there already.
    fn add(&mut self, before: u64, n: u64) {
        self.total += n;
        self.last = n;
        self.min = if before == 0 { n } else { self.min.min(n) };
        self.max = self.max.max(n);
    }

    /// Adds those of another part; the last is that of the part which ran last.
    fn merge(&mut self, more: &Total, is_later: bool) {
        self.total += more.total;
        self.min = self.min.min(more.min);
        self.max = self.max.max(more.max);
        if is_later {
            self.last = more.last;
        }
    }

    /// Total, last, least, largest.
    #[must_use]
    pub fn get(&self) -> [i64; 4] {
        [self.total, self.last, self.min, self.max].map(|n| i64::try_from(n).unwrap_or(i64::MAX))
    }
}

/// Runs, added up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Runs {
    /// When the first began, local ticks.
    pub created: i64,
    /// When the last began, local ticks.
    pub last: i64,
    /// How many.
    pub executions: u64,
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
    /// Rows returned or changed.
    pub rows: Total,
    /// Most threads that a statement had.
    pub degree: Total,
}

impl Runs {
    fn add(&mut self, cost: &RunCost) {
        let before = self.executions;
        if before == 0 {
            self.created = cost.began;
        }
        self.last = cost.began;
        self.executions += 1;
        self.cpu_us.add(before, cost.cpu_nanos / 1000);
        self.elapsed_us.add(before, cost.elapsed_nanos / 1000);
        self.logical_reads.add(before, cost.logical_reads);
        self.reads.add(before, cost.reads);
        self.writes.add(before, cost.writes);
        self.rows.add(before, cost.rows);
        self.degree.add(before, cost.degree);
    }

    fn merge(&mut self, more: &Runs) {
        if self.executions == 0 {
            *self = *more;
            return;
        }
        let is_later = more.last >= self.last;
        self.created = self.created.min(more.created);
        self.last = self.last.max(more.last);
        self.executions += more.executions;
        for (sum, more) in [
            (&mut self.cpu_us, &more.cpu_us),
            (&mut self.elapsed_us, &more.elapsed_us),
            (&mut self.logical_reads, &more.logical_reads),
            (&mut self.reads, &more.reads),
            (&mut self.writes, &more.writes),
            (&mut self.rows, &more.rows),
            (&mut self.degree, &more.degree),
        ] {
            sum.merge(more, is_later);
        }
    }
}

/// Statistics of a program or a statement.
#[derive(Debug, Default)]
pub struct RunStats {
    parts: [OnceLock<Box<Mutex<Runs>>>; PARTS],
}

impl RunStats {
    /// Counts a run.
    pub fn count(&self, cost: &RunCost) {
        self.parts[part_of_thread()].get_or_init(Box::default).lock().add(cost);
    }

    /// All runs so far; `None` when there were none.
    #[must_use]
    pub fn runs(&self) -> Option<Runs> {
        let mut all = Runs::default();
        self.parts.iter().filter_map(OnceLock::get).for_each(|part| all.merge(&part.lock()));
        (all.executions > 0).then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up() {
        let stats = RunStats::default();
        assert!(stats.runs().is_none());
        for (began, micros) in [(100, 7), (200, 3), (300, 5)] {
            let cost = RunCost { began, elapsed_nanos: micros * 1000, rows: 1, ..RunCost::default() };
            stats.count(&cost);
        }
        let runs = stats.runs().expect("it ran");
        assert_eq!(runs.elapsed_us.get(), [15, 5, 3, 7]);
        assert_eq!(runs.rows.get(), [3, 1, 1, 1]);
        assert_eq!((runs.created, runs.last, runs.executions), (100, 300, 3));
    }

    #[test]
    fn parts_of_threads_add_up() {
        let stats = RunStats::default();
        let count = |began: i64, micros: u64| {
            stats.count(&RunCost { began, cpu_nanos: micros * 1000, ..RunCost::default() });
        };
        std::thread::scope(|scope| {
            scope.spawn(|| [(500, 9), (900, 4)].into_iter().for_each(|(began, micros)| count(began, micros)));
        });
        [(300, 2), (700, 6)].into_iter().for_each(|(began, micros)| count(began, micros));
        let runs = stats.runs().expect("it ran");
        assert_eq!(runs.cpu_us.get(), [21, 4, 2, 9]);
        assert_eq!((runs.created, runs.last, runs.executions), (300, 900, 4));
    }
}
