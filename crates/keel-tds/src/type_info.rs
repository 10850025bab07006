//! TYPE_INFO (2.2.5.4, 2.2.5.6): how a column, parameter or return value is laid out.

use crate::bytes::{Reader, put_b_varchar, put_us_varchar};
use crate::collation::WireCollation;
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};

/// Length that marks a max type, whose data comes in chunks (PLP, 2.2.5.2.3).
pub const MAX: u16 = 0xFFFF;

/// Codes of the data types (2.2.5.4).
pub mod code {
    #![allow(missing_docs, reason = "the names are the specification's")]
    pub const NULL: u8 = 0x1F;
    pub const INT1: u8 = 0x30;
    pub const BIT: u8 = 0x32;
    pub const INT2: u8 = 0x34;
    pub const INT4: u8 = 0x38;
    pub const DATETIM4: u8 = 0x3A;
    pub const FLT4: u8 = 0x3B;
    pub const MONEY: u8 = 0x3C;
    pub const DATETIME: u8 = 0x3D;
    pub const FLT8: u8 = 0x3E;
    pub const MONEY4: u8 = 0x7A;
    pub const INT8: u8 = 0x7F;
    pub const GUID: u8 = 0x24;
    pub const INTN: u8 = 0x26;
    pub const DECIMAL: u8 = 0x37;
    pub const NUMERIC: u8 = 0x3F;
    pub const BITN: u8 = 0x68;
    pub const DECIMALN: u8 = 0x6A;
    pub const NUMERICN: u8 = 0x6C;
    pub const FLTN: u8 = 0x6D;
    pub const MONEYN: u8 = 0x6E;
    pub const DATETIMN: u8 = 0x6F;
    pub const DATEN: u8 = 0x28;
    pub const TIMEN: u8 = 0x29;
    pub const DATETIME2N: u8 = 0x2A;
    pub const DATETIMEOFFSETN: u8 = 0x2B;
    pub const CHAR: u8 = 0x2F;
    pub const VARCHAR: u8 = 0x27;
    pub const BINARY: u8 = 0x2D;
    pub const VARBINARY: u8 = 0x25;
    pub const BIGVARBIN: u8 = 0xA5;
    pub const BIGVARCHR: u8 = 0xA7;
    pub const BIGBINARY: u8 = 0xAD;
    pub const BIGCHAR: u8 = 0xAF;
    pub const NVARCHAR: u8 = 0xE7;
    pub const NCHAR: u8 = 0xEF;
    pub const UDT: u8 = 0xF0;
    pub const XML: u8 = 0xF1;
    pub const TVP: u8 = 0xF3;
    pub const TEXT: u8 = 0x23;
    pub const IMAGE: u8 = 0x22;
    pub const NTEXT: u8 = 0x63;
    pub const SSVARIANT: u8 = 0x62;
}

/// Types without a length: never NULL (but for `Null`, which always is).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Fixed {
    /// No value at all.
    Null = code::NULL,
    /// tinyint
    Int1 = code::INT1,
    /// bit
    Bit = code::BIT,
    /// smallint
    Int2 = code::INT2,
    /// int
    Int4 = code::INT4,
    /// bigint
    Int8 = code::INT8,
    /// real
    Float4 = code::FLT4,
    /// float
    Float8 = code::FLT8,
    /// smallmoney
    Money4 = code::MONEY4,
    /// money
    Money8 = code::MONEY,
    /// smalldatetime
    DateTime4 = code::DATETIM4,
    /// datetime
    DateTime8 = code::DATETIME,
}

