//! Procedures and functions, their parameters, and the columns of functions that return tables.

use super::super::{
    Column, DATE, INT, NAME, NULL, SMALL, SystemView, TEXT, TINY, ViewContext, date, int, text,
};
use super::shape::{default_collation, shape};
use super::{COLUMN, Rows, SCHEMA, WORD, catalog, column, schema};
use crate::ddl::determinism::is_deterministic;
use keel_query::catalog::{ModuleDef, ModuleKind, TypeDef};
use keel_types::{SqlType, Value};
use std::sync::Arc;

const BIG: SqlType = SqlType::BigInt;

#[rustfmt::skip]
const ROUTINE: &[Column] = &[
    ("SPECIFIC_CATALOG", NAME), ("SPECIFIC_SCHEMA", NAME), ("SPECIFIC_NAME", NAME), ("ROUTINE_CATALOG", NAME),
    ("ROUTINE_SCHEMA", NAME), ("ROUTINE_NAME", NAME), ("ROUTINE_TYPE", NAME), ("MODULE_CATALOG", NAME), ("MODULE_SCHEMA", NAME),
    ("MODULE_NAME", NAME), ("UDT_CATALOG", NAME), ("UDT_SCHEMA", NAME), ("UDT_NAME", NAME), ("DATA_TYPE", NAME),
    ("CHARACTER_MAXIMUM_LENGTH", INT), ("CHARACTER_OCTET_LENGTH", INT), ("COLLATION_CATALOG", NAME), ("COLLATION_SCHEMA", NAME),
    ("COLLATION_NAME", NAME), ("CHARACTER_SET_CATALOG", NAME), ("CHARACTER_SET_SCHEMA", NAME), ("CHARACTER_SET_NAME", NAME),
    ("NUMERIC_PRECISION", SMALL), ("NUMERIC_PRECISION_RADIX", SMALL), ("NUMERIC_SCALE", SMALL), ("DATETIME_PRECISION", SMALL),
    ("INTERVAL_TYPE", WORD), ("INTERVAL_PRECISION", SMALL), ("TYPE_UDT_CATALOG", NAME), ("TYPE_UDT_SCHEMA", NAME),
    ("TYPE_UDT_NAME", NAME), ("SCOPE_CATALOG", NAME), ("SCOPE_SCHEMA", NAME), ("SCOPE_NAME", NAME), ("MAXIMUM_CARDINALITY", BIG),
    ("DTD_IDENTIFIER", NAME), ("ROUTINE_BODY", NAME), ("ROUTINE_DEFINITION", TEXT), ("EXTERNAL_NAME", NAME),
    ("EXTERNAL_LANGUAGE", WORD), ("PARAMETER_STYLE", WORD), ("IS_DETERMINISTIC", WORD), ("SQL_DATA_ACCESS", WORD),
    ("IS_NULL_CALL", WORD), ("SQL_PATH", NAME), ("SCHEMA_LEVEL_ROUTINE", WORD), ("MAX_DYNAMIC_RESULT_SETS", SMALL),
    ("IS_USER_DEFINED_CAST", WORD), ("IS_IMPLICITLY_INVOCABLE", WORD), ("CREATED", DATE), ("LAST_ALTERED", DATE),
];

#[rustfmt::skip]
const PARAMETER: &[Column] = &[
    ("SPECIFIC_CATALOG", NAME), ("SPECIFIC_SCHEMA", NAME), ("SPECIFIC_NAME", NAME), ("ORDINAL_POSITION", INT),
    ("PARAMETER_MODE", WORD), ("IS_RESULT", WORD), ("AS_LOCATOR", WORD), ("PARAMETER_NAME", NAME), ("DATA_TYPE", NAME),
    ("CHARACTER_MAXIMUM_LENGTH", INT), ("CHARACTER_OCTET_LENGTH", INT), ("COLLATION_CATALOG", NAME), ("COLLATION_SCHEMA", NAME),
    ("COLLATION_NAME", NAME), ("CHARACTER_SET_CATALOG", NAME), ("CHARACTER_SET_SCHEMA", NAME), ("CHARACTER_SET_NAME", NAME),
    ("NUMERIC_PRECISION", TINY), ("NUMERIC_PRECISION_RADIX", SMALL), ("NUMERIC_SCALE", TINY), ("DATETIME_PRECISION", SMALL),
    ("INTERVAL_TYPE", WORD), ("INTERVAL_PRECISION", SMALL), ("USER_DEFINED_TYPE_CATALOG", NAME),
    ("USER_DEFINED_TYPE_SCHEMA", NAME), ("USER_DEFINED_TYPE_NAME", NAME), ("SCOPE_CATALOG", NAME), ("SCOPE_SCHEMA", NAME),
    ("SCOPE_NAME", NAME),
];

pub(in super::super) static VIEWS: &[SystemView] = &[
    SystemView { schema: SCHEMA, name: "ROUTINES", columns: ROUTINE, rows: routines },
    SystemView { schema: SCHEMA, name: "PARAMETERS", columns: PARAMETER, rows: parameters },
    SystemView { schema: SCHEMA, name: "ROUTINE_COLUMNS", columns: COLUMN, rows: routine_columns },
];

