//! Comparing two values of one type.
//!
//! [`resolve`] finds, once, the type in which two expressions meet, the conversions to it and the comparison; applying it
//! gives `None` when a side is NULL, which three-valued logic turns into UNKNOWN. [`order`] is the total order of values of
//! one type, NULL first, that sorting, `MIN`, `MAX` and index keys use; [`hash`] agrees with its equality.

use crate::cast::{self, Cast};
use crate::collation::{self, Collation};
use crate::error::Result;
use crate::key::{GUID_ORDER, variant_comparand, variant_rank};
use crate::raise;
use crate::ty::promote;
use crate::ty::{Family, SqlType};
use crate::{Decimal, Value};
use std::cmp::Ordering;
use std::hash::Hasher;

/// A resolved comparison.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// Conversion of the left side; `None` when it is already right.
    pub left: Option<Cast>,
    /// Conversion of the right side.
    pub right: Option<Cast>,
    /// The type in which the sides meet. Decimals keep their own scales: they compare exactly.
    pub common: SqlType,
    /// Collation of strings.
    pub collation: Collation,
    /// The comparison of converted, non-NULL values.
    pub compare: fn(&Value, &Value, Collation) -> Ordering,
}

impl Comparison {
    /// Compares, converting as needed; `None` when a side is NULL.
    #[inline]
    pub fn apply(&self, left: &Value, right: &Value) -> Result<Option<Ordering>> {
        if left.is_null() || right.is_null() {
            return Ok(None);
        }
        let f = self.compare;
        Ok(Some(match (&self.left, &self.right) {
            (None, None) => f(left, right, self.collation),
            (Some(l), None) => f(&l.apply(left)?, right, self.collation),
            (None, Some(r)) => f(left, &r.apply(right)?, self.collation),
            (Some(l), Some(r)) => f(&l.apply(left)?, &r.apply(right)?, self.collation),
        }))
    }

    /// Compares values that are already of the common type; `None` when a side is NULL.
    #[inline]
    #[must_use]
    pub fn apply_converted(&self, left: &Value, right: &Value) -> Option<Ordering> {
        if left.is_null() || right.is_null() {
            None
        } else {
            Some((self.compare)(left, right, self.collation))
        }
    }
}

/// Finds the comparison of two types. Errors: 206 no common type, 305 and 306 types that do not compare.
pub fn resolve(left: SqlType, right: SqlType, collation: Collation) -> Result<Comparison> {
    check_comparable(left)?;
    check_comparable(right)?;
    let common = promote::common(left, right)?;
    let side = |from: SqlType| -> Result<Option<Cast>> {
        // Lengths and scales do not matter to a comparison, only the kind of value does.
        let to = match common.family() {
            Family::Decimal => match from.as_decimal_parts() {
                Some((precision, scale)) => SqlType::Decimal { precision, scale },
                None => common,
            },
            Family::String if from.is_string() => from,
            Family::NationalString if from.is_string() => from,
            Family::Binary if from.is_binary() => from,
            _ => common,
        };
        let cast = cast::implicit(from, to)?;
        Ok((!cast.is_identity()).then_some(cast))
    };
    Ok(Comparison { left: side(left)?, right: side(right)?, common, collation, compare: comparer(common) })
}

fn check_comparable(ty: SqlType) -> Result<()> {
    match ty {
        SqlType::Text | SqlType::NText | SqlType::Image => Err(raise::old_types_do_not_compare()),
        SqlType::Xml | SqlType::TypedXml(_) => Err(raise::xml_does_not_compare()),
        SqlType::Geometry | SqlType::Geography => Err(raise::spatial_does_not_compare("equal to", ty)),
        _ => Ok(()),
    }
}

/// The comparison of non-NULL values of one type.
#[must_use]
pub fn comparer(ty: SqlType) -> fn(&Value, &Value, Collation) -> Ordering {
    match ty.family() {
        Family::Integer => ints,
        Family::String | Family::NationalString => strings,
        _ => order,
    }
}

#[inline]
fn ints(a: &Value, b: &Value, collation: Collation) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        _ => order(a, b, collation),
    }
}

#[inline]
fn strings(a: &Value, b: &Value, collation: Collation) -> Ordering {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => collation::compare(a, b, collation),
        _ => order(a, b, collation),
    }
}

