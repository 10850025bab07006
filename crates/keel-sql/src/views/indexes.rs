//! Indexes and their statistics.

use super::columns::{stored, type_tables};
use super::{
    BIG, BIT, Column, DESC, INT, NAME, NULL, SMALL, SystemView, TEXT, TINY, ViewContext, bit, int, text,
};
use keel_query::catalog::{ColumnstoreDef, IndexDef, IndexKind, TableDef};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

const INDEX: &[Column] = &[
    ("object_id", INT),
    ("name", NAME),
    ("index_id", INT),
    ("type", TINY),
    ("type_desc", DESC),
    ("is_unique", BIT),
    ("data_space_id", INT),
    ("ignore_dup_key", BIT),
    ("is_primary_key", BIT),
    ("is_unique_constraint", BIT),
    ("fill_factor", TINY),
    ("is_padded", BIT),
    ("is_disabled", BIT),
    ("is_hypothetical", BIT),
    ("is_ignored_in_optimization", BIT),
    ("allow_row_locks", BIT),
    ("allow_page_locks", BIT),
    ("has_filter", BIT),
    ("filter_definition", TEXT),
    ("compression_delay", INT),
    ("suppress_dup_key_messages", BIT),
    ("auto_created", BIT),
    ("optimize_for_sequential_key", BIT),
];

const OLD_INDEX: &[Column] = &[
    ("id", INT),
    ("status", INT),
    ("indid", SMALL),
    ("dpages", INT),
    ("reserved", INT),
    ("used", INT),
    ("rowcnt", BIG),
    ("rows", INT),
    ("name", NAME),
    ("keycnt", SMALL),
];

const STATS: &[Column] = &[
    ("object_id", INT),
    ("name", NAME),
    ("stats_id", INT),
    ("auto_created", BIT),
    ("user_created", BIT),
    ("no_recompute", BIT),
    ("has_filter", BIT),
    ("filter_definition", TEXT),
    ("is_temporary", BIT),
    ("is_incremental", BIT),
    ("has_persisted_sample", BIT),
    ("stats_generation_method", INT),
    ("stats_generation_method_desc", SqlType::VarChar(Length::Limited(80))),
    ("auto_drop", BIT),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "indexes", columns: INDEX, rows: indexes },
    SystemView {
        schema: "sys",
        name: "index_columns",
        columns: &[
            ("object_id", INT),
            ("index_id", INT),
            ("index_column_id", INT),
            ("column_id", INT),
            ("key_ordinal", TINY),
            ("partition_ordinal", TINY),
            ("is_descending_key", BIT),
            ("is_included_column", BIT),
            ("column_store_order_ordinal", TINY),
        ],
        rows: index_columns,
    },
    SystemView { schema: "sys", name: "stats", columns: STATS, rows: stats },
    SystemView {
        schema: "sys",
        name: "stats_columns",
        columns: &[("object_id", INT), ("stats_id", INT), ("stats_column_id", INT), ("column_id", INT)],
        rows: stats_columns,
    },
    SystemView { schema: "sys", name: "sysindexes", columns: OLD_INDEX, rows: old_indexes },
];

/// `type` and `type_desc` of an index.
fn kind(i: &IndexDef) -> (i64, &'static str) {
    match i.hypothetical.unwrap_or(i.kind) {
        IndexKind::Heap => (0, "HEAP"),
        IndexKind::Clustered => (1, "CLUSTERED"),
        IndexKind::Nonclustered => (2, "NONCLUSTERED"),
    }
}

fn indexes(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in stored(cx).into_iter().chain(type_tables(cx)) {
        for i in &t.indexes {
            let (number, name) = kind(i);
            rows.push(vec![
                int(t.object_id),
                if i.name.is_empty() { NULL } else { text(i.name.as_str()) },
                int(i.index_id),
                int(number),
                text(name),
                bit(i.unique),
                int(i.partitioned.map_or(1, |p| p.scheme)),
                bit(i.ignore_dup_key),
                bit(i.is_primary_key),
                bit(i.is_unique_constraint),
                int(i.fill_factor),
                bit(i.pages.padded),
                bit(i.disabled && i.hypothetical.is_none()),
                bit(i.hypothetical.is_some()),
                bit(false),
                bit(!i.pages.no_row_locks),
                bit(!i.pages.no_page_locks),
                bit(i.filter.is_some()),
                i.filter.as_deref().map_or(NULL, text),
                NULL,
                bit(false),
                bit(false),
                bit(i.pages.sequential_key),
            ]);
        }
        rows.extend(t.columnstores.iter().map(|c| columnstore_row(&t, c)));
        rows.extend(t.content_indexes.iter().map(|i| {
            let mut row = super::content_indexes::head(&t, i);
            row.extend([bit(false), NULL, NULL, bit(false), bit(false), bit(false)]);
            row
        }));
    }
    rows
}

