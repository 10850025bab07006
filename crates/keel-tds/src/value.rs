//! Data as laid out by its type (2.2.5.5, TYPE_VARBYTE): decoded for whoever receives it, and primitives to write it.
//!
//! Decoding borrows from the message; only chunked values of more than one chunk are copied. The server encodes rows
//! with the `put_*` functions straight from its own values; [`Data::encode`] serves clients and tests.

use std::borrow::Cow;

use crate::bytes::{Reader, patch_u32};
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::limits::PLP_BYTES_MAX;
use crate::request::tvp::Table;
use crate::type_info::{Fixed, MAX, TypeInfo, code, decimal_bytes, time_bytes};

const PLP_NULL: u64 = u64::MAX;
const PLP_UNKNOWN_LENGTH: u64 = u64::MAX - 1;
pub(crate) const CHARBIN_NULL: u16 = 0xFFFF;
/// How long a chunk of a chunked value we write: the product's own choice for values it streams.
const PLP_CHUNK_BYTES: usize = 1 << 20;

/// One value. Its type is known to whoever holds it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Data<'a> {
    /// NULL of any type.
    #[default]
    Null,
    /// bit
    Bit(bool),
    /// tinyint
    TinyInt(u8),
    /// smallint
    SmallInt(i16),
    /// int
    Int(i32),
    /// bigint
    BigInt(i64),
    /// real
    Real(f32),
    /// float
    Float(f64),
    /// money and smallmoney, in ten-thousandths
    Money(i64),
    /// datetime: days since 1900-01-01 and 1/300 s since midnight
    DateTime {
        /// Days.
        days: i32,
        /// 1/300 s.
        ticks: u32,
    },
    /// smalldatetime: days since 1900-01-01 and minutes since midnight
    SmallDateTime {
        /// Days.
        days: u16,
        /// Minutes.
        minutes: u16,
    },
    /// date: days since 0001-01-01
    Date(u32),
    /// time: 100 ns since midnight, whatever the scale
    Time(u64),
    /// datetime2
    DateTime2 {
        /// Days since 0001-01-01.
        days: u32,
        /// 100 ns since midnight.
        time: u64,
    },
    /// datetimeoffset; days and time are UTC
    DateTimeOffset {
        /// Days since 0001-01-01.
        days: u32,
        /// 100 ns since midnight.
        time: u64,
        /// Minutes east of UTC.
        offset: i16,
    },
    /// uniqueidentifier in wire order
    Guid([u8; 16]),
    /// decimal, numeric
    Decimal {
        /// Below zero.
        negative: bool,
        /// Digits without the point, below 10^38.
        magnitude: u128,
        /// Digits after the point.
        scale: u8,
    },
    /// char, varchar, text: in the code page of the collation
    Char(Cow<'a, [u8]>),
    /// nchar, nvarchar, ntext, xml: UTF-16LE
    NChar(Cow<'a, [u8]>),
    /// binary, varbinary, image, and the bytes of a CLR type
    Binary(Cow<'a, [u8]>),
    /// sql_variant that is not NULL: base type and value
    Variant(Box<(TypeInfo, Data<'a>)>),
    /// A table-valued parameter
    Table(Box<Table<'a>>),
}

/// Where a value stands: text, ntext and image are laid out differently in rows and parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a ROW or NBCROW token.
    Row,
    /// In a remote procedure call or a table-valued parameter.
    Parameter,
}

impl<'a> Data<'a> {
    /// Reads a value of type `ty`.
    pub fn decode(r: &mut Reader<'a>, ty: &TypeInfo, place: Place) -> Result<Data<'a>> {
        match ty {
            TypeInfo::Fixed(fixed) => decode_fixed(r, *fixed),
            TypeInfo::Guid
            | TypeInfo::IntN(_)
            | TypeInfo::BitN
            | TypeInfo::FloatN(_)
            | TypeInfo::MoneyN(_)
            | TypeInfo::DateTimeN(_)
            | TypeInfo::Decimal { .. }
            | TypeInfo::DateN
            | TypeInfo::TimeN(_)
            | TypeInfo::DateTime2N(_)
            | TypeInfo::DateTimeOffsetN(_)
            | TypeInfo::Legacy(..) => match r.b_varbyte()? {
                // Legacy types have no empty value either: length 0 is NULL.
                [] => Ok(Data::Null),
                bytes => decode_bare(bytes, ty),
            },
            TypeInfo::VarBinary(MAX)
            | TypeInfo::VarChar(MAX, _)
            | TypeInfo::NVarChar(MAX, _)
            | TypeInfo::Xml(_)
            | TypeInfo::Udt(_)
            | TypeInfo::UdtColumn(_) => {
                Ok(decode_plp(r)?.map_or(Data::Null, |bytes| text_or_binary(ty, bytes)))
            }
            TypeInfo::Binary(_)
            | TypeInfo::VarBinary(_)
            | TypeInfo::Char(..)
            | TypeInfo::VarChar(..)
            | TypeInfo::NChar(..)
            | TypeInfo::NVarChar(..) => match r.u16()? {
                CHARBIN_NULL => Ok(Data::Null),
                length => Ok(text_or_binary(ty, Cow::Borrowed(r.take(length.into())?))),
            },
            TypeInfo::Text(..) | TypeInfo::NText(..) | TypeInfo::Image(_) => decode_lob(r, ty, place),
            TypeInfo::Variant(_) => decode_variant(r),
            TypeInfo::Table(_) => Ok(Table::decode(r)?.map_or(Data::Null, |t| Data::Table(Box::new(t)))),
        }
    }

    /// Appends this value as one of type `ty`. The caller's value fits the type; a mismatch is a programmer's error.
    pub fn encode(&self, out: &mut Vec<u8>, ty: &TypeInfo, place: Place) {
        match (ty, self) {
            (TypeInfo::Fixed(Fixed::Null), _) => {}
            (TypeInfo::Fixed(_), _) => self.put_bare(out, ty),
            (TypeInfo::Table(_), Data::Table(table)) => table.encode(out),
            (TypeInfo::Table(_), _) => Table::encode_null(out),
            (TypeInfo::Variant(_), Data::Variant(inner)) => {
                put_variant(out, &inner.0, |out| inner.1.put_bare(out, &inner.0))
            }
            (TypeInfo::Variant(_), _) => out.extend_from_slice(&[0; 4]),
            (ty, Data::Null) => put_null(out, ty, place),
            (ty, value) if ty.is_plp() => put_plp(out, |out| value.put_bare(out, ty)),
            (ty, value) if ty.is_lob() => put_lob(out, place, |out| value.put_bare(out, ty)),
            (
                TypeInfo::Binary(_)
                | TypeInfo::VarBinary(_)
                | TypeInfo::Char(..)
                | TypeInfo::VarChar(..)
                | TypeInfo::NChar(..)
                | TypeInfo::NVarChar(..),
                value,
            ) => put_u16_sized(out, |out| value.put_bare(out, ty)),
            (_, value) => {
                let at = out.len();
                out.push(0);
                value.put_bare(out, ty);
                out[at] =
                    u8::try_from(out.len() - at - 1).expect("types with a length byte are at most 255 bytes");
            }
        }
    }

    /// The bytes of a value without any length before them.
    fn put_bare(&self, out: &mut Vec<u8>, ty: &TypeInfo) {
        match self {
            Data::Null => {}
            Data::Bit(v) => out.push((*v).into()),
            Data::TinyInt(v) => out.push(*v),
            Data::SmallInt(v) => out.extend_from_slice(&v.to_le_bytes()),
            Data::Int(v) => out.extend_from_slice(&v.to_le_bytes()),
            Data::BigInt(v) => out.extend_from_slice(&v.to_le_bytes()),
            Data::Real(v) => out.extend_from_slice(&v.to_le_bytes()),
            Data::Float(v) => out.extend_from_slice(&v.to_le_bytes()),
            Data::Money(v) => match ty {
                TypeInfo::Fixed(Fixed::Money4) | TypeInfo::MoneyN(4) => put_money4(out, *v),
                _ => put_money8(out, *v),
            },
            Data::DateTime { days, ticks } => put_datetime(out, *days, *ticks),
            Data::SmallDateTime { days, minutes } => {
                out.extend_from_slice(&days.to_le_bytes());
                out.extend_from_slice(&minutes.to_le_bytes());
            }
            Data::Date(days) => put_date(out, *days),
            Data::Time(time) => put_time(out, *time, scale_of(ty)),
            Data::DateTime2 { days, time } => {
                put_time(out, *time, scale_of(ty));
                put_date(out, *days);
            }
            Data::DateTimeOffset { days, time, offset } => {
                put_time(out, *time, scale_of(ty));
                put_date(out, *days);
                out.extend_from_slice(&offset.to_le_bytes());
            }
            Data::Guid(bytes) => out.extend_from_slice(bytes),
            Data::Decimal { negative, magnitude, .. } => {
                let precision = if let TypeInfo::Decimal { precision, .. } = ty { *precision } else { 38 };
                put_decimal(out, *negative, *magnitude, precision);
            }
            Data::Char(bytes) | Data::NChar(bytes) | Data::Binary(bytes) => out.extend_from_slice(bytes),
            Data::Variant(_) | Data::Table(_) => unreachable!("nested values are written by their types"),
        }
    }

    /// A copy that borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> Data<'static> {
        match self {
            Data::Char(bytes) => Data::Char(Cow::Owned(bytes.into_owned())),
            Data::NChar(bytes) => Data::NChar(Cow::Owned(bytes.into_owned())),
            Data::Binary(bytes) => Data::Binary(Cow::Owned(bytes.into_owned())),
            Data::Variant(inner) => Data::Variant(Box::new((inner.0, inner.1.into_owned()))),
            Data::Table(table) => Data::Table(Box::new(table.into_owned())),
            Data::Null => Data::Null,
            Data::Bit(v) => Data::Bit(v),
            Data::TinyInt(v) => Data::TinyInt(v),
            Data::SmallInt(v) => Data::SmallInt(v),
            Data::Int(v) => Data::Int(v),
            Data::BigInt(v) => Data::BigInt(v),
            Data::Real(v) => Data::Real(v),
            Data::Float(v) => Data::Float(v),
            Data::Money(v) => Data::Money(v),
            Data::DateTime { days, ticks } => Data::DateTime { days, ticks },
            Data::SmallDateTime { days, minutes } => Data::SmallDateTime { days, minutes },
            Data::Date(days) => Data::Date(days),
            Data::Time(time) => Data::Time(time),
            Data::DateTime2 { days, time } => Data::DateTime2 { days, time },
            Data::DateTimeOffset { days, time, offset } => Data::DateTimeOffset { days, time, offset },
            Data::Guid(bytes) => Data::Guid(bytes),
            Data::Decimal { negative, magnitude, scale } => Data::Decimal { negative, magnitude, scale },
        }
    }
}

fn scale_of(ty: &TypeInfo) -> u8 {
    match ty {
        TypeInfo::TimeN(s) | TypeInfo::DateTime2N(s) | TypeInfo::DateTimeOffsetN(s) => *s,
        _ => 7,
    }
}

fn text_or_binary<'a>(ty: &TypeInfo, bytes: Cow<'a, [u8]>) -> Data<'a> {
    match ty {
        TypeInfo::Char(..) | TypeInfo::VarChar(..) | TypeInfo::Text(..) => Data::Char(bytes),
        TypeInfo::Legacy(code::CHAR | code::VARCHAR, _) => Data::Char(bytes),
        TypeInfo::NChar(..) | TypeInfo::NVarChar(..) | TypeInfo::NText(..) | TypeInfo::Xml(_) => {
            Data::NChar(bytes)
        }
        _ => Data::Binary(bytes),
    }
}

fn decode_fixed<'a>(r: &mut Reader<'a>, fixed: Fixed) -> Result<Data<'a>> {
    Ok(match fixed {
        Fixed::Null => Data::Null,
        Fixed::Int1 => Data::TinyInt(r.u8()?),
        Fixed::Bit => Data::Bit(r.u8()? != 0),
        Fixed::Int2 => Data::SmallInt(r.i16()?),
        Fixed::Int4 => Data::Int(r.i32()?),
        Fixed::Int8 => Data::BigInt(r.i64()?),
        Fixed::Float4 => Data::Real(r.f32()?),
        Fixed::Float8 => Data::Float(r.f64()?),
        Fixed::Money4 => Data::Money(r.i32()?.into()),
        Fixed::Money8 => Data::Money(money8(r)?),
        Fixed::DateTime4 => Data::SmallDateTime { days: r.u16()?, minutes: r.u16()? },
        Fixed::DateTime8 => Data::DateTime { days: r.i32()?, ticks: r.u32()? },
    })
}