/// Whether two values of one type are equal, NULL equal to NULL: what grouping and DISTINCT use.
#[must_use]
#[inline]
pub fn same(a: &Value, b: &Value, collation: Collation) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => collation::equal(a, b, collation),
        _ => order(a, b, collation).is_eq(),
    }
}

/// Feeds a hasher so that values of one type that are [`same`] hash alike. Decimals may have different scales.
pub fn hash<H: Hasher>(value: &Value, collation: Collation, state: &mut H) {
    match value {
        Value::Null => state.write_u8(0),
        Value::Bit(b) => state.write_u8(u8::from(*b)),
        Value::Int(n) | Value::Money(n) | Value::Time(n) | Value::DateTime(n) => state.write_i64(*n),
        Value::DateTimeOffset(n, _) => state.write_i64(*n),
        Value::Date(n) => state.write_i32(*n),
        Value::Float(f) => state.write_u64(if *f == 0.0 { 0 } else { f.to_bits() }),
        Value::Decimal(d) => {
            let (mut m, mut scale) = (d.mantissa(), d.scale);
            while scale > 0 && m % 10 == 0 {
                (m, scale) = (m / 10, scale - 1);
            }
            state.write_i128(m);
            state.write_u8(scale);
        }
        Value::Str(s) => collation::hash(s, collation, state),
        Value::Bytes(b) => state.write(&b[..b.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1)]),
        Value::Guid(g) => state.write(g),
        Value::Variant(v) => hash(&variant_comparand(&v.1), collation, state),
    }
}

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
    let up = |d: Decimal| crate::decimal::scaled_up(d.mantissa(), scale - d.scale);
    if let (Some(a), Some(b)) = (up(a), up(b)) {
        return a.cmp(&b);
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Length;
    use crate::testing::pair_of_one_type;
    use proptest::prelude::*;

    #[test]
    fn across_types() {
        let varchar = SqlType::VarChar(Length::Limited(20));
        let numeric = |p, s| SqlType::Numeric { precision: p, scale: s };
        let check = |l: Value, lt: SqlType, r: Value, rt: SqlType, expect: Result<Option<Ordering>>| {
            let got = resolve(lt, rt, Collation::default()).and_then(|c| c.apply(&l, &r));
            assert_eq!(got.map_err(|e| e.number), expect.map_err(|e| e.number), "{l:?} {r:?}");
        };
        let err = |n| Err(crate::SqlError::new(n, 16, 1, ""));
        check(Value::Int(5), SqlType::Int, Value::str("10"), varchar, Ok(Some(Ordering::Less)));
        check(Value::Int(5), SqlType::Int, Value::str("x"), varchar, err(245));
        check(Value::Int(5), SqlType::Int, Value::Null, varchar, Ok(None));
        let d = |m, s| Value::Decimal(Decimal::new(m, s));
        check(d(10, 1), numeric(2, 1), d(1000, 3), numeric(4, 3), Ok(Some(Ordering::Equal)));
        check(Value::Int(1), SqlType::Int, d(1000, 3), numeric(4, 3), Ok(Some(Ordering::Equal)));
        check(Value::Money(15_000), SqlType::Money, d(15, 1), numeric(4, 1), Ok(Some(Ordering::Equal)));
        check(Value::str("A"), varchar, Value::str("a "), SqlType::NChar(2), Ok(Some(Ordering::Equal)));
        check(Value::Int(1), SqlType::Int, Value::Date(1), SqlType::Date, err(206));
        check(Value::str("A"), SqlType::Text, Value::str("a "), varchar, err(306));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn equal_values_hash_alike((ty, collation, a, b) in pair_of_one_type()) {
            let h = |v: &Value| {
                let mut state = std::hash::DefaultHasher::new();
                hash(v, collation, &mut state);
                state.finish()
            };
            let equal = order(&a, &b, collation).is_eq();
            prop_assert_eq!(same(&a, &b, collation), equal);
            if equal {
                prop_assert_eq!(h(&a), h(&b), "{}", ty);
            }
            if ty != SqlType::SqlVariant && !a.is_null() && !b.is_null() {
                prop_assert_eq!(comparer(ty)(&a, &b, collation), order(&a, &b, collation));
            }
        }
    }
}
