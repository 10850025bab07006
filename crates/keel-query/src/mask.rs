//! Dynamic data masks: what stands for a column's values where they are shown to who may not see them.
//!
//! ```text
//!   default()              xxxx, 0, 1900-01-01, one byte: by type
//!   email()                jXXX@XXXX.com
//!   random(1, 100)         a number between, another one each time
//!   partial(2, "-XX-", 1)  ab-XX-j
//!   datetime("Y")          2000-07-15: one part of a moment is a fixed one
//! ```
//!
//! NULL stays NULL. A mask is stored with its column (see [`crate::catalog::ColumnDef::mask`]); where masks apply is found when a
//! statement is bound (see [`crate::bind::mask`]), whether they apply to whoever runs it when it runs.

use crate::errors::{self, Result};
use keel_types::datetime::{Civil, days_in_month};
use keel_types::{Decimal, Length, SqlType, Value};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// MASKED WITH (FUNCTION = '…').
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MaskDef {
    /// `default()`
    Default,
    /// `email()`
    Email,
    /// `random(low, high)`: the bounds as text, of the column's scale.
    Random {
        /// Least.
        low: String,
        /// Most.
        high: String,
    },
    /// `partial(prefix, "padding", suffix)`
    Partial {
        /// Characters shown at the beginning.
        prefix: u32,
        /// What stands for the others.
        padding: String,
        /// Characters shown at the end.
        suffix: u32,
    },
    /// `datetime("part")`
    DateTime(DatePart),
}

/// The part of a moment that a mask hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DatePart {
    /// Y
    Year,
    /// M
    Month,
    /// D
    Day,
    /// h
    Hour,
    /// m
    Minute,
    /// s
    Second,
}

const PARTS: [(&str, DatePart); 6] = [
    ("Y", DatePart::Year),
    ("M", DatePart::Month),
    ("D", DatePart::Day),
    ("h", DatePart::Hour),
    ("m", DatePart::Minute),
    ("s", DatePart::Second),
];

const FUNCTIONS: [&str; 5] = ["default", "email", "random", "partial", "datetime"];

impl MaskDef {
    /// Reads a function as it is written for a column. Errors 16002 to 16006.
    pub fn parse(text: &str, column: &str, ty: SqlType) -> Result<MaskDef> {
        if text.is_empty() {
            return Err(errors::mask_unknown(column));
        }
        let Some((written, rest)) = text.split_once('(') else {
            return Err(errors::mask_format(text, column));
        };
        let Some((arguments, behind)) = split_arguments(rest) else {
            return Err(errors::mask_format(written, column));
        };
        let counts = |n: usize| behind.is_empty() && arguments.len() == n;
        let trimmed = written.trim();
        let known = FUNCTIONS.iter().find(|f| f.eq_ignore_ascii_case(trimmed));
        let wanted = match known.copied() {
            Some("random" | "partial") => {
                if trimmed.eq_ignore_ascii_case("random") {
                    2
                } else {
                    3
                }
            }
            Some("datetime") => 1,
            Some(_) => 0,
            None => return Err(errors::mask_unknown(column)),
        };
        if !counts(wanted) {
            return Err(errors::mask_parameters(written, column));
        }
        if trimmed != written.trim_end() {
            return Err(errors::mask_unknown(column));
        }
        let name = known.copied().unwrap_or_default();
        if !supports(name, ty) {
            return Err(errors::mask_type(column, name));
        }
        let bad = || errors::mask_argument(name, column);
        Ok(match name {
            "random" => {
                let (low, high) = random_bounds(&arguments[0], &arguments[1], ty).ok_or_else(bad)?;
                MaskDef::Random { low, high }
            }
            "partial" => {
                let count = |text: &str| text.parse::<u32>().ok().filter(|_| !text.starts_with('+'));
                let padding = quoted(&arguments[1]).ok_or_else(bad)?;
                let prefix = count(&arguments[0]).ok_or_else(bad)?;
                let suffix = count(&arguments[2]).ok_or_else(bad)?;
                MaskDef::Partial { prefix, padding, suffix }
            }
            "datetime" => {
                let part = quoted(&arguments[0]).ok_or_else(bad)?;
                let part = PARTS.iter().find(|(word, _)| *word == part).ok_or_else(bad)?.1;
                if has_part(ty, part) { MaskDef::DateTime(part) } else { return Err(bad()) }
            }
            "email" => MaskDef::Email,
            _ => MaskDef::Default,
        })
    }