/// A type with everything its data's layout depends on. Lengths are in bytes, also of the national types.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TypeInfo {
    /// Without a length byte.
    Fixed(Fixed),
    /// uniqueidentifier
    Guid,
    /// tinyint, smallint, int, bigint by length 1, 2, 4, 8
    IntN(u8),
    /// bit
    BitN,
    /// real, float by length 4, 8
    FloatN(u8),
    /// smallmoney, money by length 4, 8
    MoneyN(u8),
    /// smalldatetime, datetime by length 4, 8
    DateTimeN(u8),
    /// decimal or numeric
    Decimal {
        /// Whether it is called numeric.
        numeric: bool,
        /// 1..=38
        precision: u8,
        /// 0..=precision
        scale: u8,
    },
    /// date
    DateN,
    /// time with its scale
    TimeN(u8),
    /// datetime2 with its scale
    DateTime2N(u8),
    /// datetimeoffset with its scale
    DateTimeOffsetN(u8),
    /// binary
    Binary(u16),
    /// varbinary; [`MAX`] for chunked
    VarBinary(u16),
    /// char
    Char(u16, WireCollation),
    /// varchar; [`MAX`] for chunked
    VarChar(u16, WireCollation),
    /// nchar
    NChar(u16, WireCollation),
    /// nvarchar; [`MAX`] for chunked
    NVarChar(u16, WireCollation),
    /// char, varchar, binary and varbinary of before 7.0, by their code, with a one-byte length
    Legacy(u8, u8),
    /// text
    Text(u32, WireCollation),
    /// ntext
    NText(u32, WireCollation),
    /// image
    Image(u32),
    /// sql_variant
    Variant(u32),
    /// xml, with the schema collection's database, schema and name if it has one
    Xml(Option<Box<[String; 3]>>),
    /// A CLR type of a parameter: database, schema, name
    Udt(Box<[String; 3]>),
    /// A CLR type of a column or an output parameter
    UdtColumn(Box<UdtColumn>),
    /// A table-valued parameter: database, schema, name of its type
    Table(Box<[String; 3]>),
}

/// What columns say of a CLR type (UDT_INFO_IN_COLMETADATA, MS-TDS 2.2.5.5.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UdtColumn {
    /// Most bytes of a value; [`MAX`] without bound.
    pub max_bytes: u16,
    /// Database, schema, name.
    pub name: [String; 3],
    /// The .NET type by its full name, by which clients load it.
    pub assembly: String,
}

impl UdtColumn {
    fn decode(r: &mut Reader<'_>) -> Result<UdtColumn> {
        Ok(UdtColumn {
            max_bytes: r.u16()?,
            name: [r.b_varchar()?, r.b_varchar()?, r.b_varchar()?],
            assembly: r.us_varchar()?,
        })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(code::UDT);
        out.extend_from_slice(&self.max_bytes.to_le_bytes());
        self.name.iter().for_each(|part| put_b_varchar(out, part));
        put_us_varchar(out, &self.assembly);
    }
}

impl TypeInfo {
    /// From the wire, of a column or an output parameter: they say more of a CLR type than parameters do.
    pub fn decode_column(r: &mut Reader<'_>, dialect: Dialect) -> Result<TypeInfo> {
        if r.peek() != Some(code::UDT) {
            return TypeInfo::decode(r, dialect);
        }
        r.u8()?;
        Ok(TypeInfo::UdtColumn(Box::new(UdtColumn::decode(r)?)))
    }

