//! The errors this crate raises, each with the product's number, severity, state and text.
//!
//! One function per message; callers never spell a number. Messages that need a column, a table or a procedure are
//! completed by whoever knows it.

use crate::error::SqlError;
use crate::ty::SqlType;

/// The type's name as conversion messages have it: decimal is always called numeric.
fn shown(ty: SqlType) -> &'static str {
    match ty {
        SqlType::Decimal { .. } => "numeric",
        other => other.name(),
    }
}

/// 6522: a method of a type that the product has from .NET failed. `site` is the method as the text ends with.
#[must_use]
pub fn clr_error(ty: &str, state: u8, exception: &str, message: &str, site: &str) -> Box<SqlError> {
    let text = format!(
        "A .NET Framework error occurred during execution of user-defined routine or aggregate \"{ty}\": \r\n{exception}: {message}\r\n{exception}: \r\n   at {site}\r\n."
    );
    SqlError::new(6522, 16, state, text)
}

/// 403: a text has no sign.
#[must_use]
pub fn invalid_sign(ty: SqlType) -> Box<SqlError> {
    let text =
        format!("Invalid operator for data type. Operator equals minus, type equals {}.", ty.operand_name());
    SqlError::new(403, 16, 1, text)
}

/// 403: geometry and geography do not compare.
#[must_use]
pub fn spatial_does_not_compare(operator: &str, ty: SqlType) -> Box<SqlError> {
    let text =
        format!("Invalid operator for data type. Operator equals {operator}, type equals {}.", ty.name());
    SqlError::new(403, 16, 1, text)
}

/// 245: a string is not a number of this type.
#[must_use]
pub fn conversion_failed(from: SqlType, text: &str, to: SqlType) -> Box<SqlError> {
    let text = format!(
        "Conversion failed when converting the {} value '{text}' to data type {}.",
        from.name(),
        to.name()
    );
    SqlError::new(245, 16, 1, text)
}

/// 8114: a value is not one of this type.
#[must_use]
pub fn error_converting(from: SqlType, to: SqlType) -> Box<SqlError> {
    SqlError::new(8114, 16, 5, format!("Error converting data type {} to {}.", shown(from), shown(to)))
}

/// 8115: the result of a computation does not fit.
#[must_use]
pub fn overflow(to: SqlType) -> Box<SqlError> {
    let text = format!("Arithmetic overflow error converting expression to data type {}.", shown(to));
    SqlError::new(8115, 16, 2, text)
}

/// 8115: an identity column has given out all its type has.
#[must_use]
pub fn identity_overflow(to: SqlType) -> Box<SqlError> {
    let text = format!("Arithmetic overflow error converting IDENTITY to data type {}.", shown(to));
    SqlError::new(8115, 16, 1, text)
}

/// 8115: a value of this type does not fit.
#[must_use]
pub fn overflow_from(from: SqlType, to: SqlType) -> Box<SqlError> {
    let text = format!("Arithmetic overflow error converting {} to data type {}.", shown(from), shown(to));
    SqlError::new(8115, 16, 8, text)
}

/// 220: an integer does not fit a smaller integer type.
#[must_use]
pub fn integer_overflow(to: SqlType, value: i64) -> Box<SqlError> {
    let text = format!("Arithmetic overflow error for data type {}, value = {value}.", to.name());
    SqlError::new(220, 16, 1, text)
}

/// 232: a float does not fit.
#[must_use]
pub fn float_overflow(to: SqlType, value: f64) -> Box<SqlError> {
    SqlError::new(
        232,
        16,
        3,
        format!("Arithmetic overflow error for type {}, value = {value:.6}.", to.name()),
    )
}

/// 244, 248 or 8115: the digits of a string make a number too large for an integer type.
#[must_use]
pub fn string_overflow(from: SqlType, text: &str, to: SqlType) -> Box<SqlError> {
    let column = match to {
        SqlType::TinyInt => "INT1",
        SqlType::SmallInt => "INT2",
        SqlType::BigInt => return overflow_from(from, to),
        _ => {
            let text =
                format!("The conversion of the {} value '{text}' overflowed an int column.", from.name());
            return SqlError::new(248, 16, 1, text);
        }
    };
    let text = format!(
        "The conversion of the {} value '{text}' overflowed an {column} column. Use a larger integer column.",
        from.name()
    );
    SqlError::new(244, 16, 2, text)
}

