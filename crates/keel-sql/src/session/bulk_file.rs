//! `BULK INSERT`: rows from a text file.
//!
//! ```text
//!   file ── blocks ──► fields up to their terminators ──► values of the columns' types ──► INSERT BULK's way in
//! ```
//!
//! Fields stand for the table's columns in order; those of computed and rowversion columns are there and not looked at. Bytes
//! (of binary types, hierarchyid, geometry, geography) are hexadecimal digits. An empty field is NULL, or the column's
//! default without KEEPNULLS. A field that is not the last of its row ends at the field terminator, whatever stands in
//! between, and the last one at the row terminator: so a row with too few fields swallows the next, as the product's
//! do. With FORMAT = 'CSV' fields may be quoted (RFC 4180) and rows end where they end. A row that cannot be converted
//! is reported and passed over, up to MAXERRORS. Without BATCHSIZE the file is one transaction.
//!
//! A native file, or one that a format file describes, has a [`layout`] instead: which value is whose column, where it ends
//! and what its bytes are.
//!
//! Deliberately absent: error files, values of sql_variant in native files.

mod input;
mod layout;
mod native;

use self::input::{End, Form, Input, find};
use self::layout::{Host, HostField};
use super::bulk::{BulkSource, BulkTarget, PendingBulk, load};
use crate::errors;
use crate::program::Program;
use crate::run::Runner;
use crate::sink::ColumnMeta;
use keel_base::env::{File, OpenMode};
use keel_parser::ast::{self, OptValue};
use keel_query::CompiledExpr;
use keel_query::catalog::ColumnDef;
use keel_query::dml::{BulkOptions, BulkRow, Cell};
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};
use std::path::Path;
use std::sync::Arc;

/// Rows inserted at once within a transaction.
const PART_ROWS: usize = 5_000;
/// Longest value whose length is told.
const VALUE_BYTES_MAX: usize = i32::MAX as usize;
/// Longest field of a column that is not of a max type, in bytes.
const FIELD_BYTES_MAX: usize = 8_000;

fn failed(number: i32, text: String) -> Box<SqlError> {
    SqlError::new(number, 16, 1, text)
}

/// What WITH says.
struct Options {
    field: Vec<u8>,
    row: Vec<u8>,
    /// A line feed that may have a carriage return before it.
    loose_row: bool,
    csv: bool,
    quote: u8,
    first_row: u64,
    last_row: u64,
    errors_max: u64,
    batch_rows: Option<usize>,
    keep_nulls: bool,
    keep_identity: bool,
    fire_triggers: bool,
    check_constraints: bool,
    table_lock: bool,
    wide: bool,
    /// A native file; with strings in UTF-16 or not.
    native: Option<bool>,
    format_file: Option<String>,
    code_page_1252: bool,
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
    fn read(list: &[ast::Opt]) -> Result<Options> {
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
            "ROWS_PER_BATCH" | "KILOBYTES_PER_BATCH" | "ORDER" => {}
            other => return Err(errors::not_supported(format!("BULK INSERT option {other}"))),
        }
        Ok(())
    }
}

/// One field: its bytes, whether it was quoted, and whether its length said NULL.
#[derive(Default)]
struct Field {
    bytes: Vec<u8>,
    quoted: bool,
    null: bool,
}

struct Reader {
    input: Input,
    options: Options,
    fields: Vec<Field>,
    /// Where values end and what they are, unless they are text between the options' terminators.
    layout: Option<Vec<HostField>>,
    row: u64,
}

impl Reader {
    /// The next row's fields; false at the end of the file.
    fn fields(&mut self) -> Result<bool> {
        if self.input.at_end()? {
            return Ok(false);
        }
        self.row += 1;
        match &self.layout {
            _ if self.options.csv => self.csv_row()?,
            Some(_) => self.laid_out_row()?,
            None => self.plain_row()?,
        }
        Ok(true)
    }

