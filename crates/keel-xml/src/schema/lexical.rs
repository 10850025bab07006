//! Values of the primitive types: read from text, compared, and written in the form in which typed xml keeps them.
//!
//! The form is the product's, not that of the XML Schema recommendation: numbers without signs and zeros that say nothing,
//! approximate ones as `fn:string` writes them (15 digits of a double, 7 of a float), moments without zeros at the end of a
//! fraction and with `Z` for a zone that is none.

use crate::query::atom::double_text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rust_decimal::Decimal;
use smol_str::{SmolStr, ToSmolStr, format_smolstr};
use std::cmp::Ordering;

/// The primitive types of XML Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// `anySimpleType`: any text.
    Any,
    /// `xs:string`
    String,
    /// `xs:boolean`
    Boolean,
    /// `xs:decimal`
    Decimal,
    /// `xs:float`
    Float,
    /// `xs:double`
    Double,
    /// `xs:duration`
    Duration,
    /// `xs:dateTime`
    DateTime,
    /// `xs:time`
    Time,
    /// `xs:date`
    Date,
    /// `xs:gYearMonth`
    YearMonth,
    /// `xs:gYear`
    Year,
    /// `xs:gMonthDay`
    MonthDay,
    /// `xs:gDay`
    Day,
    /// `xs:gMonth`
    Month,
    /// `xs:hexBinary`
    HexBinary,
    /// `xs:base64Binary`
    Base64Binary,
    /// `xs:anyURI`
    AnyUri,
    /// `xs:QName`
    QName,
    /// `xs:NOTATION`
    Notation,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// Text, names, addresses.
    Text(SmolStr),
    /// A truth value.
    Boolean(bool),
    /// An exact number.
    Decimal(Decimal),
    /// An approximate number; true for single precision.
    Double(f64, bool),
    /// Bytes, in hexadecimal digits (true) or base 64.
    Bytes(bool, Vec<u8>),
    /// Months, then seconds.
    Duration(i64, Decimal),
    /// A moment: nanoseconds from the year 0 on, as if in UTC, and how it is written.
    Moment(i128, SmolStr),
}

impl Scalar {
    /// Reads a text whose white space has been dealt with. `None` when the type has no such value.
    #[must_use]
    pub fn read(primitive: Primitive, text: &str) -> Option<Scalar> {
        use Primitive as P;
        Some(match primitive {
            P::Any | P::String | P::AnyUri => Scalar::Text(text.into()),
            P::QName | P::Notation => {
                let mut parts = text.split(':');
                let good = parts.clone().count() <= 2 && parts.all(crate::tree::is_nc_name);
                return good.then(|| Scalar::Text(text.into()));
            }
            P::Boolean => match text {
                "true" | "1" => Scalar::Boolean(true),
                "false" | "0" => Scalar::Boolean(false),
                _ => return None,
            },
            P::Decimal => Scalar::Decimal(decimal(text)?),
            P::Float => Scalar::Double(float(double(text)?)?, true),
            P::Double => Scalar::Double(double(text)?, false),
            P::HexBinary => Scalar::Bytes(true, crate::query::atom::hex_bytes(text)?),
            P::Base64Binary => {
                let packed: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
                Scalar::Bytes(false, STANDARD.decode(packed).ok()?)
            }
            P::Duration => duration(text)?,
            _ => moment(primitive, text)?,
        })
    }

    /// The text in which it is kept.
    #[must_use]
    pub fn text(&self) -> SmolStr {
        match self {
            Scalar::Text(s) | Scalar::Moment(_, s) => s.clone(),
            Scalar::Boolean(b) => b.to_smolstr(),
            Scalar::Decimal(d) if d.is_zero() => "0".into(),
            Scalar::Decimal(d) => d.normalize().to_smolstr(),
            Scalar::Double(f, single) => double_text(*f, if *single { 7 } else { 15 }),
            Scalar::Bytes(true, b) => b.iter().map(|b| format!("{b:02X}")).collect::<String>().into(),
            Scalar::Bytes(false, b) => STANDARD.encode(b).into(),
            Scalar::Duration(months, seconds) => duration_text(*months, *seconds),
        }
    }

    /// The order of two values of one type; `None` when they have none.
    #[must_use]
    pub fn order(&self, other: &Scalar) -> Option<Ordering> {
        match (self, other) {
            (Scalar::Decimal(a), Scalar::Decimal(b)) => Some(a.cmp(b)),
            (Scalar::Double(a, _), Scalar::Double(b, _)) => a.partial_cmp(b),
            (Scalar::Moment(a, _), Scalar::Moment(b, _)) => Some(a.cmp(b)),
            (Scalar::Duration(m, s), Scalar::Duration(n, t)) => {
                // A month has from 28 to 31 days: two durations are in order when they are with each of those.
                let of = |m: i64, s: Decimal, days: i64| Decimal::from(m * days * 86_400).checked_add(s);
                let least = of(*m, *s, 28)?.cmp(&of(*n, *t, 28)?);
                (of(*m, *s, 31)?.cmp(&of(*n, *t, 31)?) == least).then_some(least)
            }
            _ => None,
        }
    }

