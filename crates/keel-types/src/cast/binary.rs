//! Conversion to and from binary, and uniqueidentifier.
//!
//! Numbers are big-endian and keep their low bytes in a binary that is too short; strings, guids and binaries are cut
//! and padded at the end. Decimals and the newer date types have the layouts the product shows: little-endian, led by
//! their precision.

use super::{Cast, Step, mismatch, text};
use crate::collation::pages;
use crate::datetime::{
    DAY_1900, MAX_DAY, TICKS_PER_DAY, TICKS_PER_MINUTE, from_three_hundredths, to_three_hundredths,
};
use crate::error::Result;
use crate::raise;
use crate::ty::{Family, Length, SqlType};
use crate::value::{Decimal, Value};

pub(super) fn step(from: SqlType, to: SqlType) -> Option<Step> {
    use Family as F;
    if to == SqlType::UniqueIdentifier {
        return match from.family() {
            _ if matches!(from, SqlType::Text | SqlType::NText | SqlType::Image) => None,
            F::String | F::NationalString => Some(text_to_guid),
            F::Binary => Some(binary_to_guid),
            _ => None,
        };
    }
    Some(match from.family() {
        F::Binary => binary_to_binary,
        _ if to == SqlType::Image && !matches!(from, SqlType::Char(_) | SqlType::VarChar(_)) => return None,
        F::String | F::NationalString | F::Xml if matches!(from, SqlType::Text | SqlType::NText) => {
            return None;
        }
        F::String => narrow_to_binary,
        F::NationalString | F::Xml => national_to_binary,
        F::Guid => guid_to_binary,
        F::Bit | F::Integer | F::Money | F::Float | F::DateTime => number_to_binary,
        F::Decimal | F::Date | F::Time | F::DateTime2 | F::DateTimeOffset => layout_to_binary,
        F::Clr if to == SqlType::RowVersion => return None,
        F::Clr => binary_to_binary,
        F::Null | F::Variant | F::Encrypted => return None,
    })
}

/// Cut or padded at the end.
fn fit_end(mut bytes: Vec<u8>, cast: &Cast) -> Result<Value> {
    let (length, fixed) = target(cast.to);
    if bytes.len() > length {
        if cast.strict_length {
            return Err(raise::truncated());
        }
        bytes.truncate(length);
    } else if fixed {
        bytes.resize(length, 0);
    }
    Ok(Value::bytes(bytes))
}

/// Cut or padded in front.
fn fit_front(bytes: &[u8], cast: &Cast) -> Result<Value> {
    let (length, fixed) = target(cast.to);
    if bytes.len() >= length {
        return Ok(Value::bytes(&bytes[bytes.len() - length..]));
    }
    if !fixed {
        return Ok(Value::bytes(bytes));
    }
    let mut whole = vec![0; length - bytes.len()];
    whole.extend_from_slice(bytes);
    Ok(Value::bytes(whole))
}

fn target(ty: SqlType) -> (usize, bool) {
    match ty {
        SqlType::Binary(n) => (usize::from(n), true),
        SqlType::RowVersion => (8, true),
        SqlType::VarBinary(Length::Limited(n)) => (usize::from(n), false),
        _ => (usize::MAX, false),
    }
}

fn binary_to_binary(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Bytes(bytes) = value else { return Err(mismatch(value, cast)) };
    let (length, fixed) = target(cast.to);
    if bytes.len() == length || (bytes.len() < length && !fixed) {
        return Ok(value.clone());
    }
    fit_end(bytes.to_vec(), cast)
}

/// Styles 1 and 2 read hexadecimal digits, with and without `0x`.
fn narrow_to_binary(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Str(s) = value else { return Err(mismatch(value, cast)) };
    match cast.style_or(0) {
        1 | 2 => fit_end(from_hex(s, cast)?, cast),
        style if style != 0 => Err(raise::unsupported_style(style, cast.from, cast.to)),
        _ => {
            let mut bytes = Vec::with_capacity(s.len());
            pages::encode(&mut bytes, s, cast.page);
            fit_end(bytes, cast)
        }
    }
}

fn national_to_binary(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Str(s) = value else { return Err(mismatch(value, cast)) };
    match cast.style_or(0) {
        1 | 2 => fit_end(from_hex(s, cast)?, cast),
        style if style != 0 => Err(raise::unsupported_style(style, cast.from, cast.to)),
        _ => fit_end(s.encode_utf16().flat_map(u16::to_le_bytes).collect(), cast),
    }
}

fn from_hex(text: &str, cast: &Cast) -> Result<Vec<u8>> {
    let error = || raise::error_converting(cast.from, cast.to);
    let text = text.trim_end_matches(' ');
    let prefixed = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = match (cast.style, prefixed) {
        (1, Some(digits)) => digits,
        (2, None) => text,
        _ => return Err(error()),
    };
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(error());
    }
    let pairs = digits.as_bytes().chunks(2);
    Ok(pairs.map(|p| (nibble(p[0]) << 4) | nibble(p[1])).collect())
}

