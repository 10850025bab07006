//! Values in the form in which the product has them in memory, as native data files have them: little-endian, the types' own
//! layouts (those of TDS, but for decimals, which are a `SQL_NUMERIC_STRUCT`).

use keel_types::datetime::{DAY_1900, TICKS_PER_DAY, TICKS_PER_MINUTE, from_three_hundredths};
use keel_types::{Decimal, SqlType, Value};

/// The last day of the calendar, from 0001-01-01.
const DAY_LAST: i64 = 3_652_058;

/// Bytes of a type's value, if all have as many.
pub(super) fn bytes_of(ty: SqlType) -> Option<usize> {
    use SqlType as T;
    Some(match ty {
        T::Bit | T::TinyInt => 1,
        T::SmallInt => 2,
        T::Int | T::Real | T::SmallMoney | T::SmallDateTime => 4,
        T::BigInt | T::Float | T::Money | T::DateTime => 8,
        T::UniqueIdentifier => 16,
        T::Decimal { .. } | T::Numeric { .. } => 19,
        T::Date => 3,
        T::Time(s) => time_bytes(s),
        T::DateTime2(s) => time_bytes(s) + 3,
        T::DateTimeOffset(s) => time_bytes(s) + 5,
        _ => return None,
    })
}

const fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3 | 4 => 4,
        _ => 5,
    }
}

/// The value of a type and the type that it has; `None` for bytes that are none.
pub(super) fn value(bytes: &[u8], ty: SqlType) -> Option<(Value, SqlType)> {
    use SqlType as T;
    if matches!(ty, T::Decimal { .. } | T::Numeric { .. }) {
        return decimal(bytes);
    }
    if bytes.len() != bytes_of(ty)? {
        return None;
    }
    let value = match ty {
        T::Bit => Value::Bit(bytes[0] != 0),
        T::TinyInt => Value::Int(bytes[0].into()),
        T::SmallInt => Value::Int(i16::from_le_bytes(bytes.try_into().ok()?).into()),
        T::Int => Value::Int(i32::from_le_bytes(bytes.try_into().ok()?).into()),
        T::BigInt => Value::Int(i64::from_le_bytes(bytes.try_into().ok()?)),
        T::Real => Value::Float(f32::from_le_bytes(bytes.try_into().ok()?).into()),
        T::Float => Value::Float(f64::from_le_bytes(bytes.try_into().ok()?)),
        T::SmallMoney => Value::Money(i32::from_le_bytes(bytes.try_into().ok()?).into()),
        T::Money => {
            let high = i32::from_le_bytes(bytes[..4].try_into().ok()?);
            let low = u32::from_le_bytes(bytes[4..].try_into().ok()?);
            Value::Money(i64::from(high) << 32 | i64::from(low))
        }
        T::DateTime => {
            let day = i64::from(i32::from_le_bytes(bytes[..4].try_into().ok()?)) + i64::from(DAY_1900);
            let ticks = u32::from_le_bytes(bytes[4..].try_into().ok()?);
            let fits = (0..=DAY_LAST).contains(&day) && ticks < 300 * 86_400;
            fits.then(|| Value::DateTime(day * TICKS_PER_DAY + from_three_hundredths(ticks.into())))?
        }
        T::SmallDateTime => {
            let day = i64::from(u16::from_le_bytes(bytes[..2].try_into().ok()?)) + i64::from(DAY_1900);
            let minutes = i64::from(u16::from_le_bytes(bytes[2..].try_into().ok()?));
            (minutes < 1_440).then(|| Value::DateTime(day * TICKS_PER_DAY + minutes * TICKS_PER_MINUTE))?
        }
        T::Date => Value::Date(i32::try_from(day(bytes)?).ok()?),
        T::Time(s) => Value::Time(time(bytes, s)?),
        T::DateTime2(s) => {
            let (clock, days) = bytes.split_at(time_bytes(s));
            Value::DateTime(day(days)? * TICKS_PER_DAY + time(clock, s)?)
        }
        T::DateTimeOffset(s) => {
            let (clock, rest) = bytes.split_at(time_bytes(s));
            let (days, offset) = rest.split_at(3);
            let offset = i16::from_le_bytes(offset.try_into().ok()?);
            let fits = (-840..=840).contains(&offset);
            fits.then_some(Value::DateTimeOffset(day(days)? * TICKS_PER_DAY + time(clock, s)?, offset))?
        }
        T::UniqueIdentifier => Value::Guid(bytes.try_into().ok()?),
        _ => return None,
    };
    Some((value, ty))
}

