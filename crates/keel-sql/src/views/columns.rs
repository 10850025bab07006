//! Columns, types, indexes and constraints.

use super::{
    BIG, BIT, Column, DATE, DESC, INT, KIND, NAME, NULL, SMALL, SystemView, TEXT, TINY, VARIANT, ViewContext,
    bit, date, facts, int, text,
};
use crate::engine::TEMPDB;
use keel_query::catalog::{
    Catalog as _, ColumnDef, ColumnstoreDef, ForeignKeyDef, IndexDef, IndexKind, ReferentialAction, TableDef,
};
use keel_types::{SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const COLUMN: &[Column] = &[
    ("object_id", INT),
    ("name", NAME),
    ("column_id", INT),
    ("system_type_id", TINY),
    ("user_type_id", INT),
    ("max_length", SMALL),
    ("precision", TINY),
    ("scale", TINY),
    ("collation_name", NAME),
    ("is_nullable", BIT),
    ("is_ansi_padded", BIT),
    ("is_rowguidcol", BIT),
    ("is_identity", BIT),
    ("is_computed", BIT),
    ("is_filestream", BIT),
    ("is_replicated", BIT),
    ("is_non_sql_subscribed", BIT),
    ("is_merge_published", BIT),
    ("is_dts_replicated", BIT),
    ("is_xml_document", BIT),
    ("xml_collection_id", INT),
    ("default_object_id", INT),
    ("rule_object_id", INT),
    ("is_sparse", BIT),
    ("is_column_set", BIT),
    ("generated_always_type", TINY),
    ("generated_always_type_desc", DESC),
    ("encryption_type", INT),
    ("encryption_type_desc", DESC),
    ("encryption_algorithm_name", NAME),
    ("column_encryption_key_id", INT),
    ("column_encryption_key_database_name", NAME),
    ("is_hidden", BIT),
    ("is_masked", BIT),
    ("graph_type", INT),
    ("graph_type_desc", DESC),
];

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

const CONSTRAINT: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_published", BIT),
    ("is_schema_published", BIT),
    ("parent_column_id", INT),
    ("definition", TEXT),
    ("is_system_named", BIT),
    ("is_disabled", BIT),
    ("is_not_trusted", BIT),
    ("is_not_for_replication", BIT),
    ("uses_database_collation", BIT),
];

const KEY_CONSTRAINT: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_published", BIT),
    ("is_schema_published", BIT),
    ("unique_index_id", INT),
    ("is_system_named", BIT),
    ("is_enforced", BIT),
];

const FOREIGN_KEY: &[Column] = &[
    ("name", NAME),
    ("object_id", INT),
    ("principal_id", INT),
    ("schema_id", INT),
    ("parent_object_id", INT),
    ("type", KIND),
    ("type_desc", DESC),
    ("create_date", DATE),
    ("modify_date", DATE),
    ("is_ms_shipped", BIT),
    ("is_published", BIT),
    ("is_schema_published", BIT),
    ("referenced_object_id", INT),
    ("key_index_id", INT),
    ("is_disabled", BIT),
    ("is_not_for_replication", BIT),
    ("is_not_trusted", BIT),
    ("delete_referential_action", TINY),
    ("delete_referential_action_desc", DESC),
    ("update_referential_action", TINY),
    ("update_referential_action_desc", DESC),
    ("is_system_named", BIT),
];

const TYPE: &[Column] = &[
    ("name", NAME),
    ("system_type_id", TINY),
    ("user_type_id", INT),
    ("schema_id", INT),
    ("principal_id", INT),
    ("max_length", SMALL),
    ("precision", TINY),
    ("scale", TINY),
    ("collation_name", NAME),
    ("is_nullable", BIT),
    ("is_user_defined", BIT),
    ("is_assembly_type", BIT),
    ("default_object_id", INT),
    ("rule_object_id", INT),
    ("is_table_type", BIT),
];

