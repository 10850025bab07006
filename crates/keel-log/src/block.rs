//! The block: the unit that is written, checked, chained and sent.
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 4 | magic | `KLB1` |
//! | 4 | 1 | version | 1 |
//! | 5 | 1 | flags | bit 0: the payload begins inside an append; bit 1: it ends inside one; others 0 |
//! | 6 | 2 | header length | 64 |
//! | 8 | 4 | log id | chosen when the log was made; the same on every replica |
//! | 12 | 4 | previous | checksum field of the block before; for the first block of a log, its log id |
//! | 16 | 8 | epoch | configuration number of the primary that wrote it |
//! | 24 | 8 | first LSN | position of the first payload byte |
//! | 32 | 4 | payload length | 1 ..= 61,376 |
//! | 36 | 4 | incarnation | random per opening of the log by its writer, so that two blocks written at one position after a crash never have equal checksums |
//! | 40 | 8 | hardened | what the writer knew to be safe when it sealed the block: its hardened LSN, in a group the lower of that and what all had agreed on |
//! | 48 | 12 | reserved | 0 |
//! | 60 | 4 | checksum | CRC32C of bytes 0..60 and of the payload |
//! | 64 | n | payload | |
//! | | | padding | zeros up to a multiple of 512; not covered by the checksum |
//!
//! All numbers are little-endian. A block is valid when: magic, version, header length and reserved bytes are as above,
//! the length is in range, unknown flags are 0, and the checksum agrees. It is *next* when also the log id is the log's,
//! the first LSN is where the last block ended, and `previous` is the last block's checksum.
//! A reader refuses a version it does not know; a writer writes the newest.

use keel_base::{Epoch, Lsn};

/// `KLB1`, little-endian.
pub const MAGIC: u32 = u32::from_le_bytes(*b"KLB1");
/// The version this code writes.
pub const VERSION: u8 = 1;
/// Bytes before the payload.
pub const HEADER_BYTES: usize = 64;
/// Blocks begin on multiples of this: a power cut cannot split it.
pub const SECTOR_BYTES: usize = 512;
/// The longest block, header included.
pub const BLOCK_BYTES_MAX: usize = 60 * 1024;
/// The longest payload.
pub const PAYLOAD_BYTES_MAX: usize = BLOCK_BYTES_MAX - HEADER_BYTES;
/// Flag: the first payload byte continues an append begun in an earlier block.
pub const FLAG_CONTINUES: u8 = 1;
/// Flag: the last append in this block goes on in the next.
pub const FLAG_UNFINISHED: u8 = 2;

const MAGIC_AT: usize = 0;
const VERSION_AT: usize = MAGIC_AT + 4;
const FLAGS_AT: usize = VERSION_AT + 1;
const HEADER_LENGTH_AT: usize = FLAGS_AT + 1;
const LOG_ID_AT: usize = HEADER_LENGTH_AT + 2;
const PREVIOUS_AT: usize = LOG_ID_AT + 4;
const EPOCH_AT: usize = PREVIOUS_AT + 4;
const FIRST_LSN_AT: usize = EPOCH_AT + 8;
const LENGTH_AT: usize = FIRST_LSN_AT + 8;
const INCARNATION_AT: usize = LENGTH_AT + 4;
const HARDENED_AT: usize = INCARNATION_AT + 4;
const RESERVED_AT: usize = HARDENED_AT + 8;
const CHECKSUM_AT: usize = RESERVED_AT + 12;

const _: () = assert!(CHECKSUM_AT + 4 == HEADER_BYTES);
const _: () = assert!(BLOCK_BYTES_MAX.is_multiple_of(SECTOR_BYTES));
const _: () = assert!(HEADER_BYTES < SECTOR_BYTES);

/// The decoded header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// [`FLAG_CONTINUES`] and [`FLAG_UNFINISHED`].
    pub flags: u8,
    /// Which log this block belongs to.
    pub log_id: u32,
    /// Checksum of the block before.
    pub previous: u32,
    /// Configuration number of the writer.
    pub epoch: Epoch,
    /// Position of the first payload byte.
    pub first_lsn: Lsn,
    /// Payload bytes.
    pub payload_len: u32,
    /// Random per opening by the writer.
    pub incarnation: u32,
    /// What the writer knew to be hardened (in a group: agreed) at sealing.
    pub hardened: Lsn,
    /// CRC32C; filled by [`seal`] and by [`decode`].
    pub checksum: u32,
}

impl Header {
    /// Position after the last payload byte.
    pub fn end_lsn(&self) -> Lsn {
        self.first_lsn.advance(u64::from(self.payload_len))
    }

    /// Bytes the block takes in its segment.
    pub fn stored_bytes(&self) -> usize {
        stored_bytes(self.payload_len as usize)
    }
}

/// Bytes a block with this payload takes in its segment.
pub const fn stored_bytes(payload_len: usize) -> usize {
    (HEADER_BYTES + payload_len).next_multiple_of(SECTOR_BYTES)
}

/// Why bytes are not a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// Fewer bytes than a header, or than the header's length says.
    Short,
    /// Another magic number: no block was ever here.
    Magic,
    /// A version this code does not know.
    Version(u8),
    /// A field out of range.
    Field,
    /// The checksum disagrees.
    Checksum,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut field = [0; 4];
    field.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(field)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut field = [0; 8];
    field.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(field)
}

