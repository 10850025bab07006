//! RSA keys, and certificates (X.509) of them: made, read, encrypted and signed with.
//!
//! Texts are encrypted with PKCS #1 v1.5, and what comes out is little-endian, as the product's. Signatures are PKCS #1 v1.5 over SHA-256,
//! little-endian too. Whoever may have a value decrypted could ask for the private key's use anyway, so that what is known of the timing of
//! this padding gives nobody more than he has.

use keel_base::env::Random;
use rsa::pkcs8::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, PrivateKeyInfo,
    SubjectPublicKeyInfoRef,
};
use rsa::rand_core::{CryptoRng, Error, RngCore};
use rsa::traits::PublicKeyParts;
use rsa::{Pkcs1v15Encrypt, Pkcs1v15Sign, RsaPrivateKey, RsaPublicKey};
use sha2::{Digest, Sha256};
use std::time::Duration;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::builder::{Builder, CertificateBuilder, Profile};
use x509_cert::der::asn1::{
    Any, GeneralizedTime, Ia5StringRef, PrintableStringRef, SetOfVec, TeletexStringRef, UtcTime,
    Utf8StringRef,
};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{DateTime, Decode, Encode};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::SubjectPublicKeyInfoOwned;
use x509_cert::time::{Time, Validity};

/// Bits of the key of a certificate that is made here.
pub(crate) const CERTIFICATE_BITS: usize = 2048;
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const SERIAL_BYTES: usize = 16;

/// A key pair.
pub(crate) struct Pair {
    /// SubjectPublicKeyInfo, DER.
    pub public: Vec<u8>,
    /// PKCS #8, DER.
    pub private: Vec<u8>,
}

/// What a certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFacts {
    /// Common name, or the whole subject.
    pub subject: String,
    /// Issuer.
    pub issuer: String,
    /// Serial number, hex pairs.
    pub serial: String,
    /// Valid from, seconds since 1970.
    pub start: i64,
    /// Valid until, seconds since 1970.
    pub expiry: i64,
    /// SubjectPublicKeyInfo, DER.
    pub public: Vec<u8>,
    /// Bits of its key; `None` when that is not RSA.
    pub bits: Option<usize>,
    /// SHA-1 of the DER form.
    pub thumbprint: Vec<u8>,
}

/// The instance's randomness as the library draws it.
struct Draws<'r>(&'r dyn Random);

impl RngCore for Draws<'_> {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.0.fill(&mut bytes);
        u32::from_le_bytes(bytes)
    }
    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
    fn fill_bytes(&mut self, dest: &mut [u8]) {
        self.0.fill(dest);
    }
    fn try_fill_bytes(&mut self, dest: &mut [u8]) -> Result<(), Error> {
        self.0.fill(dest);
        Ok(())
    }
}

impl CryptoRng for Draws<'_> {}

/// A new key pair.
pub(crate) fn new_pair(bits: usize, random: &dyn Random) -> Option<Pair> {
    let key = RsaPrivateKey::new(&mut Draws(random), bits).ok()?;
    pair_of(&key)
}

fn pair_of(key: &RsaPrivateKey) -> Option<Pair> {
    let public = key.to_public_key().to_public_key_der().ok()?.into_vec();
    Some(Pair { public, private: key.to_pkcs8_der().ok()?.as_bytes().to_vec() })
}

/// Whether a private key (PKCS #8) is of this public one. One that is not RSA has to hold its public key.
pub(crate) fn fits(private: &[u8], public: &[u8]) -> bool {
    if RsaPublicKey::from_public_key_der(public).is_err() {
        return holds(private, public).unwrap_or(false);
    }
    let key = RsaPrivateKey::from_pkcs8_der(private).ok().and_then(|key| pair_of(&key));
    key.is_some_and(|pair| pair.public == public)
}

