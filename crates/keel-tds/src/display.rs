//! Wire values as text, as the product's command line tools print them.

use std::fmt::Write;

use crate::type_info::{Fixed, TypeInfo};
use crate::value::Data;
use crate::{code_page, text};

/// Days from 0001-01-01 to 1900-01-01, where datetime counts from.
const DAY_1900: i64 = 693_595;
/// 100 ns in a second.
const SECOND: u64 = 10_000_000;

/// The text of a value of type `ty`; NULL is `NULL`.
#[must_use]
pub fn format(data: &Data<'_>, ty: &TypeInfo) -> String {
    match data {
        Data::Null => "NULL".to_owned(),
        Data::Bit(v) => u8::from(*v).to_string(),
        Data::TinyInt(v) => v.to_string(),
        Data::SmallInt(v) => v.to_string(),
        Data::Int(v) => v.to_string(),
        Data::BigInt(v) => v.to_string(),
        Data::Real(v) => float((*v).into(), 9),
        Data::Float(v) => float(*v, 17),
        Data::Money(v) => decimal(*v < 0, v.unsigned_abs().into(), 4),
        Data::Decimal { negative, magnitude, scale } => decimal(*negative, *magnitude, *scale),
        Data::DateTime { days, ticks } => {
            let time = u64::from(*ticks) * SECOND / 300;
            // Thousandths, rounded: .000, .003, .007.
            let thousandths = (time + 5_000) / 10_000 * 10_000;
            format!("{} {}", date(i64::from(*days) + DAY_1900), time_of_day(thousandths, 3))
        }
        Data::SmallDateTime { days, minutes } => {
            let time = u64::from(*minutes) * 60 * SECOND;
            format!("{} {}", date(i64::from(*days) + DAY_1900), time_of_day(time, 0))
        }
        Data::Date(days) => date((*days).into()),
        Data::Time(time) => time_of_day(*time, scale_of(ty)),
        Data::DateTime2 { days, time } => {
            format!("{} {}", date((*days).into()), time_of_day(*time, scale_of(ty)))
        }
        Data::DateTimeOffset { days, time, offset } => date_time_offset(*days, *time, *offset, scale_of(ty)),
        Data::Guid(bytes) => guid(bytes),
        Data::Char(bytes) => narrow(bytes, ty),
        Data::NChar(bytes) => text::from_utf16le(bytes),
        Data::Binary(bytes) => bytes.iter().fold("0x".to_owned(), |mut out, b| {
            write!(out, "{b:02X}").expect("writing to a string");
            out
        }),
        Data::Variant(inner) => format(&inner.1, &inner.0),
        Data::Table(_) => "(table)".to_owned(),
    }
}

/// Characters a column of this type needs at most; `None` for max types.
#[must_use]
pub fn width(ty: &TypeInfo) -> Option<usize> {
    Some(match ty {
        TypeInfo::Fixed(fixed) => match fixed {
            Fixed::Null => 4,
            Fixed::Bit => 1,
            Fixed::Int1 => 3,
            Fixed::Int2 => 6,
            Fixed::Int4 => 11,
            Fixed::Int8 => 20,
            Fixed::Float4 => 14,
            Fixed::Float8 => 24,
            Fixed::Money4 => 12,
            Fixed::Money8 => 21,
            Fixed::DateTime4 => 19,
            Fixed::DateTime8 => 23,
        },
        TypeInfo::BitN => 1,
        TypeInfo::IntN(1) => 3,
        TypeInfo::IntN(2) => 6,
        TypeInfo::IntN(4) => 11,
        TypeInfo::IntN(_) => 20,
        TypeInfo::FloatN(4) => 14,
        TypeInfo::FloatN(_) => 24,
        TypeInfo::MoneyN(4) => 12,
        TypeInfo::MoneyN(_) => 21,
        TypeInfo::DateTimeN(4) => 19,
        TypeInfo::DateTimeN(_) => 23,
        TypeInfo::Decimal { precision, .. } => usize::from(*precision) + 2,
        TypeInfo::DateN => 16,
        TypeInfo::TimeN(_) => 22,
        TypeInfo::DateTime2N(_) => 38,
        TypeInfo::DateTimeOffsetN(_) => 45,
        TypeInfo::Guid => 36,
        ty if ty.is_plp() || ty.is_lob() => return None,
        TypeInfo::Binary(n) | TypeInfo::VarBinary(n) => 2 + 2 * usize::from(*n),
        TypeInfo::Char(n, _) | TypeInfo::VarChar(n, _) => usize::from(*n),
        TypeInfo::NChar(n, _) | TypeInfo::NVarChar(n, _) => usize::from(*n) / 2,
        TypeInfo::Legacy(_, n) => usize::from(*n),
        _ => return None,
    })
}

