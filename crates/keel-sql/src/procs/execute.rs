//! sp_executesql and what describes statements.

use super::{Outcome, number, ok, string};
use crate::column_keys::describe::{KEY_COLUMNS, PARAMETER_COLUMNS, parameter_encryption};
use crate::describe;
use crate::errors;
use crate::run::{Argument, Runner};
use keel_types::SqlError;
use std::sync::Arc;

/// `sp_executesql @stmt, @params, values…`
pub(super) fn sp_executesql(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    is_unicode(args.first(), "@statement", 2)?;
    // Whatever the first two are called, they are the text and the declarations.
    let text = |at: usize| {
        args.get(at).and_then(|a| string(std::slice::from_ref(a), a.name.trim_start_matches('@'), 0))
    };
    let Some(statement) = string(args, "stmt", 0).or_else(|| text(0)) else {
        // A text that is NULL is no statement, and no error.
        if args.first().is_some_and(|a| a.value.is_some()) {
            return ok();
        }
        return Err(errors::parameter_missing("sp_executesql", "@statement").into());
    };
    is_unicode(args.get(1), "@params", 3)?;
    let declarations = string(args, "params", 1).or_else(|| text(1)).unwrap_or_default();
    let skip = args.len().min(2);
    run_sql(runner, statement.into(), declarations.into(), &args[skip..], skip)
}

/// Error 214 with a state unless an argument is of the types that texts have.
fn is_unicode(argument: Option<&Argument>, name: &str, state: u8) -> keel_types::error::Result<()> {
    if argument.is_none_or(|a| a.ty.is_national()) {
        return Ok(());
    }
    let text = format!("Procedure expects parameter '{name}' of type 'ntext/nchar/nvarchar'.");
    Err(SqlError::new(214, 16, state, text))
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

/// `sp_describe_first_result_set @tsql, @params, @browse_information_mode`
pub(super) fn sp_describe_first_result_set(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let text = string(args, "tsql", 0).unwrap_or_default();
    let declarations = string(args, "params", 1).unwrap_or_default();
    let browse = number(args, "browse_information_mode", 2).unwrap_or(0) > 0;
    let rows = describe::first_result_set(runner.info, &text, &declarations, browse)?;
    runner.result_set(&describe::RESULT_COLUMNS, &rows)?;
    ok()
}

/// `sp_describe_undeclared_parameters @tsql, @params`
pub(super) fn sp_describe_undeclared_parameters(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let text = string(args, "tsql", 0).unwrap_or_default();
    let declarations = string(args, "params", 1).unwrap_or_default();
    let rows = describe::undeclared_parameters(runner.info, &text, &declarations)?;
    runner.result_set(&describe::PARAMETER_COLUMNS, &rows)?;
    ok()
}

/// `sp_describe_parameter_encryption @tsql, @params`
pub(super) fn sp_describe_parameter_encryption(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let text = string(args, "tsql", 0).unwrap_or_default();
    let declarations = string(args, "params", 1).unwrap_or_default();
    let (keys, parameters) = parameter_encryption(runner.info, &text, &declarations)?;
    runner.result_set(&KEY_COLUMNS, &keys)?;
    runner.result_set(&PARAMETER_COLUMNS, &parameters)?;
    ok()
}
