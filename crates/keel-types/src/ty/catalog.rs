//! The numbers by which catalog views and metadata describe types: names, ids, `max_length` in bytes, precision,
//! scale. Nothing here knows the wire; the protocol crate has its own type tokens.

use super::{Length, SqlType};

/// One row of `sys.types` for a system type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemType {
    /// `name`
    pub name: &'static str,
    /// `system_type_id`
    pub system_type_id: u8,
    /// `user_type_id`
    pub user_type_id: i32,
    /// `max_length`, bytes, of the widest form (-1 never occurs here: `varchar` shows 8000)
    pub max_length: i16,
    /// `precision`
    pub precision: u8,
    /// `scale`
    pub scale: u8,
    /// Whether the type has a collation.
    pub has_collation: bool,
}

const fn row(name: &'static str, id: u8, max_length: i16, precision: u8, scale: u8) -> SystemType {
    let has_collation = matches!(id, 35 | 99 | 167 | 175 | 231 | 239);
    SystemType {
        name,
        system_type_id: id,
        user_type_id: id as i32,
        max_length,
        precision,
        scale,
        has_collation,
    }
}

/// A type with methods: all of them share one `system_type_id`.
const fn clr(name: &'static str, id: i32, max_length: i16) -> SystemType {
    SystemType { user_type_id: id, ..row(name, 240, max_length, 0, 0) }
}

const SYSTEM_TYPES: [SystemType; 34] = [
    row("image", 34, 16, 0, 0),
    row("text", 35, 16, 0, 0),
    row("uniqueidentifier", 36, 16, 0, 0),
    row("date", 40, 3, 10, 0),
    row("time", 41, 5, 16, 7),
    row("datetime2", 42, 8, 27, 7),
    row("datetimeoffset", 43, 10, 34, 7),
    row("tinyint", 48, 1, 3, 0),
    row("smallint", 52, 2, 5, 0),
    row("int", 56, 4, 10, 0),
    row("smalldatetime", 58, 4, 16, 0),
    row("real", 59, 4, 24, 0),
    row("money", 60, 8, 19, 4),
    row("datetime", 61, 8, 23, 3),
    row("float", 62, 8, 53, 0),
    row("sql_variant", 98, 8016, 0, 0),
    row("ntext", 99, 16, 0, 0),
    row("bit", 104, 1, 1, 0),
    row("decimal", 106, 17, 38, 38),
    row("numeric", 108, 17, 38, 38),
    row("smallmoney", 122, 4, 10, 4),
    row("bigint", 127, 8, 19, 0),
    row("varbinary", 165, 8000, 0, 0),
    row("varchar", 167, 8000, 0, 0),
    row("binary", 173, 8000, 0, 0),
    row("char", 175, 8000, 0, 0),
    row("timestamp", 189, 8, 0, 0),
    row("nvarchar", 231, 8000, 0, 0),
    row("nchar", 239, 8000, 0, 0),
    row("xml", 241, -1, 0, 0),
    clr("hierarchyid", 128, 892),
    clr("geometry", 129, -1),
    clr("geography", 130, -1),
    SystemType {
        name: "sysname",
        system_type_id: 231,
        user_type_id: 256,
        max_length: 256,
        precision: 0,
        scale: 0,
        has_collation: true,
    },
];

/// All rows of `sys.types` that are not user-defined.
#[must_use]
pub fn system_types() -> &'static [SystemType] {
    &SYSTEM_TYPES
}

