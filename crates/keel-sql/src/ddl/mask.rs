//! MASKED WITH of columns: declared, added, dropped.

use super::dependents::Fate;
use crate::errors;
use crate::run::Runner;
use keel_parser::ast::{ColumnDefinition, OptValue};
use keel_query::catalog::{ColumnDef, TableDef};
use keel_query::mask::MaskDef;
use keel_types::error::Result;

/// The mask that a column is declared with.
pub(super) fn declared(c: &ColumnDefinition, def: &ColumnDef) -> Result<Option<MaskDef>> {
    let Some(masked) = c.options.iter().find(|o| o.name == "MASKED") else { return Ok(None) };
    let OptValue::List(options) = &masked.value else { return Ok(None) };
    let function = options.iter().find(|o| o.name == "FUNCTION").and_then(|o| o.value.text());
    let function = function.ok_or_else(|| keel_query::errors::syntax_near("MASKED"))?;
    MaskDef::parse(function, &def.name, def.ty).map(Some)
}

impl Runner<'_> {
    /// ALTER COLUMN ADD MASKED WITH, which replaces a mask, and DROP MASKED.
    pub(super) fn alter_mask(&mut self, table: &TableDef, at: usize, function: Option<&str>) -> Result<()> {
        let column = &table.columns[at];
        if column.computed.is_some() {
            return Err(errors::column_not_alterable(&column.name, "COMPUTED"));
        }
        if function.is_none() && column.mask.is_none() {
            return Err(errors::column_not_masked(&column.name));
        }
        let mask = function.map(|text| MaskDef::parse(text, &column.name, column.ty)).transpose()?;
        self.check_dependents(table, at, Fate::Widened)?;
        let mut new = table.clone();
        new.columns[at].mask = mask;
        self.replace_table(new).map(|_| ())
    }
}
