//! Keys and certificates.

use super::{
    BIT, Column, DATE, DESC, GUID, INT, KIND, NAME, NULL, SID, SMALL, SystemView, TEXT, TINY, VARIANT,
    ViewContext, bit, date, int, text, view,
};
use crate::keys::functions::local_ticks;
use crate::keys::principal::Mapped;
use crate::keys::signature::{is_signed, signature_by};
use crate::keys::{MASTER_KEY_ID, MASTER_KEY_NAME, SealedBy, key_thumbprint, rsa};
use keel_query::catalog::{ModuleDef, ModuleKind, SignatureDef};
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

type Rows = Vec<Vec<Value>>;

const N128: SqlType = SqlType::NVarChar(Length::Limited(128));
const N442: SqlType = SqlType::NVarChar(Length::Limited(442));
const THUMBPRINT: SqlType = SqlType::VarBinary(Length::Limited(32));
const BYTES: SqlType = SqlType::VarBinary(Length::Max);

#[rustfmt::skip]
const SYMMETRIC: &[Column] = &[
    ("name", NAME), ("principal_id", INT), ("symmetric_key_id", INT), ("key_length", INT), ("key_algorithm", KIND),
    ("algorithm_desc", DESC), ("create_date", DATE), ("modify_date", DATE), ("key_guid", GUID), ("key_thumbprint", VARIANT),
    ("provider_type", DESC), ("cryptographic_provider_guid", GUID), ("cryptographic_provider_algid", VARIANT),
];

#[rustfmt::skip]
const ASYMMETRIC: &[Column] = &[
    ("name", NAME), ("principal_id", INT), ("asymmetric_key_id", INT), ("pvt_key_encryption_type", KIND),
    ("pvt_key_encryption_type_desc", DESC), ("thumbprint", THUMBPRINT), ("algorithm", KIND), ("algorithm_desc", DESC),
    ("key_length", INT), ("sid", SID), ("string_sid", N128), ("public_key", BYTES),
    ("attested_by", SqlType::NVarChar(Length::Limited(260))), ("provider_type", DESC),
    ("cryptographic_provider_guid", GUID), ("cryptographic_provider_algid", VARIANT),
];

#[rustfmt::skip]
const CERTIFICATE: &[Column] = &[
    ("name", NAME), ("certificate_id", INT), ("principal_id", INT), ("pvt_key_encryption_type", KIND),
    ("pvt_key_encryption_type_desc", DESC), ("is_active_for_begin_dialog", BIT), ("issuer_name", N442),
    ("cert_serial_number", SqlType::NVarChar(Length::Limited(64))), ("sid", SID), ("string_sid", N128), ("subject", TEXT),
    ("expiry_date", DATE), ("start_date", DATE), ("thumbprint", THUMBPRINT), ("attested_by", N128),
    ("pvt_key_last_backup_date", DATE), ("key_length", INT),
];

#[rustfmt::skip]
const ENCRYPTION: &[Column] = &[
    ("key_id", INT), ("thumbprint", THUMBPRINT), ("crypt_type", SqlType::Char(4)), ("crypt_type_desc", DESC),
    ("crypt_property", BYTES),
];

#[rustfmt::skip]
const CRYPT: &[Column] = &[
    ("class", TINY), ("class_desc", DESC), ("major_id", INT), ("thumbprint", THUMBPRINT), ("crypt_type", SqlType::Char(4)),
    ("crypt_type_desc", DESC), ("crypt_property", BYTES),
];

#[rustfmt::skip]
const CHECKED: &[Column] = &[
    ("type", NAME), ("entity_id", INT), ("is_signed", BIT), ("is_signature_valid", BIT),
];

#[rustfmt::skip]
const OPEN: &[Column] = &[
    ("database_id", INT), ("database_name", NAME), ("key_id", INT), ("key_name", NAME), ("key_guid", GUID), ("opened_date", DATE),
    ("status", SMALL),
];

