//! What a text would return and what it wants to be given, told without running it: `sp_describe_first_result_set`,
//! `sys.dm_exec_describe_first_result_set` and `sp_describe_undeclared_parameters`.
//!
//! The text becomes a program like any other, and its statements are compiled in order until one returns rows. Calls are
//! followed into procedures. A parameter that nobody declared is bound without a type; the types that the binder would
//! convert it to are what is suggested ([`keel_query::deduced`]).
//!
//! Deliberately absent: a comparison of the result sets that different branches would give (the first in the text counts),
//! the hidden key columns of browse mode.

use crate::catalog::Named;
use crate::errors;
use crate::program::lower::TextOptions;
use crate::program::{
    ArgValue, Call, CallTarget, Instruction, ModuleIdentity, Op, Program, ProgramKind, Slot, Unit,
    UnitSource, lower_batch,
};
use crate::run::{NEST_LEVEL_MAX, parse_error};
use crate::session::info::Info;
use crate::session::options::Switches;
use crate::session::scope::{FrameTables, Scope};
use crate::views::{Column, NULL, bit, facts, int, text};
use keel_parser::ast::{self, StatementKind};
use keel_parser::lexer::{Tok, tokenize};
use keel_query::ColumnMeta;
use keel_query::catalog::{Catalog as _, ModuleKind, TypeDef};
use keel_query::plan::Dml;
use keel_query::scope::NameParts;
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value};
use std::collections::HashSet;
use std::sync::Arc;

const NAME: SqlType = SqlType::SYSNAME;
const LONG: SqlType = SqlType::NVarChar(Length::Limited(4000));
const TYPE_NAME: SqlType = SqlType::NVarChar(Length::Limited(256));

/// Columns that `sp_describe_first_result_set` and the function of like name have in common.
pub const RESULT_COLUMNS: [Column; 39] = [
    ("is_hidden", SqlType::Bit),
    ("column_ordinal", SqlType::Int),
    ("name", NAME),
    ("is_nullable", SqlType::Bit),
    ("system_type_id", SqlType::Int),
    ("system_type_name", TYPE_NAME),
    ("max_length", SqlType::SmallInt),
    ("precision", SqlType::TinyInt),
    ("scale", SqlType::TinyInt),
    ("collation_name", NAME),
    ("user_type_id", SqlType::Int),
    ("user_type_database", NAME),
    ("user_type_schema", NAME),
    ("user_type_name", NAME),
    ("assembly_qualified_type_name", LONG),
    ("xml_collection_id", SqlType::Int),
    ("xml_collection_database", NAME),
    ("xml_collection_schema", NAME),
    ("xml_collection_name", NAME),
    ("is_xml_document", SqlType::Bit),
    ("is_case_sensitive", SqlType::Bit),
    ("is_fixed_length_clr_type", SqlType::Bit),
    ("source_server", NAME),
    ("source_database", NAME),
    ("source_schema", NAME),
    ("source_table", NAME),
    ("source_column", NAME),
    ("is_identity_column", SqlType::Bit),
    ("is_part_of_unique_key", SqlType::Bit),
    ("is_updateable", SqlType::Bit),
    ("is_computed_column", SqlType::Bit),
    ("is_sparse_column_set", SqlType::Bit),
    ("ordinal_in_order_by_list", SqlType::SmallInt),
    ("order_by_is_descending", SqlType::SmallInt),
    ("order_by_list_length", SqlType::SmallInt),
    ("tds_type_id", SqlType::Int),
    ("tds_length", SqlType::Int),
    ("tds_collation_id", SqlType::Int),
    ("tds_collation_sort_id", SqlType::TinyInt),
];