/// Writes the header in front of a payload that already lies at `HEADER_BYTES..` of `block`, and returns the checksum.
/// `block` is header and payload without padding.
pub fn seal(block: &mut [u8], header: &Header) -> u32 {
    assert!(block.len() == HEADER_BYTES + header.payload_len as usize, "the block holds exactly its payload");
    assert!((1..=PAYLOAD_BYTES_MAX).contains(&(header.payload_len as usize)), "payload length out of range");
    block[MAGIC_AT..][..4].copy_from_slice(&MAGIC.to_le_bytes());
    block[VERSION_AT] = VERSION;
    block[FLAGS_AT] = header.flags;
    block[HEADER_LENGTH_AT..][..2].copy_from_slice(&(HEADER_BYTES as u16).to_le_bytes());
    block[LOG_ID_AT..][..4].copy_from_slice(&header.log_id.to_le_bytes());
    block[PREVIOUS_AT..][..4].copy_from_slice(&header.previous.to_le_bytes());
    block[EPOCH_AT..][..8].copy_from_slice(&header.epoch.0.to_le_bytes());
    block[FIRST_LSN_AT..][..8].copy_from_slice(&header.first_lsn.0.to_le_bytes());
    block[LENGTH_AT..][..4].copy_from_slice(&header.payload_len.to_le_bytes());
    block[INCARNATION_AT..][..4].copy_from_slice(&header.incarnation.to_le_bytes());
    block[HARDENED_AT..][..8].copy_from_slice(&header.hardened.0.to_le_bytes());
    block[RESERVED_AT..][..12].fill(0);
    let checksum = checksum(block);
    block[CHECKSUM_AT..][..4].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

fn checksum(block: &[u8]) -> u32 {
    let head = crc32c::crc32c(&block[..CHECKSUM_AT]);
    crc32c::crc32c_append(head, &block[HEADER_BYTES..])
}

/// Decodes and checks the fields of a header; the payload is not looked at.
pub fn decode_header(bytes: &[u8]) -> Result<Header, Invalid> {
    if bytes.len() < HEADER_BYTES {
        return Err(Invalid::Short);
    }
    if u32_at(bytes, MAGIC_AT) != MAGIC {
        return Err(Invalid::Magic);
    }
    if bytes[VERSION_AT] != VERSION {
        return Err(Invalid::Version(bytes[VERSION_AT]));
    }
    let header_length = u16::from_le_bytes([bytes[HEADER_LENGTH_AT], bytes[HEADER_LENGTH_AT + 1]]);
    let header = Header {
        flags: bytes[FLAGS_AT],
        log_id: u32_at(bytes, LOG_ID_AT),
        previous: u32_at(bytes, PREVIOUS_AT),
        epoch: Epoch(u64_at(bytes, EPOCH_AT)),
        first_lsn: Lsn(u64_at(bytes, FIRST_LSN_AT)),
        payload_len: u32_at(bytes, LENGTH_AT),
        incarnation: u32_at(bytes, INCARNATION_AT),
        hardened: Lsn(u64_at(bytes, HARDENED_AT)),
        checksum: u32_at(bytes, CHECKSUM_AT),
    };
    let known_flags = header.flags & !(FLAG_CONTINUES | FLAG_UNFINISHED) == 0;
    let length_fits = (1..=PAYLOAD_BYTES_MAX).contains(&(header.payload_len as usize));
    let end_fits = header.first_lsn.0.checked_add(u64::from(header.payload_len)).is_some();
    let reserved_zero = bytes[RESERVED_AT..CHECKSUM_AT].iter().all(|b| *b == 0);
    if usize::from(header_length) != HEADER_BYTES
        || !known_flags
        || !length_fits
        || !end_fits
        || !reserved_zero
    {
        return Err(Invalid::Field);
    }
    Ok(header)
}

/// Decodes and checks a whole block at the start of `bytes`.
pub fn decode(bytes: &[u8]) -> Result<Header, Invalid> {
    let header = decode_header(bytes)?;
    let end = HEADER_BYTES + header.payload_len as usize;
    if bytes.len() < end {
        return Err(Invalid::Short);
    }
    if !cfg!(fuzzing) && checksum(&bytes[..end]) != header.checksum {
        return Err(Invalid::Checksum);
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Vec<u8>, Header) {
        let payload = b"sixteen bytes ok";
        let mut header = Header {
            flags: FLAG_CONTINUES,
            log_id: 7,
            previous: 0xAABB_CCDD,
            epoch: Epoch(3),
            first_lsn: Lsn(1000),
            payload_len: payload.len() as u32,
            incarnation: 99,
            hardened: Lsn(900),
            checksum: 0,
        };
        let mut block = vec![0; HEADER_BYTES];
        block.extend_from_slice(payload);
        header.checksum = seal(&mut block, &header);
        (block, header)
    }

    #[test]
    fn what_is_sealed_is_decoded() {
        let (block, header) = sample();
        assert_eq!(decode(&block), Ok(header));
        assert_eq!(header.end_lsn(), Lsn(1016));
        assert_eq!(header.stored_bytes(), SECTOR_BYTES);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let (block, _) = sample();
        for byte in 0..block.len() {
            for bit in 0..8 {
                let mut bad = block.clone();
                bad[byte] ^= 1 << bit;
                assert!(decode(&bad).is_err(), "byte {byte} bit {bit}");
            }
        }
    }

    #[test]
    fn every_short_read_is_noticed() {
        let (block, _) = sample();
        for len in 0..block.len() {
            assert!(decode(&block[..len]).is_err());
        }
    }

    /// A block of version 1 as its first release wrote it; must stay readable for ever.
    #[test]
    fn the_frozen_block_of_version_1_is_read() {
        let (block, header) = sample();
        let frozen: Vec<u8> = FROZEN.split_whitespace().map(|h| u8::from_str_radix(h, 16).unwrap()).collect();
        assert_eq!(frozen, block);
        assert_eq!(decode(&frozen), Ok(header));
    }

    const FROZEN: &str = include_str!("../fixtures/v1/block.hex");
}
