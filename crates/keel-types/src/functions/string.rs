//! String functions that cut, join, search and change case.
//!
//! Positions and lengths count characters: UTF-16 units for the national types, as the product does.

use super::{Call, FnCtx, FunctionDef, Request, int_at, str_at, variable_like};
use crate::collation::like;
use crate::error::Result;
use crate::raise;
use crate::ty::{Length, SqlType};
use crate::value::Value;
use smol_str::{SmolStr, StrExt};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("LEN", 1, 1, resolve_len),
    FunctionDef::new("DATALENGTH", 1, 1, resolve_datalength),
    FunctionDef::new("SUBSTRING", 2, 3, resolve_substring),
    FunctionDef::new("LEFT", 2, 2, resolve_left),
    FunctionDef::new("RIGHT", 2, 2, resolve_right),
    FunctionDef::new("CHARINDEX", 2, 3, resolve_charindex),
    FunctionDef::new("REPLACE", 3, 3, resolve_replace),
    FunctionDef::new("STUFF", 4, 4, resolve_stuff),
    FunctionDef::new("REPLICATE", 2, 2, resolve_replicate),
    FunctionDef::new("REVERSE", 1, 1, |r| {
        same_text(r, |_, _, a| Ok(Value::Str(str_at(a, 0).chars().rev().collect())))
    }),
    FunctionDef::new("UPPER", 1, 1, |r| same_text(r, upper)),
    FunctionDef::new("LOWER", 1, 1, |r| same_text(r, lower)),
    FunctionDef::new("LTRIM", 1, 2, |r| trimming(r, Sides::Left)),
    FunctionDef::new("RTRIM", 1, 2, |r| trimming(r, Sides::Right)),
    FunctionDef::new("TRIM", 1, 2, |r| trimming(r, Sides::Both)),
    FunctionDef::new("SPACE", 1, 1, |r| {
        let room = r.constant_int(0).map_or(8000, |n| n.clamp(1, 8000) as u16);
        Ok(Call::new(SqlType::VarChar(Length::Limited(room)), vec![r.int()], space))
    }),
    FunctionDef::new("CONCAT", 2, 254, resolve_concat),
    FunctionDef::new("CONCAT_WS", 3, 254, resolve_concat_ws),
];

/// Characters as the type counts them.
pub(super) fn units(s: &str, national: bool) -> usize {
    if s.is_ascii() {
        s.len()
    } else if national {
        s.encode_utf16().count()
    } else {
        s.chars().count()
    }
}

/// The byte position of the `n`-th unit, or the end.
pub(super) fn unit_position(s: &str, n: usize, national: bool) -> usize {
    crate::cast::cut_at(s, n, national)
}

/// `length` units from unit `start` on.
pub(super) fn slice(s: &str, start: usize, length: usize, national: bool) -> &str {
    let from = unit_position(s, start, national);
    let rest = &s[from..];
    &rest[..unit_position(rest, length, national)]
}

/// A binary is counted as the string it converts to, so its trailing blanks (0x20) do not count either.
fn resolve_len(r: &Request<'_>) -> Result<Call> {
    let param = r.string(0)?;
    let result = if param.is_large() { SqlType::BigInt } else { SqlType::Int };
    let routine: super::Routine = if param.is_national() {
        |_, _, a| Ok(Value::Int(units(str_at(a, 0).trim_end_matches(' '), true) as i64))
    } else {
        |_, _, a| Ok(Value::Int(units(str_at(a, 0).trim_end_matches(' '), false) as i64))
    };
    Ok(Call::new(result, vec![param], routine))
}

