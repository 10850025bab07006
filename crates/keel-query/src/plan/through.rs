//! Seeks through conversions: where a column has to be converted to be compared with a value, an index on the column still says
//! between which of its own values the answer is.
//!
//! ```text
//!   int column  = @numeric        ──►  column = the integer that it is, or nothing
//!   int column  < 5.5 (decimal)      ──►  column ≤ 6,         and the comparison itself is tested on what is found
//!   datetime column > @datetime2     ──►  column ≥ @datetime2 less a little
//! ```
//!
//! This is what drivers ask for: they send datetime2 for each time and decimals with the digits that a number happens to have. It is done for
//! conversions that keep the order, from a type whose values the other can tell apart: numbers, and times. The range is never narrower than what is
//! asked for; it may be wider, which is why the comparison is tested.

use crate::bind::rel::Get;
use crate::expr::{CmpOp, Expr, ExprKind, builtin};
use keel_types::datetime::{MAX_TICKS, TICKS_PER_DAY, TICKS_PER_SECOND};
use keel_types::{Decimal, SqlType, Value};

/// What a double may be off by when it stands for an integer, as a part of it.
const FLOAT_ERROR: f64 = 1e-15;

/// Which end of a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Low,
    High,
}

/// How values of the type that is compared bound those of the column.
#[derive(Clone, Copy)]
enum Way {
    /// Numbers, with the digits behind the point that the column has.
    Number(u8),
    /// Floating point numbers of less precision.
    Real,
    /// Times, so many ticks around.
    Ticks(i64),
    /// Dates of times, so many ticks around.
    Days(i64),
}

/// The column that a side of a comparison converts, and how.
fn converted(get: &Get, side: &Expr) -> Option<(usize, Way)> {
    let ExprKind::Cast(cast) = &side.kind else { return None };
    if cast.lenient || cast.style.is_some() {
        return None;
    }
    Some((get.column_of(cast.input.as_slot()?)?, way(cast.input.ty, side.ty)?))
}

fn way(from: SqlType, to: SqlType) -> Option<Way> {
    if to.is_numeric() && from.is_numeric() {
        return number(from, to);
    }
    // A conversion rounds to what the type tells apart at most, and datetime's thousandths are thirds of hundredths.
    let around = match to {
        SqlType::DateTime2(digits) | SqlType::DateTimeOffset(digits) | SqlType::Time(digits) => {
            10i64.pow(u32::from(7 - digits.min(7))) + TICKS_PER_SECOND / 1000
        }
        SqlType::DateTime => TICKS_PER_SECOND / 200,
        SqlType::SmallDateTime => TICKS_PER_SECOND * 60,
        _ => return None,
    };
    match (from, to) {
        (SqlType::Time(_), SqlType::Time(_)) => Some(Way::Ticks(around)),
        (_, SqlType::Time(_)) => None,
        (SqlType::Date, _) => Some(Way::Days(around)),
        (SqlType::DateTime | SqlType::SmallDateTime | SqlType::DateTime2(_), _) => Some(Way::Ticks(around)),
        _ => None,
    }
}

/// Digits behind the point of a number's type; none of floating point.
fn scale(ty: SqlType) -> Option<u8> {
    match ty {
        SqlType::Money | SqlType::SmallMoney => Some(4),
        ty if ty.is_integer() => Some(0),
        ty => ty.decimal_parts().map(|(_, scale)| scale),
    }
}

fn number(from: SqlType, to: SqlType) -> Option<Way> {
    match (from, to) {
        (SqlType::Real, SqlType::Float) => Some(Way::Real),
        (from, SqlType::Float) => scale(from).map(Way::Number),
        // Where digits get lost, another number is compared.
        (from, to) => scale(from).filter(|own| scale(to).is_some_and(|other| other >= *own)).map(Way::Number),
    }
}

/// Whether an index is searched through the conversion of a side of a comparison.
pub(super) fn is_sought(get: &Get, side: &Expr) -> bool {
    converted(get, side).is_some()
}

