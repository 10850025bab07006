//! Which type comes out: data type precedence, the type that `CASE`, `UNION`, `COALESCE` and comparisons merge to, and
//! the result type of the binary operators with the decimal precision and scale rules.
//!
//! Decimal results that would need more than 38 digits are reduced as the product does it: for `+` and `-` the scale
//! gives way until the integral part fits; for `*` and `/` the scale gives way too, but not below 6.

use super::{Family, Length, SqlType, encrypted};
use crate::error::{Result, SqlError};

/// Binary operators that compute a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`, on strings and binaries concatenation
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
}

impl BinaryOp {
    /// The operator's name in messages 402 and 8117.
    #[must_use]
    pub const fn message_name(self) -> &'static str {
        match self {
            BinaryOp::Add => "add",
            BinaryOp::Subtract => "subtract",
            BinaryOp::Multiply => "multiply",
            BinaryOp::Divide => "divide",
            BinaryOp::Modulo => "modulo",
            BinaryOp::BitAnd => "'&'",
            BinaryOp::BitOr => "'|'",
            BinaryOp::BitXor => "'^'",
        }
    }

    const fn is_bitwise(self) -> bool {
        matches!(self, BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor)
    }
}

/// Error 402: the operator does not take this pair of types.
#[must_use]
pub fn incompatible(left: SqlType, right: SqlType, operator: &str) -> Box<SqlError> {
    let text = format!(
        "The data types {} and {} are incompatible in the {operator} operator.",
        left.operand_name(),
        right.operand_name()
    );
    SqlError::new(402, 16, 1, text)
}

/// Error 8117: the operator (or aggregate) does not take this type.
#[must_use]
pub fn invalid_operand(ty: SqlType, operator: &str) -> Box<SqlError> {
    SqlError::new(
        8117,
        16,
        1,
        format!("Operand data type {} is invalid for {operator} operator.", ty.operand_name()),
    )
}

/// Error 206: no implicit conversion joins these types.
#[must_use]
pub fn operand_clash(from: SqlType, to: SqlType) -> Box<SqlError> {
    let text =
        format!("Operand type clash: {} is incompatible with {}", from.operand_name(), to.operand_name());
    SqlError::new(206, 16, 2, text)
}

impl SqlType {
    /// Data type precedence: the higher number wins when two types meet.
    #[must_use]
    pub const fn precedence(self) -> u8 {
        use SqlType as T;
        match self {
            T::Null => 0,
            T::Binary(_) => 1,
            T::VarBinary(_) => 2,
            T::Char(_) => 3,
            T::VarChar(_) => 4,
            T::NChar(_) => 5,
            T::NVarChar(_) => 6,
            T::UniqueIdentifier => 7,
            T::RowVersion => 8,
            T::Image => 9,
            T::Text => 10,
            T::NText => 11,
            T::Bit => 12,
            T::TinyInt => 13,
            T::SmallInt => 14,
            T::Int => 15,
            T::BigInt => 16,
            T::SmallMoney => 17,
            T::Money => 18,
            T::Decimal { .. } | T::Numeric { .. } => 19,
            T::Real => 20,
            T::Float => 21,
            T::Time(_) => 22,
            T::Date => 23,
            T::SmallDateTime => 24,
            T::DateTime => 25,
            T::DateTime2(_) => 26,
            T::DateTimeOffset(_) => 27,
            T::Xml | T::TypedXml(_) => 28,
            T::SqlVariant => 29,
            T::HierarchyId => 30,
            T::Geometry => 31,
            T::Geography => 32,
            T::Encrypted(_) => 33,
        }
    }

    /// Precision and scale that a numeric type has when it meets a decimal.
    #[must_use]
    pub const fn as_decimal_parts(self) -> Option<(u8, u8)> {
        use SqlType as T;
        Some(match self {
            T::Bit => (1, 0),
            T::TinyInt => (3, 0),
            T::SmallInt => (5, 0),
            T::Int | T::Null => (10, 0),
            T::BigInt => (19, 0),
            T::SmallMoney => (10, 4),
            T::Money => (19, 4),
            T::Decimal { precision, scale } | T::Numeric { precision, scale } => (precision, scale),
            _ => return None,
        })
    }

