//! Constraints: keys, defaults, checks, foreign keys.

use super::columns::tables;
use super::{
    BIT, Column, DATE, DESC, INT, KIND, NAME, NULL, SystemView, TEXT, TINY, ViewContext, bit, date, int, text,
};
use keel_query::catalog::{Catalog as _, ForeignKeyDef, IndexDef, ReferentialAction, TableDef};
use keel_types::Value;

type Rows = Vec<Vec<Value>>;

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

pub(super) static VIEWS: &[SystemView] = &[
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
];

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
            let Some(d) = c.default_constraint() else { continue };
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
                bit(c.untrusted),
            ]);
            row.extend(std::iter::repeat_n(bit(false), 2));
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
            row.extend([int(k.referenced_table), int(index), bit(k.disabled), bit(false), bit(k.untrusted)]);
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
