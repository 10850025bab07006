//! Bulk load (2.2.6.1): COLMETADATA, rows, DONE, from the client, in a message of any length.
//!
//! Fed packet by packet; rows come out as soon as they are whole. What is buffered is at most one row and one packet.

use crate::bytes::Reader;
use crate::error::{DecodeError, Result};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::token::column::{self, Column};
use crate::token::row;
use crate::token::{COLMETADATA, DONE, NBCROW, ROW};
use crate::value::Data;

/// What comes next out of a bulk load.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// A row has been put into the caller's vector.
    Row,
    /// More bytes are needed.
    NeedMore,
    /// The client is done.
    Done,
}

/// Decoder of a bulk load message.
#[derive(Debug, Default)]
pub struct BulkReader {
    buffer: Vec<u8>,
    at: usize,
    columns: Option<Vec<Column>>,
    done: bool,
    /// Bytes that must be buffered before decoding is tried again: doubles while one huge row arrives, so that the work
    /// stays linear.
    retry_at: usize,
}

impl BulkReader {
    /// An empty decoder.
    #[must_use]
    pub fn new() -> BulkReader {
        BulkReader::default()
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
    /// Decodes on. `f` gets each row's values, which borrow from the buffer. With `last`, no more bytes will come.
    pub fn step(&mut self, last: bool, f: impl FnOnce(&[Column], &[Data<'_>])) -> Result<Step> {
        if self.done {
            return Ok(Step::Done);
        }
        if self.columns.is_none() {
            match self.read_columns() {
                Ok(()) => {}
                Err(DecodeError::Incomplete) if !last => return Ok(Step::NeedMore),
                Err(e) => return Err(e),
            }
        }
        if self.buffer.len() - self.at < self.retry_at && !last {
            return Ok(Step::NeedMore);
        }
        let columns = self.columns.as_deref().expect("read above");
        let mut r = Reader::new(&self.buffer[self.at..]);
        let values = match r.u8() {
            Ok(ROW) => row::decode_row(&mut r, columns),
            Ok(NBCROW) => row::decode_nbc_row(&mut r, columns),
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
        match values {
            Ok(values) => {
                f(columns, &values);
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
        self.columns = Some(column::decode(&mut r)?);
        self.at = self.buffer.len() - r.remaining();
        Ok(())
    }
}