    /// The type an integer constant takes beside a decimal: just as many digits as it has.
    #[must_use]
    pub fn numeric_of_literal(value: i64) -> SqlType {
        let precision = value.unsigned_abs().checked_ilog10().unwrap_or(0) as u8 + 1;
        SqlType::Numeric { precision, scale: 0 }
    }
}

/// The type in which `CASE` branches, `UNION` columns, `COALESCE` arguments or two sides of a comparison meet: the one of
/// higher precedence, wide enough for both. Error 206 when one does not convert to the other implicitly.
pub fn common(left: SqlType, right: SqlType) -> Result<SqlType> {
    use SqlType as T;
    if left == right || right == T::Null || encrypted::takes(left, right) {
        return Ok(left);
    }
    if left == T::Null || encrypted::takes(right, left) {
        return Ok(right);
    }
    let (low, high) = if left.precedence() > right.precedence() { (right, left) } else { (left, right) };
    if !implicitly_converts(low, high) {
        return Err(operand_clash(left, right));
    }
    Ok(match high {
        T::Decimal { .. } if !matches!(low, T::Numeric { .. }) => {
            merge_decimal(low, high).map_or(high, |(p, s)| T::Decimal { precision: p, scale: s })
        }
        T::Decimal { .. } | T::Numeric { .. } => {
            merge_decimal(low, high).map_or(high, |(p, s)| T::Numeric { precision: p, scale: s })
        }
        T::Time(s) => T::Time(s.max(fraction_of(low))),
        T::DateTime2(s) => T::DateTime2(s.max(fraction_of(low))),
        T::DateTimeOffset(s) => T::DateTimeOffset(s.max(fraction_of(low))),
        T::Char(_) | T::VarChar(_) | T::NChar(_) | T::NVarChar(_) | T::Binary(_) | T::VarBinary(_) => {
            merge_length(low, high)
        }
        // Of two collections none is the other.
        T::TypedXml(_) if low != high => T::Xml,
        other => other,
    })
}

/// Whether the product converts from one to the other without being asked (assignment and operators).
#[must_use]
pub fn implicitly_converts(from: SqlType, to: SqlType) -> bool {
    use Family as F;
    use SqlType as T;
    if matches!(from, T::Null) {
        return true;
    }
    if from.is_encrypted() || to.is_encrypted() {
        return from == to || encrypted::takes(to, from);
    }
    let old_large =
        matches!(from, T::Text | T::NText | T::Image) || matches!(to, T::Text | T::NText | T::Image);
    if old_large {
        return match (from, to) {
            (_, T::Xml | T::TypedXml(_)) => true,
            (T::Image, _) => to.is_binary(),
            (_, T::Image) => from.is_binary() || matches!(from, T::Char(_) | T::VarChar(_)),
            _ => from.is_string() && to.is_string(),
        };
    }
    if from.is_clr() || to.is_clr() {
        let from_bytes = from.is_string() || matches!(from, T::Binary(_) | T::VarBinary(_));
        return from_bytes || from.user_type_id() == to.user_type_id();
    }
    match (from.family(), to.family()) {
        (F::Variant, F::Variant) | (F::Xml, F::Xml) => true,
        (F::Variant, _) | (F::Xml, _) => false,
        (_, F::Variant) => !from.is_large(),
        (f, F::Xml) => matches!(f, F::String | F::NationalString | F::Binary),
        (F::String | F::NationalString, F::Binary) => false,
        (F::Binary, F::String | F::NationalString) => true,
        (F::String | F::NationalString, _) => true,
        (F::Binary, F::Float | F::Date | F::Time | F::DateTime2 | F::DateTimeOffset) => false,
        (F::Binary, _) => true,
        (F::Float | F::Date | F::Time | F::DateTime2 | F::DateTimeOffset | F::Guid, F::Binary) => {
            matches!(from, T::UniqueIdentifier)
        }
        (_, F::String | F::NationalString) => true,
        (F::Guid, F::Guid) => true,
        (F::Guid, _) | (_, F::Guid) => false,
        (F::Date, F::Time) | (F::Time, F::Date) => false,
        (F::Date | F::Time | F::DateTime2 | F::DateTimeOffset, _) => to.is_temporal(),
        (F::DateTime, _) => to.is_temporal() || matches!(to.family(), F::Binary),
        (_, F::Date | F::Time | F::DateTime2 | F::DateTimeOffset) => false,
        _ => true,
    }
}