    /// Whether both are the same value.
    #[must_use]
    pub fn same(&self, other: &Scalar) -> bool {
        match (self, other) {
            (Scalar::Double(a, _), Scalar::Double(b, _)) => a == b || (a.is_nan() && b.is_nan()),
            (Scalar::Moment(a, _), Scalar::Moment(b, _)) => a == b,
            (a, b) => a == b,
        }
    }

    /// What `length` counts: characters, or bytes. `None` of types that have no length.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        match self {
            Scalar::Text(s) => Some(s.chars().count() as u64),
            Scalar::Bytes(_, b) => Some(b.len() as u64),
            _ => None,
        }
    }
}

fn decimal(text: &str) -> Option<Decimal> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let numeric = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !numeric(whole) || !numeric(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    // The product keeps 28 digits before the point and 10 behind it.
    let whole = whole.trim_start_matches('0');
    let fraction = fraction.trim_end_matches('0');
    if whole.len() > 28 {
        return None;
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    // Digits that have no room are no reason to keep another number.
    Decimal::from_str_exact(&format!("{sign}{}.{fraction}0", if whole.is_empty() { "0" } else { whole })).ok()
}

fn double(text: &str) -> Option<f64> {
    match text {
        "INF" => Some(f64::INFINITY),
        "-INF" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        _ if text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E')) => {
            text.parse().ok().filter(|d: &f64| d.is_finite())
        }
        _ => None,
    }
}

/// The nearest `float`; none where a number is too large for one.
fn float(d: f64) -> Option<f64> {
    let near = f64::from(d as f32);
    (near.is_finite() || !d.is_finite()).then_some(near)
}

/// `-P1Y2M3DT4H5M6.7S`
fn duration(text: &str) -> Option<Scalar> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let rest = rest.strip_prefix('P')?;
    let (date, time) = match rest.split_once('T') {
        Some((date, time)) if !time.is_empty() => (date, time),
        Some(_) => return None,
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let [years, months, days] = fields(date, ['Y', 'M', 'D'])?;
    let [hours, minutes, seconds] = fields(time, ['H', 'M', 'S'])?;
    let whole = |d: Decimal| d.fract().is_zero().then_some(d);
    let months = whole(years)?.checked_mul(Decimal::from(12))?.checked_add(whole(months)?)?;
    let months = i64::try_from(months).ok().filter(|m| *m < i64::from(i32::MAX))?;
    let parts = [(whole(days)?, 86_400), (whole(hours)?, 3600), (whole(minutes)?, 60), (seconds, 1)];
    let mut total = Decimal::ZERO;
    for (n, unit) in parts {
        total = total.checked_add(n.checked_mul(Decimal::from(unit))?)?;
    }
    Some(if negative { Scalar::Duration(-months, -total) } else { Scalar::Duration(months, total) })
}

/// Numbers before their letters, in this order, each at most once.
fn fields(mut text: &str, letters: [char; 3]) -> Option<[Decimal; 3]> {
    let mut found = [Decimal::ZERO; 3];
    for (value, letter) in found.iter_mut().zip(letters) {
        if let Some((number, rest)) = text.split_once(letter)
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        {
            *value = decimal(number)?;
            text = rest;
        }
    }
    text.is_empty().then_some(found)
}

fn duration_text(months: i64, seconds: Decimal) -> SmolStr {
    let negative = months < 0 || seconds.is_sign_negative() && !seconds.is_zero();
    let (months, seconds) = (months.unsigned_abs(), seconds.abs());
    let mut out = String::from(if negative { "-P" } else { "P" });
    let mut put = |n: Decimal, letter: &str| {
        if !n.is_zero() {
            out.push_str(&n.normalize().to_string());
            out.push_str(letter);
        }
    };
    put(Decimal::from(months / 12), "Y");
    put(Decimal::from(months % 12), "M");
    let whole = seconds.trunc();
    let of = |unit: i64, next: Option<i64>| {
        let n = (whole / Decimal::from(unit)).trunc();
        next.map_or(n, |next| n % Decimal::from(next))
    };
    put(of(86_400, None), "D");
    let time = [(of(3600, Some(24)), "H"), (of(60, Some(60)), "M"), (seconds % Decimal::from(60), "S")];
    let mut clock = String::new();
    for (n, letter) in time.iter().filter(|(n, _)| !n.is_zero()) {
        clock.push_str(&format!("{}{letter}", n.normalize()));
    }
    if !clock.is_empty() {
        out.push('T');
        out.push_str(&clock);
    }
    if out.ends_with('P') {
        out.push_str("T0S");
    }
    out.into()
}

/// What of a moment is written, in order.
const fn shape(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::DateTime => "YMDT",
        Primitive::Date => "YMD",
        Primitive::Time => "T",
        Primitive::YearMonth => "YM",
        Primitive::Year => "Y",
        Primitive::MonthDay => "-MD",
        Primitive::Day => "-D",
        _ => "-M",
    }
}

