//! Generators shared by the property tests: any type, any value of it.

use crate::collation::cp1252;
use crate::datetime::{
    DAY_1753, DAY_1900, DAY_2079, MAX_DAY, TICKS_PER_DAY, TICKS_PER_MINUTE, from_three_hundredths,
    round_to_scale,
};
use crate::{Collation, Decimal, Length, SqlType, Value};
use proptest::prelude::*;
use std::sync::Arc;

/// One of each type.
pub fn all_types() -> Vec<SqlType> {
    use SqlType as T;
    vec![
        T::Bit,
        T::TinyInt,
        T::SmallInt,
        T::Int,
        T::BigInt,
        T::Decimal { precision: 38, scale: 10 },
        T::Numeric { precision: 9, scale: 2 },
        T::Money,
        T::SmallMoney,
        T::Real,
        T::Float,
        T::Date,
        T::Time(0),
        T::Time(7),
        T::DateTime,
        T::SmallDateTime,
        T::DateTime2(3),
        T::DateTime2(7),
        T::DateTimeOffset(7),
        T::Char(8),
        T::VarChar(Length::Limited(20)),
        T::NChar(8),
        T::NVarChar(Length::Max),
        T::Text,
        T::Binary(4),
        T::VarBinary(Length::Limited(20)),
        T::UniqueIdentifier,
        T::RowVersion,
        T::SqlVariant,
        T::HierarchyId,
    ]
}

/// Any type.
pub fn any_type() -> impl Strategy<Value = SqlType> {
    proptest::sample::select(all_types())
}

/// Any value (not NULL) of one type.
pub fn value_of(ty: SqlType) -> BoxedStrategy<Value> {
    use SqlType as T;
    let integer = |lo: i64, hi: i64| {
        prop_oneof![(lo..=hi), (-3i64.max(lo)..=3), Just(lo), Just(hi)].prop_map(Value::Int).boxed()
    };
    let text = |max: usize| {
        prop_oneof![
            proptest::collection::vec(
                proptest::sample::select("abAB01 -_%éÉe\u{301}ßzæ".chars().collect::<Vec<_>>()),
                0..max
            ),
            proptest::collection::vec(any::<char>(), 0..max.min(4)),
        ]
        .prop_map(|c| c.into_iter().collect::<String>())
    };
    match ty {
        T::Bit => any::<bool>().prop_map(Value::Bit).boxed(),
        T::TinyInt => integer(0, 255),
        T::SmallInt => integer(i16::MIN.into(), i16::MAX.into()),
        T::Int => integer(i32::MIN.into(), i32::MAX.into()),
        T::BigInt => integer(i64::MIN, i64::MAX),
        T::Decimal { precision, scale } | T::Numeric { precision, scale } => {
            let max = 10i128.pow(u32::from(precision)) - 1;
            prop_oneof![(-max..=max), (-1000i128..1000)]
                .prop_map(move |m| Value::Decimal(Decimal::new(m, scale)))
                .boxed()
        }
        T::Money => prop_oneof![any::<i64>(), -100_000i64..100_000].prop_map(Value::Money).boxed(),
        T::SmallMoney => any::<i32>().prop_map(|m| Value::Money(m.into())).boxed(),
        T::Real => (-1e10f32..1e10).prop_map(|f| Value::Float(f.into())).boxed(),
        T::Float => prop_oneof![(-1e30f64..1e30), (-10.0f64..10.0), Just(0.0), Just(-0.0)]
            .prop_map(Value::Float)
            .boxed(),
        T::Date => (0..=MAX_DAY).prop_map(Value::Date).boxed(),
        T::Time(s) => {
            (0..TICKS_PER_DAY - 10_000_000).prop_map(move |t| Value::Time(round_to_scale(t, s))).boxed()
        }
        T::DateTime => (25_920_000 * i64::from(DAY_1753)..25_920_000 * 3_652_059)
            .prop_map(|n| Value::DateTime(from_three_hundredths(n)))
            .boxed(),
        T::SmallDateTime => (i64::from(DAY_1900) * 1440..i64::from(DAY_2079) * 1440)
            .prop_map(|n| Value::DateTime(n * TICKS_PER_MINUTE))
            .boxed(),
        T::DateTime2(s) => {
            (0i64..3_652_058 * TICKS_PER_DAY).prop_map(move |t| Value::DateTime(round_to_scale(t, s))).boxed()
        }
        T::DateTimeOffset(s) => (0i64..3_652_058 * TICKS_PER_DAY, -840i16..=840)
            .prop_map(move |(t, o)| Value::DateTimeOffset(round_to_scale(t, s), o))
            .boxed(),
        T::Char(n) => padded(text(usize::from(n)).prop_map(narrow), n, |s| s.chars().count()),
        T::NChar(n) => padded(text(usize::from(n)), n, |s| s.encode_utf16().count()),
        T::VarChar(_) | T::Text => text(12).prop_map(narrow).prop_map(Value::str).boxed(),
        T::NVarChar(_) | T::NText | T::Xml | T::TypedXml(_) => text(12).prop_map(Value::str).boxed(),
        T::Binary(n) => binary(usize::from(n), usize::from(n)),
        T::RowVersion => binary(8, 8),
        T::VarBinary(_) | T::Image => binary(0, 6),
        T::UniqueIdentifier => any::<[u8; 16]>().prop_map(Value::Guid).boxed(),
        T::SqlVariant => {
            proptest::sample::select(vec![T::Int, T::VarChar(Length::Limited(20)), T::Date, T::Money])
                .prop_flat_map(|t| value_of(t).prop_map(move |v| Value::Variant(Arc::new((t, v)))))
                .boxed()
        }
        T::HierarchyId => proptest::collection::vec(-100i64..6000, 0..4).prop_map(path).boxed(),
        T::Geometry | T::Geography => Just(Value::bytes(*b"\x10\xE6\0\0\x01\x0C0123456789ABCDEF")).boxed(),
        T::Encrypted(_) => binary(65, 65),
        T::Null => Just(Value::Null).boxed(),
    }
}

