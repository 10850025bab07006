//! JSON text walked in place: finding what a path names without building a tree.
//!
//! The text is checked as a whole first, so the walk can rely on its form; it never recurses, so no depth of nesting
//! can hurt it.

use crate::error::{Result, SqlError};

/// A parsed path: `lax $.a."b c"[2]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Whether it is an error that nothing is there.
    pub strict: bool,
    pub(super) append: bool,
    /// The way down.
    pub steps: Vec<Step>,
}

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To the member of an object.
    Key(String),
    /// To an element of an array, from 0.
    Index(usize),
}

impl Path {
    /// Reads a path; error 13607.
    pub fn parse(text: &str) -> Result<Path> {
        let mut path = Path { strict: false, append: false, steps: Vec::new() };
        let mut rest = text.trim();
        loop {
            if let Some(r) = rest.strip_prefix("append ") {
                (path.append, rest) = (true, r.trim_start());
            } else if let Some(r) = rest.strip_prefix("lax ") {
                rest = r.trim_start();
            } else if let Some(r) = rest.strip_prefix("strict ") {
                (path.strict, rest) = (true, r.trim_start());
            } else {
                break;
            }
        }
        let bad = |rest: &str| bad_path(rest.chars().next(), text.len() - rest.len());
        rest = rest.strip_prefix('$').ok_or_else(|| bad(rest))?;
        while !rest.is_empty() {
            let (step, after) = step(rest).ok_or_else(|| bad(rest))?;
            path.steps.push(step);
            rest = after;
        }
        Ok(path)
    }
}

fn step(text: &str) -> Option<(Step, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (digits, rest) = inner.split_once(']')?;
        return Some((Step::Index(digits.trim().parse().ok()?), rest));
    }
    let rest = text.strip_prefix('.')?;
    if rest.starts_with('"') {
        let end = string_end(rest.as_bytes(), 0)?;
        return Some((Step::Key(unescape(&rest[..end])?), &rest[end..]));
    }
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let key = &rest[..end];
    let plain =
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$' || c == '-');
    plain.then(|| (Step::Key(key.to_owned()), &rest[end..]))
}

fn bad_path(found: Option<char>, at: usize) -> Box<SqlError> {
    let found = found.unwrap_or(' ');
    let text = format!(
        "JSON path is not properly formatted. Unexpected character '{found}' is found at position {at}."
    );
    SqlError::new(13_607, 16, 4, text)
}

/// Where a text ceases to be JSON.
pub(super) fn flaw(text: &str) -> Option<usize> {
    let e = serde_json::from_str::<serde::de::IgnoredAny>(text).err()?;
    Some(position(text, e.line(), e.column()))
}

/// Error 13609 unless the whole text is JSON.
pub fn check(text: &str) -> Result<()> {
    match flaw(text) {
        None => Ok(()),
        Some(at) => {
            let found = text[at..].chars().next().unwrap_or('.');
            let text = format!(
                "JSON text is not properly formatted. Unexpected character '{found}' is found at position {at}."
            );
            Err(SqlError::new(13_609, 16, 4, text))
        }
    }
}

/// Whether the whole text is JSON of an object or array.
pub(super) fn is_document(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && flaw(text).is_none()
}

/// Byte position of a line and column as the checker counts them, on a character's start.
fn position(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The text of a string literal without quotes and escapes.
pub fn unescape(literal: &str) -> Option<String> {
    serde_json::from_str(literal).ok()
}

/// The raw text of what the path names, as a range of `text`, which has been checked.
pub fn locate(text: &str, steps: &[Step]) -> Option<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = blank_end(bytes, 0);
    for step in steps {
        at = match step {
            Step::Key(key) => member(text, at, key)?,
            Step::Index(n) => element(bytes, at, *n)?,
        };
    }
    Some(at..value_end(bytes, at)?)
}

/// The names (of an object) and raw texts of the members or elements of a value, which has been checked.
#[must_use]
pub fn members(text: &str) -> Vec<(Option<String>, &str)> {
    let bytes = text.as_bytes();
    let start = blank_end(bytes, 0);
    let object = bytes.get(start) == Some(&b'{');
    let mut out = Vec::new();
    if !object && bytes.get(start) != Some(&b'[') {
        return out;
    }
    let mut at = blank_end(bytes, start + 1);
    while let Some((name, value, end)) = next_member(text, at, object) {
        out.push((name, &text[value..end]));
        let comma = blank_end(bytes, end);
        if bytes.get(comma) != Some(&b',') {
            break;
        }
        at = blank_end(bytes, comma + 1);
    }
    out
}

/// Name, beginning and end of the member or element at `at`; `None` where there is none.
fn next_member(text: &str, at: usize, object: bool) -> Option<(Option<String>, usize, usize)> {
    let bytes = text.as_bytes();
    if matches!(bytes.get(at)?, b'}' | b']') {
        return None;
    }
    if !object {
        return Some((None, at, value_end(bytes, at)?));
    }
    let end = string_end(bytes, at)?;
    let name = unescape(text.get(at..end)?)?;
    let value = blank_end(bytes, blank_end(bytes, end) + 1);
    Some((Some(name), value, value_end(bytes, value)?))
}

