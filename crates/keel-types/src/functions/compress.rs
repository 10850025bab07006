//! `COMPRESS` and `DECOMPRESS`: gzip, as the product has it.

use super::hash::raw_bytes;
use super::{Call, FnCtx, FunctionDef};
use crate::error::{Result, SqlError};
use crate::ty::{Length, SqlType};
use crate::value::Value;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};

const LARGE: SqlType = SqlType::VarBinary(Length::Max);

/// The largest value a column or variable holds, in bytes.
const BYTES_MAX: u64 = i32::MAX as u64;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("COMPRESS", 1, 1, |r| {
        let input = match r.ty(0) {
            SqlType::Null => LARGE,
            ty if ty.is_string() || ty.is_binary() => r.text_or_binary(0)?,
            _ => return Err(r.bad_argument(0)),
        };
        Ok(Call::new(LARGE, vec![input], compress))
    }),
    FunctionDef::new("DECOMPRESS", 1, 1, |r| match r.ty(0) {
        SqlType::Null => Ok(Call::new(LARGE, vec![LARGE], decompress)),
        ty if ty.is_binary() => Ok(Call::new(LARGE, vec![r.text_or_binary(0)?], decompress)),
        _ => Err(r.bad_argument(0)),
    }),
];

fn compress(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(&raw_bytes(&args[0], call.params[0])).and_then(|()| encoder.finish());
    Ok(Value::bytes(written.expect("a vector takes every byte")))
}

fn decompress(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let input = args[0].as_bytes().unwrap_or_default();
    let mut out = Vec::new();
    // One byte more than fits shows that there is more.
    match MultiGzDecoder::new(input).take(BYTES_MAX + 1).read_to_end(&mut out) {
        Ok(n) if n as u64 <= BYTES_MAX => Ok(Value::bytes(out)),
        _ => Err(SqlError::new(9826, 16, 1, "Archive is corrupted. The archive cannot be decompressed.")),
    }
}
