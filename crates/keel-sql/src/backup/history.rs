//! What was backed up and restored here: rows of master's own, shown as tables of `msdb`; in the context of a contained group those of its
//! own master, which every replica has.

use super::encryption::Encryption;
use super::media::{Label, Media};
use super::options::{Options, Stop};
use super::url::is_url;
use crate::catalog::object_class;
use crate::engine::{DatabaseEntry, Engine, Restoring};
use crate::hadr::lsn::value as lsn;
use crate::session::info::Info;
use crate::session::log_mark::LogMark;
use crate::views::{self, NULL, ViewContext, bit, date, int, machine_of, text};
use keel_base::Lsn;
use keel_types::error::Result;
use keel_types::{Decimal, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

/// A backup that was made here.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BackupRow {
    id: i32,
    device: String,
    /// The others, of a backup to several.
    #[serde(default)]
    more: Vec<String>,
    /// Those of each mirror.
    #[serde(default)]
    mirrors: Vec<Vec<String>>,
    position: usize,
    label: Label,
}

/// A database that was restored here.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RestoreRow {
    id: i32,
    database: String,
    user: String,
    at: i64,
    set: [u8; 16],
    replace: bool,
    recovery: bool,
    #[serde(default)]
    log: bool,
    #[serde(default)]
    differential: bool,
    /// STOPAT, local ticks; 0 without one.
    #[serde(default)]
    stop: i64,
    /// STOPATMARK, STOPBEFOREMARK: the name.
    #[serde(default)]
    mark: Option<String>,
    /// STOPBEFOREMARK.
    #[serde(default)]
    before: bool,
    /// It went back to a database snapshot.
    #[serde(default)]
    reverted: bool,
}

/// A marked transaction's place in the log of a database.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct MarkedRow {
    id: i32,
    database: String,
    mark: LogMark,
    user: String,
    lsn: u64,
    at: i64,
}

fn marked(engine: &Engine) -> Result<Vec<MarkedRow>> {
    engine.master_rows(object_class::MARKED)
}

/// Notes the databases in which a marked transaction was committed, and where.
pub(crate) fn note_mark(
    engine: &Engine,
    mark: &LogMark,
    places: &[(Arc<str>, Lsn)],
    user: &str,
) -> Result<()> {
    let mut id = engine.last_master_row(object_class::MARKED)?.unwrap_or(0);
    for (database, lsn) in places {
        id += 1;
        let (database, mark, user) = (database.to_string(), mark.clone(), user.to_owned());
        let row = MarkedRow { id, database, mark, user, lsn: lsn.0, at: engine.now_local() };
        engine.put_master_row(object_class::MARKED, id, Some(&row))?;
    }
    Ok(())
}

/// `msdb.dbo.logmarkhistory`
pub(crate) fn logmarkhistory(cx: &ViewContext<'_>) -> Rows {
    let row = |m: &MarkedRow| {
        let described = text(m.mark.description.as_str());
        vec![
            text(m.database.as_str()),
            text(m.mark.name.as_str()),
            described,
            text(m.user.as_str()),
            lsn(m.lsn),
            date(m.at),
        ]
    };
    marked(cx.engine).unwrap_or_default().iter().map(row).collect()
}

fn backups(master: &DatabaseEntry) -> Result<Vec<BackupRow>> {
    master.own_rows(object_class::BACKUP)
}

fn restores(master: &DatabaseEntry) -> Result<Vec<RestoreRow>> {
    master.own_rows(object_class::RESTORE)
}

/// The master that keeps what a session does: on a secondary of a contained group, whose own cannot be written, the instance's.
fn keeper(info: &Info) -> Result<Arc<DatabaseEntry>> {
    let master = info.master()?;
    Ok(if master.is_read_only() { info.engine.master() } else { master })
}

/// Notes a backup that is through.
pub(super) fn note_backup(info: &Info, label: &Label, media: &Media, position: usize) -> Result<()> {
    let master = keeper(info)?;
    let id = backups(&master)?.last().map_or(1, |last| last.id + 1);
    let (device, more) =
        media.devices.split_first().map_or_else(Default::default, |(d, m)| (d.clone(), m.to_vec()));
    let row = BackupRow { id, device, more, mirrors: media.mirrors.clone(), position, label: label.clone() };
    master.put_own_row(object_class::BACKUP, id, Some(&row))
}