/// Columns of `sp_describe_undeclared_parameters`.
pub const PARAMETER_COLUMNS: [Column; 24] = [
    ("parameter_ordinal", SqlType::Int),
    ("name", NAME),
    ("suggested_system_type_id", SqlType::Int),
    ("suggested_system_type_name", TYPE_NAME),
    ("suggested_max_length", SqlType::SmallInt),
    ("suggested_precision", SqlType::TinyInt),
    ("suggested_scale", SqlType::TinyInt),
    ("suggested_user_type_id", SqlType::Int),
    ("suggested_user_type_database", NAME),
    ("suggested_user_type_schema", NAME),
    ("suggested_user_type_name", NAME),
    ("suggested_assembly_qualified_type_name", LONG),
    ("suggested_xml_collection_id", SqlType::Int),
    ("suggested_xml_collection_database", NAME),
    ("suggested_xml_collection_schema", NAME),
    ("suggested_xml_collection_name", NAME),
    ("suggested_is_xml_document", SqlType::Bit),
    ("suggested_is_case_sensitive", SqlType::Bit),
    ("suggested_is_fixed_length_clr_type", SqlType::Bit),
    ("suggested_is_input", SqlType::Bit),
    ("suggested_is_output", SqlType::Bit),
    ("formal_parameter_name", NAME),
    ("suggested_tds_type_id", SqlType::Int),
    ("suggested_tds_length", SqlType::Int),
];

/// Errors of texts whose results only their execution can tell.
const UNDESCRIBED: std::ops::RangeInclusive<i32> = 11_500..=11_549;

/// A result set that a text would give.
#[derive(Debug, Default)]
struct ResultSet {
    columns: Vec<ColumnMeta>,
    /// Columns of ORDER BY: index of the result's column, descending.
    order: Vec<(Option<usize>, bool)>,
}

/// The rows that describe a text's first result set; none when it gives none. `browse` fills in where columns come from. Parameters that nobody
/// has declared have no type: drivers ask before they know one.
pub fn first_result_set(info: &Info, sql: &str, declarations: &str, browse: bool) -> Result<Vec<Vec<Value>>> {
    const UNDECLARED: i32 = 137;
    let parameters = parameters(declarations)?;
    let first = |program: &Arc<Program>| first_of(info, program, 0);
    let set = match lower(info, sql, &parameters).and_then(|program| first(&program)) {
        Err(e) if e.number == UNDECLARED => first(&with_undeclared(info, sql, parameters)?.0)?,
        told => told?,
    };
    Ok(result_rows(info, &set.unwrap_or_default(), browse))
}

/// The columns of a text's first result set as a client is told of them: none when it gives none, or when only its execution can tell. What is
/// wrong with a text of several statements may be different by the time it runs, and is no error.
pub fn first_columns(info: &Info, sql: &str, declarations: &str) -> Result<Vec<crate::sink::ColumnMeta>> {
    let program = lower(info, sql, &parameters(declarations)?)?;
    let single = program.code.len() <= 2;
    match first_of(info, &program, 0) {
        Ok(set) => Ok(set.unwrap_or_default().columns.iter().map(crate::run::column_meta).collect()),
        Err(e) if single && !UNDESCRIBED.contains(&e.number) => Err(e),
        Err(_) => Ok(Vec::new()),
    }
}

/// The rows that describe the first result set of a procedure or trigger.
pub fn first_result_set_of(info: &Info, object_id: i32, browse: bool) -> Result<Vec<Vec<Value>>> {
    let entry = info.current_database();
    let module = info.picture(&entry).module_by_id(object_id).cloned();
    let Some(module) = module else { return Ok(Vec::new()) };
    let program = crate::modules::program(info, &entry, &module)?;
    let set = first_of(info, &program, 0)?.unwrap_or_default();
    Ok(result_rows(info, &set, browse))
}

/// The program of a text with parameters.
pub(crate) fn program(info: &Info, sql: &str, declarations: &str) -> Result<Arc<Program>> {
    lower(info, sql, &parameters(declarations)?)
}

pub(crate) fn parameters(declarations: &str) -> Result<Vec<ast::Parameter>> {
    if declarations.trim().is_empty() {
        return Ok(Vec::new());
    }
    keel_parser::parse_parameters(declarations).map_err(parse_error)
}

