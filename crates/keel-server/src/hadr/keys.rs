//! Certificates and private keys for endpoints, outside the database: making, reading, and sealing for files.
//!
//! A sealed key is `KEELKEY1`, 16 bytes of salt, 12 bytes of nonce, and the key under AES-256-GCM with a password stretched
//! by PBKDF2. It is not the product's `.pvk` form, which uses RC4.

use anyhow::{Context, Result, bail};
use keel_sql::hadr::{CertificateFacts, MadeCertificate};
use ring::{aead, digest, pbkdf2};
use std::num::NonZeroU32;
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate};

const MAGIC: &[u8] = b"KEELKEY1";
const SALT_BYTES: usize = 16;
/// What OWASP recommends for PBKDF2 with SHA-256.
const ROUNDS: u32 = 600_000;

/// A key pair with a self-signed certificate; times are seconds since 1970.
pub(super) fn make(subject: &str, start: i64, expiry: i64) -> Result<MadeCertificate> {
    if expiry <= start {
        bail!("the certificate would expire before it is valid");
    }
    let key = rcgen::KeyPair::generate().context("cannot make a key")?;
    let mut params = rcgen::CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CommonName, subject);
    params.not_before = OffsetDateTime::from_unix_timestamp(start)?;
    params.not_after = OffsetDateTime::from_unix_timestamp(expiry)?;
    let certificate = params.self_signed(&key).context("cannot sign the certificate")?;
    Ok(MadeCertificate { certificate: certificate.der().to_vec(), key: key.serialize_der() })
}

/// A certificate's facts; `None` when it is not one.
pub(super) fn read(der: &[u8]) -> Option<CertificateFacts> {
    let (rest, certificate) = X509Certificate::from_der(der).ok()?;
    if !rest.is_empty() {
        return None;
    }
    let name = |name: &x509_parser::x509::X509Name<'_>| {
        let common = name.iter_common_name().next().and_then(|n| n.as_str().ok());
        common.map_or_else(|| name.to_string(), str::to_owned)
    };
    let serial: Vec<String> = certificate.raw_serial().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(CertificateFacts {
        subject: name(certificate.subject()),
        issuer: name(certificate.issuer()),
        serial: serial.join(" "),
        start: certificate.validity().not_before.timestamp(),
        expiry: certificate.validity().not_after.timestamp(),
        thumbprint: digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, der).as_ref().to_vec(),
    })
}

fn stretched(password: &str, salt: &[u8]) -> aead::LessSafeKey {
    let mut key = [0; 32];
    let rounds = NonZeroU32::new(ROUNDS).expect("not zero");
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, password.as_bytes(), &mut key);
    aead::LessSafeKey::new(aead::UnboundKey::new(&aead::AES_256_GCM, &key).expect("32 bytes fit AES-256"))
}

/// Encrypts a private key for a file.
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
    fn a_certificate_says_what_it_was_made_with() {
        let made = make("host a", 1_700_000_000, 1_800_000_000).expect("made");
        let facts = read(&made.certificate).expect("a certificate");
        assert_eq!((facts.subject.as_str(), facts.issuer.as_str()), ("host a", "host a"));
        assert_eq!((facts.start, facts.expiry), (1_700_000_000, 1_800_000_000));
        assert_eq!(facts.thumbprint.len(), 20);
        assert_eq!(read(b"not a certificate"), None);
        assert!(make("host a", 5, 5).is_err());
    }

    #[test]
    fn a_sealed_key_opens_with_its_password_only() {
        let sealed = seal(b"the key", "secret");
        assert!(!sealed.windows(7).any(|w| w == b"the key"));
        assert_eq!(open(&sealed, "secret").as_deref(), Some(&b"the key"[..]));
        assert_eq!(open(&sealed, "other"), None);
        assert_eq!(open(&sealed[..20], "secret"), None);
    }
}