fn money8(r: &mut Reader<'_>) -> Result<i64> {
    let (high, low) = (r.i32()?, r.u32()?);
    Ok((i64::from(high) << 32) | i64::from(low))
}

/// A value whose bytes are exactly `bytes`: those behind a one-byte length, and those inside a variant.
pub(crate) fn decode_bare<'a>(bytes: &'a [u8], ty: &TypeInfo) -> Result<Data<'a>> {
    let mut r = Reader::new(bytes);
    let value = decode_sized(&mut r, bytes.len(), ty).map_err(|e| match e {
        DecodeError::Incomplete => DecodeError::Malformed("value length"),
        other => other,
    })?;
    if r.is_empty() { Ok(value) } else { Err(DecodeError::Malformed("value length")) }
}

fn decode_sized<'a>(r: &mut Reader<'a>, length: usize, ty: &TypeInfo) -> Result<Data<'a>> {
    Ok(match (ty, length) {
        (TypeInfo::Fixed(fixed), _) => decode_fixed(r, *fixed)?,
        (TypeInfo::Guid, 16) => Data::Guid(r.array()?),
        (TypeInfo::BitN, 1) => Data::Bit(r.u8()? != 0),
        (TypeInfo::IntN(_), 1) => Data::TinyInt(r.u8()?),
        (TypeInfo::IntN(_), 2) => Data::SmallInt(r.i16()?),
        (TypeInfo::IntN(_), 4) => Data::Int(r.i32()?),
        (TypeInfo::IntN(_), 8) => Data::BigInt(r.i64()?),
        (TypeInfo::FloatN(_), 4) => Data::Real(r.f32()?),
        (TypeInfo::FloatN(_), 8) => Data::Float(r.f64()?),
        (TypeInfo::MoneyN(_), 4) => Data::Money(r.i32()?.into()),
        (TypeInfo::MoneyN(_), 8) => Data::Money(money8(r)?),
        (TypeInfo::DateTimeN(_), 4) => Data::SmallDateTime { days: r.u16()?, minutes: r.u16()? },
        (TypeInfo::DateTimeN(_), 8) => Data::DateTime { days: r.i32()?, ticks: r.u32()? },
        (TypeInfo::Decimal { scale, .. }, _) => decode_decimal(r, length, *scale)?,
        (TypeInfo::DateN, 3) => Data::Date(date(r)?),
        (TypeInfo::TimeN(scale), n) if n == usize::from(time_bytes(*scale)) => Data::Time(time(r, *scale)?),
        (TypeInfo::DateTime2N(scale), n) if n == usize::from(time_bytes(*scale)) + 3 => {
            let time = time(r, *scale)?;
            Data::DateTime2 { days: date(r)?, time }
        }
        (TypeInfo::DateTimeOffsetN(scale), n) if n == usize::from(time_bytes(*scale)) + 5 => {
            let time = time(r, *scale)?;
            Data::DateTimeOffset { days: date(r)?, time, offset: r.i16()? }
        }
        (
            TypeInfo::Legacy(..)
            | TypeInfo::Binary(_)
            | TypeInfo::VarBinary(_)
            | TypeInfo::Char(..)
            | TypeInfo::VarChar(..)
            | TypeInfo::NChar(..)
            | TypeInfo::NVarChar(..),
            n,
        ) => text_or_binary(ty, Cow::Borrowed(r.take(n)?)),
        _ => return Err(DecodeError::Malformed("value length")),
    })
}

