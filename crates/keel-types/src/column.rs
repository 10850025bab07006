//! Stored column bytes: how one non-NULL value lies in a row. The row layout around it (null bitmap, end offsets) is the
//! store's; it gives every column its exact length, so nothing here carries one.
//!
//! | type | bytes |
//! | --- | --- |
//! | bit | 0 or 1 bytes: absent = 0, `01` = 1 |
//! | integers, money, smallmoney | shortest two's complement, little-endian, 0..=8 bytes (absent = 0) |
//! | decimal, numeric | mantissa at the column's scale, shortest two's complement, little-endian, 0..=16 bytes |
//! | real | 4 bytes IEEE, little-endian |
//! | float | 8 bytes IEEE, little-endian |
//! | date | days since 0001-01-01, as an integer |
//! | time(n) | units of 10^-n s since midnight, as an integer |
//! | datetime, smalldatetime | 1/300 s since 0001-01-01, as an integer |
//! | datetime2(n) | units of 10^-n s since 0001-01-01, as an integer |
//! | datetimeoffset(n) | offset in minutes (i16 little-endian), then UTC like datetime2(n) |
//! | (n)char | UTF-8 without trailing blanks; padded again when read |
//! | (n)varchar, (n)text, xml | UTF-8 |
//! | binary, varbinary, image, rowversion, hierarchyid, geometry, geography | as is |
//! | encrypted by clients | the ciphertext as is |
//! | uniqueidentifier | 16 bytes in wire order |
//! | sql_variant | descriptor (see `variant`), then the base type's bytes |
//!
//! Decoding never panics and never reads beyond the slice: bytes that cannot be of the type (which only corruption
//! below a checksum could produce) decode to *some* value of the type, with invalid UTF-8 replaced.
//! Encoding takes a value already converted to the type.

use crate::datetime::{TICKS_PER_DAY, from_three_hundredths, to_three_hundredths};
use crate::{Decimal, Length, SqlType, Value};
use smol_str::SmolStr;
use std::sync::Arc;

/// Appends the stored bytes of `value`, which is not NULL and is of type `ty`.
pub fn encode(value: &Value, ty: &SqlType, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Bit(bit) => out.extend(bit.then_some(1)),
        Value::Int(n) | Value::Money(n) => put_i64(*n, out),
        Value::Decimal(d) => put_i128(at_scale(*d, ty.scale()), out),
        Value::Float(f) if *ty == SqlType::Real => out.extend_from_slice(&(*f as f32).to_le_bytes()),
        Value::Float(f) => out.extend_from_slice(&f.to_le_bytes()),
        Value::Date(days) => put_i64(i64::from(*days), out),
        Value::Time(ticks) => put_i64(ticks / unit(ty.scale()), out),
        Value::DateTime(ticks) => put_i64(date_time_units(*ticks, ty), out),
        Value::DateTimeOffset(ticks, offset) => {
            out.extend_from_slice(&offset.to_le_bytes());
            put_i64(ticks / unit(ty.scale()), out);
        }
        Value::Str(s) => {
            let stored = if matches!(ty, SqlType::Char(_) | SqlType::NChar(_)) {
                s.trim_end_matches(' ')
            } else {
                s.as_str()
            };
            out.extend_from_slice(stored.as_bytes());
        }
        Value::Bytes(b) => out.extend_from_slice(b),
        Value::Guid(g) => out.extend_from_slice(g),
        Value::Variant(v) => {
            put_descriptor(&v.0, out);
            encode(&v.1, &v.0, out);
        }
    }
}

/// Reads back what [`encode`] wrote for a column of type `ty`.
#[must_use]
#[inline]
pub fn decode(bytes: &[u8], ty: &SqlType) -> Value {
    use SqlType as T;
    match *ty {
        T::TinyInt | T::SmallInt | T::Int | T::BigInt => Value::Int(get_i64(bytes)),
        _ => decode_long(bytes, ty),
    }
}

fn decode_long(bytes: &[u8], ty: &SqlType) -> Value {
    use SqlType as T;
    match *ty {
        T::VarChar(_) | T::NVarChar(_) | T::Text | T::NText | T::Xml | T::TypedXml(_) => {
            Value::Str(text(bytes))
        }
        T::Char(n) => Value::Str(padded(bytes, usize::from(n), |s| s.chars().count())),
        T::NChar(n) => Value::Str(padded(bytes, usize::from(n), |s| s.encode_utf16().count())),
        T::Decimal { scale, .. } | T::Numeric { scale, .. } => {
            Value::Decimal(Decimal::new(get_i128(bytes), scale))
        }
        T::Money | T::SmallMoney => Value::Money(get_i64(bytes)),
        _ => decode_rare(bytes, ty),
    }
}

