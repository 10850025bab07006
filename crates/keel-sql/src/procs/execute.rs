//! sp_executesql and what describes statements.

use super::{Outcome, ok, string};
use crate::errors;
use crate::run::{Argument, Runner, parse_error};
use crate::session::scope::Scope;
use crate::views::facts;
use keel_parser::ast::StatementKind;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

/// `sp_executesql @stmt, @params, values…`
pub(super) fn sp_executesql(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let statement = string(args, "stmt", 0).or_else(|| string(args, "statement", 0));
    let Some(statement) = statement else {
        return Err(errors::parameter_missing("sp_executesql", "@statement").into());
    };
    let declarations = string(args, "params", 1).unwrap_or_default();
    let skip = args.len().min(2);
    run_sql(runner, statement.into(), declarations.into(), &args[skip..], skip)
}

/// Runs a parameterised text; `skip` is the place of the first value in the caller's argument list.
pub fn run_sql(
    runner: &mut Runner<'_>,
    text: Arc<str>,
    declarations: Arc<str>,
    values: &[Argument],
    skip: usize,
) -> Outcome {
    let mut returned = runner.run_dynamic(text, declarations, &[], values)?;
    for (at, _, _) in &mut returned.outputs {
        *at += skip;
    }
    returned.status = 0;
    Ok(returned)
}

const TEXT: SqlType = SqlType::NVarChar(Length::Limited(128));

const DESCRIBE: &[(&str, SqlType)] = &[
    ("is_hidden", SqlType::Bit),
    ("column_ordinal", SqlType::Int),
    ("name", TEXT),
    ("is_nullable", SqlType::Bit),
    ("system_type_id", SqlType::Int),
    ("system_type_name", TEXT),
    ("max_length", SqlType::SmallInt),
    ("precision", SqlType::TinyInt),
    ("scale", SqlType::TinyInt),
    ("collation_name", TEXT),
    ("user_type_id", SqlType::Int),
    ("user_type_database", TEXT),
    ("user_type_schema", TEXT),
    ("user_type_name", TEXT),
    ("assembly_qualified_type_name", TEXT),
    ("xml_collection_id", SqlType::Int),
    ("xml_collection_database", TEXT),
    ("xml_collection_schema", TEXT),
    ("xml_collection_name", TEXT),
    ("is_xml_document", SqlType::Bit),
    ("is_case_sensitive", SqlType::Bit),
    ("is_fixed_length_clr_type", SqlType::Bit),
    ("source_server", TEXT),
    ("source_database", TEXT),
    ("source_schema", TEXT),
    ("source_table", TEXT),
    ("source_column", TEXT),
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

/// `sp_describe_first_result_set @tsql, @params, @mode`
pub(super) fn sp_describe_first_result_set(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let text: Arc<str> = string(args, "tsql", 0).unwrap_or_default().into();
    let declarations: Arc<str> = string(args, "params", 1).unwrap_or_default().into();
    let program = runner.batch_program(&text, &declarations, &[], true)?;
    let batch = keel_parser::parse_batch(&text, keel_parser::ParseOptions::default()).map_err(parse_error)?;
    let select = batch.statements.iter().find_map(|s| match &s.kind {
        StatementKind::Select(select) => Some(select),
        _ => None,
    });
    let Some(select) = select else {
        runner.result_set(DESCRIBE, &[])?;
        return ok();
    };
    let tables = crate::session::scope::FrameTables::default();
    let plan = keel_query::compile_select(&Scope::new(runner.info, &program, &tables), select)?;
    let mut rows = Vec::new();
    for (i, c) in plan.columns().iter().enumerate() {
        let f = facts(c.ty);
        let int = |n: i64| Value::Int(n);
        let collation = if f.is_text { Value::str("SQL_Latin1_General_CP1_CI_AS") } else { Value::Null };
        let name = if c.name.is_empty() { Value::Null } else { Value::str(c.name.as_str()) };
        let mut row = vec![
            Value::Bit(false),
            int(i as i64 + 1),
            name,
            Value::Bit(c.nullable),
            int(f.system_type_id.into()),
            Value::str(c.ty.to_string()),
            int(f.max_length.into()),
            int(f.precision.into()),
            int(f.scale.into()),
            collation,
        ];
        row.resize(19, Value::Null);
        row.extend([Value::Bit(false), Value::Bit(false), Value::Bit(false)]);
        row.resize(27, Value::Null);
        row.extend([
            Value::Bit(c.identity),
            Value::Null,
            Value::Bit(c.updatable),
            Value::Bit(c.computed),
            Value::Bit(false),
        ]);
        row.resize(DESCRIBE.len() - 4, Value::Null);
        row.extend([int(f.system_type_id.into()), int(f.max_length.into()), Value::Null, Value::Null]);
        rows.push(row);
    }
    runner.result_set(DESCRIBE, &rows)?;
    ok()
}