fn all<'c>(cx: &'c ViewContext<'_>) -> impl Iterator<Item = &'c Arc<ModuleDef>> {
    cx.picture.modules().filter(|m| !matches!(m.kind, ModuleKind::View | ModuleKind::Trigger))
}

fn nulls(row: &mut Vec<Value>, count: usize) {
    row.resize(row.len() + count, NULL);
}

fn yes(is: bool) -> Value {
    text(if is { "YES" } else { "NO" })
}

fn routines(cx: &ViewContext<'_>) -> Rows {
    all(cx).map(|m| routine(cx, m)).collect()
}

fn routine(cx: &ViewContext<'_>, m: &Arc<ModuleDef>) -> Vec<Value> {
    let procedure = m.kind == ModuleKind::Procedure;
    let returns = super::super::modules::program(cx, m).and_then(|p| p.returns).filter(|_| !procedure);
    let ty = match returns {
        _ if procedure => NULL,
        Some(ty) => text(ty.name()),
        None => text("TABLE"),
    };
    let s = shape(returns);
    let collation = default_collation(returns, &cx.picture.settings().collation);
    let mut row = Vec::with_capacity(ROUTINE.len());
    for _ in 0..2 {
        row.extend([catalog(cx), schema(cx, m.schema_id), text(m.name.as_str())]);
    }
    row.push(text(if procedure { "PROCEDURE" } else { "FUNCTION" }));
    nulls(&mut row, 6);
    row.extend([ty, s.characters, s.octets, NULL, NULL, collation, NULL, NULL, s.set]);
    row.extend([s.precision, s.radix, s.scale, s.fraction]);
    nulls(&mut row, 10);
    row.extend([text("SQL"), cx.picture.text_of(m).map_or(NULL, text), NULL, NULL, NULL]);
    let options = crate::modules::options(m);
    let always_the_same = !procedure && options.schema_binding && is_deterministic(&m.text);
    row.extend([yes(always_the_same), text(if procedure { "MODIFIES" } else { "READS" })]);
    row.push(if procedure { NULL } else { yes(!options.returns_null_on_null_input) });
    row.extend([NULL, yes(true), int(if procedure { -1 } else { 0 }), yes(false), yes(false)]);
    row.extend([date(m.created), date(m.modified)]);
    row
}

fn parameters(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for m in all(cx) {
        let Some(program) = super::super::modules::program(cx, m) else { continue };
        let declared = crate::declared::of_module(cx.info, &cx.entry, &cx.picture, m);
        if let Some(ty) = program.returns.filter(|_| m.kind != ModuleKind::Procedure) {
            let of = Parameter { name: "", ty: Some(ty), output: true, declared: declared.result.as_ref() };
            rows.push(of.row(cx, m, 0));
        }
        for (i, p) in program.parameters.iter().enumerate() {
            let declared = declared.parameters.get(i).and_then(Option::as_ref);
            let ty = Some(p.ty).filter(|_| p.table.is_none() && !p.cursor);
            let of = Parameter { name: &p.name, ty, output: p.output, declared };
            rows.push(of.row(cx, m, i + 1));
        }
    }
    rows
}

/// A parameter, or the result of a function.
struct Parameter<'p> {
    name: &'p str,
    /// None of a table or cursor.
    ty: Option<SqlType>,
    output: bool,
    /// The type of a user that it was declared with.
    declared: Option<&'p Arc<TypeDef>>,
}

impl Parameter<'_> {
    /// Its row; `number` is 0 for a result.
    fn row(&self, cx: &ViewContext<'_>, m: &ModuleDef, number: usize) -> Vec<Value> {
        let mode = match (number, self.output) {
            (0, _) => "OUT",
            (_, true) => "INOUT",
            (_, false) => "IN",
        };
        let s = shape(self.ty);
        let collation = default_collation(self.ty, &cx.picture.settings().collation);
        let mut row = vec![catalog(cx), schema(cx, m.schema_id), text(m.name.as_str()), int(number as i64)];
        row.extend([text(mode), yes(number == 0), yes(false), text(self.name)]);
        row.push(text(self.ty.map_or("table type", |ty| ty.name())));
        row.extend([s.characters, s.octets, NULL, NULL, collation, NULL, NULL, s.set]);
        row.extend([s.precision, s.radix, s.scale, s.fraction, NULL, NULL]);
        match self.declared {
            Some(ty) => row.extend([catalog(cx), schema(cx, ty.schema_id), text(ty.name.as_str())]),
            None => nulls(&mut row, 3),
        }
        nulls(&mut row, 3);
        row
    }
}

/// In the columns of `COLUMNS`, whose `TABLE_NAME` is the function.
fn routine_columns(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for (id, columns) in super::super::modules::function_columns(cx) {
        let Some(m) = cx.picture.module_by_id(id) else { continue };
        rows.extend(columns.iter().enumerate().map(|(i, c)| column(cx, m.schema_id, &m.name, i, c)));
    }
    rows
}
