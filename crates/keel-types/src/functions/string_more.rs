//! String functions about single characters, quoting and sounds.

use super::string::units;
use super::{Call, FnCtx, FunctionDef, Request, int_at, str_at, variable_like};
use crate::collation::{cp1252, like};
use crate::error::{Result, SqlError};
use crate::ty::{Length, SqlType};
use crate::value::Value;
use smol_str::SmolStr;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("CHAR", 1, 1, |r| Ok(Call::new(SqlType::Char(1), vec![r.int()], char_of).nullable())),
    FunctionDef::new("NCHAR", 1, 1, |r| Ok(Call::new(SqlType::NChar(1), vec![r.int()], nchar_of).nullable())),
    FunctionDef::new("ASCII", 1, 1, |r| Ok(Call::new(SqlType::Int, vec![r.text(0)?], ascii).nullable())),
    FunctionDef::new("UNICODE", 1, 1, |r| Ok(Call::new(SqlType::Int, vec![r.text(0)?], unicode).nullable())),
    FunctionDef::new("QUOTENAME", 1, 2, resolve_quotename),
    FunctionDef::new("STR", 1, 3, resolve_str),
    FunctionDef::new("SYS.FN_VARBINTOHEXSTR", 1, 1, |_| {
        Ok(Call::new(SqlType::NVarChar(Length::Max), vec![BYTES], |_, _, args| {
            let Value::Bytes(bytes) = &args[0] else { return Ok(Value::Null) };
            Ok(hex_of(bytes, true, 1, 0))
        })
        .nullable())
    }),
    FunctionDef::new("SYS.FN_VARBINTOHEXSUBSTRING", 4, 4, |_| {
        let params = vec![SqlType::Bit, BYTES, SqlType::Int, SqlType::Int];
        Ok(Call::new(SqlType::NVarChar(Length::Max), params, |_, _, args| {
            let Value::Bytes(bytes) = &args[1] else { return Ok(Value::Null) };
            Ok(hex_of(bytes, matches!(args[0], Value::Bit(true)), int_at(args, 2), int_at(args, 3)))
        })
        .nullable())
    }),
    FunctionDef::new("STRING_ESCAPE", 2, 2, resolve_string_escape),
    FunctionDef::new("TRANSLATE", 3, 3, resolve_translate),
    FunctionDef::new("UNISTR", 1, 2, resolve_unistr),
    FunctionDef::new("SOUNDEX", 1, 1, |r| {
        Ok(Call::new(SqlType::VarChar(Length::Limited(4)), vec![r.text(0)?], |_, _, a| {
            Ok(Value::Str(soundex(str_at(a, 0))))
        }))
    }),
    FunctionDef::new("DIFFERENCE", 2, 2, |r| {
        Ok(Call::new(SqlType::Int, vec![r.text(0)?, r.text(1)?], difference))
    }),
    FunctionDef::new("PARSENAME", 2, 2, |r| {
        Ok(Call::new(SqlType::SYSNAME, vec![r.national_text(0)?, r.int()], parsename).nullable())
    }),
];

fn char_of(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    Ok(match u8::try_from(int_at(args, 0)) {
        Ok(byte) => Value::str(cp1252::to_char(byte).encode_utf8(&mut [0; 4]) as &str),
        Err(_) => Value::Null,
    })
}

fn nchar_of(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let code = u16::try_from(int_at(args, 0)).ok();
    Ok(code.map_or(Value::Null, |code| {
        let c = char::from_u32(u32::from(code)).unwrap_or(char::REPLACEMENT_CHARACTER);
        Value::str(c.encode_utf8(&mut [0; 4]) as &str)
    }))
}

fn ascii(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let first = str_at(args, 0).chars().next();
    Ok(first.map_or(Value::Null, |c| Value::Int(cp1252::best_fit(c).into())))
}

fn unicode(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let first = str_at(args, 0).encode_utf16().next();
    Ok(first.map_or(Value::Null, |unit| Value::Int(unit.into())))
}

fn resolve_quotename(r: &Request<'_>) -> Result<Call> {
    let mut params = vec![SqlType::NVarChar(Length::Limited(4000))];
    params.extend(r.has(1).then_some(SqlType::NVarChar(Length::Limited(1))));
    Ok(Call::new(SqlType::NVarChar(Length::Limited(258)), params, quotename)
        .in_collation(r.collation)
        .nullable())
}

