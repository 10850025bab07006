//! The message inside encrypted values, as ENCRYPTBYKEY and ENCRYPTBYPASSPHRASE write it and the product describes it.
//!
//! ```text
//! ENCRYPTBYKEY          guid of the key (16) │ version (4) │ begins (8 or 16) │ message, encrypted (CBC, padded: PKCS #7)
//! ENCRYPTBYPASSPHRASE                          version (4) │ begins (8 or 16) │ message, encrypted
//!
//! message               0D F0 AD BA │ length of the digest (2) │ length of the text (2) │ digest │ text
//! ```
//!
//! Numbers are little-endian. The version is 1, or 2 where what keys are made from is hashed with SHA-256. What goes into the digest of an
//! authenticator is not described: here it is SHA-1 of the text and the authenticator, so that values with one are read where they were
//! written.
//!
//! The form of the whole is in Microsoft's "SQL Server EncryptByKey cryptographic message description" (30 March 2009).

use aes::{Aes128, Aes192, Aes256};
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{
    BlockCipher, BlockDecrypt, BlockDecryptMut, BlockEncrypt, BlockEncryptMut, InnerIvInit, KeyInit,
};
use cbc::{Decryptor, Encryptor};
use des::{TdesEde2, TdesEde3};
use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

const MAGIC: [u8; 4] = [0x0D, 0xF0, 0xAD, 0xBA];
/// What keys are made from is hashed with SHA-1.
pub const VERSION_1: [u8; 4] = [1, 0, 0, 0];
/// What keys are made from is hashed with SHA-256.
pub const VERSION_2: [u8; 4] = [2, 0, 0, 0];
/// Bytes of a key's guid.
const GUID_BYTES: usize = 16;

/// How values are encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cipher {
    /// AES_128
    Aes128,
    /// AES_192
    Aes192,
    /// AES_256
    Aes256,
    /// TRIPLE_DES: two keys.
    TripleDes,
    /// TRIPLE_DES_3KEY
    TripleDes3Key,
}

impl Cipher {
    /// Name in CREATE SYMMETRIC KEY, with what the catalog calls it.
    pub const ALL: [(Cipher, &'static str, &'static str); 5] = [
        (Cipher::Aes128, "AES_128", "A1"),
        (Cipher::Aes192, "AES_192", "A2"),
        (Cipher::Aes256, "AES_256", "A3"),
        (Cipher::TripleDes, "TRIPLE_DES", "D3"),
        (Cipher::TripleDes3Key, "TRIPLE_DES_3KEY", "DX"),
    ];

    /// The one of that name, in capitals.
    #[must_use]
    pub fn named(name: &str) -> Option<Cipher> {
        Cipher::ALL.iter().find(|(_, n, _)| *n == name).map(|(cipher, ..)| *cipher)
    }

    /// Name and the catalog's code.
    #[must_use]
    pub fn names(self) -> (&'static str, &'static str) {
        let found = Cipher::ALL.iter().find(|(cipher, ..)| *cipher == self);
        found.map_or(("", ""), |(_, name, code)| (*name, *code))
    }

    /// Bytes of a key.
    #[must_use]
    pub const fn key_bytes(self) -> usize {
        match self {
            Cipher::Aes128 | Cipher::TripleDes => 16,
            Cipher::Aes192 | Cipher::TripleDes3Key => 24,
            Cipher::Aes256 => 32,
        }
    }

    /// Bytes of a block, and of what the chaining begins with.
    #[must_use]
    pub const fn block_bytes(self) -> usize {
        match self {
            Cipher::TripleDes | Cipher::TripleDes3Key => 8,
            _ => 16,
        }
    }

    fn encrypt(self, key: &[u8], begins: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
        match self {
            Cipher::Aes128 => encrypt::<Aes128>(key, begins, plain),
            Cipher::Aes192 => encrypt::<Aes192>(key, begins, plain),
            Cipher::Aes256 => encrypt::<Aes256>(key, begins, plain),
            Cipher::TripleDes => encrypt::<TdesEde2>(key, begins, plain),
            Cipher::TripleDes3Key => encrypt::<TdesEde3>(key, begins, plain),
        }
    }

    fn decrypt(self, key: &[u8], begins: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        match self {
            Cipher::Aes128 => decrypt::<Aes128>(key, begins, sealed),
            Cipher::Aes192 => decrypt::<Aes192>(key, begins, sealed),
            Cipher::Aes256 => decrypt::<Aes256>(key, begins, sealed),
            Cipher::TripleDes => decrypt::<TdesEde2>(key, begins, sealed),
            Cipher::TripleDes3Key => decrypt::<TdesEde3>(key, begins, sealed),
        }
    }
}

fn encrypt<C: BlockEncrypt + BlockCipher + KeyInit>(
    key: &[u8],
    begins: &[u8],
    plain: &[u8],
) -> Option<Vec<u8>> {
    let chain = Encryptor::<C>::inner_iv_slice_init(C::new_from_slice(key).ok()?, begins).ok()?;
    Some(chain.encrypt_padded_vec_mut::<Pkcs7>(plain))
}

