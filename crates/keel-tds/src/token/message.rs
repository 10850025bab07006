//! ERROR and INFO (2.2.7.10, 2.2.7.13).

use crate::bytes::{Reader, put_b_varchar, put_us_varchar, with_u16_length};
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::token;

/// Longest message text sent, in code units: PRINT's. The token's length is a USHORT of bytes.
const TEXT_UNITS_MAX: usize = 8000;

/// An error (class above 10) or information.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerMessage {
    /// Sent as ERROR rather than INFO.
    pub is_error: bool,
    /// Number.
    pub number: i32,
    /// State.
    pub state: u8,
    /// Severity.
    pub class: u8,
    /// Text.
    pub text: String,
    /// Name of the server.
    pub server: String,
    /// Procedure, or empty.
    pub procedure: String,
    /// Line, from 1; 0 when it has none.
    pub line: u32,
}

impl ServerMessage {
    pub(crate) fn decode(r: &mut Reader<'_>, is_error: bool, dialect: Dialect) -> Result<ServerMessage> {
        let mut r = Reader::new(r.us_varbyte()?);
        Self::decode_body(&mut r, is_error, dialect).map_err(|_| DecodeError::Malformed("message token"))
    }

    fn decode_body(r: &mut Reader<'_>, is_error: bool, dialect: Dialect) -> Result<ServerMessage> {
        Ok(ServerMessage {
            is_error,
            number: r.i32()?,
            state: r.u8()?,
            class: r.u8()?,
            text: r.us_varchar()?,
            server: r.b_varchar()?,
            procedure: r.b_varchar()?,
            line: dialect.line(r)?,
        })
    }

    /// Appends the token.
    pub fn put(&self, out: &mut Vec<u8>, dialect: Dialect) {
        put(
            out,
            &Parts {
                is_error: self.is_error,
                number: self.number,
                state: self.state,
                class: self.class,
                text: &self.text,
                server: &self.server,
                procedure: &self.procedure,
                line: self.line,
            },
            dialect,
        );
    }
}

/// A message by reference, for writers that own the texts elsewhere. Fields as in [`ServerMessage`].
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// Sent as ERROR rather than INFO.
    pub is_error: bool,
    /// Number.
    pub number: i32,
    /// State.
    pub state: u8,
    /// Severity.
    pub class: u8,
    /// Text.
    pub text: &'a str,
    /// Name of the server.
    pub server: &'a str,
    /// Procedure, or empty.
    pub procedure: &'a str,
    /// Line.
    pub line: u32,
}

/// Appends ERROR or INFO.
pub fn put(out: &mut Vec<u8>, m: &Parts<'_>, dialect: Dialect) {
    out.push(if m.is_error { token::ERROR } else { token::INFO });
    with_u16_length(out, |out| {
        put_body(out, m);
        dialect.put_line(out, m.line);
    });
}

fn put_body(out: &mut Vec<u8>, m: &Parts<'_>) {
    out.extend_from_slice(&m.number.to_le_bytes());
    out.extend_from_slice(&[m.state, m.class]);
    if m.text.len() > TEXT_UNITS_MAX {
        let cut: String = m.text.chars().take(TEXT_UNITS_MAX).collect();
        put_us_varchar(out, &cut);
    } else {
        put_us_varchar(out, m.text);
    }
    put_b_varchar(out, m.server);
    put_b_varchar(out, m.procedure);
}