/// Whether a private key of another algorithm holds this public key: beside it, or as the end of it (RFC 5915).
fn holds(private: &[u8], public: &[u8]) -> Option<bool> {
    let key = PrivateKeyInfo::from_der(private).ok()?;
    let public = SubjectPublicKeyInfoRef::from_der(public).ok()?;
    let bytes = public.subject_public_key.as_bytes().filter(|bytes| !bytes.is_empty())?;
    let inside = key.public_key == Some(bytes) || key.private_key.ends_with(bytes);
    Some(key.algorithm == public.algorithm && inside)
}

/// A text encrypted for whoever has the private key; `None` when it is too long for the key, or the key is not RSA.
pub(crate) fn encrypt(public: &[u8], text: &[u8], random: &dyn Random) -> Option<Vec<u8>> {
    let key = RsaPublicKey::from_public_key_der(public).ok()?;
    let mut sealed = key.encrypt(&mut Draws(random), Pkcs1v15Encrypt, text).ok()?;
    sealed.reverse();
    Some(sealed)
}

/// The way back; `None` for another key, or when it is damaged.
pub(crate) fn decrypt(private: &[u8], sealed: &[u8], random: &dyn Random) -> Option<Vec<u8>> {
    let key = RsaPrivateKey::from_pkcs8_der(private).ok()?;
    let sealed: Vec<u8> = sealed.iter().rev().copied().collect();
    key.decrypt_blinded(&mut Draws(random), Pkcs1v15Encrypt, &sealed).ok()
}

/// A signature of a text.
pub(crate) fn sign(private: &[u8], text: &[u8], random: &dyn Random) -> Option<Vec<u8>> {
    let key = RsaPrivateKey::from_pkcs8_der(private).ok()?;
    let digest = Sha256::digest(text);
    let mut signature = key.sign_with_rng(&mut Draws(random), Pkcs1v15Sign::new::<Sha256>(), &digest).ok()?;
    signature.reverse();
    Some(signature)
}

/// Whether a signature is of that text.
pub(crate) fn verify(public: &[u8], text: &[u8], signature: &[u8]) -> bool {
    let Ok(key) = RsaPublicKey::from_public_key_der(public) else { return false };
    let signature: Vec<u8> = signature.iter().rev().copied().collect();
    key.verify(Pkcs1v15Sign::new::<Sha256>(), &Sha256::digest(text), &signature).is_ok()
}

/// Bits of a public key.
pub(crate) fn bits_of(public: &[u8]) -> Option<usize> {
    Some(RsaPublicKey::from_public_key_der(public).ok()?.n().bits())
}

// ---- certificates ----

fn name_of(subject: &str) -> Option<Name> {
    let value = Any::from(Utf8StringRef::new(subject).ok()?);
    let attribute = AttributeTypeAndValue { oid: COMMON_NAME, value };
    let part = RelativeDistinguishedName::from(SetOfVec::try_from(vec![attribute]).ok()?);
    Some(RdnSequence::from(vec![part]))
}

fn time_of(seconds: i64) -> Option<Time> {
    let at = DateTime::from_unix_duration(Duration::from_secs(u64::try_from(seconds).ok()?)).ok()?;
    let short = UtcTime::from_date_time(at).ok().map(Time::UtcTime);
    Some(short.unwrap_or_else(|| Time::GeneralTime(GeneralizedTime::from_date_time(at))))
}

