//! Conversion to xml: parsed and written again in the form in which it is kept. Styles 1 and 3 keep white space. What goes into
//! typed xml is validated on the way, whoever asks for the conversion.

use super::{Cast, mismatch};
use crate::error::{Result, SqlError};
use crate::ty::XmlSchema;
use crate::value::Value;
use keel_xml::parse::Source;
use keel_xml::schema::registry;
use keel_xml::schema::validate::validate;

fn normalized(text: &str, source: Source, cast: &Cast) -> Result<Value> {
    let preserve = matches!(cast.style_or(0), 1 | 3);
    let kept = match cast.to.xml_schema() {
        Some(schema) => validated(text, source, preserve, schema),
        None => keel_xml::normalize(text, source, preserve),
    };
    match kept {
        Ok(text) => Ok(Value::str(text)),
        Err(e) => Err(SqlError::new(e.number, 16, e.state, e.message)),
    }
}

/// The text in which typed xml keeps an instance.
fn validated(text: &str, source: Source, preserve: bool, of: XmlSchema) -> keel_xml::Result<String> {
    let document = keel_xml::parse::parse(text, source, preserve)?;
    let schema = registry::schema(of.version)?;
    Ok(keel_xml::write::document(&validate(&document, &schema, of.document)?))
}

/// Untyped xml, or that of another collection. What it kept of white space stays.
pub(super) fn from_xml(value: &Value, cast: &Cast) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Str(s) => normalized(s, Source::Any, &cast.with_style(1)),
        _ => Err(mismatch(value, cast)),
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

/// Bytes are UTF-16 behind its byte order mark or where they begin as such text does, else UTF-8.
pub(super) fn from_bytes(value: &Value, cast: &Cast) -> Result<Value> {
    let text = match value {
        Value::Null => return Ok(Value::Null),
        Value::Bytes(b) => match &**b {
            [0xFF, 0xFE, rest @ ..] => encoding_rs::UTF_16LE.decode_without_bom_handling(rest).0.into_owned(),
            [0xFE, 0xFF, rest @ ..] => encoding_rs::UTF_16BE.decode_without_bom_handling(rest).0.into_owned(),
            // National text as it is stored: no document has a zero in UTF-8.
            bytes @ [_, 0, ..] => encoding_rs::UTF_16LE.decode_without_bom_handling(bytes).0.into_owned(),
            bytes => encoding_rs::UTF_8.decode_with_bom_removal(bytes).0.into_owned(),
        },
        _ => return Err(mismatch(value, cast)),
    };
    normalized(&text, Source::Any, cast)
}
