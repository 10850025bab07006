//! Functions about keys and certificates, and those that encrypt, decrypt, sign and verify.
//!
//! What is not there, not seen, not open or does not open is NULL, as in the product; errors are for a master key that is closed and a password
//! that is missing.

use super::open::{by_asymmetric_key, by_certificate};
use super::principal::Mapped;
use super::{AsymmetricKeyDef, CertificateDef, Protection, SymmetricKeyDef, rsa};
use crate::catalog::SecurableRef;
use crate::engine::{DatabaseEntry, thumbprint};
use crate::functions::{int, number, string, text, variant, variant_text};
use crate::session::info::Info;
use keel_types::error::Result;
use keel_types::{Length, SqlType, Value, cell};
use std::sync::Arc;

/// Bytes of a value that these functions give.
const BYTES_MAX: usize = 8000;

fn bytes(args: &[Value], at: usize) -> Option<&[u8]> {
    args.get(at).and_then(Value::as_bytes)
}

fn result(bytes: Option<Vec<u8>>) -> Value {
    bytes.filter(|b| b.len() <= BYTES_MAX).map_or(Value::Null, Value::bytes)
}

/// A name without its brackets.
fn plain(name: &str) -> &str {
    name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name)
}

/// The authenticator of `( …, add_authenticator, authenticator )`; the outer `None` for one that is NULL.
fn authenticator(args: &[Value], at: usize) -> Option<Option<&[u8]>> {
    match number(args, at) {
        None | Some(0) => Some(None),
        Some(_) => bytes(args, at + 1).map(Some),
    }
}

type Entry = Arc<DatabaseEntry>;

fn symmetric(info: &Info, is_it: impl Fn(&SymmetricKeyDef) -> bool) -> Option<Arc<SymmetricKeyDef>> {
    let entry = info.current_database();
    let picture = info.picture(&entry);
    let found = picture.symmetric_keys().find(|k| is_it(k))?;
    info.sees_key(&entry, SecurableRef::SymmetricKey(found.id)).then(|| Arc::clone(found))
}

fn symmetric_named(info: &Info, args: &[Value]) -> Option<Arc<SymmetricKeyDef>> {
    let name = crate::catalog::fold(plain(text(args, 0)?));
    symmetric(info, |k| crate::catalog::fold(&k.name) == name)
}

/// A certificate by id that the session has a permission on; without one, that it sees.
fn certificate(
    info: &Info,
    id: Option<i64>,
    permission: Option<&str>,
) -> Option<(Entry, Arc<CertificateDef>)> {
    let entry = info.current_database();
    let id = i32::try_from(id?).ok()?;
    let found = Arc::clone(info.picture(&entry).certificate(id)?);
    let on = SecurableRef::Certificate(id);
    let may = permission.map_or_else(|| info.sees_key(&entry, on), |p| info.may_key(&entry, p, on));
    may.then_some((entry, found))
}

/// The same of an asymmetric key.
fn asymmetric(
    info: &Info,
    id: Option<i64>,
    permission: Option<&str>,
) -> Option<(Entry, Arc<AsymmetricKeyDef>)> {
    let entry = info.current_database();
    let id = i32::try_from(id?).ok()?;
    let found = Arc::clone(info.picture(&entry).asymmetric_key(id)?);
    let on = SecurableRef::AsymmetricKey(id);
    let may = permission.map_or_else(|| info.sees_key(&entry, on), |p| info.may_key(&entry, p, on));
    may.then_some((entry, found))
}

// ---- names and properties ----

pub(crate) fn key_guid(info: &Info, args: &[Value]) -> Result<Value> {
    Ok(symmetric_named(info, args).map_or(Value::Null, |k| Value::Guid(k.guid)))
}

pub(crate) fn key_id(info: &Info, args: &[Value]) -> Result<Value> {
    Ok(int(symmetric_named(info, args).map(|k| i64::from(k.id))))
}