const OLD_TYPE: &[Column] = &[
    ("name", NAME),
    ("xtype", TINY),
    ("status", TINY),
    ("xusertype", SMALL),
    ("length", SMALL),
    ("xprec", TINY),
    ("xscale", TINY),
    ("tdefault", INT),
    ("domain", INT),
    ("uid", SMALL),
    ("usertype", SMALL),
    ("variable", BIT),
    ("allownulls", BIT),
    ("type", TINY),
    ("prec", SMALL),
    ("scale", TINY),
    ("collation", NAME),
];

const IDENTITY: &[Column] = &[
    ("object_id", INT),
    ("name", NAME),
    ("column_id", INT),
    ("system_type_id", TINY),
    ("user_type_id", INT),
    ("is_nullable", BIT),
    ("is_identity", BIT),
    ("seed_value", VARIANT),
    ("increment_value", VARIANT),
    ("last_value", VARIANT),
    ("is_not_for_replication", BIT),
];

const COMPUTED: &[Column] = &[
    ("object_id", INT),
    ("name", NAME),
    ("column_id", INT),
    ("system_type_id", TINY),
    ("user_type_id", INT),
    ("is_nullable", BIT),
    ("is_computed", BIT),
    ("definition", TEXT),
    ("uses_database_collation", BIT),
    ("is_persisted", BIT),
];

const PARTITION: &[Column] = &[
    ("partition_id", BIG),
    ("object_id", INT),
    ("index_id", INT),
    ("partition_number", INT),
    ("hobt_id", BIG),
    ("rows", BIG),
    ("filestream_filegroup_id", SMALL),
    ("data_compression", TINY),
    ("data_compression_desc", DESC),
    ("xml_compression", BIT),
    ("xml_compression_desc", DESC),
];

const OLD_COLUMN: &[Column] = &[
    ("name", NAME),
    ("id", INT),
    ("xtype", TINY),
    ("typestat", TINY),
    ("xusertype", SMALL),
    ("length", SMALL),
    ("xprec", TINY),
    ("xscale", TINY),
    ("colid", SMALL),
    ("xoffset", SMALL),
    ("bitpos", TINY),
    ("reserved", TINY),
    ("colstat", SMALL),
    ("cdefault", INT),
    ("domain", INT),
    ("number", SMALL),
    ("colorder", SMALL),
    ("offset", SMALL),
    ("collationid", INT),
    ("status", TINY),
    ("type", TINY),
    ("usertype", SMALL),
    ("prec", SMALL),
    ("scale", INT),
    ("iscomputed", INT),
    ("isoutparam", INT),
    ("isnullable", INT),
    ("collation", NAME),
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
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "columns", columns: COLUMN, rows: columns },
    SystemView { schema: "sys", name: "all_columns", columns: COLUMN, rows: all_columns },
    SystemView { schema: "sys", name: "types", columns: TYPE, rows: types },
    SystemView { schema: "sys", name: "table_types", columns: TYPE, rows: table_types },
    SystemView { schema: "sys", name: "systypes", columns: OLD_TYPE, rows: old_types },
    SystemView { schema: "sys", name: "identity_columns", columns: IDENTITY, rows: identity_columns },
    SystemView { schema: "sys", name: "computed_columns", columns: COMPUTED, rows: computed_columns },
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
    SystemView { schema: "sys", name: "partitions", columns: PARTITION, rows: partitions },
    SystemView { schema: "sys", name: "key_constraints", columns: KEY_CONSTRAINT, rows: key_constraints },
    SystemView { schema: "sys", name: "default_constraints", columns: CONSTRAINT, rows: default_constraints },
    SystemView { schema: "sys", name: "check_constraints", columns: CONSTRAINT, rows: check_constraints },
    SystemView { schema: "sys", name: "foreign_keys", columns: FOREIGN_KEY, rows: foreign_keys },
    SystemView {
        schema: "sys",
        name: "foreign_key_columns",
        columns: &[
            ("constraint_object_id", INT),
            ("constraint_column_id", INT),
            ("parent_object_id", INT),
            ("parent_column_id", INT),
            ("referenced_object_id", INT),
            ("referenced_column_id", INT),
        ],
        rows: foreign_key_columns,
    },
    SystemView { schema: "sys", name: "syscolumns", columns: OLD_COLUMN, rows: old_columns },
    SystemView { schema: "sys", name: "sysindexes", columns: OLD_INDEX, rows: old_indexes },
];

