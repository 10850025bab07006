//! Passwords: slow salted hashes for storage, and a memory of recent successes so that pools connect quickly.
//!
//! Stored form: a version byte, 16 bytes of salt, 32 bytes of Argon2id with 1 lane. Version 2, which is written, has 7 MiB and
//! 5 passes; version 1, which is read, 19 MiB and 2 passes. OWASP's Password Storage Cheat Sheet gives both among the settings
//! that are equally strong; with less memory a new primary, which has seen none of its clients yet, answers the first of each
//! login sooner.
//!
//! Logins that come from SQL Server with their hash (`PASSWORD = 0x… HASHED`) are verified in its two forms: two bytes of version, 4 of
//! salt, and SHA-512 (version 0x0200, since 2012) or SHA-1 (0x0100, a second one of the password in capitals may follow) of the
//! password in UTF-16 and the salt.
//!
//! A login that was verified once is remembered as a MAC
//! under a key that exists only in this process, over the stored hash and the password: as long as the stored hash stays
//! the same, the same password is then verified in a microsecond. Nothing can be learnt from the memory of a stopped
//! server, and changing the password changes the stored hash and so forgets.

use std::collections::HashMap;

use crate::sealing;
use argon2::{Algorithm, Argon2, Params, Version};
use keel_sql::PasswordHasher;
use parking_lot::{Mutex, MutexGuard};
use ring::{digest, hmac};

const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;
/// Remembered logins; above this the memory starts anew.
const REMEMBERED_MAX: usize = 10_000;

/// What a version byte stands for.
#[derive(Clone, Copy)]
struct Cost {
    version: u8,
    memory_kib: u32,
    passes: u32,
}

/// What is written comes first.
const COSTS: [Cost; 2] = [
    Cost { version: 2, memory_kib: 7 * 1024, passes: 5 },
    Cost { version: 1, memory_kib: 19 * 1024, passes: 2 },
];

/// Hashes and verifies passwords.
pub struct Passwords {
    key: hmac::Key,
    /// MACs of verified pairs of stored hash and password, by stored hash.
    verified: Mutex<HashMap<Vec<u8>, hmac::Tag>>,
    /// One slow hash at a time: many failing logins must not take all memory and cores.
    slow: Mutex<()>,
}

impl Default for Passwords {
    fn default() -> Passwords {
        Passwords::new()
    }
}

impl Passwords {
    /// With a fresh key.
    #[must_use]
    pub fn new() -> Passwords {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system has randomness");
        Passwords {
            key: hmac::Key::new(hmac::HMAC_SHA256, &key),
            verified: Mutex::new(HashMap::new()),
            slow: Mutex::new(()),
        }
    }

    fn mac(&self, stored: &[u8], password: &str) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(stored);
        context.update(password.as_bytes());
        context.sign()
    }

    fn remembered(&self, stored: &[u8], mac: &hmac::Tag) -> bool {
        self.verified.lock().get(stored).is_some_and(|known| same(known.as_ref(), mac.as_ref()))
    }

    fn slow_hash(
        _one_at_a_time: &MutexGuard<'_, ()>,
        cost: Cost,
        password: &str,
        salt: &[u8],
    ) -> [u8; HASH_BYTES] {
        let params = Params::new(cost.memory_kib, cost.passes, 1, Some(HASH_BYTES));
        let params = params.expect("the parameters are valid");
        let mut out = [0; HASH_BYTES];
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(password.as_bytes(), salt, &mut out)
            .expect("salt and output have valid lengths");
        out
    }
}

/// A hash that SQL Server made.
struct Foreign<'a> {
    algorithm: &'static digest::Algorithm,
    salt: &'a [u8],
    expected: &'a [u8],
}

impl<'a> Foreign<'a> {
    fn read(stored: &'a [u8]) -> Option<Foreign<'a>> {
        let (version, rest) = stored.split_first_chunk::<2>()?;
        let (salt, rest) = rest.split_first_chunk::<4>()?;
        let algorithm = match (u16::from_be_bytes(*version), rest.len()) {
            (0x0200, 64) => &digest::SHA512,
            (0x0100, 20 | 40) => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            _ => return None,
        };
        Some(Foreign { algorithm, salt, expected: &rest[..algorithm.output_len()] })
    }

    fn is_of(&self, password: &str) -> bool {
        let mut bytes: Vec<u8> = password.encode_utf16().flat_map(u16::to_le_bytes).collect();
        bytes.extend(self.salt);
        same(digest::digest(self.algorithm, &bytes).as_ref(), self.expected)
    }
}

impl PasswordHasher for Passwords {
    fn seal(&self, key: &[u8], password: &str) -> Vec<u8> {
        sealing::seal(key, password)
    }

    fn open(&self, sealed: &[u8], password: &str) -> Option<Vec<u8>> {
        sealing::open(sealed, password)
    }

    fn knows(&self, stored: &[u8]) -> bool {
        let own =
            stored.len() == 1 + SALT_BYTES + HASH_BYTES && COSTS.iter().any(|cost| cost.version == stored[0]);
        own || Foreign::read(stored).is_some()
    }

