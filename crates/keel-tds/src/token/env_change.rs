//! ENVCHANGE (2.2.7.9): what changed about the session.

use crate::bytes::{Reader, put_b_varbyte, put_b_varchar, put_us_varchar, with_u16_length};
use crate::collation::WireCollation;
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::token::ENVCHANGE;

/// A change. Old values are given where clients look at them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvChange {
    /// 1: current database.
    Database {
        /// Now.
        new: String,
        /// Before.
        old: String,
    },
    /// 2: language.
    Language {
        /// Now.
        new: String,
        /// Before.
        old: String,
    },
    /// 3: character set of the server, told to 7.0, which has no collations.
    CharacterSet(String),
    /// 4: packet size.
    PacketSize {
        /// Now.
        new: usize,
        /// Before.
        old: usize,
    },
    /// 7: collation of the database.
    Collation {
        /// Now.
        new: Option<WireCollation>,
        /// Before.
        old: Option<WireCollation>,
    },
    /// 8: a transaction began; requests name it by this descriptor.
    BeginTransaction(u64),
    /// 9: the transaction was committed.
    CommitTransaction(u64),
    /// 10: the transaction was rolled back.
    RollbackTransaction(u64),
    /// 11: the session works in a distributed transaction; requests name it by this descriptor.
    EnlistTransaction(u64),
    /// 12: a distributed transaction was left.
    DefectTransaction(u64),
    /// 13: the other server that holds the database.
    MirrorPartner(String),
    /// 17: the transaction ended by other means.
    TransactionEnded(u64),
    /// 18: the session was reset.
    ResetAck,
    /// 20: log in elsewhere.
    Routing {
        /// Host to log in to.
        host: String,
        /// Its port.
        port: u16,
    },
    /// Any other, by its type.
    Other(u8),
}

impl EnvChange {
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<EnvChange> {
        let mut r = Reader::new(r.us_varbyte()?);
        Self::decode_body(&mut r).map_err(|_| DecodeError::Malformed("ENVCHANGE"))
    }

    fn decode_body(r: &mut Reader<'_>) -> Result<EnvChange> {
        Ok(match r.u8()? {
            1 => EnvChange::Database { new: r.b_varchar()?, old: r.b_varchar()? },
            2 => EnvChange::Language { new: r.b_varchar()?, old: r.b_varchar()? },
            3 => {
                let new = r.b_varchar()?;
                r.b_varchar()?;
                EnvChange::CharacterSet(new)
            }
            4 => EnvChange::PacketSize { new: number(r)?, old: number(r)? },
            7 => EnvChange::Collation { new: collation(r)?, old: collation(r)? },
            8 => EnvChange::BeginTransaction(descriptor(r)?),
            9 => EnvChange::CommitTransaction(old_descriptor(r)?),
            10 => EnvChange::RollbackTransaction(old_descriptor(r)?),
            11 => EnvChange::EnlistTransaction(descriptor(r)?),
            12 => EnvChange::DefectTransaction(old_descriptor(r)?),
            13 => EnvChange::MirrorPartner(r.b_varchar()?),
            17 => EnvChange::TransactionEnded(old_descriptor(r)?),
            18 => EnvChange::ResetAck,
            20 => {
                r.u16()?;
                r.u8()?;
                let port = r.u16()?;
                EnvChange::Routing { port, host: r.us_varchar()? }
            }
            other => EnvChange::Other(other),
        })
    }

    /// Whether clients know what it says.
    #[must_use]
    pub fn is_known(&self, dialect: Dialect) -> bool {
        dialect.knows_change(self.kind())
    }

    /// Appends the token, if the client knows what it says.
    pub fn put(&self, out: &mut Vec<u8>, dialect: Dialect) {
        if self.is_known(dialect) {
            out.push(ENVCHANGE);
            with_u16_length(out, |out| self.put_body(out));
        }
    }

    /// Its type.
    const fn kind(&self) -> u8 {
        match self {
            EnvChange::Database { .. } => 1,
            EnvChange::Language { .. } => 2,
            EnvChange::CharacterSet(_) => 3,
            EnvChange::PacketSize { .. } => 4,
            EnvChange::Collation { .. } => 7,
            EnvChange::BeginTransaction(_) => 8,
            EnvChange::CommitTransaction(_) => 9,
            EnvChange::RollbackTransaction(_) => 10,
            EnvChange::EnlistTransaction(_) => 11,
            EnvChange::DefectTransaction(_) => 12,
            EnvChange::MirrorPartner(_) => 13,
            EnvChange::TransactionEnded(_) => 17,
            EnvChange::ResetAck => 18,
            EnvChange::Routing { .. } => 20,
            EnvChange::Other(kind) => *kind,
        }
    }

    fn put_body(&self, out: &mut Vec<u8>) {
        out.push(self.kind());
        match self {
            EnvChange::Database { new, old } | EnvChange::Language { new, old } => put_strings(out, new, old),
            EnvChange::PacketSize { new, old } => put_strings(out, &new.to_string(), &old.to_string()),
            EnvChange::Collation { new, old } => {
                for c in [new, old] {
                    put_b_varbyte(out, c.map(WireCollation::to_bytes).as_ref().map_or(&[], |b| &b[..]));
                }
            }
            EnvChange::BeginTransaction(d) | EnvChange::EnlistTransaction(d) => {
                put_b_varbyte(out, &d.to_le_bytes());
                put_b_varbyte(out, &[]);
            }
            EnvChange::CommitTransaction(d)
            | EnvChange::RollbackTransaction(d)
            | EnvChange::DefectTransaction(d)
            | EnvChange::TransactionEnded(d) => put_old_descriptor(out, *d),
            EnvChange::CharacterSet(name) | EnvChange::MirrorPartner(name) => put_strings(out, name, ""),
            EnvChange::ResetAck | EnvChange::Other(_) => out.extend_from_slice(&[0, 0]),
            EnvChange::Routing { host, port } => {
                // The new value: protocol 0 (TCP), port, host.
                with_u16_length(out, |out| {
                    out.push(0);
                    out.extend_from_slice(&port.to_le_bytes());
                    put_us_varchar(out, host);
                });
                out.extend_from_slice(&[0, 0]);
            }
        }
    }
}

fn put_strings(out: &mut Vec<u8>, new: &str, old: &str) {
    put_b_varchar(out, new);
    put_b_varchar(out, old);
}

fn put_old_descriptor(out: &mut Vec<u8>, descriptor: u64) {
    put_b_varbyte(out, &[]);
    put_b_varbyte(out, &descriptor.to_le_bytes());
}

fn number(r: &mut Reader<'_>) -> Result<usize> {
    r.b_varchar()?.parse().map_err(|_| DecodeError::Malformed("packet size"))
}

fn collation(r: &mut Reader<'_>) -> Result<Option<WireCollation>> {
    Ok(r.b_varbyte()?.first_chunk().copied().map(WireCollation::from_bytes))
}

fn descriptor(r: &mut Reader<'_>) -> Result<u64> {
    let bytes = r.b_varbyte()?;
    bytes
        .first_chunk()
        .copied()
        .map(u64::from_le_bytes)
        .ok_or(DecodeError::Malformed("transaction descriptor"))
}

fn old_descriptor(r: &mut Reader<'_>) -> Result<u64> {
    r.b_varbyte()?;
    descriptor(r)
}
