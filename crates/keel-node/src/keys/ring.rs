//! [`KeyRing`]: the keys of an encrypted database and what is done with them, as the log announces it to every copy.
//!
//! | bytes | field | meaning |
//! | ---: | --- | --- |
//! | 4 | version | 1 |
//! | 8 | epoch | of the log when it was announced |
//! | 8 | number | of the announcement, counting |
//! | 1 | current | number of the database encryption key; 0 for none |
//! | 1 | flags | bit 0: encryption is on; bit 1: the scan is suspended |
//! | 2 | reserved | 0 |
//! | 5 × 8 | times | created, regenerated, modified, set, scan changed; microseconds since 1970 UTC |
//! | 4 | count | of keys; each: number (1), algorithm (1, 2, 3: AES of 128, 192, 256 bits), 2 zeros, thumbprint and sealed key, each behind its length (4) |
//!
//! All numbers are little-endian. At most [`KEYS_MAX`] keys are kept: the newest, so that log that is still needed can be read.

use crate::bytes::{Bytes, length};
use keel_base::Epoch;
use keel_base::cipher::{Algorithm, DataKey, KEY_NUMBER_MAX};
use keel_base::env::Random;

/// Keys kept; with a thumbprint of 20 bytes each they fit into one announcement.
pub const KEYS_MAX: usize = 16;
const VERSION: u32 = 1;
const FLAG_ON: u8 = 1;
const FLAG_SUSPENDED: u8 = 2;
const ALGORITHMS: [Algorithm; 3] = [Algorithm::Aes128, Algorithm::Aes192, Algorithm::Aes256];

const _: () = assert!(KEYS_MAX < KEY_NUMBER_MAX as usize, "a number comes again after its key is gone");
const _: () = assert!(128 + KEYS_MAX * (12 + 20 + 64) < keel_log::ANNOUNCEMENT_BYTES_MAX);

/// A database encryption key as it is stored: sealed with the certificate's secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedKey {
    /// Its number.
    pub number: u8,
    /// What it encrypts with.
    pub algorithm: Algorithm,
    /// The certificate's thumbprint.
    pub thumbprint: Vec<u8>,
    /// [`DataKey::wrap`].
    pub sealed: Vec<u8>,
}

/// When what was done last, microseconds since 1970 UTC; 0 for never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyTimes {
    /// CREATE DATABASE ENCRYPTION KEY
    pub created: i64,
    /// ALTER DATABASE ENCRYPTION KEY REGENERATE
    pub regenerated: i64,
    /// Any change of the key or of what it is sealed with.
    pub modified: i64,
    /// SET ENCRYPTION
    pub set: i64,
    /// The scan was begun, suspended or resumed.
    pub scan: i64,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRing {
    /// Of the log when it was announced.
    pub epoch: Epoch,
    /// Number of the announcement.
    pub number: u64,
    /// All keys that something may be encrypted with, oldest first.
    pub keys: Vec<SealedKey>,
    /// Number of the database encryption key; 0 for none.
    pub current: u8,
    /// SET ENCRYPTION ON.
    pub on: bool,
    /// SET ENCRYPTION SUSPEND.
    pub suspended: bool,
    /// When what was done last.
    pub times: KeyTimes,
}

impl KeyRing {
    /// The database encryption key.
    #[must_use]
    pub fn key(&self) -> Option<&SealedKey> {
        self.keys.iter().find(|key| key.number == self.current)
    }

    /// The number of the key that everything should be encrypted with; 0 for none.
    #[must_use]
    pub fn goal(&self) -> u8 {
        if self.on { self.current } else { 0 }
    }

    /// Whether it was announced after another.
    pub(crate) fn is_newer(&self, than: &KeyRing) -> bool {
        (self.epoch, self.number) > (than.epoch, than.number)
    }

    /// Adds a new key, sealed with the secret of a certificate, and makes it the database's.
    pub fn add(&mut self, algorithm: Algorithm, thumbprint: &[u8], secret: &[u8], random: &dyn Random) {
        let last = self.keys.last().map_or(0, |key| key.number);
        let number = last % KEY_NUMBER_MAX + 1;
        let sealed = DataKey::new(algorithm, random).wrap(secret, random);
        self.keys.push(SealedKey { number, algorithm, thumbprint: thumbprint.to_vec(), sealed });
        let surplus = self.keys.len().saturating_sub(KEYS_MAX);
        self.keys.drain(..surplus);
        self.current = number;
    }

    /// Seals every key that opens with what `secret_of` knows with another certificate; false when the current one does not open.
    pub fn seal_anew(
        &mut self,
        secret_of: &dyn Fn(&[u8]) -> Option<Vec<u8>>,
        (thumbprint, secret): (&[u8], &[u8]),
        random: &dyn Random,
    ) -> bool {
        let current = self.current;
        let mut done = false;
        for key in &mut self.keys {
            let old = secret_of(&key.thumbprint);
            let opened = old.and_then(|old| DataKey::unwrap(key.algorithm, &key.sealed, &old));
            let Some(opened) = opened else { continue };
            key.sealed = opened.wrap(secret, random);
            key.thumbprint = thumbprint.to_vec();
            done |= key.number == current;
        }
        done
    }

