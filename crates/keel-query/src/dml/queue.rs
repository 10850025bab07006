//! What a change does to a table with a full-text index: the keys of its rows are written down for the crawl (see [`crate::full_text`]).

use super::target::{RowBuffers, Target};
use crate::catalog::TableDef;
use crate::context::Stamp;
use crate::errors::Result;
use crate::exec::cx::Cx;
use crate::full_text::{Tracking, note_pending};
use keel_base::TreeId;
use keel_types::key::{self, KeyColumn};

/// How the changes of a target's table are written down.
pub struct Queue {
    pending: TreeId,
    /// The full-text key.
    key: (usize, KeyColumn),
    /// Positions of columns whose change makes a row another document; the key's is among them.
    read: Vec<usize>,
}

impl Queue {
    /// The queue of a table; `None` where nothing follows its changes.
    pub(super) fn of(table: &TableDef) -> Option<Queue> {
        let def = table.full_text.as_ref().filter(|def| def.enabled && def.tracking != Tracking::Off)?;
        let at = def.key_column(table)?;
        let c = &table.columns[at];
        let key =
            (at, KeyColumn { ty: c.ty, collation: c.collation, descending: descends(table, def.key_index) });
        let reads = |at: &usize| *at == key.0 || def.reads(table.columns[*at].column_id);
        Some(Queue {
            pending: def.trees.pending,
            key,
            read: (0..table.columns.len()).filter(reads).collect(),
        })
    }

    /// Position of the key's column.
    pub(super) fn key(&self) -> usize {
        self.key.0
    }
}

/// Whether the key of an index descends.
fn descends(table: &TableDef, index_id: i32) -> bool {
    let index = table.indexes.iter().find(|index| index.index_id == index_id);
    index.and_then(|index| index.key.first()).is_some_and(|key| key.descending)
}

impl Target {
    /// Writes down the row whose values lie from `first` on.
    pub(super) fn queue(&self, cx: &mut Cx<'_>, b: &mut RowBuffers, first: usize) -> Result<()> {
        let Some(queue) = &self.queue else { return Ok(()) };
        let (at, column) = &queue.key;
        b.index_key.clear();
        key::append(&mut b.index_key, &cx.slots[first + at], column);
        let database = self.table.database;
        let stamp = cx.txns.change_stamp(database, Stamp::Queued)?;
        let written = note_pending(cx.txns.transaction(database)?, queue.pending, stamp, &b.index_key);
        written.map_err(|e| cx.storage_error(&e))
    }

    /// Writes down a row in which these columns were changed, whose old values lie from `old_first` on; under both keys when it
    /// has another.
    pub(super) fn queue_changed(
        &self,
        cx: &mut Cx<'_>,
        b: &mut RowBuffers,
        changed: &[usize],
        old_first: usize,
    ) -> Result<()> {
        let Some(queue) = &self.queue else { return Ok(()) };
        if !changed.iter().any(|at| queue.read.contains(at)) {
            return Ok(());
        }
        self.queue(cx, b, old_first)?;
        if changed.contains(&queue.key()) {
            self.queue(cx, b, self.new_first)?;
        }
        Ok(())
    }
}
