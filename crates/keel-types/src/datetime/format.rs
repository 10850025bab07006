//! Printing dates and times: the `CONVERT` styles.

use super::language::Language;
use super::{Civil, TICKS_PER_MINUTE, hijri, to_days};
use crate::error::Result;
use crate::raise;
use crate::ty::SqlType;
use std::fmt::Write;

/// English month names.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// English day names, Monday first.
pub const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// What of a date and time a type has to show.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// It has a date.
    pub date: bool,
    /// It has a time of day.
    pub time: bool,
    /// Fractional digits.
    pub scale: u8,
    /// `datetime` and `smalldatetime`: three digits after a colon in some styles.
    pub classic: bool,
    /// It has an offset.
    pub offset: bool,
}

impl Shape {
    /// The shape of a temporal type.
    #[must_use]
    pub fn of(ty: SqlType) -> Shape {
        let (date, time, classic, offset) = match ty {
            SqlType::Date => (true, false, false, false),
            SqlType::Time(_) => (false, true, false, false),
            SqlType::DateTime2(_) => (true, true, false, false),
            SqlType::DateTimeOffset(_) => (true, true, false, true),
            _ => (true, true, true, false),
        };
        Shape { date, time, scale: if classic { 3 } else { ty.scale() }, classic, offset }
    }
}

/// The style used when none is given.
#[must_use]
pub fn default_style(ty: SqlType) -> i32 {
    if matches!(ty, SqlType::DateTime | SqlType::SmallDateTime) { 0 } else { 121 }
}

/// Prints a date and time in a `CONVERT` style; error 281 when there is no such style. `offset` is in minutes, and the
/// ticks are already local to it; months are called as in the language.
pub fn format(
    local_ticks: i64,
    offset: i16,
    ty: SqlType,
    style: i32,
    language: &'static Language,
) -> Result<String> {
    let shape = Shape::of(ty);
    let c = Civil::of_ticks(local_ticks);
    let mut printer = Printer { out: String::with_capacity(34), c, shape, style, language };
    printer.print(offset).ok_or_else(|| raise::bad_style(style, ty))?;
    Ok(printer.out)
}

struct Printer {
    out: String,
    c: Civil,
    shape: Shape,
    style: i32,
    language: &'static Language,
}

/// How the time of day is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    None,
    /// `hh:miAM`
    Minutes12,
    /// `hh:mi:ss`
    Seconds,
    /// `hh:mi:ss` and the fraction
    Fraction,
    /// `hh:mi:ss:mmmAM`
    Fraction12,
    /// `hh:mi:ss AM`
    Seconds12,
}

impl Printer {
    fn print(&mut self, offset: i16) -> Option<()> {
        let clock = match self.style {
            0 | 100 => Clock::Minutes12,
            8 | 24 | 108 | 20 | 120 => Clock::Seconds,
            9 | 109 | 130 | 131 => Clock::Fraction12,
            13 | 113 | 14 | 114 | 21 | 25 | 121 | 126 | 127 => Clock::Fraction,
            22 => Clock::Seconds12,
            1..=7 | 10..=12 | 23 | 101..=107 | 110..=112 => Clock::None,
            _ => return None,
        };
        let time_only = matches!(self.style, 8 | 14 | 24 | 108 | 114);
        if self.shape.date && !time_only {
            match self.style {
                130 | 131 => self.hijri_date()?,
                _ => self.date(),
            }
        }
        if !self.shape.date && clock == Clock::None {
            return None;
        }
        if self.shape.time && clock != Clock::None {
            if !self.out.is_empty() {
                self.out.push(if matches!(self.style, 126 | 127) { 'T' } else { ' ' });
            }
            self.time(clock);
            if self.shape.offset && !time_only {
                self.offset(offset);
            }
        } else if !self.shape.time && time_only {
            return None;
        }
        Some(())
    }

    fn date(&mut self) {
        let c = self.c;
        let full = matches!(self.style, 0 | 9 | 13 | 20..=25 | 100..);
        let year =
            if full && self.style != 22 { format!("{:04}", c.year) } else { format!("{:02}", c.year % 100) };
        let (month, day) = (c.month, c.day);
        let short = self.language.short_month(month);
        let out = &mut self.out;
        let written = match self.style {
            0 | 9 | 100 | 109 => write!(out, "{short} {day:2} {year}"),
            1 | 22 | 101 => write!(out, "{month:02}/{day:02}/{year}"),
            2 | 102 => write!(out, "{year}.{month:02}.{day:02}"),
            3 | 103 => write!(out, "{day:02}/{month:02}/{year}"),
            4 | 104 => write!(out, "{day:02}.{month:02}.{year}"),
            5 | 105 => write!(out, "{day:02}-{month:02}-{year}"),
            6 | 13 | 106 | 113 => write!(out, "{day:02} {short} {year}"),
            7 | 107 => write!(out, "{short} {day:02}, {year}"),
            10 | 110 => write!(out, "{month:02}-{day:02}-{year}"),
            11 | 111 => write!(out, "{year}/{month:02}/{day:02}"),
            12 | 112 => write!(out, "{year}{month:02}{day:02}"),
            _ => write!(out, "{year}-{month:02}-{day:02}"),
        };
        debug_assert!(written.is_ok());
    }

    fn hijri_date(&mut self) -> Option<()> {
        let (year, month, day) = hijri::of_days(to_days(self.c.year, self.c.month, self.c.day)?)?;
        let written = match self.style {
            130 => write!(self.out, "{day:2} {} {year}", hijri::MONTHS[month as usize - 1]),
            _ => write!(self.out, "{day:2}/{month:02}/{year}"),
        };
        debug_assert!(written.is_ok());
        Some(())
    }

