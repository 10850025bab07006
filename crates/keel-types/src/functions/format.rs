//! `FORMAT`: the format strings of .NET for numbers; dates and times are next door.
//!
//! A format string that makes no sense gives NULL, as the product does.

use super::format_culture::{Culture, culture_or};
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

fn format(call: &Call, ctx: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let culture = culture_or(args.get(2).and_then(Value::as_str), || ctx.dates().language)?;
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
        _ => return None,
    };
    let up = Decimal::from_int(10i64.pow(u32::from(shift)));
    d.multiply(up, d.scale)
}

/// How many digits .NET shows of a floating-point type.
fn shown_digits(ty: SqlType) -> usize {
    if ty == SqlType::Real { 7 } else { 15 }
}

/// The float rounded to so many digits, as an exact number where it is one.
fn rounded(f: f64, digits: usize) -> Option<Decimal> {
    if f.abs() >= 1e28 || !f.is_finite() {
        return None;
    }
    let f: f64 = format!("{f:.*e}", digits - 1).parse().ok()?;
    Decimal::parse(&format!("{f}")).ok().or_else(|| Decimal::from_f64(f, 20))
}

fn grouped(whole: &str, culture: &Culture) -> String {
    let mut out = String::with_capacity(whole.len() * 2);
    for (at, digit) in whole.chars().enumerate() {
        out.push(digit);
        if culture.ends_group(whole.len() - at - 1) {
            out.push_str(culture.group);
        }
    }
    out
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
        _ => custom(&exact_value(value, ty)?, pattern, culture),
    }
}

/// The number, a float as the digits that are shown of it.
fn exact_value(value: &Value, ty: SqlType) -> Option<Value> {
    Some(match value {
        Value::Float(f) => Value::Decimal(rounded(*f, shown_digits(ty))?),
        exact => exact.clone(),
    })
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
        let whole = if group { grouped(&d.whole, culture) } else { d.whole.clone() };
        if d.part.is_empty() { whole } else { format!("{whole}{}{}", culture.point, d.part) }
    };
    let signed = |d: &Digits, text: String| {
        let zero = d.whole.bytes().chain(d.part.bytes()).all(|b| b == b'0');
        if d.negative && !zero { format!("-{text}") } else { text }
    };
    let letter_upper = letter.to_ascii_uppercase();
    let exact_number;
    let value = if matches!(letter_upper, 'C' | 'F' | 'N' | 'P') {
        exact_number = exact_value(value, ty)?;
        &exact_number
    } else {
        value
    };
    match letter_upper {
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
        'G' => general(value, ty, letter, precision.filter(|p| *p > 0), culture),
        'R' => Some(match value {
            Value::Float(f) => round_trip(*f, ty).replace('.', culture.point),
            other => plain_text(other, ty)?.replace('.', culture.point),
        }),
        _ => None,
    }
}

/// All digits of a number; money with all four places.
fn plain_text(value: &Value, ty: SqlType) -> Option<String> {
    let style = if ty.family() == crate::ty::Family::Money { 2 } else { Cast::NO_STYLE };
    crate::cast::to_text(value, ty, style).ok().map(String::from)
}

/// `G`: so many digits, scientific where the number is very large or small.
fn general(
    value: &Value,
    ty: SqlType,
    letter: char,
    precision: Option<usize>,
    culture: &Culture,
) -> Option<String> {
    let (digits, f) = match (value, precision) {
        (Value::Float(f), precision) => (precision.unwrap_or(shown_digits(ty)), *f),
        (other, None) => return Some(plain_text(other, ty)?.replace('.', culture.point)),
        (other, Some(precision)) => (precision, exact(other, 0)?.to_f64()),
    };
    let marker = if letter == 'g' { 'e' } else { 'E' };
    Some(significant(f, digits, marker).replace('.', culture.point))
}

/// The shortest form of a float that reads back the same.
fn round_trip(f: f64, ty: SqlType) -> String {
    let text = if ty == SqlType::Real { format!("{:e}", f as f32) } else { format!("{f:e}") };
    let digits = text.split('e').next().map_or(1, |m| m.bytes().filter(u8::is_ascii_digit).count());
    significant(f, digits.max(shown_digits(ty)), 'E')
}

