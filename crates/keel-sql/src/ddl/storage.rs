//! What definitions mean for stored rows: reading a whole table, emptying trees, names of constraints.

use crate::engine::TEMPDB;
use crate::map::txn_error;
use crate::session::info::Info;
use keel_base::{DatabaseId, TreeId};
use keel_node::{Direction, Isolation, Transaction};
use keel_query::ExecCtx;
use keel_query::catalog::TableDef;
use keel_store::row;
use keel_types::error::Result;
use keel_types::{Value, column};
use std::ops::Bound;

/// Rows deleted per transaction when a tree is emptied.
const EMPTY_BATCH: usize = 10_000;

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

/// Visits clustered key and bytes of every row.
pub(super) fn for_each_row(
    txn: &mut Transaction,
    table: &TableDef,
    visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<()> {
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
            self.empty_tree(TEMPDB, index.tree);
        }
    }

    /// Removes all rows of a tree that no definition names any more. What is left after a failure is only space.
    pub fn empty_tree(&self, database: DatabaseId, tree: TreeId) {
        let Some(entry) = self.engine.database_by_id(database) else { return };
        entry.forget_tree(tree);
        loop {
            let mut txn = entry.store.begin(Isolation::ReadCommitted);
            let mut keys = Vec::new();
            let scan = txn.scan_latest(tree, Bound::Unbounded, Bound::Unbounded, Direction::Forward);
            let Ok(mut cursor) = scan else { return };
            while keys.len() < EMPTY_BATCH {
                match cursor.next() {
                    Ok(Some((key, _))) => keys.push(key.to_vec()),
                    _ => break,
                }
            }
            drop(cursor);
            let last = keys.len() < EMPTY_BATCH;
            if keys.is_empty() || keys.iter().any(|key| txn.delete_index(tree, key).is_err()) {
                return;
            }
            if txn.commit().is_err() || last {
                return;
            }
        }
    }
}
