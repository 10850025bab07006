//! SQL values to the wire. The type's layout is chosen once per result set; a value is then one match and an append.

use keel_sql::ColumnMeta;
use keel_tds::Dialect;
use keel_tds::collation::WireCollation;
use keel_tds::dialect::LOB_BYTES;
use keel_tds::request::rpc::ParameterFlags;
use keel_tds::text;
use keel_tds::token::encryption::{Crypto, Key, KeyId, KeyValue};
use keel_tds::token::{Column, ColumnFlags};
use keel_tds::type_info::{Fixed, MAX, TypeInfo, UdtColumn};
use keel_tds::value::{self, Place};
use keel_types::cast::{Cast, to_text};
use keel_types::collation::pages;
use keel_types::datetime::{DAY_1900, TICKS_PER_DAY, TICKS_PER_MINUTE, to_three_hundredths};
use keel_types::ty::encrypted::Scheme;
use keel_types::{Collation, Length, SqlType, Value};
use smol_str::SmolStr;

/// User type of rowversion columns: the only one clients look at.
const USER_TYPE_ROWVERSION: u32 = 80;
const VARIANT_BYTES: u32 = 8009;
/// Column encryption keys are not changed: what is, is what opens them.
const COLUMN_KEY_VERSION: u32 = 1;
/// 1/300 s in a day.
const THREE_HUNDREDTHS_PER_DAY: i64 = 300 * 86_400;

/// The collation as sent in metadata.
#[must_use]
pub fn wire_collation(collation: Collation) -> WireCollation {
    WireCollation { info: collation.wire_info(), sort_id: collation.sort_id() }
}

/// The wire type of a SQL type. Types that cannot be NULL have forms of their own, without a length per value.
#[must_use]
pub fn wire_type(ty: SqlType, collation: Collation, nullable: bool) -> TypeInfo {
    let fixed = |fixed: Fixed, or: TypeInfo| if nullable { or } else { TypeInfo::Fixed(fixed) };
    let c = wire_collation(collation);
    match ty {
        SqlType::Bit => fixed(Fixed::Bit, TypeInfo::BitN),
        SqlType::TinyInt => fixed(Fixed::Int1, TypeInfo::IntN(1)),
        SqlType::SmallInt => fixed(Fixed::Int2, TypeInfo::IntN(2)),
        SqlType::Int => fixed(Fixed::Int4, TypeInfo::IntN(4)),
        SqlType::Null => TypeInfo::IntN(4),
        SqlType::BigInt => fixed(Fixed::Int8, TypeInfo::IntN(8)),
        SqlType::Decimal { precision, scale } => TypeInfo::Decimal { numeric: false, precision, scale },
        SqlType::Numeric { precision, scale } => TypeInfo::Decimal { numeric: true, precision, scale },
        SqlType::Money => fixed(Fixed::Money8, TypeInfo::MoneyN(8)),
        SqlType::SmallMoney => fixed(Fixed::Money4, TypeInfo::MoneyN(4)),
        SqlType::Real => fixed(Fixed::Float4, TypeInfo::FloatN(4)),
        SqlType::Float => fixed(Fixed::Float8, TypeInfo::FloatN(8)),
        SqlType::Date => TypeInfo::DateN,
        SqlType::Time(s) => TypeInfo::TimeN(s),
        SqlType::DateTime => fixed(Fixed::DateTime8, TypeInfo::DateTimeN(8)),
        SqlType::SmallDateTime => fixed(Fixed::DateTime4, TypeInfo::DateTimeN(4)),
        SqlType::DateTime2(s) => TypeInfo::DateTime2N(s),
        SqlType::DateTimeOffset(s) => TypeInfo::DateTimeOffsetN(s),
        SqlType::Char(n) => TypeInfo::Char(n, c),
        SqlType::VarChar(Length::Limited(n)) => TypeInfo::VarChar(n, c),
        SqlType::VarChar(Length::Max) => TypeInfo::VarChar(MAX, c),
        SqlType::NChar(n) => TypeInfo::NChar(n.saturating_mul(2), c),
        SqlType::NVarChar(Length::Limited(n)) => TypeInfo::NVarChar(n.saturating_mul(2), c),
        SqlType::NVarChar(Length::Max) => TypeInfo::NVarChar(MAX, c),
        SqlType::Text => TypeInfo::Text(LOB_BYTES, c),
        SqlType::NText => TypeInfo::NText(LOB_BYTES - 1, c),
        SqlType::Image => TypeInfo::Image(LOB_BYTES),
        SqlType::Binary(n) => TypeInfo::Binary(n),
        SqlType::RowVersion if nullable => TypeInfo::VarBinary(8),
        SqlType::RowVersion => TypeInfo::Binary(8),
        SqlType::VarBinary(Length::Limited(n)) => TypeInfo::VarBinary(n),
        SqlType::VarBinary(Length::Max) => TypeInfo::VarBinary(MAX),
        SqlType::UniqueIdentifier => TypeInfo::Guid,
        SqlType::SqlVariant => TypeInfo::Variant(VARIANT_BYTES),
        SqlType::Xml => TypeInfo::Xml(None),
        SqlType::TypedXml(of) => TypeInfo::Xml(keel_sql::sink::xml_collection(of).map(Box::new)),
        SqlType::Encrypted(e) => wire_type(e.scheme().cipher(), collation, nullable),
        SqlType::HierarchyId => clr_type(ty, "SqlHierarchyId"),
        SqlType::Geometry => clr_type(ty, "SqlGeometry"),
        SqlType::Geography => clr_type(ty, "SqlGeography"),
    }
}

