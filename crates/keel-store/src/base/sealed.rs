//! Encrypted pages: how a page is stored while its database is encrypted.
//!
//! In memory a page is always plain. On its way to the file what a reader knows anyway (its id, the file's tag, the
//! generation that its parent names) makes room for the cipher's own fields, so a page stays as long as it was:
//!
//! | offset | type | field |
//! | --- | --- | --- |
//! | 0 | u32 | random number of the opening of the file that wrote it |
//! | 4 | u8 | 0x80: the page is encrypted |
//! | 5 | u8 | number of the key |
//! | 6 | u16 | bits 32 to 47 of its generation |
//! | 8 | 16 bytes | tag of AES-GCM |
//! | 24 | | encrypted from here on: kind (1), level (1), n (2), p (2), bytes in use (2), and the plain page from offset 32 on |
//!
//! The nonce is the page id, the low half of the generation and the opening; the file's tag and bytes 4..8 are
//! authenticated. So a page that was changed, moved, or left from an earlier write does not open. There is no other checksum.

use super::PAGE_SIZE;
use super::page::{Expect, HEADER, Reason, get_u16, get_u32, get_u64, put, reseal};
use keel_base::cipher::{Keychain, PAGE_TAG_BYTES, PageNonce, PageSealer};

/// Stands where a plain page has its kind.
const ENCRYPTED: u8 = 0x80;
const TAG_AT: usize = 8;
const SECRET_AT: usize = TAG_AT + PAGE_TAG_BYTES;
const GENERATION_BITS: u32 = 48;

const _: () = assert!(SECRET_AT + 8 == HEADER, "the body stays where it was");

/// What a chunk's pages are sealed with.
pub(super) struct Seal {
    pub key: u8,
    pub opening: u32,
    pub sealer: std::sync::Arc<PageSealer>,
}

/// Why a page is not opened.
pub(super) enum Closed {
    /// The key of this number is not there.
    Locked(u8),
    Damaged(Reason),
}

/// Number of the key of a page as it is stored; `None` of a plain one.
#[inline]
pub(super) fn key_of(bytes: &[u8; PAGE_SIZE]) -> Option<u8> {
    (bytes[4] == ENCRYPTED).then(|| bytes[5])
}

fn aad(tag: u32, bytes: &[u8; PAGE_SIZE]) -> [u8; 8] {
    let mut aad = [0; 8];
    aad[..4].copy_from_slice(&tag.to_le_bytes());
    aad[4..].copy_from_slice(&bytes[4..8]);
    aad
}

/// Encrypts a sealed page in place.
pub(super) fn seal(bytes: &mut [u8; PAGE_SIZE], with: &Seal) {
    let (page, tag, generation) = (get_u32(bytes, 8), get_u32(bytes, 12), get_u64(bytes, 16));
    assert!(generation >> GENERATION_BITS == 0, "a publication a microsecond lasts nine years");
    let (kind, n) = ([bytes[4], bytes[5]], get_u16(bytes, 6));
    let (prefix, used) = (get_u16(bytes, 24), get_u16(bytes, 26));
    put(bytes, 0, &with.opening.to_le_bytes());
    put(bytes, 4, &[ENCRYPTED, with.key]);
    put(bytes, 6, &((generation >> 32) as u16).to_le_bytes());
    put(bytes, SECRET_AT, &kind);
    put(bytes, SECRET_AT + 2, &n.to_le_bytes());
    put(bytes, SECRET_AT + 4, &prefix.to_le_bytes());
    put(bytes, SECRET_AT + 6, &used.to_le_bytes());
    let nonce = PageNonce { page, generation: generation as u32, opening: with.opening };
    let aad = aad(tag, bytes);
    let made = with.sealer.seal(nonce, &aad, &mut bytes[SECRET_AT..]);
    put(bytes, TAG_AT, &made);
}

/// Makes a page as it is stored a plain one, in place; a plain one stays, unless there must be none.
pub(super) fn open(
    bytes: &mut [u8; PAGE_SIZE],
    expect: &Expect,
    keys: &Keychain,
) -> std::result::Result<(), Closed> {
    let Some(key) = key_of(bytes) else {
        let refused = keys.has_no_plain_pages();
        return if refused { Err(Closed::Damaged("it is not encrypted, as it was")) } else { Ok(()) };
    };
    let sealer = keys.page_sealer(key).ok_or(Closed::Locked(key))?;
    let nonce =
        PageNonce { page: expect.at.page, generation: expect.at.generation, opening: get_u32(bytes, 0) };
    let mut tag = [0; PAGE_TAG_BYTES];
    tag.copy_from_slice(&bytes[TAG_AT..SECRET_AT]);
    let aad = aad(expect.tag, bytes);
    let high = u64::from(get_u16(bytes, 6)) << 32;
    if !sealer.open(nonce, &aad, &mut bytes[SECRET_AT..], &tag) && !cfg!(fuzzing) {
        return Err(Closed::Damaged("it is not what was sealed there (or a lost or misdirected write)"));
    }
    let (kind, n) = ([bytes[SECRET_AT], bytes[SECRET_AT + 1]], get_u16(bytes, SECRET_AT + 2));
    let (prefix, used) = (get_u16(bytes, SECRET_AT + 4), get_u16(bytes, SECRET_AT + 6));
    bytes[..HEADER].fill(0);
    put(bytes, 4, &kind);
    put(bytes, 6, &n.to_le_bytes());
    put(bytes, 24, &prefix.to_le_bytes());
    put(bytes, 26, &used.to_le_bytes());
    reseal(bytes, expect.at.page, expect.tag, high | u64::from(expect.at.generation));
    Ok(())
}
