//! Conversion to strings: the form in which the product prints every type, and fitting text into a length.

use super::{Cast, Step, clr, mismatch, xml};
use crate::collation::{cp1252, pages};
use crate::datetime::TICKS_PER_DAY;
use crate::datetime::format::{self, default_style, to_local};
use crate::datetime::language::Language;
use crate::error::Result;
use crate::raise;
use crate::ty::{Family, Length, SqlType};
use crate::value::{Value, with_blanks};
use smol_str::{SmolStr, ToSmolStr, format_smolstr};
use std::borrow::Cow;
use std::fmt::Write;

pub(super) fn step(from: SqlType, to: SqlType) -> Option<Step> {
    use Family as F;
    let ancient = matches!(to, SqlType::Text | SqlType::NText);
    Some(match from.family() {
        F::String if to.is_xml() => xml::from_narrow,
        F::NationalString if to.is_xml() => xml::from_wide,
        F::Binary if to.is_xml() => xml::from_bytes,
        F::Xml if to.xml_schema().is_some() => xml::from_xml,
        F::String | F::NationalString | F::Xml if to.is_national() || to.is_xml() => national_to_national,
        F::String if !from.is_xml() => narrow_to_narrow,
        F::NationalString | F::Xml => national_to_narrow,
        _ if ancient => return None,
        F::Binary if to.is_xml() || from == SqlType::Image => return None,
        F::Binary => binary_to_text,
        _ if to.is_xml() => return None,
        F::Bit | F::Integer => int_to_text,
        F::Null | F::Variant | F::Encrypted => return None,
        _ => other_to_text,
    })
}

/// Fits text that the type's characters can express into its length.
fn fit(text: &SmolStr, cast: &Cast) -> Result<Value> {
    let (length, fixed) = match cast.to {
        SqlType::Char(n) | SqlType::NChar(n) => (usize::from(n), true),
        SqlType::VarChar(Length::Limited(n)) | SqlType::NVarChar(Length::Limited(n)) => {
            (usize::from(n), false)
        }
        _ => return Ok(Value::Str(text.clone())),
    };
    let used = if text.is_ascii() {
        text.len()
    } else if cast.to.is_national() {
        text.encode_utf16().count()
    } else {
        pages::length(text, cast.page)
    };
    if used == length || (used < length && !fixed) {
        return Ok(Value::Str(text.clone()));
    }
    if used < length {
        return Ok(Value::Str(with_blanks(text, length - used)));
    }
    let end = cut_in_page(text, length, cast);
    if cast.strict_length && text[end..].bytes().any(|b| b != b' ') {
        return Err(raise::truncated());
    }
    Ok(Value::Str(SmolStr::new(&text[..end])))
}

/// The byte position after `length` units; a pair of surrogates is not cut in two.
pub(crate) fn cut_at(text: &str, length: usize, national: bool) -> usize {
    if text.is_ascii() {
        return length.min(text.len());
    }
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += if national { c.len_utf16() } else { 1 };
        if used > length {
            return at;
        }
    }
    text.len()
}

/// [`cut_at`] with the widths that characters have in the conversion's code page.
fn cut_in_page(text: &str, length: usize, cast: &Cast) -> usize {
    if cast.to.is_national() || cast.page == pages::LATIN1 {
        return cut_at(text, length, cast.to.is_national());
    }
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += pages::width(c, cast.page);
        if used > length {
            return at;
        }
    }
    text.len()
}

fn narrow_to_narrow(value: &Value, cast: &Cast) -> Result<Value> {
    match value {
        Value::Str(_) if cast.page != pages::LATIN1 && !cast.to.is_national() => {
            national_to_narrow(value, cast)
        }
        Value::Str(s) => fit(s, cast),
        _ => Err(mismatch(value, cast)),
    }
}

fn national_to_national(value: &Value, cast: &Cast) -> Result<Value> {
    narrow_to_narrow(value, cast)
}

fn national_to_narrow(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Str(s) = value else { return Err(mismatch(value, cast)) };
    if s.is_ascii() {
        return fit(s, cast);
    }
    match pages::fit(s, cast.page) {
        Cow::Borrowed(_) => fit(s, cast),
        Cow::Owned(fitted) => fit(&SmolStr::from(fitted), cast),
    }
}

