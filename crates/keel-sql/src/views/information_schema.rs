//! INFORMATION_SCHEMA: tables, columns, views, sequences, constraints and privileges; [`routines`], and [`usage`] of types and by views.

pub(super) mod routines;
mod shape;
pub(super) mod usage;

use super::columns::collation;
use super::constraints::{action, referenced_index};
use super::{Column, INT, NAME, NULL, SMALL, SystemView, TEXT, TINY, ViewContext, facts, int, text};
use crate::catalog::{PermissionState, SecurableRef};
use crate::ddl::mentions_column;
use keel_query::catalog::{Catalog as _, ColumnDef, ModuleKind, TableDef};
use keel_types::{Length, SqlType, Value};
use shape::shape;
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const WORD: SqlType = SqlType::VarChar(Length::Limited(30));
const SCHEMA: &str = "INFORMATION_SCHEMA";

const COLUMN: &[Column] = &[
    ("TABLE_CATALOG", NAME),
    ("TABLE_SCHEMA", NAME),
    ("TABLE_NAME", NAME),
    ("COLUMN_NAME", NAME),
    ("ORDINAL_POSITION", INT),
    ("COLUMN_DEFAULT", TEXT),
    ("IS_NULLABLE", WORD),
    ("DATA_TYPE", NAME),
    ("CHARACTER_MAXIMUM_LENGTH", INT),
    ("CHARACTER_OCTET_LENGTH", INT),
    ("NUMERIC_PRECISION", TINY),
    ("NUMERIC_PRECISION_RADIX", SMALL),
    ("NUMERIC_SCALE", INT),
    ("DATETIME_PRECISION", SMALL),
    ("CHARACTER_SET_CATALOG", NAME),
    ("CHARACTER_SET_SCHEMA", NAME),
    ("CHARACTER_SET_NAME", NAME),
    ("COLLATION_CATALOG", NAME),
    ("COLLATION_SCHEMA", NAME),
    ("COLLATION_NAME", NAME),
    ("DOMAIN_CATALOG", NAME),
    ("DOMAIN_SCHEMA", NAME),
    ("DOMAIN_NAME", NAME),
];

const TABLE_CONSTRAINT: &[Column] = &[
    ("CONSTRAINT_CATALOG", NAME),
    ("CONSTRAINT_SCHEMA", NAME),
    ("CONSTRAINT_NAME", NAME),
    ("TABLE_CATALOG", NAME),
    ("TABLE_SCHEMA", NAME),
    ("TABLE_NAME", NAME),
    ("CONSTRAINT_TYPE", WORD),
    ("IS_DEFERRABLE", WORD),
    ("INITIALLY_DEFERRED", WORD),
];

const KEY_COLUMN: &[Column] = &[
    ("CONSTRAINT_CATALOG", NAME),
    ("CONSTRAINT_SCHEMA", NAME),
    ("CONSTRAINT_NAME", NAME),
    ("TABLE_CATALOG", NAME),
    ("TABLE_SCHEMA", NAME),
    ("TABLE_NAME", NAME),
    ("COLUMN_NAME", NAME),
    ("ORDINAL_POSITION", INT),
];

