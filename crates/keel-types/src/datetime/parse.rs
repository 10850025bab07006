//! Reading dates and times from strings, as `CAST`, `CONVERT` and implicit conversion do.
//!
//! The text is cut into numbers, words and separators; a date is recognised by its first separator or word, a time by
//! its colon or by AM/PM. Forms: `20260105`, `260105`, `2026`, `2026-01-05`, `1/5/2026` in the order of `DATEFORMAT` with
//! any of `/ - .`, `Jan 5 2026`, `5 January, 2026`, `2026 Jan 5`, `Jan 2026`, each with or without a time before or after;
//! ISO 8601 with `T` and offset; ODBC escapes `{d '…'}`, `{t '…'}`, `{ts '…'}`. A missing date is 1900-01-01, a missing
//! time midnight. Years of two digits lie in 1950..=2049.

use super::language::{Dates, Language};
use super::{Civil, TICKS_PER_SECOND};

/// The order in which a numeric date is read (`SET DATEFORMAT`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DateOrder {
    /// month, day, year: us_english
    #[default]
    Mdy,
    /// day, month, year
    Dmy,
    /// year, month, day
    Ymd,
    /// year, day, month
    Ydm,
    /// month, year, day
    Myd,
    /// day, year, month
    Dym,
}

impl DateOrder {
    /// By the argument of `SET DATEFORMAT`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<DateOrder> {
        Some(match name.to_ascii_lowercase().as_str() {
            "mdy" => DateOrder::Mdy,
            "dmy" => DateOrder::Dmy,
            "ymd" => DateOrder::Ymd,
            "ydm" => DateOrder::Ydm,
            "myd" => DateOrder::Myd,
            "dym" => DateOrder::Dym,
            _ => return None,
        })
    }

    /// As `SET DATEFORMAT` has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            DateOrder::Mdy => "mdy",
            DateOrder::Dmy => "dmy",
            DateOrder::Ymd => "ymd",
            DateOrder::Ydm => "ydm",
            DateOrder::Myd => "myd",
            DateOrder::Dym => "dym",
        }
    }

    /// The order that a `CONVERT` style reads; `None` leaves it to the session.
    #[must_use]
    pub fn of_style(style: i32) -> Option<DateOrder> {
        Some(match style {
            1 | 7 | 10 | 22 | 101 | 107 | 110 => DateOrder::Mdy,
            3..=6 | 13 | 103..=106 | 113 | 130 | 131 => DateOrder::Dmy,
            2 | 11 | 12 | 20 | 21 | 23 | 25 | 102 | 111 | 112 | 120 | 121 | 126 | 127 => DateOrder::Ymd,
            _ => return None,
        })
    }

    /// Year, month and day of three numbers written in this order.
    fn assign<T: Copy>(self, [a, b, c]: [T; 3]) -> (T, T, T) {
        match self {
            DateOrder::Mdy => (c, a, b),
            DateOrder::Dmy => (c, b, a),
            DateOrder::Ymd => (a, b, c),
            DateOrder::Ydm => (a, c, b),
            DateOrder::Myd => (b, a, c),
            DateOrder::Dym => (b, c, a),
        }
    }
}

/// What form a `CONVERT` style wants a date of numbers to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Any.
    Anyhow,
    /// In the style's order, the year with so many digits.
    InOrder(usize),
    /// `yyyy-mm-dd`, a time after it set off by `T`.
    Iso,
}

impl Written {
    /// What a style wants.
    #[must_use]
    pub fn of_style(style: i32) -> Written {
        match style {
            1..=5 | 10 | 11 => Written::InOrder(2),
            101..=105 | 110 | 111 => Written::InOrder(4),
            23 | 126 | 127 => Written::Iso,
            _ => Written::Anyhow,
        }
    }
}

/// What a string said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// Local date and time.
    pub civil: Civil,
    /// Offset in minutes, when written.
    pub offset: Option<i16>,
    /// Whether there was a date.
    pub has_date: bool,
}

/// Why a string is not a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not of any form.
    Syntax,
    /// Of a form, but no such day or time.
    Range,
}

/// Reads a date and time. `classic` is the way of `datetime`: the session's order also rules `2026-05-01` unless it ends
/// with a time in ISO form. Months have their names in the session's language and no other.
pub fn parse(text: &str, dates: Dates, classic: bool) -> Result<Parsed, Refusal> {
    parse_written(text, dates, classic, Written::Anyhow)
}

