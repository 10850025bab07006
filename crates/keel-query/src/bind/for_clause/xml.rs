//! FOR XML: values and names, RAW and PATH, and AUTO's elements.

use super::auto::{self, Brackets};
use super::{Binder, Column, Finish, Selected, TEXT, Writing, XML_COLUMN, explicit, pack, refuse, text_of};
use crate::errors::{self, Result};
use crate::expr::builtin::own;
use keel_parser::ast;
use keel_types::{SqlType, Value};
use std::fmt::Write;
use std::sync::Arc;

/// Declaration of the prefix that XSINIL uses.
const XSI: &str = " xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";

/// What the columns of one element write: attributes, each with a blank before it, and content.
#[derive(Debug, Default)]
struct Parts {
    attributes: String,
    content: String,
}

impl Binder<'_> {
    /// FOR XML.
    pub(super) fn for_xml(&mut self, selected: &Selected, clause: &ast::ForXml) -> Result<Writing> {
        check_clause(clause)?;
        let (columns, args) = self.columns_to_write(&selected.query, |e| e.ty.is_xml());
        let columns: Vec<Column> =
            columns.into_iter().map(|c| Column { raw: c.raw || c.ty.is_xml(), ..c }).collect();
        let mut declared = if clause.xsinil { XSI.to_owned() } else { String::new() };
        for (prefix, uri) in self.namespaces.iter().rev() {
            let name = prefix.as_ref().map(|p| format!(":{p}")).unwrap_or_default();
            let _ = write!(declared, " xmlns{name}=\"{}\"", escape(uri, true, "xmlns")?);
        }
        let rooted = clause.root.is_some();
        let (open, close) = match &clause.root {
            Some(name) => {
                let name = name.as_deref().unwrap_or("root");
                (format!("<{name}{declared}>"), format!("</{name}>"))
            }
            None => (String::new(), String::new()),
        };
        let declared = if rooted { String::new() } else { declared };
        let (name, slot_name) = if clause.type_directive { ("", "XML") } else { (XML_COLUMN, XML_COLUMN) };
        let ty = if clause.type_directive { SqlType::Xml } else { TEXT };
        let encoded = clause.binary_base64 || clause.type_directive;
        let binary = columns.iter().find(|c| c.ty.is_binary()).filter(|_| !encoded);
        let wrap = move |text: String| format!("{open}{text}{close}");
        let (row, separator, finish): (_, _, Finish) = match clause.mode {
            ast::XmlMode::Path => {
                let path = Path::new(columns, clause, declared, |p| {
                    self.namespaces.iter().any(|(prefix, _)| prefix.as_deref() == Some(p))
                })?;
                let separator = if path.is_list() { " " } else { "" };
                let row = own("FOR XML", TEXT, args, move |v| Ok(Value::Str(path.row(v)?.into())));
                (row, separator, Arc::new(move |rows: &str| Ok(wrap(rows.to_owned()))))
            }
            ast::XmlMode::Raw => {
                if let Some(c) = binary {
                    return unaddressed(&c.name);
                }
                named(&columns)?;
                let element = encode_name(clause.element.as_deref().unwrap_or("row"));
                let all: Vec<usize> = (0..columns.len()).collect();
                let flat = Flat::new(columns, clause);
                flat.check(&all)?;
                let row = own("FOR XML", TEXT, args, move |v| {
                    let Parts { attributes, content } = flat.parts(v, &all)?;
                    Ok(Value::Str(one_element(&element, &format!("{declared}{attributes}"), &content).into()))
                });
                (row, "", Arc::new(move |rows: &str| Ok(wrap(rows.to_owned()))))
            }
            ast::XmlMode::Auto => {
                if selected.sources.is_empty() {
                    return refuse(
                        6800,
                        "FOR XML AUTO requires at least one table for generating XML tags. Use FOR XML RAW or add a FROM clause with a table name.",
                    );
                }
                if selected.grouped {
                    return refuse(
                        6821,
                        "GROUP BY and aggregate functions are currently not supported with FOR XML AUTO.",
                    );
                }
                if binary.is_some() {
                    return Err(errors::not_supported(
                        "FOR XML AUTO of binary columns without BINARY BASE64",
                    ));
                }
                named(&columns)?;
                let levels = self.auto_levels(selected);
                let names: Vec<String> = levels.iter().map(|l| encode_name(&l.name)).collect();
                let flat = Flat::new(columns, clause);
                for level in &levels {
                    flat.check(&level.columns)?;
                }
                let row = own("FOR XML", TEXT, args, move |v| {
                    let texts = levels.iter().map(|l| flat.parts(v, &l.columns));
                    let texts = texts.collect::<Result<Vec<Parts>>>()?;
                    let texts = texts.into_iter().map(|p| Some(format!("{}\0{}", p.attributes, p.content)));
                    Ok(Value::Str(pack(texts).into()))
                });
                let finish = move |rows: &str| {
                    let elements = Elements { names: &names, declared: &declared };
                    Ok(wrap(auto::write(rows, names.len(), &elements)))
                };
                (row, "", Arc::new(finish))
            }
            ast::XmlMode::Explicit => {
                if let Some(c) = binary {
                    return unaddressed(&c.name);
                }
                if !self.namespaces.is_empty() {
                    return refuse(
                        6868,
                        "The following FOR XML features are not supported with WITH XMLNAMESPACES list: EXPLICIT mode, XMLSCHEMA and XMLDATA directives.",
                    );
                }
                let table = explicit::Table::new(&columns)?;
                let row = own("FOR XML", TEXT, args, move |v| {
                    let texts = columns.iter().zip(v);
                    let texts = texts.map(|(c, v)| (!v.is_null()).then(|| plain_text(v, c)));
                    Ok(Value::Str(pack(texts).into()))
                });
                (row, "", Arc::new(move |rows: &str| Ok(wrap(table.write(rows)?))))
            }
        };
        Ok(Writing { row, separator, finish, name, slot_name, ty })
    }
}