fn decode_rare(bytes: &[u8], ty: &SqlType) -> Value {
    use SqlType as T;
    match *ty {
        T::Bit => Value::Bit(bytes.first().is_some_and(|b| *b != 0)),
        T::Real => Value::Float(f64::from(finite(f32::from_le_bytes(array(bytes)).into()) as f32)),
        T::Float => Value::Float(finite(f64::from_le_bytes(array(bytes)))),
        T::Date => Value::Date(get_i64(bytes).clamp(0, 3_652_058) as i32),
        T::Time(s) => Value::Time(get_i64(bytes).saturating_mul(unit(s)).clamp(0, TICKS_PER_DAY - 1)),
        T::DateTime | T::SmallDateTime => Value::DateTime(from_three_hundredths(
            get_i64(bytes).clamp(0, to_three_hundredths(MAX_TICKS) - 1),
        )),
        T::DateTime2(s) => Value::DateTime(get_i64(bytes).saturating_mul(unit(s)).clamp(0, MAX_TICKS)),
        T::DateTimeOffset(s) => {
            let (offset, rest) = bytes.split_at(bytes.len().min(2));
            let offset = i16::from_le_bytes(array(offset)).clamp(-840, 840);
            Value::DateTimeOffset(get_i64(rest).saturating_mul(unit(s)).clamp(0, MAX_TICKS), offset)
        }
        T::Binary(_) | T::VarBinary(_) | T::Image | T::RowVersion => Value::Bytes(Arc::from(bytes)),
        T::HierarchyId | T::Geometry | T::Geography | T::Encrypted(_) => Value::Bytes(Arc::from(bytes)),
        T::UniqueIdentifier => Value::Guid(array(bytes)),
        T::SqlVariant => match get_descriptor(bytes) {
            Some((base, rest)) => Value::Variant(Arc::new((base, decode(rest, &base)))),
            None => Value::Null,
        },
        _ => Value::Int(get_i64(bytes)),
    }
}

const MAX_TICKS: i64 = 3_652_059 * TICKS_PER_DAY - 1;

/// Ticks of 100 ns in one unit of a type with this many fractional digits.
const fn unit(scale: u8) -> i64 {
    10i64.pow(7 - if scale > 7 { 7 } else { scale as u32 })
}

fn date_time_units(ticks: i64, ty: &SqlType) -> i64 {
    match ty {
        SqlType::DateTime2(s) => ticks / unit(*s),
        _ => to_three_hundredths(ticks),
    }
}

/// The mantissa at the column's scale. Values are converted before they are stored; a scale that still differs is
/// adjusted by cutting digits.
fn at_scale(d: Decimal, scale: u8) -> i128 {
    match d.scale.cmp(&scale) {
        std::cmp::Ordering::Equal => d.mantissa(),
        std::cmp::Ordering::Less => {
            d.mantissa().saturating_mul(10i128.pow(u32::from(scale - d.scale).min(38)))
        }
        std::cmp::Ordering::Greater => d.mantissa() / 10i128.pow(u32::from(d.scale - scale).min(38)),
    }
}

fn finite(f: f64) -> f64 {
    if f.is_finite() { f } else { 0.0 }
}

/// As [`encode`] writes an integer, for any integer type.
#[inline]
pub fn encode_integer(n: i64, out: &mut Vec<u8>) {
    put_i64(n, out);
}

fn put_i64(n: i64, out: &mut Vec<u8>) {
    if n != 0 {
        let sign_bits = if n < 0 { (!n).leading_zeros() } else { n.leading_zeros() };
        let len = (64 - sign_bits as usize) / 8 + 1;
        // A copy of constant length, cut afterwards, is cheaper than one of variable length.
        let end = out.len() + len;
        out.extend_from_slice(&n.to_le_bytes());
        out.truncate(end);
    }
}

#[inline]
fn get_i64(bytes: &[u8]) -> i64 {
    match *bytes {
        [] => 0,
        [a] => i64::from(a as i8),
        [a, b] => i64::from(i16::from_le_bytes([a, b])),
        [a, b, c] => i64::from(i32::from_le_bytes([0, a, b, c]) >> 8),
        [a, b, c, d] => i64::from(i32::from_le_bytes([a, b, c, d])),
        _ => get_long(bytes),
    }
}

fn get_long(bytes: &[u8]) -> i64 {
    let len = bytes.len().min(8);
    let mut word = [0; 8];
    word[..len].copy_from_slice(&bytes[..len]);
    let shift = 64 - 8 * len as u32;
    (i64::from_le_bytes(word) << shift) >> shift
}

fn put_i128(n: i128, out: &mut Vec<u8>) {
    if let Ok(n) = i64::try_from(n) {
        put_i64(n, out);
    } else {
        let sign_bits = if n < 0 { (!n).leading_zeros() } else { n.leading_zeros() };
        let len = (128 - sign_bits as usize) / 8 + 1;
        out.extend_from_slice(&n.to_le_bytes()[..len]);
    }
}

