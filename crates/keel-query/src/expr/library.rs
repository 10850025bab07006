//! The seam to the type library's resolved operations.

use crate::errors::Result;
use crate::exec::cx::Cx;
use keel_types::cast::Cast;
use keel_types::{SqlType, Value};

/// Smallest and largest value of an integer type.
#[must_use]
pub fn int_range(ty: SqlType) -> Option<(i64, i64)> {
    Some(match ty {
        SqlType::TinyInt => (0, 255),
        SqlType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        SqlType::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
        SqlType::BigInt => (i64::MIN, i64::MAX),
        _ => return None,
    })
}

/// -x
pub fn negate(v: &Value, ty: SqlType) -> Result<Value> {
    Ok(match v {
        Value::Null => Value::Null,
        Value::Int(n) => {
            let (low, high) = int_range(ty).unwrap_or((i64::MIN, i64::MAX));
            let r = n.checked_neg().filter(|r| (low..=high).contains(r));
            Value::Int(r.ok_or_else(|| keel_types::raise::overflow(ty))?)
        }
        Value::Money(n) => Value::Money(n.checked_neg().ok_or_else(|| keel_types::raise::overflow(ty))?),
        Value::Decimal(d) => Value::Decimal(keel_types::Decimal::new(-d.mantissa(), d.scale)),
        Value::Float(f) => Value::Float(-f),
        other => other.clone(),
    })
}

/// ~x
pub fn bit_not(v: &Value, ty: SqlType) -> Value {
    match v {
        Value::Int(n) if ty == SqlType::TinyInt => Value::Int(!n & 255),
        Value::Int(n) => Value::Int(!n),
        Value::Bit(b) => Value::Bit(!b),
        other => other.clone(),
    }
}

/// A conversion under the session's DATEFORMAT and LANGUAGE.
#[must_use]
pub fn session_dates(cast: Cast, cx: &Cx<'_>) -> Cast {
    cast.with_dates(cx.session.dates())
}
