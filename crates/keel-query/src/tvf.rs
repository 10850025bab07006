//! Built-in table-valued functions: STRING_SPLIT, GENERATE_SERIES, OPENJSON.

use crate::context::ExecCtx;
use crate::errors::Result;
use crate::expr::Expr;
use crate::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_types::cast::{self, Cast};
use keel_types::ty::Family;
use keel_types::{Decimal, Length, SqlError, SqlType, Value};
use serde_json::Value as Json;
use std::sync::Arc;

/// The function of this name, for these arguments.
#[must_use]
pub fn builtin(name: &str, args: &[Expr]) -> Option<Arc<dyn VirtualTable>> {
    let first = args.first().map(|a| a.ty);
    match name.to_ascii_uppercase().as_str() {
        "STRING_SPLIT" => {
            let mut columns =
                vec![VirtualColumn::new("value", first.unwrap_or(SqlType::NVarChar(Length::Max)))];
            if args.get(2).is_some_and(|a| a.as_const().and_then(Value::as_int) != Some(0)) {
                columns.push(VirtualColumn::new("ordinal", SqlType::BigInt));
            }
            Some(Arc::new(StringSplit { columns }))
        }
        "GENERATE_SERIES" => {
            let ty = series_type(first.unwrap_or(SqlType::Int), args);
            Some(Arc::new(GenerateSeries { columns: vec![VirtualColumn::new("value", ty)] }))
        }
        "OPENJSON" => Some(Arc::new(OpenJson {
            columns: vec![
                VirtualColumn::new("key", SqlType::NVarChar(Length::Limited(4000))),
                VirtualColumn::new("value", SqlType::NVarChar(Length::Max)),
                VirtualColumn::new("type", SqlType::TinyInt),
            ],
            schema: None,
        })),
        _ => None,
    }
}

/// OPENJSON … WITH (name type path).
#[must_use]
pub fn open_json(schema: Vec<(String, SqlType, String, bool)>) -> Arc<dyn VirtualTable> {
    let columns = schema.iter().map(|(n, ty, ..)| VirtualColumn::new(n.clone(), *ty)).collect();
    Arc::new(OpenJson { columns, schema: Some(schema) })
}

/// The type of a series: that of its first argument, with as many decimals as any of them.
fn series_type(first: SqlType, args: &[Expr]) -> SqlType {
    let scale = args.iter().map(|a| a.ty.scale()).max().unwrap_or(0);
    match first {
        SqlType::Decimal { precision, scale: own } => {
            SqlType::Decimal { precision: (precision + scale - own).min(38), scale }
        }
        SqlType::Numeric { precision, scale: own } => {
            SqlType::Numeric { precision: (precision + scale - own).min(38), scale }
        }
        other => other,
    }
}

fn rows(list: Vec<Vec<Value>>) -> RowSource {
    Box::new(list.into_iter().map(Ok))
}

struct StringSplit {
    columns: Vec<VirtualColumn>,
}

impl VirtualTable for StringSplit {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, _: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let (Some(Value::Str(text)), Some(Value::Str(separator))) = (args.first(), args.get(1)) else {
            return Ok(rows(Vec::new()));
        };
        let mut chars = separator.chars();
        let (Some(c), None) = (chars.next(), chars.next()) else {
            let m = "Procedure expects parameter 'separator' of type 'nchar(1)/nvarchar(1)'.";
            return Err(SqlError::new(214, 16, 11, m));
        };
        let parts = text.split(c).enumerate();
        Ok(rows(parts.map(|(i, p)| vec![Value::Str(p.into()), Value::Int(i as i64 + 1)]).collect()))
    }
    fn row_count_estimate(&self) -> u64 {
        20
    }
}

struct GenerateSeries {
    columns: Vec<VirtualColumn>,
}

impl VirtualTable for GenerateSeries {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, _: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let scale = self.columns[0].ty.scale();
        let number = |v: Option<&Value>| match v {
            Some(Value::Decimal(d)) => d.rescale(scale).map(|d| d.mantissa()),
            Some(Value::Int(n)) => Decimal::new(i128::from(*n), 0).rescale(scale).map(|d| d.mantissa()),
            _ => None,
        };
        let (Some(start), Some(stop)) = (number(args.first()), number(args.get(1))) else {
            return Ok(rows(Vec::new()));
        };
        let exact = matches!(self.columns[0].ty.family(), Family::Decimal);
        let unit = 10i128.pow(u32::from(scale));
        let step = match args.get(2).map(|step| number(Some(step))) {
            None => {
                if start <= stop {
                    unit
                } else {
                    -unit
                }
            }
            Some(Some(0)) => {
                let m = "The step value for the generate_series table-valued function cannot be zero.";
                return Err(SqlError::new(4199, 16, 1, m));
            }
            Some(Some(n)) => n,
            Some(None) => return Ok(rows(Vec::new())),
        };
        let mut next = Some(start);
        Ok(Box::new(std::iter::from_fn(move || {
            let n = next.filter(|n| if step > 0 { *n <= stop } else { *n >= stop })?;
            next = n.checked_add(step);
            let value = if exact { Value::Decimal(Decimal::new(n, scale)) } else { Value::Int(n as i64) };
            Some(Ok(vec![value]))
        })))
    }
    fn row_count_estimate(&self) -> u64 {
        1000
    }
}