/// `KEY_NAME(guid | value)`
pub(crate) fn key_name(info: &Info, args: &[Value]) -> Result<Value> {
    let guid = match args.first() {
        Some(Value::Guid(guid)) => Some(*guid),
        Some(value) => value.as_bytes().and_then(cell::key_of).map(|(guid, _)| guid),
        None => None,
    };
    let found = guid.and_then(|guid| symmetric(info, |k| k.guid == guid));
    Ok(string(found.map(|k| k.name.clone())))
}

pub(crate) fn symmetric_property(info: &Info, args: &[Value]) -> Result<Value> {
    let id = number(args, 0);
    let found = id.and_then(|id| symmetric(info, |k| i64::from(k.id) == id));
    let property = text(args, 1).unwrap_or("").to_ascii_lowercase();
    Ok(match (found, property.as_str()) {
        (Some(key), "algorithm_desc") => variant_text(key.cipher.names().0),
        _ => Value::Null,
    })
}

pub(crate) fn certificate_id(info: &Info, args: &[Value]) -> Result<Value> {
    let entry = info.current_database();
    let name = text(args, 0).map(plain);
    let found = name.and_then(|name| info.picture(&entry).certificate_named(name).map(|c| c.id));
    let seen = found.filter(|id| info.sees_key(&entry, SecurableRef::Certificate(*id)));
    Ok(int(seen.map(i64::from)))
}

pub(crate) fn asymmetric_id(info: &Info, args: &[Value]) -> Result<Value> {
    let entry = info.current_database();
    let name = text(args, 0).map(plain);
    let found = name.and_then(|name| info.picture(&entry).asymmetric_key_named(name).map(|k| k.id));
    let seen = found.filter(|id| info.sees_key(&entry, SecurableRef::AsymmetricKey(*id)));
    Ok(int(seen.map(i64::from)))
}

/// A local time of seconds since 1970.
pub(crate) fn local_ticks(unix_seconds: i64) -> i64 {
    let local = i64::from(crate::clock::offset_minutes()) * crate::clock::TICKS_PER_MINUTE;
    crate::clock::UNIX_EPOCH_TICKS + unix_seconds * 10_000_000 + local
}

const SID: SqlType = SqlType::VarBinary(Length::Limited(85));

pub(crate) fn certificate_property(info: &Info, args: &[Value]) -> Result<Value> {
    let Some((_, found)) = certificate(info, number(args, 0), None) else { return Ok(Value::Null) };
    let Some(facts) = rsa::read(&found.certificate) else { return Ok(Value::Null) };
    let date = |seconds| variant(SqlType::DateTime, Value::DateTime(local_ticks(seconds)));
    Ok(match text(args, 1).unwrap_or("").to_ascii_lowercase().as_str() {
        "expiry_date" => date(facts.expiry),
        "start_date" => date(facts.start),
        "issuer_name" => variant_text(facts.issuer),
        "cert_serial_number" => variant_text(facts.serial),
        "subject" => variant_text(facts.subject),
        "sid" => variant(SID, Value::bytes(Mapped::Certificate.sid(&facts.thumbprint))),
        "string_sid" => variant_text(Mapped::Certificate.string_sid(&facts.thumbprint)),
        _ => Value::Null,
    })
}

pub(crate) fn asymmetric_property(info: &Info, args: &[Value]) -> Result<Value> {
    let Some((_, found)) = asymmetric(info, number(args, 0), None) else { return Ok(Value::Null) };
    let digest = thumbprint(&found.public);
    Ok(match text(args, 1).unwrap_or("").to_ascii_lowercase().as_str() {
        "algorithm_desc" => {
            rsa::bits_of(&found.public).map_or(Value::Null, |bits| variant_text(format!("RSA_{bits}")))
        }
        "sid" => variant(SID, Value::bytes(Mapped::AsymmetricKey.sid(&digest))),
        "string_sid" => variant_text(Mapped::AsymmetricKey.string_sid(&digest)),
        _ => Value::Null,
    })
}

pub(crate) fn certificate_encoded(info: &Info, args: &[Value]) -> Result<Value> {
    let found = certificate(info, number(args, 0), None);
    Ok(found.map_or(Value::Null, |(_, c)| Value::bytes(c.certificate.clone())))
}

