//! The block: the unit that is written, checked, chained and sent.
//!
//! | offset | bytes | field | meaning |
//! | ---: | ---: | --- | --- |
//! | 0 | 4 | magic | `KLB1` |
//! | 4 | 1 | version | 1 |
//! | 5 | 1 | flags | bit 0: the payload begins inside an append; bit 1: it ends inside one; bit 2: it announces keys; bits 3 to 7: number of the key that it is encrypted with, 0 for none |
//! | 6 | 2 | header length | 64 |
//! | 8 | 4 | log id | chosen when the log was made; the same on every replica |
//! | 12 | 4 | previous | checksum field of the block before; for the first block of a log, its log id |
//! | 16 | 8 | epoch | configuration number of the primary that wrote it |
//! | 24 | 8 | first LSN | position of the first payload byte |
//! | 32 | 4 | payload length | 1 ..= 61,376 |
//! | 36 | 4 | incarnation | random per opening of the log by its writer, so that two blocks written at one position after a crash never have equal checksums |
//! | 40 | 8 | hardened | what the writer knew to be safe when it sealed the block: its hardened LSN, in a group the lower of that and what all had agreed on |
//! | 48 | 12 | tag | of an encrypted block; otherwise 0 |
//! | 60 | 4 | checksum | CRC32C of bytes 0..60 and of the payload as it is stored |
//! | 64 | n | payload | |
//! | | | padding | zeros up to a multiple of 512; not covered by the checksum |
//!
//! All numbers are little-endian. A block is valid when: magic, version and header length are as above,
//! the length is in range, flags and tag are as above, and the checksum agrees. It is *next* when also the log id is the log's,
//! the first LSN is where the last block ended, and `previous` is the last block's checksum.
//! A reader refuses a version it does not know; a writer writes the newest.
//!
//! # Encrypted blocks
//! The payload is encrypted in place with AES-GCM ([`keel_base::cipher`]): the key is derived for the log, the epoch and the
//! incarnation, the nonce is the first LSN, bytes 0..48 are authenticated with it, and the first 12 bytes of the tag stand in the header.
//! The block stays as long as it was. Chain and checksum are over what is stored, so whoever passes blocks on, finds the end of
//! a log or cuts it needs no key. A block that announces keys (bit 2) holds one append and is never encrypted.

use keel_base::cipher::{BLOCK_TAG_BYTES, BlockSealer, BlockWriter, KEY_NUMBER_MAX};
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
/// Flag: the payload is one append that announces keys, and is not encrypted.
pub const FLAG_KEYS: u8 = 4;
/// The number of the key stands in the bits from here on.
const KEY_SHIFT: u32 = 3;

const _: () = assert!(KEY_NUMBER_MAX == u8::MAX >> KEY_SHIFT);

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
const TAG_AT: usize = HARDENED_AT + 8;
const CHECKSUM_AT: usize = TAG_AT + BLOCK_TAG_BYTES;

const _: () = assert!(CHECKSUM_AT + 4 == HEADER_BYTES);
const _: () = assert!(BLOCK_BYTES_MAX.is_multiple_of(SECTOR_BYTES));
const _: () = assert!(HEADER_BYTES < SECTOR_BYTES);

