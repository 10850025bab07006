//! Guids, checksums, digests and base 64.

use super::{Call, FnCtx, FunctionDef, Request, Volatility, int_at, str_at};
use crate::collation::{self, Collation, cp1252};
use crate::error::{Result, SqlError};
use crate::ty::{Length, SqlType};
use crate::value::Value;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use smol_str::SmolStr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("NEWID", 0, 0, |_| {
        Ok(Call::new(SqlType::UniqueIdentifier, vec![], |_, ctx, _| Ok(Value::Guid(ctx.new_guid()))))
    })
    .per(Volatility::Row),
    FunctionDef::new("NEWSEQUENTIALID", 0, 0, |_| {
        Ok(Call::new(SqlType::UniqueIdentifier, vec![], |_, _, _| Ok(Value::Guid(next_sequential_guid()))))
    })
    .per(Volatility::Row),
    FunctionDef::new("CHECKSUM", 1, 1024, |r| checksum_call(r, checksum)),
    FunctionDef::new("BINARY_CHECKSUM", 1, 1024, |r| checksum_call(r, binary_checksum)),
    FunctionDef::new("HASHBYTES", 2, 2, resolve_hashbytes),
    FunctionDef::new("CRYPT_GEN_RANDOM", 1, 2, |r| {
        let mut params = vec![SqlType::Int];
        params.extend(r.has(1).then_some(SqlType::VarBinary(Length::Limited(8000))));
        Ok(Call::new(SqlType::VarBinary(Length::Limited(8000)), params, random_bytes).nullable())
    })
    .per(Volatility::Row),
    FunctionDef::new("PWDENCRYPT", 1, 1, |r| {
        let result = SqlType::VarBinary(Length::Limited(128));
        Ok(Call::new(result, vec![r.national_text(0)?], password_hash))
    })
    .per(Volatility::Row),
    FunctionDef::new("BASE64_ENCODE", 1, 2, resolve_base64_encode),
    FunctionDef::new("BASE64_DECODE", 1, 1, |r| {
        Ok(Call::new(SqlType::VarBinary(Length::Max), vec![r.text(0)?], base64_decode))
    }),
];

/// Guids that grow in the product's order of comparison: a counter in the groups that are compared last, under a prefix
/// drawn when the server starts.
fn next_sequential_guid() -> [u8; 16] {
    static PREFIX: LazyLock<[u8; 16]> = LazyLock::new(|| uuid::Uuid::new_v4().to_bytes_le());
    static COUNTER: AtomicU64 = AtomicU64::new(1);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let mut guid = *PREFIX;
    // Compared in the order 6..8, 4..6, 0..4 after the prefix.
    guid[6..8].copy_from_slice(&count[0..2]);
    guid[4..6].copy_from_slice(&count[2..4]);
    guid[0..4].copy_from_slice(&count[4..8]);
    guid
}

/// So many random bytes, of which nobody can tell the next. A seed adds nothing to what the system draws.
fn random_bytes(_: &Call, ctx: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let Some(length @ 1..=8000) = args[0].as_int() else { return Ok(Value::Null) };
    let length = length as usize;
    let mut out = Vec::with_capacity(length + 12);
    while out.len() < length {
        // A guid has twelve bytes that are random throughout.
        let guid = ctx.new_guid();
        out.extend_from_slice(&guid[..6]);
        out.extend_from_slice(&guid[10..]);
    }
    out.truncate(length);
    Ok(Value::bytes(out))
}

/// The form in which a login's password is kept: 0x0200, a salt of four bytes, SHA-512 of the password and the salt.
fn password_hash(_: &Call, ctx: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let guid = ctx.new_guid();
    let salt = &guid[..4];
    let mut text: Vec<u8> = str_at(args, 0).encode_utf16().flat_map(u16::to_le_bytes).collect();
    text.extend_from_slice(salt);
    let digest = Sha512::digest(&text);
    Ok(Value::bytes([&[2, 0], salt, digest.as_slice()].concat()))
}

fn checksum_call(r: &Request<'_>, routine: super::Routine) -> Result<Call> {
    let params = r.args.iter().map(|a| a.ty).collect();
    Ok(Call::new(SqlType::Int, params, routine).lenient().in_collation(r.collation))
}

/// Equal values give equal checksums, so strings go by their collation.
fn checksum(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    Ok(Value::Int(fold(args, |v, out| match v {
        Value::Str(s) => collation::append_sort_key(out, s, call.collation),
        other => binary_form(other, out),
    })))
}

fn binary_checksum(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    Ok(Value::Int(fold(args, binary_form)))
}

