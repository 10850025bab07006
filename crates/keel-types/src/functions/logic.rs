//! Functions that choose among their arguments, and that ask what a value is.

use super::{Call, FnCtx, FunctionDef, Request, str_at};
use crate::cast;
use crate::compare;
use crate::error::Result;
use crate::ty::promote::common;
use crate::ty::{Length, SqlType};
use crate::value::Value;
use std::sync::Arc;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("ISNULL", 2, 2, resolve_isnull),
    FunctionDef::new("CHOOSE", 2, 255, resolve_choose),
    FunctionDef::new("GREATEST", 1, 254, |r| {
        resolve_extreme(r, |call, _, a| Ok(extreme(call, a, std::cmp::Ordering::Greater)))
    }),
    FunctionDef::new("LEAST", 1, 254, |r| {
        resolve_extreme(r, |call, _, a| Ok(extreme(call, a, std::cmp::Ordering::Less)))
    }),
    FunctionDef::new("ISNUMERIC", 1, 1, resolve_isnumeric),
    FunctionDef::new("SQL_VARIANT_PROPERTY", 2, 2, |r| {
        let params = vec![SqlType::SqlVariant, r.text(1)?];
        Ok(Call::new(SqlType::SqlVariant, params, variant_property).nullable())
    }),
];

/// The result has the type of the first argument; the second is converted to it, cut if need be.
fn resolve_isnull(r: &Request<'_>) -> Result<Call> {
    let ty = match r.ty(0) {
        SqlType::Null if r.ty(1) == SqlType::Null => SqlType::Int,
        SqlType::Null => r.ty(1),
        ty => ty,
    };
    Ok(Call::new(ty, vec![ty, ty], |_, _, a| Ok(if a[0].is_null() { a[1].clone() } else { a[0].clone() }))
        .lenient()
        .in_collation(r.collation))
}

/// The type in which several arguments meet.
fn merged(r: &Request<'_>, from: usize) -> Result<SqlType> {
    let mut ty = r.ty(from);
    for arg in &r.args[from + 1..] {
        ty = common(ty, arg.ty)?;
    }
    Ok(if ty == SqlType::Null { SqlType::Int } else { ty })
}

fn resolve_choose(r: &Request<'_>) -> Result<Call> {
    let ty = merged(r, 1)?;
    let mut params = vec![ty; r.args.len()];
    params[0] = SqlType::Int;
    Ok(Call::new(ty, params, choose).lenient().nullable().in_collation(r.collation))
}

fn choose(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let index = args[0].as_int().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    Ok(index.and_then(|i| args.get(i)).cloned().unwrap_or_default())
}

fn resolve_extreme(r: &Request<'_>, routine: super::Routine) -> Result<Call> {
    let ty = merged(r, 0)?;
    Ok(Call::new(ty, vec![ty; r.args.len()], routine).lenient().in_collation(r.collation))
}

/// NULL arguments do not take part.
fn extreme(call: &Call, args: &[Value], wanted: std::cmp::Ordering) -> Value {
    let mut best = &Value::Null;
    for arg in args.iter().filter(|a| !a.is_null()) {
        if best.is_null() || compare::order(arg, best, call.collation) == wanted {
            best = arg;
        }
    }
    best.clone()
}

fn resolve_isnumeric(r: &Request<'_>) -> Result<Call> {
    let ty = r.ty(0);
    let numeric = ty.is_numeric() && ty != SqlType::Bit;
    let param = if ty.is_string() { r.text(0)? } else { ty };
    let routine: super::Routine = if numeric {
        |_, _, a| Ok(Value::Int(i64::from(!a[0].is_null())))
    } else {
        |_, _, a| Ok(Value::Int(i64::from(a[0].as_str().is_some_and(is_numeric_text))))
    };
    Ok(Call::new(SqlType::Int, vec![param], routine).lenient())
}

/// Whether some numeric type would take the text. Lone signs, points, commas and currency signs do, as money, and so do a
/// backslash and blanks that are not spaces.
fn is_numeric_text(text: &str) -> bool {
    if matches!(text, "\\" | "\t" | "\n" | "\u{b}" | "\u{c}" | "\r" | "\u{a0}") {
        return true;
    }
    let text = text.trim();
    let from = SqlType::VarChar(Length::Max);
    let converts = |to| cast::convert(&Value::str(text), from, to).is_ok();
    !text.is_empty()
        && (converts(SqlType::Float) || converts(SqlType::Money) || text.chars().all(|c| ",.".contains(c)))
}

fn variant_property(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let Value::Variant(v) = &args[0] else { return Ok(Value::Null) };
    let (ty, value) = (v.0, &v.1);
    let int = |n: i64| Value::Variant(Arc::new((SqlType::Int, Value::Int(n))));
    let text = |s: &str| Value::Variant(Arc::new((SqlType::SYSNAME, Value::str(s))));
    Ok(match str_at(args, 1).trim_end().to_ascii_lowercase().as_str() {
        "basetype" => text(ty.name()),
        "precision" => int(ty.precision().into()),
        "scale" => int(ty.scale().into()),
        "totalbytes" => int(super::string::data_length(value, ty) + if ty.is_string() { 8 } else { 2 }),
        "maxlength" => int(ty.max_length_bytes().into()),
        "collation" if ty.is_string() => text(crate::Collation::default().name()),
        "collation" => Value::Null,
        _ => return Ok(Value::Null),
    })
}