/// Options that do not go together, and those that are absent here.
fn check_clause(clause: &ast::ForXml) -> Result<()> {
    let path = clause.mode == ast::XmlMode::Path;
    match (clause.mode, clause.schema) {
        (ast::XmlMode::Path, Some(_)) => {
            return refuse(6855, "Inline schema is not supported with FOR XML PATH.");
        }
        (_, Some(schema)) => return Err(errors::not_supported(&format!("FOR XML {schema}"))),
        (ast::XmlMode::Explicit, _) if clause.elements => {
            return refuse(6825, "ELEMENTS option is only allowed in RAW, AUTO, and PATH modes of FOR XML.");
        }
        (ast::XmlMode::Auto | ast::XmlMode::Explicit, _) if clause.element.is_some() => {
            return refuse(6863, "Row tag name is only allowed with RAW or PATH mode of FOR XML.");
        }
        _ => {}
    }
    if clause.root.as_ref().is_some_and(|r| r.as_deref() == Some("")) {
        return refuse(6861, "Empty root tag name can't be specified with FOR XML.");
    }
    let element = clause.element.as_deref().filter(|e| path && !e.is_empty());
    if let Some(bad) = element.and_then(first_fault) {
        return refuse(
            6850,
            format!(
                "Row tag name '{}' contains an invalid XML identifier as required by FOR XML; '{bad}'(0x{:04X}) is the first character at fault.",
                clause.element.as_deref().unwrap_or_default(),
                bad as u32
            ),
        );
    }
    if !path && clause.mode == ast::XmlMode::Raw && clause.element.as_deref() == Some("") && !clause.elements
    {
        return tag_omitted();
    }
    Ok(())
}

fn tag_omitted<T>() -> Result<T> {
    refuse(
        6864,
        "Row tag omission (empty row tag name) cannot be used with attribute-centric FOR XML serialization.",
    )
}