/// Reads a date and time of the form that a style wants.
pub fn parse_written(text: &str, dates: Dates, classic: bool, written: Written) -> Result<Parsed, Refusal> {
    let text = strip_escape(text.trim());
    let mut reader = Reader { tokens: Vec::with_capacity(16), at: 0, order: dates.order, classic, written };
    reader.tokens = tokenize(text, dates.language).ok_or(Refusal::Syntax)?;
    reader.run()
}

fn strip_escape(text: &str) -> &str {
    let Some(inner) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) else { return text };
    let inner = inner.trim_start_matches(|c: char| c.is_ascii_alphabetic()).trim();
    inner.trim_matches('\'')
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// Value and number of digits.
    Number(u32, usize),
    /// Month 1..=12.
    Month(u32),
    Am,
    Pm,
    /// `T` between date and time
    Tee,
    /// `Z`
    Zulu,
    /// Day names and other words that say nothing.
    Mark(char),
    Blank,
}

fn tokenize(text: &str, language: &Language) -> Option<Vec<Token>> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::with_capacity(16);
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        let class = bytes[i];
        if class.is_ascii_digit() {
            while i < bytes.len() && bytes[i].is_ascii_digit() {
                i += 1;
            }
            // Beyond nine digits only a fraction could be meant, and none has more than that.
            let digits = &text[start..i];
            tokens.push(Token::Number(digits.parse().ok()?, digits.len()));
        } else if class.is_ascii_alphabetic() || !class.is_ascii() {
            // Marks that belong to a letter are no letters.
            while i < bytes.len() && (bytes[i].is_ascii_alphabetic() || !bytes[i].is_ascii()) {
                i += 1;
            }
            tokens.push(word(&text[start..i], language)?);
        } else if class == b' ' || class == b'\t' || class == b'\n' || class == b'\r' {
            while i < bytes.len() && bytes[i].is_ascii_whitespace() {
                i += 1;
            }
            tokens.push(Token::Blank);
        } else if b"/-.:,+".contains(&class) {
            i += 1;
            tokens.push(Token::Mark(class as char));
        } else {
            return None;
        }
        if tokens.len() > 40 {
            return None;
        }
    }
    Some(tokens)
}

fn word(word: &str, language: &Language) -> Option<Token> {
    let lower = word.to_ascii_lowercase();
    Some(match lower.as_str() {
        "am" | "a" => Token::Am,
        "pm" | "p" => Token::Pm,
        "t" => Token::Tee,
        "z" => Token::Zulu,
        _ => Token::Month(language.month_named(word)?),
    })
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    order: DateOrder,
    classic: bool,
    written: Written,
}

/// A date as written, before the day is looked up.
#[derive(Clone, Copy)]
struct RawDate {
    year: (u32, usize),
    month: u32,
    day: u32,
}

impl Reader {
    fn run(&mut self) -> Result<Parsed, Refusal> {
        let mut civil = Civil::of_time(0);
        let mut offset = None;
        self.skip_blanks();
        if self.peek().is_none() {
            return Ok(Parsed { civil, offset, has_date: false });
        }
        let mut date = None;
        let mut time_seen = false;
        while self.peek().is_some() {
            if self.time_ahead() {
                if self.written == Written::Iso && date.is_some() && !self.after_tee() {
                    return Err(Refusal::Syntax);
                }
                if std::mem::replace(&mut time_seen, true) {
                    return Err(Refusal::Syntax);
                }
                self.time(&mut civil)?;
                offset = self.offset(date.is_some())?;
            } else if date.is_none() {
                date = Some(self.date()?);
            } else {
                return Err(Refusal::Syntax);
            }
            self.skip_between();
        }
        let has_date = date.is_some();
        if let Some(date) = date {
            civil.year = full_year(date.year)?;
            (civil.month, civil.day) = (date.month, date.day);
        }
        civil.ticks().ok_or(Refusal::Range)?;
        Ok(Parsed { civil, offset, has_date })
    }

    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    fn ahead(&self, n: usize) -> Option<Token> {
        self.tokens.get(self.at + n).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek() == Some(Token::Blank) {
            self.at += 1;
        }
    }

    fn skip_between(&mut self) {
        while matches!(self.peek(), Some(Token::Blank | Token::Tee)) {
            self.at += 1;
        }
    }