const SEQUENCE: &[Column] = &[
    ("SEQUENCE_CATALOG", NAME),
    ("SEQUENCE_SCHEMA", NAME),
    ("SEQUENCE_NAME", NAME),
    ("DATA_TYPE", NAME),
    ("NUMERIC_PRECISION", TINY),
    ("NUMERIC_PRECISION_RADIX", SMALL),
    ("NUMERIC_SCALE", INT),
    ("START_VALUE", super::VARIANT),
    ("MINIMUM_VALUE", super::VARIANT),
    ("MAXIMUM_VALUE", super::VARIANT),
    ("INCREMENT", super::VARIANT),
    ("CYCLE_OPTION", INT),
    ("DECLARED_DATA_TYPE", NAME),
    ("DECLARED_NUMERIC_PRECISION", TINY),
    ("DECLARED_NUMERIC_SCALE", INT),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: SCHEMA,
        name: "TABLES",
        columns: &[
            ("TABLE_CATALOG", NAME),
            ("TABLE_SCHEMA", NAME),
            ("TABLE_NAME", NAME),
            ("TABLE_TYPE", WORD),
        ],
        rows: table_list,
    },
    SystemView { schema: SCHEMA, name: "COLUMNS", columns: COLUMN, rows: columns },
    SystemView {
        schema: SCHEMA,
        name: "VIEWS",
        columns: &[
            ("TABLE_CATALOG", NAME),
            ("TABLE_SCHEMA", NAME),
            ("TABLE_NAME", NAME),
            ("VIEW_DEFINITION", TEXT),
            ("CHECK_OPTION", WORD),
            ("IS_UPDATABLE", WORD),
        ],
        rows: views,
    },
    SystemView {
        schema: SCHEMA,
        name: "SCHEMATA",
        columns: &[
            ("CATALOG_NAME", NAME),
            ("SCHEMA_NAME", NAME),
            ("SCHEMA_OWNER", NAME),
            ("DEFAULT_CHARACTER_SET_CATALOG", NAME),
            ("DEFAULT_CHARACTER_SET_SCHEMA", NAME),
            ("DEFAULT_CHARACTER_SET_NAME", NAME),
        ],
        rows: |cx| {
            let row = |s: &std::sync::Arc<crate::catalog::SchemaDef>| {
                let owner = cx.picture.principal(s.owner).map_or_else(|| "dbo".to_owned(), |p| p.name);
                let mut row = vec![catalog(cx), text(s.name.as_str()), text(owner.as_str())];
                row.extend([NULL, NULL, text("iso_1")]);
                row
            };
            cx.picture.schemas().map(row).collect()
        },
    },
    SystemView { schema: SCHEMA, name: "SEQUENCES", columns: SEQUENCE, rows: sequences },
    SystemView {
        schema: SCHEMA,
        name: "TABLE_CONSTRAINTS",
        columns: TABLE_CONSTRAINT,
        rows: table_constraints,
    },
    SystemView { schema: SCHEMA, name: "KEY_COLUMN_USAGE", columns: KEY_COLUMN, rows: key_columns },
    SystemView {
        schema: SCHEMA,
        name: "CONSTRAINT_TABLE_USAGE",
        columns: &[
            ("TABLE_CATALOG", NAME),
            ("TABLE_SCHEMA", NAME),
            ("TABLE_NAME", NAME),
            ("CONSTRAINT_CATALOG", NAME),
            ("CONSTRAINT_SCHEMA", NAME),
            ("CONSTRAINT_NAME", NAME),
        ],
        rows: |cx| {
            let reorder = |r: Vec<Value>| [3, 4, 5, 0, 1, 2].map(|i: usize| r[i].clone()).to_vec();
            table_constraints(cx).into_iter().map(reorder).collect()
        },
    },
    SystemView {
        schema: SCHEMA,
        name: "CONSTRAINT_COLUMN_USAGE",
        columns: &[
            ("TABLE_CATALOG", NAME),
            ("TABLE_SCHEMA", NAME),
            ("TABLE_NAME", NAME),
            ("COLUMN_NAME", NAME),
            ("CONSTRAINT_CATALOG", NAME),
            ("CONSTRAINT_SCHEMA", NAME),
            ("CONSTRAINT_NAME", NAME),
        ],
        rows: |cx| {
            let reorder = |r: Vec<Value>| [3, 4, 5, 6, 0, 1, 2].map(|i: usize| r[i].clone()).to_vec();
            key_columns(cx).into_iter().chain(checked_columns(cx)).map(reorder).collect()
        },
    },
    SystemView {
        schema: SCHEMA,
        name: "REFERENTIAL_CONSTRAINTS",
        columns: &[
            ("CONSTRAINT_CATALOG", NAME),
            ("CONSTRAINT_SCHEMA", NAME),
            ("CONSTRAINT_NAME", NAME),
            ("UNIQUE_CONSTRAINT_CATALOG", NAME),
            ("UNIQUE_CONSTRAINT_SCHEMA", NAME),
            ("UNIQUE_CONSTRAINT_NAME", NAME),
            ("MATCH_OPTION", WORD),
            ("UPDATE_RULE", WORD),
            ("DELETE_RULE", WORD),
        ],
        rows: referential,
    },
    SystemView {
        schema: SCHEMA,
        name: "CHECK_CONSTRAINTS",
        columns: &[
            ("CONSTRAINT_CATALOG", NAME),
            ("CONSTRAINT_SCHEMA", NAME),
            ("CONSTRAINT_NAME", NAME),
            ("CHECK_CLAUSE", TEXT),
        ],
        rows: |cx| {
            let mut rows = Vec::new();
            for t in tables(cx) {
                for c in &t.checks {
                    rows.push(vec![
                        catalog(cx),
                        schema(cx, t.schema_id),
                        text(c.name.as_str()),
                        text(c.text.as_str()),
                    ]);
                }
            }
            rows
        },
    },
    SystemView {
        schema: SCHEMA,
        name: "TABLE_PRIVILEGES",
        columns: &[
            ("GRANTOR", NAME),
            ("GRANTEE", NAME),
            ("TABLE_CATALOG", NAME),
            ("TABLE_SCHEMA", NAME),
            ("TABLE_NAME", NAME),
            ("PRIVILEGE_TYPE", WORD),
            ("IS_GRANTABLE", WORD),
        ],
        rows: |cx| privileges(cx, false),
    },
    SystemView {
        schema: SCHEMA,
        name: "COLUMN_PRIVILEGES",
        columns: &[
            ("GRANTOR", NAME),
            ("GRANTEE", NAME),
            ("TABLE_CATALOG", NAME),
            ("TABLE_SCHEMA", NAME),
            ("TABLE_NAME", NAME),
            ("COLUMN_NAME", NAME),
            ("PRIVILEGE_TYPE", WORD),
            ("IS_GRANTABLE", WORD),
        ],
        rows: |cx| privileges(cx, true),
    },
];

