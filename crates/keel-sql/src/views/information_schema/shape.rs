//! What INFORMATION_SCHEMA says of a type: lengths, precision, character set.

use super::super::{NULL, facts, int, text};
use keel_types::{SqlType, Value};

/// The facts of a type, each NULL where the type has none.
pub(super) struct Shape {
    /// `CHARACTER_MAXIMUM_LENGTH`; -1 without limit.
    pub(super) characters: Value,
    /// `CHARACTER_OCTET_LENGTH`
    pub(super) octets: Value,
    /// `CHARACTER_SET_NAME`
    pub(super) set: Value,
    /// `NUMERIC_PRECISION`
    pub(super) precision: Value,
    /// `NUMERIC_PRECISION_RADIX`
    pub(super) radix: Value,
    /// `NUMERIC_SCALE`
    pub(super) scale: Value,
    /// `DATETIME_PRECISION`
    pub(super) fraction: Value,
}

/// The facts of a type; all NULL of none.
pub(super) fn shape(ty: Option<SqlType>) -> Shape {
    let ty = ty.unwrap_or(SqlType::Null);
    let f = facts(ty);
    let wide = matches!(ty, SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::NText);
    let octets = f.characters.map(|n| if wide && n > 0 { i64::from(n) * 2 } else { i64::from(n) });
    let (precision, radix, scale) = match ty {
        SqlType::Decimal { .. } | SqlType::Numeric { .. } | SqlType::Money | SqlType::SmallMoney => {
            (Some(f.precision), Some(10), Some(f.scale))
        }
        SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt => {
            (Some(f.precision), Some(10), Some(0))
        }
        SqlType::Real | SqlType::Float => (Some(f.precision), Some(2), None),
        _ => (None, None, None),
    };
    let fraction = match ty {
        SqlType::Date | SqlType::SmallDateTime => Some(0),
        SqlType::DateTime => Some(3),
        SqlType::Time(n) | SqlType::DateTime2(n) | SqlType::DateTimeOffset(n) => Some(n),
        _ => None,
    };
    let set = match ty {
        SqlType::NChar(_) | SqlType::NVarChar(_) | SqlType::NText => text("UNICODE"),
        _ if f.is_text => text("iso_1"),
        _ => NULL,
    };
    Shape {
        characters: f.characters.map_or(NULL, int),
        octets: octets.map_or(NULL, int),
        set,
        precision: precision.map_or(NULL, int),
        radix: radix.map_or(NULL, int),
        scale: scale.map_or(NULL, int),
        fraction: fraction.map_or(NULL, int),
    }
}

/// The collation of a value that is no column's: the database's, of a type that is text.
pub(super) fn default_collation(ty: Option<SqlType>, database: &str) -> Value {
    if ty.is_some_and(|ty| facts(ty).is_text) { text(database) } else { NULL }
}
