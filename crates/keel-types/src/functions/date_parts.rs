//! Dateparts: their names, and taking them from, adding them to, counting them between moments.
//!
//! A moment is local ticks since 0001-01-01; callers know what their types make of the result.

use crate::datetime::{
    Civil, MAX_TICKS, TICKS_PER_DAY, TICKS_PER_HOUR, TICKS_PER_MINUTE, TICKS_PER_SECOND, day_of_year,
    days_in_month, from_days, to_days, weekday,
};

/// A datepart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatePart {
    /// year, yy, yyyy
    Year,
    /// quarter, qq, q
    Quarter,
    /// month, mm, m
    Month,
    /// dayofyear, dy, y
    DayOfYear,
    /// day, dd, d
    Day,
    /// week, wk, ww
    Week,
    /// iso_week, isowk, isoww
    IsoWeek,
    /// weekday, dw, w
    Weekday,
    /// hour, hh
    Hour,
    /// minute, mi, n
    Minute,
    /// second, ss, s
    Second,
    /// millisecond, ms
    Millisecond,
    /// microsecond, mcs
    Microsecond,
    /// nanosecond, ns
    Nanosecond,
    /// tzoffset, tz
    TzOffset,
}

impl DatePart {
    /// By name or abbreviation, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<DatePart> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "yy" | "yyyy" => DatePart::Year,
            "quarter" | "qq" | "q" => DatePart::Quarter,
            "month" | "mm" | "m" => DatePart::Month,
            "dayofyear" | "dy" | "y" => DatePart::DayOfYear,
            "day" | "dd" | "d" => DatePart::Day,
            "week" | "wk" | "ww" => DatePart::Week,
            "iso_week" | "isowk" | "isoww" => DatePart::IsoWeek,
            "weekday" | "dw" | "w" => DatePart::Weekday,
            "hour" | "hh" => DatePart::Hour,
            "minute" | "mi" | "n" => DatePart::Minute,
            "second" | "ss" | "s" => DatePart::Second,
            "millisecond" | "ms" => DatePart::Millisecond,
            "microsecond" | "mcs" => DatePart::Microsecond,
            "nanosecond" | "ns" => DatePart::Nanosecond,
            "tzoffset" | "tz" => DatePart::TzOffset,
            _ => return None,
        })
    }

    /// The full name, as messages have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            DatePart::Year => "year",
            DatePart::Quarter => "quarter",
            DatePart::Month => "month",
            DatePart::DayOfYear => "dayofyear",
            DatePart::Day => "day",
            DatePart::Week => "week",
            DatePart::IsoWeek => "iso_week",
            DatePart::Weekday => "weekday",
            DatePart::Hour => "hour",
            DatePart::Minute => "minute",
            DatePart::Second => "second",
            DatePart::Millisecond => "millisecond",
            DatePart::Microsecond => "microsecond",
            DatePart::Nanosecond => "nanosecond",
            DatePart::TzOffset => "tzoffset",
        }
    }

    /// Parts of the time of day.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(self, DatePart::Hour | DatePart::Minute | DatePart::Second) || self.is_fraction()
    }

    /// Parts of a second.
    #[must_use]
    pub const fn is_fraction(self) -> bool {
        matches!(self, DatePart::Millisecond | DatePart::Microsecond | DatePart::Nanosecond)
    }

    /// Months in the part, of those that are made of months.
    const fn months(self) -> Option<i64> {
        match self {
            DatePart::Year => Some(12),
            DatePart::Quarter => Some(3),
            DatePart::Month => Some(1),
            _ => None,
        }
    }

    /// Ticks in the part, of those that have a fixed length of at least a tick.
    const fn ticks(self) -> Option<i64> {
        Some(match self {
            DatePart::Week => 7 * TICKS_PER_DAY,
            DatePart::Day | DatePart::DayOfYear | DatePart::Weekday => TICKS_PER_DAY,
            DatePart::Hour => TICKS_PER_HOUR,
            DatePart::Minute => TICKS_PER_MINUTE,
            DatePart::Second => TICKS_PER_SECOND,
            DatePart::Millisecond => 10_000,
            DatePart::Microsecond => 10,
            _ => return None,
        })
    }
}