fn decode_decimal<'a>(r: &mut Reader<'_>, length: usize, scale: u8) -> Result<Data<'a>> {
    let negative = r.u8()? == 0;
    if !(2..=17).contains(&length) {
        return Err(DecodeError::Malformed("decimal length"));
    }
    let mut digits = [0u8; 16];
    digits[..length - 1].copy_from_slice(r.take(length - 1)?);
    let magnitude = u128::from_le_bytes(digits);
    if magnitude >= 10u128.pow(38) {
        return Err(DecodeError::Malformed("decimal digits"));
    }
    Ok(Data::Decimal { negative, magnitude, scale })
}

/// Days of 9999-12-31.
const DATE_MAX: u32 = 3_652_058;
/// 100 ns in a day.
const DAY_TICKS: u64 = 864_000_000_000;

fn date(r: &mut Reader<'_>) -> Result<u32> {
    let [a, b, c] = r.array()?;
    let days = u32::from_le_bytes([a, b, c, 0]);
    if days <= DATE_MAX { Ok(days) } else { Err(DecodeError::Malformed("date")) }
}

fn time(r: &mut Reader<'_>, scale: u8) -> Result<u64> {
    let mut bytes = [0u8; 8];
    let n = usize::from(time_bytes(scale));
    bytes[..n].copy_from_slice(r.take(n)?);
    let ticks = u64::from_le_bytes(bytes) * 10u64.pow(7 - u32::from(scale));
    if ticks < DAY_TICKS { Ok(ticks) } else { Err(DecodeError::Malformed("time of day")) }
}