    /// The stored form.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = VERSION.to_le_bytes().to_vec();
        out.extend_from_slice(&self.epoch.0.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        let on = if self.on { FLAG_ON } else { 0 };
        let suspended = if self.suspended { FLAG_SUSPENDED } else { 0 };
        out.extend_from_slice(&[self.current, on | suspended, 0, 0]);
        let t = &self.times;
        for time in [t.created, t.regenerated, t.modified, t.set, t.scan] {
            out.extend_from_slice(&time.to_le_bytes());
        }
        out.extend_from_slice(&length(self.keys.len()).to_le_bytes());
        for key in &self.keys {
            let algorithm = ALGORITHMS.iter().position(|a| *a == key.algorithm).unwrap_or(0) as u8 + 1;
            out.extend_from_slice(&[key.number, algorithm, 0, 0]);
            for part in [&key.thumbprint, &key.sealed] {
                out.extend_from_slice(&length(part.len()).to_le_bytes());
                out.extend_from_slice(part);
            }
        }
        out
    }

    /// Reads the stored form; `None` when it is not one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<KeyRing> {
        let mut rest = Bytes(bytes);
        if rest.u32()? != VERSION {
            return None;
        }
        let (epoch, number) = (Epoch(rest.u64()?), rest.u64()?);
        let [current, flags, 0, 0] = *rest.take(4)?.first_chunk()? else { return None };
        let mut times = [0; 5];
        for time in &mut times {
            *time = rest.u64()? as i64;
        }
        let [created, regenerated, modified, set, scan] = times;
        let count = rest.u32()?;
        let mut keys: Vec<SealedKey> = Vec::new();
        for _ in 0..count {
            let [number, algorithm, 0, 0] = *rest.take(4)?.first_chunk()? else { return None };
            let algorithm = *ALGORITHMS.get(usize::from(algorithm).checked_sub(1)?)?;
            let (thumbprint, sealed) = (rest.sized()?.to_vec(), rest.sized()?.to_vec());
            if !(1..=KEY_NUMBER_MAX).contains(&number) || keys.iter().any(|key| key.number == number) {
                return None;
            }
            keys.push(SealedKey { number, algorithm, thumbprint, sealed });
        }
        let whole = rest.0.is_empty() && keys.len() <= KEYS_MAX;
        let known = current == 0 || keys.iter().any(|key| key.number == current);
        let on = flags & FLAG_ON != 0;
        (whole && known && (!on || current != 0) && flags <= FLAG_ON | FLAG_SUSPENDED).then_some(KeyRing {
            epoch,
            number,
            keys,
            current,
            on,
            suspended: flags & FLAG_SUSPENDED != 0,
            times: KeyTimes { created, regenerated, modified, set, scan },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::SimRandom;

    #[test]
    fn a_ring_survives_its_stored_form_and_keeps_the_newest_keys() {
        let random = SimRandom::new(1);
        let mut ring = KeyRing { epoch: Epoch(3), number: 7, suspended: true, ..KeyRing::default() };
        assert_eq!(KeyRing::decode(&ring.encode()), Some(ring.clone()));
        for n in 0..40 {
            ring.add(ALGORITHMS[n % 3], &[n as u8; 20], b"secret", &random);
            ring.on = true;
            let stored = ring.encode();
            assert!(stored.len() <= keel_log::ANNOUNCEMENT_BYTES_MAX - 64);
            assert_eq!(KeyRing::decode(&stored), Some(ring.clone()));
            assert!(ring.keys.len() <= KEYS_MAX);
            let key = ring.key().unwrap();
            assert!(DataKey::unwrap(key.algorithm, &key.sealed, b"secret").is_some());
        }
        assert_eq!(ring.current, 9);
        let stored = ring.encode();
        for len in 0..stored.len() {
            assert_eq!(KeyRing::decode(&stored[..len]), None);
        }
    }

    #[test]
    fn sealing_anew_keeps_the_key() {
        let random = SimRandom::new(1);
        let mut ring = KeyRing::default();
        ring.add(Algorithm::Aes128, b"one", b"first", &random);
        let key = |ring: &KeyRing, secret: &[u8]| {
            let sealed = ring.key().unwrap();
            DataKey::unwrap(sealed.algorithm, &sealed.sealed, secret)
        };
        let before = key(&ring, b"first").unwrap();
        let known = |thumbprint: &[u8]| (thumbprint == b"one").then(|| b"first".to_vec());
        assert!(ring.seal_anew(&known, (b"two", b"second"), &random));
        assert_eq!(key(&ring, b"second"), Some(before));
        assert_eq!(key(&ring, b"first"), None);
        assert!(!ring.seal_anew(&known, (b"three", b"third"), &random), "its certificate is gone");
    }
}
