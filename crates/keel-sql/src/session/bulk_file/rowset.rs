//! `OPENROWSET (BULK 'file', …)`: a file as the rows of a table in FROM.
//!
//! ```text
//!   SINGLE_CLOB, SINGLE_NCLOB, SINGLE_BLOB ──► one row with one value
//!   FORMATFILE ──► columns, when the query is compiled ──► rows, when it runs
//! ```
//!
//! A query is good as long as its format file is what it was when the query was compiled. Rows whose values cannot be converted are told and
//! passed over, up to MAXERRORS, as BULK INSERT does.

use super::input::Input;
use super::layout::{self, HostField};
use super::options::Options;
use super::reader::{Reader, is_fatal};
use super::{FORMAT_BYTES_MAX, Info, columns, data_file, decoded, failed, narrow, whole};
use keel_parser::ast;
use keel_query::catalog::ColumnDef;
use keel_query::context::{ExecCtx, SessionInfo};
use keel_query::scope::{RowSource, VirtualColumn, VirtualTable};
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};
use std::sync::Arc;

/// Longest value of a max type, bytes.
const VALUE_BYTES_MAX: u64 = (1 << 31) - 1;

/// What makes one value of a file.
#[derive(Clone, Copy)]
enum Single {
    Clob,
    NClob,
    Blob,
}

impl Single {
    fn named(name: &str) -> Option<Single> {
        match name {
            "SINGLE_CLOB" => Some(Single::Clob),
            "SINGLE_NCLOB" => Some(Single::NClob),
            "SINGLE_BLOB" => Some(Single::Blob),
            _ => None,
        }
    }

    fn ty(self) -> SqlType {
        match self {
            Single::Clob => SqlType::VarChar(Length::Max),
            Single::NClob => SqlType::NVarChar(Length::Max),
            Single::Blob => SqlType::VarBinary(Length::Max),
        }
    }

    /// The value; of SINGLE_CLOB in UTF-8, with or without its mark, or what is not in Windows-1252.
    fn value(self, bytes: Vec<u8>, name: &str) -> Result<Value> {
        match self {
            Single::Blob => Ok(Value::bytes(bytes)),
            Single::Clob => {
                let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(&bytes);
                Ok(Value::Str(narrow(bytes).into()))
            }
            Single::NClob if bytes.starts_with(&[0xFF, 0xFE]) => Ok(Value::Str(decoded(&bytes).into())),
            Single::NClob => {
                let text = format!(
                    "SINGLE_NCLOB requires a UNICODE (widechar) input file. The file \"{name}\" is not Unicode."
                );
                Err(failed(4809, text))
            }
        }
    }
}

/// A file as one value.
struct OneValue {
    file: String,
    single: Single,
    columns: [VirtualColumn; 1],
}

impl VirtualTable for OneValue {
    fn columns(&self) -> &[VirtualColumn] {
        &self.columns
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, _: &[Value]) -> Result<RowSource> {
        let info = Info::of(ctx.session);
        may_read(info)?;
        let bytes = whole(&*data_file(info, &self.file)?, &self.file, VALUE_BYTES_MAX)?;
        let value = self.single.value(bytes, &self.file)?;
        Ok(Box::new(std::iter::once(Ok(vec![value]))))
    }
    fn row_count_estimate(&self) -> u64 {
        1
    }
}

/// A file whose rows a format file describes.
struct Described {
    file: String,
    options: Options,
    layout: Vec<HostField>,
    columns: Arc<[ColumnDef]>,
    shown: Vec<VirtualColumn>,
}

impl VirtualTable for Described {
    fn columns(&self) -> &[VirtualColumn] {
        &self.shown
    }
    fn open(&self, ctx: &mut ExecCtx<'_>, _: &[Value]) -> Result<RowSource> {
        let info = Info::of(ctx.session);
        may_read(info)?;
        let file = data_file(info, &self.file)?;
        let input = Input::new(file, self.file.clone(), self.options.form(true));
        let rejected = self.options.rejected(info)?;
        let width = self.layout.len();
        let reader = Reader::new(input, self.options.clone(), width, Some(self.layout.clone()), rejected);
        let places = (0..self.columns.len()).map(|column| reader.place(column)).collect();
        Ok(Box::new(Rows { reader, columns: Arc::clone(&self.columns), places, last: None, over: false }))
    }
    fn tell(&self, session: &dyn SessionInfo, error: Box<SqlError>) -> Result<()> {
        if is_fatal(&error) {
            return Err(error);
        }
        Info::of(session).say(error);
        Ok(())
    }
    fn row_count_estimate(&self) -> u64 {
        self.options.rows_expected.unwrap_or(1_000)
    }
}