    fn laid_out_row(&mut self) -> Result<()> {
        let layout = self.layout.as_deref().unwrap_or_default();
        let last = layout.len() - 1;
        for (i, (of, field)) in layout.iter().zip(&mut self.fields).enumerate() {
            *field = Field::default();
            if i == 0 && self.row == 1 && of.host == Host::NChar && of.prefix == 0 {
                // The mark of the byte order belongs to the file.
                self.input.eat(&[0xFF, 0xFE])?;
            }
            if of.prefix == 0 && !of.terminator.is_empty() {
                let step = if of.host == Host::NChar && of.terminator.len() % 2 == 0 { 2 } else { 1 };
                let ended = self.input.until_exactly(&of.terminator, step, &mut field.bytes)?;
                if ended == End::File && i < last {
                    return Err(unexpected_end());
                }
                continue;
            }
            let counted = match of.prefix {
                0 => self.input.take(of.length, &mut field.bytes)?,
                prefix => counted(&mut self.input, prefix, field)?,
            };
            let ended = of.terminator.is_empty() || self.input.eat(&of.terminator)? || i == last;
            if !(counted && ended) {
                return Err(unexpected_end());
            }
        }
        Ok(())
    }

    fn plain_row(&mut self) -> Result<()> {
        let last = self.fields.len() - 1;
        for (i, field) in self.fields.iter_mut().enumerate() {
            *field = Field::default();
            let terminator = if i == last { &self.options.row } else { &self.options.field };
            let end = self.input.until(terminator, &mut field.bytes)?;
            if end == End::File && i < last {
                return Err(unexpected_end());
            }
            if i == last && self.options.loose_row && field.bytes.last() == Some(&b'\r') {
                field.bytes.pop();
            }
        }
        Ok(())
    }

    fn csv_row(&mut self) -> Result<()> {
        let last = self.fields.len() - 1;
        let bad = |row: u64, column: usize, name: &str| {
            let text = format!(
                "Bulk load failed due to invalid column value in CSV data file {name} in row {row}, column {}.",
                column + 1
            );
            failed(4879, text)
        };
        for i in 0..=last {
            let mut field = Field::default();
            if self.input.eat(&[self.options.quote])? {
                field.quoted = true;
                loop {
                    if self.input.until(&[self.options.quote], &mut field.bytes)? == End::File {
                        return Err(bad(self.row, i, &self.input.name));
                    }
                    if !self.input.eat(&[self.options.quote])? {
                        break;
                    }
                    field.bytes.push(self.options.quote);
                }
            }
            if i < last {
                let before = field.bytes.len();
                let end = self.input.until(&self.options.field, &mut field.bytes)?;
                let tail = &field.bytes[before..];
                if end == End::File
                    || find(tail, &self.options.row).is_some()
                    || (field.quoted && !tail.is_empty())
                {
                    return Err(bad(self.row, i, &self.input.name));
                }
            } else {
                let before = field.bytes.len();
                self.input.until(&self.options.row, &mut field.bytes)?;
                if self.options.loose_row && field.bytes.len() > before && field.bytes.last() == Some(&b'\r')
                {
                    field.bytes.pop();
                }
                let tail = &field.bytes[before..];
                if find(tail, &self.options.field).is_some() || (field.quoted && !tail.is_empty()) {
                    return Err(bad(self.row, i, &self.input.name));
                }
            }
            self.fields[i] = field;
        }
        Ok(())
    }

    /// The field that a column's values are in.
    fn place(&self, column: usize) -> Option<usize> {
        match &self.layout {
            Some(layout) => layout.iter().position(|f| f.column == Some(column)),
            None => Some(column),
        }
    }