/// The tables a view of the database shows: the reader's temporary ones too, in tempdb.
pub(super) fn tables(cx: &ViewContext<'_>) -> Vec<Arc<TableDef>> {
    let mut tables: Vec<_> = cx.picture.tables().cloned().collect();
    if cx.entry.id == TEMPDB {
        tables.extend(cx.info.temp.borrow().iter().map(|t| Arc::clone(&t.table)));
    }
    tables
}

pub(super) fn collation(c: &ColumnDef) -> Value {
    if facts(c.ty).is_text { text(c.collation.name()) } else { NULL }
}

fn column_row(id: i32, c: &ColumnDef) -> Vec<Value> {
    let f = facts(c.ty);
    let mut row = vec![
        int(id),
        text(c.name.as_str()),
        int(c.column_id),
        int(f.system_type_id),
        int(f.user_type_id),
        int(f.max_length),
        int(f.precision),
        int(f.scale),
        collation(c),
        bit(c.nullable),
        bit(true),
        bit(false),
        bit(c.identity.is_some()),
        bit(c.computed.is_some()),
    ];
    row.extend(std::iter::repeat_n(bit(false), 6));
    row.extend([int(0), int(c.default.as_ref().map_or(0, |d| d.object_id)), int(0), bit(false), bit(false)]);
    row.extend([
        int(0),
        text("NOT_APPLICABLE"),
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        bit(false),
        bit(false),
        NULL,
        NULL,
    ]);
    row
}

fn columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows: Rows = Vec::new();
    for t in tables(cx) {
        rows.extend(t.columns.iter().map(|c| column_row(t.object_id, c)));
    }
    for (id, columns) in super::modules::view_columns(cx) {
        rows.extend(columns.iter().map(|c| column_row(id, c)));
    }
    rows
}

fn all_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = columns(cx);
    for v in super::all() {
        let id = super::object_id(Some(v.schema), v.name).unwrap_or(0);
        for (i, (name, ty)) in v.columns.iter().enumerate() {
            rows.push(column_row(id, &plain_column(i, name, *ty)));
        }
    }
    rows
}

/// A column that is only described.
pub(super) fn plain_column(position: usize, name: &str, ty: SqlType) -> ColumnDef {
    ColumnDef {
        column_id: position as i32 + 1,
        ordinal: position as u16,
        name: name.to_owned(),
        ty,
        collation: keel_types::Collation::default(),
        nullable: true,
        identity: None,
        default: None,
        computed: None,
        missing_value: None,
    }
}

/// `systypes`: the same types under their names of before.
fn old_types(cx: &ViewContext<'_>) -> Rows {
    let row = |t: Vec<Value>| {
        let at = |name: &str| {
            let at = TYPE.iter().position(|(column, _)| *column == name);
            at.map_or(NULL, |at| t[at].clone())
        };
        let varies = at("name").as_str().is_some_and(|n| n.contains("var") || n == "sysname");
        let mut row = vec![at("name"), at("system_type_id"), int(0), at("user_type_id"), at("max_length")];
        row.extend([at("precision"), at("scale"), int(0), int(0), at("schema_id"), at("user_type_id")]);
        row.extend([bit(varies), at("is_nullable"), at("system_type_id"), at("precision"), at("scale")]);
        row.push(at("collation_name"));
        row
    };
    types(cx).into_iter().map(row).collect()
}

