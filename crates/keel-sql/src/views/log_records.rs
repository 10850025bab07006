//! `fn_dblog(start, end)`: the active part of the current database's log, record by record, under the product's names.
//!
//! The log here is of rows, not of pages: so there are no page numbers, and a record of a row has its key and what was written. A transaction
//! comes into the log when it commits, so its beginning stands right before its rows, and has the time of the commit.

use super::{BIG, Column, INT, NULL, SMALL, SystemView, ViewContext, int, text};
use crate::catalog::{SYSTEM_TREE, object_class};
use crate::errors;
use crate::map::db_error;
use crate::session::log_mark::LogMark;
use hashbrown::{HashMap, HashSet};
use keel_base::{Lsn, TreeId};
use keel_node::log_records::{GroupKind, LoggedChange, LoggedGroup, LoggedRow};
use keel_query::catalog::{Catalog as _, IndexKind};
use keel_types::{Length, SqlType, Value};
use std::ops::ControlFlow;

type Rows = Vec<Vec<Value>>;

const LSN: SqlType = SqlType::NVarChar(Length::Limited(23));
const WORD: SqlType = SqlType::NVarChar(Length::Limited(31));
const ID: SqlType = SqlType::NVarChar(Length::Limited(14));
const TIME: SqlType = SqlType::NVarChar(Length::Limited(24));
const BYTES: SqlType = SqlType::VarBinary(Length::Limited(8000));

/// Rows that are shown at most: the oldest.
const ROWS_MAX: usize = 1_000_000;

#[rustfmt::skip]
const COLUMNS: &[Column] = &[
    ("Current LSN", LSN), ("Operation", WORD), ("Context", WORD), ("Transaction ID", ID), ("LogBlockGeneration", BIG),
    ("Tag Bits", SqlType::Binary(2)), ("Log Record Fixed Length", SMALL), ("Log Record Length", SMALL), ("Previous LSN", LSN),
    ("Flag Bits", SqlType::Binary(2)), ("Log Reserve", INT), ("AllocUnitId", BIG), ("AllocUnitName", SqlType::NVarChar(Length::Limited(387))),
    ("Page ID", ID), ("Slot ID", INT), ("Previous Page LSN", LSN), ("PartitionId", BIG), ("RowFlags", SMALL), ("Num Elements", SMALL),
    ("Offset in Row", SMALL), ("Modify Size", SMALL), ("Checkpoint Begin", TIME), ("Checkpoint End", TIME), ("SPID", INT), ("Begin Time", TIME),
    ("Transaction Name", SqlType::NVarChar(Length::Limited(33))), ("Transaction SID", SqlType::VarBinary(Length::Limited(85))),
    ("Parent Transaction ID", ID), ("Transaction Begin", LSN), ("End Time", TIME), ("Savepoint Name", SqlType::NVarChar(Length::Limited(33))),
    ("Lock Information", SqlType::NVarChar(Length::Limited(256))), ("RowLog Contents 0", BYTES), ("RowLog Contents 1", BYTES), ("RowLog Contents 2", BYTES),
    ("RowLog Contents 3", BYTES), ("RowLog Contents 4", BYTES), ("RowLog Contents 5", BYTES), ("Log Record", BYTES),
    ("Description", SqlType::NVarChar(Length::Limited(256))),
];

pub(super) static VIEWS: &[SystemView] = &[super::view("fn_dblog", COLUMNS, records)];

/// The tree of an index by the name and context that its records have.
struct Place {
    name: String,
    context: &'static str,
}

/// The trees of the database that somebody can see.
fn places(cx: &ViewContext<'_>) -> HashMap<TreeId, Place> {
    let catalog = Place { name: "sys.sysrscols.clst".to_owned(), context: "LCX_CLUSTERED" };
    let mut places = HashMap::from([(SYSTEM_TREE, catalog)]);
    for t in cx.picture.stored() {
        let schema = cx.picture.schema_name(t.schema_id).unwrap_or_default();
        for i in &t.indexes {
            let part = if i.name.is_empty() { String::new() } else { format!(".{}", i.name) };
            let context = match i.kind {
                IndexKind::Heap => "LCX_HEAP",
                IndexKind::Clustered => "LCX_CLUSTERED",
                IndexKind::Nonclustered => "LCX_INDEX_LEAF",
            };
            places.insert(i.tree, Place { name: format!("{schema}.{}{part}", t.name), context });
        }
    }
    places
}

/// Whether it is a definition that is written, and no number that is counted on.
fn is_definition(row: &LoggedRow) -> bool {
    const COUNTED: [u8; 3] = [object_class::COUNTER, object_class::SEQUENCE_VALUE, object_class::LOG_MARK];
    row.tree == SYSTEM_TREE && row.key.first().is_some_and(|class| !COUNTED.contains(class))
}

/// What one group of the log becomes.
struct Shown<'a> {
    places: &'a HashMap<TreeId, Place>,
    group: &'a LoggedGroup,
    transaction: String,
}

fn lsn_text(lsn: Lsn) -> String {
    let n = lsn.0;
    format!("{:08x}:{:08x}:{:04x}", n >> 36, (n >> 9) & 0x7ff_ffff, n & 0x1ff)
}

fn time_text(micros: i64) -> Value {
    let at = Value::DateTime(crate::clock::unix_to_local_ticks(i128::from(micros) * 1000));
    keel_types::cast::to_text(&at, SqlType::DateTime, 121)
        .map_or(NULL, |at| text(at.replace('-', "/").replacen('.', ":", 1)))
}

fn set(row: &mut [Value], column: &str, value: Value) {
    if let Some(at) = COLUMNS.iter().position(|c| c.0 == column) {
        row[at] = value;
    }
}

