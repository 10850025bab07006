//! The wire to SQL values: parameters, bulk rows, table-valued parameters.

use std::borrow::Cow;
use std::sync::Arc;

use keel_sql::{Cell, RpcParam, RpcValue, TvpName};
use keel_tds::collation::WireCollation;
use keel_tds::request::rpc::{Parameter, ParameterFlags};
use keel_tds::request::tvp::TableColumn;
use keel_tds::token::encryption::KeyId;
use keel_tds::type_info::{Fixed, MAX, TypeInfo, code};
use keel_tds::{Data, Dialect, text};
use keel_types::collation::pages;
use keel_types::datetime::{DAY_1900, TICKS_PER_DAY, TICKS_PER_MINUTE, from_three_hundredths};
use keel_types::error::Result;
use keel_types::ty::encrypted::{Scheme, may_be_encrypted, published_key};
use keel_types::{Collation, Decimal, Length, SqlError, SqlType, Value};
use smol_str::SmolStr;

/// Kind of encryption: equal values have different ciphertexts.
const RANDOMIZED: u8 = 2;

/// A call's parameter as the session takes it.
pub fn parameter(ordinal: usize, p: Parameter<'_>) -> Result<RpcParam> {
    let name = small_text(p.name_utf16);
    let output = p.flags.contains(ParameterFlags::BY_REF);
    if let Data::Table(table) = p.value {
        let TypeInfo::Table(type_name) = p.ty else { return Err(bad_parameter(ordinal, &name, &p.ty)) };
        let [_, schema, table_name] = *type_name;
        let bad = |ty: &TypeInfo| bad_parameter(ordinal, &name, ty);
        let column = |c: &TableColumn| match sql_type(&c.ty) {
            _ if c.is_default() => Ok(None),
            Some(ty) => Ok(Some(ty)),
            None => Err(bad(&c.ty)),
        };
        let columns = table.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        let mut rows = Vec::with_capacity(table.rows.len());
        for row in table.rows {
            let sent = row.into_iter().zip(&table.columns).filter(|(_, c)| !c.is_default());
            let row = sent.map(|(data, c)| value(&c.ty, data).map(|(_, v)| v).ok_or_else(|| bad(&c.ty)));
            rows.push(row.collect::<Result<Vec<_>>>()?);
        }
        let type_name = TvpName { schema, name: table_name };
        let value = RpcValue::Table { type_name, columns, rows };
        return Ok(RpcParam { name, ty: SqlType::Null, value, output });
    }
    if let TypeInfo::Table(type_name) = &p.ty {
        let [_, schema, table_name] = &**type_name;
        let type_name = TvpName { schema: schema.clone(), name: table_name.clone() };
        return Ok(RpcParam {
            name,
            ty: SqlType::Null,
            value: RpcValue::Table { type_name, columns: Vec::new(), rows: Vec::new() },
            output,
        });
    }
    let (ty, v) = value(&p.ty, p.value).ok_or_else(|| bad_parameter(ordinal, &name, &p.ty))?;
    let ty = match &p.cipher {
        Some(cipher) => encrypted_type(&cipher.ty, cipher.kind, cipher.key)
            .ok_or_else(|| bad_parameter(ordinal, &name, &cipher.ty))?,
        None => ty,
    };
    let default = p.flags.contains(ParameterFlags::DEFAULT);
    Ok(RpcParam { name, ty, value: if default { RpcValue::Default } else { RpcValue::Scalar(v) }, output })
}

/// The type of what a client has encrypted; `None` for a key or a type that there is not.
pub fn encrypted_type(plain: &TypeInfo, kind: u8, key: KeyId) -> Option<SqlType> {
    let plain = sql_type(plain).filter(|plain| may_be_encrypted(*plain))?;
    let key = published_key(key.database, i32::try_from(key.id).ok()?)?;
    Some(Scheme { plain, collation: Collation::default(), randomized: kind == RANDOMIZED, key }.sql_type())
}

fn small_text(utf16: &[u8]) -> SmolStr {
    if utf16.is_empty() { SmolStr::default() } else { text::from_utf16le(utf16).into() }
}

