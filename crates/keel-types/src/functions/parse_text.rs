//! `PARSE` and `TRY_PARSE`: numbers, money, dates and times as a culture writes them.

use super::format_culture::{Culture, culture_or};
use crate::cast::{self, Cast};
use crate::datetime::format::MONTHS;
use crate::datetime::language::{Dates, Language};
use crate::datetime::parse::DateOrder;
use crate::error::{Result, SqlError};
use crate::ty::{Family, Length, SqlType};
use crate::value::Value;

const TEXT: SqlType = SqlType::NVarChar(Length::Max);

/// Reads a text as a value of `ty` the way of a culture, that of the language without one. Errors: 9818 for a culture nobody knows,
/// 9819 for a text that is none, 10761 for a type that PARSE does not give.
pub fn parse_text(
    text: &str,
    ty: SqlType,
    culture_name: Option<&str>,
    language: &'static Language,
) -> Result<Value> {
    let culture = culture_or(culture_name, || language)?;
    let name = culture_name.unwrap_or(culture.name);
    let plain = match ty.family() {
        Family::Integer | Family::Decimal | Family::Float => number(text, culture, false),
        Family::Money => number(text, culture, true),
        Family::Date | Family::Time | Family::DateTime | Family::DateTime2 | Family::DateTimeOffset => {
            Some(moment(text, culture))
        }
        _ => {
            let text = format!("Invalid data type {ty} in function PARSE.");
            return Err(SqlError::new(10_761, 15, 2, text));
        }
    };
    let refused = || {
        let text =
            format!("Error converting string value '{text}' into data type {ty} using culture '{name}'.");
        SqlError::new(9819, 16, 1, text)
    };
    let plain = plain.ok_or_else(refused)?;
    let cast: Cast = cast::explicit(TEXT, ty)?.with_dates(Dates { order: order(culture), ..Dates::US });
    cast.apply(&Value::str(plain)).map_err(|_| refused())
}

/// In which order the culture writes dates.
fn order(culture: &Culture) -> DateOrder {
    match culture.short_date.chars().next() {
        Some('d') => DateOrder::Dmy,
        Some('y') => DateOrder::Ymd,
        _ => DateOrder::Mdy,
    }
}