/// The argument is not converted: the length is that of its own type.
fn resolve_datalength(r: &Request<'_>) -> Result<Call> {
    let ty = r.ty(0);
    use SqlType as T;
    let max = matches!(ty, T::VarChar(Length::Max) | T::NVarChar(Length::Max) | T::VarBinary(Length::Max));
    let result = if max { SqlType::BigInt } else { SqlType::Int };
    let routine: super::Routine = |call, _, a| {
        Ok(Value::Int(match &a[0] {
            Value::Str(s) if !call.params[0].is_national() && !call.params[0].is_xml() => {
                crate::collation::pages::length(s, call.collation.code_page()) as i64
            }
            other => data_length(other, call.params[0]),
        }))
    };
    Ok(Call::new(result, vec![ty], routine).in_collation(r.collation))
}

/// Bytes the product stores for a value.
pub(super) fn data_length(value: &Value, ty: SqlType) -> i64 {
    match value {
        Value::Str(s) if ty.is_national() || ty.is_xml() => 2 * units(s, true) as i64,
        Value::Str(s) => units(s, false) as i64,
        Value::Bytes(b) => b.len() as i64,
        Value::Variant(v) => data_length(&v.1, v.0),
        _ => i64::from(ty.max_length_bytes()),
    }
}

fn resolve_substring(r: &Request<'_>) -> Result<Call> {
    let ty = r.ty(0);
    let null = matches!(r.args[0].constant, Some(Value::Null));
    if null
        || !(ty.is_string()
            || ty.is_binary()
            || matches!(ty, SqlType::Text | SqlType::NText | SqlType::Image | SqlType::Null))
    {
        return Err(raise::bad_argument_type(if null { SqlType::Null } else { ty }, 1, "substring"));
    }
    let param = r.text_or_binary(0)?;
    let length = r.constant_int(2).and_then(|n| u32::try_from(n).ok());
    let own = match param.length() {
        Some(Length::Limited(n)) => Some(u32::from(n)),
        _ => None,
    };
    let length = match (length, own) {
        (Some(n), Some(own)) => Some(n.min(own)),
        (_, own) => own,
    };
    let result = variable_like(param, param.is_national(), length);
    let mut params = vec![param, SqlType::Int];
    params.extend(r.has(2).then_some(SqlType::Int));
    let routine = if param.is_binary() { substring_binary } else { substring };
    Ok(Call::new(result, params, routine).in_collation(r.collation))
}

/// Start and length from position 1; what lies before the string uses up the length.
fn window(args: &[Value]) -> Result<(usize, usize)> {
    let (start, length) =
        (int_at(args, 1), if args.len() > 2 { int_at(args, 2) } else { i64::from(i32::MAX) });
    if length < 0 {
        return Err(raise::invalid_length());
    }
    let end = start.saturating_add(length).max(1);
    let start = start.max(1);
    Ok((start as usize - 1, (end - start).max(0) as usize))
}

fn substring(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let (start, length) = window(args)?;
    Ok(Value::Str(SmolStr::new(slice(str_at(args, 0), start, length, call.params[0].is_national()))))
}

fn substring_binary(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let (start, length) = window(args)?;
    let bytes = args[0].as_bytes().unwrap_or_default();
    let from = start.min(bytes.len());
    Ok(Value::bytes(&bytes[from..from.saturating_add(length).min(bytes.len())]))
}

fn resolve_end(r: &Request<'_>, routine: super::Routine) -> Result<Call> {
    let param = r.string(0)?;
    let length = match (r.constant_int(1).and_then(|n| u32::try_from(n).ok()), param.length()) {
        (Some(n), Some(Length::Limited(own))) => Some(n.min(u32::from(own))),
        _ => None,
    };
    let result = variable_like(param, param.is_national(), length);
    Ok(Call::new(result, vec![param, SqlType::Int], routine).in_collation(r.collation))
}

fn resolve_left(r: &Request<'_>) -> Result<Call> {
    resolve_end(r, |call, _, args| {
        let length = usize::try_from(int_at(args, 1)).map_err(|_| raise::negative_length("left"))?;
        Ok(Value::Str(SmolStr::new(slice(str_at(args, 0), 0, length, call.params[0].is_national()))))
    })
}

