//! Who this instance is: an id for ever, a certificate and its key.
//!
//! ```text
//! <dir>/instance.json     the id, and the certificate and key made at first start (readable by the owner only)
//! ```
//! Instances know each other by the **fingerprint** (SHA-256) of their certificates. Names and dates in a certificate mean
//! nothing here: it is pinned, not traced to an authority.

use crate::error::GroupError;
use crate::kept;
use keel_base::env::Env;
use ring::digest;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// SHA-256 of a certificate in DER form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// Of a certificate in DER form.
    #[must_use]
    pub fn of(certificate: &[u8]) -> Fingerprint {
        let mut out = [0; 32];
        out.copy_from_slice(digest::digest(&digest::SHA256, certificate).as_ref());
        Fingerprint(out)
    }

    /// From 64 hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Fingerprint> {
        parse_hex(text).map(Fingerprint)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Fingerprint::parse(&text).ok_or_else(|| serde::de::Error::custom("not a fingerprint"))
    }
}

/// `2 * N` hexadecimal digits.
pub(crate) fn parse_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    let mut out = [0; N];
    for (byte, digits) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let high = char::from(digits[0]).to_digit(16)?;
        let low = char::from(digits[1]).to_digit(16)?;
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    Some(out)
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A certificate with its private key, both DER.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    /// The certificate.
    pub certificate: Vec<u8>,
    /// Its key, PKCS #8.
    pub key: Vec<u8>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({})", self.fingerprint())
    }
}

impl Certificate {
    /// A new self-signed one; the name is for people.
    pub fn generate(name: &str) -> Result<Certificate, GroupError> {
        let failed = |e: rcgen::Error| GroupError::Certificate(e.to_string());
        // Any instance's name, also one that is no host name.
        let key = rcgen::KeyPair::generate().map_err(failed)?;
        let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).map_err(failed)?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let certificate = params.self_signed(&key).map_err(failed)?;
        Ok(Certificate { certificate: certificate.der().to_vec(), key: key.serialize_der() })
    }

    /// What peers pin.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }
}

/// Who this instance is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// For ever; a wiped data directory is another instance.
    pub instance: Uuid,
    /// Its own certificate, used unless the endpoint is given another.
    pub certificate: Certificate,
}

/// As stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    instance: Uuid,
    certificate: String,
    key: String,
}

fn path(dir: &Path) -> PathBuf {
    dir.join("instance.json")
}

impl Identity {
    /// Reads the identity kept in `dir`, or makes one. `name` is for people who look at the certificate.
    pub fn load_or_create(env: &Env, dir: &Path, name: &str) -> Result<Identity, GroupError> {
        let path = path(dir);
        if let Some(stored) = kept::read::<Stored>(env.disk.as_ref(), &path)? {
            return stored.decode().ok_or_else(|| GroupError::damaged(&path, "not an identity".into()));
        }
        let mut bytes = [0; 16];
        env.random.fill(&mut bytes);
        let instance = uuid::Builder::from_random_bytes(bytes).into_uuid();
        let identity = Identity { instance, certificate: Certificate::generate(name)? };
        kept::write(env.disk.as_ref(), &path, &Stored::encode(&identity))?;
        keep_private(&path)?;
        Ok(identity)
    }
}

/// Takes reading away from everybody but the owner. Only where the file is the system's (a simulated disk has none).
fn keep_private(path: &Path) -> Result<(), GroupError> {
    use std::os::unix::fs::PermissionsExt;
    if path.exists() {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

impl Stored {
    fn encode(identity: &Identity) -> Stored {
        Stored {
            instance: identity.instance,
            certificate: to_hex(&identity.certificate.certificate),
            key: to_hex(&identity.certificate.key),
        }
    }

    fn decode(&self) -> Option<Identity> {
        let bytes = |text: &str| -> Option<Vec<u8>> {
            text.as_bytes()
                .chunks(2)
                .map(|digits| parse_hex::<1>(std::str::from_utf8(digits).ok()?).map(|[byte]| byte))
                .collect()
        };
        let certificate = Certificate { certificate: bytes(&self.certificate)?, key: bytes(&self.key)? };
        Some(Identity { instance: self.instance, certificate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::{SimDisk, env};

    #[test]
    fn is_made_once_and_kept() {
        let disk = SimDisk::new();
        let env = env(&disk, 7);
        let first = Identity::load_or_create(&env, Path::new("endpoint"), "one").unwrap();
        let again = Identity::load_or_create(&env, Path::new("endpoint"), "other").unwrap();
        assert_eq!(first.instance, again.instance);
        assert_eq!(first.certificate, again.certificate);
        let elsewhere = Identity::load_or_create(&env, Path::new("elsewhere"), "one").unwrap();
        assert_ne!(first.instance, elsewhere.instance);
        assert_ne!(first.certificate.fingerprint(), elsewhere.certificate.fingerprint());
    }

    #[test]
    fn fingerprints_are_read_as_they_are_written() {
        let fingerprint = Fingerprint::of(b"certificate");
        assert_eq!(Fingerprint::parse(&fingerprint.to_string()), Some(fingerprint));
        assert_eq!(Fingerprint::parse("12"), None);
        assert_eq!(Fingerprint::parse(&"zz".repeat(32)), None);
    }
}