fn unaddressed<T>(name: &str) -> Result<T> {
    refuse(
        6829,
        format!(
            "FOR XML EXPLICIT and RAW modes currently do not support addressing binary data as URLs in column '{name}'. Remove the column, or use the BINARY BASE64 mode, or create the URL directly using the 'dbobject/TABLE[@PK1=\"V1\"]/@COLUMN' syntax."
        ),
    )
}

fn named(columns: &[Column]) -> Result<()> {
    if columns.iter().any(|c| c.name.is_empty()) {
        return refuse(
            6809,
            "Unnamed tables cannot be used as XML identifiers as well as unnamed columns cannot be used for attribute names. Name unnamed columns/tables using AS in the SELECT statement.",
        );
    }
    Ok(())
}

/// Columns of RAW and AUTO: attributes, or an element each.
struct Flat {
    columns: Vec<Column>,
    elements: bool,
    nil: bool,
}

impl Flat {
    fn new(columns: Vec<Column>, clause: &ast::ForXml) -> Flat {
        let columns = columns.into_iter().map(|c| Column { name: encode_name(&c.name), ..c });
        Flat { columns: columns.collect(), elements: clause.elements, nil: clause.xsinil }
    }

    /// One attribute of a name per element.
    fn check(&self, these: &[usize]) -> Result<()> {
        let attributes = these.iter().map(|i| &self.columns[*i]).filter(|c| !self.elements && !c.raw);
        let mut names: Vec<&str> = attributes.map(|c| c.name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|w| w[0] == w[1]) {
            Some(twice) => explicit::repeated(twice[0]),
            None => Ok(()),
        }
    }

    fn parts(&self, values: &[Value], these: &[usize]) -> Result<Parts> {
        let mut parts = Parts::default();
        for (c, v) in these.iter().map(|&i| (&self.columns[i], &values[i])) {
            let name = &c.name;
            let _ = match (v.is_null(), self.elements || c.raw) {
                (true, true) if self.nil => write!(parts.content, "<{name} xsi:nil=\"true\"/>"),
                (true, _) => Ok(()),
                (false, true) => {
                    parts.content.push_str(&one_element(name, "", &xml_value(v, c, false)?));
                    Ok(())
                }
                (false, false) => write!(parts.attributes, " {name}=\"{}\"", xml_value(v, c, true)?),
            };
        }
        Ok(parts)
    }
}

/// AUTO's elements; what a level writes is its attributes and its content with a NUL between them.
struct Elements<'a> {
    names: &'a [String],
    declared: &'a str,
}

impl Brackets for Elements<'_> {
    fn open(&self, out: &mut String, level: usize, own: &str) {
        let (attributes, content) = own.split_once('\0').unwrap_or((own, ""));
        let _ = write!(out, "<{}{}{attributes}>{content}", self.names[level], self.declared(level));
    }
    fn leaf(&self, out: &mut String, level: usize, own: &str) {
        let (attributes, content) = own.split_once('\0').unwrap_or((own, ""));
        let attributes = format!("{}{attributes}", self.declared(level));
        out.push_str(&one_element(&self.names[level], &attributes, content));
    }
    fn begin(&self, _: &mut String, _: usize, _: bool) {}
    fn end(&self, _: &mut String) {}
    fn between(&self, _: &mut String) {}
    fn close(&self, out: &mut String, level: usize) {
        let _ = write!(out, "</{}>", self.names[level]);
    }
}

impl Elements<'_> {
    fn declared(&self, level: usize) -> &str {
        if level == 0 { self.declared } else { "" }
    }
}

/// What the last step of a PATH column's name makes of its value.
#[derive(Clone, Debug, PartialEq)]
enum Last {
    /// The content of the element that the other steps name.
    Content,
    /// `@name`
    Attribute(String),
    /// `data()`: an item of a list with blanks between.
    Data,
    /// `comment()`
    Comment,
    /// `processing-instruction(target)`
    Instruction(String),
}

