//! LOGINACK (2.2.7.14).

use crate::bytes::{Reader, put_b_varchar, with_u16_length};
use crate::error::{DecodeError, Result};
use crate::token::LOGINACK;

/// The server's answer to a login that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginAck {
    /// Protocol version agreed on, in the form of LOGIN7. On the wire it is in network order here.
    pub tds_version: u32,
    /// Product name.
    pub program: String,
    /// Product version: major, minor, build.
    pub version: (u8, u8, u16),
}

impl LoginAck {
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<LoginAck> {
        let mut r = Reader::new(r.us_varbyte()?);
        Self::decode_body(&mut r).map_err(|_| DecodeError::Malformed("LOGINACK"))
    }

    fn decode_body(r: &mut Reader<'_>) -> Result<LoginAck> {
        r.u8()?;
        Ok(LoginAck {
            tds_version: r.u32_be()?,
            program: r.b_varchar()?,
            version: (r.u8()?, r.u8()?, r.u16_be()?),
        })
    }

    /// Appends the token.
    pub fn put(&self, out: &mut Vec<u8>) {
        out.push(LOGINACK);
        with_u16_length(out, |out| {
            out.push(1);
            out.extend_from_slice(&self.tds_version.to_be_bytes());
            put_b_varchar(out, &self.program);
            out.extend_from_slice(&[self.version.0, self.version.1]);
            out.extend_from_slice(&self.version.2.to_be_bytes());
        });
    }
}
