//! Regular expressions: `REGEXP_COUNT`, `REGEXP_INSTR`, `REGEXP_LIKE`, `REGEXP_REPLACE` and `REGEXP_SUBSTR`.
//!
//! ```text
//!   pattern, flags ──translated──► a pattern of the regex crate ──► kept by the thread ──► matches of a text
//! ```
//!
//! Patterns are those of RE2, and like RE2 the library takes time that grows with the text alone. Where the two read a
//! pattern differently, it is rewritten (`translated`). Collations play no part: the flags say whether case does.
//! START counts characters, what `REGEXP_INSTR` gives counts UTF-16 units, as in the product.

use super::string::units;
use super::{Call, FnCtx, FunctionDef, Request, int_at, str_at};
use crate::error::{Result, SqlError};
use crate::ty::{Length, SqlType};
use crate::value::Value;
use regex::RegexBuilder;
pub use regex::{Captures, Match, Regex};
use std::cell::RefCell;
use std::rc::Rc;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("REGEXP_COUNT", 2, 4, |r| {
        Ok(Call::new(SqlType::Int, params(r, &[INT, FLAGS])?, count).in_collation(r.collation))
    }),
    FunctionDef::new("REGEXP_INSTR", 2, 7, |r| {
        let params = params(r, &[INT, INT, INT, FLAGS, INT])?;
        Ok(Call::new(SqlType::Int, params, position).in_collation(r.collation))
    }),
    // A predicate: the parser lets it stand where a condition may, and nowhere else.
    FunctionDef::new("REGEXP_LIKE", 2, 3, |r| {
        Ok(Call::new(SqlType::Bit, params(r, &[FLAGS])?, like).in_collation(r.collation))
    }),
    FunctionDef::new("REGEXP_REPLACE", 2, 6, resolve_replace),
    FunctionDef::new("REGEXP_SUBSTR", 2, 6, |r| {
        let params = params(r, &[INT, INT, FLAGS, INT])?;
        let result = super::variable_like(params[0], params[0].is_national(), None);
        Ok(Call::new(result, params, part).in_collation(r.collation).nullable())
    }),
];

const INT: SqlType = SqlType::Int;
/// More than 30 letters are counted in error 19302.
const FLAGS: SqlType = SqlType::VarChar(Length::Limited(8000));
/// Letters that flags may have.
const FLAGS_MAX: usize = 30;
/// Compiled patterns that a thread keeps.
const KEPT_MAX: usize = 16;

/// Types of the arguments: a text, a pattern of limited length, and `more` as far as there are arguments. Error 8116.
fn params(r: &Request<'_>, more: &[SqlType]) -> Result<Vec<SqlType>> {
    let pattern = string(r, 1)?;
    if pattern.length() == Some(Length::Max) {
        return Err(r.bad_argument(1));
    }
    let more = more.iter().take(r.args.len() - 2);
    Ok([string(r, 0)?, pattern].into_iter().chain(more.copied()).collect())
}

/// The type of an argument that has to be a string: 8116.
fn string(r: &Request<'_>, i: usize) -> Result<SqlType> {
    match r.ty(i) {
        SqlType::Null => Ok(SqlType::VarChar(Length::Limited(1))),
        SqlType::Text | SqlType::NText | SqlType::Xml | SqlType::TypedXml(_) => Err(r.bad_argument(i)),
        ty if ty.is_string() => Ok(ty),
        _ => Err(r.bad_argument(i)),
    }
}

/// The result has all the room of its kind of string, and is as long as can be when text or replacement are.
fn resolve_replace(r: &Request<'_>) -> Result<Call> {
    let mut params = params(r, &[FLAGS, INT, INT, FLAGS])?;
    if r.has(2) {
        params[2] = string(r, 2)?;
    }
    let national = params[0].is_national();
    let long = [0, 2].iter().any(|i| params.get(*i).is_some_and(|ty| ty.length() == Some(Length::Max)));
    let limited = Length::Limited(if national { 4000 } else { 8000 });
    let length = if long { Length::Max } else { limited };
    let result = if national { SqlType::NVarChar(length) } else { SqlType::VarChar(length) };
    Ok(Call::new(result, params, replace).in_collation(r.collation))
}

