//! Old versions of rows, and old changes.

use super::{Outcome, output, string};
use crate::catalog::{Named, SecurableRef};
use crate::errors;
use crate::run::{Argument, Runner};
use crate::session::scope::Scope;
use keel_query::scope::NameParts;
use keel_types::{SqlType, Value};

/// `sp_cleanup_temporal_history @schema_name, @table_name [, @rowcount OUTPUT]`: in one transaction.
pub(super) fn sp_cleanup_temporal_history(runner: &mut Runner<'_>, args: &[Argument]) -> Outcome {
    let schema = string(args, "schema_name", 0).unwrap_or_default();
    let name = string(args, "table_name", 1).unwrap_or_default();
    let info = runner.info;
    let entry = info.current_database();
    let parts = NameParts { database: None, schema: Some(&schema), object: &name };
    let table = match Scope::bare(info, entry.id).resolve(parts) {
        Some((_, Named::Table(table))) if table.versioning().is_some() => table,
        _ => return Err(errors::object_missing(&name, entry.name()).into()),
    };
    if !info.may(&entry, "CONTROL", SecurableRef::Object(table.object_id)) {
        return Err(errors::object_missing(&name, entry.name()).into());
    }
    let removed = runner.clean_history(entry.id, table.object_id, None)?;
    let removed = Value::Int(i64::try_from(removed).unwrap_or(i64::MAX));
    Ok(output(2, removed, SqlType::BigInt))
}

/// `sp_flush_CT_internal_table_on_demand`, `sp_flush_commit_table_on_demand`: removes the changes of the current database that CHANGE_RETENTION
/// no longer promises. Versions are removed with their changes, so both do the same, for all tables.
pub(super) fn sp_flush_changes(runner: &mut Runner<'_>, _: &[Argument]) -> Outcome {
    let info = runner.info;
    let entry = info.current_database();
    if !info.may(&entry, "CONTROL", SecurableRef::Database) {
        return Err(errors::not_permitted().into());
    }
    // It has a transaction of its own, which would wait for what the session's has locked.
    if info.transaction.borrow().count > 0 {
        return Err(errors::not_in_transaction("sp_flush_CT_internal_table_on_demand").into());
    }
    let cancelled = || info.shared.cancel.is_cancelled();
    crate::change_cleanup::clean_database(&info.engine, &entry, &cancelled)?;
    Ok(super::Returned::default())
}
