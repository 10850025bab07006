//! `AT TIME ZONE`: the zones by their Windows names, with today's daylight saving rules.
//!
//! The rules are those in force now, applied to every year; zones whose rules are not in the table have none here.
//! In the hour that happens twice the daylight offset is taken; the hour that does not happen is moved forward.

use super::{Call, FnCtx, FunctionDef, Request, str_at};
use crate::datetime::format::to_local;
use crate::datetime::{
    Civil, MAX_TICKS, TICKS_PER_DAY, TICKS_PER_HOUR, TICKS_PER_MINUTE, days_in_month, to_days, weekday,
};
use crate::error::{Result, SqlError};
use crate::raise;
use crate::ty::SqlType;
use crate::value::Value;

pub(super) static FUNCTIONS: &[FunctionDef] = &[FunctionDef::new("AT TIME ZONE", 2, 2, resolve)];

/// When clocks change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    None,
    /// Last Sundays of March and October, 01:00 UTC.
    Europe,
    /// Second Sunday of March and first of November, 02:00 local time.
    America,
    /// First Sundays of October and April, 02:00 standard time.
    Australia,
}

/// A time zone.
#[derive(Clone, Copy, Debug)]
pub struct Zone {
    /// Windows name.
    pub name: &'static str,
    /// Minutes east of Greenwich without daylight saving.
    pub standard_offset: i16,
    rule: Rule,
}

const fn zone(name: &'static str, standard_offset: i16, rule: Rule) -> Zone {
    Zone { name, standard_offset, rule }
}

/// The zones (`sys.time_zone_info`).
pub static ZONES: [Zone; 44] = [
    zone("UTC", 0, Rule::None),
    zone("Hawaiian Standard Time", -600, Rule::None),
    zone("Alaskan Standard Time", -540, Rule::America),
    zone("Pacific Standard Time", -480, Rule::America),
    zone("US Mountain Standard Time", -420, Rule::None),
    zone("Mountain Standard Time", -420, Rule::America),
    zone("Central America Standard Time", -360, Rule::None),
    zone("Central Standard Time", -360, Rule::America),
    zone("Central Standard Time (Mexico)", -360, Rule::None),
    zone("SA Pacific Standard Time", -300, Rule::None),
    zone("Eastern Standard Time", -300, Rule::America),
    zone("Atlantic Standard Time", -240, Rule::America),
    zone("SA Western Standard Time", -240, Rule::None),
    zone("Newfoundland Standard Time", -210, Rule::America),
    zone("E. South America Standard Time", -180, Rule::None),
    zone("Argentina Standard Time", -180, Rule::None),
    zone("Azores Standard Time", -60, Rule::Europe),
    zone("GMT Standard Time", 0, Rule::Europe),
    zone("Greenwich Standard Time", 0, Rule::None),
    zone("W. Europe Standard Time", 60, Rule::Europe),
    zone("Central Europe Standard Time", 60, Rule::Europe),
    zone("Central European Standard Time", 60, Rule::Europe),
    zone("Romance Standard Time", 60, Rule::Europe),
    zone("W. Central Africa Standard Time", 60, Rule::None),
    zone("GTB Standard Time", 120, Rule::Europe),
    zone("E. Europe Standard Time", 120, Rule::Europe),
    zone("FLE Standard Time", 120, Rule::Europe),
    zone("South Africa Standard Time", 120, Rule::None),
    zone("Turkey Standard Time", 180, Rule::None),
    zone("Arab Standard Time", 180, Rule::None),
    zone("Russian Standard Time", 180, Rule::None),
    zone("Arabian Standard Time", 240, Rule::None),
    zone("Pakistan Standard Time", 300, Rule::None),
    zone("India Standard Time", 330, Rule::None),
    zone("Bangladesh Standard Time", 360, Rule::None),
    zone("SE Asia Standard Time", 420, Rule::None),
    zone("China Standard Time", 480, Rule::None),
    zone("Singapore Standard Time", 480, Rule::None),
    zone("W. Australia Standard Time", 480, Rule::None),
    zone("Tokyo Standard Time", 540, Rule::None),
    zone("Korea Standard Time", 540, Rule::None),
    zone("Cen. Australia Standard Time", 570, Rule::Australia),
    zone("E. Australia Standard Time", 600, Rule::None),
    zone("AUS Eastern Standard Time", 600, Rule::Australia),
];

