//! An audit that runs: its condition, and where its records go.
//!
//! A record is written before who caused it goes on. With QUEUE_DELAY = 0 it is on the disk by then; otherwise it is with the operating
//! system, and on the disk with the first record that comes QUEUE_DELAY after it, when a thread finds that it is due ([`Engine::settle_due_audits`]),
//! or when the audit stops.
//!
//! [`Engine::settle_due_audits`]: crate::Engine::settle_due_audits

use super::definition::{AuditDef, Destination, OnFailure, guid_text};
use super::errors;
use super::record::{COLUMNS, Record};
use crate::events::actor::Actor;
use crate::events::file::Files;
use crate::events::predicate::Check;
use crate::events::target::{Surroundings, file_number};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;

/// Extension of files of audits.
pub const EXTENSION: &str = "sqlaudit";
/// Ticks in a millisecond.
const TICKS_MS: i64 = 10_000;

/// An audit that runs.
pub struct Running {
    /// As it was started.
    pub definition: AuditDef,
    /// When it was started, UTC ticks.
    pub since: i64,
    check: Option<Check>,
    target: Mutex<Target>,
}

struct Target {
    /// `None`: the error log.
    files: Option<Files>,
    path: PathBuf,
    /// When what was written was last made durable.
    synced: i64,
    /// Something has been written since.
    unsynced: bool,
    /// The last record could not be written, and the error log says so.
    failing: bool,
    /// Records that waited could not be made durable, and nobody has failed for it.
    lost: bool,
}

/// What a record that could not be written means for who caused it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is written, or lost and nobody minds.
    GoesOn,
    /// What happens must fail.
    Fails,
    /// The server has to stop.
    Stops,
}

/// Where the files of an audit are, and how they begin.
#[must_use]
pub fn file_path(dir: &std::path::Path, definition: &AuditDef, path: &str) -> PathBuf {
    let barred = |c: char| matches!(c, '/' | '\\' | '\0' | '*');
    let name: String = definition.name.chars().map(|c| if barred(c) { '_' } else { c }).collect();
    dir.join(path).join(format!("{name}_{}.{EXTENSION}", guid_text(&definition.guid)))
}

impl Running {
    /// Begins its first file. The error is what the system says of it.
    pub fn start(definition: AuditDef, around: &Surroundings<'_>) -> std::io::Result<Running> {
        let check = definition.predicate.as_ref().map(|(p, _)| Check::over(p, COLUMNS));
        let mut target = Target {
            files: None,
            path: PathBuf::from("errorlog"),
            synced: around.now,
            unsynced: false,
            failing: false,
            lost: false,
        };
        if let Destination::File { path, size_max, rollover, files_max, reserve } = &definition.to {
            target.path = file_path(around.dir, &definition, path);
            let kept = if *files_max > 0 { 0 } else { (*rollover as usize).saturating_add(1) };
            let files = Files::new(Arc::clone(around.disk), &target.path, *size_max, kept);
            let mut files = files.for_audit(*files_max as usize, *reserve);
            files.begin(file_number(around.now))?;
            target.files = Some(files);
        }
        Ok(Running { definition, since: around.now, check, target: Mutex::new(target) })
    }

    /// Whether its condition lets a record in.
    #[must_use]
    pub fn wants(&self, record: &Record, actor: &dyn Actor) -> bool {
        self.check.as_ref().is_none_or(|check| check.holds(actor, &record.fields()))
    }

    /// Writes a record.
    pub fn take(&self, record: &Record, log: &dyn crate::engine::ServerLog) -> Outcome {
        let mut target = self.target.lock();
        let written = match &mut target.files {
            Some(files) => files.append(&record.document(), file_number(record.event_time)),
            None => log.record(&record.line()),
        };
        let due = self.is_due(target.synced, record.event_time);
        let written = written.and_then(|()| match &target.files {
            Some(files) if due => files.sync(),
            _ => Ok(()),
        });
        match written {
            Ok(()) => {
                target.failing = false;
                target.unsynced = !due;
                if due {
                    target.synced = record.event_time;
                }
                // What could not be made durable behind everybody's back is told to who comes next.
                if std::mem::take(&mut target.lost) { self.outcome() } else { Outcome::GoesOn }
            }
            Err(e) => {
                if !std::mem::replace(&mut target.failing, true) {
                    self.say(&target.path, &e, log);
                }
                self.outcome()
            }
        }
    }

    fn is_due(&self, synced: i64, now: i64) -> bool {
        now - synced >= i64::from(self.definition.queue_delay_ms) * TICKS_MS
    }

    /// Makes durable what has waited for QUEUE_DELAY, while others write. The error is what the system says of it, with what it means;
    /// where operations fail, the next one that is recorded does.
    pub(super) fn settle_due(&self, now: i64) -> Result<(), (std::io::Error, Outcome)> {
        let mut target = self.target.lock();
        if !target.unsynced || !self.is_due(target.synced, now) {
            return Ok(());
        }
        target.synced = now;
        target.unsynced = false;
        let file = target.files.as_ref().and_then(Files::handle);
        drop(target);
        file.map_or(Ok(()), |file| file.sync_data()).map_err(|e| {
            let mut target = self.target.lock();
            (target.unsynced, target.failing, target.lost) = (true, true, true);
            (e, self.outcome())
        })
    }

    /// Makes all durable that was written; the error log says what went wrong.
    pub fn settle(&self, log: &dyn crate::engine::ServerLog) {
        let mut target = self.target.lock();
        let file = target.files.as_ref().and_then(Files::handle);
        if let Some(Err(e)) = file.map(|file| file.sync_data()) {
            target.failing = true;
            self.say(&target.path, &e, log);
        }
    }

    fn say(&self, path: &std::path::Path, e: &std::io::Error, log: &dyn crate::engine::ServerLog) {
        let told = errors::cannot_write(path.display());
        log.write(&format!("Error: {}, Severity: {}, State: 1.", told.number, told.severity));
        log.write(&format!("{} {e}", told.message));
    }

    /// What a record that is lost means.
    fn outcome(&self) -> Outcome {
        match self.definition.on_failure {
            OnFailure::Continue => Outcome::GoesOn,
            OnFailure::FailOperation => Outcome::Fails,
            OnFailure::Shutdown => Outcome::Stops,
        }
    }

    /// The file that is written to, and its length; whether the last record was lost.
    #[must_use]
    pub fn status(&self) -> (Option<(PathBuf, u64)>, bool) {
        let target = self.target.lock();
        let file = target.files.as_ref().and_then(|f| Some((f.current()?.to_owned(), f.length())));
        (file, target.failing)
    }
}