fn int_to_text(value: &Value, cast: &Cast) -> Result<Value> {
    let text = match value {
        Value::Int(n) => integer_text(*n),
        Value::Bit(b) => SmolStr::new_static(if *b { "1" } else { "0" }),
        _ => return Err(mismatch(value, cast)),
    };
    if text.len() <= room(cast.to) {
        return fit(&text, cast);
    }
    // Small integers print an asterisk in a narrow string that is too short; the others are an overflow.
    match cast.from {
        SqlType::BigInt => Err(raise::overflow(cast.to)),
        _ if cast.to.is_national() => Err(raise::overflow(cast.to)),
        _ => fit(&SmolStr::new_static("*"), cast),
    }
}

/// An integer's digits; what the formatting machinery does, without it.
fn integer_text(n: i64) -> SmolStr {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = n.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if n < 0 {
        at -= 1;
        digits[at] = b'-';
    }
    SmolStr::new(std::str::from_utf8(&digits[at..]).expect("digits are ASCII"))
}

/// Units of text that the type has room for.
fn room(ty: SqlType) -> usize {
    match ty.length() {
        Some(Length::Limited(n)) => usize::from(n),
        _ => usize::MAX,
    }
}

/// 281 unless numbers of this kind are printed in this style.
fn check_style(cast: &Cast) -> Result<()> {
    let known = match cast.from.family() {
        Family::Money => matches!(cast.style, Cast::NO_STYLE | 0..=2 | 126),
        Family::Float => matches!(cast.style, Cast::NO_STYLE | 0..=3 | 126 | 128 | 129),
        _ => true,
    };
    if known { Ok(()) } else { Err(raise::bad_style(cast.style, cast.from)) }
}

fn other_to_text(value: &Value, cast: &Cast) -> Result<Value> {
    check_style(cast)?;
    let text = to_text_in(value, cast.from, cast.style, cast.dates.language)?;
    if text.len() > room(cast.to) {
        match cast.from.family() {
            Family::Decimal => return Err(raise::overflow_from(cast.from, cast.to)),
            Family::Float => {
                let Value::Float(f) = value else { return Err(raise::overflow_from(cast.from, cast.to)) };
                return Err(raise::float_overflow(cast.to, *f));
            }
            Family::Money => return Err(raise::no_space_for(cast.from, cast.to)),
            Family::Guid if cast.to.is_national() => return Err(raise::overflow(cast.to)),
            Family::Guid => return Err(raise::guid_too_long()),
            Family::Clr => return Err(raise::truncated()),
            _ => {}
        }
    }
    fit(&text, cast)
}

/// The string form of a value of type `ty` in a `CONVERT` style ([`Cast::NO_STYLE`] for the type's own).
pub fn to_text(value: &Value, ty: SqlType, style: i32) -> Result<SmolStr> {
    to_text_in(value, ty, style, Language::us_english())
}

/// The same with the names that months have in a language.
fn to_text_in(value: &Value, ty: SqlType, style: i32, language: &'static Language) -> Result<SmolStr> {
    Ok(match value {
        Value::Null => SmolStr::default(),
        Value::Bit(b) => SmolStr::new_static(if *b { "1" } else { "0" }),
        Value::Int(n) => integer_text(*n),
        Value::Decimal(d) => d.to_smolstr(),
        Value::Money(m) => money_text(*m, style),
        Value::Float(f) => float_text(*f, ty, style),
        Value::Str(s) => s.clone(),
        Value::Bytes(_) if ty.is_clr() => SmolStr::from(clr::text(value, ty)?),
        Value::Bytes(b) if style == 1 => SmolStr::from(hex(b, "0x")),
        Value::Bytes(b) if style == 2 => SmolStr::from(hex(b, "")),
        Value::Bytes(b) => SmolStr::new(cp1252::decode(b)),
        Value::Guid(g) => guid_text(g),
        Value::Variant(v) => to_text_in(&v.1, v.0, style, language)?,
        Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::DateTimeOffset(..) => {
            temporal_text(value, ty, style, language)?
        }
    })
}

fn temporal_text(value: &Value, ty: SqlType, style: i32, language: &'static Language) -> Result<SmolStr> {
    let style = if style == Cast::NO_STYLE { default_style(ty) } else { style };
    let (ticks, offset) = match value {
        Value::Date(days) => (i64::from(*days) * TICKS_PER_DAY, 0),
        Value::Time(t) | Value::DateTime(t) => (*t, 0),
        Value::DateTimeOffset(t, o) if style == 127 => (*t, 0),
        Value::DateTimeOffset(t, o) => (to_local(*t, *o), *o),
        _ => (0, 0),
    };
    format::format(ticks, offset, ty, style, language).map(SmolStr::from)
}