pub(super) static VIEWS: &[SystemView] = &[
    view("symmetric_keys", SYMMETRIC, symmetric_keys),
    view("asymmetric_keys", ASYMMETRIC, asymmetric_keys),
    view("certificates", CERTIFICATE, certificates),
    view("key_encryptions", ENCRYPTION, key_encryptions),
    view("openkeys", OPEN, open_keys),
    view("crypt_properties", CRYPT, crypt_properties),
    view("fn_check_object_signatures", CHECKED, check_object_signatures),
];

fn symmetric_keys(cx: &ViewContext<'_>) -> Rows {
    let row = |name: &str, owner: i32, id: i32, bytes: usize, (code, words): (&str, &str)| {
        vec![text(name), int(owner), int(id), int(bytes as i64 * 8), text(code), text(words)]
    };
    let mut rows = Vec::new();
    if let Some(key) = cx.picture.master_key() {
        let mut master = row(MASTER_KEY_NAME, 1, MASTER_KEY_ID, 32, ("A3", "AES_256"));
        master.extend([date(key.created), date(key.modified), Value::Guid(key.guid), NULL, NULL, NULL, NULL]);
        rows.push(master);
    }
    for key in cx.picture.symmetric_keys() {
        let (words, code) = key.cipher.names();
        let mut one = row(&key.name, key.principal, key.id, key.cipher.key_bytes(), (code, words));
        one.extend([date(key.created), date(key.modified), Value::Guid(key.guid), NULL, NULL, NULL, NULL]);
        rows.push(one);
    }
    rows
}

fn asymmetric_keys(cx: &ViewContext<'_>) -> Rows {
    let row = |key: &std::sync::Arc<crate::keys::AsymmetricKeyDef>| {
        let (kind, words) = key.private.protection().words();
        let bits = rsa::bits_of(&key.public).unwrap_or(0);
        let algorithm = format!("RSA_{bits}");
        let code = match bits {
            512 => "1R",
            1024 => "2R",
            2048 => "3R",
            3072 => "4R",
            _ => "5R",
        };
        let digest = crate::engine::thumbprint(&key.public);
        let mut row = vec![text(key.name.as_str()), int(key.principal), int(key.id), text(kind), text(words)];
        row.extend([
            Value::bytes(key_thumbprint(&key.public)),
            text(code),
            text(algorithm),
            int(bits as i64),
        ]);
        row.extend([
            Value::bytes(Mapped::AsymmetricKey.sid(&digest)),
            text(Mapped::AsymmetricKey.string_sid(&digest)),
        ]);
        row.extend([Value::bytes(key.public.clone()), NULL, NULL, NULL, NULL]);
        row
    };
    cx.picture.asymmetric_keys().map(row).collect()
}

fn certificates(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Vec::new();
    for c in cx.picture.certificates() {
        let (kind, words) = match c.own_password {
            true => crate::keys::Protection::Password.words(),
            false => c.private().protection().words(),
        };
        let owner = cx.picture.certificate_owner(c);
        let mut row =
            vec![text(c.name.as_str()), int(c.id), int(owner), text(kind), text(words), bit(!c.inactive)];
        let backed_up = if c.key_backed_up == 0 { NULL } else { date(c.key_backed_up) };
        match rsa::read(&c.certificate) {
            Some(f) => {
                row.extend([
                    text(f.issuer),
                    text(f.serial),
                    Value::bytes(Mapped::Certificate.sid(&f.thumbprint)),
                ]);
                row.extend([text(Mapped::Certificate.string_sid(&f.thumbprint)), text(f.subject)]);
                row.extend([
                    date(local_ticks(f.expiry)),
                    date(local_ticks(f.start)),
                    Value::bytes(f.thumbprint),
                ]);
                row.extend([NULL, backed_up, f.bits.map_or(NULL, |bits| int(bits as i64))]);
            }
            None => row.resize(CERTIFICATE.len(), NULL),
        }
        rows.push(row);
    }
    rows
}

