//! ALL_HEADERS (2.2.5.3), before batches, calls and transaction requests since 7.2.

use crate::bytes::{Reader, patch_u32};
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::limits::HEADERS_MAX;

const TRANSACTION: u16 = 2;
const TRACE: u16 = 3;

/// The headers we use. Query notifications are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllHeaders {
    /// Transaction the request belongs to, as given by ENVCHANGE; 0 for auto-commit.
    pub transaction: u64,
    /// Requests outstanding on the connection: 1 without MARS.
    pub outstanding: u32,
    /// Activity id (GUID and sequence number) for tracing.
    pub activity: Option<[u8; 20]>,
}

impl AllHeaders {
    /// From the start of a request; none in a dialect that has none.
    pub fn decode(r: &mut Reader<'_>, dialect: Dialect) -> Result<AllHeaders> {
        if !dialect.has_headers() {
            return Ok(AllHeaders::default());
        }
        let total = usize::try_from(r.u32()?).map_err(|_| DecodeError::Limit("headers"))?;
        let body = total.checked_sub(4).ok_or(DecodeError::Malformed("headers length"))?;
        let mut all = Reader::new(r.take(body)?);
        let mut headers = AllHeaders { transaction: 0, outstanding: 1, activity: None };
        for _ in 0..HEADERS_MAX {
            if all.is_empty() {
                return Ok(headers);
            }
            headers.one(&mut all).map_err(|_| DecodeError::Malformed("header"))?;
        }
        Err(DecodeError::Limit("number of headers"))
    }

    fn one(&mut self, all: &mut Reader<'_>) -> Result<()> {
        let length = usize::try_from(all.u32()?).map_err(|_| DecodeError::Limit("header"))?;
        let mut r = Reader::new(all.take(length.checked_sub(4).ok_or(DecodeError::Malformed("header"))?)?);
        match r.u16()? {
            TRANSACTION => {
                self.transaction = r.u64()?;
                self.outstanding = r.u32()?;
            }
            TRACE => self.activity = Some(r.array()?),
            _ => {}
        }
        Ok(())
    }

    /// Appends the headers, if the dialect has any.
    pub fn encode(&self, out: &mut Vec<u8>, dialect: Dialect) {
        if !dialect.has_headers() {
            return;
        }
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&18u32.to_le_bytes());
        out.extend_from_slice(&TRANSACTION.to_le_bytes());
        out.extend_from_slice(&self.transaction.to_le_bytes());
        out.extend_from_slice(&self.outstanding.to_le_bytes());
        if let Some(activity) = self.activity {
            out.extend_from_slice(&26u32.to_le_bytes());
            out.extend_from_slice(&TRACE.to_le_bytes());
            out.extend_from_slice(&activity);
        }
        let total = u32::try_from(out.len() - at).expect("headers are short");
        patch_u32(out, at, total);
    }
}