fn resolve_right(r: &Request<'_>) -> Result<Call> {
    resolve_end(r, |call, _, args| {
        let length = usize::try_from(int_at(args, 1)).map_err(|_| raise::negative_length("right"))?;
        let (s, national) = (str_at(args, 0), call.params[0].is_national());
        let skipped = units(s, national).saturating_sub(length);
        Ok(Value::Str(SmolStr::new(&s[unit_position(s, skipped, national)..])))
    })
}

fn resolve_charindex(r: &Request<'_>) -> Result<Call> {
    let (needle, text) = (r.text(0)?, r.text(1)?);
    let result = if text.is_large() { SqlType::BigInt } else { SqlType::Int };
    let mut params = vec![needle, text];
    params.extend(r.has(2).then_some(SqlType::BigInt));
    Ok(Call::new(result, params, charindex).in_collation(r.collation))
}

fn charindex(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let (needle, text) = (str_at(args, 0), str_at(args, 1));
    let national = call.params[1].is_national();
    let start = usize::try_from(int_at(args, 2).saturating_sub(1)).unwrap_or(0);
    let from = unit_position(text, start, national);
    if from == text.len() && start > 0 {
        return Ok(Value::Int(0));
    }
    let found = like::find(text, needle, from, call.collation);
    Ok(Value::Int(found.map_or(0, |(at, _)| units(&text[..at], national) as i64 + 1)))
}

/// The type in which several strings meet: national when one is, `max` when one is.
fn meeting(types: &[SqlType]) -> SqlType {
    let national = types.iter().any(|t| t.is_national());
    let max = types.iter().any(|t| t.length() == Some(Length::Max));
    let length = match (max, national) {
        (true, _) => Length::Max,
        (false, true) => Length::Limited(4000),
        (false, false) => Length::Limited(8000),
    };
    if national { SqlType::NVarChar(length) } else { SqlType::VarChar(length) }
}

/// Cuts a result to what its type can hold.
pub(super) fn bounded(text: String, ty: SqlType) -> Value {
    let mut text = text;
    if let Some(Length::Limited(n)) = ty.length()
        && text.len() > usize::from(n)
    {
        text.truncate(crate::cast::cut_at(&text, usize::from(n), ty.is_national()));
    }
    Value::Str(SmolStr::from(text))
}

fn resolve_replace(r: &Request<'_>) -> Result<Call> {
    let types = [r.string(0)?, r.string(1)?, r.string(2)?];
    Ok(Call::new(meeting(&types), types.to_vec(), replace).in_collation(r.collation))
}

fn replace(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let (text, needle, other) = (str_at(args, 0), str_at(args, 1), str_at(args, 2));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let finder = like::Finder::new(text, needle, call.collation);
    while let Some((found, length)) = finder.find(at) {
        out.push_str(&text[at..found]);
        out.push_str(other);
        at = found + length;
    }
    if at == 0 {
        return Ok(args[0].clone());
    }
    out.push_str(&text[at..]);
    Ok(bounded(out, call.result))
}

fn resolve_stuff(r: &Request<'_>) -> Result<Call> {
    if r.ty(0).is_binary() {
        return resolve_binary_stuff(r);
    }
    let types = [r.string(0)?, r.string(3)?];
    let result = meeting(&types);
    let result = match (types[0].length(), types[1].length()) {
        (Some(Length::Limited(a)), Some(Length::Limited(b))) => {
            let kept = u32::from(a) - deleted(r, a);
            variable_like(result, result.is_national(), Some(kept + u32::from(b)))
        }
        _ => result,
    };
    let params = vec![types[0], SqlType::Int, SqlType::Int, types[1]];
    Ok(Call::new(result, params, stuff).lenient().nullable().in_collation(r.collation))
}