    fn after_tee(&self) -> bool {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)) == Some(&Token::Tee)
    }

    fn take(&mut self, token: Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    fn number(&mut self) -> Result<(u32, usize), Refusal> {
        match self.peek() {
            Some(Token::Number(n, digits)) => {
                self.at += 1;
                Ok((n, digits))
            }
            _ => Err(Refusal::Syntax),
        }
    }

    /// A number followed by a colon or by AM/PM begins a time.
    fn time_ahead(&self) -> bool {
        if !matches!(self.peek(), Some(Token::Number(_, 1..=2))) {
            return false;
        }
        match self.ahead(1) {
            Some(Token::Mark(':') | Token::Am | Token::Pm) => true,
            Some(Token::Blank) => matches!(self.ahead(2), Some(Token::Am | Token::Pm)),
            _ => false,
        }
    }

    fn time(&mut self, civil: &mut Civil) -> Result<(), Refusal> {
        (civil.hour, _) = self.number()?;
        if self.take(Token::Mark(':')) {
            (civil.minute, _) = self.number()?;
            if self.take(Token::Mark(':')) {
                (civil.second, _) = self.number()?;
                self.fraction(civil)?;
            }
        }
        self.half_of_day(civil)?;
        if civil.hour > 23 || civil.minute > 59 || civil.second > 59 {
            return Err(Refusal::Range);
        }
        Ok(())
    }

    fn fraction(&mut self, civil: &mut Civil) -> Result<(), Refusal> {
        if self.take(Token::Mark('.')) {
            let (n, digits) = self.number()?;
            if digits > 9 || (self.classic && digits > 3) {
                return Err(Refusal::Syntax);
            }
            let nanos = u64::from(n) * 10u64.pow(9 - digits as u32);
            // More than seven digits are rounded; half a tick below the next second stays in this one.
            civil.fraction = ((nanos + 50) / 100).min(TICKS_PER_SECOND as u64 - 1) as u32;
        } else if self.take(Token::Mark(':')) {
            let (n, digits) = self.number()?;
            if digits > 3 {
                return Err(Refusal::Syntax);
            }
            civil.fraction = n * 10_000;
        }
        Ok(())
    }

    fn half_of_day(&mut self, civil: &mut Civil) -> Result<(), Refusal> {
        let blank = self.peek() == Some(Token::Blank);
        let half = if blank { self.ahead(1) } else { self.peek() };
        if !matches!(half, Some(Token::Am | Token::Pm)) {
            return Ok(());
        }
        self.at += 1 + usize::from(blank);
        match (half, civil.hour) {
            (Some(Token::Am), 12) => civil.hour = 0,
            (Some(Token::Am), 0..=11) | (Some(Token::Pm), 12..=23) => {}
            (Some(Token::Pm), 1..=11) => civil.hour += 12,
            _ => return Err(Refusal::Range),
        }
        Ok(())
    }

    /// `Z` or `±hh:mm` after a time.
    fn offset(&mut self, after_date: bool) -> Result<Option<i16>, Refusal> {
        if self.take(Token::Zulu) {
            return Ok(Some(0));
        }
        let blank = usize::from(self.peek() == Some(Token::Blank));
        let sign = match self.ahead(blank) {
            Some(Token::Mark('+')) => 1,
            Some(Token::Mark('-')) if after_date => -1,
            _ => return Ok(None),
        };
        self.at += blank + 1;
        let (hours, digits) = self.number()?;
        if digits > 2 || !self.take(Token::Mark(':')) {
            return Err(Refusal::Syntax);
        }
        let (minutes, digits) = self.number()?;
        let total = hours * 60 + minutes;
        if digits > 2 || minutes > 59 || total > 840 {
            return Err(Refusal::Range);
        }
        Ok(Some(sign * total as i16))
    }

    fn date(&mut self) -> Result<RawDate, Refusal> {
        if let Some(Token::Month(month)) = self.peek() {
            self.at += 1;
            return self.after_month(month);
        }
        let first = self.number()?;
        match (self.peek(), first.1) {
            (None | Some(Token::Blank | Token::Tee), 8) => {
                let (year, rest) = (first.0 / 10_000, first.0 % 10_000);
                Ok(RawDate { year: (year, 4), month: rest / 100, day: rest % 100 })
            }
            (None | Some(Token::Blank), 6) => {
                let (year, rest) = (first.0 / 10_000, first.0 % 10_000);
                Ok(RawDate { year: (year, 2), month: rest / 100, day: rest % 100 })
            }
            (None, 4) => Ok(RawDate { year: first, month: 1, day: 1 }),
            (Some(Token::Mark(mark @ ('-' | '/' | '.'))), _) => self.numeric_date(first, mark),
            (Some(Token::Blank | Token::Month(_)), _) => self.before_month(first),
            _ => Err(Refusal::Syntax),
        }
    }

    /// `1/5/2026`, `2026-01-05`, `5-Jan-2026`.
    fn numeric_date(&mut self, first: (u32, usize), mark: char) -> Result<RawDate, Refusal> {
        self.at += 1;
        if let Some(Token::Month(month)) = self.peek() {
            self.at += 1;
            self.take(Token::Mark(mark));
            let second = self.number()?;
            let (year, day) = if first.1 > 2 { (first, second) } else { (second, first) };
            return Ok(RawDate { year, month, day: day.0 });
        }
        let second = self.number()?;
        if !self.take(Token::Mark(mark)) {
            return Err(Refusal::Syntax);
        }
        let third = self.number()?;
        let day_first = matches!(self.order, DateOrder::Dmy | DateOrder::Dym | DateOrder::Ydm);
        // Four digits before all else are a year to the old types, in whatever order the style would have it.
        let year_first = self.classic && first.1 == 4 && self.written == Written::InOrder(4);
        let (year, month, day) = if let Written::InOrder(digits) = self.written
            && !year_first
        {
            let date = self.order.assign([first, second, third]);
            if date.0.1 != digits {
                return Err(Refusal::Syntax);
            }
            date
        } else if self.written == Written::Iso {
            if first.1 != 4 || mark != '-' {
                return Err(Refusal::Syntax);
            }
            (first, second, third)
        } else if second.1 == 4 {
            if day_first { (second, third, first) } else { (second, first, third) }
        } else if first.1 == 4 {
            let swapped = self.classic && day_first && self.peek() != Some(Token::Tee);
            if swapped { (first, third, second) } else { (first, second, third) }
        } else if third.1 == 4 && matches!(self.order, DateOrder::Ymd | DateOrder::Myd) {
            (third, first, second)
        } else if third.1 == 4 && matches!(self.order, DateOrder::Ydm | DateOrder::Dym) {
            (third, second, first)
        } else {
            self.order.assign([first, second, third])
        };
        if month.1 > 2 || day.1 > 2 {
            return Err(Refusal::Syntax);
        }
        Ok(RawDate { year, month: month.0, day: day.0 })
    }

    /// `Jan 5, 2026`, `Jan 2026`, `January 5 26`.
    fn after_month(&mut self, month: u32) -> Result<RawDate, Refusal> {
        self.skip_soft();
        let first = self.number()?;
        if first.1 == 4 {
            self.skip_soft_before_number();
            let day = match self.peek() {
                Some(Token::Number(day, 1..=2)) if !self.time_ahead() => {
                    self.at += 1;
                    day
                }
                _ => 1,
            };
            return Ok(RawDate { year: first, month, day });
        }
        self.skip_soft();
        let year = self.number()?;
        Ok(RawDate { year, month, day: first.0 })
    }

    /// `5 2026 Jan`, `2026 5 Jan`.
    fn before_month_last(&mut self, first: (u32, usize)) -> Result<RawDate, Refusal> {
        let second = self.number()?;
        self.skip_blanks();
        let Some(Token::Month(month)) = self.peek() else { return Err(Refusal::Syntax) };
        self.at += 1;
        let (year, day) = if first.1 == 4 { (first, second) } else { (second, first) };
        if year.1 != 4 || day.1 > 2 {
            return Err(Refusal::Syntax);
        }
        Ok(RawDate { year, month, day: day.0 })
    }

    /// `5 Jan 2026`, `2026 Jan 5`.
    fn before_month(&mut self, first: (u32, usize)) -> Result<RawDate, Refusal> {
        self.skip_blanks();
        if matches!(self.peek(), Some(Token::Number(..))) && !self.time_ahead() {
            return self.before_month_last(first);
        }
        let Some(Token::Month(month)) = self.peek() else { return Err(Refusal::Syntax) };
        self.at += 1;
        self.skip_soft_before_number();
        let second = match self.peek() {
            Some(Token::Number(..)) if !self.time_ahead() => self.number()?,
            _ if first.1 == 4 => (1, 1),
            _ => return Err(Refusal::Syntax),
        };
        let (year, day) = if first.1 == 4 { (first, second) } else { (second, first) };
        Ok(RawDate { year, month, day: day.0 })
    }

    fn skip_soft(&mut self) {
        while matches!(self.peek(), Some(Token::Blank | Token::Mark(',' | '-' | '.' | '/'))) {
            self.at += 1;
        }
    }

    fn skip_soft_before_number(&mut self) {
        let start = self.at;
        self.skip_soft();
        if !matches!(self.peek(), Some(Token::Number(..))) {
            self.at = start;
        }
    }
}