    /// As the catalog shows it.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            MaskDef::Default => "default()".to_owned(),
            MaskDef::Email => "email()".to_owned(),
            MaskDef::Random { low, high } => format!("random({low}, {high})"),
            MaskDef::Partial { prefix, padding, suffix } => {
                format!("partial({prefix}, \"{}\", {suffix})", padding.replace('"', "\"\""))
            }
            MaskDef::DateTime(part) => {
                let word = PARTS.iter().find(|(_, p)| p == part).map_or("", |(word, _)| *word);
                format!("datetime(\"{word}\")")
            }
        }
    }

    /// What is shown for a value of a type. `random` is a number from 0 to 1.
    #[must_use]
    pub fn apply(&self, value: &Value, ty: SqlType, random: &mut dyn FnMut() -> f64) -> Value {
        match (self, value) {
            (_, Value::Null) => Value::Null,
            (MaskDef::Email, Value::Str(s)) => match s.chars().next() {
                Some(first) => cut(&format!("{first}XXX@XXXX.com"), ty),
                None => hidden(ty, value),
            },
            (MaskDef::Partial { prefix, padding, suffix }, Value::Str(s)) => {
                cut(&partly(s, *prefix as usize, padding, *suffix as usize, ty), ty)
            }
            (MaskDef::Random { low, high }, _) => {
                random_between(low, high, ty, random()).unwrap_or_else(|| hidden(ty, value))
            }
            (MaskDef::DateTime(part), _) => without_part(value, *part).unwrap_or_else(|| hidden(ty, value)),
            _ => hidden(ty, value),
        }
    }
}

/// The arguments up to the closing parenthesis, and what is behind it. `None` when it is missing.
fn split_arguments(text: &str) -> Option<(Vec<String>, &str)> {
    let mut arguments = vec![String::new()];
    let mut in_quotes = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => in_quotes = !in_quotes,
            ')' if !in_quotes => {
                let mut arguments: Vec<String> = arguments.iter().map(|a| a.trim().to_owned()).collect();
                if arguments.len() == 1 && arguments[0].is_empty() {
                    arguments.clear();
                }
                return Some((arguments, &text[at + 1..]));
            }
            ',' if !in_quotes => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        arguments.last_mut()?.push(c);
    }
    None
}

/// The text between double quotes, those within doubled.
fn quoted(argument: &str) -> Option<String> {
    let inside = argument.strip_prefix('"')?.strip_suffix('"')?;
    Some(inside.replace("\"\"", "\""))
}

fn is_number(ty: SqlType) -> bool {
    use SqlType as T;
    matches!(ty, T::Bit | T::Money | T::SmallMoney | T::Real | T::Float)
        || ty.is_integer()
        || ty.decimal_parts().is_some()
}

fn supports(function: &str, ty: SqlType) -> bool {
    use SqlType as T;
    match function {
        "random" => is_number(ty),
        "email" | "partial" => ty.is_string() && !ty.is_xml(),
        "datetime" => matches!(
            ty,
            T::Date | T::Time(_) | T::DateTime | T::SmallDateTime | T::DateTime2(_) | T::DateTimeOffset(_)
        ),
        _ => true,
    }
}

fn has_part(ty: SqlType, part: DatePart) -> bool {
    let of_day = matches!(part, DatePart::Hour | DatePart::Minute | DatePart::Second);
    match ty {
        SqlType::Date => !of_day,
        SqlType::Time(_) => of_day,
        _ => true,
    }
}

/// A number as written: its digits and how many of them are behind the point.
fn digits(text: &str) -> Option<(i128, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let unsigned = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    if unsigned.is_empty() || !unsigned.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let mantissa = format!("{whole}{fraction}").parse::<i128>().ok()?;
    Some((mantissa, u32::try_from(fraction.len()).ok()?))
}

