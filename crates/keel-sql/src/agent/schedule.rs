//! When a schedule is due: arithmetic of days and times of day, no clock.
//!
//! A schedule says on which *days* it is due (once, every n days, days of a week, of a month, "the last weekday"), and on such a day
//! at which *times*: once, or every so many seconds, minutes or hours of a window, which may reach into the next day. Times are local
//! ticks (100 ns since 0001-01-01), as everywhere in the session. Source: the documentation of `sp_add_schedule`.

use keel_types::datetime::{
    Civil, MAX_DAY, TICKS_PER_DAY, TICKS_PER_HOUR, TICKS_PER_MINUTE, TICKS_PER_SECOND, days_in_month,
    from_days, to_days, weekday,
};

/// Days looked at for the next one: the rarest schedule, 29 February every 99 months, falls into it more than once.
const DAYS_MAX: i32 = 366 * 400;

/// `freq_type` of a schedule that is due when the agent starts.
pub const AT_START: i32 = 64;

/// A row of `msdb.dbo.sysschedules`, as far as it says when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// 1 once, 4 by days, 8 by weeks, 16 by months, 32 by months and weekdays; others are never due at a time.
    pub freq_type: i32,
    /// What it means depends on the type: days between, a bit for each weekday (1 Sunday), a day of the month, a kind of day.
    pub freq_interval: i32,
    /// 1 once a day, 2 by seconds, 4 by minutes, 8 by hours.
    pub freq_subday_type: i32,
    /// So many of these between two times.
    pub freq_subday_interval: i32,
    /// 1 to 8 the first to fourth such day of a month, 16 the last.
    pub freq_relative_interval: i32,
    /// Weeks or months between two in which it is due.
    pub freq_recurrence_factor: i32,
    /// First day, `yyyymmdd`.
    pub active_start_date: i32,
    /// Last day.
    pub active_end_date: i32,
    /// First time of a day, `hhmmss`.
    pub active_start_time: i32,
    /// Last time; before the first it is of the next day.
    pub active_end_time: i32,
}

/// `yyyymmdd` as days since 0001-01-01; what is no date is the end of the month it names.
fn day_of(date: i32) -> i32 {
    let (year, month) = (date / 10_000, (date / 100 % 100).clamp(1, 12).unsigned_abs());
    let last = days_in_month(year, month).unwrap_or(1);
    to_days(year, month, (date % 100).unsigned_abs().clamp(1, last)).unwrap_or(MAX_DAY)
}

/// `hhmmss` as ticks of a day.
fn time_of(time: i32) -> i64 {
    let [h, m, s] = [time / 10_000, time / 100 % 100, time % 100].map(i64::from);
    h * TICKS_PER_HOUR + m * TICKS_PER_MINUTE + s * TICKS_PER_SECOND
}

/// A time as the agent's tables have it: `yyyymmdd` and `hhmmss`.
#[must_use]
pub fn numbers(ticks: i64) -> (i32, i32) {
    let civil = Civil::of_ticks(ticks);
    let [month, day, hour, minute, second] =
        [civil.month, civil.day, civil.hour, civil.minute, civil.second].map(|n| n.cast_signed());
    (civil.year * 10_000 + month * 100 + day, hour * 10_000 + minute * 100 + second)
}

/// The inverse of [`numbers`].
#[must_use]
pub fn ticks(date: i32, time: i32) -> i64 {
    i64::from(day_of(date)) * TICKS_PER_DAY + time_of(time)
}

impl Schedule {
    /// The first time behind `after` at which it is due; `None` when there is none any more.
    #[must_use]
    pub fn next(&self, after: i64) -> Option<i64> {
        let (first, last) = (day_of(self.active_start_date), day_of(self.active_end_date));
        // A window that began yesterday may not be over.
        let yesterday = i32::try_from(after.div_euclid(TICKS_PER_DAY)).unwrap_or(MAX_DAY) - 1;
        let from = first.max(yesterday);
        let to = last.min(from.saturating_add(DAYS_MAX));
        (from..=to).filter(|day| self.is_due_on(*day, first)).find_map(|day| self.time_on(day, after))
    }

