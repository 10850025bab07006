//! How the values of a row stand in a data file: native files by the table's columns, others by a format file.
//!
//! ```text
//!   value = [length, `prefix` bytes] bytes [terminator]      all bits of the length set: NULL
//! ```
//!
//! A value without a length in front ends at its terminator, or has a fixed length. The lengths in native files and both
//! kinds of format files are those of "Specify prefix length", "Non-XML Format Files" and "XML Format Files" in the
//! documentation of `bcp`.

use super::failed;
use crate::errors;
use keel_query::catalog::ColumnDef;
use keel_types::error::Result;
use keel_types::{Collation, Length, SqlError, SqlType};
use keel_xml::tree::{Document, Kind, ROOT};

/// Fields of a format file.
const FIELDS_MAX: usize = 1_024;
/// Versions of format files that are known: SQL Server 7.0 to 2025.
const VERSIONS: std::ops::RangeInclusive<f64> = 7.0..=17.0;

/// What the bytes of a value are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Host {
    /// Characters of a code page; the option's when there is none.
    Char(Option<u16>),
    /// UTF-16.
    NChar,
    /// As they are.
    Bytes,
    /// A value of a type as the product has it in memory.
    Native(SqlType),
}

/// One value of a row.
#[derive(Clone, Debug)]
pub(super) struct HostField {
    pub host: Host,
    /// Bytes of the length in front: 0, 1, 2, 4 or 8.
    pub prefix: u8,
    /// Bytes of a value that neither says its length nor is terminated.
    pub length: usize,
    pub terminator: Vec<u8>,
    /// The table's column, from 0; `None` of what is passed over.
    pub column: Option<usize>,
}

/// The layout of a native file: `wide` has strings in UTF-16.
pub(super) fn native(columns: &[ColumnDef], wide: bool) -> Result<Vec<HostField>> {
    let field = |(i, c): (usize, &ColumnDef)| {
        let (host, prefix, length) = native_field(c, wide)?;
        Ok(HostField { host, prefix, length, terminator: Vec::new(), column: Some(i) })
    };
    columns.iter().enumerate().map(field).collect()
}

fn native_field(c: &ColumnDef, wide: bool) -> Result<(Host, u8, usize)> {
    use SqlType as T;
    let ty = c.ty.plain();
    let narrow = if wide { Host::NChar } else { Host::Char(Some(c.collation.code_page())) };
    let limited = |host| (host, 2, 0);
    Ok(match ty {
        T::VarChar(Length::Max) => (narrow, 8, 0),
        T::Char(_) | T::VarChar(_) => limited(narrow),
        T::NVarChar(Length::Max) | T::Xml | T::TypedXml(_) => (Host::NChar, 8, 0),
        T::NChar(_) | T::NVarChar(_) => limited(Host::NChar),
        T::Text => (narrow, 4, 0),
        T::NText => (Host::NChar, 4, 0),
        T::Image => (Host::Bytes, 4, 0),
        T::VarBinary(Length::Max) | T::HierarchyId | T::Geometry | T::Geography => (Host::Bytes, 8, 0),
        T::Binary(_) | T::VarBinary(_) => limited(Host::Bytes),
        T::RowVersion => (Host::Bytes, 1, 0),
        T::SqlVariant => return Err(errors::not_supported("A native data file of a table with sql_variant")),
        T::Decimal { .. }
        | T::Numeric { .. }
        | T::UniqueIdentifier
        | T::Date
        | T::Time(_)
        | T::DateTime2(_)
        | T::DateTimeOffset(_) => (Host::Native(ty), 1, 0),
        _ => (Host::Native(ty), u8::from(c.nullable), super::native::bytes_of(ty).unwrap_or(0)),
    })
}

/// The layout that a format file describes, XML or not. Its columns are the table's, by number. Errors: 4820 to 4829 and 4839 of a text, 4855 to
/// 4873 of XML, 4882 of a field that has no end.
pub(super) fn format_file(text: &str, name: &str, columns: &[ColumnDef]) -> Result<Vec<HostField>> {
    let text = text.trim_start_matches('\u{FEFF}');
    let fields = match text.trim_start().starts_with('<') {
        true => of_xml(text, name, columns),
        false => of_text(text, name, columns),
    }?;
    let endless = |f: &HostField| f.prefix == 0 && f.length == 0 && f.terminator.is_empty();
    match fields.iter().position(endless) {
        Some(at) => Err(failed(
            4882,
            format!(
                "Cannot bulk load. A prefix length, field length, or terminator is required for the source column {} in the format file \"{name}\".",
                at + 1
            ),
        )),
        None => Ok(fields),
    }
}

