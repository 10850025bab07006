//! Prepared transactions of a real database: clients leave them behind, and whoever is primary decides about them at some time.
//!
//! What must hold, judged by what the log says and by nothing else: a transaction that the log has prepared and not decided is in doubt
//! on a primary, and on nobody else; no other is; a log decides about each once. That its rows are there only once it has
//! committed, all of them, is judged with all other rows.

use super::{Commit, Real, Trouble};
use keel_node::{Role, Transaction};
use keel_redo::record::{Group, GroupKind};
use std::collections::BTreeSet;

/// Prepared transactions, by stream.
#[derive(Default)]
pub(super) struct Doubts {
    /// The log has it prepared, and not decided.
    prepared: BTreeSet<u64>,
    /// The log decides about it.
    decided: BTreeSet<u64>,
    /// It was prepared or decided here; the log may not have that hardened.
    touched: BTreeSet<u64>,
}

impl Doubts {
    /// A group of the log.
    pub(super) fn read(&mut self, group: &Group<'_>) -> Result<(), String> {
        match group.kind {
            GroupKind::Prepare => {
                self.prepared.insert(group.stream);
            }
            GroupKind::Commit | GroupKind::Abort if self.prepared.remove(&group.stream) => {
                self.decided.insert(group.stream);
            }
            GroupKind::Commit | GroupKind::Abort if self.decided.contains(&group.stream) => {
                return Err(format!("stream {} is decided twice in one log", group.stream));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Real {
    /// A client prepares its transaction and goes away.
    pub(super) fn prepare(&mut self, mut txn: Transaction, number: u64) -> Result<(), Trouble> {
        // Nobody waits for it: it is durable when the log is.
        let _durable = txn.prepare(&number.to_be_bytes())?;
        if let Some(stream) = txn.leave() {
            self.doubts.touched.insert(stream);
            self.met.push("transaction prepared");
        }
        Ok(())
    }

    /// Some of what is in doubt is decided.
    pub(super) fn settle_doubts(&mut self, done: &mut Vec<Commit>) -> Result<(), Trouble> {
        for doubt in self.db.in_doubt() {
            let number = super::number_of(&doubt.name);
            // A commit that was lost with the primary that made it is not tried again: a row says of one commit when it was.
            let again = self.ends.lock().expect("one thread").contains_key(&number);
            match self.dice.below(6) {
                0 | 1 if !again => {
                    self.doubts.touched.insert(doubt.stream);
                    if let Some(commit) = self.db.commit_prepared(doubt.stream)? {
                        self.met.push("prepared transaction committed");
                        let end = commit.lsn();
                        done.push(self.note_commit(number, end, commit));
                    }
                }
                0..=2 => {
                    self.doubts.touched.insert(doubt.stream);
                    if self.db.rollback_prepared(doubt.stream)?.is_some() {
                        self.met.push("prepared transaction rolled back");
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What is in doubt is what the log says, but for what has been done here and is not hardened.
    pub(super) fn judge_doubts(&mut self) -> Result<(), Trouble> {
        let found: BTreeSet<u64> = self.db.in_doubt().iter().map(|doubt| doubt.stream).collect();
        if self.db.role() != Role::Primary {
            return Ok(());
        }
        let wrong = found.symmetric_difference(&self.doubts.prepared);
        match wrong.copied().find(|stream| !self.doubts.touched.contains(stream)) {
            Some(stream) if found.contains(&stream) => {
                Err(Trouble::Broken(format!("stream {stream} is in doubt, and not prepared in the log")))
            }
            Some(stream) => Err(Trouble::Broken(format!("stream {stream} is prepared, and not in doubt"))),
            None => Ok(()),
        }
    }
}
