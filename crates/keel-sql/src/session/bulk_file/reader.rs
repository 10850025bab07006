//! The rows of a data file: where its fields end, and what value one is for a column.

use super::input::{End, Input, find};
use super::layout::{Host, HostField};
use super::options::Options;
use super::rejected::Rejected;
use super::{failed, native};
use keel_query::catalog::ColumnDef;
use keel_types::error::Result;
use keel_types::{Length, SqlError, SqlType, Value};

/// Longest value whose length is told.
const VALUE_BYTES_MAX: usize = i32::MAX as usize;
/// Longest field of a column that is not of a max type, in bytes.
const FIELD_BYTES_MAX: usize = 8_000;

/// One field: its bytes, whether it was quoted, and whether its length said NULL.
#[derive(Default)]
struct Field {
    bytes: Vec<u8>,
    quoted: bool,
    null: bool,
}

pub(super) struct Reader {
    input: Input,
    pub(super) options: Options,
    fields: Vec<Field>,
    /// Where values end and what they are, unless they are text between the options' terminators.
    layout: Option<Vec<HostField>>,
    /// The number of the row, from 1.
    pub(super) row: u64,
    rejected: Option<Rejected>,
    bad_rows: u64,
}

impl Reader {
    /// A reader of rows of `width` fields. `rejected` takes the rows that cannot be converted.
    pub(super) fn new(
        mut input: Input,
        options: Options,
        width: usize,
        layout: Option<Vec<HostField>>,
        rejected: Option<Rejected>,
    ) -> Reader {
        let fields = (0..width).map(|_| Field::default()).collect();
        input.keep_rows = rejected.is_some();
        Reader { input, options, fields, layout, row: 0, rejected, bad_rows: 0 }
    }

    /// Goes to the next row that FIRSTROW and LASTROW take; false behind the last.
    pub(super) fn advance(&mut self) -> Result<bool> {
        while self.row < self.options.last_row {
            if !self.fields()? {
                return Ok(false);
            }
            if self.row >= self.options.first_row {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Counts this row as one that cannot be converted: 4865 when there are more than MAXERRORS.
    pub(super) fn reject(&mut self, why: &SqlError) -> Result<()> {
        if let Some(rejected) = &mut self.rejected {
            let (offset, bytes) = self.input.row();
            rejected.add(self.row, offset, bytes, self.input.is_wide(), why)?;
        }
        self.bad_rows += 1;
        let most = self.options.errors_max;
        if self.bad_rows > most {
            let text =
                format!("Cannot bulk load because the maximum number of errors ({most}) was exceeded.");
            return Err(failed(4865, text));
        }
        Ok(())
    }

    /// The next row's fields; false at the end of the file.
    fn fields(&mut self) -> Result<bool> {
        if self.input.at_end()? {
            return Ok(false);
        }
        self.input.begin_row();
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
    pub(super) fn place(&self, column: usize) -> Option<usize> {
        match &self.layout {
            Some(layout) => layout.iter().position(|f| f.column == Some(column)),
            None => Some(column),
        }
    }

    /// The value of a field for a column.
    pub(super) fn value(&self, at: usize, column: &ColumnDef) -> Result<Value> {
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

    /// Error 4869 of this row: a column that allows no NULL would have it, or its field has.
    pub(super) fn unexpected_null(&self, at: usize, column: &str) -> Box<SqlError> {
        let text = format!(
            "The bulk load failed. Unexpected NULL value in data file row {}, column {}. The destination column ({column}) is defined as NOT NULL.",
            self.row,
            at + 1,
        );
        failed(4869, text)
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

/// Errors that end the reading whatever MAXERRORS is; others are of one row.
pub(super) fn is_fatal(e: &SqlError) -> bool {
    !matches!(e.number, 4863 | 4864 | 4867 | 4869)
}
