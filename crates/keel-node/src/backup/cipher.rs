//! Encrypted sets: AES-GCM over every frame that has rows, changes or log in it.
//!
//! A set has a key of its own, made for it. It lies in the set's label, sealed ([`SetKey::wrap`]) with a secret that stays with whoever may
//! restore: the private key of a certificate. A frame is sealed with its number in the set as the nonce, so one that is moved,
//! repeated or left out does not open. What a set begins and ends with is not encrypted: it says what the set is.

use super::frames::Kind;
use keel_base::env::Random;
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

const SALT_BYTES: usize = 16;
const PURPOSE: &[u8] = b"Evenkeel backup";

/// How a set is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-128-GCM.
    Aes128,
    /// AES-256-GCM.
    Aes256,
}

impl Cipher {
    fn algorithm(self) -> &'static ring::aead::Algorithm {
        match self {
            Cipher::Aes128 => &AES_128_GCM,
            Cipher::Aes256 => &AES_256_GCM,
        }
    }

    fn key(self, bytes: &[u8]) -> Option<LessSafeKey> {
        UnboundKey::new(self.algorithm(), bytes).ok().map(LessSafeKey::new)
    }
}

/// The key of a set.
#[derive(Clone, PartialEq, Eq)]
pub struct SetKey {
    cipher: Cipher,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for SetKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SetKey({:?})", self.cipher)
    }
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; NONCE_LEN];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// The key that seals keys, of a secret and a salt.
fn sealing(secret: &[u8], salt: &[u8]) -> LessSafeKey {
    let derived = Salt::new(HKDF_SHA256, salt).extract(secret);
    let mut bytes = [0; 32];
    let expanded = derived.expand(&[PURPOSE], HKDF_SHA256).and_then(|okm| okm.fill(&mut bytes));
    expanded.expect("a key is shorter than HKDF can give");
    Cipher::Aes256.key(&bytes).expect("it has the length")
}

impl SetKey {
    /// A new one.
    pub fn new(cipher: Cipher, random: &dyn Random) -> SetKey {
        let mut bytes = vec![0; cipher.algorithm().key_len()];
        random.fill(&mut bytes);
        SetKey { cipher, bytes }
    }

    /// Sealed with a secret: a salt (16 bytes), and the key with its tag.
    #[must_use]
    pub fn wrap(&self, secret: &[u8], random: &dyn Random) -> Vec<u8> {
        let mut salt = [0; SALT_BYTES];
        random.fill(&mut salt);
        let mut sealed = self.bytes.clone();
        let key = sealing(secret, &salt);
        key.seal_in_place_append_tag(nonce(0), Aad::empty(), &mut sealed).expect("a key is short");
        [&salt[..], &sealed].concat()
    }

    /// The way back; `None` with another secret, or when it is damaged.
    #[must_use]
    pub fn unwrap(cipher: Cipher, wrapped: &[u8], secret: &[u8]) -> Option<SetKey> {
        let (salt, sealed) = wrapped.split_at_checked(SALT_BYTES)?;
        let mut sealed = sealed.to_vec();
        let bytes = sealing(secret, salt).open_in_place(nonce(0), Aad::empty(), &mut sealed).ok()?.to_vec();
        (bytes.len() == cipher.algorithm().key_len()).then_some(SetKey { cipher, bytes })
    }

    /// Of the frame with a number in its set.
    pub(super) fn seal(&self, number: u64, kind: Kind, bytes: &mut Vec<u8>) -> std::io::Result<()> {
        let key = self.cipher.key(&self.bytes).expect("it has the length");
        key.seal_in_place_append_tag(nonce(number), Aad::from([kind as u8]), bytes)
            .map_err(|_| std::io::Error::other("a frame of a backup is too large"))
    }

    /// `None` when it is not what was sealed.
    pub(super) fn open(&self, number: u64, kind: Kind, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let key = self.cipher.key(&self.bytes)?;
        let opened = key.open_in_place(nonce(number), Aad::from([kind as u8]), &mut bytes).ok()?.len();
        bytes.truncate(opened);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::SimRandom;

    #[test]
    fn what_is_sealed_opens_with_its_key_number_and_kind_alone() {
        let random = SimRandom::new(7);
        for cipher in [Cipher::Aes128, Cipher::Aes256] {
            let key = SetKey::new(cipher, &random);
            let mut sealed = b"rows".to_vec();
            key.seal(3, Kind::Rows, &mut sealed).unwrap();
            assert_eq!(key.open(3, Kind::Rows, sealed.clone()), Some(b"rows".to_vec()));
            assert_eq!(key.open(4, Kind::Rows, sealed.clone()), None);
            assert_eq!(key.open(3, Kind::Log, sealed.clone()), None);
            let wrapped = key.wrap(b"secret", &random);
            let unwrapped = SetKey::unwrap(cipher, &wrapped, b"secret");
            assert_eq!(unwrapped.unwrap().open(3, Kind::Rows, sealed.clone()), Some(b"rows".to_vec()));
            assert_eq!(SetKey::unwrap(cipher, &wrapped, b"another"), None);
            assert_eq!(SetKey::unwrap(cipher, &wrapped[..10], b"secret"), None);
            assert_eq!(SetKey::new(cipher, &random).open(3, Kind::Rows, sealed), None);
        }
    }
}