/// So many digits of a float without zeros at the end: plain, or with an exponent where there are more before the point or four
/// zeros after it.
fn significant(f: f64, digits: usize, marker: char) -> String {
    let text = format!("{f:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    let mantissa =
        if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
    if power > -5 && usize::try_from(power).map_or(true, |p| p < digits) {
        return text.parse::<f64>().map_or(text.clone(), |rounded| rounded.to_string());
    }
    format!("{mantissa}{marker}{}{:02}", if power < 0 { '-' } else { '+' }, power.abs())
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
    /// `E+00`: the letter, whether a plus is shown, and the digits at least.
    Exponent(char, bool, usize),
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
            ('e' | 'E', None) => exponent_places(c, &mut chars),
            _ => Element::Literal(c),
        };
        if let Some(section) = out.last_mut() {
            section.push(element);
        }
    }
    out
}

/// What a letter E begins in a custom format: an exponent, where a zero follows or a sign and a zero.
fn exponent_places(letter: char, rest: &mut std::str::Chars<'_>) -> Element {
    let text = rest.as_str();
    let digits = text.trim_start_matches(['+', '-']);
    let zeros = digits.len() - digits.trim_start_matches('0').len();
    let sign = text.len() - digits.len();
    if zeros == 0 || sign > 1 {
        return Element::Literal(letter);
    }
    rest.nth(sign + zeros - 1);
    Element::Exponent(letter, text.starts_with('+'), zeros)
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
    let number = Decimal::new(number.mantissa(), scale);
    let (rounded, power) = if section.iter().any(|e| matches!(e, E::Exponent(..))) {
        scientific(number, before.iter().filter(|e| digit(e)).count(), decimals)?
    } else {
        (number.rescale(decimals as u8)?, 0)
    };
    let text = rounded.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    push_whole(&mut out, before, if whole == "0" { "" } else { whole }, group, (culture, power));
    push_part(&mut out, after, part, (culture, power));
    Some((out, rounded.mantissa() == 0))
}

/// The number with so many digits before the point and after it, and the power of ten it was divided by.
fn scientific(number: Decimal, whole: usize, decimals: usize) -> Option<(Decimal, i32)> {
    let scale = u8::try_from(decimals).ok()?;
    let wanted = whole + decimals;
    if number.mantissa() == 0 || wanted == 0 {
        return Some((number.rescale(scale)?, 0));
    }
    let digits = number.mantissa().to_string();
    let text: String = digits.chars().chain(std::iter::repeat('0')).take(wanted.max(digits.len())).collect();
    let all = Decimal::new(text.parse().ok()?, u8::try_from(text.len() - wanted).ok()?);
    let mut mantissa = all.rescale(0)?.mantissa();
    let mut power =
        i32::try_from(digits.len()).ok()? - i32::from(number.scale) - i32::try_from(whole).ok()?;
    if mantissa.to_string().len() > wanted {
        (mantissa, power) = (mantissa / 10, power + 1);
    }
    Some((Decimal::new(mantissa, scale), power))
}

fn push_literal(out: &mut String, element: &Element, (culture, power): (&Culture, i32)) {
    match element {
        Element::Exponent(letter, plus, width) => {
            let sign = if power < 0 {
                "-"
            } else if *plus {
                "+"
            } else {
                ""
            };
            out.push_str(&format!("{letter}{sign}{:0width$}", power.abs()));
        }
        Element::Literal(c) => out.push(*c),
        Element::Percent => out.push_str(culture.percent.replace("{}", "").trim()),
        Element::PerMille => out.push('‰'),
        _ => {}
    }
}

/// Digits are aligned to the right of their places; what does not fit stands before the first place.
fn push_whole(out: &mut String, elements: &[Element], digits: &str, group: bool, at: (&Culture, i32)) {
    let culture = at.0;
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
                if group && culture.ends_group(position) {
                    out.push_str(culture.group);
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
            push_literal(out, element, at);
        }
    }
}

/// Trailing zeros show only where the format has a zero.
fn push_part(out: &mut String, elements: &[Element], digits: &str, (culture, power): (&Culture, i32)) {
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
            other => push_literal(out, other, (culture, power)),
        }
    }
}