/// What a type's name in a format file stands for; a column gives the scale of a time.
pub(super) fn host_of(kind: &str, column: Option<&ColumnDef>) -> Option<Host> {
    use SqlType as T;
    let own = column.map(|c| c.ty.plain());
    let scale = match own {
        Some(T::Time(s) | T::DateTime2(s) | T::DateTimeOffset(s)) => s,
        _ => 7,
    };
    let decimal = || own.filter(|t| t.decimal_parts().is_some());
    Some(Host::Native(match kind.to_ascii_uppercase().as_str() {
        "SQLCHAR" | "SQLVARYCHAR" | "SQLTEXT" => return Some(Host::Char(None)),
        "SQLNCHAR" | "SQLNVARCHAR" | "SQLNTEXT" => return Some(Host::NChar),
        "SQLBINARY" | "SQLVARYBIN" | "SQLUDT" | "SQLIMAGE" => return Some(Host::Bytes),
        "SQLBIT" => T::Bit,
        "SQLTINYINT" => T::TinyInt,
        "SQLSMALLINT" => T::SmallInt,
        "SQLINT" => T::Int,
        "SQLBIGINT" => T::BigInt,
        "SQLFLT4" => T::Real,
        "SQLFLT8" => T::Float,
        "SQLMONEY" => T::Money,
        "SQLMONEY4" => T::SmallMoney,
        "SQLDATETIME" => T::DateTime,
        "SQLDATETIM4" => T::SmallDateTime,
        "SQLDATE" => T::Date,
        "SQLTIME" => T::Time(scale),
        "SQLDATETIME2" => T::DateTime2(scale),
        "SQLDATETIMEOFFSET" => T::DateTimeOffset(scale),
        "SQLDECIMAL" | "SQLNUMERIC" => decimal().unwrap_or(T::Decimal { precision: 38, scale: 0 }),
        "SQLUNIQUEID" => T::UniqueIdentifier,
        _ => return None,
    }))
}

/// A terminator as format files write it: `\t`, `\n`, `\r`, `\0`, `\\`, `\"`, and what else stands behind a backslash as it is.
fn terminator(text: &str) -> Vec<u8> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('0') => '\0',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    out.into_bytes()
}

fn of_text(text: &str, name: &str, columns: &[ColumnDef]) -> Result<Vec<HostField>> {
    let mut lines = text.lines().filter(|l| !l.trim().is_empty());
    let bad =
        |number: i32, what: &str| failed(number, format!("Cannot bulk load. {what} format file \"{name}\"."));
    let version = lines.next().and_then(|l| l.trim().parse::<f64>().ok()).filter(|v| VERSIONS.contains(v));
    version.ok_or_else(|| bad(4820, "Unknown version of"))?;
    let count = lines.next().and_then(|l| l.trim().parse::<usize>().ok());
    let count = count.ok_or_else(|| bad(4821, "Error reading the number of columns from the"))?;
    if !(1..=FIELDS_MAX).contains(&count) {
        return Err(bad(4822, "Invalid number of columns in the"));
    }
    let mut fields = Vec::with_capacity(count);
    for n in 1..=count {
        let words = lines.next().map(words).unwrap_or_default();
        fields.push(text_field(&words, n, columns).map_err(|(number, what)| {
            failed(number, format!("Cannot bulk load. {} in the format file \"{name}\".", what))
        })?);
    }
    Ok(fields)
}

type Wrong = (i32, String);

