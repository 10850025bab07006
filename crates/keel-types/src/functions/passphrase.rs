//! ENCRYPTBYPASSPHRASE and DECRYPTBYPASSPHRASE: [cells](crate::cell) whose key is made from a passphrase.
//!
//! Version 2 is AES-256 with the SHA-256 of the passphrase in UTF-16; version 1, read and not written, two-key triple DES with its SHA-1.

use super::hash::raw_bytes;
use super::{Call, FnCtx, FunctionDef, Request, Volatility, str_at};
use crate::cell::{self, Cipher};
use crate::error::Result;
use crate::ty::{Length, SqlType};
use crate::value::Value;
use sha1::Sha1;
use sha2::{Digest, Sha256};

const BYTES_MAX: usize = 8000;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("ENCRYPTBYPASSPHRASE", 2, 4, |r| resolve(r, encrypt)).per(Volatility::Row),
    FunctionDef::new("DECRYPTBYPASSPHRASE", 2, 4, |r| resolve(r, decrypt)),
];

/// Passphrase, text, whether there is an authenticator, and that.
fn resolve(r: &Request<'_>, routine: super::Routine) -> Result<Call> {
    let content = |i: usize| match r.ty(i) {
        SqlType::Null => Ok(SqlType::VarChar(Length::Limited(1))),
        ty if ty.is_string() || ty.is_binary() => r.text_or_binary(i),
        _ => Err(r.bad_argument(i)),
    };
    let mut params = vec![r.national_text(0)?, content(1)?];
    if r.has(2) {
        params.push(SqlType::Int);
    }
    if r.has(3) {
        params.push(content(3)?);
    }
    Ok(Call::new(SqlType::VarBinary(Length::Limited(8000)), params, routine).nullable())
}

/// The authenticator, where one is asked for.
fn authenticator(call: &Call, args: &[Value]) -> Option<Vec<u8>> {
    args.get(2).and_then(Value::as_int).filter(|asked| *asked != 0)?;
    args.get(3).map(|with| raw_bytes(with, call.params[3]))
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn encrypt(call: &Call, ctx: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let text = raw_bytes(&args[1], call.params[1]);
    let (one, other) = (ctx.new_guid(), ctx.new_guid());
    let begins = Sha256::digest([one, other].concat());
    let key = Sha256::digest(utf16(str_at(args, 0)));
    let with = authenticator(call, args);
    let whole = cell::seal(Cipher::Aes256, &key, &begins[..16], &text, with.as_deref());
    Ok(whole.filter(|whole| whole.len() <= BYTES_MAX).map_or(Value::Null, Value::bytes))
}

/// NULL for what is not encrypted with that passphrase and authenticator.
fn decrypt(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let sealed = raw_bytes(&args[1], call.params[1]);
    let text = opened(str_at(args, 0), &sealed, authenticator(call, args).as_deref());
    Ok(text.map_or(Value::Null, Value::bytes))
}

fn opened(passphrase: &str, sealed: &[u8], authenticator: Option<&[u8]>) -> Option<Vec<u8>> {
    let passphrase = utf16(passphrase);
    if sealed.starts_with(&cell::VERSION_1) {
        return cell::open(Cipher::TripleDes, &Sha1::digest(passphrase)[..16], sealed, authenticator);
    }
    cell::open(Cipher::Aes256, &Sha256::digest(passphrase), sealed, authenticator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
    }

    /// Two values that the product made, from public descriptions.
    #[test]
    fn what_the_product_wrote_is_read() {
        for (passphrase, sealed, text) in [
            (
                "Radames",
                "02000000266AD4F387FA9474E825B013B0232E73A398A5F72B79BC90D63BD1E45AE3AA5518828D187125BECC285D55FA7CAFED61",
                Some("LetTheSunShining"),
            ),
            ("banana", "010000007854E155CEE338D5E34808BA95367D506B97C63FB5114DD4CE687FE457C1B5D5", None),
        ] {
            let read = opened(passphrase, &bytes(sealed), None).unwrap();
            assert!(text.is_none_or(|text| text.as_bytes() == read), "{read:?}");
            assert_eq!(opened("another", &bytes(sealed), None), None);
        }
    }
}
