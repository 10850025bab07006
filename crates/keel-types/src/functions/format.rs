//! `FORMAT`: the format strings of .NET for numbers; dates and times are next door.
//!
//! A format string that makes no sense gives NULL, as the product does.

use super::format_culture::{CULTURES, Culture, culture};
use super::format_moment::{moment, span};
use super::{Call, FnCtx, FunctionDef, Request, str_at};
use crate::cast::Cast;
use crate::datetime::TICKS_PER_DAY;
use crate::datetime::format::to_local;
use crate::error::Result;
use crate::ty::{Length, SqlType};
use crate::value::{Decimal, Value};
use smol_str::SmolStr;

pub(super) static FUNCTIONS: &[FunctionDef] = &[FunctionDef::new("FORMAT", 2, 3, resolve_format)];

fn resolve_format(r: &Request<'_>) -> Result<Call> {
    let ty = r.ty(0);
    let value = if ty == SqlType::Null { SqlType::Int } else { ty };
    if !(value.is_numeric() && value != SqlType::Bit || value.is_temporal()) {
        return Err(r.bad_argument(0));
    }
    let mut params = vec![value, r.national_text(1)?];
    if r.has(2) {
        params.push(r.national_text(2)?);
    }
    Ok(Call::new(SqlType::NVarChar(Length::Limited(4000)), params, format).nullable())
}

fn format(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let culture = if args.len() > 2 { culture(str_at(args, 2))? } else { &CULTURES[0] };
    let pattern = str_at(args, 1);
    let text = match &args[0] {
        Value::Date(days) => moment(i64::from(*days) * TICKS_PER_DAY, None, pattern, culture),
        Value::DateTime(ticks) => moment(*ticks, None, pattern, culture),
        Value::DateTimeOffset(utc, offset) => {
            moment(to_local(*utc, *offset), Some(*offset), pattern, culture)
        }
        Value::Time(ticks) => span(*ticks, pattern, culture),
        number => number_text(number, call.params[0], pattern, culture),
    };
    let fits = |t: &String| super::string::units(t, true) <= 4000;
    Ok(text.filter(fits).map_or(Value::Null, |t| Value::Str(SmolStr::from(t))))
}

/// Sign, digits before and digits after the point.
struct Digits {
    negative: bool,
    whole: String,
    part: String,
}

impl Digits {
    /// Rounded half away from zero to a number of decimals; `None` for numbers beyond 38 digits.
    fn of(value: &Value, decimals: usize) -> Option<Digits> {
        let decimals = decimals.min(28);
        let d = exact(value, 0)?.rescale(decimals as u8)?;
        let text = d.to_string();
        let negative = d.mantissa() < 0;
        let text = text.trim_start_matches('-');
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        Some(Digits { negative, whole: whole.to_owned(), part: part.to_owned() })
    }
}

/// The number times 10^shift as a decimal.
fn exact(value: &Value, shift: u8) -> Option<Decimal> {
    let d = match value {
        Value::Int(n) => Decimal::from_int(*n),
        Value::Money(m) => Decimal::new(i128::from(*m), 4),
        Value::Decimal(d) => *d,
        Value::Float(f) => shortest(*f)?,
        _ => return None,
    };
    let up = Decimal::from_int(10i64.pow(u32::from(shift)));
    d.multiply(up, d.scale)
}

/// The shortest decimal that reads back as the float.
fn shortest(f: f64) -> Option<Decimal> {
    if f.abs() >= 1e28 || !f.is_finite() {
        return None;
    }
    Decimal::parse(&format!("{f}")).ok().or_else(|| Decimal::from_f64(f, 20))
}

fn grouped(whole: &str, separator: &str) -> String {
    crate::cast::with_commas(whole).replace(',', separator)
}

fn number_text(value: &Value, ty: SqlType, pattern: &str, culture: &Culture) -> Option<String> {
    let mut chars = pattern.chars();
    let first = chars.next();
    let rest = chars.as_str();
    match first {
        Some(letter)
            if letter.is_ascii_alphabetic()
                && rest.len() <= 2
                && rest.bytes().all(|b| b.is_ascii_digit()) =>
        {
            standard(value, ty, letter, rest.parse().ok(), culture)
        }
        None => standard(value, ty, 'G', None, culture),
        _ => custom(value, pattern, culture),
    }
}

