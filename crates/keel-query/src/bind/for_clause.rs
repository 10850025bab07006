//! FOR JSON and FOR XML: the query's rows become one text.
//!
//! Each row is written by one function over all columns, the rows are joined by an aggregate in their order, and the
//! result is wrapped. So a FOR clause is an ordinary tree and works in subqueries too.

use super::rel::{AggFunc, Aggregate, Rel};
use super::{Binder, BoundQuery, OutputColumn};
use crate::errors::{self, Result};
use crate::expr::builtin::own;
use crate::expr::{Expr, ExprKind, Slot};
use keel_parser::ast;
use keel_types::{Length, SqlType, Value, cast};
use std::fmt::Write;

/// The product's column name of FOR JSON results.
const JSON_COLUMN: &str = "JSON_F52E2B61-18A1-11d1-B105-00805F49916B";
/// And of FOR XML results.
const XML_COLUMN: &str = "XML_F52E2B61-18A1-11d1-B105-00805F49916B";
const TEXT: SqlType = SqlType::NVarChar(Length::Max);

/// A column to be written.
pub(super) struct Column {
    /// Name, which may hold a path.
    pub name: String,
    /// Type of its values.
    pub ty: SqlType,
    /// Already JSON or XML (a nested FOR).
    pub raw: bool,
}

