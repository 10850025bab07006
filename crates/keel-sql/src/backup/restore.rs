//! RESTORE DATABASE.

use super::media::{Labelled, Media};
use super::options::Options;
use super::{errors, history};
use crate::engine::{DatabaseEntry, FIRST_USER_DATABASE};
use crate::errors as sql_errors;
use crate::program::Program;
use crate::run::{Frame, Runner};
use keel_base::DatabaseId;
use keel_node::backup::{complete, restore};
use keel_node::{Database, DbError, DbOptions, Role};
use keel_parser::ast::{self, RestoreKind};
use keel_query::SessionInfo as _;
use keel_types::SqlError;
use keel_types::error::Result;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
        if r.kind == RestoreKind::Log || !r.parts.is_empty() || r.snapshot.is_some() {
            let what = match r.kind {
                RestoreKind::Log => "RESTORE LOG",
                _ if r.snapshot.is_some() => "RESTORE FROM DATABASE_SNAPSHOT",
                _ => "RESTORE of single files or pages",
            };
            return Err(sql_errors::not_supported(what));
        }
        let options = self.backup_options(program, frame, &r.options, "RESTORE")?;
        let Some(name) = &r.database else {
            if self.may_restore("").is_err() {
                return Err(sql_errors::database_permission_denied("CREATE DATABASE", "master"));
            }
            let device = self.backup_device(program, frame, &r.from)?;
            let media = Media::to_read(&self.info.engine, &device)?;
            return self.show_media(r.kind, &media, &options);
        };
        let name = self.backup_database_name(program, frame, name)?;
        self.may_restore(&name)?;
        if r.from.is_empty() {
            return self.recover_restoring(&name, &options);
        }
        let device = self.backup_device(program, frame, &r.from)?;
        let media = Media::to_read(&self.info.engine, &device)?;
        self.restore_set(&name, &media, &options)
    }

    /// sysadmin and dbcreator; whoever owns a database that is there.
    fn may_restore(&self, name: &str) -> Result<()> {
        let owns = || {
            let entry = self.info.engine.database(name)?;
            self.info.token_in(&entry).map(|token| token.owner)
        };
        let may = self.info.unrestricted.get() || self.info.may_on_server("CREATE ANY DATABASE");
        if may || owns() == Some(true) { Ok(()) } else { Err(errors::may_not_restore(name)) }
    }

    fn restore_set(&mut self, name: &str, media: &Media, options: &Options) -> Result<()> {
        let found = media.set(options.file)?;
        let database = &found.label.database;
        let files = [database.clone(), format!("{database}_log")];
        let is_file = |moved: &&String| !files.iter().any(|file| crate::views::same(file, moved));
        if let Some(strange) = options.moved.iter().find(is_file) {
            return Err(errors::no_logical_file(strange, database));
        }
        let old = self.info.engine.database(name);
        if let Some(old) = &old {
            self.may_be_replaced(old, &found, options)?;
        }
        let started = self.info.engine.instance().env().clock.now();
        let (id, dir) = self.info.engine.new_place();
        let made = self.make_beside(id, &dir, media, &found, options);
        let named = made.and_then(|store| {
            // Sessions may have come meanwhile.
            let old = old.as_ref().filter(|old| !old.is_dropped());
            if old.is_some_and(|old| old.users.load(Ordering::Acquire) > 0) {
                let _ = store.close();
                return Err(errors::in_use());
            }
            self.info.engine.put_in_place(name, id, store, options.no_recovery)
        });
        if let Err(e) = named {
            self.info.engine.release_place(id);
            // Whatever is left of it is only disk space.
            let _ = Database::remove(self.info.engine.instance(), &dir);
            return Err(e);
        }
        let login = self.info.login();
        let how = (options.replace, !options.no_recovery);
        history::note_restore(&self.info.engine, &found.label, name, &login, how)?;
        let pages = found.label.bytes.div_ceil(8192);
        let text = format!(
            "Processed {pages} pages for database '{name}', file '{database}' on file {}.",
            options.file.unwrap_or(1)
        );
        self.report(&SqlError::new(4035, 0, 1, text));
        let took = self.info.engine.instance().env().clock.now().saturating_sub(started);
        self.say_processed("RESTORE DATABASE", found.label.bytes, took.as_secs_f64());
        Ok(())
    }

    /// Whether a database of that name may make room.
    fn may_be_replaced(&self, old: &Arc<DatabaseEntry>, found: &Labelled, options: &Options) -> Result<()> {
        let name = old.name();
        if old.id.0 < FIRST_USER_DATABASE {
            return Err(errors::not_this_database(name));
        }
        if old.store.role() != Role::Standalone && !old.is_restoring() {
            return Err(errors::in_group(name));
        }
        if !options.replace && !old.is_restoring() {
            if old.store.control().family != found.label.family {
                return Err(errors::other_database(name));
            }
            if old.picture().settings().recovery != "SIMPLE" {
                return Err(errors::tail_not_backed_up(name));
            }
        }
        if self.info.current_database().id == old.id {
            return Err(errors::used_here(name));
        }
        if old.users.load(Ordering::Acquire) > 0 {
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
        if !options.no_recovery {
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
        if !options.no_recovery {
            complete(&store).map_err(failed)?;
        }
        Ok(store)
    }

    /// RESTORE DATABASE … WITH RECOVERY, without a device.
    fn recover_restoring(&mut self, name: &str, options: &Options) -> Result<()> {
        let engine = &self.info.engine;
        let entry = engine.database(name).ok_or_else(|| sql_errors::no_database(name))?;
        if options.no_recovery {
            return Ok(());
        }
        if !entry.is_restoring() {
            return Err(errors::already_recovered());
        }
        complete(&entry.store).map_err(|e| crate::map::db_error(e, name))?;
        engine.set_restoring(&entry, false)?;
        let text = "RESTORE DATABASE successfully processed 0 pages in 0.000 seconds (0.000 MB/sec).";
        self.report(&SqlError::new(3014, 0, 1, text));
        Ok(())
    }
}