impl Shown<'_> {
    fn record(&self, lsn: Lsn, operation: &str, context: &str, bytes: u64) -> Vec<Value> {
        let mut row = vec![NULL; COLUMNS.len()];
        let length = |n: u64| int(i64::try_from(n).unwrap_or(i64::MAX).min(i64::from(i16::MAX)));
        set(&mut row, "Current LSN", text(lsn_text(lsn)));
        set(&mut row, "Operation", text(operation));
        set(&mut row, "Context", text(context));
        set(&mut row, "Transaction ID", text(self.transaction.as_str()));
        set(&mut row, "Log Record Length", length(bytes));
        row
    }

    /// What it is called: only a mark says how its session called it.
    fn name(&self) -> String {
        let rows = &self.group.rows;
        if let Some(mark) = rows
            .iter()
            .filter(|row| row.change == LoggedChange::Put)
            .find_map(|row| LogMark::of(row.tree, &row.key, &row.body))
        {
            return mark.name;
        }
        let defines = |change| rows.iter().any(|row| row.change == change && is_definition(row));
        let name = if defines(LoggedChange::Delete) {
            "DROPOBJ"
        } else if defines(LoggedChange::Put) {
            "DDL"
        } else {
            "user_transaction"
        };
        name.to_owned()
    }

    fn begin(&self) -> Vec<Value> {
        let mut row = self.record(self.group.lsn, "LOP_BEGIN_XACT", "LCX_NULL", 32);
        if self.group.time_micros != 0 {
            set(&mut row, "Begin Time", time_text(self.group.time_micros));
        }
        set(&mut row, "Transaction Name", text(self.name()));
        row
    }

    /// What ends a transaction stands in the last byte of its group.
    fn end(&self, operation: &str) -> Vec<Value> {
        let mut row = self.record(Lsn(self.group.end.0 - 1), operation, "LCX_NULL", 32);
        if self.group.time_micros != 0 {
            set(&mut row, "End Time", time_text(self.group.time_micros));
        }
        row
    }

    fn row(&self, logged: &LoggedRow) -> Vec<Value> {
        let operation = match logged.change {
            LoggedChange::Put => "LOP_INSERT_ROWS",
            LoggedChange::Patch => "LOP_MODIFY_ROW",
            LoggedChange::Delete => "LOP_DELETE_ROWS",
            LoggedChange::DropTree => "LOP_HOBT_DDL",
        };
        let place = self.places.get(&logged.tree);
        let mut row =
            self.record(logged.lsn, operation, place.map_or("LCX_NULL", |p| p.context), logged.bytes);
        let contents = |bytes: &[u8]| Value::bytes(bytes[..bytes.len().min(8000)].to_vec());
        set(&mut row, "AllocUnitId", int(logged.tree.0));
        set(&mut row, "PartitionId", int(logged.tree.0));
        set(&mut row, "AllocUnitName", place.map_or(NULL, |p| text(p.name.as_str())));
        set(&mut row, "Num Elements", int(2));
        set(&mut row, "RowLog Contents 0", contents(&logged.body));
        set(&mut row, "RowLog Contents 1", contents(&logged.key));
        row
    }

    fn rows(&self, into: &mut Rows) {
        let group = self.group;
        let one = |operation| self.record(group.lsn, operation, "LCX_NULL", 32);
        match group.kind {
            GroupKind::Whole => into.push(self.begin()),
            GroupKind::Rollback => into.push(one("LOP_MARK_SAVEPOINT")),
            GroupKind::Note => into.push(one("LOP_NULL")),
            _ => {}
        }
        into.extend(group.rows.iter().map(|logged| self.row(logged)));
        match group.kind {
            GroupKind::Whole | GroupKind::Commit => into.push(self.end("LOP_COMMIT_XACT")),
            GroupKind::Abort => into.push(self.end("LOP_ABORT_XACT")),
            GroupKind::Prepare => into.push(self.end("LOP_PREP_XACT")),
            _ => {}
        }
    }
}

/// The bounds that the arguments say, as texts that compare as positions do.
fn bounds(cx: &ViewContext<'_>) -> [Option<String>; 2] {
    [0, 1].map(|at| {
        let given = cx.args.get(at).and_then(Value::as_str)?;
        let given = given.strip_prefix("0x").unwrap_or(given);
        Some(given.to_ascii_lowercase())
    })
}

/// Who owns the database may read its log.
fn records(cx: &ViewContext<'_>) -> Rows {
    let owns = cx.info.token_in(&cx.entry).is_some_and(|token| token.owner);
    if !owns && !cx.info.may_on_server("VIEW SERVER STATE") {
        cx.fail(errors::server_permission_denied("VIEW SERVER STATE"));
        return Vec::new();
    }
    let (places, [from, to]) = (places(cx), bounds(cx));
    let mut rows = Rows::new();
    let mut begun = HashSet::new();
    let read = cx.entry.store.read_log(&mut |group| {
        let number = if group.stream == 0 { group.lsn.0 } else { group.stream };
        let transaction = format!("{:04x}:{:08x}", (number >> 32) & 0xffff, number & 0xffff_ffff);
        let shown = Shown { places: &places, group: &group, transaction };
        if group.stream != 0 && begun.insert(group.stream) {
            rows.push(shown.begin());
        }
        shown.rows(&mut rows);
        if rows.len() < ROWS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if let Err(e) = read {
        cx.fail(db_error(e, &cx.entry.name()));
    }
    let at = |row: &[Value]| row[0].as_str().unwrap_or_default().to_owned();
    rows.retain(|row| {
        from.as_ref().is_none_or(|from| *from <= at(row)) && to.as_ref().is_none_or(|to| at(row) <= *to)
    });
    rows
}