fn decrypt<C: BlockDecrypt + BlockCipher + KeyInit>(
    key: &[u8],
    begins: &[u8],
    sealed: &[u8],
) -> Option<Vec<u8>> {
    let chain = Decryptor::<C>::inner_iv_slice_init(C::new_from_slice(key).ok()?, begins).ok()?;
    chain.decrypt_padded_vec_mut::<Pkcs7>(sealed).ok()
}

/// The digest of a text with an authenticator.
fn digest(text: &[u8], authenticator: Option<&[u8]>) -> Vec<u8> {
    authenticator
        .map_or_else(Vec::new, |with| Sha1::new().chain_update(text).chain_update(with).finalize().to_vec())
}

/// Version, what the chaining begins with, and the encrypted message. `None` when the text is longer than a message holds, or a length is not
/// the cipher's.
#[must_use]
pub fn seal(
    cipher: Cipher,
    key: &[u8],
    begins: &[u8],
    text: &[u8],
    authenticator: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let length = u16::try_from(text.len()).ok()?.to_le_bytes();
    let digest = digest(text, authenticator);
    let digest_length = u16::try_from(digest.len()).ok()?.to_le_bytes();
    let message = [&MAGIC[..], &digest_length, &length, &digest, text].concat();
    let sealed = cipher.encrypt(key, begins, &message)?;
    Some([&VERSION_2[..], begins, &sealed].concat())
}

/// The text of what [`seal`] wrote, of either version. `None` for another key or authenticator, and what is damaged.
#[must_use]
pub fn open(cipher: Cipher, key: &[u8], sealed: &[u8], authenticator: Option<&[u8]>) -> Option<Vec<u8>> {
    let (version, rest) = sealed.split_first_chunk::<4>()?;
    if !matches!(*version, VERSION_1 | VERSION_2) {
        return None;
    }
    let (begins, rest) = rest.split_at_checked(cipher.block_bytes())?;
    let message = cipher.decrypt(key, begins, rest)?;
    let (said, text) = parts(&message)?;
    (digest(text, authenticator) == said).then(|| text.to_vec())
}

/// Digest and text of a message.
fn parts(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = message.strip_prefix(&MAGIC)?;
    let (digest_length, rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (digest, text) = rest.split_at_checked(u16::from_le_bytes(*digest_length).into())?;
    (text.len() == usize::from(u16::from_le_bytes(*length))).then_some((digest, text))
}

/// The guid of the key that a value is encrypted with, and the rest.
#[must_use]
pub fn key_of(value: &[u8]) -> Option<([u8; GUID_BYTES], &[u8])> {
    let (guid, rest) = value.split_first_chunk::<GUID_BYTES>()?;
    Some((*guid, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cipher() -> impl Strategy<Value = Cipher> {
        prop::sample::select(Cipher::ALL.map(|(cipher, ..)| cipher).to_vec())
    }

    proptest! {
        #[test]
        fn what_is_sealed_opens_with_its_key_and_authenticator(
            cipher in cipher(), seed in any::<[u8; 32]>(), begins in any::<[u8; 16]>(),
            text in prop::collection::vec(any::<u8>(), 0..200), with in prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
        ) {
            let (key, begins) = (&seed[..cipher.key_bytes()], &begins[..cipher.block_bytes()]);
            let sealed = seal(cipher, key, begins, &text, with.as_deref()).unwrap();
            prop_assert_eq!(open(cipher, key, &sealed, with.as_deref()), Some(text));
            prop_assert_eq!(open(cipher, key, &sealed, Some(b"another authenticator")), None);
        }

        /// A damaged value gives nothing, or with the right header and no digest a text; never a panic.
        #[test]
        fn damaged_bytes_are_borne(
            cipher in cipher(), seed in any::<[u8; 32]>(), text in prop::collection::vec(any::<u8>(), 0..40),
            at in any::<prop::sample::Index>(), bit in 0..8u8, cut in any::<prop::sample::Index>(),
        ) {
            let key = &seed[..cipher.key_bytes()];
            let mut sealed = seal(cipher, key, &seed[..cipher.block_bytes()], &text, Some(b"row 1")).unwrap();
            prop_assert_eq!(open(cipher, key, &sealed[..cut.index(sealed.len())], Some(b"row 1")), None);
            let at = at.index(sealed.len());
            sealed[at] ^= 1 << bit;
            // 1 and 2 are both versions: 3 is what one bit makes of 2, and no other.
            prop_assert_eq!(open(cipher, key, &sealed, Some(b"row 1")), None);
        }

        #[test]
        fn any_bytes_are_borne(cipher in cipher(), seed in any::<[u8; 32]>(), bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = key_of(&bytes);
            let _ = open(cipher, &seed[..cipher.key_bytes()], &bytes, None);
            let _ = open(cipher, &seed, &bytes, Some(&bytes));
        }
    }
}