fn text_field(words: &[String], n: usize, columns: &[ColumnDef]) -> std::result::Result<HostField, Wrong> {
    let word = |i: usize| words.get(i).map_or("", String::as_str);
    let number = |i: usize| word(i).parse::<usize>().ok();
    if number(0) != Some(n) {
        return Err((4823, "Invalid column number".to_owned()));
    }
    let order = number(5).filter(|at| *at <= columns.len());
    let order = order
        .ok_or_else(|| (4828, format!("Invalid destination table column number for source column {n}")))?;
    let column = order.checked_sub(1);
    let host = host_of(word(1), column.map(|at| &columns[at]));
    let host = host.ok_or_else(|| (4824, format!("Invalid data type for column number {n}")))?;
    let prefix = number(2).filter(|p| matches!(p, 0 | 1 | 2 | 4 | 8));
    let prefix = prefix.ok_or_else(|| (4825, format!("Invalid prefix for column number {n}")))?;
    let length = number(3).ok_or_else(|| (4826, format!("Invalid column length for column number {n}")))?;
    if words.len() < 5 {
        return Err((4827, format!("Invalid column terminator for column number {n}")));
    }
    if words.len() < 7 {
        return Err((4829, format!("Error reading the destination table column name for source column {n}")));
    }
    let host = with_page(host, word(7))
        .ok_or_else(|| (4839, format!("Invalid collation name for source column {n}")))?;
    Ok(HostField { host, prefix: prefix as u8, length, terminator: terminator(word(4)), column })
}

/// Characters of a collation's code page; `None` for a collation that there is not.
fn with_page(host: Host, collation: &str) -> Option<Host> {
    match (host, collation) {
        (Host::Char(_), name) if !name.is_empty() && !name.eq_ignore_ascii_case("RAW") => {
            Collation::by_name(name).map(|c| Host::Char(Some(c.code_page())))
        }
        (host, _) => Some(host),
    }
}

/// The words of a line; one in double quotes is a word, with backslashes as they are.
pub(super) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_whitespace() {
            continue;
        }
        let mut word = String::new();
        if c == '"' {
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => word.extend(std::iter::once('\\').chain(chars.next())),
                    c => word.push(c),
                }
            }
        } else {
            word.push(c);
            while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
                word.push(c);
            }
        }
        words.push(word);
    }
    words
}

/// An element of an XML format file.
pub(super) struct Element<'a> {
    document: &'a Document,
    id: u32,
    file: &'a str,
}

impl<'a> Element<'a> {
    /// The elements in it.
    pub(super) fn below(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        let (document, file) = (self.document, self.file);
        let children = document.children(self.id).filter(|c| document.node(*c).kind == Kind::Element);
        children.map(move |id| Element { document, id, file })
    }

    pub(super) fn name(&self) -> &str {
        &self.document.node(self.id).name.local
    }

    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let is = |id: &u32| {
            let node = self.document.node(*id);
            node.kind == Kind::Attribute && node.name.local == name
        };
        let found = self.document.attributes(self.id).find(is);
        found.map(|id| self.document.node(id).text.to_string())
    }

    pub(super) fn required(&self, name: &str) -> Result<String> {
        self.attribute(name)
            .ok_or_else(|| self.wrong(4859, &format!("required attribute \"{name}\" is missing.")))
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<usize>> {
        let Some(text) = self.attribute(name) else { return Ok(None) };
        let bad = || self.wrong(4858, &format!("bad value {text} for attribute \"{name}\"."));
        text.trim().parse().map(Some).map_err(|_| bad())
    }

    /// Which element it is, in the place of the product's line.
    pub(super) fn wrong(&self, number: i32, what: &str) -> Box<SqlError> {
        failed(number, format!("Line {} in format file \"{}\": {what}", self.id, self.file))
    }
}

/// An XML format file; error 4884 when it is none.
pub(super) fn document(text: &str, file: &str) -> Result<Document> {
    let document = keel_xml::parse::parse(text, keel_xml::parse::Source::Any, false);
    document.map_err(|e| failed(4884, format!("{e} (format file \"{file}\")")))
}

/// Its BCPFORMAT.
pub(super) fn top<'a>(document: &'a Document, file: &'a str) -> Result<Element<'a>> {
    let top = Element { document, id: ROOT, file }.below().next().filter(|e| e.name() == "BCPFORMAT");
    top.ok_or_else(|| {
        failed(
            4884,
            format!("Unknown error near info item starting near line 1 column 1 in format file \"{file}\"."),
        )
    })
}