fn scale_of(ty: &TypeInfo) -> u8 {
    match ty {
        TypeInfo::TimeN(s) | TypeInfo::DateTime2N(s) | TypeInfo::DateTimeOffsetN(s) => *s,
        _ => 7,
    }
}

fn narrow(bytes: &[u8], ty: &TypeInfo) -> String {
    match ty {
        TypeInfo::Char(_, c) | TypeInfo::VarChar(_, c) | TypeInfo::Text(_, c) => code_page::decode(bytes, *c),
        _ => text::from_cp1252(bytes),
    }
}

/// As C's `%.{digits}g`.
fn float(v: f64, digits: usize) -> String {
    if !v.is_finite() || v == 0.0 {
        return if v == 0.0 { "0.0".to_owned() } else { v.to_string() };
    }
    let scientific = format!("{v:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("scientific form has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    let digits = i32::try_from(digits).expect("9 or 17");
    if (-5..digits).contains(&exponent) {
        let places = usize::try_from(digits - 1 - exponent).unwrap_or(0);
        let plain = format!("{v:.places$}");
        let trimmed = if plain.contains('.') { plain.trim_end_matches('0') } else { &plain };
        if trimmed.ends_with('.') { format!("{trimmed}0") } else { trimmed.to_owned() }
    } else {
        let mantissa = if mantissa.contains('.') {
            mantissa.trim_end_matches('0').trim_end_matches('.')
        } else {
            mantissa
        };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}E{sign}{:03}", exponent.unsigned_abs())
    }
}

/// Without a zero before the point, as the tools print.
fn decimal(negative: bool, magnitude: u128, scale: u8) -> String {
    let sign = if negative { "-" } else { "" };
    let digits = magnitude.to_string();
    let scale = usize::from(scale);
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>scale$}");
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// A date from days since 0001-01-01, in the proleptic Gregorian calendar.
fn date(days: i64) -> String {
    // Eras of 400 years from 0000-03-01.
    let z = days + 306;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

fn time_of_day(ticks: u64, scale: u8) -> String {
    let seconds = ticks / SECOND;
    let mut out = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if scale > 0 {
        let fraction = format!("{:07}", ticks % SECOND);
        out.push('.');
        out.push_str(&fraction[..usize::from(scale.min(7))]);
    }
    out
}

/// Shown in its own offset; sent in UTC.
fn date_time_offset(days: u32, time: u64, offset: i16, scale: u8) -> String {
    const DAY: i64 = 864_000_000_000;
    let utc = i64::from(days) * DAY + i64::try_from(time).unwrap_or(0);
    let local = utc + i64::from(offset) * 60 * 10_000_000;
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.unsigned_abs();
    format!(
        "{} {} {sign}{:02}:{:02}",
        date(local.div_euclid(DAY)),
        time_of_day(u64::try_from(local.rem_euclid(DAY)).unwrap_or(0), scale),
        minutes / 60,
        minutes % 60
    )
}

fn guid(b: &[u8; 16]) -> String {
    format!(
        "{:02X}{:02X}{:02X}{:02X}-{:02X}{:02X}-{:02X}{:02X}-{:02X}{:02X}-{:02X}{:02X}{:02X}{:02X}{:02X}{:02X}",
        b[3], b[2], b[1], b[0], b[5], b[4], b[7], b[6], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_the_tools_print_them() {
        let check = |data: Data<'_>, ty: TypeInfo, expect: &str| assert_eq!(format(&data, &ty), expect);
        check(Data::DateTime { days: 0, ticks: 1 }, TypeInfo::DateTimeN(8), "1900-01-01 00:00:00.003");
        check(Data::DateTime { days: 46_345, ticks: 2 }, TypeInfo::DateTimeN(8), "2026-11-21 00:00:00.007");
        check(Data::Date(0), TypeInfo::DateN, "0001-01-01");
        check(Data::Date(3_652_058), TypeInfo::DateN, "9999-12-31");
        check(Data::Time(12), TypeInfo::TimeN(7), "00:00:00.0000012");
        let dto = Data::DateTimeOffset { days: 739_000, time: 0, offset: -90 };
        check(dto, TypeInfo::DateTimeOffsetN(0), "2024-04-24 22:30:00 -01:30");
        check(Data::Decimal { negative: true, magnitude: 5, scale: 2 }, TypeInfo::Guid, "-.05");
        check(Data::Money(12_345), TypeInfo::MoneyN(8), "1.2345");
        check(Data::Float(0.1), TypeInfo::FloatN(8), "0.10000000000000001");
        check(Data::Float(1e300), TypeInfo::FloatN(8), "1.0000000000000001E+300");
        check(Data::Float(2.5), TypeInfo::FloatN(8), "2.5");
        check(Data::Binary((&[1u8, 0xAB][..]).into()), TypeInfo::Binary(2), "0x01AB");
    }
}
