//! The two superblocks: which root is the newest whole one.
//!
//! Pages 0 and 1 hold one superblock each, in their first 4096 bytes. Publication number `g` goes to page `g % 2`,
//! so the previous one stays whole while the new one is being written. The newest that is valid counts.
//!
//! | offset | type | field |
//! | --- | --- | --- |
//! | 0 | u32 | CRC32C of bytes 4..4096 |
//! | 4 | u32 | format version, 1 |
//! | 8 | 8 bytes | `EVKLBASE` |
//! | 16 | 16 bytes | database GUID |
//! | 32 | u64 | generation: number of this publication |
//! | 40 | u64 | root: page id (low half; 0 = empty tree), its generation's low bits (high half) |
//! | 48 | u32 | height: levels, leaves included |
//! | 52 | u32 | length of the file in pages; later bytes are not in use |
//! | 56 | u64 | rows, and bit 63: some have overflow pages |
//! | 64 | u64 | checkpoint LSN |
//! | 72 | u64 | highest LSN of any row |
//! | 80 | u32 | pages in use, bitmap and superblocks included |
//! | 84 | u32 | page size, 8192 |
//! | 88 | u16 | number of bitmap directory pages (at most 65) |
//! | 90 | u16 | length of the metadata |
//! | 96 | n × u64 | references to the bitmap directory pages |
//! | 2048 | | metadata of the layer above, opaque here |
//!
//! A superblock is valid when magic, version, page size and checksum match, it lies in the page its generation
//! belongs to, and the counts are within their bounds.

use keel_base::Lsn;

use super::page::{HEIGHT_MAX, PageRef, Rows, get_u16, get_u32, get_u64, put};
use super::{META_BYTES_MAX, PAGE_SIZE};

/// Bytes of a superblock; two disk sectors of any kind in use.
pub(super) const SUPERBLOCK_BYTES: usize = 4096;
const MAGIC: &[u8; 8] = b"EVKLBASE";
const VERSION: u32 = 1;
const DIRECTORY_AT: usize = 96;
const META_AT: usize = 2048;
/// Enough directories for a file of 2^32 pages (32 TB).
pub(super) const DIRECTORIES_MAX: usize = 65;

const _: () = assert!(DIRECTORY_AT + 8 * DIRECTORIES_MAX <= META_AT);
const _: () = assert!(META_AT + META_BYTES_MAX <= SUPERBLOCK_BYTES);

/// One publication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    pub guid: [u8; 16],
    pub generation: u64,
    pub root: PageRef,
    pub height: u32,
    pub pages: u32,
    pub rows: Rows,
    pub checkpoint_lsn: Lsn,
    pub highest_lsn: Lsn,
    pub used_pages: u32,
    pub directories: Vec<PageRef>,
    pub meta: Vec<u8>,
}

impl Superblock {
    /// Byte offset in the file that belongs to `generation`.
    pub fn offset(generation: u64) -> u64 {
        (generation % 2) * PAGE_SIZE as u64
    }

    pub fn encode(&self) -> Vec<u8> {
        assert!(self.directories.len() <= DIRECTORIES_MAX, "the space map bounds the file's length");
        assert!(self.meta.len() <= META_BYTES_MAX, "checked when the merge began");
        let mut bytes = vec![0; SUPERBLOCK_BYTES];
        put(&mut bytes, 4, &VERSION.to_le_bytes());
        put(&mut bytes, 8, MAGIC);
        put(&mut bytes, 16, &self.guid);
        put(&mut bytes, 32, &self.generation.to_le_bytes());
        put(&mut bytes, 40, &self.root.pack().to_le_bytes());
        put(&mut bytes, 48, &self.height.to_le_bytes());
        put(&mut bytes, 52, &self.pages.to_le_bytes());
        put(&mut bytes, 56, &self.rows.pack().to_le_bytes());
        put(&mut bytes, 64, &self.checkpoint_lsn.0.to_le_bytes());
        put(&mut bytes, 72, &self.highest_lsn.0.to_le_bytes());
        put(&mut bytes, 80, &self.used_pages.to_le_bytes());
        put(&mut bytes, 84, &(PAGE_SIZE as u32).to_le_bytes());
        put(&mut bytes, 88, &(self.directories.len() as u16).to_le_bytes());
        put(&mut bytes, 90, &(self.meta.len() as u16).to_le_bytes());
        for (index, directory) in self.directories.iter().enumerate() {
            put(&mut bytes, DIRECTORY_AT + 8 * index, &directory.pack().to_le_bytes());
        }
        put(&mut bytes, META_AT, &self.meta);
        let sum = crc32c::crc32c(&bytes[4..]);
        put(&mut bytes, 0, &sum.to_le_bytes());
        bytes
    }

    /// Decodes what stands in superblock page `slot` (0 or 1).
    pub fn decode(bytes: &[u8], slot: u64) -> Result<Superblock, &'static str> {
        if bytes.len() < SUPERBLOCK_BYTES {
            return Err("the file is too short");
        }
        let bytes = &bytes[..SUPERBLOCK_BYTES];
        if &bytes[8..16] != MAGIC {
            return Err("it does not begin like one");
        }
        if !cfg!(fuzzing) && get_u32(bytes, 0) != crc32c::crc32c(&bytes[4..]) {
            return Err("the checksum of its superblock does not match");
        }
        if get_u32(bytes, 4) != VERSION {
            return Err("it has a format version this build does not know");
        }
        if get_u32(bytes, 84) != PAGE_SIZE as u32 {
            return Err("it has another page size");
        }
        let (directories, meta) = (usize::from(get_u16(bytes, 88)), usize::from(get_u16(bytes, 90)));
        let decoded = Superblock {
            guid: *bytes[16..].first_chunk().expect("length checked above"),
            generation: get_u64(bytes, 32),
            root: PageRef::unpack(get_u64(bytes, 40)),
            height: get_u32(bytes, 48),
            pages: get_u32(bytes, 52),
            rows: Rows::unpack(get_u64(bytes, 56)),
            checkpoint_lsn: Lsn(get_u64(bytes, 64)),
            highest_lsn: Lsn(get_u64(bytes, 72)),
            used_pages: get_u32(bytes, 80),
            directories: (0..directories.min(DIRECTORIES_MAX))
                .map(|i| PageRef::unpack(get_u64(bytes, DIRECTORY_AT + 8 * i)))
                .collect(),
            meta: bytes[META_AT..META_AT + meta.min(META_BYTES_MAX)].to_vec(),
        };
        let bounded =
            directories <= DIRECTORIES_MAX && meta <= META_BYTES_MAX && decoded.height <= HEIGHT_MAX;
        let placed = decoded.generation % 2 == slot && decoded.root.is_none() == (decoded.height == 0);
        if bounded && placed { Ok(decoded) } else { Err("its superblock contradicts itself") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Superblock {
        Superblock {
            guid: *b"0123456789abcdef",
            generation: 7,
            root: PageRef { page: 9, generation: 7 },
            height: 2,
            pages: 256,
            rows: Rows { count: 1234, overflow: true },
            checkpoint_lsn: Lsn(55),
            highest_lsn: Lsn(66),
            used_pages: 99,
            directories: vec![PageRef { page: 4, generation: 7 }],
            meta: b"opaque".to_vec(),
        }
    }

    #[test]
    fn survives_a_round_trip() {
        assert_eq!(Superblock::decode(&sample().encode(), 1), Ok(sample()));
        assert!(Superblock::decode(&sample().encode(), 0).is_err());
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let good = sample().encode();
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Superblock::decode(&bad, 1).is_err(), "bit {bit}");
        }
    }
}
