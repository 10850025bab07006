//! Several threads reading for one transaction.

use super::Transaction;
use crate::error::TxnError;
use keel_base::TreeId;
use std::ops::Bound;
use std::sync::Arc;

impl Transaction {
    /// One for another thread that helps a statement of this one read, in the views that this one has made ([`crate::ReadView`]s without locks).
    /// `None` when this one has written: its own rows are seen by itself only.
    #[must_use]
    pub fn beside(&self) -> Option<Transaction> {
        if self.has_writes() {
            return None;
        }
        let mut txn = Transaction::new(Arc::clone(&self.db), self.isolation);
        txn.term = 0;
        txn.snapshot.clone_from(&self.snapshot);
        Some(txn)
    }

    /// Ascending keys inside a range that cut it into at most `parts` parts of about equal size; fewer when it is small.
    pub fn split_points(
        &self,
        tree: TreeId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        parts: usize,
    ) -> Result<Vec<Vec<u8>>, TxnError> {
        Ok(self.db.store().split_points(tree, bounds, parts)?)
    }
}
