//! Remote procedure calls.

use super::{Argument, Halt, Runner};
use crate::errors;
use crate::program::{ModuleIdentity, ParameterDef, ProgramKind};
use crate::sink::{DoneInfo, DoneKind, RpcParam, RpcProcedure, RpcValue, TvpName, command};
use keel_parser::ast;
use keel_types::{SqlType, Value};
use std::sync::Arc;

/// Names of the numbered procedures.
const NUMBERED: [&str; 16] = [
    "",
    "sp_cursor",
    "sp_cursoropen",
    "sp_cursorprepare",
    "sp_cursorexecute",
    "sp_cursorprepexec",
    "sp_cursorunprepare",
    "sp_cursorfetch",
    "sp_cursoroption",
    "sp_cursorclose",
    "sp_executesql",
    "sp_prepare",
    "sp_execute",
    "sp_prepexec",
    "sp_prepexecrpc",
    "sp_unprepare",
];

/// The name of what is called, as it was sent.
#[must_use]
pub fn called(procedure: RpcProcedure<'_>) -> &str {
    match procedure {
        RpcProcedure::Name(name) => name,
        RpcProcedure::Id(id) => NUMBERED.get(usize::from(id)).copied().unwrap_or_default(),
    }
}

/// Runs a remote call to its end: return status, output parameters and the final token included.
pub fn run_rpc(runner: &mut Runner<'_>, procedure: RpcProcedure<'_>, parameters: Vec<RpcParam>) {
    runner.in_proc = true;
    let wanted: Vec<(smol_str::SmolStr, SqlType, bool)> =
        parameters.iter().map(|p| (p.name.clone(), p.ty, p.output)).collect();
    let outcome = call(runner, procedure, parameters).and_then(|mut returned| {
        in_the_callers_types(&mut returned.outputs, &wanted)?;
        Ok(returned)
    });
    runner.show_plans();
    match outcome {
        Ok(returned) => {
            runner.flush_pending();
            match &returned.result {
                Some((value, ty)) => runner.sink.function_value(ty, value),
                None => runner.sink.return_status(returned.status),
            }
            for (at, value, ty) in &returned.outputs {
                if let Some((name, _, true)) = wanted.get(*at) {
                    runner.sink.output(*at, name, ty, value);
                }
            }
            finish(runner, false);
        }
        Err(Halt::Raised(e)) => {
            // Nothing on the way here could handle it: it is an error of the call itself.
            let e = errors::located(e, 1, None);
            runner.info.error.set(e.number);
            runner.report(&e);
            if runner.info.transaction.borrow().count == 0 {
                runner.rollback_everything();
            }
            if !e.message.is_empty() && e.number == 2812 {
                finish(runner, true);
                return;
            }
            runner.sink.return_status(super::failure_status(&e));
            finish(runner, true);
        }
        Err(Halt::Batch) => finish(runner, true),
    }
}

/// "Implicit conversion … is not allowed."
const NOT_IMPLICIT: i32 = 257;