/// NULL for names longer than 128 characters and for characters that do not quote.
fn quotename(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let name = str_at(args, 0);
    let quote = if args.len() > 1 { str_at(args, 1).chars().next().unwrap_or('[') } else { '[' };
    let (open, close) = match quote {
        '[' | ']' => ('[', ']'),
        '(' | ')' => ('(', ')'),
        '<' | '>' => ('<', '>'),
        '{' | '}' => ('{', '}'),
        '\'' | '"' | '`' => (quote, quote),
        _ => return Ok(Value::Null),
    };
    if units(name, true) > 128 {
        return Ok(Value::Null);
    }
    let mut out = String::with_capacity(name.len() + 2);
    out.push(open);
    for c in name.chars() {
        out.push(c);
        if c == close {
            out.push(c);
        }
    }
    out.push(close);
    Ok(Value::Str(SmolStr::from(out)))
}

fn resolve_str(r: &Request<'_>) -> Result<Call> {
    let length = r.constant_int(1).and_then(|n| u32::try_from(n).ok());
    let result = match (r.has(1), length) {
        (false, _) => SqlType::VarChar(Length::Limited(10)),
        (true, Some(n)) => SqlType::VarChar(Length::Limited(n.clamp(1, 8000) as u16)),
        (true, None) => SqlType::VarChar(Length::Limited(8000)),
    };
    let params = [SqlType::Float, SqlType::Int, SqlType::Int];
    Ok(Call::new(result, params[..r.args.len()].to_vec(), str_of).nullable())
}

/// Right-aligned; asterisks when the integral part does not fit; digits behind the point give way to the length.
fn str_of(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let Value::Float(f) = args[0] else { return Ok(Value::Null) };
    let length = if args.len() > 1 { int_at(args, 1) } else { 10 };
    let decimals = if args.len() > 2 { int_at(args, 2) } else { 0 };
    let (Ok(length), Ok(decimals)) = (usize::try_from(length), usize::try_from(decimals)) else {
        return Ok(Value::Null);
    };
    if length == 0 || length > 8000 {
        return Ok(Value::Null);
    }
    let whole = fixed(f, 0);
    let text = if whole.len() > length {
        "*".repeat(length)
    } else {
        let room = (length - whole.len()).saturating_sub(1);
        fixed(f, decimals.min(16).min(room))
    };
    Ok(Value::Str(SmolStr::from(format!("{text:>length$}"))))
}

/// Rounds half away from zero, as printing in decimal does for what the float looks like with 17 digits.
fn fixed(f: f64, decimals: usize) -> String {
    match crate::Decimal::from_printed_f64(f, decimals as u8) {
        Some(d) => d.to_string(),
        None => format!("{f:.decimals$}"),
    }
}

fn resolve_unistr(r: &Request<'_>) -> Result<Call> {
    let mut params = vec![r.text(0)?];
    params.extend(r.has(1).then_some(SqlType::NVarChar(Length::Limited(1))));
    let result = variable_like(params[0], params[0].is_national(), None);
    Ok(Call::new(result, params, unistr).in_collation(r.collation))
}

/// `\xxxx` is a unit of UTF-16, `\+xxxxxx` a character, the escape itself written twice. What is none of these stays.
fn unistr(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let escape = args.get(1).map_or(Some('\\'), |_| str_at(args, 1).chars().next());
    let mut units = Vec::new();
    let mut rest = str_at(args, 0);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let is_escape = Some(c) == escape;
        if is_escape && rest.starts_with(c) {
            rest = &rest[c.len_utf8()..];
        } else if let Some((found, length)) = is_escape.then(|| code_point(rest)).flatten() {
            units.extend_from_slice(&found);
            rest = &rest[length..];
            continue;
        }
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    Ok(Value::str(String::from_utf16_lossy(&units)))
}

/// The units of UTF-16 that the digits behind an escape stand for, and how many bytes they take.
fn code_point(text: &str) -> Option<(Vec<u16>, usize)> {
    let hex = |digits: Option<&str>| u32::from_str_radix(digits.filter(|d| !d.starts_with('+'))?, 16).ok();
    match text.strip_prefix('+') {
        None => Some((vec![hex(text.get(..4))? as u16], 4)),
        Some(text) => {
            let c = char::from_u32(hex(text.get(..6))?)?;
            Some((c.encode_utf16(&mut [0; 2]).to_vec(), 7))
        }
    }
}

fn resolve_string_escape(r: &Request<'_>) -> Result<Call> {
    let params = vec![r.national_text(0)?, r.text(1)?];
    Ok(Call::new(SqlType::NVarChar(Length::Max), params, string_escape))
}

fn string_escape(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    if !str_at(args, 1).trim_end().eq_ignore_ascii_case("json") {
        let text = "An invalid value was specified for argument 2.";
        return Err(SqlError::new(13_611, 16, 1, text));
    }
    let quoted = serde_json::to_string(str_at(args, 0)).unwrap_or_default();
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().replace('/', "\\/");
    Ok(Value::Str(SmolStr::from(inner)))
}

