//! Reading a database's log for people: what `fn_dblog` shows.
//!
//! From where a recovery would begin to what is hardened, in order: group by group, each with its rows. What came before is in the data
//! file, and may be gone.

use crate::database::Database;
use crate::error::DbError;
use keel_base::{Lsn, TreeId};
use keel_log::LogError;
use keel_redo::{Change, Group, LogSource, RedoError, RowRecord, Source as _};
use std::ops::ControlFlow;

pub use keel_redo::GroupKind;

/// Bytes of a group's header, behind which its first row begins.
const GROUP_HEADER_BYTES: u64 = keel_redo::record::GROUP_HEADER_BYTES as u64;

/// What happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoggedChange {
    /// It was written whole.
    Put,
    /// Some of its columns were.
    Patch,
    /// It went.
    Delete,
    /// Its whole tree went.
    DropTree,
}

/// A row record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedRow {
    /// Where it begins.
    pub lsn: Lsn,
    /// Its index.
    pub tree: TreeId,
    /// What happened to the row.
    pub change: LoggedChange,
    /// The row's key.
    pub key: Vec<u8>,
    /// The row, or the columns that changed.
    pub body: Vec<u8>,
    /// Bytes of the record.
    pub bytes: u64,
}

/// What was appended at once: a transaction, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedGroup {
    /// Where it begins.
    pub lsn: Lsn,
    /// Position behind it. Of one that commits: the commit's.
    pub end: Lsn,
    /// What it is.
    pub kind: GroupKind,
    /// The transaction that it is a part of, 0 for a whole one.
    pub stream: u64,
    /// When it was committed or prepared, microseconds since 1970 UTC; 0 of others.
    pub time_micros: i64,
    /// Its rows.
    pub rows: Vec<LoggedRow>,
}

impl LoggedGroup {
    fn of(lsn: Lsn, group: &Group<'_>) -> Option<LoggedGroup> {
        let mut at = lsn.advance(GROUP_HEADER_BYTES);
        let mut rows = Vec::new();
        let walked = group.for_each_of(0, 1, |_, record| {
            let row = LoggedRow::of(at, &record);
            at = at.advance(row.bytes);
            rows.push(row);
            Ok::<(), ()>(())
        });
        walked?.ok()?;
        let timed = matches!(group.kind, GroupKind::Whole | GroupKind::Commit | GroupKind::Prepare);
        Some(LoggedGroup {
            lsn,
            end: lsn.advance(group.bytes.len() as u64),
            kind: group.kind,
            stream: group.stream,
            time_micros: if timed { group.argument } else { 0 },
            rows,
        })
    }
}

impl LoggedRow {
    fn of(lsn: Lsn, record: &RowRecord<'_>) -> LoggedRow {
        let (change, body) = match record.change {
            Change::Put(body) => (LoggedChange::Put, body),
            Change::Patch(body) => (LoggedChange::Patch, body),
            Change::Delete => (LoggedChange::Delete, &[][..]),
            Change::DropTree => (LoggedChange::DropTree, &[][..]),
        };
        let bytes = keel_redo::record::ROW_HEADER_BYTES + record.key.len() + body.len();
        LoggedRow {
            lsn,
            tree: record.tree,
            change,
            key: record.key.to_vec(),
            body: body.to_vec(),
            bytes: bytes as u64,
        }
    }
}

impl Database {
    /// Shows what the log has since where a recovery would begin, until `each` has enough. A volatile database has none.
    ///
    /// # Errors
    /// When the log cannot be read, or is damaged.
    pub fn read_log(&self, each: &mut dyn FnMut(LoggedGroup) -> ControlFlow<()>) -> Result<(), DbError> {
        let Some(log) = self.log() else { return Ok(()) };
        let mut source = match LogSource::new(log, self.positions().redo_start) {
            Err(LogError::Truncated { .. }) => return Ok(()),
            source => source?,
        };
        loop {
            let chunk = match source.next() {
                // A checkpoint has made the rest superfluous meanwhile.
                Err(RedoError::Log(LogError::Truncated { .. })) | Ok(None) => return Ok(()),
                Err(e) => return Err(e.into()),
                Ok(Some(chunk)) => chunk,
            };
            let mut at = 0;
            while at < chunk.bytes.len() {
                let lsn = chunk.first_lsn.advance(at as u64);
                let damaged = || DbError::Corrupt(format!("no valid record at log position {lsn}").into());
                let group = Group::decode(&chunk.bytes[at..]).ok_or_else(damaged)?;
                at += group.bytes.len();
                if each(LoggedGroup::of(lsn, &group).ok_or_else(damaged)?).is_break() {
                    return Ok(());
                }
            }
        }
    }
}