fn of_xml(text: &str, file: &str, columns: &[ColumnDef]) -> Result<Vec<HostField>> {
    let document = document(text, file)?;
    let (mut fields, mut sources) = (Vec::new(), Vec::new());
    for part in top(&document, file)?.below() {
        match part.name() {
            "RECORD" => {
                for field in part.below() {
                    fields.push((field.required("ID")?, xml_field(&field)?));
                }
            }
            "ROW" => sources = part.below().collect(),
            other => return Err(part.wrong(4855, &format!("unexpected element \"{other}\"."))),
        }
    }
    for (at, column) in sources.iter().enumerate() {
        let source = column.required("SOURCE")?;
        let missing = || column.wrong(4873, &format!("referencing non-existing element id \"{source}\"."));
        let (_, field) = fields.iter_mut().find(|(id, _)| *id == source).ok_or_else(missing)?;
        if field.column.is_some() {
            return Err(column.wrong(4874, &format!("duplicate element id reference \"{source}\".")));
        }
        let def = columns.get(at).ok_or_else(|| column.wrong(4855, "unexpected element \"COLUMN\"."))?;
        field.column = Some(at);
        if field.host == Host::Native(SqlType::Null) {
            let kind = column.required("type")?;
            let bad = || column.wrong(4858, &format!("bad value {kind} for attribute \"xsi:type\"."));
            field.host = host_of(&kind, Some(def)).ok_or_else(bad)?;
        }
        if let (Host::Native(ty), 0) = (field.host, field.length) {
            field.length = super::native::bytes_of(ty).unwrap_or(0);
        }
    }
    Ok(fields.into_iter().map(|(_, field)| field).collect())
}

