//! Conversion to bit, integers, decimal, money and float.
//!
//! Fractions are cut on the way to integers, but money rounds; everything else rounds half away from zero.

use super::{Cast, Step, binary, mismatch};
use crate::datetime::{DAY_1900, TICKS_PER_DAY};
use crate::decimal::round_mantissa;
use crate::error::Result;
use crate::raise;
use crate::ty::{Family, SqlType};
use crate::value::{Decimal, Value};

pub(super) fn step(from: SqlType, to: SqlType) -> Option<Step> {
    use Family as F;
    let old_large = matches!(from, SqlType::Text | SqlType::NText | SqlType::Image);
    if old_large {
        return None;
    }
    Some(match (from.family(), to.family()) {
        (F::String | F::NationalString, F::Bit) => text_to_bit,
        (F::String | F::NationalString, F::Integer) => text_to_int,
        (F::String | F::NationalString, F::Decimal) => text_to_decimal,
        (F::String | F::NationalString, F::Money) => text_to_money,
        (F::String | F::NationalString, F::Float) => text_to_float,
        (F::Bit | F::Integer | F::Decimal | F::Money | F::Float | F::DateTime, F::Bit) => number_to_bit,
        (F::Bit | F::Integer, F::Integer) => int_to_int,
        (F::Decimal | F::Money | F::Float | F::DateTime, F::Integer) => number_to_int,
        (F::Bit | F::Integer, F::Decimal) => int_to_decimal,
        (F::Decimal | F::Money | F::Float | F::DateTime, F::Decimal) => number_to_decimal,
        (F::Bit | F::Integer | F::Decimal | F::Money | F::Float | F::DateTime, F::Money) => number_to_money,
        (F::Bit | F::Integer | F::Decimal | F::Money | F::Float | F::DateTime, F::Float) => number_to_float,
        (F::Binary, F::Bit | F::Integer) => binary::to_int,
        (F::Binary, F::Money) => binary::to_money,
        (F::Binary, F::Decimal) => binary::to_decimal,
        _ => return None,
    })
}

/// Smallest and largest value of an integer type.
const fn range(ty: SqlType) -> (i64, i64) {
    match ty {
        SqlType::TinyInt => (0, 255),
        SqlType::SmallInt => (i16::MIN as i64, i16::MAX as i64),
        SqlType::BigInt => (i64::MIN, i64::MAX),
        _ => (i32::MIN as i64, i32::MAX as i64),
    }
}

fn in_range(n: i64, ty: SqlType) -> bool {
    let (low, high) = range(ty);
    (low..=high).contains(&n)
}

pub(super) fn int_to_int(value: &Value, cast: &Cast) -> Result<Value> {
    let n = value.as_int().ok_or_else(|| mismatch(value, cast))?;
    if in_range(n, cast.to) {
        return Ok(Value::Int(n));
    }
    Err(match cast.to {
        SqlType::TinyInt | SqlType::SmallInt => raise::integer_overflow(cast.to, n),
        _ => raise::overflow(cast.to),
    })
}

fn number_to_bit(value: &Value, cast: &Cast) -> Result<Value> {
    Ok(Value::Bit(match value {
        Value::Bit(b) => *b,
        Value::Int(n) | Value::Money(n) => *n != 0,
        Value::Decimal(d) => d.mantissa() != 0,
        Value::Float(f) => *f != 0.0,
        Value::DateTime(ticks) => days_since_1900(*ticks) != 0.0,
        _ => return Err(mismatch(value, cast)),
    }))
}

fn number_to_int(value: &Value, cast: &Cast) -> Result<Value> {
    let n = match value {
        Value::Decimal(d) => d.trunc(),
        Value::Money(m) => round_mantissa(i128::from(*m), 4),
        Value::Float(f) => {
            let f = f.trunc();
            let (low, high) = range(cast.to);
            // The upper bound of bigint is not a float; the next one above it is out of range.
            if f < low as f64 || f > high as f64 || f >= 9_223_372_036_854_775_808.0 {
                return Err(match cast.to {
                    SqlType::BigInt => raise::overflow_from(cast.from, cast.to),
                    _ => raise::float_overflow(cast.to, f),
                });
            }
            f as i128
        }
        Value::DateTime(ticks) => days_since_1900(*ticks).round() as i128,
        _ => return Err(mismatch(value, cast)),
    };
    match i64::try_from(n) {
        Ok(n) if in_range(n, cast.to) => Ok(Value::Int(n)),
        _ if cast.from.family() == Family::Decimal => Err(raise::overflow_from(cast.from, cast.to)),
        _ => Err(raise::overflow(cast.to)),
    }
}