/// Output parameters come back as what the client sent, not as what the procedure declares: as variables of an EXEC do. Only a type
/// that does not become the client's by itself stays: Microsoft's JDBC driver sends xml that is to come back as nvarchar.
fn in_the_callers_types(
    outputs: &mut [(usize, Value, SqlType)],
    wanted: &[(smol_str::SmolStr, SqlType, bool)],
) -> keel_types::error::Result<()> {
    for (at, value, ty) in outputs {
        if let Some((_, to, true)) = wanted.get(*at)
            && *to != SqlType::Null
        {
            match crate::convert::assign(value.clone(), *ty, *to, keel_types::datetime::language::Dates::US) {
                Ok(converted) => (*value, *ty) = (converted, *to),
                Err(e) if e.number == NOT_IMPLICIT => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(())
}

fn finish(runner: &mut Runner<'_>, error: bool) {
    let in_transaction = runner.info.transaction.borrow().count > 0;
    runner.sink.done(DoneInfo {
        kind: DoneKind::Proc,
        count: None,
        command: command::EXECUTE,
        error,
        in_transaction,
        attention: false,
    });
}

fn call(
    runner: &mut Runner<'_>,
    procedure: RpcProcedure<'_>,
    parameters: Vec<RpcParam>,
) -> std::result::Result<super::call::Returned, Halt> {
    let name = match procedure {
        RpcProcedure::Name(name) => called_name(runner, name)?,
        RpcProcedure::Id(id) => {
            let name = NUMBERED.get(usize::from(id)).filter(|n| !n.is_empty());
            let name = name.ok_or_else(|| errors::no_procedure(id))?;
            ast::ObjectName::simple(ast::Ident::new(*name))
        }
    };
    let identity = outside_modules(runner);
    let mut args = Vec::with_capacity(parameters.len());
    let mut tables = Vec::new();
    for (at, p) in parameters.into_iter().enumerate() {
        let mut arg =
            Argument { name: p.name, value: None, ty: p.ty, output: p.output, table: None, cursor: None };
        match p.value {
            RpcValue::Scalar(value) => arg.value = Some(value),
            RpcValue::Default => {}
            RpcValue::Table { type_name, columns, rows } => {
                let ty = table_type(runner, (&identity, &name), &type_name, (at, &arg.name));
                let table = runner.table_parameter(ty, &columns, rows)?;
                tables.push(Arc::clone(&table));
                arg.table = Some(table);
                arg.value = Some(Value::Null);
                arg.ty = SqlType::Null;
            }
        }
        args.push(arg);
    }
    *runner.info.calling.borrow_mut() = None;
    let outcome = runner.call_named(&identity, &name, &args);
    for table in tables {
        runner.drop_storage(&table);
    }
    outcome
}

/// The type of a table-valued parameter and where it is looked for: the one that was sent, in the session's database, or where none
/// was, that of the procedure's own parameter.
fn table_type(
    runner: &mut Runner<'_>,
    (caller, procedure): (&ModuleIdentity, &ast::ObjectName),
    sent: &TvpName,
    (at, parameter): (usize, &str),
) -> (ModuleIdentity, ast::ObjectName) {
    if sent.name.is_empty()
        && let Ok((_, program)) = runner.resolve_callable(caller, procedure)
    {
        let named = |p: &&ParameterDef| p.name.eq_ignore_ascii_case(parameter);
        let declared = if parameter.is_empty() {
            program.parameters.get(at)
        } else {
            program.parameters.iter().find(named)
        };
        if let Some((_, ty)) = declared.and_then(|p| p.table.as_ref()) {
            return (program.identity.clone(), ty.clone());
        }
    }
    let mut name = ast::ObjectName::simple(ast::Ident::new(sent.name.as_str()));
    name.schema = (!sent.schema.is_empty()).then(|| ast::Ident::new(sent.schema.as_str()));
    (ModuleIdentity { schema_id: crate::catalog::DBO, ..caller.clone() }, name)
}

/// The procedure that a client means. Clients mostly call what they have just called, whose name was understood then.
fn called_name(runner: &Runner<'_>, text: &str) -> keel_types::error::Result<ast::ObjectName> {
    let mut last = runner.info.last_called.borrow_mut();
    if let Some((before, name)) = &*last
        && before == text
    {
        return Ok(name.clone());
    }
    let name = super::call::procedure_name(text)?;
    *last = Some((text.into(), name.clone()));
    Ok(name)
}

/// Calls the procedure of that name, as a client does.
pub fn call_by_name(
    runner: &mut Runner<'_>,
    name: &str,
    args: &[Argument],
) -> std::result::Result<super::call::Returned, Halt> {
    let identity = outside_modules(runner);
    runner.call_named(&identity, &super::call::procedure_name(name)?, args)
}

/// The identity of a caller that is no module.
pub(super) fn outside_modules(runner: &Runner<'_>) -> ModuleIdentity {
    let entry = runner.info.current_database();
    ModuleIdentity {
        database: entry.id,
        object_id: 0,
        schema_id: runner.info.default_schema(&entry),
        name: None,
        kind: ProgramKind::Batch,
    }
}