/// A type whose values clients read with the library `Microsoft.SqlServer.Types`.
fn clr_type(ty: SqlType, class: &str) -> TypeInfo {
    TypeInfo::UdtColumn(Box::new(UdtColumn {
        max_bytes: u16::try_from(ty.max_length_bytes()).unwrap_or(MAX),
        name: ["master".to_owned(), "sys".to_owned(), ty.name().to_owned()],
        assembly: format!(
            "Microsoft.SqlServer.Types.{class}, Microsoft.SqlServer.Types, Version=11.0.0.0, Culture=neutral, PublicKeyToken=89845dcd8080cc91"
        ),
    }))
}

/// A column's metadata for the wire.
#[must_use]
pub fn wire_column(meta: &ColumnMeta, dialect: Dialect) -> Column {
    let flags = ColumnFlags::empty()
        .with_if(ColumnFlags::NULLABLE, meta.nullable)
        .with_if(ColumnFlags::UPDATEABLE_UNKNOWN, meta.updatable)
        .with_if(ColumnFlags::IDENTITY, meta.identity)
        .with_if(ColumnFlags::COMPUTED, meta.computed || !(meta.updatable || meta.identity));
    let ty = dialect.column_type(wire_type(meta.ty, meta.collation, meta.nullable));
    Column {
        user_type: if meta.ty == SqlType::RowVersion { USER_TYPE_ROWVERSION } else { 0 },
        flags,
        // Drivers want one part at least, and do nothing with it: results do not know their columns' tables.
        table: if ty.is_lob() { vec![String::new()] } else { Vec::new() },
        ty,
        crypto: meta.ty.scheme().map(|scheme| Box::new(crypto(scheme))),
        name: meta.name.as_str().to_owned(),
    }
}

/// What clients that encrypt are told of encrypted values.
fn crypto(scheme: &Scheme) -> Crypto {
    let key = &scheme.key;
    let value = |v: &keel_types::ty::encrypted::KeyValue| KeyValue {
        encrypted: v.encrypted.to_vec(),
        provider: v.provider.to_string(),
        path: v.path.to_string(),
        algorithm: v.algorithm.to_string(),
    };
    let id = KeyId {
        database: key.database_id,
        id: key.id.unsigned_abs(),
        version: COLUMN_KEY_VERSION,
        metadata_version: key.modified.to_le_bytes(),
    };
    Crypto {
        key: Some(Key { id, values: key.values.iter().map(value).collect() }),
        user_type: 0,
        ty: wire_type(scheme.plain, scheme.collation, true),
        kind: scheme.kind(),
    }
}

/// Appends a value as one of wire type `ty`. A value that its type cannot hold is an error of the layers below and
/// panics; the session thread turns that into an assertion failure of this one connection.
pub fn put_value(out: &mut Vec<u8>, ty: &TypeInfo, v: &Value, dialect: Dialect) {
    match (ty, v) {
        (TypeInfo::Variant(_), Value::Variant(inner)) => put_variant(out, inner.0, &inner.1, dialect),
        (ty, Value::Null) => value::put_null(out, ty, Place::Row),
        (TypeInfo::Fixed(_), v) => put_bare(out, ty, v),
        (ty, v) if ty.is_plp() => value::put_plp(out, |out| put_bare(out, ty, v)),
        (
            TypeInfo::NVarChar(..)
            | TypeInfo::VarChar(..)
            | TypeInfo::NChar(..)
            | TypeInfo::Char(..)
            | TypeInfo::VarBinary(_)
            | TypeInfo::Binary(_),
            v,
        ) => value::put_u16_sized(out, |out| put_bare(out, ty, v)),
        (ty, v) if ty.is_lob() => value::put_lob(out, Place::Row, |out| put_bare(out, ty, v)),
        (ty, v) => {
            let at = out.len();
            out.push(0);
            put_bare(out, ty, v);
            out[at] = u8::try_from(out.len() - at - 1).expect("types with a length byte are short");
        }
    }
}

