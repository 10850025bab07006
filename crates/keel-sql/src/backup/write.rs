//! BACKUP DATABASE and BACKUP LOG.

use super::media::{Label, Labelled, Media};
use super::mirror::MIRRORS_MAX;
use super::options::Options;
use super::url::{Reach, is_url};
use super::{errors, history};
use crate::catalog::{DifferentialBase, LogChain, SecurableRef};
use crate::engine::{DatabaseEntry, MASTER, Restoring, TEMPDB};
use crate::errors as sql_errors;
use crate::program::Program;
use crate::run::{Frame, Runner};
use keel_base::Lsn;
use keel_node::backup::{BackupOptions, Base, Written, back_up, back_up_differential, back_up_log};
use keel_node::{DbError, Role};
use keel_parser::ast;
use keel_query::SessionInfo as _;
use keel_types::SqlError;
use keel_types::error::Result;
use parking_lot::MutexGuard;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often whoever waits for another backup looks whether its client still does.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const TICKS_PER_DAY: i64 = 864_000_000_000;
/// What the product calls a page, for figures that are in pages.
const PAGE_BYTES: u64 = 8192;

/// What is backed up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// Everything.
    Full,
    /// The log, from where the chain of its backups stands.
    Log(LogChain),
    /// What has changed since a full backup.
    Differential(DifferentialBase),
}