    /// The first time of the window that begins on `day`, behind `after`.
    fn time_on(&self, day: i32, after: i64) -> Option<i64> {
        let start = i64::from(day) * TICKS_PER_DAY + time_of(self.active_start_time);
        let unit = match self.freq_subday_type {
            2 => TICKS_PER_SECOND,
            4 => TICKS_PER_MINUTE,
            8 => TICKS_PER_HOUR,
            _ => return (start > after).then_some(start),
        };
        let step = unit * i64::from(self.freq_subday_interval.max(1));
        let window =
            (time_of(self.active_end_time) - time_of(self.active_start_time)).rem_euclid(TICKS_PER_DAY);
        let steps = if after < start { 0 } else { (after - start) / step + 1 };
        (steps * step <= window).then_some(start + steps * step)
    }

    fn is_due_on(&self, day: i32, first: i32) -> bool {
        let every = self.freq_recurrence_factor.max(1);
        let (year, month, of_month) = from_days(day);
        let months = || {
            let (y, m, _) = from_days(first);
            ((year - y) * 12 + month.cast_signed() - m.cast_signed()) % every == 0
        };
        // 0 is Sunday.
        let of_week = (weekday(day) + 1) % 7;
        match self.freq_type {
            1 => day == first,
            4 => (day - first) % self.freq_interval.max(1) == 0,
            8 => {
                // 0001-01-07 was the first Sunday.
                let week = |day: i32| (day + 1).div_euclid(7);
                self.freq_interval >> of_week & 1 == 1 && (week(day) - week(first)) % every == 0
            }
            16 => of_month.cast_signed() == self.freq_interval && months(),
            32 => self.is_kind(of_week) && months() && self.is_nth(day),
            _ => false,
        }
    }

    /// Whether a day of the week (0 Sunday) is of the kind that `freq_interval` names.
    fn is_kind(&self, of_week: u32) -> bool {
        let weekend = of_week == 0 || of_week == 6;
        match self.freq_interval {
            n @ 1..=7 => of_week.cast_signed() == n - 1,
            8 => true,
            9 => !weekend,
            10 => weekend,
            _ => false,
        }
    }

