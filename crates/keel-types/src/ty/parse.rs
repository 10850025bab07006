//! From a declared type name with arguments to a [`SqlType`], with the errors of the product.
//!
//! The parser hands over the words as written, joined by single blanks (`double precision`,
//! `national character varying`); user-defined types are the catalog's business and are looked up before or after.

use super::{Length, SqlType};
use crate::error::{Result, SqlError};

/// One argument in the parentheses after a type name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeArg {
    /// A number.
    Number(i64),
    /// The word `max`.
    Max,
}

/// Where the declaration stands: some messages name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeSite {
    /// Number of the column, parameter or variable, from 1.
    pub ordinal: u32,
    /// Line in the batch, from 1.
    pub line: u32,
    /// Length of a string or binary type without arguments: 1 in declarations, 30 in `CAST` and `CONVERT`.
    pub default_length: u16,
}

impl Default for TypeSite {
    fn default() -> TypeSite {
        TypeSite { ordinal: 1, line: 1, default_length: 1 }
    }
}

impl TypeSite {
    /// The site of a `CAST` or `CONVERT`, where a missing length means 30.
    #[must_use]
    pub fn cast(line: u32) -> TypeSite {
        TypeSite { ordinal: 1, line, default_length: 30 }
    }

    fn in_cast(self) -> bool {
        self.default_length == 30
    }
}

/// Finds the system type with this name and arguments. Errors: 2715 (243 in a conversion) unknown name, 2716 (291)
/// arguments on a type that has none, 1001 and 1002 bad length or scale, 131 too long, 2750 (2717 beside a scale) precision too large,
/// 192 a scale larger than the precision.
pub fn parse_type(name: &str, args: &[TypeArg], site: TypeSite) -> Result<SqlType> {
    use SqlType as T;
    let lower = name.trim().to_ascii_lowercase();
    let plain = |t: SqlType| if args.is_empty() { Ok(t) } else { Err(no_width(&lower, site)) };
    match lower.as_str() {
        "bit" => plain(T::Bit),
        "tinyint" => plain(T::TinyInt),
        "smallint" => plain(T::SmallInt),
        "int" | "integer" => plain(T::Int),
        "bigint" => plain(T::BigInt),
        "decimal" | "dec" => decimal(args, site).map(|(precision, scale)| T::Decimal { precision, scale }),
        "numeric" => decimal(args, site).map(|(precision, scale)| T::Numeric { precision, scale }),
        "money" => plain(T::Money),
        "smallmoney" => plain(T::SmallMoney),
        "real" => plain(T::Real),
        "float" => float(args, site),
        "double precision" => plain(T::Float),
        "date" => plain(T::Date),
        "time" => fraction(args, site).map(T::Time),
        "datetime" => plain(T::DateTime),
        "smalldatetime" => plain(T::SmallDateTime),
        "datetime2" => fraction(args, site).map(T::DateTime2),
        "datetimeoffset" => fraction(args, site).map(T::DateTimeOffset),
        "char" | "character" => fixed("char", args, 8000, site).map(T::Char),
        "nchar" | "national char" | "national character" => fixed("nchar", args, 4000, site).map(T::NChar),
        "varchar" | "char varying" | "character varying" => {
            varying("varchar", args, 8000, site).map(T::VarChar)
        }
        "nvarchar" | "national char varying" | "national character varying" => {
            varying("nvarchar", args, 4000, site).map(T::NVarChar)
        }
        "sysname" => plain(SqlType::SYSNAME),
        "text" => plain(T::Text),
        "ntext" | "national text" => plain(T::NText),
        "binary" => fixed("binary", args, 8000, site).map(T::Binary),
        "varbinary" | "binary varying" => varying("varbinary", args, 8000, site).map(T::VarBinary),
        "image" => plain(T::Image),
        "uniqueidentifier" => plain(T::UniqueIdentifier),
        "rowversion" | "timestamp" => plain(T::RowVersion),
        "sql_variant" => plain(T::SqlVariant),
        "xml" => Ok(T::Xml),
        "hierarchyid" => plain(T::HierarchyId),
        "geometry" => plain(T::Geometry),
        "geography" => plain(T::Geography),
        _ => Err(unknown_type(name, site)),
    }
}

/// Error 2715, or 243 in a conversion, for a name that is neither a system nor a user-defined type.
#[must_use]
pub fn unknown_type(name: &str, site: TypeSite) -> Box<SqlError> {
    if site.in_cast() {
        return SqlError::new(243, 16, 1, format!("Type {name} is not a defined system type."));
    }
    let text = format!("Column, parameter, or variable #{}: Cannot find data type {name}.", site.ordinal);
    SqlError::new(2715, 16, 6, text)
}

fn no_width(name: &str, site: TypeSite) -> Box<SqlError> {
    if site.in_cast() {
        let text = format!("CAST or CONVERT: invalid attributes specified for type '{name}'");
        return SqlError::new(291, 16, 1, text);
    }
    let text = format!(
        "Column, parameter, or variable #{}: Cannot specify a column width on data type {name}.",
        site.ordinal
    );
    SqlError::new(2716, 16, 1, text)
}