/// A columnstore index: type 5 or 6, whatever the rows are really kept in.
fn columnstore_row(t: &TableDef, c: &ColumnstoreDef) -> Vec<Value> {
    let (number, name) =
        if c.clustered { (5, "CLUSTERED COLUMNSTORE") } else { (6, "NONCLUSTERED COLUMNSTORE") };
    let mut row = vec![int(t.object_id), text(c.name.as_str()), int(c.index_id), int(number), text(name)];
    let space = t.clustered().partitioned.filter(|_| c.clustered).map_or(1, |p| p.scheme);
    row.extend([bit(false), int(space), bit(false), bit(false), bit(false), int(0), bit(false), bit(false)]);
    row.extend([bit(false), bit(false), bit(true), bit(true), bit(c.filter.is_some())]);
    row.extend([c.filter.as_deref().map_or(NULL, text), int(0), bit(false), bit(false), bit(false)]);
    row
}

fn index_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in stored(cx).into_iter().chain(type_tables(cx)) {
        for i in &t.indexes {
            let keys =
                i.key.iter().enumerate().map(|(n, k)| (k.column_id, n as i64 + 1, k.descending, false));
            let included = i.included.iter().map(|id| (*id, 0, false, true));
            let by = i.partitioned.map(|p| p.column);
            // The partitioning column belongs to the index, in its key or not.
            let listed = |id| i.key.iter().any(|k| k.column_id == id) || i.included.contains(&id);
            let besides = by.filter(|id| !listed(*id)).map(|id| (id, 0, false, false));
            for (n, (column, ordinal, descending, included)) in
                keys.chain(included).chain(besides).enumerate()
            {
                rows.push(vec![
                    int(t.object_id),
                    int(i.index_id),
                    int(n as i64 + 1),
                    int(column),
                    int(ordinal),
                    int(i32::from(by == Some(column))),
                    bit(descending),
                    bit(included),
                    int(0),
                ]);
            }
        }
        for i in &t.content_indexes {
            let mut row = vec![int(t.object_id), int(i.index_id), int(1), int(i.column), int(1), int(0)];
            row.extend([bit(false), bit(false), int(0)]);
            rows.push(row);
        }
        for c in &t.columnstores {
            // Numbered as the index names them; a clustered one has those of the table.
            let all = t.columns.iter().map(|c| c.column_id).filter(|_| c.clustered);
            for (n, column) in all.chain(c.columns.iter().copied()).enumerate() {
                let mut row = vec![int(t.object_id), int(c.index_id), int(n as i64 + 1), int(column), int(0)];
                row.extend([int(0), bit(false), bit(true), int(0)]);
                rows.push(row);
            }
        }
    }
    rows
}

fn stats(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in stored(cx) {
        for i in t.indexes.iter().filter(|i| i.kind != IndexKind::Heap) {
            let mut row = vec![int(t.object_id), text(i.name.as_str()), int(i.index_id)];
            let frozen = i.pages.no_recompute || t.no_auto_statistics;
            row.extend([bit(false), bit(false), bit(frozen), bit(false), NULL]);
            row.extend([bit(false), bit(false)]);
            row.extend(sorted_statistics());
            rows.push(row);
        }
        for s in &t.statistics {
            let mut row = vec![int(t.object_id), text(s.name.as_str()), int(s.stats_id)];
            let frozen = s.no_recompute || t.no_auto_statistics;
            row.extend([bit(false), bit(true), bit(frozen), bit(s.filter.is_some())]);
            row.extend([s.filter.as_deref().map_or(NULL, text), bit(false), bit(false)]);
            row.extend(sorted_statistics());
            rows.push(row);
        }
    }
    rows
}

/// How statistics are made, and that they stay when the schema changes.
fn sorted_statistics() -> [Value; 4] {
    [bit(false), int(0), text("Sort based statistics"), bit(false)]
}

fn stats_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in stored(cx) {
        for i in t.indexes.iter().filter(|i| i.kind != IndexKind::Heap) {
            for (n, k) in i.key.iter().enumerate() {
                rows.push(vec![int(t.object_id), int(i.index_id), int(n as i64 + 1), int(k.column_id)]);
            }
        }
        for s in &t.statistics {
            for (n, column) in s.columns.iter().enumerate() {
                rows.push(vec![int(t.object_id), int(s.stats_id), int(n as i64 + 1), int(*column)]);
            }
        }
    }
    rows
}

fn old_indexes(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in stored(cx) {
        let count = cx.row_count(&t);
        for i in &t.indexes {
            let name = if i.name.is_empty() { NULL } else { text(i.name.as_str()) };
            let status = i64::from(i.unique) * 2 + i64::from(i.is_primary_key) * 2048;
            rows.push(vec![
                int(t.object_id),
                int(status),
                int(i.index_id),
                int(count / 100 + 1),
                int(count / 100 + 1),
                int(count / 100 + 1),
                int(count),
                int(count),
                name,
                int(i.key.len() as i64),
            ]);
        }
    }
    rows
}