#[inline]
fn get_i128(bytes: &[u8]) -> i128 {
    if bytes.len() <= 8 {
        return i128::from(get_i64(bytes));
    }
    let len = bytes.len().min(16);
    let mut word = [0; 16];
    word[..len].copy_from_slice(&bytes[..len]);
    let shift = 128 - 8 * len as u32;
    let n = (i128::from_le_bytes(word) << shift) >> shift;
    n.clamp(-Decimal::MAX_MANTISSA, Decimal::MAX_MANTISSA)
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut a = [0; N];
    let len = bytes.len().min(N);
    a[..len].copy_from_slice(&bytes[..len]);
    a
}

#[inline]
fn text(bytes: &[u8]) -> SmolStr {
    match std::str::from_utf8(bytes) {
        Ok(s) => SmolStr::new(s),
        Err(_) => SmolStr::new(String::from_utf8_lossy(bytes)),
    }
}

/// Text padded with blanks to `length` units as `count` counts them.
fn padded(bytes: &[u8], length: usize, count: impl Fn(&str) -> usize) -> SmolStr {
    let stored = text(bytes);
    let used = if stored.is_ascii() { stored.len() } else { count(&stored) };
    if used >= length {
        return stored;
    }
    crate::value::with_blanks(&stored, length - used)
}

/// `sql_variant` descriptor: system type id, precision or low length byte, scale or high length byte (length 0xFFFF = max).
fn put_descriptor(ty: &SqlType, out: &mut Vec<u8>) {
    let [a, b] = match ty.length() {
        Some(Length::Limited(n)) => n.to_le_bytes(),
        Some(Length::Max) => [0xFF, 0xFF],
        None => [ty.precision(), ty.scale()],
    };
    out.extend_from_slice(&[ty.system_type_id(), a, b]);
}

fn get_descriptor(bytes: &[u8]) -> Option<(SqlType, &[u8])> {
    use SqlType as T;
    let (&[id, a, b], rest) = bytes.split_first_chunk::<3>()?;
    let n = u16::from_le_bytes([a, b]);
    let length = if n == 0xFFFF { Length::Max } else { Length::Limited(n) };
    let (precision, scale) = (a.clamp(1, 38), b.min(38));
    Some((
        match id {
            104 => T::Bit,
            48 => T::TinyInt,
            52 => T::SmallInt,
            56 => T::Int,
            127 => T::BigInt,
            106 => T::Decimal { precision, scale },
            108 => T::Numeric { precision, scale },
            60 => T::Money,
            122 => T::SmallMoney,
            59 => T::Real,
            62 => T::Float,
            40 => T::Date,
            41 => T::Time(b.min(7)),
            61 => T::DateTime,
            58 => T::SmallDateTime,
            42 => T::DateTime2(b.min(7)),
            43 => T::DateTimeOffset(b.min(7)),
            175 => T::Char(n.min(8000)),
            167 => T::VarChar(length),
            239 => T::NChar(n.min(4000)),
            231 => T::NVarChar(length),
            173 => T::Binary(n.min(8000)),
            165 => T::VarBinary(length),
            36 => T::UniqueIdentifier,
            189 => T::RowVersion,
            _ => return None,
        },
        rest,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{all_types, typed_value};
    use proptest::prelude::*;

    #[test]
    fn frozen_bytes() {
        let check = |value: Value, ty: SqlType, expect: &[u8]| {
            let mut out = Vec::new();
            encode(&value, &ty, &mut out);
            assert_eq!(out, expect, "{value:?}");
        };
        check(Value::Int(0), SqlType::Int, &[]);
        check(Value::Int(127), SqlType::Int, &[0x7F]);
        check(Value::Int(128), SqlType::Int, &[0x80, 0x00]);
        check(Value::Int(-1), SqlType::Int, &[0xFF]);
        check(Value::Int(i64::MIN), SqlType::BigInt, &[0, 0, 0, 0, 0, 0, 0, 0x80]);
        check(Value::Bit(true), SqlType::Bit, &[1]);
        check(Value::Str("ab  ".into()), SqlType::Char(4), b"ab");
        check(
            Value::Decimal(Decimal::new(12345, 2)),
            SqlType::Decimal { precision: 10, scale: 2 },
            &[0x39, 0x30],
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn round_trip((ty, value) in typed_value()) {
            let mut out = Vec::new();
            encode(&value, &ty, &mut out);
            let back = decode(&out, &ty);
            prop_assert_eq!(format!("{:?}", back), format!("{:?}", value));
        }

        #[test]
        fn any_bytes_decode(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            for ty in all_types() {
                let value = decode(&bytes, &ty);
                let mut out = Vec::new();
                encode(&value, &ty, &mut out);
            }
        }
    }
}