/// What opens each key. The sealed bytes are nobody's business.
fn key_encryptions(cx: &ViewContext<'_>) -> Rows {
    let row = |id: i32, thumbprint: Value, code: &str, by: &str| {
        vec![int(id), thumbprint, text(code), text(format!("ENCRYPTION BY {by}")), NULL]
    };
    let mut rows = Vec::new();
    if let Some(key) = cx.picture.master_key() {
        if key.by_service_keys().next().is_some() {
            rows.push(row(MASTER_KEY_ID, NULL, "ESKM", "MASTER KEY"));
        }
        rows.extend(key.by_passwords().map(|_| row(MASTER_KEY_ID, NULL, "ESP3", "PASSWORD")));
    }
    for key in cx.picture.symmetric_keys() {
        for sealed in &key.sealed {
            rows.push(match &sealed.by {
                SealedBy::Password => row(key.id, NULL, "ESP3", "PASSWORD"),
                SealedBy::Certificate(t) => row(key.id, Value::bytes(t.clone()), "EPUC", "CERTIFICATE"),
                SealedBy::AsymmetricKey(t) => row(key.id, Value::bytes(t.clone()), "EPUA", "ASYMMETRIC KEY"),
                SealedBy::SymmetricKey(guid) => {
                    row(key.id, Value::bytes(guid.to_vec()), "ESKS", "SYMMETRIC KEY")
                }
            });
        }
    }
    rows
}

/// Signatures of the modules that the session sees.
fn crypt_properties(cx: &ViewContext<'_>) -> Rows {
    let row = |object: i32, s: &SignatureDef| {
        let (code, words) = match (s.counter, s.asymmetric) {
            (false, false) => ("SPVC", "SIGNATURE BY CERTIFICATE"),
            (true, false) => ("CPVC", "COUNTER SIGNATURE BY CERTIFICATE"),
            (false, true) => ("SPVA", "SIGNATURE BY ASYMMETRIC KEY"),
            (true, true) => ("CPVA", "COUNTER SIGNATURE BY ASYMMETRIC KEY"),
        };
        let mut row = vec![int(1), text("OBJECT_OR_COLUMN"), int(object), Value::bytes(s.thumbprint.clone())];
        row.extend([text(code), text(words), Value::bytes(s.signature.clone())]);
        row
    };
    let modules = cx.picture.modules();
    modules.flat_map(|m| m.signatures.iter().map(move |s| row(m.object_id, s))).collect()
}

/// `fn_check_object_signatures ('certificate' | 'asymmetric key', thumbprint)`: every module, whether it is signed by that one, and rightly so.
fn check_object_signatures(cx: &ViewContext<'_>) -> Rows {
    let by = cx.args.first().and_then(Value::as_str).and_then(Mapped::named);
    let Some((by, thumbprint)) = by.zip(cx.args.get(1).and_then(Value::as_bytes)) else { return Vec::new() };
    // Whoever does not see the certificate may know that it has signed.
    let picture = cx.info.picture(&cx.entry);
    let row = |m: &Arc<ModuleDef>| {
        let signature = signature_by(m, by, thumbprint);
        let valid = signature.is_some_and(|s| is_signed(&picture, m, s));
        let kind = super::objects::describe(crate::catalog::module_kind_code(m.kind));
        vec![text(kind), int(m.object_id), bit(signature.is_some()), bit(valid)]
    };
    cx.picture.modules().filter(|m| m.kind != ModuleKind::View).map(row).collect()
}

fn open_keys(cx: &ViewContext<'_>) -> Rows {
    let open = cx.info.open_keys.borrow();
    let row = |key: &crate::keys::OpenKey| {
        let database = cx.engine.database_by_id(key.database);
        let name = database.map_or(NULL, |d| text(d.name().to_string()));
        let mut row = vec![int(key.database.0), name, int(key.id), text(key.name.as_str())];
        row.extend([Value::Guid(key.guid), date(key.since), int(1)]);
        row
    };
    open.all().iter().map(row).collect()
}