fn resolve_translate(r: &Request<'_>) -> Result<Call> {
    let text = r.text(0)?;
    let result = variable_like(text, text.is_national(), None);
    Ok(Call::new(result, vec![text, r.text(1)?, r.text(2)?], translate).in_collation(r.collation))
}

fn translate(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let (from, to): (Vec<char>, Vec<char>) =
        (str_at(args, 1).chars().collect(), str_at(args, 2).chars().collect());
    if from.len() != to.len() {
        let text = "The second and third arguments of the TRANSLATE built-in function must contain an equal number of characters.";
        return Err(SqlError::new(9828, 16, 1, text));
    }
    let swap =
        |c: char| from.iter().position(|f| like::same_char(*f, c, call.collation)).map_or(c, |i| to[i]);
    Ok(Value::Str(str_at(args, 0).chars().map(swap).collect()))
}

const BYTES: SqlType = SqlType::VarBinary(Length::Max);

/// Bytes from the `start`-th (from 1) as small hexadecimal digits: `length` of them, or all that follow when it is 0.
fn hex_of(bytes: &[u8], prefix: bool, start: i64, length: i64) -> Value {
    let Some(rest) = usize::try_from(start - 1).ok().and_then(|at| bytes.get(at..)).filter(|r| !r.is_empty())
    else {
        return Value::Null;
    };
    let taken = usize::try_from(length).ok().filter(|n| *n > 0).unwrap_or(rest.len()).min(rest.len());
    let digits = crate::cast::hex(&rest[..taken], "").to_ascii_lowercase();
    Value::Str(SmolStr::from(if prefix { format!("0x{digits}") } else { digits }))
}

/// Letter and three digits; vowels separate, `h` and `w` do not.
fn soundex(text: &str) -> SmolStr {
    let code = |c: char| match c.to_ascii_lowercase() {
        'b' | 'f' | 'p' | 'v' => Some('1'),
        'c' | 'g' | 'j' | 'k' | 'q' | 's' | 'x' | 'z' => Some('2'),
        'd' | 't' => Some('3'),
        'l' => Some('4'),
        'm' | 'n' => Some('5'),
        'r' => Some('6'),
        _ => None,
    };
    let mut letters = text.chars().take_while(char::is_ascii_alphabetic);
    let Some(first) = letters.next() else { return SmolStr::new_static("0000") };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = code(first);
    for c in letters {
        if matches!(c.to_ascii_lowercase(), 'h' | 'w') {
            continue;
        }
        let this = code(c);
        if let Some(digit) = this.filter(|_| this != last) {
            out.push(digit);
            if out.len() == 4 {
                break;
            }
        }
        last = this;
    }
    out.extend(std::iter::repeat_n('0', 4 - out.len()));
    SmolStr::from(out)
}

fn difference(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let (a, b) = (soundex(str_at(args, 0)), soundex(str_at(args, 1)));
    Ok(Value::Int(a.chars().zip(b.chars()).filter(|(x, y)| x == y).count() as i64))
}

/// Parts of `server.database.schema.object`, counted from the right; brackets and quotes are taken off.
fn parsename(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let parts = name_parts(str_at(args, 0));
    let n = usize::try_from(int_at(args, 1)).ok().filter(|n| (1..=4).contains(n));
    let part = match (parts, n) {
        (Some(parts), Some(n)) if n <= parts.len() && parts.len() <= 4 => parts[parts.len() - n].clone(),
        _ => return Ok(Value::Null),
    };
    Ok(if part.is_empty() { Value::Null } else { Value::Str(SmolStr::from(part)) })
}

/// Splits a dotted name; `None` when it is not one.
fn name_parts(name: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut chars = name.chars().peekable();
    loop {
        let mut part = String::new();
        let close = match chars.peek() {
            Some('[') => Some(']'),
            Some('"') => Some('"'),
            _ => None,
        };
        if let Some(close) = close {
            chars.next();
            loop {
                match chars.next()? {
                    c if c == close && chars.peek() == Some(&close) => {
                        chars.next();
                        part.push(close);
                    }
                    c if c == close => break,
                    c => part.push(c),
                }
            }
        } else {
            while let Some(c) = chars.next_if(|c| *c != '.') {
                part.push(c);
            }
        }
        if units(&part, true) > 128 {
            return None;
        }
        parts.push(part);
        match chars.next() {
            None => return Some(parts),
            Some('.') => {}
            Some(_) => return None,
        }
    }
}
