//! Date functions.

use super::date_parts::{self, DatePart};
use super::{Arg, Call, FnCtx, FunctionDef, Request, Volatility, int_at};
use crate::datetime::format::{push_offset, to_local};
use crate::datetime::parse::parse;
use crate::datetime::{
    Civil, DAY_1753, DAY_1900, DAY_2079, MAX_TICKS, TICKS_PER_DAY, TICKS_PER_MINUTE, days_in_month,
    round_to_datetime, round_to_minute, round_to_scale, to_days, weekday,
};
use crate::error::{Result, SqlError};
use crate::raise;
use crate::ty::{Family, Length, SqlType};
use crate::value::Value;
use smol_str::{SmolStr, ToSmolStr};

const DATETIME2: SqlType = SqlType::DateTime2(7);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    now("GETDATE", |_| Ok(Call::new(SqlType::DateTime, vec![], |_, ctx, _| Ok(classic(ctx.now_local()))))),
    now("CURRENT_TIMESTAMP", |_| {
        Ok(Call::new(SqlType::DateTime, vec![], |_, ctx, _| Ok(classic(ctx.now_local()))))
    }),
    now("GETUTCDATE", |_| Ok(Call::new(SqlType::DateTime, vec![], |_, ctx, _| Ok(classic(ctx.now_utc()))))),
    now("SYSDATETIME", |_| {
        Ok(Call::new(DATETIME2, vec![], |_, ctx, _| Ok(Value::DateTime(ctx.now_local()))))
    }),
    now("SYSUTCDATETIME", |_| {
        Ok(Call::new(DATETIME2, vec![], |_, ctx, _| Ok(Value::DateTime(ctx.now_utc()))))
    }),
    now("SYSDATETIMEOFFSET", |_| {
        Ok(Call::new(SqlType::DateTimeOffset(7), vec![], |_, ctx, _| Ok(now_with_offset(ctx))))
    }),
    now("CURRENT_DATE", |_| {
        Ok(Call::new(SqlType::Date, vec![], |_, ctx, _| {
            Ok(Value::Date((ctx.now_local() / TICKS_PER_DAY) as i32))
        }))
    }),
    FunctionDef::new("DATEADD", 3, 3, resolve_dateadd).with_keyword(),
    FunctionDef::new("DATEDIFF", 3, 3, |r| resolve_datediff(r, SqlType::Int)).with_keyword(),
    FunctionDef::new("DATEDIFF_BIG", 3, 3, |r| resolve_datediff(r, SqlType::BigInt)).with_keyword(),
    FunctionDef::new("DATEPART", 2, 2, resolve_datepart).with_keyword(),
    FunctionDef::new("DATENAME", 2, 2, resolve_datename).with_keyword(),
    FunctionDef::new("DATETRUNC", 2, 2, resolve_datetrunc).with_keyword(),
    FunctionDef::new("DATE_BUCKET", 3, 4, resolve_date_bucket).with_keyword(),
    FunctionDef::new("YEAR", 1, 1, |r| part_function(r, DatePart::Year)),
    FunctionDef::new("MONTH", 1, 1, |r| part_function(r, DatePart::Month)),
    FunctionDef::new("DAY", 1, 1, |r| part_function(r, DatePart::Day)),
    FunctionDef::new("EOMONTH", 1, 2, resolve_eomonth),
    FunctionDef::new("ISDATE", 1, 1, |r| Ok(Call::new(SqlType::Int, vec![r.text(0)?], isdate).lenient())),
    FunctionDef::new("DATEFROMPARTS", 3, 3, |_| {
        Ok(Call::new(SqlType::Date, vec![SqlType::Int; 3], from_parts))
    }),
    FunctionDef::new("DATETIMEFROMPARTS", 7, 7, |_| {
        Ok(Call::new(SqlType::DateTime, vec![SqlType::Int; 7], from_parts))
    }),
    FunctionDef::new("SMALLDATETIMEFROMPARTS", 5, 5, |_| {
        Ok(Call::new(SqlType::SmallDateTime, vec![SqlType::Int; 5], from_parts))
    }),
    FunctionDef::new("DATETIME2FROMPARTS", 8, 8, |r| {
        Ok(Call::new(SqlType::DateTime2(scale_at(r, 7)?), vec![SqlType::Int; 8], from_parts))
    }),
    FunctionDef::new("TIMEFROMPARTS", 5, 5, |r| {
        Ok(Call::new(SqlType::Time(scale_at(r, 4)?), vec![SqlType::Int; 5], from_parts))
    }),
    FunctionDef::new("DATETIMEOFFSETFROMPARTS", 10, 10, |r| {
        Ok(Call::new(SqlType::DateTimeOffset(scale_at(r, 9)?), vec![SqlType::Int; 10], from_parts))
    }),
    FunctionDef::new("SWITCHOFFSET", 2, 2, |r| {
        let result = SqlType::DateTimeOffset(if r.ty(0).is_temporal() { r.ty(0).scale() } else { 7 });
        Ok(Call::new(result, vec![result, offset_type(r)], switchoffset))
    }),
    FunctionDef::new("TODATETIMEOFFSET", 2, 2, |r| {
        let scale = if r.ty(0).is_temporal() { r.ty(0).scale() } else { 7 };
        Ok(Call::new(
            SqlType::DateTimeOffset(scale),
            vec![SqlType::DateTime2(scale), offset_type(r)],
            todatetimeoffset,
        ))
    }),
];