    /// The value of a field for a column.
    fn value(&self, at: usize, column: &ColumnDef) -> Result<Value> {
        let field = &self.fields[at];
        let of = self.layout.as_ref().map(|layout| &layout[at]);
        let counted = of.is_some_and(|f| f.prefix > 0);
        if field.null || (field.bytes.is_empty() && !field.quoted && !counted) {
            return Ok(Value::Null);
        }
        let about = |number: i32, what: &str| {
            let text = format!(
                "Bulk load data conversion error ({what}) for row {}, column {} ({}).",
                self.row,
                at + 1,
                column.name
            );
            failed(number, text)
        };
        let max = matches!(column.ty.length(), Some(Length::Max));
        if field.bytes.len() > FIELD_BYTES_MAX && !max {
            let text = format!(
                "The bulk load failed. The column is too long in the data file for row {}, column {}. Verify that the field terminator and row terminator are specified correctly.",
                self.row,
                at + 1
            );
            return Err(failed(4866, text));
        }
        let mismatch = || about(4864, "type mismatch or invalid character for the specified codepage");
        let stored = |value: Value, from: SqlType| {
            crate::convert::store(value, from, column.ty).map_err(|e| match e.number {
                2628 | 8152 => about(4863, "truncation"),
                220 | 232 | 8115 | 244 | 248 => about(4867, "overflow"),
                _ => mismatch(),
            })
        };
        // One zero byte is how bcp writes what is empty and not NULL.
        let bytes = if field.bytes == [0] && !counted { &[][..] } else { &field.bytes };
        let text = match of.map(|f| f.host) {
            Some(Host::Native(ty)) => {
                let (value, ty) = native::value(bytes, ty).ok_or_else(mismatch)?;
                return stored(value, ty);
            }
            Some(Host::Bytes) => {
                return stored(Value::bytes(bytes), SqlType::VarBinary(Length::Max));
            }
            Some(Host::NChar) => {
                let bytes = if field.bytes == [0, 0] && !counted { &[][..] } else { bytes };
                let bytes = if column.ty.is_xml() {
                    bytes.strip_prefix(&[0xFF, 0xFE]).unwrap_or(bytes)
                } else {
                    bytes
                };
                encoding_rs::UTF_16LE.decode_without_bom_handling(bytes).0.into_owned()
            }
            Some(Host::Char(Some(page))) => keel_types::collation::pages::decode(bytes, page).into_owned(),
            Some(Host::Char(None)) | None => self.text(bytes),
        };
        // 0x in front or not: styles 1 and 2.
        let from = SqlType::NVarChar(Length::Max);
        let text = Value::Str(text.into());
        if column.ty.is_binary() || column.ty.is_clr() {
            let wide = SqlType::VarBinary(Length::Max);
            let style = if field.bytes.starts_with(b"0x") { 1 } else { 2 };
            let bytes = keel_types::cast::explicit(from, wide).and_then(|c| c.with_style(style).apply(&text));
            return bytes.and_then(|b| crate::convert::store(b, wide, column.ty)).map_err(|_| mismatch());
        }
        stored(text, from)
    }

    /// Characters of the code page that the options name: UTF-8 where they can be, else Windows-1252.
    fn text(&self, bytes: &[u8]) -> String {
        let utf8 = if self.options.code_page_1252 { None } else { std::str::from_utf8(bytes).ok() };
        match utf8 {
            Some(text) => text.to_owned(),
            None => encoding_rs::WINDOWS_1252.decode(bytes).0.into_owned(),
        }
    }
}

fn unexpected_end() -> Box<SqlError> {
    failed(4832, "Bulk load: An unexpected end of file was encountered in the data file.".to_owned())
}

/// A value with its length in front; false when the file ends in it. A length of 8 bytes may say that the value comes in pieces, each
/// with its own length of 4 bytes, the last of them empty (as MS-TDS 2.2.5.2.3 has them).
fn counted(input: &mut Input, prefix: u8, field: &mut Field) -> Result<bool> {
    const IN_PIECES: u64 = u64::MAX - 1;
    let number = |input: &mut Input, bytes: usize| -> Result<Option<u64>> {
        let mut length = Vec::with_capacity(8);
        let there = input.take(bytes, &mut length)?;
        Ok(there.then(|| length.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))))
    };
    let mut take = |input: &mut Input, length: u64| match usize::try_from(length) {
        Ok(length) if length + field.bytes.len() <= VALUE_BYTES_MAX => input.take(length, &mut field.bytes),
        _ => Ok(false),
    };
    match number(input, prefix.into())? {
        None => Ok(false),
        Some(length) if length == u64::MAX >> (64 - 8 * u32::from(prefix)) => {
            field.null = true;
            Ok(true)
        }
        Some(IN_PIECES) => loop {
            match number(input, 4)? {
                Some(0) => return Ok(true),
                Some(length) if take(input, length)? => {}
                _ => return Ok(false),
            }
        },
        Some(length) => take(input, length),
    }
}

/// Errors that stop the load whatever MAXERRORS is.
fn is_fatal(e: &SqlError) -> bool {
    !matches!(e.number, 4863 | 4864 | 4867 | 4869)
}

/// Rows that have been read; their values have the columns' types.
struct Rows<'a> {
    columns: &'a [ColumnMeta],
    rows: std::vec::IntoIter<Vec<Value>>,
}

impl BulkSource for Rows<'_> {
    fn types(&mut self) -> Result<Vec<SqlType>> {
        Ok(self.columns.iter().map(|c| c.ty).collect())
    }

    fn next(&mut self, row: &mut dyn BulkRow) -> Result<bool> {
        let Some(next) = self.rows.next() else { return Ok(false) };
        row.start();
        next.into_iter().enumerate().try_for_each(|(i, value)| row.put(i, cell(&value)))?;
        Ok(true)
    }
}