/// A FIELD; the type of one in native form is its COLUMN's.
fn xml_field(field: &Element<'_>) -> Result<HostField> {
    let kind = field.required("type")?;
    let bad = || field.wrong(4858, &format!("bad value {kind} for attribute \"xsi:type\"."));
    let (host, form) = [
        "NativeFixed",
        "NativePrefix",
        "CharTerm",
        "CharFixed",
        "CharPrefix",
        "NCharTerm",
        "NCharFixed",
        "NCharPrefix",
    ]
    .contains(&kind.as_str())
    .then(|| match kind.split_at(kind.find(['F', 'P', 'T']).unwrap_or(0)) {
        ("Native", form) => (Host::Native(SqlType::Null), form),
        ("NChar", form) => (Host::NChar, form),
        (_, form) => (Host::Char(None), form),
    })
    .ok_or_else(bad)?;
    let collation = field.attribute("COLLATION").unwrap_or_default();
    let host = with_page(host, &collation)
        .ok_or_else(|| field.wrong(4858, &format!("bad value {collation} for attribute \"COLLATION\".")))?;
    let mut out = HostField { host, prefix: 0, length: 0, terminator: Vec::new(), column: None };
    match form {
        "Term" => out.terminator = terminator(&field.required("TERMINATOR")?),
        "Prefix" => {
            out.prefix =
                field.number("PREFIX_LENGTH")?.filter(|p| matches!(p, 1 | 2 | 4 | 8)).unwrap_or(1) as u8
        }
        _ => out.length = field.number("LENGTH")?.unwrap_or(0),
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<ColumnDef> {
        vec![
            ColumnDef::plain(0, "id", SqlType::Int),
            ColumnDef::plain(1, "name", SqlType::VarChar(Length::Limited(20))),
            ColumnDef::plain(2, "at", SqlType::DateTime2(3)),
        ]
    }

    #[test]
    fn text_format_files() {
        let text = "14.0\n3\n1 SQLINT 0 4 \"\" 1 id \"\"\n2 SQLCHAR 2 20 \"\" 0 skipped SQL_Latin1_General_CP1_CI_AS\n3 SQLDATETIME2 1 8 \"\\r\\n\" 3 at \"\"\n";
        let fields = format_file(text, "f", &columns()).expect("a format file");
        assert_eq!(fields[0].host, Host::Native(SqlType::Int));
        assert_eq!((fields[1].host, fields[1].column), (Host::Char(Some(1252)), None));
        assert_eq!(fields[2].host, Host::Native(SqlType::DateTime2(3)));
        assert_eq!((fields[2].terminator.as_slice(), fields[2].column), (&b"\r\n"[..], Some(2)));
        let number = |text: &str| format_file(text, "f", &columns()).map(|_| ()).map_err(|e| e.number);
        for (text, expect) in [
            ("x\n1\n", 4820),
            ("9.0\nmany\n", 4821),
            ("9.0\n0\n", 4822),
            ("9.0\n1\n2 SQLINT 0 4 \"\" 1 id \"\"\n", 4823),
            ("9.0\n1\n1 SQLWHAT 0 4 \"\" 1 id \"\"\n", 4824),
            ("9.0\n1\n1 SQLINT 3 4 \"\" 1 id \"\"\n", 4825),
            ("9.0\n1\n1 SQLINT 0 x \"\" 1 id \"\"\n", 4826),
            ("9.0\n1\n1 SQLINT 0 4 \"\" 9 id \"\"\n", 4828),
            ("9.0\n1\n1 SQLINT 0 4 \"\" 1\n", 4829),
            ("9.0\n1\n1 SQLCHAR 0 4 \"\" 1 id Klingon\n", 4839),
            ("9.0\n1\n1 SQLCHAR 0 0 \"\" 1 id \"\"\n", 4882),
        ] {
            assert_eq!(number(text), Err(expect), "{text}");
        }
    }

    #[test]
    fn xml_format_files() {
        let text = r#"<?xml version="1.0"?>
<BCPFORMAT xmlns="http://schemas.microsoft.com/sqlserver/2004/bulkload/format" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
 <RECORD>
  <FIELD ID="1" xsi:type="NativeFixed" LENGTH="4"/>
  <FIELD ID="skipped" xsi:type="CharTerm" TERMINATOR="\t" MAX_LENGTH="9"/>
  <FIELD ID="2" xsi:type="NCharTerm" TERMINATOR="\r\0\n\0" MAX_LENGTH="40"/>
 </RECORD>
 <ROW>
  <COLUMN SOURCE="1" NAME="id" xsi:type="SQLINT"/>
  <COLUMN SOURCE="2" NAME="name" xsi:type="SQLNVARCHAR"/>
 </ROW>
</BCPFORMAT>"#;
        let fields = format_file(text, "f", &columns()).expect("a format file");
        assert_eq!((fields[0].host, fields[0].column), (Host::Native(SqlType::Int), Some(0)));
        assert_eq!((fields[1].host, fields[1].column), (Host::Char(None), None));
        assert_eq!((fields[2].host, fields[2].terminator.as_slice()), (Host::NChar, &b"\r\0\n\0"[..]));
        let number = |from: &str, to: &str| {
            format_file(&text.replace(from, to), "f", &columns()).map(|_| ()).map_err(|e| e.number)
        };
        assert_eq!(number("SOURCE=\"2\"", "SOURCE=\"7\""), Err(4873));
        assert_eq!(number("SOURCE=\"2\"", "SOURCE=\"1\""), Err(4874));
        assert_eq!(number("SQLINT", "SQLWHAT"), Err(4858));
        assert_eq!(number("NativeFixed", "Native"), Err(4858));
        assert_eq!(number(" ID=\"1\"", ""), Err(4859));
        assert_eq!(number("RECORD>", "RECORDS>"), Err(4855));
    }

    proptest::proptest! {
        /// Texts of any kind are a format file or an error.
        #[test]
        fn any_text(
            lines in proptest::collection::vec("[0-9]{1,3} (SQLCHAR|SQLINT|SQLNCHAR) [0-9] [0-9]{1,9} \"[^\r\n]{0,4}\"? [0-9] [a-z\"]{1,3} ?[A-Za-z_]{0,9}", 0..4),
            head in "(14\\.0|9|x)\n[0-9]{0,2}\n",
            any in ".{0,80}",
        ) {
            let _ = format_file(&format!("{head}{}", lines.join("\n")), "f", &columns());
            let _ = format_file(&any, "f", &columns());
            let _ = format_file(&format!("<BCPFORMAT>{any}</BCPFORMAT>"), "f", &columns());
        }
    }
}
