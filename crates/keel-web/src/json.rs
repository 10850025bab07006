//! SQL values as JSON, text and numbers.

use keel_sql::convert::display;
use keel_types::Value;
use serde_json::{Map, Value as Json};

use crate::sql::Table;

/// The digits of a double that whole numbers survive in.
const WHOLE_MAX: i64 = 1 << 53;

/// A value as text, as T-SQL's PRINT shows it.
#[must_use]
pub fn text(value: &Value) -> String {
    display(value)
}

/// A value as a number, if it is one.
#[must_use]
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bit(bit) => Some(f64::from(u8::from(*bit))),
        Value::Int(n) => Some(*n as f64),
        Value::Float(x) => Some(*x),
        Value::Decimal(_) | Value::Money(_) => display(value).parse().ok(),
        _ => None,
    }
}

/// A value as JSON. Whole numbers that a double would round are strings.
#[must_use]
pub fn value(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bit(bit) => Json::Bool(*bit),
        Value::Int(n) if n.abs() <= WHOLE_MAX => Json::from(*n),
        Value::Float(x) => Json::from(*x),
        other => Json::String(display(other)),
    }
}

/// Rows as objects.
#[must_use]
pub fn rows(table: &Table) -> Json {
    let object = |row: &Vec<Value>| {
        let pairs = table.columns.iter().zip(row).map(|(name, cell)| (name.clone(), value(cell)));
        Json::Object(pairs.collect::<Map<_, _>>())
    };
    Json::Array(table.rows.iter().map(object).collect())
}
