//! The cultures `FORMAT` knows. A culture that is not here raises 9818.

use crate::datetime::format::{DAYS, MONTHS};
use crate::error::{Result, SqlError};

/// What differs from culture to culture.
pub(super) struct Culture {
    pub(super) name: &'static str,
    pub(super) point: &'static str,
    pub(super) group: &'static str,
    /// `{}` stands for the number.
    pub(super) currency: &'static str,
    pub(super) negative_currency: &'static str,
    pub(super) percent: &'static str,
    pub(super) months: &'static [&'static str; 12],
    pub(super) days: &'static [&'static str; 7],
    /// Letters of an abbreviated day name.
    pub(super) day_letters: usize,
    pub(super) short_date: &'static str,
    pub(super) long_date: &'static str,
    pub(super) short_time: &'static str,
    pub(super) long_time: &'static str,
    pub(super) month_day: &'static str,
    pub(super) year_month: &'static str,
}

pub(super) static CULTURES: [Culture; 4] = [
    Culture {
        name: "en-us",
        point: ".",
        group: ",",
        currency: "${}",
        negative_currency: "-${}",
        percent: "{}%",
        months: &MONTHS,
        days: &DAYS,
        day_letters: 3,
        short_date: "M/d/yyyy",
        long_date: "dddd, MMMM d, yyyy",
        short_time: "h:mm tt",
        long_time: "h:mm:ss tt",
        month_day: "MMMM d",
        year_month: "MMMM yyyy",
    },
    Culture {
        name: "en-gb",
        point: ".",
        group: ",",
        currency: "£{}",
        negative_currency: "-£{}",
        percent: "{}%",
        months: &MONTHS,
        days: &DAYS,
        day_letters: 3,
        short_date: "dd/MM/yyyy",
        long_date: "dd MMMM yyyy",
        short_time: "HH:mm",
        long_time: "HH:mm:ss",
        month_day: "d MMMM",
        year_month: "MMMM yyyy",
    },
    Culture {
        name: "de-de",
        point: ",",
        group: ".",
        currency: "{} €",
        negative_currency: "-{} €",
        percent: "{} %",
        months: &[
            "Januar",
            "Februar",
            "März",
            "April",
            "Mai",
            "Juni",
            "Juli",
            "August",
            "September",
            "Oktober",
            "November",
            "Dezember",
        ],
        days: &["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
        day_letters: 2,
        short_date: "dd.MM.yyyy",
        long_date: "dddd, d. MMMM yyyy",
        short_time: "HH:mm",
        long_time: "HH:mm:ss",
        month_day: "d. MMMM",
        year_month: "MMMM yyyy",
    },
    Culture {
        name: "fr-fr",
        point: ",",
        group: "\u{A0}",
        currency: "{} €",
        negative_currency: "-{} €",
        percent: "{} %",
        months: &[
            "janvier",
            "février",
            "mars",
            "avril",
            "mai",
            "juin",
            "juillet",
            "août",
            "septembre",
            "octobre",
            "novembre",
            "décembre",
        ],
        days: &["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"],
        day_letters: 3,
        short_date: "dd/MM/yyyy",
        long_date: "dddd d MMMM yyyy",
        short_time: "HH:mm",
        long_time: "HH:mm:ss",
        month_day: "d MMMM",
        year_month: "MMMM yyyy",
    },
];

/// Finds a culture by name; error 9818.
pub(super) fn culture(name: &str) -> Result<&'static Culture> {
    let lower = name.trim().to_ascii_lowercase();
    CULTURES.iter().find(|c| c.name == lower).ok_or_else(|| {
        let text = format!("The culture parameter '{name}' provided in the function call is not supported.");
        SqlError::new(9818, 16, 1, text)
    })
}