/// A chunked value (2.2.5.2.3): total length or unknown, chunks, an empty chunk.
fn decode_plp<'a>(r: &mut Reader<'a>) -> Result<Option<Cow<'a, [u8]>>> {
    let announced = r.u64()?;
    if announced == PLP_NULL {
        return Ok(None);
    }
    if announced != PLP_UNKNOWN_LENGTH && announced > PLP_BYTES_MAX {
        return Err(DecodeError::Limit("max type length"));
    }
    let mut whole = Cow::Borrowed(&[][..]);
    loop {
        let length = r.u32()?;
        if length == 0 {
            break;
        }
        let chunk = r.take(usize::try_from(length).map_err(|_| DecodeError::Limit("chunk length"))?)?;
        if u64::try_from(whole.len() + chunk.len()).map_or(true, |n| n > PLP_BYTES_MAX) {
            return Err(DecodeError::Limit("max type length"));
        }
        if whole.is_empty() {
            whole = Cow::Borrowed(chunk);
        } else {
            whole.to_mut().extend_from_slice(chunk);
        }
    }
    if announced != PLP_UNKNOWN_LENGTH && u64::try_from(whole.len()) != Ok(announced) {
        return Err(DecodeError::Malformed("max type length"));
    }
    Ok(Some(whole))
}

