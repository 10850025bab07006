//! Options of CREATE TABLE and of indexes: whether there are such ones, and those that would promise what does not happen.

use crate::backup::no_option;
use crate::errors;
use keel_parser::ast::{self, ConstraintKind, Opt, OptValue, TableElement};
use keel_query::catalog::Durability;
use keel_types::error::Result;

/// Those of tables.
const TABLE: [&str; 8] = [
    "DATA_COMPRESSION",
    "XML_COMPRESSION",
    "DATA_DELETION",
    "DURABILITY",
    "LEDGER",
    "MEMORY_OPTIMIZED",
    "REMOTE_DATA_ARCHIVE",
    "SYSTEM_VERSIONING",
];

/// Those of indexes of all kinds and of key constraints, as they are made and as they are changed.
const INDEX: [&str; 27] = [
    "ALLOW_PAGE_LOCKS",
    "ALLOW_ROW_LOCKS",
    "BOUNDING_BOX",
    "BUCKET_COUNT",
    "CELLS_PER_OBJECT",
    "COMPRESSION_DELAY",
    "COMPRESS_ALL_ROW_GROUPS",
    "DATA_COMPRESSION",
    "DROP_EXISTING",
    "FILLFACTOR",
    "GRIDS",
    "IGNORE_DUP_KEY",
    "LOB_COMPACTION",
    "MAXDOP",
    "MAX_DURATION",
    "ONLINE",
    "OPTIMIZE_FOR_SEQUENTIAL_KEY",
    "PAD_INDEX",
    "RESUMABLE",
    "SORTED_DATA",
    "SORTED_DATA_REORG",
    "SORT_IN_TEMPDB",
    "STATISTICS_INCREMENTAL",
    "STATISTICS_NORECOMPUTE",
    "STATISTICS_ONLY",
    "WAIT_AT_LOW_PRIORITY",
    "XML_COMPRESSION",
];

/// Looks at the options of a table and of what stands in it.
///
/// # Errors
/// 155 for what is none, 40517 for a kind of table or column that there is not.
pub(super) fn of_table(c: &ast::CreateTable) -> Result<()> {
    if let Some(kind) = &c.as_kind {
        return Err(errors::not_supported(format!("CREATE TABLE … AS {kind}")));
    }
    known(&c.options, &TABLE, "CREATE TABLE")?;
    for name in ["LEDGER", "REMOTE_DATA_ARCHIVE"] {
        if c.options.iter().any(|o| o.name == name && !is_off(&o.value)) {
            return Err(errors::not_supported(format!("CREATE TABLE … WITH ({name})")));
        }
    }
    of_elements(&c.elements, "CREATE TABLE")
}

/// Whether a table is asked to be memory-optimized, and how durable.
///
/// # Errors
/// 10779 for DURABILITY of another table.
pub(super) fn memory(options: &[Opt]) -> Result<Option<Durability>> {
    let word = options.iter().find(|o| o.name == "DURABILITY").and_then(|o| o.value.text());
    let durability = match word {
        Some(word) if word.eq_ignore_ascii_case("SCHEMA_ONLY") => Durability::SchemaOnly,
        _ => Durability::SchemaAndData,
    };
    let asked = super::table::option_on(options, "MEMORY_OPTIMIZED");
    match word {
        Some(word) if !asked => Err(errors::durability_of_memory(word.to_ascii_lowercase())),
        _ => Ok(asked.then_some(durability)),
    }
}

/// Looks at the options of columns, constraints and indexes inside of a table.
///
/// # Errors
/// As [`of_table`].
pub(super) fn of_elements(elements: &[TableElement], statement: &str) -> Result<()> {
    for element in elements {
        match element {
            TableElement::Column(column) => {
                for constraint in &column.constraints {
                    of_constraint(&constraint.kind, statement)?;
                }
            }
            TableElement::Constraint(constraint) => of_constraint(&constraint.kind, statement)?,
            TableElement::Index(index) => of_index(&index.options, statement)?,
            TableElement::Period { .. } => {}
        }
    }
    Ok(())
}

fn of_constraint(kind: &ConstraintKind, statement: &str) -> Result<()> {
    match kind {
        ConstraintKind::Key { options, .. } => of_index(options, statement),
        ConstraintKind::Connection(_) => Err(errors::not_supported("CONNECTION")),
        _ => Ok(()),
    }
}

/// Looks at the options of an index.
///
/// # Errors
/// 155 for what is none.
pub(super) fn of_index(options: &[Opt], statement: &str) -> Result<()> {
    known(options, &INDEX, statement)
}

fn known(options: &[Opt], known: &[&str], statement: &str) -> Result<()> {
    match options.iter().find(|o| !known.contains(&o.name.as_str())) {
        Some(option) => Err(no_option(&option.name, statement)),
        None => Ok(()),
    }
}

fn is_off(value: &OptValue) -> bool {
    matches!(value, OptValue::Off)
}
