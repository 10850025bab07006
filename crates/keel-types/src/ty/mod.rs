//! SQL types as declared: kind, length, precision, scale, collation.
//!
//! [`SqlType`] is what a column, variable, parameter or expression is declared (or inferred) to be. The submodules
//! hold what follows from it: [`parse`] turns a declared name with arguments into a type, [`promote`] finds the
//! result type of operators and of `CASE`-like merges, [`catalog`] the numbers the catalog views show.
//!
//! A type carries no collation and no nullability: both belong to the column or expression that has the type.

pub mod catalog;
pub mod encrypted;
pub mod parse;
pub mod promote;

pub use crate::collation::Collation;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Length of a variable-length type, in characters (or bytes for binary), or MAX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Length {
    /// 1..=8000 (4000 for the national types).
    Limited(u16),
    /// `max`: up to 2^31-1 bytes.
    Max,
}

/// Which schema collection a typed xml is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct XmlSchema {
    /// `xml_collection_id` in the database that declares it.
    pub collection: i32,
    /// The number of the collection's version (see [`keel_xml::schema::registry`]); a catalog gives it to what it holds.
    #[serde(skip)]
    pub version: u32,
    /// `DOCUMENT`: one element on the top level.
    pub document: bool,
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
    /// `xml(collection)`: its values are valid, and in the form in which validation leaves them.
    TypedXml(XmlSchema),
    /// Type of a bare NULL literal before it is coerced (behaves as int in result sets).
    Null,
    /// `hierarchyid`, kept as its bytes (see [`crate::hierarchyid`])
    HierarchyId,
    /// `geometry`, kept as its bytes (see `keel-spatial`)
    Geometry,
    /// `geography`, kept as its bytes (see `keel-spatial`)
    Geography,
    /// Encrypted by clients, whose bytes are all that is known (see [`encrypted`])
    Encrypted(encrypted::Encrypted),
}

impl SqlType {
    /// `nvarchar(128)`, the type of identifiers.
    pub const SYSNAME: SqlType = SqlType::NVarChar(Length::Limited(128));

    /// The family: types of one family have the same values and differ only in range, length or name.
    #[must_use]
    pub const fn family(self) -> Family {
        use SqlType as T;
        match self {
            T::Null => Family::Null,
            T::Bit => Family::Bit,
            T::TinyInt | T::SmallInt | T::Int | T::BigInt => Family::Integer,
            T::Decimal { .. } | T::Numeric { .. } => Family::Decimal,
            T::Money | T::SmallMoney => Family::Money,
            T::Real | T::Float => Family::Float,
            T::Date => Family::Date,
            T::Time(_) => Family::Time,
            T::DateTime | T::SmallDateTime => Family::DateTime,
            T::DateTime2(_) => Family::DateTime2,
            T::DateTimeOffset(_) => Family::DateTimeOffset,
            T::Char(_) | T::VarChar(_) | T::Text => Family::String,
            T::NChar(_) | T::NVarChar(_) | T::NText => Family::NationalString,
            T::Binary(_) | T::VarBinary(_) | T::Image | T::RowVersion => Family::Binary,
            T::UniqueIdentifier => Family::Guid,
            T::SqlVariant => Family::Variant,
            T::Xml | T::TypedXml(_) => Family::Xml,
            T::HierarchyId | T::Geometry | T::Geography => Family::Clr,
            T::Encrypted(_) => Family::Encrypted,
        }
    }

    /// Character types, national or not, including `text` and `ntext` (not `xml`).
    #[must_use]
    pub const fn is_string(self) -> bool {
        matches!(self.family(), Family::String | Family::NationalString)
    }

    /// `xml`, typed or not.
    #[must_use]
    pub const fn is_xml(self) -> bool {
        matches!(self, SqlType::Xml | SqlType::TypedXml(_))
    }

    /// The schema collection of typed xml.
    #[must_use]
    pub const fn xml_schema(self) -> Option<XmlSchema> {
        match self {
            SqlType::TypedXml(schema) => Some(schema),
            _ => None,
        }
    }

    /// `nchar`, `nvarchar`, `ntext`.
    #[must_use]
    pub const fn is_national(self) -> bool {
        matches!(self.family(), Family::NationalString)
    }