const fn now(name: &'static str, resolve: fn(&Request<'_>) -> Result<Call>) -> FunctionDef {
    FunctionDef::new(name, 0, 0, resolve).per(Volatility::Statement)
}

fn classic(ticks: i64) -> Value {
    Value::DateTime(round_to_datetime(ticks))
}

fn now_with_offset(ctx: &dyn FnCtx) -> Value {
    let offset = (ctx.now_local() - ctx.now_utc()) / TICKS_PER_MINUTE;
    Value::DateTimeOffset(ctx.now_utc(), offset as i16)
}

/// The date part that the keyword names; error 155.
fn part(r: &Request<'_>) -> Result<DatePart> {
    let word = match r.args[0] {
        Arg { constant: Some(Value::Str(word)), .. } => word.as_str(),
        _ => "",
    };
    DatePart::by_name(word).ok_or_else(|| raise::bad_datepart(word, &r.name.to_ascii_lowercase()))
}

impl Request<'_> {
    /// The temporal type in which the function takes this argument: strings become `text_as`, numbers datetime.
    fn temporal(&self, i: usize, text_as: SqlType) -> Result<SqlType> {
        let ty = self.ty(i);
        match ty.family() {
            _ if ty.is_temporal() => Ok(ty),
            Family::String | Family::NationalString => Ok(text_as),
            Family::Null => Ok(text_as),
            _ if ty.is_numeric() => Ok(SqlType::DateTime),
            _ => Err(self.bad_argument(i)),
        }
    }

    /// Error 9810 where the type does not have the part.
    fn check_part(&self, part: DatePart, ty: SqlType) -> Result<()> {
        let missing = match ty.family() {
            Family::Date => part.is_time() || part == DatePart::TzOffset,
            Family::Time => !part.is_time(),
            _ => false,
        };
        if missing {
            return Err(raise::unsupported_datepart(part.name(), &self.name.to_ascii_lowercase(), ty));
        }
        Ok(())
    }
}

const KEYWORD: SqlType = SqlType::VarChar(Length::Limited(30));

/// Local ticks of a moment, and its offset.
fn moment(value: &Value) -> (i64, i16) {
    match value {
        Value::Date(days) => (i64::from(*days) * TICKS_PER_DAY, 0),
        Value::Time(ticks) => (i64::from(DAY_1900) * TICKS_PER_DAY + ticks, 0),
        Value::DateTime(ticks) => (*ticks, 0),
        Value::DateTimeOffset(utc, offset) => (to_local(*utc, *offset), *offset),
        _ => (0, 0),
    }
}

/// Local ticks back as a value of the type, on its grid; `None` outside its range.
fn place(ticks: i64, offset: i16, ty: SqlType) -> Option<Value> {
    if !(0..=MAX_TICKS).contains(&ticks) {
        return None;
    }
    let day = ticks / TICKS_PER_DAY;
    Some(match ty {
        SqlType::Date => Value::Date(day as i32),
        SqlType::Time(s) => Value::Time(round_to_scale(ticks % TICKS_PER_DAY, s) % TICKS_PER_DAY),
        SqlType::DateTime2(s) => Value::DateTime(round_to_scale(ticks, s).min(MAX_TICKS)),
        SqlType::DateTimeOffset(s) => {
            let utc = round_to_scale(ticks, s) - i64::from(offset) * TICKS_PER_MINUTE;
            return (0..=MAX_TICKS).contains(&utc).then_some(Value::DateTimeOffset(utc, offset));
        }
        SqlType::SmallDateTime => {
            let valid = (i64::from(DAY_1900)..=i64::from(DAY_2079)).contains(&day);
            return valid.then(|| Value::DateTime(round_to_minute(ticks)));
        }
        _ => return (day >= i64::from(DAY_1753)).then(|| classic(ticks)),
    })
}

