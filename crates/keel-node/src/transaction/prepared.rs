//! Transactions over several databases: written everywhere, decided in one place.

use super::Transaction;
use crate::error::TxnError;

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