/// The decoded header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// [`FLAG_CONTINUES`], [`FLAG_UNFINISHED`], [`FLAG_KEYS`], and the number of the [key](Header::key).
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

    /// Number of the key that the payload is encrypted with; 0 for none.
    pub fn key(&self) -> u8 {
        self.flags >> KEY_SHIFT
    }

    /// The same header of a block that is encrypted with another key, or with none.
    ///
    /// # Panics
    /// Of a number that there cannot be.
    #[must_use]
    pub fn with_key(self, number: u8) -> Header {
        assert!(number <= KEY_NUMBER_MAX, "keys are numbered up to {KEY_NUMBER_MAX}");
        let own = FLAG_CONTINUES | FLAG_UNFINISHED | FLAG_KEYS;
        Header { flags: self.flags & own | number << KEY_SHIFT, ..self }
    }

    /// Whose keys its payload is encrypted with.
    pub fn writer(&self) -> BlockWriter {
        BlockWriter {
            key: self.key(),
            log_id: self.log_id,
            epoch: self.epoch.0,
            incarnation: self.incarnation,
        }
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
/// `block` is header and payload without padding. With a sealer, which is that of the header's [writer](Header::writer), the
/// payload is encrypted.
///
/// # Panics
/// Of a payload whose length the header does not name, and when the header names a key and there is no sealer, or the
/// other way round: a block must never say that it is encrypted and not be.
pub fn seal(block: &mut [u8], header: &Header, sealer: Option<&BlockSealer>) -> u32 {
    assert!((header.key() != 0) == sealer.is_some(), "a block is encrypted with the key that it names");
    assert!(header.key() == 0 || header.flags & FLAG_KEYS == 0, "what announces keys can be read without");
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
    block[TAG_AT..CHECKSUM_AT].fill(0);
    if let Some(sealer) = sealer {
        let (head, payload) = block.split_at_mut(HEADER_BYTES);
        let tag = sealer.seal(header.first_lsn.0, &head[..TAG_AT], payload);
        head[TAG_AT..CHECKSUM_AT].copy_from_slice(&tag);
    }
    let checksum = checksum(block);
    block[CHECKSUM_AT..][..4].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// Decrypts the payload of a whole, valid block in place; false when it is not what was sealed.
#[must_use]
pub fn open(block: &mut [u8], header: &Header, sealer: &BlockSealer) -> bool {
    let end = HEADER_BYTES + header.payload_len as usize;
    let Some(block) = block.get_mut(..end) else { return false };
    let (head, payload) = block.split_at_mut(HEADER_BYTES);
    let Some(tag) = head[TAG_AT..CHECKSUM_AT].first_chunk().copied() else { return false };
    sealer.open(header.first_lsn.0, &head[..TAG_AT], payload, &tag)
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
    let plain = header.key() == 0;
    let known_flags = plain || header.flags & FLAG_KEYS == 0;
    let length_fits = (1..=PAYLOAD_BYTES_MAX).contains(&(header.payload_len as usize));
    let end_fits = header.first_lsn.0.checked_add(u64::from(header.payload_len)).is_some();
    let tag_fits = !plain || bytes[TAG_AT..CHECKSUM_AT].iter().all(|b| *b == 0);
    if usize::from(header_length) != HEADER_BYTES || !known_flags || !length_fits || !end_fits || !tag_fits {
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
        header.checksum = seal(&mut block, &header, None);
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
    fn an_encrypted_block_is_as_long_checked_without_a_key_and_opens_with_its_own_alone() {
        use keel_base::cipher::{Algorithm, DataKey, Keychain};
        use keel_base::env::sim::SimRandom;
        let keys = Keychain::default();
        keys.add(5, DataKey::new(Algorithm::Aes192, &SimRandom::new(1)));
        let (plain, header) = sample();
        let header = header.with_key(5);
        let sealer = keys.block_sealer(header.writer()).unwrap();
        let mut block = plain.clone();
        let header = Header { checksum: seal(&mut block, &header, Some(&sealer)), ..header };
        assert_eq!(block.len(), plain.len());
        assert_eq!(decode(&block), Ok(header));
        assert_eq!((header.key(), header.flags & FLAG_CONTINUES), (5, FLAG_CONTINUES));
        assert!(!block.windows(4).any(|w| w == b"byte"));
        let mut opened = block.clone();
        assert!(open(&mut opened, &header, &sealer));
        assert_eq!(opened[HEADER_BYTES..], plain[HEADER_BYTES..]);
        let other = keys.block_sealer(BlockWriter { incarnation: 1, ..header.writer() }).unwrap();
        assert!(!open(&mut block.clone(), &header, &other));
        for byte in (0..TAG_AT + BLOCK_TAG_BYTES).chain(HEADER_BYTES..block.len()) {
            let mut bad = block.clone();
            bad[byte] ^= 1;
            assert!(decode(&bad).is_err(), "byte {byte}");
            assert!(!open(&mut bad, &header, &sealer), "byte {byte}");
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