    /// `tinyint` to `bigint`.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.family(), Family::Integer)
    }

    /// Everything that counts: bit, integers, decimals, money, floats.
    #[must_use]
    pub const fn is_numeric(self) -> bool {
        matches!(
            self.family(),
            Family::Bit | Family::Integer | Family::Decimal | Family::Money | Family::Float
        )
    }

    /// Dates, times and their combinations.
    #[must_use]
    pub const fn is_temporal(self) -> bool {
        matches!(
            self.family(),
            Family::Date | Family::Time | Family::DateTime | Family::DateTime2 | Family::DateTimeOffset
        )
    }

    /// `binary`, `varbinary`, `image`, `rowversion`.
    #[must_use]
    pub const fn is_binary(self) -> bool {
        matches!(self.family(), Family::Binary)
    }

    /// The types with methods that the product has from .NET: `hierarchyid`, `geometry`, `geography`.
    #[must_use]
    pub const fn is_clr(self) -> bool {
        matches!(self.family(), Family::Clr)
    }

    /// `geometry`, `geography`.
    #[must_use]
    pub const fn is_spatial(self) -> bool {
        matches!(self, SqlType::Geometry | SqlType::Geography)
    }

    /// Whether values can exceed a row's 8,000 bytes: the `max` types, `text`, `ntext`, `image`, `xml`, the spatial types.
    #[must_use]
    pub const fn is_large(self) -> bool {
        use SqlType as T;
        matches!(
            self,
            T::VarChar(Length::Max)
                | T::NVarChar(Length::Max)
                | T::VarBinary(Length::Max)
                | T::Text
                | T::NText
                | T::Image
                | T::Xml
                | T::TypedXml(_)
                | T::Geometry
                | T::Geography
        )
    }

    /// Whether the type can be an index key column (error 1919 otherwise).
    #[must_use]
    pub const fn is_key_type(self) -> bool {
        !self.is_large()
    }

    /// Declared length: characters of a string type, bytes of a binary type; `None` for other types and `Max` for
    /// the large ones.
    #[must_use]
    pub const fn length(self) -> Option<Length> {
        use SqlType as T;
        match self {
            T::Char(n) | T::NChar(n) | T::Binary(n) => Some(Length::Limited(n)),
            T::VarChar(n) | T::NVarChar(n) | T::VarBinary(n) => Some(n),
            T::Text | T::NText | T::Image | T::Xml | T::TypedXml(_) | T::Geometry | T::Geography => {
                Some(Length::Max)
            }
            T::RowVersion => Some(Length::Limited(8)),
            _ => None,
        }
    }

    /// The same decimal type under the name `decimal`, other types unchanged.
    #[must_use]
    pub const fn decimal_parts(self) -> Option<(u8, u8)> {
        match self {
            SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
                Some((precision, scale))
            }
            _ => None,
        }
    }
}

/// What kind of values a type has. See [`SqlType::family`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Family {
    /// An untyped NULL.
    Null,
    /// `bit`
    Bit,
    /// `tinyint` to `bigint`
    Integer,
    /// `decimal`, `numeric`
    Decimal,
    /// `money`, `smallmoney`
    Money,
    /// `real`, `float`
    Float,
    /// `date`
    Date,
    /// `time`
    Time,
    /// `datetime`, `smalldatetime`
    DateTime,
    /// `datetime2`
    DateTime2,
    /// `datetimeoffset`
    DateTimeOffset,
    /// `char`, `varchar`, `text`
    String,
    /// `nchar`, `nvarchar`, `ntext`
    NationalString,
    /// `binary`, `varbinary`, `image`, `rowversion`
    Binary,
    /// `uniqueidentifier`
    Guid,
    /// `sql_variant`
    Variant,
    /// `xml`
    Xml,
    /// `hierarchyid`, `geometry`, `geography`: nothing but the bytes in common
    Clr,
    /// What clients encrypt
    Encrypted,
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Length::Limited(n) => write!(f, "{n}"),
            Length::Max => f.write_str("max"),
        }
    }
}

/// As it would be declared: `varchar(50)`, `decimal(10,2)`, `datetime2(3)`.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SqlType as T;
        if let Some(scheme) = self.scheme() {
            return write!(f, "{}", scheme.plain);
        }
        f.write_str(self.name())?;
        match *self {
            T::Decimal { precision, scale } | T::Numeric { precision, scale } => {
                write!(f, "({precision},{scale})")
            }
            T::Char(n) | T::NChar(n) | T::Binary(n) => write!(f, "({n})"),
            T::VarChar(n) | T::NVarChar(n) | T::VarBinary(n) => write!(f, "({n})"),
            T::Time(s) | T::DateTime2(s) | T::DateTimeOffset(s) => write!(f, "({s})"),
            _ => Ok(()),
        }
    }
}
