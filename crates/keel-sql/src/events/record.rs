//! An event that was fired, and its XML.
//!
//! ```text
//!   <event name=… package=… timestamp=…>
//!     <data name=…><value>…</value>[<text>…</text>]</data> …      columns
//!     <action name=… package=…><value>…</value></action> …         actions
//!   </event>
//! ```
//! The ring buffer has the types of all values beside them, files have not.

use super::catalog::{Action, Event, Field, Ty};
use super::predicate::hex;
use keel_query::xml::push_text;
use keel_types::{SqlType, cast};
use std::fmt::Write as _;

/// An event that happened.
#[derive(Clone, Debug)]
pub struct Record {
    /// Which.
    pub event: Event,
    /// When, UTC ticks.
    pub at: i64,
    /// Its columns.
    pub fields: Vec<Field>,
    /// What was collected of the session.
    pub actions: Vec<(Action, Field)>,
}

/// A local time as documents have it.
#[must_use]
pub fn time(ticks: i64) -> String {
    cast::to_text(&crate::views::date(ticks), SqlType::DateTime, 126).unwrap_or_default().to_string()
}

/// A time, UTC, as documents have it.
#[must_use]
pub fn timestamp(ticks: i64) -> String {
    time(ticks) + "Z"
}

impl Record {
    /// Bytes it takes in memory, roughly.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let of = |field: &Field| match field {
            Field::Text(text) => text.len(),
            Field::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        let fields = self.fields.iter().chain(self.actions.iter().map(|(_, field)| field));
        64 + fields.map(|field| 48 + of(field)).sum::<usize>()
    }

    /// Appends its document.
    pub fn push_xml(&self, types: bool, out: &mut String) {
        let info = self.event.info();
        let _ = write!(
            out,
            "<event name=\"{}\" package=\"sqlserver\" timestamp=\"{}\">",
            info.name,
            timestamp(self.at)
        );
        for ((name, ty), field) in info.columns.iter().zip(&self.fields) {
            let _ = write!(out, "<data name=\"{name}\">");
            push_value(*ty, field, types, out);
            out.push_str("</data>");
        }
        for (action, field) in &self.actions {
            let info = action.info();
            let _ = write!(out, "<action name=\"{}\" package=\"{}\">", info.name, info.package.name);
            push_value(info.ty, field, types, out);
            out.push_str("</action>");
        }
        out.push_str("</event>");
    }
}

fn push_value(ty: Ty, field: &Field, types: bool, out: &mut String) {
    if types {
        let _ = write!(out, "<type name=\"{}\" package=\"{}\"></type>", ty.name(), ty.package().name);
    }
    out.push_str("<value>");
    match (ty, field) {
        (_, Field::Null) => {}
        (Ty::Boolean, Field::Number(n)) => out.push_str(if *n == 0 { "false" } else { "true" }),
        (Ty::Time, Field::Number(n)) => out.push_str(&timestamp(i64::try_from(*n).unwrap_or_default())),
        (_, Field::Number(n)) => drop(write!(out, "{n}")),
        // A document stands as it is.
        (Ty::Xml, Field::Text(xml)) => out.push_str(xml),
        (_, Field::Text(text)) => push_characters(text, out),
        (_, Field::Bytes(bytes)) => out.push_str(&hex(bytes)[2..].to_ascii_lowercase()),
    }
    out.push_str("</value>");
    if let (Ty::Map(map), Field::Number(key)) = (ty, field) {
        let _ = write!(out, "<text>{}</text>", map.text(u32::try_from(*key).unwrap_or(u32::MAX)));
    }
}

/// A text without the characters that no XML can hold.
pub(super) fn push_characters(text: &str, out: &mut String) {
    let held = |c: char| c >= ' ' || matches!(c, '\t' | '\n' | '\r');
    let barred = |c: char| !held(c) || matches!(c, '\u{FFFE}' | '\u{FFFF}');
    if text.contains(barred) {
        push_text(&text.replace(barred, "\u{FFFD}"), false, out);
    } else {
        push_text(text, false, out);
    }
}