fn cell(value: &Value) -> Cell<'_> {
    match value {
        Value::Null => Cell::Null,
        Value::Str(s) => Cell::Text(s),
        Value::Bytes(b) => Cell::Binary(b),
        value => Cell::Value(value.clone()),
    }
}

/// A load under way.
struct Load {
    reader: Reader,
    bulk: PendingBulk,
    columns: Vec<ColumnDef>,
    /// The field of each column.
    places: Vec<Option<usize>>,
    /// Values of NULL fields, by column.
    defaults: Vec<Option<CompiledExpr>>,
    bad_rows: u64,
}

impl Load {
    /// The next rows, `wanted` at most; a row that cannot be converted is reported.
    fn rows(&mut self, runner: &mut Runner<'_>, wanted: usize) -> Result<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        while rows.len() < wanted && self.reader.row < self.reader.options.last_row {
            if !self.reader.fields()? {
                break;
            }
            if self.reader.row < self.reader.options.first_row {
                continue;
            }
            match self.row(runner) {
                Ok(row) => rows.push(row),
                Err(e) if is_fatal(&e) => return Err(e),
                Err(e) => {
                    runner.report(&errors::located(e, 1, None));
                    self.bad_rows += 1;
                    let most = self.reader.options.errors_max;
                    if self.bad_rows > most {
                        let text = format!(
                            "Cannot bulk load because the maximum number of errors ({most}) was exceeded."
                        );
                        return Err(failed(4865, text));
                    }
                }
            }
        }
        Ok(rows)
    }

    fn row(&self, runner: &mut Runner<'_>) -> Result<Vec<Value>> {
        let mut row = Vec::with_capacity(self.columns.len());
        for (i, column) in self.columns.iter().enumerate() {
            let given = column.computed.is_some() || column.ty == SqlType::RowVersion;
            let skipped = given || column.identity.is_some() && !self.reader.options.keep_identity;
            if skipped {
                continue;
            }
            let place = self.places[i];
            let mut value = match place {
                Some(at) => self.reader.value(at, column)?,
                None => Value::Null,
            };
            if let (Value::Null, Some(default)) = (&value, &self.defaults[i]) {
                value = default.eval(&mut runner.context_with(&mut []))?;
            }
            if matches!(value, Value::Null) && !column.nullable {
                let text = format!(
                    "The bulk load failed. Unexpected NULL value in data file row {}, column {}. The destination column ({}) is defined as NOT NULL.",
                    self.reader.row,
                    place.unwrap_or(i) + 1,
                    column.name
                );
                return Err(failed(4869, text));
            }
            row.push(value);
        }
        Ok(row)
    }

    fn run(&mut self, runner: &mut Runner<'_>) -> Result<u64> {
        let own = runner.info.transaction.borrow().count == 0 && self.reader.options.batch_rows.is_none();
        if own {
            runner.begin_named("".into())?;
        }
        let outcome = self.parts(runner);
        match (&outcome, own) {
            (Ok(_), true) => runner.commit_one(false)?,
            (Err(_), true) => runner.rollback_everything(),
            _ => {}
        }
        outcome
    }

    fn parts(&mut self, runner: &mut Runner<'_>) -> Result<u64> {
        let part = self.reader.options.batch_rows.unwrap_or(PART_ROWS);
        let mut total = 0;
        loop {
            let rows = self.rows(runner, part)?;
            if rows.is_empty() {
                return Ok(total);
            }
            let target = self.bulk.target();
            let mut rows = Rows { columns: &target.columns, rows: rows.into_iter() };
            total += load(runner, &self.bulk, &mut rows)?;
        }
    }
}