/// Notes a database that was restored.
pub(super) fn note_restore(info: &Info, label: &Label, database: &str, options: &Options) -> Result<()> {
    let row = RestoreRow {
        set: label.set,
        replace: options.replace,
        recovery: options.leaves == Restoring::No,
        log: label.log,
        differential: label.differential,
        stop: options.stop.as_ref().and_then(Stop::time).unwrap_or(0),
        mark: options.stop.as_ref().and_then(Stop::name),
        before: options.stop.as_ref().is_some_and(Stop::ends_before),
        ..RestoreRow::default()
    };
    note(info, database, row)
}

/// Notes a database that went back to a snapshot.
pub(super) fn note_revert(info: &Info, database: &str) -> Result<()> {
    note(info, database, RestoreRow { recovery: true, reverted: true, ..RestoreRow::default() })
}

fn note(info: &Info, database: &str, row: RestoreRow) -> Result<()> {
    let master = keeper(info)?;
    let id = restores(&master)?.last().map_or(1, |last| last.id + 1);
    let (user, at) = (info.login().to_string(), info.engine.now_local());
    let row = RestoreRow { id, database: database.to_owned(), user, at, ..row };
    master.put_own_row(object_class::RESTORE, id, Some(&row))
}

/// Forgets what is older than a time, ticks; of one database, or of all.
pub(crate) fn forget(info: &Info, before: i64, database: Option<&str>) -> Result<()> {
    let of_it = |name: &str| database.is_none_or(|database| views::same(database, name));
    let (engine, master) = (&info.engine, info.master()?);
    for old in backups(&master)?.iter().filter(|b| b.label.finished < before && of_it(&b.label.database)) {
        master.put_own_row::<BackupRow>(object_class::BACKUP, old.id, None)?;
    }
    for old in restores(&master)?.iter().filter(|r| r.at < before && of_it(&r.database)) {
        master.put_own_row::<RestoreRow>(object_class::RESTORE, old.id, None)?;
    }
    // Marks are the instance's, also those of a group's databases.
    if info.context().is_some() {
        return Ok(());
    }
    for old in marked(engine)?.iter().filter(|m| m.at < before && of_it(&m.database)) {
        engine.put_master_row::<MarkedRow>(object_class::MARKED, old.id, None)?;
    }
    Ok(())
}

/// A size.
pub(super) fn number(n: u64) -> Value {
    Value::Decimal(Decimal::new(i128::from(n), 0))
}

fn words(of: Option<&String>) -> Value {
    of.map_or(NULL, |s| text(s.as_str()))
}

fn of(cx: &ViewContext<'_>) -> Vec<BackupRow> {
    // A row that cannot be read is met by DBCC CHECKDB of master.
    cx.info.master().and_then(|master| backups(&master)).unwrap_or_default()
}

pub(crate) fn backupset(cx: &ViewContext<'_>) -> Rows {
    of(cx).iter().map(set_row).collect()
}

fn set_row(b: &BackupRow) -> Vec<Value> {
    let l = &b.label;
    let mut row =
        vec![int(b.id), Value::Guid(l.set), int(b.id), int(1), int(1), families(b), int(1), int(1), int(1)];
    let expires = if l.expires == 0 { NULL } else { date(l.expires) };
    row.extend([
        int(b.position as i64),
        expires,
        int(4608),
        words(l.name.as_ref()),
        words(l.description.as_ref()),
    ]);
    row.extend([text(l.user.as_str()), int(16), int(0), int(1000), int(127), int(0)]);
    row.extend([
        lsn(l.first),
        lsn(l.last),
        lsn(l.checkpoint),
        l.full_before(),
        date(l.created),
        date(l.started),
    ]);
    row.extend([
        date(l.finished),
        text(l.kind()),
        int(52),
        int(0),
        int(l.compatibility),
        int(957),
        number(l.bytes),
    ]);
    row.extend([text(l.database.as_str()), text(l.server.as_str()), text(machine_of(&l.server))]);
    row.extend([int(flags(l)), int(1033), int(196_609), text(l.collation.as_str()), bit(false)]);
    row.extend([text(l.recovery.as_str()), bit(false), bit(false), bit(l.read_only), bit(l.single_user)]);
    row.extend([bit(true), bit(false), bit(l.begins_chain), bit(false), bit(false), bit(l.copy_only)]);
    row.extend([
        Value::Guid(l.family),
        Value::Guid(l.family),
        NULL,
        Value::Guid(l.family),
        Value::Guid(l.family),
    ]);
    row.extend(l.base_shown());
    row.push(number(l.stored));
    row.extend(encryption(l));
    row.push(date(l.finished));
    row.push(if l.compressed { text("LZ4") } else { NULL });
    row
}