/// `C`, `D`, `E`, `F`, `G`, `N`, `P`, `R`, `X` with an optional precision.
fn standard(
    value: &Value,
    ty: SqlType,
    letter: char,
    precision: Option<usize>,
    culture: &Culture,
) -> Option<String> {
    let plain = |d: &Digits, group: bool| {
        let whole = if group { grouped(&d.whole, culture.group) } else { d.whole.clone() };
        if d.part.is_empty() { whole } else { format!("{whole}{}{}", culture.point, d.part) }
    };
    let signed = |d: &Digits, text: String| {
        let zero = d.whole.bytes().chain(d.part.bytes()).all(|b| b == b'0');
        if d.negative && !zero { format!("-{text}") } else { text }
    };
    match letter.to_ascii_uppercase() {
        'C' => {
            let d = Digits::of(value, precision.unwrap_or(2))?;
            let form = if d.negative { culture.negative_currency } else { culture.currency };
            Some(form.replace("{}", &plain(&d, true)))
        }
        'D' if ty.is_integer() => {
            let n = value.as_int()?;
            let width = precision.unwrap_or(0);
            Some(format!("{}{:0width$}", if n < 0 { "-" } else { "" }, n.unsigned_abs()))
        }
        'X' if ty.is_integer() => {
            let n = value.as_int()?;
            let width = precision.unwrap_or(0);
            let text = if ty == SqlType::BigInt {
                format!("{n:0width$X}")
            } else {
                format!("{:0width$X}", n as i32)
            };
            Some(if letter == 'x' { text.to_ascii_lowercase() } else { text })
        }
        'E' => Some(exponential(value, precision.unwrap_or(6), letter, culture)),
        'F' => Digits::of(value, precision.unwrap_or(2)).map(|d| signed(&d, plain(&d, false))),
        'N' => Digits::of(value, precision.unwrap_or(2)).map(|d| signed(&d, plain(&d, true))),
        'P' => {
            let d = exact(value, 2)?;
            let d = Digits::of(&Value::Decimal(d), precision.unwrap_or(2))?;
            Some(signed(&d, culture.percent.replace("{}", &plain(&d, true))))
        }
        'G' | 'R' => Some(match value {
            Value::Float(f) => general(*f).replace('.', culture.point),
            other => crate::cast::to_text(
                other,
                ty,
                if ty.family() == crate::ty::Family::Money { 2 } else { Cast::NO_STYLE },
            )
            .ok()?
            .replace('.', culture.point),
        }),
        _ => None,
    }
}

fn exponential(value: &Value, decimals: usize, letter: char, culture: &Culture) -> String {
    let f = match value {
        Value::Float(f) => *f,
        other => exact(other, 0).map_or(0.0, Decimal::to_f64),
    };
    let text = format!("{f:.decimals$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}{letter}{sign}{:03}", mantissa.replace('.', culture.point), exponent.abs())
}

/// One element of a custom number format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Element {
    Zero,
    Hash,
    Point,
    Comma,
    Percent,
    PerMille,
    Literal(char),
}

/// Cuts a custom format into its sections, which semicolons divide.
fn sections(pattern: &str) -> Vec<Vec<Element>> {
    let mut out = vec![Vec::new()];
    let mut quote = None;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let element = match (c, quote) {
            (_, Some(q)) if q == c => {
                quote = None;
                continue;
            }
            (_, Some(_)) => Element::Literal(c),
            ('\'' | '"', None) => {
                quote = Some(c);
                continue;
            }
            ('\\', None) => match chars.next() {
                Some(next) => Element::Literal(next),
                None => continue,
            },
            (';', None) => {
                out.push(Vec::new());
                continue;
            }
            ('0', None) => Element::Zero,
            ('#', None) => Element::Hash,
            ('.', None) => Element::Point,
            (',', None) => Element::Comma,
            ('%', None) => Element::Percent,
            ('‰', None) => Element::PerMille,
            _ => Element::Literal(c),
        };
        if let Some(section) = out.last_mut() {
            section.push(element);
        }
    }
    out
}

/// `#,##0.00;(#,##0.00);zero`
fn custom(value: &Value, pattern: &str, culture: &Culture) -> Option<String> {
    let sections = sections(pattern);
    let number = exact(value, 0)?;
    let (section, keep_sign) = match (&sections[..], number.mantissa().signum()) {
        ([_, _, zero, ..], 0) if !zero.is_empty() => (zero, false),
        ([_, minus, ..], -1) if !minus.is_empty() => (minus, false),
        ([first, ..], _) => (first, true),
        ([], _) => return None,
    };
    let (text, is_zero) = one_section(number, section, culture)?;
    Some(if number.mantissa() < 0 && keep_sign && !is_zero { format!("-{text}") } else { text })
}