/// 235 or 293: a string is not an amount of money.
#[must_use]
pub fn not_money(to: SqlType) -> Box<SqlError> {
    match to {
        SqlType::SmallMoney => SqlError::new(
            293,
            16,
            0,
            "Cannot convert a char value to smallmoney. The char value has incorrect syntax.",
        ),
        _ => SqlError::new(
            235,
            16,
            0,
            "Cannot convert a char value to money. The char value has incorrect syntax.",
        ),
    }
}

/// 241 or 295: a string is not a date or time.
#[must_use]
pub fn not_a_date(to: SqlType) -> Box<SqlError> {
    match to {
        SqlType::SmallDateTime => SqlError::new(
            295,
            16,
            3,
            "Conversion failed when converting character string to smalldatetime data type.",
        ),
        _ => SqlError::new(
            241,
            16,
            1,
            "Conversion failed when converting date and/or time from character string.",
        ),
    }
}

/// 242: a date that exists, but not in the range of this type.
#[must_use]
pub fn date_out_of_range(from: SqlType, to: SqlType) -> Box<SqlError> {
    let text = format!(
        "The conversion of a {} data type to a {} data type resulted in an out-of-range value.",
        from.name(),
        to.name()
    );
    SqlError::new(242, 16, 3, text)
}

/// 517: date arithmetic left the range of the type.
#[must_use]
pub fn date_addition_overflow(ty: SqlType) -> Box<SqlError> {
    SqlError::new(517, 16, 1, format!("Adding a value to a '{}' column caused an overflow.", ty.name()))
}

/// 535: a difference of dates does not fit an integer.
#[must_use]
pub fn datediff_overflow(function: &str) -> Box<SqlError> {
    let text = format!(
        "The {function} function resulted in an overflow. The number of dateparts separating two date/time instances \
         is too large. Try to use {function} with a less precise datepart."
    );
    SqlError::new(535, 16, 0, text)
}

/// 289: `…FROMPARTS` got parts of no date.
#[must_use]
pub fn bad_date_parts(ty: SqlType) -> Box<SqlError> {
    let text = format!(
        "Cannot construct data type {}, some of the arguments have values which are not valid.",
        ty.name()
    );
    SqlError::new(289, 16, 1, text)
}

/// 8169: a string is not a guid.
#[must_use]
pub fn not_a_guid() -> Box<SqlError> {
    SqlError::new(
        8169,
        16,
        2,
        "Conversion failed when converting from a character string to uniqueidentifier.",
    )
}

/// 8170: 36 characters do not fit.
#[must_use]
pub fn guid_too_long() -> Box<SqlError> {
    SqlError::new(8170, 16, 2, "Insufficient result space to convert uniqueidentifier value to char.")
}

/// 234: a money value does not fit a string type.
#[must_use]
pub fn no_space_for(from: SqlType, to: SqlType) -> Box<SqlError> {
    let text =
        format!("There is insufficient result space to convert a {} value to {}.", from.name(), to.name());
    SqlError::new(234, 16, 2, text)
}

/// 13608: a strict JSON path leads nowhere.
#[must_use]
pub fn json_not_found() -> Box<SqlError> {
    SqlError::new(13_608, 16, 2, "Property cannot be found on the specified JSON path.")
}

/// 13623: a strict JSON path leads to an object or array.
#[must_use]
pub fn json_no_scalar() -> Box<SqlError> {
    SqlError::new(13_623, 16, 2, "Scalar value cannot be found in the specified JSON path.")
}

/// 13624: a strict JSON path leads to no object or array.
#[must_use]
pub fn json_no_document() -> Box<SqlError> {
    SqlError::new(13_624, 16, 1, "Object or array cannot be found in the specified JSON path.")
}

/// 281: no such style.
#[must_use]
pub fn bad_style(style: i32, from: SqlType) -> Box<SqlError> {
    let text = format!(
        "{style} is not a valid style number when converting from {} to a character string.",
        from.name()
    );
    SqlError::new(281, 16, 1, text)
}

/// 9809: no such style of binary data.
#[must_use]
pub fn unsupported_style(style: i32, from: SqlType, to: SqlType) -> Box<SqlError> {
    let text =
        format!("The style {style} is not supported for conversions from {} to {}.", from.name(), to.name());
    SqlError::new(9809, 16, 1, text)
}