/// The pattern, compiled under these flags (`None`: the argument is not there). Errors 19300, 19302, 19303 and 19307 to
/// 19309; `rows` says that a function in FROM asks, whose errors have other states.
pub fn compiled(pattern: &str, flags: Option<&str>, rows: bool) -> Result<Rc<Regex>> {
    // Shared, not cloned: a clone of the library's begins without what searching has taught it.
    thread_local! {
        static KEPT: RefCell<Vec<Kept>> = RefCell::default();
    }
    let flags = Flags::of(flags.unwrap_or_default())?;
    KEPT.with_borrow_mut(|kept| {
        if let Some(at) = kept.iter().position(|k| k.flags == flags && *k.pattern == *pattern) {
            // What is asked for again is found first.
            kept.swap(0, at);
            return Ok(Rc::clone(&kept[0].regex));
        }
        let regex = Rc::new(flags.compile(pattern).map_err(|error| invalid(pattern, &error, rows))?);
        kept.truncate(KEPT_MAX - 1);
        kept.insert(0, Kept { pattern: pattern.into(), flags, regex: Rc::clone(&regex) });
        Ok(regex)
    })
}

/// A compiled pattern.
struct Kept {
    pattern: Box<str>,
    flags: Flags,
    regex: Rc<Regex>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    /// `i`, unless a `c` comes later.
    any_case: bool,
    /// `m`: `^` and `$` are at every line's ends.
    lines: bool,
    /// `s`: `.` is a line's end too.
    dot_all: bool,
}

impl Flags {
    /// Errors 19302 and 19303.
    fn of(letters: &str) -> Result<Flags> {
        let count = letters.chars().count();
        if count > FLAGS_MAX {
            let m =
                format!("Maximum of '{FLAGS_MAX}' flags can be provided. But you provided '{count}' flags.");
            return Err(SqlError::new(19_302, 16, 0, m));
        }
        let mut flags = Flags::default();
        for letter in letters.chars() {
            match letter {
                'c' => flags.any_case = false,
                'i' => flags.any_case = true,
                'm' => flags.lines = true,
                's' => flags.dot_all = true,
                _ => {
                    let m = format!(
                        "Invalid flag provided. '{letters}' are not valid flags. Only {{c,i,s,m}} flags are valid."
                    );
                    return Err(SqlError::new(19_303, 16, 0, m));
                }
            }
        }
        Ok(flags)
    }

    fn compile(self, pattern: &str) -> std::result::Result<Regex, regex::Error> {
        let mut builder = RegexBuilder::new(&translated(pattern));
        builder.case_insensitive(self.any_case).multi_line(self.lines).dot_matches_new_line(self.dot_all);
        builder.build()
    }
}

/// What the library says of a pattern, in the product's words where it has its own.
fn invalid(pattern: &str, error: &regex::Error, rows: bool) -> Box<SqlError> {
    let said = error.to_string();
    let reason = said.lines().last().unwrap_or_default().trim_start_matches("error: ");
    let state = u8::from(rows);
    let (number, state, message) = match reason {
        "unclosed group" => (19_308, 1 + 2 * state, format!("Missing ')' in the Pattern {pattern}.")),
        "unclosed character class" => {
            (19_308, 2 + 2 * state, format!("Missing ']' in the Pattern {pattern}."))
        }
        "unopened group" => {
            (19_307, 1 + state, format!("Encountered an unexpected ')' in the Pattern {pattern}."))
        }
        _ if reason.starts_with("incomplete escape sequence") => {
            let m = format!("Invalid trailing backslash (\\) provided at the end of the Pattern {pattern}.");
            (19_309, 1 + state, m)
        }
        _ => {
            let m = format!(
                "An invalid Pattern '{pattern}' was provided. Error '{reason}' occurred during evaluation of the Pattern."
            );
            (19_300, 1 + state, m)
        }
    };
    SqlError::new(number, 16, state, message)
}

/// A pattern of RE2 as the library reads it: `\d`, `\s`, `\w` and `\b` are about ASCII, `\Q…\E` is literal, and inside of
/// brackets there are neither sets in sets nor operators between them.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let taken = match c {
            '\\' => escape(after, in_class, &mut out),
            '[' if in_class => {
                let named = after.strip_prefix(':').and_then(|name| name.find(":]"));
                let (text, length) = named.map_or(("\\[", 0), |end| (&rest[..end + 4], end + 3));
                out.push_str(text);
                length
            }
            '[' => {
                in_class = true;
                let begin = usize::from(after.starts_with('^'));
                let first = after[begin..].starts_with(']');
                out.push('[');
                out.push_str(&after[..begin]);
                out.push_str(if first { "\\]" } else { "" });
                begin + usize::from(first)
            }
            ']' if in_class => {
                in_class = false;
                out.push(c);
                0
            }
            '&' | '~' if in_class => {
                out.extend(['\\', c]);
                0
            }
            _ => {
                out.push(c);
                0
            }
        };
        rest = &after[taken..];
    }
    out
}

