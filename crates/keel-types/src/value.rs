//! One SQL value at run time. Its declared [`SqlType`](crate::SqlType) is known statically by whoever holds it.

use smol_str::SmolStr;
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
    /// binary, varbinary, image, rowversion
    Bytes(Arc<[u8]>),
    /// uniqueidentifier, in wire order (first three groups little-endian)
    Guid([u8; 16]),
    /// sql_variant: the value with its base type
    Variant(Arc<(crate::SqlType, Value)>),
}

const _: () = assert!(std::mem::size_of::<Value>() <= 32);
