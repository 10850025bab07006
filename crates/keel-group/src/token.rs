//! Join tokens: how trust travels without copying certificates.
//!
//! `keel://<host:port>/<fingerprint, 64 hex digits>/<secret, 32 hex digits>`
//!
//! The member that issued it keeps only a digest of the secret, until it expires. Whoever joins connects to the address,
//! goes on only if the certificate there has the fingerprint, and proves that it knows the secret with
//! `HMAC-SHA256(secret, own fingerprint ++ issuer's fingerprint)`; so the proof is of no use to anybody else. The member
//! then trusts the certificate the proof came with, and tells everybody it trusts.

use crate::error::GroupError;
use crate::identity::{Fingerprint, parse_hex, to_hex};
use ring::hmac;
use std::fmt;

/// The secret half of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub [u8; 16]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// The key that proofs are made with; all a member needs to keep.
    #[must_use]
    pub fn key(&self) -> JoinKey {
        JoinKey(Fingerprint::of(&self.0).0)
    }
}

/// What a member keeps of a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct JoinKey(pub [u8; 32]);

impl JoinKey {
    fn message(joiner: Fingerprint, issuer: Fingerprint) -> Vec<u8> {
        [joiner.0, issuer.0].concat()
    }

    /// The proof by which `joiner` becomes trusted at `issuer`.
    #[must_use]
    pub fn prove(&self, joiner: Fingerprint, issuer: Fingerprint) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        let mut proof = [0; 32];
        proof.copy_from_slice(hmac::sign(&key, &JoinKey::message(joiner, issuer)).as_ref());
        proof
    }

    /// Whether a proof is one; takes the same time for every wrong one.
    #[must_use]
    pub fn accepts(&self, proof: &[u8; 32], joiner: Fingerprint, issuer: Fingerprint) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        hmac::verify(&key, &JoinKey::message(joiner, issuer), proof).is_ok()
    }
}

/// What a new member is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinToken {
    /// `host:port` of the issuer's endpoint.
    pub address: String,
    /// The issuer's certificate.
    pub fingerprint: Fingerprint,
    /// Proves that the bearer was meant.
    pub secret: Secret,
}

impl fmt::Display for JoinToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "keel://{}/{}/{}", self.address, self.fingerprint, to_hex(&self.secret.0))
    }
}

impl std::str::FromStr for JoinToken {
    type Err = GroupError;

    fn from_str(text: &str) -> Result<JoinToken, GroupError> {
        let parse = || {
            let rest = text.trim().strip_prefix("keel://")?;
            let (address, rest) = rest.split_once('/')?;
            let (fingerprint, secret) = rest.split_once('/')?;
            let (host, port) = address.rsplit_once(':')?;
            if host.is_empty() || port.parse::<u16>().ok()? == 0 {
                return None;
            }
            Some(JoinToken {
                address: address.to_owned(),
                fingerprint: Fingerprint::parse(fingerprint)?,
                secret: Secret(parse_hex(secret)?),
            })
        };
        parse().ok_or(GroupError::Token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> JoinToken {
        let fingerprint = Fingerprint::of(b"one");
        JoinToken { address: "db-1.example:5022".into(), fingerprint, secret: Secret([7; 16]) }
    }

    #[test]
    fn is_read_as_it_is_written() {
        assert_eq!(token().to_string().parse::<JoinToken>().unwrap(), token());
    }

    #[test]
    fn every_cut_off_token_is_refused() {
        let text = token().to_string();
        for end in 0..text.len() {
            assert!(text[..end].parse::<JoinToken>().is_err(), "{end}");
        }
    }

    #[test]
    fn a_proof_is_for_one_pair_only() {
        let (a, b, c) = (Fingerprint::of(b"a"), Fingerprint::of(b"b"), Fingerprint::of(b"c"));
        let key = token().secret.key();
        let proof = key.prove(a, b);
        assert!(key.accepts(&proof, a, b));
        assert!(!key.accepts(&proof, c, b));
        assert!(!key.accepts(&proof, a, c));
        assert!(!Secret([8; 16]).key().accepts(&proof, a, b));
    }
}