struct OpenJson {
    columns: Vec<VirtualColumn>,
    /// Name, type, path, AS JSON.
    schema: Option<Vec<(String, SqlType, String, bool)>>,
}

impl VirtualTable for OpenJson {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, _: &mut ExecCtx<'_>, args: &[Value]) -> Result<RowSource> {
        let Some(Value::Str(text)) = args.first() else { return Ok(rows(Vec::new())) };
        let json: Json = serde_json::from_str(text).map_err(|e| {
            let m = format!(
                "JSON text is not properly formatted. Unexpected character is found at position {}.",
                e.column()
            );
            SqlError::new(13609, 16, 4, m)
        })?;
        let at = match args.get(1) {
            Some(Value::Str(path)) => match json_path(&json, path) {
                Some(found) => found.clone(),
                None => return Ok(rows(Vec::new())),
            },
            _ => json,
        };
        let Some(schema) = &self.schema else { return Ok(rows(members(&at))) };
        let items = match at {
            Json::Array(items) => items,
            other => vec![other],
        };
        let mut out = Vec::new();
        for item in &items {
            let mut row = Vec::new();
            for (_, ty, path, as_json) in schema {
                let found = json_path(item, path);
                row.push(match found {
                    Some(j) if *as_json => Value::Str(j.to_string().into()),
                    Some(j) => match scalar_text(j) {
                        Some(s) => {
                            let cast: Cast = cast::explicit(SqlType::NVarChar(Length::Max), *ty)?;
                            let s = match (j, ty) {
                                (Json::Bool(b), SqlType::Bit) => u8::from(*b).to_string(),
                                _ => s,
                            };
                            cast.apply(&Value::Str(s.into()))?
                        }
                        None => Value::Null,
                    },
                    None => Value::Null,
                });
            }
            out.push(row);
        }
        Ok(rows(out))
    }
}

/// Key, value and type of each member.
fn members(json: &Json) -> Vec<Vec<Value>> {
    let row = |key: String, v: &Json| {
        let (kind, text) = match v {
            Json::Null => (0, Value::Null),
            Json::String(s) => (1, Value::Str(s.as_str().into())),
            Json::Number(n) => (2, Value::Str(n.to_string().into())),
            Json::Bool(b) => (3, Value::Str(b.to_string().into())),
            Json::Array(_) => (4, Value::Str(v.to_string().into())),
            Json::Object(_) => (5, Value::Str(v.to_string().into())),
        };
        vec![Value::Str(key.into()), text, Value::Int(kind)]
    };
    match json {
        Json::Array(items) => items.iter().enumerate().map(|(i, v)| row(i.to_string(), v)).collect(),
        Json::Object(map) => map.iter().map(|(k, v)| row(k.clone(), v)).collect(),
        _ => Vec::new(),
    }
}

/// Follows `$.a.b[0]."c d"`, with `lax` or `strict` before it.
#[must_use]
pub fn json_path<'j>(json: &'j Json, path: &str) -> Option<&'j Json> {
    let path = path.trim();
    let path = path.strip_prefix("lax ").or_else(|| path.strip_prefix("strict ")).unwrap_or(path).trim();
    let mut rest = path.strip_prefix('$')?;
    let mut at = json;
    while !rest.is_empty() {
        if let Some(r) = rest.strip_prefix('[') {
            let (index, r) = r.split_once(']')?;
            at = at.get(index.trim().parse::<usize>().ok()?)?;
            rest = r;
        } else if let Some(r) = rest.strip_prefix(".\"") {
            let (key, r) = r.split_once('"')?;
            at = at.get(key)?;
            rest = r;
        } else {
            let r = rest.strip_prefix('.')?;
            let end = r.find(['.', '[']).unwrap_or(r.len());
            at = at.get(&r[..end])?;
            rest = &r[end..];
        }
    }
    Some(at)
}

fn scalar_text(j: &Json) -> Option<String> {
    match j {
        Json::String(s) => Some(s.clone()),
        Json::Number(n) => Some(n.to_string()),
        Json::Bool(b) => Some(b.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let j: Json = serde_json::from_str(r#"{"a":{"b":[1,{"c d":"x"}]}}"#).expect("valid");
        assert_eq!(json_path(&j, "$.a.b[0]"), Some(&Json::from(1)));
        assert_eq!(json_path(&j, "lax $.a.b[1].\"c d\""), Some(&Json::from("x")));
        assert_eq!(json_path(&j, "$.a.x"), None);
    }
}