fn nibble(digit: u8) -> u8 {
    (digit as char).to_digit(16).unwrap_or(0) as u8
}

fn guid_to_binary(value: &Value, cast: &Cast) -> Result<Value> {
    match value {
        Value::Guid(g) => fit_end(g.to_vec(), cast),
        _ => Err(mismatch(value, cast)),
    }
}

fn number_to_binary(value: &Value, cast: &Cast) -> Result<Value> {
    let width = cast.from.max_length_bytes() as usize;
    match value {
        Value::Bit(b) => fit_front(&[u8::from(*b)], cast),
        Value::Int(n) | Value::Money(n) => fit_front(&n.to_be_bytes()[8 - width..], cast),
        Value::Float(f) if cast.from == SqlType::Real => fit_front(&(*f as f32).to_be_bytes(), cast),
        Value::Float(f) => fit_front(&f.to_be_bytes(), cast),
        Value::DateTime(ticks) => {
            let days = (ticks.div_euclid(TICKS_PER_DAY) - i64::from(DAY_1900)) as i32;
            let time = ticks.rem_euclid(TICKS_PER_DAY);
            let mut bytes = Vec::with_capacity(8);
            if cast.from == SqlType::SmallDateTime {
                bytes.extend_from_slice(&(days as u16).to_be_bytes());
                bytes.extend_from_slice(&((time / TICKS_PER_MINUTE) as u16).to_be_bytes());
            } else {
                bytes.extend_from_slice(&days.to_be_bytes());
                bytes.extend_from_slice(&(to_three_hundredths(time) as i32).to_be_bytes());
            }
            fit_front(&bytes, cast)
        }
        _ => Err(mismatch(value, cast)),
    }
}

fn layout_to_binary(value: &Value, cast: &Cast) -> Result<Value> {
    let scale = cast.from.scale();
    let mut bytes = Vec::with_capacity(20);
    match value {
        Value::Decimal(d) => {
            let m = d.mantissa();
            bytes.extend_from_slice(&[cast.from.precision(), scale, 0, u8::from(m >= 0)]);
            let words = (cast.from.max_length_bytes() as usize - 1).max(4);
            let used = m.unsigned_abs().to_le_bytes();
            bytes.extend_from_slice(&used[..words]);
        }
        Value::Date(days) => bytes.extend_from_slice(&days.to_le_bytes()[..3]),
        Value::Time(ticks) => {
            bytes.push(scale);
            push_time(&mut bytes, *ticks, cast.from);
        }
        Value::DateTime(ticks) => {
            bytes.push(scale);
            push_time(&mut bytes, ticks % TICKS_PER_DAY, cast.from);
            bytes.extend_from_slice(&((ticks / TICKS_PER_DAY) as u32).to_le_bytes()[..3]);
        }
        Value::DateTimeOffset(ticks, offset) => {
            bytes.push(scale);
            push_time(&mut bytes, ticks % TICKS_PER_DAY, cast.from);
            bytes.extend_from_slice(&((ticks / TICKS_PER_DAY) as u32).to_le_bytes()[..3]);
            bytes.extend_from_slice(&offset.to_le_bytes());
        }
        _ => return Err(mismatch(value, cast)),
    }
    fit_end(bytes, cast)
}

fn push_time(out: &mut Vec<u8>, ticks: i64, ty: SqlType) {
    let units = ticks / 10i64.pow(7 - u32::from(ty.scale().min(7)));
    let width = SqlType::Time(ty.scale()).max_length_bytes() as usize;
    out.extend_from_slice(&units.to_le_bytes()[..width]);
}

fn big_endian(value: &Value, cast: &Cast) -> Result<u64> {
    let Value::Bytes(bytes) = value else { return Err(mismatch(value, cast)) };
    let low = &bytes[bytes.len().saturating_sub(8)..];
    Ok(low.iter().fold(0, |n, b| (n << 8) | u64::from(*b)))
}

pub(super) fn to_int(value: &Value, cast: &Cast) -> Result<Value> {
    let n = big_endian(value, cast)?;
    Ok(match cast.to {
        SqlType::Bit => Value::Bit(n & 0xFF != 0),
        SqlType::TinyInt => Value::Int(i64::from(n as u8)),
        SqlType::SmallInt => Value::Int(i64::from(n as i16)),
        SqlType::BigInt => Value::Int(n as i64),
        _ => Value::Int(i64::from(n as i32)),
    })
}

pub(super) fn to_money(value: &Value, cast: &Cast) -> Result<Value> {
    let n = big_endian(value, cast)? as i64;
    Ok(Value::Money(if cast.to == SqlType::SmallMoney { i64::from(n as i32) } else { n }))
}

