//! The calendar: ticks and days to and from years, months, hours. Parsing and printing lie in the submodules.
//!
//! Inside, all dates are days since 0001-01-01 (day 0) and all times are ticks of 100 ns, in the proleptic Gregorian
//! calendar. `datetime` has its own grid of 1/300 s, stored here as the nearest tick: `.003` is 33,333 ticks, `.007`
//! 66,667.

pub mod format;
pub mod hijri;
pub mod language;
pub mod parse;

/// Ticks (100 ns) in a second.
pub const TICKS_PER_SECOND: i64 = 10_000_000;
/// Ticks in a minute.
pub const TICKS_PER_MINUTE: i64 = 60 * TICKS_PER_SECOND;
/// Ticks in an hour.
pub const TICKS_PER_HOUR: i64 = 3600 * TICKS_PER_SECOND;
/// Ticks in a day.
pub const TICKS_PER_DAY: i64 = 24 * TICKS_PER_HOUR;
/// Days since 0001-01-01 of 9999-12-31.
pub const MAX_DAY: i32 = 3_652_058;
/// Days since 0001-01-01 of 1900-01-01, day 0 of `datetime`.
pub const DAY_1900: i32 = 693_595;
/// Days since 0001-01-01 of 1753-01-01, the first of `datetime`.
pub const DAY_1753: i32 = 639_905;
/// Days since 0001-01-01 of 2079-06-06, the last of `smalldatetime`.
pub const DAY_2079: i32 = 759_130;
/// The last tick of 9999-12-31.
pub const MAX_TICKS: i64 = (MAX_DAY as i64 + 1) * TICKS_PER_DAY - 1;

/// A date and time of day taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// 1..=9999
    pub year: i32,
    /// 1..=12
    pub month: u32,
    /// 1..=31
    pub day: u32,
    /// 0..=23
    pub hour: u32,
    /// 0..=59
    pub minute: u32,
    /// 0..=59
    pub second: u32,
    /// Ticks of 100 ns within the second.
    pub fraction: u32,
}

impl Civil {
    /// Takes apart ticks since 0001-01-01.
    #[must_use]
    pub fn of_ticks(ticks: i64) -> Civil {
        let days = ticks.div_euclid(TICKS_PER_DAY);
        let mut civil = Civil::of_time(ticks.rem_euclid(TICKS_PER_DAY));
        (civil.year, civil.month, civil.day) = from_days(days as i32);
        civil
    }

    /// Takes apart days since 0001-01-01; the time is midnight.
    #[must_use]
    pub fn of_days(days: i32) -> Civil {
        Civil::of_ticks(i64::from(days) * TICKS_PER_DAY)
    }

    /// Takes apart ticks since midnight; the date is 1900-01-01.
    #[must_use]
    pub fn of_time(ticks: i64) -> Civil {
        let seconds = ticks / TICKS_PER_SECOND;
        Civil {
            year: 1900,
            month: 1,
            day: 1,
            hour: (seconds / 3600) as u32,
            minute: (seconds / 60 % 60) as u32,
            second: (seconds % 60) as u32,
            fraction: (ticks % TICKS_PER_SECOND) as u32,
        }
    }

    /// Ticks since midnight.
    #[must_use]
    pub fn time_ticks(&self) -> i64 {
        i64::from(self.hour * 3600 + self.minute * 60 + self.second) * TICKS_PER_SECOND
            + i64::from(self.fraction)
    }

    /// Ticks since 0001-01-01; `None` when there is no such date.
    #[must_use]
    pub fn ticks(&self) -> Option<i64> {
        Some(i64::from(to_days(self.year, self.month, self.day)?) * TICKS_PER_DAY + self.time_ticks())
    }
}

/// Days since 0001-01-01; `None` when there is no such date between years 1 and 9999.
#[must_use]
pub fn to_days(year: i32, month: u32, day: u32) -> Option<i32> {
    if !(1..=9999).contains(&year) || day == 0 || day > days_in_month(year, month)? {
        return None;
    }
    Some(days_before_year(year) + days_before_month(year, month) + day as i32 - 1)
}

/// Year, month and day of days since 0001-01-01, which lie within years 1 to 9999.
#[must_use]
pub fn from_days(days: i32) -> (i32, u32, u32) {
    // Counted from 0000-03-01, so that the leap day is the last of its year.
    let z = days + 306;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    let year = yoe + era * 400 + i32::from(month <= 2);
    (year, month, day)
}