/// What stands for a backslash and what follows; how many bytes of that are taken.
fn escape(after: &str, in_class: bool, out: &mut String) -> usize {
    const DIGITS: &str = "0-9";
    const BLANKS: &str = r"\t\n\x0C\r ";
    const WORDS: &str = "0-9A-Za-z_";
    if let Some(literal) = after.strip_prefix('Q') {
        let end = literal.find(r"\E");
        out.push_str(&regex::escape(&literal[..end.unwrap_or(literal.len())]));
        return end.map_or(after.len(), |end| end + 3);
    }
    let Some(c) = after.chars().next() else {
        out.push('\\');
        return 0;
    };
    let set = match c {
        'd' | 'D' => DIGITS,
        's' | 'S' => BLANKS,
        'w' | 'W' => WORDS,
        'b' if !in_class => {
            out.push_str(r"(?-u:\b)");
            return 1;
        }
        _ => {
            out.extend(['\\', c]);
            return c.len_utf8();
        }
    };
    let others = if c.is_ascii_uppercase() { "^" } else { "" };
    if in_class && others.is_empty() {
        out.push_str(set);
    } else {
        out.extend(["[", others, set, "]"]);
    }
    1
}

/// The byte at which the character of this number begins, from 1; `None` behind the end.
fn byte_of(text: &str, start: i64) -> Option<usize> {
    let index = usize::try_from(start - 1).ok()?;
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index)
}

/// A number that has to be at least `least`, or the error of its function, argument and state.
fn at_least(args: &[Value], i: usize, least: i64, (function, name, state): (&str, &str, u8)) -> Result<i64> {
    let value = if args.len() > i { int_at(args, i) } else { least.max(1) };
    if value >= least {
        return Ok(value);
    }
    let m = format!(
        "'{name}' value should be greater than or equal to {least} but '{value}' is provided in '{function}' function."
    );
    Err(SqlError::new(19_301, 16, state, m))
}

/// Pattern and flags of a call whose flags are argument `i`.
fn regex_of(args: &[Value], i: usize) -> Result<Rc<Regex>> {
    compiled(str_at(args, 1), args.get(i).and_then(Value::as_str), false)
}

/// The match of this number, from 1, at or behind a character.
fn nth<'t>(regex: &Regex, text: &'t str, start: i64, occurrence: i64) -> Option<Captures<'t>> {
    let mut from = byte_of(text, start)?;
    for _ in 1..occurrence {
        from = next_start(text, regex.find_at(text, from)?.range())?;
    }
    regex.captures_at(text, from)
}

/// Where the next match may begin: behind the last, and behind a character more when that was empty.
fn next_start(text: &str, last: std::ops::Range<usize>) -> Option<usize> {
    if !last.is_empty() {
        return Some(last.end);
    }
    Some(last.end + text[last.end..].chars().next()?.len_utf8())
}

/// All matches at or behind a byte.
fn matches<'t>(regex: &Regex, text: &'t str, from: usize) -> impl Iterator<Item = Captures<'t>> {
    let mut from = Some(from);
    std::iter::from_fn(move || {
        let found = regex.captures_at(text, from?)?;
        from = next_start(text, found.get(0)?.range());
        Some(found)
    })
}

fn like(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    Ok(Value::Bit(regex_of(args, 2)?.is_match(str_at(args, 0))))
}

fn count(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let start = at_least(args, 2, 1, ("REGEXP_COUNT", "START", 0))?;
    let regex = regex_of(args, 3)?;
    let text = str_at(args, 0);
    let from = byte_of(text, start);
    Ok(Value::Int(from.map_or(0, |from| matches(&regex, text, from).count() as i64)))
}

fn position(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let name = "REGEXP_INSTR";
    let start = at_least(args, 2, 1, (name, "START", 3))?;
    let occurrence = at_least(args, 3, 1, (name, "OCCURRENCE", 4))?;
    let end = int_at(args, 4);
    if !(0..=1).contains(&end) {
        let m = format!(
            "'RETURN_OPTION' value should be greater than or equal to 0 but '{end}' is provided in '{name}' function."
        );
        return Err(SqlError::new(19_301, 16, 6, m));
    }
    let regex = regex_of(args, 5)?;
    let group = int_at(args, 6);
    if group < 0 {
        // The product names this bound and takes 0 all the same.
        let m = format!(
            "'GROUP' value should be greater than or equal to 1 but '{group}' is provided in '{name}' function."
        );
        return Err(SqlError::new(19_301, 16, 5, m));
    }
    let text = str_at(args, 0);
    let found = nth(&regex, text, start, occurrence).and_then(|found| found.get(group as usize));
    let byte = found.map(|found| if end == 1 { found.end() } else { found.start() });
    Ok(Value::Int(byte.map_or(0, |byte| units(&text[..byte], true) as i64 + 1)))
}