    /// Whether a day of that kind is the one of its month that `freq_relative_interval` names.
    fn is_nth(&self, day: i32) -> bool {
        let (year, month, of_month) = from_days(day);
        let of_kind =
            |d: &u32| self.is_kind((weekday(day - of_month.cast_signed() + d.cast_signed()) + 1) % 7);
        match self.freq_relative_interval {
            16 => {
                let last = days_in_month(year, month).unwrap_or(of_month);
                !(of_month + 1..=last).any(|d| of_kind(&d))
            }
            n => (1..of_month).filter(of_kind).count() == (n.max(1).ilog2() as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAILY: Schedule = Schedule {
        freq_type: 4,
        freq_interval: 1,
        freq_subday_type: 1,
        freq_subday_interval: 0,
        freq_relative_interval: 0,
        freq_recurrence_factor: 0,
        active_start_date: 20_261_126,
        active_end_date: 99_991_231,
        active_start_time: 23_000,
        active_end_time: 235_959,
    };

    /// The next few times behind 2026-11-26 03:00 (a Thursday), as `mmddhhmm`.
    fn due(schedule: Schedule, n: usize) -> Vec<i32> {
        let mut after = ticks(20_261_126, 30_000);
        let times = std::iter::from_fn(|| {
            after = schedule.next(after)?;
            let (date, time) = numbers(after);
            Some(date % 10_000 * 10_000 + time / 100)
        });
        times.take(n).collect()
    }

    #[test]
    fn by_days() {
        assert_eq!(due(DAILY, 2), [1127_0230, 1128_0230]);
        assert_eq!(due(Schedule { freq_interval: 3, ..DAILY }, 2), [1129_0230, 1202_0230]);
        assert_eq!(due(Schedule { active_end_date: 20_261_127, ..DAILY }, 2), [1127_0230]);
        assert_eq!(due(Schedule { freq_type: 1, ..DAILY }, 1), [] as [i32; 0]);
        assert_eq!(due(Schedule { freq_type: 1, active_start_time: 40_000, ..DAILY }, 2), [1126_0400]);
    }

    #[test]
    fn within_a_day_and_over_midnight() {
        let quarters =
            Schedule { freq_subday_type: 4, freq_subday_interval: 15, active_start_time: 0, ..DAILY };
        assert_eq!(due(quarters, 2), [1126_0315, 1126_0330]);
        let office = Schedule { active_end_time: 31_500, ..quarters };
        assert_eq!(due(office, 3), [1126_0315, 1127_0000, 1127_0015]);
        let nights = Schedule {
            freq_subday_type: 8,
            freq_subday_interval: 3,
            active_start_time: 220_000,
            active_end_time: 50_000,
            ..DAILY
        };
        assert_eq!(due(nights, 4), [1126_2200, 1127_0100, 1127_0400, 1127_2200]);
    }

    #[test]
    fn by_weeks() {
        // Monday and Friday, every week and every other.
        let weekly = Schedule { freq_type: 8, freq_interval: 2 | 32, freq_recurrence_factor: 1, ..DAILY };
        assert_eq!(due(weekly, 3), [1127_0230, 1130_0230, 1204_0230]);
        let other = Schedule { freq_recurrence_factor: 2, ..weekly };
        assert_eq!(due(other, 3), [1127_0230, 1207_0230, 1211_0230]);
    }

    #[test]
    fn by_months() {
        let monthly = Schedule { freq_type: 16, freq_interval: 31, freq_recurrence_factor: 1, ..DAILY };
        assert_eq!(due(monthly, 3), [1231_0230, 131_0230, 331_0230]);
        let relative = |kind, nth, every| Schedule {
            freq_type: 32,
            freq_interval: kind,
            freq_relative_interval: nth,
            freq_recurrence_factor: every,
            ..DAILY
        };
        // The last Friday, the first Sunday of every quarter, the second weekday, the last day.
        assert_eq!(due(relative(6, 16, 1), 2), [1127_0230, 1225_0230]);
        assert_eq!(due(relative(1, 1, 3), 2), [207_0230, 502_0230]);
        assert_eq!(due(relative(9, 2, 1), 2), [1202_0230, 104_0230]);
        assert_eq!(due(relative(8, 16, 1), 2), [1130_0230, 1231_0230]);
    }

    proptest::proptest! {
        /// What comes next is later, within the schedule's days, and nothing due lies between.
        #[test]
        fn the_next_time_is_the_next(kind in 0_usize..5, interval in 1_i32..40, sub in 0_usize..4, step in 1_i32..100, nth in 0_u32..5,
            every in 1_i32..5, start in 0_i32..24, end in 0_i32..24, after in 0_i64..(400 * 24 * 60)) {
            let schedule = Schedule {
                freq_type: [1, 4, 8, 16, 32][kind],
                freq_interval: interval,
                freq_subday_type: [1, 2, 4, 8][sub],
                freq_subday_interval: step,
                freq_relative_interval: 1 << nth,
                freq_recurrence_factor: every,
                active_start_date: 20_260_301,
                active_end_date: 20_290_228,
                active_start_time: start * 10_000,
                active_end_time: end * 10_000 + 5_959,
            };
            let after = ticks(20_260_201, 0) + after * TICKS_PER_MINUTE;
            if let Some(next) = schedule.next(after) {
                proptest::prop_assert!(next > after);
                proptest::prop_assert!(numbers(next).0 >= 20_260_301);
                proptest::prop_assert_eq!(schedule.next(next - 1), Some(next));
                let between = after + (next - after) / 2;
                proptest::prop_assert_eq!(schedule.next(between), Some(next));
            }
        }
    }
}
