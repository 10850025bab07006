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
//! Deliberately absent: native data files, format files, error files.

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

/// Bytes read at once.
const BLOCK_BYTES: usize = 256 << 10;
/// Rows inserted at once within a transaction.
const PART_ROWS: usize = 5_000;
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

/// The bytes of a file, in blocks; UTF-16 becomes UTF-8 on the way.
struct Input {
    file: Arc<dyn File>,
    name: String,
    at: u64,
    buf: Vec<u8>,
    pos: usize,
    wide: bool,
    odd: Vec<u8>,
    ended: bool,
}

/// How a field ended.
#[derive(PartialEq, Eq)]
enum End {
    Found,
    File,
}

impl Input {
    fn more(&mut self) -> Result<bool> {
        if self.ended {
            return Ok(false);
        }
        self.buf.drain(..self.pos);
        self.pos = 0;
        let mut block = vec![0; BLOCK_BYTES];
        let n = self.file.read_at(&mut block, self.at);
        let n = n.map_err(|e| {
            failed(4861, format!("Cannot bulk load because the file \"{}\" could not be read. Operating system error: {e}.", self.name))
        })?;
        block.truncate(n);
        let first = self.at == 0;
        self.at += n as u64;
        self.ended = n == 0;
        if first && block.starts_with(&[0xFF, 0xFE]) {
            self.wide = true;
            block.drain(..2);
        } else if first && block.starts_with(&[0xEF, 0xBB, 0xBF]) {
            block.drain(..3);
        }
        if !self.wide {
            self.buf.extend_from_slice(&block);
            return Ok(!self.ended);
        }
        self.odd.extend_from_slice(&block);
        let mut units: Vec<u16> =
            self.odd.chunks_exact(2).map(|p| u16::from_le_bytes([p[0], p[1]])).collect();
        let split = units.last().is_some_and(|u| (0xD800..0xDC00).contains(u)) && !self.ended;
        if split {
            units.pop();
        }
        self.odd.drain(..units.len() * 2);
        self.buf.extend_from_slice(String::from_utf16_lossy(&units).as_bytes());
        Ok(!self.ended)
    }

    /// Moves behind the next `terminator`; the bytes before it go to `out`. One that ends a line, and says more than that, may end it in either way.
    fn until(&mut self, terminator: &[u8], out: &mut Vec<u8>) -> Result<End> {
        let line = terminator.len() > 1 && terminator.ends_with(b"\n") && !terminator.ends_with(b"\r\n");
        let wanted = if line { &terminator[..terminator.len() - 1] } else { terminator };
        let mut from = self.pos;
        loop {
            let found = find(&self.buf[from..], wanted).map(|i| from + i);
            if let Some(at) = found {
                let behind = &self.buf[at + wanted.len()..];
                let end = match behind {
                    _ if !line => Some(0),
                    [b'\n', ..] => Some(1),
                    [b'\r', b'\n', ..] => Some(2),
                    // The rest of it may not have been read yet.
                    [] | [b'\r'] if !self.ended => {
                        from = at - self.pos;
                        self.more()?;
                        continue;
                    }
                    _ => None,
                };
                let Some(end) = end else {
                    from = at + 1;
                    continue;
                };
                out.extend_from_slice(&self.buf[self.pos..at]);
                self.pos = at + wanted.len() + end;
                return Ok(End::Found);
            }
            let seen = (self.buf.len() - self.pos).saturating_sub(wanted.len() - 1);
            if !self.more()? && self.ended {
                out.extend_from_slice(&self.buf[self.pos..]);
                self.pos = self.buf.len();
                return Ok(End::File);
            }
            from = self.pos + seen;
        }
    }

    /// Whether `text` comes next; it is passed over then.
    fn eat(&mut self, text: &[u8]) -> Result<bool> {
        while self.buf.len() - self.pos < text.len() && self.more()? {}
        let here = self.buf[self.pos..].starts_with(text);
        if here {
            self.pos += text.len();
        }
        Ok(here)
    }