/// A key pair with a self-signed certificate; times are seconds since 1970. `None` for times or a subject that no certificate has.
pub(crate) fn make(
    subject: &str,
    start: i64,
    expiry: i64,
    random: &dyn Random,
) -> Option<(Vec<u8>, Vec<u8>)> {
    if expiry <= start {
        return None;
    }
    let validity = Validity { not_before: time_of(start)?, not_after: time_of(expiry)? };
    let mut serial = [0; SERIAL_BYTES];
    random.fill(&mut serial);
    // Positive, and of the same length whatever chance gave.
    serial[0] = serial[0] & 0x7F | 0x40;
    let key = RsaPrivateKey::new(&mut Draws(random), CERTIFICATE_BITS).ok()?;
    let pair = pair_of(&key)?;
    let public = SubjectPublicKeyInfoOwned::from_der(&pair.public).ok()?;
    let signer = rsa::pkcs1v15::SigningKey::<Sha256>::new(key);
    let (name, serial) = (name_of(subject)?, SerialNumber::new(&serial).ok()?);
    let profile =
        Profile::Leaf { issuer: name.clone(), enable_key_agreement: false, enable_key_encipherment: true };
    let builder = CertificateBuilder::new(profile, serial, validity, name, public, &signer).ok()?;
    let certificate = builder.build::<rsa::pkcs1v15::Signature>().ok()?;
    Some((certificate.to_der().ok()?, pair.private))
}

/// The common name of a subject or issuer, or all of it.
fn shown(name: &Name) -> String {
    let common = name.0.iter().flat_map(|part| part.0.iter()).find(|a| a.oid == COMMON_NAME);
    let text = common.and_then(|a| {
        let utf8 = a.value.decode_as::<Utf8StringRef<'_>>().ok().map(|t| t.as_str().to_owned());
        let printable = || a.value.decode_as::<PrintableStringRef<'_>>().ok().map(|t| t.as_str().to_owned());
        let teletex = || a.value.decode_as::<TeletexStringRef<'_>>().ok().map(|t| t.as_str().to_owned());
        let ascii = || a.value.decode_as::<Ia5StringRef<'_>>().ok().map(|t| t.as_str().to_owned());
        utf8.or_else(printable).or_else(teletex).or_else(ascii)
    });
    text.unwrap_or_else(|| name.to_string())
}

