//! Functions on `LIKE` patterns.

use super::{Call, FnCtx, FunctionDef, Request, str_at};
use crate::collation::like::Pattern;
use crate::error::Result;
use crate::ty::SqlType;
use crate::value::Value;

pub(super) static FUNCTIONS: &[FunctionDef] = &[FunctionDef::new("PATINDEX", 2, 2, resolve_patindex)];

fn resolve_patindex(r: &Request<'_>) -> Result<Call> {
    let text = r.text(1)?;
    let result = if text.is_large() { SqlType::BigInt } else { SqlType::Int };
    Ok(Call::new(result, vec![r.text(0)?, text], patindex).in_collation(r.collation))
}

fn patindex(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let text = str_at(args, 1);
    let pattern = Pattern::compile(str_at(args, 0), None, call.collation)?;
    let found = pattern.find_in(text);
    Ok(Value::Int(
        found.map_or(0, |at| super::string::units(&text[..at], call.params[1].is_national()) as i64 + 1),
    ))
}