fn resolve_dateadd(r: &Request<'_>) -> Result<Call> {
    let part = part(r)?;
    let ty = r.temporal(2, SqlType::DateTime)?;
    r.check_part(part, ty)?;
    let finer = part.is_fraction() && part != DatePart::Millisecond && ty.family() == Family::DateTime;
    if finer || matches!(part, DatePart::TzOffset | DatePart::IsoWeek) {
        return Err(raise::unsupported_datepart(part.name(), "dateadd", ty));
    }
    Ok(Call::new(ty, vec![KEYWORD, SqlType::BigInt, ty], dateadd).of_part(part))
}

fn dateadd(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let n = int_at(args, 1);
    let overflow = || raise::date_addition_overflow(call.result);
    if let Value::Time(ticks) = args[2] {
        // The clock goes round.
        let day = i64::from(DAY_1900) * TICKS_PER_DAY;
        let round = date_parts::add(call.part, day, n).ok_or_else(overflow)?;
        let sum = (ticks + round.rem_euclid(TICKS_PER_DAY)) % TICKS_PER_DAY;
        return Ok(Value::Time(round_to_scale(sum, call.result.scale()) % TICKS_PER_DAY));
    }
    let (ticks, offset) = moment(&args[2]);
    let sum = date_parts::add(call.part, ticks, n).ok_or_else(overflow)?;
    place(sum, offset, call.result).ok_or_else(overflow)
}

fn resolve_datediff(r: &Request<'_>, result: SqlType) -> Result<Call> {
    let part = part(r)?;
    if matches!(part, DatePart::TzOffset | DatePart::IsoWeek) {
        return Err(raise::unsupported_datepart(part.name(), &r.name.to_ascii_lowercase(), r.ty(1)));
    }
    let types = [r.temporal(1, DATETIME2)?, r.temporal(2, DATETIME2)?];
    Ok(Call::new(result, vec![KEYWORD, types[0], types[1]], datediff).of_part(part))
}

fn datediff(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    // Moments with an offset are compared in UTC.
    let instant = |v: &Value| match v {
        Value::DateTimeOffset(utc, _) => *utc,
        other => moment(other).0,
    };
    let name = if call.result == SqlType::Int { "datediff" } else { "datediff_big" };
    let n = date_parts::between(call.part, instant(&args[1]), instant(&args[2]));
    match n {
        Some(n) if call.result == SqlType::BigInt || i32::try_from(n).is_ok() => Ok(Value::Int(n)),
        _ => Err(raise::datediff_overflow(name)),
    }
}

fn resolve_datepart(r: &Request<'_>) -> Result<Call> {
    let part = part(r)?;
    // A string that is asked for its offset is read with it.
    let text_as = if part == DatePart::TzOffset { SqlType::DateTimeOffset(7) } else { DATETIME2 };
    let ty = r.temporal(1, text_as)?;
    r.check_part(part, ty)?;
    if part == DatePart::TzOffset && ty.family() == Family::DateTime {
        return Err(raise::unsupported_datepart("tzoffset", "datepart", ty));
    }
    Ok(Call::new(SqlType::Int, vec![KEYWORD, ty], |call, ctx, args| {
        Ok(Value::Int(extract(call.part, &args[1], call.params[1], ctx)))
    })
    .of_part(part))
}

fn extract(part: DatePart, value: &Value, ty: SqlType, ctx: &dyn FnCtx) -> i64 {
    let (ticks, offset) = moment(value);
    // datetime shows the millisecond its grid rounds to.
    let ticks = if part == DatePart::Millisecond && ty == SqlType::DateTime {
        (ticks + 5_000) / 10_000 * 10_000
    } else {
        ticks
    };
    date_parts::extract(part, ticks, offset, ctx.date_first())
}