/// A certificate's facts; `None` when it is not one.
#[must_use]
pub fn read(der: &[u8]) -> Option<CertificateFacts> {
    let certificate = x509_cert::Certificate::from_der(der).ok()?.tbs_certificate;
    let seconds = |time: &Time| i64::try_from(time.to_unix_duration().as_secs()).ok();
    let serial: Vec<String> =
        certificate.serial_number.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let public = certificate.subject_public_key_info.to_der().ok()?;
    Some(CertificateFacts {
        subject: shown(&certificate.subject),
        issuer: shown(&certificate.issuer),
        serial: serial.join(" "),
        start: seconds(&certificate.validity.not_before)?,
        expiry: seconds(&certificate.validity.not_after)?,
        bits: bits_of(&public),
        public,
        thumbprint: crate::engine::thumbprint(der),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use keel_base::env::sim::SimRandom;

    #[test]
    fn a_certificate_says_what_it_was_made_with_and_its_key_encrypts_and_signs() {
        let random = SimRandom::new(7);
        let (der, private) = make("host a, 'b'", 1_700_000_000, 2_800_000_000, &random).expect("made");
        let facts = read(&der).expect("a certificate");
        assert_eq!((facts.subject.as_str(), facts.issuer.as_str()), ("host a, 'b'", "host a, 'b'"));
        assert_eq!((facts.start, facts.expiry), (1_700_000_000, 2_800_000_000));
        assert_eq!((facts.bits, facts.thumbprint.len()), (Some(CERTIFICATE_BITS), 20));
        assert!(fits(&private, &facts.public));
        let sealed = encrypt(&facts.public, b"text", &random).expect("short enough");
        assert_eq!(decrypt(&private, &sealed, &random).as_deref(), Some(&b"text"[..]));
        assert_eq!(encrypt(&facts.public, &[0; 246], &random), None);
        let signature = sign(&private, b"text", &random).expect("signed");
        assert!(verify(&facts.public, b"text", &signature));
        assert!(!verify(&facts.public, b"another", &signature));
        assert_eq!(read(b"not a certificate"), None);
        assert_eq!(make("host", 5, 5, &random), None);
    }

    /// A key of NIST P-256 (PKCS #8), its public one, and one of another.
    const PRIVATE: [u8; 138] = [
        0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
        0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x04, 0x6D, 0x30, 0x6B, 0x02, 0x01, 0x01,
        0x04, 0x20, 0xF4, 0xE8, 0xBE, 0x10, 0x22, 0x71, 0x1D, 0x6B, 0x61, 0x6A, 0x00, 0x1E, 0x98, 0x68, 0xFE,
        0x30, 0x31, 0xB5, 0xD8, 0xCF, 0x93, 0x58, 0x6F, 0x6A, 0xDC, 0xF2, 0xD7, 0xC5, 0x1E, 0xDD, 0x66, 0x12,
        0xA1, 0x44, 0x03, 0x42, 0x00, 0x04, 0x2C, 0x77, 0x38, 0x01, 0x41, 0x2A, 0x20, 0x44, 0xE4, 0xA2, 0x35,
        0xEB, 0x2B, 0x77, 0x60, 0xE1, 0x98, 0x97, 0x40, 0x7F, 0x8D, 0x63, 0x6B, 0x54, 0x21, 0xD1, 0x05, 0x41,
        0x4B, 0x7C, 0xC4, 0x97, 0x94, 0x83, 0xA6, 0xC2, 0x37, 0x92, 0x5D, 0x46, 0x59, 0x7E, 0x88, 0x00, 0xBA,
        0xB6, 0x66, 0xF7, 0x88, 0xAA, 0x53, 0xD9, 0x07, 0x62, 0x49, 0xAD, 0x35, 0xAF, 0x09, 0xAE, 0xA9, 0xD9,
        0xFA, 0x0D,
    ];
    const PUBLIC: [u8; 91] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
        0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04, 0x2C, 0x77, 0x38, 0x01, 0x41, 0x2A, 0x20,
        0x44, 0xE4, 0xA2, 0x35, 0xEB, 0x2B, 0x77, 0x60, 0xE1, 0x98, 0x97, 0x40, 0x7F, 0x8D, 0x63, 0x6B, 0x54,
        0x21, 0xD1, 0x05, 0x41, 0x4B, 0x7C, 0xC4, 0x97, 0x94, 0x83, 0xA6, 0xC2, 0x37, 0x92, 0x5D, 0x46, 0x59,
        0x7E, 0x88, 0x00, 0xBA, 0xB6, 0x66, 0xF7, 0x88, 0xAA, 0x53, 0xD9, 0x07, 0x62, 0x49, 0xAD, 0x35, 0xAF,
        0x09, 0xAE, 0xA9, 0xD9, 0xFA, 0x0D,
    ];
    const ANOTHER: [u8; 91] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
        0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04, 0xEF, 0xD6, 0x8A, 0x23, 0xE5, 0xEB, 0x1C,
        0xAD, 0xEE, 0x82, 0x58, 0xE6, 0x92, 0xDA, 0x70, 0x91, 0xA1, 0x88, 0xB4, 0x94, 0xF3, 0x1B, 0xCE, 0x1E,
        0x54, 0x5B, 0x18, 0x77, 0xC1, 0x48, 0xE8, 0x37, 0x82, 0xDB, 0x21, 0xEF, 0xBD, 0xE2, 0xEF, 0xE2, 0xD0,
        0x71, 0x33, 0x9E, 0x34, 0xC7, 0xA6, 0xCB, 0x81, 0x4D, 0x89, 0xDE, 0xFE, 0xF3, 0x5B, 0xEF, 0xDD, 0x37,
        0x0C, 0x31, 0xCB, 0x0E, 0x3A, 0x15,
    ];

    #[test]
    fn a_key_that_is_not_rsa_fits_the_public_one_that_it_holds() {
        assert!(fits(&PRIVATE, &PUBLIC));
        assert!(!fits(&PRIVATE, &ANOTHER));
        assert!(!fits(b"no key", &PUBLIC));
        let pair = new_pair(512, &SimRandom::new(7)).expect("made");
        assert!(!fits(&pair.private, &PUBLIC));
    }
}