/// Each value's checksum is rotated in; an integer is its own.
fn fold(args: &[Value], form: impl Fn(&Value, &mut Vec<u8>)) -> i64 {
    let mut sum = 0u32;
    let mut bytes = Vec::new();
    for value in args {
        let own = match value {
            Value::Null => i32::MAX as u32,
            Value::Int(n) if i32::try_from(*n).is_ok() => *n as i32 as u32,
            Value::Bit(b) => u32::from(*b),
            other => {
                bytes.clear();
                form(other, &mut bytes);
                bytes.iter().fold(0u32, |sum, b| sum.rotate_left(4) ^ u32::from(*b))
            }
        };
        sum = sum.rotate_left(4) ^ own;
    }
    i64::from(sum as i32)
}

fn binary_form(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Str(s) => out.extend_from_slice(&cp1252::encode(s)),
        Value::Bytes(b) => out.extend_from_slice(b),
        other => {
            let column = crate::key::KeyColumn::ascending(SqlType::Int, Collation::BIN2);
            crate::key::append(out, other, &column);
        }
    }
}

fn resolve_hashbytes(r: &Request<'_>) -> Result<Call> {
    let input = match r.ty(1) {
        SqlType::Null => SqlType::VarChar(Length::Limited(1)),
        ty if ty.is_string() || ty.is_binary() => r.text_or_binary(1)?,
        _ => return Err(r.bad_argument(1)),
    };
    Ok(Call::new(SqlType::VarBinary(Length::Limited(8000)), vec![r.text(0)?, input], hashbytes).nullable())
}

/// The bytes of a string are those it would be stored in.
pub(super) fn raw_bytes(value: &Value, ty: SqlType) -> Vec<u8> {
    match value {
        Value::Str(s) if ty.is_national() => s.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        Value::Str(s) => cp1252::encode(s).into_owned(),
        Value::Bytes(b) => b.to_vec(),
        _ => Vec::new(),
    }
}

fn hashbytes(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let input = raw_bytes(&args[1], call.params[1]);
    Ok(match str_at(args, 0).trim_end().to_ascii_uppercase().as_str() {
        "MD5" => Value::bytes(Md5::digest(&input).as_slice()),
        "SHA" | "SHA1" => Value::bytes(Sha1::digest(&input).as_slice()),
        "SHA2_256" => Value::bytes(Sha256::digest(&input).as_slice()),
        "SHA2_512" => Value::bytes(Sha512::digest(&input).as_slice()),
        _ => Value::Null,
    })
}

fn resolve_base64_encode(r: &Request<'_>) -> Result<Call> {
    let input = match r.ty(0) {
        SqlType::Null => SqlType::VarBinary(Length::Limited(1)),
        ty if ty.is_binary() => r.text_or_binary(0)?,
        _ => return Err(r.bad_argument(0)),
    };
    let result = match input.length() {
        Some(Length::Limited(n)) if n <= 6000 => SqlType::VarChar(Length::Limited(n.div_ceil(3) * 4)),
        _ => SqlType::VarChar(Length::Max),
    };
    let mut params = vec![input];
    params.extend(r.has(1).then_some(SqlType::Int));
    Ok(Call::new(result, params, base64_encode))
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The URL-safe form replaces two characters and leaves the padding out.
fn base64_encode(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let url_safe = int_at(args, 1) != 0;
    let input = args[0].as_bytes().unwrap_or_default();
    let mut out = String::with_capacity(input.len().div_ceil(3) * 4);
    for chunk in input.chunks(3) {
        let word = chunk.iter().fold(0u32, |w, b| (w << 8) | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = STANDARD[(word >> (18 - 6 * i)) as usize & 63];
            match digit {
                _ if i > chunk.len() => out.extend((!url_safe).then_some('=')),
                b'+' if url_safe => out.push('-'),
                b'/' if url_safe => out.push('_'),
                _ => out.push(digit as char),
            }
        }
    }
    Ok(Value::Str(SmolStr::from(out)))
}

fn base64_decode(_: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    decode_base64(str_at(args, 0)).map(Value::bytes)
}

/// The bytes that a text in base64 stands for, padded or not, in the ordinary letters or those for addresses; error 9803.
pub fn decode_base64(text: &str) -> Result<Vec<u8>> {
    let invalid = || SqlError::new(9803, 16, 20, "Invalid data for type \"Base64Decode\".");
    let text = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut word, mut bits) = (0u32, 0);
    for b in text.bytes().filter(|b| !b.is_ascii_whitespace()) {
        let digit = match b {
            b'-' => 62,
            b'_' => 63,
            _ => STANDARD.iter().position(|d| *d == b).ok_or_else(invalid)?,
        };
        word = (word << 6) | digit as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    if bits == 6 { Err(invalid()) } else { Ok(out) }
}
