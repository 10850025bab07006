//! RESTORE DATABASE and RESTORE LOG.

use super::media::{Labelled, Media};
use super::options::{Options, Stop};
use super::url::Reach;
use super::{errors, history};
use crate::catalog::LogChain;
use crate::engine::{self, DatabaseEntry, FIRST_USER_DATABASE, MASTER, Restoring};
use crate::errors as sql_errors;
use crate::hadr::lsn::to_number;
use crate::program::Program;
use crate::run::{Frame, Runner};
use crate::session::log_mark::LogMark;
use keel_base::DatabaseId;
use keel_node::backup::{Rolled, StopAt, complete, restore, restore_log};
use keel_node::{Database, DbError, DbOptions, Role};
use keel_parser::ast::{self, RestoreKind};
use keel_query::SessionInfo as _;
use keel_types::SqlError;
use keel_types::error::Result;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Runner<'_> {
    pub(crate) fn restore(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        r: &ast::Restore,
    ) -> Result<()> {
        let statement = match r.kind {
            RestoreKind::Database => "RESTORE DATABASE",
            RestoreKind::Log => "RESTORE LOG",
            RestoreKind::HeaderOnly => "RESTORE HEADERONLY",
            RestoreKind::FileListOnly => "RESTORE FILELIST",
            RestoreKind::LabelOnly => "RESTORE LABELONLY",
            RestoreKind::VerifyOnly => "VERIFY DATABASE",
            RestoreKind::RewindOnly => return Ok(()),
        };
        let done = self.restore_kind(program, frame, r);
        self.info.shared.progress.store(0, Ordering::Relaxed);
        done.map_err(|e| if e.severity >= 17 { e } else { self.terminating(&e, statement) })
    }

    fn restore_kind(&mut self, program: &Arc<Program>, frame: &mut Frame, r: &ast::Restore) -> Result<()> {
        // INSERT … EXEC of what only shows a file is a transaction, too.
        if r.database.is_some() && self.info.transaction.borrow().count > 0 {
            return Err(errors::in_transaction());
        }
        if r.database.is_some() {
            self.let_go();
        }
        if !r.parts.is_empty() {
            return Err(sql_errors::not_supported("RESTORE of single files or pages"));
        }
        if let Some(snapshot) = &r.snapshot {
            return self.revert_to_snapshot(program, frame, r, snapshot);
        }
        let options = self.backup_options(program, frame, &r.options, "RESTORE")?;
        let Some(name) = &r.database else {
            if self.may_restore("").is_err() {
                return Err(sql_errors::database_permission_denied("CREATE DATABASE", "master"));
            }
            let devices = self.backup_devices(program, frame, &r.from)?;
            let media = match r.kind {
                RestoreKind::LabelOnly => Media::to_look_at(&Reach::of(self.info, &options), &devices)?,
                _ => Media::to_read(&Reach::of(self.info, &options), &devices)?,
            };
            return self.show_media(r.kind, &media, &options);
        };
        let name = self.backup_database_name(program, frame, name)?;
        self.may_restore(&name)?;
        if r.from.is_empty() {
            return self.recover_restoring(&name, &options);
        }
        let devices = self.backup_devices(program, frame, &r.from)?;
        let media = Media::to_read(&Reach::of(self.info, &options), &devices)?;
        if r.kind == RestoreKind::Log {
            return self.restore_log_set(&name, &media, &options);
        }
        self.restore_set(&name, &media, &options)
    }

    /// RESTORE DATABASE … FROM DATABASE_SNAPSHOT
    fn revert_to_snapshot(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        r: &ast::Restore,
        snapshot: &str,
    ) -> Result<()> {
        if let Some(option) = r.options.first() {
            return Err(errors::not_for_this(&option.name));
        }
        let Some(name) = r.database.as_ref().filter(|_| r.kind == RestoreKind::Database) else {
            return Err(engine::cannot_revert());
        };
        let name = self.backup_database_name(program, frame, name)?;
        self.may_restore(&name)?;
        let source = self.info.find_database(&name).ok_or_else(engine::cannot_revert)?;
        if source.id == MASTER {
            return Err(errors::not_of_master());
        }
        if source.snapshot().is_some() {
            return Err(errors::not_a_snapshot());
        }
        let of_it = |e: &Arc<DatabaseEntry>| e.snapshot().is_some_and(|s| s.source == source.id.0);
        let snapshot = self.info.engine.database(snapshot).filter(of_it).ok_or_else(engine::cannot_revert)?;
        if source.store.role() != Role::Standalone {
            return Err(errors::in_group(&name));
        }
        source.may_be_opened()?;
        let here = self.info.current_database().id;
        if let Some(used) = [&source, &snapshot].into_iter().find(|entry| entry.id == here) {
            return Err(errors::used_here("RESTORE", used.name()));
        }
        self.info.engine.revert(&source, &snapshot)?;
        history::note_revert(self.info, &source.name())
    }

    /// sysadmin and dbcreator; whoever owns a database that is there.
    fn may_restore(&self, name: &str) -> Result<()> {
        let owns = || {
            let entry = self.info.find_database(name)?;
            self.info.token_in(&entry).map(|token| token.owner)
        };
        let may = self.info.unrestricted.get() || self.info.may_on_server("CREATE ANY DATABASE");
        if may || owns() == Some(true) { Ok(()) } else { Err(errors::may_not_restore(name)) }
    }

    fn restore_set(&mut self, name: &str, media: &Media, options: &Options) -> Result<()> {
        let mut found = media.set(options.file)?;
        if found.label.log {
            return Err(errors::other_kind(options.file.unwrap_or(1), &media.device, "BACKUP LOG"));
        }
        if found.label.differential {
            return self.restore_differential_set(name, media, &mut found, options);
        }
        if options.stop.as_ref().and_then(Stop::time).is_some_and(|stop| stop < found.label.finished) {
            return Err(errors::stop_too_early());
        }
        let database = &found.label.database;
        let file = found.label.file_name();
        let files = [file.to_owned(), format!("{file}_log")];
        let is_file = |moved: &&String| !files.iter().any(|file| crate::views::same(file, moved));
        if let Some(strange) = options.moved.iter().find(is_file) {
            return Err(errors::no_logical_file(strange, database));
        }
        let old = self.info.find_database(name);
        if let Some(old) = &old {
            self.may_be_replaced(old, &found, options)?;
        }
        self.unlock(&mut found)?;
        let started = self.info.engine.instance().env().clock.now();
        let (id, dir) = self.info.engine.new_place()?;
        let made = self.make_beside(id, &dir, media, &found, options);
        let named = made.and_then(|store| {
            // Sessions may have come meanwhile.
            let old = old.as_ref().filter(|old| !old.is_dropped());
            if old.is_some_and(|old| !self.info.engine.is_left_alone(old)) {
                let _ = store.close();
                return Err(errors::in_use());
            }
            self.info.engine.put_in_place(name, id, store, options.leaves)
        });
        if let Err(e) = named {
            // Whatever is left of it is only disk space.
            let _ = Database::remove(self.info.engine.instance(), &dir);
            self.info.engine.release_place(id);
            return Err(e);
        }
        if options.leaves == Restoring::No
            && let Some(entry) = self.info.find_database(name)
        {
            self.keep_one_broker(&entry)?;
        }
        self.say_restored(name, &found, options, started)
    }

    /// Notes what was restored, and says so.
    pub(super) fn say_restored(
        &mut self,
        name: &str,
        found: &Labelled,
        options: &Options,
        started: Duration,
    ) -> Result<()> {
        let label = &found.label;
        self.restrict(name, options)?;
        history::note_restore(self.info, label, name, options)?;
        let pages = label.bytes.div_ceil(8192);
        let suffix = if label.log { "_log" } else { "" };
        let text = format!(
            "Processed {pages} pages for database '{name}', file '{}{suffix}' on file {}.",
            label.file_name(),
            options.file.unwrap_or(1)
        );
        self.report(&SqlError::new(4035, 0, 1, text));
        let took = self.info.engine.instance().env().clock.now().saturating_sub(started);
        let statement = if label.log { "RESTORE LOG" } else { "RESTORE DATABASE" };
        self.say_processed(statement, label.bytes, took.as_secs_f64());
        Ok(())
    }

    /// Rolls a database that is being restored forward.
    fn restore_log_set(&mut self, name: &str, media: &Media, options: &Options) -> Result<()> {
        let entry = self.info.find_database(name).ok_or_else(|| errors::nothing_to_roll(name))?;
        if entry.snapshot().is_some() {
            return Err(errors::not_a_snapshot());
        }
        let mut found = media.set(options.file)?;
        if !found.label.log {
            let by = found.label.statement();
            return Err(errors::other_kind(options.file.unwrap_or(1), &media.device, by));
        }
        let was = entry.restoring();
        if was == Restoring::No {
            let alone = entry.store.role() == Role::Standalone;
            return Err(if alone { errors::not_rolling() } else { errors::in_group(name) });
        }
        self.unlock(&mut found)?;
        self.close_standby(&entry, "RESTORE LOG")?;
        let rolled = self.roll(&entry, media, &found, options);
        // Unless it was recovered before something failed, it is as readable as it was.
        if rolled.is_err() && was == Restoring::Standby && entry.is_restoring() {
            self.info.engine.set_restoring(&entry, was)?;
        }
        rolled
    }

    /// Nobody can use a database that could be read while it waits for log. That takes nobody to be in it (3101).
    pub(super) fn close_standby(&self, entry: &DatabaseEntry, statement: &str) -> Result<()> {
        if !entry.is_standby() {
            return Ok(());
        }
        if self.info.current_database().id == entry.id {
            return Err(errors::used_here(statement, entry.name()));
        }
        // Nobody comes in from here on.
        self.info.engine.set_restoring(entry, Restoring::Closed)?;
        if !self.info.engine.is_left_alone(entry) {
            self.info.engine.set_restoring(entry, Restoring::Standby)?;
            return Err(errors::in_use());
        }
        Ok(())
    }

    fn roll(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        media: &Media,
        found: &Labelled,
        options: &Options,
    ) -> Result<()> {
        let name = &*entry.name();
        let (first, last, end) = (found.set.first(), found.set.last, entry.store.hardened());
        if found.set.family() != entry.store.control().family {
            return Err(errors::other_path());
        }
        if first > end {
            return Err(errors::log_too_recent(to_number(first.0), to_number(end.0)));
        }
        if last < end {
            return Err(errors::log_too_early(to_number(last.0), to_number(end.0)));
        }
        let stop = options.stop.as_ref().and_then(Stop::time);
        if stop.is_some_and(|stop| stop < found.label.since) {
            return Err(errors::stop_passed());
        }
        // Where nothing was committed between the point and the backup, no transaction tells that the point is there.
        let reached = stop.is_some_and(|stop| stop < found.label.complete);
        let started = self.info.engine.instance().env().clock.now();
        let rolled = self.roll_forward(entry, media, found, options)?;
        match rolled {
            Rolled::TooLate => return Err(errors::stop_passed()),
            Rolled::OtherPath => return Err(errors::other_path()),
            // The point in time is in a later one: only that one may end the restoring.
            Rolled::All if options.stop.is_some() && !reached && options.leaves == Restoring::Standby => {
                self.leave(entry, Restoring::Standby)?;
            }
            Rolled::All if options.stop.is_some() && !reached => {
                let marked = options.stop.as_ref().is_some_and(|stop| stop.time().is_none());
                let what = if marked { "mark" } else { "point in time" };
                let text = format!(
                    "This log file contains records logged before the designated {what}. The database is being left in the Restoring state so you can apply another log file."
                );
                self.report(&SqlError::new(4329, 10, 1, text));
            }
            Rolled::All | Rolled::Stopped => self.leave(entry, options.leaves)?,
        }
        self.say_restored(name, found, options, started)
    }

    fn roll_forward(
        &mut self,
        entry: &DatabaseEntry,
        media: &Media,
        found: &Labelled,
        options: &Options,
    ) -> Result<Rolled> {
        let micros = crate::clock::local_ticks_to_unix_micros;
        let is_marked = |tree, key: &[u8], row: &[u8]| {
            let mark = LogMark::of(tree, key, row);
            matches!(&options.stop, Some(Stop::Mark { name, .. }) if mark.is_some_and(|mark| mark.name == *name))
        };
        let stop = options.stop.as_ref().map(|stop| match *stop {
            Stop::Time(at) => StopAt::Time(micros(at)),
            Stop::Position { at, inclusive } => StopAt::Position { at, inclusive },
            Stop::Mark { after, inclusive, .. } => {
                StopAt::Row { is: &is_marked, since: after.map_or(i64::MIN, micros), inclusive }
            }
        });
        let (mut told, from) = (0, (&*media.file, &found.set));
        let rolled = restore_log(&entry.store, from, stop, &mut |done, of| {
            self.say_progress(options.stats, &mut told, done, of)
        });
        rolled.map_err(|e| match e {
            _ if self.info.cancelled() => sql_errors::cancelled(),
            DbError::Corrupt(detail) => errors::damaged(detail),
            e => crate::map::db_error(e, &entry.name()),
        })
    }

    /// RESTRICTED_USER, of a database that is recovered.
    fn restrict(&self, name: &str, options: &Options) -> Result<()> {
        let entry = self.info.find_database(name).filter(|e| e.restoring() == Restoring::No);
        let Some(entry) = entry.filter(|_| options.restricted) else { return Ok(()) };
        entry.change_settings(|settings| {
            settings.user_access = "RESTRICTED_USER".to_owned();
            Ok(())
        })
    }

    /// What RECOVERY, NORECOVERY and STANDBY ask for.
    pub(super) fn leave(&self, entry: &DatabaseEntry, state: Restoring) -> Result<()> {
        match state {
            Restoring::No => self.recover(entry),
            state => self.info.engine.set_restoring(entry, state),
        }
    }

    /// A database that was restored begins its own life. All of its log is in backups up to here, and its own log backups go on
    /// from here.
    fn recover(&self, entry: &DatabaseEntry) -> Result<()> {
        let (end, at) = (entry.store.hardened(), self.info.engine.now_local());
        // It may have been completed, or not have been ended yet, when the instance was killed.
        if entry.store.role() != Role::Standalone {
            complete(&entry.store).map_err(|e| crate::map::db_error(e, &entry.name()))?;
        }
        self.keep_one_broker(entry)?;
        let chain = entry.log_chain();
        if chain.is_some() || entry.differential_base().is_some() {
            entry.change_settings(|settings| {
                settings.log_chain =
                    chain.map(|chain| LogChain { backed_up: end.0, at, complete: at, ..chain });
                // Its changes are told apart from its own full backups on.
                settings.differential_base = None;
                Ok(())
            })?;
        }
        self.info.engine.set_restoring(entry, Restoring::No)
    }

    /// Switches the broker off of a database that was restored where another has the same: who sends to it means the one that is there.
    fn keep_one_broker(&self, entry: &DatabaseEntry) -> Result<()> {
        let id = entry.broker_id();
        let same = |d: &Arc<DatabaseEntry>| d.id != entry.id && d.broker_id() == id;
        if !self.info.engine.databases().iter().any(same) {
            return Ok(());
        }
        entry.change_settings(|settings| {
            settings.flags.insert(crate::broker::ENABLED.to_owned(), false);
            Ok(())
        })
    }

    /// Whether a database of that name may make room.
    fn may_be_replaced(&self, old: &Arc<DatabaseEntry>, found: &Labelled, options: &Options) -> Result<()> {
        let name = old.name();
        if old.snapshot().is_some() {
            return Err(errors::not_a_snapshot());
        }
        if old.id.0 < FIRST_USER_DATABASE {
            return Err(errors::not_this_database(name));
        }
        self.info.engine.has_no_snapshots(old.id, "restore")?;
        let waits = old.restoring() != Restoring::No;
        if old.store.role() != Role::Standalone && !waits {
            return Err(errors::in_group(name));
        }
        if !options.replace && !waits {
            if old.store.control().family != found.label.family {
                return Err(errors::other_database(name));
            }
            if old.picture().settings().recovery != "SIMPLE" {
                return Err(errors::tail_not_backed_up(name));
            }
        }
        if self.info.current_database().id == old.id {
            return Err(errors::used_here("RESTORE", name));
        }
        if !self.info.engine.is_left_alone(old) {
            return Err(errors::in_use());
        }
        Ok(())
    }

    /// Makes the database in a directory of its own. One that is to wait for more log keeps its identity, so that it can join a group.
    fn make_beside(
        &mut self,
        id: DatabaseId,
        dir: &Path,
        media: &Media,
        found: &Labelled,
        options: &Options,
    ) -> Result<Arc<Database>> {
        let engine = Arc::clone(&self.info.engine);
        let mut family = found.label.family;
        if options.leaves == Restoring::No {
            engine.instance().env().random.fill(&mut family);
        }
        let mut told = 0;
        let made = restore(
            engine.instance(),
            (id, dir),
            (&*media.file, &found.set),
            family,
            &DbOptions::default(),
            &mut |done, of| self.say_progress(options.stats, &mut told, done, of),
        );
        let failed = |e: DbError| match e {
            _ if self.info.cancelled() => sql_errors::cancelled(),
            DbError::Corrupt(detail) => errors::damaged(detail),
            e => errors::os_error(e, dir.display()),
        };
        let store = made.map_err(failed)?;
        if options.leaves == Restoring::No {
            complete(&store).map_err(failed)?;
        }
        Ok(store)
    }

    /// RESTORE DATABASE … WITH RECOVERY, without a device.
    fn recover_restoring(&mut self, name: &str, options: &Options) -> Result<()> {
        let engine = &self.info.engine;
        let entry = engine.database(name).ok_or_else(|| sql_errors::no_database(name))?;
        if entry.restoring() == Restoring::No {
            return if options.leaves == Restoring::No { Err(errors::already_recovered()) } else { Ok(()) };
        }
        self.close_standby(&entry, "RESTORE")?;
        self.leave(&entry, options.leaves)?;
        self.restrict(name, options)?;
        let text = "RESTORE DATABASE successfully processed 0 pages in 0.000 seconds (0.000 MB/sec).";
        self.report(&SqlError::new(3014, 0, 1, text));
        Ok(())
    }
}