/// 8009 for a type that there is not, 8023 for a value that its type does not have.
fn bad_parameter(ordinal: usize, name: &str, ty: &TypeInfo) -> Box<SqlError> {
    let parameter = format!(
        "The incoming tabular data stream (TDS) remote procedure call (RPC) protocol stream is incorrect. \
         Parameter {ordinal} (\"{name}\")"
    );
    if let Some(known) = sql_type(ty) {
        let text = format!(
            "{parameter}: The supplied value is not a valid instance of data type {}. Check the source data for invalid values. \
             An example of an invalid value is data of numeric type with scale greater than precision.",
            known.name()
        );
        return SqlError::new(8023, 16, 1, text);
    }
    let mut bytes = Vec::new();
    ty.encode(&mut bytes, Dialect::default());
    SqlError::new(8009, 16, 10, format!("{parameter}: Data type 0x{:02X} is unknown.", bytes[0]))
}

/// A wire value for a bulk load: strings and bytes stay where they are, or are converted into `text`. `None` for what
/// has no meaning here.
pub fn cell<'a>(ty: &TypeInfo, data: Data<'a>, text: &'a mut String) -> Option<Cell<'a>> {
    match data {
        Data::Null => Some(Cell::Null),
        Data::Int(v) => Some(Cell::Value(Value::Int(v.into()))),
        Data::Char(Cow::Borrowed(bytes)) => match std::str::from_utf8(bytes) {
            Ok(s) if is_utf8(ty) || s.is_ascii() => Some(Cell::Text(s)),
            _ => {
                text.clear();
                text.push_str(&narrow(ty, bytes));
                Some(Cell::Text(text))
            }
        },
        Data::NChar(Cow::Borrowed(bytes)) => {
            text.clear();
            text::push_utf16le(text, without_mark(ty, bytes));
            Some(Cell::Text(text))
        }
        Data::Binary(Cow::Borrowed(bytes)) => Some(Cell::Binary(bytes)),
        data => value(ty, data).map(|(_, v)| Cell::Value(v)),
    }
}

/// A wire value and its SQL type; `None` for what has none (CLR types, tables).
#[must_use]
pub fn value(ty: &TypeInfo, data: Data<'_>) -> Option<(SqlType, Value)> {
    let sql_type = sql_type(ty)?;
    let v = match data {
        Data::Null => Value::Null,
        Data::Bit(v) => Value::Bit(v),
        Data::TinyInt(v) => Value::Int(v.into()),
        Data::SmallInt(v) => Value::Int(v.into()),
        Data::Int(v) => Value::Int(v.into()),
        Data::BigInt(v) => Value::Int(v),
        // Infinities and what is no number have no meaning either.
        Data::Real(v) => Value::Float(Some(f64::from(v)).filter(|v| v.is_finite())?),
        Data::Float(v) => Value::Float(Some(v).filter(|v| v.is_finite())?),
        Data::Money(v) => Value::Money(v),
        Data::DateTime { days, ticks } => {
            let day = i64::from(days) + i64::from(DAY_1900);
            // Out of the calendar: such a value has no meaning.
            if !(0..=3_652_058).contains(&day) || ticks >= 300 * 86_400 {
                return None;
            }
            Value::DateTime(day * TICKS_PER_DAY + from_three_hundredths(ticks.into()))
        }
        Data::SmallDateTime { days, minutes } => {
            if minutes >= 1440 {
                return None;
            }
            let day = i64::from(days) + i64::from(DAY_1900);
            Value::DateTime(day * TICKS_PER_DAY + i64::from(minutes) * TICKS_PER_MINUTE)
        }
        Data::Date(days) => Value::Date(i32::try_from(days).ok()?),
        Data::Time(ticks) => Value::Time(i64::try_from(ticks).ok()?),
        Data::DateTime2 { days, time } => Value::DateTime(ticks(days, time)?),
        Data::DateTimeOffset { days, time, offset } => Value::DateTimeOffset(ticks(days, time)?, offset),
        Data::Guid(v) => Value::Guid(v),
        Data::Decimal { negative, magnitude, scale } => {
            let mantissa = i128::try_from(magnitude).ok()?;
            Value::Decimal(Decimal::new(if negative { -mantissa } else { mantissa }, scale))
        }
        Data::Char(bytes) => Value::Str(narrow(ty, &bytes)),
        Data::NChar(bytes) => Value::Str(wide(ty, &bytes)),
        Data::Binary(bytes) => Value::Bytes(Arc::from(&*bytes)),
        Data::Variant(inner) => {
            let (base, v) = value(&inner.0, inner.1)?;
            Value::Variant(Arc::new((base, v)))
        }
        Data::Table(_) => return None,
    };
    Some((sql_type, padded(sql_type, v)))
}