    fn time(&mut self, clock: Clock) {
        let c = self.c;
        let (twelve, half) = ((c.hour + 11) % 12 + 1, if c.hour < 12 { "AM" } else { "PM" });
        let (minute, second) = (c.minute, c.second);
        let written = match clock {
            Clock::None => Ok(()),
            // A time alone is not padded to the width it has after a date.
            Clock::Minutes12 if !self.shape.date => write!(self.out, "{twelve}:{minute:02}{half}"),
            Clock::Minutes12 => write!(self.out, "{twelve:2}:{minute:02}{half}"),
            Clock::Seconds => write!(self.out, "{:02}:{minute:02}:{second:02}", c.hour),
            Clock::Seconds12 => write!(self.out, "{twelve:2}:{minute:02}:{second:02} {half}"),
            Clock::Fraction => {
                let written = write!(self.out, "{:02}:{minute:02}:{second:02}", c.hour);
                self.fraction();
                written
            }
            Clock::Fraction12 => {
                let written = write!(self.out, "{twelve:2}:{minute:02}:{second:02}");
                self.fraction();
                self.out.push_str(half);
                written
            }
        };
        debug_assert!(written.is_ok());
    }

    fn fraction(&mut self) {
        let iso = matches!(self.style, 126 | 127);
        if self.shape.scale == 0 || (iso && self.shape.classic && self.c.fraction == 0) {
            return;
        }
        let colon = self.shape.classic && matches!(self.style, 9 | 13 | 14 | 109 | 113 | 114 | 130 | 131);
        self.out.push(if colon { ':' } else { '.' });
        push_fraction(&mut self.out, self.c.fraction, self.shape.scale);
    }

    fn offset(&mut self, offset: i16) {
        match self.style {
            127 if offset == 0 => self.out.push('Z'),
            126 | 127 => push_offset(&mut self.out, offset),
            _ => {
                self.out.push(' ');
                push_offset(&mut self.out, offset);
            }
        }
    }
}

/// Appends the first `scale` digits of the fraction of a second. Three digits of the `datetime` grid are rounded to the
/// millisecond.
pub(crate) fn push_fraction(out: &mut String, ticks: u32, scale: u8) {
    let unit = 10u32.pow(7 - u32::from(scale.min(7)));
    let digits = ((ticks + unit / 2) / unit).min(10u32.pow(u32::from(scale.min(7))) - 1);
    let written = write!(out, "{digits:0width$}", width = usize::from(scale.min(7)));
    debug_assert!(written.is_ok());
}

/// Appends an offset as `+hh:mm`.
pub(crate) fn push_offset(out: &mut String, minutes: i16) {
    let sign = if minutes < 0 { '-' } else { '+' };
    let written = write!(out, "{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60);
    debug_assert!(written.is_ok());
}

/// Local ticks of a UTC instant at an offset, kept within the calendar.
#[must_use]
pub fn to_local(utc_ticks: i64, offset: i16) -> i64 {
    (utc_ticks + i64::from(offset) * TICKS_PER_MINUTE).clamp(0, super::MAX_TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles() {
        let ticks =
            |f: u32| Civil { year: 2026, month: 1, day: 5, hour: 14, minute: 3, second: 9, fraction: f };
        let dt = ticks(1_233_333).ticks().unwrap();
        let check = |style: i32, ty: SqlType, expect: &str| {
            let got =
                format(dt, 60, ty, style, Language::us_english()).unwrap_or_else(|e| e.number.to_string());
            assert_eq!(got, expect, "{ty} style {style}");
        };
        let datetime = SqlType::DateTime;
        check(0, datetime, "Jan  5 2026  2:03PM");
        check(1, datetime, "01/05/26");
        check(101, datetime, "01/05/2026");
        check(102, datetime, "2026.01.05");
        check(103, datetime, "05/01/2026");
        check(104, datetime, "05.01.2026");
        check(105, datetime, "05-01-2026");
        check(106, datetime, "05 Jan 2026");
        check(6, datetime, "05 Jan 26");
        check(107, datetime, "Jan 05, 2026");
        check(108, datetime, "14:03:09");
        check(109, datetime, "Jan  5 2026  2:03:09:123PM");
        check(110, datetime, "01-05-2026");
        check(111, datetime, "2026/01/05");
        check(112, datetime, "20260105");
        check(12, datetime, "260105");
        check(113, datetime, "05 Jan 2026 14:03:09:123");
        check(114, datetime, "14:03:09:123");
        check(120, datetime, "2026-01-05 14:03:09");
        check(121, datetime, "2026-01-05 14:03:09.123");
        check(22, datetime, "01/05/26  2:03:09 PM");
        check(23, datetime, "2026-01-05");
        check(126, datetime, "2026-01-05T14:03:09.123");
        check(99, datetime, "281");
        check(121, SqlType::DateTime2(7), "2026-01-05 14:03:09.1233333");
        check(126, SqlType::DateTime2(0), "2026-01-05T14:03:09");
        check(121, SqlType::Date, "2026-01-05");
        check(0, SqlType::Date, "Jan  5 2026");
        check(114, SqlType::Time(7), "14:03:09.1233333");
        check(0, SqlType::Time(7), "2:03PM");
        check(121, SqlType::DateTimeOffset(3), "2026-01-05 14:03:09.123 +01:00");
        check(126, SqlType::DateTimeOffset(3), "2026-01-05T14:03:09.123+01:00");
    }
}
