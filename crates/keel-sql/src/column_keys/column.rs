//! ENCRYPTED WITH of columns: what may be encrypted, and how.

use super::{COLUMN_ENCRYPTION_KEY, errors};
use crate::catalog::Picture;
use keel_parser::ast::{OptValue, option_text};
use keel_query::catalog::{ColumnDef, TableDef};
use keel_types::SqlType;
use keel_types::error::Result;
use keel_types::ty::encrypted::{ALGORITHM, Scheme, may_be_encrypted};
use std::sync::Arc;

/// The type of a column that is otherwise complete, with what stands in ENCRYPTED WITH.
pub(crate) fn encrypted_type(
    picture: &Picture,
    table: &str,
    column: &ColumnDef,
    with: &OptValue,
) -> Result<SqlType> {
    let OptValue::List(options) = with else { return Err(keel_query::errors::syntax_near("ENCRYPTED")) };
    let text = |name: &str| option_text(options, name).ok_or_else(|| keel_query::errors::syntax_near(")"));
    let (name, kind, algorithm) =
        (text("COLUMN_ENCRYPTION_KEY")?, text("ENCRYPTION_TYPE")?, text("ALGORITHM")?);
    let randomized = match kind.to_ascii_uppercase().as_str() {
        "RANDOMIZED" => true,
        "DETERMINISTIC" => false,
        _ => return Err(keel_query::errors::syntax_near(kind)),
    };
    if !algorithm.eq_ignore_ascii_case(ALGORITHM) {
        return Err(errors::no_algorithm(algorithm));
    }
    refuse(table, column, randomized)?;
    let key = picture.column_encryption_key_named(name);
    let key = key.and_then(|k| picture.told_column_key(k.id));
    let key = key.ok_or_else(|| errors::no_key(COLUMN_ENCRYPTION_KEY, name))?;
    Ok(Scheme { plain: column.ty, collation: column.collation, randomized, key: Arc::clone(key) }.sql_type())
}

fn refuse(table: &str, column: &ColumnDef, randomized: bool) -> Result<()> {
    if column.alias.is_some() {
        return Err(errors::user_type_not_encrypted(&column.name));
    }
    if !may_be_encrypted(column.ty) {
        return Err(errors::type_not_encrypted(&column.name, column.ty.name()));
    }
    if column.ty.is_string() && !randomized && !column.collation.name().ends_with("_BIN2") {
        return Err(errors::not_bin2(&column.name));
    }
    let clauses = [
        ("IDENTITY", column.identity.is_some()),
        ("ROWGUIDCOL", column.rowguid),
        ("MASKED", column.mask.is_some()),
    ];
    if let Some((clause, _)) = clauses.into_iter().find(|(_, said)| *said) {
        return Err(errors::clause_not_encrypted(clause));
    }
    if column.default.is_some() {
        return Err(errors::default_not_encrypted(table, &column.name));
    }
    Ok(())
}

/// Error 33282 for a column whose equal values are not equal where they are stored.
pub(crate) fn refuse_randomized_key(table: &TableDef, column: &ColumnDef) -> Result<()> {
    match column.ty.scheme() {
        Some(scheme) if scheme.randomized => Err(errors::randomized_key(&table.name, &column.name)),
        _ => Ok(()),
    }
}