fn path(levels: Vec<i64>) -> Value {
    let text: String = levels.iter().map(|label| format!("{label}/")).collect();
    let path = crate::hierarchyid::Path::parse(&format!("/{text}"));
    Value::bytes(path.ok().and_then(|p| p.bytes()).unwrap_or_default())
}

/// What the code page of the non-national types can hold.
fn narrow(s: String) -> String {
    cp1252::fit(&s).into_owned()
}

fn padded(
    text: impl Strategy<Value = String> + 'static,
    n: u16,
    count: fn(&str) -> usize,
) -> BoxedStrategy<Value> {
    text.prop_map(move |mut s| {
        while count(&s) > usize::from(n) {
            s.pop();
        }
        while count(&s) < usize::from(n) {
            s.push(' ');
        }
        Value::str(s)
    })
    .boxed()
}

fn binary(lo: usize, hi: usize) -> BoxedStrategy<Value> {
    proptest::collection::vec(prop_oneof![Just(0u8), Just(0xFF), any::<u8>()], lo..=hi)
        .prop_map(Value::bytes)
        .boxed()
}

/// Any type with a value of it.
pub fn typed_value() -> impl Strategy<Value = (SqlType, Value)> {
    any_type().prop_flat_map(|t| value_of(t).prop_map(move |v| (t, v)))
}

/// Two values, possibly NULL, of one type, with a collation.
pub fn pair_of_one_type() -> impl Strategy<Value = (SqlType, Collation, Value, Value)> {
    let or_null = |t: SqlType| prop_oneof![1 => Just(Value::Null), 9 => value_of(t)];
    any_type().prop_flat_map(move |t| {
        (Just(t), proptest::sample::select(Collation::samples()), or_null(t), or_null(t))
    })
}
