//! What clients ask: batches, procedure calls, transaction requests, bulk loads. One file each.

pub mod bulk;
pub mod headers;
pub mod rpc;
pub mod transaction;
pub mod tvp;

pub use headers::{AllHeaders, Notification};
pub use rpc::{Call, Calls, Parameter, ProcId, Procedure};
pub use transaction::TransactionRequest;

use crate::bytes::Reader;
use crate::dialect::Dialect;
use crate::error::{DecodeError, Result};
use crate::text;

/// A SQL batch (2.2.6.7): headers, then the text in UTF-16.
pub fn decode_batch(payload: &[u8], dialect: Dialect) -> Result<(AllHeaders, String)> {
    let mut r = Reader::new(payload);
    let headers = AllHeaders::decode(&mut r, dialect)?;
    if !r.remaining().is_multiple_of(2) {
        return Err(DecodeError::Malformed("batch text"));
    }
    Ok((headers, text::from_utf16le(r.rest())))
}

/// Appends a SQL batch.
pub fn encode_batch(out: &mut Vec<u8>, headers: &AllHeaders, sql: &str, dialect: Dialect) {
    headers.encode(out, dialect);
    text::put_utf16le(out, sql);
}
