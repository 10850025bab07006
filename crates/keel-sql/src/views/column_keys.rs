//! The keys of encrypted columns.

use super::{BIT, Column, DATE, INT, NAME, NULL, SystemView, ViewContext, bit, date, int, text, view};
use keel_types::{Length, SqlType, Value};

type Rows = Vec<Vec<Value>>;

#[rustfmt::skip]
const MASTER: &[Column] = &[
    ("name", NAME), ("column_master_key_id", INT), ("create_date", DATE), ("modify_date", DATE), ("key_store_provider_name", NAME),
    ("key_path", SqlType::NVarChar(Length::Limited(4000))), ("allow_enclave_computations", BIT), ("signature", SqlType::VarBinary(Length::Max)),
];

const KEY: &[Column] =
    &[("name", NAME), ("column_encryption_key_id", INT), ("create_date", DATE), ("modify_date", DATE)];

#[rustfmt::skip]
const VALUE: &[Column] = &[
    ("column_encryption_key_id", INT), ("column_master_key_id", INT), ("encrypted_value", SqlType::VarBinary(Length::Limited(8000))),
    ("encryption_algorithm_name", NAME),
];

pub(super) static VIEWS: &[SystemView] = &[
    view("column_master_keys", MASTER, masters),
    view("column_encryption_keys", KEY, keys),
    view("column_encryption_key_values", VALUE, values),
];

fn masters(cx: &ViewContext<'_>) -> Rows {
    let row = |k: &std::sync::Arc<crate::column_keys::ColumnMasterKeyDef>| {
        vec![
            text(k.name.as_str()),
            int(k.id),
            date(k.created),
            date(k.created),
            text(k.provider.as_str()),
            text(k.path.as_str()),
            bit(false),
            NULL,
        ]
    };
    cx.picture.column_master_keys().map(row).collect()
}

fn keys(cx: &ViewContext<'_>) -> Rows {
    let keys = cx.picture.column_encryption_keys();
    keys.map(|k| vec![text(k.name.as_str()), int(k.id), date(k.created), date(k.modified)]).collect()
}

fn values(cx: &ViewContext<'_>) -> Rows {
    let mut rows = Rows::new();
    for key in cx.picture.column_encryption_keys() {
        rows.extend(key.values.iter().map(|v| {
            let encrypted = Value::bytes(v.encrypted.as_slice());
            vec![int(key.id), int(v.master), encrypted, text(v.algorithm.as_str())]
        }));
    }
    rows
}