    /// From the wire.
    ///
    /// Valid when: (1) the type code is known, (2) lengths are among those the type allows, (3) precision is 1..=38 and
    /// scale not above it, (4) the scale of a time is 0..=7. Microsoft's JDBC driver says 0 for the length of a uniqueidentifier
    /// and for the precision of a decimal column when there are only NULLs, and 1 for the length of an encrypted uniqueidentifier that is NULL.
    pub fn decode(r: &mut Reader<'_>, dialect: Dialect) -> Result<TypeInfo> {
        let type_code = r.u8()?;
        Ok(match type_code {
            code::NULL => TypeInfo::Fixed(Fixed::Null),
            code::INT1 => TypeInfo::Fixed(Fixed::Int1),
            code::BIT => TypeInfo::Fixed(Fixed::Bit),
            code::INT2 => TypeInfo::Fixed(Fixed::Int2),
            code::INT4 => TypeInfo::Fixed(Fixed::Int4),
            code::INT8 => TypeInfo::Fixed(Fixed::Int8),
            code::FLT4 => TypeInfo::Fixed(Fixed::Float4),
            code::FLT8 => TypeInfo::Fixed(Fixed::Float8),
            code::MONEY4 => TypeInfo::Fixed(Fixed::Money4),
            code::MONEY => TypeInfo::Fixed(Fixed::Money8),
            code::DATETIM4 => TypeInfo::Fixed(Fixed::DateTime4),
            code::DATETIME => TypeInfo::Fixed(Fixed::DateTime8),
            code::GUID => one_of(r, &[0, 1, 16]).map(|_| TypeInfo::Guid)?,
            code::INTN => TypeInfo::IntN(one_of(r, &[1, 2, 4, 8])?),
            code::BITN => one_of(r, &[1]).map(|_| TypeInfo::BitN)?,
            code::FLTN => TypeInfo::FloatN(one_of(r, &[4, 8])?),
            code::MONEYN => TypeInfo::MoneyN(one_of(r, &[4, 8])?),
            code::DATETIMN => TypeInfo::DateTimeN(one_of(r, &[4, 8])?),
            code::DECIMAL | code::DECIMALN => decimal(r, false)?,
            code::NUMERIC | code::NUMERICN => decimal(r, true)?,
            code::DATEN => TypeInfo::DateN,
            code::TIMEN => TypeInfo::TimeN(time_scale(r)?),
            code::DATETIME2N => TypeInfo::DateTime2N(time_scale(r)?),
            code::DATETIMEOFFSETN => TypeInfo::DateTimeOffsetN(time_scale(r)?),
            code::BIGBINARY => TypeInfo::Binary(dialect.short_length(r)?),
            code::BIGVARBIN => TypeInfo::VarBinary(dialect.short_length(r)?),
            code::BIGCHAR => TypeInfo::Char(dialect.short_length(r)?, dialect.collation(r)?),
            code::BIGVARCHR => TypeInfo::VarChar(dialect.short_length(r)?, dialect.collation(r)?),
            code::NCHAR => TypeInfo::NChar(dialect.short_length(r)?, dialect.collation(r)?),
            code::NVARCHAR => TypeInfo::NVarChar(dialect.short_length(r)?, dialect.collation(r)?),
            code::CHAR | code::VARCHAR | code::BINARY | code::VARBINARY => {
                TypeInfo::Legacy(type_code, r.u8()?)
            }
            code::TEXT => TypeInfo::Text(r.u32()?, dialect.collation(r)?),
            code::NTEXT => TypeInfo::NText(r.u32()?, dialect.collation(r)?),
            code::IMAGE => TypeInfo::Image(r.u32()?),
            code::SSVARIANT => TypeInfo::Variant(r.u32()?),
            code::XML => TypeInfo::Xml(match r.u8()? {
                0 => None,
                _ => Some(Box::new([r.b_varchar()?, r.b_varchar()?, r.us_varchar()?])),
            }),
            code::UDT => TypeInfo::Udt(Box::new([r.b_varchar()?, r.b_varchar()?, r.b_varchar()?])),
            code::TVP => TypeInfo::Table(Box::new([r.b_varchar()?, r.b_varchar()?, r.b_varchar()?])),
            _ => return Err(DecodeError::Unsupported { what: "data type", code: type_code.into() }),
        })
    }

