//! Reading backups: checking them, and making databases of them.

use super::differential::{Followed, Overlay};
use super::frames::{Kind, Reader, damaged};
use super::stop::{Search, StopAt, cut, opened};
use super::{BackupSet, Content, LogInfo, Progress};
use crate::database::{Database, DbOptions};
use crate::error::DbError;
use crate::instance::Instance;
use crate::seed::{SeedInfo, SeedSink};
use keel_base::env::File;
use keel_base::{DatabaseId, Epoch, Lsn};
use keel_log::block;
use keel_store::base::BaseRoot;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often whoever waits for redo asks whether to go on.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Takes a chunk of rows, changes, or a block of the log.
type Take<'a> = &'a mut dyn FnMut(Kind, &[u8]) -> Result<(), DbError>;

/// Hands the rows and blocks of a set over, checked.
fn walk(file: &dyn File, set: &BackupSet, take: Take<'_>, progress: Progress<'_>) -> Result<(), DbError> {
    let mut reader = Reader::at(file, set.at, set.key.as_ref())?;
    while let Some(head) = reader.head()? {
        let payload = reader.payload(&head)?;
        match head.kind {
            Kind::Begin | Kind::BeginLog | Kind::BeginDifferential => {}
            Kind::Rows | Kind::Changes | Kind::Log => take(head.kind, &payload)?,
            Kind::End => return progress(1, 1),
        }
        progress(reader.at - set.at, (set.end - set.at).max(1))?;
    }
    Err(damaged("the backup set has no end"))
}

/// Reads all of a set and checks it: every frame, every chunk of rows, and that the log's blocks follow each other up to its end.
///
/// # Errors
/// [`DbError::Corrupt`] when something is damaged or missing.
pub fn verify(file: &dyn File, set: &BackupSet, progress: Progress<'_>) -> Result<(), DbError> {
    let (mut next, mut previous, mut rows_end) = match &set.content {
        Content::Full(info) => (info.log_start, Some(info.log_previous), false),
        Content::Differential(info) => (info.seed.log_start, Some(info.seed.log_previous), false),
        // It has no rows; the block before its first is in another backup.
        Content::Log(info) => (info.first, None, true),
    };
    let mut changes = Followed::new();
    let mut take = |kind: Kind, bytes: &[u8]| {
        if kind == Kind::Rows {
            rows_end = crate::seed::is_last_chunk(bytes)
                .ok_or_else(|| damaged("a chunk of rows in the backup is damaged"))?;
            return Ok(());
        }
        if kind == Kind::Changes {
            let follows = changes.follow(bytes);
            rows_end = changes.is_through();
            return if follows { Ok(()) } else { Err(damaged("changes in the backup are damaged")) };
        }
        let follows =
            |h: &block::Header| h.first_lsn == next && previous.is_none_or(|before| before == h.previous);
        let header = Some(header_of(bytes)?).filter(follows);
        let header = header.ok_or_else(|| damaged("a block of the log in the backup is missing"))?;
        (next, previous) = (header.end_lsn(), Some(header.checksum));
        Ok(())
    };
    walk(file, set, &mut take, progress)?;
    if !rows_end || next != set.last {
        return Err(damaged("rows or log of the backup are missing"));
    }
    Ok(())
}

/// Makes a database from a set, in a directory that holds none: [resolving](crate::Role::Resolving), with all of the set's log.
/// [`complete`] makes it one that can be written. `family` becomes its identity: the set's own for a copy that is to join the
/// others, another for a database of its own.
///
/// # Errors
/// [`DbError::Corrupt`] when the set is damaged, [`DbError::Io`]; what is there of the database then is for
/// [`Database::remove`].
pub fn restore(
    instance: &Arc<Instance>,
    (id, dir): (DatabaseId, &Path),
    (file, set): (&dyn File, &BackupSet),
    family: [u8; 16],
    options: &DbOptions,
    progress: Progress<'_>,
) -> Result<Arc<Database>, DbError> {
    let Content::Full(info) = &set.content else { return Err(damaged("the backup set has no rows")) };
    let info = SeedInfo { family, ..info.clone() };
    let sink = SeedSink::create(instance, id, dir, &info)?;
    let mut making = Making { info, options, sink: Some(sink), db: None };
    let mut take = |kind: Kind, bytes: &[u8]| match (kind, &making.sink) {
        (Kind::Rows, Some(sink)) => sink.apply(&[bytes]).map(|_| ()),
        (Kind::Log, _) => making.receive(bytes),
        _ => Err(damaged("rows behind the log in a backup")),
    };
    walk(file, set, &mut take, progress)?;
    making.finish(set)
}