fn resolve_datename(r: &Request<'_>) -> Result<Call> {
    let mut call = resolve_datepart(r)?;
    call.result = SqlType::NVarChar(Length::Limited(30));
    call.routine = |call, ctx, args| {
        let (ticks, offset) = moment(&args[1]);
        let days = ticks.div_euclid(TICKS_PER_DAY) as i32;
        Ok(Value::Str(match call.part {
            DatePart::Month => SmolStr::new_static(ctx.dates().language.month(Civil::of_ticks(ticks).month)),
            DatePart::Weekday => SmolStr::new_static(ctx.dates().language.day(weekday(days))),
            DatePart::TzOffset => {
                let mut out = String::new();
                push_offset(&mut out, offset);
                SmolStr::from(out)
            }
            part => extract(part, &args[1], call.params[1], ctx).to_smolstr(),
        }))
    };
    Ok(call)
}

fn resolve_datetrunc(r: &Request<'_>) -> Result<Call> {
    let part = part(r)?;
    let ty = r.temporal(1, DATETIME2)?;
    r.check_part(part, ty)?;
    if matches!(part, DatePart::Weekday | DatePart::Nanosecond | DatePart::TzOffset) {
        return Err(raise::unsupported_datepart(part.name(), "datetrunc", ty));
    }
    Ok(Call::new(ty, vec![KEYWORD, ty], |call, ctx, args| {
        let (ticks, offset) = moment(&args[1]);
        let start = date_parts::truncate(call.part, ticks, ctx.date_first());
        let value = start.and_then(|t| place(t, offset, call.result));
        value.ok_or_else(|| raise::date_addition_overflow(call.result))
    })
    .of_part(part))
}

fn resolve_date_bucket(r: &Request<'_>) -> Result<Call> {
    let part = part(r)?;
    let ty = r.temporal(2, DATETIME2)?;
    r.check_part(part, ty)?;
    let mut params = vec![KEYWORD, SqlType::BigInt, ty];
    params.extend(r.has(3).then_some(ty));
    Ok(Call::new(ty, params, date_bucket).of_part(part))
}

fn date_bucket(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let n = int_at(args, 1);
    if n < 1 {
        let text =
            "Invalid bucket width value passed to date_bucket function. Only positive values are allowed.";
        return Err(SqlError::new(9834, 16, 1, text));
    }
    let (ticks, offset) = moment(&args[2]);
    let origin = args.get(3).map_or(i64::from(DAY_1900) * TICKS_PER_DAY, |o| moment(o).0);
    let start = date_parts::bucket(call.part, n, ticks, origin).and_then(|t| place(t, offset, call.result));
    start.ok_or_else(|| raise::date_addition_overflow(call.result))
}

fn part_function(r: &Request<'_>, part: DatePart) -> Result<Call> {
    let ty = r.temporal(0, DATETIME2)?;
    r.check_part(part, ty)?;
    Ok(Call::new(SqlType::Int, vec![ty], |call, ctx, args| {
        Ok(Value::Int(extract(call.part, &args[0], call.params[0], ctx)))
    })
    .of_part(part))
}

fn resolve_eomonth(r: &Request<'_>) -> Result<Call> {
    let mut params = vec![r.temporal(0, DATETIME2)?];
    params.extend(r.has(1).then_some(SqlType::Int));
    Ok(Call::new(SqlType::Date, params, |_, _, args| {
        if args[0].is_null() {
            return Ok(Value::Null);
        }
        let overflow = || raise::date_addition_overflow(SqlType::Date);
        // No number of months is none.
        let ticks = date_parts::add_months(moment(&args[0]).0, int_at(args, 1)).ok_or_else(overflow)?;
        let c = Civil::of_ticks(ticks);
        let last = days_in_month(c.year, c.month).and_then(|d| to_days(c.year, c.month, d));
        last.map(Value::Date).ok_or_else(overflow)
    })
    .lenient())
}

/// 1 when the text is a valid datetime; 0 for NULL.
fn isdate(_: &Call, ctx: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let valid = match &args[0] {
        Value::Str(s) => parse(s, ctx.dates(), true)
            .is_ok_and(|p| !s.trim().is_empty() && p.civil.year >= 1753 && p.offset.is_none_or(|o| o == 0)),
        _ => false,
    };
    Ok(Value::Int(valid.into()))
}