    /// To the wire.
    pub fn encode(&self, out: &mut Vec<u8>, dialect: Dialect) {
        let sized = |out: &mut Vec<u8>, type_code: u8, length: u16, collation: Option<WireCollation>| {
            out.push(type_code);
            out.extend_from_slice(&length.to_le_bytes());
            if let Some(collation) = collation {
                dialect.put_collation(out, collation);
            }
        };
        let long = |out: &mut Vec<u8>, type_code: u8, length: u32, collation: Option<WireCollation>| {
            out.push(type_code);
            out.extend_from_slice(&length.to_le_bytes());
            if let Some(collation) = collation {
                dialect.put_collation(out, collation);
            }
        };
        match self {
            TypeInfo::Fixed(fixed) => out.push(*fixed as u8),
            TypeInfo::Guid => out.extend_from_slice(&[code::GUID, 16]),
            TypeInfo::IntN(n) => out.extend_from_slice(&[code::INTN, *n]),
            TypeInfo::BitN => out.extend_from_slice(&[code::BITN, 1]),
            TypeInfo::FloatN(n) => out.extend_from_slice(&[code::FLTN, *n]),
            TypeInfo::MoneyN(n) => out.extend_from_slice(&[code::MONEYN, *n]),
            TypeInfo::DateTimeN(n) => out.extend_from_slice(&[code::DATETIMN, *n]),
            TypeInfo::Decimal { numeric, precision, scale } => {
                let type_code = if *numeric { code::NUMERICN } else { code::DECIMALN };
                // The most that any precision takes, as the product says it: .NET's bulk copy sends values of that length.
                out.extend_from_slice(&[type_code, decimal_bytes(38), *precision, *scale]);
            }
            TypeInfo::DateN => out.push(code::DATEN),
            TypeInfo::TimeN(scale) => out.extend_from_slice(&[code::TIMEN, *scale]),
            TypeInfo::DateTime2N(scale) => out.extend_from_slice(&[code::DATETIME2N, *scale]),
            TypeInfo::DateTimeOffsetN(scale) => out.extend_from_slice(&[code::DATETIMEOFFSETN, *scale]),
            TypeInfo::Binary(n) => sized(out, code::BIGBINARY, *n, None),
            TypeInfo::VarBinary(n) => sized(out, code::BIGVARBIN, *n, None),
            TypeInfo::Char(n, c) => sized(out, code::BIGCHAR, *n, Some(*c)),
            TypeInfo::VarChar(n, c) => sized(out, code::BIGVARCHR, *n, Some(*c)),
            TypeInfo::NChar(n, c) => sized(out, code::NCHAR, *n, Some(*c)),
            TypeInfo::NVarChar(n, c) => sized(out, code::NVARCHAR, *n, Some(*c)),
            TypeInfo::Legacy(type_code, n) => out.extend_from_slice(&[*type_code, *n]),
            TypeInfo::Text(n, c) => long(out, code::TEXT, *n, Some(*c)),
            TypeInfo::NText(n, c) => long(out, code::NTEXT, *n, Some(*c)),
            TypeInfo::Image(n) => long(out, code::IMAGE, *n, None),
            TypeInfo::Variant(n) => long(out, code::SSVARIANT, *n, None),
            TypeInfo::Xml(None) => out.extend_from_slice(&[code::XML, 0]),
            TypeInfo::Xml(Some(schema)) => {
                out.extend_from_slice(&[code::XML, 1]);
                put_b_varchar(out, &schema[0]);
                put_b_varchar(out, &schema[1]);
                put_us_varchar(out, &schema[2]);
            }
            TypeInfo::Udt(name) => put_name(out, code::UDT, name),
            TypeInfo::UdtColumn(column) => column.encode(out),
            TypeInfo::Table(name) => put_name(out, code::TVP, name),
        }
    }

    /// Whether data comes in chunks.
    #[must_use]
    pub const fn is_plp(&self) -> bool {
        match self {
            TypeInfo::VarBinary(n) | TypeInfo::VarChar(n, _) | TypeInfo::NVarChar(n, _) => *n == MAX,
            TypeInfo::Xml(_) | TypeInfo::Udt(_) | TypeInfo::UdtColumn(_) => true,
            _ => false,
        }
    }

    /// Whether it is text, ntext or image: their metadata carries a table name and their rows a text pointer.
    #[must_use]
    pub const fn is_lob(&self) -> bool {
        matches!(self, TypeInfo::Text(..) | TypeInfo::NText(..) | TypeInfo::Image(_))
    }
}

/// Bytes of a decimal's length field for a precision: sign and 4, 8, 12 or 16 bytes of digits.
#[must_use]
pub const fn decimal_bytes(precision: u8) -> u8 {
    match precision {
        0..=9 => 5,
        10..=19 => 9,
        20..=28 => 13,
        _ => 17,
    }
}

/// Bytes of a time of day for a scale.
#[must_use]
pub const fn time_bytes(scale: u8) -> u8 {
    match scale {
        0..=2 => 3,
        3 | 4 => 4,
        _ => 5,
    }
}

fn one_of(r: &mut Reader<'_>, allowed: &[u8]) -> Result<u8> {
    let length = r.u8()?;
    if allowed.contains(&length) { Ok(length) } else { Err(DecodeError::Malformed("type length")) }
}

fn time_scale(r: &mut Reader<'_>) -> Result<u8> {
    let scale = r.u8()?;
    if scale <= 7 { Ok(scale) } else { Err(DecodeError::Malformed("time scale")) }
}

fn decimal(r: &mut Reader<'_>, numeric: bool) -> Result<TypeInfo> {
    // What the length says follows from the precision, and a client of Microsoft's writes something else there in bulk loads.
    let (_, precision, scale) = (r.u8()?, r.u8()?, r.u8()?);
    let precision = if precision == 0 { 38 } else { precision };
    if precision > 38 || scale > precision {
        return Err(DecodeError::Malformed("decimal type"));
    }
    Ok(TypeInfo::Decimal { numeric, precision, scale })
}

fn put_name(out: &mut Vec<u8>, type_code: u8, name: &[String; 3]) {
    out.push(type_code);
    for part in name {
        put_b_varchar(out, part);
    }
}