/// Fractional digits that a type brings into a merge of temporal types.
const fn fraction_of(ty: SqlType) -> u8 {
    match ty {
        SqlType::DateTime => 3,
        SqlType::Time(s) | SqlType::DateTime2(s) | SqlType::DateTimeOffset(s) => s,
        _ => 0,
    }
}

fn merge_decimal(low: SqlType, high: SqlType) -> Option<(u8, u8)> {
    let (p1, s1) = low.as_decimal_parts()?;
    let (p2, s2) = high.as_decimal_parts()?;
    let integral = (p1 - s1).max(p2 - s2);
    let scale = s1.max(s2).min(38 - integral);
    Some((integral + scale, scale))
}

/// Characters that a type needs when it becomes part of a string (or bytes, of a binary).
fn string_length(ty: SqlType) -> Length {
    match ty.length() {
        Some(length) => length,
        None => Length::Limited(ty.display_size().unwrap_or(8000).min(8000) as u16),
    }
}

fn merge_length(low: SqlType, high: SqlType) -> SqlType {
    use SqlType as T;
    let both_fixed = matches!((low, high), (T::Char(_) | T::NChar(_), T::Char(_) | T::NChar(_)))
        || matches!((low, high), (T::Binary(_), T::Binary(_)));
    let length = match (string_length(low), string_length(high)) {
        (Length::Max, _) | (_, Length::Max) => Length::Max,
        (Length::Limited(a), Length::Limited(b)) => Length::Limited(a.max(b)),
    };
    with_length(high, length, both_fixed)
}

/// The string or binary type of `like`'s kind with this length, capped at what the kind allows.
fn with_length(like: SqlType, length: Length, fixed: bool) -> SqlType {
    use SqlType as T;
    let cap = if like.is_national() { 4000 } else { 8000 };
    let length = match length {
        Length::Limited(n) => Length::Limited(n.clamp(1, cap)),
        Length::Max => Length::Max,
    };
    match (like.family(), length) {
        (Family::NationalString, Length::Limited(n)) if fixed => T::NChar(n),
        (Family::NationalString, _) => T::NVarChar(length),
        (Family::Binary, Length::Limited(n)) if fixed => T::Binary(n),
        (Family::Binary, _) => T::VarBinary(length),
        (_, Length::Limited(n)) if fixed => T::Char(n),
        _ => T::VarChar(length),
    }
}

/// The result type of `left op right`. Both sides are then converted: see [`operand_types`].
pub fn binary_result(op: BinaryOp, left: SqlType, right: SqlType) -> Result<SqlType> {
    let (left, right) = match (left, right) {
        (SqlType::Null, SqlType::Null) => (SqlType::Int, SqlType::Int),
        (SqlType::Null, other) | (other, SqlType::Null) => (other, other),
        both => both,
    };
    if op.is_bitwise() {
        return bitwise_result(op, left, right);
    }
    if (left.is_string() || left.is_binary()) && (right.is_string() || right.is_binary()) {
        return concat_result(op, left, right);
    }
    if left.is_temporal() || right.is_temporal() {
        return temporal_result(op, left, right);
    }
    let high = if left.precedence() >= right.precedence() { left } else { right };
    let low = if left.precedence() >= right.precedence() { right } else { left };
    if op == BinaryOp::Modulo && (left.family() == Family::Float || right.family() == Family::Float) {
        return Err(if left.family() == right.family() {
            invalid_operand(left, op.message_name())
        } else {
            incompatible(left, right, op.message_name())
        });
    }
    if !high.is_numeric() {
        return Err(if left.family() == right.family() {
            invalid_operand(left, op.message_name())
        } else {
            incompatible(left, right, op.message_name())
        });
    }
    if !implicitly_converts(low, high) {
        return Err(operand_clash(left, right));
    }
    match high.family() {
        Family::Decimal => decimal_result(op, left, right),
        Family::Bit => Err(no_operation(op, left, right)),
        _ => Ok(high),
    }
}