/// The precision argument: a constant from 0 to 7.
fn scale_at(r: &Request<'_>, i: usize) -> Result<u8> {
    match r.constant_int(i) {
        Some(scale @ 0..=7) => Ok(scale as u8),
        Some(_) => Err(SqlError::new(1002, 15, 1, "Specified scale is invalid.".to_owned())),
        None => {
            let text = "Scale argument is not valid. Valid expressions for data type scale argument are integer constants and integer constant expressions.";
            Err(SqlError::new(10_760, 16, 1, text))
        }
    }
}

/// All the `…FROMPARTS` functions: the result type says which arguments there are. Error 289 for parts that make no date.
fn from_parts(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let value = (|| {
        let at = |i: usize| u32::try_from(int_at(args, i)).ok();
        let time_only = call.result.family() == Family::Time;
        let first = if time_only { 0 } else { 3 };
        let mut c = Civil::of_time(0);
        if !time_only {
            (c.year, c.month, c.day) = (int_at(args, 0) as i32, at(1)?, at(2)?);
        }
        if call.result != SqlType::Date {
            (c.hour, c.minute) = (at(first)?, at(first + 1)?);
        }
        if args.len() > first + 2 {
            c.second = at(first + 2)?;
            let fraction = at(first + 3)?;
            // datetime counts milliseconds; the others units of their precision.
            let scale = if call.result == SqlType::DateTime { 3 } else { u32::from(call.result.scale()) };
            if fraction >= 10u32.pow(scale) && fraction > 0 {
                return None;
            }
            c.fraction = fraction * 10u32.pow(7 - scale);
        }
        if c.hour > 23 || c.minute > 59 || c.second > 59 {
            return None;
        }
        let offset = match call.result {
            SqlType::DateTimeOffset(_) => {
                let (hours, minutes) = (int_at(args, 7), int_at(args, 8));
                let valid = minutes.abs() < 60 && hours.signum() * minutes.signum() >= 0;
                let total = hours.checked_mul(60)?.checked_add(minutes)?;
                (valid && total.abs() <= 840).then_some(total as i16)?
            }
            _ => 0,
        };
        place(c.ticks()?, offset, call.result)
    })();
    value.ok_or_else(|| raise::bad_date_parts(call.result))
}

/// Offsets are given as text or in minutes.
fn offset_type(r: &Request<'_>) -> SqlType {
    if r.ty(1).is_numeric() { SqlType::Int } else { SqlType::VarChar(Length::Limited(6)) }
}

fn offset_of(value: &Value, function: &str) -> Result<i16> {
    let minutes = match value {
        Value::Int(n) => i16::try_from(*n).ok(),
        Value::Str(s) => parse_offset(s.trim()),
        _ => None,
    };
    minutes.filter(|m| (-840..=840).contains(m)).ok_or_else(|| {
        let text = format!("The timezone provided to builtin function {function} is invalid.");
        SqlError::new(9812, 16, 0, text)
    })
}

fn parse_offset(text: &str) -> Option<i16> {
    let (sign, rest) = match text.as_bytes().first()? {
        b'+' => (1, &text[1..]),
        b'-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':').filter(|(h, m)| h.len() == 2 && m.len() == 2)?;
    let minutes: i16 = minutes.parse().ok().filter(|m| (0..60).contains(m))?;
    let hours: i16 = hours.parse().ok().filter(|h| (0..=14).contains(h))?;
    Some(sign * (hours * 60 + minutes))
}

fn switchoffset(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let offset = offset_of(&args[1], "switchoffset")?;
    match args[0] {
        Value::DateTimeOffset(utc, _) => {
            let local = utc + i64::from(offset) * TICKS_PER_MINUTE;
            if !(0..=MAX_TICKS).contains(&local) {
                return Err(offset_overflow("switchoffset"));
            }
            Ok(Value::DateTimeOffset(utc, offset))
        }
        _ => Ok(Value::Null),
    }
}

fn todatetimeoffset(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let offset = offset_of(&args[1], "todatetimeoffset")?;
    let value = place(moment(&args[0]).0, offset, call.result);
    value.ok_or_else(|| offset_overflow("todatetimeoffset"))
}

fn offset_overflow(function: &str) -> Box<SqlError> {
    let text = format!(
        "The timezone provided to builtin function {function} would cause the datetimeoffset to overflow the range of \
         valid date range in either UTC or local time."
    );
    SqlError::new(9813, 16, 0, text)
}