fn lower(info: &Info, sql: &str, parameters: &[ast::Parameter]) -> Result<Arc<Program>> {
    let entry = info.current_database();
    let (database, schema_id) = (entry.id, info.default_schema(&entry));
    let options = {
        let options = info.options.borrow();
        TextOptions {
            quoted_identifier: options.on(Switches::QUOTED_IDENTIFIER),
            ansi_nulls: options.on(Switches::ANSI_NULLS),
        }
    };
    let parse = keel_parser::ParseOptions { quoted_identifier: options.quoted_identifier };
    let batch = keel_parser::parse_batch(sql, parse).map_err(parse_error)?;
    let identity =
        ModuleIdentity { database, object_id: 0, schema_id, name: None, kind: ProgramKind::Dynamic };
    let scope = Scope::bare(info, database);
    let program = lower_batch(identity, sql.into(), &batch, parameters, options, &scope)?;
    Ok(Arc::new(crate::column_keys::deduce::settled(info, program)))
}

/// The program of a text with declared parameters.
pub(crate) fn program_of(info: &Info, sql: &str, declarations: &str) -> Result<Arc<Program>> {
    lower(info, sql, &parameters(declarations)?)
}

fn first_of(info: &Info, program: &Arc<Program>, depth: u32) -> Result<Option<ResultSet>> {
    for instruction in &program.code {
        let set = match &instruction.op {
            Op::Select { query, assigns: false } => Some(described(info, program, instruction, query)?),
            Op::Dml { statement, .. } => Some(described(info, program, instruction, statement)?),
            Op::Call(call) => called(info, program, instruction, call, depth)?,
            Op::ExecText { .. } => return Err(dynamic(program, instruction)),
            _ => None,
        };
        if let Some(set) = set.filter(|s| !s.columns.is_empty()) {
            return Ok(Some(set));
        }
    }
    Ok(None)
}

fn described(info: &Info, program: &Program, at: &Instruction, unit: &Unit) -> Result<ResultSet> {
    let tables = FrameTables::default();
    let scope = Scope::new(info, program, &tables);
    let UnitSource::Statement(statement) = &unit.source else { return Ok(ResultSet::default()) };
    let plan = match &statement.kind {
        StatementKind::Select(s) => keel_query::compile_select(&scope, s),
        StatementKind::Insert(s) => keel_query::compile_dml(&scope, Dml::Insert(s)),
        StatementKind::Update(s) => keel_query::compile_dml(&scope, Dml::Update(s)),
        StatementKind::Delete(s) => keel_query::compile_dml(&scope, Dml::Delete(s)),
        StatementKind::Merge(s) => keel_query::compile_dml(&scope, Dml::Merge(s)),
        _ => return Ok(ResultSet::default()),
    };
    let plan = plan.map_err(|e| {
        let temporary = e.number == 208 && e.message.contains("'#");
        if !temporary {
            return e;
        }
        match &program.identity.name {
            Some(name) => errors::undescribed_temporary_in(statement_text(program, at), name),
            None => errors::undescribed_temporary(statement_text(program, at)),
        }
    })?;
    let columns = plan.columns().to_vec();
    let order = match &statement.kind {
        StatementKind::Select(s) => order_of(&s.query.order_by, &columns),
        _ => Vec::new(),
    };
    Ok(ResultSet { columns, order })
}

fn order_of(items: &[ast::OrderItem], columns: &[ColumnMeta]) -> Vec<(Option<usize>, bool)> {
    let place = |item: &ast::OrderItem| match &item.expr.kind {
        ast::ExprKind::Literal(l) => l.as_i64().and_then(|n| usize::try_from(n - 1).ok()),
        ast::ExprKind::Column(c) => columns.iter().position(|m| crate::views::same(&m.name, &c.name.text)),
        _ => None,
    };
    items.iter().map(|item| (place(item), item.descending)).collect()
}

fn called(
    info: &Info,
    program: &Program,
    at: &Instruction,
    call: &Call,
    depth: u32,
) -> Result<Option<ResultSet>> {
    match &call.target {
        CallTarget::Name(name) => match procedure(info, program, name)? {
            Some(callee) if depth < NEST_LEVEL_MAX => first_of(info, &callee, depth + 1),
            Some(_) => Err(errors::nesting_level()),
            None if name.name.is("sp_executesql") => Err(dynamic(program, at)),
            None => Ok(None),
        },
        CallTarget::Slot(_) | CallTarget::Text(_) | CallTarget::At(..) => Err(dynamic(program, at)),
    }
}

