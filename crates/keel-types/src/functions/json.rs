//! JSON functions on text.

use super::json_path::{Path, Step, check, flaw, is_document, locate, member_with_comma, unescape};
use super::string::units;
use super::{Call, FnCtx, FunctionDef, Request, str_at};
use crate::cast::{Cast, to_text};
use crate::error::{Result, SqlError};
use crate::raise;
use crate::ty::{Length, SqlType};
use crate::value::Value;
use smol_str::SmolStr;

const NVARCHAR_MAX: SqlType = SqlType::NVarChar(Length::Max);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("ISJSON", 1, 2, |r| {
        let mut params = vec![r.national_text(0)?];
        params.extend(r.has(1).then_some(SqlType::VarChar(Length::Limited(20))));
        Ok(Call::new(SqlType::Int, params, isjson))
    }),
    FunctionDef::new("JSON_VALUE", 2, 2, |r| {
        let params = vec![r.national_text(0)?, r.national_text(1)?];
        Ok(Call::new(SqlType::NVarChar(Length::Limited(4000)), params, json_value).nullable())
    }),
    FunctionDef::new("JSON_QUERY", 1, 2, |r| {
        let mut params = vec![r.national_text(0)?];
        if r.has(1) {
            params.push(r.national_text(1)?);
        }
        Ok(Call::new(NVARCHAR_MAX, params, json_query).nullable())
    }),
    FunctionDef::new("JSON_PATH_EXISTS", 2, 2, |r| {
        let params = vec![r.national_text(0)?, r.national_text(1)?];
        Ok(Call::new(SqlType::Int, params, json_path_exists))
    }),
    FunctionDef::new("JSON_MODIFY", 3, 3, resolve_json_modify),
    // With a new value that is JSON already; the name is no word, so it is not one to call.
    FunctionDef::new("JSON_MODIFY JSON", 3, 3, |r| {
        let params = vec![r.national_text(0)?, r.national_text(1)?, r.national_text(2)?];
        Ok(Call::new(NVARCHAR_MAX, params, json_modify_by_json).lenient().nullable())
    }),
];

fn isjson(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let text = str_at(args, 0);
    let first = text.trim_start().chars().next();
    let valid = match args.get(1).and_then(Value::as_str).map(|k| k.trim().to_ascii_lowercase()).as_deref() {
        None => is_document(text),
        Some("object") => first == Some('{') && is_document(text),
        Some("array") => first == Some('[') && is_document(text),
        Some("value") => check(text).is_ok(),
        Some("scalar") => check(text).is_ok() && matches!(first, Some('"' | '-' | '0'..='9')),
        Some(_) => return Err(SqlError::new(13_628, 16, 1, "Invalid JSON type constraint.")),
    };
    Ok(Value::Int(valid.into()))
}

/// The text the path names; `None` when there is none and the path is lax. What follows it is not looked at.
fn find<'a>(text: &'a str, path: &Path) -> Result<Option<&'a str>> {
    let found = locate(text, &path.steps);
    if let Some(flaw) = flaw(text)
        && found.as_ref().is_none_or(|range| range.end > flaw)
    {
        check(text)?;
    }
    match found {
        Some(range) => Ok(Some(&text[range])),
        None if path.strict => Err(raise::json_not_found()),
        None => Ok(None),
    }
}

fn json_value(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let path = Path::parse(str_at(args, 1))?;
    let Some(found) = find(str_at(args, 0), &path)? else { return Ok(Value::Null) };
    match found.as_bytes().first() {
        Some(b'{' | b'[') if path.strict => Err(raise::json_no_scalar()),
        Some(b'{' | b'[') => Ok(Value::Null),
        Some(b'"') => {
            let text = unescape(found).ok_or_else(raise::json_no_scalar)?;
            match units(&text, true) {
                0..=4000 => Ok(Value::Str(SmolStr::from(text))),
                _ if path.strict => {
                    let text = "String value in the specified JSON path would be truncated.";
                    Err(SqlError::new(13_625, 16, 1, text))
                }
                _ => Ok(Value::Null),
            }
        }
        _ if found == "null" => Ok(Value::Null),
        _ => Ok(Value::str(found)),
    }
}

