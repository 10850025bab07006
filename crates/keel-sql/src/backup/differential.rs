//! RESTORE DATABASE from a differential backup: over what the full one was restored to.

use super::errors;
use super::media::{Labelled, Media};
use super::options::{Options, Stop};
use crate::engine::{DatabaseEntry, Restoring};
use crate::errors as sql_errors;
use crate::run::Runner;
use keel_node::backup::{Content, restore_differential};
use keel_node::{Database, DbError, DbOptions, Role};
use keel_query::SessionInfo as _;
use keel_types::error::Result;
use std::sync::Arc;

impl Runner<'_> {
    /// The database is made anew beside the one that waits for it, which goes when the new one is whole.
    pub(super) fn restore_differential_set(
        &mut self,
        name: &str,
        media: &Media,
        found: &mut Labelled,
        options: &Options,
    ) -> Result<()> {
        let engine = Arc::clone(&self.info.engine);
        let old = engine.database(name).ok_or_else(|| errors::nothing_to_roll(name))?;
        let was = old.restoring();
        if was == Restoring::No {
            let alone = old.store.role() == Role::Standalone;
            return Err(if alone { errors::not_rolling() } else { errors::in_group(name) });
        }
        let Content::Differential(info) = &found.set.content else { return Err(errors::not_the_base()) };
        let fits = info.fits(&old.store).map_err(|e| crate::map::db_error(e, name))?;
        if !fits {
            return Err(errors::not_the_base());
        }
        if options.stop.as_ref().and_then(Stop::time).is_some_and(|stop| stop < found.label.finished) {
            return Err(errors::stop_too_early());
        }
        self.unlock(found)?;
        self.close_standby(&old, "RESTORE")?;
        let laid = self.lay_differential(name, &old, media, found, options);
        if laid.is_err() && !old.is_dropped() {
            engine.set_restoring(&old, was)?;
        }
        laid
    }

    fn lay_differential(
        &mut self,
        name: &str,
        old: &Arc<DatabaseEntry>,
        media: &Media,
        found: &Labelled,
        options: &Options,
    ) -> Result<()> {
        let engine = Arc::clone(&self.info.engine);
        let started = engine.instance().env().clock.now();
        old.store.fence("restored");
        let (id, dir) = engine.new_place()?;
        let mut told = 0;
        let made = restore_differential(
            engine.instance(),
            (id, &dir),
            &old.store,
            (&*media.file, &found.set),
            &DbOptions::default(),
            &mut |done, of| self.say_progress(options.stats, &mut told, done, of),
        );
        let made = made.map_err(|e| self.not_laid_over(old, e));
        if let Err(e) = made.and_then(|store| engine.put_in_place(name, id, store, Restoring::Closed)) {
            // Whatever is left of it is only disk space.
            let _ = Database::remove(engine.instance(), &dir);
            engine.release_place(id);
            return Err(e);
        }
        let entry = engine.database(name).ok_or_else(|| sql_errors::no_database(name))?;
        self.leave(&entry, options.leaves)?;
        self.say_restored(name, found, options, started)
    }

    fn not_laid_over(&self, old: &DatabaseEntry, e: DbError) -> Box<keel_types::SqlError> {
        match e {
            _ if self.info.cancelled() => sql_errors::cancelled(),
            DbError::Corrupt(detail) => errors::damaged(detail),
            DbError::Role(_) => errors::not_the_base(),
            e => crate::map::db_error(e, &old.name()),
        }
    }
}