/// The value of a part (`DATEPART`). `date_first` is 1 = Monday … 7 = Sunday; fractions come from `civil` rounded by the
/// caller; the offset is in minutes.
pub(super) fn extract(part: DatePart, ticks: i64, offset: i16, date_first: u8) -> i64 {
    let c = Civil::of_ticks(ticks);
    let days = ticks.div_euclid(TICKS_PER_DAY) as i32;
    match part {
        DatePart::Year => c.year.into(),
        DatePart::Quarter => i64::from(c.month.div_ceil(3)),
        DatePart::Month => c.month.into(),
        DatePart::DayOfYear => day_of_year(days).into(),
        DatePart::Day => c.day.into(),
        DatePart::Week => week_of_year(days, date_first),
        DatePart::IsoWeek => iso_week(days),
        DatePart::Weekday => weekday_number(days, date_first),
        DatePart::Hour => c.hour.into(),
        DatePart::Minute => c.minute.into(),
        DatePart::Second => c.second.into(),
        DatePart::Millisecond => i64::from(c.fraction) / 10_000,
        DatePart::Microsecond => i64::from(c.fraction) / 10,
        DatePart::Nanosecond => i64::from(c.fraction) * 100,
        DatePart::TzOffset => offset.into(),
    }
}

fn weekday_number(days: i32, date_first: u8) -> i64 {
    (i64::from(weekday(days)) + 8 - i64::from(date_first)) % 7 + 1
}

fn week_of_year(days: i32, date_first: u8) -> i64 {
    let january_first = days - day_of_year(days) + 1;
    (i64::from(day_of_year(days)) - 1 + weekday_number(january_first, date_first) - 1) / 7 + 1
}

/// The week of the year whose Thursday lies in it.
fn iso_week(days: i32) -> i64 {
    let thursday = days - weekday(days) as i32 + 3;
    (i64::from(day_of_year(thursday.clamp(0, crate::datetime::MAX_DAY))) - 1) / 7 + 1
}

/// Adds parts; `None` when the calendar ends before. The day is cut to the length of the month.
pub(super) fn add(part: DatePart, ticks: i64, n: i64) -> Option<i64> {
    let sum = if let Some(months) = part.months() {
        add_months(ticks, n.checked_mul(months)?)?
    } else if part == DatePart::Nanosecond {
        // Rounded to the tick, so that 50 ns make one.
        ticks.checked_add(n.checked_add(50)?.div_euclid(100))?
    } else {
        ticks.checked_add(n.checked_mul(part.ticks()?)?)?
    };
    (0..=MAX_TICKS).contains(&sum).then_some(sum)
}

/// Adds months to a moment.
pub(super) fn add_months(ticks: i64, n: i64) -> Option<i64> {
    let (days, time) = (ticks.div_euclid(TICKS_PER_DAY), ticks.rem_euclid(TICKS_PER_DAY));
    let (year, month, day) = from_days(days as i32);
    let months = (i64::from(year) * 12 + i64::from(month) - 1).checked_add(n)?;
    let (year, month) = (i32::try_from(months.div_euclid(12)).ok()?, months.rem_euclid(12) as u32 + 1);
    let day = day.min(days_in_month(year, month)?);
    Some(i64::from(to_days(year, month, day)?) * TICKS_PER_DAY + time)
}

/// How many boundaries of the part lie between two moments (`DATEDIFF`). Weeks begin on Sunday, whatever `DATEFIRST` says.
pub(super) fn between(part: DatePart, from: i64, to: i64) -> Option<i64> {
    if part == DatePart::Nanosecond {
        // A moment's own number of them is too large for 64 bits.
        return to.checked_sub(from)?.checked_mul(100);
    }
    number_of(part, to)?.checked_sub(number_of(part, from)?)
}