fn json_query(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let path = Path::parse(if args.len() > 1 { str_at(args, 1) } else { "$" })?;
    match find(str_at(args, 0), &path)? {
        Some(found) if found.starts_with(['{', '[']) => Ok(Value::str(found)),
        Some(_) if path.strict => Err(raise::json_no_document()),
        _ => Ok(Value::Null),
    }
}

fn json_path_exists(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let path = Path::parse(str_at(args, 1))?;
    let text = str_at(args, 0);
    Ok(Value::Int(i64::from(check(text).is_ok() && locate(text, &path.steps).is_some())))
}

fn resolve_json_modify(r: &Request<'_>) -> Result<Call> {
    let value = match r.ty(2) {
        SqlType::Null => SqlType::NVarChar(Length::Limited(1)),
        ty if ty.is_numeric() => ty,
        _ => r.national_text(2)?,
    };
    let params = vec![r.national_text(0)?, r.national_text(1)?, value];
    Ok(Call::new(NVARCHAR_MAX, params, json_modify).lenient().nullable())
}

/// A new value as JSON text.
fn literal(value: &Value, ty: SqlType) -> Result<String> {
    Ok(match value {
        Value::Null => "null".to_owned(),
        Value::Bit(b) => b.to_string(),
        Value::Str(s) => serde_json::to_string(s.as_str()).unwrap_or_default(),
        Value::Float(f) => f.to_string(),
        other => to_text(other, ty, Cast::NO_STYLE)?.to_string(),
    })
}

fn json_modify(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    modify(args, &literal(&args[2], call.params[2])?)
}

fn json_modify_by_json(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    modify(args, args[2].as_str().unwrap_or("null"))
}

/// Replaces, adds, appends or (a NULL under a lax path) removes; `new` is the new value as JSON.
fn modify(args: &[Value], new: &str) -> Result<Value> {
    if args[0].is_null() || args[1].is_null() {
        return Ok(Value::Null);
    }
    let (text, path) = (str_at(args, 0), Path::parse(str_at(args, 1))?);
    check(text)?;
    let splice = |range: std::ops::Range<usize>, new: &str| {
        Ok(Value::Str(SmolStr::from([&text[..range.start], new, &text[range.end..]].concat())))
    };
    let found = locate(text, &path.steps);
    if path.append {
        return match found.filter(|f| text[f.clone()].starts_with('[')) {
            Some(array) => add_last(text, array, new),
            None if path.strict => Err(raise::json_not_found()),
            None => Ok(args[0].clone()),
        };
    }
    let Some((last, parents)) = path.steps.split_last() else { return Ok(args[0].clone()) };
    match (found, last, locate(text, parents)) {
        (Some(_), Step::Key(key), Some(object)) if args[2].is_null() && !path.strict => {
            match member_with_comma(text, object.start, key) {
                Some(range) => splice(range, ""),
                None => Ok(args[0].clone()),
            }
        }
        (Some(range), ..) => splice(range, new),
        (None, ..) if path.strict => Err(raise::json_not_found()),
        (None, Step::Key(key), Some(object))
            if text[object.clone()].starts_with('{') && !args[2].is_null() =>
        {
            let name = serde_json::to_string(key).unwrap_or_default();
            add_last(text, object, &format!("{name}:{new}"))
        }
        _ => Ok(args[0].clone()),
    }
}

/// Adds a member or element at the end of the object or array in `range`.
fn add_last(text: &str, range: std::ops::Range<usize>, new: &str) -> Result<Value> {
    let inner = text[range.start + 1..range.end - 1].trim_end();
    let at = range.start + 1 + inner.len();
    let comma = if inner.trim_start().is_empty() { "" } else { "," };
    Ok(Value::Str(SmolStr::from([&text[..at], comma, new, &text[at..]].concat())))
}