fn full_year((year, digits): (u32, usize)) -> Result<i32, Refusal> {
    match (year, digits) {
        (0..=49, 1..=2) => Ok(2000 + year as i32),
        (50..=99, 1..=2) => Ok(1900 + year as i32),
        (1..=9999, 4) => Ok(year as i32),
        (_, 4) => Err(Refusal::Range),
        _ => Err(Refusal::Syntax),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, order: DateOrder, classic: bool) -> String {
        match parse(text, Dates { order, ..Dates::US }, classic) {
            Ok(p) => {
                let c = p.civil;
                let mut s = format!(
                    "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:07}",
                    c.year, c.month, c.day, c.hour, c.minute, c.second, c.fraction
                );
                if let Some(o) = p.offset {
                    s += &format!(" {o}");
                }
                s.trim_end_matches(".0000000").trim_end_matches(" 00:00:00").to_owned()
            }
            Err(r) => format!("{r:?}"),
        }
    }

    #[test]
    fn forms() {
        let check =
            |text: &str, expect: &str| assert_eq!(shown(text, DateOrder::Mdy, false), expect, "{text}");
        check("20260105", "2026-01-05");
        check("20260105 14:03", "2026-01-05 14:03:00");
        check("260105", "2026-01-05");
        check("2026", "2026-01-01");
        check("2026-01-05", "2026-01-05");
        check("2026-1-5 2:03 PM", "2026-01-05 14:03:00");
        check("1/5/2026", "2026-01-05");
        check("1/5/49", "2049-01-05");
        check("1.5.50", "1950-01-05");
        check("Jan 5 2026", "2026-01-05");
        check("Jan  5 2026  2:03PM", "2026-01-05 14:03:00");
        check("January 5, 2026 12:00AM", "2026-01-05");
        check("5 Jan 2026", "2026-01-05");
        check("05-Jan-26", "2026-01-05");
        check("5 January, 2026 10:11:12", "2026-01-05 10:11:12");
        check("2026 Jan 5", "2026-01-05");
        check("Jan 2026", "2026-01-01");
        check("5 2026 Jan", "2026-01-05");
        check("2026 5 Jan 14:03", "2026-01-05 14:03:00");
        check("01/2026/05", "2026-01-05");
        check("5 26 Jan", "Syntax");
        check("2026-01-05T14:03:09", "2026-01-05 14:03:09");
        check("2026-01-05T14:03:09.1234567", "2026-01-05 14:03:09.1234567");
        check("2026-01-05T14:03:09Z", "2026-01-05 14:03:09.0000000 0");
        check("2026-01-05 14:03:09.123 +05:30", "2026-01-05 14:03:09.1230000 330");
        check("2026-01-05 14:03:09.123-08:00", "2026-01-05 14:03:09.1230000 -480");
        check("14:03:09:123", "1900-01-01 14:03:09.1230000");
        check("2pm", "1900-01-01 14:00:00");
        check("12:30 am", "1900-01-01 00:30:00");
        check("", "1900-01-01");
        check("{ts '2026-01-05 01:02:03'}", "2026-01-05 01:02:03");
        check("2026-02-30", "Range");
        check("2026-13-01", "Range");
        check("24:00", "Range");
        check("yesterday", "Syntax");
        check("2026-01-05x", "Syntax");
        check("12345", "Syntax");
    }

    #[test]
    fn orders() {
        let check = |text: &str, order: DateOrder, classic: bool, expect: &str| {
            assert_eq!(shown(text, order, classic), expect, "{text} {order:?}");
        };
        check("1/5/2026", DateOrder::Dmy, true, "2026-05-01");
        check("2026-01-05", DateOrder::Dmy, true, "2026-05-01");
        check("2026-01-05", DateOrder::Dmy, false, "2026-01-05");
        check("2026-01-05T00:00:00", DateOrder::Dmy, true, "2026-01-05");
        check("26/1/5", DateOrder::Ymd, true, "2026-01-05");
        check("20260105", DateOrder::Dmy, true, "2026-01-05");
    }

    proptest! {
        #[test]
        fn never_panics(s in "[0-9a-zA-Z/:. +{}',-]{0,24}", t in any::<String>()) {
            for order in [DateOrder::Mdy, DateOrder::Dym] {
                let _ = parse(&s, Dates { order, ..Dates::US }, true);
                let _ = parse(&t, Dates { order, ..Dates::US }, false);
            }
        }
    }
}