/// Algorithm, thumbprint of the encryptor and its kind.
pub(super) fn encryption(l: &Label) -> [Value; 3] {
    let shown = |e: &Encryption| {
        [text(e.algorithm.to_ascii_lowercase()), Value::bytes(e.thumbprint.clone()), text("CERTIFICATE")]
    };
    l.encryption.as_ref().filter(|e| !e.by_database).map_or([NULL, NULL, NULL], shown)
}

/// The product's bits: 16 checksums, 8 single user, 4 read only, 1024 copy-only.
pub(super) fn flags(l: &Label) -> i64 {
    [(16, true), (8, l.single_user), (4, l.read_only), (1024, l.copy_only)]
        .into_iter()
        .filter_map(|(bit, on)| on.then_some(bit))
        .sum()
}

fn families(b: &BackupRow) -> Value {
    int(b.more.len() as i64 + 1)
}

/// The product's number of a kind of device: a disk, or a URL.
pub(super) fn device_type(device: &str) -> Value {
    int(if is_url(device) { 9 } else { 2 })
}

pub(crate) fn backupmediafamily(cx: &ViewContext<'_>) -> Rows {
    let rows = |b: &BackupRow| -> Rows {
        let row = |mirror: i64, number: i64, device: &String| {
            let set = Value::Guid(b.label.set);
            let kind = device_type(device);
            vec![
                int(b.id),
                int(number),
                set,
                int(1),
                NULL,
                text(device.as_str()),
                kind,
                int(65_536),
                int(mirror),
            ]
        };
        let first = (1..).zip(std::iter::once(&b.device).chain(&b.more)).map(|(n, d)| row(0, n, d));
        let copies = (1..).zip(&b.mirrors);
        let copies = copies.flat_map(|(mirror, of)| (1..).zip(of).map(move |(n, d)| row(mirror, n, d)));
        first.chain(copies).collect()
    };
    of(cx).iter().flat_map(rows).collect()
}

pub(crate) fn backupmediaset(cx: &ViewContext<'_>) -> Rows {
    let row = |b: &BackupRow| {
        let mut row =
            vec![int(b.id), Value::Guid(b.label.set), families(b), NULL, NULL, text("Evenkeel"), int(4608)];
        let mirrors = 1 + b.mirrors.len() as i64;
        let encrypted = bit(b.label.encryption.as_ref().is_some_and(|e| !e.by_database));
        row.extend([int(1), int(mirrors), bit(false), bit(b.label.compressed), encrypted]);
        row
    };
    of(cx).iter().map(row).collect()
}

pub(crate) fn restorehistory(cx: &ViewContext<'_>) -> Rows {
    let sets = of(cx);
    let row = |r: &RestoreRow| {
        let set = sets.iter().find(|b| b.label.set == r.set).map_or(NULL, |b| int(b.id));
        let stop = if r.stop == 0 { NULL } else { date(r.stop) };
        let mut row = vec![int(r.id), date(r.at), text(r.database.as_str()), text(r.user.as_str()), set];
        row.extend([
            text(match (r.reverted, r.log, r.differential) {
                (true, ..) => "R",
                (false, true, _) => "L",
                (false, false, true) => "I",
                (false, false, false) => "D",
            }),
            bit(r.replace),
            bit(r.recovery),
            bit(false),
            stop,
            int(1),
            words(r.mark.as_ref()),
            r.mark.as_ref().map_or(NULL, |_| bit(r.before)),
        ]);
        row
    };
    cx.info.master().and_then(|master| restores(&master)).unwrap_or_default().iter().map(row).collect()
}