impl SqlType {
    /// The name without arguments, as `sys.types` and messages have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        use SqlType as T;
        match self {
            T::Bit => "bit",
            T::TinyInt => "tinyint",
            T::SmallInt => "smallint",
            T::Int | T::Null => "int",
            T::BigInt => "bigint",
            T::Decimal { .. } => "decimal",
            T::Numeric { .. } => "numeric",
            T::Money => "money",
            T::SmallMoney => "smallmoney",
            T::Real => "real",
            T::Float => "float",
            T::Date => "date",
            T::Time(_) => "time",
            T::DateTime => "datetime",
            T::SmallDateTime => "smalldatetime",
            T::DateTime2(_) => "datetime2",
            T::DateTimeOffset(_) => "datetimeoffset",
            T::Char(_) => "char",
            T::VarChar(_) => "varchar",
            T::NChar(_) => "nchar",
            T::NVarChar(_) => "nvarchar",
            T::Text => "text",
            T::NText => "ntext",
            T::Binary(_) => "binary",
            T::VarBinary(_) => "varbinary",
            T::Image => "image",
            T::UniqueIdentifier => "uniqueidentifier",
            T::RowVersion => "timestamp",
            T::SqlVariant => "sql_variant",
            T::Xml | T::TypedXml(_) => "xml",
            T::HierarchyId => "hierarchyid",
            T::Geometry => "geometry",
            T::Geography => "geography",
            T::Encrypted(_) => "varbinary",
        }
    }

    /// `system_type_id` of `sys.types`.
    #[must_use]
    pub const fn system_type_id(self) -> u8 {
        use SqlType as T;
        match self {
            T::Image => 34,
            T::Text => 35,
            T::UniqueIdentifier => 36,
            T::Date => 40,
            T::Time(_) => 41,
            T::DateTime2(_) => 42,
            T::DateTimeOffset(_) => 43,
            T::TinyInt => 48,
            T::SmallInt => 52,
            T::Int | T::Null => 56,
            T::SmallDateTime => 58,
            T::Real => 59,
            T::Money => 60,
            T::DateTime => 61,
            T::Float => 62,
            T::SqlVariant => 98,
            T::NText => 99,
            T::Bit => 104,
            T::Decimal { .. } => 106,
            T::Numeric { .. } => 108,
            T::SmallMoney => 122,
            T::BigInt => 127,
            T::VarBinary(_) | T::Encrypted(_) => 165,
            T::VarChar(_) => 167,
            T::Binary(_) => 173,
            T::Char(_) => 175,
            T::RowVersion => 189,
            T::NVarChar(_) => 231,
            T::NChar(_) => 239,
            T::HierarchyId | T::Geometry | T::Geography => 240,
            T::Xml | T::TypedXml(_) => 241,
        }
    }

    /// `user_type_id` of `sys.types`: the same number, but of the types with methods; `sysname` does not survive in [`SqlType`].
    #[must_use]
    pub const fn user_type_id(self) -> i32 {
        match self {
            SqlType::HierarchyId => 128,
            SqlType::Geometry => 129,
            SqlType::Geography => 130,
            other => other.system_type_id() as i32,
        }
    }

    /// `max_length` of `sys.columns`: bytes, -1 for the `max` types, 16 for the old large types.
    #[must_use]
    pub const fn max_length_bytes(self) -> i16 {
        use SqlType as T;
        match self {
            T::Bit | T::TinyInt => 1,
            T::SmallInt => 2,
            T::Int | T::Null | T::Real | T::SmallMoney | T::SmallDateTime => 4,
            T::BigInt | T::Float | T::Money | T::DateTime | T::RowVersion => 8,
            T::Decimal { precision, .. } | T::Numeric { precision, .. } => match precision {
                0..=9 => 5,
                10..=19 => 9,
                20..=28 => 13,
                _ => 17,
            },
            T::Date => 3,
            T::Time(s) => time_bytes(s),
            T::DateTime2(s) => time_bytes(s) + 3,
            T::DateTimeOffset(s) => time_bytes(s) + 5,
            T::Char(n) | T::Binary(n) => n as i16,
            T::NChar(n) => (n * 2) as i16,
            T::VarChar(Length::Limited(n)) | T::VarBinary(Length::Limited(n)) => n as i16,
            T::NVarChar(Length::Limited(n)) => (n * 2) as i16,
            T::VarChar(Length::Max)
            | T::NVarChar(Length::Max)
            | T::VarBinary(Length::Max)
            | T::Xml
            | T::TypedXml(_)
            | T::Encrypted(_) => -1,
            T::Geometry | T::Geography => -1,
            T::HierarchyId => 892,
            T::Text | T::NText | T::Image | T::UniqueIdentifier => 16,
            T::SqlVariant => 8016,
        }
    }

    /// `precision` of `sys.columns`; 0 for types that have none.
    #[must_use]
    pub const fn precision(self) -> u8 {
        use SqlType as T;
        match self {
            T::Bit => 1,
            T::TinyInt => 3,
            T::SmallInt => 5,
            T::Int | T::Null | T::SmallMoney | T::Date => 10,
            T::BigInt | T::Money => 19,
            T::Decimal { precision, .. } | T::Numeric { precision, .. } => precision,
            T::Real => 24,
            T::Float => 53,
            T::DateTime => 23,
            T::SmallDateTime => 16,
            T::Time(s) => with_fraction(8, s),
            T::DateTime2(s) => with_fraction(19, s),
            T::DateTimeOffset(s) => with_fraction(26, s),
            _ => 0,
        }
    }

    /// `scale` of `sys.columns`; 0 for types that have none.
    #[must_use]
    pub const fn scale(self) -> u8 {
        use SqlType as T;
        match self {
            T::Decimal { scale, .. } | T::Numeric { scale, .. } => scale,
            T::Money | T::SmallMoney => 4,
            T::DateTime => 3,
            T::Time(s) | T::DateTime2(s) | T::DateTimeOffset(s) => s,
            _ => 0,
        }
    }

    /// Characters needed to show any value of the type (`display_size` of client metadata); `None` when unbounded.
    #[must_use]
    pub const fn display_size(self) -> Option<u32> {
        use SqlType as T;
        Some(match self {
            T::Bit => 1,
            T::TinyInt => 3,
            T::SmallInt => 6,
            T::Int | T::Null => 11,
            T::BigInt => 20,
            T::Decimal { precision, .. } | T::Numeric { precision, .. } => precision as u32 + 3,
            T::Money => 21,
            T::SmallMoney => 12,
            T::Real => 14,
            T::Float => 24,
            T::Date | T::Time(_) | T::DateTime2(_) | T::DateTime | T::SmallDateTime => {
                self.precision() as u32
            }
            T::DateTimeOffset(_) => self.precision() as u32,
            T::Char(n) | T::NChar(n) => n as u32,
            T::VarChar(Length::Limited(n)) | T::NVarChar(Length::Limited(n)) => n as u32,
            T::Binary(n) | T::VarBinary(Length::Limited(n)) => 2 * n as u32,
            T::RowVersion => 16,
            T::UniqueIdentifier => 36,
            T::SqlVariant => 8000,
            T::VarChar(Length::Max) | T::NVarChar(Length::Max) | T::VarBinary(Length::Max) => return None,
            T::HierarchyId => 892,
            T::Text | T::NText | T::Image | T::Xml | T::TypedXml(_) | T::Geometry | T::Geography => {
                return None;
            }
            T::Encrypted(_) => return None,
        })
    }
}