impl Runner<'_> {
    /// What both statements say at the end.
    pub(super) fn say_processed(&mut self, statement: &str, bytes: u64, seconds: f64) {
        let pages = bytes.div_ceil(PAGE_BYTES);
        let rate = bytes as f64 / (1 << 20) as f64 / seconds.max(0.001);
        let text = format!(
            "{statement} successfully processed {pages} pages in {seconds:.3} seconds ({rate:.3} MB/sec)."
        );
        self.report(&SqlError::new(3014, 0, 1, text));
    }

    /// The first of the two errors of a statement that failed, unless CATCH waits; returns the second.
    pub(super) fn terminating(&mut self, e: &SqlError, statement: &str) -> Box<SqlError> {
        if !self.is_caught() {
            self.report(e);
        }
        errors::terminating(statement)
    }

    pub(crate) fn backup(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        b: &ast::Backup,
    ) -> Result<()> {
        let statement = if b.log { "BACKUP LOG" } else { "BACKUP DATABASE" };
        let name = self.backup_database_name(program, frame, &b.database)?;
        let written = self.back_up_named(program, frame, b, &name);
        self.info.shared.progress.store(0, Ordering::Relaxed);
        written.map_err(|e| if e.severity >= 17 { e } else { self.terminating(&e, statement) })
    }

    fn back_up_named(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        b: &ast::Backup,
        name: &str,
    ) -> Result<()> {
        if self.info.transaction.borrow().count > 0 {
            return Err(errors::in_transaction());
        }
        self.let_go();
        let entry = self.info.find_database(name).ok_or_else(|| sql_errors::no_database(name))?;
        let permission = if b.log { "BACKUP LOG" } else { "BACKUP DATABASE" };
        if !self.info.unrestricted.get() && !self.info.may(&entry, permission, SecurableRef::Database) {
            return Err(sql_errors::database_permission_denied(permission, entry.name()));
        }
        if entry.snapshot().is_some() {
            return Err(errors::not_a_snapshot());
        }
        if entry.id == TEMPDB {
            return Err(errors::not_this_database(entry.name()));
        }
        if b.log && entry.picture().settings().recovery == "SIMPLE" {
            return Err(errors::simple_recovery());
        }
        if !b.parts.is_empty() {
            return Err(sql_errors::not_supported("A backup of single files"));
        }
        let statement = if b.log { "BACKUP LOG" } else { "BACKUP" };
        let mut options = self.backup_options(program, frame, &b.options, statement)?;
        if options.differential && entry.id == MASTER {
            return Err(errors::full_of_master_only());
        }
        if entry.is_restoring() {
            return Err(sql_errors::restoring(entry.name()));
        }
        options.key = self.new_set_key(&entry, &options)?;
        if entry.is_standby() {
            return Err(errors::standby(entry.name()));
        }
        let is_mirror = self.info.engine.hadr().is_some_and(|hadr| {
            let state = hadr.state();
            state
                .mirroring_of(&entry.name())
                .is_some_and(|session| session.role != crate::hadr::Role::Primary)
        });
        if is_mirror {
            return Err(errors::on_secondary());
        }
        // A secondary's backup of the log is noted by the primary; of a full one it would have to be noted more.
        if entry.is_copy() && b.log == options.copy_only {
            return Err(errors::on_secondary());
        }
        let devices = self.backup_devices(program, frame, &b.to)?;
        let mirrors = self.backup_mirrors(program, frame, b, &devices)?;
        if !b.log {
            let wanted = self.wanted(&entry, &options)?;
            let media = Media::to_write(&Reach::of(self.info, &options), &devices, &mirrors, options.format)?;
            return self.write_set(&entry, &media, &options, wanted);
        }
        let _one = self.next_log_backup(&entry)?;
        let chain = entry.log_chain().ok_or_else(errors::no_full_backup)?;
        if entry.store.positions().truncated > Lsn(chain.backed_up) {
            return Err(errors::no_full_backup());
        }
        let media = Media::to_write(&Reach::of(self.info, &options), &devices, &mirrors, options.format)?;
        if options.leaves != Restoring::No {
            return self.back_up_tail(&entry, &media, &options, chain);
        }
        self.write_set(&entry, &media, &options, Wanted::Log(chain))
    }

    /// The devices of each mirror, as many as of the first.
    fn backup_mirrors(
        &mut self,
        program: &Arc<Program>,
        frame: &mut Frame,
        b: &ast::Backup,
        devices: &[String],
    ) -> Result<Vec<Vec<String>>> {
        if b.mirrors.len() > MIRRORS_MAX {
            return Err(errors::too_many_mirrors());
        }
        let mut mirrors = Vec::with_capacity(b.mirrors.len());
        for mirror in &b.mirrors {
            let mirror = self.backup_devices(program, frame, mirror)?;
            if mirror.len() != devices.len() || is_url(&mirror[0]) != is_url(&devices[0]) {
                return Err(errors::mirror_differs(&devices[0], &mirror[0]));
            }
            mirrors.push(mirror);
        }
        Ok(mirrors)
    }

    /// What BACKUP DATABASE backs up.
    fn wanted(&self, entry: &DatabaseEntry, options: &Options) -> Result<Wanted> {
        if !options.differential {
            return Ok(Wanted::Full);
        }
        let base = entry.differential_base();
        base.map(Wanted::Differential).ok_or_else(|| errors::no_differential_base(entry.name()))
    }

    /// Waits until no other backup of the log is made.
    fn next_log_backup<'e>(&self, entry: &'e DatabaseEntry) -> Result<MutexGuard<'e, ()>> {
        loop {
            if let Some(guard) = entry.log_backups.try_lock_for(LOOK_EVERY) {
                return Ok(guard);
            }
            if self.info.cancelled() {
                return Err(sql_errors::cancelled());
            }
        }
    }

    /// A set behind those in the file.
    pub(super) fn write_set(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        media: &Media,
        options: &Options,
        wanted: Wanted,
    ) -> Result<()> {
        let before = self.sets_before(media, options)?;
        let at = before.last().map_or(0, |last| last.set.end);
        let position = before.len() + 1;
        // Behind whole sets there may be one that was cut short.
        media.file.set_len(at).map_err(|e| errors::cannot_write(&media.device, e))?;
        if matches!(entry.store.role(), Role::Standalone | Role::Primary) {
            entry.save_counters()?;
        }
        let started = self.info.engine.instance().env().clock.now();
        let label = self.write_frames(entry, (media, at), options, wanted)?;
        media.note_finished(label.finished)?;
        history::note_backup(self.info, &label, media, position)?;
        let (name, file, suffix) = (entry.name(), label.file_name(), if label.log { "_log" } else { "" });
        let pages = label.bytes.div_ceil(PAGE_BYTES);
        let text = format!(
            "Processed {pages} pages for database '{name}', file '{file}{suffix}' on file {position}."
        );
        self.report(&SqlError::new(4035, 0, 1, text));
        let took = self.info.engine.instance().env().clock.now().saturating_sub(started);
        self.say_processed(label.statement(), label.bytes, took.as_secs_f64());
        if let Some(text) = media.say_stored() {
            self.report(&SqlError::new(0, 0, 1, text));
        }
        Ok(())
    }

    /// The set itself, and the place of the database's chain of log backups that follows from it. Returns what it says of itself.
    fn write_frames(
        &mut self,
        entry: &Arc<DatabaseEntry>,
        (media, at): (&Media, u64),
        options: &Options,
        wanted: Wanted,
    ) -> Result<Label> {
        let mut label = self.new_label(entry, options, wanted);
        label.mirrors = media.mirrors.len() as u8;
        let engine = Arc::clone(&self.info.engine);
        // Compressed, equal rows are not equal any more.
        let compress = !media.is_deduplicated()
            && options.compress.unwrap_or_else(|| engine.configuration(COMPRESSION_DEFAULT).running != 0);
        label.compressed = compress;
        let key = options.key.as_ref().map(|(key, encryption)| {
            label.encryption = Some(encryption.clone());
            key
        });
        let (mut told, mut noted) = (0, Ok(()));
        let ended = Cell::new(None);
        let mut describe = |written: &Written| {
            label.finished = engine.now_local();
            (label.checkpoint, label.first, label.last) =
                (written.checkpoint.0, written.first.0, written.last.0);
            (label.bytes, label.stored, label.family) = (written.bytes, written.stored, written.family);
            ended.set(Some((*written, label.finished)));
            serde_json::to_vec(&label).expect("plain structures become JSON")
        };
        let (file, compression) = (&*media.file, BackupOptions { compress, key });
        let mut progress = |done, of| {
            let Some((written, finished)) = ended.get() else {
                return self.say_progress(options.stats, &mut told, done, of);
            };
            // It is whole and durable, and still holds the log: noted now, and not given up any more.
            if options.moves(wanted) {
                noted = note_full(entry, &written, finished);
            }
            let _ = self.say_progress(options.stats, &mut told, done, of);
            Ok(())
        };
        let store = &entry.store;
        let done = match wanted {
            Wanted::Log(chain) => {
                let first = Lsn(chain.backed_up);
                back_up_log(store, (file, at), first, compression, &mut describe, &mut progress)
            }
            Wanted::Differential(base) => {
                let base = Base { set: base.set, last: Lsn(base.last), checksum: base.checksum };
                back_up_differential(store, (file, at), &base, compression, &mut describe, &mut progress)
            }
            Wanted::Full => back_up(store, file, at, compression, &mut describe, &mut progress),
        };
        if let Err(e) = done {
            // What is left of it would be taken for the end of the file: it is none.
            let _ = media.file.set_len(at);
            media.give_up();
            return Err(if self.info.cancelled() { sql_errors::cancelled() } else { media.not_written(e) });
        }
        noted?;
        let (ended, _) = ended.get().expect("it was asked for its label");
        if options.moves(wanted) {
            note_base(entry, &label, &ended)?;
        }
        // Who restores a tail knows where it ended.
        if label.log && !label.copy_only && options.leaves == Restoring::No {
            self.note_log(entry, ended.border, &label)?;
        }
        Ok(label)
    }

    /// The sets that stay; none when the file is begun anew.
    fn sets_before(&self, media: &Media, options: &Options) -> Result<Vec<Labelled>> {
        if !options.init {
            return media.sets_to_append();
        }
        if options.skip {
            return Ok(Vec::new());
        }
        // What is no backup is not overwritten by mistake: that takes FORMAT.
        let now = self.info.engine.now_local();
        if let Some(kept) = media.sets_to_append()?.iter().find(|set| set.label.expires > now) {
            let words = keel_types::SqlType::NVarChar(keel_types::Length::Limited(40));
            let date = keel_types::cast::convert(
                &crate::views::date(kept.label.expires),
                keel_types::SqlType::DateTime,
                words,
            )?;
            return Err(errors::not_expired(&media.device, date.as_str().unwrap_or_default()));
        }
        Ok(Vec::new())
    }

    fn new_label(&self, entry: &DatabaseEntry, options: &Options, wanted: Wanted) -> Label {
        let picture = entry.picture();
        let settings = picture.settings();
        let now = self.info.engine.now_local();
        let (chain, base) = match wanted {
            Wanted::Full => (None, None),
            Wanted::Log(chain) => (Some(chain), None),
            Wanted::Differential(base) => (None, Some(base)),
        };
        let mut set = [0; 16];
        self.info.engine.instance().env().random.fill(&mut set);
        Label {
            database: entry.name().to_string(),
            file: settings.file_name.clone(),
            name: options.name.clone(),
            description: options.description.clone(),
            server: self.info.engine.options().server_name.clone(),
            user: self.info.login().to_string(),
            set,
            created: settings.created,
            started: now,
            expires: match options.expires {
                Some(at) => at,
                None if options.retain_days > 0 => now + options.retain_days * TICKS_PER_DAY,
                None => 0,
            },
            compatibility: settings.compatibility,
            collation: settings.collation.clone(),
            recovery: settings.recovery.clone(),
            read_only: settings.read_only,
            single_user: settings.user_access == "SINGLE_USER",
            copy_only: options.copy_only,
            log: chain.is_some(),
            begins_chain: chain.is_some_and(|chain| chain.count == 0),
            since: chain.map_or(0, |chain| chain.complete),
            complete: if chain.is_none() || entry.is_copy() { 0 } else { now },
            differential: base.is_some(),
            base: base.map_or([0; 16], |base| base.set),
            full: chain.map(|chain| chain.full).or(base.map(|base| base.checkpoint)).unwrap_or(0),
            ..Label::default()
        }
    }

    /// The log before `until` is in a backup: noted in the database, by whoever may write it.
    fn note_log(&self, entry: &DatabaseEntry, until: Lsn, label: &Label) -> Result<()> {
        let at = label.finished;
        if !entry.is_copy() {
            return entry.note_log_backup(until, at, label.complete);
        }
        let noted = self.info.engine.hadr().is_some_and(|hadr| hadr.log_backed_up(&entry.name(), until, at));
        if noted { Ok(()) } else { Err(errors::not_noted(entry.name())) }
    }

    /// A word at each so many percent, and the end when the client does not want to wait any longer.
    pub(super) fn say_progress(
        &mut self,
        every: u64,
        told: &mut u64,
        done: u64,
        of: u64,
    ) -> std::result::Result<(), DbError> {
        if self.info.cancelled() {
            return Err(DbError::Role("cancelled".into()));
        }
        let hundredths = u32::try_from(done.saturating_mul(10_000) / of.max(1)).unwrap_or(0);
        self.info.shared.progress.store(hundredths, Ordering::Relaxed);
        let percent = done.saturating_mul(100) / of.max(1);
        if every > 0 && percent < 100 && percent >= *told + every {
            *told = percent / every * every;
            self.report(&SqlError::new(3211, 0, 1, format!("{told} percent processed.")));
            self.sink.flush();
        }
        if every > 0 && done == of && *told < 100 {
            *told = 100;
            self.report(&SqlError::new(3211, 0, 1, "100 percent processed."));
        }
        Ok(())
    }
}

