//! FOR XML EXPLICIT: rows of the universal table become elements.
//!
//! Each row says which tag it opens and inside which open one: the first two columns. The other columns' names say
//! what they write of which tag: `Element!Tag!Attribute!directive`. A row closes the open elements below its parent.
//!
//! Deliberately absent: IDREFS and NMTOKENS, whose values gather over several rows, are refused.

use super::xml::{encode_name, escape};
use super::{Column, refuse, unpack};
use crate::errors::{self, Result};
use keel_types::SqlType;
use std::fmt::Write;

/// What a column writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// An attribute, or the text of the element when it has no name.
    Plain,
    /// `element`
    Element,
    /// `elementxsinil`
    ElementNil,
    /// `xml`: unescaped content.
    Xml,
    /// `xmltext`: content of an overflow document.
    XmlText,
    /// `cdata`
    Cdata,
    /// `hide`
    Hidden,
}

#[derive(Debug)]
struct Cell {
    tag: i64,
    attribute: String,
    form: Form,
    /// Binary or xml value: written without escapes.
    raw: bool,
    /// The column's whole name, for errors.
    name: String,
}

#[derive(Debug)]
struct Tag {
    id: i64,
    element: String,
}

/// A universal table's columns.
#[derive(Debug)]
pub struct Table {
    cells: Vec<Cell>,
    tags: Vec<Tag>,
}

/// 6810
pub(super) fn repeated<T>(name: &str) -> Result<T> {
    refuse(
        6810,
        format!(
            "Column name '{name}' is repeated. The same attribute cannot be generated more than once on the same XML tag."
        ),
    )
}

impl Table {
    /// Reads the columns' names. Errors: 6801, 6802, 6803, 6804, 6810, 6812 to 6818, 6820, 6824, 6827, 6828.
    pub fn new(columns: &[Column]) -> Result<Table> {
        let [tag, parent, rest @ ..] = columns else { return too_few() };
        if rest.is_empty() {
            return too_few();
        }
        for (at, wanted, column) in [(1, "TAG", tag), (2, "PARENT", parent)] {
            if !column.name.eq_ignore_ascii_case(wanted) {
                return refuse(
                    6820,
                    format!(
                        "FOR XML EXPLICIT requires column {at} to be named '{wanted}' instead of '{}'.",
                        column.name
                    ),
                );
            }
        }
        let integer =
            |ty| matches!(ty, SqlType::TinyInt | SqlType::SmallInt | SqlType::Int | SqlType::BigInt);
        if !integer(tag.ty) {
            return bad_tag();
        }
        if !integer(parent.ty) && parent.ty != SqlType::Null {
            return bad_parent();
        }
        let mut table = Table { cells: Vec::new(), tags: Vec::new() };
        for column in rest {
            table.add(column)?;
        }
        Ok(table)
    }

    fn add(&mut self, column: &Column) -> Result<()> {
        let name = column.name.as_str();
        let mut parts = name.split('!');
        let element = parts.next().unwrap_or_default();
        let id = parts.next().and_then(|id| id.trim().parse::<i64>().ok()).filter(|id| *id > 0);
        let Some(id) = id.filter(|_| !element.is_empty()) else {
            return refuse(
                6802,
                format!(
                    "FOR XML EXPLICIT query contains the invalid column name '{name}'. Use the TAGNAME!TAGID!ATTRIBUTENAME[!..] format where TAGID is a positive integer."
                ),
            );
        };
        let attribute = parts.next().unwrap_or_default();
        let form = directives(name, attribute, parts)?;
        match self.tags.iter().find(|t| t.id == id) {
            Some(tag) if tag.element != encode_name(element) => {
                return refuse(
                    6812,
                    format!(
                        "XML tag ID {id} that was originally declared as '{}' is being redeclared as '{element}'.",
                        tag.element
                    ),
                );
            }
            Some(_) => {}
            None => self.tags.push(Tag { id, element: encode_name(element) }),
        }
        let of_tag = || self.cells.iter().filter(|c| c.tag == id);
        if form == Form::Plain
            && !attribute.is_empty()
            && of_tag().any(|c| c.form == Form::Plain && c.attribute == attribute)
        {
            return repeated(name);
        }
        if form == Form::XmlText {
            if of_tag().any(|c| c.form == Form::XmlText) {
                return refuse(
                    6827,
                    format!(
                        "FOR XML EXPLICIT queries allow only one XMLTEXT column per tag. Column '{name}' declares another XMLTEXT column that is not permitted."
                    ),
                );
            }
            if !column.ty.is_string() && !column.ty.is_xml() {
                return refuse(
                    6828,
                    format!("XMLTEXT column '{name}' must be of a string data type or of type XML."),
                );
            }
        }
        let raw = column.raw;
        self.cells.push(Cell {
            tag: id,
            attribute: encode_name(attribute),
            form,
            raw,
            name: name.to_owned(),
        });
        Ok(())
    }

