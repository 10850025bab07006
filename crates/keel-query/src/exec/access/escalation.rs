//! Lock escalation: from some thousand rows on a locking read asks for the table's lock instead of theirs.

use super::{Mode, State};
use crate::errors::Result;
use crate::exec::cx::Cx;
use crate::exec::node::Access;
use keel_node::LockMode;

/// Rows with locks of their own after which the table's lock is asked for instead, and again after as many more; the product's
/// threshold.
pub(crate) const ESCALATION_ROWS: u64 = 5_000;

impl State {
    /// Asks for the table's lock instead of those of the rows read: shared, or exclusive where rows are locked for a change. It is had when
    /// nobody else is in the way.
    #[cold]
    pub(super) fn ask_for_table(&mut self, node: &Access, cx: &mut Cx<'_>) -> Result<()> {
        self.asks_at += ESCALATION_ROWS;
        let Mode::Locked(mode) = self.mode else { return Ok(()) };
        if !node.escalates || !cx.session.escalates_locks() {
            return Ok(());
        }
        let mode = if mode == LockMode::Shared { mode } else { LockMode::Exclusive };
        let rows = node.lookup.as_ref().map(|lookup| lookup.tree).or(node.base_tree).unwrap_or(node.tree);
        self.reads.escalations_tried += 1;
        let had = cx.txn(node.database)?.escalate(node.object, &[rows], mode);
        self.reads.escalations += u64::from(had.map_err(|e| cx.storage_error(&e))?);
        Ok(())
    }
}