/// The columns of FOR XML PATH.
struct Path {
    columns: Vec<(Column, Vec<String>, Last)>,
    /// Row element; empty for none.
    element: String,
    nil: bool,
    /// Namespace declarations of outermost elements.
    declared: String,
}

impl Path {
    fn new(
        columns: Vec<Column>,
        clause: &ast::ForXml,
        declared: String,
        prefix_known: impl Fn(&str) -> bool,
    ) -> Result<Path> {
        let element = clause.element.as_deref().unwrap_or("row").to_owned();
        let mut steps = Vec::new();
        for c in columns {
            let (elements, last) = parse_path(&c, &prefix_known)?;
            steps.push((c, elements, last));
        }
        let path = Path { columns: steps, element, nil: clause.xsinil, declared };
        path.check_attributes()?;
        Ok(path)
    }

    /// Attributes come before the other content of their element.
    fn check_attributes(&self) -> Result<()> {
        for (i, (c, elements, last)) in self.columns.iter().enumerate() {
            if !matches!(last, Last::Attribute(_)) {
                continue;
            }
            if elements.is_empty() && self.element.is_empty() {
                return tag_omitted();
            }
            let before = self.columns[..i].iter().rev().take_while(|(_, e, _)| e.starts_with(elements));
            if before
                .into_iter()
                .any(|(_, e, l)| e.len() > elements.len() || !matches!(l, Last::Attribute(_)))
            {
                return refuse(
                    6852,
                    format!(
                        "Attribute-centric column '{}' must not come after a non-attribute-centric sibling in XML hierarchy in FOR XML PATH.",
                        c.name
                    ),
                );
            }
        }
        Ok(())
    }

    /// Whether the rows are items of one list.
    fn is_list(&self) -> bool {
        self.element.is_empty() && self.columns.iter().all(|(_, e, last)| e.is_empty() && *last == Last::Data)
    }

    fn row(&self, values: &[Value]) -> Result<String> {
        let mut w =
            PathWriter { path: self, out: String::new(), open: Vec::new(), tag_open: false, list: false };
        if !self.element.is_empty() {
            let _ = write!(w.out, "<{}{}", self.element, self.declared);
            w.tag_open = true;
        }
        for ((c, elements, last), v) in self.columns.iter().zip(values) {
            w.column(c, elements, last, v)?;
        }
        w.leave(0);
        if !self.element.is_empty() {
            w.close_element(&self.element);
        }
        Ok(w.out)
    }
}

/// A row of FOR XML PATH being written.
struct PathWriter<'a> {
    path: &'a Path,
    out: String,
    /// Elements open inside the row's.
    open: Vec<&'a str>,
    /// The innermost start tag may still take attributes.
    tag_open: bool,
    /// The last thing written was an item of a list.
    list: bool,
}

impl<'a> PathWriter<'a> {
    fn column(&mut self, c: &Column, elements: &'a [String], last: &'a Last, v: &Value) -> Result<()> {
        if v.is_null() && !(self.path.nil && *last == Last::Content && !elements.is_empty()) {
            return Ok(());
        }
        let shared = self.open.iter().zip(elements).take_while(|(a, b)| *a == b).count();
        self.leave(shared);
        for name in &elements[shared..] {
            self.finish_tag();
            let outermost = self.path.element.is_empty() && self.open.is_empty();
            let _ = write!(self.out, "<{name}{}", if outermost { &self.path.declared } else { "" });
            self.open.push(name);
            self.tag_open = true;
            self.list = false;
        }
        if v.is_null() {
            self.out.push_str(" xsi:nil=\"true\"");
            return Ok(());
        }
        if let Last::Attribute(name) = last {
            let _ = write!(self.out, " {name}=\"{}\"", xml_value(v, c, true)?);
            return Ok(());
        }
        let text = match last {
            Last::Comment => format!("<!--{}-->", plain_text(v, c)),
            Last::Instruction(target) => format!("<?{target} {}?>", plain_text(v, c)),
            _ => xml_value(v, c, false)?,
        };
        if text.is_empty() && self.tag_open && self.open.is_empty() {
            return Ok(());
        }
        if !text.is_empty() || *last == Last::Content && self.tag_open {
            self.finish_tag();
        }
        if *last == Last::Data && self.list {
            self.out.push(' ');
        }
        self.list = *last == Last::Data;
        self.out.push_str(&text);
        Ok(())
    }

