//! How often indexes are used and tables are changed: what `sys.dm_db_index_usage_stats`,
//! `sys.dm_db_index_operational_stats` and `sys.dm_db_stats_properties` show.
//!
//! ```text
//! operator, row change ── plain sums of one execution ──► at its end ──► IndexUse, the calling thread's part
//! ```
//!
//! A plan has the [`IndexUse`] of every tree that it touches since it was compiled, so counting asks nobody. Nothing is
//! counted row by row where others can see it: an execution adds its sums when it ends. It adds them to a part that few
//! threads share, under a lock that is nearly always free: counters that all sessions wrote to would go to and fro between
//! the processors with every statement, at several times the price of the counting. Whoever looks adds the parts up. Counts
//! begin with the opening of the database; what a transaction did before it was rolled back stays counted.

use crate::catalog::TableDef;
use crate::parts::{PARTS, part_of_thread};
use crossbeam_utils::CachePadded;
use keel_base::TreeId;
use keel_base::waits::LockWaits;
use parking_lot::{Mutex, MutexGuard, RwLock};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// Executions that used an index in one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    count: u64,
    last: i64,
}

impl Uses {
    fn note(&mut self, at: i64) {
        self.count += 1;
        // Threads that share a part come in any order.
        self.last = self.last.max(at);
    }

    fn add(&mut self, other: Uses) {
        self.count += other.count;
        self.last = self.last.max(other.last);
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// When the last of them began, local ticks; `None` when there was none.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        Some(self.last).filter(|at| *at != 0)
    }
}

/// In which ways executions used an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllUses {
    /// Executions that sought in it.
    pub seeks: Uses,
    /// Executions that read all of it.
    pub scans: Uses,
    /// Executions that fetched rows of it for entries of another index.
    pub lookups: Uses,
    /// Statements that changed it.
    pub updates: Uses,
}

/// Counters of an index or heap since its database was opened.
#[derive(Debug, Default)]
pub struct IndexUse {
    parts: [CachePadded<Mutex<Counts>>; PARTS],
}

/// What the threads of one part have counted.
#[derive(Debug, Default)]
struct Counts {
    uses: AllUses,
    operations: Operations,
    /// Of a table's own tree: rows that came or went.
    rows_changed: u64,
    /// Of a table's own tree: rows in which a column was assigned, by `column_id`.
    columns_changed: Vec<u64>,
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
    /// How often the table's lock was asked for instead of those of rows.
    pub escalations_tried: u64,
    /// How often it was had.
    pub escalations: u64,
    /// Entries added.
    pub inserted: u64,
    /// Entries removed.
    pub deleted: u64,
    /// Entries replaced where they are.
    pub updated: u64,
}

impl Operations {
    fn add(&mut self, other: &Operations) {
        self.ranges += other.ranges;
        self.points += other.points;
        self.row_locks += other.row_locks;
        self.lock_waits += other.lock_waits;
        self.lock_wait_nanos += other.lock_wait_nanos;
        self.escalations_tried += other.escalations_tried;
        self.escalations += other.escalations;
        self.inserted += other.inserted;
        self.deleted += other.deleted;
        self.updated += other.updated;
    }
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
    /// How often the table's lock was asked for instead of those of rows, and had.
    pub escalations_tried: u64,
    pub escalations: u64,
    /// Helps another execution, whose use it is part of.
    pub helps: bool,
}