fn types(cx: &ViewContext<'_>) -> Rows {
    let system = keel_types::ty::catalog::system_types().iter().map(|t| {
        vec![
            text(t.name),
            int(t.system_type_id),
            int(t.user_type_id),
            int(crate::catalog::SYS),
            NULL,
            int(t.max_length),
            int(t.precision),
            int(t.scale),
            if t.has_collation { text("SQL_Latin1_General_CP1_CI_AS") } else { NULL },
            bit(t.name != "timestamp" && t.name != "sysname"),
            bit(false),
            bit(false),
            int(0),
            int(0),
            bit(false),
        ]
    });
    let mut rows: Rows = system.collect();
    rows.extend(cx.picture.types().map(|t| {
        let f = facts(t.base);
        let table = t.table.is_some();
        let zero = |n: i64| if table { int(0) } else { int(n) };
        vec![
            text(t.name.as_str()),
            int(if table { 243 } else { i32::from(f.system_type_id) }),
            int(t.user_type_id),
            int(t.schema_id),
            NULL,
            if table { int(-1) } else { int(f.max_length) },
            zero(f.precision.into()),
            zero(f.scale.into()),
            if f.is_text && !table { text("SQL_Latin1_General_CP1_CI_AS") } else { NULL },
            bit(t.nullable && !table),
            bit(true),
            bit(false),
            int(0),
            int(0),
            bit(table),
        ]
    }));
    rows
}

fn table_types(cx: &ViewContext<'_>) -> Rows {
    types(cx).into_iter().filter(|r| matches!(r[14], Value::Bit(true))).collect()
}

fn identity_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for c in &t.columns {
            let Some((seed, increment)) = c.identity else { continue };
            let f = facts(c.ty);
            let variant = |n: i64| super::whole_number(c.ty, n);
            rows.push(vec![
                int(t.object_id),
                text(c.name.as_str()),
                int(c.column_id),
                int(f.system_type_id),
                int(f.user_type_id),
                bit(c.nullable),
                bit(true),
                variant(seed),
                variant(increment),
                cx.entry.current_identity(t.object_id).map_or(NULL, variant),
                bit(false),
            ]);
        }
    }
    // Columns of views that show one: known to be identities, without seed.
    for (id, columns) in super::modules::view_columns(cx) {
        for c in columns.iter().filter(|c| c.identity.is_some()) {
            let mut row = column_row(id, c);
            row.truncate(5);
            row.extend([bit(c.nullable), bit(true), NULL, NULL, NULL, bit(false)]);
            rows.push(row);
        }
    }
    rows
}

fn computed_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for c in &t.columns {
            let Some(computed) = &c.computed else { continue };
            let f = facts(c.ty);
            rows.push(vec![
                int(t.object_id),
                text(c.name.as_str()),
                int(c.column_id),
                int(f.system_type_id),
                int(f.user_type_id),
                bit(c.nullable),
                bit(true),
                text(computed.text.as_str()),
                bit(false),
                bit(computed.persisted),
            ]);
        }
    }
    rows
}

/// `type` and `type_desc` of an index.
fn kind(i: &IndexDef) -> (i64, &'static str) {
    match i.kind {
        IndexKind::Heap => (0, "HEAP"),
        IndexKind::Clustered => (1, "CLUSTERED"),
        IndexKind::Nonclustered => (2, "NONCLUSTERED"),
    }
}

fn indexes(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for i in &t.indexes {
            let (number, name) = kind(i);
            rows.push(vec![
                int(t.object_id),
                if i.name.is_empty() { NULL } else { text(i.name.as_str()) },
                int(i.index_id),
                int(number),
                text(name),
                bit(i.unique),
                int(1),
                bit(i.ignore_dup_key),
                bit(i.is_primary_key),
                bit(i.is_unique_constraint),
                int(0),
                bit(false),
                bit(i.disabled),
                bit(false),
                bit(false),
                bit(true),
                bit(true),
                bit(i.filter.is_some()),
                i.filter.as_deref().map_or(NULL, text),
                NULL,
                bit(false),
                bit(false),
                bit(false),
            ]);
        }
        rows.extend(t.columnstores.iter().map(|c| columnstore_row(&t, c)));
    }
    rows
}

