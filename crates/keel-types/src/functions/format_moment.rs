//! `FORMAT` of dates and times: .NET's standard letters and custom patterns.

use super::format_culture::{Culture, invariant};
use crate::datetime::{Civil, TICKS_PER_DAY, TICKS_PER_MINUTE, weekday};
use std::fmt::Write;

/// A date and time by a standard letter or a custom format; `None` for a format that makes no sense.
pub(super) fn moment(
    local_ticks: i64,
    offset: Option<i16>,
    pattern: &str,
    culture: &Culture,
) -> Option<String> {
    // These two are in UTC, whatever the offset.
    let local_ticks = match (pattern, offset) {
        ("u" | "r" | "R", Some(offset)) => local_ticks - i64::from(offset) * TICKS_PER_MINUTE,
        _ => local_ticks,
    };
    let mut chars = pattern.chars();
    let custom = match (chars.next(), chars.next()) {
        (Some(letter), None) => standard(letter, offset, culture)?,
        (None, _) => format!("{} {}", culture.short_date, culture.long_time),
        (Some('%'), Some(_)) => pattern[1..].to_owned(),
        _ => pattern.to_owned(),
    };
    let is_invariant = matches!(pattern, "o" | "O" | "r" | "R" | "s" | "u");
    custom_moment(local_ticks, offset, &custom, if is_invariant { invariant() } else { culture })
}

fn standard(letter: char, offset: Option<i16>, c: &Culture) -> Option<String> {
    Some(match letter {
        'd' => c.short_date.to_owned(),
        'D' => c.long_date.to_owned(),
        'f' => format!("{} {}", c.long_date, c.short_time),
        'F' | 'U' => format!("{} {}", c.long_date, c.long_time),
        'g' => format!("{} {}", c.short_date, c.short_time),
        'G' => format!("{} {}", c.short_date, c.long_time),
        'm' | 'M' => c.month_day.to_owned(),
        'o' | 'O' if offset.is_some() => "yyyy-MM-ddTHH:mm:ss.fffffffzzz".to_owned(),
        'o' | 'O' => "yyyy-MM-ddTHH:mm:ss.fffffff".to_owned(),
        'r' | 'R' => "ddd, dd MMM yyyy HH:mm:ss 'GMT'".to_owned(),
        's' => "yyyy-MM-ddTHH:mm:ss".to_owned(),
        't' => c.short_time.to_owned(),
        'T' => c.long_time.to_owned(),
        'u' => "yyyy-MM-dd HH:mm:ss'Z'".to_owned(),
        'y' | 'Y' => c.year_month.to_owned(),
        _ => return None,
    })
}

/// Whether the pattern has the number of a day, beside which months have a form of their own.
fn has_day(pattern: &str) -> bool {
    let mut quote = None;
    let mut run = 0;
    for c in pattern.chars().chain(['\0']) {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (_, Some(q)) if c == q => quote = None,
            ('d', None) => {
                run += 1;
                continue;
            }
            _ => {}
        }
        if matches!(run, 1 | 2) {
            return true;
        }
        run = 0;
    }
    false
}

fn custom_moment(ticks: i64, offset: Option<i16>, pattern: &str, culture: &Culture) -> Option<String> {
    let c = Civil::of_ticks(ticks);
    let names = &culture.names;
    let day = weekday((ticks / TICKS_PER_DAY) as i32) as usize;
    let months = if has_day(pattern) { &names.months_of_days } else { &names.months };
    let year = c.year + culture.years_ahead;
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(letter).len();
        let n = run / letter.len_utf8();
        let two = n.min(2);
        let mut used = run;
        match (letter, n) {
            ('d', 1..=2) => write!(out, "{:0n$}", c.day).ok()?,
            ('d', 3) => out.push_str(names.short_days[day]),
            ('d', _) => out.push_str(names.days[day]),
            ('M', 1..=2) => write!(out, "{:0n$}", c.month).ok()?,
            ('M', 3) => out.push_str(names.short_months[c.month as usize - 1]),
            ('M', _) => out.push_str(months[c.month as usize - 1]),
            ('y', 1..=2) => write!(out, "{:0n$}", year % 100).ok()?,
            ('y', _) => write!(out, "{year:0n$}").ok()?,
            ('H', _) => write!(out, "{:0two$}", c.hour).ok()?,
            ('h', _) => write!(out, "{:0two$}", (c.hour + 11) % 12 + 1).ok()?,
            ('m', _) => write!(out, "{:0two$}", c.minute).ok()?,
            ('s', _) => write!(out, "{:0two$}", c.second).ok()?,
            ('f' | 'F', 1..=7) => push_fraction(&mut out, c.fraction, n, letter == 'F'),
            ('f' | 'F', _) => return None,
            ('t', _) => {
                let half = culture.halves[usize::from(c.hour >= 12)];
                out.extend(half.chars().take(if n == 1 { 1 } else { usize::MAX }));
            }
            ('/', _) => (0..n).for_each(|_| out.push_str(culture.date_separator())),
            (':', _) => (0..n).for_each(|_| out.push_str(culture.time_separator())),
            ('z', _) => push_zone(&mut out, offset.unwrap_or(0), n),
            ('K', _) => offset.iter().for_each(|o| push_zone(&mut out, *o, 3)),
            ('g', _) => out.push_str("A.D."),
            ('\\' | '\'' | '"', _) => used = push_escaped(&mut out, rest)?,
            ('%', _) => used = 1,
            _ => out.push_str(&rest[..run]),
        }
        rest = &rest[used..];
    }
    Some(out)
}