/// Makes a database as [`restore`] does, from what `old` has, which the full backup was restored to, and what has changed since: a
/// differential set that [fits](super::DifferentialInfo::fits). `old` stays as it is.
///
/// # Errors
/// Those of [`restore`]; [`DbError::Corrupt`] also when the two do not make the rows that there were.
pub fn restore_differential(
    instance: &Arc<Instance>,
    (id, dir): (DatabaseId, &Path),
    old: &Arc<Database>,
    (file, set): (&dyn File, &BackupSet),
    options: &DbOptions,
    progress: Progress<'_>,
) -> Result<Arc<Database>, DbError> {
    let Content::Differential(info) = &set.content else {
        return Err(damaged("the backup set is no differential one"));
    };
    // All of its log, in pages that nobody changes any more.
    old.apply_all()?;
    old.checkpoint()?;
    let root = old.store().base().root();
    if root.highest_lsn() > info.seed.checkpoint || root.checkpoint_lsn() < old.applied() {
        return Err(DbError::Role("the database is not where the differential backup begins".into()));
    }
    let sink = SeedSink::create(instance, id, dir, &info.seed)?;
    lay_over((&root, &sink), (file, set), info.seed.rows, &mut |done, of| progress(done / 2, of))?;
    let mut making = Making { info: info.seed.clone(), options, sink: Some(sink), db: None };
    let mut log = |kind: Kind, bytes: &[u8]| if kind == Kind::Log { making.receive(bytes) } else { Ok(()) };
    walk(file, set, &mut log, &mut |done, of| progress(of / 2 + done / 2, of))?;
    making.finish(set)
}

/// Fills a copy with the rows of `old` and the changes of a set over them.
fn lay_over(
    (old, sink): (&Arc<BaseRoot>, &SeedSink),
    (file, set): (&dyn File, &BackupSet),
    rows: u64,
    progress: Progress<'_>,
) -> Result<(), DbError> {
    let mut overlay = Overlay::new(old, sink)?;
    let mut log_begun = false;
    let mut take = |kind: Kind, bytes: &[u8]| match kind {
        Kind::Changes if !log_begun => overlay.apply(bytes),
        Kind::Log => {
            log_begun = true;
            Ok(())
        }
        _ => Err(damaged("rows behind the log in a backup")),
    };
    walk(file, set, &mut take, progress)?;
    overlay.finish(rows)
}

/// A database in the making: first its rows, then its log.
struct Making<'o> {
    info: SeedInfo,
    options: &'o DbOptions,
    /// Until the rows are through.
    sink: Option<SeedSink>,
    db: Option<Arc<Database>>,
}

impl Making<'_> {
    /// The database; its rows are through.
    fn database(&mut self) -> Result<&Arc<Database>, DbError> {
        if let Some(sink) = self.sink.take() {
            let made = sink.finish(self.options)?;
            made.demote()?;
            self.db = Some(made);
        }
        self.db.as_ref().ok_or_else(|| damaged("the backup set is empty"))
    }

    fn receive(&mut self, block: &[u8]) -> Result<(), DbError> {
        let epoch = block::decode_header(block).map_or(Epoch(0), |header| header.epoch).max(self.info.epoch);
        self.database()?.receive(epoch, block).map(|_| ())
    }

    /// All of its log is there. It may be none: nothing has happened since its rows.
    fn finish(mut self, set: &BackupSet) -> Result<Arc<Database>, DbError> {
        let db = Arc::clone(self.database()?);
        if db.harden()? != set.last {
            return Err(damaged("log of the backup is missing"));
        }
        db.apply_up_to(set.last)?;
        db.fence("restored");
        Ok(db)
    }
}

/// How far a log backup has brought a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rolled {
    /// It has all of it.
    All,
    /// It has what comes before the point asked for.
    Stopped,
    /// It is past that point already: nothing was done.
    TooLate,
    /// The log does not continue its own: the two have gone different ways. Nothing was done.
    OtherPath,
}