/// Appends the type and the value of an output parameter or of a function. What the dialect's type cannot hold is cut off.
/// Of an encrypted one a client that encrypts is told how.
pub fn put_returned(out: &mut Vec<u8>, ty: SqlType, v: &Value, (dialect, encrypts): (Dialect, bool)) {
    let crypto = ty.scheme().filter(|_| encrypts).map(|scheme| Crypto { key: None, ..crypto(scheme) });
    let ty = dialect.returned_type(wire_type(ty, Collation::default(), true));
    ty.encode(out, dialect);
    if let Some(crypto) = crypto {
        crypto.put(out, &[], dialect);
    }
    match &ty {
        TypeInfo::VarChar(most, _) | TypeInfo::NVarChar(most, _) | TypeInfo::VarBinary(most)
            if *most != MAX && !v.is_null() =>
        {
            value::put_u16_sized(out, |out| {
                let start = out.len();
                put_bare(out, &ty, v);
                out.truncate(start + usize::from(*most));
            });
        }
        ty => put_value(out, ty, v, dialect),
    }
}

/// Appends a parameter of a call to another server: name, flags, type and value.
pub fn put_parameter(
    out: &mut Vec<u8>,
    name: &str,
    flags: ParameterFlags,
    ty: SqlType,
    v: &Value,
    dialect: Dialect,
) {
    keel_tds::bytes::put_b_varchar(out, name);
    out.push(flags.0);
    let ty = wire_type(ty, Collation::default(), true);
    ty.encode(out, dialect);
    match v {
        Value::Null => value::put_null(out, &ty, Place::Parameter),
        v => put_value(out, &ty, v, dialect),
    }
}

/// The bytes of a value without any length before them.
fn put_bare(out: &mut Vec<u8>, ty: &TypeInfo, v: &Value) {
    match (ty, v) {
        (TypeInfo::Fixed(Fixed::Int4) | TypeInfo::IntN(4), Value::Int(n)) => {
            out.extend_from_slice(&integer::<i32>(*n).to_le_bytes());
        }
        (TypeInfo::Fixed(Fixed::Int8) | TypeInfo::IntN(8), Value::Int(n)) => {
            out.extend_from_slice(&n.to_le_bytes())
        }
        (TypeInfo::Fixed(Fixed::Int2) | TypeInfo::IntN(2), Value::Int(n)) => {
            out.extend_from_slice(&integer::<i16>(*n).to_le_bytes());
        }
        (TypeInfo::Fixed(Fixed::Int1) | TypeInfo::IntN(1), Value::Int(n)) => out.push(integer::<u8>(*n)),
        (TypeInfo::Fixed(Fixed::Bit) | TypeInfo::BitN, Value::Bit(b)) => out.push((*b).into()),
        (TypeInfo::Fixed(Fixed::Bit) | TypeInfo::BitN, Value::Int(n)) => out.push((*n != 0).into()),
        (TypeInfo::Fixed(Fixed::Float8) | TypeInfo::FloatN(8), Value::Float(f)) => {
            out.extend_from_slice(&f.to_le_bytes());
        }
        #[allow(clippy::cast_possible_truncation, reason = "reals are kept rounded to f32")]
        (TypeInfo::Fixed(Fixed::Float4) | TypeInfo::FloatN(4), Value::Float(f)) => {
            out.extend_from_slice(&(*f as f32).to_le_bytes());
        }
        (TypeInfo::Fixed(Fixed::Money8) | TypeInfo::MoneyN(8), Value::Money(m)) => value::put_money8(out, *m),
        (TypeInfo::Fixed(Fixed::Money4) | TypeInfo::MoneyN(4), Value::Money(m)) => value::put_money4(out, *m),
        (TypeInfo::Decimal { precision, scale, .. }, Value::Decimal(d)) => {
            let mantissa = rescale(d.mantissa(), d.scale, *scale);
            value::put_decimal(out, mantissa < 0, mantissa.unsigned_abs(), *precision);
        }
        (TypeInfo::Decimal { precision, .. }, Value::Int(n)) => {
            value::put_decimal(out, *n < 0, n.unsigned_abs().into(), *precision);
        }
        (TypeInfo::DateN, Value::Date(days)) => value::put_date(out, unsigned(*days)),
        (TypeInfo::TimeN(s), Value::Time(ticks)) => value::put_time(out, unsigned64(*ticks), *s),
        (TypeInfo::Fixed(Fixed::DateTime8) | TypeInfo::DateTimeN(8), Value::DateTime(t)) => {
            put_datetime(out, *t)
        }
        (TypeInfo::Fixed(Fixed::DateTime4) | TypeInfo::DateTimeN(4), Value::DateTime(t)) => {
            let (day, time) = split(*t);
            out.extend_from_slice(&integer::<u16>(i64::from(day - DAY_1900)).to_le_bytes());
            out.extend_from_slice(&integer::<u16>(time / TICKS_PER_MINUTE).to_le_bytes());
        }
        (TypeInfo::DateTime2N(s), Value::DateTime(t)) => {
            let (day, time) = split(*t);
            value::put_time(out, unsigned64(time), *s);
            value::put_date(out, unsigned(day));
        }
        (TypeInfo::DateTimeOffsetN(s), Value::DateTimeOffset(t, offset)) => {
            let (day, time) = split(*t);
            value::put_time(out, unsigned64(time), *s);
            value::put_date(out, unsigned(day));
            out.extend_from_slice(&offset.to_le_bytes());
        }
        (TypeInfo::Guid, Value::Guid(bytes)) => out.extend_from_slice(bytes),
        (
            TypeInfo::NVarChar(..) | TypeInfo::NChar(..) | TypeInfo::NText(..) | TypeInfo::Xml(_),
            Value::Str(s),
        ) => {
            text::put_utf16le(out, s);
        }
        (TypeInfo::Char(bytes, c), Value::Str(s)) => {
            let start = out.len();
            put_paged(out, s, *c);
            // A column is filled up to as many characters as its type has bytes; of those of more than one byte there are fewer.
            while out.len() - start > usize::from(*bytes) && out.last() == Some(&b' ') {
                out.pop();
            }
        }
        (TypeInfo::VarChar(_, c) | TypeInfo::Text(_, c), Value::Str(s)) => put_paged(out, s, *c),
        (
            TypeInfo::VarBinary(_) | TypeInfo::Binary(_) | TypeInfo::Image(_) | TypeInfo::UdtColumn(_),
            Value::Bytes(b),
        ) => out.extend_from_slice(b),
        (TypeInfo::NVarChar(bytes, _), v) => text::put_utf16le(out, &written(v, *bytes / 2)),
        (ty, v) => panic!("a value {v:?} cannot be sent as {ty:?}"),
    }
}