impl Runner<'_> {
    /// `BULK INSERT t FROM 'file' WITH (…)`; the number of rows loaded.
    pub(crate) fn bulk_insert(&mut self, program: &Program, b: &ast::BulkInsert) -> Result<u64> {
        let options = Options::read(&b.options)?;
        let laid_out = options.format_file.is_some() || options.native.is_some();
        if !laid_out && (options.field.is_empty() || options.row.is_empty()) {
            return Err(errors::not_supported("An empty terminator"));
        }
        let (table, defaults) = {
            let scope = self.ddl_scope(program);
            let table = crate::ddl::find_table(&scope, &b.table);
            let table = table.ok_or_else(|| errors::invalid_object_name(&b.table))?;
            let columns = table.columns.iter();
            let default = |c: &ColumnDef| -> Result<Option<CompiledExpr>> {
                let Some(d) = c.default.as_ref().filter(|_| !options.keep_nulls) else { return Ok(None) };
                let e = keel_parser::parse_expr(&d.text).map_err(crate::run::parse_error)?;
                keel_query::compile_expr(&scope, &e, Some(c.ty)).map(Some)
            };
            let defaults = columns.map(default).collect::<Result<Vec<_>>>()?;
            (table, defaults)
        };
        let columns = table.columns.clone();
        let layout = match (&options.format_file, options.native) {
            (Some(file), _) => {
                let bytes = self.data_file(file).and_then(|f| whole(&*f, file))?;
                Some(layout::format_file(&decoded(&bytes), file, &columns)?)
            }
            (None, Some(wide)) => Some(layout::native(&columns, wide)?),
            (None, None) => None,
        };
        let mut options = options;
        if let (Some([first, .., last] | [first @ last]), true) = (layout.as_deref(), options.csv) {
            options.field.clone_from(&first.terminator);
            options.row.clone_from(&last.terminator);
            options.loose_row = options.row == b"\n";
        }
        let name = b.file.to_string();
        let file = self.data_file(&name)?;
        let given = |c: &ColumnDef| c.computed.is_some() || c.ty == SqlType::RowVersion;
        let sent = columns.iter().filter(|c| !given(c) && (c.identity.is_none() || options.keep_identity));
        let target = BulkTarget { columns: sent.map(column_meta).collect() };
        let how = BulkOptions {
            keep_identity: options.keep_identity,
            check_constraints: options.check_constraints,
            // NULL fields have taken their defaults here.
            keep_nulls: true,
            table_lock: options.table_lock,
        };
        let bulk = PendingBulk::new(target, b.table.clone(), how, options.fire_triggers);
        let form = match (&layout, options.csv, options.wide) {
            (Some(_), false, _) => Form::Raw,
            (_, _, true) => Form::Wide,
            _ => Form::Narrow,
        };
        let width = layout.as_ref().map_or(columns.len(), Vec::len);
        let fields = (0..width).map(|_| Field::default()).collect();
        let reader = Reader { input: Input::new(file, name, form), options, fields, layout, row: 0 };
        let places = (0..columns.len()).map(|column| reader.place(column)).collect();
        Load { reader, bulk, columns, places, defaults, bad_rows: 0 }.run(self)
    }

    /// A file to read: 4860 when it is not there, 4861 when it cannot be opened.
    fn data_file(&self, name: &str) -> Result<Arc<dyn File>> {
        let disk = Arc::clone(&self.info.engine.options().env.disk);
        disk.open(Path::new(name), OpenMode::Read).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => failed(
                4860,
                format!("Cannot bulk load. The file \"{name}\" does not exist or you don't have file access rights."),
            ),
            _ => failed(
                4861,
                format!("Cannot bulk load because the file \"{name}\" could not be opened. Operating system error: {e}."),
            ),
        })
    }
}

/// All of a format file.
fn whole(file: &dyn File, name: &str) -> Result<Vec<u8>> {
    const MAX: u64 = 16 << 20;
    let unreadable = |e: String| {
        failed(
            4862,
            format!(
                "Cannot bulk load because the file \"{name}\" could not be read. Operating system error: {e}."
            ),
        )
    };
    let length = file.len().map_err(|e| unreadable(e.to_string()))?;
    if length > MAX {
        return Err(unreadable("it is no format file".to_owned()));
    }
    let mut bytes = vec![0; length as usize];
    let read = file.read_at(&mut bytes, 0).map_err(|e| unreadable(e.to_string()))?;
    bytes.truncate(read);
    Ok(bytes)
}

/// UTF-16 with its mark, UTF-8, or Windows-1252.
fn decoded(bytes: &[u8]) -> String {
    match bytes.strip_prefix(&[0xFF, 0xFE]) {
        Some(units) => encoding_rs::UTF_16LE.decode_without_bom_handling(units).0.into_owned(),
        None => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
        },
    }
}

fn column_meta(c: &ColumnDef) -> ColumnMeta {
    let mut meta = ColumnMeta::new(c.name.as_str(), c.ty);
    meta.collation = c.collation;
    meta.nullable = c.nullable;
    meta.identity = c.identity.is_some();
    meta
}