/// Days since 1900-01-01 with the fraction of the day: the number behind a datetime.
pub(crate) fn days_since_1900(ticks: i64) -> f64 {
    (ticks - i64::from(DAY_1900) * TICKS_PER_DAY) as f64 / TICKS_PER_DAY as f64
}

fn checked_decimal(d: Option<Decimal>, cast: &Cast) -> Result<Value> {
    match d {
        Some(d) if d.fits(cast.to.precision()) => Ok(Value::Decimal(d)),
        _ => Err(raise::overflow_from(cast.from, cast.to)),
    }
}

fn int_to_decimal(value: &Value, cast: &Cast) -> Result<Value> {
    let n = value.as_int().ok_or_else(|| mismatch(value, cast))?;
    checked_decimal(Decimal::from_int(n).rescale(cast.to.scale()), cast)
}

fn number_to_decimal(value: &Value, cast: &Cast) -> Result<Value> {
    let scale = cast.to.scale();
    let d = match value {
        Value::Decimal(d) => d.rescale(scale),
        Value::Money(m) => Decimal::new(i128::from(*m), 4).rescale(scale),
        Value::Float(f) => Decimal::from_f64(*f, scale),
        Value::DateTime(ticks) => Decimal::from_f64(days_since_1900(*ticks), scale),
        _ => return Err(mismatch(value, cast)),
    };
    checked_decimal(d, cast)
}

fn checked_money(n: Option<i128>, cast: &Cast) -> Result<Value> {
    let fits = |n: &i64| cast.to == SqlType::Money || i32::try_from(*n).is_ok();
    match n.and_then(|n| i64::try_from(n).ok()).filter(fits) {
        Some(n) => Ok(Value::Money(n)),
        None => Err(raise::overflow(cast.to)),
    }
}

fn number_to_money(value: &Value, cast: &Cast) -> Result<Value> {
    let n = match value {
        Value::Bit(_) | Value::Int(_) => value.as_int().map(|n| i128::from(n) * 10_000),
        Value::Money(m) => Some(i128::from(*m)),
        Value::Decimal(d) => d.rescale(4).map(Decimal::mantissa),
        Value::Float(f) => Decimal::from_f64(*f, 4).map(Decimal::mantissa),
        Value::DateTime(ticks) => Decimal::from_f64(days_since_1900(*ticks), 4).map(Decimal::mantissa),
        _ => return Err(mismatch(value, cast)),
    };
    checked_money(n, cast)
}

fn checked_float(f: f64, cast: &Cast) -> Result<Value> {
    match cast.to {
        SqlType::Real => {
            let narrow = f as f32;
            if narrow.is_infinite() {
                Err(raise::float_overflow(cast.to, f))
            } else {
                Ok(Value::Float(narrow.into()))
            }
        }
        _ => Ok(Value::Float(f)),
    }
}

fn number_to_float(value: &Value, cast: &Cast) -> Result<Value> {
    let f = match value {
        Value::Bit(_) | Value::Int(_) => value.as_int().unwrap_or_default() as f64,
        Value::Money(m) => Decimal::new(i128::from(*m), 4).to_f64(),
        Value::Decimal(d) => d.to_f64(),
        Value::Float(f) => *f,
        Value::DateTime(ticks) => days_since_1900(*ticks),
        _ => return Err(mismatch(value, cast)),
    };
    checked_float(f, cast)
}

/// Reads an integer with an optional sign and blanks around it; no text is zero. `Err(true)` means digits of a number
/// too large.
pub fn parse_integer(text: &str) -> std::result::Result<i64, bool> {
    let text = text.trim_matches(' ');
    let (negative, digits) = match text.as_bytes().first() {
        None => return Ok(0),
        Some(b'-') => (true, text[1..].trim_start_matches(' ')),
        Some(b'+') => (false, text[1..].trim_start_matches(' ')),
        Some(_) => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(false);
    }
    let mut n: i64 = 0;
    for b in digits.bytes() {
        let digit = i64::from(b - b'0');
        n = n
            .checked_mul(10)
            .and_then(|n| if negative { n.checked_sub(digit) } else { n.checked_add(digit) })
            .ok_or(true)?;
    }
    Ok(n)
}