/// What was granted on tables and views; of columns, a grant on the whole object is one on each.
fn privileges(cx: &ViewContext<'_>, of_columns: bool) -> Rows {
    let objects: Vec<(i32, i32, String)> = tables(cx)
        .iter()
        .map(|t| (t.object_id, t.schema_id, t.name.clone()))
        .chain(
            cx.picture
                .modules()
                .filter(|m| m.kind == ModuleKind::View)
                .map(|m| (m.object_id, m.schema_id, m.name.clone())),
        )
        .collect();
    let mut rows = Vec::new();
    for principal in cx.picture.stored_principals() {
        for p in principal.permissions.iter().filter(|p| p.state != PermissionState::Deny) {
            let (object, column) = match p.on {
                SecurableRef::Object(object) => (object, None),
                SecurableRef::Column(object, column) if of_columns => (object, Some(column)),
                _ => continue,
            };
            let standard = matches!(p.name.as_str(), "SELECT" | "UPDATE" | "INSERT" | "REFERENCES")
                || p.name == "DELETE" && !of_columns;
            let Some((_, schema_id, name)) = objects.iter().find(|o| o.0 == object).filter(|_| standard)
            else {
                continue;
            };
            let head = || {
                let grantee = text(principal.name.as_str());
                vec![text("dbo"), grantee, catalog(cx), schema(cx, *schema_id), text(name.as_str())]
            };
            let grantable = if p.state == PermissionState::GrantOption { "YES" } else { "NO" };
            let tail = [text(p.name.as_str()), text(grantable)];
            if !of_columns {
                rows.push([head(), tail.to_vec()].concat());
                continue;
            }
            let columns = cx.info.column_names(&cx.entry, object);
            for (_, name) in columns.iter().filter(|(id, _)| column.is_none_or(|c| c == *id)) {
                rows.push([head(), vec![text(name.as_str())], tail.to_vec()].concat());
            }
        }
    }
    rows
}

/// Tables, temporary ones by the names that tempdb shows.
fn tables(cx: &ViewContext<'_>) -> Vec<Arc<TableDef>> {
    let own = super::objects::own_temporary_tables(cx);
    let mut tables = super::columns::tables(cx);
    tables.retain(|t| own.iter().all(|o| o.object_id != t.object_id));
    tables.extend(own.into_iter().map(Arc::new));
    tables
}

fn catalog(cx: &ViewContext<'_>) -> Value {
    text(&*cx.entry.name())
}

fn schema(cx: &ViewContext<'_>, id: i32) -> Value {
    cx.picture.schema_name(id).map_or(NULL, text)
}

fn table_list(cx: &ViewContext<'_>) -> Rows {
    let row = |schema_id, name: &str, kind| vec![catalog(cx), schema(cx, schema_id), text(name), text(kind)];
    let mut rows: Rows = tables(cx).iter().map(|t| row(t.schema_id, &t.name, "BASE TABLE")).collect();
    let views = cx.picture.modules().filter(|m| m.kind == ModuleKind::View);
    rows.extend(views.map(|m| row(m.schema_id, &m.name, "VIEW")));
    rows
}

fn column(cx: &ViewContext<'_>, schema_id: i32, table: &str, at: usize, c: &ColumnDef) -> Vec<Value> {
    let ty = c.ty.plain();
    let s = shape(Some(ty));
    let mut row =
        vec![catalog(cx), schema(cx, schema_id), text(table), text(c.name.as_str()), int(at as i64 + 1)];
    row.push(c.default.as_ref().map_or(NULL, |d| text(d.text.as_str())));
    row.extend([text(if c.nullable { "YES" } else { "NO" }), text(ty.name())]);
    row.extend([s.characters, s.octets, s.precision, s.radix, s.scale, s.fraction, NULL, NULL, s.set]);
    row.extend([NULL, NULL, collation(c)]);
    let alias = c.alias.and_then(|id| cx.picture.type_by_id(id));
    row.extend(
        alias.map_or([NULL, NULL, NULL], |t| [catalog(cx), schema(cx, t.schema_id), text(t.name.as_str())]),
    );
    row
}