/// Rolls a database that is being restored forward with a log backup that begins at or before the end of its log, up to `stop` or to
/// the end.
///
/// # Errors
/// [`DbError::Corrupt`] when the set is damaged, [`DbError::Io`], and what `progress` returns.
pub fn restore_log(
    db: &Arc<Database>,
    (file, set): (&dyn File, &BackupSet),
    stop: Option<StopAt<'_>>,
    progress: Progress<'_>,
) -> Result<Rolled, DbError> {
    let Content::Log(info) = &set.content else { return Err(damaged("the backup set is no log backup")) };
    let found = look_through(db, (file, set), stop, progress)?;
    match found {
        // It ends there already, perhaps within what is one block of the log in the backup.
        Found { stop: Some(at), .. } if at == db.hardened() => return Ok(Rolled::Stopped),
        Found { other_path: true, .. } => return Ok(Rolled::OtherPath),
        Found { stop: Some(at), .. } if at < db.hardened() => return Ok(Rolled::TooLate),
        Found { .. } => {}
    }
    db.demote()?;
    let rolled = roll_forward(db, (file, set), (info, found.stop), progress);
    db.fence("restored");
    rolled?;
    Ok(if found.stop.is_some() { Rolled::Stopped } else { Rolled::All })
}

fn header_of(bytes: &[u8]) -> Result<block::Header, DbError> {
    block::decode(bytes).map_err(|_| damaged("a block of the log in the backup is damaged"))
}

struct Found {
    stop: Option<Lsn>,
    other_path: bool,
}

/// What there is to know of a log backup before anything is done with it.
fn look_through(
    db: &Database,
    (file, set): (&dyn File, &BackupSet),
    stop: Option<StopAt<'_>>,
    progress: Progress<'_>,
) -> Result<Found, DbError> {
    let log = db.log().ok_or_else(|| DbError::Role("a volatile database is not restored".into()))?;
    let (end, tip) = (log.flush()?, log.last_checksum());
    let mut found = Found { stop: None, other_path: false };
    let (mut search, mut before) = (stop.map(Search::new), None);
    let mut take = |_: Kind, bytes: &[u8]| {
        let header = header_of(bytes)?;
        let joins = if header.first_lsn == end { header.previous == tip } else { true };
        let passes = header.first_lsn < end && header.end_lsn() > end;
        let ends = header.end_lsn() == end && header.checksum != tip;
        found.other_path |= !joins || passes || ends;
        if before.is_some_and(|before| before != header.first_lsn) {
            return Err(damaged("a block of the log in the backup is missing"));
        }
        before = Some(header.end_lsn());
        if let Some(search) = search.as_mut().filter(|_| found.stop.is_none()) {
            let plain = opened(log.keys(), &header, bytes)?;
            let payload = plain.get(block::HEADER_BYTES..).unwrap_or_default();
            if header.flags & block::FLAG_KEYS != 0 {
                db.keys.look_into(payload);
            }
            found.stop = search.look(&header, payload)?;
        }
        Ok(())
    };
    walk(file, set, &mut take, &mut |done, of| progress(done / 2, of))?;
    Ok(found)
}

/// Takes the blocks that are not there yet, and waits until they are applied.
fn roll_forward(
    db: &Arc<Database>,
    (file, set): (&dyn File, &BackupSet),
    (info, stop): (&LogInfo, Option<Lsn>),
    progress: Progress<'_>,
) -> Result<(), DbError> {
    let log = db.log().ok_or_else(|| DbError::Role("a volatile database is not restored".into()))?;
    let (end, session) = (db.hardened(), info.epoch.max(log.epoch()));
    let mut take = |_: Kind, bytes: &[u8]| {
        let header = header_of(bytes)?;
        let stop = stop.unwrap_or(Lsn::MAX);
        if header.end_lsn() <= end || header.first_lsn >= stop {
            return Ok(());
        }
        let keys = (&**log.keys(), &*db.instance().env().random);
        let part = if header.end_lsn() > stop { Some(cut(bytes, header, stop, keys)?) } else { None };
        db.receive(session.max(header.epoch), part.as_deref().unwrap_or(bytes)).map(|_| ())
    };
    walk(file, set, &mut take, &mut |done, of| progress(of / 2 + done / 2, of))?;
    let hardened = db.harden()?;
    db.apply_up_to(hardened)?;
    // Somebody who drives redo by hand does that.
    while !db.instance().options().by_hand && !db.wait_applied(hardened, LOOK_EVERY) {
        progress(99, 100)?;
        db.apply_up_to(hardened)?;
    }
    Ok(())
}

/// Ends the restoring of a database: all of its log is applied, transactions that had not ended never happened, and from now on it
/// stands alone and can be written. Its history parts here from the one it was taken from. Error [`DbError::Role`] for a copy that was
/// made for a group and has not received the log that belongs to it.
pub fn complete(db: &Database) -> Result<(), DbError> {
    let log = db.log().ok_or_else(|| DbError::Role("a volatile database is not restored".into()))?;
    if log.hardened() < db.floor() {
        return Err(DbError::Role("its base tree has more than its log: this copy cannot be used".into()));
    }
    db.promote(Epoch(log.epoch().0 + 1))?;
    db.leave_group()
}