    /// Writes all rows, each packed as the texts of its columns. Errors: 6803 to 6807, 6833, 6834, 6841.
    pub fn write(&self, rows: &str) -> Result<String> {
        let texts = unpack(rows);
        let mut out = String::new();
        let mut open: Vec<&Tag> = Vec::new();
        // The innermost start tag has no content yet.
        let mut empty = false;
        for row in texts.chunks_exact(self.cells.len() + 2) {
            let tag = row[0].and_then(|t| t.parse().ok()).filter(|t: &i64| *t > 0);
            let Some(tag) = tag else { return bad_tag() };
            let parent = row[1].map_or(Ok(0), |p| p.parse::<i64>());
            let Some(parent) = parent.ok().filter(|p| *p >= 0) else { return bad_parent() };
            let Some(declared) = self.tags.iter().find(|t| t.id == tag) else {
                return refuse(6806, format!("Undeclared tag ID {tag} is used in a FOR XML EXPLICIT query."));
            };
            if parent != 0 && !self.tags.iter().any(|t| t.id == parent) {
                return refuse(
                    6807,
                    format!("Undeclared parent tag ID {parent} is used in a FOR XML EXPLICIT query."),
                );
            }
            if parent == tag {
                return refuse(
                    6805,
                    "FOR XML EXPLICIT stack overflow occurred. Circular parent tag relationships are not allowed.",
                );
            }
            let depth = match (parent, open.iter().position(|t| t.id == parent)) {
                (0, _) => 0,
                (_, Some(at)) => at + 1,
                (_, None) => {
                    return refuse(
                        6833,
                        format!(
                            "Parent tag ID {parent} is not among the open tags. FOR XML EXPLICIT requires parent tags to be opened first. Check the ordering of the result set."
                        ),
                    );
                }
            };
            close(&mut out, &mut open, depth, &mut empty);
            if empty {
                out.push('>');
            }
            empty = self.start(&mut out, declared, &row[2..])?;
            open.push(declared);
        }
        close(&mut out, &mut open, 0, &mut empty);
        Ok(out)
    }

    /// Writes a start tag with what its columns say. True when it still lacks its `>`, having no content yet.
    fn start(&self, out: &mut String, tag: &Tag, row: &[Option<&str>]) -> Result<bool> {
        let _ = write!(out, "<{}", tag.element);
        let mut content = String::new();
        for (cell, text) in self.cells.iter().zip(row).filter(|(c, _)| c.tag == tag.id) {
            let name = &cell.attribute;
            let Some(text) = text else {
                if cell.form == Form::ElementNil {
                    let _ = write!(
                        content,
                        "<{name} xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:nil=\"true\"/>"
                    );
                }
                continue;
            };
            match cell.form {
                Form::Hidden => {}
                Form::Plain if !name.is_empty() => {
                    let _ = write!(out, " {name}=\"{}\"", escape(text, true, name)?);
                }
                Form::XmlText => cell.overflow(text, out, &mut content)?,
                Form::Cdata => {
                    let _ = write!(content, "<![CDATA[{text}]]>");
                }
                form => {
                    let text = if form == Form::Xml || cell.raw {
                        (*text).to_owned()
                    } else {
                        escape(text, false, name)?
                    };
                    match (name.as_str(), text.as_str()) {
                        ("", text) => content.push_str(text),
                        (name, "") => drop(write!(content, "<{name}/>")),
                        (name, text) => drop(write!(content, "<{name}>{text}</{name}>")),
                    }
                }
            }
        }
        if content.is_empty() {
            return Ok(true);
        }
        let _ = write!(out, ">{content}");
        Ok(false)
    }
}

impl Cell {
    /// An overflow document: its attributes and content become those of the element, or of one of this name in it.
    fn overflow(&self, text: &str, tag: &mut String, content: &mut String) -> Result<()> {
        let Some((attributes, inner)) = split_document(text.trim()) else {
            return refuse(
                6834,
                format!(
                    "XMLTEXT field '{}' contains an invalid XML document. Check the root tag and its attributes.",
                    self.name
                ),
            );
        };
        let gap = if attributes.is_empty() { "" } else { " " };
        match (self.attribute.as_str(), inner) {
            ("", inner) => {
                let _ = write!(tag, "{gap}{attributes}");
                content.push_str(inner);
            }
            (name, "") => drop(write!(content, "<{name}{gap}{attributes}/>")),
            (name, inner) => drop(write!(content, "<{name}{gap}{attributes}>{inner}</{name}>")),
        }
        Ok(())
    }
}

