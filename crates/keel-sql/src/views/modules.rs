//! Texts, parameters and result columns of modules.

use super::{
    BIT, Column, DESC, INT, NAME, NULL, SMALL, SystemView, TEXT, TINY, VARIANT, ViewContext, bit, facts, int,
    text,
};
use crate::engine::DatabaseEntry;
use crate::program::Program;
use crate::session::info::Info;
use crate::session::scope::Scope;
use keel_parser::ast::StatementKind;
use keel_query::catalog::{
    BindableDef, Catalog as _, ColumnDef, ModuleDef, ModuleKind, SERVER_TRIGGERS, TypeDef,
};
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const MODULE: &[Column] = &[
    ("object_id", INT),
    ("definition", TEXT),
    ("uses_ansi_nulls", BIT),
    ("uses_quoted_identifier", BIT),
    ("is_schema_bound", BIT),
    ("uses_database_collation", BIT),
    ("is_recompiled", BIT),
    ("null_on_null_input", BIT),
    ("execute_as_principal_id", INT),
    ("uses_native_compilation", BIT),
    ("inline_type", BIT),
    ("is_inlineable", BIT),
];

const PARAMETER: &[Column] = &[
    ("object_id", INT),
    ("name", NAME),
    ("parameter_id", INT),
    ("system_type_id", TINY),
    ("user_type_id", INT),
    ("max_length", SMALL),
    ("precision", TINY),
    ("scale", TINY),
    ("is_output", BIT),
    ("is_cursor_ref", BIT),
    ("has_default_value", BIT),
    ("is_xml_document", BIT),
    ("default_value", VARIANT),
    ("xml_collection_id", INT),
    ("is_readonly", BIT),
    ("is_nullable", BIT),
    ("encryption_type", INT),
    ("encryption_type_desc", DESC),
    ("encryption_algorithm_name", NAME),
    ("column_encryption_key_id", INT),
    ("column_encryption_key_database_name", NAME),
];

pub(super) static VIEWS: &[SystemView] = &[
    SystemView { schema: "sys", name: "sql_modules", columns: MODULE, rows: sql_modules },
    SystemView { schema: "sys", name: "all_sql_modules", columns: MODULE, rows: all_sql_modules },
    SystemView { schema: "sys", name: "system_sql_modules", columns: MODULE, rows: system_sql_modules },
    SystemView { schema: "sys", name: "system_parameters", columns: PARAMETER, rows: system_parameters },
    SystemView { schema: "sys", name: "parameters", columns: PARAMETER, rows: parameters },
    SystemView {
        schema: "sys",
        name: "all_parameters",
        columns: PARAMETER,
        rows: |cx| [parameters(cx), system_parameters(cx)].concat(),
    },
    SystemView {
        schema: "sys",
        name: "syscomments",
        columns: &[
            ("id", INT),
            ("number", SMALL),
            ("colid", SMALL),
            ("status", SMALL),
            ("ctext", SqlType::VarBinary(Length::Limited(8000))),
            ("texttype", SMALL),
            ("language", SMALL),
            ("encrypted", BIT),
            ("compressed", BIT),
            ("text", SqlType::NVarChar(Length::Limited(4000))),
        ],
        rows: comments,
    },
];

fn sql_modules(cx: &ViewContext<'_>) -> Rows {
    let modules = of_database(cx).map(|m| module(m, cx.picture.text_of(m)));
    modules.chain(cx.picture.bindables().map(|b| bindable(b))).collect()
}

/// What CREATE DEFAULT or CREATE RULE made.
fn bindable(b: &BindableDef) -> Vec<Value> {
    let no = || bit(false);
    let mut row = vec![int(b.object_id), text(b.text.as_str()), bit(true), bit(true)];
    row.extend([no(), no(), no(), no(), NULL, no(), no(), no()]);
    row
}

/// All but the triggers of the server, which are kept in master.
fn of_database<'c>(cx: &'c ViewContext<'_>) -> impl Iterator<Item = &'c Arc<ModuleDef>> {
    cx.picture.modules().filter(|m| m.schema_id != SERVER_TRIGGERS)
}