/// The procedure of that name; `None` for those of the system.
pub(crate) fn procedure(
    info: &Info,
    program: &Program,
    name: &ast::ObjectName,
) -> Result<Option<Arc<Program>>> {
    if crate::procs::find(name).is_some() {
        return Ok(None);
    }
    if let Some(module) = crate::procs::catalog::find(name) {
        return crate::modules::program(info, &info.current_database(), &module).map(Some);
    }
    let mut scope = Scope::bare(info, program.identity.database);
    scope.identity.schema_id = program.identity.schema_id;
    let parts = NameParts {
        database: name.database.as_ref().map(|i| i.text.as_str()),
        schema: name.schema.as_ref().map(|i| i.text.as_str()),
        object: &name.name.text,
    };
    match scope.resolve(parts) {
        Some((entry, Named::Module(module))) if module.kind == ModuleKind::Procedure => {
            crate::modules::program(info, &entry, &module).map(Some)
        }
        _ => Err(errors::no_procedure(name)),
    }
}

/// The line on which a statement begins, for messages.
fn statement_text<'p>(program: &'p Program, at: &Instruction) -> &'p str {
    program.text.lines().nth(at.line.saturating_sub(1) as usize).unwrap_or_default().trim()
}

fn dynamic(program: &Program, at: &Instruction) -> Box<keel_types::SqlError> {
    match &program.identity.name {
        Some(name) => errors::undescribed_dynamic_in(statement_text(program, at), name),
        None => errors::undescribed_dynamic(statement_text(program, at)),
    }
}

fn result_rows(info: &Info, set: &ResultSet, browse: bool) -> Vec<Vec<Value>> {
    set.columns.iter().enumerate().map(|(i, c)| result_row(info, set, i, c, browse)).collect()
}

fn result_row(info: &Info, set: &ResultSet, i: usize, c: &ColumnMeta, browse: bool) -> Vec<Value> {
    let f = facts(c.ty);
    let mut row = vec![
        bit(false),
        int(i as i64 + 1),
        if c.name.is_empty() { NULL } else { text(c.name.as_str()) },
        bit(c.nullable),
        int(f.system_type_id),
        text(c.ty.to_string()),
        int(f.max_length),
        int(f.precision),
        int(f.scale),
        if f.is_text { text(c.collation.name()) } else { NULL },
    ];
    row.resize(15, NULL);
    match c.ty.xml_schema() {
        Some(of) => {
            let [schema, name] = keel_query::xml_collection::name_of(of).unwrap_or_default();
            let database = c.source.as_ref().map(|s| s.database);
            let entry = database.and_then(|id| info.engine.database_by_id(id));
            let entry = entry.unwrap_or_else(|| info.current_database());
            row.extend([
                int(of.collection),
                text(entry.name().to_string()),
                text(schema),
                text(name),
                bit(of.document),
            ]);
        }
        None => row.extend([NULL, NULL, NULL, NULL, bit(false)]),
    }
    let sensitive = f.is_text && !c.collation.ignores_case();
    row.extend([bit(sensitive), bit(false), NULL]);
    match c.source.as_ref().filter(|_| browse) {
        Some(source) => {
            let entry = info.engine.database_by_id(source.database);
            let schema = entry.as_ref().and_then(|e| info.picture(e).schema_name(source.schema_id));
            row.push(entry.map_or(NULL, |e| text(e.name().to_string())));
            row.push(schema.map_or(NULL, text));
            row.extend([text(source.table.as_str()), text(source.column.as_str())]);
        }
        None => row.extend([NULL, NULL, NULL, NULL]),
    }
    row.push(bit(c.identity));
    row.push(if browse { bit(in_unique_key(info, c)) } else { NULL });
    row.extend([bit(c.updatable), bit(c.computed), bit(false)]);
    match set.order.iter().position(|(column, _)| *column == Some(i)) {
        Some(at) => {
            let descending = i64::from(set.order[at].1);
            row.extend([int(at as i64 + 1), int(descending), int(set.order.len() as i64)]);
        }
        None => row.extend([NULL, NULL, NULL]),
    }
    let (id, length) = tds_type(c.ty, c.nullable);
    row.extend([int(id), int(length)]);
    if f.is_text {
        row.extend([int(c.collation.wire_info()), int(c.collation.sort_id())]);
    } else {
        row.extend([NULL, NULL]);
    }
    row
}

