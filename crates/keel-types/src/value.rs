//! One SQL value at run time. Its declared [`SqlType`](crate::SqlType) is known statically by whoever holds it.

use smol_str::{SmolStr, SmolStrBuilder};
use std::sync::Arc;

/// A decimal: `mantissa / 10^scale`, at most 38 digits. Split in two words so that [`Value`] needs 8-byte alignment only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    hi: i64,
    lo: u64,
    /// Digits after the point, 0..=38.
    pub scale: u8,
}

impl Decimal {
    /// The largest unscaled value: 38 nines.
    pub const MAX_MANTISSA: i128 = 10i128.pow(38) - 1;
    /// Zero at scale 0.
    pub const ZERO: Decimal = Decimal::new(0, 0);

    /// From mantissa and scale. The caller guarantees |mantissa| < 10^38.
    #[must_use]
    pub const fn new(mantissa: i128, scale: u8) -> Decimal {
        Decimal { hi: (mantissa >> 64) as i64, lo: mantissa as u64, scale }
    }
    /// The unscaled digits.
    #[must_use]
    pub const fn mantissa(self) -> i128 {
        ((self.hi as i128) << 64) | self.lo as i128
    }
}

/// A value. 32 bytes; strings to 23 bytes are inline, longer ones and binaries are shared.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// NULL of any type.
    #[default]
    Null,
    /// bit
    Bit(bool),
    /// tinyint, smallint, int, bigint
    Int(i64),
    /// decimal, numeric
    Decimal(Decimal),
    /// money, smallmoney: ten-thousandths
    Money(i64),
    /// real (rounded to f32 precision), float
    Float(f64),
    /// date: days since 0001-01-01
    Date(i32),
    /// time: 100 ns ticks since midnight
    Time(i64),
    /// datetime, smalldatetime, datetime2: 100 ns ticks since 0001-01-01T00:00
    DateTime(i64),
    /// datetimeoffset: UTC ticks and the offset in minutes
    DateTimeOffset(i64, i16),
    /// char, varchar, nchar, nvarchar, text, ntext, xml; always Unicode inside, cp1252-representable for the non-national types
    Str(SmolStr),
    /// binary, varbinary, image, rowversion, hierarchyid, geometry, geography
    Bytes(Arc<[u8]>),
    /// uniqueidentifier, in wire order (first three groups little-endian)
    Guid([u8; 16]),
    /// sql_variant: the value with its base type
    Variant(Arc<(crate::SqlType, Value)>),
}

impl Value {
    /// Whether it is NULL.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// A string value.
    #[must_use]
    pub fn str(text: impl Into<SmolStr>) -> Value {
        Value::Str(text.into())
    }

    /// A binary value.
    #[must_use]
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Value {
        Value::Bytes(bytes.into())
    }

    /// The integer inside, of an integer or bit value.
    #[must_use]
    pub const fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            Value::Bit(b) => Some(*b as i64),
            _ => None,
        }
    }

    /// The text inside, of a string value.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(s) => Some(s),
            _ => None,
        }
    }

    /// The bytes inside, of a binary value.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(b) => Some(b),
            _ => None,
        }
    }
}

/// The text followed by this many blanks.
pub(crate) fn with_blanks(text: &str, mut blanks: usize) -> SmolStr {
    const BLANKS: &str = "                                                                ";
    let mut whole = SmolStrBuilder::new();
    whole.push_str(text);
    while blanks > 0 {
        let now = blanks.min(BLANKS.len());
        whole.push_str(&BLANKS[..now]);
        blanks -= now;
    }
    whole.finish()
}

const _: () = assert!(std::mem::size_of::<Value>() <= 32);