/// A columnstore index: type 5 or 6, whatever the rows are really kept in.
fn columnstore_row(t: &TableDef, c: &ColumnstoreDef) -> Vec<Value> {
    let (number, name) =
        if c.clustered { (5, "CLUSTERED COLUMNSTORE") } else { (6, "NONCLUSTERED COLUMNSTORE") };
    let mut row = vec![int(t.object_id), text(c.name.as_str()), int(c.index_id), int(number), text(name)];
    row.extend([bit(false), int(1), bit(false), bit(false), bit(false), int(0), bit(false), bit(false)]);
    row.extend([bit(false), bit(false), bit(true), bit(true), bit(c.filter.is_some())]);
    row.extend([c.filter.as_deref().map_or(NULL, text), int(0), bit(false), bit(false), bit(false)]);
    row
}

fn index_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for i in &t.indexes {
            let keys =
                i.key.iter().enumerate().map(|(n, k)| (k.column_id, n as i64 + 1, k.descending, false));
            let included = i.included.iter().map(|id| (*id, 0, false, true));
            for (n, (column, ordinal, descending, included)) in keys.chain(included).enumerate() {
                rows.push(vec![
                    int(t.object_id),
                    int(i.index_id),
                    int(n as i64 + 1),
                    int(column),
                    int(ordinal),
                    int(0),
                    bit(descending),
                    bit(included),
                    int(0),
                ]);
            }
        }
        for c in &t.columnstores {
            let all = t.columns.iter().map(|c| c.column_id);
            let columns = all.filter(|id| c.clustered || c.columns.contains(id));
            for (n, column) in columns.enumerate() {
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
    for t in tables(cx) {
        for i in t.indexes.iter().filter(|i| i.kind != IndexKind::Heap) {
            let mut row = vec![int(t.object_id), text(i.name.as_str()), int(i.index_id)];
            row.extend([bit(false), bit(false), bit(t.no_auto_statistics), bit(false), NULL]);
            row.extend([bit(false), bit(false)]);
            rows.push(row);
        }
        for s in &t.statistics {
            let mut row = vec![int(t.object_id), text(s.name.as_str()), int(s.stats_id)];
            let frozen = s.no_recompute || t.no_auto_statistics;
            row.extend([bit(false), bit(true), bit(frozen), bit(s.filter.is_some())]);
            row.extend([s.filter.as_deref().map_or(NULL, text), bit(false), bit(false)]);
            rows.push(row);
        }
    }
    rows
}

fn stats_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
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

fn partitions(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        let count = cx.row_count(&t);
        for i in &t.indexes {
            rows.push(vec![
                int(i.tree.0),
                int(t.object_id),
                int(i.index_id),
                int(1),
                int(i.tree.0),
                int(count),
                int(0),
                int(0),
                text("NONE"),
                bit(false),
                text("OFF"),
            ]);
        }
    }
    rows
}

/// The columns all constraint views begin with.
fn common(t: &TableDef, name: &str, id: i32, kind: &str) -> Vec<Value> {
    vec![
        text(name),
        int(id),
        NULL,
        int(t.schema_id),
        int(t.object_id),
        text(kind),
        text(super::objects::describe(kind)),
        date(t.created),
        date(t.modified),
        bit(false),
        bit(false),
        bit(false),
    ]
}

fn key_constraints(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for i in t.indexes.iter().filter(|i| i.constraint_id != 0) {
            let kind = if i.is_primary_key { "PK" } else { "UQ" };
            let mut row = common(&t, &i.name, i.constraint_id, kind);
            row.extend([int(i.index_id), bit(false), bit(true)]);
            rows.push(row);
        }
    }
    rows
}

