//! `FORMAT` of dates and times: .NET's standard letters and custom patterns.

use super::format_culture::Culture;
use crate::datetime::{Civil, TICKS_PER_DAY, weekday};
use std::fmt::Write;

/// A date and time by a standard letter or a custom format; `None` for a format that makes no sense.
pub(super) fn moment(
    local_ticks: i64,
    offset: Option<i16>,
    pattern: &str,
    culture: &Culture,
) -> Option<String> {
    let mut chars = pattern.chars();
    let custom = match (chars.next(), chars.next()) {
        (Some(letter), None) => standard(letter, offset, culture)?,
        (None, _) => format!("{} {}", culture.short_date, culture.long_time),
        (Some('%'), Some(_)) => pattern[1..].to_owned(),
        _ => pattern.to_owned(),
    };
    custom_moment(local_ticks, offset, &custom, culture)
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

/// The first letters of a name, as the abbreviated names have them.
fn abbreviated(name: &str, letters: usize) -> &str {
    &name[..name.char_indices().nth(letters).map_or(name.len(), |(i, _)| i)]
}

fn custom_moment(ticks: i64, offset: Option<i16>, pattern: &str, culture: &Culture) -> Option<String> {
    let c = Civil::of_ticks(ticks);
    let day_name = culture.days[weekday((ticks / TICKS_PER_DAY) as i32) as usize];
    let month_name = culture.months[c.month as usize - 1];
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let run = rest.len() - rest.trim_start_matches(letter).len();
        let n = run / letter.len_utf8();
        let two = n.min(2);
        let mut used = run;
        match (letter, n) {
            ('d', 1..=2) => write!(out, "{:0n$}", c.day).ok()?,
            ('d', 3) => out.push_str(abbreviated(day_name, culture.day_letters)),
            ('d', _) => out.push_str(day_name),
            ('M', 1..=2) => write!(out, "{:0n$}", c.month).ok()?,
            ('M', 3) => out.push_str(abbreviated(month_name, 3)),
            ('M', _) => out.push_str(month_name),
            ('y', 1..=2) => write!(out, "{:0n$}", c.year % 100).ok()?,
            ('y', _) => write!(out, "{:0n$}", c.year).ok()?,
            ('H', _) => write!(out, "{:0two$}", c.hour).ok()?,
            ('h', _) => write!(out, "{:0two$}", (c.hour + 11) % 12 + 1).ok()?,
            ('m', _) => write!(out, "{:0two$}", c.minute).ok()?,
            ('s', _) => write!(out, "{:0two$}", c.second).ok()?,
            ('f' | 'F', 1..=7) => push_fraction(&mut out, c.fraction, n, letter == 'F'),
            ('f' | 'F', _) => return None,
            ('t', _) => out.push_str(&(if c.hour < 12 { "AM" } else { "PM" })[..two]),
            ('z', _) => push_zone(&mut out, offset.unwrap_or(0), n),
            ('K', _) => offset.iter().for_each(|o| push_zone(&mut out, *o, 3)),
            ('g', _) => out.push_str("A.D."),
            ('\\', _) => {
                let next = rest[1..].chars().next()?;
                out.push(next);
                used = 1 + next.len_utf8();
            }
            ('\'' | '"', _) => {
                let end = rest[1..].find(letter)?;
                out.push_str(&rest[1..=end]);
                used = end + 2;
            }
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

/// A time of day is a time span to .NET: `c`, `g`, `G`, or `hh\:mm` with every separator escaped.
pub(super) fn span(ticks: i64, pattern: &str, culture: &Culture) -> Option<String> {
    let c = Civil::of_time(ticks);
    let fraction = if c.fraction == 0 { String::new() } else { format!(".{:07}", c.fraction) };
    match pattern {
        "c" | "t" | "T" | "" => {
            return Some(format!("{:02}:{:02}:{:02}{fraction}", c.hour, c.minute, c.second));
        }
        "g" => {
            let fraction = fraction.trim_end_matches('0');
            return Some(format!("{}:{:02}:{:02}{fraction}", c.hour, c.minute, c.second));
        }
        "G" => return Some(format!("0:{:02}:{:02}:{:02}.{:07}", c.hour, c.minute, c.second, c.fraction)),
        _ => {}
    }
    let escaped = |i: usize| i > 0 && pattern.as_bytes()[i - 1] == b'\\';
    if pattern.char_indices().any(|(i, ch)| matches!(ch, ':' | '.' | '-' | ' ') && !escaped(i)) {
        return None;
    }
    custom_moment(ticks, None, &pattern.replace('h', "H"), culture)
}
