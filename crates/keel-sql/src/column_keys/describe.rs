//! `sp_describe_parameter_encryption`: the keys that a text needs, and which of its parameters is encrypted with which.

use crate::describe;
use crate::program::Op;
use crate::session::info::Info;
use crate::views::{Column, int, text};
use keel_types::error::Result;
use keel_types::ty::encrypted::ColumnKey;
use keel_types::{Length, SqlType, Value};
use std::sync::Arc;

/// Column encryption keys are not changed: what is, is what opens them.
const KEY_VERSION: i32 = 1;
/// AEAD_AES_256_CBC_HMAC_SHA_256 by its number.
const CIPHER: i32 = 2;
/// The rules by which plaintexts become bytes.
const NORMALIZATION: i32 = 1;

const NAME: SqlType = SqlType::SYSNAME;

/// Columns of the first result.
pub(crate) const KEY_COLUMNS: [Column; 9] = [
    ("column_encryption_key_ordinal", SqlType::Int),
    ("database_id", SqlType::Int),
    ("column_encryption_key_id", SqlType::Int),
    ("column_encryption_key_version", SqlType::Int),
    ("column_encryption_key_metadata_version", SqlType::Binary(8)),
    ("column_encryption_key_encrypted_value", SqlType::VarBinary(Length::Limited(4000))),
    ("column_master_key_store_provider_name", NAME),
    ("column_master_key_path", SqlType::NVarChar(Length::Limited(4000))),
    ("column_encryption_key_encryption_algorithm_name", NAME),
];

/// Columns of the second result.
pub(crate) const PARAMETER_COLUMNS: [Column; 6] = [
    ("parameter_ordinal", SqlType::Int),
    ("parameter_name", NAME),
    ("column_encryption_algorithm", SqlType::TinyInt),
    ("column_encryption_type", SqlType::TinyInt),
    ("column_encryption_key_ordinal", SqlType::Int),
    ("column_encryption_normalization_rule_version", SqlType::TinyInt),
];

type Rows = Vec<Vec<Value>>;

/// Both results. The errors of the text's statements are its own.
pub(crate) fn parameter_encryption(info: &Info, sql: &str, declarations: &str) -> Result<(Rows, Rows)> {
    let program = describe::program_of(info, sql, declarations)?;
    for instruction in program.code.iter().filter(|i| !matches!(i.op, Op::Call(_))) {
        match describe::deduced(info, &program, instruction).0 {
            // A table that the text makes.
            Err(e) if e.number == 208 && e.message.contains("'#") => {}
            outcome => {
                outcome?;
            }
        }
    }
    let mut keys: Vec<&Arc<ColumnKey>> = Vec::new();
    let mut parameters = Rows::new();
    for (i, parameter) in program.parameters.iter().enumerate() {
        let mut row = vec![int(i as i64 + 1), text(parameter.name.as_str())];
        match parameter.ty.scheme() {
            Some(scheme) => {
                let at = keys.iter().position(|k| **k == scheme.key).unwrap_or_else(|| {
                    keys.push(&scheme.key);
                    keys.len() - 1
                });
                row.extend([int(CIPHER), int(scheme.kind()), int(at as i64 + 1), int(NORMALIZATION)]);
            }
            None => row.extend([int(0), int(0), int(0), int(0)]),
        }
        parameters.push(row);
    }
    let rows = keys.iter().enumerate().flat_map(|(i, key)| key_rows(i, key)).collect();
    Ok((rows, parameters))
}

/// A row for every value of a key.
fn key_rows(at: usize, key: &ColumnKey) -> Rows {
    let row = |v: &keel_types::ty::encrypted::KeyValue| {
        vec![
            int(at as i64 + 1),
            int(key.database_id),
            int(key.id),
            int(KEY_VERSION),
            Value::bytes(key.modified.to_le_bytes().as_slice()),
            Value::bytes(Arc::clone(&v.encrypted)),
            text(v.provider.as_str()),
            text(v.path.as_str()),
            text(v.algorithm.as_str()),
        ]
    };
    key.values.iter().map(row).collect()
}