/// An integer column that is compared with a decimal, and the integer that it must be: NULL where none is.
pub(super) fn equal(get: &Get, side: &Expr, value: &Expr) -> Option<(usize, Expr)> {
    let (column, way) = converted(get, side)?;
    let ty = get.table.columns[column].ty;
    let decimals = value.ty == side.ty && value.ty.decimal_parts().is_some() && !value.is_volatile();
    if !(decimals && ty.is_integer() && matches!(way, Way::Number(0))) {
        return None;
    }
    let key = builtin::own("INTEGER_OF", SqlType::BigInt, vec![value.clone()], |args| {
        Ok(args.first().and_then(integer).map_or(Value::Null, Value::Int))
    });
    Some((column, key))
}

/// The integer that a decimal is.
fn integer(value: &Value) -> Option<i64> {
    let Value::Decimal(d) = value else { return None };
    let unit = 10i128.pow(u32::from(d.scale));
    let whole = (d.mantissa() % unit == 0).then(|| d.mantissa() / unit)?;
    i64::try_from(whole).ok()
}

/// The column of a comparison, and between which of its values the answer is: ends that are part of the range.
pub(super) fn range(get: &Get, op: CmpOp, side: &Expr, value: &Expr) -> Option<(usize, [Option<Expr>; 2])> {
    let (column, way) = converted(get, side)?;
    if value.ty != side.ty || value.is_volatile() {
        return None;
    }
    let ty = get.table.columns[column].ty;
    let low = matches!(op, CmpOp::Eq | CmpOp::Gt | CmpOp::Ge).then(|| bound(End::Low, value, ty, way));
    let high = matches!(op, CmpOp::Eq | CmpOp::Lt | CmpOp::Le).then(|| bound(End::High, value, ty, way));
    (low.is_some() || high.is_some()).then_some((column, [low, high]))
}

fn bound(end: End, value: &Expr, ty: SqlType, way: Way) -> Expr {
    let name = if end == End::Low { "RANGE_FROM" } else { "RANGE_TO" };
    builtin::own(name, ty, vec![value.clone()], move |args| {
        Ok(args.first().and_then(|value| nearest(end, value, ty, way)).unwrap_or(Value::Null))
    })
}

/// The column's value at an end; `None` for NULL.
fn nearest(end: End, value: &Value, ty: SqlType, way: Way) -> Option<Value> {
    match way {
        Way::Real => Some(value.clone()),
        Way::Number(digits) => {
            let at = whole(end, value, digits)?;
            Some(match scale_kind(ty) {
                Kind::Decimal => {
                    let most = Decimal::MAX_MANTISSA;
                    Value::Decimal(Decimal::new(at.clamp(-most, most), digits))
                }
                Kind::Money => Value::Money(narrow(at)),
                Kind::Integer => Value::Int(narrow(at)),
            })
        }
        Way::Ticks(around) => {
            let at = ticks(end, value, around)?;
            Some(if matches!(ty, SqlType::Time(_)) { Value::Time(at) } else { Value::DateTime(at) })
        }
        Way::Days(around) => Some(Value::Date((ticks(end, value, around)? / TICKS_PER_DAY) as i32)),
    }
}

enum Kind {
    Integer,
    Money,
    Decimal,
}

fn scale_kind(ty: SqlType) -> Kind {
    match ty {
        SqlType::Money | SqlType::SmallMoney => Kind::Money,
        ty if ty.is_integer() => Kind::Integer,
        _ => Kind::Decimal,
    }
}