/// 529: not even `CAST` converts between these types.
#[must_use]
pub fn cast_not_allowed(from: SqlType, to: SqlType) -> Box<SqlError> {
    let text = format!(
        "Explicit conversion from data type {} to {} is not allowed.",
        from.operand_name(),
        to.operand_name()
    );
    SqlError::new(529, 16, 2, text)
}

/// 257: only `CAST` converts between these types.
#[must_use]
pub fn implicit_not_allowed(from: SqlType, to: SqlType) -> Box<SqlError> {
    let text = format!(
        "Implicit conversion from data type {} to {} is not allowed. Use the CONVERT function to run this query.",
        from.operand_name(),
        to.operand_name()
    );
    SqlError::new(257, 16, 3, text)
}

/// 8134
#[must_use]
pub fn divide_by_zero() -> Box<SqlError> {
    SqlError::new(8134, 16, 1, "Divide by zero error encountered.")
}

/// 3623: square root of a negative number and the like.
#[must_use]
pub fn invalid_float() -> Box<SqlError> {
    SqlError::new(3623, 16, 1, "An invalid floating point operation occurred.")
}

/// 8152: a string or binary is longer than its column. Statements that know the column say it with [`truncated_in`].
#[must_use]
pub fn truncated() -> Box<SqlError> {
    SqlError::new(8152, 16, 13, "String or binary data would be truncated.")
}

/// 2628: the same, naming table, column and the part of the value that fits.
#[must_use]
pub fn truncated_in(table: &str, column: &str, kept: &str) -> Box<SqlError> {
    let text = format!(
        "String or binary data would be truncated in table '{table}', column '{column}'. Truncated value: '{kept}'."
    );
    SqlError::new(2628, 16, 1, text)
}

/// 306: the old large types do not compare.
#[must_use]
pub fn old_types_do_not_compare() -> Box<SqlError> {
    SqlError::new(
        306,
        16,
        2,
        "The text, ntext, and image data types cannot be compared or sorted, except when using IS NULL or LIKE operator.",
    )
}

/// 305: xml does not compare.
#[must_use]
pub fn xml_does_not_compare() -> Box<SqlError> {
    SqlError::new(
        305,
        16,
        1,
        "The xml data type cannot be compared or sorted, except when using the IS NULL operator.",
    )
}

/// 537: a negative length of SUBSTRING.
#[must_use]
pub fn invalid_length() -> Box<SqlError> {
    SqlError::new(537, 16, 3, "Invalid length parameter passed to the LEFT or SUBSTRING function.")
}

/// 536: a negative length of LEFT or RIGHT.
#[must_use]
pub fn negative_length(function: &str) -> Box<SqlError> {
    SqlError::new(536, 16, 1, format!("Invalid length parameter passed to the {function} function."))
}

/// 8116: an argument of a type that the function does not take.
#[must_use]
pub fn bad_argument_type(ty: SqlType, argument: usize, function: &str) -> Box<SqlError> {
    let text = format!(
        "Argument data type {} is invalid for argument {argument} of {function} function.",
        if ty == SqlType::Null { "NULL".to_owned() } else { ty.operand_name() }
    );
    SqlError::new(8116, 16, 1, text)
}

/// 174 or 189: a wrong number of arguments.
#[must_use]
pub fn wrong_argument_count(function: &str, min: usize, max: usize) -> Box<SqlError> {
    if min == max {
        SqlError::new(174, 15, 1, format!("The {function} function requires {min} argument(s)."))
    } else {
        SqlError::new(189, 15, 1, format!("The {function} function requires {min} to {max} arguments."))
    }
}

/// 155: not a datepart.
#[must_use]
pub fn bad_datepart(word: &str, function: &str) -> Box<SqlError> {
    SqlError::new(155, 15, 1, format!("'{word}' is not a recognized {function} option."))
}

/// 9810: a datepart that the argument's type does not have.
#[must_use]
pub fn unsupported_datepart(part: &str, function: &str, ty: SqlType) -> Box<SqlError> {
    let text = format!(
        "The datepart {part} is not supported by date function {function} for data type {}.",
        ty.name()
    );
    SqlError::new(9810, 16, 1, text)
}