/// A value of a type of fixed length has that length, however much of it was sent.
fn padded(ty: SqlType, v: Value) -> Value {
    let with_blanks = |s: &str, units: usize, length: u16| {
        let missing = usize::from(length).saturating_sub(units);
        (missing > 0).then(|| Value::str(format!("{s}{:missing$}", "")))
    };
    let longer = match (ty, &v) {
        (SqlType::Char(n), Value::Str(s)) => with_blanks(s, s.chars().count(), n),
        (SqlType::NChar(n), Value::Str(s)) => with_blanks(s, s.encode_utf16().count(), n),
        (SqlType::Binary(n), Value::Bytes(b)) if b.len() < usize::from(n) => {
            let mut bytes = b.to_vec();
            bytes.resize(n.into(), 0);
            Some(Value::bytes(bytes))
        }
        _ => None,
    };
    longer.unwrap_or(v)
}

fn ticks(days: u32, time: u64) -> Option<i64> {
    Some(i64::from(days) * TICKS_PER_DAY + i64::try_from(time).ok()?)
}

fn narrow(ty: &TypeInfo, bytes: &[u8]) -> SmolStr {
    if is_utf8(ty) || bytes.is_ascii() {
        String::from_utf8_lossy(bytes).into()
    } else {
        let page = match ty {
            TypeInfo::VarChar(_, c) | TypeInfo::Char(_, c) | TypeInfo::Text(_, c) => {
                Collation::page_of_wire(c.info, c.sort_id)
            }
            _ => pages::LATIN1,
        };
        pages::decode(bytes, page).into()
    }
}

fn is_utf8(ty: &TypeInfo) -> bool {
    match ty {
        TypeInfo::VarChar(_, c) | TypeInfo::Char(_, c) | TypeInfo::Text(_, c) => c.is_utf8(),
        _ => false,
    }
}

/// XML may come with a byte order mark.
fn without_mark<'a>(ty: &TypeInfo, bytes: &'a [u8]) -> &'a [u8] {
    match (ty, bytes) {
        (TypeInfo::Xml(_), [0xFF, 0xFE, rest @ ..]) => rest,
        _ => bytes,
    }
}

fn wide(ty: &TypeInfo, bytes: &[u8]) -> SmolStr {
    let bytes = without_mark(ty, bytes);
    // Short ASCII, which most keys and names are, needs no allocation at all.
    if bytes.len() <= 46 && bytes.chunks_exact(2).all(|u| u[1] == 0 && u[0].is_ascii()) {
        let mut ascii = [0u8; 23];
        let units = bytes.len() / 2;
        for (to, from) in ascii.iter_mut().zip(bytes.chunks_exact(2)) {
            *to = from[0];
        }
        return SmolStr::new(std::str::from_utf8(&ascii[..units]).expect("checked to be ASCII"));
    }
    text::from_utf16le(bytes).into()
}