impl Binder<'_> {
    /// Turns a query into the one row that its FOR clause makes.
    pub fn for_clause(&mut self, bound: BoundQuery, clause: &ast::ForClause) -> Result<BoundQuery> {
        let columns: Vec<Column> = bound
            .columns
            .iter()
            .map(|c| Column {
                name: c.name.clone(),
                ty: self.slots[c.slot as usize].ty,
                raw: self.is_nested(&bound.rel, c.slot),
            })
            .collect();
        let args: Vec<Expr> = bound.columns.iter().map(|c| self.read(c.slot)).collect();
        match clause {
            ast::ForClause::Browse => Ok(bound),
            ast::ForClause::Json { root, include_null_values, without_array_wrapper, .. } => {
                if columns.iter().any(|c| c.name.is_empty()) {
                    let m = "Column expressions and data sources without names or aliases cannot be formatted as JSON text using FOR JSON clause. Add alias to the unnamed column or table.";
                    return Err(keel_types::SqlError::new(13605, 16, 1, m));
                }
                let nulls = *include_null_values;
                let row =
                    own("FOR JSON", TEXT, args, move |v| Ok(Value::Str(json_row(&columns, v, nulls).into())));
                let (open, close) = if *without_array_wrapper { ("", "") } else { ("[", "]") };
                let (open, close) = match root {
                    Some(name) => {
                        let name = name.as_deref().unwrap_or("root");
                        (format!("{{\"{name}\":{open}"), format!("{close}}}"))
                    }
                    None => (open.to_owned(), close.to_owned()),
                };
                self.joined(bound.rel, row, ",", open, close, JSON_COLUMN, false)
            }
            ast::ForClause::Xml { mode, element, root, elements, xsinil, .. } => {
                let element = element.as_ref().map_or("row".to_owned(), ToString::to_string);
                let attributes = match mode {
                    ast::XmlMode::Path => false,
                    ast::XmlMode::Raw | ast::XmlMode::Auto => !*elements,
                    ast::XmlMode::Explicit => return Err(errors::not_supported("FOR XML EXPLICIT")),
                };
                let nil = *xsinil;
                let row = own("FOR XML", TEXT, args, move |v| {
                    Ok(Value::Str(xml_row(&columns, v, &element, attributes, nil).into()))
                });
                let (open, close) = match root {
                    Some(name) => {
                        let name = name.as_deref().unwrap_or("root");
                        (format!("<{name}>"), format!("</{name}>"))
                    }
                    None => (String::new(), String::new()),
                };
                self.joined(bound.rel, row, "", open, close, XML_COLUMN, true)
            }
        }
    }

    /// Whether a column is the result of a FOR clause itself.
    fn is_nested(&self, rel: &Rel, slot: Slot) -> bool {
        let Rel::Project { exprs, input } = rel else { return false };
        match exprs.iter().find(|(s, _)| *s == slot).map(|(_, e)| &e.kind) {
            Some(ExprKind::Subquery(s)) => self.is_nested_text(s),
            Some(ExprKind::Builtin(b, _)) => matches!(&*b.name, "JSON_QUERY" | "JSON_OBJECT" | "JSON_ARRAY"),
            Some(_) => false,
            None => self.is_nested(input, slot),
        }
    }

    /// Whether a subquery gives the text of a FOR clause.
    pub(super) fn is_nested_text(&self, s: &super::rel::Subquery) -> bool {
        match &s.usage {
            super::rel::SubqueryUse::Scalar(inner) => {
                let name = &self.slots[*inner as usize].name;
                name == JSON_COLUMN || name == XML_COLUMN
            }
            _ => false,
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one text")]
    fn joined(
        &mut self,
        rel: Rel,
        row: Expr,
        separator: &str,
        open: String,
        close: String,
        name: &str,
        xml: bool,
    ) -> Result<BoundQuery> {
        let _ = xml;
        let text = self.typed_slot("", TEXT, true);
        let separator = self.literal(&ast::Literal::String { value: separator.into(), national: true });
        let aggregate = Aggregate {
            slot: text,
            func: AggFunc::StringAgg,
            arg: Some(row),
            separator: Some(separator),
            order: Vec::new(),
            distinct: false,
            ty: TEXT,
        };
        let rel = Rel::Aggregate {
            input: Box::new(rel),
            groups: Vec::new(),
            sets: None,
            grouping_id: None,
            aggs: vec![aggregate],
            scalar: true,
        };
        let wrapped = own("FOR", TEXT, vec![self.read(text)], move |v| {
            Ok(match &v[0] {
                Value::Str(s) => Value::Str(format!("{open}{s}{close}").into()),
                _ => Value::Null,
            })
        });
        let slot = self.typed_slot(name, TEXT, true);
        let rel = rel.project(vec![(slot, wrapped)]);
        Ok(BoundQuery { rel, columns: vec![OutputColumn { name: name.to_owned(), slot }] })
    }
}

fn text_of(v: &Value, ty: SqlType) -> String {
    let style = if ty.is_temporal() { 126 } else { 0 };
    match (v, ty) {
        (Value::Bytes(b), _) => base64(b),
        (Value::Float(f), _) => format!("{f:E}").replace('E', "e"),
        (v, ty) => cast::to_text(v, ty, style).map_or_else(|_| String::new(), |s| s.to_string()),
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let n = chunk.iter().enumerate().fold(0u32, |n, (i, b)| n | u32::from(*b) << (16 - 8 * i));
        for i in 0..4 {
            let symbol = ALPHABET[(n >> (18 - 6 * i)) as usize & 63] as char;
            out.push(if i <= chunk.len() { symbol } else { '=' });
        }
    }
    out
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
pub(super) fn json_value(v: &Value, c: &Column) -> String {
    match v {
        Value::Null => "null".to_owned(),
        Value::Bit(b) => b.to_string(),
        Value::Str(s) if c.raw => s.to_string(),
        Value::Int(_) | Value::Decimal(_) | Value::Money(_) | Value::Float(_) => text_of(v, c.ty),
        v => json_string(&text_of(v, c.ty)),
    }
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

fn xml_escape(s: &str, attribute: bool) -> String {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if attribute => out.push_str("&quot;"),
            '\r' => out.push_str("&#x0D;"),
            c => out.push(c),
        }
    }
    out
}

fn xml_value(v: &Value, c: &Column, attribute: bool) -> String {
    match v {
        Value::Str(s) if c.raw => s.to_string(),
        Value::Bit(b) => u8::from(*b).to_string(),
        v => xml_escape(&text_of(v, c.ty), attribute),
    }
}

/// One element: columns as attributes, or as child elements; `@name` and unnamed columns as PATH has them.
fn xml_row(columns: &[Column], values: &[Value], element: &str, attributes: bool, nil: bool) -> String {
    let (mut head, mut body) = (String::new(), String::new());
    for (c, v) in columns.iter().zip(values) {
        let attribute = attributes || c.name.starts_with('@');
        let name = c.name.trim_start_matches('@');
        match v {
            Value::Null if nil && !attribute => {
                let _ = write!(body, "<{name} xsi:nil=\"true\"/>");
            }
            Value::Null => {}
            v if name.is_empty() || name == "text()" || name == "*" || name == "data()" => {
                body.push_str(&xml_value(v, c, false));
            }
            v if attribute => {
                let _ = write!(head, " {name}=\"{}\"", xml_value(v, c, true));
            }
            v => {
                let mut path: Vec<&str> = name.split('/').collect();
                let text = path.last() == Some(&"text()");
                if text {
                    path.pop();
                }
                path.iter().for_each(|p| {
                    let _ = write!(body, "<{p}>");
                });
                body.push_str(&xml_value(v, c, false));
                path.iter().rev().for_each(|p| {
                    let _ = write!(body, "</{p}>");
                });
            }
        }
    }
    if element.is_empty() {
        return body;
    }
    if body.is_empty() {
        return format!("<{element}{head}/>");
    }
    format!("<{element}{head}>{body}</{element}>")
}

/// The text of an XML fragment: tags dropped, entities resolved (`.value('.', …)`).
#[must_use]
pub fn xml_text(s: &str) -> String {
    let mut out = String::with_capacity(s.len());
    let mut rest = s;
    while let Some(i) = rest.find(['<', '&']) {
        out.push_str(&rest[..i]);
        rest = &rest[i..];
        if rest.starts_with('<') {
            rest = rest.find('>').map_or("", |e| &rest[e + 1..]);
            continue;
        }
        let end = rest.find(';').unwrap_or(0);
        let known = match &rest[..=end.min(rest.len() - 1)] {
            "&amp;" => Some('&'),
            "&lt;" => Some('<'),
            "&gt;" => Some('>'),
            "&quot;" => Some('"'),
            "&apos;" => Some('\''),
            entity => entity
                .strip_prefix("&#x")
                .and_then(|e| u32::from_str_radix(e.trim_end_matches(';'), 16).ok())
                .and_then(char::from_u32),
        };
        match known {
            Some(c) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(xml_text("<a>x &amp; y</a>&#x0D;"), "x & y\r");
        let c = |n: &str| Column { name: n.into(), ty: SqlType::Int, raw: false };
        let row = json_row(
            &[c("a"), c("b.c"), c("b.d"), c("e")],
            &[Value::Int(1), Value::Int(2), Value::Int(3), Value::Int(4)],
            false,
        );
        assert_eq!(row, r#"{"a":1,"b":{"c":2,"d":3},"e":4}"#);
        assert_eq!(
            xml_row(&[c("@a"), c("b")], &[Value::Int(1), Value::Int(2)], "row", false, false),
            r#"<row a="1"><b>2</b></row>"#
        );
    }
}