/// The number with so many digits behind the point, rounded.
fn at_scale((mantissa, scale): (i128, u32), wanted: u32) -> Option<i128> {
    if scale <= wanted {
        return mantissa.checked_mul(10i128.checked_pow(wanted - scale)?);
    }
    let unit = 10i128.checked_pow(scale - wanted)?;
    let half = unit / 2;
    Some(if mantissa < 0 { (mantissa - half) / unit } else { (mantissa + half) / unit })
}

fn with_point(mantissa: i128, scale: u32) -> String {
    if scale == 0 {
        return mantissa.to_string();
    }
    let text = format!("{:0>width$}", mantissa.unsigned_abs(), width = scale as usize + 1);
    let (whole, fraction) = text.split_at(text.len() - scale as usize);
    format!("{}{whole}.{fraction}", if mantissa < 0 { "-" } else { "" })
}

/// Without zeros at the end of a fraction.
fn shortened(text: &str) -> String {
    if !text.contains('.') {
        return text.to_owned();
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn whole_range(ty: SqlType) -> Option<(i128, i128)> {
    Some(match ty {
        SqlType::Bit => (0, 1),
        SqlType::TinyInt => (0, 255),
        SqlType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        SqlType::Int => (i32::MIN.into(), i32::MAX.into()),
        SqlType::BigInt => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}

/// The bounds of `random`, as the column's type has them. `None` when it does not, or when there is nothing between.
fn random_bounds(low: &str, high: &str, ty: SqlType) -> Option<(String, String)> {
    let (a, b) = (digits(low)?, digits(high)?);
    let ordered = |a: i128, b: i128| (a <= b).then_some(());
    if let Some((least, most)) = whole_range(ty) {
        if low.contains('.') || high.contains('.') || a.0 < least || b.0 > most {
            return None;
        }
        ordered(a.0, b.0)?;
        return Some((a.0.to_string(), b.0.to_string()));
    }
    if let Some((precision, scale)) = ty.decimal_parts() {
        let (a, b) = (at_scale(a, scale.into())?, at_scale(b, scale.into())?);
        let limit = 10i128.checked_pow(precision.into())?;
        ordered(a, b)?;
        let fits = a.abs() < limit && b.abs() < limit;
        return fits.then(|| (with_point(a, scale.into()), with_point(b, scale.into())));
    }
    if matches!(ty, SqlType::Money | SqlType::SmallMoney) {
        let (a, b) = (at_scale(a, 4)?, at_scale(b, 4)?);
        let most = if ty == SqlType::Money { i128::from(i64::MAX) } else { i128::from(i32::MAX) };
        ordered(a, b)?;
        let fits = a.abs() <= most && b.abs() <= most;
        return fits.then(|| (shortened(&with_point(a, 4)), shortened(&with_point(b, 4))));
    }
    let (a, b) = (shortened(low), shortened(high));
    (a.parse::<f64>().ok()? <= b.parse::<f64>().ok()?).then_some((a, b))
}

fn random_between(low: &str, high: &str, ty: SqlType, part: f64) -> Option<Value> {
    let between = |scale: u32| -> Option<i128> {
        let (low, high) = (at_scale(digits(low)?, scale)?, at_scale(digits(high)?, scale)?);
        let steps = (high - low + 1) as f64;
        Some((low + (part * steps) as i128).min(high))
    };
    Some(match ty {
        SqlType::Bit => Value::Bit(between(0)? != 0),
        SqlType::Money | SqlType::SmallMoney => Value::Money(i64::try_from(between(4)?).ok()?),
        SqlType::Real | SqlType::Float => {
            let (low, high) = (low.parse::<f64>().ok()?, high.parse::<f64>().ok()?);
            Value::Float(low + part * (high - low))
        }
        _ => match ty.decimal_parts() {
            Some((_, scale)) => Value::Decimal(Decimal::new(between(scale.into())?, scale)),
            None => Value::Int(i64::try_from(between(0)?).ok()?),
        },
    })
}

/// `default()`
fn hidden(ty: SqlType, value: &Value) -> Value {
    use SqlType as T;
    const DAYS_TO_1900: i32 = 693_595;
    const TICKS_TO_1900: i64 = DAYS_TO_1900 as i64 * 864_000_000_000;
    match ty {
        T::SqlVariant => match value {
            Value::Variant(inner) => {
                let (ty, value) = &**inner;
                // A variant has room for any text.
                let ty = match *ty {
                    T::NChar(_) | T::NVarChar(_) => T::NVarChar(Length::Limited(4)),
                    ty if ty.is_string() => T::VarChar(Length::Limited(4)),
                    ty => ty,
                };
                Value::Variant(Arc::new((ty, hidden(ty, value))))
            }
            _ => Value::Null,
        },
        T::Xml | T::TypedXml(_) => Value::str("<masked />"),
        T::Bit => Value::Bit(false),
        T::Money | T::SmallMoney => Value::Money(0),
        T::Real | T::Float => Value::Float(0.0),
        T::Date => Value::Date(DAYS_TO_1900),
        T::Time(_) => Value::Time(0),
        T::DateTime | T::SmallDateTime | T::DateTime2(_) => Value::DateTime(TICKS_TO_1900),
        T::DateTimeOffset(_) => Value::DateTimeOffset(TICKS_TO_1900, 0),
        T::UniqueIdentifier => Value::Guid([0; 16]),
        T::RowVersion => Value::bytes([0u8; 8].as_slice()),
        T::HierarchyId => Value::bytes([].as_slice()),
        T::Geometry | T::Geography | T::Null | T::Encrypted(_) => Value::Null,
        ty if ty.is_string() => cut("xxxx", ty),
        ty if ty.is_binary() => Value::bytes(b"0".as_slice()),
        ty => match ty.decimal_parts() {
            Some((_, scale)) => Value::Decimal(Decimal::new(0, scale)),
            None => Value::Int(0),
        },
    }
}

/// As much of a text as its type has room for.
fn cut(text: &str, ty: SqlType) -> Value {
    let most = match ty.length() {
        Some(Length::Limited(n)) => usize::from(n),
        _ => usize::MAX,
    };
    let text: String = text.chars().take(most).collect();
    let blanks = matches!(ty, SqlType::Char(_) | SqlType::NChar(_));
    Value::str(if blanks { text.trim_end_matches(' ') } else { text.as_str() })
}

fn partly(text: &str, prefix: usize, padding: &str, suffix: usize, ty: SqlType) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    if let SqlType::Char(n) | SqlType::NChar(n) = ty {
        chars.resize(chars.len().max(n.into()), ' ');
    }
    if chars.len() <= prefix.saturating_add(suffix) {
        return padding.to_owned();
    }
    let end = chars.len() - suffix;
    chars[..prefix].iter().copied().chain(padding.chars()).chain(chars[end..].iter().copied()).collect()
}

/// A moment with one part the fixed one, and without fractions of a second.
fn without_part(value: &Value, part: DatePart) -> Option<Value> {
    let change = |mut c: Civil| {
        c.fraction = 0;
        match part {
            DatePart::Year => c.year = 2000,
            DatePart::Month => c.month = 1,
            DatePart::Day => c.day = 1,
            DatePart::Hour => c.hour = 0,
            DatePart::Minute => c.minute = 0,
            DatePart::Second => c.second = 0,
        }
        c.day = c.day.min(days_in_month(c.year, c.month).unwrap_or(31));
        c
    };
    Some(match value {
        Value::Date(days) => {
            let c = change(Civil::of_days(*days));
            Value::Date(keel_types::datetime::to_days(c.year, c.month, c.day)?)
        }
        Value::Time(ticks) => Value::Time(change(Civil::of_time(*ticks)).time_ticks()),
        Value::DateTime(ticks) => Value::DateTime(change(Civil::of_ticks(*ticks)).ticks()?),
        Value::DateTimeOffset(ticks, offset) => {
            let shift = i64::from(*offset) * 600_000_000;
            let local = change(Civil::of_ticks(ticks + shift)).ticks()?;
            Value::DateTimeOffset(local - shift, *offset)
        }
        _ => return None,
    })
}
