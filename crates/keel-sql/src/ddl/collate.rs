//! COLLATE of databases and columns: which names go with what.

use crate::errors;
use keel_parser::ast;
use keel_types::error::Result;
use keel_types::{Collation, SqlError, SqlType};

/// A name in COLLATE; 448 when there is none such.
fn named(name: &str) -> Result<Collation> {
    Collation::by_name(name).ok_or_else(|| SqlError::new(448, 16, 3, format!("Invalid collation '{name}'.")))
}

/// The collation of a column of a type, as COLLATE says or `default`; `here` is that of the database that COLLATE DATABASE_DEFAULT
/// means.
pub(super) fn column_collation(
    given: Option<&ast::Ident>,
    ty: SqlType,
    default: Collation,
    here: Collation,
) -> Result<Collation> {
    let Some(name) = given else { return Ok(default) };
    let found = match name.is("database_default") || name.is("catalog_default") {
        true => here,
        false => named(&name.text)?,
    };
    if !ty.is_string() {
        return Err(errors::collate_on_other_type(ty));
    }
    if found.code_page() == 0 && !ty.is_national() {
        return Err(errors::collation_of_national_types(found.name()));
    }
    Ok(found)
}

/// The name of a database's collation as the product writes it.
pub(super) fn database_collation(name: &str) -> Result<String> {
    match named(name)? {
        c if c.code_page() == 0 => Err(errors::collation_of_no_database(c.name())),
        c => Ok(c.name().to_owned()),
    }
}
