//! Keys sealed with a password: in files, and where a password protects a key of a database.
//!
//! A sealed key is `KEELKEY1`, 16 bytes of salt, 12 bytes of nonce, and the key under AES-256-GCM with a password stretched
//! by PBKDF2. It is not the product's `.pvk` form, which uses RC4.

use ring::{aead, pbkdf2};
use std::num::NonZeroU32;

const MAGIC: &[u8] = b"KEELKEY1";
const SALT_BYTES: usize = 16;
/// What OWASP recommends for PBKDF2 with SHA-256.
const ROUNDS: u32 = 600_000;

fn stretched(password: &str, salt: &[u8]) -> aead::LessSafeKey {
    let mut key = [0; 32];
    let rounds = NonZeroU32::new(ROUNDS).expect("not zero");
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, password.as_bytes(), &mut key);
    aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_256_GCM, &key).expect("32 bytes fit AES-256"))
}

/// Encrypts a key with a password.
pub(super) fn seal(key: &[u8], password: &str) -> Vec<u8> {
    let mut random = [0; SALT_BYTES + aead::NONCE_LEN];
    getrandom::fill(&mut random).expect("the system has random bytes");
    let (salt, nonce) = random.split_at(SALT_BYTES);
    let nonce = aead::Nonce::try_assume_unique_for_key(nonce).expect("12 bytes");
    let mut body = key.to_vec();
    let sealing =
        stretched(password, salt).seal_in_place_append_tag(nonce, aead::Aad::from(MAGIC), &mut body);
    sealing.expect("a key is far shorter than AES-GCM's limit");
    [MAGIC, &random, &body].concat()
}

/// The way back; `None` for a wrong password or a damaged file.
pub(super) fn open(sealed: &[u8], password: &str) -> Option<Vec<u8>> {
    let rest = sealed.strip_prefix(MAGIC)?;
    let (salt, rest) = rest.split_at_checked(SALT_BYTES)?;
    let (nonce, body) = rest.split_at_checked(aead::NONCE_LEN)?;
    let nonce = aead::Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut body = body.to_vec();
    let key = stretched(password, salt).open_in_place(nonce, aead::Aad::from(MAGIC), &mut body).ok()?;
    Some(key.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_key_opens_with_its_password_only() {
        let sealed = seal(b"the key", "secret");
        assert!(!sealed.windows(7).any(|w| w == b"the key"));
        assert_eq!(open(&sealed, "secret").as_deref(), Some(&b"the key"[..]));
        assert_eq!(open(&sealed, "other"), None);
        assert_eq!(open(&sealed[..20], "secret"), None);
    }
}
