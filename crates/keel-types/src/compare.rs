//! Comparing two values of one type.
//!
//! NULL is the caller's: three-valued logic needs to know it anyway. [`order`] places NULL first, as sorting does.

use crate::collation::{self, Collation};
use crate::key::{GUID_ORDER, variant_comparand, variant_rank};
use crate::{Decimal, Value};
use std::cmp::Ordering;

/// Total order of two values of one type, NULL first: what `ORDER BY`, `MIN`, `MAX` and index keys use.
#[must_use]
pub fn order(a: &Value, b: &Value, collation: Collation) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Str(a), Value::Str(b)) => collation::compare(a, b, collation),
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Less,
        (_, Value::Null) => Ordering::Greater,
        (Value::Decimal(a), Value::Decimal(b)) => decimal(*a, *b),
        (Value::Money(a), Value::Money(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) | (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::DateTimeOffset(a, _), Value::DateTimeOffset(b, _)) => a.cmp(b),
        (Value::Bit(a), Value::Bit(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => bytes(a, b),
        (Value::Guid(a), Value::Guid(b)) => guid(a, b),
        (Value::Variant(a), Value::Variant(b)) => match variant_rank(a.0).cmp(&variant_rank(b.0)) {
            Ordering::Equal => order(&variant_comparand(&a.1), &variant_comparand(&b.1), collation),
            other => other,
        },
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Compares decimals of any two scales exactly.
#[must_use]
pub fn decimal(a: Decimal, b: Decimal) -> Ordering {
    if a.scale == b.scale {
        return a.mantissa().cmp(&b.mantissa());
    }
    let scale = a.scale.max(b.scale);
    let widen = |d: Decimal| {
        ethnum::I256::from(d.mantissa()) * ethnum::I256::from(10).pow(u32::from(scale - d.scale))
    };
    widen(a).cmp(&widen(b))
}

/// Binary order: trailing zero bytes do not count.
#[must_use]
pub fn bytes(a: &[u8], b: &[u8]) -> Ordering {
    fn significant(s: &[u8]) -> &[u8] {
        &s[..s.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1)]
    }
    significant(a).cmp(significant(b))
}

/// The product's order of guids: the last group counts most.
#[must_use]
pub fn guid(a: &[u8; 16], b: &[u8; 16]) -> Ordering {
    GUID_ORDER.iter().map(|i| a[*i]).cmp(GUID_ORDER.iter().map(|i| b[*i]))
}

/// Order between values of different kinds, which no resolved comparison produces; it only keeps the order total.
fn rank(v: &Value) -> u8 {
    match v {
        Value::Null => 0,
        Value::Bytes(_) => 1,
        Value::Guid(_) => 2,
        Value::Str(_) => 3,
        Value::Bit(_) => 4,
        Value::Int(_) => 5,
        Value::Money(_) => 6,
        Value::Decimal(_) => 7,
        Value::Float(_) => 8,
        Value::Time(_) => 9,
        Value::Date(_) => 10,
        Value::DateTime(_) => 11,
        Value::DateTimeOffset(..) => 12,
        Value::Variant(_) => 13,
    }
}
