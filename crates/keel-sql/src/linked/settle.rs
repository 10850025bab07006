//! Branches at other servers that a crash, or a server that could not be reached, has left undecided: told what the log here has decided.

use super::branch::{PendingBranch, decide};
use super::link::Failed;
use crate::distributed::decision::Fate;
use crate::distributed::{Uow, uow_text};
use crate::engine::Engine;
use keel_types::error::Result;

impl Engine {
    /// Tells every branch that waits, as far as its decider can be asked and its server reached. To be called about once a second, by a
    /// thread that can wait; says in the error log what it did.
    pub fn settle_remote_branches(&self) {
        let Ok(pending) = self.pending_branches() else { return };
        for branch in pending {
            if self.is_deciding(&branch.uow) {
                continue;
            }
            let commit = match self.fate(&branch.decider, &branch.uow) {
                Fate::Committed => true,
                Fate::Never => false,
                Fate::NotKnown => continue,
            };
            self.settle_remote(&branch, commit);
        }
    }

    fn settle_remote(&self, branch: &PendingBranch, commit: bool) {
        let Some(connector) = self.linked.connector.get() else { return };
        let Some(target) = branch.target(self) else { return };
        let told = match connector.connect(&target, &|| false) {
            Ok(mut link) => decide(&mut *link, &branch.xid, commit),
            Err(Failed::Unreachable(why)) => Err(why),
            Err(Failed::Refused(said)) => Err(said.last().map(|e| e.message.clone()).unwrap_or_default()),
            Err(Failed::Stopped) => return,
        };
        if let Err(why) = told {
            if self.linked.unheard.lock().insert(branch.id) {
                let uow = uow_text(&branch.uow);
                let text = format!(
                    "Linked server '{}' cannot be told of transaction {uow} yet, and will be: {why}",
                    branch.server
                );
                self.options().log.write(&text);
            }
            return;
        }
        self.linked.unheard.lock().remove(&branch.id);
        self.forget_pending_branch(branch.id);
        let done = if commit { "committed" } else { "rolled back" };
        let text =
            format!("Transaction {} is {done} at linked server '{}'.", uow_text(&branch.uow), branch.server);
        self.options().log.write(&text);
    }

    /// `KILL 'uow' WITH COMMIT` or `ROLLBACK`: no branch of the transaction is told any more, what its servers have of it is theirs to decide. Whether
    /// there was one.
    ///
    /// # Errors
    /// When master cannot be read.
    pub(crate) fn give_up_pending_branches(&self, uow: &Uow) -> Result<bool> {
        let mut pending = self.pending_branches()?;
        pending.retain(|branch| branch.uow == *uow);
        pending.iter().for_each(|branch| self.forget_pending_branch(branch.id));
        Ok(!pending.is_empty())
    }

    /// Whether a branch at another server has still to be told of a transaction.
    pub(crate) fn has_pending_branch(&self, uow: &Uow) -> Result<bool> {
        Ok(self.pending_branches()?.iter().any(|branch| branch.uow == *uow))
    }
}
