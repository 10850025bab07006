//! What keeps others from the rows that a statement changes: locks of their own, and from some thousand rows on the table's.

use super::RowBuffers;
use crate::catalog::TableDef;
use crate::errors::Result;
use crate::exec::access::ESCALATION_ROWS;
use crate::exec::cx::Cx;
use keel_base::TreeId;
use keel_node::{Loading, LockMode, Transaction, TxnError};
use smallvec::SmallVec;

/// What keeps others from a row while it is added.
#[derive(Default)]
pub enum Guard {
    /// A lock of its own.
    #[default]
    Row,
    /// The table's lock; what the load remembers of each tree.
    Table(Vec<(TreeId, Loading)>),
}

impl Guard {
    /// Adds a row under it.
    pub fn insert(
        &mut self,
        txn: &mut Transaction,
        tree: TreeId,
        key: &[u8],
        row: &[u8],
    ) -> std::result::Result<(), TxnError> {
        let Guard::Table(loads) = self else { return txn.insert(tree, key, row) };
        let at = match loads.iter().position(|(t, _)| *t == tree) {
            Some(at) => at,
            None => {
                loads.push((tree, Loading::new(tree)));
                loads.len() - 1
            }
        };
        txn.load(&mut loads[at].1, key, row)
    }
}

impl RowBuffers {
    /// So many rows are found or added. Now and then the table's lock is asked for instead of theirs: it is had when nobody else is in the
    /// table, and what is changed then needs no more memory than its versions.
    #[inline]
    pub fn escalate(&mut self, table: &TableDef, cx: &mut Cx<'_>, rows: u64) -> Result<()> {
        if rows == 0 || !rows.is_multiple_of(ESCALATION_ROWS) {
            Ok(())
        } else {
            self.ask_for_table(table, cx)
        }
    }

    #[cold]
    fn ask_for_table(&mut self, table: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
        let allowed = table.escalates_locks() && cx.session.escalates_locks();
        if !allowed || !matches!(self.guard, Guard::Row) {
            return Ok(());
        }
        let trees: SmallVec<[TreeId; 4]> = table.indexes.iter().map(|index| index.tree).collect();
        self.sums.escalations_tried += 1;
        let alone = cx.txn(table.database)?.escalate(table.object_id as u32, &trees, LockMode::Exclusive);
        if alone.map_err(|e| cx.storage_error(&e))? {
            self.sums.escalations += 1;
            self.guard = Guard::Table(Vec::new());
        }
        Ok(())
    }
}