/// What two bits or two binaries are told: 8117 of the left one where they cannot be multiplied, 402 of both elsewhere.
fn no_operation(op: BinaryOp, left: SqlType, right: SqlType) -> Box<SqlError> {
    match op {
        BinaryOp::Multiply | BinaryOp::Divide => invalid_operand(left, op.message_name()),
        _ => incompatible(left, right, op.message_name()),
    }
}

fn bitwise_result(op: BinaryOp, left: SqlType, right: SqlType) -> Result<SqlType> {
    let integral = |t: SqlType| matches!(t.family(), Family::Bit | Family::Integer);
    // A binary or a string beside a whole number becomes one.
    let becomes = |t: SqlType| t.is_binary() || t.is_string() && !matches!(t, SqlType::Text | SqlType::NText);
    match (integral(left), integral(right)) {
        (true, true) => Ok(if left.precedence() >= right.precedence() { left } else { right }),
        (true, false) if becomes(right) => Ok(left),
        (false, true) if becomes(left) => Ok(right),
        _ if left.is_binary() && right.is_binary() => Err(no_operation(op, left, right)),
        _ if left == right => Err(invalid_operand(left, op.message_name())),
        _ => Err(incompatible(left, right, op.message_name())),
    }
}

fn concat_result(op: BinaryOp, left: SqlType, right: SqlType) -> Result<SqlType> {
    use SqlType as T;
    if op != BinaryOp::Add && left.is_binary() && right.is_binary() {
        return Err(no_operation(op, left, right));
    }
    if op != BinaryOp::Add {
        return Err(if left.name() == right.name() {
            invalid_operand(left, op.message_name())
        } else {
            incompatible(left, right, op.message_name())
        });
    }
    if matches!(left, T::Text | T::NText | T::Image) || matches!(right, T::Text | T::NText | T::Image) {
        return Err(incompatible(left, right, "add"));
    }
    if left.is_binary() != right.is_binary() {
        return Err(incompatible(left, right, "add"));
    }
    let high = if left.precedence() >= right.precedence() { left } else { right };
    let fixed = matches!((left, right), (T::Char(_) | T::NChar(_), T::Char(_) | T::NChar(_)))
        || matches!((left, right), (T::Binary(_), T::Binary(_)));
    let length = match (string_length(left), string_length(right)) {
        (Length::Max, _) | (_, Length::Max) => Length::Max,
        (Length::Limited(a), Length::Limited(b)) => Length::Limited(a.saturating_add(b)),
    };
    Ok(with_length(high, length, fixed))
}

fn temporal_result(op: BinaryOp, left: SqlType, right: SqlType) -> Result<SqlType> {
    let classic = |t: SqlType| t.family() == Family::DateTime;
    if !matches!(op, BinaryOp::Add | BinaryOp::Subtract) {
        return Err(if left == right {
            invalid_operand(left, op.message_name())
        } else {
            incompatible(left, right, op.message_name())
        });
    }
    if (classic(left) || !left.is_temporal()) && (classic(right) || !right.is_temporal()) {
        let (low, high) = if left.precedence() >= right.precedence() { (right, left) } else { (left, right) };
        return match implicitly_converts(low, high) {
            true if classic(high) => Ok(high),
            true => Err(incompatible(left, right, op.message_name())),
            false => Err(operand_clash(left, right)),
        };
    }
    if left.is_temporal() && right.is_temporal() {
        return Err(if left.family() == right.family() {
            invalid_operand(left, op.message_name())
        } else {
            incompatible(left, right, op.message_name())
        });
    }
    Err(if left.is_string() || right.is_string() {
        incompatible(left, right, op.message_name())
    } else {
        operand_clash(left, right)
    })
}