/// The number in plain digits: groups joined, the point a point, the sign in front.
fn number(text: &str, culture: &Culture, money: bool) -> Option<String> {
    let mut rest = text.trim();
    let mut negative = false;
    if let Some(inner) = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')) {
        (rest, negative) = (inner.trim(), true);
    }
    let symbol = culture.currency.replace("{}", "");
    let symbol = symbol.trim();
    loop {
        let before = rest.len();
        rest = rest.trim();
        if money && !symbol.is_empty() {
            rest = rest.strip_prefix(symbol).or_else(|| rest.strip_suffix(symbol)).unwrap_or(rest);
        }
        if let Some(r) = rest.strip_prefix('-').or_else(|| rest.strip_suffix('-')) {
            (rest, negative) = (r, !negative);
        } else if let Some(r) = rest.strip_prefix('+') {
            rest = r;
        }
        if rest.len() == before {
            break;
        }
    }
    // A blank that does not break separates groups in writing; people type an ordinary one.
    let is_blank = |s: &str| s.chars().all(char::is_whitespace);
    let (whole, fraction) = match rest.split_once(culture.point) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (rest, None),
    };
    let joined = if is_blank(culture.group) {
        whole.chars().filter(|c| !c.is_whitespace()).collect()
    } else {
        whole.replace(culture.group, "")
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (mantissa, exponent) = match fraction.unwrap_or(&joined).find(['e', 'E']) {
        Some(at) if !money => {
            let (m, e) = fraction.unwrap_or(&joined).split_at(at);
            (m.to_owned(), e.to_owned())
        }
        _ => (fraction.unwrap_or(&joined).to_owned(), String::new()),
    };
    let (whole, part) =
        if fraction.is_some() { (joined.as_str(), mantissa.as_str()) } else { (mantissa.as_str(), "") };
    if !digits(whole) || !digits(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let sign = if negative { "-" } else { "" };
    let point = if part.is_empty() { "" } else { "." };
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(format!("{sign}{whole}{point}{part}{exponent}"))
}

/// The text with the names of months in English, without those of days and without the words that a culture writes between the
/// parts of a date.
fn moment(text: &str, culture: &Culture) -> String {
    let mut out = text.to_lowercase();
    for day in &culture.names.days {
        out = out.replace(&day.to_lowercase(), "");
    }
    out = without_words(&out, culture);
    let names = &culture.names;
    // From December back: the name of an earlier month can be the end of a later one's.
    let called = |own: &[&str]| (0..12).rev().find(|i| out.contains(&own[*i].to_lowercase()));
    let found = [&names.months_of_days, &names.months].into_iter().find_map(|own| Some((own, called(own)?)));
    out = match found {
        // The point of an ordinal (`13. Dezember`) stands only beside names.
        Some((own, month)) => out.replace(&own[month].to_lowercase(), MONTHS[month]).replace('.', " "),
        None => out.replace(". ", ".").trim_end_matches('.').to_owned(),
    };
    out = out.replace(['年', '月', '년', '월'], "-").replace(['日', '일'], "");
    out.trim_start_matches([',', ' ']).to_owned()
}

/// The text without what stands in quotes in the culture's patterns and between blanks in the text: `de`, `г.`.
fn without_words(text: &str, culture: &Culture) -> String {
    let quoted = |pattern: &'static str| pattern.split('\'').skip(1).step_by(2).map(str::trim);
    let words: Vec<&str> = quoted(culture.long_date).chain(quoted(culture.short_date)).collect();
    let kept: Vec<&str> = text.split(' ').filter(|part| part.is_empty() || !words.contains(part)).collect();
    kept.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ty: SqlType, culture: &str, expect: &str) {
        let got = match parse_text(text, ty, Some(culture), Language::us_english()) {
            Ok(v) => cast::to_text(&v, ty, 121).map_or_else(|e| e.number.to_string(), |t| t.to_string()),
            Err(e) => e.number.to_string(),
        };
        assert_eq!(got, expect, "{text} as {ty} in {culture}");
    }

    #[test]
    fn numbers() {
        let decimal = SqlType::Decimal { precision: 10, scale: 2 };
        check("1,234.50", decimal, "en-US", "1234.50");
        check("1.234,50", decimal, "de-DE", "1234.50");
        check("1 234,50", decimal, "fr-FR", "1234.50");
        check("(7)", SqlType::Int, "en-US", "-7");
        check("7-", SqlType::Int, "en-US", "-7");
        check("seven", SqlType::Int, "en-US", "9819");
        check("1", SqlType::Int, "xx-XX", "9818");
        check("-345,98 €", SqlType::Money, "de-DE", "-345.98");
        check("$1,000", SqlType::Money, "en-US", "1000.00");
    }

    #[test]
    fn moments() {
        check("Monday, 13 December 2010", SqlType::Date, "en-US", "2010-12-13");
        check("13/12/2010", SqlType::Date, "en-GB", "2010-12-13");
        check("13/12/2010", SqlType::Date, "en-US", "9819");
        check("13. Dezember 2010", SqlType::Date, "de-DE", "2010-12-13");
        check("3 мая 2026 г.", SqlType::Date, "ru-RU", "2026-05-03");
        check("3 de mayo de 2026", SqlType::Date, "es-ES", "2026-05-03");
        check("2026. 05. 03.", SqlType::Date, "hu-HU", "2026-05-03");
        check("2026年11月3日", SqlType::Date, "ja-JP", "2026-11-03");
        check("2026年5月3日", SqlType::Date, "zh-CN", "2026-05-03");
        check("03 Tháng Mười Một 2026", SqlType::Date, "vi-VN", "2026-11-03");
        check("03.05.2026 14:03", SqlType::DateTime2(0), "cs-CZ", "2026-05-03 14:03:00");
        check("x", SqlType::VarChar(Length::Max), "en-US", "10761");
    }
}
