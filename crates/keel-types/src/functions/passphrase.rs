//! ENCRYPTBYPASSPHRASE and DECRYPTBYPASSPHRASE, in the product's form.
//!
//! | bytes | what |
//! | ---: | --- |
//! | 4 | version: 2 (AES-256, key is SHA-256 of the passphrase in UTF-16), 1 (two-key triple DES, SHA-1; read, not written) |
//! | 16, 8 | what the chaining (CBC) begins with |
//! | … | encrypted, padded (PKCS #7): `0D F0 AD BA`, length of the authenticator's digest (2), of the text (2), digest, text |
//!
//! The form is in public descriptions of the product's output; what goes into the digest is not, so values with an authenticator are
//! read where they were written.

use super::hash::raw_bytes;
use super::{Call, FnCtx, FunctionDef, Request, Volatility, str_at};
use crate::error::Result;
use crate::ty::{Length, SqlType};
use crate::value::Value;
use aes::Aes256;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockDecryptMut, BlockEncryptMut, KeyIvInit};
use des::TdesEde2;
use sha1::Sha1;
use sha2::{Digest, Sha256};

const MAGIC: [u8; 4] = [0x0D, 0xF0, 0xAD, 0xBA];
const VERSION: [u8; 4] = [2, 0, 0, 0];
const OLD_VERSION: [u8; 4] = [1, 0, 0, 0];
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

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// The digest that stands before the text; nothing without an authenticator.
fn digest(call: &Call, args: &[Value], text: &[u8]) -> Vec<u8> {
    match (args.get(2).and_then(Value::as_int), args.get(3)) {
        (Some(asked), Some(authenticator)) if asked != 0 => {
            Sha1::digest([text, &raw_bytes(authenticator, call.params[3])].concat()).to_vec()
        }
        _ => Vec::new(),
    }
}

fn encrypt(call: &Call, ctx: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let text = raw_bytes(&args[1], call.params[1]);
    let digest = digest(call, args, &text);
    let Ok(length) = u16::try_from(text.len()) else { return Ok(Value::Null) };
    let (one, other) = (ctx.new_guid(), ctx.new_guid());
    let begins = Sha256::digest([one, other].concat());
    let begins = &begins[..16];
    let lengths = [(digest.len() as u16).to_le_bytes(), length.to_le_bytes()].concat();
    let plain = [&MAGIC[..], &lengths, &digest, &text].concat();
    let key = Sha256::digest(utf16(str_at(args, 0)));
    let sealed = cbc::Encryptor::<Aes256>::new_from_slices(&key, begins).expect("the lengths are right");
    let sealed = sealed.encrypt_padded_vec_mut::<Pkcs7>(&plain);
    let whole = [&VERSION[..], begins, &sealed].concat();
    Ok(if whole.len() > BYTES_MAX { Value::Null } else { Value::bytes(whole) })
}

/// NULL for what is not encrypted with that passphrase and authenticator.
fn decrypt(call: &Call, _: &dyn FnCtx, args: &[Value]) -> Result<Value> {
    let sealed = raw_bytes(&args[1], call.params[1]);
    let Some(plain) = opened(str_at(args, 0), &sealed) else { return Ok(Value::Null) };
    let Some((said, text)) = parts(&plain) else { return Ok(Value::Null) };
    Ok(if digest(call, args, text) == said { Value::bytes(text) } else { Value::Null })
}

fn opened(passphrase: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let (version, rest) = sealed.split_first_chunk::<4>()?;
    let passphrase = utf16(passphrase);
    match *version {
        VERSION => {
            let (begins, rest) = rest.split_at_checked(16)?;
            let key = Sha256::digest(passphrase);
            cbc::Decryptor::<Aes256>::new_from_slices(&key, begins)
                .ok()?
                .decrypt_padded_vec_mut::<Pkcs7>(rest)
                .ok()
        }
        OLD_VERSION => {
            let (begins, rest) = rest.split_at_checked(8)?;
            let key = &Sha1::digest(passphrase)[..16];
            cbc::Decryptor::<TdesEde2>::new_from_slices(key, begins)
                .ok()?
                .decrypt_padded_vec_mut::<Pkcs7>(rest)
                .ok()
        }
        _ => None,
    }
}

/// Digest and text.
fn parts(plain: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = plain.strip_prefix(&MAGIC)?;
    let (digest_len, rest) = rest.split_first_chunk::<2>()?;
    let (text_len, rest) = rest.split_first_chunk::<2>()?;
    let (digest, text) = rest.split_at_checked(u16::from_le_bytes(*digest_len).into())?;
    (text.len() == usize::from(u16::from_le_bytes(*text_len))).then_some((digest, text))
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
            let plain = opened(passphrase, &bytes(sealed)).unwrap();
            let (digest, read) = parts(&plain).unwrap();
            assert!(digest.is_empty());
            assert!(text.is_none_or(|text| text.as_bytes() == read), "{read:?}");
            assert!(opened("another", &bytes(sealed)).is_none_or(|plain| parts(&plain).is_none()));
        }
    }
}