fn columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        rows.extend(t.columns.iter().enumerate().map(|(i, c)| column(cx, t.schema_id, &t.name, i, c)));
    }
    for (id, columns) in super::modules::view_columns(cx) {
        let Some(m) = cx.picture.module_by_id(id) else { continue };
        rows.extend(columns.iter().enumerate().map(|(i, c)| column(cx, m.schema_id, &m.name, i, c)));
    }
    rows
}

fn views(cx: &ViewContext<'_>) -> Rows {
    let views = cx.picture.modules().filter(|m| m.kind == ModuleKind::View);
    views
        .map(|m| {
            let shown = cx.picture.text_of(m).map_or(NULL, text);
            let mut row = vec![catalog(cx), schema(cx, m.schema_id), text(m.name.as_str()), shown];
            row.extend([text("NONE"), text("NO")]);
            row
        })
        .collect()
}

/// Name and type of every key, check and foreign key of a table.
fn constraints(t: &TableDef) -> Vec<(&str, &'static str, Vec<i32>)> {
    let keys = t.indexes.iter().filter(|i| i.constraint_id != 0).map(|i| {
        let kind = if i.is_primary_key { "PRIMARY KEY" } else { "UNIQUE" };
        (i.name.as_str(), kind, i.key.iter().map(|k| k.column_id).collect())
    });
    let foreign = t.foreign_keys.iter().map(|k| (k.name.as_str(), "FOREIGN KEY", k.columns.clone()));
    let checks = t.checks.iter().map(|c| (c.name.as_str(), "CHECK", Vec::new()));
    keys.chain(foreign).chain(checks).collect()
}

fn table_constraints(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for (name, kind, _) in constraints(&t) {
            let mut row =
                vec![catalog(cx), schema(cx, t.schema_id), text(name), catalog(cx), schema(cx, t.schema_id)];
            row.extend([text(t.name.as_str()), text(kind), text("NO"), text("NO")]);
            rows.push(row);
        }
    }
    rows
}

fn key_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for (name, _, columns) in constraints(&t) {
            for (i, id) in columns.iter().enumerate() {
                let column = t.columns.iter().find(|c| c.column_id == *id).map_or("", |c| c.name.as_str());
                let mut row = vec![catalog(cx), schema(cx, t.schema_id), text(name), catalog(cx)];
                row.extend([schema(cx, t.schema_id), text(t.name.as_str()), text(column), int(i as i64 + 1)]);
                rows.push(row);
            }
        }
    }
    rows
}

/// The columns that CHECK constraints name, in the columns of `key_columns`.
fn checked_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for check in &t.checks {
            for c in t.columns.iter().filter(|c| mentions_column(&check.text, &c.name)) {
                let mut row =
                    vec![catalog(cx), schema(cx, t.schema_id), text(check.name.as_str()), catalog(cx)];
                row.extend([schema(cx, t.schema_id), text(t.name.as_str()), text(c.name.as_str()), NULL]);
                rows.push(row);
            }
        }
    }
    rows
}

fn referential(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in tables(cx) {
        for k in &t.foreign_keys {
            let other = cx.picture.table_by_id(k.referenced_table);
            let index = other.as_ref().and_then(|o| referenced_index(o, k)).map(|i| i.name.clone());
            let rule = |a| text(action(a).1.replace('_', " "));
            let mut row = vec![catalog(cx), schema(cx, t.schema_id), text(k.name.as_str()), catalog(cx)];
            row.extend([
                other.map_or(NULL, |o| schema(cx, o.schema_id)),
                index.map_or(NULL, text),
                text("SIMPLE"),
            ]);
            row.extend([rule(k.on_update), rule(k.on_delete)]);
            rows.push(row);
        }
    }
    rows
}

fn sequences(cx: &ViewContext<'_>) -> Rows {
    cx.picture
        .sequences()
        .map(|s| {
            let f = facts(s.ty);
            let variant = |n: i64| super::whole_number(s.ty, n);
            let schema = cx.picture.schema_name(s.schema_id).unwrap_or_default();
            let mut row = vec![text(&*cx.entry.name()), text(schema), text(s.name.as_str())];
            row.extend([text(s.ty.name()), int(f.precision), int(10), int(f.scale)]);
            row.extend([variant(s.start), variant(s.minimum), variant(s.maximum), variant(s.increment)]);
            row.extend([int(i64::from(s.cycle)), text(s.ty.name()), NULL, NULL]);
            row
        })
        .collect()
}