/// The running number of the part that a moment lies in.
fn number_of(part: DatePart, ticks: i64) -> Option<i64> {
    if let Some(months) = part.months() {
        let c = Civil::of_ticks(ticks);
        return Some((i64::from(c.year) * 12 + i64::from(c.month) - 1).div_euclid(months));
    }
    match part {
        DatePart::Week => Some((ticks.div_euclid(TICKS_PER_DAY) + 1).div_euclid(7)),
        _ => Some(ticks.div_euclid(part.ticks()?)),
    }
}

/// The first moment of the part that a moment lies in (`DATETRUNC`).
pub(super) fn truncate(part: DatePart, ticks: i64, date_first: u8) -> Option<i64> {
    let days = ticks.div_euclid(TICKS_PER_DAY);
    let c = Civil::of_ticks(ticks);
    let day_of = |y: i32, m: u32| to_days(y, m, 1).map(|d| i64::from(d) * TICKS_PER_DAY);
    match part {
        DatePart::Year => day_of(c.year, 1),
        DatePart::Quarter => day_of(c.year, (c.month - 1) / 3 * 3 + 1),
        DatePart::Month => day_of(c.year, c.month),
        DatePart::Week => {
            let first = days - weekday_number(days as i32, date_first) + 1;
            (first >= 0).then_some(first * TICKS_PER_DAY)
        }
        DatePart::IsoWeek => Some((days - i64::from(weekday(days as i32))) * TICKS_PER_DAY),
        DatePart::Day | DatePart::DayOfYear => Some(days * TICKS_PER_DAY),
        DatePart::Weekday | DatePart::Nanosecond | DatePart::TzOffset => None,
        _ => {
            let unit = part.ticks()?;
            Some(ticks.div_euclid(unit) * unit)
        }
    }
}

/// The start of the bucket of `n` parts, counted from `origin`, that a moment lies in (`DATE_BUCKET`).
pub(super) fn bucket(part: DatePart, n: i64, ticks: i64, origin: i64) -> Option<i64> {
    if let Some(months) = part.months() {
        let width = n.checked_mul(months)?;
        let mut index = between(DatePart::Month, origin, ticks)?.div_euclid(width);
        if add_months(origin, index * width)? > ticks {
            index -= 1;
        }
        return add_months(origin, index * width);
    }
    let width = n.checked_mul(part.ticks()?)?;
    Some(origin + (ticks - origin).div_euclid(width) * width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn weeks() {
        let day = |y, m, d| to_days(y, m, d).unwrap();
        assert_eq!(week_of_year(day(2026, 1, 1), 7), 1);
        assert_eq!(week_of_year(day(2026, 1, 4), 7), 2);
        assert_eq!(week_of_year(day(2026, 1, 4), 1), 1);
        assert_eq!(iso_week(day(2027, 1, 1)), 53);
        assert_eq!(iso_week(day(2026, 1, 1)), 1);
        assert_eq!(weekday_number(day(2026, 11, 21), 7), 7);
        assert_eq!(weekday_number(day(2026, 11, 21), 1), 6);
    }

    proptest! {
        #[test]
        fn iso_weeks_of_the_calendar_crate(days in 0..=crate::datetime::MAX_DAY) {
            let expect = time::Date::from_julian_day(days + 1_721_426).unwrap().iso_week();
            prop_assert_eq!(iso_week(days), i64::from(expect));
        }

        #[test]
        fn truncation_starts_a_part(ticks in TICKS_PER_DAY * 10..MAX_TICKS) {
            for part in [DatePart::Year, DatePart::Quarter, DatePart::Month, DatePart::Day, DatePart::Hour, DatePart::Second] {
                let start = truncate(part, ticks, 7).unwrap();
                prop_assert_eq!(between(part, start, ticks), Some(0));
                prop_assert_eq!(between(part, start - 1, ticks), Some(1));
            }
        }
    }
}