/// The text of a value whose type the client's dialect has not. Of dates and times it is as long as their column says, which tells how
/// many digits there are.
fn written(v: &Value, units: u16) -> SmolStr {
    let scale = |whole: u16| u8::try_from(units.saturating_sub(whole + 1)).map_or(7, |digits| digits.min(7));
    let ty = match v {
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time(scale(8)),
        Value::DateTime(_) => SqlType::DateTime2(scale(19)),
        Value::DateTimeOffset(..) => SqlType::DateTimeOffset(scale(26)),
        Value::Variant(_) => SqlType::SqlVariant,
        v => panic!("a value {v:?} cannot be sent as text"),
    };
    to_text(v, ty, Cast::NO_STYLE).expect("dates and times have a text of their own")
}

/// Text in a collation's code page.
fn put_paged(out: &mut Vec<u8>, s: &str, c: WireCollation) {
    if c.is_utf8() {
        out.extend_from_slice(s.as_bytes());
    } else if s.is_ascii() || c == WireCollation::LATIN1_CI_AS {
        text::put_cp1252(out, s);
    } else {
        pages::encode(out, s, Collation::page_of_wire(c.info, c.sort_id));
    }
}

fn integer<T: TryFrom<i64>>(n: i64) -> T {
    T::try_from(n).unwrap_or_else(|_| panic!("integer {n} is out of its type's range"))
}

fn unsigned(days: i32) -> u32 {
    u32::try_from(days).expect("dates start at 0001-01-01")
}

fn unsigned64(ticks: i64) -> u64 {
    u64::try_from(ticks).expect("times of day are not negative")
}

fn split(ticks: i64) -> (i32, i64) {
    let day = i32::try_from(ticks.div_euclid(TICKS_PER_DAY)).expect("dates end at 9999-12-31");
    (day, ticks.rem_euclid(TICKS_PER_DAY))
}

fn put_datetime(out: &mut Vec<u8>, ticks: i64) {
    let (mut day, time) = split(ticks);
    let mut parts = to_three_hundredths(time);
    if parts >= THREE_HUNDREDTHS_PER_DAY {
        (day, parts) = (day + 1, 0);
    }
    value::put_datetime(out, day - DAY_1900, u32::try_from(parts).expect("less than a day"));
}