/// Bytes put among bytes.
fn resolve_binary_stuff(r: &Request<'_>) -> Result<Call> {
    if r.ty(0) == SqlType::Image {
        return Err(r.bad_argument(0));
    }
    let own = r.text_or_binary(0)?;
    let length = match (own.length(), r.ty(3).length()) {
        (Some(Length::Limited(a)), Some(Length::Limited(b))) => {
            Length::Limited(a.saturating_add(b).min(8000))
        }
        (Some(Length::Limited(a)), None) => Length::Limited(a),
        _ => Length::Max,
    };
    let params = vec![own, SqlType::Int, SqlType::Int, SqlType::VarBinary(length)];
    Ok(Call::new(SqlType::VarBinary(length), params, stuff_binary).lenient().nullable())
}

fn stuff_binary(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let (Some(bytes), Some(start), Some(length)) = (args[0].as_bytes(), args[1].as_int(), args[2].as_int())
    else {
        return Ok(Value::Null);
    };
    if start < 1 || length < 0 || start > bytes.len() as i64 {
        return Ok(Value::Null);
    }
    let from = start as usize - 1;
    let to = from.saturating_add(length as usize).min(bytes.len());
    let mut out = [&bytes[..from], args[3].as_bytes().unwrap_or_default(), &bytes[to..]].concat();
    if let Some(Length::Limited(n)) = call.result.length() {
        out.truncate(n.into());
    }
    Ok(Value::bytes(out))
}

/// How many characters of a text of `length` STUFF is known to delete from one that is as long as it may be.
fn deleted(r: &Request<'_>, length: u16) -> u32 {
    let length = i64::from(length);
    match (r.constant_int(1), r.constant_int(2)) {
        (Some(start), Some(n)) if (1..=length).contains(&start) => n.clamp(0, length - start + 1) as u32,
        _ => 0,
    }
}

/// A NULL replacement deletes; positions outside the string give NULL.
fn stuff(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    if args[..3].iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let (text, start, length, national) =
        (str_at(args, 0), int_at(args, 1), int_at(args, 2), call.params[0].is_national());
    if start < 1 || length < 0 || start > units(text, national) as i64 {
        return Ok(Value::Null);
    }
    let head = slice(text, 0, start as usize - 1, national);
    let rest = &text[head.len()..];
    let tail = &rest[unit_position(rest, length as usize, national)..];
    Ok(bounded([head, str_at(args, 3), tail].concat(), call.result))
}

fn resolve_replicate(r: &Request<'_>) -> Result<Call> {
    let param = r.string(0)?;
    let result = match (param.length(), r.constant_int(1).and_then(|n| u32::try_from(n).ok())) {
        (Some(Length::Limited(n)), Some(times)) => {
            variable_like(param, param.is_national(), Some(u32::from(n).saturating_mul(times)))
        }
        _ => meeting(&[param]),
    };
    Ok(Call::new(result, vec![param, SqlType::Int], replicate).in_collation(r.collation).nullable())
}

fn replicate(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let (text, times) = (str_at(args, 0), int_at(args, 1));
    let Ok(times) = usize::try_from(times) else { return Ok(Value::Null) };
    let room = match call.result.length() {
        Some(Length::Limited(n)) => usize::from(n),
        _ => i32::MAX as usize,
    };
    // One more than fits is enough to be cut.
    let useful = if text.is_empty() { 0 } else { times.min(room.div_ceil(units(text, true)) + 1) };
    if text.len().saturating_mul(useful) > i32::MAX as usize {
        return Ok(Value::Null);
    }
    Ok(bounded(text.repeat(useful), call.result))
}

/// A function whose result is text as long as its argument.
fn same_text(r: &Request<'_>, routine: super::Routine) -> Result<Call> {
    let param = r.string(0)?;
    let result = variable_like(param, param.is_national(), None);
    Ok(Call::new(result, vec![param], routine).in_collation(r.collation))
}

/// Characters whose other case is more than one character stay as they are.
pub(super) fn upper_char(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(u), None) => u,
        _ => c,
    }
}

