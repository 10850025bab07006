//! Marks in the log: `BEGIN TRANSACTION … WITH MARK`, and how RESTORE finds them.
//!
//! A marked transaction writes a row of the system tree in every database that it changes. Nobody reads it there: `RESTORE LOG … WITH
//! STOPATMARK` looks for it in the log. A session has one such row in a database, which its next marked transaction writes over.

use crate::catalog::{CatalogKey, SYSTEM_TREE, object_class};
use keel_base::TreeId;
use keel_node::{Transaction, TxnError};
use keel_store::row;
use serde::{Deserialize, Serialize};

/// What a transaction is marked with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogMark {
    /// Name of the transaction that asked for it.
    pub name: String,
    /// What stands behind WITH MARK; empty when nothing does.
    pub description: String,
}

impl LogMark {
    /// Writes it, as a session's.
    pub(super) fn write(&self, txn: &mut Transaction, session: u32) -> Result<(), TxnError> {
        let key = CatalogKey { class: object_class::LOG_MARK, id: session as i32 };
        let json = serde_json::to_vec(self).expect("plain structures become JSON");
        txn.put_index(SYSTEM_TREE, &key.bytes(), &row::RowBuilder::build(&[Some(&json)]))
    }

    /// What a row that was written says, if it is a mark.
    #[must_use]
    pub fn of(tree: TreeId, key: &[u8], bytes: &[u8]) -> Option<LogMark> {
        let is_mark = tree == SYSTEM_TREE && key.first() == Some(&object_class::LOG_MARK);
        serde_json::from_slice(row::column(bytes, 0).filter(|_| is_mark)?).ok()
    }
}