const fn time_bytes(scale: u8) -> i16 {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

const fn with_fraction(base: u8, scale: u8) -> u8 {
    if scale == 0 { base } else { base + 1 + scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalog_numbers() {
        let check = |t: SqlType, shown: &str, bytes: i16, precision: u8, scale: u8| {
            assert_eq!(
                (t.to_string().as_str(), t.max_length_bytes(), t.precision(), t.scale()),
                (shown, bytes, precision, scale)
            );
        };
        check(SqlType::Decimal { precision: 10, scale: 2 }, "decimal(10,2)", 9, 10, 2);
        check(SqlType::NVarChar(Length::Limited(50)), "nvarchar(50)", 100, 0, 0);
        check(SqlType::VarChar(Length::Max), "varchar(max)", -1, 0, 0);
        check(SqlType::Time(7), "time(7)", 5, 16, 7);
        check(SqlType::DateTime2(0), "datetime2(0)", 6, 19, 0);
        check(SqlType::DateTimeOffset(7), "datetimeoffset(7)", 10, 34, 7);
        check(SqlType::DateTime, "datetime", 8, 23, 3);
    }

    #[test]
    fn every_system_type_has_its_row() {
        for t in
            [SqlType::Bit, SqlType::Int, SqlType::Money, SqlType::Xml, SqlType::RowVersion, SqlType::Geometry]
        {
            let found = system_types().iter().find(|r| r.user_type_id == t.user_type_id());
            assert_eq!(found.map(|r| r.name), Some(t.name()));
        }
    }
}
