//! What WITH of BULK INSERT, or OPENROWSET (BULK …), says of a file.

use super::Info;
use super::input::Form;
use super::layout::HostField;
use super::rejected::Rejected;
use crate::errors;
use keel_parser::ast::{self, OptValue};
use keel_types::SqlError;
use keel_types::error::Result;

/// What WITH says.
#[derive(Clone)]
pub(super) struct Options {
    pub(super) field: Vec<u8>,
    pub(super) row: Vec<u8>,
    /// A line feed that may have a carriage return before it.
    pub(super) loose_row: bool,
    pub(super) csv: bool,
    pub(super) quote: u8,
    pub(super) first_row: u64,
    pub(super) last_row: u64,
    pub(super) errors_max: u64,
    pub(super) batch_rows: Option<usize>,
    pub(super) keep_nulls: bool,
    pub(super) keep_identity: bool,
    pub(super) fire_triggers: bool,
    pub(super) check_constraints: bool,
    pub(super) table_lock: bool,
    pub(super) wide: bool,
    /// A native file; with strings in UTF-16 or not.
    pub(super) native: Option<bool>,
    pub(super) format_file: Option<String>,
    pub(super) code_page_1252: bool,
    /// Where rows go that cannot be converted.
    pub(super) error_file: Option<String>,
    /// ROWS_PER_BATCH: how many there will be.
    pub(super) rows_expected: Option<u64>,
}

/// A terminator as written: `\t`, `\n`, `\0`, `\\`, `0x0a`, or the characters themselves.
fn terminator(text: &str) -> Vec<u8> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if let Some(hex) =
        hex.filter(|h| !h.is_empty() && h.len() % 2 == 0 && h.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        let digit = |b: u8| char::from(b).to_digit(16).map_or(0, |d| d as u8);
        return hex.as_bytes().chunks(2).map(|p| digit(p[0]) << 4 | digit(p[1])).collect();
    }
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match (c, chars.clone().next()) {
            ('\\', Some(next @ ('t' | 'n' | 'r' | '0' | '\\'))) => {
                chars.next();
                match next {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    '0' => '\0',
                    _ => '\\',
                }
            }
            _ => c,
        });
    }
    out.into_bytes()
}

fn text_of(value: &OptValue) -> Option<&str> {
    match value {
        OptValue::String(s) => Some(s),
        OptValue::Word(w) => Some(&w.text),
        _ => None,
    }
}

fn number_of(o: &ast::Opt) -> Result<u64> {
    let n = match &o.value {
        OptValue::Number(ast::Literal::Int(n)) => u64::try_from(*n).ok(),
        _ => None,
    };
    n.ok_or_else(|| SqlError::new(102, 15, 1, format!("Incorrect syntax near '{}'.", o.name)))
}

impl Options {
    pub(super) fn read(list: &[ast::Opt]) -> Result<Options> {
        let named = |name: &str| list.iter().find(|o| o.name.eq_ignore_ascii_case(name));
        let csv =
            named("FORMAT").and_then(|o| text_of(&o.value)).is_some_and(|f| f.eq_ignore_ascii_case("csv"));
        let mut options = Options {
            field: if csv { b",".to_vec() } else { b"\t".to_vec() },
            row: b"\n".to_vec(),
            loose_row: true,
            csv,
            quote: b'"',
            first_row: 1,
            last_row: u64::MAX,
            errors_max: 10,
            batch_rows: None,
            keep_nulls: false,
            keep_identity: false,
            fire_triggers: false,
            check_constraints: false,
            table_lock: false,
            wide: false,
            native: None,
            format_file: None,
            code_page_1252: false,
            error_file: None,
            rows_expected: None,
        };
        for o in list {
            options.set(o)?;
        }
        Ok(options)
    }

    fn set(&mut self, o: &ast::Opt) -> Result<()> {
        let text = || {
            let missing = || SqlError::new(102, 15, 1, format!("Incorrect syntax near '{}'.", o.name));
            text_of(&o.value).ok_or_else(missing)
        };
        match o.name.to_ascii_uppercase().as_str() {
            "FIELDTERMINATOR" => self.field = terminator(text()?),
            "ROWTERMINATOR" => {
                self.row = terminator(text()?);
                self.loose_row = text()? == "\\n" || text()? == "\n";
            }
            "FORMAT" => {}
            "FIELDQUOTE" => {
                self.quote = text()?.bytes().next().unwrap_or(b'"');
            }
            "FORMATFILE" => self.format_file = Some(text()?.to_owned()),
            "FIRSTROW" => self.first_row = number_of(o)?.max(1),
            "LASTROW" => {
                self.last_row = match number_of(o)? {
                    0 => u64::MAX,
                    n => n,
                }
            }
            "MAXERRORS" => self.errors_max = number_of(o)?,
            "BATCHSIZE" => self.batch_rows = Some(number_of(o)? as usize).filter(|n| *n > 0),
            "KEEPNULLS" => self.keep_nulls = true,
            "KEEPIDENTITY" => self.keep_identity = true,
            "FIRE_TRIGGERS" => self.fire_triggers = true,
            "DATAFILETYPE" => match text()?.to_ascii_lowercase().as_str() {
                "char" => {}
                "widechar" => self.wide = true,
                "native" => self.native = Some(false),
                "widenative" => self.native = Some(true),
                other => return Err(errors::not_supported(format!("DATAFILETYPE = '{other}'"))),
            },
            "CODEPAGE" => {
                let page = match &o.value {
                    OptValue::Number(_) => number_of(o)?.to_string(),
                    _ => text()?.to_ascii_uppercase(),
                };
                match page.as_str() {
                    "65001" => {}
                    "ACP" | "OEM" | "RAW" | "1252" => self.code_page_1252 = page != "OEM",
                    _ => return Err(errors::not_supported(format!("CODEPAGE = '{page}'"))),
                }
            }
            // What they promise or ask changes nothing here: rows go in as any rows do, checked and logged.
            "CHECK_CONSTRAINTS" => self.check_constraints = true,
            "TABLOCK" => self.table_lock = true,
            "ROWS_PER_BATCH" => self.rows_expected = Some(number_of(o)?).filter(|n| *n > 0),
            "ERRORFILE" => self.error_file = Some(text()?.to_owned()),
            "KILOBYTES_PER_BATCH" | "ORDER" => {}
            other => return Err(errors::not_supported(format!("The bulk load's option {other}"))),
        }
        Ok(())
    }

    /// These options for a file of that layout: in CSV its fields end as the layout's do.
    pub(super) fn with_layout(mut self, layout: &[HostField]) -> Options {
        if let ([first, .., last] | [first @ last], true) = (layout, self.csv) {
            self.field.clone_from(&first.terminator);
            self.row.clone_from(&last.terminator);
            self.loose_row = self.row == b"\n";
        }
        self
    }

    /// What the bytes of a file are, which a format file or native values may lay out.
    pub(super) fn form(&self, laid_out: bool) -> Form {
        match (laid_out && !self.csv, self.wide) {
            (true, _) => Form::Raw,
            (false, true) => Form::Wide,
            (false, false) => Form::Narrow,
        }
    }

    /// Makes the files for rows that cannot be converted, where ERRORFILE asks for them.
    pub(super) fn rejected(&self, info: &Info) -> Result<Option<Rejected>> {
        self.error_file.as_ref().map(|name| Rejected::create(info, name)).transpose()
    }
}