fn decimal_result(op: BinaryOp, left: SqlType, right: SqlType) -> Result<SqlType> {
    // A string or a bit beside a decimal is converted to the decimal's own type.
    let other_parts = |t: SqlType, o: SqlType| match t {
        SqlType::Bit => o.as_decimal_parts(),
        _ => t.as_decimal_parts().or(o.as_decimal_parts()),
    };
    let (Some((p1, s1)), Some((p2, s2))) = (other_parts(left, right), other_parts(right, left)) else {
        return Err(incompatible(left, right, op.message_name()));
    };
    let (precision, scale) = decimal_parts(op, (p1, s1), (p2, s2));
    let named_numeric = |t: SqlType| matches!(t, SqlType::Numeric { .. });
    Ok(if named_numeric(left) || named_numeric(right) {
        SqlType::Numeric { precision, scale }
    } else {
        SqlType::Decimal { precision, scale }
    })
}

/// Precision and scale of a decimal operation, reduced to 38 digits.
#[must_use]
pub fn decimal_parts(op: BinaryOp, (p1, s1): (u8, u8), (p2, s2): (u8, u8)) -> (u8, u8) {
    let (p1, s1, p2, s2) = (p1 as i32, s1 as i32, p2 as i32, s2 as i32);
    let integral = (p1 - s1).max(p2 - s2);
    let (p, s) = match op {
        BinaryOp::Add | BinaryOp::Subtract => (integral + s1.max(s2) + 1, s1.max(s2)),
        BinaryOp::Multiply => (p1 + p2 + 1, s1 + s2),
        BinaryOp::Divide => {
            let s = 6.max(s1 + p2 + 1);
            (p1 - s1 + s2 + s, s)
        }
        _ => {
            let s = s1.max(s2);
            ((p1 - s1).min(p2 - s2) + s, s)
        }
    };
    if p <= 38 {
        return (p.max(1) as u8, s as u8);
    }
    let scale = match op {
        BinaryOp::Add | BinaryOp::Subtract => s.min(38 - integral),
        _ => s.min(6).max(s.min(38 - (p - s))),
    };
    (38, scale.max(0) as u8)
}

