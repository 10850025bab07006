//! Change tracking: what is on, and which versions there are.

use super::{BIG, BIT, Column, DATE, DESC, INT, NULL, SystemView, TINY, ViewContext, bit, date, int, text};
use crate::catalog::{ChangeRetention, SecurableRef};
use crate::engine::{DatabaseEntry, Engine};
use crate::map::txn_error;
use crate::session::info::Info;
use keel_base::DatabaseId;
use keel_node::{Isolation, ReadView, TxnError};
use keel_query::ExecCtx;
use keel_query::catalog::Catalog as _;
use keel_query::changes::Versions;
use keel_query::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_types::Value;
use keel_types::error::Result;
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const DATABASES: &[Column] = &[
    ("database_id", INT),
    ("is_auto_cleanup_on", BIT),
    ("retention_period", INT),
    ("retention_period_units", TINY),
    ("retention_period_units_desc", DESC),
    ("max_cleanup_version", BIG),
];

const TABLES: &[Column] = &[
    ("object_id", INT),
    ("is_track_columns_updated_on", BIT),
    ("min_valid_version", BIG),
    ("begin_version", BIG),
    ("cleanup_version", BIG),
];

const COMMITS: &[Column] =
    &[("commit_ts", BIG), ("xdes_id", BIG), ("commit_lbn", BIG), ("commit_csn", BIG), ("commit_time", DATE)];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "change_tracking_databases", columns: DATABASES, rows: databases },
    SystemView { schema: "sys", name: "change_tracking_tables", columns: TABLES, rows: tables },
    SystemView { schema: "sys", name: "dm_tran_commit_table", columns: COMMITS, rows: commits },
];

fn number(n: u64) -> Value {
    Value::Int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Reads versions of a database as they stand; `None` where there are none. When they cannot be read, the query fails.
fn read<T>(
    cx: &ViewContext<'_>,
    entry: &DatabaseEntry,
    read: impl FnOnce(&Versions<'_>) -> std::result::Result<T, TxnError>,
) -> Option<T> {
    let trees = entry.picture().settings().change_trees?;
    let mut txn = entry.store.begin(Isolation::ReadCommitted);
    let versions = Versions::new(&mut txn, trees);
    match versions.settle().and_then(|()| read(&versions)) {
        Ok(read) => Some(read),
        Err(e) => {
            cx.fail(txn_error(e, &entry.name(), 0));
            None
        }
    }
}

fn databases(cx: &ViewContext<'_>) -> Rows {
    let row = |entry: &Arc<DatabaseEntry>| {
        let ChangeRetention { count, unit, auto_cleanup } = entry.picture().settings().change_tracking?;
        let unit_name = ChangeRetention::UNITS[usize::from(unit.clamp(1, 3)) - 1];
        let mut row = vec![int(entry.id.0), bit(auto_cleanup), int(count), int(unit), text(unit_name)];
        row.push(read(cx, entry, |versions| versions.cleaned()).map_or(NULL, number));
        Some(row)
    };
    cx.engine.databases().iter().filter_map(row).collect()
}

fn tables(cx: &ViewContext<'_>) -> Rows {
    let tracked: Vec<_> = cx.picture.tables().filter(|t| t.change_tracking.is_some()).collect();
    let mut rows = Vec::new();
    for table in tracked {
        let Some(tracking) = &table.change_tracking else { continue };
        let numbers = read(cx, &cx.entry, |versions| {
            let restarted = match tracking.restarted_by {
                Some(transaction) => versions.of(transaction)?.unwrap_or(0),
                None => 0,
            };
            let begin = tracking.begin.max(restarted);
            Ok([versions.least_valid(tracking)?, begin, versions.cleaned()?])
        });
        let mut row = vec![int(table.object_id), bit(tracking.columns)];
        row.extend(numbers.map_or([NULL, NULL, NULL], |numbers| numbers.map(number)));
        rows.push(row);
    }
    rows
}

/// A version for each transaction that changed a tracked table; those that were cleaned up are gone.
fn commits(cx: &ViewContext<'_>) -> Rows {
    let all = read(cx, &cx.entry, |versions| versions.after(0, usize::MAX)).unwrap_or_default();
    let row = |v: keel_query::changes::Version| {
        vec![number(v.number), number(v.transaction), int(0), number(v.number), date(v.at)]
    };
    all.into_iter().map(row).collect()
}

/// The function behind CHANGE_TRACKING_CURRENT_VERSION and CHANGE_TRACKING_MIN_VALID_VERSION, as a table of a database.
#[must_use]
pub(crate) fn change_versions(engine: &Arc<Engine>, database: DatabaseId) -> Arc<dyn VirtualTable> {
    let columns = ["current_version", "min_valid_version"].map(|name| VirtualColumn::new(name, BIG));
    Arc::new(CurrentVersions { engine: Arc::clone(engine), database, columns })
}

struct CurrentVersions {
    engine: Arc<Engine>,
    database: DatabaseId,
    columns: [VirtualColumn; 2],
}

impl VirtualTable for CurrentVersions {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn row_count_estimate(&self) -> u64 {
        1
    }

    fn reads(&self) -> Option<DatabaseId> {
        Some(self.database)
    }

    fn open(&self, ctx: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let view = ctx.txns.transaction(self.database)?.view_as(Isolation::ReadCommitted);
        self.open_at(ctx, args, view)
    }

    /// One row, as the statement sees it. The argument is a table's id or NULL.
    fn open_at(&self, ctx: &mut ExecCtx<'_>, args: &[Value], view: ReadView) -> Result<RowSource> {
        let info = Info::of(ctx.session);
        let mut row = vec![NULL, NULL];
        if let Some(entry) = self.engine.database_by_id(self.database) {
            let picture = info.picture(&entry);
            let trees =
                picture.settings().change_trees.filter(|_| picture.settings().change_tracking.is_some());
            let table = match args.first() {
                Some(Value::Int(id)) => i32::try_from(*id).ok().and_then(|id| picture.table_by_id(id)),
                _ => None,
            };
            let visible = |id: i32| info.may(&entry, "VIEW CHANGE TRACKING", SecurableRef::Object(id));
            let table = table.filter(|t| visible(t.object_id));
            if let Some(trees) = trees {
                let session = info.shared.id;
                let versions = Versions::at(ctx.txns.transaction(self.database)?, view, trees);
                let failed = |e| txn_error(e, &entry.name(), session);
                versions.settle().map_err(failed)?;
                row[0] = number(versions.current().map_err(failed)?);
                if let Some(tracking) = table.as_ref().and_then(|t| t.change_tracking.as_ref()) {
                    row[1] = number(versions.least_valid(tracking).map_err(failed)?);
                }
            }
        }
        Ok(Box::new(std::iter::once(Ok(row))))
    }
}