    fn at_end(&mut self) -> Result<bool> {
        while self.pos == self.buf.len() {
            if !self.more()? && self.ended {
                return Ok(self.pos == self.buf.len());
            }
        }
        Ok(false)
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut from = 0;
    while let Some(i) = bytes[from..].iter().position(|b| *b == first) {
        if bytes[from + i..].starts_with(what) {
            return Some(from + i);
        }
        from += i + 1;
    }
    None
}

/// One field: its bytes, and whether it was quoted.
#[derive(Default)]
struct Field {
    bytes: Vec<u8>,
    quoted: bool,
}

struct Reader {
    input: Input,
    options: Options,
    fields: Vec<Field>,
    row: u64,
}

impl Reader {
    /// The next row's fields; false at the end of the file.
    fn fields(&mut self) -> Result<bool> {
        if self.input.at_end()? {
            return Ok(false);
        }
        self.row += 1;
        if self.options.csv { self.csv_row() } else { self.plain_row() }?;
        Ok(true)
    }

    fn plain_row(&mut self) -> Result<()> {
        let last = self.fields.len() - 1;
        for (i, field) in self.fields.iter_mut().enumerate() {
            *field = Field::default();
            let terminator = if i == last { &self.options.row } else { &self.options.field };
            let end = self.input.until(terminator, &mut field.bytes)?;
            if end == End::File && i < last {
                return Err(failed(
                    4832,
                    "Bulk load: An unexpected end of file was encountered in the data file.".to_owned(),
                ));
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

    /// The value of a field for a column.
    fn value(&self, at: usize, column: &ColumnDef) -> Result<Value> {
        let field = &self.fields[at];
        if field.bytes.is_empty() && !field.quoted {
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
        // One zero byte is how bcp writes what is empty and not NULL.
        let bytes = if field.bytes == [0] { &[][..] } else { &field.bytes };
        let utf8 = if self.options.code_page_1252 { None } else { std::str::from_utf8(bytes).ok() };
        let text = match utf8 {
            Some(text) => text.to_owned(),
            None => encoding_rs::WINDOWS_1252.decode(bytes).0.into_owned(),
        };
        // 0x in front or not: styles 1 and 2.
        let from = SqlType::NVarChar(Length::Max);
        let text = Value::Str(text.into());
        if column.ty.is_binary() || column.ty.is_clr() {
            let wide = SqlType::VarBinary(Length::Max);
            let style = if field.bytes.starts_with(b"0x") { 1 } else { 2 };
            let bytes = keel_types::cast::explicit(from, wide).and_then(|c| c.with_style(style).apply(&text));
            let bad = |_| about(4864, "type mismatch or invalid character for the specified codepage");
            return bytes.and_then(|b| crate::convert::store(b, wide, column.ty)).map_err(bad);
        }
        crate::convert::store(text, from, column.ty).map_err(|e| match e.number {
            2628 | 8152 => about(4863, "truncation"),
            220 | 232 | 8115 | 244 | 248 => about(4867, "overflow"),
            _ => about(4864, "type mismatch or invalid character for the specified codepage"),
        })
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
            let mut value = self.reader.value(i, column)?;
            if let (Value::Null, Some(default)) = (&value, &self.defaults[i]) {
                value = default.eval(&mut runner.context_with(&mut []))?;
            }
            if matches!(value, Value::Null) && !column.nullable {
                let text = format!(
                    "The bulk load failed. Unexpected NULL value in data file row {}, column {}. The destination column ({}) is defined as NOT NULL.",
                    self.reader.row,
                    i + 1,
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
        if options.field.is_empty() || options.row.is_empty() {
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
        let name = b.file.to_string();
        let disk = Arc::clone(&self.info.engine.options().env.disk);
        let file = disk.open(Path::new(&name), OpenMode::Read).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied => failed(
                4860,
                format!("Cannot bulk load. The file \"{name}\" does not exist or you don't have file access rights."),
            ),
            _ => failed(
                4861,
                format!("Cannot bulk load because the file \"{name}\" could not be opened. Operating system error: {e}."),
            ),
        })?;
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
        let wide = options.wide;
        let input = Input { file, name, at: 0, buf: Vec::new(), pos: 0, wide, odd: Vec::new(), ended: false };
        let fields = columns.iter().map(|_| Field::default()).collect();
        let reader = Reader { input, options, fields, row: 0 };
        Load { reader, bulk, columns, defaults, bad_rows: 0 }.run(self)
    }
}

fn column_meta(c: &ColumnDef) -> ColumnMeta {
    let mut meta = ColumnMeta::new(c.name.as_str(), c.ty);
    meta.collation = c.collation;
    meta.nullable = c.nullable;
    meta.identity = c.identity.is_some();
    meta
}
