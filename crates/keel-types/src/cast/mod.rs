//! Conversion between types: `CAST`, `CONVERT`, `TRY_CAST`, implicit conversion, assignment.
//!
//! [`resolve`] looks once at the two types and gives a [`Cast`]: a function pointer with what it needs to know. Applying
//! it looks at no types any more. NULL converts to NULL.
//!
//! | submodule | converts to |
//! | --- | --- |
//! | `number` | bit, integers, decimal, money, float |
//! | `text` | character types, from anything; the string forms of all types |
//! | `temporal` | dates and times |
//! | `binary` | binary, rowversion, uniqueidentifier, and from binary |
//! | `clr` | hierarchyid, geometry, geography, and from them to text |
//!
//! `CAST` and `CONVERT` cut strings that are too long without a word; assignment to a column raises 8152 (see
//! [`Cast::for_column`]), which statements that know the column turn into 2628.

mod binary;
mod clr;
mod number;
mod temporal;
mod text;
mod xml;

pub use clr::{hierarchy_value, spatial_error, spatial_kind, spatial_of, spatial_value, valid_spatial_of};
pub use number::parse_integer;
pub(crate) use text::cut_at;
pub(crate) use text::hex;
pub use text::{float_text, money_text, to_text};

use crate::datetime::language::Dates;
use crate::datetime::parse::DateOrder;
use crate::error::{Result, SqlError};
use crate::raise;
use crate::ty::promote::{implicitly_converts, operand_clash};
use crate::ty::{Family, SqlType, encrypted};
use crate::value::Value;

/// A resolved conversion.
#[derive(Clone, Copy, Debug)]
pub struct Cast {
    /// Type of the argument.
    pub from: SqlType,
    /// Type of the result.
    pub to: SqlType,
    /// The style argument of `CONVERT`; [`Cast::NO_STYLE`] when none was given.
    pub style: i32,
    /// How dates are read, where no style says it, and in which language months are called.
    pub dates: Dates,
    /// Whether a string or binary that is too long is an error instead of being cut.
    pub strict_length: bool,
    /// Code page of the non-national side, 1252 unless said otherwise.
    pub page: u16,
    step: fn(&Value, &Cast) -> Result<Value>,
}

impl Cast {
    /// [`Cast::style`] when `CONVERT` has no third argument.
    pub const NO_STYLE: i32 = -1;

    /// Converts a value of the type `from`.
    #[inline]
    pub fn apply(&self, value: &Value) -> Result<Value> {
        if let Value::Null = value { Ok(Value::Null) } else { (self.step)(value, self) }
    }

    /// Converts as `TRY_CAST` and `TRY_CONVERT` do: NULL instead of a conversion error.
    pub fn try_apply(&self, value: &Value) -> Result<Value> {
        match self.apply(value) {
            Err(e) if is_conversion_error(&e) => Ok(Value::Null),
            other => other,
        }
    }

    /// Whether applying it gives back the same value, so that the caller can leave it out.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        is_identity(self.from, self.to)
    }

    /// The same conversion with a style. Errors about the style itself come when it is applied.
    #[must_use]
    pub const fn with_style(mut self, style: i32) -> Cast {
        self.style = style;
        self
    }

    /// The same conversion under another `DATEFORMAT` and `LANGUAGE`.
    #[must_use]
    pub const fn with_dates(mut self, dates: Dates) -> Cast {
        self.dates = dates;
        self
    }

    /// The same conversion, raising 8152 where a string or binary would be cut: what INSERT and UPDATE use.
    #[must_use]
    pub const fn for_column(mut self) -> Cast {
        self.strict_length = true;
        self
    }

    /// The same conversion to or from text in another code page.
    #[must_use]
    pub const fn in_page(mut self, page: u16) -> Cast {
        self.page = page;
        self
    }

    pub(crate) fn dates(&self) -> Dates {
        Dates { order: DateOrder::of_style(self.style).unwrap_or(self.dates.order), ..self.dates }
    }

    fn style_or(&self, default: i32) -> i32 {
        if self.style == Cast::NO_STYLE { default } else { self.style }
    }
}

/// Errors that `TRY_CAST` swallows: those about the value, not about the statement.
#[must_use]
pub fn is_conversion_error(error: &SqlError) -> bool {
    matches!(
        error.number,
        6335 | 6359 | 9400
            ..=9465
                | 220
                | 232
                | 234
                | 235
                | 241
                | 242
                | 244
                | 245
                | 248
                | 293
                | 295
                | 296
                | 6522
                | 8114
                | 8115
                | 8152
                | 8169
                | 8170
                | 9807
    )
}

/// Whether a conversion may be implied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastKind {
    /// Written as `CAST` or `CONVERT`.
    Explicit,
    /// By assignment, by an operator, by a function argument.
    Implicit,
}

/// Finds the conversion from one type to another. Errors: 529 when there is none, 206 or 257 when it must be explicit.
pub fn resolve(from: SqlType, to: SqlType, kind: CastKind) -> Result<Cast> {
    let step = if is_identity(from, to) { same } else { step(from, to, kind)? };
    Ok(Cast { from, to, style: Cast::NO_STYLE, dates: Dates::US, strict_length: false, page: 1252, step })
}

