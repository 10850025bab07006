//! The Hijri calendar of `CONVERT` styles 130 and 131: the tabular one ("Kuwaiti algorithm"), eleven leap years in thirty.

/// The day before 1 Muharram of year 1 is this day since 0001-01-01.
const EPOCH: i32 = 227_013;
/// Days of a cycle of thirty years.
const CYCLE_DAYS: i32 = 10_631;
/// The last year that the Gregorian calendar here reaches.
const YEAR_MAX: i32 = 9666;

/// Names of the months.
pub const MONTHS: [&str; 12] = [
    "محرم",
    "صفر",
    "ربيع الاول",
    "ربيع الثاني",
    "جمادى الاولى",
    "جمادى الثانية",
    "رجب",
    "شعبان",
    "رمضان",
    "شوال",
    "ذو القعدة",
    "ذو الحجة",
];

/// Days before a year of the calendar, counted from its beginning.
fn days_before_year(year: i32) -> i32 {
    (year - 1) * 354 + (11 * year + 3) / 30
}

fn days_before_month(month: u32) -> i32 {
    ((month as i32 - 1) * 59 + 1) / 2
}

/// Year, month and day of a day since 0001-01-01; `None` before the calendar begins.
#[must_use]
pub fn of_days(days: i32) -> Option<(i32, u32, u32)> {
    let n = days - EPOCH;
    if n < 0 {
        return None;
    }
    // A first guess that is never too low, then down.
    let mut year = n / CYCLE_DAYS * 30 + (n % CYCLE_DAYS) / 354 + 1;
    while days_before_year(year) > n {
        year -= 1;
    }
    let day_of_year = n - days_before_year(year);
    let month = (1..=12).rev().find(|m| days_before_month(*m) <= day_of_year)?;
    Some((year, month, (day_of_year - days_before_month(month) + 1) as u32))
}

/// Days since 0001-01-01 of a day of the calendar; `None` when there is no such day.
#[must_use]
pub fn to_days(year: i32, month: u32, day: u32) -> Option<i32> {
    if !(1..=YEAR_MAX).contains(&year) || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    let begin = days_before_year(year) + days_before_month(month);
    let next = if month == 12 {
        days_before_year(year + 1)
    } else {
        days_before_year(year) + days_before_month(month + 1)
    };
    let at = begin + day as i32 - 1;
    (at < next).then_some(at + EPOCH)
}

/// A text that begins with a date of styles 130 and 131 (`7/05/1421`, or with the month's name), with the same day in
/// ISO form instead; `None` when it does not.
#[must_use]
pub fn to_gregorian(text: &str) -> Option<String> {
    let text = text.trim_start();
    let (day, rest) = number(text)?;
    let rest = rest.trim_start_matches(['/', '-', '.', ' ']);
    let (month, rest) = match MONTHS.iter().position(|m| rest.starts_with(m)) {
        Some(at) => (at as u32 + 1, &rest[MONTHS[at].len()..]),
        None => number(rest)?,
    };
    let (year, rest) = number(rest.trim_start_matches(['/', '-', '.', ' ']))?;
    let (year, month, day) = super::from_days(to_days(i32::try_from(year).ok()?, month, day)?);
    Some(format!("{year:04}-{month:02}-{day:02}{rest}"))
}

fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_days() {
        let day = |y, m, d| crate::datetime::to_days(y, m, d).expect("a day");
        assert_eq!(of_days(day(2000, 8, 7)), Some((1421, 5, 7)));
        assert_eq!(of_days(day(2006, 12, 30)), Some((1427, 12, 10)));
        assert_eq!(to_gregorian(" 7/05/1421 12:14:35:727PM").as_deref(), Some("2000-08-07 12:14:35:727PM"));
        assert_eq!(to_days(1421, 2, 30), None);
    }

    #[test]
    fn there_and_back() {
        let first = to_days(1, 1, 1).expect("the first day");
        assert_eq!(of_days(first - 1), None);
        for days in (first..crate::datetime::MAX_DAY).step_by(13) {
            let (y, m, d) = of_days(days).expect("in the calendar");
            assert_eq!(to_days(y, m, d), Some(days), "{y}-{m}-{d}");
        }
    }
}
