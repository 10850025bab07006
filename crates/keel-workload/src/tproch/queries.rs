//! The 22 queries with parameters drawn for each stream (section 2.4), and their order in a stream.

mod questions;

pub use questions::QUESTIONS;

use super::words::{
    COLORS, CONTAINERS_1, CONTAINERS_2, KINDS, MODES, NATIONS, REGIONS, SEGMENTS, THINGS, TYPES_1, TYPES_2,
    TYPES_3, one,
};
use super::{Scale, rows};
use crate::Dialect;
use fastrand::Rng;
use time::{Date, Duration, Month};

/// A question that a query of the workload asks.
pub struct Question {
    /// Of a stream's reader in a report: what is asked.
    pub name: &'static str,
    /// Rows that are asked for at most; 0 for all.
    top: u32,
    /// The text with `:1`, `:2`… for its parameters, and `YEAR(x)`, which the dialects spell differently.
    text: &'static str,
}

/// The queries of one stream.
pub struct Stream {
    /// By number of the query, from 0.
    texts: Vec<String>,
    /// Numbers in the order in which they are run.
    order: Vec<usize>,
}

/// The order of the power test's queries, by number from 1 (appendix A).
const POWER_ORDER: [usize; 22] =
    [14, 2, 9, 20, 6, 17, 18, 8, 21, 13, 3, 22, 16, 4, 11, 15, 1, 10, 19, 5, 7, 12];

impl Stream {
    /// The stream with a number, 0 for the power test. The same seed and number ask the same.
    #[must_use]
    pub fn new(number: u64, scale: Scale, seed: u64, dialect: Dialect) -> Stream {
        let mut rng = Rng::with_seed((seed ^ 0x5eed_0f57_4ea5).wrapping_add(number << 32));
        let texts = QUESTIONS.iter().enumerate().map(|(query, question)| {
            let parameters = parameters(query + 1, scale, &mut rng);
            question.text(&parameters, dialect)
        });
        let texts = texts.collect();
        let mut order: Vec<usize> = POWER_ORDER.iter().map(|query| query - 1).collect();
        if number > 0 {
            rng.shuffle(&mut order);
        }
        Stream { texts, order }
    }

    /// Its queries in the order in which they are run: number from 0, and text.
    pub fn queries(&self) -> impl Iterator<Item = (usize, &str)> {
        self.order.iter().map(|query| (*query, self.texts[*query].as_str()))
    }
}

impl Question {
    fn text(&self, parameters: &[String], dialect: Dialect) -> String {
        let mut text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        for (i, value) in parameters.iter().enumerate().rev() {
            text = text.replace(&format!(":{}", i + 1), value);
        }
        match (dialect, self.top) {
            (Dialect::TransactSql, 0) => {}
            (Dialect::TransactSql, top) => text = text.replacen("SELECT", &format!("SELECT TOP ({top})"), 1),
            (Dialect::Postgres, top) => {
                for column in ["l_shipdate", "o_orderdate"] {
                    text = text.replace(&format!("YEAR({column})"), &postgres_year(column));
                }
                if top > 0 {
                    text += &format!(" LIMIT {top}");
                }
            }
        }
        text
    }
}

fn postgres_year(column: &str) -> String {
    format!("CAST(DATE_PART('year', {column}) AS int)")
}

fn day(year: i32, month: u8, day: u8) -> Date {
    let month = Month::try_from(month).unwrap_or(Month::January);
    Date::from_calendar_date(year, month, day).unwrap_or(rows::date_of(0))
}

/// The first of the month so many months later.
fn months_later(from: Date, months: i32) -> Date {
    let count = from.year() * 12 + i32::from(u8::from(from.month())) - 1 + months;
    day(count.div_euclid(12), (count.rem_euclid(12) + 1) as u8, 1)
}

/// The first of a month of a year, and the first day that is not in the so many months from there.
fn span(year: i32, month: u8, months: i32) -> Vec<String> {
    let from = day(year, month, 1);
    vec![from.to_string(), months_later(from, months).to_string()]
}

fn brand(rng: &mut Rng) -> String {
    format!("Brand#{}{}", rng.u8(1..=5), rng.u8(1..=5))
}

/// A fraction with so many digits behind the point, without the errors of binary ones.
fn hundredths(n: i32) -> String {
    format!("0.{n:02}")
}