/// [`resolve`] for a conversion nobody wrote.
pub fn implicit(from: SqlType, to: SqlType) -> Result<Cast> {
    resolve(from, to, CastKind::Implicit)
}

/// [`resolve`] for `CAST` and `CONVERT`.
pub fn explicit(from: SqlType, to: SqlType) -> Result<Cast> {
    resolve(from, to, CastKind::Explicit)
}

/// Converts one value, resolving on the spot. For places that run once; expressions keep the [`Cast`].
pub fn convert(value: &Value, from: SqlType, to: SqlType) -> Result<Value> {
    explicit(from, to)?.apply(value)
}

fn same(value: &Value, _: &Cast) -> Result<Value> {
    Ok(value.clone())
}

fn null(_: &Value, _: &Cast) -> Result<Value> {
    Ok(Value::Null)
}

fn is_identity(from: SqlType, to: SqlType) -> bool {
    use SqlType as T;
    match (from, to) {
        _ if from == to || (from.is_xml() && to == T::Xml) || encrypted::takes(to, from) => true,
        (T::TinyInt, T::SmallInt | T::Int | T::BigInt)
        | (T::SmallInt, T::Int | T::BigInt)
        | (T::Int, T::BigInt) => true,
        (T::Real, T::Float) | (T::SmallMoney, T::Money) | (T::SmallDateTime, T::DateTime) => true,
        (T::SmallDateTime, T::DateTime2(_)) => true,
        (T::Time(a), T::Time(b))
        | (T::DateTime2(a), T::DateTime2(b))
        | (T::DateTimeOffset(a), T::DateTimeOffset(b)) => a <= b,
        _ => match (from.decimal_parts(), to.decimal_parts()) {
            (Some((p1, s1)), Some((p2, s2))) => s1 == s2 && p1 <= p2,
            _ => same_strings(from, to),
        },
    }
}

/// Strings whose every value is a value of the other type: no narrower, no padding, no loss of characters.
fn same_strings(from: SqlType, to: SqlType) -> bool {
    use crate::ty::Length::{Limited, Max};
    let variable = matches!(
        to,
        SqlType::VarChar(_)
            | SqlType::NVarChar(_)
            | SqlType::VarBinary(_)
            | SqlType::Text
            | SqlType::NText
            | SqlType::Image
    );
    let kinds = (from.is_string() && to.is_string() && (to.is_national() || !from.is_national()))
        || (from.is_binary() && to.is_binary());
    // A national length counts UTF-16 units: at most one per character of the code page.
    let roomy = match (from.length(), to.length()) {
        (_, Some(Max)) => true,
        (Some(Limited(a)), Some(Limited(b))) => a <= b,
        _ => false,
    };
    variable && kinds && roomy
}

type Step = fn(&Value, &Cast) -> Result<Value>;

fn step(from: SqlType, to: SqlType, kind: CastKind) -> Result<Step> {
    if from == SqlType::Null {
        return Ok(null);
    }
    if from.is_encrypted() || to.is_encrypted() {
        return Err(operand_clash(from, to));
    }
    let found = match to.family() {
        Family::Bit | Family::Integer | Family::Decimal | Family::Money | Family::Float => {
            number::step(from, to)
        }
        Family::String | Family::NationalString | Family::Xml => text::step(from, to),
        Family::Date | Family::Time | Family::DateTime | Family::DateTime2 | Family::DateTimeOffset => {
            temporal::step(from, to)
        }
        Family::Binary | Family::Guid => binary::step(from, to),
        Family::Clr => clr::step(from, to),
        Family::Variant if from.is_clr() => None,
        Family::Variant => Some(to_variant as Step),
        Family::Null | Family::Encrypted => None,
    };
    let found = if from == SqlType::SqlVariant && to != SqlType::SqlVariant && !to.is_clr() {
        Some(from_variant as Step)
    } else {
        found
    };
    match found {
        None if kind == CastKind::Explicit => Err(raise::cast_not_allowed(from, to)),
        None => Err(operand_clash(from, to)),
        Some(_) if from.is_large() && to == SqlType::SqlVariant => Err(operand_clash(from, to)),
        Some(_) if kind == CastKind::Implicit && !implicitly_converts(from, to) => {
            Err(raise::implicit_not_allowed(from, to))
        }
        Some(step) => Ok(step),
    }
}

fn to_variant(value: &Value, cast: &Cast) -> Result<Value> {
    Ok(Value::Variant(std::sync::Arc::new((cast.from, value.clone()))))
}

/// The base type is only known now: the one conversion that resolves per value.
fn from_variant(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Variant(v) = value else { return Ok(value.clone()) };
    let inner = explicit(v.0, cast.to)?;
    Cast { style: cast.style, dates: cast.dates, strict_length: cast.strict_length, page: cast.page, ..inner }
        .apply(&v.1)
}

/// A value that does not match the type it was said to have. Only a caller's mistake leads here; an error is better
/// than a panic in somebody's session.
fn mismatch(value: &Value, cast: &Cast) -> Box<SqlError> {
    debug_assert!(false, "{value:?} is not of type {}", cast.from);
    raise::error_converting(cast.from, cast.to)
}

#[cfg(test)]
mod tests;