impl IndexUse {
    fn part(&self) -> MutexGuard<'_, Counts> {
        self.parts[part_of_thread()].lock()
    }

    /// Adds what an operator did that seeks, or reads all.
    pub(crate) fn read(&self, reads: &Reads, seeks: bool) {
        let Counts { uses, operations, .. } = &mut *self.part();
        if !reads.helps {
            if seeks { &mut uses.seeks } else { &mut uses.scans }.note(reads.began);
        }
        operations.ranges += reads.ranges;
        operations.points += reads.points;
    }

    /// Adds row locks, and single rows fetched for entries of another index.
    pub(crate) fn fetched(&self, reads: &Reads) {
        if reads.row_locks == 0 && reads.lookups == 0 {
            return;
        }
        let mut part = self.part();
        part.locked(reads.row_locks, reads.lock_waits);
        part.operations.escalations_tried += reads.escalations_tried;
        part.operations.escalations += reads.escalations;
        if reads.lookups > 0 {
            if !reads.helps {
                part.uses.lookups.note(reads.began);
            }
            part.operations.points += reads.lookups;
        }
    }

    /// Adds rows looked up for foreign keys that refer to it.
    pub(crate) fn referenced(&self, rows: u64, locked: bool, at: i64) {
        if rows > 0 {
            let mut part = self.part();
            part.uses.seeks.note(at);
            part.operations.points += rows;
            part.operations.row_locks += if locked { rows } else { 0 };
        }
    }

    /// Adds a statement's changes of an index that is not the table's own tree.
    pub(crate) fn changed(&self, entries: &Entries, at: i64) {
        if *entries != Entries::default() {
            self.part().changed(entries, at);
        }
    }

    /// Adds a statement's changes of a table to those of its own tree; `id_of` gives the id of the column at a position.
    pub(crate) fn table_changed(&self, sums: &Sums, id_of: impl Fn(usize) -> i32, at: i64) {
        let own = sums.entries.first().copied().unwrap_or_default();
        if own == Entries::default() && sums.row_locks == 0 && sums.columns.is_empty() {
            return;
        }
        let mut part = self.part();
        part.changed(&own, at);
        part.locked(sums.row_locks, sums.lock_waits);
        part.operations.escalations_tried += sums.escalations_tried;
        part.operations.escalations += sums.escalations;
        part.rows_changed += (own.inserted + own.deleted).saturating_sub(2 * sums.moved);
        for (column, n) in &sums.columns {
            part.column_changed(id_of(*column), *n);
        }
    }

    /// In which ways it was used, how often and when last.
    #[must_use]
    pub fn uses(&self) -> AllUses {
        let mut all = AllUses::default();
        for part in &self.parts {
            let AllUses { seeks, scans, lookups, updates } = part.lock().uses;
            all.seeks.add(seeks);
            all.scans.add(scans);
            all.lookups.add(lookups);
            all.updates.add(updates);
        }
        all
    }

    /// Counts of rows and reads.
    #[must_use]
    pub fn operations(&self) -> Operations {
        let mut all = Operations::default();
        for part in &self.parts {
            all.add(&part.lock().operations);
        }
        all
    }

    /// Changes of the table so far, when this is its own tree.
    #[must_use]
    pub fn changes(&self) -> Changes {
        let mut all = Changes::default();
        for part in &self.parts {
            let part = part.lock();
            all.rows += part.rows_changed;
            if all.columns.len() < part.columns_changed.len() {
                all.columns.resize(part.columns_changed.len(), 0);
            }
            for (sum, n) in all.columns.iter_mut().zip(&part.columns_changed) {
                *sum += n;
            }
        }
        all
    }
}

impl Counts {
    /// Row locks asked for, and those waited for.
    fn locked(&mut self, rows: u64, waits: LockWaits) {
        self.operations.row_locks += rows;
        self.operations.lock_waits += waits.count;
        self.operations.lock_wait_nanos += waits.nanos;
    }

    fn changed(&mut self, entries: &Entries, at: i64) {
        if *entries != Entries::default() {
            self.uses.updates.note(at);
            self.operations.inserted += entries.inserted;
            self.operations.deleted += entries.deleted;
            self.operations.updated += entries.updated;
        }
    }

    fn column_changed(&mut self, id: i32, n: u64) {
        let at = usize::try_from(id).unwrap_or(0);
        if self.columns_changed.len() <= at {
            self.columns_changed.resize(at + 1, 0);
        }
        self.columns_changed[at] += n;
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
    /// Positions of the columns that were assigned, and in how many rows.
    pub columns: SmallVec<[(usize, u64); 8]>,
    /// Rows looked up for each foreign key.
    pub parents: SmallVec<[u64; 4]>,
    /// Row locks of the table's own tree.
    pub row_locks: u64,
    /// Waits for them.
    pub lock_waits: LockWaits,
    /// How often the table's lock was asked for instead, and had.
    pub escalations_tried: u64,
    pub escalations: u64,
}

impl Sums {
    /// Nothing so far, for a table of so many other indexes and foreign keys.
    pub fn begin(&mut self, indexes: usize, parents: usize) {
        zeros(&mut self.entries, indexes + 1);
        self.moved = 0;
        self.row_locks = 0;
        self.lock_waits = LockWaits::default();
        (self.escalations_tried, self.escalations) = (0, 0);
        self.columns.clear();
        zeros(&mut self.parents, parents);
    }

    /// A row in which these columns were assigned.
    pub fn assigned(&mut self, columns: &[usize]) {
        if self.columns.is_empty() {
            self.columns.extend(columns.iter().map(|column| (*column, 1)));
            return;
        }
        for (at, column) in columns.iter().enumerate() {
            // All rows of a statement have the same columns assigned, but for MERGE.
            let place = match self.columns.get(at) {
                Some((known, _)) if known == column => Some(at),
                _ => self.columns.iter().position(|(known, _)| known == column),
            };
            match place {
                Some(place) => self.columns[place].1 += 1,
                None => self.columns.push((*column, 1)),
            }
        }
    }
}

/// So many sums of nothing: mostly as many as the execution before had.
fn zeros<A: smallvec::Array<Item: Clone + Default>>(sums: &mut SmallVec<A>, len: usize) {
    if sums.len() != len {
        sums.resize(len, A::Item::default());
    }
    sums.fill(A::Item::default());
}

/// How the trees of a database were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllReads {
    /// Executions that read all of one.
    pub scans: u64,
    /// Ranges and single rows asked for.
    pub searches: u64,
    /// Locks of tables had instead of those of rows.
    pub escalations: u64,
}

