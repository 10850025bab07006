//! Conversion to xml: parsed and written again in the form in which it is kept. Styles 1 and 3 keep white space.

use super::{Cast, mismatch};
use crate::error::{Result, SqlError};
use crate::value::Value;
use keel_xml::parse::Source;

fn normalized(text: &str, source: Source, cast: &Cast) -> Result<Value> {
    let preserve = matches!(cast.style_or(0), 1 | 3);
    match keel_xml::normalize(text, source, preserve) {
        Ok(text) => Ok(Value::str(text)),
        Err(e) => Err(SqlError::new(e.number, 16, e.state, e.message)),
    }
}

pub(super) fn from_narrow(value: &Value, cast: &Cast) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Str(s) => normalized(s, Source::Narrow, cast),
        _ => Err(mismatch(value, cast)),
    }
}

pub(super) fn from_wide(value: &Value, cast: &Cast) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Str(s) => normalized(s, Source::Wide, cast),
        _ => Err(mismatch(value, cast)),
    }
}

/// Bytes are UTF-16 behind its byte order mark, else UTF-8.
pub(super) fn from_bytes(value: &Value, cast: &Cast) -> Result<Value> {
    let text = match value {
        Value::Null => return Ok(Value::Null),
        Value::Bytes(b) => match &**b {
            [0xFF, 0xFE, rest @ ..] => encoding_rs::UTF_16LE.decode_without_bom_handling(rest).0.into_owned(),
            [0xFE, 0xFF, rest @ ..] => encoding_rs::UTF_16BE.decode_without_bom_handling(rest).0.into_owned(),
            bytes => encoding_rs::UTF_8.decode_with_bom_removal(bytes).0.into_owned(),
        },
        _ => return Err(mismatch(value, cast)),
    };
    normalized(&text, Source::Any, cast)
}