fn upper(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let s = str_at(args, 0);
    if s.is_ascii() {
        return Ok(Value::Str(s.to_ascii_uppercase_smolstr()));
    }
    // ÿ and µ have upper-case forms outside the code page only.
    let page = call.collation.code_page();
    let keep = |c: &char| !call.params[0].is_national() && !crate::collation::pages::has(*c, page);
    Ok(Value::Str(s.chars().map(|c| Some(upper_char(c)).filter(|u| !keep(u)).unwrap_or(c)).collect()))
}

fn lower(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let s = str_at(args, 0);
    if s.is_ascii() {
        return Ok(Value::Str(s.to_ascii_lowercase_smolstr()));
    }
    Ok(Value::Str(s.chars().map(|c| crate::collation::simple_lower(c).unwrap_or(c)).collect()))
}

#[derive(Clone, Copy)]
enum Sides {
    Left,
    Right,
    Both,
}

/// With a second argument, that one holds the characters to take off (`TRIM(x FROM y)` arrives as `TRIM(y, x)`).
fn trimming(r: &Request<'_>, sides: Sides) -> Result<Call> {
    let routine: super::Routine = match sides {
        Sides::Left => |call, _, a| Ok(trimmed(call, a, true, false)),
        Sides::Right => |call, _, a| Ok(trimmed(call, a, false, true)),
        Sides::Both => |call, _, a| Ok(trimmed(call, a, true, true)),
    };
    let mut call = same_text(r, routine)?;
    if r.has(1) {
        call.params.push(r.string(1)?);
    }
    Ok(call)
}

fn trimmed(call: &Call, args: &[Value], left: bool, right: bool) -> Value {
    let text = str_at(args, 0);
    let set = args.get(1).and_then(Value::as_str);
    let unwanted = |c: char| match set {
        None => c == ' ',
        Some(set) => set.chars().any(|s| like::same_char(s, c, call.collation)),
    };
    let text = if left { text.trim_start_matches(unwanted) } else { text };
    let text = if right { text.trim_end_matches(unwanted) } else { text };
    Value::Str(SmolStr::new(text))
}

fn space(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    match usize::try_from(int_at(args, 0)) {
        Ok(n) => Ok(Value::Str(SmolStr::from(" ".repeat(n.min(8000))))),
        Err(_) => Ok(Value::Null),
    }
}

fn resolve_concat(r: &Request<'_>) -> Result<Call> {
    let types = (0..r.args.len()).map(|i| r.text(i)).collect::<Result<Vec<_>>>()?;
    let result = joined(&types, 0);
    Ok(Call::new(result, types, concat).lenient().in_collation(r.collation))
}

/// The type of all these strings in a row with `extra` characters between them.
fn joined(types: &[SqlType], extra: u32) -> SqlType {
    let meeting = meeting(types);
    let lengths = types.iter().map(|t| match t.length() {
        Some(Length::Limited(n)) => Some(u32::from(n)),
        _ => None,
    });
    let total = lengths.sum::<Option<u32>>().map(|n| n + extra);
    variable_like(meeting, meeting.is_national(), total)
}

fn concat(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let parts: Vec<&str> = args.iter().filter_map(Value::as_str).collect();
    Ok(bounded(parts.concat(), call.result))
}

fn resolve_concat_ws(r: &Request<'_>) -> Result<Call> {
    let types = (0..r.args.len()).map(|i| r.text(i)).collect::<Result<Vec<_>>>()?;
    let separator = match types[0].length() {
        Some(Length::Limited(n)) => u32::from(n) * (types.len() as u32 - 2),
        _ => 0,
    };
    let mut result = joined(&types[1..], separator);
    if types[0].is_national() && !result.is_national() {
        result = variable_like(result, true, None);
    }
    Ok(Call::new(result, types, concat_ws).lenient().in_collation(r.collation))
}

/// NULL arguments leave no separator behind.
fn concat_ws(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let parts: Vec<&str> = args[1..].iter().filter_map(Value::as_str).collect();
    Ok(bounded(parts.join(str_at(args, 0)), call.result))
}
