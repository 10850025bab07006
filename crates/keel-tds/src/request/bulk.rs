//! Bulk load (2.2.6.1): COLMETADATA, rows, DONE, from the client, in a message of any length.
//!
//! Fed packet by packet; rows come out as soon as they are whole. What is buffered is at most one row and one packet.

use crate::bytes::Reader;
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::token::column::{self, Column};
use crate::token::{COLMETADATA, DONE, NBCROW, ROW};
use crate::type_info::{MAX, TypeInfo};
use crate::value::{CHARBIN_NULL, Data, Place, decode_bare};
use std::borrow::Cow;

/// Takes the values of rows as they are decoded.
pub trait RowVisitor {
    /// A row begins, or begins again: what came of it before was not all of it.
    fn start(&mut self);
    /// The value of column `index`, which borrows from the reader's buffer.
    fn value(&mut self, index: usize, column: &Column, data: Data<'_>);
    /// The same for an int, as which most numbers come.
    fn int(&mut self, index: usize, column: &Column, value: i32) {
        self.value(index, column, Data::Int(value));
    }
    /// The same for a char or varchar of limited length, in the code page of its collation.
    fn chars(&mut self, index: usize, column: &Column, bytes: &[u8]) {
        self.value(index, column, Data::Char(Cow::Borrowed(bytes)));
    }
}

/// What comes next out of a bulk load.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// The visitor has had a whole row.
    Row,
    /// More bytes are needed.
    NeedMore,
    /// The client is done.
    Done,
}

/// Decoder of a bulk load message.
#[derive(Debug, Default)]
pub struct BulkReader {
    dialect: Dialect,
    encrypts: bool,
    buffer: Vec<u8>,
    at: usize,
    columns: Option<Vec<Column>>,
    done: bool,
    /// Bytes that must be buffered before decoding is tried again: doubles while one huge row arrives, so that the work
    /// stays linear.
    retry_at: usize,
}

impl BulkReader {
    /// An empty decoder. `encrypts`: the client has the feature of encrypted columns.
    #[must_use]
    pub fn new(dialect: Dialect, encrypts: bool) -> BulkReader {
        BulkReader { dialect, encrypts, ..BulkReader::default() }
    }
    /// Adds the payload of a packet.
    pub fn feed(&mut self, payload: &[u8]) -> Result<()> {
        self.buffer.drain(..self.at);
        self.at = 0;
        if self.buffer.len() + payload.len() > MESSAGE_BYTES_MAX {
            return Err(DecodeError::Limit("row length"));
        }
        self.buffer.extend_from_slice(payload);
        Ok(())
    }
    /// The columns, once they have arrived.
    #[must_use]
    pub fn columns(&self) -> Option<&[Column]> {
        self.columns.as_deref()
    }
    /// Decodes the columns if they have not been and are here; false when they are not yet. With `last`, no more bytes
    /// will come.
    pub fn read_metadata(&mut self, last: bool) -> Result<bool> {
        if self.columns.is_none() {
            match self.read_columns() {
                Ok(()) => {}
                Err(DecodeError::Incomplete) if !last => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Decodes the next row. With `last`, no more bytes will come.
    pub fn step(&mut self, last: bool, row: &mut impl RowVisitor) -> Result<Step> {
        if self.done {
            return Ok(Step::Done);
        }
        if !self.read_metadata(last)? || self.buffer.len() - self.at < self.retry_at && !last {
            return Ok(Step::NeedMore);
        }
        let columns = self.columns.as_deref().expect("read above");
        let mut r = Reader::new(&self.buffer[self.at..]);
        let decoded = match r.u8() {
            Ok(ROW) => visit_row(&mut r, columns, row),
            Ok(NBCROW) => visit_nbc_row(&mut r, columns, row),
            Ok(DONE) => {
                self.done = true;
                return Ok(Step::Done);
            }
            Ok(code) => Err(DecodeError::Unsupported { what: "bulk load token", code: code.into() }),
            // Some clients end the message without a DONE.
            Err(_) if last => {
                self.done = true;
                return Ok(Step::Done);
            }
            Err(e) => Err(e),
        };
        match decoded {
            Ok(()) => {
                self.at = self.buffer.len() - r.remaining();
                self.retry_at = 0;
                Ok(Step::Row)
            }
            Err(DecodeError::Incomplete) if !last => {
                self.retry_at = if self.buffer.len() - self.at > 64 * 1024 {
                    (self.buffer.len() - self.at) * 2
                } else {
                    0
                };
                Ok(Step::NeedMore)
            }
            Err(e) => Err(e),
        }
    }

    fn read_columns(&mut self) -> Result<()> {
        let mut r = Reader::new(&self.buffer[self.at..]);
        if r.u8()? != COLMETADATA {
            return Err(DecodeError::Malformed("bulk load without columns"));
        }
        self.columns = Some(column::decode_of_load(&mut r, self.dialect, self.encrypts)?);
        self.at = self.buffer.len() - r.remaining();
        Ok(())
    }
}

fn visit_row(r: &mut Reader<'_>, columns: &[Column], row: &mut impl RowVisitor) -> Result<()> {
    row.start();
    for (i, column) in columns.iter().enumerate() {
        visit_value(r, i, column, row)?;
    }
    Ok(())
}

#[inline]
fn visit_value(r: &mut Reader<'_>, i: usize, column: &Column, row: &mut impl RowVisitor) -> Result<()> {
    match &column.ty {
        TypeInfo::IntN(_) => match r.b_varbyte()? {
            &[a, b, c, d] => row.int(i, column, i32::from_le_bytes([a, b, c, d])),
            [] => row.value(i, column, Data::Null),
            bytes => row.value(i, column, decode_bare(bytes, &column.ty)?),
        },
        TypeInfo::VarChar(longest, _) | TypeInfo::Char(longest, _) if *longest != MAX => match r.u16()? {
            CHARBIN_NULL => row.value(i, column, Data::Null),
            length => row.chars(i, column, r.take(length.into())?),
        },
        ty => row.value(i, column, Data::decode(r, ty, Place::Row)?),
    }
    Ok(())
}

fn visit_nbc_row(r: &mut Reader<'_>, columns: &[Column], row: &mut impl RowVisitor) -> Result<()> {
    row.start();
    let nulls = r.take(columns.len().div_ceil(8))?;
    for (i, column) in columns.iter().enumerate() {
        let null = nulls[i / 8] & (1 << (i % 8)) != 0;
        if null {
            row.value(i, column, Data::Null);
        } else {
            visit_value(r, i, column, row)?;
        }
    }
    Ok(())
}
