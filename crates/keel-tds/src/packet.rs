//! The packet header (2.2.3.1): who frames what.
//!
//! | offset | bytes | field |
//! | --- | --- | --- |
//! | 0 | 1 | type |
//! | 1 | 1 | status, a bit set |
//! | 2 | 2 | length of the packet with this header, network order |
//! | 4 | 2 | server process id, network order |
//! | 6 | 1 | packet id, counts modulo 256; not checked by either side |
//! | 7 | 1 | window, 0 |

use crate::bits::bit_set;
use crate::error::{DecodeError, Result};
use crate::limits::{HEADER_BYTES, PACKET_BYTES_MAX};

/// Type of a message (2.2.3.1.1), the same in each of its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PacketType {
    /// A batch of SQL text.
    SqlBatch = 0x01,
    /// Login of versions before 7.0; refused.
    PreTds7Login = 0x02,
    /// Remote procedure calls.
    Rpc = 0x03,
    /// What the server answers.
    TabularResult = 0x04,
    /// Cancel what is running.
    Attention = 0x06,
    /// Rows of a bulk load.
    BulkLoad = 0x07,
    /// Token of federated authentication.
    FederatedToken = 0x08,
    /// Begin, commit, roll back by request.
    TransactionManager = 0x0E,
    /// LOGIN7.
    Login7 = 0x10,
    /// Integrated security.
    Sspi = 0x11,
    /// PRELOGIN, also the wrapper of TLS handshakes.
    PreLogin = 0x12,
}

impl PacketType {
    /// From its code.
    pub fn from_code(code: u8) -> Result<PacketType> {
        Ok(match code {
            0x01 => PacketType::SqlBatch,
            0x02 => PacketType::PreTds7Login,
            0x03 => PacketType::Rpc,
            0x04 => PacketType::TabularResult,
            0x06 => PacketType::Attention,
            0x07 => PacketType::BulkLoad,
            0x08 => PacketType::FederatedToken,
            0x0E => PacketType::TransactionManager,
            0x10 => PacketType::Login7,
            0x11 => PacketType::Sspi,
            0x12 => PacketType::PreLogin,
            _ => return Err(DecodeError::Unsupported { what: "packet type", code: code.into() }),
        })
    }
}

bit_set! {
    /// Status byte of a packet (2.2.3.1.2).
    Status: u8 {
        /// Last packet of its message.
        END_OF_MESSAGE = 0x01;
        /// The sender gave up in the middle: the whole message is to be ignored.
        IGNORE = 0x02;
        /// Reset the session's state before executing.
        RESET_CONNECTION = 0x08;
        /// The same, but keep the transaction.
        RESET_CONNECTION_KEEP_TRANSACTION = 0x10;
    }
}

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type of the message.
    pub kind: PacketType,
    /// Status bits.
    pub status: Status,
    /// Length with the header, checked to be 8..=32767.
    pub length: usize,
    /// Server process id; meaningful from server to client.
    pub spid: u16,
}

impl Header {
    /// The header at the start of `bytes`.
    ///
    /// Valid when: (1) 8 bytes are there, (2) the type is known, (3) the length is at least the header's own and at most
    /// the largest packet size.
    pub fn decode(bytes: &[u8]) -> Result<Header> {
        let Some(&[kind, status, l0, l1, s0, s1, _id, _window]) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(DecodeError::Incomplete);
        };
        let kind = PacketType::from_code(kind)?;
        let length = usize::from(u16::from_be_bytes([l0, l1]));
        if length < HEADER_BYTES {
            return Err(DecodeError::Malformed("packet length"));
        }
        if length > PACKET_BYTES_MAX {
            return Err(DecodeError::Limit("packet length"));
        }
        Ok(Header { kind, status: Status(status), length, spid: u16::from_be_bytes([s0, s1]) })
    }

    /// The header as bytes, with its packet id.
    #[must_use]
    pub fn encode(&self, id: u8) -> [u8; HEADER_BYTES] {
        let [l0, l1] = u16::try_from(self.length).expect("a packet is at most 32767 bytes").to_be_bytes();
        let [s0, s1] = self.spid.to_be_bytes();
        [self.kind as u8, self.status.0, l0, l1, s0, s1, id, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_round_trips_with_combined_status_bits() {
        let header = Header {
            kind: PacketType::Rpc,
            status: Status::END_OF_MESSAGE | Status::RESET_CONNECTION,
            length: 77,
            spid: 51,
        };
        assert_eq!(Header::decode(&header.encode(3)), Ok(header));
        assert!(header.status.contains(Status::RESET_CONNECTION));
        assert!(!header.status.contains(Status::IGNORE));
    }

    #[test]
    fn lengths_are_checked_before_use() {
        assert_eq!(Header::decode(&[1, 1, 0, 7, 0, 0, 0, 0]), Err(DecodeError::Malformed("packet length")));
        assert_eq!(Header::decode(&[1, 1, 0xFF, 0xFF, 0, 0, 0, 0]), Err(DecodeError::Limit("packet length")));
        assert_eq!(Header::decode(&[1, 1, 0]), Err(DecodeError::Incomplete));
        assert!(matches!(Header::decode(&[0x55, 1, 0, 8, 0, 0, 0, 0]), Err(DecodeError::Unsupported { .. })));
    }
}