fn text<'a>(value: &'a Value, cast: &Cast) -> Result<&'a str> {
    value.as_str().ok_or_else(|| mismatch(value, cast))
}

fn text_to_int(value: &Value, cast: &Cast) -> Result<Value> {
    let text = text(value, cast)?;
    match parse_integer(text) {
        Ok(n) if in_range(n, cast.to) => Ok(Value::Int(n)),
        Ok(_) | Err(true) => Err(raise::string_overflow(cast.from, text, cast.to)),
        Err(false) if cast.to == SqlType::BigInt => Err(raise::error_converting(cast.from, cast.to)),
        Err(false) => Err(raise::conversion_failed(cast.from, text, cast.to)),
    }
}

fn text_to_bit(value: &Value, cast: &Cast) -> Result<Value> {
    let text = text(value, cast)?;
    let word = text.trim_matches(' ');
    if word.eq_ignore_ascii_case("true") {
        return Ok(Value::Bit(true));
    }
    if word.eq_ignore_ascii_case("false") {
        return Ok(Value::Bit(false));
    }
    match parse_integer(word) {
        Ok(n) => Ok(Value::Bit(n != 0)),
        // Digits of a number that no integer holds: it is not zero.
        Err(true) => Ok(Value::Bit(true)),
        Err(_) => Err(raise::conversion_failed(cast.from, text, cast.to)),
    }
}

fn text_to_decimal(value: &Value, cast: &Cast) -> Result<Value> {
    let text = text(value, cast)?.trim_matches(' ');
    match Decimal::parse(text) {
        Ok(d) => checked_decimal(d.rescale(cast.to.scale()), cast),
        Err(true) => Err(raise::overflow_from(cast.from, cast.to)),
        Err(false) => Err(raise::error_converting(cast.from, cast.to)),
    }
}

/// Digits with commas anywhere before the point, a currency sign before or after the sign, blanks around.
fn text_to_money(value: &Value, cast: &Cast) -> Result<Value> {
    let mut rest = text(value, cast)?.trim_matches(' ');
    let mut negative = false;
    if let Some(inner) = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')) {
        (negative, rest) = (true, inner.trim_matches(' '));
    }
    loop {
        let mut chars = rest.chars();
        match chars.next() {
            Some('-') if !negative => negative = true,
            Some('+' | '$' | ' ' | '¢'..='¥' | '৲' | '৳' | '฿' | '៛' | '₠'..='₱') => {}
            Some('﷼' | '﹩' | '＄' | '￠' | '￡' | '￥' | '￦') => {}
            _ => break,
        }
        rest = chars.as_str();
    }
    if rest.is_empty() {
        return Ok(Value::Money(0));
    }
    let digits: String = rest.chars().filter(|c| *c != ',').collect();
    if digits.starts_with(['-', '+']) {
        return Err(raise::not_money(cast.to));
    }
    match Decimal::parse(&digits) {
        Ok(d) => {
            let n = d.rescale(4).map(Decimal::mantissa);
            checked_money(n.map(|n| if negative { -n } else { n }), cast)
        }
        Err(true) => Err(raise::overflow(cast.to)),
        Err(false) => Err(raise::not_money(cast.to)),
    }
}

fn text_to_float(value: &Value, cast: &Cast) -> Result<Value> {
    let text = text(value, cast)?.trim_matches(' ');
    if text.is_empty() {
        return Ok(Value::Float(0.0));
    }
    // Rust also reads `inf`, `nan` and the like.
    let plausible = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eEdD".contains(&b));
    let parsed = if text.bytes().any(|b| b == b'd' || b == b'D') {
        text.replace(['d', 'D'], "e").parse::<f64>().ok()
    } else {
        text.parse::<f64>().ok()
    };
    match parsed.filter(|_| plausible) {
        Some(f) if f.is_infinite() => Err(raise::overflow_from(cast.from, cast.to)),
        Some(f) => checked_float(f, cast),
        None => Err(raise::error_converting(cast.from, cast.to)),
    }
}
