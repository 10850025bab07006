//! What a database lets happen: whether it is being restored, may be opened, takes writes, and answers commits before they are durable.

use super::DatabaseEntry;
use crate::errors;
use keel_types::error::Result;
use std::sync::atomic::Ordering;

/// Whether a database waits for more log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Restoring {
    /// It does not.
    #[default]
    No,
    /// RESTORE WITH NORECOVERY, or it has left an availability group: nobody can use it.
    Closed,
    /// RESTORE WITH STANDBY: it can be read as of the log it has.
    Standby,
}

impl DatabaseEntry {
    /// Whether it waits for more log.
    #[must_use]
    pub fn restoring(&self) -> Restoring {
        match self.restoring.load(Ordering::Acquire) {
            0 => Restoring::No,
            1 => Restoring::Closed,
            _ => Restoring::Standby,
        }
    }

    pub(super) fn note_restoring(&self, restoring: Restoring) {
        self.restoring.store(restoring as u8, Ordering::Release);
    }

    /// It takes nothing but more log, and nobody can use it.
    #[must_use]
    pub fn is_restoring(&self) -> bool {
        self.restoring() == Restoring::Closed
    }

    /// It takes more log, and can be read between one RESTORE LOG and the next.
    #[must_use]
    pub fn is_standby(&self) -> bool {
        self.restoring() == Restoring::Standby
    }

    /// Whether statements may name it.
    ///
    /// # Errors
    /// 927 while it waits for log, 942 when it is offline.
    pub fn may_be_opened(&self) -> Result<()> {
        if self.is_restoring() {
            return Err(errors::restoring(self.name()));
        }
        if self.picture().settings().offline {
            return Err(errors::offline(self.name()));
        }
        Ok(())
    }

    /// Whether a commit that says so, or does not, is answered before it is durable (DELAYED_DURABILITY).
    #[must_use]
    pub fn delays_commits(&self, asked: bool) -> bool {
        self.picture.load().settings().delayed_durability.delays(asked)
    }

    /// Whether statements that write are refused (3906): by its settings, between two parts of a restore, on a copy of a group's.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.picture().settings().read_only || self.is_standby() || self.is_copy()
    }
}
