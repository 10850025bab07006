//! What definitions mean for stored rows: reading a whole table, emptying trees, names of constraints.

use crate::engine::TEMPDB;
use crate::map::txn_error;
use crate::session::info::Info;
use keel_base::TreeId;
use keel_node::{Direction, Isolation, Transaction};
use keel_query::ExecCtx;
use keel_query::catalog::TableDef;
use keel_store::row;
use keel_types::error::Result;
use keel_types::{Value, column};
use std::ops::Bound;

/// Names of a table's constraints.
pub(super) fn constraint_names(table: &TableDef) -> Vec<String> {
    let mut names: Vec<String> =
        table.indexes.iter().filter(|i| i.constraint_id != 0).map(|i| i.name.clone()).collect();
    names.extend(table.columns.iter().filter_map(|c| c.default.as_ref()).map(|d| d.name.clone()));
    names.extend(table.checks.iter().map(|c| c.name.clone()));
    names.extend(table.foreign_keys.iter().map(|f| f.name.clone()));
    names
}

/// The values of a stored row, in column order.
pub(super) fn decode_row(table: &TableDef, bytes: &[u8]) -> Vec<Value> {
    let count = row::count(bytes);
    let value = |c: &keel_query::catalog::ColumnDef| {
        let stored = if usize::from(c.ordinal) < count {
            row::column(bytes, usize::from(c.ordinal))
        } else {
            c.missing_value.as_deref()
        };
        stored.map_or(Value::Null, |b| column::decode(b, &c.ty))
    };
    table.columns.iter().map(value).collect()
}

/// All rows of a table as the context's transaction sees them.
pub fn read_all(ctx: &mut ExecCtx<'_>, table: &TableDef) -> Result<Vec<Vec<Value>>> {
    let txn = ctx.txns.transaction(table.database)?;
    let mut rows = Vec::new();
    for_each_row(txn, table, &mut |_, bytes| {
        rows.push(decode_row(table, bytes));
        Ok(())
    })?;
    Ok(rows)
}

/// Told clustered key and bytes of a row.
pub(super) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'a;

/// Visits clustered key and bytes of every row.
pub(super) fn for_each_row(txn: &mut Transaction, table: &TableDef, visit: &mut Visit<'_>) -> Result<()> {
    let fail = |e| txn_error(e, "", 0);
    let tree = table.indexes[0].tree;
    let mut cursor =
        txn.scan_latest(tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward).map_err(fail)?;
    while let Some((key, bytes)) = cursor.next().map_err(fail)? {
        visit(key, &bytes)?;
    }
    Ok(())
}

impl Info {
    /// Empties the trees of a temporary table or table variable that is no more.
    pub fn drop_temporary_storage(&self, table: &TableDef) {
        for index in &table.indexes {
            self.drop_tree_now(index.tree);
        }
    }

    /// Number of committed rows of a table.
    pub fn count_rows(&self, table: &TableDef) -> Result<i64> {
        let Some(entry) = self.engine.database_by_id(table.database) else { return Ok(0) };
        let failed = |e| txn_error(e, &entry.name(), 0);
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        let view = txn.statement_snapshot();
        let tree = table.indexes[0].tree;
        let mut cursor =
            txn.scan(&view, tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward).map_err(failed)?;
        let mut count = 0;
        while cursor.next_lent().map_err(failed)?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Drops a tree that no definition names any more, in a transaction of its own. What is left after a failure is only
    /// space.
    fn drop_tree_now(&self, tree: TreeId) {
        let Some(entry) = self.engine.database_by_id(TEMPDB) else { return };
        entry.forget_tree(tree);
        let mut txn = entry.store.begin(Isolation::ReadCommitted);
        if txn.drop_tree(tree).is_ok()
            && let Ok(commit) = txn.commit()
        {
            let _ = commit.wait();
        }
    }
}