impl AllReads {
    /// Adds others.
    pub fn add(&mut self, other: &AllReads) {
        self.scans += other.scans;
        self.searches += other.searches;
        self.escalations += other.escalations;
    }

    fn of(index: &IndexUse) -> AllReads {
        let operations = index.operations();
        AllReads {
            scans: index.uses().scans.count(),
            searches: operations.ranges + operations.points,
            escalations: operations.escalations,
        }
    }
}

/// The counters of a database's trees.
#[derive(Debug, Default)]
pub struct UsageCounters {
    trees: RwLock<HashMap<TreeId, Arc<IndexUse>>>,
    /// Reads of trees that are no more: totals do not go back.
    gone: Mutex<AllReads>,
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
        let mut trees = self.trees.write();
        if let Some(index) = trees.remove(&tree) {
            self.gone.lock().add(&AllReads::of(&index));
        }
    }

    /// Reads of all trees so far.
    #[must_use]
    pub fn reads(&self) -> AllReads {
        let trees = self.trees.read();
        let mut all = *self.gone.lock();
        trees.values().for_each(|index| all.add(&AllReads::of(index)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A statement that added so many rows and assigned columns 2 and 4 in others.
    fn statement(inserted: u64, assigned: [u64; 2]) -> Sums {
        let updated = assigned[0].max(assigned[1]);
        Sums {
            entries: [Entries { inserted, updated, ..Entries::default() }].into_iter().collect(),
            columns: assigned.into_iter().enumerate().collect(),
            row_locks: inserted + updated,
            ..Sums::default()
        }
    }

    #[test]
    fn changes_are_of_rows_and_of_a_column() {
        let counters = UsageCounters::default();
        let own = counters.of(TreeId(7));
        own.table_changed(&statement(10, [0, 0]), |at| [2, 4][at], 1);
        let before = counters.of(TreeId(7)).changes();
        own.table_changed(&statement(3, [5, 0]), |at| [2, 4][at], 2);
        let after = own.changes();
        assert_eq!([1, 2, 4, 9].map(|column| after.since(&before, column)), [3, 8, 3, 3]);
        assert_eq!(before.since(&after, 2), 0);
    }

    #[test]
    fn columns_are_counted_by_the_rows_that_assign_them() {
        let mut sums = Sums::default();
        [&[3, 1][..], &[3, 1], &[1, 5]].into_iter().for_each(|columns| sums.assigned(columns));
        assert_eq!(sums.columns[..], [(3, 2), (1, 3), (5, 1)]);
        sums.begin(0, 0);
        assert!(sums.columns.is_empty());
    }

    #[test]
    fn a_statement_that_changed_nothing_is_no_update() {
        let index = IndexUse::default();
        index.changed(&Entries::default(), 5);
        index.table_changed(&statement(0, [0, 0]), |at| [2, 4][at], 5);
        assert_eq!((index.uses().updates.count(), index.uses().updates.last()), (0, None));
        index.changed(&Entries { inserted: 2, ..Entries::default() }, 6);
        assert_eq!((index.uses().updates.count(), index.uses().updates.last()), (1, Some(6)));
        assert_eq!(index.operations().inserted, 2);
    }

    #[test]
    fn what_threads_count_apart_is_shown_together() {
        let index = IndexUse::default();
        std::thread::scope(|scope| {
            for at in 1..=20 {
                let index = &index;
                scope.spawn(move || {
                    let reads = Reads { began: at, points: 3, row_locks: 2, ..Reads::default() };
                    index.read(&reads, true);
                    index.fetched(&reads);
                    index.table_changed(&statement(1, [1, 1]), |at| [2, 4][at], at);
                });
            }
        });
        let AllUses { seeks, lookups, updates, .. } = index.uses();
        assert_eq!((seeks.count(), seeks.last()), (20, Some(20)));
        assert_eq!((updates.count(), updates.last(), lookups.count()), (20, Some(20), 0));
        let done = index.operations();
        assert_eq!((done.points, done.row_locks, done.inserted, done.updated), (60, 80, 20, 20));
        assert_eq!(index.changes().since(&Changes::default(), 4), 40);
    }

    #[test]
    fn a_tree_that_went_is_forgotten() {
        let counters = UsageCounters::default();
        let _ = counters.of(TreeId(1));
        counters.forget(TreeId(1));
        assert!(counters.known(TreeId(1)).is_none());
    }
}
