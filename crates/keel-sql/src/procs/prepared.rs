//! Prepared statements by handle.

use super::{Outcome, execute, number, ok, output, string};
use crate::errors;
use crate::run::{Argument, Halt, Runner, call_by_name};
use crate::session::prepared::Statement;
use keel_types::{SqlError, SqlType, Value};
use std::sync::Arc;

/// 201 unless the parameters without defaults were given.
fn needs(args: &[Argument], procedure: &str, parameters: &[&str]) -> keel_types::error::Result<()> {
    match parameters.get(args.len()) {
        Some(missing) => Err(errors::parameter_missing(procedure, missing)),
        None => Ok(()),
    }
}

/// What is wrong with a text is told, and behind it that it could not be prepared. Whoever catches errors gets the first.
fn not_prepared(runner: &mut Runner<'_>, wrong: &[Box<SqlError>]) -> Halt {
    if let (true, Some(first)) = (runner.info.try_depth.get() > 0, wrong.first()) {
        return first.clone().into();
    }
    wrong.iter().for_each(|e| runner.report(e));
    errors::not_prepared().into()
}

fn prepare(
    runner: &mut Runner<'_>,
    procedure: &str,
    args: &[Argument],
) -> std::result::Result<(i32, Arc<str>, Arc<str>), Halt> {
    needs(args, procedure, &["@handle", "@params", "@stmt"])?;
    let declarations: Arc<str> = string(args, "params", 1).unwrap_or_default().into();
    let text: Arc<str> = string(args, "stmt", 2).unwrap_or_default().into();
    if let Err(e) = runner.batch_program(&text, &declarations, &[], true) {
        return Err(not_prepared(runner, &[errors::located(e, 1, None)]));
    }
    let statement = Statement::Text(Arc::clone(&text), Arc::clone(&declarations));
    let handle = runner.info.prepared.borrow_mut().add(statement);
    Ok((handle, text, declarations))
}

/// `sp_prepare @handle OUTPUT, @params, @stmt, @options`; with option 1 (RETURN_METADATA) the columns of the first result set come
/// as a result set without rows, if they can be told.
pub(super) fn sp_prepare(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    const RETURN_METADATA: i64 = 1;
    let (handle, text, declarations) = prepare(runner, "sp_prepare", args)?;
    let asked = number(args, "options", 3).unwrap_or(0) & RETURN_METADATA != 0;
    if asked && let Err(e) = runner.describe_text(&text, &declarations) {
        runner.info.prepared.borrow_mut().remove(handle);
        return Err(not_prepared(runner, &[errors::located(e, 1, None)]));
    }
    Ok(output(0, Value::Int(handle.into()), SqlType::Int))
}

/// `sp_prepexec @handle OUTPUT, @params, @stmt, values…`
pub(super) fn sp_prepexec(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    // Preparing again under an old handle replaces it.
    if let Some(old) = number(args, "handle", 0) {
        runner.info.prepared.borrow_mut().remove(old as i32);
    }
    let (handle, text, declarations) = prepare(runner, "sp_prepexec", args)?;
    let skip = args.len().min(3);
    let wrong = runner.unprepared(&text, &declarations, &args[skip..]);
    if !wrong.is_empty() {
        runner.info.prepared.borrow_mut().remove(handle);
        return Err(not_prepared(runner, &wrong));
    }
    let mut returned = execute::run_sql(runner, text, declarations, &args[skip..], skip)?;
    returned.outputs.insert(0, (0, Value::Int(handle.into()), SqlType::Int));
    Ok(returned)
}

/// `sp_prepexecrpc @handle OUTPUT, @name, values…`: a call of a procedure, to be made again with other values by `sp_execute`.
pub(super) fn sp_prepexecrpc(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    needs(args, "sp_prepexecrpc", &["@handle", "@name"])?;
    let name = string(args, "name", 1).unwrap_or_default();
    let skip = args.len().min(2);
    let handle = runner.info.prepared.borrow_mut().add(Statement::Call(name.as_str().into()));
    let mut returned = called(runner, &name, args, skip)?;
    returned.outputs.insert(0, (0, Value::Int(handle.into()), SqlType::Int));
    Ok(returned)
}

/// A call of a procedure with the values behind the first `skip`.
fn called(runner: &mut Runner<'_>, name: &str, args: &[Argument], skip: usize) -> Outcome {
    let mut returned = call_by_name(runner, name, &args[skip..])?;
    for (at, _, _) in &mut returned.outputs {
        *at += skip;
    }
    Ok(returned)
}

/// `sp_execute @handle, values…`
pub(super) fn sp_execute(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let handle = number(args, "handle", 0).unwrap_or(0);
    let found = runner.info.prepared.borrow().get(handle as i32);
    let skip = args.len().min(1);
    match found {
        Some(Statement::Text(text, declarations)) => {
            execute::run_sql(runner, text, declarations, &args[skip..], skip)
        }
        Some(Statement::Call(name)) => called(runner, &name, args, skip),
        None => Err(errors::no_prepared(handle).into()),
    }
}

/// `sp_unprepare @handle`
pub(super) fn sp_unprepare(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let handle = number(args, "handle", 0).unwrap_or(0);
    if runner.info.prepared.borrow_mut().remove(handle as i32) {
        ok()
    } else {
        Err(errors::no_prepared(handle).into())
    }
}