fn decode_lob<'a>(r: &mut Reader<'a>, ty: &TypeInfo, place: Place) -> Result<Data<'a>> {
    if place == Place::Row {
        if r.b_varbyte()?.is_empty() {
            return Ok(Data::Null);
        }
        r.take(8)?;
    }
    match r.i32()? {
        -1 => Ok(Data::Null),
        length => {
            let length = usize::try_from(length).map_err(|_| DecodeError::Malformed("text length"))?;
            Ok(text_or_binary(ty, Cow::Borrowed(r.take(length)?)))
        }
    }
}

/// sql_variant (2.2.5.5.4): total length, base type, its properties, the bare value.
fn decode_variant<'a>(r: &mut Reader<'a>) -> Result<Data<'a>> {
    let length = usize::try_from(r.u32()?).map_err(|_| DecodeError::Limit("variant length"))?;
    if length == 0 {
        return Ok(Data::Null);
    }
    if length > 8016 {
        return Err(DecodeError::Limit("variant length"));
    }
    let mut inner = Reader::new(r.take(length)?);
    decode_variant_body(&mut inner).map_err(|e| match e {
        DecodeError::Incomplete => DecodeError::Malformed("variant"),
        other => other,
    })
}

fn decode_variant_body<'a>(r: &mut Reader<'a>) -> Result<Data<'a>> {
    // A dialect that has variants has everything that they hold.
    let decode = |bytes: &[u8]| TypeInfo::decode(&mut Reader::new(bytes), Dialect::default());
    let type_code = r.u8()?;
    let properties = r.b_varbyte()?;
    let mut p = Reader::new(properties);
    let ty = match type_code {
        code::DECIMALN | code::NUMERICN => {
            let (precision, scale) = (p.u8()?, p.u8()?);
            if precision == 0 || precision > 38 || scale > precision {
                return Err(DecodeError::Malformed("decimal type"));
            }
            TypeInfo::Decimal { numeric: type_code == code::NUMERICN, precision, scale }
        }
        code::BIGBINARY | code::BIGVARBIN => {
            let [a, b] = p.array()?;
            decode(&[type_code, a, b])?
        }
        code::BIGCHAR | code::BIGVARCHR | code::NCHAR | code::NVARCHAR => {
            let collation: [u8; 5] = p.array()?;
            let length: [u8; 2] = p.array()?;
            decode(&[&[type_code][..], &length, &collation].concat())?
        }
        code::TIMEN | code::DATETIME2N | code::DATETIMEOFFSETN => decode(&[type_code, p.u8()?])?,
        code::GUID => TypeInfo::Guid,
        code::DATEN => TypeInfo::DateN,
        _ => match decode(&[type_code])? {
            fixed @ TypeInfo::Fixed(_) => fixed,
            _ => return Err(DecodeError::Malformed("variant base type")),
        },
    };
    let value = decode_bare(r.rest(), &ty)?;
    Ok(Data::Variant(Box::new((ty, value))))
}

