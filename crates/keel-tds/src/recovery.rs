//! Session recovery: what a client keeps of a session, so that it can have the session made again when its connection was lost
//! (2.2.6.4 SESSIONRECOVERY, 2.2.7.11, 2.2.7.21). Drivers call it idle connection resiliency.
//!
//! The states of a session are numbered values that only servers understand. The client is given all of them with its login and
//! those that change with the requests that change them, and sends both back with the login that is to recover the session.

use crate::bytes::Reader;
use crate::error::{DecodeError, Result};

/// Numbered values.
pub type States = Vec<(u8, Vec<u8>)>;

/// What a client keeps of a session at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Current database; empty in what is [current](Recovery::current) when it is the initial one.
    pub database: String,
    /// Language, likewise.
    pub language: String,
    /// Its states.
    pub states: States,
}

/// The session that a login is to recover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// As it was after the first login.
    pub initial: Kept,
    /// What has changed since.
    pub current: Kept,
}

impl Recovery {
    /// Data of the feature in a login; `None` of a client that has nothing to recover yet.
    pub fn decode(data: &[u8]) -> Result<Option<Recovery>> {
        if data.is_empty() {
            return Ok(None);
        }
        let mut r = Reader::new(data);
        let recovery = Recovery { initial: Kept::decode(&mut r)?, current: Kept::decode(&mut r)? };
        if r.is_empty() { Ok(Some(recovery)) } else { Err(DecodeError::Malformed("session recovery data")) }
    }

    /// The database it was in last.
    #[must_use]
    pub fn database(&self) -> &str {
        if self.current.database.is_empty() { &self.initial.database } else { &self.current.database }
    }

    /// Its language.
    #[must_use]
    pub fn language(&self) -> &str {
        if self.current.language.is_empty() { &self.initial.language } else { &self.current.language }
    }

    /// The latest value of a state.
    #[must_use]
    pub fn state(&self, id: u8) -> Option<&[u8]> {
        let mut all = self.current.states.iter().rev().chain(self.initial.states.iter().rev());
        all.find(|(i, _)| *i == id).map(|(_, value)| &**value)
    }
}

impl Kept {
    fn decode(r: &mut Reader<'_>) -> Result<Kept> {
        let length = usize::try_from(r.u32()?).map_err(|_| DecodeError::Limit("session recovery data"))?;
        let mut r = Reader::new(r.take(length)?);
        let database = r.b_varchar()?;
        // Strings of the session's databases say their collations themselves.
        let collation = r.u8()?;
        r.take(collation.into())?;
        Ok(Kept { database, language: r.b_varchar()?, states: decode_states(&mut r)? })
    }
}

fn decode_states(r: &mut Reader<'_>) -> Result<States> {
    let mut states = Vec::new();
    while !r.is_empty() {
        let id = r.u8()?;
        let length = match r.u8()? {
            0xFF => usize::try_from(r.u32()?).map_err(|_| DecodeError::Limit("session state"))?,
            short => short.into(),
        };
        states.push((id, r.take(length)?.to_vec()));
    }
    Ok(states)
}

/// Appends states as SESSIONSTATE and the feature's acknowledgement have them.
pub fn put_states(out: &mut Vec<u8>, states: &[(u8, &[u8])]) {
    for (id, value) in states {
        out.push(*id);
        match u8::try_from(value.len()) {
            Ok(length) if length < 0xFF => out.push(length),
            _ => {
                out.push(0xFF);
                out.extend_from_slice(&u32::try_from(value.len()).expect("short").to_le_bytes());
            }
        }
        out.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(database: &str, language: &str, states: &[(u8, &[u8])]) -> Vec<u8> {
        let mut out = Vec::new();
        crate::bytes::put_b_varchar(&mut out, database);
        out.extend_from_slice(&[5, 9, 4, 0xD0, 0, 0x34]);
        crate::bytes::put_b_varchar(&mut out, language);
        put_states(&mut out, states);
        let mut whole = u32::try_from(out.len()).expect("short").to_le_bytes().to_vec();
        whole.extend(out);
        whole
    }

    #[test]
    fn a_client_without_a_session_sends_nothing() {
        assert_eq!(Recovery::decode(&[]), Ok(None));
    }

    #[test]
    fn what_has_changed_comes_before_what_there_was() {
        let long = [7; 300];
        let mut data = kept("shop", "us_english", &[(0, &[1]), (1, &[2]), (2, &long)]);
        data.extend(kept("", "Deutsch", &[(1, &[3])]));
        let recovery = Recovery::decode(&data).expect("well formed").expect("there");
        assert_eq!((recovery.database(), recovery.language()), ("shop", "Deutsch"));
        assert_eq!(recovery.state(0), Some(&[1][..]));
        assert_eq!(recovery.state(1), Some(&[3][..]));
        assert_eq!(recovery.state(2), Some(&long[..]));
        assert_eq!(recovery.state(3), None);
    }

    #[test]
    fn what_is_cut_off_or_goes_on_is_refused() {
        let mut data = kept("a", "b", &[(0, &[1, 2])]);
        data.extend(kept("a", "b", &[(0, &[1, 2])]));
        for end in 1..data.len() {
            assert!(Recovery::decode(&data[..end]).is_err(), "{end} bytes");
        }
        data.push(0);
        assert!(Recovery::decode(&data).is_err());
    }
}
