//! What indexes are told about their pages, locks and statistics: kept, shown (`sys.indexes`, `INDEXPROPERTY`), and of no effect.

use crate::errors;
use keel_parser::ast::{Opt, OptValue};
use keel_query::catalog::{IndexDef, TableDef};
use keel_types::error::Result;

/// Takes what options say; what they do not mention stays.
///
/// # Errors
/// 129 for a FILLFACTOR that is no percentage.
pub(super) fn tell(index: &mut IndexDef, options: &[Opt]) -> Result<()> {
    for option in options {
        let on = matches!(option.value, OptValue::On | OptValue::None);
        let pages = &mut index.pages;
        match option.name.as_str() {
            "FILLFACTOR" => index.fill_factor = percentage(&option.value)?.unwrap_or(index.fill_factor),
            "PAD_INDEX" => pages.padded = on,
            "ALLOW_ROW_LOCKS" => pages.no_row_locks = !on,
            "ALLOW_PAGE_LOCKS" => pages.no_page_locks = !on,
            "OPTIMIZE_FOR_SEQUENTIAL_KEY" => pages.sequential_key = on,
            "STATISTICS_NORECOMPUTE" => pages.no_recompute = on,
            _ => {}
        }
    }
    Ok(())
}

/// A number from 1 to 100; `None` for what is no number.
fn percentage(value: &OptValue) -> Result<Option<u8>> {
    let OptValue::Number(n) = value else { return Ok(None) };
    let given = n.as_i64().unwrap_or(i64::MAX);
    match u8::try_from(given) {
        Ok(percent @ 1..=100) => Ok(Some(percent)),
        _ => Err(errors::no_fill_factor(given)),
    }
}

/// # Errors
/// 2552 where pages may not be locked: compacting takes one after the other.
pub(super) fn refuse_reorganizing(table: &TableDef, index: &IndexDef) -> Result<()> {
    if index.pages.no_page_locks {
        return Err(errors::pages_are_not_locked(&index.name, &table.name));
    }
    Ok(())
}