fn module(m: &Arc<ModuleDef>, shown: Option<&str>) -> Vec<Value> {
    let shown = shown.map_or(NULL, text);
    let mut row = vec![int(m.object_id), shown, bit(m.ansi_nulls), bit(m.quoted_identifier)];
    let no = || bit(false);
    let options = crate::modules::options(m);
    row.extend([bit(options.schema_binding), no(), bit(options.recompile)]);
    row.extend([bit(options.returns_null_on_null_input), m.execute_as.map_or(NULL, int), no(), no(), no()]);
    row
}

/// The system's own modules that are T-SQL.
fn system_sql_modules(_: &ViewContext<'_>) -> Rows {
    crate::procs::catalog::all().map(|m| module(m, Some(&m.text))).collect()
}

fn all_sql_modules(cx: &ViewContext<'_>) -> Rows {
    let mut rows = sql_modules(cx);
    rows.extend(system_sql_modules(cx));
    rows
}

/// Code units of a text in a row of `syscomments`.
const COMMENT_UNITS: usize = 4000;

/// Texts of modules, constraints and computed columns, those of the system too, in as many rows as they take.
fn comments(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    let mut add = |id: i32, number: i32, definition: &str| {
        let units: Vec<u16> = definition.encode_utf16().collect();
        for (i, part) in units.chunks(COMMENT_UNITS).enumerate() {
            let zero = || int(0);
            let bytes: Vec<u8> = part.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let mut row =
                vec![int(id), int(number), int(i as i64 + 1), zero(), Value::bytes(bytes), int(2), zero()];
            row.extend([bit(false), bit(false), text(String::from_utf16_lossy(part))]);
            rows.push(row);
        }
    };
    for m in of_database(cx) {
        cx.picture.text_of(m).iter().for_each(|definition| add(m.object_id, 0, definition));
    }
    cx.picture.bindables().for_each(|b| add(b.object_id, 0, &b.text));
    for t in super::columns::tables(cx) {
        t.columns.iter().filter_map(|c| c.default_constraint()).for_each(|d| add(d.object_id, 0, &d.text));
        t.checks.iter().for_each(|c| add(c.object_id, 0, &c.text));
        let computed = t.columns.iter().filter_map(|c| Some((c.column_id, c.computed.as_ref()?)));
        computed.for_each(|(column, c)| add(t.object_id, column, &c.text));
    }
    crate::procs::catalog::all().for_each(|m| add(m.object_id, 0, &m.text));
    rows
}

/// The program of a module, `None` when its text no longer compiles.
pub(super) fn program(cx: &ViewContext<'_>, m: &Arc<ModuleDef>) -> Option<Arc<Program>> {
    crate::modules::program(cx.info, &cx.entry, m).ok()
}

/// Where `user_type_id` is in a row of [`PARAMETER`].
const USER_TYPE: usize = 4;

fn parameters(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for m in cx.picture.modules().filter(|m| !matches!(m.kind, ModuleKind::View | ModuleKind::Trigger)) {
        let Some(program) = program(cx, m) else { continue };
        let declared = crate::declared::of_module(cx.info, &cx.entry, &cx.picture, m);
        // What it was declared with, where that is a user's type.
        let made = |mut row: Vec<Value>, ty: Option<&Arc<TypeDef>>| {
            if let Some(ty) = ty {
                row[USER_TYPE] = int(ty.user_type_id);
            }
            row
        };
        if let Some(ty) = program.returns {
            let row = parameter_row(m.object_id, 0, "", ty, true, false, false);
            rows.push(made(row, declared.result.as_ref()));
        }
        for (i, row) in declared_parameters(m.object_id, &program).enumerate() {
            rows.push(made(row, declared.parameters.get(i).and_then(Option::as_ref)));
        }
    }
    rows
}

/// Those of the system's own modules that are T-SQL.
fn system_parameters(cx: &ViewContext<'_>) -> Rows {
    let of_module =
        |m: &Arc<ModuleDef>| Some(declared_parameters(m.object_id, &*program(cx, m)?).collect::<Rows>());
    crate::procs::catalog::all().filter_map(of_module).flatten().collect()
}

