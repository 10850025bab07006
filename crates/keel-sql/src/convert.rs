//! Conversions this layer needs: arguments to parameters, values to text.

use keel_types::datetime::language::Dates;
use keel_types::error::Result;
use keel_types::{SqlType, Value};

/// Converts a value as an assignment does, dates as the session reads and writes them.
pub fn assign(value: Value, from: SqlType, to: SqlType, dates: Dates) -> Result<Value> {
    if from == to || matches!(value, Value::Null) || to == SqlType::Null {
        return Ok(value);
    }
    keel_types::cast::implicit(from, to)?.with_dates(dates).apply(&value)
}

/// Converts a value for a column: what does not fit is an error.
pub fn store(value: Value, from: SqlType, to: SqlType) -> Result<Value> {
    if from == to || matches!(value, Value::Null) {
        return Ok(value);
    }
    keel_types::cast::explicit(from, to)?.for_column().apply(&value)
}

/// A value as text, as PRINT and messages show it.
#[must_use]
pub fn display(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bit(b) => u8::from(*b).to_string(),
        Value::Int(n) => n.to_string(),
        Value::Str(s) => s.to_string(),
        Value::Bytes(b) => {
            let hex: String = b.iter().map(|b| format!("{b:02X}")).collect();
            format!("0x{hex}")
        }
        Value::Decimal(d) => {
            let digits = d.mantissa().unsigned_abs().to_string();
            let scale = d.scale as usize;
            let sign = if d.mantissa() < 0 { "-" } else { "" };
            if scale == 0 {
                return format!("{sign}{digits}");
            }
            let padded = format!("{digits:0>width$}", width = scale + 1);
            let (whole, fraction) = padded.split_at(padded.len() - scale);
            format!("{sign}{whole}.{fraction}")
        }
        Value::Variant(v) => display_typed(&v.1, v.0),
        Value::Guid(_) => match assign(
            value.clone(),
            SqlType::UniqueIdentifier,
            SqlType::VarChar(keel_types::Length::Limited(36)),
            Dates::US,
        ) {
            Ok(Value::Str(s)) => s.to_string(),
            _ => format!("{value:?}"),
        },
        other => format!("{other:?}"),
    }
}

/// A value as text by its type's own rules.
#[must_use]
pub fn display_typed(value: &Value, ty: SqlType) -> String {
    if let Value::Variant(v) = value {
        return display_typed(&v.1, v.0);
    }
    let to = SqlType::NVarChar(keel_types::Length::Limited(4000));
    match assign(value.clone(), ty, to, Dates::US) {
        Ok(Value::Str(s)) => s.to_string(),
        _ => display(value),
    }
}

/// A time of day or span in 100 ns ticks, from `hh:mm[:ss[.fff]]`, `hh:mm:ss:mmm` or a date and time.
#[must_use]
pub fn to_time(value: &Value) -> Option<i64> {
    const DAY: i64 = 864_000_000_000;
    match value {
        Value::Time(t) => Some(*t),
        Value::DateTime(t) => Some(t.rem_euclid(DAY)),
        Value::Str(s) => parse_time(s.trim()),
        _ => None,
    }
}

fn parse_time(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let hours: i64 = parts.next()?.parse().ok()?;
    let minutes: i64 = parts.next()?.parse().ok()?;
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(rest) => {
            let (seconds, fraction) = rest.split_once('.').unwrap_or((rest, ""));
            let padded: String = fraction.chars().chain("0000000".chars()).take(7).collect();
            (seconds.parse().ok()?, padded.parse().ok()?)
        }
    };
    let milliseconds: i64 = parts.next().map_or(Some(0), |text| text.parse().ok())?;
    let valid = hours < 24
        && minutes < 60
        && seconds < 60
        && (0..1000).contains(&milliseconds)
        && (fraction == 0 || milliseconds == 0)
        && parts.next().is_none();
    valid.then_some(((hours * 60 + minutes) * 60 + seconds) * 10_000_000 + milliseconds * 10_000 + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_to_wait_have_milliseconds_behind_a_point_or_a_colon() {
        let time = |text| to_time(&Value::str(text));
        assert_eq!(time("00:00:01.5"), Some(15_000_000));
        assert_eq!(time("00:00:01:250"), Some(12_500_000));
        assert_eq!(time("01:02"), Some(37_200_000_000));
        assert_eq!(time("00:00:01:1000"), None);
        assert_eq!(time("00:00:01.5:1"), None);
    }
}
