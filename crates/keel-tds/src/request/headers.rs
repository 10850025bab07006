//! ALL_HEADERS (2.2.5.3), before batches, calls and transaction requests since 7.2.

use crate::bytes::{Reader, patch_u32, with_u16_length};
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::limits::HEADERS_MAX;
use crate::text;

const NOTIFICATION: u16 = 1;
const TRANSACTION: u16 = 2;
const TRACE: u16 = 3;

/// Query Notifications Header (2.2.5.3.1): the client wants to be told when the results of the request would be others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notification {
    /// NotifyId: what the client says of it, which comes back in the message.
    pub id: String,
    /// SSBDeployment: where the message goes.
    pub deployment: String,
    /// NotifyTimeout. The specification has milliseconds, the clients write seconds; `None` where the client leaves it out.
    pub timeout: Option<u32>,
}

/// The headers we use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllHeaders {
    /// Transaction the request belongs to, as given by ENVCHANGE; 0 for auto-commit.
    pub transaction: u64,
    /// Requests outstanding on the connection: 1 without MARS.
    pub outstanding: u32,
    /// Activity id (GUID and sequence number) for tracing.
    pub activity: Option<[u8; 20]>,
    /// The results are to be watched.
    pub notification: Option<Box<Notification>>,
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
        let mut headers = AllHeaders { outstanding: 1, ..AllHeaders::default() };
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
            NOTIFICATION => {
                let (id, deployment) = (r.us_varbyte()?, r.us_varbyte()?);
                let timeout = if r.is_empty() { None } else { Some(r.u32()?) };
                let (id, deployment) = (text::from_utf16le(id), text::from_utf16le(deployment));
                self.notification = Some(Box::new(Notification { id, deployment, timeout }));
            }
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
        if let Some(notification) = &self.notification {
            let from = out.len();
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&NOTIFICATION.to_le_bytes());
            for text in [&notification.id, &notification.deployment] {
                with_u16_length(out, |out| text::put_utf16le(out, text));
            }
            if let Some(timeout) = notification.timeout {
                out.extend_from_slice(&timeout.to_le_bytes());
            }
            let length = u32::try_from(out.len() - from).expect("headers are short");
            patch_u32(out, from, length);
        }
        let total = u32::try_from(out.len() - at).expect("headers are short");
        patch_u32(out, at, total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_as_they_were() {
        let notification = |timeout| {
            let (id, deployment) = ("x;y".to_owned(), "service=s;local database=d".to_owned());
            Some(Box::new(Notification { id, deployment, timeout }))
        };
        for notification in [None, notification(None), notification(Some(600))] {
            let headers =
                AllHeaders { transaction: 7, outstanding: 2, activity: Some([9; 20]), notification };
            let mut out = Vec::new();
            headers.encode(&mut out, Dialect::default());
            let read = AllHeaders::decode(&mut Reader::new(&out), Dialect::default());
            assert_eq!(read.expect("they are whole"), headers);
        }
    }
}