/// Digits of a number of this many places, and the rest.
fn digits(text: &str, count: usize) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(count)?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
    Some((number.parse().ok()?, rest))
}

fn moment(primitive: Primitive, text: &str) -> Option<Scalar> {
    let parts = shape(primitive);
    let has = |part: char| parts.contains(part);
    let (mut rest, mut zone, mut written_zone) = (text, 0i64, String::new());
    if let Some(before) = rest.strip_suffix('Z') {
        (rest, written_zone) = (before, "Z".to_owned());
    } else if rest.len() > 6 && rest.is_char_boundary(rest.len() - 6) {
        let (before, offset) = rest.split_at(rest.len() - 6);
        if let Some(number) = offset.strip_prefix(['+', '-']).filter(|o| o.as_bytes().get(2) == Some(&b':')) {
            let (hours, minutes) = (digits(number, 2)?.0, digits(&number[3..], 2)?.0);
            if minutes > 59 || hours * 60 + minutes > 14 * 60 {
                return None;
            }
            zone = i64::from(hours * 60 + minutes) * if offset.starts_with('-') { -1 } else { 1 };
            rest = before;
            written_zone = if zone == 0 { "Z".to_owned() } else { offset.to_owned() };
        }
    }
    let (mut year, mut month, mut day) = (1i64, 1u32, 1u32);
    let mut out = String::new();
    if has('Y') {
        let (negative, unsigned) = rest.strip_prefix('-').map_or((false, rest), |r| (true, r));
        let count = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        // The product knows the years from 1 to 9999.
        if negative || count != 4 {
            return None;
        }
        let (n, after) = digits(unsigned, 4)?;
        (year, rest) = (i64::from(n), after);
        if year == 0 {
            return None;
        }
    } else if has('-') {
        rest = rest.strip_prefix('-')?;
    }
    if has('M') {
        let (n, after) = digits(rest.strip_prefix('-')?, 2)?;
        (month, rest) = (n, after);
    } else if has('-') {
        rest = rest.strip_prefix('-')?;
    }
    if has('D') {
        let (n, after) = digits(rest.strip_prefix('-')?, 2)?;
        (day, rest) = (n, after);
    }
    // A leap year stands for the year of what has none.
    let leap_year = if has('Y') { year } else { 4 };
    if !(1..=12).contains(&month) || day == 0 || day > days_in(leap_year, month) {
        return None;
    }
    let (mut nanoseconds, mut clock) = (0i128, String::new());
    if has('T') {
        if has('D') {
            rest = rest.strip_prefix('T')?;
        }
        let (hours, after) = digits(rest, 2)?;
        let (minutes, after) = digits(after.strip_prefix(':')?, 2)?;
        let (seconds, after) = digits(after.strip_prefix(':')?, 2)?;
        rest = after;
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            (fraction, rest) = (after, "");
            if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            fraction = fraction.trim_end_matches('0');
        }
        let midnight = hours == 24 && minutes == 0 && seconds == 0 && fraction.is_empty();
        if (hours > 23 && !midnight) || minutes > 59 || seconds > 59 || fraction.len() > 9 {
            return None;
        }
        let part = format!("{fraction:0<9}").parse::<i128>().ok()?;
        nanoseconds = i128::from(hours * 3600 + minutes * 60 + seconds) * 1_000_000_000 + part;
        if midnight {
            (year, month, day) = next_day(year, month, day);
            if !has('D') {
                nanoseconds = 0;
            } else if year > 9999 {
                return None;
            } else {
                nanoseconds = 0;
            }
        }
        let hours = if midnight { 0 } else { hours };
        clock = format!("{hours:02}:{minutes:02}:{seconds:02}");
        if !fraction.is_empty() {
            clock = format!("{clock}.{fraction}");
        }
    }
    if !rest.is_empty() {
        return None;
    }
    for part in parts.chars() {
        match part {
            'Y' => out.push_str(&format!("{year:04}")),
            'M' => out.push_str(&format!("-{month:02}")),
            'D' => out.push_str(&format!("{}-{day:02}", if parts == "-D" { "-" } else { "" })),
            'T' if parts == "T" => out.push_str(&clock),
            'T' => out.push_str(&format!("T{clock}")),
            _ => out.push('-'),
        }
    }
    let minutes = i128::from(days_before(year, month) + i64::from(day)) * 1440 - i128::from(zone);
    let at = minutes * 60_000_000_000 + nanoseconds;
    Some(Scalar::Moment(at, format_smolstr!("{out}{written_zone}")))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_before(year: i64, month: u32) -> i64 {
    let years = year - 1;
    let before: u32 = (1..month).map(|m| days_in(year, m)).sum();
    years * 365 + years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400) + i64::from(before)
}

fn next_day(year: i64, month: u32, day: u32) -> (i64, u32, u32) {
    if day < days_in(year, month) {
        (year, month, day + 1)
    } else if month < 12 {
        (year, month + 1, 1)
    } else {
        (year + 1, 1, 1)
    }
}
