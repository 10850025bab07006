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
//! `OPENROWSET (BULK …)` reads the same files as rows in FROM ([`rowset`]).
//!
//! Deliberately absent: values of sql_variant in native files.

mod columns;
mod input;
mod layout;
mod native;
mod options;
mod reader;
mod rejected;
mod rowset;

use self::input::Input;
use self::options::Options;
use self::reader::{Reader, is_fatal};
pub use self::rowset::FormatFile;
pub(crate) use self::rowset::bulk_rowset;
use self::rowset::format_text;
use super::Info;
use super::bulk::{BulkSource, BulkTarget, PendingBulk, column_meta, load};
use crate::errors;
use crate::program::Program;
use crate::run::Runner;
use crate::sink::ColumnMeta;
use keel_base::env::{File, OpenMode};
use keel_parser::ast;
use keel_query::CompiledExpr;
use keel_query::catalog::ColumnDef;
use keel_query::dml::{BulkOptions, BulkRow, Cell};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType, Value};
use std::path::Path;
use std::sync::Arc;

/// Rows inserted at once within a transaction.
const PART_ROWS: usize = 5_000;
/// Longest format file, in bytes.
const FORMAT_BYTES_MAX: u64 = 16 << 20;

fn failed(number: i32, text: String) -> Box<SqlError> {
    SqlError::new(number, 16, 1, text)
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
}

impl Load {
    /// The next rows, `wanted` at most; a row that cannot be converted is reported.
    fn rows(&mut self, runner: &mut Runner<'_>, wanted: usize) -> Result<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        while rows.len() < wanted && self.reader.advance()? {
            match self.row(runner) {
                Ok(row) => rows.push(row),
                Err(e) if is_fatal(&e) => return Err(e),
                Err(e) => {
                    let e = errors::located(e, 1, None);
                    runner.report(&e);
                    self.reader.reject(&e)?;
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
                return Err(self.reader.unexpected_null(place.unwrap_or(i), &column.name));
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
        let destination = self.bulk_destination(program, &b.table, &[], options.fire_triggers)?;
        let own = |(name, at): &(String, usize)| ColumnDef {
            name: name.clone(),
            ..destination.table.columns[*at].clone()
        };
        let columns: Vec<ColumnDef> = destination.columns.iter().map(own).collect();
        let defaults = {
            let scope = self.ddl_scope(program);
            let default = |c: &ColumnDef| -> Result<Option<CompiledExpr>> {
                let Some(d) = c.default.as_ref().filter(|_| !options.keep_nulls) else { return Ok(None) };
                let e = keel_parser::parse_expr(&d.text).map_err(crate::run::parse_error)?;
                keel_query::compile_expr(&scope, &e, Some(c.ty)).map(Some)
            };
            columns.iter().map(default).collect::<Result<Vec<_>>>()?
        };
        let layout = match (&options.format_file, options.native) {
            (Some(file), _) => Some(layout::format_file(&format_text(self.info, file)?, file, &columns)?),
            (None, Some(wide)) => Some(layout::native(&columns, wide)?),
            (None, None) => None,
        };
        let options = options.with_layout(layout.as_deref().unwrap_or_default());
        let name = b.file.to_string();
        let file = data_file(self.info, &name)?;
        let rejected = options.rejected(self.info)?;
        let given = |c: &ColumnDef| c.computed.is_some() || c.ty == SqlType::RowVersion;
        let sent = destination.columns.iter().map(|(_, at)| &destination.table.columns[*at]);
        let sent = sent.filter(|c| !given(c) && (c.identity.is_none() || options.keep_identity));
        let target = BulkTarget { columns: sent.map(column_meta).collect() };
        let how = BulkOptions {
            keep_identity: options.keep_identity,
            check_constraints: options.check_constraints,
            // NULL fields have taken their defaults here.
            keep_nulls: true,
            table_lock: options.table_lock,
        };
        let bulk = PendingBulk::new(target, destination.name, how, options.fire_triggers);
        let form = options.form(layout.is_some());
        let width = layout.as_ref().map_or(columns.len(), Vec::len);
        let reader = Reader::new(Input::new(file, name, form), options, width, layout, rejected);
        let places = (0..columns.len()).map(|column| reader.place(column)).collect();
        Load { reader, bulk, columns, places, defaults }.run(self)
    }
}

/// A file to read: 4860 when it is not there, 4861 when it cannot be opened.
fn data_file(info: &Info, name: &str) -> Result<Arc<dyn File>> {
    let disk = Arc::clone(&info.engine.options().env.disk);
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

/// All of a file of at most so many bytes.
fn whole(file: &dyn File, name: &str, most: u64) -> Result<Vec<u8>> {
    let unreadable = |e: String| {
        failed(
            4862,
            format!(
                "Cannot bulk load because the file \"{name}\" could not be read. Operating system error: {e}."
            ),
        )
    };
    let length = file.len().map_err(|e| unreadable(e.to_string()))?;
    if length > most {
        return Err(unreadable(format!("it has more than {most} bytes")));
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
        None => narrow(bytes),
    }
}

/// UTF-8, or what is not in Windows-1252.
fn narrow(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => encoding_rs::WINDOWS_1252.decode_without_bom_handling(bytes).0.into_owned(),
    }
}
