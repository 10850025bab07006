//! Conversion to dates and times.

use super::{Cast, Step, binary, mismatch};
use crate::datetime::language::Dates;
use crate::datetime::parse::{DateOrder, Parsed, Refusal, Written, parse, parse_written};
use crate::datetime::{
    DAY_1753, DAY_1900, DAY_2079, MAX_TICKS, TICKS_PER_DAY, TICKS_PER_MINUTE, format, hijri,
    round_to_datetime, round_to_minute, round_to_scale, time_to_scale,
};
use crate::error::{Result, SqlError};
use crate::raise;
use crate::ty::{Family, SqlType};
use crate::value::Value;

pub(super) fn step(from: SqlType, to: SqlType) -> Option<Step> {
    use Family as F;
    Some(match (from.family(), to.family()) {
        _ if matches!(from, SqlType::Text | SqlType::NText | SqlType::Image) => return None,
        (F::String | F::NationalString, _) => text_to_temporal,
        (F::Date, F::Time) | (F::Time, F::Date) => return None,
        (F::Date | F::Time | F::DateTime | F::DateTime2 | F::DateTimeOffset, _) => temporal_to_temporal,
        (F::Bit | F::Integer | F::Decimal | F::Money | F::Float, F::DateTime) => number_to_datetime,
        (F::Binary, _) => binary::to_temporal,
        _ => return None,
    })
}

/// A moment before it becomes a value of the target: local ticks and the offset it came with.
#[derive(Clone, Copy)]
struct Moment {
    local: i64,
    offset: i16,
}

/// Rounds to the target's grid and checks its range.
fn place(moment: Moment, cast: &Cast) -> Result<Value> {
    let out_of_range = || raise::date_out_of_range(cast.from, cast.to);
    Ok(match cast.to {
        SqlType::Date => Value::Date((moment.local / TICKS_PER_DAY) as i32),
        SqlType::Time(s) => Value::Time(time_to_scale(moment.local % TICKS_PER_DAY, s)),
        SqlType::DateTime2(s) => Value::DateTime(within(round_to_scale(moment.local, s), s)),
        SqlType::DateTimeOffset(s) => {
            let utc = moment.local - i64::from(moment.offset) * TICKS_PER_MINUTE;
            if !(0..=MAX_TICKS).contains(&utc) {
                return Err(out_of_range());
            }
            Value::DateTimeOffset(within(round_to_scale(utc, s), s), moment.offset)
        }
        SqlType::SmallDateTime => {
            let ticks = round_to_minute(moment.local);
            let day = ticks / TICKS_PER_DAY;
            if !(i64::from(DAY_1900)..=i64::from(DAY_2079)).contains(&day) {
                return Err(out_of_range());
            }
            Value::DateTime(ticks)
        }
        _ => {
            let ticks = round_to_datetime(moment.local);
            if ticks < i64::from(DAY_1753) * TICKS_PER_DAY || ticks > MAX_TICKS {
                return Err(out_of_range());
            }
            Value::DateTime(ticks)
        }
    })
}

/// Rounding up at the very end of the calendar stays in it.
fn within(ticks: i64, scale: u8) -> i64 {
    if ticks > MAX_TICKS { ticks - 10i64.pow(7 - u32::from(scale.min(7))) } else { ticks }
}

fn moment_of(value: &Value) -> Option<Moment> {
    let local = |local: i64| Some(Moment { local, offset: 0 });
    match value {
        Value::Date(days) => local(i64::from(*days) * TICKS_PER_DAY),
        Value::Time(ticks) => local(i64::from(DAY_1900) * TICKS_PER_DAY + ticks),
        Value::DateTime(ticks) => local(*ticks),
        Value::DateTimeOffset(utc, offset) => {
            Some(Moment { local: format::to_local(*utc, *offset), offset: *offset })
        }
        _ => None,
    }
}

fn temporal_to_temporal(value: &Value, cast: &Cast) -> Result<Value> {
    let moment = moment_of(value).ok_or_else(|| mismatch(value, cast))?;
    if cast.from.family() == Family::DateTimeOffset && cast.to.family() == Family::DateTimeOffset {
        // Through UTC, so that nothing is lost where the local time leaves the calendar.
        if let (Value::DateTimeOffset(utc, offset), SqlType::DateTimeOffset(s)) = (value, cast.to) {
            return Ok(Value::DateTimeOffset(within(round_to_scale(*utc, s), s), *offset));
        }
    }
    place(moment, cast)
}

fn number_to_datetime(value: &Value, cast: &Cast) -> Result<Value> {
    let days = match value {
        Value::Bit(_) | Value::Int(_) => value.as_int().unwrap_or_default() as f64,
        Value::Decimal(d) => d.to_f64(),
        Value::Money(m) => *m as f64 / 10_000.0,
        Value::Float(f) => *f,
        _ => return Err(mismatch(value, cast)),
    };
    let overflow = || raise::overflow(cast.to);
    if days.abs() > 3_000_000.0 {
        return Err(overflow());
    }
    let whole = days.floor();
    let part = ((days - whole) * TICKS_PER_DAY as f64).round() as i64;
    let local = (whole as i64 + i64::from(DAY_1900)) * TICKS_PER_DAY + part;
    if !(0..=MAX_TICKS).contains(&local) {
        return Err(overflow());
    }
    place(Moment { local, offset: 0 }, cast).map_err(|_| overflow())
}

fn text_to_temporal(value: &Value, cast: &Cast) -> Result<Value> {
    let text = value.as_str().ok_or_else(|| mismatch(value, cast))?;
    let classic = cast.to.family() == Family::DateTime;
    let hijri = matches!(cast.style, 130 | 131).then(|| hijri::to_gregorian(text)).flatten();
    let parsed = match &hijri {
        Some(text) => parse(text, Dates { order: DateOrder::Ymd, ..cast.dates }, classic),
        None => parse_written(text, cast.dates(), classic, Written::of_style(cast.style)),
    };
    let parsed = parsed.map_err(|r| refused(r, cast))?;
    place(moment_of_text(&parsed, cast)?, cast)
}

fn moment_of_text(parsed: &Parsed, cast: &Cast) -> Result<Moment> {
    let local = parsed.civil.ticks().ok_or_else(|| refused(Refusal::Range, cast))?;
    match (parsed.offset, cast.to.family()) {
        // The old types know no offset; only a plain Z is read, and the time is taken as written.
        (Some(offset), Family::DateTime) if offset != 0 => Err(raise::not_a_date(cast.to)),
        (offset, _) => Ok(Moment { local, offset: offset.unwrap_or(0) }),
    }
}

fn refused(refusal: Refusal, cast: &Cast) -> Box<SqlError> {
    match refusal {
        Refusal::Range if cast.to.family() == Family::DateTime => {
            raise::date_out_of_range(cast.from, cast.to)
        }
        _ => raise::not_a_date(cast.to),
    }
}