impl Zone {
    /// By name, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Zone> {
        ZONES.iter().find(|z| z.name.eq_ignore_ascii_case(name.trim_end()))
    }

    /// Whether daylight saving is in force at a moment in UTC.
    #[must_use]
    pub fn is_daylight(&self, utc: i64) -> bool {
        let year = Civil::of_ticks(utc.clamp(0, MAX_TICKS)).year;
        let standard = i64::from(self.standard_offset) * TICKS_PER_MINUTE;
        match self.rule {
            Rule::None => false,
            Rule::Europe => {
                let start = sunday(year, 3, None) + TICKS_PER_HOUR;
                let end = sunday(year, 10, None) + TICKS_PER_HOUR;
                (start..end).contains(&utc)
            }
            Rule::America => {
                let start = sunday(year, 3, Some(2)) + 2 * TICKS_PER_HOUR - standard;
                let end = sunday(year, 11, Some(1)) + TICKS_PER_HOUR - standard;
                (start..end).contains(&utc)
            }
            Rule::Australia => {
                let start = sunday(year, 10, Some(1)) + 2 * TICKS_PER_HOUR - standard;
                let end = sunday(year, 4, Some(1)) + 2 * TICKS_PER_HOUR - standard;
                !(end..start).contains(&utc)
            }
        }
    }

    /// Offset from UTC, in minutes, at a moment in UTC.
    #[must_use]
    pub fn offset_at(&self, utc: i64) -> i16 {
        self.standard_offset + if self.is_daylight(utc) { 60 } else { 0 }
    }

    /// The UTC moment and offset of a local time.
    fn of_local(&self, local: i64) -> (i64, i16) {
        let at = |offset: i16| local - i64::from(offset) * TICKS_PER_MINUTE;
        let (daylight, standard) = (self.standard_offset + 60, self.standard_offset);
        if self.offset_at(at(daylight)) == daylight {
            return (at(daylight), daylight);
        }
        // Either plain standard time, or the hour that is left out, which then reads as an hour later.
        (at(standard), self.offset_at(at(standard)))
    }
}

/// Midnight of the n-th Sunday of a month, or of the last.
fn sunday(year: i32, month: u32, nth: Option<u32>) -> i64 {
    let last = days_in_month(year, month).unwrap_or(31);
    let day = match nth {
        Some(n) => {
            let first = to_days(year, month, 1).unwrap_or(0);
            1 + (6 - weekday(first)) % 7 + 7 * (n - 1)
        }
        None => last - (weekday(to_days(year, month, last).unwrap_or(0)) + 1) % 7,
    };
    i64::from(to_days(year, month, day).unwrap_or(0)) * TICKS_PER_DAY
}

fn resolve(r: &Request<'_>) -> Result<Call> {
    let ty = r.ty(0);
    let (param, scale) = match ty {
        SqlType::DateTimeOffset(s) | SqlType::DateTime2(s) => (ty, s),
        SqlType::DateTime => (ty, 3),
        SqlType::SmallDateTime => (ty, 0),
        _ if ty.is_string() || ty == SqlType::Null => (SqlType::DateTime2(7), 7),
        _ => return Err(r.bad_argument(0)),
    };
    Ok(Call::new(SqlType::DateTimeOffset(scale), vec![param, r.national_text(1)?], at_time_zone))
}

fn at_time_zone(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let name = str_at(args, 1);
    let zone = Zone::by_name(name).ok_or_else(|| {
        let text = format!("The time zone parameter '{name}' provided to AT TIME ZONE clause is invalid.");
        SqlError::new(9820, 16, 1, text)
    })?;
    let (utc, offset) = match args[0] {
        Value::DateTimeOffset(utc, _) => (utc, zone.offset_at(utc)),
        Value::DateTime(local) => zone.of_local(local),
        _ => return Ok(Value::Null),
    };
    let utc = crate::datetime::round_to_scale(utc, call.result.scale());
    if !(0..=MAX_TICKS).contains(&utc) || to_local(utc, offset) != utc + i64::from(offset) * TICKS_PER_MINUTE
    {
        return Err(raise::date_out_of_range(call.params[0], call.result));
    }
    Ok(Value::DateTimeOffset(utc, offset))
}
