//! Who uses what: types of users as domains, and the tables and columns of views.

use super::super::dependencies::{names_of_columns, tables_of_views};
use super::super::{Column, INT, NAME, NULL, SMALL, SystemView, TEXT, TINY, ViewContext, text};
use super::shape::{default_collation, shape};
use super::{Rows, SCHEMA, WORD, catalog, schema};
use keel_query::catalog::{ModuleDef, TypeDef};
use keel_types::Value;
use std::sync::Arc;

#[rustfmt::skip]
const DOMAIN: &[Column] = &[
    ("DOMAIN_CATALOG", NAME), ("DOMAIN_SCHEMA", NAME), ("DOMAIN_NAME", NAME), ("DATA_TYPE", NAME),
    ("CHARACTER_MAXIMUM_LENGTH", INT), ("CHARACTER_OCTET_LENGTH", INT), ("COLLATION_CATALOG", NAME), ("COLLATION_SCHEMA", NAME),
    ("COLLATION_NAME", NAME), ("CHARACTER_SET_CATALOG", NAME), ("CHARACTER_SET_SCHEMA", NAME), ("CHARACTER_SET_NAME", NAME),
    ("NUMERIC_PRECISION", TINY), ("NUMERIC_PRECISION_RADIX", SMALL), ("NUMERIC_SCALE", TINY), ("DATETIME_PRECISION", SMALL),
    ("DOMAIN_DEFAULT", TEXT),
];

#[rustfmt::skip]
const VIEW_COLUMN: &[Column] = &[
    ("VIEW_CATALOG", NAME), ("VIEW_SCHEMA", NAME), ("VIEW_NAME", NAME), ("TABLE_CATALOG", NAME), ("TABLE_SCHEMA", NAME),
    ("TABLE_NAME", NAME), ("COLUMN_NAME", NAME),
];

#[rustfmt::skip]
pub(in super::super) static VIEWS: &[SystemView] = &[
    SystemView { schema: SCHEMA, name: "DOMAINS", columns: DOMAIN, rows: domains },
    SystemView { schema: SCHEMA, name: "DOMAIN_CONSTRAINTS", columns: &[
        ("CONSTRAINT_CATALOG", NAME), ("CONSTRAINT_SCHEMA", NAME), ("CONSTRAINT_NAME", NAME), ("DOMAIN_CATALOG", NAME),
        ("DOMAIN_SCHEMA", NAME), ("DOMAIN_NAME", NAME), ("IS_DEFERRABLE", WORD), ("INITIALLY_DEFERRED", WORD),
    ], rows: |_| Vec::new() },
    SystemView { schema: SCHEMA, name: "COLUMN_DOMAIN_USAGE", columns: &[
        ("DOMAIN_CATALOG", NAME), ("DOMAIN_SCHEMA", NAME), ("DOMAIN_NAME", NAME), ("TABLE_CATALOG", NAME), ("TABLE_SCHEMA", NAME),
        ("TABLE_NAME", NAME), ("COLUMN_NAME", NAME),
    ], rows: columns_of_domains },
    SystemView { schema: SCHEMA, name: "VIEW_TABLE_USAGE", columns: VIEW_COLUMN.split_at(6).0, rows: view_tables },
    SystemView { schema: SCHEMA, name: "VIEW_COLUMN_USAGE", columns: VIEW_COLUMN, rows: view_columns },
];

fn domains(cx: &ViewContext<'_>) -> Rows {
    let row = |ty: &Arc<TypeDef>| {
        let base = ty.table.is_none().then_some(ty.base);
        let s = shape(base);
        let collation = default_collation(base, &cx.picture.settings().collation);
        let mut row = vec![catalog(cx), schema(cx, ty.schema_id), text(ty.name.as_str())];
        row.push(text(base.map_or("table type", |ty| ty.name())));
        row.extend([s.characters, s.octets, NULL, NULL, collation, NULL, NULL, s.set]);
        row.extend([s.precision, s.radix, s.scale, s.fraction, NULL]);
        row
    };
    cx.picture.types().map(row).collect()
}

fn columns_of_domains(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for t in super::tables(cx) {
        for c in &t.columns {
            let Some(ty) = c.alias.and_then(|id| cx.picture.type_by_id(id)) else { continue };
            let mut row = vec![catalog(cx), schema(cx, ty.schema_id), text(ty.name.as_str()), catalog(cx)];
            row.extend([schema(cx, t.schema_id), text(t.name.as_str()), text(c.name.as_str())]);
            rows.push(row);
        }
    }
    rows
}

/// The view's name, and that of what it uses.
fn used(cx: &ViewContext<'_>, view: &ModuleDef, to: i32) -> Option<Vec<Value>> {
    let table = cx.picture.stored_by_id(to).map(|t| (t.schema_id, t.name.clone()));
    let (of, name) = table.or_else(|| cx.picture.module_by_id(to).map(|m| (m.schema_id, m.name.clone())))?;
    let mut row = vec![catalog(cx), schema(cx, view.schema_id), text(view.name.as_str()), catalog(cx)];
    row.extend([schema(cx, of), text(name)]);
    Some(row)
}

fn view_tables(cx: &ViewContext<'_>) -> Rows {
    tables_of_views(cx).iter().filter_map(|(view, to)| used(cx, view, *to)).collect()
}

fn view_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    let mut named = None;
    for (view, to) in tables_of_views(cx) {
        let Some(head) = used(cx, &view, to) else { continue };
        if named.as_ref().is_none_or(|(id, _)| *id != view.object_id) {
            named = Some((view.object_id, names_of_columns(&view)));
        }
        let columns = cx.info.column_names(&cx.entry, to);
        let is_named = |name: &str| named.as_ref().is_some_and(|(_, names)| names.has(name));
        for (_, name) in columns.iter().filter(|(_, name)| is_named(name)) {
            let mut row = head.clone();
            row.push(text(name.as_str()));
            rows.push(row);
        }
    }
    rows
}