fn declared_parameters(id: i32, program: &Program) -> impl Iterator<Item = Vec<Value>> {
    program.parameters.iter().enumerate().map(move |(i, p)| {
        let default = p.default.is_some();
        parameter_row(id, i as i64 + 1, &p.name, p.ty, p.output, default, p.table.is_some())
    })
}

fn parameter_row(
    id: i32,
    number: i64,
    name: &str,
    ty: SqlType,
    output: bool,
    default: bool,
    table: bool,
) -> Vec<Value> {
    let f = facts(ty);
    let (document, collection) = super::columns::xml_facts(ty);
    let mut row = vec![
        int(id),
        text(name),
        int(number),
        int(if table { 243 } else { f.system_type_id }),
        int(f.user_type_id),
        int(f.max_length),
        int(f.precision),
        int(f.scale),
        bit(output),
        bit(false),
        bit(default),
        bit(document),
        NULL,
        int(collection),
        bit(table),
        bit(true),
    ];
    row.extend(super::columns::encryption(ty));
    row
}

/// The columns of the functions of a database that return a table; none of one that no longer compiles.
pub(super) fn function_columns(cx: &ViewContext<'_>) -> Vec<(i32, Vec<ColumnDef>)> {
    let of_table =
        |m: &&Arc<ModuleDef>| matches!(m.kind, ModuleKind::InlineTableFunction | ModuleKind::TableFunction);
    let columns = |m: &Arc<ModuleDef>| {
        let program = program(cx, m)?;
        let schema = cx.picture.schema_name(m.schema_id)?;
        let arguments = vec!["DEFAULT"; program.parameters.len()].join(", ");
        let quoted = |name: &str| format!("[{}]", name.replace(']', "]]"));
        let text = format!("SELECT * FROM {}.{}({arguments})", quoted(&schema), quoted(&m.name));
        let batch =
            keel_parser::parse_batch(&text, keel_parser::ParseOptions { quoted_identifier: true }).ok()?;
        let StatementKind::Select(select) = &batch.statements.first()?.kind else { return None };
        let plan = keel_query::compile_select(&Scope::bare(cx.info, cx.entry.id), select).ok()?;
        Some((m.object_id, plan.columns().iter().enumerate().map(described).collect()))
    };
    cx.picture.modules().filter(of_table).filter_map(columns).collect()
}

/// A column as a query gives it.
fn described((i, c): (usize, &keel_query::ColumnMeta)) -> ColumnDef {
    ColumnDef {
        nullable: c.nullable,
        identity: c.identity.then_some((1, 1)),
        ..ColumnDef::plain(i, &c.name, c.ty)
    }
}

/// The columns of the views of a database.
pub(super) fn view_columns(cx: &ViewContext<'_>) -> Vec<(i32, Vec<ColumnDef>)> {
    let mut out = Vec::new();
    for m in cx.picture.modules().filter(|m| m.kind == ModuleKind::View) {
        let columns = module_columns(cx.info, &cx.entry, m);
        if !columns.is_empty() {
            out.push((m.object_id, columns));
        }
    }
    out
}

/// Columns of a view; none for other modules, and for a view whose query no longer compiles.
#[must_use]
pub(crate) fn module_columns(info: &Info, entry: &Arc<DatabaseEntry>, m: &ModuleDef) -> Vec<ColumnDef> {
    if m.kind != ModuleKind::View {
        return Vec::new();
    }
    let Ok(statement) = crate::modules::parse(m) else { return Vec::new() };
    let StatementKind::CreateView(view) = &statement.kind else { return Vec::new() };
    let mut scope = Scope::bare(info, entry.id);
    scope.identity.schema_id = m.schema_id;
    let Ok(plan) = keel_query::compile_select(&scope, &view.query.select) else { return Vec::new() };
    let column = |(i, c): (usize, &keel_query::ColumnMeta)| ColumnDef {
        name: view.columns.get(i).map_or_else(|| c.name.clone(), |n| n.text.to_string()),
        ..described((i, c))
    };
    plan.columns().iter().enumerate().map(column).collect()
}