fn bad_length(n: i64, site: TypeSite) -> Box<SqlError> {
    SqlError::new(
        1001,
        15,
        1,
        format!("Line {}: Length or precision specification {n} is invalid.", site.line),
    )
}

fn bad_scale(n: i64, site: TypeSite) -> Box<SqlError> {
    SqlError::new(1002, 15, 1, format!("Line {}: Specified scale {n} is invalid.", site.line))
}

/// 192: of a column it is 183, which names it.
fn scale_over_precision() -> Box<SqlError> {
    SqlError::new(192, 15, 1, "The scale must be less than or equal to the precision.")
}

fn too_long(name: &str, n: i64, max: u16) -> Box<SqlError> {
    let text = format!(
        "The size ({n}) given to the type '{name}' exceeds the maximum allowed for any data type ({max})."
    );
    SqlError::new(131, 15, 3, text)
}

fn fixed(name: &str, args: &[TypeArg], max: u16, site: TypeSite) -> Result<u16> {
    match varying(name, args, max, site)? {
        Length::Limited(n) => Ok(n),
        Length::Max => Err(bad_length(-1, site)),
    }
}

fn varying(name: &str, args: &[TypeArg], max: u16, site: TypeSite) -> Result<Length> {
    match args {
        [] => Ok(Length::Limited(site.default_length)),
        [TypeArg::Max] => Ok(Length::Max),
        [TypeArg::Number(n)] if *n < 1 => Err(bad_length(*n, site)),
        [TypeArg::Number(n)] => match u16::try_from(*n) {
            Ok(length) if length <= max => Ok(Length::Limited(length)),
            _ => Err(too_long(name, *n, max)),
        },
        _ => Err(no_width(name, site)),
    }
}

fn decimal(args: &[TypeArg], site: TypeSite) -> Result<(u8, u8)> {
    let (p, s) = match args {
        [] => (18, 0),
        [TypeArg::Number(p)] => (*p, 0),
        [TypeArg::Number(p), TypeArg::Number(s)] => (*p, *s),
        _ => return Err(bad_length(-1, site)),
    };
    if p < 1 {
        return Err(bad_length(p, site));
    }
    if p > 38 && args.len() == 2 {
        let text = format!("The size ({p}) given to the type 'decimal' exceeds the maximum allowed (38).");
        return Err(SqlError::new(2717, 16, 2, text));
    }
    if p > 38 {
        let text = format!(
            "Column or parameter #{}: Specified column precision {p} is greater than the maximum precision of 38.",
            site.ordinal
        );
        return Err(SqlError::new(2750, 16, 1, text));
    }
    if s < 0 {
        return Err(bad_scale(s, site));
    }
    if s > p {
        return Err(scale_over_precision());
    }
    Ok((p as u8, s as u8))
}

fn float(args: &[TypeArg], site: TypeSite) -> Result<SqlType> {
    match args {
        [] => Ok(SqlType::Float),
        [TypeArg::Number(1..=24)] => Ok(SqlType::Real),
        [TypeArg::Number(25..=53)] => Ok(SqlType::Float),
        [TypeArg::Number(n)] if *n > 53 => {
            let text = format!(
                "Column or parameter #{}: Specified column precision {n} is greater than the maximum precision of 53.",
                site.ordinal
            );
            Err(SqlError::new(2750, 16, 1, text))
        }
        [TypeArg::Number(n)] => Err(bad_length(*n, site)),
        _ => Err(bad_length(-1, site)),
    }
}

fn fraction(args: &[TypeArg], site: TypeSite) -> Result<u8> {
    match args {
        [] => Ok(7),
        [TypeArg::Number(n @ 0..=7)] => Ok(*n as u8),
        [TypeArg::Number(n)] => Err(bad_scale(*n, site)),
        _ => Err(bad_scale(-1, site)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types() {
        use TypeArg::{Max, Number};
        let check = |name: &str, args: &[TypeArg], expect: std::result::Result<&str, i32>| {
            let got = parse_type(name, args, TypeSite::default());
            assert_eq!(got.map(|t| t.to_string()).map_err(|e| e.number), expect.map(str::to_owned), "{name}");
        };
        check("INT", &[], Ok("int"));
        check("varchar", &[], Ok("varchar(1)"));
        check("varchar", &[Max], Ok("varchar(max)"));
        check("nvarchar", &[Number(4001)], Err(131));
        check("char", &[Number(0)], Err(1001));
        check("decimal", &[], Ok("decimal(18,0)"));
        check("numeric", &[Number(39)], Err(2750));
        check("decimal", &[Number(39), Number(2)], Err(2717));
        check("decimal", &[Number(5), Number(6)], Err(192));
        check("float", &[Number(24)], Ok("real"));
        check("double precision", &[], Ok("float"));
        check("datetime2", &[Number(8)], Err(1002));
        check("int", &[Number(4)], Err(2716));
        check("sysname", &[], Ok("nvarchar(128)"));
        check("geography", &[], Ok("geography"));
        check("geometries", &[], Err(2715));
    }
}