/// The SQL type of a value that a client sends; `None` for tables. Its xml is text like any other until it is
/// converted: nobody has looked yet whether it is xml.
#[must_use]
pub fn sql_type(ty: &TypeInfo) -> Option<SqlType> {
    let limited = |bytes: u16| Length::Limited(bytes.max(1));
    let national = |bytes: u16| (bytes / 2).max(1);
    Some(match ty {
        TypeInfo::Fixed(Fixed::Null) => SqlType::Null,
        TypeInfo::Fixed(Fixed::Bit) | TypeInfo::BitN => SqlType::Bit,
        TypeInfo::Fixed(Fixed::Int1) | TypeInfo::IntN(1) => SqlType::TinyInt,
        TypeInfo::Fixed(Fixed::Int2) | TypeInfo::IntN(2) => SqlType::SmallInt,
        TypeInfo::Fixed(Fixed::Int4) | TypeInfo::IntN(4) => SqlType::Int,
        TypeInfo::Fixed(Fixed::Int8) | TypeInfo::IntN(_) => SqlType::BigInt,
        TypeInfo::Fixed(Fixed::Float4) | TypeInfo::FloatN(4) => SqlType::Real,
        TypeInfo::Fixed(Fixed::Float8) | TypeInfo::FloatN(_) => SqlType::Float,
        TypeInfo::Fixed(Fixed::Money4) | TypeInfo::MoneyN(4) => SqlType::SmallMoney,
        TypeInfo::Fixed(Fixed::Money8) | TypeInfo::MoneyN(_) => SqlType::Money,
        TypeInfo::Fixed(Fixed::DateTime4) | TypeInfo::DateTimeN(4) => SqlType::SmallDateTime,
        TypeInfo::Fixed(Fixed::DateTime8) | TypeInfo::DateTimeN(_) => SqlType::DateTime,
        TypeInfo::Guid => SqlType::UniqueIdentifier,
        TypeInfo::Decimal { numeric: false, precision, scale } => {
            SqlType::Decimal { precision: *precision, scale: *scale }
        }
        TypeInfo::Decimal { numeric: true, precision, scale } => {
            SqlType::Numeric { precision: *precision, scale: *scale }
        }
        TypeInfo::DateN => SqlType::Date,
        TypeInfo::TimeN(s) => SqlType::Time(*s),
        TypeInfo::DateTime2N(s) => SqlType::DateTime2(*s),
        TypeInfo::DateTimeOffsetN(s) => SqlType::DateTimeOffset(*s),
        TypeInfo::Binary(n) => SqlType::Binary((*n).max(1)),
        TypeInfo::VarBinary(MAX) => SqlType::VarBinary(Length::Max),
        TypeInfo::VarBinary(n) => SqlType::VarBinary(limited(*n)),
        TypeInfo::Char(n, _) => SqlType::Char((*n).max(1)),
        TypeInfo::VarChar(MAX, _) => SqlType::VarChar(Length::Max),
        TypeInfo::VarChar(n, _) => SqlType::VarChar(limited(*n)),
        TypeInfo::NChar(n, _) => SqlType::NChar(national(*n)),
        TypeInfo::NVarChar(MAX, _) | TypeInfo::Xml(_) => SqlType::NVarChar(Length::Max),
        TypeInfo::NVarChar(n, _) => SqlType::NVarChar(Length::Limited(national(*n))),
        TypeInfo::Legacy(code::CHAR, n) => SqlType::Char(u16::from(*n).max(1)),
        TypeInfo::Legacy(code::VARCHAR, n) => SqlType::VarChar(limited((*n).into())),
        TypeInfo::Legacy(code::BINARY, n) => SqlType::Binary(u16::from(*n).max(1)),
        TypeInfo::Legacy(_, n) => SqlType::VarBinary(limited((*n).into())),
        TypeInfo::Text(..) => SqlType::Text,
        TypeInfo::NText(..) => SqlType::NText,
        TypeInfo::Image(_) => SqlType::Image,
        TypeInfo::Variant(_) => SqlType::SqlVariant,
        // The bytes of a CLR type; they are looked at when they are converted to it.
        TypeInfo::Udt(_) | TypeInfo::UdtColumn(_) => SqlType::VarBinary(Length::Max),
        TypeInfo::Table(_) => return None,
    })
}

/// The default collation, for callers that describe values without a column.
pub const DEFAULT_COLLATION: WireCollation = WireCollation::LATIN1_CI_AS;