/// Money with two digits (styles 0 and none), with commas (1), or with four digits (2, 126).
#[must_use]
pub fn money_text(ten_thousandths: i64, style: i32) -> SmolStr {
    let sign = if ten_thousandths < 0 { "-" } else { "" };
    let n = ten_thousandths.unsigned_abs();
    if matches!(style, 2 | 126) {
        return format_smolstr!("{sign}{}.{:04}", n / 10_000, n % 10_000);
    }
    let cents = (n + 50) / 100;
    let sign = if cents == 0 { "" } else { sign };
    let whole = (cents / 100).to_string();
    let whole = if style == 1 { with_commas(&whole) } else { whole };
    format_smolstr!("{sign}{whole}.{:02}", cents % 100)
}

/// Groups of three digits.
fn with_commas(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// A float as `CONVERT` prints it: six significant digits at most (style 0 and none), eight (1) or sixteen (2) in
/// scientific form, 17 or 9 digits that read back the same (3), or 16 and 8 (126).
#[must_use]
pub fn float_text(f: f64, ty: SqlType, style: i32) -> SmolStr {
    match style {
        1 => SmolStr::from(scientific(f, 7)),
        2 => SmolStr::from(scientific(f, 15)),
        3 | 126 => {
            let most = if ty == SqlType::Real { 8 } else { 16 };
            SmolStr::from(scientific(f, if style == 126 { most - 1 } else { most }))
        }
        _ => SmolStr::from(general(f, 6)),
    }
}

/// `d.ddde+xxx`
fn scientific(f: f64, digits: usize) -> String {
    let text = format!("{f:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    format!("{mantissa}e{}{:03}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// C's `%g` with this many significant digits and the product's three-digit exponent.
pub(crate) fn general(f: f64, digits: usize) -> String {
    if f == 0.0 {
        return if f.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let text = scientific(f, digits - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+000"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if power < -4 || power >= digits as i32 {
        let mantissa = if mantissa.contains('.') {
            mantissa.trim_end_matches('0').trim_end_matches('.')
        } else {
            mantissa
        };
        return format!("{mantissa}e{exponent}");
    }
    let places = (digits as i32 - 1 - power).max(0) as usize;
    let plain = format!("{f:.places$}");
    if plain.contains('.') { plain.trim_end_matches('0').trim_end_matches('.').to_owned() } else { plain }
}

/// Hexadecimal digits, upper case.
pub(crate) fn hex(bytes: &[u8], prefix: &str) -> String {
    let mut out = String::with_capacity(prefix.len() + 2 * bytes.len());
    out.push_str(prefix);
    for b in bytes {
        let written = write!(out, "{b:02X}");
        debug_assert!(written.is_ok());
    }
    out
}

/// `6F9619FF-8B86-D011-B42D-00C04FC964FF`
#[must_use]
pub(crate) fn guid_text(g: &[u8; 16]) -> SmolStr {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    let mut out = String::with_capacity(36);
    for (i, at) in ORDER.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        let written = write!(out, "{:02X}", g[*at]);
        debug_assert!(written.is_ok());
    }
    SmolStr::from(out)
}

fn binary_to_text(value: &Value, cast: &Cast) -> Result<Value> {
    let Value::Bytes(bytes) = value else { return Err(mismatch(value, cast)) };
    let text = match cast.style_or(0) {
        1 => SmolStr::from(hex(bytes, "0x")),
        2 => SmolStr::from(hex(bytes, "")),
        _ if cast.to.is_national() => utf16_text(bytes),
        _ => SmolStr::new(pages::decode(bytes, cast.page)),
    };
    if matches!(cast.style, 1 | 2) && text.len() > room(cast.to) {
        let whole_bytes = room(cast.to) & !1;
        return fit(&SmolStr::new(&text[..whole_bytes]), cast);
    }
    fit(&text, cast)
}

fn utf16_text(bytes: &[u8]) -> SmolStr {
    let units = bytes.chunks(2).map(|c| u16::from_le_bytes([c[0], c.get(1).copied().unwrap_or(0)]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}