/// `backup compression default` of `sp_configure`.
const COMPRESSION_DEFAULT: i32 = 1579;

impl Options {
    /// Whether later backups refer to this one.
    fn moves(&self, wanted: Wanted) -> bool {
        matches!(wanted, Wanted::Full) && !self.copy_only
    }
}

/// A full backup that is whole is what differential ones refer to from now on.
fn note_base(entry: &DatabaseEntry, label: &Label, written: &Written) -> Result<()> {
    let base = DifferentialBase {
        family: written.family,
        set: label.set,
        checkpoint: written.checkpoint.0,
        last: written.last.0,
        checksum: written.checksum,
        at: label.finished,
    };
    entry.change_settings(|settings| {
        settings.differential_base = Some(base);
        Ok(())
    })
}

/// A full backup begins the chain of log backups, where one is wanted and none has begun.
fn note_full(entry: &DatabaseEntry, written: &Written, at: i64) -> Result<()> {
    entry.change_settings(|settings| {
        // A backup of the log that ends at the same time is not undone.
        let begun = entry.log_chain();
        let (family, backed_up) = (written.family, written.border.0);
        let new = LogChain { family, backed_up, full: 0, at, complete: at, count: 0 };
        let chain = LogChain { full: written.checkpoint.0, ..begun.unwrap_or(new) };
        settings.log_chain = (settings.recovery != "SIMPLE").then_some(chain);
        Ok(())
    })
}