fn little(bytes: &[u8]) -> i64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | i64::from(*b))
}

fn day(bytes: &[u8]) -> Option<i64> {
    Some(little(bytes)).filter(|d| *d <= DAY_LAST)
}

/// 100 ns ticks of a time in units of its scale.
fn time(bytes: &[u8], scale: u8) -> Option<i64> {
    let ticks = little(bytes).checked_mul(10_i64.pow(7 - u32::from(scale.min(7))))?;
    (ticks < TICKS_PER_DAY).then_some(ticks)
}

/// Precision, scale, sign (1 is positive) and 16 bytes of magnitude.
fn decimal(bytes: &[u8]) -> Option<(Value, SqlType)> {
    let [precision, scale, sign, magnitude @ ..] = bytes else { return None };
    let mut wide = [0; 16];
    wide.get_mut(..magnitude.len())?.copy_from_slice(magnitude);
    let mantissa = i128::try_from(u128::from_le_bytes(wide)).ok()?;
    let fits = (1..=38).contains(precision) && scale <= precision && mantissa < 10_i128.pow(38);
    let value = fits.then(|| Decimal::new(if *sign == 0 { -mantissa } else { mantissa }, *scale))?;
    Some((Value::Decimal(value), SqlType::Decimal { precision: *precision, scale: *scale }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_values() {
        let value = |bytes: &[u8], ty| value(bytes, ty).map(|(v, _)| format!("{v:?}"));
        let is = |v: Value| Some(format!("{v:?}"));
        assert_eq!(value(&[0xFE, 0xFF, 0xFF, 0xFF], SqlType::Int), is(Value::Int(-2)));
        assert_eq!(value(&[1, 0], SqlType::Int), None);
        assert_eq!(value(&[0, 0, 0, 0, 0x10, 0x27, 0, 0], SqlType::Money), is(Value::Money(10_000)));
        assert_eq!(value(&[0xFF; 8], SqlType::Money), is(Value::Money(-1)));
        let day = i64::from(DAY_1900) + 1;
        assert_eq!(
            value(&[1, 0, 0, 0, 0x2C, 1, 0, 0], SqlType::DateTime),
            is(Value::DateTime(day * TICKS_PER_DAY + 10_000_000))
        );
        assert_eq!(
            value(&[1, 0, 60, 0], SqlType::SmallDateTime),
            is(Value::DateTime(day * TICKS_PER_DAY + 60 * TICKS_PER_MINUTE))
        );
        assert_eq!(value(&[0, 0, 0xFF, 0xFF], SqlType::SmallDateTime), None);
        assert_eq!(value(&[1, 0, 0], SqlType::Time(0)), is(Value::Time(10_000_000)));
        assert_eq!(value(&[0xFF, 0xFF, 0xFF], SqlType::Date), None);
        let mut number = vec![9, 2, 0, 0x96];
        number.resize(19, 0);
        assert_eq!(
            value(&number, SqlType::Decimal { precision: 9, scale: 2 }),
            is(Value::Decimal(Decimal::new(-150, 2)))
        );
        number[0] = 77;
        assert_eq!(value(&number, SqlType::Decimal { precision: 9, scale: 2 }), None);
    }

    proptest::proptest! {
        /// Bytes of any kind are a value or none.
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..24)) {
            use SqlType as T;
            for ty in [T::Bit, T::TinyInt, T::SmallInt, T::Int, T::BigInt, T::Real, T::Float, T::Money, T::SmallMoney, T::DateTime, T::SmallDateTime, T::Date, T::Time(3), T::DateTime2(7), T::DateTimeOffset(0), T::UniqueIdentifier, T::Decimal { precision: 9, scale: 2 }] {
                let _ = value(&bytes, ty);
            }
        }
    }
}