/// Rows on their way.
struct Rows {
    reader: Reader,
    columns: Arc<[ColumnDef]>,
    /// The field of each column.
    places: Vec<Option<usize>>,
    /// What ends it.
    last: Option<Box<SqlError>>,
    over: bool,
}

impl Rows {
    fn row(&self) -> Result<Vec<Value>> {
        let value = |(at, column): (&Option<usize>, &ColumnDef)| {
            let value = match at {
                Some(at) => self.reader.value(*at, column)?,
                None => Value::Null,
            };
            match value {
                Value::Null if !column.nullable => {
                    Err(self.reader.unexpected_null(at.unwrap_or_default(), &column.name))
                }
                value => Ok(value),
            }
        };
        self.places.iter().zip(&*self.columns).map(value).collect()
    }
}

impl Iterator for Rows {
    type Item = Result<Vec<Value>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        if let Some(e) = self.last.take() {
            self.over = true;
            return Some(Err(e));
        }
        let row = match self.reader.advance() {
            Ok(true) => self.row(),
            Ok(false) => {
                self.over = true;
                return None;
            }
            Err(e) => Err(e),
        };
        match &row {
            Err(e) if is_fatal(e) => self.over = true,
            // More of these than MAXERRORS end it behind the last of them.
            Err(e) => self.last = self.reader.reject(e).err(),
            Ok(_) => {}
        }
        Some(row)
    }
}

fn may_read(info: &Info) -> Result<()> {
    if info.may_on_server("ADMINISTER BULK OPERATIONS") {
        return Ok(());
    }
    Err(failed(4834, "You do not have permission to use the bulk load statement.".to_owned()))
}

/// What `OPENROWSET (BULK 'file', options)` reads, and of a format file what it says. Errors: 102 of options that are none
/// or lack a format file, 4834 without permission, those of [`layout::format_file`].
pub(crate) fn bulk_rowset(
    info: &Info,
    file: &str,
    options: &[ast::Opt],
) -> Result<(Arc<dyn VirtualTable>, Option<FormatFile>)> {
    let file = file.to_owned();
    if let Some(single) = options.iter().find_map(|o| Single::named(&o.name)) {
        let columns = [VirtualColumn::new("BulkColumn", single.ty())];
        return Ok((Arc::new(OneValue { file, single, columns }), None));
    }
    let options = Options::read(options)?;
    let Some(name) = options.format_file.clone() else {
        return Err(SqlError::new(102, 15, 1, "Incorrect syntax near ')'."));
    };
    may_read(info)?;
    let said = format_text(info, &name)?;
    let columns = columns::described(&said, &name)?;
    let layout = layout::format_file(&said, &name, &columns)?;
    let options = options.with_layout(&layout);
    let shown = |c: &ColumnDef| VirtualColumn {
        nullable: c.nullable,
        collation: c.collation,
        ..VirtualColumn::new(c.name.as_str(), c.ty)
    };
    let shown = columns.iter().map(shown).collect();
    let table = Described { file, options, layout, columns: columns.into(), shown };
    Ok((Arc::new(table), Some(FormatFile { name, said })))
}

/// A format file with what it said when a query was compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormatFile {
    name: String,
    said: String,
}

impl FormatFile {
    /// Whether it still says the same.
    pub(crate) fn is_as_it_was(&self, info: &Info) -> bool {
        format_text(info, &self.name).is_ok_and(|text| text == self.said)
    }
}

/// What a format file says now.
pub(super) fn format_text(info: &Info, name: &str) -> Result<String> {
    let file = data_file(info, name)?;
    whole(&*file, name, FORMAT_BYTES_MAX).map(|bytes| decoded(&bytes))
}