fn blank_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Position after the string literal that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut i = at + 1;
    loop {
        match bytes.get(i)? {
            b'\\' => i += 2,
            b'"' => return Some(i + 1),
            _ => i += 1,
        }
    }
}

/// Position after the value that begins at `at`.
fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut i = at;
    loop {
        match bytes.get(i)? {
            b'"' => i = string_end(bytes, i)?,
            b'{' | b'[' => {
                depth += 1;
                i += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                i += 1;
            }
            b',' | b':' => i += 1,
            b if b.is_ascii_whitespace() => i += 1,
            _ => {
                while bytes.get(i).is_some_and(|b| !b",:]} \t\r\n".contains(b)) {
                    i += 1;
                }
            }
        }
        if depth == 0 {
            return Some(i);
        }
    }
}

/// Position of the value of a member of the object at `at`.
fn member(text: &str, at: usize, key: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if bytes.get(at) != Some(&b'{') {
        return None;
    }
    let mut i = blank_end(bytes, at + 1);
    while bytes.get(i) == Some(&b'"') {
        let end = string_end(bytes, i)?;
        let literal = text.get(i..end)?;
        let colon = blank_end(bytes, end);
        let value = blank_end(bytes, colon + 1);
        let plain = &literal[1..literal.len() - 1];
        if plain == key || (plain.contains('\\') && unescape(literal).as_deref() == Some(key)) {
            return Some(value);
        }
        let comma = blank_end(bytes, value_end(bytes, value)?);
        i = blank_end(bytes, comma + 1);
    }
    None
}

/// Position of the n-th element of the array at `at`.
fn element(bytes: &[u8], at: usize, n: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'[') {
        return None;
    }
    let mut i = blank_end(bytes, at + 1);
    for _ in 0..n {
        if bytes.get(i) == Some(&b']') {
            return None;
        }
        let comma = blank_end(bytes, value_end(bytes, i)?);
        if bytes.get(comma) != Some(&b',') {
            return None;
        }
        i = blank_end(bytes, comma + 1);
    }
    (bytes.get(i) != Some(&b']')).then_some(i)
}

/// The range of a member with its name, for taking it out of the object at `at`, with one of the commas around it.
pub(super) fn member_with_comma(text: &str, object: usize, key: &str) -> Option<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let value = member(text, object, key)?;
    let end = value_end(bytes, value)?;
    // The name lies between the comma or brace before it and the value.
    let mut i = blank_end(bytes, object + 1);
    let mut start = i;
    while i < value {
        start = i;
        let colon = blank_end(bytes, string_end(bytes, i)?);
        let this = blank_end(bytes, colon + 1);
        if this == value {
            break;
        }
        i = blank_end(bytes, blank_end(bytes, value_end(bytes, this)?) + 1);
    }
    let after = blank_end(bytes, end);
    if bytes.get(after) == Some(&b',') {
        return Some(start..blank_end(bytes, after + 1));
    }
    let before = text[..start].trim_end();
    Some(if before.ends_with(',') { before.len() - 1..end } else { start..end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths() {
        let check = |path: &str, expect: Option<&str>| {
            let text = r#" {"a": [1, {"b": "x\"]"}, []], "c d": null, "e" : {} } "#;
            let path = Path::parse(path).unwrap();
            assert_eq!(locate(text, &path.steps).map(|r| &text[r]), expect, "{path:?}");
        };
        check("$.a[0]", Some("1"));
        check("$.a[1].b", Some(r#""x\"]""#));
        check("$.a[2]", Some("[]"));
        check("$.a[3]", None);
        check("lax $.\"c d\"", Some("null"));
        check("$.e", Some("{}"));
        check("$.e.f", None);
        check("$.z", None);
        assert_eq!(members("[1, [2]]"), [(None, "1"), (None, "[2]")]);
        assert_eq!(
            members(r#" {"b" : 1.50,"a":{ }} "#),
            [(Some("b".into()), "1.50"), (Some("a".into()), "{ }")]
        );
        assert_eq!(members("{}"), []);
        assert_eq!(Path::parse("a").unwrap_err().number, 13_607);
        assert_eq!(Path::parse("$.a[x]").unwrap_err().number, 13_607);
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>(), shaped in "[\\[\\]{}\",:a1\\\\ ]{0,20}", path in "[$.\\[\\]a0\" ]{0,8}") {
            for text in [&text, &shaped] {
                let _ = check(text);
                if let Ok(path) = Path::parse(&path) {
                    let _ = locate(text, &path.steps);
                    let _ = member_with_comma(text, 0, "a");
                    let _ = check(text).map(|()| members(text).len());
                }
            }
        }
    }
}
