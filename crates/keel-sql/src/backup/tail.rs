//! BACKUP LOG … WITH NORECOVERY or STANDBY: the last log of a database that goes on elsewhere, or is restored over.

use super::errors;
use super::media::Media;
use super::options::Options;
use super::write::Wanted;
use crate::catalog::LogChain;
use crate::engine::{DatabaseEntry, Restoring};
use crate::map::db_error;
use crate::run::Runner;
use keel_node::backup::complete;
use keel_node::{DbError, Role};
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// Afterwards the database waits for log, or to be recovered: nobody can use it (927), or it is read. When the backup fails it goes on.
    pub(super) fn back_up_tail(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        media: &Media,
        options: &Options,
        chain: LogChain,
    ) -> Result<()> {
        if entry.store.role() != Role::Standalone {
            return Err(errors::in_group(entry.name()));
        }
        if self.info.current_database().id == entry.id {
            return Err(errors::used_here("BACKUP LOG", entry.name()));
        }
        // Nobody comes in from here on.
        let engine = Arc::clone(&self.info.engine);
        engine.set_restoring(entry, Restoring::Closed)?;
        let written =
            self.end_writing(entry).and_then(|()| self.write_set(entry, media, options, Wanted::Log(chain)));
        if written.is_err() {
            if entry.store.role() != Role::Standalone {
                complete(&entry.store).map_err(|e| db_error(e, &entry.name()))?;
            }
            engine.set_restoring(entry, Restoring::No)?;
            return written;
        }
        self.leave(entry, options.leaves)
    }
    /// Nothing is written to the database any more, and all of its log is on the disk.
    fn end_writing(&self, entry: &DatabaseEntry) -> Result<()> {
        if !self.info.engine.is_left_alone(entry) {
            return Err(errors::in_use());
        }
        entry.save_counters()?;
        let failed = |e: DbError| db_error(e, &entry.name());
        let store = &entry.store;
        let log = store.log().ok_or_else(|| errors::not_this_database(entry.name()))?;
        log.flush().map_err(|e| failed(e.into()))?;
        store.enter_group(log.epoch()).map_err(failed)?;
        store.fence("the tail of the log is backed up");
        Ok(())
    }
}
