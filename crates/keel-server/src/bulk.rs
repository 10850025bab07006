//! The rows of a bulk load, taken off the wire packet by packet.

use std::borrow::Cow;
use std::sync::Arc;

use keel_sql::{BulkRow, BulkSource, Cell};
use keel_tds::packet::{PacketType, Status};
use keel_tds::request::bulk::{BulkReader, RowVisitor, Step};
use keel_tds::token::Column;
use keel_tds::{Data, Dialect};
use keel_types::error::Result;
use keel_types::{SqlError, SqlType};

use crate::decode;
use crate::link::Link;

/// The error of a load that its client gave up: its last packet says that all of them are to be ignored (MS-TDS 2.2.3.1.2).
/// It undoes the load, and is told nobody.
pub(crate) const GIVEN_UP: i32 = 3617;

/// A [`BulkSource`] over a connection whose next packets are a bulk load.
pub struct WireBulk<'a> {
    link: &'a Arc<Link>,
    dialect: Dialect,
    encrypts: bool,
    reader: BulkReader,
    last: bool,
    text: String,
    /// The client's packets made no sense: where its next message begins is not known.
    pub failed: bool,
}

impl<'a> WireBulk<'a> {
    /// Over a connection whose next packet has a bulk load header.
    #[must_use]
    pub fn new(link: &'a Arc<Link>, dialect: Dialect, encrypts: bool) -> WireBulk<'a> {
        WireBulk {
            link,
            dialect,
            encrypts,
            reader: BulkReader::new(dialect, encrypts),
            last: false,
            text: String::new(),
            failed: false,
        }
    }

    /// Takes one packet.
    fn read_packet(&mut self) -> Result<()> {
        let reader = &mut self.reader;
        let mut socket = &self.link.socket;
        let read = self.link.wire.lock().read_packet(&mut socket, |header, payload| {
            if header.kind == PacketType::BulkLoad {
                reader.feed(payload).map(|()| header.status)
            } else {
                Err(keel_tds::DecodeError::Malformed("packet inside a bulk load"))
            }
        });
        match read {
            Ok(Ok(status)) => {
                self.last = status.contains(Status::END_OF_MESSAGE);
                if status.contains(Status::IGNORE) {
                    let text = "The request was aborted by the client.";
                    return Err(SqlError::new(GIVEN_UP, 11, 1, text));
                }
                Ok(())
            }
            _ => {
                self.failed = true;
                Err(bad_stream())
            }
        }
    }

    /// Reads what the session did not want, so that the next message can be found.
    pub fn drain(&mut self) {
        while !self.last && !self.failed {
            self.reader = BulkReader::new(self.dialect, self.encrypts);
            if self.read_packet().is_err() {
                return;
            }
        }
    }
}

fn bad_type(column: usize) -> Box<SqlError> {
    SqlError::new(4816, 16, 1, format!("Invalid column type from bcp client for colid {column}."))
}

fn bad_stream() -> Box<SqlError> {
    SqlError::new(
        4804,
        21,
        1,
        "While reading bulk load data, the incoming tabular data stream was incorrect.",
    )
}

impl BulkSource for WireBulk<'_> {
    fn types(&mut self) -> Result<Vec<SqlType>> {
        loop {
            match self.reader.read_metadata(self.last) {
                Ok(true) => break,
                Ok(false) => self.read_packet()?,
                Err(_) => {
                    self.failed = true;
                    return Err(bad_stream());
                }
            }
        }
        let columns = self.reader.columns().unwrap_or_default().iter().enumerate();
        let ty = |c: &Column| match &c.crypto {
            Some(crypto) => decode::encrypted_type(&crypto.ty, crypto.kind, crypto.key.as_ref()?.id),
            None => decode::sql_type(&c.ty),
        };
        columns.map(|(i, c)| ty(c).ok_or_else(|| bad_type(i + 1))).collect()
    }

    fn next(&mut self, row: &mut dyn BulkRow) -> Result<bool> {
        loop {
            let mut values = Values { row: &mut *row, text: &mut self.text, failed: None };
            match self.reader.step(self.last, &mut values) {
                Ok(Step::Row) => return values.failed.map_or(Ok(true), Err),
                Ok(Step::Done) => return Ok(false),
                Ok(Step::NeedMore) => self.read_packet()?,
                Err(_) => {
                    self.failed = true;
                    return Err(bad_stream());
                }
            }
        }
    }
}

/// Hands wire values on as the session takes them.
struct Values<'a> {
    row: &'a mut dyn BulkRow,
    /// Room for strings that have to be converted.
    text: &'a mut String,
    /// The first error of this row.
    failed: Option<Box<SqlError>>,
}

impl RowVisitor for Values<'_> {
    fn start(&mut self) {
        self.failed = None;
        self.row.start();
    }

    fn value(&mut self, index: usize, column: &Column, data: Data<'_>) {
        if self.failed.is_some() {
            return;
        }
        let put = match decode::cell(&column.ty, data, self.text) {
            Some(cell) => self.row.put(index, cell),
            None => Err(SqlError::new(4815, 16, 1, "Received an invalid value from bcp client.")),
        };
        self.failed = put.err();
    }

    fn int(&mut self, index: usize, _: &Column, value: i32) {
        if self.failed.is_none() {
            self.failed = self.row.put(index, Cell::Int(value.into())).err();
        }
    }

    fn chars(&mut self, index: usize, column: &Column, bytes: &[u8]) {
        if !bytes.is_ascii() {
            self.value(index, column, Data::Char(Cow::Borrowed(bytes)));
        } else if self.failed.is_none() {
            self.failed = self.row.put(index, Cell::Ascii(bytes)).err();
        }
    }
}
