//! The tokens of a response (2.2.7). Each file writes its tokens for the server and reads them for the client;
//! [`TokenReader`] takes a response apart.

pub mod column;
pub mod done;
pub mod encryption;
pub mod env_change;
pub mod login_ack;
pub mod message;
pub mod misc;
pub mod return_value;
pub mod row;

pub use column::{Column, ColumnFlags};
pub use done::{Done, DoneKind, DoneStatus};
pub use env_change::EnvChange;
pub use login_ack::LoginAck;
pub use message::ServerMessage;
pub use return_value::ReturnValue;

use crate::bytes::Reader;
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::features::{self, Feature};
use crate::value::Data;

/// Code of COLMETADATA.
pub const COLMETADATA: u8 = 0x81;
/// Code of ROW.
pub const ROW: u8 = 0xD1;
/// Code of NBCROW.
pub const NBCROW: u8 = 0xD2;
/// Code of DONE.
pub const DONE: u8 = 0xFD;
/// Code of DONEPROC.
pub const DONEPROC: u8 = 0xFE;
/// Code of DONEINPROC.
pub const DONEINPROC: u8 = 0xFF;
/// Code of ERROR.
pub const ERROR: u8 = 0xAA;
/// Code of INFO.
pub const INFO: u8 = 0xAB;
/// Code of LOGINACK.
pub const LOGINACK: u8 = 0xAD;
/// Code of ENVCHANGE.
pub const ENVCHANGE: u8 = 0xE3;
/// Code of RETURNSTATUS.
pub const RETURNSTATUS: u8 = 0x79;
/// Code of RETURNVALUE.
pub const RETURNVALUE: u8 = 0xAC;
/// Code of ORDER.
pub const ORDER: u8 = 0xA9;
/// Code of TABNAME.
pub const TABNAME: u8 = 0xA4;
/// Code of COLINFO.
pub const COLINFO: u8 = 0xA5;
/// Code of SSPI.
pub const SSPI: u8 = 0xED;
/// Code of FEDAUTHINFO.
pub const FEDAUTHINFO: u8 = 0xEE;
/// Code of SESSIONSTATE.
pub const SESSIONSTATE: u8 = 0xE4;

/// A token as a client sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'a> {
    /// The columns of the rows that follow.
    Columns(Vec<Column>),
    /// A row, of either kind.
    Row(Vec<Data<'a>>),
    /// End of a statement, procedure or batch.
    Done(Done),
    /// An error or information.
    Message(ServerMessage),
    /// The login succeeded.
    LoginAck(LoginAck),
    /// Something about the session changed.
    EnvChange(EnvChange),
    /// Return status of a procedure.
    ReturnStatus(i32),
    /// An output parameter or a function's value.
    ReturnValue(ReturnValue<'a>),
    /// Columns, from 1, by which rows are ordered.
    Order(Vec<u16>),
    /// A token of integrated authentication, for the library that makes the client's.
    Sspi(Vec<u8>),
    /// Features acknowledged.
    Features(Vec<Feature>),
    /// Anything else that could be skipped, by its code.
    Other(u8),
}

/// Takes a response apart. Rows need the columns before them, which it remembers.
#[derive(Clone, Debug, Default)]
pub struct TokenReader {
    dialect: Dialect,
    columns: Vec<Column>,
}

impl TokenReader {
    /// At the start of a response.
    #[must_use]
    pub fn new(dialect: Dialect) -> TokenReader {
        TokenReader { dialect, columns: Vec::new() }
    }
    /// The columns of the current result set.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// The next token of `bytes` and its length; `Incomplete` when more bytes are needed.
    pub fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<(Token<'a>, usize)> {
        let mut r = Reader::new(bytes);
        let token = self.decode(&mut r)?;
        Ok((token, bytes.len() - r.remaining()))
    }

    fn decode<'a>(&mut self, r: &mut Reader<'a>) -> Result<Token<'a>> {
        Ok(match r.u8()? {
            COLMETADATA => {
                let columns = column::decode(r, self.dialect)?;
                self.columns.clone_from(&columns);
                Token::Columns(columns)
            }
            ROW => Token::Row(row::decode_row(r, &self.columns)?),
            NBCROW => Token::Row(row::decode_nbc_row(r, &self.columns)?),
            code @ (DONE | DONEPROC | DONEINPROC) => Token::Done(Done::decode(r, code, self.dialect)?),
            code @ (ERROR | INFO) => Token::Message(ServerMessage::decode(r, code == ERROR, self.dialect)?),
            LOGINACK => Token::LoginAck(LoginAck::decode(r)?),
            ENVCHANGE => Token::EnvChange(EnvChange::decode(r)?),
            RETURNSTATUS => Token::ReturnStatus(r.i32()?),
            RETURNVALUE => Token::ReturnValue(ReturnValue::decode(r, self.dialect)?),
            ORDER => Token::Order(misc::decode_order(r)?),
            features::FEATUREEXTACK => Token::Features(features::decode(r)?),
            SSPI => Token::Sspi(r.us_varbyte()?.to_vec()),
            code @ (TABNAME | COLINFO) => {
                r.us_varbyte()?;
                Token::Other(code)
            }
            code @ (FEDAUTHINFO | SESSIONSTATE) => {
                let length = usize::try_from(r.u32()?).map_err(|_| DecodeError::Limit("token length"))?;
                r.take(length)?;
                Token::Other(code)
            }
            code => return Err(DecodeError::Unsupported { what: "token", code: code.into() }),
        })
    }
}