fn narrow(n: i128) -> i64 {
    n.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// A number in units of the last of so many digits behind the point, rounded to the outside.
fn whole(end: End, value: &Value, digits: u8) -> Option<i128> {
    let (mantissa, scale) = match value {
        Value::Int(n) => (i128::from(*n), 0),
        Value::Money(n) => (i128::from(*n), 4),
        Value::Decimal(d) => (d.mantissa(), d.scale),
        Value::Float(f) => {
            let units = f * 10f64.powi(i32::from(digits));
            let off = units.abs() * FLOAT_ERROR + 1.0;
            // What does not fit ends at the greatest that does.
            return Some(if end == End::Low { (units - off).floor() } else { (units + off).ceil() } as i128);
        }
        _ => return None,
    };
    if scale <= digits {
        let times = 10i128.checked_pow(u32::from(digits - scale));
        let most = if mantissa < 0 { i128::MIN } else { i128::MAX };
        return Some(times.and_then(|times| mantissa.checked_mul(times)).unwrap_or(most));
    }
    let unit = 10i128.pow(u32::from(scale - digits));
    let down = mantissa.div_euclid(unit);
    let exact = mantissa.rem_euclid(unit) == 0;
    Some(if end == End::Low || exact { down } else { down + 1 })
}

/// A time in ticks, moved to the outside.
fn ticks(end: End, value: &Value, around: i64) -> Option<i64> {
    let at = match value {
        Value::DateTime(at) | Value::DateTimeOffset(at, _) | Value::Time(at) => *at,
        _ => return None,
    };
    let moved = if end == End::Low { at - around } else { at + around };
    Some(moved.clamp(0, MAX_TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(value: &Value, ty: SqlType, way: Way) -> [Value; 2] {
        [End::Low, End::High].map(|end| nearest(end, value, ty, way).expect("it has a value"))
    }

    #[track_caller]
    fn check(value: &Value, ty: SqlType, way: Way, expected: [Value; 2]) {
        assert_eq!(format!("{:?}", ends(value, ty, way)), format!("{expected:?}"));
    }

    fn decimal(mantissa: i128, scale: u8) -> Value {
        Value::Decimal(Decimal::new(mantissa, scale))
    }

    #[test]
    fn numbers_are_rounded_to_the_outside() {
        let int = |value, low, high| {
            check(&value, SqlType::Int, Way::Number(0), [Value::Int(low), Value::Int(high)]);
        };
        int(decimal(55, 1), 5, 6);
        int(decimal(-55, 1), -6, -5);
        int(decimal(500, 2), 5, 5);
        int(decimal(Decimal::MAX_MANTISSA, 0), i64::MAX, i64::MAX);
        int(Value::Float(1e300), i64::MAX, i64::MAX);
        let tenths = SqlType::Decimal { precision: 38, scale: 1 };
        let least = || decimal(-Decimal::MAX_MANTISSA, 1);
        check(&decimal(-Decimal::MAX_MANTISSA, 0), tenths, Way::Number(1), [least(), least()]);
        assert!(nearest(End::Low, &Value::Null, SqlType::Int, Way::Number(0)).is_none());
    }

    #[test]
    fn days_end_where_times_do() {
        let day = |ticks, low, high| {
            let expected = [Value::Date(low), Value::Date(high)];
            check(&Value::DateTime(ticks), SqlType::Date, Way::Days(1), expected);
        };
        day(3 * TICKS_PER_DAY + 5, 3, 3);
        day(3 * TICKS_PER_DAY, 2, 3);
        day(0, 0, 0);
        day(MAX_TICKS, (MAX_TICKS / TICKS_PER_DAY) as i32, (MAX_TICKS / TICKS_PER_DAY) as i32);
    }

    #[test]
    fn integers_are_equal_to_decimals_without_a_fraction() {
        assert_eq!(integer(&decimal(500, 2)), Some(5));
        assert_eq!(integer(&decimal(-3_000_000_000, 0)), Some(-3_000_000_000));
        for other in [decimal(505, 2), decimal(1 << 63, 0), decimal(Decimal::MAX_MANTISSA, 0), Value::Null] {
            assert_eq!(integer(&other), None, "{other:?}");
        }
    }

    proptest! {
        /// Whatever column value compares equal to the value after its conversion is between the ends.
        #[test]
        fn integers_are_between_the_ends(n in any::<i64>(), scale in 0u8..10) {
            let value = decimal(i128::from(n) * 10i128.pow(u32::from(scale)), scale);
            check(&value, SqlType::BigInt, Way::Number(0), [Value::Int(n), Value::Int(n)]);
            let [Value::Int(low), Value::Int(high)] = ends(&Value::Float(n as f64), SqlType::BigInt, Way::Number(0)) else {
                panic!("integers have integer ends")
            };
            prop_assert!(low <= n && n <= high, "{low} {n} {high}");
        }

        #[test]
        fn decimals_are_between_the_ends(n in -10i64.pow(15)..10i64.pow(15), scale in 0u8..6) {
            let value = n as f64 / 10f64.powi(i32::from(scale));
            let ty = SqlType::Decimal { precision: 20, scale };
            let [Value::Decimal(low), Value::Decimal(high)] = ends(&Value::Float(value), ty, Way::Number(scale)) else {
                panic!("decimals have decimal ends")
            };
            let n = i128::from(n);
            prop_assert!(low.mantissa() <= n && n <= high.mantissa(), "{low:?} {n} {high:?}");
        }
    }
}
