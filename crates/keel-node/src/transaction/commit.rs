//! What is between a transaction's last write and its acknowledgement: the wait for its commit to be durable, and, of one over several
//! databases, that everything is durable before anything is decided.

use super::Transaction;
use crate::database::Database;
use crate::error::TxnError;
use keel_base::Lsn;
use std::sync::Arc;

impl Transaction {
    /// Makes everything that it has written durable without deciding it, so that [`Transaction::commit`] cannot find it gone: of a
    /// transaction over several databases, each is prepared before any commits. Returns the number under which
    /// [`Database::open_deciding`](crate::Database::open_deciding) asks what became of it, when the process ends before the decision is in this log. For databases that
    /// stand alone: in a group a new primary takes back what is not decided.
    pub fn prepare(&mut self) -> Result<u64, TxnError> {
        if self.db.is_closed() {
            return Err(TxnError::Poisoned("the database is closed".into()));
        }
        if self.stream.is_none() || !self.buffer.is_empty() {
            self.send_part()?;
        }
        let (Some(log), Some(stream)) = (self.db.log(), &self.stream) else { return Ok(0) };
        log.wait_hardened(log.appended())?;
        Ok(stream.id)
    }
}

/// A commit that has its place in the log but may not be durable yet.
#[must_use = "a commit may be acknowledged only after wait()"]
pub struct Commit {
    pub(super) db: Arc<Database>,
    pub(super) lsn: Lsn,
    pub(super) term: u64,
}

impl Commit {
    /// Its position; for a transaction that only read, the newest commit it has seen.
    pub fn lsn(&self) -> Lsn {
        self.lsn
    }

    /// Returns when it is durable, here and where its group wants it. After an error the commit is in doubt: only
    /// recovery, or the group, can tell.
    pub fn wait(self) -> Result<(), TxnError> {
        if self.term == 0 {
            // It has read what was agreed, and written nothing.
            return Ok(());
        }
        self.db.wait_committed(self.lsn, self.term)
    }
}