    fn finish_tag(&mut self) {
        if std::mem::take(&mut self.tag_open) {
            self.out.push('>');
        }
    }

    fn close_element(&mut self, name: &str) {
        if std::mem::take(&mut self.tag_open) {
            self.out.push_str("/>");
        } else {
            let _ = write!(self.out, "</{name}>");
        }
    }

    /// Closes the elements below a depth.
    fn leave(&mut self, depth: usize) {
        while self.open.len() > depth {
            if let Some(name) = self.open.pop() {
                self.close_element(name);
                self.list = false;
            }
        }
    }
}

fn parse_path(c: &Column, prefix_known: &impl Fn(&str) -> bool) -> Result<(Vec<String>, Last)> {
    if c.name.is_empty() || c.name == "*" {
        return Ok((Vec::new(), Last::Content));
    }
    let mut steps: Vec<&str> = c.name.split('/').collect();
    let last = steps.last().copied().unwrap_or_default();
    let last = match last {
        "text()" | "data()" if c.raw => {
            return refuse(
                6853,
                format!(
                    "Column '{}': the last step in the path can't be applied to XML data type or CLR type in FOR XML PATH.",
                    c.name
                ),
            );
        }
        "text()" | "node()" | "*" => Last::Content,
        "data()" => Last::Data,
        "comment()" => Last::Comment,
        _ => match last.strip_prefix('@') {
            Some(_) if c.raw => {
                return refuse(
                    6851,
                    format!(
                        "Column '{}' has invalid data type for attribute-centric XML serialization in FOR XML PATH.",
                        c.name
                    ),
                );
            }
            Some(name) => Last::Attribute(name.to_owned()),
            None => match last.strip_prefix("processing-instruction(").and_then(|t| t.strip_suffix(')')) {
                Some(target) => Last::Instruction(target.to_owned()),
                None => {
                    steps.push("");
                    Last::Content
                }
            },
        },
    };
    steps.pop();
    let attribute = match &last {
        Last::Attribute(name) => Some(name.as_str()),
        _ => None,
    };
    for step in steps.iter().copied().chain(attribute) {
        if let Some(bad) = first_fault(step) {
            return refuse(
                6850,
                format!(
                    "Column name '{}' contains an invalid XML identifier as required by FOR XML; '{bad}'(0x{:04X}) is the first character at fault.",
                    c.name, bad as u32
                ),
            );
        }
        if let Some((prefix, _)) = step.split_once(':')
            && !matches!(prefix, "xml" | "xsi")
            && !prefix_known(prefix)
        {
            return refuse(
                6846,
                format!(
                    "XML name space prefix '{prefix}' declaration is missing for FOR XML column name '{}'.",
                    c.name
                ),
            );
        }
    }
    Ok((steps.into_iter().map(str::to_owned).collect(), last))
}

/// The first character that may not stand where it does in an XML name; a blank for an empty name.
fn first_fault(name: &str) -> Option<char> {
    if name.is_empty() {
        return Some(' ');
    }
    name.chars().enumerate().find(|(i, c)| !(name_char(*c, *i == 0) || *c == ':')).map(|(_, c)| c)
}

fn name_char(c: char, first: bool) -> bool {
    c.is_alphabetic() || c == '_' || !first && (c.is_numeric() || matches!(c, '-' | '.' | '\u{b7}'))
}