fn part(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let name = "REGEXP_SUBSTR";
    let start = at_least(args, 2, 1, (name, "START", 7))?;
    let occurrence = at_least(args, 3, 1, (name, "OCCURRENCE", 8))?;
    let regex = regex_of(args, 4)?;
    let group = if args.len() > 5 { at_least(args, 5, 0, (name, "GROUP", 9))? } else { 0 };
    let found = nth(&regex, str_at(args, 0), start, occurrence).and_then(|found| found.get(group as usize));
    Ok(found.map_or(Value::Null, |found| Value::str(found.as_str())))
}

fn replace(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let name = "REGEXP_REPLACE";
    let start = at_least(args, 3, 1, (name, "START", 1))?;
    let occurrence = if args.len() > 4 { at_least(args, 4, 0, (name, "OCCURRENCE", 2))? } else { 0 };
    let regex = regex_of(args, 5)?;
    let text = str_at(args, 0);
    let from = byte_of(text, start).filter(|_| !str_at(args, 1).is_empty());
    let Some(from) = from else { return Ok(args[0].clone()) };
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (found, number) in matches(&regex, text, from).zip(1..) {
        let Some(whole) = found.get(0).filter(|_| occurrence == 0 || occurrence == number) else { continue };
        out.push_str(&text[copied..whole.start()]);
        append_replacement(&mut out, str_at(args, 2), &found);
        copied = whole.end();
        if occurrence != 0 {
            break;
        }
    }
    out.push_str(&text[copied..]);
    cut(&mut out, call.result);
    Ok(Value::str(out))
}

/// `\1` to `\9` are what the groups have matched, `\\` is a backslash.
fn append_replacement(out: &mut String, replacement: &str, found: &Captures<'_>) {
    let mut chars = replacement.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied().filter(|_| c == '\\');
        match next {
            Some('\\') => out.push('\\'),
            Some(digit @ '1'..='9') => {
                let group = digit as usize - '0' as usize;
                out.push_str(found.get(group).map_or("", |group| group.as_str()));
            }
            _ => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
}

/// What is longer than the type is cut, without a word.
fn cut(text: &mut String, ty: SqlType) {
    let Some(Length::Limited(most)) = ty.length() else { return };
    if text.len() <= usize::from(most) {
        return;
    }
    let mut room = usize::from(most);
    let fits = |c: &char| {
        let size = if ty.is_national() { c.len_utf16() } else { 1 };
        let fits = size <= room;
        room = room.saturating_sub(size);
        fits
    };
    let end = text.chars().take_while(fits).map(char::len_utf8).sum();
    text.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collation::Collation;
    use crate::functions::{Arg, lookup};
    use proptest::prelude::*;

    struct Nobody;

    impl FnCtx for Nobody {
        fn now_utc(&self) -> i64 {
            0
        }
        fn now_local(&self) -> i64 {
            0
        }
        fn rand(&self, _: Option<i64>) -> f64 {
            0.0
        }
    }

    fn call(name: &str, args: &[Value]) -> Result<Value> {
        let ty = |v: &Value| match v {
            Value::Int(_) => SqlType::Int,
            _ => SqlType::NVarChar(Length::Limited(100)),
        };
        let types: Vec<_> = args.iter().map(|v| Arg { ty: ty(v), constant: None }).collect();
        let function = lookup(name).expect("it is in the table");
        function.resolve(&types, Collation::default())?.eval(&Nobody, args)
    }

    proptest! {
        /// Patterns of all kinds, most of them wrong, end in a result or an error; what is replaced by itself stays.
        #[test]
        fn whatever_the_pattern(
            pattern in r"([a-c\[\]()|*+?{},^$.:\\&~\-0-9QEdDwWsSbBpLéx😀]|\[:alpha:\]){0,12}",
            text in "[a-cé😀 \n0-9]{0,12}",
            start in 1..14i64,
            occurrence in 1..4i64,
        ) {
            let (text, pattern) = (Value::str(text), Value::str(pattern));
            let (start, occurrence) = (Value::Int(start), Value::Int(occurrence));
            let all = [text.clone(), pattern.clone(), start.clone(), occurrence.clone()];
            let count = call("REGEXP_COUNT", &all[..3]);
            let at = call("REGEXP_INSTR", &all);
            let part = call("REGEXP_SUBSTR", &all);
            let same = call("REGEXP_REPLACE", &[text.clone(), Value::str(format!("({})", pattern.as_str().unwrap_or_default())), Value::str("\\1")]);
            if let (Ok(count), Ok(at), Ok(part)) = (&count, &at, &part) {
                let reaches = count.as_int() >= occurrence.as_int();
                prop_assert_eq!(at.as_int() > Some(0), reaches);
                prop_assert_eq!(!part.is_null(), reaches);
            }
            prop_assert_eq!(count.is_ok(), at.is_ok());
            if let Ok(same) = same {
                prop_assert_eq!(same.as_str(), text.as_str());
            }
        }
    }
}