/// What the `:n` of a query stand for, drawn as the specification has it.
fn parameters(query: usize, scale: Scale, rng: &mut Rng) -> Vec<String> {
    let nation = |rng: &mut Rng| one(rng, &NATIONS);
    match query {
        1 => vec![(day(1998, 12, 1) - Duration::days(rng.i64(60..=120))).to_string()],
        2 => vec![rng.u8(1..=50).to_string(), one(rng, &TYPES_3).into(), one(rng, &REGIONS).into()],
        3 => vec![one(rng, &SEGMENTS).into(), day(1995, 3, rng.u8(1..=31)).to_string()],
        4 => {
            let from = months_later(day(1993, 1, 1), rng.i32(0..58));
            span(from.year(), from.month().into(), 3)
        }
        5 => [vec![one(rng, &REGIONS).into()], span(rng.i32(1993..=1997), 1, 12)].concat(),
        6 => {
            let (year, discount) = (rng.i32(1993..=1997), rng.i32(2..=9));
            let bounds =
                vec![hundredths(discount - 1), hundredths(discount + 1), rng.u8(24..=25).to_string()];
            [span(year, 1, 12), bounds].concat()
        }
        7 => rng.choose_multiple(NATIONS.iter(), 2).into_iter().map(|(name, _)| (*name).to_owned()).collect(),
        8 => {
            let (name, region) = nation(rng);
            let kind = format!("{} {} {}", one(rng, &TYPES_1), one(rng, &TYPES_2), one(rng, &TYPES_3));
            vec![name.into(), REGIONS[region].into(), kind]
        }
        9 => vec![one(rng, &COLORS).into()],
        10 => {
            let from = months_later(day(1993, 2, 1), rng.i32(0..24));
            span(from.year(), from.month().into(), 3)
        }
        11 => vec![nation(rng).0.into(), format!("{:.10}", 0.0001 / scale.factor)],
        12 => {
            let modes = rng.choose_multiple(MODES, 2).into_iter().map(str::to_owned);
            let mut out: Vec<String> = modes.collect();
            out.extend(span(rng.i32(1993..=1997), 1, 12));
            out
        }
        13 => vec![one(rng, &KINDS[..4]).into(), one(rng, &THINGS[..4]).into()],
        14 => span(rng.i32(1993..=1997), rng.u8(1..=12), 1),
        15 => {
            let from = months_later(day(1993, 1, 1), rng.i32(0..58));
            span(from.year(), from.month().into(), 3)
        }
        16 => {
            let sizes: Vec<String> =
                rng.choose_multiple(1..=50, 8).into_iter().map(|n: i32| n.to_string()).collect();
            vec![brand(rng), format!("{} {}", one(rng, &TYPES_1), one(rng, &TYPES_2)), sizes.join(", ")]
        }
        17 => vec![brand(rng), format!("{} {}", one(rng, &CONTAINERS_1), one(rng, &CONTAINERS_2))],
        18 => vec![rng.i32(312..=315).to_string()],
        19 => {
            let quantities =
                [1..=10, 10..=20, 20..=30].map(|range: std::ops::RangeInclusive<i32>| rng.i32(range));
            let brands = [(); 3].map(|()| brand(rng));
            brands
                .into_iter()
                .zip(quantities)
                .flat_map(|(b, q)| [b, q.to_string(), (q + 10).to_string()])
                .collect()
        }
        20 => {
            [vec![one(rng, &COLORS).into(), nation(rng).0.into()], span(rng.i32(1993..=1997), 1, 12)].concat()
        }
        21 => vec![nation(rng).0.into()],
        _ => {
            let codes =
                rng.choose_multiple(10..10 + NATIONS.len(), 7).into_iter().map(|code| format!("'{code}'"));
            vec![codes.collect::<Vec<_>>().join(", ")]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: Scale = Scale { factor: 1.0 };

    #[test]
    fn a_stream_asks_every_question_once_and_the_same_again() {
        for (number, dialect) in [(0, Dialect::TransactSql), (3, Dialect::Postgres)] {
            let stream = Stream::new(number, SCALE, 7, dialect);
            let mut seen: Vec<usize> = stream.queries().map(|(query, _)| query).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..22).collect::<Vec<_>>());
            let again = Stream::new(number, SCALE, 7, dialect);
            assert!(stream.queries().eq(again.queries()));
            for (query, text) in stream.queries() {
                let left = (1..=10).any(|n| text.contains(&format!(":{n}")));
                assert!(!left, "query {}: {text}", query + 1);
            }
        }
        let texts = |number| {
            let stream = Stream::new(number, SCALE, 7, Dialect::TransactSql);
            stream.queries().map(|(_, text)| text.to_owned()).collect::<Vec<_>>()
        };
        assert_ne!(texts(0), texts(1), "streams differ in parameters and order");
        let first = Stream::new(0, SCALE, 7, Dialect::TransactSql).queries().next().unwrap().0;
        assert_eq!(first + 1, 14, "the power test begins with query 14");
    }

    #[test]
    fn dialects_differ_in_words_and_not_in_parameters() {
        let tsql = Stream::new(2, SCALE, 1, Dialect::TransactSql);
        let postgres = Stream::new(2, SCALE, 1, Dialect::Postgres);
        assert!(tsql.texts[1].starts_with("SELECT TOP (100) "), "{}", tsql.texts[1]);
        assert!(postgres.texts[1].ends_with(" LIMIT 100"), "{}", postgres.texts[1]);
        assert_eq!(
            tsql.texts[6].replace("YEAR(l_shipdate)", &postgres_year("l_shipdate")),
            postgres.texts[6],
            "query 7 differs in YEAR alone"
        );
    }

    #[test]
    fn months_are_counted_over_the_end_of_the_year() {
        assert_eq!(span(1993, 11, 3), ["1993-11-01", "1994-02-01"]);
        assert_eq!(span(1997, 1, 12), ["1997-01-01", "1998-01-01"]);
    }
}