/// A name as an XML name: what may not stand in one becomes `_xHHHH_`.
pub(super) fn encode_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (i, c) in name.char_indices() {
        if name_char(c, i == 0) && !(c == '_' && name[i + 1..].starts_with('x')) {
            out.push(c);
        } else {
            let _ = write!(out, "_x{:04X}_", c as u32);
        }
    }
    out
}

fn one_element(name: &str, attributes: &str, content: &str) -> String {
    match (name, content) {
        ("", content) => content.to_owned(),
        (name, "") => format!("<{name}{attributes}/>"),
        (name, content) => format!("<{name}{attributes}>{content}</{name}>"),
    }
}

/// Text with its special characters escaped. Error 6841 for a character that XML cannot hold; `node` is named in it.
pub(super) fn escape(s: &str, attribute: bool, node: &str) -> Result<String> {
    let mut out = String::with_capacity(s.len());
    for c in s.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if attribute => out.push_str("&quot;"),
            '\r' => out.push_str("&#x0D;"),
            '\t' if attribute => out.push_str("&#x09;"),
            '\n' if attribute => out.push_str("&#x0A;"),
            c if (c as u32) < 0x20 && !matches!(c, '\t' | '\n') => {
                return refuse(
                    6841,
                    format!(
                        "FOR XML could not serialize the data for node '{}' because it contains a character (0x{:04X}) which is not allowed in XML. To retrieve this data using FOR XML, convert it to binary, varbinary or image data type and use the BINARY BASE64 directive.",
                        if node.is_empty() { "NoName" } else { node },
                        c as u32
                    ),
                );
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// A value's text before it is escaped.
fn plain_text(v: &Value, c: &Column) -> String {
    match v {
        Value::Bit(b) => u8::from(*b).to_string(),
        v => text_of(v, c.ty),
    }
}

fn xml_value(v: &Value, c: &Column, attribute: bool) -> Result<String> {
    match v {
        Value::Str(s) if c.raw => Ok(s.to_string()),
        v => escape(&plain_text(v, c), attribute, &c.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(names: &[&str], element: &str) -> Result<Path> {
        let columns = names.iter().map(|n| Column { name: (*n).into(), ty: SqlType::Int, raw: false });
        let clause = ast::ForXml { element: Some(element.into()), ..ast::ForXml::new(ast::XmlMode::Path) };
        Path::new(columns.collect(), &clause, String::new(), |_| false)
    }

    #[test]
    fn neighbours_share_elements() {
        let row = |names: &[&str]| {
            let values: Vec<Value> = (1..).take(names.len()).map(Value::Int).collect();
            path(names, "r").and_then(|p| p.row(&values)).expect("a row")
        };
        assert_eq!(row(&["@a", "b"]), r#"<r a="1"><b>2</b></r>"#);
        assert_eq!(row(&["p/@i", "p/a", "p/b", "c"]), r#"<r><p i="1"><a>2</a><b>3</b></p><c>4</c></r>"#);
        assert_eq!(row(&["a", "a"]), "<r><a>12</a></r>");
        assert_eq!(row(&["a", "", "a"]), "<r><a>1</a>2<a>3</a></r>");
        assert_eq!(row(&["l/data()", "l/data()"]), "<r><l>1 2</l></r>");
    }

    #[test]
    fn refused_paths() {
        let number = |names: &[&str], element: &str| path(names, element).err().map(|e| e.number);
        assert_eq!(number(&["b", "@a"], "r"), Some(6852));
        assert_eq!(number(&["@a"], ""), Some(6864));
        assert_eq!(number(&["a b"], "r"), Some(6850));
        assert_eq!(number(&["p:a"], "r"), Some(6846));
        assert_eq!(number(&["x/@a", "@b"], "r"), Some(6852));
    }

    #[test]
    fn names() {
        assert_eq!(encode_name("a b"), "a_x0020_b");
        assert_eq!(encode_name("1x"), "_x0031_x");
    }
}