fn in_unique_key(info: &Info, c: &ColumnMeta) -> bool {
    let Some(source) = &c.source else { return false };
    let Some(table) = info.table_by_id(source.database, source.object_id) else { return false };
    table.indexes.iter().any(|i| i.unique && i.key.iter().any(|k| k.column_id == source.column_id))
}

/// Type and length on the wire (MS-TDS 2.2.5.4).
fn tds_type(ty: SqlType, nullable: bool) -> (i32, i32) {
    let bytes = i32::from(ty.max_length_bytes());
    let length = if bytes < 0 { 65_535 } else { bytes };
    let fixed = |fixed: i32, or: i32| if nullable { or } else { fixed };
    match ty {
        SqlType::Bit => (fixed(50, 104), 1),
        SqlType::TinyInt => (fixed(48, 38), 1),
        SqlType::SmallInt => (fixed(52, 38), 2),
        SqlType::Int | SqlType::Null => (fixed(56, 38), 4),
        SqlType::BigInt => (fixed(127, 38), 8),
        SqlType::Real => (fixed(59, 109), 4),
        SqlType::Float => (fixed(62, 109), 8),
        SqlType::SmallMoney => (fixed(122, 110), 4),
        SqlType::Money => (fixed(60, 110), 8),
        SqlType::SmallDateTime => (fixed(58, 111), 4),
        SqlType::DateTime => (fixed(61, 111), 8),
        SqlType::Decimal { .. } => (106, 17),
        SqlType::Numeric { .. } => (108, 17),
        SqlType::RowVersion => (173, 8),
        SqlType::Text | SqlType::Image => (ty.system_type_id().into(), i32::MAX),
        SqlType::NText => (ty.system_type_id().into(), i32::MAX - 1),
        SqlType::Xml | SqlType::TypedXml(_) => (241, 8_100),
        SqlType::SqlVariant => (98, 8_009),
        SqlType::Encrypted(e) => tds_type(e.scheme().cipher(), nullable),
        _ => (ty.system_type_id().into(), length),
    }
}

/// A parameter that nobody declared.
struct Undeclared {
    name: String,
    slot: Slot,
    ty: Option<SqlType>,
    output: bool,
    /// The parameter of the procedure it goes to.
    formal: Option<String>,
    /// The table type that this one has, with its database and schema.
    table: Option<TableTypeOf>,
}

/// A table type, and the names of its database and schema.
type TableTypeOf = (Arc<TypeDef>, String, String);

/// The rows that describe the parameters a text uses without declaring them.
pub fn undeclared_parameters(info: &Info, sql: &str, declarations: &str) -> Result<Vec<Vec<Value>>> {
    let (program, mut wanted) = with_undeclared(info, sql, parameters(declarations)?)?;
    for instruction in &program.code {
        deduce(info, &program, instruction, &mut wanted)?;
    }
    let row = |(i, p): (usize, &Undeclared)| parameter_row(i, p);
    wanted.iter().enumerate().map(row).collect()
}

/// The program of a text in which the variables that nobody has declared have no type, and these variables.
fn with_undeclared(
    info: &Info,
    sql: &str,
    declared: Vec<ast::Parameter>,
) -> Result<(Arc<Program>, Vec<Undeclared>)> {
    let names = undeclared_names(info, sql, &declared)?;
    let mut all = declared;
    for name in &names {
        all.extend(parameters(&format!("{name} int"))?);
    }
    let mut program = lower(info, sql, &all)?;
    let known = Arc::get_mut(&mut program).expect("nobody else has seen the program");
    let mut wanted = Vec::new();
    for name in names {
        let Some((slot, _)) = known.variable(&name) else { continue };
        known.variables[slot as usize].ty = SqlType::Null;
        wanted.push(Undeclared { name, slot, ty: None, output: false, formal: None, table: None });
    }
    Ok((program, wanted))
}

