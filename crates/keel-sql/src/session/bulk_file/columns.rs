//! The columns of a rowset that nothing but a format file describes.
//!
//! A format file of XML says the types of its columns. One of text says of characters and bytes how long they may be, and of other values
//! what they are in the file, which is their type here. Where neither says how long they are, they have up to 8,000 bytes
//! ("OPENROWSET", *SQLCHAR, SQLNCHAR, or SQLBINARY data*; \[MS-BCP\] 2.3.1.5.1).

use super::failed;
use super::layout::{self, Element, Host};
use keel_query::catalog::ColumnDef;
use keel_types::error::Result;
use keel_types::{Collation, Length, SqlType};
use std::collections::BTreeMap;

/// Bytes of a string whose length nobody says, and the most that one of a type that is not max may have.
const BYTES_MAX: usize = 8_000;

/// The columns that a format file describes, in order. What is wrong with it otherwise says [`layout::format_file`].
pub(super) fn described(text: &str, name: &str) -> Result<Vec<ColumnDef>> {
    let text = text.trim_start_matches('\u{FEFF}');
    let columns = match text.trim_start().starts_with('<') {
        true => of_xml(text, name)?,
        false => of_text(text),
    };
    if columns.is_empty() {
        let text = format!("Cannot bulk load. Invalid number of columns in the format file \"{name}\".");
        return Err(failed(4822, text));
    }
    Ok(columns)
}

/// A type by its name, with the bytes that a string may have. `of_text`: names are those of values in the file.
fn type_of(kind: &str, bytes: usize, of_text: bool) -> Option<SqlType> {
    let kind = kind.to_ascii_uppercase();
    let limited = |each: usize| match bytes {
        0 => Length::Limited((BYTES_MAX / each) as u16),
        n if n > BYTES_MAX => Length::Max,
        n => Length::Limited((n / each).max(1) as u16),
    };
    let fixed = |each: usize| match limited(each) {
        Length::Limited(n) => n,
        Length::Max => (BYTES_MAX / each) as u16,
    };
    Some(match kind.as_str() {
        "SQLCHAR" if !of_text => SqlType::Char(fixed(1)),
        "SQLNCHAR" if !of_text => SqlType::NChar(fixed(2)),
        "SQLBINARY" if !of_text => SqlType::Binary(fixed(1)),
        "SQLTEXT" => SqlType::Text,
        "SQLNTEXT" => SqlType::NText,
        "SQLIMAGE" => SqlType::Image,
        _ => match layout::host_of(&kind, None)? {
            Host::Char(_) => SqlType::VarChar(limited(1)),
            Host::NChar => SqlType::NVarChar(limited(2)),
            Host::Bytes => SqlType::VarBinary(limited(1)),
            Host::Native(ty) => ty,
        },
    })
}

/// Lines with a place in the rowset, by that place. What cannot be read is left to the layout, which says what is wrong with it.
fn of_text(text: &str) -> Vec<ColumnDef> {
    let lines = text.lines().filter(|l| !l.trim().is_empty()).skip(2);
    let mut places = BTreeMap::new();
    for words in lines.map(layout::words) {
        let word = |i: usize| words.get(i).map_or("", String::as_str);
        let number = |i: usize| word(i).parse::<usize>().unwrap_or(0);
        let ty = type_of(word(1), number(3), true);
        if let (Some(place), Some(ty)) = (number(5).checked_sub(1), ty) {
            places.entry(place).or_insert((word(6).to_owned(), ty, Collation::by_name(word(7))));
        }
    }
    let column = |(i, (name, ty, collation)): (usize, (String, SqlType, Option<Collation>))| ColumnDef {
        collation: collation.unwrap_or_default(),
        ..ColumnDef::plain(i, name, ty)
    };
    places.into_values().enumerate().map(column).collect()
}

fn of_xml(text: &str, file: &str) -> Result<Vec<ColumnDef>> {
    let document = layout::document(text, file)?;
    let top = layout::top(&document, file)?;
    let parts: Vec<Element<'_>> = top.below().collect();
    let fields: Vec<Element<'_>> =
        parts.iter().filter(|p| p.name() == "RECORD").flat_map(Element::below).collect();
    let columns = parts.iter().filter(|p| p.name() == "ROW").flat_map(Element::below);
    columns.enumerate().map(|(i, column)| xml_column(i, &column, &fields)).collect()
}

fn xml_column(at: usize, column: &Element<'_>, fields: &[Element<'_>]) -> Result<ColumnDef> {
    let (source, kind) = (column.required("SOURCE")?, column.required("type")?);
    let field = fields.iter().find(|f| f.attribute("ID").as_ref() == Some(&source));
    let most = match field {
        Some(field) => field.number("MAX_LENGTH")?.or(field.number("LENGTH")?),
        None => None,
    };
    let bytes = column.number("LENGTH")?.or(most).unwrap_or(0);
    let bad = || column.wrong(4858, &format!("bad value {kind} for attribute \"xsi:type\"."));
    let mut ty = type_of(&kind, bytes, false).ok_or_else(bad)?;
    let small = |name: &str, most: usize| -> Result<Option<u8>> {
        match column.number(name)? {
            Some(n) if n > most => {
                Err(column.wrong(4858, &format!("bad value {n} for attribute \"{name}\".")))
            }
            n => Ok(n.map(|n| n as u8)),
        }
    };
    match &mut ty {
        SqlType::Decimal { precision, scale } | SqlType::Numeric { precision, scale } => {
            *precision = small("PRECISION", 38)?.unwrap_or(18).max(1);
            *scale = small("SCALE", usize::from(*precision))?.unwrap_or(0);
        }
        SqlType::Time(scale) | SqlType::DateTime2(scale) | SqlType::DateTimeOffset(scale) => {
            *scale = small("SCALE", 7)?.unwrap_or(7);
        }
        _ => {}
    }
    let collation = field.and_then(|f| f.attribute("COLLATION")).and_then(|name| Collation::by_name(&name));
    let nullable = column.attribute("NULLABLE").is_none_or(|n| !n.eq_ignore_ascii_case("no"));
    let def = ColumnDef::plain(at, column.required("NAME")?, ty);
    Ok(ColumnDef { collation: collation.unwrap_or_default(), nullable, ..def })
}