    fn hash(&self, password: &str) -> Vec<u8> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).expect("the system has randomness");
        let [cost, ..] = COSTS;
        let hash = Passwords::slow_hash(&self.slow.lock(), cost, password, &salt);
        [&[cost.version][..], &salt, &hash].concat()
    }

    fn verify(&self, password: &str, stored: &[u8]) -> bool {
        if let Some(foreign) = Foreign::read(stored) {
            return foreign.is_of(password);
        }
        let Some((version, rest)) = stored.split_first() else { return false };
        let Some(cost) = COSTS.iter().find(|cost| cost.version == *version) else { return false };
        let Some((salt, expected)) = rest.split_at_checked(SALT_BYTES) else { return false };
        let mac = self.mac(stored, password);
        if self.remembered(stored, &mac) {
            return true;
        }
        let turn = self.slow.lock();
        // A pool that reconnects all at once (after a failover, to an instance that has not seen the login yet) pays once.
        if self.remembered(stored, &mac) {
            return true;
        }
        if !same(&Passwords::slow_hash(&turn, *cost, password, salt), expected) {
            return false;
        }
        let mut verified = self.verified.lock();
        if verified.len() >= REMEMBERED_MAX {
            verified.clear();
        }
        verified.insert(stored.to_vec(), mac);
        true
    }
}

/// Compares in a time that does not depend on where the difference is.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (x, y)| differ | (x ^ y)) == 0
}

/// A password for `sa` that satisfies the usual complexity rules.
#[must_use]
pub fn generate() -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let mut random = [0u8; 20];
    getrandom::fill(&mut random).expect("the system has randomness");
    let body: String =
        random.iter().map(|b| char::from(ALPHABET[usize::from(*b) % ALPHABET.len()])).collect();
    // One of each class, whatever chance gave.
    format!("K{body}e7-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifies_only_the_password_that_was_hashed() {
        let passwords = Passwords::new();
        let stored = passwords.hash("Secret-1");
        assert!(passwords.verify("Secret-1", &stored));
        assert!(passwords.verify("Secret-1", &stored), "and again, from memory");
        assert!(!passwords.verify("secret-1", &stored));
        assert!(!passwords.verify("", &stored));
        assert!(!passwords.verify("Secret-1", &[]));
        assert_ne!(stored, passwords.hash("Secret-1"), "salted");
    }

    #[test]
    fn what_an_earlier_version_stored_is_verified() {
        // Made by the `argon2` program of Debian: echo -n Secret-1 | argon2 0123456789abcdef -id -t 2 -k 19456 -p 1 -l 32 -r
        let hash = "03c92e44746e830450c6248a181961ccfdf661f5f3c15dc726d2bff89dc8d354";
        let byte = |n: usize| u8::from_str_radix(&hash[2 * n..2 * n + 2], 16).expect("hexadecimal");
        let hash: Vec<u8> = (0..HASH_BYTES).map(byte).collect();
        let stored = [&[1][..], b"0123456789abcdef", &hash].concat();
        assert!(Passwords::new().verify("Secret-1", &stored));
        assert!(!Passwords::new().verify("Secret-2", &stored));
        assert!(
            !Passwords::new().verify("Secret-1", &[&[3], &stored[1..]].concat()),
            "a version that is not known"
        );
    }

    #[test]
    fn hashes_of_sql_server_are_verified() {
        // Python: hashlib.sha512("Secret-1".encode("utf-16-le") + bytes.fromhex("0a0b0c0d")).hexdigest()
        let bytes = |hex: &str| -> Vec<u8> {
            let byte = |n: usize| u8::from_str_radix(&hex[2 * n..2 * n + 2], 16).expect("hexadecimal");
            (0..hex.len() / 2).map(byte).collect()
        };
        let sha512 = bytes(
            "02000a0b0c0d4d175d5eb7442314096f30b29b3c8005c1f19d2d73a444997703f581055de1d17fdb4b1c6530648df2d73baa4e7f6d10936904ac1061774c4948cd4a69963f51",
        );
        let sha1 = bytes("01000a0b0c0dfd3f5286b4532d300eb926a6e179dfaa74f56e21");
        let passwords = Passwords::new();
        for stored in [&sha512, &sha1, &[&sha1[..], &[0; 20]].concat()] {
            assert!(passwords.knows(stored) && passwords.verify("Secret-1", stored));
            assert!(!passwords.verify("secret-1", stored));
            assert!(!passwords.knows(&stored[1..]) && !passwords.verify("Secret-1", &stored[1..]));
        }
        assert!(passwords.knows(&passwords.hash("Secret-1")));
    }

    #[test]
    fn whoever_waits_for_its_turn_looks_into_the_memory_again() {
        let passwords = Passwords::new();
        let mut stored = passwords.hash("Secret-1");
        // No password gives this hash, so only the memory can say yes.
        stored[1] ^= 1;
        let turn = passwords.slow.lock();
        std::thread::scope(|scope| {
            let (asked, asks) = std::sync::mpsc::channel();
            let (passwords, stored) = (&passwords, &stored);
            let waiting = scope.spawn(move || {
                assert!(!passwords.remembered(stored, &passwords.mac(stored, "Secret-1")));
                asked.send(()).expect("somebody listens");
                passwords.verify("Secret-1", stored)
            });
            asks.recv().expect("it asked");
            passwords.verified.lock().insert(stored.clone(), passwords.mac(stored, "Secret-1"));
            drop(turn);
            assert!(waiting.join().expect("no panic"));
        });
    }
}
