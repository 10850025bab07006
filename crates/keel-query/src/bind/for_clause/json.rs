//! FOR JSON: values, and the objects of PATH.

use super::auto;
use super::{Binder, Column, JSON_COLUMN, Selected, TEXT, Writing, pack, refuse, text_of};
use crate::errors::Result;
use crate::expr::builtin::own;
use keel_parser::ast;
use keel_types::Value;
use std::fmt::Write;
use std::sync::Arc;

/// Slot name of a result that an outer FOR JSON writes as a string: without its brackets it may not be JSON.
const UNWRAPPED: &str = "JSON without array wrapper";

impl Binder<'_> {
    /// FOR JSON.
    pub(super) fn for_json(&mut self, selected: &Selected, clause: &ast::ForJson) -> Result<Writing> {
        let (columns, args) = self.columns_to_write(&selected.query, |e| self.is_json(e));
        if !clause.path && selected.sources.is_empty() {
            return refuse(
                13600,
                "FOR JSON AUTO requires at least one table for generating JSON objects. Use FOR JSON PATH or add a FROM clause with a table name.",
            );
        }
        if columns.iter().any(|c| c.name.is_empty()) {
            return refuse(
                13605,
                "Column expressions and data sources without names or aliases cannot be formatted as JSON text using FOR JSON clause. Add alias to the unnamed column or table.",
            );
        }
        if clause.root.is_some() && clause.without_array_wrapper {
            return refuse(
                13620,
                "ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR JSON. Remove one of these options.",
            );
        }
        let nulls = clause.include_null_values;
        let (open, close) = wrapper(clause);
        let slot_name = if clause.without_array_wrapper { UNWRAPPED } else { JSON_COLUMN };
        if clause.path {
            check_paths(&columns)?;
            let row =
                own("FOR JSON", TEXT, args, move |v| Ok(Value::Str(json_row(&columns, v, nulls).into())));
            let finish = Arc::new(move |rows: &str| Ok(format!("{open}{rows}{close}")));
            return Ok(Writing { row, separator: ",", finish, name: JSON_COLUMN, slot_name, ty: TEXT });
        }
        let levels = self.auto_levels(selected);
        for level in &levels {
            let mut names: Vec<&str> = level.columns.iter().map(|c| columns[*c].name.as_str()).collect();
            names.sort_unstable();
            if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
                return conflict(twice[0]);
            }
        }
        let names: Vec<String> = levels.iter().map(|l| json_string(&l.name)).collect();
        let depth = levels.len();
        let row = own("FOR JSON", TEXT, args, move |v| {
            let texts = levels.iter().map(|l| Some(members(&columns, v, &l.columns, nulls)));
            Ok(Value::Str(pack(texts).into()))
        });
        let finish = Arc::new(move |rows: &str| {
            Ok(format!("{open}{}{close}", auto::write(rows, depth, &auto::Json { names: &names })))
        });
        Ok(Writing { row, separator: "", finish, name: JSON_COLUMN, slot_name, ty: TEXT })
    }
}

/// What stands before and after the objects.
fn wrapper(clause: &ast::ForJson) -> (String, String) {
    let (open, close) = if clause.without_array_wrapper { ("", "") } else { ("[", "]") };
    match &clause.root {
        Some(name) => {
            let name = json_string(name.as_deref().unwrap_or("root"));
            (format!("{{{name}:{open}"), format!("{close}}}"))
        }
        None => (open.to_owned(), close.to_owned()),
    }
}

fn conflict<T>(name: &str) -> Result<T> {
    refuse(
        13601,
        format!(
            "Property '{name}' cannot be generated in JSON output due to a conflict with another column name or alias. Use different names and aliases for each column in SELECT list."
        ),
    )
}

/// Every property once, and the columns of an object next to each other.
fn check_paths(columns: &[Column]) -> Result<()> {
    let mut done: Vec<Vec<&str>> = Vec::new();
    let mut previous: Vec<&str> = Vec::new();
    for c in columns {
        let path: Vec<&str> = c.name.split('.').collect();
        let shared = previous.iter().zip(&path).take_while(|(a, b)| a == b).count();
        // The first step that is new here must not have been written before.
        let new = &path[..path.len().min(shared + 1)];
        if shared == path.len()
            || done.iter().any(|d| d.starts_with(new))
            || path.starts_with(&previous) && !previous.is_empty()
        {
            return conflict(&c.name);
        }
        done.push(path.clone());
        previous = path;
    }
    Ok(())
}

/// A JSON string with its quotes.
#[must_use]
pub fn json_string(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' => out.push_str("\\/"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A value as JSON.
#[must_use]
pub fn json_value(v: &Value, c: &Column) -> String {
    match v {
        Value::Null => "null".to_owned(),
        Value::Bit(b) => b.to_string(),
        Value::Str(s) if c.raw => s.to_string(),
        Value::Int(_) | Value::Decimal(_) | Value::Money(_) | Value::Float(_) => text_of(v, c.ty),
        Value::Variant(inner) => json_value(&inner.1, &Column { ty: inner.0, ..c.clone() }),
        v => json_string(&text_of(v, if c.ty.is_xml() { TEXT } else { c.ty })),
    }
}

/// The members of an object that these columns make, without its braces.
fn members(columns: &[Column], values: &[Value], these: &[usize], nulls: bool) -> String {
    let mut out = String::new();
    for &i in these {
        if nulls || !values[i].is_null() {
            let comma = if out.is_empty() { "" } else { "," };
            let _ = write!(
                out,
                "{comma}{}:{}",
                json_string(&columns[i].name),
                json_value(&values[i], &columns[i])
            );
        }
    }
    out
}

/// One object; names with dots nest.
fn json_row(columns: &[Column], values: &[Value], nulls: bool) -> String {
    let mut out = String::from("{");
    let mut open: Vec<&str> = Vec::new();
    let mut first = true;
    for (c, v) in columns.iter().zip(values) {
        if matches!(v, Value::Null) && !nulls {
            continue;
        }
        let mut path: Vec<&str> = c.name.split('.').collect();
        let leaf = path.pop().unwrap_or_default();
        let shared = open.iter().zip(&path).take_while(|(a, b)| a == b).count();
        while open.len() > shared {
            out.push('}');
            open.pop();
        }
        for part in &path[shared..] {
            let _ = write!(out, "{}{}:{{", if first { "" } else { "," }, json_string(part));
            first = true;
            open.push(part);
        }
        let _ = write!(out, "{}{}:{}", if first { "" } else { "," }, json_string(leaf), json_value(v, c));
        first = false;
    }
    for _ in 0..=open.len() {
        out.push('}');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_types::SqlType;

    fn c(name: &str) -> Column {
        Column { name: name.into(), ty: SqlType::Int, raw: false }
    }

    #[test]
    fn dotted_names_nest() {
        let row = json_row(
            &[c("a"), c("b.c"), c("b.d"), c("e")],
            &[Value::Int(1), Value::Int(2), Value::Int(3), Value::Int(4)],
            false,
        );
        assert_eq!(row, r#"{"a":1,"b":{"c":2,"d":3},"e":4}"#);
    }

    #[test]
    fn conflicting_paths() {
        let ok = |names: &[&str]| check_paths(&names.iter().map(|n| c(n)).collect::<Vec<_>>()).is_ok();
        assert!(ok(&["a", "b.c", "b.d", "e.c"]));
        assert!(!ok(&["a", "a"]));
        assert!(!ok(&["b.c", "a", "b.d"]));
        assert!(!ok(&["b", "b.d"]));
        assert!(!ok(&["b.d", "b"]));
    }
}
