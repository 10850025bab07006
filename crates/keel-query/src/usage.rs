//! How often indexes are used and tables are changed: what `sys.dm_db_index_usage_stats`,
//! `sys.dm_db_index_operational_stats` and `sys.dm_db_stats_properties` show.
//!
//! ```text
//! operator, row change ── plain sums of one execution ──► at its end ──► IndexUse (atomics, relaxed)
//! ```
//!
//! A plan has the [`IndexUse`] of every tree that it touches since it was compiled, so counting asks nobody and takes no
//! lock. Nothing is counted row by row where others can see it: an execution adds its sums when it ends. Counts begin with
//! the opening of the database; what a transaction did before it was rolled back stays counted.

use crate::catalog::TableDef;
use keel_base::TreeId;
use keel_base::waits::LockWaits;
use parking_lot::RwLock;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// Executions that used an index in one way.
#[derive(Debug, Default)]
pub struct Uses {
    count: AtomicU64,
    last: AtomicI64,
}

impl Uses {
    fn note(&self, at: i64) {
        self.count.fetch_add(1, Relaxed);
        self.last.store(at, Relaxed);
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// When the last of them began, local ticks; `None` when there was none.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        Some(self.last.load(Relaxed)).filter(|at| *at != 0)
    }
}

/// Counters of an index or heap since its database was opened.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct IndexUse {
    /// Executions that sought in it.
    pub seeks: Uses,
    /// Executions that read all of it.
    pub scans: Uses,
    /// Executions that fetched rows of it for entries of another index.
    pub lookups: Uses,
    /// Statements that changed it.
    pub updates: Uses,
    ranges: AtomicU64,
    points: AtomicU64,
    row_locks: AtomicU64,
    lock_waits: AtomicU64,
    lock_wait_nanos: AtomicU64,
    inserted: AtomicU64,
    deleted: AtomicU64,
    updated: AtomicU64,
    /// Of a table's own tree: rows that came or went.
    rows_changed: AtomicU64,
    /// Of a table's own tree: rows in which a column was assigned, by `column_id`.
    columns_changed: RwLock<Vec<AtomicU64>>,
}

/// Counts of rows and reads of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Scans, of all of it or a range.
    pub ranges: u64,
    /// Single rows asked for by their key.
    pub points: u64,
    /// Row locks asked for.
    pub row_locks: u64,
    /// Those that were waited for.
    pub lock_waits: u64,
    /// How long, nanoseconds.
    pub lock_wait_nanos: u64,
    /// Entries added.
    pub inserted: u64,
    /// Entries removed.
    pub deleted: u64,
    /// Entries replaced where they are.
    pub updated: u64,
}

/// What one execution of an operator did to the index it reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reads {
    /// When it began, local ticks; 0 while it has not.
    pub began: i64,
    pub ranges: u64,
    pub points: u64,
    pub row_locks: u64,
    pub lock_waits: LockWaits,
    pub lookups: u64,
}

impl IndexUse {
    /// Adds what an operator did that seeks, or reads all.
    pub(crate) fn read(&self, reads: &Reads, seeks: bool) {
        if seeks { &self.seeks } else { &self.scans }.note(reads.began);
        add(&self.ranges, reads.ranges);
        add(&self.points, reads.points);
    }

    /// Adds row locks, and single rows fetched for entries of another index.
    pub(crate) fn fetched(&self, reads: &Reads) {
        self.locked(reads.row_locks, reads.lock_waits);
        if reads.lookups > 0 {
            self.lookups.note(reads.began);
            add(&self.points, reads.lookups);
        }
    }

    /// Adds row locks asked for, and those waited for.
    pub(crate) fn locked(&self, rows: u64, waits: LockWaits) {
        add(&self.row_locks, rows);
        add(&self.lock_waits, waits.count);
        add(&self.lock_wait_nanos, waits.nanos);
    }

    /// Adds rows looked up for foreign keys that refer to it.
    pub(crate) fn referenced(&self, rows: u64, locked: bool, at: i64) {
        if rows > 0 {
            self.seeks.note(at);
            add(&self.points, rows);
            add(&self.row_locks, if locked { rows } else { 0 });
        }
    }

    /// Adds a statement's changes.
    pub(crate) fn changed(&self, entries: &Entries, at: i64) {
        if *entries == Entries::default() {
            return;
        }
        self.updates.note(at);
        add(&self.inserted, entries.inserted);
        add(&self.deleted, entries.deleted);
        add(&self.updated, entries.updated);
    }

    /// Adds rows that came to or went from the table, and assignments by `column_id`.
    pub(crate) fn rows(&self, rows: u64, columns: impl Iterator<Item = (i32, u64)>) {
        add(&self.rows_changed, rows);
        for (id, n) in columns.filter(|(_, n)| *n > 0) {
            let at = usize::try_from(id).unwrap_or(0);
            if let Some(count) = self.columns_changed.read().get(at) {
                count.fetch_add(n, Relaxed);
                continue;
            }
            let mut counts = self.columns_changed.write();
            if counts.len() <= at {
                counts.resize_with(at + 1, AtomicU64::default);
            }
            counts[at].fetch_add(n, Relaxed);
        }
    }