/// Appends the NULL of a type that has one.
pub fn put_null(out: &mut Vec<u8>, ty: &TypeInfo, place: Place) {
    match ty {
        TypeInfo::Fixed(_) => {}
        ty if ty.is_plp() => out.extend_from_slice(&PLP_NULL.to_le_bytes()),
        ty if ty.is_lob() => match place {
            Place::Row => out.push(0),
            Place::Parameter => out.extend_from_slice(&(-1i32).to_le_bytes()),
        },
        TypeInfo::Variant(_) => out.extend_from_slice(&[0; 4]),
        TypeInfo::Table(_) => Table::encode_null(out),
        TypeInfo::Binary(_)
        | TypeInfo::VarBinary(_)
        | TypeInfo::Char(..)
        | TypeInfo::VarChar(..)
        | TypeInfo::NChar(..)
        | TypeInfo::NVarChar(..) => out.extend_from_slice(&CHARBIN_NULL.to_le_bytes()),
        _ => out.push(0),
    }
}

/// Appends a value with a USHORT length before it. `body` writes at most 65,534 bytes.
pub fn put_u16_sized(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 2]);
    body(out);
    let length =
        u16::try_from(out.len() - at - 2).expect("types with a USHORT length are at most 8000 bytes");
    out[at..at + 2].copy_from_slice(&length.to_le_bytes());
}

/// Appends a chunked value of known length: one chunk, as `body` writes it in place.
pub fn put_plp(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 12]);
    body(out);
    let length = out.len() - at - 12;
    if length == 0 {
        out.truncate(at + 8);
    } else {
        patch_u32(out, at, u32::try_from(length).expect("max types are below 2 GB"));
        patch_u32(out, at + 8, u32::try_from(length).expect("max types are below 2 GB"));
    }
    out.extend_from_slice(&[0; 4]);
}

/// Appends a chunked value of unknown length in several chunks, as clients that stream do.
pub fn put_plp_streamed(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&PLP_UNKNOWN_LENGTH.to_le_bytes());
    for chunk in bytes.chunks(PLP_CHUNK_BYTES) {
        out.extend_from_slice(&u32::try_from(chunk.len()).expect("chunks are small").to_le_bytes());
        out.extend_from_slice(chunk);
    }
    out.extend_from_slice(&[0; 4]);
}