/// `CERTPRIVATEKEY(id, password [, password that it has now])`
pub(crate) fn certificate_private_key(info: &Info, args: &[Value]) -> Result<Value> {
    let (Some((entry, found)), Some(password)) =
        (certificate(info, number(args, 0), Some("CONTROL")), text(args, 1))
    else {
        return Ok(Value::Null);
    };
    let key = opened(info.certificate_key(&entry, &found, text(args, 2)))?;
    Ok(key.map_or(Value::Null, |key| Value::bytes(info.engine.options().hasher.seal(&key, password))))
}

/// A key that cannot be used, or not with that password, gives NULL.
fn opened<T>(key: Result<T>) -> Result<Option<T>> {
    match key {
        Ok(key) => Ok(Some(key)),
        Err(e) if matches!(e.number, 15_556 | 15_466 | 15_397) => Ok(None),
        Err(e) => Err(e),
    }
}

// ---- symmetric keys ----

/// `ENCRYPTBYKEY(guid, text [, add_authenticator, authenticator])`
pub(crate) fn encrypt_by_key(info: &Info, args: &[Value]) -> Result<Value> {
    let (Some(Value::Guid(guid)), Some(plain), Some(with)) =
        (args.first(), bytes(args, 1), authenticator(args, 2))
    else {
        return Ok(Value::Null);
    };
    let Some(key) = info.open_key(guid) else { return Ok(Value::Null) };
    let mut begins = [0; 16];
    info.engine.options().env.random.fill(&mut begins);
    let sealed = cell::seal(key.cipher, &key.key, &begins[..key.cipher.block_bytes()], plain, with);
    Ok(result(sealed.map(|sealed| [&guid[..], &sealed].concat())))
}

/// `DECRYPTBYKEY(value [, add_authenticator, authenticator])`
pub(crate) fn decrypt_by_key(info: &Info, args: &[Value]) -> Result<Value> {
    let (Some((guid, sealed)), Some(with)) = (bytes(args, 0).and_then(cell::key_of), authenticator(args, 1))
    else {
        return Ok(Value::Null);
    };
    let text = info.open_key(&guid).and_then(|key| cell::open(key.cipher, &key.key, sealed, with));
    Ok(result(text))
}

/// `DECRYPTBYKEYAUTOCERT(certificate, password, value [, add_authenticator, authenticator])`
pub(crate) fn decrypt_by_key_auto_cert(info: &Info, args: &[Value]) -> Result<Value> {
    let found = certificate(info, number(args, 0), Some("CONTROL"));
    let (Some((entry, found)), Some((guid, sealed)), Some(with)) =
        (found, bytes(args, 2).and_then(cell::key_of), authenticator(args, 3))
    else {
        return Ok(Value::Null);
    };
    let password = text(args, 1);
    let (by, kept) = (by_certificate(&found), found.private());
    let open = || info.certificate_key(&entry, &found, password);
    let key = opened(info.open_automatically(&entry, guid, by, kept, password, open))?.flatten();
    Ok(result(key.and_then(|(cipher, key)| cell::open(cipher, &key, sealed, with))))
}

/// `DECRYPTBYKEYAUTOASYMKEY(key, password, value [, add_authenticator, authenticator])`
pub(crate) fn decrypt_by_key_auto_asymmetric(info: &Info, args: &[Value]) -> Result<Value> {
    let found = asymmetric(info, number(args, 0), Some("CONTROL"));
    let (Some((entry, found)), Some((guid, sealed)), Some(with)) =
        (found, bytes(args, 2).and_then(cell::key_of), authenticator(args, 3))
    else {
        return Ok(Value::Null);
    };
    let password = text(args, 1);
    let (by, kept) = (by_asymmetric_key(&found), found.private.clone());
    let open = || info.asymmetric_private(&entry, &found, password);
    let key = opened(info.open_automatically(&entry, guid, by, kept, password, open))?.flatten();
    Ok(result(key.and_then(|(cipher, key)| cell::open(cipher, &key, sealed, with))))
}