/// Decimals are normally at their column's scale already.
fn rescale(mantissa: i128, from: u8, to: u8) -> i128 {
    match from.cmp(&to) {
        std::cmp::Ordering::Equal => mantissa,
        std::cmp::Ordering::Less => mantissa * 10i128.pow(u32::from(to - from)),
        std::cmp::Ordering::Greater => mantissa / 10i128.pow(u32::from(from - to)),
    }
}

fn put_variant(out: &mut Vec<u8>, base: SqlType, v: &Value, dialect: Dialect) {
    if v.is_null() {
        out.extend_from_slice(&[0; 4]);
        return;
    }
    let ty = dialect.column_type(wire_type(base, Collation::default(), false));
    value::put_variant(out, &ty, |out| put_bare(out, &ty, v));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;
    use keel_tds::Data;
    use keel_tds::bytes::Reader;
    use keel_types::Decimal;
    use std::sync::Arc;

    #[test]
    fn a_column_of_characters_is_as_long_as_it_says() {
        for (collation, text) in
            [("Latin1_General_100_CI_AI_SC_UTF8", "Grüße"), ("Chinese_PRC_CI_AS", "中文")]
        {
            let collation = Collation::by_name(collation).expect("known");
            let wire = wire_type(SqlType::Char(8), collation, true);
            let mut out = Vec::new();
            put_bare(&mut out, &wire, &Value::str(format!("{text:<8}")));
            assert_eq!(out.len(), 8, "{text}");
        }
    }

    /// Out to the wire and back again.
    fn check(ty: SqlType, v: Value) {
        for nullable in [true, false] {
            let wire = wire_type(ty, Collation::default(), nullable);
            let mut out = Vec::new();
            put_value(&mut out, &wire, &v, Dialect::default());
            let data = Data::decode(&mut Reader::new(&out), &wire, Place::Row).expect("what we wrote");
            let (_, back) = decode::value(&wire, data).expect("a scalar");
            assert_eq!(format!("{back:?}"), format!("{v:?}"), "{ty:?}");
        }
    }

    #[test]
    fn values_go_out_and_come_back() {
        check(SqlType::Bit, Value::Bit(true));
        check(SqlType::TinyInt, Value::Int(255));
        check(SqlType::SmallInt, Value::Int(-32768));
        check(SqlType::Int, Value::Int(i32::MIN.into()));
        check(SqlType::BigInt, Value::Int(i64::MAX));
        check(SqlType::Decimal { precision: 38, scale: 4 }, Value::Decimal(Decimal::new(-123_456, 4)));
        check(SqlType::Money, Value::Money(-12_345));
        check(SqlType::SmallMoney, Value::Money(12_345));
        check(SqlType::Real, Value::Float(1.5));
        check(SqlType::Float, Value::Float(-1e300));
        check(SqlType::Date, Value::Date(738_000));
        check(SqlType::Time(7), Value::Time(863_999_999_999));
        check(SqlType::DateTime, Value::DateTime(i64::from(DAY_1900) * TICKS_PER_DAY));
        check(
            SqlType::SmallDateTime,
            Value::DateTime(i64::from(DAY_1900) * TICKS_PER_DAY + TICKS_PER_MINUTE),
        );
        check(SqlType::DateTime2(7), Value::DateTime(1));
        check(SqlType::DateTimeOffset(7), Value::DateTimeOffset(TICKS_PER_DAY, -90));
        check(SqlType::VarChar(Length::Limited(10)), Value::str("é€"));
        check(SqlType::NVarChar(Length::Max), Value::str("漢字😀"));
        check(SqlType::NVarChar(Length::Max), Value::str(""));
        check(SqlType::VarBinary(Length::Max), Value::bytes(&[1u8, 2, 3][..]));
        check(SqlType::Text, Value::str("text"));
        check(SqlType::UniqueIdentifier, Value::Guid([7; 16]));
        check(SqlType::SqlVariant, Value::Variant(Arc::new((SqlType::Int, Value::Int(5)))));
    }

    #[test]
    fn long_columns_have_a_table_name_of_one_part() {
        for (ty, parts) in [(SqlType::Image, 1), (SqlType::Text, 1), (SqlType::NText, 1), (SqlType::Int, 0)] {
            let meta = ColumnMeta::new("c", ty);
            assert_eq!(wire_column(&meta, Dialect::V7_4).table.len(), parts, "{ty:?}");
        }
    }
}