/// The number without its sign in one section's form, and whether it was rounded to zero.
fn one_section(number: Decimal, section: &[Element], culture: &Culture) -> Option<(String, bool)> {
    use Element as E;
    let digit = |e: &E| matches!(e, E::Zero | E::Hash);
    let point = section.iter().position(|e| *e == E::Point).unwrap_or(section.len());
    let (before, after) = (&section[..point], &section[point..]);
    let last = before.iter().rposition(digit).map_or(0, |i| i + 1);
    // Commas right before the point divide by a thousand; one between digits asks for groups.
    let thousands = before[last..].iter().filter(|e| **e == E::Comma).count();
    let first = before.iter().position(digit).unwrap_or(last);
    let group = before[first..last].contains(&E::Comma);
    let mut number = Decimal::new(number.mantissa().checked_abs()?, number.scale);
    for e in section {
        let factor = match e {
            E::Percent => 100,
            E::PerMille => 1000,
            _ => continue,
        };
        number = number.multiply(Decimal::from_int(factor), number.scale)?;
    }
    let scale = u8::try_from(usize::from(number.scale) + 3 * thousands).ok().filter(|s| *s <= 38)?;
    let decimals = after.iter().filter(|e| digit(e)).count().min(28);
    let rounded = Decimal::new(number.mantissa(), scale).rescale(decimals as u8)?;
    let text = rounded.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    push_whole(
        &mut out,
        before,
        if whole == "0" { "" } else { whole },
        group.then_some(culture.group),
        culture,
    );
    push_part(&mut out, after, part, culture);
    Some((out, rounded.mantissa() == 0))
}

fn push_literal(out: &mut String, element: &Element, culture: &Culture) {
    match element {
        Element::Literal(c) => out.push(*c),
        Element::Percent => out.push_str(culture.percent.trim_start_matches("{}").trim()),
        Element::PerMille => out.push('‰'),
        _ => {}
    }
}

/// Digits are aligned to the right of their places; what does not fit stands before the first place.
fn push_whole(out: &mut String, elements: &[Element], digits: &str, group: Option<&str>, culture: &Culture) {
    let is_place = |e: &&Element| matches!(e, Element::Zero | Element::Hash);
    let places = elements.iter().filter(is_place).count();
    let first_zero = elements.iter().filter(is_place).position(|e| *e == Element::Zero).unwrap_or(places);
    let width = digits.len().max(places - first_zero);
    let padded = format!("{digits:0>width$}");
    let padded = if width == 0 { "" } else { padded.as_str() };
    let emit = |out: &mut String, from: usize, to: usize| {
        // Positions count from the right.
        for position in (to..from).rev() {
            if let Some(c) = padded.len().checked_sub(position + 1).and_then(|i| padded.as_bytes().get(i)) {
                out.push(*c as char);
                if let Some(separator) = group.filter(|_| position > 0 && position.is_multiple_of(3)) {
                    out.push_str(separator);
                }
            }
        }
    };
    let mut left = places;
    for element in elements {
        if matches!(element, Element::Zero | Element::Hash) {
            let from = if left == places { padded.len().max(places) } else { left };
            left -= 1;
            emit(out, from, left);
        } else {
            push_literal(out, element, culture);
        }
    }
}

/// Trailing zeros show only where the format has a zero.
fn push_part(out: &mut String, elements: &[Element], digits: &str, culture: &Culture) {
    let is_place = |e: &&Element| matches!(e, Element::Zero | Element::Hash);
    let places: Vec<&Element> = elements.iter().filter(is_place).take(digits.len()).collect();
    let needed = places.iter().rposition(|e| **e == Element::Zero).map_or(0, |i| i + 1);
    let shown = digits.trim_end_matches('0').len().max(needed);
    let mut at = 0;
    for element in elements {
        match element {
            Element::Point if shown > 0 => out.push_str(culture.point),
            Element::Zero | Element::Hash => {
                if at < shown {
                    out.push(digits.as_bytes()[at] as char);
                }
                at += 1;
            }
            other => push_literal(out, other, culture),
        }
    }
}

/// The shortest form of a float that reads back the same, scientific where the number is very large or small.
fn general(f: f64) -> String {
    let text = format!("{f:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if (-5..15).contains(&power) {
        return format!("{f}");
    }
    format!("{mantissa}E{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
}