// ---- certificates and asymmetric keys ----

fn public_of(certificate: &CertificateDef) -> Vec<u8> {
    rsa::read(&certificate.certificate).map(|facts| facts.public).unwrap_or_default()
}

pub(crate) fn encrypt_by_cert(info: &Info, args: &[Value]) -> Result<Value> {
    let (Some((_, found)), Some(plain)) = (certificate(info, number(args, 0), None), bytes(args, 1)) else {
        return Ok(Value::Null);
    };
    Ok(result(rsa::encrypt(&public_of(&found), plain, &*info.engine.options().env.random)))
}

pub(crate) fn encrypt_by_asymmetric(info: &Info, args: &[Value]) -> Result<Value> {
    let (Some((_, found)), Some(plain)) = (asymmetric(info, number(args, 0), None), bytes(args, 1)) else {
        return Ok(Value::Null);
    };
    Ok(result(rsa::encrypt(&found.public, plain, &*info.engine.options().env.random)))
}

/// What a function does with a private key and bytes.
type Use = fn(&[u8], &[u8], &dyn keel_base::env::Random) -> Option<Vec<u8>>;

/// `( certificate, bytes [, password] )`
fn with_certificate(info: &Info, args: &[Value], does: Use) -> Result<Value> {
    let found = certificate(info, number(args, 0), Some("CONTROL"));
    let (Some((entry, found)), Some(given)) = (found, bytes(args, 1)) else { return Ok(Value::Null) };
    if found.private().protection() == Protection::Absent && found.key.is_none() {
        return Ok(Value::Null);
    }
    let key = opened(info.certificate_key(&entry, &found, text(args, 2)))?;
    Ok(result(key.and_then(|key| does(&key, given, &*info.engine.options().env.random))))
}

/// `( key, bytes [, password] )`
fn with_asymmetric(info: &Info, args: &[Value], does: Use) -> Result<Value> {
    let found = asymmetric(info, number(args, 0), Some("CONTROL"));
    let (Some((entry, found)), Some(given)) = (found, bytes(args, 1)) else { return Ok(Value::Null) };
    let key = opened(info.asymmetric_private(&entry, &found, text(args, 2)))?;
    Ok(result(key.and_then(|key| does(&key, given, &*info.engine.options().env.random))))
}

pub(crate) fn decrypt_by_cert(info: &Info, args: &[Value]) -> Result<Value> {
    with_certificate(info, args, rsa::decrypt)
}

pub(crate) fn decrypt_by_asymmetric(info: &Info, args: &[Value]) -> Result<Value> {
    with_asymmetric(info, args, rsa::decrypt)
}

pub(crate) fn sign_by_cert(info: &Info, args: &[Value]) -> Result<Value> {
    with_certificate(info, args, rsa::sign)
}

pub(crate) fn sign_by_asymmetric(info: &Info, args: &[Value]) -> Result<Value> {
    with_asymmetric(info, args, rsa::sign)
}

/// `VERIFYSIGNEDBYCERT(certificate, text, signature)`
pub(crate) fn verify_by_cert(info: &Info, args: &[Value]) -> Result<Value> {
    let found = certificate(info, number(args, 0), None);
    let (Some((_, found)), Some(text), Some(signature)) = (found, bytes(args, 1), bytes(args, 2)) else {
        return Ok(Value::Null);
    };
    Ok(Value::Int(i64::from(rsa::verify(&public_of(&found), text, signature))))
}

/// `VERIFYSIGNEDBYASYMKEY(key, text, signature)`
pub(crate) fn verify_by_asymmetric(info: &Info, args: &[Value]) -> Result<Value> {
    let found = asymmetric(info, number(args, 0), None);
    let (Some((_, found)), Some(text), Some(signature)) = (found, bytes(args, 1), bytes(args, 2)) else {
        return Ok(Value::Null);
    };
    Ok(Value::Int(i64::from(rsa::verify(&found.public, text, signature))))
}
