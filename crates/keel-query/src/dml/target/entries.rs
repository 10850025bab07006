//! An index's entries: their keys and rows, made from the row's values.

use super::push_value;
use crate::catalog::{IndexDef, TableDef};
use crate::errors::Result;
use crate::exec::cx::Cx;
use crate::expr::compile::Pred;
use crate::scope::BindScope;
use crate::usage::IndexUse;
use keel_store::row::RowBuilder;
use keel_types::Value;
use keel_types::key::{self, KeyColumn};
use std::sync::Arc;

/// How an index's entries are made.
pub struct IndexKeys {
    /// The index.
    pub def: IndexDef,
    /// Key columns: position and encoding.
    pub key: Vec<(usize, KeyColumn)>,
    /// Positions of the columns its rows hold (nonclustered).
    pub stored: Vec<usize>,
    /// WHERE of a filtered index over the new slots, and the columns it reads.
    pub(super) filter: Option<(Pred, Vec<usize>)>,
    /// Its counters; none where nobody counts.
    pub(super) uses: Option<Arc<IndexUse>>,
}

impl IndexKeys {
    pub(super) fn new(table: &TableDef, def: &IndexDef) -> IndexKeys {
        let position = |id: i32| table.column_index(id).expect("an index names columns of its table");
        let key = def
            .key
            .iter()
            .map(|k| {
                let i = position(k.column_id);
                let c = &table.columns[i];
                (i, KeyColumn { ty: c.ty, collation: c.collation, descending: k.descending })
            })
            .collect();
        let stored = def.stored_columns(table).into_iter().map(position).collect();
        IndexKeys { def: def.clone(), key, stored, filter: None, uses: None }
    }

    pub(super) fn counted(self, scope: &dyn BindScope, table: &TableDef) -> IndexKeys {
        IndexKeys { uses: scope.index_use(table.database, self.def.tree), ..self }
    }

    /// Whether an entry changes when these columns change.
    #[must_use]
    pub fn touched_by(&self, columns: &[usize]) -> bool {
        self.stored.iter().any(|c| columns.contains(c))
            || self.filter.as_ref().is_some_and(|(_, reads)| reads.iter().any(|c| columns.contains(c)))
    }

    /// Whether the new row belongs into the index.
    pub(super) fn holds(&self, cx: &mut Cx<'_>) -> Result<bool> {
        match &self.filter {
            Some((pred, _)) => pred.test(cx),
            None => Ok(true),
        }
    }

    /// Key bytes of an entry whose values lie in slots from `first`; `clustered` is the row's clustered key.
    pub(super) fn entry_key(&self, slots: &[Value], first: usize, clustered: &[u8], out: &mut Vec<u8>) {
        out.clear();
        for (i, column) in &self.key {
            key::append(out, &slots[first + i], column);
        }
        if !self.def.unique {
            out.extend_from_slice(clustered);
        }
    }

    /// Row bytes of an entry.
    pub(super) fn entry_row<'r>(
        &self,
        table: &TableDef,
        slots: &[Value],
        first: usize,
        clustered: &[u8],
        row: &'r mut RowBuilder,
    ) -> &'r [u8] {
        row.clear(self.stored.len() + 1);
        for i in &self.stored {
            push_value(row, &slots[first + i], &table.columns[*i].ty);
        }
        row.push(Some(clustered));
        row.finish()
    }
}