/// Days of a month; `None` when the month is not 1..=12.
#[must_use]
pub fn days_in_month(year: i32, month: u32) -> Option<u32> {
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => return None,
    })
}

/// Whether February has 29 days.
#[must_use]
pub const fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_before_year(year: i32) -> i32 {
    let y = year - 1;
    y * 365 + y / 4 - y / 100 + y / 400
}

fn days_before_month(year: i32, month: u32) -> i32 {
    const BEFORE: [i32; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    BEFORE[month as usize - 1] + i32::from(month > 2 && is_leap_year(year))
}

/// Day of the year, from 1.
#[must_use]
pub fn day_of_year(days: i32) -> i32 {
    let (year, _, _) = from_days(days);
    days - days_before_year(year) + 1
}

/// Day of the week, 0 = Monday.
#[must_use]
pub fn weekday(days: i32) -> u32 {
    // 0001-01-01 was a Monday.
    days.rem_euclid(7) as u32
}

/// Ticks to the nearest 1/300 s.
#[must_use]
pub fn to_three_hundredths(ticks: i64) -> i64 {
    let days = ticks.div_euclid(TICKS_PER_DAY);
    let time = ticks.rem_euclid(TICKS_PER_DAY);
    days * 25_920_000 + (time * 3 + 50_000) / 100_000
}

/// 1/300 s to ticks.
#[must_use]
pub fn from_three_hundredths(n: i64) -> i64 {
    let days = n.div_euclid(25_920_000);
    let part = n.rem_euclid(25_920_000);
    days * TICKS_PER_DAY + (part * 100_000 + 1) / 3
}

/// Ticks rounded to the grid of `datetime`.
#[must_use]
pub fn round_to_datetime(ticks: i64) -> i64 {
    from_three_hundredths(to_three_hundredths(ticks))
}

/// Ticks rounded to whole minutes, as `smalldatetime` does: 30 seconds and more go up.
#[must_use]
pub fn round_to_minute(ticks: i64) -> i64 {
    // The product looks at the datetime grid first: 29.998 s goes down, 29.999 s up.
    (round_to_datetime(ticks) + TICKS_PER_MINUTE / 2).div_euclid(TICKS_PER_MINUTE) * TICKS_PER_MINUTE
}

/// Ticks rounded to `scale` fractional digits.
#[must_use]
pub fn round_to_scale(ticks: i64, scale: u8) -> i64 {
    let unit = 10i64.pow(7 - u32::from(scale.min(7)));
    (ticks + unit / 2).div_euclid(unit) * unit
}

/// A time of day rounded to `scale` fractional digits. There is no midnight after it: what would come to that is cut off.
#[must_use]
pub fn time_to_scale(ticks: i64, scale: u8) -> i64 {
    let unit = 10i64.pow(7 - u32::from(scale.min(7)));
    round_to_scale(ticks, scale).min(TICKS_PER_DAY - unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn anchors() {
        assert_eq!(to_days(1, 1, 1), Some(0));
        assert_eq!(to_days(1900, 1, 1), Some(DAY_1900));
        assert_eq!(to_days(1753, 1, 1), Some(DAY_1753));
        assert_eq!(to_days(2079, 6, 6), Some(DAY_2079));
        assert_eq!(to_days(9999, 12, 31), Some(MAX_DAY));
        assert_eq!(to_days(2023, 2, 29), None);
        assert_eq!(weekday(DAY_1900), 0);
        assert_eq!(day_of_year(to_days(2024, 12, 31).unwrap()), 366);
        assert_eq!(from_three_hundredths(1), 33_333);
        assert_eq!(from_three_hundredths(2), 66_667);
    }

    proptest! {
        #[test]
        fn days_and_back(days in 0..=MAX_DAY) {
            let (y, m, d) = from_days(days);
            prop_assert_eq!(to_days(y, m, d), Some(days));
            let expect = time::Date::from_julian_day(days + 1_721_426).unwrap();
            prop_assert_eq!((y, m, d), (expect.year(), u32::from(u8::from(expect.month())), u32::from(expect.day())));
        }

        #[test]
        fn grid_is_stable(n in 0i64..25_920_000 * 3_652_059) {
            prop_assert_eq!(to_three_hundredths(from_three_hundredths(n)), n);
        }
    }
}
