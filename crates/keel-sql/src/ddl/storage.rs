//! What definitions mean for stored rows: reading a whole table, emptying trees, names of constraints.

use crate::catalog::object_class;
use crate::engine::TEMPDB;
use crate::map::txn_error;
use crate::run::Runner;
use crate::session::info::Info;
use keel_base::TreeId;
use keel_node::{Cursor, Direction, Isolation, ReadView, RowRef, Transaction};
use keel_query::catalog::{ColumnDef, TableDef};
use keel_query::partition::PartitionFunctionDef;
use keel_query::{ExecCtx, SessionInfo};
use keel_store::row;
use keel_types::error::Result;
use keel_types::{Value, column};
use std::ops::Bound;

/// Rows between two looks whether the statement was cancelled.
const ROWS_PER_LOOK: u32 = 512;

/// Names of a table's constraints.
pub(super) fn constraint_names(table: &TableDef) -> Vec<String> {
    let mut names: Vec<String> =
        table.indexes.iter().filter(|i| i.constraint_id != 0).map(|i| i.name.clone()).collect();
    names.extend(table.columns.iter().filter_map(|c| c.default_constraint()).map(|d| d.name.clone()));
    names.extend(table.checks.iter().map(|c| c.name.clone()));
    names.extend(table.foreign_keys.iter().map(|f| f.name.clone()));
    names
}

/// The values of a stored row, in column order.
pub(super) fn decode_row(table: &TableDef, bytes: &[u8]) -> Vec<Value> {
    table.columns.iter().map(|c| decode_column(c, bytes)).collect()
}

/// One value of a stored row.
pub(super) fn decode_column(c: &ColumnDef, bytes: &[u8]) -> Value {
    let ordinal = usize::from(c.ordinal);
    let stored =
        if ordinal < row::count(bytes) { row::column(bytes, ordinal) } else { c.missing_value.as_deref() };
    stored.map_or(Value::Null, |b| column::decode(b, &c.ty))
}

/// All rows of a table as the context's transaction sees them.
pub fn read_all(ctx: &mut ExecCtx<'_>, table: &TableDef) -> Result<Vec<Vec<Value>>> {
    let mut stored = Rows::of(ctx.txns.transaction(table.database)?, table.indexes[0].tree)?;
    let mut rows = Vec::new();
    while let Some((_, bytes)) = stored.next(ctx.session)? {
        rows.push(decode_row(table, &bytes));
    }
    Ok(rows)
}

/// Rows of a tree as a transaction that may change them sees them, in the order of their keys. They are not kept: a table may
/// be larger than memory.
pub(super) struct Rows {
    cursor: Cursor,
    until_look: u32,
}

impl Rows {
    /// From the first.
    pub(super) fn of(txn: &mut Transaction, tree: TreeId) -> Result<Rows> {
        let cursor = txn
            .scan_latest(tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward)
            .map_err(|e| txn_error(e, "", 0))?;
        Ok(Rows { cursor, until_look: ROWS_PER_LOOK })
    }

    /// As a view shows them.
    pub(super) fn seen(txn: &Transaction, view: &ReadView, tree: TreeId) -> Result<Rows> {
        let cursor = txn
            .scan(view, tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward)
            .map_err(|e| txn_error(e, "", 0))?;
        Ok(Rows { cursor, until_look: ROWS_PER_LOOK })
    }

    /// Key and bytes of the next, `None` after the last; an error when the statement was cancelled.
    #[allow(clippy::should_implement_trait, clippy::type_complexity)] // lends its key
    pub(super) fn next(&mut self, session: &dyn SessionInfo) -> Result<Option<(&[u8], RowRef)>> {
        self.until_look -= 1;
        if self.until_look == 0 {
            self.until_look = ROWS_PER_LOOK;
            session.look_up()?;
        }
        self.cursor.next().map_err(|e| txn_error(e, "", session.session_id()))
    }
}

impl Runner<'_> {
    /// A table's rows, with their clustered keys.
    pub(super) fn stored_rows(&mut self, table: &TableDef) -> Result<Rows> {
        Rows::of(self.txns_dyn().transaction(table.database)?, table.indexes[0].tree)
    }
}

impl Info {
    /// Empties the trees of a temporary table or table variable that is no more.
    pub fn drop_temporary_storage(&self, table: &TableDef) {
        self.forget_temporary(table);
        for index in &table.indexes {
            self.drop_tree_now(index.tree);
        }
    }

    /// Forgets what is remembered of the trees of a temporary table or table variable that nothing names any more.
    pub fn forget_temporary(&self, table: &TableDef) {
        let Some(entry) = self.engine.database_by_id(TEMPDB) else { return };
        for index in &table.indexes {
            entry.forget_tree(index.tree);
            self.engine.statistics.forget_tree(TEMPDB, index.tree);
        }
        if table.columns.iter().any(|c| c.identity.is_some()) {
            entry.forget_counter(object_class::COUNTER, table.object_id);
        }
    }

    /// Number of committed rows of a table.
    pub fn count_rows(&self, table: &TableDef) -> Result<i64> {
        let mut count = 0;
        self.each_row(table, |_| count += 1)?;
        Ok(count)
    }

    /// Number of committed rows in each partition of a table.
    pub fn count_rows_by_partition(
        &self,
        table: &TableDef,
        function: &PartitionFunctionDef,
        column: i32,
    ) -> Result<Vec<i64>> {
        let mut counts = vec![0; function.fanout()];
        let Some(at) = table.column_index(column) else { return Ok(counts) };
        let column = &table.columns[at];
        self.each_row(table, |bytes| {
            counts[function.partition_of(&decode_column(column, bytes)) - 1] += 1;
        })?;
        Ok(counts)
    }

    fn each_row(&self, table: &TableDef, mut take: impl FnMut(&[u8])) -> Result<()> {
        let Some(entry) = self.engine.database_by_id(table.database) else { return Ok(()) };
        let failed = |e| txn_error(e, &entry.name(), 0);
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        let view = txn.statement_snapshot();
        let tree = table.indexes[0].tree;
        let mut cursor =
            txn.scan(&view, tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward).map_err(failed)?;
        while let Some((_, bytes)) = cursor.next_lent().map_err(failed)? {
            take(bytes);
        }
        Ok(())
    }

    /// Drops a tree that no definition names any more, in a transaction of its own. What is left after a failure is only
    /// space.
    fn drop_tree_now(&self, tree: TreeId) {
        let Some(entry) = self.engine.database_by_id(TEMPDB) else { return };
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        if txn.drop_tree(tree).is_ok()
            && let Ok(commit) = txn.commit()
        {
            let _ = commit.wait();
        }
    }
}