/// The attributes of a document's root element and what it holds.
fn split_document(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('<')?;
    let end = start_tag_end(rest)?;
    let (tag, content) = (&rest[..end], &rest[end + 1..]);
    let (tag, closed) = match tag.strip_suffix('/') {
        Some(tag) => (tag, true),
        None => (tag, false),
    };
    let name_end = tag.find(char::is_whitespace).unwrap_or(tag.len());
    let (name, attributes) = tag.split_at(name_end);
    if closed {
        return content.is_empty().then_some((attributes.trim(), ""));
    }
    let content = content.strip_suffix('>')?.trim_end().strip_suffix(name)?.strip_suffix("</")?;
    (!name.is_empty()).then_some((attributes.trim(), content))
}

/// Where the `>` of a start tag is: not inside quotes.
fn start_tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices()
        .find(|(_, c)| {
            match quote {
                Some(q) if q == *c => quote = None,
                None if matches!(c, '"' | '\'') => quote = Some(*c),
                _ => {}
            }
            quote.is_none() && *c == '>'
        })
        .map(|(at, _)| at)
}

/// Closes the open elements down to a depth.
fn close(out: &mut String, open: &mut Vec<&Tag>, depth: usize, empty: &mut bool) {
    while open.len() > depth {
        let Some(tag) = open.pop() else { break };
        if std::mem::take(empty) {
            out.push_str("/>");
        } else {
            let _ = write!(out, "</{}>", tag.element);
        }
    }
}

fn too_few<T>() -> Result<T> {
    refuse(
        6801,
        "FOR XML EXPLICIT requires at least three columns, including the tag column, the parent column, and at least one data column.",
    )
}

fn bad_tag<T>() -> Result<T> {
    refuse(
        6803,
        "FOR XML EXPLICIT requires the first column to hold positive integers that represent XML tag IDs.",
    )
}

fn bad_parent<T>() -> Result<T> {
    refuse(
        6804,
        "FOR XML EXPLICIT requires the second column to hold NULL or nonnegative integers that represent XML parent tag IDs.",
    )
}

/// Reads the directives of a column's name.
fn directives<'a>(name: &str, attribute: &str, parts: impl Iterator<Item = &'a str>) -> Result<Form> {
    let (mut form, mut typed, mut hidden) = (Form::Plain, false, false);
    for word in parts.filter(|w| !w.is_empty()) {
        let new = match word.to_ascii_lowercase().as_str() {
            "element" => Form::Element,
            "elementxsinil" => Form::ElementNil,
            "xml" => Form::Xml,
            "xmltext" => Form::XmlText,
            "cdata" => Form::Cdata,
            "hide" if hidden => {
                return refuse(
                    6835,
                    format!("FOR XML EXPLICIT field '{name}' can specify the directive HIDE only once."),
                );
            }
            "hide" => {
                hidden = true;
                continue;
            }
            "idrefs" | "nmtokens" => return Err(errors::not_supported(&format!("FOR XML EXPLICIT {word}"))),
            "id" | "idref" | "nmtoken" if typed => {
                return refuse(
                    6813,
                    format!(
                        "FOR XML EXPLICIT cannot combine multiple occurrences of ID, IDREF, IDREFS, NMTOKEN, and/or NMTOKENS in column name '{name}'."
                    ),
                );
            }
            "id" | "idref" | "nmtoken" => {
                typed = true;
                continue;
            }
            _ => {
                return refuse(
                    6824,
                    format!("In the FOR XML EXPLICIT clause, mode '{word}' in a column name is invalid."),
                );
            }
        };
        if form != Form::Plain {
            return refuse(
                6817,
                format!(
                    "FOR XML EXPLICIT cannot combine multiple occurrences of ELEMENT, XML, XMLTEXT, and CDATA in column name '{name}'."
                ),
            );
        }
        form = new;
    }
    let problem = match form {
        _ if typed && attribute.is_empty() => (6814, "require attribute names in"),
        _ if typed && hidden => (6815, "attributes cannot be hidden in"),
        Form::Cdata | Form::Xml | Form::XmlText if typed => {
            (6816, "attributes cannot be generated as CDATA, XML, or XMLTEXT in")
        }
        Form::Cdata if !attribute.is_empty() => {
            return refuse(
                6818,
                format!("In the FOR XML EXPLICIT clause, CDATA attributes must be unnamed in '{name}'."),
            );
        }
        _ if hidden => return Ok(Form::Hidden),
        _ => return Ok(form),
    };
    let (number, what) = problem;
    refuse(
        number,
        format!("In the FOR XML EXPLICIT clause, ID, IDREF, IDREFS, NMTOKEN, and NMTOKENS {what} '{name}'."),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_split_at_their_root() {
        assert_eq!(split_document("<a x='>' y=\"1\">t<b/></a>"), Some(("x='>' y=\"1\"", "t<b/>")));
        assert_eq!(split_document("<a/>"), Some(("", "")));
        assert_eq!(split_document("<a>"), None);
        assert_eq!(split_document("a"), None);
    }
}
