//! DONE, DONEPROC, DONEINPROC (2.2.7.6-8): ends of statements, procedures and batches.

use crate::bits::bit_set;
use crate::bytes::Reader;
use crate::dialect::Dialect;
use crate::error::Result;
use crate::token;

/// Which of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DoneKind {
    /// End of a statement of a batch.
    Done = token::DONE,
    /// End of a procedure.
    Proc = token::DONEPROC,
    /// End of a statement inside a procedure.
    InProc = token::DONEINPROC,
}

bit_set! {
    /// Status of a DONE.
    DoneStatus: u16 {
        /// More results follow.
        MORE = 0x01;
        /// The statement failed.
        ERROR = 0x02;
        /// A transaction is in progress.
        IN_TRANSACTION = 0x04;
        /// The row count is valid.
        COUNT = 0x10;
        /// Answers an attention.
        ATTENTION = 0x20;
        /// One call of several in a message ended.
        RPC_IN_BATCH = 0x80;
        /// An error that ended the request; results are to be discarded.
        SERVER_ERROR = 0x100;
    }
}

/// Code of the statement that ended (the product's own numbering).
pub mod command {
    /// SELECT
    pub const SELECT: u16 = 0xC1;
    /// INSERT
    pub const INSERT: u16 = 0xC3;
    /// DELETE
    pub const DELETE: u16 = 0xC4;
    /// UPDATE
    pub const UPDATE: u16 = 0xC5;
    /// EXECUTE
    pub const EXECUTE: u16 = 0xE0;
    /// BULK INSERT
    pub const BULK_INSERT: u16 = 0xF0;
    /// MERGE
    pub const MERGE: u16 = 0x117;
}

/// A DONE token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which of the three.
    pub kind: DoneKind,
    /// Status bits.
    pub status: DoneStatus,
    /// Statement, see [`command`]; 0 when it does not matter.
    pub command: u16,
    /// Rows, valid with [`DoneStatus::COUNT`].
    pub rows: u64,
}

impl Done {
    pub(crate) fn decode(r: &mut Reader<'_>, code: u8, dialect: Dialect) -> Result<Done> {
        let kind = match code {
            token::DONEPROC => DoneKind::Proc,
            token::DONEINPROC => DoneKind::InProc,
            _ => DoneKind::Done,
        };
        Ok(Done { kind, status: DoneStatus(r.u16()?), command: r.u16()?, rows: dialect.count(r)? })
    }

    /// Appends the token.
    pub fn put(&self, out: &mut Vec<u8>, dialect: Dialect) {
        let [s0, s1] = self.status.0.to_le_bytes();
        let [c0, c1] = self.command.to_le_bytes();
        out.extend_from_slice(&[self.kind as u8, s0, s1, c0, c1]);
        dialect.put_count(out, self.rows);
    }
}
