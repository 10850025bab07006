//! OPENJSON: the members of a JSON text as rows, or the values that paths name in each of its elements.
//!
//! The text is walked in place. What comes out is what is written there: numbers keep their digits, objects their blanks,
//! members their order, and a name that stands twice is two rows.

use crate::context::ExecCtx;
use crate::errors::Result;
use crate::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_types::functions::decode_base64;
use keel_types::functions::json_path::{self, Path};
use keel_types::{Collation, Length, SqlType, Value, cast, raise};
use std::sync::Arc;

/// A column of the WITH clause.
#[derive(Debug)]
pub struct JsonColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// Its collation.
    pub collation: Collation,
    /// Where its value is in an element.
    pub path: String,
    /// AS JSON: an object or array, not a scalar.
    pub as_json: bool,
}

struct OpenJson {
    columns: Vec<VirtualColumn>,
    schema: Option<Vec<JsonColumn>>,
}

/// OPENJSON without WITH: name, value and type of each member. Names compare by their code points, values as the text that they are
/// from.
#[must_use]
pub fn members(of_text: Collation) -> Arc<dyn VirtualTable> {
    let text = |name, length, collation| VirtualColumn {
        collation,
        ..VirtualColumn::new(name, SqlType::NVarChar(length))
    };
    Arc::new(OpenJson {
        columns: vec![
            text("key", Length::Limited(4000), Collation::BIN2),
            text("value", Length::Max, of_text),
            VirtualColumn::new("type", SqlType::TinyInt),
        ],
        schema: None,
    })
}

/// OPENJSON … WITH (name type collation path).
#[must_use]
pub fn elements(schema: Vec<JsonColumn>) -> Arc<dyn VirtualTable> {
    let column = |c: &JsonColumn| {
        let collation = c.collation;
        VirtualColumn { collation, ..VirtualColumn::new(c.name.clone(), c.ty) }
    };
    let columns = schema.iter().map(column).collect();
    Arc::new(OpenJson { columns, schema: Some(schema) })
}

impl VirtualTable for OpenJson {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }

    fn open(&self, _: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let rows = match (args.first(), args.get(1)) {
            (Some(Value::Str(text)), path) => self.rows(text, path.and_then(Value::as_str).unwrap_or("$"))?,
            _ => Vec::new(),
        };
        Ok(Box::new(rows.into_iter().map(Ok)))
    }
}

impl OpenJson {
    fn rows(&self, text: &str, path: &str) -> Result<Vec<Vec<Value>>> {
        json_path::check(text)?;
        let path = Path::parse(path)?;
        let Some(found) = found(text, &path)? else { return Ok(Vec::new()) };
        if !is_document(found) {
            return if path.strict { Err(raise::json_no_document()) } else { Ok(Vec::new()) };
        }
        let Some(schema) = &self.schema else { return Ok(member_rows(found)) };
        let paths = schema.iter().map(|c| Path::parse(&c.path)).collect::<Result<Vec<_>>>()?;
        let elements = match found.starts_with('[') {
            true => json_path::members(found).into_iter().map(|(_, element)| element).collect(),
            false => vec![found],
        };
        let row = |element: &str| {
            let columns = schema.iter().zip(&paths);
            columns.map(|(column, path)| column.value(element, path)).collect::<Result<Vec<_>>>()
        };
        elements.into_iter().map(row).collect()
    }
}

impl JsonColumn {
    /// What the path finds in an element, as the column's type.
    fn value(&self, element: &str, path: &Path) -> Result<Value> {
        let Some(found) = found(element, path)? else { return Ok(Value::Null) };
        if self.as_json {
            return match is_document(found) {
                true => Ok(Value::str(found)),
                false if path.strict => Err(raise::json_no_document()),
                false => Ok(Value::Null),
            };
        }
        match scalar(found) {
            Some(Value::Str(text)) if self.ty.is_binary() => {
                let bytes = Value::bytes(decode_base64(&text)?);
                cast::explicit(SqlType::VarBinary(Length::Max), self.ty)?.apply(&bytes)
            }
            Some(value @ Value::Str(_)) => {
                cast::explicit(SqlType::NVarChar(Length::Max), self.ty)?.apply(&value)
            }
            Some(value) => Ok(value),
            None if path.strict => Err(raise::json_no_scalar()),
            None => Ok(Value::Null),
        }
    }
}

/// The raw text that a path names.
fn found<'a>(text: &'a str, path: &Path) -> Result<Option<&'a str>> {
    match json_path::locate(text, &path.steps) {
        Some(range) => Ok(Some(&text[range])),
        None if path.strict => Err(raise::json_not_found()),
        None => Ok(None),
    }
}

fn is_document(raw: &str) -> bool {
    raw.starts_with(['{', '['])
}

/// The value of a raw text; `None` of an object or array.
fn scalar(raw: &str) -> Option<Value> {
    match raw.as_bytes().first() {
        Some(b'{' | b'[') | None => None,
        Some(b'"') => json_path::unescape(raw).map(|text| Value::Str(text.into())),
        Some(b'n') => Some(Value::Null),
        Some(_) => Some(Value::str(raw)),
    }
}

/// Key, value and type of each member.
fn member_rows(document: &str) -> Vec<Vec<Value>> {
    let kind = |raw: &str| match raw.as_bytes().first() {
        Some(b'n') => 0,
        Some(b'"') => 1,
        Some(b't' | b'f') => 3,
        Some(b'[') => 4,
        Some(b'{') => 5,
        _ => 2,
    };
    let row = |(at, (name, raw)): (usize, (Option<String>, &str))| {
        let key = name.unwrap_or_else(|| at.to_string());
        let value = scalar(raw).unwrap_or_else(|| Value::str(raw));
        vec![Value::Str(key.into()), value, Value::Int(kind(raw))]
    };
    json_path::members(document).into_iter().enumerate().map(row).collect()
}