/// Names in the order of the text. A name that stands twice is refused, as its types might differ.
fn undeclared_names(info: &Info, sql: &str, declared: &[ast::Parameter]) -> Result<Vec<String>> {
    let parse = keel_parser::ParseOptions { quoted_identifier: info.on(Switches::QUOTED_IDENTIFIER) };
    let batch = keel_parser::parse_batch(sql, parse).map_err(parse_error)?;
    let mut local: HashSet<String> = declared.iter().map(|p| p.variable.name.to_lowercase()).collect();
    declarations_in(&batch.statements, &mut local);
    let mut formal = HashSet::new();
    formal_names(&batch.statements, &mut formal);
    let tokens = tokenize(sql, parse.quoted_identifier).map_err(parse_error)?;
    let mut names: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for token in tokens {
        let Some(word) = sql.get(token.start as usize..token.end as usize) else { continue };
        let own = token.tok == Tok::Variable && !formal.contains(&token.start);
        if !own || local.contains(&word.to_lowercase()) {
            continue;
        }
        if !seen.insert(word.to_lowercase()) {
            return Err(errors::undeclared_twice(word));
        }
        names.push(word.to_owned());
    }
    Ok(names)
}

fn each_block(s: &ast::Statement, visit: &mut dyn FnMut(&[ast::Statement])) {
    match &s.kind {
        StatementKind::Block(body) => visit(body),
        StatementKind::If(i) => {
            visit(std::slice::from_ref(&i.then));
            i.otherwise.iter().for_each(|s| visit(std::slice::from_ref(s)));
        }
        StatementKind::While(w) => visit(std::slice::from_ref(&w.body)),
        StatementKind::TryCatch(t) => {
            visit(&t.body);
            visit(&t.handler);
        }
        _ => {}
    }
}

fn declarations_in(statements: &[ast::Statement], names: &mut HashSet<String>) {
    for s in statements {
        if let StatementKind::Declare(all) = &s.kind {
            names.extend(all.iter().map(|d| ast::declared(d).name.to_lowercase()));
        }
        each_block(s, &mut |inner| declarations_in(inner, names));
    }
}

/// Where the names of procedures' parameters stand in calls.
fn formal_names(statements: &[ast::Statement], at: &mut HashSet<u32>) {
    for s in statements {
        let call = match &s.kind {
            StatementKind::Execute(e) => Some(e),
            StatementKind::Insert(i) => match &i.source {
                ast::InsertSource::Execute(e) => Some(e),
                _ => None,
            },
            _ => None,
        };
        let names = call.into_iter().flat_map(|e| &e.args).filter_map(|a| a.name.as_ref());
        at.extend(names.map(|v| v.span.start));
        each_block(s, &mut |inner| formal_names(inner, at));
    }
}

fn deduce(info: &Info, program: &Arc<Program>, at: &Instruction, wanted: &mut [Undeclared]) -> Result<()> {
    match &at.op {
        Op::Call(call) => deduce_call(info, program, call, wanted),
        _ => note(wanted, deduced(info, program, at)),
    }
}

/// What a statement that is no call tells of the types of variables; of an assignment also the type of its value.
pub(crate) fn deduced(
    info: &Info,
    program: &Arc<Program>,
    at: &Instruction,
) -> (Result<Option<SqlType>>, Vec<(usize, SqlType)>) {
    let tables = FrameTables::default();
    let scope = Scope::new(info, program, &tables);
    match &at.op {
        Op::Select { query: unit, .. } | Op::Dml { statement: unit, .. } => {
            keel_query::deduced(|| described(info, program, at, unit).map(|_| None))
        }
        Op::SelectInto(into) => {
            keel_query::deduced(|| keel_query::compile_select(&scope, &into.0).map(|_| None))
        }
        Op::Assign { value: unit, .. }
        | Op::JumpUnless { condition: unit, .. }
        | Op::Print(unit)
        | Op::Return(Some(unit)) => keel_query::deduced(|| match &unit.source {
            UnitSource::Expr(e, ty) => {
                let to = ty.filter(|_| !matches!(at.op, Op::Assign { .. }) || is_plain(&scope, e));
                keel_query::compile_expr(&scope, e, to).map(|code| Some(code.ty()))
            }
            UnitSource::Condition(e) => keel_query::compile_condition(&scope, e).map(|_| None),
            UnitSource::Statement(_) => Ok(None),
        }),
        _ => (Ok(None), Vec::new()),
    }
}