/// The types both operands are converted to before the operation itself, which then sees only like types. Decimals keep
/// their own precision and scale.
pub fn operand_types(op: BinaryOp, left: SqlType, right: SqlType) -> Result<(SqlType, SqlType, SqlType)> {
    let result = binary_result(op, left, right)?;
    let side = |own: SqlType, other: SqlType| match result {
        SqlType::Decimal { .. } | SqlType::Numeric { .. } => match own.as_decimal_parts() {
            Some(_) if matches!(own, SqlType::Null | SqlType::Bit) => other,
            Some((precision, scale)) => SqlType::Numeric { precision, scale },
            None => other,
        },
        _ if result.is_string() || result.is_binary() => with_length(result, Length::Max, false),
        _ => result,
    };
    Ok((side(left, right), side(right, left), result))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ty::parse::{TypeArg, TypeSite, parse_type};

    fn ty(text: &str) -> SqlType {
        if text == "null" {
            return SqlType::Null;
        }
        let (name, rest) = text.split_once('(').unwrap_or((text, ""));
        let args: Vec<TypeArg> = rest
            .trim_end_matches(')')
            .split(',')
            .filter(|a| !a.is_empty())
            .map(|a| a.parse().map_or(TypeArg::Max, TypeArg::Number))
            .collect();
        parse_type(name, &args, TypeSite::default()).unwrap()
    }

    #[test]
    fn operators() {
        use BinaryOp::*;
        let check = |l: &str, op: BinaryOp, r: &str, expect: &str| {
            let got = match binary_result(op, ty(l), ty(r)) {
                Ok(t) => t.to_string(),
                Err(e) => e.number.to_string(),
            };
            assert_eq!(got, expect, "{l} {op:?} {r}");
        };
        check("int", Add, "int", "int");
        check("tinyint", Multiply, "smallint", "smallint");
        check("int", Divide, "bigint", "bigint");
        check("int", Add, "varchar(10)", "int");
        check("decimal(10,2)", Add, "decimal(12,4)", "decimal(13,4)");
        check("decimal(10,2)", Multiply, "int", "decimal(21,2)");
        check("numeric(38,10)", Divide, "numeric(38,10)", "numeric(38,6)");
        check("numeric(38,20)", Multiply, "numeric(38,20)", "numeric(38,6)");
        check("numeric(10,2)", Divide, "numeric(5,2)", "numeric(18,8)");
        check("numeric(38,10)", Add, "numeric(38,20)", "numeric(38,10)");
        check("numeric(10,2)", Modulo, "numeric(5,3)", "numeric(5,3)");
        check("money", Multiply, "int", "money");
        check("money", Multiply, "decimal(5,2)", "decimal(25,6)");
        check("money", Add, "float", "float");
        check("varchar(10)", Add, "varchar(20)", "varchar(30)");
        check("varchar(8000)", Add, "varchar(20)", "varchar(8000)");
        check("char(3)", Add, "nvarchar(20)", "nvarchar(23)");
        check("varchar(10)", Subtract, "varchar(10)", "8117");
        check("datetime", Add, "int", "datetime");
        check("datetime", Subtract, "datetime", "datetime");
        check("date", Add, "int", "206");
        check("bit", Add, "bit", "402");
        check("bit", Multiply, "bit", "8117");
        check("bit", Multiply, "decimal(5,2)", "decimal(11,4)");
        check("decimal(5,2)", Add, "numeric(5,2)", "numeric(6,2)");
        check("varbinary(2)", Subtract, "varbinary(1)", "402");
        check("varbinary(2)", Divide, "varbinary(1)", "8117");
        check("varbinary(2)", BitAnd, "varbinary(1)", "402");
        check("real", Modulo, "float", "8117");
        check("varbinary(2)", Modulo, "real", "402");
        check("bit", Add, "int", "int");
        check("int", BitAnd, "tinyint", "int");
        check("float", BitAnd, "int", "402");
        check("varchar(5)", BitAnd, "tinyint", "tinyint");
        check("varchar(5)", BitAnd, "varchar(5)", "8117");
        check("int", Add, "uniqueidentifier", "206");
        check("null", Add, "varchar(10)", "varchar(20)");
    }

    #[test]
    fn merges() {
        let check = |l: &str, r: &str, expect: &str| {
            let got = match common(ty(l), ty(r)) {
                Ok(t) => t.to_string(),
                Err(e) => e.number.to_string(),
            };
            assert_eq!(got, expect, "{l} with {r}");
            let flipped = common(ty(r), ty(l)).map_or_else(|e| e.number.to_string(), |t| t.to_string());
            assert_eq!(flipped, expect, "{r} with {l}");
        };
        check("int", "decimal(5,2)", "decimal(12,2)");
        check("varchar(5)", "char(9)", "varchar(9)");
        check("char(5)", "char(9)", "char(9)");
        check("varchar(max)", "nvarchar(9)", "nvarchar(max)");
        check("datetime", "varchar(9)", "datetime");
        check("date", "datetime2(3)", "datetime2(3)");
        check("int", "date", "206");
        check("null", "date", "date");
        check("uniqueidentifier", "varchar(36)", "uniqueidentifier");
        check("int", "uniqueidentifier", "206");
        check("decimal(38,0)", "decimal(38,10)", "decimal(38,0)");
    }
}
