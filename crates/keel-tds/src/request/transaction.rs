//! Transaction manager requests (2.2.6.9).

use crate::bytes::{Reader, with_u16_length};
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::request::headers::AllHeaders;
use crate::text;

const GET_DTC_ADDRESS: u16 = 0;
const PROPAGATE: u16 = 1;
const BEGIN: u16 = 5;
const PROMOTE: u16 = 6;
const COMMIT: u16 = 7;
const ROLLBACK: u16 = 8;
const SAVE: u16 = 9;

/// Isolation level of a transaction begun by request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum IsolationLevel {
    /// Keep the session's.
    Unchanged = 0,
    /// READ UNCOMMITTED
    ReadUncommitted = 1,
    /// READ COMMITTED
    ReadCommitted = 2,
    /// REPEATABLE READ
    RepeatableRead = 3,
    /// SERIALIZABLE
    Serializable = 4,
    /// SNAPSHOT
    Snapshot = 5,
}

impl IsolationLevel {
    fn from_code(code: u8) -> Result<IsolationLevel> {
        Ok(match code {
            0 => IsolationLevel::Unchanged,
            1 => IsolationLevel::ReadUncommitted,
            2 => IsolationLevel::ReadCommitted,
            3 => IsolationLevel::RepeatableRead,
            4 => IsolationLevel::Serializable,
            5 => IsolationLevel::Snapshot,
            _ => return Err(DecodeError::Malformed("isolation level")),
        })
    }
}

/// A transaction to begin, by itself or right after a commit or rollback.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Its isolation level.
    pub isolation: IsolationLevel,
    /// Its name, often empty.
    pub name: String,
}

/// A request to the transaction manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionRequest {
    /// Begin.
    Begin(Begin),
    /// Commit, then possibly begin the next.
    Commit {
        /// Name, ignored by the product.
        name: String,
        /// The next transaction.
        then: Option<Begin>,
    },
    /// Roll back (to a savepoint when the name is one's), then possibly begin the next.
    Rollback {
        /// Name of the savepoint or transaction; empty for all.
        name: String,
        /// The next transaction.
        then: Option<Begin>,
    },
    /// Set a savepoint.
    Save(String),
    /// Work in a distributed transaction, which the cookie of who began it names; an empty one ends that.
    Propagate(Vec<u8>),
    /// One of the other distributed transaction requests, by its code; they need a coordinator beside the server.
    Distributed(u16),
}

impl TransactionRequest {
    /// From a message payload.
    pub fn decode(payload: &[u8], dialect: Dialect) -> Result<(AllHeaders, TransactionRequest)> {
        let mut r = Reader::new(payload);
        let headers = AllHeaders::decode(&mut r, dialect)?;
        let request = match r.u16()? {
            BEGIN => TransactionRequest::Begin(begin(&mut r)?),
            COMMIT => TransactionRequest::Commit { name: name(&mut r)?, then: then(&mut r)? },
            ROLLBACK => TransactionRequest::Rollback { name: name(&mut r)?, then: then(&mut r)? },
            SAVE => TransactionRequest::Save(name(&mut r)?),
            PROPAGATE => TransactionRequest::Propagate(cookie(&mut r)?),
            code @ (GET_DTC_ADDRESS | PROMOTE) => TransactionRequest::Distributed(code),
            code => return Err(DecodeError::Unsupported { what: "transaction request", code: code.into() }),
        };
        Ok((headers, request))
    }

    /// Appends the request with its headers.
    pub fn encode(&self, out: &mut Vec<u8>, headers: &AllHeaders, dialect: Dialect) {
        headers.encode(out, dialect);
        match self {
            TransactionRequest::Begin(b) => {
                out.extend_from_slice(&BEGIN.to_le_bytes());
                put_begin(out, b);
            }
            TransactionRequest::Commit { name, then } => put_end(out, COMMIT, name, then.as_ref()),
            TransactionRequest::Rollback { name, then } => put_end(out, ROLLBACK, name, then.as_ref()),
            TransactionRequest::Save(name) => {
                out.extend_from_slice(&SAVE.to_le_bytes());
                put_name(out, name);
            }
            TransactionRequest::Propagate(cookie) => {
                out.extend_from_slice(&PROPAGATE.to_le_bytes());
                with_u16_length(out, |out| out.extend_from_slice(cookie));
            }
            TransactionRequest::Distributed(code) => out.extend_from_slice(&code.to_le_bytes()),
        }
    }
}

/// Names here count bytes, not code units.
fn name(r: &mut Reader<'_>) -> Result<String> {
    r.b_varbyte().map(text::from_utf16le)
}

/// Clients may end the message before an empty one.
fn cookie(r: &mut Reader<'_>) -> Result<Vec<u8>> {
    if r.is_empty() { Ok(Vec::new()) } else { r.us_varbyte().map(<[u8]>::to_vec) }
}

fn begin(r: &mut Reader<'_>) -> Result<Begin> {
    Ok(Begin { isolation: IsolationLevel::from_code(r.u8()?)?, name: name(r)? })
}

/// Bit 0 of the flags: a transaction follows. Clients may end the message before the flags.
fn then(r: &mut Reader<'_>) -> Result<Option<Begin>> {
    if r.is_empty() || r.u8()? & 1 == 0 { Ok(None) } else { begin(r).map(Some) }
}

fn put_name(out: &mut Vec<u8>, name: &str) {
    let at = out.len();
    out.push(0);
    let units = text::put_utf16le_limited(out, name, 127);
    out[at] = u8::try_from(units * 2).expect("limited to 254 bytes");
}

fn put_begin(out: &mut Vec<u8>, b: &Begin) {
    out.push(b.isolation as u8);
    put_name(out, &b.name);
}

fn put_end(out: &mut Vec<u8>, code: u16, name: &str, then: Option<&Begin>) {
    out.extend_from_slice(&code.to_le_bytes());
    put_name(out, name);
    out.push(then.is_some().into());
    if let Some(b) = then {
        put_begin(out, b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: TransactionRequest) {
        let headers =
            AllHeaders { transaction: 1, outstanding: 1, activity: Some([3; 20]), notification: None };
        let mut bytes = Vec::new();
        request.encode(&mut bytes, &headers, Dialect::default());
        assert_eq!(TransactionRequest::decode(&bytes, Dialect::default()), Ok((headers, request)));
        for end in 0..bytes.len() {
            let _ = TransactionRequest::decode(&bytes[..end], Dialect::default());
        }
    }

    #[test]
    fn every_request_round_trips() {
        let begin = Begin { isolation: IsolationLevel::Snapshot, name: "t".into() };
        check(TransactionRequest::Begin(begin.clone()));
        check(TransactionRequest::Commit { name: String::new(), then: None });
        check(TransactionRequest::Commit { name: String::new(), then: Some(begin.clone()) });
        check(TransactionRequest::Rollback { name: "s".into(), then: Some(begin) });
        check(TransactionRequest::Save("s".into()));
        check(TransactionRequest::Propagate(vec![1; 16]));
        check(TransactionRequest::Propagate(Vec::new()));
        check(TransactionRequest::Distributed(0));
    }
}