/// Appends a text, ntext or image value: in rows behind a text pointer and timestamp (dummies, as the product sends for
/// values that did not come from a table).
pub fn put_lob(out: &mut Vec<u8>, place: Place, body: impl FnOnce(&mut Vec<u8>)) {
    if place == Place::Row {
        out.push(16);
        out.extend_from_slice(b"dummy textptr\0\0\0");
        out.extend_from_slice(b"dummyTS\0");
    }
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = u32::try_from(out.len() - at - 4).expect("text is below 2 GB");
    patch_u32(out, at, length);
}

/// Appends a sql_variant whose bare value is written by `body`.
pub fn put_variant(out: &mut Vec<u8>, base: &TypeInfo, body: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    match base {
        TypeInfo::Fixed(fixed) => out.extend_from_slice(&[*fixed as u8, 0]),
        TypeInfo::Guid => out.extend_from_slice(&[code::GUID, 0]),
        TypeInfo::DateN => out.extend_from_slice(&[code::DATEN, 0]),
        TypeInfo::TimeN(s) => out.extend_from_slice(&[code::TIMEN, 1, *s]),
        TypeInfo::DateTime2N(s) => out.extend_from_slice(&[code::DATETIME2N, 1, *s]),
        TypeInfo::DateTimeOffsetN(s) => out.extend_from_slice(&[code::DATETIMEOFFSETN, 1, *s]),
        TypeInfo::Decimal { numeric, precision, scale } => {
            let type_code = if *numeric { code::NUMERICN } else { code::DECIMALN };
            out.extend_from_slice(&[type_code, 2, *precision, *scale]);
        }
        TypeInfo::Binary(n) | TypeInfo::VarBinary(n) => {
            let type_code =
                if matches!(base, TypeInfo::Binary(_)) { code::BIGBINARY } else { code::BIGVARBIN };
            out.extend_from_slice(&[type_code, 2]);
            out.extend_from_slice(&n.to_le_bytes());
        }
        TypeInfo::Char(n, c) | TypeInfo::VarChar(n, c) | TypeInfo::NChar(n, c) | TypeInfo::NVarChar(n, c) => {
            let type_code = match base {
                TypeInfo::Char(..) => code::BIGCHAR,
                TypeInfo::VarChar(..) => code::BIGVARCHR,
                TypeInfo::NChar(..) => code::NCHAR,
                _ => code::NVARCHAR,
            };
            out.extend_from_slice(&[type_code, 7]);
            out.extend_from_slice(&c.to_bytes());
            out.extend_from_slice(&n.to_le_bytes());
        }
        _ => unreachable!("a variant's base type has no length byte, is not a max type and not a variant"),
    }
    body(out);
    let length = u32::try_from(out.len() - at - 4).expect("a variant is at most 8016 bytes");
    patch_u32(out, at, length);
}

/// Appends money: high half first.
pub fn put_money8(out: &mut Vec<u8>, ten_thousandths: i64) {
    out.extend_from_slice(&ten_thousandths.rotate_left(32).to_le_bytes());
}

/// Appends smallmoney. The caller's value is in range.
pub fn put_money4(out: &mut Vec<u8>, ten_thousandths: i64) {
    out.extend_from_slice(&i32::try_from(ten_thousandths).expect("smallmoney is in range").to_le_bytes());
}

/// Appends datetime.
pub fn put_datetime(out: &mut Vec<u8>, days: i32, ticks: u32) {
    out.extend_from_slice(&days.to_le_bytes());
    out.extend_from_slice(&ticks.to_le_bytes());
}

/// Appends date.
pub fn put_date(out: &mut Vec<u8>, days: u32) {
    out.extend_from_slice(&days.to_le_bytes()[..3]);
}

/// Appends a time of day given in 100 ns.
pub fn put_time(out: &mut Vec<u8>, ticks: u64, scale: u8) {
    let units = ticks / 10u64.pow(7 - u32::from(scale));
    out.extend_from_slice(&units.to_le_bytes()[..usize::from(time_bytes(scale))]);
}

/// Appends a decimal's sign and digits, as many as its precision takes.
pub fn put_decimal(out: &mut Vec<u8>, negative: bool, magnitude: u128, precision: u8) {
    out.push((!negative).into());
    out.extend_from_slice(&magnitude.to_le_bytes()[..usize::from(decimal_bytes(precision)) - 1]);
}