fn default_constraints(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for c in &t.columns {
            let Some(d) = &c.default else { continue };
            let mut row = common(&t, &d.name, d.object_id, "D ");
            row.extend([int(c.column_id), text(d.text.as_str()), bit(d.name.starts_with("DF__"))]);
            row.extend(std::iter::repeat_n(bit(false), 4));
            rows.push(row);
        }
    }
    rows
}

fn check_constraints(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for c in &t.checks {
            let mut row = common(&t, &c.name, c.object_id, "C ");
            row.extend([
                int(c.column),
                text(c.text.as_str()),
                bit(c.name.starts_with("CK__")),
                bit(c.disabled),
            ]);
            row.extend(std::iter::repeat_n(bit(false), 3));
            rows.push(row);
        }
    }
    rows
}

/// Number and name of a referential action.
pub(super) fn action(a: ReferentialAction) -> (i64, &'static str) {
    match a {
        ReferentialAction::NoAction => (0, "NO_ACTION"),
        ReferentialAction::Cascade => (1, "CASCADE"),
        ReferentialAction::SetNull => (2, "SET_NULL"),
        ReferentialAction::SetDefault => (3, "SET_DEFAULT"),
    }
}

/// The unique index of the referenced table that a foreign key points at.
pub(super) fn referenced_index<'a>(other: &'a TableDef, k: &ForeignKeyDef) -> Option<&'a IndexDef> {
    let matches = |i: &&IndexDef| {
        i.unique
            && i.key.len() == k.referenced_columns.len()
            && i.key.iter().all(|c| k.referenced_columns.contains(&c.column_id))
    };
    other.indexes.iter().find(matches)
}

fn foreign_keys(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for k in &t.foreign_keys {
            let other = cx.picture.table_by_id(k.referenced_table);
            let index = other.as_ref().and_then(|o| referenced_index(o, k)).map_or(1, |i| i.index_id);
            let (delete, update) = (action(k.on_delete), action(k.on_update));
            let mut row = common(&t, &k.name, k.object_id, "F ");
            row.extend([int(k.referenced_table), int(index), bit(k.disabled), bit(false), bit(k.disabled)]);
            row.extend([int(delete.0), text(delete.1), int(update.0), text(update.1)]);
            row.push(bit(k.name.starts_with("FK__")));
            rows.push(row);
        }
    }
    rows
}

fn foreign_key_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for k in &t.foreign_keys {
            for (n, (own, other)) in k.columns.iter().zip(&k.referenced_columns).enumerate() {
                rows.push(vec![
                    int(k.object_id),
                    int(n as i64 + 1),
                    int(t.object_id),
                    int(*own),
                    int(k.referenced_table),
                    int(*other),
                ]);
            }
        }
    }
    rows
}

fn old_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for c in &t.columns {
            let f = facts(c.ty);
            let zero = || int(0);
            rows.push(vec![
                text(c.name.as_str()),
                int(t.object_id),
                int(f.system_type_id),
                zero(),
                int(f.user_type_id),
                int(f.max_length),
                int(f.precision),
                int(f.scale),
                int(c.column_id),
                zero(),
                zero(),
                zero(),
                int(i32::from(c.identity.is_some())),
                int(c.default.as_ref().map_or(0, |d| d.object_id)),
                zero(),
                zero(),
                int(c.column_id),
                zero(),
                zero(),
                int(if c.identity.is_some() { 128 } else { i32::from(c.nullable) * 8 }),
                int(f.system_type_id),
                int(f.user_type_id),
                f.characters.map_or(int(f.precision), |n| int(n.min(i32::from(i16::MAX)))),
                int(f.scale),
                int(i32::from(c.computed.is_some())),
                zero(),
                int(i32::from(c.nullable)),
                collation(c),
            ]);
        }
    }
    rows
}

fn old_indexes(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
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