    /// Counts of rows and reads.
    #[must_use]
    pub fn operations(&self) -> Operations {
        Operations {
            ranges: self.ranges.load(Relaxed),
            points: self.points.load(Relaxed),
            row_locks: self.row_locks.load(Relaxed),
            lock_waits: self.lock_waits.load(Relaxed),
            lock_wait_nanos: self.lock_wait_nanos.load(Relaxed),
            inserted: self.inserted.load(Relaxed),
            deleted: self.deleted.load(Relaxed),
            updated: self.updated.load(Relaxed),
        }
    }

    /// Changes of the table so far, when this is its own tree.
    #[must_use]
    pub fn changes(&self) -> Changes {
        let columns = self.columns_changed.read().iter().map(|n| n.load(Relaxed)).collect();
        Changes { rows: self.rows_changed.load(Relaxed), columns }
    }
}

fn add(to: &AtomicU64, n: u64) {
    if n > 0 {
        to.fetch_add(n, Relaxed);
    }
}

/// Changes of a table since its database was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    rows: u64,
    columns: Vec<u64>,
}

impl Changes {
    /// Rows inserted, deleted, or updated in this column, since an earlier look.
    #[must_use]
    pub fn since(&self, earlier: &Changes, column_id: i32) -> u64 {
        let of = |c: &Changes| {
            usize::try_from(column_id).ok().and_then(|at| c.columns.get(at)).copied().unwrap_or(0)
        };
        // Two looks see each counter at moments of their own.
        self.rows.saturating_sub(earlier.rows) + of(self).saturating_sub(of(earlier))
    }
}

/// A statement's changes of one index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entries {
    pub inserted: u64,
    pub deleted: u64,
    pub updated: u64,
}

/// A statement's changes of a table.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// Of the table's own tree, then of each other index.
    pub entries: SmallVec<[Entries; 4]>,
    /// Rows that were moved to another key: they went and came, and are the same.
    pub moved: u64,
    /// Rows in which a column was assigned, by position.
    pub columns: SmallVec<[u64; 16]>,
    /// Rows looked up for each foreign key.
    pub parents: SmallVec<[u64; 4]>,
    /// Row locks of the table's own tree.
    pub row_locks: u64,
    /// Waits for them.
    pub lock_waits: LockWaits,
}

impl Sums {
    /// Nothing so far, for a table of so many other indexes, columns and foreign keys.
    pub fn begin(&mut self, indexes: usize, columns: usize, parents: usize) {
        self.entries.clear();
        self.entries.resize(indexes + 1, Entries::default());
        self.moved = 0;
        self.row_locks = 0;
        self.lock_waits = LockWaits::default();
        self.columns.clear();
        self.columns.resize(columns, 0);
        self.parents.clear();
        self.parents.resize(parents, 0);
    }
}

/// The counters of a database's trees.
#[derive(Debug, Default)]
pub struct UsageCounters {
    trees: RwLock<HashMap<TreeId, Arc<IndexUse>>>,
}

impl UsageCounters {
    /// The counters of a tree, which begin with the first plan that asks.
    #[must_use]
    pub fn of(&self, tree: TreeId) -> Arc<IndexUse> {
        if let Some(known) = self.known(tree) {
            return known;
        }
        Arc::clone(self.trees.write().entry(tree).or_default())
    }

    /// The counters of a tree, if any plan has asked for them.
    #[must_use]
    pub fn known(&self, tree: TreeId) -> Option<Arc<IndexUse>> {
        self.trees.read().get(&tree).cloned()
    }

    /// Changes of a table so far.
    #[must_use]
    pub fn changes(&self, table: &TableDef) -> Changes {
        self.known(table.clustered().tree).map(|own| own.changes()).unwrap_or_default()
    }

    /// Forgets a tree that is no more.
    pub fn forget(&self, tree: TreeId) {
        self.trees.write().remove(&tree);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_of_rows_and_of_a_column() {
        let counters = UsageCounters::default();
        let own = counters.of(TreeId(7));
        own.rows(10, std::iter::empty());
        let before = counters.of(TreeId(7)).changes();
        own.rows(3, [(2, 5), (4, 0)].into_iter());
        let after = own.changes();
        assert_eq!([1, 2, 4, 9].map(|column| after.since(&before, column)), [3, 8, 3, 3]);
        assert_eq!(before.since(&after, 2), 0);
    }

    #[test]
    fn a_statement_that_changed_nothing_is_no_update() {
        let index = IndexUse::default();
        index.changed(&Entries::default(), 5);
        assert_eq!((index.updates.count(), index.updates.last()), (0, None));
        index.changed(&Entries { inserted: 2, ..Entries::default() }, 6);
        assert_eq!((index.updates.count(), index.updates.last()), (1, Some(6)));
        assert_eq!(index.operations().inserted, 2);
    }

    #[test]
    fn a_tree_that_went_is_forgotten() {
        let counters = UsageCounters::default();
        let _ = counters.of(TreeId(1));
        counters.forget(TreeId(1));
        assert!(counters.known(TreeId(1)).is_none());
    }
}
