//! Indexes that plans lacked ([`crate::engine::MissingIndexes`]).
//!
//! A group has one index, as in the product.

use super::{BIG, Column, DATE, INT, NAME, NULL, SMALL, SystemView, TEXT, ViewContext, date, int, text};
use crate::engine::{Group, Lacked};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const FLOAT: SqlType = SqlType::Float;
const HASH: SqlType = SqlType::Binary(8);
const HANDLE: SqlType = SqlType::VarBinary(Length::Limited(64));

const DETAILS: &[Column] = &[
    ("index_handle", INT),
    ("database_id", SMALL),
    ("object_id", INT),
    ("equality_columns", TEXT),
    ("inequality_columns", TEXT),
    ("included_columns", TEXT),
    ("statement", TEXT),
];

const STATS: &[Column] = &[
    ("group_handle", INT),
    ("unique_compiles", BIG),
    ("user_seeks", BIG),
    ("user_scans", BIG),
    ("last_user_seek", DATE),
    ("last_user_scan", DATE),
    ("avg_total_user_cost", FLOAT),
    ("avg_user_impact", FLOAT),
    ("system_seeks", BIG),
    ("system_scans", BIG),
    ("last_system_seek", DATE),
    ("last_system_scan", DATE),
    ("avg_total_system_cost", FLOAT),
    ("avg_system_impact", FLOAT),
];

const QUERY_STATS: &[Column] = &[
    ("group_handle", INT),
    ("query_hash", HASH),
    ("query_plan_hash", HASH),
    ("last_sql_handle", HANDLE),
    ("last_statement_start_offset", INT),
    ("last_statement_end_offset", INT),
    ("last_statement_sql_handle", HANDLE),
    ("user_seeks", BIG),
    ("user_scans", BIG),
    ("last_user_seek", DATE),
    ("last_user_scan", DATE),
    ("avg_total_user_cost", FLOAT),
    ("avg_user_impact", FLOAT),
    ("system_seeks", BIG),
    ("system_scans", BIG),
    ("last_system_seek", DATE),
    ("last_system_scan", DATE),
    ("avg_total_system_cost", FLOAT),
    ("avg_system_impact", FLOAT),
];

const GROUPS: &[Column] = &[("index_group_handle", INT), ("index_handle", INT)];

const COLUMNS: &[Column] =
    &[("column_id", INT), ("column_name", NAME), ("column_usage", SqlType::VarChar(Length::Limited(20)))];

/// The views.
pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "dm_db_missing_index_details", columns: DETAILS, rows: details },
    SystemView { schema: "sys", name: "dm_db_missing_index_groups", columns: GROUPS, rows: groups },
    SystemView { schema: "sys", name: "dm_db_missing_index_group_stats", columns: STATS, rows: stats },
    SystemView {
        schema: "sys",
        name: "dm_db_missing_index_group_stats_query",
        columns: QUERY_STATS,
        rows: query_stats,
    },
    SystemView { schema: "sys", name: "dm_db_missing_index_columns", columns: COLUMNS, rows: columns },
];

fn details(cx: &ViewContext<'_>) -> Rows {
    let row = |group: &Group| {
        let index = &group.index;
        let table = &index.table;
        let mut row = vec![int(group.handle), int(table.database.0), int(table.object_id)];
        row.extend(index.columns().map(|(_, columns)| {
            let names: Vec<String> = columns.iter().map(|(_, name)| quoted(name)).collect();
            if names.is_empty() { NULL } else { text(names.join(", ")) }
        }));
        // The database may have another name by now.
        let database = cx.engine.database_by_id(table.database);
        let database = database.map_or_else(|| index.database.clone(), |entry| entry.name().to_string());
        let place = [&database, &index.schema, &table.name].map(|name| quoted(name));
        row.push(text(place.join(".")));
        row
    };
    cx.engine.missing_indexes().iter().map(row).collect()
}

/// In brackets.
fn quoted(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn groups(cx: &ViewContext<'_>) -> Rows {
    cx.engine.missing_indexes().iter().map(|g| vec![int(g.handle), int(g.handle)]).collect()
}

/// From `user_seeks` on. An index that was lacked would have been sought in, by users.
fn figures(lacked: &Lacked) -> Vec<Value> {
    let (cost, impact) = lacked.averages();
    let last = if lacked.seeks > 0 { date(lacked.last) } else { NULL };
    let mut row = vec![int(lacked.seeks as i64), int(0), last, NULL];
    row.extend([Value::Float(cost), Value::Float(impact)]);
    row.extend([int(0), int(0), NULL, NULL, Value::Float(0.0), Value::Float(0.0)]);
    row
}

fn stats(cx: &ViewContext<'_>) -> Rows {
    let row = |group: &Group| {
        let mut row = vec![int(group.handle), int(group.compiles as i64)];
        row.extend(figures(&group.lacked));
        row
    };
    cx.engine.missing_indexes().iter().map(row).collect()
}

fn query_stats(cx: &ViewContext<'_>) -> Rows {
    let rows = |group: Group| {
        let handle = int(group.handle);
        group.queries.into_iter().map(move |(hash, query)| {
            let (program, span) = &query.last;
            let (sql, (from, to)) = match program.upgrade() {
                Some(program) => {
                    let [sql, _] = super::plans::handles(&program);
                    (sql, program.offsets(*span))
                }
                None => (NULL, (0, -1)),
            };
            let hashes = [hash, query.plan_hash].map(|hash| Value::bytes(hash.to_be_bytes().to_vec()));
            let mut row = vec![handle.clone()];
            row.extend(hashes);
            row.extend([sql, int(from), int(to), NULL]);
            row.extend(figures(&query.lacked));
            row
        })
    };
    cx.engine.missing_indexes().into_iter().flat_map(rows).collect()
}

/// `dm_db_missing_index_columns (index_handle)`
fn columns(cx: &ViewContext<'_>) -> Rows {
    let Some(Value::Int(handle)) = cx.args.first() else { return Vec::new() };
    let all = cx.engine.missing_indexes();
    let Some(group) = all.iter().find(|g| i64::from(g.handle) == *handle) else { return Vec::new() };
    let of_usage = |(usage, columns): (&'static str, Vec<(i32, &str)>)| -> Rows {
        columns.into_iter().map(|(id, name)| vec![int(id), text(name), text(usage)]).collect()
    };
    group.index.columns().into_iter().flat_map(of_usage).collect()
}