fn push_fraction(out: &mut String, fraction: u32, digits: usize, trimmed: bool) {
    let text = format!("{fraction:07}");
    let text = &text[..digits];
    if !trimmed {
        out.push_str(text);
        return;
    }
    let text = text.trim_end_matches('0');
    if text.is_empty() && out.ends_with('.') {
        out.pop();
    }
    out.push_str(text);
}

fn push_zone(out: &mut String, offset: i16, n: usize) {
    let (sign, hours, minutes) = (if offset < 0 { '-' } else { '+' }, offset.abs() / 60, offset.abs() % 60);
    let written = match n {
        1 => write!(out, "{sign}{hours}"),
        2 => write!(out, "{sign}{hours:02}"),
        _ => write!(out, "{sign}{hours:02}:{minutes:02}"),
    };
    debug_assert!(written.is_ok());
}

/// A time of day is a time span to .NET: `c`, `g`, `G`, or `hh\:mm` with everything escaped that is no part of it.
pub(super) fn span(ticks: i64, pattern: &str, culture: &Culture) -> Option<String> {
    let c = Civil::of_time(ticks);
    let (hour, minute, second) = (c.hour, c.minute, c.second);
    let fraction = |point: &str| match c.fraction {
        0 => String::new(),
        fraction => format!("{point}{fraction:07}"),
    };
    Some(match pattern {
        "c" | "t" | "T" | "" => format!("{hour:02}:{minute:02}:{second:02}{}", fraction(".")),
        "g" => {
            let fraction = fraction(culture.point);
            format!("{hour}:{minute:02}:{second:02}{}", fraction.trim_end_matches('0'))
        }
        "G" => format!("0:{hour:02}:{minute:02}:{second:02}{}{:07}", culture.point, c.fraction),
        custom => return custom_span(&c, custom),
    })
}

fn custom_span(c: &Civil, pattern: &str) -> Option<String> {
    // One letter alone would be a standard format.
    pattern.chars().nth(1)?;
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let n = rest.len() - rest.trim_start_matches(letter).len();
        let mut used = n;
        match (letter, n) {
            ('d', 1..=8) => write!(out, "{:0n$}", 0).ok()?,
            ('h', 1..=2) => write!(out, "{:0n$}", c.hour).ok()?,
            ('m', 1..=2) => write!(out, "{:0n$}", c.minute).ok()?,
            ('s', 1..=2) => write!(out, "{:0n$}", c.second).ok()?,
            ('f' | 'F', 1..=7) => push_fraction(&mut out, c.fraction, n, letter == 'F'),
            ('\\' | '\'' | '"', _) => used = push_escaped(&mut out, rest)?,
            ('%', 1) => {}
            _ => return None,
        }
        rest = &rest[used..];
    }
    Some(out)
}

/// Appends what is escaped or quoted at the start of a pattern; the length of it there.
fn push_escaped(out: &mut String, pattern: &str) -> Option<usize> {
    if let Some(rest) = pattern.strip_prefix('\\') {
        let next = rest.chars().next()?;
        out.push(next);
        return Some(1 + next.len_utf8());
    }
    let quote = pattern.chars().next()?;
    let end = pattern[1..].find(quote)?;
    out.push_str(&pattern[1..=end]);
    Some(end + 2)
}
