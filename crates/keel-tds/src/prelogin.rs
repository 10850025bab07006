//! PRELOGIN (2.2.6.5): versions and encryption are settled before anything else is said.

use crate::bytes::Reader;
use crate::error::{DecodeError, Result};

const VERSION: u8 = 0;
const ENCRYPTION: u8 = 1;
const INSTANCE: u8 = 2;
const THREAD_ID: u8 = 3;
const MARS: u8 = 4;
const TRACE_ID: u8 = 5;
const FEDAUTH_REQUIRED: u8 = 6;
const NONCE: u8 = 7;
const TERMINATOR: u8 = 0xFF;

/// ENCRYPTION option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encryption {
    /// Available but off: only the login is encrypted.
    Off = 0,
    /// Available and on.
    On = 1,
    /// Not available.
    NotSupported = 2,
    /// Required.
    Required = 3,
}

impl Encryption {
    fn from_code(code: u8) -> Result<Encryption> {
        // 0x80 asks for a client certificate in addition, which we do not use.
        Ok(match code & 0x7F {
            0 => Encryption::Off,
            1 => Encryption::On,
            2 => Encryption::NotSupported,
            3 => Encryption::Required,
            // Sent by go-mssqldb in strict mode, where TLS is up already.
            4 => Encryption::Required,
            _ => return Err(DecodeError::Malformed("pre-login encryption option")),
        })
    }
}

/// What both sides then do, from their two options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncryptionPlan {
    /// No TLS at all.
    None,
    /// TLS for the login message only.
    LoginOnly,
    /// TLS from here on.
    Everything,
    /// The two cannot agree; the server answers and closes.
    Refused,
}

/// The server's answer to the client's option, and what follows (2.2.6.5, table of combinations).
#[must_use]
pub fn negotiate(client: Encryption, server_requires: bool) -> (Encryption, EncryptionPlan) {
    match (client, server_requires) {
        (Encryption::Off, false) => (Encryption::Off, EncryptionPlan::LoginOnly),
        (Encryption::Off, true) => (Encryption::Required, EncryptionPlan::Everything),
        (Encryption::On | Encryption::Required, _) => (Encryption::On, EncryptionPlan::Everything),
        (Encryption::NotSupported, false) => (Encryption::NotSupported, EncryptionPlan::None),
        (Encryption::NotSupported, true) => (Encryption::Required, EncryptionPlan::Refused),
    }
}

/// A PRELOGIN message of either side. Absent options are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreLogin {
    /// Version: major, minor, build (network order on the wire), then sub-build.
    pub version: (u8, u8, u16, u16),
    /// Encryption option.
    pub encryption: Option<Encryption>,
    /// Instance name, without its terminating zero. From the server: empty when it matches.
    pub instance: Option<Vec<u8>>,
    /// Client's thread id.
    pub thread_id: Option<u32>,
    /// Whether multiple active result sets are asked for (client) or given (server).
    pub mars: Option<bool>,
    /// Connection id and activity id, for tracing.
    pub trace_id: Option<Vec<u8>>,
    /// Federated authentication is required.
    pub fedauth_required: Option<bool>,
    /// Nonce of federated authentication.
    pub nonce: Option<[u8; 32]>,
}

impl PreLogin {
    /// From a message payload. Unknown options are skipped, as the specification asks.
    pub fn decode(payload: &[u8]) -> Result<PreLogin> {
        let mut options = Reader::new(payload);
        let mut out = PreLogin::default();
        loop {
            let token = options.u8()?;
            if token == TERMINATOR {
                return Ok(out);
            }
            let offset = usize::from(options.u16_be()?);
            let length = usize::from(options.u16_be()?);
            let data =
                payload.get(offset..offset + length).ok_or(DecodeError::Malformed("pre-login option"))?;
            out.set(token, data)?;
        }
    }

    fn set(&mut self, token: u8, data: &[u8]) -> Result<()> {
        let mut r = Reader::new(data);
        match token {
            VERSION => self.version = (r.u8()?, r.u8()?, r.u16_be()?, r.u16_be()?),
            ENCRYPTION => self.encryption = Some(Encryption::from_code(r.u8()?)?),
            INSTANCE => self.instance = Some(data.strip_suffix(&[0]).unwrap_or(data).to_vec()),
            // Servers send it empty.
            THREAD_ID => self.thread_id = r.u32_be().ok(),
            MARS => self.mars = data.first().map(|&b| b != 0),
            TRACE_ID => self.trace_id = Some(data.to_vec()),
            FEDAUTH_REQUIRED => self.fedauth_required = data.first().map(|&b| b != 0),
            NONCE => self.nonce = Some(r.array()?),
            _ => {}
        }
        Ok(())
    }

    /// The message payload.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (major, minor, build, sub_build) = self.version;
        let [b0, b1] = build.to_be_bytes();
        let [s0, s1] = sub_build.to_be_bytes();
        let mut options: Vec<(u8, Vec<u8>)> = vec![(VERSION, vec![major, minor, b0, b1, s0, s1])];
        options.extend(self.encryption.map(|e| (ENCRYPTION, vec![e as u8])));
        options.extend(self.instance.as_ref().map(|name| (INSTANCE, [name.as_slice(), &[0]].concat())));
        options.extend(self.thread_id.map(|id| (THREAD_ID, id.to_be_bytes().to_vec())));
        options.extend(self.mars.map(|on| (MARS, vec![on.into()])));
        options.extend(self.trace_id.clone().map(|id| (TRACE_ID, id)));
        options.extend(self.fedauth_required.map(|on| (FEDAUTH_REQUIRED, vec![on.into()])));
        options.extend(self.nonce.map(|nonce| (NONCE, nonce.to_vec())));

        let mut offset = options.len() * 5 + 1;
        let mut out = Vec::new();
        for (token, data) in &options {
            out.push(*token);
            out.extend_from_slice(&u16::try_from(offset).expect("options are short").to_be_bytes());
            out.extend_from_slice(&u16::try_from(data.len()).expect("options are short").to_be_bytes());
            offset += data.len();
        }
        out.push(TERMINATOR);
        out.extend(options.into_iter().flat_map(|(_, data)| data));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn full() -> PreLogin {
        PreLogin {
            version: (16, 0, 1000, 6),
            encryption: Some(Encryption::On),
            instance: Some(b"MSSQLSERVER".to_vec()),
            thread_id: Some(77),
            mars: Some(false),
            trace_id: Some(vec![7; 36]),
            fedauth_required: Some(true),
            nonce: Some([9; 32]),
        }
    }

    #[test]
    fn every_option_round_trips() {
        assert_eq!(PreLogin::decode(&full().encode()), Ok(full()));
        let bare = PreLogin { version: (16, 0, 1, 0), ..PreLogin::default() };
        assert_eq!(PreLogin::decode(&bare.encode()), Ok(bare));
    }

    #[test]
    fn truncated_at_every_byte_is_an_error() {
        let bytes = full().encode();
        for end in 0..bytes.len() {
            assert!(PreLogin::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn encryption_combinations() {
        use {Encryption::*, EncryptionPlan as Plan};
        assert_eq!(negotiate(Off, false), (Off, Plan::LoginOnly));
        assert_eq!(negotiate(Off, true), (Required, Plan::Everything));
        assert_eq!(negotiate(On, false), (On, Plan::Everything));
        assert_eq!(negotiate(Required, true), (On, Plan::Everything));
        assert_eq!(negotiate(NotSupported, false), (NotSupported, Plan::None));
        assert_eq!(negotiate(NotSupported, true), (Required, Plan::Refused));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = PreLogin::decode(&bytes);
        }
    }
}