/// Whether a value is not encrypted, so that it converts to what it is assigned to.
fn is_plain(scope: &Scope<'_>, e: &ast::Expr) -> bool {
    !keel_query::compile_expr(scope, e, None).is_ok_and(|code| code.ty().is_encrypted())
}

fn note<T>(wanted: &mut [Undeclared], (outcome, notes): (Result<T>, Vec<(usize, SqlType)>)) -> Result<()> {
    outcome?;
    for (index, ty) in notes {
        // Slots rise with the order of the text.
        if let Ok(at) = wanted.binary_search_by_key(&index, |w| w.slot as usize) {
            wanted[at].ty.get_or_insert(ty);
        }
    }
    Ok(())
}

fn deduce_call(info: &Info, program: &Program, call: &Call, wanted: &mut [Undeclared]) -> Result<()> {
    if let Some(w) = call.status.and_then(|slot| wanted.iter_mut().find(|w| w.slot == slot)) {
        (w.ty, w.output) = (Some(SqlType::Int), true);
    }
    let CallTarget::Name(name) = &call.target else { return Ok(()) };
    let Some(callee) = procedure(info, program, name)? else { return Ok(()) };
    for (i, arg) in call.args.iter().enumerate() {
        let ArgValue::Slot(slot) = arg.value else { continue };
        let formal = match &arg.name {
            Some(name) => callee.parameters.iter().find(|p| p.name.eq_ignore_ascii_case(name)),
            None => callee.parameters.get(i),
        };
        if let (Some(formal), Some(w)) = (formal, wanted.iter_mut().find(|w| w.slot == slot)) {
            w.ty = Some(formal.ty);
            w.output = arg.output && formal.output;
            w.formal = Some(formal.name.to_string());
            w.table = formal.table.as_ref().and_then(|(_, name)| table_type(info, &callee, name));
        }
    }
    Ok(())
}

fn table_type(info: &Info, callee: &Program, name: &ast::ObjectName) -> Option<TableTypeOf> {
    let mut scope = Scope::bare(info, callee.identity.database);
    scope.identity.schema_id = callee.identity.schema_id;
    let ty = scope.table_type(name)?;
    let entry = info.engine.database_by_id(callee.identity.database)?;
    let schema = info.picture(&entry).schema_name(ty.schema_id)?.to_string();
    Some((ty, entry.name().to_string(), schema))
}

/// `system_type_id` and type on the wire of a table type.
const TABLE_TYPE: i32 = 243;

fn parameter_row(i: usize, p: &Undeclared) -> Result<Vec<Value>> {
    if let Some((ty, database, schema)) = &p.table {
        let mut row =
            vec![int(i as i64 + 1), text(p.name.as_str()), int(TABLE_TYPE), NULL, int(-1), int(0), int(0)];
        row.extend([
            int(ty.user_type_id),
            text(database.as_str()),
            text(schema.as_str()),
            text(ty.name.as_str()),
        ]);
        row.resize(16, NULL);
        row.extend([bit(false), bit(false), bit(false), bit(true), bit(false)]);
        row.extend([p.formal.as_deref().map_or(NULL, text), int(TABLE_TYPE), int(-1)]);
        return Ok(row);
    }
    let ty = p.ty.ok_or_else(|| errors::undeducible_parameter(&p.name))?;
    let f = facts(ty);
    let mut row = vec![
        int(i as i64 + 1),
        text(p.name.as_str()),
        int(f.system_type_id),
        text(ty.to_string()),
        int(f.max_length),
        int(f.precision),
        int(f.scale),
    ];
    row.resize(16, NULL);
    row.extend([bit(false), bit(false), bit(false), bit(true), bit(p.output)]);
    row.push(p.formal.as_deref().map_or(NULL, text));
    let (id, length) = tds_type(ty, true);
    row.extend([int(id), int(length)]);
    Ok(row)
}