/// Reads the layout that a decimal converts to.
pub(super) fn to_decimal(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Bytes(bytes) = value else { return Err(mismatch(value, cast)) };
    let error = || raise::error_converting(cast.from, cast.to);
    let (&[_, scale, _, positive], digits) = bytes.split_first_chunk::<4>().ok_or_else(error)?;
    if digits.len() > 16 || scale > 38 {
        return Err(error());
    }
    let magnitude = digits.iter().rev().fold(0u128, |n, b| (n << 8) | u128::from(*b));
    let m = i128::try_from(magnitude).ok().filter(|m| *m <= Decimal::MAX_MANTISSA).ok_or_else(error)?;
    let d = Decimal::new(if positive == 0 { -m } else { m }, scale);
    match d.rescale(cast.to.scale()) {
        Some(d) if d.fits(cast.to.precision()) => Ok(Value::Decimal(d)),
        _ => Err(raise::overflow_from(cast.from, cast.to)),
    }
}

/// Reads the layouts that dates and times convert to.
pub(super) fn to_temporal(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Bytes(bytes) = value else { return Err(mismatch(value, cast)) };
    let error = || raise::error_converting(cast.from, cast.to);
    match cast.to {
        SqlType::DateTime => {
            let n = big_endian(value, cast)?;
            let days = i64::from((n >> 32) as i32) + i64::from(DAY_1900);
            let time = i64::from(n as u32);
            let valid = (0..=i64::from(MAX_DAY)).contains(&days) && time < 25_920_000;
            if valid {
                Ok(Value::DateTime(days * TICKS_PER_DAY + from_three_hundredths(time)))
            } else {
                Err(error())
            }
        }
        SqlType::SmallDateTime => {
            let n = big_endian(value, cast)?;
            let days = i64::from((n >> 16) as u16) + i64::from(DAY_1900);
            let minutes = i64::from(n as u16);
            let valid = minutes < 1440;
            if valid {
                Ok(Value::DateTime(days * TICKS_PER_DAY + minutes * TICKS_PER_MINUTE))
            } else {
                Err(error())
            }
        }
        SqlType::Date => date_of(bytes).map(Value::Date).ok_or_else(error),
        _ => from_layout(bytes, cast.to).ok_or_else(error),
    }
}

fn little_endian(bytes: &[u8]) -> i64 {
    bytes.iter().rev().fold(0, |n, b| (n << 8) | i64::from(*b))
}

fn date_of(bytes: &[u8]) -> Option<i32> {
    let days = little_endian(bytes.first_chunk::<3>()?) as i32;
    (bytes.len() == 3 && days <= MAX_DAY).then_some(days)
}

fn from_layout(bytes: &[u8], to: SqlType) -> Option<Value> {
    let (&scale, rest) = bytes.split_first()?;
    let scale = (scale <= 7).then_some(scale)?;
    let width = SqlType::Time(scale).max_length_bytes() as usize;
    let (time, rest) = rest.split_at_checked(width)?;
    let time = little_endian(time).checked_mul(10i64.pow(7 - u32::from(scale)))?;
    if time >= TICKS_PER_DAY {
        return None;
    }
    match to {
        SqlType::Time(_) if rest.is_empty() => Some(Value::Time(time)),
        SqlType::DateTime2(_) => Some(Value::DateTime(i64::from(date_of(rest)?) * TICKS_PER_DAY + time)),
        SqlType::DateTimeOffset(_) => {
            let (date, offset) = rest.split_at_checked(3)?;
            let offset = i16::from_le_bytes(offset.try_into().ok()?);
            let valid = (-840..=840).contains(&offset);
            valid.then_some(Value::DateTimeOffset(i64::from(date_of(date)?) * TICKS_PER_DAY + time, offset))
        }
        _ => None,
    }
}

fn binary_to_guid(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Bytes(bytes) = value else { return Err(mismatch(value, cast)) };
    let mut guid = [0; 16];
    let used = bytes.len().min(16);
    guid[..used].copy_from_slice(&bytes[..used]);
    Ok(Value::Guid(guid))
}

/// With or without braces; what follows the 36 characters is ignored, as the product does.
fn text_to_guid(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Str(s) = value else { return Err(mismatch(value, cast)) };
    parse_guid(s).map(Value::Guid).ok_or_else(raise::not_a_guid)
}

pub(crate) fn parse_guid(text: &str) -> Option<[u8; 16]> {
    let braced = text.strip_prefix('{');
    let body = braced.unwrap_or(text).as_bytes().get(..36)?;
    if braced.is_some() && text.as_bytes().get(37) != Some(&b'}') {
        return None;
    }
    let mut raw = [0; 16];
    let mut digits = 0;
    for (i, b) in body.iter().enumerate() {
        if matches!(i, 8 | 13 | 18 | 23) {
            if *b != b'-' {
                return None;
            }
            continue;
        }
        if !b.is_ascii_hexdigit() {
            return None;
        }
        raw[digits / 2] = (raw[digits / 2] << 4) | nibble(*b);
        digits += 1;
    }
    raw[..4].reverse();
    raw[4..6].reverse();
    raw[6..8].reverse();
    debug_assert_eq!(text::guid_text(&raw).as_bytes(), body.to_ascii_uppercase());
    Some(raw)
}
