//! SQL types as declared: kind, length, precision, scale, collation.

use serde::{Deserialize, Serialize};

/// Length of a variable-length type, in characters (or bytes for binary), or MAX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Length {
    /// 1..=8000 (4000 for the national types).
    Limited(u16),
    /// `max`: up to 2^31-1 bytes.
    Max,
}

/// A declared SQL type. Collation is kept beside it, not in it (see [`Collation`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SqlType {
    /// `bit`
    Bit,
    /// `tinyint` (unsigned)
    TinyInt,
    /// `smallint`
    SmallInt,
    /// `int`
    Int,
    /// `bigint`
    BigInt,
    /// `decimal(p,s)`
    Decimal {
        /// 1..=38 digits.
        precision: u8,
        /// 0..=precision.
        scale: u8,
    },
    /// `numeric(p,s)`: the same as decimal but for its name in metadata.
    Numeric {
        /// 1..=38 digits.
        precision: u8,
        /// 0..=precision.
        scale: u8,
    },
    /// `money`
    Money,
    /// `smallmoney`
    SmallMoney,
    /// `real`
    Real,
    /// `float` (53)
    Float,
    /// `date`
    Date,
    /// `time(n)`, n = 0..=7
    Time(u8),
    /// `datetime`
    DateTime,
    /// `smalldatetime`
    SmallDateTime,
    /// `datetime2(n)`
    DateTime2(u8),
    /// `datetimeoffset(n)`
    DateTimeOffset(u8),
    /// `char(n)`
    Char(u16),
    /// `varchar(n|max)`
    VarChar(Length),
    /// `nchar(n)`
    NChar(u16),
    /// `nvarchar(n|max)`
    NVarChar(Length),
    /// `text`
    Text,
    /// `ntext`
    NText,
    /// `binary(n)`
    Binary(u16),
    /// `varbinary(n|max)`
    VarBinary(Length),
    /// `image`
    Image,
    /// `uniqueidentifier`
    UniqueIdentifier,
    /// `rowversion` / `timestamp`
    RowVersion,
    /// `sql_variant`
    SqlVariant,
    /// `xml` (stored and returned as text)
    Xml,
    /// Type of a bare NULL literal before it is coerced (behaves as int in result sets).
    Null,
}

/// How strings compare. Only these are supported; every other collation name is refused with error 448.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Collation {
    /// `SQL_Latin1_General_CP1_CI_AS`: case-insensitive, accent-sensitive; the default.
    #[default]
    Latin1CiAs,
    /// `Latin1_General_BIN2` and the other `_BIN2` names: by code point.
    Bin2,
    /// `SQL_Latin1_General_CP1_CS_AS`: case- and accent-sensitive.
    Latin1CsAs,
    /// `Latin1_General_CI_AI`: neither.
    Latin1CiAi,
}
