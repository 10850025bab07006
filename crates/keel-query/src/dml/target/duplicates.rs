//! Keys that are there already: what is said of them.

use super::{IndexKeys, Target};
use crate::errors::{self, Error, Result};
use crate::exec::cx::Cx;
use keel_types::{SqlType, Value, cast};

impl Target {
    pub(super) fn duplicate(&self, cx: &mut Cx<'_>, index: &IndexKeys, first: usize) -> Result<bool> {
        if index.def.ignore_dup_key {
            cx.warn(errors::duplicate_ignored());
            return Ok(false);
        }
        Err(self.duplicate_error(cx, index, first))
    }

    pub(super) fn duplicate_error(&self, cx: &Cx<'_>, index: &IndexKeys, first: usize) -> Error {
        let values: Vec<String> = index
            .key
            .iter()
            .map(|(i, _)| key_text(&cx.slots[first + i], self.table.columns[*i].ty))
            .collect();
        let values = format!("({})", values.join(", "));
        if index.def.is_primary_key || index.def.is_unique_constraint {
            let kind = if index.def.is_primary_key { "PRIMARY KEY" } else { "UNIQUE KEY" };
            errors::duplicate_constraint_key(kind, &index.def.name, &self.name, &values)
        } else {
            errors::duplicate_index_key(&self.name, &index.def.name, &values)
        }
    }
}

/// A value of a key as errors 2601 and 2627 show it: binaries with all their digits in small letters, as identifiers have them, dates
/// and times in the form that their type has by itself.
fn key_text(value: &Value, ty: SqlType) -> String {
    match value {
        Value::Null => "<NULL>".to_owned(),
        Value::Variant(v) => key_text(&v.1, v.0),
        Value::Bytes(bytes) if !ty.is_clr() => {
            bytes.iter().fold(String::from("0x"), |text, b| text + &format!("{b:02x}"))
        }
        v => match cast::to_text(v, ty, cast::Cast::NO_STYLE) {
            Ok(text) if ty == SqlType::UniqueIdentifier => text.to_lowercase(),
            Ok(text) => text.to_string(),
            Err(_) => "?".to_owned(),
        },
    }
}
