//! The rows of a bulk load, taken off the wire packet by packet.

use std::sync::Arc;

use keel_sql::BulkSource;
use keel_tds::packet::{PacketType, Status};
use keel_tds::request::bulk::{BulkReader, Step};
use keel_types::error::Result;
use keel_types::{SqlError, Value};

use crate::decode;
use crate::link::Link;

/// A [`BulkSource`] over a connection whose next packets are a bulk load.
pub struct WireBulk<'a> {
    link: &'a Arc<Link>,
    reader: BulkReader,
    last: bool,
    /// The client gave up in the middle, or its packets made no sense: the rest of the message is of no use.
    pub failed: bool,
}

impl<'a> WireBulk<'a> {
    /// Over a connection whose next packet has a bulk load header.
    #[must_use]
    pub fn new(link: &'a Arc<Link>) -> WireBulk<'a> {
        WireBulk { link, reader: BulkReader::new(), last: false, failed: false }
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
                    self.failed = true;
                    return Err(SqlError::new(3617, 11, 1, "The request was aborted by the client."));
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
            self.reader = BulkReader::new();
            if self.read_packet().is_err() {
                return;
            }
        }
    }
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
    fn next(&mut self, row: &mut Vec<Value>) -> Result<bool> {
        loop {
            row.clear();
            let mut good = true;
            let step = self.reader.step(self.last, |columns, values| {
                for (column, data) in columns.iter().zip(values) {
                    match decode::value(&column.ty, data.clone()) {
                        Some((_, v)) => row.push(v),
                        None => good = false,
                    }
                }
            });
            match step {
                Ok(Step::Row) if good => return Ok(true),
                Ok(Step::Done) => return Ok(false),
                Ok(Step::NeedMore) => self.read_packet()?,
                Ok(Step::Row) => {
                    return Err(SqlError::new(4815, 16, 1, "Received an invalid value from bcp client."));
                }
                Err(_) => {
                    self.failed = true;
                    return Err(bad_stream());
                }
            }
        }
    }
}
